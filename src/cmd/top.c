/* SPDX-License-Identifier: MIT */
/* lull top: what the tasks of this machine wait for, now. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <lull/error.h>

#include "base/time.h"
#include "cmd/analysis_args.h"
#include "cmd/live_args.h"
#include "cmd/screen.h"
#include "cmd/top_path.h"
#include "cmd/verb.h"
#include "record/watch.h"
#include "view/live/top.h"
#include "view/words.h"

#define LEAST_INTERVAL_NS (LULL_NS_PER_S / 10)
/* Of a screen: what is above and below the rows, each line of it folded once. */
#define OTHER_LINES 11
#define MOST_TYPED 200
#define SHOWN_ROWS 20

struct top {
    int64_t duration_ns, interval_ns, rows; /* of text without a screen; 0: all */
    double most_overhead;
    bool is_json, is_once, is_local;
    const char *color;
    struct lull_tracker *tracker;
    const char *backend;           /* NULL: the best */
    struct lull_interval interval; /* the last one */
    bool has_interval;
    int64_t next_us;
    struct lull_live_filter *filter;
    enum lull_live_order order;
    bool by_process, is_frozen, is_over;
    bool shows_histograms, shows_alarms;
    GPtrArray *rules;
    struct lull_kept *kept; /* NULL: there are no rules */
    uint64_t n_before;      /* alarms, when the interval began */
    uint32_t pieces;        /* of the histograms; 0: the last interval */
    struct lull_histories *histories;
    struct lull_top_view view;
    struct lull_screen screen;
    GString *typed; /* a filter; NULL: nothing is being typed */
    char *message;  /* about the last one */
};

/* By enum lull_live_order. */
static const char *const orders[] = {"waited", "longest", "waits", "name", NULL};

/* ---- the question ---- */

static bool parse_rules(struct top *top, const char *const *words, GError **error)
{
    for (uint32_t i = 0; words && words[i]; i++) {
        if (!lull_args_add_rule(top->rules, lull_track_rule_parse(words[i], error), error)) {
            return false;
        }
    }
    return true;
}

static bool parse(const struct lull_args *args, struct top *top, GError **error)
{
    const char *filter = lull_args_text(args, "filter"), *order = lull_args_text(args, "sort");
    top->is_once = lull_args_flag(args, "once");
    top->is_json = lull_args_flag(args, "json");
    top->by_process = top->is_json || lull_args_flag(args, "by-process");
    top->view.shows_idle = lull_args_flag(args, "idle");
    top->shows_histograms = lull_args_flag(args, "hist");
    top->rows = lull_args_number(args, "limit");
    if (top->rows < 0) {
        top->rows = top->is_json ? 0 : SHOWN_ROWS;
    }
    top->backend = lull_args_text(args, "backend");
    top->color = lull_args_text(args, "color");
    top->is_local = lull_args_flag(args, "local");
    for (uint32_t i = 0; order && orders[i]; i++) {
        top->order = strcmp(order, orders[i]) == 0 ? i : top->order;
    }
    if (filter) {
        top->filter = lull_live_filter_parse(filter, error);
    }
    if ((filter && !top->filter) || !parse_rules(top, lull_args_texts(args, "rule"), error) ||
        !lull_args_overhead(args, &top->most_overhead, error) ||
        !lull_args_duration(args, "duration", (double)LULL_NS_PER_S, &top->duration_ns, error) ||
        !lull_args_duration(args, "interval", (double)LULL_NS_PER_S, &top->interval_ns, error)) {
        return false;
    }
    if (top->interval_ns < LEAST_INTERVAL_NS) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_USAGE,
                    "--interval is at least 100ms: what is shorter costs more than it shows");
        return false;
    }
    if (top->is_once && top->duration_ns == 0) {
        top->duration_ns = top->interval_ns;
    }
    return true;
}

/* ---- showing ---- */

/* Each time: the terminal may have another size. */
static void init_style(struct top *top)
{
    lull_view_style_init(&top->view.style, stdout, top->color);
    top->view.style.local_time = top->is_local;
}

static bool show_histograms(const struct top *top, GError **error)
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

static bool show_on(struct top *top, FILE *file, uint32_t limit, GError **error)
{
    struct lull_live_rows rows;
    bool done = true;
    init_style(top);
    top->view.file = file;
    top->view.limit = limit;
    if (top->shows_alarms && !top->is_json) {
        return lull_top_alarms(&top->view, &top->interval, error);
    }
    if (top->shows_histograms && !top->is_json) {
        return show_histograms(top, error);
    }
    lull_live_rows_make(&rows, &top->interval, top->filter, top->order, top->by_process);
    if (top->is_json) {
        lull_top_json(&top->view, &top->interval, &rows);
    } else {
        done = lull_top_text(&top->view, &top->interval, &rows, error);
    }
    lull_live_rows_clear(&rows);
    return done;
}

static const char keys_help[] =
    "q quit  / filter  <> sort  jk row  s path  a alarms  h histograms  i idle  t each";
static const char alarm_keys[] = "q quit  a waits  j k alarm  s path of its process  space freeze";
static const char histogram_keys[] =
    "q quit  h waits  0 last interval  1 minute  5 15 minutes  space freeze";

/* For rows. On a small terminal what is below them is cut. */
static uint32_t room(void)
{
    const int height = lull_screen_height();
    return (uint32_t)MAX(height - OTHER_LINES, MAX(height / 2, 1));
}

static void draw_status(const struct top *top, const char *text)
{
    g_autofree char *status =
        top->typed          ? g_strconcat("filter: ", top->typed->str, NULL)
        : top->message      ? g_strdup(top->message)
        : top->shows_alarms ? g_strconcat(top->is_frozen ? "frozen  " : "", alarm_keys, NULL)
        : top->shows_histograms
            ? g_strconcat(top->is_frozen ? "frozen  " : "", histogram_keys, NULL)
            : g_strdup_printf("by %s%s  %s", orders[top->order], top->is_frozen ? ", frozen" : "",
                              keys_help);
    g_autofree char *clean = lull_clean_text(status, !top->view.style.unicode);
    if (lull_text_width(clean) >= top->view.style.width) {
        g_autofree char *cut = g_utf8_substring(clean, 0, top->view.style.width - 1);
        lull_screen_draw(text, cut);
    } else {
        lull_screen_draw(text, clean);
    }
}

static bool draw(struct top *top, GError **error)
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

static bool show(struct top *top, GError **error)
{
    if (top->screen.is_open) {
        return draw(top, error);
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

static bool take(struct top *top, GError **error)
{
    top->next_us = g_get_monotonic_time() + top->interval_ns / 1000;
    if (!lull_tracker_sum(top->tracker, &top->interval, error)) {
        return false;
    }
    top->has_interval = true;
    if (top->kept) {
        top->view.n_alarms = lull_kept_count(top->kept) - top->n_before;
        top->n_before += top->view.n_alarms;
    }
    lull_histories_add(top->histories, &top->interval);
    return true;
}

/* ---- rows ---- */

/* The process of the chosen row or alarm; 0: there is none. */
static uint32_t chosen_pid(const struct top *top)
{
    struct lull_live_rows rows;
    struct lull_track_alarm alarm;
    if (top->shows_alarms) {
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
static void explain(struct top *top)
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

static void choose(struct top *top, int step)
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

static void end_typing(struct top *top, bool is_wanted)
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

static void type(struct top *top, char key)
{
    if (key == '\n' || key == '\r' || key == '\033') {
        end_typing(top, key != '\033');
    } else if (key == '\b' || key == '\177') {
        g_string_truncate(top->typed, top->typed->len ? top->typed->len - 1 : 0);
    } else if (g_ascii_isprint(key) && top->typed->len < MOST_TYPED) {
        g_string_append_c(top->typed, key);
    }
}

static void press(struct top *top, char key)
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
    case 'h':
        top->shows_histograms = !top->shows_histograms;
        top->shows_alarms = false;
        break;
    case 'a':
        top->shows_alarms = !top->shows_alarms;
        top->view.has_chosen = false;
        top->view.chosen = 0;
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

static void take_keys(struct top *top)
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

/* ---- running ---- */

static bool has_ended(void *user, enum lull_recording_end *how, GError **error)
{
    const struct top *top = user;
    *how = LULL_RECORDING_ENDED_BY_INTERRUPT;
    return top->is_over;
}

static bool check(void *user, GError **error)
{
    struct top *top = user;
    if (!lull_tracker_take(top->tracker, error)) {
        return false;
    }
    lull_tracker_govern(top->tracker);
    if (top->is_once || g_get_monotonic_time() < top->next_us) {
        return true;
    }
    if (!top->is_frozen) {
        return take(top, error) && show(top, error);
    }
    struct lull_interval shown = top->interval; /* stays, but the sums must not go on growing */
    lull_interval_init(&top->interval);
    const bool done = take(top, error);
    lull_interval_clear(&top->interval);
    top->interval = shown;
    return done;
}

static void requested(void *user, bool is_signal)
{
    struct top *top = user;
    if (!is_signal && top->screen.is_open) {
        take_keys(top);
        draw(top, NULL);
    }
}

static void take_alarm(void *user, const struct lull_track_alarm *alarm)
{
    const struct top *top = user;
    lull_kept_add(top->kept, alarm);
}

static bool watch(struct top *top, GError **error)
{
    enum lull_recording_end how;
    const struct lull_tracker_question question = {
        .backend = top->backend,
        .has_sums = true,
        .most_overhead = top->most_overhead,
        .rules = (const struct lull_track_rule *const *)top->rules->pdata,
        .n_rules = top->rules->len,
        .alarm = take_alarm,
        .user = top,
    };
    struct lull_watch watch = {.has_ended = has_ended,
                               .check = check,
                               .requested = requested,
                               .user = top,
                               .request = -1,
                               .wake = -1,
                               .duration_ns = top->duration_ns,
                               .command = -1};
    lull_watch_start(&watch);
    top->tracker = lull_tracker_new(&question, error);
    bool done = top->tracker != NULL;
    if (done) {
        top->view.how = lull_tracker_how(top->tracker);
        watch.wake = lull_tracker_fd(top->tracker);
        top->next_us = g_get_monotonic_time() + top->interval_ns / 1000;
        if (!top->is_once && !top->is_json && lull_screen_open(&top->screen)) {
            watch.request = STDIN_FILENO;
            draw(top, NULL);
        }
        done = lull_watch_wait(&watch, &how, error);
        const bool had_screen = top->screen.is_open;
        lull_screen_close(&top->screen);
        if (done && !had_screen) { /* what is left of the last interval, too */
            done = lull_tracker_finish(top->tracker, error) && take(top, error) && show(top, error);
        }
    }
    lull_watch_end(&watch);
    return done;
}

static int run_top(struct top *top, const struct lull_args *args, GError **error)
{
    lull_interval_init(&top->interval);
    top->view.epoch_ns = lull_epoch_of_monotonic();
    top->view.names = lull_machine_names_new();
    top->histories = g_new0(struct lull_histories, 1);
    if (top->rules->len) {
        top->view.kept = top->kept = lull_kept_new(
            (const struct lull_track_rule *const *)top->rules->pdata, top->rules->len);
    }
    const bool done = watch(top, error);
    lull_tracker_free(top->tracker);
    lull_kept_free(top->kept);
    lull_machine_names_free(top->view.names);
    lull_interval_clear(&top->interval);
    g_free(top->histories);
    return done ? 0 : 1;
}

static int run(const struct lull_args *args, GError **error)
{
    struct top top = {.interval_ns = LULL_NS_PER_S,
                      .rules =
                          g_ptr_array_new_with_free_func((GDestroyNotify)lull_track_rule_free)};
    const int status = parse(args, &top, error) ? run_top(&top, args, error) : 2;
    if (top.typed) {
        g_string_free(top.typed, TRUE);
    }
    g_free(top.message);
    g_ptr_array_unref(top.rules);
    lull_live_filter_free(top.filter);
    return status;
}

static const struct lull_option options[] = {
    {.name = "once", .kind = LULL_OPTION_FLAG, .help = "one table, of one interval or --duration"},
    {.name = "duration",
     .letter = 'd',
     .kind = LULL_OPTION_TEXT,
     .argument = "T",
     .help = "stop after this time (500ms, 10s, …; a bare number is seconds; 0: no limit)"},
    {.name = "interval",
     .kind = LULL_OPTION_TEXT,
     .argument = "T",
     .help = "the time that a table is about (default: 1s)"},
    {.name = "filter",
     .kind = LULL_OPTION_TEXT,
     .argument = "EXPR",
     .help = "only rows for which this holds, as in 'comm == \"nginx\" && end == \"disk\"'"},
    {.name = "sort",
     .kind = LULL_OPTION_CHOICE,
     .argument = "COLUMN",
     .choices = orders,
     .help = "by waited (default), longest, waits or name"},
    {.name = "by-process",
     .kind = LULL_OPTION_FLAG,
     .help = "a row for each process, not one for all of a name"},
    {.name = "rule",
     .kind = LULL_OPTION_TEXTS,
     .argument = "RULE",
     .help =
         "also report what is longer than this rule of 'lull track' allows; may be given several "
         "times"},
    {.name = "hist",
     .kind = LULL_OPTION_FLAG,
     .help = "how many waits, disk requests and interrupts were how long, instead of waits"},
    {.name = "idle",
     .kind = LULL_OPTION_FLAG,
     .help = "also waits that ended by a timer of the task itself"},
    LULL_BACKEND_OPTION("bpf, ftrace or poll; without it the best that works"),
    {.name = "max-overhead",
     .kind = LULL_OPTION_TEXT,
     .argument = "SHARE",
     .help = "if watching takes more than this share of the time of all CPUs, name only longer "
             "waits, and in the end no wakers (default: 1%)"},
    {.name = NULL},
};

static const char *const common[] = {"json", "limit", "local", NULL};

static const struct lull_example examples[] = {
    {"sudo lull top", "What this machine waits for, until q."},
    {"sudo lull top --once --duration 10s", "One table of ten seconds."},
    {"sudo lull top --filter 'comm =~ \"postgres*\" && end == \"disk\"'",
     "Waits of PostgreSQL for disks."},
    {"sudo lull top --rule 'offcpu > 100ms' --rule 'block > 50ms'",
     "With alarms, which the key a shows."},
    {"sudo lull top --json --interval 10s > waits.jsonl",
     "A line every ten seconds, for programs."},
    {NULL, NULL},
};

const struct lull_verb lull_verb_top = {
    .name = "top",
    .summary = "show what the programs of this machine wait for, now",
    .usage = "",
    .description =
        "Watches all tasks of this machine with eBPF programs, and shows every second who waited, "
        "how long, in which system call, for whom, and what was at the end: a disk, a packet, a "
        "timer, a CPU, or a task that had been running all the time. It records nothing. LIVE.md "
        "in the documentation says more.\n"
        "\n"
        "A row is what programs of one name waited in one call for the same. Who ended the wait "
        "comes first, then the one that had woken that one, and so on, for at most four. What a "
        "wait had before the interval does not count to WAITED, but to LONGEST. Waits that are not "
        "over are in no row.\n"
        "\n"
        "On a terminal the table is drawn again and again, and takes keys:\n"
        "\n"
        " q            quit\n"
        " /            type a filter; an empty one ends it\n"
        " < >          sort by another column\n"
        " a            the last alarms of --rule, or waits again\n"
        " h            histograms, or waits again\n"
        " 0 1 5        histograms of the last interval, minute, or 15 minutes\n"
        " i            also waits that ended by a timer of the task itself\n"
        " t            a row for each process, or one for all of a name\n"
        " j k, arrows  choose a row, or an alarm\n"
        " s            have the flight recorder ('lull record --snapshot' or 'lull daemon') write what it "
        "has, and show the critical path of its process\n"
        " space        freeze the screen, or go on\n"
        "\n"
        "Histograms have a column for each of the kinds of 'lull track' that they measure: wakeup, "
        "preempt, offcpu, fork, block, irq and softirq; a row has what is shorter than it says, and "
        "not shorter than the row above.\n"
        "\n"
        "Elsewhere tables of the 20 first rows (--limit) come one after the other. A filter is written in the language of --filter "
        "('lull help filter') and can name comm, pid, call, state (as in ps), waker_comm (of who "
        "ended the wait) and end (CPU, disk, network, timer, interrupt, running, unknown).\n"
        "\n"
        "The first line says what watching costs. If that is more than --max-overhead, first only "
        "longer waits are named (the last line says which), then wakers are given up. The second "
        "line and the sums of processes have waits of every length.\n"
        "\n"
        "It needs Linux 5.15 with BTF, and root or CAP_BPF and CAP_PERFMON. Where that is missing it "
        "uses ftrace (--backend ftrace), as root: of system calls it then gives up which they were "
        "if that costs too much. Else it polls /proc (--backend poll), also for who is not root: how long tasks "
        "ran, slept and waited for a CPU is right then, and in which call, and where in the kernel, a task "
        "slept is what was seen some times a second, of your own tasks alone unless you are root. Who ended a wait is not known "
        "that way. The last lines say so.",
    .output =
        "With --json a line for each interval. 'rows' has the waits of each process that are longer "
        "than 'least_ns' and ended in the interval (with poll all waits, and 'longest_ns', 'waits' and 'histograms' are null), 'processes' what the tasks of each process did "
        "but those of them that slept all the time ('asleep'). "
        "'alarms' has those of the interval, as 'lull track' prints them, at most the last 100. "
        "'histograms' counts lengths by kind: shorter than 1 us, 2 us, 4 us, and so on; the last of 26 "
        "has 16.8 s and more. Times are nanoseconds since 1970.",
    .options = options,
    .common = common,
    .examples = examples,
    .takes_no_trace = true,
    .no_words = "it watches this machine, and takes no trace",
    .has_no_pager = true,
    .run = run,
};
