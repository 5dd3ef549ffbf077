/* SPDX-License-Identifier: MIT */
/* Counters of the thread, read with each event if `lull record --call-counters` requests it: those that
 * the kernel tells without a file descriptor, which would be one of the program's. */
#include <errno.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "hook/stream.h"

#define NOT_READ UINT64_MAX /* as src/kernel/machine_counters.c has it */

unsigned hook_n_counters;

enum counter { TASK_CLOCK, PAGE_FAULTS, MINOR_FAULTS, MAJOR_FAULTS, CONTEXT_SWITCHES, N_COUNTERS };
_Static_assert(N_COUNTERS == HOOK_MOST_COUNTERS, "room for all");

static const char *const names[N_COUNTERS] = {"task-clock", "page-faults", "minor-faults",
                                              "major-faults", "context-switches"};
static enum counter wanted[N_COUNTERS];
static bool has_usage; /* some are not the clock */

/* The list is lull's own, in the order of the metadata. */
void hook_init_counters(void)
{
    const char *at = getenv("LULL_CALLS_COUNTERS");
    while (at && *at && hook_n_counters < N_COUNTERS) {
        const size_t length = strcspn(at, ",");
        for (enum counter i = TASK_CLOCK; i < N_COUNTERS; i++) {
            if (strlen(names[i]) == length && memcmp(names[i], at, length) == 0) {
                wanted[hook_n_counters++] = i;
                has_usage |= i != TASK_CLOCK;
            }
        }
        at += length + (at[length] == ',');
    }
}

static uint64_t clock_ns(void)
{
    struct timespec now;
    return clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now) != 0
               ? NOT_READ
               : (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static uint64_t value_of(enum counter counter, const struct rusage *usage)
{
    switch (counter) {
    case TASK_CLOCK:
        return clock_ns();
    case PAGE_FAULTS:
        return (uint64_t)usage->ru_minflt + (uint64_t)usage->ru_majflt;
    case MINOR_FAULTS:
        return (uint64_t)usage->ru_minflt;
    case MAJOR_FAULTS:
        return (uint64_t)usage->ru_majflt;
    default:
        return (uint64_t)usage->ru_nvcsw + (uint64_t)usage->ru_nivcsw;
    }
}

void hook_read_counters(uint64_t values[static HOOK_MOST_COUNTERS])
{
    struct rusage usage;
    const int why = errno;
    const bool is_known = !has_usage || getrusage(RUSAGE_THREAD, &usage) == 0;
    for (unsigned i = 0; i < hook_n_counters; i++) {
        values[i] = is_known || wanted[i] == TASK_CLOCK ? value_of(wanted[i], &usage) : NOT_READ;
    }
    errno = why;
}

uint8_t *hook_put_counters(const struct hook_stream *stream, uint8_t *at)
{
    uint64_t values[HOOK_MOST_COUNTERS];
    hook_read_counters(values);
    for (unsigned i = 0; i < hook_n_counters; i++) {
        values[i] -= values[i] == NOT_READ ? 0 : stream->own[i];
    }
    return hook_put(at, values, hook_n_counters * sizeof values[0]);
}
