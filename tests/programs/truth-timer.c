/* SPDX-License-Identifier: MIT */
/* t-timer waits for time to pass, 15 ms in each of many ways. A stamp names the way. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "truth.h"

enum { PAUSE_MS = 15 };

static const struct timespec pause_time = {0, PAUSE_MS * 1000000};
static const struct timeval pause_val = {0, PAUSE_MS * 1000};
static int nothing[2]; /* a socket on which nothing ever comes */

static void by_nanosleep(void)
{
    must(nanosleep(&pause_time, NULL), "nanosleep");
}

static void by_timerfd(void)
{
    uint64_t count;
    int fd = (int)must(timerfd_create(CLOCK_MONOTONIC, 0), "timerfd_create");
    must(timerfd_settime(fd, 0, &(struct itimerspec){.it_value = pause_time}, NULL),
         "timerfd_settime");
    must(read(fd, &count, sizeof count), "read");
    close(fd);
}

static void by_poll(void)
{
    struct pollfd fd = {.fd = nothing[0], .events = POLLIN};
    must(poll(&fd, 1, PAUSE_MS), "poll");
}

static void by_select(void)
{
    struct timeval rest = pause_val;
    must(select(0, NULL, NULL, NULL, &rest), "select");
}

static void by_epoll(void)
{
    struct epoll_event event;
    int fd = (int)must(epoll_create1(0), "epoll_create1");
    must(epoll_wait(fd, &event, 1, PAUSE_MS), "epoll_wait");
    close(fd);
}

static void by_itimer(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGALRM);
    must(sigprocmask(SIG_BLOCK, &set, NULL), "sigprocmask");
    unsigned int life = alarm(0);
    must(setitimer(ITIMER_REAL, &(struct itimerval){.it_value = pause_val}, NULL), "setitimer");
    must(sigwaitinfo(&set, NULL), "sigwaitinfo");
    must(sigprocmask(SIG_UNBLOCK, &set, NULL), "sigprocmask");
    alarm(life);
}

static void by_futex(void)
{
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
    struct timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_nsec += pause_time.tv_nsec;
    end.tv_sec += end.tv_nsec / 1000000000;
    end.tv_nsec %= 1000000000;
    pthread_mutex_lock(&mutex);
    while (pthread_cond_timedwait(&condition, &mutex, &end) != ETIMEDOUT)
        ;
    pthread_mutex_unlock(&mutex);
}

/* The kernel counts this one in ticks. */
static void by_receive(void)
{
    char byte;
    must(setsockopt(nothing[0], SOL_SOCKET, SO_RCVTIMEO, &pause_val, sizeof pause_val),
         "setsockopt");
    if (recv(nothing[0], &byte, 1, 0) >= 0 || errno != EAGAIN) {
        must(-1, "recv");
    }
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*wait)(void);
    } ways[] = {{"nanosleep", by_nanosleep}, {"timerfd", by_timerfd}, {"poll", by_poll},
                {"select", by_select},       {"epoll", by_epoll},     {"itimer", by_itimer},
                {"futex", by_futex},         {"receive", by_receive}};
    truth_begin(argc, argv, "t-timer");
    must(socketpair(AF_UNIX, SOCK_STREAM, 0, nothing), "socketpair");
    stamp("begins");
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        stamp(ways[i].name);
        ways[i].wait();
        burn(5);
    }
    stamp("ends");
    truth_end();
}
