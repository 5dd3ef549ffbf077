/* SPDX-License-Identifier: MIT */
/* Among many rows, that of an event is far from the CPU: each step to it – the slot of its key, where the row
 * is, the row, what its state adds up – waits for memory. So some events come together before they are
 * followed, in their order, and each step is taken for all of them: the CPU waits for all at once.
 * What is done and told is the same. */
#include "states/engine.h"

enum { LINE = 64 };

static void fetch_slots(const struct lull_states_engine *engine, struct states_waiting *waiting)
{
    struct lull_run run;
    const struct states_class *class = waiting->class;
    lull_run_start(&run, class->program, &waiting->event, waiting->fields, engine->given);
    for (uint32_t i = 0; i < class->n_hints; i++) {
        const struct states_part *part = class->hints[i];
        const uint32_t group = (uint32_t)(part->group - engine->states->groups);
        const struct lull_value key = states_value(&run, part->key);
        struct states_found *found = &waiting->found[i];
        *found = (struct states_found){.row = LULL_MAP_NONE, .key = states_key_kind(&key, 1)};
        if (found->key != STATES_KEY_ANY) {
            found->hash = states_key_hash(group, waiting->event.host, &key, 1);
            lull_map_fetch(&engine->by_hash, found->hash);
        }
    }
}

/* Of rows whose keys have one hash, the first: it is seldom another. */
static void fetch_places(const struct lull_states_engine *engine, struct states_waiting *waiting)
{
    for (uint32_t i = 0; i < waiting->class->n_hints; i++) {
        struct states_found *found = &waiting->found[i];
        if (found->key != STATES_KEY_ANY &&
            (found->row = lull_map_find(&engine->by_hash, found->hash)) != LULL_MAP_NONE) {
            __builtin_prefetch(&engine->rows.items[found->row]);
        }
    }
}

static void fetch_rows(const struct lull_states_engine *engine, struct states_waiting *waiting)
{
    for (uint32_t i = 0; i < waiting->class->n_hints; i++) {
        const struct states_found *found = &waiting->found[i];
        if (found->row == LULL_MAP_NONE) {
            continue;
        }
        __builtin_prefetch(engine->rows.items[found->row], 1);
    }
}

static void fetch_cells(const struct lull_states_engine *engine, struct states_waiting *waiting)
{
    for (uint32_t i = 0; i < waiting->class->n_hints; i++) {
        const struct lull_states_group *group = waiting->class->hints[i]->group;
        const uint32_t number = (uint32_t)(group - engine->states->groups);
        const struct states_layout *layout = &engine->layouts[number];
        struct states_found *found = &waiting->found[i];
        const struct lull_states_row *row =
            found->row != LULL_MAP_NONE ? engine->rows.items[found->row] : NULL;
        if (!row || row->group != number || row->host != waiting->event.host ||
            row->key != found->key) {
            continue;
        }
        const char *at = (const char *)row->values;
        const char *cell =
            at + layout->cells + (size_t)MIN(row->state, group->n_states) * layout->cell;
        for (size_t k = 0; k <= layout->room; k += LINE) {
            __builtin_prefetch(at + k, 1);
        }
        __builtin_prefetch(cell, 1);
        __builtin_prefetch(cell + LINE, 1);
        found->is_there = true;
    }
}

static void fetch_all(struct lull_states_engine *engine)
{
    static void (*const steps[])(const struct lull_states_engine *engine,
                                 struct states_waiting *waiting) = {fetch_slots, fetch_places,
                                                                    fetch_rows, fetch_cells};
    for (size_t step = 0; step < G_N_ELEMENTS(steps); step++) {
        for (uint32_t i = 0; i < engine->n_waiting; i++) {
            steps[step](engine, &engine->waiting[i]);
        }
    }
}

void states_finish_waiting(struct lull_states_engine *engine)
{
    if (!engine->n_waiting) {
        return;
    }
    fetch_all(engine);
    for (uint32_t i = 0; i < engine->n_waiting; i++) {
        const struct states_waiting *waiting = engine->at = &engine->waiting[i];
        states_follow(engine, waiting->class, &waiting->event, waiting->fields);
    }
    engine->at = NULL;
    engine->n_waiting = 0;
}

void states_wait(struct lull_states_engine *engine, const struct states_class *class,
                 const struct lull_event *event, const uint8_t *fields)
{
    struct states_waiting *waiting = &engine->waiting[engine->n_waiting++];
    waiting->class = class;
    waiting->event = *event;
    memcpy(waiting->fields, fields, class->field_bytes);
    if (engine->n_waiting == STATES_WAITING) {
        states_finish_waiting(engine);
    }
}
