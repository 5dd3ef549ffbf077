/* SPDX-License-Identifier: MIT */
/* How tables show counters, whose number and names depend on the trace. */
#ifndef LULL_ANALYSIS_COUNTER_NAMES_H
#define LULL_ANALYSIS_COUNTER_NAMES_H

#include "analysis/analysis.h"

/* "page-faults": the name of a counter. The model has LULL_GROUP_COUNTERS. */
const char *lull_counter_name(const struct lull_model *model, uint32_t counter);
/* It counts nanoseconds. */
bool lull_counter_is_clock(const char *name);
/* LULL_CELL_DURATION or LULL_CELL_NUMBER. */
enum lull_cell_class lull_counter_class(const char *name);
/* The key of its column: "page_faults", "task_clock_ns", with a prefix. Free with g_free(). */
char *lull_counter_key(const char *prefix, const char *name);
/* The heading of its column: "PAGE-FAULTS", marked if it is an estimate. Free with g_free(). */
char *lull_counter_heading(const char *name, bool is_estimate);
/* Finds a counter by its name; one of threads also by what it is called of CPUs. False and
 * LULL_ERROR_QUESTION if the trace has none of the name. */
bool lull_counter_find(const struct lull_model *model, const char *name, uint32_t *counter,
                       GError **error);

#endif
