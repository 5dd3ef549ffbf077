/* SPDX-License-Identifier: MIT */
/* Marks that are known: each line on stdout is a name, a cookie, and CLOCK_MONOTONIC before and after its begin, and before and
 * after its end. `live-marks N` makes N of random length up to 2 ms, every third ended by another process; then some that are
 * special. */
#include <lull/mark.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static void spin(int64_t ns)
{
    const int64_t end = now_ns() + ns;
    while (now_ns() < end) {
    }
}

static void end(const char *name, const char *cookie, const int64_t begin[2])
{
    const int64_t before = now_ns();
    lull_mark_end(name, cookie);
    printf("%s %s %lld %lld %lld %lld\n", name, cookie, (long long)begin[0], (long long)begin[1],
           (long long)before, (long long)now_ns());
    fflush(stdout);
}

static void begin(const char *name, const char *cookie, int64_t stamps[2])
{
    stamps[0] = now_ns();
    lull_mark_begin(name, cookie);
    stamps[1] = now_ns();
}

static void mark(const char *name, const char *cookie, int64_t ns, int elsewhere)
{
    int64_t stamps[2];
    begin(name, cookie, stamps);
    spin(ns);
    if (!elsewhere) {
        end(name, cookie, stamps);
        return;
    }
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        end(name, cookie, stamps);
        _exit(0);
    }
    waitpid(child, NULL, 0);
}

int main(int argc, char **argv)
{
    const int n = argc > 1 ? atoi(argv[1]) : 1;
    char cookie[300];
    int64_t first[2], again[2], long_begin[2];
    srand(7);
    for (int i = 0; i < n; i++) {
        snprintf(cookie, sizeof cookie, "order-%d", i);
        mark("work", cookie, rand() % 2000000, i % 3 == 0);
    }
    mark("other", "order-0", 3000000, 0);             /* of no rule */
    for (int length = 255; length <= 256; length++) { /* the longest, and one that is not seen */
        memset(cookie, 'a', sizeof cookie);
        cookie[length] = '\0';
        mark("work", cookie, 3000000, 0);
    }
    begin("work", "twice", first);
    spin(3000000);
    begin("work", "twice", again); /* the first is replaced */
    end("work", "twice", again);
    begin("work", "open", first);
    begin("work", "outer", long_begin); /* two at a time */
    begin("work", "inner", again);
    spin(3000000);
    end("work", "outer", long_begin);
    end("work", "inner", again);
    lull_mark_end("work", "never begun");
    return 0;
}
