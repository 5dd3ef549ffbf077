/* SPDX-License-Identifier: MIT */
/* What was lost: after a loss nothing is known of a CPU until the next event shows who is on it,
 * and nothing before the first event of its trace: LTTng opens the first packets when the buffers are
 * made, which may be long before it records.
 *
 * Where whole packets are missing, their start and end bound the loss. Events that the tracer
 * discarded are counted in the packet after whose last event they should have come (CTF 1.8.3,
 * section 5.2), so they are missing between the last event of that packet and the next event of the
 * stream, whose time LTTng's packets then end with; likewise what a damaged packet no longer shows.
 *
 * Between the traces of a host (sessions that were recorded one after the other), and while a session was stopped, nothing was
 * recorded.
 *
 * What is missing may be that any task was woken, ran, and blocked again. */
#include "kernel/machine.h"

#include <stdlib.h>

#include "kernel/vocabulary.h"
#include "source/session/missing.h"
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
    bool has_gaps;       /* between traces: they have been taken in; first_ns is made */
    bool knows_recorded; /* the following are made */
    int64_t *first_ns;   /* by trace, its first event; INT64_MAX: not known */
    /* Host, CPU → index of since when its last stream records, of the first session. */
    struct lull_map by_cpu;
    LULL_VEC(int64_t) cpus_since_ns;  /* by that */
    LULL_VEC(int64_t) hosts_since_ns; /* by host, since when its first stream records */
    /* By host, when its recording stopped first; those behind: never. */
    LULL_VEC(int64_t) stopped_ns;
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
    g_free(losses->first_ns);
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
    return (struct lost){
        .fact = {.start_ns = loss->start_ns,
                 .end_ns = loss->end_ns,
                 .host = loss->host,
                 .cpu = stream.cpu,
                 .events = loss->events,
                 .packets = loss->packets},
        .stream = loss->stream,
        .report_ns = lull_loss_cut(model->session, loss),
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
    if (stream == LULL_NONE || !lull_is_cpu(c) ||
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

/* ---- between traces, and while one was stopped ---- */

/* Who was on a CPU is not known while no trace with switches was recorded. */
static void find_gaps(const struct lull_model *model, struct losses *losses)
{
    const uint32_t n_traces = lull_session_trace_count(model->session);
    struct lull_gaps gaps;
    g_autofree bool *has_switches = g_new(bool, n_traces);
    for (uint32_t i = 0; i < n_traces; i++) {
        has_switches[i] = !model->is_user[i] &&
                          lull_session_trace_declares(
                              model->session, i, lull_vocabulary_names(LULL_EVENT_sched_switch));
    }
    lull_session_find_gaps(model->session, has_switches, &gaps);
    for (size_t i = gaps.all.count; i-- > 0;) {
        const struct lull_gap *gap = &gaps.all.items[i];
        lull_vec_push(&losses->open, ((struct lost){.fact = {.start_ns = gap->start_ns,
                                                             .end_ns = gap->end_ns,
                                                             .host = gap->host,
                                                             .cpu = -1},
                                                    .stream = LULL_NONE,
                                                    .report_ns = gap->start_ns}));
        losses->longest_ns = MAX(losses->longest_ns, gap->end_ns - gap->start_ns);
        while (losses->stopped_ns.count <= gap->host) {
            lull_vec_push(&losses->stopped_ns, INT64_MAX);
        }
        losses->stopped_ns.items[gap->host] = gap->start_ns; /* the first comes last */
    }
    lull_vec_free(&gaps.all);
}

void lost_find(struct lull_model *model)
{
    struct losses *losses = model->losses;
    uint32_t n = lull_session_loss_count(model->session);
    bool is_first = losses->n_found == 0;
    if (!losses->has_gaps) {
        losses->has_gaps = true;
        losses->first_ns = g_new(int64_t, MAX(lull_session_trace_count(model->session), 1));
        lull_session_first_events_by_trace(model->session, losses->first_ns);
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
        /* The last event, requested or not. */
        machine->last_ns = MAX(machine->last_ns, fact->start_ns);
    }
    if (is_first) {
        REPORT(model, lost, fact);
    }
    if (lull_is_cpu(fact->cpu) && machine->first_ns != INT64_MAX) {
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

static int64_t recorded_since(const struct losses *losses, const struct lull_stream_info *stream)
{
    const int64_t first_ns = losses->first_ns ? losses->first_ns[stream->trace] : INT64_MAX;
    return first_ns == INT64_MAX ? stream->start_ns : MAX(first_ns, stream->start_ns);
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
        const int64_t since_ns = recorded_since(losses, &stream);
        *host_ns = MIN(*host_ns, since_ns);
        uint64_t key = (uint64_t)stream.host << 32 | (uint32_t)stream.cpu;
        uint32_t at = lull_map_find(&losses->by_cpu, key);
        if (at == LULL_MAP_NONE) {
            lull_map_insert(&losses->by_cpu, key, (uint32_t)losses->cpus_since_ns.count);
            lull_vec_push(&losses->cpus_since_ns, since_ns);
        } else {
            /* Streams that came after the recording had stopped say nothing of before. */
            const int64_t stopped_ns = stream.host < losses->stopped_ns.count
                                           ? losses->stopped_ns.items[stream.host]
                                           : INT64_MAX;
            int64_t *cpu_ns = &losses->cpus_since_ns.items[at];
            *cpu_ns = (*cpu_ns > stopped_ns) == (since_ns > stopped_ns) ? MAX(*cpu_ns, since_ns)
                                                                        : MIN(*cpu_ns, since_ns);
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
