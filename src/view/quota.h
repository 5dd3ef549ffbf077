/* SPDX-License-Identifier: MIT */
/* What the kernel counted of a CPU quota within a recording. */
#ifndef LULL_VIEW_QUOTA_H
#define LULL_VIEW_QUOTA_H

#include <glib.h>
#include <json-c/json.h>
#include <lull/recording.h>

/* "The CPU quota of /x, 20.00 ms each 100.0 ms, was used up in 5 of 6 periods …" */
void lull_quota_append(GString *out, const struct lull_cpu_quota *quota, bool ascii);
struct json_object *lull_quota_json(const struct lull_cpu_quota *quota);

#endif
