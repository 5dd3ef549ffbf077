/* SPDX-License-Identifier: MIT */
/* Interrupts: how many handlers ran, how long, how long softirqs waited from their raise to their
 * start. A handler counts where it ends, with its whole duration; one that was interrupted by
 * another counts its time in full, and without the other as time of its own. */
#include <stdlib.h>
#include <string.h>

#include "analysis/analysis.h"
#include "analysis/histogram.h"
#include "analysis/spread.h"
#include "base/map.h"
#include "kernel/vocabulary.h"

enum { MAX_NAMES = 8 };

/* A hardware interrupt line with all its handlers, a softirq, or a vector. */
struct source {
    uint32_t host;
    uint8_t kind;              /* enum lull_handler_kind */
    uint32_t number;           /* of IRQ and SOFTIRQ */
    uint32_t names[MAX_NAMES]; /* labels, in order of appearance */
    uint32_t n_names;
    struct lull_distribution duration, raise; /* ns */
    int64_t total_ns, own_ns;
};

struct log_entry {
    int64_t start_ns, end_ns, own_ns, raise_ns;
    uint32_t source, task;
    uint32_t name; /* label, or LULL_NONE: of this handler of a shared line */
    int32_t cpu;
};

struct irq_analysis {
    struct lull_analysis head;
    LULL_VEC(struct source) sources;
    struct lull_map numbers; /* host, kind, number → index in sources */
    LULL_VEC(struct log_entry) log;
    int64_t end_ns;
    uint64_t count; /* of all handlers */
    GString *text;
};

/* ---- facts ---- */

/* A query for one kind leaves out all others. */
static bool is_wanted(const struct lull_question_params *params,
                      const struct lull_handler_fact *fact)
{
    const bool is_hard = fact->kind == LULL_HANDLER_IRQ,
               is_soft = fact->kind == LULL_HANDLER_SOFTIRQ;
    if (params->irqs.count == 0 && params->softirqs.count == 0) {
        return true;
    }
    const struct lull_numbers *list = is_hard ? &params->irqs : &params->softirqs;
    return (is_hard || is_soft) && list->count && lull_numbers_have(*list, fact->number);
}

static struct source *source_of(struct irq_analysis *irq, const struct lull_handler_fact *fact)
{
    const bool is_numbered = fact->kind == LULL_HANDLER_IRQ || fact->kind == LULL_HANDLER_SOFTIRQ;
    const uint32_t number = is_numbered ? fact->number : fact->label;
    const uint64_t key = (uint64_t)fact->host << 34 | (uint64_t)fact->kind << 32 | number;
    uint32_t index = lull_map_find(&irq->numbers, key);
    if (index == LULL_MAP_NONE) {
        index = (uint32_t)irq->sources.count;
        lull_map_insert(&irq->numbers, key, index);
        lull_vec_push(
            &irq->sources,
            (struct source){.host = fact->host, .kind = fact->kind, .number = fact->number});
    }
    return &irq->sources.items[index];
}

static void add_name(struct source *source, uint32_t name)
{
    for (uint32_t i = 0; i < source->n_names; i++) {
        if (source->names[i] == name) {
            return;
        }
    }
    if (name != LULL_NONE && source->n_names < MAX_NAMES) {
        source->names[source->n_names++] = name;
    }
}

static void add(const struct irq_analysis *irq, struct lull_distribution *times, int64_t ns)
{
    const struct lull_question_params *params = irq->head.params;
    if (!(params->sections & LULL_SECTION_FREQ) || params->freq_logarithmic) {
        lull_spread_add(times, ns);
        return;
    }
    times->keep_values = true;
    times->has_buckets = true;
    lull_distribution_add(times, ns);
}

static void irq_handler(void *user, const struct lull_handler_fact *fact)
{
    struct irq_analysis *irq = user;
    const struct lull_question_params *params = irq->head.params;
    const int64_t duration_ns = fact->end_ns - fact->start_ns;
    if (!is_wanted(params, fact) || !lull_params_want_cpu(params, fact->host, fact->cpu) ||
        !lull_params_want_duration(params, duration_ns) ||
        !lull_params_want_task(params, irq->head.model, fact->task, fact->end_ns)) {
        return;
    }
    struct source *source = source_of(irq, fact);
    add_name(source, fact->name);
    add(irq, &source->duration, duration_ns);
    if (fact->raise_ns != INT64_MIN) {
        lull_spread_add(&source->raise, fact->start_ns - fact->raise_ns);
    }
    source->total_ns += duration_ns;
    source->own_ns += duration_ns - fact->nested_ns;
    irq->count++;
    if (params->sections & LULL_SECTION_LOG) {
        lull_vec_push(&irq->log,
                      (struct log_entry){.start_ns = fact->start_ns,
                                         .end_ns = fact->end_ns,
                                         .own_ns = duration_ns - fact->nested_ns,
                                         .raise_ns = fact->raise_ns,
                                         .source = (uint32_t)(source - irq->sources.items),
                                         .task = fact->task,
                                         .name = fact->name,
                                         .cpu = fact->cpu});
    }
}

/* ---- cells ---- */

/* As lttng-analyses names them. */
static const char *const lami_softirqs[] = {
    "HI_SOFTIRQ",           "TIMER_SOFTIRQ",   "NET_TX_SOFTIRQ", "NET_RX_SOFTIRQ",  "BLOCK_SOFTIRQ",
    "BLOCK_IOPOLL_SOFTIRQ", "TASKLET_SOFTIRQ", "SCHED_SOFTIRQ",  "HRTIMER_SOFTIRQ", "RCU_SOFTIRQ"};

/* The names of all handlers of a shared line; NULL if none was reported. */
static const char *name_of(const struct irq_analysis *irq, const struct source *source)
{
    if (irq->head.params->is_lami && source->kind == LULL_HANDLER_SOFTIRQ &&
        source->number < G_N_ELEMENTS(lami_softirqs)) {
        return lami_softirqs[source->number];
    }
    g_string_truncate(irq->text, 0);
    for (uint32_t i = 0; i < source->n_names; i++) {
        g_string_append_printf(irq->text, "%s%s", i ? ", " : "",
                               lull_model_label(irq->head.model, source->names[i]));
    }
    if (source->n_names == MAX_NAMES) {
        g_string_append(irq->text, ", …");
    }
    return source->n_names ? irq->text->str : NULL;
}

/* An interrupt by its number, or a vector by its name. */
static struct lull_cell source_cell(const struct irq_analysis *irq, const struct source *source)
{
    if (source->kind != LULL_HANDLER_IRQ && source->kind != LULL_HANDLER_SOFTIRQ) {
        return lull_cell_text(LULL_CELL_STRING, name_of(irq, source));
    }
    struct lull_cell cell = lull_cell_integer(LULL_CELL_IRQ, source->number);
    cell.is_hard = source->kind == LULL_HANDLER_IRQ;
    cell.text = name_of(irq, source);
    return cell;
}

/* ---- statistics ---- */

#define HOST {"Host", "HOST", "host", LULL_CELL_HOST, NULL, LULL_USE_HOST}
#define COUNT {"Interrupt count", "COUNT", "count", LULL_CELL_NUMBER, "interrupts", 0}
#define DURATIONS                                                                                  \
    LULL_SPREAD_COLUMNS("duration", "Interrupt duration"), LULL_SPREAD_PERCENTILES,                \
        {"Total time", "TOTAL", "total_ns", LULL_CELL_DURATION, NULL, LULL_USE_OWN},               \
    {                                                                                              \
        "Time without the handlers that interrupted it", "SELF", "self_ns", LULL_CELL_DURATION,    \
            NULL, LULL_USE_OWN                                                                     \
    }

static const struct lull_result_column hard_columns[] = {
    HOST, {"Interrupt", "IRQ", "irq", LULL_CELL_IRQ, NULL, 0}, COUNT, DURATIONS, {0}};
static const struct lull_result_column soft_columns[] = {
    HOST,
    {"Interrupt", "SOFTIRQ", "irq", LULL_CELL_IRQ, NULL, 0},
    COUNT,
    DURATIONS,
    {"Interrupt raise count", "RAISES", "raises", LULL_CELL_NUMBER, "interrupt raises", 0},
    {"Minimum raise latency", "RAISE MIN", "raise_min_ns", LULL_CELL_DURATION, NULL, 0},
    {"Average raise latency", "RAISE AVG", "raise_avg_ns", LULL_CELL_DURATION, NULL, 0},
    {"Maximum raise latency", "RAISE MAX", "raise_max_ns", LULL_CELL_DURATION, NULL, 0},
    {"Interrupt raise latency standard deviation", "RAISE STDEV", "raise_stdev_ns",
     LULL_CELL_DURATION, NULL, 0},
    {"50th percentile of the raise latency", "RAISE P50", "raise_p50_ns", LULL_CELL_DURATION, NULL,
     LULL_USE_OWN | LULL_USE_NOT_TEXT},
    {"90th percentile of the raise latency", "RAISE P90", "raise_p90_ns", LULL_CELL_DURATION, NULL,
     LULL_USE_OWN | LULL_USE_NOT_TEXT},
    {"99th percentile of the raise latency", "RAISE P99", "raise_p99_ns", LULL_CELL_DURATION, NULL,
     LULL_USE_OWN},
    {"99.9th percentile of the raise latency", "RAISE P99.9", "raise_p99_9_ns", LULL_CELL_DURATION,
     NULL, LULL_USE_OWN | LULL_USE_NOT_TEXT},
    {0}};
static const struct lull_result_column vector_columns[] = {
    HOST, {"Interrupt", "INTERRUPT", "name", LULL_CELL_STRING, NULL, 0}, COUNT, DURATIONS, {0}};

static const struct lull_result_class hard_class = {
    "hard-stats", "Hardware interrupt statistics", hard_columns, LULL_TABLE_PLAIN, false, false};
static const struct lull_result_class soft_class = {
    "soft-stats", "Software interrupt statistics", soft_columns, LULL_TABLE_PLAIN, false, false};
static const struct lull_result_class vector_class = {
    "vector-stats", "Timers and inter-processor interrupts", vector_columns, LULL_TABLE_PLAIN, true,
    false};

/* Neighbouring sources. */
struct part {
    const struct irq_analysis *irq;
    uint32_t first, count;
};

static void stats_row(const void *user, uint64_t row, struct lull_cell *cells)
{
    const struct part *part = user;
    const struct irq_analysis *irq = part->irq;
    const struct source *source = &irq->sources.items[part->first + row];
    *cells++ = lull_cell_host_of(&irq->head, source->host);
    *cells++ = source_cell(irq, source);
    *cells++ = lull_cell_integer(LULL_CELL_NUMBER, (int64_t)source->duration.count);
    cells = lull_spread_cells(&source->duration, cells);
    cells = lull_spread_percentiles(&source->duration, cells);
    *cells++ = lull_cell_integer(LULL_CELL_DURATION, source->total_ns);
    *cells++ = lull_cell_integer(LULL_CELL_DURATION, source->own_ns);
    if (source->kind != LULL_HANDLER_SOFTIRQ) {
        return;
    }
    *cells++ = lull_cell_integer(LULL_CELL_NUMBER, (int64_t)source->raise.count);
    if (source->raise.count == 0 && irq->head.params->is_lami) { /* as lttng-analyses has it */
        for (size_t i = 0; i < 4; i++) {
            cells[i].class = LULL_CELL_UNKNOWN;
        }
        return;
    }
    cells = lull_spread_cells(&source->raise, cells);
    lull_spread_percentiles(&source->raise, cells);
}

static void emit_stats(const struct irq_analysis *irq, struct lull_sink *sink)
{
    static const struct lull_result_class *const classes[] = {&hard_class, &soft_class,
                                                              &vector_class};
    struct part part = {.irq = irq};
    for (uint32_t c = 0; c < G_N_ELEMENTS(classes); c++) {
        part.first += part.count;
        part.count = 0;
        while (part.first + part.count < irq->sources.count &&
               MIN(irq->sources.items[part.first + part.count].kind, 2) == c) {
            part.count++;
        }
        if (part.count || !classes[c]->is_own) {
            sink->table(sink, &(struct lull_result_table){.class = classes[c],
                                                          .n_rows = part.count,
                                                          .row = stats_row,
                                                          .user = &part});
        }
    }
}

/* ---- histograms ---- */

static const struct lull_result_column freq_columns[] = {
    LULL_HISTOGRAM_COLUMNS("Duration", "_ns", LULL_CELL_DURATION, NULL, "Interrupt count",
                           "interrupts"),
    {0},
};
static const struct lull_result_class freq_class = {
    "freq",       "Interrupt handler duration frequency distribution",
    freq_columns, LULL_TABLE_HISTOGRAM,
    false,        false};

static void emit_freq(const struct irq_analysis *irq, struct lull_sink *sink)
{
    struct lull_histograms list = {.is_bounded = true};
    const bool has_hosts = irq->head.session && lull_session_host_count(irq->head.session) > 1;
    for (size_t i = 0; i < irq->sources.count; i++) {
        const struct source *source = &irq->sources.items[i];
        const bool is_vector = source->kind > LULL_HANDLER_SOFTIRQ;
        if (is_vector && irq->head.params->is_lami) {
            continue;
        }
        const char *name = name_of(irq, source);
        g_autofree char *title =
            is_vector ? g_strdup(name ? name : "unknown")
                      : g_strdup_printf("%s (%u)", name ? name : "unknown", source->number);
        g_autofree char *on_host =
            has_hosts
                ? g_strdup_printf("%s: %s",
                                  lull_session_host(irq->head.session, source->host)->name, title)
                : NULL;
        lull_histograms_add(&list, on_host ? on_host : title, &source->duration);
    }
    lull_histograms_emit(&list, irq->head.params, &freq_class,
                         "Interrupt handlers duration frequency distributions", sink);
    lull_histograms_clear(&list);
}

/* ---- log ---- */

#define LOG_BEGIN                                                                                  \
    {"Time range", "TIME RANGE", "time_range", LULL_CELL_TIME_RANGE, NULL, 0},                     \
        {"Duration", "DURATION", "duration_ns", LULL_CELL_DURATION, NULL, LULL_USE_OWN},           \
    {                                                                                              \
        "Time without the handlers that interrupted it", "SELF", "self_ns", LULL_CELL_DURATION,    \
            NULL, LULL_USE_OWN | LULL_USE_NOT_TEXT                                                 \
    }
#define LOG_END {"Interrupted process", "PROCESS", "process", LULL_CELL_PROCESS, NULL, LULL_USE_OWN}

static const struct lull_result_column log_columns[] = {
    HOST,
    LOG_BEGIN,
    {"Raised timestamp", "RAISED", "raised", LULL_CELL_TIMESTAMP, NULL, 0},
    {"CPU", "CPU", "cpu", LULL_CELL_CPU, NULL, 0},
    {"Interrupt", "INTERRUPT", "irq", LULL_CELL_IRQ, NULL, 0},
    LOG_END,
    {0}};
static const struct lull_result_column vector_log_columns[] = {
    HOST,
    LOG_BEGIN,
    {"CPU", "CPU", "cpu", LULL_CELL_CPU, NULL, 0},
    {"Interrupt", "INTERRUPT", "name", LULL_CELL_STRING, NULL, 0},
    LOG_END,
    {0}};
static const struct lull_result_class log_class = {"log",          "Interrupt log", log_columns,
                                                   LULL_TABLE_LOG, false,           false};
static const struct lull_result_class vector_log_class = {
    "vector-log",
    "Log of timers and inter-processor interrupts",
    vector_log_columns,
    LULL_TABLE_LOG,
    true,
    false};

struct log {
    const struct irq_analysis *irq;
    LULL_VEC(uint32_t) rows; /* indices in the log */
    uint64_t n_shown;
};

static void log_row(const void *user, uint64_t row, struct lull_cell *cells)
{
    const struct log *log = user;
    const struct irq_analysis *irq = log->irq;
    const struct log_entry *entry = &irq->log.items[log->rows.items[row]];
    const struct source *source = &irq->sources.items[entry->source];
    *cells++ = lull_cell_host_of(&irq->head, source->host);
    *cells = lull_cell_integer(LULL_CELL_TIME_RANGE, entry->start_ns);
    (cells++)->end = entry->end_ns;
    *cells++ = lull_cell_integer(LULL_CELL_DURATION, entry->end_ns - entry->start_ns);
    *cells++ = lull_cell_integer(LULL_CELL_DURATION, entry->own_ns);
    if (source->kind == LULL_HANDLER_SOFTIRQ) {
        *cells = lull_cell_integer(entry->raise_ns == INT64_MIN ? LULL_CELL_UNKNOWN
                                                                : LULL_CELL_TIMESTAMP,
                                   entry->raise_ns);
    }
    if (source->kind <= LULL_HANDLER_SOFTIRQ) {
        cells++;
    }
    *cells++ = lull_cell_integer(LULL_CELL_CPU, entry->cpu);
    *cells = source_cell(irq, source);
    if (!irq->head.params->is_lami && entry->name != LULL_NONE) {
        cells->text = lull_model_label(irq->head.model, entry->name);
    }
    cells++;
    if (entry->task != LULL_NONE) {
        *cells = lull_cell_task(irq->head.model, entry->task, entry->end_ns, false);
    }
}

/* Of handlers of interrupts, or of vectors. */
static void gather_log(struct log *log, bool of_vectors, struct lull_sink *sink)
{
    const struct irq_analysis *irq = log->irq;
    for (uint32_t i = 0; i < irq->log.count; i++) {
        if ((irq->sources.items[irq->log.items[i].source].kind > LULL_HANDLER_SOFTIRQ) ==
            of_vectors) {
            lull_vec_push(&log->rows, i);
        }
    }
    log->n_shown = lull_params_listed(
        irq->head.params, log->rows.count,
        of_vectors ? "rows of the log of timers and vectors" : "rows of the log", sink);
}

static void emit_log(struct log *log, bool of_vectors, struct lull_sink *sink)
{
    if (log->rows.count || !of_vectors) {
        sink->table(
            sink, &(struct lull_result_table){.class = of_vectors ? &vector_log_class : &log_class,
                                              .n_rows = log->n_shown,
                                              .row = log_row,
                                              .user = log});
    }
    lull_vec_free(&log->rows);
}

/* ---- summary of a window ---- */

static const struct lull_result_column summary_columns[] = {
    {"Time range", "TIME RANGE", "time_range", LULL_CELL_TIME_RANGE, NULL, 0},
    {"Total interrupt count", "COUNT", "count", LULL_CELL_NUMBER, "interrupts", 0},
    {0}};
static const struct lull_result_class summary_class = {
    "summary", "Interrupt statistics - summary", summary_columns, LULL_TABLE_PLAIN, false, true};

static void summary_row(const void *user, uint64_t row, struct lull_cell *cells)
{
    const struct irq_analysis *irq = user;
    uint64_t count = 0;
    for (size_t i = 0; i < irq->sources.count; i++) {
        if (irq->sources.items[i].kind <= LULL_HANDLER_SOFTIRQ) {
            count += irq->sources.items[i].duration.count;
        }
    }
    cells[0] = lull_cell_integer(LULL_CELL_TIME_RANGE, irq->head.start_ns);
    cells[0].end = irq->end_ns;
    cells[1] = lull_cell_integer(LULL_CELL_NUMBER, (int64_t)count);
}

/* ---- the analysis ---- */

static void irq_open(struct lull_analysis *analysis)
{
    ((struct irq_analysis *)analysis)->text = g_string_new(NULL);
}

/* By kind, with all vectors as one, then host, number, name. */
static int compare_sources(const void *a, const void *b, void *user)
{
    const struct irq_analysis *irq = user;
    const struct source *x = &irq->sources.items[*(const uint32_t *)a];
    const struct source *y = &irq->sources.items[*(const uint32_t *)b];
    const uint8_t x_kind = MIN(x->kind, 2), y_kind = MIN(y->kind, 2);
    if (x_kind != y_kind) {
        return x_kind < y_kind ? -1 : 1;
    }
    if (x->host != y->host) {
        return x->host < y->host ? -1 : 1;
    }
    if (x_kind < 2) {
        return (x->number > y->number) - (x->number < y->number);
    }
    return g_strcmp0(lull_model_label(irq->head.model, x->names[0]),
                     lull_model_label(irq->head.model, y->names[0]));
}

static void irq_close(struct lull_analysis *analysis, int64_t end_ns)
{
    struct irq_analysis *irq = (struct irq_analysis *)analysis;
    const uint32_t n = (uint32_t)irq->sources.count;
    g_autofree uint32_t *order = g_new(uint32_t, MAX(n, 1));
    g_autofree uint32_t *position = g_new(uint32_t, MAX(n, 1));
    irq->end_ns = end_ns;
    for (uint32_t i = 0; i < n; i++) {
        order[i] = i;
    }
    qsort_r(order, n, sizeof *order, compare_sources, irq);
    g_autofree struct source *sorted = g_new(struct source, MAX(n, 1));
    for (uint32_t i = 0; i < n; i++) {
        sorted[i] = irq->sources.items[order[i]];
        position[order[i]] = i;
    }
    if (n > 0) {
        memcpy(irq->sources.items, sorted, n * sizeof *sorted);
    }
    for (size_t i = 0; i < irq->log.count; i++) {
        irq->log.items[i].source = position[irq->log.items[i].source];
    }
}

static void irq_emit(struct lull_analysis *analysis, const struct lull_window *window,
                     struct lull_sink *sink)
{
    const struct irq_analysis *irq = (const struct irq_analysis *)analysis;
    const struct lull_question_params *params = analysis->params;
    struct log logs[2] = {{.irq = irq}, {.irq = irq}};
    for (int i = 0; i < 2 && (params->sections & LULL_SECTION_LOG); i++) {
        gather_log(&logs[i], i == 1, sink);
    }
    if (params->sections & LULL_SECTION_STATS) {
        emit_stats(irq, sink);
    }
    if (params->sections & LULL_SECTION_FREQ) {
        emit_freq(irq, sink);
    }
    if (params->sections & LULL_SECTION_LOG) {
        emit_log(&logs[0], false, sink);
        emit_log(&logs[1], true, sink);
    }
    if (params->is_lami && params->has_windows) {
        sink->table(sink,
                    &(struct lull_result_table){
                        .class = &summary_class, .n_rows = 1, .row = summary_row, .user = irq});
    }
}

static void irq_free(struct lull_analysis *analysis)
{
    struct irq_analysis *irq = (struct irq_analysis *)analysis;
    for (size_t i = 0; i < irq->sources.count; i++) {
        lull_distribution_clear(&irq->sources.items[i].duration);
        lull_distribution_clear(&irq->sources.items[i].raise);
    }
    lull_vec_free(&irq->sources);
    lull_vec_free(&irq->log);
    lull_map_free(&irq->numbers);
    g_string_free(irq->text, TRUE);
}

const struct lull_analysis_class lull_analysis_irq = {
    .name = "irq",
    .title = "System interrupt analysis",
    .description = "Interrupt frequency distribution, statistics, and log",
    .tags = (const char *const[]){"interrupt", "stats", "freq", "log", NULL},
    .tables = (const struct lull_result_class *const[]){&log_class, &hard_class, &soft_class,
                                                        &freq_class, &summary_class, &vector_class,
                                                        &vector_log_class, NULL},
    .question = "interrupts",
    .groups = LULL_GROUP_SCHED | LULL_GROUP_STATE | LULL_GROUP_IRQ | LULL_GROUP_RAISE,
    .is_by_host = true,
    .size = sizeof(struct irq_analysis),
    .facts = {.handler = irq_handler},
    .open = irq_open,
    .close = irq_close,
    .emit = irq_emit,
    .free = irq_free,
};
