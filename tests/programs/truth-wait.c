/* SPDX-License-Identifier: MIT */
/* t-waiter waits for t-waker, by one of the ways in which a task can wait for another: t-waker naps
 * 20 ms, burns 15 ms and wakes t-waiter, which burns 10 ms. */
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "truth.h"

struct way {
    const char *name;
    void (*prepare)(void); /* by t-waiter, before t-waker exists; NULL: nothing */
    void (*hold)(void);    /* by t-waker, before t-waiter waits; NULL: nothing */
    void (*wait)(void);    /* NULL: for the thread's end */
    void (*wake)(void);    /* NULL: by its end */
    bool is_thread;
};

static int ends[2], epoll;
static pid_t waiter;
static const char *lock_name;
/* The same memory in both processes. */
static struct {
    _Atomic uint32_t word;
    sem_t semaphore;
} *shared;
static struct gate ready, go;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static bool is_told;

static void make_pipe(void)
{
    must(pipe(ends), "pipe");
}

static void make_unix(void)
{
    must(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), "socketpair");
}

static void make_tcp(void)
{
    truth_tcp_pair(ends);
}

static void make_eventfd(void)
{
    ends[0] = ends[1] = (int)must(eventfd(0, 0), "eventfd");
}

static void make_epoll(void)
{
    make_eventfd();
    struct epoll_event event = {.events = EPOLLIN};
    epoll = (int)must(epoll_create1(0), "epoll_create1");
    must(epoll_ctl(epoll, EPOLL_CTL_ADD, ends[0], &event), "epoll_ctl");
}

static void wait_read(void)
{
    uint64_t word;
    must(read(ends[0], &word, sizeof word), "read");
}

static void wait_poll(void)
{
    struct pollfd fd = {.fd = ends[0], .events = POLLIN};
    must(poll(&fd, 1, -1), "poll");
}

static void wait_select(void)
{
    fd_set set;
    FD_ZERO(&set);
    FD_SET(ends[0], &set);
    must(select(ends[0] + 1, &set, NULL, NULL, NULL), "select");
}

static void wait_epoll(void)
{
    struct epoll_event event;
    must(epoll_wait(epoll, &event, 1, -1), "epoll_wait");
}

static void wake_write(void)
{
    uint64_t word = 1;
    must(write(ends[1], &word, sizeof word), "write");
}

static void make_shared(void)
{
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) {
        must(-1, "mmap");
    }
    must(sem_init(&shared->semaphore, 1, 0), "sem_init");
}

static void wait_futex(void)
{
    while (shared->word == 0) {
        syscall(SYS_futex, &shared->word, FUTEX_WAIT, 0, NULL, NULL, 0);
    }
}

static void wake_futex(void)
{
    shared->word = 1;
    must(syscall(SYS_futex, &shared->word, FUTEX_WAKE, 1, NULL, NULL, 0), "futex");
}

static void wait_semaphore(void)
{
    must(sem_wait(&shared->semaphore), "sem_wait");
}

static void wake_semaphore(void)
{
    must(sem_post(&shared->semaphore), "sem_post");
}

static void lock_mutex(void)
{
    must(-pthread_mutex_lock(&mutex), "pthread_mutex_lock");
}

static void unlock_mutex(void)
{
    must(-pthread_mutex_unlock(&mutex), "pthread_mutex_unlock");
}

static void wait_condition(void)
{
    lock_mutex();
    while (!is_told) {
        pthread_cond_wait(&condition, &mutex);
    }
    unlock_mutex();
}

static void wake_condition(void)
{
    lock_mutex();
    is_told = true;
    unlock_mutex();
    must(-pthread_cond_signal(&condition), "pthread_cond_signal");
}

/* Each has its own description of the file: a lock belongs to that. */
static void lock_file(void)
{
    ends[0] = (int)must(open(lock_name, O_RDONLY | O_CREAT | O_CLOEXEC, 0600), lock_name);
    must(flock(ends[0], LOCK_EX), "flock");
}

static void unlock_file(void)
{
    must(flock(ends[0], LOCK_UN), "flock");
}

static void wait_child(void)
{
    int status;
    must(wait(&status), "wait");
}

static void block_signal(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    waiter = getpid();
    must(sigprocmask(SIG_BLOCK, &set, NULL), "sigprocmask");
}

static void on_signal(int number)
{
}

static void wait_signal(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    must(sigwaitinfo(&set, NULL), "sigwaitinfo");
}

/* Like pause(), but the signal cannot come too early. */
static void wait_suspended(void)
{
    sigset_t none;
    sigemptyset(&none);
    signal(SIGUSR1, on_signal);
    sigsuspend(&none);
}

static void wake_signal(void)
{
    must(kill(waiter, SIGUSR1), "kill");
}

static const struct way ways[] = {
    {"pipe", make_pipe, NULL, wait_read, wake_write, false},
    {"unix", make_unix, NULL, wait_read, wake_write, false},
    {"tcp", make_tcp, NULL, wait_read, wake_write, false},
    {"eventfd", make_eventfd, NULL, wait_read, wake_write, false},
    {"poll", make_pipe, NULL, wait_poll, wake_write, false},
    {"select", make_unix, NULL, wait_select, wake_write, false},
    {"epoll", make_epoll, NULL, wait_epoll, wake_write, false},
    {"futex", make_shared, NULL, wait_futex, wake_futex, false},
    {"semaphore", make_shared, NULL, wait_semaphore, wake_semaphore, false},
    {"mutex", NULL, lock_mutex, lock_mutex, unlock_mutex, true},
    {"condition", NULL, NULL, wait_condition, wake_condition, true},
    {"flock", NULL, lock_file, lock_file, unlock_file, false},
    {"waitpid", NULL, NULL, wait_child, NULL, false},
    {"sigwait", block_signal, NULL, wait_signal, wake_signal, false},
    {"sigsuspend", block_signal, NULL, wait_suspended, wake_signal, false},
    {"join", NULL, NULL, NULL, NULL, true},
};

static void waker(void *user)
{
    const struct way *way = user;
    if (way->hold) {
        way->hold();
    }
    gate_open(&ready);
    gate_pass(&go);
    nap(20);
    burn(15);
    stamp("wakes");
    if (way->wake) {
        way->wake();
    }
}

static const struct way *find_way(const char *name)
{
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        if (name && strcmp(ways[i].name, name) == 0) {
            return &ways[i];
        }
    }
    must(-1, "there is no such way to wait");
    return NULL;
}

int main(int argc, char **argv)
{
    truth_begin(argc, argv, "t-waiter");
    const struct way *way = find_way(argc > 2 ? argv[2] : NULL);
    lock_name = argv[1];
    gate_make(&ready);
    gate_make(&go);
    if (way->prepare) {
        way->prepare();
    }
    pid_t process = 0;
    unsigned long thread = 0;
    if (way->is_thread) {
        thread = truth_thread("t-waker", waker, (void *)way);
    } else {
        process = truth_process("t-waker", waker, (void *)way);
    }
    gate_pass(&ready);
    stamp("begins");
    gate_open(&go);
    stamp("waits");
    if (way->wait) {
        way->wait();
    } else {
        truth_join(thread);
    }
    burn(10);
    stamp("ends");
    if (way->is_thread && way->wait) {
        truth_join(thread);
    } else if (process && way->wake) {
        truth_wait_for(process);
    }
    truth_end();
}
