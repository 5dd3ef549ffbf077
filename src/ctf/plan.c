/* The plan compiler's front end: finds out what must be kept of packet headers, event headers and
 * events (lengths, tags, ids, clock values, bound fields) and has plans built for it. */
#include "ctf/plan_build.h"

#include <string.h>

#include "base/bits.h"

/* Event ids up to this find their class by index. */
#define MAX_DENSE_ID 65536u

/* ---- what the schema itself refers to ---- */

struct collector {
    struct lull_places *shared, *own;
    uint32_t *next_slot;
    uint64_t *budget;
    bool *uses_header; /* set when something refers to an event header */
};

static void collect_ref(struct collector *c, const struct lull_fc_ref *ref)
{
    struct lull_places *places = ref->scope <= LULL_SCOPE_EVENT_HEADER ? c->shared : c->own;
    if (c->uses_header != NULL && ref->scope == LULL_SCOPE_EVENT_HEADER)
        *c->uses_header = true;
    if (places == NULL || ref->depth > LULL_FC_DEPTH ||
        lull_places_slot(places, ref->scope, ref->depth, ref->path) != 0)
        return;
    struct lull_want want = {.scope = ref->scope,
                             .depth = ref->depth,
                             .path = ref->path,
                             .kind = LULL_WANT_SLOT,
                             .dst = *c->next_slot};
    *c->next_slot += 8;
    lull_places_add(places, &want);
}

/* Gives each length and tag that `fc` refers to a slot. Depth and size are checked for good when
 * the plan is built. */
static void collect_refs(struct collector *c, const struct lull_fc *fc, unsigned depth)
{
    if (fc == NULL || depth > LULL_FC_DEPTH || *c->budget == 0)
        return;
    --*c->budget;
    switch (fc->kind) {
    case LULL_FC_STRUCT:
        for (uint32_t i = 0; i < fc->structure.n_members; i++)
            collect_refs(c, fc->structure.members[i].fc, depth + 1);
        break;
    case LULL_FC_ARRAY:
        collect_refs(c, fc->array.element, depth + 1);
        break;
    case LULL_FC_SEQUENCE:
        collect_ref(c, &fc->sequence.length);
        collect_refs(c, fc->sequence.element, depth + 1);
        break;
    case LULL_FC_VARIANT:
        collect_ref(c, &fc->variant.tag);
        for (uint32_t i = 0; i < fc->variant.n_options; i++)
            collect_refs(c, fc->variant.options[i].fc, depth + 1);
        break;
    default:
        break;
    }
}

/* ---- headers ---- */

struct header_walk {
    struct lull_places *places;
    enum lull_scope scope;
    uint32_t depth;
    uint32_t path[LULL_FC_DEPTH + 1];
    struct lull_stream_plan *stream;
    uint64_t *budget;
    void (*leaf)(struct header_walk *, const char *name, const struct lull_fc *fc);
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
    lull_places_add(w->places, &want);
}

/* Visits integers, and arrays as a whole, through structures and options. */
static void walk_header(struct header_walk *w, const char *name, const struct lull_fc *fc)
{
    if (w->depth >= LULL_FC_DEPTH || *w->budget == 0)
        return;
    --*w->budget;
    bool is_struct = fc->kind == LULL_FC_STRUCT;
    if (!is_struct && fc->kind != LULL_FC_VARIANT) {
        w->leaf(w, name, fc);
        return;
    }
    const struct lull_member *members = is_struct ? fc->structure.members : fc->variant.options;
    uint32_t n = is_struct ? fc->structure.n_members : fc->variant.n_options;
    for (uint32_t i = 0; i < n; i++) {
        w->path[w->depth++] = i;
        walk_header(w, members[i].name, members[i].fc);
        w->depth--;
    }
}

static void packet_header_leaf(struct header_walk *w, const char *name, const struct lull_fc *fc)
{
    if (fc->kind == LULL_FC_INT && strcmp(name, "magic") == 0)
        want_here(w, LULL_WANT_INT, LULL_MEM_MAGIC, LULL_HAS_MAGIC);
    else if (fc->kind == LULL_FC_INT && strcmp(name, "stream_id") == 0)
        want_here(w, LULL_WANT_INT, LULL_MEM_STREAM_ID, LULL_HAS_STREAM_ID);
    else if (fc->kind == LULL_FC_INT && strcmp(name, "stream_instance_id") == 0)
        want_here(w, LULL_WANT_INT, LULL_MEM_INSTANCE, LULL_HAS_INSTANCE);
    else if (fc->kind == LULL_FC_ARRAY && strcmp(name, "uuid") == 0 && fc->array.length == 16 &&
             fc->array.element->kind == LULL_FC_INT && fc->array.element->integer.size == 8 &&
             fc->array.element->alignment == 8)
        want_here(w, LULL_WANT_RAW, LULL_MEM_UUID, LULL_HAS_UUID);
}

static void packet_context_leaf(struct header_walk *w, const char *name, const struct lull_fc *fc)
{
    static const struct {
        const char *name;
        uint32_t dst;
        enum lull_packet_field have;
    } fields[] = {
        {"timestamp_begin", LULL_MEM_TIME_BEGIN, LULL_HAS_TIME_BEGIN},
        {"timestamp_end", LULL_MEM_TIME_END, LULL_HAS_TIME_END},
        {"content_size", LULL_MEM_CONTENT_SIZE, LULL_HAS_CONTENT_SIZE},
        {"packet_size", LULL_MEM_PACKET_SIZE, LULL_HAS_PACKET_SIZE},
        {"events_discarded", LULL_MEM_DISCARDED, LULL_HAS_DISCARDED},
        {"packet_seq_num", LULL_MEM_SEQUENCE, LULL_HAS_SEQUENCE},
        {"cpu_id", LULL_MEM_CPU, LULL_HAS_CPU},
    };
    if (fc->kind != LULL_FC_INT || w->depth != 1)
        return;
    for (size_t i = 0; i < G_N_ELEMENTS(fields); i++) {
        if (strcmp(name, fields[i].name) != 0)
            continue;
        want_here(w, LULL_WANT_INT, fields[i].dst, fields[i].have);
        uint8_t bits = (uint8_t)fc->integer.size;
        if (fields[i].have == LULL_HAS_DISCARDED)
            w->stream->discarded_bits = bits;
        else if (fields[i].have == LULL_HAS_SEQUENCE)
            w->stream->sequence_bits = bits;
        else if (fields[i].have == LULL_HAS_TIME_BEGIN)
            w->stream->begin_bits = bits;
        else if (fields[i].have == LULL_HAS_TIME_END)
            w->stream->end_bits = bits;
    }
}

/* The first clock that an integer is mapped to. */
static void find_clock(struct header_walk *w, const char *name, const struct lull_fc *fc)
{
    if (fc->kind == LULL_FC_INT && fc->integer.clock != NULL && w->stream->clock == NULL)
        w->stream->clock = fc->integer.clock;
}

static void event_header_leaf(struct header_walk *w, const char *name, const struct lull_fc *fc)
{
    if (fc->kind != LULL_FC_INT)
        return;
    const struct lull_clock *clock = fc->integer.clock;
    bool unmapped_time = clock == NULL && strcmp(name, "timestamp") == 0;
    if (strcmp(name, "id") == 0) {
        want_here(w, LULL_WANT_INT, LULL_MEM_ID, 0);
        w->stream->has_id = true;
    } else if (unmapped_time || (clock != NULL && clock == w->stream->clock)) {
        want_here(w, LULL_WANT_CLOCK, LULL_MEM_CLOCK, 0);
    }
}

static void walk_scope(struct lull_ctf_plan *plan, struct lull_stream_plan *stream,
                       struct lull_places *places, enum lull_scope scope, const struct lull_fc *fc,
                       void (*leaf)(struct header_walk *, const char *, const struct lull_fc *))
{
    struct header_walk walk = {
        .places = places, .scope = scope, .stream = stream, .budget = &plan->budget, .leaf = leaf};
    if (fc != NULL)
        walk_header(&walk, "", fc);
}

/* ---- headers that straight code decodes ---- */

static bool is_unsigned(const struct lull_fc *fc, uint32_t size, bool big_endian)
{
    return fc->kind == LULL_FC_INT && fc->integer.size == size && !fc->integer.is_signed &&
           fc->integer.is_big_endian == big_endian;
}

/* True if the enumeration says: all ones is option `extended`, the rest is the other. */
static bool tag_is_plain(const struct lull_fc *variant, const struct lull_fc *id, int extended)
{
    const struct lull_enumeration *labels = id->integer.enumeration;
    uint64_t last = lull_low_mask(id->integer.size);
    if (labels == NULL || labels->n_ranges != 2)
        return false;
    for (uint32_t i = 0; i < 2; i++) {
        const struct lull_enum_range *range = &labels->ranges[i];
        bool is_last = range->lower == last && range->upper == last;
        bool is_rest = range->lower == 0 && range->upper == last - 1;
        if (!is_last && !is_rest)
            return false;
        if ((lull_fc_variant_option(variant, range->lower) == extended) != is_last)
            return false;
    }
    return true;
}

/* Recognises LTTng's two headers by their structure; anything else stays general. */
static void recognise_header(struct lull_stream_plan *stream)
{
    const struct lull_fc *fc = stream->decl->event_header;
    if (fc == NULL || fc->structure.n_members != 2 || stream->uses_header)
        return;
    const struct lull_fc *id = fc->structure.members[0].fc;
    const struct lull_fc *variant = fc->structure.members[1].fc;
    if (strcmp(fc->structure.members[0].name, "id") != 0 || id->kind != LULL_FC_INT ||
        variant->kind != LULL_FC_VARIANT || variant->variant.n_options != 2)
        return;
    const struct lull_fc_ref *tag = &variant->variant.tag;
    if (tag->scope != LULL_SCOPE_EVENT_HEADER || tag->depth != 1 || tag->path[0] != 0)
        return;
    const struct lull_fc *options[2] = {variant->variant.options[0].fc,
                                        variant->variant.options[1].fc};
    if (options[0]->kind != LULL_FC_STRUCT || options[1]->kind != LULL_FC_STRUCT)
        return;
    int extended = options[0]->structure.n_members == 2 ? 0 : 1;
    const struct lull_fc *shorter = options[1 - extended], *longer = options[extended];
    if (shorter->structure.n_members != 1 || longer->structure.n_members != 2)
        return;
    bool be = id->integer.is_big_endian, compact = id->integer.size == 5;
    const struct lull_fc *time = shorter->structure.members[0].fc;
    const struct lull_fc *long_id = longer->structure.members[0].fc;
    const struct lull_fc *long_time = longer->structure.members[1].fc;
    if (!is_unsigned(id, compact ? 5 : 16, be) || !is_unsigned(time, compact ? 27 : 32, be) ||
        !is_unsigned(long_id, 32, be) || !is_unsigned(long_time, 64, be) ||
        strcmp(longer->structure.members[0].name, "id") != 0 || stream->clock == NULL ||
        time->integer.clock != stream->clock || long_time->integer.clock != stream->clock ||
        long_id->integer.clock != NULL || id->integer.clock != NULL ||
        !tag_is_plain(variant, id, extended))
        return;
    uint32_t align = fc->alignment;
    if (align < 8 || shorter->alignment > align || longer->alignment > align ||
        long_id->alignment < 8 || long_time->alignment < 8)
        return;
    struct lull_header_layout layout;
    layout.time = (uint32_t)lull_align_up(lull_align_up(id->integer.size, shorter->alignment),
                                          time->alignment);
    layout.end = layout.time + time->integer.size;
    layout.long_id = (uint32_t)lull_align_up(lull_align_up(id->integer.size, longer->alignment),
                                             long_id->alignment);
    layout.long_time = (uint32_t)lull_align_up(layout.long_id + 32, long_time->alignment);
    layout.long_end = layout.long_time + 64;
    /* The compact one is loaded as a single word. */
    if (compact ? layout.time != 5 : layout.time % 8 != 0)
        return;
    stream->layout = layout;
    stream->header_kind = compact ? (be ? LULL_HEADER_COMPACT_BE : LULL_HEADER_COMPACT_LE)
                                  : (be ? LULL_HEADER_LARGE_BE : LULL_HEADER_LARGE_LE);
}

/* ---- building ---- */

static const struct lull_op *build_one(struct lull_ctf_plan *plan, enum lull_scope scope,
                                       const struct lull_fc *fc, const struct lull_places *wants,
                                       struct lull_builder *out, uint32_t known, GError **error)
{
    struct lull_builder builder;
    lull_builder_init(&builder, plan->owned, &plan->budget, plan->fields_offset);
    builder.known = known;
    builder.places[0] = plan->shared;
    builder.places[1] = wants;
    lull_builder_add(&builder, scope, fc);
    const struct lull_op *ops = lull_builder_finish(&builder, error);
    if (out != NULL)
        *out = builder;
    return ops;
}

const struct lull_op *lull_plan_build_event(struct lull_ctf_plan *plan,
                                            struct lull_stream_plan *stream, uint32_t index,
                                            const struct lull_places *wants, GPtrArray *owned,
                                            uint64_t *budget, uint32_t *end_slot, GError **error)
{
    const struct lull_event_decl *event = &stream->decl->events[index];
    struct lull_builder builder;
    lull_builder_init(&builder, owned, budget, *end_slot);
    builder.known = stream->body_known;
    builder.rem = stream->body_rem;
    builder.places[0] = plan->shared;
    builder.places[1] = stream->places[index];
    builder.places[2] = wants;
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
    struct lull_places *places = lull_places_new();
    struct collector collector = {.own = places, .next_slot = &slot, .budget = &plan->budget};
    collect_refs(&collector, stream->decl->event_context, 0);
    collect_refs(&collector, decl->context, 0);
    collect_refs(&collector, decl->payload, 0);
    if (slot != plan->shared_end)
        stream->places[index] = places;
    else
        lull_places_free(places);
    stream->slots_end[index] = slot;
    event->skip =
        lull_plan_build_event(plan, stream, index, NULL, plan->owned, &plan->budget, &slot, error);
    if (event->skip == NULL) {
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
    for (uint32_t i = 0; i < decl->n_events; i++)
        if (decl->events[i].id < MAX_DENSE_ID)
            stream->n_by_id = (uint32_t)decl->events[i].id + 1;
    stream->by_id = g_new0(struct lull_event_plan *, MAX(stream->n_by_id, 1));
    g_ptr_array_add(plan->owned, stream->by_id);
    for (uint32_t i = 0; i < stream->n_by_id; i++)
        stream->by_id[i] = &stream->unknown;
    for (uint32_t i = 0; i < decl->n_events; i++)
        if (decl->events[i].id < stream->n_by_id)
            stream->by_id[decl->events[i].id] = &stream->plans[i];
}

static bool compile_headers(struct lull_ctf_plan *plan, struct lull_stream_plan *stream,
                            GError **error)
{
    const struct lull_stream_decl *decl = stream->decl;
    const struct lull_schema *schema = plan->schema;
    walk_scope(plan, stream, NULL, LULL_SCOPE_EVENT_HEADER, decl->event_header, find_clock);
    walk_scope(plan, stream, NULL, LULL_SCOPE_PACKET_CONTEXT, decl->packet_context, find_clock);
    if (stream->clock == NULL && schema->n_clocks == 1)
        stream->clock = &schema->clocks[0];
    struct lull_places *wants = lull_places_new();
    walk_scope(plan, stream, wants, LULL_SCOPE_PACKET_CONTEXT, decl->packet_context,
               packet_context_leaf);
    walk_scope(plan, stream, wants, LULL_SCOPE_EVENT_HEADER, decl->event_header, event_header_leaf);
    stream->packet_context =
        build_one(plan, LULL_SCOPE_PACKET_CONTEXT, decl->packet_context, wants, NULL, 1, error);
    stream->event_align = decl->event_header != NULL ? MAX(decl->event_header->alignment, 1) : 1;
    struct lull_builder end = {.known = 1};
    if (stream->packet_context != NULL)
        stream->event_header = build_one(plan, LULL_SCOPE_EVENT_HEADER, decl->event_header, wants,
                                         &end, stream->event_align, error);
    lull_places_free(wants);
    if (stream->event_header == NULL)
        return false;
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
    stream->places = g_new0(struct lull_places *, MAX(decl->n_events, 1));
    stream->slots_end = g_new0(uint32_t, MAX(decl->n_events, 1));
    g_ptr_array_add(plan->owned, stream->plans);
    g_ptr_array_add(plan->owned, stream->places);
    g_ptr_array_add(plan->owned, stream->slots_end);
    stream->unknown.fixed_bits = LULL_BITS_HUGE;
    stream->unknown.subscription = -1;
    if (!compile_headers(plan, stream, error))
        return false;
    for (uint32_t i = 0; i < decl->n_events; i++)
        if (!compile_event(plan, stream, i, max_slot, error))
            return false;
    index_ids(plan, stream);
    return true;
}

static bool compile(struct lull_ctf_plan *plan, GError **error)
{
    const struct lull_schema *schema = plan->schema;
    uint32_t slot = LULL_MEM_SLOTS;
    struct collector collector = {
        .shared = plan->shared, .next_slot = &slot, .budget = &plan->budget};
    collect_refs(&collector, schema->packet_header, 0);
    for (uint32_t i = 0; i < schema->n_streams; i++) {
        const struct lull_stream_decl *decl = &schema->streams[i];
        collect_refs(&collector, decl->packet_context, 0);
        collect_refs(&collector, decl->event_header, 0);
        collector.uses_header = &plan->streams[i].uses_header;
        collect_refs(&collector, decl->event_context, 0);
        for (uint32_t e = 0; e < decl->n_events; e++) {
            collect_refs(&collector, decl->events[e].context, 0);
            collect_refs(&collector, decl->events[e].payload, 0);
        }
        collector.uses_header = NULL;
    }
    plan->shared_end = plan->fields_offset = slot;
    struct lull_places *wants = lull_places_new();
    walk_scope(plan, NULL, wants, LULL_SCOPE_PACKET_HEADER, schema->packet_header,
               packet_header_leaf);
    plan->packet_header =
        build_one(plan, LULL_SCOPE_PACKET_HEADER, schema->packet_header, wants, NULL, 1, error);
    lull_places_free(wants);
    if (plan->packet_header == NULL)
        return false;
    uint32_t n_classes = 0;
    for (uint32_t i = 0; i < schema->n_streams; i++) {
        struct lull_stream_plan *stream = &plan->streams[i];
        stream->decl = &schema->streams[i];
        stream->first_class = n_classes;
        n_classes += stream->decl->n_events;
        if (!compile_stream(plan, stream, &slot, error))
            return false;
    }
    plan->fields_offset = (uint32_t)lull_align_up(slot, 16);
    return true;
}

struct lull_ctf_plan *lull_ctf_plan_new(const struct lull_schema *schema, GError **error)
{
    struct lull_ctf_plan *plan = g_new0(struct lull_ctf_plan, 1);
    plan->schema = schema;
    plan->owned = g_ptr_array_new_with_free_func(g_free);
    plan->owned_wants = g_ptr_array_new_with_free_func(g_free);
    plan->shared = lull_places_new();
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
    if (plan == NULL)
        return;
    for (uint32_t i = 0; i < plan->schema->n_streams; i++) {
        struct lull_stream_plan *stream = &plan->streams[i];
        for (uint32_t e = 0; stream->places != NULL && e < stream->decl->n_events; e++)
            lull_places_free(stream->places[e]);
    }
    lull_places_free(plan->shared);
    g_ptr_array_unref(plan->owned);
    g_ptr_array_unref(plan->owned_wants);
    g_free(plan->streams);
    g_free(plan);
}

struct lull_event_plan *lull_stream_plan_find(const struct lull_stream_plan *stream, uint64_t id)
{
    if (id < stream->n_by_id)
        return stream->by_id[id]->skip != NULL ? stream->by_id[id] : NULL;
    uint32_t low = 0, high = stream->decl->n_events;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (stream->decl->events[middle].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    bool found = low < stream->decl->n_events && stream->decl->events[low].id == id;
    return found ? &stream->plans[low] : NULL;
}
