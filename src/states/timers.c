/* SPDX-License-Identifier: MIT */
/* What happens without an event, in order of time: edges of what is shown, losses, and states that
 * lasted as long as an `after` says. */
#include "base/sums.h"
#include "states/engine.h"

/* ---- the heap ---- */

static bool is_before(const struct states_timer *a, const struct states_timer *b)
{
    return a->time_ns != b->time_ns ? a->time_ns < b->time_ns : a->order < b->order;
}

void states_timer_add(struct lull_states_engine *engine, uint32_t row, int64_t time_ns)
{
    const struct lull_states_row *of = engine->rows.items[row];
    if (time_ns >= engine->ends_ns[of->host]) {
        return;
    }
    if (engine->n_timers == engine->most_timers) {
        engine->counts.refused_timers++;
        return;
    }
    const struct states_timer timer = {time_ns, engine->n_timers++, of->interval, row};
    lull_vec_push(&engine->timers, timer);
    struct states_timer *heap = engine->timers.items;
    size_t at = engine->timers.count - 1;
    while (at > 0 && is_before(&timer, &heap[(at - 1) / 2])) {
        heap[at] = heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    heap[at] = timer;
    engine->quiet_ns = MIN(engine->quiet_ns, time_ns);
}

static struct states_timer take_first(struct lull_states_engine *engine)
{
    struct states_timer *heap = engine->timers.items;
    const struct states_timer first = heap[0];
    const struct states_timer last = lull_vec_pop(&engine->timers);
    const size_t count = engine->timers.count;
    size_t at = 0;
    for (size_t child = 1; child < count; child = 2 * at + 1) {
        if (child + 1 < count && is_before(&heap[child + 1], &heap[child])) {
            child++;
        }
        if (!is_before(&heap[child], &last)) {
            break;
        }
        heap[at] = heap[child];
        at = child;
    }
    if (count) {
        heap[at] = last;
    }
    return first;
}

/* ---- what happens ---- */

/* Without an event there are only the row and what was written. */
static const struct lull_value *value_of(const struct lull_states_engine *engine,
                                         const struct lull_operand *operand)
{
    return operand->kind == LULL_OPERAND_GIVEN ? &engine->given[operand->group][operand->index]
                                               : &operand->value;
}

static void fire(struct lull_states_engine *engine, const struct states_timer *timer)
{
    const struct lull_states_row *row = engine->rows.items[timer->row];
    if (row->interval != timer->interval) {
        return;
    }
    const struct lull_states_after *after = &engine->states->groups[row->group].after[row->state];
    engine->given[LULL_STATES_ROW] = row->values;
    for (uint32_t i = 0; i < after->n_actions; i++) {
        const struct lull_value value = *value_of(engine, &after->actions[i].operand);
        states_row_act(engine, timer->row, &after->actions[i], &value, timer->time_ns);
    }
    states_rows_report(engine, &(struct lull_states_moment){.tid = -1});
}

static void lose(struct lull_states_engine *engine, const struct lull_missing_place *place)
{
    lull_running_forget(&engine->running, place->host, place->cpu);
    for (uint32_t g = 0; g < engine->states->n_groups; g++) {
        const struct lull_states_group *group = &engine->states->groups[g];
        uint32_t number = engine->first_rows[g * engine->n_hosts + place->host];
        for (; !group->keeps_lost && number != LULL_MAP_NONE;
             number = engine->rows.items[number]->next_of_group) {
            const struct lull_states_row *row = engine->rows.items[number];
            if (!group->has_cpu || place->cpu < 0 ||
                row->values[group->cpu_key + 1].bits == (uint64_t)place->cpu) {
                states_row_lose(engine, number, MAX(row->since_ns, place->start_ns));
            }
        }
    }
    states_rows_report(engine, &(struct lull_states_moment){.tid = -1, .is_loss = true});
}

/* Edges come before timers of the same time. */
static bool pass_quietly(struct lull_states_engine *engine, int64_t time_ns)
{
    const int64_t timer_ns = engine->timers.count ? engine->timers.items[0].time_ns : INT64_MAX;
    const int64_t next_ns = MIN(engine->edge_ns, timer_ns);
    if (next_ns > time_ns || next_ns == INT64_MAX) {
        engine->quiet_ns = next_ns;
        return false;
    }
    if (engine->edge_ns == next_ns) {
        engine->edge_ns = engine->callbacks.edge(engine->user, next_ns);
    } else {
        const struct states_timer timer = take_first(engine);
        fire(engine, &timer);
    }
    return true;
}

/* What is missing before an event at that time comes after what happens at the time of its last event. */
static void advance(struct lull_states_engine *engine, int64_t time_ns, int64_t event_ns)
{
    struct lull_missing_place place;
    while (lull_missing_take(&engine->missing, event_ns, &place)) {
        while (pass_quietly(engine, place.start_ns)) {
        }
        lose(engine, &place);
    }
    while (pass_quietly(engine, time_ns)) {
    }
    if (engine->retired->len) {
        g_ptr_array_set_size(engine->retired, 0);
    }
}

void states_advance(struct lull_states_engine *engine, int64_t time_ns)
{
    advance(engine, time_ns, time_ns);
}

void lull_states_engine_advance(struct lull_states_engine *engine, int64_t time_ns)
{
    states_finish_waiting(engine);
    advance(engine, time_ns, lull_sum(time_ns, 1)); /* after the last event may be missing, too */
}
