/* SPDX-License-Identifier: MIT */
/* A page that is closed says so, but not if its browser crashes, or if the page is too busy just then:
 * browsers give it half a second. So one that can be seen is gone when it is silent for a while; in
 * the background, where browsers let pages speak once a minute only, after some minutes. */
#include "server/visitors.h"

#include <glib.h>
#include <string.h>

enum {
    PAGES_MOST = 64,
    ID_MOST = 32,
    RELOAD_US = 3 * G_USEC_PER_SEC,
    SILENCE_US = 45 * G_USEC_PER_SEC,
    SILENCE_HIDDEN_US = 150 * G_USEC_PER_SEC
};

struct page {
    char id[ID_MOST + 1]; /* "": never used */
    bool has_left;        /* and does not come back: what it sent before may arrive late */
    bool is_hidden;       /* in the background */
    int64_t seen_us;
};

struct server_visitors {
    GMutex lock;
    struct page pages[PAGES_MOST];
    int64_t left_us; /* when the last one was closed; 0: none was yet */
};

struct server_visitors *server_visitors_new(void)
{
    struct server_visitors *visitors = g_new0(struct server_visitors, 1);
    g_mutex_init(&visitors->lock);
    return visitors;
}

void server_visitors_free(struct server_visitors *visitors)
{
    if (visitors) {
        g_mutex_clear(&visitors->lock);
        g_free(visitors);
    }
}

/* The page of that name ("": an unused place), or NULL. */
static struct page *find(struct server_visitors *visitors, const char *id)
{
    for (uint32_t i = 0; i < PAGES_MOST; i++) {
        if (strcmp(visitors->pages[i].id, id) == 0) {
            return &visitors->pages[i];
        }
    }
    return NULL;
}

/* A place for a new page, or NULL. */
static struct page *find_place(struct server_visitors *visitors)
{
    struct page *page = find(visitors, "");
    for (uint32_t i = 0; !page && i < PAGES_MOST; i++) {
        page = visitors->pages[i].has_left ? &visitors->pages[i] : NULL;
    }
    return page;
}

void server_visitors_here(struct server_visitors *visitors, const char *id, bool is_hidden,
                          int64_t now_us)
{
    if (!*id || strlen(id) > ID_MOST) {
        return;
    }
    g_mutex_lock(&visitors->lock);
    struct page *page = find(visitors, id);
    if (page) {
        page->seen_us = now_us;
        page->is_hidden = is_hidden;
    } else if ((page = find_place(visitors))) {
        *page = (struct page){.seen_us = now_us, .is_hidden = is_hidden};
        g_strlcpy(page->id, id, sizeof page->id);
    }
    g_mutex_unlock(&visitors->lock);
}

void server_visitors_left(struct server_visitors *visitors, const char *id, int64_t now_us)
{
    g_mutex_lock(&visitors->lock);
    struct page *page = *id ? find(visitors, id) : NULL;
    if (page && !page->has_left) {
        page->has_left = true;
        visitors->left_us = now_us;
    }
    g_mutex_unlock(&visitors->lock);
}

bool server_visitors_are_gone(struct server_visitors *visitors, int64_t now_us)
{
    bool is_open = false;
    g_mutex_lock(&visitors->lock);
    for (uint32_t i = 0; i < PAGES_MOST; i++) {
        struct page *page = &visitors->pages[i];
        const int64_t most_us = page->is_hidden ? SILENCE_HIDDEN_US : SILENCE_US;
        if (page->id[0] && !page->has_left && now_us - page->seen_us > most_us) {
            page->id[0] = '\0'; /* it may wake up */
            visitors->left_us = now_us - RELOAD_US;
        }
        is_open = is_open || (page->id[0] && !page->has_left);
    }
    const bool is_gone =
        !is_open && visitors->left_us > 0 && now_us - visitors->left_us >= RELOAD_US;
    g_mutex_unlock(&visitors->lock);
    return is_gone;
}
