/* SPDX-License-Identifier: MIT */
/* A CPU quota for programs. */
#include "view/quota.h"

#include "base/json.h"

struct json_object *lull_quota_json(const struct lull_cpu_quota *quota)
{
    struct json_object *object = json_object_new_object();
    lull_json_add_text(object, "cgroup", quota->cgroup);
    lull_json_add_number(object, "quota_us", quota->quota_us);
    lull_json_add_number(object, "period_us", quota->period_us);
    lull_json_add_number(object, "periods", quota->periods);
    lull_json_add_number(object, "throttled_periods", quota->throttled_periods);
    lull_json_add_number(object, "throttled_ns", quota->throttled_ns);
    json_object_object_add(object, "gone", json_object_new_boolean(quota->is_gone));
    return object;
}
