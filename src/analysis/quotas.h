/* SPDX-License-Identifier: MIT */
/* What the kernel counted of CPU quotas within a recording. */
#ifndef LULL_ANALYSIS_QUOTAS_H
#define LULL_ANALYSIS_QUOTAS_H

#include <lull/recording.h>

#include "analysis/analysis.h"

/* "The CPU quota of /x, 20.00 ms per 100.0 ms, was used up in 5 of 6 periods …" */
void lull_quota_append(GString *out, const struct lull_cpu_quota *quota);
typedef void lull_quota_take(void *user, uint32_t host, const struct lull_cpu_quota *quota);
/* Calls `each` for each that kept tasks off the CPU on a host that is asked about. */
void lull_quotas_each(const struct lull_analysis *analysis, lull_quota_take *each, void *user);
/* A note about each that kept tasks off the CPU on a host that is asked about. */
void lull_quotas_note(const struct lull_analysis *analysis, struct lull_sink *sink);

#endif
