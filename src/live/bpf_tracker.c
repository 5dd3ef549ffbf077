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
#include <unistd.h>

#include "base/time.h"
#include "live/bpf_programs.h"
#include "live/groups.h"
#include "live/marks.h"
#include "live/timeouts.h"
#include "record/tasks.h"
#include "wait_object.h"

/* A slot that changes while it is copied is copied again, so often; and while its task ends. */
#define TRIES 8
#define ENDING_TRIES 10000

/* Those whose end may never be seen. */
#define LOOSE                                                                                      \
    (1u << LULL_TRACK_NETTX | 1u << LULL_TRACK_NETRX | 1u << LULL_TRACK_WORK |                     \
     1u << LULL_TRACK_EXEC)

/* Waits that are shorter matter to nobody, until the overhead is too much; then longer ones too. */
#define LEAST_NS 100000
#define MOST_LEAST_NS 10000000

/* As in bpf/wait.bpf.c. */
struct limit {
    uint64_t threshold_ns, window, spent;
    uint64_t group[LULL_TRACK_HIERARCHIES];
};

struct lull_bpf_tracker {
    struct lull_tracker tracker;
    struct lull_tracker_question question;
    struct lull_sums *sums; /* of has_sums */
    struct bpf_object *object;
    struct lull_bpf_programs programs;
    struct lull_marks *marks; /* or NULL */
    struct ring_buffer *ring;
    volatile struct limit *limits; /* shared with the programs */
    volatile struct lull_track_governed *governed;
    struct lull_track_slot *slots;  /* with sums or time-outs; else NULL */
    struct lull_timeouts *timeouts; /* or NULL */
    uint32_t n_slots;
    struct lull_tracker_counts counts; /* what is counted here */
    struct lull_bpf_cost *cost;
    struct {
        int64_t at_ns;
        uint64_t switches;
        double now,
            counted; /* a second: lately, and when the cost was counted last; 0: not known */
    } rate;
    struct lull_groups *groups;
    char *group[LULL_TRACK_RULES]; /* that the rule is only about; or NULL */
};

static int64_t now_ns(void)
{
    return g_get_monotonic_time() * 1000;
}

/* ---- starting ---- */

/* A response starts with the interrupt, which only the chain has. */
static bool needs_chains(const struct lull_tracker_question *question)
{
    bool needs = false;
    for (uint32_t i = 0; i < question->n_rules; i++) {
        needs |= question->rules[i]->kind->measure == LULL_TRACK_RESPONSE;
    }
    return needs;
}

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

/* The number of a group, which has another one when it was made anew. In one that there is not is no task. */
static void find_group(const struct lull_bpf_tracker *tracker, uint32_t i,
                       volatile struct limit *limit)
{
    uint64_t id[LULL_TRACK_HIERARCHIES] = {0};
    if (tracker->group[i]) {
        lull_groups_find(tracker->groups, tracker->group[i], id);
        for (uint32_t k = 0; k < LULL_TRACK_HIERARCHIES; k++) {
            limit->group[k] = id[k] ? id[k] : limit->group[k] ? limit->group[k] : UINT64_MAX;
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
        return lull_bpf_refuse(error, "the program's own eBPF object is damaged");
    }
    *config = (struct lull_track_config){
        .n_rules = question->n_rules,
        .slot_mask = tracker->n_slots - 1,
        .self = lull_tasks_are_global() ? (uint32_t)getpid() : UINT32_MAX,
        .command = question->command,
        .has_prev_state = lull_bpf_arguments(kernel, "sched_switch") >= 4,
        .measures = lull_bpf_measures(question),
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
        tracker->group[i] = lull_track_rule_group(question->rules[i]);
        find_group(tracker, i, &limits[i]);
        if (config->rule[i].measure < LULL_TRACK_SYSCALL) {
            config->least_ns = MIN(config->least_ns, config->rule[i].threshold_ns);
        }
    }
    governed->least_ns = tracker->counts.least_ns;
    governed->without_chains = question->has_histograms && !needs_chains(question);
    leave_out(tracker, "user_stacks", stacks & LULL_TRACK_USER_STACK);
    leave_out(tracker, "waker_stacks", stacks & LULL_TRACK_WAKER_STACK);
    leave_out(tracker, "loose_spans", config->measures & LOOSE);
    leave_out(tracker, "irq_threads", needs_chains(question));
    leave_out(tracker, "past", config->has_served);
    leave_out(tracker, "no_past", config->has_served);
    set_entries(tracker, "slots", tracker->n_slots);
    if (!config->has_sums) {
        set_entries(tracker, "chains", 1);
    }
    if (!question->has_sums) {
        set_entries(tracker, "ended_tasks", 1);
    }
    if (question->n_rules ==
        0) { /* nothing is reported, and all of it is in this process's memory */
        set_entries(tracker, "alarms", (uint32_t)page_size());
    }
    bpf_program__set_autoload(bpf_object__find_program_by_name(tracker->object, "found"),
                              question->has_sums);
    return true;
}

static bool choose(struct lull_bpf_tracker *tracker, const struct btf *kernel, GError **error)
{
    const uint32_t measures = lull_bpf_measures(&tracker->question);
    lull_marks_prepare(tracker->object, measures & 1u << LULL_TRACK_MARK);
    return lull_bpf_programs_choose(&tracker->programs, tracker->object, kernel, measures, error);
}

static bool load(struct lull_bpf_tracker *tracker, GError **error)
{
    struct bpf_object_open_opts options = {.sz = sizeof options, .object_name = "lull_wait"};
    struct btf *kernel = lull_bpf_types(error);
    if (!kernel) {
        return false;
    }
    tracker->object = bpf_object__open_mem(wait_bpf_o, sizeof wait_bpf_o, &options);
    const bool is_ready =
        tracker->object
            ? choose(tracker, kernel, error) && configure(tracker, kernel, error)
            : lull_bpf_refuse_errno(error, "cannot open the program's eBPF object", errno);
    btf__free(kernel);
    const int why = is_ready ? -bpf_object__load(tracker->object) : 0;
    if (why) {
        return lull_bpf_refuse_errno(error, "cannot load the eBPF programs", why);
    }
    return is_ready;
}

static bool attach(struct lull_bpf_tracker *tracker, GError **error)
{
    if (!lull_bpf_programs_attach(&tracker->programs, error)) {
        return false;
    }
    if (tracker->question.has_sums) {
        lull_bpf_programs_run(tracker->object, "found");
    }
    if (lull_bpf_measures(&tracker->question) & 1u << LULL_TRACK_MARK) {
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

/* The control group of the alarm's task. One that the rule is only about may be gone since. */
static const char *find_group_of(const struct lull_bpf_tracker *tracker,
                                 const struct lull_track_record *record)
{
    const volatile struct limit *limit = &tracker->limits[record->rule];
    const char *group = lull_groups_path(tracker->groups, record->group);
    for (uint32_t i = 0; !group && tracker->group[record->rule] && i < LULL_TRACK_HIERARCHIES;
         i++) {
        group = record->group[i] == limit->group[i] ? tracker->group[record->rule] : NULL;
    }
    return group ? group : lull_groups_of_task(tracker->groups, record->tid);
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
    alarm.group = find_group_of(tracker, alarm.record);
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
        return lull_bpf_refuse_errno(error, "cannot share memory with the programs", errno);
    }
    tracker->cost = lull_bpf_programs_cost(&tracker->programs);
    return attach(tracker, error);
}

static void free_tracker(struct lull_tracker *base)
{
    struct lull_bpf_tracker *tracker = (struct lull_bpf_tracker *)base;
    lull_bpf_programs_detach(&tracker->programs);
    lull_marks_free(tracker->marks);
    lull_bpf_cost_free(tracker->cost);
    unshare_memory(tracker->limits, page_size());
    unshare_memory(tracker->governed, page_size());
    unshare_memory(tracker->slots, slots_size(tracker));
    lull_sums_free(tracker->sums);
    lull_timeouts_free(tracker->timeouts);
    lull_groups_free(tracker->groups);
    for (uint32_t i = 0; i < LULL_TRACK_RULES; i++) {
        g_free(tracker->group[i]);
    }
    ring_buffer__free(tracker->ring);
    bpf_object__close(tracker->object);
    g_free(tracker);
}

/* The kernel has its own numbers of tasks, which in a container are not those of /proc. */
static bool check_numbers(const struct lull_tracker_question *question, GError **error)
{
    bool has_numbers = question->command;
    for (uint32_t i = 0; i < question->n_rules; i++) {
        has_numbers |= lull_track_rule_names(question->rules[i], LULL_TRACK_PID_NAME) ||
                       lull_track_rule_names(question->rules[i], LULL_TRACK_TID_NAME);
    }
    return !has_numbers || lull_tasks_are_global() ||
           lull_bpf_refuse(error, "in a container with its own process ids, eBPF sees those of the "
                                  "host: leave out the command, and pid and tid in filters, or run "
                                  "lull on the host");
}

static struct lull_tracker *start_tracker(const struct lull_tracker_question *question,
                                          GError **error)
{
    if (!check_numbers(question, error)) {
        return NULL;
    }
    struct lull_bpf_tracker *tracker = g_new0(struct lull_bpf_tracker, 1);
    libbpf_set_print(NULL); /* what goes wrong is said below, in one line */
    tracker->tracker.kind = &lull_live_bpf;
    tracker->question = *question;
    tracker->groups = lull_groups_new();
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
    return taken >= 0 || lull_bpf_refuse_errno(error, "cannot read the ring buffer", -taken);
}

/* Without rules, which may be about that. */
static bool can_be_blind(const struct lull_tracker_question *question)
{
    return question->has_sums && question->n_rules == 0;
}

/* Interrupts are counted with sums. */
static uint32_t other_measures(const struct lull_bpf_tracker *tracker)
{
    const struct lull_tracker_question *question = &tracker->question;
    const bool has_sums = question->has_sums || question->has_metrics;
    return lull_bpf_measures(question) |
           (has_sums ? 1u << LULL_TRACK_IRQ | 1u << LULL_TRACK_SOFTIRQ : 0);
}

/* Sums first name fewer waits; then nobody is named; then nobody is seen to be woken. */
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
    if (!counts->has_no_chains) {
        if (!tracker->question.has_histograms && !needs_chains(&tracker->question)) {
            tracker->governed->without_chains = 1;
            counts->has_no_chains = true;
            lull_bpf_programs_give_up(&tracker->programs, LULL_BPF_NAMES_WAKERS,
                                      other_measures(tracker));
            lull_bpf_cost_hurry(tracker->cost);
        }
        return;
    }
    if (can_be_blind(&tracker->question) && !counts->has_no_wakings) {
        tracker->governed->without_wakings = 1;
        counts->has_no_wakings = true;
        lull_bpf_programs_give_up(&tracker->programs, LULL_BPF_SEES_WAKING,
                                  other_measures(tracker));
        lull_bpf_cost_hurry(tracker->cost);
    }
}

static void govern(struct lull_tracker *base)
{
    struct lull_bpf_tracker *tracker = (struct lull_bpf_tracker *)base;
    const int64_t now = now_ns();
    for (uint32_t i = 0; i < tracker->question.n_rules; i++) {
        find_group(tracker, i, &tracker->limits[i]);
    }
    if (tracker->sums) {
        lull_sums_gather(tracker->sums);
    }
    if (tracker->timeouts) {
        lull_timeouts_scan(tracker->timeouts, base, now, &tracker->counts);
    }
    struct lull_track_counts counts = {0};
    if (lull_bpf_cost_is_due(tracker->cost, now) && lull_bpf_counts(tracker, &counts)) {
        lull_bpf_cost_expect(tracker->cost, now, counts.switches, tracker->question.most_overhead);
    }
    if (lull_bpf_cost_look(tracker->cost, now, &tracker->counts.overhead) &&
        tracker->counts.overhead > tracker->question.most_overhead) {
        cost_less(tracker);
    }
}

static bool count(struct lull_tracker *base, struct lull_tracker_counts *counts, GError **error)
{
    const struct lull_bpf_tracker *tracker = (const struct lull_bpf_tracker *)base;
    *counts = tracker->counts;
    if (!lull_bpf_counts(tracker, &counts->kernel)) {
        return lull_bpf_refuse_errno(error, "cannot read the counters", errno);
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
    const size_t size = offsetof(struct lull_track_slot, irq);
    const struct lull_track_slot *from = &tracker->slots[i];
    struct lull_track_slot again;
    if (*(const volatile uint32_t *)&from->tid == 0) {
        return false;
    }
    memcpy(slot, from, size);
    for (int tries = 0, ending = 0; tries < TRIES && ending < ENDING_TRIES;) {
        __sync_synchronize();
        memcpy(&again, from, size);
        const bool is_same = memcmp(slot, &again, size) == 0;
        const bool is_ending = again.tid != 0 && again.flags & LULL_TRACK_IS_ENDING;
        if (is_same && !is_ending) {
            break;
        }
        memcpy(slot, &again, size);
        tries += !is_ending;
        ending += is_ending;
    }
    return slot->tid != 0 && slot->start_time != 0;
}

/* ---- the kind ---- */

static bool histograms(const struct lull_tracker *base, struct lull_track_histograms *all,
                       GError **error)
{
    const struct lull_bpf_tracker *tracker = (const struct lull_bpf_tracker *)base;
    const uint64_t interval = tracker->governed->interval++; /* which nobody writes to any more */
    return lull_bpf_histograms(tracker, interval, all, error);
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
    .lacks = lull_bpf_lacks,
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
