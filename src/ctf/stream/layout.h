/* SPDX-License-Identifier: MIT */
/* Which fields of an event a visitor sees, and their layout. Shared by the walk over one event
 * (visit.c) and the compiled description of a class (layout.c). */
#ifndef LULL_CTF_STREAM_LAYOUT_H
#define LULL_CTF_STREAM_LAYOUT_H

#include "ctf/stream/stream.h"

/* A place in the fields of an event. */
struct lull_field_position {
    const struct lull_kept_fields *own, *shared;
    enum lull_scope scope;
    uint32_t depth;
    uint32_t path[LULL_FC_DEPTH + 1];
};

/* Memory offset of the length or tag at the place, or 0. */
uint32_t lull_field_position_slot(const struct lull_field_position *position);
/* False for what LULL_VISIT_NO_CLOCKS leaves out. */
bool lull_field_is_visible(struct lull_field_position *position, const struct lull_fc *fc,
                           uint32_t flags);
/* Fills in the labels of an enumeration's value; room for LULL_VISIT_LABELS. `mapping` is its struct
 * lull_fc. */
void lull_ctf_find_labels(const void *mapping, struct lull_visit_int *value, const char **labels);
/* See lull_event_layout(); of the event that lull_ctf_stream_next() gave last. */
struct lull_layout *lull_ctf_layout_new(const struct lull_ctf_stream *stream, uint32_t flags);

#endif
