/* SPDX-License-Identifier: MIT */
/* LAMI 1.0.1, sections "Input format" and "Progress indication". */
#include "cmd/lami_args.h"

#include <stdio.h>
#include <string.h>

#include "analysis/questions.h"
#include "cmd/options.h"
#include "view/out.h"
#include "view/result/view.h"

#define NEXT_AFTER_US 100000

const struct lull_option lull_lami_options[] = {
    {.name = "mi-version", .kind = LULL_OPTION_FLAG, .help = "print the version of LAMI"},
    {.name = "metadata", .kind = LULL_OPTION_FLAG, .help = "print what the tables are"},
    {.name = "test-compatibility",
     .kind = LULL_OPTION_FLAG,
     .help = "only say, by the exit status, whether the trace can be analysed"},
    {.name = "limit",
     .kind = LULL_OPTION_LIMIT,
     .argument = "N",
     .help = "at most N rows of a top; 0 or unlimited: all"},
    {.name = "output-progress", .kind = LULL_OPTION_FLAG, .help = "print lines of progress first"},
    {.name = NULL},
};

const struct lull_option lull_dropin_options[] = {
    {.name = "version", .letter = 'V', .kind = LULL_OPTION_FLAG, .help = "print the version"},
    {.name = "skip-validation",
     .kind = LULL_OPTION_FLAG,
     .help = "nothing: lost events are found without reading the trace twice"},
    {.name = "progress-use-size",
     .kind = LULL_OPTION_FLAG,
     .help = "nothing: progress is always shown by size"},
    {.name = "no-color", .kind = LULL_OPTION_FLAG, .help = "the same as --color=never"},
    {.name = "debug", .kind = LULL_OPTION_FLAG, .help = "nothing"},
    LULL_OPTION_REFRESH,
    LULL_OPTIONS_OLD_PERIOD,
    {.name = NULL},
};

/* False also for verbs that lack the option. */
static bool has_flag(const struct lull_args *args, const char *name)
{
    return lull_args_takes(args, name) && lull_args_flag(args, name);
}

bool lull_lami_answers(const struct lull_args *args)
{
    return has_flag(args, "mi-version") || has_flag(args, "metadata");
}

bool lull_lami_answer(const struct lull_args *args, GError **error)
{
    if (has_flag(args, "mi-version")) {
        puts("1.0");
        return true;
    }
    return lull_lami_metadata(lull_args_verb(args)->analysis->class, stdout, error);
}

const char *lull_lami_color(const struct lull_args *args)
{
    return has_flag(args, "no-color") ? "never" : lull_args_text(args, "color");
}

bool lull_lami_wants_test(const struct lull_args *args)
{
    return has_flag(args, "test-compatibility");
}

bool lull_lami_test(const struct lull_analysis_class *analysis, const struct lull_session *session,
                    GError **error)
{
    const struct lull_question *question = lull_question_find(analysis->question);
    if (question && lull_question_can_answer(session, question)) {
        return true;
    }
    if (question) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_QUESTION,
                    "the events for this were not recorded: %s", question->text);
    }
    return !question;
}

bool lull_lami_wants_progress(const struct lull_args *args)
{
    return has_flag(args, "output-progress");
}

static void print_progress(double share, const char *message)
{
    char number[LULL_DECIMAL_SIZE];
    printf("%s %s\n", lull_decimal_format_short(share, 4, number), message);
    fflush(stdout);
}

void lull_lami_progress_start(struct lull_lami_progress *progress,
                              const struct lull_session *session)
{
    *progress = (struct lull_lami_progress){session, g_get_monotonic_time() + NEXT_AFTER_US};
    print_progress(0, "Starting analysis");
}

void lull_lami_progress_update(void *user)
{
    struct lull_lami_progress *progress = user;
    const int64_t now_us = g_get_monotonic_time();
    if (now_us >= progress->next_us) {
        progress->next_us = now_us + NEXT_AFTER_US;
        print_progress(lull_session_progress(progress->session), "Reading the trace");
    }
}

void lull_lami_progress_end(struct lull_lami_progress *progress)
{
    print_progress(1, "Done!");
}
