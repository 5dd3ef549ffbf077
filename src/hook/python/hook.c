/* SPDX-License-Identifier: MIT */
/* Loaded into a Python program (by sitecustomize.py) that `lull record --python` started: writes its
 * calls and returns. One build serves CPython 3.9 to 3.14: it needs none of its headers, only functions
 * that all export, and the start of an object, which sitecustomize.py checks. */
#include <stdio.h>
#include <stdlib.h>

#include "hook/stream.h"

#define MOST_TEXT 1000 /* bytes of a name */
#define ABI_VERSION 3

/* ---- what CPython exports ---- */

struct object {
    ssize_t references;
    struct object *type;
};

struct c_function { /* PyCFunctionObject */
    struct object base;
    const void *definition;
    struct object *self;
};

struct method { /* PyMethodDef */
    const char *name;
    void *function;
    int flags;
    const char *doc;
};

struct module { /* PyModuleDef */
    struct object base;
    void *init;
    ssize_t index;
    void *copy;
    const char *name, *doc;
    ssize_t size;
    const struct method *methods;
    void *slots, *traverse, *clear, *free;
};

enum { POSITIONAL = 0x80 /* METH_FASTCALL */ };
enum what { CALL = 0, RETURN = 3, C_CALL = 4, C_EXCEPTION = 5, C_RETURN = 6 }; /* PyTrace_… */

typedef int profile_function(struct object *self, struct object *frame, int what,
                             struct object *argument);

extern struct object _Py_NoneStruct;
void PyEval_SetProfile(profile_function *function, struct object *self);
struct object *PyFrame_GetCode(struct object *frame);
struct object *PyObject_GetAttrString(struct object *object, const char *name);
const char *PyUnicode_AsUTF8(struct object *text);
long PyLong_AsLong(struct object *number);
void Py_IncRef(struct object *object);
void Py_DecRef(struct object *object);
void PyErr_Clear(void);
struct object *PyModule_Create2(struct module *module, int version);
__attribute__((visibility("default"))) struct object *PyInit__lull_calls(void);
struct object *PyErr_NoMemory(void);

/* ---- the stream of a thread ---- */

/* Code and C functions have numbers, which an event explains before the first call. */
struct code {
    const void *key;           /* NULL: free */
    const struct object *type; /* of whose method a C function is */
    uint32_t number;
};

struct thread {
    struct hook_stream stream;
    uint64_t depth; /* calls that were written and have not returned */
    uint64_t floor; /* at this depth, */
    uint64_t
        older; /* returns are from so many calls that were never written; floor 0: from any number */
    struct code *codes;
    uint32_t n_codes, capacity; /* a power of two, or 0 */
};

static bool has_c; /* functions of C are recorded */

/* The other file knows no codes yet. */
static void restart(struct hook_stream *stream)
{
    struct thread *thread = (struct thread *)(void *)stream;
    if (thread->codes) {
        memset(thread->codes, 0, thread->capacity * sizeof *thread->codes);
    }
    thread->n_codes = 0;
}

static void clear(struct hook_stream *stream)
{
    free(((struct thread *)(void *)stream)->codes);
}

const struct hook_kind hook_kind = {
    .letter = 'p', .size = sizeof(struct thread), .restart = restart, .clear = clear};

/* ---- codes ---- */

static struct code *find_code(const struct thread *thread, const void *key,
                              const struct object *type)
{
    const uint64_t hash = ((uintptr_t)key ^ ((uintptr_t)type << 7)) * UINT64_C(0x9e3779b97f4a7c15);
    uint32_t i = (uint32_t)(hash >> 32);
    for (;; i++) {
        struct code *code = &thread->codes[i & (thread->capacity - 1)];
        if (!code->key || (code->key == key && code->type == type)) {
            return code;
        }
    }
}

static bool grow(struct thread *thread)
{
    struct thread larger = {.capacity = thread->capacity ? thread->capacity * 2 : 1024};
    larger.codes = calloc(larger.capacity, sizeof *larger.codes);
    if (!larger.codes) {
        return false;
    }
    for (uint32_t i = 0; i < thread->capacity; i++) {
        const struct code *code = &thread->codes[i];
        if (code->key) {
            *find_code(&larger, code->key, code->type) = *code;
        }
    }
    free(thread->codes);
    thread->codes = larger.codes;
    thread->capacity = larger.capacity;
    return true;
}

static uint8_t *put_text(uint8_t *at, const char *text)
{
    size_t length = strlen(text);
    if (length > MOST_TEXT) { /* cut before a character */
        for (length = MOST_TEXT; length > 0 && ((uint8_t)text[length] & 0xc0) == 0x80; length--) {
        }
    }
    memcpy(at, text, length);
    at[length] = '\0';
    return at + length + 1;
}

/* A text among the attributes of an object, to be released; NULL: it has none that is UTF-8. */
static struct object *text_of(struct object *object, const char *name, const char **text)
{
    struct object *value = PyObject_GetAttrString(object, name);
    *text = value && value != &_Py_NoneStruct ? PyUnicode_AsUTF8(value) : NULL;
    if (!*text) {
        PyErr_Clear();
    }
    return value;
}

static uint32_t line_of(struct object *code)
{
    struct object *value = PyObject_GetAttrString(code, "co_firstlineno");
    const long line = value ? PyLong_AsLong(value) : 0;
    if (!value || line < 0) {
        PyErr_Clear();
    }
    Py_DecRef(value);
    return line > 0 ? (uint32_t)line : 0;
}

static void put_code(struct thread *thread, uint32_t number, uint32_t line, const char *name,
                     const char *file)
{
    uint8_t *at = hook_start_event(&thread->stream, HOOK_CODE,
                                   sizeof number + sizeof line + 2 * (MOST_TEXT + 1));
    if (at) {
        at = hook_put(hook_put(at, &number, sizeof number), &line, sizeof line);
        hook_end_event(&thread->stream, put_text(put_text(at, name), file));
    }
}

/* CPython before 3.11 knows no qualified names. */
static void explain_code(struct thread *thread, struct object *code, uint32_t number)
{
    const char *name, *file;
    struct object *name_object = text_of(code, "co_qualname", &name);
    if (!name) {
        Py_DecRef(name_object);
        name_object = text_of(code, "co_name", &name);
    }
    struct object *file_object = text_of(code, "co_filename", &file);
    put_code(thread, number, line_of(code), name ? name : "?", file ? file : "?");
    Py_DecRef(name_object);
    Py_DecRef(file_object);
}

/* "time.sleep", "len", "list.append". */
static void explain_function(struct thread *thread, struct object *function, uint32_t number)
{
    char full[MOST_TEXT + 1];
    const char *name, *module;
    struct object *name_object = text_of(function, "__qualname__", &name);
    struct object *module_object = text_of(function, "__module__", &module);
    if (name && module && strcmp(module, "builtins") != 0 &&
        snprintf(full, sizeof full, "%s.%s", module, name) < (int)sizeof full) {
        name = full;
    }
    put_code(thread, number, 0, name ? name : "?", "");
    Py_DecRef(name_object);
    Py_DecRef(module_object);
}

/* What is seen for the first time is kept alive, so that its address always means the same. */
__attribute__((noinline, cold)) static uint32_t
add_code(struct thread *thread, const void *key, struct object *type, struct object *function)
{
    if (thread->n_codes * 2 >= thread->capacity && !grow(thread)) {
        return UINT32_MAX;
    }
    struct code *code = find_code(thread, key, type);
    *code = (struct code){key, type, thread->n_codes++};
    const uint32_t number = code->number;
    if (function) {
        Py_IncRef(type);
        explain_function(thread, function, number);
    } else {
        Py_IncRef((struct object *)key);
        explain_code(thread, (struct object *)key, number);
    }
    return number;
}

static inline uint32_t number_of(struct thread *thread, const void *key, struct object *type,
                                 struct object *function)
{
    const struct code *code = thread->capacity ? find_code(thread, key, type) : NULL;
    return code && code->key ? code->number : add_code(thread, key, type, function);
}

/* ---- calls and returns ---- */

static void put_call(enum hook_event_id id, const void *key, struct object *type,
                     struct object *function)
{
    struct thread *thread = (struct thread *)(void *)(hook_own ? hook_own : hook_start());
    if (!thread) {
        return;
    }
    thread->depth++;
    const uint32_t number = number_of(thread, key, type, function);
    uint8_t *at = hook_start_event(&thread->stream, id, sizeof number);
    if (at) {
        hook_end_event(&thread->stream, hook_put(at, &number, sizeof number));
    }
}

/* What was called before calls were written returned. */
static void leave_older(struct thread *thread)
{
    if (thread->older > 0 && --thread->older == 0) {
        thread->floor = 0;
    }
}

/* Returns from what was called before are no event. */
static void put_return(enum hook_event_id id)
{
    struct thread *thread = (struct thread *)(void *)hook_own;
    if (!thread || thread->depth == thread->floor) {
        if (thread) {
            leave_older(thread);
        }
        return;
    }
    thread->depth--;
    const uint8_t *at = hook_start_event(&thread->stream, id, 0);
    if (at) {
        hook_end_event(&thread->stream, at);
    }
}

static void enter_c(struct object *function)
{
    const struct c_function *c = (const struct c_function *)(const void *)function;
    put_call(HOOK_C_CALL, c->definition, c->self ? c->self->type : NULL, function);
}

/* Functions of C are recorded from where they are called, if they are. */
static int on_event(struct object *self, struct object *frame, int what, struct object *argument)
{
    switch (what) {
    case CALL: {
        struct object *code = PyFrame_GetCode(frame);
        put_call(HOOK_CALL, code, NULL, NULL);
        Py_DecRef(code);
        break;
    }
    case RETURN:
        put_return(HOOK_RETURN);
        break;
    case C_CALL:
        if (has_c) {
            enter_c(argument);
        }
        break;
    case C_RETURN:
    case C_EXCEPTION:
        if (has_c) {
            put_return(HOOK_C_RETURN);
        }
        break;
    default:
        break;
    }
    return 0;
}

static struct object *none(void)
{
    Py_IncRef(&_Py_NoneStruct);
    return &_Py_NoneStruct;
}

/* ---- the functions of the module ---- */

/* profile(n): this thread's calls are recorded from now on. In an interpreter that another one started, on whose
 * calls it lies, `n` of its own calls were made before. */
static struct object *profile(struct object *self, struct object *const *arguments, ssize_t n)
{
    struct thread *thread = (struct thread *)(void *)hook_own;
    const long older = n == 1 ? PyLong_AsLong(arguments[0]) : 0;
    if (thread && older > 0) {
        thread->floor = thread->depth;
        thread->older = (uint64_t)older;
    }
    PyEval_SetProfile(on_event, NULL);
    return none();
}

/* profile_thread(frame, event, argument): the profile function that threading gives a new thread,
 * which takes its own place. */
static struct object *profile_thread(struct object *self, struct object *const *arguments,
                                     ssize_t n)
{
    const char *event = n == 3 ? PyUnicode_AsUTF8(arguments[1]) : NULL;
    if (event && strcmp(event, "call") == 0) {
        on_event(NULL, arguments[0], CALL, NULL);
    }
    PyEval_SetProfile(on_event, NULL);
    return none();
}

/* started(code, …) and ended(code, …): for sys.monitoring, where None needs no count. */
static struct object *started(struct object *self, struct object *const *arguments, ssize_t n)
{
    put_call(HOOK_CALL, arguments[0], NULL, NULL);
    return &_Py_NoneStruct;
}

static struct object *ended(struct object *self, struct object *const *arguments, ssize_t n)
{
    put_return(HOOK_RETURN);
    return &_Py_NoneStruct;
}

struct object *PyInit__lull_calls(void)
{
    static const struct method methods[] = {{"profile", profile, POSITIONAL, NULL},
                                            {"profile_thread", profile_thread, POSITIONAL, NULL},
                                            {"started", started, POSITIONAL, NULL},
                                            {"ended", ended, POSITIONAL, NULL},
                                            {NULL, NULL, 0, NULL}};
    static struct module module = {
        .base = {.references = 1}, .name = "_lull_calls", .size = -1, .methods = methods};
    const char *with_c = getenv("LULL_CALLS_C");
    has_c = with_c && strcmp(with_c, "1") == 0;
    if (!hook_init()) {
        return PyErr_NoMemory();
    }
    return PyModule_Create2(&module, ABI_VERSION);
}
