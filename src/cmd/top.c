/* SPDX-License-Identifier: MIT */
/* lull top: what the tasks of this machine wait for, now. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <lull/error.h>

#include "base/time.h"
#include "cmd/analysis_args.h"
#include "cmd/live_args.h"
#include "cmd/top_screen.h"
#include "cmd/verb.h"
#include "record/watch.h"

#define LEAST_INTERVAL_NS (LULL_NS_PER_S / 10)
#define SHOWN_ROWS 20

/* ---- the question ---- */

static bool parse_rules(struct lull_top *top, const char *const *words, GError **error)
{
    for (uint32_t i = 0; words && words[i]; i++) {
        if (!lull_args_add_rule(top->rules, lull_track_rule_parse(words[i], error), error)) {
            return false;
        }
    }
    return true;
}

static bool parse(const struct lull_args *args, struct lull_top *top, GError **error)
{
    const char *filter = lull_args_text(args, "filter"), *order = lull_args_text(args, "sort");
    top->is_once = lull_args_flag(args, "once");
    top->is_json = lull_args_flag(args, "json");
    top->by_process = top->is_json || lull_args_flag(args, "by-process");
    top->view.shows_idle = lull_args_flag(args, "idle");
    top->table = lull_args_flag(args, "hist")     ? LULL_TOP_HISTOGRAMS
                 : lull_args_flag(args, "chains") ? LULL_TOP_CHAINS
                                                  : LULL_TOP_WAITS;
    top->is_batch = lull_args_flag(args, "batch");
    top->rows = lull_args_number(args, "limit");
    if (top->rows < 0) {
        top->rows = top->is_json ? 0 : SHOWN_ROWS;
    }
    top->backend = lull_args_text(args, "backend");
    top->color = lull_args_text(args, "color");
    top->is_local = lull_args_flag(args, "local");
    for (uint32_t i = 0; order && lull_top_orders[i]; i++) {
        top->order = strcmp(order, lull_top_orders[i]) == 0 ? i : top->order;
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
                    "--interval is at least 100ms: a shorter one costs more than it shows");
        return false;
    }
    if (top->is_once && top->duration_ns == 0) {
        top->duration_ns = top->interval_ns;
    }
    return true;
}

/* ---- running ---- */

static bool take(struct lull_top *top, GError **error)
{
    top->next_us = lull_watch_due(top->next_us, top->interval_ns, top->end_us);
    if (!lull_tracker_sum(top->tracker, &top->interval, error)) {
        return false;
    }
    top->has_interval = true;
    if (!top->is_frozen) {
        lull_lock_waits_look(top->locks, g_get_monotonic_time() * 1000);
    }
    if (top->kept) {
        top->view.n_alarms = lull_kept_count(top->kept) - top->n_before;
        top->n_before += top->view.n_alarms;
    }
    lull_histories_add(top->histories, &top->interval);
    return true;
}

static bool has_ended(void *user, enum lull_recording_end *how, GError **error)
{
    const struct lull_top *top = user;
    *how = LULL_RECORDING_ENDED_BY_INTERRUPT;
    return top->is_over;
}

static bool check(void *user, GError **error)
{
    struct lull_top *top = user;
    if (!lull_tracker_take(top->tracker, error)) {
        return false;
    }
    lull_tracker_govern(top->tracker);
    if (g_get_monotonic_time() < top->next_us) {
        return true;
    }
    if (!top->is_frozen) {
        return take(top, error) && lull_top_show(top, error);
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
    struct lull_top *top = user;
    if (!is_signal && top->screen.is_open) {
        lull_top_take_keys(top);
        lull_top_draw(top, NULL);
    }
}

static void take_alarm(void *user, const struct lull_track_alarm *alarm)
{
    const struct lull_top *top = user;
    lull_kept_add(top->kept, alarm);
}

static bool watch(struct lull_top *top, GError **error)
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
                               .due_us = &top->next_us,
                               .ends_stuck = true,
                               .command = -1};
    lull_watch_start(&watch);
    top->tracker = lull_tracker_new(&question, error);
    bool done = top->tracker != NULL;
    if (done) {
        top->view.how = lull_tracker_how(top->tracker);
        lull_lock_waits_look(top->locks, g_get_monotonic_time() * 1000);
        watch.wake = lull_tracker_fd(top->tracker);
        top->end_us = lull_watch_until(top->duration_ns);
        top->next_us = top->is_once
                           ? INT64_MAX
                           : lull_watch_due(g_get_monotonic_time(), top->interval_ns, top->end_us);
        if (!top->is_once && !top->is_json && !top->is_batch && lull_screen_open(&top->screen)) {
            watch.request = STDIN_FILENO;
            lull_top_draw(top, NULL);
        }
        done = lull_watch_wait(&watch, &how, error);
        const bool had_screen = top->screen.is_open;
        lull_screen_close(&top->screen);
        if (done && !had_screen) { /* what is left of the last interval, too */
            done = lull_tracker_finish(top->tracker, error) && take(top, error) &&
                   lull_top_show(top, error);
        }
    }
    lull_watch_end(&watch);
    return done;
}

static int run_top(struct lull_top *top, const struct lull_args *args, GError **error)
{
    lull_interval_init(&top->interval);
    top->view.epoch_ns = lull_epoch_of_monotonic();
    top->view.names = lull_machine_names_new();
    top->histories = g_new0(struct lull_histories, 1);
    top->locks = lull_lock_waits_new();
    top->view.locks = lull_lock_waits_waiting(top->locks);
    if (top->rules->len) {
        top->view.kept = top->kept = lull_kept_new(
            (const struct lull_track_rule *const *)top->rules->pdata, top->rules->len);
    }
    const bool done = watch(top, error);
    lull_tracker_free(top->tracker);
    lull_kept_free(top->kept);
    lull_lock_waits_free(top->locks);
    lull_machine_names_free(top->view.names);
    lull_interval_clear(&top->interval);
    g_free(top->histories);
    return done ? 0 : 1;
}

static int run(const struct lull_args *args, GError **error)
{
    struct lull_top top = {
        .interval_ns = LULL_NS_PER_S,
        .rules = g_ptr_array_new_with_free_func((GDestroyNotify)lull_track_rule_free)};
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
     .choices = lull_top_orders,
     .help = "by waited (default), longest, waits or name"},
    {.name = "by-process",
     .kind = LULL_OPTION_FLAG,
     .help = "a row for each process, not one for all of a name"},
    {.name = "rule",
     .kind = LULL_OPTION_TEXTS,
     .argument = "RULE",
     .help = "also report what is longer than this rule of 'lull track' allows"},
    {.name = "chains",
     .kind = LULL_OPTION_FLAG,
     .help = "each wait with all whom it was for in one column"},
    {.name = "batch",
     .kind = LULL_OPTION_FLAG,
     .help = "tables one after the other, also on a terminal"},
    {.name = "hist",
     .kind = LULL_OPTION_FLAG,
     .help = "how many waits, disk requests and interrupts were how long, instead of waits"},
    {.name = "idle",
     .kind = LULL_OPTION_FLAG,
     .help =
         "also waits that ended by a timer of the task itself, and threads of the kernel that waited for work"},
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
        "over are in no row; those for locks of files are above the table, with who holds the lock.\n"
        "\n"
        "On a terminal the table is drawn again and again, and takes keys:\n"
        "\n"
        " q            quit\n"
        " /            type a filter; an empty one ends it\n"
        " < >          sort by another column\n"
        " w            waits\n"
        " c            waits with their whole chains\n"
        " a            the last alarms of --rule\n"
        " h            histograms; 0, 1 and 5 choose the last interval, minute, or 15 minutes, g bars or numbers\n"
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
        "longer waits are named (the last line says which), then wakers are given up, then, without rules, when tasks are woken, "
        "so that waits for a CPU count as blocked. The second "
        "line and the sums of processes have waits of every length.\n"
        "\n"
        "It needs Linux 5.15 with BTF, and root or CAP_BPF and CAP_PERFMON. Where that is missing it "
        "uses ftrace (--backend ftrace), as root: it then stops naming system calls if that costs "
        "too much. Else it polls /proc (--backend poll), also if you are not root: how long tasks "
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
    .no_words = "it watches this machine and takes no trace",
    .has_no_pager = true,
    .run = run,
};
