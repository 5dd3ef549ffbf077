/* SPDX-License-Identifier: MIT */
/* For tests of what a wait was for: system calls fed with their arguments, by their numbers of x86-64,
 * and what task 1 said of a wait. */
#ifndef LULL_TESTS_REASONS_H
#define LULL_TESTS_REASONS_H

#include "graph/execgraph_private.h"
#include "lib/feed.h"

struct fixture {
    struct lull_model *model;
    struct lull_execgraph *eg;
};

static inline void set_up(struct fixture *f, gconstpointer data)
{
    f->model = lull_model_new(NULL, LULL_GROUP_GRAPH);
    f->eg = lull_execgraph_new(f->model, NULL);
}

static inline void tear_down(struct fixture *f, gconstpointer data)
{
    lull_execgraph_free(f->eg);
    lull_model_free(f->model);
}

/* The task on the CPU calls. */
static inline void feed_call(struct lull_model *model, int64_t t, int number, uint64_t a,
                             uint64_t b, uint64_t c)
{
    const uint64_t args[6] = {a, b, c};
    FEED(raw_entry, 0, 0, t,
         .have = UINT64_C(1) << LULL_FIELD_raw_entry_number | UINT64_C(1)
                                                                  << LULL_FIELD_raw_entry_args,
         .number = number, .args = {(const char *)args, sizeof args});
}

static inline void feed_return(struct lull_model *model, int64_t t, int number, int64_t ret)
{
    FEED(raw_exit, 0, 0, t,
         .have = UINT64_C(1) << LULL_FIELD_raw_exit_number | UINT64_C(1) << LULL_FIELD_raw_exit_ret,
         .number = number, .ret = ret);
}

/* Numbers of x86-64. */
enum {
    READ = 0,
    WRITE = 1,
    CLOSE = 3,
    STAT = 4,
    POLL = 7,
    SELECT = 23,
    PAUSE = 34,
    NANOSLEEP = 35,
    VFORK = 58,
    EXECVE = 59,
    WAIT4 = 61,
    KILL = 62,
    FCNTL = 72,
    FLOCK = 73,
    TRUNCATE = 76,
    SOCKET = 41,
    CONNECT = 42,
    ACCEPT = 43,
    SENDTO = 44,
    SENDMMSG = 307,
    RECVFROM = 45,
    RT_SIGSUSPEND = 130,
    GETSOCKOPT = 55,
    FUTEX = 202,
    RESTART_SYSCALL = 219,
    CLOCK_GETTIME = 228,
    EXIT_GROUP = 231,
    EPOLL_WAIT = 232,
    OPENAT = 257,
    TIMERFD_CREATE = 283,
    EVENTFD2 = 290,
    SEMOP = 65,
    MSGSND = 69,
    MSGRCV = 70,
    EPOLL_CREATE1 = 291,
};

/* A timer wakes task 1. */
static inline void feed_timer(struct lull_model *model, int64_t t)
{
    FEED(hrtimer_entry, 0, 0, t, .have = 0);
    feed_wake(model, LULL_EVENT_sched_waking, 0, 0, t, 1, 0);
    FEED(hrtimer_exit, 0, 0, t + 1, .have = 0);
}

/* What task 1 said of its only wait up to now, as a step of its own path. */
static inline struct lull_segment wait_of(struct fixture *f, GStringChunk *strings,
                                          int64_t start_ns, int64_t end_ns)
{
    g_autoptr(GArray) hops = lull_critpath_find(f->eg->graph, lull_model_find_tid(f->model, 0, 1),
                                                start_ns, end_ns, LULL_PATH_BOUNDED);
    struct lull_segment segment = {0};
    g_assert_cmpuint(hops->len, ==, 1);
    const struct lull_hop *hop = &g_array_index(hops, struct lull_hop, 0);
    g_assert_cmpint(hop->state, ==, LULL_STATE_BLOCKED);
    lull_evidence_wait(f->eg, hop, strings, &segment);
    const struct path_piece piece = {hop, start_ns, end_ns, hop->state, LULL_NONE, hop->cause};
    g_autoptr(GString) subject = g_string_new(NULL);
    lull_evidence_subject(f->eg, &piece, subject);
    segment.subject = g_string_chunk_insert(strings, subject->str);
    return segment;
}

/* What is said of the only wait that the path of task 1 goes into, which ended at woken_ns. */
static inline struct lull_wait entered_wait(struct fixture *f, GStringChunk *strings,
                                            int64_t start_ns, int64_t end_ns, int64_t woken_ns)
{
    g_autoptr(GArray) waits = g_array_new(FALSE, FALSE, sizeof(struct lull_path_wait));
    g_autoptr(GArray) hops =
        lull_critpath_find_waits(f->eg->graph, lull_model_find_tid(f->model, 0, 1), start_ns,
                                 end_ns, LULL_PATH_BOUNDED, waits);
    struct lull_wait wait = {.end_ns = woken_ns};
    g_assert_cmpuint(waits->len, ==, 1);
    lull_evidence_entered(f->eg, g_array_index(waits, struct lull_path_wait, 0).detail, strings,
                          &wait);
    return wait;
}

#endif
