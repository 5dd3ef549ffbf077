/* SPDX-License-Identifier: MIT */
/* Reads what counters counted on a path, and says what of it is not exact. */
#include "cmd/critpath_counts.h"

#include <stdio.h>

#include "base/time.h"
#include "cmd/join_args.h"
#include "cmd/progress.h"
#include "cmd/say.h"

static void report(const struct lull_path_counts *counts)
{
    char duration[LULL_TIME_TEXT_SIZE];
    if (counts->n == 0) {
        lull_say("lull: no counter was recorded; 'lull record --counters' records some\n");
        return;
    }
    if (counts->unknown_ns > 0) {
        lull_duration_format(counts->unknown_ns, duration);
        lull_say(
            "lull: in %s of the time that tasks of the path were on a CPU it is not known what "
            "was counted\n",
            duration);
    }
    if (counts->has_shared) {
        lull_say(
            "lull: where the path has only a part of what was counted between two reads, it is a "
            "part by time\n");
    }
    if (counts->has_estimates) {
        lull_say("lull: counters took turns: what they would have counted in all of the time is an "
                 "estimate\n");
    }
}

struct lull_path_counts *lull_args_path_counts(const struct lull_args *args,
                                               struct lull_session *session,
                                               const struct lull_path *path)
{
    struct lull_progress progress;
    if (!lull_args_flag(args, "counters")) {
        return NULL;
    }
    lull_progress_start(&progress, args, session, "reading counters", false);
    struct lull_path_counts *counts =
        lull_path_counts_read(session, path, lull_args_progress, &progress);
    lull_progress_end(&progress);
    report(counts);
    return counts;
}
