/* SPDX-License-Identifier: MIT */
/* Latencies as outputs of the Trace Server Protocol: points over time, how many took how long, statistics
 * by name, and all of them as a table. */
#include <inttypes.h>
#include <string.h>

#include <lull/path.h>

#include "analysis/spread.h"
#include "base/json.h"
#include "base/time.h"
#include "server/latencies.h"
#include "server/outputs.h"
#include "server/tables.h"

/* Numbers of entries: of all, and of the first name. */
enum { ENTRY_ROOT = 1, ENTRY_NAMES };
enum { DEFAULTS = 10, POINTS_MOST = 20000, BARS_MOST = 1000, BARS_USUAL = 50 };

static const struct latency_set *lock(const struct server_output_question *question, GError **error)
{
    return server_latencies_lock(question->served, question->output.kind->id, error);
}

static const char *name_at(const struct latency_set *set, uint32_t i)
{
    return g_ptr_array_index(set->names, i);
}

/* ---- names, most of which are shown when one asks for them ---- */

struct named {
    uint32_t name;
    uint64_t count;
};

static int compare_named(const void *a, const void *b)
{
    const struct named *x = a, *y = b;
    return x->count != y->count ? (x->count > y->count ? -1 : 1)
                                : (x->name > y->name) - (x->name < y->name);
}

static void append_names(const struct latency_set *set, GString *out)
{
    const uint32_t n = set->names->len;
    g_autofree struct named *names = g_new0(struct named, MAX(n, 1));
    for (uint32_t i = 0; i < n; i++) {
        names[i].name = i;
    }
    for (size_t i = 0; i < set->points.count; i++) {
        names[set->points.items[i].name].count++;
    }
    qsort(names, n, sizeof *names, compare_named);
    for (uint32_t i = 0; i < n; i++) {
        g_string_append_printf(out, ",{\"id\":%u,\"parentId\":%d,\"labels\":[",
                               names[i].name + ENTRY_NAMES, ENTRY_ROOT);
        lull_json_append(out, name_at(set, names[i].name), strlen(name_at(set, names[i].name)));
        g_string_append_printf(out, "],\"hasData\":true,\"isDefault\":%s}",
                               i < DEFAULTS ? "true" : "false");
    }
}

bool server_latency_tree(const struct server_output_question *question, GString *out,
                         GError **error)
{
    const struct latency_set *set = lock(question, error);
    if (set) {
        const char *title = question->output.kind->title;
        g_string_append_printf(
            out,
            "{\"headers\":[{\"name\":\"Name\",\"tooltip\":\"\"}],\"entries\":[{\"id\":%d,"
            "\"parentId\":-1,\"labels\":[",
            ENTRY_ROOT);
        lull_json_append(out, title, strlen(title));
        g_string_append(out, "],\"hasData\":false,\"isDefault\":false}");
        append_names(set, out);
        g_string_append(out, "]}");
    }
    server_latencies_unlock(question->served);
    return set != NULL;
}

/* ---- what is asked for ---- */

/* Points of the names that are asked for, in their order. */
typedef LULL_VEC(const struct latency_point *) point_list;

struct chosen {
    const struct latency_set *set;
    point_list *lists;  /* by item */
    uint32_t *of_name;  /* item + 1; 0: not asked for */
    int64_t longest_ns; /* of those in the range */
    size_t first, last, n;
};

static void choose(const struct server_output_question *question, const struct latency_set *set,
                   struct chosen *chosen)
{
    *chosen = (struct chosen){.set = set,
                              .lists = g_new0(point_list, MAX(question->n_items, 1)),
                              .of_name = g_new0(uint32_t, MAX(set->names->len, 1)),
                              .first = server_latency_first(set, question->range->start_ns),
                              .last = server_latency_first(set, question->range->end_ns + 1)};
    for (uint32_t i = 0; i < question->n_items; i++) {
        const int64_t name = question->items[i] - ENTRY_NAMES;
        if (name >= 0 && name < set->names->len) {
            chosen->of_name[name] = i + 1;
        }
    }
    for (size_t i = chosen->first; i < chosen->last; i++) {
        const struct latency_point *point = &set->points.items[i];
        if (chosen->of_name[point->name]) {
            chosen->longest_ns = MAX(chosen->longest_ns, point->took_ns);
            chosen->n++;
        }
    }
}

static void forget(const struct server_output_question *question, struct chosen *chosen)
{
    for (uint32_t i = 0; i < question->n_items; i++) {
        lull_vec_free(&chosen->lists[i]);
    }
    g_free(chosen->lists);
    g_free(chosen->of_name);
}

static const char *name_of_item(const struct server_output_question *question,
                                const struct chosen *chosen, uint32_t item)
{
    const int64_t name = question->items[item] - ENTRY_NAMES;
    const bool is_asked =
        name >= 0 && name < chosen->set->names->len && chosen->of_name[name] == item + 1;
    return is_asked ? name_at(chosen->set, (uint32_t)name) : NULL;
}

/* ---- points over time ---- */

static int64_t column_of(const struct server_range *range, const struct latency_point *point)
{
    const int64_t length_ns = MAX(range->end_ns - range->start_ns, 1);
    return (int64_t)((__int128)(point->start_ns - range->start_ns) * MAX(range->n, 2) / length_ns);
}

/* All of them; of too many the longest in each column. */
static void list_points(const struct server_output_question *question, struct chosen *chosen)
{
    for (size_t i = chosen->first; i < chosen->last; i++) {
        const struct latency_point *point = &chosen->set->points.items[i];
        const uint32_t item = chosen->of_name[point->name];
        point_list *list = item ? &chosen->lists[item - 1] : NULL;
        const struct latency_point *before =
            list && list->count ? list->items[list->count - 1] : NULL;
        if (chosen->n > POINTS_MOST && before &&
            column_of(question->range, before) == column_of(question->range, point)) {
            list->items[list->count - 1] = before->took_ns >= point->took_ns ? before : point;
        } else if (list) {
            lull_vec_push(list, point);
        }
    }
}

static void append_points(const point_list *list, int64_t id, const char *name, GString *out)
{
    server_series_start(out, id, name, "scatter");
    g_string_append(out, "\"xValues\":[");
    for (size_t i = 0; i < list->count; i++) {
        g_string_append_printf(out, "%s%" PRId64, i ? "," : "", list->items[i]->start_ns);
    }
    g_string_append(out, "],\"yValues\":[");
    for (size_t i = 0; i < list->count; i++) {
        g_string_append_printf(out, "%s%" PRId64, i ? "," : "", list->items[i]->took_ns);
    }
    g_string_append_c(out, ']');
    server_series_end(out, "Time", "TIMESTAMP", "Latency", "DURATION");
}

bool server_latency_scatter(const struct server_output_question *question, GString *out,
                            GError **error)
{
    const struct latency_set *set = lock(question, error);
    if (set) {
        struct chosen chosen;
        choose(question, set, &chosen);
        list_points(question, &chosen);
        g_string_append(out, "{\"title\":\"Latency vs Time\",\"series\":[");
        for (uint32_t i = 0; i < question->n_items; i++) {
            const char *name = name_of_item(question, &chosen, i);
            if (name) {
                append_points(&chosen.lists[i], question->items[i], name, out);
            }
        }
        g_string_append(out, "]}");
        forget(question, &chosen);
    }
    server_latencies_unlock(question->served);
    return set != NULL;
}

/* ---- how many took how long ---- */

static void append_bars(const uint64_t *bars, uint32_t n, int64_t width_ns, int64_t id,
                        const char *name, GString *out)
{
    server_series_start(out, id, name, "bar");
    g_string_append(out, "\"xRanges\":[");
    for (uint32_t i = 0; i < n; i++) {
        g_string_append_printf(out, "%s{\"start\":%" PRId64 ",\"end\":%" PRId64 "}", i ? "," : "",
                               i * width_ns, (i + 1) * width_ns);
    }
    g_string_append(out, "],\"yValues\":[");
    for (uint32_t i = 0; i < n; i++) {
        g_string_append_printf(out, "%s%" PRIu64, i ? "," : "", bars[i]);
    }
    g_string_append_c(out, ']');
    server_series_end(out, "Duration", "DURATION", "Count", "NUMBER");
}

/* Bars of equal width, from 0 to the longest of all names that are asked for. */
bool server_latency_density(const struct server_output_question *question, GString *out,
                            GError **error)
{
    const uint32_t wanted = question->range->n;
    const uint32_t n = wanted >= 1 && wanted <= BARS_MOST ? wanted : BARS_USUAL;
    const struct latency_set *set = lock(question, error);
    if (set) {
        struct chosen chosen;
        choose(question, set, &chosen);
        const int64_t width_ns = chosen.longest_ns / n + 1;
        g_autofree uint64_t *bars = g_new0(uint64_t, (size_t)MAX(question->n_items, 1) * n);
        for (size_t i = chosen.first; i < chosen.last; i++) {
            const struct latency_point *point = &set->points.items[i];
            const uint32_t item = chosen.of_name[point->name];
            if (item) {
                bars[(size_t)(item - 1) * n + (size_t)(point->took_ns / width_ns)]++;
            }
        }
        g_string_append(out, "{\"title\":\"Density\",\"series\":[");
        for (uint32_t i = 0; i < question->n_items; i++) {
            const char *name = name_of_item(question, &chosen, i);
            if (name) {
                append_bars(&bars[(size_t)i * n], n, width_ns, question->items[i], name, out);
            }
        }
        g_string_append(out, "]}");
        forget(question, &chosen);
    }
    server_latencies_unlock(question->served);
    return set != NULL;
}

/* ---- statistics ---- */

struct spread {
    struct lull_distribution times;
    const struct latency_point *shortest, *longest;
};

static void add_point(struct spread *spread, const struct latency_point *point)
{
    lull_spread_add(&spread->times, point->took_ns);
    if (!spread->shortest || point->took_ns < spread->shortest->took_ns) {
        spread->shortest = point;
    }
    if (!spread->longest || point->took_ns > spread->longest->took_ns) {
        spread->longest = point;
    }
}

static void append_duration(GString *out, double ns)
{
    char text[LULL_TIME_TEXT_SIZE] = "";
    if (ns >= 0) { /* else it is not known */
        lull_duration_format((int64_t)MIN(ns, 9e18), text);
    }
    g_string_append_printf(out, ",\"%s\"", text);
}

static void append_range(GString *out, const struct latency_point *point)
{
    g_string_append_printf(out, ",\"[%" PRId64 ",%" PRId64 "]\"", point->start_ns,
                           point->start_ns + point->took_ns);
}

static void append_spread(const struct spread *spread, uint64_t id, int64_t parent,
                          const char *name, GString *out)
{
    const struct lull_distribution *times = &spread->times;
    g_string_append_printf(out, ",{\"id\":%" PRIu64 ",\"parentId\":%" PRId64 ",\"labels\":[", id,
                           parent);
    lull_json_append(out, name, strlen(name));
    append_duration(out, (double)times->min);
    append_duration(out, (double)times->max);
    append_duration(out, lull_distribution_mean(times));
    append_duration(out, lull_distribution_deviation(times));
    g_string_append_printf(out, ",\"%" PRIu64 "\"", times->count);
    append_duration(out, (double)times->sum);
    append_range(out, spread->shortest);
    append_range(out, spread->longest);
    g_string_append(out, "],\"hasData\":true}");
}

/* One for all points of a range of them, and below it one for each name; numbers from `id` on. */
static void append_group(const struct latency_set *set, size_t first, size_t last, uint64_t id,
                         const char *title, GString *out)
{
    struct spread *names = g_new0(struct spread, set->names->len + 1),
                  *all = &names[set->names->len];
    for (size_t i = first; i < last; i++) {
        add_point(&names[set->points.items[i].name], &set->points.items[i]);
        add_point(all, &set->points.items[i]);
    }
    if (all->longest) {
        append_spread(all, id, ENTRY_ROOT, title, out);
    }
    for (uint32_t i = 0; i <= set->names->len; i++) {
        if (i < set->names->len && names[i].longest) {
            append_spread(&names[i], id + 1 + i, (int64_t)id, name_at(set, i), out);
        }
        lull_distribution_clear(&names[i].times);
    }
    g_free(names);
}

static void append_headers(GString *out)
{
    static const char *const headers[][2] = {{"Label", "STRING"},
                                             {"Minimum", "STRING"},
                                             {"Maximum", "STRING"},
                                             {"Average", "STRING"},
                                             {"Std Dev", "STRING"},
                                             {"Count", "NUMBER"},
                                             {"Total", "STRING"},
                                             {"Min Time Range", "TIME_RANGE"},
                                             {"Max Time Range", "TIME_RANGE"}};
    g_string_append(out, "{\"headers\":[");
    for (uint32_t i = 0; i < G_N_ELEMENTS(headers); i++) {
        g_string_append_printf(out, "%s{\"name\":\"%s\",\"tooltip\":\"\",\"dataType\":\"%s\"}",
                               i ? "," : "", headers[i][0], headers[i][1]);
    }
    g_string_append_c(out, ']');
}

bool server_latency_statistics(const struct server_output_question *question, GString *out,
                               GError **error)
{
    const struct latency_set *set = lock(question, error);
    if (set) {
        const char *title = question->output.kind->title;
        const uint64_t n = set->names->len;
        append_headers(out);
        g_string_append_printf(out, ",\"entries\":[{\"id\":%d,\"parentId\":-1,\"labels\":[",
                               ENTRY_ROOT);
        lull_json_append(out, title, strlen(title));
        g_string_append(out, ",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\"],\"hasData\":true}");
        append_group(set, 0, set->points.count, ENTRY_NAMES, "Total", out);
        if (question->range) {
            append_group(set, server_latency_first(set, question->range->start_ns),
                         server_latency_first(set, question->range->end_ns + 1),
                         ENTRY_NAMES + n + 1, "Selection", out);
        }
        g_string_append(out, "]}");
    }
    server_latencies_unlock(question->served);
    return set != NULL;
}

/* ---- all of them ---- */

static const char *const columns[] = {"Start Time", "End Time", "Duration", "Name", "Task"};

static char **make_line(const struct server_output_question *question,
                        const struct latency_set *set, const struct latency_point *point)
{
    char text[LULL_TIME_TEXT_SIZE];
    char **line = g_new0(char *, G_N_ELEMENTS(columns) + 1);
    const struct lull_store_row row = point->row == LULL_NONE
                                          ? (struct lull_store_row){.name = "", .tid = -1}
                                          : lull_store_row(question->served->store, point->row);
    line[0] = g_strdup_printf("%" PRId64, point->start_ns);
    line[1] = g_strdup_printf("%" PRId64, point->start_ns + point->took_ns);
    lull_duration_format(point->took_ns, text);
    line[2] = g_strdup(text);
    line[3] = g_strdup(name_at(set, point->name));
    line[4] = row.tid < 0 ? g_strdup(row.name) : g_strdup_printf("%s (%d)", row.name, row.tid);
    return line;
}

static bool read_lines(void *user, uint64_t first, uint32_t count, uint32_t wanted,
                       GPtrArray *lines, GError **error)
{
    const struct server_output_question *question = user;
    const struct latency_set *set = lock(question, error);
    for (uint64_t i = first; set && i < first + count; i++) {
        g_ptr_array_add(lines, make_line(question, set, &set->points.items[i]));
    }
    server_latencies_unlock(question->served);
    return set != NULL;
}

static bool find_time(void *user, int64_t time_ns, uint64_t *index, GError **error)
{
    const struct server_output_question *question = user;
    const struct latency_set *set = lock(question, error);
    *index = set ? server_latency_first(set, time_ns) : 0;
    server_latencies_unlock(question->served);
    return set != NULL;
}

static struct server_table table_of(const struct server_output_question *question, uint64_t size)
{
    return (struct server_table){.columns = columns,
                                 .n_columns = G_N_ELEMENTS(columns),
                                 .size = size,
                                 .read = read_lines,
                                 .find = find_time,
                                 .user = (void *)question};
}

bool server_latency_columns(const struct server_output_question *question, GString *out,
                            GError **error)
{
    const struct server_table table = table_of(question, 0);
    server_table_columns(&table, out);
    return true;
}

bool server_latency_lines(const struct server_output_question *question, GString *out,
                          GError **error)
{
    const struct latency_set *set = lock(question, error);
    const struct server_table table = table_of(question, set ? set->points.count : 0);
    server_latencies_unlock(question->served);
    return set && server_table_lines(&table, question->params, out, error);
}
