/* SPDX-License-Identifier: MIT */
/* The lowest real-time priorities are enough: nothing that a user starts has one. */
#include "trigger/urgent.h"

#include <errno.h>
#include <sched.h>
#include <sys/resource.h>
#include <time.h>

#include "base/time.h"

/* Who speaks does a little at a time, and must not wait for the CPU of who looks for connections meanwhile. */
#define OWN_PRIORITY 1
#define SPEAKER_PRIORITY 2
/* Where groups of processes have no share of real time (CONFIG_RT_GROUP_SCHED). */
#define NICE (-15)
/* How long it is watched before it is judged. */
#define WINDOW_NS (LULL_NS_PER_S / 10)
#define MOST_SHARE 4 /* a quarter */

static int64_t clock_ns(clockid_t clock)
{
    struct timespec time = {0};
    clock_gettime(clock, &time);
    return (int64_t)time.tv_sec * LULL_NS_PER_S + time.tv_nsec;
}

/* Of a process all threads: from outside there is nothing else. */
static int64_t used_ns(pid_t pid)
{
    clockid_t clock = CLOCK_THREAD_CPUTIME_ID;
    return pid == 0 || clock_getcpuclockid(pid, &clock) == 0 ? clock_ns(clock) : 0;
}

bool lull_urgent_set(pid_t pid, bool is_urgent)
{
    const struct sched_param usual = {0}, urgent = {.sched_priority =
                                                        pid == 0 ? OWN_PRIORITY : SPEAKER_PRIORITY};
    if (is_urgent && sched_setscheduler(pid, SCHED_RR | SCHED_RESET_ON_FORK, &urgent) == 0) {
        return true;
    }
    const int why = errno, nice = getpriority(PRIO_PROCESS, (id_t)pid);
    const bool is_done = sched_setscheduler(pid, SCHED_OTHER | SCHED_RESET_ON_FORK, &usual) == 0 &&
                         /* In Linux of the one thread. */
                         setpriority(PRIO_PROCESS, (id_t)pid,
                                     is_urgent  ? NICE
                                     : nice < 0 ? 0
                                                : nice) == 0;
    errno = why;
    return is_done;
}

bool lull_urgent_start(struct lull_urgent *urgent, pid_t pid)
{
    *urgent = (struct lull_urgent){
        .pid = pid, .since_ns = clock_ns(CLOCK_MONOTONIC), .used_ns = used_ns(pid)};
    return lull_urgent_set(pid, true);
}

void lull_urgent_check(struct lull_urgent *urgent)
{
    const int64_t now_ns = clock_ns(CLOCK_MONOTONIC), took_ns = now_ns - urgent->since_ns;
    if (took_ns < WINDOW_NS) {
        return;
    }
    const int64_t used = used_ns(urgent->pid);
    const bool is_lowered = used - urgent->used_ns > took_ns / MOST_SHARE;
    if (is_lowered != urgent->is_lowered) {
        lull_urgent_set(urgent->pid, !is_lowered);
    }
    *urgent = (struct lull_urgent){urgent->pid, is_lowered, now_ns, used};
}
