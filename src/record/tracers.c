/* SPDX-License-Identifier: MIT */
/* The tracers that are built in, best first. LTTng sees most and costs least; ftrace is in nearly
 * every kernel; perf is there for those who may not use tracefs. */
#include <stddef.h>

#include "record/tracer.h"

const struct lull_tracer_kind *const lull_tracers[] = {
#ifdef LULL_HAS_RECORD_LTTNG
    &lull_tracer_lttng,
#endif
#ifdef LULL_HAS_RECORD_FTRACE
    &lull_tracer_ftrace,
#endif
#ifdef LULL_HAS_RECORD_PERF
    &lull_tracer_perf,
#endif
    NULL,
};
