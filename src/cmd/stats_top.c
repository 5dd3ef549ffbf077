/* SPDX-License-Identifier: MIT */
/* Finds what took longest: the slowest request or instance of a period, else the recorded command. */
#include "cmd/stats_top.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "answers/query.h"
#include "answers/waits.h"
#include "cmd/join_args.h"
#include "view/result/report.h"
#include "view/why/why.h"

static const struct lull_view_style page_style = {.unicode = true};

/* What `view` writes of it, from `start` on; NULL if there is none. Free with g_free(). */
static char *written(bool (*view)(const void *what, FILE *file), const void *what,
                     const char *start)
{
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);
    const bool done = file && view(what, file);
    if (file) {
        fclose(file);
    }
    const char *found = done && text ? strstr(text, start) : NULL;
    char *kept = g_strdup(found);
    free(text);
    return kept;
}

static bool draw(const void *path, FILE *file)
{
    return lull_view_path_svg(path, file, &page_style, NULL);
}

static bool draw_narrow(const void *path, FILE *file)
{
    const struct lull_view_style style = {.unicode = true, .is_narrow = true};
    return lull_view_path_svg(path, file, &style, NULL);
}

static void add_pictures(const struct lull_path *path, struct lull_result_report *report)
{
    if (path) {
        report->path = written(draw, path, "<svg");
        report->narrow_path = written(draw_narrow, path, "<svg");
    }
}

static bool explain(const void *why, FILE *file)
{
    return lull_view_why_text(why, file, &page_style, NULL);
}

/* "lull critpath TRACE… --request", a number of it to follow. */
static char *command_of(const struct lull_args *args, bool is_request)
{
    uint32_t count;
    const char *const *traces = lull_args_rest(args, &count);
    GString *out = g_string_new("lull critpath");
    for (uint32_t i = 0; i < count; i++) {
        g_string_append_printf(out, " %s", traces[i]);
    }
    g_string_append(out, is_request ? " --request" : " --period … --instance");
    return g_string_free(out, FALSE);
}

static void add_instances(const struct lull_args *args, struct lull_instances *instances,
                          const struct lull_selection *selection, bool is_request,
                          struct lull_result_report *report)
{
    g_autoptr(GPtrArray) slowest = lull_instances_select(instances, selection, 1);
    if (slowest->len == 0) {
        return;
    }
    const struct lull_instance *worst = slowest->pdata[0];
    struct lull_path *path = lull_instances_path(instances, worst, NULL);
    struct lull_why *why = lull_why_compare(instances, selection, NULL);
    g_autofree char *command = command_of(args, is_request);
    const struct lull_why_shown shown = {lull_instance_paths_of(instances, NULL), why, command,
                                         NULL};
    report->why = written(explain, &shown, "");
    add_pictures(path, report);
    report->path_command = g_strdup_printf("%s %u", command, worst->number);
    lull_why_free(why);
    lull_path_free(path);
}

static void add_command(const struct lull_waits *waits, const struct lull_selection *selection,
                        struct lull_result_report *report)
{
    struct lull_path *path = lull_waits_command_path(waits, selection->host, selection->start_ns,
                                                     selection->end_ns, LULL_PATH_BOUNDED, NULL);
    add_pictures(path, report);
    lull_path_free(path);
}

void lull_stats_add_top(const struct lull_args *args, struct lull_session *session,
                        const struct lull_query *query, struct lull_result_report *report)
{
    struct lull_selection selection = LULL_SELECT_ALL;
    selection.host = query->host;
    selection.start_ns = query->start_ns;
    selection.end_ns = query->end_ns;
    selection.comm = query->params.comms;
    struct lull_waits *waits =
        lull_waits_new(session, LULL_WANT_PATHS | (query->periods ? 0 : LULL_WANT_REQUESTS), NULL);
    if (!waits) {
        return;
    }
    if (query->periods) {
        lull_waits_follow(waits, query->periods, query->start_ns, query->end_ns);
    }
    lull_args_read(args, session, waits);
    struct lull_instances *instances = lull_waits_instances(waits, NULL, NULL, NULL);
    if (instances) {
        add_instances(args, instances, &selection, !query->periods, report);
    }
    if (!report->path) {
        add_command(waits, &selection, report);
    }
    lull_instances_free(instances);
    lull_waits_free(waits);
    lull_session_unsubscribe_all(session);
    lull_session_limit(session, INT64_MIN, INT64_MAX);
    lull_session_select(session, query->host, -1);
}
