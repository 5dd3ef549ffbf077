/* SPDX-License-Identifier: MIT */
/* The flight recorder: the tracer keeps what came last in its buffers, and this writes it on
 * request, as a recording like any other. */
#include "record/lock_holders.h"
#include "record/recorder_private.h"

bool lull_recorder_listen(struct lull_recorder *recorder, GError **error)
{
    if (!lull_control_open(&recorder->control, &recorder->invoker, error)) {
        return false;
    }
    lull_guard_report_control(&recorder->guard, recorder->control.dir);
    return true;
}

static bool write_state(struct lull_recorder *recorder, int64_t now_ns, GError **error)
{
    struct lull_state_files files;
    struct lull_state_trace *trace =
        lull_recorder_create_state(recorder, &files, error)
            ? lull_state_start_at(&files, recorder->request.epoch_offset_ns, now_ns, error)
            : NULL;
    const bool done = trace && lull_recorder_write_names(recorder, trace, error);
    return trace && lull_state_trace_close(trace, done ? error : NULL) && done;
}

/* The state is taken afterwards, and marked as that of the end: what the trace shows is older. */
static bool fill(struct lull_recorder *recorder, GError **error)
{
    recorder->is_frozen = false;
    return recorder->kind->snapshot(recorder->tracer, &recorder->recording.result, error) &&
           (!recorder->kind->needs_state ||
            write_state(recorder, recorder->recording.end_ns, error)) &&
           lull_recorder_complete(recorder, error);
}

bool lull_recorder_freeze(struct lull_recorder *recorder, GError **error)
{
    if (!recorder->is_frozen) {
        recorder->is_frozen = recorder->kind->freeze(recorder->tracer, error);
        recorder->recording.end_ns = lull_recorder_now_ns(recorder);
    }
    return recorder->is_frozen;
}

bool lull_recorder_thaw(struct lull_recorder *recorder, GError **error)
{
    const bool was_frozen = recorder->is_frozen;
    recorder->is_frozen = false;
    return !was_frozen || recorder->kind->thaw(recorder->tracer, error);
}

/* With the rights of the user who records, whoever requests it. */
static bool write_snapshot(struct lull_recorder *recorder, const char *output, GError **error)
{
    const char *const *command = recorder->question.command;
    const bool done =
        lull_recorder_freeze(recorder, error) &&
        lull_keeper_make(&recorder->keeper, output, command ? command[0] : NULL, error) &&
        fill(recorder, error);
    recorder->tracer->is_full = false; /* the next one may find room */
    if (!done) {
        lull_recorder_thaw(recorder, NULL);
        lull_keeper_clear(&recorder->keeper);
        return false;
    }
    recorder->n_snapshots++;
    lull_keeper_remember(&recorder->keeper);
    if (recorder->question.wrote) {
        recorder->question.wrote(recorder->question.user, recorder);
    }
    return true;
}

bool lull_recorder_snapshot(struct lull_recorder *recorder, const char *output,
                            const struct lull_recording_trigger *trigger, GError **error)
{
    recorder->recording.ended_by = LULL_RECORDING_ENDED_BY_SNAPSHOT;
    recorder->recording.trigger = trigger;
    const bool done = write_snapshot(recorder, output, error);
    recorder->recording.trigger = NULL;
    return done;
}

/* One that cannot be written is no reason to stop. */
static void report_failure(const struct lull_recorder *recorder, const GError *error)
{
    if (recorder->question.failed) {
        recorder->question.failed(recorder->question.user, error);
    }
}

void lull_recorder_requested(struct lull_recorder *recorder, bool is_signal)
{
    struct lull_control_request request = {.socket = -1};
    g_autoptr(GError) error = NULL;
    if (!is_signal && !lull_control_take(&recorder->control, &request)) {
        return;
    }
    recorder->recording.ended_by = LULL_RECORDING_ENDED_BY_SNAPSHOT;
    /* Something hangs, perhaps. Before the end: what still waits then has waited when this was looked for. */
    recorder->lock_holders = lull_lock_holders_read();
    const bool done = write_snapshot(recorder, request.output, &error);
    g_clear_pointer(&recorder->lock_holders, g_array_unref);
    if (!done) {
        report_failure(recorder, error);
    }
    if (!is_signal) {
        lull_control_answer(&request, done ? recorder->keeper.path : NULL, error);
    }
}

bool lull_recorder_judge(struct lull_recorder *recorder, int64_t took_ns, GError **error)
{
    const int64_t limit_ns = recorder->question.if_slower_ns;
    return limit_ns == 0 || took_ns <= limit_ns || write_snapshot(recorder, NULL, error);
}
