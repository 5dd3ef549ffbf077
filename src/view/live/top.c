/* SPDX-License-Identifier: MIT */
/* Text and JSON of the waits of an interval. Names of tasks are anybody's text, and are cleaned. */
#include "view/live/top.h"

#include <inttypes.h>
#include <string.h>

#include "base/json.h"
#include "base/time.h"
#include "live/alarm.h"
#include "view/live/alarms.h"
#include "view/live/histograms.h"
#include "view/live/locks.h"
#include "view/live/how.h"
#include "view/live/track_end.h"
#include "view/table.h"
#include "view/words.h"

#define MOST_COLUMNS 8
#define NARROW 60 /* there a long name is cut, so that there is room for what it waits for */

/* What all processes did. */
struct total {
    int64_t waited_ns, ran_ns, unknown_ns;
    uint64_t tasks, asleep;
};

static struct total total_of(const struct lull_interval *interval)
{
    struct total total = {0};
    for (guint i = 0; i < interval->processes->len; i++) {
        const struct lull_live_process *process =
            &g_array_index(interval->processes, struct lull_live_process, i);
        total.waited_ns += process->blocked_ns + process->runnable_ns;
        total.ran_ns += process->ran_ns;
        total.unknown_ns += process->unknown_ns;
        total.tasks += process->n_tasks;
        total.asleep += process->n_asleep;
    }
    return total;
}

/* ---- words ---- */

static void add_time(GString *out, int64_t time_ns)
{
    char text[LULL_TIME_TEXT_SIZE];
    lull_duration_format(time_ns, text);
    g_string_append(out, text);
}

/* "apache2/437", or "apache2 ×5". */
static char *who_text(const struct lull_top_view *view, const struct lull_live_row *row,
                      bool is_chosen)
{
    GString *out = g_string_new(is_chosen ? (view->style.unicode ? "▶ " : "> ") : NULL);
    g_string_append(out, row->key->comm);
    if (row->n_processes > 1) {
        g_string_append_printf(out, view->style.unicode ? " ×%u" : " x%u", row->n_processes);
    } else {
        g_string_append_printf(out, "/%u", row->key->tgid);
    }
    return g_string_free(out, FALSE);
}

static const char *in_text(const struct lull_live_row *row)
{
    if (row->key->state == 0) {
        return "(runnable)";
    }
    return row->call;
}

/* "postgres ← xz": the tasks of the chain, who ended the wait first. */
static char *chain_text(const struct lull_top_view *view, const struct lull_live_row *row)
{
    GString *out = g_string_new(NULL);
    const char *arrow = view->style.unicode ? " ← " : " <- ";
    for (uint32_t i = 0; i < row->n_links && row->key->link[i].kind == LULL_TRACK_HOP_TASK; i++) {
        g_string_append_printf(out, "%s%s", out->len ? arrow : "", row->key->link[i].comm);
    }
    if (row->key->flags & LULL_TRACK_IS_CUT) {
        g_string_append_printf(out, "%s%s", arrow, view->style.unicode ? "…" : "...");
    }
    return g_string_free(out, FALSE);
}

static char *end_text(const struct lull_top_view *view, const struct lull_live_row *row)
{
    GString *out = g_string_new(NULL);
    switch (row->end) {
    case LULL_LIVE_END_CPU:
        g_string_append(out, "a CPU");
        break;
    case LULL_LIVE_END_TASK:
        g_string_append(out, "was running");
        break;
    case LULL_LIVE_END_UNKNOWN:
        g_string_append(out, "not known");
        break;
    case LULL_LIVE_END_DISK:
    case LULL_LIVE_END_NETWORK:
    case LULL_LIVE_END_TIMER:
    case LULL_LIVE_END_INTERRUPT:
    case LULL_LIVE_ENDS:
        if (row->n_links == 0) {
            g_string_append(out, lull_live_end_words[row->end]);
            break;
        }
        lull_machine_describe_link(view->names, &row->key->link[row->n_links - 1], out);
        break;
    }
    return g_string_free(out, FALSE);
}

/* ---- text ---- */

static void print_lines(const struct lull_top_view *view, const char *text)
{
    g_autofree char *folded = lull_fold_text(text, view->style.width, 0);
    fprintf(view->file, "%s\n", view->style.width ? folded : text);
}

/* Which is short: the screen has it each time. */
static void print_head(const struct lull_top_view *view, const struct lull_interval *interval,
                       const struct total *total)
{
    char clock[LULL_TIME_TEXT_SIZE];
    const int64_t took_ns = MAX(interval->end_ns - interval->start_ns, 1);
    const guint n_cpus = g_get_num_processors();
    const int64_t busy_ns = interval->samples.every_ns ? interval->samples.busy_ns : total->ran_ns;
    g_autoptr(GString) out = g_string_new(NULL);
    g_string_append_printf(out, "lull top on %s  ", g_get_host_name());
    lull_time_format_clock(interval->end_ns + view->epoch_ns, view->style.local_time, clock);
    g_string_append_printf(out, "%.8s  in ", clock);
    add_time(out, took_ns);
    g_string_append_printf(out, "  %u CPU%s %.0f %% busy  %.0f switches/s", n_cpus,
                           n_cpus == 1 ? "" : "s",
                           MIN(100.0 * (double)busy_ns / ((double)took_ns * n_cpus), 100),
                           (double)interval->n_switches * LULL_NS_PER_S / (double)took_ns);
    if (interval->counts.overhead >= 0) {
        g_string_append_printf(out, "  cost %.2f %%", 100 * interval->counts.overhead);
    }
    print_lines(view, out->str);
}

static void print_sums(const struct lull_top_view *view, const struct lull_live_rows *rows,
                       const struct total *total)
{
    const char *before = ": ";
    g_autoptr(GString) out = g_string_new("waited ");
    add_time(out, total->waited_ns);
    for (uint32_t i = 0; i < LULL_LIVE_ENDS; i++) {
        const double share = lull_share(rows->by_end_ns[i], rows->waited_ns);
        if (share >= 0.005) {
            g_string_append_printf(out, "%s%.0f %% %s", before, 100 * share,
                                   lull_live_end_words[i]);
            before = ", ";
        }
    }
    print_lines(view, out->str);
}

#define WAITED_COLUMN                                                                              \
    {.title = "WAITED", .key = "waited_ns", .type = LULL_COLUMN_DURATION, .flags = LULL_COLUMN_KEEP}
#define LONGEST_COLUMNS                                                                            \
    {.title = "LONGEST", .type = LULL_COLUMN_DURATION, .flags = LULL_COLUMN_DETAIL},               \
    {                                                                                              \
        .title = "WAITS", .type = LULL_COLUMN_COUNT, .flags = LULL_COLUMN_DETAIL                   \
    }
#define WHO_COLUMNS                                                                                \
    {.title = "WHO", .type = LULL_COLUMN_TEXT, .flags = LULL_COLUMN_KEEP},                         \
    {                                                                                              \
        .title = "IN", .type = LULL_COLUMN_TEXT, .flags = LULL_COLUMN_KEEP                         \
    }

static const struct lull_column columns[] = {
    WAITED_COLUMN,
    LONGEST_COLUMNS,
    WHO_COLUMNS,
    {.title = "WAITED FOR", .type = LULL_COLUMN_TEXT},
    {.title = "AT ITS END", .type = LULL_COLUMN_TEXT},
    {0},
};

static const struct lull_column chain_columns[] = {
    WAITED_COLUMN,
    LONGEST_COLUMNS,
    {.title = "WHO, AND FOR WHOM", .type = LULL_COLUMN_TEXT, .flags = LULL_COLUMN_WRAP},
    {0},
};

/* Of waits of which only samples were taken. */
static const struct lull_column sampled_columns[] = {
    WAITED_COLUMN,
    WHO_COLUMNS,
    {.title = "IN THE KERNEL", .type = LULL_COLUMN_TEXT},
    {.title = "AT ITS END", .type = LULL_COLUMN_TEXT},
    {0},
};

/* "c0/23194 in read <- c1 <- c2 <- a timer". */
static char *whole_text(const struct lull_top_view *view, const struct lull_live_row *row,
                        const char *who, const char *chain, const char *end)
{
    const char *arrow = view->style.unicode ? " ← " : " <- ", *in = in_text(row);
    return g_strconcat(who, !in || *in == '(' ? "" : " in", in ? " " : "", in ? in : "",
                       *chain ? arrow : "", chain, arrow, end, NULL);
}

static const struct lull_column *columns_for(const struct lull_top_view *view, bool is_sampled,
                                             struct lull_column out[MOST_COLUMNS])
{
    const struct lull_column *from = is_sampled           ? sampled_columns
                                     : view->shows_chains ? chain_columns
                                                          : columns;
    const bool is_narrow = view->style.width > 0 && view->style.width < NARROW;
    memset(out, 0, MOST_COLUMNS * sizeof *out);
    for (uint32_t i = 0; from[i].title; i++) {
        out[i] = from[i];
        if (is_narrow && strcmp(from[i].title, "WHO") == 0) {
            out[i].flags &= ~(unsigned)LULL_COLUMN_KEEP;
        }
    }
    return out;
}

static void add_row(const struct lull_top_view *view, struct lull_table *table,
                    const struct lull_live_row *row, bool is_sampled, bool is_chosen)
{
    g_autofree char *who = who_text(view, row, is_chosen), *chain = chain_text(view, row),
                    *end = end_text(view, row);
    uint32_t column = 0;
    lull_table_add_row(table);
    lull_table_set_number(table, column++, row->waited_ns);
    if (!is_sampled) {
        lull_table_set_number(table, column++, row->longest_ns);
        lull_table_set_number(table, column++, (int64_t)row->waits);
    }
    if (!is_sampled && view->shows_chains) {
        g_autofree char *whole = whole_text(view, row, who, chain, end);
        lull_table_set_text(table, column, whole);
        return;
    }
    lull_table_set_text(table, column++, who);
    lull_table_set_text(table, column++, in_text(row));
    lull_table_set_text(table, column++, is_sampled ? row->function : chain);
    lull_table_set_text(table, column++, end);
}

const struct lull_live_row *lull_top_chosen(const struct lull_top_view *view,
                                            const struct lull_live_rows *rows)
{
    uint32_t shown = 0;
    for (guint i = 0; i < rows->rows->len; i++) {
        const struct lull_live_row *row = &g_array_index(rows->rows, struct lull_live_row, i);
        if ((!row->is_idle || view->shows_idle) && shown++ == view->chosen) {
            return row;
        }
    }
    return NULL;
}

/* Says what the table leaves out. */
static bool print_table(const struct lull_top_view *view, const struct lull_live_rows *rows,
                        uint64_t n_asleep, bool is_sampled, GError **error)
{
    uint32_t shown = 0, folded = 0;
    uint64_t more = 0;
    struct lull_column chosen[MOST_COLUMNS];
    struct lull_table *table = lull_table_new(columns_for(view, is_sampled, chosen));
    for (guint i = 0; i < rows->rows->len; i++) {
        const struct lull_live_row *row = &g_array_index(rows->rows, struct lull_live_row, i);
        if (row->is_idle && !view->shows_idle) {
            folded++;
        } else if (view->limit && shown >= view->limit) {
            more++;
        } else {
            add_row(view, table, row, is_sampled, view->has_chosen && shown == view->chosen);
            shown++;
        }
    }
    const bool done = lull_table_print(table, view->file, &view->style, error);
    lull_table_free(table);
    g_autoptr(GString) out = g_string_new(NULL);
    if (more) {
        g_string_append_printf(out, "%" PRIu64 " more rows; ", more);
    }
    if (folded) {
        g_string_append_printf(out, "%u row%s of idle tasks not shown; ", folded,
                               folded == 1 ? "" : "s");
    }
    if (n_asleep) {
        g_string_append_printf(out, "%" PRIu64 " task%s slept all the time; ", n_asleep,
                               n_asleep == 1 ? "" : "s");
    }
    if (out->len) {
        g_string_truncate(out, out->len - 2);
        print_lines(view, out->str);
    }
    return done;
}

/* Of samples: how they were taken. */
static void append_samples(GString *out, const struct lull_live_samples *samples)
{
    g_string_append(out, "calls as seen every ");
    add_time(out, samples->every_ns);
    if (samples->n_hidden) {
        g_string_append_printf(out, ", those of %u task%s of others not known", samples->n_hidden,
                               samples->n_hidden == 1 ? "" : "s");
    }
    if (samples->n_ended) {
        g_string_append_printf(out, "; what %" PRIu64 " tasks did before they ended not known",
                               samples->n_ended);
    }
    for (uint32_t i = 0; i < LULL_PRESSURES; i++) {
        if (samples->pressure[i] >= 0) {
            g_string_append_printf(out, "%s%s %.0f %%",
                                   i ? ", " : "; pressure: ", lull_pressure_names[i],
                                   100 * samples->pressure[i]);
        }
    }
}

/* How much of all waiting the rows are, and what is missing. */
static void print_foot(const struct lull_top_view *view, const struct lull_interval *interval)
{
    const struct lull_tracker_counts *counts = &interval->counts;
    g_autoptr(GString) out = g_string_new(NULL);
    if (interval->samples.every_ns) {
        append_samples(out, &interval->samples);
    } else {
        g_string_append(out, "waits over ");
        add_time(out, (int64_t)counts->least_ns);
        g_string_append(
            out, counts->has_no_wakings  ? ", wakers and waits for a CPU given up to cost less "
                                           "(--max-overhead)"
                 : counts->has_no_chains ? ", wakers given up to cost less (--max-overhead)"
                                         : ", of each waker its last wait, four wakers");
    }
    if (counts->has_no_calls) {
        g_string_append(out, ", system calls given up to cost less (--max-overhead)");
    }
    lull_track_losses_append(out, counts);
    if (counts->kernel.unsummed) {
        g_string_append_printf(out, "; %" PRIu64 " waits in no row: too many kinds of waits",
                               counts->kernel.unsummed);
    }
    if (counts->kernel.unended) {
        g_string_append_printf(out,
                               "; %" PRIu64 " tasks ended that are in no sum: too many at a time",
                               counts->kernel.unended);
    }
    print_lines(view, out->str);
    lull_how_text(view->file, &view->style, &view->how);
}

/* ---- alarms ---- */

static struct lull_alarm_view alarms_of(const struct lull_top_view *view)
{
    return (struct lull_alarm_view){
        .file = view->file, .style = view->style, .names = view->names, .epoch_ns = view->epoch_ns};
}

static const char *plural(uint64_t n)
{
    return n == 1 ? "" : "s";
}

bool lull_top_alarms(const struct lull_top_view *view, const struct lull_interval *interval,
                     GError **error)
{
    const struct lull_alarm_view alarms = alarms_of(view);
    const struct total total = total_of(interval);
    const uint64_t n = view->kept ? lull_kept_count(view->kept) : 0;
    print_head(view, interval, &total);
    if (!view->kept) {
        print_lines(view, "no alarms: there is no rule (lull top --rule 'offcpu > 100ms')");
        return true;
    }
    g_autoptr(GString) out = g_string_new(NULL);
    g_string_printf(out, "%" PRIu64 " alarm%s, the latest first", n, plural(n));
    lull_track_losses_append(out, &interval->counts);
    print_lines(view, out->str);
    fputc('\n', view->file);
    return lull_alarms_table(&alarms, view->kept, view->limit,
                             view->has_chosen ? (int64_t)view->chosen : -1, error);
}

/* Of this interval. */
static void print_alarms(const struct lull_top_view *view)
{
    const struct lull_alarm_view alarms = alarms_of(view);
    const uint64_t n = view->kept ? view->n_alarms : 0;
    if (n && view->is_screen) {
        fprintf(view->file, "%" PRIu64 " alarm%s: the key a shows them\n", n, plural(n));
    } else if (n) {
        fprintf(view->file, "%" PRIu64 " alarm%s%s\n", n, plural(n),
                n > LULL_KEPT_ALARMS ? ", of which the last are shown" : "");
        lull_alarms_text(&alarms, view->kept, n);
    }
}

bool lull_top_text(const struct lull_top_view *view, const struct lull_interval *interval,
                   const struct lull_live_rows *rows, GError **error)
{
    const struct total total = total_of(interval);
    print_head(view, interval, &total);
    print_sums(view, rows, &total);
    struct lull_top_view below = *view;
    const uint32_t n_locks = lull_locks_text(view->file, &view->style, view->locks);
    below.limit -= view->is_screen ? MIN(n_locks, view->limit - 1) : 0;
    fputc('\n', view->file);
    const bool done =
        print_table(&below, rows, total.asleep, interval->samples.every_ns > 0, error);
    print_foot(view, interval);
    print_alarms(view);
    return done;
}

bool lull_top_histograms(const struct lull_top_view *view, const struct lull_interval *interval,
                         const struct lull_track_histogram histogram[LULL_TRACK_MEASURES],
                         const char *span, GError **error)
{
    struct lull_histogram_column kinds[LULL_HISTOGRAM_COLUMNS];
    const struct total total = total_of(interval);
    print_head(view, interval, &total);
    g_autofree char *what = g_strconcat("how many were how long, in ", span, NULL);
    print_lines(view, what);
    fputc('\n', view->file);
    if (!view->how.sees_waits) {
        print_lines(view, "there are none: single waits are not seen");
        lull_how_text(view->file, &view->style, &view->how);
        return true;
    }
    const uint32_t n = lull_histogram_kinds(histogram, kinds);
    return lull_histograms_text(view->file, &view->style, kinds, n, view->limit, view->shows_bars,
                                error);
}

/* ---- JSON ---- */

/* What `of` says of each kind. */
static struct json_object *
histograms_json(const struct lull_interval *interval,
                struct json_object *(*of)(const struct lull_track_histogram *histogram))
{
    if (interval->samples.every_ns) {
        return NULL;
    }
    struct lull_histogram_column kinds[LULL_HISTOGRAM_COLUMNS];
    const uint32_t n = lull_histogram_kinds(interval->histogram, kinds);
    struct json_object *object = json_object_new_object();
    for (uint32_t i = 0; i < n; i++) {
        json_object_object_add(object, kinds[i].name, of(kinds[i].of));
    }
    return object;
}

static struct json_object *link_json(const struct lull_top_view *view,
                                     const struct lull_track_link *link)
{
    struct json_object *object = json_object_new_object(), *task = NULL;
    g_autoptr(GString) words = g_string_new(NULL);
    const bool is_task = link->kind == LULL_TRACK_HOP_TASK;
    lull_machine_describe_link(view->names, link, words);
    if (is_task) {
        task = json_object_new_object();
        lull_json_add_text(task, "comm", link->comm);
        lull_json_add_number(task, "pid", link->a);
    }
    lull_json_add_text(object, "kind", lull_track_hop_kinds[link->kind]);
    json_object_object_add(object, "task", task);
    lull_json_add_text(object, "detail", is_task ? NULL : words->str);
    return object;
}

static struct json_object *row_json(const struct lull_top_view *view,
                                    const struct lull_live_row *row)
{
    struct json_object *object = json_object_new_object(), *chain = json_object_new_array();
    const char state[] = {lull_track_state_letter(row->key->state), '\0'};
    lull_json_add_text(object, "comm", row->key->comm);
    lull_json_add_number(object, "pid", row->key->tgid);
    lull_json_add_text(object, "call", row->call);
    lull_json_add_text(object, "state", state);
    lull_json_add_text(object, "end", lull_live_end_words[row->end]);
    for (uint32_t i = 0; i < row->n_links; i++) {
        json_object_array_add(chain, link_json(view, &row->key->link[i]));
    }
    json_object_object_add(object, "chain", chain);
    json_object_object_add(object, "chain_is_cut",
                           json_object_new_boolean(row->key->flags & LULL_TRACK_IS_CUT));
    json_object_object_add(object, "is_idle", json_object_new_boolean(row->is_idle));
    lull_json_add_number(object, "waited_ns", row->waited_ns);
    lull_json_add_text(object, "function", row->function);
    json_object_object_add(object, "longest_ns",
                           row->waits ? json_object_new_int64(row->longest_ns) : NULL);
    json_object_object_add(object, "waits",
                           row->waits ? json_object_new_int64((int64_t)row->waits) : NULL);
    return object;
}

static struct json_object *process_json(const struct lull_live_process *process)
{
    struct json_object *object = json_object_new_object();
    lull_json_add_text(object, "comm", process->comm[0] ? process->comm : NULL);
    lull_json_add_number(object, "pid", process->pid);
    lull_json_add_number(object, "tasks", process->n_tasks);
    lull_json_add_number(object, "asleep", process->n_asleep);
    lull_json_add_number(object, "ran_ns", process->ran_ns);
    lull_json_add_number(object, "blocked_ns", process->blocked_ns);
    lull_json_add_number(object, "cpu_wait_ns", process->runnable_ns);
    lull_json_add_number(object, "unknown_ns", process->unknown_ns);
    return object;
}

/* NULL: nothing was sampled. */
static struct json_object *samples_json(const struct lull_live_samples *samples)
{
    if (samples->every_ns == 0) {
        return NULL;
    }
    struct json_object *object = json_object_new_object();
    struct json_object *pressure = json_object_new_object();
    lull_json_add_number(object, "every_ns", samples->every_ns);
    lull_json_add_number(object, "hidden", samples->n_hidden);
    lull_json_add_number(object, "ended", (int64_t)samples->n_ended);
    for (uint32_t i = 0; i < LULL_PRESSURES; i++) {
        json_object_object_add(
            pressure, lull_pressure_names[i],
            samples->pressure[i] >= 0 ? json_object_new_double(samples->pressure[i]) : NULL);
    }
    json_object_object_add(object, "pressure", pressure);
    return object;
}

static struct json_object *summary_json(const struct lull_top_view *view,
                                        const struct lull_interval *interval,
                                        const struct lull_live_rows *rows)
{
    struct json_object *summary = json_object_new_object();
    const struct lull_tracker_counts *counts = &interval->counts;
    const struct total total = total_of(interval);
    lull_json_add_number(summary, "tasks", (int64_t)total.tasks);
    lull_json_add_number(summary, "asleep", (int64_t)total.asleep);
    lull_json_add_number(summary, "waited_ns", total.waited_ns);
    lull_json_add_number(summary, "in_rows_ns", rows->waited_ns);
    lull_json_add_number(summary, "ran_ns", total.ran_ns);
    lull_json_add_number(summary, "unknown_ns", total.unknown_ns);
    lull_json_add_number(summary, "switches", (int64_t)interval->n_switches);
    lull_json_add_number(summary, "alarms", (int64_t)view->n_alarms);
    lull_json_add_number(summary, "least_ns", (int64_t)counts->least_ns);
    lull_track_losses_json(summary, counts);
    lull_json_add_number(summary, "unsummed", (int64_t)counts->kernel.unsummed);
    lull_json_add_number(summary, "unended", (int64_t)counts->kernel.unended);
    lull_how_json(summary, &view->how, counts);
    json_object_object_add(summary, "samples", samples_json(&interval->samples));
    return summary;
}

void lull_top_json(const struct lull_top_view *view, const struct lull_interval *interval,
                   const struct lull_live_rows *rows)
{
    struct json_object *object = json_object_new_object();
    struct json_object *waits = json_object_new_array(), *processes = json_object_new_array();
    const guint n_rows = view->limit ? MIN(rows->rows->len, view->limit) : rows->rows->len;
    for (guint i = 0; i < n_rows; i++) {
        json_object_array_add(waits,
                              row_json(view, &g_array_index(rows->rows, struct lull_live_row, i)));
    }
    for (guint i = 0; i < interval->processes->len; i++) {
        const struct lull_live_process *process =
            &g_array_index(interval->processes, struct lull_live_process, i);
        json_object_array_add(processes, process_json(process));
    }
    lull_json_add_number(object, "lull_top", 1);
    lull_json_add_number(object, "begin_ns", interval->start_ns + view->epoch_ns);
    lull_json_add_number(object, "end_ns", interval->end_ns + view->epoch_ns);
    json_object_object_add(object, "rows", waits);
    json_object_object_add(object, "processes", processes);
    json_object_object_add(object, "locks", lull_locks_json(view->locks));
    const struct lull_alarm_view alarms = alarms_of(view);
    json_object_object_add(object, "alarms",
                           view->kept ? lull_alarms_json(&alarms, view->kept, view->n_alarms)
                                      : json_object_new_array());
    json_object_object_add(object, "histograms", histograms_json(interval, lull_histogram_json));
    json_object_object_add(object, "longest_ns",
                           histograms_json(interval, lull_histogram_longest_json));
    json_object_object_add(object, "summary", summary_json(view, interval, rows));
    g_autofree char *text = lull_json_format(object, false);
    fprintf(view->file, "%s\n", text);
}
