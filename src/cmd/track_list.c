/* SPDX-License-Identifier: MIT */
/* Lists the kinds of waits that rules can name: a table for people, JSON for programs. */
#include "cmd/track_list.h"

#include <stdio.h>

#include "live/tracker.h"
#include "view/table.h"

static const struct lull_column columns[] = {
    {.title = "KIND", .key = "kind", .type = LULL_COLUMN_TEXT, .flags = LULL_COLUMN_KEEP},
    {.title = "HERE", .key = "lacks", .type = LULL_COLUMN_TEXT, .flags = LULL_COLUMN_JSON_ONLY},
    {.title = "HERE", .type = LULL_COLUMN_TEXT, .flags = LULL_COLUMN_TEXT_ONLY},
    {.title = "FROM … TO", .key = "help", .type = LULL_COLUMN_TEXT, .flags = LULL_COLUMN_WRAP},
    {0},
};

static void add_row(struct lull_table *table, const struct lull_track_kind *kind, const char *lacks)
{
    const char *what = lacks == lull_tracker_needs_bpf    ? "needs "
                       : kind->measure == LULL_TRACK_MARK ? "no "
                                                          : "no tracepoint ";
    g_autofree char *here = lacks ? g_strdup_printf("no: %s%s", what, lacks) : NULL;
    lull_table_add_row(table);
    lull_table_set_text(table, 0, kind->name);
    if (lacks) {
        lull_table_set_text(table, 1, lacks);
    }
    lull_table_set_text(table, 2, here ? here : "yes");
    lull_table_set_text(table, 3, kind->help);
}

int lull_track_list(const struct lull_args *args, GError **error)
{
    const char *lacks[LULL_TRACK_MEASURES];
    uint32_t n_words;
    bool done;
    g_autofree char *why = NULL;
    lull_args_rest(args, &n_words);
    if (n_words) {
        g_set_error_literal(error, LULL_ERROR, LULL_ERROR_USAGE,
                            "--list takes neither rules nor a command");
        return 2;
    }
    if (!lull_tracker_lacks(lull_args_text(args, "backend"), lacks, &why, error)) {
        return 1;
    }
    struct lull_table *table = lull_table_new(columns);
    for (const struct lull_track_kind *kind = lull_track_kinds; kind->name; kind++) {
        add_row(table, kind, lacks[kind->measure]);
    }
    if (lull_args_flag(args, "json")) {
        fputs("{\"lull_track\": 1,\n \"kinds\": ", stdout);
        done = lull_table_print_json(table, stdout, error);
        fputs("}\n", stdout);
    } else {
        struct lull_view_style style;
        lull_view_style_init(&style, stdout, lull_args_text(args, "color"));
        done = lull_table_print(table, stdout, &style, error);
        printf("%s%s", why ? why : "", why ? "\n" : "");
    }
    lull_table_free(table);
    return done ? 0 : 1;
}
