/* SPDX-License-Identifier: MIT */
/* Feeds facts to one instance of each analysis for each window of time, opens and closes the
 * windows, and has each instance report its results to the sink when its window is over. A fact
 * costs one call more than it would without windows. */
#include <string.h>

#include "analysis/analysis.h"
#include "analysis/coverage.h"
#include "analysis/limit.h"
#include "analysis/questions.h"
#include "analysis/stolen.h"
#include "analysis/vm_names.h"
#include "base/time.h"
#include "source/session/streams.h"

struct window {
    uint32_t handle;
    int64_t start_ns;
    struct lull_analysis **instances; /* one of each class */
};

/* A class that wants facts of one kind, by number. */
struct taker {
    uint32_t class;
    void (*call)(void);
};

enum { FACT_KINDS = sizeof(struct lull_facts) / sizeof(void (*)(void)) };

struct takers {
    struct taker *items;
    uint32_t count;
};

struct lull_runner {
    struct lull_session *session; /* or NULL */
    struct lull_model *model;
    const struct lull_analysis_class **classes;
    struct lull_question_params *params;
    uint32_t n;
    struct lull_sink *sink;
    struct takers takers[FACT_KINDS]; /* in the order of struct lull_facts */
    LULL_VEC(struct window) open;
    uint32_t next_handle, n_closed;
    GPtrArray **notes; /* what the trace lacks, by class */

    struct lull_coverage *coverage; /* by host; NULL without session */
    bool is_empty;                  /* the session has no event */
    bool has_guests;                /* on the clocks of their hosts */
    int64_t first_ns, last_ns;      /* of all events of the session */

    void (*at_end)(void *user);
    void *at_end_user;
    bool (*may_report)(void *user, const struct lull_model *model); /* or NULL */
    void *may_report_user;

    bool has_range; /* a range was requested, and it is not over */
    int64_t start_ns, end_ns, slice_ns;
    bool is_in_range;       /* the window of the range is open */
    bool is_end_within;     /* end_ns is 1 ns after the last requested moment */
    uint32_t range_handle;  /* that window */
    int64_t slice_start_ns; /* its start */

    /* When nothing was recorded on a host, as far as was read. */
    LULL_VEC(struct lull_lost_fact) gaps;
};

static void set_alarm(struct lull_runner *runner);

/* ---- facts ---- */

#define FACT_NUMBER(member) (offsetof(struct lull_facts, member) / sizeof(void (*)(void)))
/* The kinds of facts: member of struct lull_facts, struct of the fact. */
#define EACH_FACT(X)                                                                               \
    X(state, lull_state_fact)                                                                      \
    X(switched, lull_switch_fact)                                                                  \
    X(interrupt, lull_interrupt_fact)                                                              \
    X(packet, lull_packet_fact)                                                                    \
    X(segment, lull_packet_fact)                                                                   \
    X(tcp, lull_tcp_fact)                                                                          \
    X(migration, lull_migration_fact)                                                              \
    X(prio, lull_prio_fact)                                                                        \
    X(handler, lull_handler_fact)                                                                  \
    X(handler_start, lull_handler_fact)                                                            \
    X(page, lull_page_fact)                                                                        \
    X(paging, lull_paging_fact)                                                                    \
    X(contention, lull_contention_fact)                                                            \
    X(cgroup, lull_cgroup_fact)                                                                    \
    X(timer, lull_timer_fact)                                                                      \
    X(netif, lull_netif_fact)                                                                      \
    X(taken, lull_taken_fact)                                                                      \
    X(power, lull_power_fact)                                                                      \
    X(vcpu, lull_vcpu_fact)                                                                        \
    X(block, lull_block_fact)                                                                      \
    X(syscall, lull_syscall_fact)                                                                  \
    X(lost, lull_lost_fact)                                                                        \
    X(syscall_start, lull_syscall_fact)                                                            \
    X(function, lull_function_fact)                                                                \
    X(sample, lull_sample_fact)                                                                    \
    X(heap, lull_heap_fact)                                                                        \
    X(count, lull_count_fact)                                                                      \
    X(place, lull_place_fact)

#define ONE(member, type) +1
_Static_assert(EACH_FACT(ONE) == FACT_KINDS, "every kind of fact is handed on");

#define HAND_ON(member, type)                                                                      \
    static void hand_on_##member(void *user, const struct type *fact)                              \
    {                                                                                              \
        const struct lull_runner *runner = user;                                                   \
        const struct takers *takers = &runner->takers[FACT_NUMBER(member)];                        \
        for (size_t w = 0; w < runner->open.count; w++) {                                          \
            struct lull_analysis *const *instances = runner->open.items[w].instances;              \
            for (uint32_t i = 0; i < takers->count; i++) {                                         \
                void (*call)(void *, const struct type *) =                                        \
                    (void (*)(void *, const struct type *))takers->items[i].call;                  \
                call(instances[takers->items[i].class], fact);                                     \
            }                                                                                      \
        }                                                                                          \
    }
EACH_FACT(HAND_ON)

static void note_gap(void *user, const struct lull_lost_fact *fact)
{
    struct lull_runner *runner = user;
    if (lull_lost_is_gap(fact)) {
        lull_vec_push(&runner->gaps, *fact);
    }
    hand_on_lost(user, fact);
}

static void add_taker(struct lull_runner *runner, uint32_t kind, uint32_t class, void (*call)(void))
{
    struct takers *takers = &runner->takers[kind];
    takers->items = g_renew(struct taker, takers->items, takers->count + 1);
    takers->items[takers->count++] = (struct taker){class, call};
}

static void add_takers(struct lull_runner *runner, uint32_t class, const struct lull_facts *wanted,
                       struct lull_facts *facts)
{
#define TAKE(member, type)                                                                         \
    if (wanted->member) {                                                                          \
        facts->member = hand_on_##member;                                                          \
        add_taker(runner, FACT_NUMBER(member), class, (void (*)(void))wanted->member);             \
    }
    EACH_FACT(TAKE)
}

/* Subscribes to what any class wants. */
static void subscribe(struct lull_runner *runner)
{
    struct lull_facts facts = {0};
    for (uint32_t class = 0; class < runner->n; class ++) {
        add_takers(runner, class, &runner->classes[class]->facts, &facts);
        if (runner->has_guests && runner->classes[class]->guest_facts) {
            add_takers(runner, class, runner->classes[class]->guest_facts, &facts);
        }
    }
    facts.lost = note_gap;
    lull_model_subscribe(runner->model, &facts, runner);
}

/* ---- windows ---- */

uint32_t lull_runner_open(struct lull_runner *runner, int64_t start_ns)
{
    struct window window = {.handle = runner->next_handle++, .start_ns = start_ns};
    window.instances = g_new(struct lull_analysis *, MAX(runner->n, 1));
    for (uint32_t i = 0; i < runner->n; i++) {
        struct lull_analysis *analysis = g_malloc0(runner->classes[i]->size);
        analysis->class = runner->classes[i];
        analysis->model = runner->model;
        analysis->session = runner->session;
        analysis->params = &runner->params[i];
        analysis->coverage = runner->coverage;
        analysis->start_ns = start_ns;
        if (analysis->class->open) {
            analysis->class->open(analysis);
        }
        window.instances[i] = analysis;
    }
    lull_vec_push(&runner->open, window);
    return window.handle;
}

static void free_window(const struct lull_runner *runner, struct window *window)
{
    for (uint32_t i = 0; i < runner->n; i++) {
        if (window->instances[i]->class->free) {
            window->instances[i]->class->free(window->instances[i]);
        }
        g_free(window->instances[i]);
    }
    g_free(window->instances);
}

/* What was lost within the window on the requested hosts. */
static void add_losses(const struct lull_runner *runner, const struct lull_question_params *params,
                       struct lull_window *window)
{
    window->lost_events = window->lost_packets = 0;
    const uint32_t count = runner->session ? lull_session_loss_count(runner->session) : 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct lull_loss *loss = lull_session_loss(runner->session, i);
        if (loss->start_ns > window->end_ns) {
            break;
        }
        if (loss->end_ns >= window->start_ns &&
            (params->host < 0 || loss->host == (uint32_t)params->host)) {
            window->lost_events += loss->events;
            window->lost_packets += loss->packets;
        }
    }
}

/* For how long nothing was recorded within the window on the requested host, or on the one of which most is missing. */
static void note_gaps(const struct lull_runner *runner, const struct lull_question_params *params,
                      const struct lull_window *window)
{
    if (runner->gaps.count == 0) {
        return;
    }
    const uint32_t n_hosts = lull_session_host_count(runner->session);
    g_autofree int64_t *missing_ns = g_new0(int64_t, n_hosts);
    uint32_t worst = 0, n = 0;
    for (size_t i = 0; i < runner->gaps.count; i++) {
        const struct lull_lost_fact *gap = &runner->gaps.items[i];
        const int64_t part_ns =
            MIN(gap->end_ns, window->end_ns) - MAX(gap->start_ns, window->start_ns);
        if (part_ns > 0 && (params->host < 0 || gap->host == (uint32_t)params->host)) {
            n += missing_ns[gap->host] == 0;
            missing_ns[gap->host] += part_ns;
            worst = missing_ns[gap->host] > missing_ns[worst] ? gap->host : worst;
        }
    }
    if (n > 0) {
        char duration[LULL_TIME_TEXT_SIZE];
        lull_duration_format(missing_ns[worst], duration);
        g_autofree char *others =
            n == 1 ? g_strdup("")
                   : g_strdup_printf(", and on %u other host%s", n - 1, n == 2 ? "" : "s");
        g_autofree char *note = g_strdup_printf(
            "between its traces nothing was recorded on “%s” for %s%s: what happened then is unknown",
            lull_session_host(runner->session, worst)->name, duration, others);
        runner->sink->note(runner->sink, note);
    }
}

static void emit(struct lull_runner *runner, uint32_t class, struct lull_analysis *analysis,
                 struct lull_window *reported)
{
    struct lull_sink *sink = runner->sink;
    add_losses(runner, analysis->params, reported);
    sink->start(sink, analysis->class->name, reported);
    for (uint32_t i = 0; runner->notes[class] && i < runner->notes[class]->len; i++) {
        sink->note(sink, runner->notes[class]->pdata[i]);
    }
    if (class == 0) {
        note_gaps(runner, analysis->params, reported);
    }
    struct lull_limit limit;
    analysis->class->emit(analysis, reported,
                          lull_limit_rows(&limit, sink, analysis->params->list_limit));
    sink->end(sink);
}

static struct window take_window(struct lull_runner *runner, uint32_t handle)
{
    size_t at = 0;
    while (at < runner->open.count && runner->open.items[at].handle != handle) {
        at++;
    }
    g_return_val_if_fail(at < runner->open.count, (struct window){0});
    const struct window window = runner->open.items[at];
    runner->open.items[at] = runner->open.items[--runner->open.count];
    return window;
}

void lull_runner_close(struct lull_runner *runner, uint32_t handle, int64_t end_ns,
                       const struct lull_window *window)
{
    struct window closed = take_window(runner, handle);
    g_return_if_fail(closed.instances);
    struct lull_window reported = *window;
    reported.start_ns = closed.start_ns;
    reported.end_ns = MAX(end_ns, closed.start_ns);
    reported.number = runner->n_closed++;
    for (uint32_t i = 0; i < runner->n; i++) {
        if (closed.instances[i]->class->close) {
            closed.instances[i]->class->close(closed.instances[i], reported.end_ns);
        }
        emit(runner, i, closed.instances[i], &reported);
    }
    free_window(runner, &closed);
}

/* ---- the range and its slices ---- */

static void open_slice(struct lull_runner *runner, int64_t start_ns)
{
    runner->slice_start_ns = start_ns;
    runner->range_handle = lull_runner_open(runner, start_ns);
    runner->is_in_range = true;
}

static void close_slice(struct lull_runner *runner, int64_t end_ns)
{
    static const struct lull_window whole = {.is_complete = true};
    runner->is_in_range = false;
    lull_runner_close(runner, runner->range_handle, end_ns, &whole);
}

/* The last slice, unless nothing was reported and the names that the question has are wrong. */
static void end_range(struct lull_runner *runner, int64_t end_ns)
{
    if (runner->n_closed == 0 && runner->may_report &&
        !runner->may_report(runner->may_report_user, runner->model)) {
        struct window window = take_window(runner, runner->range_handle);
        free_window(runner, &window);
        runner->is_in_range = false;
    } else {
        close_slice(runner, end_ns);
    }
    runner->has_range = false;
}

/* The end of the slice that is open, or of the range. */
static int64_t slice_end(const struct lull_runner *runner)
{
    int64_t end_ns;
    if (runner->slice_ns <= 0 ||
        __builtin_add_overflow(runner->slice_start_ns, runner->slice_ns, &end_ns)) {
        return runner->end_ns;
    }
    return MIN(end_ns, runner->end_ns);
}

/* The last moment of the range that is covered by events. */
static int64_t range_end(const struct lull_runner *runner)
{
    int64_t start_ns, last_ns = runner->last_ns;
    if (!runner->session) {
        lull_model_range(runner->model, &start_ns, &last_ns);
    }
    return MIN(last_ns, runner->end_ns - runner->is_end_within);
}

/* The range starts, before an event at time_ns or, without one, at the end of reading. */
static void start_range(struct lull_runner *runner, int64_t time_ns)
{
    const int64_t first_ns = runner->session ? runner->first_ns : time_ns;
    const int64_t start_ns = runner->session || runner->start_ns == INT64_MIN
                                 ? MAX(runner->start_ns, first_ns)
                                 : runner->start_ns;
    runner->has_range = time_ns != INT64_MAX || start_ns <= range_end(runner);
    if (runner->has_range) {
        open_slice(runner, start_ns);
    }
}

/* Where the next slice starts, or the range ends: the last event, even if it lies on an edge,
 * belongs to the last slice. */
static int64_t next_edge(const struct lull_runner *runner)
{
    const int64_t end_ns = slice_end(runner);
    return runner->session && end_ns >= range_end(runner) ? runner->end_ns : end_ns;
}

/* Before the first event at or after the next edge of the range; time_ns INT64_MAX: at the end of
 * reading. */
static void pass_edge(void *user, int64_t time_ns)
{
    struct lull_runner *runner = user;
    const bool is_end = time_ns == INT64_MAX;
    if (runner->at_end && is_end) {
        runner->at_end(runner->at_end_user);
    }
    if (runner->has_range && !runner->is_in_range) {
        start_range(runner, time_ns);
    }
    if (runner->has_range) {
        /* The last event belongs to the last slice. */
        const int64_t last_ns = runner->session || is_end ? range_end(runner) : runner->end_ns;
        while (slice_end(runner) <= time_ns && slice_end(runner) < last_ns) {
            const int64_t end_ns = slice_end(runner);
            close_slice(runner, end_ns);
            open_slice(runner, end_ns);
        }
        if (is_end || runner->end_ns <= time_ns) {
            end_range(runner, is_end ? range_end(runner) : runner->end_ns);
        }
    }
    if (!is_end) {
        set_alarm(runner);
    }
}

/* An alarm at INT64_MAX would be none, and nothing would report the end of reading. */
static void set_alarm(struct lull_runner *runner)
{
    const int64_t next_ns = !runner->has_range    ? INT64_MAX
                            : runner->is_in_range ? next_edge(runner)
                                                  : runner->start_ns;
    lull_model_set_alarm(runner->model, MIN(next_ns, INT64_MAX - 1), pass_edge, runner);
}

void lull_runner_include_end(struct lull_runner *runner)
{
    runner->is_end_within = true;
}

void lull_runner_range(struct lull_runner *runner, int64_t start_ns, int64_t end_ns,
                       int64_t slice_ns)
{
    runner->has_range = true;
    runner->start_ns = start_ns;
    end_ns += runner->is_end_within;
    runner->end_ns = end_ns;
    runner->slice_ns = slice_ns;
    if (runner->session) {
        lull_session_limit(runner->session, INT64_MIN, end_ns);
    }
    set_alarm(runner);
}

void lull_runner_at_end(struct lull_runner *runner, void (*at_end)(void *user), void *user)
{
    runner->at_end = at_end;
    runner->at_end_user = user;
    set_alarm(runner);
}

/* ---- the whole ---- */

static void add_note(GPtrArray *notes, const struct lull_session *session, uint32_t host,
                     char *note)
{
    if (lull_session_host_count(session) > 1) {
        g_ptr_array_add(notes,
                        g_strdup_printf("%s: %s", lull_session_host(session, host)->name, note));
        g_free(note);
    } else {
        g_ptr_array_add(notes, note);
    }
}

static bool has_damage(const struct lull_session *session)
{
    const uint32_t n = lull_session_problem_count(session);
    uint32_t i = 0;
    while (i < n && lull_session_problem_is_remark(session, i)) {
        i++;
    }
    return i < n;
}

/* What the events that one host declares do not provide for the question of an analysis. */
static void note_lacks(GPtrArray *notes, const struct lull_session *session, uint32_t host,
                       const struct lull_declared *declared, const struct lull_question *question,
                       const struct lull_analysis_class *class)
{
    for (const struct lull_need *need = question->needs; lull_need_name(need, 0); need++) {
        if (!lull_need_is_met(declared, need)) {
            const char *end = has_damage(session) ? ", or is in what is damaged; this needs it"
                                                  : ", which this needs";
            add_note(notes, session, host,
                     g_strdup_printf("%s was not recorded%s", lull_need_name(need, 0), end));
        }
    }
    for (const struct lull_need *need = question->improves; lull_need_name(need, 0); need++) {
        if (!lull_need_is_met(declared, need) &&
            (class->has_priorities || !need->is_of_priorities)) {
            add_note(
                notes, session, host,
                g_strdup_printf("%s: %s was not recorded", need->without, lull_need_name(need, 0)));
        }
    }
}

static void free_declared(gpointer declared)
{
    lull_declared_free(declared);
}

/* What a host declares; hosts of one kind, in `by_kind`, are looked at once. */
static const struct lull_declared *declared_of(GHashTable *by_kind,
                                               const struct lull_session *session, uint32_t host)
{
    const void *kind = lull_session_host_kind(session, host);
    struct lull_declared *declared = kind ? g_hash_table_lookup(by_kind, kind) : NULL;
    if (!declared) {
        declared = lull_declared_new(session, host);
        g_hash_table_replace(by_kind, (gpointer)kind, declared); /* NULL: of the last such host */
    }
    return declared;
}

static GPtrArray *notes_of(const struct lull_session *session,
                           const struct lull_analysis_class *class, int32_t only_host)
{
    g_autoptr(GHashTable) by_kind = g_hash_table_new_full(NULL, NULL, NULL, free_declared);
    GPtrArray *notes = g_ptr_array_new_with_free_func(g_free);
    for (const struct lull_question *q = lull_questions; class->question && q->id; q++) {
        for (uint32_t host = 0;
             strcmp(q->id, class->question) == 0 && host < lull_session_host_count(session);
             host++) {
            if (only_host < 0 || host == (uint32_t)only_host) {
                note_lacks(notes, session, host, declared_of(by_kind, session, host), q, class);
            }
        }
    }
    return notes;
}

static void note_rows(GPtrArray *notes, enum lull_group_by by)
{
    if (by == LULL_BY_VM) {
        g_ptr_array_add(
            notes, g_strdup("a row counts all tasks of a virtual machine: on its host those of its "
                            "process, in the guest all; “host” are those of none that is known"));
    } else if (by != LULL_BY_TASK) {
        g_ptr_array_add(
            notes, g_strdup_printf("a row counts all tasks of a %s, where tables list tasks; tasks "
                                   "of which that was not recorded are “?”",
                                   lull_group_by_name(by)));
    }
}

static void find_coverage(struct lull_runner *runner)
{
    /* Hosts that no analysis requests are not read. */
    int32_t only_host = runner->n ? runner->params[0].host : -1;
    for (uint32_t i = 1; i < runner->n; i++) {
        only_host = runner->params[i].host == only_host ? only_host : -1;
    }
    runner->coverage = lull_coverage_find(runner->session, only_host);
    runner->first_ns = INT64_MAX;
    runner->last_ns = INT64_MIN;
    for (uint32_t host = 0; host < lull_session_host_count(runner->session); host++) {
        runner->first_ns = MIN(runner->first_ns, runner->coverage[host].first_ns);
        runner->last_ns = MAX(runner->last_ns, runner->coverage[host].last_ns);
    }
    runner->is_empty = runner->first_ns > runner->last_ns;
}

struct lull_runner *lull_runner_new(struct lull_session *session,
                                    const struct lull_analysis_class *const *classes,
                                    const struct lull_question_params *params, uint32_t n,
                                    struct lull_sink *sink)
{
    struct lull_runner *runner = g_new0(struct lull_runner, 1);
    unsigned groups = 0;
    runner->session = session;
    runner->n = n;
    runner->has_guests = lull_stolen_is_known(session, -1);
    runner->classes = g_memdup2(classes, n * sizeof *classes);
    runner->params = g_memdup2(params, n * sizeof *params);
    runner->sink = sink;
    runner->notes = g_new0(GPtrArray *, MAX(n, 1));
    bool by_container = false;
    enum lull_group_by by = LULL_BY_TASK; /* the same for all */
    for (uint32_t i = 0; i < n; i++) {
        by = params[i].by;
        by_container |= (by != LULL_BY_TASK && by != LULL_BY_VM) || params[i].containers;
        groups |= classes[i]->groups;
        if (runner->has_guests && classes[i]->guest_facts) {
            groups |= LULL_GROUP_VIRT;
        }
        if (lull_params_name_tasks(&params[i])) {
            groups |= LULL_GROUP_SCHED | LULL_GROUP_STATE; /* whether there are such */
        }
        if (session) {
            runner->notes[i] = notes_of(session, classes[i], params[i].host);
            note_rows(runner->notes[i], params[i].by);
        }
    }
    if (session) {
        find_coverage(runner);
    }
    struct lull_vm_names *vms = session && by == LULL_BY_VM ? lull_vm_names_read(session) : NULL;
    runner->model = lull_model_new(session, groups);
    lull_model_group_by(runner->model, by);
    if (vms) {
        lull_vm_names_apply(vms, runner->model);
    }
    lull_vm_names_free(vms);
    if (by_container && session && !runner->is_empty) {
        lull_model_read_containers(runner->model, runner->first_ns);
    }
    for (uint32_t host = 0; session && host < lull_session_host_count(session); host++) {
        lull_model_set_recorded(runner->model, host, runner->coverage[host].first_ns,
                                runner->coverage[host].last_ns);
    }
    subscribe(runner);
    return runner;
}

void lull_runner_free(struct lull_runner *runner)
{
    if (!runner) {
        return;
    }
    for (size_t i = 0; i < runner->open.count; i++) {
        free_window(runner, &runner->open.items[i]);
    }
    for (uint32_t i = 0; i < runner->n; i++) {
        g_clear_pointer(&runner->notes[i], g_ptr_array_unref);
    }
    for (uint32_t i = 0; i < FACT_KINDS; i++) {
        g_free(runner->takers[i].items);
    }
    lull_vec_free(&runner->open);
    lull_model_free(runner->model);
    g_free(runner->coverage);
    lull_vec_free(&runner->gaps);
    g_free(runner->notes);
    g_free(runner->params);
    g_free(runner->classes);
    g_free(runner);
}

struct lull_model *lull_runner_model(struct lull_runner *runner)
{
    return runner->model;
}

void lull_runner_may_report(struct lull_runner *runner,
                            bool (*may_report)(void *user, const struct lull_model *model),
                            void *user)
{
    runner->may_report = may_report;
    runner->may_report_user = user;
}

bool lull_runner_coverage(const struct lull_runner *runner, int64_t *first_ns, int64_t *last_ns)
{
    *first_ns = runner->first_ns;
    *last_ns = runner->last_ns;
    return runner->session && !runner->is_empty;
}

/* Whether all that is wanted is one window that starts with the first event, for analyses that do
 * not mind in which order the hosts come. Then memory does not depend on how many there are. */
static bool can_read_apart(const struct lull_runner *runner)
{
    bool can = runner->session && runner->has_range && !runner->at_end && runner->slice_ns <= 0 &&
               runner->start_ns <= runner->first_ns &&
               lull_session_host_count(runner->session) > 1 &&
               lull_session_loss_count(runner->session) == 0; /* the model takes them by time */
    for (uint32_t i = 0; can && i < runner->n; i++) {
        const struct lull_analysis_class *class = runner->classes[i];
        can = class->is_by_host && !(runner->has_guests && class->guest_facts) &&
              !(runner->params[i].sections & LULL_SECTION_LOG);
    }
    return can;
}

void lull_runner_run(struct lull_runner *runner, void (*progress)(void *user), void *user)
{
    if (runner->is_empty) {
        return;
    }
    const bool is_apart = can_read_apart(runner);
    if (is_apart) {
        lull_session_set_order(runner->session, LULL_ORDER_HOSTS);
    }
    lull_model_run(runner->model, progress, user);
    if (is_apart) {
        lull_session_set_order(runner->session, LULL_ORDER_ADDED);
    }
}
