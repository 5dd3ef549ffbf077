/* SPDX-License-Identifier: MIT */
/* The rules of periods: what an event closes, then what it opens.
 *
 * Closing: every open instance whose end condition is true of the event, deepest first; what is
 * still open inside of it ends with it, incomplete. Opening: definitions in their order, a child
 * once for each open instance of its parent for which its begin condition is true, also for one
 * that the same event opened. */
#include "period/tracker.h"

#include <string.h>

#define MOST_OPEN 1000000
#define MOST_KEPT 10000000
#define MOST_VALUES 100000000 /* of captures */

/* ---- values ---- */

/* Borrowed from the event, until it is kept. */
struct lull_value period_keep_value(struct lull_period_tracker *tracker, struct lull_value value)
{
    if (!value.text.data) {
        return value;
    }
    g_string_truncate(tracker->text, 0);
    g_string_append_len(tracker->text, value.text.data, value.text.length);
    value.text.data = g_string_chunk_insert_const(tracker->texts, tracker->text->str);
    value.text.length = (uint32_t)strlen(value.text.data);
    return value;
}

static uint32_t keep_captures(struct lull_period_tracker *tracker, struct lull_run *run,
                              const struct lull_load *loads, uint32_t n)
{
    const size_t first = tracker->values.count;
    for (uint32_t i = 0; i < n; i++) {
        lull_vec_push(&tracker->values, period_keep_value(tracker, lull_run_value(run, &loads[i])));
    }
    return (uint32_t)first;
}

/* Who runs where the event happens; -1 and NULL if it is not known. */
static void find_task(struct lull_period_tracker *tracker, struct lull_run *run,
                      const struct period_class *class, int64_t *tid, const char **comm)
{
    const struct lull_value number = lull_run_value(run, &class->who.tid);
    const struct lull_value name = lull_run_value(run, &class->who.comm);
    *tid = number.kind == LULL_VALUE_INT ? (int64_t)number.bits : -1;
    *comm = name.kind == LULL_VALUE_TEXT ? period_keep_value(tracker, name).text.data : NULL;
}

/* What conditions about an instance of a definition are given: what it keeps (NULL: it is being
 * opened), and what its ancestors keep. */
static void give(struct lull_period_tracker *tracker, const struct period_open *own,
                 const struct period_open *parent)
{
    uint32_t group = LULL_PERIOD_PARENT;
    tracker->given[LULL_PERIOD_OWN] = own ? own->kept : NULL;
    for (const struct period_open *open = parent; open; open = open->parent) {
        tracker->given[group++] = open->kept;
    }
}

/* ---- closing ---- */

void period_end_instance(struct lull_period_tracker *tracker, struct period_open *open,
                         int64_t end_ns, bool is_complete)
{
    struct lull_period_instance *instance = &tracker->instances.items[open->instance];
    const uint32_t number = open->instance;
    instance->end_ns = end_ns;
    instance->is_open = false;
    instance->is_complete = is_complete;
    period_open_leave(tracker, open);
    if (tracker->callbacks.closed) {
        tracker->callbacks.closed(tracker->user, number);
    }
}

/* What is open inside ends, the deepest first, siblings in order of opening. */
static void end_inside(struct lull_period_tracker *tracker, struct period_open *open,
                       int64_t end_ns)
{
    struct period_open *child = open;
    for (;;) {
        while (child->first_child) {
            child = child->first_child;
        }
        if (child == open) {
            return;
        }
        struct period_open *parent = child->parent;
        period_end_instance(tracker, child, end_ns, false);
        child = parent;
    }
}

static void close_instance(struct lull_period_tracker *tracker, const struct period_class *class,
                           const struct period_part *part, struct lull_run *run,
                           struct period_open *open)
{
    const struct lull_period *public = lull_periods_at(tracker->periods, open->period);
    const struct lull_event *event = run->event;
    int64_t tid;
    const char *comm;
    give(tracker, open, open->parent);
    uint32_t values = keep_captures(tracker, run, part->captures[1], public->n_end_captures);
    find_task(tracker, run, class, &tid, &comm);
    end_inside(tracker, open, event->time_ns);
    struct lull_period_instance *instance = &tracker->instances.items[open->instance];
    instance->end_values = values;
    instance->end_host = event->host;
    instance->end_cpu = event->cpu;
    instance->end_tid = tid;
    instance->end_comm = comm;
    period_end_instance(tracker, open, event->time_ns, true);
}

/* Adds those of `found` for which the condition is true to `passed`. */
static void test_found(struct lull_period_tracker *tracker, const struct period_search *search,
                       struct lull_run *run, bool is_end, struct period_list *passed)
{
    struct period_list *found = &tracker->found;
    for (size_t i = 0; i < found->count; i++) {
        struct period_open *open = found->items[i];
        if (!search->is_alike) {
            give(tracker, is_end ? open : NULL, is_end ? open->parent : open);
            if (!lull_run_test(run, search->entry)) {
                continue;
            }
        }
        lull_vec_push(passed, open);
    }
}

/* Instances of `period` for which the condition is true, into `passed`. */
static void search_open(struct lull_period_tracker *tracker, uint32_t period,
                        const struct period_search *search, struct lull_run *run, bool is_end,
                        struct period_list *passed)
{
    tracker->found.count = 0;
    if (search->entry == LULL_REJECT || tracker->states[period].n_open == 0) {
        return;
    }
    if (search->is_alike && !lull_run_test(run, search->entry)) {
        return;
    }
    for (uint32_t i = 0; i < search->n_musts; i++) {
        if (!lull_run_passes(run, search->musts[i])) {
            return;
        }
    }
    period_open_find(tracker, period, search, run, &tracker->found);
    test_found(tracker, search, run, is_end, passed);
}

/* Deepest first; then in order of opening. */
static int by_depth(const void *left, const void *right, void *user)
{
    const struct lull_periods *periods = user;
    const struct period_open *a = *(struct period_open *const *)left;
    const struct period_open *b = *(struct period_open *const *)right;
    uint32_t deep_a = lull_periods_at(periods, a->period)->depth;
    uint32_t deep_b = lull_periods_at(periods, b->period)->depth;
    if (deep_a != deep_b) {
        return deep_a > deep_b ? -1 : 1;
    }
    return a->instance < b->instance ? -1 : a->instance > b->instance;
}

static const struct period_part *part_of(const struct period_class *class, uint32_t period)
{
    const struct period_part *part = class->parts;
    while (part->period != period) {
        part++;
    }
    return part;
}

static void close_periods(struct lull_period_tracker *tracker, const struct period_class *class,
                          struct lull_run *run)
{
    struct period_list *closing = &tracker->closing;
    closing->count = 0;
    for (uint32_t i = 0; i < class->n_parts; i++) {
        search_open(tracker, class->parts[i].period, &class->parts[i].end, run, true, closing);
    }
    if (closing->count > 1) {
        g_qsort_with_data(closing->items, (gint)closing->count, sizeof *closing->items, by_depth,
                          (gpointer)tracker->periods);
    }
    for (size_t i = 0; i < closing->count; i++) {
        struct period_open *open = closing->items[i];
        close_instance(tracker, class, part_of(class, open->period), run, open);
    }
}

/* ---- opening ---- */

bool period_has_room(struct lull_period_tracker *tracker, uint32_t period)
{
    const struct period_state *state = &tracker->states[period];
    if ((!state->is_searched || state->n_open < PERIOD_MOST_SEARCHED) &&
        tracker->n_open < tracker->most_open && tracker->instances.count < tracker->most_kept &&
        tracker->values.count < MOST_VALUES) {
        return true;
    }
    tracker->n_refused++;
    return false;
}

void period_open_instance(struct lull_period_tracker *tracker, struct period_open *open,
                          const struct lull_period_instance *instance)
{
    open->instance = (uint32_t)tracker->instances.count;
    lull_vec_push(&tracker->instances, *instance);
    period_open_enter(tracker, open);
    if (tracker->callbacks.opened) {
        tracker->callbacks.opened(tracker->user, open->instance);
    }
}

static void open_instance(struct lull_period_tracker *tracker, const struct period_class *class,
                          const struct period_part *part, struct lull_run *run,
                          struct period_open *parent)
{
    const struct lull_period_definition *definition =
        lull_period_definition(tracker->periods, part->period);
    const struct lull_event *event = run->event;
    if (!period_has_room(tracker, part->period)) {
        return;
    }
    struct period_open *open = period_open_new(tracker, part->period, parent);
    struct lull_period_instance instance = {
        .period = part->period,
        .parent = parent ? parent->instance : LULL_NO_PERIOD,
        .start_ns = event->time_ns,
        .host = event->host,
        .end_host = event->host,
        .start_cpu = event->cpu,
        .end_cpu = -1,
        .end_tid = -1,
        .is_open = true,
    };
    give(tracker, NULL, parent);
    for (uint32_t i = 0; i < definition->kept->len; i++) {
        open->kept[i] = period_keep_value(tracker, lull_run_value(run, &part->kept[i]));
    }
    instance.start_values =
        keep_captures(tracker, run, part->captures[0], definition->public.n_start_captures);
    find_task(tracker, run, class, &instance.start_tid, &instance.start_comm);
    period_open_instance(tracker, open, &instance);
}

static void open_periods(struct lull_period_tracker *tracker, const struct period_class *class,
                         struct lull_run *run)
{
    struct period_list *parents = &tracker->closing;
    for (uint32_t i = 0; i < class->n_parts; i++) {
        const struct period_part *part = &class->parts[i];
        const uint32_t parent = lull_periods_at(tracker->periods, part->period)->parent;
        if (parent == LULL_NO_PERIOD) {
            if (lull_run_test(run, part->start.entry)) {
                open_instance(tracker, class, part, run, NULL);
            }
            continue;
        }
        parents->count = 0;
        search_open(tracker, parent, &part->start, run, false, parents);
        for (size_t k = 0; k < parents->count; k++) {
            open_instance(tracker, class, part, run, parents->items[k]);
        }
    }
}

/* ---- events ---- */

static void see(struct lull_event_watch *watch, const void *program, const struct lull_event *event,
                const uint8_t *fields)
{
    struct lull_period_tracker *tracker = (struct lull_period_tracker *)watch;
    const struct period_class *class = program;
    struct lull_running *running = lull_running_on(&tracker->running, event);
    struct lull_run run;
    lull_run_start(&run, class->program, event, fields, tracker->given);
    tracker->last_ns = event->time_ns;
    lull_who_leaves(&class->who, &run, running);
    if (class->n_parts > 0 && event->time_ns >= tracker->start_ns &&
        event->time_ns < tracker->end_ns) {
        lull_who_values(running, tracker->now);
        const struct lull_value none = {.kind = LULL_VALUE_NONE};
        if (tracker->places) {
            lull_who_places(tracker->places, event, tracker->now);
        }
        tracker->now[LULL_NOW_CPU] = event->cpu >= 0 ? lull_value_int(event->cpu) : none;
        if (tracker->n_open > 0) {
            close_periods(tracker, class, &run);
        }
        open_periods(tracker, class, &run);
    }
    lull_who_enters(&class->who, &run, running);
}

static void forget(struct lull_event_watch *watch)
{
    struct lull_period_tracker *tracker = (struct lull_period_tracker *)watch;
    lull_arena_free(tracker->programs);
    tracker->programs = lull_arena_new();
}

/* ---- its users ---- */

struct lull_period_tracker *lull_period_tracker_new(const struct lull_periods *periods,
                                                    struct lull_session *session,
                                                    const struct lull_period_callbacks *callbacks,
                                                    void *user)
{
    static const struct lull_event_watch_ops ops = {period_compile, forget, see};
    struct lull_period_tracker *tracker = g_new0(struct lull_period_tracker, 1);
    tracker->base.ops = &ops;
    tracker->periods = periods;
    tracker->session = session;
    if (callbacks) {
        tracker->callbacks = *callbacks;
    }
    tracker->user = user;
    tracker->start_ns = tracker->last_ns = INT64_MIN;
    tracker->end_ns = INT64_MAX;
    tracker->most_open = MOST_OPEN;
    tracker->most_kept = MOST_KEPT;
    tracker->programs = lull_arena_new();
    tracker->records = lull_arena_new();
    tracker->texts = g_string_chunk_new(4096);
    tracker->text = g_string_new(NULL);
    tracker->states = g_new0(struct period_state, MAX(lull_periods_count(periods), 1));
    for (uint32_t i = 0; i < lull_periods_count(periods); i++) {
        tracker->states[i].definition = lull_period_definition(periods, i);
    }
    tracker->given[LULL_PERIOD_NOW] = tracker->now;
    lull_running_table_init(&tracker->running, session);
    if (periods->asks_places) {
        tracker->places = lull_container_history_read(session);
    }
    if (periods->states) {
        period_follow_states(tracker);
    } else {
        lull_session_set_watch(session, &tracker->base);
    }
    return tracker;
}

void lull_period_tracker_free(struct lull_period_tracker *tracker)
{
    if (!tracker) {
        return;
    }
    lull_session_set_watch(tracker->session, NULL);
    lull_states_engine_free(tracker->engine);
    lull_vec_free(&tracker->of_rows);
    g_free(tracker->row_starts_ns);
    g_free(tracker->row_ends_ns);
    for (uint32_t i = 0; i < lull_periods_count(tracker->periods); i++) {
        lull_vec_free(&tracker->states[i].indexes);
    }
    period_indexes_free(tracker);
    lull_running_table_clear(&tracker->running);
    lull_container_history_free(tracker->places);
    lull_vec_free(&tracker->instances);
    lull_vec_free(&tracker->values);
    lull_vec_free(&tracker->found);
    lull_vec_free(&tracker->closing);
    lull_arena_free(tracker->programs);
    lull_arena_free(tracker->records);
    g_string_chunk_free(tracker->texts);
    g_string_free(tracker->text, TRUE);
    g_free(tracker->states);
    g_free(tracker);
}

void lull_period_tracker_limit(struct lull_period_tracker *tracker, int64_t start_ns,
                               int64_t end_ns)
{
    tracker->start_ns = start_ns;
    tracker->end_ns = end_ns;
}

void lull_period_tracker_bound(struct lull_period_tracker *tracker, uint32_t most_open,
                               uint32_t most_kept)
{
    tracker->most_open = most_open;
    tracker->most_kept = most_kept;
}

void lull_period_tracker_finish(struct lull_period_tracker *tracker, int64_t end_ns)
{
    if (tracker->engine) {
        lull_states_engine_advance(tracker->engine, end_ns);
    }
    for (uint32_t i = 0; i < lull_periods_count(tracker->periods); i++) {
        while (tracker->states[i].first) { /* roots come first */
            end_inside(tracker, tracker->states[i].first, end_ns);
            period_end_instance(tracker, tracker->states[i].first, end_ns, false);
        }
    }
}

uint32_t lull_period_instance_count(const struct lull_period_tracker *tracker)
{
    return (uint32_t)tracker->instances.count;
}

const struct lull_period_instance *lull_period_at(const struct lull_period_tracker *tracker,
                                                  uint32_t instance)
{
    g_return_val_if_fail(instance < tracker->instances.count, NULL);
    return &tracker->instances.items[instance];
}

const struct lull_value *lull_period_value(const struct lull_period_tracker *tracker,
                                           uint32_t instance, bool at_end, uint32_t capture)
{
    static const struct lull_value none = {.kind = LULL_VALUE_NONE};
    const struct lull_period_instance *of = lull_period_at(tracker, instance);
    if (at_end && !of->is_complete) {
        return &none;
    }
    return &tracker->values.items[(at_end ? of->end_values : of->start_values) + capture];
}

uint64_t lull_period_refused(const struct lull_period_tracker *tracker)
{
    return tracker->n_refused;
}
