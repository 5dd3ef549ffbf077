/* SPDX-License-Identifier: MIT */
/* lull._lull: the module itself, its exception and its state. */
#include "lullmodule.h"

PyObject *raise_error(struct module_state *state, const char *message)
{
    PyObject *text = text_to_str(message, (Py_ssize_t)strlen(message));
    if (text) {
        PyErr_SetObject(state->error, text);
    }
    Py_XDECREF(text);
    return NULL;
}

PyObject *text_or_none(const char *text)
{
    if (text) {
        return text_to_str(text, (Py_ssize_t)strlen(text));
    }
    Py_RETURN_NONE;
}

bool list_add(PyObject **list, PyObject *item)
{
    if (*list && (!item || PyList_Append(*list, item) != 0)) {
        Py_CLEAR(*list);
    }
    Py_XDECREF(item);
    return *list;
}

PyObject *text_to_str(const char *data, Py_ssize_t length)
{
    return PyUnicode_DecodeUTF8(data, length, "backslashreplace");
}

/* A live session may wait for ever, and Python could not break it off. */
static bool is_live(const char *path)
{
    return g_str_has_prefix(path, "net://") || g_str_has_prefix(path, "net4://") ||
           g_str_has_prefix(path, "net6://");
}

/* Opens all paths; false with the library's error. */
static bool add_paths(struct lull_session *session, GPtrArray *paths, GError **error)
{
    for (guint i = 0; i < paths->len; i++) {
        if (is_live(paths->pdata[i])) {
            g_set_error(error, LULL_ERROR, LULL_ERROR_UNSUPPORTED,
                        "%s: live sessions are not read from Python; 'lull print' follows them",
                        (const char *)paths->pdata[i]);
            return false;
        }
        if (!lull_session_add(session, paths->pdata[i], error)) {
            return false;
        }
    }
    return true;
}

static GPtrArray *collect_paths(PyObject *args)
{
    g_autoptr(GPtrArray) paths = g_ptr_array_new_with_free_func(g_free);
    for (Py_ssize_t i = 0; i < PyTuple_Size(args); i++) {
        PyObject *bytes;
        if (!PyUnicode_FSConverter(PyTuple_GetItem(args, i), &bytes)) {
            return NULL;
        }
        g_ptr_array_add(paths, g_strdup(PyBytes_AsString(bytes)));
        Py_DECREF(bytes);
    }
    return g_steal_pointer(&paths);
}

static PyObject *module_open(PyObject *module, PyObject *args)
{
    struct module_state *state = PyModule_GetState(module);
    g_autoptr(GPtrArray) paths = collect_paths(args);
    if (!paths) {
        return NULL;
    }
    struct session *self = PyObject_New(struct session, state->session_type);
    if (!self) {
        return NULL;
    }
    Py_INCREF(module);
    self->module = module;
    self->state = state;
    self->reading = (struct reading){0};
    self->generation = 0;
    self->is_busy = false;
    self->is_filtered = false;
    self->names = g_hash_table_new(NULL, NULL);
    self->session = lull_session_new();
    g_autoptr(GError) error = NULL;
    bool is_open;
    Py_BEGIN_ALLOW_THREADS is_open = add_paths(self->session, paths, &error);
    Py_END_ALLOW_THREADS if (is_open) return (PyObject *)self;
    raise_error(state, error->message);
    Py_DECREF(self);
    return NULL;
}

static PyObject *module_set_enum_value(PyObject *module, PyObject *type)
{
    struct module_state *state = PyModule_GetState(module);
    PyObject *before = state->enum_value;
    Py_INCREF(type);
    state->enum_value = type;
    Py_XDECREF(before);
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"open", module_open, METH_VARARGS, "open(*paths): the session of these traces"},
    {"set_enum_value", module_set_enum_value, METH_O,
     "set_enum_value(type): makes values of enumerations by type(value, label)"},
    {NULL},
};

static PyTypeObject *add_type(PyObject *module, PyType_Spec *spec, const char *name)
{
    PyObject *type = PyType_FromSpec(spec);
    if (!type) {
        return NULL;
    }
    Py_INCREF(type); /* PyModule_AddObject() takes one, the state keeps the other */
    if (PyModule_AddObject(module, name, type) != 0) {
        Py_DECREF(type);
        Py_DECREF(type);
        return NULL;
    }
    return (PyTypeObject *)type;
}

static int module_exec(PyObject *module)
{
    struct module_state *state = PyModule_GetState(module);
    state->error = PyErr_NewExceptionWithDoc(
        "lull.Error", "A trace cannot be read, or the question cannot be answered.", NULL, NULL);
    if (!state->error) {
        return -1;
    }
    Py_INCREF(state->error);
    if (PyModule_AddObject(module, "Error", state->error) != 0) {
        Py_DECREF(state->error);
        return -1;
    }
    state->session_type = add_type(module, &session_spec, "Session");
    state->events_type = add_type(module, &events_spec, "Events");
    state->event_type = add_type(module, &event_spec, "Event");
    return state->session_type && state->events_type && state->event_type ? 0 : -1;
}

static int module_traverse(PyObject *module, visitproc visit, void *arg)
{
    struct module_state *state = PyModule_GetState(module);
    if (!state) {
        return 0;
    }
    Py_VISIT(state->error);
    Py_VISIT(state->enum_value);
    Py_VISIT(state->session_type);
    Py_VISIT(state->events_type);
    Py_VISIT(state->event_type);
    return 0;
}

static int module_clear(PyObject *module)
{
    struct module_state *state = PyModule_GetState(module);
    if (!state) {
        return 0;
    }
    Py_CLEAR(state->error);
    Py_CLEAR(state->enum_value);
    Py_CLEAR(state->session_type);
    Py_CLEAR(state->events_type);
    Py_CLEAR(state->event_type);
    return 0;
}

static void module_free(void *module)
{
    module_clear(module);
}

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, module_exec},
    {0, NULL},
};

static PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "lull._lull",
    .m_doc = "The part of the package lull that is written in C; import lull instead.",
    .m_size = sizeof(struct module_state),
    .m_methods = methods,
    .m_slots = slots,
    .m_traverse = module_traverse,
    .m_clear = module_clear,
    .m_free = module_free,
};

/* What Python looks for. */
PyMODINIT_FUNC PyInit__lull(void);

PyMODINIT_FUNC PyInit__lull(void)
{
    return PyModuleDef_Init(&definition);
}
