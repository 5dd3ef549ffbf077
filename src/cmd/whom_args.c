/* SPDX-License-Identifier: MIT */
/* Reads --tid, --pid, --comm and --container. */
#include "cmd/whom_args.h"

static const char *const names[] = {"tid", "pid", "comm", "container"};

struct lull_selection lull_args_whom(const struct lull_args *args)
{
    const struct lull_numbers tids = lull_args_numbers(args, "tid");
    const struct lull_numbers pids = lull_args_numbers(args, "pid");
    struct lull_selection whom = LULL_SELECT_ALL;
    whom.tids = tids.items;
    whom.n_tids = tids.count;
    whom.pids = pids.items;
    whom.n_pids = pids.count;
    whom.comm = lull_args_text(args, "comm");
    whom.container = lull_args_text(args, "container");
    return whom;
}

uint32_t lull_args_whom_given(const struct lull_args *args)
{
    uint32_t n = 0;
    for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
        n += lull_args_text(args, names[i]) != NULL;
    }
    return n;
}

char *lull_args_whom_text(const struct lull_args *args)
{
    GString *text = g_string_new(NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
        const char *given = lull_args_text(args, names[i]);
        if (given) {
            g_string_append_printf(text, "%s--%s %s", text->len ? " " : "", names[i], given);
        }
    }
    return g_string_free(text, FALSE);
}
