/* A process that cleans up after the recorder if that one is killed. It waits at a pipe: when the
 * recorder is gone without having said that all is well, it removes what it was told about. */
#ifndef LULL_RECORD_GUARD_H
#define LULL_RECORD_GUARD_H

#include "record/tracer.h"

struct lull_guard {
    pid_t pid;
    int pipe; /* to it; -1: there is none */
};

/* Forks it, so it has to come before threads. */
bool lull_guard_start(struct lull_guard *guard, GError **error);
/* The directory is about to be made: it is to be removed if it is empty. */
void lull_guard_report_path(const struct lull_guard *guard, const char *path);
/* From now on the directory is to be removed, and what the tracer has set up; each replaces what
 * was told before. */
void lull_guard_report_directory(const struct lull_guard *guard, const char *path);
void lull_guard_report_tracer(const struct lull_guard *guard, const struct lull_tracer *tracer);
/* Nothing is to be removed any more; waits for its end. */
void lull_guard_end(struct lull_guard *guard);

#endif
