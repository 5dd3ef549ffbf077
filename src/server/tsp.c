/* SPDX-License-Identifier: MIT */
/* Paths of the protocol, and the objects that describe traces and views. Bodies of views are written
 * by states.c and usage.c. */
#include "server/tsp.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <lull/path.h>
#include <lull/version.h>

#include "base/json.h"
#include "base/sums.h"
#include "server/params.h"
#include "server/paths.h"
#include "server/states.h"

#define P "org.eclipse.tracecompass."
enum { ITEMS_MOST = 100000, TIMES_MOST = 65536, TIMES_USUAL = 8192, PARTS_MOST = 6 };

enum view { VIEW_TASKS, VIEW_RESOURCES, VIEW_USAGE, VIEWS };

/* In the order of their names. The ids are those of Trace Compass, so that layouts that were kept
 * fit. */
static const struct {
    enum view view;
    const char *id, *name, *description, *type;
} views[] = {
    {VIEW_USAGE, P "analysis.os.linux.core.cpuusage.CpuUsageDataProvider", "CPU Usage",
     "Share of a CPU that each task used over time", "TREE_TIME_XY"},
    {VIEW_RESOURCES, P "internal.analysis.os.linux.core.threadstatus.ResourcesStatusDataProvider",
     "Resources Status", "What each CPU and interrupt did at every moment", "TIME_GRAPH"},
    {VIEW_TASKS, P "internal.analysis.os.linux.core.threadstatus.ThreadStatusDataProvider",
     "Thread Status", "What each task did at every moment, and what it waited for", "TIME_GRAPH"},
};

struct call {
    const struct served *served;
    const struct server_request *request;
    struct server_answer *answer;
    const char *parts[PARTS_MOST + 1]; /* of the path, NULL-terminated */
    struct server_range range;
    int64_t *items;
    uint32_t n_items;
};

/* ---- writing ---- */

static void text(GString *out, const char *key, const char *value)
{
    g_string_append_printf(out, "\"%s\":", key);
    lull_json_append(out, value, strlen(value));
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

static const char *indexing_status(const struct served *served)
{
    return served->is_whole ? "COMPLETED" : "RUNNING";
}

static void append_trace(const struct served *served, uint32_t i, GString *out)
{
    const struct served_trace *trace = &served->about->traces[i];
    g_string_append_printf(out, "%s{", out->str[0] && out->str[out->len - 1] == '}' ? "," : "");
    text(out, "name", trace->name);
    g_string_append_c(out, ',');
    text(out, "path", trace->path);
    g_string_append_printf(out,
                           ",\"UUID\":\"%s\",\"nbEvents\":0,\"start\":%" PRId64 ",\"end\":%" PRId64
                           ",\"properties\":{},\"indexingStatus\":\"%s\"}",
                           trace->uuid, served->start_ns, served->end_ns, indexing_status(served));
}

static void append_experiment(const struct served *served, GString *out)
{
    g_string_append_c(out, '{');
    text(out, "name", served->about->name);
    g_string_append_printf(out,
                           ",\"UUID\":\"%s\",\"nbEvents\":0,\"start\":%" PRId64 ",\"end\":%" PRId64
                           ",\"indexingStatus\":\"%s\",\"traces\":[",
                           served->about->uuid, served->start_ns, served->end_ns,
                           indexing_status(served));
    for (uint32_t i = 0; i < served->about->n_traces; i++) {
        append_trace(served, i, out);
    }
    g_string_append(out, "]}");
}

static void append_view(uint32_t i, GString *out)
{
    g_string_append_printf(out,
                           "{\"id\":\"%s\",\"name\":\"%s\",\"description\":\"%s\",\"type\":\"%s\"}",
                           views[i].id, views[i].name, views[i].description, views[i].type);
}

static void not_found(struct call *call, const char *what)
{
    server_refuse(call->answer, 404, "Not found", what);
}

/* ---- parameters ---- */

static bool bad(struct call *call, const char *why)
{
    server_refuse(call->answer, 400, "Bad parameters", why);
    return false;
}

/* The range or the times that are asked about; times are taken as a range with as many steps. */
static bool take_range(struct call *call)
{
    struct json_object *found;
    int64_t n = 0;
    struct server_range *range = &call->range;
    *range = (struct server_range){call->served->start_ns, call->served->end_ns, 0};
    if (json_object_object_get_ex(call->request->params, "requested_timerange", &found)) {
        if (!server_param_number(found, "start", &range->start_ns) ||
            !server_param_number(found, "end", &range->end_ns)) {
            return bad(call, "requested_timerange needs the numbers start and end");
        }
        server_param_number(found, "nbTimes", &n);
    } else if (json_object_object_get_ex(call->request->params, "requested_times", &found)) {
        n = json_object_is_type(found, json_type_array) ? (int64_t)json_object_array_length(found)
                                                        : 0;
        if (n == 0) {
            return bad(call, "requested_times needs a list of numbers");
        }
        range->start_ns = json_object_get_int64(json_object_array_get_idx(found, 0));
        range->end_ns = json_object_get_int64(json_object_array_get_idx(found, (size_t)n - 1));
    } else {
        return bad(call, "requested_timerange or requested_times is missing");
    }
    if (range->end_ns < range->start_ns) {
        return bad(call, "the range ends before it starts");
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

static bool take_items(struct call *call)
{
    struct json_object *found;
    if (!json_object_object_get_ex(call->request->params, "requested_items", &found) ||
        !json_object_is_type(found, json_type_array)) {
        return bad(call, "requested_items needs a list of numbers");
    }
    const size_t n = json_object_array_length(found);
    if (n > ITEMS_MOST || n * call->range.n > 4u << 20) {
        return bad(call, "so many rows and times are too much for one answer");
    }
    call->items = g_new(int64_t, MAX(n, 1));
    call->n_items = (uint32_t)n;
    for (size_t i = 0; i < n; i++) {
        struct json_object *item = json_object_array_get_idx(found, i);
        if (!json_object_is_type(item, json_type_int)) {
            return bad(call, "requested_items needs a list of numbers");
        }
        call->items[i] = json_object_get_int64(item);
    }
    return true;
}

/* ---- views ---- */

static const struct served_tree *tree_of(const struct call *call, enum view view)
{
    return view == VIEW_RESOURCES ? &call->served->resources : &call->served->tasks;
}

static bool view_tree(struct call *call, enum view view, GString *out, GError **error)
{
    if (view != VIEW_USAGE) {
        server_tree(call->served, tree_of(call, view), view == VIEW_TASKS, out);
        return true;
    }
    call->range = (struct server_range){call->served->start_ns, call->served->end_ns, 0};
    if (json_object_object_get_ex(call->request->params, "requested_timerange", NULL) &&
        !take_range(call)) {
        return true;
    }
    return server_users(call->served, &call->range, out, error);
}

static bool view_tooltip(struct call *call, enum view view, GString *out, GError **error)
{
    struct json_object *times;
    call->range.n = 1;
    if (!take_items(call)) {
        return true;
    }
    if (!json_object_object_get_ex(call->request->params, "requested_times", &times) ||
        !json_object_is_type(times, json_type_array) || json_object_array_length(times) == 0 ||
        call->n_items == 0) {
        bad(call, "a tooltip needs one of requested_times and one of requested_items");
        return true;
    }
    return server_tooltip(call->served, tree_of(call, view), call->items[0],
                          json_object_get_int64(json_object_array_get_idx(times, 0)), out, error);
}

static bool view_rows(struct call *call, enum view view, const char *what, GString *out,
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
    return server_states(call->served, tree_of(call, view), &call->range, call->items,
                         call->n_items, out, error);
}

static bool annotations(struct call *call, GString *out)
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
                                   ",\"entryId\":-1,\"type\":\"CHART\",\"label\":\"%" PRIu64
                                   " events\",\"style\":{"
                                   "\"values\":{\"color\":\"#FF0032\",\"opacity\":0.196}}}",
                                   out->str[out->len - 1] == '[' ? "" : ",", loss.start_ns,
                                   loss.end_ns - loss.start_ns, loss.events);
        }
    }
    g_string_append(out, "]}}");
    return true;
}

/* The same for critical paths. */
static bool answer_path_model(struct call *call, const char *id, const char *what, GString *out)
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
static void change_paths(struct call *call, const char *id)
{
    struct server_paths *paths = call->served->about->paths;
    GError *error = NULL;
    if (strcmp(call->request->method, "DELETE") == 0) {
        if (!server_paths_remove(paths, id, call->answer->body)) {
            server_refuse(call->answer, 405, "Not allowed", "this output cannot be deleted");
        }
    } else if (strcmp(id, SERVER_PATH_ID) != 0) {
        server_refuse(call->answer, 405, "Not allowed", "nothing can be derived from this output");
    } else if (!server_paths_make(paths, call->request->params, call->answer->body, &error)) {
        server_refuse(call->answer, 400, "Bad parameters", error->message);
        g_error_free(error);
    }
}

/* …/outputs/O, …/outputs/O/configTypes, …/outputs/O/WHAT, …/outputs/timeGraph/O/WHAT. */
static void route_path(struct call *call, const char *id, const char *what)
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
            not_found(call, "outputs have nothing of this name");
        } else if (call->answer->status == 200) {
            model_end(call->served, out);
            g_string_append_len(call->answer->body, out->str, (gssize)out->len);
        }
    }
    g_string_free(out, TRUE);
}

/* …/outputs/KIND/O/WHAT. What has been refused leaves the answer as it is. */
static void answer_view(struct call *call, enum view view, const char *kind, const char *what)
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
        server_styles(out);
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
        not_found(call, "outputs have nothing of this name");
    }
    if (!is_done) {
        server_refuse(call->answer, 500, "Failed", error->message);
        g_error_free(error);
    } else if (call->answer->status == 200) {
        model_end(call->served, out);
        g_string_append_len(call->answer->body, out->str, (gssize)out->len);
    }
    g_string_free(out, TRUE);
}

static void route_output(struct call *call)
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
    not_found(call, "there is no such output");
}

/* ---- traces and experiments ---- */

/* A POST names what is there already: its object is the answer. */
static void route_traces(struct call *call)
{
    const struct served *served = call->served;
    struct json_object *uri = NULL;
    GString *out = call->answer->body;
    const bool is_post = strcmp(call->request->method, "POST") == 0;
    if (!call->parts[1] && !is_post) {
        g_string_append_c(out, '[');
        for (uint32_t i = 0; i < served->about->n_traces; i++) {
            append_trace(served, i, out);
        }
        g_string_append_c(out, ']');
        return;
    }
    if (is_post && (!json_object_object_get_ex(call->request->params, "uri", &uri) ||
                    !json_object_is_type(uri, json_type_string))) {
        bad(call, "uri is missing");
        return;
    }
    for (uint32_t i = 0; i < served->about->n_traces; i++) {
        if (is_post ? strcmp(json_object_get_string(uri), served->about->traces[i].path) == 0
                    : strcmp(call->parts[1], served->about->traces[i].uuid) == 0) {
            if (strcmp(call->request->method, "DELETE") == 0) {
                server_refuse(call->answer, 409, "In use", "the trace is in use");
            } else {
                append_trace(served, i, out);
            }
            return;
        }
    }
    not_found(call, "no such trace is served; name it when you start the server");
}

/* All of them, which is one or none; a POST makes the one there is of these traces. */
static void route_list(struct call *call)
{
    const struct served_about *about = call->served->about;
    struct json_object *name = NULL, *traces = NULL;
    GString *out = call->answer->body;
    if (strcmp(call->request->method, "POST") != 0) {
        g_string_append_c(out, '[');
        if (!served_is_deleted(about)) {
            append_experiment(call->served, out);
        }
        g_string_append_c(out, ']');
    } else if (!json_object_object_get_ex(call->request->params, "name", &name) ||
               !json_object_object_get_ex(call->request->params, "traces", &traces)) {
        bad(call, "name or traces is missing");
    } else {
        served_delete(about, false);
        append_experiment(call->served, out);
    }
}

static void route_experiments(struct call *call)
{
    GString *out = call->answer->body;
    const bool is_post = strcmp(call->request->method, "POST") == 0;
    const struct served_about *about = call->served->about;
    if (!call->parts[1]) {
        route_list(call);
    } else if (strcmp(call->parts[1], about->uuid) != 0 || served_is_deleted(about)) {
        not_found(call, "there is no such experiment");
    } else if (!call->parts[2]) {
        append_experiment(call->served, out);
        if (strcmp(call->request->method, "DELETE") == 0) {
            served_delete(about, true);
        }
    } else if (strcmp(call->parts[2], "outputs") == 0 && !call->parts[3]) {
        g_string_append_c(out, '[');
        for (uint32_t i = 0; i < G_N_ELEMENTS(views); i++) {
            g_string_append(out, i ? "," : "");
            append_view(i, out);
            if (i == 0) { /* in the order of names */
                g_string_append_c(out, ',');
                server_paths_describe(call->served->about->paths, out);
            }
        }
        g_string_append_c(out, ']');
    } else if (strcmp(call->parts[2], "outputs") == 0) {
        route_output(call);
    } else if (strcmp(call->parts[2], "bookmarks") == 0 && !is_post) {
        g_string_append(out, "[]");
    } else {
        not_found(call, "experiments have nothing of this name");
    }
}

static void append_identity(GString *out)
{
    struct utsname machine;
    if (uname(&machine) != 0) {
        memset(&machine, 0, sizeof machine);
    }
    g_string_append_printf(
        out,
        "{\"version\":\"%s\",\"os\":\"%s\",\"osArch\":\"%s\",\"osVersion\":\"%s\","
        "\"cpuCount\":%u,\"maxMemory\":%" PRId64
        ",\"launcherName\":\"lull\",\"productId\":\"lull\",\"tspVersion\":"
        "\"0.6.0\"}",
        lull_version(), machine.sysname, machine.machine, machine.release, g_get_num_processors(),
        (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE));
}

void server_tsp(const struct served *served, const struct server_request *request, const char *path,
                struct server_answer *answer)
{
    struct call call = {.served = served, .request = request, .answer = answer};
    g_auto(GStrv) parts = g_strsplit(path, "/", PARTS_MOST + 1);
    for (uint32_t i = 0; i < PARTS_MOST && parts[i] && *parts[i]; i++) {
        call.parts[i] = parts[i];
    }
    const char *first = call.parts[0] ? call.parts[0] : "";
    if (strcmp(first, "health") == 0) {
        g_string_append(answer->body, "{\"status\":\"UP\"}");
    } else if (strcmp(first, "identifier") == 0) {
        append_identity(answer->body);
    } else if (strcmp(first, "traces") == 0) {
        route_traces(&call);
    } else if (strcmp(first, "experiments") == 0) {
        route_experiments(&call);
    } else if (strcmp(first, "config") == 0 && call.parts[1] && !call.parts[2]) {
        g_string_append(answer->body, "[]");
    } else {
        not_found(&call, "the protocol has nothing of this name");
    }
    g_free(call.items);
}
