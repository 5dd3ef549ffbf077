/* SPDX-License-Identifier: MIT */
/* Which socket is at the other end of another, within this machine: of unix sockets in the network namespace of the caller, and of
 * TCP connections in and between all. */
#ifndef LULL_RECORD_SOCKET_ENDS_H
#define LULL_RECORD_SOCKET_ENDS_H

#include <glib.h>
#include <stdint.h>

struct lull_socket_ends;

/* until_us: of g_get_monotonic_time(); what is not found by then is not known. */
struct lull_socket_ends *lull_socket_ends_new(gint64 until_us);
void lull_socket_ends_free(struct lull_socket_ends *ends);

/* The other end of this socket is asked for, which the process has. */
void lull_socket_ends_want(struct lull_socket_ends *ends, int32_t pid, uint64_t inode);

/* Asks the kernel, once all are wanted. */
void lull_socket_ends_find(struct lull_socket_ends *ends);

/* The inodes (uint64_t, borrowed) of the sockets of which one is the other end: one, or, as long as nobody has accepted the
 * connection, those that listen there. NULL: it is not known, as of UDP, or through a translation of addresses, or there is none. */
const GArray *lull_socket_ends_of(const struct lull_socket_ends *ends, uint64_t inode);

#endif
