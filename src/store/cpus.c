/* SPDX-License-Identifier: MIT */
/* What happened on each CPU, and who it happened to. A fact of a switch says who was on the CPU
 * before it; what the task did there (system calls, handlers that interrupted it) was noted as
 * changes meanwhile. A system call lasts from its start to the next end or start of one of the task;
 * one whose start was not seen is not shown. Handlers are the outermost ones. */
#include "store/build_private.h"

enum { CHANGES_MOST = 256 };

/* ---- rows ---- */

static uint32_t new_row(struct store_build *build, enum lull_store_kind kind, uint32_t host,
                        int32_t cpu, uint32_t name)
{
    const struct store_row row = {
        .kind = kind, .host = host, .cpu = cpu, .name = name, .tid = -1, .pid = -1, .ppid = -1};
    return store_writer_row(build->writer, &row, build->start_ns);
}

struct store_cpu *build_cpu(struct store_build *build, uint32_t host, int32_t c)
{
    const uint64_t key = (uint64_t)host << 32 | (uint32_t)c;
    const uint32_t known = lull_map_find(&build->cpu_numbers, key);
    if (known != LULL_MAP_NONE) {
        return build->cpus.items[known];
    }
    char name[32];
    struct store_cpu *cpu = g_new0(struct store_cpu, 1);
    g_snprintf(name, sizeof name, "CPU %d", c);
    cpu->host = host;
    cpu->number = c;
    const uint32_t text = store_writer_text(build->writer, name);
    cpu->row = new_row(build, LULL_STORE_CPU, host, c, text);
    cpu->thread_row = new_row(build, LULL_STORE_CPU_THREAD, host, c, text);
    cpu->frequency_row = cpu->cycles_row = LULL_NONE;
    lull_vec_push(&cpu->speeds, (struct cpu_speed){INT64_MIN, LULL_NONE});
    cpu->base = (struct cpu_change){INT64_MIN, LULL_NONE, LULL_STORE_USER};
    cpu->task = LULL_NONE;
    cpu->handler_start_ns = INT64_MIN;
    lull_vec_push(&cpu->changes, cpu->base);
    lull_map_insert(&build->cpu_numbers, key, (uint32_t)build->cpus.count);
    lull_vec_push(&build->cpus, cpu);
    return cpu;
}

/* ---- who was on it ---- */

static void piece(struct store_build *build, const struct store_cpu *cpu, int32_t c, uint32_t task,
                  int64_t start_ns, int64_t end_ns, const struct cpu_change *change)
{
    enum lull_store_state state = (enum lull_store_state)change->state;
    uint32_t label = build_text(build, change->label);
    const uint32_t row = build_task_row(build, task);
    if (task != LULL_NONE) {
        build_task_piece(build, task, start_ns, end_ns, state, label, (uint32_t)c);
    } else if (state == LULL_STORE_USER || state == LULL_STORE_SYSCALL) {
        state = LULL_STORE_IDLE;
        label = LULL_NONE;
    }
    store_writer_append(build->writer, cpu->row, end_ns, state, label, row);
}

/* `task` was on the CPU; what it did there is in the changes. */
static void ran(struct store_build *build, const struct store_cpu *cpu, int32_t c, uint32_t task,
                int64_t start_ns, int64_t end_ns)
{
    for (size_t i = 0; i < cpu->changes.count; i++) {
        const int64_t next_ns =
            i + 1 < cpu->changes.count ? cpu->changes.items[i + 1].time_ns : INT64_MAX;
        const int64_t from_ns = MAX(start_ns, cpu->changes.items[i].time_ns);
        const int64_t to_ns = MIN(end_ns, next_ns);
        if (from_ns < to_ns) {
            piece(build, cpu, c, task, from_ns, to_ns, &cpu->changes.items[i]);
        }
    }
}

/* The same with the frequencies of the CPU, of which the last one goes on. */
static void worked(struct store_build *build, struct store_cpu *cpu, uint32_t task,
                   int64_t start_ns, int64_t end_ns)
{
    size_t passed = 0;
    store_writer_append(build->writer, cpu->cycles_row, start_ns, LULL_STORE_UNKNOWN, LULL_NONE,
                        LULL_NONE);
    for (size_t i = 0; i < cpu->speeds.count && cpu->speeds.items[i].time_ns < end_ns; i++) {
        const bool is_last = i + 1 == cpu->speeds.count;
        const uint32_t khz = cpu->speeds.items[i].khz;
        const enum lull_store_state state = task == LULL_NONE  ? LULL_STORE_IDLE
                                            : khz == LULL_NONE ? LULL_STORE_UNKNOWN
                                                               : LULL_STORE_USER;
        passed = i;
        store_writer_append(build->writer, cpu->cycles_row,
                            is_last ? end_ns : MIN(end_ns, cpu->speeds.items[i + 1].time_ns), state,
                            LULL_NONE, state == LULL_STORE_USER ? khz : LULL_NONE);
    }
    if (!build->is_part) {
        cpu->speeds.count -= passed;
        memmove(cpu->speeds.items, cpu->speeds.items + passed,
                cpu->speeds.count * sizeof *cpu->speeds.items);
    }
}

/* Nothing is known of the CPU up to start_ns; then `task` was there until end_ns. */
static void account(struct store_build *build, struct store_cpu *cpu, uint32_t host, int32_t c,
                    uint32_t task, int64_t start_ns, int64_t end_ns)
{
    const enum lull_store_state hole = cpu->is_lossy ? LULL_STORE_LOST : LULL_STORE_UNKNOWN;
    start_ns = MAX(start_ns, build->coverage[host].first_ns);
    if (start_ns > end_ns) {
        return;
    }
    store_writer_append(build->writer, cpu->row, start_ns, hole, LULL_NONE, LULL_NONE);
    store_writer_append(build->writer, cpu->thread_row, start_ns, hole, LULL_NONE, LULL_NONE);
    ran(build, cpu, c, task, start_ns, end_ns);
    if (cpu->cycles_row != LULL_NONE) {
        worked(build, cpu, task, start_ns, end_ns);
    }
    store_writer_append(build->writer, cpu->thread_row, end_ns,
                        task == LULL_NONE ? LULL_STORE_IDLE : LULL_STORE_USER, LULL_NONE,
                        build_task_row(build, task));
}

void cpus_switched(void *user, const struct lull_switch_fact *fact)
{
    struct store_build *build = user;
    struct store_cpu *cpu = build_cpu(build, fact->host, fact->cpu);
    account(build, cpu, fact->host, fact->cpu, fact->previous, fact->since_ns, fact->time_ns);
    /* What was written of a task that stayed may turn out to be too much. */
    store_writer_cut(build->writer, cpu->row, fact->time_ns);
    if (fact->is_unknown && fact->previous != LULL_NONE) {
        store_writer_cut(build->writer, build_task_row(build, fact->previous), fact->time_ns);
        build_task(build, fact->previous)->call = 0;
    }
    cpu->is_known = !fact->is_unknown;
    cpu->is_lossy = cpu->is_lossy && fact->is_unknown;
    cpu->task = fact->task;
    const uint32_t call = fact->task == LULL_NONE ? 0 : build_task(build, fact->task)->call;
    cpu->base =
        (struct cpu_change){fact->time_ns, call - 1, call ? LULL_STORE_SYSCALL : LULL_STORE_USER};
    cpu->changes.count = 0;
    lull_vec_push(&cpu->changes, cpu->base);
}

/* ---- what happened there ---- */

static void change(struct store_build *build, struct store_cpu *cpu, int32_t c, int64_t time_ns,
                   uint8_t state, uint32_t label)
{
    struct cpu_change *last = &cpu->changes.items[cpu->changes.count - 1];
    if (last->time_ns >= time_ns) { /* it lasted no time */
        last->state = state;
        last->label = label;
        return;
    }
    lull_vec_push(&cpu->changes, (struct cpu_change){time_ns, label, state});
    if (cpu->changes.count >= CHANGES_MOST && cpu->is_known) {
        struct cpu_change *items = cpu->changes.items;
        ran(build, cpu, c, cpu->task, items[0].time_ns, time_ns);
        items[0] = items[cpu->changes.count - 1];
        cpu->changes.count = 1;
    }
}

void cpus_interrupt(void *user, const struct lull_interrupt_fact *fact)
{
    struct store_build *build = user;
    struct store_cpu *cpu = build_cpu(build, fact->host, fact->cpu);
    if (cpu->handler_start_ns != fact->start_ns) {
        return; /* the reception of a packet is no handler by itself */
    }
    const bool is_soft = cpu->handler_kind == LULL_HANDLER_SOFTIRQ;
    change(build, cpu, fact->cpu, fact->start_ns,
           is_soft ? LULL_STORE_SOFTIRQ_RUN : LULL_STORE_INTERRUPT, fact->label);
    change(build, cpu, fact->cpu, fact->end_ns, cpu->base.state, cpu->base.label);
}

/* Reported right before the interrupt that it is the outermost handler of. */
void cpus_handler(void *user, const struct lull_handler_fact *fact)
{
    struct store_build *build = user;
    struct store_cpu *cpu = build_cpu(build, fact->host, fact->cpu);
    const bool is_soft = fact->kind == LULL_HANDLER_SOFTIRQ;
    cpu->handler_start_ns = fact->start_ns;
    cpu->handler_kind = fact->kind;
    const uint64_t key = (uint64_t)(uint32_t)(cpu->row) << 32 | fact->label;
    uint32_t row = lull_map_find(&build->handlers, key);
    if (row == LULL_MAP_NONE) {
        row = new_row(build, is_soft ? LULL_STORE_SOFTIRQ : LULL_STORE_IRQ, fact->host, fact->cpu,
                      build_text(build, fact->label));
        lull_map_insert(&build->handlers, key, row);
    }
    store_writer_append(build->writer, row, fact->start_ns, LULL_STORE_NONE, LULL_NONE, LULL_NONE);
    store_writer_append(build->writer, row, fact->end_ns,
                        is_soft ? LULL_STORE_SOFTIRQ_RUN : LULL_STORE_INTERRUPT, LULL_NONE,
                        build_task_row(build, fact->task));
}

void cpus_syscall_start(void *user, const struct lull_syscall_fact *fact)
{
    struct store_build *build = user;
    const struct lull_task *task = lull_model_task(build->model, fact->task);
    struct store_cpu *cpu = build_cpu(build, task->host, fact->cpu);
    build_task(build, fact->task)->call = fact->name + 1;
    cpu->base = (struct cpu_change){fact->start_ns, fact->name, LULL_STORE_SYSCALL};
    change(build, cpu, fact->cpu, fact->start_ns, cpu->base.state, cpu->base.label);
}

void cpus_syscall(void *user, const struct lull_syscall_fact *fact)
{
    struct store_build *build = user;
    if (fact->is_open) {
        return;
    }
    const struct lull_task *task = lull_model_task(build->model, fact->task);
    struct store_cpu *cpu = build_cpu(build, task->host, fact->cpu);
    build_task(build, fact->task)->call = 0;
    cpu->base = (struct cpu_change){fact->end_ns, LULL_NONE, LULL_STORE_USER};
    change(build, cpu, fact->cpu, fact->end_ns, cpu->base.state, cpu->base.label);
}

/* The last frequency lasted until end_ns. */
static void end_speed(struct store_build *build, const struct store_cpu *cpu, int64_t end_ns)
{
    const uint32_t khz = cpu->speeds.items[cpu->speeds.count - 1].khz;
    store_writer_append(build->writer, cpu->frequency_row, end_ns,
                        khz == LULL_NONE ? LULL_STORE_UNKNOWN : LULL_STORE_USER, LULL_NONE, khz);
}

void cpus_power(void *user, const struct lull_power_fact *fact)
{
    struct store_build *build = user;
    if (fact->kind != LULL_POWER_FREQUENCY) {
        return;
    }
    struct store_cpu *cpu = build_cpu(build, fact->host, fact->cpu);
    if (cpu->frequency_row == LULL_NONE) {
        char name[32];
        g_snprintf(name, sizeof name, "CPU %d", fact->cpu);
        const uint32_t text = store_writer_text(build->writer, name);
        cpu->frequency_row = new_row(build, LULL_STORE_FREQUENCY, fact->host, fact->cpu, text);
        cpu->cycles_row = new_row(build, LULL_STORE_CYCLES, fact->host, fact->cpu, text);
    }
    end_speed(build, cpu, fact->time_ns);
    lull_vec_push(&cpu->speeds,
                  (struct cpu_speed){fact->time_ns, (uint32_t)CLAMP(fact->value, 0, INT32_MAX)});
}

void cpus_lost(void *user, const struct lull_lost_fact *fact)
{
    struct store_build *build = user;
    store_writer_loss(build->writer,
                      &(struct store_loss){fact->start_ns, fact->end_ns, fact->events,
                                           fact->packets, fact->host, fact->cpu});
    for (size_t i = 0; i < build->cpus.count; i++) {
        struct store_cpu *cpu = build->cpus.items[i];
        cpu->is_lossy |= cpu->host == fact->host && (fact->cpu < 0 || fact->cpu == cpu->number);
    }
}

/* ---- the end ---- */

/* A part makes no rows: the whole might give their numbers to others. */
static bool has_row(const struct store_build *build, uint32_t task)
{
    return task == LULL_NONE || (task < build->tasks.count && build->tasks.items[task].row);
}

void cpus_finish(struct store_build *build)
{
    for (size_t i = 0; i < build->cpus.count; i++) {
        struct store_cpu *cpu = build->cpus.items[i];
        uint32_t task;
        int64_t since_ns;
        if (lull_model_running(build->model, cpu->host, cpu->number, &task, &since_ns) &&
            (!build->is_part || has_row(build, task))) {
            account(build, cpu, cpu->host, cpu->number, task, since_ns,
                    MIN(build->coverage[cpu->host].last_ns, build->end_ns));
        }
        if (cpu->frequency_row != LULL_NONE) {
            end_speed(build, cpu, build->end_ns);
        }
        const uint32_t rows[] = {cpu->row, cpu->thread_row, cpu->cycles_row};
        for (uint32_t r = 0; r < G_N_ELEMENTS(rows) && rows[r] != LULL_NONE; r++) {
            store_writer_append(build->writer, rows[r], build->end_ns, LULL_STORE_UNKNOWN,
                                LULL_NONE, LULL_NONE);
        }
    }
}

void cpus_free(struct store_build *build)
{
    for (size_t i = 0; i < build->cpus.count; i++) {
        lull_vec_free(&build->cpus.items[i]->changes);
        lull_vec_free(&build->cpus.items[i]->speeds);
        g_free(build->cpus.items[i]);
    }
    lull_vec_free(&build->cpus);
    lull_map_free(&build->cpu_numbers);
}
