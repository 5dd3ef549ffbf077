/* SPDX-License-Identifier: MIT */
/* Call chains, kept once each, and what processes have mapped where. */
#include "kernel/stacks.h"

#include <string.h>

#include "base/map.h"
#include "base/search.h"
#include "base/vec.h"

/* Addresses from here on are marks: whose addresses come next. */
#define FIRST_MARK (UINT64_MAX - 4095 + 1)
/* A fork of a fork of a fork … that never executed anything. */
#define MOST_FORKS 16
/* perf keeps 127 as a rule; more are not shown to anyone. */
#define MOST_FRAMES 1024u
/* No program maps more files that hold code. What goes beyond is not taken: its addresses stay
 * numbers. */
#define MOST_MAPPINGS 16384u

struct mapping {
    uint64_t start, end, offset; /* offset: in the file, of `start` */
    const char *path;
};

struct process {
    LULL_VEC(struct mapping) mappings; /* by start, without overlap */
    uint32_t parent;                   /* whose mappings hold too, or LULL_MAP_NONE */
};

struct chain {
    size_t first;
    uint32_t n;
    uint32_t next; /* chain with the same hash, or LULL_NO_CHAIN */
};

struct lull_stacks {
    struct lull_map by_pid; /* host, pid → process */
    LULL_VEC(struct process) processes;
    LULL_VEC(struct lull_frame) frames;
    LULL_VEC(struct chain) chains;
    struct lull_map by_hash; /* → the last chain of it */
    GStringChunk *paths;
};

struct lull_stacks *lull_stacks_new(void)
{
    struct lull_stacks *stacks = g_new0(struct lull_stacks, 1);
    stacks->paths = g_string_chunk_new(4096);
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
    g_string_chunk_free(stacks->paths);
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

void lull_stacks_map(struct lull_stacks *stacks, uint32_t host, int32_t pid, uint64_t address,
                     uint64_t length, uint64_t offset, struct lull_text path)
{
    uint32_t number = process_of(stacks, host, pid);
    struct process *process = &stacks->processes.items[number];
    struct mapping parts[3];
    size_t n = 0;
    if (length == 0 || length > UINT64_MAX - address) {
        return;
    }
    size_t at = find(process, address), end = at;
    while (end < process->mappings.count && process->mappings.items[end].start < address + length) {
        end++;
    }
    if (end > at && process->mappings.items[at].start < address) {
        parts[n] = process->mappings.items[at];
        parts[n++].end = address;
    }
    g_autofree char *name = g_strndup(path.data, path.length);
    parts[n++] = (struct mapping){address, address + length, offset,
                                  g_string_chunk_insert_const(stacks->paths, name)};
    if (end > at && process->mappings.items[end - 1].end > address + length) {
        parts[n] = process->mappings.items[end - 1];
        parts[n].offset += address + length - parts[n].start;
        parts[n++].start = address + length;
    }
    replace(process, at, end - at, parts, n);
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
            return (struct lull_frame){mapping->path, address - mapping->start + mapping->offset};
        }
        process = p->parent;
    }
    return (struct lull_frame){NULL, address};
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
static uint32_t keep_once(struct lull_stacks *stacks, size_t first)
{
    const struct lull_frame *frames = stacks->frames.items + first;
    uint32_t n = (uint32_t)(stacks->frames.count - first);
    uint64_t hash = hash_of(frames, n);
    uint32_t head = lull_map_find(&stacks->by_hash, hash);
    for (uint32_t i = head; i != LULL_NO_CHAIN; i = stacks->chains.items[i].next) {
        const struct chain *chain = &stacks->chains.items[i];
        if (chain->n == n && is_same(stacks->frames.items + chain->first, frames, n)) {
            stacks->frames.count = first;
            return i;
        }
    }
    lull_vec_push(&stacks->chains, (struct chain){first, n, head});
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
    return stacks->frames.count > first ? keep_once(stacks, first) : LULL_NO_CHAIN;
}

const struct lull_frame *lull_stacks_frames(const struct lull_stacks *stacks, uint32_t chain,
                                            uint32_t *n)
{
    *n = 0;
    if (chain >= stacks->chains.count) {
        return NULL;
    }
    *n = stacks->chains.items[chain].n;
    return stacks->frames.items + stacks->chains.items[chain].first;
}
