/* SPDX-License-Identifier: MIT */
/* --events (the names, and that some trace declares each of them), --tid, --comm and the time. */
#include "cmd/event_args.h"

#include <string.h>

#include <lull/error.h>

#include "filter/filter.h"

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

bool lull_args_check_event_names(const struct lull_session *session, char *const *names,
                                 GError **error)
{
    return lull_filter_check_names((const char *const *)names, session, error);
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
    if (lull_args_text(args, "events")) {
        struct lull_filter *filter =
            lull_filter_parse_named(lull_args_text(args, "filter"), (const char *const *)names,
                                    lull_args_flag(args, "local"), error);
        if (!filter) {
            return NULL;
        }
        lull_filter_attach(filter, session);
    }
    const struct lull_running_query query = {
        .tid = lull_args_number(args, "tid"),
        .comm = lull_args_text(args, "comm"),
        .start_ns = start_ns,
        .end_ns = end_ns,
        .is_live = lull_args_live(args) != NULL,
    };
    return lull_running_filter_new(session, &query);
}
