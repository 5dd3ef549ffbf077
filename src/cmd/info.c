/* SPDX-License-Identifier: MIT */
/* lull info: what a trace holds, what it lost, and which questions it can answer. */
#include "view/info/info.h"

#include "analysis/event_counts.h"
#include "analysis/hidden_idle.h"
#include "answers/containers.h"
#include "answers/tasks.h"
#include "cmd/join_args.h"
#include "cmd/live_list.h"
#include "cmd/program_out.h"
#include "cmd/verb.h"
#include "source/session/streams.h"

/* The host whose event is the first of all. */
static uint32_t find_first(struct lull_info *info)
{
    uint32_t first = 0;
    lull_session_first_events(info->session, info->first_ns);
    for (uint32_t i = 1; i < lull_session_host_count(info->session); i++) {
        first = info->first_ns[i] < info->first_ns[first] ? i : first;
    }
    return first;
}

/* What is counted lies in a range of time on the clock that other verbs join, and relative times
 * count from the first event on it; the rest is said in the time of each machine. */
static bool select_time(struct lull_info *info, const struct lull_args *args, GError **error)
{
    const uint32_t n_hosts = lull_session_host_count(info->session);
    info->own = g_new(struct lull_clock_transform, MAX(n_hosts, 1));
    for (uint32_t i = 0; i < n_hosts; i++) {
        info->own[i] = *lull_session_clock(info->session, i);
    }
    if (n_hosts > 1) {
        lull_args_join(args, info->session);
    }
    return lull_args_apply(args, info->session, error);
}

static int by_host(const void *a, const void *b)
{
    const struct lull_gap *x = a, *y = b;
    if (x->host != y->host) {
        return x->host < y->host ? -1 : 1;
    }
    return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

static void find_gaps(struct lull_info *info)
{
    lull_session_find_gaps(info->session, NULL, &info->gaps);
    if (info->gaps.all.count > 1) {
        qsort(info->gaps.all.items, info->gaps.all.count, sizeof *info->gaps.all.items, by_host);
    }
}

static void collect(struct lull_info *info, bool with_events)
{
    const uint32_t n_hosts = lull_session_host_count(info->session);
    if (with_events) {
        info->events = lull_event_counts(info->session);
    }
    info->first_ns = g_new(int64_t, MAX(n_hosts, 1));
    info->first_ns[0] = INT64_MAX;
    info->zero_host = find_first(info);
    info->zero_ns = info->first_ns[info->zero_host];
    for (uint32_t i = 0; i < n_hosts; i++) {
        lull_session_set_clock(info->session, i, &info->own[i]);
    }
    lull_session_first_events(info->session, info->first_ns);
    find_gaps(info);
    info->containers = lull_containers_list(info->session);
    info->declared = g_new0(struct lull_declared *, n_hosts);
    for (uint32_t i = 0; i < n_hosts; i++) {
        info->declared[i] = lull_declared_new(info->session, i);
    }
    info->hides_idle = lull_hidden_idle(info->session);
    /* After counting: it may have found more damage. */
    for (uint32_t i = 0; i < lull_session_loss_count(info->session); i++) {
        const struct lull_loss *loss = lull_session_loss(info->session, i);
        if (lull_info_shows(info, loss->host)) {
            info->lost_events += loss->events;
            info->lost_packets += loss->packets;
        }
    }
}

static void clear(struct lull_info *info)
{
    for (uint32_t i = 0; info->declared && i < lull_session_host_count(info->session); i++) {
        lull_declared_free(info->declared[i]);
    }
    g_free(info->declared);
    if (info->containers) {
        g_ptr_array_unref(info->containers);
    }
    g_free(info->first_ns);
    lull_vec_free(&info->gaps.all);
    g_free(info->own);
    g_free(info->hides_idle);
    if (info->events) {
        g_array_unref(info->events);
    }
    lull_session_free(info->session);
}

static int run(const struct lull_args *args, GError **error)
{
    if (!lull_program_out_check(args, NULL, error)) {
        return 2;
    }
    if (lull_live_list_is_requested(args, true)) {
        return lull_live_list_print(args, error);
    }
    struct lull_info info = {.session = lull_args_open_traces(args, error), .host = -1};
    if (!info.session) {
        return 1;
    }
    const struct lull_numbers cpus = lull_args_numbers(args, "cpu");
    bool done = select_time(&info, args, error) &&
                lull_args_host(args, info.session, &info.host, error) &&
                lull_check_cpus(info.session, NULL, info.host, &cpus, error);
    if (done) {
        collect(&info, lull_args_flag(args, "events"));
        if (lull_program_out_is_wanted(args)) {
            struct lull_program_out out;
            lull_program_out_start(&out, args);
            lull_info_print_json(&info, out.file);
            done = lull_program_out_end(&out, true, error);
        } else {
            struct lull_view_style style;
            lull_view_style_init(&style, stdout, lull_args_text(args, "color"));
            style.local_time = lull_args_flag(args, "local");
            done = lull_info_print_text(&info, &style, error);
        }
    }
    int status = done ? lull_args_report_damage(info.session) : 1;
    clear(&info);
    return status;
}

static const struct lull_option options[] = {
    {.name = "events", .kind = LULL_OPTION_FLAG, .help = "count the events by name"},
    {.name = NULL},
};

static const char *const common[] = {"intersection",
                                     "begin",
                                     "end",
                                     "timerange",
                                     "local",
                                     "host",
                                     "cpu",
                                     "filter",
                                     "no-sync",
                                     "threads",
                                     LULL_PROGRAM_OUT_COMMON,
                                     NULL};

static const struct lull_example examples[] = {
    {"lull info my-trace", "What the trace holds, what it lost, what it can answer."},
    {"lull info --events client httpd db",
     "The same for three machines, with their events by name."},
    {"lull info --events --timerange +1s,+2s my-trace",
     "How many events of each name there are in the second second."},
    {"lull info net://localhost", "The live sessions that can be followed there."},
    {"lull info --json my-trace | jq '.lost.events'", "How many events the tracer discarded."},
    {NULL, NULL},
};

const struct lull_verb lull_verb_info = {
    .name = "info",
    .summary = "show what a trace holds, what it lost, and which questions it can answer",
    .usage = "TRACE…",
    .description =
        "Shows each machine's traces: where they are, what recorded them, their clock, start, "
        "end and size; when recording was stopped in between; the lost events and packets, and when "
        "they were lost; and for each "
        "question that Lull knows, whether the recorded events are sufficient, and which are "
        "missing.\n"
        "\n"
        "For a recording of 'lull record' it shows which command ran, how it ended, which "
        "tracer recorded it and why, and the containers in which tasks were as it started: of "
        "docker, podman, containerd, CRI-O, Kubernetes, LXC, systemd-nspawn and libvirt.\n"
        "\n"
        "--events counts all events by name. --begin, --end, --timerange, --cpu and --filter "
        "limit what is counted; the rest is about the whole trace. Times are those of each "
        "machine's own clock; but --begin, --end and --timerange are meant on the joined clock, as in "
        "all verbs, and so is +0s, the first event of all.\n"
        "\n"
        "For a relay (net://HOST[:PORT], LTTng's lttng-relayd) it lists the live sessions, with "
        "the addresses that 'lull print' follows.",
    .output =
        "With --json one object:\n"
        "\n"
        " {\"version\": 1,\n"
        "  \"hosts\": [{\"name\", \"traces\", \"begin_ns\", \"end_ns\", \"first_event_ns\",\n"
        "      \"gaps\": [{\"begin_ns\", \"end_ns\"}], \"hides_idle\"}],\n"
        "  \"recordings\": [{\"path\", \"host\", \"lull\", \"tracer\", \"reason\", \"purpose\",\n"
        "      \"filtered\", \"snapshot\", \"command\": [word, …], \"pid\",\n"
        "      \"exit_status\", \"signal\", \"begin_ns\", \"end_ns\", \"ended_by\",\n"
        "      \"events\", \"lost_events\", \"names_missing\", \"lost_names\",\n"
        "      \"cpu_quotas\": [{\"cgroup\", \"quota_us\", \"period_us\", \"periods\",\n"
        "      \"throttled_periods\", \"throttled_ns\", \"gone\"}],\n"
        "      \"pressure\": [{\"cgroup\", \"cpu_some_us\", \"io_some_us\",\n"
        "      \"memory_some_us\", \"cpu_full_us\", \"io_full_us\", \"memory_full_us\"}],\n"
        "      \"pressure_samples\": [{\"time_ns\", \"cpu_some_us\", …}],\n"
        "      \"trigger\": {\"id\", \"rule\", \"comm\", \"pid\", \"tid\", \"begin_ns\",\n"
        "      \"end_ns\"}}],\n"
        "  \"containers\": [{\"host\", \"name\", \"runtime\", \"id\", \"pod\", \"cgroup\",\n"
        "      \"tasks\"}],\n"
        "  \"traces\": [{\"path\", \"host\", \"tracer\", \"domain\", \"kernel\", \"session\",\n"
        "      \"format\", \"clock\": {\"name\", \"frequency_hz\", \"offset_ns\"},\n"
        "      \"begin_ns\", \"end_ns\", \"duration_ns\",\n"
        "      \"process\": {\"name\", \"pid\"}, \"trace_id\", \"guest_of\",\n"
        "      \"guests\": [{\"name\", \"trace_id\", \"vcpu_tids\": [tid, …]}],\n"
        "      \"directories\", \"streams\", \"packets\", \"size_bytes\"}],\n"
        "  \"events\": [{\"host\", \"name\", \"count\"}],\n"
        "  \"lost\": {\"events\", \"packets\", \"intervals\": [{\"host\", \"path\",\n"
        "      \"stream\", \"begin_ns\", \"end_ns\", \"events\", \"packets\"}]},\n"
        "  \"questions\": [{\"id\", \"text\", \"hosts\": [{\"host\", \"answer\",\n"
        "      \"lacks\": [[name, …]], \"without\": [{\"names\": [name, …], \"then\"}]}]}],\n"
        "  \"problems\": [text, …], \"damaged\": whether one of them is damage}\n"
        "\n"
        "Times are nanoseconds since 1970 on the machine's own clock, but for zero_ns, the first event of all on the joined clock; begin, end and duration "
        "are null for a trace without packets, process for one that is not of one process alone. "
        "\"recordings\" are the directories that 'lull record' has left, with what they say of "
        "themselves; null is what one does not say, or what did not happen. "
        "\"cpu_quotas\" are those of control groups of the machine, with what the kernel counted "
        "meanwhile: the periods in which tasks ran and in which the quota was used up, and how "
        "long it kept them off the CPU, summed over CPUs; one that is \"gone\" was removed before the end, and what it "
        "counted last is missing. "
        "\"pressure\" is how many microseconds some or all tasks stalled, as the kernel counted: of the machine "
        "(\"/\"), and of control groups; \"pressure_samples\" what it had counted of the machine by a "
        "time in the recording. "
        "\"names_missing\" says why paths that calls were given while recording are not known, "
        "\"lost_names\" how many of them had no room. "
        "\"trigger\" is the wait or the request for which 'lull daemon' wrote a snapshot. "
        "\"hides_idle\" is true if the traces are of perf, and miss what CPUs do while they are "
        "idle. \"guests\" are virtual machines that were recorded with it, \"guest_of\" the trace_id of "
        "the host whose clock the times were brought to; all ids are null if the recorder gave "
        "none. "
        "\"events\" is null without --events, else "
        "sorted by count, largest first, then name and host. \"answer\" is \"yes\", \"partly\" "
        "or \"no\"; \"lacks\" lists for each missing kind of event the names any one of which "
        "would do; \"without\" lists what else is missing and what follows from that. "
        "\"problems\" says what is damaged, and what else is odd; \"damaged\" is true if something is.\n"
        "\n"
        "Of relays:\n"
        "\n"
        " {\"version\": 1,\n"
        "  \"sessions\": [{\"url\", \"host\", \"session\", \"timer_ns\", \"streams\", "
        "\"viewers\"}]}",
    .options = options,
    .common = common,
    .examples = examples,
    .run = run,
};
