/* SPDX-License-Identifier: MIT */
/* Subscriptions: finds the fields that bindings name, and has plans built that load them. */
#include <string.h>

#include "base/bits.h"
#include "ctf/plan/build.h"
#include "ctf/plan/gather.h"

/* Follows member names joined by dots. Returns the field or NULL; fills path and depth (optional
 * fields take no part of it), and says whether a variant or an optional field lies on the way. */
static const struct lull_fc *resolve(const struct lull_fc *fc, const char *names, uint32_t *path,
                                     uint32_t *depth, bool *through_variant)
{
    *depth = 0;
    *through_variant = false;
    while (fc && *names != '\0') {
        if (fc->kind == LULL_FC_OPTIONAL) {
            *through_variant = true;
            fc = fc->optional.content;
            continue;
        }
        bool is_struct = fc->kind == LULL_FC_STRUCT;
        if ((!is_struct && fc->kind != LULL_FC_VARIANT) || *depth >= LULL_FC_DEPTH) {
            return NULL;
        }
        const struct lull_member *members = is_struct ? fc->structure.members : fc->variant.options;
        uint32_t n = is_struct ? fc->structure.n_members : fc->variant.n_options;
        size_t length = strcspn(names, ".");
        uint32_t i = 0;
        while (i < n &&
               (strncmp(members[i].name, names, length) != 0 || members[i].name[length] != '\0')) {
            i++;
        }
        if (i == n) {
            return NULL;
        }
        *through_variant |= !is_struct;
        path[(*depth)++] = i;
        fc = members[i].fc;
        names += length + (names[length] == '.');
    }
    while (fc && fc->kind == LULL_FC_OPTIONAL) {
        *through_variant = true;
        fc = fc->optional.content;
    }
    return fc;
}

/* A record has no more; classes may unfold to far more. */
enum { MOST_RECORD_FIELDS = 64 };

/* Integers, and structures of these, that take the same bits each time. */
static bool is_fixed(const struct lull_fc *fc, uint64_t *bits, unsigned *n_left)
{
    if (*n_left == 0 || (fc->kind != LULL_FC_INT && fc->kind != LULL_FC_STRUCT)) {
        return false;
    }
    --*n_left;
    *bits = lull_align_up(*bits, fc->alignment);
    if (fc->kind == LULL_FC_INT) {
        *bits += fc->integer.size;
        return true;
    }
    for (uint32_t i = 0; i < fc->structure.n_members; i++) {
        if (!is_fixed(fc->structure.members[i].fc, bits, n_left)) {
            return false;
        }
    }
    return true;
}

static bool is_record(const struct lull_fc *fc)
{
    uint64_t bits = 0;
    unsigned n_left = MOST_RECORD_FIELDS;
    return fc->kind == LULL_FC_STRUCT && fc->alignment >= 8 && is_fixed(fc, &bits, &n_left) &&
           bits > 0 && bits % fc->alignment == 0;
}

static bool kind_fits(const struct lull_fc *fc, enum lull_bind_kind kind)
{
    if (kind == LULL_BIND_INT) {
        return fc->kind == LULL_FC_INT || fc->kind == LULL_FC_VARINT;
    }
    if (kind == LULL_BIND_REAL) {
        return fc->kind == LULL_FC_FLOAT;
    }
    if (fc->kind == LULL_FC_STRING) {
        return kind == LULL_BIND_TEXT || kind == LULL_BIND_RAW;
    }
    if (fc->kind != LULL_FC_ARRAY && fc->kind != LULL_FC_SEQUENCE) {
        return false;
    }
    const struct lull_fc *element =
        fc->kind == LULL_FC_ARRAY ? fc->array.element : fc->sequence.element;
    if (kind == LULL_BIND_RAW && fc->kind == LULL_FC_SEQUENCE && is_record(element)) {
        return true;
    }
    if (element->kind != LULL_FC_INT || element->alignment < 8 ||
        element->alignment > element->integer.size) {
        return false;
    }
    uint32_t size = element->integer.size;
    return size == 8 || (kind == LULL_BIND_RAW && (size == 16 || size == 32 || size == 64));
}

/* Where a path of a binding may lead: the scopes to look in, in this order. */
struct search {
    const struct lull_fc *roots[2];
    enum lull_scope scopes[2];
    uint32_t n;
    const char *names; /* the path without the scope's name */
};

static void start_search(struct search *search, const struct lull_stream_plan *stream,
                         uint32_t index, const char *path)
{
    const struct lull_event_decl *decl = &stream->decl->events[index];
    if (g_str_has_prefix(path, "context.")) {
        *search = (struct search){
            {stream->decl->event_context, decl->context},
            {LULL_SCOPE_STREAM_EVENT_CONTEXT, LULL_SCOPE_EVENT_CONTEXT},
            2,
            path + strlen("context."),
        };
        return;
    }
    *search = (struct search){
        {decl->payload},
        {LULL_SCOPE_EVENT_PAYLOAD},
        1,
        path,
    };
    if (g_str_has_prefix(path, "payload.")) {
        search->names += strlen("payload.");
    }
}

/* Adds the want of one binding, whose fields start at `area` in memory. Sets its bit in *have if
 * every event of the class has it. */
static bool bind(const struct lull_stream_plan *stream, uint32_t index,
                 const struct lull_binding *binding, uint32_t area, uint64_t bit,
                 struct lull_kept_fields *wants, uint64_t *have)
{
    static const enum lull_want_kind kinds[] = {[LULL_BIND_INT] = LULL_WANT_INT,
                                                [LULL_BIND_TEXT] = LULL_WANT_TEXT,
                                                [LULL_BIND_RAW] = LULL_WANT_RAW,
                                                [LULL_BIND_REAL] = LULL_WANT_REAL};
    for (const char *const *name = binding->paths; *name; name++) {
        struct search search;
        start_search(&search, stream, index, *name);
        for (uint32_t i = 0; i < search.n; i++) {
            uint32_t path[LULL_FC_DEPTH], depth;
            bool through_variant;
            const struct lull_fc *fc =
                resolve(search.roots[i], search.names, path, &depth, &through_variant);
            if (!fc || !kind_fits(fc, binding->kind)) {
                continue;
            }
            struct lull_want want = {.scope = search.scopes[i],
                                     .depth = depth,
                                     .path = path,
                                     .kind = kinds[binding->kind],
                                     .dst = area + binding->offset,
                                     .have_dst = area,
                                     .have = through_variant ? bit : 0};
            *have |= through_variant ? 0 : bit;
            lull_kept_fields_add(wants, &want);
            return true;
        }
    }
    return false;
}

const struct lull_fc *lull_ctf_plan_find_field(const struct lull_stream_plan *stream,
                                               uint32_t index, const char *path, bool *is_optional)
{
    struct search search;
    start_search(&search, stream, index, path);
    for (uint32_t i = 0; i < search.n; i++) {
        uint32_t indices[LULL_FC_DEPTH], depth;
        const struct lull_fc *fc =
            resolve(search.roots[i], search.names, indices, &depth, is_optional);
        if (fc) {
            return fc;
        }
    }
    return NULL;
}

bool lull_ctf_plan_can_bind(const struct lull_fc *fc, enum lull_bind_kind kind)
{
    return kind_fits(fc, kind);
}

static void set_subscription(struct lull_stream_plan *stream, uint32_t index, int32_t subscription)
{
    const uint64_t id = stream->decl->events[index].id;
    stream->plans[index].subscription = subscription;
    if (id < stream->n_by_id) {
        stream->unwanted[id] = subscription >= 0 ? LULL_STRIDE_NONE : stream->strides[id].bits;
    }
}

void lull_ctf_plan_subscribe(struct lull_ctf_plan *plan, struct lull_stream_plan *stream,
                             uint32_t index, int32_t subscription,
                             const struct lull_binding *bindings, uint32_t n_bindings,
                             uint32_t fields_size, const struct lull_extra_fields *extra)
{
    struct lull_event_plan *event = &stream->plans[index];
    uint32_t n_extra = extra ? extra->n_bindings : 0;
    set_subscription(stream, index, subscription);
    event->have = 0;
    event->clear_size = 0;
    event->ops = event->skip;
    event->loads = NULL;
    event->is_straight = event->fixed_bits < LULL_BITS_HUGE;
    event->has_fields = n_bindings > 0;
    if (n_bindings == 0 && n_extra == 0) {
        return;
    }
    bool any = false;
    struct lull_kept_fields *wants = lull_kept_fields_new();
    for (uint32_t i = 0; i < n_bindings && i < 64; i++) {
        any |= bind(stream, index, &bindings[i], plan->fields_offset, UINT64_C(1) << i, wants,
                    &event->have);
    }
    if (n_bindings > 0 && event->have != lull_low_mask(MIN(n_bindings, 64))) {
        event->clear_size = fields_size;
    }
    uint64_t extra_have = 0;
    for (uint32_t i = 0; i < n_extra && i < 64; i++) {
        any |= bind(stream, index, &extra->bindings[i], plan->fields_offset + extra->offset,
                    UINT64_C(1) << i, wants, &extra_have);
    }
    if (n_extra > 0 && extra_have != lull_low_mask(MIN(n_extra, 64))) {
        event->clear_size = extra->offset + extra->size;
    }
    if (any) {
        /* The same class was built once without wants, so it can be built. */
        uint64_t budget = LULL_NODE_BUDGET;
        uint32_t slot = stream->slots_end[index];
        event->ops = lull_plan_build_event(plan, stream, index, wants, false, plan->owned_wants,
                                           &budget, &slot, NULL);
        if (event->fixed_bits < LULL_BITS_HUGE) {
            event->loads = lull_gathered(event->ops, LULL_OP_LOADS);
            event->is_straight = event->loads != NULL;
        }
    }
    lull_kept_fields_free(wants);
}

void lull_ctf_plan_unsubscribe_all(struct lull_ctf_plan *plan)
{
    for (uint32_t i = 0; i < plan->schema->n_streams; i++) {
        struct lull_stream_plan *stream = &plan->streams[i];
        for (uint32_t e = 0; e < stream->decl->n_events; e++) {
            set_subscription(stream, e, -1);
            stream->plans[e].ops = stream->plans[e].skip;
            stream->plans[e].loads = NULL;
        }
    }
    g_ptr_array_set_size(plan->owned_wants, 0);
}

void lull_ctf_plan_load_all(struct lull_ctf_plan *plan)
{
    if (plan->has_all) {
        return;
    }
    plan->has_all = true;
    uint32_t max_slot = plan->fields_offset;
    for (uint32_t i = 0; i < plan->schema->n_streams; i++) {
        struct lull_stream_plan *stream = &plan->streams[i];
        for (uint32_t e = 0; e < stream->decl->n_events; e++) {
            /* Built once without sums, so it can be built. */
            uint64_t budget = LULL_NODE_BUDGET;
            uint32_t slot = stream->slots_end[e];
            struct lull_event_plan *event = &stream->plans[e];
            event->all = lull_plan_build_event(plan, stream, e, NULL, true, plan->owned, &budget,
                                               &slot, NULL);
            if (event->fixed_bits < LULL_BITS_HUGE) {
                event->sums = lull_gathered(event->all, LULL_OP_SUMS);
            }
            max_slot = MAX(max_slot, slot);
        }
    }
    plan->all_end = max_slot;
}
