/* SPDX-License-Identifier: MIT */
/* The names that events of system calls have in common, whatever the tracer calls them: those of
 * LTTng, "syscall_entry_openat" and "syscall_exit_openat". */
#ifndef LULL_KERNEL_CALL_EVENTS_H
#define LULL_KERNEL_CALL_EVENTS_H

#include "base/arena.h"
#include "kernel/calls.h"
#include "source/source.h"

/* The field by which an event says which call it is of, if its class does not. */
#define LULL_CALL_NUMBER_FIELD "id"

/* A class of such events. */
struct lull_call_event {
    const char *name;         /* of all its events; NULL: each says its number */
    const char *const *names; /* by number, as many as `n_names`; NULL: no call has it */
    uint32_t n_names;
    const char *unknown; /* the name of all other numbers */
};

/* The architecture of the kernel that was traced, for the next; `machine` is the environment's
 * "architecture" or NULL. NULL: it is no kernel's trace. */
const struct call_arch *lull_call_events_arch(const struct lull_trace *trace, const char *machine);

/* NULL if the class is of no system call, or is called so already. Lies in `arena`. */
const struct lull_call_event *lull_call_event_of(const struct lull_event_class *class,
                                                 const struct call_arch *arch,
                                                 struct lull_arena *arena);

/* The name of a number; `events` is a struct lull_call_event without a name. */
const char *lull_call_event_label(const void *events, uint64_t number);

#endif
