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
/* The same, but what --filter left out of the session was there: all is read again for that. */
bool lull_check_left_tasks(struct lull_session *session, const struct lull_model *model,
                           const struct lull_selection *selection, GError **error);
/* What tasks a question is about, as a selection. */
struct lull_selection lull_params_selection(int32_t host,
                                            const struct lull_question_params *params);
/* All tasks of the traces, whatever is selected of them. Rewinds. NULL: a session is live. */
struct lull_model *lull_read_all_tasks(struct lull_session *session);
/* That each CPU of the list was recorded, or seen by the model (or NULL, if nothing was read). */
bool lull_check_cpus(const struct lull_session *session, const struct lull_model *model,
                     int32_t host, const struct lull_numbers *cpus, GError **error);

#endif
