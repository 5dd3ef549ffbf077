/* SPDX-License-Identifier: MIT */
/* Cleaning up when the user breaks a verb off (Ctrl-C, kill, a closed terminal). A thread waits for
 * the signals, so that it happens at once, whatever the verb is waiting for. */
#ifndef LULL_CMD_INTERRUPT_H
#define LULL_CMD_INTERRUPT_H

#include <glib.h>
#include <signal.h>

struct lull_interrupt {
    sigset_t before, waited; /* masks of signals */
    void (*clean)(void *user);
    void *user;
    GThread *thread;
    int done; /* eventfd */
};

/* From now on signals wait until lull_interrupt_watch() or lull_interrupt_end(). */
void lull_interrupt_start(struct lull_interrupt *interrupt);
/* From now on a signal has `clean` called, in a thread of its own while the verb goes on, and then
 * ends the program as it would have without. */
void lull_interrupt_watch(struct lull_interrupt *interrupt, void (*clean)(void *user), void *user);
/* Signals act as before. */
void lull_interrupt_end(struct lull_interrupt *interrupt);

#endif
