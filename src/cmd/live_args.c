/* SPDX-License-Identifier: MIT */
/* Options of the verbs that watch this machine. */
#include "cmd/live_args.h"

#include <lull/error.h>

#include "base/size.h"

#define MOST_OVERHEAD 0.01

const char *const lull_backends[] = {"bpf", "ftrace", "poll", NULL};

bool lull_args_overhead(const struct lull_args *args, double *overhead, GError **error)
{
    const char *text = lull_args_text(args, "max-overhead");
    *overhead = MOST_OVERHEAD;
    if (!text || (lull_share_parse(text, overhead) && *overhead > 0)) {
        return true;
    }
    g_set_error(error, LULL_ERROR, LULL_ERROR_USAGE,
                "--max-overhead takes a share of the CPUs' time, such as 0.5%%, not “%s”", text);
    return false;
}

bool lull_args_add_rule(GPtrArray *rules, struct lull_track_rule *rule, GError **error)
{
    if (!rule) {
        return false;
    }
    g_ptr_array_add(rules, rule);
    if (rules->len > LULL_TRACK_RULES) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_USAGE, "at most %d rules at a time",
                    LULL_TRACK_RULES);
        return false;
    }
    return true;
}

int64_t lull_epoch_of_monotonic(void)
{
    return g_get_real_time() * 1000 - g_get_monotonic_time() * 1000;
}
