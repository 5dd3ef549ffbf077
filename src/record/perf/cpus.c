/* SPDX-License-Identifier: MIT */
/* A CPU that is switched off takes its perf events with it, also when the machine is suspended: nothing is recorded of it
 * when it comes back, and no error tells. */
#include "record/perf/perf.h"

#include <time.h>

#define LOOK_NS INT64_C(1000000000)
/* More than comes between two looks at a clock. */
#define ASLEEP_NS 10000000

static int64_t clock_ns(clockid_t id)
{
    struct timespec now;
    clock_gettime(id, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* How long the machine was suspended since it started. */
static int64_t asleep_ns(void)
{
    return clock_ns(CLOCK_BOOTTIME) - clock_ns(CLOCK_MONOTONIC);
}

void perfrec_cpus_start(struct perfrec_cpus *cpus, const struct perfrec_open *open)
{
    cpus->was_off = g_new0(bool, open->n_rings);
    cpus->asleep_ns = asleep_ns();
}

static bool contains(const GArray *online, int cpu)
{
    for (guint i = 0; i < online->len; i++) {
        if (g_array_index(online, int, i) == cpu) {
            return true;
        }
    }
    return false;
}

static bool fail(int cpu, const char *why, GError **error)
{
    g_set_error(error, LULL_ERROR, LULL_ERROR_IO,
                "perf no longer records on CPU %d, because %s: start again (ftrace goes on)", cpu,
                why);
    return false;
}

bool perfrec_cpus_check(struct perfrec_cpus *cpus, const struct perfrec_open *open, GError **error)
{
    const int64_t now_ns = clock_ns(CLOCK_MONOTONIC);
    if (!cpus->was_off || now_ns - cpus->looked_ns < LOOK_NS) {
        return true;
    }
    g_autoptr(GArray) online = g_array_new(FALSE, FALSE, sizeof(int));
    cpus->looked_ns = now_ns;
    if (!perfrec_online_cpus(online, NULL)) {
        return true;
    }
    if (open->n_rings > 1 && asleep_ns() - cpus->asleep_ns > ASLEEP_NS) {
        return fail(open->cpus[1], "the machine was suspended", error);
    }
    for (uint32_t i = 0; i < open->n_rings; i++) {
        if (!contains(online, open->cpus[i])) {
            cpus->was_off[i] = true;
        } else if (cpus->was_off[i]) {
            return fail(open->cpus[i], "it was switched off and on again", error);
        }
    }
    return true;
}

void perfrec_cpus_clear(struct perfrec_cpus *cpus)
{
    g_clear_pointer(&cpus->was_off, g_free);
}
