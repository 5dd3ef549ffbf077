/* SPDX-License-Identifier: MIT */
/* Pressure: how long tasks of the machine and of its control groups stalled, as the kernel counted it
 * while it was recorded (PSI), and beside it what the trace shows of stalls for a CPU and for disks. As
 * there, each CPU counts for itself, and a group's time is the mean over the CPUs that had work for
 * it, by how long they had, over windows that end every two seconds, and when the kernel is asked
 * (kernel/sched/psi.c of Linux). A wait for a disk counts in the window in which it ends. */
#include <stdlib.h>
#include <string.h>

#include "analysis/analysis.h"
#include "base/map.h"
#include "base/pressure.h"
#include "base/sums.h"
#include "base/vec.h"
#include "kernel/vocabulary.h"

/* Groups within each other that count waits for disks. */
enum { LEVELS = 8 };

#define WINDOW_NS INT64_C(2000000000)

struct stall {
    int64_t some_ns, full_ns;
};

/* What tasks of a group do on a CPU, and since when. */
struct cell {
    uint32_t running, waiting;
    int64_t since_ns;
    int64_t busy_ns;               /* some ran, or could have: since the start */
    int64_t io_end_ns, io_busy_ns; /* when the last wait for a disk ended, and busy_ns then */
    struct stall stalls[LULL_PRESSURE_MEMORY]; /* of this window */
    int64_t window_ns;                         /* busy in it */
};

struct group {
    const char *path; /* NULL: the machine */
    const struct lull_stalls *counted;
    uint32_t host, within;       /* the next recorded group around it, the machine at last */
    bool is_partial;             /* not all tasks were recorded */
    LULL_VEC(struct cell) cells; /* of CPUs on which its tasks were */
    double some_ns[LULL_PRESSURE_MEMORY],
        full_ns[LULL_PRESSURE_MEMORY]; /* of windows that are over */
};

struct host {
    int64_t end_ns; /* of this window; INT64_MIN: nothing happened yet */
    bool is_asked, is_twice;
    uint32_t machine, groups_end; /* the first of its groups, behind the last */
    const struct lull_pressure_sample *samples;
    uint32_t n_samples, sample; /* the next one */
    GHashTable *by_path;        /* → group + 1 */
    struct lull_map known;      /* address of a path → group */
};

/* What a task does, as far as it is counted. */
struct doing {
    uint8_t state; /* enum lull_state; NONE: nothing that counts */
    int32_t cpu;   /* where it was last; -1: not known */
    uint32_t group;
    int64_t busy_ns[LEVELS]; /* BLOCKED: of the CPU when that started; its group, those around it */
};

struct row {
    uint32_t group, lacks;
};

struct pressure {
    struct lull_analysis head;
    LULL_VEC(struct host) hosts;
    LULL_VEC(struct group) groups;
    struct lull_map
        cells; /* group, CPU → place in its cells: few groups are on each of many CPUs */
    LULL_VEC(struct doing) tasks;
    LULL_VEC(struct row) rows;
    bool is_whole;
};

/* ---- which groups ---- */

static void add_group(struct pressure *pressure, const struct lull_recording_info *recording,
                      const char *path, const struct lull_stalls *counted)
{
    struct host *of = &pressure->hosts.items[recording->host];
    if (!g_hash_table_contains(of->by_path, path ? path : "")) {
        g_hash_table_insert(of->by_path, (gpointer)(path ? path : ""),
                            GUINT_TO_POINTER((guint)pressure->groups.count + 1));
        lull_vec_push(&pressure->groups, (struct group){.path = path,
                                                        .counted = counted,
                                                        .host = recording->host,
                                                        .is_partial = recording->is_filtered});
    }
}

/* The recorded group of that path, or the next one around it. */
static uint32_t group_at(const struct host *host, const char *path)
{
    g_autofree char *around = g_strdup(path);
    for (char *end = around + strlen(around); end; end = strrchr(around, '/')) {
        *end = '\0';
        const guint found = GPOINTER_TO_UINT(g_hash_table_lookup(host->by_path, around));
        if (found) {
            return found - 1;
        }
    }
    return host->machine;
}

static void take_recording(struct pressure *pressure, const struct lull_recording_info *recording)
{
    const uint32_t n = recording->n_pressure_samples;
    struct host *host = &pressure->hosts.items[recording->host];
    if (n == 0 || (pressure->head.params->host >= 0 &&
                   recording->host != (uint32_t)pressure->head.params->host)) {
        return;
    }
    host->is_twice = host->is_asked;
    host->is_asked = true;
    if (host->is_twice) {
        return;
    }
    host->by_path = g_hash_table_new(g_str_hash, g_str_equal);
    host->machine = (uint32_t)pressure->groups.count;
    host->samples = recording->pressure_samples;
    host->n_samples = n;
    add_group(pressure, recording, NULL, &recording->pressure_samples[n - 1].stalls);
    for (uint32_t i = 0; i < recording->n_group_pressures; i++) {
        const struct lull_group_pressure *group = &recording->group_pressures[i];
        add_group(pressure, recording, group->cgroup, &group->stalls);
    }
    host->groups_end = (uint32_t)pressure->groups.count;
}

static void find_within(struct pressure *pressure)
{
    for (size_t i = 0; i < pressure->groups.count; i++) {
        struct group *group = &pressure->groups.items[i];
        group->within = LULL_NONE;
        if (group->path) {
            g_autofree char *above = g_strdup(group->path);
            char *slash = strrchr(above, '/');
            if (slash) {
                *slash = '\0';
            }
            group->within = group_at(&pressure->hosts.items[group->host], slash ? above : "");
        }
    }
}

static void pressure_open(struct lull_analysis *analysis)
{
    struct pressure *pressure = (struct pressure *)analysis;
    const struct lull_session *session = analysis->session;
    const struct lull_question_params *params = analysis->params;
    if (!session || lull_params_name_tasks(params) || params->cpus.count) {
        return;
    }
    for (uint32_t host = 0; host < lull_session_host_count(session); host++) {
        lull_vec_push(&pressure->hosts, (struct host){.end_ns = INT64_MIN});
    }
    for (uint32_t i = 0; i < lull_session_recording_count(session); i++) {
        take_recording(pressure, lull_session_recording(session, i));
    }
    find_within(pressure);
}

static void pressure_free(struct lull_analysis *analysis)
{
    struct pressure *pressure = (struct pressure *)analysis;
    for (size_t i = 0; i < pressure->hosts.count; i++) {
        g_clear_pointer(&pressure->hosts.items[i].by_path, g_hash_table_unref);
        lull_map_free(&pressure->hosts.items[i].known);
    }
    for (size_t i = 0; i < pressure->groups.count; i++) {
        lull_vec_free(&pressure->groups.items[i].cells);
    }
    lull_map_free(&pressure->cells);
    lull_vec_free(&pressure->hosts);
    lull_vec_free(&pressure->groups);
    lull_vec_free(&pressure->tasks);
    lull_vec_free(&pressure->rows);
}

/* ---- time ---- */

static void account(struct cell *cell, int64_t time_ns)
{
    const int64_t ns = MAX(time_ns - cell->since_ns, 0);
    struct stall *stall = &cell->stalls[LULL_PRESSURE_CPU];
    cell->since_ns = MAX(time_ns, cell->since_ns);
    lull_add(&stall->some_ns, cell->waiting ? ns : 0);
    lull_add(&stall->full_ns, cell->waiting && !cell->running ? ns : 0);
    lull_add(&cell->busy_ns, cell->waiting || cell->running ? ns : 0);
    lull_add(&cell->window_ns, cell->waiting || cell->running ? ns : 0);
}

/* A task waited for a disk until now: since start_ns, or since another one did. */
static void account_io(struct cell *cell, int64_t start_ns, int64_t busy_ns, int64_t end_ns)
{
    struct stall *stall = &cell->stalls[LULL_PRESSURE_IO];
    account(cell, end_ns);
    if (start_ns < cell->io_end_ns) {
        start_ns = cell->io_end_ns;
        busy_ns = cell->io_busy_ns;
    }
    const int64_t ns = MAX(end_ns - start_ns, 0);
    lull_add(&stall->some_ns, ns);
    lull_add(&stall->full_ns, MAX(ns - (cell->busy_ns - busy_ns), 0));
    cell->io_end_ns = MAX(end_ns, cell->io_end_ns);
    cell->io_busy_ns = cell->busy_ns;
}

static void end_window(struct group *group, int64_t time_ns)
{
    double all = 0;
    struct {
        double some, full;
    } sums[LULL_PRESSURE_MEMORY] = {0};
    for (size_t i = 0; i < group->cells.count; i++) {
        struct cell *cell = &group->cells.items[i];
        account(cell, time_ns);
        const double weight =
            (double)cell->window_ns + (double)cell->stalls[LULL_PRESSURE_IO].full_ns;
        all += weight;
        for (uint32_t k = 0; k < LULL_PRESSURE_MEMORY; k++) {
            sums[k].some += (double)cell->stalls[k].some_ns * weight;
            sums[k].full += (double)cell->stalls[k].full_ns * weight;
            cell->stalls[k] = (struct stall){0};
        }
        cell->window_ns = 0;
    }
    for (uint32_t k = 0; all > 0 && k < LULL_PRESSURE_MEMORY; k++) {
        group->some_ns[k] += sums[k].some / all;
        group->full_ns[k] += sums[k].full / all;
    }
}

static void end_windows(struct pressure *pressure, uint32_t host, int64_t time_ns)
{
    const struct host *of = &pressure->hosts.items[host];
    for (uint32_t i = of->machine; i < of->groups_end; i++) {
        end_window(&pressure->groups.items[i], time_ns);
    }
}

/* Windows in which nothing happened are one: they have the same mean. */
static void pass(struct pressure *pressure, uint32_t number, int64_t time_ns)
{
    struct host *host = &pressure->hosts.items[number];
    if (host->end_ns == INT64_MIN) {
        host->end_ns = lull_sum(time_ns, WINDOW_NS);
    }
    for (; host->sample < host->n_samples && host->samples[host->sample].time_ns <= time_ns;
         host->sample++) {
        end_window(&pressure->groups.items[host->machine], host->samples[host->sample].time_ns);
    }
    if (time_ns < host->end_ns) {
        return;
    }
    end_windows(pressure, number, host->end_ns);
    const int64_t more = (time_ns - host->end_ns) / WINDOW_NS;
    if (more > 0) {
        host->end_ns += more * WINDOW_NS;
        end_windows(pressure, number, host->end_ns);
    }
    host->end_ns = lull_sum(host->end_ns, WINDOW_NS);
}

/* ---- tasks ---- */

static struct cell *cell_of(struct pressure *pressure, uint32_t number, int32_t cpu,
                            int64_t time_ns)
{
    struct group *group = &pressure->groups.items[number];
    const uint64_t key = (uint64_t)number << 32 | (uint32_t)cpu;
    uint32_t at = lull_map_find(&pressure->cells, key);
    if (at == LULL_MAP_NONE) {
        at = (uint32_t)group->cells.count;
        lull_vec_push(&group->cells, (struct cell){.since_ns = time_ns, .io_end_ns = INT64_MIN});
        lull_map_insert(&pressure->cells, key, at);
    }
    account(&group->cells.items[at], time_ns);
    return &group->cells.items[at];
}

static void count(struct pressure *pressure, const struct doing *task, int64_t time_ns, int change)
{
    if (task->cpu < 0 ||
        (task->state != LULL_STATE_RUNNING && task->state != LULL_STATE_PREEMPTED)) {
        return;
    }
    for (uint32_t i = task->group; i != LULL_NONE; i = pressure->groups.items[i].within) {
        struct cell *cell = cell_of(pressure, i, task->cpu, time_ns);
        *(task->state == LULL_STATE_RUNNING ? &cell->running : &cell->waiting) += (uint32_t)change;
    }
}

/* A task starts to wait; nobody knows for what. */
static void start_wait(struct pressure *pressure, struct doing *task, int64_t time_ns)
{
    uint32_t level = 0;
    for (uint32_t i = task->group; task->cpu >= 0 && i != LULL_NONE && level < LEVELS; level++) {
        task->busy_ns[level] = cell_of(pressure, i, task->cpu, time_ns)->busy_ns;
        i = pressure->groups.items[i].within;
    }
}

/* Linux counts who sleeps in io_schedule(), which can't be interrupted. */
static void end_wait(struct pressure *pressure, const struct doing *task,
                     const struct lull_state_fact *fact)
{
    uint32_t level = 0;
    if (task->cpu < 0 || !fact->wakeup || fact->wakeup->cause != LULL_CAUSE_DISK ||
        fact->letter != 'D') {
        return;
    }
    for (uint32_t i = task->group; i != LULL_NONE && level < LEVELS; level++) {
        account_io(cell_of(pressure, i, task->cpu, fact->end_ns), fact->start_ns,
                   task->busy_ns[level], fact->end_ns);
        i = pressure->groups.items[i].within;
    }
}

static uint32_t group_of(struct pressure *pressure, uint32_t host_number, uint32_t task)
{
    struct host *host = &pressure->hosts.items[host_number];
    const char *path = lull_model_container(pressure->head.model, task)->path;
    uint32_t group = lull_map_find(&host->known, (uint64_t)(uintptr_t)path);
    if (group == LULL_MAP_NONE) {
        group = group_at(host, path);
        lull_map_insert(&host->known, (uint64_t)(uintptr_t)path, group);
    }
    return group;
}

/* The task of a host that is asked about; NULL of others. */
static struct doing *doing_of(struct pressure *pressure, uint32_t task, uint32_t *host)
{
    if (pressure->groups.count == 0) {
        return NULL;
    }
    *host = lull_model_task(pressure->head.model, task)->host;
    if (!pressure->hosts.items[*host].is_asked) {
        return NULL;
    }
    while (pressure->tasks.count <= task) {
        lull_vec_push(&pressure->tasks, (struct doing){.cpu = -1});
    }
    return &pressure->tasks.items[task];
}

static void on_state(void *user, const struct lull_state_fact *fact)
{
    uint32_t host;
    struct pressure *pressure = user;
    struct doing *task = doing_of(pressure, fact->task, &host);
    if (!task) {
        return;
    }
    pass(pressure, host, fact->end_ns);
    count(pressure, task, fact->end_ns, -1);
    if (task->state == LULL_STATE_BLOCKED && fact->state == LULL_STATE_BLOCKED) {
        end_wait(pressure, task, fact);
    }
    task->state = (uint8_t)fact->next;
    task->cpu = fact->next_cpu >= 0 ? fact->next_cpu : task->cpu;
    task->group = group_of(pressure, host, fact->task);
    if (task->state == LULL_STATE_BLOCKED) {
        start_wait(pressure, task, fact->end_ns);
    }
    count(pressure, task, fact->end_ns, 1);
}

static void on_migration(void *user, const struct lull_migration_fact *fact)
{
    uint32_t host;
    struct pressure *pressure = user;
    struct doing *task = doing_of(pressure, fact->task, &host);
    if (task && task->state == LULL_STATE_PREEMPTED && fact->to_cpu >= 0) {
        pass(pressure, host, fact->time_ns);
        count(pressure, task, fact->time_ns, -1);
        task->cpu = fact->to_cpu;
        count(pressure, task, fact->time_ns, 1);
    }
}

static void on_cgroup(void *user, const struct lull_cgroup_fact *fact)
{
    uint32_t host;
    struct pressure *pressure = user;
    struct doing *task = doing_of(pressure, fact->task, &host);
    if (task && task->state != LULL_STATE_NONE && task->state != LULL_STATE_BLOCKED) {
        pass(pressure, host, fact->time_ns);
        count(pressure, task, fact->time_ns, -1);
        task->group = group_of(pressure, host, fact->task);
        count(pressure, task, fact->time_ns, 1);
    }
}

/* ---- rows ---- */

static bool has_counted(const struct pressure *pressure, const struct row *row)
{
    const struct group *group = &pressure->groups.items[row->group];
    return group->counted->some_us[row->lacks] > 0 || group->counted->full_us[row->lacks] > 0;
}

/* The machine first, then the groups by what stalled them longest. */
static int compare_rows(const void *a, const void *b, void *user)
{
    const struct pressure *pressure = user;
    const struct row *x = a, *y = b;
    const struct group *of_x = &pressure->groups.items[x->group];
    const struct group *of_y = &pressure->groups.items[y->group];
    if (of_x->host != of_y->host) {
        return of_x->host < of_y->host ? -1 : 1;
    }
    if (!of_x->path != !of_y->path) {
        return of_x->path ? 1 : -1;
    }
    const int64_t x_us = of_x->counted->some_us[x->lacks], y_us = of_y->counted->some_us[y->lacks];
    if (x_us != y_us) {
        return x_us > y_us ? -1 : 1;
    }
    return x->group != y->group ? (x->group < y->group ? -1 : 1) : (int)x->lacks - (int)y->lacks;
}

/* What the kernel counted is of the whole recording. */
static bool is_whole(const struct pressure *pressure, int64_t end_ns)
{
    const struct lull_coverage *coverage = pressure->head.coverage;
    for (size_t host = 0; coverage && host < pressure->hosts.count; host++) {
        if (pressure->hosts.items[host].is_asked &&
            (pressure->head.start_ns > coverage[host].first_ns ||
             end_ns < coverage[host].last_ns)) {
            return false;
        }
    }
    return true;
}

static void pressure_close(struct lull_analysis *analysis, int64_t end_ns)
{
    struct pressure *pressure = (struct pressure *)analysis;
    for (uint32_t host = 0; host < pressure->hosts.count; host++) {
        if (pressure->hosts.items[host].end_ns != INT64_MIN) {
            pass(pressure, host, end_ns);
            end_windows(pressure, host, end_ns);
        }
    }
    pressure->is_whole = is_whole(pressure, end_ns);
    for (uint32_t i = 0; i < pressure->groups.count; i++) {
        for (uint32_t lacks = 0; lacks < LULL_PRESSURES; lacks++) {
            const struct row row = {i, lacks};
            if (!pressure->hosts.items[pressure->groups.items[i].host].is_twice &&
                has_counted(pressure, &row)) {
                lull_vec_push(&pressure->rows, row);
            }
        }
    }
    if (pressure->rows.count) {
        g_qsort_with_data(pressure->rows.items, (gint)pressure->rows.count,
                          sizeof *pressure->rows.items, compare_rows, pressure);
    }
}

/* ---- the table ---- */

static const struct lull_result_column columns[] = {
    {"Host", "HOST", "host", LULL_CELL_HOST, NULL, LULL_USE_HOST},
    {"Control group", "TASKS OF", "cgroup", LULL_CELL_STRING, NULL, LULL_USE_OWN},
    {"What they lacked", "LACKED", "lacked", LULL_CELL_STRING, NULL, LULL_USE_OWN},
    {"Some task stalled, as the kernel counted", "SOME", "some_ns", LULL_CELL_DURATION, NULL,
     LULL_USE_OWN},
    {"All that had work stalled, as the kernel counted", "ALL", "full_ns", LULL_CELL_DURATION, NULL,
     LULL_USE_OWN},
    {"Some task stalled, by the trace", "TRACE: SOME", "trace_some_ns", LULL_CELL_DURATION, NULL,
     LULL_USE_OWN},
    {"All that had work stalled, by the trace", "TRACE: ALL", "trace_full_ns", LULL_CELL_DURATION,
     NULL, LULL_USE_OWN},
    {0},
};
static const struct lull_result_class table_class = {
    .name = "pressure",
    .title = "Pressure: how long some, or all, tasks stalled (/: of the machine)",
    .columns = columns,
    .kind = LULL_TABLE_PLAIN,
    .is_own = true,
};
static const struct lull_result_class *const tables[] = {&table_class, NULL};

static struct lull_cell kernel_cell(int64_t us)
{
    return lull_cell_integer(us < 0 ? LULL_CELL_UNKNOWN : LULL_CELL_DURATION, us * 1000);
}

static void fill_row(const void *user, uint64_t index, struct lull_cell *cells)
{
    const struct pressure *pressure = user;
    const struct row *row = &pressure->rows.items[index];
    const struct group *group = &pressure->groups.items[row->group];
    cells[0] = lull_cell_host_of(&pressure->head, group->host);
    cells[1] = lull_cell_text(LULL_CELL_STRING, group->path ? group->path : "/");
    cells[2] = lull_cell_text(LULL_CELL_STRING, lull_pressure_names[row->lacks]);
    cells[3] = kernel_cell(group->counted->some_us[row->lacks]);
    cells[4] = kernel_cell(group->counted->full_us[row->lacks]);
    if (row->lacks != LULL_PRESSURE_MEMORY && !group->is_partial) {
        /* That all of the machine lack CPUs the kernel does not count. */
        const bool has_full = group->path || row->lacks != LULL_PRESSURE_CPU;
        cells[5] = lull_cell_integer(LULL_CELL_DURATION, (int64_t)group->some_ns[row->lacks]);
        cells[6] = lull_cell_integer(has_full ? LULL_CELL_DURATION : LULL_CELL_EMPTY,
                                     (int64_t)group->full_ns[row->lacks]);
    }
}

static void pressure_emit(struct lull_analysis *analysis, const struct lull_window *window,
                          struct lull_sink *sink)
{
    struct pressure *pressure = (struct pressure *)analysis;
    if (pressure->rows.count && !pressure->is_whole) {
        sink->note(sink,
                   "The kernel's counts of pressure are of whole recordings, and not shown of "
                   "a part");
        pressure->rows.count = 0;
    }
    for (size_t i = 0; i < pressure->hosts.count; i++) {
        if (pressure->hosts.items[i].is_twice) {
            sink->note(sink, "Pressure is shown of hosts with one recording; give one at a time");
            break;
        }
    }
    const uint64_t n =
        lull_params_listed(analysis->params, pressure->rows.count, "lines of pressure", sink);
    if (n) {
        sink->table(sink, &(struct lull_result_table){.class = &table_class,
                                                      .n_rows = n,
                                                      .n_left_out = pressure->rows.count - n,
                                                      .row = fill_row,
                                                      .user = pressure});
    }
}

const struct lull_analysis_class lull_analysis_pressure = {
    .name = "pressure",
    .title = "Pressure",
    .description = "How long tasks stalled, as the kernel counted it, and by the trace",
    .tables = tables,
    .groups = LULL_GROUP_SCHED | LULL_GROUP_STATE | LULL_GROUP_IRQ | LULL_GROUP_BLOCK,
    .is_by_host = true,
    .size = sizeof(struct pressure),
    .facts = {.state = on_state, .migration = on_migration, .cgroup = on_cgroup},
    .open = pressure_open,
    .close = pressure_close,
    .emit = pressure_emit,
    .free = pressure_free,
};
