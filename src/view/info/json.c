/* SPDX-License-Identifier: MIT */
/* lull info for programs. The structure is promised in the manual (see info.c). */
#include <stdio.h>
#include <string.h>

#include <lull/recording.h>

#include "answers/containers.h"
#include "analysis/event_counts.h"
#include "base/json.h"
#include "view/info/info.h"
#include "base/pressure.h"
#include "view/quota.h"
#include "source/session/streams.h"

static void add(struct json_object *object, const char *key, struct json_object *value)
{
    json_object_object_add(object, key, value);
}

static void add_range(struct json_object *object, int64_t start_ns, int64_t end_ns)
{
    const bool is_empty = start_ns > end_ns;
    add(object, "begin_ns", is_empty ? NULL : json_object_new_int64(start_ns));
    add(object, "end_ns", is_empty ? NULL : json_object_new_int64(end_ns));
}

static void add_time(struct json_object *object, const char *key, int64_t time_ns)
{
    add(object, key, time_ns == INT64_MAX ? NULL : json_object_new_int64(time_ns));
}

static const char *host_name(const struct lull_info *info, uint32_t host)
{
    return lull_session_host(info->session, host)->name;
}

static struct json_object *json_gaps(const struct lull_info *info, uint32_t host)
{
    struct json_object *list = json_object_new_array();
    size_t n;
    const struct lull_gap *gaps = lull_info_gaps(info, host, &n);
    for (size_t i = 0; i < n; i++) {
        struct json_object *object = json_object_new_object();
        add_range(object, gaps[i].start_ns, gaps[i].end_ns);
        json_object_array_add(list, object);
    }
    return list;
}

static struct json_object *json_hosts(const struct lull_info *info)
{
    struct json_object *list = json_object_new_array();
    for (uint32_t host = 0; host < lull_session_host_count(info->session); host++) {
        if (!lull_info_shows(info, host)) {
            continue;
        }
        int64_t start_ns = INT64_MAX, end_ns = INT64_MIN;
        uint32_t n;
        const uint32_t *traces = lull_session_host_traces(info->session, host, &n);
        for (uint32_t i = 0; i < n; i++) {
            const struct lull_trace *trace = lull_session_trace(info->session, traces[i]);
            if (trace->start_ns <= trace->end_ns) {
                start_ns = MIN(start_ns, trace->start_ns);
                end_ns = MAX(end_ns, trace->end_ns);
            }
        }
        struct json_object *object = json_object_new_object();
        lull_json_add_text(object, "name", host_name(info, host));
        lull_json_add_number(object, "traces", n);
        add_range(object, start_ns, end_ns);
        add_time(object, "first_event_ns", info->first_ns[host]);
        add(object, "gaps", json_gaps(info, host));
        add(object, "hides_idle",
            json_object_new_boolean(info->hides_idle && info->hides_idle[host]));
        json_object_array_add(list, object);
    }
    return list;
}

static struct json_object *json_guests(const struct lull_info *info, uint32_t index)
{
    struct json_object *list = json_object_new_array();
    struct lull_info_guest guest;
    for (uint32_t i = 0; lull_info_guest(info->session, index, i, &guest); i++) {
        struct json_object *object = json_object_new_object();
        struct json_object *tids = json_object_new_array();
        g_auto(GStrv) words = g_strsplit(guest.vcpu_tids, " ", -1);
        for (char **word = words; *word; word++) {
            json_object_array_add(tids, json_object_new_int64(g_ascii_strtoll(*word, NULL, 10)));
        }
        lull_json_add_text(object, "name", guest.name);
        lull_json_add_text(object, "trace_id", guest.trace_id);
        add(object, "vcpu_tids", tids);
        json_object_array_add(list, object);
    }
    return list;
}

static struct json_object *json_trace(const struct lull_info *info, uint32_t index)
{
    const struct lull_trace *trace = lull_session_trace(info->session, index);
    const char *id = lull_session_environment(info->session, index, "trace_id");
    const char *host = lull_session_environment(info->session, index, "host_trace_id");
    struct json_object *object = json_object_new_object();
    struct json_object *clock = json_object_new_object();
    int64_t duration_ns;
    lull_json_add_text(object, "path", trace->path);
    lull_json_add_text(object, "host", host_name(info, trace->host));
    lull_json_add_text(object, "tracer", trace->tracer);
    lull_json_add_text(object, "domain", trace->domain);
    lull_json_add_text(object, "kernel", trace->kernel);
    lull_json_add_text(object, "session", trace->name);
    lull_json_add_text(object, "format", trace->format);
    lull_json_add_text(clock, "name", trace->clock_name);
    add(clock, "frequency_hz", json_object_new_uint64(trace->clock_frequency_hz));
    lull_json_add_number(clock, "offset_ns", trace->clock_offset_ns);
    add(object, "clock", clock);
    add_range(object, trace->start_ns, trace->end_ns);
    if (trace->start_ns > trace->end_ns ||
        __builtin_sub_overflow(trace->end_ns, trace->start_ns, &duration_ns)) {
        add(object, "duration_ns", NULL);
    } else {
        lull_json_add_number(object, "duration_ns", duration_ns);
    }
    if (trace->process[0]) {
        struct json_object *process = json_object_new_object();
        lull_json_add_text(process, "name", trace->process);
        lull_json_add_number(process, "pid", trace->process_id);
        add(object, "process", process);
    } else {
        add(object, "process", NULL);
    }
    add(object, "trace_id", id ? lull_json_text(id) : NULL);
    add(object, "guest_of", host ? lull_json_text(host) : NULL);
    add(object, "guests", json_guests(info, index));
    lull_json_add_number(object, "directories", trace->directory_count);
    lull_json_add_number(object, "streams", trace->stream_count);
    add(object, "packets", json_object_new_uint64(trace->packet_count));
    add(object, "size_bytes", json_object_new_uint64(trace->size_bytes));
    return object;
}

static struct json_object *json_traces(const struct lull_info *info)
{
    struct json_object *list = json_object_new_array();
    for (uint32_t i = 0; i < lull_session_trace_count(info->session); i++) {
        const struct lull_trace *trace = lull_session_trace(info->session, i);
        if (lull_info_shows(info, trace->host)) {
            json_object_array_add(list, json_trace(info, i));
        }
    }
    return list;
}

/* null for what is not known: less than 0. */
static void add_known(struct json_object *object, const char *key, int64_t number)
{
    add(object, key, number < 0 ? NULL : json_object_new_int64(number));
}

/* null if the rule does not ask for them. */
static void add_functions(struct json_object *object, const char *key, const char *const *functions)
{
    struct json_object *list = functions ? json_object_new_array() : NULL;
    for (uint32_t i = 0; functions && functions[i]; i++) {
        json_object_array_add(list, lull_json_text(functions[i]));
    }
    add(object, key, list);
}

static struct json_object *json_trigger(const struct lull_recording_trigger *trigger)
{
    struct json_object *object = json_object_new_object();
    lull_json_add_text(object, "id", trigger->id);
    lull_json_add_text(object, "rule", trigger->rule);
    lull_json_add_text(object, "comm", trigger->comm);
    add_known(object, "pid", trigger->pid);
    add_known(object, "tid", trigger->tid);
    add_range(object, trigger->start_ns, trigger->end_ns);
    add_functions(object, "stack", trigger->kernel_stack);
    add_functions(object, "waker_stack", trigger->waker_stack);
    add_functions(object, "user_stack", trigger->user_stack);
    return object;
}

static void add_stalls(struct json_object *object, struct lull_stalls stalls)
{
    for (uint32_t i = 0; i < LULL_STALL_FIELDS; i++) {
        add_known(object, lull_stall_keys[i], *lull_stall_field(&stalls, i));
    }
}

static void add_pressure_of(struct json_object *list, const char *cgroup, struct lull_stalls stalls)
{
    struct json_object *object = json_object_new_object();
    lull_json_add_text(object, "cgroup", cgroup);
    add_stalls(object, stalls);
    json_object_array_add(list, object);
}

/* Of the machine, then of its groups. */
static struct json_object *json_pressure(const struct lull_recording_info *recording)
{
    const uint32_t n = recording->n_pressure_samples;
    struct json_object *list = json_object_new_array();
    if (n) {
        add_pressure_of(list, "/", recording->pressure_samples[n - 1].stalls);
    }
    for (uint32_t i = 0; i < recording->n_group_pressures; i++) {
        add_pressure_of(list, recording->group_pressures[i].cgroup,
                        recording->group_pressures[i].stalls);
    }
    return list;
}

static struct json_object *json_samples(const struct lull_recording_info *recording)
{
    struct json_object *list = json_object_new_array();
    for (uint32_t i = 0; i < recording->n_pressure_samples; i++) {
        struct json_object *object = json_object_new_object();
        lull_json_add_number(object, "time_ns", recording->pressure_samples[i].time_ns);
        add_stalls(object, recording->pressure_samples[i].stalls);
        json_object_array_add(list, object);
    }
    return list;
}

static struct json_object *json_recording(const struct lull_info *info,
                                          const struct lull_recording_info *recording)
{
    struct json_object *object = json_object_new_object();
    lull_json_add_text(object, "path", recording->path);
    lull_json_add_text(object, "host", host_name(info, recording->host));
    lull_json_add_text(object, "lull", recording->program);
    lull_json_add_text(object, "tracer", recording->tracer);
    lull_json_add_text(object, "reason", recording->reason);
    lull_json_add_text(object, "purpose", recording->purpose);
    add(object, "filtered", json_object_new_boolean(recording->is_filtered));
    add(object, "snapshot", json_object_new_boolean(recording->is_snapshot));
    add(object, "command", lull_json_texts(recording->command));
    add_known(object, "pid", recording->pid);
    add_known(object, "exit_status", recording->exit_status);
    add_known(object, "signal", recording->signal);
    add_range(object, recording->start_ns, recording->end_ns);
    lull_json_add_text(object, "ended_by", recording->ended_by);
    add_known(object, "events", recording->events);
    add_known(object, "lost_events", recording->lost_events);
    lull_json_add_text(object, "names_missing",
                       recording->names_missing[0] ? recording->names_missing : NULL);
    lull_json_add_number(object, "lost_names", recording->lost_names);
    lull_json_add_number(object, "steal_ns", recording->steal_ns);
    struct json_object *quotas = json_object_new_array();
    for (uint32_t i = 0; i < recording->n_cpu_quotas; i++) {
        json_object_array_add(quotas, lull_quota_json(&recording->cpu_quotas[i]));
    }
    add(object, "cpu_quotas", quotas);
    add(object, "pressure", json_pressure(recording));
    add(object, "pressure_samples", json_samples(recording));
    add(object, "trigger", recording->trigger ? json_trigger(recording->trigger) : NULL);
    return object;
}

static struct json_object *json_recordings(const struct lull_info *info)
{
    struct json_object *list = json_object_new_array();
    for (uint32_t i = 0; i < lull_session_recording_count(info->session); i++) {
        const struct lull_recording_info *recording = lull_session_recording(info->session, i);
        if (lull_info_shows(info, recording->host)) {
            json_object_array_add(list, json_recording(info, recording));
        }
    }
    return list;
}

static struct json_object *json_containers(const struct lull_info *info)
{
    struct json_object *list = json_object_new_array();
    for (guint i = 0; i < info->containers->len; i++) {
        const struct lull_container_note *note = info->containers->pdata[i];
        if (!lull_info_shows(info, note->host)) {
            continue;
        }
        struct json_object *object = json_object_new_object();
        lull_json_add_text(object, "host", host_name(info, note->host));
        lull_json_add_text(object, "name", note->name);
        lull_json_add_text(object, "runtime", note->runtime);
        lull_json_add_text(object, "id", note->id);
        lull_json_add_text(object, "pod", note->pod);
        lull_json_add_text(object, "cgroup", note->cgroup);
        lull_json_add_number(object, "tasks", note->tasks);
        json_object_array_add(list, object);
    }
    return list;
}

static struct json_object *json_events(const struct lull_info *info)
{
    if (!info->events) {
        return NULL;
    }
    struct json_object *list = json_object_new_array();
    for (uint32_t i = 0; i < info->events->len; i++) {
        const struct lull_event_count *row =
            &g_array_index(info->events, struct lull_event_count, i);
        struct json_object *object = json_object_new_object();
        lull_json_add_text(object, "host", host_name(info, row->host));
        lull_json_add_text(object, "name", row->name);
        add(object, "count", json_object_new_uint64(row->count));
        json_object_array_add(list, object);
    }
    return list;
}

static struct json_object *json_lost(const struct lull_info *info)
{
    struct json_object *object = json_object_new_object();
    struct json_object *list = json_object_new_array();
    for (uint32_t i = 0; i < lull_session_loss_count(info->session); i++) {
        const struct lull_loss *loss = lull_session_loss(info->session, i);
        if (!lull_info_shows(info, loss->host)) {
            continue;
        }
        struct json_object *interval = json_object_new_object();
        lull_json_add_text(interval, "host", host_name(info, loss->host));
        lull_json_add_text(interval, "path", lull_session_trace(info->session, loss->trace)->path);
        lull_json_add_number(interval, "stream", loss->stream);
        lull_json_add_number(interval, "begin_ns", loss->start_ns);
        lull_json_add_number(interval, "end_ns", loss->end_ns);
        add(interval, "events", json_object_new_uint64(loss->events));
        add(interval, "packets", json_object_new_uint64(loss->packets));
        json_object_array_add(list, interval);
    }
    add(object, "events", json_object_new_uint64(info->lost_events));
    add(object, "packets", json_object_new_uint64(info->lost_packets));
    add(object, "intervals", list);
    return object;
}

static struct json_object *json_names(const struct lull_need *need)
{
    struct json_object *list = json_object_new_array();
    const char *name;
    for (uint32_t i = 0; (name = lull_need_name(need, i)); i++) {
        json_object_array_add(list, json_object_new_string(name));
    }
    return list;
}

static struct json_object *json_answer(const struct lull_info *info, uint32_t host,
                                       const struct lull_question *question)
{
    const struct lull_declared *declared = info->declared[host];
    struct json_object *object = json_object_new_object();
    struct json_object *lacks = json_object_new_array();
    struct json_object *without = json_object_new_array();
    for (const struct lull_need *need = question->needs; lull_need_name(need, 0); need++) {
        if (!lull_need_is_met(declared, need)) {
            json_object_array_add(lacks, json_names(need));
        }
    }
    for (const struct lull_need *need = question->improves; lull_need_name(need, 0); need++) {
        if (!lull_need_is_met(declared, need)) {
            struct json_object *missing = json_object_new_object();
            add(missing, "names", json_names(need));
            lull_json_add_text(missing, "then", need->without);
            json_object_array_add(without, missing);
        }
    }
    lull_json_add_text(object, "host", host_name(info, host));
    lull_json_add_text(object, "answer", lull_answer_name(lull_question_judge(declared, question)));
    add(object, "lacks", lacks);
    add(object, "without", without);
    return object;
}

static struct json_object *json_questions(const struct lull_info *info)
{
    struct json_object *list = json_object_new_array();
    for (const struct lull_question *question = lull_questions; question->id; question++) {
        struct json_object *object = json_object_new_object();
        struct json_object *hosts = json_object_new_array();
        lull_json_add_text(object, "id", question->id);
        lull_json_add_text(object, "text", question->text);
        for (uint32_t host = 0; host < lull_session_host_count(info->session); host++) {
            if (lull_info_shows(info, host)) {
                json_object_array_add(hosts, json_answer(info, host, question));
            }
        }
        add(object, "hosts", hosts);
        json_object_array_add(list, object);
    }
    return list;
}

/* What is damaged, and what is only to be known. */
static void add_problems(struct json_object *root, const struct lull_info *info)
{
    struct json_object *list = json_object_new_array();
    bool is_damaged = false;
    for (uint32_t i = 0; i < lull_session_problem_count(info->session); i++) {
        const char *problem = lull_session_problem(info->session, i);
        is_damaged |= !lull_session_problem_is_remark(info->session, i);
        if (problem) {
            json_object_array_add(list, lull_json_text(problem));
        }
    }
    add(root, "problems", list);
    add(root, "damaged", json_object_new_boolean(is_damaged));
}

void lull_info_print_json(const struct lull_info *info, FILE *file)
{
    struct json_object *root = json_object_new_object();
    lull_json_add_number(root, "version", 1);
    add_time(root, "zero_ns", info->zero_ns);
    add(root, "hosts", json_hosts(info));
    add(root, "recordings", json_recordings(info));
    add(root, "containers", json_containers(info));
    add(root, "traces", json_traces(info));
    add(root, "events", json_events(info));
    add(root, "lost", json_lost(info));
    add(root, "questions", json_questions(info));
    add_problems(root, info);
    g_autofree char *text = lull_json_format(root, true);
    fputs(text, file);
    fputc('\n', file);
}
