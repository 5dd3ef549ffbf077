/* SPDX-License-Identifier: MIT */
/* Which kinds of files are traces, and how to recognize them. */
#include "source/session/file_kinds.h"

#include <string.h>

#include "source/perf/source.h"
#include "source/tracedat/source.h"

static const struct lull_file_kind kinds[] = {
    {"perf.data", "PERFILE2", 8, lull_perf_source_open},
    {"perf.data", "2ELIFREP", 8, lull_perf_source_open}, /* of the other byte order */
    {"trace.dat", "\x17\x08\x44tracing", 10, lull_tracedat_source_open},
};

const struct lull_file_kind *lull_file_kind_of(const uint8_t *start, size_t size)
{
    for (size_t i = 0; i < G_N_ELEMENTS(kinds); i++) {
        if (size >= kinds[i].magic_size &&
            memcmp(start, kinds[i].magic, kinds[i].magic_size) == 0) {
            return &kinds[i];
        }
    }
    return NULL;
}
