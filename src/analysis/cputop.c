/* SPDX-License-Identifier: MIT */
/* Who used the CPUs: time on a CPU by task, by CPU and in all. Times are exact at the edges of the
 * window: what ran into it or out of it counts with its part inside. The time of tasks sums to the
 * busy time of the CPUs. */
#include <stdlib.h>
#include <string.h>

#include "analysis/analysis.h"
#include "analysis/priorities.h"
#include "analysis/stolen.h"
#include "base/slots.h"
#include "base/sums.h"
#include "kernel/vocabulary.h"
#include "source/session/streams.h"

/* A CPU. What of the window is in none of these times is not known. */
struct cpu_use {
    int64_t busy_ns;  /* with the requested tasks */
    int64_t other_ns; /* with others */
    int64_t idle_ns;
    int64_t start_ns; /* nothing before that counts */
    uint32_t host;
    int32_t cpu;
};

struct task_use {
    int64_t ran_ns;
    uint32_t task;
    uint32_t order; /* of first appearance */
    uint32_t migrations;
    struct lull_priorities priorities;
};

struct cputop {
    struct lull_analysis head;
    LULL_VEC(struct task_use) tasks;         /* in order of first appearance */
    struct lull_slots by_task;               /* task → index + 1 */
    LULL_VEC(struct cpu_use) cpus;           /* by host, then CPU, once the window is closed */
    LULL_VEC(struct lull_slots) cpu_numbers; /* by host: CPU → index + 1 */
    struct lull_stolen *stolen;              /* NULL: there are no tasks of guests */
    int64_t end_ns;
    GString *text;
};

/* ---- facts ---- */

static struct task_use *use_of_task(struct cputop *top, uint32_t task)
{
    task = lull_params_row(top->head.params, top->head.model, task);
    uint32_t *slot = lull_slots_at(&top->by_task, task);
    if (G_UNLIKELY(*slot == 0)) {
        *slot = (uint32_t)top->tasks.count + 1;
        lull_vec_push(&top->tasks, (struct task_use){.task = task, .order = *slot});
    }
    return &top->tasks.items[*slot - 1];
}

static struct cpu_use *use_of_cpu(struct cputop *top, uint32_t host, int32_t cpu)
{
    while (G_UNLIKELY(top->cpu_numbers.count <= host)) {
        lull_vec_push(&top->cpu_numbers, (struct lull_slots){0});
    }
    uint32_t *slot = lull_slots_at(&top->cpu_numbers.items[host], (uint32_t)cpu);
    if (G_UNLIKELY(*slot == 0)) {
        /* Before the first event of its host nothing was recorded. */
        const int64_t start_ns = top->head.coverage
                                     ? MAX(top->head.start_ns, top->head.coverage[host].first_ns)
                                     : top->head.start_ns;
        lull_vec_push(&top->cpus, (struct cpu_use){.host = host, .cpu = cpu, .start_ns = start_ns});
        *slot = (uint32_t)top->cpus.count;
    }
    return &top->cpus.items[*slot - 1];
}

static bool wants(const struct cputop *top, uint32_t task, int64_t time_ns)
{
    return lull_params_want_task(top->head.params, top->head.model, task, time_ns);
}

/* `task` (or nobody) was on the CPU from since_ns to until_ns, and may have become another program
 * there. `has_left` it then: a name that shows there it got before. */
static void account(struct cputop *top, uint32_t host, int32_t cpu, uint32_t task, int64_t since_ns,
                    int64_t until_ns, bool has_left)
{
    struct cpu_use *use = use_of_cpu(top, host, cpu);
    since_ns = MAX(since_ns, use->start_ns);
    if (until_ns < since_ns) { /* INT64_MIN: nothing of the host was recorded */
        return;
    }
    for (int64_t named_ns = until_ns - !has_left; until_ns >= since_ns; named_ns = until_ns - 1) {
        const int64_t part_ns =
            lull_params_part_since(top->head.params, top->head.model, task, since_ns, until_ns);
        const int64_t ran_ns = until_ns - part_ns;
        if (task == LULL_NONE) {
            lull_add(&use->idle_ns, ran_ns);
        } else if (wants(top, task, named_ns)) {
            lull_add(&use->busy_ns, ran_ns);
            lull_add(&use_of_task(top, task)->ran_ns, ran_ns);
        } else {
            lull_add(&use->other_ns, ran_ns);
        }
        if (part_ns == since_ns) {
            break;
        }
        until_ns = part_ns;
    }
}

/* What is known before the first change of a task in the window. */
static void start_priorities(struct cputop *top, uint32_t task, int32_t prio)
{
    struct task_use *use = use_of_task(top, task);
    if (use->priorities.items.count == 0) {
        lull_priorities_add(&use->priorities, prio);
    }
}

static void cputop_switched(void *user, const struct lull_switch_fact *fact)
{
    struct cputop *top = user;
    if (top->stolen) {
        lull_stolen_switched(top->stolen, fact);
    }
    if (!lull_params_want_cpu(top->head.params, fact->host, fact->cpu)) {
        return;
    }
    account(top, fact->host, fact->cpu, fact->previous, fact->since_ns, fact->time_ns, true);
    if (fact->previous != LULL_NONE && wants(top, fact->previous, fact->time_ns)) {
        start_priorities(top, fact->previous, fact->previous_prio);
    }
    if (fact->task != LULL_NONE && wants(top, fact->task, fact->time_ns)) {
        start_priorities(top, fact->task, fact->prio);
    }
}

static void cputop_migration(void *user, const struct lull_migration_fact *fact)
{
    struct cputop *top = user;
    if (lull_params_want_cpu(top->head.params, fact->host, fact->cpu) &&
        wants(top, fact->task, fact->time_ns)) {
        use_of_task(top, fact->task)->migrations++;
        start_priorities(top, fact->task, lull_model_prio(top->head.model, fact->task));
    }
}

static bool has_row(const struct cputop *top, uint32_t task)
{
    return lull_slots_get(&top->by_task,
                          lull_params_row(top->head.params, top->head.model, task)) != 0;
}

static void cputop_prio(void *user, const struct lull_prio_fact *fact)
{
    struct cputop *top = user;
    if (has_row(top, fact->task)) {
        lull_priorities_add(&use_of_task(top, fact->task)->priorities, fact->prio);
    }
}

static void cputop_vcpu(void *user, const struct lull_vcpu_fact *fact)
{
    lull_stolen_vcpu(((struct cputop *)user)->stolen, fact);
}

static void cputop_state(void *user, const struct lull_state_fact *fact)
{
    lull_stolen_state(((struct cputop *)user)->stolen, fact);
}

static void cputop_lost(void *user, const struct lull_lost_fact *fact)
{
    lull_stolen_lost(((struct cputop *)user)->stolen, fact);
}

static const struct lull_facts guest_facts = {
    .vcpu = cputop_vcpu,
    .state = cputop_state,
    .lost = cputop_lost,
};

/* ---- the end of the window ---- */

static int compare_cpus(const void *a, const void *b)
{
    const struct cpu_use *left = a, *right = b;
    if (left->host != right->host) {
        return left->host < right->host ? -1 : 1;
    }
    return (left->cpu > right->cpu) - (left->cpu < right->cpu);
}

/* Most time first, then in order of appearance. */
static int compare_tasks(const void *a, const void *b)
{
    const struct task_use *left = a, *right = b;
    if (left->ran_ns != right->ran_ns) {
        return left->ran_ns > right->ran_ns ? -1 : 1;
    }
    return left->order < right->order ? -1 : 1;
}

/* CPUs that were recorded, but had no event yet: all their time is unknown. */
static void add_recorded(struct cputop *top, int64_t end_ns)
{
    const struct lull_session *session = top->head.session;
    const int32_t host = top->head.params->host;
    for (uint32_t i = 0; i < lull_session_stream_count(session); i++) {
        const struct lull_stream_info stream = lull_session_stream(session, i);
        const bool is_kernel =
            strcmp(lull_session_trace(session, stream.trace)->domain, "ust") != 0;
        if (is_kernel && stream.cpu >= 0 && stream.start_ns != INT64_MAX &&
            top->head.coverage[stream.host].first_ns <= end_ns &&
            (host < 0 || stream.host == (uint32_t)host) &&
            lull_params_want_cpu(top->head.params, stream.host, stream.cpu)) {
            use_of_cpu(top, stream.host, stream.cpu);
        }
    }
}

/* Tasks that were not on the requested CPUs are none of their users. */
static void drop_absent(struct cputop *top)
{
    size_t n = 0;
    for (size_t i = 0; i < top->tasks.count; i++) {
        if (top->tasks.items[i].ran_ns > 0) {
            top->tasks.items[n++] = top->tasks.items[i];
        } else {
            lull_priorities_clear(&top->tasks.items[i].priorities);
        }
    }
    top->tasks.count = n;
}

/* Adds what is on the CPUs now. */
static void cputop_close(struct lull_analysis *analysis, int64_t end_ns)
{
    struct cputop *top = (struct cputop *)analysis;
    const uint32_t n_hosts = analysis->session ? lull_session_host_count(analysis->session) : 1;
    top->end_ns = end_ns;
    for (uint32_t host = 0; host < n_hosts; host++) {
        /* After the last event of its host nothing is known of a CPU. */
        const int64_t until_ns =
            analysis->coverage ? MIN(end_ns, analysis->coverage[host].last_ns) : end_ns;
        int32_t cpu = -1;
        while ((cpu = lull_model_next_cpu(analysis->model, host, cpu)) >= 0) {
            uint32_t task;
            int64_t since_ns;
            if (!lull_params_want_cpu(analysis->params, host, cpu)) {
                continue;
            }
            use_of_cpu(top, host, cpu); /* though nothing may have said yet who is on it */
            if (lull_model_running(analysis->model, host, cpu, &task, &since_ns)) {
                account(top, host, cpu, task, since_ns, until_ns, false);
                if (task != LULL_NONE && has_row(top, task)) {
                    start_priorities(top, task, lull_model_prio(analysis->model, task));
                }
            }
        }
    }
    if (analysis->session) {
        add_recorded(top, end_ns);
    }
    if (top->cpus.count) {
        qsort(top->cpus.items, top->cpus.count, sizeof *top->cpus.items, compare_cpus);
    }
    if (analysis->params->cpus.count) {
        drop_absent(top);
    }
    if (top->tasks.count) {
        qsort(top->tasks.items, top->tasks.count, sizeof *top->tasks.items, compare_tasks);
    }
}

/* ---- tables ---- */

#define HOST {"Host", "HOST", "host", LULL_CELL_HOST, NULL, LULL_USE_HOST}

#define PROCESS                                                                                    \
    HOST, {"Process", "PROCESS", "process", LULL_CELL_PROCESS, NULL, 0},                           \
        {"Process ID", "PID", "pid", LULL_CELL_NUMBER, NULL, LULL_USE_OWN | LULL_USE_TASK},        \
        {"Migration count", "MIGRATIONS", "migrations", LULL_CELL_NUMBER, "migrations", 0},        \
        {"Chronological priorities", "PRIORITIES", "priorities", LULL_CELL_STRING, NULL, 0},       \
    {                                                                                              \
        "CPU time", "CPU TIME", "cpu_ns", LULL_CELL_DURATION, NULL, LULL_USE_OWN                   \
    }
#define USAGE {"CPU usage", "CPU", "usage", LULL_CELL_RATIO, NULL, LULL_USE_BAR}

static const struct lull_result_column process_columns[] = {
    PROCESS,
    {"Time in which its virtual CPU really ran", "REAL", "real_ns", LULL_CELL_DURATION, NULL,
     LULL_USE_OWN | LULL_USE_GUEST},
    {"Time in which its virtual CPU had no CPU of the host", "STOLEN", "stolen_ns",
     LULL_CELL_DURATION, NULL, LULL_USE_OWN | LULL_USE_GUEST},
    USAGE,
    {0},
};
static const struct lull_result_class process_class = {
    "per-process", "Per-TID top CPU usage", process_columns, LULL_TABLE_PLAIN, false, false};

static const struct lull_result_column cpu_columns[] = {
    HOST,
    {"CPU", "CPU", "cpu", LULL_CELL_CPU, NULL, 0},
    {"Busy time", "BUSY", "busy_ns", LULL_CELL_DURATION, NULL, LULL_USE_OWN},
    {"Idle time", "IDLE", "idle_ns", LULL_CELL_DURATION, NULL, LULL_USE_OWN},
    {"Time with other tasks", "OTHER", "other_ns", LULL_CELL_DURATION, NULL,
     LULL_USE_OWN | LULL_USE_NOT_TEXT},
    {"Unknown time", "UNKNOWN", "unknown_ns", LULL_CELL_DURATION, NULL, LULL_USE_OWN},
    {"CPU usage", "USAGE", "usage", LULL_CELL_RATIO, NULL, LULL_USE_BAR},
    {0},
};
static const struct lull_result_class cpu_class = {
    "per-cpu", "Per-CPU top CPU usage", cpu_columns, LULL_TABLE_PLAIN, false, false};

static const struct lull_result_column total_columns[] = {
    HOST,
    {"CPUs", "CPUS", "cpus", LULL_CELL_NUMBER, "CPUs", LULL_USE_OWN},
    {"Busy time", "BUSY", "busy_ns", LULL_CELL_DURATION, NULL, LULL_USE_OWN},
    {"Idle time", "IDLE", "idle_ns", LULL_CELL_DURATION, NULL, LULL_USE_OWN},
    {"Time with other tasks", "OTHER", "other_ns", LULL_CELL_DURATION, NULL,
     LULL_USE_OWN | LULL_USE_NOT_TEXT},
    {"Unknown time", "UNKNOWN", "unknown_ns", LULL_CELL_DURATION, NULL, LULL_USE_OWN},
    {"CPU usage", "USAGE", "usage", LULL_CELL_RATIO, NULL, 0},
    {0},
};
static const struct lull_result_class total_class = {
    "total", "Total CPU usage", total_columns, LULL_TABLE_PLAIN, false, false};

static const struct lull_result_column summary_columns[] = {
    HOST,
    {"Time range", "TIME RANGE", "time_range", LULL_CELL_TIME_RANGE, NULL, 0},
    {"Total CPU usage", "USAGE", "usage", LULL_CELL_RATIO, NULL, 0},
    {0},
};
static const struct lull_result_class summary_class = {
    "summary", "CPU usage - summary", summary_columns, LULL_TABLE_PLAIN, false, true};

static struct lull_cell share_cell(int64_t part_ns, int64_t whole_ns)
{
    return lull_cell_real(LULL_CELL_RATIO, whole_ns > 0 ? (double)part_ns / (double)whole_ns : 0);
}

static struct lull_cell duration_cell(int64_t ns)
{
    return lull_cell_integer(LULL_CELL_DURATION, ns);
}

static int64_t length_of(const struct cputop *top)
{
    return top->end_ns - top->head.start_ns;
}

static void process_row(const void *user, uint64_t row, struct lull_cell *cells)
{
    const struct cputop *top = user;
    const struct task_use *use = &top->tasks.items[row];
    const struct lull_task *task = lull_model_task(top->head.model, use->task);
    lull_priorities_format(&use->priorities, top->head.params->is_lami, top->text);
    *cells++ = lull_cell_host_of(&top->head, task->host);
    *cells++ = lull_cell_task(top->head.model, use->task, top->end_ns, false);
    *cells++ = lull_cell_integer(task->pid >= 0 ? LULL_CELL_NUMBER : LULL_CELL_UNKNOWN, task->pid);
    *cells++ = lull_cell_integer(LULL_CELL_NUMBER, use->migrations);
    *cells++ = lull_cell_text(LULL_CELL_STRING, top->text->str);
    *cells++ = duration_cell(use->ran_ns);
    const struct lull_stolen_sum *sum = lull_stolen_find(top->stolen, use->task);
    if (sum) {
        cells[0] = duration_cell(sum->real_ns);
        cells[1] = duration_cell(sum->stolen_ns);
    }
    cells[2] = share_cell(use->ran_ns, length_of(top));
}

static int64_t unknown_of(const struct cpu_use *use, int64_t whole_ns)
{
    return whole_ns - use->busy_ns - use->idle_ns - use->other_ns;
}

/* Of CPUs of which nothing is known it is not 0. */
static struct lull_cell usage_cell(const struct cpu_use *use, int64_t whole_ns)
{
    return whole_ns > 0 && unknown_of(use, whole_ns) == whole_ns
               ? lull_cell_integer(LULL_CELL_UNKNOWN, 0)
               : share_cell(use->busy_ns, whole_ns);
}

/* The cells of busy, idle, other and unknown time and of usage. */
static void use_cells(const struct cpu_use *use, int64_t whole_ns, struct lull_cell *cells)
{
    *cells++ = duration_cell(use->busy_ns);
    *cells++ = duration_cell(use->idle_ns);
    *cells++ = duration_cell(use->other_ns);
    *cells++ = duration_cell(unknown_of(use, whole_ns));
    *cells = usage_cell(use, whole_ns);
}

static void cpu_row(const void *user, uint64_t row, struct lull_cell *cells)
{
    const struct cputop *top = user;
    const struct cpu_use *use = &top->cpus.items[row];
    cells[0] = lull_cell_host_of(&top->head, use->host);
    cells[1] = lull_cell_integer(LULL_CELL_CPU, use->cpu);
    use_cells(use, length_of(top), cells + 2);
}

/* All CPUs of a host, `cpu` being how many. */
struct totals {
    const struct cputop *top;
    LULL_VEC(struct cpu_use) hosts;
};

static void add_totals(const struct cputop *top, struct totals *totals)
{
    for (size_t i = 0; i < top->cpus.count; i++) {
        const struct cpu_use *use = &top->cpus.items[i];
        const size_t n = totals->hosts.count;
        if (n == 0 || totals->hosts.items[n - 1].host != use->host) {
            lull_vec_push(&totals->hosts, (struct cpu_use){.host = use->host});
        }
        struct cpu_use *host = &totals->hosts.items[totals->hosts.count - 1];
        lull_add(&host->busy_ns, use->busy_ns);
        lull_add(&host->idle_ns, use->idle_ns);
        lull_add(&host->other_ns, use->other_ns);
        host->cpu++;
    }
}

static void total_row(const void *user, uint64_t row, struct lull_cell *cells)
{
    const struct totals *totals = user;
    const struct cpu_use *host = &totals->hosts.items[row];
    cells[0] = lull_cell_host_of(&totals->top->head, host->host);
    cells[1] = lull_cell_integer(LULL_CELL_NUMBER, host->cpu);
    use_cells(host, lull_product(host->cpu, length_of(totals->top)), cells + 2);
}

static void summary_row(const void *user, uint64_t row, struct lull_cell *cells)
{
    const struct totals *totals = user;
    const struct cpu_use *host = &totals->hosts.items[row];
    cells[0] = lull_cell_host_of(&totals->top->head, host->host);
    cells[1] = lull_cell_integer(LULL_CELL_TIME_RANGE, totals->top->head.start_ns);
    cells[1].end = totals->top->end_ns;
    cells[2] = usage_cell(host, lull_product(host->cpu, length_of(totals->top)));
}

static void cputop_open(struct lull_analysis *analysis)
{
    struct cputop *top = (struct cputop *)analysis;
    top->text = g_string_new(NULL);
    top->stolen = analysis->params->is_lami ? NULL : lull_stolen_new(analysis);
}

static void cputop_emit(struct lull_analysis *analysis, const struct lull_window *window,
                        struct lull_sink *sink)
{
    const struct cputop *top = (const struct cputop *)analysis;
    const struct lull_question_params *params = analysis->params;
    const uint64_t n_tasks = top->tasks.count;
    struct totals totals = {.top = top};
    add_totals(top, &totals);
    if (top->stolen) {
        sink->note(sink, "REAL and STOLEN are for tasks of virtual machines, in the time in which "
                         "their hosts were recorded too; the rest went to the hypervisor");
    }
    sink->table(sink, &(struct lull_result_table){
                          .class = &process_class,
                          .n_rows = params->limit ? MIN(n_tasks, params->limit) : n_tasks,
                          .row = process_row,
                          .user = top});
    sink->table(sink,
                &(struct lull_result_table){
                    .class = &cpu_class, .n_rows = top->cpus.count, .row = cpu_row, .user = top});
    sink->table(sink, &(struct lull_result_table){.class = &total_class,
                                                  .n_rows = totals.hosts.count,
                                                  .row = total_row,
                                                  .user = &totals});
    if (params->is_lami && params->has_windows) {
        sink->table(sink, &(struct lull_result_table){.class = &summary_class,
                                                      .n_rows = totals.hosts.count,
                                                      .row = summary_row,
                                                      .user = &totals});
    }
    lull_vec_free(&totals.hosts);
}

static void cputop_free(struct lull_analysis *analysis)
{
    struct cputop *top = (struct cputop *)analysis;
    for (size_t i = 0; i < top->tasks.count; i++) {
        lull_priorities_clear(&top->tasks.items[i].priorities);
    }
    for (size_t i = 0; i < top->cpu_numbers.count; i++) {
        lull_slots_free(&top->cpu_numbers.items[i]);
    }
    lull_vec_free(&top->tasks);
    lull_vec_free(&top->cpus);
    lull_vec_free(&top->cpu_numbers);
    lull_slots_free(&top->by_task);
    lull_stolen_free(top->stolen);
    g_string_free(top->text, TRUE);
}

const struct lull_analysis_class lull_analysis_cputop = {
    .name = "cputop",
    .title = "Top CPU usage",
    .description = "Per-TID, per-CPU, and total top CPU usage",
    .tags = (const char *const[]){"cpu", "top", NULL},
    .tables = (const struct lull_result_class *const[]){&process_class, &cpu_class, &total_class,
                                                        &summary_class, NULL},
    .question = "cpu",
    .has_priorities = true,
    .groups = LULL_GROUP_SCHED | LULL_GROUP_STATE,
    .is_by_host = true,
    .size = sizeof(struct cputop),
    .facts = {.switched = cputop_switched, .migration = cputop_migration, .prio = cputop_prio},
    .guest_facts = &guest_facts,
    .open = cputop_open,
    .close = cputop_close,
    .emit = cputop_emit,
    .free = cputop_free,
};
