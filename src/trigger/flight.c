/* SPDX-License-Identifier: MIT */
/* Limits as a daemon has them; but nothing of a user's is ever removed to make room. */
#include "trigger/flight.h"

#include <errno.h>
#include <sys/statvfs.h>

#include "base/capability.h"
#include "base/time.h"
#include "trigger/sets.h"

/* To read the tracker's counters, and names of functions; only CAP_SYS_ADMIN may measure what eBPF programs
 * cost. */
static const uint8_t capabilities[] = {CAP_BPF, CAP_PERFMON, CAP_SYS_ADMIN, CAP_SYSLOG};

#define MOST_BYTES (UINT64_C(2) << 30)
#define LEAST_FREE 0.1

struct lull_recording_trigger lull_trigger_of_alarm(const struct lull_track_alarm *alarm,
                                                    int64_t epoch_ns,
                                                    char comm[static LULL_TRACK_COMM + 1])
{
    const struct lull_track_record *record = alarm->record;
    /* Who happened to start an interrupt or give work to a disk does not matter; at a connection or a mark it
     * does. */
    const bool has_task = !alarm->object || alarm->object->kind == LULL_TRACK_HOP_CONNECTION ||
                          alarm->object->kind == LULL_TRACK_HOP_MARK;
    g_strlcpy(comm, record->comm, LULL_TRACK_COMM + 1);
    return (struct lull_recording_trigger){
        .comm = has_task ? comm : "",
        .pid = has_task ? (int64_t)record->tgid : -1,
        .tid = has_task ? (int64_t)record->tid : -1,
        .start_ns = lull_time_add(alarm->start_ns, epoch_ns),
        .end_ns = lull_time_add(alarm->end_ns, epoch_ns),
    };
}

void lull_flight_init(struct lull_flight *flight)
{
    *flight = (struct lull_flight){.config = {.pause_ns = 60 * LULL_NS_PER_S,
                                              .per_hour = 6,
                                              .per_day = 20,
                                              .most_bytes = MOST_BYTES,
                                              .least_free = LEAST_FREE}};
    lull_trigger_limits_init(&flight->limits, &flight->config);
}

void lull_flight_clear(struct lull_flight *flight)
{
    lull_recorder_free(flight->recorder);
    lull_trigger_limits_clear(&flight->limits);
    g_free(flight->last);
    g_free(flight->why);
}

static int64_t now_ns(void)
{
    return g_get_monotonic_time() * 1000;
}

/* NULL: there is room for one more. */
static const char *why_no_room(const struct lull_flight *flight)
{
    struct statvfs disk;
    if (flight->bytes >= flight->config.most_bytes) {
        return "the snapshots take 2 GiB together";
    }
    if (statvfs(".", &disk) == 0 &&
        (double)disk.f_bavail < flight->config.least_free * (double)disk.f_blocks) {
        return "less than 10 % of the disk is free";
    }
    return NULL;
}

static bool write_snapshot(struct lull_flight *flight, uint32_t rule,
                           const struct lull_recording_trigger *trigger, GError **error)
{
    const int64_t start_ns = now_ns();
    const bool done = lull_recorder_snapshot(flight->recorder, trigger->id, trigger, error);
    lull_trigger_limits_count(&flight->limits, rule, start_ns, now_ns(), done);
    if (done) {
        flight->bytes += lull_recorder_result(flight->recorder)->result.bytes;
        g_free(flight->last);
        flight->last = g_strdup(lull_recorder_path(flight->recorder));
    }
    return done;
}

/* The buffers first: everything else can wait. */
static void save(struct lull_flight *flight, const struct lull_track_alarm *alarm,
                 struct lull_flight_result *result)
{
    char id[LULL_SET_ID], comm[LULL_TRACK_COMM + 1];
    g_autoptr(GError) error = NULL;
    const bool is_frozen = lull_recorder_freeze(flight->recorder, &error);
    const int64_t frozen_ns = now_ns();
    struct lull_recording_trigger trigger =
        lull_trigger_of_alarm(alarm, lull_recorder_epoch_ns(flight->recorder), comm);
    lull_sets_name(g_get_real_time() * 1000, id);
    trigger.id = id;
    trigger.rule = alarm->rule->text;
    if (is_frozen && write_snapshot(flight, alarm->record->rule, &trigger, &error)) {
        result->path = flight->last;
        result->late_ns = frozen_ns - alarm->end_ns;
        flight->frozen_ns = frozen_ns;
        return;
    }
    lull_recorder_thaw(flight->recorder, NULL);
    g_free(flight->why);
    flight->why = g_strdup(error->message);
    result->verdict = LULL_TRIGGER_FAILED;
    result->why = flight->why;
}

struct lull_flight_result lull_flight_take(struct lull_flight *flight,
                                           const struct lull_track_alarm *alarm)
{
    struct lull_flight_result result = {
        .verdict = lull_trigger_limits_judge(&flight->limits, alarm->record->rule, now_ns())};
    const char *full = result.verdict == LULL_TRIGGER_WRITTEN ? why_no_room(flight) : NULL;
    if (full) {
        result.verdict = LULL_TRIGGER_LIMITED;
        result.why = full;
    } else if (result.verdict == LULL_TRIGGER_LIMITED) {
        result.why = "one a minute of each rule, 6 an hour, 20 a day";
    } else if (result.verdict == LULL_TRIGGER_FAILED) {
        result.why = flight->why;
    } else if (result.verdict == LULL_TRIGGER_WRITTEN) {
        save(flight, alarm, &result);
    }
    if (result.verdict == LULL_TRIGGER_COALESCED && alarm->end_ns <= flight->frozen_ns) {
        result.path = flight->last;
    } else if (result.verdict == LULL_TRIGGER_COALESCED) {
        result.why = "one was written less than five seconds earlier";
    }
    flight->n[result.verdict]++;
    return result;
}

/* ---- running ---- */

struct run {
    struct lull_flight *flight;
    const struct lull_flight_question *question;
};

static int prepare(void *user, struct lull_recorder *recorder, GError **error)
{
    const struct run *run = user;
    return run->question->prepare(run->question->user, recorder, error);
}

static void started(void *user, struct lull_recorder *recorder)
{
    const struct run *run = user;
    run->question->started(run->question->user, recorder);
}

static bool serve(void *user, struct lull_recorder *recorder, GError **error)
{
    const struct run *run = user;
    return run->question->check(run->question->user, error);
}

static bool is_over(void *user)
{
    const struct run *run = user;
    return run->question->is_over(run->question->user);
}

bool lull_flight_run(struct lull_flight *flight, const struct lull_flight_question *question,
                     GError **error)
{
    struct run run = {flight, question};
    const struct lull_record_companion companion = {.prepare = prepare,
                                                    .started = started,
                                                    .serve = serve,
                                                    .is_over = is_over,
                                                    .user = &run,
                                                    .capabilities = capabilities,
                                                    .n_capabilities = G_N_ELEMENTS(capabilities)};
    const struct lull_record_question recording = {.command = question->command,
                                                   .duration_ns = question->duration_ns,
                                                   .is_snapshot = true,
                                                   .companion = &companion};
    flight->recorder = lull_recorder_new(&recording, error);
    return flight->recorder && lull_recorder_run(flight->recorder, error);
}
