/* SPDX-License-Identifier: MIT */
/* Call chains, kept once each, and what processes have mapped where. */
#include "kernel/stacks.h"

#include <string.h>

#include "base/map.h"
#include "base/search.h"
#include "base/vec.h"
#include "source/files/recording.h"
#include "symbol/demangle.h"
#include "symbol/here.h"
#include "symbol/kallsyms.h"
#include "symbol/object.h"
#include "symbol/perf_map.h"
#include "symbol/saved.h"
#include "symbol/table.h"

/* Addresses from here on are marks: whose addresses come next. */
#define FIRST_MARK (UINT64_MAX - 4095 + 1)
/* A fork of a fork of a fork … that never executed anything. */
#define MOST_FORKS 16
/* perf keeps 127 as a rule; more are not shown to anyone. */
#define MOST_FRAMES 1024u
/* No program maps more files that hold code. What goes beyond is not taken: its addresses stay
 * numbers. */
#define MOST_MAPPINGS 16384u
/* The kernel with all its modules has about 5 MB of them. */
#define MOST_KALLSYMS_BYTES (UINT64_C(64) << 20)
/* Of all programs and libraries; a recorder ends at half of it. */
#define MOST_SYMBOLS_BYTES (UINT64_C(256) << 20)

/* A file that a process of a host has mapped, or the kernel. */
struct object {
    uint64_t inode;    /* 0: not known, or there were several files of this path */
    int32_t pid;       /* whose memory it is, if it is of no file; else 0 */
    int64_t mapped_ns; /* first */
    uint64_t start;    /* address of the kernel */
    bool is_kernel, is_read;
    bool is_image;  /* places in it are addresses as its symbols have them, not bytes of the file */
    char *build_id; /* of an image; NULL: not known, "": there were several */
    struct lull_object *symbols; /* once they are read; NULL: none that are of the same file */
    char path[];
};

struct mapping {
    uint64_t start, end, offset; /* offset: in the file, of `start` */
    struct object *object;
};

struct process {
    LULL_VEC(struct mapping) mappings; /* by start, without overlap */
    uint32_t parent;                   /* whose mappings hold too, or LULL_MAP_NONE */
};

struct chain {
    size_t first;
    uint32_t n, host;
    bool is_named;
    uint32_t next; /* chain with the same hash, or LULL_NO_CHAIN */
};

/* What a host's traces and its recording hold of names. */
struct names {
    GPtrArray *build_ids;                  /* of its traces; borrowed hash tables */
    struct lull_recording_file *recording; /* NULL: none, or several */
    uint32_t n_recordings;
    bool has_read_kernel, has_read_files;
    struct lull_symbol_table *kernel; /* once it is read; NULL: hidden, or not known */
    struct lull_saved *files;         /* the same */
};

struct lull_stacks {
    struct lull_map by_pid; /* host, pid → process */
    LULL_VEC(struct process) processes;
    LULL_VEC(struct lull_frame) frames;
    LULL_VEC(struct chain) chains;
    struct lull_map by_hash; /* → the last chain of it */
    GHashTable *objects;     /* "host path" → struct object */
    GHashTable *names;       /* host → struct names */
    GHashTable *readable;    /* name of a symbol → how its source has it; NULL: the same */
    uint32_t here;           /* host whose files are those of this machine, or LULL_MAP_NONE */
};

static void free_object(void *data)
{
    struct object *object = data;
    lull_object_free(object->symbols);
    g_free(object->build_id);
    g_free(object);
}

static void free_names(void *data)
{
    struct names *names = data;
    g_ptr_array_unref(names->build_ids);
    lull_recording_unref(names->recording);
    lull_symbol_table_free(names->kernel);
    lull_saved_free(names->files);
    g_free(names);
}

struct lull_stacks *lull_stacks_new(void)
{
    struct lull_stacks *stacks = g_new0(struct lull_stacks, 1);
    stacks->objects = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, free_object);
    stacks->names = g_hash_table_new_full(NULL, NULL, NULL, free_names);
    stacks->readable = g_hash_table_new_full(NULL, NULL, NULL, g_free);
    stacks->here = LULL_MAP_NONE;
    return stacks;
}

void lull_stacks_free(struct lull_stacks *stacks)
{
    if (!stacks) {
        return;
    }
    for (size_t i = 0; i < stacks->processes.count; i++) {
        lull_vec_free(&stacks->processes.items[i].mappings);
    }
    lull_vec_free(&stacks->processes);
    lull_vec_free(&stacks->frames);
    lull_vec_free(&stacks->chains);
    lull_map_free(&stacks->by_pid);
    lull_map_free(&stacks->by_hash);
    g_hash_table_unref(stacks->objects);
    g_hash_table_unref(stacks->names);
    g_hash_table_unref(stacks->readable);
    g_free(stacks);
}

/* ---- mappings ---- */

static uint64_t key_of(uint32_t host, int32_t pid)
{
    return (uint64_t)host << 32 | (uint32_t)pid;
}

static uint32_t process_of(struct lull_stacks *stacks, uint32_t host, int32_t pid)
{
    uint32_t number = lull_map_find(&stacks->by_pid, key_of(host, pid));
    if (number != LULL_MAP_NONE) {
        return number;
    }
    lull_vec_push(&stacks->processes, (struct process){.parent = LULL_MAP_NONE});
    number = (uint32_t)stacks->processes.count - 1;
    lull_map_insert(&stacks->by_pid, key_of(host, pid), number);
    return number;
}

/* Until the next process shows up. */
static struct process *process_at(struct lull_stacks *stacks, uint32_t host, int32_t pid)
{
    const uint32_t number = process_of(stacks, host, pid);
    return &stacks->processes.items[number];
}

/* The first mapping that ends after the address. */
static size_t find(const struct process *process, uint64_t address)
{
    return LULL_LOWER_BOUND(i, process->mappings.count, process->mappings.items[i].end <= address);
}

/* Replaces `gone` mappings from `at` on with `n` others. */
static void replace(struct process *process, size_t at, size_t gone, const struct mapping *with,
                    size_t n)
{
    size_t behind = process->mappings.count - at - gone;
    if (n > gone && process->mappings.count + n - gone > MOST_MAPPINGS) {
        return;
    }
    lull_vec_reserve(&process->mappings, n);
    struct mapping *items = process->mappings.items + at;
    if (behind > 0 && n != gone) {
        memmove(items + n, items + gone, behind * sizeof *items);
    }
    memcpy(items, with, n * sizeof *items);
    process->mappings.count = at + n + behind;
}

void lull_stacks_set_here(struct lull_stacks *stacks, uint32_t host)
{
    stacks->here = host;
}

static struct names *names_of(struct lull_stacks *stacks, uint32_t host)
{
    struct names *names = g_hash_table_lookup(stacks->names, GUINT_TO_POINTER(host));
    if (!names) {
        names = g_new0(struct names, 1);
        names->build_ids = g_ptr_array_new();
        g_hash_table_insert(stacks->names, GUINT_TO_POINTER(host), names);
    }
    return names;
}

void lull_stacks_set_recording(struct lull_stacks *stacks, uint32_t host,
                               struct lull_recording_file *recording)
{
    struct names *names = names_of(stacks, host);
    lull_recording_unref(names->recording);
    names->recording = names->n_recordings++ == 0 ? lull_recording_ref(recording) : NULL;
}

void lull_stacks_set_build_ids(struct lull_stacks *stacks, uint32_t host, GHashTable *build_ids)
{
    g_ptr_array_add(names_of(stacks, host)->build_ids, build_ids);
}

/* NULL: it is not known; "": there were several. */
static const char *build_id_of(const struct names *names, const char *path)
{
    const char *id = NULL;
    for (guint i = 0; i < names->build_ids->len; i++) {
        const char *other = g_hash_table_lookup(names->build_ids->pdata[i], path);
        id = !id || g_strcmp0(id, other) == 0 ? other : other ? "" : id;
    }
    return id;
}

static struct object *object_of(struct lull_stacks *stacks, uint32_t host, int32_t pid,
                                struct lull_text path, uint64_t inode, bool is_image, int64_t t)
{
    g_autofree char *name = g_strndup(path.data, path.length);
    pid = !is_image && lull_perf_map_is_for(name) ? pid : 0;
    g_autofree char *key =
        g_strdup_printf("%" G_GUINT32_FORMAT " %d %d %s", host, pid, is_image, name);
    struct object *object = g_hash_table_lookup(stacks->objects, key);
    if (!object) {
        object = g_malloc0(sizeof *object + strlen(name) + 1);
        strcpy(object->path, name);
        object->inode = inode;
        object->pid = pid;
        object->is_image = is_image;
        object->mapped_ns = t;
        g_hash_table_insert(stacks->objects, g_steal_pointer(&key), object);
    } else if (object->inode != inode) {
        object->inode = 0;
    }
    object->mapped_ns = MIN(object->mapped_ns, t);
    return object;
}

/* Puts [address, address + length) of the object into a process, in place of what was there. */
static void map(struct process *process, struct object *object, uint64_t address, uint64_t length,
                uint64_t offset)
{
    struct mapping parts[3];
    size_t n = 0;
    size_t at = find(process, address), end = at;
    while (end < process->mappings.count && process->mappings.items[end].start < address + length) {
        end++;
    }
    if (end > at && process->mappings.items[at].start < address) {
        parts[n] = process->mappings.items[at];
        parts[n++].end = address;
    }
    parts[n++] = (struct mapping){address, address + length, offset, object};
    if (end > at && process->mappings.items[end - 1].end > address + length) {
        parts[n] = process->mappings.items[end - 1];
        parts[n].offset += address + length - parts[n].start;
        parts[n++].start = address + length;
    }
    replace(process, at, end - at, parts, n);
}

void lull_stacks_map(struct lull_stacks *stacks, uint32_t host, int32_t pid, uint64_t address,
                     uint64_t length, uint64_t offset, struct lull_text path, uint64_t inode,
                     int64_t t)
{
    if (length == 0 || length > UINT64_MAX - address) {
        return;
    }
    struct object *object = object_of(stacks, host, pid, path, inode, false, t);
    if (object->pid) { /* such places are known by their addresses */
        offset = address;
    }
    object->is_kernel = pid < 0;
    object->start = address;
    map(process_at(stacks, host, pid), object, address, length, offset);
}

void lull_stacks_map_image(struct lull_stacks *stacks, uint32_t host, int32_t pid, uint64_t address,
                           uint64_t length, bool is_pic, struct lull_text path, int64_t t)
{
    if (length > 0 && length <= UINT64_MAX - address) {
        map(process_at(stacks, host, pid), object_of(stacks, host, pid, path, 0, true, t), address,
            length, is_pic ? 0 : address);
    }
}

/* The mapping that starts at the address; its index, or none. */
static bool find_start(const struct process *process, uint64_t address, size_t *at)
{
    *at = find(process, address);
    return *at < process->mappings.count && process->mappings.items[*at].start == address;
}

void lull_stacks_identify(struct lull_stacks *stacks, uint32_t host, int32_t pid, uint64_t address,
                          struct lull_text id)
{
    enum { MOST_ID_BYTES = 64 };
    struct process *process = process_at(stacks, host, pid);
    size_t at;
    if (!find_start(process, address, &at) || id.length == 0 || id.length > MOST_ID_BYTES ||
        !process->mappings.items[at].object->is_image) {
        return;
    }
    struct object *object = process->mappings.items[at].object;
    char digits[2 * MOST_ID_BYTES + 1];
    for (uint32_t i = 0; i < id.length; i++) {
        g_snprintf(&digits[(size_t)2 * i], 3, "%02x", (uint8_t)id.data[i]);
    }
    if (!object->build_id || strcmp(object->build_id, digits) != 0) {
        char *kept = g_strdup(object->build_id ? "" : digits);
        g_free(object->build_id);
        object->build_id = kept;
    }
}

void lull_stacks_unmap(struct lull_stacks *stacks, uint32_t host, int32_t pid, uint64_t address)
{
    struct process *process = process_at(stacks, host, pid);
    size_t at;
    if (find_start(process, address, &at)) {
        replace(process, at, 1, &process->mappings.items[at], 0);
    }
}

void lull_stacks_fork(struct lull_stacks *stacks, uint32_t host, int32_t parent, int32_t child)
{
    if (parent == child) {
        return;
    }
    uint32_t from = process_of(stacks, host, parent), to = process_of(stacks, host, child);
    stacks->processes.items[to].mappings.count = 0; /* of another that had its number */
    stacks->processes.items[to].parent = from;
}

void lull_stacks_exec(struct lull_stacks *stacks, uint32_t host, int32_t pid)
{
    uint32_t number = process_of(stacks, host, pid);
    struct process *process = &stacks->processes.items[number];
    process->mappings.count = 0;
    process->parent = LULL_MAP_NONE;
}

/* ---- chains ---- */

static struct lull_frame frame_of(const struct lull_stacks *stacks, uint32_t process,
                                  uint64_t address)
{
    for (unsigned i = 0; process != LULL_MAP_NONE && i < MOST_FORKS; i++) {
        const struct process *p = &stacks->processes.items[process];
        size_t at = find(p, address);
        if (at < p->mappings.count && p->mappings.items[at].start <= address) {
            const struct mapping *mapping = &p->mappings.items[at];
            return (struct lull_frame){.object = mapping->object->path,
                                       .offset = address - mapping->start + mapping->offset};
        }
        process = p->parent;
    }
    return (struct lull_frame){.offset = address};
}

static uint64_t hash_of(const struct lull_frame *frames, uint32_t n)
{
    uint64_t hash = n;
    for (uint32_t i = 0; i < n; i++) {
        hash = (hash ^ (uint64_t)(uintptr_t)frames[i].object) * UINT64_C(0x9e3779b97f4a7c15);
        hash = ((hash ^ hash >> 29) ^ frames[i].offset) * UINT64_C(0xbf58476d1ce4e5b9);
    }
    return hash ^ hash >> 32;
}

static bool is_same(const struct lull_frame *a, const struct lull_frame *b, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        if (a[i].object != b[i].object || a[i].offset != b[i].offset) {
            return false;
        }
    }
    return true;
}

/* The chain of the frames from `first` on; they stay only if there is none like it. */
static uint32_t keep_once(struct lull_stacks *stacks, uint32_t host, size_t first)
{
    const struct lull_frame *frames = stacks->frames.items + first;
    uint32_t n = (uint32_t)(stacks->frames.count - first);
    uint64_t hash = hash_of(frames, n);
    uint32_t head = lull_map_find(&stacks->by_hash, hash);
    for (uint32_t i = head; i != LULL_NO_CHAIN; i = stacks->chains.items[i].next) {
        const struct chain *chain = &stacks->chains.items[i];
        if (chain->n == n && chain->host == host &&
            is_same(stacks->frames.items + chain->first, frames, n)) {
            stacks->frames.count = first;
            return i;
        }
    }
    lull_vec_push(&stacks->chains,
                  (struct chain){.first = first, .n = n, .host = host, .next = head});
    lull_map_insert(&stacks->by_hash, hash, (uint32_t)stacks->chains.count - 1);
    return (uint32_t)stacks->chains.count - 1;
}

uint32_t lull_stacks_chain(struct lull_stacks *stacks, uint32_t host, int32_t pid,
                           struct lull_text addresses)
{
    uint32_t user = lull_map_find(&stacks->by_pid, key_of(host, pid));
    uint32_t kernel = lull_map_find(&stacks->by_pid, key_of(host, -1));
    size_t first = stacks->frames.count;
    for (uint32_t at = 0; at + 8 <= addresses.length; at += 8) {
        uint64_t address;
        memcpy(&address, addresses.data + at, sizeof address);
        if (address >= FIRST_MARK || address == 0) {
            continue;
        }
        if (stacks->frames.count - first >= MOST_FRAMES) {
            break;
        }
        /* The upper half is the kernel's on all machines with 64 bits. */
        lull_vec_push(&stacks->frames, frame_of(stacks, address >> 63 ? kernel : user, address));
    }
    return stacks->frames.count > first ? keep_once(stacks, host, first) : LULL_NO_CHAIN;
}

/* ---- names ---- */

/* A file of the host's recording; NULL: it has none, or there is no recording. */
static char *read_recorded(const struct names *names, const char *file, uint64_t most_bytes,
                           gsize *length)
{
    char *text = NULL;
    return names->recording && lull_location_read(names->recording->location, file, most_bytes,
                                                  &text, length, NULL)
               ? text
               : NULL;
}

static struct lull_symbol_table *find_kernel(const struct lull_stacks *stacks, uint32_t host,
                                             const struct names *names, const struct object *kernel)
{
    const char *build_id = kernel ? build_id_of(names, kernel->path) : NULL;
    return build_id               ? lull_here_kernel_build(build_id, kernel->start)
           : host == stacks->here ? lull_here_kernel()
                                  : NULL;
}

static const char *name_in_kernel(struct lull_stacks *stacks, uint32_t host,
                                  const struct object *kernel, uint64_t address, uint64_t *offset)
{
    struct names *names = names_of(stacks, host);
    if (!names->has_read_kernel) {
        gsize length, length_of_modules;
        g_autofree char *text =
            read_recorded(names, LULL_RECORDING_KERNEL, MOST_KALLSYMS_BYTES, &length);
        g_autofree char *modules =
            read_recorded(names, LULL_RECORDING_MODULES, MOST_KALLSYMS_BYTES, &length_of_modules);
        names->has_read_kernel = true;
        names->kernel = text ? lull_kallsyms_parse(text, length, modules) : NULL;
        if (!names->kernel) {
            names->kernel = find_kernel(stacks, host, names, kernel);
        }
    }
    return names->kernel ? lull_symbol_table_find(names->kernel, address, offset) : NULL;
}

/* What the recording says of the file is of when it was mapped; the file may have changed since. */
static struct lull_object *find_symbols(struct lull_stacks *stacks, uint32_t host,
                                        const struct object *object)
{
    struct names *names = names_of(stacks, host);
    if (!names->has_read_files) {
        gsize length;
        char *text = read_recorded(names, LULL_RECORDING_SYMBOLS, MOST_SYMBOLS_BYTES, &length);
        names->has_read_files = true;
        names->files = text ? lull_saved_new(text, length) : NULL;
    }
    if (object->pid) {
        g_autofree char *map = lull_perf_map_name(object->pid);
        return names->files ? lull_saved_read(names->files, map, (uint64_t)object->pid) : NULL;
    }
    struct lull_object *symbols = names->files && object->inode
                                      ? lull_saved_read(names->files, object->path, object->inode)
                                      : NULL;
    const char *build_id = object->build_id ? object->build_id : build_id_of(names, object->path);
    bool is_other;
    return symbols                ? symbols
           : build_id             ? lull_here_build(object->path, build_id, &is_other)
           : host == stacks->here ? lull_here_file(object->path, object->inode, object->mapped_ns)
                                  : NULL;
}

static const char *name_in_file(struct lull_stacks *stacks, uint32_t host, struct object *object,
                                uint64_t file_offset, uint64_t *offset)
{
    if (!object->is_read) {
        object->is_read = true;
        object->symbols = find_symbols(stacks, host, object);
    }
    return !object->symbols   ? NULL
           : object->is_image ? lull_symbol_table_find(object->symbols->table, file_offset, offset)
                              : lull_object_find(object->symbols, file_offset, offset);
}

/* Symbols stay where they are, so each is looked at once. */
static const char *readable_name(struct lull_stacks *stacks, const char *symbol)
{
    void *known;
    if (!g_hash_table_lookup_extended(stacks->readable, symbol, NULL, &known)) {
        known = lull_demangle(symbol);
        g_hash_table_insert(stacks->readable, (void *)symbol, known);
    }
    return known ? known : symbol;
}

/* `back` is 1 for an address to which a call returns: the call lies before it, and may be the last
 * of its function. */
static void name_frame(struct lull_stacks *stacks, uint32_t host, struct lull_frame *frame,
                       unsigned back)
{
    struct object *object =
        frame->object ? (struct object *)(frame->object - offsetof(struct object, path)) : NULL;
    const uint64_t place = frame->offset - back;
    if (!object || object->is_kernel) {
        const uint64_t start = object ? object->start : 0;
        frame->symbol = (start + place) >> 63 ? name_in_kernel(stacks, host, object, start + place,
                                                               &frame->symbol_offset)
                                              : NULL;
    } else {
        frame->symbol = name_in_file(stacks, host, object, place, &frame->symbol_offset);
    }
    if (frame->symbol) {
        frame->symbol = readable_name(stacks, frame->symbol);
        frame->symbol_offset += back;
    }
}

const struct lull_frame *lull_stacks_frames(struct lull_stacks *stacks, uint32_t chain, uint32_t *n)
{
    *n = 0;
    if (chain >= stacks->chains.count) {
        return NULL;
    }
    struct chain *it = &stacks->chains.items[chain];
    struct lull_frame *frames = stacks->frames.items + it->first;
    for (uint32_t i = 0; !it->is_named && i < it->n; i++) {
        name_frame(stacks, it->host, &frames[i], i > 0);
    }
    it->is_named = true;
    *n = it->n;
    return frames;
}
