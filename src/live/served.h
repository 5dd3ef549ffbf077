/* SPDX-License-Identifier: MIT */
/* What the task that served a slow request did meanwhile, from the waits that the kernel's programs have kept. */
#ifndef LULL_LIVE_SERVED_H
#define LULL_LIVE_SERVED_H

#include <stdbool.h>

#include "live/records.h"

enum { LULL_SERVED_PARTS = 4 };

struct lull_served {
    struct {
        struct lull_track_link link; /* who ended the waits; NONE: not known */
        int64_t ns;
    } part[LULL_SERVED_PARTS]; /* longest first */
    uint32_t n_parts;
    int64_t rest_ns;    /* for others */
    int64_t cpu_ns;     /* it could have run */
    int64_t ran_ns;     /* or waited for 20 us or less at a time */
    int64_t unknown_ns; /* at first, before the oldest wait that is kept */
};

/* Sums the waits from `start_ns` to `end_ns`, CLOCK_MONOTONIC: all members together are that time. What does not fit
 * together is left out. */
void lull_served_sum(const struct lull_track_past *past, int64_t start_ns, int64_t end_ns,
                     struct lull_served *served);

#endif
