/* SPDX-License-Identifier: MIT */
/* Which waits, calls, requests and interrupts rules are about, and the alarms of those that took too long. */
#include <string.h>
#include <unistd.h>

#include "live/ftrace/model.h"

/* A window in which so many alarms of a rule may be made as it allows: about a second. */
#define WINDOW_BITS 30

void lull_ftrace_observe(struct lull_ftrace_model *model, struct lull_track_histogram *histogram,
                         uint64_t ns)
{
    /* 0 up to 1 us, 1 up to 2 us, 2 up to 4 us … */
    const uint64_t us = (ns - (ns > 0)) / 1000;
    const uint32_t bits = us ? 64 - (uint32_t)__builtin_clzll(us) : 0;
    histogram->n[MIN(bits, (uint32_t)LULL_TRACK_BUCKETS - 1)]++;
    histogram->ns += ns;
    histogram->longest[0].ns = MAX(histogram->longest[0].ns, ns);
}

/* ---- alarms ---- */

static bool spend(struct lull_ftrace_model *model, uint32_t i, uint64_t now)
{
    struct lull_ftrace_limit *limit = &model->limit[i];
    if (limit->window != now >> WINDOW_BITS) {
        limit->window = now >> WINDOW_BITS;
        limit->spent = 0;
    }
    return limit->spent++ < model->rule[i].limit;
}

/* What rule `i` is about took so long. False: nothing is to be reported. */
static bool takes(struct lull_ftrace_model *model, uint32_t i, uint64_t took)
{
    if (model->question.has_histograms) {
        lull_ftrace_observe(model, &model->histograms.rule[i], took);
        return false;
    }
    model->counts.kernel.candidates[i]++;
    return true;
}

static void hand_out(struct lull_ftrace_model *model, const struct lull_track_record *record)
{
    const struct lull_tracker_question *question = &model->question;
    struct lull_track_alarm alarm;
    if (!lull_track_alarm_read(record, sizeof *record, question->rules, question->n_rules,
                               &alarm)) {
        model->counts.damaged++;
        return;
    }
    struct lull_ftrace_task *task = lull_ftrace_task_find(model, record->tid);
    alarm.group = task ? lull_ftrace_task_group(model, task) : NULL;
    if (!lull_track_alarm_is_wanted(&alarm)) {
        model->counts.filtered++;
        return;
    }
    if (!spend(model, record->rule, record->end_ns)) {
        model->counts.kernel.limited[record->rule]++;
        return;
    }
    if (alarm.rule->is_worst) {
        model->limit[record->rule].threshold_ns = (uint64_t)(alarm.end_ns - alarm.start_ns);
    }
    question->alarm(question->user, &alarm);
}

/* ---- waits ---- */

/* When the interrupt came that woke the task. */
static uint64_t response_from(const struct lull_track_slot *slot)
{
    return slot->irq ? slot->irq_ns : slot->hop[0].start_ns;
}

static bool is_measured(const struct lull_ftrace_model *model, uint32_t i,
                        const struct lull_ftrace_wait *wait, uint64_t *took)
{
    const struct lull_track_kernel_rule *rule = &model->rule[i];
    const struct lull_track_slot *slot = &wait->task->slot;
    const bool is_new = slot->flags & LULL_TRACK_IS_NEW;
    const bool is_woken = (wait->state || is_new) && wait->woken;
    uint64_t from = wait->since;
    bool is_meant;
    switch (rule->measure) {
    case LULL_TRACK_SYSCALL:
        is_meant = wait->is_call;
        break;
    case LULL_TRACK_RESPONSE:
        is_meant = is_woken && (slot->hop[0].kind > LULL_TRACK_HOP_TASK || slot->irq) &&
                   (!rule->has_number || rule->number + 1 == slot->irq);
        from = MAX(from, response_from(slot));
        break;
    case LULL_TRACK_PREEMPT:
        is_meant = !wait->state && !is_new;
        break;
    case LULL_TRACK_FORK:
        is_meant = is_new;
        break;
    case LULL_TRACK_WAKEUP:
        is_meant = is_woken;
        from = wait->woken;
        break;
    case LULL_TRACK_OFFCPU:
        is_meant = wait->state && (!rule->states || rule->states & wait->state);
        break;
    default:
        is_meant = false;
    }
    *took = wait->now > from ? wait->now - from : 0;
    return is_meant && wait->is_call == (rule->measure == LULL_TRACK_SYSCALL) &&
           *took > model->limit[i].threshold_ns;
}

static bool is_called(const struct lull_track_kernel_rule *rule,
                      const struct lull_ftrace_wait *wait)
{
    struct lull_ftrace_task *task = wait->task;
    bool found = false;
    if (rule->calls == LULL_TRACK_ANY_CALL) {
        return true;
    }
    if (rule->calls == LULL_TRACK_OUTSIDE_CALLS) {
        return task->call == LULL_TRACK_NO_CALL && !(task->slot.flags & LULL_TRACK_IS_KERNEL);
    }
    for (uint32_t i = 0; i < rule->n_calls; i++) {
        found |= rule->call[i] == task->call;
    }
    return found && !lull_ftrace_task_is_compat(task);
}

static bool is_wanted(struct lull_ftrace_model *model, uint32_t rule_index,
                      const struct lull_ftrace_wait *wait)
{
    const struct lull_track_kernel_rule *rule = &model->rule[rule_index];
    const char *group = model->group[rule_index];
    struct lull_ftrace_task *task = wait->task;
    if (group && g_strcmp0(group, lull_ftrace_task_group(model, task)) != 0) {
        return false;
    }
    for (uint32_t i = 0; i < rule->n_tests; i++) {
        const struct lull_track_test *test = &rule->test[i];
        const uint32_t number[] = {
            [LULL_TRACK_TEST_PID] = task->slot.tgid,
            [LULL_TRACK_TEST_TID] = task->slot.tid,
            [LULL_TRACK_TEST_UID] =
                test->field == LULL_TRACK_TEST_UID ? lull_ftrace_task_uid(task) : 0,
            [LULL_TRACK_TEST_CPU] = wait->cpu,
        };
        const bool is_same = test->field == LULL_TRACK_TEST_COMM
                                 ? strncmp(test->comm, task->comm, sizeof task->comm) == 0
                                 : number[test->field] == test->number;
        if (!is_same) {
            return false;
        }
    }
    return true;
}

static void report(struct lull_ftrace_model *model, uint32_t i, const struct lull_ftrace_wait *wait)
{
    struct lull_ftrace_task *task = wait->task;
    struct lull_track_record record;
    memset(&record, 0, sizeof record);
    record.rule = i;
    record.flags = task->slot.flags & LULL_TRACK_FLAGS;
    record.since_ns = wait->since;
    record.woken_ns = wait->woken;
    record.end_ns = wait->now;
    record.tid = task->slot.tid;
    record.tgid = task->slot.tgid;
    record.uid = lull_ftrace_task_uid(task);
    record.cpu = wait->cpu;
    memcpy(record.comm, task->comm, sizeof record.comm);
    record.call = task->call;
    record.state = wait->state;
    record.first_argument = task->first_argument;
    if (task->call >= 0 && lull_ftrace_task_is_compat(task)) {
        record.flags |= LULL_TRACK_IS_COMPAT;
    }
    if (!wait->is_call) {
        memcpy(record.hop, task->slot.hop, sizeof record.hop);
    }
    if (model->rule[i].measure == LULL_TRACK_RESPONSE) {
        record.irq_ns = response_from(&task->slot);
    }
    if (!wait->is_call && task->stack && task->stack_ns == wait->since) {
        record.kernel = *task->stack;
    }
    hand_out(model, &record);
}

void lull_ftrace_judge(struct lull_ftrace_model *model, const struct lull_ftrace_wait *wait)
{
    const struct lull_track_slot *slot = &wait->task->slot;
    if (slot->tgid == (uint32_t)getpid() || !lull_ftrace_is_followed(model, slot)) {
        return;
    }
    for (uint32_t i = 0; i < model->question.n_rules; i++) {
        uint64_t took;
        if (is_measured(model, i, wait, &took) && is_called(&model->rule[i], wait) &&
            is_wanted(model, i, wait) && takes(model, i, took)) {
            report(model, i, wait);
        }
    }
}

/* ---- what is no wait ---- */

void lull_ftrace_happened_to(struct lull_ftrace_model *model, uint32_t tid,
                             struct lull_ftrace_happened *event)
{
    const struct lull_ftrace_task *task = tid ? lull_ftrace_task_of(model, tid) : NULL;
    event->tid = event->tgid = tid;
    if (task) {
        event->tgid = task->slot.tgid;
        event->uid = task->uid;
        memcpy(event->comm, task->comm, sizeof event->comm);
    } else {
        g_snprintf(event->comm, sizeof event->comm, "swapper/%u", event->cpu);
    }
}

static void report_event(struct lull_ftrace_model *model, uint32_t i,
                         const struct lull_ftrace_happened *event)
{
    struct lull_ftrace_task *task = event->tid ? lull_ftrace_task_find(model, event->tid) : NULL;
    struct lull_track_record record;
    memset(&record, 0, sizeof record);
    record.rule = i;
    record.since_ns = event->since;
    record.end_ns = event->until;
    record.tid = event->tid;
    record.tgid = event->tgid;
    record.uid = task ? lull_ftrace_task_uid(task) : event->uid;
    record.cpu = event->cpu;
    memcpy(record.comm, event->comm, sizeof record.comm);
    record.call = LULL_TRACK_NO_CALL;
    record.hop[0] = event->hop;
    hand_out(model, &record);
}

void lull_ftrace_judge_event(struct lull_ftrace_model *model,
                             const struct lull_ftrace_happened *event)
{
    const uint64_t took = event->until > event->since ? event->until - event->since : 0;
    model->counts.kernel.events++;
    for (uint32_t i = 0; i < model->question.n_rules; i++) {
        const struct lull_track_kernel_rule *rule = &model->rule[i];
        if (rule->measure != event->measure ||
            (rule->has_number && rule->number != event->number)) {
            continue;
        }
        if (model->question.has_metrics) {
            lull_ftrace_observe(model, &model->histograms.rule[i], took);
        }
        if (took > model->limit[i].threshold_ns && takes(model, i, took)) {
            report_event(model, i, event);
        }
    }
}
