/* SPDX-License-Identifier: MIT */
/* Draws the last interval, its histograms or the last alarms, and takes keys. */
#include "cmd/top_screen.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/top_path.h"
#include "view/words.h"

/* Of a screen: what is above and below the rows, each line of it folded once. */
#define OTHER_LINES 11
#define MOST_TYPED 200

const char *const lull_top_orders[] = {"waited", "longest", "waits", "name", NULL};

/* ---- showing ---- */

/* Each time: the terminal may have another size. */
static void init_style(struct lull_top *top)
{
    lull_view_style_init(&top->view.style, stdout, top->color);
    top->view.style.local_time = top->is_local;
}

static bool show_histograms(const struct lull_top *top, GError **error)
{
    struct lull_track_histogram sum[LULL_TRACK_MEASURES];
    const char *span = top->pieces == 0                     ? "the last interval"
                       : top->pieces == LULL_HISTORY_MINUTE ? "the last minute"
                                                            : "the last 15 minutes";
    if (top->pieces) {
        lull_histories_sum(top->histories, top->pieces, sum);
    } else {
        memcpy(sum, top->interval.histogram, sizeof sum);
    }
    return lull_top_histograms(&top->view, &top->interval, sum, span, error);
}

static bool show_on(struct lull_top *top, FILE *file, uint32_t limit, GError **error)
{
    struct lull_live_rows rows;
    bool done = true;
    init_style(top);
    top->view.file = file;
    top->view.limit = limit;
    if (top->table == LULL_TOP_ALARMS && !top->is_json) {
        return lull_top_alarms(&top->view, &top->interval, error);
    }
    if (top->table == LULL_TOP_HISTOGRAMS && !top->is_json) {
        return show_histograms(top, error);
    }
    top->view.shows_chains = top->table == LULL_TOP_CHAINS;
    top->view.is_screen = top->screen.is_open;
    lull_live_rows_make(&rows, &top->interval, top->filter, top->order, top->by_process);
    if (top->is_json) {
        lull_top_json(&top->view, &top->interval, &rows);
    } else {
        done = lull_top_text(&top->view, &top->interval, &rows, error);
    }
    lull_live_rows_clear(&rows);
    return done;
}

/* Of each table, which keys there are: what fits into a line of 80 characters. */
static const char *const keys_help[LULL_TOP_TABLES] = {
    [LULL_TOP_WAITS] = "q quit c chains h hist a alarms / filter <> sort jk row s path i t",
    [LULL_TOP_CHAINS] = "q quit w waits h hist a alarms / filter <> sort jk row s path i t",
    [LULL_TOP_HISTOGRAMS] = "q quit  w waits  0 last interval  1 minute  5 15 minutes  g bars",
    [LULL_TOP_ALARMS] = "q quit  w waits  j k alarm  s path of its process  space freeze",
};

/* For rows. On a small terminal what is below them is cut. */
static uint32_t room(void)
{
    const int height = lull_screen_height();
    return (uint32_t)MAX(height - OTHER_LINES, MAX(height / 2, 1));
}

static void draw_status(const struct lull_top *top, const char *text)
{
    g_autofree char *status =
        top->typed     ? g_strconcat("filter: ", top->typed->str, NULL)
        : top->message ? g_strdup(top->message)
        : top->table > LULL_TOP_CHAINS
            ? g_strconcat(top->is_frozen ? "frozen  " : "", keys_help[top->table], NULL)
            : g_strdup_printf("by %s%s%s%s  %s", lull_top_orders[top->order],
                              top->is_frozen ? ", frozen" : "", top->filter ? ", " : "",
                              top->filter ? lull_live_filter_text(top->filter) : "",
                              keys_help[top->table]);
    g_autofree char *clean = lull_clean_text(status, !top->view.style.unicode);
    if (lull_text_width(clean) >= top->view.style.width) {
        g_autofree char *cut = g_utf8_substring(clean, 0, top->view.style.width - 1);
        lull_screen_draw(text, cut);
    } else {
        lull_screen_draw(text, clean);
    }
}

bool lull_top_draw(struct lull_top *top, GError **error)
{
    char *text = NULL;
    size_t length;
    FILE *file = open_memstream(&text, &length);
    bool done = true;
    if (top->has_interval) {
        done = show_on(top, file, room(), error);
    } else {
        fputs("lull top\n", file);
        init_style(top);
    }
    fclose(file);
    draw_status(top, text);
    free(text);
    return done;
}

bool lull_top_show(struct lull_top *top, GError **error)
{
    if (top->screen.is_open) {
        return lull_top_draw(top, error);
    }
    const bool done = show_on(top, stdout, (uint32_t)top->rows, error);
    if (!top->is_once && !top->is_json) {
        fputc('\n', stdout);
    }
    fflush(stdout);
    if (ferror(stdout)) { /* nobody reads on */
        top->is_over = true;
    }
    return done;
}

/* ---- rows ---- */

/* The process of the chosen row or alarm; 0: there is none. */
static uint32_t chosen_pid(const struct lull_top *top)
{
    struct lull_live_rows rows;
    struct lull_track_alarm alarm;
    if (top->table == LULL_TOP_ALARMS) {
        const bool is_there = top->kept && lull_kept_get(top->kept, top->view.chosen, &alarm);
        return is_there ? alarm.record->tgid : 0;
    }
    lull_live_rows_make(&rows, &top->interval, top->filter, top->order, top->by_process);
    const struct lull_live_row *row = lull_top_chosen(&top->view, &rows);
    const uint32_t pid = row ? row->key->tgid : 0;
    lull_live_rows_clear(&rows);
    return pid;
}

/* The flight recorder writes what it has, and the path of the chosen process is shown. */
static void explain(struct lull_top *top)
{
    g_autoptr(GError) why = NULL;
    const uint32_t pid = chosen_pid(top);
    if (pid == 0) {
        top->message = g_strdup("there is no such row any more; j and k choose one");
        return;
    }
    lull_screen_close(&top->screen);
    const bool is_shown = lull_top_path(pid, &why);
    top->is_over = !lull_screen_open(&top->screen);
    if (!is_shown) {
        top->message = g_strdup(why->message);
    }
}

static void choose(struct lull_top *top, int step)
{
    if (!top->view.has_chosen) {
        top->view.has_chosen = true;
        top->view.chosen = 0;
    } else if (step > 0 || top->view.chosen > 0) {
        top->view.chosen = (uint32_t)((int64_t)top->view.chosen + step);
    }
    top->view.chosen = MIN(top->view.chosen, room() - 1);
}

/* ---- keys ---- */

static void end_typing(struct lull_top *top, bool is_wanted)
{
    g_autoptr(GError) why = NULL;
    struct lull_live_filter *filter = NULL;
    if (is_wanted && top->typed->len > 0) {
        filter = lull_live_filter_parse(top->typed->str, &why);
    }
    if (why) {
        top->message = g_strdup(why->message);
    } else if (is_wanted) {
        lull_live_filter_free(top->filter);
        top->filter = filter;
    }
    g_string_free(g_steal_pointer(&top->typed), TRUE);
}

static void type(struct lull_top *top, char key)
{
    if (key == '\n' || key == '\r' || key == '\033') {
        end_typing(top, key != '\033');
    } else if (key == '\b' || key == '\177') {
        g_string_truncate(top->typed, top->typed->len ? top->typed->len - 1 : 0);
    } else if (g_ascii_isprint(key) && top->typed->len < MOST_TYPED) {
        g_string_append_c(top->typed, key);
    }
}

/* The key of what is shown goes back to waits. */
static void turn_to(struct lull_top *top, enum lull_top_table table)
{
    const bool had_rows = top->table <= LULL_TOP_CHAINS;
    top->table = table == top->table ? LULL_TOP_WAITS : table;
    if (had_rows != (top->table <= LULL_TOP_CHAINS)) { /* another row, or an alarm */
        top->view.has_chosen = false;
        top->view.chosen = 0;
    }
}

static void press(struct lull_top *top, char key)
{
    switch (key) {
    case 'q':
        top->is_over = true;
        break;
    case '/':
        top->typed = g_string_new(NULL);
        break;
    case '<':
        top->order = (top->order + LULL_LIVE_ORDERS - 1) % LULL_LIVE_ORDERS;
        break;
    case '>':
        top->order = (top->order + 1) % LULL_LIVE_ORDERS;
        break;
    case 'i':
        top->view.shows_idle = !top->view.shows_idle;
        break;
    case 't':
        top->by_process = !top->by_process;
        break;
    case 'w':
        turn_to(top, LULL_TOP_WAITS);
        break;
    case 'c':
        turn_to(top, LULL_TOP_CHAINS);
        break;
    case 'h':
        turn_to(top, LULL_TOP_HISTOGRAMS);
        break;
    case 'a':
        turn_to(top, LULL_TOP_ALARMS);
        break;
    case 'g':
        top->view.shows_bars = !top->view.shows_bars;
        break;
    case '0':
        top->pieces = 0;
        break;
    case '1':
        top->pieces = LULL_HISTORY_MINUTE;
        break;
    case '5':
        top->pieces = LULL_HISTORY_PIECES;
        break;
    case 'j':
        choose(top, 1);
        break;
    case 'k':
        choose(top, -1);
        break;
    case 's':
        top->view.has_chosen = true; /* the first, if none is */
        explain(top);
        break;
    case ' ':
        top->is_frozen = !top->is_frozen;
        break;
    }
}

void lull_top_take_keys(struct lull_top *top)
{
    char keys[64];
    const size_t n = lull_screen_read(keys, sizeof keys);
    for (size_t i = 0; i < n; i++) {
        g_clear_pointer(&top->message, g_free);
        if (!top->typed && n - i > 2 && keys[i] == '\033' && keys[i + 1] == '[' &&
            (keys[i + 2] == 'A' || keys[i + 2] == 'B')) { /* arrows */
            choose(top, keys[i + 2] == 'B' ? 1 : -1);
            i += 2;
        } else if (top->typed) {
            type(top, keys[i]);
        } else {
            press(top, keys[i]);
        }
    }
    if (n == 0) { /* the terminal is gone */
        top->is_over = true;
    }
}
