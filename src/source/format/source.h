/* SPDX-License-Identifier: MIT */
/* What sources have in common whose records are those that `format` files describe: they differ in
 * where a record comes from, and in what its time is. */
#ifndef LULL_SOURCE_FORMAT_SOURCE_H
#define LULL_SOURCE_FORMAT_SOURCE_H

#include "base/clock.h"
#include "source/format/format.h"

/* ---- the source ---- */

/* Implementations put it first in a structure of their own. */
struct lull_format_source {
    struct lull_source source;
    struct lull_formats *formats; /* borrowed */
    GPtrArray *streams;           /* struct lull_format_stream */
    GPtrArray *texts;
    GPtrArray *environment; /* key, value, … */
};

/* For lull_source_ops. */
void lull_format_source_subscribe(struct lull_source *base,
                                  const struct lull_subscription *subscriptions,
                                  const int32_t *of_class, uint32_t max_fields_size,
                                  const struct lull_fields *const *extra, uint32_t max_extra_size);
void lull_format_source_each_field(const struct lull_source *base, uint32_t class_index,
                                   void (*visit)(void *user, const struct lull_field_info *field),
                                   void *user);
bool lull_format_source_describe(const struct lull_source *base, uint32_t class_index,
                                 const char *path, struct lull_field_type *type);
const struct lull_formats *lull_format_source_formats(const struct lull_source *base);

/* A zeroed source gets no streams yet; each will go by free_stream(). `path` is taken. */
void lull_format_source_init(struct lull_format_source *source, const struct lull_source_ops *ops,
                             char *path, struct lull_formats *formats, GDestroyNotify free_stream);
/* Frees what these functions gave it, and the source. */
void lull_format_source_free(struct lull_format_source *source);
/* Keeps `text`, which it takes, for the life of the source. */
const char *lull_format_source_keep(struct lull_format_source *source, char *text);
/* Adds to the environment; both are borrowed. */
void lull_format_source_add(struct lull_format_source *source, const char *key, const char *value);
/* What is so of all of them: the kernel's events, in nanoseconds. The trace's clock is that of the
 * file plus `offset_ns`. */
void lull_format_source_set_info(struct lull_format_source *source, const char *format,
                                 const char *clock_name, int64_t offset_ns);
/* When all streams, classes and texts are there. */
void lull_format_source_finish(struct lull_format_source *source);

/* ---- its streams ---- */

/* Implementations put it first in a structure of their own. */
struct lull_format_stream {
    struct lull_source_stream stream;
    const struct lull_report *report, *own_report; /* in use; of the source. Borrowed */
    bool may_lack_cpu;                             /* stream.cpu may be -1 */
    bool is_done;
    struct lull_clock_map map;
    int64_t start_ns, end_ns; /* joined clock */
    /* The event. */
    const struct lull_format *format;
    struct lull_format_record record;
    uint8_t *fields; /* from subscribe() on; whoever frees the stream frees them */
};

/* For lull_source_stream_ops. */
void lull_format_stream_set_report(struct lull_source_stream *base,
                                   const struct lull_report *report);
bool lull_format_stream_visit_packet(const struct lull_source_stream *base,
                                     const struct lull_visitor *visitor, void *user,
                                     GError **error);
struct lull_layout *lull_format_stream_layout(const struct lull_source_stream *base,
                                              uint32_t flags);
void lull_format_stream_bytes(const struct lull_source_stream *base,
                              struct lull_event_bytes *bytes);
const struct lull_format_record *lull_format_stream_record(const struct lull_source_stream *base);

void lull_format_stream_init(struct lull_format_stream *stream,
                             const struct lull_source_stream_ops *ops, int32_t cpu,
                             uint64_t size_bytes, const struct lull_report *report);
/* What is common of start(): there are no events at all if `is_empty`. `offset_ns` is as below. */
void lull_format_stream_start(struct lull_format_stream *stream, int64_t offset_ns, bool is_empty,
                              const struct lull_source_window *window);
/* For progress(): of n parts, all alike, `at` are read. */
uint64_t lull_format_stream_progress(const struct lull_format_stream *stream, uint64_t at,
                                     uint64_t n);
/* From a file's nanoseconds, to which `offset_ns` is added, to the trace's own clock, and to the
 * joined clock of the window; NULL: to the trace's own alone. */
void lull_format_map_init(struct lull_clock_map *map, int64_t offset_ns,
                          const struct lull_source_window *window);

/* The end of next(): the event that has been found becomes the one that is handed out. */
static inline void lull_format_stream_hand_out(struct lull_format_stream *s)
{
    s->stream.event.event_class = &s->format->event_class;
    s->stream.event.subscription = (uint32_t)s->format->subscription;
    lull_format_load(s->format, &s->record, s->fields);
    s->stream.has_event = true;
}

#endif
