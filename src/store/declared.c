/* SPDX-License-Identifier: MIT */
/* Rows of states that users declare. The engine follows them while the model reads; a row is known here
 * from the end of its first interval on. */
#include "states/states.h"
#include "store/build_private.h"

enum lull_store_state lull_store_slot(uint32_t state)
{
    return (enum lull_store_state)(LULL_STORE_USER + MIN(state, LULL_STORE_SLOTS - 1));
}

static uint32_t row_of(struct store_build *build, uint32_t number)
{
    while (build->declared_rows.count <= number) {
        lull_vec_push(&build->declared_rows, LULL_NONE);
    }
    uint32_t *row = &build->declared_rows.items[number];
    if (*row == LULL_NONE) {
        const struct lull_states_row *about = lull_states_row(build->engine, number);
        const struct store_row declared = {.kind = LULL_STORE_DECLARED,
                                           .host = about->host,
                                           .cpu = (int32_t)about->group,
                                           .tid = -1,
                                           .pid = -1,
                                           .ppid = -1};
        *row = store_writer_row(build->writer, &declared, build->start_ns);
    }
    return *row;
}

static uint32_t task_row(struct store_build *build, const struct lull_states_row *about)
{
    const bool is_known = !build->is_part && about->tid >= 0 && about->tid <= INT32_MAX;
    return is_known ? build_task_row(build, lull_model_find_tid(build->model, about->host,
                                                                (int32_t)about->tid))
                    : LULL_NONE;
}

/* What the row has been in since its last change lasted until time_ns. */
static void append(struct store_build *build, uint32_t row, const struct lull_states_row *about,
                   int64_t time_ns)
{
    const struct lull_states_group *group = &build->states->groups[about->group];
    store_writer_append(build->writer, row, about->since_ns, LULL_STORE_NONE, LULL_NONE, LULL_NONE);
    const bool is_declared = about->state < group->n_states;
    const uint32_t label = is_declared
                               ? store_writer_text(build->writer, group->states[about->state].label)
                               : LULL_NONE;
    store_writer_append_apart(build->writer, row, time_ns,
                              is_declared                        ? lull_store_slot(about->state)
                              : about->state == LULL_ROW_UNKNOWN ? LULL_STORE_UNKNOWN
                                                                 : LULL_STORE_NONE,
                              label, is_declared ? task_row(build, about) : LULL_NONE);
}

static void on_change(void *user, uint32_t number, int64_t time_ns)
{
}

static void on_end(void *user, uint32_t number, int64_t time_ns)
{
    struct store_build *build = user;
    append(build, row_of(build, number), lull_states_row(build->engine, number), time_ns);
}

static int64_t on_edge(void *user, int64_t edge_ns)
{
    return INT64_MAX;
}

void declared_start(struct store_build *build)
{
    static const struct lull_states_callbacks callbacks = {
        .changes = on_change, .ends = on_end, .edge = on_edge};
    if (!build->states) {
        return;
    }
    const uint32_t n = lull_session_host_count(build->session);
    build->host_starts_ns = g_new(int64_t, MAX(n, 1));
    build->host_ends_ns = g_new(int64_t, MAX(n, 1));
    for (uint32_t host = 0; host < n; host++) {
        build->host_starts_ns[host] = build->coverage[host].first_ns;
        build->host_ends_ns[host] = build->coverage[host].last_ns;
    }
    build->engine = lull_states_engine_new(build->states, build->session, build->host_starts_ns,
                                           build->host_ends_ns, &callbacks, build, INT64_MAX);
}

void declared_finish(struct store_build *build)
{
    g_autoptr(GString) title = g_string_new(NULL);
    if (build->engine && !build->is_part) {
        lull_states_engine_advance(build->engine, build->end_ns);
    }
    for (uint32_t i = 0; build->engine && i < lull_states_row_count(build->engine); i++) {
        if (build->is_part &&
            (i >= build->declared_rows.count || build->declared_rows.items[i] == LULL_NONE)) {
            continue; /* the rows of a part are those that the whole has already */
        }
        const uint32_t row = row_of(build, i);
        const struct lull_states_row *about = lull_states_row(build->engine, i);
        lull_states_append_title(g_string_truncate(title, 0), &build->states->groups[about->group],
                                 about);
        store_writer_name(build->writer, row, store_writer_text(build->writer, title->str),
                          (int32_t)CLAMP(about->tid, -1, INT32_MAX), -1, -1);
        append(build, row, about, MIN(build->end_ns, build->host_ends_ns[about->host]));
    }
}

void declared_free(struct store_build *build)
{
    lull_states_engine_free(build->engine);
    lull_vec_free(&build->declared_rows);
    g_free(build->host_starts_ns);
    g_free(build->host_ends_ns);
}
