/* SPDX-License-Identifier: MIT */
/* Parses the words after the verb against its table of options. Everything that a verb takes
 * is in that table, so a word that is not in it is a usage error here and never reaches the
 * verb. */
#include "base/suggest.h"
#include "cmd/options.h"

#include <string.h>

#include <lull/error.h>

struct value {
    const struct lull_option *option;
    bool is_given;
    const char *text; /* the last one */
    GPtrArray *texts; /* of a TEXTS: all, and NULL at the end; or NULL */
    GString *list;    /* of a LIST or NUMBERS: all that were given, with commas between; or NULL */
    GArray *numbers;  /* of NUMBERS: int64_t; or NULL */
    bool is_last;     /* of a LIST or NUMBERS: the last counts */
    int64_t number;
};

struct lull_args {
    const struct lull_verb *verb;
    struct value *values;
    uint32_t n_values;
    GPtrArray *rest;
    uint32_t n_before; /* of rest, before "--" */
    bool has_dashes;
    GPtrArray *added; /* words of rest that are ours */
};

/* Every verb takes these without listing them. */
static const char *const everywhere[] = {"help", "color", "no-progress", "no-pager", NULL};

static bool takes_common(const struct lull_verb *verb, const char *name)
{
    /* lttng-analyses does not have them; they would make starts of its options ambiguous. */
    static const char *const ours[] = {"no-pager", "csv", "tsv", "json-times", NULL};
    if (verb->is_dropin && g_strv_contains(ours, name)) {
        return false;
    }
    return g_strv_contains(everywhere, name) ||
           (verb->common && g_strv_contains(verb->common, name));
}

const struct lull_option **lull_verb_options(const struct lull_verb *verb, uint32_t *count,
                                             uint32_t *n_own)
{
    GPtrArray *options = g_ptr_array_new();
    for (const struct lull_option *o = verb->options; o && o->name; o++) {
        g_ptr_array_add(options, (void *)o);
    }
    *n_own = options->len;
    for (const struct lull_option *o = lull_common_options; o->name; o++) {
        if (takes_common(verb, o->name)) {
            g_ptr_array_add(options, (void *)o);
        }
    }
    *count = options->len;
    return (const struct lull_option **)g_ptr_array_free(options, FALSE);
}

const struct lull_verb *lull_verb_find(const char *name)
{
    for (uint32_t i = 0; lull_verbs[i]; i++) {
        if (strcmp(lull_verbs[i]->name, name) == 0) {
            return lull_verbs[i];
        }
    }
    return NULL;
}

/* Why a verb has no such option, although others have it; else "". */
static const char *why_absent(const char *name)
{
    static const struct {
        const char *name, *why;
    } known[] = {
        {"by", "; it is for tables with a row for each task, such as those of cputop and waits"},
        {"container", "; it is for verbs that choose tasks, such as those with --tid"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(known); i++) {
        if (strcmp(name, known[i].name) == 0) {
            return known[i].why;
        }
    }
    return "";
}

static void set_unknown_error(const struct lull_args *args, const char *name, size_t length,
                              GError **error)
{
    g_autofree char *word = g_strndup(name, length);
    g_autoptr(GPtrArray) names = g_ptr_array_new();
    for (uint32_t i = 0; i < args->n_values; i++) {
        g_ptr_array_add(names, (void *)args->values[i].option->name);
    }
    g_ptr_array_add(names, NULL);
    const char *near = lull_suggest(word, (const char *const *)names->pdata);
    if (near) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_USAGE,
                    "there is no option --%s; did you mean --%s?", word, near);
    } else {
        g_set_error(error, LULL_ERROR, LULL_ERROR_USAGE, "there is no option --%s%s", word,
                    why_absent(word));
    }
}

static bool parse_number(struct value *value, const char *shown, const char *text, GError **error)
{
    const bool is_limit = value->option->kind == LULL_OPTION_LIMIT;
    guint64 number = 0;
    if (!(is_limit && strcmp(text, "unlimited") == 0) &&
        !g_ascii_string_to_unsigned(text, 10, 0, INT64_MAX, &number, NULL)) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_USAGE,
                    "%s takes a whole number from 0%s, not “%s”", shown,
                    is_limit ? ", or unlimited" : "", text);
        return false;
    }
    value->number = (int64_t)number;
    return true;
}

static bool check_choice(const struct lull_option *option, const char *shown, const char *text,
                         GError **error)
{
    if (g_strv_contains(option->choices, text)) {
        return true;
    }
    g_autofree char *list = g_strjoinv(", ", (char **)option->choices);
    g_set_error(error, LULL_ERROR, LULL_ERROR_USAGE, "%s takes one of %s, not “%s”", shown, list,
                text);
    return false;
}

static void add_text(struct value *value, const char *text)
{
    if (!value->texts) {
        value->texts = g_ptr_array_new();
        g_ptr_array_add(value->texts, NULL);
    }
    g_ptr_array_insert(value->texts, (int)value->texts->len - 1, (void *)text);
}

/* Lists that are given several times add up; in lttng-analyses the last one counts, and its programs look at it, not
 * its parser of options. */
static const char *add_list(struct value *value, const char *text)
{
    if (!value->list) {
        value->list = g_string_new(text);
    } else if (value->is_last) {
        g_string_assign(value->list, text);
    } else {
        g_string_append_printf(value->list, ",%s", text);
    }
    return value->list->str;
}

static bool add_numbers(struct value *value, const char *shown, const char *text, GError **error)
{
    if (!value->numbers) {
        value->numbers = g_array_new(FALSE, FALSE, sizeof(int64_t));
    } else if (value->is_last) {
        g_array_set_size(value->numbers, 0);
    }
    if (!lull_numbers_parse(text, value->numbers)) {
        g_set_error(error, LULL_ERROR, value->is_last ? LULL_ERROR_QUESTION : LULL_ERROR_USAGE,
                    "%s takes whole numbers from 0 to %d with commas between, not “%s”", shown,
                    INT32_MAX, text);
        return false;
    }
    return true;
}

static bool has_empty_word(const char *text)
{
    return text[0] == ',' || text[0] == '\0' || g_str_has_suffix(text, ",") || strstr(text, ",,");
}

static bool set_value(struct value *value, const char *shown, const char *text, GError **error)
{
    const enum lull_option_kind kind = value->option->kind;
    if ((kind == LULL_OPTION_NUMBER || kind == LULL_OPTION_LIMIT) &&
        !parse_number(value, shown, text, error)) {
        return false;
    }
    if (kind == LULL_OPTION_CHOICE && !check_choice(value->option, shown, text, error)) {
        return false;
    }
    if (kind == LULL_OPTION_FILE && !text[0]) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_USAGE, "%s takes the name of a file", shown);
        return false;
    }
    if (kind == LULL_OPTION_FILE && strcmp(text, "-") == 0 &&
        strcmp(value->option->argument, "DIR") == 0) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_USAGE,
                    "%s makes a directory: '-', standard output, cannot hold one", shown);
        return false;
    }
    if (kind == LULL_OPTION_LIST && !value->is_last && has_empty_word(text)) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_USAGE,
                    "%s takes names with commas between, not “%s”", shown, text);
        return false;
    }
    if (kind == LULL_OPTION_NUMBERS && !add_numbers(value, shown, text, error)) {
        return false;
    }
    if (kind == LULL_OPTION_TEXTS) {
        add_text(value, text);
    } else if (kind == LULL_OPTION_LIST || kind == LULL_OPTION_NUMBERS) {
        text = add_list(value, text);
    }
    value->is_given = true;
    value->text = text;
    return true;
}

/* The state of going through the words. */
struct words {
    int argc, at;
    char *const *argv;
};

static bool take_next(struct words *words, struct value *value, const char *shown, GError **error)
{
    if (words->at + 1 >= words->argc) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_USAGE, "%s needs a value: %s %s", shown, shown,
                    value->option->argument);
        return false;
    }
    return set_value(value, shown, words->argv[++words->at], error);
}

/* The option of that name; for drop-in programs also of an unambiguous start of it. */
static struct value *find_long(const struct lull_args *args, const char *name, size_t length)
{
    struct value *found = NULL;
    uint32_t n_found = 0;
    for (uint32_t i = 0; i < args->n_values; i++) {
        const char *known = args->values[i].option->name;
        if (strncmp(known, name, length) != 0) {
            continue;
        }
        if (strlen(known) == length) {
            return &args->values[i];
        }
        found = &args->values[i];
        n_found++;
    }
    return args->verb->is_dropin && n_found == 1 ? found : NULL;
}

/* --name, --name=value, --name value */
static bool parse_long(struct lull_args *args, struct words *words, GError **error)
{
    const char *name = words->argv[words->at] + 2;
    size_t length = strcspn(name, "=");
    struct value *value = find_long(args, name, length);
    if (!value) {
        set_unknown_error(args, name, length, error);
        return false;
    }
    g_autofree char *shown = g_strdup_printf("--%s", value->option->name);
    if (value->option->kind == LULL_OPTION_FLAG) {
        if (name[length] && !value->option->argument) {
            g_set_error(error, LULL_ERROR, LULL_ERROR_USAGE, "%s takes no value", shown);
            return false;
        }
        value->is_given = true;
        value->text = name[length] ? name + length + 1 : NULL;
        return true;
    }
    if (name[length]) {
        return set_value(value, shown, name + length + 1, error);
    }
    return take_next(words, value, shown, error);
}

/* -x, -xyz for flags, -x value, -xvalue */
static bool parse_short(struct lull_args *args, struct words *words, GError **error)
{
    for (const char *letter = words->argv[words->at] + 1; *letter; letter++) {
        struct value *value = NULL;
        for (uint32_t i = 0; i < args->n_values; i++) {
            if (args->values[i].option->letter == *letter) {
                value = &args->values[i];
            }
        }
        if (!value) {
            g_set_error(error, LULL_ERROR, LULL_ERROR_USAGE, "there is no option -%.*s",
                        (int)(g_utf8_next_char(letter) - letter), letter);
            return false;
        }
        if (value->option->kind == LULL_OPTION_FLAG) {
            value->is_given = true;
            continue;
        }
        const char shown[] = {'-', *letter, '\0'};
        if (letter[1]) {
            return set_value(value, shown, letter + 1, error);
        }
        return take_next(words, value, shown, error);
    }
    return true;
}

/* A word that is no option: a trace, or the start of a command, whose options are its own. */
static void take_rest(struct lull_args *args, struct words *words)
{
    g_ptr_array_add(args->rest, words->argv[words->at]);
    while (args->verb->rest_is_command && ++words->at < words->argc) {
        g_ptr_array_add(args->rest, words->argv[words->at]);
    }
}

static bool parse_words(struct lull_args *args, struct words *words, GError **error)
{
    for (words->at = 0; words->at < words->argc; words->at++) {
        const char *word = words->argv[words->at];
        if (strcmp(word, "--") == 0) {
            args->n_before = args->rest->len;
            args->has_dashes = true;
            while (++words->at < words->argc) {
                g_ptr_array_add(args->rest, words->argv[words->at]);
            }
        } else if (word[0] == '-' && word[1] == '-') {
            if (!parse_long(args, words, error)) {
                return false;
            }
        } else if (word[0] == '-' && word[1]) {
            if (!parse_short(args, words, error)) {
                return false;
            }
        } else {
            take_rest(args, words);
        }
        if (lull_args_flag(args, "help")) {
            return true;
        }
    }
    return true;
}

struct lull_args *lull_args_parse(const struct lull_verb *verb, int argc, char *const *argv,
                                  GError **error)
{
    struct lull_args *args = g_new0(struct lull_args, 1);
    args->verb = verb;
    args->rest = g_ptr_array_new();
    args->added = g_ptr_array_new_with_free_func(g_free);
    uint32_t n_own;
    g_autofree const struct lull_option **options =
        lull_verb_options(verb, &args->n_values, &n_own);
    args->values = g_new0(struct value, args->n_values);
    for (uint32_t i = 0; i < args->n_values; i++) {
        args->values[i].option = options[i];
        args->values[i].number = -1;
        args->values[i].is_last = verb->is_dropin;
    }
    struct words words = {.argc = argc, .argv = argv};
    if (!parse_words(args, &words, error)) {
        lull_args_free(args);
        return NULL;
    }
    return args;
}

void lull_args_add_rest(struct lull_args *args, char *word)
{
    g_ptr_array_add(args->added, word);
    g_ptr_array_add(args->rest, word);
}

void lull_args_free(struct lull_args *args)
{
    if (args) {
        for (uint32_t i = 0; i < args->n_values; i++) {
            g_clear_pointer(&args->values[i].texts, g_ptr_array_unref);
            g_clear_pointer(&args->values[i].numbers, g_array_unref);
            if (args->values[i].list) {
                g_string_free(args->values[i].list, TRUE);
            }
        }
        g_free(args->values);
        g_ptr_array_unref(args->rest);
        g_ptr_array_unref(args->added);
        g_free(args);
    }
}

const struct lull_verb *lull_args_verb(const struct lull_args *args)
{
    return args->verb;
}

static const struct value *own_value(const struct lull_args *args, const char *name)
{
    for (uint32_t i = 0; i < args->n_values; i++) {
        if (strcmp(args->values[i].option->name, name) == 0) {
            return &args->values[i];
        }
    }
    return NULL;
}

bool lull_args_takes(const struct lull_args *args, const char *name)
{
    return own_value(args, name) != NULL;
}

/* NULL for a common option that the verb does not take: it was not given then. */
static const struct value *find_value(const struct lull_args *args, const char *name)
{
    const struct value *own = own_value(args, name);
    if (own) {
        return own;
    }
    for (const struct lull_option *o = lull_common_options; o->name; o++) {
        if (strcmp(o->name, name) == 0) {
            return NULL;
        }
    }
    g_error("verb %s reads an option --%s that no table declares", args->verb->name, name);
}

bool lull_args_flag(const struct lull_args *args, const char *name)
{
    const struct value *value = find_value(args, name);
    return value && value->is_given;
}

const char *lull_args_text(const struct lull_args *args, const char *name)
{
    const struct value *value = find_value(args, name);
    return value ? value->text : NULL;
}

const char *const *lull_args_texts(const struct lull_args *args, const char *name)
{
    const struct value *value = find_value(args, name);
    return value && value->texts ? (const char *const *)value->texts->pdata : NULL;
}

int64_t lull_args_number(const struct lull_args *args, const char *name)
{
    const struct value *value = find_value(args, name);
    return value ? value->number : -1;
}

struct lull_numbers lull_args_numbers(const struct lull_args *args, const char *name)
{
    const struct value *value = find_value(args, name);
    return lull_numbers_of(value ? value->numbers : NULL);
}

bool lull_args_is_dropin(const struct lull_args *args)
{
    return args->verb->is_dropin;
}

const char *const *lull_args_rest(const struct lull_args *args, uint32_t *count)
{
    *count = args->rest->len;
    return (const char *const *)args->rest->pdata;
}

uint32_t lull_args_before_dashes(const struct lull_args *args)
{
    return args->has_dashes ? args->n_before : args->rest->len;
}
