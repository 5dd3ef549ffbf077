/* SPDX-License-Identifier: MIT */
/* In place of the reader of trace.dat in a build without libtraceevent, zlib or zstd. */
#include "source/tracedat/source.h"

struct lull_source *lull_tracedat_source_open(struct lull_location *location,
                                              const struct lull_report *report, GError **error)
{
    g_autofree char *path = g_build_filename(location->path, location->file, NULL);
    g_set_error(error, LULL_ERROR, LULL_ERROR_UNSUPPORTED,
                "%s: a trace.dat of trace-cmd, which this build of Lull cannot read (it was made "
                "without libtraceevent, zlib or zstd)",
                path);
    return NULL;
}
