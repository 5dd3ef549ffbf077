/* SPDX-License-Identifier: MIT */
/* The ring buffers of all CPUs as one sequence of records in order of time. Of each CPU one page is held;
 * the next one is read when its last record has been handed out. */
#ifndef LULL_LIVE_FTRACE_PAGES_H
#define LULL_LIVE_FTRACE_PAGES_H

#include "source/format/ring.h"

struct lull_ftrace_pages;

/* Where pages come from. */
struct lull_ftrace_pages_ops {
    /* Copies the next page of a CPU, or what there is of it, and returns its bytes, of which there are at
     * most `room`; 0: there is nothing now. -1 and an error. */
    ssize_t (*read)(void *user, uint32_t cpu, uint8_t *page, uint32_t room, GError **error);
    /* Events of a CPU were lost between these two times; how many, 0: not known. */
    void (*lost)(void *user, uint32_t cpu, uint64_t from_ns, uint64_t until_ns, uint64_t n);
    void *user;
};

/* A record, valid until the next is taken. */
struct lull_ftrace_record {
    uint64_t ns;
    uint32_t cpu;
    struct lull_format_record record;
};

/* `ops` is copied. */
struct lull_ftrace_pages *lull_ftrace_pages_new(uint32_t n_cpus, uint32_t page_bytes,
                                                const struct lull_ftrace_pages_ops *ops);
void lull_ftrace_pages_free(struct lull_ftrace_pages *pages);
/* Everything that is read from now on counts up to that moment: CPUs that had nothing are asked again. */
void lull_ftrace_pages_start(struct lull_ftrace_pages *pages, uint64_t until_ns);
/* 1: there is a record, whose time is not after until_ns. 0: there is none. -1 and an error. */
int lull_ftrace_pages_next(struct lull_ftrace_pages *pages, struct lull_ftrace_record *record,
                           GError **error);
/* Pages whose bytes are none that the kernel writes, since it was asked last. */
uint64_t lull_ftrace_pages_take_damaged(struct lull_ftrace_pages *pages);

#endif
