/* SPDX-License-Identifier: MIT */
/* The order in which a recording is made: guard, directory, command (which waits), tracer,
 * recording, command (which runs), files, and the directory gets its name. */
#include "record/recorder_private.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "record/hooks.h"
#include "record/pressure.h"
#include "record/lock_holders.h"
#include "record/quotas.h"
#include "record/steal.h"
#include "record/tasks.h"
#include "record/watch.h"

/* ---- which tracer ---- */

static const struct lull_tracer_kind *find_kind(const char *name)
{
    for (uint32_t i = 0; lull_tracers[i]; i++) {
        if (strcmp(lull_tracers[i]->name, name) == 0) {
            return lull_tracers[i];
        }
    }
    return NULL;
}

/* What is missing to do what is requested; NULL: nothing. */
static char *missing_of(const struct lull_recorder *recorder, const struct lull_tracer_kind *kind)
{
    if (recorder->request.has_call_chains && !kind->can_call_chains) {
        return g_strdup("it does not record call chains");
    }
    if (recorder->request.counters && !kind->can_count) {
        return g_strdup("it does not record counters");
    }
    if (recorder->request.kernel_functions && !kind->can_functions) {
        return g_strdup("it does not record calls of kernel functions");
    }
    return kind->missing(&recorder->request);
}

static bool choose_named(struct lull_recorder *recorder, const char *name, GError **error)
{
    recorder->kind = find_kind(name);
    if (!recorder->kind) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_UNSUPPORTED, "this lull was built without %s",
                    name);
        return false;
    }
    g_autofree char *missing = missing_of(recorder, recorder->kind);
    if (missing) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_QUESTION, "cannot record with %s: %s", name,
                    missing);
        return false;
    }
    recorder->reason = g_strdup("requested");
    return true;
}

static void refuse(struct lull_recorder *recorder, const char *name, const char *why)
{
    GString *refused = recorder->refused;
    g_string_append_printf(refused, "%s%s: %s", refused->len ? "\n" : "", name, why);
}

/* Why not those before it, in one line. */
static char *reason_of(const struct lull_recorder *recorder)
{
    g_auto(GStrv) why = g_strsplit(recorder->refused->str, "\n", -1);
    g_autofree char *all = g_strjoinv("; not ", why);
    return *all == '\0' ? g_strdup("the best tracer that this lull has")
                        : g_strconcat("not ", all, NULL);
}

/* A line for each tracer; what helps with most of them comes first. */
static void fail_all(const struct lull_recorder *recorder, GError **error)
{
    g_auto(GStrv) why = g_strsplit(recorder->refused->str, "\n", -1);
    g_autofree char *lines = g_strjoinv("\n  ", why);
    if (recorder->refused->len == 0) {
        g_set_error_literal(error, LULL_ERROR, LULL_ERROR_QUESTION,
                            "this lull was built without any tracer");
        return;
    }
    g_set_error(error, LULL_ERROR, LULL_ERROR_QUESTION, "no tracer can record this here%s:\n  %s",
                geteuid() != 0 ? "; most need root, so try it with sudo" : "", lines);
}

/* Whichever tracer it is, it would have nothing to record. */
static bool check_pids(const struct lull_record_question *question, GError **error)
{
    for (uint32_t i = 0; i < question->n_pids; i++) {
        g_autoptr(GArray) tids = lull_tasks_of(question->pids[i], error);
        if (!tids) {
            return false;
        }
    }
    return true;
}

/* The next that can be used; why not those before it is the reason. */
static bool choose_next(struct lull_recorder *recorder, GError **error)
{
    const struct lull_tracer_kind *kind;
    while ((kind = lull_tracers[recorder->n_tried])) {
        recorder->n_tried++;
        g_autofree char *missing = missing_of(recorder, kind);
        if (!missing) {
            g_free(recorder->reason);
            recorder->kind = kind;
            recorder->reason = reason_of(recorder);
            return true;
        }
        refuse(recorder, kind->name, missing);
    }
    fail_all(recorder, error);
    return false;
}

/* ---- setting up ---- */

static int64_t clock_ns(clockid_t id)
{
    struct timespec now;
    clock_gettime(id, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* CLOCK_MONOTONIC plus this is the time since the epoch: the measurement of several that took least
 * time. */
int64_t lull_recorder_measure_epoch(void)
{
    int64_t best_ns = INT64_MAX, offset_ns = 0;
    for (unsigned i = 0; i < 16; i++) {
        const int64_t before = clock_ns(CLOCK_MONOTONIC);
        const int64_t now = clock_ns(CLOCK_REALTIME);
        const int64_t after = clock_ns(CLOCK_MONOTONIC);
        if (after - before < best_ns) {
            best_ns = after - before;
            offset_ns = now - (before + (after - before) / 2);
        }
    }
    return offset_ns;
}

/* Less is what comes between two looks at a clock. */
#define STEP_NS 1000000

/* A flight recorder goes on for months. Its snapshots have the time of day that the machine has now. */
static void follow_clock(struct lull_recorder *recorder)
{
    int64_t *known_ns = &recorder->request.epoch_offset_ns;
    if (!recorder->question.is_snapshot || !recorder->kind->needs_state) {
        return;
    }
    if (ABS(clock_ns(CLOCK_REALTIME) - clock_ns(CLOCK_MONOTONIC) - *known_ns) > STEP_NS) {
        const int64_t now_ns = lull_recorder_measure_epoch();
        *known_ns = ABS(now_ns - *known_ns) > STEP_NS ? now_ns : *known_ns;
    }
}

struct lull_recorder *lull_recorder_new(const struct lull_record_question *question, GError **error)
{
    struct lull_recorder *recorder = g_new0(struct lull_recorder, 1);
    recorder->question = *question;
    recorder->refused = g_string_new(NULL);
    recorder->recording.host_name = question->host_name;
    recorder->guard.pipe = recorder->control.socket = recorder->wake = -1;
    recorder->keeper.socket = recorder->keeper.reserve = recorder->objects = -1;
    recorder->command = (struct lull_command){.pid = -1, .go = -1, .fate = -1};
    recorder->request = (struct lull_tracer_request){
        .purpose = question->purpose,
        .buffer_bytes = question->buffer_bytes,
        .is_snapshot = question->is_snapshot,
        .has_call_chains = question->has_call_chains,
        .stack_bytes = question->stack_bytes,
        .counters = question->counters,
        .kernel_functions = question->kernel_functions,
        .is_filtered = question->only_command || question->n_pids > 0,
        .pids = question->pids,
        .n_pids = question->n_pids,
        .keeper = &recorder->keeper,
        .invoker = &recorder->invoker,
    };
    if (check_pids(question, error) &&
        (question->tracer ? choose_named(recorder, question->tracer, error)
                          : choose_next(recorder, error)) &&
        lull_invoker_init(&recorder->invoker, error)) {
        return recorder;
    }
    lull_recorder_free(recorder);
    return NULL;
}

static void clean_up_others(struct lull_recorder *recorder)
{
    for (uint32_t i = 0; lull_tracers[i]; i++) {
        recorder->cleaned += lull_tracers[i]->clean_up ? lull_tracers[i]->clean_up() : 0;
    }
}

static bool set_up_tracer(struct lull_recorder *recorder, GError **error)
{
    recorder->request.epoch_offset_ns = lull_recorder_measure_epoch();
    g_autoptr(GError) refusal = NULL;
    if (!lull_recorder_start_names(recorder, error)) {
        return false;
    }
    while (!(recorder->tracer = recorder->kind->set_up(&recorder->request, &refusal))) {
        if (recorder->question.tracer) {
            g_propagate_error(error, g_steal_pointer(&refusal));
            return false;
        }
        /* What cannot be known without trying, such as modules that the kernel does not load. */
        refuse(recorder, recorder->kind->name, refusal->message);
        g_clear_error(&refusal);
        if (!choose_next(recorder, error) || !lull_recorder_start_names(recorder, error)) {
            return false;
        }
    }
    if (recorder->question.chose) {
        recorder->question.chose(recorder->question.user, recorder);
    }
    if (recorder->kind->name_of) {
        lull_guard_report_tracer(&recorder->guard, recorder->kind,
                                 recorder->kind->name_of(recorder->tracer));
    }
    return !recorder->request.is_filtered || recorder->command.pid < 0 ||
           recorder->kind->follow(recorder->tracer, recorder->command.pid, error);
}

static bool make_place(struct lull_recorder *recorder, GError **error)
{
    const struct lull_record_question *question = &recorder->question;
    struct lull_keeper *keeper = &recorder->keeper;
    if (!lull_keeper_make(keeper, question->output, question->command ? question->command[0] : NULL,
                          error)) {
        return false;
    }
    recorder->n_left = lull_keeper_find_left(keeper, &recorder->left);
    return lull_keeper_reserve(keeper, error);
}

static bool prepare_companion(struct lull_recorder *recorder, GError **error)
{
    const struct lull_record_companion *companion = recorder->question.companion;
    if (companion) {
        recorder->wake = companion->prepare(companion->user, recorder, error);
    }
    return !companion || recorder->wake >= 0;
}

static bool limit(struct lull_recorder *recorder, GError **error)
{
    const struct lull_record_companion *companion = recorder->question.companion;
    return lull_invoker_limit(&recorder->invoker,
                              recorder->kind->needs_root || recorder->question.is_snapshot,
                              companion ? companion->capabilities : NULL,
                              companion ? companion->n_capabilities : 0, error);
}

static bool start_command(struct lull_recorder *recorder, GError **error)
{
    const struct lull_record_question *question = &recorder->question;
    g_auto(GStrv) environment = NULL;
    return !question->command ||
           ((!question->hooks || (environment = lull_hooks_prepare(
                                      &recorder->keeper, question->hooks, question->call_counters,
                                      &recorder->objects, error))) &&
            lull_command_start(&recorder->command, question->command, environment,
                               &recorder->invoker, error));
}

static bool set_up(struct lull_recorder *recorder, GError **error)
{
    const struct lull_record_question *question = &recorder->question;
    if (!lull_guard_start(&recorder->guard, &recorder->keeper, &recorder->invoker, error)) {
        return false;
    }
    clean_up_others(recorder);
    if (question->companion && question->companion->leftover) {
        lull_guard_report_leftover(&recorder->guard, question->companion->leftover);
    }
    return (question->is_snapshot ? lull_recorder_listen(recorder, error)
                                  : make_place(recorder, error)) &&
           start_command(recorder, error) && set_up_tracer(recorder, error) &&
           prepare_companion(recorder, error) && limit(recorder, error);
}

/* ---- recording ---- */

int64_t lull_recorder_now_ns(const struct lull_recorder *recorder)
{
    return clock_ns(CLOCK_MONOTONIC) + recorder->request.epoch_offset_ns;
}

int64_t lull_recorder_epoch_ns(const struct lull_recorder *recorder)
{
    return recorder->request.epoch_offset_ns;
}

pid_t lull_recorder_command(const struct lull_recorder *recorder)
{
    return recorder->command.pid;
}

static bool has_ended(void *user, enum lull_recording_end *how, GError **error)
{
    struct lull_recorder *recorder = user;
    const struct lull_record_companion *companion = recorder->question.companion;
    *how =
        recorder->tracer->is_full ? LULL_RECORDING_ENDED_BY_DISK : LULL_RECORDING_ENDED_BY_COMMAND;
    return recorder->tracer->is_full ||
           (companion && companion->is_over && companion->is_over(companion->user)) ||
           (recorder->command.pid > 0 && lull_command_has_ended(&recorder->command, false));
}

/* A full disk ends the recording, and is no failure. */
static bool check(void *user, GError **error)
{
    struct lull_recorder *recorder = user;
    const struct lull_record_companion *companion = recorder->question.companion;
    g_autoptr(GError) why = NULL;
    follow_clock(recorder);
    lull_recorder_take_names(recorder);
    lull_quota_log_check(recorder->quota_log);
    lull_pressure_check(recorder->pressure, lull_recorder_now_ns(recorder));
    if (recorder->kind->check(recorder->tracer, &why) || recorder->tracer->is_full) {
        return !companion || companion->serve(companion->user, recorder, error);
    }
    g_propagate_error(error, g_steal_pointer(&why));
    return false;
}

bool lull_recorder_create_state(const struct lull_recorder *recorder,
                                struct lull_state_files *files, GError **error)
{
    const struct lull_keeper *keeper = &recorder->keeper;
    *files = (struct lull_state_files){.dir = "state", .metadata = -1, .events = -1};
    if (!lull_keeper_create_directory(keeper, "state", error) ||
        (files->metadata = lull_keeper_create(keeper, "state/metadata", error)) < 0) {
        return false;
    }
    files->events = lull_keeper_create(keeper, "state/state", error);
    if (files->events < 0) {
        close(files->metadata);
    }
    return files->events >= 0;
}

static bool write_state(struct lull_recorder *recorder, GError **error)
{
    struct lull_state_files files;
    if (!recorder->kind->needs_state || recorder->question.is_snapshot) {
        return true;
    }
    if (!lull_recorder_create_state(recorder, &files, error)) {
        return false;
    }
    recorder->state = lull_state_start(&files, recorder->request.epoch_offset_ns,
                                       lull_recorder_has_calls(recorder), error);
    if (!recorder->state) {
        g_prefix_error(error, "%s: ", lull_recorder_path(recorder));
        return false;
    }
    return lull_recorder_open_names(recorder, error);
}

/* What a command that has ended had opened cannot be looked up any more. */
static bool end_state(struct lull_recorder *recorder, GError **error)
{
    const struct lull_record_question *question = &recorder->question;
    const bool is_over =
        recorder->tracer->is_full ||
        (question->only_command && lull_command_has_ended(&recorder->command, false));
    if (!lull_recorder_end_names(recorder, error)) {
        return false;
    }
    return !recorder->state || lull_state_end(g_steal_pointer(&recorder->state), !is_over, error);
}

static bool start_recording(struct lull_recorder *recorder, GError **error)
{
    if (!recorder->question.is_snapshot) {
        recorder->quota_log = lull_quota_log_start();
        recorder->steal_ns = lull_steal_ns();
        recorder->pressure = lull_pressure_start(lull_recorder_now_ns(recorder));
    }
    recorder->recording.start_ns = lull_recorder_now_ns(recorder);
    return (!recorder->question.hooks ||
            lull_hooks_describe(&recorder->keeper, recorder->question.call_counters,
                                recorder->request.epoch_offset_ns, error)) &&
           recorder->kind->start(recorder->tracer, error) && write_state(recorder, error) &&
           (recorder->command.pid < 0 ||
            lull_command_release(&recorder->command, recorder->question.command[0], error));
}

/* Who recorded long before a snapshot does not know what was counted in its time. */
static void end_counts(struct lull_recorder *recorder)
{
    recorder->recording.steal_ns = -1;
    if (recorder->quota_log) {
        const int64_t steal_ns = lull_steal_ns();
        if (recorder->steal_ns >= 0 &&
            steal_ns >= recorder->steal_ns) { /* it may go back a little */
            recorder->recording.steal_ns = steal_ns - recorder->steal_ns;
        }
        recorder->quotas = lull_quota_log_end(g_steal_pointer(&recorder->quota_log),
                                              &recorder->recording.has_all_quotas);
    }
}

static void requested(void *user, bool is_signal)
{
    lull_recorder_requested(user, is_signal);
}

static bool save_called(struct lull_recorder *recorder, GError **error)
{
    const int objects = recorder->objects;
    recorder->objects = -1;
    return lull_hooks_save_symbols(&recorder->keeper, objects, error);
}

static void reload(void *user)
{
    const struct lull_recorder *recorder = user;
    recorder->question.companion->reload(recorder->question.companion->user);
}

static bool record(struct lull_recorder *recorder, GError **error)
{
    struct lull_recording *recording = &recorder->recording;
    struct lull_tracer_result none;
    const bool is_snapshot = recorder->question.is_snapshot;
    const struct lull_record_companion *companion = recorder->question.companion;
    struct lull_watch watch = {.has_ended = has_ended,
                               .check = check,
                               .requested = requested,
                               .reload = companion && companion->reload ? reload : NULL,
                               .user = recorder,
                               .request = recorder->control.socket,
                               .wake = recorder->wake,
                               .duration_ns = recorder->question.duration_ns,
                               .command = recorder->command.pid};
    lull_watch_start(&watch);
    bool done = start_recording(recorder, error);
    if (done && companion) {
        companion->started(companion->user, recorder);
    }
    const int64_t start_ns = lull_recorder_now_ns(recorder);
    done =
        done && lull_watch_wait(&watch, &recording->ended_by, error) && end_state(recorder, error);
    /* Before the end: what still waits then has waited when this was looked for. */
    recorder->lock_holders = is_snapshot ? NULL : lull_lock_holders_read();
    recording->end_ns = lull_recorder_now_ns(recorder);
    end_counts(recorder);
    lull_pressure_end(recorder->pressure, recording->end_ns);
    done = done &&
           (!is_snapshot || lull_recorder_judge(recorder, recording->end_ns - start_ns, error));
    lull_watch_end(&watch);
    done =
        done &&
        recorder->kind->stop(recorder->tracer, is_snapshot ? &none : &recording->result, error) &&
        (!recorder->question.hooks ||
         lull_hooks_measure(&recorder->keeper, &recording->hook_bytes, error));
    done = done && (recorder->objects < 0 || save_called(recorder, error));
    recording->result.bytes += recording->hook_bytes;
    lull_keeper_release(&recorder->keeper);
    if (done && recorder->tracer->is_full) {
        recording->ended_by = LULL_RECORDING_ENDED_BY_DISK;
        recording->end_ns = MIN(recording->end_ns, recording->result.end_ns);
    }
    return done;
}

static void describe(struct lull_recorder *recorder)
{
    struct lull_recording *recording = &recorder->recording;
    recording->request = &recorder->request;
    recording->tracer = recorder->tracer;
    recording->reason = recorder->reason;
    recording->quotas = recorder->quotas;
    recording->pressure = recorder->pressure;
    recording->lock_holders = recorder->lock_holders;
    recording->command = recorder->question.command;
    recording->pid = recorder->command.pid;
    recording->has_ended =
        recorder->command.pid > 0 && lull_command_has_ended(&recorder->command, false);
    recording->wait_status = recorder->command.wait_status;
}

bool lull_recorder_complete(struct lull_recorder *recorder, GError **error)
{
    describe(recorder);
    return lull_recording_json_write(&recorder->recording, &recorder->keeper, error) &&
           lull_keeper_publish(&recorder->keeper, error);
}

bool lull_recorder_run(struct lull_recorder *recorder, GError **error)
{
    signal(SIGPIPE, SIG_IGN); /* of our own pipes; who reads our messages may go */
    const bool is_snapshot = recorder->question.is_snapshot;
    const bool done = set_up(recorder, error) && record(recorder, error) &&
                      (is_snapshot || lull_recorder_complete(recorder, error));
    lull_recorder_end_names(recorder, NULL);
    /* The kernel takes some 30 ms for each program: not while it is recorded. */
    g_clear_pointer(&recorder->names, lull_names_free);
    if (recorder->state) {
        lull_state_end(g_steal_pointer(&recorder->state), false, NULL);
    }
    describe(recorder);
    lull_command_end(&recorder->command);
    if (recorder->objects >= 0) {
        close(recorder->objects);
    }
    g_clear_pointer(&recorder->tracer, recorder->kind->free);
    recorder->recording.tracer = NULL;
    if (done && !is_snapshot) {
        lull_keeper_remember(&recorder->keeper);
    }
    lull_keeper_clear(&recorder->keeper);
    lull_control_clear(&recorder->control);
    lull_guard_end(&recorder->guard, &recorder->keeper);
    return done;
}

void lull_recorder_free(struct lull_recorder *recorder)
{
    if (recorder) {
        lull_invoker_clear(&recorder->invoker);
        g_free(recorder->keeper.path);
        g_free(recorder->keeper.part);
        lull_quota_log_free(recorder->quota_log);
        g_clear_pointer(&recorder->quotas, g_ptr_array_unref);
        lull_pressure_free(recorder->pressure);
        g_clear_pointer(&recorder->lock_holders, g_array_unref);
        g_free(recorder->left);
        g_free(recorder->recording.names_missing);
        for (size_t i = 0; i < G_N_ELEMENTS(recorder->kept_names); i++) {
            g_clear_pointer(&recorder->kept_names[i], g_byte_array_unref);
            g_clear_pointer(&recorder->kept_packets[i], g_byte_array_unref);
        }
        g_free(recorder->reason);
        g_string_free(recorder->refused, TRUE);
        g_free(recorder);
    }
}

/* ---- what came out ---- */

const char *lull_recorder_tracer(const struct lull_recorder *recorder)
{
    return recorder->kind->name;
}

const char *lull_recorder_remark(const struct lull_recorder *recorder)
{
    return recorder->tracer ? recorder->tracer->remark : NULL;
}

const char *lull_recorder_reason(const struct lull_recorder *recorder)
{
    return recorder->reason;
}

bool lull_recorder_has_command(const struct lull_recorder *recorder)
{
    return recorder->command.pid > 0 && recorder->command.go < 0 && !recorder->command.has_ended;
}

const struct lull_recording *lull_recorder_result(const struct lull_recorder *recorder)
{
    return &recorder->recording;
}

bool lull_recorder_is_whole(const struct lull_recorder *recorder, GError **error)
{
    return lull_guard_is_there(&recorder->guard, &recorder->keeper, error);
}

const char *lull_recorder_path(const struct lull_recorder *recorder)
{
    return recorder->keeper.path;
}

uint32_t lull_recorder_snapshots(const struct lull_recorder *recorder)
{
    return recorder->n_snapshots;
}

uint32_t lull_recorder_cleaned(const struct lull_recorder *recorder)
{
    return recorder->cleaned;
}

uint64_t lull_recorder_left(const struct lull_recorder *recorder, const char **first)
{
    *first = recorder->left;
    return recorder->n_left;
}

int lull_recorder_exec_errno(const struct lull_recorder *recorder)
{
    return recorder->command.exec_errno;
}

void lull_recorder_do_as_invoker(const struct lull_recorder *recorder, void (*work)(void *user),
                                 void *user)
{
    lull_invoker_do(&recorder->invoker, work, user);
}

int lull_recorder_wait(struct lull_recorder *recorder)
{
    lull_command_has_ended(&recorder->command, true);
    return recorder->command.wait_status;
}
