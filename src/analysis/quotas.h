/* SPDX-License-Identifier: MIT */
/* What the kernel counted of CPU quotas within a recording. */
#ifndef LULL_ANALYSIS_QUOTAS_H
#define LULL_ANALYSIS_QUOTAS_H

#include <lull/recording.h>

#include "analysis/analysis.h"

/* "The CPU quota of /x, 20.00 ms each 100.0 ms, was used up in 5 of 6 periods …" */
void lull_quota_append(GString *out, const struct lull_cpu_quota *quota);
/* A note about each that kept tasks off the CPU on a host that is asked about. */
void lull_quotas_note(const struct lull_analysis *analysis, struct lull_sink *sink);

#endif
