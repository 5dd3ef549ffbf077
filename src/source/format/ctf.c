/* SPDX-License-Identifier: MIT */
/* From formats to a schema of CTF 2. Integers and arrays of fixed size keep their bytes, one after
 * the other without the gaps that C leaves between them; texts of variable size become strings;
 * other arrays of variable size get their length in front, in a field named as LTTng names it,
 * `_NAME_length`. */
#include "source/format/ctf.h"

#include <string.h>

#include "base/arena.h"

enum piece_kind {
    PIECE_RUN,   /* bytes of the record */
    PIECE_ASIDE, /* an integer that the source keeps aside */
    PIECE_TEXT,  /* up to its first NUL, and one */
    PIECE_ARRAY, /* 32 bits of length, and whole elements */
};

struct piece {
    enum piece_kind kind;
    uint32_t offset, size; /* of RUN and ASIDE */
    const struct lull_format_field *field;
};

struct copier {
    const struct lull_format *format; /* NULL: not written */
    uint32_t index;                   /* of the class in the schema */
    uint64_t fixed_bytes;             /* without TEXT and ARRAY */
    struct piece *pieces;
    uint32_t n_pieces;
};

struct lull_format_ctf {
    struct lull_schema *schema;
    struct lull_ctf_plan *plan;
    struct copier *copiers; /* by class of the source */
};

/* ---- the schema ---- */

struct builder {
    struct lull_arena *arena;
    const struct lull_format *format;
    GArray *members; /* struct lull_member */
    GArray *pieces;  /* struct piece */
    uint64_t fixed_bytes;
};

static struct lull_fc *new_class(struct builder *b, enum lull_fc_kind kind)
{
    struct lull_fc *fc = lull_arena_alloc(b->arena, sizeof *fc);
    fc->kind = kind;
    fc->alignment = 8;
    return fc;
}

static struct lull_fc *new_integer(struct builder *b, unsigned bytes)
{
    struct lull_fc *fc = new_class(b, LULL_FC_INT);
    fc->integer.size = 8 * bytes;
    fc->integer.base = 10;
    return fc;
}

static void add_member(struct builder *b, const char *name, const struct lull_fc *fc)
{
    const struct lull_member member = {lull_arena_strndup(b->arena, name, strlen(name)), fc};
    g_array_append_val(b->members, member);
}

/* What was added since the last call. */
static struct lull_fc *take_structure(struct builder *b)
{
    struct lull_fc *fc = new_class(b, LULL_FC_STRUCT);
    fc->structure.n_members = b->members->len;
    fc->structure.members =
        lull_arena_copy(b->arena, b->members->data, b->members->len * sizeof(struct lull_member));
    g_array_set_size(b->members, 0);
    return fc;
}

/* An integer, or an element of an array. */
static struct lull_fc *number_of(struct builder *b, const struct lull_format_field *field)
{
    struct lull_fc *fc = new_integer(b, field->element_bytes);
    fc->integer.is_signed = field->is_signed;
    fc->integer.base = field->is_address ? 16 : 10;
    fc->integer.is_big_endian =
        field->is_aside ? __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ : b->format->is_big_endian;
    return fc;
}

/* Whether all records of the class have all of its bytes, at one place. */
static bool is_fixed(const struct lull_format *format, const struct lull_format_field *field)
{
    return !field->is_aside && !field->is_dynamic && field->size > 0 &&
           (uint64_t)field->offset + field->size <= format->least_size;
}

static void add_piece(struct builder *b, enum piece_kind kind,
                      const struct lull_format_field *field)
{
    uint32_t size = kind == PIECE_ASIDE ? field->element_bytes : field->size;
    const struct piece piece = {kind, field->offset, size, field};
    struct piece *last =
        b->pieces->len == 0 ? NULL : &g_array_index(b->pieces, struct piece, b->pieces->len - 1);
    if (kind == PIECE_RUN || kind == PIECE_ASIDE) {
        b->fixed_bytes += size;
    }
    if (kind == PIECE_RUN && last && last->kind == PIECE_RUN &&
        last->offset + last->size == field->offset) {
        last->size += size;
    } else {
        g_array_append_val(b->pieces, piece);
    }
}

static const struct lull_fc *fixed_array(struct builder *b, const struct lull_format_field *field)
{
    struct lull_fc *fc = new_class(b, LULL_FC_ARRAY), *element = number_of(b, field);
    fc->array.element = element;
    fc->array.length = field->size / field->element_bytes;
    if (field->kind == LULL_INFO_TEXT) {
        element->integer.encoding = LULL_ENCODING_UTF8;
        fc->array.form = LULL_ARRAY_STRING;
    }
    return fc;
}

static const struct lull_fc *variable_array(struct builder *b, enum lull_scope scope,
                                            const struct lull_format_field *field)
{
    g_autofree char *name = g_strconcat("_", field->name, "_length", NULL);
    struct lull_fc *length = new_integer(b, 4), *fc = new_class(b, LULL_FC_SEQUENCE);
    uint32_t location = b->members->len;
    add_member(b, name, length);
    fc->sequence.element = number_of(b, field);
    fc->sequence.length.scope = scope;
    fc->sequence.length.depth = 1;
    fc->sequence.length.path = lull_arena_copy(b->arena, &location, sizeof location);
    fc->sequence.length.target = length;
    return fc;
}

static void add_field(struct builder *b, enum lull_scope scope,
                      const struct lull_format_field *field)
{
    if (field->kind == LULL_INFO_INT) {
        add_piece(b, field->is_aside ? PIECE_ASIDE : PIECE_RUN, field);
        add_member(b, field->name, number_of(b, field));
    } else if (is_fixed(b->format, field)) {
        add_piece(b, PIECE_RUN, field);
        add_member(b, field->name, fixed_array(b, field));
    } else if (field->kind == LULL_INFO_TEXT) {
        struct lull_fc *fc = new_class(b, LULL_FC_STRING);
        fc->string.encoding = LULL_ENCODING_UTF8;
        add_piece(b, PIECE_TEXT, field);
        add_member(b, field->name, fc);
    } else {
        add_piece(b, PIECE_ARRAY, field);
        add_member(b, field->name, variable_array(b, scope, field));
    }
}

/* The event class, and how its records are copied. */
static void add_event(struct builder *b, const struct lull_format *format, uint32_t index,
                      struct lull_event_decl *event, struct copier *copier)
{
    uint32_t n = 0;
    b->format = format;
    b->fixed_bytes = 0;
    g_array_set_size(b->pieces, 0);
    for (; n < format->n_fields && format->fields[n].is_context; n++) {
        add_field(b, LULL_SCOPE_EVENT_CONTEXT, &format->fields[n]);
    }
    event->context = n > 0 ? take_structure(b) : NULL;
    for (; n < format->n_fields; n++) {
        add_field(b, LULL_SCOPE_EVENT_PAYLOAD, &format->fields[n]);
    }
    event->payload = take_structure(b);
    event->id = index;
    event->name = format->event_class.name;
    event->loglevel = -1;
    *copier = (struct copier){
        .format = format,
        .index = index,
        .fixed_bytes = b->fixed_bytes,
        .pieces = lull_arena_copy(b->arena, b->pieces->data, b->pieces->len * sizeof(struct piece)),
        .n_pieces = b->pieces->len,
    };
}

static const struct lull_fc *number_with_role(struct builder *b, unsigned bytes, uint32_t role)
{
    struct lull_fc *fc = new_integer(b, bytes);
    fc->roles = role;
    return fc;
}

/* The parts of the headers that say what the writer puts into them. */
static void add_headers(struct builder *b, struct lull_stream_decl *stream)
{
    add_member(b, "events_discarded", number_with_role(b, 8, LULL_ROLE_DISCARDED));
    add_member(b, "cpu_id", number_with_role(b, 4, LULL_ROLE_CPU));
    stream->packet_context = take_structure(b);
    add_member(b, "id", number_with_role(b, 2, LULL_ROLE_EVENT_CLASS_ID));
    stream->event_header = take_structure(b);
}

/* Only a clock that somebody has put on the calendar is comparable with others. */
static void add_clock(struct builder *b, const struct lull_source *source,
                      struct lull_schema *schema, struct lull_stream_decl *stream)
{
    struct lull_clock *clock = lull_arena_alloc(b->arena, sizeof *clock);
    clock->name = source->info.clock_name;
    clock->frequency = 1000000000;
    clock->has_uuid = source->has_clock_uuid;
    memcpy(clock->uuid, source->clock_uuid, sizeof clock->uuid);
    clock->is_absolute = source->info.clock_offset_ns != 0;
    clock->origin = clock->is_absolute ? LULL_ORIGIN_UNIX_EPOCH : LULL_ORIGIN_UNKNOWN;
    stream->clock = clock;
    schema->clocks = clock;
    schema->n_clocks = 1;
}

static void add_environment(struct builder *b, const struct lull_source *source,
                            struct lull_schema *schema)
{
    while (source->environment && source->environment[2 * (size_t)schema->n_env]) {
        schema->n_env++;
    }
    struct lull_env_entry *env =
        lull_arena_alloc_n(b->arena, schema->n_env + 2, sizeof(struct lull_env_entry));
    for (uint32_t i = 0; i < schema->n_env; i++) {
        env[i].key = source->environment[2 * (size_t)i];
        env[i].text = source->environment[2 * (size_t)i + 1];
    }
    if (source->task_names) {
        env[schema->n_env++] = (struct lull_env_entry){LULL_ENV_TASK_NAMES, source->task_names, 0};
    }
    if (source->joined_clock) {
        env[schema->n_env++] =
            (struct lull_env_entry){LULL_ENV_JOINED_CLOCK, source->joined_clock, 0};
    }
    schema->env = env;
}

/* Recordings have no UUID, and readers put traces of the same UUID together: so this makes one
 * of what distinguishes recordings. */
static void add_identity(struct builder *b, const struct lull_source *source,
                         struct lull_schema *schema)
{
    const struct lull_trace *info = &source->info;
    g_autofree char *text =
        g_strdup_printf("%s %s %" G_GINT64_FORMAT " %" G_GINT64_FORMAT " %" G_GUINT64_FORMAT,
                        source->hostname ? source->hostname : "", info->tracer, info->start_ns,
                        info->end_ns, info->size_bytes);
    g_autofree char *sum = g_compute_checksum_for_string(G_CHECKSUM_SHA1, text, -1);
    g_autofree char *uid =
        g_strdup_printf("%.8s-%.4s-%.4s-%.4s-%.12s", sum, sum + 8, sum + 12, sum + 16, sum + 20);
    schema->identity.uid = lull_arena_strndup(b->arena, uid, strlen(uid));
}

static uint32_t add_events(struct builder *b, struct lull_format_ctf *ctf,
                           const struct lull_formats *formats, const uint64_t *counts,
                           struct lull_event_decl *events)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < formats->all->len; i++) {
        if (counts[i] == 0) {
            continue;
        }
        add_event(b, formats->all->pdata[i], n, &events[n], &ctf->copiers[i]);
        n++;
    }
    return n;
}

static void make_schema(struct lull_format_ctf *ctf, const struct lull_source *source,
                        const struct lull_formats *formats, const uint64_t *counts)
{
    struct builder b = {.arena = lull_arena_new(),
                        .members = g_array_new(FALSE, FALSE, sizeof(struct lull_member)),
                        .pieces = g_array_new(FALSE, FALSE, sizeof(struct piece))};
    struct lull_schema *schema = lull_arena_alloc(b.arena, sizeof *schema);
    struct lull_stream_decl *stream = lull_arena_alloc(b.arena, sizeof *stream);
    struct lull_event_decl *events =
        lull_arena_alloc_n(b.arena, MAX(formats->all->len, 1), sizeof *events);
    ctf->schema = schema;
    schema->arena = b.arena;
    schema->major = 2;
    schema->streams = stream;
    schema->n_streams = 1;
    add_headers(&b, stream);
    add_clock(&b, source, schema, stream);
    add_environment(&b, source, schema);
    add_identity(&b, source, schema);
    stream->events = events;
    stream->n_events = add_events(&b, ctf, formats, counts, events);
    g_array_unref(b.members);
    g_array_unref(b.pieces);
}

struct lull_format_ctf *lull_format_ctf_new(const struct lull_source *source,
                                            const struct lull_formats *formats,
                                            const uint64_t *counts, GError **error)
{
    struct lull_format_ctf *ctf = g_new0(struct lull_format_ctf, 1);
    ctf->copiers = g_new0(struct copier, MAX(formats->all->len, 1));
    make_schema(ctf, source, formats, counts);
    ctf->plan = lull_ctf_plan_new(ctf->schema, error);
    if (ctf->plan) {
        return ctf;
    }
    lull_format_ctf_free(ctf);
    return NULL;
}

void lull_format_ctf_free(struct lull_format_ctf *ctf)
{
    if (!ctf) {
        return;
    }
    if (ctf->plan) {
        lull_ctf_plan_free(ctf->plan);
    }
    lull_schema_free(ctf->schema);
    g_free(ctf->copiers);
    g_free(ctf);
}

const struct lull_ctf_plan *lull_format_ctf_plan(const struct lull_format_ctf *ctf)
{
    return ctf->plan;
}

/* ---- records ---- */

/* What of the record is written for a piece of variable size, without its length or NUL. */
static struct lull_text content(const struct lull_format *format, const struct piece *piece,
                                const struct lull_format_record *record, bool *is_cut)
{
    struct lull_text bytes;
    *is_cut |= !lull_format_bytes(format, piece->field, record, &bytes);
    if (piece->kind == PIECE_TEXT) {
        bytes.length = (uint32_t)strnlen(bytes.data, bytes.length);
    } else {
        bytes.length -= bytes.length % piece->field->element_bytes;
    }
    return bytes;
}

static uint64_t size_of(const struct copier *copier, const struct lull_format_record *record,
                        bool *is_cut)
{
    uint64_t size = copier->fixed_bytes;
    for (uint32_t i = 0; i < copier->n_pieces; i++) {
        const struct piece *piece = &copier->pieces[i];
        if (piece->kind == PIECE_TEXT || piece->kind == PIECE_ARRAY) {
            size += content(copier->format, piece, record, is_cut).length +
                    (piece->kind == PIECE_TEXT ? 1u : 4u);
        }
    }
    return size;
}

static uint8_t *put_variable(const struct copier *copier, const struct piece *piece,
                             const struct lull_format_record *record, uint8_t *at)
{
    bool is_cut = false; /* size_of() has reported it */
    struct lull_text bytes = content(copier->format, piece, record, &is_cut);
    if (piece->kind == PIECE_ARRAY) {
        uint32_t n = bytes.length / piece->field->element_bytes;
        for (unsigned i = 0; i < 4; i++) {
            *at++ = (uint8_t)(n >> (8 * i));
        }
    }
    if (bytes.length > 0) {
        memcpy(at, bytes.data, bytes.length);
    }
    at += bytes.length;
    if (piece->kind == PIECE_TEXT) {
        *at++ = 0;
    }
    return at;
}

bool lull_format_ctf_write(const struct lull_format_ctf *ctf, struct lull_ctf_out_stream *out,
                           uint32_t class_index, int64_t time_ns,
                           const struct lull_format_record *record, bool *is_cut, GError **error)
{
    const struct copier *copier = &ctf->copiers[class_index];
    g_return_val_if_fail(copier->format, false);
    uint64_t size = size_of(copier, record, is_cut);
    uint8_t *at = lull_ctf_out_stream_record(out, copier->index, time_ns, size, error);
    if (!at) {
        return false;
    }
    for (uint32_t i = 0; i < copier->n_pieces; i++) {
        const struct piece *piece = &copier->pieces[i];
        if (piece->kind == PIECE_RUN) {
            memcpy(at, record->data + piece->offset, piece->size);
            at += piece->size;
        } else if (piece->kind == PIECE_ASIDE) {
            memcpy(at, (const uint8_t *)record->aside + piece->offset, piece->size);
            at += piece->size;
        } else {
            at = put_variable(copier, piece, record, at);
        }
    }
    return true;
}
