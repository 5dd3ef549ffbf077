/* SPDX-License-Identifier: MIT */
/* Reads the tables of sockets in /proc/PID/net, proc_pid_net(5), by the numbers of their inodes. */
#include "record/state/sockets.h"

#include <fcntl.h>
#include <glib.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

struct lull_state_sockets {
    GHashTable *ends;       /* inode → struct lull_state_end */
    GHashTable *namespaces; /* set of the inodes of those that were read */
};

static const struct table {
    const char *name;
    int32_t family;
    bool is_datagram;
} tables[] = {
    {"tcp", AF_INET, false},
    {"tcp6", AF_INET6, false},
    {"udp", AF_INET, true},
    {"udp6", AF_INET6, true},
};

struct lull_state_sockets *lull_state_sockets_new(void)
{
    struct lull_state_sockets *sockets = g_new(struct lull_state_sockets, 1);
    sockets->ends = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, g_free);
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
    g_hash_table_insert(sockets->ends, g_memdup2(&inode, sizeof inode),
                        g_memdup2(&end, sizeof end));
}

static void take_table(struct lull_state_sockets *sockets, int proc, int pid,
                       const struct table *table)
{
    char text[512];
    g_snprintf(text, sizeof text, "%d/net/%s", pid, table->name);
    const int fd = openat(proc, text, O_RDONLY | O_CLOEXEC);
    FILE *file = fd >= 0 ? fdopen(fd, "r") : NULL;
    if (!file && fd >= 0) {
        close(fd);
    }
    while (file && fgets(text, sizeof text, file)) {
        take_line(sockets, table, text);
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
}

const struct lull_state_end *lull_state_sockets_find(const struct lull_state_sockets *sockets,
                                                     const char *name)
{
    int64_t inode;
    return sscanf(name, "socket:[%" SCNd64 "]", &inode) == 1
               ? g_hash_table_lookup(sockets->ends, &inode)
               : NULL;
}
