/* SPDX-License-Identifier: MIT */
/* Who runs where an event happens, for the languages that ask $tid, $comm, and $container, $cgroup, $pod: a context of the event if
 * it has one, else what the last sched_switch of its CPU said, if that was of the same task. */
#ifndef LULL_FILTER_WHO_H
#define LULL_FILTER_WHO_H

#include "filter/compile.h"
#include "kernel/container_history.h"
#include "kernel/running.h"

/* Values of group 0 of those given to a run. */
enum lull_who_value {
    LULL_WHO_TID,
    LULL_WHO_COMM,
    LULL_WHO_CONTAINER, /* this and the following: of the task that the kernel's events show */
    LULL_WHO_CGROUP,
    LULL_WHO_POD,
    LULL_WHO_VALUES,
};

/* What it needs of a class of events. */
struct lull_who_class {
    struct lull_load tid, comm;
    struct lull_load own_tid; /* a context: who ran, whatever the last sched_switch said */
    bool is_switch;           /* sched_switch, as the following */
    struct lull_load prev_tid, next_tid, prev_comm, next_comm;
};

/* Takes the first fields of the terms for it. */
void lull_who_reserve(struct lull_terms *terms);
/* False: no value has this name ("$tid", …). */
bool lull_who_find(const char *name, enum lull_who_value *what);
/* Its name, with $. */
const char *lull_who_name(enum lull_who_value what);
/* Whether it takes a history of containers. */
static inline bool lull_who_is_place(enum lull_who_value what)
{
    return what >= LULL_WHO_CONTAINER && what <= LULL_WHO_POD;
}
struct lull_operand lull_who_operand(enum lull_who_value what);
void lull_who_compile(struct lull_compiler *c, struct lull_who_class *who);

/* Before and after an event, where `running` (or NULL) is of its CPU: a sched_switch happens while the
 * task that leaves still runs. */
void lull_who_leaves(const struct lull_who_class *who, struct lull_run *run,
                     struct lull_running *running);
void lull_who_enters(const struct lull_who_class *who, struct lull_run *run,
                     struct lull_running *running);
/* Fills the values; borrowed from `running`. */
void lull_who_values(const struct lull_running *running, struct lull_value *values);
/* After these: where that task is at the event, of a history that may be NULL; borrowed from it. */
void lull_who_places(const struct lull_container_history *history, const struct lull_event *event,
                     struct lull_value *values);
/* A warning, if no trace has what it takes to know that. */
void lull_who_check_places(const struct lull_session *session, GString *warnings);

#endif
