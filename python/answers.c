/* SPDX-License-Identifier: MIT */
/* What a session's tasks waited for, and tables of analyses, as dicts and lists. Each call reads the
 * session once, answers whole, and keeps nothing. */
#include "lullmodule.h"

/* ---- building ---- */

/* Puts `value`, whose reference it takes, under `key`. Releases the dict if one of them is NULL. */
static void put(PyObject **dict, const char *key, PyObject *value)
{
    if (*dict && (!value || PyDict_SetItemString(*dict, key, value) != 0)) {
        Py_CLEAR(*dict);
    }
    Py_XDECREF(value);
}

static PyObject *number(int64_t number, bool is_known)
{
    return is_known ? PyLong_FromLongLong((long long)number) : text_or_none(NULL);
}

static PyObject *host_name(struct lull_session *session, uint32_t host)
{
    return text_or_none(lull_session_host(session, host)->name);
}

static PyObject *tid_or_none(int32_t tid)
{
    return number(tid, tid != -1 && tid != LULL_SEVERAL_TIDS);
}

/* ---- arguments ---- */

/* What a question about waits says: a dict of Python's side. */
struct question {
    struct lull_selection selection;
    GPtrArray *periods, *captures, *group_by; /* end with NULL */
    GArray *tids, *pids;
    char *comm, *container, *select;
};

static void question_clear(struct question *question)
{
    g_ptr_array_unref(question->periods);
    g_ptr_array_unref(question->captures);
    g_ptr_array_unref(question->group_by);
    g_clear_pointer(&question->tids, g_array_unref);
    g_clear_pointer(&question->pids, g_array_unref);
    g_free(question->comm);
    g_free(question->container);
    g_free(question->select);
}

static char *own_text(PyObject *str)
{
    PyObject *bytes = str != Py_None ? PyUnicode_AsUTF8String(str) : NULL;
    char *copy = bytes ? g_strdup(PyBytes_AsString(bytes)) : NULL;
    Py_XDECREF(bytes);
    return copy;
}

static GPtrArray *own_texts(PyObject *list)
{
    GPtrArray *texts = g_ptr_array_new_with_free_func(g_free);
    for (Py_ssize_t i = 0; i < PySequence_Size(list); i++) {
        PyObject *item = PySequence_GetItem(list, i);
        char *copy = item ? own_text(item) : NULL;
        Py_XDECREF(item);
        if (!copy) {
            break;
        }
        g_ptr_array_add(texts, copy);
    }
    g_ptr_array_add(texts, NULL);
    return texts;
}

/* Where in the tuple the definitions of periods are. */
enum { QUESTION_PERIODS = 8 };

/* (host, tids, pids, comm, container, port, begin, end, periods, captures, group_by, select); false with an
 * exception. Clear it in any case. */
static bool question_parse(PyObject *tuple, struct question *question)
{
    PyObject *tids, *pids, *comm, *container, *periods, *captures, *group_by, *select;
    int host;
    long long port, start_ns, end_ns;
    *question = (struct question){.selection = LULL_SELECT_ALL};
    if (!PyArg_ParseTuple(tuple, "iOOOOLLLOOOO", &host, &tids, &pids, &comm, &container, &port,
                          &start_ns, &end_ns, &periods, &captures, &group_by, &select)) {
        periods = captures = group_by = NULL;
    }
    PyObject *empty = PyTuple_New(0);
    question->periods = own_texts(periods ? periods : empty);
    question->captures = own_texts(captures ? captures : empty);
    question->group_by = own_texts(group_by ? group_by : empty);
    Py_XDECREF(empty);
    if (PyErr_Occurred()) {
        return false;
    }
    question->tids = own_numbers(tids);
    question->pids = question->tids ? own_numbers(pids) : NULL;
    if (!question->pids) {
        return false;
    }
    question->comm = own_text(comm);
    question->container = own_text(container);
    question->select = own_text(select);
    question->selection.host = host;
    question->selection.tids = (const int64_t *)(const void *)question->tids->data;
    question->selection.n_tids = question->tids->len;
    question->selection.pids = (const int64_t *)(const void *)question->pids->data;
    question->selection.n_pids = question->pids->len;
    question->selection.comm = question->comm;
    question->selection.container = question->container;
    question->selection.port = port;
    question->selection.start_ns = start_ns;
    question->selection.end_ns = end_ns;
    return !PyErr_Occurred();
}

/* ---- reading ---- */

/* One call: what is read for its question. */
struct call {
    struct question question;
    struct lull_periods *periods;
    struct lull_waits *waits;
    struct lull_instances *instances; /* if they were requested */
};

static void end(struct call *call)
{
    lull_instances_free(call->instances);
    lull_waits_free(call->waits);
    lull_periods_free(call->periods);
    question_clear(&call->question);
}

static bool waits_read(struct lull_session *session, unsigned wanted, bool wants_instances,
                       struct call *call, GError **error)
{
    const struct question *question = &call->question;
    if (question->periods->len > 1) {
        call->periods = lull_periods_parse(
            (const char *const *)question->periods->pdata,
            question->captures->len > 1 ? (const char *const *)question->captures->pdata : NULL,
            error);
        if (!call->periods) {
            return false;
        }
    }
    call->waits = lull_waits_new(session, wanted, error);
    if (!call->waits) {
        return false;
    }
    if (call->periods) {
        lull_waits_follow(call->waits, call->periods, question->selection.start_ns,
                          question->selection.end_ns);
    }
    lull_waits_read(call->waits, NULL, NULL);
    if (!lull_waits_check_tasks(call->waits, &question->selection, error)) {
        return false;
    }
    if (wants_instances) {
        call->instances = lull_waits_instances(
            call->waits, question->select,
            question->group_by->len > 1 ? (const char *const *)question->group_by->pdata : NULL,
            error);
    }
    return !wants_instances || call->instances;
}

/* Parses `tuple` and reads without the GIL. False with an exception; end() in any case. */
static bool start(struct session *self, PyObject *tuple, unsigned wanted, bool wants_instances,
                  struct call *call)
{
    g_autoptr(GError) error = NULL;
    bool is_read;
    *call = (struct call){0};
    if (!question_parse(tuple, &call->question) || !session_is_free(self)) {
        return false;
    }
    session_forget(self);
    self->is_busy = true;
    Py_BEGIN_ALLOW_THREADS is_read =
        waits_read(self->session, wanted, wants_instances, call, &error);
    Py_END_ALLOW_THREADS self->is_busy = false;
    if (!is_read) {
        raise_error(self->state, error->message);
    }
    return is_read;
}

/* ---- requests and instances ---- */

static PyObject *request_to_dict(struct lull_session *session, const struct lull_request *request)
{
    PyObject *dict = PyDict_New();
    put(&dict, "id", number(request->id, true));
    put(&dict, "host", host_name(session, request->host));
    put(&dict, "tid", number(request->tid, request->task != LULL_NONE));
    put(&dict, "comm", text_or_none(request->task != LULL_NONE ? request->comm : NULL));
    put(&dict, "peer", text_or_none(request->peer));
    put(&dict, "port", number(request->port, true));
    put(&dict, "begin_ns", number(request->start_ns, true));
    put(&dict, "end_ns", number(request->end_ns, true));
    put(&dict, "duration_ns", number(request->end_ns - request->start_ns, true));
    put(&dict, "blocked_ns", number(request->blocked_ns, request->task != LULL_NONE));
    put(&dict, "bytes_sent", number((int64_t)request->bytes_sent, true));
    put(&dict, "bytes_received", number((int64_t)request->bytes_received, true));
    return dict;
}

PyObject *session_requests(PyObject *object, PyObject *args)
{
    struct session *self = (struct session *)object;
    struct call call;
    PyObject *tuple, *list = NULL;
    long long slowest;
    if (!PyArg_ParseTuple(args, "OL", &tuple, &slowest)) {
        return NULL;
    }
    if (start(self, tuple, LULL_WANT_REQUESTS, false, &call)) {
        g_autoptr(GPtrArray) selected =
            lull_waits_select_requests(call.waits, &call.question.selection, slowest);
        list = PyList_New(0);
        for (guint i = 0; i < selected->len; i++) {
            list_add(&list, request_to_dict(self->session, selected->pdata[i]));
        }
    }
    end(&call);
    return list;
}

static PyObject *instance_to_dict(struct lull_session *session, const struct lull_waits *waits,
                                  const struct lull_instance *instance)
{
    const bool has_task = instance->task != LULL_NONE;
    const struct lull_task *task = has_task ? lull_waits_task(waits, instance->task) : NULL;
    PyObject *dict = PyDict_New();
    put(&dict, "number", number(instance->number, true));
    put(&dict, "host", has_task ? host_name(session, task->host) : text_or_none(NULL));
    put(&dict, "tid", number(has_task ? task->tid : -1, has_task));
    put(&dict, "comm",
        text_or_none(has_task ? lull_waits_comm(waits, instance->task, instance->end_ns) : NULL));
    put(&dict, "begin_ns", number(instance->start_ns, true));
    put(&dict, "end_ns", number(instance->end_ns, true));
    put(&dict, "duration_ns", number(instance->end_ns - instance->start_ns, true));
    put(&dict, "is_complete", PyBool_FromLong(instance->is_complete));
    put(&dict, "captures", text_or_none(instance->captures));
    return dict;
}

PyObject *session_instances(PyObject *object, PyObject *args)
{
    struct session *self = (struct session *)object;
    struct call call;
    PyObject *tuple, *list = NULL;
    long long slowest;
    if (!PyArg_ParseTuple(args, "OL", &tuple, &slowest)) {
        return NULL;
    }
    if (start(self, tuple, LULL_WANT_PATHS, true, &call)) {
        g_autoptr(GPtrArray) selected =
            lull_instances_select(call.instances, &call.question.selection, slowest);
        list = PyList_New(0);
        for (guint i = 0; i < selected->len; i++) {
            list_add(&list, instance_to_dict(self->session, call.waits, selected->pdata[i]));
        }
    }
    end(&call);
    return list;
}

/* ---- paths ---- */

static PyObject *frames_to_list(const struct lull_segment *segment)
{
    PyObject *list = PyList_New(0);
    for (uint32_t i = 0; i < segment->n_frames; i++) {
        const struct lull_frame *frame = lull_segment_frame(segment, i);
        list_add(&list,
                 Py_BuildValue("NKNN", text_or_none(frame->object),
                               (unsigned long long)frame->offset, text_or_none(frame->symbol),
                               number((int64_t)frame->symbol_offset, frame->symbol != NULL)));
    }
    return list;
}

/* What a wait was for; its call has a key already. */
static void put_reason(PyObject **dict, const struct lull_reason *reason)
{
    put(dict, "kind", text_or_none(reason->kind));
    put(dict, "about", text_or_none(reason->object));
    put(dict, "fd", number(reason->fd, reason->fd >= 0));
    put(dict, "address", number((int64_t)reason->address, reason->address != 0));
    put(dict, "release", text_or_none(reason->release));
    put(dict, "timed_out", PyBool_FromLong(reason->timed_out));
}

static PyObject *tcp_wait_to_dict(const struct lull_tcp_wait *wait)
{
    if (!wait->kind) {
        Py_RETURN_NONE;
    }
    PyObject *dict = PyDict_New();
    put(&dict, "kind", text_or_none(wait->kind));
    put(&dict, "first_ns", number(wait->first_ns, true));
    put(&dict, "last_ns", number(wait->last_ns, true));
    put(&dict, "times", number(wait->times, true));
    put(&dict, "nagle", PyBool_FromLong(wait->is_nagle));
    return dict;
}

static PyObject *segment_to_dict(struct lull_session *session, const struct lull_segment *segment)
{
    const bool has_other = segment->other_task != LULL_NONE;
    PyObject *dict = PyDict_New();
    put(&dict, "host", host_name(session, segment->host));
    put(&dict, "tid", number(segment->tid, true));
    put(&dict, "pid", number(segment->pid, segment->pid >= 0));
    put(&dict, "comm", text_or_none(segment->comm));
    put(&dict, "begin_ns", number(segment->start_ns, true));
    put(&dict, "end_ns", number(segment->end_ns, true));
    put(&dict, "state", text_or_none(lull_state_name(segment->state)));
    put(&dict, "cause", text_or_none(lull_cause_name(segment->cause)));
    put(&dict, "cpu", number(segment->cpu, segment->cpu >= 0));
    put(&dict, "detail", text_or_none(segment->detail));
    put(&dict, "object", text_or_none(segment->object));
    put(&dict, "operation", text_or_none(segment->operation));
    put(&dict, "call", text_or_none(segment->call));
    put(&dict, "other_tid", number(segment->other_tid, has_other));
    put(&dict, "other_comm", text_or_none(segment->other_comm));
    put(&dict, "size_bytes", number((int64_t)segment->size_bytes, true));
    put(&dict, "queue_ns", number(segment->queue_ns, segment->queue_ns >= 0));
    put(&dict, "device_ns", number(segment->device_ns, segment->device_ns >= 0));
    put(&dict, "is_open", PyBool_FromLong(segment->is_open));
    put(&dict, "stack", frames_to_list(segment));
    put(&dict, "wait", number(segment->wait, segment->wait != LULL_NONE));
    put_reason(&dict, &segment->reason);
    put(&dict, "tcp", tcp_wait_to_dict(&segment->tcp));
    return dict;
}

static PyObject *wait_to_dict(struct lull_session *session, const struct lull_wait *wait)
{
    PyObject *dict = PyDict_New();
    put(&dict, "within", number(wait->within, wait->within != LULL_NONE));
    put(&dict, "host", host_name(session, wait->host));
    put(&dict, "tid", number(wait->tid, true));
    put(&dict, "comm", text_or_none(wait->comm));
    put(&dict, "begin_ns", number(wait->start_ns, true));
    put(&dict, "end_ns", number(wait->end_ns, true));
    put(&dict, "detail", text_or_none(wait->detail));
    put(&dict, "is_shared", PyBool_FromLong(wait->is_shared));
    put(&dict, "call", text_or_none(wait->reason.call));
    put(&dict, "other_tid", number(wait->other_tid, wait->other_task != LULL_NONE));
    put(&dict, "other_comm", text_or_none(wait->other_comm));
    put_reason(&dict, &wait->reason);
    return dict;
}

static PyObject *shares_to_list(struct lull_session *session, const struct lull_path *path)
{
    PyObject *states = PyList_New(0), *tasks = PyList_New(0), *hosts = PyList_New(0);
    PyObject *causes = PyList_New(0), *modes = PyList_New(0), *containers = PyList_New(0);
    for (uint32_t i = 0; i < lull_path_container_count(path); i++) {
        const struct lull_container_share *share = lull_path_container(path, i);
        PyObject *dict = PyDict_New();
        put(&dict, "host", host_name(session, share->host));
        put(&dict, "name", text_or_none(share->name));
        put(&dict, "duration_ns", number(share->duration_ns, true));
        list_add(&containers, dict);
    }
    for (uint32_t i = 0; i < lull_path_cause_count(path); i++) {
        const struct lull_cause_share *share = lull_path_cause(path, i);
        PyObject *dict = PyDict_New();
        put(&dict, "host", host_name(session, share->host));
        put(&dict, "program", text_or_none(share->program));
        put(&dict, "state", text_or_none(lull_state_name(share->state)));
        put(&dict, "cause", text_or_none(lull_cause_name(share->cause)));
        put(&dict, "detail", text_or_none(share->detail));
        put(&dict, "mode", text_or_none(lull_mode_name(share->mode)));
        put(&dict, "duration_ns", number(share->duration_ns, true));
        put(&dict, "longest_ns", number(share->longest_ns, true));
        put(&dict, "count", number(share->count, true));
        put(&dict, "waiter", text_or_none(share->waiter));
        put(&dict, "waiter_kind", text_or_none(share->waiter_kind));
        put(&dict, "waiter_call", text_or_none(share->waiter_call));
        put(&dict, "waiter_object", text_or_none(share->waiter_object));
        put(&dict, "object", text_or_none(share->object));
        put(&dict, "object_ns", number(share->object_ns, true));
        list_add(&causes, dict);
    }
    for (uint32_t i = 0; i < lull_path_mode_count(path); i++) {
        const struct lull_mode_share *share = lull_path_mode(path, i);
        PyObject *dict = PyDict_New();
        put(&dict, "mode", text_or_none(lull_mode_name(share->mode)));
        put(&dict, "duration_ns", number(share->duration_ns, true));
        list_add(&modes, dict);
    }
    for (uint32_t i = 0; i < lull_path_state_count(path); i++) {
        const struct lull_state_share *share = lull_path_state(path, i);
        PyObject *dict = PyDict_New();
        put(&dict, "state", text_or_none(lull_state_name(share->state)));
        put(&dict, "cause", text_or_none(lull_cause_name(share->cause)));
        put(&dict, "duration_ns", number(share->duration_ns, true));
        list_add(&states, dict);
    }
    for (uint32_t i = 0; i < lull_path_task_count(path); i++) {
        const struct lull_task_share *share = lull_path_task_share(path, i);
        PyObject *dict = PyDict_New();
        put(&dict, "host", host_name(session, share->host));
        put(&dict, "tid", number(share->tid, true));
        put(&dict, "comm", text_or_none(share->comm));
        put(&dict, "started_by", text_or_none(share->started_by));
        put(&dict, "container", text_or_none(share->container));
        put(&dict, "command_line", text_or_none(share->command_line));
        put(&dict, "duration_ns", number(share->duration_ns, true));
        list_add(&tasks, dict);
    }
    for (uint32_t i = 0; i < lull_path_host_count(path); i++) {
        const struct lull_host_share *share = lull_path_host(path, i);
        PyObject *dict = PyDict_New();
        put(&dict, "host", host_name(session, share->host));
        put(&dict, "duration_ns", number(share->duration_ns, true));
        list_add(&hosts, dict);
    }
    return states && tasks && hosts && causes && modes && containers
               ? Py_BuildValue("NNNNNN", states, tasks, hosts, causes, modes, containers)
               : NULL;
}

/* (segments, waits, (by state, by task, by host, by cause, by mode), begin, end, lost events, lost packets) */
static PyObject *path_to_tuple(struct lull_session *session, const struct lull_path *path)
{
    int64_t start_ns, end_ns;
    uint64_t events, packets;
    PyObject *segments = PyList_New(0), *waits = PyList_New(0);
    for (uint32_t i = 0; i < lull_path_segment_count(path); i++) {
        list_add(&segments, segment_to_dict(session, lull_path_segment(path, i)));
    }
    for (uint32_t i = 0; i < lull_path_wait_count(path); i++) {
        list_add(&waits, wait_to_dict(session, lull_path_wait(path, i)));
    }
    lull_path_range(path, &start_ns, &end_ns);
    lull_path_losses(path, &events, &packets);
    PyObject *shares = shares_to_list(session, path);
    if (!segments || !waits || !shares) {
        Py_XDECREF(segments);
        Py_XDECREF(waits);
        Py_XDECREF(shares);
        return NULL;
    }
    return Py_BuildValue("NNNLLKK", segments, waits, shares, (long long)start_ns, (long long)end_ns,
                         (unsigned long long)events, (unsigned long long)packets);
}

static struct lull_path *instance_path(const struct call *call, long long id, GError **error)
{
    if (id < 1 || id > lull_instances_count(call->instances)) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_QUESTION,
                    "there is no instance %lld of the period: there are %u", id,
                    lull_instances_count(call->instances));
        return NULL;
    }
    return lull_instances_path(call->instances,
                               lull_instances_at(call->instances, (uint32_t)id - 1), error);
}

/* `id` is that of a request, or the number of an instance if there are periods; 0: neither. */
static struct lull_path *find_path(const struct call *call, long long id, enum lull_path_kind kind,
                                   GError **error)
{
    const struct lull_selection *selection = &call->question.selection;
    if (call->instances) {
        return instance_path(call, id, error);
    }
    if (id != 0) {
        return lull_waits_request_path(call->waits, id, kind, error);
    }
    if (!selection->comm && !selection->container && selection->n_tids + selection->n_pids == 0) {
        return lull_waits_command_path(call->waits, selection->host, selection->start_ns,
                                       selection->end_ns, kind, error);
    }
    const uint32_t task = lull_waits_find_task(call->waits, selection, NULL, error);
    return task == LULL_NONE ? NULL
           : selection->comm
               ? lull_waits_comm_path(call->waits, task, selection->comm, selection->start_ns,
                                      selection->end_ns, kind, error)
               : lull_waits_task_path(call->waits, task, selection->start_ns, selection->end_ns,
                                      kind, error);
}

PyObject *session_critpath(PyObject *object, PyObject *args)
{
    struct session *self = (struct session *)object;
    struct call call;
    PyObject *tuple, *answer = NULL;
    long long id;
    int is_unbounded;
    if (!PyArg_ParseTuple(args, "OLp", &tuple, &id, &is_unbounded)) {
        return NULL;
    }
    PyObject *periods = PyTuple_GetItem(tuple, QUESTION_PERIODS);
    const bool has_periods = periods && PySequence_Size(periods) > 0;
    const unsigned wanted = LULL_WANT_PATHS | (id != 0 && !has_periods ? LULL_WANT_REQUESTS : 0);
    if (start(self, tuple, wanted, has_periods, &call)) {
        g_autoptr(GError) error = NULL;
        struct lull_path *path =
            find_path(&call, id, is_unbounded ? LULL_PATH_UNBOUNDED : LULL_PATH_BOUNDED, &error);
        answer =
            path ? path_to_tuple(self->session, path) : raise_error(self->state, error->message);
        lull_path_free(path);
    }
    end(&call);
    return answer;
}

/* ---- why ---- */

static PyObject *finding_to_dict(struct lull_session *session, const struct lull_finding *finding)
{
    PyObject *dict = PyDict_New();
    put(&dict, "host", host_name(session, finding->host));
    put(&dict, "comm", text_or_none(finding->comm));
    put(&dict, "tid", tid_or_none(finding->tid));
    put(&dict, "state", text_or_none(lull_state_name(finding->state)));
    put(&dict, "cause", text_or_none(lull_cause_name(finding->cause)));
    put(&dict, "detail", text_or_none(finding->detail));
    put(&dict, "other_tid", tid_or_none(finding->other_tid));
    put(&dict, "lock", text_or_none(finding->lock));
    put(&dict, "waiter", text_or_none(finding->waiter));
    put(&dict, "holder", text_or_none(finding->holder));
    put(&dict, "through", text_or_none(finding->through));
    put(&dict, "slow_ns", PyFloat_FromDouble(finding->slow_ns));
    put(&dict, "typical_ns", PyFloat_FromDouble(finding->typical_ns));
    put(&dict, "difference_ns", PyFloat_FromDouble(finding->difference_ns));
    put(&dict, "share", PyFloat_FromDouble(finding->share));
    put(&dict, "low_ns", PyFloat_FromDouble(finding->low_ns));
    put(&dict, "high_ns", PyFloat_FromDouble(finding->high_ns));
    put(&dict, "outstanding", number(finding->n_outstanding, true));
    put(&dict, "most", number(finding->most ? finding->most->number : 0, finding->most != NULL));
    return dict;
}

static PyObject *kind_to_dict(struct lull_session *session, const struct lull_waits *waits,
                              const struct lull_why *why, uint32_t number_of)
{
    const struct lull_why_kind *kind = lull_why_kind(why, number_of);
    PyObject *slow = PyList_New(0), *typical = PyList_New(0), *findings = PyList_New(0);
    PyObject *dict = PyDict_New();
    for (uint32_t i = 0; i < kind->n_slow; i++) {
        list_add(&slow, instance_to_dict(session, waits, lull_why_slow(why, number_of, i)));
    }
    for (uint32_t i = 0; i < kind->n_typical; i++) {
        list_add(&typical, instance_to_dict(session, waits, lull_why_typical(why, number_of, i)));
    }
    for (uint32_t i = 0; i < kind->n_findings; i++) {
        list_add(&findings, finding_to_dict(session, lull_why_finding(why, number_of, i)));
    }
    put(&dict, "kind", text_or_none(kind->name));
    put(&dict, "verdict", text_or_none(lull_why_verdict_name(kind->verdict)));
    put(&dict, "instances", number(kind->n_instances, true));
    put(&dict, "slow_ns", PyFloat_FromDouble(kind->slow_ns));
    put(&dict, "typical_ns", PyFloat_FromDouble(kind->typical_ns));
    put(&dict, "difference_ns", PyFloat_FromDouble(kind->difference_ns));
    put(&dict, "less_ns", PyFloat_FromDouble(kind->less_ns));
    put(&dict, "unknown_ns", PyFloat_FromDouble(kind->unknown_ns));
    put(&dict, "lost_events", number((int64_t)kind->lost_events, true));
    put(&dict, "lost_packets", number((int64_t)kind->lost_packets, true));
    put(&dict, "slow", slow);
    put(&dict, "typical", typical);
    put(&dict, "findings", findings);
    return dict;
}

PyObject *session_why(PyObject *object, PyObject *args)
{
    struct session *self = (struct session *)object;
    struct call call;
    struct lull_why_rule rule = LULL_WHY_DEFAULT;
    PyObject *tuple, *list = NULL;
    long long slower_than_ns;
    unsigned long long n_slowest;
    unsigned limit;
    if (!PyArg_ParseTuple(args, "OdKLddI", &tuple, &rule.slowest, &n_slowest, &slower_than_ns,
                          &rule.typical[0], &rule.typical[1], &limit)) {
        return NULL;
    }
    rule.n_slowest = n_slowest;
    rule.slower_than_ns = slower_than_ns;
    rule.limit = limit;
    PyObject *periods = PyTuple_GetItem(tuple, QUESTION_PERIODS);
    const bool has_periods = periods && PySequence_Size(periods) > 0;
    if (start(self, tuple, LULL_WANT_PATHS | (has_periods ? 0 : LULL_WANT_REQUESTS), true, &call)) {
        struct lull_why *why = lull_why_compare(call.instances, &call.question.selection, &rule);
        list = PyList_New(0);
        for (uint32_t i = 0; i < lull_why_kind_count(why); i++) {
            list_add(&list, kind_to_dict(self->session, call.waits, why, i));
        }
        lull_why_free(why);
    }
    end(&call);
    return list;
}
