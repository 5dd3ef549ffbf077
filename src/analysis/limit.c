/* SPDX-License-Identifier: MIT */
/* A sink that hands on shorter tables. An analysis that knows which rows matter most has sorted them
 * so, and those that keep only the top have as few already. */
#include "analysis/limit.h"

static void pass_note(struct lull_sink *sink, const char *note)
{
    struct lull_sink *to = ((struct lull_limit *)sink)->to;
    to->note(to, note);
}

static void pass_table(struct lull_sink *sink, const struct lull_result_table *table)
{
    const struct lull_limit *limit = (struct lull_limit *)sink;
    struct lull_result_table shown = *table;
    if (table->class->kind != LULL_TABLE_HISTOGRAM && table->class->kind != LULL_TABLE_SERIES) {
        shown.n_rows = MIN(table->n_rows, limit->most);
        shown.n_left_out = table->n_rows - shown.n_rows;
    }
    limit->to->table(limit->to, &shown);
}

struct lull_sink *lull_limit_rows(struct lull_limit *limit, struct lull_sink *to, uint64_t most)
{
    *limit = (struct lull_limit){{.note = pass_note, .table = pass_table}, to, most};
    return most ? &limit->sink : to;
}
