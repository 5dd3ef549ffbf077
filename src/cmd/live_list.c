/* SPDX-License-Identifier: MIT */
/* Lists the live sessions of relays: a table for people, JSON for programs. */
#include "cmd/live_list.h"

#include <stdio.h>

#include "cmd/program_out.h"
#include "source/live/live.h"
#include "view/table.h"

static bool is_relay(const char *text, bool with_sessions)
{
    struct lull_live_url url;
    if (!lull_live_url_is(text)) {
        return false;
    }
    /* What is malformed is said when it is opened. */
    bool is_requested = !lull_live_url_parse(text, &url, NULL) || with_sessions || !url.session;
    lull_live_url_clear(&url);
    return is_requested;
}

bool lull_live_list_is_requested(const struct lull_args *args, bool with_sessions)
{
    uint32_t count;
    const char *const *paths = lull_args_rest(args, &count);
    for (uint32_t i = 0; i < count; i++) {
        if (is_relay(paths[i], with_sessions)) {
            return true;
        }
    }
    return false;
}

static const struct lull_column columns[] = {
    {.title = "SESSION", .key = "url", .type = LULL_COLUMN_TEXT, .flags = LULL_COLUMN_KEEP},
    {.title = "HOST", .key = "host", .type = LULL_COLUMN_TEXT, .flags = LULL_COLUMN_JSON_ONLY},
    {.title = "NAME", .key = "session", .type = LULL_COLUMN_TEXT, .flags = LULL_COLUMN_JSON_ONLY},
    {.title = "LIVE TIMER", .key = "timer_ns", .type = LULL_COLUMN_DURATION},
    {.title = "STREAMS", .key = "streams", .type = LULL_COLUMN_COUNT},
    {.title = "VIEWERS", .key = "viewers", .type = LULL_COLUMN_COUNT},
    {0},
};

static void add_row(struct lull_table *table, const struct lull_live_recording *recording)
{
    lull_table_add_row(table);
    lull_table_set_text(table, 0, recording->url);
    lull_table_set_text(table, 1, recording->host);
    lull_table_set_text(table, 2, recording->name);
    lull_table_set_number(table, 3, INT64_C(1000) * recording->timer_us);
    lull_table_set_number(table, 4, (int64_t)recording->streams);
    lull_table_set_number(table, 5, recording->clients);
}

static bool print_table(const struct lull_args *args, const struct lull_table *table,
                        GError **error)
{
    if (lull_program_out_is_wanted(args)) {
        struct lull_program_out out;
        lull_program_out_start(&out, args);
        fputs("{\"version\": 1,\n \"sessions\": ", out.file);
        bool done = lull_table_print_json(table, out.file, error);
        fputs("}\n", out.file);
        return lull_program_out_end(&out, done, error);
    }
    if (lull_table_row_count(table) == 0) {
        fputs("The relay has no live sessions.\n", stdout);
        return true;
    }
    struct lull_view_style style;
    lull_view_style_init(&style, stdout, lull_args_text(args, "color"));
    return lull_table_print(table, stdout, &style, error);
}

int lull_live_list_print(const struct lull_args *args, GError **error)
{
    static const struct lull_live_hooks hooks;
    uint32_t count;
    const char *const *paths = lull_args_rest(args, &count);
    struct lull_table *table = lull_table_new(columns);
    bool done = true;
    for (uint32_t i = 0; i < count && done; i++) {
        if (!lull_live_url_is(paths[i])) {
            g_set_error(error, LULL_ERROR, LULL_ERROR_USAGE,
                        "%s: not a relay; the sessions of relays are listed without other traces",
                        paths[i]);
            done = false;
            break;
        }
        g_autoptr(GPtrArray) recordings = lull_live_list(paths[i], &hooks, error);
        done = recordings != NULL;
        for (uint32_t r = 0; done && r < recordings->len; r++) {
            add_row(table, recordings->pdata[r]);
        }
    }
    done = done && print_table(args, table, error);
    lull_table_free(table);
    return done ? 0 : 1;
}
