/* SPDX-License-Identifier: MIT */
/* A server in a container calls its processes and threads by the numbers that they have there. */
#ifndef LULL_TRIGGER_INSIDE_H
#define LULL_TRIGGER_INSIDE_H

#include <stdbool.h>
#include <stdint.h>

/* Who named the numbers, as this machine knows it. */
struct lull_inside_sender {
    int32_t pid;     /* the process; 0: not known */
    bool is_http;    /* it came over the loopback interface of our network namespace, */
    uint64_t socket; /* by the socket with that inode; 0: not known */
};

/* Makes numbers of a process and its thread (0 or less: none) what this machine calls them, if their sender is in a pid
 * namespace below ours (pid_namespaces(7)). What it names and does not have is -1 then; and so are the numbers of a sender that
 * is not known or has ended, if somebody who could have sent them is in such a namespace.
 * False if a number could not be found, or it is not known whose it is. */
bool lull_inside_translate(const struct lull_inside_sender *sender, int64_t *pid, int64_t *tid);
/* Whether the number needs no translation, as far as that is known at once. */
bool lull_inside_is_ours(const struct lull_inside_sender *sender, int64_t pid);

#endif
