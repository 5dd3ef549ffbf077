/* Walks all fields of one event as its schema describes them, for printing. Slow and general; what
 * is read often is bound by a subscription instead. */
#include "ctf/layout.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/bits.h"
#include "ctf/plan_build.h"

/* Elements without any bits: more of them than this is nonsense. */
#define MAX_EMPTY_ELEMENTS 65536u

struct visit {
    const struct lull_ctf_stream *stream;
    const struct lull_visitor *visitor;
    void *user;
    const uint8_t *buf;
    uint64_t window; /* byte of the packet at buf[0] */
    uint64_t pos, end;
    struct lull_field_place place;
    GError **error;
};

static bool fail(struct visit *v, const char *why)
{
    const struct lull_ctf_stream *s = v->stream;
    const struct lull_packet *packet =
        &g_array_index(s->list.packets, struct lull_packet, s->packet);
    g_set_error(v->error, LULL_ERROR, LULL_ERROR_FORMAT, "%s: byte %" G_GUINT64_FORMAT ": %s",
                s->path, packet->offset + v->window + v->pos / 8, why);
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

static uint64_t ref_value(const struct visit *v, const struct lull_fc_ref *ref)
{
    uint32_t slot = lull_field_ref_slot(&v->place, ref);
    return slot != 0 ? lull_memory_get(v->stream->memory, slot) : 0;
}

static bool visit_integer(struct visit *v, const char *name, const struct lull_fc *fc)
{
    if (!need(v, fc->alignment, fc->integer.size))
        return false;
    struct lull_visit_int value = {
        .bits = lull_load_bits(v->buf, v->pos, fc->integer.size, fc->integer.is_big_endian),
        .is_signed = fc->integer.is_signed,
        .base = fc->integer.base,
        .size_bits = (uint8_t)fc->integer.size,
        .is_enum = fc->integer.enumeration != NULL,
        .mapping = fc,
    };
    if (value.is_signed)
        value.bits = lull_sign_extend(value.bits, fc->integer.size);
    if (value.is_enum)
        value.label = lull_fc_enum_label(fc, value.bits);
    v->pos += fc->integer.size;
    uint32_t slot = lull_field_place_slot(&v->place);
    if (slot != 0)
        lull_memory_set(v->stream->memory, slot, value.bits);
    v->visitor->integer(v->user, name, &value);
    return true;
}

/* IEEE 754 binary16, which C17 has no portable type for. */
static double half_value(uint16_t bits)
{
    int exponent = bits >> 10 & 31;
    double mantissa = bits & 0x3ff, sign = bits & 0x8000 ? -1 : 1;
    if (exponent == 31)
        return mantissa != 0 ? (double)__builtin_nan("") : sign * __builtin_inf();
    if (exponent == 0)
        return sign * __builtin_ldexp(mantissa, -24);
    return sign * __builtin_ldexp(mantissa + 1024, exponent - 25);
}

static bool visit_real(struct visit *v, const char *name, const struct lull_fc *fc)
{
    if (!need(v, fc->alignment, fc->floating.size))
        return false;
    uint64_t bits = lull_load_bits(v->buf, v->pos, fc->floating.size, fc->floating.is_big_endian);
    double value;
    v->pos += fc->floating.size;
    if (fc->floating.size == 64) {
        memcpy(&value, &bits, sizeof value);
    } else if (fc->floating.size == 32) {
        uint32_t low = (uint32_t)bits;
        float single;
        memcpy(&single, &low, sizeof single);
        value = (double)single;
    } else {
        value = half_value((uint16_t)bits);
    }
    v->visitor->real(v->user, name, value);
    return true;
}

static bool visit_string(struct visit *v, const char *name)
{
    if (!need(v, 8, 8))
        return false;
    const uint8_t *begin = v->buf + v->pos / 8;
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

static bool visit_elements(struct visit *v, const char *name, const struct lull_fc *element,
                           uint64_t n, unsigned nesting)
{
    if (!need(v, element->kind == LULL_FC_VARIANT ? 1 : element->alignment, 0))
        return false;
    if (lull_fc_is_character(element)) {
        if (n > (v->end - v->pos) / 8)
            return fail(v, "an array passes the end of its event");
        const char *data = (const char *)v->buf + v->pos / 8;
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

static void skip_begin(void *user, const char *name, enum lull_visit_kind kind)
{
}

static void skip_end(void *user, enum lull_visit_kind kind)
{
}

static void skip_integer(void *user, const char *name, const struct lull_visit_int *value)
{
}

static void skip_real(void *user, const char *name, double value)
{
}

static void skip_text(void *user, const char *name, struct lull_text value)
{
}

/* Steps over what the visitor does not want to see. */
static const struct lull_visitor nobody = {
    skip_begin, skip_end, skip_integer, skip_real, skip_text, 0,
};

/* Sizes, times and counters of the packet itself (CTF 1.8.3, 5.2). */
static bool describes_packet(const struct visit *v, const char *name)
{
    static const char *const names[] = {"timestamp_begin",
                                        "timestamp_end",
                                        "content_size",
                                        "packet_size",
                                        "events_discarded",
                                        "packet_seq_num",
                                        NULL};
    return v->place.scope == LULL_SCOPE_PACKET_CONTEXT && v->place.depth == 1 &&
           g_strv_contains(names, name);
}

static bool visit_member(struct visit *v, const struct lull_member *member, uint32_t index,
                         unsigned nesting)
{
    const struct lull_visitor *visitor = v->visitor;
    v->place.path[v->place.depth++] = index;
    if (describes_packet(v, member->name) ||
        !lull_field_is_visible(&v->place, member->fc, visitor->flags))
        v->visitor = &nobody;
    bool ok = visit_field(v, member->name, member->fc, nesting);
    v->visitor = visitor;
    v->place.depth--;
    return ok;
}

static bool visit_members(struct visit *v, const struct lull_fc *fc, unsigned nesting)
{
    if (!need(v, fc->alignment, 0))
        return false;
    for (uint32_t i = 0; i < fc->structure.n_members; i++)
        if (!visit_member(v, &fc->structure.members[i], i, nesting))
            return false;
    return true;
}

static bool visit_variant(struct visit *v, const char *name, const struct lull_fc *fc,
                          unsigned nesting)
{
    int option = lull_fc_variant_option(fc, ref_value(v, &fc->variant.tag));
    if (option < 0)
        return fail(v, "a variant's tag selects no option");
    v->visitor->begin(v->user, name, LULL_VISIT_VARIANT);
    v->place.path[v->place.depth++] = (uint32_t)option;
    const struct lull_member *member = &fc->variant.options[option];
    bool ok = visit_field(v, member->name, member->fc, nesting);
    v->place.depth--;
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

static bool visit_structure(struct visit *v, enum lull_scope scope, const struct lull_fc *fc)
{
    v->place.scope = scope;
    v->place.depth = 0;
    return fc == NULL || visit_members(v, fc, 0);
}

static bool scope_is_visible(struct visit *v, enum lull_scope scope, const struct lull_fc *fc)
{
    v->place.scope = scope;
    v->place.depth = 0;
    return fc != NULL && lull_field_is_visible(&v->place, fc, v->visitor->flags);
}

/* One scope to the visitor, of one or two structures. */
static bool visit_scope(struct visit *v, const char *name, enum lull_scope first,
                        const struct lull_fc *first_fc, enum lull_scope second,
                        const struct lull_fc *second_fc)
{
    if (first_fc == NULL && second_fc == NULL)
        return true;
    const struct lull_visitor *visitor = v->visitor;
    if (!scope_is_visible(v, first, first_fc) && !scope_is_visible(v, second, second_fc))
        v->visitor = &nobody;
    v->visitor->begin(v->user, name, LULL_VISIT_SCOPE);
    bool ok = visit_structure(v, first, first_fc) && visit_structure(v, second, second_fc);
    if (ok)
        v->visitor->end(v->user, LULL_VISIT_SCOPE);
    v->visitor = visitor;
    return ok;
}

bool lull_ctf_stream_visit(const struct lull_ctf_stream *s, const struct lull_visitor *visitor,
                           void *user, GError **error)
{
    const enum lull_scope common = LULL_SCOPE_STREAM_EVENT_CONTEXT;
    const enum lull_scope own = LULL_SCOPE_EVENT_CONTEXT;
    const enum lull_scope payload = LULL_SCOPE_EVENT_PAYLOAD;
    uint32_t index = s->event_plan->index - s->stream->first_class;
    const struct lull_stream_decl *decl = s->stream->decl;
    const struct lull_event_decl *event = &decl->events[index];
    struct visit v = {.stream = s,
                      .visitor = visitor,
                      .user = user,
                      .buf = s->buf,
                      .window = s->window,
                      .pos = s->event_body,
                      .end = s->event_end,
                      .place = {.own = s->stream->places[index], .shared = s->plan->shared},
                      .error = error};
    bool ok;
    if (visitor->flags & LULL_VISIT_SPLIT_CONTEXTS)
        ok = visit_scope(&v, "common context", common, decl->event_context, own, NULL) &&
             visit_scope(&v, "context", own, event->context, own, NULL);
    else
        ok = visit_scope(&v, "context", common, decl->event_context, own, event->context);
    return ok && visit_scope(&v, "payload", payload, event->payload, payload, NULL);
}

/* ---- packets ---- */

/* The window may have left the begin of the packet: it is read again. NULL with an error set. */
static uint8_t *read_packet_header(const struct lull_ctf_stream *s, GError **error)
{
    const struct lull_packet *packet =
        &g_array_index(s->list.packets, struct lull_packet, s->packet);
    size_t size = (size_t)((s->header_bits + 7) / 8), filled = 0;
    uint8_t *buf = g_malloc0(size + LULL_LOAD_SLACK);
    while (filled < size) {
        ssize_t n = pread(s->fd, buf + filled, size - filled, (off_t)(packet->offset + filled));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            g_set_error(error, LULL_ERROR, LULL_ERROR_IO, "%s: byte %" G_GUINT64_FORMAT ": %s",
                        s->path, packet->offset + filled,
                        n < 0 ? g_strerror(errno) : "the file has become shorter");
            g_free(buf);
            return NULL;
        }
        filled += (size_t)n;
    }
    return buf;
}

static bool any_field_to_show(struct visit *v, const struct lull_fc *fc)
{
    bool found = fc->structure.n_members == 0;
    v->place.scope = LULL_SCOPE_PACKET_CONTEXT;
    v->place.depth = 1;
    for (uint32_t i = 0; i < fc->structure.n_members && !found; i++) {
        v->place.path[0] = i;
        found = !describes_packet(v, fc->structure.members[i].name) &&
                lull_field_is_visible(&v->place, fc->structure.members[i].fc, v->visitor->flags);
    }
    return found;
}

bool lull_ctf_stream_visit_packet(const struct lull_ctf_stream *s,
                                  const struct lull_visitor *visitor, void *user, GError **error)
{
    const struct lull_fc *context = s->stream->decl->packet_context;
    struct visit v = {.stream = s,
                      .visitor = visitor,
                      .user = user,
                      .end = s->header_bits,
                      .place = {.shared = s->plan->shared},
                      .error = error};
    if (context == NULL || !any_field_to_show(&v, context))
        return true;
    g_autofree uint8_t *buf = read_packet_header(s, error);
    if (buf == NULL)
        return false;
    v.buf = buf;
    /* What the header says is in memory already; the walk over it only finds the context. */
    const struct lull_fc *header = s->plan->schema->packet_header;
    v.visitor = &nobody;
    if (!visit_structure(&v, LULL_SCOPE_PACKET_HEADER, header))
        return false;
    v.visitor = visitor;
    visitor->begin(user, "packet", LULL_VISIT_SCOPE);
    if (!visit_structure(&v, LULL_SCOPE_PACKET_CONTEXT, context))
        return false;
    visitor->end(user, LULL_VISIT_SCOPE);
    return true;
}
