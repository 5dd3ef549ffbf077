/* SPDX-License-Identifier: MIT */
/* The pager between a result and a terminal, as git has one: $LULL_PAGER, else $PAGER, else less. */
#ifndef LULL_CMD_PAGER_H
#define LULL_CMD_PAGER_H

#include <sys/types.h>

struct lull_pager {
    pid_t pid; /* 0: none */
};

/* If standard output is a terminal, starts the pager and sends standard output to it, and standard
 * error too if that is a terminal. Without a pager all stays as it is. */
void lull_pager_start(struct lull_pager *pager);
/* Sends what is left and waits until the reader has seen enough. */
void lull_pager_end(struct lull_pager *pager);

#endif
