/* SPDX-License-Identifier: MIT */
/* What an interval holds, and what of it that came from the kernel can be right. */
#include "live/sums.h"

#include <string.h>

void lull_interval_init(struct lull_interval *interval)
{
    *interval = (struct lull_interval){
        .processes = g_array_new(FALSE, TRUE, sizeof(struct lull_live_process)),
        .chains = g_array_new(FALSE, TRUE, sizeof(struct lull_live_chain))};
}

void lull_interval_clear(struct lull_interval *interval)
{
    g_array_unref(interval->processes);
    g_array_unref(interval->chains);
}

static bool has_end(const char comm[LULL_TRACK_COMM])
{
    return memchr(comm, '\0', LULL_TRACK_COMM) != NULL;
}

bool lull_live_chain_is_sound(const struct lull_live_chain *chain)
{
    const struct lull_track_chain *key = &chain->key;
    if (!has_end(key->comm) || key->tgid > INT32_MAX || key->call < LULL_TRACK_NO_CALL ||
        chain->sum.ns > INT64_MAX || chain->sum.longest_ns > INT64_MAX) {
        return false;
    }
    for (uint32_t i = 0; i < LULL_TRACK_HOPS; i++) {
        const struct lull_track_link *link = &key->link[i];
        if (link->kind >= LULL_TRACK_HOP_KINDS ||
            (link->kind == LULL_TRACK_HOP_TASK && !has_end(link->comm))) {
            return false;
        }
    }
    return true;
}

uint64_t lull_slot_woken(const struct lull_track_slot *slot)
{
    const bool is_early = slot->early_ns > slot->ran && !(slot->flags & LULL_TRACK_WAS_QUEUED);
    return slot->woken == 0 && is_early ? slot->since : slot->woken;
}

struct lull_track_sums lull_sums_of_slot(const struct lull_track_slot *slot, uint64_t now)
{
    struct lull_track_sums sums = slot->sums;
    uint64_t woken = lull_slot_woken(slot);
    if (slot->since == 0) {
        const uint64_t took = slot->ran && now > slot->ran ? now - slot->ran : 0;
        *(slot->flags & LULL_TRACK_IS_LOST ? &sums.unknown_ns : &sums.ran_ns) += took;
        return sums;
    }
    if (woken == 0 || woken > now) {
        woken = now;
    }
    sums.blocked_ns += woken > slot->since ? woken - slot->since : 0;
    sums.runnable_ns += now - woken;
    return sums;
}
