/* SPDX-License-Identifier: MIT */
/* The table of record.def, and the names of purposes. */
#include "record/purpose.h"

#include <glib.h>
#include <string.h>

enum {
    WAIT = 1 << LULL_PURPOSE_WAIT,
    CRITPATH = 1 << LULL_PURPOSE_CRITPATH,
    IO = 1 << LULL_PURPOSE_IO,
    SCHED = 1 << LULL_PURPOSE_SCHED,
    VM = 1 << LULL_PURPOSE_VM,
    ALL = 1 << LULL_PURPOSE_ALL,
};

const struct lull_purpose_event lull_purpose_events[] = {
#define RECORD(system, name, lttng, purposes, is_needed)                                           \
    {system, name, lttng,                                                                          \
     (purposes) | ((purposes) & WAIT ? CRITPATH : 0) | ((purposes) & (WAIT | CRITPATH) ? VM : 0) | \
         ALL,                                                                                      \
     is_needed},
#include "record/record.def"
#undef RECORD
};

const uint32_t lull_purpose_n_events = G_N_ELEMENTS(lull_purpose_events);

static const char *const names[LULL_PURPOSE_COUNT] = {
    [LULL_PURPOSE_CRITPATH] = "critpath", [LULL_PURPOSE_WAIT] = "wait", [LULL_PURPOSE_IO] = "io",
    [LULL_PURPOSE_SCHED] = "sched",       [LULL_PURPOSE_VM] = "vm",     [LULL_PURPOSE_ALL] = "all",
};

const char *lull_purpose_name(enum lull_purpose purpose)
{
    return names[purpose];
}

bool lull_purpose_of(const char *name, enum lull_purpose *purpose)
{
    for (int i = 0; i < LULL_PURPOSE_COUNT; i++) {
        if (strcmp(names[i], name) == 0) {
            *purpose = (enum lull_purpose)i;
            return true;
        }
    }
    return false;
}
