/* SPDX-License-Identifier: MIT */
/* Calls a function all the time, while handlers of signals make more calls than can wait while one is recorded: some are lost, in each
 * packet, and also before there is a file. Built with -finstrument-functions. Prints the calls that it made, as calls.c does. */
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#define APART __attribute__((noinline))
#define QUIET __attribute__((no_instrument_function))
#define CALLS 30000u
#define CALLS_OF_HANDLER 50u

APART void spin(void);
APART void drop(void);

static volatile unsigned handled;

void spin(void)
{
    __asm__ volatile("");
}

void drop(void)
{
    __asm__ volatile("");
}

QUIET static void handler(int number)
{
    handled++;
    for (unsigned i = 0; i < CALLS_OF_HANDLER; i++) {
        drop();
    }
}

/* What records the first call asks for it, as it has no file yet. */
QUIET pid_t gettid(void)
{
    if (handled == 0) {
        raise(SIGALRM);
    }
    return (pid_t)syscall(SYS_gettid);
}

QUIET int main(void)
{
    struct itimerval every = {{0, 200}, {0, 200}}, never = {{0, 0}, {0, 0}};
    signal(SIGALRM, handler);
    setitimer(ITIMER_REAL, &every, NULL);
    for (unsigned i = 0; i < CALLS; i++) {
        spin();
    }
    setitimer(ITIMER_REAL, &never, NULL);
    printf("%d spin %u\n%d drop %u\n", (int)getpid(), CALLS, (int)getpid(),
           CALLS_OF_HANDLER * handled);
    return 0;
}
