/* SPDX-License-Identifier: MIT */
/* With whom the sockets of processes talk, which /proc/PID/fd does not say: there they are numbers. */
#ifndef LULL_RECORD_STATE_SOCKETS_H
#define LULL_RECORD_STATE_SOCKETS_H

#include <stdbool.h>
#include <stdint.h>

/* The other end of a connection; of a socket that has none, its own. Of unix sockets the path to which one of both is bound. */
struct lull_state_end {
    int32_t family; /* AF_INET, AF_INET6, AF_UNIX */
    char *path;     /* AF_UNIX, else NULL; "@x" is an abstract name */
    uint32_t port, own_port;
    uint8_t address[16]; /* in network order; IPv4: the first four */
    bool is_datagram;    /* UDP */
};

struct lull_state_sockets;

struct lull_state_sockets *lull_state_sockets_new(void);
void lull_state_sockets_free(struct lull_state_sockets *sockets);
/* Takes in the sockets of TCP and UDP, and unix sockets, of the network namespace that a process of /proc, which `proc` is open on, is in; each
 * namespace once. What may not be read is left out. With which unix socket one is connected is known in this process's own
 * namespace. */
void lull_state_sockets_read(struct lull_state_sockets *sockets, int proc, int pid);
/* Of the socket that /proc/PID/fd calls "socket:[NUMBER]"; NULL: not known, or it is bound to nothing. Valid until the next read. */
const struct lull_state_end *lull_state_sockets_find(const struct lull_state_sockets *sockets,
                                                     const char *name);

#endif
