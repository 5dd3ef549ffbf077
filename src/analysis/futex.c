/* SPDX-License-Identifier: MIT */
/* Contended futexes: on which addresses tasks waited, how long, and who ended their waits. A futex
 * call that returns at once did not wait and is no contention. */
#include "analysis/futex.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/analysis.h"
#include "analysis/spread.h"
#include "base/map.h"
#include "base/slots.h"
#include "base/sums.h"
#include "kernel/vocabulary.h"

/* linux/futex.h */
enum {
    FUTEX_WAIT = 0,
    FUTEX_WAKE = 1,
    FUTEX_REQUEUE = 3,
    FUTEX_CMP_REQUEUE = 4,
    FUTEX_WAKE_OP = 5,
    FUTEX_LOCK_PI = 6,
    FUTEX_UNLOCK_PI = 7,
    FUTEX_WAIT_BITSET = 9,
    FUTEX_WAKE_BITSET = 10,
    FUTEX_WAIT_REQUEUE_PI = 11,
    FUTEX_CMP_REQUEUE_PI = 12,
    FUTEX_LOCK_PI2 = 13,
};

enum { EINTR_ = 4, EAGAIN_ = 11, ETIMEDOUT_ = 110, ERESTART_FIRST = 512, ERESTART_LAST = 516 };

/* One address in one process, or of one host if it is shared. */
struct futex {
    uint64_t address;
    /* The task that represents the process; of a shared one: that of all who used it, or LULL_NONE if several did. */
    uint32_t process;
    uint32_t host;
    int64_t last_ns;
    struct lull_distribution waits;
    uint64_t timeouts, interrupted; /* of the waits */
    uint64_t not_waited;            /* calls that were to wait, but the value had changed */
    uint64_t wakes, vain_wakes;     /* calls that wake; those that found nobody */
    uint32_t n_waiters, n_wakers;   /* tasks */
    uint32_t n_waiting;             /* when the window closed */
    int64_t waiting_ns;             /* so far, of all that still waited */
};

/* The waits of one task on one futex that one task ended. */
struct pair {
    uint32_t futex, waiter, waker; /* waker LULL_NONE: no task, or not known */
    uint64_t count;
    int64_t total_ns, max_ns, last_ns;
};

/* How the last time a task was blocked in a futex call ended. */
struct woken {
    int64_t end_ns;
    uint32_t waker;
};

struct waiting {
    uint32_t task, futex;
    int64_t start_ns, end_ns;
};

/* Addresses of one process or host: index of the futex. */
typedef LULL_VEC(struct lull_map) address_maps;

struct futex_analysis {
    struct lull_analysis head;
    bool is_filtered;
    uint64_t n_unmeasured;
    struct lull_slots is_futex;      /* label of a system call → 1 no, 2 yes */
    struct lull_slots woken_by_task; /* → index in `woken` + 1 */
    LULL_VEC(struct woken) woken;
    struct lull_slots processes;  /* task → the one that represents its process, + 1 */
    struct lull_map first_of_pid; /* host, pid → that task */
    struct lull_slots private_maps, shared_maps; /* process; host → index in `maps` + 1 */
    address_maps maps;
    LULL_VEC(struct futex) futexes;
    struct lull_map waiters;       /* futex, who has the row of the task → running number */
    struct lull_map waiting_tasks; /* futex, task → anything */
    struct lull_map wakers;        /* futex, task → anything */
    struct lull_map ends;          /* number of the waiter, waker → index in `pairs` */
    uint32_t n_waiters;
    LULL_VEC(struct pair) pairs;
    LULL_VEC(struct waiting) waiting;
    GString *text; /* of the cell made last */
};

static void futex_open(struct lull_analysis *analysis)
{
    struct futex_analysis *futexes = (struct futex_analysis *)analysis;
    const struct lull_question_params *params = analysis->params;
    futexes->is_filtered = params->host >= 0 || params->tids.count || params->pids.count ||
                           params->comms || params->cpus.count;
    futexes->text = g_string_new(NULL);
}

static void futex_free(struct lull_analysis *analysis)
{
    struct futex_analysis *futexes = (struct futex_analysis *)analysis;
    for (size_t i = 0; i < futexes->maps.count; i++) {
        lull_map_free(&futexes->maps.items[i]);
    }
    for (size_t i = 0; i < futexes->futexes.count; i++) {
        lull_distribution_clear(&futexes->futexes.items[i].waits);
    }
    lull_vec_free(&futexes->maps);
    lull_vec_free(&futexes->futexes);
    lull_vec_free(&futexes->woken);
    lull_vec_free(&futexes->pairs);
    lull_vec_free(&futexes->waiting);
    lull_slots_free(&futexes->is_futex);
    lull_slots_free(&futexes->woken_by_task);
    lull_slots_free(&futexes->processes);
    lull_slots_free(&futexes->private_maps);
    lull_slots_free(&futexes->shared_maps);
    lull_map_free(&futexes->first_of_pid);
    lull_map_free(&futexes->waiters);
    lull_map_free(&futexes->waiting_tasks);
    lull_map_free(&futexes->wakers);
    lull_map_free(&futexes->ends);
    g_string_free(futexes->text, TRUE);
}

/* ---- which futex ---- */

/* The task that represents a task's process: the first one seen of it. A task whose process is not
 * known represents itself. */
static uint32_t process_of(struct futex_analysis *futexes, uint32_t number)
{
    const struct lull_task *task = lull_model_task(futexes->head.model, number);
    if (task->pid < 0) {
        return number;
    }
    uint32_t *slot = lull_slots_at(&futexes->processes, number);
    if (*slot == 0) {
        uint64_t key = (uint64_t)task->host << 32 | (uint32_t)task->pid;
        uint32_t first = lull_map_find(&futexes->first_of_pid, key);
        if (first == LULL_MAP_NONE) {
            lull_map_insert(&futexes->first_of_pid, key, first = number);
        }
        *slot = first + 1;
    }
    return *slot - 1;
}

static uint32_t futex_of(struct futex_analysis *futexes, uint32_t task,
                         const struct lull_futex *call)
{
    uint32_t host = lull_model_task(futexes->head.model, task)->host;
    const uint32_t process = process_of(futexes, task);
    uint32_t *slot = call->is_private ? lull_slots_at(&futexes->private_maps, process)
                                      : lull_slots_at(&futexes->shared_maps, host);
    if (*slot == 0) {
        lull_vec_push(&futexes->maps, (struct lull_map){0});
        *slot = (uint32_t)futexes->maps.count;
    }
    struct lull_map *map = &futexes->maps.items[*slot - 1];
    uint32_t at = lull_map_find(map, call->address);
    if (at == LULL_MAP_NONE) {
        at = (uint32_t)futexes->futexes.count;
        lull_map_insert(map, call->address, at);
        lull_vec_push(&futexes->futexes,
                      (struct futex){.address = call->address, .process = process, .host = host});
    } else if (futexes->futexes.items[at].process != process) {
        futexes->futexes.items[at].process = LULL_NONE;
    }
    return at;
}

/* ---- facts ---- */

/* "futex", "futex_time32" and "futex_time64" for 32-bit calls, "futex_wait". */
static bool is_futex_call(struct futex_analysis *futexes, uint32_t label)
{
    uint32_t *slot = lull_slots_at(&futexes->is_futex, label);
    if (*slot == 0) {
        *slot = g_str_has_prefix(lull_model_label(futexes->head.model, label), "futex") ? 2 : 1;
    }
    return *slot == 2;
}

/* Which futex it was comes out only when the call ends. */
static void futex_state(void *user, const struct lull_state_fact *fact)
{
    struct futex_analysis *futexes = user;
    if (fact->state != LULL_STATE_BLOCKED || fact->syscall == LULL_NONE || !fact->wakeup ||
        !is_futex_call(futexes, fact->syscall)) {
        return;
    }
    uint32_t *slot = lull_slots_at(&futexes->woken_by_task, fact->task);
    if (*slot == 0) {
        lull_vec_push(&futexes->woken, (struct woken){0});
        *slot = (uint32_t)futexes->woken.count;
    }
    futexes->woken.items[*slot - 1] = (struct woken){
        fact->end_ns, fact->wakeup->cause == LULL_CAUSE_TASK ? fact->wakeup->task : LULL_NONE};
}

static uint32_t waker_of(struct futex_analysis *futexes, const struct lull_syscall_fact *fact)
{
    uint32_t at = *lull_slots_at(&futexes->woken_by_task, fact->task);
    if (at == 0) {
        return LULL_NONE;
    }
    const struct woken *woken = &futexes->woken.items[at - 1];
    return woken->end_ns >= fact->start_ns && woken->end_ns <= fact->end_ns ? woken->waker
                                                                            : LULL_NONE;
}

/* Each task once for each futex. */
static void count_task(struct lull_map *seen, uint32_t *n, uint32_t futex, uint32_t task)
{
    uint64_t key = (uint64_t)futex << 32 | task;
    if (lull_map_find(seen, key) == LULL_MAP_NONE) {
        lull_map_insert(seen, key, 0);
        ++*n;
    }
}

static struct pair *pair_of(struct futex_analysis *futexes, uint32_t futex, uint32_t waiter,
                            uint32_t waker)
{
    uint64_t key = (uint64_t)futex << 32 | waiter;
    uint32_t number = lull_map_find(&futexes->waiters, key);
    if (number == LULL_MAP_NONE) {
        number = futexes->n_waiters++;
        lull_map_insert(&futexes->waiters, key, number);
    }
    key = (uint64_t)number << 32 | waker;
    uint32_t at = lull_map_find(&futexes->ends, key);
    if (at == LULL_MAP_NONE) {
        at = (uint32_t)futexes->pairs.count;
        lull_map_insert(&futexes->ends, key, at);
        lull_vec_push(&futexes->pairs,
                      (struct pair){.futex = futex, .waiter = waiter, .waker = waker});
    }
    return &futexes->pairs.items[at];
}

enum role { ROLE_NONE, ROLE_WAIT, ROLE_WAKE };

static enum role role_of(int32_t operation)
{
    static const uint8_t roles[] = {
        [FUTEX_WAIT] = ROLE_WAIT,        [FUTEX_LOCK_PI] = ROLE_WAIT,
        [FUTEX_WAIT_BITSET] = ROLE_WAIT, [FUTEX_WAIT_REQUEUE_PI] = ROLE_WAIT,
        [FUTEX_LOCK_PI2] = ROLE_WAIT,    [FUTEX_WAKE] = ROLE_WAKE,
        [FUTEX_REQUEUE] = ROLE_WAKE,     [FUTEX_CMP_REQUEUE] = ROLE_WAKE,
        [FUTEX_WAKE_OP] = ROLE_WAKE,     [FUTEX_UNLOCK_PI] = ROLE_WAKE,
        [FUTEX_WAKE_BITSET] = ROLE_WAKE, [FUTEX_CMP_REQUEUE_PI] = ROLE_WAKE,
    };
    return operation >= 0 && operation < (int32_t)G_N_ELEMENTS(roles) ? roles[operation]
                                                                      : ROLE_NONE;
}

static bool is_interrupted(int32_t error)
{
    return error == EINTR_ || (error >= ERESTART_FIRST && error <= ERESTART_LAST);
}

bool lull_futex_has_waited(const struct lull_syscall_fact *fact)
{
    return fact->futex && !fact->is_open && role_of(fact->futex->operation) == ROLE_WAIT &&
           (fact->error == 0 || fact->error == ETIMEDOUT_ || is_interrupted(fact->error));
}

static void count_wait(struct futex_analysis *futexes, uint32_t at,
                       const struct lull_syscall_fact *fact)
{
    struct futex *futex = &futexes->futexes.items[at];
    int32_t error = fact->error;
    if (error == EAGAIN_) {
        futex->not_waited++;
    }
    if (!lull_futex_has_waited(fact)) {
        return;
    }
    if (fact->start_ns == INT64_MIN) {
        futexes->n_unmeasured++;
        return;
    }
    int64_t duration_ns = fact->end_ns - fact->start_ns;
    if (!lull_params_want_duration(futexes->head.params, duration_ns)) {
        return;
    }
    futex->timeouts += error == ETIMEDOUT_;
    futex->interrupted += is_interrupted(error);
    lull_spread_add(&futex->waits, duration_ns);
    uint32_t waker = error == 0 ? waker_of(futexes, fact) : LULL_NONE;
    count_task(&futexes->waiting_tasks, &futex->n_waiters, at, fact->task);
    /* A row for each container, if --by asks for that; tasks are counted all the same. */
    const struct lull_question_params *params = futexes->head.params;
    struct pair *pair =
        pair_of(futexes, at, lull_params_row(params, futexes->head.model, fact->task),
                lull_params_row(params, futexes->head.model, waker));
    pair->count++;
    pair->total_ns += duration_ns;
    pair->max_ns = MAX(pair->max_ns, duration_ns);
    pair->last_ns = fact->end_ns;
    if (waker != LULL_NONE) {
        count_task(&futexes->wakers, &futex->n_wakers, at, waker);
    }
}

static void count_wake(struct futex_analysis *futexes, uint32_t at,
                       const struct lull_syscall_fact *fact)
{
    struct futex *futex = &futexes->futexes.items[at];
    if (!fact->has_ret || fact->error != 0) {
        return;
    }
    futex->wakes++;
    /* FUTEX_UNLOCK_PI does not return how many, but 0 for done. */
    if (fact->ret == 0 && fact->futex->operation != FUTEX_UNLOCK_PI) {
        futex->vain_wakes++;
    } else if (fact->ret > 0) {
        count_task(&futexes->wakers, &futex->n_wakers, at, fact->task);
    }
}

static bool is_wanted(const struct futex_analysis *futexes, const struct lull_syscall_fact *fact)
{
    const struct lull_question_params *params = futexes->head.params;
    const struct lull_model *model = futexes->head.model;
    return !futexes->is_filtered ||
           (lull_params_want_task(params, model, fact->task, fact->end_ns) &&
            lull_params_want_cpu(params, lull_model_task(model, fact->task)->host, fact->cpu));
}

static void futex_syscall(void *user, const struct lull_syscall_fact *fact)
{
    struct futex_analysis *futexes = user;
    if (!fact->futex || fact->is_open || !is_wanted(futexes, fact)) {
        return;
    }
    enum role role = role_of(fact->futex->operation);
    if (role == ROLE_NONE) {
        return;
    }
    uint32_t at = futex_of(futexes, fact->task, fact->futex);
    futexes->futexes.items[at].last_ns = fact->end_ns;
    if (role == ROLE_WAIT) {
        count_wait(futexes, at, fact);
    } else {
        count_wake(futexes, at, fact);
    }
}

static void add_waiting(void *user, const struct lull_syscall_fact *fact)
{
    struct futex_analysis *futexes = user;
    if (!fact->futex || role_of(fact->futex->operation) != ROLE_WAIT ||
        lull_model_task(futexes->head.model, fact->task)->is_dead || !is_wanted(futexes, fact) ||
        !lull_params_want_open(futexes->head.params, fact)) {
        return;
    }
    uint32_t at = futex_of(futexes, fact->task, fact->futex);
    struct futex *futex = &futexes->futexes.items[at];
    futex->n_waiting++;
    futex->last_ns = MAX(futex->last_ns, fact->end_ns);
    if (fact->start_ns != INT64_MIN) {
        lull_add(&futex->waiting_ns, fact->end_ns - fact->start_ns);
    }
    lull_vec_push(&futexes->waiting,
                  (struct waiting){fact->task, at, fact->start_ns, fact->end_ns});
}

static int compare_waiting(const void *a, const void *b)
{
    const struct waiting *x = a, *y = b;
    if (x->start_ns != y->start_ns) {
        return x->start_ns < y->start_ns ? -1 : 1;
    }
    return (x->task > y->task) - (x->task < y->task);
}

static int compare_pairs(const void *a, const void *b)
{
    const struct pair *x = a, *y = b;
    if (x->total_ns != y->total_ns) {
        return x->total_ns > y->total_ns ? -1 : 1;
    }
    if (x->waiter != y->waiter) {
        return x->waiter < y->waiter ? -1 : 1;
    }
    return x->futex != y->futex ? (x->futex < y->futex ? -1 : 1)
                                : (x->waker > y->waker) - (x->waker < y->waker);
}

static void futex_close(struct lull_analysis *analysis, int64_t end_ns)
{
    struct futex_analysis *futexes = (struct futex_analysis *)analysis;
    lull_model_each_syscall(analysis->model, end_ns, add_waiting, futexes);
    if (futexes->waiting.count) {
        qsort(futexes->waiting.items, futexes->waiting.count, sizeof *futexes->waiting.items,
              compare_waiting);
    }
    if (futexes->pairs.count) {
        qsort(futexes->pairs.items, futexes->pairs.count, sizeof *futexes->pairs.items,
              compare_pairs);
    }
}

/* ---- tables ---- */

struct futex_table {
    const struct futex_analysis *futexes;
    LULL_VEC(uint32_t) order;
};

static struct lull_cell duration_cell(unsigned __int128 ns)
{
    return lull_cell_integer(LULL_CELL_DURATION, (int64_t)MIN(ns, (unsigned __int128)INT64_MAX));
}

static struct lull_cell number_cell(uint64_t number)
{
    return lull_cell_integer(LULL_CELL_NUMBER, (int64_t)number);
}

static struct lull_cell address_cell(const struct futex_analysis *futexes,
                                     const struct futex *futex)
{
    g_string_printf(futexes->text, "0x%" G_GINT64_MODIFIER "x", futex->address);
    return lull_cell_text(LULL_CELL_STRING, futexes->text->str);
}

static const struct lull_result_column futex_columns[] = {
    {"Host", "HOST", "host", LULL_CELL_HOST, NULL, LULL_USE_HOST | LULL_USE_OWN},
    {"Address", "ADDRESS", "address", LULL_CELL_STRING, NULL, LULL_USE_OWN},
    {"Process", "PROCESS", "process", LULL_CELL_PROCESS, NULL, LULL_USE_OWN},
    {"Waiting tasks", "WAITERS", "waiters", LULL_CELL_NUMBER, "tasks", LULL_USE_OWN},
    {"Waking tasks", "WAKERS", "wakers", LULL_CELL_NUMBER, "tasks", LULL_USE_OWN},
    {"Waits", "WAITS", "waits", LULL_CELL_NUMBER, "calls", LULL_USE_OWN},
    {"Wait time", "TIME", "wait_ns", LULL_CELL_DURATION, NULL, LULL_USE_OWN | LULL_USE_BAR},
    {"Average wait", "AVG", "avg_ns", LULL_CELL_DURATION, NULL, LULL_USE_OWN},
    {"Maximum wait", "MAX", "max_ns", LULL_CELL_DURATION, NULL, LULL_USE_OWN},
    LULL_SPREAD_PERCENTILES,
    {"Time-outs", "TIMEOUTS", "timeouts", LULL_CELL_NUMBER, "waits", LULL_USE_OWN},
    {"Interrupted waits", "INTERRUPTED", "interrupted", LULL_CELL_NUMBER, "waits",
     LULL_USE_OWN | LULL_USE_NOT_TEXT},
    {"Calls that found the value changed", "EAGAIN", "not_waited", LULL_CELL_NUMBER, "calls",
     LULL_USE_OWN},
    {"Calls that wake", "WAKES", "wakes", LULL_CELL_NUMBER, "calls", LULL_USE_OWN},
    {"Calls that woke nobody", "VAIN", "vain_wakes", LULL_CELL_NUMBER, "calls",
     LULL_USE_OWN | LULL_USE_NOT_TEXT},
    {"Tasks that still wait", "WAITING", "waiting", LULL_CELL_NUMBER, "tasks", LULL_USE_OWN},
    {"Their wait time so far", "SO FAR", "waiting_ns", LULL_CELL_DURATION, NULL, LULL_USE_OWN},
    {0},
};

static const struct lull_result_class futex_class = {
    .name = "futex", .title = "Contended futexes", .columns = futex_columns, .is_own = true};

/* The only process that used the futex, named after its leader. */
static struct lull_cell process_cell(const struct futex_analysis *futexes,
                                     const struct futex *futex)
{
    const struct lull_model *model = futexes->head.model;
    if (futex->process == LULL_NONE) {
        return lull_cell_integer(LULL_CELL_EMPTY, 0);
    }
    const struct lull_task *first = lull_model_task(model, futex->process);
    uint32_t leader =
        first->pid < 0 ? LULL_NONE : lull_model_find_tid(model, first->host, first->pid);
    struct lull_cell cell =
        lull_cell_task(model, leader == LULL_NONE ? futex->process : leader, futex->last_ns, true);
    cell.tid = first->pid < 0 ? first->tid : -1;
    return cell;
}

static void futex_row(const void *user, uint64_t index, struct lull_cell *cells)
{
    const struct futex_table *table = user;
    const struct futex_analysis *futexes = table->futexes;
    const struct futex *futex = &futexes->futexes.items[table->order.items[index]];
    const struct lull_distribution *waits = &futex->waits;
    *cells++ = lull_cell_host_of(&futexes->head, futex->host);
    *cells++ = address_cell(futexes, futex);
    *cells++ = process_cell(futexes, futex);
    *cells++ = number_cell(futex->n_waiters);
    *cells++ = number_cell(futex->n_wakers);
    *cells++ = number_cell(waits->count);
    *cells++ = duration_cell(waits->sum);
    if (waits->count) {
        cells[0] = lull_cell_real(LULL_CELL_DURATION, lull_distribution_mean(waits));
        cells[1] = lull_cell_integer(LULL_CELL_DURATION, waits->max);
    }
    cells = lull_spread_percentiles(waits, cells + 2);
    *cells++ = number_cell(futex->timeouts);
    *cells++ = number_cell(futex->interrupted);
    *cells++ = number_cell(futex->not_waited);
    *cells++ = number_cell(futex->wakes);
    *cells++ = number_cell(futex->vain_wakes);
    *cells++ = number_cell(futex->n_waiting);
    if (futex->n_waiting) {
        *cells = lull_cell_integer(LULL_CELL_DURATION, futex->waiting_ns);
    }
}

static const struct lull_result_column pair_columns[] = {
    {"Host", "HOST", "host", LULL_CELL_HOST, NULL, LULL_USE_HOST | LULL_USE_OWN},
    {"Waiter", "WAITER", "waiter", LULL_CELL_PROCESS, NULL, LULL_USE_OWN},
    {"Woken by", "WAKER", "waker", LULL_CELL_PROCESS, NULL, LULL_USE_OWN},
    {"Address", "ADDRESS", "address", LULL_CELL_STRING, NULL, LULL_USE_OWN},
    {"Waits", "WAITS", "waits", LULL_CELL_NUMBER, "calls", LULL_USE_OWN},
    {"Wait time", "TIME", "wait_ns", LULL_CELL_DURATION, NULL, LULL_USE_OWN | LULL_USE_BAR},
    {"Average wait", "AVG", "avg_ns", LULL_CELL_DURATION, NULL, LULL_USE_OWN},
    {"Maximum wait", "MAX", "max_ns", LULL_CELL_DURATION, NULL, LULL_USE_OWN},
    {0},
};

static const struct lull_result_class pair_class = {.name = "wakers",
                                                    .title = "Futex waits by waiter and waker",
                                                    .columns = pair_columns,
                                                    .is_own = true};

static void pair_row(const void *user, uint64_t index, struct lull_cell *cells)
{
    const struct futex_analysis *futexes = user;
    const struct pair *pair = &futexes->pairs.items[index];
    const struct futex *futex = &futexes->futexes.items[pair->futex];
    *cells++ = lull_cell_host_of(&futexes->head, futex->host);
    *cells++ = lull_cell_task(futexes->head.model, pair->waiter, pair->last_ns, true);
    *cells++ = lull_cell_task(futexes->head.model, pair->waker, pair->last_ns, true);
    *cells++ = address_cell(futexes, futex);
    *cells++ = number_cell(pair->count);
    *cells++ = lull_cell_integer(LULL_CELL_DURATION, pair->total_ns);
    *cells++ = lull_cell_real(LULL_CELL_DURATION, (double)pair->total_ns / (double)pair->count);
    *cells = lull_cell_integer(LULL_CELL_DURATION, pair->max_ns);
}

static const struct lull_result_column waiting_columns[] = {
    {"Host", "HOST", "host", LULL_CELL_HOST, NULL, LULL_USE_HOST | LULL_USE_OWN},
    {"Process", "PROCESS", "process", LULL_CELL_PROCESS, NULL, LULL_USE_OWN},
    {"Address", "ADDRESS", "address", LULL_CELL_STRING, NULL, LULL_USE_OWN},
    {"Wait begin", "SINCE", "begin_ns", LULL_CELL_TIMESTAMP, NULL, LULL_USE_OWN},
    {"Duration so far", "DURATION", "duration_ns", LULL_CELL_DURATION, NULL, LULL_USE_OWN},
    {0},
};

static const struct lull_result_class waiting_class = {.name = "waiting",
                                                       .title = "Tasks that still wait on a futex",
                                                       .columns = waiting_columns,
                                                       .is_own = true};

static void waiting_row(const void *user, uint64_t index, struct lull_cell *cells)
{
    const struct futex_analysis *futexes = user;
    const struct waiting *waiting = &futexes->waiting.items[index];
    const struct futex *futex = &futexes->futexes.items[waiting->futex];
    *cells++ = lull_cell_host_of(&futexes->head, futex->host);
    *cells++ = lull_cell_task(futexes->head.model, waiting->task, waiting->end_ns, true);
    *cells++ = address_cell(futexes, futex);
    if (waiting->start_ns == INT64_MIN) {
        cells[0].class = cells[1].class = LULL_CELL_UNKNOWN;
        return;
    }
    *cells++ = lull_cell_integer(LULL_CELL_TIMESTAMP, waiting->start_ns);
    *cells = lull_cell_integer(LULL_CELL_DURATION, waiting->end_ns - waiting->start_ns);
}

static int compare_futexes(const void *a, const void *b, void *user)
{
    const struct futex_analysis *futexes = user;
    uint32_t at_x = *(const uint32_t *)a, at_y = *(const uint32_t *)b;
    const struct futex *x = &futexes->futexes.items[at_x], *y = &futexes->futexes.items[at_y];
    unsigned __int128 x_ns = x->waits.sum + (uint64_t)x->waiting_ns;
    unsigned __int128 y_ns = y->waits.sum + (uint64_t)y->waiting_ns;
    if (x_ns != y_ns) {
        return x_ns > y_ns ? -1 : 1;
    }
    return (at_x > at_y) - (at_x < at_y);
}

static uint64_t shown(const struct futex_analysis *futexes, uint64_t count)
{
    uint32_t limit = futexes->head.params->limit;
    return limit ? MIN(count, limit) : count;
}

static void futex_emit(struct lull_analysis *analysis, const struct lull_window *window,
                       struct lull_sink *sink)
{
    struct futex_analysis *futexes = (struct futex_analysis *)analysis;
    struct futex_table table = {.futexes = futexes};
    (void)window;
    lull_note_count(
        sink, futexes->n_unmeasured,
        "wait is not counted, as its start was not seen: how long it took is not known",
        "waits are not counted, as their start was not seen: how long they took is not known");
    for (uint32_t i = 0; i < futexes->futexes.count; i++) {
        const struct futex *futex = &futexes->futexes.items[i];
        if (futex->waits.count || futex->n_waiting) {
            lull_vec_push(&table.order, i);
        }
    }
    if (table.order.count) {
        g_qsort_with_data(table.order.items, (int)table.order.count, sizeof *table.order.items,
                          compare_futexes, futexes);
    }
    sink->table(sink, &(struct lull_result_table){.class = &futex_class,
                                                  .n_rows = shown(futexes, table.order.count),
                                                  .row = futex_row,
                                                  .user = &table});
    sink->table(sink, &(struct lull_result_table){.class = &pair_class,
                                                  .n_rows = shown(futexes, futexes->pairs.count),
                                                  .row = pair_row,
                                                  .user = futexes});
    sink->table(sink, &(struct lull_result_table){.class = &waiting_class,
                                                  .n_rows = futexes->waiting.count,
                                                  .row = waiting_row,
                                                  .user = futexes});
    lull_vec_free(&table.order);
}

static const char *const tags[] = {"futex", "lock", "top", NULL};
static const struct lull_result_class *const tables[] = {&futex_class, &pair_class, &waiting_class,
                                                         NULL};

const struct lull_analysis_class lull_analysis_futex = {
    .name = "futex",
    .title = "Contended futexes",
    .description = "Futexes that tasks waited on, how long, and who ended the waits",
    .tags = tags,
    .tables = tables,
    .question = "syscalls",
    .groups = LULL_GROUP_SCHED | LULL_GROUP_STATE | LULL_GROUP_IRQ | LULL_GROUP_SYSCALL |
              LULL_GROUP_FUTEX,
    .is_by_host = true,
    .size = sizeof(struct futex_analysis),
    .facts = {.state = futex_state, .syscall = futex_syscall},
    .open = futex_open,
    .close = futex_close,
    .emit = futex_emit,
    .free = futex_free,
};
