/* lull critpath --period: a table of the instances and the sum of their paths, or the paths of some
 * of them. */
#include "cmd/critpath_period.h"

#include <stdio.h>
#include <string.h>

#include "cmd/instance_args.h"
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
                            : NULL;
    if (wrong) {
        g_set_error_literal(error, LULL_ERROR, LULL_ERROR_USAGE, wrong);
    }
    return !wrong;
}

/* ---- which instances ---- */

struct row {
    uint32_t place;
    int64_t took_ns;
};

static gint slowest_first(gconstpointer a, gconstpointer b)
{
    const struct row *x = a, *y = b;
    if (x->took_ns != y->took_ns) {
        return x->took_ns < y->took_ns ? 1 : -1;
    }
    return x->place < y->place ? -1 : x->place > y->place;
}

static const struct lull_instance *instance_at(const struct lull_asked *asked, uint32_t place)
{
    return &g_array_index(asked->instances->list, struct lull_instance, place);
}

/* Keeps of the wanted ones the slowest that have a path, the slowest first. */
static void keep_slowest(struct lull_asked *asked, int64_t count)
{
    g_autoptr(GArray) rows = g_array_new(FALSE, FALSE, sizeof(struct row));
    for (uint32_t i = 0; i < asked->n_wanted; i++) {
        const struct lull_instance *instance = instance_at(asked, asked->wanted[i]);
        const struct row row = {asked->wanted[i], instance->end_ns - instance->begin_ns};
        if (lull_instance_has_path(instance)) {
            g_array_append_val(rows, row);
        }
    }
    g_array_sort(rows, slowest_first);
    asked->n_wanted = (uint32_t)MIN((int64_t)rows->len, count);
    for (uint32_t i = 0; i < asked->n_wanted; i++) {
        asked->wanted[i] = g_array_index(rows, struct row, i).place;
    }
}

static bool keep_one(struct lull_asked *asked, int64_t number, GError **error)
{
    for (uint32_t i = 0; i < asked->n_wanted; i++) {
        const struct lull_instance *instance = instance_at(asked, asked->wanted[i]);
        if (instance->number != number) {
            continue;
        }
        asked->wanted[0] = asked->wanted[i];
        asked->n_wanted = 1;
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
                number, asked->n_wanted);
    return false;
}

static bool choose(struct lull_asked *asked, enum choice choice, GError **error)
{
    if (choice == CHOOSE_SLOWEST) {
        keep_slowest(asked, lull_args_number(asked->args, "slowest"));
    }
    if (choice == CHOOSE_ONE &&
        !keep_one(asked, lull_args_number(asked->args, "instance"), error)) {
        return false;
    }
    const char *drawing = lull_args_text(asked->args, "svg")        ? "--svg"
                          : lull_args_text(asked->args, "perfetto") ? "--perfetto"
                                                                    : NULL;
    if (drawing && (choice == CHOOSE_TABLE || choice == CHOOSE_SUM || asked->n_wanted != 1)) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_QUESTION,
                    "%s draws one path: choose it with --instance N or --slowest 1", drawing);
        return false;
    }
    return true;
}

/* ---- showing ---- */

#define DEFAULT_ROWS 30
#define DEFAULT_STEPS 100

static struct lull_path *path_of(const struct lull_asked *asked, uint32_t place)
{
    const struct lull_instance *instance = instance_at(asked, place);
    return lull_execgraph_path(asked->eg, asked->session, asked->sync, instance->task,
                               instance->begin_ns, instance->end_ns, LULL_CRITPATH_BOUNDED);
}

static void show_heading(const struct lull_asked *asked, const struct lull_instance *instance,
                         bool is_first, const struct lull_view_style *style)
{
    g_autoptr(GString) text = g_string_new(is_first ? NULL : "\n");
    if (asked->instances->what) {
        lull_clean_append(text, asked->instances->what, !style->unicode);
        g_string_append(text, ", ");
    }
    g_string_append_printf(text, "instance %u", instance->number);
    if (instance->captures) {
        g_string_append(text, ": ");
        lull_clean_append(text, instance->captures, !style->unicode);
    }
    fprintf(stdout, "%s\n", text->str);
}

static bool show_path(const struct lull_asked *asked, uint32_t place, bool is_first, bool is_json,
                      const struct lull_view_style *style, GError **error)
{
    const struct lull_instance *instance = instance_at(asked, place);
    struct lull_path *path = path_of(asked, place);
    bool done = lull_critpath_write_files(asked->args, path, style, error);
    if (done && is_json) {
        fprintf(stdout, "%s\n{\"number\":%u,\"path\":", is_first ? "" : ",", instance->number);
        done = lull_view_path_json(path, stdout, style, error);
        fputs("}", stdout);
    } else if (done) {
        show_heading(asked, instance, is_first, style);
        done = lull_view_path_text(path, stdout, style, error);
    }
    lull_path_free(path);
    return done;
}

static bool show_paths(const struct lull_asked *asked, bool is_json, GError **error)
{
    struct lull_view_style style;
    bool is_first = true;
    lull_critpath_style(asked->args, DEFAULT_STEPS, &style);
    for (uint32_t i = 0; i < asked->n_wanted; i++) {
        if (!lull_instance_has_path(instance_at(asked, asked->wanted[i]))) {
            continue;
        }
        if (!show_path(asked, asked->wanted[i], is_first, is_json, &style, error)) {
            return false;
        }
        is_first = false;
    }
    return true;
}

static bool show_json(const struct lull_asked *asked, const struct lull_instance_paths *paths,
                      bool has_paths, GError **error)
{
    fputs("{\"version\":1,\n", stdout);
    if (!lull_view_instances_json(paths, stdout, error)) {
        return false;
    }
    fputs(",\n\"paths\":[", stdout);
    if (has_paths && !show_paths(asked, true, error)) {
        return false;
    }
    fputs("]}\n", stdout);
    return true;
}

static bool show_text(const struct lull_asked *asked, const struct lull_instance_paths *paths,
                      enum choice choice, GError **error)
{
    struct lull_view_style style;
    lull_critpath_style(asked->args, DEFAULT_ROWS, &style);
    if (choice == CHOOSE_SLOWEST || choice == CHOOSE_EACH || choice == CHOOSE_ONE) {
        if (!show_paths(asked, false, error)) {
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

static bool show(struct lull_asked *asked, enum choice choice, GError **error)
{
    lull_asked_find_paths(asked, asked->wanted, asked->n_wanted);
    const struct lull_instance_paths paths = {
        .session = asked->session,
        .sync = asked->sync,
        .model = asked->model,
        .instances = asked->instances,
        .portions = asked->portions,
        .samples = asked->samples,
        .chosen = asked->wanted,
        .n_chosen = asked->n_wanted,
    };
    if (lull_args_flag(asked->args, "folded")) {
        return lull_view_sum_folded(&paths, stdout, error);
    }
    const bool has_paths =
        choice == CHOOSE_SLOWEST || choice == CHOOSE_EACH || choice == CHOOSE_ONE;
    return lull_args_flag(asked->args, "json") ? show_json(asked, &paths, has_paths, error)
                                               : show_text(asked, &paths, choice, error);
}

int lull_critpath_period_run(const struct lull_args *args, GError **error)
{
    enum choice choice;
    struct lull_asked asked;
    int status = 2;
    if (!check_usage(args, &choice, error)) {
        return status;
    }
    if (lull_asked_read(&asked, args, &status, error)) {
        status = choose(&asked, choice, error) && show(&asked, choice, error) ? 0 : 1;
        status |= lull_args_report_damage(asked.session);
    }
    lull_asked_clear(&asked);
    return status;
}
