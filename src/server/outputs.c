/* SPDX-License-Identifier: MIT */
/* The outputs, as tables: which there are, and which function answers which question. */
#include "server/outputs.h"

#include <inttypes.h>
#include <string.h>

#include "base/json.h"
#include "server/latencies.h"

#define P "org.eclipse.tracecompass."

enum { ANSWERS_MOST = 3, ID_MOST = 256 };

/* An id ends with the latency's, or is all there is. */
struct server_output_type {
    const char *id, *name, *description, *type;
    bool is_latency;
    struct {
        const char *kind, *what;
        enum server_output_needs needs;
        bool (*answer)(const struct server_output_question *question, GString *out, GError **error);
        const char *nothing; /* while the traces are indexed */
    } answers[ANSWERS_MOST];
};

#define NO_ENTRIES "{\"headers\":[],\"entries\":[]}"
#define NO_SERIES "{\"title\":\"\",\"series\":[]}"
#define NO_LINES "{\"size\":0,\"lowIndex\":0,\"columnIds\":[],\"lines\":[]}"

/* A tree is given to whoever asks for it, whatever kind he takes the output for. */
static bool no_tree(const struct server_output_question *question, GString *out, GError **error)
{
    g_string_append(out, NO_ENTRIES);
    return true;
}

static const struct server_output_type types[] = {
    {.id = P "internal.tmf.core.histogram.HistogramDataProvider",
     .name = "Histogram",
     .description = "How many events there were over time",
     .type = "TREE_TIME_XY",
     .answers = {{NULL, "tree", SERVER_OUTPUT_NOTHING, server_histogram_tree, NO_ENTRIES},
                 {"XY", "xy", SERVER_OUTPUT_RANGE, server_histogram_xy, NO_SERIES}}},
    {.id = P "internal.provisional.tmf.core.model.events.TmfEventTableDataProvider",
     .name = "Events Table",
     .description = "The events",
     .type = "TABLE",
     .answers = {{NULL, "tree", SERVER_OUTPUT_NOTHING, no_tree, NO_ENTRIES},
                 {"table", "columns", SERVER_OUTPUT_NOTHING, server_event_columns, "[]"},
                 {"table", "lines", SERVER_OUTPUT_NOTHING, server_event_lines, NO_LINES}}},
    {.id = P "internal.analysis.timing.core.segmentstore.scatter.dataprovider:",
     .name = "over time",
     .description = "How long each took, over the time at which it started",
     .type = "TREE_TIME_XY",
     .is_latency = true,
     .answers = {{NULL, "tree", SERVER_OUTPUT_NOTHING, server_latency_tree, NO_ENTRIES},
                 {"XY", "xy", SERVER_OUTPUT_RANGE, server_latency_scatter, NO_SERIES}}},
    {.id = P "internal.analysis.timing.core.segmentstore.SegmentStoreDensityDataProvider:",
     .name = "density",
     .description = "How many took how long",
     .type = "TREE_GENERIC_XY",
     .is_latency = true,
     .answers = {{NULL, "tree", SERVER_OUTPUT_NOTHING, server_latency_tree, NO_ENTRIES},
                 {"genericXY", "xy", SERVER_OUTPUT_RANGE, server_latency_density, NO_SERIES}}},
    {.id = P "analysis.timing.core.segmentstore.SegmentStoreStatisticsDataProvider:",
     .name = "statistics",
     .description = "Least, most, mean and sum of how long they took, by name",
     .type = "DATA_TREE",
     .is_latency = true,
     .answers = {{NULL, "tree", SERVER_OUTPUT_NOTHING, server_latency_statistics, NO_ENTRIES}}},
    {.id = P "analysis.timing.core.segmentstore.SegmentStoreTableDataProvider:",
     .name = "table",
     .description = "Each with its start, end and duration",
     .type = "TABLE",
     .is_latency = true,
     .answers = {{NULL, "tree", SERVER_OUTPUT_NOTHING, no_tree, NO_ENTRIES},
                 {"table", "columns", SERVER_OUTPUT_NOTHING, server_latency_columns, "[]"},
                 {"table", "lines", SERVER_OUTPUT_NOTHING, server_latency_lines, NO_LINES}}},
};

/* ---- which there are ---- */

static void id_of(const struct server_output *output, char id[ID_MOST])
{
    static const char *const known[][2] = {
        {"syscalls", P "analysis.os.linux.latency.syscall"},
        {"scheduling", P "analysis.os.linux.core.swslatency.sws"},
        {"block", "lull.block"},
        {"interrupts", "lull.irq"},
        {"futexes", "lull.futex"},
    };
    const char *kind = output->kind ? output->kind->id : "", *end = kind;
    for (uint32_t i = 0; i < G_N_ELEMENTS(known); i++) {
        end = strcmp(known[i][0], kind) == 0 ? known[i][1] : end;
    }
    g_snprintf(id, ID_MOST, "%s%s%s", output->type->id, end == kind && *kind ? "lull." : "", end);
}

uint32_t server_output_count(const struct served *served)
{
    uint32_t n_latency = 0;
    for (uint32_t i = 0; i < G_N_ELEMENTS(types); i++) {
        n_latency += types[i].is_latency;
    }
    return G_N_ELEMENTS(types) - n_latency +
           n_latency * server_latency_kinds(served->about->latencies);
}

void server_output_at(const struct served *served, uint32_t number, struct server_output *output)
{
    for (uint32_t i = 0; i < G_N_ELEMENTS(types); i++) {
        const uint32_t n = types[i].is_latency ? server_latency_kinds(served->about->latencies) : 1;
        if (number < n) {
            output->type = &types[i];
            output->kind =
                types[i].is_latency ? server_latency_kind(served->about->latencies, number) : NULL;
            return;
        }
        number -= n;
    }
}

bool server_output_find(const struct served *served, const char *id, struct server_output *output)
{
    char own[ID_MOST];
    for (uint32_t i = 0; i < server_output_count(served); i++) {
        server_output_at(served, i, output);
        id_of(output, own);
        if (strcmp(own, id) == 0) {
            return true;
        }
    }
    return false;
}

char *server_output_name(const struct server_output *output)
{
    return output->kind
               ? g_strdup_printf("Latency – %s – %s", output->kind->title, output->type->name)
               : g_strdup(output->type->name);
}

char *server_output_describe(const struct server_output *output)
{
    char id[ID_MOST];
    GString *out = g_string_new("{\"id\":\"");
    g_autofree char *name = server_output_name(output);
    id_of(output, id);
    g_string_append_printf(out, "%s\",\"name\":", id);
    lull_json_append(out, name, strlen(name));
    g_string_append_printf(out, ",\"description\":\"%s\",\"type\":\"%s\"}",
                           output->type->description, output->type->type);
    return g_string_free(out, FALSE);
}

/* ---- what they are asked ---- */

static uint32_t find_answer(const struct server_output *output, const char *kind, const char *what)
{
    uint32_t i = 0;
    while (i < ANSWERS_MOST && output->type->answers[i].what &&
           (strcmp(output->type->answers[i].what, what) != 0 ||
            (kind && output->type->answers[i].kind &&
             strcmp(output->type->answers[i].kind, kind) != 0))) {
        i++;
    }
    return i < ANSWERS_MOST && output->type->answers[i].what ? i : ANSWERS_MOST;
}

enum server_output_needs server_output_needs(const struct server_output *output, const char *kind,
                                             const char *what)
{
    const uint32_t i = find_answer(output, kind, what);
    return i < ANSWERS_MOST ? output->type->answers[i].needs : SERVER_OUTPUT_NOT;
}

bool server_output_model(const struct server_output_question *question, const char *what,
                         GString *out, GError **error)
{
    const uint32_t i = find_answer(&question->output, NULL, what);
    if (!question->served->is_whole) {
        g_string_append(out, question->output.type->answers[i].nothing);
        return true;
    }
    return question->output.type->answers[i].answer(question, out, error);
}

/* ---- what models are made of ---- */

int64_t server_range_time(const struct server_range *range, uint32_t i)
{
    return range->start_ns +
           (int64_t)((__int128)(range->end_ns - range->start_ns) * i / (MAX(range->n, 2) - 1));
}

void server_series_start(GString *out, int64_t id, const char *name, const char *type)
{
    g_string_append_printf(out, "%s{\"seriesId\":%" PRId64 ",\"seriesName\":",
                           out->str[out->len - 1] == '[' ? "" : ",", id);
    lull_json_append(out, name, strlen(name));
    g_string_append_printf(out, ",\"style\":{\"values\":{\"series-type\":\"%s\"}},", type);
}

static void append_axis(GString *out, const char *key, const char *label, const char *type)
{
    const char *unit = strcmp(type, "NUMBER") == 0 ? "" : "ns";
    g_string_append_printf(out, ",\"%s\":{\"label\":\"%s\",\"unit\":\"%s\",\"dataType\":\"%s\"}",
                           key, label, unit, type);
}

/* Under both names: clients differ in which they read. */
void server_series_end(GString *out, const char *x_label, const char *x_type, const char *y_label,
                       const char *y_type)
{
    append_axis(out, "xValuesDescription", x_label, x_type);
    append_axis(out, "yValuesDescription", y_label, y_type);
    append_axis(out, "xAxis", x_label, x_type);
    append_axis(out, "yAxis", y_label, y_type);
    g_string_append_c(out, '}');
}
