/* SPDX-License-Identifier: MIT */
/* What a CTF schema says about its trace; shared by the sources of CTF. */
#ifndef LULL_SOURCE_CTF_TRACE_H
#define LULL_SOURCE_CTF_TRACE_H

#include "base/clock.h"
#include "ctf/stream/packet.h"
#include "ctf/stream/stream.h"
#include "source/source.h"

/* How the times of a stream are read. */
void lull_ctf_clock_map(const struct lull_stream_plan *stream, int64_t delta_ns,
                        const struct lull_clock_transform *transform, struct lull_clock_map *map);

/* Reports packets that are missing between `before` (or NULL) and `packet`, and events that were
 * discarded before `packet` ended, or after its last event before `next` (or NULL) starts. */
void lull_ctf_packet_losses(const struct lull_report *report, uint32_t number,
                            const struct lull_stream_plan *stream, const struct lull_clock_map *map,
                            const struct lull_packet *packet, const struct lull_packet *before,
                            const struct lull_packet *next);

/* Fills in who recorded the trace, where, by which clock, and its environment. Borrows from the
 * schema; what is made for it goes to `texts`. */
void lull_ctf_describe_trace(struct lull_source *source, const struct lull_schema *schema,
                             const struct lull_ctf_plan *plan, const struct lull_report *report,
                             GPtrArray *texts);

/* Of an event class what its declaration says. */
void lull_ctf_describe_class(struct lull_event_class *event_class,
                             const struct lull_event_decl *decl);

/* For lull_source_ops.describe() and label(): the field of event class `event` of the stream. */
bool lull_ctf_describe_field(const struct lull_stream_plan *stream, uint32_t event,
                             const char *path, struct lull_field_type *type);
const char *lull_ctf_label(const void *labels, uint64_t value);

/* Subscribes to event class `event` of the stream by subscription `number`, which goes for its
 * class, with the fields `more` (or NULL) after those of subscriptions. */
void lull_ctf_subscribe(struct lull_ctf_plan *plan, struct lull_stream_plan *stream, uint32_t event,
                        const struct lull_subscription *subscriptions, int32_t number,
                        const struct lull_fields *more, uint32_t max_fields_size);

/* For lull_source_stream_ops: what a cursor knows of its last event. */
bool lull_ctf_cursor_cycles(const struct lull_ctf_stream *cursor, uint64_t *cycles);

#endif
