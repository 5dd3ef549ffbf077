/* SPDX-License-Identifier: MIT */
/* Waits of known length and cause, for `lull track`. What happened is written to the file argv[1] with
 * CLOCK_MONOTONIC: a line each, TID LABEL BEFORE_NS AFTER_NS SWITCHES, of which the last is how often the
 * task lost the CPU meanwhile without wanting to.
 *   live-waits FILE sleeps N AROUND_NS   sleeps of from half to one and a half of that time, which is the label
 *   live-waits FILE chain N MS ROUNDS    task c0 waits for c1, that for c2, …; the last one sleeps
 *   live-waits FILE deep N MS            sleeps in deep_inner, which deep_outer calls
 *   live-waits FILE mutex MS ROUNDS      thread waiter waits for a lock that holder has while it sleeps
 *   live-waits FILE spin MS              two tasks want one CPU; BEFORE and AFTER are their run_delay
 *   live-waits FILE disk PATH N          N direct reads of a new file of that name; "quick": done before it had gone to sleep
 *   live-waits FILE exchange PORT N AROUND_NS   requests over TCP, each on a connection of its own, answered after such a
 *                                               time: of each thing two lines, that it lies within and that lies within it;
 *                                               the last connection is refused
 *   live-waits FILE late N AROUND_NS     packets of TCP over the loopback, read so much later; likewise
 *   live-waits FILE slow PORT            a connection that is let in only when it asks again
 *   live-waits FILE lock N AROUND_NS     thread waiter waits for the kernel's lock of a pipe, which holder has while a page of
 *                                        its is missing; two lines of each, as above
 *   live-waits FILE socket MS ROUNDS     receiver waits for a TCP segment of sender on the loopback */
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "truth.h"

static int stamps;

static int64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

static long switches(void)
{
    struct rusage usage;
    must(getrusage(RUSAGE_THREAD, &usage), "getrusage");
    return usage.ru_nivcsw;
}

/* One line at once, so that tasks can share the file. */
static void note(const char *label, int64_t before, int64_t after, long lost)
{
    char line[128];
    const int n = snprintf(line, sizeof line, "%ld %s %lld %lld %ld\n", (long)syscall(SYS_gettid),
                           label, (long long)before, (long long)after, lost);
    must(write(stamps, line, (size_t)n), "write");
}

static void sleep_ns(int64_t ns)
{
    struct timespec time = {ns / 1000000000, ns % 1000000000};
    while (nanosleep(&time, &time) != 0) {
    }
}

static void run_sleeps(long n, int64_t around_ns)
{
    for (long i = 0; i < n; i++) {
        char label[32];
        const int64_t length = around_ns / 2 + around_ns * i / n;
        const long lost = switches();
        const int64_t before = now();
        sleep_ns(length);
        const int64_t after = now();
        snprintf(label, sizeof label, "%lld", (long long)length);
        note(label, before, after, switches() - lost);
    }
}

/* With frame pointers, of the two only the outer one is in the stack: syscall() has no frame. */
__attribute__((noinline)) static long deep_inner(const struct timespec *time)
{
    return syscall(SYS_nanosleep, time, NULL);
}

__attribute__((noinline)) static long deep_outer(const struct timespec *time, long n)
{
    return deep_inner(time) + n;
}

static void run_deep(long n, long ms)
{
    const struct timespec time = {0, ms * 1000000};
    long sum = 0;
    for (long i = 0; i < n; i++) {
        sum += deep_outer(&time, i);
    }
    note("deep", 0, sum, 0);
}

/* ---- chains ---- */

static void be_link(long link, long n, int64_t sleep, long rounds, int (*pipes)[2])
{
    char name[24], byte = 0;
    snprintf(name, sizeof name, "c%ld", link);
    prctl(PR_SET_NAME, name);
    for (long i = 0; i < rounds; i++) {
        const int64_t before = now();
        if (link == n - 1) {
            sleep_ns(sleep);
        } else {
            must(read(pipes[link][0], &byte, 1), "read");
        }
        note(name, before, now(), 0);
        if (link > 0) {
            must(write(pipes[link - 1][1], &byte, 1), "write");
        }
    }
}

static void run_chain(long n, int64_t sleep, long rounds)
{
    int pipes[8][2];
    for (long i = 0; i < n; i++) {
        must(pipe(pipes[i]), "pipe");
    }
    for (long i = n - 1; i >= 0; i--) {
        if (must(fork(), "fork") == 0) {
            prctl(PR_SET_PDEATHSIG, 9);
            be_link(i, n, sleep, rounds, pipes);
            _exit(0);
        }
    }
    while (wait(NULL) > 0) {
    }
}

/* ---- locks ---- */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct gate held, wanted;
static long lock_rounds;

static void *be_waiter(void *argument)
{
    prctl(PR_SET_NAME, "waiter");
    for (long i = 0; i < lock_rounds; i++) {
        gate_pass(&held);
        const int64_t before = now();
        pthread_mutex_lock(&mutex);
        note("waiter", before, now(), 0);
        pthread_mutex_unlock(&mutex);
        gate_open(&wanted);
    }
    return argument;
}

static void run_mutex(int64_t sleep, long rounds)
{
    pthread_t thread;
    lock_rounds = rounds;
    gate_make(&held);
    gate_make(&wanted);
    prctl(PR_SET_NAME, "holder");
    must(-pthread_create(&thread, NULL, be_waiter, NULL), "pthread_create");
    for (long i = 0; i < rounds; i++) {
        pthread_mutex_lock(&mutex);
        gate_open(&held);
        sleep_ns(sleep);
        pthread_mutex_unlock(&mutex);
        gate_pass(&wanted);
    }
    pthread_join(thread, NULL);
}

/* ---- one CPU for two ---- */

static int64_t run_delay(void)
{
    unsigned long long ran, delayed;
    FILE *file = fopen("/proc/thread-self/schedstat", "r");
    if (!file || fscanf(file, "%llu %llu", &ran, &delayed) != 2) {
        must(-1, "schedstat");
    }
    fclose(file);
    return (int64_t)delayed;
}

static void spin(int64_t end)
{
    const int64_t before = run_delay();
    const long lost = switches();
    while (now() < end) {
    }
    note("spin", before, run_delay(), switches() - lost);
}

static void run_spin(int64_t length)
{
    truth_pin(0);
    const int64_t end = now() + length;
    const pid_t child = (pid_t)must(fork(), "fork");
    spin(end);
    if (child == 0) {
        _exit(0);
    }
    wait(NULL);
}

/* ---- packets ---- */

static void run_socket(int64_t sleep, long rounds)
{
    int ends[2];
    char byte = 0;
    truth_tcp_pair(ends);
    if (must(fork(), "fork") == 0) {
        prctl(PR_SET_NAME, "sender");
        for (long i = 0; i < rounds; i++) {
            sleep_ns(sleep);
            must(write(ends[0], &byte, 1), "write");
        }
        _exit(0);
    }
    prctl(PR_SET_NAME, "receiver");
    for (long i = 0; i < rounds; i++) {
        const int64_t before = now();
        must(read(ends[1], &byte, 1), "read");
        note("receiver", before, now(), 0);
    }
    wait(NULL);
}

/* ---- requests and answers ---- */

static int listen_at(uint16_t port, int backlog, struct sockaddr_in *address)
{
    const int one = 1, server = (int)must(socket(AF_INET, SOCK_STREAM, 0), "socket");
    *address = (struct sockaddr_in){
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    must(setsockopt(server, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one), "setsockopt");
    must(bind(server, (struct sockaddr *)address, sizeof *address), "bind");
    must(listen(server, backlog), "listen");
    return server;
}

/* Both ends are this task, so that each stamp is before or after what it is about. */
static void exchange(int server, const struct sockaddr_in *address, int64_t length)
{
    char byte = 0, label[64];
    int64_t at[9], *next = at;
    const int client = (int)must(socket(AF_INET, SOCK_STREAM, 0), "socket");
    *next++ = now(); /* 0 */
    must(connect(client, (const struct sockaddr *)address, sizeof *address), "connect");
    *next++ = now(); /* 1 */
    const int accepted = (int)must(accept(server, NULL, NULL), "accept");
    *next++ = now(); /* 2 */
    must(send(client, &byte, 1, 0), "send");
    *next++ = now(); /* 3 */
    must(recv(accepted, &byte, 1, MSG_PEEK), "recv");
    *next++ = now(); /* 4 */
    must(recv(accepted, &byte, 1, 0), "recv");
    *next++ = now(); /* 5 */
    sleep_ns(length);
    *next++ = now(); /* 6 */
    must(send(accepted, &byte, 1, 0), "send");
    *next++ = now(); /* 7 */
    must(recv(client, &byte, 1, 0), "recv");
    *next++ = now(); /* 8 */
    static const struct {
        const char *name;
        int outer[2], inner[2];
    } things[] = {{"ttfb", {0, 7}, {2, 6}}, {"serve", {4, 7}, {5, 6}}, {"ask", {2, 8}, {3, 7}}};
    note("connect", at[0], at[1], 0);
    for (size_t i = 0; i < sizeof things / sizeof *things; i++) {
        snprintf(label, sizeof label, "%s-within", things[i].name);
        note(label, at[things[i].outer[0]], at[things[i].outer[1]], 0);
        snprintf(label, sizeof label, "%s-around", things[i].name);
        note(label, at[things[i].inner[0]], at[things[i].inner[1]], 0);
    }
    close(client);
    close(accepted);
}

static void run_exchange(uint16_t port, long n, int64_t around_ns)
{
    struct sockaddr_in address;
    const int server = listen_at(port, 8, &address);
    for (long i = 0; i < n; i++) {
        exchange(server, &address, around_ns / 2 + around_ns * i / n);
    }
    close(server);
    const int refused = (int)must(socket(AF_INET, SOCK_STREAM, 0), "socket");
    const int64_t before = now();
    connect(refused, (struct sockaddr *)&address, sizeof address);
    note("refused", before, now(), 0);
}

static void run_late(long n, int64_t around_ns)
{
    char byte = 0;
    int ends[2];
    truth_tcp_pair(ends);
    for (long i = 0; i < n; i++) {
        struct pollfd reader = {.fd = ends[1], .events = POLLIN};
        const int64_t before = now();
        must(send(ends[0], &byte, 1, 0), "send");
        must(poll(&reader, 1, 10000), "poll");
        const int64_t arrived = now();
        sleep_ns(around_ns / 2 + around_ns * i / n);
        const int64_t read = now();
        must(recv(reader.fd, &byte, 1, 0), "recv");
        note("netrx-within", before, now(), 0);
        note("netrx-around", arrived, read, 0);
    }
}

/* A full queue of connections drops the request for one more, which TCP repeats after a second. */
static void run_slow(uint16_t port)
{
    struct sockaddr_in address;
    const int server = listen_at(port, 0, &address);
    int client[3];
    for (int i = 0; i < 3; i++) {
        client[i] = (int)must(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), "socket");
        connect(client[i], (struct sockaddr *)&address, sizeof address);
    }
    const int64_t before = now();
    close((int)must(accept(server, NULL, NULL), "accept"));
    struct pollfd last = {.fd = client[2], .events = POLLOUT};
    must(poll(&last, 1, 10000), "poll");
    note("slow", before, now(), 0);
}

/* ---- locks of the kernel's ---- */

static int contended[2];
static char *missing_page;
static _Atomic long waiter_tid;
static struct gate try_it;
static long kernel_lock_rounds;

/* It has the pipe locked while the kernel waits for its page. */
static void *be_page_owner(void *argument)
{
    for (long i = 0; i < kernel_lock_rounds; i++) {
        gate_pass(&held);
        must(write(contended[1], missing_page, 1), "write");
        gate_open(&wanted);
    }
    return argument;
}

static void *be_lock_waiter(void *argument)
{
    char byte = 0;
    waiter_tid = syscall(SYS_gettid);
    for (long i = 0; i < kernel_lock_rounds; i++) {
        gate_pass(&try_it);
        const int64_t before = now();
        must(write(contended[1], &byte, 1), "write");
        note("lock-within", before, now(), 0);
        gate_open(&wanted);
    }
    return argument;
}

/* Until the waiter can neither run nor be reached by signals: it has no lock yet. */
static void await_waiter(void)
{
    char path[64], text[256], state = 0;
    while (!waiter_tid) {
        sleep_ns(10000);
    }
    snprintf(path, sizeof path, "/proc/self/task/%ld/stat", waiter_tid);
    while (state != 'D') {
        const int file = (int)must(open(path, O_RDONLY), "open");
        text[must(read(file, text, sizeof text - 1), "read")] = 0;
        close(file);
        state = strrchr(text, ')')[2];
    }
}

static int watch_page(void)
{
    struct uffdio_api api = {.api = UFFD_API};
    const int faults = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
    missing_page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct uffdio_register range = {.range = {(uintptr_t)missing_page, 4096},
                                    .mode = UFFDIO_REGISTER_MODE_MISSING};
    if (faults < 0 || ioctl(faults, UFFDIO_API, &api) || ioctl(faults, UFFDIO_REGISTER, &range)) {
        return -1;
    }
    return faults;
}

static void run_lock(long n, int64_t around_ns)
{
    pthread_t threads[2];
    char bytes[2];
    const int faults = watch_page();
    if (faults < 0) { /* nothing is noted: this kernel does not let programs see faults */
        return;
    }
    kernel_lock_rounds = n;
    must(pipe(contended), "pipe");
    gate_make(&held);
    gate_make(&wanted);
    gate_make(&try_it);
    must(-pthread_create(&threads[0], NULL, be_page_owner, NULL), "pthread_create");
    must(-pthread_create(&threads[1], NULL, be_lock_waiter, NULL), "pthread_create");
    for (long i = 0; i < n; i++) {
        struct uffd_msg fault;
        struct uffdio_zeropage zero = {.range = {(uintptr_t)missing_page, 4096}};
        must(madvise(missing_page, 4096, MADV_DONTNEED), "madvise");
        gate_open(&held);
        must(read(faults, &fault, sizeof fault), "read");
        gate_open(&try_it);
        await_waiter();
        const int64_t before = now();
        sleep_ns(around_ns / 2 + around_ns * i / n);
        note("lock-around", before, now(), 0);
        must(ioctl(faults, UFFDIO_ZEROPAGE, &zero), "UFFDIO_ZEROPAGE");
        gate_pass(&wanted);
        gate_pass(&wanted);
        must(read(contended[0], bytes, sizeof bytes), "read");
    }
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
}

/* ---- disks ---- */

/* One block again and again, past the page cache; nothing if the file system cannot. */
static long sleeps_so_far(void)
{
    struct rusage usage;
    must(getrusage(RUSAGE_THREAD, &usage), "getrusage");
    return usage.ru_nvcsw;
}

static void run_disk(const char *path, long n)
{
    static _Alignas(4096) char block[4096];
    const int file = (int)must(open(path, O_RDWR | O_CREAT, 0600), "open");
    must(write(file, block, sizeof block), "write");
    must(fsync(file), "fsync");
    const int direct = open(path, O_RDONLY | O_DIRECT);
    for (long i = 0; direct >= 0 && i < n; i++) {
        const long slept = sleeps_so_far();
        const int64_t before = now();
        must(pread(direct, block, sizeof block, 0), "pread");
        const int64_t after = now();
        note(sleeps_so_far() > slept ? "read" : "quick", before, after, 0);
    }
    unlink(path);
}

static int64_t number(int argc, char **argv, int i)
{
    return i < argc ? strtoll(argv[i], NULL, 10) : 0;
}

int main(int argc, char **argv)
{
    const char *what = argc > 2 ? argv[2] : "";
    const int64_t ms = 1000000;
    alarm(60);
    stamps = (int)must(open(argc > 1 ? argv[1] : "", O_WRONLY | O_CREAT | O_APPEND, 0600), "open");
    if (strcmp(what, "sleeps") == 0) {
        run_sleeps(number(argc, argv, 3), number(argc, argv, 4));
    } else if (strcmp(what, "chain") == 0) {
        run_chain(number(argc, argv, 3), number(argc, argv, 4) * ms, number(argc, argv, 5));
    } else if (strcmp(what, "mutex") == 0) {
        run_mutex(number(argc, argv, 3) * ms, number(argc, argv, 4));
    } else if (strcmp(what, "deep") == 0) {
        run_deep(number(argc, argv, 3), number(argc, argv, 4));
    } else if (strcmp(what, "spin") == 0) {
        run_spin(number(argc, argv, 3) * ms);
    } else if (strcmp(what, "disk") == 0) {
        run_disk(argv[3], (long)number(argc, argv, 4));
    } else if (strcmp(what, "exchange") == 0) {
        run_exchange((uint16_t)number(argc, argv, 3), number(argc, argv, 4), number(argc, argv, 5));
    } else if (strcmp(what, "lock") == 0) {
        run_lock(number(argc, argv, 3), number(argc, argv, 4));
    } else if (strcmp(what, "late") == 0) {
        run_late(number(argc, argv, 3), number(argc, argv, 4));
    } else if (strcmp(what, "slow") == 0) {
        run_slow((uint16_t)number(argc, argv, 3));
    } else {
        run_socket(number(argc, argv, 3) * ms, number(argc, argv, 4));
    }
    return 0;
}
