/* SPDX-License-Identifier: MIT */
/* Reads the calls of paths, and says what of them is not known. */
#include "cmd/critpath_calls.h"

#include <stdio.h>

#include "base/time.h"
#include "cmd/join_args.h"
#include "cmd/progress.h"
#include "cmd/say.h"

static void report(const struct lull_paths_calls *calls, uint32_t n)
{
    int64_t uncertain_ns = 0;
    bool has_parts = false;
    char duration[LULL_TIME_TEXT_SIZE];
    for (uint32_t i = 0; i < n; i++) {
        has_parts |= lull_paths_calls_of(calls, i)->n_parts > 0;
        uncertain_ns += lull_paths_calls_of(calls, i)->uncertain_ns;
    }
    if (!has_parts && n > 0) {
        lull_say(
            "lull: no call of a function was recorded for tasks of the path; docs/CALLS.md says "
            "how to record them\n");
    }
    if (uncertain_ns > 0) {
        lull_duration_format(uncertain_ns, duration);
        lull_say("lull: events were lost: in %s it is not certain what was called\n", duration);
    }
}

struct lull_paths_calls *lull_args_path_calls(const struct lull_args *args,
                                              struct lull_session *session,
                                              const struct lull_path *const *paths, uint32_t n)
{
    struct lull_progress progress;
    if (!lull_args_flag(args, "calls")) {
        return NULL;
    }
    lull_progress_start(&progress, args, session, "reading calls", false);
    struct lull_paths_calls *calls =
        lull_paths_calls_read(session, paths, n, lull_args_progress, &progress);
    lull_progress_end(&progress);
    report(calls, n);
    return calls;
}
