/* SPDX-License-Identifier: MIT */
/* The helper of the programs of known structure. Stamps are kept in shared memory and written when
 * all is over, so that they cost a task some microseconds and no disk. */
#include "truth.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MAX_STAMPS = 4096, LIFE_S = 60 };

struct record {
    int64_t time_ns, cpu_ns, delay_ns;
    pid_t tid;
    char name[16], label[16];
};

static struct {
    _Atomic int count;
    struct record records[MAX_STAMPS];
} *stamps;
static const char *stamps_file;
static int stamps_fd;

long must(long result, const char *what)
{
    if (result >= 0) {
        return result;
    }
    fprintf(stderr, "%s: %s\n", what, strerror(errno));
    exit(2);
}

static int64_t now_ns(clockid_t clock)
{
    struct timespec ts;
    must(clock_gettime(clock, &ts), "clock_gettime");
    return ts.tv_sec * INT64_C(1000000000) + ts.tv_nsec;
}

/* How long the task has been kept waiting for a CPU, by the kernel's own account; -1 if it keeps
 * none. */
static int64_t delay_ns(void)
{
    char text[96] = "";
    long long ran, waited = -1;
    int fd = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return -1;
    }
    ssize_t length = read(fd, text, sizeof text - 1);
    close(fd);
    return length > 0 && sscanf(text, "%lld %lld", &ran, &waited) == 2 ? waited : -1;
}

void stamp(const char *label)
{
    int number = atomic_fetch_add(&stamps->count, 1);
    if (number >= MAX_STAMPS) {
        must(-1, "too many stamps");
    }
    struct record *record = &stamps->records[number];
    snprintf(record->label, sizeof record->label, "%s", label);
    prctl(PR_GET_NAME, record->name);
    record->tid = gettid();
    /* Again if the CPU was taken away meanwhile: the three are to be of one moment. */
    for (int i = 0; i < 100; i++) {
        record->delay_ns = delay_ns();
        record->cpu_ns = now_ns(CLOCK_THREAD_CPUTIME_ID);
        record->time_ns = now_ns(CLOCK_MONOTONIC);
        if (delay_ns() == record->delay_ns) {
            break;
        }
    }
}

void truth_name(const char *name)
{
    prctl(PR_SET_NAME, name);
}

static void map_stamps(void)
{
    stamps =
        mmap(NULL, sizeof *stamps, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, stamps_fd, 0);
    if (stamps == MAP_FAILED) {
        must(-1, "mmap");
    }
}

void truth_begin(int argc, char **argv, const char *name)
{
    if (argc < 2) {
        fprintf(stderr, "usage: %s FILE-FOR-STAMPS [WHAT]\n", argv[0]);
        exit(2);
    }
    stamps_file = argv[1];
    stamps_fd = (int)must(memfd_create("stamps", 0), "memfd_create");
    must(ftruncate(stamps_fd, sizeof *stamps), "ftruncate");
    map_stamps();
    alarm(LIFE_S);
    truth_name(name);
}

void truth_execute(char *program)
{
    char fd[12], file[4096];
    snprintf(fd, sizeof fd, "%d", stamps_fd);
    snprintf(file, sizeof file, "%s", stamps_file);
    execv(program, (char *[]){program, file, fd, "again", NULL});
    must(-1, program);
    abort();
}

bool truth_is_again(int argc, char **argv)
{
    return argc == 4 && strcmp(argv[3], "again") == 0;
}

void truth_begin_again(char **argv, const char *name)
{
    stamps_file = argv[1];
    stamps_fd = atoi(argv[2]);
    map_stamps();
    truth_name(name);
}

void truth_end(void)
{
    FILE *file = fopen(stamps_file, "w");
    if (!file) {
        must(-1, stamps_file);
    }
    for (int i = 0; i < stamps->count; i++) {
        const struct record *r = &stamps->records[i];
        fprintf(file, "%lld %lld %lld %d %s %s\n", (long long)r->time_ns, (long long)r->cpu_ns,
                (long long)r->delay_ns, r->tid, r->name, r->label);
    }
    must(fclose(file), stamps_file);
    exit(0);
}

void burn(int ms)
{
    stamp("burns");
    int64_t end_ns = now_ns(CLOCK_THREAD_CPUTIME_ID) + ms * INT64_C(1000000);
    while (now_ns(CLOCK_THREAD_CPUTIME_ID) < end_ns) {
        /* The CPU clock is a system call; this one is none. */
        int64_t pause_ns = now_ns(CLOCK_MONOTONIC) + 100000;
        while (now_ns(CLOCK_MONOTONIC) < pause_ns)
            ;
    }
}

void nap(int ms)
{
    stamp("naps");
    struct timespec rest = {ms / 1000, ms % 1000 * 1000000};
    while (clock_nanosleep(CLOCK_MONOTONIC, 0, &rest, &rest) == EINTR)
        ;
}

pid_t truth_process(const char *name, void (*run)(void *), void *argument)
{
    pid_t parent = getpid(), pid = (pid_t)must(fork(), "fork");
    if (pid > 0) {
        return pid;
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) {
        _exit(2);
    }
    truth_name(name);
    run(argument);
    _exit(0);
}

void truth_wait_for(pid_t child)
{
    int status;
    must(waitpid(child, &status, 0), "waitpid");
    if (status != 0) {
        fprintf(stderr, "a child failed: %#x\n", status);
        exit(2);
    }
}

struct thread_start {
    const char *name;
    void (*run)(void *);
    void *argument;
};

static void *run_thread(void *user)
{
    struct thread_start *start = user;
    truth_name(start->name);
    start->run(start->argument);
    free(start);
    return NULL;
}

unsigned long truth_thread(const char *name, void (*run)(void *), void *argument)
{
    pthread_t thread;
    struct thread_start *start = malloc(sizeof *start);
    if (!start) {
        must(-1, "malloc");
    }
    *start = (struct thread_start){name, run, argument};
    must(-pthread_create(&thread, NULL, run_thread, start), "pthread_create");
    return thread;
}

void truth_join(unsigned long thread)
{
    must(-pthread_join(thread, NULL), "pthread_join");
}

void gate_make(struct gate *gate)
{
    must(pipe(gate->ends), "pipe");
}

void gate_open(const struct gate *gate)
{
    must(write(gate->ends[1], "", 1), "write to a gate");
}

void gate_pass(const struct gate *gate)
{
    char byte;
    if (must(read(gate->ends[0], &byte, 1), "read from a gate") != 1) {
        must(-1, "a gate was given up");
    }
}

void truth_pin(int cpu)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    must(sched_setaffinity(0, sizeof set, &set), "sched_setaffinity");
}

void truth_tcp_pair(int ends[2])
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    int one = 1, listener = (int)must(socket(AF_INET, SOCK_STREAM, 0), "socket");
    must(bind(listener, (struct sockaddr *)&address, length), "bind");
    must(listen(listener, 1), "listen");
    must(getsockname(listener, (struct sockaddr *)&address, &length), "getsockname");
    ends[0] = (int)must(socket(AF_INET, SOCK_STREAM, 0), "socket");
    must(connect(ends[0], (struct sockaddr *)&address, length), "connect");
    ends[1] = (int)must(accept(listener, NULL, NULL), "accept");
    for (int i = 0; i < 2; i++) {
        must(setsockopt(ends[i], IPPROTO_TCP, TCP_NODELAY, &one, sizeof one), "setsockopt");
    }
    close(listener);
}
