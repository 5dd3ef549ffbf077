/* SPDX-License-Identifier: MIT */
/* A CTF trace as a source: its schema, its plans, its streams, what its headers say was lost. It
 * lies in one directory, or in one for each rotation or snapshot. */
#include "source/source.h"

#include <string.h>

#include "ctf/stream/layout.h"
#include "ctf/stream/stream.h"
#include "source/ctf/kind.h"
#include "source/ctf/trace.h"
#include "source/files/location.h"
#include "source/files/stitch.h"

struct ctf_stream {
    struct lull_source_stream base;
    struct ctf_source *source;
    struct lull_ctf_stream *cursor;
};

struct ctf_source {
    struct lull_source base;
    const struct lull_report *report;
    struct lull_ctf_kind *kind;
    struct lull_schema *own;    /* or NULL: the kind's says all */
    struct lull_ctf_plan *plan; /* the kind's, for this trace */
    GPtrArray *streams;         /* struct ctf_stream */
    GPtrArray *texts;           /* strings of info */
    uint32_t n_unnumbered;      /* streams whose packets do not say which of its class they are */
};

/* ---- streams ---- */

static void stream_start(struct lull_source_stream *base, const struct lull_source_window *window)
{
    struct ctf_stream *stream = (struct ctf_stream *)base;
    struct lull_clock_map map;
    lull_ctf_clock_map(stream->cursor->stream, window->delta_ns, &window->transform, &map);
    if (window->in_doubles) {
        lull_clock_map_use_doubles(&map);
    }
    stream->cursor->most_bytes = window->memory_bytes;
    stream->cursor->bytes->is_brief = window->is_brief;
    lull_ctf_stream_start(stream->cursor, &map, window->start_ns, window->end_ns,
                          stream->source->kind->fields_size);
    base->has_event = false;
    base->bound_ns = stream->cursor->is_done ? INT64_MAX : lull_ctf_stream_bound(stream->cursor);
}

static bool stream_next(struct lull_source_stream *base)
{
    struct ctf_stream *stream = (struct ctf_stream *)base;
    base->has_event = lull_ctf_stream_next(stream->cursor, &base->event);
    return base->has_event;
}

static void stream_leave(struct lull_source_stream *base)
{
    lull_ctf_stream_finish(((struct ctf_stream *)base)->cursor);
    base->has_event = false;
}

static int64_t stream_last(struct lull_source_stream *base)
{
    const struct ctf_stream *stream = (struct ctf_stream *)base;
    g_autofree uint64_t *unused = g_new(uint64_t, MAX(stream->source->base.n_classes, 1));
    return lull_ctf_stream_last(stream->cursor, unused);
}

static void stream_count(struct lull_source_stream *base, uint64_t *counts)
{
    lull_ctf_stream_count(((struct ctf_stream *)base)->cursor, counts);
}

static void stream_sum(struct lull_source_stream *base, uint64_t *counts,
                       struct lull_source_tally *tally)
{
    struct lull_tally sums = {0, 0};
    lull_ctf_stream_sum(((struct ctf_stream *)base)->cursor, counts, &sums);
    tally->fields += sums.fields;
    tally->checksum += sums.checksum;
}

static void stream_set_report(struct lull_source_stream *base, const struct lull_report *report)
{
    struct ctf_stream *stream = (struct ctf_stream *)base;
    stream->cursor->report = report ? report : stream->source->report;
}

static uint32_t stream_part_end(const struct lull_source_stream *base, uint32_t first,
                                uint64_t bytes)
{
    return lull_ctf_stream_part_end(((const struct ctf_stream *)base)->cursor, first, bytes);
}

static struct lull_source_stream *stream_clone(const struct lull_source_stream *base)
{
    const struct ctf_stream *stream = (const struct ctf_stream *)base;
    struct ctf_stream *clone = g_memdup2(stream, sizeof *stream);
    clone->base.event.impl = &clone->base;
    clone->cursor = lull_ctf_stream_clone(stream->cursor);
    return &clone->base;
}

static void stream_limit(struct lull_source_stream *base, uint32_t first, uint32_t end)
{
    lull_ctf_stream_limit(((struct ctf_stream *)base)->cursor, first, end);
}

static void stream_free(gpointer data)
{
    struct ctf_stream *stream = data;
    lull_ctf_stream_free(stream->cursor);
    g_free(stream);
}

static void stream_free_clone(struct lull_source_stream *base)
{
    stream_free(base);
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

static bool stream_visit_packet(const struct lull_source_stream *base,
                                const struct lull_visitor *visitor, void *user, GError **error)
{
    const struct lull_ctf_stream *cursor = ((const struct ctf_stream *)base)->cursor;
    return lull_ctf_stream_visit_packet(cursor, visitor, user, error);
}

static bool stream_cycles(const struct lull_source_stream *base, uint64_t *cycles)
{
    return lull_ctf_cursor_cycles(((const struct ctf_stream *)base)->cursor, cycles);
}

static struct lull_layout *stream_layout(const struct lull_source_stream *base, uint32_t flags)
{
    return lull_ctf_layout_new(((const struct ctf_stream *)base)->cursor, flags);
}

static void stream_bytes(const struct lull_source_stream *base, struct lull_event_bytes *bytes)
{
    const struct lull_ctf_stream *cursor = ((const struct ctf_stream *)base)->cursor;
    *bytes = (struct lull_event_bytes){.data = cursor->buf,
                                       .start = cursor->event_body,
                                       .end = cursor->event_end,
                                       .packet = (uint64_t)cursor->packet};
}

static bool stream_each_packet(const struct lull_source_stream *base,
                               void (*visit)(void *user, int64_t start_ns, int64_t end_ns),
                               void *user)
{
    static const struct lull_clock_transform identity;
    const unsigned both = LULL_PACKET_HAS_BEGIN | LULL_PACKET_HAS_END;
    const struct lull_ctf_stream *cursor = ((const struct ctf_stream *)base)->cursor;
    const GArray *packets = cursor->list.packets;
    struct lull_clock_map map;
    lull_ctf_clock_map(cursor->stream, 0, &identity, &map);
    for (uint32_t i = 0; i < packets->len; i++) {
        const struct lull_packet *packet = &g_array_index(packets, struct lull_packet, i);
        if ((packet->flags & (both | LULL_PACKET_OPEN_END)) != both) {
            return false;
        }
        visit(user, lull_clock_map_own(&map, packet->start), lull_clock_map_own(&map, packet->end));
    }
    return true;
}

static const struct lull_source_stream_ops stream_ops = {
    .start = stream_start,
    .next = stream_next,
    .leave = stream_leave,
    .last = stream_last,
    .count = stream_count,
    .sum = stream_sum,
    .set_report = stream_set_report,
    .part_end = stream_part_end,
    .clone = stream_clone,
    .limit = stream_limit,
    .free_clone = stream_free_clone,
    .progress = stream_progress,
    .visit = stream_visit,
    .visit_packet = stream_visit_packet,
    .cycles = stream_cycles,
    .each_packet = stream_each_packet,
    .layout = stream_layout,
    .bytes = stream_bytes,
};

/* ---- losses ---- */

static void note_losses(const struct ctf_source *source, const struct lull_ctf_stream *cursor)
{
    static const struct lull_clock_transform identity;
    const struct lull_packet_list *list = &cursor->list;
    struct lull_clock_map map;
    lull_ctf_clock_map(cursor->stream, 0, &identity, &map);
    for (uint32_t i = 0; i < list->packets->len; i++) {
        const struct lull_packet *packet = &g_array_index(list->packets, struct lull_packet, i);
        lull_ctf_packet_losses(source->report, cursor->number, cursor->stream, &map, packet,
                               i > 0 ? packet - 1 : NULL,
                               i + 1 < list->packets->len ? packet + 1 : NULL);
    }
    if (list->packets->len == 0 || (list->missing == 0 && !list->damaged_tail)) {
        return;
    }
    const struct lull_packet *last =
        &g_array_index(list->packets, struct lull_packet, list->packets->len - 1);
    int64_t start = lull_clock_map_own(&map, last->end);
    int64_t end = lull_clock_map_own(&map, MAX(list->missing_end, last->end));
    source->report->lost(source->report->user, cursor->number, start, end, 0,
                         MAX(list->missing, 1));
}

/* ---- opening ---- */

static bool lacks_times(const struct lull_packet_list *list)
{
    uint32_t both = LULL_PACKET_HAS_BEGIN | LULL_PACKET_HAS_END;
    for (uint32_t i = 0; i < list->packets->len; i++) {
        uint32_t flags = g_array_index(list->packets, struct lull_packet, i).flags;
        if ((flags & both) != both || (flags & LULL_PACKET_OPEN_END)) {
            return true;
        }
    }
    return false;
}

/* Times in packet headers that cannot be are damage; those of the events count then. */
static void check_times(const struct ctf_source *source, struct lull_ctf_stream *cursor)
{
    static const struct lull_clock_transform identity;
    struct lull_clock_map map;
    lull_ctf_clock_map(cursor->stream, 0, &identity, &map);
    for (uint32_t i = 0; i < cursor->list.packets->len; i++) {
        struct lull_packet *packet = &g_array_index(cursor->list.packets, struct lull_packet, i);
        if (!lull_packet_check_times(packet, &map)) {
            continue;
        }
        uint64_t byte = packet->offset;
        const char *path = lull_ctf_stream_where(cursor, &byte);
        packet->flags |= LULL_PACKET_REPORTED;
        lull_report_problem(source->report,
                            "%s: packet %u, byte %" G_GUINT64_FORMAT
                            ": in its header " LULL_TIME_OUTSIDE "; its times are not used",
                            path, i, byte);
    }
}

/* The range of the stream, which is part of that of the trace. */
static void extend_range(struct ctf_source *source, struct ctf_stream *stream)
{
    static const struct lull_clock_transform identity;
    const struct lull_ctf_stream *cursor = stream->cursor;
    struct lull_trace *info = &source->base.info;
    struct lull_clock_map map;
    lull_ctf_clock_map(cursor->stream, 0, &identity, &map);
    stream->base.start_ns = INT64_MAX;
    stream->base.end_ns = INT64_MIN;
    for (uint32_t i = 0; i < cursor->list.packets->len; i++) {
        const struct lull_packet *packet =
            &g_array_index(cursor->list.packets, struct lull_packet, i);
        if (packet->flags & LULL_PACKET_HAS_BEGIN) {
            stream->base.start_ns =
                MIN(stream->base.start_ns, lull_clock_map_own(&map, packet->start));
        }
        if (packet->flags & LULL_PACKET_HAS_END) {
            stream->base.end_ns = MAX(stream->base.end_ns, lull_clock_map_own(&map, packet->end));
        }
    }
    info->start_ns = MIN(info->start_ns, stream->base.start_ns);
    info->end_ns = MAX(info->end_ns, stream->base.end_ns);
}

static void add_stream(void *user, struct lull_stitched *found)
{
    struct ctf_source *source = user;
    struct ctf_stream *stream = g_new0(struct ctf_stream, 1);
    uint64_t size = found->list.file_size;
    stream->source = source;
    stream->cursor = lull_ctf_stream_new_from(source->plan, found->bytes, found->path, &found->list,
                                              source->streams->len, source->report);
    g_free(found->path);
    stream->base.ops = &stream_ops;
    stream->base.cpu = stream->cursor->cpu;
    stream->base.size_bytes = size;
    stream->base.class_id = stream->cursor->stream->decl->id;
    stream->base.instance = stream->cursor->list.instance != UINT64_MAX
                                ? stream->cursor->list.instance
                                : source->n_unnumbered++;
    stream->base.event.impl = &stream->base;
    g_ptr_array_add(source->streams, stream);
    check_times(source, stream->cursor);
    if (lacks_times(&stream->cursor->list)) {
        static const struct lull_clock_transform identity;
        struct lull_clock_map map;
        lull_ctf_clock_map(stream->cursor->stream, 0, &identity, &map);
        lull_ctf_stream_start(stream->cursor, &map, INT64_MIN, INT64_MAX, 0);
        lull_ctf_stream_measure(stream->cursor);
    }
    source->base.info.packet_count += stream->cursor->list.packets->len;
    source->base.info.size_bytes += size;
    extend_range(source, stream);
    note_losses(source, stream->cursor);
}

/* A tracer that had nothing to write for a CPU leaves an empty file; one that writes indexes also
 * an index without entries. Where there is no index, nothing says that the file ever held more,
 * even if other files have one: babeltrace2 takes that for an idle stream, too. */
static void check_empty(const struct ctf_source *source, const struct lull_packet_file *file)
{
    const size_t index_header = 16;
    if (file->index_size > index_header) {
        lull_report_problem(source->report,
                            "%s: byte 0: the stream file is empty, but its index lists packets",
                            file->path);
    }
}

/* Smaller indexes are read whatever the size of the stream. */
#define LEAST_INDEX_LIMIT (UINT64_C(1) << 20)

/* An index is no larger than the packets that it lists. Without it all is found as well. */
static void read_index(const struct ctf_source *source, const struct lull_location *location,
                       const char *name, uint64_t most_bytes, char **index, size_t *size)
{
    g_autoptr(GError) error = NULL;
    struct lull_bytes *bytes;
    uint64_t unused;
    enum lull_open_status status = lull_location_bytes(location, name, &bytes, &unused, &error);
    *size = 0;
    if (status == LULL_OPEN_ABSENT) {
        return;
    }
    if (status == LULL_OPEN_DONE) {
        bytes->ops->free(bytes);
    }
    if (status != LULL_OPEN_DONE ||
        !lull_location_read(location, name, most_bytes, index, size, &error)) {
        lull_report_problem(source->report, "%s; the index is not used", error->message);
    }
}

/* Finds the packets of one file; what is wrong with it is a problem of that file only. */
static bool open_piece(struct ctf_source *source, const struct lull_location *location,
                       struct lull_piece *piece, uint64_t size)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *index_name = g_strconcat("index/", piece->name, ".idx", NULL);
    g_autofree char *index_path = g_build_filename(location->path, index_name, NULL);
    g_autofree char *index = NULL;
    struct lull_packet_file file = {
        .bytes = piece->bytes, .size = size, .path = piece->path, .index_path = index_path};
    read_index(source, location, index_name, MAX(size, LEAST_INDEX_LIMIT), &index,
               &file.index_size);
    file.index = index;
    if (size == 0) {
        check_empty(source, &file);
        return false;
    }
    const char *why = piece->bytes->ops->open(piece->bytes);
    if (why) {
        lull_report_problem(source->report, "%s: the stream file cannot be read: %s", piece->path,
                            why);
        return false;
    }
    bool found = lull_packet_list_find(&piece->list, source->plan, &file, source->report, &error);
    piece->bytes->ops->close(piece->bytes);
    if (!found) {
        lull_report_problem(source->report, "%s; the stream is left out", error->message);
    }
    return found;
}

static void open_file(struct ctf_source *source, const struct lull_location *location,
                      const char *name, GPtrArray *pieces)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *path = g_build_filename(location->path, name, NULL);
    struct lull_bytes *bytes = NULL;
    uint64_t size = 0;
    enum lull_open_status status = lull_location_bytes(location, name, &bytes, &size, &error);
    if (status != LULL_OPEN_DONE && status != LULL_OPEN_DIRECTORY) {
        lull_report_problem(source->report, "%s; the stream is left out", error->message);
    }
    if (status != LULL_OPEN_DONE) {
        return;
    }
    struct lull_piece *piece = lull_piece_new(path, name, bytes);
    if (open_piece(source, location, piece, size)) {
        g_ptr_array_add(pieces, piece);
    } else {
        lull_piece_free(piece);
    }
}

static void free_piece(gpointer piece)
{
    lull_piece_free(piece);
}

static bool open_streams(struct ctf_source *source, struct lull_location *const *locations,
                         uint32_t n_locations, GError **error)
{
    g_autoptr(GPtrArray) pieces = g_ptr_array_new_with_free_func(free_piece);
    for (uint32_t i = 0; i < n_locations; i++) {
        g_autoptr(GPtrArray) names = lull_location_list(locations[i], error);
        if (!names) {
            return false;
        }
        for (guint k = 0; k < names->len; k++) {
            open_file(source, locations[i], names->pdata[k], pieces);
        }
    }
    lull_stitch(source->plan, pieces, add_stream, source);
    return true;
}

static void source_free(struct lull_source *base)
{
    struct ctf_source *source = (struct ctf_source *)base;
    g_ptr_array_unref(source->streams);
    lull_ctf_kind_free_plan(source->plan);
    if (source->own) {
        lull_schema_free(source->own);
    }
    if (source->kind) {
        lull_ctf_kind_unref(source->kind);
    }
    g_ptr_array_unref(source->texts);
    g_free((char *)base->info.path);
    g_free(source);
}

static void source_follow(struct lull_source *base)
{
    const struct ctf_source *source = (struct ctf_source *)base;
    lull_ctf_kind_update_plan(source->kind, source->plan);
}

/* For all sources of its kind. */
static void source_subscribe(struct lull_source *base,
                             const struct lull_subscription *subscriptions, const int32_t *of_class,
                             uint32_t max_fields_size, const struct lull_fields *const *extra,
                             uint32_t max_extra_size)
{
    struct lull_ctf_kind *kind = ((struct ctf_source *)base)->kind;
    kind->fields_size = max_fields_size + max_extra_size;
    lull_ctf_plan_unsubscribe_all(kind->plan);
    for (uint32_t i = 0; i < kind->schema->n_streams; i++) {
        struct lull_stream_plan *stream = &kind->plan->streams[i];
        for (uint32_t e = 0; e < stream->decl->n_events; e++) {
            uint32_t index = stream->first_class + e;
            lull_ctf_subscribe(kind->plan, stream, e, subscriptions, of_class[index], extra[index],
                               max_fields_size);
        }
    }
    source_follow(base);
}

static void adopt_kind(struct ctf_source *source, struct lull_ctf_kind *kind)
{
    source->kind = kind;
    source->base.classes = kind->face.classes;
    source->base.n_classes = kind->face.n_classes;
    source->base.shared = kind;
}

static void source_separate(struct lull_source *base)
{
    struct ctf_source *source = (struct ctf_source *)base;
    struct lull_ctf_kind *kind = source->kind;
    if (lull_ctf_kind_is_shared(kind)) {
        adopt_kind(source, lull_ctf_kind_copy(kind));
        lull_ctf_kind_update_plan(source->kind, source->plan);
        lull_ctf_kind_unref(kind);
    }
}

static void source_prepare_sums(struct lull_source *base)
{
    lull_ctf_plan_load_all(((struct ctf_source *)base)->kind->plan);
    source_follow(base);
}

static void source_each_field(const struct lull_source *base, uint32_t class_index,
                              void (*visit)(void *user, const struct lull_field_info *field),
                              void *user)
{
    const struct lull_source *face = &((const struct ctf_source *)base)->kind->face;
    face->ops->each_field(face, class_index, visit, user);
}

static bool source_describe(const struct lull_source *base, uint32_t class_index, const char *path,
                            struct lull_field_type *type)
{
    const struct lull_source *face = &((const struct ctf_source *)base)->kind->face;
    return face->ops->describe(face, class_index, path, type);
}

static const struct lull_source_ops source_ops = {
    .reads_apart = true,
    .free = source_free,
    .subscribe = source_subscribe,
    .follow = source_follow,
    .separate = source_separate,
    .prepare_sums = source_prepare_sums,
    .each_field = source_each_field,
    .describe = source_describe,
    .label = lull_ctf_label,
};

const struct lull_ctf_plan *lull_ctf_source_plan(const struct lull_source *source)
{
    return source->ops == &source_ops ? ((const struct ctf_source *)source)->plan : NULL;
}

const struct lull_ctf_stream *lull_ctf_source_cursor(const struct lull_source_stream *stream)
{
    return stream->ops == &stream_ops ? ((const struct ctf_stream *)stream)->cursor : NULL;
}

/* Reads the metadata. */
static bool find_kind(struct ctf_source *source, const struct lull_location *location,
                      struct lull_ctf_kinds *kinds, GError **error)
{
    g_autofree char *metadata = g_build_filename(location->path, "metadata", NULL);
    struct lull_ctf_kind *kind =
        lull_ctf_kind_find(kinds, metadata, (const uint8_t *)location->metadata,
                           location->metadata_size, &source->own, error);
    if (!kind) {
        return false;
    }
    adopt_kind(source, kind);
    source->plan = lull_ctf_kind_plan(kind, source->own ? source->own : kind->schema);
    lull_ctf_describe_trace(&source->base, source->plan->schema, source->plan, source->report,
                            source->texts);
    return true;
}

struct lull_source *lull_ctf_source_open(struct lull_location *const *locations,
                                         uint32_t n_locations, struct lull_ctf_kinds *kinds,
                                         const struct lull_report *report, GError **error)
{
    const struct lull_location *newest = locations[0];
    for (uint32_t i = 1; i < n_locations; i++) {
        if (locations[i]->metadata_size > newest->metadata_size) {
            newest = locations[i];
        }
    }
    struct ctf_source *source = g_new0(struct ctf_source, 1);
    source->base.ops = &source_ops;
    source->base.info.path = g_strdup(locations[0]->path);
    source->base.info.below = "";
    source->base.info.directory_count = n_locations;
    source->base.info.start_ns = INT64_MAX;
    source->base.info.end_ns = INT64_MIN;
    source->report = report;
    source->texts = g_ptr_array_new_with_free_func(g_free);
    source->streams = g_ptr_array_new_with_free_func(stream_free);
    if (!find_kind(source, newest, kinds, error) ||
        !open_streams(source, locations, n_locations, error)) {
        source_free(&source->base);
        return NULL;
    }
    source->base.streams = (struct lull_source_stream **)source->streams->pdata;
    source->base.n_streams = source->streams->len;
    source->base.info.stream_count = source->base.n_streams;
    return &source->base;
}
