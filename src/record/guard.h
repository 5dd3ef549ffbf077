/* SPDX-License-Identifier: MIT */
/* A process that cleans up after the recorder if that one is killed: it waits at a pipe, and when
 * the recorder is gone without having said that all is well, it removes what the tracer has set up
 * on the machine. It never touches a recording: that is for the keeper, its child, which ends after
 * it has done so. */
#ifndef LULL_RECORD_GUARD_H
#define LULL_RECORD_GUARD_H

#include "record/keeper.h"
#include "record/tracer.h"

struct lull_guard {
    pid_t pid;
    int pipe; /* to it; -1: there is none */
};

/* Forks both, so it has to come before threads. */
bool lull_guard_start(struct lull_guard *guard, struct lull_keeper *keeper,
                      const struct lull_invoker *invoker, GError **error);
/* From now on this directory of a flight recorder (control.h) is to be removed, and what a tracer
 * has set up, by that name (struct lull_tracer_kind). */
void lull_guard_report_control(const struct lull_guard *guard, const char *dir);
void lull_guard_report_tracer(const struct lull_guard *guard, const struct lull_tracer_kind *kind,
                              const char *name);
/* And this file. */
void lull_guard_report_leftover(const struct lull_guard *guard, const char *path);
/* False and an error if one of them has been killed, which makes no recording any more, or leaves behind what was set up. */
bool lull_guard_is_there(const struct lull_guard *guard, const struct lull_keeper *keeper,
                         GError **error);
/* Nothing is to be removed any more; waits for the end of both. */
void lull_guard_end(struct lull_guard *guard, struct lull_keeper *keeper);

#endif
