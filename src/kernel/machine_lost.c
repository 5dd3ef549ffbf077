/* SPDX-License-Identifier: MIT */
/* What was lost: after a loss nothing is known of a CPU until the next event shows who is on it,
 * and nothing before its stream started.
 *
 * Where whole packets are missing, their start and end bound the loss. Events that the tracer
 * discarded are counted in the packet after whose last event they should have come (CTF 1.8.3,
 * section 5.2), so they are missing between the last event of that packet and the next event of the
 * stream, whose time LTTng's packets then end with; likewise what a damaged packet no longer shows.
 *
 * Between the traces of a host (sessions that were recorded one after the other) nothing was recorded.
 *
 * What is missing may be that any task was woken, ran, and blocked again. */
#include "kernel/machine.h"

#include <stdlib.h>

#include "kernel/vocabulary.h"
#include "source/session/streams.h"

struct lost {
    struct lull_lost_fact fact;
    uint32_t stream;   /* LULL_NONE: none recorded */
    int64_t report_ns; /* it is reported before the first event after this time */
    bool is_reported;
    bool is_user; /* says nothing of the kernel */
};

/* The next one is the last; those that are over are gone. */
struct losses {
    LULL_VEC(struct lost) open;
    int64_t longest_ns;  /* of them */
    uint32_t n_found;    /* of the session's, how many were taken in */
    bool has_gaps;       /* between traces: they have been taken in */
    bool knows_recorded; /* the following are made */
    struct lull_map
        by_cpu; /* host, CPU → index of when its last stream started, of the first session */
    LULL_VEC(int64_t) cpus_since_ns;  /* by that */
    LULL_VEC(int64_t) hosts_since_ns; /* by host, when its first stream started */
    LULL_VEC(int64_t)
    stopped_ns; /* by host, when its recording stopped first; those behind: never */
};

struct losses *lost_new(void)
{
    return g_new0(struct losses, 1);
}

void lost_free(struct losses *losses)
{
    lull_vec_free(&losses->open);
    lull_map_free(&losses->by_cpu);
    lull_vec_free(&losses->cpus_since_ns);
    lull_vec_free(&losses->hosts_since_ns);
    lull_vec_free(&losses->stopped_ns);
    g_free(losses);
}

static int64_t next_time(const struct losses *losses)
{
    return losses->open.count ? losses->open.items[losses->open.count - 1].report_ns : INT64_MAX;
}

/* Inserts it after all that are reported later: few as a rule. */
static void keep(struct losses *losses, struct lost lost)
{
    size_t i = losses->open.count;
    lull_vec_push(&losses->open, lost);
    for (; i > 0 && losses->open.items[i - 1].report_ns <= lost.report_ns; i--) {
        losses->open.items[i] = losses->open.items[i - 1];
    }
    losses->open.items[i] = lost;
}

static int compare(const void *a, const void *b)
{
    const struct lost *x = a, *y = b;
    if (x->report_ns != y->report_ns) {
        return x->report_ns > y->report_ns ? -1 : 1;
    }
    return (x->stream < y->stream) - (x->stream > y->stream);
}

static struct lost lost_of(const struct lull_model *model, const struct lull_loss *loss)
{
    const struct lull_stream_info stream = lull_session_stream(model->session, loss->stream);
    int64_t report_ns = loss->start_ns; /* a missing packet leaves a hole */
    if (loss->events) {
        /* Discarded events may be missing up to the event at the end, which comes after them; after the last packet none
         * does. */
        bool is_last = loss->end_ns == stream.end_ns;
        report_ns = is_last ? loss->end_ns : MAX(loss->start_ns, loss->end_ns - 1);
    }
    return (struct lost){
        .fact = {.start_ns = loss->start_ns,
                 .end_ns = loss->end_ns,
                 .host = loss->host,
                 .cpu = stream.cpu,
                 .events = loss->events,
                 .packets = loss->packets},
        .stream = loss->stream,
        .report_ns = report_ns,
        .is_user = model->is_user[loss->trace],
    };
}

static void add_hole(struct machine *machine, int32_t cpu, uint32_t stream, int64_t start_ns,
                     int64_t end_ns)
{
    const struct hole hole = {start_ns, end_ns, cpu, stream};
    size_t i = machine->holes.count;
    lull_vec_push(&machine->holes, hole);
    for (; i > 0 && machine->holes.items[i - 1].start_ns > hole.start_ns; i--) {
        machine->holes.items[i] = machine->holes.items[i - 1];
    }
    machine->holes.items[i] = hole;
    machine->longest_hole_ns = MAX(machine->longest_hole_ns, hole.end_ns - hole.start_ns);
}

/* Only the stream that records a CPU's switches matters for who is on it. */
static bool is_of_switches(const struct machine *machine, int32_t c, uint32_t stream)
{
    if (stream == LULL_NONE || c < 0 || c >= LULL_MAX_CPUS ||
        lull_slots_get(&machine->cpu_numbers, (uint32_t)c) == 0) {
        return true;
    }
    const struct cpu *cpu = model_cpu_at(machine, c);
    return cpu->switch_stream == LULL_NONE || cpu->switch_stream == stream;
}

/* The last hole before the *i-th that lies at least partly between these times, whose index *i becomes; or NULL. */
static const struct hole *hole_before(const struct machine *machine, size_t *i, int64_t since_ns,
                                      int64_t t)
{
    while (*i > 0) {
        const struct hole *hole = &machine->holes.items[--*i];
        /* since_ns may be INT64_MIN, but then no hole starts before it */
        if (hole->start_ns < since_ns && since_ns - hole->start_ns >= machine->longest_hole_ns) {
            break;
        }
        if (hole->start_ns < t && hole->end_ns > since_ns) {
            return hole;
        }
    }
    return NULL;
}

bool lost_between(const struct machine *machine, int64_t since_ns, int64_t t, int64_t *start_ns,
                  int64_t *end_ns)
{
    const struct hole *hole;
    *start_ns = t;
    *end_ns = since_ns;
    for (size_t i = machine->holes.count; (hole = hole_before(machine, &i, since_ns, t));) {
        if (is_of_switches(machine, hole->cpu, hole->stream)) {
            *start_ns = CLAMP(hole->start_ns, since_ns, *start_ns);
            *end_ns = CLAMP(hole->end_ns, *end_ns, t);
        }
    }
    return *start_ns < *end_ns;
}

bool lost_any_between(const struct machine *machine, int64_t since_ns, int64_t t)
{
    size_t i = machine->holes.count;
    return hole_before(machine, &i, since_ns, t) != NULL;
}

bool lost_may_be_between(const struct lull_model *model, uint32_t host, int64_t since_ns, int64_t t)
{
    const struct losses *losses = model->losses;
    for (size_t i = losses->open.count; i-- > 0;) {
        const struct lost *lost = &losses->open.items[i];
        if (lost->report_ns - t > losses->longest_ns) {
            break; /* this one and those after it start after t */
        }
        if (lost->fact.host == host && !lost->is_user && lost->fact.start_ns < t &&
            lost->fact.end_ns > since_ns) {
            return true;
        }
    }
    return false;
}

/* ---- between traces ---- */

/* When a trace was recorded. */
struct span {
    int64_t start_ns, end_ns; /* of its packets */
    uint32_t trace;
};

static int by_start(const void *a, const void *b)
{
    const struct span *x = a, *y = b;
    return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

/* By trace; start_ns > end_ns: it has no events, or says nothing of the kernel. */
static struct span *spans_of_traces(const struct lull_model *model)
{
    const uint32_t n_traces = lull_session_trace_count(model->session);
    const uint32_t n = lull_session_stream_count(model->session);
    struct span *spans = g_new(struct span, MAX(n_traces, 1));
    for (uint32_t i = 0; i < n_traces; i++) {
        spans[i] = (struct span){INT64_MAX, INT64_MIN, i};
    }
    for (uint32_t i = 0; i < n; i++) {
        const struct lull_stream_info stream = lull_session_stream(model->session, i);
        if (stream.start_ns != INT64_MAX && !model->is_user[stream.trace]) {
            struct span *span = &spans[stream.trace];
            const bool is_known = stream.end_ns != INT64_MIN && !stream.may_grow;
            span->start_ns = MIN(span->start_ns, stream.start_ns);
            span->end_ns = MAX(span->end_ns, is_known ? stream.end_ns : INT64_MAX);
        }
    }
    return spans;
}

static void note_switches(void *user, uint32_t trace, const struct lull_event_class *event_class)
{
    if (g_strv_contains(lull_vocabulary_names(LULL_EVENT_sched_switch),
                        lull_event_class_name(event_class))) {
        g_hash_table_add(user, GUINT_TO_POINTER(trace));
    }
}

/* The traces of a host that have switches, by start; `end_ns` is the latest until then. Without any, who was on a CPU is not known
 * at all. Returns how many. */
static uint32_t spans_of_host(const struct lull_model *model, uint32_t host,
                              const struct span *of_traces, struct span **spans)
{
    uint32_t n, n_spans = 0;
    const uint32_t *traces = lull_session_host_traces(model->session, host, &n);
    *spans = NULL;
    if (n < 2) {
        return 0;
    }
    GHashTable *with_switches = g_hash_table_new(NULL, NULL);
    lull_session_each_host_class(model->session, host, note_switches, with_switches);
    *spans = g_new(struct span, n);
    for (uint32_t i = 0; i < n; i++) {
        const struct span *span = &of_traces[traces[i]];
        if (span->start_ns <= span->end_ns &&
            g_hash_table_contains(with_switches, GUINT_TO_POINTER(traces[i]))) {
            (*spans)[n_spans++] = *span;
        }
    }
    g_hash_table_unref(with_switches);
    qsort(*spans, n_spans, sizeof **spans, by_start);
    for (uint32_t i = 1; i < n_spans; i++) {
        (*spans)[i].end_ns = MAX((*spans)[i].end_ns, (*spans)[i - 1].end_ns);
    }
    return n_spans;
}

static bool is_after_gap(const struct span *spans, uint32_t i)
{
    return i > 0 && spans[i - 1].end_ns < spans[i].start_ns;
}

/* Packets may start long before their first event, and end long after their last: what is known ends and starts with events. */
static void add_gaps(struct losses *losses, uint32_t host, const struct span *spans, uint32_t n,
                     const struct lull_trace_events *events)
{
    struct lull_lost_fact gap = {.start_ns = INT64_MAX, .host = host, .cpu = -1};
    int64_t last_ns = INT64_MIN;
    for (uint32_t i = 0; i < n; i++) {
        const struct lull_trace_events of = events[spans[i].trace];
        if (is_after_gap(spans, i)) {
            gap.start_ns = MIN(gap.start_ns, last_ns);
        }
        if (of.first_ns > of.last_ns) {
            continue;
        }
        if (gap.start_ns != INT64_MAX && gap.start_ns != INT64_MIN) {
            gap.end_ns = of.first_ns;
            lull_vec_push(
                &losses->open,
                ((struct lost){.fact = gap, .stream = LULL_NONE, .report_ns = gap.start_ns}));
            losses->longest_ns = MAX(losses->longest_ns, gap.end_ns - gap.start_ns);
            while (losses->stopped_ns.count <= host) {
                lull_vec_push(&losses->stopped_ns, INT64_MAX);
            }
            int64_t *stopped_ns = &losses->stopped_ns.items[host];
            *stopped_ns = MIN(*stopped_ns, gap.start_ns);
        }
        gap.start_ns = INT64_MAX;
        last_ns = MAX(last_ns, of.last_ns);
    }
}

/* Nothing is looked for in traces, unless it is needed. */
static void find_gaps(const struct lull_model *model, struct losses *losses)
{
    struct lull_session *session = model->session;
    const uint32_t n_hosts = lull_session_host_count(session),
                   n_traces = lull_session_trace_count(session);
    if (n_traces == n_hosts) {
        return; /* each has one */
    }
    g_autofree struct span *of_traces = spans_of_traces(model);
    g_autofree bool *wanted = g_new0(bool, n_traces);
    g_autofree struct span **by_host = g_new0(struct span *, n_hosts);
    g_autofree uint32_t *n_of_host = g_new0(uint32_t, n_hosts);
    bool has_gap = false;
    for (uint32_t host = 0; host < n_hosts; host++) {
        struct span *spans;
        const uint32_t n = spans_of_host(model, host, of_traces, &spans);
        uint32_t i = 0;
        while (i < n && !is_after_gap(spans, i)) {
            i++;
        }
        if (i == n) {
            g_free(spans);
            continue;
        }
        has_gap = true;
        by_host[host] = spans;
        n_of_host[host] = n;
        for (i = 0; i < n; i++) {
            wanted[spans[i].trace] = true;
        }
    }
    if (!has_gap) {
        return;
    }
    g_autofree struct lull_trace_events *events = g_new(struct lull_trace_events, n_traces);
    lull_session_trace_events(session, wanted, events);
    for (uint32_t host = 0; host < n_hosts; host++) {
        add_gaps(losses, host, by_host[host], n_of_host[host], events);
        g_free(by_host[host]);
    }
}

void lost_find(struct lull_model *model)
{
    struct losses *losses = model->losses;
    uint32_t n = lull_session_loss_count(model->session);
    bool is_first = losses->n_found == 0;
    if (!losses->has_gaps) {
        losses->has_gaps = true;
        find_gaps(model, losses);
    }
    for (; losses->n_found < n; losses->n_found++) {
        struct lull_loss loss = lull_session_found_loss(model->session, losses->n_found);
        if (model->is_user[loss.trace] && !model->wanted.function) {
            continue;
        }
        const struct lost lost = lost_of(model, &loss);
        losses->longest_ns = MAX(losses->longest_ns, loss.end_ns - loss.start_ns);
        if (is_first) {
            lull_vec_push(&losses->open, lost);
        } else {
            keep(losses, lost);
        }
    }
    if (is_first && losses->open.count > 1) {
        qsort(losses->open.items, losses->open.count, sizeof *losses->open.items, compare);
    }
    model->loss_ns = next_time(losses);
}

static void lose_cpu(struct lull_model *model, struct machine *machine, int32_t c,
                     const struct lost *lost, int64_t start_ns, int64_t since_ns)
{
    struct cpu *cpu = model_cpu_at(machine, c);
    if (!is_of_switches(machine, c, lost->stream)) {
        return;
    }
    irq_reset(cpu);
    for (uint32_t i = 0; i < LULL_SOFTIRQS; i++) {
        cpu->raised_ns[i] = INT64_MIN;
    }
    cpu->lost_stream = lost->stream;
    cpu->unsure_ns = lost->fact.end_ns;
    sched_lost(model, machine, c, start_ns, since_ns);
}

/* True if it is over and done with. */
static bool report(struct lull_model *model, struct lost *lost)
{
    const struct lull_lost_fact *fact = &lost->fact;
    struct machine *machine = model_machine(model, fact->host);
    bool is_end = fact->events || lost->report_ns == fact->end_ns;
    bool is_gap = lost->stream == LULL_NONE, is_first = !lost->is_reported;
    int64_t last_ns = fact->start_ns; /* before the hole */
    if (lost->is_user) {
        functions_lost(model, fact);
        return true;
    }
    if (is_gap && is_first) {
        if (machine->last_ns == INT64_MIN) {
            return true; /* nothing is known yet */
        }
        machine->last_ns =
            MAX(machine->last_ns, fact->start_ns); /* the last event, requested or not */
    }
    if (is_first) {
        REPORT(model, lost, fact);
    }
    if (fact->cpu >= 0 && fact->cpu < LULL_MAX_CPUS && machine->first_ns != INT64_MAX) {
        model_cpu(model, machine, fact->cpu); /* its first event is not where it starts */
    }
    uint32_t c = (uint32_t)MAX(fact->cpu, 0);
    for (;
         lull_slots_next(&machine->cpu_numbers, &c) && (fact->cpu < 0 || c == (uint32_t)fact->cpu);
         c++) {
        const struct cpu *cpu = model_cpu_at(machine, (int32_t)c);
        if (is_first && fact->events == 0) {
            lose_cpu(model, machine, (int32_t)c, lost, fact->start_ns, fact->end_ns);
        } else if (fact->events || (cpu->last_ns > fact->start_ns && cpu->last_ns < fact->end_ns)) {
            last_ns = MAX(last_ns, cpu->last_ns);
            lose_cpu(model, machine, (int32_t)c, lost, cpu->last_ns,
                     is_gap ? fact->end_ns : INT64_MAX);
        }
    }
    if (is_gap && is_first) {
        sched_stop(model, machine, fact->start_ns);
    }
    if (is_first) {
        add_hole(machine, fact->cpu, lost->stream, MIN(last_ns, fact->end_ns), fact->end_ns);
    }
    lost->is_reported = true;
    lost->report_ns = fact->end_ns;
    return is_end;
}

void lost_report(struct lull_model *model)
{
    struct losses *losses = model->losses;
    if (losses->open.count) {
        struct lost lost = lull_vec_pop(&losses->open);
        if (!report(model, &lost)) {
            keep(losses, lost);
        }
    }
    model->loss_ns = next_time(losses);
}

/* Looks at all streams once, not for each CPU. */
static void find_recorded(const struct lull_model *model)
{
    struct losses *losses = model->losses;
    uint32_t n = lull_session_stream_count(model->session);
    losses->knows_recorded = true;
    for (uint32_t i = 0; i < n; i++) {
        struct lull_stream_info stream = lull_session_stream(model->session, i);
        if (stream.start_ns == INT64_MAX || model->is_user[stream.trace]) {
            continue;
        }
        while (losses->hosts_since_ns.count <= stream.host) {
            lull_vec_push(&losses->hosts_since_ns, INT64_MAX);
        }
        int64_t *host_ns = &losses->hosts_since_ns.items[stream.host];
        *host_ns = MIN(*host_ns, stream.start_ns);
        uint64_t key = (uint64_t)stream.host << 32 | (uint32_t)stream.cpu;
        uint32_t at = lull_map_find(&losses->by_cpu, key);
        if (at == LULL_MAP_NONE) {
            lull_map_insert(&losses->by_cpu, key, (uint32_t)losses->cpus_since_ns.count);
            lull_vec_push(&losses->cpus_since_ns, stream.start_ns);
        } else {
            /* Streams that came after the recording had stopped say nothing of before. */
            const int64_t stopped_ns = stream.host < losses->stopped_ns.count
                                           ? losses->stopped_ns.items[stream.host]
                                           : INT64_MAX;
            int64_t *since_ns = &losses->cpus_since_ns.items[at];
            *since_ns = (*since_ns > stopped_ns) == (stream.start_ns > stopped_ns)
                            ? MAX(*since_ns, stream.start_ns)
                            : MIN(*since_ns, stream.start_ns);
        }
    }
}

void lost_find_recorded(const struct lull_model *model, struct machine *machine, int32_t c)
{
    struct cpu *cpu = model_cpu_at(machine, c);
    struct losses *losses = model->losses;
    if (model->session && !losses->knows_recorded) {
        find_recorded(model);
    }
    uint32_t at = lull_map_find(&losses->by_cpu, (uint64_t)machine->host << 32 | (uint32_t)c);
    cpu->since_ns = at != LULL_MAP_NONE ? losses->cpus_since_ns.items[at] : INT64_MIN;
    if (machine->host < losses->hosts_since_ns.count) {
        machine->first_ns = MIN(machine->first_ns, losses->hosts_since_ns.items[machine->host]);
    }
    cpu->reported_ns = machine->first_ns;
    cpu->since_ns = MAX(cpu->since_ns, cpu->reported_ns);
}
