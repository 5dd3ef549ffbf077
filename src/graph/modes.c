/* SPDX-License-Identifier: MIT */
/* What a task that runs is running: its own code, a system call, or, being a thread of the kernel,
 * nothing but the kernel; and what it waits for when memory is not there. */
#include "base/search.h"
#include "graph/execgraph_private.h"

#include <string.h>

/* The span ends where the next one starts, which has no name; without a next one it never does. */
#define LONG_SPAN UINT32_MAX

static const struct call_spans no_spans = {0};

static const struct call_spans *calls_of(const struct lull_execgraph *eg, uint32_t task)
{
    return task < eg->calls.count ? &eg->calls.items[task] : &no_spans;
}

static const struct call_spans *reclaims_of(const struct lull_execgraph *eg, uint32_t task)
{
    return task < eg->reclaims.count ? &eg->reclaims.items[task] : &no_spans;
}

static int64_t end_of(const struct call_spans *spans, size_t index)
{
    const struct call_span *span = &spans->items[index];
    if (span->ns != LONG_SPAN) {
        return span->start_ns + span->ns;
    }
    if (index + 1 == spans->count) {
        return INT64_MAX;
    }
    return span[1].name == LULL_NONE ? span[1].start_ns : span->start_ns;
}

/* `end_ns` is INT64_MAX for what never ends. */
static void add_span(struct call_spans *spans, int64_t start_ns, int64_t end_ns, uint32_t name)
{
    if (spans->count && end_of(spans, spans->count - 1) != INT64_MAX) {
        start_ns = MAX(start_ns, end_of(spans, spans->count - 1));
    }
    const uint64_t ns = (uint64_t)MAX(end_ns, start_ns) - (uint64_t)start_ns;
    const bool is_long = ns >= LONG_SPAN;
    lull_vec_push(spans, (struct call_span){start_ns, is_long ? LONG_SPAN : (uint32_t)ns, name});
    if (is_long && end_ns != INT64_MAX) {
        lull_vec_push(spans, (struct call_span){end_ns, 0, LULL_NONE});
    }
}

void lull_modes_note(struct lull_execgraph *eg, const struct lull_syscall_fact *fact)
{
    const uint32_t host = lull_model_task(eg->model, fact->task)->host;
    lull_execgraph_host(eg, host)->has_calls = true;
    while (eg->calls.count <= fact->task) {
        memset(lull_vec_add(&eg->calls), 0, sizeof *eg->calls.items);
    }
    /* A call that never returns, exit, is reported when it starts. */
    const bool is_last = fact->is_open && fact->end_ns == fact->start_ns;
    add_span(&eg->calls.items[fact->task], fact->start_ns, is_last ? INT64_MAX : fact->end_ns,
             fact->name);
}

/* kthreadd, and what it has made. */
static bool is_kernel_thread(const struct lull_model *model, uint32_t number)
{
    enum { KTHREADD = 2 };
    const struct lull_task *task = lull_model_task(model, number);
    return task->tid <= 0 || task->tid == KTHREADD || task->ppid == KTHREADD ||
           (task->parent != LULL_NONE && lull_model_task(model, task->parent)->tid == KTHREADD);
}

/* Some traces have chosen calls only. Nobody chooses this one. */
static bool has_all_calls(const struct lull_execgraph *eg, const struct lull_session *session,
                          uint32_t host)
{
    static const char *const names[] = {"sys_enter", "raw_syscalls:sys_enter",
                                        "syscall_entry_getppid", "sys_getppid", NULL};
    return host < eg->hosts.count && eg->hosts.items[host].has_calls &&
           lull_session_declares(session, host, names);
}

enum lull_mode lull_modes_outside(const struct lull_execgraph *eg,
                                  const struct lull_session *session, uint32_t task)
{
    if (is_kernel_thread(eg->model, task)) {
        return LULL_MODE_KERNEL;
    }
    return has_all_calls(eg, session, lull_model_task(eg->model, task)->host) ? LULL_MODE_USER
                                                                              : LULL_MODE_UNKNOWN;
}

/* The first span that may end after the time. */
static size_t span_at(const struct call_spans *spans, int64_t time_ns)
{
    const size_t i = LULL_LOWER_BOUND(k, spans->count, spans->items[k].start_ns <= time_ns);
    return i ? i - 1 : 0;
}

static void each_call(const struct call_spans *spans, int64_t t, int64_t last_ns,
                      enum lull_mode outside, take_mode *take, void *user)
{
    for (size_t i = span_at(spans, t); i < spans->count && spans->items[i].start_ns < last_ns;
         i++) {
        const int64_t start_ns = MAX(spans->items[i].start_ns, t);
        const int64_t end_ns = MIN(end_of(spans, i), last_ns);
        if (end_ns <= start_ns) {
            continue;
        }
        if (t < start_ns) {
            take(user, outside, LULL_NONE, start_ns - t);
        }
        take(user, LULL_MODE_CALL, spans->items[i].name, end_ns - start_ns);
        t = end_ns;
    }
    if (t < last_ns) {
        take(user, outside, LULL_NONE, last_ns - t);
    }
}

void lull_modes_each(const struct lull_execgraph *eg, const struct path_piece *piece,
                     enum lull_mode outside, take_mode *take, void *user)
{
    const struct call_spans *calls = calls_of(eg, piece->hop->line);
    const struct call_spans *reclaims = reclaims_of(eg, piece->hop->line);
    int64_t t = piece->start_ns;
    for (size_t i = span_at(reclaims, t); i < reclaims->count && t < piece->end_ns; i++) {
        const int64_t start_ns = CLAMP(reclaims->items[i].start_ns, t, piece->end_ns);
        const int64_t end_ns = CLAMP(end_of(reclaims, i), start_ns, piece->end_ns);
        each_call(calls, t, start_ns, outside, take, user);
        if (start_ns < end_ns) {
            take(user, LULL_MODE_RECLAIM, LULL_NONE, end_ns - start_ns);
        }
        t = end_ns;
    }
    each_call(calls, t, piece->end_ns, outside, take, user);
}

/* ---- memory ---- */

void lull_modes_paging(struct lull_execgraph *eg, const struct lull_paging_fact *fact)
{
    while (eg->paging.count <= fact->task) {
        lull_vec_push(&eg->paging, (struct paging_note){INT64_MIN, INT64_MIN, 0});
        memset(lull_vec_add(&eg->reclaims), 0, sizeof *eg->reclaims.items);
    }
    struct paging_note *note = &eg->paging.items[fact->task];
    switch (fact->step) {
    case LULL_PAGING_FILE:
        lull_execgraph_host(eg, fact->host)->has_faults = true;
        note->fault_ns = fact->time_ns;
        note->inode = fact->inode;
        break;
    case LULL_PAGING_RECLAIM_START:
        note->reclaim_ns = fact->time_ns;
        break;
    case LULL_PAGING_RECLAIM_END:
        if (note->reclaim_ns != INT64_MIN) {
            add_span(&eg->reclaims.items[fact->task], note->reclaim_ns, fact->time_ns, 0);
            note->reclaim_ns = INT64_MIN;
        }
        break;
    }
}

enum lull_fault lull_modes_fault(const struct lull_execgraph *eg, uint32_t task, int64_t start_ns,
                                 uint64_t *inode)
{
    enum { AT_ONCE_NS = 1000000 }; /* from the fault to the wait for what has to be read */
    const uint32_t host = lull_model_task(eg->model, task)->host;
    *inode = 0;
    if (host >= eg->hosts.count || !eg->hosts.items[host].has_faults) {
        return LULL_FAULT_ANY;
    }
    if (task < eg->paging.count && eg->paging.items[task].fault_ns != INT64_MIN &&
        start_ns - eg->paging.items[task].fault_ns < AT_ONCE_NS) {
        *inode = eg->paging.items[task].inode;
        return LULL_FAULT_FILE;
    }
    return LULL_FAULT_SWAP;
}

bool lull_modes_in_reclaim(const struct lull_execgraph *eg, uint32_t task, int64_t start_ns,
                           int64_t end_ns)
{
    const struct call_spans *spans = reclaims_of(eg, task);
    int64_t within_ns = 0;
    for (size_t i = span_at(spans, start_ns); i < spans->count && spans->items[i].start_ns < end_ns;
         i++) {
        within_ns +=
            MAX(MIN(end_of(spans, i), end_ns) - MAX(spans->items[i].start_ns, start_ns), 0);
    }
    return within_ns > (end_ns - start_ns) / 2;
}

void lull_modes_free(struct lull_execgraph *eg)
{
    for (size_t i = 0; i < eg->calls.count; i++) {
        lull_vec_free(&eg->calls.items[i]);
    }
    lull_vec_free(&eg->calls);
    for (size_t i = 0; i < eg->reclaims.count; i++) {
        lull_vec_free(&eg->reclaims.items[i]);
    }
    lull_vec_free(&eg->reclaims);
    lull_vec_free(&eg->paging);
}
