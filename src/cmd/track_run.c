/* SPDX-License-Identifier: MIT */
/* Alarms as they come, of all tasks or of a command, with a flight recorder or without. */
#include "cmd/track_run.h"

#include <stdio.h>

#include "base/time.h"
#include "cmd/live_args.h"
#include "cmd/say.h"
#include "cmd/status.h"
#include "live/unqueued.h"
#include "record/watch.h"

/* ---- alarms ---- */

static bool is_shown(struct lull_track *track)
{
    const int64_t second = g_get_monotonic_time() / G_USEC_PER_SEC;
    if (track->second != second) {
        track->second = second;
        track->shown = 0;
    }
    return track->rate == 0 || track->shown++ < track->rate;
}

static bool has_all(const struct lull_track *track)
{
    return track->most_alarms >= 0 && track->n_alarms >= (uint64_t)track->most_alarms;
}

/* At once: what happens meanwhile takes the place of what led to the alarm. */
static struct lull_alarm_snapshot save(struct lull_track *track,
                                       const struct lull_track_alarm *alarm)
{
    const struct lull_flight_result result = lull_flight_take(&track->flight, alarm);
    return (struct lull_alarm_snapshot){.result = lull_trigger_verdicts[result.verdict],
                                        .path = result.path,
                                        .why = result.why,
                                        .late_ns = result.late_ns};
}

static void take_alarm(void *user, const struct lull_track_alarm *alarm)
{
    struct lull_track *track = user;
    struct lull_alarm_snapshot snapshot = {0};
    if (has_all(track)) {
        return;
    }
    track->n_alarms++;
    if (track->has_snapshots) {
        snapshot = save(track, alarm);
    }
    if (track->action.command) {
        g_auto(GStrv) variables = lull_alarm_variables(&track->view, alarm);
        lull_action_run(&track->action, (const char *const *)variables);
    }
    if (!is_shown(track) && !snapshot.late_ns) {
        track->n_hidden++;
    } else if (track->is_json) {
        lull_alarm_json(&track->view, alarm, track->has_snapshots ? &snapshot : NULL);
    } else {
        lull_alarm_text(&track->view, alarm);
        if (track->has_snapshots) {
            lull_alarm_snapshot_text(&track->view, &snapshot);
        }
    }
    fflush(track->view.file);
}

static bool show_histograms(struct lull_track *track, GError **error)
{
    struct lull_track_histograms since = {0};
    const int64_t now_ns = g_get_monotonic_time() * 1000, from_ns = track->from_ns;
    track->from_ns = now_ns;
    return lull_tracker_histograms(track->tracker, &track->before, &since, error) &&
           lull_rule_histograms(
               &track->view, (const struct lull_track_rule *const *)track->rules->pdata,
               track->rules->len, since.rule, from_ns, now_ns, track->is_json, error);
}

static bool take(struct lull_track *track, GError **error)
{
    if (g_get_monotonic_time() >= track->next_us) {
        track->next_us = lull_watch_due(track->next_us, track->interval_ns, track->end_us);
        if (!show_histograms(track, error)) {
            return false;
        }
    }
    const bool done = lull_tracker_take(track->tracker, error);
    fflush(track->view.file);
    return done;
}

/* ---- running ---- */

static bool has_ended(void *user, enum lull_recording_end *how, GError **error)
{
    struct lull_track *track = user;
    const bool is_over =
        has_all(track) || (track->command && lull_command_has_ended(&track->child, false));
    *how = LULL_RECORDING_ENDED_BY_COMMAND;
    return is_over;
}

static bool check(void *user, GError **error)
{
    struct lull_track *track = user;
    lull_tracker_govern(track->tracker);
    lull_action_reap(&track->action, false);
    if (track->flight.recorder) { /* which follows the clock */
        track->view.epoch_ns = lull_recorder_epoch_ns(track->flight.recorder);
    }
    return take(track, error);
}

static void requested(void *user, bool is_signal)
{
    take(user, NULL); /* what is wrong is said at the next check */
}

/* `command`: only this task and what it starts; 0: all. */
static bool start_tracker(struct lull_track *track, uint32_t command, GError **error)
{
    const struct lull_tracker_question question = {
        .backend = track->backend,
        .rules = (const struct lull_track_rule *const *)track->rules->pdata,
        .n_rules = track->rules->len,
        .command = command,
        .most_overhead = track->most_overhead,
        .has_histograms = track->has_histograms,
        .stacks = track->stacks,
        .marks = (const char *const *)track->marks,
        .has_served = track->has_served,
        .alarm = take_alarm,
        .user = track};
    if (track->stacks & LULL_TRACK_USER_STACK) { /* later, processes would end meanwhile */
        lull_machine_function(track->view.names, 0);
    }
    track->tracker = lull_tracker_new(&question, error);
    const int64_t now_us = g_get_monotonic_time();
    track->from_ns = now_us * 1000;
    track->end_us = lull_watch_until(track->duration_ns);
    track->next_us =
        track->interval_ns ? lull_watch_due(now_us, track->interval_ns, track->end_us) : INT64_MAX;
    return track->tracker != NULL;
}

static bool start(struct lull_track *track, GError **error)
{
    return start_tracker(track, track->command ? (uint32_t)track->child.pid : 0, error) &&
           (!track->command || lull_command_release(&track->child, track->command[0], error));
}

static bool report_end(struct lull_track *track, GError **error)
{
    struct lull_tracker_counts counts;
    if (!lull_tracker_finish(track->tracker, error)) {
        return false;
    }
    track->view.how = lull_tracker_how(track->tracker);
    lull_action_reap(&track->action, true);
    if (!lull_tracker_count(track->tracker, &counts, error) ||
        (track->has_histograms && !show_histograms(track, error))) {
        return false;
    }
    if (track->is_json) {
        lull_alarm_end_json(&track->view, &counts, track->n_alarms);
    } else {
        lull_alarm_end_text(&track->view, &counts, track->n_alarms, track->n_hidden);
    }
    fflush(track->view.file);
    return true;
}

static bool watch(struct lull_track *track, GError **error)
{
    enum lull_recording_end how;
    struct lull_watch watch = {.has_ended = has_ended,
                               .check = check,
                               .requested = requested,
                               .user = track,
                               .request = -1,
                               .wake = -1,
                               .duration_ns = track->duration_ns,
                               .due_us = &track->next_us,
                               .ends_stuck = true,
                               .command = track->command ? track->child.pid : -1};
    lull_watch_start(&watch);
    bool done = start(track, error);
    if (done) {
        watch.request = lull_tracker_fd(track->tracker);
        done = lull_watch_wait(&watch, &how, error) && report_end(track, error);
    }
    lull_watch_end(&watch);
    return done;
}

static int finish(struct lull_track *track, bool done)
{
    const int why = track->child.exec_errno;
    if (why) {
        return lull_status_of_exec(why);
    }
    if (!done || !track->command || !track->child.has_ended) {
        return done ? 0 : 1;
    }
    const int status = track->child.wait_status;
    return lull_status_of_wait(status);
}

/* ---- with a flight recorder ---- */

static int prepare(void *user, struct lull_recorder *recorder, GError **error)
{
    struct lull_track *track = user;
    const pid_t command = lull_recorder_command(recorder);
    track->view.epoch_ns = lull_recorder_epoch_ns(recorder);
    return start_tracker(track, command > 0 ? (uint32_t)command : 0, error)
               ? lull_tracker_fd(track->tracker)
               : -1;
}

static void started(void *user, struct lull_recorder *recorder)
{
    lull_say("lull: the flight recorder uses %s\n", lull_recorder_tracer(recorder));
}

static bool is_over(void *user)
{
    return has_all(user);
}

static int run_recorder(struct lull_track *track, GError **error)
{
    const struct lull_flight_question question = {.command = track->command,
                                                  .duration_ns = track->duration_ns,
                                                  .prepare = prepare,
                                                  .check = check,
                                                  .is_over = is_over,
                                                  .started = started,
                                                  .user = track};
    const bool done = lull_flight_run(&track->flight, &question, error) && report_end(track, error);
    struct lull_recorder *recorder = track->flight.recorder;
    const int why = recorder ? lull_recorder_exec_errno(recorder) : 0;
    if (why) {
        return lull_status_of_exec(why);
    }
    if (!recorder || !track->command) {
        return done ? 0 : 1;
    }
    const int status = lull_recorder_wait(recorder);
    return done ? lull_status_of_wait(status) : 1;
}

static int run_alone(struct lull_track *track, GError **error)
{
    if (track->command &&
        !lull_command_start(&track->child, track->command, NULL, &track->invoker, error)) {
        return 1;
    }
    const int status = finish(track, watch(track, error));
    lull_command_end(&track->child);
    return status;
}

/* Else what is not seen would look as if nothing had happened. */
static void say_unseen(const struct lull_track *track)
{
    for (uint32_t i = 0; i < track->rules->len; i++) {
        g_autofree char *unqueued = lull_track_unqueued(track->rules->pdata[i]);
        if (unqueued) {
            lull_say("lull: note: %s\n", unqueued);
        }
    }
}

int lull_track_run(struct lull_track *track, const struct lull_args *args, GError **error)
{
    lull_flight_init(&track->flight);
    lull_view_style_init(&track->view.style, stdout, lull_args_text(args, "color"));
    track->view.file = stdout;
    track->view.epoch_ns = lull_epoch_of_monotonic();
    track->view.style.local_time = lull_args_flag(args, "local");
    if ((track->command || track->action.command) && !lull_invoker_init(&track->invoker, error)) {
        return 1;
    }
    track->action.invoker = &track->invoker;
    track->view.action = track->action.command ? &track->action : NULL;
    track->view.names = lull_machine_names_new();
    track->view.user_names = lull_user_names_new(true);
    say_unseen(track);
    const int status = track->has_snapshots ? run_recorder(track, error) : run_alone(track, error);
    lull_tracker_free(track->tracker);
    lull_machine_names_free(track->view.names);
    lull_user_names_free(track->view.user_names);
    lull_flight_clear(&track->flight);
    return status;
}
