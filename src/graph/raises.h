/* SPDX-License-Identifier: MIT */
/* Who gave a virtual CPU the interrupt that it handles: a thread of the program that runs the virtual
 * machine, or one of the kernel that works for it. The event of KVM that says so, where it was
 * recorded; else what the program calls, as far as the interrupts that follow show which call raises
 * which of them. */
#ifndef LULL_GRAPH_RAISES_H
#define LULL_GRAPH_RAISES_H

#include "kernel/model.h"

struct lull_raises;

/* The model is borrowed. */
struct lull_raises *lull_raises_new(const struct lull_model *model);
void lull_raises_free(struct lull_raises *raises);

/* The facts, in the order in which the model reports them. */
void lull_raises_vcpu(struct lull_raises *raises, const struct lull_vcpu_fact *fact);
/* Of any task: whether it is a virtual CPU's thread is found out here. */
void lull_raises_state(struct lull_raises *raises, const struct lull_state_fact *fact);
/* A handler that started at start_ns ended in the guest, on the virtual CPU whose thread that is. */
void lull_raises_handled(struct lull_raises *raises, uint32_t thread, uint32_t label,
                         int64_t start_ns);

struct lull_raise {
    int64_t time_ns;
    uint32_t task; /* of the host */
};

/* What raised the interrupt that the virtual CPU handles at time_ns, now, by a handler of that label.
 * False: not known, or a virtual CPU did so itself. */
bool lull_raises_find(const struct lull_raises *raises, uint32_t thread, uint32_t label,
                      int64_t time_ns, struct lull_raise *raise);

/* The handler in the guest that takes a vector of that virtual CPU, as far as those that were handled
 * so far show; LULL_NONE: not known. */
uint32_t lull_raises_label(const struct lull_raises *raises, uint32_t thread, int64_t vector);

/* The last time a virtual CPU slept. */
struct lull_vcpu_sleep {
    int64_t woken_ns;   /* when it was woken */
    int64_t resumed_ns; /* when the guest went on; INT64_MIN: not yet */
    bool is_last;       /* the guest has not been left since */
    bool is_timer;      /* a timer of the host woke it: its own, for the most part */
};

/* False: it has not slept since it was first entered. */
bool lull_raises_sleep(const struct lull_raises *raises, uint32_t thread,
                       struct lull_vcpu_sleep *sleep);

#endif
