/* SPDX-License-Identifier: MIT */
/* Prints the tables of an analysis as tab-separated values.
 *
 *   cc analysis_tables.c $(pkg-config --cflags --libs lull) -o analysis_tables
 *   ./analysis_tables TRACE ANALYSIS [SETTING=VALUE]...
 *
 * Shows a question with settings, and the cells of its tables. */
#include <lull/lull.h>

#include <stdio.h>
#include <string.h>

static void print_cell(const struct lull_cell *cell)
{
    if (cell->class == LULL_CELL_EMPTY || cell->class == LULL_CELL_UNKNOWN) {
        printf("?");
    } else if (cell->class == LULL_CELL_PROCESS) {
        printf("%s/%d", cell->text ? cell->text : "?", cell->tid);
    } else if (cell->text) {
        printf("%s", cell->text);
    } else if (cell->is_real || cell->class == LULL_CELL_RATIO) {
        printf("%g", cell->real);
    } else {
        printf("%" G_GINT64_FORMAT, cell->integer);
    }
}

static void print_note(void *user, const char *note)
{
    printf("# %s\n", note);
}

static void print_table(void *user, struct lull_rows *rows)
{
    const char *subtitle = lull_rows_subtitle(rows);
    printf("# %s: %s%s%s\n", lull_rows_name(rows), lull_rows_title(rows), subtitle ? ", " : "",
           subtitle ? subtitle : "");
    for (uint32_t i = 0; i < lull_rows_column_count(rows); i++) {
        printf("%s%s", i > 0 ? "\t" : "", lull_rows_column(rows, i)->key);
    }
    printf("\n");
    for (uint64_t row = 0; row < lull_rows_count(rows); row++) {
        for (uint32_t i = 0; i < lull_rows_column_count(rows); i++) {
            printf("%s", i > 0 ? "\t" : "");
            print_cell(lull_rows_cell(rows, row, i));
        }
        printf("\n");
    }
}

static bool set(struct lull_query *query, const char *setting, GError **error)
{
    char **parts = g_strsplit(setting, "=", 2);
    bool done = lull_query_set(query, parts[0], parts[1], error);
    g_strfreev(parts);
    return done;
}

int main(int argc, char **argv)
{
    static const struct lull_result_visitor visitor = {.note = print_note, .table = print_table};
    if (argc < 3) {
        fprintf(stderr, "usage: %s TRACE ANALYSIS [SETTING=VALUE]...\nanalyses:", argv[0]);
        for (uint32_t i = 0; lull_analysis_name(i); i++) {
            fprintf(stderr, " %s", lull_analysis_name(i));
        }
        fprintf(stderr, "\nliblull %s\n", lull_version());
        return 2;
    }
    GError *error = NULL;
    struct lull_session *session = lull_session_new();
    struct lull_query *query = lull_query_new(argv[2], &error);
    bool done = query && lull_session_add(session, argv[1], &error);
    for (int i = 3; done && i < argc; i++) {
        done = set(query, argv[i], &error);
    }
    if (done) {
        lull_query_limit(query, -1, INT64_MIN, INT64_MAX);
        done = lull_query_run(query, session, &visitor, NULL, &error);
    }
    if (!done) {
        fprintf(stderr, "%s: %s\n", argv[0], error->message);
    }
    lull_query_free(query);
    lull_session_free(session);
    return !done;
}
