/* SPDX-License-Identifier: MIT */
/* The kernel lists unix sockets with their peers (sock_diag(7)), and those of TCP with both addresses (/proc/PID/net/tcp, of each
 * network namespace). Of a connection that nobody has accepted, the socket at the server's side has no inode: there, it is who listens. */
#include "record/socket_ends.h"

#include <inttypes.h>
#include <linux/rtnetlink.h>
#include <linux/unix_diag.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/search.h"
#include "base/sock_diag.h"

/* Of a machine with more, no connection is known. */
enum { MOST_SOCKETS = 1 << 18 };

/* As the kernel numbers the states of sockets. */
enum { ESTABLISHED = 1, SYN_SENT, FIN_WAIT1 = 4, FIN_WAIT2, CLOSE_WAIT = 8, LISTEN = 10 };
#define STATES                                                                                     \
    (1u << ESTABLISHED | 1u << SYN_SENT | 1u << FIN_WAIT1 | 1u << FIN_WAIT2 | 1u << CLOSE_WAIT |   \
     1u << LISTEN)

struct connection {
    struct in6_addr local, remote; /* of IPv4 as IPv6 has it */
    uint16_t local_port, remote_port;
};
G_STATIC_ASSERT(sizeof(struct connection) == 36); /* nothing between: it is compared as bytes */

struct tcp_socket {
    struct connection connection;
    uint32_t space; /* the inode of its network namespace */
    uint32_t state;
    uint64_t inode; /* 0: it has no descriptor */
};

struct lull_socket_ends {
    gint64 until_us;
    bool is_cut;        /* there are more sockets than were looked at */
    GHashTable *pids;   /* whose namespaces are looked at first */
    GHashTable *wanted; /* inode → GArray of inodes; none: nothing is known */
    GHashTable *spaces; /* the inode of a namespace that is or was looked at */
    GArray *tcp;        /* struct tcp_socket, by connection in the end */
};

static void unref_array(gpointer data)
{
    g_array_unref(data);
}

struct lull_socket_ends *lull_socket_ends_new(gint64 until_us)
{
    struct lull_socket_ends *ends = g_new0(struct lull_socket_ends, 1);
    ends->until_us = until_us;
    ends->wanted = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, unref_array);
    ends->pids = g_hash_table_new(NULL, NULL);
    ends->spaces = g_hash_table_new(NULL, NULL);
    ends->tcp = g_array_new(FALSE, FALSE, sizeof(struct tcp_socket));
    return ends;
}

void lull_socket_ends_free(struct lull_socket_ends *ends)
{
    g_hash_table_unref(ends->wanted);
    g_hash_table_unref(ends->pids);
    g_hash_table_unref(ends->spaces);
    g_array_unref(ends->tcp);
    g_free(ends);
}

static bool is_over(const struct lull_socket_ends *ends)
{
    return ends->is_cut || g_get_monotonic_time() >= ends->until_us;
}

static GArray *others_of(const struct lull_socket_ends *ends, uint64_t inode)
{
    return g_hash_table_lookup(ends->wanted, &inode);
}

/* ---- unix sockets ---- */

/* The sockets that have connected to one that listens and wait to be accepted. */
static void take_waiting(const struct lull_socket_ends *ends, const struct rtattr *icons,
                         uint64_t listener)
{
    const uint32_t *inodes = RTA_DATA(icons);
    for (size_t i = 0; i < RTA_PAYLOAD(icons) / sizeof *inodes; i++) {
        GArray *others = others_of(ends, inodes[i]);
        if (others) {
            g_array_append_val(others, listener);
        }
    }
}

static bool take_unix(void *user, const struct nlmsghdr *head)
{
    const struct lull_socket_ends *ends = user;
    const struct unix_diag_msg *message = NLMSG_DATA(head);
    size_t left = NLMSG_PAYLOAD(head, sizeof *message);
    if (head->nlmsg_len < NLMSG_LENGTH(sizeof *message)) {
        return true;
    }
    GArray *others = others_of(ends, message->udiag_ino);
    for (const struct rtattr *attribute = (const struct rtattr *)(message + 1);
         RTA_OK(attribute, left); attribute = RTA_NEXT(attribute, left)) {
        if (attribute->rta_type == UNIX_DIAG_ICONS) {
            take_waiting(ends, attribute, message->udiag_ino);
        } else if (attribute->rta_type == UNIX_DIAG_PEER && others &&
                   RTA_PAYLOAD(attribute) >= sizeof(uint32_t)) {
            const uint64_t peer = *(const uint32_t *)RTA_DATA(attribute);
            if (peer) {
                g_array_append_val(others, peer);
            }
        }
    }
    return !is_over(ends);
}

/* ---- TCP ---- */

/* From hexadecimal numbers of 32 bits, each as it is in memory: one of IPv4, or four. */
static bool parse_address(const char *text, size_t n_digits, struct in6_addr *address)
{
    uint32_t words[4];
    const size_t n = n_digits / 8;
    if (n_digits != 8 && n_digits != 32) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        if (sscanf(text + 8 * i, "%8" SCNx32, &words[i]) != 1) {
            return false;
        }
    }
    *address = lull_sock_diag_address(n == 1 ? AF_INET : AF_INET6, words);
    return true;
}

/* "0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000 1000 0 4711 …": its number, address and port of
 * its end and the other, state, what is queued, timer, tries, user, and a time-out before the inode. */
static bool parse_tcp(const char *line, struct tcp_socket *socket)
{
    char local[40], remote[40];
    struct connection *connection = &socket->connection;
    return sscanf(line,
                  " %*u: %39[0-9A-F]:%" SCNx16 " %39[0-9A-F]:%" SCNx16 " %" SCNx32
                  " %*s %*s %*s %*s %*s %" SCNu64,
                  local, &connection->local_port, remote, &connection->remote_port, &socket->state,
                  &socket->inode) == 6 &&
           parse_address(local, strlen(local), &connection->local) &&
           parse_address(remote, strlen(remote), &connection->remote);
}

/* Those of the namespace in which the process is. */
static void read_tcp(struct lull_socket_ends *ends, int32_t pid, const char *name, uint32_t space)
{
    char line[512];
    g_autofree char *path = g_strdup_printf("/proc/%" PRId32 "/net/%s", pid, name);
    FILE *file = fopen(path, "re");
    while (file && !is_over(ends) && fgets(line, sizeof line, file)) {
        struct tcp_socket socket = {.space = space};
        if (parse_tcp(line, &socket) && (STATES >> MIN(socket.state, 31) & 1)) {
            g_array_append_val(ends->tcp, socket);
            ends->is_cut |= ends->tcp->len > MOST_SOCKETS;
        }
    }
    if (file) {
        fclose(file);
    }
}

static const struct tcp_socket *at(const struct lull_socket_ends *ends, guint index)
{
    return &g_array_index(ends->tcp, struct tcp_socket, index);
}

static gint compare_sockets(gconstpointer a, gconstpointer b)
{
    const struct tcp_socket *left = a, *right = b;
    return memcmp(&left->connection, &right->connection, sizeof left->connection);
}

/* The first with this connection. */
static guint find(const struct lull_socket_ends *ends, const struct connection *wanted)
{
    return LULL_LOWER_BOUND(i, ends->tcp->len,
                            memcmp(&at(ends, i)->connection, wanted, sizeof *wanted) < 0);
}

static bool is_at(const struct lull_socket_ends *ends, guint index, const struct connection *wanted)
{
    return index < ends->tcp->len &&
           memcmp(&at(ends, index)->connection, wanted, sizeof *wanted) == 0;
}

static bool is_loopback(const struct in6_addr *address)
{
    return IN6_IS_ADDR_LOOPBACK(address) ||
           (IN6_IS_ADDR_V4MAPPED(address) && address->s6_addr[12] == 127);
}

/* Those that listen on the address, or on all of its kind, or of both: a socket of IPv6 takes IPv4 too unless it was asked not
 * to, and then another one may listen for that. */
static void add_listeners(const struct lull_socket_ends *ends, uint32_t space,
                          const struct in6_addr *address, uint16_t port, GArray *others)
{
    static const struct in6_addr any_v4 = {.s6_addr = {[10] = 0xff, [11] = 0xff}};
    const struct {
        struct in6_addr local, remote; /* who listens is connected to nobody, of IPv4 or of IPv6 */
    } tried[] = {
        {*address, any_v4}, {*address, in6addr_any}, {any_v4, any_v4}, {in6addr_any, in6addr_any}};
    const guint before = others->len;
    for (size_t i = 0; i < G_N_ELEMENTS(tried) && others->len == before; i++) {
        if (IN6_IS_ADDR_V4MAPPED(&tried[i].local) && !IN6_IS_ADDR_V4MAPPED(address)) {
            continue;
        }
        const struct connection wanted = {
            .local = tried[i].local, .remote = tried[i].remote, .local_port = port};
        for (guint k = find(ends, &wanted); is_at(ends, k, &wanted); k++) {
            const struct tcp_socket *socket = at(ends, k);
            if (socket->space == space && socket->state == LISTEN && socket->inode) {
                g_array_append_val(others, socket->inode);
            }
        }
    }
}

static void find_other(const struct lull_socket_ends *ends, const struct tcp_socket *own,
                       GArray *others)
{
    const struct connection *here = &own->connection;
    const struct connection there = {here->remote, here->local, here->remote_port,
                                     here->local_port};
    const struct tcp_socket *other = NULL;
    guint n = 0; /* in other namespaces; loopback addresses of these are not the same */
    for (guint i = find(ends, &there); is_at(ends, i, &there); i++) {
        const bool is_here = at(ends, i)->space == own->space;
        n += !is_here;
        if (is_here || !is_loopback(&here->remote)) {
            other = !other || is_here ? at(ends, i) : other;
        }
    }
    const bool is_within =
        is_loopback(&here->remote) || IN6_ARE_ADDR_EQUAL(&here->remote, &here->local);
    if (other && other->space != own->space && n > 1) {
        return; /* which of them, nothing says */
    }
    if (other && other->inode) {
        g_array_append_val(others, other->inode);
    } else if (other && (other->state == ESTABLISHED || other->state == CLOSE_WAIT)) {
        add_listeners(ends, other->space, &here->remote, here->remote_port, others);
    } else if (!other && is_within && (own->state == ESTABLISHED || own->state == SYN_SENT)) {
        /* Who listens has no room for more, and so the kernel has not made its socket yet. */
        add_listeners(ends, own->space, &here->remote, here->remote_port, others);
    }
}

/* False: of some it is not known. */
static bool find_others(const struct lull_socket_ends *ends)
{
    bool is_done = true;
    g_array_sort(ends->tcp, compare_sockets);
    for (guint i = 0; i < ends->tcp->len; i++) {
        const struct tcp_socket *own = at(ends, i);
        GArray *others = own->state == LISTEN ? NULL : others_of(ends, own->inode);
        if (others && others->len == 0) {
            find_other(ends, own, others);
            is_done &= others->len > 0 || is_loopback(&own->connection.remote);
        }
    }
    return is_done;
}

/* ---- network namespaces ---- */

/* That in which the process is, unless it has been looked at. Of unix sockets the kernel lists only those of our own: to enter
 * another one, a recorder lacks the right. */
static void look_at_space(struct lull_socket_ends *ends, int32_t pid)
{
    static const struct unix_diag_req request = {.sdiag_family = AF_UNIX,
                                                 .udiag_states = ~0u,
                                                 .udiag_show = UDIAG_SHOW_PEER | UDIAG_SHOW_ICONS};
    struct stat space, ours;
    g_autofree char *path = g_strdup_printf("/proc/%" PRId32 "/ns/net", pid);
    if (is_over(ends) || stat(path, &space) != 0 ||
        !g_hash_table_add(ends->spaces, GSIZE_TO_POINTER(space.st_ino))) {
        return;
    }
    const bool is_ours = stat("/proc/self/ns/net", &ours) == 0 && ours.st_ino == space.st_ino;
    const int fd = is_ours ? lull_sock_diag_open(-1, NULL) : -1;
    if (fd >= 0) {
        lull_sock_diag_list(fd, &request, sizeof request, take_unix, ends);
        close(fd);
    }
    read_tcp(ends, pid, "tcp", (uint32_t)space.st_ino);
    read_tcp(ends, pid, "tcp6", (uint32_t)space.st_ino);
}

void lull_socket_ends_want(struct lull_socket_ends *ends, int32_t pid, uint64_t inode)
{
    g_hash_table_add(ends->pids, GINT_TO_POINTER(pid));
    if (!others_of(ends, inode)) {
        g_hash_table_insert(ends->wanted, g_memdup2(&inode, sizeof inode),
                            g_array_new(FALSE, FALSE, sizeof(uint64_t)));
    }
}

void lull_socket_ends_find(struct lull_socket_ends *ends)
{
    GHashTableIter pids;
    gpointer pid;
    g_hash_table_iter_init(&pids, ends->pids);
    while (g_hash_table_iter_next(&pids, &pid, NULL)) {
        look_at_space(ends, GPOINTER_TO_INT(pid));
    }
    if (g_hash_table_size(ends->pids) == 0 || find_others(ends)) {
        return;
    }
    /* It may be in a container, where nobody waits who is asked about. */
    g_autoptr(GDir) processes = g_dir_open("/proc", 0, NULL);
    const char *name;
    while (processes && !is_over(ends) && (name = g_dir_read_name(processes))) {
        guint64 number;
        if (g_ascii_string_to_unsigned(name, 10, 1, INT32_MAX, &number, NULL)) {
            look_at_space(ends, (int32_t)number);
        }
    }
    find_others(ends);
}

const GArray *lull_socket_ends_of(const struct lull_socket_ends *ends, uint64_t inode)
{
    const GArray *others = is_over(ends) ? NULL : others_of(ends, inode);
    return others && others->len ? others : NULL;
}
