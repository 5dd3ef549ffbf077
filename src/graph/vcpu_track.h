/* SPDX-License-Identifier: MIT */
/* What virtual CPUs did, as their hosts recorded it: in the guest, in KVM, in the program that runs
 * the virtual machine, kept from a CPU by somebody, or asleep; and, where guest and host are on one
 * clock, for which task of the guest. A virtual CPU is followed from its first entry to its last
 * exit. */
#ifndef LULL_GRAPH_VCPU_TRACK_H
#define LULL_GRAPH_VCPU_TRACK_H

#include "clock/sync.h"
#include "kernel/model.h"

enum lull_vcpu_state {
    LULL_VCPU_IN_GUEST,
    LULL_VCPU_IN_KVM,    /* on a CPU, in the kernel's part of the hypervisor */
    LULL_VCPU_IN_QEMU,   /* on a CPU, in the program's part */
    LULL_VCPU_PREEMPTED, /* without a CPU, which it had */
    LULL_VCPU_WOKEN,     /* without a CPU, after it slept */
    LULL_VCPU_HALTED,    /* asleep in KVM: the guest has nothing to do */
    LULL_VCPU_BLOCKED,   /* asleep in the program */
    LULL_VCPU_STATES
};

/* Which task is not known; LULL_NONE: idle. */
#define LULL_VCPU_UNKNOWN (LULL_NONE - 1)

/* From the host, as recorded. */
struct lull_vcpu_thread {
    uint32_t host, task;
    int64_t number;    /* as KVM counts them; -1: not reported */
    uint32_t guest;    /* whose CPU it is; LULL_NONE: not known, or not recorded */
    int32_t guest_cpu; /* -1: likewise */
};

/* A time in which nothing of this changed. If its host is a guest itself, and the virtual CPU there
 * on which it runs did not go on, state, cpu and by are that one's. */
struct lull_vcpu_piece {
    int64_t start_ns, end_ns;
    enum lull_vcpu_state state;
    bool is_entered; /* from an entry to an exit, as its host saw it */
    int32_t cpu;     /* of the host: where it ran or waits to run */
    uint32_t task;   /* who is on the CPU in the guest, or LULL_VCPU_UNKNOWN */
    uint32_t
        by; /* PREEMPTED, WOKEN: who has the CPU of the host, if it is followed; else LULL_VCPU_UNKNOWN */
    uint32_t by_vcpu; /* that task is this virtual CPU; else LULL_NONE */
    uint32_t by_task; /* and in its guest that task is on it; LULL_VCPU_UNKNOWN: not known */
};

/* Receives what a virtual CPU did from an entry to the next exit, or from an exit to the next entry:
 * n > 0 pieces without a hole. Of a guest in a guest it may come in parts: where it could not go on
 * between entry and exit, a part ends when that is over. */
typedef void lull_vcpu_take(void *user, uint32_t vcpu, const struct lull_vcpu_piece *pieces,
                            size_t n);

struct lull_vcpu_track;

/* sync: NULL: the clocks were not joined. guest_ends: by host, when its last event was; NULL: never
 * mind. Both are only needed here. */
struct lull_vcpu_track *lull_vcpu_track_new(const struct lull_model *model,
                                            const struct lull_sync *sync, uint32_t n_hosts,
                                            const int64_t *guest_ends, lull_vcpu_take *take,
                                            void *user);
void lull_vcpu_track_free(struct lull_vcpu_track *track);
/* The facts, in the order in which the model reports them. */
void lull_vcpu_track_vcpu(struct lull_vcpu_track *track, const struct lull_vcpu_fact *fact);
void lull_vcpu_track_state(struct lull_vcpu_track *track, const struct lull_state_fact *fact);
void lull_vcpu_track_switched(struct lull_vcpu_track *track, const struct lull_switch_fact *fact);
void lull_vcpu_track_lost(struct lull_vcpu_track *track, const struct lull_lost_fact *fact);

/* Those that were seen so far, in order of appearance. */
uint32_t lull_vcpu_track_count(const struct lull_vcpu_track *track);
const struct lull_vcpu_thread *lull_vcpu_track_thread(const struct lull_vcpu_track *track,
                                                      uint32_t vcpu);
/* The number of the virtual CPU whose thread that task is, or LULL_NONE. */
uint32_t lull_vcpu_track_find(const struct lull_vcpu_track *track, uint32_t task);

/* How often one waited for a CPU for which 64 waited already: that is not followed to who had the CPU. Nobody
 * has that many but who makes them up, and it would take the square of their number. */
uint64_t lull_vcpu_track_unfollowed(const struct lull_vcpu_track *track);

/* Up to some time. */
struct lull_vcpu_stolen {
    int64_t ns; /* in which it could run and had no CPU of the host, since it was first entered */
    uint32_t lost; /* how often something of it was lost: what lies between is not known */
};

/* For a CPU of a guest, up to time_ns, which is not before the last fact of its host. False: not known. */
bool lull_vcpu_track_stolen(const struct lull_vcpu_track *track, uint32_t guest, int32_t cpu,
                            int64_t time_ns, struct lull_vcpu_stolen *stolen);

/* The virtual CPU that is this CPU of a guest, or LULL_NONE. */
uint32_t lull_vcpu_track_of_guest(const struct lull_vcpu_track *track, uint32_t guest, int32_t cpu);

/* Whether it was entered, and nothing of it was lost since. */
bool lull_vcpu_track_is_known(const struct lull_vcpu_track *track, uint32_t vcpu);

/* "guest", "kvm", … */
const char *lull_vcpu_state_name(enum lull_vcpu_state state);

#endif
