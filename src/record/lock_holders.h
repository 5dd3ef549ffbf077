/* SPDX-License-Identifier: MIT */
/* Who waits for a lock now, and who holds it. Events say how a wait ended; of one that has not ended, as in a deadlock,
 * only the kernel's lists and the lock itself do. */
#ifndef LULL_RECORD_LOCK_HOLDERS_H
#define LULL_RECORD_LOCK_HOLDERS_H

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A thread that waits, for a lock or for a process (open_ends.h). */
struct lull_lock_holder {
    int32_t tid;
    int32_t holder;   /* the thread that holds it, or the process */
    const char *call; /* in which it waits: "futex", "flock", "fcntl"; "wait4", "read", … */
    /* It may end otherwise: the call has a time-out, a socket may have one, a signal may come. */
    bool is_timed;
    uint64_t address; /* of the futex; 0: none */
    char *path;       /* of the file; NULL: none */
    bool is_process;  /* any of its threads may release it */
};

/* Whether the process has no thread but its first. */
bool lull_has_one_thread(int32_t pid);

/* All that this machine has and that may be looked at: struct lull_lock_holder, which the array owns. Of mutexes it
 * knows those that say whose they are: of glibc for 64 bits, and those that the kernel knows as such (PI, robust). Looks for
 * a second at most. */
GArray *lull_lock_holders_read(void);

#endif
