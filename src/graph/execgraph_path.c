/* SPDX-License-Identifier: MIT */
/* From the hops of a critical path to segments that name host, task, state, cause and evidence. */
#include "graph/critpath.h"
#include "base/search.h"
#include "graph/execgraph_private.h"

#include <string.h>

struct telling {
    const struct lull_execgraph *eg;
    struct lull_path *path;
    LULL_VEC(struct lull_segment) segments;
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
                take(user, &(struct path_piece){hop, t, start_ns, LULL_STATE_RUNNING, LULL_NONE});
            }
            if (start_ns < end_ns) {
                take(user, &(struct path_piece){hop, start_ns, end_ns, LULL_STATE_INTERRUPTED,
                                                note->label});
            }
            t = end_ns;
        }
    }
    if (t < hop->end_ns) {
        take(user, &(struct path_piece){hop, t, hop->end_ns, LULL_STATE_RUNNING, LULL_NONE});
    }
}

void lull_path_each_piece(const struct lull_execgraph *eg, const struct lull_hop *hop,
                          take_path_piece *take, void *user)
{
    if (hop->state == LULL_STATE_RUNNING) {
        each_running(eg, hop, take, user);
    } else {
        take(user, &(struct path_piece){hop, hop->start_ns, hop->end_ns,
                                        hop->state == LULL_STATE_PREEMPTED ? LULL_STATE_PREEMPTED
                                                                           : LULL_STATE_BLOCKED,
                                        LULL_NONE});
    }
}

/* The evidence, in parts and in one line. */
static void add_evidence(const struct telling *telling, const struct path_piece *piece,
                         struct lull_segment *segment)
{
    const struct lull_execgraph *eg = telling->eg;
    switch (piece->state) {
    case LULL_STATE_RUNNING:
        return;
    case LULL_STATE_INTERRUPTED:
        segment->detail = segment->object = lull_model_label(eg->model, piece->label);
        return;
    case LULL_STATE_PREEMPTED:
        lull_evidence_preempted(eg, piece->hop, telling->path->strings, segment);
        return;
    default:
        lull_evidence_wait(eg, piece->hop, telling->path->strings, segment);
        segment->frames =
            lull_model_frames(eg->model, lull_evidence_chain(eg, piece->hop), &segment->n_frames);
    }
}

/* Appends a segment; one that only continues the one before makes that one longer. */
static void report(void *user, const struct path_piece *piece)
{
    struct telling *telling = user;
    const struct lull_hop *hop = piece->hop;
    const struct lull_model *model = telling->eg->model;
    const struct lull_task *task = lull_model_task(model, hop->line);
    struct lull_segment segment = {
        .host = task->host,
        .task = hop->line,
        .tid = task->tid,
        .pid = task->pid,
        .comm = g_string_chunk_insert_const(telling->path->strings,
                                            lull_model_comm(model, hop->line, piece->end_ns)),
        .start_ns = piece->start_ns,
        .end_ns = piece->end_ns,
        .state = piece->state,
        .cause = piece->state == LULL_STATE_BLOCKED ? hop->cause : LULL_CAUSE_NONE,
        .cpu = hop->cpu,
        .other_task = LULL_NONE,
        .other_tid = -1,
        .queue_ns = -1,
        .device_ns = -1,
        .reason.fd = -1,
        .wait = hop->wait,
    };
    add_evidence(telling, piece, &segment);
    if (telling->segments.count) {
        struct lull_segment *last = &telling->segments.items[telling->segments.count - 1];
        if (last->task == segment.task && last->state == segment.state &&
            last->cause == segment.cause && last->cpu == segment.cpu &&
            last->frames == segment.frames && last->wait == segment.wait &&
            same_text(last->detail, segment.detail)) {
            last->end_ns = segment.end_ns;
            last->comm = segment.comm;
            return;
        }
    }
    lull_vec_push(&telling->segments, segment);
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
    take_hosts(path, session, sync);

    struct telling telling = {.eg = eg, .path = path};
    g_autoptr(GArray) waits = g_array_new(FALSE, FALSE, sizeof(struct lull_path_wait));
    g_autoptr(GArray) hops =
        lull_critpath_find_waits(eg->graph, task, start_ns, end_ns, kind, waits);
    for (guint i = 0; i < hops->len; i++) {
        lull_path_each_piece(eg, &g_array_index(hops, struct lull_hop, i), report, &telling);
    }
    path->segments = telling.segments.items;
    path->n_segments = telling.segments.count;
    report_waits(path, eg, waits);
    lull_path_summarise(path);
    count_losses(path, session);
    return path;
}
