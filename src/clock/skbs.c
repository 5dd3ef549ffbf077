/* SPDX-License-Identifier: MIT */
/* A hash table from (host, buffer address) to the packet sent last in that buffer. The kernel
 * reuses buffers, so the table stays small; what was received is dropped when it would grow. */
#include "clock/skbs.h"

#include <glib.h>
#include <string.h>

#include "clock/match_flows.h"

enum { FIRST_SLOTS = 1024, MAX_WAITING = 1 << 19 };

void lull_skbs_clear(struct lull_skbs *skbs)
{
    g_free(skbs->slots);
    memset(skbs, 0, sizeof *skbs);
}

static struct lull_skb *find_slot(const struct lull_skbs *skbs, uint32_t host, uint64_t skb)
{
    uint64_t hash = lull_match_flow_mix(host, skb);
    uint32_t mask = skbs->n_slots - 1, slot = (uint32_t)(hash >> 32) & mask;

    while (skbs->slots[slot].skb &&
           (skbs->slots[slot].skb != skb || skbs->slots[slot].host != host)) {
        slot = (slot + 1) & mask;
    }
    return &skbs->slots[slot];
}

struct lull_skb *lull_skbs_find(const struct lull_skbs *skbs, uint32_t host, uint64_t skb)
{
    if (!skbs->slots || !skb) {
        return NULL;
    }
    struct lull_skb *slot = find_slot(skbs, host, skb);

    return slot->skb ? slot : NULL;
}

static void rebuild(struct lull_skbs *skbs, int64_t horizon_ns)
{
    struct lull_skb *old = skbs->slots;
    uint32_t n_old = skbs->n_slots, waiting = 0, n_slots = FIRST_SLOTS, low = UINT32_MAX, high = 0;

    for (uint32_t i = 0; i < n_old; i++) {
        old[i].is_waiting = old[i].is_waiting && old[i].skb && old[i].time_ns >= horizon_ns;
        if (!old[i].is_waiting) {
            continue;
        }
        waiting++;
        low = MIN(low, old[i].id);
        high = MAX(high, old[i].id);
    }
    /* Too many wait: forget those of the first half of the ids. */
    if (waiting > MAX_WAITING) {
        low += (high - low) / 2 + 1;
    }
    while (n_slots < waiting * 4) {
        n_slots *= 2;
    }
    skbs->slots = g_new0(struct lull_skb, n_slots);
    skbs->n_slots = n_slots;
    skbs->used = 0;
    for (uint32_t i = 0; i < n_old; i++) {
        if (!old[i].is_waiting || old[i].id < low) {
            continue;
        }
        *find_slot(skbs, old[i].host, old[i].skb) = old[i];
        skbs->used++;
    }
    g_free(old);
}

void lull_skbs_put(struct lull_skbs *skbs, const struct lull_skb *entry, int64_t horizon_ns)
{
    if (!entry->skb) {
        return;
    }
    if (skbs->used * 2 >= skbs->n_slots) {
        rebuild(skbs, horizon_ns);
    }
    struct lull_skb *slot = find_slot(skbs, entry->host, entry->skb);

    if (!slot->skb) {
        skbs->used++;
    }
    *slot = *entry;
}
