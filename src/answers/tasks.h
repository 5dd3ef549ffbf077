/* SPDX-License-Identifier: MIT */
/* Whether the tasks and CPUs that a question names were ever seen. */
#ifndef LULL_ANSWERS_TASKS_H
#define LULL_ANSWERS_TASKS_H

#include "analysis/analysis.h"

/* After reading: that each tid, pid and name (or pattern) of the question is one of a task that was
 * seen, on `host` if that is not negative. False and LULL_ERROR_QUESTION that says which is not. */
bool lull_check_tasks(const struct lull_model *model, int32_t host,
                      const struct lull_question_params *params, GError **error);
/* The same for what a selection names. */
bool lull_check_selected_tasks(const struct lull_model *model,
                               const struct lull_selection *selection, GError **error);
/* That each CPU of the list was recorded, or seen by the model (or NULL, if nothing was read). */
bool lull_check_cpus(const struct lull_session *session, const struct lull_model *model,
                     int32_t host, const struct lull_numbers *cpus, GError **error);

#endif
