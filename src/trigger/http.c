/* SPDX-License-Identifier: MIT */
/* A report is written as the line that a server would send, so that one parser reads both. */
#include "trigger/http.h"

#include <math.h>
#include <string.h>

#include "base/json.h"
#include "base/time.h"
#include "live/rows.h"
#include "trigger/limits.h"

#define NS_PER_MS 1e6
#define SCHEME "Bearer "

/* ---- reports ---- */

static bool refuse(char **why, const char *format, const char *what)
{
    *why = g_strdup_printf(format, what);
    return false;
}

static void add_seconds(GString *line, const char *word, int64_t ns)
{
    g_string_append_printf(line, " %s=%" G_GINT64_FORMAT ".%09" G_GINT64_FORMAT, word,
                           ns / LULL_NS_PER_S, ns % LULL_NS_PER_S);
}

/* A time in ns: a number of milliseconds, or a whole number of nanoseconds. */
static bool read_time(struct json_object *value, bool is_ms, int64_t *ns)
{
    const double number = json_object_get_double(value);
    if (!json_object_is_type(value, json_type_int) &&
        !(is_ms && json_object_is_type(value, json_type_double))) {
        return false;
    }
    if (!(number >= 0) || number > (double)LULL_TIME_MAX / (is_ms ? NS_PER_MS : 1)) {
        return false;
    }
    *ns = is_ms ? (int64_t)llround(number * NS_PER_MS) : json_object_get_int64(value);
    return *ns <= LULL_TIME_MAX;
}

/* Visible characters alone: a blank would end the word. */
static bool add_text(GString *line, struct json_object *value)
{
    const char *text =
        json_object_is_type(value, json_type_string) ? json_object_get_string(value) : "";
    for (const char *at = text; *at; at++) {
        if (!g_ascii_isgraph(*at)) {
            return false;
        }
    }
    g_string_append(line, text);
    return *text != '\0';
}

static bool add_texts(GString *line, struct json_object *value)
{
    bool is_sound = json_object_is_type(value, json_type_array);
    for (size_t i = 0; is_sound && i < json_object_array_length(value); i++) {
        g_string_append(line, i ? "," : "");
        is_sound = add_text(line, json_object_array_get_idx(value, i));
    }
    return is_sound;
}

static bool add_number(GString *line, struct json_object *value)
{
    g_string_append_printf(line, "%" G_GINT64_FORMAT, json_object_get_int64(value));
    return json_object_is_type(value, json_type_int);
}

/* Members that are words of the line as they are. */
static const struct {
    const char *name;
    bool (*add)(GString *line, struct json_object *value);
    const char *what;
} members[] = {
    {"pid", add_number, "a number"},
    {"tid", add_number, "a number"},
    {"id", add_text, "a text of visible ASCII characters without blanks"},
    {"peer", add_text, "an address and port, as \"10.9.0.1:45334\""},
    {"local", add_text, "an address and port, as \"10.9.0.2:80\""},
    {"up", add_texts, "a list of addresses with ports"},
};

/* False and *why if there is no such member, or it is not what it must be. */
static bool add_member(GString *line, const char *name, struct json_object *value, char **why)
{
    for (size_t i = 0; i < G_N_ELEMENTS(members); i++) {
        if (strcmp(name, members[i].name) == 0) {
            g_string_append_printf(line, " %s=", name);
            g_autofree char *wrong = g_strdup_printf("“%s” must be %s", name, members[i].what);
            return members[i].add(line, value) || refuse(why, "%s", wrong);
        }
    }
    g_autofree char *valid = g_utf8_make_valid(name, -1);
    return refuse(why, "there is no member “%s”", valid);
}

static bool read_rule(struct json_object *value, char rule[static LULL_TRIGGER_NAME])
{
    const char *name =
        json_object_is_type(value, json_type_string) ? json_object_get_string(value) : "";
    return *name && g_strlcpy(rule, name, LULL_TRIGGER_NAME) < LULL_TRIGGER_NAME;
}

bool lull_trigger_http_read(struct json_object *body, struct lull_hook *hook,
                            char rule[static LULL_TRIGGER_NAME], char **why)
{
    g_autoptr(GString) line = g_string_new("lull1");
    int64_t delay_ns = -1, end_ns = g_get_real_time() * 1000;
    rule[0] = '\0';
    if (!body) {
        return refuse(why, "%s", "there is no body: send an object with “delay_ms”");
    }
    struct json_object_iterator at = json_object_iter_begin(body);
    const struct json_object_iterator end = json_object_iter_end(body);
    for (; !json_object_iter_equal(&at, &end); json_object_iter_next(&at)) {
        const char *name = json_object_iter_peek_name(&at);
        struct json_object *value = json_object_iter_peek_value(&at);
        const bool is_delay = strcmp(name, "delay_ms") == 0;
        if (is_delay || strcmp(name, "end_ns") == 0) {
            if (!read_time(value, is_delay, is_delay ? &delay_ns : &end_ns)) {
                return refuse(why, "“%s” must be a time: a number that is not negative", name);
            }
        } else if (strcmp(name, "rule") == 0) {
            if (!read_rule(value, rule)) {
                return refuse(why, "“%s” must be the name of a rule", name);
            }
        } else if (!add_member(line, name, value, why)) {
            return false;
        }
    }
    if (delay_ns < 0) {
        return refuse(why, "“%s” is missing: how long it took", "delay_ms");
    }
    add_seconds(line, "t", end_ns);
    add_seconds(line, "d", delay_ns);
    return lull_hook_parse(line->str, line->len, hook) ||
           refuse(why, "%s", "it is too long, or “pid” or “tid” is not the number of a task");
}

static void take_report(const struct lull_trigger_http *http, const struct server_request *request,
                        struct server_answer *answer)
{
    static const char *const words[] = {
        [LULL_HTTP_PASSED_ON] = "passed on", [LULL_HTTP_FAST] = "fast"};
    char rule[LULL_TRIGGER_NAME];
    struct lull_hook hook;
    g_autofree char *why = NULL;
    if (!lull_trigger_http_read(request->body, &hook, rule, &why)) {
        server_refuse(answer, 400, "Bad request", why);
        return;
    }
    const enum lull_http_report report = http->report(
        http->user, &hook, *rule ? rule : NULL, hook.pid > 0 ? server_request_socket(request) : 0);
    if (report == LULL_HTTP_NO_RULE) {
        server_refuse(answer, 404, "Not found", "there is no rule of this name for requests");
    } else if (report == LULL_HTTP_BUSY) {
        server_refuse(answer, 503, "Not now", "the daemon has more reports than it can take");
    } else {
        answer->status = report == LULL_HTTP_PASSED_ON ? 202 : 200;
        g_string_append_printf(answer->body, "{\"report\":\"%s\"}", words[report]);
    }
}

/* ---- what is to be read ---- */

static void add_id(struct json_object *object, const char *key, int64_t id)
{
    json_object_object_add(object, key, id > 0 ? json_object_new_int64(id) : NULL);
}

static struct json_object *describe(const struct lull_trigger_alarm *alarm)
{
    struct json_object *object = json_object_new_object();
    const uint64_t verdict = MIN(alarm->verdict, LULL_TRIGGER_FAST);
    lull_json_add_text(object, "rule", alarm->rule);
    add_id(object, "pid", alarm->pid);
    add_id(object, "tid", alarm->tid);
    lull_json_add_text(object, "comm", *alarm->comm ? alarm->comm : NULL);
    lull_json_add_number(object, "begin_ns", alarm->start_ns);
    lull_json_add_number(object, "end_ns", alarm->end_ns);
    lull_json_add_text(object, "result", lull_trigger_verdicts[verdict]);
    lull_json_add_text(object, "snapshot", *alarm->path ? alarm->path : NULL);
    return object;
}

static void append(GString *out, struct json_object *object)
{
    g_autofree char *text = lull_json_format(object, false);
    g_string_append(out, text);
}

/* The latest first. */
static void show_alarms(const struct lull_trigger_counts *counts, struct server_answer *answer)
{
    struct json_object *object = json_object_new_object(), *all = json_object_new_array();
    for (uint64_t i = 0; i < MIN(counts->n_alarms, LULL_TRIGGER_LAST); i++) {
        json_object_array_add(
            all, describe(&counts->last[(counts->n_alarms - 1 - i) % LULL_TRIGGER_LAST]));
    }
    lull_json_add_number(object, "count", (int64_t)MIN(counts->n_alarms, INT64_MAX));
    json_object_object_add(object, "alarms", all);
    append(answer->body, object);
}

/* Who waited most since the daemon started. */
static void show_top(const struct lull_trigger_counts *counts, struct server_answer *answer)
{
    if (!counts->has_waits) {
        server_refuse(answer, 503, "Not now",
                      "no wait was summed yet; the daemon's log says if none can be");
        return;
    }
    struct json_object *object = json_object_new_object(), *all = json_object_new_array();
    for (uint64_t i = 0; i < MIN(counts->waited.n, LULL_WAITED_NAMED); i++) {
        const struct lull_waited_pair *pair = &counts->waited.named[i];
        struct json_object *row = json_object_new_object();
        lull_json_add_text(row, "waiter", pair->comm);
        lull_json_add_text(row, "end", lull_live_end_words[MIN(pair->end, LULL_LIVE_END_UNKNOWN)]);
        lull_json_add_number(row, "waited_ns", (int64_t)MIN(pair->ns, INT64_MAX));
        json_object_array_add(all, row);
    }
    json_object_object_add(object, "waited", all);
    lull_json_add_number(object, "others_ns", (int64_t)MIN(counts->waited.other_ns, INT64_MAX));
    append(answer->body, object);
}

/* ---- requests ---- */

static const struct {
    const char *path, *method;
    void (*show)(const struct lull_trigger_counts *counts, struct server_answer *answer);
} paths[] = {
    {"v1/trigger", "POST", NULL}, {"v1/alarms", "GET", show_alarms}, {"v1/top", "GET", show_top}};

bool lull_trigger_http_has(const char *path)
{
    return g_str_has_prefix(path, "v1/");
}

static bool may(const struct lull_trigger_http *http, const char *authorization)
{
    return authorization && g_str_has_prefix(authorization, SCHEME) &&
           lull_peer_keys_have(&http->tokens, authorization + strlen(SCHEME));
}

void lull_trigger_http_answer(const struct lull_trigger_http *http,
                              const struct lull_trigger_counts *counts,
                              const struct server_request *request, struct server_answer *answer)
{
    size_t i = 0;
    if (http->tokens.n == 0) {
        server_refuse(
            answer, 403, "Not allowed",
            "the configuration of the daemon names no file with a token ([daemon] token)");
        return;
    }
    if (!may(http, request->authorization)) {
        server_refuse(answer, 401, "Not allowed",
                      "expected the header “Authorization: Bearer TOKEN” with the daemon's token");
        return;
    }
    while (i < G_N_ELEMENTS(paths) && (strcmp(request->path, paths[i].path) != 0 ||
                                       strcmp(request->method, paths[i].method) != 0)) {
        i++;
    }
    if (i == G_N_ELEMENTS(paths)) {
        server_refuse(answer, 404, "Not found",
                      "try POST /v1/trigger, GET /v1/alarms or GET /v1/top");
    } else if (paths[i].show) {
        paths[i].show(counts, answer);
    } else {
        take_report(http, request, answer);
    }
}
