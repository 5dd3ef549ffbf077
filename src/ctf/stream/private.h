/* SPDX-License-Identifier: MIT */
/* What the files of the stream share. */
#ifndef LULL_CTF_STREAM_PRIVATE_H
#define LULL_CTF_STREAM_PRIVATE_H

#include "ctf/stream/stream.h"

static inline struct lull_packet *lull_ctf_stream_packet_at(const struct lull_ctf_stream *s,
                                                            int64_t index)
{
    return &g_array_index(s->list.packets, struct lull_packet, index);
}

/* Reports, once, that the rest of the current packet is left out. */
void lull_ctf_stream_damaged(struct lull_ctf_stream *s, uint64_t pos, const char *why);
/* Makes more bytes of the packet readable after s->pos. False if that cannot be. */
bool lull_ctf_stream_refill(struct lull_ctf_stream *s);
/* Goes to the next packet that may hold events in the limits. False, and done, if there is none. */
bool lull_ctf_stream_next_packet(struct lull_ctf_stream *s);

/* ---- stream_first.c ---- */

/* Time of the first event of packet `index`; false if it has none, or is damaged. The stream's
 * bytes must be open. */
bool lull_ctf_stream_first_event(struct lull_ctf_stream *s, int64_t index, int64_t *time_ns);
/* Goes before the first packet that may hold events in the limits; sets last_ns to a lower bound of
 * what follows. */
void lull_ctf_stream_seek(struct lull_ctf_stream *s);
/* True if no event of the current packet lies before the end of the limits. */
bool lull_ctf_stream_is_behind(struct lull_ctf_stream *s);

#endif
