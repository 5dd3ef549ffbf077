/* SPDX-License-Identifier: MIT */
/* Follows the rows of a session: for each event and block the first rule that holds is applied, and the
 * `also` rules before it. Conditions see the rows as they were before the event, so first all rules that
 * apply are found. */
#include "states/engine.h"

#include <string.h>

#include "source/session/streams.h"

enum { MOST_ROWS = 1000000, MOST_TIMERS = 100000000, EVENTS_OF_PROGRESS = 4096 };

/* Longer texts are no keys. */
enum { MOST_KEY_BYTES = 4096 };

/* ---- which rules apply ---- */

bool states_read_key(struct lull_run *run, const struct lull_load *loads, uint32_t n,
                     struct lull_value *key)
{
    for (uint32_t i = 0; i < n; i++) {
        key[i] = states_value(run, &loads[i]);
        if (key[i].kind == LULL_VALUE_NONE ||
            (key[i].kind == LULL_VALUE_REAL && key[i].real != key[i].real) ||
            (key[i].kind == LULL_VALUE_TEXT && key[i].text.length > MOST_KEY_BYTES)) {
            return false;
        }
    }
    return true;
}

/* The row of another group that the rule asks for; LULL_MAP_NONE if it is not there. */
static uint32_t find_other(const struct lull_states_engine *engine, struct lull_run *run,
                           const struct lull_states_other *other, const struct lull_load *loads)
{
    struct lull_value key[LULL_STATES_MOST_NAMES];
    if (!states_read_key(run, loads, other->n_keys, key)) {
        return LULL_MAP_NONE;
    }
    const uint32_t host = run->event->host;
    const uint64_t hash = states_key_hash(other->group, host, key, other->n_keys);
    const uint32_t row =
        states_row_find(engine, other->group, host, key, lull_map_find(&engine->by_hash, hash));
    return row != LULL_MAP_NONE && engine->rows.items[row]->state != LULL_ROW_ENDED ? row
                                                                                    : LULL_MAP_NONE;
}

/* What the rule asks other rows for, from `i` to `end` – one may be found by what an earlier one has; false if a row
 * is not there that has to be. */
static bool find_others(struct lull_states_engine *engine, struct lull_run *run,
                        const struct states_part *part, uint32_t i, uint32_t end)
{
    for (; i < end; i++) {
        const uint32_t at = part->rule->first_other + i;
        const struct lull_states_other *other = &part->group->others[at];
        const uint32_t row = find_other(engine, run, other, part->others[i]);
        if (row == LULL_MAP_NONE && !other->is_optional) {
            return false;
        }
        engine->others[at] = row != LULL_MAP_NONE ? engine->rows.items[row]->values[other->value]
                                                  : (struct lull_value){0};
    }
    return true;
}

static void add_hit(struct lull_states_engine *engine, const struct states_part *part, uint32_t row)
{
    lull_vec_push(&engine->hits, (struct states_hit){part, row});
}

static bool hit_each(struct lull_states_engine *engine, struct lull_run *run,
                     const struct states_part *part)
{
    const uint32_t group = (uint32_t)(part->group - engine->states->groups);
    const size_t before = engine->hits.count;
    uint32_t row = engine->first_rows[group * engine->n_hosts + run->event->host];
    for (; row != LULL_MAP_NONE; row = engine->rows.items[row]->next_of_group) {
        engine->given[LULL_STATES_ROW] = engine->rows.items[row]->values;
        if (engine->rows.items[row]->state != LULL_ROW_ENDED &&
            lull_run_test(run, part->condition)) {
            add_hit(engine, part, row);
        }
    }
    return engine->hits.count > before;
}

/* The row of the part's key and the hash of that; false if the event lacks part of it. What was found while
 * the event waited is not looked for again. */
static bool find_row(const struct lull_states_engine *engine, struct lull_run *run,
                     const struct states_part *part, uint32_t group, struct lull_value *key,
                     uint64_t *hash, uint32_t *row)
{
    const struct states_class *class = engine->at ? engine->at->class : NULL;
    for (uint32_t i = 0; class && i < class->n_hints; i++) {
        if (class->hints[i] == part && engine->at->found[i].is_there) {
            *row = engine->at->found[i].row;
            return true;
        }
    }
    if (!states_read_key(run, part->key, part->group->n_keys, key)) {
        return false;
    }
    *hash = states_key_hash(group, run->event->host, key, part->group->n_keys);
    *row = states_row_find(engine, group, run->event->host, key,
                           lull_map_find(&engine->by_hash, *hash));
    return true;
}

/* What rules may ask of a row that is not there: nothing but its key, and the state that `start` names. */
static const struct lull_value *blank_row(const struct lull_states_engine *engine,
                                          const struct lull_states_group *group, uint32_t number,
                                          const struct lull_value *key)
{
    memset(engine->blank, 0, (group->n_names + 1) * sizeof *engine->blank);
    memcpy(engine->blank + 1, key, group->n_keys * sizeof *key);
    engine->blank[0] = engine->layouts[number].shown[MIN(group->start, group->n_states)];
    return engine->blank;
}

/* A row that is not there is made only if the rule applies. */
static bool hit_one(struct lull_states_engine *engine, struct lull_run *run,
                    const struct states_part *part)
{
    const uint32_t group = (uint32_t)(part->group - engine->states->groups);
    struct lull_value key[LULL_STATES_MOST_NAMES];
    uint64_t hash = 0;
    uint32_t row;
    if (!find_others(engine, run, part, 0, part->rule->n_at_others) ||
        !find_row(engine, run, part, group, key, &hash, &row)) {
        engine->unmet[part->number]++;
        return false;
    }
    engine->given[LULL_STATES_ROW] = row != LULL_MAP_NONE
                                         ? engine->rows.items[row]->values
                                         : blank_row(engine, part->group, group, key);
    /* Keys of other rows may be of this one. */
    if (!find_others(engine, run, part, part->rule->n_at_others, part->rule->n_others)) {
        engine->unmet[part->number]++;
        return false;
    }
    if (part->condition != LULL_ACCEPT && !lull_run_test(run, part->condition)) {
        return false;
    }
    if (row == LULL_MAP_NONE) {
        row = states_row_add(engine, group, run->event->host, key, hash);
    }
    if (row != LULL_MAP_NONE) {
        add_hit(engine, part, row);
    }
    return true;
}

static bool hit(struct lull_states_engine *engine, struct lull_run *run,
                const struct states_part *part)
{
    if (part->on != LULL_ACCEPT && !lull_run_test(run, part->on)) {
        return false;
    }
    if (!part->key) {
        if (find_others(engine, run, part, 0, part->rule->n_others)) {
            return hit_each(engine, run, part);
        }
        engine->unmet[part->number]++;
        return false;
    }
    return hit_one(engine, run, part);
}

/* ---- applying ---- */

static void find_task(struct lull_states_engine *engine, struct lull_run *run,
                      const struct states_part *part, uint32_t number)
{
    struct lull_states_row *row = engine->rows.items[number];
    const struct lull_states_group *group = part->group;
    if (!group->has_task && group->task_key < 0) {
        return;
    }
    const struct lull_value value = group->has_task        ? lull_run_value(run, &part->task)
                                    : group->task_key >= 0 ? row->values[group->task_key + 1]
                                                           : (struct lull_value){0};
    if (value.kind == LULL_VALUE_INT) {
        row->tid = (int64_t)value.bits;
    }
}

static void apply(struct lull_states_engine *engine, struct lull_run *run,
                  const struct states_hit *hit)
{
    const struct states_part *part = hit->part;
    engine->given[LULL_STATES_ROW] = engine->rows.items[hit->row]->values;
    for (uint32_t i = 0; i < part->rule->n_actions; i++) {
        const struct lull_value value =
            part->has_operands ? states_value(run, &part->operands[i]) : (struct lull_value){0};
        states_row_act(engine, hit->row, &part->rule->actions[i], &value, run->event->time_ns);
    }
    find_task(engine, run, part, hit->row);
}

static void report(struct lull_states_engine *engine, const struct states_class *class,
                   struct lull_run *run)
{
    const struct lull_value tid = lull_run_value(run, &class->who.tid);
    const struct lull_value comm = lull_run_value(run, &class->who.comm);
    struct lull_states_moment moment = {.event = run->event, .tid = -1};
    if (tid.kind == LULL_VALUE_INT) {
        moment.tid = (int64_t)tid.bits;
    }
    if (comm.kind == LULL_VALUE_TEXT) {
        g_string_truncate(engine->comm, 0);
        g_string_append_len(engine->comm, comm.text.data, comm.text.length);
        moment.comm = engine->comm->str;
    }
    states_rows_report(engine, &moment);
}

static void apply_rules(struct lull_states_engine *engine, const struct states_class *class,
                        struct lull_run *run)
{
    uint32_t i = 0;
    while (i < class->n_parts) {
        const struct lull_states_rules *block = class->parts[i].block;
        bool is_done = false;
        engine->hits.count = 0;
        for (; i < class->n_parts && class->parts[i].block == block; i++) {
            if (!is_done && hit(engine, run, &class->parts[i])) {
                is_done = !class->parts[i].rule->is_also;
            }
        }
        for (size_t k = 0; k < engine->hits.count; k++) {
            apply(engine, run, &engine->hits.items[k]);
        }
    }
}

/* ---- events ---- */

static void advance_to(struct lull_states_engine *engine, int64_t time_ns)
{
    if (time_ns >= engine->quiet_ns || lull_missing_is_due(&engine->missing, time_ns)) {
        states_advance(engine, time_ns);
    }
}

void states_follow(struct lull_states_engine *engine, const struct states_class *class,
                   const struct lull_event *event, const uint8_t *fields)
{
    struct lull_run run;
    if (class->n_parts || engine->has_after || engine->follows_running) {
        advance_to(engine, event->time_ns);
    }
    struct lull_running *running =
        engine->follows_running ? lull_running_on(&engine->running, event) : NULL;
    lull_run_start(&run, class->program, event, fields, engine->given);
    if (running) {
        lull_who_leaves(&class->who, &run, running);
    }
    if (class->n_parts) {
        if (engine->follows_running) {
            lull_who_values(running, engine->now);
            if (engine->places) {
                lull_who_places(engine->places, event, engine->now);
            }
        }
        apply_rules(engine, class, &run);
        if (engine->entered.count) {
            report(engine, class, &run);
        }
        if (engine->retired->len) {
            g_ptr_array_set_size(engine->retired, 0);
        }
    }
    if (running) {
        lull_who_enters(&class->who, &run, running);
    }
    lull_missing_note(&engine->missing, event);
}

static void see(struct lull_event_watch *watch, const void *program, const struct lull_event *event,
                const uint8_t *fields)
{
    struct lull_states_engine *engine = (struct lull_states_engine *)watch;
    const struct states_class *class = program;
    const bool waits = engine->waiting && class->can_wait;
    if (waits) {
        states_wait(engine, class, event, fields);
    } else {
        states_finish_waiting(engine);
        states_follow(engine, class, event, fields);
    }
    if (--engine->countdown == 0) {
        engine->countdown = EVENTS_OF_PROGRESS;
        if (engine->callbacks.progress) {
            engine->callbacks.progress(engine->callbacks.progress_user);
        }
    }
}

static void forget(struct lull_event_watch *watch)
{
    struct lull_states_engine *engine = (struct lull_states_engine *)watch;
    states_finish_waiting(engine);
    lull_arena_free(engine->programs);
    engine->programs = lull_arena_new();
}

/* ---- its users ---- */

static struct states_layout layout_of(const struct lull_states_engine *engine,
                                      const struct lull_states_group *group)
{
    const struct lull_states_callbacks *callbacks = &engine->callbacks;
    const struct lull_states_room room =
        callbacks->room ? callbacks->room(engine->user, group) : (struct lull_states_room){0};
    struct states_layout layout = {.cell = (uint32_t)room.of_state};
    layout.texts = (group->n_names + 1) * (uint32_t)sizeof(struct lull_value);
    layout.room = layout.texts + (group->n_names + 1) * (uint32_t)sizeof(struct lull_states_text);
    layout.cells = layout.room + (uint32_t)room.of_row;
    layout.shown = lull_arena_alloc_n(engine->records, group->n_states + 1, sizeof *layout.shown);
    for (uint32_t s = 0; s < group->n_states; s++) {
        const char *name = group->states[s].name;
        layout.shown[s] = lull_value_text(name, strlen(name));
    }
    layout.size =
        sizeof(struct lull_states_row) + layout.cells + (group->n_states + 2) * room.of_state;
    return layout;
}

struct lull_states_engine *lull_states_engine_new(const struct lull_states *states,
                                                  struct lull_session *session,
                                                  const int64_t *starts_ns, const int64_t *ends_ns,
                                                  const struct lull_states_callbacks *callbacks,
                                                  void *user, int64_t edge_ns)
{
    static const struct lull_event_watch_ops ops = {states_compile, forget, see};
    struct lull_states_engine *engine = g_new0(struct lull_states_engine, 1);
    engine->base.ops = &ops;
    engine->states = states;
    engine->session = session;
    engine->starts_ns = starts_ns;
    engine->ends_ns = ends_ns;
    engine->callbacks = *callbacks;
    engine->user = user;
    engine->edge_ns = edge_ns;
    engine->n_hosts = lull_session_host_count(session);
    lull_missing_init(&engine->missing, session);
    engine->quiet_ns = INT64_MIN;
    engine->follows_running = states->asks_running || callbacks->entered;
    if (callbacks->may_wait && !callbacks->entered) {
        engine->waiting = g_new(struct states_waiting, STATES_WAITING);
    }
    engine->countdown = EVENTS_OF_PROGRESS;
    for (uint32_t g = 0; callbacks->entered && g < states->n_groups; g++) {
        for (uint32_t s = 0; s < states->groups[g].n_states; s++) {
            engine->has_after |= states->groups[g].after[s].after_ns > 0;
        }
    }
    engine->comm = g_string_new(NULL);
    engine->programs = lull_arena_new();
    engine->records = lull_arena_new_large();
    engine->retired = g_ptr_array_new_with_free_func(g_free);
    engine->most_rows = MOST_ROWS;
    engine->most_timers = MOST_TIMERS;
    engine->unmet = g_new0(uint64_t, states->n_rules + 1);
    engine->blank = g_new0(struct lull_value, LULL_STATES_MOST_NAMES + 1);
    engine->first_rows = g_new(uint32_t, MAX((size_t)states->n_groups * engine->n_hosts, 1));
    memset(engine->first_rows, 0xff,
           (size_t)states->n_groups * engine->n_hosts * sizeof *engine->first_rows);
    engine->layouts = g_new(struct states_layout, states->n_groups + 1);
    for (uint32_t g = 0; g < states->n_groups; g++) {
        engine->layouts[g] = layout_of(engine, &states->groups[g]);
    }
    engine->given[LULL_STATES_NOW] = engine->now;
    engine->given[LULL_STATES_OTHERS] = engine->others;
    lull_running_table_init(&engine->running, NULL); /* timers.c knows of losses */
    if (states->asks_places) {
        engine->places = lull_container_history_read(session);
    }
    lull_session_set_watch(session, &engine->base);
    return engine;
}

void lull_states_engine_free(struct lull_states_engine *engine)
{
    if (!engine) {
        return;
    }
    lull_session_set_watch(engine->session, NULL);
    states_rows_free(engine);
    lull_running_table_clear(&engine->running);
    lull_container_history_free(engine->places);
    lull_vec_free(&engine->timers);
    lull_missing_clear(&engine->missing);
    lull_vec_free(&engine->hits);
    lull_vec_free(&engine->entered);
    g_string_free(engine->comm, TRUE);
    g_ptr_array_unref(engine->retired);
    lull_arena_free(engine->programs);
    lull_arena_free(engine->records);
    g_free(engine->first_rows);
    g_free(engine->layouts);
    g_free(engine->waiting);
    g_free(engine->unmet);
    g_free(engine->blank);
    g_free(engine);
}

void lull_states_engine_bound(struct lull_states_engine *engine, uint32_t rows, uint64_t timers)
{
    engine->most_rows = rows;
    engine->most_timers = timers;
}

uint32_t lull_states_row_count(const struct lull_states_engine *engine)
{
    return (uint32_t)engine->rows.count;
}

const struct lull_states_row *lull_states_row(const struct lull_states_engine *engine, uint32_t row)
{
    return engine->rows.items[row];
}

void lull_states_engine_counts(const struct lull_states_engine *engine,
                               struct lull_states_counts *counts)
{
    *counts = engine->counts;
    counts->unmet = engine->unmet;
}
