/* SPDX-License-Identifier: MIT */
/* What runs on the host and in its guests while all are recorded, and says what happened to it: times are CLOCK_MONOTONIC, in ns.
 *     clockloop SECONDS [TURNS]    reads the clock in a loop, and does nothing for so many turns in between; each time that it
 *                                  jumped by 1 ms or more
 *     reader FILE N        reads a block N times, past the page cache; when each read started and ended
 *     NAME SECONDS         uses CPU; when it did so, and how much it got
 * Tasks are known by the name of their program. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 20000, GAP_NS = 1000000, BLOCK = 4096, APART = 1 << 20 };

static int64_t from[MOST], until[MOST];

static int64_t clock_ns(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static void print_all(const char *what, int n)
{
    for (int i = 0; i < n; i++) {
        printf("%s %lld %lld\n", what, (long long)from[i], (long long)until[i]);
    }
}

static int see_gaps(double seconds, int turns)
{
    const int64_t begin = clock_ns(CLOCK_MONOTONIC), end = begin + (int64_t)(seconds * 1e9);
    int n = 0;
    int64_t last = begin, now;
    while ((now = clock_ns(CLOCK_MONOTONIC)) < end) {
        if (now - last >= GAP_NS && n < MOST) {
            from[n] = last;
            until[n++] = now;
        }
        last = now;
        for (volatile int i = 0; i < turns; i++) {
        }
    }
    printf("gaps %lld %lld tid %d\n", (long long)begin, (long long)last, gettid());
    print_all("gap", n);
    return 0;
}

static int burn(double seconds)
{
    const int64_t begin = clock_ns(CLOCK_MONOTONIC), end = begin + (int64_t)(seconds * 1e9);
    const int64_t had_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    int64_t now;
    while ((now = clock_ns(CLOCK_MONOTONIC)) < end) {
        for (volatile int i = 0; i < 1000; i++) {
        }
    }
    printf("burn %lld %lld tid %d cpu %lld\n", (long long)begin, (long long)now, gettid(),
           (long long)(clock_ns(CLOCK_PROCESS_CPUTIME_ID) - had_ns));
    return 0;
}

static int read_blocks(const char *path, int n)
{
    const int file = open(path, O_RDONLY | O_DIRECT);
    void *block;
    if (file < 0 || n > MOST || posix_memalign(&block, BLOCK, BLOCK)) {
        return 1;
    }
    for (int i = 0; i < n; i++) {
        from[i] = clock_ns(CLOCK_MONOTONIC);
        if (pread(file, block, BLOCK, (off_t)i * APART) != BLOCK) {
            return 1;
        }
        until[i] = clock_ns(CLOCK_MONOTONIC);
    }
    printf("reads %lld %lld tid %d\n", (long long)from[0], (long long)until[n - 1], gettid());
    print_all("read", n);
    return 0;
}

int main(int argc, char **argv)
{
    const char *name = strrchr(argv[0], '/') ? strrchr(argv[0], '/') + 1 : argv[0];
    if (argc >= 2 && strcmp(name, "clockloop") == 0) {
        return see_gaps(atof(argv[1]), argc > 2 ? atoi(argv[2]) : 0);
    }
    if (argc == 2) {
        return burn(atof(argv[1]));
    }
    return argc == 3 ? read_blocks(argv[1], atoi(argv[2])) : 1;
}
