/* SPDX-License-Identifier: MIT */
/* Tables of analyses as lists: a window is (begin, end, number, period, captures, is complete, lost
 * events, lost packets, notes, tables), a table (name, title, subtitle, columns, rows). */
#include "lullmodule.h"

/* What is being built while the library reads without the GIL. */
struct building {
    PyThreadState *thread;
    PyObject *windows;        /* NULL: there is an exception */
    PyObject *notes, *tables; /* of the window */
    const struct lull_window *window;
};

static PyObject *tid(int32_t tid)
{
    if (tid >= 0) {
        return PyLong_FromLong(tid);
    }
    Py_RETURN_NONE;
}

static PyObject *cell_to_value(const struct lull_cell *cell)
{
    switch ((enum lull_cell_class)cell->class) {
    case LULL_CELL_BOOL:
        return PyBool_FromLong(cell->integer != 0);
    case LULL_CELL_NUMBER:
    case LULL_CELL_DURATION:
    case LULL_CELL_SIZE:
        return cell->is_real ? PyFloat_FromDouble(cell->real)
                             : PyLong_FromLongLong((long long)cell->integer);
    case LULL_CELL_RATIO:
        return PyFloat_FromDouble(cell->real);
    case LULL_CELL_TIMESTAMP:
    case LULL_CELL_FD:
    case LULL_CELL_CPU:
        return PyLong_FromLongLong((long long)cell->integer);
    case LULL_CELL_TIME_RANGE:
        return Py_BuildValue("LL", (long long)cell->integer, (long long)cell->end);
    case LULL_CELL_PROCESS:
        return Py_BuildValue("NNN", text_or_none(cell->text), tid(cell->tid), tid(cell->pid));
    case LULL_CELL_IRQ:
        return Py_BuildValue("NLN", PyBool_FromLong(cell->is_hard), (long long)cell->integer,
                             text_or_none(cell->text));
    case LULL_CELL_STRING:
    case LULL_CELL_SYSCALL:
    case LULL_CELL_PATH:
    case LULL_CELL_DISK:
    case LULL_CELL_NETIF:
    case LULL_CELL_HOST:
        return text_or_none(cell->text);
    default:
        Py_RETURN_NONE;
    }
}

static PyObject *row_to_list(struct lull_rows *rows, uint64_t row)
{
    PyObject *list = PyList_New(0);
    for (uint32_t i = 0; i < lull_rows_column_count(rows); i++) {
        list_add(&list, cell_to_value(lull_rows_cell(rows, row, i)));
    }
    return list;
}

static PyObject *columns_to_list(const struct lull_rows *rows)
{
    PyObject *list = PyList_New(0);
    for (uint32_t i = 0; i < lull_rows_column_count(rows); i++) {
        const struct lull_result_column *column = lull_rows_column(rows, i);
        list_add(&list,
                 Py_BuildValue("NNNI", text_or_none(column->key), text_or_none(column->title),
                               text_or_none(column->unit), (unsigned)column->class));
    }
    return list;
}

static void on_window(void *user, const struct lull_window *window)
{
    struct building *building = user;
    PyEval_RestoreThread(building->thread);
    building->window = window;
    building->notes = PyList_New(0);
    building->tables = PyList_New(0);
    building->thread = PyEval_SaveThread();
}

static void on_note(void *user, const char *note)
{
    struct building *building = user;
    PyEval_RestoreThread(building->thread);
    list_add(&building->notes, text_or_none(note));
    building->thread = PyEval_SaveThread();
}

static void on_table(void *user, struct lull_rows *rows)
{
    struct building *building = user;
    PyEval_RestoreThread(building->thread);
    PyObject *list = building->tables ? PyList_New(0) : NULL;
    for (uint64_t i = 0; list && i < lull_rows_count(rows); i++) {
        list_add(&list, row_to_list(rows, i));
    }
    PyObject *columns = list ? columns_to_list(rows) : NULL;
    if (columns) {
        list_add(&building->tables,
                 Py_BuildValue("NNNNN", text_or_none(lull_rows_name(rows)),
                               text_or_none(lull_rows_title(rows)),
                               text_or_none(lull_rows_subtitle(rows)), columns, list));
    } else {
        Py_XDECREF(list);
        Py_CLEAR(building->tables);
    }
    building->thread = PyEval_SaveThread();
}

static void on_end(void *user)
{
    struct building *building = user;
    const struct lull_window *window = building->window;
    PyEval_RestoreThread(building->thread);
    if (building->notes && building->tables) {
        list_add(&building->windows,
                 Py_BuildValue("LLINNNKKNN", (long long)window->start_ns, (long long)window->end_ns,
                               (unsigned)window->number, text_or_none(window->period),
                               text_or_none(window->captures), PyBool_FromLong(window->is_complete),
                               (unsigned long long)window->lost_events,
                               (unsigned long long)window->lost_packets,
                               g_steal_pointer(&building->notes),
                               g_steal_pointer(&building->tables)));
    } else {
        Py_CLEAR(building->windows);
    }
    Py_CLEAR(building->notes);
    Py_CLEAR(building->tables);
    building->thread = PyEval_SaveThread();
}

/* Settings are pairs of name and text or None. */
static bool set_all(struct lull_query *query, PyObject *settings, GError **error)
{
    for (Py_ssize_t i = 0; i < PySequence_Size(settings); i++) {
        PyObject *pair = PySequence_GetItem(settings, i);
        const char *name, *value;
        const bool is_set = pair && PyArg_ParseTuple(pair, "sz", &name, &value) &&
                            lull_query_set(query, name, value, error);
        Py_XDECREF(pair);
        if (!is_set) {
            return false;
        }
    }
    return true;
}

static PyObject *run(struct session *self, struct lull_query *query, GError **error)
{
    static const struct lull_result_visitor visitor = {
        .window = on_window, .note = on_note, .table = on_table, .end = on_end};
    struct building building = {.windows = PyList_New(0)};
    session_forget(self);
    self->is_busy = true;
    building.thread = PyEval_SaveThread();
    const bool is_done = lull_query_run(query, self->session, &visitor, &building, error);
    PyEval_RestoreThread(building.thread);
    self->is_busy = false;
    if (!is_done) {
        Py_CLEAR(building.windows);
    }
    return building.windows;
}

PyObject *session_analysis(PyObject *object, PyObject *args)
{
    struct session *self = (struct session *)object;
    g_autoptr(GError) error = NULL;
    PyObject *settings, *answer = NULL;
    const char *name;
    struct window window;
    if (!PyArg_ParseTuple(args, "sOLLi", &name, &settings, &window.start_ns, &window.end_ns,
                          &window.host) ||
        !session_is_free(self)) {
        return NULL;
    }
    struct lull_query *query = lull_query_new(name, &error);
    if (query && set_all(query, settings, &error)) {
        lull_query_limit(query, window.host, window.start_ns, window.end_ns);
        answer = run(self, query, &error);
    }
    lull_query_free(query);
    if (error) {
        raise_error(self->state, error->message);
    }
    return answer;
}

PyObject *session_analyses(PyObject *object, PyObject *unused)
{
    PyObject *list = PyList_New(0);
    for (uint32_t i = 0; lull_analysis_name(i); i++) {
        list_add(&list, text_or_none(lull_analysis_name(i)));
    }
    return list;
}
