/* SPDX-License-Identifier: MIT */
/* The counters that a recording can have, by the names that perf gives them. */
#ifndef LULL_RECORD_COUNTERS_H
#define LULL_RECORD_COUNTERS_H

#include <glib.h>
#include <lull/error.h>
#include <stdbool.h>
#include <stdint.h>

/* What perf_event_open(2) knows a counter by. */
struct lull_counter_kind {
    const char *name; /* "cycles"; of raw ones as they were asked for: "r01c2" */
    uint32_t type;    /* PERF_TYPE_HARDWARE, _SOFTWARE, _RAW */
    uint64_t config;
};

/* Stands for those of the CPU that say most, or for those of the kernel where it has none. */
#define LULL_COUNTERS_DEFAULT "default"

/* Those of a list with commas between, none twice; *is_default: it is LULL_COUNTERS_DEFAULT, and not
 * all of them are wanted. An array of struct lull_counter_kind, to be freed with
 * g_array_unref(); names live as long as the program, or in `texts`. NULL and LULL_ERROR_USAGE if
 * there is no such counter. */
GArray *lull_counters_parse(const char *list, GStringChunk *texts, bool *is_default,
                            GError **error);
/* Those of such a list that this machine lets us open: each is tried. *remark becomes a sentence about
 * others, to be freed with g_free(). As above; NULL and LULL_ERROR_QUESTION if there are none. */
GArray *lull_counters_choose(const char *list, GStringChunk *texts, char **remark, GError **error);

#endif
