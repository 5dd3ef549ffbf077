/* SPDX-License-Identifier: MIT */
/* What each allocation and free does to the blocks of its process.
 *
 * A realloc is recorded after it moved its block. Meanwhile another thread can be given the old
 * address, and have that recorded first: the block that is found there is displaced. The realloc of a
 * thread that recorded nothing since takes that one, and leaves the new one alone. If none does, a
 * free was lost. */
#include "calls/heap.h"

#include "base/map.h"
#include "base/sums.h"
#include "base/vec.h"
#include "calls/blocks.h"

/* Blocks that were copied for child processes, in all: as many bytes as such a trace may cost. */
#define MOST_COPIED (UINT64_C(1) << 23)

/* Blocks at whose address others were allocated. */
struct displaced {
    uint32_t count;
    uint64_t number; /* of the event that did it last */
};

struct process {
    struct lull_heap_process public;
    struct lull_blocks blocks;
    struct lull_map by_address; /* of `displaced` */
    LULL_VEC(struct displaced) displaced;
    uint64_t at_peak; /* number of the event of the peak */
};

struct path {
    struct lull_heap_path public;
    uint64_t changed; /* number of the event that changed live_bytes last */
};

struct thread {
    uint64_t recent;  /* what it allocated last and did not free since; 0: nothing */
    uint64_t number;  /* of its last event */
    uint32_t process; /* then */
};

struct lull_heap {
    struct lull_model *model;
    struct lull_calls *calls;
    int64_t start_ns, end_ns;
    LULL_VEC(struct process) processes;
    LULL_VEC(struct path) paths;
    LULL_VEC(struct thread) threads;
    LULL_VEC(uint32_t) by_node;   /* path of each, or LULL_NONE */
    struct lull_map by_pid;       /* of those that run */
    struct lull_map by_functions; /* paths, by process and what was called */
    struct lull_map by_task;      /* threads */
    uint64_t number;              /* of the event */
    uint64_t n_nobodys, n_copied, n_not_copied;
};

/* ---- who ---- */

/* Where no pid is recorded, each thread is a process. */
static uint64_t key_of(uint32_t host, int32_t pid, uint32_t task)
{
    return pid > 0 ? (uint64_t)host << 32 | (uint32_t)pid : UINT64_C(1) << 63 | task;
}

static uint32_t new_process(struct lull_heap *heap, uint32_t host, int32_t pid, uint32_t task)
{
    const uint32_t number = (uint32_t)heap->processes.count;
    lull_vec_push(&heap->processes, (struct process){.public = {.host = host,
                                                                .task = task,
                                                                .pid = pid > 0 ? pid : -1,
                                                                .peak_ns = INT64_MIN}});
    lull_map_insert(&heap->by_pid, key_of(host, pid, task), number);
    return number;
}

static struct thread *thread_of(struct lull_heap *heap, const struct lull_heap_fact *fact)
{
    uint32_t number = lull_map_find(&heap->by_task, fact->task);
    if (number == LULL_MAP_NONE) {
        number = (uint32_t)heap->threads.count;
        lull_vec_push(&heap->threads, (struct thread){.process = LULL_NONE});
        lull_map_insert(&heap->by_task, fact->task, number);
    }
    struct thread *thread = &heap->threads.items[number];
    const uint32_t process =
        lull_map_find(&heap->by_pid, key_of(fact->host, fact->pid, fact->task));
    if (thread->process != process || process == LULL_MAP_NONE) {
        thread->recent = 0;
        thread->process = process != LULL_MAP_NONE
                              ? process
                              : new_process(heap, fact->host, fact->pid, fact->task);
    }
    return thread;
}

/* ---- where ---- */

/* Threads of a process that called the same are on one path. */
static uint64_t hash_path(const struct lull_calls *calls, uint32_t process, uint32_t node)
{
    uint64_t hash = process;
    for (; node != LULL_NONE; node = lull_calls_node(calls, node)->parent) {
        const uint32_t number = lull_calls_node(calls, node)->function;
        if (number != LULL_NONE) {
            const struct lull_calls_function *function = lull_calls_function(calls, number);
            const uint64_t words[] = {function->key,
                                      (uint64_t)function->generation << 8 | function->layer};
            for (size_t i = 0; i < G_N_ELEMENTS(words); i++) {
                hash = (hash ^ words[i]) * UINT64_C(0x9e3779b97f4a7c15);
                hash ^= hash >> 32;
            }
        }
    }
    return hash;
}

static uint32_t path_of(struct lull_heap *heap, uint32_t process, uint32_t node)
{
    while (heap->by_node.count <= node) {
        lull_vec_push(&heap->by_node, LULL_NONE);
    }
    uint32_t number = heap->by_node.items[node];
    if (number != LULL_NONE && heap->paths.items[number].public.process == process) {
        return number;
    }
    const uint64_t hash = hash_path(heap->calls, process, node);
    number = lull_map_find(&heap->by_functions, hash);
    if (number == LULL_MAP_NONE) {
        number = (uint32_t)heap->paths.count;
        lull_vec_push(&heap->paths, (struct path){.public = {.process = process, .node = node}});
        lull_map_insert(&heap->by_functions, hash, number);
    }
    return heap->by_node.items[node] = number;
}

/* ---- blocks ---- */

/* Before the bytes of a path change: what they were at the peak, if that was since the last change. */
static void keep_peak(const struct lull_heap *heap, const struct process *process,
                      struct path *path)
{
    if (path->changed <= process->at_peak) {
        path->public.at_peak_bytes = path->public.sums.live_bytes;
    }
    path->changed = heap->number;
}

static void grow(struct lull_heap_sums *sums, uint64_t bytes)
{
    sums->allocations++;
    lull_add_unsigned(&sums->bytes, bytes);
    sums->live_blocks++;
    sums->live_bytes += bytes;
    sums->peak_bytes = MAX(sums->peak_bytes, sums->live_bytes);
}

static void shrink(struct lull_heap_sums *sums, uint64_t bytes, bool is_temporary)
{
    sums->live_blocks--;
    sums->live_bytes -= bytes;
    sums->temporary += is_temporary;
}

static void count_end(struct lull_heap *heap, struct process *process,
                      const struct lull_block *block, bool is_temporary)
{
    if (block->path != LULL_NONE) {
        struct path *path = &heap->paths.items[block->path];
        keep_peak(heap, process, path);
        shrink(&path->public.sums, block->bytes, is_temporary);
        shrink(&process->public.sums, block->bytes, is_temporary);
    }
}

static void displace(struct lull_heap *heap, struct process *process, uint64_t address)
{
    uint32_t number = lull_map_find(&process->by_address, address);
    if (number == LULL_MAP_NONE) {
        number = (uint32_t)process->displaced.count;
        lull_vec_push(&process->displaced, (struct displaced){0});
        lull_map_insert(&process->by_address, address, number);
    }
    process->displaced.items[number].count++;
    process->displaced.items[number].number = heap->number;
    process->public.lost_frees++;
}

/* Whether a realloc of this thread moved a block that was displaced. */
static bool claim(struct process *process, const struct thread *thread, uint64_t address)
{
    const uint32_t number = lull_map_find(&process->by_address, address);
    if (number == LULL_MAP_NONE || process->displaced.items[number].count == 0 ||
        thread->number >= process->displaced.items[number].number) {
        return false;
    }
    process->displaced.items[number].count--;
    process->public.lost_frees--;
    return true;
}

static bool counts(const struct lull_heap *heap, const struct lull_heap_fact *fact)
{
    return fact->time_ns >= heap->start_ns && fact->time_ns < heap->end_ns;
}

static void begin(struct lull_heap *heap, struct thread *thread, const struct lull_heap_fact *fact)
{
    struct process *process = &heap->processes.items[thread->process];
    const uint64_t bytes = MIN(fact->bytes, LULL_BLOCK_MOST_BYTES);
    struct lull_block before;
    uint32_t number = LULL_NONE;
    if (lull_blocks_take(&process->blocks, fact->address, &before)) {
        count_end(heap, process, &before, false);
        displace(heap, process, fact->address);
    }
    if (counts(heap, fact)) {
        number = path_of(heap, thread->process,
                         lull_calls_where(heap->calls, fact->task, fact->host, fact->pid,
                                          fact->time_ns, fact->caller ? fact->caller - 1 : 0));
    }
    if (!lull_blocks_add(&process->blocks, (struct lull_block){.address = fact->address,
                                                               .bytes = bytes,
                                                               .thread = fact->task & 0xffff,
                                                               .path = number})) {
        number = LULL_NONE;
    }
    thread->recent = fact->address;
    if (number != LULL_NONE) {
        struct path *path = &heap->paths.items[number];
        keep_peak(heap, process, path);
        const uint64_t peak_bytes = process->public.sums.peak_bytes;
        grow(&path->public.sums, bytes);
        grow(&process->public.sums, bytes);
        if (process->public.sums.peak_bytes > peak_bytes) {
            process->at_peak = heap->number;
            process->public.peak_ns = fact->time_ns;
        }
    }
}

static void end(struct lull_heap *heap, struct thread *thread, const struct lull_heap_fact *fact)
{
    struct process *process = &heap->processes.items[thread->process];
    struct lull_block block;
    const bool is_recent = thread->recent == fact->old;
    thread->recent = is_recent ? 0 : thread->recent;
    if (fact->step == LULL_HEAP_REALLOC && claim(process, thread, fact->old)) {
        return;
    }
    if (lull_blocks_take(&process->blocks, fact->old, &block)) {
        count_end(heap, process, &block,
                  is_recent && block.thread == (fact->task & 0xffff) && !fact->address);
    } else if (counts(heap, fact)) {
        process->public.unknown_frees++;
    }
}

static void on_heap(void *user, const struct lull_heap_fact *fact)
{
    struct lull_heap *heap = user;
    if (fact->task == LULL_NONE) {
        heap->n_nobodys++;
        return;
    }
    heap->number++;
    struct thread *thread = thread_of(heap, fact);
    const bool has_failed = fact->address == 0 && fact->bytes > 0;
    if (fact->old && (fact->step == LULL_HEAP_FREE || !has_failed)) {
        end(heap, thread, fact);
    }
    if (fact->address) {
        begin(heap, thread, fact);
    } else if (has_failed && counts(heap, fact)) {
        heap->processes.items[thread->process].public.failed++;
    }
    thread->number = heap->number;
}

/* ---- lives of processes ---- */

/* Its program is gone, and its memory; what of that was not freed stays counted. */
static void end_process(struct lull_heap *heap, uint32_t host, int32_t pid)
{
    const uint64_t key = key_of(host, pid, 0);
    const uint32_t number = pid > 0 ? lull_map_remove(&heap->by_pid, key) : LULL_MAP_NONE;
    if (number != LULL_MAP_NONE) {
        struct process *process = &heap->processes.items[number];
        heap->n_copied -= MIN(heap->n_copied, process->public.inherited_blocks);
        lull_blocks_free(&process->blocks);
        lull_map_free(&process->by_address);
        lull_vec_free(&process->displaced);
    }
}

static void forked(struct lull_heap *heap, const struct lull_function_fact *fact)
{
    const struct lull_task *parent = lull_model_task(heap->model, fact->parent);
    const uint32_t from =
        lull_map_find(&heap->by_pid, key_of(fact->host, parent->pid, fact->parent));
    end_process(heap, fact->host, fact->pid);
    if (from == LULL_MAP_NONE || heap->processes.items[from].blocks.n_live == 0) {
        return;
    }
    const uint64_t n = heap->processes.items[from].blocks.n_live;
    if (heap->n_copied + n > MOST_COPIED) {
        heap->n_not_copied++;
        return;
    }
    const uint32_t to = new_process(heap, fact->host, fact->pid, fact->task);
    struct process *child = &heap->processes.items[to];
    lull_blocks_copy(&child->blocks, &heap->processes.items[from].blocks, LULL_NONE);
    child->public.inherited_blocks = n;
    child->public.inherited_bytes = lull_blocks_bytes(&child->blocks);
    heap->n_copied += n;
}

static void on_function(void *user, const struct lull_function_fact *fact)
{
    struct lull_heap *heap = user;
    if (fact->step == LULL_FUNCTION_FORK) {
        forked(heap, fact);
    } else if (fact->step == LULL_FUNCTION_EXEC) {
        end_process(heap, fact->host, fact->pid);
    }
}

/* Copies go with a process that never did anything to them; what others had at their end is asked for
 * later. */
static void on_state(void *user, const struct lull_state_fact *fact)
{
    struct lull_heap *heap = user;
    const struct lull_task *task = lull_model_task(heap->model, fact->task);
    if (fact->next != LULL_STATE_NONE || !task->is_dead || task->pid <= 0 ||
        task->pid != task->tid) {
        return;
    }
    const uint32_t number = lull_map_find(&heap->by_pid, key_of(task->host, task->pid, LULL_NONE));
    if (number != LULL_MAP_NONE && !lull_heap_process_did(lull_heap_process(heap, number))) {
        end_process(heap, task->host, task->pid);
    }
}

/* ---- the whole ---- */

struct lull_heap *lull_heap_new(struct lull_model *model, struct lull_calls *calls,
                                int64_t start_ns, int64_t end_ns)
{
    static const struct lull_facts facts = {
        .heap = on_heap, .function = on_function, .state = on_state};
    struct lull_heap *heap = g_new0(struct lull_heap, 1);
    heap->model = model;
    heap->calls = calls;
    heap->start_ns = start_ns;
    heap->end_ns = end_ns;
    lull_model_subscribe(model, &facts, heap);
    return heap;
}

void lull_heap_free(struct lull_heap *heap)
{
    if (!heap) {
        return;
    }
    for (size_t i = 0; i < heap->processes.count; i++) {
        struct process *process = &heap->processes.items[i];
        lull_blocks_free(&process->blocks);
        lull_map_free(&process->by_address);
        lull_vec_free(&process->displaced);
    }
    lull_vec_free(&heap->processes);
    lull_vec_free(&heap->paths);
    lull_vec_free(&heap->threads);
    lull_vec_free(&heap->by_node);
    lull_map_free(&heap->by_pid);
    lull_map_free(&heap->by_functions);
    lull_map_free(&heap->by_task);
    g_free(heap);
}

uint32_t lull_heap_process_count(const struct lull_heap *heap)
{
    return (uint32_t)heap->processes.count;
}

const struct lull_heap_process *lull_heap_process(const struct lull_heap *heap, uint32_t process)
{
    return &heap->processes.items[process].public;
}

uint32_t lull_heap_path_count(const struct lull_heap *heap)
{
    return (uint32_t)heap->paths.count;
}

struct lull_heap_path lull_heap_path(const struct lull_heap *heap, uint32_t number)
{
    const struct path *path = &heap->paths.items[number];
    struct lull_heap_path public = path->public;
    if (path->changed <= heap->processes.items[public.process].at_peak) {
        public.at_peak_bytes = public.sums.live_bytes;
    }
    return public;
}

uint64_t lull_heap_weigh(const struct lull_heap_sums *sums, uint64_t at_peak_bytes,
                         enum lull_heap_weight weight)
{
    return weight == LULL_HEAP_LIVE          ? sums->live_bytes
           : weight == LULL_HEAP_PEAK        ? at_peak_bytes
           : weight == LULL_HEAP_ALLOCATED   ? sums->bytes
           : weight == LULL_HEAP_ALLOCATIONS ? sums->allocations
                                             : sums->temporary;
}

uint64_t lull_heap_nobodys(const struct lull_heap *heap)
{
    return heap->n_nobodys;
}

uint64_t lull_heap_not_copied(const struct lull_heap *heap)
{
    return heap->n_not_copied;
}
