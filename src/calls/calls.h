/* SPDX-License-Identifier: MIT */
/* Call stacks over time: which functions each task was in at every moment, from the facts that the
 * model reports of calls. The stacks are exact as long as nothing was lost; where calls or returns
 * are missing, what is not certain is marked.
 *
 * Frames lie in layers: functions of a program and of Python, as they called one another; on them
 * the system call; on that, functions of the kernel; on that, interrupts that it served meanwhile. A return from a function ends all that it
 * called, also what did not return by itself (longjmp, or a return that was not recorded). A return
 * from a function that is not on the stack changes nothing, and is counted. No start is invented. */
#ifndef LULL_CALLS_CALLS_H
#define LULL_CALLS_CALLS_H

#include "kernel/model.h"
#include "kernel/vocabulary.h"

enum lull_call_flag {
    LULL_CALL_UNWOUND = 1 << 0, /* its caller returned, and it had not */
    LULL_CALL_CUT = 1 << 1,     /* of the kernel: its task went on outside */
    LULL_CALL_OPEN = 1 << 2,    /* had not returned when the task, its program or the trace ended */
    LULL_CALL_INHERITED = 1 << 3, /* the parent process called it, before the fork */
    LULL_CALL_UNCERTAIN = 1 << 4, /* events were lost while it lasted */
    LULL_CALL_EARLY = 1 << 5,     /* started before the time that counts */
};

/* What all times count of: only what lies within the time that was requested. */
struct lull_calls_times {
    int64_t self_ns;    /* while it was the innermost */
    int64_t blocked_ns; /* of that: the task was blocked */
    int64_t off_ns;     /* of that: the task was not on a CPU, blocked or not */
};

/* A function as one task knows it. */
struct lull_calls_function {
    uint64_t key;   /* address; PYTHON, SYSCALL, INTERRUPT: label, UINT64_MAX: not known */
    uint32_t line;  /* the task's */
    uint32_t place; /* NATIVE and KERNEL: chain of one call (lull_model_frames()), or LULL_NONE */
    uint32_t open;  /* how often it is on the stack */
    uint32_t generation;
    uint8_t layer;  /* enum lull_function_layer */
    bool is_passed; /* it has calls of which only the start was recorded */
    uint64_t calls;
    struct lull_calls_times times;
    int64_t total_ns;               /* while it was on the stack */
    int64_t waiting_ns;             /* of that: the task was blocked */
    int64_t sum_ns, min_ns, max_ns; /* of single calls; min_ns INT64_MAX: none */
};

/* A path of calls: a node for each, below that of the caller. */
struct lull_calls_node {
    uint32_t parent;   /* a smaller number; LULL_NONE: the root of a line */
    uint32_t function; /* LULL_NONE: the root of a line */
    uint32_t recent;   /* the child entered last, or LULL_NONE */
    uint64_t calls;
    struct lull_calls_times times;
};

/* Time for which a task was blocked on a path, by cause. */
struct lull_calls_wait {
    uint32_t node;
    uint8_t cause; /* enum lull_cause */
    int64_t ns;
};

/* A task that called functions. */
struct lull_calls_line {
    uint32_t task, host, root;
    int32_t pid;      /* -1: not known */
    bool has_states;  /* it is known when the task was blocked */
    uint64_t orphans; /* returns from functions that were not on the stack */
    uint64_t unwound;
    uint64_t too_deep; /* calls that were not followed */
    uint32_t n_open;   /* calls that had not returned at the end */
    int64_t uncertain_ns;
};

/* A call that is over. */
struct lull_call {
    uint32_t line, node, depth;
    int64_t start_ns, end_ns;
    int64_t waiting_ns; /* for which the task was blocked */
    unsigned flags;     /* enum lull_call_flag */
};

/* Time that a task spent in one innermost call. */
struct lull_calls_stretch {
    uint32_t line, node;
    int64_t start_ns, end_ns;
    bool is_uncertain; /* events were lost: it may have been another call */
};

struct lull_calls;

/* Only what lies in start_ns <= t < end_ns counts; what was before is followed. `ended` (or NULL) is
 * called for each call of which some part does; it may not change anything. The model is borrowed. */
struct lull_calls *lull_calls_new(struct lull_model *model, int64_t start_ns, int64_t end_ns,
                                  void (*ended)(void *user, const struct lull_call *call),
                                  void *user);
void lull_calls_free(struct lull_calls *calls);
/* From now on `spent` is called for all such time that counts, of each line in order. One watches. */
void lull_calls_watch(struct lull_calls *calls,
                      void (*spent)(void *user, const struct lull_calls_stretch *stretch),
                      void *user);
/* While reading: tells the time that a task spent up to t, which is not later than what is read. Its line, or
 * LULL_NONE: it called nothing yet. */
uint32_t lull_calls_catch_up(struct lull_calls *calls, uint32_t task, int64_t t);
/* What the model must read. */
#define LULL_CALLS_GROUPS                                                                          \
    (LULL_GROUP_FUNCTIONS | LULL_GROUP_STACKS | LULL_GROUP_SCHED | LULL_GROUP_STATE |              \
     LULL_GROUP_IRQ | LULL_GROUP_BLOCK | LULL_GROUP_SYSCALL)
/* Whether some host of the session may have events of calls. */
bool lull_calls_are_declared(const struct lull_session *session);
/* While reading: the calls that have not returned yet, of each line from the outermost on, as if they ended
 * at until_ns. */
void lull_calls_each_open(const struct lull_calls *calls, int64_t until_ns,
                          void (*visit)(void *user, const struct lull_call *call), void *user);
/* After reading: ends all that is open, at the end of its host, and finds out what addresses are. */
void lull_calls_finish(struct lull_calls *calls, const int64_t *ends_ns);

/* While reading: the path that a task is on, without the kernel's part; of a task that is in no call
 * that is known the path of one function, in which `address` lies. A node. `pid` as in facts. */
uint32_t lull_calls_where(struct lull_calls *calls, uint32_t task, uint32_t host, int32_t pid,
                          int64_t t, uint64_t address);

uint32_t lull_calls_line_count(const struct lull_calls *calls);
const struct lull_calls_line *lull_calls_line(const struct lull_calls *calls, uint32_t line);
uint32_t lull_calls_function_count(const struct lull_calls *calls);
const struct lull_calls_function *lull_calls_function(const struct lull_calls *calls,
                                                      uint32_t function);
uint32_t lull_calls_node_count(const struct lull_calls *calls);
const struct lull_calls_node *lull_calls_node(const struct lull_calls *calls, uint32_t node);
const struct lull_calls_wait *lull_calls_waits(const struct lull_calls *calls, size_t *count);
/* Returns that did not say which function ends, which GCC's short hooks do not. */
bool lull_calls_are_fast(const struct lull_calls *calls);

#endif
