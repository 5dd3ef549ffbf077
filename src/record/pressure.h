/* SPDX-License-Identifier: MIT */
/* How long tasks stalled meanwhile, as the kernel counts it (PSI): of the machine, and of its control
 * groups of version 2. No event of Linux says so. */
#ifndef LULL_RECORD_PRESSURE_H
#define LULL_RECORD_PRESSURE_H

#include <lull/recording.h>

#include <glib.h>

/* A control group, and what it counted. */
struct lull_pressed_group {
    char *path;
    struct lull_stalls stalls;
};

/* What was counted since a start. */
struct lull_pressure_log;

/* NULL if this kernel counts nothing. */
struct lull_pressure_log *lull_pressure_start(int64_t now_ns);
void lull_pressure_free(struct lull_pressure_log *log);
/* Takes a sample of the machine if it is time for one: each second at first, and half as often
 * whenever there are 512. */
void lull_pressure_check(struct lull_pressure_log *log, int64_t now_ns);
void lull_pressure_end(struct lull_pressure_log *log, int64_t now_ns);

/* After the end: of the whole machine; of groups that stalled (struct lull_pressed_group *); and the
 * samples (struct lull_pressure_sample), the last at the end. */
const struct lull_stalls *lull_pressure_machine(const struct lull_pressure_log *log);
const GPtrArray *lull_pressure_groups(const struct lull_pressure_log *log);
const GArray *lull_pressure_samples(const struct lull_pressure_log *log);

#endif
