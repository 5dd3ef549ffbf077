/* SPDX-License-Identifier: MIT */
/* Test only: see watch.h. */
#include "robust/watch.h"

#include <glib.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

/* Handlers of signals reach nothing else. */
static char current[512];

static void report(void)
{
    ssize_t written = write(STDERR_FILENO, current, strlen(current));
    (void)written;
}

static void on_signal(int number)
{
    report();
    signal(number, SIG_DFL);
    raise(number);
}

/* ASan dies without a signal; it calls this. */
void __asan_set_death_callback(void (*callback)(void)) __attribute__((weak));

static void install(void)
{
    static const int signals[] = {SIGALRM, SIGABRT, SIGTRAP, SIGFPE, SIGILL};
    for (unsigned i = 0; i < G_N_ELEMENTS(signals); i++) {
        signal(signals[i], on_signal);
    }
    if (__asan_set_death_callback) {
        __asan_set_death_callback(report);
    } else {
        signal(SIGSEGV, on_signal);
        signal(SIGBUS, on_signal);
    }
}

void watch_start(const char *name, unsigned seconds)
{
    if (!current[0]) {
        install();
    }
    g_strlcpy(current, name, sizeof current);
    alarm(seconds);
}

void watch_end(void)
{
    alarm(0);
}
