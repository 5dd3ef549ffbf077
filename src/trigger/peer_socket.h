/* SPDX-License-Identifier: MIT */
/* The UDP socket of daemons. Addresses of IPv4 are mapped, whatever the family of the socket is. */
#ifndef LULL_TRIGGER_PEER_SOCKET_H
#define LULL_TRIGGER_PEER_SOCKET_H

#include "trigger/config.h"

/* Bound as the configuration says; -1 and an error. */
int lull_peer_socket_open(const struct lull_trigger_config *config, GError **error);
/* The same address, of TCP; it listens. */
int lull_peer_socket_listen(const struct lull_trigger_config *config, GError **error);
/* The next connection if it is of a peer, or from this machine; else -1. *who is the same for those of one user of this
 * machine, and for those of another machine. */
int lull_peer_socket_accept(const struct lull_trigger_config *config, int fd, int64_t *who);
/* Connects to another machine, within five seconds, with time-outs of ten; -1 and an error. */
int lull_peer_socket_connect(const struct in6_addr *to, uint16_t port, GError **error);
/* What cannot be sent is lost, as it may be on its way. */
void lull_peer_socket_send(int fd, const struct in6_addr *to, uint16_t port, const uint8_t *bytes,
                           size_t size);
/* The length of the next datagram, of which `room` bytes at most are kept, and for how long it has waited to be
 * read; -1 if there is none. */
ssize_t lull_peer_socket_receive(int fd, struct in6_addr *from, uint16_t *port, uint8_t *bytes,
                                 size_t room, int64_t *waited_ns);
/* For people; free with g_free(). And back. */
char *lull_peer_address_text(const struct in6_addr *address);
bool lull_peer_address_parse(const char *text, struct in6_addr *address);
/* "10.9.0.3:5447" or "[fd00::3]:5447"; the port is not 0. */
bool lull_peer_endpoint_parse(const char *text, struct lull_trigger_endpoint *endpoint);

#endif
