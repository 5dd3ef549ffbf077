/* SPDX-License-Identifier: MIT */
/* Messages between processes of the daemon, each as a whole. */
#ifndef LULL_TRIGGER_MESSAGE_H
#define LULL_TRIGGER_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* A message with a descriptor (-1: none), without waiting; false: there is no room, or nobody. */
bool lull_message_send(int socket, const void *message, size_t size, int fd);
/* Its size; *fd is the descriptor that comes with it, to be closed, or -1. */
ssize_t lull_message_receive(int socket, void *message, size_t size, int *fd);

#endif
