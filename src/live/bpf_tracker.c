/* SPDX-License-Identifier: MIT */
/* The tracker over eBPF: loads bpf/wait.bpf.c, which is part of this program, attaches it to tracepoints,
 * and reads its ring buffer and counters. All of it ends with the process: nothing is pinned. */
#include "live/bpf_tracker.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/time.h"
#include "live/bpf_cost.h"
#include "live/marks.h"
#include "live/timeouts.h"
#include "wait_object.h"

/* A slot that changes while it is copied is copied again, so often. */
#define TRIES 8

/* Those that measure waits of tasks, and find out whose they are. */
#define WAITS ((1u << LULL_TRACK_SYSCALL) - 1)
#define SOFTIRQS (1u << LULL_TRACK_SOFTIRQ | 1u << LULL_TRACK_RAISE)

/* Those whose end may never be seen. */
#define LOOSE                                                                                      \
    (1u << LULL_TRACK_NETTX | 1u << LULL_TRACK_NETRX | 1u << LULL_TRACK_WORK |                     \
     1u << LULL_TRACK_EXEC)

/* Waits that are shorter matter to nobody, until the overhead is too much; then longer ones too. */
#define LEAST_NS 100000
#define MOST_LEAST_NS 10000000

/* The programs, in the order in which they are attached: the ends of interrupts before their starts, so
 * that no CPU is thought to be in an interrupt for good. */
static const struct program {
    const char *name, *event;
    uint32_t measures; /* bits of those that need it */
    bool is_optional;  /* kernels without that event, or of other architectures, do without */
} programs[] = {
    {"irq_exit", "irq_handler_exit", WAITS | 1u << LULL_TRACK_IRQ, false},
    {"softirq_exit", "softirq_exit", WAITS | SOFTIRQS, false},
    {"timer_exit", "hrtimer_expire_exit", WAITS | 1u << LULL_TRACK_TIMER, false},
    {"work_exit", "irq_work_exit", WAITS, true},
    {"function_exit", "call_function_single_exit", WAITS, true},
    {"irq_entry", "irq_handler_entry", WAITS | 1u << LULL_TRACK_IRQ, false},
    {"softirq_entry", "softirq_entry", WAITS | SOFTIRQS, false},
    {"softirq_raised", "softirq_raise", 1u << LULL_TRACK_RAISE, false},
    {"timer_entry", "hrtimer_expire_entry", WAITS | 1u << LULL_TRACK_TIMER, false},
    {"work_entry", "irq_work_entry", WAITS, true},
    {"function_entry", "call_function_single_entry", WAITS, true},
    {"disk_merged", "block_rq_merge", 1u << LULL_TRACK_QUEUE, false},
    {"disk_queued", "block_rq_insert", 1u << LULL_TRACK_QUEUE, false},
    {"disk_issued", "block_rq_issue", 1u << LULL_TRACK_BLOCK | 1u << LULL_TRACK_QUEUE, false},
    {"disk_done", "block_rq_complete", WAITS | 1u << LULL_TRACK_BLOCK, false},
    {"data_ready", "sk_data_ready", WAITS, true},
    {"tcp_received", "tcp_probe", WAITS, true},
    {"started", "sched_wakeup_new", WAITS, false},
    {"waking", "sched_waking", WAITS, false},
    {"switched", "sched_switch", WAITS, false},
    {"socket_changed", "inet_sock_set_state", 1u << LULL_TRACK_CONNECT | 1u << LULL_TRACK_TTFB,
     false},
    {"socket_sent", "sock_send_length",
     1u << LULL_TRACK_TTFB | 1u << LULL_TRACK_SERVE | 1u << LULL_TRACK_ASK, false},
    {"socket_received", "sock_recv_length", 1u << LULL_TRACK_SERVE | 1u << LULL_TRACK_ASK, false},
    {"packet_queued", "net_dev_queue", 1u << LULL_TRACK_NETTX, false},
    {"packet_sent", "net_dev_start_xmit", 1u << LULL_TRACK_NETTX, false},
    {"packet_received", "netif_receive_skb", 1u << LULL_TRACK_NETRX, false},
    {"packet_read", "skb_copy_datagram_iovec", 1u << LULL_TRACK_NETRX, false},
    {"work_queued", "workqueue_queue_work", 1u << LULL_TRACK_WORK, false},
    {"work_started", "workqueue_execute_start", 1u << LULL_TRACK_WORK, false},
    {"lock_wanted", "contention_begin", 1u << LULL_TRACK_LOCK, false},
    {"lock_taken", "contention_end", 1u << LULL_TRACK_LOCK, false},
    {"reclaim_started", "mm_vmscan_direct_reclaim_begin", 1u << LULL_TRACK_RECLAIM, false},
    {"reclaim_ended", "mm_vmscan_direct_reclaim_end", 1u << LULL_TRACK_RECLAIM, false},
    {"group_reclaim_started", "mm_vmscan_memcg_reclaim_begin", 1u << LULL_TRACK_RECLAIM, true},
    {"group_reclaim_ended", "mm_vmscan_memcg_reclaim_end", 1u << LULL_TRACK_RECLAIM, true},
    {"exec_started", "sched_prepare_exec", 1u << LULL_TRACK_EXEC, false},
    {"exec_ended", "sched_process_exec", 1u << LULL_TRACK_EXEC, false},
    {"call_ended", "sys_exit", 1u << LULL_TRACK_SYSCALL, false},
    {"call_started", "sys_enter", 1u << LULL_TRACK_SYSCALL, false},
};

enum { N_PROGRAMS = G_N_ELEMENTS(programs) };

/* As in bpf/wait.bpf.c. */
struct limit {
    uint64_t threshold_ns, window, spent;
};

struct lull_bpf_tracker {
    struct lull_tracker tracker;
    struct lull_tracker_question question;
    struct lull_sums *sums; /* of has_sums */
    struct bpf_object *object;
    struct bpf_program *program[N_PROGRAMS];
    struct bpf_link *link[N_PROGRAMS]; /* NULL: not attached */
    struct bpf_program *entered;       /* does nothing; NULL: this kernel has no event for it */
    struct lull_marks *marks;          /* or NULL */
    struct ring_buffer *ring;
    volatile struct limit *limits; /* shared with the programs */
    volatile struct lull_track_governed *governed;
    struct lull_track_slot *slots;  /* with sums or time-outs; else NULL */
    struct lull_timeouts *timeouts; /* or NULL */
    uint32_t n_slots;
    struct lull_tracker_counts counts; /* what is counted here */
    struct lull_bpf_cost *cost;
};

/* ---- what the machine has ---- */

static int64_t now_ns(void)
{
    return g_get_monotonic_time() * 1000;
}

static bool refuse(GError **error, const char *format, ...) G_GNUC_PRINTF(2, 3);

static bool refuse(GError **error, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    g_autofree char *text = g_strdup_vprintf(format, args);
    va_end(args);
    g_set_error(error, LULL_ERROR, LULL_ERROR_UNSUPPORTED, "live tracking: %s", text);
    return false;
}

static bool refuse_errno(GError **error, const char *what, int why)
{
    if (why == EPERM || why == EACCES) {
        return refuse(
            error,
            "%s: %s: run lull as root, or give it CAP_BPF and CAP_PERFMON (an unprivileged "
            "container, a user namespace or kernel lockdown may forbid it even so)",
            what, g_strerror(why));
    }
    return refuse(error, "%s: %s", what, g_strerror(why));
}

/* The arguments of a tracepoint; -1: this kernel does not have it. */
static int arguments_of(const struct btf *kernel, const char *event)
{
    g_autofree char *name = g_strconcat("btf_trace_", event, NULL);
    const int id = btf__find_by_name_kind(kernel, name, BTF_KIND_TYPEDEF);
    const struct btf_type *type = id > 0 ? btf__type_by_id(kernel, (uint32_t)id) : NULL;
    type = type ? btf__type_by_id(kernel, type->type) : NULL;
    type = type && btf_is_ptr(type) ? btf__type_by_id(kernel, type->type) : NULL;
    return type && btf_is_func_proto(type) ? btf_vlen(type) - 1 : -1;
}

/* The kernel's types; NULL and an error. */
static struct btf *load_types(GError **error)
{
    struct stat status;
    if (stat("/sys/kernel/btf/vmlinux", &status) != 0) {
        refuse(error, "the kernel does not describe its types (no /sys/kernel/btf/vmlinux): it "
                      "needs Linux 5.15 or later, built with CONFIG_DEBUG_INFO_BTF");
        return NULL;
    }
    struct btf *kernel = btf__load_vmlinux_btf();
    if (!kernel) {
        refuse_errno(error, "cannot read /sys/kernel/btf/vmlinux", errno);
    }
    return kernel;
}

/* A measure, and what else has to be measured for it. */
static uint32_t measures_for(enum lull_track_measure measure)
{
    /* Slots of tasks that have ended are freed by the programs of waits. */
    return 1u << measure | (measure == LULL_TRACK_SYSCALL ? WAITS : 0);
}

static bool find_lacks(const char *lacks[LULL_TRACK_MEASURES], GError **error)
{
    libbpf_set_print(NULL);
    struct btf *kernel = load_types(error);
    if (!kernel) {
        return false;
    }
    memset(lacks, 0, sizeof *lacks * LULL_TRACK_MEASURES);
    for (uint32_t i = 0; i < N_PROGRAMS; i++) {
        const bool is_missing =
            !programs[i].is_optional && arguments_of(kernel, programs[i].event) < 0;
        for (uint32_t m = 0; is_missing && m < LULL_TRACK_MEASURES; m++) {
            if (programs[i].measures & measures_for(m) && !lacks[m]) {
                lacks[m] = programs[i].event;
            }
        }
    }
    if (!lull_marks_are_possible()) {
        lacks[LULL_TRACK_MARK] = "uprobe";
    }
    btf__free(kernel);
    return true;
}

/* What the rules measure; only the programs of waits know who descends from a command. */
static uint32_t measures_of(const struct lull_tracker_question *question)
{
    const bool has_sums = question->has_sums || question->has_metrics;
    const bool has_waits = question->command || question->has_served;
    uint32_t measures = has_sums ? WAITS | 1u << LULL_TRACK_BLOCK : has_waits ? WAITS : 0;
    for (uint32_t i = 0; i < question->n_rules; i++) {
        measures |= measures_for(question->rules[i]->kind->measure);
    }
    return measures;
}

/* A response starts with the interrupt, which only the chain has. */
static bool needs_chains(const struct lull_tracker_question *question)
{
    bool needs = false;
    for (uint32_t i = 0; i < question->n_rules; i++) {
        needs |= question->rules[i]->kind->measure == LULL_TRACK_RESPONSE;
    }
    return needs;
}

/* Leaves out what this kernel does not have, and what no rule needs. */
static bool choose_programs(struct lull_bpf_tracker *tracker, const struct btf *kernel,
                            GError **error)
{
    const uint32_t measures = measures_of(&tracker->question);
    lull_marks_prepare(tracker->object, measures & 1u << LULL_TRACK_MARK);
    tracker->entered = bpf_object__find_program_by_name(tracker->object, "entered");
    if (arguments_of(kernel, "itimer_state") < 0) {
        bpf_program__set_autoload(tracker->entered, false);
        tracker->entered = NULL;
    }
    for (uint32_t i = 0; i < N_PROGRAMS; i++) {
        tracker->program[i] = bpf_object__find_program_by_name(tracker->object, programs[i].name);
        const bool is_needed = (programs[i].measures & measures) != 0;
        const bool exists = arguments_of(kernel, programs[i].event) >= 0;
        if (is_needed && exists) {
            continue;
        }
        if (is_needed && !programs[i].is_optional) {
            return refuse(error, "the kernel has no tracepoint %s", programs[i].event);
        }
        bpf_program__set_autoload(tracker->program[i], false);
        tracker->program[i] = NULL;
    }
    return true;
}

/* ---- starting ---- */

/* What a section of the object starts with; copied into the kernel by load(). */
static void *section_of(const struct lull_bpf_tracker *tracker, const char *name, size_t least)
{
    size_t size = 0;
    const struct bpf_map *map = bpf_object__find_map_by_name(tracker->object, name);
    void *data = map ? (void *)bpf_map__initial_value((struct bpf_map *)map, &size) : NULL;
    return size >= least ? data : NULL;
}

/* The memory of a section that the programs use; NULL, with errno, if it cannot be shared. */
static void *share(const struct lull_bpf_tracker *tracker, const char *name, size_t size)
{
    const int fd = bpf_object__find_map_fd_by_name(tracker->object, name);
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

static void unshare_memory(volatile void *memory, size_t size)
{
    if (memory) {
        munmap((void *)memory, size);
    }
}

static size_t page_size(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

static uint32_t slot_count(void)
{
    g_autofree char *text = NULL;
    guint64 most = LULL_TRACK_MOST_SLOTS;
    uint32_t count = 1024;
    if (g_file_get_contents("/proc/sys/kernel/pid_max", &text, NULL, NULL)) {
        g_ascii_string_to_unsigned(g_strstrip(text), 10, 1, G_MAXINT32, &most, NULL);
    }
    while (count < most && count < LULL_TRACK_MOST_SLOTS) {
        count *= 2;
    }
    return count;
}

static void set_entries(const struct lull_bpf_tracker *tracker, const char *name, uint32_t n)
{
    bpf_map__set_max_entries(bpf_object__find_map_by_name(tracker->object, name), n);
}

static void leave_out(const struct lull_bpf_tracker *tracker, const char *name, bool is_needed)
{
    bpf_map__set_autocreate(bpf_object__find_map_by_name(tracker->object, name), is_needed);
}

/* Which calls are those of futex, and of poll. */
static void configure_calls(struct lull_track_config *config)
{
    for (const struct lull_track_kind *kind = lull_track_kinds; kind->name; kind++) {
        const struct lull_track_rule all = {.kind = kind};
        struct lull_track_kernel_rule compiled;
        lull_track_rule_compile(&all, &compiled);
        for (uint32_t i = 0; kind->calls == LULL_TRACK_LISTED_CALLS && i < compiled.n_calls; i++) {
            config->called[compiled.call[i]] = (uint8_t)(1 + kind->called);
        }
    }
}

static bool configure(struct lull_bpf_tracker *tracker, const struct btf *kernel, GError **error)
{
    const struct lull_tracker_question *question = &tracker->question;
    struct lull_track_config *config = section_of(tracker, ".rodata.config", sizeof *config);
    struct limit *limits = section_of(tracker, ".data.limits", sizeof *limits * LULL_TRACK_RULES);
    struct lull_track_governed *governed = section_of(tracker, ".data.governed", sizeof *governed);
    const uint32_t stacks = question->stacks ? question->stacks : LULL_TRACK_KERNEL_STACK;
    tracker->n_slots = slot_count();
    if (!governed || !config || !limits) {
        return refuse(error, "the program's own eBPF object is damaged");
    }
    *config =
        (struct lull_track_config){.n_rules = question->n_rules,
                                   .slot_mask = tracker->n_slots - 1,
                                   .self = (uint32_t)getpid(),
                                   .command = question->command,
                                   .has_prev_state = arguments_of(kernel, "sched_switch") >= 4,
                                   .measures = measures_of(question),
                                   .has_sums = question->has_sums || question->has_metrics,
                                   .has_tasks = question->has_sums,
                                   .has_totals = question->has_metrics,
                                   .has_histograms = question->has_histograms,
                                   .stacks = stacks,
                                   .has_served = question->has_served,
                                   .least_ns = UINT64_MAX};
    configure_calls(config);
    for (uint32_t i = 0; i < question->n_rules; i++) {
        lull_track_rule_compile(question->rules[i], &config->rule[i]);
        limits[i].threshold_ns = config->rule[i].threshold_ns;
        if (config->rule[i].measure < LULL_TRACK_SYSCALL) {
            config->least_ns = MIN(config->least_ns, config->rule[i].threshold_ns);
        }
    }
    governed->least_ns = tracker->counts.least_ns;
    governed->without_chains = question->has_histograms && !needs_chains(question);
    leave_out(tracker, "user_stacks", stacks & LULL_TRACK_USER_STACK);
    leave_out(tracker, "waker_stacks", stacks & LULL_TRACK_WAKER_STACK);
    leave_out(tracker, "loose_spans", config->measures & LOOSE);
    leave_out(tracker, "past", config->has_served);
    leave_out(tracker, "no_past", config->has_served);
    set_entries(tracker, "slots", tracker->n_slots);
    if (!config->has_sums) {
        set_entries(tracker, "chains", 1);
    }
    if (!question->has_sums) {
        set_entries(tracker, "ended_tasks", 1);
    }
    return true;
}

static bool load(struct lull_bpf_tracker *tracker, GError **error)
{
    struct bpf_object_open_opts options = {.sz = sizeof options, .object_name = "lull_wait"};
    struct btf *kernel = load_types(error);
    if (!kernel) {
        return false;
    }
    tracker->object = bpf_object__open_mem(wait_bpf_o, sizeof wait_bpf_o, &options);
    const bool is_ready =
        tracker->object
            ? choose_programs(tracker, kernel, error) && configure(tracker, kernel, error)
            : refuse_errno(error, "cannot open the program's eBPF object", errno);
    btf__free(kernel);
    const int why = is_ready ? -bpf_object__load(tracker->object) : 0;
    if (why) {
        return refuse_errno(error, "cannot load the eBPF programs", why);
    }
    return is_ready;
}

static void prepare_cost(struct lull_bpf_tracker *tracker)
{
    int fds[N_PROGRAMS];
    uint32_t n = 0;
    for (uint32_t i = 0; i < N_PROGRAMS; i++) {
        if (tracker->program[i]) {
            fds[n++] = bpf_program__fd(tracker->program[i]);
        }
    }
    tracker->cost = lull_bpf_cost_new(fds, n);
    if (tracker->entered) {
        lull_bpf_cost_calibrate(tracker->cost, tracker->entered);
    }
}

static bool attach(struct lull_bpf_tracker *tracker, GError **error)
{
    for (uint32_t i = 0; i < N_PROGRAMS; i++) {
        if (!tracker->program[i]) {
            continue;
        }
        tracker->link[i] = bpf_program__attach(tracker->program[i]);
        if (!tracker->link[i]) {
            g_autofree char *what = g_strdup_printf("cannot attach to %s", programs[i].event);
            return refuse_errno(error, what, errno);
        }
    }
    if (measures_of(&tracker->question) & 1u << LULL_TRACK_MARK) {
        tracker->marks = lull_marks_attach(tracker->object, tracker->question.marks, error);
        return tracker->marks != NULL;
    }
    return true;
}

/* What the task that read a slow request did meanwhile. */
static bool find_served(const struct lull_bpf_tracker *tracker,
                        const struct lull_track_alarm *alarm, struct lull_served *served)
{
    const struct lull_track_record *record = alarm->record;
    if (!tracker->question.has_served || alarm->rule->kind->measure != LULL_TRACK_SERVE ||
        record->hop[0].c & LULL_TRACK_CONNECTION_HANDED) {
        return false;
    }
    g_autofree struct lull_track_past *past = g_new(struct lull_track_past, 1);
    const int map = bpf_object__find_map_fd_by_name(tracker->object, "past");
    if (bpf_map_lookup_elem(map, &record->tid, past) != 0) {
        return false;
    }
    lull_served_sum(past, alarm->start_ns, alarm->end_ns, served);
    return true;
}

static int take_record(void *user, void *data, size_t size)
{
    struct lull_bpf_tracker *tracker = user;
    const struct lull_tracker_question *question = &tracker->question;
    struct lull_track_alarm alarm;
    if (!lull_track_alarm_read(data, size, question->rules, question->n_rules, &alarm)) {
        tracker->counts.damaged++;
        return 0;
    }
    if (!lull_track_alarm_is_wanted(&alarm)) {
        tracker->counts.filtered++;
        return 0;
    }
    if (alarm.rule->is_worst) {
        volatile struct limit *limit = &tracker->limits[alarm.record->rule];
        const uint64_t took_ns = (uint64_t)(alarm.end_ns - alarm.start_ns);
        if (took_ns <= limit->threshold_ns) {
            tracker->counts.not_worst++;
            return 0;
        }
        limit->threshold_ns = took_ns;
    }
    struct lull_served served;
    alarm.served = find_served(tracker, &alarm, &served) ? &served : NULL;
    question->alarm(question->user, &alarm);
    return 0;
}

/* As the kernel has it: whole pages. */
static size_t slots_size(const struct lull_bpf_tracker *tracker)
{
    const size_t page = page_size();
    return (tracker->n_slots * sizeof *tracker->slots + page - 1) / page * page;
}

static bool start(struct lull_bpf_tracker *tracker, GError **error)
{
    if (!load(tracker, error)) {
        return false;
    }
    tracker->limits = share(tracker, ".data.limits", page_size());
    tracker->governed = share(tracker, ".data.governed", page_size());
    tracker->timeouts = lull_timeouts_new(&tracker->question, tracker->n_slots);
    const bool has_slots = tracker->question.has_sums || tracker->timeouts;
    if (has_slots) {
        tracker->slots = share(tracker, "slots", slots_size(tracker));
    }
    const int alarms = bpf_object__find_map_fd_by_name(tracker->object, "alarms");
    tracker->ring = ring_buffer__new(alarms, take_record, tracker, NULL);
    if (!tracker->ring || !tracker->limits || !tracker->governed ||
        (has_slots && !tracker->slots)) {
        return refuse_errno(error, "cannot share memory with the programs", errno);
    }
    prepare_cost(tracker);
    return attach(tracker, error);
}

static void free_tracker(struct lull_tracker *base)
{
    struct lull_bpf_tracker *tracker = (struct lull_bpf_tracker *)base;
    for (uint32_t i = N_PROGRAMS; i-- > 0;) {
        bpf_link__destroy(tracker->link[i]);
    }
    lull_marks_free(tracker->marks);
    lull_bpf_cost_free(tracker->cost);
    unshare_memory(tracker->limits, page_size());
    unshare_memory(tracker->governed, page_size());
    unshare_memory(tracker->slots, slots_size(tracker));
    lull_sums_free(tracker->sums);
    lull_timeouts_free(tracker->timeouts);
    ring_buffer__free(tracker->ring);
    bpf_object__close(tracker->object);
    g_free(tracker);
}

static struct lull_tracker *start_tracker(const struct lull_tracker_question *question,
                                          GError **error)
{
    struct lull_bpf_tracker *tracker = g_new0(struct lull_bpf_tracker, 1);
    libbpf_set_print(NULL); /* what goes wrong is said below, in one line */
    tracker->tracker.kind = &lull_live_bpf;
    tracker->question = *question;
    tracker->counts.overhead = -1;
    tracker->counts.least_ns = LEAST_NS;
    if (start(tracker, error)) {
        tracker->sums = question->has_sums ? lull_sums_new(&tracker->tracker) : NULL;
        return &tracker->tracker;
    }
    free_tracker(&tracker->tracker);
    return NULL;
}

/* ---- running ---- */

static int fd_of(const struct lull_tracker *base)
{
    const struct lull_bpf_tracker *tracker = (const struct lull_bpf_tracker *)base;
    return ring_buffer__epoll_fd(tracker->ring);
}

static bool take(struct lull_tracker *base, GError **error)
{
    const struct lull_bpf_tracker *tracker = (const struct lull_bpf_tracker *)base;
    const int taken = ring_buffer__consume(tracker->ring);
    return taken >= 0 || refuse_errno(error, "cannot read the ring buffer", -taken);
}

/* Sums first name fewer waits; then nobody is named. */
static void cost_less(struct lull_bpf_tracker *tracker)
{
    struct lull_tracker_counts *counts = &tracker->counts;
    const bool has_sums = tracker->question.has_sums || tracker->question.has_metrics;
    if (has_sums && counts->least_ns < MOST_LEAST_NS) {
        counts->least_ns = MIN(2 * counts->least_ns, MOST_LEAST_NS);
        tracker->governed->least_ns = counts->least_ns;
        lull_bpf_cost_hurry(tracker->cost);
        return;
    }
    if (!tracker->question.has_histograms && !needs_chains(&tracker->question)) {
        tracker->governed->without_chains = 1;
        counts->has_no_chains = true;
    }
}

static void govern(struct lull_tracker *base)
{
    struct lull_bpf_tracker *tracker = (struct lull_bpf_tracker *)base;
    const int64_t now = now_ns();
    if (tracker->timeouts) {
        lull_timeouts_scan(tracker->timeouts, base, now, &tracker->counts);
    }
    if (lull_bpf_cost_look(tracker->cost, now, &tracker->counts.overhead) &&
        tracker->counts.overhead > tracker->question.most_overhead) {
        cost_less(tracker);
    }
}

static void add_counts(struct lull_track_counts *sum, const struct lull_track_counts *one)
{
    uint64_t *to = (uint64_t *)sum;
    const uint64_t *from = (const uint64_t *)one;
    for (size_t i = 0; i < sizeof *sum / sizeof *to; i++) {
        to[i] += from[i];
    }
}

static bool count(struct lull_tracker *base, struct lull_tracker_counts *counts, GError **error)
{
    const struct lull_bpf_tracker *tracker = (const struct lull_bpf_tracker *)base;
    const uint32_t zero = 0;
    const int n_cpus = libbpf_num_possible_cpus();
    g_autofree struct lull_track_counts *all =
        g_new0(struct lull_track_counts, n_cpus > 0 ? n_cpus : 1);
    const int map = bpf_object__find_map_fd_by_name(tracker->object, "counts");
    *counts = tracker->counts;
    if (n_cpus <= 0 || bpf_map_lookup_elem(map, &zero, all) != 0) {
        return refuse_errno(error, "cannot read the counters", errno);
    }
    for (int i = 0; i < n_cpus; i++) {
        add_counts(&counts->kernel, &all[i]);
    }
    counts->missed = lull_bpf_cost_missed(tracker->cost);
    return true;
}

/* ---- sums ---- */

int lull_bpf_map(const struct lull_bpf_tracker *tracker, const char *name)
{
    return bpf_object__find_map_fd_by_name(tracker->object, name);
}

static uint64_t turn(struct lull_tracker *base)
{
    const uint64_t now = (uint64_t)now_ns();
    ((struct lull_bpf_tracker *)base)->governed->from_ns = now;
    return now;
}

static uint32_t slot_number(const struct lull_tracker *base)
{
    return ((const struct lull_bpf_tracker *)base)->n_slots;
}

static bool get_slot(const struct lull_tracker *base, uint32_t i, struct lull_track_slot *slot)
{
    const struct lull_bpf_tracker *tracker = (const struct lull_bpf_tracker *)base;
    const size_t size = offsetof(struct lull_track_slot, spare);
    const struct lull_track_slot *from = &tracker->slots[i];
    struct lull_track_slot again;
    if (*(const volatile uint32_t *)&from->tid == 0) {
        return false;
    }
    memcpy(slot, from, size);
    for (int tries = 0; tries < TRIES; tries++) {
        __sync_synchronize();
        memcpy(&again, from, size);
        if (memcmp(slot, &again, size) == 0) {
            break;
        }
        memcpy(slot, &again, size);
    }
    return slot->tid != 0 && slot->start_time != 0;
}

/* ---- the kind ---- */

static bool histograms(const struct lull_tracker *tracker, struct lull_track_histograms *before,
                       struct lull_track_histograms *since, GError **error)
{
    return lull_bpf_histograms((const struct lull_bpf_tracker *)tracker, before, since, error);
}

static bool chains(const struct lull_tracker *tracker, GArray *chains, GError **error)
{
    return lull_bpf_chains((const struct lull_bpf_tracker *)tracker, chains, error);
}

static bool sum(struct lull_tracker *tracker, struct lull_interval *interval, GError **error)
{
    return lull_sums_take(((struct lull_bpf_tracker *)tracker)->sums, interval, error);
}

static bool ended(struct lull_tracker *tracker,
                  void (*add)(void *user, uint32_t pid, const struct lull_track_ended *ended),
                  void *user, GError **error)
{
    return lull_bpf_ended((const struct lull_bpf_tracker *)tracker, add, user, error);
}

static const struct lull_live_slots slots = {
    .count = slot_number,
    .get = get_slot,
    .turn = turn,
    .ended = ended,
};

const struct lull_live_kind lull_live_bpf = {
    .name = "bpf",
    .has_alarms = true,
    .lacks = find_lacks,
    .start = start_tracker,
    .fd = fd_of,
    .take = take,
    .govern = govern,
    .count = count,
    .histograms = histograms,
    .chains = chains,
    .sum = sum,
    .slots = &slots,
    .free = free_tracker,
};
