/* SPDX-License-Identifier: MIT */
/* Checks records, and finds out who each part of a wait was for: the waker from when it was itself woken,
 * before that the waker's waker, as far as the wait reaches back. */
#include "live/alarm.h"

#include <string.h>

#include "base/time.h"
#include "live/names.h"

/* ---- what came ---- */

static bool has_end(const char comm[LULL_TRACK_COMM])
{
    return memchr(comm, '\0', LULL_TRACK_COMM) != NULL;
}

static bool are_hops_sound(const struct lull_track_record *record)
{
    for (uint32_t i = 0; i < LULL_TRACK_HOPS; i++) {
        const struct lull_track_hop *hop = &record->hop[i];
        if (hop->kind >= LULL_TRACK_HOP_KINDS ||
            (hop->kind == LULL_TRACK_HOP_TASK && !has_end(hop->comm))) {
            return false;
        }
        if (hop->kind != LULL_TRACK_HOP_TASK) { /* what follows is of an older chain */
            return true;
        }
    }
    return true;
}

/* Whose rule it is: the idle task does not wait, but interrupts come while it runs. */
static bool has_sound_subject(const struct lull_track_record *record,
                              const struct lull_track_rule *rule)
{
    const enum lull_track_hop_kind object = rule->kind->object;
    return object ? record->hop[0].kind == object
                  : record->tid > 0 || rule->kind->measure == LULL_TRACK_LOCK;
}

static bool is_stack_sound(const struct lull_track_stack *stack)
{
    return stack->bytes <= (int32_t)sizeof stack->frame;
}

static bool is_sound(const struct lull_track_record *record,
                     const struct lull_track_rule *const *rules, uint32_t n_rules)
{
    return record->rule < n_rules && has_sound_subject(record, rules[record->rule]) &&
           !(record->flags & ~(uint32_t)LULL_TRACK_FLAGS) && record->end_ns <= LULL_TIME_MAX &&
           record->since_ns > 0 && record->since_ns <= record->end_ns &&
           (record->woken_ns == 0 ||
            (record->woken_ns >= record->since_ns && record->woken_ns <= record->end_ns)) &&
           record->tid <= INT32_MAX && record->tgid <= INT32_MAX &&
           record->call >= LULL_TRACK_NO_CALL && has_end(record->comm) &&
           is_stack_sound(&record->kernel) && is_stack_sound(&record->waker) &&
           is_stack_sound(&record->user) && are_hops_sound(record) &&
           memchr(record->cookie, '\0', sizeof record->cookie);
}

/* ---- what it means ---- */

static void find_parts(struct lull_track_alarm *alarm)
{
    const struct lull_track_record *record = alarm->record;
    const int64_t since_ns = (int64_t)record->since_ns;
    int64_t end_ns = (int64_t)record->woken_ns;
    if (record->woken_ns == 0 || record->state == 0) { /* nobody woke it, or nobody had to */
        return;
    }
    alarm->is_cut = true;
    for (uint32_t i = 0; i < LULL_TRACK_HOPS && alarm->is_cut; i++) {
        const struct lull_track_hop *hop = &record->hop[i];
        if (hop->kind == LULL_TRACK_HOP_NONE) {
            return;
        }
        const bool is_task = hop->kind == LULL_TRACK_HOP_TASK;
        const int64_t start_ns =
            is_task ? (int64_t)MIN(MAX(hop->start_ns, (uint64_t)since_ns), (uint64_t)end_ns)
                    : since_ns;
        alarm->part[alarm->n_parts++] =
            (struct lull_track_part){.hop = hop, .start_ns = start_ns, .end_ns = end_ns};
        end_ns = start_ns;
        alarm->is_cut = start_ns > since_ns;
    }
}

static uint32_t frames_of(const struct lull_track_stack *stack)
{
    return stack->bytes > 0 ? (uint32_t)stack->bytes / sizeof *stack->frame : 0;
}

bool lull_track_alarm_read(const void *data, size_t size,
                           const struct lull_track_rule *const *rules, uint32_t n_rules,
                           struct lull_track_alarm *alarm)
{
    const struct lull_track_record *record = data;
    if (size != sizeof *record || !is_sound(record, rules, n_rules)) {
        return false;
    }
    *alarm = (struct lull_track_alarm){.record = record,
                                       .rule = rules[record->rule],
                                       .start_ns = (int64_t)record->since_ns,
                                       .end_ns = (int64_t)record->end_ns,
                                       .cpu_from_ns = INT64_MAX};
    alarm->n_kernel = frames_of(&record->kernel);
    alarm->n_waker = frames_of(&record->waker);
    alarm->n_user = frames_of(&record->user);
    if (alarm->rule->kind->object) {
        alarm->object = &record->hop[0];
        return true;
    }
    alarm->is_wait = alarm->rule->kind->measure < LULL_TRACK_SYSCALL;
    if (record->woken_ns) {
        alarm->cpu_from_ns = (int64_t)record->woken_ns;
    }
    if (alarm->rule->kind->measure == LULL_TRACK_WAKEUP) {
        alarm->start_ns = MAX(alarm->start_ns, (int64_t)record->woken_ns);
    }
    if (alarm->rule->kind->measure == LULL_TRACK_RESPONSE) {
        const uint64_t irq_ns = record->irq_ns;
        alarm->start_ns =
            irq_ns <= record->end_ns ? MAX(alarm->start_ns, (int64_t)irq_ns) : alarm->start_ns;
    }
    if (record->call >= 0 && !(record->flags & LULL_TRACK_IS_COMPAT)) {
        alarm->call = call_name_of_number(CALL_NUMBERS_HERE, record->call);
    }
    find_parts(alarm);
    return true;
}

static struct lull_value value_of(const char *text)
{
    return lull_value_text(text, strlen(text));
}

bool lull_track_alarm_is_wanted(const struct lull_track_alarm *alarm)
{
    const struct lull_track_record *record = alarm->record;
    const struct lull_track_hop *waker = &record->hop[0];
    /* What it happened to, or who ended the wait. */
    const bool has_waker = alarm->object || (record->woken_ns && record->state);
    char address[LULL_TRACK_ADDRESS], disk[LULL_TRACK_DISK_NAME_ROOM];
    struct lull_value values[LULL_TRACK_NAMES] = {
        [LULL_TRACK_COMM_NAME] = value_of(record->comm),
        [LULL_TRACK_PID_NAME] = lull_value_int(record->tgid),
        [LULL_TRACK_TID_NAME] = lull_value_int(record->tid),
        [LULL_TRACK_UID_NAME] = lull_value_int(record->uid),
        [LULL_TRACK_CPU_NAME] = lull_value_int(record->cpu),
        [LULL_TRACK_HOST_NAME] = value_of(g_get_host_name()),
    };
    if (!alarm->rule->filter) {
        return true;
    }
    if (alarm->call) {
        values[LULL_TRACK_CALL_NAME] = value_of(alarm->call);
    }
    if (alarm->group) {
        values[LULL_TRACK_GROUP_NAME] = value_of(alarm->group);
    }
    if (has_waker && waker->kind == LULL_TRACK_HOP_DISK) {
        lull_track_disk(waker, disk);
        values[LULL_TRACK_DISK_NAME] = value_of(disk);
        values[LULL_TRACK_RW_NAME] = value_of(waker->b ? "write" : "read");
    }
    if (has_waker && waker->kind == LULL_TRACK_HOP_INTERFACE) {
        values[LULL_TRACK_INTERFACE_NAME] =
            lull_value_text(waker->comm, strnlen(waker->comm, sizeof waker->comm));
    }
    if (has_waker && (waker->kind == LULL_TRACK_HOP_CONNECTION ||
                      waker->kind == LULL_TRACK_HOP_PACKET)) { /* both have the ports alike */
        lull_track_address(waker, address);
        values[LULL_TRACK_LPORT_NAME] = lull_value_int(waker->b);
        values[LULL_TRACK_RPORT_NAME] = lull_value_int(waker->a);
        values[LULL_TRACK_RADDR_NAME] = value_of(address);
    }
    if (record->woken_ns && waker->kind == LULL_TRACK_HOP_TASK) {
        values[LULL_TRACK_WAKER_NAME] = value_of(waker->comm);
    }
    return lull_given_holds(alarm->rule->filter, values);
}

char lull_track_state_letter(uint32_t state)
{
    static const struct {
        uint32_t bit;
        char letter;
    } letters[] = {{LULL_TRACK_STATE_S, 'S'},
                   {LULL_TRACK_STATE_D, 'D'},
                   {LULL_TRACK_STATE_T, 'T'},
                   {LULL_TRACK_STATE_TRACED, 't'}};
    for (uint32_t i = 0; i < G_N_ELEMENTS(letters); i++) {
        if (state & letters[i].bit) {
            return letters[i].letter;
        }
    }
    return state ? 'I' : 'R';
}
