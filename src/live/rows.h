/* SPDX-License-Identifier: MIT */
/* The rows of `lull top`: waits of an interval, of programs of one name, in one call, for the same. */
#ifndef LULL_LIVE_ROWS_H
#define LULL_LIVE_ROWS_H

#include "filter/given.h"
#include "live/sums.h"

/* What a wait came down to. */
enum lull_live_end {
    LULL_LIVE_END_CPU, /* it could have run */
    LULL_LIVE_END_DISK,
    LULL_LIVE_END_NETWORK,
    LULL_LIVE_END_TIMER,
    LULL_LIVE_END_INTERRUPT, /* another one */
    LULL_LIVE_END_TASK,      /* one that had been at work all the time */
    LULL_LIVE_END_UNKNOWN,   /* nobody was seen to end it, or the chain is longer than is kept */
    LULL_LIVE_ENDS
};

/* By enum lull_live_end: "CPU", "disk", … */
extern const char *const lull_live_end_words[LULL_LIVE_ENDS];

struct lull_live_row {
    const struct lull_track_chain *key; /* of one of its processes; in the interval */
    uint32_t n_processes, n_links;
    enum lull_live_end end;
    bool is_idle; /* it set itself a timer, and nobody made it wait; or a thread of the kernel's had
                         nothing to do */
    const char *function; /* of the kernel, in which it was seen to wait; NULL: not known */
    const char *call;     /* NULL: none, or not known */
    int64_t waited_ns, longest_ns;
    uint64_t waits;
};

enum lull_live_order {
    LULL_LIVE_BY_WAITED,
    LULL_LIVE_BY_LONGEST,
    LULL_LIVE_BY_WAITS,
    LULL_LIVE_BY_NAME,
    LULL_LIVE_ORDERS
};

/* A condition on rows, which can name comm, pid, call, state, waker_comm and end. */
struct lull_live_filter;
/* NULL and LULL_ERROR_USAGE with the column and what was expected. */
struct lull_live_filter *lull_live_filter_parse(const char *text, GError **error);
/* As it was written; of the filter. */
const char *lull_live_filter_text(const struct lull_live_filter *filter);
void lull_live_filter_free(struct lull_live_filter *filter);

struct lull_live_rows {
    GArray *rows;                                 /* struct lull_live_row */
    int64_t waited_ns, by_end_ns[LULL_LIVE_ENDS]; /* of all chains, also those filtered */
};

/* `filter` may be NULL. One row a process if `by_process`, else processes of one name are one. Free
 * with lull_live_rows_clear(), before the interval. */
void lull_live_rows_make(struct lull_live_rows *rows, const struct lull_interval *interval,
                         const struct lull_live_filter *filter, enum lull_live_order order,
                         bool by_process);
void lull_live_rows_clear(struct lull_live_rows *rows);

#endif
