/* SPDX-License-Identifier: MIT */
/* The parts of the ftrace tracer: an instance of tracefs, the readers of its CPUs, and the writer
 * of trace.dat. */
#ifndef LULL_RECORD_FTRACE_H
#define LULL_RECORD_FTRACE_H

#include <tracefs/tracefs.h>

#include "record/keeper.h"
#include "record/tracer.h"

/* ---- ftrace_instance.c ---- */

/* An instance of the ring buffer that is ours: "lull-PID-NUMBER". Whoever holds the lock of its
 * directory owns it; one whose lock is free was left by a recorder that was killed. */
struct lull_ftrace_instance {
    struct tracefs_instance *tracefs;
    char *name;
    int lock; /* its directory */
};

/* Whether tracefs is there; to look up its path would mount it. */
bool lull_ftrace_is_mounted(void);
/* A new one that does not record. NULL and an error. */
struct lull_ftrace_instance *lull_ftrace_instance_new(GError **error);
/* Removes it from the machine too. NULL: nothing. */
void lull_ftrace_instance_free(struct lull_ftrace_instance *instance);
/* Writes a file of the instance. */
bool lull_ftrace_instance_write(const struct lull_ftrace_instance *instance, const char *file,
                                const char *text, GError **error);
/* The implementations of these operations of a tracer. */
uint32_t lull_ftrace_clean_up(void);
void lull_ftrace_remove(const char *name);

/* ---- ftrace_cpu.c ---- */

/* The pages of one CPU, moved from the ring buffer to a file. */
struct lull_ftrace_cpu {
    int32_t cpu;
    bool is_online;
    int raw, pipe[2]; /* pages come from raw through the pipe; -1: not open */
    int out;          /* -1: not open */
    int stop;         /* eventfd that ends the thread */
    uint32_t page_bytes;
    uint64_t bytes;   /* of the file */
    uint64_t in_pipe; /* bytes that come next */
    GThread *thread;
    int why;         /* errno of what went wrong, 0: nothing */
    int off;         /* tracing_on of the instance, for a full disk; borrowed */
    uint64_t off_ns; /* when this CPU met a full disk: CLOCK_MONOTONIC; 0: it did not */
    bool is_cut;     /* pages of its end were given up, so none can follow */
};

/* Opens the CPU's ring buffer. */
bool lull_ftrace_cpu_open(struct lull_ftrace_cpu *cpu, const struct lull_ftrace_instance *instance,
                          GError **error);
/* Makes the file, without a name in any directory: it is gone when it is closed. */
bool lull_ftrace_cpu_start_file(struct lull_ftrace_cpu *cpu, const struct lull_keeper *keeper,
                                GError **error);
/* Has a thread move pages as they get full. */
bool lull_ftrace_cpu_start(struct lull_ftrace_cpu *cpu, GError **error);
/* Whether all went well so far. */
bool lull_ftrace_cpu_check(const struct lull_ftrace_cpu *cpu, GError **error);
/* Ends the thread. */
void lull_ftrace_cpu_stop(struct lull_ftrace_cpu *cpu);
/* Moves what is left, also pages that are not full; after an error it may go on where it failed. */
bool lull_ftrace_cpu_finish(struct lull_ftrace_cpu *cpu, GError **error);
/* Takes back what the first page in the file says of events before it. */
bool lull_ftrace_cpu_start_there(struct lull_ftrace_cpu *cpu, GError **error);
/* Closes the file, and it is gone. Another may follow, also if something went wrong. */
void lull_ftrace_cpu_end_file(struct lull_ftrace_cpu *cpu);
void lull_ftrace_cpu_close(struct lull_ftrace_cpu *cpu);

/* ---- ftrace_room.c ---- */

/* When the first page of all starts; UINT64_MAX: there is none. */
uint64_t lull_ftrace_first_ns(const struct lull_ftrace_cpu *cpus, uint32_t n);
/* lull_ftrace_cpu_finish() for all. If the disk is full, the newest pages of all make room for
 * older ones, and *end_ns is until when all events are there, by CLOCK_MONOTONIC; else it is 0. */
bool lull_ftrace_finish_all(struct lull_ftrace_cpu *cpus, uint32_t n, uint64_t *end_ns,
                            GError **error);

/* ---- ftrace_dat.c ---- */

struct lull_ftrace_dat {
    const struct lull_ftrace_instance *instance;
    const char *const *events; /* "system:name" */
    const struct lull_ftrace_cpu *cpus;
    char *const *stats; /* of each CPU, as the kernel reports them */
    uint32_t n_cpus;
    int64_t epoch_offset_ns;
};

/* Writes trace.dat; *bytes is its size. */
bool lull_ftrace_dat_write(const struct lull_ftrace_dat *dat, const struct lull_keeper *keeper,
                           uint64_t *bytes, GError **error);

#endif
