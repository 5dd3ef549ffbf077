/* SPDX-License-Identifier: MIT */
/* The tracker over ftrace: an instance of tracefs that is ours, whose ring buffers are read some times a second,
 * and the model in this process. A guard removes the instance if this process is killed. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "base/time.h"
#include "live/ftrace/model.h"
#include "live/ftrace/pages.h"
#include "live/timeouts.h"
#include "record/ftrace/ftrace.h"
#include "record/guard.h"
#include "record/tasks.h"

/* How often the buffers are read, with rules and without, and how old an event is at least then: one that its
 * CPU still writes is not overtaken by later ones. */
#define EVERY_NS (20 * INT64_C(1000000))
#define SELDOM_NS (100 * INT64_C(1000000))
#define SLACK_NS (2 * INT64_C(1000000))
/* Of each CPU. A very busy one fills the largest in half a second. All together take no more than this share of the
 * memory that is free to take. */
#define MOST_BUFFER_KB 16384
#define LEAST_BUFFER_KB 1024
#define SHARE_OF_MEMORY 32
/* Our own timer makes events; where there are none for so long, somebody has switched them off. */
#define SILENCE_NS LULL_NS_PER_S
/* What an event costs the program that it interrupts, about: measured by bench/live.py. */
#define EVENT_NS 250
/* A stack costs as much as so many events. */
#define STACK_EVENTS 5
/* Of names of tasks that need no quoting in the kernel's filters. */
#define WORD "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_./:"
#define GOVERN_EVERY_NS (250 * INT64_C(1000000))

struct watch {
    struct lull_tracker tracker;
    struct lull_tracker_question question;
    struct lull_ftrace_model *model;
    struct lull_ftrace_events *events;
    struct lull_ftrace_pages *pages;
    struct lull_timeouts *timeouts; /* or NULL */
    struct lull_sums *sums;         /* of has_sums; else NULL */
    struct lull_invoker invoker;
    struct lull_keeper keeper;
    struct lull_guard guard;
    struct lull_ftrace_instance *instance;
    int *raw; /* by CPU */
    uint32_t n_cpus;
    int timer;
    /* What it costs: events, and our own time, since the last look. */
    uint64_t n_events;
    int64_t own_ns, looked_ns;
    int64_t heard_ns; /* when there were events last */
};

static int64_t clock_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return now.tv_sec * LULL_NS_PER_S + now.tv_nsec;
}

static bool refuse(GError **error, const char *why)
{
    g_set_error(error, LULL_ERROR, LULL_ERROR_UNSUPPORTED, "live tracking: %s", why);
    return false;
}

/* ---- what can be seen ---- */

static const char *lacks_of(uint32_t measure)
{
    return lull_ftrace_measures & 1u << measure ? NULL : lull_tracker_needs_bpf;
}

static bool find_lacks(const char *lacks[LULL_TRACK_MEASURES], GError **error)
{
    for (uint32_t i = 0; i < LULL_TRACK_MEASURES; i++) {
        lacks[i] = lacks_of(i);
    }
    return true;
}

static bool check_question(const struct lull_tracker_question *question, GError **error)
{
    for (uint32_t i = 0; i < question->n_rules; i++) {
        if (lacks_of(question->rules[i]->kind->measure)) {
            g_set_error(error, LULL_ERROR, LULL_ERROR_UNSUPPORTED,
                        "live tracking: ftrace does not see what “%s” is about: that needs eBPF",
                        question->rules[i]->text);
            return false;
        }
    }
    return !(question->stacks & ~(uint32_t)LULL_TRACK_KERNEL_STACK) ||
           refuse(error,
                  "ftrace takes kernel stacks only: give --stack kernel, or leave --stack out");
}

static bool check_machine(GError **error)
{
    static const struct lull_tracer_request request = {.purpose = LULL_PURPOSE_SCHED};
    g_autofree char *missing = lull_tracer_ftrace.missing(&request);
    if (missing) {
        return refuse(error, missing);
    }
    return lull_tasks_are_global() ||
           refuse(error,
                  "in a container with its own process ids, ftrace's are not those of /proc");
}

/* ---- reading ---- */

static ssize_t read_page(void *user, uint32_t cpu, uint8_t *page, uint32_t room, GError **error)
{
    const struct watch *watch = user;
    ssize_t n;
    do {
        n = read(watch->raw[cpu], page, room);
    } while (n < 0 && errno == EINTR);
    if (n < 0 && (errno == EAGAIN || errno == EBUSY)) {
        return 0;
    }
    if (n < 0) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_IO,
                    "live tracking: cannot read the ring buffer of CPU %u: %s", cpu,
                    g_strerror(errno));
    }
    return n;
}

static void lost(void *user, uint32_t cpu, uint64_t from_ns, uint64_t until_ns, uint64_t n)
{
    struct watch *watch = user;
    lull_ftrace_model_lose(watch->model, cpu, from_ns, until_ns, n);
}

static bool take_events(struct watch *watch, uint64_t until_ns, GError **error)
{
    struct lull_ftrace_record record;
    struct lull_ftrace_fields fields;
    int more;
    lull_ftrace_pages_start(watch->pages, until_ns);
    while ((more = lull_ftrace_pages_next(watch->pages, &record, error)) > 0) {
        const struct lull_ftrace_event event = {
            .kind = lull_ftrace_events_load(watch->events, &record.record, &fields),
            .ns = record.ns,
            .cpu = record.cpu,
            .fields = &fields};
        watch->n_events += event.kind == LULL_FTRACE_STACK ? STACK_EVENTS : 1;
        if (event.kind < LULL_FTRACE_KINDS) {
            lull_ftrace_model_take(watch->model, &event);
        }
    }
    watch->model->now = MAX(watch->model->now, until_ns);
    watch->model->counts.damaged += lull_ftrace_pages_take_damaged(watch->pages);
    return more == 0;
}

/* Nobody can remove the instance while it is read, but anybody who is root can switch it off. */
static bool check_silence(struct watch *watch, bool has_heard, GError **error)
{
    const int64_t now = clock_ns(CLOCK_MONOTONIC);
    if (has_heard || watch->heard_ns == 0) {
        watch->heard_ns = now;
    }
    if (now - watch->heard_ns < SILENCE_NS) {
        return true;
    }
    watch->heard_ns = now;
    return tracefs_trace_is_on(watch->instance->tracefs) != 0 ||
           refuse(error,
                  "somebody switched off the instance of tracefs that Lull watches: start again");
}

static bool take(struct lull_tracker *tracker, GError **error)
{
    struct watch *watch = (struct watch *)tracker;
    const int64_t before_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    uint64_t n;
    (void)!read(watch->timer, &n, sizeof n);
    const uint64_t before = watch->n_events;
    const bool done = take_events(watch, (uint64_t)(clock_ns(CLOCK_MONOTONIC) - SLACK_NS), error) &&
                      check_silence(watch, watch->n_events != before, error);
    watch->own_ns += clock_ns(CLOCK_THREAD_CPUTIME_ID) - before_ns;
    return done;
}

static bool finish(struct lull_tracker *tracker, GError **error)
{
    const uint64_t until_ns = (uint64_t)clock_ns(CLOCK_MONOTONIC);
    g_usleep(SLACK_NS / 1000);
    return take_events((struct watch *)tracker, until_ns, error);
}

/* ---- setting up ---- */

static char *read_format(void *user, const char *system, const char *name, int *size)
{
    return tracefs_event_file_read(NULL, system, name, "format", size);
}

static bool open_cpus(struct watch *watch, GError **error)
{
    const long most = MAX(sysconf(_SC_NPROCESSORS_CONF), 1);
    struct tracefs_instance *tracefs = watch->instance->tracefs;
    watch->raw = g_new0(int, (size_t)most);
    while (watch->n_cpus < most) {
        g_autofree char *dir = g_strdup_printf("per_cpu/cpu%u", watch->n_cpus);
        g_autofree char *file = g_strconcat(dir, "/trace_pipe_raw", NULL);
        if (!tracefs_dir_exists(tracefs, dir)) {
            break;
        }
        const int fd = tracefs_instance_file_open(tracefs, file, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
        if (fd < 0) {
            g_set_error(error, LULL_ERROR, LULL_ERROR_IO,
                        "live tracking: cannot read the ring buffer of CPU %u: %s", watch->n_cpus,
                        g_strerror(errno));
            return false;
        }
        watch->raw[watch->n_cpus++] = fd;
    }
    return watch->n_cpus > 0 || refuse(error, "the instance of tracefs has no buffers");
}

static bool switch_event(void *user, enum lull_ftrace_kind kind, const char *system,
                         const char *name, GError **error)
{
    const struct watch *watch = user;
    g_autofree char *file = g_strdup_printf("events/%s/%s/enable", system, name);
    return lull_ftrace_instance_write(watch->instance, file, "1", error);
}

/* "id == 0 || id == 202": the calls that rules name. Free with g_free(). */
static char *listed_calls(const struct lull_ftrace_model *model)
{
    GString *text = g_string_new(NULL);
    for (int32_t call = 0; call < LULL_TRACK_MOST_CALL; call++) {
        if (lull_ftrace_is_listed(model, call)) {
            g_string_append_printf(text, "%sid == %d", text->len ? " || " : "", call);
        }
    }
    return g_string_free(text, FALSE);
}

/* Has the kernel write those calls and no others. */
static bool set_calls(struct watch *watch, enum lull_ftrace_calls calls, GError **error)
{
    const struct lull_ftrace_instance *instance = watch->instance;
    g_autofree char *listed = listed_calls(watch->model);
    if (calls == LULL_FTRACE_LISTED_CALLS &&
        (!lull_ftrace_instance_write(instance, "events/raw_syscalls/sys_enter/filter", listed,
                                     error) ||
         !lull_ftrace_instance_write(instance, "events/raw_syscalls/sys_exit/filter", listed,
                                     error))) {
        return false;
    }
    if (!lull_ftrace_instance_write(instance, "events/raw_syscalls/enable", calls ? "1" : "0",
                                    error)) {
        return false;
    }
    lull_ftrace_model_set_calls(watch->model, calls);
    return true;
}

/* Only those of tasks that all rules are about, if they are. False: they are about any. */
static bool add_task(const struct lull_track_kernel_rule *rule, GString *who)
{
    for (uint32_t i = 0; i < rule->n_tests; i++) {
        const struct lull_track_test *test = &rule->test[i];
        const bool is_plain = !test->comm[strspn(test->comm, WORD)];
        const char *or = who->len ? " || " : "";
        if (test->field == LULL_TRACK_TEST_TID) {
            g_string_append_printf(who, "%sprev_pid == %u", or, test->number);
            return true;
        }
        if (test->field == LULL_TRACK_TEST_COMM && *test->comm && is_plain) {
            g_string_append_printf(who, "%sprev_comm == \"%s\"", or, test->comm);
            return true;
        }
    }
    return false;
}

/* Has the kernel write where tasks leave the CPU to wait. */
static bool set_stacks(const struct watch *watch, GError **error)
{
    const struct lull_ftrace_model *model = watch->model;
    const bool with_preempted = model->measures & 1u << LULL_TRACK_PREEMPT;
    g_autoptr(GString) who = g_string_new(NULL);
    g_autoptr(GString) trigger = g_string_new("stacktrace");
    const char *before = " if ";
    bool is_of_all = false;
    for (uint32_t i = 0; i < watch->question.n_rules && !is_of_all; i++) {
        is_of_all = !add_task(&model->rule[i], who);
    }
    if (!with_preempted) {
        g_string_append_printf(trigger, "%sprev_state & 255", before); /* it sleeps */
        before = " && ";
    }
    if (!is_of_all) {
        g_string_append_printf(trigger, "%s(%s)", before, who->str);
    }
    return lull_ftrace_instance_write(watch->instance, "events/sched/sched_switch/trigger",
                                      trigger->str, error);
}

/* Calls are named in alarms and rows, as long as that does not cost too much. */
static enum lull_ftrace_calls wanted_calls(const struct lull_ftrace_model *model)
{
    bool has_named = model->question.has_sums || model->question.has_metrics;
    for (uint32_t i = 0; i < model->question.n_rules && !model->question.has_histograms; i++) {
        has_named |= model->rule[i].measure < LULL_TRACK_SYSCALL &&
                     model->rule[i].calls == LULL_TRACK_ANY_CALL;
    }
    return has_named ? LULL_FTRACE_ALL_CALLS : lull_ftrace_needed_calls(model);
}

/* Free with g_free(). */
static char *buffer_kb(void)
{
    g_autofree char *text = NULL;
    uint64_t free_kb = 0;
    g_file_get_contents("/proc/meminfo", &text, NULL, NULL);
    const char *at = text ? strstr(text, "\nMemAvailable:") : NULL;
    if (at) {
        sscanf(at, "\nMemAvailable: %" SCNu64, &free_kb);
    }
    const uint64_t kb = free_kb / SHARE_OF_MEMORY / (uint64_t)MAX(sysconf(_SC_NPROCESSORS_CONF), 1);
    return g_strdup_printf("%" PRIu64, CLAMP(kb, LEAST_BUFFER_KB, MOST_BUFFER_KB));
}

static bool set_up(struct watch *watch, GError **error)
{
    g_autofree char *size = buffer_kb();
    const struct lull_ftrace_pages_ops ops = {read_page, lost, watch};
    watch->instance = lull_ftrace_instance_new(error);
    if (watch->instance) {
        lull_guard_report_tracer(&watch->guard, &lull_tracer_ftrace, watch->instance->name);
    }
    if (!watch->instance ||
        !lull_ftrace_instance_write(watch->instance, "trace_clock", "mono", error) ||
        !lull_ftrace_instance_write(watch->instance, "options/overwrite", "1", error) ||
        !lull_ftrace_instance_write(watch->instance, "buffer_size_kb", size, error) ||
        !open_cpus(watch, error)) {
        return false;
    }
    watch->model = lull_ftrace_model_new(&watch->question, watch->n_cpus);
    const enum lull_ftrace_calls calls = wanted_calls(watch->model);
    /* Without being asked for, they would cost each switch more than all else. */
    const bool with_stacks = watch->question.stacks & LULL_TRACK_KERNEL_STACK &&
                             watch->model->measures & LULL_FTRACE_WAITS;
    watch->events = lull_ftrace_events_new(watch->model->wanted,
                                           (calls ? LULL_FTRACE_WITH_CALLS : 0u) |
                                               (with_stacks ? LULL_FTRACE_WITH_STACKS : 0u),
                                           read_format, NULL, error);
    watch->pages = lull_ftrace_pages_new(watch->n_cpus, (uint32_t)sysconf(_SC_PAGESIZE), &ops);
    watch->timeouts = lull_timeouts_new(&watch->question, LULL_TRACK_MOST_SLOTS);
    return watch->events && lull_ftrace_events_each(watch->events, switch_event, watch, error) &&
           (!calls || set_calls(watch, calls, error)) && (!with_stacks || set_stacks(watch, error));
}

/* Of one that runs, or could, nobody knows since when: its events tell soon. */
static void find(void *user, uint32_t pid, uint32_t tid)
{
    const struct watch *watch = user;
    struct lull_proc_state state;
    lull_ftrace_meet(watch->model, pid, tid);
    if (lull_proc_read_state(pid, tid, &state)) {
        lull_ftrace_found(watch->model, tid, state.letter, (uint64_t)clock_ns(CLOCK_MONOTONIC));
    }
}

/* Events already say what tasks do that are not met yet. */
static bool begin(struct watch *watch, GError **error)
{
    const struct timespec every = {.tv_nsec = watch->question.n_rules ? EVERY_NS : SELDOM_NS};
    const struct itimerspec time = {.it_interval = every, .it_value = every};
    watch->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (watch->timer < 0 || timerfd_settime(watch->timer, 0, &time, NULL) != 0) {
        return refuse(error, "no timer");
    }
    if (!lull_ftrace_instance_write(watch->instance, "tracing_on", "1", error)) {
        return false;
    }
    watch->model->now = watch->model->from_ns = (uint64_t)clock_ns(CLOCK_MONOTONIC);
    watch->looked_ns = (int64_t)watch->model->now;
    return lull_proc_each_task(find, watch) || refuse(error, "cannot read /proc");
}

static void free_watch(struct lull_tracker *tracker)
{
    struct watch *watch = (struct watch *)tracker;
    for (uint32_t i = 0; i < watch->n_cpus; i++) {
        close(watch->raw[i]);
    }
    if (watch->timer >= 0) {
        close(watch->timer);
    }
    lull_ftrace_instance_free(watch->instance);
    lull_guard_end(&watch->guard, &watch->keeper);
    lull_invoker_clear(&watch->invoker);
    lull_timeouts_free(watch->timeouts);
    lull_sums_free(watch->sums);
    lull_ftrace_pages_free(watch->pages);
    lull_ftrace_events_free(watch->events);
    lull_ftrace_model_free(watch->model);
    g_free(watch->raw);
    g_free(watch);
}

static struct lull_tracker *start(const struct lull_tracker_question *question, GError **error)
{
    if (!check_question(question, error) || !check_machine(error)) {
        return NULL;
    }
    struct watch *watch = g_new0(struct watch, 1);
    watch->tracker.kind = &lull_live_ftrace;
    watch->question = *question;
    watch->timer = watch->guard.pipe = watch->keeper.socket = watch->keeper.reserve = -1;
    if (lull_invoker_init(&watch->invoker, error) &&
        lull_guard_start(&watch->guard, &watch->keeper, &watch->invoker, error) &&
        set_up(watch, error) && begin(watch, error)) {
        watch->sums = question->has_sums ? lull_sums_new(&watch->tracker) : NULL;
        return &watch->tracker;
    }
    free_watch(&watch->tracker);
    return NULL;
}

/* ---- what it costs ---- */

/* Starts and ends of system calls are most of all events, as a rule. */
static void cost_less(struct watch *watch)
{
    struct lull_ftrace_model *model = watch->model;
    const enum lull_ftrace_calls needed = lull_ftrace_needed_calls(model);
    if (needed < model->calls && set_calls(watch, needed, NULL)) {
        model->counts.has_no_calls = true;
    }
}

static void govern(struct lull_tracker *tracker)
{
    struct watch *watch = (struct watch *)tracker;
    const int64_t now = clock_ns(CLOCK_MONOTONIC), took_ns = now - watch->looked_ns;
    struct lull_tracker_counts *counts = &watch->model->counts;
    if (watch->sums) {
        lull_sums_gather(watch->sums);
    }
    if (watch->timeouts) {
        lull_timeouts_scan(watch->timeouts, tracker, (int64_t)watch->model->now, counts);
    }
    if (took_ns < GOVERN_EVERY_NS) {
        return;
    }
    counts->overhead = (double)((int64_t)watch->n_events * EVENT_NS + watch->own_ns) /
                       ((double)took_ns * g_get_num_processors());
    watch->n_events = 0;
    watch->own_ns = 0;
    watch->looked_ns = now;
    if (counts->overhead > watch->question.most_overhead) {
        cost_less(watch);
    }
}

/* ---- the kind ---- */

static int fd_of(const struct lull_tracker *tracker)
{
    return ((const struct watch *)tracker)->timer;
}

static bool count(struct lull_tracker *tracker, struct lull_tracker_counts *counts, GError **error)
{
    *counts = ((const struct watch *)tracker)->model->counts;
    return true;
}

static bool histograms(const struct lull_tracker *tracker, struct lull_track_histograms *all,
                       GError **error)
{
    lull_ftrace_histograms(((const struct watch *)tracker)->model, all);
    return true;
}

static bool chains(const struct lull_tracker *tracker, GArray *all, GError **error)
{
    lull_ftrace_chains(((const struct watch *)tracker)->model, all);
    return true;
}

static bool sum(struct lull_tracker *tracker, struct lull_interval *interval, GError **error)
{
    struct watch *watch = (struct watch *)tracker;
    return lull_sums_take(watch->sums, interval, error);
}

static uint32_t count_slots(const struct lull_tracker *tracker)
{
    return ((const struct watch *)tracker)->model->slots->len;
}

/* Of a task that has not been on a CPU since the start nothing is known. */
static bool get_slot(const struct lull_tracker *tracker, uint32_t i, struct lull_track_slot *slot)
{
    const struct lull_ftrace_task *task = ((const struct watch *)tracker)->model->slots->pdata[i];
    if (!task || (!task->slot.since && !task->slot.ran)) {
        return false;
    }
    *slot = task->slot;
    return true;
}

static uint64_t turn(struct lull_tracker *tracker)
{
    struct lull_ftrace_model *model = ((struct watch *)tracker)->model;
    model->from_ns = model->now;
    return model->now;
}

static bool ended(struct lull_tracker *tracker,
                  void (*add)(void *user, uint32_t pid, const struct lull_track_ended *ended),
                  void *user, GError **error)
{
    lull_ftrace_ended(((const struct watch *)tracker)->model, add, user);
    return true;
}

static const struct lull_live_slots slots = {
    .count = count_slots,
    .get = get_slot,
    .turn = turn,
    .ended = ended,
};

const struct lull_live_kind lull_live_ftrace = {
    .name = "ftrace",
    .unseen =
        "stacks of wakers and programs, which packet of UDP woke a task, sockets, marks, locks and work of the kernel",
    .has_alarms = true,
    .lacks = find_lacks,
    .start = start,
    .fd = fd_of,
    .take = take,
    .finish = finish,
    .govern = govern,
    .count = count,
    .histograms = histograms,
    .chains = chains,
    .sum = sum,
    .slots = &slots,
    .free = free_watch,
};
