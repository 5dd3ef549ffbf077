/* SPDX-License-Identifier: MIT */
/* Who runs: the contexts tid and procname of the event say so where the trace has them; else the
 * last sched_switch on the same CPU does, for which the trace is read from its start on and not
 * from the start of the requested time. */
#include "kernel/running_filter.h"

#include <stddef.h>
#include <string.h>

#include "kernel/model.h"
#include "kernel/running.h"
#include "kernel/vocabulary.h"
#include "source/session/event_filter.h"
#include "source/session/streams.h"
#include "source/source.h"

/* Of all events; sched_switch has the rest too. */
struct fields {
    uint64_t present;
    int64_t tid, pid;
    struct lull_text comm;
    int64_t address, process;
    int64_t prev_tid, next_tid;
    struct lull_text prev_comm, next_comm;
};

enum {
    HAS_TID = 1,
    HAS_COMM = 2,
    HAS_PID = 4,
    HAS_ADDRESS = 8,
    HAS_PROCESS = 16,
    HAS_PREV_TID = 32,
    HAS_NEXT_TID = 64,
    HAS_PREV_COMM = 128,
    HAS_NEXT_COMM = 256
};

/* Of the bindings: those that tell tasks, and with them those that tell places. */
enum { OF_TASKS = 3, OF_PLACES = 5 };

#define PATHS(...) ((const char *const[]){__VA_ARGS__, NULL})

static const struct lull_binding bindings[] = {
    {PATHS("context.tid", "context.common_pid", "context.vtid"), LULL_BIND_INT,
     offsetof(struct fields, tid)},
    {PATHS("context.procname"), LULL_BIND_TEXT, offsetof(struct fields, comm)},
    {PATHS("context.pid"), LULL_BIND_INT, offsetof(struct fields, pid)},
    {PATHS("context.ip", "ip"), LULL_BIND_INT, offsetof(struct fields, address)},
    {PATHS("context.vpid", "context.pid"), LULL_BIND_INT, offsetof(struct fields, process)},
    {PATHS("prev_tid", "prev_pid"), LULL_BIND_INT, offsetof(struct fields, prev_tid)},
    {PATHS("next_tid", "next_pid"), LULL_BIND_INT, offsetof(struct fields, next_tid)},
    {PATHS("prev_comm"), LULL_BIND_TEXT, offsetof(struct fields, prev_comm)},
    {PATHS("next_comm"), LULL_BIND_TEXT, offsetof(struct fields, next_comm)},
};

struct lull_running_filter {
    const struct lull_session *session;
    struct lull_running_query query;
    bool by_task;      /* tid, pid or comm was requested */
    uint32_t switches; /* the subscription to sched_switch */
    struct lull_running_table running;
    char **comms;   /* the items of the list of names */
    GArray *unseen; /* uint32_t: which of the tids, pids and names no event was of yet */
};

/* Whether the contexts of the events show all that the query requests, judged by the first event;
 * of what is read once only, that is not known. */
static bool contexts_suffice(struct lull_running_filter *filter, struct lull_session *session)
{
    struct lull_event event;
    if (filter->query.is_live) {
        return false;
    }
    if (lull_session_next(session, &event) != 1) {
        return true;
    }
    const struct fields *fields = event.fields;
    const uint64_t needed = (filter->query.tids.count ? HAS_TID : 0) |
                            (filter->query.pids.count ? HAS_PID : 0) |
                            (filter->query.comm ? HAS_COMM : 0);
    return (fields->present & needed) == needed;
}

static void look_for_pid(void *user, uint32_t trace, const struct lull_event_class *event_class)
{
    const struct lull_source *source = event_class->source;
    struct lull_field_type type;
    bool *is_shown = user;
    *is_shown = *is_shown &&
                source->ops->describe(source, event_class->index, "context.pid", &type) &&
                type.info.kind == LULL_INFO_INT && !type.info.is_optional;
}

bool lull_running_shows_pid(const struct lull_session *session)
{
    bool is_shown = true;
    for (uint32_t host = 0; is_shown && host < lull_session_host_count(session); host++) {
        lull_session_each_host_class(session, host, look_for_pid, &is_shown);
    }
    return is_shown;
}

/* Of --pid, where contexts do not say which process, it was looked for before. */
static void expect_items(struct lull_running_filter *filter)
{
    const struct lull_running_query *query = &filter->query;
    const uint32_t n_tids = query->tids.count, n_ids = n_tids + query->pids.count;
    filter->comms = g_strsplit(query->comm ? query->comm : "", ",", -1);
    filter->unseen = g_array_new(FALSE, FALSE, sizeof(uint32_t));
    for (uint32_t i = 0; i < n_ids + g_strv_length(filter->comms); i++) {
        if (i < n_tids || i >= n_ids || !query->threads) {
            g_array_append_val(filter->unseen, i);
        }
    }
}

static void note_items(struct lull_running_filter *filter, int64_t tid, int64_t pid,
                       const char *comm)
{
    const struct lull_running_query *query = &filter->query;
    const uint32_t n_tids = query->tids.count, n_ids = n_tids + query->pids.count;
    for (uint32_t i = filter->unseen->len; i-- > 0;) {
        const uint32_t item = g_array_index(filter->unseen, uint32_t, i);
        if (item < n_tids  ? query->tids.items[item] == tid
            : item < n_ids ? query->pids.items[item - n_tids] == pid
                           : lull_comm_matches(filter->comms[item - n_ids], comm)) {
            g_array_remove_index_fast(filter->unseen, i);
        }
    }
}

bool lull_running_filter_saw_all(const struct lull_running_filter *filter)
{
    return filter->unseen->len == 0;
}

struct lull_running_filter *lull_running_filter_new(struct lull_session *session,
                                                    const struct lull_running_query *query)
{
    static const char *const everything[] = {"*", NULL};
    struct lull_running_filter *filter = g_new0(struct lull_running_filter, 1);
    filter->session = session;
    filter->query = *query;
    filter->by_task = query->tids.count || query->pids.count || query->comm || query->only_threads;
    expect_items(filter);
    lull_session_unsubscribe_all(session);
    lull_running_table_init(&filter->running, filter->by_task ? session : NULL);
    lull_session_limit(session, query->start_ns, query->end_ns);
    if (!filter->by_task) {
        lull_session_subscribe(session, everything, bindings, query->wants_places ? OF_PLACES : 0,
                               query->wants_places ? sizeof(struct fields) : 0);
        return filter;
    }
    filter->switches =
        lull_session_subscribe(session, lull_vocabulary_names(LULL_EVENT_sched_switch), bindings,
                               G_N_ELEMENTS(bindings), sizeof(struct fields));
    lull_session_subscribe(session, everything, bindings,
                           query->wants_places ? OF_PLACES : OF_TASKS, sizeof(struct fields));
    if (!contexts_suffice(filter, session)) {
        lull_session_limit(session, INT64_MIN, query->end_ns);
        lull_session_exempt(session, filter->switches);
    }
    lull_session_rewind(session);
    return filter;
}

void lull_running_filter_free(struct lull_running_filter *filter)
{
    if (filter) {
        lull_running_table_clear(&filter->running);
        g_strfreev(filter->comms);
        g_array_unref(filter->unseen);
        g_clear_pointer(&filter->query.threads, g_hash_table_unref);
        g_free(filter);
    }
}

static bool pid_matches(const struct lull_running_filter *filter, const struct lull_event *event,
                        const struct fields *fields, int64_t tid)
{
    const struct lull_running_query *query = &filter->query;
    if (!query->only_threads && (query->pids.count == 0 || (fields->present & HAS_PID))) {
        return lull_numbers_have(query->pids, fields->pid);
    }
    const int64_t task = lull_running_task(event->host, tid);
    return tid >= 0 && query->threads && g_hash_table_contains(query->threads, &task);
}

/* Whether the task that the event happened in is wanted. */
static bool task_matches(struct lull_running_filter *filter, const struct lull_event *event,
                         const struct lull_running *running)
{
    const struct lull_running_query *query = &filter->query;
    const struct fields *fields = event->fields;
    const bool knows_tid = query->tids.count == 0 || (fields->present & HAS_TID);
    const bool knows_comm = !query->comm || (fields->present & HAS_COMM);
    const bool is_tracked = running && running->is_known;
    if ((!knows_tid || !knows_comm) && !is_tracked) {
        return false;
    }
    const int64_t tid = fields->present & HAS_TID ? fields->tid : is_tracked ? running->tid : -1;
    if (!pid_matches(filter, event, fields, tid) || !lull_numbers_have(query->tids, tid)) {
        return false;
    }
    char name[LULL_COMM_LENGTH + 1] = "";
    if (query->comm && (fields->present & HAS_COMM)) {
        memcpy(name, fields->comm.data, MIN(fields->comm.length, LULL_COMM_LENGTH));
    } else if (query->comm) {
        g_strlcpy(name, running->comm, sizeof name);
    }
    if (query->comm && !lull_comm_matches(query->comm, name)) {
        return false;
    }
    if (G_UNLIKELY(filter->unseen->len > 0)) {
        note_items(filter, tid, fields->present & HAS_PID ? fields->pid : -1, name);
    }
    return true;
}

bool lull_running_filter_passes(struct lull_running_filter *filter, const struct lull_event *event)
{
    if (!filter->by_task) {
        return true;
    }
    const struct fields *fields = event->fields;
    struct lull_running *running = lull_running_on(&filter->running, event);
    const bool is_switch = event->subscription == filter->switches;
    /* A sched_switch happens while the task that leaves still runs. */
    if (is_switch && running && (fields->present & HAS_PREV_TID)) {
        lull_running_set(running, fields->prev_tid, fields->prev_comm);
    }
    bool passes = (!is_switch || lull_session_passes(filter->session, event)) &&
                  event->time_ns >= filter->query.start_ns && task_matches(filter, event, running);
    if (is_switch && running && (fields->present & HAS_NEXT_TID)) {
        lull_running_set(running, fields->next_tid, fields->next_comm);
    }
    return passes;
}

bool lull_running_filter_spot(const struct lull_running_filter *filter,
                              const struct lull_event *event, uint64_t *address, int32_t *pid)
{
    const struct fields *fields = event->fields;
    if (!filter->query.wants_places || !(fields->present & HAS_ADDRESS) || fields->address == 0) {
        return false;
    }
    const int64_t said = fields->present & HAS_PROCESS
                             ? fields->process
                             : lull_session_trace(filter->session, event->trace)->process_id;
    *address = (uint64_t)fields->address;
    *pid = said > 0 && said <= INT32_MAX ? (int32_t)said : -1;
    return true;
}
