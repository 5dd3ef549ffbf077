/* SPDX-License-Identifier: MIT */
/* States of a file as periods, as in mpi.states:mpi.wait: an instance for each time that a row is in
 * the state. Its captures are what the row has: the parts of its key, variables, numbers. */
#include <string.h>

#include <lull/error.h>

#include "period/tracker.h"
#include "source/session/streams.h"

static const char ending[] = ".states:";

/* ---- definitions ---- */

static bool is_word(const char *text, size_t length)
{
    size_t at = 0;
    while (at < length && (g_ascii_isalpha(text[at]) || text[at] == '_' ||
                           (at > 0 && g_ascii_isdigit(text[at])))) {
        at++;
    }
    return length > 0 && at == length;
}

size_t lull_period_is_state(const char *text)
{
    const char *found = g_strrstr(text, ending);
    const char *name = found ? found + strlen(ending) : NULL;
    const char *dot = name ? strchr(name, '.') : NULL;
    return dot && found > text && is_word(name, (size_t)(dot - name)) &&
                   is_word(dot + 1, strlen(dot + 1))
               ? (size_t)(name - 1 - text)
               : 0;
}

static bool read_file(struct lull_periods *periods, const char *path, GError **error)
{
    if (periods->states) {
        if (strcmp(periods->states_path, path) == 0) {
            return true;
        }
        g_set_error(error, LULL_ERROR, LULL_ERROR_USAGE,
                    "period: states of one file can be followed at a time, and these are of “%s” "
                    "and “%s”; put the groups into one file",
                    periods->states_path, path);
        return false;
    }
    periods->states_path = lull_arena_strndup(periods->terms.arena, path, strlen(path));
    periods->states_warnings = g_string_new(NULL);
    periods->states = lull_states_read(path, false, periods->states_warnings, error);
    return periods->states;
}

static bool find_state(const struct lull_states *states, const char *path, const char *name,
                       struct lull_period_definition *self, GError **error)
{
    const char *dot = strchr(name, '.');
    for (uint32_t g = 0; g < states->n_groups; g++) {
        const struct lull_states_group *group = &states->groups[g];
        if (strncmp(group->name, name, (size_t)(dot - name)) != 0 ||
            group->name[dot - name] != '\0') {
            continue;
        }
        for (uint32_t s = 0; s < group->n_states; s++) {
            if (strcmp(group->states[s].name, dot + 1) == 0) {
                self->group = g;
                self->state = s;
                return true;
            }
        }
    }
    g_set_error(error, LULL_ERROR, LULL_ERROR_USAGE,
                "period: “%s” declares no “%s”; GROUP.STATE is one of its groups and a state of "
                "that group",
                path, name);
    return false;
}

bool lull_period_parse_state(struct lull_periods *periods, const char *text, GError **error)
{
    struct lull_arena *arena = periods->terms.arena;
    const size_t length = lull_period_is_state(text);
    const char *name = lull_arena_strndup(arena, text + length + 1, strlen(text + length + 1));
    const char *path = lull_arena_strndup(arena, text, length);
    struct lull_period_definition *self = lull_arena_alloc(arena, sizeof *self);
    if (lull_periods_find(periods, name, strlen(name)) != LULL_NO_PERIOD) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_USAGE, "period: “%s” is given twice", text);
        return false;
    }
    if (!read_file(periods, path, error) || !find_state(periods->states, path, name, self, error)) {
        return false;
    }
    const struct lull_states_group *group = &periods->states->groups[self->group];
    const char **captures = lull_arena_alloc_n(arena, group->n_names + 1, sizeof *captures);
    for (uint32_t i = 0; i < group->n_names; i++) {
        captures[i] = group->names[i].name;
    }
    self->kept = g_array_new(FALSE, FALSE, sizeof(struct lull_operand));
    self->public = (struct lull_period){.name = name,
                                        .path = name,
                                        .text = lull_arena_strndup(arena, text, strlen(text)),
                                        .parent = LULL_NO_PERIOD,
                                        .start_captures = captures,
                                        .n_start_captures = group->n_names};
    g_ptr_array_add(periods->definitions, self);
    return true;
}

/* ---- instances ---- */

static bool is_within(const struct lull_period_tracker *tracker, int64_t time_ns)
{
    return time_ns >= tracker->start_ns && time_ns < tracker->end_ns;
}

/* What the row was in before, if it is in another interval now. */
static void close_row(struct lull_period_tracker *tracker, uint32_t number,
                      const struct lull_states_moment *moment)
{
    const struct lull_states_row *row = lull_states_row(tracker->engine, number);
    while (tracker->of_rows.count <= number) {
        lull_vec_push(&tracker->of_rows, NULL);
    }
    struct period_open *open = tracker->of_rows.items[number];
    if (!open || open->interval == row->interval || row->since_ns >= tracker->end_ns) {
        return;
    }
    struct lull_period_instance *instance = &tracker->instances.items[open->instance];
    instance->end_cpu = moment->event ? moment->event->cpu : -1;
    instance->end_tid = moment->event ? moment->tid : row->tid;
    instance->end_comm =
        moment->comm
            ? period_keep_value(tracker, lull_value_text(moment->comm, strlen(moment->comm)))
                  .text.data
            : NULL;
    tracker->of_rows.items[number] = NULL;
    period_end_instance(tracker, open, row->since_ns, !moment->is_loss);
}

/* The number of the period that is this state; LULL_NO_PERIOD: none is. */
static uint32_t period_of(const struct lull_period_tracker *tracker,
                          const struct lull_states_row *row)
{
    for (uint32_t i = 0; i < lull_periods_count(tracker->periods); i++) {
        const struct lull_period_definition *definition =
            lull_period_definition(tracker->periods, i);
        if (definition->group == row->group && definition->state == row->state) {
            return i;
        }
    }
    return LULL_NO_PERIOD;
}

static void open_row(struct lull_period_tracker *tracker, uint32_t number,
                     const struct lull_states_moment *moment)
{
    const struct lull_states_row *row = lull_states_row(tracker->engine, number);
    const uint32_t period = period_of(tracker, row);
    if (tracker->of_rows.items[number] || period == LULL_NO_PERIOD ||
        !is_within(tracker, row->since_ns) || !period_has_room(tracker, period)) {
        return;
    }
    struct lull_period_instance instance = {
        .period = period,
        .parent = LULL_NO_PERIOD,
        .start_ns = row->since_ns,
        .host = row->host,
        .end_host = row->host,
        .start_cpu = moment->event ? moment->event->cpu : -1,
        .end_cpu = -1,
        .start_tid = row->tid >= 0 ? row->tid : moment->tid,
        .end_tid = -1,
        .start_values = (uint32_t)tracker->values.count,
        .is_open = true,
    };
    const struct lull_period *public = lull_periods_at(tracker->periods, period);
    for (uint32_t i = 0; i < public->n_start_captures; i++) {
        lull_vec_push(&tracker->values, period_keep_value(tracker, row->values[i + 1]));
    }
    if (moment->comm && instance.start_tid == moment->tid) {
        const struct lull_value comm = lull_value_text(moment->comm, strlen(moment->comm));
        instance.start_comm = period_keep_value(tracker, comm).text.data;
    }
    struct period_open *open = period_open_new(tracker, period, NULL);
    open->interval = row->interval;
    tracker->of_rows.items[number] = open;
    period_open_instance(tracker, open, &instance);
}

/* What ends comes first. */
static void on_entered(void *user, const uint32_t *rows, size_t n,
                       const struct lull_states_moment *moment)
{
    struct lull_period_tracker *tracker = user;
    for (size_t i = 0; i < n; i++) {
        close_row(tracker, rows[i], moment);
    }
    for (size_t i = 0; i < n; i++) {
        open_row(tracker, rows[i], moment);
    }
}

static void ignore(void *user, uint32_t row, int64_t time_ns)
{
}

/* A state that a row is assumed to have been in from the start has no start that was seen. */
void period_follow_states(struct lull_period_tracker *tracker)
{
    const struct lull_states_callbacks callbacks = {
        .changes = ignore, .ends = ignore, .entered = on_entered};
    const uint32_t n = lull_session_host_count(tracker->session);
    tracker->row_starts_ns = g_new(int64_t, n + 1);
    tracker->row_ends_ns = g_new(int64_t, n + 1);
    for (uint32_t host = 0; host < n; host++) {
        int64_t *end_ns = &tracker->row_ends_ns[host];
        tracker->row_starts_ns[host] = INT64_MIN;
        if (!lull_session_last_event(tracker->session, host, end_ns) || *end_ns == INT64_MIN) {
            *end_ns = INT64_MAX;
        }
    }
    tracker->engine =
        lull_states_engine_new(tracker->periods->states, tracker->session, tracker->row_starts_ns,
                               tracker->row_ends_ns, &callbacks, tracker, INT64_MAX);
}
