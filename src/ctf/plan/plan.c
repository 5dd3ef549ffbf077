/* SPDX-License-Identifier: MIT */
/* The plan compiler's front end: finds out what must be kept of packet headers, event headers and
 * events (lengths, tags, ids, clock values, bound fields) and has plans built for it. */
#include "ctf/plan/build.h"

#include <string.h>

#include "base/bits.h"
#include "base/search.h"

/* Event ids up to this find their class by index. */
#define MAX_DENSE_ID 65536u
/* Events of more bits are few. */
#define MOST_STRIDE_BITS (1u << 30)

/* ---- headers ---- */

struct header_walk {
    struct lull_kept_fields *positions;
    enum lull_scope scope;
    uint32_t depth;
    uint32_t path[LULL_FC_DEPTH + 1];
    struct lull_stream_plan *stream;
    uint64_t *budget;
    void (*leaf)(struct header_walk *, const struct lull_fc *fc);
};

static void want_here(struct header_walk *w, enum lull_want_kind kind, uint32_t dst, uint64_t have)
{
    struct lull_want want = {.scope = w->scope,
                             .depth = w->depth,
                             .path = w->path,
                             .kind = kind,
                             .dst = dst,
                             .have_dst = LULL_MEM_HAVE,
                             .have = have};
    lull_kept_fields_add(w->positions, &want);
}

/* Visits leaves, and arrays as a whole, through structures, options and optional fields. */
static void walk_header(struct header_walk *w, const struct lull_fc *fc, unsigned nesting)
{
    if (w->depth >= LULL_FC_DEPTH || nesting >= LULL_FC_DEPTH || *w->budget == 0) {
        return;
    }
    --*w->budget;
    if (fc->kind == LULL_FC_OPTIONAL) {
        walk_header(w, fc->optional.content, nesting + 1);
        return;
    }
    bool is_struct = fc->kind == LULL_FC_STRUCT;
    if (!is_struct && fc->kind != LULL_FC_VARIANT) {
        w->leaf(w, fc);
        return;
    }
    const struct lull_member *members = is_struct ? fc->structure.members : fc->variant.options;
    uint32_t n = is_struct ? fc->structure.n_members : fc->variant.n_options;
    for (uint32_t i = 0; i < n; i++) {
        w->path[w->depth++] = i;
        walk_header(w, members[i].fc, nesting + 1);
        w->depth--;
    }
}

static bool is_integer(const struct lull_fc *fc)
{
    return fc->kind == LULL_FC_INT || fc->kind == LULL_FC_VARINT;
}

static void packet_header_leaf(struct header_walk *w, const struct lull_fc *fc)
{
    if (is_integer(fc) && (fc->roles & LULL_ROLE_MAGIC)) {
        want_here(w, LULL_WANT_INT, LULL_MEM_MAGIC, LULL_HAS_MAGIC);
    }
    if (is_integer(fc) && (fc->roles & LULL_ROLE_STREAM_CLASS_ID)) {
        want_here(w, LULL_WANT_INT, LULL_MEM_STREAM_ID, LULL_HAS_STREAM_ID);
    }
    if (is_integer(fc) && (fc->roles & LULL_ROLE_STREAM_ID)) {
        want_here(w, LULL_WANT_INT, LULL_MEM_INSTANCE, LULL_HAS_INSTANCE);
    }
    if (fc->kind == LULL_FC_ARRAY && (fc->roles & LULL_ROLE_METADATA_UUID)) {
        want_here(w, LULL_WANT_RAW, LULL_MEM_UUID, LULL_HAS_UUID);
    }
}

static void packet_context_leaf(struct header_walk *w, const struct lull_fc *fc)
{
    static const struct {
        enum lull_role role;
        uint32_t dst;
        enum lull_packet_field have;
    } fields[] = {
        {LULL_ROLE_CLOCK, LULL_MEM_TIME_BEGIN, LULL_HAS_TIME_BEGIN},
        {LULL_ROLE_CLOCK_END, LULL_MEM_TIME_END, LULL_HAS_TIME_END},
        {LULL_ROLE_CONTENT_SIZE, LULL_MEM_CONTENT_SIZE, LULL_HAS_CONTENT_SIZE},
        {LULL_ROLE_PACKET_SIZE, LULL_MEM_PACKET_SIZE, LULL_HAS_PACKET_SIZE},
        {LULL_ROLE_DISCARDED, LULL_MEM_DISCARDED, LULL_HAS_DISCARDED},
        {LULL_ROLE_SEQUENCE_NUMBER, LULL_MEM_SEQUENCE, LULL_HAS_SEQUENCE},
        {LULL_ROLE_CPU, LULL_MEM_CPU, LULL_HAS_CPU},
    };
    if (!is_integer(fc)) {
        return;
    }
    for (size_t i = 0; i < G_N_ELEMENTS(fields); i++) {
        if (!(fc->roles & fields[i].role)) {
            continue;
        }
        want_here(w, LULL_WANT_INT, fields[i].dst, fields[i].have);
        /* LEB128 has no width of its own: its values are whole. */
        uint8_t bits = fc->kind == LULL_FC_INT ? (uint8_t)fc->integer.size : 64;
        if (fields[i].have == LULL_HAS_DISCARDED) {
            w->stream->discarded_bits = bits;
        } else if (fields[i].have == LULL_HAS_SEQUENCE) {
            w->stream->sequence_bits = bits;
        } else if (fields[i].have == LULL_HAS_TIME_BEGIN) {
            w->stream->start_bits = bits;
        } else if (fields[i].have == LULL_HAS_TIME_END) {
            w->stream->end_bits = bits;
        }
    }
    w->stream->has_time |= w->stream->start_bits != 0 || w->stream->end_bits != 0;
}

/* True if the field holds the time on the stream's clock. */
static bool is_time(const struct lull_stream_plan *stream, const struct lull_fc *fc)
{
    return is_integer(fc) && (fc->roles & LULL_ROLE_CLOCK) &&
           (!fc->integer.clock || fc->integer.clock == stream->clock);
}

static void event_header_leaf(struct header_walk *w, const struct lull_fc *fc)
{
    if (is_integer(fc) && (fc->roles & LULL_ROLE_EVENT_CLASS_ID)) {
        want_here(w, LULL_WANT_INT, LULL_MEM_ID, 0);
        w->stream->has_id = true;
    } else if (is_time(w->stream, fc)) {
        want_here(w, LULL_WANT_CLOCK, LULL_MEM_CLOCK, 0);
        w->stream->has_time = true;
    }
}

static void walk_scope(struct lull_ctf_plan *plan, struct lull_stream_plan *stream,
                       struct lull_kept_fields *positions, enum lull_scope scope,
                       const struct lull_fc *fc,
                       void (*leaf)(struct header_walk *, const struct lull_fc *))
{
    struct header_walk walk = {.positions = positions,
                               .scope = scope,
                               .stream = stream,
                               .budget = &plan->budget,
                               .leaf = leaf};
    if (fc) {
        walk_header(&walk, fc, 0);
    }
}

/* ---- headers that straight code decodes ---- */

static bool is_unsigned(const struct lull_fc *fc, uint32_t size, bool big_endian)
{
    return fc->kind == LULL_FC_INT && fc->integer.size == size && !fc->integer.is_signed &&
           fc->integer.is_big_endian == big_endian && !fc->integer.is_bit_reversed &&
           fc->integer.meaning == LULL_INT_NUMBER;
}

/* True if the tag says: all ones is option `extended`, the rest is the other. */
static bool tag_is_plain(const struct lull_fc *variant, const struct lull_fc *id, int extended)
{
    uint64_t last = lull_low_mask(id->integer.size);
    if (variant->variant.n_ranges != 2) {
        return false;
    }
    for (uint32_t i = 0; i < 2; i++) {
        const struct lull_option_range *range = &variant->variant.ranges[i];
        bool is_last = range->lower == last && range->upper == last;
        bool is_rest = range->lower == 0 && range->upper == last - 1;
        if (!is_last && !is_rest) {
            return false;
        }
        if (((int)range->option == extended) != is_last) {
            return false;
        }
    }
    return true;
}

/* Recognises LTTng's two headers by their structure; anything else stays general. */
static void recognise_header(struct lull_stream_plan *stream)
{
    const struct lull_fc *fc = stream->decl->event_header;
    if (!fc || fc->structure.n_members != 2 || stream->uses_header) {
        return;
    }
    const struct lull_fc *id = fc->structure.members[0].fc;
    const struct lull_fc *variant = fc->structure.members[1].fc;
    if (id->kind != LULL_FC_INT || id->roles != LULL_ROLE_EVENT_CLASS_ID ||
        variant->kind != LULL_FC_VARIANT || variant->variant.n_options != 2) {
        return;
    }
    const struct lull_fc_ref *tag = &variant->variant.tag;
    if (tag->scope != LULL_SCOPE_EVENT_HEADER || tag->depth != 1 || tag->path[0] != 0) {
        return;
    }
    const struct lull_fc *options[2] = {variant->variant.options[0].fc,
                                        variant->variant.options[1].fc};
    if (options[0]->kind != LULL_FC_STRUCT || options[1]->kind != LULL_FC_STRUCT) {
        return;
    }
    int extended = options[0]->structure.n_members == 2 ? 0 : 1;
    const struct lull_fc *shorter = options[1 - extended], *longer = options[extended];
    if (shorter->structure.n_members != 1 || longer->structure.n_members != 2) {
        return;
    }
    bool be = id->integer.is_big_endian, compact = id->integer.size == 5;
    const struct lull_fc *time = shorter->structure.members[0].fc;
    const struct lull_fc *long_id = longer->structure.members[0].fc;
    const struct lull_fc *long_time = longer->structure.members[1].fc;
    if (!is_unsigned(id, compact ? 5 : 16, be) || !is_unsigned(time, compact ? 27 : 32, be) ||
        !is_unsigned(long_id, 32, be) || !is_unsigned(long_time, 64, be) ||
        long_id->roles != LULL_ROLE_EVENT_CLASS_ID || !stream->clock || !is_time(stream, time) ||
        !is_time(stream, long_time) || !tag_is_plain(variant, id, extended)) {
        return;
    }
    uint32_t align = fc->alignment;
    if (align < 8 || shorter->alignment > align || longer->alignment > align ||
        long_id->alignment < 8 || long_time->alignment < 8) {
        return;
    }
    struct lull_header_layout layout;
    layout.time = (uint32_t)lull_align_up(lull_align_up(id->integer.size, shorter->alignment),
                                          time->alignment);
    layout.end = layout.time + time->integer.size;
    layout.long_id = (uint32_t)lull_align_up(lull_align_up(id->integer.size, longer->alignment),
                                             long_id->alignment);
    layout.long_time = (uint32_t)lull_align_up(layout.long_id + 32, long_time->alignment);
    layout.long_end = layout.long_time + 64;
    /* The compact one is loaded as a single word. */
    if (compact ? layout.time != 5 : layout.time % 8 != 0) {
        return;
    }
    stream->layout = layout;
    stream->header_kind = compact ? (be ? LULL_HEADER_COMPACT_BE : LULL_HEADER_COMPACT_LE)
                                  : (be ? LULL_HEADER_LARGE_BE : LULL_HEADER_LARGE_LE);
}

/* ---- building ---- */

/* Operations for a header or packet context. The counters of its loops lie after the shared slots,
 * where those of others may lie as well: no two of them run at a time. */
static const struct lull_op *build_one(struct lull_ctf_plan *plan, enum lull_scope scope,
                                       const struct lull_fc *fc,
                                       const struct lull_kept_fields *wants,
                                       struct lull_builder *out, uint32_t known, GError **error)
{
    struct lull_builder builder;
    lull_builder_init(&builder, plan->owned, &plan->budget, plan->shared_end);
    builder.known = known;
    builder.positions[0] = plan->shared;
    builder.positions[1] = wants;
    lull_builder_forget(&builder, plan->shared, scope);
    lull_builder_add(&builder, scope, fc);
    plan->fields_offset = MAX(plan->fields_offset, builder.next_slot);
    const struct lull_op *ops = lull_builder_finish(&builder, error);
    if (out) {
        *out = builder;
    }
    return ops;
}

const struct lull_op *lull_plan_build_event(struct lull_ctf_plan *plan,
                                            struct lull_stream_plan *stream, uint32_t index,
                                            const struct lull_kept_fields *wants, bool sums,
                                            GPtrArray *owned, uint64_t *budget, uint32_t *end_slot,
                                            GError **error)
{
    const struct lull_event_decl *event = &stream->decl->events[index];
    struct lull_builder builder;
    lull_builder_init(&builder, owned, budget, *end_slot);
    builder.known = stream->body_known;
    builder.rem = stream->body_rem;
    builder.positions[0] = plan->shared;
    builder.positions[1] = stream->positions[index];
    builder.positions[2] = wants;
    builder.sums = sums;
    if (stream->plans[index].has_wide_text && (sums || wants)) {
        lull_builder_reset_texts(&builder);
    }
    for (int scope = LULL_SCOPE_STREAM_EVENT_CONTEXT; scope < LULL_SCOPE_COUNT; scope++) {
        lull_builder_forget(&builder, stream->positions[index], (enum lull_scope)scope);
    }
    lull_builder_add(&builder, LULL_SCOPE_STREAM_EVENT_CONTEXT, stream->decl->event_context);
    lull_builder_add(&builder, LULL_SCOPE_EVENT_CONTEXT, event->context);
    lull_builder_add(&builder, LULL_SCOPE_EVENT_PAYLOAD, event->payload);
    *end_slot = builder.next_slot;
    return lull_builder_finish(&builder, error);
}

static bool compile_event(struct lull_ctf_plan *plan, struct lull_stream_plan *stream,
                          uint32_t index, uint32_t *max_slot, GError **error)
{
    const struct lull_event_decl *decl = &stream->decl->events[index];
    struct lull_event_plan *event = &stream->plans[index];
    uint32_t slot = plan->shared_end;
    struct lull_kept_fields *positions = lull_kept_fields_new();
    struct lull_collector collector = {
        .roots = {[LULL_SCOPE_STREAM_EVENT_CONTEXT] = stream->decl->event_context,
                  [LULL_SCOPE_EVENT_CONTEXT] = decl->context,
                  [LULL_SCOPE_EVENT_PAYLOAD] = decl->payload},
        .own = positions,
        .next_slot = &slot,
        .budget = &plan->budget};
    lull_collect_refs(&collector, stream->decl->event_context, 0);
    lull_collect_refs(&collector, decl->context, 0);
    lull_collect_refs(&collector, decl->payload, 0);
    if (slot != plan->shared_end) {
        stream->positions[index] = positions;
    } else {
        lull_kept_fields_free(positions);
    }
    stream->slots_end[index] = slot;
    event->has_wide_text = collector.has_wide_text;
    event->skip = lull_plan_build_event(plan, stream, index, NULL, false, plan->owned,
                                        &plan->budget, &slot, error);
    if (!event->skip) {
        g_prefix_error(error, "event class '%s': ", decl->name);
        return false;
    }
    *max_slot = MAX(*max_slot, slot);
    event->ops = event->skip;
    event->subscription = -1;
    event->index = stream->first_class + index;
    event->fixed_bits = LULL_BITS_HUGE;
    if (event->skip[0].code == LULL_OP_END) {
        event->fixed_bits = 0;
    } else if (event->skip[0].code == LULL_OP_RUN && event->skip[1].code == LULL_OP_END) {
        event->fixed_bits = event->skip[0].bits;
        event->align_mask = event->skip[0].align - 1;
    }
    return true;
}

static void index_ids(struct lull_ctf_plan *plan, struct lull_stream_plan *stream)
{
    const struct lull_stream_decl *decl = stream->decl;
    for (uint32_t i = 0; i < decl->n_events; i++) {
        if (decl->events[i].id < MAX_DENSE_ID) {
            stream->n_by_id = (uint32_t)decl->events[i].id + 1;
        }
    }
    stream->by_id = g_new0(struct lull_event_plan *, MAX(stream->n_by_id, 1));
    g_ptr_array_add(plan->owned, stream->by_id);
    for (uint32_t i = 0; i < stream->n_by_id; i++) {
        stream->by_id[i] = &stream->unknown;
    }
    for (uint32_t i = 0; i < decl->n_events; i++) {
        if (decl->events[i].id < stream->n_by_id) {
            stream->by_id[decl->events[i].id] = &stream->plans[i];
        }
    }
}

/* True if an event is made of nothing but parts of fixed size, and texts of bytes. */
static bool has_texts_only(const struct lull_op *skip)
{
    while (skip->code == LULL_OP_RUN ||
           (skip->code == LULL_OP_STRING && skip->encoding < LULL_ENCODING_UTF16BE)) {
        skip++;
    }
    return skip->code == LULL_OP_END;
}

/* How far one event is from the next, if all that varies is its class, or LULL_STRIDE_… */
static uint32_t stride_bits(const struct lull_stream_plan *stream,
                            const struct lull_event_plan *plan)
{
    if (stream->header_kind == LULL_HEADER_GENERAL || !plan->skip) {
        return LULL_STRIDE_NONE;
    }
    if (plan->fixed_bits > MOST_STRIDE_BITS || plan->align_mask >= stream->event_align) {
        return has_texts_only(plan->skip) ? LULL_STRIDE_TEXTS : LULL_STRIDE_NONE;
    }
    uint64_t body = lull_align_up(stream->layout.end, plan->align_mask + 1);
    return (uint32_t)lull_align_up(body + plan->fixed_bits, stream->event_align);
}

static void find_strides(struct lull_ctf_plan *plan, struct lull_stream_plan *stream)
{
    const bool is_compact = stream->header_kind == LULL_HEADER_COMPACT_LE ||
                            stream->header_kind == LULL_HEADER_COMPACT_BE;
    stream->n_short = MIN(stream->n_by_id, is_compact ? 31u : 65535u);
    stream->strides = g_new0(struct lull_stride, MAX(stream->n_by_id, 1));
    stream->unwanted = g_new0(uint32_t, MAX(stream->n_by_id, 1));
    g_ptr_array_add(plan->owned, stream->strides);
    g_ptr_array_add(plan->owned, stream->unwanted);
    for (uint32_t id = 0; id < stream->n_by_id; id++) {
        const uint32_t bits = stride_bits(stream, stream->by_id[id]);
        stream->strides[id].bits = stream->unwanted[id] = bits;
        stream->strides[id].index = stream->by_id[id]->index;
    }
}

static bool compile_headers(struct lull_ctf_plan *plan, struct lull_stream_plan *stream,
                            GError **error)
{
    const struct lull_stream_decl *decl = stream->decl;
    const struct lull_schema *schema = plan->schema;
    stream->clock = decl->clock;
    if (!stream->clock && schema->n_clocks == 1) {
        stream->clock = &schema->clocks[0];
    }
    struct lull_kept_fields *wants = lull_kept_fields_new();
    walk_scope(plan, stream, wants, LULL_SCOPE_PACKET_CONTEXT, decl->packet_context,
               packet_context_leaf);
    walk_scope(plan, stream, wants, LULL_SCOPE_EVENT_HEADER, decl->event_header, event_header_leaf);
    stream->packet_context =
        build_one(plan, LULL_SCOPE_PACKET_CONTEXT, decl->packet_context, wants, NULL, 1, error);
    stream->event_align = decl->event_header ? MAX(decl->event_header->alignment, 1) : 1;
    struct lull_builder end = {.known = 1};
    if (stream->packet_context) {
        stream->event_header = build_one(plan, LULL_SCOPE_EVENT_HEADER, decl->event_header, wants,
                                         &end, stream->event_align, error);
    }
    lull_kept_fields_free(wants);
    if (!stream->event_header) {
        return false;
    }
    stream->body_known = end.known;
    stream->body_rem = end.rem;
    recognise_header(stream);
    return true;
}

static bool compile_stream(struct lull_ctf_plan *plan, struct lull_stream_plan *stream,
                           uint32_t *max_slot, GError **error)
{
    const struct lull_stream_decl *decl = stream->decl;
    stream->plans = g_new0(struct lull_event_plan, MAX(decl->n_events, 1));
    stream->positions = g_new0(struct lull_kept_fields *, MAX(decl->n_events, 1));
    stream->slots_end = g_new0(uint32_t, MAX(decl->n_events, 1));
    g_ptr_array_add(plan->owned, stream->plans);
    g_ptr_array_add(plan->owned, stream->positions);
    g_ptr_array_add(plan->owned, stream->slots_end);
    stream->unknown.fixed_bits = LULL_BITS_HUGE;
    stream->unknown.subscription = -1;
    if (!compile_headers(plan, stream, error)) {
        return false;
    }
    for (uint32_t i = 0; i < decl->n_events; i++) {
        if (!compile_event(plan, stream, i, max_slot, error)) {
            return false;
        }
    }
    index_ids(plan, stream);
    find_strides(plan, stream);
    return true;
}

static bool compile(struct lull_ctf_plan *plan, GError **error)
{
    const struct lull_schema *schema = plan->schema;
    uint32_t slot = LULL_MEM_SLOTS;
    struct lull_collector collector = {
        .roots = {[LULL_SCOPE_PACKET_HEADER] = schema->packet_header},
        .shared = plan->shared,
        .next_slot = &slot,
        .budget = &plan->budget};
    lull_collect_refs(&collector, schema->packet_header, 0);
    for (uint32_t i = 0; i < schema->n_streams; i++) {
        const struct lull_stream_decl *decl = &schema->streams[i];
        collector.roots[LULL_SCOPE_PACKET_CONTEXT] = decl->packet_context;
        collector.roots[LULL_SCOPE_EVENT_HEADER] = decl->event_header;
        lull_collect_refs(&collector, decl->packet_context, 0);
        lull_collect_refs(&collector, decl->event_header, 0);
        collector.uses_header = &plan->streams[i].uses_header;
        lull_collect_refs(&collector, decl->event_context, 0);
        for (uint32_t e = 0; e < decl->n_events; e++) {
            lull_collect_refs(&collector, decl->events[e].context, 0);
            lull_collect_refs(&collector, decl->events[e].payload, 0);
        }
        collector.uses_header = NULL;
    }
    plan->shared_end = plan->fields_offset = slot;
    struct lull_kept_fields *wants = lull_kept_fields_new();
    walk_scope(plan, NULL, wants, LULL_SCOPE_PACKET_HEADER, schema->packet_header,
               packet_header_leaf);
    plan->packet_header =
        build_one(plan, LULL_SCOPE_PACKET_HEADER, schema->packet_header, wants, NULL, 1, error);
    lull_kept_fields_free(wants);
    if (!plan->packet_header) {
        return false;
    }
    uint32_t n_classes = 0;
    for (uint32_t i = 0; i < schema->n_streams; i++) {
        struct lull_stream_plan *stream = &plan->streams[i];
        stream->decl = &schema->streams[i];
        stream->first_class = n_classes;
        n_classes += stream->decl->n_events;
        if (!compile_stream(plan, stream, &slot, error)) {
            return false;
        }
    }
    plan->fields_offset = (uint32_t)lull_align_up(MAX(plan->fields_offset, slot), 16);
    return true;
}

struct lull_ctf_plan *lull_ctf_plan_new(const struct lull_schema *schema, GError **error)
{
    struct lull_ctf_plan *plan = g_new0(struct lull_ctf_plan, 1);
    plan->schema = schema;
    plan->owned = g_ptr_array_new_with_free_func(g_free);
    plan->owned_wants = g_ptr_array_new_with_free_func(g_free);
    plan->shared = lull_kept_fields_new();
    plan->streams = g_new0(struct lull_stream_plan, MAX(schema->n_streams, 1));
    plan->budget = LULL_NODE_BUDGET;
    if (!compile(plan, error)) {
        lull_ctf_plan_free(plan);
        return NULL;
    }
    return plan;
}

void lull_ctf_plan_free(struct lull_ctf_plan *plan)
{
    if (!plan) {
        return;
    }
    for (uint32_t i = 0; i < plan->schema->n_streams; i++) {
        struct lull_stream_plan *stream = &plan->streams[i];
        for (uint32_t e = 0; stream->positions && e < stream->decl->n_events; e++) {
            lull_kept_fields_free(stream->positions[e]);
        }
    }
    lull_kept_fields_free(plan->shared);
    g_ptr_array_unref(plan->owned);
    g_ptr_array_unref(plan->owned_wants);
    g_free(plan->streams);
    g_free(plan);
}

const struct lull_event_plan *lull_stream_plan_find(const struct lull_stream_plan *stream,
                                                    uint64_t id)
{
    if (id < stream->n_by_id) {
        return stream->by_id[id];
    }
    uint32_t low = LULL_LOWER_BOUND(i, stream->decl->n_events, stream->decl->events[i].id < id);
    bool found = low < stream->decl->n_events && stream->decl->events[low].id == id;
    return found ? &stream->plans[low] : &stream->unknown;
}
