/* SPDX-License-Identifier: MIT */
/* What the files of the Python module share. The module `lull._lull` is a thin layer over liblull's
 * public API; the friendly side is the package's Python code. Only CPython's stable ABI is used, so
 * that one build serves all versions from 3.9 on. All of it runs with the GIL held, but what lies
 * between Py_BEGIN_ALLOW_THREADS and Py_END_ALLOW_THREADS. */
#ifndef LULL_PYTHON_LULLMODULE_H
#define LULL_PYTHON_LULLMODULE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <lull/lull.h>

struct module_state {
    PyObject *error;      /* lull.Error */
    PyObject *enum_value; /* lull.EnumValue, given by the package */
    PyTypeObject *session_type, *events_type, *event_type;
};

/* What the library borrows for the time of one reading. */
struct reading {
    GPtrArray *names; /* with a NULL at the end */
    struct lull_binding *bindings;
    uint32_t n_bindings;
};

/* A session has one cursor, so it has one reading at a time: starting another one ends it. */
struct session {
    PyObject ob_base;
    PyObject *module; /* keeps the state alive */
    struct module_state *state;
    struct lull_session *session;
    struct reading reading;
    uint64_t generation; /* counts readings */
    bool is_busy;        /* some thread reads without the GIL */
    bool is_filtered;    /* events that a filter rejects are left out */
    GHashTable *names;   /* of the library's strings, by address: their str objects */
};

/* What of a session is read. */
struct window {
    long long start_ns, end_ns;
    int host;       /* -1: all */
    PyObject *cpus; /* a sequence of them, borrowed; empty: all */
};

/* False with an exception if another thread is reading. */
bool session_is_free(struct session *self);
/* Ends what was read before, and subscribes. Takes `bindings`, which come from g_malloc() as their
 * paths do. `names` is a sequence of str. False with an exception. */
bool session_start(struct session *self, PyObject *names, const struct window *window,
                   struct lull_binding *bindings, uint32_t n_bindings, uint32_t fields_size);
/* Reads nothing but the window from now on. False with an exception. */
bool session_select(struct session *self, const struct window *window);
/* Ends what was read before, with its subscriptions: for readings of the library's own. */
void session_forget(struct session *self);
/* The str of a string that lives as long as the session; borrowed, NULL with an exception. */
PyObject *session_name(struct session *self, const char *name);

PyObject *raise_error(struct module_state *state, const char *message);

/* The numbers of a sequence, as int64_t; NULL with an exception. */
GArray *own_numbers(PyObject *sequence);

/* The str of text from a trace, which may be anything: what is not UTF-8 shows as \xNN. */
PyObject *text_to_str(const char *data, Py_ssize_t length);
/* The same of a text with an end; None for NULL. */
PyObject *text_or_none(const char *text);

/* Appends and releases `item`, which may be NULL. Releases the list, and false, if that fails. */
bool list_add(PyObject **list, PyObject *item);

/* The tape: an event's fields as its visitor reported them, without anything borrowed but names. */
struct tape {
    char *data;
    size_t length, capacity;
};

/* False if the event is damaged; *damage says how then, from g_malloc(). */
bool tape_record(struct tape *tape, const struct lull_event *event, char **damage);
/* Fills two dict objects from a tape. False with an exception. */
bool tape_play(const char *data, size_t length, struct session *session, PyObject *context,
               PyObject *payload);

/* Methods that other files give to the session. */
PyObject *session_events(PyObject *self, PyObject *args);
PyObject *session_columns(PyObject *self, PyObject *args);
PyObject *session_requests(PyObject *self, PyObject *args);
PyObject *session_instances(PyObject *self, PyObject *args);
PyObject *session_critpath(PyObject *self, PyObject *args);
PyObject *session_why(PyObject *self, PyObject *args);
PyObject *session_analysis(PyObject *self, PyObject *args);
PyObject *session_analyses(PyObject *self, PyObject *unused);

extern PyType_Spec session_spec, events_spec, event_spec;

#endif
