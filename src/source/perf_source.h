/* Opens what `perf record` writes. */
#ifndef LULL_SOURCE_PERF_SOURCE_H
#define LULL_SOURCE_PERF_SOURCE_H

#include "source/source.h"

/* Opens a perf.data, in file or pipe mode. `report` is borrowed for the life of the source. NULL
 * and an error if nothing of it can be read; in a build without perf always. */
struct lull_source *lull_perf_source_open(const char *path, const struct lull_report *report,
                                          GError **error);

#endif
