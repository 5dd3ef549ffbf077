/* SPDX-License-Identifier: MIT */
/* Reads the first line of /proc/stat: the sum over CPUs. */
#include "record/steal.h"

#include <stdio.h>
#include <unistd.h>

int64_t lull_steal_ns(void)
{
    FILE *file = fopen("/proc/stat", "re");
    const long per_s = sysconf(_SC_CLK_TCK);
    long long ticks = -1;
    if (!file) {
        return -1;
    }
    /* user, nice, system, idle, iowait, irq, softirq, steal */
    if (fscanf(file, "cpu %*u %*u %*u %*u %*u %*u %*u %lld", &ticks) != 1) {
        ticks = -1;
    }
    fclose(file);
    return ticks < 0 || per_s <= 0 ? -1 : ticks * (1000000000 / per_s);
}
