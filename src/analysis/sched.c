/* SPDX-License-Identifier: MIT */
/* How long tasks that were woken waited for a CPU: from the first waking since they stopped running
 * to the switch to them. Counts where the switch is. */
#include <stdlib.h>
#include <string.h>

#include "analysis/histogram.h"
#include "analysis/priorities.h"
#include "analysis/spread.h"
#include "analysis/stolen.h"
#include "base/slots.h"
#include "base/sums.h"
#include "kernel/vocabulary.h"

enum { LEAST_PRIO = -1, PRIORITIES = 141 }; /* of SCHED_DEADLINE; 139 is the last */

/* One wait. */
struct wait {
    int64_t wakeup_ns, switch_ns;
    int64_t stolen_ns; /* as lull_stolen_wait() */
    uint32_t task, waker, host;
    int32_t prio, cpu;
    bool is_from_interrupt;
};

struct wakee {
    uint32_t task;
    struct lull_distribution latency;
    int64_t stolen_ns; /* -1: of none of the waits it is known */
    struct lull_priorities priorities;
};

struct sched {
    struct lull_analysis head;
    unsigned groupings;
    LULL_VEC(struct wait) log;
    LULL_VEC(struct wait) top; /* candidates; more than the limit are cut now and then */
    int64_t top_least_ns;      /* what is shorter cannot be among them */
    struct lull_distribution total;
    LULL_VEC(struct wakee) wakees;                /* in order of first appearance */
    struct lull_slots by_task;                    /* task → index + 1 */
    struct lull_distribution by_prio[PRIORITIES]; /* from LEAST_PRIO on */
    struct lull_stolen *stolen;                   /* NULL: there are no tasks of guests */
    int64_t end_ns;
    GString *text;
};

/* ---- facts ---- */

static int64_t length_of(const struct wait *wait)
{
    return wait->switch_ns - wait->wakeup_ns;
}

/* Longest first, then in order of time; that of a log of one host is also the order of the log. */
static int compare_waits(const void *a, const void *b)
{
    const struct wait *left = a, *right = b;
    const int64_t left_ns = length_of(left), right_ns = length_of(right);
    if (left_ns != right_ns) {
        return left_ns > right_ns ? -1 : 1;
    }
    if (left->switch_ns != right->switch_ns) {
        return left->switch_ns < right->switch_ns ? -1 : 1;
    }
    if (left->host != right->host) {
        return left->host < right->host ? -1 : 1;
    }
    return (left->cpu > right->cpu) - (left->cpu < right->cpu);
}

static void cut_top(struct sched *sched, size_t limit)
{
    if (sched->top.count) {
        qsort(sched->top.items, sched->top.count, sizeof *sched->top.items, compare_waits);
    }
    if (limit && sched->top.count >= limit) {
        sched->top.count = limit;
        sched->top_least_ns = length_of(&sched->top.items[limit - 1]);
    }
}

static void add_to_top(struct sched *sched, const struct wait *wait)
{
    const size_t limit = sched->head.params->limit;
    if (length_of(wait) < sched->top_least_ns) {
        return;
    }
    lull_vec_push(&sched->top, *wait);
    if (limit && sched->top.count >= 2 * limit + 64) {
        cut_top(sched, limit);
    }
}

static struct wakee *wakee_of(struct sched *sched, uint32_t task)
{
    task = lull_params_row(sched->head.params, sched->head.model, task);
    uint32_t *slot = lull_slots_at(&sched->by_task, task);
    if (*slot == 0) {
        lull_vec_push(&sched->wakees, (struct wakee){.task = task, .stolen_ns = -1});
        *slot = (uint32_t)sched->wakees.count;
    }
    return &sched->wakees.items[*slot - 1];
}

/* A histogram with linear bins needs all values; statistics do with less. */
static void add_latency(const struct sched *sched, struct lull_distribution *to, int64_t latency_ns)
{
    const struct lull_question_params *params = sched->head.params;
    if ((params->sections & LULL_SECTION_FREQ) && !params->freq_logarithmic) {
        to->keep_values = true;
        lull_distribution_add(to, latency_ns);
    } else {
        lull_spread_add(to, latency_ns);
    }
}

/* The list of a task's priorities starts when it is first of a wait, as who woke or who was woken. */
static void start_priorities(struct sched *sched, uint32_t task, int32_t prio)
{
    struct wakee *wakee = wakee_of(sched, task);
    if (wakee->priorities.items.count == 0) {
        lull_priorities_add(&wakee->priorities, prio);
    }
}

static void add_to_groups(struct sched *sched, const struct wait *wait)
{
    const int64_t latency_ns = length_of(wait);
    if (sched->groupings & LULL_GROUPING_TOTAL) {
        add_latency(sched, &sched->total, latency_ns);
    }
    if (sched->groupings & LULL_GROUPING_TID) {
        if (wait->waker != LULL_NONE) {
            start_priorities(sched, wait->waker, lull_model_prio(sched->head.model, wait->waker));
        }
        start_priorities(sched, wait->task, wait->prio);
        struct wakee *wakee = wakee_of(sched, wait->task);
        add_latency(sched, &wakee->latency, latency_ns);
        if (wait->stolen_ns >= 0) {
            wakee->stolen_ns = MAX(wakee->stolen_ns, 0);
            lull_add(&wakee->stolen_ns, wait->stolen_ns);
        }
    }
    if (sched->groupings & LULL_GROUPING_PRIO && wait->prio >= LEAST_PRIO &&
        wait->prio < LEAST_PRIO + PRIORITIES) {
        add_latency(sched, &sched->by_prio[wait->prio - LEAST_PRIO], latency_ns);
    }
}

static void sched_switched(void *user, const struct lull_switch_fact *fact)
{
    struct sched *sched = user;
    const struct lull_question_params *params = sched->head.params;
    if (sched->stolen) {
        lull_stolen_switched(sched->stolen, fact);
    }
    if (fact->wakeup_ns == INT64_MIN || fact->task == LULL_NONE ||
        !lull_params_want_cpu(params, fact->host, fact->cpu) ||
        !lull_params_want_task(params, sched->head.model, fact->task, fact->time_ns) ||
        !lull_params_want_duration(params, fact->time_ns - fact->wakeup_ns)) {
        return;
    }
    const struct wait wait = {.wakeup_ns = fact->wakeup_ns,
                              .switch_ns = fact->time_ns,
                              .stolen_ns = lull_stolen_wait(sched->stolen, fact),
                              .task = fact->task,
                              .waker = fact->waker,
                              .host = fact->host,
                              .prio = fact->prio,
                              .cpu = fact->cpu,
                              .is_from_interrupt = fact->waker_is_interrupt};
    if (params->sections & LULL_SECTION_LOG) {
        lull_vec_push(&sched->log, wait);
    }
    if (params->sections & LULL_SECTION_TOP) {
        add_to_top(sched, &wait);
    }
    if (params->sections & (LULL_SECTION_STATS | LULL_SECTION_FREQ)) {
        add_to_groups(sched, &wait);
    }
}

static void sched_prio(void *user, const struct lull_prio_fact *fact)
{
    struct sched *sched = user;
    if (lull_slots_get(&sched->by_task,
                       lull_params_row(sched->head.params, sched->head.model, fact->task))) {
        lull_priorities_add(&wakee_of(sched, fact->task)->priorities, fact->prio);
    }
}

static void sched_vcpu(void *user, const struct lull_vcpu_fact *fact)
{
    lull_stolen_vcpu(((struct sched *)user)->stolen, fact);
}

static void sched_state(void *user, const struct lull_state_fact *fact)
{
    lull_stolen_state(((struct sched *)user)->stolen, fact);
}

static void sched_lost(void *user, const struct lull_lost_fact *fact)
{
    lull_stolen_lost(((struct sched *)user)->stolen, fact);
}

static const struct lull_facts guest_facts = {
    .vcpu = sched_vcpu,
    .state = sched_state,
    .lost = sched_lost,
};

static void sched_open(struct lull_analysis *analysis)
{
    struct sched *sched = (struct sched *)analysis;
    sched->text = g_string_new(NULL);
    sched->top_least_ns = INT64_MIN;
    sched->stolen = analysis->params->is_lami ? NULL : lull_stolen_new(analysis);
    sched->groupings =
        analysis->params->groupings ? analysis->params->groupings : LULL_GROUPING_TID;
}

static void sched_close(struct lull_analysis *analysis, int64_t end_ns)
{
    struct sched *sched = (struct sched *)analysis;
    sched->end_ns = end_ns;
    cut_top(sched, analysis->params->limit);
}

/* ---- tables of waits ---- */

#define STOLEN                                                                                     \
    {"Part of the wait in which the virtual CPU had no CPU of the host",                           \
     "STOLEN",                                                                                     \
     "stolen_ns",                                                                                  \
     LULL_CELL_DURATION,                                                                           \
     NULL,                                                                                         \
     LULL_USE_OWN | LULL_USE_GUEST}
#define HOST {"Host", "HOST", "host", LULL_CELL_HOST, NULL, LULL_USE_HOST}

static const struct lull_result_column wait_columns[] = {
    HOST,
    {"Wakeup timestamp", "WAKEUP", "wakeup_ns", LULL_CELL_TIMESTAMP, NULL, 0},
    {"Switch timestamp", "SWITCH", "switch_ns", LULL_CELL_TIMESTAMP, NULL, 0},
    {"Scheduling latency", "LATENCY", "latency_ns", LULL_CELL_DURATION, NULL, LULL_USE_BAR},
    STOLEN,
    {"Priority", "PRIO", "prio", LULL_CELL_NUMBER, NULL, LULL_USE_DETAIL},
    {"Target CPU", "CPU", "cpu", LULL_CELL_CPU, NULL, LULL_USE_DETAIL},
    {"Wakee process", "WAKEE", "wakee", LULL_CELL_PROCESS, NULL, 0},
    {"Waker process", "WAKER", "waker", LULL_CELL_PROCESS, NULL, 0},
    {"Woken in an interrupt", "IN IRQ", "in_interrupt", LULL_CELL_BOOL, NULL,
     LULL_USE_OWN | LULL_USE_DETAIL},
    {0},
};
static const struct lull_result_class log_class = {
    .name = "log", .title = "Scheduling log", .columns = wait_columns, .kind = LULL_TABLE_LOG};
static const struct lull_result_class top_class = {
    .name = "top", .title = "Scheduling top", .columns = wait_columns};

struct wait_rows {
    const struct sched *sched;
    const struct wait *items;
};

static struct lull_cell prio_cell(int32_t prio)
{
    return prio == LULL_NO_PRIO ? lull_cell_integer(LULL_CELL_UNKNOWN, 0)
                                : lull_cell_integer(LULL_CELL_NUMBER, lull_priority_shown(prio));
}

static struct lull_cell stolen_cell(int64_t ns)
{
    struct lull_cell cell = {0};
    if (ns >= 0) {
        cell = lull_cell_integer(LULL_CELL_DURATION, ns);
    }
    return cell;
}

static void wait_row(const void *user, uint64_t row, struct lull_cell *cells)
{
    const struct wait_rows *rows = user;
    const struct wait *wait = &rows->items[row];
    const struct lull_analysis *head = &rows->sched->head;
    *cells++ = lull_cell_host_of(head, wait->host);
    *cells++ = lull_cell_integer(LULL_CELL_TIMESTAMP, wait->wakeup_ns);
    *cells++ = lull_cell_integer(LULL_CELL_TIMESTAMP, wait->switch_ns);
    *cells++ = lull_cell_integer(LULL_CELL_DURATION, length_of(wait));
    *cells++ = stolen_cell(wait->stolen_ns);
    *cells++ = prio_cell(wait->prio);
    *cells++ = lull_cell_integer(LULL_CELL_CPU, wait->cpu);
    *cells++ = lull_cell_task(head->model, wait->task, wait->switch_ns, true);
    if (wait->waker != LULL_NONE) {
        *cells = lull_cell_task(head->model, wait->waker, wait->wakeup_ns, true);
    }
    cells++;
    *cells = lull_cell_integer(LULL_CELL_BOOL, wait->is_from_interrupt);
}

static void emit_waits(const struct sched *sched, const struct lull_result_class *class,
                       const struct wait *items, size_t count, struct lull_sink *sink)
{
    const struct wait_rows rows = {sched, items};
    sink->table(sink, &(struct lull_result_table){
                          .class = class, .n_rows = count, .row = wait_row, .user = &rows});
}

/* ---- statistics ---- */

#define STATS_COLUMNS                                                                              \
    {"Scheduling count", "COUNT", "count", LULL_CELL_NUMBER, "schedulings", 0},                    \
        LULL_SPREAD_COLUMNS("latency", "Scheduling latency"), LULL_SPREAD_PERCENTILES

static const struct lull_result_column total_columns[] = {STATS_COLUMNS, {0}};
static const struct lull_result_class total_class = {
    .name = "total_stats", .title = "Scheduling latency stats (total)", .columns = total_columns};

static const struct lull_result_column tid_columns[] = {
    HOST,
    {"Wakee process", "WAKEE", "wakee", LULL_CELL_PROCESS, NULL, 0},
    STATS_COLUMNS,
    STOLEN,
    {"Chronological priorities", "PRIORITIES", "priorities", LULL_CELL_STRING, NULL, 0},
    {0},
};
static const struct lull_result_class tid_class = {
    .name = "per_tid_stats", .title = "Scheduling latency stats (per-TID)", .columns = tid_columns};

static const struct lull_result_column prio_columns[] = {
    {"Priority", "PRIO", "prio", LULL_CELL_NUMBER, NULL, 0},
    STATS_COLUMNS,
    {0},
};
static const struct lull_result_class prio_class = {.name = "per_prio_stats",
                                                    .title = "Scheduling latency stats (per-prio)",
                                                    .columns = prio_columns};

static struct lull_cell *stats_cells(const struct sched *sched,
                                     const struct lull_distribution *latency,
                                     struct lull_cell *cells)
{
    *cells++ = lull_cell_integer(LULL_CELL_NUMBER, (int64_t)latency->count);
    cells = lull_spread_cells_or_zeroes(latency, sched->head.params->is_lami, cells);
    return lull_spread_percentiles(latency, cells);
}

static void total_row(const void *user, uint64_t row, struct lull_cell *cells)
{
    const struct sched *sched = user;
    stats_cells(sched, &sched->total, cells);
}

static void tid_row(const void *user, uint64_t row, struct lull_cell *cells)
{
    const struct sched *sched = user;
    const struct wakee *wakee = &sched->wakees.items[row];
    lull_priorities_format(&wakee->priorities, sched->head.params->is_lami, sched->text);
    *cells++ =
        lull_cell_host_of(&sched->head, lull_model_task(sched->head.model, wakee->task)->host);
    *cells++ = lull_cell_task(sched->head.model, wakee->task, sched->end_ns, false);
    cells = stats_cells(sched, &wakee->latency, cells);
    *cells++ = stolen_cell(wakee->stolen_ns);
    *cells = lull_cell_text(LULL_CELL_STRING, sched->text->str);
}

/* Which of by_prio have any. */
struct prio_rows {
    const struct sched *sched;
    uint32_t count;
    uint8_t places[PRIORITIES];
};

static struct prio_rows find_prios(const struct sched *sched)
{
    struct prio_rows rows = {.sched = sched};
    for (uint32_t place = 0; place < PRIORITIES; place++) {
        if (sched->by_prio[place].count) {
            rows.places[rows.count++] = (uint8_t)place;
        }
    }
    return rows;
}

static void prio_row(const void *user, uint64_t row, struct lull_cell *cells)
{
    const struct prio_rows *rows = user;
    *cells++ = prio_cell(rows->places[row] + LEAST_PRIO);
    stats_cells(rows->sched, &rows->sched->by_prio[rows->places[row]], cells);
}

static int compare_by_name(const void *a, const void *b, void *user)
{
    const struct sched *sched = user;
    const struct lull_model *model = sched->head.model;
    const uint32_t left = ((const struct wakee *)a)->task, right = ((const struct wakee *)b)->task;
    const int order = g_ascii_strcasecmp(lull_model_comm(model, left, sched->end_ns),
                                         lull_model_comm(model, right, sched->end_ns));
    return order ? order : (left > right) - (left < right);
}

static int compare_by_tid(const void *a, const void *b, void *user)
{
    const struct sched *sched = user;
    const struct lull_model *model = sched->head.model;
    const uint32_t left = ((const struct wakee *)a)->task, right = ((const struct wakee *)b)->task;
    const int32_t left_tid = lull_model_task(model, left)->tid;
    const int32_t right_tid = lull_model_task(model, right)->tid;
    return left_tid != right_tid ? (left_tid > right_tid) - (left_tid < right_tid)
                                 : (left > right) - (left < right);
}

/* Longest in all first. */
static int compare_by_sum(const void *a, const void *b, void *user)
{
    const struct wakee *left = a, *right = b;
    if (left->latency.sum != right->latency.sum) {
        return left->latency.sum > right->latency.sum ? -1 : 1;
    }
    return compare_by_tid(a, b, user);
}

static void sort_wakees(struct sched *sched, int (*compare)(const void *, const void *, void *))
{
    if (sched->wakees.count) {
        qsort_r(sched->wakees.items, sched->wakees.count, sizeof *sched->wakees.items, compare,
                sched);
    }
}

static void emit_stats(struct sched *sched, struct lull_sink *sink)
{
    if (sched->groupings & LULL_GROUPING_TOTAL) {
        sink->table(sink, &(struct lull_result_table){
                              .class = &total_class, .n_rows = 1, .row = total_row, .user = sched});
    }
    if (sched->groupings & LULL_GROUPING_TID) {
        const struct lull_question_params *params = sched->head.params;
        const uint64_t n = sched->wakees.count;
        sort_wakees(sched,
                    params->is_report || params->list_limit ? compare_by_sum : compare_by_name);
        sink->table(sink, &(struct lull_result_table){.class = &tid_class,
                                                      .n_rows = params->is_report && params->limit
                                                                    ? MIN(n, params->limit)
                                                                    : n,
                                                      .row = tid_row,
                                                      .user = sched});
    }
    if (sched->groupings & LULL_GROUPING_PRIO) {
        const struct prio_rows rows = find_prios(sched);
        sink->table(
            sink, &(struct lull_result_table){
                      .class = &prio_class, .n_rows = rows.count, .row = prio_row, .user = &rows});
    }
}

/* ---- histograms ---- */

static const struct lull_result_column freq_columns[] = {
    LULL_HISTOGRAM_COLUMNS("Duration", "_ns", LULL_CELL_DURATION, NULL, "Scheduling count",
                           "schedulings"),
    {0},
};
static const struct lull_result_class freq_class = {.name = "freq",
                                                    .title =
                                                        "Scheduling latency frequency distribution",
                                                    .columns = freq_columns,
                                                    .kind = LULL_TABLE_HISTOGRAM};

static void add_wakees(struct sched *sched, struct lull_histograms *list)
{
    const bool has_hosts = sched->head.session && lull_session_host_count(sched->head.session) > 1;
    sort_wakees(sched, compare_by_tid);
    for (size_t i = 0; i < sched->wakees.count; i++) {
        const struct lull_task *task =
            lull_model_task(sched->head.model, sched->wakees.items[i].task);
        if (sched->head.params->by == LULL_BY_TASK) {
            g_string_printf(sched->text, "TID: %d", task->tid);
        } else {
            g_string_assign(sched->text, lull_model_comm(sched->head.model,
                                                         sched->wakees.items[i].task, INT64_MAX));
        }
        if (has_hosts) {
            g_string_append_printf(sched->text, " on %s",
                                   lull_session_host(sched->head.session, task->host)->name);
        }
        lull_histograms_add(list, sched->text->str, &sched->wakees.items[i].latency);
    }
}

static void emit_freq(struct sched *sched, struct lull_sink *sink)
{
    static const char series[] = "Scheduling latencies frequency distributions";
    const struct lull_question_params *params = sched->head.params;
    struct lull_histograms list = {.is_bounded = true};
    if (sched->groupings & LULL_GROUPING_TOTAL) {
        lull_histograms_add(&list, NULL, &sched->total);
        lull_histograms_emit(&list, params, &freq_class, series, sink);
        lull_histograms_clear(&list);
    }
    if ((sched->groupings & LULL_GROUPING_TID) && !params->is_report) {
        add_wakees(sched, &list);
        lull_histograms_emit(&list, params, &freq_class, series, sink);
        lull_histograms_clear(&list);
    }
    if (sched->groupings & LULL_GROUPING_PRIO) {
        const struct prio_rows rows = find_prios(sched);
        for (uint32_t i = 0; i < rows.count; i++) {
            const int32_t prio = rows.places[i] + LEAST_PRIO;
            g_string_printf(sched->text, "Priority: %d", lull_priority_shown(prio));
            lull_histograms_add(&list, sched->text->str, &sched->by_prio[rows.places[i]]);
        }
        lull_histograms_emit(&list, params, &freq_class, series, sink);
        lull_histograms_clear(&list);
    }
}

/* Leaves those who were woken; by_task is of no use after it. */
static void drop_wakers(struct sched *sched)
{
    size_t kept = 0;
    for (size_t i = 0; i < sched->wakees.count; i++) {
        if (sched->wakees.items[i].latency.count) {
            sched->wakees.items[kept++] = sched->wakees.items[i];
        } else {
            lull_priorities_clear(&sched->wakees.items[i].priorities);
        }
    }
    sched->wakees.count = kept;
}

static void sched_emit(struct lull_analysis *analysis, const struct lull_window *window,
                       struct lull_sink *sink)
{
    struct sched *sched = (struct sched *)analysis;
    const unsigned sections = analysis->params->sections;
    drop_wakers(sched);
    if (sched->stolen) {
        sink->note(sink, "STOLEN is for tasks of virtual machines: the part of a wait in which the "
                         "virtual CPU had no CPU of the host");
    }
    const uint64_t n_log =
        lull_params_listed(analysis->params, sched->log.count, "waits of the log", sink);
    if (sections & LULL_SECTION_STATS) {
        emit_stats(sched, sink);
    }
    if (sections & LULL_SECTION_FREQ) {
        emit_freq(sched, sink);
    }
    if (sections & LULL_SECTION_LOG) {
        emit_waits(sched, &log_class, sched->log.items, n_log, sink);
    }
    if (sections & LULL_SECTION_TOP) {
        emit_waits(sched, &top_class, sched->top.items, sched->top.count, sink);
    }
}

static void sched_free(struct lull_analysis *analysis)
{
    struct sched *sched = (struct sched *)analysis;
    for (size_t i = 0; i < sched->wakees.count; i++) {
        lull_distribution_clear(&sched->wakees.items[i].latency);
        lull_priorities_clear(&sched->wakees.items[i].priorities);
    }
    for (uint32_t place = 0; place < PRIORITIES; place++) {
        lull_distribution_clear(&sched->by_prio[place]);
    }
    lull_distribution_clear(&sched->total);
    lull_vec_free(&sched->log);
    lull_vec_free(&sched->top);
    lull_vec_free(&sched->wakees);
    lull_slots_free(&sched->by_task);
    lull_stolen_free(sched->stolen);
    g_string_free(sched->text, TRUE);
}

const struct lull_analysis_class lull_analysis_sched = {
    .name = "sched",
    .title = "Scheduling latencies analysis",
    .description = "Scheduling latencies frequency distribution, statistics, top, and log",
    .tags = (const char *const[]){"sched", "stats", "freq", "top", "log", NULL},
    .tables = (const struct lull_result_class *const[]){&log_class, &top_class, &total_class,
                                                        &tid_class, &prio_class, &freq_class, NULL},
    .question = "cpu",
    .has_priorities = true,
    /* Interrupts, as a waker in one is not a waker. */
    .groups = LULL_GROUP_SCHED | LULL_GROUP_STATE | LULL_GROUP_IRQ,
    .is_by_host = true,
    .size = sizeof(struct sched),
    .facts = {.switched = sched_switched, .prio = sched_prio},
    .guest_facts = &guest_facts,
    .open = sched_open,
    .close = sched_close,
    .emit = sched_emit,
    .free = sched_free,
};
