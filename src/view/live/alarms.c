/* SPDX-License-Identifier: MIT */
/* A row for each alarm. The names in it are cleaned by the table. */
#include "view/live/alarms.h"

#include "base/time.h"
#include "view/table.h"

static const struct lull_column columns[] = {
    {.title = "AT", .type = LULL_COLUMN_TEXT, .flags = LULL_COLUMN_KEEP},
    {.title = "TOOK", .key = "delay_ns", .type = LULL_COLUMN_DURATION, .flags = LULL_COLUMN_KEEP},
    {.title = "KIND", .type = LULL_COLUMN_TEXT, .flags = LULL_COLUMN_KEEP},
    {.title = "WHO", .type = LULL_COLUMN_TEXT, .flags = LULL_COLUMN_KEEP},
    {.title = "IN", .type = LULL_COLUMN_TEXT, .flags = LULL_COLUMN_KEEP},
    {.title = "FOR", .type = LULL_COLUMN_TEXT},
    {0},
};

static void add_row(const struct lull_alarm_view *view, struct lull_table *table,
                    const struct lull_track_alarm *alarm, bool is_chosen)
{
    char clock[LULL_TIME_TEXT_SIZE];
    const char *mark = view->style.unicode ? "▶ " : "> ";
    g_autofree char *who =
        g_strdup_printf("%s%s/%u", is_chosen ? mark : "", alarm->record->comm, alarm->record->tid);
    g_autofree char *cause = lull_alarm_cause(view, alarm);
    lull_time_format_clock(alarm->end_ns + view->epoch_ns, view->style.local_time, clock);
    clock[sizeof "hh:mm:ss.mmm" - 1] = '\0';
    lull_table_add_row(table);
    lull_table_set_text(table, 0, clock);
    lull_table_set_number(table, 1, alarm->end_ns - alarm->start_ns);
    lull_table_set_text(table, 2, alarm->rule->kind->name);
    lull_table_set_text(table, 3, who);
    lull_table_set_text(table, 4, alarm->call);
    lull_table_set_text(table, 5, cause);
}

bool lull_alarms_table(const struct lull_alarm_view *view, const struct lull_kept *kept,
                       uint32_t limit, int64_t chosen, GError **error)
{
    struct lull_table *table = lull_table_new(columns);
    struct lull_track_alarm alarm;
    for (uint32_t i = 0; (limit == 0 || i < limit) && lull_kept_get(kept, i, &alarm); i++) {
        add_row(view, table, &alarm, chosen == i);
    }
    const bool done = lull_table_print(table, view->file, &view->style, error);
    lull_table_free(table);
    return done;
}

void lull_alarms_text(const struct lull_alarm_view *view, const struct lull_kept *kept, uint64_t n)
{
    struct lull_track_alarm alarm;
    for (uint32_t i = (uint32_t)MIN(n, LULL_KEPT_ALARMS); i-- > 0;) {
        if (lull_kept_get(kept, i, &alarm)) {
            lull_alarm_text(view, &alarm);
        }
    }
}

struct json_object *lull_alarms_json(const struct lull_alarm_view *view,
                                     const struct lull_kept *kept, uint64_t n)
{
    struct json_object *array = json_object_new_array();
    struct lull_track_alarm alarm;
    for (uint32_t i = (uint32_t)MIN(n, LULL_KEPT_ALARMS); i-- > 0;) {
        if (lull_kept_get(kept, i, &alarm)) {
            json_object_array_add(array, lull_alarm_object(view, &alarm, NULL));
        }
    }
    return array;
}
