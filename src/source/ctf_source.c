/* A CTF trace directory as a source: its schema, its plans, one stream a file, what its headers say
 * was lost. */
#include "source/source.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ctf/metadata.h"
#include "ctf/stream.h"
#include "source/ctf_trace.h"

struct ctf_stream {
    struct lull_source_stream base;
    struct ctf_source *source;
    struct lull_ctf_stream *cursor;
};

struct ctf_source {
    struct lull_source base;
    const struct lull_report *report;
    struct lull_schema *schema;
    struct lull_ctf_plan *plan;
    struct lull_event_class *classes;
    GPtrArray *streams; /* struct ctf_stream */
    GPtrArray *texts;   /* strings of info */
    uint32_t fields_size;
};

/* ---- streams ---- */

static void stream_start(struct lull_source_stream *base, const struct lull_source_window *window)
{
    struct ctf_stream *stream = (struct ctf_stream *)base;
    struct lull_clock_map map;
    lull_ctf_clock_map(stream->cursor->stream, window->delta_ns, &window->transform, &map);
    lull_ctf_stream_start(stream->cursor, &map, window->begin_ns, window->end_ns,
                          stream->source->fields_size);
    base->has_event = false;
    base->bound_ns = stream->cursor->is_done ? INT64_MAX : lull_ctf_stream_bound(stream->cursor);
}

static bool stream_next(struct lull_source_stream *base)
{
    struct ctf_stream *stream = (struct ctf_stream *)base;
    base->has_event = lull_ctf_stream_next(stream->cursor, &base->event);
    return base->has_event;
}

static void stream_count(struct lull_source_stream *base, uint64_t *counts)
{
    lull_ctf_stream_count(((struct ctf_stream *)base)->cursor, counts);
}

static uint64_t stream_progress(const struct lull_source_stream *base)
{
    return lull_ctf_stream_progress(((const struct ctf_stream *)base)->cursor);
}

static bool stream_visit(const struct lull_source_stream *base, const struct lull_visitor *visitor,
                         void *user, GError **error)
{
    return lull_ctf_stream_visit(((const struct ctf_stream *)base)->cursor, visitor, user, error);
}

static const struct lull_source_stream_ops stream_ops = {
    .start = stream_start,
    .next = stream_next,
    .count = stream_count,
    .progress = stream_progress,
    .visit = stream_visit,
};

static void stream_free(gpointer data)
{
    struct ctf_stream *stream = data;
    lull_ctf_stream_free(stream->cursor);
    g_free(stream);
}

/* ---- losses ---- */

static void packet_losses(const struct ctf_source *source, const struct lull_ctf_stream *cursor,
                          const struct lull_clock_map *map, uint32_t index)
{
    const struct lull_packet *packet =
        &g_array_index(cursor->list.packets, struct lull_packet, index);
    lull_ctf_packet_losses(source->report, cursor->number, cursor->stream, map, packet,
                           index > 0 ? packet - 1 : NULL);
}

static void note_losses(const struct ctf_source *source, const struct lull_ctf_stream *cursor)
{
    static const struct lull_clock_transform identity;
    const struct lull_packet_list *list = &cursor->list;
    struct lull_clock_map map;
    lull_ctf_clock_map(cursor->stream, 0, &identity, &map);
    for (uint32_t i = 0; i < list->packets->len; i++)
        packet_losses(source, cursor, &map, i);
    if (list->packets->len == 0 || (list->missing == 0 && !list->damaged_tail))
        return;
    const struct lull_packet *last =
        &g_array_index(list->packets, struct lull_packet, list->packets->len - 1);
    int64_t begin = lull_clock_map_own(&map, last->end);
    int64_t end = lull_clock_map_own(&map, MAX(list->missing_end, last->end));
    source->report->lost(source->report->user, cursor->number, begin, end, 0,
                         MAX(list->missing, 1));
}

/* ---- opening ---- */

static bool lacks_times(const struct lull_packet_list *list)
{
    uint32_t both = LULL_PACKET_HAS_BEGIN | LULL_PACKET_HAS_END;
    for (uint32_t i = 0; i < list->packets->len; i++)
        if ((g_array_index(list->packets, struct lull_packet, i).flags & both) != both)
            return true;
    return false;
}

static void extend_range(struct ctf_source *source, const struct lull_ctf_stream *cursor)
{
    static const struct lull_clock_transform identity;
    struct lull_trace *info = &source->base.info;
    struct lull_clock_map map;
    lull_ctf_clock_map(cursor->stream, 0, &identity, &map);
    for (uint32_t i = 0; i < cursor->list.packets->len; i++) {
        const struct lull_packet *packet =
            &g_array_index(cursor->list.packets, struct lull_packet, i);
        if (packet->flags & LULL_PACKET_HAS_BEGIN)
            info->begin_ns = MIN(info->begin_ns, lull_clock_map_own(&map, packet->begin));
        if (packet->flags & LULL_PACKET_HAS_END)
            info->end_ns = MAX(info->end_ns, lull_clock_map_own(&map, packet->end));
    }
}

static void add_stream(struct ctf_source *source, const char *path, struct lull_packet_list *list)
{
    struct ctf_stream *stream = g_new0(struct ctf_stream, 1);
    uint64_t size = list->file_size;
    stream->source = source;
    stream->cursor =
        lull_ctf_stream_new(source->plan, path, list, source->streams->len, source->report);
    stream->base.ops = &stream_ops;
    stream->base.cpu = stream->cursor->cpu;
    stream->base.size_bytes = size;
    stream->base.event.impl = &stream->base;
    g_ptr_array_add(source->streams, stream);
    if (lacks_times(&stream->cursor->list)) {
        static const struct lull_clock_transform identity;
        struct lull_clock_map map;
        lull_ctf_clock_map(stream->cursor->stream, 0, &identity, &map);
        lull_ctf_stream_start(stream->cursor, &map, INT64_MIN, INT64_MAX, 0);
        lull_ctf_stream_measure(stream->cursor);
    }
    source->base.info.packet_count += stream->cursor->list.packets->len;
    source->base.info.size_bytes += size;
    extend_range(source, stream->cursor);
    note_losses(source, stream->cursor);
}

/* Opens one file; what is wrong with it is a problem of that file only. */
static void open_stream(struct ctf_source *source, const char *name)
{
    const char *dir = source->base.info.path;
    g_autofree char *path = g_build_filename(dir, name, NULL);
    g_autofree char *index_name = g_strconcat(name, ".idx", NULL);
    g_autofree char *index_path = g_build_filename(dir, "index", index_name, NULL);
    struct stat st;
    /* Not blocking: a pipe or device with a stream's name must not hang us. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &st) != 0) {
        lull_report_problem(source->report, "%s: the stream file cannot be read: %s", path,
                            g_strerror(errno));
    } else if (S_ISREG(st.st_mode)) {
        struct lull_packet_list list;
        g_autoptr(GError) error = NULL;
        if (st.st_size == 0)
            lull_report_problem(source->report, "%s: byte 0: the stream file is empty", path);
        else if (lull_packet_list_find(&list, source->plan, fd, path, index_path, source->report,
                                       &error)) {
            add_stream(source, path, &list);
        } else {
            lull_report_problem(source->report, "%s; the stream is left out", error->message);
            lull_packet_list_clear(&list);
        }
    }
    if (fd >= 0)
        close(fd);
}

static int compare_names(gconstpointer a, gconstpointer b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool open_streams(struct ctf_source *source, GError **error)
{
    g_autoptr(GError) cause = NULL;
    g_autoptr(GDir) dir = g_dir_open(source->base.info.path, 0, &cause);
    g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
    const char *name;
    if (dir == NULL) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_IO, "%s", cause->message);
        return false;
    }
    while ((name = g_dir_read_name(dir)) != NULL)
        if (name[0] != '.' && strcmp(name, "metadata") != 0 && strcmp(name, "index") != 0)
            g_ptr_array_add(names, g_strdup(name));
    g_ptr_array_sort(names, compare_names);
    for (guint i = 0; i < names->len; i++)
        open_stream(source, names->pdata[i]);
    return true;
}

static void declare_classes(struct ctf_source *source)
{
    struct lull_source *base = &source->base;
    const struct lull_schema *schema = source->schema;
    for (uint32_t i = 0; i < schema->n_streams; i++)
        base->n_classes += schema->streams[i].n_events;
    source->classes = g_new0(struct lull_event_class, MAX(base->n_classes, 1));
    base->classes = g_new(struct lull_event_class *, MAX(base->n_classes, 1));
    struct lull_event_class *event_class = source->classes;
    for (uint32_t i = 0; i < schema->n_streams; i++) {
        for (uint32_t e = 0; e < schema->streams[i].n_events; e++, event_class++) {
            event_class->name = schema->streams[i].events[e].name;
            event_class->index = (uint32_t)(event_class - source->classes);
            base->classes[event_class->index] = event_class;
            source->plan->streams[i].plans[e].event_class = event_class;
        }
    }
}

static void source_free(struct lull_source *base)
{
    struct ctf_source *source = (struct ctf_source *)base;
    g_ptr_array_unref(source->streams);
    lull_ctf_plan_free(source->plan);
    if (source->schema != NULL)
        lull_schema_free(source->schema);
    g_ptr_array_unref(source->texts);
    g_free(base->classes);
    g_free(source->classes);
    g_free((char *)base->info.path);
    g_free(source);
}

static void source_subscribe(struct lull_source *base,
                             const struct lull_subscription *subscriptions, const int32_t *of_class,
                             uint32_t max_fields_size)
{
    struct ctf_source *source = (struct ctf_source *)base;
    source->fields_size = max_fields_size;
    lull_ctf_plan_unsubscribe_all(source->plan);
    for (uint32_t i = 0; i < source->schema->n_streams; i++) {
        struct lull_stream_plan *stream = &source->plan->streams[i];
        for (uint32_t e = 0; e < stream->decl->n_events; e++) {
            int32_t number = of_class[stream->first_class + e];
            if (number < 0)
                continue;
            const struct lull_subscription *s = &subscriptions[number];
            lull_ctf_plan_subscribe(source->plan, stream, e, number, s->bindings, s->n_bindings,
                                    s->fields_size);
        }
    }
}

static const struct lull_source_ops source_ops = {
    .free = source_free,
    .subscribe = source_subscribe,
};

struct lull_source *lull_ctf_source_open(const char *path, const struct lull_report *report,
                                         GError **error)
{
    struct ctf_source *source = g_new0(struct ctf_source, 1);
    source->base.ops = &source_ops;
    source->base.info.path = g_strdup(path);
    source->base.info.begin_ns = INT64_MAX;
    source->base.info.end_ns = INT64_MIN;
    source->report = report;
    source->texts = g_ptr_array_new_with_free_func(g_free);
    source->streams = g_ptr_array_new_with_free_func(stream_free);
    g_autofree char *metadata = g_build_filename(path, "metadata", NULL);
    source->schema = lull_metadata_read(metadata, error);
    if (source->schema != NULL)
        source->plan = lull_ctf_plan_new(source->schema, error);
    if (source->plan == NULL) {
        if (source->schema != NULL)
            g_prefix_error(error, "%s: ", metadata);
        source_free(&source->base);
        return NULL;
    }
    lull_ctf_describe(&source->base, source->schema, source->plan, source->texts);
    declare_classes(source);
    if (!open_streams(source, error)) {
        source_free(&source->base);
        return NULL;
    }
    source->base.streams = (struct lull_source_stream **)source->streams->pdata;
    source->base.n_streams = source->streams->len;
    source->base.info.stream_count = source->base.n_streams;
    return &source->base;
}
