/* The flight recorder: the tracer keeps what came last in its buffers, and this writes it when
 * somebody asks, as a recording like any other. */
#include "record/recorder_private.h"

#include <unistd.h>

#include "record/last.h"
#include "record/state/state.h"

bool lull_recorder_listen(struct lull_recorder *recorder, GError **error)
{
    if (!lull_control_open(&recorder->control, &recorder->invoker, error)) {
        return false;
    }
    lull_guard_report_directory(&recorder->guard, recorder->control.dir);
    recorder->request.dir = recorder->control.dir;
    return true;
}

/* With the rights of the invoker, if it was that one who asked and gave the name: not everybody may
 * make directories everywhere. */
static bool make_folder(struct lull_recorder *recorder, const char *output, bool for_invoker,
                        GError **error)
{
    const struct lull_invoker *invoker = &recorder->invoker;
    struct lull_folder *folder = &recorder->folder;
    const uid_t uid = geteuid();
    const gid_t gid = getegid();
    const char *const *command = recorder->question.command;
    if (for_invoker && (setegid(invoker->gid) != 0 || seteuid(invoker->uid) != 0)) {
        (void)!setegid(gid);
        g_set_error_literal(error, LULL_ERROR, LULL_ERROR_IO,
                            "the rights of who asks cannot be taken on");
        return false;
    }
    g_free(folder->path);
    g_free(folder->part);
    lull_folder_init(folder, output, command ? command[0] : NULL);
    lull_guard_report_path(&recorder->guard, folder->part);
    const bool is_made = lull_folder_make(folder, error);
    (void)!seteuid(uid);
    (void)!setegid(gid);
    if (!is_made) {
        return false;
    }
    lull_guard_report_directory(&recorder->guard, folder->part);
    return lull_folder_mark(folder, error);
}

/* The state is taken afterwards, and said to be that of the end: what the trace tells is older. */
static bool fill_folder(struct lull_recorder *recorder, int64_t now_ns, GError **error)
{
    const char *part = recorder->folder.part;
    g_autofree char *state = g_build_filename(part, "state", NULL);
    return recorder->kind->snapshot(recorder->tracer, part, &recorder->recording.result, error) &&
           (!recorder->kind->needs_state ||
            lull_state_write_at(state, recorder->request.epoch_offset_ns, now_ns, error)) &&
           lull_recorder_complete(recorder, error);
}

static bool write_snapshot(struct lull_recorder *recorder, const char *output, bool for_invoker,
                           GError **error)
{
    const int64_t now_ns = lull_recorder_now_ns(recorder);
    recorder->recording.end_ns = now_ns;
    const bool done =
        make_folder(recorder, output, for_invoker, error) && fill_folder(recorder, now_ns, error);
    lull_folder_clear(&recorder->folder, !done);
    lull_guard_report_directory(&recorder->guard, recorder->control.dir);
    if (!done) {
        return false;
    }
    recorder->n_snapshots++;
    lull_last_set(&recorder->invoker, recorder->folder.path);
    if (recorder->question.wrote) {
        recorder->question.wrote(recorder->question.user, recorder);
    }
    return true;
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
    const bool done =
        write_snapshot(recorder, request.output, request.is_invoker && request.output, &error);
    if (!done) {
        report_failure(recorder, error);
    }
    if (!is_signal) {
        lull_control_answer(&request, done ? recorder->folder.path : NULL, error);
    }
}

bool lull_recorder_judge(struct lull_recorder *recorder, int64_t took_ns, GError **error)
{
    const int64_t limit_ns = recorder->question.if_slower_ns;
    return limit_ns == 0 || took_ns <= limit_ns || write_snapshot(recorder, NULL, false, error);
}
