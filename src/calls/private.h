/* SPDX-License-Identifier: MIT */
/* What the stacks (stack.c) and the facts that change them (calls.c) share. */
#ifndef LULL_CALLS_PRIVATE_H
#define LULL_CALLS_PRIVATE_H

#include "base/map.h"
#include "base/vec.h"
#include "calls/calls.h"

struct frame {
    uint32_t node;
    int32_t depth;                /* of functions of the kernel, as they say */
    int64_t start_ns, blocked_ns; /* blocked_ns: of the line, when it started */
    unsigned flags;
};

struct line {
    struct lull_calls_line public;
    LULL_VEC(struct frame) frames;                   /* innermost last */
    struct lull_map functions[LULL_FUNCTION_LAYERS]; /* by key */
    uint32_t open[LULL_FUNCTION_LAYERS];
    uint32_t beyond[LULL_FUNCTION_LAYERS]; /* calls that are too deep to be on the stack */
    uint32_t process, generation;
    int32_t cpu;         /* of its last call or return, */
    int64_t heard_ns;    /* and when that was */
    bool is_uncertain;   /* since events were lost */
    int32_t handler_cpu; /* of the interrupt handler that started last in place of the task, */
    int64_t handler_ns;  /* and when that was */
    int64_t left_out;    /* how many of its calls ftrace left out so far; -1: not known */
    int64_t last_ns;     /* up to here time is accounted for */
    bool is_gone;        /* the task is nowhere since gone_ns, as far as is known */
    int64_t gone_ns;
    int64_t blocked_ns; /* in all */
};

/* Those whose addresses mean the same. */
struct process {
    uint32_t host, generation;
    int32_t pid;
    LULL_VEC(uint32_t) pending; /* functions whose place was not looked up */
};

struct lull_calls {
    struct lull_model *model;
    int64_t start_ns, end_ns;
    void (*ended)(void *user, const struct lull_call *call);
    void *user;
    void (*spent)(void *user, const struct lull_calls_stretch *stretch);
    void *spent_user;
    LULL_VEC(struct line) lines;
    LULL_VEC(uint32_t) by_task; /* line of each, or LULL_NONE */
    LULL_VEC(struct process) processes;
    LULL_VEC(struct lull_calls_function) functions;
    LULL_VEC(struct lull_calls_node) nodes;
    LULL_VEC(struct lull_calls_wait) waits;
    LULL_VEC(int64_t) lost_ns; /* when events were lost last on a CPU */
    struct lull_map by_pid, children, by_wait, by_cpu;
    bool are_fast;
};

static inline uint64_t calls_pair(uint32_t a, uint32_t b)
{
    return (uint64_t)a << 32 | b;
}

/* ---- processes ---- */

uint32_t calls_process(struct lull_calls *calls, uint32_t host, int32_t pid);
/* Looks up what the addresses of functions are that were not looked up yet. */
void calls_resolve(struct lull_calls *calls, struct process *process);
/* Its addresses are about to mean something else. */
void calls_renew(struct lull_calls *calls, uint32_t host, int32_t pid);

/* ---- lines and paths ---- */

/* NULL: the task called nothing yet. */
struct line *calls_find_line(struct lull_calls *calls, uint32_t task);
/* Of a new one time counts from t on. */
struct line *calls_line_of(struct lull_calls *calls, uint32_t task, uint32_t host, int32_t pid,
                           int64_t t);
/* Addresses of a line got new meanings, but what is on its stack was called by the old. */
void calls_forget_addresses(struct lull_calls *calls, struct line *line, uint32_t generation);
struct lull_calls_function *calls_function_of(struct lull_calls *calls, const struct frame *frame);
/* The node of a function that is called from `parent`. */
uint32_t calls_child(struct lull_calls *calls, struct line *line, uint32_t parent, uint8_t layer,
                     uint64_t key);
/* The node of the innermost frame, or the root. */
uint32_t calls_top(const struct line *line);

/* ---- time and frames ---- */

/* When events were lost last on a CPU. */
int64_t *calls_lost_on(struct lull_calls *calls, uint32_t host, int32_t cpu);
/* The time up to t was spent in the innermost frame. */
void calls_account(struct lull_calls *calls, struct line *line, int64_t t);
void calls_add_wait(struct lull_calls *calls, struct line *line,
                    const struct lull_state_fact *fact);
void calls_push(struct lull_calls *calls, struct line *line, uint8_t layer, uint64_t key,
                int32_t depth, int64_t t, unsigned flags);
/* Ends frames until so many are left. */
void calls_pop_to(struct lull_calls *calls, struct line *line, size_t count, int64_t t,
                  unsigned flags);
/* Interrupts in place of the task are over, if there are any, as their task does something else. */
void calls_leave_interrupts(struct lull_calls *calls, struct line *line, int64_t t);
/* What was called until the last event of the task, and since then, is not all known. */
void calls_doubt(struct line *line);
/* What the kernel did for the task is over: it is in its own code. */
void calls_leave_kernel(struct lull_calls *calls, struct line *line, int64_t t);
/* Ends the innermost frame of the layer that has the key (`is_any`: whatever it has), and all that
 * it called. False: there is none. */
bool calls_end(struct lull_calls *calls, struct line *line, uint8_t layer, uint64_t key,
               bool is_any, int64_t t);

#endif
