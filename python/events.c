/* SPDX-License-Identifier: MIT */
/* Iterating events. An event keeps a record of its fields, so it may be kept for as long as one
 * likes; the objects of its fields are made when the first of them is asked for. */
#include "lullmodule.h"

#include <stddef.h>

struct events {
    PyObject ob_base;
    struct session *session;
    uint64_t generation;
    bool is_started;
    struct tape tape;
};

struct event {
    PyVarObject ob_base;
    struct session *session;
    const struct lull_event_class *event_class;
    int64_t time_ns;
    uint32_t host, trace, stream;
    int32_t cpu;
    char *damage;                /* or NULL */
    PyObject *context, *payload; /* NULL until they are asked for */
    char tape[] __attribute__((aligned(8)));
};

static PyObject *refuse_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    PyErr_SetString(PyExc_TypeError, "use lull.Session(*paths).events()");
    return NULL;
}

/* ---- the iterator ---- */

PyObject *session_events(PyObject *object, PyObject *args)
{
    struct session *session = (struct session *)object;
    struct window window;
    PyObject *names;
    if (!PyArg_ParseTuple(args, "OLLiO", &names, &window.start_ns, &window.end_ns, &window.host,
                          &window.cpus) ||
        !session_start(session, names, &window, NULL, 0, 0)) {
        return NULL;
    }
    struct events *self = PyObject_New(struct events, session->state->events_type);
    if (!self) {
        return NULL;
    }
    Py_INCREF(object);
    self->session = session;
    self->generation = session->generation;
    self->is_started = false;
    self->tape = (struct tape){0};
    return (PyObject *)self;
}

static PyObject *event_new(struct events *events, const struct lull_event *event)
{
    struct session *session = events->session;
    g_autofree char *damage = NULL;
    tape_record(&events->tape, event, &damage);
    struct event *self =
        PyObject_NewVar(struct event, session->state->event_type, (Py_ssize_t)events->tape.length);
    if (!self) {
        return NULL;
    }
    Py_INCREF((PyObject *)session);
    self->session = session;
    self->event_class = event->event_class;
    self->time_ns = event->time_ns;
    self->host = event->host;
    self->trace = event->trace;
    self->stream = event->stream;
    self->cpu = event->cpu;
    self->damage = g_steal_pointer(&damage);
    self->context = self->payload = NULL;
    if (events->tape.length > 0) {
        memcpy(self->tape, events->tape.data, events->tape.length);
    }
    return (PyObject *)self;
}

static PyObject *events_next(PyObject *object)
{
    struct events *self = (struct events *)object;
    struct session *session = self->session;
    const struct lull_event *event;
    if (!session_is_free(session)) {
        return NULL;
    }
    if (self->generation != session->generation) {
        return raise_error(session->state, "the session has begun another reading since; open a "
                                           "second Session to read twice at a time");
    }
    if (!self->is_started) { /* looks into every stream: the one step that may take long */
        self->is_started = session->is_busy = true;
        Py_BEGIN_ALLOW_THREADS event = lull_session_read(session->session);
        Py_END_ALLOW_THREADS session->is_busy = false;
    } else {
        event = lull_session_read(session->session);
    }
    return event ? event_new(self, event) : NULL;
}

static PyObject *events_iter(PyObject *object)
{
    Py_INCREF(object);
    return object;
}

static void events_dealloc(PyObject *object)
{
    struct events *self = (struct events *)object;
    PyTypeObject *type = Py_TYPE(object);
    Py_DECREF((PyObject *)self->session);
    g_free(self->tape.data);
    PyObject_Free(object);
    Py_DECREF(type);
}

static PyType_Slot events_slots[] = {
    {Py_tp_new, refuse_new},
    {Py_tp_dealloc, events_dealloc},
    {Py_tp_iter, events_iter},
    {Py_tp_iternext, events_next},
    {Py_tp_doc, "The events of one reading, in order of time."},
    {0, NULL},
};

PyType_Spec events_spec = {
    .name = "lull._lull.Events",
    .basicsize = sizeof(struct events),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = events_slots,
};

/* ---- the event ---- */

static bool decode(struct event *self)
{
    if (self->payload) {
        return true;
    }
    PyObject *context = PyDict_New(), *payload = PyDict_New();
    if (context && payload &&
        tape_play(self->tape, (size_t)Py_SIZE((PyObject *)self), self->session, context, payload)) {
        self->context = context;
        self->payload = payload;
        return true;
    }
    Py_XDECREF(context);
    Py_XDECREF(payload);
    return false;
}

/* Follows names through structures and variants; borrowed, NULL without an exception if there is
 * none. */
static PyObject *walk(struct event *self, PyObject *parts)
{
    Py_ssize_t i = 0, n = PyList_Size(parts);
    PyObject *at = self->payload;
    if (n > 1 && PyUnicode_CompareWithASCIIString(PyList_GetItem(parts, 0), "context") == 0) {
        at = self->context;
        i = 1;
    }
    for (; i < n && at; i++) {
        at = PyDict_Check(at) ? PyDict_GetItemWithError(at, PyList_GetItem(parts, i)) : NULL;
    }
    return at;
}

/* The field of a path; borrowed, NULL with or without an exception. */
static PyObject *find(struct event *self, PyObject *path)
{
    if (!PyUnicode_Check(path)) {
        PyErr_SetString(PyExc_TypeError, "the name of a field is a str");
        return NULL;
    }
    if (!decode(self)) {
        return NULL;
    }
    PyObject *found = PyDict_GetItemWithError(self->payload, path);
    if (found || PyErr_Occurred()) {
        return found;
    }
    PyObject *dot = PyUnicode_FromString(".");
    PyObject *parts = dot ? PyUnicode_Split(path, dot, -1) : NULL;
    if (parts) {
        found = walk(self, parts);
    }
    Py_XDECREF(dot);
    Py_XDECREF(parts);
    return found;
}

static PyObject *event_subscript(PyObject *object, PyObject *path)
{
    PyObject *found = find((struct event *)object, path);
    if (!found && !PyErr_Occurred()) {
        PyErr_SetObject(PyExc_KeyError, path);
    }
    Py_XINCREF(found);
    return found;
}

static int event_contains(PyObject *object, PyObject *path)
{
    if (find((struct event *)object, path)) {
        return 1;
    }
    return PyErr_Occurred() ? -1 : 0;
}

static PyObject *event_get(PyObject *object, PyObject *args)
{
    PyObject *path, *fallback = Py_None;
    if (!PyArg_ParseTuple(args, "O|O", &path, &fallback)) {
        return NULL;
    }
    PyObject *found = find((struct event *)object, path);
    if (!found && PyErr_Occurred()) {
        return NULL;
    }
    found = found ? found : fallback;
    Py_INCREF(found);
    return found;
}

static Py_ssize_t event_length(PyObject *object)
{
    struct event *self = (struct event *)object;
    return decode(self) ? PyDict_Size(self->payload) : -1;
}

static PyObject *event_iter(PyObject *object)
{
    struct event *self = (struct event *)object;
    return decode(self) ? PyObject_GetIter(self->payload) : NULL;
}

/* A method of the payload's dict. */
static PyObject *call_payload(PyObject *object, const char *method)
{
    struct event *self = (struct event *)object;
    return decode(self) ? PyObject_CallMethod(self->payload, method, NULL) : NULL;
}

static PyObject *event_keys(PyObject *object, PyObject *unused)
{
    return call_payload(object, "keys");
}

static PyObject *event_values(PyObject *object, PyObject *unused)
{
    return call_payload(object, "values");
}

static PyObject *event_items(PyObject *object, PyObject *unused)
{
    return call_payload(object, "items");
}

static PyObject *get_time_ns(PyObject *object, void *unused)
{
    return PyLong_FromLongLong(((struct event *)object)->time_ns);
}

static PyObject *get_name(PyObject *object, void *unused)
{
    struct event *self = (struct event *)object;
    PyObject *name = session_name(self->session, lull_event_class_name(self->event_class));
    Py_XINCREF(name);
    return name;
}

static PyObject *get_host(PyObject *object, void *unused)
{
    struct event *self = (struct event *)object;
    const struct lull_host *host = lull_session_host(self->session->session, self->host);
    PyObject *name = session_name(self->session, host->name);
    Py_XINCREF(name);
    return name;
}

static PyObject *get_cpu(PyObject *object, void *unused)
{
    int32_t cpu = ((struct event *)object)->cpu;
    if (cpu < 0) {
        Py_RETURN_NONE;
    }
    return PyLong_FromLong(cpu);
}

static PyObject *get_trace(PyObject *object, void *unused)
{
    return PyLong_FromUnsignedLong(((struct event *)object)->trace);
}

static PyObject *get_stream(PyObject *object, void *unused)
{
    return PyLong_FromUnsignedLong(((struct event *)object)->stream);
}

static PyObject *get_class_number(PyObject *object, void *unused)
{
    return PyLong_FromUnsignedLong(lull_event_class_number(((struct event *)object)->event_class));
}

static PyObject *get_context(PyObject *object, void *unused)
{
    struct event *self = (struct event *)object;
    if (!decode(self)) {
        return NULL;
    }
    Py_INCREF(self->context);
    return self->context;
}

static PyObject *get_payload(PyObject *object, void *unused)
{
    struct event *self = (struct event *)object;
    if (!decode(self)) {
        return NULL;
    }
    Py_INCREF(self->payload);
    return self->payload;
}

static PyObject *get_damage(PyObject *object, void *unused)
{
    const char *damage = ((struct event *)object)->damage;
    if (!damage) {
        Py_RETURN_NONE;
    }
    return text_to_str(damage, (Py_ssize_t)strlen(damage));
}

static PyObject *event_repr(PyObject *object)
{
    struct event *self = (struct event *)object;
    PyObject *name = session_name(self->session, lull_event_class_name(self->event_class));
    if (!name) {
        return NULL;
    }
    return PyUnicode_FromFormat("<lull.Event %U at %lld ns>", name, (long long)self->time_ns);
}

static void event_dealloc(PyObject *object)
{
    struct event *self = (struct event *)object;
    PyTypeObject *type = Py_TYPE(object);
    Py_XDECREF(self->context);
    Py_XDECREF(self->payload);
    Py_DECREF((PyObject *)self->session);
    g_free(self->damage);
    PyObject_Free(object);
    Py_DECREF(type);
}

static PyGetSetDef event_attributes[] = {
    {"time_ns", get_time_ns, NULL, "nanoseconds since the Unix epoch, on the session's clock",
     NULL},
    {"name", get_name, NULL, "name of the event's class, such as 'sched_switch'", NULL},
    {"host", get_host, NULL, "name of the host, one of Session.hosts", NULL},
    {"cpu", get_cpu, NULL, "number of the CPU, or None if the stream is not bound to one", NULL},
    {"trace", get_trace, NULL, "index of the trace in Session.traces", NULL},
    {"stream", get_stream, NULL, "number of the stream within the session", NULL},
    {"class_number", get_class_number, NULL, "index of the class in Session.classes()", NULL},
    {"context", get_context, NULL, "dict of the fields of the event's contexts", NULL},
    {"payload", get_payload, NULL, "dict of the event's own fields", NULL},
    {"damage", get_damage, NULL,
     "None; or what is wrong with the bytes of the event, whose first fields only were read", NULL},
    {NULL},
};

static PyMethodDef event_methods[] = {
    {"get", event_get, METH_VARARGS, "get(path, default=None): the field, or default if absent"},
    {"keys", event_keys, METH_NOARGS, "names of the payload's fields"},
    {"values", event_values, METH_NOARGS, "values of the payload's fields"},
    {"items", event_items, METH_NOARGS, "names and values of the payload's fields"},
    {NULL},
};

static PyType_Slot event_slots[] = {
    {Py_tp_new, refuse_new},
    {Py_tp_dealloc, event_dealloc},
    {Py_tp_repr, event_repr},
    {Py_tp_iter, event_iter},
    {Py_tp_getset, event_attributes},
    {Py_tp_methods, event_methods},
    {Py_mp_subscript, event_subscript},
    {Py_mp_length, event_length},
    {Py_sq_contains, event_contains},
    {Py_tp_doc, "One event. It is a mapping of its payload's fields: event['prev_comm'], "
                "event['network_header.ipv4.saddr']; event['context.tid'] is a field of its "
                "contexts. It does not change and may be kept."},
    {0, NULL},
};

PyType_Spec event_spec = {
    .name = "lull._lull.Event",
    .basicsize = offsetof(struct event, tape),
    .itemsize = 1,
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = event_slots,
};
