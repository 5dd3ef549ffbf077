/* SPDX-License-Identifier: MIT */
/* Use of CPUs over time, from the exact sums of rows. */
#include <inttypes.h>
#include <string.h>

#include <lull/path.h>

#include "base/json.h"
#include "base/sums.h"
#include "server/states.h"

bool server_cpu_time(const struct served *served, uint32_t row, int64_t start_ns, int64_t end_ns,
                     int64_t *ns, GError **error)
{
    int64_t totals[LULL_STORE_STATES];
    if (!lull_store_totals(served->store, row, start_ns, end_ns, totals, error)) {
        return false;
    }
    *ns = totals[LULL_STORE_USER] + totals[LULL_STORE_SYSCALL] + totals[LULL_STORE_INTERRUPT] +
          totals[LULL_STORE_SOFTIRQ_RUN];
    return true;
}

/* What all CPUs (of entry 0), or one task, used. */
static bool used(const struct served *served, int64_t item, int64_t start_ns, int64_t end_ns,
                 int64_t *ns, GError **error)
{
    *ns = 0;
    const struct served_entry *entry = served_find(served, &served->tasks, item);
    if (entry && entry->row != LULL_NONE) {
        return server_cpu_time(served, entry->row, start_ns, end_ns, ns, error);
    }
    const bool is_host = item >= 1 && item <= lull_store_host_count(served->store);
    for (uint32_t row = 0; is_host && row < lull_store_row_count(served->store); row++) {
        const struct lull_store_row about = lull_store_row(served->store, row);
        int64_t part;
        if (about.kind == LULL_STORE_CPU_THREAD && about.host == (uint32_t)item - 1) {
            if (!server_cpu_time(served, row, start_ns, end_ns, &part, error)) {
                return false;
            }
            lull_add(ns, part);
        }
    }
    return true;
}

static int64_t time_of(const struct server_range *range, uint32_t i)
{
    return range->start_ns +
           (int64_t)((__int128)(range->end_ns - range->start_ns) * i / (MAX(range->n, 2) - 1));
}

static bool append_series(const struct served *served, const struct server_range *range,
                          int64_t item, GString *out, GError **error)
{
    char number[G_ASCII_DTOSTR_BUF_SIZE];
    const char *name = served_find(served, &served->tasks, item)->name;
    g_string_append_printf(out, "%s{\"seriesId\":%" PRId64 ",\"seriesName\":",
                           out->str[out->len - 1] == '[' ? "" : ",", item);
    lull_json_append(out, name, strlen(name));
    g_string_append(out, ",\"style\":{\"values\":{\"series-type\":\"line\"}},\"xValues\":[");
    for (uint32_t i = 0; i < MAX(range->n, 2); i++) {
        g_string_append_printf(out, "%s%" PRId64, i ? "," : "", time_of(range, i));
    }
    g_string_append(out, "],\"yValues\":[");
    int64_t before_ns = 2 * time_of(range, 0) - time_of(range, 1);
    for (uint32_t i = 0; i < MAX(range->n, 2); i++) {
        const int64_t at_ns = time_of(range, i);
        int64_t ns = 0;
        if (at_ns > before_ns && !used(served, item, before_ns, at_ns, &ns, error)) {
            return false;
        }
        const double y = at_ns > before_ns ? 100.0 * (double)ns / (double)(at_ns - before_ns) : 0;
        g_string_append_printf(out, "%s%s", i ? "," : "",
                               g_ascii_formatd(number, sizeof number, "%.9g", y));
        before_ns = at_ns;
    }
    g_string_append(out,
                    "],\"xValuesDescription\":{\"label\":\"Time\",\"unit\":\"ns\",\"dataType\":"
                    "\"TIMESTAMP\"},\"yValuesDescription\":{\"label\":\"CPU\",\"unit\":\"%\","
                    "\"dataType\":\"NUMBER\"}}");
    return true;
}

bool server_usage(const struct served *served, const struct server_range *range,
                  const int64_t *items, uint32_t n_items, GString *out, GError **error)
{
    g_string_append(out, "{\"title\":\"CPU Usage\",\"series\":[");
    for (uint32_t i = 0; i < n_items; i++) {
        if (served_find(served, &served->tasks, items[i]) &&
            !append_series(served, range, items[i], out, error)) {
            return false;
        }
    }
    g_string_append(out, "]}");
    return true;
}
