/* SPDX-License-Identifier: MIT */
/* What the kernel counted of a CPU quota within a recording. */
#ifndef LULL_VIEW_QUOTA_H
#define LULL_VIEW_QUOTA_H

#include <json-c/json.h>
#include <lull/recording.h>

struct json_object *lull_quota_json(const struct lull_cpu_quota *quota);

#endif
