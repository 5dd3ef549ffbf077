/* SPDX-License-Identifier: MIT */
/* The kernel reports each socket with its inode, and of TCP with how long ago data came and went (sock_diag(7)). So a
 * connection that lies idle in a pool is known not to be part of a request. What is closed already, and UDP, is known
 * from those that were seen to talk (live/talks.h). */
#include "trigger/touched.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <linux/inet_diag.h>
#include <linux/rtnetlink.h>
#include <linux/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/sock_diag.h"
#include "trigger/process_sockets.h"
#include "trigger/urgent.h"

#define NS_PER_MS INT64_C(1000000)
/* The kernel counts in ticks, of 10 ms at most, and both ends of a time are rounded. */
#define TICKS_NS (20 * NS_PER_MS)
/* More are not looked at. */
#define MOST_SOCKETS (1u << 18)
#define MOST_PROCESSES 64u
#define MOST_FOUND 4096u
/* How often processes that were talked to on this machine are followed to those that they talked to. */
#define ROUNDS 3

enum { ESTABLISHED = 1, SYN_SENT, FIN_WAIT1 = 4, FIN_WAIT2, CLOSED = 7, CLOSE_WAIT, LAST_ACK };
#define TCP_STATES                                                                                 \
    (1u << ESTABLISHED | 1u << SYN_SENT | 1u << FIN_WAIT1 | 1u << FIN_WAIT2 | 1u << CLOSE_WAIT |   \
     1u << LAST_ACK)
#define UDP_STATES (1u << ESTABLISHED | 1u << CLOSED) /* connected or not */

struct known_socket {
    struct lull_peer_connection connection; /* of UDP the other end may be any: port 0 */
    uint64_t inode;
    int64_t idle_ns; /* INT64_MAX: not known, as of UDP */
};

struct search {
    GArray *sockets;     /* struct known_socket, of the namespace */
    const GArray *talks; /* struct lull_talk, of the time of the request and the namespace */
    struct lull_peer_connection *of_talk; /* the connection of each of them, */
    uint32_t *next;     /* 1 + the number of the next one with the same connection; 0: none */
    GHashTable *first;  /* likewise of the first one, by the connection */
    GHashTable *inodes; /* sockets of the processes that are part of the request */
    GHashTable *pids;   /* these */
    GHashTable *wanted; /* sockets whose processes are, too */
    bool is_more;       /* there are new ones */
    bool is_quick;      /* sockets do not matter, only talks */
    int64_t age_ns;
};

static bool fail(GError **error)
{
    g_set_error(error, LULL_ERROR, LULL_ERROR_IO,
                "the kernel does not report its connections (CONFIG_INET_DIAG): %s",
                g_strerror(errno));
    return false;
}

int lull_touched_open(GError **error)
{
    const int fd = lull_sock_diag_open(-1, NULL);
    if (fd < 0) {
        fail(error);
    }
    return fd;
}

/* ---- sockets ---- */

/* Since data came or went. Who still connects waits for just that. */
static int64_t idle_of(const struct inet_diag_msg *message, size_t size)
{
    const struct rtattr *attribute = (const struct rtattr *)(message + 1);
    size_t left = size - sizeof *message;
    struct tcp_info info;
    if (message->idiag_state == SYN_SENT) {
        return 0;
    }
    for (; RTA_OK(attribute, left); attribute = RTA_NEXT(attribute, left)) {
        if (attribute->rta_type == INET_DIAG_INFO &&
            RTA_PAYLOAD(attribute) >= offsetof(struct tcp_info, tcpi_last_ack_recv)) {
            memset(&info, 0, sizeof info);
            memcpy(&info, RTA_DATA(attribute), MIN(sizeof info, RTA_PAYLOAD(attribute)));
            return MIN(info.tcpi_last_data_sent, info.tcpi_last_data_recv) * NS_PER_MS;
        }
    }
    return INT64_MAX;
}

static bool add_socket(void *user, const struct nlmsghdr *head)
{
    GArray *sockets = user;
    const struct inet_diag_msg *message = NLMSG_DATA(head);
    const size_t size = NLMSG_PAYLOAD(head, 0);
    if (size < sizeof *message || message->idiag_inode == 0 || sockets->len >= MOST_SOCKETS) {
        return true;
    }
    const struct known_socket socket = {
        .connection = {.local =
                           lull_sock_diag_address(message->idiag_family, message->id.idiag_src),
                       .remote =
                           lull_sock_diag_address(message->idiag_family, message->id.idiag_dst),
                       .local_port = GUINT16_FROM_BE(message->id.idiag_sport),
                       .remote_port = GUINT16_FROM_BE(message->id.idiag_dport)},
        .inode = message->idiag_inode,
        .idle_ns = idle_of(message, size)};
    g_array_append_val(sockets, socket);
    return true;
}

static bool list_sockets(int fd, uint8_t family, uint8_t protocol, GArray *sockets)
{
    const struct inet_diag_req_v2 request = {.sdiag_family = family,
                                             .sdiag_protocol = protocol,
                                             .idiag_states =
                                                 protocol == IPPROTO_TCP ? TCP_STATES : UDP_STATES,
                                             .idiag_ext = 1 << (INET_DIAG_INFO - 1)};
    return lull_sock_diag_list(fd, &request, sizeof request, add_socket, sockets);
}

/* ---- processes ---- */

static bool add_inode(void *user, uint64_t inode)
{
    const struct search *search = user;
    g_hash_table_add(search->inodes, GSIZE_TO_POINTER(inode));
    return true;
}

static void add_process(struct search *search, int64_t pid)
{
    if (g_hash_table_size(search->pids) < MOST_PROCESSES &&
        g_hash_table_add(search->pids, GSIZE_TO_POINTER((gsize)pid))) {
        search->is_more = true;
        if (!search->is_quick) {
            lull_process_sockets(pid, add_inode, search);
        }
    }
}

struct ownership {
    GHashTable *wanted;
    bool is_found;
};

static bool is_not_wanted(void *user, uint64_t inode)
{
    struct ownership *owner = user;
    owner->is_found = g_hash_table_contains(owner->wanted, GSIZE_TO_POINTER(inode));
    return !owner->is_found;
}

/* Every process that has one of the sockets. */
static void add_owners(struct search *search)
{
    DIR *proc = opendir("/proc");
    const struct dirent *entry;
    while (proc && (entry = readdir(proc))) {
        const int64_t pid = g_ascii_strtoll(entry->d_name, NULL, 10);
        struct ownership owner = {.wanted = search->wanted};
        if (pid > 0) {
            lull_process_sockets(pid, is_not_wanted, &owner);
        }
        if (owner.is_found) {
            add_process(search, pid);
        }
    }
    if (proc) {
        closedir(proc);
    }
}

/* ---- the search ---- */

static bool is_same(const struct lull_peer_connection *a, const struct lull_peer_connection *b)
{
    return a->local_port == b->local_port && a->remote_port == b->remote_port &&
           IN6_ARE_ADDR_EQUAL(&a->local, &b->local) && IN6_ARE_ADDR_EQUAL(&a->remote, &b->remote);
}

/* FNV-1a. */
static guint hash_connection(gconstpointer key)
{
    const uint8_t *bytes = key;
    uint32_t hash = 2166136261u;
    G_STATIC_ASSERT(sizeof(struct lull_peer_connection) == 36); /* nothing between */
    for (size_t i = 0; i < sizeof(struct lull_peer_connection); i++) {
        hash = (hash ^ bytes[i]) * 16777619u;
    }
    return hash;
}

static gboolean equals_connection(gconstpointer a, gconstpointer b)
{
    return is_same(a, b);
}

static bool is_local(const struct lull_peer_connection *connection)
{
    const struct in6_addr *remote = &connection->remote;
    return remote->s6_addr[0] == LULL_TALK_WITHIN ||
           IN6_ARE_ADDR_EQUAL(&connection->local, remote) || IN6_IS_ADDR_LOOPBACK(remote) ||
           (IN6_IS_ADDR_V4MAPPED(remote) && remote->s6_addr[12] == 127);
}

static bool has_talked(const struct search *search, const struct lull_talk *talk)
{
    return g_hash_table_contains(search->pids, GSIZE_TO_POINTER((gsize)talk->tgid));
}

static struct lull_peer_connection connection_of(const struct lull_talk *talk)
{
    struct lull_peer_connection connection = {.local_port = talk->local_port,
                                              .remote_port = talk->remote_port};
    memcpy(&connection.local, talk->local, sizeof connection.local);
    memcpy(&connection.remote, talk->remote, sizeof connection.remote);
    return connection;
}

static struct lull_peer_connection reversed(const struct lull_peer_connection *connection)
{
    return (struct lull_peer_connection){.local = connection->remote,
                                         .remote = connection->local,
                                         .local_port = connection->remote_port,
                                         .remote_port = connection->local_port};
}

static bool is_any(const struct in6_addr *address)
{
    static const struct in6_addr any_v4 = {.s6_addr = {[10] = 0xff, [11] = 0xff}};
    return IN6_IS_ADDR_UNSPECIFIED(address) || IN6_ARE_ADDR_EQUAL(address, &any_v4);
}

/* A socket of UDP that takes datagrams of everybody. */
static bool serves(const struct lull_peer_connection *socket,
                   const struct lull_peer_connection *connection)
{
    return socket->remote_port == 0 && socket->local_port == connection->local_port &&
           (is_any(&socket->local) || IN6_ARE_ADDR_EQUAL(&socket->local, &connection->local));
}

/* Whoever has a socket at this end of the connection is part of the request. */
static void want(struct search *search, const struct lull_peer_connection *connection)
{
    const uint32_t first = GPOINTER_TO_UINT(g_hash_table_lookup(search->first, connection));
    bool is_found = first > 0;
    for (uint32_t i = first; i > 0; i = search->next[i - 1]) {
        add_process(search, g_array_index(search->talks, struct lull_talk, i - 1).tgid);
    }
    /* First those of this connection alone. A unix socket has no port, and is known by its talks only. */
    for (unsigned pass = 0; pass < 2 && !is_found && connection->local_port > 0; pass++) {
        for (guint i = 0; i < search->sockets->len; i++) {
            const struct known_socket *socket =
                &g_array_index(search->sockets, struct known_socket, i);
            if (pass == 0 ? is_same(&socket->connection, connection)
                          : serves(&socket->connection, connection)) {
                is_found = true;
                if (!g_hash_table_contains(search->inodes, GSIZE_TO_POINTER(socket->inode))) {
                    g_hash_table_add(search->wanted, GSIZE_TO_POINTER(socket->inode));
                    search->is_more = true;
                }
            }
        }
    }
}

static bool is_part(const struct search *search, const struct known_socket *socket)
{
    return socket->idle_ns <= search->age_ns + TICKS_NS &&
           g_hash_table_contains(search->inodes, GSIZE_TO_POINTER(socket->inode));
}

/* Calls for each connection that those who are part of the request have used. */
static void each_used(struct search *search,
                      void (*each)(void *user, const struct lull_peer_connection *connection),
                      void *user)
{
    for (guint i = 0; i < search->sockets->len; i++) {
        const struct known_socket *socket = &g_array_index(search->sockets, struct known_socket, i);
        if (is_part(search, socket)) {
            each(user, &socket->connection);
        }
    }
    for (guint i = 0; i < search->talks->len; i++) {
        const struct lull_talk *talk = &g_array_index(search->talks, struct lull_talk, i);
        if (has_talked(search, talk)) {
            each(user, &search->of_talk[i]);
        }
    }
}

/* The other end of a connection within this machine. */
static void want_partner(void *user, const struct lull_peer_connection *connection)
{
    const struct lull_peer_connection there = reversed(connection);
    if (is_local(connection)) {
        want(user, &there);
    }
}

static void follow(struct search *search, const struct lull_touched_question *question)
{
    for (uint32_t i = 0; i < question->n_connections; i++) {
        want(search, &question->connection[i]);
    }
    if (question->pid > 0) {
        add_process(search, question->pid);
    }
    for (unsigned round = 0; round <= ROUNDS && search->is_more; round++) {
        if (g_hash_table_size(search->wanted) > 0) {
            add_owners(search);
            g_hash_table_remove_all(search->wanted);
        }
        search->is_more = false;
        if (round < ROUNDS) {
            each_used(search, want_partner, search);
        }
    }
}

struct finding {
    GArray *found;
    GHashTable *known;
};

static void add_found(void *user, const struct lull_peer_connection *connection)
{
    const struct finding *finding = user;
    if (!is_local(connection) && finding->found->len < MOST_FOUND &&
        g_hash_table_add(finding->known, (gpointer)connection)) {
        g_array_append_vals(finding->found, connection, 1);
    }
}

/* Of the time of the request, and of that network namespace. *reaches_back: whether there are older ones, so that none of
 * them has made room. */
static GArray *list_talks(const struct lull_touched_question *question, uint32_t namespace,
                          bool *reaches_back)
{
    GArray *talks = g_array_new(FALSE, FALSE, sizeof(struct lull_talk));
    guint n = 0;
    lull_talks_list(question->talks, talks);
    *reaches_back = talks->len < LULL_TALKS / 2;
    for (guint i = 0; i < talks->len; i++) {
        const struct lull_talk talk = g_array_index(talks, struct lull_talk, i);
        /* A process that has ended does not say any more where it was. */
        const bool is_there = talk.namespace == namespace || talk.tgid == question->pid;
        const bool is_late = (int64_t)talk.last_ns >= question->start_ns - TICKS_NS;
        if (is_there && is_late && (int64_t)talk.first_ns <= question->end_ns + TICKS_NS) {
            g_array_index(talks, struct lull_talk, n++) = talk;
        }
        *reaches_back = *reaches_back || !is_late;
    }
    g_array_set_size(talks, n);
    return talks;
}

/* A kernel without IPv6, or without a module for UDP, knows no such sockets. */
static bool list_all_sockets(int fd, GArray *sockets)
{
    static const struct {
        uint8_t family, protocol;
    } kinds[] = {{AF_INET, IPPROTO_TCP},
                 {AF_INET6, IPPROTO_TCP},
                 {AF_INET, IPPROTO_UDP},
                 {AF_INET6, IPPROTO_UDP}};
    for (size_t i = 0; i < G_N_ELEMENTS(kinds); i++) {
        if (!list_sockets(fd, kinds[i].family, kinds[i].protocol, sockets) &&
            (i == 0 || errno != ENOENT)) {
            return false;
        }
    }
    return true;
}

/* Which talks were over a connection is asked for each that stays within the machine. */
static void index_talks(struct search *search)
{
    const guint n = search->talks->len;
    search->of_talk = g_new(struct lull_peer_connection, n);
    search->next = g_new(uint32_t, n);
    search->first = g_hash_table_new(hash_connection, equals_connection);
    for (guint i = 0; i < n; i++) {
        struct lull_peer_connection *key = &search->of_talk[i];
        *key = connection_of(&g_array_index(search->talks, struct lull_talk, i));
        search->next[i] = GPOINTER_TO_UINT(g_hash_table_lookup(search->first, key));
        g_hash_table_insert(search->first, key, GUINT_TO_POINTER(i + 1));
    }
}

/* `fd` -1: from talks alone, of which `talks` has those of the request. */
static bool search_sockets(int fd, const GArray *talks,
                           const struct lull_touched_question *question, GArray *found,
                           bool *is_known, GError **error)
{
    struct search search = {.sockets = g_array_new(FALSE, FALSE, sizeof(struct known_socket)),
                            .talks = talks,
                            .inodes = g_hash_table_new(NULL, NULL),
                            .pids = g_hash_table_new(NULL, NULL),
                            .wanted = g_hash_table_new(NULL, NULL),
                            .is_quick = fd < 0,
                            .age_ns = g_get_monotonic_time() * 1000 - question->start_ns};
    const bool done = fd < 0 || list_all_sockets(fd, search.sockets);
    if (!done) {
        fail(error);
    }
    index_talks(&search);
    follow(&search, question);
    struct finding finding = {found, g_hash_table_new(hash_connection, equals_connection)};
    each_used(&search, add_found, &finding);
    g_hash_table_unref(finding.known);
    *is_known = g_hash_table_size(search.pids) > 0 || g_hash_table_size(search.inodes) > 0;
    g_array_unref(search.sockets);
    g_hash_table_unref(search.inodes);
    g_hash_table_unref(search.pids);
    g_hash_table_unref(search.wanted);
    g_hash_table_unref(search.first);
    g_free(search.of_talk);
    g_free(search.next);
    return done;
}

bool lull_touched_is_here(const struct in6_addr *address)
{
    struct ifaddrs *all = NULL;
    bool is_here = IN6_IS_ADDR_LOOPBACK(address);
    if (getifaddrs(&all) != 0) {
        return is_here;
    }
    for (const struct ifaddrs *one = all; one && !is_here; one = one->ifa_next) {
        const int family = one->ifa_addr ? one->ifa_addr->sa_family : AF_UNSPEC;
        if (family == AF_INET6) {
            const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)one->ifa_addr;
            is_here = IN6_ARE_ADDR_EQUAL(address, &v6->sin6_addr);
        } else if (family == AF_INET && IN6_IS_ADDR_V4MAPPED(address)) {
            const struct sockaddr_in *v4 = (const struct sockaddr_in *)one->ifa_addr;
            is_here = memcmp(address->s6_addr + 12, &v4->sin_addr, 4) == 0;
        }
    }
    freeifaddrs(all);
    return is_here;
}

/* ---- network namespaces ---- */

/* As the thread that waits for it. */
static void hurry(void)
{
    lull_urgent_set(0, true);
}

/* The namespace of the process, if that is another one and may be looked at, else -1. Its number is `namespace`, or that of
 * ours. */
static int find_beside(int64_t pid, uint32_t *namespace)
{
    char path[64];
    struct stat ours = {0}, theirs;
    g_snprintf(path, sizeof path, "/proc/%" G_GINT64_FORMAT "/ns/net", pid);
    const int there = open(path, O_RDONLY | O_CLOEXEC);
    const bool is_known = stat("/proc/self/ns/net", &ours) == 0;
    const bool is_other =
        is_known && there >= 0 && fstat(there, &theirs) == 0 && ours.st_ino != theirs.st_ino;
    *namespace = (uint32_t)(is_other ? theirs.st_ino : ours.st_ino);
    if (there >= 0 && !is_other) {
        close(there);
    }
    return is_other ? there : -1;
}

bool lull_touched_find(int socket, const struct lull_touched_question *question, GArray *found,
                       bool *is_known, GError **error)
{
    uint32_t namespace;
    bool reaches_back;
    const int there = find_beside(MAX(question->pid, 0), &namespace);
    g_autoptr(GArray) talks = list_talks(question, namespace, &reaches_back);
    if (question->talks && reaches_back && question->early) {
        search_sockets(-1, talks, question, found, is_known, NULL);
        question->early(question->user, found);
        lull_urgent_set(0, false); /* who is left has not been talked to */
        g_array_set_size(found, 0);
    }
    const int beside = there >= 0 ? lull_sock_diag_open(there, hurry) : -1;
    const bool done =
        search_sockets(beside >= 0 ? beside : socket, talks, question, found, is_known, error);
    if (beside >= 0) {
        close(beside);
    }
    if (there >= 0) {
        close(there);
    }
    return done;
}
