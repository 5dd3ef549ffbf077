/* From the command line to the question that is put to an analysis. */
#ifndef LULL_CMD_ANALYSIS_ARGS_H
#define LULL_CMD_ANALYSIS_ARGS_H

#include "cmd/analysis_verb.h"

/* The question and what it borrows. A zeroed one is valid. */
struct lull_analysis_question {
    struct lull_question_params params;
    int64_t slice_ns; /* of --refresh; 0: none */
    GArray *numbers[4];
    char **comms;
};

/* Fills a zeroed question; the session is for --host. False with LULL_ERROR_USAGE or _QUESTION.
 * Clear it in any case. */
bool lull_analysis_question_parse(struct lull_analysis_question *question,
                                  const struct lull_args *args, const struct lull_session *session,
                                  GError **error);
void lull_analysis_question_clear(struct lull_analysis_question *question);

#endif
