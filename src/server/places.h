/* SPDX-License-Identifier: MIT */
/* Who holds the connections of a server: any user of the machine may connect, and none may keep others out. */
#ifndef LULL_SERVER_PLACES_H
#define LULL_SERVER_PLACES_H

#include <netinet/in.h>
#include <stdint.h>

/* Connections at a time. */
#define SERVER_PLACES 64
#define SERVER_NOBODY_KNOWN (-1)

struct server_places;

struct server_places *server_places_new(void);
void server_places_free(struct server_places *places);

/* The id of the user whose socket is the other end of the connection, as the kernel says (sock_diag(7));
 * SERVER_NOBODY_KNOWN: it does not say, or that end is closed already. */
int64_t server_places_user(const struct sockaddr_in *other_end, const struct sockaddr_in *own_end);
/* The inode of that socket, by which /proc/PID/fd names it; 0: not known. */
uint64_t server_places_socket(const struct sockaddr_in *other_end,
                              const struct sockaddr_in *own_end);

/* The connection has a place until it is left. If there is none, the oldest one of the user who has most of them, this one
 * included, loses its own: its socket is shut down, and is still to be closed. May be called in several threads. */
void server_places_take(struct server_places *places, const void *connection, int fd, int64_t user);
/* Before its socket is closed. It may have lost its place. */
void server_places_leave(struct server_places *places, const void *connection);

#endif
