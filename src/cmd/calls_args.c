/* SPDX-License-Identifier: MIT */
/* The list of names that --symbols gives, and what memory is weighed by. */
#include "cmd/calls_args.h"

#include "cmd/options.h"
#include "symbol/kallsyms.h"

const char *const lull_heap_weights[] = {
    [LULL_HEAP_LIVE] = "live",           [LULL_HEAP_PEAK] = "peak",
    [LULL_HEAP_ALLOCATED] = "allocated", [LULL_HEAP_ALLOCATIONS] = "allocations",
    [LULL_HEAP_TEMPORARY] = "temporary", [LULL_HEAP_WEIGHTS] = NULL,
};

enum lull_heap_weight lull_args_heap_weight(const struct lull_args *args, const char *option)
{
    const char *given = lull_args_text(args, option);
    enum lull_heap_weight weight = LULL_HEAP_LIVE;
    while (given && !g_str_equal(lull_heap_weights[weight], given)) {
        weight++;
    }
    return weight;
}

bool lull_args_symbols(const struct lull_args *args, struct lull_symbol_table **table,
                       GError **error)
{
    const char *path = lull_args_text(args, "symbols");
    g_autofree char *text = NULL;
    gsize length;
    *table = NULL;
    if (!path || g_file_test(path, G_FILE_TEST_IS_DIR)) { /* the session has directories */
        return true;
    }
    g_autoptr(GError) cause = NULL;
    if (!g_file_get_contents(path, &text, &length, &cause)) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_QUESTION, "--symbols: %s", cause->message);
        return false;
    }
    *table = lull_kallsyms_parse(text, length, NULL);
    if (!*table) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_QUESTION,
                    "--symbols: %s: no line names a function; each is as nm prints it: "
                    "'0000000000401aac T main'",
                    path);
    }
    return *table != NULL;
}

bool lull_args_takes_symbols_file(const struct lull_args *args)
{
    const struct lull_option *options = lull_args_verb(args)->options;
    while (options->name && !g_str_equal(options->name, "symbols")) {
        options++;
    }
    return options->name && options->takes_either;
}
