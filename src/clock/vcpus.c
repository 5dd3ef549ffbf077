/* SPDX-License-Identifier: MIT */
/* Collects what hosts recorded of their guests and, by a watch that sees all events without decoding
 * them, when anything happened on any host. */
#include "clock/vcpus.h"

#include <stdlib.h>

#include "base/cpu_slots.h"
#include "base/map.h"
#include "kernel/model.h"
#include "kernel/vocabulary.h"
#include "source/session/event_watch.h"

/* Of a host. */
struct losses {
    LULL_VEC(int64_t) starts;
};

struct reading {
    struct lull_event_watch watch;
    struct lull_vcpus *vcpus;
    struct lull_model *model;
    struct lull_map by_task; /* task → list */
    struct losses *losses;   /* by host */
};

static bool declares(const struct lull_session *session, uint32_t host, enum lull_event_id id)
{
    return lull_session_declares(session, host, lull_vocabulary_names(id));
}

static bool is_vm_host(const struct lull_session *session, uint32_t host)
{
    return declares(session, host, LULL_EVENT_kvm_entry) &&
           declares(session, host, LULL_EVENT_kvm_exit);
}

bool lull_vcpus_are_recorded(const struct lull_session *session)
{
    for (uint32_t host = 0; host < lull_session_host_count(session); host++) {
        if (is_vm_host(session, host)) {
            return true;
        }
    }
    return false;
}

/* ---- virtual CPUs ---- */

/* What was lost since it was looked at last may have been an exit. */
static void lose(struct lull_vcpu *vcpu, const struct losses *losses)
{
    if (vcpu->losses < losses->starts.count) {
        vcpu->lost_ns = vcpu->lost_ns != INT64_MIN      ? vcpu->lost_ns
                        : vcpu->entered_ns != INT64_MIN ? vcpu->entered_ns
                                                        : losses->starts.items[vcpu->losses];
        vcpu->losses = losses->starts.count;
        vcpu->entered_ns = INT64_MIN;
        vcpu->vector = -1;
    }
}

static struct lull_vcpu *vcpu_of(struct reading *reading, const struct lull_vcpu_fact *fact)
{
    struct lull_vcpus *vcpus = reading->vcpus;
    uint32_t number = lull_map_find(&reading->by_task, fact->task);
    if (number == LULL_MAP_NONE) {
        number = (uint32_t)vcpus->list.count;
        lull_map_insert(&reading->by_task, fact->task, number);
        lull_vec_push(&vcpus->list,
                      (struct lull_vcpu){.host = fact->host,
                                         .tid = lull_model_task(reading->model, fact->task)->tid,
                                         .losses = reading->losses[fact->host].starts.count,
                                         .entered_ns = INT64_MIN,
                                         .lost_ns = INT64_MIN,
                                         .vector = -1,
                                         .entry_number = -1,
                                         .exit_number = -1});
    }
    struct lull_vcpu *vcpu = &vcpus->list.items[number];
    vcpu->pid = lull_model_task(reading->model, fact->task)->pid;
    lose(vcpu, &reading->losses[fact->host]);
    return vcpu;
}

/* From an entry or exit on it is known again whether it runs. */
static void end_loss(struct lull_vcpu *vcpu, int64_t time_ns)
{
    const size_t n = vcpu->lost.count;
    if (vcpu->lost_ns != INT64_MIN && n < LULL_VCPUS_MOST) {
        const int64_t start_ns =
            n ? MAX(vcpu->lost_ns, vcpu->lost.items[n - 1].end_ns) : vcpu->lost_ns;
        lull_vec_push(&vcpu->lost, (struct lull_window){start_ns, MAX(start_ns, time_ns)});
    }
    vcpu->lost_ns = INT64_MIN;
}

static void on_vcpu(void *user, const struct lull_vcpu_fact *fact)
{
    struct lull_vcpu *vcpu = vcpu_of(user, fact);
    if (!lull_vcpus_can_use(fact->time_ns)) {
        return;
    }
    switch (fact->step) {
    case LULL_VCPU_INJECT:
        vcpu->vector = fact->number;
        break;
    case LULL_VCPU_ENTER:
        end_loss(vcpu, fact->time_ns);
        vcpu->entered_ns = fact->time_ns;
        vcpu->entry_number = fact->number;
        if (vcpu->vector >= 0 && vcpu->injections.count < LULL_VCPUS_MOST) {
            lull_vec_push(&vcpu->injections, (struct lull_injection){fact->time_ns, vcpu->vector});
        }
        vcpu->vector = -1;
        break;
    case LULL_VCPU_LEAVE:
        end_loss(vcpu, fact->time_ns);
        vcpu->exit_number = fact->number;
        if (vcpu->entered_ns != INT64_MIN && vcpu->windows.count < LULL_VCPUS_MOST) {
            lull_vec_push(&vcpu->windows, (struct lull_window){vcpu->entered_ns, fact->time_ns});
        }
        vcpu->entered_ns = INT64_MIN;
        break;
    case LULL_VCPU_RUN: /* which nobody requested */
    case LULL_VCPU_RETURN:
    case LULL_VCPU_RAISE: /* of any task */
    case LULL_VCPU_CALL:
        break;
    }
}

static void on_lost(void *user, const struct lull_lost_fact *fact)
{
    const struct reading *reading = user;
    if (lull_vcpus_can_use(fact->start_ns)) {
        lull_vec_push(&reading->losses[fact->host].starts, fact->start_ns);
    }
}

static int by_process(const void *a, const void *b)
{
    const struct lull_vcpu *x = a, *y = b;
    if (x->host != y->host) {
        return x->host < y->host ? -1 : 1;
    }
    if (x->pid != y->pid) {
        return x->pid < y->pid ? -1 : 1;
    }
    if (x->number != y->number) {
        return x->number < y->number ? -1 : 1;
    }
    return (x->tid > y->tid) - (x->tid < y->tid);
}

static bool is_same_vm(const struct lull_vcpu *x, const struct lull_vcpu *y)
{
    return x->host == y->host && x->pid == y->pid;
}

/* What exits say is right; half a pointer, which entries may have, is seldom small. */
static void number_vcpus(struct lull_vcpus *vcpus)
{
    for (size_t i = 0; i < vcpus->list.count; i++) {
        struct lull_vcpu *vcpu = &vcpus->list.items[i];
        vcpu->number = vcpu->exit_number >= 0 ? vcpu->exit_number : vcpu->entry_number;
    }
    if (vcpus->list.count) {
        qsort(vcpus->list.items, vcpus->list.count, sizeof *vcpus->list.items, by_process);
    }
    for (size_t first = 0, i = 0; i < vcpus->list.count; i++) {
        struct lull_vcpu *vcpu = &vcpus->list.items[i];
        first = is_same_vm(vcpu, &vcpus->list.items[first]) ? first : i;
        if (vcpu->number < 0) {
            vcpu->number = (int64_t)(i - first);
        }
    }
}

/* ---- moments ---- */

/* What the watch makes of a class. */
static const char plain, tick;

static const void *compile(struct lull_event_watch *watch, const struct lull_source *source,
                           uint32_t class_index, const char *host, struct lull_fields *fields)
{
    return g_strv_contains(lull_vocabulary_names(LULL_EVENT_local_timer_entry),
                           source->classes[class_index]->name)
               ? &tick
               : &plain;
}

static void forget(struct lull_event_watch *watch)
{
}

static void see(struct lull_event_watch *watch, const void *program, const struct lull_event *event,
                const uint8_t *fields)
{
    const struct reading *reading = (const struct reading *)watch;
    struct lull_guest_times *times = &reading->vcpus->hosts[event->host];
    if (!lull_is_cpu(event->cpu) || times->moments.count == LULL_VCPUS_MOST ||
        !lull_vcpus_can_use(event->time_ns)) {
        return;
    }
    lull_vec_push(&times->moments, (struct lull_moment){event->time_ns, event->cpu});
    times->n_cpus = MAX(times->n_cpus, event->cpu + 1);
    if (program != &tick) {
        return;
    }
    struct lull_field_value value;
    if (times->tick_vector < 0 && lull_event_field(event, "vector", &value, NULL) == 1 &&
        value.kind == LULL_INFO_INT) {
        times->tick_vector = (int64_t)value.integer.bits;
    }
    lull_vec_push(&times->ticks, (struct lull_moment){event->time_ns, event->cpu});
}

struct lull_vcpus *lull_vcpus_read(struct lull_session *session, void (*progress)(void *user),
                                   void *user)
{
    static const struct lull_event_watch_ops ops = {compile, forget, see};
    static const struct lull_facts facts = {.vcpu = on_vcpu, .lost = on_lost};
    struct lull_vcpus *vcpus = g_new0(struct lull_vcpus, 1);
    vcpus->n_hosts = lull_session_host_count(session);
    vcpus->hosts = g_new0(struct lull_guest_times, vcpus->n_hosts);
    for (uint32_t host = 0; host < vcpus->n_hosts; host++) {
        vcpus->hosts[host].tick_vector = -1;
    }
    struct reading reading = {
        .watch = {&ops},
        .vcpus = vcpus,
        .losses = g_new0(struct losses, vcpus->n_hosts),
        .model = lull_model_new(session, LULL_GROUP_SCHED | LULL_GROUP_STATE | LULL_GROUP_VIRT),
    };
    lull_model_subscribe(reading.model, &facts, &reading);
    lull_session_set_watch(session, &reading.watch);
    lull_model_run(reading.model, progress, user);
    lull_session_set_watch(session, NULL);
    lull_model_free(reading.model);
    for (uint32_t host = 0; host < vcpus->n_hosts; host++) {
        lull_vec_free(&reading.losses[host].starts);
    }
    g_free(reading.losses);
    lull_map_free(&reading.by_task);
    number_vcpus(vcpus);
    return vcpus;
}

void lull_vcpus_free(struct lull_vcpus *vcpus)
{
    for (size_t i = 0; i < vcpus->list.count; i++) {
        lull_vec_free(&vcpus->list.items[i].windows);
        lull_vec_free(&vcpus->list.items[i].lost);
        lull_vec_free(&vcpus->list.items[i].injections);
    }
    for (uint32_t host = 0; host < vcpus->n_hosts; host++) {
        lull_vec_free(&vcpus->hosts[host].moments);
        lull_vec_free(&vcpus->hosts[host].ticks);
    }
    lull_vec_free(&vcpus->list);
    g_free(vcpus->hosts);
    g_free(vcpus);
}
