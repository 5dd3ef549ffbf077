/* SPDX-License-Identifier: MIT */
/* A process that runs a virtual machine and a host that may be in it: for contain.c and contain_votes.c
 * only. */
#ifndef LULL_CLOCK_CONTAIN_PRIVATE_H
#define LULL_CLOCK_CONTAIN_PRIVATE_H

#include "base/search.h"
#include "clock/vcpus.h"

enum {
    BIN_NS = 50000,       /* of votes */
    MOST_CANDIDATES = 64, /* of either kind of votes */
    MOST_CPUS = 6,        /* for trying which virtual CPU is which */
};

/* A process, and what its virtual CPUs are to the guest. */
struct vm {
    const struct lull_vcpu *vcpus;
    uint32_t n;
    const struct lull_guest_times *guest;
    uint32_t of_cpu[MOST_CPUS]; /* only if it is permuted */
    bool is_permuted;
};

struct offsets {
    int64_t items[2 * MOST_CANDIDATES];
    uint32_t n;
};

/* The windows for a CPU of the guest, or NULL. */
static inline const struct lull_vcpu *contain_vcpu_for(const struct vm *vm, int32_t cpu)
{
    if (vm->is_permuted) {
        return (uint32_t)cpu < vm->n ? &vm->vcpus[vm->of_cpu[cpu]] : NULL;
    }
    const size_t i = LULL_LOWER_BOUND(k, vm->n, vm->vcpus[k].number < cpu);
    return i < vm->n && vm->vcpus[i].number == cpu ? &vm->vcpus[i] : NULL;
}

/* Each adds the offsets with most votes. is_any_cpu: any virtual CPU may be any of the guest's CPUs, which
 * are no more than those. */
void contain_vote_by_ticks(const struct vm *vm, bool is_any_cpu, struct offsets *offsets);
void contain_vote_by_pauses(const struct vm *vm, bool is_any_cpu, struct offsets *offsets);

#endif
