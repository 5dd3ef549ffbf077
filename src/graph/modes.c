/* SPDX-License-Identifier: MIT */
/* What a task that runs is running: its own code, a system call, or, being a thread of the kernel,
 * nothing but the kernel. */
#include "base/search.h"
#include "graph/execgraph_private.h"

#include <string.h>

/* The span ends where the next one starts, which has no name; without a next one it never does. */
#define LONG_SPAN UINT32_MAX

static const struct call_spans *spans_of(const struct lull_execgraph *eg, uint32_t task)
{
    static const struct call_spans none = {0};
    return task < eg->calls.count ? &eg->calls.items[task] : &none;
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

void lull_modes_note(struct lull_execgraph *eg, const struct lull_syscall_fact *fact)
{
    const uint32_t host = lull_model_task(eg->model, fact->task)->host;
    lull_execgraph_host(eg, host)->has_calls = true;
    while (eg->calls.count <= fact->task) {
        memset(lull_vec_add(&eg->calls), 0, sizeof *eg->calls.items);
    }
    struct call_spans *spans = &eg->calls.items[fact->task];
    int64_t start_ns = fact->start_ns;
    if (spans->count && end_of(spans, spans->count - 1) != INT64_MAX) {
        start_ns = MAX(start_ns, end_of(spans, spans->count - 1));
    }
    const int64_t end_ns = MAX(fact->end_ns, start_ns);
    /* A call that never returns, exit, is reported when it starts. */
    const bool is_last = fact->is_open && end_ns == start_ns;
    const uint64_t ns = (uint64_t)end_ns - (uint64_t)start_ns;
    const bool is_long = is_last || ns >= LONG_SPAN;
    lull_vec_push(spans,
                  (struct call_span){start_ns, is_long ? LONG_SPAN : (uint32_t)ns, fact->name});
    if (is_long && !is_last) {
        lull_vec_push(spans, (struct call_span){end_ns, 0, LULL_NONE});
    }
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

void lull_modes_each(const struct lull_execgraph *eg, const struct path_piece *piece,
                     enum lull_mode outside, take_mode *take, void *user)
{
    const struct call_spans *spans = spans_of(eg, piece->hop->line);
    int64_t t = piece->start_ns;
    size_t i = LULL_LOWER_BOUND(k, spans->count, spans->items[k].start_ns <= t);
    for (i = i ? i - 1 : 0; i < spans->count && t < piece->end_ns; i++) {
        const int64_t start_ns = MAX(spans->items[i].start_ns, t);
        const int64_t end_ns = MIN(end_of(spans, i), piece->end_ns);
        if (start_ns >= piece->end_ns) {
            break;
        }
        if (end_ns <= start_ns) {
            continue;
        }
        if (t < start_ns) {
            take(user, outside, LULL_NONE, start_ns - t);
        }
        take(user, LULL_MODE_CALL, spans->items[i].name, end_ns - start_ns);
        t = end_ns;
    }
    if (t < piece->end_ns) {
        take(user, outside, LULL_NONE, piece->end_ns - t);
    }
}

void lull_modes_free(struct lull_execgraph *eg)
{
    for (size_t i = 0; i < eg->calls.count; i++) {
        lull_vec_free(&eg->calls.items[i]);
    }
    lull_vec_free(&eg->calls);
}
