/* SPDX-License-Identifier: MIT */
/* Paths of the protocol, and the objects that describe traces and experiments. */
#include "server/tsp.h"

#include <inttypes.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <lull/version.h>

#include "base/json.h"
#include "server/bookmarks.h"
#include "server/events.h"
#include "server/tsp_private.h"

/* ---- writing ---- */

static void text(GString *out, const char *key, const char *value)
{
    g_string_append_printf(out, "\"%s\":", key);
    lull_json_append(out, value, strlen(value));
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
                           ",\"UUID\":\"%s\",\"nbEvents\":%" PRIu64 ",\"start\":%" PRId64
                           ",\"end\":%" PRId64 ",\"properties\":{},\"indexingStatus\":\"%s\"}",
                           trace->uuid,
                           served->about->n_traces == 1 ? server_event_total(served) : 0,
                           served->start_ns, served->end_ns, indexing_status(served));
}

static void append_experiment(const struct served *served, GString *out)
{
    g_string_append_c(out, '{');
    text(out, "name", served->about->name);
    g_string_append_printf(out,
                           ",\"UUID\":\"%s\",\"nbEvents\":%" PRIu64 ",\"start\":%" PRId64
                           ",\"end\":%" PRId64 ",\"indexingStatus\":\"%s\",\"traces\":[",
                           served->about->uuid, server_event_total(served), served->start_ns,
                           served->end_ns, indexing_status(served));
    for (uint32_t i = 0; i < served->about->n_traces; i++) {
        append_trace(served, i, out);
    }
    g_string_append(out, "]}");
}

void tsp_not_found(struct tsp_call *call, const char *what)
{
    server_refuse(call->answer, 404, "Not found", what);
}

bool tsp_bad(struct tsp_call *call, const char *why)
{
    server_refuse(call->answer, 400, "Bad parameters", why);
    return false;
}

/* ---- traces and experiments ---- */

/* A POST names what is there already: its object is the answer. */
static void route_traces(struct tsp_call *call)
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
        tsp_bad(call, "uri is missing");
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
    tsp_not_found(call, "no such trace is served; name it when you start the server");
}

/* All of them, which is one or none; a POST makes the one there is of these traces. */
static void route_list(struct tsp_call *call)
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
        tsp_bad(call, "name or traces is missing");
    } else {
        served_delete(about, false);
        append_experiment(call->served, out);
    }
}

static void route_experiments(struct tsp_call *call)
{
    GString *out = call->answer->body;
    const struct served_about *about = call->served->about;
    if (!call->parts[1]) {
        route_list(call);
    } else if (strcmp(call->parts[1], about->uuid) != 0 || served_is_deleted(about)) {
        tsp_not_found(call, "there is no such experiment");
    } else if (!call->parts[2]) {
        append_experiment(call->served, out);
        if (strcmp(call->request->method, "DELETE") == 0) {
            served_delete(about, true);
        }
    } else if (strcmp(call->parts[2], "outputs") == 0 && !call->parts[3]) {
        tsp_list_outputs(call, out);
    } else if (strcmp(call->parts[2], "outputs") == 0) {
        tsp_route_output(call);
    } else if (strcmp(call->parts[2], "bookmarks") == 0) {
        server_bookmarks_route(call);
    } else {
        tsp_not_found(call, "experiments have nothing with this name");
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
    struct tsp_call call = {.served = served, .request = request, .answer = answer};
    g_auto(GStrv) parts = g_strsplit(path, "/", TSP_PARTS_MOST + 1);
    for (uint32_t i = 0; i < TSP_PARTS_MOST && parts[i] && *parts[i]; i++) {
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
        tsp_not_found(&call, "the protocol has nothing with this name");
    }
    g_free(call.items);
}
