/* SPDX-License-Identifier: MIT */
/* --events (the names, and that some trace declares each of them), --tid, --comm and the time. */
#include "cmd/event_args.h"

#include <string.h>

#include <lull/error.h>

char **lull_args_event_names(const struct lull_args *args, GError **error)
{
    const char *list = lull_args_text(args, "events");
    char **names = g_strsplit(list ? list : "*", ",", -1);
    for (uint32_t i = 0; names[i]; i++) {
        const char *star = strchr(g_strstrip(names[i]), '*');
        if (!names[i][0] || (star && star[1])) {
            g_set_error(error, LULL_ERROR, LULL_ERROR_USAGE,
                        "--events takes names with commas between, each may end with '*', not "
                        "“%s”",
                        list);
            g_strfreev(names);
            return NULL;
        }
    }
    return names;
}

struct search {
    char *const *names;
    bool *is_found;
};

static void search_class(void *user, uint32_t trace, const struct lull_event_class *event_class)
{
    struct search *search = user;
    for (uint32_t i = 0; search->names[i]; i++) {
        search->is_found[i] |=
            lull_running_filter_name_matches(search->names[i], lull_event_class_name(event_class));
    }
}

bool lull_args_check_event_names(const struct lull_session *session, char *const *names,
                                 GError **error)
{
    g_autofree bool *is_found = g_new0(bool, g_strv_length((char **)names));
    struct search search = {.names = names, .is_found = is_found};
    lull_session_each_class(session, search_class, &search);
    for (uint32_t i = 0; names[i]; i++) {
        if (!is_found[i] && strcmp(names[i], "*") != 0) {
            g_set_error(
                error, LULL_ERROR, LULL_ERROR_QUESTION,
                "no trace declares an event “%s”; 'lull info --events' lists those there are",
                names[i]);
            return false;
        }
    }
    return true;
}

struct lull_running_filter *lull_args_select_events(const struct lull_args *args,
                                                    struct lull_session *session,
                                                    char *const *names, GError **error)
{
    int64_t start_ns, end_ns;
    if (!lull_args_range(args, session, &start_ns, &end_ns, error) ||
        !lull_args_apply(args, session, error)) {
        return NULL;
    }
    const struct lull_running_query query = {
        .names = (const char *const *)names,
        .tid = lull_args_number(args, "tid"),
        .comm = lull_args_text(args, "comm"),
        .start_ns = start_ns,
        .end_ns = end_ns,
        .is_live = lull_args_live(args) != NULL,
    };
    return lull_running_filter_new(session, &query);
}
