/* SPDX-License-Identifier: MIT */
/* The thread that waits for signals: a signalfd, and an eventfd that says that nobody needs it. */
#include "cmd/interrupt.h"

#include <poll.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

void lull_interrupt_start(struct lull_interrupt *interrupt)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    *interrupt = (struct lull_interrupt){.done = -1};
    sigemptyset(&interrupt->waited);
    for (size_t i = 0; i < G_N_ELEMENTS(signals); i++) {
        struct sigaction action;
        /* Who ignores a signal, as nohup does, means it. */
        if (sigaction(signals[i], NULL, &action) == 0 && action.sa_handler == SIG_DFL) {
            sigaddset(&interrupt->waited, signals[i]);
        }
    }
    pthread_sigmask(SIG_BLOCK, &interrupt->waited, &interrupt->before);
}

static gpointer wait_for_signal(gpointer data)
{
    struct lull_interrupt *interrupt = data;
    const int fd = signalfd(-1, &interrupt->waited, SFD_CLOEXEC);
    struct pollfd ready[] = {{.fd = fd, .events = POLLIN},
                             {.fd = interrupt->done, .events = POLLIN}};
    struct signalfd_siginfo info;
    while (fd >= 0 && poll(ready, G_N_ELEMENTS(ready), -1) < 0) { /* EINTR */
    }
    if (fd >= 0 && (ready[0].revents & POLLIN) && read(fd, &info, sizeof info) == sizeof info) {
        interrupt->clean(interrupt->user);
        pthread_sigmask(SIG_UNBLOCK, &interrupt->waited, NULL);
        raise((int)info.ssi_signo);
    }
    if (fd >= 0) {
        close(fd);
    }
    return NULL;
}

void lull_interrupt_watch(struct lull_interrupt *interrupt, void (*clean)(void *user), void *user)
{
    interrupt->clean = clean;
    interrupt->user = user;
    interrupt->done = eventfd(0, EFD_CLOEXEC);
    if (interrupt->done >= 0) {
        interrupt->thread = g_thread_try_new("lull-signals", wait_for_signal, interrupt, NULL);
    }
    if (!interrupt->thread) { /* then as without all this */
        pthread_sigmask(SIG_SETMASK, &interrupt->before, NULL);
    }
}

void lull_interrupt_end(struct lull_interrupt *interrupt)
{
    if (interrupt->thread) {
        const uint64_t one = 1;
        while (write(interrupt->done, &one, sizeof one) < 0) { /* EINTR */
        }
        g_thread_join(interrupt->thread);
    }
    if (interrupt->done >= 0) {
        close(interrupt->done);
    }
    pthread_sigmask(SIG_SETMASK, &interrupt->before, NULL);
}
