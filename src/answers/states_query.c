/* SPDX-License-Identifier: MIT */
/* Declared states as the public API asks for them: the settings of "states" are the options of the verb. */
#include "answers/states_query.h"

#include <string.h>

enum { MOST_SLICES = 100000, DEFAULT_LIMIT = 10 };

bool lull_states_check_group(const struct lull_states *states, const char *name, GError **error)
{
    for (uint32_t i = 0; name && i < states->n_groups; i++) {
        if (strcmp(states->groups[i].name, name) == 0) {
            return true;
        }
    }
    if (name) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_QUESTION, "the file has no group “%s”", name);
    }
    return !name;
}

bool lull_states_set_slices(const struct lull_session *session, const char *given,
                            struct lull_states_question *question, GError **error)
{
    int64_t first_ns, last_ns;
    if (!given) {
        return true;
    }
    if (!lull_duration_setting("refresh", given, 1e9, &question->slice_ns, error)) {
        return false;
    }
    if (question->slice_ns > 0 &&
        (!lull_session_range(session, &first_ns, &last_ns) ||
         (MIN(last_ns, question->end_ns) - MAX(first_ns, question->start_ns)) / question->slice_ns <
             MOST_SLICES)) {
        return true;
    }
    g_set_error(error, LULL_ERROR, LULL_ERROR_QUESTION,
                "refresh: expected a duration of which the time range has at most %d", MOST_SLICES);
    return false;
}

/* What was set, but for the file. */
static bool fill(const struct lull_query *query, const struct lull_session *session,
                 struct lull_states_question *question, GError **error)
{
    const char *given = g_hash_table_lookup(query->texts, "limit");
    const char *refresh = g_hash_table_lookup(query->texts, "refresh");
    guint64 limit = DEFAULT_LIMIT;
    if (given && strcmp(given, "unlimited") == 0) {
        limit = 0;
    } else if (given && !g_ascii_string_to_unsigned(given, 10, 0, UINT32_MAX, &limit, NULL)) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_USAGE,
                    "limit: expected a whole number from 0, or unlimited, not “%s”", given);
        return false;
    }
    question->host = query->host;
    question->start_ns = query->start_ns;
    question->end_ns = query->end_ns;
    question->has_log = g_hash_table_contains(query->texts, "log");
    question->has_kernel = g_hash_table_contains(query->texts, "kernel");
    question->group = g_hash_table_lookup(query->texts, "group");
    question->row = g_hash_table_lookup(query->texts, "row");
    question->limit = (uint32_t)limit;
    if (question->has_kernel && refresh) {
        g_set_error_literal(error, LULL_ERROR, LULL_ERROR_USAGE,
                            "kernel and refresh do not go together");
        return false;
    }
    return lull_states_check_group(question->states, question->group, error) &&
           lull_states_set_slices(session, refresh, question, error);
}

bool lull_states_query_run(const struct lull_query *query, struct lull_session *session,
                           struct lull_sink *sink, GString *warnings, void (*progress)(void *user),
                           void *user, GError **error)
{
    const char *path = g_hash_table_lookup(query->texts, "states");
    const bool is_partial = g_hash_table_contains(query->texts, "partial");
    if (!path) {
        g_set_error_literal(error, LULL_ERROR, LULL_ERROR_USAGE,
                            "states: set the file that declares them (“states”)");
        return false;
    }
    if (query->definitions->len > 1) {
        g_set_error_literal(error, LULL_ERROR, LULL_ERROR_USAGE,
                            "period: states are not shown by period; a state can be a period of "
                            "other analyses");
        return false;
    }
    struct lull_states *states = lull_states_read(path, is_partial, warnings, error);
    struct lull_states_question question = {.states = states};
    const bool is_done = states && fill(query, session, &question, error);
    if (is_done) {
        lull_states_check(states, session, warnings);
        lull_states_report(&question, session, sink, progress, user);
    }
    lull_states_free(states);
    return is_done;
}
