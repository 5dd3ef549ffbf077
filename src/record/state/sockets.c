/* SPDX-License-Identifier: MIT */
/* Reads the tables of sockets in /proc/PID/net, proc_pid_net(5), by the numbers of their inodes. */
#include "record/state/sockets.h"

#include <glib.h>
#include <inttypes.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

struct lull_state_sockets {
    GHashTable *ends;       /* inode → struct lull_state_end */
    GHashTable *namespaces; /* set of the inodes of those that were read */
};

static const struct table {
    const char *name;
    int32_t family;
    bool is_datagram;
} tables[] = {
    {"tcp", AF_INET, false},  {"tcp6", AF_INET6, false}, {"udp", AF_INET, true},
    {"udp6", AF_INET6, true}, {"unix", AF_UNIX, false},
};

static void free_end(gpointer data)
{
    struct lull_state_end *end = data;
    g_free(end->path);
    g_free(end);
}

/* Takes the path. */
static void add(struct lull_state_sockets *sockets, int64_t inode, const struct lull_state_end *end)
{
    g_hash_table_insert(sockets->ends, g_memdup2(&inode, sizeof inode),
                        g_memdup2(end, sizeof *end));
}

/* ---- unix sockets ---- */

static const struct lull_state_end *find(const struct lull_state_sockets *sockets, int64_t inode)
{
    return g_hash_table_lookup(sockets->ends, &inode);
}

/* "0000000000000000: 00000003 00000000 00000000 0001 03 12345 /run/x": a path may have blanks, but no line break. */
static void take_unix_line(struct lull_state_sockets *sockets, char *line)
{
    int64_t inode;
    int at = 0;
    if (sscanf(line, "%*[0-9a-fA-F]: %*s %*s %*s %*s %*s %" SCNd64 "%n", &inode, &at) == 1 && at &&
        line[at] == ' ' && line[at + 1] && line[at + 1] != '\n') {
        line[strcspn(line, "\n")] = '\0';
        const struct lull_state_end end = {.family = AF_UNIX, .path = g_strdup(line + at + 1)};
        add(sockets, inode, &end);
    }
}

/* A socket without a name that is connected is called as its peer is. */
static void take_peer(struct lull_state_sockets *sockets, const struct nlmsghdr *head)
{
    const struct unix_diag_msg *socket = NLMSG_DATA(head);
    if (head->nlmsg_len < NLMSG_LENGTH(sizeof *socket) || find(sockets, socket->udiag_ino)) {
        return;
    }
    size_t left = head->nlmsg_len - NLMSG_LENGTH(sizeof *socket);
    const uint8_t *at = (const uint8_t *)(socket + 1);
    while (left >= sizeof(struct rtattr)) {
        const struct rtattr *attribute = (const struct rtattr *)(const void *)at;
        const size_t step = MIN(left, RTA_ALIGN(attribute->rta_len));
        uint32_t peer;
        if (attribute->rta_len < sizeof *attribute || attribute->rta_len > left) {
            return;
        }
        if (attribute->rta_type == UNIX_DIAG_PEER &&
            attribute->rta_len >= RTA_LENGTH(sizeof peer)) {
            memcpy(&peer, RTA_DATA(attribute), sizeof peer);
            const struct lull_state_end *other = find(sockets, peer);
            if (other && other->path) {
                const struct lull_state_end end = {.family = AF_UNIX,
                                                   .path = g_strdup(other->path)};
                add(sockets, socket->udiag_ino, &end);
            }
            return;
        }
        at += step;
        left -= step;
    }
}

/* Asks the kernel by sock_diag(7) which are connected; true: there are more answers to come. */
static bool take_answers(struct lull_state_sockets *sockets, int diag)
{
    uint32_t answers[8192];
    const ssize_t n = recv(diag, answers, sizeof answers, 0);
    const struct nlmsghdr *head = (const struct nlmsghdr *)answers;
    for (size_t left = (size_t)MAX(n, 0); NLMSG_OK(head, left); head = NLMSG_NEXT(head, left)) {
        if (head->nlmsg_type != SOCK_DIAG_BY_FAMILY) {
            return false; /* that was all, or an error */
        }
        take_peer(sockets, head);
    }
    return n > 0;
}

static void take_peers(struct lull_state_sockets *sockets)
{
    const struct {
        struct nlmsghdr head;
        struct unix_diag_req question;
    } request = {
        {.nlmsg_len = sizeof request,
         .nlmsg_type = SOCK_DIAG_BY_FAMILY,
         .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
        {.sdiag_family = AF_UNIX, .udiag_states = UINT32_MAX, .udiag_show = UDIAG_SHOW_PEER}};
    const int diag = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    if (diag < 0) {
        return;
    }
    if (send(diag, &request, sizeof request, 0) == (ssize_t)sizeof request) {
        while (take_answers(sockets, diag)) {
        }
    }
    close(diag);
}

/* ---- all ---- */

struct lull_state_sockets *lull_state_sockets_new(void)
{
    struct lull_state_sockets *sockets = g_new(struct lull_state_sockets, 1);
    sockets->ends = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, free_end);
    sockets->namespaces = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
    return sockets;
}

void lull_state_sockets_free(struct lull_state_sockets *sockets)
{
    g_hash_table_unref(sockets->ends);
    g_hash_table_unref(sockets->namespaces);
    g_free(sockets);
}

/* "0100007F:1F90": words of an address as this machine has them in memory, each in hexadecimal digits, and a port. */
static bool parse_end(const char *text, int32_t family, uint8_t address[16], uint32_t *port)
{
    const unsigned n_words = family == AF_INET6 ? 4 : 1;
    if (strlen(text) != (size_t)8 * n_words + strlen(":1F90")) {
        return false;
    }
    for (unsigned i = 0; i < n_words; i++) {
        uint32_t word;
        if (sscanf(text + (size_t)8 * i, "%8" SCNx32, &word) != 1) {
            return false;
        }
        memcpy(address + (size_t)4 * i, &word, sizeof word);
    }
    return sscanf(text + (size_t)8 * n_words, ":%4" SCNx32, port) == 1;
}

/* "   0: 0100007F:1F90 0100007F:C350 01 00000000:00000000 00:00000000 00000000  1000  0 12345 …" */
static void take_line(struct lull_state_sockets *sockets, const struct table *table,
                      const char *line)
{
    char own[42], other[42];
    uint8_t own_address[16];
    int64_t inode;
    struct lull_state_end end = {.family = table->family, .is_datagram = table->is_datagram};
    if (sscanf(line, " %*[0-9]: %41s %41s %*s %*s %*s %*s %*s %*s %" SCNd64, own, other, &inode) !=
            3 ||
        inode == 0 || !parse_end(own, end.family, own_address, &end.own_port) ||
        !parse_end(other, end.family, end.address, &end.port) || end.own_port == 0) {
        return;
    }
    if (end.port == 0) {
        memcpy(end.address, own_address, sizeof own_address);
        end.port = end.own_port;
    }
    add(sockets, inode, &end);
}

static void take_table(struct lull_state_sockets *sockets, int proc, int pid,
                       const struct table *table)
{
    char text[512];
    g_snprintf(text, sizeof text, "%d/net/%s", pid, table->name);
    FILE *file = lull_file_open_lines(proc, text);
    while (file && fgets(text, sizeof text, file)) {
        if (table->family == AF_UNIX) {
            take_unix_line(sockets, text);
        } else {
            take_line(sockets, table, text);
        }
    }
    if (file) {
        fclose(file);
    }
}

void lull_state_sockets_read(struct lull_state_sockets *sockets, int proc, int pid)
{
    char name[32];
    struct stat st;
    g_snprintf(name, sizeof name, "%d/ns/net", pid);
    if (fstatat(proc, name, &st, 0) != 0) {
        return;
    }
    const int64_t number = (int64_t)st.st_ino;
    if (g_hash_table_contains(sockets->namespaces, &number)) {
        return;
    }
    g_hash_table_add(sockets->namespaces, g_memdup2(&number, sizeof number));
    for (size_t i = 0; i < G_N_ELEMENTS(tables); i++) {
        take_table(sockets, proc, pid, &tables[i]);
    }
    if (stat("/proc/self/ns/net", &st) == 0 && (int64_t)st.st_ino == number) {
        take_peers(sockets);
    }
}

const struct lull_state_end *lull_state_sockets_find(const struct lull_state_sockets *sockets,
                                                     const char *name)
{
    int64_t inode;
    return sscanf(name, "socket:[%" SCNd64 "]", &inode) == 1
               ? g_hash_table_lookup(sockets->ends, &inode)
               : NULL;
}
