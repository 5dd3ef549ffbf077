/* SPDX-License-Identifier: MIT */
/* Rows of tasks: on a CPU as the facts of CPUs say (cpus.c), else waiting as the task's own facts
 * say. So the time of tasks on CPUs adds up to that of the CPUs. */
#include "store/build.h"

#include "kernel/vocabulary.h"
#include "store/build_private.h"

struct build_task *build_task(struct store_build *build, uint32_t task)
{
    while (build->tasks.count <= task) {
        lull_vec_push(&build->tasks, (struct build_task){0});
    }
    return &build->tasks.items[task];
}

uint32_t build_task_row(struct store_build *build, uint32_t task)
{
    if (task == LULL_NONE) {
        return LULL_NONE;
    }
    struct build_task *known = build_task(build, task);
    if (known->row == 0) {
        const struct lull_task *about = lull_model_task(build->model, task);
        const struct store_row row = {
            .kind = LULL_STORE_TASK, .host = about->host, .cpu = -1, .pid = -1, .ppid = -1};
        known->row = store_writer_row(build->writer, &row, build->start_ns) + 1;
    }
    return known->row - 1;
}

uint32_t build_text(struct store_build *build, uint32_t label)
{
    if (label == LULL_NONE) {
        return LULL_NONE;
    }
    uint32_t *slot = lull_slots_at(&build->texts, label);
    if (*slot == 0) {
        const char *text = lull_model_label(build->model, label);
        *slot = store_writer_text(build->writer, text ? text : "") + 1;
    }
    return *slot - 1;
}

void build_task_piece(struct store_build *build, uint32_t task, int64_t start_ns, int64_t end_ns,
                      enum lull_store_state state, uint32_t label, uint32_t evidence)
{
    const uint32_t row = build_task_row(build, task);
    const int64_t until_ns = store_writer_end(build->writer, row);
    if (start_ns > until_ns) {
        const bool is_first = store_writer_is_empty(build->writer, row);
        store_writer_append(build->writer, row, start_ns,
                            !is_first                           ? LULL_STORE_LOST
                            : build_task(build, task)->is_found ? LULL_STORE_UNKNOWN
                                                                : LULL_STORE_NONE,
                            LULL_NONE, LULL_NONE);
    }
    store_writer_append(build->writer, row, end_ns, state, label, evidence);
}

/* ---- waits ---- */

static enum lull_store_state state_of_wait(const struct lull_wakeup *wakeup)
{
    static const uint8_t states[LULL_CAUSE_COUNT] = {
        [LULL_CAUSE_TASK] = LULL_STORE_WAIT_TASK,
        [LULL_CAUSE_TIMER] = LULL_STORE_WAIT_TIMER,
        [LULL_CAUSE_DISK] = LULL_STORE_WAIT_DISK,
        [LULL_CAUSE_NETWORK] = LULL_STORE_WAIT_NETWORK,
        [LULL_CAUSE_USER_INPUT] = LULL_STORE_WAIT_INPUT,
        [LULL_CAUSE_IPI] = LULL_STORE_WAIT_IRQ,
        [LULL_CAUSE_IRQ] = LULL_STORE_WAIT_IRQ,
        [LULL_CAUSE_UNKNOWN] = LULL_STORE_WAIT_UNKNOWN,
    };
    return wakeup && states[wakeup->cause] ? states[wakeup->cause] : LULL_STORE_WAIT_UNKNOWN;
}

static uint32_t evidence_of(struct store_build *build, const struct lull_wakeup *wakeup)
{
    if (!wakeup) {
        return LULL_NONE;
    }
    if (wakeup->cause == LULL_CAUSE_TASK) {
        return build_task_row(build, wakeup->task);
    }
    if (wakeup->cause == LULL_CAUSE_DISK && wakeup->request != LULL_NONE) {
        const uint32_t device = lull_model_device_label(build->model, wakeup->request);
        if (device != LULL_NONE) {
            return build_text(build, device);
        }
    }
    return build_text(build, wakeup->label);
}

static void on_state(void *user, const struct lull_state_fact *fact)
{
    struct store_build *build = user;
    const uint32_t row = build_task_row(build, fact->task);
    if (fact->continues !=
        LULL_NONE) { /* it had ended before, though that may not have been seen */
        store_writer_append(build->writer, row, fact->end_ns, LULL_STORE_NONE, LULL_NONE,
                            LULL_NONE);
    } else if (fact->state == LULL_STATE_NONE && store_writer_is_empty(build->writer, row)) {
        /* What made it shows that it was not there before. */
        build_task(build, fact->task)->is_found = !fact->wakeup;
    } else if (fact->state == LULL_STATE_PREEMPTED) {
        build_task_piece(build, fact->task, fact->start_ns, fact->end_ns, LULL_STORE_WAIT_CPU,
                         LULL_NONE, (uint32_t)fact->cpu);
    } else if (fact->state == LULL_STATE_BLOCKED) {
        build_task_piece(build, fact->task, fact->start_ns, fact->end_ns,
                         state_of_wait(fact->wakeup), build_text(build, fact->syscall),
                         evidence_of(build, fact->wakeup));
    }
}

/* ---- the whole ---- */

static void name_tasks(struct store_build *build)
{
    for (uint32_t i = 0; i < build->tasks.count; i++) {
        if (build->tasks.items[i].row) {
            const struct lull_task *task = lull_model_task(build->model, i);
            const uint32_t row = build->tasks.items[i].row - 1;
            const char *comm = lull_model_comm(build->model, i, INT64_MAX);
            store_writer_name(build->writer, row, store_writer_text(build->writer, comm), task->tid,
                              task->pid, task->ppid);
            if (!task->is_dead) {
                store_writer_append(build->writer, row, build->end_ns, LULL_STORE_UNKNOWN,
                                    LULL_NONE, LULL_NONE);
            }
        }
    }
}

/* Handlers that did not run, tasks that are dead. */
static void fill_rows(struct store_build *build)
{
    for (uint32_t i = 0; i < store_writer_row_count(build->writer); i++) {
        store_writer_append(build->writer, i, build->end_ns, LULL_STORE_NONE, LULL_NONE, LULL_NONE);
    }
}

void build_finish(struct store_build *build)
{
    cpus_finish(build);
    meters_finish(build);
    vcpus_finish(build);
    declared_finish(build);
    lanes_finish(build);
    name_tasks(build);
    fill_rows(build);
}

static void on_progress(void *user)
{
    struct store_build *build = user;
    if (store_writer_failed(build->writer)) {
        lull_model_stop(build->model); /* which is said at the end */
    } else if (!build->watch->progress(build->watch->user)) {
        build->is_stopped = true;
        lull_model_stop(build->model);
    } else if (build->watch->show) {
        build_show_part(build);
    }
}

static void read_session(struct store_build *build)
{
    static const struct lull_facts facts = {
        .state = on_state,
        .switched = cpus_switched,
        .interrupt = cpus_interrupt,
        .handler = cpus_handler,
        .power = cpus_power,
        .syscall = cpus_syscall,
        .lost = cpus_lost,
        .netif = meters_netif,
        .block = meters_block,
        .syscall_start = cpus_syscall_start,
    };
    const unsigned call_groups = lanes_groups(build);
    declared_start(build);
    build->model = lull_model_new(
        build->session, LULL_GROUP_SCHED | LULL_GROUP_STATE | LULL_GROUP_IRQ | LULL_GROUP_NET |
                            LULL_GROUP_BLOCK | LULL_GROUP_SYSCALL | LULL_GROUP_POWER |
                            LULL_GROUP_NETIF | LULL_GROUP_VIRT | call_groups);
    for (uint32_t host = 0; host < lull_session_host_count(build->session); host++) {
        lull_model_set_recorded(build->model, host, build->coverage[host].first_ns,
                                build->coverage[host].last_ns);
    }
    lull_model_subscribe(build->model, &facts, build);
    vcpus_start(build);
    if (call_groups) {
        lanes_start(build);
    }
    lull_model_run(build->model, on_progress, build);
    build_finish(build);
    vcpus_free(build);
    lanes_free(build);
    declared_free(build);
}

static bool was_stopped(const struct store_build *build, GError **error)
{
    if (build->is_stopped) {
        g_set_error_literal(error, LULL_ERROR, LULL_ERROR_QUESTION, "indexing was stopped");
    }
    return build->is_stopped;
}

static bool find_range(struct store_build *build, GError **error)
{
    build->coverage = lull_coverage_find(build->session, -1);
    build->start_ns = INT64_MAX;
    build->end_ns = INT64_MIN;
    for (uint32_t host = 0; host < lull_session_host_count(build->session); host++) {
        const struct lull_coverage *coverage = &build->coverage[host];
        if (coverage->first_ns <= coverage->last_ns) {
            build->start_ns = MIN(build->start_ns, coverage->first_ns);
            build->end_ns = MAX(build->end_ns, coverage->last_ns);
        }
        store_writer_host(build->writer, lull_session_host(build->session, host)->name,
                          coverage->first_ns, coverage->last_ns);
    }
    if (build->start_ns > build->end_ns) {
        g_set_error_literal(error, LULL_ERROR, LULL_ERROR_QUESTION,
                            "there is no event in the traces, and so nothing to look at");
        return false;
    }
    return true;
}

bool lull_store_build(struct lull_session *session, const struct lull_states *states,
                      const char *path, const uint8_t key[32], const struct lull_store_watch *watch,
                      GError **error)
{
    struct store_build build = {.session = session,
                                .states = states,
                                .writer = store_writer_new(path, error),
                                .watch = watch};
    bool is_done = build.writer && find_range(&build, error);
    if (is_done) {
        read_session(&build);
        g_clear_pointer(&build.model, lull_model_free); /* the end needs memory too */
        is_done = !was_stopped(&build, error) &&
                  store_writer_finish(build.writer, key, build.start_ns, build.end_ns, error);
    }
    store_writer_free(build.writer);
    cpus_free(&build);
    meters_free(&build);
    lull_vec_free(&build.tasks);
    lull_slots_free(&build.texts);
    lull_map_free(&build.handlers);
    g_free(build.coverage);
    return is_done;
}
