/* SPDX-License-Identifier: MIT */
/* Why a task waits where its system call, if any, does not say so: for memory that is not there, because its control group has
 * more than it should, because a disk does not keep up with what it writes, for a lock of the kernel. What tasks did last is kept
 * here, as the facts report it. */
#ifndef LULL_KERNEL_FAULTS_H
#define LULL_KERNEL_FAULTS_H

#include "base/vec.h"
#include "kernel/wait_reason.h"

struct lull_fault_note {
    int64_t fault_ns; /* it used a page of a file last; INT64_MIN: never */
    int64_t dirty_ns; /* when it had written so much that it has to sleep; INT64_MIN: never */
    int64_t group_ns; /* when memory of its control group had been freed last; INT64_MIN: never */
    int64_t lock_ns;  /* since when it wants `lock` */
    uint64_t inode;
    uint64_t lock_address;
    enum lull_kernel_lock lock; /* of the kernel, which it wants; NONE: none */
    uint32_t path;              /* label of what that file is called, or LULL_NONE */
    uint32_t disk; /* label of that for which too much had been written, or LULL_NONE */
};

/* All zero: nothing is known. */
struct lull_faults {
    LULL_VEC(struct lull_fault_note) tasks;
    LULL_VEC(bool) hosts; /* whether pages of files are seen to be used there */
};

void lull_faults_paging(struct lull_faults *faults, const struct lull_paging_fact *fact);
void lull_faults_contention(struct lull_faults *faults, const struct lull_contention_fact *fact);
/* Why a task was BLOCKED: what stopped it, else its call, else the memory that it needed; only the call of whoever woke it, or
 * nothing, if none of these is known. */
struct lull_wait_reason lull_faults_reason(const struct lull_faults *faults,
                                           const struct lull_model *model,
                                           const struct lull_state_fact *fact);
/* Label of the disk of which an is_dirty reason of the task that was just given says so, or LULL_NONE. */
uint32_t lull_faults_disk(const struct lull_faults *faults, uint32_t task);
void lull_faults_free(struct lull_faults *faults);

#endif
