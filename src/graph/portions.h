/* SPDX-License-Identifier: MIT */
/* The critical paths of many instances in a form that can be summed and compared: each path is a
 * sample, and what the same thing takes in each of them is one portion. */
#ifndef LULL_GRAPH_PORTIONS_H
#define LULL_GRAPH_PORTIONS_H

#include <lull/why.h>

#include "graph/execgraph.h"

/* What a part of a path is about, in words that are the same each time. */
struct lull_portion {
    uint32_t host;
    const char *comm; /* of the task; "kworker" for "kworker/0:1" */
    enum lull_state state;
    enum lull_cause cause;
    const char *detail; /* device, peer, waker, who had the CPU, system call; or NULL */
};

/* A wait for something that another task holds: in a system call that exists for that (futex, flock,
 * …), for a lock of the kernel, or in any for the signal of another worker of the same server, which such servers use for
 * their own locks; what brings data is no lock. What the path did meanwhile, the holder's doing, lies within. */
struct lull_lock {
    uint32_t host;
    const char *comm;   /* who waited */
    const char *call;   /* "futex"; NULL: none, but a page fault */
    const char *holder; /* who ended the wait; NULL: not known */
    bool is_worker;     /* the holder is another worker of the same server, in any call */
    bool is_kernel;     /* a lock of the kernel, in any call */
};

/* How long one sample was about one portion. */
struct lull_part {
    uint32_t portion;
    uint32_t lock; /* the outermost it lies within, or LULL_NONE */
    int64_t duration_ns;
    int32_t tid;     /* of who did nine tenths of it or more, or LULL_SEVERAL_TIDS */
    int64_t lead_ns; /* so much more of it is that task's than others' */
    /* Of the holder if there is a lock, else of the waker or of who had the CPU; -1: nobody. */
    int32_t other_tid;
    const char *through; /* "server on web, waited for by asker on client"; NULL: nobody waited */
    const char *inside;  /* likewise, within the lock; NULL: only the holder waited */
};

struct lull_sample {
    uint32_t task;
    int64_t start_ns, end_ns;
    uint32_t first_part, n_parts; /* none twice; they sum to end_ns - start_ns */
    uint32_t most;                /* the portion that takes most of it */
    int64_t most_ns;
    uint64_t lost_events, lost_packets; /* on the hosts of the path within its time */
};

struct lull_portions;

/* All is borrowed. Free with lull_portions_free(). */
struct lull_portions *lull_portions_new(const struct lull_execgraph *eg,
                                        const struct lull_session *session,
                                        enum lull_path_kind kind);
void lull_portions_free(struct lull_portions *portions);

/* Finds the critical path of a task over start_ns <= t < end_ns, which is not empty, and
 * keeps what it is about. Linear in the path. Returns the number of the sample: 0, 1, 2, … */
uint32_t lull_portions_add(struct lull_portions *portions, uint32_t task, int64_t start_ns,
                           int64_t end_ns);

/* A piece of the path of a sample. */
struct lull_sample_piece {
    uint32_t host;
    int32_t tid;
    int64_t start_ns, end_ns;
    enum lull_state state;
    enum lull_cause cause;
};

/* Finds the path of a sample again: its pieces, in time order; they cover it. */
void lull_sample_each_piece(const struct lull_portions *portions, uint32_t sample,
                            void (*take)(void *user, const struct lull_sample_piece *piece),
                            void *user);

/* Finds the path of a sample again. For how long its tasks of that portion, which is preempted, waited for their CPUs, but
 * for short waits, and how long within that another CPU was idle. */
void lull_sample_idle(const struct lull_portions *portions, uint32_t sample,
                      const struct lull_portion *portion, int64_t *waited_ns, int64_t *idle_ns);

uint32_t lull_portions_count(const struct lull_portions *portions);
const struct lull_portion *lull_portions_at(const struct lull_portions *portions, uint32_t portion);
uint32_t lull_portions_lock_count(const struct lull_portions *portions);
const struct lull_lock *lull_portions_lock(const struct lull_portions *portions, uint32_t lock);
uint32_t lull_sample_count(const struct lull_portions *portions);
const struct lull_sample *lull_sample_at(const struct lull_portions *portions, uint32_t sample);
const struct lull_part *lull_part_at(const struct lull_portions *portions, uint32_t part);

/* The sums of the samples (numbers, `count` of them) as a GArray of struct lull_portion_sum,
 * longest first, ties by portion. Free with g_array_unref(). */
GArray *lull_portions_sum(const struct lull_portions *portions, const uint32_t *samples,
                          uint32_t count);

#endif
