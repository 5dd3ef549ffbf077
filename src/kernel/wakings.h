/* SPDX-License-Identifier: MIT */
/* What a waking is before anything is known of it. */
#ifndef LULL_KERNEL_WAKINGS_H
#define LULL_KERNEL_WAKINGS_H

#include "kernel/model_private.h"

static inline struct lull_wakeup unknown_wakeup(int64_t t)
{
    return (struct lull_wakeup){
        .time_ns = t,
        .task = LULL_NONE,
        .first_packet = LULL_NONE,
        .packet = LULL_NONE,
        .request = LULL_NONE,
        .label = LULL_NONE,
        .raiser = LULL_NONE,
        .raiser_label = LULL_NONE,
        .raise_ns = INT64_MIN,
        .cause = LULL_CAUSE_UNKNOWN,
        .cpu = -1,
        .call = LULL_NONE,
        .file = LULL_NONE,
    };
}

static const struct waking no_waking = {INT64_MIN, LULL_NONE, false, false};

#endif
