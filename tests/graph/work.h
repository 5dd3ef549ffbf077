/* SPDX-License-Identifier: MIT */
/* Pieces of work of task 7 on CPU 0, one after the other, of which is known how long each does what;
 * for tests of what their critical paths have in common. Task 30 is on CPU 1 all the time. */
#ifndef LULL_TESTS_WORK_H
#define LULL_TESTS_WORK_H

#include "graph/portions.h"
#include "kernel/feed_calls.h"

/* In this order; what is 0 does not happen. */
struct work {
    int64_t run_ns;
    int64_t by_8_ns, by_9_ns; /* preempted by these tasks */
    int64_t sleep_ns;         /* until a timer */
    int64_t lock_ns;          /* in futex, until task 30 lets go */
};

struct world {
    struct lull_model *model;
    struct lull_execgraph *eg;
    struct lull_session *session; /* an empty one: nothing was lost */
    struct lull_portions *portions;
    int64_t now_ns;
};

static inline void world_open(struct world *world)
{
    world->model = lull_model_new(NULL, LULL_GROUP_GRAPH | LULL_GROUP_SYSCALL | LULL_GROUP_IO);
    world->eg = lull_execgraph_new(world->model, NULL);
    world->session = lull_session_new();
    world->portions = lull_portions_new(world->eg, world->session, LULL_PATH_BOUNDED);
    world->now_ns = 1000;
    feed_switch(world->model, 0, 0, world->now_ns, 0, 7, 0);
    feed_switch(world->model, 0, 1, world->now_ns, 0, 30, 0);
}

static inline void world_close(struct world *world)
{
    lull_portions_free(world->portions);
    lull_session_free(world->session);
    lull_execgraph_free(world->eg);
    lull_model_free(world->model);
}

static inline uint32_t world_task(const struct world *world, int tid)
{
    return lull_model_find_tid(world->model, 0, tid);
}

static inline void world_preempt(struct world *world, const struct work *work)
{
    struct lull_model *model = world->model;
    int now = 7;
    if (work->by_8_ns) {
        feed_switch(model, 0, 0, world->now_ns, now, 8, 0);
        now = 8;
        world->now_ns += work->by_8_ns;
    }
    if (work->by_9_ns) {
        feed_switch(model, 0, 0, world->now_ns, now, 9, now == 8);
        now = 9;
        world->now_ns += work->by_9_ns;
    }
    if (now != 7) {
        feed_switch(model, 0, 0, world->now_ns, now, 7, 1);
    }
}

/* The task runs at the start and at the end. Returns when it started. */
static inline int64_t world_work(struct world *world, const struct work *work)
{
    struct lull_model *model = world->model;
    const int64_t start_ns = world->now_ns;
    world->now_ns += work->run_ns;
    world_preempt(world, work);
    if (work->sleep_ns) {
        feed_switch(model, 0, 0, world->now_ns, 7, 0, 1);
        world->now_ns += work->sleep_ns;
        FEED(hrtimer_entry, 0, 0, world->now_ns, 0);
        feed_wake(model, LULL_EVENT_sched_waking, 0, 0, world->now_ns, 7, 0);
        FEED(hrtimer_exit, 0, 0, world->now_ns, 0);
        feed_switch(model, 0, 0, world->now_ns, 0, 7, 0);
    }
    if (work->lock_ns) {
        FEED_ENTER(model, 0, world->now_ns, futex, 0);
        feed_switch(model, 0, 0, world->now_ns, 7, 0, 1);
        world->now_ns += work->lock_ns;
        feed_wake(model, LULL_EVENT_sched_waking, 0, 1, world->now_ns, 7, 0);
        feed_switch(model, 0, 0, world->now_ns, 0, 7, 0);
        feed_leave(model, 0, world->now_ns, NR_futex, 0);
    }
    return start_ns;
}

/* After all work: what lasts at the end is known, and times up to there have a path. */
static inline void world_finish(struct world *world)
{
    feed_switch(world->model, 0, 0, world->now_ns, 7, 0, 1);
    feed_switch(world->model, 0, 1, world->now_ns, 30, 0, 1);
    lull_model_finish(world->model);
}

#endif
