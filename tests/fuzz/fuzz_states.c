/* SPDX-License-Identifier: MIT */
/* Fuzz target: files of states, followed through valid traces. A file that is refused is refused with a
 * place; of a row that lives, the intervals follow each other without a gap. */
#include <string.h>

#include "states/states.h"

/* Enough to be interesting, few enough to be fast. */
#define MOST_ROWS 50
#define MOST_TIMERS 500

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct lull_session *session;

struct following {
    struct lull_states_engine *engine;
    const struct lull_states_group *states_groups;
    int64_t until_ns[MOST_ROWS]; /* of the last interval */
};

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    static const char *const traces[] = {
        FUZZ_DIRECTORY "/traces/a-events-compact", FUZZ_DIRECTORY "/traces/e-kernel",
        FUZZ_DIRECTORY "/traces/i-numbers", FUZZ_DIRECTORY "/traces/n-variants"};
    g_autoptr(GError) error = NULL;
    session = lull_session_new();
    if (!lull_session_add_all(session, traces, G_N_ELEMENTS(traces), &error)) {
        g_error("%s", error->message);
    }
    return 0;
}

static void on_change(void *user, uint32_t row, int64_t time_ns)
{
    const struct following *following = user;
    g_assert_cmpuint(row, <, lull_states_row_count(following->engine));
    g_assert_cmpint(lull_states_row(following->engine, row)->since_ns, <=, time_ns);
}

static void on_end(void *user, uint32_t row, int64_t time_ns)
{
    struct following *following = user;
    const struct lull_states_row *of = lull_states_row(following->engine, row);
    g_autoptr(GString) title = g_string_new(NULL);
    g_assert_cmpint(of->since_ns, >=, following->until_ns[row]);
    g_assert_cmpint(of->since_ns, <, time_ns);
    following->until_ns[row] = time_ns;
    lull_states_append_title(title, &following->states_groups[of->group], of);
}

static int64_t on_edge(void *user, int64_t edge_ns)
{
    return INT64_MAX;
}

static void follow(const struct lull_states *states)
{
    static const struct lull_states_callbacks callbacks = {
        .changes = on_change, .ends = on_end, .edge = on_edge};
    struct following following = {.states_groups = states->groups};
    const uint32_t n = lull_session_host_count(session);
    g_autofree int64_t *starts_ns = g_new(int64_t, n), *ends_ns = g_new(int64_t, n);
    int64_t first_ns, last_ns;
    lull_session_range(session, &first_ns, &last_ns);
    for (uint32_t host = 0; host < n; host++) {
        starts_ns[host] = first_ns;
        ends_ns[host] = last_ns;
    }
    for (uint32_t row = 0; row < MOST_ROWS; row++) {
        following.until_ns[row] = INT64_MIN;
    }
    following.engine = lull_states_engine_new(states, session, starts_ns, ends_ns, &callbacks,
                                              &following, first_ns);
    lull_states_engine_bound(following.engine, MOST_ROWS, MOST_TIMERS);
    while (lull_session_read(session)) {
    }
    lull_states_engine_advance(following.engine, last_ns);
    lull_states_engine_free(following.engine);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autoptr(GString) warnings = g_string_new(NULL);
    g_autoptr(GError) error = NULL;
    struct lull_states *states =
        lull_states_parse((const char *)data, size, "fuzz", warnings, &error);
    if (!states) {
        g_assert_nonnull(error);
        g_assert_nonnull(strchr(error->message, '^')); /* it says where */
        return 0;
    }
    follow(states);
    lull_states_free(states);
    return 0;
}
