/* SPDX-License-Identifier: MIT */
/* Pages of slots, counted by the tables that have them. */
#include "kernel/fd_slots.h"

#include <string.h>

#include "kernel/model.h"

static struct fd_page *page_new(uint32_t owner)
{
    struct fd_page *page = g_new(struct fd_page, 1);
    page->users = 1;
    page->owner = owner;
    page->after_exec = NULL;
    for (unsigned i = 0; i < FD_PAGE; i++) {
        page->slots[i] = (struct fd_slot){LULL_NONE, LULL_NONE, false};
    }
    return page;
}

static void page_unref(struct fd_page *page)
{
    if (--page->users > 0) {
        return;
    }
    if (page->after_exec) {
        page_unref(page->after_exec);
    }
    g_free(page);
}

size_t fd_slots_bisect(const struct fd_slots *slots, uint32_t number)
{
    size_t low = 0, high = slots->pages.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (slots->pages.items[middle].number < number) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* The page at this position, changed by nobody else. */
static struct fd_page *change_page(struct fd_slots *slots, size_t at)
{
    struct fd_page *page = slots->pages.items[at].page;
    if (page->users > 1) {
        struct fd_page *copy = page_new(slots->owner);
        memcpy(copy->slots, page->slots, sizeof copy->slots);
        page_unref(page);
        slots->pages.items[at].page = page = copy;
    }
    page->owner = slots->owner;
    if (page->after_exec) {
        page_unref(page->after_exec);
        page->after_exec = NULL;
    }
    return page;
}

struct fd_slot *fd_slots_change(struct fd_slots *slots, int32_t fd)
{
    uint32_t number = (uint32_t)fd / FD_PAGE;
    size_t at = fd_slots_position(slots, number);
    if (!fd_slots_has_page(slots, at, number)) {
        lull_vec_push(&slots->pages, (struct fd_page_ref){0, NULL});
        struct fd_page_ref *refs = slots->pages.items;
        memmove(&refs[at + 1], &refs[at], (slots->pages.count - 1 - at) * sizeof *refs);
        refs[at] = (struct fd_page_ref){number, page_new(slots->owner)};
    }
    return &change_page(slots, at)->slots[fd % FD_PAGE];
}

const struct fd_slot *fd_slots_next(const struct fd_slots *slots, int64_t *fd)
{
    for (size_t at = fd_slots_position(slots, (uint32_t)(*fd / FD_PAGE)); at < slots->pages.count;
         at++) {
        const struct fd_page_ref *ref = &slots->pages.items[at];
        const int64_t first = (int64_t)ref->number * FD_PAGE;
        for (int64_t i = MAX(*fd - first, 0); i < FD_PAGE; i++) {
            if (ref->page->slots[i].file != LULL_NONE) {
                *fd = first + i;
                return &ref->page->slots[i];
            }
        }
    }
    return NULL;
}

bool fd_slots_is_empty(const struct fd_slots *slots)
{
    return slots->pages.count == 0;
}

void fd_slots_share(struct fd_slots *to, const struct fd_slots *from)
{
    lull_vec_reserve(&to->pages, from->pages.count);
    for (size_t i = 0; i < from->pages.count; i++) {
        to->pages.items[i] = from->pages.items[i];
        to->pages.items[i].page->users++;
    }
    to->pages.count = from->pages.count;
}

/* Takes out the pages that have become NULL. */
static void pack(struct fd_slots *slots)
{
    size_t n = 0;
    for (size_t i = 0; i < slots->pages.count; i++) {
        if (slots->pages.items[i].page) {
            slots->pages.items[n++] = slots->pages.items[i];
        }
    }
    slots->pages.count = n;
}

void fd_slots_drop_range(struct fd_slots *slots, int32_t first, int32_t last)
{
    for (size_t at = fd_slots_position(slots, (uint32_t)MAX(first, 0) / FD_PAGE);
         at < slots->pages.count; at++) {
        struct fd_page_ref *ref = &slots->pages.items[at];
        const int64_t start = (int64_t)ref->number * FD_PAGE;
        if (start > last) {
            break;
        }
        if (start >= first && start + FD_PAGE - 1 <= last && ref->page->owner != slots->owner) {
            page_unref(ref->page);
            ref->page = NULL;
            continue;
        }
        for (int64_t fd = MAX(start, first); fd < start + FD_PAGE && fd <= last; fd++) {
            const struct fd_slot *slot = &ref->page->slots[fd - start];
            if (slot->file != LULL_NONE && slot->owner != slots->owner) {
                change_page(slots, at)->slots[fd - start].file = LULL_NONE;
            }
        }
    }
    pack(slots);
}

/* What is left of a page: itself, another, or NULL if nothing is. */
static struct fd_page *page_after_exec(const struct fd_page *page)
{
    struct fd_page *left = NULL;
    bool is_less = false;
    for (unsigned i = 0; i < FD_PAGE; i++) {
        is_less |= page->slots[i].file != LULL_NONE && page->slots[i].is_cloexec;
    }
    if (!is_less) {
        return (struct fd_page *)page;
    }
    for (unsigned i = 0; i < FD_PAGE; i++) {
        if (page->slots[i].file != LULL_NONE && !page->slots[i].is_cloexec) {
            left = left ? left : page_new(page->owner);
            left->slots[i] = page->slots[i];
        }
    }
    return left;
}

void fd_slots_drop_cloexec(struct fd_slots *slots)
{
    for (size_t at = 0; at < slots->pages.count; at++) {
        struct fd_page_ref *ref = &slots->pages.items[at];
        struct fd_page *left = ref->page->after_exec;
        if (!left) {
            left = page_after_exec(ref->page);
            if (left == ref->page) {
                continue;
            }
            /* Children of one parent that all execute programs share what is left, too. */
            if (left && ref->page->users > 1) {
                ref->page->after_exec = left;
            }
        }
        if (left && left == ref->page->after_exec) {
            left->users++;
        }
        page_unref(ref->page);
        ref->page = left;
    }
    pack(slots);
}

void fd_slots_clear(struct fd_slots *slots)
{
    for (size_t i = 0; i < slots->pages.count; i++) {
        page_unref(slots->pages.items[i].page);
    }
    lull_vec_free(&slots->pages);
}
