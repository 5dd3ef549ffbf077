/* SPDX-License-Identifier: MIT */
/* lull critpath --period: a table of the instances and the sum of their paths, or the paths of some
 * of them. */
#include "cmd/critpath_period.h"

#include <stdio.h>
#include <string.h>

#include "cmd/instance_query.h"
#include "view/words.h"

/* What of the instances is to be shown. */
enum choice { CHOOSE_TABLE, CHOOSE_SUM, CHOOSE_SLOWEST, CHOOSE_EACH, CHOOSE_ONE };

static bool check_usage(const struct lull_args *args, enum choice *choice, GError **error)
{
    const bool given[] = {
        [CHOOSE_SUM] = lull_args_flag(args, "aggregate"),
        [CHOOSE_SLOWEST] = lull_args_number(args, "slowest") >= 0,
        [CHOOSE_EACH] = lull_args_flag(args, "each"),
        [CHOOSE_ONE] = lull_args_number(args, "instance") >= 0,
    };
    uint32_t n = 0;
    *choice = CHOOSE_TABLE;
    for (uint32_t i = 0; i < G_N_ELEMENTS(given); i++) {
        n += given[i];
        *choice = given[i] ? i : *choice;
    }
    const char *wrong = n > 1 ? "choose one of --slowest, --each, --instance and --aggregate"
                        : lull_args_number(args, "request") >= 0
                            ? "--request is a path of its own: leave out --period"
                        : lull_args_flag(args, "unbounded")
                            ? "--unbounded and --period do not go together"
                        : lull_args_flag(args, "json") && lull_args_flag(args, "folded")
                            ? "choose one of --json and --folded"
                        : lull_critpath_files_on_stdout(args) > 0
                            ? "with --period, --svg and --perfetto need a file, not '-'"
                            : NULL;
    if (wrong) {
        g_set_error_literal(error, LULL_ERROR, LULL_ERROR_USAGE, wrong);
    }
    return !wrong;
}

/* ---- which instances ---- */

struct row {
    uint32_t position;
    int64_t took_ns;
};

static gint slowest_first(gconstpointer a, gconstpointer b)
{
    const struct row *x = a, *y = b;
    if (x->took_ns != y->took_ns) {
        return x->took_ns < y->took_ns ? 1 : -1;
    }
    return x->position < y->position ? -1 : x->position > y->position;
}

static const struct lull_instance *instance_at(const struct lull_instance_query *query,
                                               uint32_t position)
{
    return &g_array_index(query->instances->list, struct lull_instance, position);
}

/* Keeps of the wanted ones the slowest that have a path, the slowest first. */
static void keep_slowest(struct lull_instance_query *query, int64_t count)
{
    g_autoptr(GArray) rows = g_array_new(FALSE, FALSE, sizeof(struct row));
    for (uint32_t i = 0; i < query->n_wanted; i++) {
        const struct lull_instance *instance = instance_at(query, query->wanted[i]);
        const struct row row = {query->wanted[i], instance->end_ns - instance->start_ns};
        if (lull_instance_has_path(instance)) {
            g_array_append_val(rows, row);
        }
    }
    g_array_sort(rows, slowest_first);
    query->n_wanted = (uint32_t)MIN((int64_t)rows->len, count);
    for (uint32_t i = 0; i < query->n_wanted; i++) {
        query->wanted[i] = g_array_index(rows, struct row, i).position;
    }
}

static bool keep_one(struct lull_instance_query *query, int64_t number, GError **error)
{
    for (uint32_t i = 0; i < query->n_wanted; i++) {
        const struct lull_instance *instance = instance_at(query, query->wanted[i]);
        if (instance->number != number) {
            continue;
        }
        query->wanted[0] = query->wanted[i];
        query->n_wanted = 1;
        if (lull_instance_has_path(instance)) {
            return true;
        }
        g_set_error(error, LULL_ERROR, LULL_ERROR_QUESTION,
                    "instance %" G_GINT64_FORMAT " has no path: %s", number,
                    !instance->is_complete        ? "it did not end in the recording"
                    : instance->task == LULL_NONE ? "the task that did it is not known"
                                                  : "it took no time");
        return false;
    }
    g_set_error(error, LULL_ERROR, LULL_ERROR_QUESTION,
                "there is no instance %" G_GINT64_FORMAT
                " of the period: there are %u ('lull critpath --period' lists them)",
                number, query->n_wanted);
    return false;
}

static bool choose(struct lull_instance_query *query, enum choice choice, GError **error)
{
    if (choice == CHOOSE_SLOWEST) {
        keep_slowest(query, lull_args_number(query->args, "slowest"));
    }
    if (choice == CHOOSE_ONE &&
        !keep_one(query, lull_args_number(query->args, "instance"), error)) {
        return false;
    }
    const char *drawing = lull_args_text(query->args, "svg")        ? "--svg"
                          : lull_args_text(query->args, "perfetto") ? "--perfetto"
                                                                    : NULL;
    if (drawing && (choice == CHOOSE_TABLE || choice == CHOOSE_SUM || query->n_wanted != 1)) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_QUESTION,
                    "%s draws one path: choose it with --instance N or --slowest 1", drawing);
        return false;
    }
    return true;
}

/* ---- showing ---- */

#define DEFAULT_ROWS 30
#define DEFAULT_STEPS 100

static struct lull_path *path_of(const struct lull_instance_query *query, uint32_t position)
{
    const struct lull_instance *instance = instance_at(query, position);
    return lull_execgraph_path(query->eg, query->session, query->sync, instance->task,
                               instance->start_ns, instance->end_ns, LULL_CRITPATH_BOUNDED);
}

static void show_heading(const struct lull_instance_query *query,
                         const struct lull_instance *instance, bool is_first,
                         const struct lull_view_style *style)
{
    g_autoptr(GString) text = g_string_new(is_first ? NULL : "\n");
    if (query->instances->what) {
        lull_clean_append(text, query->instances->what, !style->unicode);
        g_string_append(text, ", ");
    }
    g_string_append_printf(text, "instance %u", instance->number);
    if (instance->captures) {
        g_string_append(text, ": ");
        lull_clean_append(text, instance->captures, !style->unicode);
    }
    fprintf(stdout, "%s\n", text->str);
}

static bool show_path(const struct lull_instance_query *query, uint32_t position, bool is_first,
                      bool is_json, const struct lull_view_style *style, GError **error)
{
    const struct lull_instance *instance = instance_at(query, position);
    struct lull_path *path = path_of(query, position);
    bool done = lull_critpath_write_files(query->args, path, style, error);
    if (done && is_json) {
        fprintf(stdout, "%s\n{\"number\":%u,\"path\":", is_first ? "" : ",", instance->number);
        done = lull_view_path_json(path, stdout, style, error);
        fputs("}", stdout);
    } else if (done) {
        show_heading(query, instance, is_first, style);
        done = lull_view_path_text(path, stdout, style, error);
    }
    lull_path_free(path);
    return done;
}

static bool show_paths(const struct lull_instance_query *query, bool is_json, GError **error)
{
    struct lull_view_style style;
    bool is_first = true;
    lull_critpath_style(query->args, DEFAULT_STEPS, &style);
    for (uint32_t i = 0; i < query->n_wanted; i++) {
        if (!lull_instance_has_path(instance_at(query, query->wanted[i]))) {
            continue;
        }
        if (!show_path(query, query->wanted[i], is_first, is_json, &style, error)) {
            return false;
        }
        is_first = false;
    }
    return true;
}

static bool show_json(const struct lull_instance_query *query,
                      const struct lull_instance_paths *paths, bool has_paths, GError **error)
{
    fputs("{\"version\":1,\n", stdout);
    if (!lull_view_instances_json(paths, stdout, error)) {
        return false;
    }
    fputs(",\n\"paths\":[", stdout);
    if (has_paths && !show_paths(query, true, error)) {
        return false;
    }
    fputs("]}\n", stdout);
    return true;
}

static bool show_text(const struct lull_instance_query *query,
                      const struct lull_instance_paths *paths, enum choice choice, GError **error)
{
    struct lull_view_style style;
    lull_critpath_style(query->args, DEFAULT_ROWS, &style);
    if (choice == CHOOSE_SLOWEST || choice == CHOOSE_EACH || choice == CHOOSE_ONE) {
        if (!show_paths(query, false, error)) {
            return false;
        }
        if (paths->n_chosen == 1) {
            return true;
        }
        fputs("\n", stdout);
    }
    if (choice == CHOOSE_TABLE || choice == CHOOSE_EACH || paths->n_chosen == 0) {
        if (!lull_view_instances_text(paths, stdout, &style, error)) {
            return false;
        }
        fputs("\n", stdout);
    }
    return lull_view_sum_text(paths, stdout, &style, error);
}

static bool show(struct lull_instance_query *query, enum choice choice, GError **error)
{
    lull_instance_query_find_paths(query, query->wanted, query->n_wanted);
    const struct lull_instance_paths paths = {
        .session = query->session,
        .sync = query->sync,
        .model = query->model,
        .instances = query->instances,
        .portions = query->portions,
        .samples = query->samples,
        .chosen = query->wanted,
        .n_chosen = query->n_wanted,
    };
    if (lull_args_flag(query->args, "folded")) {
        return lull_view_sum_folded(&paths, stdout, error);
    }
    const bool has_paths =
        choice == CHOOSE_SLOWEST || choice == CHOOSE_EACH || choice == CHOOSE_ONE;
    return lull_args_flag(query->args, "json") ? show_json(query, &paths, has_paths, error)
                                               : show_text(query, &paths, choice, error);
}

int lull_critpath_period_run(const struct lull_args *args, GError **error)
{
    enum choice choice;
    struct lull_instance_query query;
    int status = 2;
    if (!check_usage(args, &choice, error)) {
        return status;
    }
    if (lull_instance_query_read(&query, args, &status, error)) {
        status = choose(&query, choice, error) && show(&query, choice, error) ? 0 : 1;
        status |= lull_args_report_damage(query.session);
    }
    lull_instance_query_clear(&query);
    return status;
}
