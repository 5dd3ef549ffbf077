/* SPDX-License-Identifier: MIT */
/* Runs, writes and sleeps in functions of these names, also in one thread of two, and says for how long it was in
 * each, by the clock before and after what it does there: "sleep_long 12345". Built with -finstrument-functions, so that
 * the calls are recorded as well. */
#include <pthread.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define PLAIN __attribute__((no_instrument_function))
#define APART __attribute__((noinline))

enum { STEPS = 40 };

static long long slept_long_ns, slept_short_ns, spun_ns;
static volatile int sink;

APART void sleep_long(void);
APART void sleep_short(void);
APART void spin(void);
APART void *work(void *unused);
APART void wait_for_work(pthread_t thread);

PLAIN static long long now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

PLAIN static void nap(long long *sum, long ns)
{
    const long long start = now_ns();
    nanosleep(&(struct timespec){.tv_nsec = ns}, NULL);
    *sum += now_ns() - start;
}

void sleep_long(void)
{
    nap(&slept_long_ns, 6000000);
}

void sleep_short(void)
{
    nap(&slept_short_ns, 500000);
}

void spin(void)
{
    const long long start = now_ns();
    while (now_ns() < start + 1000000) {
        sink++;
    }
    spun_ns += now_ns() - start;
}

/* What main waits for, so that its path leads here. */
void *work(void *unused)
{
    for (int i = 0; i < STEPS; i++) {
        spin();
        sleep_long();
    }
    return unused;
}

void wait_for_work(pthread_t thread)
{
    pthread_join(thread, NULL);
}

int main(void)
{
    pthread_t thread;
    for (int i = 0; i < STEPS; i++) {
        sleep_short();
    }
    pthread_create(&thread, NULL, work, NULL);
    wait_for_work(thread);
    printf("sleep_long %lld\nsleep_short %lld\nspin %lld\n", slept_long_ns, slept_short_ns,
           spun_ns);
    return 0;
}
