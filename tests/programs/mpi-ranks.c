/* SPDX-License-Identifier: MIT */
/* Four ranks of a real MPI that compute for a different time each and meet at a barrier, five times. Each
 * stamps what it does as LTTng-UST events, and prints what it measured by itself: how long it computed and
 * waited, and how much of its time it had a CPU. */
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "mpi-ranks-tp.h"

#include <mpi.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS = 5, STEP_US = 2000 };

static double now(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
    double compute = 0, wait = 0, wait_cpu = 0;
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Barrier(MPI_COMM_WORLD);
    lttng_ust_tracepoint(mpi, init, rank);
    double at = now(CLOCK_MONOTONIC);
    for (int i = 0; i < ROUNDS; i++) {
        usleep(STEP_US * (rank + 1)); /* as if it computed */
        lttng_ust_tracepoint(mpi, barrier_begin, rank);
        const double begin = now(CLOCK_MONOTONIC), cpu = now(CLOCK_THREAD_CPUTIME_ID);
        compute += begin - at;
        MPI_Barrier(MPI_COMM_WORLD);
        at = now(CLOCK_MONOTONIC);
        wait += at - begin;
        wait_cpu += now(CLOCK_THREAD_CPUTIME_ID) - cpu;
        lttng_ust_tracepoint(mpi, barrier_end, rank);
    }
    lttng_ust_tracepoint(mpi, finalize, rank);
    printf("rank %d tid %d compute %.6f wait %.6f cpu in wait %.6f\n", rank, (int)getpid(), compute,
           wait, wait_cpu);
    fflush(stdout);
    MPI_Finalize();
    return 0;
}
