/* SPDX-License-Identifier: MIT */
/* Whole columns: the fields of a subscription straight into arrays, without an object per event.
 * The arrays are bytearray objects, which NumPy and memoryview take as they are. The GIL is held
 * only while they grow. */
#include "lullmodule.h"

#include <stddef.h>

enum column_kind {
    COLUMN_INT,
    COLUMN_REAL,
    COLUMN_TEXT,
    COLUMN_BYTES,
    COLUMN_CPU,
    COLUMN_HOST,
    COLUMN_CLASS
};

static const char *const kind_names[] = {
    [COLUMN_INT] = "int", [COLUMN_REAL] = "real", [COLUMN_TEXT] = "text",  [COLUMN_BYTES] = "bytes",
    [COLUMN_CPU] = "cpu", [COLUMN_HOST] = "host", [COLUMN_CLASS] = "class"};

/* Bytes whose length varies: the longest value decides how wide the column becomes. */
#define WIDTH_LONGEST (-1)

/* One array: where it is may change when it grows. */
struct array {
    PyObject *bytes; /* bytearray, or NULL */
    char *at;
};

struct column {
    enum column_kind kind;
    uint32_t offset;    /* of the value behind lull_event.fields */
    uint64_t have;      /* its bit */
    Py_ssize_t width;   /* bytes of a value; WIDTH_LONGEST; 0: data and offsets */
    struct array data;  /* values */
    struct array ends;  /* if values vary in length: int64_t, a leading 0, then where each ends */
    struct array is_in; /* if values may be absent: a byte each */
    size_t used, room;  /* of data, if values vary in length */
    size_t longest;
};

struct job {
    struct session *session;
    struct column *columns;
    uint32_t n_columns;
    struct array times;
    size_t n, capacity;
    const struct lull_event *pending; /* read, but there was no room for it */
    bool is_done;
};

#define FIRST_ROWS 16384
/* Between two looks for signals, such as Ctrl-C. */
#define MOST_ROWS (1 << 20)

static bool varies(const struct column *column)
{
    return column->ends.bytes != NULL;
}

/* ---- filling, without the GIL ---- */

static struct lull_text text_of(const struct column *column, const struct lull_event *event)
{
    struct lull_text text;
    memcpy(&text, (const char *)event->fields + column->offset, sizeof text);
    return text;
}

static bool has_room(const struct job *job, const struct lull_event *event)
{
    if (job->n == job->capacity) {
        return false;
    }
    for (uint32_t i = 0; i < job->n_columns; i++) {
        const struct column *column = &job->columns[i];
        if (varies(column) && text_of(column, event).length > column->room - column->used) {
            return false;
        }
    }
    return true;
}

static void put_number(struct column *column, size_t row, int64_t value)
{
    memcpy(column->data.at + row * sizeof value, &value, sizeof value);
}

static void put_text(struct column *column, size_t row, struct lull_text text)
{
    if (varies(column)) {
        if (text.length > 0) {
            memcpy(column->data.at + column->used, text.data, text.length);
        }
        column->used += text.length;
        column->longest = MAX(column->longest, text.length);
        int64_t end = (int64_t)column->used;
        memcpy(column->ends.at + (row + 1) * sizeof end, &end, sizeof end);
        return;
    }
    size_t width = (size_t)column->width, length = MIN(text.length, width);
    char *at = column->data.at + row * width;
    if (length > 0) {
        memcpy(at, text.data, length);
    }
    memset(at + length, 0, width - length);
}

static void put(struct column *column, size_t row, const struct lull_event *event)
{
    int64_t value;
    uint64_t have;
    switch (column->kind) {
    case COLUMN_INT:
    case COLUMN_REAL:
        memcpy(&value, (const char *)event->fields + column->offset, sizeof value);
        put_number(column, row, value);
        break;
    case COLUMN_TEXT:
    case COLUMN_BYTES:
        put_text(column, row, text_of(column, event));
        break;
    case COLUMN_CPU:
        put_number(column, row, event->cpu);
        break;
    case COLUMN_HOST:
        put_number(column, row, event->host);
        break;
    case COLUMN_CLASS:
        put_number(column, row, lull_event_class_number(event->event_class));
        break;
    }
    if (column->is_in.bytes) {
        memcpy(&have, event->fields, sizeof have);
        column->is_in.at[row] = (have & column->have) != 0;
    }
}

/* Goes on until the end or until there is no room. */
static void fill(struct job *job)
{
    struct lull_session *session = job->session->session;
    for (;;) {
        const struct lull_event *event = job->pending ? job->pending : lull_session_read(session);
        job->pending = NULL;
        if (!event) {
            job->is_done = true;
            return;
        }
        if (!has_room(job, event)) {
            job->pending = event;
            return;
        }
        memcpy(job->times.at + job->n * sizeof event->time_ns, &event->time_ns,
               sizeof event->time_ns);
        for (uint32_t i = 0; i < job->n_columns; i++) {
            put(&job->columns[i], job->n, event);
        }
        job->n++;
    }
}

/* ---- arrays ---- */

/* Resizes to `n` values of `width` bytes and `more`. */
static bool resize(struct array *array, size_t n, size_t width, size_t more)
{
    size_t size;
    if (__builtin_mul_overflow(n, width, &size) || __builtin_add_overflow(size, more, &size) ||
        size > (size_t)PY_SSIZE_T_MAX) {
        PyErr_NoMemory();
        return false;
    }
    if (!array->bytes) {
        array->bytes = PyByteArray_FromStringAndSize(NULL, (Py_ssize_t)size);
    } else if (PyByteArray_Resize(array->bytes, (Py_ssize_t)size) != 0) {
        return false;
    }
    array->at = array->bytes ? PyByteArray_AsString(array->bytes) : NULL;
    return array->bytes != NULL;
}

static bool resize_rows(struct job *job, size_t n)
{
    if (!resize(&job->times, n, sizeof(int64_t), 0)) {
        return false;
    }
    for (uint32_t i = 0; i < job->n_columns; i++) {
        struct column *column = &job->columns[i];
        bool ok = varies(column) ? resize(&column->ends, n, sizeof(int64_t), sizeof(int64_t))
                                 : resize(&column->data, n, (size_t)column->width, 0);
        if (!ok || (column->is_in.bytes && !resize(&column->is_in, n, 1, 0))) {
            return false;
        }
    }
    job->capacity = n;
    return true;
}

static bool grow(struct job *job)
{
    if (PyErr_CheckSignals() != 0) {
        return false;
    }
    if (job->n == job->capacity &&
        !resize_rows(job, job->capacity + CLAMP(job->capacity, FIRST_ROWS, MOST_ROWS))) {
        return false;
    }
    for (uint32_t i = 0; job->pending && i < job->n_columns; i++) {
        struct column *column = &job->columns[i];
        size_t length = varies(column) ? text_of(column, job->pending).length : 0;
        if (!varies(column) || length <= column->room - column->used) {
            continue;
        }
        size_t room = column->room + MAX(column->room, length);
        if (!resize(&column->data, room, 1, 0)) {
            return false;
        }
        column->room = room;
    }
    return true;
}

static bool widen(struct job *job, struct column *column)
{
    struct array wide = {0};
    size_t width = MAX(column->longest, 1);
    if (width > G_MAXSIZE / MAX(job->n, 1) ||
        (job->n * width > (size_t)1 << 30 && job->n * width / 16 > column->used)) {
        raise_error(job->session->state, "a text is so long that a column as wide as it would not "
                                         "fit; ask for text='offsets'");
        return false;
    }
    if (!resize(&wide, job->n, width, 0)) {
        return false;
    }
    int64_t start = 0, end;
    for (size_t row = 0; row < job->n; row++, start = end) {
        char *at = wide.at + row * width;
        memcpy(&end, column->ends.at + (row + 1) * sizeof end, sizeof end);
        memcpy(at, column->data.at + start, (size_t)(end - start));
        memset(at + (end - start), 0, width - (size_t)(end - start));
    }
    Py_DECREF(column->data.bytes);
    Py_CLEAR(column->ends.bytes);
    column->data = wide;
    column->width = (Py_ssize_t)width;
    return true;
}

/* Gives everything its final size. */
static bool finish(struct job *job)
{
    if (!resize_rows(job, job->n)) {
        return false;
    }
    for (uint32_t i = 0; i < job->n_columns; i++) {
        struct column *column = &job->columns[i];
        if (varies(column) && !resize(&column->data, column->used, 1, 0)) {
            return false;
        }
        if (varies(column) && column->width == WIDTH_LONGEST && !widen(job, column)) {
            return false;
        }
    }
    return true;
}

/* ---- the call ---- */

static bool init_column(struct column *column, const char *kind, Py_ssize_t width, bool is_optional)
{
    size_t i = 0;
    while (i < G_N_ELEMENTS(kind_names) && strcmp(kind, kind_names[i]) != 0) {
        i++;
    }
    if (i == G_N_ELEMENTS(kind_names) || width < WIDTH_LONGEST) {
        PyErr_Format(PyExc_ValueError, "no such kind of column: %s, %zd bytes", kind, width);
        return false;
    }
    bool is_bytes = i == COLUMN_TEXT || i == COLUMN_BYTES;
    column->kind = (enum column_kind)i;
    column->width = is_bytes ? width : (Py_ssize_t)sizeof(int64_t);
    int64_t zero = 0;
    if (is_bytes && width <= 0) {
        if (!resize(&column->ends, 0, 0, sizeof zero) || !resize(&column->data, 0, 0, 0)) {
            return false;
        }
        memcpy(column->ends.at, &zero, sizeof zero);
    }
    return !is_optional || resize(&column->is_in, 0, 0, 0);
}

/* Adds a binding for the column, if it is a field. */
static void bind(struct column *column, const char *path, struct lull_binding *bindings,
                 uint32_t *n_bindings)
{
    static const enum lull_bind_kind kinds[] = {[COLUMN_INT] = LULL_BIND_INT,
                                                [COLUMN_REAL] = LULL_BIND_REAL,
                                                [COLUMN_TEXT] = LULL_BIND_TEXT,
                                                [COLUMN_BYTES] = LULL_BIND_RAW};
    if (column->kind > COLUMN_BYTES) {
        return;
    }
    uint32_t i = (*n_bindings)++;
    const char **paths = g_new0(const char *, 2);
    paths[0] = g_strdup(path);
    column->offset = 8 + i * (uint32_t)sizeof(struct lull_text);
    column->have = UINT64_C(1) << i;
    bindings[i] =
        (struct lull_binding){paths, (enum lull_bind_kind)kinds[column->kind], column->offset};
}

static bool init_columns(struct job *job, PyObject *fields, struct lull_binding *bindings,
                         uint32_t *n_bindings)
{
    for (uint32_t i = 0; i < job->n_columns; i++) {
        const char *path, *kind;
        Py_ssize_t width;
        int is_optional;
        PyObject *field = PyList_GetItem(fields, i);
        if (!field || !PyArg_ParseTuple(field, "ssnp", &path, &kind, &width, &is_optional) ||
            !init_column(&job->columns[i], kind, width, is_optional)) {
            return false;
        }
        bind(&job->columns[i], path, bindings, n_bindings);
    }
    return true;
}

static bool run(struct job *job)
{
    /* Busy all the time: a handler of signals must not begin another reading either. */
    bool ok = true;
    job->session->is_busy = true;
    while (ok && !job->is_done) {
        ok = grow(job);
        if (!ok) {
            break;
        }
        Py_BEGIN_ALLOW_THREADS fill(job);
        Py_END_ALLOW_THREADS
    }
    job->session->is_busy = false;
    return ok && finish(job);
}

static PyObject *or_none(PyObject *object)
{
    return object ? object : Py_None;
}

/* (events, times, [(data, ends or None, width, is_in or None), …]) */
static PyObject *result_of(struct job *job)
{
    PyObject *list = PyList_New(0);
    for (uint32_t i = 0; list && i < job->n_columns; i++) {
        const struct column *column = &job->columns[i];
        PyObject *item = Py_BuildValue("OOnO", column->data.bytes, or_none(column->ends.bytes),
                                       column->width, or_none(column->is_in.bytes));
        if (!item || PyList_Append(list, item) != 0) {
            Py_CLEAR(list);
        }
        Py_XDECREF(item);
    }
    return list ? Py_BuildValue("nON", (Py_ssize_t)job->n, job->times.bytes, list) : NULL;
}

static void clear_columns(struct job *job)
{
    for (uint32_t i = 0; i < job->n_columns; i++) {
        Py_XDECREF(job->columns[i].data.bytes);
        Py_XDECREF(job->columns[i].ends.bytes);
        Py_XDECREF(job->columns[i].is_in.bytes);
    }
    Py_XDECREF(job->times.bytes);
    g_free(job->columns);
}

static void free_bindings(struct lull_binding *bindings, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        g_strfreev((char **)bindings[i].paths);
    }
    g_free(bindings);
}

PyObject *session_columns(PyObject *object, PyObject *args)
{
    struct job job = {.session = (struct session *)object};
    struct window window;
    PyObject *names, *fields, *result = NULL;
    uint32_t n_bindings = 0;
    if (!PyArg_ParseTuple(args, "OOLLiO", &names, &fields, &window.start_ns, &window.end_ns,
                          &window.host, &window.cpus)) {
        return NULL;
    }
    Py_ssize_t n = PyList_Check(fields) ? PyList_Size(fields) : -1;
    if (n < 0 || n > 64) {
        return raise_error(job.session->state, "columns() gives at most 64 fields at a time");
    }
    job.n_columns = (uint32_t)n;
    job.columns = g_new0(struct column, (gsize)n + 1);
    struct lull_binding *bindings = g_new0(struct lull_binding, (gsize)n + 1);
    if (!init_columns(&job, fields, bindings, &n_bindings)) {
        free_bindings(bindings, n_bindings);
    } else {
        uint32_t size = 8 + n_bindings * (uint32_t)sizeof(struct lull_text);
        if (session_start(job.session, names, &window, bindings, n_bindings, size) && run(&job)) {
            result = result_of(&job);
        }
    }
    clear_columns(&job);
    return result;
}
