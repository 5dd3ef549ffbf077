/* SPDX-License-Identifier: MIT */
/* The sockets of a network namespace, as the kernel lists them (sock_diag(7)). */
#ifndef LULL_BASE_SOCK_DIAG_H
#define LULL_BASE_SOCK_DIAG_H

#include <linux/netlink.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A descriptor to ask with, of the caller's; -1 and errno if the kernel has none. `space`: a descriptor of the network
 * namespace whose sockets are asked for, or -1 for the caller's own; to enter it, needs CAP_SYS_ADMIN. `prepare` is called in the
 * thread that enters it, unless it is NULL. */
int lull_sock_diag_open(int space, void (*prepare)(void));

/* A message about one socket, of a type as was asked for: struct inet_diag_msg or unix_diag_msg, and attributes. False: no more. */
typedef bool lull_sock_diag_take(void *user, const struct nlmsghdr *message);

/* Asks for a list: `request` is a struct inet_diag_req_v2 or unix_diag_req of at most 64 bytes. False and errno if the kernel
 * does not give it; ENOENT: it knows no such sockets. After `each` has returned false the descriptor is of no use any more. */
bool lull_sock_diag_list(int fd, const void *request, size_t size, lull_sock_diag_take *each,
                         void *user);

/* An address of a struct inet_diag_sockid; of IPv4 as IPv6 has it (::ffff:192.0.2.1). */
struct in6_addr lull_sock_diag_address(uint8_t family, const uint32_t words[4]);

#endif
