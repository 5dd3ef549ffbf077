/* SPDX-License-Identifier: MIT */
/* What counters counted, by task and by CPU. What rose between two reads counts in the window in
 * which the second lies; if the first lies before it, with its part by time. */
#include <stdlib.h>
#include <string.h>

#include "analysis/counter_names.h"
#include "base/map.h"
#include "base/slots.h"
#include "kernel/vocabulary.h"

/* Values of a task or of a CPU, by counter. */
struct counts {
    uint64_t *values;
    bool *are_known; /* something was counted */
};

struct task_counts {
    uint32_t task;
    struct counts counts;
};

/* One counter of one CPU. */
struct cpu_count {
    uint32_t host;
    int32_t cpu;
    uint32_t counter;
    uint64_t counted; /* what it rose */
    uint64_t by[LULL_COUNTED_UNKNOWN + 1];
    uint64_t shared; /* of that by the time of several tasks */
};

struct counters_analysis {
    struct lull_analysis head;
    uint32_t n;              /* counters */
    uint32_t cycles, others; /* numbers of those of which IPC is made, or LULL_NONE */
    uint32_t first;          /* the one that rows are in order of */
    LULL_VEC(struct task_counts) tasks;
    struct lull_slots by_task; /* task → index + 1 */
    LULL_VEC(struct cpu_count) cpus;
    struct lull_map by_cpu; /* host, CPU, counter → index */
    bool *are_estimates;    /* by counter */
    uint64_t n_why[LULL_COUNT_STOPPED + 1];
    bool has_shared;
    int64_t end_ns;
    /* of the table of tasks */
    struct lull_result_column *columns;
    GPtrArray *texts;
};

static const char *name_of(const struct counters_analysis *counters, uint32_t counter)
{
    return lull_counter_name(counters->head.model, counter);
}

/* The first counter of one of these names. */
static uint32_t find_counter(const struct counters_analysis *counters, const char *const *names)
{
    for (; *names; names++) {
        for (uint32_t i = 0; i < counters->n; i++) {
            if (strcmp(name_of(counters, i), *names) == 0) {
                return i;
            }
        }
    }
    return LULL_NONE;
}

static void counters_open(struct lull_analysis *analysis)
{
    static const char *const cycles[] = {"cycles", "cpu-cycles", "thread-cycles",
                                         "thread-cpu-cycles", NULL};
    static const char *const instructions[] = {"instructions", "thread-instructions", NULL};
    static const char *const clocks[] = {"task-clock", "cpu-clock", "thread-task-clock", NULL};
    struct counters_analysis *counters = (struct counters_analysis *)analysis;
    counters->n = lull_model_counter_count(analysis->model);
    counters->cycles = find_counter(counters, cycles);
    counters->others = find_counter(counters, instructions);
    const uint32_t clock = find_counter(counters, clocks);
    counters->first = counters->cycles != LULL_NONE ? counters->cycles
                      : clock != LULL_NONE          ? clock
                                                    : 0;
    counters->are_estimates = g_new0(bool, counters->n + 1);
}

/* ---- facts ---- */

static struct counts *task_of(struct counters_analysis *counters, uint32_t task)
{
    uint32_t *slot = lull_slots_at(&counters->by_task, task);
    if (*slot == 0) {
        lull_vec_push(
            &counters->tasks,
            (struct task_counts){task, {g_new0(uint64_t, counters->n), g_new0(bool, counters->n)}});
        *slot = (uint32_t)counters->tasks.count;
    }
    return &counters->tasks.items[*slot - 1].counts;
}

static struct cpu_count *cpu_of(struct counters_analysis *counters,
                                const struct lull_count_fact *fact)
{
    const uint64_t key =
        (uint64_t)fact->host << 32 | (uint64_t)(uint32_t)fact->cpu << 8 | fact->counter;
    uint32_t index = lull_map_find(&counters->by_cpu, key);
    if (index == LULL_MAP_NONE) {
        index = (uint32_t)counters->cpus.count;
        lull_map_insert(&counters->by_cpu, key, index);
        lull_vec_push(
            &counters->cpus,
            (struct cpu_count){.host = fact->host, .cpu = fact->cpu, .counter = fact->counter});
    }
    return &counters->cpus.items[index];
}

/* The part of a value that lies in the window. */
static uint64_t clip(const struct counters_analysis *counters, const struct lull_count_fact *fact,
                     uint64_t value)
{
    if (fact->start_ns >= counters->head.start_ns || fact->end_ns <= fact->start_ns) {
        return value;
    }
    const int64_t part_ns = MAX(fact->end_ns - counters->head.start_ns, 0);
    return (uint64_t)((unsigned __int128)value * (uint64_t)part_ns /
                      (uint64_t)(fact->end_ns - fact->start_ns));
}

static void counters_count(void *user, const struct lull_count_fact *fact)
{
    struct counters_analysis *counters = user;
    const struct lull_question_params *params = counters->head.params;
    const uint64_t value = clip(counters, fact, fact->value);
    if (params->cpus.count > 0 && fact->cpu >= 0 &&
        !lull_params_want_cpu(params, fact->host, fact->cpu)) {
        return;
    }
    counters->are_estimates[fact->counter] |= fact->is_estimate;
    counters->n_why[fact->why]++;
    if (fact->cpu >= 0 && (params->host < 0 || fact->host == (uint32_t)params->host)) {
        struct cpu_count *cpu = cpu_of(counters, fact);
        cpu->counted += clip(counters, fact, fact->counted);
        cpu->by[fact->by] += value;
        cpu->shared += fact->is_shared ? value : 0;
        counters->has_shared |= fact->is_shared;
    }
    if (fact->by == LULL_COUNTED_TASK && fact->task != LULL_NONE &&
        lull_params_want_task(params, counters->head.model, fact->task, fact->end_ns)) {
        struct counts *counts =
            task_of(counters, lull_params_row(params, counters->head.model, fact->task));
        counts->values[fact->counter] += value;
        counts->are_known[fact->counter] = true;
    }
}

/* ---- tables ---- */

#define HOST {"Host", "HOST", "host", LULL_CELL_HOST, NULL, LULL_USE_HOST}
#define PROCESS {"Process", "PROCESS", "process", LULL_CELL_PROCESS, NULL, 0}
#define IPC {"Instructions per cycle", "IPC", "ipc", LULL_CELL_NUMBER, NULL, 0}
#define NUMBER(title, heading, key) {title, heading, key, LULL_CELL_NUMBER, NULL, 0}

static const struct lull_result_column task_columns[] = {HOST, PROCESS, IPC, {0}};
static const struct lull_result_column cpu_columns[] = {
    HOST,
    {"CPU", "CPU", "cpu", LULL_CELL_CPU, NULL, 0},
    {"Counter", "COUNTER", "counter", LULL_CELL_STRING, NULL, 0},
    {"Unit", "UNIT", "unit", LULL_CELL_STRING, NULL, LULL_USE_DETAIL},
    NUMBER("From the first read to the last", "COUNTED", "counted"),
    NUMBER("By tasks", "TASKS", "tasks"),
    NUMBER("While idle", "IDLE", "idle"),
    NUMBER("In interrupts", "INTERRUPTS", "interrupts"),
    NUMBER("By whom is not known", "UNKNOWN", "unknown"),
    {"Of that by the time of several tasks", "SHARED", "shared", LULL_CELL_NUMBER, NULL,
     LULL_USE_DETAIL},
    {0}};

static const struct lull_result_class task_class = {
    "per-task", "Counters by task", task_columns, LULL_TABLE_OPEN, true, false};
static const struct lull_result_class cpu_class = {
    "per-cpu", "Counters by CPU", cpu_columns, LULL_TABLE_PLAIN, true, false};

static bool has_ipc(const struct counters_analysis *counters)
{
    return counters->cycles != LULL_NONE && counters->others != LULL_NONE;
}

static const char *keep(struct counters_analysis *counters, char *text)
{
    g_ptr_array_add(counters->texts, text);
    return text;
}

/* "page-faults" → "page_faults"; none has the name of another column. */
static const char *key_of(struct counters_analysis *counters, const char *name)
{
    static const char *const taken[] = {"host", "process", "ipc", "of", NULL};
    g_autofree char *key = lull_counter_key("", name);
    return keep(counters, g_strconcat(key, g_strv_contains(taken, key) ? "_" : NULL, NULL));
}

static void make_columns(struct counters_analysis *counters)
{
    static const struct lull_result_column host = HOST, process = PROCESS, ipc = IPC;
    uint32_t n = 0;
    counters->texts = g_ptr_array_new_with_free_func(g_free);
    counters->columns = g_new0(struct lull_result_column, counters->n + 4);
    counters->columns[n++] = host;
    counters->columns[n++] = process;
    for (uint32_t i = 0; i < counters->n; i++) {
        const char *name = name_of(counters, i);
        counters->columns[n++] = (struct lull_result_column){
            .title = keep(counters, g_strdup(name)),
            .heading = keep(counters, lull_counter_heading(name, counters->are_estimates[i])),
            .key = key_of(counters, name),
            .class = lull_counter_class(name),
            .use = i == counters->first ? LULL_USE_BAR : 0,
        };
    }
    if (has_ipc(counters)) {
        counters->columns[n] = ipc;
    }
}

static struct lull_cell ipc_cell(const struct counters_analysis *counters,
                                 const struct counts *counts)
{
    const uint64_t cycles = counts->values[counters->cycles];
    if (cycles == 0 || !counts->are_known[counters->others]) {
        return lull_cell_integer(LULL_CELL_UNKNOWN, 0);
    }
    return lull_cell_real(LULL_CELL_NUMBER,
                          (double)counts->values[counters->others] / (double)cycles);
}

static void task_row(const void *user, uint64_t row, struct lull_cell *cells)
{
    const struct counters_analysis *counters = user;
    const struct task_counts *task = &counters->tasks.items[row];
    const struct lull_model *model = counters->head.model;
    *cells++ = lull_cell_host_of(&counters->head, lull_model_task(model, task->task)->host);
    *cells++ = lull_cell_task(model, task->task, counters->end_ns, false);
    for (uint32_t i = 0; i < counters->n; i++) {
        *cells++ = lull_cell_integer(
            task->counts.are_known[i] ? counters->columns[i + 2].class : LULL_CELL_UNKNOWN,
            (int64_t)MIN(task->counts.values[i], INT64_MAX));
    }
    if (has_ipc(counters)) {
        *cells = ipc_cell(counters, &task->counts);
    }
}

static struct lull_cell number_cell(uint64_t value)
{
    return lull_cell_integer(LULL_CELL_NUMBER, (int64_t)MIN(value, INT64_MAX));
}

static void cpu_row(const void *user, uint64_t row, struct lull_cell *cells)
{
    const struct counters_analysis *counters = user;
    const struct cpu_count *cpu = &counters->cpus.items[row];
    const char *name = name_of(counters, cpu->counter);
    *cells++ = lull_cell_host_of(&counters->head, cpu->host);
    *cells++ = lull_cell_integer(LULL_CELL_CPU, cpu->cpu);
    *cells++ = lull_cell_text(LULL_CELL_STRING, name);
    if (lull_counter_is_clock(name)) {
        *cells = lull_cell_text(LULL_CELL_STRING, "ns");
    }
    cells++;
    *cells++ = number_cell(cpu->counted);
    for (unsigned by = 0; by < G_N_ELEMENTS(cpu->by); by++) {
        *cells++ = number_cell(cpu->by[by]);
    }
    *cells = number_cell(cpu->shared);
}

/* ---- what is said of them ---- */

/* Counters of the kernel's own, which never take turns. */
static bool is_software(const char *name)
{
    static const char *const names[] = {
        "clock",          "faults",     "fault",  "context-switches",
        "cpu-migrations", "migrations", "events", "switches",
        "bpf-output",     "dummy",      NULL};
    for (const char *const *at = names; *at; at++) {
        if (g_str_has_suffix(name, *at)) {
            return true;
        }
    }
    return false;
}

static void note_facts(const struct counters_analysis *counters, struct lull_sink *sink)
{
    bool has_hardware = false, has_estimates = false;
    for (uint32_t i = 0; i < counters->n; i++) {
        has_hardware |= !is_software(name_of(counters, i));
        has_estimates |= counters->are_estimates[i];
    }
    if (counters->n == 0) {
        sink->note(sink, "no counter was recorded; 'lull record --counters' records some");
    }
    if (has_estimates) {
        sink->note(sink, "counters took turns: ≈ is what would have been counted in all of the "
                         "time, as far as the part shows that was");
    } else if (has_hardware && !lull_model_counters_tell_turns(counters->head.model)) {
        sink->note(sink, "whether counters took turns was not recorded: with more of them than the "
                         "CPU has, all are too low");
    }
    if (counters->has_shared) {
        sink->note(sink, "several tasks were on a CPU between two reads: each has a part by its "
                         "time");
    }
    lull_note_count(sink, counters->n_why[LULL_COUNT_RESET],
                    "time a counter was less than before: it was opened anew, and what it counted "
                    "meanwhile is not known",
                    "times a counter was less than before: it was opened anew, and what it counted "
                    "meanwhile is not known");
    lull_note_count(sink, counters->n_why[LULL_COUNT_LOST],
                    "read came after others that were lost: whose doing it was is not known",
                    "reads came after others that were lost: whose doing it was is not known");
    lull_note_count(sink, counters->n_why[LULL_COUNT_STOPPED],
                    "read is of a time in which the counter did not count",
                    "reads are of times in which the counter did not count");
}

/* ---- the whole ---- */

/* Most of the first counter first, then of the others. */
static int compare_tasks(const void *a, const void *b, void *user)
{
    const struct counters_analysis *counters = user;
    const struct task_counts *x = a, *y = b;
    for (uint32_t i = 0; i <= counters->n; i++) {
        const uint32_t which = i == 0 ? counters->first : i - 1;
        const uint64_t p = x->counts.values[which], q = y->counts.values[which];
        if (p != q) {
            return p > q ? -1 : 1;
        }
    }
    return x->task < y->task ? -1 : x->task > y->task;
}

static int compare_cpus(const void *a, const void *b)
{
    const struct cpu_count *x = a, *y = b;
    if (x->host != y->host) {
        return x->host < y->host ? -1 : 1;
    }
    if (x->counter != y->counter) {
        return x->counter < y->counter ? -1 : 1;
    }
    return (x->cpu > y->cpu) - (x->cpu < y->cpu);
}

static void counters_emit(struct lull_analysis *analysis, const struct lull_window *window,
                          struct lull_sink *sink)
{
    struct counters_analysis *counters = (struct counters_analysis *)analysis;
    const uint32_t limit = analysis->params->limit;
    counters->end_ns = window->end_ns;
    if (counters->tasks.count) {
        qsort_r(counters->tasks.items, counters->tasks.count, sizeof *counters->tasks.items,
                compare_tasks, counters);
    }
    if (counters->cpus.count) {
        qsort(counters->cpus.items, counters->cpus.count, sizeof *counters->cpus.items,
              compare_cpus);
    }
    note_facts(counters, sink);
    make_columns(counters);
    sink->table(sink,
                &(struct lull_result_table){.class = &task_class,
                                            .columns = counters->columns,
                                            .n_rows = limit ? MIN(counters->tasks.count, limit)
                                                            : counters->tasks.count,
                                            .row = task_row,
                                            .user = counters});
    if (counters->cpus.count > 0) {
        sink->table(sink, &(struct lull_result_table){.class = &cpu_class,
                                                      .n_rows = counters->cpus.count,
                                                      .row = cpu_row,
                                                      .user = counters});
    }
}

static void counters_free(struct lull_analysis *analysis)
{
    struct counters_analysis *counters = (struct counters_analysis *)analysis;
    for (size_t i = 0; i < counters->tasks.count; i++) {
        g_free(counters->tasks.items[i].counts.values);
        g_free(counters->tasks.items[i].counts.are_known);
    }
    lull_vec_free(&counters->tasks);
    lull_vec_free(&counters->cpus);
    lull_slots_free(&counters->by_task);
    lull_map_free(&counters->by_cpu);
    g_free(counters->are_estimates);
    g_free(counters->columns);
    g_clear_pointer(&counters->texts, g_ptr_array_unref);
}

const struct lull_analysis_class lull_analysis_counters = {
    .name = "counters",
    .title = "Counters",
    .description = "What counters of the CPUs and of the kernel counted, by task and by CPU",
    .tags = (const char *const[]){"cpu", "counter", NULL},
    .tables = (const struct lull_result_class *const[]){&task_class, &cpu_class, NULL},
    .groups = LULL_GROUP_SCHED | LULL_GROUP_STATE | LULL_GROUP_IRQ | LULL_GROUP_COUNTERS,
    .size = sizeof(struct counters_analysis),
    .facts = {.count = counters_count},
    .open = counters_open,
    .emit = counters_emit,
    .free = counters_free,
};
