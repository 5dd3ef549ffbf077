/* SPDX-License-Identifier: MIT */
/* Kinds of traces. Two traces are of one kind if their metadata differ in nothing but what is of one
 * machine alone; the texts are compared whole. */
#include "source/ctf/kind.h"

#include <string.h>

#include "base/arena.h"
#include "ctf/metadata.h"
#include "ctf/plan/fields.h"
#include "ctf/tsdl/machine.h"
#include "ctf/tsdl/tsdl.h"
#include "source/ctf/trace.h"

/* So much text is kept to compare others with. */
#define MOST_TEXT ((size_t)64 << 20)

struct shared_text {
    char *text;
    size_t size;
    struct tsdl_machine machine;
};

struct lull_ctf_kinds {
    GHashTable *by_text;            /* struct shared_text → struct lull_ctf_kind */
    const struct shared_text *last; /* that was the first of its kind, or of one that is there */
    GPtrArray *all; /* struct lull_ctf_kind, references: who has seen a class may keep it */
    size_t text_bytes;
};

/* ---- texts ---- */

static guint hash_text(gconstpointer key)
{
    const struct shared_text *text = key;
    return tsdl_machine_hash(&text->machine, text->text, text->size);
}

static gboolean equal_texts(gconstpointer left, gconstpointer right)
{
    const struct shared_text *a = left, *b = right;
    return tsdl_machine_same_rest(&a->machine, a->text, a->size, &b->machine, b->text, b->size);
}

static void free_text(gpointer data)
{
    struct shared_text *text = data;
    tsdl_machine_clear(&text->machine);
    g_free(text->text);
    g_free(text);
}

static void unref_kind(gpointer data)
{
    lull_ctf_kind_unref(data);
}

struct lull_ctf_kinds *lull_ctf_kinds_new(void)
{
    struct lull_ctf_kinds *kinds = g_new0(struct lull_ctf_kinds, 1);
    kinds->by_text = g_hash_table_new_full(hash_text, equal_texts, free_text, NULL);
    kinds->all = g_ptr_array_new_with_free_func(unref_kind);
    return kinds;
}

void lull_ctf_kinds_free(struct lull_ctf_kinds *kinds)
{
    g_hash_table_unref(kinds->by_text);
    g_ptr_array_unref(kinds->all);
    g_free(kinds);
}

/* ---- one kind ---- */

static const struct lull_stream_plan *stream_of_class(const struct lull_source *base,
                                                      uint32_t class_index, uint32_t *index)
{
    const struct lull_stream_plan *stream = ((const struct lull_ctf_kind *)base)->plan->streams;
    while (class_index >= stream->first_class + stream->decl->n_events) {
        stream++;
    }
    *index = class_index - stream->first_class;
    return stream;
}

static void face_each_field(const struct lull_source *base, uint32_t class_index,
                            void (*visit)(void *user, const struct lull_field_info *field),
                            void *user)
{
    uint32_t index;
    const struct lull_stream_decl *stream = stream_of_class(base, class_index, &index)->decl;
    lull_ctf_each_field(stream, &stream->events[index], visit, user);
}

static bool face_describe(const struct lull_source *base, uint32_t class_index, const char *path,
                          struct lull_field_type *type)
{
    uint32_t index;
    const struct lull_stream_plan *stream = stream_of_class(base, class_index, &index);
    return lull_ctf_describe_field(stream, index, path, type);
}

static void declare_classes(struct lull_ctf_kind *kind)
{
    static const struct lull_source_ops face_ops = {
        .each_field = face_each_field, .describe = face_describe, .label = lull_ctf_label};
    struct lull_source *face = &kind->face;
    const struct lull_schema *schema = kind->schema;
    face->ops = &face_ops;
    for (uint32_t i = 0; i < schema->n_streams; i++) {
        face->n_classes += schema->streams[i].n_events;
    }
    kind->classes = g_new0(struct lull_event_class, MAX(face->n_classes, 1));
    face->classes = g_new(struct lull_event_class *, MAX(face->n_classes, 1));
    struct lull_event_class *event_class = kind->classes;
    for (uint32_t i = 0; i < schema->n_streams; i++) {
        for (uint32_t e = 0; e < schema->streams[i].n_events; e++, event_class++) {
            lull_ctf_describe_class(event_class, &schema->streams[i].events[e]);
            event_class->index = (uint32_t)(event_class - kind->classes);
            event_class->source = face;
            face->classes[event_class->index] = event_class;
            kind->plan->streams[i].plans[e].event_class = event_class;
        }
    }
}

/* Takes the schema, even if it fails. */
static struct lull_ctf_kind *kind_new(struct lull_schema *schema, struct lull_ctf_kind *parent,
                                      GError **error)
{
    struct lull_ctf_kind *kind = g_new0(struct lull_ctf_kind, 1);
    kind->n_refs = 1;
    kind->schema = schema;
    kind->parent = parent;
    kind->plan = lull_ctf_plan_new(schema, error);
    if (!kind->plan) {
        lull_ctf_kind_unref(kind);
        return NULL;
    }
    declare_classes(kind);
    return kind;
}

void lull_ctf_kind_unref(struct lull_ctf_kind *kind)
{
    if (--kind->n_refs > 0) {
        return;
    }
    lull_ctf_plan_free(kind->plan);
    if (kind->parent) {
        lull_ctf_kind_unref(kind->parent);
    } else {
        lull_schema_free(kind->schema);
    }
    g_free(kind->face.classes);
    g_free(kind->classes);
    g_free(kind);
}

static struct lull_ctf_kind *kind_ref(struct lull_ctf_kind *kind)
{
    kind->n_refs++;
    return kind;
}

bool lull_ctf_kind_is_shared(const struct lull_ctf_kind *kind)
{
    return !kind->parent && kind->n_refs > 2; /* the set of kinds has one */
}

struct lull_ctf_kind *lull_ctf_kind_copy(struct lull_ctf_kind *kind)
{
    g_autoptr(GError) error = NULL;
    struct lull_ctf_kind *copy = kind_new(kind->schema, kind_ref(kind), &error);
    g_assert(copy); /* it could be compiled before */
    for (uint32_t i = 0; i < copy->face.n_classes; i++) {
        copy->classes[i].number = kind->classes[i].number;
    }
    return copy;
}

/* ---- a trace of a kind ---- */

/* The schema's streams become those of the kind, with the schema's own clocks. */
static void adopt_streams(struct lull_schema *own, const struct lull_schema *kind)
{
    struct lull_stream_decl *streams =
        lull_arena_copy(own->arena, kind->streams, kind->n_streams * sizeof *streams);
    for (uint32_t i = 0; i < kind->n_streams; i++) {
        if (streams[i].clock) {
            streams[i].clock = &own->clocks[streams[i].clock - kind->clocks];
        }
    }
    own->packet_header = kind->packet_header;
    own->streams = streams;
    own->n_streams = kind->n_streams;
}

/* What a trace of the kind says of its machine; NULL if it cannot be read. */
static struct lull_schema *own_schema(const struct lull_ctf_kind *kind, const char *name,
                                      const struct shared_text *text)
{
    const GString *blocks = text->machine.blocks;
    struct lull_schema *own = tsdl_parse(name, blocks->str, blocks->len, NULL);
    if (own &&
        (own->n_clocks != kind->schema->n_clocks || own->has_uuid != kind->schema->has_uuid)) {
        g_clear_pointer(&own, lull_schema_free);
    }
    if (own) {
        adopt_streams(own, kind->schema);
    }
    return own;
}

static struct lull_ctf_kind *find_shared(struct lull_ctf_kinds *kinds, const char *name,
                                         const struct shared_text *text, struct lull_schema **own)
{
    gpointer known, kind;
    if (!g_hash_table_lookup_extended(kinds->by_text, text, &known, &kind)) {
        return NULL;
    }
    kinds->last = known;
    *own = own_schema(kind, name, text);
    return *own ? kind_ref(kind) : NULL;
}

/* The text is the first of its kind, and takes `text` if others may follow. */
static struct lull_ctf_kind *parse(struct lull_ctf_kinds *kinds, const char *name,
                                   struct shared_text **text, bool is_divided,
                                   struct lull_schema **own, GError **error)
{
    struct lull_schema *schema =
        lull_metadata_parse_text(name, (*text)->text, (*text)->size, error);
    struct lull_ctf_kind *kind = schema ? kind_new(schema, NULL, error) : NULL;
    if (!kind) {
        if (schema) {
            g_prefix_error(error, "%s: ", name);
        }
        return NULL;
    }
    *own = is_divided ? own_schema(kind, name, *text) : NULL;
    g_ptr_array_add(kinds->all, kind_ref(kind));
    if (*own && kinds->text_bytes + (*text)->size <= MOST_TEXT) {
        kinds->text_bytes += (*text)->size;
        kinds->last = *text;
        g_hash_table_replace(kinds->by_text, g_steal_pointer(text), kind);
    }
    return kind;
}

static bool divide(const struct lull_ctf_kinds *kinds, struct shared_text *text)
{
    const struct shared_text *last = kinds->last;
    return (last && tsdl_machine_find_like(&text->machine, text->text, text->size, &last->machine,
                                           last->text, last->size)) ||
           tsdl_machine_find(&text->machine, text->text, text->size);
}

struct lull_ctf_kind *lull_ctf_kind_find(struct lull_ctf_kinds *kinds, const char *name,
                                         const uint8_t *metadata, size_t size,
                                         struct lull_schema **own, GError **error)
{
    struct shared_text *text = g_new0(struct shared_text, 1);
    struct lull_ctf_kind *kind = NULL;
    *own = NULL;
    text->text = lull_metadata_text(name, metadata, size, &text->size, error);
    if (text->text) {
        bool is_divided = !lull_metadata_is_json(text->text, text->size) && divide(kinds, text);
        kind = is_divided ? find_shared(kinds, name, text, own) : NULL;
        if (!kind) {
            kind = parse(kinds, name, &text, is_divided, own, error);
        }
    }
    if (text) {
        free_text(text);
    }
    return kind;
}

struct lull_ctf_plan *lull_ctf_kind_plan(const struct lull_ctf_kind *kind,
                                         const struct lull_schema *own)
{
    struct lull_ctf_plan *plan = g_new0(struct lull_ctf_plan, 1);
    plan->streams = g_new0(struct lull_stream_plan, MAX(own->n_streams, 1));
    plan->schema = own;
    lull_ctf_kind_update_plan(kind, plan);
    return plan;
}

void lull_ctf_kind_update_plan(const struct lull_ctf_kind *kind, struct lull_ctf_plan *plan)
{
    const struct lull_schema *own = plan->schema;
    struct lull_stream_plan *streams = plan->streams;
    *plan = *kind->plan;
    plan->schema = own;
    plan->streams = streams;
    for (uint32_t i = 0; i < own->n_streams; i++) {
        streams[i] = kind->plan->streams[i];
        streams[i].decl = &own->streams[i];
        if (streams[i].clock) {
            streams[i].clock = &own->clocks[streams[i].clock - kind->schema->clocks];
        }
    }
}

void lull_ctf_kind_free_plan(struct lull_ctf_plan *plan)
{
    if (plan) {
        g_free(plan->streams);
        g_free(plan);
    }
}
