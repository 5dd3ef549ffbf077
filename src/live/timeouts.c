/* SPDX-License-Identifier: MIT */
/* Looks through the slots of all tasks, which the tracker keeps up to date, for waits that
 * have been open for too long. What the slot does not have is read from /proc, and counts if the same wait
 * is still open afterwards. */
#include "live/timeouts.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/time.h"
#include "live/groups.h"

struct lull_timeouts {
    struct lull_tracker_question question;
    struct lull_track_kernel_rule rule[LULL_TRACK_RULES];
    struct lull_groups *groups;
    uint64_t *reported; /* by slot and rule: the start of the wait that was reported last */
    int64_t window[LULL_TRACK_RULES];
    uint32_t spent[LULL_TRACK_RULES]; /* in that second */
};

struct lull_timeouts *lull_timeouts_new(const struct lull_tracker_question *question,
                                        uint32_t n_slots)
{
    bool is_needed = false;
    for (uint32_t i = 0; i < question->n_rules; i++) {
        is_needed |= question->rules[i]->timeout_ns > 0;
    }
    if (!is_needed) {
        return NULL;
    }
    struct lull_timeouts *timeouts = g_new0(struct lull_timeouts, 1);
    timeouts->question = *question;
    timeouts->groups = lull_groups_new();
    timeouts->reported = g_new0(uint64_t, (gsize)n_slots * question->n_rules);
    for (uint32_t i = 0; i < question->n_rules; i++) {
        lull_track_rule_compile(question->rules[i], &timeouts->rule[i]);
    }
    return timeouts;
}

void lull_timeouts_free(struct lull_timeouts *timeouts)
{
    if (timeouts) {
        lull_groups_free(timeouts->groups);
        g_free(timeouts->reported);
        g_free(timeouts);
    }
}

/* Since when the task has been in what the rule measures; 0: it is not. */
static uint64_t since_of(const struct lull_track_slot *slot,
                         const struct lull_track_kernel_rule *rule)
{
    const bool is_new = slot->flags & LULL_TRACK_IS_NEW;
    if (slot->flags & LULL_TRACK_IS_OLDER && rule->measure != LULL_TRACK_SYSCALL) {
        return 0; /* it began before anybody watched */
    }
    switch (rule->measure) {
    case LULL_TRACK_WAKEUP:
        return slot->since && (slot->state || is_new) ? slot->woken : 0;
    case LULL_TRACK_PREEMPT:
        return slot->state || is_new ? 0 : slot->since;
    case LULL_TRACK_FORK:
        return is_new ? slot->since : 0;
    case LULL_TRACK_OFFCPU:
        return slot->state && (!rule->states || rule->states & slot->state) ? slot->since : 0;
    case LULL_TRACK_SYSCALL:
        return slot->call_since;
    default:
        return 0;
    }
}

/* ---- what /proc has of a task ---- */

static bool read_proc(uint32_t tid, const char *name, char *out, size_t size)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%u/%s", tid, name);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t n = fd < 0 ? -1 : read(fd, out, size - 1);
    if (fd >= 0) {
        close(fd);
    }
    out[n > 0 ? n : 0] = '\0';
    return n > 0;
}

/* The 39th field; the second may hold anything, but is the only one with parentheses. */
static bool read_cpu(uint32_t tid, uint32_t *cpu)
{
    char text[1024];
    const char *at = read_proc(tid, "stat", text, sizeof text) ? strrchr(text, ')') : NULL;
    for (int field = 2; at && field < 39; field++) {
        at = strchr(at + 1, ' ');
    }
    return at && sscanf(at, "%u", cpu) == 1;
}

/* False: the task has ended. */
static bool describe(const struct lull_track_slot *slot, const struct lull_track_kernel_rule *rule,
                     struct lull_track_record *record)
{
    char text[256];
    record->tid = slot->tid;
    record->tgid = slot->tgid;
    record->flags = slot->flags & LULL_TRACK_FLAGS;
    record->call = LULL_TRACK_NO_CALL;
    if (!read_proc(slot->tid, "comm", text, sizeof text) ||
        !lull_proc_read_uid(slot->tid, &record->uid) || !read_cpu(slot->tid, &record->cpu)) {
        return false;
    }
    char *end = strrchr(text, '\n'); /* of the line; a name may have one too */
    if (end) {
        *end = '\0';
    }
    g_strlcpy(record->comm, text, sizeof record->comm);
    if (record->flags & LULL_TRACK_IS_KERNEL) {
        return true;
    }
    if (rule->measure == LULL_TRACK_SYSCALL) {
        record->call = slot->call;
    } else if (read_proc(slot->tid, "syscall", text, sizeof text)) { /* else "running", or -1 */
        sscanf(text, "%d", &record->call);
    }
    record->call = MAX(record->call, LULL_TRACK_NO_CALL);
    if (lull_proc_is_compat(slot->tid)) {
        record->flags |= LULL_TRACK_IS_COMPAT;
    }
    return true;
}

static bool is_called(const struct lull_track_kernel_rule *rule,
                      const struct lull_track_record *record)
{
    if (rule->calls == LULL_TRACK_ANY_CALL) {
        return true;
    }
    if (rule->calls == LULL_TRACK_OUTSIDE_CALLS) {
        return record->call == LULL_TRACK_NO_CALL && !(record->flags & LULL_TRACK_IS_KERNEL);
    }
    bool found = false;
    for (uint32_t i = 0; i < rule->n_calls; i++) {
        found |= rule->call[i] == record->call;
    }
    return found && !(record->flags & LULL_TRACK_IS_COMPAT);
}

/* ---- looking ---- */

static bool spend(struct lull_timeouts *timeouts, uint32_t i, int64_t now_ns)
{
    const int64_t second = now_ns / LULL_NS_PER_S;
    if (timeouts->window[i] != second) {
        timeouts->window[i] = second;
        timeouts->spent[i] = 0;
    }
    return timeouts->spent[i]++ < timeouts->rule[i].limit;
}

static void report(struct lull_timeouts *timeouts, uint32_t i, struct lull_track_record *record,
                   struct lull_tracker_counts *counts)
{
    const struct lull_tracker_question *question = &timeouts->question;
    struct lull_track_alarm alarm;
    if (!lull_track_alarm_read(record, sizeof *record, question->rules, question->n_rules,
                               &alarm)) {
        counts->damaged++;
        return;
    }
    alarm.group = lull_groups_of_task(timeouts->groups, record->tid);
    if (!lull_track_alarm_is_wanted(&alarm)) {
        counts->filtered++;
    } else {
        alarm.is_open = true;
        question->alarm(question->user, &alarm);
    }
}

/* `since`: the start of a wait that has been open for longer than the rule's time-out. */
static void judge(struct lull_timeouts *timeouts, uint32_t i, const struct lull_tracker *tracker,
                  uint32_t index, uint64_t since, int64_t now_ns,
                  struct lull_tracker_counts *counts)
{
    const struct lull_track_kernel_rule *rule = &timeouts->rule[i];
    struct lull_track_slot slot;
    if (!tracker->kind->slots->get(tracker, index, &slot) || since_of(&slot, rule) != since) {
        return;
    }
    const bool is_call = rule->measure == LULL_TRACK_SYSCALL;
    struct lull_track_record record = {.rule = i,
                                       .since_ns = is_call ? since : slot.since,
                                       .woken_ns = is_call ? 0 : slot.woken,
                                       .end_ns = (uint64_t)now_ns,
                                       .state = is_call ? 0 : slot.state};
    if (!describe(&slot, rule, &record) || !is_called(rule, &record)) {
        return;
    }
    const uint32_t tid = slot.tid;
    if (!tracker->kind->slots->get(tracker, index, &slot) || slot.tid != tid ||
        since_of(&slot, rule) != since) {
        return; /* it is over: its end is reported */
    }
    counts->kernel.candidates[i]++;
    if (spend(timeouts, i, now_ns)) {
        report(timeouts, i, &record, counts);
    } else {
        counts->kernel.limited[i]++;
    }
}

static bool is_asked_for(const struct lull_timeouts *timeouts, const struct lull_track_slot *slot)
{
    return slot->tgid != (uint32_t)getpid() &&
           (!timeouts->question.command || slot->flags & LULL_TRACK_IS_FOLLOWED);
}

void lull_timeouts_scan(struct lull_timeouts *timeouts, const struct lull_tracker *tracker,
                        int64_t now_ns, struct lull_tracker_counts *counts)
{
    const uint32_t n_rules = timeouts->question.n_rules;
    const uint32_t n = tracker->kind->slots->count(tracker);
    for (uint32_t index = 0; index < n; index++) {
        struct lull_track_slot slot;
        if (!tracker->kind->slots->get(tracker, index, &slot) || !is_asked_for(timeouts, &slot)) {
            continue;
        }
        for (uint32_t i = 0; i < n_rules; i++) {
            const int64_t timeout_ns = timeouts->question.rules[i]->timeout_ns;
            const uint64_t since = since_of(&slot, &timeouts->rule[i]);
            uint64_t *reported = &timeouts->reported[(size_t)index * n_rules + i];
            if (timeout_ns && since && since < (uint64_t)now_ns && *reported != since &&
                (uint64_t)now_ns - since > (uint64_t)timeout_ns) {
                *reported = since;
                judge(timeouts, i, tracker, index, since, now_ns, counts);
            }
        }
    }
}
