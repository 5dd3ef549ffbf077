/* SPDX-License-Identifier: MIT */
/* Layouts of events, whatever their source is. */
#include "source/event_layout.h"

#include "source/source.h"

struct lull_layout *lull_event_layout(const struct lull_event *event, uint32_t flags)
{
    const struct lull_source_stream *stream = event->impl;
    return stream->ops->layout(stream, flags);
}

void lull_event_bytes(const struct lull_event *event, struct lull_event_bytes *bytes)
{
    const struct lull_source_stream *stream = event->impl;
    stream->ops->bytes(stream, bytes);
}
