/* From what the fragments of CTF 2 metadata declare to the schema: which events belong to which
 * stream, and in which order fields are built. */
#include "ctf/ctf2/build.h"

#include <stdlib.h>
#include <string.h>

static int by_stream_id(const void *a, const void *b)
{
    const struct ctf2_stream *x = a, *y = b;
    return x->id < y->id ? -1 : x->id > y->id;
}

static int by_event_id(const void *a, const void *b)
{
    const struct ctf2_event *x = a, *y = b;
    if (x->stream_id != y->stream_id) {
        return x->stream_id < y->stream_id ? -1 : 1;
    }
    return x->id < y->id ? -1 : x->id > y->id;
}

/* Messages from here on are about this fragment. */
static void look_at(struct ctf2_tree *tree, struct ctf2_origin origin)
{
    tree->source->fragment = origin.fragment;
    tree->source->offset = origin.offset;
}

static bool build_event(struct ctf2_builder *builder, const struct ctf2_event *event,
                        struct lull_event_decl *out)
{
    look_at(builder->tree, event->origin);
    *out = (struct lull_event_decl){
        .id = event->id,
        .name = event->identity.name ? event->identity.name : "",
        .name_space = event->identity.name_space,
        .uid = event->identity.uid,
        .loglevel = event->loglevel,
        .emf_uri = event->emf_uri,
    };
    if (!ctf2_build_scope(builder, LULL_SCOPE_EVENT_CONTEXT, event->context) ||
        !ctf2_build_scope(builder, LULL_SCOPE_EVENT_PAYLOAD, event->payload)) {
        return false;
    }
    out->context = builder->roots[LULL_SCOPE_EVENT_CONTEXT].fc;
    out->payload = builder->roots[LULL_SCOPE_EVENT_PAYLOAD].fc;
    return true;
}

/* Builds one stream; its events are the next ones of the tree's, from *next on. */
static bool build_stream(struct ctf2_builder *builder, const struct ctf2_stream *stream,
                         guint *next, struct lull_stream_decl *out)
{
    struct ctf2_tree *tree = builder->tree;
    const struct ctf2_event *events = (const struct ctf2_event *)tree->events->data;
    guint start = *next;

    look_at(tree, stream->origin);
    if (!ctf2_build_scope(builder, LULL_SCOPE_PACKET_CONTEXT, stream->packet_context) ||
        !ctf2_build_scope(builder, LULL_SCOPE_EVENT_HEADER, stream->event_header) ||
        !ctf2_build_scope(builder, LULL_SCOPE_STREAM_EVENT_CONTEXT, stream->event_context)) {
        return false;
    }
    while (*next < tree->events->len && events[*next].stream_id == stream->id) {
        ++*next;
    }
    struct lull_event_decl *list = lull_arena_alloc_n(tree->arena, *next - start, sizeof *list);
    *out = (struct lull_stream_decl){
        .id = stream->id,
        .identity = stream->identity,
        .clock = builder->clock,
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

static bool build_streams(struct ctf2_builder *builder, struct lull_schema *schema)
{
    struct ctf2_tree *tree = builder->tree;
    struct ctf2_stream *streams = (struct ctf2_stream *)tree->streams->data;
    struct lull_stream_decl *list =
        lull_arena_alloc_n(tree->arena, tree->streams->len, sizeof *list);
    guint next = 0;

    if (tree->streams->len > 1) {
        qsort(streams, tree->streams->len, sizeof *streams, by_stream_id);
    }
    if (tree->events->len > 1) {
        qsort(tree->events->data, tree->events->len, sizeof(struct ctf2_event), by_event_id);
    }
    schema->streams = list;
    schema->n_streams = tree->streams->len;
    for (uint32_t i = 0; i < schema->n_streams; i++) {
        builder->clock = streams[i].clock < 0 ? NULL : &schema->clocks[streams[i].clock];
        if (!build_stream(builder, &streams[i], &next, &list[i])) {
            return false;
        }
    }
    return true;
}

struct lull_schema *ctf2_resolve(struct ctf2_tree *tree)
{
    struct lull_schema *schema = lull_arena_alloc(tree->arena, sizeof *schema);

    if (tree->streams->len == 0) {
        ctf2_fail(&(struct ctf2_at){.source = tree->source}, LULL_ERROR_FORMAT,
                  "the metadata ends without a data stream class");
        return NULL;
    }
    schema->major = 2;
    schema->identity = tree->identity;
    schema->has_uuid = tree->has_uuid;
    memcpy(schema->uuid, tree->uuid, sizeof schema->uuid);
    schema->clocks = lull_arena_copy(tree->arena, tree->clocks->data,
                                     tree->clocks->len * sizeof(struct lull_clock));
    schema->n_clocks = tree->clocks->len;
    schema->env = lull_arena_copy(tree->arena, tree->env->data,
                                  tree->env->len * sizeof(struct lull_env_entry));
    schema->n_env = tree->env->len;
    schema->arena = tree->arena;

    struct ctf2_builder *builder = g_new0(struct ctf2_builder, 1);
    builder->tree = tree;
    look_at(tree, tree->trace_origin);
    bool ok = ctf2_build_scope(builder, LULL_SCOPE_PACKET_HEADER, tree->packet_header);
    schema->packet_header = builder->roots[LULL_SCOPE_PACKET_HEADER].fc;
    ok = ok && build_streams(builder, schema);
    g_free(builder);
    return ok ? schema : NULL;
}
