/* SPDX-License-Identifier: MIT */
/* Calls functions as they come in programs: recursion, threads, longjmp, a child process; and counts its
 * own calls. Built with -finstrument-functions and recorded with liblttng-ust-cyg-profile.so, it is the
 * truth of tests/data/calls.tar.xz. Each process prints the calls that it made, one function a line. */
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#define PLAIN __attribute__((no_instrument_function))
#define APART __attribute__((noinline))

enum { MAIN, FIB, WORK, JUMP, DIG, CHILD, FUNCTIONS };

static const char *const names[FUNCTIONS] = {"main", "fib", "work", "jump", "dig", "child"};
static _Atomic unsigned calls[FUNCTIONS];
static jmp_buf back;

APART int fib(int n);
APART void *work(void *of);
APART void dig(int depth);
APART void jump(void);
APART void child(void);

PLAIN static void print_calls(void)
{
    for (int i = 0; i < FUNCTIONS; i++) {
        printf("%d %s %u\n", (int)getpid(), names[i], calls[i]);
    }
    fflush(stdout);
}

int fib(int n)
{
    calls[FIB]++;
    return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

void *work(void *of)
{
    calls[WORK]++;
    fib(*(int *)of);
    return of;
}

/* Jumps out of its deepest call. */
void dig(int depth)
{
    calls[DIG]++;
    if (depth > 0) {
        dig(depth - 1);
    } else if (calls[JUMP] > 0) {
        longjmp(back, 1);
    }
    fib(1);
}

void jump(void)
{
    calls[JUMP]++;
    if (setjmp(back) == 0) {
        dig(4);
    }
}

void child(void)
{
    calls[CHILD]++;
    pid_t pid = fork();
    if (pid == 0) {
        for (int i = 0; i < FUNCTIONS; i++) {
            calls[i] = 0;
        }
        fib(3);
        print_calls();
        _exit(0);
    }
    waitpid(pid, NULL, 0);
}

int main(void)
{
    pthread_t threads[2];
    int n[2] = {6, 7};
    calls[MAIN]++;
    fib(5);
    jump();
    for (int i = 0; i < 2; i++) {
        pthread_create(&threads[i], NULL, work, &n[i]);
    }
    for (int i = 0; i < 2; i++) {
        pthread_join(threads[i], NULL);
    }
    child();
    print_calls();
    return 0;
}
