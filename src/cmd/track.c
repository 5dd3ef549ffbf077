/* SPDX-License-Identifier: MIT */
/* lull track: reports waits of this machine that are longer than rules allow, while they happen. */
#include <string.h>

#include <lull/error.h>

#include "base/time.h"
#include "cmd/analysis_args.h"
#include "cmd/live_args.h"
#include "cmd/track_list.h"
#include "cmd/track_run.h"
#include "live/stacks.h"

#define SHOWN_PER_S 20
#define LEAST_INTERVAL_NS (LULL_NS_PER_S / 10)

/* ---- the question ---- */

/* What is counted in the kernel has to be decided there. */
static bool check_histogram(const struct lull_track_rule *rule, GError **error)
{
    struct lull_track_kernel_rule kernel;
    const bool is_decided = lull_track_rule_compile(rule, &kernel);
    if (is_decided && !rule->is_worst && !rule->timeout_ns) {
        return true;
    }
    g_set_error(error, LULL_ERROR, LULL_ERROR_USAGE, "“%s”: %s", rule->text,
                is_decided
                    ? "“worst” and “timeout” are for alarms: leave them out with --hist"
                    : "with --hist a filter can only compare comm, pid, tid, uid, cpu, cgroup and "
                      "host by ==, joined by &&, and only of waits and calls");
    return false;
}

static bool parse_rules(struct lull_track *track, const char *const *words, uint32_t n,
                        GError **error)
{
    if (n == 0) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_USAGE,
                    "it takes a rule, such as 'offcpu > 5ms', or up to %d of them (a command comes "
                    "after --)",
                    LULL_TRACK_RULES);
        return false;
    }
    for (uint32_t i = 0; i < n; i++) {
        struct lull_track_rule *rule = track->has_histograms
                                           ? lull_track_rule_parse_any(words[i], error)
                                           : lull_track_rule_parse(words[i], error);
        if (!lull_args_add_rule(track->rules, rule, error)) {
            return false;
        }
        if (track->has_histograms && !check_histogram(rule, error)) {
            return false;
        }
    }
    return true;
}

static bool parse_histograms(struct lull_track *track, const struct lull_args *args, GError **error)
{
    track->has_histograms = lull_args_flag(args, "hist");
    track->view.has_histograms = track->has_histograms;
    if (!lull_args_duration(args, "interval", (double)LULL_NS_PER_S, &track->interval_ns, error)) {
        return false;
    }
    if (track->has_histograms
            ? track->most_alarms >= 0 || track->action.command || track->has_snapshots
            : track->interval_ns > 0) {
        g_set_error_literal(
            error, LULL_ERROR, LULL_ERROR_USAGE,
            track->has_histograms
                ? "--count, --exec and --snapshot are about alarms, and --hist has none"
                : "--interval is of histograms: it needs --hist");
        return false;
    }
    if (track->interval_ns && track->interval_ns < LEAST_INTERVAL_NS) {
        g_set_error_literal(error, LULL_ERROR, LULL_ERROR_USAGE, "--interval is at least 100ms");
        return false;
    }
    return true;
}

static bool parse_stacks(struct lull_track *track, const char *text, GError **error)
{
    if (!text ||
        lull_track_stacks_parse(text, &track->stacks, error)) { /* else what costs little */
        return true;
    }
    g_prefix_error(error, "--stack: ");
    return false;
}

/* An interrupt is of no command. */
static bool check_command(const struct lull_track *track, GError **error)
{
    for (uint32_t i = 0; track->command && i < track->rules->len; i++) {
        const struct lull_track_rule *rule = track->rules->pdata[i];
        if (rule->kind->has_no_task) {
            g_set_error(error, LULL_ERROR, LULL_ERROR_USAGE,
                        "“%s”: interrupts belong to no command; leave the command out, or use "
                        "--duration",
                        rule->text);
            return false;
        }
    }
    return true;
}

static bool parse(const struct lull_args *args, struct lull_track *track, GError **error)
{
    uint32_t n_words;
    const char *const *words = lull_args_rest(args, &n_words);
    const uint32_t n_rules = lull_args_before_dashes(args);
    for (uint32_t i = n_rules; i < n_words; i++) {
        g_ptr_array_add(track->words, (gpointer)words[i]);
    }
    g_ptr_array_add(track->words, NULL);
    track->command = n_words > n_rules ? (const char *const *)track->words->pdata : NULL;
    track->is_json = lull_args_flag(args, "json");
    track->most_alarms = lull_args_number(args, "count");
    track->rate = lull_args_number(args, "rate");
    track->backend = lull_args_text(args, "backend");
    const char *marks = lull_args_text(args, "marks");
    track->has_served = lull_args_flag(args, "server-waits");
    track->marks = marks ? g_strsplit(marks, ",", -1) : NULL;
    track->has_snapshots = lull_args_flag(args, "snapshot");
    track->action.command = lull_args_text(args, "exec");
    if (track->rate < 0) {
        track->rate = track->is_json ? 0 : SHOWN_PER_S;
    }
    return parse_stacks(track, lull_args_text(args, "stack"), error) &&
           parse_histograms(track, args, error) && parse_rules(track, words, n_rules, error) &&
           check_command(track, error) && lull_args_overhead(args, &track->most_overhead, error) &&
           lull_args_duration(args, "duration", (double)LULL_NS_PER_S, &track->duration_ns, error);
}

static int run(const struct lull_args *args, GError **error)
{
    if (lull_args_flag(args, "list")) {
        return lull_track_list(args, error);
    }
    struct lull_track track = {
        .child = {.pid = -1, .go = -1, .fate = -1},
        .rules = g_ptr_array_new_with_free_func((GDestroyNotify)lull_track_rule_free),
        .words = g_ptr_array_new()};
    const int status = parse(args, &track, error) ? lull_track_run(&track, args, error) : 2;
    lull_invoker_clear(&track.invoker);
    g_ptr_array_unref(track.rules);
    g_ptr_array_unref(track.words);
    g_strfreev(track.marks);
    return status;
}

static const struct lull_option options[] = {
    {.name = "list",
     .kind = LULL_OPTION_FLAG,
     .help = "list the kinds of waits, and which of them this kernel lacks something for"},
    {.name = "duration",
     .letter = 'd',
     .kind = LULL_OPTION_TEXT,
     .argument = "T",
     .help = "stop after this time (500ms, 10s, …; a bare number is seconds; 0: no limit)"},
    {.name = "count",
     .letter = 'c',
     .kind = LULL_OPTION_NUMBER,
     .argument = "N",
     .help = "stop after N alarms"},
    {.name = "rate",
     .kind = LULL_OPTION_NUMBER,
     .argument = "N",
     .help =
         "show at most N alarms a second and count the others (default: 20, with --json all; 0: "
         "all)"},
    {.name = "server-waits",
     .kind = LULL_OPTION_FLAG,
     .help = "of serve: also what the server's task waited for meanwhile; costs as much as a rule "
             "of waits"},
    {.name = "marks",
     .kind = LULL_OPTION_TEXT,
     .argument = "FILES",
     .help =
         "programs and libraries whose marks (lull/mark.h) the rules mark(NAME) are about, with "
         "commas between; those of 'lull mark' need none"},
    {.name = "stack",
     .kind = LULL_OPTION_TEXT,
     .argument = "LIST",
     .help =
         "which stacks alarms have: kernel (the default; ftrace has only that, if asked for), waker, user, with commas between; the "
         "user's is taken at each switch, and needs programs built with frame pointers"},
    {.name = "hist",
     .kind = LULL_OPTION_FLAG,
     .help =
         "count how many were how long, for each rule, instead of reporting alarms; a rule needs "
         "no time then"},
    {.name = "interval",
     .kind = LULL_OPTION_TEXT,
     .argument = "T",
     .help = "with --hist: a table after each such time (default: one at the end)"},
    {.name = "exec",
     .kind = LULL_OPTION_TEXT,
     .argument = "COMMAND",
     .help =
         "run this command of the shell at each alarm, one at a time, as the user who called sudo"},
    {.name = "snapshot",
     .kind = LULL_OPTION_FLAG,
     .help =
         "keep what happens in memory as 'lull record --snapshot' does, and write it at alarms: one "
         "directory a minute and rule"},
    LULL_BACKEND_OPTION(
        "bpf or ftrace; without it the best that works (poll sees no single waits)"),
    {.name = "max-overhead",
     .kind = LULL_OPTION_TEXT,
     .argument = "SHARE",
     .help =
         "if tracking takes more than this share of the time of all CPUs, give up the chains of "
         "wakers (default: 1%)"},
    {.name = NULL},
};

static const char *const common[] = {"json", "local", NULL};

static const struct lull_example examples[] = {
    {"sudo lull track 'offcpu > 5ms' -- ./slow-thing",
     "Long waits of a command and what it starts."},
    {"sudo lull track 'wakeup: comm =~ \"postgres*\" > 2ms'",
     "When PostgreSQL had to wait for a CPU."},
    {"sudo lull track 'futex: pid == 4711 > 1ms' --count 10", "Ten waits for locks of a process."},
    {"sudo lull track 'block(vda): rw == \"write\" > 50ms'", "Slow writes of a disk."},
    {"sudo lull track 'serve(80) > 500ms'",
     "Slow answers of a web server, which knows nothing of it."},
    {"sudo lull track 'futex: comm == \"mysqld\" timeout 2s'",
     "Waits for locks that are not over after two seconds."},
    {"sudo lull track 'offcpu(D) worst' --duration 1min",
     "Each uninterruptible sleep that is longer than all before."},
    {"sudo lull track 'block(vda) > 1s' --exec 'lull snapshot'",
     "Keeps what the flight recorder has when the disk was slow."},
    {"sudo lull track 'serve(80) > 500ms' --snapshot",
     "Keeps what led to each slow answer; 'lull critpath' of it says why."},
    {"sudo lull track --stack kernel,user 'futex: pid == 4711 > 1ms'",
     "Which functions of a process wait for locks."},
    {"sudo lull track --hist 'serve(80)' 'block(vda)' --interval 10s",
     "How long requests to a web server and to a disk took, every ten seconds."},
    {"lull track --list", "What can be tracked on this machine."},
    {NULL, NULL},
};

const struct lull_verb lull_verb_track = {
    .name = "track",
    .summary = "report waits that are longer than you allow, as they happen",
    .usage = "RULE… [-- COMMAND…]",
    .description =
        "Watches all tasks of this machine with eBPF programs, or else with ftrace, and reports each wait that is longer "
        "than a rule allows: who waited how long, in which system call, for whom, and where in the "
        "kernel. It records nothing. The last line says what it cost. LIVE.md in the documentation "
        "says more.\n"
        "\n"
        "A rule is a kind of wait, and may have a filter after a colon, a time after >, and a "
        "time-out:\n"
        "\n"
        " KIND[: FILTER] [> TIME] [timeout TIME] [worst]\n"
        "\n"
        " offcpu       from going to sleep to running again; offcpu(D), offcpu(S): only in that "
        "state\n"
        " wakeup       from being woken, or started, to running: the delay of the scheduler\n"
        " preempt      from losing the CPU while it could run to running again\n"
        " fork         from being started, by fork or clone, to running for the first time\n"
        " futex        offcpu in futex: locks, conditions, joins\n"
        " poll         offcpu in poll, select, epoll_wait, and calls like them\n"
        " fault        offcpu outside of system calls: page faults\n"
        " syscall      a system call, whether it waits or computes; syscall(read,write): of these; "
        "costs every call of every task\n"
        " response     from the start of the interrupt that wakes a task, itself, by a softirq or "
        "by its thread, to when that runs; response(36): of that line\n"
        " block        a request, from when the disk got it to when it was complete; block(vda): "
        "of that disk\n"
        " queue        a request, from when the scheduler of the disk got it to when the disk gets "
        "it; queue(vda)\n"
        " irq          the handler of an interrupt; irq(24): of that line\n"
        " softirq      a softirq; softirq(NET_RX): of that vector\n"
        " raise        a softirq, from when it was raised to when it starts; raise(NET_RX)\n"
        " serve        a request, from when the server of a TCP port reads it to when it has sent "
        "the start of the answer: serve(80)\n"
        " ask          the same at the other end, with UDP as well: ask(5432)\n"
        " ttfb         from when a server has a new connection to when it has sent the first byte; "
        "ttfb(80)\n"
        " connect      a TCP connection, from when it is asked for to when it is there, or has "
        "failed; connect(5432)\n"
        " netrx        a packet of TCP, from when the interface received it to when a program "
        "reads it; netrx(eth0)\n"
        " nettx        a packet, from when it is queued to when the driver gets it; nettx(eth0)\n"
        " timer        from when a timer (hrtimer) should have expired at the latest to when it does\n"
        " work         work that the kernel puts off, from when it is queued to its start\n"
        " lock         waiting for a lock of the kernel's, spinning or asleep\n"
        " mark(NAME)   from lull_mark_begin() to lull_mark_end() (lull/mark.h), or 'lull mark'\n"
        " reclaim      freeing memory before getting some, of the machine or the control group\n"
        " exec         execve, from when the new program is read to when the old one is gone\n"
        "\n"
        "Exactly the waits that are longer than TIME are reported, once each. What is "
        "still open when its time-out has passed is reported then, and again at its end; only waits and "
        "system calls have time-outs. With 'worst', each "
        "alarm raises the time to its own. The filter is written as 'lull help filter' "
        "says, and can name comm, pid, tid, uid, cpu, cgroup (its path) and host (the name of this machine) of all kinds; call and "
        "waker_comm of waits; disk and rw (read or write) of requests to disks, and of waits that one ended; lport, rport and raddr of "
        "connections, and of waits that a packet ended; and iface of packets. Equality of the first seven is checked in the kernel.\n"
        "\n"
        "The second line of an alarm says for whom each part of the wait was: the task that ended "
        "it, from when that task was itself woken; before that the one that had woken it; and so on, "
        "up to four. A chain ends at a task that had been running all the time, or at an interrupt: a "
        "timer, a request to a disk, a packet. Each waker's last wait is all that is known of it, so "
        "for waits that a task spent on many things 'lull record' and 'lull critpath' say more.\n"
        "\n"
        "With a command, only its waits and those of what it starts are reported; it runs as with "
        "'lull record'. Waits that began before tracking began, and those of lull itself, are not "
        "reported. Alarms over 1000 a second of one rule are counted only, and so are alarms for "
        "which there was no room; the last line has the numbers.\n"
        "\n"
        "The command of --exec finds the alarm in LULL_RULE, LULL_KIND, LULL_DELAY_NS, LULL_END_NS, LULL_PID, "
        "LULL_TID, LULL_COMM, LULL_CALL and LULL_OBJECT (the request, packet, connection …), and its output goes "
        "to stderr. Alarms that come while it runs start no other. Its own waits are tracked like all others.\n"
        "\n"
        "With --snapshot a flight recorder runs in the same process. At an alarm it stops at once, and what it "
        "had is written to a directory here, which belongs to the user who called sudo; then it goes on. The "
        "last line of the alarm says which, and what to do with it. What comes within five seconds of a "
        "snapshot is said to be in it. There is one in a minute for each rule, 6 in an hour, 20 in a day, and none if they have 2 "
        "GiB together or less than a tenth of the disk is free.\n"
        "\n"
        "Tracking needs Linux 5.15 with BTF, and root or CAP_BPF and CAP_PERFMON; names of kernel "
        "functions need CAP_SYSLOG. Where eBPF is refused, ftrace does for the kinds from offcpu to raise in "
        "this list, as root, with stacks of the kernel alone; the last lines say what cannot be seen and why. 'lull track --list' "
        "says which kinds there are.",
    .output =
        "With --json a line for each alarm, as it happens, and one with 'summary' at the end. 'chain' "
        "has the parts of the wait, the latest first, each with the task that it was for, or else a "
        "'detail'. 'snapshot' is null without --snapshot. Times are nanoseconds since 1970; 'monotonic_ns' is the end on CLOCK_MONOTONIC. With --list one object, whose 'kinds' each "
        "say what they 'help' with and name a tracepoint that this kernel 'lacks', "
        "or \"eBPF\", or null. With --hist a line for each table: "
        "'histograms' has for each rule how many took less than 1 us, 2 us, 4 us, and so on; the last of 26 numbers "
        "is of those of 16.8 s and more.",
    .options = options,
    .common = common,
    .examples = examples,
    .takes_no_trace = true,
    .has_no_pager = true,
    .run = run,
};
