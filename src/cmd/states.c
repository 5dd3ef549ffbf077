/* SPDX-License-Identifier: MIT */
/* lull states: the states that a file declares. */
#include "analysis/states.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "answers/states_query.h"
#include "base/output.h"
#include "cmd/analysis_args.h"
#include "cmd/analysis_verb.h"
#include "cmd/join_args.h"
#include "cmd/lami_args.h"
#include "cmd/options.h"
#include "cmd/program_out.h"
#include "cmd/progress.h"
#include "cmd/say.h"
#include "cmd/states_args.h"
#include "view/out.h"
#include "view/result/states.h"
#include "view/result/view.h"

enum { MOST_LANES = 100 };

static const struct lull_option options[] = {
    LULL_OPTION_STATES(
        "the file that declares the states: .states, or a state provider of Trace Compass "
        "(XML)"),
    {.name = "group", .kind = LULL_OPTION_TEXT, .argument = "NAME", .help = "only this group"},
    {.name = "row",
     .kind = LULL_OPTION_TEXT,
     .argument = "PATTERN",
     .help = "only rows whose title matches the pattern, as in 'rank *'"},
    {.name = "kernel",
     .kind = LULL_OPTION_FLAG,
     .help = "what the tasks of the rows did in each state: running, waiting for a CPU, blocked, "
             "and in which system call; not with --refresh"},
    LULL_OPTION_LOG,
    LULL_OPTION_LIMIT_ROWS,
    LULL_OPTION_REFRESH,
    {.name = "as-states",
     .kind = LULL_OPTION_FLAG,
     .help =
         "print the file in the language of .states, for one of Trace Compass, and nothing else; needs "
         "no trace"},
    {.name = "partial",
     .kind = LULL_OPTION_FLAG,
     .help = "of an XML file of Trace Compass leave out what cannot be translated, and say so"},
    {.name = "svg",
     .kind = LULL_OPTION_FILE,
     .argument = "FILE",
     .help =
         "also draw the rows over time as SVG, with numbers as lines; '-': to standard output, in place "
         "of the text. Of each group 100 rows, or as many as --limit says; not with --refresh"},
    {.name = "html",
     .kind = LULL_OPTION_FILE,
     .argument = "FILE",
     .help =
         "write a page for the browser instead, with that picture and the tables; '-': to standard "
         "output"},
    {.name = NULL},
};

static bool fill_question(const struct lull_args *args, struct lull_session *session,
                          struct lull_states_question *question, GError **error)
{
    const int64_t limit = lull_args_number(args, "limit");
    question->has_log = lull_args_flag(args, "log");
    question->has_kernel = lull_args_flag(args, "kernel");
    question->group = lull_args_text(args, "group");
    question->row = lull_args_text(args, "row");
    question->limit = (uint32_t)CLAMP(limit, 0, UINT32_MAX);
    return lull_states_check_group(question->states, question->group, error) &&
           lull_args_host(args, session, &question->host, error) &&
           lull_args_range(args, session, &question->start_ns, &question->end_ns, error) &&
           lull_states_set_slices(session, lull_args_text(args, "refresh"), question, error);
}

/* ---- pictures ---- */

struct pictures {
    struct lull_output *svg; /* NULL: none */
    struct lull_result_view *page;
    struct lull_view_style style;
    GError *error; /* the first */
};

static void draw(void *user, const struct lull_states_picture *picture)
{
    struct pictures *pictures = user;
    GError **error = pictures->error ? NULL : &pictures->error;
    if (pictures->svg) {
        lull_view_states_svg(picture, lull_output_file(pictures->svg), &pictures->style, error);
    }
    if (pictures->page) {
        char *text = NULL;
        size_t size = 0;
        FILE *file = open_memstream(&text, &size);
        lull_view_states_svg(picture, file, &pictures->style, NULL);
        fclose(file);
        lull_result_html_picture(pictures->page, strstr(text, "<svg"));
        free(text);
    }
}

/* Tables that nobody wants, because something else goes to standard output. */
static void no_start(struct lull_sink *sink, const char *analysis, const struct lull_window *window)
{
}

static void no_note(struct lull_sink *sink, const char *note)
{
}

static void no_table(struct lull_sink *sink, const struct lull_result_table *table)
{
}

static void no_end(struct lull_sink *sink)
{
}

/* ---- the answer ---- */

/* Text or a form for programs to standard output, or a page into `page`. */
static bool answer(const struct lull_args *args, struct lull_session *session,
                   struct lull_states_question *question, struct pictures *pictures,
                   struct lull_output *page, GError **error)
{
    const bool is_silent = g_strcmp0(lull_args_text(args, "svg"), "-") == 0 && !page;
    struct lull_sink nobody = {no_start, no_note, no_table, no_end};
    struct lull_result_report *report = lull_result_report_head(session, question->host);
    report->title = "Declared states";
    report->verb = "states";
    struct lull_result_options view_options = {
        .file = page ? lull_output_file(page) : stdout,
        .has_hosts = lull_session_host_count(session) > 1 && question->host < 0,
        .analysis = &lull_analysis_states,
        .report = page ? report : NULL,
    };
    lull_view_style_init(&view_options.style, view_options.file, lull_lami_color(args));
    view_options.style.local_time = pictures->style.local_time = lull_args_flag(args, "local");
    struct lull_result_view *view = is_silent ? NULL
                                    : page    ? lull_result_html_new(&view_options)
                                              : lull_analysis_open_view(args, &view_options);
    pictures->page = page ? view : NULL;
    struct lull_progress progress;
    lull_progress_start(&progress, args, session, "reading", false);
    lull_states_report(question, session, view ? lull_result_sink(view) : &nobody,
                       lull_args_progress, &progress);
    lull_progress_end(&progress);
    const bool is_done = !view || lull_result_finish(view, error);
    lull_result_report_free(report);
    return is_done;
}

/* What was written appears under its name when it is whole. */
static bool end_file(struct lull_output *output, bool is_done, GError **error)
{
    if (output && is_done) {
        return lull_output_finish(output, error);
    }
    if (output) {
        lull_output_discard(output);
    }
    return is_done;
}

static bool open_file(const struct lull_args *args, const char *option, struct lull_output **output,
                      GError **error)
{
    const char *name = lull_args_text(args, option);
    *output = name ? lull_output_new(name, error) : NULL;
    return !name || *output;
}

static int show(const struct lull_args *args, struct lull_session *session,
                struct lull_states_question *question, GError **error)
{
    struct pictures pictures = {.style = {.unicode = true}};
    struct lull_output *page = NULL;
    if (!fill_question(args, session, question, error)) {
        return 1;
    }
    lull_session_select(session, question->host, -1);
    lull_args_check_states(question->states, session);
    bool is_done =
        open_file(args, "svg", &pictures.svg, error) && open_file(args, "html", &page, error);
    if (pictures.svg || page) {
        question->picture = draw;
        question->picture_user = &pictures;
        question->most_lanes = question->limit ? question->limit : MOST_LANES;
    }
    is_done = is_done && answer(args, session, question, &pictures, page, error);
    if (pictures.error && is_done) {
        g_propagate_error(error, g_steal_pointer(&pictures.error));
        is_done = false;
    }
    g_clear_error(&pictures.error);
    is_done = end_file(pictures.svg, is_done, error);
    is_done = end_file(page, is_done, error);
    return lull_args_report_damage(session) | !is_done;
}

static bool check_usage(const struct lull_args *args, GError **error)
{
    const bool draws = lull_args_text(args, "svg") || lull_args_text(args, "html");
    if (lull_args_text(args, "refresh") && (lull_args_flag(args, "kernel") || draws)) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_USAGE,
                    "%s and --refresh do not go together; use --begin and --end",
                    draws ? "a picture" : "--kernel");
        return false;
    }
    if (g_strcmp0(lull_args_text(args, "svg"), "-") == 0 &&
        g_strcmp0(lull_args_text(args, "html"), "-") == 0) {
        g_set_error_literal(error, LULL_ERROR, LULL_ERROR_USAGE,
                            "only one of --svg and --html can go to standard output");
        return false;
    }
    const bool is_svg = g_strcmp0(lull_args_text(args, "svg"), "-") == 0;
    return lull_program_out_check(args,
                                  lull_args_text(args, "html") ? "html"
                                  : is_svg                     ? "svg -"
                                                               : NULL,
                                  error);
}

/* The file in the language of .states, which is only shown if Lull reads it as such. */
static int print_as_states(const struct lull_args *args, GError **error)
{
    const char *path = lull_args_text(args, "states");
    g_autoptr(GString) warnings = g_string_new(NULL), ignored = g_string_new(NULL);
    gsize length;
    bool is_translated;
    g_autofree char *text = lull_states_text(path, lull_args_flag(args, "partial"), &length,
                                             &is_translated, warnings, error);
    struct lull_states *states =
        text ? lull_states_parse(text, length, path, ignored, error) : NULL;
    lull_say("%s", warnings->str);
    if (!states) {
        return (*error)->code == LULL_ERROR_USAGE ? 2 : 1;
    }
    lull_states_free(states);
    struct lull_out out;
    lull_out_start(&out, stdout);
    lull_out_bytes(&out, text, length);
    return lull_out_end(&out, "the states", error) ? 0 : 1;
}

static int run(const struct lull_args *args, GError **error)
{
    struct lull_states *states;
    if (!lull_args_text(args, "states")) {
        g_set_error_literal(error, LULL_ERROR, LULL_ERROR_USAGE,
                            "--states FILE is needed; 'lull help states' describes the language");
        return 2;
    }
    if (!check_usage(args, error)) {
        return 2;
    }
    if (lull_args_flag(args, "as-states")) {
        return print_as_states(args, error);
    }
    if (!lull_args_states(args, lull_args_flag(args, "partial"), &states, error)) {
        return (*error)->code == LULL_ERROR_USAGE ? 2 : 1;
    }
    struct lull_states_question question = {.states = states};
    struct lull_session *session = lull_args_open_traces(args, error);
    int status = 1;
    if (session) {
        lull_args_join(args, session);
        status = show(args, session, &question, error);
        lull_session_free(session);
    }
    lull_states_free(states);
    return status;
}

static const struct lull_example examples[] = {
    {"lull states --states mpi.states my-trace", "How long each rank computed, and waited."},
    {"lull states --states mpi.states --group mpi --row 'rank 0' --log my-trace",
     "Each state of the first rank, one after the other."},
    {"lull states --states mpi.states --kernel my-trace",
     "What each rank did while it waited: whether it slept, or called poll over and over."},
    {"lull states --states mpi.states --svg ranks.svg my-trace",
     "The same and a picture: a line for each rank, in the colours of the file."},
    {NULL, NULL},
};

const struct lull_verb lull_verb_states = {
    .name = "states",
    .summary = "show how long things were in states that you declare",
    .usage = "--states FILE TRACE…",
    .description =
        "Programs have states of their own: a rank computes or waits at a barrier, a connection is "
        "free or busy. A file of states declares them: groups of rows, and rules that say which "
        "event puts which row into which state. Every event can, of the kernel and of user space.\n"
        "\n"
        " group mpi \"MPI ranks\" {\n"
        "     row rank = fields.rank    title \"rank {rank}\"\n"
        "     states compute, wait \"at the barrier\"\n"
        "     on name == \"mpi:barrier_begin\" : wait\n"
        "     on name == \"mpi:barrier_end\" : compute\n"
        " }\n"
        "\n"
        "The state of a row is unknown before its first rule. Conditions are those of filters "
        "('lull help filter'); lull-states(7) describes the language.",
    .options = options,
    .common = lull_analysis_common,
    .examples = examples,
    .without_trace = "as-states",
    .run = run,
    .analysis = &(const struct lull_verb_analysis){&lull_analysis_states, 0},
};
