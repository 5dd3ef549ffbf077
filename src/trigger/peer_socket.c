/* SPDX-License-Identifier: MIT */
/* A machine may have no IPv6: then the socket is of IPv4. */
#include "trigger/peer_socket.h"

#include <arpa/inet.h>
#include <errno.h>
#include <lull/error.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/time.h"
#include "server/places.h"

#define BACKLOG 8
#define CONNECT_SECONDS 5
#define IDLE_SECONDS 10
/* More is a clock that was set. */
#define MOST_WAIT_NS LULL_NS_PER_S

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

static int family_for(const struct in6_addr *address)
{
    return IN6_IS_ADDR_V4MAPPED(address) ? AF_INET : AF_INET6;
}

static int open_bound(const struct lull_trigger_config *config, int type, GError **error)
{
    const struct lull_trigger_endpoint *at = &config->listen;
    const int family = family_for(&at->address), off = 0, on = 1;
    union any_address address;
    const socklen_t size = address_for(family, &at->address, at->port, &address);
    const int fd = socket(family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0 && family == AF_INET6) {
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    }
    if (fd >= 0) {
        setsockopt(fd, SOL_SOCKET, type == SOCK_STREAM ? SO_REUSEADDR : SO_TIMESTAMPNS, &on,
                   sizeof on);
    }
    if (fd >= 0 && bind(fd, &address.any, size) == 0 &&
        (type == SOCK_DGRAM || listen(fd, BACKLOG) == 0)) {
        return fd;
    }
    g_autofree char *text = lull_peer_address_text(&at->address);
    g_set_error(error, LULL_ERROR, LULL_ERROR_IO,
                "cannot listen for other machines at %s, %s port %u: %s", text,
                type == SOCK_DGRAM ? "UDP" : "TCP", at->port, g_strerror(errno));
    if (fd >= 0) {
        close(fd);
    }
    return -1;
}

int lull_peer_socket_open(const struct lull_trigger_config *config, GError **error)
{
    return open_bound(config, SOCK_DGRAM, error);
}

int lull_peer_socket_listen(const struct lull_trigger_config *config, GError **error)
{
    return open_bound(config, SOCK_STREAM, error);
}

static void read_address(const union any_address *address, struct in6_addr *plain, uint16_t *port)
{
    *plain = (struct in6_addr){.s6_addr = {[10] = 0xff, [11] = 0xff}};
    if (address->any.sa_family == AF_INET6) {
        *plain = address->in6.sin6_addr;
        *port = ntohs(address->in6.sin6_port);
    } else {
        memcpy(plain->s6_addr + 12, &address->in.sin_addr, 4);
        *port = ntohs(address->in.sin_port);
    }
}

static struct sockaddr_in v4_of(const struct in6_addr *address, uint16_t port)
{
    struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(port)};
    memcpy(&v4.sin_addr, address->s6_addr + 12, sizeof v4.sin_addr);
    return v4;
}

/* One of this machine is known by the number of the user, where the kernel says that; another machine by its address,
 * and numbers of users have 32 bits. */
static int64_t whose(const struct lull_trigger_endpoint *other,
                     const struct lull_trigger_endpoint *own)
{
    const bool is_here = IN6_ARE_ADDR_EQUAL(&other->address, &own->address);
    const struct sockaddr_in there = v4_of(&other->address, other->port),
                             here = v4_of(&own->address, own->port);
    const int64_t user = is_here && IN6_IS_ADDR_V4MAPPED(&other->address)
                             ? server_places_user(&there, &here)
                             : SERVER_NOBODY_KNOWN;
    uint64_t hash = UINT64_C(0xcbf29ce484222325); /* FNV-1a */
    for (unsigned i = 0; i < sizeof other->address.s6_addr; i++) {
        hash = (hash ^ other->address.s6_addr[i]) * UINT64_C(0x100000001b3);
    }
    return user != SERVER_NOBODY_KNOWN ? user : (int64_t)(hash >> 1 | UINT64_C(1) << 32);
}

int lull_peer_socket_accept(const struct lull_trigger_config *config, int fd, int64_t *who)
{
    union any_address there = {.any = {.sa_family = AF_INET}}, here = there;
    socklen_t size_there = sizeof there, size_here = sizeof here;
    struct lull_trigger_endpoint other, own;
    const int client = accept4(fd, &there.any, &size_there, SOCK_CLOEXEC);
    if (client < 0) {
        return -1;
    }
    read_address(&there, &other.address, &other.port);
    if (getsockname(client, &here.any, &size_here) == 0) {
        read_address(&here, &own.address, &own.port);
        if (lull_trigger_is_peer(config, &other.address) ||
            IN6_ARE_ADDR_EQUAL(&other.address, &own.address)) {
            *who = whose(&other, &own);
            return client;
        }
    }
    close(client);
    return -1;
}

int lull_peer_socket_connect(const struct in6_addr *to, uint16_t port, GError **error)
{
    const struct timeval at_most = {.tv_sec = CONNECT_SECONDS}, idle = {.tv_sec = IDLE_SECONDS};
    union any_address address;
    const int family = family_for(to);
    const socklen_t size = address_for(family, to, port, &address);
    const int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    /* connect() heeds the time-out for sending. */
    if (fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &at_most, sizeof at_most) == 0 &&
        connect(fd, &address.any, size) == 0) {
        setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &idle, sizeof idle);
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &idle, sizeof idle);
        return fd;
    }
    g_set_error(error, LULL_ERROR, LULL_ERROR_IO, "TCP port %u does not answer: %s", port,
                g_strerror(errno == EINPROGRESS ? ETIMEDOUT : errno));
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

/* The kernel notes when a datagram comes; a busy machine reads it later, and the ages in it are of then. */
static int64_t waited_since(struct msghdr *message)
{
    const struct cmsghdr *head = CMSG_FIRSTHDR(message);
    struct timespec came;
    if (!head || head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_TIMESTAMPNS ||
        head->cmsg_len != CMSG_LEN(sizeof came)) {
        return 0;
    }
    memcpy(&came, CMSG_DATA(head), sizeof came);
    const int64_t came_ns = (int64_t)came.tv_sec * LULL_NS_PER_S + came.tv_nsec;
    return CLAMP(g_get_real_time() * 1000 - came_ns, 0, MOST_WAIT_NS);
}

ssize_t lull_peer_socket_receive(int fd, struct in6_addr *from, uint16_t *port, uint8_t *bytes,
                                 size_t room, int64_t *waited_ns)
{
    union any_address address = {.any = {.sa_family = AF_UNSPEC}};
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(sizeof(struct timespec))];
    } control;
    struct iovec part = {bytes, room};
    struct msghdr message = {.msg_name = &address,
                             .msg_namelen = sizeof address,
                             .msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof control};
    const ssize_t n = recvmsg(fd, &message, MSG_DONTWAIT | MSG_TRUNC);
    if (n >= 0) {
        read_address(&address, from, port);
        *waited_ns = waited_since(&message);
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

bool lull_peer_address_parse(const char *text, struct in6_addr *address)
{
    g_autofree char *mapped =
        strchr(text, ':') ? g_strdup(text) : g_strconcat("::ffff:", text, NULL);
    return inet_pton(AF_INET6, mapped, address) == 1;
}

bool lull_peer_endpoint_parse(const char *text, struct lull_trigger_endpoint *endpoint)
{
    const char *colon = strrchr(text, ':');
    guint64 port;
    if (!colon || !g_ascii_string_to_unsigned(colon + 1, 10, 1, UINT16_MAX, &port, NULL)) {
        return false;
    }
    const bool is_bracketed = *text == '[' && colon > text + 1 && colon[-1] == ']';
    g_autofree char *host = is_bracketed ? g_strndup(text + 1, (gsize)(colon - text) - 2)
                                         : g_strndup(text, (gsize)(colon - text));
    endpoint->port = (uint16_t)port;
    return is_bracketed == (strchr(host, ':') != NULL) &&
           lull_peer_address_parse(host, &endpoint->address);
}
