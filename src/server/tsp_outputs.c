/* SPDX-License-Identifier: MIT */
/* The outputs of an experiment. Bodies of views are written by states.c and usage.c, paths by paths.c, the
 * others by outputs.c. */
#include "server/tsp_private.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <lull/path.h>

#include "base/sums.h"
#include "server/outputs.h"
#include "server/params.h"
#include "server/paths.h"

#define P "org.eclipse.tracecompass."
enum { ITEMS_MOST = 100000, TIMES_MOST = 65536, TIMES_USUAL = 8192 };

enum view { VIEW_TASKS, VIEW_RESOURCES, VIEW_USAGE, VIEW_DECLARED, VIEW_CALLS };

/* In the order of their names. The ids are those of Trace Compass, so that layouts that were kept
 * fit. */
static const struct {
    enum view view;
    const char *id, *name, *description, *type;
} views[] = {
    {VIEW_DECLARED, "lull.states", "Declared States",
     "What users declare: the states of their file", "TIME_GRAPH"},
    {VIEW_CALLS, "lull.calls", "Call Stacks",
     "Which functions each task was in at every moment, a line for each level of calls",
     "TIME_GRAPH"},
    {VIEW_USAGE, P "analysis.os.linux.core.cpuusage.CpuUsageDataProvider", "CPU Usage",
     "Share of a CPU that each task used over time", "TREE_TIME_XY"},
    {VIEW_RESOURCES, P "internal.analysis.os.linux.core.threadstatus.ResourcesStatusDataProvider",
     "Resources Status", "What each CPU and interrupt did at every moment", "TIME_GRAPH"},
    {VIEW_TASKS, P "internal.analysis.os.linux.core.threadstatus.ThreadStatusDataProvider",
     "Thread Status", "What each task did at every moment, and what it waited for", "TIME_GRAPH"},
};

/* Declared states are there if a file is given, calls if they were recorded. */
static bool has_view(const struct served *served, uint32_t i)
{
    return views[i].view == VIEW_DECLARED ? served->about->states != NULL
           : views[i].view == VIEW_CALLS  ? served_has_calls(served)
                                          : true;
}

static void model_start(GString *out)
{
    g_string_append(out, "{\"model\":");
}

static void model_end(const struct served *served, GString *out)
{
    g_string_append(out, served->is_whole
                             ? ",\"status\":\"COMPLETED\",\"statusMessage\":\"Completed\"}"
                             : ",\"status\":\"RUNNING\",\"statusMessage\":\"Indexing\"}");
}

static void append_view(uint32_t i, GString *out)
{
    g_string_append_printf(out,
                           "{\"id\":\"%s\",\"name\":\"%s\",\"description\":\"%s\",\"type\":\"%s\"}",
                           views[i].id, views[i].name, views[i].description, views[i].type);
}

/* With the error, which is freed. */
static void refuse(struct tsp_call *call, GError *error)
{
    const bool is_bad = g_error_matches(error, LULL_ERROR, LULL_ERROR_USAGE);
    server_refuse(call->answer, is_bad ? 400 : 500, is_bad ? "Bad parameters" : "Failed",
                  error->message);
    g_error_free(error);
}

/* ---- parameters ---- */

/* The range or the times that are asked about; times are taken as a range with as many steps. */
static bool take_range(struct tsp_call *call)
{
    struct json_object *found;
    int64_t n = 0;
    struct server_range *range = &call->range;
    *range = (struct server_range){call->served->start_ns, call->served->end_ns, 0};
    if (json_object_object_get_ex(call->request->params, "requested_timerange", &found)) {
        if (!server_param_number(found, "start", &range->start_ns) ||
            !server_param_number(found, "end", &range->end_ns)) {
            return tsp_bad(call, "requested_timerange needs the numbers start and end");
        }
        if (!server_param_number(found, "nbTimes", &n)) {
            server_param_number(found, "nbSamples", &n);
        }
    } else if (json_object_object_get_ex(call->request->params, "requested_times", &found)) {
        n = json_object_is_type(found, json_type_array) ? (int64_t)json_object_array_length(found)
                                                        : 0;
        if (n == 0) {
            return tsp_bad(call, "requested_times needs a list of numbers");
        }
        range->start_ns = json_object_get_int64(json_object_array_get_idx(found, 0));
        range->end_ns = json_object_get_int64(json_object_array_get_idx(found, (size_t)n - 1));
    } else {
        return tsp_bad(call, "requested_timerange or requested_times is missing");
    }
    if (range->end_ns < range->start_ns) {
        return tsp_bad(call, "the range ends before it starts");
    }
    /* Nothing lies far outside, and there it could not be computed with. */
    const int64_t start_ns = call->served->start_ns, end_ns = call->served->end_ns;
    const int64_t length_ns = lull_sum(lull_sum(end_ns, -MAX(start_ns, -INT64_MAX)), 1000000000);
    range->start_ns =
        CLAMP(range->start_ns, lull_sum(start_ns, -length_ns), lull_sum(end_ns, length_ns));
    range->end_ns =
        CLAMP(range->end_ns, range->start_ns, lull_sum(end_ns, lull_product(length_ns, 2)));
    range->n = n ? (uint32_t)CLAMP(n, 1, TIMES_MOST) : TIMES_USUAL;
    return true;
}

static bool take_items(struct tsp_call *call)
{
    struct json_object *found;
    if (!json_object_object_get_ex(call->request->params, "requested_items", &found) ||
        !json_object_is_type(found, json_type_array)) {
        return tsp_bad(call, "requested_items needs a list of numbers");
    }
    const size_t n = json_object_array_length(found);
    if (n > ITEMS_MOST || n * call->range.n > 4u << 20) {
        return tsp_bad(call, "too many rows and times for one answer");
    }
    call->items = g_new(int64_t, MAX(n, 1));
    call->n_items = (uint32_t)n;
    for (size_t i = 0; i < n; i++) {
        struct json_object *item = json_object_array_get_idx(found, i);
        if (!json_object_is_type(item, json_type_int)) {
            return tsp_bad(call, "requested_items needs a list of numbers");
        }
        call->items[i] = json_object_get_int64(item);
    }
    return true;
}

/* ---- views ---- */

static const struct served_tree *tree_of(const struct tsp_call *call, enum view view)
{
    return view == VIEW_RESOURCES  ? &call->served->resources
           : view == VIEW_DECLARED ? &call->served->declared
           : view == VIEW_CALLS    ? &call->served->calls
                                   : &call->served->tasks;
}

static bool view_tree(struct tsp_call *call, enum view view, GString *out, GError **error)
{
    if (view != VIEW_USAGE) {
        server_tree(call->served, tree_of(call, view), view == VIEW_TASKS || view == VIEW_CALLS,
                    out);
        return true;
    }
    call->range = (struct server_range){call->served->start_ns, call->served->end_ns, 0};
    if (json_object_object_get_ex(call->request->params, "requested_timerange", NULL) &&
        !take_range(call)) {
        return true;
    }
    return server_users(call->served, &call->range, out, error);
}

static bool view_tooltip(struct tsp_call *call, enum view view, GString *out, GError **error)
{
    struct json_object *times;
    call->range.n = 1;
    if (!take_items(call)) {
        return true;
    }
    if (!json_object_object_get_ex(call->request->params, "requested_times", &times) ||
        !json_object_is_type(times, json_type_array) || json_object_array_length(times) == 0 ||
        call->n_items == 0) {
        tsp_bad(call, "a tooltip needs one of requested_times and one of requested_items");
        return true;
    }
    return server_tooltip(call->served, tree_of(call, view), call->items[0],
                          json_object_get_int64(json_object_array_get_idx(times, 0)), out, error);
}

static bool view_rows(struct tsp_call *call, enum view view, const char *what, GString *out,
                      GError **error)
{
    if (!take_range(call)) {
        return true;
    }
    if (strcmp(what, "arrows") == 0) {
        if (view == VIEW_TASKS) {
            return server_arrows(call->served, &call->range, out, error);
        }
        g_string_append(out, "[]");
        return true;
    }
    if (!take_items(call)) {
        return true;
    }
    if (view == VIEW_USAGE) {
        return server_usage(call->served, &call->range, call->items, call->n_items, out, error);
    }
    GError *wrong = NULL;
    struct server_filters *filters = server_filters_new(call->request->params, &wrong);
    if (wrong) {
        g_propagate_error(error, wrong);
        return false;
    }
    const bool is_done = server_states(call->served, tree_of(call, view), &call->range, call->items,
                                       call->n_items, filters, out, error);
    server_filters_free(filters);
    return is_done;
}

/* What is missing there. */
static void append_missing(GString *out, const struct lull_store_loss *loss)
{
    if (loss->events) {
        g_string_append_printf(out, "%" PRIu64 " event%s", loss->events,
                               loss->events == 1 ? "" : "s");
    } else if (loss->packets) {
        g_string_append_printf(out, "%" PRIu64 " packet%s", loss->packets,
                               loss->packets == 1 ? "" : "s");
    } else {
        g_string_append(out, "nothing was recorded");
    }
}

static bool annotations(struct tsp_call *call, GString *out)
{
    struct json_object *wanted = NULL;
    if (strcmp(call->request->method, "GET") == 0) {
        g_string_append(out, "{\"annotationCategories\":[\"Lost Events\"]}");
        return true;
    }
    if (!take_range(call)) {
        return true;
    }
    json_object_object_get_ex(call->request->params, "requested_marker_categories", &wanted);
    const bool is_none =
        json_object_is_type(wanted, json_type_array) && json_object_array_length(wanted) == 0;
    g_string_append(out, "{\"annotations\":{\"Lost Events\":[");
    for (uint32_t i = 0; !is_none && i < lull_store_loss_count(call->served->store); i++) {
        const struct lull_store_loss loss = lull_store_loss(call->served->store, i);
        if (loss.start_ns <= call->range.end_ns && loss.end_ns >= call->range.start_ns) {
            g_string_append_printf(out,
                                   "%s{\"time\":%" PRId64 ",\"duration\":%" PRId64
                                   ",\"entryId\":-1,\"type\":\"CHART\",\"label\":\"",
                                   out->str[out->len - 1] == '[' ? "" : ",", loss.start_ns,
                                   loss.end_ns - loss.start_ns);
            append_missing(out, &loss);
            g_string_append(out, "\",\"style\":{\"values\":{\"color\":\"#FF0032\","
                                 "\"opacity\":0.196}}}");
        }
    }
    g_string_append(out, "]}}");
    return true;
}

/* The same for critical paths. */
static bool answer_path_model(struct tsp_call *call, const char *id, const char *what, GString *out)
{
    struct server_paths *paths = call->served->about->paths;
    if (strcmp(what, "tree") == 0) {
        server_paths_tree(paths, id, out);
    } else if (strcmp(what, "style") == 0) {
        server_paths_styles(out);
    } else if (strcmp(what, "annotations") == 0) {
        annotations(call, out);
    } else if (strcmp(what, "tooltip") == 0) {
        g_string_append(out, "{}");
    } else if (strcmp(what, "arrows") == 0) {
        if (take_range(call)) {
            server_paths_arrows(paths, id, &call->range, out);
        }
    } else if (strcmp(what, "states") == 0) {
        if (take_range(call) && take_items(call)) {
            server_paths_states(paths, id, &call->range, call->items, call->n_items, out);
        }
    } else {
        return false;
    }
    return true;
}

/* Makes or removes a path. */
static void change_paths(struct tsp_call *call, const char *id)
{
    struct server_paths *paths = call->served->about->paths;
    GError *error = NULL;
    if (strcmp(call->request->method, "DELETE") == 0) {
        if (!server_paths_remove(paths, id, call->answer->body)) {
            server_refuse(call->answer, 405, "Not allowed", "this output cannot be deleted");
        }
    } else if (strcmp(id, SERVER_PATH_ID) != 0) {
        server_refuse(call->answer, 405, "Not allowed", "this output has no derived ones");
    } else if (!server_paths_make(paths, call->request->params, call->answer->body, &error)) {
        server_refuse(call->answer, 400, "Bad parameters", error->message);
        g_error_free(error);
    }
}

/* …/outputs/O, …/outputs/O/configTypes, …/outputs/O/WHAT, …/outputs/timeGraph/O/WHAT. */
static void route_path(struct tsp_call *call, const char *id, const char *what)
{
    GString *out = g_string_new(NULL);
    if (!what && strcmp(call->request->method, "GET") != 0) {
        change_paths(call, id);
    } else if (!what) {
        server_paths_describe_one(call->served->about->paths, id, call->answer->body);
    } else if (strcmp(what, "configTypes") == 0) {
        server_paths_types(call->parts[5] != NULL, call->answer->body);
    } else {
        model_start(out);
        if (!answer_path_model(call, id, what, out)) {
            tsp_not_found(call, "outputs have nothing with this name");
        } else if (call->answer->status == 200) {
            model_end(call->served, out);
            g_string_append_len(call->answer->body, out->str, (gssize)out->len);
        }
    }
    g_string_free(out, TRUE);
}

/* The same for what is read from the traces themselves. */
static bool answer_output_model(struct tsp_call *call, const struct server_output *output,
                                const char *kind, const char *what, GString *out, GError **error)
{
    const enum server_output_needs needs = server_output_needs(output, kind, what);
    const bool has_range =
        json_object_object_get_ex(call->request->params, "requested_timerange", NULL);
    if (needs == SERVER_OUTPUT_NOT) {
        server_refuse(call->answer, 405, "Not allowed", "this output is of another type");
        return true;
    }
    if ((needs == SERVER_OUTPUT_RANGE && !(take_range(call) && take_items(call))) ||
        (needs != SERVER_OUTPUT_RANGE && has_range && !take_range(call))) {
        return true;
    }
    const struct server_output_question question = {
        .served = call->served,
        .output = *output,
        .params = call->request->params,
        .range = has_range || needs == SERVER_OUTPUT_RANGE ? &call->range : NULL,
        .items = call->items,
        .n_items = call->n_items};
    return server_output_model(&question, what, out, error);
}

/* …/outputs/O, …/outputs/O/configTypes, …/outputs/O/WHAT, …/outputs/KIND/O/WHAT. */
static void route_more(struct tsp_call *call, const struct server_output *output, const char *kind,
                       const char *what)
{
    GString *out = g_string_new(NULL);
    GError *error = NULL;
    bool is_done = true;
    model_start(out);
    if (!what && strcmp(call->request->method, "GET") != 0) {
        server_refuse(call->answer, 405, "Not allowed", "this output has no derived ones");
    } else if (!what) {
        g_autofree char *text = server_output_describe(output);
        g_string_append(call->answer->body, text);
    } else if (strcmp(what, "configTypes") == 0) {
        g_string_append(call->answer->body, "[]");
    } else if (strcmp(what, "style") == 0) {
        g_string_append(out, "{\"styles\":{}}");
    } else if (strcmp(what, "annotations") == 0) {
        is_done = annotations(call, out);
    } else if (strcmp(what, "tooltip") == 0) {
        server_refuse(call->answer, 501, "Not implemented", "this output has no tooltips");
    } else {
        is_done = answer_output_model(call, output, kind, what, out, &error);
    }
    if (!is_done) {
        refuse(call, error);
    } else if (call->answer->status == 200 && call->answer->body->len == 0) {
        model_end(call->served, out);
        g_string_append_len(call->answer->body, out->str, (gssize)out->len);
    }
    g_string_free(out, TRUE);
}

/* …/outputs/KIND/O/WHAT. What has been refused leaves the answer as it is. */
static void answer_view(struct tsp_call *call, enum view view, const char *kind, const char *what)
{
    GString *out = g_string_new(NULL);
    GError *error = NULL;
    bool is_done = true;
    const bool is_xy = strcmp(kind, "XY") == 0, is_graph = strcmp(kind, "timeGraph") == 0;
    model_start(out);
    if (strcmp(what, "tree") == 0) {
        is_done = view_tree(call, view, out, &error);
    } else if (is_graph != (view != VIEW_USAGE) && strcmp(what, "annotations") != 0 &&
               strcmp(what, "style") != 0) {
        server_refuse(call->answer, 405, "Not allowed", "this output is of another type");
    } else if (strcmp(what, "style") == 0) {
        if (view == VIEW_DECLARED) {
            server_declared_styles(call->served->about->states, out);
        } else if (view == VIEW_CALLS) {
            server_call_styles(out);
        } else {
            server_styles(out);
        }
    } else if (strcmp(what, "annotations") == 0) {
        is_done = annotations(call, out);
    } else if (is_graph && strcmp(what, "tooltip") == 0) {
        is_done = view_tooltip(call, view, out, &error);
    } else if ((is_graph && (strcmp(what, "states") == 0 || strcmp(what, "arrows") == 0)) ||
               (is_xy && strcmp(what, "xy") == 0)) {
        is_done = view_rows(call, view, what, out, &error);
    } else if (is_xy && strcmp(what, "tooltip") == 0) {
        server_refuse(call->answer, 501, "Not implemented", "lines have no tooltips");
    } else {
        tsp_not_found(call, "outputs have nothing with this name");
    }
    if (!is_done) {
        refuse(call, error);
    } else if (call->answer->status == 200) {
        model_end(call->served, out);
        g_string_append_len(call->answer->body, out->str, (gssize)out->len);
    }
    g_string_free(out, TRUE);
}

void tsp_route_output(struct tsp_call *call)
{
    /* experiments/E/outputs/KIND/O/WHAT, or …/O/WHAT, or …/O. */
    const char *const *parts = call->parts + 3;
    GString *out = call->answer->body;
    if (strcmp(parts[0], "markerSets") == 0) {
        g_string_append(out, "{\"model\":[],\"status\":\"COMPLETED\",\"statusMessage\":\"\"}");
        return;
    }
    /* A path is deleted as a part of the output that it was derived from. */
    if (strcmp(call->request->method, "DELETE") == 0 && parts[1] &&
        server_paths_have(call->served->about->paths, parts[1])) {
        route_path(call, parts[1], NULL);
        return;
    }
    if (server_paths_have(call->served->about->paths, parts[0])) {
        route_path(call, parts[0], parts[1]);
        return;
    }
    if (parts[1] && parts[2] && strcmp(parts[0], "timeGraph") == 0 &&
        server_paths_have(call->served->about->paths, parts[1])) {
        route_path(call, parts[1], parts[2]);
        return;
    }
    for (uint32_t i = 0; i < G_N_ELEMENTS(views); i++) {
        if (!has_view(call->served, i)) {
            continue;
        }
        const bool is_first = strcmp(parts[0], views[i].id) == 0;
        if (is_first && !parts[1]) {
            append_view(i, out);
        } else if (is_first && strcmp(parts[1], "configTypes") == 0) {
            g_string_append(out, "[]");
        } else if (is_first) {
            answer_view(call, views[i].view, "", parts[1]);
        } else if (parts[1] && parts[2] && strcmp(parts[1], views[i].id) == 0) {
            answer_view(call, views[i].view, parts[0], parts[2]);
        } else {
            continue;
        }
        return;
    }
    struct server_output output;
    if (server_output_find(call->served, parts[0], &output)) {
        route_more(call, &output, NULL, parts[1]);
    } else if (parts[1] && parts[2] && server_output_find(call->served, parts[1], &output)) {
        route_more(call, &output, parts[0], parts[2]);
    } else {
        tsp_not_found(call, "there is no such output");
    }
}

struct listed {
    char *name, *text;
};

static int compare_listed(const void *a, const void *b)
{
    return strcmp(((const struct listed *)a)->name, ((const struct listed *)b)->name);
}

void tsp_list_outputs(const struct tsp_call *call, GString *out)
{
    LULL_VEC(struct listed) all = {0};
    GString *text = g_string_new(NULL);
    for (uint32_t i = 0; i < G_N_ELEMENTS(views); i++) {
        if (!has_view(call->served, i)) {
            continue;
        }
        append_view(i, g_string_truncate(text, 0));
        lull_vec_push(&all, (struct listed){g_strdup(views[i].name), g_strdup(text->str)});
    }
    server_paths_describe(call->served->about->paths, g_string_truncate(text, 0));
    lull_vec_push(&all, (struct listed){g_strdup("Critical Path"), g_string_free(text, FALSE)});
    for (uint32_t i = 0; i < server_output_count(call->served); i++) {
        struct server_output output;
        server_output_at(call->served, i, &output);
        lull_vec_push(
            &all, (struct listed){server_output_name(&output), server_output_describe(&output)});
    }
    qsort(all.items, all.count, sizeof *all.items, compare_listed);
    for (size_t i = 0; i < all.count; i++) {
        g_string_append_printf(out, "%s%s", i ? "," : "[", all.items[i].text);
        g_free(all.items[i].name);
        g_free(all.items[i].text);
    }
    g_string_append_c(out, ']');
    lull_vec_free(&all);
}
