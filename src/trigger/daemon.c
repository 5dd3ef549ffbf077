/* SPDX-License-Identifier: MIT */
/* Everything meets in the recorder's own loop, so that nothing comes between an alarm and the moment at
 * which the buffers stop. */
#include "trigger/daemon.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/capability.h"
#include "base/time.h"
#include "live/talks.h"
#include "record/recorder.h"
#include "trigger/flight.h"
#include "trigger/inside.h"
#include "trigger/notify.h"
#include "trigger/peer_socket.h"
#include "trigger/process.h"
#include "trigger/reach.h"
#include "trigger/executor.h"
#include "trigger/set_sender.h"
#include "trigger/sets.h"
#include "trigger/stacks.h"
#include "trigger/urgent.h"
#include "trigger/watching.h"

#define COUNT_EVERY_NS LULL_NS_PER_S
#define WAITS_EVERY_NS (2 * LULL_NS_PER_S)
/* A request that ended longer ago is in no buffer. */
#define MOST_AGE_NS (3600 * LULL_NS_PER_S)

/* To read the tracker's counters; only CAP_SYS_ADMIN may measure what eBPF programs cost. */
static const uint8_t capabilities[] = {CAP_BPF, CAP_PERFMON, CAP_SYS_ADMIN};

struct lull_daemon {
    const struct lull_daemon_question *question;
    const struct lull_trigger_config *config;
    struct lull_trigger_config *own; /* that, if it was read again; else NULL */
    struct lull_trigger_limits limits;
    struct lull_speaker speaker;
    struct lull_executor executor;
    struct lull_recorder *recorder;
    struct lull_watching watching;
    int events; /* readable when there is something to do; -1: not open */
    int64_t counted_ns, summed_ns;
    int64_t epoch_ns;           /* of the recorder when we looked last; 0: not yet */
    struct lull_waited *waited; /* for metrics; else NULL */
    int sockets; /* asks the kernel about connections; -1: there are no other machines */
    struct lull_talks *talks; /* remembers those that are closed; or NULL */
    struct lull_set_senders senders;
    struct lull_machine_names *names;   /* of stacks */
    struct lull_user_names *user_names; /* likewise, without symbols */
    struct lull_urgent urgent, urgent_speaker;
    GString *last; /* the directory that was written last */
};

static int64_t now_ns(void)
{
    return g_get_monotonic_time() * 1000;
}

static void report(const struct lull_daemon *daemon, const char *format, ...) G_GNUC_PRINTF(2, 3);

static void report(const struct lull_daemon *daemon, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    g_autofree char *line = g_strdup_vprintf(format, args);
    va_end(args);
    daemon->question->report(daemon->question->user, line);
}

static const struct lull_trigger_rule *rule_of(const struct lull_daemon *daemon, uint32_t number)
{
    return daemon->config->rules->pdata[number];
}

/* ---- snapshots ---- */

static void make_room(struct lull_daemon *daemon, const char *kept, GError **error)
{
    uint32_t n_removed;
    lull_sets_make_room(daemon->config, kept, &n_removed, error);
    daemon->speaker.counts->removed += n_removed;
    if (n_removed == 1) {
        report(daemon, "removed the oldest snapshot to make room");
    } else if (n_removed > 1) {
        report(daemon, "removed the %u oldest snapshots to make room", n_removed);
    }
}

static bool write_snapshot(struct lull_daemon *daemon, const struct lull_recording_trigger *trigger,
                           GError **error)
{
    g_autofree char *path = g_build_filename(daemon->config->snapshots, trigger->id, NULL);
    const bool done = lull_recorder_snapshot(daemon->recorder, path, trigger, error);
    if (done) {
        const struct lull_recording *made = lull_recorder_result(daemon->recorder);
        const int64_t from_ns = made->result.start_ns;
        daemon->speaker.counts->history_ns =
            from_ns > 0 && made->end_ns > from_ns ? (uint64_t)(made->end_ns - from_ns) : 0;
        g_string_assign(daemon->last, path);
        make_room(daemon, trigger->id, NULL);
    }
    return done;
}

static bool has_room(struct lull_daemon *daemon, GError **error)
{
    g_autoptr(GError) why = NULL;
    make_room(daemon, NULL, &why);
    if (!why) {
        return true;
    }
    g_propagate_error(error, g_steal_pointer(&why));
    return false;
}

/* What is frozen is written, and the buffers thaw in any case. `whose` is for people: " of postgres". */
static enum lull_trigger_verdict save(struct lull_daemon *daemon, uint32_t number,
                                      const struct lull_recording_trigger *trigger,
                                      const char *whose)
{
    g_autoptr(GError) error = NULL;
    char took[LULL_TIME_TEXT_SIZE];
    lull_duration_format(trigger->end_ns - trigger->start_ns, took);
    lull_urgent_set(0, false); /* whoever else has to be frozen is asked */
    const int64_t start_ns = now_ns();
    if (lull_recorder_freeze(daemon->recorder, &error) && has_room(daemon, &error) &&
        write_snapshot(daemon, trigger, &error)) {
        report(daemon, "%s: %s%s: wrote %s", trigger->rule, took, whose, daemon->last->str);
    } else {
        lull_recorder_thaw(daemon->recorder, NULL);
        report(daemon, "%s: %s%s: no snapshot: %s", trigger->rule, took, whose, error->message);
    }
    lull_trigger_limits_count(&daemon->limits, number, start_ns, now_ns(), !error);
    lull_urgent_start(&daemon->urgent, 0);
    return error ? LULL_TRIGGER_FAILED : LULL_TRIGGER_WRITTEN;
}

/* ---- other machines ---- */

/* All machines that it touched are asked before anything is written here. */
static void spread(struct lull_daemon *daemon, const struct lull_spread_question *about,
                   int64_t pid, const struct lull_hook *hook)
{
    g_autoptr(GError) error = NULL;
    const struct lull_reach how = {daemon->sockets, daemon->talks, daemon->config,
                                   &daemon->speaker};
    bool is_known = true;
    if (daemon->sockets >= 0 && !lull_reach_ask(&how, about, pid, hook, &is_known, &error)) {
        report(daemon, "other machines cannot be asked: %s", error->message);
    } else if (!is_known && pid < 0 && about->n_connections > 0) {
        report(daemon,
               "%s: no other machine is asked: this machine does not know the connections by which "
               "the request came; their addresses may have been changed on the way (NAT)",
               about->set);
    }
}

static void add_connection(struct lull_spread_question *about,
                           const struct lull_trigger_endpoint *local,
                           const struct lull_trigger_endpoint *remote)
{
    if (local->port > 0 && remote->port > 0) {
        about->connection[about->n_connections++] = (struct lull_peer_connection){
            local->address, remote->address, local->port, remote->port};
    }
}

static void spread_from(struct lull_daemon *daemon, const struct lull_recording_trigger *trigger,
                        const struct lull_hook *hook)
{
    const int64_t epoch_ns = lull_recorder_epoch_ns(daemon->recorder);
    struct lull_spread_question about = {.start_ns = trigger->start_ns - epoch_ns,
                                         .end_ns = trigger->end_ns - epoch_ns,
                                         .hops = LULL_PEER_HOPS};
    g_strlcpy(about.set, trigger->id, sizeof about.set);
    g_strlcpy(about.rule, trigger->rule, sizeof about.rule);
    if (hook) {
        add_connection(&about, &hook->local, &hook->peer);
    }
    spread(daemon, &about, trigger->pid, hook);
}

static bool is_here(const struct lull_daemon *daemon, const char *set)
{
    g_autofree char *path = g_build_filename(daemon->config->snapshots, set, NULL);
    return g_file_test(path, G_FILE_TEST_EXISTS);
}

/* Another machine asks. It is answered as soon as the buffers stand still. */
static void take_question(struct lull_daemon *daemon, uint32_t number,
                          const struct lull_spread_question *question)
{
    const int64_t epoch_ns = lull_recorder_epoch_ns(daemon->recorder);
    const struct lull_recording_trigger trigger = {.id = question->set,
                                                   .rule = question->rule,
                                                   .comm = "",
                                                   .pid = -1,
                                                   .tid = -1,
                                                   .start_ns = question->start_ns + epoch_ns,
                                                   .end_ns = question->end_ns + epoch_ns};
    struct lull_trigger_counts *counts = daemon->speaker.counts;
    const bool is_known = is_here(daemon, question->set);
    g_autofree char *last = g_path_get_basename(daemon->last->str);
    enum lull_trigger_verdict verdict =
        is_known ? LULL_TRIGGER_COALESCED
                 : lull_trigger_limits_judge(&daemon->limits, LULL_TRIGGER_ASKED, now_ns());
    if (verdict == LULL_TRIGGER_WRITTEN && !lull_recorder_freeze(daemon->recorder, NULL)) {
        verdict = LULL_TRIGGER_FAILED;
    }
    counts->questions++;
    lull_speaker_answer_machine(&daemon->speaker, number, verdict,
                                is_known || verdict == LULL_TRIGGER_WRITTEN ? question->set
                                : verdict == LULL_TRIGGER_COALESCED         ? last
                                                                            : "");
    if (verdict == LULL_TRIGGER_WRITTEN) {
        g_autofree char *address = lull_peer_address_text(&question->to);
        g_autofree char *whose = g_strconcat(", asked by ", address, NULL);
        spread(daemon, question, -1, NULL);
        verdict = save(daemon, LULL_TRIGGER_ASKED, &trigger, whose);
    }
    counts->results[verdict]++;
}

static void take_outcome(struct lull_daemon *daemon, const struct lull_spread_outcome *outcome)
{
    g_autofree char *address = lull_peer_address_text(&outcome->to);
    daemon->speaker.counts->outcomes[outcome->verdict]++;
    lull_reach_note(daemon->config, outcome);
    report(daemon, "%s: %s: %s", outcome->set, address, lull_trigger_answers[outcome->verdict]);
}

/* ---- what is done ---- */

/* That of the rule, if something was written. */
static void run_command(const struct lull_daemon *daemon, uint32_t number,
                        const struct lull_recording_trigger *trigger, const char *comm,
                        enum lull_trigger_verdict verdict)
{
    struct lull_trigger_written written = {.pid = trigger->pid,
                                           .delay_ns = trigger->end_ns - trigger->start_ns};
    if (verdict == LULL_TRIGGER_WRITTEN && rule_of(daemon, number)->exec) {
        g_strlcpy(written.rule, trigger->rule, sizeof written.rule);
        g_strlcpy(written.set, trigger->id, sizeof written.set);
        g_strlcpy(written.comm, comm, sizeof written.comm);
        lull_executor_run(&daemon->executor, &written);
    }
}

static void remember(const struct lull_daemon *daemon, const struct lull_recording_trigger *trigger,
                     enum lull_trigger_verdict verdict)
{
    struct lull_trigger_alarm alarm = {.pid = trigger->pid,
                                       .tid = trigger->tid,
                                       .start_ns = trigger->start_ns,
                                       .end_ns = trigger->end_ns,
                                       .verdict = verdict};
    const bool has_path = verdict == LULL_TRIGGER_WRITTEN || verdict == LULL_TRIGGER_COALESCED;
    g_strlcpy(alarm.rule, trigger->rule, sizeof alarm.rule);
    g_strlcpy(alarm.comm, trigger->comm, sizeof alarm.comm);
    if (has_path && daemon->last->len < sizeof alarm.path) {
        g_strlcpy(alarm.path, daemon->last->str, sizeof alarm.path);
    }
    lull_trigger_counts_add_alarm(daemon->speaker.counts, &alarm);
}

/* Something was too slow, by a rule of the configuration: a request, or a wait. */
static enum lull_trigger_verdict act(struct lull_daemon *daemon, uint32_t number,
                                     struct lull_recording_trigger *trigger,
                                     const struct lull_speaker_report *slow,
                                     const struct lull_track_alarm *alarm)
{
    const struct lull_trigger_rule *rule = rule_of(daemon, number);
    struct lull_trigger_counts *counts = daemon->speaker.counts;
    enum lull_trigger_verdict verdict =
        lull_trigger_limits_judge(&daemon->limits, number, now_ns());
    char id[LULL_SET_ID];
    counts->alarms[number]++;
    if (slow && verdict != LULL_TRIGGER_WRITTEN &&
        !lull_inside_is_ours(&slow->sender, trigger->pid)) {
        trigger->pid = trigger->tid = -1; /* not worth looking for */
    }
    trigger->rule = rule->name;
    trigger->id = id;
    if (verdict == LULL_TRIGGER_WRITTEN) {
        g_autofree char *comm = g_strescape(trigger->comm, NULL);
        g_autofree char *whose = *comm ? g_strconcat(" of ", comm, NULL) : g_strdup("");
        lull_sets_name(g_get_real_time() * 1000, id);
        const bool is_frozen = lull_recorder_freeze(daemon->recorder, NULL);
        if (slow && !lull_inside_translate(&slow->sender, &trigger->pid, &trigger->tid)) {
            report(daemon,
                   "%s: it is not known who served the request: pid %d, tid %d do not exist, or "
                   "belong to a pid namespace whose process has ended",
                   id, (int)slow->hook.pid, (int)slow->hook.tid);
        }
        if (is_frozen && rule->is_spread) {
            spread_from(daemon, trigger, slow ? &slow->hook : NULL);
        }
        if (alarm) {
            lull_trigger_stacks_add(trigger, alarm, rule->stacks, daemon->names,
                                    daemon->user_names);
        }
        verdict = save(daemon, number, trigger, whose);
        lull_trigger_stacks_clear(trigger);
        run_command(daemon, number, trigger, comm, verdict);
    }
    counts->results[verdict]++;
    remember(daemon, trigger, verdict);
    return verdict;
}

/* ---- what is too slow ---- */

static void take_alarm(void *user, const struct lull_track_alarm *alarm)
{
    struct lull_daemon *daemon = user;
    char comm[LULL_TRACK_COMM + 1];
    struct lull_recording_trigger trigger =
        lull_trigger_of_alarm(alarm, lull_recorder_epoch_ns(daemon->recorder), comm);
    act(daemon, daemon->watching.number[alarm->record->rule], &trigger, NULL, alarm);
}

/* A request cannot end later than now; its server's clock is ours. */
static bool is_recent(const struct lull_hook *hook)
{
    const int64_t now = g_get_real_time() * 1000;
    return hook->end_ns <= now + LULL_NS_PER_S && hook->end_ns >= now - MOST_AGE_NS;
}

/* The time of day as snapshots have it. Those of LTTng have that of the clock before it was set. */
static int64_t to_recorded(const struct lull_daemon *daemon, int64_t wall_ns)
{
    const int64_t recorded_ns = lull_recorder_epoch_ns(daemon->recorder);
    const int64_t set_ns = lull_recorder_measure_epoch() - recorded_ns;
    return ABS(set_ns) > LULL_NS_PER_S / 1000 ? wall_ns - set_ns : wall_ns;
}

/* The recorder follows the clock. */
static void report_clock(struct lull_daemon *daemon)
{
    const int64_t epoch_ns = lull_recorder_epoch_ns(daemon->recorder);
    const int64_t set_ns = epoch_ns - daemon->epoch_ns;
    if (set_ns != 0 && daemon->epoch_ns != 0) {
        char text[LULL_TIME_TEXT_SIZE];
        lull_duration_format(ABS(set_ns), text);
        report(
            daemon,
            "the clock was set %s by %s, or the machine was suspended; snapshots have the new time",
            set_ns > 0 ? "forward" : "back", text);
    }
    daemon->epoch_ns = epoch_ns;
}

static void take_report(struct lull_daemon *daemon, const struct lull_speaker_report *slow)
{
    const struct lull_hook *hook = &slow->hook;
    struct lull_recording_trigger trigger = {
        .comm = "",
        .pid = hook->pid > 0 ? hook->pid : -1,
        .tid = hook->tid > 0 ? hook->tid : -1,
    };
    if (!is_recent(hook)) {
        daemon->speaker.counts->damaged_hooks++;
        lull_speaker_answer(&daemon->speaker, slow, "damaged");
        return;
    }
    trigger.end_ns = to_recorded(daemon, hook->end_ns);
    trigger.start_ns = trigger.end_ns - hook->delay_ns;
    const enum lull_trigger_verdict verdict =
        act(daemon, lull_trigger_config_rule(daemon->config, slow->rule), &trigger, slow, NULL);
    const bool has_path = verdict == LULL_TRIGGER_WRITTEN || verdict == LULL_TRIGGER_COALESCED;
    g_autofree char *text = g_strdup_printf("%s%s%s", lull_trigger_verdicts[verdict],
                                            has_path ? " " : "", has_path ? daemon->last->str : "");
    lull_speaker_answer(&daemon->speaker, slow, text);
}

/* ---- in the recorder's loop ---- */

static bool count(struct lull_daemon *daemon, GError **error)
{
    if (!daemon->watching.tracker || now_ns() - daemon->counted_ns < COUNT_EVERY_NS) {
        return true;
    }
    daemon->counted_ns = now_ns();
    return lull_watching_count(&daemon->watching, daemon->speaker.counts, error);
}

/* What all waits came to, for metrics. */
static bool sum_waits(struct lull_daemon *daemon, GError **error)
{
    struct lull_interval interval;
    struct lull_track_histograms lengths;
    struct lull_tracker *tracker = daemon->watching.tracker;
    if (!tracker || !daemon->waited || now_ns() - daemon->summed_ns < WAITS_EVERY_NS) {
        return true;
    }
    daemon->summed_ns = now_ns();
    lull_interval_init(&interval);
    const bool done = lull_watching_histograms(&daemon->watching, &lengths, error) &&
                      lull_tracker_chains(tracker, interval.chains, error);
    if (done) {
        lull_waited_add(daemon->waited, &interval);
        lull_trigger_counts_set_waits(daemon->speaker.counts, &lengths,
                                      lull_waited_sums(daemon->waited));
    }
    lull_interval_clear(&interval);
    return done;
}

static bool serve(void *user, struct lull_recorder *recorder, GError **error)
{
    struct lull_daemon *daemon = user;
    struct lull_speaker_report heard;
    report_clock(daemon);
    lull_urgent_check(&daemon->urgent);
    lull_urgent_check(&daemon->urgent_speaker);
    struct lull_tracker *tracker = daemon->watching.tracker;
    if (tracker) {
        lull_tracker_govern(tracker);
    }
    if (tracker && !lull_tracker_take(tracker, error)) {
        return false;
    }
    while (lull_speaker_take(&daemon->speaker, daemon->config, &heard)) {
        if (heard.kind == LULL_SPEAKER_SLOW) {
            take_report(daemon, &heard);
        } else if (heard.kind == LULL_SPEAKER_FETCH) {
            lull_set_send(&daemon->senders, daemon->config, heard.set, heard.fd);
        } else if (heard.kind == LULL_SPEAKER_ASKED) {
            take_question(daemon, heard.number, &heard.question);
        } else {
            take_outcome(daemon, &heard.outcome);
        }
    }
    lull_set_senders_check(&daemon->senders);
    /* Who cannot be reached, or cannot write any more, has to be started again. */
    return lull_speaker_check(&daemon->speaker, error) &&
           lull_executor_check(&daemon->executor, error) &&
           lull_recorder_is_whole(recorder, error) && count(daemon, error) &&
           sum_waits(daemon, error);
}

/* ---- starting ---- */

static bool watch(struct lull_daemon *daemon, int fd, GError **error)
{
    struct epoll_event event = {.events = EPOLLIN};
    if (epoll_ctl(daemon->events, EPOLL_CTL_ADD, fd, &event) == 0) {
        return true;
    }
    g_set_error(error, LULL_ERROR, LULL_ERROR_IO, "cannot wait for alarms: %s", g_strerror(errno));
    return false;
}

static void report_line(void *user, const char *line)
{
    report(user, "%s", line);
}

/* Of the rules of waits and for metrics, if there are any. */
static bool start_watching(struct lull_daemon *daemon, const struct lull_trigger_config *config,
                           struct lull_watching *watching, GError **error)
{
    const struct lull_watching_question question = {.config = config,
                                                    .alarm = take_alarm,
                                                    .report = report_line,
                                                    .user = daemon,
                                                    .report_user = daemon};
    if (!lull_watching_start(watching, &question, error)) {
        return false;
    }
    if (!watching->tracker || watch(daemon, lull_tracker_fd(watching->tracker), error)) {
        return true;
    }
    lull_watching_clear(watching);
    return false;
}

static int prepare(void *user, struct lull_recorder *recorder, GError **error)
{
    struct lull_daemon *daemon = user;
    daemon->recorder = recorder;
    daemon->events = epoll_create1(EPOLL_CLOEXEC);
    g_autoptr(GError) why = NULL;
    daemon->talks = daemon->sockets >= 0 ? lull_talks_new(&why) : NULL;
    if (why) {
        report(daemon,
               "Lull does not see connections that were closed before an alarm, UDP and unix "
               "sockets: %s",
               why->message);
    }
    const bool done = watch(daemon, daemon->speaker.socket, error) &&
                      start_watching(daemon, daemon->config, &daemon->watching, error);
    return done ? daemon->events : -1;
}

/* ---- other rules ---- */

/* Those of rules that are gone are gone, too. */
static void move_counts(struct lull_daemon *daemon, const struct lull_trigger_config *next)
{
    uint64_t before[LULL_TRIGGER_RULES], *alarms = daemon->speaker.counts->alarms;
    memcpy(before, alarms, sizeof before);
    for (uint32_t i = 0; i < LULL_TRIGGER_RULES; i++) {
        const uint32_t was = lull_trigger_config_rule_as(daemon->config, next, i);
        alarms[i] = was < LULL_TRIGGER_RULES ? before[was] : 0;
    }
}

/* All processes have the same rules: none of them changes anything before each has read the others. The process that listens
 * comes last: it shows the daemon's counts by the numbers of its own rules. Commands go by the names of their rules, so
 * one that is late starts no other's. */
static bool pass_on(struct lull_daemon *daemon, const GString *text, GError **error)
{
    const int fd = lull_process_text(text->str, text->len, error);
    const bool done = fd >= 0 && lull_executor_offer_rules(&daemon->executor, fd, error) &&
                      lull_speaker_offer_rules(&daemon->speaker, fd, error) &&
                      lull_executor_set_rules(&daemon->executor, error) &&
                      lull_speaker_set_rules(&daemon->speaker, error);
    if (fd >= 0) {
        close(fd);
    }
    return done;
}

static bool change(struct lull_daemon *daemon, const GString *text,
                   struct lull_trigger_config *next, GError **error)
{
    const char *key = lull_trigger_config_needs_start(daemon->config, next);
    struct lull_watching watching;
    if (key) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_QUESTION,
                    "“%s” has changed; that takes effect when the daemon starts again", key);
        return false;
    }
    if (!start_watching(daemon, next, &watching, error)) {
        return false;
    }
    if (!pass_on(daemon, text, error)) {
        lull_watching_clear(&watching);
        return false;
    }
    lull_trigger_limits_change(&daemon->limits, next);
    move_counts(daemon, next);
    lull_watching_clear(&daemon->watching);
    lull_trigger_config_free(daemon->own);
    daemon->config = daemon->own = next;
    daemon->watching = watching;
    daemon->speaker.counts->unwatched = watching.unwatched;
    return true;
}

/* SIGHUP: the rules and limits of the file hold from now on, unless something is wrong with it. What the
 * buffers hold stays. */
static void reload(void *user)
{
    struct lull_daemon *daemon = user;
    g_autoptr(GString) text = g_string_new(NULL);
    g_autoptr(GError) error = NULL;
    lull_urgent_set(0, false);
    struct lull_trigger_config *next =
        lull_trigger_config_read(daemon->question->path, text, &error);
    if (next && change(daemon, text, next, &error)) {
        report(daemon, "read the configuration again: %u rule%s", next->rules->len,
               next->rules->len == 1 ? "" : "s");
    } else {
        lull_trigger_config_free(next);
        report(daemon, "the configuration stays as it was: %s", error->message);
    }
    lull_urgent_start(&daemon->urgent, 0);
}

static void started(void *user, struct lull_recorder *recorder)
{
    struct lull_daemon *daemon = user;
    if (!lull_urgent_start(&daemon->urgent, 0) ||
        !lull_urgent_start(&daemon->urgent_speaker, daemon->speaker.pid)) {
        report(daemon,
               "no real-time priority, so other tasks that want a CPU can delay the "
               "daemon: %s",
               g_strerror(errno));
    }
    const uint32_t cleaned = lull_recorder_cleaned(recorder);
    if (cleaned) {
        report(daemon, "removed what %u killed recording%s had left behind", cleaned,
               cleaned == 1 ? "" : "s");
    }
    report(daemon, "ready: %u rule%s; the flight recorder uses %s; snapshots go to %s",
           daemon->config->rules->len, daemon->config->rules->len == 1 ? "" : "s",
           lull_recorder_tracer(recorder), daemon->config->snapshots);
    lull_notify_ready();
}

static void failed(void *user, const GError *error)
{
    report(user, "no snapshot: %s", error->message);
}

static void wrote(void *user, const struct lull_recorder *recorder)
{
}

static bool run_recorder(struct lull_daemon *daemon, GError **error)
{
    const struct lull_trigger_config *config = daemon->config;
    const struct lull_record_companion companion = {.prepare = prepare,
                                                    .started = started,
                                                    .serve = serve,
                                                    .reload = reload,
                                                    .user = daemon,
                                                    .capabilities = capabilities,
                                                    .n_capabilities = G_N_ELEMENTS(capabilities),
                                                    .leftover = config->hook};
    const struct lull_record_question question = {.purpose = config->purpose_id,
                                                  .tracer = config->tracer,
                                                  .host_name = config->name,
                                                  .buffer_bytes = config->buffer_bytes,
                                                  .is_snapshot = true,
                                                  .wants_headers = config->key != NULL,
                                                  .wrote = wrote,
                                                  .failed = failed,
                                                  .user = daemon,
                                                  .companion = &companion};
    struct lull_recorder *recorder = lull_recorder_new(&question, error);
    const bool done = recorder && lull_recorder_run(recorder, error);
    lull_watching_clear(&daemon->watching);
    lull_talks_free(daemon->talks);
    lull_recorder_free(recorder);
    if (daemon->events >= 0) {
        close(daemon->events);
    }
    return done;
}

bool lull_daemon_run(const struct lull_daemon_question *question, GError **error)
{
    const struct lull_trigger_config *config = question->config;
    struct lull_daemon daemon = {.question = question,
                                 .config = config,
                                 .events = -1,
                                 .sockets = -1,
                                 .executor = {-1, -1},
                                 .names = lull_machine_names_new(),
                                 .user_names = lull_user_names_new(false),
                                 .last = g_string_new(NULL),
                                 .waited = config->metrics_port > 0 ? lull_waited_new() : NULL};
    /* Snapshots belong to the daemon, whoever started it. */
    g_unsetenv("SUDO_UID");
    lull_trigger_limits_init(&daemon.limits, config);
    const bool done = lull_sets_prepare(config->snapshots, error) &&
                      (!config->key || (daemon.sockets = lull_touched_open(error)) >= 0) &&
                      lull_speaker_start(&daemon.speaker, config, error) &&
                      lull_executor_start(&daemon.executor, config, daemon.speaker.counts, error) &&
                      run_recorder(&daemon, error);
    lull_set_senders_clear(&daemon.senders);
    lull_executor_clear(&daemon.executor);
    if (daemon.speaker.counts) {
        lull_speaker_clear(&daemon.speaker, config);
    }
    if (daemon.sockets >= 0) {
        close(daemon.sockets);
    }
    lull_trigger_limits_clear(&daemon.limits);
    lull_trigger_config_free(daemon.own);
    g_string_free(daemon.last, TRUE);
    lull_waited_free(daemon.waited);
    lull_machine_names_free(daemon.names);
    lull_user_names_free(daemon.user_names);
    return done;
}
