/* SPDX-License-Identifier: MIT */
/* What lull why says of the requests and of the instances of periods, for the page: each sentence with the place that it is about, which
 * is the longest such step of the one that has most of it. */
#include "server/view.h"

#include <inttypes.h>
#include <string.h>

#include <lull/path.h>
#include <lull/why.h>

#include "answers/instances.h"
#include "base/json.h"
#include "server/paths.h"
#include "view/why/why.h"

static void append_string(GString *out, const char *key, const GString *text)
{
    g_string_append_printf(out, "\"%s\":", key);
    lull_json_append(out, text->str, text->len);
}

/* The finding leaves out what tells siblings apart, which is the end of a name. */
static bool is_about(const struct lull_finding *finding, const struct lull_segment *segment)
{
    return segment->host == finding->host && segment->state == finding->state &&
           segment->cause == finding->cause && segment->comm &&
           g_str_has_prefix(segment->comm, finding->comm);
}

static void append_place(const struct served *served, const struct server_reading *reading,
                         const struct lull_instances *instances, const struct lull_finding *finding,
                         GString *out)
{
    struct lull_path *path = lull_instances_path(instances, finding->most, NULL);
    const struct lull_segment *best = NULL;
    for (uint32_t i = 0; path && i < lull_path_segment_count(path); i++) {
        const struct lull_segment *segment = lull_path_segment(path, i);
        if (is_about(finding, segment) &&
            (!best || segment->end_ns - segment->start_ns > best->end_ns - best->start_ns)) {
            best = segment;
        }
    }
    const uint32_t row =
        best && best->task < reading->n_tasks ? reading->rows[best->task] : LULL_NONE;
    g_string_append_printf(
        out, "\"request\":%u,\"start\":%" PRId64 ",\"end\":%" PRId64 ",\"row\":%" PRId64,
        finding->most->number, (best ? best->start_ns : finding->most->start_ns) - served->start_ns,
        (best ? best->end_ns : finding->most->end_ns) - served->start_ns,
        row == LULL_NONE ? INT64_C(-1) : (int64_t)row);
    lull_path_free(path);
}

struct telling {
    const struct served *served;
    const struct server_reading *reading;
    const struct lull_instances *instances;
    const char *period; /* "": requests */
    struct lull_why_shown shown;
    GString *out, *text;
};

static GString *empty(struct telling *telling)
{
    return g_string_truncate(telling->text, 0);
}

static void append_finding(struct telling *telling, const struct lull_why_group *kind, uint32_t i)
{
    const struct lull_contribution *contribution = &kind->comparison->contributions[i];
    GString *text = empty(telling), *out = telling->out;
    g_string_append(out, i ? ",{" : "{");
    lull_contribution_append_headline(text, &telling->shown, kind, contribution, false);
    append_string(out, "said", text);
    lull_contribution_append_evidence(empty(telling), &telling->shown, kind, contribution, false);
    g_string_append_c(out, ',');
    append_string(out, "evidence", text);
    g_string_append_c(out, ',');
    append_place(telling->served, telling->reading, telling->instances,
                 &g_array_index(kind->findings, struct lull_finding, i), out);
    g_string_append_c(out, '}');
}

static void append_kind(struct telling *telling, const struct lull_why_group *kind)
{
    GString *text = empty(telling), *out = telling->out;
    g_string_append(out, out->str[out->len - 1] == '[' ? "{" : ",{");
    append_string(out, "period", g_string_append(text, telling->period));
    g_string_append_c(out, ',');
    empty(telling);
    append_string(out, "name", g_string_append(text, kind->info.name ? kind->info.name : ""));
    lull_why_verdict_append(empty(telling), kind);
    g_string_append_c(out, ',');
    append_string(out, "said", text);
    g_string_append(out, ",\"findings\":[");
    for (uint32_t i = 0; i < kind->info.n_findings; i++) {
        append_finding(telling, kind, i);
    }
    empty(telling);
    if (kind->info.verdict == LULL_WHY_EXPLAINED) {
        lull_why_warnings_append(text, &telling->shown, kind);
    }
    g_string_append(out, "],");
    append_string(out, "warning", text);
    g_string_append_c(out, '}');
}

/* About the requests (LULL_NO_PERIOD), or about the instances of a period. */
static bool append_why(const struct served *served, const struct server_reading *reading,
                       uint32_t period, GString *out, GError **error)
{
    struct lull_instances *instances = lull_waits_instances_of(reading->waits, period, NULL, error);
    if (!instances) {
        return false;
    }
    struct lull_why *why = lull_why_compare(instances, NULL, NULL);
    struct telling telling = {
        .served = served,
        .reading = reading,
        .instances = instances,
        .period = period == LULL_NO_PERIOD ? "" : server_period_name(served, period),
        .shown = {.paths = lull_instance_paths_of(instances, NULL), .why = why},
        .out = out,
        .text = g_string_new(NULL)};
    for (guint i = 0; i < why->groups->len; i++) {
        append_kind(&telling, &g_array_index(why->groups, struct lull_why_group, i));
    }
    g_string_free(telling.text, TRUE);
    lull_why_free(why);
    lull_instances_free(instances);
    return true;
}

bool server_why(const struct served *served, GString *out, GError **error)
{
    const struct lull_periods *periods = served->about->periods;
    const struct server_reading *reading = server_paths_lock(served->about->paths, error);
    const uint32_t n_periods =
        periods && reading && !reading->why_no_periods ? lull_periods_count(periods) : 0;
    g_string_append(out, "{\"kinds\":[");
    bool is_done = reading && append_why(served, reading, LULL_NO_PERIOD, out, error);
    for (uint32_t i = 0; is_done && i < n_periods; i++) {
        is_done = append_why(served, reading, i, out, error);
    }
    g_string_append(out, "]}");
    server_paths_unlock(served->about->paths);
    return is_done;
}
