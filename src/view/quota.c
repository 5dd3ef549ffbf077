/* SPDX-License-Identifier: MIT */
/* A CPU quota for people and for programs. */
#include "view/quota.h"

#include <inttypes.h>

#include "base/json.h"
#include "base/time.h"
#include "view/words.h"

void lull_quota_append(GString *out, const struct lull_cpu_quota *quota, bool ascii)
{
    char limit[LULL_TIME_TEXT_SIZE], each[LULL_TIME_TEXT_SIZE], off[LULL_TIME_TEXT_SIZE];
    lull_duration_format(quota->quota_us * 1000, limit);
    lull_duration_format(quota->period_us * 1000, each);
    lull_duration_format(quota->throttled_ns, off);
    g_string_append(out, "The CPU quota of ");
    lull_clean_append(out, quota->cgroup, ascii);
    g_string_append_printf(out,
                           ", %s each %s, was used up in %" PRId64 " of %" PRId64
                           " periods of the recording, which kept its tasks off CPUs for %s.",
                           limit, each, quota->throttled_periods, quota->periods, off);
}

struct json_object *lull_quota_json(const struct lull_cpu_quota *quota)
{
    struct json_object *object = json_object_new_object();
    lull_json_add_text(object, "cgroup", quota->cgroup);
    lull_json_add_number(object, "quota_us", quota->quota_us);
    lull_json_add_number(object, "period_us", quota->period_us);
    lull_json_add_number(object, "periods", quota->periods);
    lull_json_add_number(object, "throttled_periods", quota->throttled_periods);
    lull_json_add_number(object, "throttled_ns", quota->throttled_ns);
    return object;
}
