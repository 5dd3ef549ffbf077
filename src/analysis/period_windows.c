/* SPDX-License-Identifier: MIT */
/* Periods as windows of the runner. */
#include "analysis/period_windows.h"

/* Each fact goes to all windows that are open. */
enum { MOST_WINDOWS = 1000, MOST_KEPT = 10000000 };

struct lull_period_windows {
    struct lull_runner *runner;
    struct lull_session *session;
    const struct lull_periods *periods;
    struct lull_period_tracker *tracker;
    int64_t end_ns;
    struct lull_map handles; /* instance to the runner's handle */
};

static void on_opened(void *user, uint32_t instance)
{
    struct lull_period_windows *windows = user;
    const int64_t start_ns = lull_period_at(windows->tracker, instance)->start_ns;
    lull_map_insert(&windows->handles, instance, lull_runner_open(windows->runner, start_ns));
}

static void on_closed(void *user, uint32_t instance)
{
    struct lull_period_windows *windows = user;
    const struct lull_period_instance *at = lull_period_at(windows->tracker, instance);
    g_autofree char *captures =
        lull_period_captures_text(windows->periods, windows->tracker, instance);
    char unnamed[LULL_PERIOD_UNNAMED];
    const struct lull_window window = {
        .period = lull_period_label(windows->periods, at->period, unnamed),
        .captures = *captures != '\0' ? captures : NULL,
        .is_complete = at->is_complete,
    };
    lull_runner_close(windows->runner, lull_map_remove(&windows->handles, instance), at->end_ns,
                      &window);
}

static void on_end(void *user)
{
    struct lull_period_windows *windows = user;
    int64_t first_ns, last_ns;
    if (lull_runner_coverage(windows->runner, &first_ns, &last_ns)) {
        lull_period_tracker_finish(windows->tracker, MIN(last_ns, windows->end_ns));
    }
}

struct lull_period_windows *lull_period_windows_new(struct lull_runner *runner,
                                                    struct lull_session *session,
                                                    const struct lull_periods *periods,
                                                    int64_t start_ns, int64_t end_ns)
{
    static const struct lull_period_callbacks callbacks = {on_opened, on_closed};
    struct lull_period_windows *windows = g_new0(struct lull_period_windows, 1);
    windows->runner = runner;
    windows->session = session;
    windows->periods = periods;
    windows->end_ns = end_ns;
    windows->tracker = lull_period_tracker_new(periods, session, &callbacks, windows);
    lull_period_tracker_limit(windows->tracker, start_ns, end_ns);
    lull_period_tracker_bound(windows->tracker, MOST_WINDOWS, MOST_KEPT);
    lull_session_limit(session, INT64_MIN, end_ns);
    lull_runner_at_end(runner, on_end, windows);
    return windows;
}

void lull_period_windows_free(struct lull_period_windows *windows)
{
    if (!windows) {
        return;
    }
    lull_period_tracker_free(windows->tracker);
    lull_map_free(&windows->handles);
    g_free(windows);
}

const struct lull_period_tracker *
lull_period_windows_tracker(const struct lull_period_windows *windows)
{
    return windows->tracker;
}
