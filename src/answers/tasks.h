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
/* Whether tasks and CPUs (NULL: none) that were not seen are in the traces all the same, and only the
 * filter, or what else the session is limited to, hides them. Reads all again, unless nothing is
 * hidden. */
bool lull_is_hidden(struct lull_session *session, const struct lull_selection *selection,
                    const struct lull_numbers *cpus);
/* As lull_check_selected_tasks(), but what is only hidden is right. */
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
