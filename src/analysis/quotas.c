/* SPDX-License-Identifier: MIT */
/* CPU quotas in sentences. */
#include "analysis/quotas.h"

#include <inttypes.h>

#include "base/time.h"

void lull_quota_append(GString *out, const struct lull_cpu_quota *quota)
{
    char limit[LULL_TIME_TEXT_SIZE], period[LULL_TIME_TEXT_SIZE], off[LULL_TIME_TEXT_SIZE];
    lull_duration_format(quota->quota_us * 1000, limit);
    lull_duration_format(quota->period_us * 1000, period);
    lull_duration_format(quota->throttled_ns, off);
    g_string_append_printf(
        out,
        "The CPU quota of %s, %s per %s, was used up in %" PRId64 " of %" PRId64
        " periods of the recording and kept its tasks off CPUs for %s (the kernel's count, summed over "
        "CPUs%s). Where other tasks had the CPUs meanwhile, some of it may be shown as preempted.",
        quota->cgroup, limit, period, quota->throttled_periods, quota->periods, off,
        quota->is_gone ? ", and read last before the group was removed" : "");
}

void lull_quotas_each(const struct lull_analysis *analysis, lull_quota_take *each, void *user)
{
    const struct lull_session *session = analysis->session;
    for (uint32_t i = 0; session && i < lull_session_recording_count(session); i++) {
        const struct lull_recording_info *recording = lull_session_recording(session, i);
        for (uint32_t k = 0; k < recording->n_cpu_quotas; k++) {
            if (recording->cpu_quotas[k].throttled_ns > 0 &&
                (analysis->params->host < 0 ||
                 recording->host == (uint32_t)analysis->params->host)) {
                each(user, recording->host, &recording->cpu_quotas[k]);
            }
        }
    }
}

static void note(void *user, uint32_t host, const struct lull_cpu_quota *quota)
{
    struct lull_sink *sink = user;
    g_autoptr(GString) text = g_string_new(NULL);
    lull_quota_append(text, quota);
    sink->note(sink, text->str);
}

void lull_quotas_note(const struct lull_analysis *analysis, struct lull_sink *sink)
{
    lull_quotas_each(analysis, note, sink);
}
