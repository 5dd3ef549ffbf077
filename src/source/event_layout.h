/* SPDX-License-Identifier: MIT */
/* How the bytes of an event are laid out, whatever its source is. */
#ifndef LULL_SOURCE_EVENT_LAYOUT_H
#define LULL_SOURCE_EVENT_LAYOUT_H

#include "base/layout.h"

/* The layout of the event's class as a visitor with these lull_visit_flags would see it, or NULL.
 * Free with lull_layout_free(). */
struct lull_layout *lull_event_layout(const struct lull_event *event, uint32_t flags);
/* Where the bytes of the event are, until the next event of its stream is read. */
void lull_event_bytes(const struct lull_event *event, struct lull_event_bytes *bytes);

#endif
