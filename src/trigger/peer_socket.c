/* SPDX-License-Identifier: MIT */
/* A machine may have no IPv6: then the socket is of IPv4. */
#include "trigger/peer_socket.h"

#include <arpa/inet.h>
#include <errno.h>
#include <lull/error.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

union any_address {
    struct sockaddr any;
    struct sockaddr_in in;
    struct sockaddr_in6 in6;
};

/* Its length; 0: a socket of that family cannot reach it. */
static socklen_t address_for(int family, const struct in6_addr *to, uint16_t port,
                             union any_address *address)
{
    memset(address, 0, sizeof *address);
    if (family == AF_INET6) {
        address->in6 = (struct sockaddr_in6){
            .sin6_family = AF_INET6, .sin6_port = htons(port), .sin6_addr = *to};
        return sizeof address->in6;
    }
    address->in.sin_family = AF_INET;
    address->in.sin_port = htons(port);
    memcpy(&address->in.sin_addr, to->s6_addr + 12, 4);
    return IN6_IS_ADDR_V4MAPPED(to) ? sizeof address->in : 0;
}

int lull_peer_socket_open(const struct lull_trigger_config *config, GError **error)
{
    const struct lull_trigger_endpoint *listen = &config->listen;
    const int family = IN6_IS_ADDR_V4MAPPED(&listen->address) ? AF_INET : AF_INET6;
    const int off = 0;
    union any_address address;
    const socklen_t size = address_for(family, &listen->address, listen->port, &address);
    const int fd = socket(family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0 && family == AF_INET6) {
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    }
    if (fd >= 0 && bind(fd, &address.any, size) == 0) {
        return fd;
    }
    g_autofree char *text = lull_peer_address_text(&listen->address);
    g_set_error(error, LULL_ERROR, LULL_ERROR_IO,
                "cannot listen for other machines at %s, UDP port %u: %s", text, listen->port,
                g_strerror(errno));
    if (fd >= 0) {
        close(fd);
    }
    return -1;
}

static int family_of(int fd)
{
    union any_address own = {.any = {.sa_family = AF_INET}};
    socklen_t size = sizeof own;
    return getsockname(fd, &own.any, &size) == 0 ? own.any.sa_family : AF_INET;
}

void lull_peer_socket_send(int fd, const struct in6_addr *to, uint16_t port, const uint8_t *bytes,
                           size_t size)
{
    union any_address address;
    const socklen_t length = address_for(family_of(fd), to, port, &address);
    if (length > 0) {
        (void)!sendto(fd, bytes, size, MSG_DONTWAIT | MSG_NOSIGNAL, &address.any, length);
    }
}

ssize_t lull_peer_socket_receive(int fd, struct in6_addr *from, uint16_t *port, uint8_t *bytes,
                                 size_t room)
{
    union any_address address = {.any = {.sa_family = AF_UNSPEC}};
    socklen_t size = sizeof address;
    const ssize_t n = recvfrom(fd, bytes, room, MSG_DONTWAIT | MSG_TRUNC, &address.any, &size);
    *from = (struct in6_addr){.s6_addr = {[10] = 0xff, [11] = 0xff}};
    *port = 0;
    if (n >= 0 && address.any.sa_family == AF_INET6) {
        *from = address.in6.sin6_addr;
        *port = ntohs(address.in6.sin6_port);
    } else if (n >= 0) {
        memcpy(from->s6_addr + 12, &address.in.sin_addr, 4);
        *port = ntohs(address.in.sin_port);
    }
    return n;
}

char *lull_peer_address_text(const struct in6_addr *address)
{
    char text[INET6_ADDRSTRLEN] = "";
    if (IN6_IS_ADDR_V4MAPPED(address)) {
        inet_ntop(AF_INET, address->s6_addr + 12, text, sizeof text);
    } else {
        inet_ntop(AF_INET6, address, text, sizeof text);
    }
    return g_strdup(text);
}
