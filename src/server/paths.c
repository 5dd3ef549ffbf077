/* SPDX-License-Identifier: MIT */
/* Paths that clients made. A path is named after what it was made of, so that making it again gives
 * the same. */
#include "server/paths.h"

#include <inttypes.h>
#include <string.h>

#include <lull/waits.h>

#include "answers/waits.h"
#include "base/json.h"
#include "base/map.h"
#include "base/vec.h"
#include "server/params.h"
#include "server/served.h"
#include "server/task_rows.h"

enum { PATHS_MOST = 64 };

/* A line of the tree: a host, or a task of the path. Its number is its index + 1. */
struct path_entry {
    int32_t parent;
    uint32_t host, task;
    int32_t tid, pid;
    const char *name;
    bool has_segments; /* else it is a host that tasks lie below */
};

struct made_path {
    char *id, *name;
    struct lull_path *path;
    LULL_VEC(struct path_entry) entries;
    struct lull_map by_task; /* host, task (LULL_NONE: the host itself) → index */
};

struct server_paths {
    GMutex lock;
    const struct served_about *about;
    const struct lull_store *store; /* NULL: it is not whole */
    struct lull_session *session;   /* NULL: nothing was read yet */
    struct server_reading reading;
    uint32_t *rows;
    GError *period_problem; /* NULL: they are followed */
    LULL_VEC(struct made_path *) made;
    struct made_path *base; /* of the longest request; NULL: there is none, or nobody asked yet */
    bool is_base_known;
};

static const struct {
    const char *name, *color;
} styles[] = {
    {"RUNNING", "#339900"},    {"INTERRUPTED", "#ffdc00"},  {"PREEMPTED", "#c86400"},
    {"TIMER", "#336699"},      {"BLOCK_DEVICE", "#6600cc"}, {"NETWORK", "#ff9bff"},
    {"USER_INPUT", "#5a0101"}, {"IPI", "#6666cc"},          {"BLOCKED", "#dc143c"},
    {"UNKNOWN", "#403b33"},
};

static const char *style_of(const struct lull_segment *segment)
{
    static const char *const causes[] = {
        [LULL_CAUSE_TASK] = "BLOCKED",          [LULL_CAUSE_TIMER] = "TIMER",
        [LULL_CAUSE_DISK] = "BLOCK_DEVICE",     [LULL_CAUSE_NETWORK] = "NETWORK",
        [LULL_CAUSE_USER_INPUT] = "USER_INPUT", [LULL_CAUSE_IPI] = "IPI",
    };
    switch (segment->state) {
    case LULL_STATE_RUNNING:
        return "RUNNING";
    case LULL_STATE_PREEMPTED:
        return "PREEMPTED";
    case LULL_STATE_INTERRUPTED:
        return "INTERRUPTED";
    default:
        return segment->cause < G_N_ELEMENTS(causes) && causes[segment->cause]
                   ? causes[segment->cause]
                   : "UNKNOWN";
    }
}

/* ---- all of them ---- */

struct server_paths *server_paths_new(const struct served_about *about)
{
    struct server_paths *paths = g_new0(struct server_paths, 1);
    g_mutex_init(&paths->lock);
    paths->about = about;
    return paths;
}

void server_paths_set_store(struct server_paths *paths, const struct lull_store *store)
{
    g_mutex_lock(&paths->lock);
    paths->store = store;
    g_mutex_unlock(&paths->lock);
}

static void free_made(struct made_path *made)
{
    lull_path_free(made->path);
    lull_vec_free(&made->entries);
    lull_map_free(&made->by_task);
    g_free(made->id);
    g_free(made->name);
    g_free(made);
}

void server_paths_free(struct server_paths *paths)
{
    if (!paths) {
        return;
    }
    for (size_t i = 0; i < paths->made.count; i++) {
        free_made(paths->made.items[i]);
    }
    lull_vec_free(&paths->made);
    if (paths->base) {
        free_made(paths->base);
    }
    lull_waits_free(paths->reading.waits);
    lull_session_free(paths->session);
    g_free(paths->rows);
    g_clear_error(&paths->period_problem);
    g_mutex_clear(&paths->lock);
    g_free(paths);
}

static struct made_path *find(const struct server_paths *paths, const char *id)
{
    for (size_t i = 0; i < paths->made.count; i++) {
        if (strcmp(paths->made.items[i]->id, id) == 0) {
            return paths->made.items[i];
        }
    }
    return NULL;
}

bool server_paths_have(struct server_paths *paths, const char *id)
{
    g_mutex_lock(&paths->lock);
    const bool is_there = strcmp(id, SERVER_PATH_ID) == 0 || find(paths, id);
    g_mutex_unlock(&paths->lock);
    return is_there;
}

static void describe(const struct made_path *made, GString *out)
{
    const char *name = made ? made->name : "Critical Path";
    g_string_append_printf(out, "{\"id\":\"%s\",\"name\":", made ? made->id : SERVER_PATH_ID);
    lull_json_append(out, name, strlen(name));
    g_string_append_printf(out,
                           ",\"description\":\"What a task waited for, across tasks and hosts\","
                           "\"type\":\"TIME_GRAPH\"%s}",
                           made ? ",\"parentId\":\"" SERVER_PATH_ID
                                  "\",\"capabilities\":{\"canCreate\":false,\"canDelete\":true}"
                                : ",\"capabilities\":{\"canCreate\":true,\"canDelete\":false}");
}

void server_paths_describe(struct server_paths *paths, GString *out)
{
    g_mutex_lock(&paths->lock);
    describe(NULL, out);
    for (size_t i = 0; i < paths->made.count; i++) {
        g_string_append_c(out, ',');
        describe(paths->made.items[i], out);
    }
    g_mutex_unlock(&paths->lock);
}

void server_paths_describe_one(struct server_paths *paths, const char *id, GString *out)
{
    g_mutex_lock(&paths->lock);
    describe(find(paths, id), out);
    g_mutex_unlock(&paths->lock);
}

void server_paths_types(bool is_alone, GString *out)
{
    g_string_append(out, is_alone ? "" : "[");
    g_string_append(
        out,
        "{\"id\":\"lull.critpath\",\"name\":\"Critical path\",\"description\":\"Of a task between "
        "two times, or of a request\",\"schema\":{\"type\":\"object\",\"properties\":{\"tid\":{\"type\":"
        "\"integer\"},\"host\":{\"type\":\"string\"},\"begin\":{\"type\":\"integer\"},\"end\":{"
        "\"type\":\"integer\"},\"request\":{\"type\":\"integer\"},\"bounded\":{\"type\":\"boolean\"}},"
        "\"anyOf\":[{\"required\":[\"tid\"]},{\"required\":[\"request\"]}]}}");
    g_string_append(out, is_alone ? "" : "]");
}

/* ---- making one ---- */

/* Periods that the traces cannot have leave the paths of tasks and requests as they are. */
static void follow_periods(struct server_paths *paths, struct lull_waits *waits)
{
    const struct lull_periods *periods = paths->about->periods;
    g_autoptr(GString) warnings = g_string_new(NULL);
    if (periods && lull_periods_check(periods, paths->session, warnings, &paths->period_problem)) {
        lull_waits_follow(waits, periods, INT64_MIN, INT64_MAX);
    }
}

/* Reads the traces, once. */
static bool read_traces(struct server_paths *paths, GError **error)
{
    if (paths->session) {
        return true;
    }
    if (!paths->store) {
        g_set_error_literal(
            error, LULL_ERROR, LULL_ERROR_QUESTION,
            "critical paths and requests are available when all of the traces is indexed");
        return false;
    }
    struct lull_session *session = served_session(paths->about, true, error);
    struct lull_waits *waits =
        session ? lull_waits_new(session, LULL_WANT_PATHS | LULL_WANT_REQUESTS, error) : NULL;
    if (!waits) {
        lull_session_free(session);
        return false;
    }
    paths->session = session;
    follow_periods(paths, waits);
    lull_waits_read(waits, NULL, NULL);
    paths->rows = server_task_rows(paths->store, waits->model);
    paths->reading = (struct server_reading){
        .waits = waits,
        .rows = paths->rows,
        .n_tasks = lull_waits_task_count(waits),
        .why_no_periods = paths->period_problem ? paths->period_problem->message : NULL};
    return true;
}

const struct server_reading *server_paths_lock(struct server_paths *paths, GError **error)
{
    g_mutex_lock(&paths->lock);
    return read_traces(paths, error) ? &paths->reading : NULL;
}

void server_paths_unlock(struct server_paths *paths)
{
    g_mutex_unlock(&paths->lock);
}

static bool find_host(const struct server_paths *paths, struct json_object *params, int32_t *host,
                      GError **error)
{
    struct json_object *given;
    const char *name = server_param_text(params, "host");
    *host = -1;
    if (!json_object_object_get_ex(params, "host", &given)) {
        return true;
    }
    if (!name) {
        g_set_error_literal(error, LULL_ERROR, LULL_ERROR_USAGE, "host must be a text");
        return false;
    }
    for (uint32_t i = 0; i < lull_session_host_count(paths->session); i++) {
        if (strcmp(lull_session_host(paths->session, i)->name, name) == 0) {
            *host = (int32_t)i;
            return true;
        }
    }
    g_set_error(error, LULL_ERROR, LULL_ERROR_QUESTION, "there is no host “%s” in these traces",
                name);
    return false;
}

static int64_t number(struct json_object *params, const char *key, int64_t otherwise)
{
    int64_t value;
    return server_param_number(params, key, &value) ? value : otherwise;
}

/* The line of a task, or of a host (task LULL_NONE). */
static int32_t entry_of(struct made_path *made, const struct server_paths *paths,
                        const struct lull_segment *segment, uint32_t task)
{
    const uint64_t key = (uint64_t)segment->host << 32 | task;
    const uint32_t known = lull_map_find(&made->by_task, key);
    if (known != LULL_MAP_NONE) {
        return (int32_t)known;
    }
    const bool is_host = task == LULL_NONE;
    const int32_t parent = is_host ? -1 : entry_of(made, paths, segment, LULL_NONE);
    lull_vec_push(
        &made->entries,
        (struct path_entry){.parent = parent,
                            .host = segment->host,
                            .task = task,
                            .tid = is_host ? -1 : segment->tid,
                            .pid = is_host ? -1 : segment->pid,
                            .name = is_host ? lull_session_host(paths->session, segment->host)->name
                                            : segment->comm});
    lull_map_insert(&made->by_task, key, (uint32_t)made->entries.count - 1);
    return (int32_t)made->entries.count - 1;
}

/* The path and the name become its property; NULL if there is no path. */
static struct made_path *made_of(const struct server_paths *paths, struct lull_path *path,
                                 char *name)
{
    if (!path) {
        g_free(name);
        return NULL;
    }
    struct made_path *made = g_new0(struct made_path, 1);
    made->path = path;
    made->name = name;
    for (uint32_t i = 0; i < lull_path_segment_count(path); i++) {
        const struct lull_segment *segment = lull_path_segment(path, i);
        const int32_t entry = entry_of(made, paths, segment, segment->task);
        made->entries.items[entry].has_segments = true;
    }
    return made;
}

static struct made_path *make_of_task(const struct server_paths *paths, struct json_object *params,
                                      enum lull_path_kind kind, GError **error)
{
    const struct lull_waits *waits = paths->reading.waits;
    int32_t host;
    if (!find_host(paths, params, &host, error)) {
        return NULL;
    }
    const uint32_t task = lull_waits_find_tid(waits, host, number(params, "tid", -1), error);
    if (task == LULL_NONE) {
        return NULL;
    }
    struct lull_path *path = lull_waits_task_path(waits, task, number(params, "begin", INT64_MIN),
                                                  number(params, "end", INT64_MAX), kind, error);
    return made_of(paths, path,
                   g_strdup_printf("Critical Path of %s (%d)",
                                   lull_waits_comm(waits, task, INT64_MAX),
                                   lull_waits_task(waits, task)->tid));
}

static struct made_path *make(const struct server_paths *paths, struct json_object *params,
                              GError **error)
{
    struct json_object *bounded;
    int64_t request;
    const bool is_bounded =
        !json_object_object_get_ex(params, "bounded", &bounded) || json_object_get_boolean(bounded);
    const enum lull_path_kind kind = is_bounded ? LULL_PATH_BOUNDED : LULL_PATH_UNBOUNDED;
    if (!server_param_number(params, "request", &request)) {
        return make_of_task(paths, params, kind, error);
    }
    return made_of(paths, lull_waits_request_path(paths->reading.waits, request, kind, error),
                   g_strdup_printf("Critical Path of request %" PRId64, request));
}

/* What the base shows: the path of the longest request. */
static struct made_path *base_of(struct server_paths *paths)
{
    if (paths->store && !paths->is_base_known && read_traces(paths, NULL)) {
        const struct lull_selection all = LULL_SELECT_ALL;
        const struct lull_waits *waits = paths->reading.waits;
        g_autoptr(GPtrArray) found = lull_waits_select_requests(waits, &all, 1);
        const struct lull_request *longest = found->len ? found->pdata[0] : NULL;
        paths->is_base_known = true;
        paths->base =
            longest ? made_of(paths,
                              lull_waits_request_path(waits, longest->id, LULL_PATH_BOUNDED, NULL),
                              g_strdup(""))
                    : NULL;
    }
    return paths->base;
}

/* The path that an output shows; NULL: none. */
static struct made_path *shown(struct server_paths *paths, const char *id)
{
    return strcmp(id, SERVER_PATH_ID) == 0 ? base_of(paths) : find(paths, id);
}

/* What it is made of, as a part of its id. */
static char *id_of(struct json_object *params)
{
    g_autofree char *sum = g_compute_checksum_for_string(
        G_CHECKSUM_SHA256, json_object_to_json_string_ext(params, JSON_C_TO_STRING_PLAIN), -1);
    return g_strdup_printf(SERVER_PATH_ID ":%.16s", sum);
}

static bool make_new(struct server_paths *paths, struct json_object *params, const char *id,
                     GError **error)
{
    if (paths->made.count >= PATHS_MOST) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_USAGE,
                    "there are %d critical paths already; delete one", PATHS_MOST);
        return false;
    }
    struct made_path *made = read_traces(paths, error) ? make(paths, params, error) : NULL;
    if (made) {
        made->id = g_strdup(id);
        lull_vec_push(&paths->made, made);
    }
    return made != NULL;
}

bool server_paths_make(struct server_paths *paths, struct json_object *params, GString *out,
                       GError **error)
{
    int64_t given;
    if (!server_param_number(params, "tid", &given) &&
        !server_param_number(params, "request", &given)) {
        g_set_error_literal(error, LULL_ERROR, LULL_ERROR_USAGE,
                            "the number tid, or that of a request, is missing");
        return false;
    }
    g_autofree char *id = id_of(params);
    g_mutex_lock(&paths->lock);
    const bool is_done = find(paths, id) || make_new(paths, params, id, error);
    if (is_done) {
        describe(find(paths, id), out);
    }
    g_mutex_unlock(&paths->lock);
    return is_done;
}

bool server_paths_remove(struct server_paths *paths, const char *id, GString *out)
{
    bool is_found = false;
    g_mutex_lock(&paths->lock);
    for (size_t i = 0; !is_found && i < paths->made.count; i++) {
        if (strcmp(paths->made.items[i]->id, id) == 0) {
            is_found = true;
            describe(paths->made.items[i], out);
            free_made(paths->made.items[i]);
            paths->made.items[i] = paths->made.items[--paths->made.count];
        }
    }
    g_mutex_unlock(&paths->lock);
    return is_found;
}

/* ---- models ---- */

void server_paths_tree(struct server_paths *paths, const char *id, GString *out)
{
    g_mutex_lock(&paths->lock);
    const struct made_path *made = shown(paths, id);
    int64_t start_ns = 0, end_ns = 0;
    g_string_append(out, "{\"headers\":[{\"name\":\"Process\",\"tooltip\":\"\"}],\"entries\":[");
    if (made) {
        lull_path_range(made->path, &start_ns, &end_ns);
    }
    for (size_t i = 0; made && i < made->entries.count; i++) {
        const struct path_entry *entry = &made->entries.items[i];
        g_string_append_printf(out, "%s{\"id\":%zu,\"parentId\":%d,\"labels\":[", i ? "," : "",
                               i + 1, entry->parent < 0 ? -1 : entry->parent + 1);
        lull_json_append(out, entry->name, strlen(entry->name));
        g_string_append_printf(
            out, "],\"start\":%" PRId64 ",\"end\":%" PRId64 ",\"hasData\":%s,\"metadata\":{",
            start_ns, end_ns, entry->has_segments ? "true" : "false");
        if (entry->task != LULL_NONE) {
            g_string_append_printf(out, "\"TID\":[%d],\"PID\":[%d]", entry->tid, entry->pid);
        }
        g_string_append(out, "}}");
    }
    g_string_append(out, "]}");
    g_mutex_unlock(&paths->lock);
}

static void append_segment(const struct lull_segment *segment, GString *out)
{
    g_string_append_printf(out,
                           "%s{\"start\":%" PRId64 ",\"end\":%" PRId64
                           ",\"style\":{\"parentKey\":\"%s\",\"values\":{}}",
                           out->str[out->len - 1] == '[' ? "" : ",", segment->start_ns,
                           segment->end_ns, style_of(segment));
    if (segment->detail) {
        g_string_append(out, ",\"label\":");
        lull_json_append(out, segment->detail, strlen(segment->detail));
    }
    g_string_append_c(out, '}');
}

/* The segments of a task; between them a state without style, as states must touch. */
static void append_row(const struct made_path *made, const struct path_entry *entry,
                       const struct server_range *range, GString *out)
{
    int64_t last_ns = INT64_MIN;
    for (uint32_t i = 0; i < lull_path_segment_count(made->path); i++) {
        const struct lull_segment *segment = lull_path_segment(made->path, i);
        if (segment->host != entry->host || segment->task != entry->task ||
            segment->end_ns <= range->start_ns || segment->start_ns >= range->end_ns) {
            continue;
        }
        if (last_ns != INT64_MIN && last_ns < segment->start_ns) {
            g_string_append_printf(out, ",{\"start\":%" PRId64 ",\"end\":%" PRId64 "}", last_ns,
                                   segment->start_ns);
        }
        append_segment(segment, out);
        last_ns = segment->end_ns;
    }
}

void server_paths_states(struct server_paths *paths, const char *id,
                         const struct server_range *range, const int64_t *items, uint32_t n_items,
                         GString *out)
{
    g_mutex_lock(&paths->lock);
    const struct made_path *made = shown(paths, id);
    g_string_append(out, "{\"rows\":[");
    for (uint32_t i = 0; made && i < n_items; i++) {
        if (items[i] >= 1 && (uint64_t)items[i] <= made->entries.count) {
            g_string_append_printf(out, "%s{\"entryId\":%" PRId64 ",\"states\":[",
                                   out->str[out->len - 1] == '[' ? "" : ",", items[i]);
            append_row(made, &made->entries.items[items[i] - 1], range, out);
            g_string_append(out, "]}");
        }
    }
    g_string_append(out, "]}");
    g_mutex_unlock(&paths->lock);
}

void server_paths_arrows(struct server_paths *paths, const char *id,
                         const struct server_range *range, GString *out)
{
    g_mutex_lock(&paths->lock);
    struct made_path *made = shown(paths, id);
    g_string_append_c(out, '[');
    for (uint32_t i = 1; made && i < lull_path_segment_count(made->path); i++) {
        const struct lull_segment *from = lull_path_segment(made->path, i - 1);
        const struct lull_segment *to = lull_path_segment(made->path, i);
        if ((from->host != to->host || from->task != to->task) && to->start_ns >= range->start_ns &&
            to->start_ns <= range->end_ns) {
            g_string_append_printf(
                out,
                "%s{\"sourceId\":%d,\"targetId\":%d,\"start\":%" PRId64 ",\"end\":%" PRId64
                ",\"style\":{\"parentKey\":\"%s\",\"values\":{}}}",
                out->str[out->len - 1] == '[' ? "" : ",",
                entry_of(made, paths, from, from->task) + 1,
                entry_of(made, paths, to, to->task) + 1, to->start_ns, to->start_ns, style_of(to));
        }
    }
    g_string_append_c(out, ']');
    g_mutex_unlock(&paths->lock);
}

void server_paths_styles(GString *out)
{
    g_string_append(out, "{\"styles\":{");
    for (uint32_t i = 0; i < G_N_ELEMENTS(styles); i++) {
        g_string_append_printf(out,
                               "%s\"%s\":{\"values\":{\"style-name\":\"%s\",\"background-color\":"
                               "\"%s\",\"color\":\"%s\",\"opacity\":1,\"height\":1}}",
                               i ? "," : "", styles[i].name, styles[i].name, styles[i].color,
                               styles[i].color);
    }
    g_string_append(out, "}}");
}
