/* What a CTF schema says about its trace; shared by the sources of CTF. */
#ifndef LULL_SOURCE_CTF_TRACE_H
#define LULL_SOURCE_CTF_TRACE_H

#include "base/clock.h"
#include "ctf/packet.h"
#include "source/source.h"

/* How the times of a stream are read. */
void lull_ctf_clock_map(const struct lull_stream_plan *stream, int64_t delta_ns,
                        const struct lull_clock_transform *transform, struct lull_clock_map *map);

/* Tells of packets that are missing between `before` (or NULL) and `packet`, and of events that
 * were discarded before `packet` ended. */
void lull_ctf_packet_losses(const struct lull_report *report, uint32_t number,
                            const struct lull_stream_plan *stream, const struct lull_clock_map *map,
                            const struct lull_packet *packet, const struct lull_packet *before);

/* Fills in who recorded the trace, where, and by which clock. Borrows from the schema; what is made
 * for it goes to `texts`. */
void lull_ctf_describe(struct lull_source *source, const struct lull_schema *schema,
                       const struct lull_ctf_plan *plan, GPtrArray *texts);

#endif
