/* SPDX-License-Identifier: MIT */
/* Reads a session for what its tasks waited for, and finds whose path is meant. */
#include "answers/waits.h"

#include "answers/tasks.h"

#include <lull/recording.h>

#include <string.h>

#include "answers/nearby.h"
#include "base/time.h"
#include "kernel/vocabulary.h"
#include "source/session/clocks.h"
#include "source/session/streams.h"

/* ---- reading ---- */

/* Without the graph nothing can be answered. */
static bool check_events(const struct lull_session *session, GError **error)
{
    for (uint32_t host = 0; host < lull_session_host_count(session); host++) {
        if (lull_session_declares(session, host, lull_vocabulary_names(LULL_EVENT_sched_switch))) {
            return true;
        }
    }
    g_set_error(error, LULL_ERROR, LULL_ERROR_QUESTION,
                "these traces have no sched_switch events: who ran and who waited is not in them "
                "('lull info' says what they can answer)");
    return false;
}

static void open_reading(struct lull_waits *waits)
{
    const bool has_paths = waits->wanted & LULL_WANT_PATHS;
    uint32_t n_guest_cpus = 0;
    if (waits->sync) {
        lull_sync_guest_cpus(waits->sync, &n_guest_cpus);
    }
    /* What a task called is evidence in a path alone. */
    const unsigned groups = has_paths ? LULL_GROUP_GRAPH | LULL_GROUP_QUEUES
                                      : (LULL_GROUP_GRAPH & ~LULL_GROUP_CALLS) |
                                            (waits->names_calls ? LULL_GROUP_CALLNAMES : 0);
    waits->model = lull_model_new(waits->session, groups | (n_guest_cpus ? LULL_GROUP_VIRT : 0));
    if (has_paths) {
        waits->eg = lull_execgraph_new(waits->model, waits->sync);
    }
    if (waits->wanted & LULL_WANT_REQUESTS) {
        waits->requests = lull_requests_new(waits->model);
    }
}

static void close_reading(struct lull_waits *waits)
{
    g_clear_pointer(&waits->requests, lull_requests_free);
    g_clear_pointer(&waits->eg, lull_execgraph_free);
    g_clear_pointer(&waits->model, lull_model_free);
}

struct lull_waits *lull_waits_new(struct lull_session *session, unsigned wanted, GError **error)
{
    if ((wanted & LULL_WANT_PATHS) && !check_events(session, error)) {
        return NULL;
    }
    struct lull_waits *waits = g_new0(struct lull_waits, 1);
    lull_session_unsubscribe_all(session);
    waits->session = session;
    waits->wanted = wanted;
    waits->sync = lull_session_sync(session);
    waits->last_ns = INT64_MAX;
    open_reading(waits);
    return waits;
}

void lull_waits_reopen(struct lull_waits *waits)
{
    close_reading(waits);
    open_reading(waits);
}

bool lull_waits_need_calls(struct lull_waits *waits)
{
    uint32_t n;
    lull_requests_unanswered(waits->requests, &n);
    if (n == 0 || waits->names_calls || waits->wanted & LULL_WANT_PATHS) {
        return false;
    }
    waits->names_calls = true;
    lull_waits_reopen(waits);
    return true;
}

void lull_waits_free(struct lull_waits *waits)
{
    if (!waits) {
        return;
    }
    lull_period_tracker_free(waits->tracker);
    close_reading(waits);
    g_free(waits);
}

void lull_waits_follow(struct lull_waits *waits, const struct lull_periods *periods,
                       int64_t start_ns, int64_t end_ns)
{
    g_return_if_fail(!waits->tracker);
    waits->periods = periods;
    waits->last_ns = end_ns;
    waits->tracker = lull_period_tracker_new(periods, waits->session, NULL, NULL);
    lull_period_tracker_limit(waits->tracker, start_ns, end_ns);
}

void lull_waits_read(struct lull_waits *waits, void (*progress)(void *user), void *user)
{
    int64_t first_ns, last_ns;
    const bool is_nearby = waits->nearby.before > 0;
    if (is_nearby) {
        lull_waits_start_nearby(waits);
    }
    if (waits->eg) {
        lull_execgraph_watch_quotas(waits->eg, waits->session);
    }
    lull_model_run(waits->model, progress, user);
    lull_session_unsubscribe_all(waits->session); /* the model's, which dies before the session */
    if (is_nearby) {
        lull_session_limit(waits->session, INT64_MIN, INT64_MAX);
    }
    if (waits->eg) {
        lull_execgraph_learn_quotas(waits->eg, waits->session);
        lull_execgraph_learn_holders(waits->eg, waits->session);
    }
    if (waits->requests) {
        lull_requests_finish(waits->requests);
    }
    if (waits->tracker && lull_session_range(waits->session, &first_ns, &last_ns)) {
        lull_period_tracker_finish(waits->tracker, MIN(last_ns, waits->last_ns));
    }
}

struct lull_selection lull_selection_of(const struct lull_selection *selection)
{
    struct lull_selection known = LULL_SELECT_ALL;
    if (selection) {
        /* What an older caller does not know of stays as it is: all. */
        memcpy(&known, selection, MIN(selection->size, sizeof known));
        known.size = sizeof known;
    }
    return known;
}

bool lull_selection_has_ids(const struct lull_selection *wanted, int64_t tid, int64_t pid)
{
    return (wanted->tid < 0 || tid == wanted->tid) && (wanted->pid < 0 || pid == wanted->pid) &&
           lull_numbers_have((struct lull_numbers){wanted->tids, (uint32_t)wanted->n_tids}, tid) &&
           lull_numbers_have((struct lull_numbers){wanted->pids, (uint32_t)wanted->n_pids}, pid);
}

/* ---- tasks ---- */

uint32_t lull_waits_task_count(const struct lull_waits *waits)
{
    return lull_model_task_count(waits->model);
}

const struct lull_task *lull_waits_task(const struct lull_waits *waits, uint32_t task)
{
    g_return_val_if_fail(task < lull_model_task_count(waits->model), NULL);
    return lull_model_task(waits->model, task);
}

const char *lull_waits_comm(const struct lull_waits *waits, uint32_t task, int64_t time_ns)
{
    g_return_val_if_fail(task < lull_model_task_count(waits->model), NULL);
    return lull_model_comm(waits->model, task, time_ns);
}

/* Says of tasks that were not seen if they are only hidden. */
static void refuse(const struct lull_waits *waits, const struct lull_selection *wanted,
                   GError **error)
{
    int64_t start_ns, end_ns;
    const bool is_whole =
        !lull_waits_read_range(waits, &start_ns, &end_ns); /* or it is read again */
    if (error && is_whole && lull_session_has_filter(waits->session) &&
        lull_is_hidden(waits->session, wanted, NULL)) {
        g_clear_error(error);
        g_set_error_literal(error, LULL_ERROR, LULL_ERROR_QUESTION,
                            "the task is in the traces, but the filter hides all that it did");
    }
}

uint32_t lull_waits_find_tid(const struct lull_waits *waits, int32_t host, int64_t tid,
                             GError **error)
{
    struct lull_selection wanted = LULL_SELECT_ALL;
    wanted.host = host;
    wanted.tid = tid;
    g_autoptr(GString) hosts = g_string_new(NULL);
    uint32_t found = 0, last = LULL_NONE;
    for (uint32_t h = 0; h < lull_session_host_count(waits->session); h++) {
        uint32_t task = tid >= INT32_MIN && tid <= INT32_MAX
                            ? lull_model_find_tid(waits->model, h, (int32_t)tid)
                            : LULL_NONE;
        if ((host >= 0 && (uint32_t)host != h) || task == LULL_NONE) {
            continue;
        }
        last = task;
        found++;
        g_string_append_printf(hosts, "%s%s (%s)", hosts->len ? ", " : "",
                               lull_session_host(waits->session, h)->name,
                               lull_model_comm(waits->model, task, INT64_MAX));
    }
    if (found > 1) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_QUESTION,
                    "several hosts have a task with tid %" G_GINT64_FORMAT
                    ": %s; choose one of the hosts",
                    tid, hosts->str);
    } else if (found == 0) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_QUESTION,
                    "no task with tid %" G_GINT64_FORMAT " was seen in the traces", tid);
        refuse(waits, &wanted, error);
    }
    return found == 1 ? last : LULL_NONE;
}

static bool fits(const struct lull_model *model, const struct lull_selection *wanted, uint32_t i,
                 bool is_first)
{
    const struct lull_task *task = lull_model_task(model, i);
    return (wanted->host < 0 || task->host == (uint32_t)wanted->host) &&
           task->first_ns <= task->last_ns && (!is_first || task->tid == task->pid) &&
           lull_selection_has_ids(wanted, task->tid, task->pid) &&
           (!wanted->comm || lull_model_had_comm(model, i, wanted->comm)) &&
           (!wanted->container ||
            lull_container_matches(wanted->container, lull_model_container(model, i)));
}

static uint32_t find_longest(const struct lull_model *model, const struct lull_selection *wanted,
                             bool is_first, uint32_t *others)
{
    uint32_t found = LULL_NONE, count = 0;
    int64_t longest_ns = -1;
    for (uint32_t i = 0; i < lull_model_task_count(model); i++) {
        if (!fits(model, wanted, i, is_first)) {
            continue;
        }
        const struct lull_task *task = lull_model_task(model, i);
        /* A child has the name of its parent until it executes another program. */
        const int64_t ns = wanted->comm ? lull_model_comm_ns(model, i, wanted->comm)
                                        : task->last_ns - task->first_ns;
        count++;
        if (ns > longest_ns) {
            longest_ns = ns;
            found = i;
        }
    }
    *others = count ? count - 1 : 0;
    return found;
}

static uint32_t find_task(const struct lull_waits *waits, const struct lull_selection *wanted,
                          uint32_t *others, GError **error)
{
    const bool has_tids = wanted->tid >= 0 || wanted->n_tids;
    const bool has_pids = wanted->pid >= 0 || wanted->n_pids;
    const bool has_names = wanted->comm || wanted->container;
    *others = 0;
    if (!has_names && !has_pids && wanted->tid < 0 && wanted->n_tids == 1) {
        return lull_waits_find_tid(waits, wanted->host, wanted->tids[0], error);
    }
    if (!lull_check_selected_tasks(waits->model, wanted, error)) {
        refuse(waits, wanted, error);
        return LULL_NONE;
    }
    uint32_t task = LULL_NONE;
    if (has_pids && !has_tids && !has_names) {
        task = find_longest(waits->model, wanted, true, others);
        if (task != LULL_NONE && wanted->n_pids == 1) {
            *others = 0;
            return lull_waits_find_tid(waits, wanted->host, wanted->pids[0], error);
        }
    }
    if (task == LULL_NONE) {
        task = find_longest(waits->model, wanted, false, others);
    }
    if (task == LULL_NONE) {
        g_set_error_literal(
            error, LULL_ERROR, LULL_ERROR_QUESTION,
            has_tids + has_pids + (wanted->comm != NULL) + (wanted->container != NULL) > 1
                ? "no task fits all of --tid, --pid, --comm and --container that "
                  "were given"
                : "no event of such a task was recorded");
    }
    return task;
}

uint32_t lull_waits_find_task(const struct lull_waits *waits,
                              const struct lull_selection *selection, uint32_t *others,
                              GError **error)
{
    const struct lull_selection wanted = lull_selection_of(selection);
    uint32_t more;
    return find_task(waits, &wanted, others ? others : &more, error);
}

bool lull_waits_check_tasks(struct lull_waits *waits, const struct lull_selection *selection,
                            GError **error)
{
    const struct lull_selection wanted = lull_selection_of(selection);
    return lull_check_left_tasks(waits->session, waits->model, &wanted, error);
}

uint32_t lull_waits_find_comm(const struct lull_waits *waits, int32_t host, const char *comm,
                              uint32_t *others, GError **error)
{
    struct lull_selection wanted = LULL_SELECT_ALL;
    wanted.host = host;
    wanted.comm = comm;
    return lull_waits_find_task(waits, &wanted, others, error);
}

uint32_t lull_waits_find_container(const struct lull_waits *waits, int32_t host,
                                   const char *container, uint32_t *others, GError **error)
{
    struct lull_selection wanted = LULL_SELECT_ALL;
    wanted.host = host;
    wanted.container = container;
    return lull_waits_find_task(waits, &wanted, others, error);
}

/* ---- paths ---- */

static struct lull_path *find_path(const struct lull_waits *waits, uint32_t task, int64_t start_ns,
                                   int64_t end_ns, enum lull_path_kind kind)
{
    g_return_val_if_fail(waits->eg, NULL);
    return lull_execgraph_path(waits->eg, waits->session, waits->sync, task, start_ns, end_ns,
                               kind);
}

/* The host's last event of any kind. */
static int64_t find_last(const struct lull_waits *waits, uint32_t host)
{
    const uint32_t n = lull_session_trace_count(waits->session);
    g_autofree bool *wanted = g_new(bool, MAX(n, 1));
    g_autofree struct lull_trace_events *events = g_new(struct lull_trace_events, MAX(n, 1));
    int64_t last_ns = INT64_MIN;
    for (uint32_t i = 0; i < n; i++) {
        wanted[i] = lull_session_trace(waits->session, i)->host == host;
    }
    lull_session_trace_events(waits->session, wanted, events);
    for (uint32_t i = 0; i < n; i++) {
        last_ns = MAX(last_ns, events[i].last_ns);
    }
    return last_ns == INT64_MIN ? INT64_MAX : last_ns;
}

/* A life, cut to the requested range; that range is cut to what was recorded, and to the time in
 * which the task is known to have been alive: before its first event it may have waited, unless its
 * birth was seen. */
static struct lull_path *life_path(const struct lull_waits *waits, uint32_t task, int64_t birth_ns,
                                   int64_t death_ns, int64_t start_ns, int64_t end_ns,
                                   enum lull_path_kind kind, GError **error)
{
    const struct lull_task *known = lull_model_task(waits->model, task);
    int64_t first_ns, last_ns;
    lull_model_seen(waits->model, known->host, &first_ns, &last_ns);
    if (end_ns > last_ns) {
        last_ns = end_ns == INT64_MAX ? INT64_MAX : find_last(waits, known->host);
    }
    const bool is_start_cut = start_ns != INT64_MIN && start_ns < first_ns;
    const bool is_end_cut = end_ns != INT64_MAX && end_ns > last_ns;
    const int64_t asked_start_ns = start_ns == INT64_MIN ? birth_ns : MAX(start_ns, first_ns);
    const int64_t asked_end_ns = end_ns == INT64_MAX ? death_ns : MIN(end_ns, last_ns);
    start_ns = MAX(asked_start_ns, known->birth_ns);
    end_ns = known->is_dead ? MIN(asked_end_ns, known->last_ns) : asked_end_ns;
    if (start_ns < end_ns) {
        struct lull_path *path = find_path(waits, task, start_ns, end_ns, kind);
        path->asked_start_ns = asked_start_ns;
        path->asked_end_ns = asked_end_ns;
        path->is_start_cut = is_start_cut;
        path->is_end_cut = is_end_cut;
        return path;
    }
    if (asked_start_ns < asked_end_ns) {
        const bool is_over = known->is_dead && asked_start_ns >= known->last_ns;
        char when[LULL_TIME_TEXT_SIZE];
        lull_time_format_iso(is_over ? known->last_ns : known->birth_ns, false, when);
        g_set_error(error, LULL_ERROR, LULL_ERROR_QUESTION,
                    "%s/%d was not alive in that time range: it %s at %s",
                    lull_model_comm(waits->model, task, INT64_MAX), known->tid,
                    is_over ? "ended" : "was started", when);
        return NULL;
    }
    g_set_error(error, LULL_ERROR, LULL_ERROR_QUESTION,
                "%s/%d did nothing in that time range that was recorded",
                lull_model_comm(waits->model, task, INT64_MAX),
                lull_model_task(waits->model, task)->tid);
    return NULL;
}

struct lull_path *lull_waits_task_path(const struct lull_waits *waits, uint32_t task,
                                       int64_t start_ns, int64_t end_ns, enum lull_path_kind kind,
                                       GError **error)
{
    g_return_val_if_fail(task < lull_model_task_count(waits->model), NULL);
    const struct lull_task *known = lull_model_task(waits->model, task);
    return life_path(waits, task, known->first_ns, known->last_ns, start_ns, end_ns, kind, error);
}

struct lull_path *lull_waits_comm_path(const struct lull_waits *waits, uint32_t task,
                                       const char *comm, int64_t start_ns, int64_t end_ns,
                                       enum lull_path_kind kind, GError **error)
{
    g_return_val_if_fail(task < lull_model_task_count(waits->model), NULL);
    const struct lull_task *known = lull_model_task(waits->model, task);
    const bool was_other =
        known->exec_ns != INT64_MIN &&
        !lull_comm_matches(comm, lull_model_comm(waits->model, task, known->first_ns));
    return life_path(waits, task, was_other ? known->exec_ns : known->first_ns, known->last_ns,
                     start_ns, end_ns, kind, error);
}

/* The thread, or the process's first one; -1: there is no trigger, or it knows neither. */
static int64_t task_of_trigger(const struct lull_recording_info *info)
{
    const struct lull_recording_trigger *trigger = info->trigger;
    return !trigger ? -1 : trigger->tid > 0 ? trigger->tid : trigger->pid;
}

const struct lull_recording_info *lull_session_command(const struct lull_session *session,
                                                       int32_t host, GError **error)
{
    const struct lull_recording_info *found = NULL;
    uint32_t n = 0;
    for (uint32_t i = 0; i < lull_session_recording_count(session); i++) {
        const struct lull_recording_info *info = lull_session_recording(session, i);
        if (((info->command && info->pid > 0) || task_of_trigger(info) > 0) &&
            (host < 0 || (uint32_t)host == info->host)) {
            found = info;
            n++;
        }
    }
    if (n == 1) {
        return found;
    }
    g_set_error(
        error, LULL_ERROR, LULL_ERROR_USAGE,
        n ? "there are %u recordings of commands or slow tasks: choose a host, or say whose "
            "path it is with one of request, tid, pid, comm and period"
          : "say whose path it is with one of request, tid, pid, comm and period",
        n);
    return NULL;
}

/* That of the task that was too slow, in the time in which it was. */
static struct lull_path *trigger_path(const struct lull_waits *waits,
                                      const struct lull_recording_info *info, int64_t start_ns,
                                      int64_t end_ns, enum lull_path_kind kind, GError **error)
{
    const struct lull_recording_trigger *trigger = info->trigger;
    const struct lull_clock_transform *clock = lull_session_clock(waits->session, info->host);
    const int64_t first_ns = lull_clock_transform_apply(clock, trigger->start_ns);
    const int64_t last_ns = lull_clock_transform_apply(clock, trigger->end_ns);
    const int64_t tid = task_of_trigger(info);
    for (uint32_t i = 0; i < lull_model_task_count(waits->model); i++) {
        const struct lull_task *task = lull_model_task(waits->model, i);
        if (task->host == info->host && task->tid == tid && task->first_ns < last_ns &&
            task->last_ns > first_ns) {
            return life_path(waits, i, first_ns, last_ns, start_ns, end_ns, kind, error);
        }
    }
    g_set_error(error, LULL_ERROR, LULL_ERROR_QUESTION,
                "the task that was too slow, tid %" G_GINT64_FORMAT
                ", was not seen in the snapshot: its buffers do not reach back that far, or it did "
                "nothing that was recorded",
                tid);
    return NULL;
}

struct lull_path *lull_waits_command_path(const struct lull_waits *waits, int32_t host,
                                          int64_t start_ns, int64_t end_ns,
                                          enum lull_path_kind kind, GError **error)
{
    const struct lull_recording_info *info = lull_session_command(waits->session, host, error);
    if (info && task_of_trigger(info) > 0) {
        return trigger_path(waits, info, start_ns, end_ns, kind, error);
    }
    for (uint32_t i = 0; info && i < lull_model_task_count(waits->model); i++) {
        const struct lull_task *task = lull_model_task(waits->model, i);
        /* The first that had the pid: it may have been used again since. */
        if (task->host == info->host && task->tid == info->pid) {
            return life_path(waits, i, MAX(task->exec_ns, task->first_ns),
                             MIN(task->exit_ns, task->last_ns), start_ns, end_ns, kind, error);
        }
    }
    if (info) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_QUESTION,
                    "the command “%s”, pid %" G_GINT64_FORMAT ", was not seen in the recording",
                    info->command[0], info->pid);
    }
    return NULL;
}

/* ---- requests ---- */

uint32_t lull_waits_request_count(const struct lull_waits *waits)
{
    uint32_t count = 0;
    if (waits->requests) {
        lull_requests_list(waits->requests, &count);
    }
    return count;
}

const struct lull_request *lull_waits_request(const struct lull_waits *waits, uint32_t index)
{
    uint32_t count;
    g_return_val_if_fail(index < lull_waits_request_count(waits), NULL);
    return &lull_requests_list(waits->requests, &count)[index];
}

struct lull_path *lull_waits_request_path(const struct lull_waits *waits, int64_t id,
                                          enum lull_path_kind kind, GError **error)
{
    const uint32_t count = lull_waits_request_count(waits);
    if (id < 1 || id > count) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_QUESTION,
                    "there is no request %" G_GINT64_FORMAT
                    ": %u were found ('lull requests' lists them)",
                    id, count);
        return NULL;
    }
    const struct lull_request *request = lull_waits_request(waits, (uint32_t)id - 1);
    if (request->task == LULL_NONE) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_QUESTION,
                    "the task that sent request %" G_GINT64_FORMAT
                    " is not known: the trace lacks sched_switch",
                    id);
        return NULL;
    }
    return find_path(waits, request->task, request->start_ns, request->end_ns,
                     kind == LULL_PATH_BOUNDED ? LULL_PATH_REQUEST : kind);
}

static bool is_selected(const struct lull_waits *waits, const struct lull_selection *wanted,
                        const struct lull_request *request)
{
    const struct lull_task *task =
        request->task == LULL_NONE ? NULL : lull_model_task(waits->model, request->task);
    return (wanted->host < 0 || (uint32_t)wanted->host == request->host) &&
           (!wanted->comm || lull_comm_matches(wanted->comm, request->comm)) &&
           (!wanted->container ||
            (task && lull_container_matches(wanted->container,
                                            lull_model_container(waits->model, request->task)))) &&
           lull_selection_has_ids(wanted, task ? request->tid : -1, task ? task->pid : -1) &&
           (wanted->port < 0 || request->port == wanted->port) &&
           request->start_ns < wanted->end_ns && request->end_ns > wanted->start_ns;
}

static gint slowest_first(gconstpointer a, gconstpointer b)
{
    const struct lull_request *left = *(const struct lull_request *const *)a;
    const struct lull_request *right = *(const struct lull_request *const *)b;
    int64_t left_ns = left->end_ns - left->start_ns, right_ns = right->end_ns - right->start_ns;
    if (left_ns != right_ns) {
        return left_ns < right_ns ? 1 : -1;
    }
    return left->id < right->id ? -1 : left->id > right->id;
}

GPtrArray *lull_waits_select_requests(const struct lull_waits *waits,
                                      const struct lull_selection *selection, int64_t slowest)
{
    const struct lull_selection wanted = lull_selection_of(selection);
    GPtrArray *selected = g_ptr_array_new();
    for (uint32_t i = 0; i < lull_waits_request_count(waits); i++) {
        const struct lull_request *request = lull_waits_request(waits, i);
        if (is_selected(waits, &wanted, request)) {
            g_ptr_array_add(selected, (gpointer)request);
        }
    }
    if (slowest >= 0) {
        g_ptr_array_sort(selected, slowest_first);
        g_ptr_array_set_size(selected, (gint)MIN(selected->len, slowest));
    }
    return selected;
}

GPtrArray *lull_waits_select_unanswered(const struct lull_waits *waits,
                                        const struct lull_selection *selection)
{
    const struct lull_selection wanted = lull_selection_of(selection);
    GPtrArray *selected = g_ptr_array_new();
    uint32_t n;
    const struct lull_request *unanswered = lull_requests_unanswered(waits->requests, &n);
    for (uint32_t i = 0; i < n; i++) {
        if (is_selected(waits, &wanted, &unanswered[i])) {
            g_ptr_array_add(selected, (gpointer)&unanswered[i]);
        }
    }
    return selected;
}
