/* SPDX-License-Identifier: MIT */
/* What is between an alarm and the moment at which the buffers stop runs before all usual programs: on a
 * machine that is slow because too much wants to run, each step would wait for its turn, some ten
 * milliseconds. */
#ifndef LULL_TRIGGER_URGENT_H
#define LULL_TRIGGER_URGENT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* A thread that serves in a loop: somebody who sends much must not make it take a CPU from everybody. */
struct lull_urgent {
    pid_t pid; /* the first thread of that process; 0: the calling one */
    bool is_lowered;
    int64_t since_ns,
        used_ns; /* when it was judged last, and the time on CPUs that it had used then */
};

/* The thread runs before all usual programs, and that of another process before the calling one; or as a usual one. Threads and processes that it starts are
 * usual. False, and errno says why, if that cannot be. */
bool lull_urgent_set(pid_t pid, bool is_urgent);

/* The thread is urgent from now on. False, and errno says why, if that cannot be. */
bool lull_urgent_start(struct lull_urgent *urgent, pid_t pid);
/* Called now and then: who has used more than a quarter of a CPU is usual until it uses less. */
void lull_urgent_check(struct lull_urgent *urgent);

#endif
