/* SPDX-License-Identifier: MIT */
/* Decides how the packets of a stream class are laid out: what has to be carried along besides the
 * events, and how their alignment is kept. */
#include "ctf/writer/writer.h"

#include "ctf/plan/build.h"

/* Schema nodes that may be visited. */
#define MAX_NODES 4000000u

struct survey {
    uint32_t align; /* the largest */
    bool refers[LULL_SCOPE_COUNT];
    bool has_unknown; /* a field without a role */
    uint32_t budget;
};

static bool survey(struct survey *s, const struct lull_fc *fc, unsigned depth);

static bool survey_members(struct survey *s, const struct lull_member *members, uint32_t n,
                           unsigned depth)
{
    for (uint32_t i = 0; i < n; i++) {
        if (!survey(s, members[i].fc, depth)) {
            return false;
        }
    }
    return true;
}

static void note_reference(struct survey *s, const struct lull_fc_ref *ref)
{
    for (; ref; ref = ref->next) {
        if (ref->scope < LULL_SCOPE_COUNT) {
            s->refers[ref->scope] = true;
        }
    }
}

/* False if there is too much of it. */
static bool survey(struct survey *s, const struct lull_fc *fc, unsigned depth)
{
    if (!fc) {
        return true;
    }
    if (depth > LULL_FC_DEPTH || s->budget == 0) {
        return false;
    }
    s->budget--;
    s->align = MAX(s->align, fc->alignment);
    s->has_unknown |= fc->kind != LULL_FC_STRUCT && fc->roles == 0;
    switch (fc->kind) {
    case LULL_FC_INT:
    case LULL_FC_FLOAT:
        return true;
    case LULL_FC_VARINT:
    case LULL_FC_STRING:
        s->align = MAX(s->align, 8);
        return true;
    case LULL_FC_STRUCT:
        return survey_members(s, fc->structure.members, fc->structure.n_members, depth + 1);
    case LULL_FC_ARRAY:
        return fc->roles != 0 || survey(s, fc->array.element, depth + 1);
    case LULL_FC_SEQUENCE:
        note_reference(s, &fc->sequence.length);
        return survey(s, fc->sequence.element, depth + 1);
    case LULL_FC_OPTIONAL:
        note_reference(s, &fc->optional.selector);
        return survey(s, fc->optional.content, depth + 1);
    case LULL_FC_VARIANT:
        note_reference(s, &fc->variant.tag);
        return survey_members(s, fc->variant.options, fc->variant.n_options, depth + 1);
    }
    return false;
}

static bool has_role(const struct lull_fc *fc, uint32_t role)
{
    for (uint32_t i = 0; fc && i < fc->structure.n_members; i++) {
        if (fc->structure.members[i].fc->roles & role) {
            return true;
        }
    }
    return false;
}

/* The number that is last in an event header: where the header ends within a byte, the next
 * field has the same order of bits. */
static const struct lull_fc *last_number(const struct lull_fc *fc, unsigned depth)
{
    if (!fc || depth > LULL_FC_DEPTH) {
        return NULL;
    }
    switch (fc->kind) {
    case LULL_FC_INT:
    case LULL_FC_FLOAT:
        return fc;
    case LULL_FC_STRUCT:
        if (fc->structure.n_members == 0) {
            return NULL;
        }
        return last_number(fc->structure.members[fc->structure.n_members - 1].fc, depth + 1);
    case LULL_FC_VARIANT:
        return fc->variant.n_options == 0 ? NULL
                                          : last_number(fc->variant.options[0].fc, depth + 1);
    case LULL_FC_ARRAY:
        return last_number(fc->array.element, depth + 1);
    case LULL_FC_SEQUENCE:
        return last_number(fc->sequence.element, depth + 1);
    case LULL_FC_OPTIONAL:
        return last_number(fc->optional.content, depth + 1);
    case LULL_FC_VARINT:
    case LULL_FC_STRING:
        return NULL;
    }
    return NULL;
}

static void set_padding(struct lull_ctf_layout *layout, const struct lull_schema *schema)
{
    const struct lull_stream_plan *stream = layout->stream;
    bool in_bytes = layout->carries_header ? stream->event_align >= 8
                                           : stream->body_known >= 8 && stream->body_rem % 8 == 0;
    layout->has_padding = layout->align > 8 || !in_bytes;
    const struct lull_fc *number = last_number(stream->decl->event_header, 0);
    layout->pad_big_endian = schema->is_big_endian;
    if (number && number->kind == LULL_FC_INT) {
        layout->pad_big_endian = number->integer.is_big_endian;
        layout->pad_bit_reversed = number->integer.is_bit_reversed;
    } else if (number) {
        layout->pad_big_endian = number->floating.is_big_endian;
        layout->pad_bit_reversed = number->floating.is_bit_reversed;
    }
    layout->lsb_first = layout->pad_big_endian == layout->pad_bit_reversed;
}

bool lull_ctf_layout_init(struct lull_ctf_layout *layout, const struct lull_schema *schema,
                          const struct lull_stream_plan *stream, GError **error)
{
    const struct lull_stream_decl *decl = stream->decl;
    struct survey body = {.align = 8, .budget = MAX_NODES};
    bool is_ok = survey(&body, decl->event_context, 0);
    for (uint32_t i = 0; is_ok && i < decl->n_events; i++) {
        is_ok =
            survey(&body, decl->events[i].context, 0) && survey(&body, decl->events[i].payload, 0);
    }
    struct survey header = {.align = 8, .budget = MAX_NODES};
    struct survey packet = {.align = 8, .budget = MAX_NODES};
    is_ok = is_ok && survey(&header, decl->event_header, 0) &&
            survey(&packet, schema->packet_header, 0) && survey(&packet, decl->packet_context, 0);
    if (!is_ok) {
        g_set_error_literal(error, LULL_ERROR, LULL_ERROR_UNSUPPORTED,
                            "its field classes are nested too deep or too many");
        return false;
    }
    bool carries_header = body.refers[LULL_SCOPE_EVENT_HEADER];
    /* An event header that is carried may itself refer to the packet. */
    bool refers_packet =
        body.refers[LULL_SCOPE_PACKET_HEADER] || body.refers[LULL_SCOPE_PACKET_CONTEXT] ||
        (carries_header &&
         (header.refers[LULL_SCOPE_PACKET_HEADER] || header.refers[LULL_SCOPE_PACKET_CONTEXT]));
    uint64_t last_id = decl->n_events > 0 ? decl->events[decl->n_events - 1].id : 0;
    *layout = (struct lull_ctf_layout){
        .stream = stream,
        .has_clock = stream->clock != NULL,
        .has_discarded = has_role(decl->packet_context, LULL_ROLE_DISCARDED),
        .has_cpu = has_role(decl->packet_context, LULL_ROLE_CPU),
        .carries_packet = packet.has_unknown || refers_packet,
        .carries_header = carries_header,
        .id_bytes = last_id <= UINT16_MAX   ? 2
                    : last_id <= UINT32_MAX ? 4
                                            : 8,
        .align = carries_header ? MAX(body.align, header.align) : body.align,
        .packet_align = packet.align,
    };
    set_padding(layout, schema);
    return true;
}
