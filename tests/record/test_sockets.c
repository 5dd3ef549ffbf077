/* SPDX-License-Identifier: MIT */
/* Tables of sockets as proc_pid_net(5) shows them, in a folder of our own: lines that are whole, cut off, or of something else.
 * What they mean was worked out by hand, for a machine of either byte order. */
#include <fcntl.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "record/state/sockets.h"

#define HEAD                                                                                       \
    "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
#define REST " 01 00000000:00000000 00:00000000 00000000  1000        0 "
#if G_BYTE_ORDER == G_LITTLE_ENDIAN
#define LOCAL "0100007F"
#define REMOTE "0200090A"
#define MAPPED "0000000000000000FFFF00000200090A"
#else
#define LOCAL "7F000001"
#define REMOTE "0A090002"
#define MAPPED "00000000000000000000FFFF0A090002"
#endif
#define ANY "00000000:0000"

static char *folder;

static void put(const char *name, const char *text)
{
    g_autofree char *path = g_build_filename(folder, name, NULL);
    g_autofree char *parent = g_path_get_dirname(path);
    g_assert_cmpint(g_mkdir_with_parents(parent, 0700), ==, 0);
    g_assert_true(g_file_set_contents(path, text, -1, NULL));
}

static const struct lull_state_end *find(const struct lull_state_sockets *sockets, int inode)
{
    g_autofree char *name = g_strdup_printf("socket:[%d]", inode);
    return lull_state_sockets_find(sockets, name);
}

static void test_tables(void)
{
    static const uint8_t local[4] = {127, 0, 0, 1}, remote[4] = {10, 9, 0, 2};
    put("7/ns/net", "");
    put("7/net/tcp",
        HEAD "   0: " LOCAL ":1F90 " REMOTE ":C350" REST "11 1 x\n"
             "   1: " LOCAL ":1F90 " ANY REST "12 1 x\n"           /* it listens */
             "   2: " ANY " " ANY REST "13 1 x\n"                  /* it is bound to nothing */
             "   3: " LOCAL ":1F90 " REMOTE ":C350" REST "0 1 x\n" /* of nobody any more */
             "   4: " LOCAL ":1F90 " REMOTE "\n"
             "   5: 01:1F90 " REMOTE ":C350" REST "15 1 x\n"
             "   6: " LOCAL ":1F90 zz:C350" REST "16 1 x\n"
             "   7: " LOCAL ":1F90 " REMOTE ":C350 01");
    put("7/net/tcp6", HEAD "   0: " MAPPED ":1F90 " MAPPED ":0050" REST "21 1 x\n"
                           "   1: " LOCAL ":1F90 " REMOTE ":C350" REST "22 1 x\n");
    put("7/net/udp", HEAD "  10: " LOCAL ":0035 " REMOTE ":0036" REST "31 2 x\n");
    put("7/net/unix", "Num       RefCount Protocol Flags    Type St Inode Path\n"
                      "0000000000000000: 00000002 00000000 00010000 0001 01    41 /run/a b\n"
                      "0000000000000000: 00000003 00000000 00000000 0001 03    42\n"
                      "0000000000000000: 00000003 00000000 00000000 0001 03    43 \n"
                      "0000000000000000: 00000003 00000000\n");
    const int proc = open(folder, O_RDONLY | O_DIRECTORY);
    struct lull_state_sockets *sockets = lull_state_sockets_new();
    lull_state_sockets_read(sockets, proc, 7);
    lull_state_sockets_read(sockets, proc, 8); /* it has ended */
    const struct lull_state_end *end = find(sockets, 11);
    g_assert_true(end && end->family == AF_INET && end->port == 50000 && end->own_port == 8080 &&
                  !end->is_datagram);
    g_assert_cmpmem(end->address, 4, remote, 4);
    end = find(sockets, 12);
    g_assert_true(end && end->port == 8080);
    g_assert_cmpmem(end->address, 4, local, 4);
    for (int inode = 13; inode < 21; inode++) {
        g_assert_null(find(sockets, inode));
    }
    end = find(sockets, 21);
    g_assert_true(end && end->family == AF_INET6 && end->port == 80);
    g_assert_cmpmem(end->address + 12, 4, remote, 4);
    g_assert_cmpint(end->address[10], ==, 0xff);
    g_assert_null(find(sockets, 22));
    end = find(sockets, 31);
    g_assert_true(end && end->is_datagram && end->port == 54);
    end = find(sockets, 41);
    g_assert_true(end && end->family == AF_UNIX);
    g_assert_cmpstr(end->path, ==, "/run/a b");
    g_assert_null(find(sockets, 42));
    g_assert_null(find(sockets, 43));
    g_assert_null(lull_state_sockets_find(sockets, "pipe:[11]"));
    lull_state_sockets_free(sockets);
    close(proc);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    folder = g_dir_make_tmp("lull-sockets-XXXXXX", NULL);
    g_assert_nonnull(folder);
    g_test_add_func("/record/sockets/tables", test_tables);
    const int status = g_test_run();
    g_autofree char *remove = g_strdup_printf("rm -rf '%s'", folder);
    g_assert_true(g_spawn_command_line_sync(remove, NULL, NULL, NULL, NULL));
    g_free(folder);
    return status;
}
