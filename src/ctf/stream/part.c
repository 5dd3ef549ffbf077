/* SPDX-License-Identifier: MIT */
/* One stream read by several threads: each has a copy of the cursor, and reads packets that no
 * other reads. A packet's flags (its damage has been reported) are shared; packets are not. */
#include "ctf/stream/private.h"

uint32_t lull_ctf_stream_part_end(const struct lull_ctf_stream *s, uint32_t first, uint64_t bytes)
{
    const GArray *packets = s->list.packets;
    /* With limits of time, an event's time decides, which may depend on the packet before. */
    if (s->start_ns != INT64_MIN || s->end_ns != INT64_MAX || !s->list.in_order ||
        !s->bytes->ops->share) {
        return 0;
    }
    uint64_t size = 0;
    while (first < packets->len && size < bytes) {
        size += g_array_index(packets, struct lull_packet, first++).bits / 8;
    }
    return first;
}

struct lull_ctf_stream *lull_ctf_stream_clone(const struct lull_ctf_stream *s)
{
    struct lull_packet_list list = s->list;
    g_array_ref(list.packets);
    return lull_ctf_stream_new_from(s->plan, s->bytes->ops->share(s->bytes), s->path, &list,
                                    s->number, s->report);
}

void lull_ctf_stream_limit(struct lull_ctf_stream *s, uint32_t first, uint32_t end)
{
    s->is_done = false;
    s->is_part = true;
    s->packet = (int64_t)first - 1;
    s->end_packet = end;
    s->last_ns = INT64_MIN;
    lull_memory_set(s->memory, LULL_MEM_CLOCK, 0);
}
