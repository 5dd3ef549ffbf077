/* SPDX-License-Identifier: MIT */
/* What the analysis of virtual machines counts, and its tables: for vms.c and vms_tables.c only. */
#ifndef LULL_ANALYSIS_VMS_H
#define LULL_ANALYSIS_VMS_H

#include "analysis/analysis.h"
#include "base/map.h"
#include "base/vec.h"
#include "graph/vcpu_track.h"

/* Time in each state. */
struct vms_states {
    int64_t ns[LULL_VCPU_STATES];
};

/* Numbered as in the track. */
struct vms_vcpu {
    struct vms_states states;
    uint32_t vm, place;  /* in it, by number */
    int64_t vector;      /* injected, and not entered since; -1: none */
    uint32_t last_exit;  /* in `exits`; LULL_NONE: none that counts */
    uint64_t losses;     /* of its host, until it was looked at last */
    bool is_reason_told; /* the reason of some exit was recorded */
    uint64_t halts;      /* that ended after the last injection */
    int64_t halted_ns;
};

/* A process that runs a guest. */
struct vms_vm {
    uint32_t host;
    int32_t pid;
    uint32_t first; /* in `order` */
    uint32_t n;
    uint32_t guest; /* or LULL_NONE */
    char *name;
};

/* What virtual CPUs did while a task was on them. */
struct vms_task {
    uint32_t vcpu; /* any of those it ran on */
    uint32_t task; /* LULL_NONE: idle */
    struct vms_states states;
};

/* For so long somebody had the CPU that a virtual CPU was waiting for. */
struct vms_steal {
    uint32_t vcpu;
    uint32_t from; /* the guest's task that was kept waiting; LULL_VCPU_UNKNOWN: whoever it was */
    uint32_t by, by_vcpu, by_task; /* as in struct lull_vcpu_piece */
    uint64_t count;
    int64_t total_ns, longest_ns;
};

struct vms_steals {
    LULL_VEC(struct vms_steal) list;
    struct lull_map pairs; /* virtual CPU or task, and who took it → a number */
    struct lull_map rows;  /* that number, and its task → list */
};

struct vms_exit {
    uint32_t vcpu;
    uint32_t reason;
    uint8_t isa;
    uint64_t count;
    int64_t total_ns; /* to the next entry */
};

struct vms_injection {
    uint32_t vcpu;
    int64_t vector;
    uint32_t label; /* of its handler in the guest, or LULL_NONE */
    uint64_t count;
    uint64_t halts; /* that it ended */
    int64_t halted_ns;
};

struct vms_interval {
    uint32_t vcpu;
    struct lull_vcpu_piece piece;
};

struct vms {
    struct lull_analysis head;
    struct lull_vcpu_track *track;
    struct lull_raises *raises; /* which handler has which vector */
    LULL_VEC(struct vms_vcpu) vcpus;
    LULL_VEC(uint64_t) losses; /* so far, by host */
    LULL_VEC(uint32_t) order;  /* of vcpus: by host, process, number */
    LULL_VEC(struct vms_vm) vms;
    LULL_VEC(struct vms_task) tasks;
    struct lull_map by_task; /* guest, task → tasks */
    struct vms_steals steals, steals_from;
    LULL_VEC(struct vms_exit) exits;
    struct lull_map by_reason;
    LULL_VEC(struct vms_injection) injections;
    struct lull_map by_vector;
    LULL_VEC(struct vms_interval) log;
    int64_t asleep_ns; /* in which tasks of guests seemed to run while their virtual CPU slept */
    int64_t end_ns;
    GString *text;
};

void vms_emit(struct lull_analysis *analysis, const struct lull_window *window,
              struct lull_sink *sink);
extern const struct lull_result_class *const vms_tables[];

#endif
