/* SPDX-License-Identifier: MIT */
/* The protocol of LAMI 1.0 around a run: version, metadata, test of compatibility, progress. Its
 * options are those of the programs of lttng-analyses that end in -mi. */
#ifndef LULL_CMD_LAMI_ARGS_H
#define LULL_CMD_LAMI_ARGS_H

#include "cmd/analysis_verb.h"

/* Exit status of lttng-analyses if a trace cannot be opened. */
#define LULL_DROPIN_NOT_OPENED 255

/* The options of the protocol, and of every program of lttng-analyses; end with a NULL name. */
extern const struct lull_option lull_lami_options[];
extern const struct lull_option lull_dropin_options[];

/* Whether a question was put that needs no trace (--mi-version, --metadata). */
bool lull_lami_answers(const struct lull_args *args);
bool lull_lami_answer(const struct lull_args *args, GError **error);

/* What --color and --no-color say, for lull_view_style_init(). */
const char *lull_lami_color(const struct lull_args *args);

bool lull_lami_wants_test(const struct lull_args *args);
/* Whether the traces have enough for the analysis: LULL_ERROR_QUESTION says what they lack. */
bool lull_lami_test(const struct lull_analysis_class *analysis, const struct lull_session *session,
                    GError **error);

/* Lines on stdout before the document: "0.2348 reading". */
struct lull_lami_progress {
    const struct lull_session *session;
    int64_t next_us;
};

bool lull_lami_wants_progress(const struct lull_args *args);
void lull_lami_progress_start(struct lull_lami_progress *progress,
                              const struct lull_session *session);
/* Takes a struct lull_lami_progress. */
void lull_lami_progress_update(void *user);
void lull_lami_progress_end(struct lull_lami_progress *progress);

#endif
