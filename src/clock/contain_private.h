/* SPDX-License-Identifier: MIT */
/* A process that runs a virtual machine and a host that may be in it: for contain.c and its parts
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

/* By when both ran, the guest is in the process, which is one of the host's. */
struct contain_match {
    uint32_t process, host, guest;
    bool is_alone; /* no other says that one of them is elsewhere */
};

/* Sets is_alone: a process runs one guest, and a guest runs in one process. Numbers are below n_hosts and
 * n_processes. Takes time in proportion to all three, but for guests that many processes seem to run. */
void contain_judge(struct contain_match *matches, size_t n, uint32_t n_hosts, uint32_t n_processes);

#endif
