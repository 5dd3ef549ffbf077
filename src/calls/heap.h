/* SPDX-License-Identifier: MIT */
/* What programs have allocated: each block of memory from its allocation to its end, by process and
 * address, and sums by the path of calls that allocated it. Whoever frees a block, its bytes leave
 * the path that allocated it. */
#ifndef LULL_CALLS_HEAP_H
#define LULL_CALLS_HEAP_H

#include "calls/calls.h"

/* Of what was allocated while time counts. */
struct lull_heap_sums {
    uint64_t allocations;
    uint64_t bytes;     /* of all of them */
    uint64_t temporary; /* freed by the thread that allocated, before it allocated again */
    uint64_t live_blocks, live_bytes; /* not freed */
    uint64_t peak_bytes;              /* the most at one time */
};

/* Addresses mean something in one process, until it executes another program. */
struct lull_heap_process {
    uint32_t host;
    uint32_t task; /* that was seen first in it */
    int32_t pid;   /* -1: not known; then each task is one */
    struct lull_heap_sums sums;
    int64_t peak_ns;        /* when it had most */
    uint64_t failed;        /* allocations that got nothing */
    uint64_t unknown_frees; /* of blocks of which the allocation was not recorded */
    uint64_t lost_frees;    /* blocks at whose address another one was allocated */
    uint64_t inherited_blocks,
        inherited_bytes; /* copies of its parent's; they count nowhere else */
};

/* What one path of calls has allocated in a process. */
struct lull_heap_path {
    uint32_t process;
    uint32_t node; /* of the calls; another thread on the same path has another node */
    struct lull_heap_sums sums;
    uint64_t at_peak_bytes; /* when the process had most */
};

/* By what paths are compared. */
enum lull_heap_weight {
    LULL_HEAP_LIVE, /* bytes that were not freed */
    LULL_HEAP_PEAK, /* bytes when the process had most */
    LULL_HEAP_ALLOCATED,
    LULL_HEAP_ALLOCATIONS,
    LULL_HEAP_TEMPORARY,
    LULL_HEAP_WEIGHTS
};

struct lull_heap;

/* Only what is allocated in start_ns <= t < end_ns counts; blocks from before are followed. The calls
 * are borrowed, and read the same model. */
struct lull_heap *lull_heap_new(struct lull_model *model, struct lull_calls *calls,
                                int64_t start_ns, int64_t end_ns);
void lull_heap_free(struct lull_heap *heap);

uint32_t lull_heap_process_count(const struct lull_heap *heap);
const struct lull_heap_process *lull_heap_process(const struct lull_heap *heap, uint32_t process);
uint64_t lull_heap_weigh(const struct lull_heap_sums *sums, uint64_t at_peak_bytes,
                         enum lull_heap_weight weight);
/* Whether it allocated or freed anything itself, while time counts. */
static inline bool lull_heap_process_did(const struct lull_heap_process *process)
{
    return process->sums.allocations + process->failed + process->unknown_frees > 0;
}
uint32_t lull_heap_path_count(const struct lull_heap *heap);
/* All sums are final after reading. */
struct lull_heap_path lull_heap_path(const struct lull_heap *heap, uint32_t path);
/* Allocations and frees of which no thread is known; they are left out. */
uint64_t lull_heap_nobodys(const struct lull_heap *heap);
/* Child processes that started without copies of their parents' blocks, since these are too many. */
uint64_t lull_heap_not_copied(const struct lull_heap *heap);

#endif
