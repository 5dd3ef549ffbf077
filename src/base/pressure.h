/* SPDX-License-Identifier: MIT */
/* Pressure (PSI) as Linux says it, of the machine in /proc/pressure and of control groups in their
 * *.pressure files. */
#ifndef LULL_BASE_PRESSURE_H
#define LULL_BASE_PRESSURE_H

#include <lull/recording.h>

/* "cpu", "io", "memory": as the files are called. */
extern const char *const lull_pressure_names[LULL_PRESSURES];

/* Takes the totals, in microseconds, from the text of such a file; -1: it does not say. */
void lull_pressure_parse(const char *text, int64_t *some_us, int64_t *full_us);

/* What is not known. */
struct lull_stalls lull_stalls_unknown(void);

/* A number of the six for tables: its key ("io_full_us"), and where it is. */
#define LULL_STALL_FIELDS (2 * LULL_PRESSURES)
extern const char *const lull_stall_keys[LULL_STALL_FIELDS];
int64_t *lull_stall_field(struct lull_stalls *stalls, uint32_t field);

#endif
