/* SPDX-License-Identifier: MIT */
/* Counts the events, once; and the histogram of them, exact to a 65536th of the traces, and to the ns where
 * less of them is asked for. */
#include <inttypes.h>

#include "base/sums.h"
#include "server/events_private.h"
#include "server/outputs.h"

enum { ENTRY_ROOT = 1, ENTRY_TOTAL, ENTRY_LOST };

static uint32_t bin_of(const struct event_counts *counts, int64_t time_ns)
{
    return (uint32_t)CLAMP((time_ns - counts->start_ns) / counts->width_ns, 0, EVENT_BINS - 1);
}

static struct event_counts *count(const struct served *served, struct lull_session *session)
{
    struct event_counts *counts = g_new0(struct event_counts, 1);
    const struct lull_event *event;
    counts->start_ns = served->start_ns;
    counts->width_ns = MAX((served->until_ns - served->start_ns) / EVENT_BINS + 1, 1);
    lull_session_limit(session, INT64_MIN, INT64_MAX);
    while ((event = lull_session_read(session))) {
        counts->before[bin_of(counts, event->time_ns) + 1]++;
    }
    for (uint32_t i = 0; i < EVENT_BINS; i++) {
        counts->before[i + 1] += counts->before[i];
    }
    return counts;
}

const struct event_counts *server_event_counts(const struct served *served, GError **error)
{
    struct server_events *events = served->about->events;
    g_mutex_lock(&events->lock);
    if (!events->counts && server_events_open(events, NULL, error)) {
        g_atomic_pointer_set(&events->counts, count(served, events->session));
    }
    const struct event_counts *counts = events->counts;
    g_mutex_unlock(&events->lock);
    return counts;
}

uint64_t server_event_total(const struct served *served)
{
    const struct event_counts *counts = g_atomic_pointer_get(&served->about->events->counts);
    return counts ? counts->before[EVENT_BINS] : 0;
}

/* ---- the histogram ---- */

/* Where nothing was recorded, nothing was lost either. */
static bool has_lost_events(const struct lull_store *store)
{
    uint32_t i = 0;
    while (i < lull_store_loss_count(store) && lull_store_loss(store, i).events == 0) {
        i++;
    }
    return i < lull_store_loss_count(store);
}

bool server_histogram_tree(const struct server_output_question *question, GString *out,
                           GError **error)
{
    const bool has_lost = has_lost_events(question->served->store);
    g_string_append_printf(
        out,
        "{\"headers\":[{\"name\":\"Name\",\"tooltip\":\"\"}],\"entries\":[{\"id\":%d,\"parentId\":-1,"
        "\"labels\":[\"Events\"],\"hasData\":false,\"isDefault\":false},{\"id\":%d,\"parentId\":%d,"
        "\"labels\":[\"Total\"],\"hasData\":true,\"isDefault\":true}",
        ENTRY_ROOT, ENTRY_TOTAL, ENTRY_ROOT);
    if (has_lost) {
        g_string_append_printf(out,
                               ",{\"id\":%d,\"parentId\":%d,\"labels\":[\"Lost\"],\"hasData\":true,"
                               "\"isDefault\":true}",
                               ENTRY_LOST, ENTRY_ROOT);
    }
    g_string_append(out, "]}");
    return true;
}

/* Events before a time; those of the span that it lies in are taken as evenly spread. */
static uint64_t before(const struct event_counts *counts, int64_t time_ns)
{
    const uint32_t bin = bin_of(counts, time_ns);
    const int64_t into_ns = time_ns - (counts->start_ns + bin * counts->width_ns);
    const uint64_t own = counts->before[bin + 1] - counts->before[bin];
    return counts->before[bin] +
           (uint64_t)((unsigned __int128)own * (uint64_t)CLAMP(into_ns, 0, counts->width_ns) /
                      (uint64_t)counts->width_ns);
}

static int64_t step_of(const struct server_range *range)
{
    return MAX(server_range_time(range, 1) - range->start_ns, 1);
}

/* The column that a time lies in; n: none. */
static uint32_t column_of(const struct server_range *range, int64_t time_ns)
{
    if (time_ns < range->start_ns || time_ns >= lull_sum(range->end_ns, step_of(range))) {
        return MAX(range->n, 2);
    }
    uint32_t low = 0, high = MAX(range->n, 2) - 1;
    while (low < high) {
        const uint32_t middle = low + (high - low + 1) / 2;
        if (server_range_time(range, middle) <= time_ns) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    return low;
}

/* Each column is from its time up to the next one's. */
static bool count_total(const struct served *served, const struct server_range *range,
                        uint64_t *columns, GError **error)
{
    struct server_events *events = served->about->events;
    const struct event_counts *counts = server_event_counts(served, error);
    const uint32_t n = MAX(range->n, 2);
    const int64_t end_ns = lull_sum(range->end_ns, step_of(range));
    if (!counts) {
        return false;
    }
    if (step_of(range) >= counts->width_ns) {
        for (uint32_t i = 0; i < n; i++) {
            columns[i] = before(counts, i + 1 < n ? server_range_time(range, i + 1) : end_ns) -
                         before(counts, server_range_time(range, i));
        }
        return true;
    }
    g_mutex_lock(&events->lock);
    const bool is_open = server_events_open(events, NULL, error);
    const struct lull_event *event;
    if (is_open) {
        lull_session_limit(events->session, range->start_ns, end_ns);
    }
    while (is_open && (event = lull_session_read(events->session))) {
        columns[MIN(column_of(range, event->time_ns), n - 1)]++;
    }
    g_mutex_unlock(&events->lock);
    return is_open;
}

/* Each loss where it starts. */
static void count_lost(const struct served *served, const struct server_range *range,
                       uint64_t *columns)
{
    for (uint32_t i = 0; i < lull_store_loss_count(served->store); i++) {
        const struct lull_store_loss loss = lull_store_loss(served->store, i);
        const uint32_t column = column_of(range, loss.start_ns);
        if (column < MAX(range->n, 2)) {
            columns[column] += loss.events;
        }
    }
}

static void append_series(const struct server_range *range, int64_t id, const uint64_t *columns,
                          GString *out)
{
    server_series_start(out, id, id == ENTRY_LOST ? "Lost" : "Total", "area");
    g_string_append(out, "\"xValues\":[");
    for (uint32_t i = 0; i < MAX(range->n, 2); i++) {
        g_string_append_printf(out, "%s%" PRId64, i ? "," : "", server_range_time(range, i));
    }
    g_string_append(out, "],\"yValues\":[");
    for (uint32_t i = 0; i < MAX(range->n, 2); i++) {
        g_string_append_printf(out, "%s%" PRIu64, i ? "," : "", columns[i]);
    }
    g_string_append_c(out, ']');
    server_series_end(out, "Time", "TIMESTAMP", "Events", "NUMBER");
}

bool server_histogram_xy(const struct server_output_question *question, GString *out,
                         GError **error)
{
    const struct server_range *range = question->range;
    bool is_done = true;
    g_string_append(out, "{\"title\":\"Histogram\",\"series\":[");
    for (uint32_t i = 0; is_done && i < question->n_items; i++) {
        g_autofree uint64_t *columns = g_new0(uint64_t, MAX(range->n, 2));
        const int64_t id = question->items[i];
        if (id == ENTRY_LOST) {
            count_lost(question->served, range, columns);
        } else if (id == ENTRY_TOTAL) {
            is_done = count_total(question->served, range, columns, error);
        }
        if (is_done && (id == ENTRY_TOTAL || id == ENTRY_LOST)) {
            append_series(range, id, columns, out);
        }
    }
    g_string_append(out, "]}");
    return is_done;
}
