/* SPDX-License-Identifier: MIT */
/* Limits analyses to periods: a window of the runner for each instance of a definition. */
#ifndef LULL_ANALYSIS_PERIOD_WINDOWS_H
#define LULL_ANALYSIS_PERIOD_WINDOWS_H

#include "analysis/analysis.h"
#include "base/map.h"
#include "period/period.h"

struct lull_period_windows;

/* Follows `periods` while the runner reads; all are borrowed, and this is freed before them. Only
 * events in start_ns <= time < end_ns (INT64_MIN, INT64_MAX: no limit) open and close. Call it
 * once, instead of lull_runner_range(), before lull_runner_run(). What is open at the end of
 * reading is reported too, as incomplete. */
struct lull_period_windows *lull_period_windows_new(struct lull_runner *runner,
                                                    struct lull_session *session,
                                                    const struct lull_periods *periods,
                                                    int64_t start_ns, int64_t end_ns);
void lull_period_windows_free(struct lull_period_windows *windows);
/* What it found; for warnings (lull_period_refused()) and how many there were. */
const struct lull_period_tracker *
lull_period_windows_tracker(const struct lull_period_windows *windows);

/* What a definition is called: its path; "(period 2)", written to `unnamed`, if it has no name. */
#define LULL_PERIOD_UNNAMED 24
const char *lull_period_label(const struct lull_periods *periods, uint32_t period,
                              char unnamed[LULL_PERIOD_UNNAMED]);
/* "request.id = 42, request.ret = ?" of an instance, "" if its definition has no captures. Free
 * with g_free(). */
char *lull_period_captures_text(const struct lull_periods *periods,
                                const struct lull_period_tracker *tracker, uint32_t instance);
/* One side of it as a JSON object: {"id": 42, "ret": null}. */
char *lull_period_captures_json(const struct lull_periods *periods,
                                const struct lull_period_tracker *tracker, uint32_t instance,
                                bool at_end);
/* Both: {"begin": {"id": 42}, "end": {"ret": null}}. */
char *lull_period_captures_whole_json(const struct lull_periods *periods,
                                      const struct lull_period_tracker *tracker, uint32_t instance);
/* One side of it: "id = 42, ret = ?". */
char *lull_period_captures_side(const struct lull_periods *periods,
                                const struct lull_period_tracker *tracker, uint32_t instance,
                                bool at_end);
/* One value: 42, 2.5, text as it is, ? for none. */
void lull_period_append_value(GString *text, const struct lull_value *value);

#endif
