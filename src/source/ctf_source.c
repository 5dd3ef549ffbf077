/* A CTF trace as a source: its schema, its plans, its streams, what its headers say was lost. It
 * lies in one directory, or in one for each rotation or snapshot. */
#include "source/source.h"

#include <string.h>

#include "base/bits.h"
#include "ctf/layout.h"
#include "ctf/fields.h"
#include "ctf/metadata.h"
#include "ctf/stream.h"
#include "ctf/text.h"
#include "source/place.h"
#include "source/stitch.h"

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
    GPtrArray *streams; /* struct ctf_stream */
    GPtrArray *texts;   /* strings of info */
    uint32_t fields_size;
    uint32_t n_unnumbered; /* streams whose packets do not say which of its class they are */
};

/* ---- streams ---- */

static void clock_map(const struct lull_stream_plan *stream, int64_t delta_ns,
                      const struct lull_clock_transform *transform, struct lull_clock_map *map)
{
    const struct lull_clock *clock = stream->clock;
    if (clock != NULL)
        lull_clock_map_init(map, clock->frequency, clock->offset_s, clock->offset_cycles, delta_ns,
                            transform);
    else
        lull_clock_map_init(map, 1000000000, 0, 0, delta_ns, transform);
}

static void stream_start(struct lull_source_stream *base, const struct lull_source_window *window)
{
    struct ctf_stream *stream = (struct ctf_stream *)base;
    struct lull_clock_map map;
    clock_map(stream->cursor->stream, window->delta_ns, &window->transform, &map);
    if (window->in_doubles)
        lull_clock_map_use_doubles(&map);
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
    stream->cursor->report = report != NULL ? report : stream->source->report;
}

static uint32_t stream_part_end(const struct lull_source_stream *base, uint32_t first,
                                uint64_t bytes)
{
    return lull_ctf_stream_part_end(((const struct ctf_stream *)base)->cursor, first, bytes);
}

static struct lull_source_stream *stream_twin(const struct lull_source_stream *base)
{
    const struct ctf_stream *stream = (const struct ctf_stream *)base;
    struct ctf_stream *twin = g_memdup2(stream, sizeof *stream);
    twin->base.event.impl = &twin->base;
    twin->cursor = lull_ctf_stream_twin(stream->cursor);
    return &twin->base;
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

static void stream_free_twin(struct lull_source_stream *base)
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
    const struct lull_ctf_stream *cursor = ((const struct ctf_stream *)base)->cursor;
    *cycles = lull_memory_get(cursor->memory, LULL_MEM_CLOCK);
    return cursor->stream->clock != NULL && cursor->stream->has_time;
}

static struct lull_layout *stream_layout(const struct lull_source_stream *base, uint32_t flags)
{
    return lull_ctf_layout_new(((const struct ctf_stream *)base)->cursor, flags);
}

static void stream_bytes(const struct lull_source_stream *base, struct lull_event_bytes *bytes)
{
    const struct lull_ctf_stream *cursor = ((const struct ctf_stream *)base)->cursor;
    *bytes = (struct lull_event_bytes){.data = cursor->buf,
                                       .begin = cursor->event_body,
                                       .end = cursor->event_end,
                                       .packet = (uint64_t)cursor->packet};
}

static const struct lull_source_stream_ops stream_ops = {
    .start = stream_start,
    .next = stream_next,
    .count = stream_count,
    .sum = stream_sum,
    .set_report = stream_set_report,
    .part_end = stream_part_end,
    .twin = stream_twin,
    .limit = stream_limit,
    .free_twin = stream_free_twin,
    .progress = stream_progress,
    .visit = stream_visit,
    .visit_packet = stream_visit_packet,
    .cycles = stream_cycles,
    .layout = stream_layout,
    .bytes = stream_bytes,
};

/* ---- losses ---- */

/* Packets that are missing before `packet`, and events that were discarded before it ended. */
static void packet_losses(const struct ctf_source *source, const struct lull_ctf_stream *cursor,
                          const struct lull_clock_map *map, uint32_t index)
{
    const struct lull_report *report = source->report;
    const struct lull_packet *packet =
        &g_array_index(cursor->list.packets, struct lull_packet, index);
    const struct lull_packet *before = index > 0 ? packet - 1 : NULL;
    int64_t begin = lull_clock_map_own(map, packet->begin);
    int64_t end = lull_clock_map_own(map, MAX(packet->end, packet->begin));
    int64_t before_end = before != NULL ? lull_clock_map_own(map, before->end) : begin;
    before_end = MIN(before_end, begin);
    uint64_t events, missing;
    lull_packet_lost(cursor->stream, before, packet, &events, &missing);
    if (missing > 0)
        report->lost(report->user, cursor->number, before_end, begin, 0, missing);
    if (events > 0)
        report->lost(report->user, cursor->number, before_end, end, events, 0);
    if (packet->flags & LULL_PACKET_CUT)
        report->lost(report->user, cursor->number, begin, end, 0, 1);
}

static void note_losses(const struct ctf_source *source, const struct lull_ctf_stream *cursor)
{
    static const struct lull_clock_transform identity;
    const struct lull_packet_list *list = &cursor->list;
    struct lull_clock_map map;
    clock_map(cursor->stream, 0, &identity, &map);
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
    for (uint32_t i = 0; i < list->packets->len; i++) {
        uint32_t flags = g_array_index(list->packets, struct lull_packet, i).flags;
        if ((flags & both) != both || (flags & LULL_PACKET_OPEN_END))
            return true;
    }
    return false;
}

/* The range of the stream, which is part of that of the trace. */
static void extend_range(struct ctf_source *source, struct ctf_stream *stream)
{
    static const struct lull_clock_transform identity;
    const struct lull_ctf_stream *cursor = stream->cursor;
    struct lull_trace *info = &source->base.info;
    struct lull_clock_map map;
    clock_map(cursor->stream, 0, &identity, &map);
    stream->base.begin_ns = INT64_MAX;
    stream->base.end_ns = INT64_MIN;
    for (uint32_t i = 0; i < cursor->list.packets->len; i++) {
        const struct lull_packet *packet =
            &g_array_index(cursor->list.packets, struct lull_packet, i);
        if (packet->flags & LULL_PACKET_HAS_BEGIN)
            stream->base.begin_ns =
                MIN(stream->base.begin_ns, lull_clock_map_own(&map, packet->begin));
        if (packet->flags & LULL_PACKET_HAS_END)
            stream->base.end_ns = MAX(stream->base.end_ns, lull_clock_map_own(&map, packet->end));
    }
    info->begin_ns = MIN(info->begin_ns, stream->base.begin_ns);
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
    if (lacks_times(&stream->cursor->list)) {
        static const struct lull_clock_transform identity;
        struct lull_clock_map map;
        clock_map(stream->cursor->stream, 0, &identity, &map);
        lull_ctf_stream_start(stream->cursor, &map, INT64_MIN, INT64_MAX, 0);
        lull_ctf_stream_measure(stream->cursor);
    }
    source->base.info.packet_count += stream->cursor->list.packets->len;
    source->base.info.size_bytes += size;
    extend_range(source, stream);
    note_losses(source, stream->cursor);
}

/* A tracer that had nothing to write for a CPU leaves an empty file; one that writes indexes also
 * an index without entries. Else the file has lost what it held. */
static void check_empty(const struct ctf_source *source, const struct lull_place *place,
                        const struct lull_packet_file *file)
{
    const size_t index_header = 16;
    const char *why = ", its index tells of packets";
    if (file->index == NULL)
        why = lull_place_has_indexes(place) ? " and has no index, which others have" : NULL;
    else if (file->index_size <= index_header)
        why = NULL;
    if (why != NULL)
        lull_report_problem(source->report, "%s: byte 0: the stream file is empty%s", file->path,
                            why);
}

/* Finds the packets of one file; what is wrong with it is a problem of that file only. */
static bool open_piece(struct ctf_source *source, const struct lull_place *place,
                       struct lull_piece *piece, uint64_t size)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *index_name = g_strconcat("index/", piece->name, ".idx", NULL);
    g_autofree char *index_path = g_build_filename(place->path, index_name, NULL);
    g_autofree char *index = NULL;
    struct lull_packet_file file = {
        .bytes = piece->bytes, .size = size, .path = piece->path, .index_path = index_path};
    if (!lull_place_read(place, index_name, &index, &file.index_size, NULL))
        file.index_size = 0;
    file.index = index;
    if (size == 0) {
        check_empty(source, place, &file);
        return false;
    }
    const char *why = piece->bytes->ops->open(piece->bytes);
    if (why != NULL) {
        lull_report_problem(source->report, "%s: the stream file cannot be read: %s", piece->path,
                            why);
        return false;
    }
    bool found = lull_packet_list_find(&piece->list, source->plan, &file, source->report, &error);
    piece->bytes->ops->close(piece->bytes);
    if (!found)
        lull_report_problem(source->report, "%s; the stream is left out", error->message);
    return found;
}

static void open_file(struct ctf_source *source, const struct lull_place *place, const char *name,
                      GPtrArray *pieces)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *path = g_build_filename(place->path, name, NULL);
    struct lull_bytes *bytes = NULL;
    uint64_t size = 0;
    enum lull_place_kind kind = lull_place_bytes(place, name, &bytes, &size, &error);
    if (kind == LULL_PLACE_FAILED)
        lull_report_problem(source->report, "%s", error->message);
    if (kind != LULL_PLACE_FILE)
        return;
    struct lull_piece *piece = lull_piece_new(path, name, bytes);
    if (open_piece(source, place, piece, size))
        g_ptr_array_add(pieces, piece);
    else
        lull_piece_free(piece);
}

static void free_piece(gpointer piece)
{
    lull_piece_free(piece);
}

static bool open_streams(struct ctf_source *source, struct lull_place *const *places,
                         uint32_t n_places, GError **error)
{
    g_autoptr(GPtrArray) pieces = g_ptr_array_new_with_free_func(free_piece);
    for (uint32_t i = 0; i < n_places; i++) {
        g_autoptr(GPtrArray) names = lull_place_list(places[i], error);
        if (names == NULL)
            return false;
        for (guint k = 0; k < names->len; k++)
            open_file(source, places[i], names->pdata[k], pieces);
    }
    lull_stitch(source->plan, pieces, add_stream, source);
    return true;
}

/* Keeps `text` for the life of the source. */
static const char *keep(struct ctf_source *source, char *text)
{
    g_ptr_array_add(source->texts, text);
    return text;
}

static const char *env_text(struct ctf_source *source, const char *key)
{
    const char *text = lull_schema_env_text(source->schema, key);
    return text != NULL ? text : "";
}

static const char *tracer_text(struct ctf_source *source)
{
    const char *name = env_text(source, "tracer_name");
    int64_t major = lull_schema_env_number(source->schema, "tracer_major", -1);
    int64_t minor = lull_schema_env_number(source->schema, "tracer_minor", -1);
    int64_t patch = lull_schema_env_number(source->schema, "tracer_patchlevel", -1);
    if (*name == '\0' || major < 0 || minor < 0)
        return name;
    if (patch < 0)
        return keep(source, g_strdup_printf("%s %" G_GINT64_FORMAT ".%" G_GINT64_FORMAT, name,
                                            major, minor));
    return keep(source,
                g_strdup_printf("%s %" G_GINT64_FORMAT ".%" G_GINT64_FORMAT ".%" G_GINT64_FORMAT,
                                name, major, minor, patch));
}

static void describe(struct ctf_source *source)
{
    static const struct lull_clock_transform identity;
    struct lull_trace *info = &source->base.info;
    const struct lull_schema *schema = source->schema;
    info->tracer = tracer_text(source);
    info->domain = env_text(source, "domain");
    info->kernel = env_text(source, "kernel_release");
    const char *session = lull_schema_env_text(schema, "trace_name");
    info->name = session != NULL ? session : env_text(source, "session_name");
    info->process = env_text(source, "procname");
    info->process_id = lull_schema_env_number(schema, "vpid", -1);
    info->format = keep(source, schema->major == 2
                                    ? g_strdup("CTF 2") /* which has no minor versions */
                                    : g_strdup_printf("CTF %u.%u", schema->major, schema->minor));
    source->base.hostname = lull_schema_env_text(schema, "hostname");
    const struct lull_clock *clock = NULL;
    for (uint32_t i = 0; i < schema->n_streams && clock == NULL; i++)
        clock = source->plan->streams[i].clock;
    info->clock_name = clock != NULL ? clock->name : "";
    info->clock_frequency_hz = clock != NULL ? clock->frequency : 1000000000;
    if (clock == NULL)
        return;
    struct lull_clock_map map;
    lull_clock_map_init(&map, clock->frequency, clock->offset_s, clock->offset_cycles, 0,
                        &identity);
    info->clock_offset_ns = lull_clock_map_own(&map, 0);
    if (info->clock_offset_ns == INT64_MAX - 1 || info->clock_offset_ns == INT64_MIN + 1)
        lull_report_problem(source->report,
                            "%s/metadata: clock '%s': its times do not fit 64 bits of nanoseconds; "
                            "they are shown as the last one that does",
                            info->path, clock->name);
    source->base.has_clock_uuid = clock->has_uuid;
    memcpy(source->base.clock_uuid, clock->uuid, sizeof clock->uuid);
}

static void describe_environment(struct ctf_source *source)
{
    const struct lull_schema *schema = source->schema;
    const char **list = g_new0(const char *, 2 * (size_t)schema->n_env + 1);
    for (uint32_t i = 0; i < schema->n_env; i++) {
        const struct lull_env_entry *entry = &schema->env[i];
        list[2 * i] = entry->key;
        list[2 * i + 1] = entry->text != NULL
                              ? entry->text
                              : keep(source, g_strdup_printf("%" G_GINT64_FORMAT, entry->number));
    }
    source->base.environment = list;
    source->base.has_uuid = schema->has_uuid;
    memcpy(source->base.uuid, schema->uuid, sizeof schema->uuid);
}

static void declare_classes(struct ctf_source *source)
{
    struct lull_source *base = &source->base;
    const struct lull_schema *schema = source->schema;
    for (uint32_t i = 0; i < schema->n_streams; i++)
        base->n_classes += schema->streams[i].n_events;
    base->classes = g_new0(struct lull_event_class, MAX(base->n_classes, 1));
    struct lull_event_class *event_class = base->classes;
    for (uint32_t i = 0; i < schema->n_streams; i++) {
        for (uint32_t e = 0; e < schema->streams[i].n_events; e++, event_class++) {
            const struct lull_event_decl *decl = &schema->streams[i].events[e];
            event_class->name = decl->name;
            event_class->model_uri = decl->emf_uri;
            event_class->log_level = decl->loglevel;
            event_class->index = (uint32_t)(event_class - base->classes);
            event_class->source = base;
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
    g_free((gpointer)base->environment);
    g_free((char *)base->info.path);
    g_free(source);
}

static void source_subscribe(struct lull_source *base,
                             const struct lull_subscription *subscriptions, const int32_t *of_class,
                             uint32_t max_fields_size, const struct lull_fields *const *extra,
                             uint32_t max_extra_size)
{
    struct ctf_source *source = (struct ctf_source *)base;
    source->fields_size = max_fields_size + max_extra_size;
    lull_ctf_plan_unsubscribe_all(source->plan);
    for (uint32_t i = 0; i < source->schema->n_streams; i++) {
        struct lull_stream_plan *stream = &source->plan->streams[i];
        for (uint32_t e = 0; e < stream->decl->n_events; e++) {
            int32_t number = of_class[stream->first_class + e];
            if (number < 0)
                continue;
            const struct lull_subscription *s = &subscriptions[number];
            const struct lull_fields *more = extra[stream->first_class + e];
            struct lull_extra_fields fields = {.offset = max_fields_size};
            if (more != NULL) {
                fields.bindings = more->bindings;
                fields.n_bindings = more->n_bindings;
                fields.size = more->size;
            }
            lull_ctf_plan_subscribe(source->plan, stream, e, number, s->bindings, s->n_bindings,
                                    s->fields_size, &fields);
        }
    }
}

static void source_prepare_sums(struct lull_source *base)
{
    lull_ctf_plan_load_all(((struct ctf_source *)base)->plan);
}

/* The stream class of an event class, whose index within it is *index. */
static const struct lull_stream_plan *stream_of_class(const struct lull_source *base,
                                                      uint32_t class_index, uint32_t *index)
{
    const struct lull_stream_plan *stream = ((const struct ctf_source *)base)->plan->streams;
    while (class_index >= stream->first_class + stream->decl->n_events)
        stream++;
    *index = class_index - stream->first_class;
    return stream;
}

static void source_each_field(const struct lull_source *base, uint32_t class_index,
                              void (*visit)(void *user, const struct lull_field_info *field),
                              void *user)
{
    uint32_t index;
    const struct lull_stream_decl *stream = stream_of_class(base, class_index, &index)->decl;
    lull_ctf_each_field(stream, &stream->events[index], visit, user);
}

static bool source_describe(const struct lull_source *base, uint32_t class_index, const char *path,
                            struct lull_field_type *type)
{
    uint32_t index;
    bool is_optional;
    const struct lull_stream_plan *stream = stream_of_class(base, class_index, &index);
    const struct lull_fc *fc = lull_ctf_plan_find_field(stream, index, path, &is_optional);
    if (fc == NULL)
        return false;
    *type = (struct lull_field_type){.element_bytes = 0};
    lull_ctf_describe(fc, &type->info);
    type->info.is_optional = is_optional;
    if ((fc->kind == LULL_FC_ARRAY || fc->kind == LULL_FC_SEQUENCE) &&
        type->info.kind != LULL_INFO_ARRAY) {
        fc = fc->kind == LULL_FC_ARRAY ? fc->array.element : fc->sequence.element;
        /* The raw bytes of wide characters are not what a text shows. */
        if (type->info.kind != LULL_INFO_TEXT || lull_encoding_unit(fc->integer.encoding) == 1)
            type->element_bytes = (uint8_t)(fc->integer.size / 8);
        type->info.is_signed = fc->integer.is_signed; /* also of characters */
    }
    if ((fc->kind == LULL_FC_INT || fc->kind == LULL_FC_VARINT) && fc->integer.enumeration != NULL)
        type->labels = fc;
    return true;
}

static const char *source_label(const void *labels, uint64_t value)
{
    return lull_fc_enum_label(labels, value);
}

static const struct lull_source_ops source_ops = {
    .free = source_free,
    .subscribe = source_subscribe,
    .prepare_sums = source_prepare_sums,
    .each_field = source_each_field,
    .describe = source_describe,
    .label = source_label,
};

const struct lull_ctf_plan *lull_ctf_source_plan(const struct lull_source *source)
{
    return source->ops == &source_ops ? ((const struct ctf_source *)source)->plan : NULL;
}

const struct lull_ctf_stream *lull_ctf_source_cursor(const struct lull_source_stream *stream)
{
    return stream->ops == &stream_ops ? ((const struct ctf_stream *)stream)->cursor : NULL;
}

struct lull_source *lull_ctf_source_open(struct lull_place *const *places, uint32_t n_places,
                                         const struct lull_report *report, GError **error)
{
    const struct lull_place *newest = places[0];
    for (uint32_t i = 1; i < n_places; i++)
        if (places[i]->metadata_size > newest->metadata_size)
            newest = places[i];
    struct ctf_source *source = g_new0(struct ctf_source, 1);
    source->base.ops = &source_ops;
    source->base.info.path = g_strdup(places[0]->path);
    source->base.info.below = "";
    source->base.info.directory_count = n_places;
    source->base.info.begin_ns = INT64_MAX;
    source->base.info.end_ns = INT64_MIN;
    source->report = report;
    source->texts = g_ptr_array_new_with_free_func(g_free);
    source->streams = g_ptr_array_new_with_free_func(stream_free);
    g_autofree char *metadata = g_build_filename(newest->path, "metadata", NULL);
    source->schema = lull_metadata_parse(metadata, (const uint8_t *)newest->metadata,
                                         newest->metadata_size, error);
    if (source->schema != NULL)
        source->plan = lull_ctf_plan_new(source->schema, error);
    if (source->plan == NULL) {
        if (source->schema != NULL)
            g_prefix_error(error, "%s: ", metadata);
        source_free(&source->base);
        return NULL;
    }
    describe(source);
    describe_environment(source);
    declare_classes(source);
    source->base.joined_clock = lull_schema_env_text(source->schema, LULL_ENV_JOINED_CLOCK);
    if (!open_streams(source, places, n_places, error)) {
        source_free(&source->base);
        return NULL;
    }
    source->base.streams = (struct lull_source_stream **)source->streams->pdata;
    source->base.n_streams = source->streams->len;
    source->base.info.stream_count = source->base.n_streams;
    return &source->base;
}
