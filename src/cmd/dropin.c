/* SPDX-License-Identifier: MIT */
/* Makes the verb of an analysis behave as the program of that name in lttng-analyses: same name,
 * same options, same protocol. */
#include "cmd/dropin.h"

#include <stdio.h>
#include <string.h>

#include "cmd/lami_args.h"
#include "cmd/options.h"
#include "view/linebuf.h"

#define PREFIX "lttng-"
#define MI_SUFFIX "-mi"

static bool has_option(const GArray *options, const char *name)
{
    for (guint i = 0; i < options->len; i++) {
        if (strcmp(g_array_index(options, struct lull_option, i).name, name) == 0) {
            return true;
        }
    }
    return false;
}

/* Those that are not there yet. */
static void add_options(GArray *options, const struct lull_option *more)
{
    for (; more && more->name; more++) {
        if (!has_option(options, more->name)) {
            g_array_append_val(options, *more);
        }
    }
}

struct lull_verb *lull_dropin_verb(const char *program)
{
    g_autofree char *base = g_path_get_basename(program);
    if (!g_str_has_prefix(base, PREFIX)) {
        return NULL;
    }
    g_autofree char *name = g_strdup(base + strlen(PREFIX));
    const bool is_mi = g_str_has_suffix(name, MI_SUFFIX);
    if (is_mi) {
        name[strlen(name) - strlen(MI_SUFFIX)] = '\0';
    }
    const struct lull_verb *verb = lull_verb_find(name);
    if (!verb || !verb->analysis || !verb->analysis->class) {
        return NULL;
    }
    GArray *options = g_array_new(TRUE, TRUE, sizeof(struct lull_option));
    add_options(options, verb->options);
    add_options(options, lull_dropin_options);
    if (is_mi) {
        add_options(options, lull_lami_options);
    }
    struct lull_verb *dropin = g_memdup2(verb, sizeof *verb);
    dropin->name = g_steal_pointer(&base);
    dropin->options = (const struct lull_option *)(void *)g_array_free(options, FALSE);
    dropin->is_dropin = true;
    dropin->is_mi = is_mi;
    return dropin;
}

void lull_dropin_free(struct lull_verb *verb)
{
    g_free((void *)verb->name);
    g_free((void *)verb->options);
    g_free(verb);
}

void lull_dropin_print_error(const char *message)
{
    struct lull_linebuf line = {0};
    lull_linebuf_literal(&line, "{\"error-message\":");
    lull_linebuf_json(&line, message, strlen(message));
    lull_linebuf_literal(&line, "}\n");
    fwrite(line.data, 1, line.length, stdout);
    lull_linebuf_free(&line);
}
