/* SPDX-License-Identifier: MIT */
/* Events outlive their place in the trace in Python, so what a visitor reports of them is written
 * down, in a form that is cheap to write and to copy; objects are made of it when someone asks. */
#include "lullmodule.h"

enum mark {
    MARK_CONTEXT, /* what follows belongs to contexts, up to the next of these */
    MARK_PAYLOAD,
    MARK_DICT,
    MARK_LIST,
    MARK_END,
    MARK_SIGNED,
    MARK_UNSIGNED,
    MARK_ENUM_SIGNED, /* the label stands behind, `length` bytes */
    MARK_ENUM_UNSIGNED,
    MARK_ENUM_NONE_SIGNED, /* no label covers the value */
    MARK_ENUM_NONE_UNSIGNED,
    MARK_BOOLEAN,
    MARK_REAL,
    MARK_TEXT,  /* the bytes stand behind */
    MARK_BYTES, /* the same */
};

struct entry {
    uint32_t mark, length; /* of what stands behind, padded to 8 bytes */
    const char *name;      /* NULL for elements of arrays */
    uint64_t bits;         /* of a number */
};

/* Deeper nesting than any schema has. */
#define MAX_DEPTH 128

static struct entry *add(struct tape *tape, enum mark mark, const char *name, uint64_t bits,
                         uint32_t length)
{
    size_t size = sizeof(struct entry) + (((size_t)length + 7) & ~(size_t)7);
    if (tape->capacity - tape->length < size) {
        tape->capacity = (tape->length + size) * 2;
        tape->data = g_realloc(tape->data, tape->capacity);
    }
    struct entry *entry = (struct entry *)(void *)(tape->data + tape->length);
    tape->length += size;
    *entry = (struct entry){.mark = mark, .length = length, .name = name, .bits = bits};
    return entry;
}

static void on_start(void *user, const char *name, enum lull_visit_kind kind)
{
    if (kind == LULL_VISIT_SCOPE) {
        add(user, strcmp(name, "payload") == 0 ? MARK_PAYLOAD : MARK_CONTEXT, NULL, 0, 0);
    } else {
        add(user, kind == LULL_VISIT_ARRAY ? MARK_LIST : MARK_DICT, name, 0, 0);
    }
}

static void on_end(void *user, enum lull_visit_kind kind)
{
    if (kind != LULL_VISIT_SCOPE) {
        add(user, MARK_END, NULL, 0, 0);
    }
}

static void on_integer(void *user, const char *name, const struct lull_visit_int *value)
{
    if (value->is_boolean) {
        add(user, MARK_BOOLEAN, name, value->bits, 0);
    } else if (!value->is_enum) {
        add(user, value->is_signed ? MARK_SIGNED : MARK_UNSIGNED, name, value->bits, 0);
    } else if (!value->label) {
        add(user, value->is_signed ? MARK_ENUM_NONE_SIGNED : MARK_ENUM_NONE_UNSIGNED, name,
            value->bits, 0);
    } else {
        uint32_t length = (uint32_t)strlen(value->label);
        enum mark mark = value->is_signed ? MARK_ENUM_SIGNED : MARK_ENUM_UNSIGNED;
        memcpy(add(user, mark, name, value->bits, length) + 1, value->label, length);
    }
}

static void on_real(void *user, const char *name, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    add(user, MARK_REAL, name, bits, 0);
}

static void add_bytes(void *user, enum mark mark, const char *name, struct lull_text value)
{
    struct entry *entry = add(user, mark, name, 0, value.length);
    if (value.length > 0) {
        memcpy(entry + 1, value.data, value.length);
    }
}

static void on_text(void *user, const char *name, struct lull_text value)
{
    add_bytes(user, MARK_TEXT, name, value);
}

static void on_blob(void *user, const char *name, struct lull_text bytes, const char *media_type)
{
    add_bytes(user, MARK_BYTES, name, bytes);
}

bool tape_record(struct tape *tape, const struct lull_event *event, char **damage)
{
    static const struct lull_visitor visitor = {.start = on_start,
                                                .end = on_end,
                                                .integer = on_integer,
                                                .real = on_real,
                                                .text = on_text,
                                                .blob = on_blob};
    g_autoptr(GError) error = NULL;
    tape->length = 0;
    if (lull_event_visit(event, &visitor, tape, &error)) {
        return true;
    }
    *damage = g_strdup(error->message);
    return false;
}

/* ---- playing ---- */

static PyObject *number(const struct entry *entry, bool is_signed)
{
    return is_signed ? PyLong_FromLongLong((long long)entry->bits)
                     : PyLong_FromUnsignedLongLong(entry->bits);
}

static PyObject *enum_value(const struct entry *entry, struct session *session, bool is_signed,
                            bool has_label)
{
    PyObject *value = number(entry, is_signed);
    PyObject *label = Py_None, *result = NULL;
    Py_INCREF(Py_None);
    if (has_label) {
        Py_DECREF(label);
        label = text_to_str((const char *)(entry + 1), entry->length);
    }
    if (value && label) {
        result = PyObject_CallFunctionObjArgs(session->state->enum_value, value, label, NULL);
    }
    Py_XDECREF(value);
    Py_XDECREF(label);
    return result;
}

static PyObject *value_of(const struct entry *entry, struct session *session)
{
    double real;
    switch ((enum mark)entry->mark) {
    case MARK_DICT:
        return PyDict_New();
    case MARK_LIST:
        return PyList_New(0);
    case MARK_SIGNED:
        return number(entry, true);
    case MARK_UNSIGNED:
        return number(entry, false);
    case MARK_ENUM_SIGNED:
        return enum_value(entry, session, true, true);
    case MARK_ENUM_UNSIGNED:
        return enum_value(entry, session, false, true);
    case MARK_ENUM_NONE_SIGNED:
        return enum_value(entry, session, true, false);
    case MARK_ENUM_NONE_UNSIGNED:
        return enum_value(entry, session, false, false);
    case MARK_BOOLEAN:
        return PyBool_FromLong(entry->bits != 0);
    case MARK_REAL:
        memcpy(&real, &entry->bits, sizeof real);
        return PyFloat_FromDouble(real);
    case MARK_TEXT:
        return text_to_str((const char *)(entry + 1), entry->length);
    case MARK_BYTES:
        return PyBytes_FromStringAndSize((const char *)(entry + 1), (Py_ssize_t)entry->length);
    case MARK_CONTEXT:
    case MARK_PAYLOAD:
    case MARK_END:
        break;
    }
    PyErr_SetString(PyExc_SystemError, "lull: a damaged record of an event");
    return NULL;
}

/* Puts a value where it belongs; releases it. */
static bool put(PyObject *container, const struct entry *entry, struct session *session,
                PyObject *value)
{
    bool is_put = false;
    if (value && PyList_Check(container)) {
        is_put = PyList_Append(container, value) == 0;
    } else if (value) {
        PyObject *name = session_name(session, entry->name ? entry->name : "");
        is_put = name && PyDict_SetItem(container, name, value) == 0;
    }
    Py_XDECREF(value);
    return is_put;
}

bool tape_play(const char *data, size_t length, struct session *session, PyObject *context,
               PyObject *payload)
{
    PyObject *open[MAX_DEPTH]; /* borrowed: their containers hold them */
    size_t depth = 0;
    open[0] = payload;
    for (size_t at = 0; at < length;) {
        const struct entry *entry = (const struct entry *)(const void *)(data + at);
        at += sizeof *entry + (((size_t)entry->length + 7) & ~(size_t)7);
        if (entry->mark <= MARK_PAYLOAD) {
            depth = 0;
            open[0] = entry->mark == MARK_PAYLOAD ? payload : context;
        } else if (entry->mark == MARK_END) {
            depth -= depth > 0;
        } else {
            PyObject *value = value_of(entry, session);
            if (!put(open[depth], entry, session, value)) {
                return false;
            }
            if (entry->mark > MARK_LIST) {
                continue;
            }
            if (++depth == MAX_DEPTH) {
                PyErr_SetString(PyExc_RecursionError, "lull: fields are nested too deep");
                return false;
            }
            open[depth] = value;
        }
    }
    return true;
}
