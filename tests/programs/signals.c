/* SPDX-License-Identifier: MIT */
/* Calls a function all the time, while signals call another and the same, most of them in the middle of recording a
 * call. Threads call until they are gone: in the last round of destructors, after those of what was loaded before; and on the least stack. Built with -finstrument-functions. Prints the calls that it made, as calls.c does. */
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>
#include <unistd.h>

#define APART __attribute__((noinline))
#define QUIET __attribute__((no_instrument_function))
#define CALLS 50000u
#define THREADS 3u
#define LATE_CALLS 10u /* in each round */

APART void spin(void);
APART void late(void);
void handler(int number);

static volatile unsigned handled;
static pthread_key_t at_exit;
static __thread unsigned n_rounds;

void spin(void)
{
    __asm__ volatile("");
}

void late(void)
{
    __asm__ volatile("");
}

QUIET static void thread_ends(void *user)
{
    for (unsigned i = 0; i < LATE_CALLS; i++) {
        late();
    }
    if (++n_rounds < PTHREAD_DESTRUCTOR_ITERATIONS) {
        pthread_setspecific(at_exit, user);
    }
}

QUIET static void *run(void *user)
{
    late();
    pthread_setspecific(at_exit, user);
    return NULL;
}

void handler(int number)
{
    handled++;
    spin();
}

QUIET int main(void)
{
    pthread_t threads[THREADS];
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, PTHREAD_STACK_MIN);
    pthread_key_create(&at_exit, thread_ends);
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_create(&threads[i], &small, run, &at_exit);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    struct itimerval every = {{0, 50}, {0, 50}}, never = {{0, 0}, {0, 0}};
    signal(SIGALRM, handler);
    setitimer(ITIMER_REAL, &every, NULL);
    for (unsigned i = 0; i < CALLS; i++) {
        spin();
    }
    setitimer(ITIMER_REAL, &never, NULL);
    printf("%d spin %u\n%d handler %u\n", (int)getpid(), CALLS + handled, (int)getpid(), handled);
    printf("%d late %u\n", (int)getpid(),
           THREADS * (1 + PTHREAD_DESTRUCTOR_ITERATIONS * LATE_CALLS));
    return 0;
}
