/* SPDX-License-Identifier: MIT */
/* From the hops of a critical path to segments that name host, task, state, cause and evidence. */
#include "graph/critpath.h"
#include "base/search.h"
#include "graph/execgraph_private.h"
#include "graph/lineage.h"

#include <string.h>

struct telling {
    const struct lull_execgraph *eg;
    struct lull_path *path;
    LULL_VEC(struct lull_segment) segments;
    struct path_texts texts;
    const struct lull_session *session;
    LULL_VEC(struct lull_path_run) runs;
    struct lull_map outside;         /* task → enum lull_mode of what it runs in no call */
    LULL_VEC(const char *) in_calls; /* "in write", by label */
};

struct run_part {
    enum lull_mode mode;
    uint32_t name, count; /* of stretches */
    int64_t ns, longest_ns;
};

/* What runs within one segment. */
struct run {
    struct telling *telling;
    struct run_part parts[16]; /* what comes later is put down at once */
    uint32_t n_parts;
};

static bool same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

/* First interrupt that ends after time_ns. */
static size_t interrupt_after(const struct cpu_notes *notes, int64_t time_ns)
{
    return LULL_LOWER_BOUND(i, notes->interrupts.count,
                            notes->interrupts.items[i].end_ns <= time_ns);
}

/* A task on a CPU runs except while an interrupt handler runs there. */
static void each_running(const struct lull_execgraph *eg, const struct lull_hop *hop,
                         take_path_piece *take, void *user)
{
    const struct lull_task *task = lull_model_task(eg->model, hop->line);
    int64_t t = hop->start_ns;
    if (task->tid >= 0 && hop->cpu >= 0 && task->host < eg->hosts.count &&
        (size_t)hop->cpu < eg->hosts.items[task->host].cpus.count) {
        const struct cpu_notes *notes = &eg->hosts.items[task->host].cpus.items[hop->cpu];
        for (size_t i = interrupt_after(notes, t); i < notes->interrupts.count; i++) {
            const struct interrupt_note *note = &notes->interrupts.items[i];
            if (note->start_ns >= hop->end_ns) {
                break;
            }
            const int64_t start_ns = MAX(note->start_ns, t);
            const int64_t end_ns = MIN(note->end_ns, hop->end_ns);
            if (t < start_ns) {
                take(user, &(struct path_piece){hop, t, start_ns, LULL_STATE_RUNNING, LULL_NONE,
                                                LULL_CAUSE_NONE});
            }
            if (start_ns < end_ns) {
                take(user, &(struct path_piece){hop, start_ns, end_ns, LULL_STATE_INTERRUPTED,
                                                note->label, LULL_CAUSE_NONE});
            }
            t = end_ns;
        }
    }
    if (t < hop->end_ns) {
        take(user, &(struct path_piece){hop, t, hop->end_ns, LULL_STATE_RUNNING, LULL_NONE,
                                        LULL_CAUSE_NONE});
    }
}

/* A hop that is PREEMPTED, and what takes its pieces. */
struct preempted {
    const struct lull_execgraph *eg;
    const struct lull_hop *hop;
    int64_t since_ns, until_ns; /* the task was runnable */
    int64_t known_ns;           /* its CPU knew that; INT64_MAX: it is not known which */
    bool is_sure;               /* it was */
    take_path_piece *take;
    void *user;
};

/* From when until when the state of a hop has lasted, of which it may be a part. A task that has left the CPU itself is
 * in its queue. One that is woken, or moved, comes there some time later: who does that may be slow, or without its own CPU if
 * that is a virtual one, and the CPU hears of it by an interrupt, and may be about to become idle. Where moves are not
 * recorded, it may have waited for the CPU on which it runs in the end. */
static void find_state(struct preempted *whole)
{
    enum { HEARD_NS = 100000 };
    const struct lull_hop *hop = whole->hop;
    uint32_t n;
    const struct lull_graph_point *points = lull_graph_points(whole->eg->graph, hop->line, &n);
    const size_t after = LULL_LOWER_BOUND(i, n, points[i].time_ns <= hop->start_ns);
    whole->since_ns = after > 0 ? points[after - 1].time_ns : hop->start_ns;
    whole->until_ns = after < n ? points[after].time_ns : hop->end_ns;
    whole->is_sure = after > 0 && points[after - 1].state == LULL_STATE_RUNNING;
    whole->known_ns = whole->since_ns + (whole->is_sure ? 0 : HEARD_NS);
    if (after + 1 < n && points[after + 1].state == LULL_STATE_RUNNING &&
        points[after + 1].cpu != points[after].cpu) {
        whole->known_ns = INT64_MAX;
    }
}

static void take_preempted(const struct preempted *whole, int64_t start_ns, int64_t end_ns,
                           enum lull_cause cause, uint32_t quota)
{
    if (start_ns < end_ns) {
        whole->take(whole->user, &(struct path_piece){whole->hop, start_ns, end_ns,
                                                      LULL_STATE_PREEMPTED, quota, cause});
    }
}

/* Whether a CPU that is idle for long shows that a quota keeps the task off it: there may be one, and it is sure that the
 * task was in the CPU's queue, or something else says that a quota kept it off CPUs. */
static bool shows_quota(const struct preempted *whole, int64_t time_ns)
{
    const struct lull_execgraph *eg = whole->eg;
    const uint32_t task = whole->hop->line;
    return lull_quotas_may(eg, task, time_ns) &&
           (whole->is_sure || lull_quotas_of(eg, task, time_ns) != LULL_NONE ||
            lull_quotas_is_kept_off(eg, task));
}

/* A scheduler does not let a CPU become idle while a task waits for it. If it does so for long, a
 * quota (the CPU bandwidth of its cgroup, or of real-time tasks) keeps the task off the CPU. A CPU
 * that was idle before says nothing: it has to wake up. Nor does one that the task itself left to wait, and was
 * woken meanwhile. */
static void take_idle(const struct preempted *whole, int64_t t, int64_t last_ns)
{
    enum { LONG_NS = 1000000 };
    const struct lull_hop *hop = whole->hop;
    const struct lull_execgraph *eg = whole->eg;
    const uint32_t host = lull_model_task(eg->model, hop->line)->host;
    if (hop->cpu >= 0 && host < eg->hosts.count &&
        (size_t)hop->cpu < eg->hosts.items[host].cpus.count) {
        const struct cpu_notes *notes = &eg->hosts.items[host].cpus.items[hop->cpu];
        size_t i = LULL_LOWER_BOUND(k, notes->switches.count,
                                    notes->switches.items[k].time_ns < whole->known_ns);
        for (; i < notes->switches.count && notes->switches.items[i].time_ns < last_ns; i++) {
            const struct switch_note *note = &notes->switches.items[i];
            const int64_t end_ns =
                i + 1 < notes->switches.count ? MIN(note[1].time_ns, last_ns) : last_ns;
            const bool is_left = note->time_ns == whole->since_ns && !note->previous_is_runnable;
            const int64_t idle_ns = MAX(note->time_ns, t);
            if (note->task != LULL_NONE || note->is_unknown || is_left ||
                end_ns - note->time_ns < LONG_NS || end_ns <= t || !shows_quota(whole, idle_ns)) {
                continue;
            }
            take_preempted(whole, t, idle_ns, LULL_CAUSE_NONE, LULL_NONE);
            take_preempted(whole, idle_ns, end_ns, LULL_CAUSE_THROTTLED,
                           lull_quotas_of(eg, hop->line, idle_ns));
            t = end_ns;
        }
    }
    take_preempted(whole, t, last_ns, LULL_CAUSE_NONE, LULL_NONE);
}

/* What its quota explains, then what idle CPUs do of the rest. */
static void each_preempted(const struct lull_execgraph *eg, const struct lull_hop *hop,
                           take_path_piece *take, void *user)
{
    struct preempted whole = {.eg = eg, .hop = hop, .take = take, .user = user};
    struct throttling found;
    int64_t t = hop->start_ns;
    find_state(&whole);
    while (lull_quotas_next(eg, hop->line, hop->cpu, whole.since_ns, whole.until_ns, t, &found) &&
           found.start_ns < hop->end_ns) {
        const int64_t start_ns = MAX(found.start_ns, t);
        const int64_t end_ns = MIN(found.end_ns, hop->end_ns);
        take_idle(&whole, t, start_ns);
        take_preempted(&whole, start_ns, end_ns, LULL_CAUSE_THROTTLED, found.quota);
        t = end_ns;
    }
    take_idle(&whole, t, hop->end_ns);
}

void lull_path_each_piece(const struct lull_execgraph *eg, const struct lull_hop *hop,
                          take_path_piece *take, void *user)
{
    if (hop->state == LULL_STATE_RUNNING) {
        each_running(eg, hop, take, user);
    } else if (hop->state == LULL_STATE_PREEMPTED) {
        each_preempted(eg, hop, take, user);
    } else {
        take(user, &(struct path_piece){hop, hop->start_ns, hop->end_ns, LULL_STATE_BLOCKED,
                                        LULL_NONE, hop->cause});
    }
}

static const char *text_of_call(struct telling *telling, uint32_t name)
{
    while (telling->in_calls.count <= name) {
        lull_vec_push(&telling->in_calls, NULL);
    }
    if (!telling->in_calls.items[name]) {
        GString *text = telling->texts.text;
        g_string_printf(text, "in %s", lull_model_label(telling->eg->model, name));
        telling->in_calls.items[name] =
            g_string_chunk_insert_const(telling->path->strings, text->str);
    }
    return telling->in_calls.items[name];
}

static enum lull_mode outside_of(struct telling *telling, uint32_t task)
{
    uint32_t mode = lull_map_find(&telling->outside, task);
    if (mode == LULL_MAP_NONE) {
        mode = lull_modes_outside(telling->eg, telling->session, task);
        lull_map_insert(&telling->outside, task, mode);
    }
    return (enum lull_mode)mode;
}

static const char *mode_text(struct telling *telling, enum lull_mode mode, uint32_t name)
{
    switch (mode) {
    case LULL_MODE_USER:
        return "in user mode";
    case LULL_MODE_KERNEL:
        return "in the kernel";
    case LULL_MODE_RECLAIM:
        return "in memory reclaim";
    case LULL_MODE_COMPACTION:
        return "in memory compaction";
    case LULL_MODE_DUMP:
        return "in its core dump";
    case LULL_MODE_CALL:
        return text_of_call(telling, name);
    default:
        return NULL;
    }
}

static void add_run_part(const struct run *run, const struct run_part *part)
{
    struct telling *telling = run->telling;
    lull_vec_push(&telling->runs,
                  (struct lull_path_run){.segment = (uint32_t)telling->segments.count,
                                         .mode = part->mode,
                                         .detail = mode_text(telling, part->mode, part->name),
                                         .count = part->count,
                                         .ns = part->ns,
                                         .longest_ns = part->longest_ns});
}

static void take_stretch(void *user, enum lull_mode mode, uint32_t name, int64_t ns)
{
    struct run *run = user;
    uint32_t i = 0;
    while (i < run->n_parts && (run->parts[i].mode != mode || run->parts[i].name != name)) {
        i++;
    }
    if (i == G_N_ELEMENTS(run->parts)) {
        add_run_part(run, &(struct run_part){mode, name, 1, ns, ns});
        return;
    }
    struct run_part *part = &run->parts[i];
    if (i == run->n_parts) {
        *part = (struct run_part){.mode = mode, .name = name};
        run->n_parts++;
    }
    part->count++;
    part->ns += ns;
    part->longest_ns = MAX(part->longest_ns, ns);
}

/* What a piece that is RUNNING runs: for the sums, and most of it for the segment. */
static void add_run(struct telling *telling, const struct path_piece *piece,
                    struct lull_segment *segment)
{
    struct run run = {.telling = telling};
    lull_modes_each(telling->eg, piece, outside_of(telling, piece->hop->line), take_stretch, &run);
    for (uint32_t i = 0; i < run.n_parts; i++) {
        add_run_part(&run, &run.parts[i]);
        if (run.parts[i].ns > segment->mostly_ns) {
            segment->mostly = mode_text(telling, run.parts[i].mode, run.parts[i].name);
            segment->mostly_ns = run.parts[i].ns;
        }
    }
}

static void add_preemptor(struct telling *telling, const char *detail, int64_t ns)
{
    lull_vec_push(&telling->runs,
                  (struct lull_path_run){.segment = (uint32_t)telling->segments.count,
                                         .detail = detail,
                                         .count = 1,
                                         .ns = ns,
                                         .longest_ns = ns});
}

/* Each that had the CPU is a cause of its own. */
static void add_preemption(struct telling *telling, const struct path_piece *piece,
                           struct lull_segment *segment)
{
    g_autoptr(GArray) shares =
        lull_evidence_preempted(telling->eg, piece, &telling->texts, segment);
    int64_t left_ns = piece->end_ns - piece->start_ns;
    for (guint i = 0; shares && i < shares->len && left_ns > 0; i++) {
        const struct cpu_share *share = &g_array_index(shares, struct cpu_share, i);
        const int64_t ns = MIN(share->ns, left_ns);
        add_preemptor(
            telling,
            lull_evidence_kept_preemptor(telling->eg, share, piece->end_ns, &telling->texts), ns);
        left_ns -= ns;
    }
    if (left_ns > 0) {
        add_preemptor(telling, segment->cause == LULL_CAUSE_NONE ? NULL : segment->subject,
                      left_ns);
    }
}

/* The evidence, in parts and in one line. */
static void add_evidence(struct telling *telling, const struct path_piece *piece,
                         struct lull_segment *segment)
{
    const struct lull_execgraph *eg = telling->eg;
    switch (piece->state) {
    case LULL_STATE_RUNNING:
        if (piece->hop->same != LULL_NONE && piece->start_ns == piece->hop->start_ns) {
            lull_evidence_executed(eg, piece, &telling->texts, segment);
        }
        return;
    case LULL_STATE_INTERRUPTED:
        segment->detail = segment->object = lull_model_label(eg->model, piece->label);
        return;
    case LULL_STATE_PREEMPTED:
        add_preemption(telling, piece, segment);
        return;
    default:
        lull_evidence_wait(eg, piece->hop, telling->path->strings, segment);
        segment->frames =
            lull_model_frames(eg->model, lull_evidence_chain(eg, piece->hop), &segment->n_frames);
    }
}

/* What is the same each time, for sums, after the evidence. */
static void add_subject(struct telling *telling, const struct path_piece *piece,
                        struct lull_segment *segment)
{
    GString *text = g_string_truncate(telling->texts.text, 0);
    if (piece->state == LULL_STATE_PREEMPTED || piece->state == LULL_STATE_RUNNING) {
        return; /* its evidence has said so, or there is none */
    }
    lull_evidence_subject(telling->eg, piece, text);
    if (text->len) {
        segment->subject = g_string_chunk_insert_const(telling->path->strings, text->str);
    }
}

const struct path_name *lull_path_name(struct path_texts *texts, const struct lull_model *model,
                                       uint32_t task, int64_t time_ns)
{
    const char *known = lull_model_comm(model, task, time_ns);
    const uintptr_t address = (uintptr_t)known;
    struct path_name *name = &texts->names[(address ^ address >> 8) % PATH_NAMES];
    if (name->known != known) {
        GString *text = g_string_assign(texts->text, "by ");
        const gsize start = text->len;
        lull_evidence_append_kind(text, known);
        *name = (struct path_name){
            .known = known,
            .comm = g_string_chunk_insert_const(texts->strings, known),
            .program = g_string_chunk_insert_const(texts->strings, text->str + start),
            .preemptor = g_string_chunk_insert_const(texts->strings, text->str),
        };
    }
    return name;
}

/* Appends a segment; one that only continues the one before makes that one longer. */
static void report(void *user, const struct path_piece *piece)
{
    struct telling *telling = user;
    const struct lull_hop *hop = piece->hop;
    const struct lull_model *model = telling->eg->model;
    const struct lull_task *task = lull_model_task(model, hop->line);
    const struct path_name *name = lull_path_name(&telling->texts, model, hop->line, piece->end_ns);
    struct lull_segment segment = {
        .host = task->host,
        .task = hop->line,
        .tid = task->tid,
        .pid = task->pid,
        .comm = name->comm,
        .program = name->program,
        .start_ns = piece->start_ns,
        .end_ns = piece->end_ns,
        .state = piece->state,
        .cause = piece->cause,
        .cpu = hop->cpu,
        .other_task = LULL_NONE,
        .other_tid = -1,
        .queue_ns = -1,
        .device_ns = -1,
        .reason.fd = -1,
        .wait = hop->wait,
    };
    add_evidence(telling, piece, &segment);
    add_subject(telling, piece, &segment);
    if (piece->state == LULL_STATE_RUNNING) {
        add_run(telling, piece, &segment);
    }
    if (telling->segments.count) {
        struct lull_segment *last = &telling->segments.items[telling->segments.count - 1];
        if (last->task == segment.task && last->state == segment.state &&
            last->cause == segment.cause && last->cpu == segment.cpu &&
            last->frames == segment.frames && last->wait == segment.wait &&
            same_text(last->detail, segment.detail)) {
            last->end_ns = segment.end_ns;
            last->comm = segment.comm;
            for (size_t i = telling->runs.count;
                 i > 0 && telling->runs.items[i - 1].segment == telling->segments.count; i--) {
                telling->runs.items[i - 1].segment--;
            }
            if (last->mostly == segment.mostly) {
                last->mostly_ns += segment.mostly_ns;
            } else if (last->mostly_ns < segment.mostly_ns) {
                last->mostly = segment.mostly;
                last->mostly_ns = segment.mostly_ns;
            }
            return;
        }
    }
    lull_vec_push(&telling->segments, segment);
}

static void add_shared(struct lull_path *path, struct lull_wait *wait)
{
    g_autofree char *detail =
        g_strconcat(wait->detail ? wait->detail : "", wait->detail ? ", " : "",
                    "and does other things meanwhile", NULL);
    wait->is_shared = true;
    wait->detail = g_string_chunk_insert_const(path->strings, detail);
}

/* The waits that the path goes into. Each ends where the last step within it does. */
static void report_waits(struct lull_path *path, const struct lull_execgraph *eg,
                         const GArray *waits)
{
    path->waits = g_new0(struct lull_wait, waits->len);
    path->n_waits = waits->len;
    for (uint32_t i = 0; i < path->n_segments; i++) {
        if (path->segments[i].wait != LULL_NONE) {
            path->waits[path->segments[i].wait].end_ns = path->segments[i].end_ns;
        }
    }
    for (guint i = waits->len; i-- > 0;) {
        const struct lull_path_wait *known = &g_array_index(waits, struct lull_path_wait, i);
        const struct lull_task *task = lull_model_task(eg->model, known->line);
        struct lull_wait *wait = &path->waits[i];
        wait->within = known->within;
        wait->host = task->host;
        wait->task = known->line;
        wait->tid = task->tid;
        wait->start_ns = known->start_ns;
        wait->end_ns = MAX(wait->end_ns, known->start_ns);
        wait->comm = g_string_chunk_insert_const(
            path->strings, lull_model_comm(eg->model, known->line, wait->end_ns));
        lull_evidence_entered(eg, known->detail, path->strings, wait);
        if (known->is_shared) {
            add_shared(path, wait);
        }
        if (known->within != LULL_NONE) {
            int64_t *end_ns = &path->waits[known->within].end_ns;
            *end_ns = MAX(*end_ns, wait->end_ns);
        }
    }
}

/* What was lost on the hosts the path touches while it lasted. */
static void count_losses(struct lull_path *path, const struct lull_session *session)
{
    for (uint32_t i = 0; i < lull_session_loss_count(session); i++) {
        const struct lull_loss *loss = lull_session_loss(session, i);
        bool is_touched = false;
        for (uint32_t k = 0; k < path->n_by_host; k++) {
            is_touched |= path->by_host[k].host == loss->host;
        }
        if (is_touched && loss->start_ns <= path->end_ns && loss->end_ns >= path->start_ns) {
            path->lost_events += loss->events;
            path->lost_packets += loss->packets;
        }
    }
}

/* For how long nothing was recorded on one of them, the most of any. */
static void count_gaps(const struct lull_execgraph *eg, struct lull_path *path)
{
    g_autofree int64_t *missing_ns = eg->gaps.count ? g_new0(int64_t, path->n_by_host) : NULL;
    for (size_t i = 0; i < eg->gaps.count; i++) {
        const struct lull_lost_fact *gap = &eg->gaps.items[i];
        const int64_t part_ns = MIN(gap->end_ns, path->end_ns) - MAX(gap->start_ns, path->start_ns);
        for (uint32_t k = 0; part_ns > 0 && k < path->n_by_host; k++) {
            if (path->by_host[k].host == gap->host) {
                missing_ns[k] += part_ns;
                path->unrecorded_ns = MAX(path->unrecorded_ns, missing_ns[k]);
            }
        }
    }
}

static void find_hidden(struct lull_path *path, const struct lull_model *model)
{
    for (uint32_t i = 0; i < path->n_by_host; i++) {
        path->hides_idle |= lull_model_hides_idle(model, path->by_host[i].host);
    }
}

static void take_hosts(struct lull_path *path, const struct lull_session *session,
                       const struct lull_sync *sync)
{
    path->n_hosts = lull_session_host_count(session);
    const char **names = g_new0(const char *, path->n_hosts + 1);
    path->sync = g_new0(struct lull_host_clock, path->n_hosts);
    for (uint32_t i = 0; i < path->n_hosts; i++) {
        names[i] = g_string_chunk_insert_const(path->strings, lull_session_host(session, i)->name);
        path->sync[i] =
            sync ? lull_sync_hosts(sync)[i] : (struct lull_host_clock){.host = i, .bound_ns = -1};
    }
    path->host_names = names;
}

/* Where the graph does not reach as far as the hop: nothing was read of its line before or after
 * it, or not how its wait ended. */
static unsigned cut_of(const struct lull_execgraph *eg, const struct lull_hop *hop)
{
    uint32_t n;
    const struct lull_graph_point *points = lull_graph_points(eg->graph, hop->line, &n);
    if (hop->detail != LULL_NONE) {
        const bool is_open =
            hop->state == LULL_STATE_BLOCKED && eg->evidence.items[hop->detail].is_open;
        return is_open ? LULL_CUT_AFTER : 0;
    }
    return n == 0 ? LULL_CUT_BEFORE | LULL_CUT_AFTER
                  : (hop->end_ns <= points[0].time_ns ? LULL_CUT_BEFORE : 0) |
                        (hop->start_ns >= points[n - 1].time_ns ? LULL_CUT_AFTER : 0);
}

static const char *kept_lineage(struct lull_path *path, const struct lull_model *model,
                                uint32_t task)
{
    g_autofree char *ancestors = lull_lineage_of(model, task);
    return ancestors ? g_string_chunk_insert_const(path->strings, ancestors) : NULL;
}

static const char *kept_command(struct lull_path *path, const struct lull_model *model,
                                uint32_t task)
{
    const char *command = lull_model_command(model, task);
    return command ? g_string_chunk_insert_const(path->strings, command) : NULL;
}

struct lull_path *lull_execgraph_path(const struct lull_execgraph *eg,
                                      const struct lull_session *session,
                                      const struct lull_sync *sync, uint32_t task, int64_t start_ns,
                                      int64_t end_ns, enum lull_path_kind kind)
{
    struct lull_path *path = g_new0(struct lull_path, 1);
    path->strings = g_string_chunk_new(4096);
    path->task = task;
    path->host = lull_model_task(eg->model, task)->host;
    path->tid = lull_model_task(eg->model, task)->tid;
    path->comm =
        g_string_chunk_insert_const(path->strings, lull_model_comm(eg->model, task, end_ns));
    path->start_ns = start_ns;
    path->end_ns = end_ns;
    path->asked_start_ns = start_ns;
    path->asked_end_ns = end_ns;
    path->started_by = kept_lineage(path, eg->model, task);
    path->command = lull_lineage_command(eg->model, session, task);
    path->command_line = kept_command(path, eg->model, task);
    take_hosts(path, session, sync);

    g_autoptr(GString) text = g_string_new(NULL);
    struct telling telling = {.eg = eg,
                              .path = path,
                              .texts = {.strings = path->strings, .text = text},
                              .session = session};
    g_autoptr(GArray) waits = g_array_new(FALSE, FALSE, sizeof(struct lull_path_wait));
    g_autoptr(GArray) hops =
        lull_critpath_find_waits(eg->graph, task, start_ns, end_ns, kind, waits);
    uint32_t last = LULL_NONE; /* evidence */
    for (guint i = 0; i < hops->len; i++) {
        const struct lull_hop *hop = &g_array_index(hops, struct lull_hop, i);
        path->cut |= cut_of(eg, hop);
        last = hop->detail;
        lull_path_each_piece(eg, hop, report, &telling);
    }
    lull_vec_trim(&telling.segments);
    lull_vec_trim(&telling.runs);
    path->segments = telling.segments.items;
    path->n_segments = telling.segments.count;
    path->runs = telling.runs.items;
    path->n_runs = telling.runs.count;
    lull_map_free(&telling.outside);
    lull_vec_free(&telling.in_calls);
    report_waits(path, eg, waits);
    lull_path_summarise(path);
    for (uint32_t i = 0; i < path->n_by_task; i++) {
        struct lull_task_share *share = &path->by_task[i];
        const char *container = lull_model_container(eg->model, share->task)->name;
        share->started_by = kept_lineage(path, eg->model, share->task);
        share->container = strcmp(container, "?") != 0 ? container : NULL;
        share->command_line = kept_command(path, eg->model, share->task);
    }
    lull_path_sum_containers(path);
    lull_quotas_list(eg, path);
    lull_stuck_list(eg, path, last);
    lull_path_list_kills(eg, path);
    lull_path_list_idle(eg, path);
    count_losses(path, session);
    count_gaps(eg, path);
    find_hidden(path, eg->model);
    return path;
}
