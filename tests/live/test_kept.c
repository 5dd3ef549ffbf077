/* SPDX-License-Identifier: MIT */
/* The last alarms: numbered from the latest, as many as are kept, and each as it was added. */
#include <glib.h>

#include "live/kept.h"

static void add(struct lull_kept *kept, const struct lull_track_rule *const *rules, uint32_t tid)
{
    struct lull_track_record record = {.since_ns = 1000 * tid,
                                       .end_ns = 1000 * tid + tid,
                                       .tid = tid,
                                       .tgid = tid,
                                       .call = LULL_TRACK_NO_CALL,
                                       .state = LULL_TRACK_STATE_S,
                                       .comm = "waiter"};
    struct lull_track_alarm alarm;
    g_assert_true(lull_track_alarm_read(&record, sizeof record, rules, 1, &alarm));
    alarm.is_open = tid % 2;
    lull_kept_add(kept, &alarm);
    record.tid = 0; /* it is copied */
}

static void test_ring(void)
{
    struct lull_track_rule *rule = lull_track_rule_parse("offcpu > 1us", NULL);
    const struct lull_track_rule *const rules[] = {rule};
    struct lull_kept *kept = lull_kept_new(rules, 1);
    struct lull_track_alarm alarm;
    g_assert_false(lull_kept_get(kept, 0, &alarm));
    for (uint32_t n = 1; n <= 2 * LULL_KEPT_ALARMS + 7; n++) {
        add(kept, rules, n);
        g_assert_cmpuint(lull_kept_count(kept), ==, n);
        for (uint32_t i = 0; i < LULL_KEPT_ALARMS + 2; i++) {
            const bool is_kept = i < n && i < LULL_KEPT_ALARMS;
            g_assert_true(lull_kept_get(kept, i, &alarm) == is_kept);
            if (is_kept) {
                g_assert_cmpuint(alarm.record->tid, ==, n - i);
                g_assert_cmpint(alarm.end_ns - alarm.start_ns, ==, n - i);
                g_assert_true(alarm.is_open == ((n - i) % 2 == 1));
            }
        }
    }
    lull_kept_free(kept);
    lull_track_rule_free(rule);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/live/kept/ring", test_ring);
    return g_test_run();
}
