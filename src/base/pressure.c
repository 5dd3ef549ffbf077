/* SPDX-License-Identifier: MIT */
/* Takes the totals of "some avg10=0.00 avg60=0.00 avg300=0.00 total=0"; Documentation/accounting/psi.rst
 * of Linux. */
#include "base/pressure.h"

#include <glib.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const char *const lull_pressure_names[LULL_PRESSURES] = {"cpu", "io", "memory"};
const char *const lull_stall_keys[LULL_STALL_FIELDS] = {
    "cpu_some_us", "io_some_us", "memory_some_us", "cpu_full_us", "io_full_us", "memory_full_us"};

/* Linux before 5.13 has no line "full" of CPUs; a kernel may count and not say. */
static int64_t total_of(const char *line, const char *which)
{
    char kind[8];
    int64_t total_us;
    return sscanf(line, "%7s avg10=%*f avg60=%*f avg300=%*f total=%" SCNd64, kind, &total_us) ==
                       2 &&
                   strcmp(kind, which) == 0 && total_us >= 0
               ? total_us
               : -1;
}

void lull_pressure_parse(const char *text, int64_t *some_us, int64_t *full_us)
{
    *some_us = *full_us = -1;
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n' ? 1 : 0;
        *some_us = MAX(*some_us, total_of(line, "some"));
        *full_us = MAX(*full_us, total_of(line, "full"));
    }
}

struct lull_stalls lull_stalls_unknown(void)
{
    struct lull_stalls stalls;
    for (uint32_t i = 0; i < LULL_STALL_FIELDS; i++) {
        *lull_stall_field(&stalls, i) = -1;
    }
    return stalls;
}

int64_t *lull_stall_field(struct lull_stalls *stalls, uint32_t field)
{
    return field < LULL_PRESSURES ? &stalls->some_us[field]
                                  : &stalls->full_us[field - LULL_PRESSURES];
}
