/* SPDX-License-Identifier: MIT */
/* What the files of the builder share: rows of tasks and the labels of texts. */
#ifndef LULL_STORE_BUILD_PRIVATE_H
#define LULL_STORE_BUILD_PRIVATE_H

#include "analysis/coverage.h"
#include "base/map.h"
#include "base/slots.h"
#include "base/vec.h"
#include "calls/calls.h"
#include "kernel/model.h"
#include "store/build.h"
#include "store/writer.h"

/* A state on a CPU that lasts from `time_ns` to the next one. */
struct cpu_change {
    int64_t time_ns;
    uint32_t label; /* of the model */
    uint8_t state;  /* USER stands for idleness too */
};

/* A frequency of a CPU, from time_ns to the next one. */
struct cpu_speed {
    int64_t time_ns;
    uint32_t khz; /* LULL_NONE: not known */
};

/* A CPU. What happens on it is kept until it is known who was on it, but for the last changes of a
 * task that stays. */
struct store_cpu {
    uint32_t host;
    int32_t number;
    uint32_t row, thread_row;
    uint32_t frequency_row, cycles_row; /* LULL_NONE: not reported yet */
    LULL_VEC(struct cpu_speed) speeds;  /* since the last switch, and the one before */
    bool is_known;                      /* who is on it: */
    uint32_t task;
    bool is_lossy;          /* something was lost since the last switch */
    struct cpu_change base; /* what goes on after an interrupt */
    LULL_VEC(struct cpu_change) changes;
    int64_t handler_start_ns; /* the last handler's */
    uint8_t handler_kind;
};

struct build_task {
    uint32_t row;  /* + 1 */
    uint32_t call; /* label of the system call it is in + 1 */
    bool is_found; /* nothing shows that it was not there before it was first seen */
};

/* Of a line of calls (lull_calls_line()), by depth. */
struct build_lanes {
    LULL_VEC(uint32_t) rows;
    bool are_cut; /* there are deeper calls */
};

struct build_completed {
    uint32_t request;
    int64_t time_ns;
};

struct store_build {
    struct lull_session *session;
    struct lull_model *model;
    struct store_writer *writer;
    struct lull_coverage *coverage; /* by host */
    int64_t start_ns, end_ns;
    LULL_VEC(struct build_task) tasks;
    struct lull_slots texts;           /* by label of the model: text + 1 */
    struct lull_map handlers;          /* host, CPU, label → row */
    LULL_VEC(struct store_cpu *) cpus; /* by host and CPU: */
    struct lull_map cpu_numbers;
    LULL_VEC(struct build_netif *) netifs; /* by host and device: */
    struct lull_map netif_numbers;
    LULL_VEC(struct build_completed) completed; /* block requests */
    struct lull_vcpu_track *vcpus;
    LULL_VEC(uint32_t) vcpu_rows;     /* LULL_NONE: it did nothing yet */
    const struct lull_states *states; /* NULL: none are declared */
    struct lull_states_engine *engine;
    int64_t *host_starts_ns, *host_ends_ns;
    LULL_VEC(uint32_t) declared_rows; /* by row of the engine; LULL_NONE: none yet */
    struct lull_calls *calls;         /* NULL: none were recorded */
    LULL_VEC(struct build_lanes) lanes;
    struct lull_slots call_texts; /* by function of the calls: text + 1, filled at the end */
    const struct lull_store_watch *watch;
    bool is_stopped;
    bool is_part;        /* a copy, for build_finish() alone */
    int64_t part_due_us; /* when the next part is; 0: not known yet */
};

struct build_task *build_task(struct store_build *build, uint32_t task);
/* Row of a task, made if it has none; LULL_NONE for LULL_NONE. */
uint32_t build_task_row(struct store_build *build, uint32_t task);
uint32_t build_text(struct store_build *build, uint32_t label);
/* The task is in `state` from start_ns to end_ns; a hole before that is filled. */
void build_task_piece(struct store_build *build, uint32_t task, int64_t start_ns, int64_t end_ns,
                      enum lull_store_state state, uint32_t label, uint32_t evidence);

/* Brings all rows to end_ns. */
void build_finish(struct store_build *build);

/* part.c: shows what is finished, if it is time. */
void build_show_part(struct store_build *build);

/* cpus.c */
struct store_cpu *build_cpu(struct store_build *build, uint32_t host, int32_t cpu);
void cpus_switched(void *user, const struct lull_switch_fact *fact);
void cpus_interrupt(void *user, const struct lull_interrupt_fact *fact);
void cpus_handler(void *user, const struct lull_handler_fact *fact);
void cpus_power(void *user, const struct lull_power_fact *fact);
void cpus_syscall_start(void *user, const struct lull_syscall_fact *fact);
void cpus_syscall(void *user, const struct lull_syscall_fact *fact);
void cpus_lost(void *user, const struct lull_lost_fact *fact);
/* What is on the CPUs at the end. */
void cpus_finish(struct store_build *build);
void cpus_free(struct store_build *build);

/* vcpus.c: after the model was made; and before it is freed. */
void vcpus_start(struct store_build *build);
void vcpus_finish(struct store_build *build);
void vcpus_free(struct store_build *build);

/* declared.c: before the model is made; when it has read; and before the session is used again. */
void declared_start(struct store_build *build);
void declared_finish(struct store_build *build);
void declared_free(struct store_build *build);

/* lanes.c: which groups of events it needs, 0 for none if nothing was recorded of calls; then after the model
 * was made; when it has read; and before it is freed. */
unsigned lanes_groups(const struct store_build *build);
void lanes_start(struct store_build *build);
void lanes_finish(struct store_build *build);
void lanes_free(struct store_build *build);

/* meters.c */
void meters_netif(void *user, const struct lull_netif_fact *fact);
void meters_block(void *user, const struct lull_block_fact *fact);
void meters_finish(struct store_build *build);
void meters_free(struct store_build *build);

#endif
