/* What the model of a machine reports: facts, each said once, in time order of the moment it became
 * known. Analyses and the execution graph subscribe to facts and never see events. Pointers are
 * borrowed for the call. */
#ifndef LULL_KERNEL_FACTS_H
#define LULL_KERNEL_FACTS_H

#include "kernel/packet.h"
#include "kernel/states.h"

/* Why a wait ended. */
struct lull_wakeup {
    int64_t time_ns;
    uint32_t task; /* cause TASK: the waker */
    /* cause NETWORK: numbers of the first and the last packet that its context received before; a
     * context receives several in a batch before any of them wakes someone. LULL_NONE: none */
    uint32_t first_packet, packet;
    uint32_t request; /* cause DISK: index of the block request that completed, or LULL_NONE */
    uint32_t label;   /* name of the interrupt it happened in (lull_model_label), or LULL_NONE */
    uint8_t cause;    /* enum lull_cause */
};

/* A task's state ended. The first fact of a task has state NONE: it appeared at end_ns. A fact with
 * state NONE later means that what it did until end_ns is not known (lost events). */
struct lull_state_fact {
    uint32_t task;
    int64_t begin_ns, end_ns;
    enum lull_state state; /* the one that ended: NONE, RUNNING, PREEMPTED, BLOCKED */
    enum lull_state next;  /* the one that begins; NONE: the task is dead or lost */
    int32_t cpu;           /* where it ran or waited to run; where it ran last if BLOCKED */
    uint32_t syscall;      /* label of the system call it was in when BLOCKED, or LULL_NONE */
    const struct lull_wakeup *wakeup; /* end of BLOCKED, or appearance by a fork; else NULL */
};

/* A CPU switched to another task. */
struct lull_switch_fact {
    int64_t time_ns;
    uint32_t host;
    int32_t cpu;
    uint32_t task; /* LULL_NONE: idle */
};

/* The outermost interrupt handler on a CPU ended; handlers nested in it are within. */
struct lull_interrupt_fact {
    int64_t begin_ns, end_ns;
    uint32_t host;
    int32_t cpu;
    uint32_t task;  /* whom it interrupted, or LULL_NONE: idle or not known */
    uint32_t label; /* "irq 28 virtio2-req.0", "softirq NET_RX", … */
};

/* A packet left or arrived. */
struct lull_packet_fact {
    const struct lull_packet *packet;
    uint32_t number;          /* 0, 1, 2, … over all hosts */
    bool in_interrupt;        /* seen in interrupt context, which began at: */
    int64_t context_begin_ns; /* the innermost handler */
    uint8_t context_cause;    /* what that handler stands for: TIMER, NETWORK, IRQ, … */
};

struct lull_block_request {
    uint32_t host;
    uint32_t dev; /* kernel's dev_t: major << 20 | minor */
    uint64_t sector;
    uint32_t sectors;
    uint32_t left;       /* sectors not completed yet */
    uint32_t rwbs;       /* LULL_RWBS_… */
    uint32_t submitter;  /* task that inserted or issued it, or LULL_NONE */
    uint32_t label;      /* interrupt it completed in, or LULL_NONE */
    int64_t insert_ns;   /* INT64_MIN: not seen */
    int64_t issue_ns;    /* INT64_MIN: not seen */
    int64_t complete_ns; /* INT64_MIN: not yet */
};

enum lull_rwbs {
    LULL_RWBS_WRITE = 1 << 0,
    LULL_RWBS_DISCARD = 1 << 1,
    LULL_RWBS_READ = 1 << 2,
    LULL_RWBS_READ_AHEAD = 1 << 3,
    LULL_RWBS_SYNC = 1 << 5,
    LULL_RWBS_META = 1 << 6,
    LULL_RWBS_FLUSH = 1 << 8,
    LULL_RWBS_FUA = 1 << 9,
    LULL_RWBS_PREFLUSH = 1 << 10,
};

/* A subscriber; callbacks it does not want are NULL. */
struct lull_facts {
    void (*state)(void *user, const struct lull_state_fact *fact);
    void (*switched)(void *user, const struct lull_switch_fact *fact);
    void (*interrupt)(void *user, const struct lull_interrupt_fact *fact);
    void (*packet)(void *user, const struct lull_packet_fact *fact);
};

#endif
