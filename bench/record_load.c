/* SPDX-License-Identifier: MIT */
/* What to record when the cost of recording is measured: prints how many nanoseconds a loop took.
 * calls: system calls that do next to nothing; switches: a byte goes to and fro between two
 * processes on one CPU; packets: the same by TCP, to a port of the loopback. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
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

/* The byte goes by there[1] to there[0], and by back[1] to back[0]. */
static void open_pipes(int there[2], int back[2])
{
    must(pipe(there), "pipe");
    must(pipe(back), "pipe");
}

/* The same over one connection to this port. */
static void open_connection(int port, int there[2], int back[2])
{
    const int one = 1;
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const int listener = socket(AF_INET, SOCK_STREAM, 0);
    must(listener, "socket");
    must(setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one), "SO_REUSEADDR");
    must(bind(listener, (struct sockaddr *)&address, sizeof address), "bind");
    must(listen(listener, 1), "listen");
    back[0] = there[1] = socket(AF_INET, SOCK_STREAM, 0);
    must(back[0], "socket");
    must(connect(back[0], (struct sockaddr *)&address, sizeof address), "connect");
    back[1] = there[0] = accept(listener, NULL, NULL);
    must(back[1], "accept");
    must(setsockopt(back[0], IPPROTO_TCP, TCP_NODELAY, &one, sizeof one), "TCP_NODELAY");
    must(setsockopt(back[1], IPPROTO_TCP, TCP_NODELAY, &one, sizeof one), "TCP_NODELAY");
    close(listener);
}

static void stay_on_one_cpu(void)
{
    cpu_set_t set;
    must(sched_getaffinity(0, sizeof set, &set), "sched_getaffinity");
    int cpu = 0;
    while (!CPU_ISSET(cpu, &set)) {
        cpu++;
    }
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    must(sched_setaffinity(0, sizeof set, &set), "sched_setaffinity");
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
    const int is_calls = argc == 3 && strcmp(argv[1], "calls") == 0;
    const int is_switches = argc == 3 && strcmp(argv[1], "switches") == 0;
    const int is_packets = argc == 4 && strcmp(argv[1], "packets") == 0;
    if (!is_calls && !is_switches && !is_packets) {
        fprintf(stderr, "usage: %s calls|switches COUNT, or %s packets COUNT PORT\n", argv[0],
                argv[0]);
        return 2;
    }
    const long count = atol(argv[2]);
    int there[2], back[2];
    clockid_t other = CLOCK_PROCESS_CPUTIME_ID;
    if (!is_calls) {
        stay_on_one_cpu();
        if (is_packets) {
            open_connection(atoi(argv[3]), there, back);
        } else {
            open_pipes(there, back);
        }
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
