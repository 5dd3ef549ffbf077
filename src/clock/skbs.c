/* SPDX-License-Identifier: MIT */
/* A hash table from (host, buffer address) to the packet sent last in that buffer. The kernel
 * reuses buffers, so the table stays small; what was received is dropped when it would grow. */
#include "clock/skbs.h"

#include <glib.h>
#include <string.h>

#include "clock/match_flows.h"
#include "kernel/states.h"

enum { FIRST_SLOTS = 1024, MAX_WAITING = 1 << 19, RECEIVED_SLOTS = 1024 };

void lull_skbs_clear(struct lull_skbs *skbs)
{
    g_free(skbs->slots);
    g_free(skbs->received);
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

static struct lull_skb *received_in(const struct lull_skbs *skbs, uint32_t host, uint64_t skb)
{
    return &skbs->received[(lull_match_flow_mix(host, skb) >> 32) % RECEIVED_SLOTS];
}

/* Whether the buffer still holds the packet. The kernel uses a buffer again at once, also for an acknowledgement like the last one,
 * which only its IP id tells from that. Addresses may be translated, numbers are not. */
static bool is_same(const struct lull_skb *received, const struct lull_skb *now)
{
    return received->skb == now->skb && received->host == now->host &&
           received->has_headers == now->has_headers && received->number == now->number &&
           received->rest == now->rest && received->bytes == now->bytes &&
           received->ip_id == now->ip_id && received->device != now->device &&
           (!now->has_headers || now->bytes || now->ip_id);
}

bool lull_skbs_has_come(struct lull_skbs *skbs, const struct lull_skb *came)
{
    if (!came->skb) {
        return false;
    }
    if (!skbs->received) {
        skbs->received = g_new0(struct lull_skb, RECEIVED_SLOTS);
    }
    struct lull_skb *received = received_in(skbs, came->host, came->skb);
    if (received->is_waiting && received->length == came->length && is_same(received, came)) {
        return true;
    }
    *received = *came;
    return false;
}

uint32_t lull_skbs_passed_on(struct lull_skbs *skbs, const struct lull_skb *sent)
{
    struct lull_skb *received = skbs->received ? received_in(skbs, sent->host, sent->skb) : NULL;
    if (!received || !sent->skb || !is_same(received, sent) ||
        (!sent->has_headers && sent->length != received->length + LULL_SKB_ETHERNET_HEADER)) {
        return LULL_NONE;
    }
    received->is_waiting = false;
    return received->id;
}
