/* SPDX-License-Identifier: MIT */
/* Fuzz target: definitions of periods, a line each, followed through valid traces. Looked up by key
 * or tried one by one, the same periods must be found. */
#include <string.h>

#include "period/tracker.h"

/* Enough to be interesting, few enough to be fast. */
#define MOST_OPEN 50
#define MOST_KEPT 500

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct lull_session *session;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    static const char *const all[] = {"*", NULL};
    static const char *const traces[] = {
        FUZZ_DIRECTORY "/traces/a-events-compact", FUZZ_DIRECTORY "/traces/e-kernel",
        FUZZ_DIRECTORY "/traces/i-numbers", FUZZ_DIRECTORY "/traces/n-variants"};
    g_autoptr(GError) error = NULL;
    session = lull_session_new();
    if (!lull_session_add_all(session, traces, G_N_ELEMENTS(traces), &error)) {
        g_error("%s", error->message);
    }
    lull_session_subscribe(session, all, NULL, 0, 0);
    return 0;
}

static struct lull_period_tracker *follow(const struct lull_periods *periods, bool avoids_keys)
{
    int64_t last_ns = INT64_MIN;
    const struct lull_event *event;
    struct lull_period_tracker *tracker = lull_period_tracker_new(periods, session, NULL, NULL);
    tracker->avoids_keys = avoids_keys;
    lull_period_tracker_bound(tracker, MOST_OPEN, MOST_KEPT);
    while ((event = lull_session_read(session))) {
        last_ns = event->time_ns;
    }
    lull_period_tracker_finish(tracker, last_ns);
    lull_session_set_watch(session, NULL);
    return tracker;
}

static void compare(const struct lull_periods *periods)
{
    struct lull_period_tracker *keyed = follow(periods, false);
    struct lull_period_tracker *tried = follow(periods, true);
    g_assert_cmpuint(lull_period_instance_count(keyed), ==, lull_period_instance_count(tried));
    g_assert_cmpuint(lull_period_refused(keyed), ==, lull_period_refused(tried));
    for (uint32_t i = 0; i < lull_period_instance_count(keyed); i++) {
        const struct lull_period_instance *a = lull_period_at(keyed, i);
        const struct lull_period_instance *b = lull_period_at(tried, i);
        g_assert_cmpuint(a->period, ==, b->period);
        g_assert_cmpuint(a->parent, ==, b->parent);
        g_assert_cmpint(a->start_ns, ==, b->start_ns);
        g_assert_cmpint(a->end_ns, ==, b->end_ns);
        g_assert_cmpint(a->end_tid, ==, b->end_tid);
        g_assert_true(a->is_complete == b->is_complete);
        g_assert_false(a->is_open || b->is_open);
    }
    lull_period_tracker_free(keyed);
    lull_period_tracker_free(tried);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autofree char *text = g_strndup((const char *)data, size);
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    g_autoptr(GPtrArray) definitions = g_ptr_array_new(), captures = g_ptr_array_new();
    for (char **line = lines; *line; line++) {
        const bool is_captures = g_str_has_prefix(*line, "captures ");
        g_ptr_array_add(is_captures ? captures : definitions,
                        *line + (is_captures ? strlen("captures ") : 0));
    }
    g_ptr_array_add(definitions, NULL);
    g_ptr_array_add(captures, NULL);
    g_autoptr(GError) error = NULL;
    struct lull_periods *periods = lull_periods_parse((const char *const *)definitions->pdata,
                                                      (const char *const *)captures->pdata, &error);
    if (!periods) {
        g_assert_nonnull(error);
        g_assert_nonnull(strchr(error->message, '^')); /* it says where */
        return 0;
    }
    compare(periods);
    lull_periods_free(periods);
    return 0;
}
