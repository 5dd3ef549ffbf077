/* SPDX-License-Identifier: MIT */
/* What others see of the reader of perf.data. */
#ifndef LULL_SOURCE_PERF_SOURCE_H
#define LULL_SOURCE_PERF_SOURCE_H

#include "source/files/location.h"
#include "source/source.h"

/* The `open` of struct lull_file_kind for such files; an error in a build without libtraceevent. */
struct lull_source *lull_perf_source_open(struct lull_location *location,
                                          const struct lull_report *report, GError **error);

#endif
