/* SPDX-License-Identifier: MIT */
/* Text and JSON of alarms. Names of tasks are anybody's text, and are cleaned. */
#include "view/live/alarm.h"

#include <inttypes.h>
#include <string.h>

#include "base/json.h"
#include "base/time.h"
#include "view/live/histograms.h"
#include "view/words.h"

/* More of a stack than this is for programs. */
#define SHOWN_FRAMES 6

/* ---- what both show ---- */

/* What every sleeper has innermost, and every call outermost. */
static bool is_plumbing(const char *function)
{
    static const char *const names[] = {"schedule",      "__schedule",     "io_schedule",
                                        "do_syscall_64", "x64_sys_call",   "invoke_syscall",
                                        "el0_svc",       "try_to_wake_up", NULL};
    return g_strv_contains(names, function) || g_str_has_prefix(function, "schedule_") ||
           g_str_has_prefix(function, "entry_SYSCALL") ||
           g_str_has_prefix(function, "__bpf_trace") || g_str_has_prefix(function, "bpf_");
}

static bool is_task(const struct lull_track_hop *hop)
{
    return hop->kind == LULL_TRACK_HOP_TASK;
}

/* ---- text ---- */

static void add_time(GString *out, int64_t time_ns)
{
    char text[LULL_TIME_TEXT_SIZE];
    lull_duration_format(time_ns, text);
    g_string_append(out, text);
}

static void add_comm(const struct lull_alarm_view *view, GString *out, const char *comm,
                     uint32_t tid)
{
    lull_clean_append(out, comm, !view->style.unicode);
    g_string_append_printf(out, "/%u", tid);
}

/* "sleep/14166", or "sleep/14166 (5 in its container)" */
static void add_subject(const struct lull_alarm_view *view, GString *out,
                        const struct lull_track_record *record)
{
    uint32_t own_pid, own_tid;
    add_comm(view, out, record->comm, record->tid);
    if (lull_machine_own_ids(record->tgid, record->tid, &own_pid, &own_tid)) {
        g_string_append_printf(out, " (%u in its container)", own_tid);
    }
}

static void add_hop(const struct lull_alarm_view *view, GString *out,
                    const struct lull_track_hop *hop)
{
    if (is_task(hop)) {
        add_comm(view, out, hop->comm, hop->b);
        return;
    }
    g_autoptr(GString) words = g_string_new(NULL);
    lull_machine_describe(view->names, hop, words);
    lull_clean_append(out, words->str, !view->style.unicode);
}

/* "9.1 ms for bbb/12, 2 ms for a timer, 0.2 ms for a CPU" */
static void add_parts(const struct lull_alarm_view *view, GString *out,
                      const struct lull_track_alarm *alarm)
{
    const char *before = "   ";
    for (uint32_t i = 0; i < alarm->n_parts; i++) {
        const struct lull_track_part *part = &alarm->part[i];
        g_string_append(out, before);
        add_time(out, part->end_ns - part->start_ns);
        g_string_append(out, " for ");
        add_hop(view, out, part->hop);
        before = ", ";
    }
    if (alarm->is_cut && alarm->n_parts > 0) {
        const int64_t rest_ns =
            alarm->part[alarm->n_parts - 1].start_ns - (int64_t)alarm->record->since_ns;
        g_string_append(out, before);
        add_time(out, rest_ns);
        g_string_append(out,
                        view->style.unicode ? " for … (longer chain)" : " for ... (longer chain)");
    } else if (alarm->n_parts == 0 && alarm->record->state) {
        g_string_append_printf(out, "%swaker not known", before);
        before = ", ";
    }
    if (alarm->cpu_from_ns < alarm->end_ns) {
        g_string_append(out, before);
        add_time(out, alarm->end_ns - alarm->cpu_from_ns);
        g_string_append(out, " for a CPU");
    }
    g_string_append_c(out, '\n');
}

static void add_frames(const struct lull_alarm_view *view, GString *out, const char *words,
                       const uint64_t *frames, uint32_t n)
{
    uint32_t shown = 0;
    frames = lull_machine_own_frames(view->names, frames, &n);
    for (uint32_t i = 0; i < n && shown < SHOWN_FRAMES; i++) {
        const char *function = lull_machine_function(view->names, frames[i]);
        if (function && !is_plumbing(function)) {
            g_string_append_printf(out, "%s%s", shown++ ? " " : words, function);
        }
    }
    if (shown) {
        g_string_append_c(out, '\n');
    }
}

static void add_user_frames(const struct lull_alarm_view *view, GString *out,
                            const struct lull_track_alarm *alarm)
{
    const struct lull_track_record *record = alarm->record;
    const uint32_t n = MIN(alarm->n_user, SHOWN_FRAMES);
    for (uint32_t i = 0; i < n; i++) {
        g_autoptr(GString) name = g_string_new(NULL);
        lull_user_names_append(view->user_names, record->tgid, record->user.frame[i], name);
        g_string_append(out, i ? " " : "   called by ");
        lull_clean_append(out, name->str, !view->style.unicode);
    }
    if (n) {
        g_string_append_c(out, '\n');
    }
}

static void add_stacks(const struct lull_alarm_view *view, GString *out,
                       const struct lull_track_alarm *alarm)
{
    const struct lull_track_record *record = alarm->record;
    add_frames(view, out, "   in ", record->kernel.frame, alarm->n_kernel);
    add_user_frames(view, out, alarm);
    add_frames(view, out, "   woken in ", record->waker.frame, alarm->n_waker);
}

/* "mark checkout 4711" */
static void add_object_name(const struct lull_alarm_view *view, GString *out,
                            const struct lull_track_alarm *alarm)
{
    add_hop(view, out, alarm->object);
    if (alarm->object->kind == LULL_TRACK_HOP_MARK) {
        g_string_append_printf(out, " %s ", alarm->rule->argument);
        lull_clean_append(out, alarm->record->cookie, !view->style.unicode);
    }
}

/* "disk vda (write) at sector 812, issued by postgres/437" */
static void add_object(const struct lull_alarm_view *view, GString *out,
                       const struct lull_track_alarm *alarm)
{
    add_object_name(view, out, alarm);
    if (alarm->object->kind == LULL_TRACK_HOP_DISK) {
        g_string_append_printf(out, " at sector %" PRIu64, alarm->object->sector);
    }
    if (alarm->rule->kind->has_no_task) {
        g_string_append_printf(out, " on CPU %u", alarm->record->cpu);
    }
    g_string_append_printf(out, ", %s ", alarm->rule->kind->by);
    add_subject(view, out, alarm->record);
    g_string_append_c(out, '\n');
}

static void add_share(GString *out, int64_t time_ns, const char *words)
{
    if (time_ns > 0) {
        g_string_append(out, out->str[out->len - 1] == '\n' ? "   " : ", ");
        add_time(out, time_ns);
        g_string_append(out, words);
    }
}

/* "402 ms for a packet from 10.9.0.3:5432, 211 ms for a CPU, 118 ms running" */
static void add_served(const struct lull_alarm_view *view, GString *out,
                       const struct lull_served *served)
{
    for (uint32_t i = 0; i < served->n_parts; i++) {
        const struct lull_track_link *link = &served->part[i].link;
        g_autoptr(GString) words = g_string_new(NULL);
        lull_machine_describe_link(view->names, link, words);
        add_share(out, served->part[i].ns, " for ");
        lull_clean_append(out, link->kind ? words->str : "somebody not known",
                          !view->style.unicode);
        if (link->kind == LULL_TRACK_HOP_TASK) {
            g_string_append_printf(out, "/%u", link->a);
        }
    }
    add_share(out, served->rest_ns, " for others");
    add_share(out, served->cpu_ns, " for a CPU");
    add_share(out, served->ran_ns, " running");
    add_share(out, served->unknown_ns, " not known");
    g_string_append_c(out, '\n');
}

void lull_alarm_text(const struct lull_alarm_view *view, const struct lull_track_alarm *alarm)
{
    const struct lull_track_record *record = alarm->record;
    char clock[LULL_TIME_TEXT_SIZE];
    g_autoptr(GString) out = g_string_new(NULL);
    lull_time_format_clock(alarm->end_ns + view->epoch_ns, view->style.local_time, clock);
    g_string_append_printf(out, "%s %s ", clock, alarm->rule->kind->name);
    add_time(out, alarm->end_ns - alarm->start_ns);
    if (alarm->is_open) {
        g_string_append(out, " and still open, > ");
        add_time(out, alarm->rule->timeout_ns);
    } else if (!alarm->rule->is_worst) {
        g_string_append(out, " > ");
        add_time(out, alarm->rule->threshold_ns);
    }
    g_string_append(out, "  ");
    if (alarm->object) {
        add_object(view, out, alarm);
        if (alarm->served) {
            add_served(view, out, alarm->served);
        }
        add_stacks(view, out, alarm);
        fputs(out->str, view->file);
        return;
    }
    add_subject(view, out, record);
    if (alarm->call) {
        g_string_append_printf(out, " in %s", alarm->call);
    }
    if (alarm->is_wait) {
        g_string_append_printf(out, " (%c)", lull_track_state_letter(record->state));
    }
    g_string_append_c(out, '\n');
    if (alarm->is_wait && !alarm->is_open) {
        add_parts(view, out, alarm);
    }
    add_stacks(view, out, alarm);
    fputs(out->str, view->file);
}

void lull_alarm_snapshot_text(const struct lull_alarm_view *view,
                              const struct lull_alarm_snapshot *snapshot)
{
    g_autoptr(GString) out = g_string_new("   ");
    if (snapshot->late_ns) {
        g_string_append(out, "frozen ");
        add_time(out, snapshot->late_ns);
        g_string_append(out, " later: ");
    } else if (snapshot->path) {
        g_string_append(out, "in the snapshot before: ");
    }
    if (snapshot->path) {
        g_string_append(out, "lull critpath ");
        lull_clean_append(out, snapshot->path, !view->style.unicode);
    } else {
        g_string_append_printf(out, "no snapshot: %s", snapshot->why);
    }
    fprintf(view->file, "%s\n", out->str);
}

char *lull_alarm_cause(const struct lull_alarm_view *view, const struct lull_track_alarm *alarm)
{
    GString *out = g_string_new(NULL);
    const char *arrow = view->style.unicode ? " ← " : " <- ";
    if (alarm->object) {
        add_hop(view, out, alarm->object);
        return g_string_free(out, FALSE);
    }
    for (uint32_t i = 0; i < alarm->n_parts; i++) {
        g_string_append(out, i ? arrow : "");
        add_hop(view, out, alarm->part[i].hop);
    }
    if (alarm->n_parts == 0 && alarm->is_wait && alarm->record->state == 0) {
        g_string_append(out, "a CPU");
    }
    return g_string_free(out, FALSE);
}

/* ---- JSON ---- */

const char *const lull_track_hop_kinds[LULL_TRACK_HOP_KINDS] = {
    [LULL_TRACK_HOP_TASK] = "task",
    [LULL_TRACK_HOP_TIMER] = "timer",
    [LULL_TRACK_HOP_IRQ] = "irq",
    [LULL_TRACK_HOP_SOFTIRQ] = "softirq",
    [LULL_TRACK_HOP_DISK] = "disk",
    [LULL_TRACK_HOP_PACKET] = "packet",
    [LULL_TRACK_HOP_NONE] = "interrupt",
    [LULL_TRACK_HOP_INTERRUPT] = "interrupt",
    [LULL_TRACK_HOP_CONNECTION] = "connection",
    [LULL_TRACK_HOP_EXPIRY] = "timer",
    [LULL_TRACK_HOP_WORK] = "work",
    [LULL_TRACK_HOP_INTERFACE] = "interface",
    [LULL_TRACK_HOP_MARK] = "mark",
};

static struct json_object *task_json(uint32_t pid, uint32_t tid, const char *comm)
{
    struct json_object *task = json_object_new_object();
    lull_json_add_text(task, "comm", comm);
    lull_json_add_number(task, "pid", pid);
    lull_json_add_number(task, "tid", tid);
    return task;
}

static struct json_object *subject_json(const struct lull_track_alarm *alarm)
{
    const struct lull_track_record *record = alarm->record;
    struct json_object *task = task_json(record->tgid, record->tid, record->comm);
    uint32_t own_pid, own_tid;
    const bool has_own = lull_machine_own_ids(record->tgid, record->tid, &own_pid, &own_tid);
    json_object_object_add(task, "own_pid", has_own ? json_object_new_int64(own_pid) : NULL);
    json_object_object_add(task, "own_tid", has_own ? json_object_new_int64(own_tid) : NULL);
    lull_json_add_text(task, "cgroup", alarm->group);
    return task;
}

static struct json_object *part_json(const struct lull_alarm_view *view,
                                     const struct lull_track_part *part)
{
    const struct lull_track_hop *hop = part->hop;
    struct json_object *object = json_object_new_object();
    g_autoptr(GString) words = g_string_new(NULL);
    lull_json_add_text(object, "kind", lull_track_hop_kinds[hop->kind]);
    json_object_object_add(object, "task",
                           is_task(hop) ? task_json(hop->a, hop->b, hop->comm) : NULL);
    lull_machine_describe(view->names, hop, words);
    lull_json_add_text(object, "detail", is_task(hop) ? NULL : words->str);
    lull_json_add_number(object, "begin_ns", part->start_ns + view->epoch_ns);
    lull_json_add_number(object, "end_ns", part->end_ns + view->epoch_ns);
    return object;
}

static struct json_object *stack_json(const struct lull_alarm_view *view, const uint64_t *frames,
                                      uint32_t n)
{
    struct json_object *stack = json_object_new_array();
    frames = lull_machine_own_frames(view->names, frames, &n);
    for (uint32_t i = 0; i < n; i++) {
        const char *function = lull_machine_function(view->names, frames[i]);
        g_autofree char *number = function ? NULL : g_strdup_printf("0x%" PRIx64, frames[i]);
        json_object_array_add(stack, lull_json_text(function ? function : number));
    }
    return stack;
}

static struct json_object *user_stack_json(const struct lull_alarm_view *view,
                                           const struct lull_track_alarm *alarm)
{
    const struct lull_track_record *record = alarm->record;
    struct json_object *stack = json_object_new_array();
    for (uint32_t i = 0; i < alarm->n_user; i++) {
        g_autoptr(GString) name = g_string_new(NULL);
        lull_user_names_append(view->user_names, record->tgid, record->user.frame[i], name);
        json_object_array_add(stack, lull_json_text(name->str));
    }
    return stack;
}

static void add_connection_json(struct json_object *object, const struct lull_track_hop *hop)
{
    char address[LULL_TRACK_ADDRESS];
    lull_track_address(hop, address);
    lull_json_add_text(object, "remote_address", address);
    lull_json_add_number(object, "remote_port", hop->a);
    lull_json_add_number(object, "local_port", hop->b);
    json_object_object_add(object, "has_failed",
                           json_object_new_boolean(hop->c & LULL_TRACK_CONNECTION_FAILED));
}

/* A disk's request, an interrupt, a connection … */
static struct json_object *object_json(const struct lull_alarm_view *view,
                                       const struct lull_track_alarm *alarm)
{
    const struct lull_track_hop *hop = alarm->object;
    if (!hop) {
        return NULL;
    }
    struct json_object *object = json_object_new_object();
    const bool is_disk = hop->kind == LULL_TRACK_HOP_DISK;
    g_autoptr(GString) words = g_string_new(NULL);
    lull_machine_describe(view->names, hop, words);
    lull_json_add_text(object, "kind", lull_track_hop_kinds[hop->kind]);
    lull_json_add_text(object, "detail", words->str);
    if (hop->kind == LULL_TRACK_HOP_CONNECTION) {
        add_connection_json(object, hop);
    } else if (hop->kind == LULL_TRACK_HOP_MARK) {
        lull_json_add_text(object, "name", alarm->rule->argument);
        lull_json_add_text(object, "cookie", alarm->record->cookie);
    } else {
        lull_json_add_number(object, "number", hop->a);
        json_object_object_add(object, "sector",
                               is_disk ? json_object_new_uint64(hop->sector) : NULL);
    }
    return object;
}

static struct json_object *served_json(const struct lull_alarm_view *view,
                                       const struct lull_served *served)
{
    struct json_object *object = json_object_new_object();
    struct json_object *parts = json_object_new_array();
    for (uint32_t i = 0; i < served->n_parts; i++) {
        const struct lull_track_link *link = &served->part[i].link;
        struct json_object *part = json_object_new_object();
        g_autoptr(GString) words = g_string_new(NULL);
        lull_machine_describe_link(view->names, link, words);
        lull_json_add_text(part, "kind", link->kind ? lull_track_hop_kinds[link->kind] : NULL);
        lull_json_add_text(part, "detail", link->kind ? words->str : NULL);
        json_object_object_add(
            part, "pid", link->kind == LULL_TRACK_HOP_TASK ? json_object_new_int64(link->a) : NULL);
        lull_json_add_number(part, "ns", served->part[i].ns);
        json_object_array_add(parts, part);
    }
    json_object_object_add(object, "waits", parts);
    lull_json_add_number(object, "other_waits_ns", served->rest_ns);
    lull_json_add_number(object, "cpu_wait_ns", served->cpu_ns);
    lull_json_add_number(object, "ran_ns", served->ran_ns);
    lull_json_add_number(object, "unknown_ns", served->unknown_ns);
    return object;
}

static void print_line(const struct lull_alarm_view *view, struct json_object *object)
{
    g_autofree char *text = lull_json_format(object, false);
    fprintf(view->file, "%s\n", text);
}

static struct json_object *snapshot_json(const struct lull_alarm_snapshot *snapshot)
{
    if (!snapshot) {
        return NULL;
    }
    struct json_object *object = json_object_new_object();
    lull_json_add_text(object, "result", snapshot->result);
    lull_json_add_text(object, "path", snapshot->path);
    lull_json_add_text(object, "why", snapshot->why);
    json_object_object_add(object, "late_ns",
                           snapshot->late_ns ? json_object_new_int64(snapshot->late_ns) : NULL);
    return object;
}

struct json_object *lull_alarm_object(const struct lull_alarm_view *view,
                                      const struct lull_track_alarm *alarm,
                                      const struct lull_alarm_snapshot *snapshot)
{
    const struct lull_track_record *record = alarm->record;
    const char state[] = {lull_track_state_letter(record->state), '\0'};
    const char *shown_state = alarm->is_wait ? state : NULL;
    struct json_object *object = json_object_new_object();
    struct json_object *chain = json_object_new_array();
    lull_json_add_number(object, "lull_track", 1);
    lull_json_add_text(object, "rule", alarm->rule->text);
    lull_json_add_text(object, "kind", alarm->rule->kind->name);
    lull_json_add_number(object, "begin_ns", alarm->start_ns + view->epoch_ns);
    lull_json_add_number(object, "end_ns", alarm->end_ns + view->epoch_ns);
    lull_json_add_number(object, "delay_ns", alarm->end_ns - alarm->start_ns);
    lull_json_add_number(object, "monotonic_ns", alarm->end_ns);
    json_object_object_add(object, "is_open", json_object_new_boolean(alarm->is_open));
    json_object_object_add(object, "object", object_json(view, alarm));
    json_object_object_add(object, "server",
                           alarm->served ? served_json(view, alarm->served) : NULL);
    json_object_object_add(object, "task", subject_json(alarm));
    lull_json_add_number(object, "uid", record->uid);
    lull_json_add_number(object, "cpu", record->cpu);
    lull_json_add_text(object, "call", alarm->call);
    lull_json_add_text(object, "state", shown_state);
    json_object_object_add(
        object, "cpu_wait_ns",
        record->woken_ns ? json_object_new_int64(alarm->end_ns - alarm->cpu_from_ns) : NULL);
    for (uint32_t i = 0; i < alarm->n_parts; i++) {
        json_object_array_add(chain, part_json(view, &alarm->part[i]));
    }
    json_object_object_add(object, "chain", chain);
    json_object_object_add(object, "chain_is_cut", json_object_new_boolean(alarm->is_cut));
    json_object_object_add(object, "stack",
                           stack_json(view, record->kernel.frame, alarm->n_kernel));
    json_object_object_add(object, "waker_stack",
                           stack_json(view, record->waker.frame, alarm->n_waker));
    json_object_object_add(object, "user_stack", user_stack_json(view, alarm));
    json_object_object_add(object, "snapshot", snapshot_json(snapshot));
    return object;
}

void lull_alarm_json(const struct lull_alarm_view *view, const struct lull_track_alarm *alarm,
                     const struct lull_alarm_snapshot *snapshot)
{
    print_line(view, lull_alarm_object(view, alarm, snapshot));
}

/* ---- variables ---- */

GStrv lull_alarm_variables(const struct lull_alarm_view *view, const struct lull_track_alarm *alarm)
{
    const struct lull_track_record *record = alarm->record;
    g_autoptr(GStrvBuilder) all = g_strv_builder_new();
    g_autoptr(GString) object = g_string_new(NULL);
    if (alarm->object) {
        add_object_name(view, object, alarm);
    }
    const struct {
        const char *name;
        char *value;
    } variables[] = {
        {"RULE", g_strdup(alarm->rule->text)},
        {"KIND", g_strdup(alarm->rule->kind->name)},
        {"DELAY_NS", g_strdup_printf("%" PRId64, alarm->end_ns - alarm->start_ns)},
        {"END_NS", g_strdup_printf("%" PRId64, alarm->end_ns + view->epoch_ns)},
        {"PID", g_strdup_printf("%u", record->tgid)},
        {"TID", g_strdup_printf("%u", record->tid)},
        {"COMM", g_strdup(record->comm)},
        {"CALL", g_strdup(alarm->call ? alarm->call : "")},
        {"OBJECT", g_strdup(object->str)},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(variables); i++) {
        g_autofree char *value = variables[i].value;
        g_autofree char *one = g_strdup_printf("LULL_%s=%s", variables[i].name, value);
        g_strv_builder_add(all, one);
    }
    return g_strv_builder_end(all);
}

/* ---- histograms ---- */

static void histograms_json(const struct lull_alarm_view *view,
                            const struct lull_track_rule *const *rules, uint32_t n_rules,
                            const struct lull_track_histogram *histogram, int64_t start_ns,
                            int64_t end_ns)
{
    struct json_object *object = json_object_new_object();
    struct json_object *histograms = json_object_new_array();
    for (uint32_t i = 0; i < n_rules; i++) {
        struct json_object *one = json_object_new_object();
        lull_json_add_text(one, "rule", rules[i]->text);
        lull_json_add_text(one, "kind", rules[i]->kind->name);
        json_object_object_add(one, "n", lull_histogram_json(&histogram[i]));
        json_object_object_add(one, "longest_ns", lull_histogram_longest_json(&histogram[i]));
        json_object_array_add(histograms, one);
    }
    lull_json_add_number(object, "lull_track", 1);
    lull_json_add_number(object, "begin_ns", start_ns + view->epoch_ns);
    lull_json_add_number(object, "end_ns", end_ns + view->epoch_ns);
    json_object_object_add(object, "histograms", histograms);
    print_line(view, object);
}

bool lull_rule_histograms(const struct lull_alarm_view *view,
                          const struct lull_track_rule *const *rules, uint32_t n_rules,
                          const struct lull_track_histogram *histogram, int64_t start_ns,
                          int64_t end_ns, bool is_json, GError **error)
{
    struct lull_histogram_column columns[LULL_HISTOGRAM_COLUMNS];
    char clock[LULL_TIME_TEXT_SIZE], length[LULL_TIME_TEXT_SIZE];
    if (is_json) {
        histograms_json(view, rules, n_rules, histogram, start_ns, end_ns);
        return true;
    }
    for (uint32_t i = 0; i < n_rules; i++) {
        columns[i] = (struct lull_histogram_column){rules[i]->text, rules[i]->text, &histogram[i]};
    }
    lull_time_format_clock(end_ns + view->epoch_ns, view->style.local_time, clock);
    lull_duration_format(end_ns - start_ns, length);
    fprintf(view->file, "%s  how many were how long, in %s\n", clock, length);
    return lull_histograms_text(view->file, &view->style, columns, n_rules, 0, false, error);
}
