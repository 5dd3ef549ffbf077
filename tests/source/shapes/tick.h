/* SPDX-License-Identifier: MIT */
/* The events of tick.c, for LTTng's macros, which read this file more than once. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER lull_test
#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "./tick.h"
#if !defined(LULL_TEST_TICK_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define LULL_TEST_TICK_H
#include <lttng/tracepoint.h>
LTTNG_UST_TRACEPOINT_EVENT(lull_test, tick, LTTNG_UST_TP_ARGS(int, n, const char *, text),
                           LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(int, n, n)
                                                   lttng_ust_field_string(text, text)))
#endif
#include <lttng/tracepoint-event.h>
