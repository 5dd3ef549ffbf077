/* SPDX-License-Identifier: MIT */
/* lull critpath --period: a table of the instances and the sum of their paths, or the paths of some
 * of them. */
#include "cmd/critpath_period.h"

#include <stdio.h>
#include <string.h>

#include "cmd/critpath_calls.h"
#include "cmd/instance_query.h"
#include "cmd/program_out.h"
#include "cmd/slowest_args.h"
#include "view/words.h"

/* What of the instances is to be shown. */
enum choice { CHOOSE_TABLE, CHOOSE_SUM, CHOOSE_SLOWEST, CHOOSE_EACH, CHOOSE_ONE };

static bool check_usage(const struct lull_args *args, enum choice *choice, GError **error)
{
    const bool given[] = {
        [CHOOSE_SUM] = lull_args_flag(args, "aggregate"),
        [CHOOSE_SLOWEST] = lull_args_text(args, "slowest") != NULL,
        [CHOOSE_EACH] = lull_args_flag(args, "each"),
        [CHOOSE_ONE] = lull_args_number(args, "instance") >= 0,
    };
    uint32_t n = 0;
    *choice = CHOOSE_TABLE;
    for (uint32_t i = 0; i < G_N_ELEMENTS(given); i++) {
        n += given[i];
        *choice = given[i] ? i : *choice;
    }
    const char *wrong =
        n > 1 ? "choose one of --slowest, --each, --instance and --aggregate"
        : lull_args_number(args, "request") >= 0
            ? "--request is a path of its own: leave out --period"
        : lull_args_flag(args, "unbounded") ? "--unbounded and --period do not go together"
        : lull_args_flag(args, "calls") &&
                (*choice == CHOOSE_TABLE || *choice == CHOOSE_SUM || lull_args_flag(args, "folded"))
            ? "--calls is about single paths: choose them with --slowest, --each or "
              "--instance, and without --folded"
            : NULL;
    if (wrong) {
        g_set_error_literal(error, LULL_ERROR, LULL_ERROR_USAGE, wrong);
    }
    return !wrong && lull_critpath_check_forms(args, error);
}

/* ---- which instances ---- */

static GPtrArray *keep_one(const struct lull_instance_query *query, int64_t number, GError **error)
{
    GPtrArray *chosen = lull_instances_select(query->instances, &query->selection, -1);
    for (guint i = 0; i < chosen->len; i++) {
        const struct lull_instance *instance = chosen->pdata[i];
        if (instance->number == number) {
            g_ptr_array_set_size(chosen, 0);
            g_ptr_array_add(chosen, (gpointer)instance);
            return chosen;
        }
    }
    const bool is_period = query->periods;
    g_set_error(error, LULL_ERROR, LULL_ERROR_QUESTION,
                "there is no instance %" G_GINT64_FORMAT
                " of the %s: there are %u ('lull %s' lists them)",
                number, is_period ? "period" : "requests", chosen->len,
                is_period ? "critpath --period" : "requests");
    g_ptr_array_unref(chosen);
    return NULL;
}

/* The instances that are meant; NULL and an error. */
static GPtrArray *choose(const struct lull_instance_query *query, enum choice choice,
                         const struct lull_slowest *slowest, GError **error)
{
    const struct lull_args *args = query->args;
    g_autoptr(GPtrArray) chosen =
        choice == CHOOSE_ONE ? keep_one(query, lull_args_number(args, "instance"), error)
                             : lull_instances_select(query->instances, &query->selection,
                                                     choice == CHOOSE_SLOWEST ? G_MAXINT64 : -1);
    const char *drawing = lull_critpath_file_option(args);
    if (chosen && choice == CHOOSE_SLOWEST) {
        g_ptr_array_set_size(chosen, (gint)lull_slowest_of(slowest, chosen->len));
    }
    if (chosen && drawing && (choice == CHOOSE_TABLE || choice == CHOOSE_SUM || chosen->len != 1)) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_QUESTION,
                    "--%s draws one path: choose it with --instance N or --slowest 1", drawing);
        return NULL;
    }
    return g_steal_pointer(&chosen);
}

/* ---- showing ---- */

#define DEFAULT_ROWS 30
#define DEFAULT_STEPS 100

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

/* As text, or as JSON into `json`. */
static bool show_path(const struct lull_instance_query *query, const struct lull_instance *instance,
                      const struct lull_path *path, bool is_first, FILE *json,
                      const struct lull_view_style *style, GError **error)
{
    bool done = lull_critpath_write_files(query->args, path, style, error);
    if (done && json) {
        fprintf(json, "%s\n{\"number\":%u,\"path\":", is_first ? "" : ",", instance->number);
        done = lull_view_path_json(path, json, style, error);
        fputs("}", json);
    } else if (done && lull_critpath_files_on_stdout(query->args) == 0) {
        show_heading(query, instance, is_first, style);
        done = lull_view_path_text(path, stdout, style, error);
    }
    return done;
}

static void free_path(void *path)
{
    lull_path_free(path);
}

/* The paths of all that have one, and their calls: the session is read once for these. NULL: an error. */
static struct lull_paths_calls *read_calls(const struct lull_instance_query *query,
                                           const GPtrArray *chosen, GPtrArray *paths,
                                           GError **error)
{
    for (guint i = 0; i < chosen->len; i++) {
        if (lull_instance_has_path(chosen->pdata[i])) {
            struct lull_path *path = lull_instances_path(query->instances, chosen->pdata[i], error);
            if (!path) {
                return NULL;
            }
            g_ptr_array_add(paths, path);
        }
    }
    return lull_args_path_calls(query->args, query->session,
                                (const struct lull_path *const *)paths->pdata, paths->len);
}

/* Of all that have one; of one that was named it is an error to have none. */
static bool show_paths(const struct lull_instance_query *query, const GPtrArray *chosen, FILE *json,
                       GError **error)
{
    struct lull_view_style style;
    lull_critpath_style(query->args, DEFAULT_STEPS, &style);
    g_autoptr(GPtrArray) kept = g_ptr_array_new_with_free_func(free_path);
    const bool has_calls = lull_args_flag(query->args, "calls");
    struct lull_paths_calls *calls = has_calls ? read_calls(query, chosen, kept, error) : NULL;
    uint32_t n = 0;
    bool done = calls || !has_calls;
    for (guint i = 0; i < chosen->len && done; i++) {
        if (!lull_instance_has_path(chosen->pdata[i])) {
            continue;
        }
        struct lull_path *path =
            calls ? kept->pdata[n] : lull_instances_path(query->instances, chosen->pdata[i], error);
        style.calls = calls ? lull_paths_calls_of(calls, n) : NULL;
        done = path && show_path(query, chosen->pdata[i], path, n == 0, json, &style, error);
        n++;
        if (!calls) {
            lull_path_free(path);
        }
    }
    lull_paths_calls_free(calls);
    return done;
}

static bool show_json(const struct lull_instance_query *query,
                      const struct lull_instance_paths *paths, bool has_paths, FILE *file,
                      GError **error)
{
    fputs("{\"version\":1,\n", file);
    if (!lull_view_instances_json(paths, file, error)) {
        return false;
    }
    fputs(",\n\"paths\":[", file);
    if (has_paths && !show_paths(query, paths->chosen, file, error)) {
        return false;
    }
    fputs("]}\n", file);
    return true;
}

static bool show_text(const struct lull_instance_query *query,
                      const struct lull_instance_paths *paths, enum choice choice, GError **error)
{
    struct lull_view_style style;
    lull_critpath_style(query->args, DEFAULT_ROWS, &style);
    if (choice == CHOOSE_SLOWEST || choice == CHOOSE_EACH || choice == CHOOSE_ONE) {
        if (!show_paths(query, paths->chosen, NULL, error)) {
            return false;
        }
        if (paths->chosen->len == 1) { /* as it is if it goes to standard output as a picture */
            return true;
        }
        fputs("\n", stdout);
    }
    if (choice == CHOOSE_TABLE || choice == CHOOSE_EACH || paths->chosen->len == 0) {
        if (!lull_view_instances_text(paths, stdout, &style, error)) {
            return false;
        }
        fputs("\n", stdout);
    }
    return lull_view_sum_text(paths, stdout, &style, error);
}

static bool show(const struct lull_instance_query *query, const GPtrArray *chosen,
                 enum choice choice, GError **error)
{
    g_autoptr(GPtrArray) sum = lull_instances_sum(query->instances, chosen);
    const struct lull_instance_paths paths = lull_instance_paths_of(query->instances, chosen);
    if (lull_args_flag(query->args, "folded")) {
        return lull_view_sum_folded(&paths, stdout, error);
    }
    const bool has_paths =
        choice == CHOOSE_SLOWEST || choice == CHOOSE_EACH || choice == CHOOSE_ONE;
    if (!lull_program_out_is_wanted(query->args)) {
        return show_text(query, &paths, choice, error);
    }
    struct lull_program_out out;
    lull_program_out_start(&out, query->args);
    return lull_program_out_end(&out, show_json(query, &paths, has_paths, out.file, error), error);
}

static bool answer(const struct lull_instance_query *query, enum choice choice,
                   const struct lull_slowest *slowest, GError **error)
{
    g_autoptr(GPtrArray) chosen = choose(query, choice, slowest, error);
    if (!chosen) {
        return false;
    }
    /* Who names an instance wants to know why it has no path. */
    if (choice == CHOOSE_ONE && !lull_instance_has_path(chosen->pdata[0])) {
        return lull_instances_path(query->instances, chosen->pdata[0], error);
    }
    return show(query, chosen, choice, error);
}

int lull_critpath_period_run(const struct lull_args *args, GError **error)
{
    enum choice choice;
    struct lull_instance_query query;
    int status = 2;
    struct lull_slowest slowest;
    if (!check_usage(args, &choice, error) || !lull_args_slowest(args, &slowest, error)) {
        return status;
    }
    if (lull_instance_query_read(&query, args, &status, error)) {
        status = answer(&query, choice, &slowest, error) ? 0 : 1;
        status |= lull_args_report_damage(query.session);
    }
    lull_instance_query_clear(&query);
    return status;
}
