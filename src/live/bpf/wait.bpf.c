/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Sees every wait of every task: when it went, who woke it, when it ran again. What is longer than a rule
 * allows is reported with the chain of its wakers. Only tracepoints are used (tp_btf); the fast path, a
 * wait that is short enough, touches one cache line of each task. */
#include "disks.bpf.h"
#include "found.bpf.h"
#include "interrupts.bpf.h"
#include "kernel_work.bpf.h"
#include "marks.bpf.h"
#include "packets.bpf.h"
#include "served.bpf.h"
#include "sockets.bpf.h"
#include "stacks.bpf.h"
#include "sums.bpf.h"
#include "wakers.bpf.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* ---- wakers ---- */

SEC("tp_btf/sched_waking")
int BPF_PROG(waking, const struct task_struct *task)
{
    struct lull_track_slot *slot = slot_find(task->pid);
    if (!slot) {
        return 0;
    }
    const uint64_t now = bpf_ktime_get_ns();
    const uint32_t left_by = slot->since && slot->woken ? LEFT_BY_NONE : find_left_by(task);
    if (slot->since == 0) { /* it may be about to leave the CPU: the next switch will tell */
        keep_early(slot->tid, now, left_by);
        slot->early_ns = now;
        slot->flags &= ~LULL_TRACK_WAS_QUEUED;
        slot->flags |= task->on_rq ? LULL_TRACK_WAS_QUEUED : 0;
    } else if (slot->woken == 0) {
        explain(slot->hop, left_by);
        slot->begin = now;
        slot->woken = now;
    } else {
        return 0;
    }
    if (has_responses()) {
        note_cause(slot, task, left_by);
    }
    if (slot->woken == now) {
        if (config.stacks & LULL_TRACK_WAKER_STACK && now - slot->since > config.least_ns &&
            is_followed(slot)) {
            keep_stack(ctx, &waker_stacks, slot->tid, now, 0);
        }
    }
    return 0;
}

SEC("tp_btf/sched_wakeup_new")
int BPF_PROG(started, const struct task_struct *task)
{
    struct lull_track_slot *slot = slot_of(task);
    if (!slot) {
        return 0;
    }
    explain(slot->hop, LEFT_BY_NONE);
    slot->irq = 0;
    slot->since = slot->woken = slot->begin = bpf_ktime_get_ns();
    slot->state = 0;
    slot->flags |= LULL_TRACK_IS_NEW;
    if (config.command) {
        const uint32_t parent_tid = (uint32_t)bpf_get_current_pid_tgid();
        const struct lull_track_slot *parent = slot_find(parent_tid);
        if (parent_tid == config.command || (parent && parent->flags & LULL_TRACK_IS_FOLLOWED)) {
            slot->flags |= LULL_TRACK_IS_FOLLOWED;
        }
    }
    return 0;
}

/* ---- alarms ---- */

struct ended {
    const struct task_struct *task;
    const struct lull_track_slot *slot;
    uint64_t since, now, woken;
    uint64_t first_argument;
    int32_t call;
    uint32_t flags;
    uint32_t state;
};

/* In which system call the task is: what its saved registers say. */
static __always_inline void find_call(struct ended *wait)
{
    struct task_struct *task = (struct task_struct *)wait->task;
    struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
    struct pt_regs___of_arm64 *arm = (struct pt_regs___of_arm64 *)regs;
    wait->call = LULL_TRACK_NO_CALL;
    wait->first_argument = 0;
    if (wait->flags & LULL_TRACK_IS_KERNEL) {
        return;
    }
    if (bpf_core_field_exists(regs->orig_ax)) {
        wait->call = (int32_t)regs->orig_ax;
        wait->first_argument = regs->di;
        if (bpf_core_field_exists(task->thread_info.status) &&
            (task->thread_info.status & TS_COMPAT)) {
            wait->flags |= LULL_TRACK_IS_COMPAT;
        }
    } else if (bpf_core_field_exists(arm->syscallno)) {
        wait->call = BPF_CORE_READ(arm, syscallno);
        wait->first_argument = BPF_CORE_READ(arm, orig_x0);
    }
    if (wait->call < 0) {
        wait->call = LULL_TRACK_NO_CALL;
    }
}

/* When the interrupt came that woke the task. */
static __always_inline uint64_t response_from(const struct lull_track_slot *slot)
{
    return slot->irq ? slot->irq_ns : slot->hop[0].start_ns;
}

static __always_inline bool is_measured(const volatile struct lull_track_kernel_rule *rule,
                                        const struct ended *wait, uint64_t threshold_ns,
                                        uint64_t *took)
{
    const bool is_new = wait->slot->flags & LULL_TRACK_IS_NEW;
    const uint32_t state = wait->slot->state;
    uint64_t from = wait->slot->since;
    if (rule->measure == LULL_TRACK_RESPONSE) {
        const bool is_by_interrupt =
            wait->slot->hop[0].kind > LULL_TRACK_HOP_TASK || wait->slot->irq;
        if ((!state && !is_new) || !wait->woken || !is_by_interrupt ||
            (rule->has_number && rule->number + 1 != wait->slot->irq)) {
            return false;
        }
        const uint64_t came = response_from(wait->slot);
        from = came > from ? came : from;
    } else if (rule->measure == LULL_TRACK_PREEMPT) {
        if (state || is_new) {
            return false;
        }
    } else if (rule->measure == LULL_TRACK_FORK) {
        if (!is_new) {
            return false;
        }
    } else if (rule->measure == LULL_TRACK_WAKEUP) {
        if ((!state && !is_new) || !wait->woken) {
            return false;
        }
        from = wait->woken;
    } else if (!state || (rule->states && !(rule->states & state))) {
        return false;
    }
    *took = wait->now - from;
    return *took > threshold_ns;
}

static __always_inline bool is_called(const volatile struct lull_track_kernel_rule *rule,
                                      const struct ended *wait)
{
    if (rule->calls == LULL_TRACK_ANY_CALL) {
        return true;
    }
    if (rule->calls == LULL_TRACK_OUTSIDE_CALLS) {
        return wait->call == LULL_TRACK_NO_CALL && !(wait->flags & LULL_TRACK_IS_KERNEL);
    }
    if (wait->flags & LULL_TRACK_IS_COMPAT) {
        return false;
    }
    bool found = false;
    for (uint32_t i = 0; i < LULL_TRACK_CALLS; i++) {
        found |= i < rule->n_calls && rule->call[i] == wait->call;
    }
    return found;
}

static __always_inline bool has_comm(const volatile struct lull_track_test *test,
                                     const struct task_struct *task)
{
    for (uint32_t i = 0; i < LULL_TRACK_COMM; i++) {
        if (test->comm[i] != task->comm[i]) {
            return false;
        }
        if (test->comm[i] == '\0') {
            break;
        }
    }
    return true;
}

static __always_inline bool is_wanted(uint32_t rule_index,
                                      const volatile struct lull_track_kernel_rule *rule,
                                      const struct ended *wait)
{
    const struct task_struct *task = wait->task;
    if (!is_in_group(rule_index, task)) {
        return false;
    }
    for (uint32_t i = 0; i < LULL_TRACK_TESTS && i < rule->n_tests; i++) {
        const volatile struct lull_track_test *test = &rule->test[i];
        uint32_t number;
        if (test->field == LULL_TRACK_TEST_COMM) {
            if (!has_comm(test, task)) {
                return false;
            }
            continue;
        }
        switch (test->field) {
        case LULL_TRACK_TEST_PID:
            number = task->tgid;
            break;
        case LULL_TRACK_TEST_TID:
            number = task->pid;
            break;
        case LULL_TRACK_TEST_UID:
            number = task->cred->uid.val;
            break;
        default:
            number = bpf_get_smp_processor_id();
        }
        if (number != test->number) {
            return false;
        }
    }
    return true;
}

/* Of a task that comes back to the CPU: nothing has happened since it left. */
static __always_inline void report_stacks(const struct ended *wait,
                                          struct lull_track_record *record)
{
    struct lull_track_stack *kernel = &record->kernel;
    if (config.stacks & LULL_TRACK_KERNEL_STACK) {
        kernel->bytes = bpf_get_task_stack((struct task_struct *)wait->task, kernel->frame,
                                           sizeof kernel->frame, 0);
    }
    if (config.stacks & LULL_TRACK_WAKER_STACK) {
        find_stack(&waker_stacks, record->tid, wait->woken, &record->waker);
    }
    if (config.stacks & LULL_TRACK_USER_STACK) {
        find_stack(&user_stacks, record->tid, wait->since, &record->user);
    }
}

/* With a context, of the task that runs. */
static __always_inline void report(void *ctx, uint32_t i, const struct ended *wait,
                                   struct lull_track_counts *count)
{
    struct lull_track_record *record = bpf_ringbuf_reserve(&alarms, sizeof *record, 0);
    const struct task_struct *task = wait->task;
    const struct lull_track_slot *slot = wait->slot;
    if (!record) {
        count->lost[i]++;
        return;
    }
    record->rule = i;
    record->flags = wait->flags & LULL_TRACK_FLAGS;
    record->since_ns = wait->since;
    record->woken_ns = wait->woken;
    record->end_ns = wait->now;
    record->tid = task->pid;
    record->tgid = task->tgid;
    record->uid = task->cred->uid.val;
    record->cpu = bpf_get_smp_processor_id();
    bpf_core_read(record->comm, sizeof record->comm, &task->comm);
    record->call = wait->call;
    record->state = wait->state;
    record->first_argument = wait->first_argument;
    __builtin_memcpy(record->hop, slot->hop, sizeof record->hop);
    record->irq_ns = config.rule[i].measure == LULL_TRACK_RESPONSE ? response_from(slot) : 0;
    record->cookie[0] = '\0';
    record->kernel.bytes = record->waker.bytes = record->user.bytes = 0;
    take_groups(task, record->group);
    if (!ctx) {
        report_stacks(wait, record);
    } else if (config.stacks & LULL_TRACK_USER_STACK) {
        take_stack(ctx, &record->user, BPF_F_USER_STACK);
    }
    bpf_ringbuf_submit(record, 0);
}

/* For metrics: of waits in some calls, and outside of all. */
static __always_inline void observe_called(struct lull_track_histograms *all, struct ended *wait,
                                           uint64_t took)
{
    uint32_t called = LULL_TRACK_IN_FAULT;
    wait->flags = wait->slot->flags;
    find_call(wait);
    const uint32_t call = (uint32_t)wait->call;
    if (wait->flags & (LULL_TRACK_IS_KERNEL | LULL_TRACK_IS_COMPAT)) {
        return;
    }
    if (wait->call != LULL_TRACK_NO_CALL) {
        called = call < LULL_TRACK_MOST_CALL ? config.called[call] - 1u : LULL_TRACK_CALLED;
    }
    if (called < LULL_TRACK_CALLED) {
        observe_in(&all->called[called], took);
    }
}

static __always_inline void judge(struct ended *wait, struct lull_track_counts *count)
{
    wait->flags = wait->slot->flags;
    if ((uint32_t)wait->task->tgid == config.self || !is_followed(wait->slot)) {
        return;
    }
    find_call(wait);
    for (uint32_t i = 0; i < LULL_TRACK_RULES && i < config.n_rules; i++) {
        const volatile struct lull_track_kernel_rule *rule = &config.rule[i];
        uint64_t took;
        if (rule->measure >= LULL_TRACK_SYSCALL ||
            !is_measured(rule, wait, limits[i].threshold_ns, &took) || !is_called(rule, wait) ||
            !is_wanted(i, rule, wait)) {
            continue;
        }
        if (take(i, took, wait->now, count)) {
            report(NULL, i, wait, count);
        }
    }
}

/* ---- system calls ---- */

SEC("tp_btf/sys_enter")
int BPF_PROG(call_started, const struct pt_regs *regs, long number)
{
    struct lull_track_slot *slot = slot_of(bpf_get_current_task_btf());
    if (slot) {
        slot->call = (int32_t)number;
        slot->call_since = bpf_ktime_get_ns();
        return 0;
    }
    struct lull_track_counts *count = bpf_map_lookup_elem(&counts, &zero);
    if (count) {
        count->untracked++;
    }
    return 0;
}

static __always_inline void judge_call(void *ctx, struct ended *wait,
                                       struct lull_track_counts *count)
{
    bool is_known = false;
    for (uint32_t i = 0; i < LULL_TRACK_RULES && i < config.n_rules; i++) {
        const volatile struct lull_track_kernel_rule *rule = &config.rule[i];
        const uint64_t took = wait->now - wait->since;
        const bool is_long = took > limits[i].threshold_ns;
        if (rule->measure != LULL_TRACK_SYSCALL || (!is_long && !config.has_totals)) {
            continue;
        }
        if (!is_known) { /* most calls are short: without metrics nobody asks which they were */
            find_call(wait);
            is_known = true;
        }
        if (!is_called(rule, wait)) {
            continue;
        }
        if (config.has_totals) {
            observe_rule(i, took);
        }
        if (is_long && is_wanted(i, rule, wait) && take(i, took, wait->now, count)) {
            report(ctx, i, wait, count);
        }
    }
}

SEC("tp_btf/sys_exit")
int BPF_PROG(call_ended)
{
    struct task_struct *task = bpf_get_current_task_btf();
    struct lull_track_counts *count = bpf_map_lookup_elem(&counts, &zero);
    struct lull_track_slot *slot = slot_find(task->pid);
    if (!count || !slot || slot->start_time != task->start_time || !slot->call_since) {
        return 0;
    }
    struct ended call = {.task = task,
                         .slot = slot,
                         .since = slot->call_since,
                         .now = bpf_ktime_get_ns(),
                         .flags = slot->flags};
    slot->call_since = 0;
    if ((uint32_t)task->tgid != config.self && is_followed(slot)) {
        count->events++;
        judge_call(ctx, &call, count);
    }
    return 0;
}

/* ---- sums ---- */

static __always_inline void observe_wait(struct ended *wait, uint64_t woken)
{
    struct lull_track_histograms *all = bpf_map_lookup_elem(&histograms, &zero);
    const struct lull_track_slot *slot = wait->slot;
    const uint64_t took = wait->now - slot->since;
    const bool is_new = slot->flags & LULL_TRACK_IS_NEW;
    if (!all) {
        return;
    }
    if (!slot->state && !is_new) {
        observe_in(&all->of[LULL_TRACK_PREEMPT], took);
        return;
    }
    if (slot->state) {
        observe_in(&all->of[LULL_TRACK_OFFCPU], took);
        if (config.has_totals) {
            observe_called(all, wait, took);
        }
    } else {
        observe_in(&all->of[LULL_TRACK_FORK], took);
    }
    if (wait->woken) {
        observe_in(&all->of[LULL_TRACK_WAKEUP], wait->now - woken);
    }
}

/* A wait that is over, for `lull top` and metrics: until it was woken, and until it ran. */
static __always_inline void sum(struct ended *wait, struct lull_track_counts *count)
{
    struct lull_track_slot *slot = (struct lull_track_slot *)wait->slot;
    const uint64_t woken = wait->woken ? wait->woken : wait->now;
    if (config.has_tasks) {
        slot->sums.blocked_ns += woken - slot->since;
        slot->sums.runnable_ns += wait->now - woken;
    }
    if (slot->tgid == config.self) {
        return;
    }
    if (!(slot->flags & LULL_TRACK_IS_OLDER)) {
        observe_wait(wait, woken);
    }
    if (wait->now - slot->since <= governed.least_ns) {
        return;
    }
    struct lull_track_chain *chain = chain_of(wait->task);
    if (!chain) {
        return;
    }
    if (wait->now - woken > governed.least_ns) {
        add_to_chain(chain, woken, wait->now, count);
    }
    if (slot->state && woken - slot->since > governed.least_ns) {
        wait->flags = slot->flags;
        find_call(wait);
        chain->call = wait->call;
        chain->flags = wait->flags & (LULL_TRACK_IS_COMPAT | LULL_TRACK_IS_KERNEL);
        chain->state = slot->state;
        lull_track_link_chain(chain, slot);
        add_to_chain(chain, slot->since, woken, count);
    }
}

/* What the task did until `now`, when it leaves the CPU. */
static __always_inline void sum_run(struct lull_track_slot *slot, uint64_t now, bool is_unseen)
{
    if (slot->since) {
        slot->sums.unknown_ns += now - slot->since;
    } else if (slot->ran && (is_unseen || slot->flags & LULL_TRACK_IS_LOST)) {
        slot->sums.unknown_ns += now - slot->ran;
    } else if (slot->ran) {
        slot->sums.ran_ns += now - slot->ran;
    }
    slot->flags &= ~LULL_TRACK_IS_LOST;
}

/* Its task has ended, or has another number now. */
static __always_inline void free_slot(const struct task_struct *task, struct lull_track_slot *slot,
                                      struct lull_track_counts *count)
{
    if (config.has_tasks) {
        sum_of_dead(task, slot, count);
    }
    slot->since = 0;
    slot->start_time = 0;
    slot->tid = 0;
}

/* Who leaves this CPU is not who came last: that one left unseen, nobody knows when. */
static __always_inline void lose(uint32_t tid)
{
    struct lull_track_slot *slot = slot_find(tid);
    if (slot && slot->since == 0 && slot->cpu == bpf_get_smp_processor_id()) {
        slot->flags |= LULL_TRACK_IS_LOST;
    }
}

/* ---- switches ---- */

/* `was_seen`: it was seen to come to this CPU. Some kernels hide switches from or to some tasks: then a wait has ended
 * that nobody saw the end of, nor its start, if the task was last seen to come to a CPU. */
static __always_inline void leaves(const struct task_struct *task, uint64_t now, uint32_t state,
                                   bool was_seen, struct lull_track_counts *count)
{
    struct lull_track_slot *slot = slot_of(task);
    if (!slot) {
        count->untracked++;
        return;
    }
    const bool is_unseen = slot->since || (slot->ran && !was_seen);
    if (is_unseen && is_followed(slot)) {
        count->unseen++;
    }
    if (config.has_tasks) {
        sum_run(slot, now, is_unseen);
    }
    if (state & TASK_DEAD) {
        free_slot(task, slot, count);
        return;
    }
    slot->state = state;
    slot->woken = state ? 0 : now;
    slot->since = now;
}

static __always_inline void comes(const struct task_struct *task, uint64_t now,
                                  struct lull_track_counts *count)
{
    struct lull_track_slot *slot = config.has_sums ? slot_of(task) : slot_find(task->pid);
    if (!slot || slot->start_time != task->start_time) {
        return;
    }
    const uint64_t since = slot->since;
    if (since) {
        const bool counts = is_followed(slot);
        count->waits += counts;
        if (slot->woken == 0 && slot->early_ns > slot->ran) { /* woken before it was off the CPU */
            count->unknown_wakers += counts && !take_early(slot);
            slot->woken = slot->begin = since;
        } else if (slot->woken == 0) {
            slot->hop[0].kind = LULL_TRACK_HOP_NONE;
            slot->begin = now;
            count->unknown_wakers += counts && !governed.without_wakings;
        }
        struct ended wait = {.task = task,
                             .slot = slot,
                             .since = since,
                             .now = now,
                             .woken = slot->woken,
                             .state = slot->state};
        if (config.has_sums) {
            sum(&wait, count);
        }
        if (config.has_served && slot->flags & LULL_TRACK_SERVES) {
            keep_past(slot, now);
        }
        if (now - since > config.least_ns && !(slot->flags & LULL_TRACK_IS_OLDER)) {
            judge(&wait, count);
        }
    } else if (slot->ran && is_followed(slot)) { /* it was never seen to leave */
        count->unseen++;
        slot->sums.unknown_ns += now - slot->ran;
    }
    slot->flags &= ~(LULL_TRACK_IS_NEW | LULL_TRACK_IS_LOST | LULL_TRACK_IS_OLDER);
    slot->since = 0;
    slot->ran = now;
    if (config.has_tasks) {
        slot->cpu = bpf_get_smp_processor_id();
    }
}

static __always_inline void keep_user_stack(void *ctx, uint32_t tid, uint64_t now)
{
    const struct lull_track_slot *slot = slot_find(tid);
    if (slot && is_followed(slot)) {
        keep_stack(ctx, &user_stacks, tid, now, BPF_F_USER_STACK);
    }
}

SEC("tp_btf/sched_switch")
int BPF_PROG(switched, bool preempt, struct task_struct *prev, struct task_struct *next)
{
    struct lull_track_counts *count = bpf_map_lookup_elem(&counts, &zero);
    struct context *context = bpf_map_lookup_elem(&contexts, &zero);
    const uint64_t now = bpf_ktime_get_ns();
    if (!count || !context) {
        return 0;
    }
    count->switches++;
    context->depth = 0;
    context->thread = 0;
    const uint32_t running = context->running;
    const bool was_seen = !running || running == 1 + (uint32_t)prev->pid;
    context->running = 1 + (uint32_t)next->pid;
    if (config.has_tasks && running > 1 && !was_seen) {
        lose(running - 1);
    }
    if (prev->pid) {
        uint32_t state = preempt ? 0 : state_of(prev);
        if (state & TASK_WAKING) { /* somebody is already waking it, and the state is gone */
            state = config.has_prev_state ? (uint32_t)ctx[3] : LULL_TRACK_STATE_S;
        }
        leaves(prev, now, state, was_seen, count);
        if (config.stacks & LULL_TRACK_USER_STACK && !(state & TASK_DEAD) && !is_kernel(prev)) {
            keep_user_stack(ctx, prev->pid, now);
        }
    }
    if (next->pid) {
        comes(next, now, count);
    }
    return 0;
}

/* ---- numbers ---- */

/* A thread that replaces the program takes the number of its process, and its own is free: what it did under that is
 * added to what those did that have ended. */
SEC("tp_btf/sched_process_exec")
int BPF_PROG(renumbered, const struct task_struct *task, int old_tid)
{
    struct lull_track_counts *count = bpf_map_lookup_elem(&counts, &zero);
    struct context *context = bpf_map_lookup_elem(&contexts, &zero);
    const uint64_t now = bpf_ktime_get_ns();
    struct lull_track_slot *old = old_tid == task->pid ? NULL : slot_find((uint32_t)old_tid);
    if (!count || !context || !old || old->tgid != (uint32_t)task->tgid) {
        return 0;
    }
    struct lull_track_slot *slot = slot_of(task);
    if (slot && (!slot->ran || slot->since)) { /* it has been on this CPU ever since */
        slot->since = 0;
        slot->ran = now;
        slot->begin = old->begin;
        slot->cpu = bpf_get_smp_processor_id();
        if (config.has_tasks) {
            sum_run(old, now, false);
        }
    }
    if (slot) {
        slot->flags |= old->flags & (LULL_TRACK_IS_FOLLOWED | LULL_TRACK_SERVES);
        slot->call = old->call;
        slot->call_since = old->call_since;
    }
    context->running = 1 + (uint32_t)task->pid;
    free_slot(task, old, count);
    return 0;
}

/* ---- what it costs to enter a program (bpf_cost.h) ---- */

SEC("tp_btf/itimer_state")
int BPF_PROG(entered)
{
    return 0;
}
