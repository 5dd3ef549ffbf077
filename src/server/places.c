/* SPDX-License-Identifier: MIT */
/* No user has a share of their own, so that one who is alone can have all; but who comes finds a place, since it is
 * taken from who has most. */
#include "server/places.h"

#include <glib.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct place {
    const void *connection; /* NULL: free */
    int fd;
    int64_t user;
    uint64_t number; /* in order of coming */
};

struct server_places {
    GMutex lock;
    uint64_t n; /* that came */
    struct place place[SERVER_PLACES];
};

struct server_places *server_places_new(void)
{
    struct server_places *places = g_new0(struct server_places, 1);
    g_mutex_init(&places->lock);
    return places;
}

void server_places_free(struct server_places *places)
{
    if (places) {
        g_mutex_clear(&places->lock);
        g_free(places);
    }
}

/* ---- whose it is ---- */

static bool ask_kernel(int fd, const struct sockaddr_in *other_end,
                       const struct sockaddr_in *own_end)
{
    struct {
        struct nlmsghdr head;
        struct inet_diag_req_v2 request;
    } message = {.head = {.nlmsg_len = sizeof message,
                          .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                          .nlmsg_flags = NLM_F_REQUEST},
                 .request = {.sdiag_family = AF_INET,
                             .sdiag_protocol = IPPROTO_TCP,
                             .idiag_states = ~0u,
                             .id = {.idiag_sport = other_end->sin_port,
                                    .idiag_dport = own_end->sin_port,
                                    .idiag_src = {other_end->sin_addr.s_addr},
                                    .idiag_dst = {own_end->sin_addr.s_addr},
                                    .idiag_cookie = {INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE}}}};
    const struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};
    return sendto(fd, &message, sizeof message, 0, (const struct sockaddr *)&kernel,
                  sizeof kernel) == sizeof message;
}

/* False if the kernel does not say. A socket that its program has closed is root's, as it says, and has no inode. */
static bool find_socket(const struct sockaddr_in *other_end, const struct sockaddr_in *own_end,
                        struct inet_diag_msg *found)
{
    union {
        struct nlmsghdr head;
        uint8_t bytes[8192];
    } answer;
    bool is_found = false;
    const int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    if (fd >= 0 && ask_kernel(fd, other_end, own_end)) {
        const ssize_t n = recv(fd, &answer, sizeof answer, MSG_DONTWAIT);
        if (n >= (ssize_t)NLMSG_LENGTH(sizeof *found) &&
            answer.head.nlmsg_type == SOCK_DIAG_BY_FAMILY) {
            memcpy(found, NLMSG_DATA(&answer.head), sizeof *found);
            is_found = found->idiag_inode != 0;
        }
    }
    if (fd >= 0) {
        close(fd);
    }
    return is_found;
}

int64_t server_places_user(const struct sockaddr_in *other_end, const struct sockaddr_in *own_end)
{
    struct inet_diag_msg found;
    return find_socket(other_end, own_end, &found) ? (int64_t)found.idiag_uid : SERVER_NOBODY_KNOWN;
}

uint64_t server_places_socket(const struct sockaddr_in *other_end,
                              const struct sockaddr_in *own_end)
{
    struct inet_diag_msg found;
    return find_socket(other_end, own_end, &found) ? found.idiag_inode : 0;
}

/* ---- places ---- */

static uint32_t count_of(const struct server_places *places, int64_t user)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < SERVER_PLACES; i++) {
        n += places->place[i].connection && places->place[i].user == user;
    }
    return n;
}

/* A free place, or that of the one who has to leave. */
static struct place *choose(struct server_places *places, int64_t user)
{
    struct place *chosen = NULL;
    uint32_t most = 0;
    for (uint32_t i = 0; i < SERVER_PLACES; i++) {
        struct place *place = &places->place[i];
        if (!place->connection) {
            return place;
        }
        const uint32_t n = count_of(places, place->user) + (place->user == user);
        if (n > most || (n == most && place->number < chosen->number)) {
            most = n;
            chosen = place;
        }
    }
    return chosen;
}

void server_places_take(struct server_places *places, const void *connection, int fd, int64_t user)
{
    g_mutex_lock(&places->lock);
    struct place *place = choose(places, user);
    if (place->connection) {
        shutdown(place->fd, SHUT_RDWR);
    }
    *place = (struct place){connection, fd, user, ++places->n};
    g_mutex_unlock(&places->lock);
}

void server_places_leave(struct server_places *places, const void *connection)
{
    g_mutex_lock(&places->lock);
    for (uint32_t i = 0; i < SERVER_PLACES; i++) {
        if (places->place[i].connection == connection) {
            places->place[i].connection = NULL;
        }
    }
    g_mutex_unlock(&places->lock);
}
