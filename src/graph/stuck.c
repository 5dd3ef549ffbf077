/* SPDX-License-Identifier: MIT */
/* Waits that had not ended with the trace: no event says what would have ended them. What the recorder found at its end of who
 * held which lock (recording.json) does, and so whether tasks wait for each other. */
#include <string.h>

#include "graph/execgraph_private.h"
#include "source/files/recording.h"
#include "source/session/streams.h"

/* At most so many that wait for one another are listed. */
enum { MOST_LISTED = 8 };

/* ---- who holds ---- */

/* A call on a futex is known by the address, one on a file by its name: fcntl64 for fcntl. */
bool lull_stuck_is_for(const struct lull_model *model, const struct lull_wait_reason *reason,
                       const struct lull_recorded_holder *known)
{
    const char *call = lull_model_label(model, reason->call);
    return call && !lull_wait_reason_is_imposed(reason) && g_str_has_prefix(call, known->call) &&
           reason->address == known->address;
}

static bool is_same(const struct lull_execgraph *eg, const struct open_note *note,
                    const struct lull_recorded_holder *known)
{
    const struct lull_wait_reason *reason = lull_evidence_reason(eg, note->evidence);
    return reason && lull_stuck_is_for(eg->model, reason, known);
}

static void take_holder(struct lull_execgraph *eg, uint32_t host,
                        const struct lull_recorded_holder *known)
{
    const uint32_t waiter = lull_model_find_tid(eg->model, host, (int32_t)known->tid);
    const uint32_t found =
        waiter == LULL_NONE ? LULL_MAP_NONE : lull_map_find(&eg->open_of, waiter);
    if (found != LULL_MAP_NONE && is_same(eg, &eg->open_waits.items[found], known)) {
        struct open_note *note = &eg->open_waits.items[found];
        note->holder = lull_model_find_tid(eg->model, host, (int32_t)known->holder);
        note->is_open = known->is_process || known->is_timed;
    }
}

void lull_execgraph_learn_holders(struct lull_execgraph *eg, const struct lull_session *session)
{
    for (uint32_t i = 0; eg->open_waits.count > 0 && i < lull_session_recording_count(session);
         i++) {
        const struct lull_recording_file *file = lull_session_recording_file(session, i);
        for (uint32_t k = 0; k < file->n_lock_holders; k++) {
            take_holder(eg, file->info.host, &file->lock_holders[k]);
        }
    }
}

static const struct open_note *note_of(const struct lull_execgraph *eg, uint32_t task)
{
    const uint32_t found = lull_map_find(&eg->open_of, task);
    return found == LULL_MAP_NONE ? NULL : &eg->open_waits.items[found];
}

uint32_t lull_stuck_holder(const struct lull_execgraph *eg, uint32_t line, uint32_t evidence)
{
    const struct open_note *note = note_of(eg, line);
    return note && note->evidence == evidence ? note->holder : LULL_NONE;
}

const struct lull_open_role *lull_stuck_role(const struct lull_execgraph *eg, uint32_t evidence)
{
    static const struct lull_open_role holder = {"holder", ", which ", " holds"},
                                       child = {"child", " for its child ", ""},
                                       signalled = {"child", " for a signal, perhaps of its child ",
                                                    ""},
                                       end = {"other end", ", whose other end ", " has"},
                                       polled = {"other end", " for ", " at the other end"};
    const struct lull_wait_reason *reason = lull_evidence_reason(eg, evidence);
    const enum lull_wait_kind kind =
        reason ? lull_wait_reason_kind(eg->model, reason) : LULL_WAIT_NONE;
    if (kind == LULL_WAIT_LOCK || kind == LULL_WAIT_FUTEX) {
        return &holder;
    }
    return kind == LULL_WAIT_CHILD    ? &child
           : kind == LULL_WAIT_SIGNAL ? &signalled
           : kind == LULL_WAIT_READY  ? &polled
                                      : &end;
}

/* ---- what a path ends with ---- */

static struct lull_open_wait tell(const struct lull_execgraph *eg, const struct open_note *note,
                                  GStringChunk *strings)
{
    const struct lull_model *model = eg->model;
    const struct lull_task *task = lull_model_task(model, note->task);
    const struct lull_wait_reason *reason = lull_evidence_reason(eg, note->evidence);
    struct lull_open_wait wait = {
        .host = task->host,
        .task = note->task,
        .tid = task->tid,
        .comm =
            g_string_chunk_insert_const(strings, lull_model_comm(model, note->task, note->end_ns)),
        .start_ns = note->start_ns,
        .end_ns = note->end_ns,
        .is_older = note->is_older,
        .refused = note->refused == LULL_NONE ? NULL : lull_model_label(model, note->refused),
        .holder_tid = -1};
    g_autoptr(GString) what = g_string_new(NULL);
    if (reason) {
        lull_wait_reason_append(model, reason, NULL, what);
        wait.call = lull_model_label(model, reason->call);
        g_autoptr(GString) object = g_string_new(NULL);
        lull_wait_reason_append_object(model, reason, object);
        wait.object = object->len ? g_string_chunk_insert_const(strings, object->str) : NULL;
    }
    wait.what = what->len ? g_string_chunk_insert_const(strings, what->str) : NULL;
    if (note->holder != LULL_NONE) {
        wait.role = lull_stuck_role(eg, note->evidence);
        wait.holder_tid = lull_model_task(model, note->holder)->tid;
        wait.holder_comm = g_string_chunk_insert_const(
            strings, lull_model_comm(model, note->holder, note->end_ns));
    }
    return wait;
}

void lull_stuck_list(const struct lull_execgraph *eg, struct lull_path *path, uint32_t evidence)
{
    uint32_t task = path->n_segments ? path->segments[path->n_segments - 1].task : LULL_NONE;
    const struct open_note *note = task == LULL_NONE ? NULL : note_of(eg, task);
    bool is_open = false;
    if (!note || note->evidence != evidence) {
        return;
    }
    path->open_waits = g_new0(struct lull_open_wait, MOST_LISTED);
    while (note && path->n_open_waits < MOST_LISTED) {
        is_open |= note->is_open;
        path->open_waits[path->n_open_waits++] = tell(eg, note, path->strings);
        path->is_deadlock |= note->refused != LULL_NONE;
        for (uint32_t i = 0; i < path->n_open_waits; i++) {
            if (path->open_waits[i].task == note->holder) {
                path->is_deadlock |= !is_open;
                return;
            }
        }
        note = note->holder == LULL_NONE ? NULL : note_of(eg, note->holder);
    }
}
