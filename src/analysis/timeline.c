/* SPDX-License-Identifier: MIT */
/* Usage over time: what CPUs, run queues, disks, networks and system calls did in each of at most
 * 240 bins of equal width. The length of the window need not be known beforehand: the bins start
 * narrow, and when time runs out of them, pairs are added up and all become twice as wide. */
#include <string.h>

#include "analysis/analysis.h"
#include "base/slots.h"
#include "base/sums.h"
#include "kernel/vocabulary.h"

enum { BINS = 240, FIRST_WIDTH_NS = 1000, SECTOR_BYTES = 512, NAME_SIZE = 16 };

/* What sums up in a bin of a host. */
enum sum { WAITS, WAITED_NS, READ_BYTES, WRITTEN_BYTES, RECEIVED_BYTES, SENT_BYTES, CALLS, SUMS };

struct cpu_line {
    int64_t busy_ns[BINS], known_ns[BINS];
};

struct host_line {
    int64_t sums[SUMS][BINS];
    bool is_used[SUMS];
    LULL_VEC(struct cpu_line *) cpus;
    struct lull_slots cpu_numbers; /* of a CPU → index in `cpus` + 1 */
};

struct timeline {
    struct lull_analysis head;
    int64_t width_ns, end_ns;
    uint32_t n_bins;                    /* once it is closed */
    uint32_t bin;                       /* of the last time that one was needed */
    uint64_t bin_start_ns, bin_ns;      /* when it starts and how long it is; 0: not known */
    LULL_VEC(struct host_line *) hosts; /* by number; NULL: no facts */
};

/* ---- bins ---- */

static void halve(int64_t bins[BINS])
{
    for (uint32_t i = 0; i < BINS / 2; i++) {
        bins[i] = lull_sum(bins[2 * i], bins[2 * i + 1]);
    }
    memset(bins + BINS / 2, 0, BINS / 2 * sizeof *bins);
}

static void widen(struct timeline *line)
{
    line->width_ns *= 2;
    line->bin_ns = 0;
    for (size_t h = 0; h < line->hosts.count; h++) {
        struct host_line *host = line->hosts.items[h];
        for (uint32_t i = 0; host && i < SUMS; i++) {
            halve(host->sums[i]);
        }
        for (size_t c = 0; host && c < host->cpus.count; c++) {
            halve(host->cpus.items[c]->busy_ns);
            halve(host->cpus.items[c]->known_ns);
        }
    }
}

/* The last bin goes into the one before it if the window holds less than half of it: a rate over a
 * moment would say nothing. */
static void fold_last(struct timeline *line)
{
    uint32_t last = line->n_bins - 1;
    if (last == 0 ||
        line->end_ns - (line->head.start_ns + last * line->width_ns) >= line->width_ns / 2) {
        return;
    }
    line->n_bins = last;
    for (size_t h = 0; h < line->hosts.count; h++) {
        struct host_line *host = line->hosts.items[h];
        for (uint32_t i = 0; host && i < SUMS; i++) {
            lull_add(&host->sums[i][last - 1], host->sums[i][last]);
        }
        for (size_t c = 0; host && c < host->cpus.count; c++) {
            struct cpu_line *cpu = host->cpus.items[c];
            lull_add(&cpu->busy_ns[last - 1], cpu->busy_ns[last]);
            lull_add(&cpu->known_ns[last - 1], cpu->known_ns[last]);
        }
    }
}

/* The bin of a time; LULL_NONE if it is before the window. */
static uint32_t bin_of(struct timeline *line, int64_t time_ns)
{
    if (time_ns < line->head.start_ns) {
        return LULL_NONE;
    }
    uint64_t since_ns = (uint64_t)time_ns - (uint64_t)line->head.start_ns;
    if (G_LIKELY(since_ns - line->bin_start_ns < line->bin_ns)) {
        return line->bin;
    }
    while (since_ns / BINS >= (uint64_t)line->width_ns) {
        widen(line);
    }
    line->bin = (uint32_t)(since_ns / (uint64_t)line->width_ns);
    line->bin_ns = (uint64_t)line->width_ns;
    line->bin_start_ns = line->bin * line->bin_ns;
    return line->bin;
}

static struct host_line *host_of(struct timeline *line, uint32_t host)
{
    while (line->hosts.count <= host) {
        lull_vec_push(&line->hosts, NULL);
    }
    if (!line->hosts.items[host]) {
        line->hosts.items[host] = g_new0(struct host_line, 1);
    }
    return line->hosts.items[host];
}

static void add(struct timeline *line, uint32_t host_number, int64_t time_ns, enum sum sum,
                int64_t value)
{
    uint32_t bin = bin_of(line, time_ns);
    if (bin != LULL_NONE) {
        struct host_line *host = host_of(line, host_number);
        lull_add(&host->sums[sum][bin], value);
        host->is_used[sum] = true;
    }
}

/* ---- facts ---- */

static struct cpu_line *cpu_of(struct host_line *host, int32_t cpu)
{
    uint32_t *slot = lull_slots_at(&host->cpu_numbers, (uint32_t)cpu);
    if (*slot == 0) {
        lull_vec_push(&host->cpus, g_new0(struct cpu_line, 1));
        *slot = (uint32_t)host->cpus.count;
    }
    return host->cpus.items[*slot - 1];
}

/* A CPU was busy or idle for a time, which is cut into the bins. */
static void add_use(struct timeline *line, uint32_t host, int32_t cpu, bool is_busy,
                    int64_t since_ns, int64_t until_ns)
{
    since_ns = MAX(since_ns, line->head.start_ns);
    if (line->head.coverage) {
        since_ns = MAX(since_ns, line->head.coverage[host].first_ns);
    }
    if (until_ns <= since_ns) {
        return;
    }
    uint32_t last = bin_of(line, until_ns - 1), first = bin_of(line, since_ns);
    uint64_t since = (uint64_t)since_ns - (uint64_t)line->head.start_ns;
    uint64_t until = (uint64_t)until_ns - (uint64_t)line->head.start_ns;
    uint64_t width = (uint64_t)line->width_ns;
    struct cpu_line *use = cpu_of(host_of(line, host), cpu);
    for (uint32_t bin = first; bin <= last; bin++) {
        int64_t part_ns = (int64_t)(MIN(until, (bin + 1) * width) - MAX(since, bin * width));
        lull_add(&use->known_ns[bin], part_ns);
        lull_add(&use->busy_ns[bin], is_busy ? part_ns : 0);
    }
}

/* The same of what a task did, which may have become another program there, and `has_left` the CPU at
 * the end: a name that shows then it got before. */
static void add_task_use(struct timeline *line, uint32_t host, int32_t cpu, uint32_t task,
                         int64_t since_ns, int64_t until_ns, bool has_left)
{
    const struct lull_question_params *params = line->head.params;
    if (until_ns <= since_ns) { /* INT64_MIN: nothing of the host was recorded */
        return;
    }
    for (int64_t named_ns = until_ns - !has_left; until_ns > since_ns; named_ns = until_ns - 1) {
        const int64_t part_ns =
            lull_params_part_since(params, line->head.model, task, since_ns, until_ns);
        const bool is_busy =
            task != LULL_NONE && lull_params_want_task(params, line->head.model, task, named_ns);
        add_use(line, host, cpu, is_busy, part_ns, until_ns);
        until_ns = part_ns;
    }
}

static void timeline_switched(void *user, const struct lull_switch_fact *fact)
{
    struct timeline *line = user;
    const struct lull_question_params *params = line->head.params;
    if (!lull_params_want_cpu(params, fact->host, fact->cpu)) {
        return;
    }
    add_task_use(line, fact->host, fact->cpu, fact->previous, fact->since_ns, fact->time_ns, true);
    if (fact->task != LULL_NONE && fact->wakeup_ns != INT64_MIN && !fact->is_unknown &&
        lull_params_want_task(params, line->head.model, fact->task, fact->time_ns)) {
        add(line, fact->host, fact->time_ns, WAITS, 1);
        add(line, fact->host, fact->time_ns, WAITED_NS, fact->time_ns - fact->wakeup_ns);
    }
}

/* Whether what `task` did on a CPU is requested. */
static bool wants(const struct timeline *line, uint32_t host, int32_t cpu, uint32_t task,
                  int64_t time_ns)
{
    return lull_params_want_cpu(line->head.params, host, cpu) &&
           lull_params_want_task(line->head.params, line->head.model, task, time_ns);
}

static void timeline_block(void *user, const struct lull_block_fact *fact)
{
    struct timeline *line = user;
    if (fact->step != LULL_BLOCK_COMPLETE) {
        return;
    }
    const struct lull_block_request *request = lull_model_request(line->head.model, fact->request);
    if (!wants(line, request->host, fact->cpu, request->submitter, fact->time_ns)) {
        return;
    }
    int64_t bytes = (int64_t)request->sectors * SECTOR_BYTES;
    if (request->rwbs & LULL_RWBS_WRITE) {
        add(line, request->host, fact->time_ns, WRITTEN_BYTES, bytes);
    } else if (request->rwbs & LULL_RWBS_READ) {
        add(line, request->host, fact->time_ns, READ_BYTES, bytes);
    }
}

static void timeline_netif(void *user, const struct lull_netif_fact *fact)
{
    struct timeline *line = user;
    uint32_t task = fact->in_interrupt ? LULL_NONE : fact->task;
    if (wants(line, fact->host, fact->cpu, task, fact->time_ns)) {
        add(line, fact->host, fact->time_ns, fact->is_send ? SENT_BYTES : RECEIVED_BYTES,
            fact->length);
    }
}

static void timeline_syscall(void *user, const struct lull_syscall_fact *fact)
{
    struct timeline *line = user;
    uint32_t host = lull_model_task(line->head.model, fact->task)->host;
    if (!fact->is_open && wants(line, host, fact->cpu, fact->task, fact->end_ns)) {
        add(line, host, fact->end_ns, CALLS, 1);
    }
}

/* Adds what is on the CPUs now. */
static void timeline_close(struct lull_analysis *analysis, int64_t end_ns)
{
    struct timeline *line = (struct timeline *)analysis;
    uint32_t n_hosts = analysis->session ? lull_session_host_count(analysis->session) : 1;
    for (uint32_t host = 0; host < n_hosts; host++) {
        int64_t until_ns =
            analysis->coverage ? MIN(end_ns, analysis->coverage[host].last_ns) : end_ns;
        int32_t cpu = -1;
        while ((cpu = lull_model_next_cpu(analysis->model, host, cpu)) >= 0) {
            uint32_t task;
            int64_t since_ns;
            if (lull_params_want_cpu(analysis->params, host, cpu) &&
                lull_model_running(analysis->model, host, cpu, &task, &since_ns)) {
                add_task_use(line, host, cpu, task, since_ns, until_ns, false);
            }
        }
    }
    line->end_ns = end_ns;
    if (end_ns > analysis->start_ns) {
        line->n_bins = bin_of(line, end_ns - 1) + 1;
        fold_last(line);
    }
}

/* ---- tables ---- */

#define FROM {"From", "FROM", "begin_ns", LULL_CELL_TIMESTAMP, NULL, LULL_USE_OWN}

static const struct lull_result_column cpu_columns[] = {
    FROM,
    {"CPU usage", "CPU", "cpu", LULL_CELL_RATIO, NULL, LULL_USE_OWN},
    {0},
};
static const struct lull_result_class cpu_class = {
    .name = "cpu-over-time",
    .title = "CPU usage over time",
    .columns = cpu_columns,
    .kind = LULL_TABLE_SERIES,
    .is_own = true,
};

#define WAIT_COLUMN                                                                                \
    {"Average wait for a CPU", "AVG WAIT", "avg_wait_ns", LULL_CELL_DURATION, NULL, LULL_USE_OWN}
static const struct lull_result_column wait_columns[] = {FROM, WAIT_COLUMN, {0}};
static const struct lull_result_class wait_class = {
    .name = "waits-over-time",
    .title = "Waits of woken tasks for a CPU over time",
    .columns = wait_columns,
    .kind = LULL_TABLE_SERIES,
    .is_own = true,
};

#define RATE(title, heading, key) {title, heading, key, LULL_CELL_SIZE, "/s", LULL_USE_OWN}
static const struct lull_result_column disk_columns[] = {
    FROM,
    RATE("Read per second", "READ/S", "read_bytes_per_s"),
    RATE("Written per second", "WRITTEN/S", "written_bytes_per_s"),
    {0}};
static const struct lull_result_class disk_class = {
    .name = "disk-over-time",
    .title = "Disk transfer over time",
    .columns = disk_columns,
    .kind = LULL_TABLE_SERIES,
    .is_own = true,
};

static const struct lull_result_column net_columns[] = {
    FROM,
    RATE("Received per second", "RECEIVED/S", "received_bytes_per_s"),
    RATE("Sent per second", "SENT/S", "sent_bytes_per_s"),
    {0}};
static const struct lull_result_class net_class = {
    .name = "network-over-time",
    .title = "Network transfer over time",
    .columns = net_columns,
    .kind = LULL_TABLE_SERIES,
    .is_own = true,
};

static const struct lull_result_column call_columns[] = {
    FROM,
    {"System calls per second", "CALLS/S", "calls_per_s", LULL_CELL_NUMBER, "/s", LULL_USE_OWN},
    {0},
};
static const struct lull_result_class call_class = {
    .name = "calls-over-time",
    .title = "System calls over time",
    .columns = call_columns,
    .kind = LULL_TABLE_SERIES,
    .is_own = true,
};

/* What the rows of one table of one host are made from. */
struct series {
    const struct timeline *line;
    const struct host_line *host;
    uint32_t number; /* of the host */
    enum sum first;  /* of two, or of one */
    uint32_t n;
    LULL_VEC(const struct cpu_line *) cpus; /* by number */
};

static int64_t start_of(const struct timeline *line, uint64_t bin)
{
    return line->head.start_ns + (int64_t)bin * line->width_ns;
}

static int64_t length_of(const struct timeline *line, uint64_t bin)
{
    return (bin + 1 < line->n_bins ? start_of(line, bin + 1) : line->end_ns) - start_of(line, bin);
}

/* Whether the host was recorded in some of the bin. */
static bool is_covered(const struct series *series, uint64_t bin)
{
    const struct lull_coverage *coverage = series->line->head.coverage;
    int64_t start_ns = start_of(series->line, bin);
    return !coverage ||
           (coverage[series->number].last_ns >= start_ns &&
            coverage[series->number].first_ns - start_ns <= length_of(series->line, bin));
}

static void cpu_row(const void *user, uint64_t bin, struct lull_cell *cells)
{
    const struct series *series = user;
    *cells++ = lull_cell_integer(LULL_CELL_TIMESTAMP, start_of(series->line, bin));
    for (size_t i = 0; i < series->cpus.count; i++, cells++) {
        const struct cpu_line *cpu = series->cpus.items[i];
        if (cpu->known_ns[bin] == 0) {
            cells->class = LULL_CELL_UNKNOWN;
        } else {
            *cells = lull_cell_real(LULL_CELL_RATIO,
                                    (double)cpu->busy_ns[bin] / (double)cpu->known_ns[bin]);
        }
    }
}

static void wait_row(const void *user, uint64_t bin, struct lull_cell *cells)
{
    const struct series *series = user;
    int64_t count = series->host->sums[WAITS][bin];
    cells[0] = lull_cell_integer(LULL_CELL_TIMESTAMP, start_of(series->line, bin));
    if (count) {
        cells[1] = lull_cell_real(LULL_CELL_DURATION,
                                  (double)series->host->sums[WAITED_NS][bin] / (double)count);
    }
}

static void rate_row(const void *user, uint64_t bin, struct lull_cell *cells)
{
    const struct series *series = user;
    double seconds = (double)length_of(series->line, bin) / 1e9;
    *cells++ = lull_cell_integer(LULL_CELL_TIMESTAMP, start_of(series->line, bin));
    for (uint32_t i = 0; i < series->n; i++, cells++) {
        if (is_covered(series, bin)) {
            *cells = lull_cell_real(series->first == CALLS ? LULL_CELL_NUMBER : LULL_CELL_SIZE,
                                    (double)series->host->sums[series->first + i][bin] / seconds);
        } else {
            cells->class = LULL_CELL_UNKNOWN;
        }
    }
}

static void emit_cpus(struct series *series, struct lull_result_table *table,
                      struct lull_sink *sink)
{
    const struct lull_slots *numbers = &series->host->cpu_numbers;
    const uint32_t n = (uint32_t)series->host->cpus.count;
    g_autofree struct lull_result_column *columns = g_new0(struct lull_result_column, n + 2);
    g_autofree char(*names)[3][NAME_SIZE] = g_malloc0_n(MAX(n, 1), sizeof *names);
    columns[0] = cpu_columns[0];
    for (uint32_t i = 0, c = 0; lull_slots_next(numbers, &c); i++, c++) {
        lull_vec_push(&series->cpus, series->host->cpus.items[lull_slots_get(numbers, c) - 1]);
        g_snprintf(names[i][0], NAME_SIZE, "CPU %u", c);
        g_snprintf(names[i][1], NAME_SIZE, "cpu%u", c);
        columns[i + 1] = cpu_columns[1];
        columns[i + 1].title = columns[i + 1].heading = names[i][0];
        columns[i + 1].key = names[i][1];
    }
    table->columns = columns;
    if (n) {
        sink->table(sink, table);
    }
    table->columns = NULL;
    lull_vec_free(&series->cpus);
}

/* Values per host of one class: all tables of a class are adjacent. */
static const struct kind {
    const struct lull_result_class *class;
    enum sum first;
    uint32_t n; /* columns */
    void (*row)(const void *user, uint64_t row, struct lull_cell *cells);
} kinds[] = {
    {&cpu_class, 0, 0, cpu_row},
    {&wait_class, WAITS, 1, wait_row},
    {&call_class, CALLS, 1, rate_row},
    {&disk_class, READ_BYTES, 2, rate_row},
    {&net_class, RECEIVED_BYTES, 2, rate_row},
};

static void emit_kind(const struct timeline *line, uint32_t host, const struct kind *kind,
                      struct lull_sink *sink)
{
    struct series series = {.line = line,
                            .host = line->hosts.items[host],
                            .number = host,
                            .first = kind->first,
                            .n = kind->n};
    const bool has_hosts = line->head.session && lull_session_host_count(line->head.session) > 1;
    struct lull_result_table table = {
        .class = kind->class,
        .subtitle = has_hosts ? lull_session_host(line->head.session, host)->name : NULL,
        .n_rows = line->n_bins,
        .row = kind->row,
        .user = &series,
    };
    bool is_used = false;
    for (uint32_t i = 0; i < kind->n; i++) {
        is_used |= series.host->is_used[kind->first + i];
    }
    if (kind->class == &cpu_class) {
        emit_cpus(&series, &table, sink);
    } else if (is_used) {
        sink->table(sink, &table);
    }
}

static void timeline_open(struct lull_analysis *analysis)
{
    ((struct timeline *)analysis)->width_ns = FIRST_WIDTH_NS;
}

static void timeline_emit(struct lull_analysis *analysis, const struct lull_window *window,
                          struct lull_sink *sink)
{
    const struct timeline *line = (const struct timeline *)analysis;
    (void)window;
    for (uint32_t i = 0; i < G_N_ELEMENTS(kinds); i++) {
        for (size_t host = 0; host < line->hosts.count; host++) {
            if (line->hosts.items[host]) {
                emit_kind(line, (uint32_t)host, &kinds[i], sink);
            }
        }
    }
}

static void timeline_free(struct lull_analysis *analysis)
{
    struct timeline *line = (struct timeline *)analysis;
    for (size_t h = 0; h < line->hosts.count; h++) {
        struct host_line *host = line->hosts.items[h];
        for (size_t c = 0; host && c < host->cpus.count; c++) {
            g_free(host->cpus.items[c]);
        }
        if (host) {
            lull_vec_free(&host->cpus);
            lull_slots_free(&host->cpu_numbers);
        }
        g_free(host);
    }
    lull_vec_free(&line->hosts);
}

const struct lull_analysis_class lull_analysis_timeline = {
    .name = "timeline",
    .title = "Usage over time",
    .description = "Use of CPUs, disks and networks in equal parts of the time",
    .tags = (const char *const[]){NULL},
    .tables = (const struct lull_result_class *const[]){&cpu_class, &wait_class, &call_class,
                                                        &disk_class, &net_class, NULL},
    .groups = LULL_GROUP_SCHED | LULL_GROUP_STATE | LULL_GROUP_BLOCK | LULL_GROUP_NETIF |
              LULL_GROUP_SYSCALL,
    .is_by_host = true,
    .size = sizeof(struct timeline),
    .facts = {.switched = timeline_switched,
              .block = timeline_block,
              .netif = timeline_netif,
              .syscall = timeline_syscall},
    .open = timeline_open,
    .close = timeline_close,
    .emit = timeline_emit,
    .free = timeline_free,
};
