/* SPDX-License-Identifier: MIT */
/* The kernel reports each TCP socket with its inode and with how long ago data came and went (sock_diag(7)). So a
 * connection that lies idle in a pool is known not to be part of a request. */
#include "trigger/touched.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/tcp.h>
#include <sched.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define NS_PER_MS INT64_C(1000000)
/* The kernel counts in ticks, of 10 ms at most, and both ends of a time are rounded. */
#define TICKS_NS (20 * NS_PER_MS)
/* More are not looked at. */
#define MOST_SOCKETS (1u << 18)
#define MOST_PROCESSES 64u
/* How often processes that were talked to on this machine are followed to those that they talked to. */
#define ROUNDS 3

enum { ESTABLISHED = 1, SYN_SENT, FIN_WAIT1 = 4, FIN_WAIT2, CLOSE_WAIT = 8, LAST_ACK };
static const unsigned states[] = {ESTABLISHED, SYN_SENT,   FIN_WAIT1,
                                  FIN_WAIT2,   CLOSE_WAIT, LAST_ACK};

struct tcp_socket {
    struct lull_peer_connection connection;
    uint64_t inode;
    int64_t idle_ns;
};

struct search {
    GArray *sockets;    /* struct tcp_socket, of the namespace */
    GHashTable *inodes; /* sockets of the processes that are part of the request */
    GHashTable *pids;   /* these */
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
    const int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    if (fd < 0) {
        fail(error);
    }
    return fd;
}

/* ---- sockets ---- */

static struct in6_addr address_of(uint8_t family, const __be32 words[static 4])
{
    struct in6_addr address = {.s6_addr = {[10] = 0xff, [11] = 0xff}};
    const bool is_4 = family == AF_INET;
    memcpy(address.s6_addr + (is_4 ? 12 : 0), words, is_4 ? 4 : 16);
    return address;
}

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

static void add_socket(GArray *sockets, const struct nlmsghdr *head)
{
    const struct inet_diag_msg *message = NLMSG_DATA(head);
    const size_t size = NLMSG_PAYLOAD(head, 0);
    if (size < sizeof *message || message->idiag_inode == 0 || sockets->len >= MOST_SOCKETS) {
        return;
    }
    const struct tcp_socket socket = {
        .connection = {.local = address_of(message->idiag_family, message->id.idiag_src),
                       .remote = address_of(message->idiag_family, message->id.idiag_dst),
                       .local_port = GUINT16_FROM_BE(message->id.idiag_sport),
                       .remote_port = GUINT16_FROM_BE(message->id.idiag_dport)},
        .inode = message->idiag_inode,
        .idle_ns = idle_of(message, size)};
    g_array_append_val(sockets, socket);
}

/* All messages of an answer; `is_over` at its end. */
static bool take_sockets(int fd, GArray *sockets, bool *is_over)
{
    static const size_t room = 1 << 16;
    g_autofree struct nlmsghdr *buffer = g_malloc(room);
    const ssize_t n = recv(fd, buffer, room, 0);
    size_t left = n > 0 ? (size_t)n : 0;
    if (n < 0) {
        return errno == EINTR;
    }
    for (const struct nlmsghdr *head = buffer; NLMSG_OK(head, left);
         head = NLMSG_NEXT(head, left)) {
        if (head->nlmsg_type == NLMSG_ERROR) {
            const struct nlmsgerr *why = NLMSG_DATA(head);
            errno = NLMSG_PAYLOAD(head, 0) >= (int)sizeof *why ? -why->error : EIO;
            return false;
        }
        if (head->nlmsg_type == NLMSG_DONE) {
            *is_over = true;
            return true;
        }
        add_socket(sockets, head);
    }
    return true;
}

static bool list_sockets(int fd, uint8_t family, GArray *sockets)
{
    struct {
        struct nlmsghdr head;
        struct inet_diag_req_v2 request;
    } message = {.head = {.nlmsg_len = sizeof message,
                          .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                          .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
                 .request = {.sdiag_family = family,
                             .sdiag_protocol = IPPROTO_TCP,
                             .idiag_ext = 1 << (INET_DIAG_INFO - 1)}};
    const struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};
    for (size_t i = 0; i < G_N_ELEMENTS(states); i++) {
        message.request.idiag_states |= 1u << states[i];
    }
    if (sendto(fd, &message, sizeof message, 0, (const struct sockaddr *)&kernel, sizeof kernel) <
        0) {
        return false;
    }
    bool is_over = false;
    while (!is_over) {
        if (!take_sockets(fd, sockets, &is_over)) {
            return false;
        }
    }
    return true;
}

/* ---- processes ---- */

/* The inode of a link such as "socket:[4711]"; 0: it is no socket. */
static uint64_t inode_of(int dir, const char *name)
{
    char text[64];
    const ssize_t n = readlinkat(dir, name, text, sizeof text - 1);
    text[MAX(n, 0)] = '\0';
    return g_str_has_prefix(text, "socket:[") ? g_ascii_strtoull(text + 8, NULL, 10) : 0;
}

/* Calls for each socket of a process, as long as that returns true. */
static void each_socket(int64_t pid, bool (*each)(void *user, uint64_t inode), void *user)
{
    char path[64];
    g_snprintf(path, sizeof path, "/proc/%" G_GINT64_FORMAT "/fd", pid);
    DIR *dir = opendir(path);
    const struct dirent *entry;
    while (dir && (entry = readdir(dir))) {
        const uint64_t inode = inode_of(dirfd(dir), entry->d_name);
        if (inode > 0 && !each(user, inode)) {
            break;
        }
    }
    if (dir) {
        closedir(dir);
    }
}

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
        each_socket(pid, add_inode, search);
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
static void add_owners(struct search *search, GHashTable *wanted)
{
    DIR *proc = opendir("/proc");
    const struct dirent *entry;
    while (proc && (entry = readdir(proc))) {
        const int64_t pid = g_ascii_strtoll(entry->d_name, NULL, 10);
        struct ownership owner = {.wanted = wanted};
        if (pid > 0) {
            each_socket(pid, is_not_wanted, &owner);
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

static bool is_local(const struct lull_peer_connection *connection)
{
    const struct in6_addr *remote = &connection->remote;
    return IN6_ARE_ADDR_EQUAL(&connection->local, remote) || IN6_IS_ADDR_LOOPBACK(remote) ||
           (IN6_IS_ADDR_V4MAPPED(remote) && remote->s6_addr[12] == 127);
}

static void want(const struct search *search, const struct lull_peer_connection *connection,
                 GHashTable *wanted)
{
    for (guint i = 0; i < search->sockets->len; i++) {
        const struct tcp_socket *socket = &g_array_index(search->sockets, struct tcp_socket, i);
        if (is_same(&socket->connection, connection) &&
            !g_hash_table_contains(search->inodes, GSIZE_TO_POINTER(socket->inode))) {
            g_hash_table_add(wanted, GSIZE_TO_POINTER(socket->inode));
        }
    }
}

static bool is_part(const struct search *search, const struct tcp_socket *socket)
{
    return socket->idle_ns <= search->age_ns + TICKS_NS &&
           g_hash_table_contains(search->inodes, GSIZE_TO_POINTER(socket->inode));
}

/* The other ends of connections within this machine. */
static void want_partners(const struct search *search, GHashTable *wanted)
{
    for (guint i = 0; i < search->sockets->len; i++) {
        const struct tcp_socket *socket = &g_array_index(search->sockets, struct tcp_socket, i);
        const struct lull_peer_connection *here = &socket->connection;
        if (is_local(here) && is_part(search, socket)) {
            want(search,
                 &(struct lull_peer_connection){.local = here->remote,
                                                .remote = here->local,
                                                .local_port = here->remote_port,
                                                .remote_port = here->local_port},
                 wanted);
        }
    }
}

static void follow(struct search *search, const struct lull_touched_question *question)
{
    g_autoptr(GHashTable) wanted = g_hash_table_new(NULL, NULL);
    for (uint32_t i = 0; i < question->n_connections; i++) {
        want(search, &question->connection[i], wanted);
    }
    if (question->pid > 0) {
        add_process(search, question->pid);
        want_partners(search, wanted);
    }
    for (unsigned round = 0; round < ROUNDS && g_hash_table_size(wanted) > 0; round++) {
        add_owners(search, wanted);
        g_hash_table_remove_all(wanted);
        want_partners(search, wanted);
    }
}

static bool search_sockets(int fd, const struct lull_touched_question *question, GArray *found,
                           GError **error)
{
    struct search search = {.sockets = g_array_new(FALSE, FALSE, sizeof(struct tcp_socket)),
                            .inodes = g_hash_table_new(NULL, NULL),
                            .pids = g_hash_table_new(NULL, NULL),
                            .age_ns = question->age_ns};
    /* A kernel without IPv6 knows no such sockets. */
    const bool done = list_sockets(fd, AF_INET, search.sockets) &&
                      (list_sockets(fd, AF_INET6, search.sockets) || errno == ENOENT);
    if (done) {
        follow(&search, question);
    } else {
        fail(error);
    }
    for (guint i = 0; done && i < search.sockets->len; i++) {
        const struct tcp_socket *socket = &g_array_index(search.sockets, struct tcp_socket, i);
        if (!is_local(&socket->connection) && is_part(&search, socket)) {
            g_array_append_val(found, socket->connection);
        }
    }
    g_array_unref(search.sockets);
    g_hash_table_unref(search.inodes);
    g_hash_table_unref(search.pids);
    return done;
}

/* ---- network namespaces ---- */

/* In a thread of its own, which never has to come back. */
static gpointer open_in(gpointer namespace)
{
    const bool is_there = setns(GPOINTER_TO_INT(namespace), CLONE_NEWNET) == 0;
    return GINT_TO_POINTER(is_there ? lull_touched_open(NULL) : -1);
}

/* A socket in the namespace of the process if that is another one, and may be entered; else -1. */
static int open_beside(int64_t pid)
{
    char path[64];
    struct stat ours, theirs;
    g_snprintf(path, sizeof path, "/proc/%" G_GINT64_FORMAT "/ns/net", pid);
    const int there = open(path, O_RDONLY | O_CLOEXEC);
    const bool is_other = there >= 0 && fstat(there, &theirs) == 0 &&
                          stat("/proc/self/ns/net", &ours) == 0 && ours.st_ino != theirs.st_ino;
    GThread *thread =
        is_other ? g_thread_try_new("lull-netns", open_in, GINT_TO_POINTER(there), NULL) : NULL;
    const int fd = thread ? GPOINTER_TO_INT(g_thread_join(thread)) : -1;
    if (there >= 0) {
        close(there);
    }
    return fd;
}

bool lull_touched_find(int socket, const struct lull_touched_question *question, GArray *found,
                       GError **error)
{
    const int beside = question->pid > 0 ? open_beside(question->pid) : -1;
    const bool done = search_sockets(beside >= 0 ? beside : socket, question, found, error);
    if (beside >= 0) {
        close(beside);
    }
    return done;
}
