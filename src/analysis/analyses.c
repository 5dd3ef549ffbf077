/* SPDX-License-Identifier: MIT */
/* The table of analyses. */
#include <string.h>

#include "analysis/analysis.h"

const struct lull_analysis_class *const lull_analyses[] = {
    &lull_analysis_cputop,
    &lull_analysis_sched,
    &lull_analysis_io,
    &lull_analysis_syscallstats,
    &lull_analysis_futex,
    &lull_analysis_irq,
    &lull_analysis_memtop,
    &lull_analysis_nettop,
    &lull_analysis_freq,
    &lull_analysis_counters,
    &lull_analysis_periods,
    &lull_analysis_timeline,
    &lull_analysis_waits,
    &lull_analysis_findings,
    &lull_analysis_vms,
    &lull_analysis_pressure,
    NULL,
};

const char *lull_analysis_name(uint32_t index)
{
    for (uint32_t i = 0; i < index; i++) {
        if (!lull_analyses[i]) {
            return NULL;
        }
    }
    return lull_analyses[index] ? lull_analyses[index]->name : NULL;
}

const struct lull_analysis_class *lull_analysis_find(const char *name)
{
    for (uint32_t i = 0; lull_analyses[i]; i++) {
        if (strcmp(lull_analyses[i]->name, name) == 0) {
            return lull_analyses[i];
        }
    }
    return NULL;
}
