/* SPDX-License-Identifier: MIT */
#include "record/state/polled.h"

#include <glib.h>
#include <poll.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/uio.h>

bool lull_state_read_memory(int32_t pid, uint64_t address, void *to, size_t size)
{
    const struct iovec here = {to, size};
    const struct iovec there = {(void *)(uintptr_t)address,
                                size}; // NOLINT(performance-no-int-to-ptr)
    return process_vm_readv(pid, &here, 1, &there, 1, 0) == (ssize_t)size;
}

static size_t read_poll(int32_t pid, const uint64_t *args, struct lull_state_polled *polled)
{
    struct pollfd files[LULL_STATE_POLLED_MOST];
    size_t n = 0;
    if (args[1] > LULL_STATE_POLLED_MOST ||
        !lull_state_read_memory(pid, args[0], files, args[1] * sizeof *files)) {
        return 0;
    }
    for (size_t i = 0; i < args[1]; i++) {
        if (files[i].fd >= 0) { /* else it is left out */
            polled[n++] = (struct lull_state_polled){files[i].fd, files[i].events & POLLIN,
                                                     files[i].events & POLLOUT};
        }
    }
    return n;
}

/* The kernel writes into the sets only when the call ends. */
static size_t read_select(int32_t pid, const uint64_t *args, struct lull_state_polled *polled)
{
    enum { READ, WRITE, EXCEPT, SETS };
    fd_set sets[SETS] = {0};
    const int most = (int)MIN(args[0], FD_SETSIZE);
    size_t n = 0;
    for (size_t i = 0; i < SETS; i++) {
        if (args[1 + i] &&
            !lull_state_read_memory(pid, args[1 + i], &sets[i], (size_t)(most + 63) / 64 * 8)) {
            return 0;
        }
    }
    for (int fd = 0; fd < most; fd++) {
        const bool reads = FD_ISSET(fd, &sets[READ]), writes = FD_ISSET(fd, &sets[WRITE]);
        if (n == LULL_STATE_POLLED_MOST || FD_ISSET(fd, &sets[EXCEPT])) {
            return 0;
        }
        if (reads || writes) {
            polled[n++] = (struct lull_state_polled){fd, reads, writes};
        }
    }
    return n;
}

size_t lull_state_read_polled(int32_t pid, const struct lull_state_call *call,
                              struct lull_state_polled polled[LULL_STATE_POLLED_MOST])
{
    switch (call->number) {
#ifdef SYS_poll
    case SYS_poll:
#endif
    case SYS_ppoll:
        return read_poll(pid, call->args, polled);
#ifdef SYS_select
    case SYS_select:
#endif
    case SYS_pselect6:
        return read_select(pid, call->args, polled);
    default:
        return 0;
    }
}
