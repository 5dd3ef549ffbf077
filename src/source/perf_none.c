/* Stands in for the reader of perf.data in a build without it. */
#include "source/perf_source.h"

struct lull_source *lull_perf_source_open(const char *path, const struct lull_report *report,
                                          GError **error)
{
    g_set_error(error, LULL_ERROR, LULL_ERROR_UNSUPPORTED,
                "%s: it is a recording of perf, and this lull was built without support for them "
                "(it needs libtraceevent and libzstd)",
                path);
    return NULL;
}
