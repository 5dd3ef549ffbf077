/* Walks all fields of one event as its schema describes them, for printing. Slow and general; what
 * is read often is bound by a subscription instead. */
#include "ctf/stream.h"

#include <string.h>

#include "base/bits.h"
#include "ctf/plan_build.h"

/* Elements without any bits: more of them than this is nonsense. */
#define MAX_EMPTY_ELEMENTS 65536u

struct visit {
    const struct lull_ctf_stream *stream;
    const struct lull_places *places;
    const struct lull_visitor *visitor;
    void *user;
    uint64_t pos, end;
    enum lull_scope scope;
    uint32_t depth;
    uint32_t path[LULL_FC_DEPTH + 1];
    GError **error;
};

static bool fail(struct visit *v, const char *why)
{
    const struct lull_ctf_stream *s = v->stream;
    const struct lull_packet *packet =
        &g_array_index(s->list.packets, struct lull_packet, s->packet);
    g_set_error(v->error, LULL_ERROR, LULL_ERROR_FORMAT, "%s: byte %" G_GUINT64_FORMAT ": %s",
                s->path, packet->offset + s->window + v->pos / 8, why);
    return false;
}

/* Aligns and makes sure of `bits` more. */
static bool need(struct visit *v, uint64_t align, uint64_t bits)
{
    v->pos = lull_align_up(v->pos, align);
    if (v->pos > v->end || bits > v->end - v->pos)
        return fail(v, "a field passes the end of its event");
    return true;
}

static uint32_t slot_of(const struct visit *v, enum lull_scope scope, uint32_t depth,
                        const uint32_t *path)
{
    uint32_t slot = lull_places_slot(v->places, scope, depth, path);
    return slot != 0 ? slot : lull_places_slot(v->stream->plan->shared, scope, depth, path);
}

static uint64_t ref_value(const struct visit *v, const struct lull_fc_ref *ref)
{
    uint32_t slot = slot_of(v, ref->scope, ref->depth, ref->path);
    return slot != 0 ? lull_memory_get(v->stream->memory, slot) : 0;
}

static bool visit_integer(struct visit *v, const char *name, const struct lull_fc *fc)
{
    if (!need(v, fc->alignment, fc->integer.size))
        return false;
    struct lull_visit_int value = {
        .bits = lull_load_bits(v->stream->buf, v->pos, fc->integer.size, fc->integer.is_big_endian),
        .is_signed = fc->integer.is_signed,
        .base = fc->integer.base,
        .size_bits = (uint8_t)fc->integer.size,
        .is_enum = fc->integer.enumeration != NULL,
    };
    if (value.is_signed)
        value.bits = lull_sign_extend(value.bits, fc->integer.size);
    if (value.is_enum)
        value.label = lull_fc_enum_label(fc, value.bits);
    v->pos += fc->integer.size;
    uint32_t slot = slot_of(v, v->scope, v->depth, v->path);
    if (slot != 0)
        lull_memory_set(v->stream->memory, slot, value.bits);
    v->visitor->integer(v->user, name, &value);
    return true;
}

static bool visit_real(struct visit *v, const char *name, const struct lull_fc *fc)
{
    if (!need(v, fc->alignment, fc->floating.size))
        return false;
    uint64_t bits =
        lull_load_bits(v->stream->buf, v->pos, fc->floating.size, fc->floating.is_big_endian);
    v->pos += fc->floating.size;
    v->visitor->real(v->user, name, lull_real_value(bits, fc->floating.size));
    return true;
}

static bool visit_string(struct visit *v, const char *name)
{
    if (!need(v, 8, 8))
        return false;
    const uint8_t *begin = v->stream->buf + v->pos / 8;
    const uint8_t *nul = memchr(begin, 0, (v->end - v->pos) / 8);
    if (nul == NULL)
        return fail(v, "a string has no end");
    struct lull_text text = {(const char *)begin, (uint32_t)(nul - begin)};
    v->pos += ((uint64_t)text.length + 1) * 8;
    v->visitor->text(v->user, name, text);
    return true;
}

static bool visit_field(struct visit *v, const char *name, const struct lull_fc *fc,
                        unsigned nesting);

static bool is_character(const struct lull_fc *fc)
{
    return fc->kind == LULL_FC_INT && fc->integer.size == 8 && fc->alignment == 8 &&
           fc->integer.encoding != LULL_ENCODING_NONE;
}

static bool visit_elements(struct visit *v, const char *name, const struct lull_fc *element,
                           uint64_t n, unsigned nesting)
{
    if (!need(v, element->kind == LULL_FC_VARIANT ? 1 : element->alignment, 0))
        return false;
    if (is_character(element)) {
        if (n > (v->end - v->pos) / 8)
            return fail(v, "an array passes the end of its event");
        const char *data = (const char *)v->stream->buf + v->pos / 8;
        struct lull_text text = {data, (uint32_t)strnlen(data, n)};
        v->pos += n * 8;
        v->visitor->text(v->user, name, text);
        return true;
    }
    v->visitor->begin(v->user, name, LULL_VISIT_ARRAY);
    uint64_t begin = v->pos;
    for (uint64_t i = 0; i < n; i++) {
        if (!visit_field(v, NULL, element, nesting))
            return false;
        if (i >= MAX_EMPTY_ELEMENTS && v->pos == begin)
            return fail(v, "an array of too many elements without contents");
    }
    v->visitor->end(v->user, LULL_VISIT_ARRAY);
    return true;
}

static bool visit_members(struct visit *v, const struct lull_fc *fc, unsigned nesting)
{
    if (!need(v, fc->alignment, 0))
        return false;
    for (uint32_t i = 0; i < fc->structure.n_members; i++) {
        v->path[v->depth++] = i;
        bool ok =
            visit_field(v, fc->structure.members[i].name, fc->structure.members[i].fc, nesting);
        v->depth--;
        if (!ok)
            return false;
    }
    return true;
}

static bool visit_variant(struct visit *v, const char *name, const struct lull_fc *fc,
                          unsigned nesting)
{
    int option = lull_fc_variant_option(fc, ref_value(v, &fc->variant.tag));
    if (option < 0)
        return fail(v, "a variant's tag selects no option");
    v->visitor->begin(v->user, name, LULL_VISIT_VARIANT);
    v->path[v->depth++] = (uint32_t)option;
    const struct lull_member *member = &fc->variant.options[option];
    bool ok = visit_field(v, member->name, member->fc, nesting);
    v->depth--;
    if (ok)
        v->visitor->end(v->user, LULL_VISIT_VARIANT);
    return ok;
}

static bool visit_field(struct visit *v, const char *name, const struct lull_fc *fc,
                        unsigned nesting)
{
    if (nesting >= LULL_FC_DEPTH)
        return fail(v, "fields are nested too deep");
    switch (fc->kind) {
    case LULL_FC_INT:
        return visit_integer(v, name, fc);
    case LULL_FC_FLOAT:
        return visit_real(v, name, fc);
    case LULL_FC_STRING:
        return visit_string(v, name);
    case LULL_FC_STRUCT:
        v->visitor->begin(v->user, name, LULL_VISIT_STRUCT);
        if (!visit_members(v, fc, nesting + 1))
            return false;
        v->visitor->end(v->user, LULL_VISIT_STRUCT);
        return true;
    case LULL_FC_ARRAY:
        return visit_elements(v, name, fc->array.element, fc->array.length, nesting + 1);
    case LULL_FC_SEQUENCE:
        return visit_elements(v, name, fc->sequence.element, ref_value(v, &fc->sequence.length),
                              nesting + 1);
    case LULL_FC_VARIANT:
        return visit_variant(v, name, fc, nesting + 1);
    }
    return false;
}

static bool visit_scope(struct visit *v, enum lull_scope scope, const struct lull_fc *fc)
{
    v->scope = scope;
    v->depth = 0;
    return fc == NULL || visit_members(v, fc, 0);
}

bool lull_ctf_stream_visit(const struct lull_ctf_stream *s, const struct lull_visitor *visitor,
                           void *user, GError **error)
{
    uint32_t index = s->event_plan->index - s->stream->first_class;
    const struct lull_stream_decl *decl = s->stream->decl;
    const struct lull_event_decl *event = &decl->events[index];
    struct visit v = {.stream = s,
                      .places = s->stream->places[index],
                      .visitor = visitor,
                      .user = user,
                      .pos = s->event_body,
                      .end = s->event_end,
                      .error = error};
    if (decl->event_context != NULL || event->context != NULL) {
        visitor->begin(user, "context", LULL_VISIT_SCOPE);
        if (!visit_scope(&v, LULL_SCOPE_STREAM_EVENT_CONTEXT, decl->event_context) ||
            !visit_scope(&v, LULL_SCOPE_EVENT_CONTEXT, event->context))
            return false;
        visitor->end(user, LULL_VISIT_SCOPE);
    }
    if (event->payload != NULL) {
        visitor->begin(user, "payload", LULL_VISIT_SCOPE);
        if (!visit_scope(&v, LULL_SCOPE_EVENT_PAYLOAD, event->payload))
            return false;
        visitor->end(user, LULL_VISIT_SCOPE);
    }
    return true;
}
