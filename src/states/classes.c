/* SPDX-License-Identifier: MIT */
/* Compiles the rules for a class of events: which can apply to its events at all, and what of them has
 * to be read. */
#include "states/engine.h"

static const struct lull_load *loads_of(struct lull_compiler *c,
                                        const struct lull_operand *operands, uint32_t n)
{
    struct lull_load *loads = lull_arena_alloc_n(c->arena, n, sizeof *loads);
    for (uint32_t i = 0; i < n; i++) {
        loads[i] = lull_compiler_load_or_none(c, &operands[i]);
    }
    return loads;
}

static const struct lull_load *key_of(struct lull_compiler *c,
                                      const struct lull_states_group *group,
                                      const struct lull_states_rule *rule)
{
    if (rule->is_each) {
        return NULL;
    }
    if (rule->at) {
        return loads_of(c, rule->at, group->n_keys);
    }
    struct lull_load *loads = lull_arena_alloc_n(c->arena, group->n_keys, sizeof *loads);
    for (uint32_t i = 0; i < group->n_keys; i++) {
        loads[i] = lull_compiler_load_or_none(c, &group->names[i].operand);
    }
    return loads;
}

static const struct lull_load *const *others_of(struct lull_compiler *c,
                                                const struct lull_states_group *group,
                                                const struct lull_states_rule *rule)
{
    const struct lull_load **others = lull_arena_alloc_n(c->arena, rule->n_others, sizeof *others);
    for (uint32_t i = 0; i < rule->n_others; i++) {
        const struct lull_states_other *other = &group->others[rule->first_other + i];
        others[i] = loads_of(c, other->keys, other->n_keys);
    }
    return others;
}

static const struct lull_load *operands_of(struct lull_compiler *c,
                                           const struct lull_states_rule *rule)
{
    struct lull_load *loads = lull_arena_alloc_n(c->arena, rule->n_actions, sizeof *loads);
    for (uint32_t i = 0; i < rule->n_actions; i++) {
        loads[i] = lull_compiler_load_or_none(c, &rule->actions[i].operand);
    }
    return loads;
}

static void add_part(struct lull_compiler *c, const struct lull_states_group *group,
                     const struct lull_states_rules *block, uint32_t number, GArray *parts)
{
    const struct lull_states_rule *rule = &block->rules[number];
    struct states_part part = {.group = group,
                               .block = block,
                               .rule = rule,
                               .number = block->first_rule + number,
                               .on = lull_compiler_add(c, rule->on),
                               .condition = LULL_ACCEPT};
    if (part.on == LULL_REJECT) {
        return;
    }
    lull_compiler_position(c, part.on);
    if (rule->condition) {
        part.condition = lull_compiler_add(c, rule->condition);
        lull_compiler_position(c, part.condition);
    }
    part.key = key_of(c, group, rule);
    part.others = others_of(c, group, rule);
    part.operands = operands_of(c, rule);
    for (uint32_t i = 0; i < rule->n_actions; i++) {
        part.has_operands |= rule->actions[i].kind >= LULL_STATES_SET;
    }
    if (group->has_task) {
        part.task = lull_compiler_load_or_none(c, &group->task);
    }
    g_array_append_val(parts, part);
}

/* The rows that its events need: of each group, that of the first rule whose key is one integer. */
static void find_hints(struct states_class *class)
{
    for (uint32_t i = 0; i < class->n_parts && class->n_hints < STATES_HINTS; i++) {
        const struct states_part *part = &class->parts[i];
        const struct states_part *last = class->n_hints ? class->hints[class->n_hints - 1] : NULL;
        if (part->key && part->group->n_keys == 1 && (!last || last->group != part->group) &&
            (part->key->kind == LULL_LOAD_INT || part->key->kind == LULL_LOAD_CPU)) {
            class->hints[class->n_hints++] = part;
        }
    }
}

/* What was compiled, for events whose fields are `fields`. */
static struct states_class *class_of(struct lull_compiler *c, const GArray *parts,
                                     struct lull_fields *fields)
{
    struct states_class *class = lull_arena_alloc(c->arena, sizeof *class);
    class->n_parts = parts->len;
    class->parts = lull_arena_copy(c->arena, parts->data, parts->len * sizeof(struct states_part));
    class->can_wait = !c->n_visited;
    for (guint i = 0; i < c->bindings->len; i++) {
        class->can_wait &= g_array_index(c->bindings, struct lull_binding, i).kind == LULL_BIND_INT;
    }
    class->program = lull_compiler_end(c, LULL_REJECT, fields);
    class->field_bytes = fields->size;
    class->can_wait &= class->field_bytes <= STATES_WAITING_BYTES;
    find_hints(class);
    return class;
}

const void *states_compile(struct lull_event_watch *watch, const struct lull_source *source,
                           uint32_t class_index, const char *host, struct lull_fields *fields)
{
    struct lull_states_engine *engine = (struct lull_states_engine *)watch;
    const struct lull_states *states = engine->states;
    struct states_class *class = NULL;
    struct lull_who_class who = {.is_switch = false};
    struct lull_compiler c;
    lull_compiler_start(&c, &states->terms, source, class_index, host, -1, engine->programs);
    c.first_bit = fields->n_bindings;
    c.size = MAX(c.size, fields->size);
    GArray *parts = g_array_new(FALSE, FALSE, sizeof(struct states_part));
    for (uint32_t b = 0; b < states->n_blocks; b++) {
        const struct lull_states_rules *block = &states->blocks[b];
        for (uint32_t r = 0; r < block->n_rules; r++) {
            add_part(&c, &states->groups[block->group], block, r, parts);
        }
    }
    if (engine->follows_running) {
        lull_who_compile(&c, &who);
    }
    if (parts->len || who.is_switch || engine->has_after) {
        class = class_of(&c, parts, fields);
        class->who = who;
        class->can_wait &= !engine->follows_running;
    } else {
        lull_compiler_free(&c);
    }
    g_array_unref(parts);
    return class;
}
