/* SPDX-License-Identifier: MIT */
/* Loaded into a Python program (by sitecustomize.py) that `lull record --python` started: each thread
 * writes its calls and returns into a CTF stream of its own, which is whole after each event, so that
 * also a program that is killed leaves all of them.
 *
 * One build serves CPython 3.9 to 3.14: it needs none of its headers, only functions that all export,
 * and the start of an object, which sitecustomize.py checks. Nothing here may fail the program. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Multiples of all sizes of pages. Most threads are short. */
#define FIRST_PACKET_BYTES (64u << 10)
#define PACKET_BYTES (1u << 20)
#define MOST_TEXT 1000 /* bytes of a name */
#define MOST_EVENT (sizeof(struct event) + 8 + 2 * (MOST_TEXT + 1))
#define ABI_VERSION 3
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

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
struct object *PyInit__lull_calls(void);

/* ---- the stream of a thread ---- */

/* As src/record/python.c declares them in the metadata. */
enum event_id { EVENT_CALL, EVENT_RETURN, EVENT_CODE, EVENT_C_CALL, EVENT_C_RETURN };

struct head {
    uint32_t magic;
    uint64_t start_ns, end_ns;
    uint64_t content_bits, packet_bits;
    uint64_t discarded;
} __attribute__((packed));

struct event {
    uint8_t id;
    uint64_t time_ns;
    int32_t pid, tid;
} __attribute__((packed));

/* Code and C functions have numbers, which an event explains before the first call. */
struct code {
    const void *key;           /* NULL: free */
    const struct object *type; /* of whose method a C function is */
    uint32_t number;
};

struct stream {
    uint8_t *packet; /* NULL: none yet, or the recording is over */
    uint32_t size;   /* bytes of it that are written, */
    uint32_t room;   /* and that it has */
    bool is_over;    /* no event is written any more */
    int32_t pid, tid;
    uint64_t depth; /* calls that were written and have not returned */
    off_t offset;   /* of the next packet */
    struct code *codes;
    uint32_t n_codes, capacity; /* a power of two, or 0 */
    char *path;
};

static struct {
    char *folder;
    bool has_c;
    pthread_key_t at_exit;
} shared;

static __thread struct stream *own __attribute__((tls_model("initial-exec")));

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static struct head *head_of(const struct stream *stream)
{
    return (struct head *)(void *)stream->packet;
}

/* Room on the disk for the packet, so that writing to its pages cannot fail. Its head comes first: a
 * file that ends behind it, because the program was killed here, has an empty packet. */
static bool make_room(int fd, off_t offset, uint32_t room)
{
    static const uint8_t zeros[1 << 16];
    const uint64_t t = now_ns();
    const struct head head = {.magic = 0xc1fc1fc1,
                              .start_ns = t,
                              .end_ns = t,
                              .content_bits = sizeof head * UINT64_C(8),
                              .packet_bits = room * UINT64_C(8)};
    if (pwrite(fd, &head, sizeof head, offset) != (ssize_t)sizeof head) {
        return false;
    }
    if (fallocate(fd, 0, offset, room) == 0) {
        return true;
    }
    if (errno != EOPNOTSUPP) {
        return false;
    }
    for (size_t at = sizeof head; at < room;) {
        const size_t want = room - at < sizeof zeros ? room - at : sizeof zeros;
        const ssize_t n = pwrite(fd, zeros, want, offset + (off_t)at);
        if (n <= 0) {
            return false;
        }
        at += (size_t)n;
    }
    return true;
}

static void leave_packet(struct stream *stream)
{
    if (stream->packet) {
        munmap(stream->packet, stream->room);
    }
    stream->packet = NULL;
}

/* The file is open only here: its descriptor would be one of the program's. Where the folder is gone,
 * the recording is over, and nothing is lost. */
static bool start_packet(struct stream *stream)
{
    const int flags = stream->offset == 0 ? O_RDWR | O_CREAT | O_EXCL : O_RDWR;
    const int fd = open(stream->path, flags | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (fd < 0) {
        if (errno == ENOENT) {
            leave_packet(stream);
        }
        return false;
    }
    const uint32_t room = stream->offset == 0 ? FIRST_PACKET_BYTES : PACKET_BYTES;
    void *packet = MAP_FAILED;
    if (make_room(fd, stream->offset, room)) {
        packet = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_SHARED, fd, stream->offset);
    }
    if (packet == MAP_FAILED && ftruncate(fd, stream->offset) != 0) {
        /* The reader finds an empty packet there, or one of zeros. */
    }
    close(fd);
    if (packet == MAP_FAILED) {
        return false;
    }
    madvise(packet, room, MADV_POPULATE_WRITE); /* cheaper now than page by page */
    leave_packet(stream);
    stream->packet = packet;
    stream->size = sizeof(struct head);
    stream->room = room;
    stream->offset += room;
    return true;
}

/* Cut to what it holds, and then its last packet says so: a file that is cut within a packet's
 * padding is whole. */
static void end_stream(void *user)
{
    struct stream *stream = user;
    if (stream->packet) {
        if (truncate(stream->path, stream->offset - stream->room + stream->size) == 0) {
            head_of(stream)->packet_bits = stream->size * UINT64_C(8);
        }
    }
    leave_packet(stream);
    free(stream->codes);
    free(stream->path);
    free(stream);
    own = NULL;
}

static bool name_stream(struct stream *stream)
{
    stream->pid = getpid();
    stream->tid = gettid();
    return asprintf(&stream->path, "%s/%d-%d-%llx", shared.folder, stream->pid, stream->tid,
                    (unsigned long long)now_ns()) > 0;
}

static struct stream *start_stream(void)
{
    struct stream *stream = calloc(1, sizeof *stream);
    if (!stream || !name_stream(stream)) {
        free(stream);
        return NULL;
    }
    pthread_setspecific(shared.at_exit, stream);
    return own = stream;
}

/* The child has its own files. What its parent had called until now, it returns from. */
static void forked(void)
{
    struct stream *stream = own;
    if (!stream) {
        return;
    }
    leave_packet(stream);
    if (stream->codes) {
        memset(stream->codes, 0, stream->capacity * sizeof *stream->codes);
    }
    free(stream->path);
    stream->path = NULL;
    stream->n_codes = 0;
    stream->offset = 0;
    stream->is_over = !name_stream(stream);
}

/* Where an event is written that has room for `size` bytes behind its start; NULL: nowhere. */
static uint8_t *start_event(struct stream *stream, enum event_id id, size_t size)
{
    if (!stream->packet || stream->is_over ||
        stream->size + sizeof(struct event) + size > stream->room) {
        stream->is_over = stream->is_over || !start_packet(stream);
        if (stream->is_over) {
            if (stream->packet) {
                head_of(stream)->discarded++;
            }
            return NULL;
        }
    }
    const struct event event = {id, now_ns(), stream->pid, stream->tid};
    uint8_t *at = stream->packet + stream->size;
    memcpy(at, &event, sizeof event);
    head_of(stream)->end_ns = event.time_ns;
    return at + sizeof event;
}

/* From here on it is in the file, whatever becomes of the program. */
static void end_event(struct stream *stream, const uint8_t *end)
{
    stream->size = (uint32_t)(end - stream->packet);
    atomic_signal_fence(memory_order_release);
    head_of(stream)->content_bits = stream->size * UINT64_C(8);
}

/* ---- codes ---- */

static struct code *find_code(const struct stream *stream, const void *key,
                              const struct object *type)
{
    const uint64_t hash = ((uintptr_t)key ^ ((uintptr_t)type << 7)) * UINT64_C(0x9e3779b97f4a7c15);
    uint32_t i = (uint32_t)(hash >> 32);
    for (;; i++) {
        struct code *code = &stream->codes[i & (stream->capacity - 1)];
        if (!code->key || (code->key == key && code->type == type)) {
            return code;
        }
    }
}

static bool grow(struct stream *stream)
{
    struct stream larger = {.capacity = stream->capacity ? stream->capacity * 2 : 1024};
    larger.codes = calloc(larger.capacity, sizeof *larger.codes);
    if (!larger.codes) {
        return false;
    }
    for (uint32_t i = 0; i < stream->capacity; i++) {
        const struct code *code = &stream->codes[i];
        if (code->key) {
            *find_code(&larger, code->key, code->type) = *code;
        }
    }
    free(stream->codes);
    stream->codes = larger.codes;
    stream->capacity = larger.capacity;
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

static void put_code(struct stream *stream, uint32_t number, uint32_t line, const char *name,
                     const char *file)
{
    uint8_t *at = start_event(stream, EVENT_CODE, MOST_EVENT - sizeof(struct event));
    if (at) {
        memcpy(at, &number, sizeof number);
        memcpy(at + 4, &line, sizeof line);
        end_event(stream, put_text(put_text(at + 8, name), file));
    }
}

/* CPython before 3.11 knows no qualified names. */
static void explain_code(struct stream *stream, struct object *code, uint32_t number)
{
    const char *name, *file;
    struct object *name_object = text_of(code, "co_qualname", &name);
    if (!name) {
        Py_DecRef(name_object);
        name_object = text_of(code, "co_name", &name);
    }
    struct object *file_object = text_of(code, "co_filename", &file);
    put_code(stream, number, line_of(code), name ? name : "?", file ? file : "?");
    Py_DecRef(name_object);
    Py_DecRef(file_object);
}

/* "time.sleep", "len", "list.append". */
static void explain_function(struct stream *stream, struct object *function, uint32_t number)
{
    char full[MOST_TEXT + 1];
    const char *name, *module;
    struct object *name_object = text_of(function, "__qualname__", &name);
    struct object *module_object = text_of(function, "__module__", &module);
    if (name && module && strcmp(module, "builtins") != 0 &&
        snprintf(full, sizeof full, "%s.%s", module, name) < (int)sizeof full) {
        name = full;
    }
    put_code(stream, number, 0, name ? name : "?", "");
    Py_DecRef(name_object);
    Py_DecRef(module_object);
}

/* What is seen for the first time is kept alive, so that its address always means the same. */
static uint32_t number_of(struct stream *stream, const void *key, struct object *type,
                          struct object *function)
{
    struct code *code = stream->capacity ? find_code(stream, key, type) : NULL;
    if (code && code->key) {
        return code->number;
    }
    if (stream->n_codes * 2 >= stream->capacity && !grow(stream)) {
        return UINT32_MAX;
    }
    code = find_code(stream, key, type);
    *code = (struct code){key, type, stream->n_codes++};
    const uint32_t number = code->number;
    if (function) {
        Py_IncRef(type);
        explain_function(stream, function, number);
    } else {
        Py_IncRef((struct object *)key);
        explain_code(stream, (struct object *)key, number);
    }
    return number;
}

/* ---- calls and returns ---- */

static void put_call(enum event_id id, const void *key, struct object *type,
                     struct object *function)
{
    struct stream *stream = own ? own : start_stream();
    if (!stream) {
        return;
    }
    stream->depth++;
    const uint32_t number = number_of(stream, key, type, function);
    uint8_t *at = start_event(stream, id, sizeof number);
    if (at) {
        memcpy(at, &number, sizeof number);
        end_event(stream, at + sizeof number);
    }
}

/* Returns from what was called before are no event. */
static void put_return(enum event_id id)
{
    struct stream *stream = own;
    if (!stream || stream->depth == 0) {
        return;
    }
    stream->depth--;
    const uint8_t *at = start_event(stream, id, 0);
    if (at) {
        end_event(stream, at);
    }
}

static void enter_c(struct object *function)
{
    const struct c_function *c = (const struct c_function *)(const void *)function;
    put_call(EVENT_C_CALL, c->definition, c->self ? c->self->type : NULL, function);
}

/* Functions of C are recorded from where they are called, if they are. */
static int on_event(struct object *self, struct object *frame, int what, struct object *argument)
{
    switch (what) {
    case CALL: {
        struct object *code = PyFrame_GetCode(frame);
        put_call(EVENT_CALL, code, NULL, NULL);
        Py_DecRef(code);
        break;
    }
    case RETURN:
        put_return(EVENT_RETURN);
        break;
    case C_CALL:
        if (shared.has_c) {
            enter_c(argument);
        }
        break;
    case C_RETURN:
    case C_EXCEPTION:
        if (shared.has_c) {
            put_return(EVENT_C_RETURN);
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

/* profile(): this thread's calls are recorded from now on. */
static struct object *profile(struct object *self, struct object *const *arguments, ssize_t n)
{
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
    put_call(EVENT_CALL, arguments[0], NULL, NULL);
    return &_Py_NoneStruct;
}

static struct object *ended(struct object *self, struct object *const *arguments, ssize_t n)
{
    put_return(EVENT_RETURN);
    return &_Py_NoneStruct;
}

/* Threads other than the main one end with their own destructor. */
__attribute__((destructor)) static void unload(void)
{
    if (own) {
        end_stream(own);
    }
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
    const char *folder = getenv("LULL_CALLS"), *with_c = getenv("LULL_CALLS_C");
    shared.folder = strdup(folder ? folder : "");
    shared.has_c = with_c && strcmp(with_c, "1") == 0;
    if (!shared.folder || pthread_key_create(&shared.at_exit, end_stream) != 0 ||
        pthread_atfork(NULL, NULL, forked) != 0) {
        return NULL;
    }
    return PyModule_Create2(&module, ABI_VERSION);
}
