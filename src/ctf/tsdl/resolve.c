/* From the parser's tree to the schema: which events belong to which stream, in which order fields
 * are built, and what has to be unique. */
#include "ctf/tsdl/build.h"

#include <stdlib.h>
#include <string.h>

static int by_stream_id(const void *a, const void *b)
{
    const struct tsdl_stream *x = a, *y = b;
    if (x->id != y->id) {
        return x->id < y->id ? -1 : 1;
    }
    return x->pos < y->pos ? -1 : x->pos > y->pos;
}

static int by_event_id(const void *a, const void *b)
{
    const struct tsdl_event *x = a, *y = b;
    if (x->stream_id != y->stream_id) {
        return x->stream_id < y->stream_id ? -1 : 1;
    }
    if (x->id != y->id) {
        return x->id < y->id ? -1 : 1;
    }
    return x->pos < y->pos ? -1 : x->pos > y->pos;
}

static uint32_t line_of(const struct tsdl_source *source, uint32_t pos)
{
    uint32_t line = 1;
    for (uint32_t i = 0; i < pos; i++) {
        line += source->text[i] == '\n';
    }
    return line;
}

/* Puts streams in order of their ids; makes the one that may be left out. */
static bool arrange_streams(struct tsdl_tree *tree)
{
    struct tsdl_stream *streams;
    GArray *list = tree->streams;

    if (list->len == 0 && tree->events->len > 0) {
        struct tsdl_stream implied = {.pos = g_array_index(tree->events, struct tsdl_event, 0).pos};
        g_array_append_val(list, implied);
    }
    streams = (struct tsdl_stream *)list->data;
    for (guint i = 0; list->len > 1 && i < list->len; i++) {
        if (!streams[i].has_id) {
            return tsdl_fail(tree->source, LULL_ERROR_FORMAT, streams[i].pos,
                             "stream without an id, which only a single one may be");
        }
    }
    if (list->len > 1) {
        qsort(streams, list->len, sizeof *streams, by_stream_id);
    }
    for (guint i = 1; i < list->len; i++) {
        if (streams[i].id == streams[i - 1].id) {
            return tsdl_fail(tree->source, LULL_ERROR_FORMAT, streams[i].pos,
                             "stream id %" G_GUINT64_FORMAT " is used twice: line %u has it too",
                             streams[i].id, line_of(tree->source, streams[i - 1].pos));
        }
    }
    return true;
}

/* Gives events the stream that they may leave out, and puts them in order of stream and id. */
static bool arrange_events(struct tsdl_tree *tree)
{
    struct tsdl_event *events = (struct tsdl_event *)tree->events->data;
    guint n = tree->events->len;

    for (guint i = 0; i < n; i++) {
        if (events[i].has_stream_id) {
            continue;
        }
        if (tree->streams->len > 1) {
            return tsdl_fail(tree->source, LULL_ERROR_FORMAT, events[i].pos,
                             "event '%.60s' without a stream_id: there are several streams",
                             events[i].name);
        }
        events[i].stream_id = g_array_index(tree->streams, struct tsdl_stream, 0).id;
    }
    if (n > 1) {
        qsort(events, n, sizeof *events, by_event_id);
    }
    for (guint i = 1; i < n; i++) {
        if (events[i].id == events[i - 1].id && events[i].stream_id == events[i - 1].stream_id) {
            return tsdl_fail(tree->source, LULL_ERROR_FORMAT, events[i].pos,
                             "event '%.60s' has id %" G_GUINT64_FORMAT
                             ", as '%.60s' on line %u in the same stream",
                             events[i].name, events[i].id, events[i - 1].name,
                             line_of(tree->source, events[i - 1].pos));
        }
    }
    return true;
}

static bool build_event(struct tsdl_builder *builder, const struct tsdl_event *event,
                        struct lull_event_decl *out)
{
    *out = (struct lull_event_decl){
        .id = event->id,
        .name = event->name,
        .loglevel = event->loglevel,
        .emf_uri = event->emf_uri,
    };
    if (!tsdl_build_scope(builder, LULL_SCOPE_EVENT_CONTEXT, event->context) ||
        !tsdl_build_scope(builder, LULL_SCOPE_EVENT_PAYLOAD, event->payload)) {
        return false;
    }
    out->context = builder->roots[LULL_SCOPE_EVENT_CONTEXT].fc;
    out->payload = builder->roots[LULL_SCOPE_EVENT_PAYLOAD].fc;
    return true;
}

/* The clock of a stream's events, or NULL if there are several and none is used. */
static const struct lull_clock *default_clock(const struct tsdl_builder *builder)
{
    const struct lull_clock *clock = tsdl_first_clock(builder->roots[LULL_SCOPE_EVENT_HEADER].fc);
    if (!clock) {
        clock = tsdl_first_clock(builder->roots[LULL_SCOPE_PACKET_CONTEXT].fc);
    }
    if (!clock && builder->implied_clock) {
        clock = builder->implied_clock;
    }
    if (!clock && builder->tree->clocks->len == 1) {
        clock = &builder->clocks[0];
    }
    return clock;
}

/* Builds one stream; its events are the next ones of the tree's, from *next on. */
static bool build_stream(struct tsdl_builder *builder, const struct tsdl_stream *stream,
                         guint *next, struct lull_stream_decl *out)
{
    struct tsdl_tree *tree = builder->tree;
    const struct tsdl_event *events = (const struct tsdl_event *)tree->events->data;
    guint start = *next;

    if (!tsdl_build_scope(builder, LULL_SCOPE_PACKET_CONTEXT, stream->packet_context) ||
        !tsdl_build_scope(builder, LULL_SCOPE_EVENT_HEADER, stream->event_header) ||
        !tsdl_build_scope(builder, LULL_SCOPE_STREAM_EVENT_CONTEXT, stream->event_context)) {
        return false;
    }
    while (*next < tree->events->len && events[*next].stream_id == stream->id) {
        ++*next;
    }
    struct lull_event_decl *list = lull_arena_alloc_n(tree->arena, *next - start, sizeof *list);
    *out = (struct lull_stream_decl){
        .id = stream->id,
        .clock = default_clock(builder),
        .packet_context = builder->roots[LULL_SCOPE_PACKET_CONTEXT].fc,
        .event_header = builder->roots[LULL_SCOPE_EVENT_HEADER].fc,
        .event_context = builder->roots[LULL_SCOPE_STREAM_EVENT_CONTEXT].fc,
        .events = list,
        .n_events = *next - start,
    };
    for (guint i = start; i < *next; i++) {
        if (!build_event(builder, &events[i], &list[i - start])) {
            return false;
        }
    }
    return true;
}

static bool has_stream_id(const struct lull_fc *packet_header)
{
    for (uint32_t i = 0; packet_header && i < packet_header->structure.n_members; i++) {
        if (strcmp(packet_header->structure.members[i].name, "stream_id") == 0) {
            return true;
        }
    }
    return false;
}

static bool build_streams(struct tsdl_builder *builder, struct lull_schema *schema)
{
    struct tsdl_tree *tree = builder->tree;
    const struct tsdl_stream *streams = (const struct tsdl_stream *)tree->streams->data;
    struct lull_stream_decl *list =
        lull_arena_alloc_n(tree->arena, tree->streams->len, sizeof *list);
    guint next = 0;

    schema->streams = list;
    schema->n_streams = tree->streams->len;
    if (schema->n_streams > 1 && !has_stream_id(schema->packet_header)) {
        return tsdl_fail(tree->source, LULL_ERROR_FORMAT, tree->trace_pos,
                         "packet header without stream_id: nothing says which of the %u streams a "
                         "packet is of",
                         schema->n_streams);
    }
    for (uint32_t i = 0; i < schema->n_streams; i++) {
        /* Events are in order of stream ids: one that is left over has a stream that is not there.
         */
        if (next < tree->events->len &&
            g_array_index(tree->events, struct tsdl_event, next).stream_id < streams[i].id) {
            break;
        }
        if (!build_stream(builder, &streams[i], &next, &list[i])) {
            return false;
        }
    }
    if (next < tree->events->len) {
        const struct tsdl_event *event = &g_array_index(tree->events, struct tsdl_event, next);
        return tsdl_fail(tree->source, LULL_ERROR_FORMAT, event->pos,
                         "event '%.60s' is of stream %" G_GUINT64_FORMAT ", which is not declared",
                         event->name, event->stream_id);
    }
    return true;
}

static struct lull_clock *copy_clocks(const struct tsdl_tree *tree)
{
    struct lull_clock *clocks = lull_arena_alloc_n(tree->arena, tree->clocks->len, sizeof *clocks);
    for (guint i = 0; i < tree->clocks->len; i++) {
        clocks[i] = g_array_index(tree->clocks, struct tsdl_clock, i).clock;
        clocks[i].origin = clocks[i].is_absolute ? LULL_ORIGIN_UNIX_EPOCH : LULL_ORIGIN_UNKNOWN;
    }
    return clocks;
}

struct lull_schema *tsdl_resolve(struct tsdl_tree *tree)
{
    struct tsdl_builder *builder = g_new0(struct tsdl_builder, 1);
    struct lull_schema *schema = lull_arena_alloc(tree->arena, sizeof *schema);
    struct lull_clock *clocks = copy_clocks(tree);

    schema->major = tree->major;
    schema->minor = tree->minor;
    schema->has_uuid = tree->has_uuid;
    memcpy(schema->uuid, tree->uuid, sizeof schema->uuid);
    schema->is_big_endian = tree->is_big_endian;
    schema->env = lull_arena_copy(tree->arena, tree->env->data,
                                  tree->env->len * sizeof(struct lull_env_entry));
    schema->n_env = tree->env->len;
    schema->clocks = clocks;
    schema->n_clocks = tree->clocks->len;
    schema->arena = tree->arena;
    builder->tree = tree;
    builder->clocks = clocks;
    if (schema->n_clocks == 0) {
        clocks = lull_arena_alloc(tree->arena, sizeof *clocks);
        *clocks = (struct lull_clock){.name = "", .frequency = 1000000000};
        schema->clocks = builder->implied_clock = clocks;
        schema->n_clocks = 1;
    }

    bool ok = arrange_streams(tree) && arrange_events(tree) &&
              tsdl_build_scope(builder, LULL_SCOPE_PACKET_HEADER, tree->packet_header);
    schema->packet_header = builder->roots[LULL_SCOPE_PACKET_HEADER].fc;
    ok = ok && build_streams(builder, schema);
    g_free(builder);
    return ok ? schema : NULL;
}
