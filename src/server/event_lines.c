/* SPDX-License-Identifier: MIT */
/* The events as a table of the Trace Server Protocol. A line is found by how many events there are before
 * a time, so only what is near it is read. */
#include <inttypes.h>

#include "base/time.h"
#include "server/events_private.h"
#include "server/outputs.h"
#include "server/tables.h"

enum {
    COLUMN_TIME,
    COLUMN_HOST,
    COLUMN_CPU,
    COLUMN_TYPE,
    COLUMN_CONTENTS,
    COLUMN_TID,
    COLUMN_PID,
    COLUMN_NS,
    COLUMNS
};

/* Clients know “Timestamp ns”, “TID” and “PID” by these names. */
static const char *const columns[COLUMNS] = {
    [COLUMN_TIME] = "Timestamp",  [COLUMN_HOST] = "Host",         [COLUMN_CPU] = "CPU",
    [COLUMN_TYPE] = "Event type", [COLUMN_CONTENTS] = "Contents", [COLUMN_TID] = "TID",
    [COLUMN_PID] = "PID",         [COLUMN_NS] = "Timestamp ns",
};

struct reader {
    const struct served *served;
    const struct event_counts *counts;
    struct lull_map cpus;
};

/* The start of a span; the first one has no start, the end of the last one no end. */
static int64_t start_of(const struct event_counts *counts, uint32_t bin)
{
    return bin == 0            ? INT64_MIN
           : bin == EVENT_BINS ? INT64_MAX
                               : counts->start_ns + bin * counts->width_ns;
}

static char *number(int64_t value)
{
    return value < 0 ? g_strdup("") : g_strdup_printf("%" PRId64, value);
}

static char *cell(const struct reader *reader, const struct lull_event *event, uint32_t column)
{
    struct server_events *events = reader->served->about->events;
    const struct lull_store *store = reader->served->store;
    char time[LULL_TIME_TEXT_SIZE];
    int64_t row;
    switch (column) {
    case COLUMN_TIME:
        lull_time_format_clock(event->time_ns, false, time);
        return g_strdup(time);
    case COLUMN_HOST:
        return g_strdup(lull_store_host(store, event->host).name);
    case COLUMN_CPU:
        return number(event->cpu);
    case COLUMN_TYPE:
        return g_strdup(lull_event_class_name(event->event_class));
    case COLUMN_CONTENTS: {
        GString *fields = g_string_new(NULL);
        server_events_format(events, event);
        server_events_fields(&events->line, fields);
        return g_string_free(fields, FALSE);
    }
    case COLUMN_TID:
    case COLUMN_PID:
        row = server_event_row(reader->served, &reader->cpus, event);
        return number(row < 0                ? -1
                      : column == COLUMN_TID ? lull_store_row(store, (uint32_t)row).tid
                                             : lull_store_row(store, (uint32_t)row).pid);
    default:
        return g_strdup_printf("%" PRId64, event->time_ns);
    }
}

static char **make_line(const struct reader *reader, const struct lull_event *event,
                        uint32_t wanted)
{
    char **line = g_new0(char *, COLUMNS + 1);
    for (uint32_t i = 0; i < COLUMNS; i++) {
        line[i] = wanted >> i & 1 ? cell(reader, event, i) : g_strdup("");
    }
    return line;
}

static bool read_lines(void *user, uint64_t first, uint32_t count, uint32_t wanted,
                       GPtrArray *lines, GError **error)
{
    const struct reader *reader = user;
    struct server_events *events = reader->served->about->events;
    const struct lull_event *event;
    uint32_t low = 0, high = EVENT_BINS - 1; /* the span that the first line lies in */
    while (low < high) {
        const uint32_t middle = low + (high - low + 1) / 2;
        if (reader->counts->before[middle] <= first) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    g_mutex_lock(&events->lock);
    const bool is_open = server_events_open(events, NULL, error);
    if (is_open) {
        lull_session_limit(events->session, start_of(reader->counts, low), INT64_MAX);
    }
    for (uint64_t at = reader->counts->before[low];
         is_open && lines->len < count && (event = lull_session_read(events->session)); at++) {
        if (at >= first) {
            g_ptr_array_add(lines, make_line(reader, event, wanted));
        }
    }
    g_mutex_unlock(&events->lock);
    return is_open;
}

static bool find_time(void *user, int64_t time_ns, uint64_t *index, GError **error)
{
    const struct reader *reader = user;
    const struct event_counts *counts = reader->counts;
    struct server_events *events = reader->served->about->events;
    const int64_t last_ns = counts->start_ns + (EVENT_BINS - 1) * counts->width_ns;
    const uint32_t bin = (uint32_t)((CLAMP(time_ns, counts->start_ns, last_ns) - counts->start_ns) /
                                    counts->width_ns);
    *index = counts->before[bin];
    g_mutex_lock(&events->lock);
    const bool is_open = server_events_open(events, NULL, error);
    if (is_open) {
        lull_session_limit(events->session, start_of(counts, bin), time_ns);
    }
    while (is_open && lull_session_read(events->session)) {
        (*index)++;
    }
    g_mutex_unlock(&events->lock);
    return is_open;
}

static struct server_table table_of(struct reader *reader)
{
    return (struct server_table){.columns = columns,
                                 .n_columns = COLUMNS,
                                 .size = reader->counts ? reader->counts->before[EVENT_BINS] : 0,
                                 .read = read_lines,
                                 .find = find_time,
                                 .user = reader};
}

bool server_event_columns(const struct server_output_question *question, GString *out,
                          GError **error)
{
    struct reader reader = {.served = question->served};
    const struct server_table table = table_of(&reader);
    server_table_columns(&table, out);
    return true;
}

bool server_event_lines(const struct server_output_question *question, GString *out, GError **error)
{
    struct reader reader = {.served = question->served,
                            .counts = server_event_counts(question->served, error)};
    if (!reader.counts) {
        return false;
    }
    const struct server_table table = table_of(&reader);
    server_event_cpus(question->served, &reader.cpus);
    const bool is_done = server_table_lines(&table, question->params, out, error);
    lull_map_free(&reader.cpus);
    return is_done;
}
