/* SPDX-License-Identifier: MIT */
/* What sources have in common whose records are those that `format` files describe: their classes,
 * and the event that a stream has found. */
#include "source/format/source.h"

/* ---- the source ---- */

void lull_format_source_init(struct lull_format_source *source, const struct lull_source_ops *ops,
                             char *path, struct lull_formats *formats, GDestroyNotify free_stream)
{
    source->source.ops = ops;
    source->source.info.path = path;
    source->source.info.below = "";
    source->formats = formats;
    source->streams = g_ptr_array_new_with_free_func(free_stream);
    source->texts = g_ptr_array_new_with_free_func(g_free);
    source->environment = g_ptr_array_new();
}

void lull_format_source_free(struct lull_format_source *source)
{
    g_ptr_array_unref(source->streams);
    g_ptr_array_unref(source->texts);
    g_ptr_array_unref(source->environment);
    g_free((char *)source->source.info.path);
    g_free(source);
}

const char *lull_format_source_keep(struct lull_format_source *source, char *text)
{
    g_ptr_array_add(source->texts, text);
    return text;
}

void lull_format_source_add(struct lull_format_source *source, const char *key, const char *value)
{
    g_ptr_array_add(source->environment, (gpointer)key);
    g_ptr_array_add(source->environment, (gpointer)value);
}

void lull_format_source_set_info(struct lull_format_source *source, const char *format,
                                 const char *clock_name, int64_t offset_ns)
{
    struct lull_trace *info = &source->source.info;
    info->kernel = info->kernel ? info->kernel : "";
    info->domain = "kernel";
    info->name = info->process = "";
    info->process_id = -1;
    info->format = format;
    info->clock_name = clock_name;
    info->clock_frequency_hz = 1000000000;
    info->clock_offset_ns = offset_ns;
    info->directory_count = 1;
    info->start_ns = INT64_MAX;
    info->end_ns = INT64_MIN;
}

void lull_format_source_finish(struct lull_format_source *source)
{
    struct lull_source *base = &source->source;
    g_ptr_array_add(source->environment, NULL);
    base->environment = (const char *const *)source->environment->pdata;
    base->classes = source->formats->classes;
    base->n_classes = source->formats->all->len;
    base->streams = (struct lull_source_stream **)source->streams->pdata;
    base->n_streams = base->info.stream_count = source->streams->len;
}

void lull_format_source_subscribe(struct lull_source *base,
                                  const struct lull_subscription *subscriptions,
                                  const int32_t *of_class, uint32_t max_fields_size,
                                  const struct lull_fields *const *extra, uint32_t max_extra_size)
{
    struct lull_format_source *source = (struct lull_format_source *)base;
    uint32_t size = max_fields_size + max_extra_size;
    lull_formats_subscribe(source->formats, subscriptions, of_class, max_fields_size, extra);
    for (guint i = 0; i < source->streams->len; i++) {
        struct lull_format_stream *stream = source->streams->pdata[i];
        g_free(stream->fields);
        stream->fields = g_malloc0(MAX(size, 8));
        stream->stream.event.fields = stream->fields;
    }
}

static const struct lull_format *format_at(const struct lull_source *base, uint32_t class_index)
{
    return ((const struct lull_format_source *)base)->formats->all->pdata[class_index];
}

void lull_format_source_each_field(const struct lull_source *base, uint32_t class_index,
                                   void (*visit)(void *user, const struct lull_field_info *field),
                                   void *user)
{
    lull_format_each_field(format_at(base, class_index), visit, user);
}

bool lull_format_source_describe(const struct lull_source *base, uint32_t class_index,
                                 const char *path, struct lull_field_type *type)
{
    return lull_format_describe(format_at(base, class_index), path, type);
}

const struct lull_formats *lull_format_source_formats(const struct lull_source *base)
{
    return ((const struct lull_format_source *)base)->formats;
}

/* ---- its streams ---- */

void lull_format_map_init(struct lull_clock_map *map, int64_t offset_ns,
                          const struct lull_source_window *window)
{
    static const struct lull_source_window own;
    int64_t second = 1000000000, s = offset_ns / second, rest = offset_ns % second;
    if (!window) {
        window = &own;
    }
    if (rest < 0) {
        rest += second;
        s--;
    }
    lull_clock_map_init(map, 1000000000, s, (uint64_t)rest, window->delta_ns, &window->transform);
    if (window->in_doubles) {
        lull_clock_map_use_doubles(map);
    }
}

void lull_format_stream_init(struct lull_format_stream *stream,
                             const struct lull_source_stream_ops *ops, int32_t cpu,
                             uint64_t size_bytes, const struct lull_report *report)
{
    struct lull_source_stream *base = &stream->stream;
    base->ops = ops;
    base->event.impl = base;
    base->event.cpu = base->cpu = cpu;
    base->instance = (uint64_t)(int64_t)cpu;
    base->size_bytes = size_bytes;
    stream->report = stream->own_report = report;
}

void lull_format_stream_start(struct lull_format_stream *stream, int64_t offset_ns, bool is_empty,
                              const struct lull_source_window *window)
{
    lull_format_map_init(&stream->map, offset_ns, window);
    stream->start_ns = window->start_ns;
    stream->end_ns = window->end_ns;
    stream->stream.has_event = false;
    stream->is_done = is_empty || stream->start_ns >= stream->end_ns;
    stream->stream.bound_ns = stream->is_done ? INT64_MAX : stream->start_ns;
}

uint64_t lull_format_stream_progress(const struct lull_format_stream *stream, uint64_t at,
                                     uint64_t n)
{
    uint64_t size = stream->stream.size_bytes;
    return n == 0 || stream->is_done ? size : (uint64_t)((double)size * (double)at / (double)n);
}

void lull_format_stream_set_report(struct lull_source_stream *base,
                                   const struct lull_report *report)
{
    struct lull_format_stream *stream = (struct lull_format_stream *)base;
    stream->report = report ? report : stream->own_report;
}

bool lull_format_stream_visit_packet(const struct lull_source_stream *base,
                                     const struct lull_visitor *visitor, void *user, GError **error)
{
    const struct lull_visit_int cpu = {.bits = (uint64_t)(int64_t)base->cpu,
                                       .base = 10,
                                       .size_bits = 32,
                                       .is_signed =
                                           ((const struct lull_format_stream *)base)->may_lack_cpu};
    visitor->start(user, "packet", LULL_VISIT_SCOPE);
    visitor->integer(user, "cpu_id", &cpu);
    visitor->end(user, LULL_VISIT_SCOPE);
    return true;
}

struct lull_layout *lull_format_stream_layout(const struct lull_source_stream *base, uint32_t flags)
{
    return lull_format_layout(((const struct lull_format_stream *)base)->format);
}

void lull_format_stream_bytes(const struct lull_source_stream *base, struct lull_event_bytes *bytes)
{
    const struct lull_format_record *record = lull_format_stream_record(base);
    *bytes = (struct lull_event_bytes){.data = record->data, .end = UINT64_C(8) * record->size};
}

const struct lull_format_record *lull_format_stream_record(const struct lull_source_stream *base)
{
    return &((const struct lull_format_stream *)base)->record;
}
