/* SPDX-License-Identifier: MIT */
/* Events of mpi-ranks.c. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER mpi
#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "./mpi-ranks-tp.h"
#if !defined(MPI_RANKS_TP_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define MPI_RANKS_TP_H
#include <lttng/tracepoint.h>
LTTNG_UST_TRACEPOINT_EVENT_CLASS(mpi, one, LTTNG_UST_TP_ARGS(int, rank),
                                 LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(int, rank, rank)))
#define E(n) LTTNG_UST_TRACEPOINT_EVENT_INSTANCE(mpi, one, mpi, n, LTTNG_UST_TP_ARGS(int, rank))
E(init) E(barrier_begin) E(barrier_end) E(finalize)
#endif
#include <lttng/tracepoint-event.h>
