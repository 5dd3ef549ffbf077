/* SPDX-License-Identifier: MIT */
/* Call chains, kept once each, and what processes have mapped where. */
#include "kernel/stacks_private.h"

#include <string.h>

#include "base/search.h"
#include "source/files/recording.h"
#include "symbol/debuginfod.h"
#include "symbol/elf_frames.h"
#include "symbol/jitdump.h"
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
#define VDSO_32 "[vdso32]"

static void free_object(void *data)
{
    struct object *object = data;
    stacks_drop_lines(object);
    lull_jitdump_free(object->jitdump);
    lull_object_free(object->symbols);
    lull_object_free(object->frames);
    g_free(object->build_id);
    g_free(object);
}

static void free_names(void *data)
{
    struct names *names = data;
    g_ptr_array_unref(names->build_ids);
    lull_recording_unref(names->recording);
    stacks_drop_kernel(names);
    lull_saved_free(names->files);
    g_free(names);
}

struct lull_stacks *lull_stacks_new(void)
{
    struct lull_stacks *stacks = g_new0(struct lull_stacks, 1);
    stacks->objects = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, free_object);
    stacks->names = g_hash_table_new_full(NULL, NULL, NULL, free_names);
    stacks->readable = g_hash_table_new_full(NULL, NULL, NULL, g_free);
    stacks->texts = g_string_chunk_new(1024);
    stacks->here = LULL_MAP_NONE;
    return stacks;
}

/* The room before the first mapping is behind the last one then. */
static void take_spare(struct process *process)
{
    if (process->spare == 0) { /* perhaps it has no mappings yet */
        return;
    }
    struct mapping *items = process->mappings.items - process->spare;
    memmove(items, process->mappings.items, process->mappings.count * sizeof *items);
    process->mappings.items = items;
    process->mappings.capacity += process->spare;
    process->spare = 0;
}

void lull_stacks_free(struct lull_stacks *stacks)
{
    if (!stacks) {
        return;
    }
    for (size_t i = 0; i < stacks->processes.count; i++) {
        take_spare(&stacks->processes.items[i]);
        lull_vec_free(&stacks->processes.items[i].mappings);
    }
    lull_vec_free(&stacks->processes);
    for (size_t i = 0; i < stacks->chains.count; i++) {
        stacks_drop_split(stacks->chains.items[i].split);
    }
    lull_vec_free(&stacks->frames);
    lull_vec_free(&stacks->chains);
    lull_map_free(&stacks->by_pid);
    lull_map_free(&stacks->by_hash);
    g_hash_table_unref(stacks->objects);
    g_hash_table_unref(stacks->names);
    g_hash_table_unref(stacks->readable);
    g_string_chunk_free(stacks->texts);
    lull_debuginfod_free(stacks->servers);
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

/* Makes room for `extra` more, before the first or behind the last. */
static void make_room(struct process *process, size_t extra, bool is_before)
{
    size_t room = process->mappings.capacity - process->mappings.count;
    if (is_before ? process->spare >= extra : room >= extra) {
        return;
    }
    take_spare(process);
    room =
        is_before ? process->mappings.count + extra : 0; /* as much as there is, so that it lasts */
    lull_vec_reserve(&process->mappings, room + extra);
    struct mapping *items = process->mappings.items;
    memmove(items + room, items, process->mappings.count * sizeof *items);
    process->mappings.items = items + room;
    process->mappings.capacity -= room;
    process->spare = room;
}

/* Replaces `gone` mappings from `at` on with `n` others; of those around them the fewer move. */
static void replace(struct process *process, size_t at, size_t gone, const struct mapping *with,
                    size_t n)
{
    size_t behind = process->mappings.count - at - gone;
    if (n > gone && process->mappings.count + n - gone > MOST_MAPPINGS) {
        return;
    }
    const bool is_before = n > gone && at < behind;
    make_room(process, n, is_before);
    struct mapping *items = process->mappings.items;
    if (is_before) {
        items -= n - gone;
        memmove(items, process->mappings.items, at * sizeof *items);
        process->mappings.items = items;
        process->mappings.capacity += n - gone;
        process->spare -= n - gone;
    } else if (behind > 0 && n != gone) {
        memmove(items + at + n, items + at + gone, behind * sizeof *items);
    }
    memcpy(items + at, with, n * sizeof *items);
    process->mappings.count = at + n + behind;
}

void lull_stacks_set_here(struct lull_stacks *stacks, uint32_t host)
{
    stacks->here = host;
}

void lull_stacks_set_session(struct lull_stacks *stacks, const struct lull_session *session)
{
    stacks->session = session;
}

void lull_stacks_set_wishes(struct lull_stacks *stacks, const struct lull_symbol_wishes *wishes)
{
    stacks->wishes = wishes;
    if (wishes && wishes->wants_servers && !stacks->servers) {
        stacks->servers = lull_debuginfod_new();
    }
}

struct names *stacks_names_of(struct lull_stacks *stacks, uint32_t host)
{
    struct names *names = g_hash_table_lookup(stacks->names, GUINT_TO_POINTER(host));
    if (!names) {
        names = g_new0(struct names, 1);
        names->build_ids = g_ptr_array_new();
        g_hash_table_insert(stacks->names, GUINT_TO_POINTER(host), names);
    }
    return names;
}

void lull_stacks_set_clock(struct lull_stacks *stacks, uint32_t host, int64_t offset_ns)
{
    stacks_names_of(stacks, host)->clock_offset_ns = offset_ns;
}

void lull_stacks_set_recording(struct lull_stacks *stacks, uint32_t host,
                               struct lull_recording_file *recording)
{
    struct names *names = stacks_names_of(stacks, host);
    lull_recording_unref(names->recording);
    names->recording = names->n_recordings++ == 0 ? lull_recording_ref(recording) : NULL;
}

void lull_stacks_set_build_ids(struct lull_stacks *stacks, uint32_t host, GHashTable *build_ids)
{
    g_ptr_array_add(stacks_names_of(stacks, host)->build_ids, build_ids);
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
    const bool is_vdso =
        path.length == strlen(LULL_VDSO) && memcmp(path.data, LULL_VDSO, path.length) == 0;
    if (is_vdso && address >> 32 == 0) { /* of a program of 32 bits, which has another */
        path = (struct lull_text){VDSO_32, strlen(VDSO_32)};
    }
    struct object *object = object_of(stacks, host, pid, path, inode, false, t);
    if (object->pid) { /* such places are known by their addresses */
        offset = address;
    }
    object->is_kernel = pid < 0;
    object->start = address;
    struct process *process = process_at(stacks, host, pid);
    object->is_jitdump = !object->is_kernel && lull_jitdump_is_name(object->path, NULL);
    if (object->is_jitdump) {
        process->jitdump = object;
    }
    map(process, object, address, length, offset);
}

void lull_stacks_map_image(struct lull_stacks *stacks, uint32_t host, int32_t pid, uint64_t address,
                           uint64_t length, bool is_pic, struct lull_text path, uint64_t inode,
                           int64_t t)
{
    if (length > 0 && length <= UINT64_MAX - address) {
        struct object *object = object_of(stacks, host, pid, path, inode, true, t);
        object->is_relative = is_pic;
        map(process_at(stacks, host, pid), object, address, length, is_pic ? 0 : address);
    }
}

void lull_stacks_map_data(struct lull_stacks *stacks, uint32_t host, int32_t pid, uint64_t address,
                          uint64_t length)
{
    if (length == 0 || length > UINT64_MAX - address) {
        return;
    }
    struct process *process = process_at(stacks, host, pid);
    const size_t at = find(process, address);
    const bool is_free =
        at == process->mappings.count || process->mappings.items[at].start >= address + length;
    if (!is_free || process->parent != LULL_MAP_NONE) {
        map(process, NULL, address, length, 0);
    }
}

/* The mapping that starts at the address; its index, or none. */
static bool find_start(const struct process *process, uint64_t address, size_t *at)
{
    *at = find(process, address);
    return *at < process->mappings.count && process->mappings.items[*at].start == address &&
           process->mappings.items[*at].object;
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
    stacks->processes.items[to].jitdump = NULL;
    stacks->processes.items[to].parent = from;
}

void lull_stacks_exec(struct lull_stacks *stacks, uint32_t host, int32_t pid)
{
    uint32_t number = process_of(stacks, host, pid);
    struct process *process = &stacks->processes.items[number];
    process->mappings.count = 0;
    process->jitdump = NULL;
    process->parent = LULL_MAP_NONE;
}

/* ---- chains ---- */

uint32_t stacks_process(const struct lull_stacks *stacks, uint32_t host, int32_t pid)
{
    return lull_map_find(&stacks->by_pid, key_of(host, pid));
}

/* What the process itself has there, or NULL. */
static const struct mapping *mapping_of(const struct process *process, uint64_t address)
{
    const size_t at = find(process, address);
    const bool is_mapped =
        at < process->mappings.count && process->mappings.items[at].start <= address;
    return is_mapped ? &process->mappings.items[at] : NULL;
}

const struct mapping *stacks_mapping_at(const struct lull_stacks *stacks, uint32_t process,
                                        uint64_t address)
{
    for (unsigned i = 0; process != LULL_MAP_NONE && i < MOST_FORKS; i++) {
        const struct process *p = &stacks->processes.items[process];
        const struct mapping *mapping = mapping_of(p, address);
        if (mapping) {
            return mapping->object ? mapping : NULL;
        }
        process = p->parent;
    }
    return NULL;
}

bool lull_stacks_knows(const struct lull_stacks *stacks, uint32_t host, int32_t pid,
                       uint64_t address)
{
    return address >> 63 ||
           stacks_mapping_at(stacks, stacks_process(stacks, host, pid), address) != NULL;
}

/* An address, and when it was that of the code. */
struct place {
    uint64_t address, time; /* on the host's own clock; UINT64_MAX: not known */
    uint32_t host;
};

/* Memory that is of no file, or that nothing is known of, may be of code that the program made. */
static bool find_made(const struct lull_stacks *stacks, const struct process *process,
                      const struct object *object, struct place place, struct lull_frame *frame)
{
    uint64_t offset;
    if (!process->jitdump || place.time == UINT64_MAX || (object && !object->pid) ||
        !stacks_find_made(stacks, place.host, process->jitdump, place.address, place.time,
                          &offset)) {
        return false;
    }
    *frame = (struct lull_frame){.object = process->jitdump->path, .offset = offset};
    return true;
}

static struct lull_frame frame_of(const struct lull_stacks *stacks, uint32_t process,
                                  struct place place)
{
    struct lull_frame frame = {.offset = place.address};
    for (unsigned i = 0; process != LULL_MAP_NONE && i < MOST_FORKS; i++) {
        const struct process *p = &stacks->processes.items[process];
        const struct mapping *mapping = mapping_of(p, place.address);
        if (find_made(stacks, p, mapping ? mapping->object : NULL, place, &frame)) {
            break;
        }
        if (mapping && mapping->object) {
            frame.object = mapping->object->path;
            frame.offset = place.address - mapping->start + mapping->offset;
        }
        process = mapping ? LULL_MAP_NONE : p->parent;
    }
    return frame;
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
                           struct lull_text addresses, int64_t t)
{
    const struct names *names = g_hash_table_lookup(stacks->names, GUINT_TO_POINTER(host));
    struct place place = {.time = UINT64_MAX, .host = host};
    if (t != INT64_MIN) {
        place.time = (uint64_t)t - (uint64_t)(names ? names->clock_offset_ns : 0);
    }
    uint32_t user = stacks_process(stacks, host, pid);
    uint32_t kernel = stacks_process(stacks, host, -1);
    size_t first = stacks->frames.count;
    for (uint32_t at = 0; at + 8 <= addresses.length; at += 8) {
        memcpy(&place.address, addresses.data + at, sizeof place.address);
        const uint64_t address = place.address;
        if (address >= FIRST_MARK || address == 0) {
            continue;
        }
        if (stacks->frames.count - first >= MOST_FRAMES) {
            break;
        }
        /* The upper half is the kernel's on all machines with 64 bits. */
        lull_vec_push(&stacks->frames, frame_of(stacks, address >> 63 ? kernel : user, place));
    }
    return stacks->frames.count > first ? keep_once(stacks, host, first) : LULL_NO_CHAIN;
}
