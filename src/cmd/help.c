/* SPDX-License-Identifier: MIT */
/* lull help, and --help of each verb: rendered from the table of verbs, wrapped to the terminal. The
 * same pieces make the man pages (gen_docs.c), so that the two never say different things. */
#include "base/suggest.h"
#include "cmd/help.h"

#include <string.h>

#include <lull/error.h>

#include "cmd/analysis_verb.h"
#include "cmd/options.h"
#include "view/words.h"

/* Longer lines than this are hard to read; without a terminal there is no width to fit. */
static uint32_t help_width(const struct lull_view_style *style)
{
    return style->width ? (uint32_t)CLAMP(style->width, 40, 100) : 80;
}

/* As the terminal can show it. To be freed. */
static char *shown(const char *text)
{
    return lull_view_is_unicode() ? g_strdup(text) : lull_clean_text(text, true);
}

/* Columns of a text; all that help says is of narrow characters. */
static uint32_t columns(const char *text, size_t bytes)
{
    return (uint32_t)g_utf8_strlen(text, (gssize)bytes);
}

/* Writes words between the columns `indent` and `width`; the cursor is at column `at`. */
static void wrap(FILE *file, const char *words, uint32_t at, uint32_t indent, uint32_t width)
{
    g_autofree char *all = shown(words);
    const char *text = all;
    bool is_first = true;
    while (*text) {
        text += strspn(text, " ");
        size_t length = strcspn(text, " ");
        uint32_t cols = columns(text, length);
        if (length == 0) {
            break;
        }
        if (!is_first && at + 1 + cols > width) {
            fputc('\n', file);
            at = 0;
            is_first = true;
        }
        if (is_first && at < indent) {
            fprintf(file, "%*s", (int)(indent - at), "");
            at = indent;
        } else if (!is_first) {
            fputc(' ', file);
            at++;
        }
        fwrite(text, 1, length, file);
        at += cols;
        text += length;
        is_first = false;
    }
    fputc('\n', file);
}

void lull_help_each_piece(const char *text,
                          void (*piece)(void *user, enum lull_markup kind, const char *text),
                          void *user)
{
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    g_autoptr(GString) paragraph = g_string_new(NULL);
    for (uint32_t i = 0;; i++) {
        const char *line = lines[i];
        if (paragraph->len && (!line || !line[0] || line[0] == ' ')) {
            piece(user, LULL_MARKUP_PARAGRAPH, paragraph->str);
            g_string_truncate(paragraph, 0);
        }
        if (!line) {
            return;
        }
        if (line[0] == ' ') {
            piece(user, LULL_MARKUP_KEPT, line + 1);
        } else if (line[0]) {
            g_string_append_printf(paragraph, "%s%s", paragraph->len ? " " : "", line);
        }
    }
}

enum { KEPT_INDENT = 4 };

/* Where the last column of a line of a table starts, which two blanks or more part from the one before; 0: it is no
 * such line. */
static size_t last_column(const char *line)
{
    size_t start = 0, at = strspn(line, " ");
    while (line[at]) {
        at += strcspn(line + at, " ");
        const size_t blanks = strspn(line + at, " ");
        start = blanks > 1 && line[at + blanks] ? at + blanks : start;
        at += blanks;
    }
    return start;
}

/* A line of a table that is too long goes on below its last column. Others are kept: they may be code. */
static void print_kept(FILE *file, const char *text, uint32_t width)
{
    g_autofree char *line = shown(text);
    const size_t start = last_column(line);
    const uint32_t indent = KEPT_INDENT + columns(line, start);
    if (start == 0 || KEPT_INDENT + columns(line, strlen(line)) <= width || indent + 20 > width) {
        fprintf(file, "%*s%s\n", KEPT_INDENT, "", line);
        return;
    }
    fprintf(file, "%*s%.*s", KEPT_INDENT, "", (int)start, line);
    wrap(file, line + start, indent, indent, width);
}

struct piece_state {
    FILE *file;
    uint32_t width;
    bool any;
    enum lull_markup last;
};

static void print_piece(void *user, enum lull_markup kind, const char *text)
{
    struct piece_state *state = user;
    if (state->any && !(kind == LULL_MARKUP_KEPT && state->last == LULL_MARKUP_KEPT)) {
        fputc('\n', state->file);
    }
    if (kind == LULL_MARKUP_KEPT) {
        print_kept(state->file, text, state->width);
    } else {
        wrap(state->file, text, 0, 0, state->width);
    }
    state->any = true;
    state->last = kind;
}

static void print_text(FILE *file, const char *text, uint32_t width)
{
    struct piece_state state = {.file = file, .width = width};
    lull_help_each_piece(text, print_piece, &state);
}

static void print_heading(FILE *file, const char *heading, const struct lull_view_style *style)
{
    fprintf(file, "\n%s%s:%s\n", style->color ? "\033[1m" : "", heading,
            style->color ? "\033[0m" : "");
}

char *lull_help_option_label(const struct lull_option *option)
{
    const bool is_flag = option->kind == LULL_OPTION_FLAG, has_argument = option->argument != NULL;
    g_autofree char *letter = option->letter ? g_strdup_printf("-%c, ", option->letter) : NULL;
    return g_strdup_printf("%s--%s%s%s%s", letter ? letter : "", option->name,
                           !has_argument ? ""
                           : is_flag     ? "[="
                                         : " ",
                           has_argument ? option->argument : "",
                           has_argument && is_flag ? "]" : "");
}

char *lull_help_option_text(const struct lull_option *option)
{
    if (option->kind == LULL_OPTION_TEXTS) {
        return g_strdup_printf("%s; may be given several times", option->help);
    }
    if (option->kind != LULL_OPTION_CHOICE) {
        return g_strdup(option->help);
    }
    g_autofree char *list = g_strjoinv(", ", (char **)option->choices);
    return g_strdup_printf("%s: %s", option->help, list);
}

#define OPTION_INDENT 26

static void print_options(FILE *file, const struct lull_option **options, uint32_t start,
                          uint32_t end, uint32_t width)
{
    for (uint32_t i = start; i < end; i++) {
        g_autofree char *label = lull_help_option_label(options[i]);
        g_autofree char *text = lull_help_option_text(options[i]);
        uint32_t at = (uint32_t)fprintf(file, "  %s%s", options[i]->letter ? "" : "    ", label);
        if (at + 2 > OPTION_INDENT) {
            fputc('\n', file);
            at = 0;
        }
        wrap(file, text, at, OPTION_INDENT, width);
    }
}

static const struct lull_topic *find_topic(const char *name)
{
    for (uint32_t i = 0; lull_topics[i]; i++) {
        if (strcmp(lull_topics[i]->name, name) == 0) {
            return lull_topics[i];
        }
    }
    return NULL;
}

void lull_help_verb(FILE *file, const struct lull_verb *verb, const struct lull_view_style *style)
{
    const uint32_t width = help_width(style);
    const uint32_t at = (uint32_t)fprintf(file, "Usage: %s%s [OPTIONS]",
                                          verb->is_dropin ? "" : "lull ", verb->name);
    wrap(file, verb->usage, at, at + 1, width);
    fputc('\n', file);
    print_text(file, verb->description, width);
    uint32_t count, n_own;
    g_autofree const struct lull_option **options = lull_verb_options(verb, &count, &n_own);
    if (n_own) {
        print_heading(file, "Options", style);
        print_options(file, options, 0, n_own, width);
    }
    print_heading(file, n_own ? "Options common to many verbs" : "Options", style);
    print_options(file, options, n_own, count, width);
    g_autofree char *output = lull_help_output(verb);
    if (output) {
        print_heading(file, "Output", style);
        print_text(file, output, width);
    }
    const struct lull_topic *topic = find_topic(verb->name);
    if (topic) {
        print_heading(file, "Language", style);
        print_text(file, topic->description, width);
    }
    if (verb->examples && verb->examples[0].command) {
        print_heading(file, "Examples", style);
    }
    for (const struct lull_example *e = verb->examples; e && e->command; e++) {
        g_autofree char *command = shown(e->command);
        fprintf(file, "  %s\n", command);
        wrap(file, e->explanation, 0, 6, width);
    }
}

char *lull_help_output(const struct lull_verb *verb)
{
    return verb->output || !verb->analysis ? g_strdup(verb->output)
                                           : lull_analysis_verb_output(verb);
}

void lull_help_topic(FILE *file, const struct lull_topic *topic,
                     const struct lull_view_style *style)
{
    print_text(file, topic->description, help_width(style));
}

void lull_help_program(FILE *file, const struct lull_view_style *style)
{
    const uint32_t width = help_width(style);
    wrap(file, "Usage: lull VERB [OPTIONS] TRACE…", 0, 0, width);
    fputc('\n', file);
    print_text(file, lull_program_description, width);
    for (uint32_t i = 0; lull_verbs[i]; i++) {
        const char *heading = lull_verb_heading(lull_verbs[i]);
        if (heading) {
            print_heading(file, heading, style);
        }
        uint32_t at = (uint32_t)fprintf(file, "  %s", lull_verbs[i]->name);
        wrap(file, lull_verbs[i]->summary, at, 18, width);
    }
    fputc('\n', file);
    print_text(file,
               "'lull VERB --help' or 'lull help VERB' explains a verb, with examples; 'lull help "
               "filter' the language of --filter, 'lull help periods' that of --period, 'lull help "
               "states' that of --states; 'lull --version' says what is built in.",
               width);
}

/* ---- lull help ---- */

static char *no_such(const char *word, const char *what, bool with_topics)
{
    g_autoptr(GPtrArray) names = g_ptr_array_new();
    for (uint32_t i = 0; lull_verbs[i]; i++) {
        g_ptr_array_add(names, (void *)lull_verbs[i]->name);
    }
    for (uint32_t i = 0; with_topics && lull_topics[i]; i++) {
        g_ptr_array_add(names, (void *)lull_topics[i]->name);
    }
    g_ptr_array_add(names, NULL);
    const char *near = lull_suggest(word, (const char *const *)names->pdata);
    return near ? g_strdup_printf("there is no %s “%s”; did you mean “%s”?", what, word, near)
                : g_strdup_printf("there is no %s “%s”", what, word);
}

char *lull_help_no_verb(const char *word)
{
    return no_such(word, "verb", false);
}

static int run(const struct lull_args *args, GError **error)
{
    struct lull_view_style style;
    uint32_t count;
    const char *const *words = lull_args_rest(args, &count);
    const struct lull_verb *verb = count ? lull_verb_find(words[0]) : NULL;
    const struct lull_topic *topic = count ? find_topic(words[0]) : NULL;
    lull_view_style_init(&style, stdout, lull_args_text(args, "color"));
    if (verb) {
        lull_help_verb(stdout, verb, &style);
    } else if (topic) {
        lull_help_topic(stdout, topic, &style);
    } else if (count == 0) {
        lull_help_program(stdout, &style);
    } else {
        g_autofree char *problem = no_such(words[0], "verb or topic", true);
        g_set_error_literal(error, LULL_ERROR, LULL_ERROR_USAGE, problem);
        return 2;
    }
    return 0;
}

static const struct lull_example examples[] = {
    {"lull help", "What Lull does, and its verbs."},
    {"lull help critpath", "A verb, its options, examples and output."},
    {"lull help filter", "The language of --filter."},
    {NULL, NULL},
};

const struct lull_verb lull_verb_help = {
    .name = "help",
    .summary = "explain a verb, or a language that several verbs share",
    .usage = "[VERB | filter | periods | states]",
    .description =
        "Without a word it says what Lull does and lists its verbs. With the name of a "
        "verb it prints what 'lull VERB --help' prints; 'lull help filter' describes the "
        "language of --filter, 'lull help periods' that of --period, and 'lull help states' that "
        "of --states. The same texts are manual pages: lull(1), lull-VERB(1), lull-filter(7), "
        "lull-periods(7) and lull-states(7).",
    .examples = examples,
    .takes_no_trace = true,
    .run = run,
};
