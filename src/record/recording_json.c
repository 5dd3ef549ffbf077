/* SPDX-License-Identifier: MIT */
/* Writes recording.json (docs/RECORDING.md), the last file of a recording. */
#include "record/recording_json.h"

#include <lull/version.h>

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "base/pressure.h"
#include "record/lock_holders.h"
#include "record/pressure.h"
#include "record/quotas.h"
#include "record/tasks.h"

#define FILE_NAME "recording.json"

static void add_texts(struct json_object *object, const char *key, const char *const *texts)
{
    struct json_object *array = json_object_new_array();
    for (uint32_t i = 0; texts[i]; i++) {
        json_object_array_add(array, lull_json_text(texts[i]));
    }
    json_object_object_add(object, key, array);
}

static void add_how(struct json_object *object, const struct lull_recording *recording)
{
    const struct lull_tracer_request *request = recording->request;
    lull_json_add_text(object, "purpose", lull_purpose_name(request->purpose));
    lull_json_add_text(object, "tracer", recording->tracer->kind->name);
    lull_json_add_text(object, "reason", recording->reason);
    json_object_object_add(object, "filtered", json_object_new_boolean(request->is_filtered));
    json_object_object_add(object, "snapshot", json_object_new_boolean(request->is_snapshot));
    if (request->n_pids > 0) {
        struct json_object *pids = json_object_new_array();
        for (uint32_t i = 0; i < request->n_pids; i++) {
            json_object_array_add(pids, json_object_new_int64(request->pids[i]));
        }
        json_object_object_add(object, "pids", pids);
    }
}

static void add_machine(struct json_object *object, const struct lull_recording *recording)
{
    struct utsname name;
    if (uname(&name) == 0) {
        lull_json_add_text(object, "hostname", name.nodename);
        lull_json_add_text(object, "kernel", name.release);
        lull_json_add_text(object, "machine", name.machine);
    }
    if (recording->host_name) {
        lull_json_add_text(object, "name", recording->host_name);
    }
    g_autofree char *boot_id = NULL;
    if (g_file_get_contents("/proc/sys/kernel/random/boot_id", &boot_id, NULL, NULL)) {
        lull_json_add_text(object, "boot_id", g_strstrip(boot_id));
    }
    struct json_object *clock = json_object_new_object();
    lull_json_add_text(clock, "name", "CLOCK_MONOTONIC");
    lull_json_add_number(clock, "offset_ns", recording->request->epoch_offset_ns);
    json_object_object_add(object, "clock", clock);
}

static void add_command(struct json_object *object, const struct lull_recording *recording)
{
    if (!recording->command) {
        return;
    }
    add_texts(object, "command", recording->command);
    if (lull_tasks_are_global()) {
        lull_json_add_number(object, "pid", recording->pid);
    }
    if (recording->has_ended && WIFEXITED(recording->wait_status)) {
        lull_json_add_number(object, "exit_status", WEXITSTATUS(recording->wait_status));
    } else if (recording->has_ended) {
        lull_json_add_number(object, "signal", WTERMSIG(recording->wait_status));
    }
}

static void add_recorded(struct json_object *object, const struct lull_recording *recording)
{
    static const char *const ends[] = {[LULL_RECORDING_ENDED_BY_COMMAND] = "command",
                                       [LULL_RECORDING_ENDED_BY_DURATION] = "duration",
                                       [LULL_RECORDING_ENDED_BY_INTERRUPT] = "interrupt",
                                       [LULL_RECORDING_ENDED_BY_DISK] = "disk",
                                       [LULL_RECORDING_ENDED_BY_SNAPSHOT] = "snapshot"};
    const struct lull_tracer_result *result = &recording->result;
    lull_json_add_number(object, "begin_ns", recording->start_ns);
    lull_json_add_number(object, "end_ns", recording->end_ns);
    lull_json_add_text(object, "ended_by", ends[recording->ended_by]);
    if (recording->tracer->events) {
        add_texts(object, "events", recording->tracer->events);
    }
    struct json_object *recorded = json_object_new_object();
    if (result->has_events) {
        lull_json_add_number(recorded, "events", (int64_t)result->events);
    }
    lull_json_add_number(recorded, "bytes", (int64_t)result->bytes);
    lull_json_add_number(recorded, "lost_events", (int64_t)result->lost_events);
    json_object_object_add(object, "recorded", recorded);
}

static void add_trigger(struct json_object *object, const struct lull_recording_trigger *trigger)
{
    struct json_object *element = json_object_new_object();
    lull_json_add_text(element, "id", trigger->id);
    lull_json_add_text(element, "rule", trigger->rule);
    lull_json_add_text(element, "comm", trigger->comm);
    if (trigger->pid > 0) {
        lull_json_add_number(element, "pid", trigger->pid);
    }
    if (trigger->tid > 0) {
        lull_json_add_number(element, "tid", trigger->tid);
    }
    lull_json_add_number(element, "begin_ns", trigger->start_ns);
    lull_json_add_number(element, "end_ns", trigger->end_ns);
    const struct {
        const char *key;
        const char *const *functions;
    } stacks[] = {{"stack", trigger->kernel_stack},
                  {"waker_stack", trigger->waker_stack},
                  {"user_stack", trigger->user_stack}};
    for (size_t i = 0; i < G_N_ELEMENTS(stacks); i++) {
        if (stacks[i].functions) {
            add_texts(element, stacks[i].key, stacks[i].functions);
        }
    }
    json_object_object_add(object, "trigger", element);
}

static void add_quotas(struct json_object *object, const GPtrArray *quotas, bool is_all)
{
    bool has_throttled = false;
    const bool has_pids = lull_tasks_are_global();
    struct json_object *list = json_object_new_array();
    for (guint i = 0; i < quotas->len; i++) {
        const struct lull_quota *quota = quotas->pdata[i];
        has_throttled |= quota->throttled_ns > 0;
        struct json_object *element = json_object_new_object();
        struct json_object *pids = json_object_new_array();
        for (guint k = 0; has_pids && k < quota->pids->len; k++) {
            json_object_array_add(pids,
                                  json_object_new_int64(g_array_index(quota->pids, pid_t, k)));
        }
        lull_json_add_text(element, "cgroup", quota->path);
        lull_json_add_number(element, "hierarchy", quota->hierarchy);
        lull_json_add_number(element, "quota_us", quota->quota_us);
        lull_json_add_number(element, "period_us", quota->period_us);
        lull_json_add_number(element, "periods", quota->periods);
        lull_json_add_number(element, "throttled_periods", quota->throttled_periods);
        lull_json_add_number(element, "throttled_ns", quota->throttled_ns);
        json_object_object_add(element, "pids", pids);
        json_object_object_add(element, "gone", json_object_new_boolean(quota->is_gone));
        json_object_array_add(list, element);
    }
    json_object_object_add(object, "cpu_quotas", list);
    json_object_object_add(object, "all_cpu_quotas", json_object_new_boolean(is_all));
    const uint64_t timer = has_throttled ? lull_quotas_timer() : 0;
    if (timer) {
        char text[24];
        g_snprintf(text, sizeof text, "0x%" PRIx64, timer);
        lull_json_add_text(object, "quota_timer", text);
    }
}

static void add_stalls(struct json_object *object, struct lull_stalls stalls)
{
    for (uint32_t i = 0; i < LULL_STALL_FIELDS; i++) {
        const int64_t us = *lull_stall_field(&stalls, i);
        if (us >= 0) {
            lull_json_add_number(object, lull_stall_keys[i], us);
        }
    }
}

static void add_pressure(struct json_object *object, const struct lull_pressure_log *log)
{
    const GPtrArray *groups = lull_pressure_groups(log);
    const GArray *samples = lull_pressure_samples(log);
    struct json_object *list = json_object_new_array(), *times = json_object_new_array();
    for (guint i = 0; i < groups->len; i++) {
        const struct lull_pressed_group *group = groups->pdata[i];
        struct json_object *element = json_object_new_object();
        lull_json_add_text(element, "cgroup", group->path);
        add_stalls(element, group->stalls);
        json_object_array_add(list, element);
    }
    for (guint i = 0; i < samples->len; i++) {
        const struct lull_pressure_sample *sample =
            &g_array_index(samples, struct lull_pressure_sample, i);
        struct json_object *element = json_object_new_object();
        lull_json_add_number(element, "time_ns", sample->time_ns);
        add_stalls(element, sample->stalls);
        json_object_array_add(times, element);
    }
    json_object_object_add(object, "pressure", times);
    json_object_object_add(object, "group_pressure", list);
}

static void add_lock_holders(struct json_object *object, const GArray *holders)
{
    struct json_object *list = json_object_new_array();
    for (guint i = 0; i < holders->len; i++) {
        const struct lull_lock_holder *holder = &g_array_index(holders, struct lull_lock_holder, i);
        struct json_object *element = json_object_new_object();
        char address[24];
        g_snprintf(address, sizeof address, "0x%" PRIx64, holder->address);
        lull_json_add_number(element, "tid", holder->tid);
        lull_json_add_text(element, "call", holder->call);
        if (holder->address) {
            lull_json_add_text(element, "address", address);
        }
        if (holder->path) {
            json_object_object_add(element, "path", lull_json_text(holder->path));
        }
        lull_json_add_number(element, holder->is_process ? "holder_pid" : "holder_tid",
                             holder->holder);
        if (holder->is_timed) {
            json_object_object_add(element, "timed", json_object_new_boolean(true));
        }
        json_object_array_add(list, element);
    }
    json_object_object_add(object, "lock_holders", list);
}

/* Takes the descriptor; errno says why not. */
static bool write_text(int fd, const char *text)
{
    int why = lull_file_write(fd, text, strlen(text));
    why = why == 0 && fsync(fd) != 0 ? errno : why;
    why = close(fd) != 0 && why == 0 ? errno : why;
    errno = why;
    return why == 0;
}

bool lull_recording_json_write(const struct lull_recording *recording,
                               const struct lull_keeper *keeper, GError **error)
{
    const int fd = lull_keeper_create(keeper, FILE_NAME, error);
    if (fd < 0) {
        return false;
    }
    struct json_object *object = json_object_new_object();
    lull_json_add_number(object, "lull_recording", 1);
    lull_json_add_text(object, "lull", LULL_VERSION);
    add_how(object, recording);
    add_machine(object, recording);
    add_command(object, recording);
    add_recorded(object, recording);
    if (recording->names_missing) {
        lull_json_add_text(object, "names_missing", recording->names_missing);
    }
    if (recording->lost_names > 0) {
        lull_json_add_number(object, "lost_names", (int64_t)recording->lost_names);
    }
    if (recording->trigger) {
        add_trigger(object, recording->trigger);
    }
    if (recording->quotas) {
        add_quotas(object, recording->quotas, recording->has_all_quotas);
    }
    if (recording->steal_ns >= 0) {
        lull_json_add_number(object, "steal_ns", recording->steal_ns);
    }
    if (recording->lock_holders && recording->lock_holders->len > 0) {
        add_lock_holders(object, recording->lock_holders);
    }
    if (recording->pressure) {
        add_pressure(object, recording->pressure);
    }
    const char *text = json_object_to_json_string_ext(object, JSON_C_TO_STRING_PRETTY |
                                                                  JSON_C_TO_STRING_NOSLASHESCAPE);
    g_autofree char *line = g_strconcat(text, "\n", NULL);
    json_object_put(object);
    if (write_text(fd, line)) {
        return true;
    }
    g_set_error(error, LULL_ERROR, LULL_ERROR_IO, "cannot write “%s/" FILE_NAME "”: %s",
                keeper->part, g_strerror(errno));
    return false;
}
