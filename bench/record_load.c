/* SPDX-License-Identifier: MIT */
/* What to record when the cost of recording is measured: prints how many nanoseconds a loop took.
 * calls: system calls that do next to nothing; switches: a byte goes to and fro between two
 * processes on one CPU. */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static void must(long result, const char *what)
{
    if (result >= 0) {
        return;
    }
    perror(what);
    exit(2);
}

static long long now_ns(clockid_t clock)
{
    struct timespec ts;
    must(clock_gettime(clock, &ts), "clock_gettime");
    return ts.tv_sec * 1000000000LL + ts.tv_nsec;
}

/* One half asks who the parent is, the other reads a byte of zeros. */
static void calls(long count)
{
    char byte;
    int fd = open("/dev/zero", O_RDONLY);
    must(fd, "/dev/zero");
    for (long i = 0; i < count / 2; i++) {
        must(syscall(SYS_getppid), "getppid");
        must(read(fd, &byte, 1), "read");
    }
    close(fd);
}

static void echo(int from, int to)
{
    char byte;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    while (read(from, &byte, 1) == 1) {
        must(write(to, &byte, 1), "write");
    }
    _exit(0);
}

static void switches(long count, const int there[2], const int back[2])
{
    char byte = 0;
    for (long i = 0; i < count / 2; i++) {
        must(write(there[1], &byte, 1), "write");
        must(read(back[0], &byte, 1), "read");
    }
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        fprintf(stderr, "usage: %s calls|switches COUNT\n", argv[0]);
        return 2;
    }
    const long count = atol(argv[2]);
    const int is_calls = strcmp(argv[1], "calls") == 0;
    int there[2], back[2];
    clockid_t other = CLOCK_PROCESS_CPUTIME_ID;
    if (!is_calls) {
        cpu_set_t set;
        must(sched_getaffinity(0, sizeof set, &set), "sched_getaffinity");
        int cpu = 0;
        while (!CPU_ISSET(cpu, &set)) {
            cpu++;
        }
        CPU_ZERO(&set);
        CPU_SET(cpu, &set);
        must(sched_setaffinity(0, sizeof set, &set), "sched_setaffinity");
        must(pipe(there), "pipe");
        must(pipe(back), "pipe");
        pid_t child = fork();
        must(child, "fork");
        if (child == 0) {
            echo(there[0], back[1]);
        }
        clock_getcpuclockid(child, &other);
        switches(100, there, back); /* both run */
    }
    long long start_ns = now_ns(CLOCK_MONOTONIC);
    long long own_ns = now_ns(CLOCK_PROCESS_CPUTIME_ID), other_ns = now_ns(other);
    if (is_calls) {
        calls(count);
    } else {
        switches(count, there, back);
    }
    own_ns = now_ns(CLOCK_PROCESS_CPUTIME_ID) - own_ns;
    other_ns = is_calls ? 0 : now_ns(other) - other_ns;
    printf("%lld %lld\n", now_ns(CLOCK_MONOTONIC) - start_ns, own_ns + other_ns);
    return 0;
}
