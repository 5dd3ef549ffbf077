/* SPDX-License-Identifier: MIT */
/* Walks all fields of one event as its schema describes them, for printing. Slow and general; what
 * is read often is bound by a subscription instead. */
#include "ctf/stream/layout.h"

#include <string.h>

#include "base/bits.h"
#include "ctf/plan/build.h"
#include "ctf/schema/text.h"
#include "base/layout.h"

struct visit {
    const struct lull_ctf_stream *stream;
    const struct lull_visitor *visitor;
    void *user;
    const uint8_t *buf;
    uint64_t window; /* byte of the packet at buf[0] */
    uint64_t pos, end;
    unsigned n_empty; /* elements without bits */
    struct lull_field_position position;
    GError **error;
};

static bool fail(struct visit *v, const char *why)
{
    const struct lull_ctf_stream *s = v->stream;
    const struct lull_packet *packet =
        &g_array_index(s->list.packets, struct lull_packet, s->packet);
    uint64_t byte = packet->offset;
    const char *path = lull_ctf_stream_where(s, &byte);
    g_set_error(v->error, LULL_ERROR, LULL_ERROR_FORMAT, "%s: byte %" G_GUINT64_FORMAT ": %s", path,
                byte + v->window + v->pos / 8, why);
    return false;
}

/* Aligns and makes sure of `bits` more. */
static bool need(struct visit *v, uint64_t align, uint64_t bits)
{
    v->pos = lull_align_up(v->pos, align);
    if (v->pos > v->end || bits > v->end - v->pos) {
        return fail(v, "a field goes past the end of its event");
    }
    return true;
}

/* ---- lengths, tags and selectors ---- */

static void keep_in(const struct visit *v, const struct lull_kept_fields *positions, uint64_t value)
{
    const struct lull_want *want =
        lull_kept_fields_find(positions, v->position.scope, v->position.depth, v->position.path);
    for (; want; want = want->next) {
        if (want->kind != LULL_WANT_SLOT) {
            continue;
        }
        lull_memory_set(v->stream->memory, want->dst, value);
        if (lull_kept_fields_is_absent(positions, want->dst)) {
            lull_memory_set(v->stream->memory, want->dst + 8, 1);
        }
    }
}

/* Keeps an integer that other fields may refer to. */
static void keep(const struct visit *v, uint64_t value)
{
    keep_in(v, v->position.own, value);
    if (v->position.scope <= LULL_SCOPE_EVENT_HEADER) {
        keep_in(v, v->position.shared, value);
    }
}

/* The slots of a scope are not filled yet. */
static void forget(const struct visit *v, enum lull_scope scope)
{
    uint32_t slot;
    for (uint32_t i = 0; (slot = lull_kept_fields_absent(v->position.own, scope, i)) != 0; i++) {
        lull_memory_set(v->stream->memory, slot + 8, 0);
    }
}

static bool ref_value(struct visit *v, const struct lull_fc_ref *ref, uint64_t *value)
{
    const struct lull_kept_fields *positions = v->position.own;
    uint32_t slot = lull_kept_fields_slot(positions, ref->scope, ref->depth, ref->path);
    if (slot == 0) {
        positions = v->position.shared;
        slot = lull_kept_fields_slot(positions, ref->scope, ref->depth, ref->path);
    }
    if (slot == 0 || (lull_kept_fields_is_absent(positions, slot) &&
                      lull_memory_get(v->stream->memory, slot + 8) == 0)) {
        return fail(v, lull_plan_why(LULL_PLAN_NO_REF));
    }
    *value = lull_memory_get(v->stream->memory, slot);
    return true;
}

/* ---- leaves ---- */

static bool covers(const struct lull_fc *fc, const struct lull_enum_range *range, uint64_t value)
{
    if (fc->integer.is_signed) {
        return (int64_t)range->lower <= (int64_t)value && (int64_t)value <= (int64_t)range->upper;
    }
    return range->lower <= value && value <= range->upper;
}

/* True if one of the bits lower..upper is set. */
static bool has_flag(const struct lull_enum_range *range, uint64_t bits)
{
    if (range->lower > 63) {
        return false;
    }
    unsigned n = (unsigned)(MIN(range->upper, 63) - range->lower + 1);
    return (bits >> range->lower & lull_low_mask(n)) != 0;
}

static bool has_label(const struct lull_visit_int *value, const char *label)
{
    for (uint32_t i = 0; i < value->n_labels; i++) {
        if (strcmp(value->labels[i], label) == 0) {
            return true;
        }
    }
    return false;
}

void lull_ctf_find_labels(const void *mapping, struct lull_visit_int *value, const char **labels)
{
    const struct lull_fc *fc = mapping;
    const struct lull_enumeration *all = fc->integer.enumeration;
    bool is_flags = fc->integer.meaning == LULL_INT_FLAGS;
    value->labels = labels;
    for (uint32_t i = 0; i < all->n_ranges && value->n_labels < LULL_VISIT_LABELS; i++) {
        const struct lull_enum_range *range = &all->ranges[i];
        if ((is_flags ? has_flag(range, value->bits) : covers(fc, range, value->bits)) &&
            !has_label(value, range->label)) {
            labels[value->n_labels++] = range->label;
        }
    }
    if (!is_flags && value->n_labels > 0) {
        value->label = labels[0];
    }
}

static void report_integer(struct visit *v, const char *name, const struct lull_fc *fc,
                           uint64_t bits)
{
    enum lull_int_meaning meaning = fc->integer.meaning;
    const char *labels[LULL_VISIT_LABELS];
    struct lull_visit_int value = {
        .bits = bits,
        .is_signed = fc->integer.is_signed,
        .base = fc->integer.base,
        .size_bits = (uint8_t)fc->integer.size,
        .is_enum = fc->integer.enumeration && meaning == LULL_INT_NUMBER,
        .is_boolean = meaning == LULL_INT_BOOLEAN,
        .is_bits = meaning == LULL_INT_BITS || meaning == LULL_INT_FLAGS,
        .is_flags = meaning == LULL_INT_FLAGS,
    };
    if (fc->integer.enumeration) {
        lull_ctf_find_labels(fc, &value, labels);
    }
    keep(v, bits);
    v->visitor->integer(v->user, name, &value);
}

static bool visit_integer(struct visit *v, const char *name, const struct lull_fc *fc)
{
    if (!need(v, fc->alignment, fc->integer.size)) {
        return false;
    }
    bool be = fc->integer.is_big_endian;
    uint64_t bits = fc->integer.is_bit_reversed
                        ? lull_load_bits_reversed(v->buf, v->pos, fc->integer.size, be)
                        : lull_load_bits(v->buf, v->pos, fc->integer.size, be);
    if (fc->integer.is_signed) {
        bits = lull_sign_extend(bits, fc->integer.size);
    }
    if (fc->integer.meaning == LULL_INT_BOOLEAN) {
        bits = bits != 0;
    }
    v->pos += fc->integer.size;
    report_integer(v, name, fc, bits);
    return true;
}

static bool visit_varint(struct visit *v, const char *name, const struct lull_fc *fc)
{
    uint64_t value;
    if (!need(v, MAX(fc->alignment, 8), 8)) {
        return false;
    }
    uint64_t room = (v->end - v->pos) / 8;
    uint64_t length = lull_load_leb128(v->buf + v->pos / 8, room, fc->integer.is_signed, &value);
    if (length == 0) {
        return fail(v, lull_plan_why(LULL_PLAN_BAD_INTEGER));
    }
    if (length > room) {
        return fail(v, "a field goes past the end of its event");
    }
    v->pos += length * 8;
    report_integer(v, name, fc, value);
    return true;
}

static bool visit_real(struct visit *v, const char *name, const struct lull_fc *fc)
{
    if (!need(v, fc->alignment, fc->floating.size)) {
        return false;
    }
    bool be = fc->floating.is_big_endian;
    uint64_t bits = fc->floating.is_bit_reversed
                        ? lull_load_bits_reversed(v->buf, v->pos, fc->floating.size, be)
                        : lull_load_bits(v->buf, v->pos, fc->floating.size, be);
    v->pos += fc->floating.size;
    v->visitor->real(v->user, name, lull_real_value(bits, fc->floating.size));
    return true;
}

static bool visit_string(struct visit *v, const char *name, const struct lull_fc *fc)
{
    if (!need(v, MAX(fc->alignment, 8), 8)) {
        return false;
    }
    enum lull_encoding encoding = fc->string.encoding;
    const uint8_t *start = v->buf + v->pos / 8;
    uint64_t length = lull_text_end(start, (v->end - v->pos) / 8, encoding);
    if (length == UINT64_MAX) {
        return fail(v, "a string has no terminating zero");
    }
    v->pos += (length + lull_encoding_unit(encoding)) * 8;
    v->visitor->text(v->user, name, lull_texts_convert(v->stream->texts, start, length, encoding));
    return true;
}

/* ---- parts ---- */

static bool visit_field(struct visit *v, const char *name, const struct lull_fc *fc,
                        unsigned nesting);

/* A text or blob of `size` bytes. */
static bool visit_bytes(struct visit *v, const char *name, const struct lull_fc *fc, uint64_t size)
{
    bool is_array = fc->kind == LULL_FC_ARRAY;
    const struct lull_fc *byte = is_array ? fc->array.element : fc->sequence.element;
    if (size > (v->end - v->pos) / 8) {
        return fail(v, "an array goes past the end of its event");
    }
    const uint8_t *data = v->buf + v->pos / 8;
    v->pos += size * 8;
    if (lull_fc_form(fc) == LULL_BYTES_TEXT) {
        v->visitor->text(v->user, name,
                         lull_texts_convert(v->stream->texts, data, size, byte->integer.encoding));
        return true;
    }
    struct lull_text bytes = {(const char *)data, (uint32_t)MIN(size, (uint64_t)UINT32_MAX)};
    v->visitor->blob(v->user, name, bytes,
                     is_array ? fc->array.media_type : fc->sequence.media_type);
    return true;
}

static bool visit_elements(struct visit *v, const char *name, const struct lull_fc *fc, uint64_t n,
                           unsigned nesting)
{
    const struct lull_fc *element =
        fc->kind == LULL_FC_ARRAY ? fc->array.element : fc->sequence.element;
    bool is_free = element->kind == LULL_FC_VARIANT || element->kind == LULL_FC_OPTIONAL;
    if (!need(v, MAX(fc->alignment, is_free ? 1 : element->alignment), 0)) {
        return false;
    }
    enum lull_bytes_form form = lull_fc_form(fc);
    if (form == LULL_BYTES_TEXT || (form == LULL_BYTES_BLOB && v->visitor->blob)) {
        return visit_bytes(v, name, fc, n);
    }
    v->visitor->start(v->user, name, LULL_VISIT_ARRAY);
    for (uint64_t i = 0; i < n; i++) {
        uint64_t start = v->pos;
        if (!visit_field(v, NULL, element, nesting)) {
            return false;
        }
        if (v->pos == start && ++v->n_empty > LULL_MOST_EMPTY_ELEMENTS) {
            return fail(v, "an array of too many elements without contents");
        }
    }
    v->visitor->end(v->user, LULL_VISIT_ARRAY);
    return true;
}

static bool visit_sequence(struct visit *v, const char *name, const struct lull_fc *fc,
                           unsigned nesting)
{
    uint64_t n;
    return ref_value(v, &fc->sequence.length, &n) && visit_elements(v, name, fc, n, nesting);
}

static bool visit_optional(struct visit *v, const char *name, const struct lull_fc *fc,
                           unsigned nesting)
{
    uint64_t selector;
    return ref_value(v, &fc->optional.selector, &selector) &&
           (!lull_fc_optional_is_there(fc, selector) ||
            visit_field(v, name, fc->optional.content, nesting));
}

static void skip_start(void *user, const char *name, enum lull_visit_kind kind)
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

static void skip_blob(void *user, const char *name, struct lull_text bytes, const char *media_type)
{
}

/* Steps over what the visitor does not want to see. */
static const struct lull_visitor nobody = {
    .start = skip_start,
    .end = skip_end,
    .integer = skip_integer,
    .real = skip_real,
    .text = skip_text,
    .blob = skip_blob,
};

/* Sizes, times and counters of the packet itself. */
static bool describes_packet(const struct visit *v, const struct lull_fc *fc)
{
    const uint32_t roles = LULL_ROLE_PACKET_SIZE | LULL_ROLE_CONTENT_SIZE | LULL_ROLE_CLOCK |
                           LULL_ROLE_CLOCK_END | LULL_ROLE_DISCARDED | LULL_ROLE_SEQUENCE_NUMBER;
    return v->position.scope == LULL_SCOPE_PACKET_CONTEXT && (fc->roles & roles) != 0;
}

static bool visit_member(struct visit *v, const struct lull_member *member, uint32_t index,
                         unsigned nesting)
{
    const struct lull_visitor *visitor = v->visitor;
    v->position.path[v->position.depth++] = index;
    if (describes_packet(v, member->fc) ||
        !lull_field_is_visible(&v->position, member->fc, visitor->flags)) {
        v->visitor = &nobody;
    }
    bool ok = visit_field(v, member->name, member->fc, nesting);
    v->visitor = visitor;
    v->position.depth--;
    return ok;
}

static bool visit_members(struct visit *v, const struct lull_fc *fc, unsigned nesting)
{
    if (!need(v, fc->alignment, 0)) {
        return false;
    }
    for (uint32_t i = 0; i < fc->structure.n_members; i++) {
        if (!visit_member(v, &fc->structure.members[i], i, nesting)) {
            return false;
        }
    }
    return true;
}

static bool visit_variant(struct visit *v, const char *name, const struct lull_fc *fc,
                          unsigned nesting)
{
    uint64_t tag;
    if (!ref_value(v, &fc->variant.tag, &tag)) {
        return false;
    }
    int option = lull_fc_variant_option(fc, tag);
    if (option < 0) {
        return fail(v, lull_plan_why(LULL_PLAN_BAD_TAG));
    }
    v->visitor->start(v->user, name, LULL_VISIT_VARIANT);
    v->position.path[v->position.depth++] = (uint32_t)option;
    const struct lull_member *member = &fc->variant.options[option];
    bool ok = visit_field(v, member->name, member->fc, nesting);
    v->position.depth--;
    if (ok) {
        v->visitor->end(v->user, LULL_VISIT_VARIANT);
    }
    return ok;
}

static bool visit_field(struct visit *v, const char *name, const struct lull_fc *fc,
                        unsigned nesting)
{
    if (nesting >= LULL_FC_DEPTH) {
        return fail(v, "fields are nested too deep");
    }
    switch (fc->kind) {
    case LULL_FC_INT:
        return visit_integer(v, name, fc);
    case LULL_FC_FLOAT:
        return visit_real(v, name, fc);
    case LULL_FC_STRING:
        return visit_string(v, name, fc);
    case LULL_FC_VARINT:
        return visit_varint(v, name, fc);
    case LULL_FC_OPTIONAL:
        return visit_optional(v, name, fc, nesting + 1);
    case LULL_FC_STRUCT:
        v->visitor->start(v->user, name, LULL_VISIT_STRUCT);
        if (!visit_members(v, fc, nesting + 1)) {
            return false;
        }
        v->visitor->end(v->user, LULL_VISIT_STRUCT);
        return true;
    case LULL_FC_ARRAY:
        return visit_elements(v, name, fc, fc->array.length, nesting + 1);
    case LULL_FC_SEQUENCE:
        return visit_sequence(v, name, fc, nesting + 1);
    case LULL_FC_VARIANT:
        return visit_variant(v, name, fc, nesting + 1);
    }
    return false;
}

static bool visit_structure(struct visit *v, enum lull_scope scope, const struct lull_fc *fc)
{
    v->position.scope = scope;
    v->position.depth = 0;
    return !fc || visit_members(v, fc, 0);
}

static bool scope_is_visible(struct visit *v, enum lull_scope scope, const struct lull_fc *fc)
{
    v->position.scope = scope;
    v->position.depth = 0;
    return fc && lull_field_is_visible(&v->position, fc, v->visitor->flags);
}

/* One scope to the visitor, of one or two structures. */
static bool visit_scope(struct visit *v, const char *name, enum lull_scope first,
                        const struct lull_fc *first_fc, enum lull_scope second,
                        const struct lull_fc *second_fc)
{
    if (!first_fc && !second_fc) {
        return true;
    }
    const struct lull_visitor *visitor = v->visitor;
    if (!scope_is_visible(v, first, first_fc) && !scope_is_visible(v, second, second_fc)) {
        v->visitor = &nobody;
    }
    v->visitor->start(v->user, name, LULL_VISIT_SCOPE);
    bool ok = visit_structure(v, first, first_fc) && visit_structure(v, second, second_fc);
    if (ok) {
        v->visitor->end(v->user, LULL_VISIT_SCOPE);
    }
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
                      .position = {.own = s->stream->positions[index], .shared = s->plan->shared},
                      .error = error};
    bool ok;
    for (int scope = LULL_SCOPE_STREAM_EVENT_CONTEXT; scope < LULL_SCOPE_COUNT; scope++) {
        forget(&v, (enum lull_scope)scope);
    }
    if (visitor->flags & LULL_VISIT_SPLIT_CONTEXTS) {
        ok = visit_scope(&v, "common context", common, decl->event_context, own, NULL) &&
             visit_scope(&v, "context", own, event->context, own, NULL);
    } else {
        ok = visit_scope(&v, "context", common, decl->event_context, own, event->context);
    }
    return ok && visit_scope(&v, "payload", payload, event->payload, payload, NULL);
}

/* ---- packets ---- */

/* The start of the packet; if the window has left it, it is read again. NULL with an error set. */
static uint8_t *read_packet_header(const struct lull_ctf_stream *s, GError **error)
{
    const struct lull_packet *packet =
        &g_array_index(s->list.packets, struct lull_packet, s->packet);
    uint64_t size = (s->header_bits + 7) / 8, filled = 0;
    uint8_t *buf = g_malloc0(size + LULL_LOAD_SLACK);
    if (s->window == 0) {
        filled = MIN(size, s->filled);
        memcpy(buf, s->buf, filled);
    }
    while (filled < size) {
        const char *why = NULL;
        uint64_t n = s->bytes->ops->read(s->bytes, packet->offset + filled, buf + filled,
                                         size - filled, &why);
        if (n == 0) {
            uint64_t byte = packet->offset;
            const char *path = lull_ctf_stream_where(s, &byte);
            g_set_error(error, LULL_ERROR, LULL_ERROR_IO, "%s: byte %" G_GUINT64_FORMAT ": %s",
                        path, byte + filled, why);
            g_free(buf);
            return NULL;
        }
        filled += n;
    }
    return buf;
}

static bool any_field_to_show(struct visit *v, const struct lull_fc *fc)
{
    bool found = fc->structure.n_members == 0;
    v->position.scope = LULL_SCOPE_PACKET_CONTEXT;
    v->position.depth = 1;
    for (uint32_t i = 0; i < fc->structure.n_members && !found; i++) {
        v->position.path[0] = i;
        found = !describes_packet(v, fc->structure.members[i].fc) &&
                lull_field_is_visible(&v->position, fc->structure.members[i].fc, v->visitor->flags);
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
                      .position = {.shared = s->plan->shared},
                      .error = error};
    if (!context || !any_field_to_show(&v, context)) {
        return true;
    }
    g_autofree uint8_t *buf = read_packet_header(s, error);
    if (!buf) {
        return false;
    }
    v.buf = buf;
    /* What the header says is in memory already; the walk over it only finds the context. */
    const struct lull_fc *header = s->plan->schema->packet_header;
    v.visitor = &nobody;
    if (!visit_structure(&v, LULL_SCOPE_PACKET_HEADER, header)) {
        return false;
    }
    v.visitor = visitor;
    visitor->start(user, "packet", LULL_VISIT_SCOPE);
    if (!visit_structure(&v, LULL_SCOPE_PACKET_CONTEXT, context)) {
        return false;
    }
    visitor->end(user, LULL_VISIT_SCOPE);
    return true;
}
