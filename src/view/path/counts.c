/* SPDX-License-Identifier: MIT */
/* What counters counted on a critical path: a table of its tasks, and members of JSON. */
#include "view/path/counts.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "view/path/text.h"
#include "view/table.h"
#include "view/words.h"

enum { MOST_TASKS = 10, COL_TASK = 0, COL_TIME, COL_COUNTERS };

/* The number of a counter, or LULL_NONE. */
static uint32_t find(const struct lull_path_counts *counts, const char *const *names)
{
    for (uint32_t i = 0; i < counts->n; i++) {
        if (g_strv_contains(names, lull_path_counts_name(counts, i))) {
            return i;
        }
    }
    return LULL_NONE;
}

/* Instructions per cycle; negative: not known. */
static double ipc_of(const struct lull_path_counts *counts, const uint64_t *values)
{
    static const char *const cycles[] = {"cycles", "cpu-cycles", NULL};
    static const char *const instructions[] = {"instructions", NULL};
    const uint32_t c = find(counts, cycles), i = find(counts, instructions);
    return c == LULL_NONE || i == LULL_NONE || values[c] == 0
               ? -1
               : (double)values[i] / (double)values[c];
}

/* ---- JSON ---- */

void path_counts_add(struct json_object *object, const struct lull_path_counts *counts,
                     const struct lull_counted *counted)
{
    if (!counted->is_known) {
        return;
    }
    struct json_object *member = json_object_new_object();
    for (uint32_t i = 0; i < counts->n; i++) {
        lull_json_add_number(member, lull_path_counts_name(counts, i),
                             (int64_t)MIN(counted->values[i], INT64_MAX));
    }
    json_object_object_add(object, "counters", member);
}

/* ---- text ---- */

static void set_columns(struct lull_column *columns, const struct lull_path_counts *counts,
                        bool has_ipc, GStringChunk *texts)
{
    uint32_t n = COL_COUNTERS;
    columns[COL_TASK] =
        (struct lull_column){.title = "TASK", .type = LULL_COLUMN_TEXT, .flags = LULL_COLUMN_KEEP};
    columns[COL_TIME] = (struct lull_column){.title = "TIME", .type = LULL_COLUMN_DURATION};
    for (uint32_t i = 0; i < counts->n; i++) {
        const char *name = lull_path_counts_name(counts, i);
        g_autofree char *upper = g_ascii_strup(name, -1);
        columns[n++] = (struct lull_column){
            .title = g_string_chunk_insert(texts, upper),
            .type = g_str_has_suffix(name, "-clock") ? LULL_COLUMN_DURATION : LULL_COLUMN_COUNT};
    }
    if (has_ipc) {
        columns[n] = (struct lull_column){.title = "IPC", .type = LULL_COLUMN_REAL, .digits = 2};
    }
}

static void add_row(const struct text_view *view, struct lull_table *table,
                    const struct lull_task_share *share, const uint64_t *sums)
{
    const struct lull_path_counts *counts = view->style->counts;
    g_autoptr(GString) name = g_string_new(NULL);
    lull_task_append(name, share->comm, share->tid, !view->style->unicode);
    if (view->shows_hosts) {
        g_string_append_printf(name, " on %s", lull_path_host_name(view->path, share->host));
    }
    lull_table_add_row(table);
    lull_table_set_text(table, COL_TASK, name->str);
    lull_table_set_number(table, COL_TIME, share->duration_ns);
    for (uint32_t i = 0; i < counts->n; i++) {
        lull_table_set_number(table, COL_COUNTERS + i, (int64_t)MIN(sums[i], INT64_MAX));
    }
    const double ipc = ipc_of(counts, sums);
    if (ipc >= 0) {
        lull_table_set_real(table, COL_COUNTERS + counts->n, ipc);
    }
}

bool text_print_counts(struct text_view *view, GError **error)
{
    const struct lull_path_counts *counts = view->style->counts;
    const struct lull_path *path = view->path;
    uint32_t n_rows = 0;
    if (!counts || counts->n == 0) {
        return true;
    }
    g_autoptr(GStringChunk) texts = g_string_chunk_new(256);
    g_autofree struct lull_column *columns = g_new0(struct lull_column, counts->n + 4);
    g_autofree uint64_t *ones = g_new(uint64_t, counts->n + 1);
    for (uint32_t i = 0; i < counts->n; i++) {
        ones[i] = 1; /* whether it could be known */
    }
    set_columns(columns, counts, ipc_of(counts, ones) >= 0, texts);
    struct lull_table *table = lull_table_new(columns);
    for (uint32_t i = 0; i < path->n_by_task && (view->style->full || n_rows < MOST_TASKS); i++) {
        if (counts->by_task[i].is_known) {
            add_row(view, table, &path->by_task[i], counts->by_task[i].values);
            n_rows++;
        }
    }
    lull_out_text(&view->out, "\nCounted on the path, in each task while it was on a CPU:\n");
    const bool is_good = lull_table_print(table, view->out.file, view->style, error);
    lull_table_free(table);
    return is_good;
}
