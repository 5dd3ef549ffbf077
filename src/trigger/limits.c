/* SPDX-License-Identifier: MIT */
/* Counts of the snapshots of a day; nothing else is kept. */
#include "trigger/limits.h"

#include <string.h>

#include "base/time.h"

/* What happens so soon after a snapshot is most likely of the same trouble. */
#define FRESH_NS (5 * LULL_NS_PER_S)
#define HOUR_NS (3600 * LULL_NS_PER_S)
#define DAY_NS (24 * HOUR_NS)

const char *const lull_trigger_verdicts[] = {
    [LULL_TRIGGER_WRITTEN] = "written", [LULL_TRIGGER_COALESCED] = "coalesced",
    [LULL_TRIGGER_LIMITED] = "limited", [LULL_TRIGGER_FAILED] = "failed",
    [LULL_TRIGGER_FAST] = "fast",
};

const char *const lull_trigger_answers[] = {
    [LULL_TRIGGER_WRITTEN] = "frozen",  [LULL_TRIGGER_COALESCED] = "coalesced",
    [LULL_TRIGGER_LIMITED] = "limited", [LULL_TRIGGER_FAILED] = "failed",
    [LULL_TRIGGER_FAST] = "unanswered",
};

void lull_trigger_limits_init(struct lull_trigger_limits *limits,
                              const struct lull_trigger_config *config)
{
    limits->config = config;
    limits->fresh_until_ns = limits->failing_until_ns = INT64_MIN;
    limits->written_ns = g_array_new(FALSE, FALSE, sizeof(int64_t));
    for (uint32_t i = 0; i <= LULL_TRIGGER_RULES; i++) {
        limits->rule_ns[i] = INT64_MIN;
    }
}

void lull_trigger_limits_change(struct lull_trigger_limits *limits,
                                const struct lull_trigger_config *config)
{
    int64_t before[LULL_TRIGGER_RULES];
    memcpy(before, limits->rule_ns, sizeof before);
    for (uint32_t i = 0; i < LULL_TRIGGER_RULES; i++) {
        const uint32_t was = lull_trigger_config_rule_as(limits->config, config, i);
        limits->rule_ns[i] = was < LULL_TRIGGER_RULES ? before[was] : INT64_MIN;
    }
    limits->config = config;
}

void lull_trigger_limits_clear(struct lull_trigger_limits *limits)
{
    g_clear_pointer(&limits->written_ns, g_array_unref);
}

/* How many were written in the time before `now_ns`. */
static uint64_t count_since(const struct lull_trigger_limits *limits, int64_t since_ns)
{
    uint64_t n = 0;
    for (guint i = limits->written_ns->len;
         i > 0 && g_array_index(limits->written_ns, int64_t, i - 1) > since_ns; i--) {
        n++;
    }
    return n;
}

enum lull_trigger_verdict lull_trigger_limits_judge(struct lull_trigger_limits *limits,
                                                    uint32_t rule, int64_t now_ns)
{
    const struct lull_trigger_config *config = limits->config;
    const int64_t last_ns = limits->rule_ns[rule];
    if (now_ns < limits->fresh_until_ns) {
        return LULL_TRIGGER_COALESCED;
    }
    if (now_ns < limits->failing_until_ns) {
        return LULL_TRIGGER_FAILED;
    }
    const bool is_limited = (rule != LULL_TRIGGER_ASKED && last_ns != INT64_MIN &&
                             now_ns - last_ns < config->pause_ns) ||
                            count_since(limits, now_ns - HOUR_NS) >= config->per_hour ||
                            count_since(limits, now_ns - DAY_NS) >= config->per_day;
    return is_limited ? LULL_TRIGGER_LIMITED : LULL_TRIGGER_WRITTEN;
}

void lull_trigger_limits_count(struct lull_trigger_limits *limits, uint32_t rule, int64_t start_ns,
                               int64_t end_ns, bool is_written)
{
    GArray *written = limits->written_ns;
    while (written->len > 0 && g_array_index(written, int64_t, 0) <= start_ns - DAY_NS) {
        g_array_remove_index(written, 0);
    }
    limits->rule_ns[rule] = start_ns;
    if (is_written) {
        g_array_append_val(written, start_ns);
        limits->fresh_until_ns = end_ns + FRESH_NS;
    } else {
        limits->failing_until_ns = end_ns + FRESH_NS;
    }
}
