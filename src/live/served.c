/* SPDX-License-Identifier: MIT */
/* The programs write while this reads: a wait that is half written does not follow on those before it. */
#include "live/served.h"

#include <glib.h>
#include <string.h>

/* As many as there can be waits. */
struct all {
    struct {
        struct lull_track_link link;
        int64_t ns;
    } part[LULL_TRACK_PAST];
    uint32_t n;
};

static bool is_same(const struct lull_track_link *a, const struct lull_track_link *b)
{
    return memcmp(a, b, sizeof *a) == 0;
}

static void add(struct all *all, const struct lull_track_link *link, int64_t ns)
{
    uint32_t i = 0;
    while (i < all->n && !is_same(&all->part[i].link, link)) {
        i++;
    }
    if (i == all->n) {
        all->part[all->n++].link = *link;
    }
    all->part[i].ns += ns;
}

/* Longest first; what is equal stays in the order in which it came. */
static void choose(const struct all *all, struct lull_served *served)
{
    bool is_taken[LULL_TRACK_PAST] = {false};
    for (; served->n_parts < MIN(all->n, LULL_SERVED_PARTS); served->n_parts++) {
        uint32_t longest = 0;
        while (is_taken[longest]) {
            longest++;
        }
        for (uint32_t i = longest + 1; i < all->n; i++) {
            longest = !is_taken[i] && all->part[i].ns > all->part[longest].ns ? i : longest;
        }
        is_taken[longest] = true;
        served->part[served->n_parts].link = all->part[longest].link;
        served->part[served->n_parts].ns = all->part[longest].ns;
    }
    for (uint32_t i = 0; i < all->n; i++) {
        served->rest_ns += is_taken[i] ? 0 : all->part[i].ns;
    }
}

static bool is_sound(const struct lull_track_past_wait *wait, int64_t after_ns, int64_t end_ns)
{
    const struct lull_track_link *link = &wait->link;
    return wait->until <= (uint64_t)end_ns && wait->since >= (uint64_t)after_ns &&
           wait->since <= wait->woken && wait->woken <= wait->until &&
           link->kind < LULL_TRACK_HOP_KINDS &&
           (link->kind != LULL_TRACK_HOP_TASK || memchr(link->comm, '\0', sizeof link->comm));
}

void lull_served_sum(const struct lull_track_past *past, int64_t start_ns, int64_t end_ns,
                     struct lull_served *served)
{
    struct all all = {.n = 0};
    const uint64_t n = MIN(past->n, LULL_TRACK_PAST);
    int64_t after_ns = 0, waited_ns = 0;
    *served = (struct lull_served){.n_parts = 0};
    for (uint64_t i = past->n - n; i < past->n; i++) {
        const struct lull_track_past_wait *wait = &past->wait[i % LULL_TRACK_PAST];
        if (!is_sound(wait, after_ns, end_ns)) {
            continue;
        }
        if (after_ns == 0 && past->n > n) { /* what came before is forgotten */
            served->unknown_ns = CLAMP((int64_t)wait->since - start_ns, 0, end_ns - start_ns);
        }
        after_ns = (int64_t)wait->until;
        const int64_t since_ns = MAX((int64_t)wait->since, start_ns);
        const int64_t woken_ns = MAX((int64_t)wait->woken, start_ns);
        if (after_ns <= start_ns) {
            continue;
        }
        served->cpu_ns += after_ns - woken_ns;
        waited_ns += after_ns - since_ns;
        if (woken_ns > since_ns) {
            add(&all, &wait->link, woken_ns - since_ns);
        }
    }
    choose(&all, served);
    served->ran_ns = end_ns - start_ns - waited_ns - served->unknown_ns;
}
