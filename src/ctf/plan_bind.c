/* Subscriptions: finds the fields that bindings name, and has plans built that load them. */
#include <string.h>

#include "base/bits.h"
#include "ctf/plan_build.h"

/* Follows member names joined by dots. Returns the field or NULL; fills path and depth, and says
 * whether a variant lies on the way. */
static const struct lull_fc *resolve(const struct lull_fc *fc, const char *names, uint32_t *path,
                                     uint32_t *depth, bool *through_variant)
{
    *depth = 0;
    *through_variant = false;
    while (fc != NULL && *names != '\0') {
        bool is_struct = fc->kind == LULL_FC_STRUCT;
        if ((!is_struct && fc->kind != LULL_FC_VARIANT) || *depth >= LULL_FC_DEPTH)
            return NULL;
        const struct lull_member *members = is_struct ? fc->structure.members : fc->variant.options;
        uint32_t n = is_struct ? fc->structure.n_members : fc->variant.n_options;
        size_t length = strcspn(names, ".");
        uint32_t i = 0;
        while (i < n &&
               (strncmp(members[i].name, names, length) != 0 || members[i].name[length] != '\0'))
            i++;
        if (i == n)
            return NULL;
        *through_variant |= !is_struct;
        path[(*depth)++] = i;
        fc = members[i].fc;
        names += length + (names[length] == '.');
    }
    return fc;
}

static bool kind_fits(const struct lull_fc *fc, enum lull_bind_kind kind)
{
    if (kind == LULL_BIND_INT)
        return fc->kind == LULL_FC_INT;
    if (kind == LULL_BIND_REAL)
        return fc->kind == LULL_FC_FLOAT;
    if (fc->kind == LULL_FC_STRING)
        return kind == LULL_BIND_TEXT;
    if (fc->kind != LULL_FC_ARRAY && fc->kind != LULL_FC_SEQUENCE)
        return false;
    const struct lull_fc *element =
        fc->kind == LULL_FC_ARRAY ? fc->array.element : fc->sequence.element;
    if (element->kind != LULL_FC_INT || element->alignment < 8 ||
        element->alignment > element->integer.size)
        return false;
    uint32_t size = element->integer.size;
    return size == 8 || (kind == LULL_BIND_RAW && (size == 16 || size == 32 || size == 64));
}

/* Adds the want of one binding. Sets its bit in *have if every event of the class has it. */
static bool bind(struct lull_ctf_plan *plan, struct lull_stream_plan *stream, uint32_t index,
                 const struct lull_binding *binding, uint64_t bit, struct lull_places *wants,
                 uint64_t *have)
{
    static const enum lull_want_kind kinds[] = {[LULL_BIND_INT] = LULL_WANT_INT,
                                                [LULL_BIND_TEXT] = LULL_WANT_TEXT,
                                                [LULL_BIND_RAW] = LULL_WANT_RAW,
                                                [LULL_BIND_REAL] = LULL_WANT_REAL};
    const struct lull_event_decl *decl = &stream->decl->events[index];
    const struct lull_fc *const roots[LULL_SCOPE_COUNT] = {
        [LULL_SCOPE_STREAM_EVENT_CONTEXT] = stream->decl->event_context,
        [LULL_SCOPE_EVENT_CONTEXT] = decl->context,
        [LULL_SCOPE_EVENT_PAYLOAD] = decl->payload};
    for (const char *const *name = binding->paths; *name != NULL; name++) {
        bool in_context = g_str_has_prefix(*name, "context.");
        int first = in_context ? LULL_SCOPE_STREAM_EVENT_CONTEXT : LULL_SCOPE_EVENT_PAYLOAD;
        int last = in_context ? LULL_SCOPE_EVENT_CONTEXT : LULL_SCOPE_EVENT_PAYLOAD;
        for (int scope = first; scope <= last; scope++) {
            uint32_t path[LULL_FC_DEPTH], depth;
            bool through_variant;
            const struct lull_fc *fc =
                resolve(roots[scope], *name + (in_context ? 8 : 0), path, &depth, &through_variant);
            if (fc == NULL || !kind_fits(fc, binding->kind))
                continue;
            struct lull_want want = {.scope = (enum lull_scope)scope,
                                     .depth = depth,
                                     .path = path,
                                     .kind = kinds[binding->kind],
                                     .dst = plan->fields_offset + binding->offset,
                                     .have_dst = plan->fields_offset,
                                     .have = through_variant ? bit : 0};
            *have |= through_variant ? 0 : bit;
            lull_places_add(wants, &want);
            return true;
        }
    }
    return false;
}

void lull_ctf_plan_subscribe(struct lull_ctf_plan *plan, struct lull_stream_plan *stream,
                             uint32_t index, int32_t subscription,
                             const struct lull_binding *bindings, uint32_t n_bindings,
                             uint32_t fields_size)
{
    struct lull_event_plan *event = &stream->plans[index];
    event->subscription = subscription;
    event->have = 0;
    event->clear_size = 0;
    event->ops = event->skip;
    event->has_fields = n_bindings > 0;
    if (n_bindings == 0)
        return;
    bool any = false;
    struct lull_places *wants = lull_places_new();
    for (uint32_t i = 0; i < n_bindings && i < 64; i++)
        any |= bind(plan, stream, index, &bindings[i], UINT64_C(1) << i, wants, &event->have);
    uint64_t all = lull_low_mask(MIN(n_bindings, 64));
    if (event->have != all)
        event->clear_size = fields_size;
    if (any) {
        /* The same class was built once without wants, so it can be built. */
        uint64_t budget = LULL_NODE_BUDGET;
        uint32_t slot = stream->slots_end[index];
        event->ops = lull_plan_build_event(plan, stream, index, wants, plan->owned_wants, &budget,
                                           &slot, NULL);
    }
    lull_places_free(wants);
}

void lull_ctf_plan_unsubscribe_all(struct lull_ctf_plan *plan)
{
    for (uint32_t i = 0; i < plan->schema->n_streams; i++) {
        struct lull_stream_plan *stream = &plan->streams[i];
        for (uint32_t e = 0; e < stream->decl->n_events; e++) {
            stream->plans[e].subscription = -1;
            stream->plans[e].ops = stream->plans[e].skip;
        }
    }
    g_ptr_array_set_size(plan->owned_wants, 0);
}
