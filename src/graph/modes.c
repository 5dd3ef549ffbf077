/* SPDX-License-Identifier: MIT */
/* What a task that runs is running: its own code, a system call, or, being a thread of the kernel,
 * nothing but the kernel; and what it waits for when memory is not there. */
#include "graph/execgraph_private.h"

#include <string.h>

static const struct lull_spans no_spans = {0};

static const struct lull_spans *calls_of(const struct lull_execgraph *eg, uint32_t task)
{
    return task < eg->calls.count ? &eg->calls.items[task] : &no_spans;
}

static const struct lull_spans *reclaims_of(const struct lull_execgraph *eg, uint32_t task)
{
    return task < eg->reclaims.count ? &eg->reclaims.items[task] : &no_spans;
}

static __attribute__((noinline)) void add_calls(struct lull_execgraph *eg, uint32_t task)
{
    while (eg->calls.count <= task) {
        memset(lull_vec_add(&eg->calls), 0, sizeof *eg->calls.items);
    }
}

static inline struct lull_spans *use_calls(struct lull_execgraph *eg, uint32_t task)
{
    if (G_UNLIKELY(eg->calls.count <= task)) {
        add_calls(eg, task);
    }
    return &eg->calls.items[task];
}

void lull_modes_note(struct lull_execgraph *eg, const struct lull_syscall_fact *fact)
{
    if (fact->is_taken) {
        lull_spans_add(use_calls(eg, fact->thread), fact->start_ns, fact->taken_ns, fact->name);
    }
    if (G_UNLIKELY(fact->task <
                   eg->paging.count)) { /* what lasts longer than a call has an end that was lost */
        eg->paging.items[fact->task].reclaim_ns = eg->paging.items[fact->task].move_ns = INT64_MIN;
    }
    struct lull_spans *calls = use_calls(eg, fact->task);
    if (calls->marks.count == 0) {
        const uint32_t host = lull_model_task(eg->model, fact->task)->host;
        lull_execgraph_host(eg, host)->has_calls = true;
    }
    /* A call that never returns, exit, is reported when it starts. */
    const bool is_last = fact->is_open && fact->end_ns == fact->start_ns;
    lull_spans_add(calls, fact->is_taken ? fact->taken_ns : fact->start_ns,
                   is_last ? INT64_MAX : fact->end_ns, fact->name);
}

/* Threads that the kernel makes in a program that wants an io_uring, or virtual devices: they are born in the kernel and
 * stay there (kernel/fork.c: create_io_thread(), kernel/vhost_task.c). They have these names, and make no calls. */
static bool is_of_kernel(const struct lull_execgraph *eg, uint32_t number)
{
    static const char *const names[] = {"iou-sqp-", "iou-wrk-", "vhost-"};
    const char *comm = lull_model_comm(eg->model, number, INT64_MAX);
    for (size_t i = 0; comm && i < G_N_ELEMENTS(names); i++) {
        if (g_str_has_prefix(comm, names[i])) {
            return calls_of(eg, number)->marks.count == 0;
        }
    }
    return false;
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
    if (lull_model_is_kernel_thread(eg->model, task) || is_of_kernel(eg, task)) {
        return LULL_MODE_KERNEL;
    }
    return has_all_calls(eg, session, lull_model_task(eg->model, task)->host) ? LULL_MODE_USER
                                                                              : LULL_MODE_UNKNOWN;
}

static void each_call(const struct lull_spans *spans, int64_t t, int64_t last_ns,
                      enum lull_mode outside, take_mode *take, void *user)
{
    struct lull_spans_reader reader = lull_spans_from(spans, t);
    struct lull_span span;
    while (lull_spans_next(&reader, &span) && span.start_ns < last_ns) {
        const int64_t start_ns = MAX(span.start_ns, t);
        const int64_t end_ns = MIN(span.end_ns, last_ns);
        if (end_ns <= start_ns) {
            continue;
        }
        if (t < start_ns) {
            take(user, outside, LULL_NONE, start_ns - t);
        }
        take(user, LULL_MODE_CALL, span.name, end_ns - start_ns);
        t = end_ns;
    }
    if (t < last_ns) {
        take(user, outside, LULL_NONE, last_ns - t);
    }
}

/* Until when a core is dumped, once that has started. */
static int64_t dump_end_ns(const struct lull_execgraph *eg, uint32_t task)
{
    return lull_model_task(eg->model, task)->exit_ns;
}

bool lull_modes_in_dump(const struct lull_execgraph *eg, uint32_t task, int64_t time_ns)
{
    return task < eg->paging.count && eg->paging.items[task].dump_ns <= time_ns &&
           time_ns < dump_end_ns(eg, task);
}

static void each_alive(const struct lull_execgraph *eg, const struct path_piece *piece,
                       enum lull_mode outside, take_mode *take, void *user)
{
    const struct lull_spans *calls = calls_of(eg, piece->hop->line);
    struct lull_spans_reader reclaims =
        lull_spans_from(reclaims_of(eg, piece->hop->line), piece->start_ns);
    struct lull_span reclaim;
    int64_t t = piece->start_ns;
    while (t < piece->end_ns && lull_spans_next(&reclaims, &reclaim)) {
        const int64_t start_ns = CLAMP(reclaim.start_ns, t, piece->end_ns);
        const int64_t end_ns = CLAMP(reclaim.end_ns, start_ns, piece->end_ns);
        each_call(calls, t, start_ns, outside, take, user);
        if (start_ns < end_ns) {
            take(user, (enum lull_mode)reclaim.name, LULL_NONE, end_ns - start_ns);
        }
        t = end_ns;
    }
    each_call(calls, t, piece->end_ns, outside, take, user);
}

int64_t lull_modes_dump_ns(const struct lull_execgraph *eg, const struct path_piece *piece,
                           int64_t *start_ns)
{
    const uint32_t task = piece->hop->line;
    const int64_t dump_ns = task < eg->paging.count ? eg->paging.items[task].dump_ns : INT64_MAX;
    *start_ns = CLAMP(dump_ns, piece->start_ns, piece->end_ns);
    return *start_ns < piece->end_ns
               ? CLAMP(dump_end_ns(eg, task), *start_ns, piece->end_ns) - *start_ns
               : 0;
}

void lull_modes_each(const struct lull_execgraph *eg, const struct path_piece *piece,
                     enum lull_mode outside, take_mode *take, void *user)
{
    int64_t start_ns;
    const int64_t dump_ns = lull_modes_dump_ns(eg, piece, &start_ns);
    if (dump_ns == 0) {
        each_alive(eg, piece, outside, take, user);
        return;
    }
    struct path_piece before = *piece, after = *piece;
    before.end_ns = start_ns;
    after.start_ns = start_ns + dump_ns;
    each_alive(eg, &before, outside, take, user);
    take(user, LULL_MODE_DUMP, LULL_NONE, dump_ns);
    each_alive(eg, &after, outside, take, user);
}

/* ---- memory ---- */

static void add_span(struct lull_execgraph *eg, const struct lull_paging_fact *fact,
                     int64_t start_ns, enum lull_mode mode)
{
    if (start_ns != INT64_MIN) {
        lull_spans_add(&eg->reclaims.items[fact->task], start_ns, fact->time_ns, mode);
    }
}

/* One of the two starts or ends; the other, if it is under way, has to wait, or goes on. */
static void switch_span(struct lull_execgraph *eg, const struct lull_paging_fact *fact,
                        enum lull_mode mode, bool is_start)
{
    struct paging_note *note = &eg->paging.items[fact->task];
    const bool is_reclaim = mode == LULL_MODE_RECLAIM;
    int64_t *own_ns = is_reclaim ? &note->reclaim_ns : &note->move_ns;
    int64_t *other_ns = is_reclaim ? &note->move_ns : &note->reclaim_ns;
    if (is_start) {
        add_span(eg, fact, *other_ns, is_reclaim ? LULL_MODE_COMPACTION : LULL_MODE_RECLAIM);
    } else {
        add_span(eg, fact, *own_ns, mode);
    }
    *own_ns = is_start ? fact->time_ns : INT64_MIN;
    *other_ns = *other_ns == INT64_MIN ? INT64_MIN : fact->time_ns;
}

void lull_modes_paging(struct lull_execgraph *eg, const struct lull_paging_fact *fact)
{
    lull_faults_paging(&eg->faults, fact);
    while (eg->paging.count <= fact->task) {
        lull_vec_push(&eg->paging, (struct paging_note){INT64_MIN, INT64_MIN, INT64_MAX});
        memset(lull_vec_add(&eg->reclaims), 0, sizeof *eg->reclaims.items);
    }
    struct paging_note *note = &eg->paging.items[fact->task];
    switch (fact->step) {
    case LULL_PAGING_FILE:
    case LULL_PAGING_DIRTY:
        break;
    case LULL_PAGING_RECLAIM_START:
        switch_span(eg, fact, LULL_MODE_RECLAIM, true);
        break;
    case LULL_PAGING_GROUP_RECLAIM_END:
    case LULL_PAGING_RECLAIM_END:
        switch_span(eg, fact, LULL_MODE_RECLAIM, false);
        break;
    case LULL_PAGING_COMPACTION_START:
        switch_span(eg, fact, LULL_MODE_COMPACTION, true);
        break;
    case LULL_PAGING_COMPACTION_END:
        switch_span(eg, fact, LULL_MODE_COMPACTION, false);
        break;
    case LULL_PAGING_DUMP:
        note->dump_ns = MIN(note->dump_ns, fact->time_ns);
        break;
    }
}

enum lull_mode lull_modes_meanwhile(const struct lull_execgraph *eg, uint32_t task,
                                    int64_t start_ns, int64_t end_ns)
{
    struct lull_spans_reader reader = lull_spans_from(reclaims_of(eg, task), start_ns);
    struct lull_span span;
    int64_t within_ns[LULL_MODE_COUNT] = {0};
    if (lull_modes_in_dump(eg, task, start_ns)) {
        return LULL_MODE_DUMP;
    }
    while (lull_spans_next(&reader, &span) && span.start_ns < end_ns) {
        within_ns[span.name] += MAX(MIN(span.end_ns, end_ns) - MAX(span.start_ns, start_ns), 0);
    }
    const enum lull_mode most = within_ns[LULL_MODE_COMPACTION] > within_ns[LULL_MODE_RECLAIM]
                                    ? LULL_MODE_COMPACTION
                                    : LULL_MODE_RECLAIM;
    return within_ns[most] > (end_ns - start_ns) / 2 ? most : LULL_MODE_UNKNOWN;
}

void lull_modes_free(struct lull_execgraph *eg)
{
    for (size_t i = 0; i < eg->calls.count; i++) {
        lull_spans_free(&eg->calls.items[i]);
    }
    lull_vec_free(&eg->calls);
    for (size_t i = 0; i < eg->reclaims.count; i++) {
        lull_spans_free(&eg->reclaims.items[i]);
    }
    lull_vec_free(&eg->reclaims);
    lull_vec_free(&eg->paging);
    lull_faults_free(&eg->faults);
}
