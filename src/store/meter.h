/* SPDX-License-Identifier: MIT */
/* What the intervals of a meter count (store.h). */
#ifndef LULL_STORE_METER_H
#define LULL_STORE_METER_H

#include <lull/path.h>

#include "store/store.h"

struct meter {
    uint32_t unit;  /* what an evidence of 1 is; 0: the row is no meter */
    bool is_events; /* each interval counts at its start, however long it is; else for all its ns */
};

static inline struct meter meter_of(enum lull_store_kind kind)
{
    static const struct meter meters[LULL_STORE_KINDS] = {
        [LULL_STORE_FREQUENCY] = {1, false},     [LULL_STORE_DISK_READ] = {512, true},
        [LULL_STORE_DISK_WRITTEN] = {512, true}, [LULL_STORE_DISK_REQUESTS] = {1, true},
        [LULL_STORE_NET_RECEIVED] = {1, true},   [LULL_STORE_NET_SENT] = {1, true},
        [LULL_STORE_DISK_FLIGHT] = {1, false},   [LULL_STORE_CYCLES] = {1, false},
    };
    return meters[kind];
}

/* How much of it there is before until_ns. */
static inline unsigned __int128
meter_amount(struct meter meter, const struct lull_store_interval *interval, int64_t until_ns)
{
    if (meter.unit == 0 || interval->state != LULL_STORE_USER || interval->evidence == LULL_NONE ||
        until_ns <= interval->start_ns) {
        return 0;
    }
    const uint64_t times = meter.is_events ? 1 : (uint64_t)until_ns - (uint64_t)interval->start_ns;
    return (unsigned __int128)interval->evidence * meter.unit * times;
}

#endif
