/* SPDX-License-Identifier: MIT */
/* The reader of a file is a child that has nothing but a pipe: no file of the recording, no socket.
 * One that hangs, since the file is on a file system of a user's own, is left behind. */
#include "record/symbols.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "symbol/elf.h"
#include "symbol/here.h"
#include "symbol/object.h"
#include "symbol/perf_map.h"
#include "symbol/saved.h"
#include "symbol/table.h"

#define MOST_BYTES (16u << 20)
#define MOST_MAP_BYTES (32 << 20)
#define MOST_US (2 * G_USEC_PER_SEC)
#define BLOCK_BYTES 65536u
#define NOBODY 65534u

/* Only what others may look for too is found once the file is open. */
static bool give_up_root(void)
{
    return geteuid() != 0 ||
           (setgroups(0, NULL) == 0 && setgid(NOBODY) == 0 && setuid(NOBODY) == 0);
}

static void write_object(int to, const struct lull_object *object, const char *path, uint64_t inode)
{
    if (object && lull_symbol_table_count(object->table) > 0) {
        g_autoptr(GString) text = g_string_new(NULL);
        lull_saved_append(text, object, path, inode);
        (void)!lull_file_write(to, text->str, text->len);
    }
}

static void give(int to, const char *path, uint64_t inode, int64_t mapped_ns)
{
    const int fd = lull_here_open(path, inode, mapped_ns);
    struct lull_object *object = fd >= 0 && give_up_root() ? lull_here_read(fd, path) : NULL;
    write_object(to, object, path, inode);
}

/* Everybody may make files in /tmp: one that is nobody else's, and of this process. */
static bool is_own_map(int fd, int64_t since_ns)
{
    struct stat st;
    return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() &&
           st.st_nlink == 1 && st.st_size <= MOST_MAP_BYTES &&
           st.st_mtim.tv_sec < INT64_MAX / 1000000000 &&
           st.st_mtim.tv_sec * INT64_C(1000000000) + st.st_mtim.tv_nsec >= since_ns;
}

static void give_map(int to, int pid, int64_t since_ns)
{
    g_autofree char *name = lull_perf_map_name(pid);
    g_autofree char *path = g_build_filename("/tmp", name, NULL);
    g_autofree char *text = g_malloc(MOST_MAP_BYTES);
    size_t length = 0;
    ssize_t n = 0;
    const int place = lull_here_look(path);
    const int fd = place >= 0 ? lull_here_take(place, is_own_map(place, since_ns)) : -1;
    if (fd < 0 || !give_up_root()) {
        return;
    }
    while (length < MOST_MAP_BYTES && (n = read(fd, text + length, MOST_MAP_BYTES - length)) > 0) {
        length += (size_t)n;
    }
    struct lull_object *object = n == 0 ? lull_perf_map_parse(text, length) : NULL;
    write_object(to, object, name, (uint64_t)pid);
}

/* Which process gets this far has all of the keeper's descriptors. */
static void close_all_but(int fd)
{
    if (fd > 3) {
        close_range(3, (unsigned)fd - 1, 0);
    }
    close_range((unsigned)fd + 1, ~0u, 0);
}

/* All that the child writes. False: it does not end in time, or it is too much. */
static bool collect(int from, GString *to)
{
    const int64_t end_us = g_get_monotonic_time() + MOST_US;
    g_autofree char *block = g_malloc(BLOCK_BYTES);
    const size_t before = to->len;
    struct pollfd poll_in = {.fd = from, .events = POLLIN};
    ssize_t n = -1;
    while (to->len - before <= MOST_BYTES) {
        const int64_t left_us = end_us - g_get_monotonic_time();
        const int is_ready = left_us > 0 ? poll(&poll_in, 1, (int)(left_us / 1000) + 1) : 0;
        if (is_ready < 0 && errno == EINTR) {
            continue;
        }
        n = is_ready > 0 ? read(from, block, BLOCK_BYTES) : -1;
        if (n <= 0) {
            break;
        }
        g_string_append_len(to, block, n);
    }
    return n == 0 && to->len > before;
}

/* What a child is to read. */
struct source {
    const char *path; /* NULL: a perf map */
    uint64_t inode;   /* or process */
    int64_t time_ns;
};

static bool take(GString *to, const struct source *source)
{
    const size_t before = to->len;
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
        return false;
    }
    const pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        close_all_but(ends[1]);
        if (source->path) {
            give(ends[1], source->path, source->inode, source->time_ns);
        } else {
            give_map(ends[1], (int)source->inode, source->time_ns);
        }
        _exit(0);
    }
    close(ends[1]);
    const bool is_taken = child > 0 && collect(ends[0], to);
    close(ends[0]);
    if (child > 0) {
        kill(child, SIGKILL);
        waitpid(child, NULL, WNOHANG);
    }
    if (!is_taken) {
        g_string_truncate(to, before);
    }
    return is_taken;
}

bool lull_symbols_take(GString *to, const char *path, uint64_t inode, int64_t mapped_ns)
{
    return lull_saved_can_hold(path) && take(to, &(struct source){path, inode, mapped_ns});
}

bool lull_symbols_take_map(GString *to, int pid, int64_t since_ns)
{
    return pid > 0 && take(to, &(struct source){NULL, (uint64_t)pid, since_ns});
}
