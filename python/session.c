/* SPDX-License-Identifier: MIT */
/* The session as Python's side of the package sees it: what there is, as lists and tuples. */
#include "lullmodule.h"

/* ---- readings ---- */

bool session_is_free(struct session *self)
{
    if (!self->is_busy) {
        return true;
    }
    raise_error(self->state, "another thread is reading this session; open one for each thread");
    return false;
}

static void reading_clear(struct reading *reading)
{
    for (uint32_t i = 0; i < reading->n_bindings; i++) {
        g_strfreev((char **)reading->bindings[i].paths);
    }
    g_free(reading->bindings);
    if (reading->names) {
        g_ptr_array_unref(reading->names);
    }
    *reading = (struct reading){0};
}

static GPtrArray *collect_names(PyObject *names)
{
    g_autoptr(GPtrArray) collected = g_ptr_array_new_with_free_func(g_free);
    Py_ssize_t n = PySequence_Size(names);
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *name = PySequence_GetItem(names, i);
        PyObject *bytes = name ? PyUnicode_AsUTF8String(name) : NULL;
        Py_XDECREF(name);
        if (!bytes) {
            return NULL;
        }
        g_ptr_array_add(collected, g_strdup(PyBytes_AsString(bytes)));
        Py_DECREF(bytes);
    }
    g_ptr_array_add(collected, NULL);
    return n < 0 ? NULL : g_steal_pointer(&collected);
}

GArray *own_numbers(PyObject *sequence)
{
    GArray *numbers = g_array_new(FALSE, FALSE, sizeof(int64_t));
    const Py_ssize_t n = PySequence_Size(sequence);
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *item = PySequence_GetItem(sequence, i);
        const int64_t number = item ? PyLong_AsLongLong(item) : -1;
        Py_XDECREF(item);
        if (number == -1 && PyErr_Occurred()) {
            break;
        }
        g_array_append_val(numbers, number);
    }
    if (PyErr_Occurred()) {
        g_clear_pointer(&numbers, g_array_unref);
    }
    return numbers;
}

bool session_select(struct session *self, const struct window *window)
{
    g_autoptr(GArray) cpus = own_numbers(window->cpus);
    if (!cpus) {
        return false;
    }
    lull_session_limit(self->session, window->start_ns, window->end_ns);
    lull_session_select_several(self->session, window->host,
                                (const int64_t *)(const void *)cpus->data, cpus->len);
    return true;
}

bool session_start(struct session *self, PyObject *names, const struct window *window,
                   struct lull_binding *bindings, uint32_t n_bindings, uint32_t fields_size)
{
    struct reading reading = {.bindings = bindings, .n_bindings = n_bindings};
    if (session_is_free(self)) {
        reading.names = collect_names(names);
    }
    if (!reading.names) {
        reading_clear(&reading);
        return false;
    }
    self->generation++;
    lull_session_unsubscribe_all(self->session);
    reading_clear(&self->reading);
    self->reading = reading;
    if (!session_select(self, window)) {
        return false;
    }
    lull_session_subscribe(self->session, (const char *const *)reading.names->pdata, bindings,
                           n_bindings, fields_size);
    return true;
}

void session_forget(struct session *self)
{
    self->generation++;
    lull_session_unsubscribe_all(self->session);
    reading_clear(&self->reading);
    lull_session_limit(self->session, INT64_MIN, INT64_MAX);
    lull_session_select(self->session, -1, -1);
}

PyObject *session_name(struct session *self, const char *name)
{
    PyObject *str = g_hash_table_lookup(self->names, name);
    if (!str) {
        str = text_or_none(name);
        if (!str) {
            return NULL;
        }
        PyUnicode_InternInPlace(&str);
        g_hash_table_insert(self->names, (void *)name, str);
    }
    return str;
}

static PyObject *session_filter(PyObject *object, PyObject *args)
{
    struct session *self = (struct session *)object;
    const char *text;
    g_autoptr(GError) error = NULL;
    if (!PyArg_ParseTuple(args, "z", &text) || !session_is_free(self)) {
        return NULL;
    }
    if (!text && !self->is_filtered) {
        Py_RETURN_NONE;
    }
    if (!lull_session_filter(self->session, text, false, &error)) {
        return raise_error(self->state, error->message);
    }
    self->generation++;
    self->is_filtered = text != NULL;
    Py_RETURN_NONE;
}

/* ---- what there is ---- */

/* "" says that it is not known. */
static PyObject *known(const char *text)
{
    return text_or_none(*text ? text : NULL);
}

static PyObject *session_hosts(PyObject *object, PyObject *unused)
{
    struct session *self = (struct session *)object;
    PyObject *list = PyList_New(0);
    for (uint32_t i = 0; i < lull_session_host_count(self->session); i++) {
        const char *name = lull_session_host(self->session, i)->name;
        if (!list_add(&list, text_or_none(name))) {
            break;
        }
    }
    return list;
}

static PyObject *trace_tuple(const struct lull_trace *trace)
{
    return Py_BuildValue(
        "NINNNNNNKLLLIKK", PyUnicode_DecodeFSDefault(trace->path), (unsigned)trace->host,
        known(trace->tracer), known(trace->domain), known(trace->kernel), known(trace->name),
        known(trace->format), known(trace->clock_name),
        (unsigned long long)trace->clock_frequency_hz, (long long)trace->clock_offset_ns,
        (long long)trace->start_ns, (long long)trace->end_ns, (unsigned)trace->stream_count,
        (unsigned long long)trace->packet_count, (unsigned long long)trace->size_bytes);
}

static PyObject *session_traces(PyObject *object, PyObject *unused)
{
    struct session *self = (struct session *)object;
    PyObject *list = PyList_New(0);
    for (uint32_t i = 0; i < lull_session_trace_count(self->session); i++) {
        if (!list_add(&list, trace_tuple(lull_session_trace(self->session, i)))) {
            break;
        }
    }
    return list;
}

static PyObject *session_problems(PyObject *object, PyObject *unused)
{
    struct session *self = (struct session *)object;
    if (!session_is_free(self)) {
        return NULL;
    }
    PyObject *list = PyList_New(0);
    for (uint32_t i = 0; i < lull_session_problem_count(self->session); i++) {
        const char *text = lull_session_problem(self->session, i);
        if (!text || !list_add(&list, text_or_none(text))) {
            break;
        }
    }
    return list;
}

static PyObject *session_losses(PyObject *object, PyObject *unused)
{
    struct session *self = (struct session *)object;
    if (!session_is_free(self)) {
        return NULL;
    }
    PyObject *list = PyList_New(0);
    for (uint32_t i = 0; i < lull_session_loss_count(self->session); i++) {
        const struct lull_loss *loss = lull_session_loss(self->session, i);
        PyObject *item = Py_BuildValue("IIILLKK", (unsigned)loss->host, (unsigned)loss->trace,
                                       (unsigned)loss->stream, (long long)loss->start_ns,
                                       (long long)loss->end_ns, (unsigned long long)loss->events,
                                       (unsigned long long)loss->packets);
        if (!list_add(&list, item)) {
            break;
        }
    }
    return list;
}

static PyObject *session_range(PyObject *object, PyObject *unused)
{
    struct session *self = (struct session *)object;
    int64_t start_ns, end_ns;
    if (!session_is_free(self)) {
        return NULL;
    }
    if (!lull_session_range(self->session, &start_ns, &end_ns)) {
        Py_RETURN_NONE;
    }
    return Py_BuildValue("LL", (long long)start_ns, (long long)end_ns);
}

static void add_field(void *user, const struct lull_field_info *info)
{
    static const char *const kinds[] = {
        [LULL_INFO_INT] = "int",   [LULL_INFO_ENUM] = "enum",   [LULL_INFO_REAL] = "real",
        [LULL_INFO_TEXT] = "text", [LULL_INFO_BYTES] = "bytes", [LULL_INFO_ARRAY] = "array"};
    PyObject **list = user;
    if (!*list) {
        return;
    }
    list_add(list,
             Py_BuildValue("NsNNNIK", text_or_none(info->path), kinds[info->kind],
                           PyBool_FromLong(info->is_optional), PyBool_FromLong(info->is_signed),
                           PyBool_FromLong(info->is_big_endian), (unsigned)info->size_bits,
                           (unsigned long long)info->length));
}

static void add_class(void *user, uint32_t trace, const struct lull_event_class *event_class)
{
    PyObject **list = user;
    PyObject *fields = *list ? PyList_New(0) : NULL;
    if (!fields) {
        Py_CLEAR(*list);
        return;
    }
    lull_event_class_each_field(event_class, add_field, &fields);
    const char *name = lull_event_class_name(event_class);
    PyObject *item = NULL;
    if (fields) {
        item = Py_BuildValue("ININ", (unsigned)lull_event_class_number(event_class),
                             text_or_none(name), (unsigned)trace, fields);
    }
    list_add(list, item);
}

static PyObject *session_classes(PyObject *object, PyObject *unused)
{
    struct session *self = (struct session *)object;
    PyObject *list = PyList_New(0);
    lull_session_each_class(self->session, add_class, &list);
    return list;
}

/* ---- what takes time ---- */

struct class_count {
    uint32_t number;
    uint64_t count;
};

static void note_count(void *user, uint32_t trace, const struct lull_event_class *event_class,
                       uint64_t count)
{
    struct class_count entry = {lull_event_class_number(event_class), count};
    g_array_append_val((GArray *)user, entry);
}

static PyObject *session_count(PyObject *object, PyObject *args)
{
    struct session *self = (struct session *)object;
    struct window window;
    if (!PyArg_ParseTuple(args, "LLiO", &window.start_ns, &window.end_ns, &window.host,
                          &window.cpus) ||
        !session_is_free(self) || !session_select(self, &window)) {
        return NULL;
    }
    g_autoptr(GArray) counts = g_array_new(FALSE, FALSE, sizeof(struct class_count));
    self->generation++;
    self->is_busy = true;
    Py_BEGIN_ALLOW_THREADS lull_session_count(self->session, note_count, counts);
    Py_END_ALLOW_THREADS self->is_busy = false;
    PyObject *list = PyList_New(0);
    for (guint i = 0; i < counts->len; i++) {
        const struct class_count *entry = &g_array_index(counts, struct class_count, i);
        if (!list_add(&list, Py_BuildValue("IK", (unsigned)entry->number,
                                           (unsigned long long)entry->count))) {
            break;
        }
    }
    return list;
}

static PyObject *session_join(PyObject *object, PyObject *unused)
{
    struct session *self = (struct session *)object;
    if (!session_is_free(self)) {
        return NULL;
    }
    uint32_t n_hosts = lull_session_host_count(self->session);
    self->generation++;
    self->is_busy = true;
    Py_BEGIN_ALLOW_THREADS lull_session_join(self->session, NULL, NULL);
    Py_END_ALLOW_THREADS self->is_busy = false;
    PyObject *list = PyList_New(0);
    for (uint32_t i = 0; i < n_hosts; i++) {
        const struct lull_host_clock *clock = lull_session_host_clock(self->session, i);
        if (!list_add(&list, Py_BuildValue("NL", PyBool_FromLong(clock->is_joined),
                                           (long long)clock->bound_ns))) {
            break;
        }
    }
    return list;
}

/* ---- the type ---- */

static PyObject *refuse_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    PyErr_SetString(PyExc_TypeError, "use lull.Session(*paths)");
    return NULL;
}

static void session_dealloc(PyObject *object)
{
    struct session *self = (struct session *)object;
    PyTypeObject *type = Py_TYPE(object);
    GHashTableIter iter;
    gpointer name;
    lull_session_free(self->session);
    reading_clear(&self->reading);
    g_hash_table_iter_init(&iter, self->names);
    while (g_hash_table_iter_next(&iter, NULL, &name)) {
        Py_DECREF((PyObject *)name);
    }
    g_hash_table_unref(self->names);
    Py_DECREF(self->module);
    PyObject_Free(object);
    Py_DECREF(type);
}

static PyMethodDef methods[] = {
    {"hosts", session_hosts, METH_NOARGS, NULL},
    {"traces", session_traces, METH_NOARGS, NULL},
    {"problems", session_problems, METH_NOARGS, NULL},
    {"losses", session_losses, METH_NOARGS, NULL},
    {"range", session_range, METH_NOARGS, NULL},
    {"classes", session_classes, METH_NOARGS, NULL},
    {"filter", session_filter, METH_VARARGS, NULL},
    {"count", session_count, METH_VARARGS, NULL},
    {"join", session_join, METH_NOARGS, NULL},
    {"events", session_events, METH_VARARGS, NULL},
    {"columns", session_columns, METH_VARARGS, NULL},
    {"requests", session_requests, METH_VARARGS, NULL},
    {"instances", session_instances, METH_VARARGS, NULL},
    {"critpath", session_critpath, METH_VARARGS, NULL},
    {"why", session_why, METH_VARARGS, NULL},
    {"analysis", session_analysis, METH_VARARGS, NULL},
    {"analyses", session_analyses, METH_NOARGS, NULL},
    {NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_new, refuse_new},
    {Py_tp_dealloc, session_dealloc},
    {Py_tp_methods, methods},
    {0, NULL},
};

PyType_Spec session_spec = {
    .name = "lull._lull.Session",
    .basicsize = sizeof(struct session),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = slots,
};
