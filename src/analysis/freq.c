/* SPDX-License-Identifier: MIT */
/* How fast the CPUs ran and how deep they slept: time in each frequency and each idle state by CPU,
 * time at each frequency by task, and the cycles that this comes to, so that durations can be
 * compared whatever the frequency was. A CPU's frequency or idle state is unknown before the first
 * event that reports it. */
#include <stdlib.h>

#include "analysis/analysis.h"
#include "base/map.h"
#include "base/slots.h"
#include "base/sums.h"
#include "kernel/vocabulary.h"

enum { UNKNOWN_KHZ = -1 };

/* A frequency, reported at since_ns. */
struct change {
    int64_t since_ns, khz;
};

/* The level of an owner that was looked for last. */
struct last_level {
    int64_t value;
    uint32_t number; /* index + 1; 0: none was */
};

struct cpu_freq {
    uint32_t host;
    int32_t cpu;
    int64_t reported_ns;             /* what ran until then is accounted */
    int64_t idle, idle_ns;           /* idle state, INT64_MIN: unknown; since then */
    LULL_VEC(struct change) changes; /* those that matter after reported_ns; never empty */
    struct last_level busy;
};

/* Time at one frequency, or in one idle state, of one CPU or task. */
struct level {
    uint32_t owner; /* index of the CPU, or task */
    int64_t value;  /* kHz, or idle state; UNKNOWN_KHZ, INT64_MIN */
    int64_t ns, busy_ns;
    uint64_t count;    /* how often an idle state started */
    uint64_t position; /* of the owner among its rows, once they are made */
};

struct levels {
    LULL_VEC(struct level) items;
    struct lull_map numbers; /* owner, value → index */
};

struct task_freq {
    uint32_t task;
    int64_t ns, known_ns;
    unsigned __int128 work; /* ns × kHz */
    struct last_level last;
};

struct freq_log {
    int64_t start_ns, end_ns, value;
    uint32_t cpu; /* index */
    bool is_idle_state;
};

struct freq_analysis {
    struct lull_analysis head;
    LULL_VEC(struct cpu_freq) cpus;
    LULL_VEC(struct lull_slots) cpu_numbers; /* by host: CPU → index + 1 */
    struct levels frequencies, states, task_levels;
    LULL_VEC(struct task_freq) tasks;
    struct lull_slots by_task; /* task → index + 1 */
    LULL_VEC(struct freq_log) log;
    int64_t end_ns;
    char text[32];
};

/* ---- levels ---- */

static struct level *level_of(struct levels *levels, uint32_t owner, int64_t value)
{
    /* Values are below 2^32; the unknown ones are negative. */
    const uint64_t key = (uint64_t)owner << 33 |
                         (value == INT64_MIN ? UINT64_C(1) << 32 : (uint64_t)(value & 0xffffffff));
    uint32_t index = lull_map_find(&levels->numbers, key);
    if (index == LULL_MAP_NONE) {
        index = (uint32_t)levels->items.count;
        lull_map_insert(&levels->numbers, key, index);
        lull_vec_push(&levels->items, (struct level){.owner = owner, .value = value});
    }
    return &levels->items.items[index];
}

/* Frequencies stay for a while. */
static struct level *level_again(struct levels *levels, struct last_level *last, uint32_t owner,
                                 int64_t value)
{
    if (last->number == 0 || last->value != value) {
        const struct level *found = level_of(levels, owner, value);
        *last = (struct last_level){value, (uint32_t)(found - levels->items.items) + 1};
    }
    return &levels->items.items[last->number - 1];
}

static void free_levels(struct levels *levels)
{
    lull_vec_free(&levels->items);
    lull_map_free(&levels->numbers);
}

/* By owner, greatest value first, unknown last. */
static int compare_levels(const void *a, const void *b)
{
    const struct level *x = a, *y = b;
    if (x->position != y->position) {
        return x->position < y->position ? -1 : 1;
    }
    return (x->value < y->value) - (x->value > y->value);
}

/* ---- facts ---- */

static int64_t start_of(const struct freq_analysis *freq, uint32_t host)
{
    const struct lull_coverage *coverage = freq->head.coverage;
    return coverage ? MAX(freq->head.start_ns, coverage[host].first_ns) : freq->head.start_ns;
}

/* A CPU starts with what the model knows of it, so windows need not start with an event. */
static struct cpu_freq *cpu_of(struct freq_analysis *freq, uint32_t host, int32_t cpu,
                               bool is_change)
{
    while (freq->cpu_numbers.count <= host) {
        lull_vec_push(&freq->cpu_numbers, (struct lull_slots){0});
    }
    uint32_t *slot = lull_slots_at(&freq->cpu_numbers.items[host], (uint32_t)cpu);
    if (*slot == 0) {
        struct cpu_freq new = {.host = host, .cpu = cpu, .reported_ns = start_of(freq, host)};
        struct change change = {new.reported_ns, UNKNOWN_KHZ};
        new.idle = INT64_MIN;
        if (!is_change) { /* else the model knows the new value already */
            lull_model_power(freq->head.model, host, cpu, &change.khz, &new.idle);
        }
        new.idle_ns = new.reported_ns;
        lull_vec_push(&new.changes, change);
        lull_vec_push(&freq->cpus, new);
        *slot = (uint32_t)freq->cpus.count;
    }
    return &freq->cpus.items[*slot - 1];
}

static void add_log(struct freq_analysis *freq, const struct cpu_freq *cpu, bool is_idle_state,
                    int64_t value, int64_t start_ns, int64_t end_ns)
{
    if ((freq->head.params->sections & LULL_SECTION_LOG) && end_ns > start_ns) {
        lull_vec_push(&freq->log,
                      (struct freq_log){start_ns, end_ns, value, (uint32_t)(cpu - freq->cpus.items),
                                        is_idle_state});
    }
}

static void end_frequency(struct freq_analysis *freq, struct cpu_freq *cpu, int64_t t)
{
    const struct change *last = &cpu->changes.items[cpu->changes.count - 1];
    struct level *level =
        level_of(&freq->frequencies, (uint32_t)(cpu - freq->cpus.items), last->khz);
    lull_add(&level->ns, MAX(t - last->since_ns, 0));
    add_log(freq, cpu, false, last->khz, last->since_ns, t);
}

static void end_state(struct freq_analysis *freq, struct cpu_freq *cpu, int64_t t)
{
    struct level *level = level_of(&freq->states, (uint32_t)(cpu - freq->cpus.items), cpu->idle);
    lull_add(&level->ns, MAX(t - cpu->idle_ns, 0));
    level->count++;
    add_log(freq, cpu, true, cpu->idle, cpu->idle_ns, t);
}

static void freq_power(void *user, const struct lull_power_fact *fact)
{
    struct freq_analysis *freq = user;
    if (!lull_params_want_cpu(freq->head.params, fact->host, fact->cpu)) {
        return;
    }
    struct cpu_freq *cpu = cpu_of(freq, fact->host, fact->cpu, true);
    if (fact->kind == LULL_POWER_IDLE) {
        if (fact->value == cpu->idle) {
            return;
        }
        end_state(freq, cpu, fact->time_ns);
        cpu->idle = fact->value;
        cpu->idle_ns = fact->time_ns;
        return;
    }
    struct change *last = &cpu->changes.items[cpu->changes.count - 1];
    if (fact->value == last->khz) {
        return;
    }
    end_frequency(freq, cpu, fact->time_ns);
    lull_vec_push(&cpu->changes, (struct change){fact->time_ns, fact->value});
}

static struct task_freq *task_of(struct freq_analysis *freq, uint32_t task)
{
    uint32_t *slot = lull_slots_at(&freq->by_task, task);
    if (*slot == 0) {
        lull_vec_push(&freq->tasks, (struct task_freq){.task = task});
        *slot = (uint32_t)freq->tasks.count;
    }
    return &freq->tasks.items[*slot - 1];
}

static void account_piece(struct freq_analysis *freq, struct cpu_freq *cpu, uint32_t task,
                          int64_t khz, int64_t ns, bool is_wanted)
{
    const uint32_t number = (uint32_t)(cpu - freq->cpus.items);
    lull_add(&level_again(&freq->frequencies, &cpu->busy, number, khz)->busy_ns, ns);
    if (!is_wanted) {
        return;
    }
    struct task_freq *use = task_of(freq, task);
    lull_add(&use->ns, ns);
    if (khz != UNKNOWN_KHZ) {
        lull_add(&use->known_ns, ns);
        use->work += (unsigned __int128)ns * (unsigned __int128)khz;
    }
    lull_add(&level_again(&freq->task_levels, &use->last, task, khz)->ns, ns);
}

/* `task` was on the CPU from since_ns to until_ns, at one frequency, and may have become another program
 * there. `has_left` the CPU then: a name that shows there it got before. */
static void account_change(struct freq_analysis *freq, struct cpu_freq *cpu, uint32_t task,
                           int64_t khz, int64_t since_ns, int64_t until_ns, bool has_left)
{
    const struct lull_question_params *params = freq->head.params;
    if (until_ns <= since_ns) { /* INT64_MIN: nothing of the host was recorded */
        return;
    }
    for (int64_t named_ns = until_ns - !has_left; until_ns > since_ns; named_ns = until_ns - 1) {
        const int64_t part_ns =
            lull_params_part_since(params, freq->head.model, task, since_ns, until_ns);
        account_piece(freq, cpu, task, khz, until_ns - part_ns,
                      lull_params_want_task(params, freq->head.model, task, named_ns));
        until_ns = part_ns;
    }
}

/* `task` was on the CPU from since_ns to until_ns, through any number of frequencies. */
static void account(struct freq_analysis *freq, struct cpu_freq *cpu, uint32_t task,
                    int64_t since_ns, int64_t until_ns, bool has_left)
{
    since_ns = MAX(since_ns, cpu->reported_ns);
    for (size_t i = 0; i < cpu->changes.count && task != LULL_NONE; i++) {
        const struct change *change = &cpu->changes.items[i];
        const bool is_last = i + 1 == cpu->changes.count;
        const int64_t start = MAX(change->since_ns, since_ns);
        const int64_t end = is_last ? until_ns : MIN((change + 1)->since_ns, until_ns);
        account_change(freq, cpu, task, change->khz, start, end, has_left && end == until_ns);
    }
    cpu->reported_ns = MAX(cpu->reported_ns, until_ns);
    size_t over = 0;
    while (over + 1 < cpu->changes.count &&
           cpu->changes.items[over + 1].since_ns <= cpu->reported_ns) {
        over++;
    }
    cpu->changes.count -= over;
    memmove(cpu->changes.items, cpu->changes.items + over,
            cpu->changes.count * sizeof *cpu->changes.items);
}

static void freq_switched(void *user, const struct lull_switch_fact *fact)
{
    struct freq_analysis *freq = user;
    if (lull_params_want_cpu(freq->head.params, fact->host, fact->cpu)) {
        account(freq, cpu_of(freq, fact->host, fact->cpu, false), fact->previous, fact->since_ns,
                fact->time_ns, true);
    }
}

/* ---- the edges of the window ---- */

static void each_cpu(struct freq_analysis *freq,
                     void (*visit)(struct freq_analysis *freq, struct cpu_freq *cpu, int64_t t),
                     int64_t t)
{
    const struct lull_session *session = freq->head.session;
    const uint32_t n_hosts = session ? lull_session_host_count(session) : 1;
    for (uint32_t host = 0; host < n_hosts; host++) {
        int32_t c = -1;
        while ((c = lull_model_next_cpu(freq->head.model, host, c)) >= 0) {
            if (lull_params_want_cpu(freq->head.params, host, c)) {
                visit(freq, cpu_of(freq, host, c, false), t);
            }
        }
    }
}

/* That it is known is all. */
static void open_cpu(struct freq_analysis *freq, struct cpu_freq *cpu, int64_t t)
{
}

static void freq_open(struct lull_analysis *analysis)
{
    each_cpu((struct freq_analysis *)analysis, open_cpu, analysis->start_ns);
}

static void close_cpu(struct freq_analysis *freq, struct cpu_freq *cpu, int64_t t)
{
    uint32_t task;
    int64_t since_ns;
    end_frequency(freq, cpu, t);
    end_state(freq, cpu, t);
    if (lull_model_running(freq->head.model, cpu->host, cpu->cpu, &task, &since_ns)) {
        account(freq, cpu, task, since_ns, t, false);
    }
}

/* Most cycles first, then most time. */
static int compare_tasks(const void *a, const void *b)
{
    const struct task_freq *x = a, *y = b;
    if (x->work != y->work) {
        return x->work > y->work ? -1 : 1;
    }
    if (x->ns != y->ns) {
        return x->ns > y->ns ? -1 : 1;
    }
    return x->task < y->task ? -1 : 1;
}

static void freq_close(struct lull_analysis *analysis, int64_t end_ns)
{
    struct freq_analysis *freq = (struct freq_analysis *)analysis;
    freq->end_ns = end_ns;
    each_cpu(freq, close_cpu, end_ns);
    if (freq->tasks.count) {
        qsort(freq->tasks.items, freq->tasks.count, sizeof *freq->tasks.items, compare_tasks);
    }
}

/* ---- tables ---- */

#define HOST {"Host", "HOST", "host", LULL_CELL_HOST, NULL, LULL_USE_HOST}
#define CPU {"CPU", "CPU", "cpu", LULL_CELL_CPU, NULL, 0}
#define FREQUENCY {"Frequency", "KHZ", "khz", LULL_CELL_NUMBER, "kHz", 0}

static const struct lull_result_column frequency_columns[] = {
    HOST,
    CPU,
    FREQUENCY,
    {"Time", "TIME", "ns", LULL_CELL_DURATION, NULL, 0},
    {"Share of the time", "SHARE", "share", LULL_CELL_RATIO, NULL, LULL_USE_BAR},
    {"Time with a task", "BUSY", "busy_ns", LULL_CELL_DURATION, NULL, 0},
    {"Cycles with a task", "CYCLES", "busy_cycles", LULL_CELL_NUMBER, "cycles", 0},
    {0}};
static const struct lull_result_column state_columns[] = {
    HOST,
    CPU,
    {"Idle state", "STATE", "state", LULL_CELL_STRING, NULL, 0},
    {"Times", "TIMES", "times", LULL_CELL_NUMBER, "times", 0},
    {"Time", "TIME", "ns", LULL_CELL_DURATION, NULL, 0},
    {"Share of the time", "SHARE", "share", LULL_CELL_RATIO, NULL, LULL_USE_BAR},
    {0}};
static const struct lull_result_column task_columns[] = {
    HOST,
    {"Process", "PROCESS", "process", LULL_CELL_PROCESS, NULL, 0},
    {"CPU time", "CPU TIME", "cpu_ns", LULL_CELL_DURATION, NULL, 0},
    {"Time at an unknown frequency", "UNKNOWN", "unknown_ns", LULL_CELL_DURATION, NULL, 0},
    {"Cycles", "CYCLES", "cycles", LULL_CELL_NUMBER, "cycles", LULL_USE_BAR},
    {"Average frequency", "AVG KHZ", "avg_khz", LULL_CELL_NUMBER, "kHz", 0},
    {0}};
static const struct lull_result_column task_level_columns[] = {
    HOST,
    {"Process", "PROCESS", "process", LULL_CELL_PROCESS, NULL, 0},
    FREQUENCY,
    {"CPU time", "CPU TIME", "cpu_ns", LULL_CELL_DURATION, NULL, 0},
    {"Cycles", "CYCLES", "cycles", LULL_CELL_NUMBER, "cycles", 0},
    {0}};
static const struct lull_result_column log_columns[] = {
    HOST,
    {"Time range", "TIME RANGE", "time_range", LULL_CELL_TIME_RANGE, NULL, 0},
    CPU,
    FREQUENCY,
    {"Idle state", "STATE", "state", LULL_CELL_STRING, NULL, 0},
    {0}};

static const struct lull_result_class frequency_class = {
    "per-cpu-frequency", "Frequencies of CPUs", frequency_columns, LULL_TABLE_PLAIN, true, false};
static const struct lull_result_class state_class = {
    "per-cpu-idle", "Idle states of CPUs", state_columns, LULL_TABLE_PLAIN, true, false};
static const struct lull_result_class task_class = {
    "per-task", "Cycles by task", task_columns, LULL_TABLE_PLAIN, true, false};
static const struct lull_result_class task_level_class = {
    "per-task-frequency", "Tasks by frequency", task_level_columns, LULL_TABLE_PLAIN, true, false};
static const struct lull_result_class log_class = {
    "log", "Frequencies and idle states over time", log_columns, LULL_TABLE_LOG, true, false};

static struct lull_cell khz_cell(int64_t khz)
{
    return lull_cell_integer(khz == UNKNOWN_KHZ ? LULL_CELL_UNKNOWN : LULL_CELL_NUMBER, khz);
}

/* 1 kHz is a cycle in 10^6 ns. */
static struct lull_cell cycles_cell(unsigned __int128 work, bool is_known)
{
    return lull_cell_integer(is_known ? LULL_CELL_NUMBER : LULL_CELL_UNKNOWN,
                             (int64_t)((work + 500000) / 1000000));
}

static struct lull_cell level_cycles(const struct level *level, int64_t ns)
{
    const bool is_known = level->value != UNKNOWN_KHZ;
    return cycles_cell(is_known ? (unsigned __int128)ns * (unsigned __int128)level->value : 0,
                       is_known);
}

static struct lull_cell state_cell(struct freq_analysis *freq, int64_t state)
{
    if (state == INT64_MIN) {
        return lull_cell_integer(LULL_CELL_UNKNOWN, 0);
    }
    g_snprintf(freq->text, sizeof freq->text, "state %" G_GINT64_FORMAT, state);
    return lull_cell_text(LULL_CELL_STRING, state < 0 ? "not idle" : freq->text);
}

static struct lull_cell share_cell(const struct freq_analysis *freq, uint32_t host, int64_t ns)
{
    const int64_t whole_ns = freq->end_ns - start_of(freq, host);
    return lull_cell_real(LULL_CELL_RATIO, whole_ns > 0 ? (double)ns / (double)whole_ns : 0);
}

/* The rows of a table: levels in an order of their own. */
struct level_rows {
    struct freq_analysis *freq;
    LULL_VEC(struct level) rows;
};

static void frequency_row(const void *user, uint64_t row, struct lull_cell *cells)
{
    const struct level_rows *list = user;
    const struct level *level = &list->rows.items[row];
    const struct cpu_freq *cpu = &list->freq->cpus.items[level->owner];
    *cells++ = lull_cell_host_of(&list->freq->head, cpu->host);
    *cells++ = lull_cell_integer(LULL_CELL_CPU, cpu->cpu);
    *cells++ = khz_cell(level->value);
    *cells++ = lull_cell_integer(LULL_CELL_DURATION, level->ns);
    *cells++ = share_cell(list->freq, cpu->host, level->ns);
    *cells++ = lull_cell_integer(LULL_CELL_DURATION, level->busy_ns);
    *cells = level_cycles(level, level->busy_ns);
}

static void state_row(const void *user, uint64_t row, struct lull_cell *cells)
{
    const struct level_rows *list = user;
    const struct level *level = &list->rows.items[row];
    const struct cpu_freq *cpu = &list->freq->cpus.items[level->owner];
    *cells++ = lull_cell_host_of(&list->freq->head, cpu->host);
    *cells++ = lull_cell_integer(LULL_CELL_CPU, cpu->cpu);
    *cells++ = state_cell(list->freq, level->value);
    *cells++ = lull_cell_integer(LULL_CELL_NUMBER, (int64_t)level->count);
    *cells++ = lull_cell_integer(LULL_CELL_DURATION, level->ns);
    *cells = share_cell(list->freq, cpu->host, level->ns);
}

static void task_row(const void *user, uint64_t row, struct lull_cell *cells)
{
    const struct freq_analysis *freq = user;
    const struct task_freq *use = &freq->tasks.items[row];
    *cells++ = lull_cell_host_of(&freq->head, lull_model_task(freq->head.model, use->task)->host);
    *cells++ = lull_cell_task(freq->head.model, use->task, freq->end_ns, false);
    *cells++ = lull_cell_integer(LULL_CELL_DURATION, use->ns);
    *cells++ = lull_cell_integer(LULL_CELL_DURATION, use->ns - use->known_ns);
    *cells++ = cycles_cell(use->work, use->known_ns > 0);
    if (use->known_ns > 0) {
        *cells = lull_cell_integer(LULL_CELL_NUMBER,
                                   (int64_t)(use->work / (unsigned __int128)use->known_ns));
    } else {
        cells->class = LULL_CELL_UNKNOWN;
    }
}

static void task_level_row(const void *user, uint64_t row, struct lull_cell *cells)
{
    const struct level_rows *list = user;
    const struct level *level = &list->rows.items[row];
    const struct freq_analysis *freq = list->freq;
    const uint32_t task = freq->tasks.items[level->owner].task;
    *cells++ = lull_cell_host_of(&freq->head, lull_model_task(freq->head.model, task)->host);
    *cells++ = lull_cell_task(freq->head.model, task, freq->end_ns, false);
    *cells++ = khz_cell(level->value);
    *cells++ = lull_cell_integer(LULL_CELL_DURATION, level->ns);
    *cells = level_cycles(level, level->ns);
}

static void log_row(const void *user, uint64_t row, struct lull_cell *cells)
{
    struct freq_analysis *freq = *(struct freq_analysis *const *)user;
    const struct freq_log *entry = &freq->log.items[row];
    const struct cpu_freq *cpu = &freq->cpus.items[entry->cpu];
    *cells++ = lull_cell_host_of(&freq->head, cpu->host);
    *cells = lull_cell_integer(LULL_CELL_TIME_RANGE, entry->start_ns);
    (cells++)->end = entry->end_ns;
    *cells++ = lull_cell_integer(LULL_CELL_CPU, cpu->cpu);
    *(entry->is_idle_state ? cells + 1 : cells) =
        entry->is_idle_state ? state_cell(freq, entry->value) : khz_cell(entry->value);
}

/* Tasks by their places in the top: levels of those that are not shown are left out. */
static void emit_levels(struct freq_analysis *freq, const struct levels *levels, uint32_t n_tasks,
                        const struct lull_result_class *class,
                        void (*row)(const void *user, uint64_t row, struct lull_cell *cells),
                        struct lull_sink *sink)
{
    struct level_rows list = {.freq = freq};
    struct lull_slots positions = {0};
    for (uint32_t i = 0; i < n_tasks; i++) {
        *lull_slots_at(&positions, freq->tasks.items[i].task) = i + 1;
    }
    for (size_t i = 0; i < levels->items.count; i++) {
        struct level level = levels->items.items[i];
        if (levels == &freq->task_levels) {
            level.position = level.owner = *lull_slots_at(&positions, level.owner) - 1;
        } else {
            level.position = (uint64_t)freq->cpus.items[level.owner].host << 32 |
                             (uint32_t)freq->cpus.items[level.owner].cpu;
        }
        if (level.owner != UINT32_MAX && level.ns > 0) {
            lull_vec_push(&list.rows, level);
        }
    }
    if (list.rows.count) {
        qsort(list.rows.items, list.rows.count, sizeof *list.rows.items, compare_levels);
    }
    sink->table(sink, &(struct lull_result_table){
                          .class = class, .n_rows = list.rows.count, .row = row, .user = &list});
    lull_vec_free(&list.rows);
    lull_slots_free(&positions);
}

static void note_unknown(const struct freq_analysis *freq, struct lull_sink *sink)
{
    int64_t unknown_ns = 0, all_ns = 0;
    for (size_t i = 0; i < freq->tasks.count; i++) {
        lull_add(&unknown_ns, freq->tasks.items[i].ns - freq->tasks.items[i].known_ns);
        lull_add(&all_ns, freq->tasks.items[i].ns);
    }
    if (unknown_ns == 0) {
        return;
    }
    g_autofree char *note = g_strdup_printf(
        "the frequency of a CPU is not known before the first event that reports it: "
        "%.2f %% of the time of tasks is not in their cycles",
        100.0 * (double)unknown_ns / (double)all_ns);
    sink->note(sink, note);
}

static bool knows_frequencies(const struct freq_analysis *freq)
{
    for (size_t i = 0; i < freq->frequencies.items.count; i++) {
        if (freq->frequencies.items.items[i].value >= 0) {
            return true;
        }
    }
    return false;
}

/* Tables of nothing but question marks would help nobody: what is missing is said instead. */
static void freq_emit(struct lull_analysis *analysis, const struct lull_window *window,
                      struct lull_sink *sink)
{
    struct freq_analysis *freq = (struct freq_analysis *)analysis;
    const uint32_t limit = analysis->params->limit;
    const uint32_t n_tasks =
        limit ? MIN((uint32_t)freq->tasks.count, limit) : (uint32_t)freq->tasks.count;
    const bool has_frequencies = knows_frequencies(freq);
    if (has_frequencies) {
        note_unknown(freq, sink);
    } else {
        sink->note(sink,
                   "no event reported the frequency of a CPU: neither frequencies nor cycles are "
                   "known");
    }
    const bool has_log = analysis->params->sections & LULL_SECTION_LOG;
    const uint64_t n_log =
        has_log ? lull_params_listed(analysis->params, freq->log.count, "rows of the log", sink)
                : 0;
    if (has_frequencies) {
        emit_levels(freq, &freq->frequencies, 0, &frequency_class, frequency_row, sink);
    }
    emit_levels(freq, &freq->states, 0, &state_class, state_row, sink);
    if (has_frequencies) {
        sink->table(sink,
                    &(struct lull_result_table){
                        .class = &task_class, .n_rows = n_tasks, .row = task_row, .user = freq});
        emit_levels(freq, &freq->task_levels, n_tasks, &task_level_class, task_level_row, sink);
    }
    if (has_log) {
        sink->table(sink, &(struct lull_result_table){
                              .class = &log_class, .n_rows = n_log, .row = log_row, .user = &freq});
    }
}

static void freq_free(struct lull_analysis *analysis)
{
    struct freq_analysis *freq = (struct freq_analysis *)analysis;
    for (size_t i = 0; i < freq->cpus.count; i++) {
        lull_vec_free(&freq->cpus.items[i].changes);
    }
    for (size_t i = 0; i < freq->cpu_numbers.count; i++) {
        lull_slots_free(&freq->cpu_numbers.items[i]);
    }
    lull_vec_free(&freq->cpus);
    lull_vec_free(&freq->cpu_numbers);
    lull_vec_free(&freq->tasks);
    lull_vec_free(&freq->log);
    lull_slots_free(&freq->by_task);
    free_levels(&freq->frequencies);
    free_levels(&freq->states);
    free_levels(&freq->task_levels);
}

const struct lull_analysis_class lull_analysis_freq = {
    .name = "freq",
    .title = "CPU frequencies and idle states",
    .description = "Time in each frequency and idle state by CPU, time and cycles by task",
    .tags = (const char *const[]){"cpu", "frequency", "idle", NULL},
    .tables = (const struct lull_result_class *const[]){&frequency_class, &state_class, &task_class,
                                                        &task_level_class, &log_class, NULL},
    .question = "frequency",
    .groups = LULL_GROUP_SCHED | LULL_GROUP_STATE | LULL_GROUP_POWER,
    .is_by_host = true,
    .size = sizeof(struct freq_analysis),
    .facts = {.switched = freq_switched, .power = freq_power},
    .open = freq_open,
    .close = freq_close,
    .emit = freq_emit,
    .free = freq_free,
};
