/* SPDX-License-Identifier: MIT */
/* Reads the latencies of a kind from the traces: facts become points. */
#include "server/latencies.h"

#include <stdlib.h>
#include <string.h>

#include <lull/session.h>

#include "analysis/futex.h"
#include "base/sums.h"
#include "kernel/vocabulary.h"
#include "period/period.h"
#include "server/task_rows.h"

enum { POINTS_MOST = 1 << 24 }; /* 400 MB */

/* While a kind is being read. Rows of points are tasks until they are all known. */
struct reading {
    const struct lull_store *store;
    struct lull_model *model;
    struct latency_set *set;
    GHashTable *by_name;  /* text → index + 1 */
    struct lull_map cpus; /* host, CPU → row */
    GString *text;
};

static uint32_t name_of(struct reading *reading, const char *text)
{
    const char *name = text ? text : "unknown";
    const uint32_t known = GPOINTER_TO_UINT(g_hash_table_lookup(reading->by_name, name));
    if (known) {
        return known - 1;
    }
    char *copy = g_strdup(name);
    g_ptr_array_add(reading->set->names, copy);
    g_hash_table_insert(reading->by_name, copy, GUINT_TO_POINTER(reading->set->names->len));
    return reading->set->names->len - 1;
}

static void add(struct reading *reading, int64_t start_ns, int64_t end_ns, uint32_t row,
                const char *name)
{
    struct latency_set *set = reading->set;
    if (set->points.count >= POINTS_MOST) {
        set->n_left_out++;
        return;
    }
    lull_vec_push(&set->points, (struct latency_point){.start_ns = start_ns,
                                                       .took_ns = MAX(end_ns - start_ns, 0),
                                                       .row = row,
                                                       .name = name_of(reading, name)});
}

/* ---- facts ---- */

static bool is_measured(const struct lull_syscall_fact *fact)
{
    return !fact->is_open && fact->start_ns != INT64_MIN;
}

static void on_syscall(void *user, const struct lull_syscall_fact *fact)
{
    struct reading *reading = user;
    if (is_measured(fact)) {
        add(reading, fact->start_ns, fact->end_ns, fact->task,
            lull_model_label(reading->model, fact->name));
    }
}

static void on_futex(void *user, const struct lull_syscall_fact *fact)
{
    struct reading *reading = user;
    if (is_measured(fact) && lull_futex_has_waited(fact)) {
        g_string_printf(reading->text, "%#" G_GINT64_MODIFIER "x of %s", fact->futex->address,
                        lull_model_comm(reading->model, fact->task, fact->end_ns));
        add(reading, fact->start_ns, fact->end_ns, fact->task, reading->text->str);
    }
}

static void on_switch(void *user, const struct lull_switch_fact *fact)
{
    struct reading *reading = user;
    if (fact->task != LULL_NONE && fact->wakeup_ns != INT64_MIN) {
        add(reading, fact->wakeup_ns, fact->time_ns, fact->task,
            lull_model_comm(reading->model, fact->task, fact->time_ns));
    }
}

static void on_block(void *user, const struct lull_block_fact *fact)
{
    struct reading *reading = user;
    const struct lull_block_request *request = lull_model_request(reading->model, fact->request);
    if (fact->step != LULL_BLOCK_COMPLETE || request->issue_ns == INT64_MIN) {
        return;
    }
    const char *device = lull_model_device(reading->model, fact->request);
    const char *what = lull_block_operation(request);
    if (device) {
        g_string_printf(reading->text, "%s %s", device, what);
    } else {
        g_string_printf(reading->text, "%u:%u %s", request->mapped_dev >> 20,
                        request->mapped_dev & 0xfffff, what);
    }
    add(reading, request->issue_ns, fact->time_ns, request->submitter, reading->text->str);
}

static void on_handler(void *user, const struct lull_handler_fact *fact)
{
    struct reading *reading = user;
    const uint64_t cpu = (uint64_t)fact->host << 32 | (uint32_t)fact->cpu;
    add(reading, fact->start_ns, fact->end_ns, lull_map_find(&reading->cpus, cpu),
        lull_model_label(reading->model, fact->label));
}

static const struct kind {
    struct server_latency_kind about;
    unsigned groups;
    struct lull_facts facts;
    bool is_of_cpus; /* rows are CPUs, and known at once */
} kinds[] = {
    {.about = {"syscalls", "System calls", "events of system calls"},
     .groups = LULL_GROUP_SCHED | LULL_GROUP_STATE | LULL_GROUP_SYSCALL,
     .facts = {.syscall = on_syscall}},
    {.about = {"scheduling", "From waking to running",
               "sched_waking or sched_wakeup, and sched_switch"},
     .groups = LULL_GROUP_SCHED | LULL_GROUP_STATE | LULL_GROUP_IRQ,
     .facts = {.switched = on_switch}},
    {.about = {"block", "Block requests", "block_rq_issue and block_rq_complete"},
     .groups =
         LULL_GROUP_SCHED | LULL_GROUP_STATE | LULL_GROUP_IRQ | LULL_GROUP_BLOCK | LULL_GROUP_REMAP,
     .facts = {.block = on_block}},
    {.about = {"interrupts", "Interrupts", "events of the start and end of handlers"},
     .groups = LULL_GROUP_SCHED | LULL_GROUP_STATE | LULL_GROUP_IRQ,
     .facts = {.handler = on_handler},
     .is_of_cpus = true},
    {.about = {"futexes", "Waits on futexes", "futex system calls with their arguments"},
     .groups = LULL_GROUP_SCHED | LULL_GROUP_STATE | LULL_GROUP_SYSCALL | LULL_GROUP_FUTEX,
     .facts = {.syscall = on_futex}},
};

/* ---- reading ---- */

/* Of those that their own end closed; who started it has the row. */
static void add_instances(struct reading *reading, const struct lull_period_tracker *tracker,
                          uint32_t period)
{
    struct server_tid_rows rows;
    server_tid_rows_init(&rows, reading->store);
    for (uint32_t i = 0; i < lull_period_instance_count(tracker); i++) {
        const struct lull_period_instance *instance = lull_period_at(tracker, i);
        const bool has_task = instance->start_tid >= 0 && instance->start_tid <= INT32_MAX;
        if (instance->period == period && instance->is_complete) {
            add(reading, instance->start_ns, instance->end_ns,
                has_task ? server_tid_row(&rows, instance->host, (int32_t)instance->start_tid,
                                          instance->start_ns, instance->end_ns)
                         : LULL_NONE,
                instance->start_comm);
        }
    }
    server_tid_rows_clear(&rows);
}

static bool read_periods(struct reading *reading, struct lull_session *session,
                         const struct lull_periods *periods, uint32_t period, GError **error)
{
    int64_t first_ns, last_ns;
    g_autoptr(GString) warnings = g_string_new(NULL);
    if (!lull_periods_check(periods, session, warnings, error)) {
        return false;
    }
    reading->model = lull_model_new(session, LULL_GROUP_SCHED | LULL_GROUP_STATE);
    struct lull_period_tracker *tracker = lull_period_tracker_new(periods, session, NULL, NULL);
    lull_model_run(reading->model, NULL, NULL);
    if (lull_session_range(session, &first_ns, &last_ns)) {
        lull_period_tracker_finish(tracker, last_ns);
    }
    reading->set->n_left_out += lull_period_refused(tracker);
    add_instances(reading, tracker, period);
    lull_period_tracker_free(tracker);
    return true;
}

static void find_cpus(struct reading *reading)
{
    for (uint32_t row = 0; row < lull_store_row_count(reading->store); row++) {
        const struct lull_store_row about = lull_store_row(reading->store, row);
        if (about.kind == LULL_STORE_CPU) {
            lull_map_insert(&reading->cpus, (uint64_t)about.host << 32 | (uint32_t)about.cpu, row);
        }
    }
}

static void read_facts(struct reading *reading, struct lull_session *session,
                       const struct kind *kind)
{
    find_cpus(reading);
    reading->model = lull_model_new(session, kind->groups);
    lull_model_subscribe(reading->model, &kind->facts, reading);
    lull_model_run(reading->model, NULL, NULL);
    if (kind->is_of_cpus) {
        return;
    }
    g_autofree uint32_t *rows = server_task_rows(reading->store, reading->model);
    for (size_t i = 0; i < reading->set->points.count; i++) {
        uint32_t *row = &reading->set->points.items[i].row;
        *row = *row == LULL_NONE ? LULL_NONE : rows[*row];
    }
}

static int compare_points(const void *a, const void *b)
{
    const struct latency_point *left = a, *right = b;
    if (left->start_ns != right->start_ns) {
        return left->start_ns < right->start_ns ? -1 : 1;
    }
    return (left->took_ns > right->took_ns) - (left->took_ns < right->took_ns);
}

static bool read_set(const struct served *served, uint32_t kind, struct latency_set *set,
                     GError **error)
{
    const struct served_about *about = served->about;
    struct lull_session *session = served_session(about, false, error);
    if (!session) {
        return false;
    }
    struct reading reading = {.store = served->store,
                              .set = set,
                              .by_name = g_hash_table_new(g_str_hash, g_str_equal),
                              .text = g_string_new(NULL)};
    bool is_done = true;
    if (kind < G_N_ELEMENTS(kinds)) {
        read_facts(&reading, session, &kinds[kind]);
    } else {
        is_done =
            read_periods(&reading, session, about->periods, kind - G_N_ELEMENTS(kinds), error);
    }
    if (set->points.count) {
        qsort(set->points.items, set->points.count, sizeof *set->points.items, compare_points);
    }
    lull_model_free(reading.model);
    lull_session_free(session);
    lull_map_free(&reading.cpus);
    g_hash_table_destroy(reading.by_name);
    g_string_free(reading.text, TRUE);
    return is_done;
}

/* ---- all of them ---- */

struct server_latencies {
    const struct served_about *about;
    GMutex lock;
    uint32_t n;
    struct server_latency_kind *kinds;
    GStringChunk *texts;       /* of periods */
    struct latency_set **sets; /* by kind; NULL: not read yet */
};

struct server_latencies *server_latencies_new(const struct served_about *about)
{
    struct server_latencies *latencies = g_new0(struct server_latencies, 1);
    const uint32_t n_periods = about->periods ? lull_periods_count(about->periods) : 0;
    latencies->about = about;
    g_mutex_init(&latencies->lock);
    latencies->n = G_N_ELEMENTS(kinds) + n_periods;
    latencies->kinds = g_new0(struct server_latency_kind, latencies->n);
    latencies->texts = g_string_chunk_new(256);
    latencies->sets = g_new0(struct latency_set *, latencies->n);
    for (uint32_t i = 0; i < G_N_ELEMENTS(kinds); i++) {
        latencies->kinds[i] = kinds[i].about;
    }
    for (uint32_t i = 0; i < n_periods; i++) {
        const struct lull_period *period = lull_periods_at(about->periods, i);
        g_autofree char *id = g_strdup_printf("period-%u", i + 1);
        g_autofree char *title =
            g_strdup_printf("Period %s", period->name ? period->path : period->text);
        latencies->kinds[G_N_ELEMENTS(kinds) + i] =
            (struct server_latency_kind){.id = g_string_chunk_insert(latencies->texts, id),
                                         .title = g_string_chunk_insert(latencies->texts, title),
                                         .needs = "events that open and close it"};
    }
    return latencies;
}

static void free_set(struct latency_set *set)
{
    if (set) {
        lull_vec_free(&set->points);
        g_ptr_array_unref(set->names);
        g_free(set);
    }
}

void server_latencies_free(struct server_latencies *latencies)
{
    for (uint32_t i = 0; i < latencies->n; i++) {
        free_set(latencies->sets[i]);
    }
    g_free(latencies->kinds);
    g_string_chunk_free(latencies->texts);
    g_free(latencies->sets);
    g_mutex_clear(&latencies->lock);
    g_free(latencies);
}

uint32_t server_latency_kinds(const struct server_latencies *latencies)
{
    return latencies->n;
}

const struct server_latency_kind *server_latency_kind(const struct server_latencies *latencies,
                                                      uint32_t number)
{
    return &latencies->kinds[number];
}

static struct latency_set *get_set(const struct served *served, const char *id, GError **error)
{
    struct server_latencies *latencies = served->about->latencies;
    uint32_t kind = 0;
    while (kind < latencies->n && strcmp(latencies->kinds[kind].id, id ? id : "") != 0) {
        kind++;
    }
    if (kind == latencies->n) {
        g_set_error_literal(error, LULL_ERROR, LULL_ERROR_QUESTION, "there is no such kind");
        return NULL;
    }
    if (!served->is_whole) {
        g_set_error_literal(error, LULL_ERROR, LULL_ERROR_QUESTION,
                            "latencies are available when all of the traces is indexed");
        return NULL;
    }
    if (!latencies->sets[kind]) {
        struct latency_set *set = g_new0(struct latency_set, 1);
        set->names = g_ptr_array_new_with_free_func(g_free);
        if (!read_set(served, kind, set, error)) {
            free_set(set);
            return NULL;
        }
        latencies->sets[kind] = set;
    }
    return latencies->sets[kind];
}

const struct latency_set *server_latencies_lock(const struct served *served, const char *id,
                                                GError **error)
{
    g_mutex_lock(&served->about->latencies->lock);
    return get_set(served, id, error);
}

void server_latencies_unlock(const struct served *served)
{
    g_mutex_unlock(&served->about->latencies->lock);
}
