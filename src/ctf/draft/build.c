/* SPDX-License-Identifier: MIT */
/* From a tree to a schema. What does not depend on the place where a class is used is built once and
 * shared; what has a role or refers to other fields is built for each use. */
#include <stdlib.h>
#include <string.h>

#include "ctf/draft/draft.h"

static const struct lull_fc *build(struct draft_builder *builder, struct draft_class *type);

bool draft_fail(struct draft_source *source, enum lull_error code, const char *where, char *message)
{
    if (!source->failed) {
        source->failed = true;
        g_set_error(source->error, LULL_ERROR, (gint)code, "%s: %s: %s", source->name, where,
                    message);
    }
    g_free(message);
    return false;
}

void draft_tree_init(struct draft_tree *tree, struct draft_source *source)
{
    *tree = (struct draft_tree){
        .source = source,
        .scratch = lull_arena_new(),
        .arena = lull_arena_new(),
        .env = g_array_new(FALSE, TRUE, sizeof(struct lull_env_entry)),
        .clocks = g_array_new(FALSE, TRUE, sizeof(struct lull_clock)),
        .streams = g_array_new(FALSE, TRUE, sizeof(struct draft_stream)),
        .events = g_array_new(FALSE, TRUE, sizeof(struct draft_event)),
    };
    draft_names_init(&tree->names, tree->arena, tree->scratch);
}

void draft_tree_clear(struct draft_tree *tree, const struct lull_schema *schema)
{
    draft_names_clear(&tree->names);
    g_array_free(tree->env, TRUE);
    g_array_free(tree->clocks, TRUE);
    g_array_free(tree->streams, TRUE);
    g_array_free(tree->events, TRUE);
    lull_arena_free(tree->scratch);
    if (!schema) {
        lull_arena_free(tree->arena);
    }
}

struct draft_class *draft_class_new(struct draft_tree *tree, enum lull_fc_kind kind)
{
    struct draft_class *type = lull_arena_alloc(tree->scratch, sizeof *type);
    type->fc.kind = kind;
    type->fc.alignment = 1;
    type->depth = type->n_classes = 1;
    type->fixed_bits = DRAFT_UNKNOWN_BITS;
    return type;
}

struct draft_body *draft_body_of(struct draft_tree *tree, struct draft_class *part)
{
    struct draft_body *body = lull_arena_alloc(tree->scratch, sizeof *body);
    body->n_parts = 1;
    body->parts = lull_arena_alloc(tree->scratch, sizeof *body->parts);
    body->parts[0].type = part;
    return body;
}

bool draft_spend(struct draft_builder *builder, const struct draft_class *type, uint32_t n)
{
    if (n > DRAFT_MAX_CLASSES - builder->n_classes) {
        return builder->language->too_many(builder, type);
    }
    builder->n_classes += n;
    return true;
}

static bool has_named_parts(const struct draft_class *type)
{
    return type->fc.kind == LULL_FC_STRUCT || type->fc.kind == LULL_FC_VARIANT;
}

const struct draft_part *draft_current_part(const struct draft_builder *builder)
{
    if (builder->n_frames == 0) {
        return NULL;
    }
    const struct draft_frame *frame = &builder->frames[builder->n_frames - 1];
    return has_named_parts(frame->type) ? &frame->type->body->parts[frame->current] : NULL;
}

/* The frame stays if a part fails, for the message. */
static bool build_parts(struct draft_builder *builder, const struct draft_class *type,
                        struct lull_member *members)
{
    struct draft_frame *frame = &builder->frames[builder->n_frames++];

    *frame = (struct draft_frame){.type = type, .members = members};
    for (uint32_t i = 0; i < type->body->n_parts; i++) {
        frame->current = i;
        members[i].name = type->body->parts[i].shown;
        members[i].fc = build(builder, type->body->parts[i].type);
        if (!members[i].fc) {
            return false;
        }
    }
    builder->n_frames--;
    return true;
}

static bool build_body(struct draft_builder *builder, const struct draft_class *type,
                       struct lull_fc *fc)
{
    struct lull_member part = {0}, *members = &part;

    if (!type->body) {
        return true;
    }
    if (has_named_parts(type)) {
        members = lull_arena_alloc_n(builder->tree->arena, type->body->n_parts, sizeof *members);
    }
    if (!build_parts(builder, type, members)) {
        return false;
    }
    switch (fc->kind) {
    case LULL_FC_STRUCT:
        fc->structure.members = members;
        fc->structure.n_members = type->body->n_parts;
        break;
    case LULL_FC_VARIANT:
        fc->variant.options = members;
        fc->variant.n_options = type->body->n_parts;
        break;
    case LULL_FC_ARRAY:
        fc->array.element = part.fc;
        break;
    case LULL_FC_SEQUENCE:
        fc->sequence.element = part.fc;
        break;
    default:
        fc->optional.content = part.fc;
        break;
    }
    return true;
}

static const struct lull_fc *build(struct draft_builder *builder, struct draft_class *type)
{
    const struct draft_language *language = builder->language;
    enum lull_fc_kind kind = type->fc.kind;
    /* Only headers and the packet context have fields with roles. */
    bool is_shared = !type->has_refs && builder->scope > LULL_SCOPE_EVENT_HEADER;
    bool refers = kind == LULL_FC_SEQUENCE || kind == LULL_FC_OPTIONAL || kind == LULL_FC_VARIANT;

    if (is_shared && type->built) {
        return draft_spend(builder, type, type->n_classes) ? type->built : NULL;
    }
    if (!draft_spend(builder, type, 1 + type->n_ranges)) {
        return NULL;
    }
    struct lull_fc *fc = lull_arena_copy(builder->tree->arena, &type->fc, sizeof type->fc);
    if ((refers && !language->refer(builder, type, fc)) || !build_body(builder, type, fc) ||
        !language->finish(builder, type, fc)) {
        return NULL;
    }
    if (is_shared) {
        type->built = fc;
    }
    return fc;
}

/* Builds the fields of one scope, a structure, or none; what they refer to in earlier scopes has to
 * be in `roots` already, and so is the result. */
static bool build_scope(struct draft_builder *builder, enum lull_scope scope,
                        struct draft_class *type)
{
    for (int later = (int)scope; later < LULL_SCOPE_COUNT; later++) {
        builder->roots[later] = (struct draft_root){0};
    }
    if (!type) {
        return true;
    }
    builder->scope = scope;
    builder->n_frames = 0;
    builder->roots[scope] = (struct draft_root){type, NULL};
    builder->roots[scope].fc = build(builder, type);
    return builder->roots[scope].fc != NULL;
}

/* Messages from here on are about this. */
static void look_at(struct draft_tree *tree, struct draft_origin origin)
{
    tree->source->fragment = origin.fragment;
    tree->source->offset = origin.offset;
}

static bool build_event(struct draft_builder *builder, const struct draft_event *event,
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
    if (!build_scope(builder, LULL_SCOPE_EVENT_CONTEXT, event->context) ||
        !build_scope(builder, LULL_SCOPE_EVENT_PAYLOAD, event->payload)) {
        return false;
    }
    out->context = builder->roots[LULL_SCOPE_EVENT_CONTEXT].fc;
    out->payload = builder->roots[LULL_SCOPE_EVENT_PAYLOAD].fc;
    return true;
}

/* Builds one stream; its events are the next ones of the tree's, from *next on. */
static bool build_stream(struct draft_builder *builder, const struct draft_stream *stream,
                         guint *next, struct lull_stream_decl *out)
{
    struct draft_tree *tree = builder->tree;
    const struct draft_event *events = (const struct draft_event *)tree->events->data;
    guint start = *next;

    look_at(tree, stream->origin);
    builder->clock = stream->clock < 0 ? NULL : &builder->clocks[stream->clock];
    if (!build_scope(builder, LULL_SCOPE_PACKET_CONTEXT, stream->packet_context) ||
        !build_scope(builder, LULL_SCOPE_EVENT_HEADER, stream->event_header) ||
        !build_scope(builder, LULL_SCOPE_STREAM_EVENT_CONTEXT, stream->event_context)) {
        return false;
    }
    while (*next < tree->events->len && events[*next].stream_id == stream->id) {
        ++*next;
    }
    if (builder->language->default_clock) {
        builder->clock = builder->language->default_clock(builder);
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

static int compare(uint64_t a, uint64_t b)
{
    return a < b ? -1 : a > b;
}

static int by_stream_id(const void *a, const void *b)
{
    const struct draft_stream *x = a, *y = b;
    return x->id != y->id ? compare(x->id, y->id) : compare(x->origin.offset, y->origin.offset);
}

static int by_event_id(const void *a, const void *b)
{
    const struct draft_event *x = a, *y = b;
    if (x->stream_id != y->stream_id) {
        return compare(x->stream_id, y->stream_id);
    }
    return x->id != y->id ? compare(x->id, y->id) : compare(x->origin.offset, y->origin.offset);
}

void draft_tree_sort(struct draft_tree *tree)
{
    g_array_sort(tree->streams, by_stream_id);
    g_array_sort(tree->events, by_event_id);
}

static void *copy_list(const struct draft_tree *tree, const GArray *list)
{
    return lull_arena_copy(tree->arena, list->data,
                           list->len * g_array_get_element_size((GArray *)list));
}

static bool build_all(struct draft_builder *builder, struct lull_schema *schema)
{
    struct draft_tree *tree = builder->tree;
    struct lull_stream_decl *list =
        lull_arena_alloc_n(tree->arena, tree->streams->len, sizeof *list);
    guint next = 0;

    look_at(tree, tree->trace_origin);
    if (!build_scope(builder, LULL_SCOPE_PACKET_HEADER, tree->packet_header)) {
        return false;
    }
    schema->packet_header = builder->roots[LULL_SCOPE_PACKET_HEADER].fc;
    schema->streams = list;
    schema->n_streams = tree->streams->len;
    for (uint32_t i = 0; i < schema->n_streams; i++) {
        if (!build_stream(builder, &g_array_index(tree->streams, struct draft_stream, i), &next,
                          &list[i])) {
            return false;
        }
    }
    return true;
}

struct lull_schema *draft_build(struct draft_tree *tree, const struct draft_language *language)
{
    struct lull_schema *schema = lull_arena_alloc(tree->arena, sizeof *schema);

    *schema = (struct lull_schema){
        .major = tree->major,
        .minor = tree->minor,
        .identity = tree->identity,
        .has_uuid = tree->has_uuid,
        .is_big_endian = tree->is_big_endian,
        .env = copy_list(tree, tree->env),
        .n_env = tree->env->len,
        .clocks = copy_list(tree, tree->clocks),
        .n_clocks = tree->clocks->len,
        .arena = tree->arena,
    };
    memcpy(schema->uuid, tree->uuid, sizeof schema->uuid);
    struct draft_builder *builder = g_new0(struct draft_builder, 1);
    builder->language = language;
    builder->tree = tree;
    builder->clocks = schema->clocks;
    bool ok = build_all(builder, schema);
    g_free(builder);
    return ok ? schema : NULL;
}
