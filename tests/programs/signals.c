/* SPDX-License-Identifier: MIT */
/* Calls a function all the time, while signals call another and the same, most of them in the middle of recording a
 * call. Built with -finstrument-functions. Prints the calls that it made, as calls.c does. */
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>
#include <unistd.h>

#define APART __attribute__((noinline))
#define CALLS 50000u

APART void spin(void);
void handler(int number);

static volatile unsigned handled;

void spin(void)
{
    __asm__ volatile("");
}

void handler(int number)
{
    handled++;
    spin();
}

__attribute__((no_instrument_function)) int main(void)
{
    struct itimerval every = {{0, 50}, {0, 50}}, never = {{0, 0}, {0, 0}};
    signal(SIGALRM, handler);
    setitimer(ITIMER_REAL, &every, NULL);
    for (unsigned i = 0; i < CALLS; i++) {
        spin();
    }
    setitimer(ITIMER_REAL, &never, NULL);
    printf("%d spin %u\n%d handler %u\n", (int)getpid(), CALLS + handled, (int)getpid(), handled);
    return 0;
}
