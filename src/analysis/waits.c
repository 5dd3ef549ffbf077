/* SPDX-License-Identifier: MIT */
/* What all tasks of the machines waited for: how long each was blocked, or ready to run without a
 * CPU, by cause, system call, object, and who ended the wait. The offline twin of offcputime and
 * offwaketime. */
#include "analysis/waits_private.h"

#include <string.h>

#include "base/sums.h"
#include "graph/execgraph.h"
#include "kernel/vocabulary.h"
#include "source/files/recording.h"
#include "source/session/streams.h"

static guint hash_key(gconstpointer key)
{
    return lull_hash_words(key, sizeof(struct lull_wait_key));
}

static gboolean equal_keys(gconstpointer a, gconstpointer b)
{
    return memcmp(a, b, sizeof(struct lull_wait_key)) == 0;
}

static void waits_open(struct lull_analysis *analysis)
{
    struct waits *waits = (struct waits *)analysis;
    waits->by_key = g_hash_table_new_full(hash_key, equal_keys, g_free, NULL);
    waits->by_text = g_hash_table_new(g_str_hash, g_str_equal);
    waits->objects = g_ptr_array_new_with_free_func(g_free);
    waits->text = g_string_new(NULL);
    waits->turns = lull_turns_new();
    waits->free_late = LULL_NONE;
    const struct lull_question_params *params = analysis->params;
    if (!params->with_all_tasks && !params->is_report && !lull_params_name_tasks(params) &&
        params->by == LULL_BY_TASK) {
        lull_family_find(&waits->family, analysis->session);
    }
}

static void waits_free(struct lull_analysis *analysis)
{
    struct waits *waits = (struct waits *)analysis;
    g_hash_table_unref(waits->by_key);
    g_hash_table_unref(waits->by_text);
    g_ptr_array_unref(waits->objects);
    g_string_free(waits->text, TRUE);
    lull_vec_free(&waits->waits);
    lull_vec_free(&waits->tasks);
    lull_faults_free(&waits->faults);
    lull_map_free(&waits->by_path);
    lull_map_free(&waits->by_address);
    lull_slots_free(&waits->by_task);
    if (waits->turns) {
        lull_turns_free(waits->turns);
    }
    lull_vec_free(&waits->late);
    lull_map_free(&waits->late_of);
    lull_slots_free(&waits->calls);
    lull_family_free(&waits->family);
}

/* ---- which wait ---- */

static uint32_t object_number(struct waits *waits, const char *text)
{
    if (!text || !*text) {
        return LULL_NONE;
    }
    gpointer found = g_hash_table_lookup(waits->by_text, text);
    if (!found) {
        char *copy = g_strdup(text);
        g_ptr_array_add(waits->objects, copy);
        found = GUINT_TO_POINTER(waits->objects->len);
        g_hash_table_insert(waits->by_text, copy, found);
    }
    return GPOINTER_TO_UINT(found) - 1;
}

/* "10.9.0.7:40112" → "10.9.0.7": a client has another port in each connection. */
static void drop_port(GString *address)
{
    const char *colon = strrchr(address->str, ':');
    if (colon) {
        g_string_truncate(address, (gsize)(colon - address->str));
    }
}

/* What a call was for, as text: formatted for each call, so that it is done once for each path and
 * futex. LULL_NONE: not known. */
static uint32_t call_object(struct waits *waits, const struct lull_wait_reason *reason)
{
    const struct lull_model *model = waits->head.model;
    const uint32_t path = lull_wait_reason_path(model, reason);
    const struct lull_file *file =
        reason->file != LULL_NONE ? lull_model_file(model, reason->file) : NULL;
    const bool is_datagram = file && file->is_datagram, is_accepted = file && file->is_accepted;
    const bool has_path = path != LULL_NONE && !reason->address && !reason->operation;
    struct lull_map *map = reason->address ? &waits->by_address : &waits->by_path;
    const uint64_t key =
        has_path ? (uint64_t)path << 2 | (uint64_t)is_accepted << 1 | is_datagram : reason->address;
    uint32_t number = has_path || reason->address ? lull_map_find(map, key) : LULL_NONE;
    if (number == LULL_NONE) {
        g_string_truncate(waits->text, 0);
        lull_wait_reason_append_object(model, reason, waits->text);
        if (has_path && is_accepted && file->type == LULL_FILE_NET) {
            drop_port(waits->text);
        }
        number = object_number(waits, waits->text->str);
        if (number != LULL_NONE && (has_path || reason->address)) {
            lull_map_insert(map, key, number);
        }
    }
    return number;
}

/* "page fault of /usr/bin/git", "page fault of memory in swap, vdb": of a task that waits in no call. device: NULL, or which
 * was read. */
static uint32_t imposed_object(struct waits *waits, const struct lull_wait_reason *reason,
                               const char *device)
{
    static const char in_a[] = "in a ", for_a[] = "for a ";
    g_string_truncate(waits->text, 0);
    if (reason->fault) {
        lull_wait_reason_append_fault(waits->head.model, reason, waits->text);
    } else {
        lull_wait_reason_append(waits->head.model, reason, NULL, waits->text);
    }
    if (device && waits->text->len && reason->path == LULL_NONE) {
        g_string_append_printf(waits->text, ", %s", device);
    }
    const size_t before = g_str_has_prefix(waits->text->str, in_a)    ? sizeof in_a - 1
                          : g_str_has_prefix(waits->text->str, for_a) ? sizeof for_a - 1
                                                                      : 0;
    return object_number(waits, waits->text->str + before);
}

/* What it waited for: what its call was for, else the page, the device, or the interrupt that ended it. */
static uint32_t object_of(struct waits *waits, const struct lull_state_fact *fact,
                          const struct lull_wait_reason *reason)
{
    const struct lull_model *model = waits->head.model;
    const struct lull_wakeup *wakeup = fact->wakeup;
    const char *device = wakeup && wakeup->cause == LULL_CAUSE_DISK && wakeup->request != LULL_NONE
                             ? lull_model_device(model, wakeup->request)
                             : NULL;
    const uint32_t named = reason->call == LULL_NONE || reason->fault
                               ? imposed_object(waits, reason, device)
                               : call_object(waits, reason);
    if (named != LULL_NONE) {
        return named;
    }
    if (reason->lock) {
        struct lull_wait_reason lock = LULL_WAIT_REASON_NONE;
        lock.lock = reason->lock;
        return imposed_object(waits, &lock, NULL);
    }
    const bool is_interrupt = wakeup && wakeup->cause != LULL_CAUSE_TASK;
    return object_number(waits, device         ? device
                                : is_interrupt ? lull_model_label(model, wakeup->label)
                                               : NULL);
}

/* Who had the CPU longest while the task was ready to run, on the CPUs in whose queues it was. */
static struct lull_kept find_kept(struct waits *waits, const struct task_sum *task,
                                  const struct lull_state_fact *fact)
{
    const uint32_t host = lull_model_task(waits->head.model, fact->task)->host;
    const int64_t start_ns = MAX(fact->start_ns, waits->head.start_ns);
    const struct lull_kept here =
        lull_turns_longest(waits->turns, host, fact->cpu, fact->task, start_ns, fact->end_ns);
    return task->moved_ns != INT64_MIN && task->kept.ns > here.ns ? task->kept : here;
}

/* Who was woken gets a CPU that is free soon, unless a quota keeps it off: it has had it, which was not seen. */
static bool was_unseen(const struct waits *waits, const struct lull_state_fact *fact)
{
    enum { SOON_NS = 1000000 };
    const uint32_t host = lull_model_task(waits->head.model, fact->task)->host;
    const int64_t start_ns = MAX(fact->start_ns, waits->head.start_ns);
    return lull_turns_free_ns(waits->turns, host, fact->cpu, start_ns, fact->end_ns) > SOON_NS;
}

/* Who could end a wait that has not ended with the trace, as the recorder saw then; LULL_NONE: not known. */
static uint32_t find_holder(const struct waits *waits, const struct lull_state_fact *fact,
                            const struct lull_wait_reason *reason)
{
    const struct lull_model *model = waits->head.model;
    const struct lull_task *task = lull_model_task(model, fact->task);
    const struct lull_coverage *coverage = waits->head.coverage;
    const struct lull_recorded_holder *known =
        waits->head.session && coverage && fact->end_ns >= coverage[task->host].last_ns
            ? lull_session_holder(waits->head.session, task->host, task->tid)
            : NULL;
    return known && lull_stuck_is_for(model, reason, known)
               ? lull_model_find_tid(model, task->host, (int32_t)known->holder)
               : LULL_NONE;
}

/* kept_by: of a task that was ready to run. */
static struct lull_wait_key key_of(struct waits *waits, const struct lull_state_fact *fact,
                                   uint32_t kept_by)
{
    const uint32_t row = lull_params_row(waits->head.params, waits->head.model, fact->task);
    struct lull_wait_key key = {row, LULL_NONE, LULL_NONE, LULL_NONE, LULL_NONE, 0, 'R', 0};
    const struct lull_wakeup *wakeup = fact->wakeup;
    const bool is_open = fact->next == LULL_STATE_NONE;
    if (fact->state == LULL_STATE_PREEMPTED) {
        const bool is_unseen =
            is_open && fact->before != LULL_STATE_RUNNING && was_unseen(waits, fact);
        key.cause = is_unseen                            ? LULL_CAUSE_UNKNOWN
                    : fact->before == LULL_STATE_RUNNING ? LULL_WAITS_PREEMPTED
                                                         : LULL_WAITS_WOKEN;
        key.by = kept_by;
        return key;
    }
    key.cause = wakeup ? wakeup->cause : is_open ? LULL_WAITS_NOT_ENDED : LULL_CAUSE_UNKNOWN;
    key.by = wakeup && wakeup->cause == LULL_CAUSE_TASK ? wakeup->task : LULL_NONE;
    key.letter = fact->letter ? fact->letter : '?';
    const struct lull_wait_reason reason =
        lull_faults_reason(&waits->faults, waits->head.model, fact);
    if (key.cause == LULL_WAITS_NOT_ENDED) {
        key.by = find_holder(waits, fact, &reason);
    }
    if (reason.is_dirty && wakeup) {
        key.cause = LULL_WAITS_DIRTY;
    }
    if (reason.lock && wakeup) {
        key.cause = LULL_WAITS_LOCK;
    }
    key.call = reason.call;
    key.object = object_of(waits, fact, &reason);
    key.chain = waits->head.params->by_stack ? fact->chain : LULL_NONE;
    return key;
}

static struct lull_wait_sum *find_wait(struct waits *waits, const struct lull_wait_key *key)
{
    gpointer found = g_hash_table_lookup(waits->by_key, key);
    if (!found) {
        lull_vec_push(&waits->waits, (struct lull_wait_sum){.key = *key});
        found = GUINT_TO_POINTER(waits->waits.count);
        g_hash_table_insert(waits->by_key, g_memdup2(key, sizeof *key), found);
    }
    return &waits->waits.items[GPOINTER_TO_UINT(found) - 1];
}

/* Mostly a task waits for what it waited for before. */
static struct lull_wait_sum *wait_of(struct waits *waits, struct task_sum *task,
                                     const struct lull_wait_key *key)
{
    uint32_t *recent = &task->recent[key->letter == 'R'];
    if (*recent && equal_keys(&waits->waits.items[*recent - 1].key, key)) {
        return &waits->waits.items[*recent - 1];
    }
    struct lull_wait_sum *wait = find_wait(waits, key);
    *recent = (uint32_t)(wait - waits->waits.items) + 1;
    return wait;
}

static struct task_sum *task_of(struct waits *waits, uint32_t task)
{
    task = lull_params_row(waits->head.params, waits->head.model, task);
    uint32_t *slot = lull_slots_at(&waits->by_task, task);
    if (*slot == 0) {
        lull_vec_push(&waits->tasks, (struct task_sum){.task = task, .moved_ns = INT64_MIN});
        *slot = (uint32_t)waits->tasks.count;
    }
    return &waits->tasks.items[*slot - 1];
}

/* ---- facts ---- */

static struct lull_wait_sum *count_wait(struct waits *waits, struct task_sum *task,
                                        const struct lull_wait_key *key, int64_t start_ns,
                                        int64_t length_ns)
{
    struct lull_wait_sum *wait = wait_of(waits, task, key);
    struct cause *cause = &waits->causes[key->cause][(unsigned char)key->letter % LETTERS];
    wait->count++;
    lull_add(&wait->total_ns, length_ns);
    if (length_ns > wait->longest_ns ||
        (length_ns == wait->longest_ns && start_ns < wait->longest_at_ns)) {
        wait->longest_ns = length_ns;
        wait->longest_at_ns = start_ns;
    }
    cause->count++;
    lull_add(&cause->total_ns, length_ns);
    cause->longest_ns = MAX(cause->longest_ns, length_ns);
    lull_add(&waits->total_ns, length_ns);
    return wait;
}

static void note_futex(struct lull_wait_sum *wait, const struct lull_state_fact *fact)
{
    const struct lull_call_note *call = fact->call;
    if (wait->key.call != LULL_NONE && call && call->name == wait->key.call && call->futex) {
        wait->futex = call->futex->address;
        wait->is_lock |= lull_wait_is_for_lock(call->futex);
    }
}

/* Another CPU was free meanwhile. In less than that the kernel may bring a task there. */
static void note_idle(const struct waits *waits, struct lull_wait_sum *wait,
                      const struct lull_state_fact *fact, int64_t start_ns)
{
    enum { LEAST_NS = 500000 };
    if (fact->state == LULL_STATE_PREEMPTED && fact->end_ns - start_ns >= LEAST_NS) {
        const uint32_t host = lull_model_task(waits->head.model, fact->task)->host;
        lull_add(&wait->idle_ns, lull_turns_idle_elsewhere_ns(waits->turns, host, fact->cpu,
                                                              start_ns, fact->end_ns));
    }
}

static void count_task(struct task_sum *task, const struct lull_wait_key *key, int64_t length_ns)
{
    if (key->letter == 'R') {
        lull_add(&task->runnable_ns, length_ns);
    } else {
        lull_add(&task->blocked_ns, length_ns);
        if (key->letter == 'D') {
            lull_add(&task->uninterruptible_ns, length_ns);
        }
    }
    task->longest_ns = MAX(task->longest_ns, length_ns);
    task->count++;
}

/* ---- waits of which it is known later what they were for ---- */

/* What a call opens, whom it connects with, or which request of an io_uring it waited for, is known when it ends. */
static bool is_late(struct waits *waits, const struct lull_wait_key *key,
                    const struct lull_state_fact *fact)
{
    enum { NOT_ASKED, IS_LATE, IS_NOT };
    if (key->call == LULL_NONE) {
        return false;
    }
    uint32_t *is = lull_slots_at(&waits->calls, key->call);
    if (*is == NOT_ASKED) {
        const struct lull_model *model = waits->head.model;
        const struct lull_wait_reason reason = lull_wait_reason_of(fact);
        *is = lull_wait_reason_is_late(model, &reason) ? IS_LATE : IS_NOT;
    }
    return *is == IS_LATE;
}

static void hold_wait(struct waits *waits, const struct lull_state_fact *fact,
                      const struct lull_wait_key *key, int64_t start_ns, int64_t length_ns)
{
    const struct late_wait late = {.key = *key,
                                   .reason = lull_wait_reason_of(fact),
                                   .task = fact->task,
                                   .waited_ns = fact->start_ns,
                                   .end_ns = fact->end_ns,
                                   .start_ns = start_ns,
                                   .length_ns = length_ns,
                                   .until_ns = INT64_MAX,
                                   .before = lull_map_find(&waits->late_of, fact->task),
                                   .is_by_timer =
                                       fact->wakeup && fact->wakeup->cause == LULL_CAUSE_TIMER};
    if (late.before != LULL_MAP_NONE) {
        waits->late.items[late.before].until_ns = fact->start_ns;
    }
    uint32_t i = waits->free_late;
    if (i == LULL_NONE) {
        i = (uint32_t)waits->late.count;
        lull_vec_add(&waits->late);
    } else {
        waits->free_late = waits->late.items[i].before;
    }
    waits->late.items[i] = late;
    lull_map_insert(&waits->late_of, fact->task, i);
}

/* Takes into the key what is known now, as its call ends. NULL: it has not. */
static void learn(struct waits *waits, struct late_wait *late, const struct lull_syscall_fact *fact)
{
    const struct lull_model *model = waits->head.model;
    const int64_t call_ns = fact ? fact->start_ns : INT64_MIN;
    const struct lull_uring_times times = {call_ns, late->waited_ns, late->end_ns, late->until_ns};
    struct lull_uring_wait found;
    uint32_t holder;
    if (lull_wait_reason_is_uring(model, &late->reason)) {
        if (late->key.cause != LULL_WAITS_LOCK &&
            lull_model_uring_wait(model, late->task, &times, &found)) {
            lull_wait_reason_set_uring(&late->reason, &found);
            late->key.is_request = late->reason.operation != 0;
        }
    } else {
        lull_wait_reason_learn(model, &late->reason, fact);
    }
    const uint32_t object = call_object(waits, &late->reason);
    if (object != LULL_NONE) {
        late->key.object = object;
    }
    if (late->is_by_timer && lull_model_lease(model, late->task, call_ns, &holder)) {
        late->key.cause = LULL_CAUSE_TASK;
        late->key.by = holder;
    }
}

/* Counts the waits of a task in the call that ends, or is cut off. */
static void count_late(struct waits *waits, uint32_t task, const struct lull_syscall_fact *fact)
{
    uint32_t i = lull_map_remove(&waits->late_of, task);
    while (i != LULL_MAP_NONE) {
        struct late_wait late = waits->late.items[i];
        learn(waits, &late, fact);
        count_wait(waits, task_of(waits, task), &late.key, late.start_ns, late.length_ns);
        waits->late.items[i] = (struct late_wait){.task = LULL_NONE, .before = waits->free_late};
        waits->free_late = i;
        i = late.before;
    }
}

/* A task that was blocked before the window opened, or before the recording began, and still is when
 * it closes. */
static bool is_asleep(const struct waits *waits, const struct lull_state_fact *fact)
{
    return fact->state == LULL_STATE_BLOCKED && fact->next == LULL_STATE_NONE &&
           (fact->start_ns < waits->head.start_ns || !fact->letter);
}

/* The part of a state that lies in the window. */
static void waits_state(void *user, const struct lull_state_fact *fact)
{
    struct waits *waits = user;
    const struct lull_question_params *params = waits->head.params;
    const struct lull_model *model = waits->head.model;
    if (fact->state == LULL_STATE_NONE || fact->end_ns <= waits->head.start_ns ||
        !lull_params_want_task(params, model, fact->task, fact->end_ns) ||
        !lull_params_want_cpu(params, lull_model_task(model, fact->task)->host, fact->cpu) ||
        (waits->family.pid != 0 && !lull_family_has(&waits->family, model, fact->task))) {
        return;
    }
    struct task_sum *task = task_of(waits, fact->task);
    const int64_t first_ns = task->moved_ns != INT64_MIN ? task->moved_ns : fact->start_ns;
    const int64_t start_ns = MAX(first_ns, waits->head.start_ns);
    const int64_t length_ns = fact->end_ns - start_ns;
    if (fact->state == LULL_STATE_PREEMPTED) {
        task->kept = find_kept(waits, task, fact);
    }
    if (fact->state == LULL_STATE_PREEMPTED && fact->next == LULL_STATE_PREEMPTED) {
        task->moved_ns = start_ns; /* to another CPU's queue: it waits on */
        return;
    }
    task->moved_ns = INT64_MIN;
    if (fact->state == LULL_STATE_RUNNING) {
        lull_add(&task->running_ns, length_ns);
        return;
    }
    if (length_ns <= 0) {
        return;
    }
    if (!params->with_asleep && is_asleep(waits, fact)) {
        waits->n_asleep++;
        return;
    }
    const struct lull_wait_key key = key_of(waits, fact, task->kept.task);
    if (lull_params_want_duration(params, length_ns) &&
        (!params->states || strchr(params->states, key.letter))) {
        count_task(task, &key, length_ns);
        if (is_late(waits, &key, fact)) {
            hold_wait(waits, fact, &key, start_ns, length_ns);
        } else {
            struct lull_wait_sum *wait = count_wait(waits, task, &key, start_ns, length_ns);
            note_futex(wait, fact);
            note_idle(waits, wait, fact, start_ns);
        }
    }
}

static void waits_switched(void *user, const struct lull_switch_fact *fact)
{
    struct waits *waits = user;
    lull_turns_switched(waits->turns, fact);
}

static void waits_syscall(void *user, const struct lull_syscall_fact *fact)
{
    struct waits *waits = user;
    if (waits->late_of.count) {
        count_late(waits, fact->task, fact);
    }
}

static void waits_paging(void *user, const struct lull_paging_fact *fact)
{
    struct waits *waits = user;
    lull_faults_paging(&waits->faults, fact);
}

static void waits_contention(void *user, const struct lull_contention_fact *fact)
{
    struct waits *waits = user;
    lull_faults_contention(&waits->faults, fact);
}

static void waits_close(struct lull_analysis *analysis, int64_t end_ns)
{
    struct waits *waits = (struct waits *)analysis;
    lull_model_each_state(analysis->model, end_ns, waits_state, analysis);
    for (size_t i = 0; i < waits->late.count; i++) { /* calls that have not returned */
        if (waits->late.items[i].task != LULL_NONE) {
            count_late(waits, waits->late.items[i].task, NULL);
        }
    }
}

const struct lull_analysis_class lull_analysis_waits = {
    .name = "waits",
    .title = "Waits of tasks",
    .description = "How long tasks were blocked, or ready to run without a CPU, and why",
    .tags = (const char *const[]){"sched", "waits", "top", NULL},
    .tables = (const struct lull_result_class *const[]){&lull_waits_causes, &lull_waits_all,
                                                        &lull_waits_tasks, NULL},
    .question = "critical-path",
    .groups = LULL_GROUP_GRAPH,
    .is_by_host = true,
    .size = sizeof(struct waits),
    .facts = {.state = waits_state,
              .switched = waits_switched,
              .syscall = waits_syscall,
              .paging = waits_paging,
              .contention = waits_contention},
    .open = waits_open,
    .close = waits_close,
    .emit = waits_emit,
    .free = waits_free,
};
