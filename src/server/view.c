/* SPDX-License-Identifier: MIT */
/* Questions of the page, one function each, in a table. */
#include "server/view.h"

#include <inttypes.h>
#include <string.h>

#include <lull/path.h>

#include "base/json.h"
#include "base/sums.h"
#include "server/events.h"
#include "server/latencies.h"
#include "server/params.h"
#include "server/states.h"
#include "server/visitors.h"

enum { ROWS_MOST = 4096, COLUMNS_MOST = 16384, CELLS_MOST = 4 << 20, TRIM_EVERY = 64 /* rows */ };

struct question {
    const struct served *served;
    struct json_object *params;
    struct server_answer *answer;
    GString *out;
};

static bool bad(GError **error, const char *why)
{
    g_set_error_literal(error, LULL_ERROR, LULL_ERROR_USAGE, why);
    return false;
}

/* ---- parameters ---- */

static bool take_time(const struct question *question, const char *key, int64_t *time_ns,
                      GError **error)
{
    const struct served *served = question->served;
    int64_t offset_ns;
    if (!server_param_number(question->params, key, &offset_ns)) {
        return bad(error, "a time is missing");
    }
    *time_ns = CLAMP(lull_sum(served->start_ns, offset_ns), served->start_ns, served->until_ns);
    return true;
}

static bool take_range(const struct question *question, int64_t *start_ns, int64_t *end_ns,
                       GError **error)
{
    return take_time(question, "start", start_ns, error) &&
           take_time(question, "end", end_ns, error) &&
           (*start_ns < *end_ns || bad(error, "the range is empty"));
}

static bool is_row(const struct served *served, int64_t row)
{
    return row >= 0 && row < lull_store_row_count(served->store);
}

static bool take_row(const struct question *question, uint32_t *row, GError **error)
{
    int64_t number;
    if (!server_param_number(question->params, "row", &number) ||
        !is_row(question->served, number)) {
        return bad(error, "there is no such row");
    }
    *row = (uint32_t)number;
    return true;
}

/* The list "rows", to be freed with g_free(); NULL and an error if it is none. */
static uint32_t *take_rows(const struct question *question, uint32_t *count, GError **error)
{
    struct json_object *list;
    if (!json_object_object_get_ex(question->params, "rows", &list) ||
        !json_object_is_type(list, json_type_array) || json_object_array_length(list) > ROWS_MOST) {
        bad(error, "rows needs a list of at most 4096 numbers");
        return NULL;
    }
    const size_t n = json_object_array_length(list);
    uint32_t *rows = g_new(uint32_t, MAX(n, 1));
    for (size_t i = 0; i < n; i++) {
        const int64_t row = json_object_get_int64(json_object_array_get_idx(list, i));
        if (!is_row(question->served, row)) {
            g_free(rows);
            bad(error, "there is no such row");
            return NULL;
        }
        rows[i] = (uint32_t)row;
    }
    *count = (uint32_t)n;
    return rows;
}

static bool take_columns(const struct question *question, uint32_t n_rows, int64_t *columns,
                         GError **error)
{
    if (!server_param_number(question->params, "columns", columns) || *columns < 1 ||
        *columns > COLUMNS_MOST) {
        return bad(error, "columns needs a number from 1 to 16384");
    }
    return *columns * n_rows <= CELLS_MOST ||
           bad(error, "too many rows and columns for one answer");
}

/* ---- what there is ---- */

static const char *const states[LULL_STORE_STATES] = {
    [LULL_STORE_UNKNOWN] = "unknown",
    [LULL_STORE_USER] = "user",
    [LULL_STORE_SYSCALL] = "syscall",
    [LULL_STORE_INTERRUPT] = "interrupt",
    [LULL_STORE_SOFTIRQ_RUN] = "softirq",
    [LULL_STORE_WAIT_CPU] = "wait-cpu",
    [LULL_STORE_WAIT_TASK] = "wait-task",
    [LULL_STORE_WAIT_DISK] = "wait-disk",
    [LULL_STORE_WAIT_NETWORK] = "wait-network",
    [LULL_STORE_WAIT_TIMER] = "wait-timer",
    [LULL_STORE_WAIT_INPUT] = "wait-input",
    [LULL_STORE_WAIT_IRQ] = "wait-irq",
    [LULL_STORE_WAIT_UNKNOWN] = "wait-unknown",
    [LULL_STORE_IDLE] = "idle",
    [LULL_STORE_LOST] = "lost",
    [LULL_STORE_NONE] = "none",
};

static const char *const kinds[LULL_STORE_KINDS] = {
    [LULL_STORE_TASK] = "task",
    [LULL_STORE_CPU] = "cpu",
    [LULL_STORE_CPU_THREAD] = "thread",
    [LULL_STORE_IRQ] = "irq",
    [LULL_STORE_SOFTIRQ] = "softirq",
    [LULL_STORE_FREQUENCY] = "frequency",
    [LULL_STORE_DISK_READ] = "disk-read",
    [LULL_STORE_DISK_WRITTEN] = "disk-written",
    [LULL_STORE_DISK_REQUESTS] = "disk-requests",
    [LULL_STORE_NET_RECEIVED] = "net-received",
    [LULL_STORE_NET_SENT] = "net-sent",
    [LULL_STORE_DISK_FLIGHT] = "disk-flight",
    [LULL_STORE_CYCLES] = "cycles",
    [LULL_STORE_VCPU] = "vcpu",
    [LULL_STORE_DECLARED] = "declared",
    [LULL_STORE_CALL] = "call",
};

static void append_string(GString *out, const char *text)
{
    lull_json_append(out, text ? text : "", text ? strlen(text) : 0);
}

static void append_names(GString *out, const char *key, const char *const *names, uint32_t n)
{
    g_string_append_printf(out, ",\"%s\":[", key);
    for (uint32_t i = 0; i < n; i++) {
        g_string_append_printf(out, "%s\"%s\"", i ? "," : "", names[i]);
    }
    g_string_append_c(out, ']');
}

static void append_tree(GString *out, const char *key, const struct served_tree *tree)
{
    g_string_append_printf(out, ",\"%s\":[", key);
    for (size_t i = 0; i < tree->entries.count; i++) {
        const struct served_entry *entry = &tree->entries.items[i];
        g_string_append_printf(out, "%s[%d,%" PRId64 ",", i ? "," : "", entry->parent,
                               entry->row == LULL_NONE ? INT64_C(-1) : (int64_t)entry->row);
        append_string(out, entry->name);
        g_string_append_c(out, ']');
    }
    g_string_append_c(out, ']');
}

/* The groups of declared states, and what is in which slot: the page draws them in colours of its own. */
static void append_groups(GString *out, const struct lull_states *declared)
{
    g_string_append(out, ",\"groups\":[");
    for (uint32_t g = 0; declared && g < declared->n_groups; g++) {
        const struct lull_states_group *group = &declared->groups[g];
        g_string_append_printf(out, "%s{\"name\":\"%s\",\"label\":", g ? "," : "", group->name);
        append_string(out, group->label);
        g_string_append(out, ",\"states\":[");
        for (uint32_t i = 0; i < group->n_states; i++) {
            const struct lull_states_state *state = &group->states[i];
            g_string_append_printf(out, "%s{\"state\":%u,\"color\":\"%s\",\"label\":", i ? "," : "",
                                   lull_store_slot(i), state->colour ? state->colour : "");
            append_string(out, state->label);
            g_string_append_c(out, '}');
        }
        g_string_append(out, "]}");
    }
    g_string_append_c(out, ']');
}

static bool append_rows(GString *out, const struct served *served, GError **error)
{
    g_string_append(out, ",\"rows\":[");
    for (uint32_t i = 0; i < lull_store_row_count(served->store); i++) {
        const struct lull_store_row row = lull_store_row(served->store, i);
        int64_t ran_ns;
        if (i % TRIM_EVERY == TRIM_EVERY - 1) {
            served_trim(served);
        }
        if (!server_cpu_time(served, i, served->start_ns, served->end_ns, &ran_ns, error)) {
            return false;
        }
        g_string_append_printf(out, "%s[%u,%u,", i ? "," : "", row.kind, row.host);
        append_string(out, row.name);
        g_string_append_printf(out, ",%d,%d,%d,%" PRId64 ",%" PRId64 ",%" PRId64 "]", row.cpu,
                               row.tid, row.pid, ran_ns, row.active_ns - served->start_ns,
                               row.passive_ns - served->start_ns);
    }
    g_string_append_c(out, ']');
    return true;
}

static bool answer_trace(const struct question *question, GError **error)
{
    const struct served *served = question->served;
    GString *out = question->out;
    g_string_append(out, "{\"name\":");
    append_string(out, served->about->name);
    g_string_append_printf(out, ",\"start\":\"%" PRId64 "\",\"length\":%" PRIu64, served->start_ns,
                           (uint64_t)served->until_ns - (uint64_t)served->start_ns);
    g_string_append_printf(out, ",\"done\":%" PRIu64 ",\"isWhole\":%s",
                           (uint64_t)served->end_ns - (uint64_t)served->start_ns,
                           served->is_whole ? "true" : "false");
    append_names(out, "states", states, LULL_STORE_STATES);
    append_names(out, "kinds", kinds, LULL_STORE_KINDS);
    g_string_append(out, ",\"hosts\":[");
    for (uint32_t i = 0; i < lull_store_host_count(served->store); i++) {
        g_string_append(out, i ? "," : "");
        append_string(out, lull_store_host(served->store, i).name);
    }
    g_string_append_c(out, ']');
    if (!append_rows(out, served, error)) {
        return false;
    }
    append_tree(out, "tasks", &served->tasks);
    append_tree(out, "resources", &served->resources);
    append_tree(out, "declared", &served->declared);
    append_tree(out, "calls", &served->calls);
    append_groups(out, served->about->states);
    g_string_append_c(out, '}');
    return true;
}

/* ---- rows ---- */

static bool answer_columns(const struct question *question, GError **error)
{
    int64_t start_ns, end_ns, most;
    uint32_t n_rows;
    if (!take_range(question, &start_ns, &end_ns, error)) {
        return false;
    }
    g_autofree uint32_t *rows = take_rows(question, &n_rows, error);
    if (!rows || !take_columns(question, n_rows, &most, error)) {
        return false;
    }
    question->answer->type = "application/octet-stream";
    return server_columns(question->served, start_ns, end_ns, (uint32_t)most, rows, n_rows,
                          question->out, error);
}

static bool answer_amounts(const struct question *question, GError **error)
{
    int64_t start_ns, width_ns, columns;
    uint32_t n_rows;
    g_autofree uint32_t *rows = take_rows(question, &n_rows, error);
    if (!rows || !take_columns(question, n_rows, &columns, error)) {
        return false;
    }
    if (!server_param_number(question->params, "start", &start_ns) ||
        !server_param_number(question->params, "width", &width_ns) || width_ns < 1) {
        return bad(error, "amounts need the numbers start and width");
    }
    return server_amounts(question->served, lull_sum(question->served->start_ns, start_ns),
                          width_ns, (uint32_t)columns, rows, n_rows, question->out, error);
}

static bool answer_totals(const struct question *question, GError **error)
{
    int64_t start_ns, end_ns;
    uint32_t n_rows;
    if (!take_range(question, &start_ns, &end_ns, error)) {
        return false;
    }
    g_autofree uint32_t *rows = take_rows(question, &n_rows, error);
    int64_t sums[LULL_STORE_STATES] = {0}, part[LULL_STORE_STATES];
    for (uint32_t i = 0; rows && i < n_rows; i++) {
        if (!lull_store_totals(question->served->store, rows[i], start_ns, end_ns, part, error)) {
            return false;
        }
        for (unsigned s = 0; s < LULL_STORE_STATES; s++) {
            lull_add(&sums[s], part[s]);
        }
    }
    g_string_append_c(question->out, '[');
    for (unsigned s = 0; s < LULL_STORE_STATES; s++) {
        g_string_append_printf(question->out, "%s%" PRId64, s ? "," : "", sums[s]);
    }
    g_string_append_c(question->out, ']');
    return rows != NULL;
}

static bool answer_flame(const struct question *question, GError **error)
{
    int64_t start_ns, end_ns;
    uint32_t n_rows = 0;
    g_autofree uint32_t *rows = NULL;
    if (json_object_object_get_ex(question->params, "rows", NULL)) {
        rows = take_rows(question, &n_rows, error);
        if (!rows) {
            return false;
        }
    }
    return take_range(question, &start_ns, &end_ns, error) &&
           server_flame(question->served, rows, n_rows, start_ns, end_ns, question->out, error);
}

static bool answer_moment(const struct question *question, GError **error)
{
    struct server_moment moment;
    int64_t time_ns, step = 0;
    uint32_t row;
    server_param_number(question->params, "step", &step);
    if (!take_row(question, &row, error) || !take_time(question, "time", &time_ns, error) ||
        !server_moment(question->served, row, time_ns, step, &moment, error)) {
        return false;
    }
    server_moment_append(question->served, &moment, question->out);
    return true;
}

static bool answer_cause(const struct question *question, GError **error)
{
    struct server_moment cause;
    int64_t time_ns;
    uint32_t row;
    if (!take_row(question, &row, error) || !take_time(question, "time", &time_ns, error) ||
        !server_cause(question->served, row, time_ns, &cause, error)) {
        return false;
    }
    server_moment_append(question->served, &cause, question->out);
    return true;
}

/* ---- paths ---- */

static bool answer_flow(const struct question *question, GError **error)
{
    int64_t start_ns, end_ns, id;
    uint32_t row;
    if (server_param_number(question->params, "request", &id)) {
        return server_flow_of_request(question->served, id, question->out, error);
    }
    const char *period = server_param_text(question->params, "period");
    if (period && server_param_number(question->params, "instance", &id)) {
        return server_flow_of_instance(question->served, period, id, question->out, error);
    }
    return take_row(question, &row, error) && take_range(question, &start_ns, &end_ns, error) &&
           server_flow(question->served, row, start_ns, end_ns, question->out, error);
}

static bool answer_requests(const struct question *question, GError **error)
{
    return server_requests(question->served, question->out, error);
}

static bool answer_periods(const struct question *question, GError **error)
{
    server_periods(question->served, question->out);
    return true;
}

static bool answer_instances(const struct question *question, GError **error)
{
    const char *period = server_param_text(question->params, "period");
    return period ? server_instances(question->served, period, question->out, error)
                  : bad(error, "the name of a period is missing");
}

static bool answer_why(const struct question *question, GError **error)
{
    return server_why(question->served, question->out, error);
}

/* ---- latencies ---- */

static bool answer_latencies(const struct question *question, GError **error)
{
    server_latency_list_kinds(question->served, question->out);
    return true;
}

static bool answer_latency(const struct question *question, GError **error)
{
    return server_latency_picture(question->served, question->params, question->out, error);
}

static bool answer_longest(const struct question *question, GError **error)
{
    return server_latency_longest(question->served, question->params, question->out, error);
}

static bool answer_events(const struct question *question, GError **error)
{
    return server_events_page(question->served, question->params, question->out, error);
}

/* ---- pages ---- */

static bool answer_here(const struct question *question, GError **error)
{
    const char *id = server_param_text(question->params, "page");
    struct json_object *hidden = NULL;
    json_object_object_get_ex(question->params, "hidden", &hidden);
    server_visitors_here(question->served->about->visitors, id ? id : "",
                         json_object_get_boolean(hidden), g_get_monotonic_time());
    g_string_append(question->out, "{}");
    return true;
}

static bool answer_bye(const struct question *question, GError **error)
{
    const char *id = server_param_text(question->params, "page");
    server_visitors_left(question->served->about->visitors, id ? id : "", g_get_monotonic_time());
    g_string_append(question->out, "{}");
    return true;
}

static const struct {
    const char *path;
    bool (*answer)(const struct question *question, GError **error);
} questions[] = {
    {"trace", answer_trace},         {"columns", answer_columns},
    {"totals", answer_totals},       {"moment", answer_moment},
    {"cause", answer_cause},         {"flow", answer_flow},
    {"requests", answer_requests},   {"why", answer_why},
    {"here", answer_here},           {"bye", answer_bye},
    {"latencies", answer_latencies}, {"latency", answer_latency},
    {"longest", answer_longest},     {"amounts", answer_amounts},
    {"events", answer_events},       {"periods", answer_periods},
    {"instances", answer_instances}, {"flame", answer_flame},
};

/* What the question asks for is not there, or cannot be; or we failed. */
static unsigned status_of(const GError *error)
{
    return g_error_matches(error, LULL_ERROR, LULL_ERROR_QUESTION) ? 404
           : g_error_matches(error, LULL_ERROR, LULL_ERROR_USAGE)  ? 400
                                                                   : 500;
}

void server_view(const struct served *served, const struct server_request *request,
                 const char *path, struct server_answer *answer)
{
    const struct question question = {served, request->params, answer, answer->body};
    for (size_t i = 0; i < G_N_ELEMENTS(questions); i++) {
        GError *error = NULL;
        if (strcmp(questions[i].path, path) != 0) {
            continue;
        }
        if (!questions[i].answer(&question, &error)) {
            server_refuse(answer, status_of(error), "The question has no answer", error->message);
            g_error_free(error);
        }
        return;
    }
    server_refuse(answer, 404, "Not found", "the page has no such question");
}
