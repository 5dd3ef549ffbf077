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
#include "symbol/elf_frames.h"
#include "symbol/here.h"
#include "symbol/jitdump.h"
#include "symbol/object.h"
#include "symbol/perf_map.h"
#include "symbol/saved.h"
#include "unwind/cfi.h"

/* With names, as text. */
#define MOST_BYTES (32u << 20)
/* Of call frame information; what has more is unwound only where its file is. */
#define MOST_FRAME_BYTES (12u << 20)
#define MOST_MAP_BYTES (32 << 20)
#define MOST_US (2 * G_USEC_PER_SEC)
#define BLOCK_BYTES 65536u
#define NOBODY 65534u

/* What a child is to read. */
struct source {
    void (*give)(int to, const struct source *source);
    const char *path; /* NULL: a perf map */
    uint64_t inode;   /* or process */
    int64_t time_ns;
    bool wants_frames;
};

/* Only what others may look for too is found once the file is open. */
static bool give_up_root(void)
{
    return geteuid() != 0 ||
           (setgroups(0, NULL) == 0 && setgid(NOBODY) == 0 && setuid(NOBODY) == 0);
}

static void write_object(int to, const struct lull_object *object, const char *path, uint64_t inode)
{
    if (object && lull_object_is_useful(object)) {
        g_autoptr(GString) text = g_string_new(NULL);
        lull_saved_append(text, object, path, inode);
        (void)!lull_file_write(to, text->str, text->len);
    }
}

static uint64_t bytes_of(const struct lull_cfi *cfi)
{
    uint64_t all = 0, address;
    size_t size;
    bool is_debug;
    for (size_t i = 0; lull_cfi_section(cfi, i, &size, &address, &is_debug); i++) {
        all += size;
    }
    return all;
}

/* Both are the object's then; `frames` is freed. */
static struct lull_object *join(struct lull_object *object, struct lull_object *frames)
{
    const bool is_fit = frames && frames->cfi && bytes_of(frames->cfi) <= MOST_FRAME_BYTES;
    if (!object && is_fit) { /* which has the loads as well */
        return frames;
    }
    if (is_fit) {
        object->cfi = g_steal_pointer(&frames->cfi);
    }
    lull_object_free(frames);
    return object;
}

static void give_object(int to, const struct source *source)
{
    const bool is_vdso = strcmp(source->path, LULL_VDSO) == 0;
    const int fd = is_vdso ? -1 : lull_here_open(source->path, source->inode, source->time_ns);
    if (!give_up_root()) {
        return;
    }
    const int again = fd >= 0 && source->wants_frames ? dup(fd) : -1;
    struct lull_object *object = is_vdso   ? lull_elf_read_vdso()
                                 : fd >= 0 ? lull_here_read(fd, source->path)
                                           : NULL;
    const struct lull_apart apart = {.root = LULL_DEBUG_ROOT};
    struct lull_object *frames =
        again >= 0 ? lull_elf_read_frames(again, source->path, &apart) : NULL;
    write_object(to, join(object, frames), source->path, source->inode);
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

static void give_map(int to, const struct source *source)
{
    const int pid = (int)source->inode;
    g_autofree char *name = lull_perf_map_name(pid);
    g_autofree char *path = g_build_filename("/tmp", name, NULL);
    g_autofree char *text = g_malloc(MOST_MAP_BYTES);
    size_t length = 0;
    ssize_t n = 0;
    const int place = lull_here_look(path);
    const int fd = place >= 0 ? lull_here_take(place, is_own_map(place, source->time_ns)) : -1;
    if (fd < 0 || !give_up_root()) {
        return;
    }
    while (length < MOST_MAP_BYTES && (n = read(fd, text + length, MOST_MAP_BYTES - length)) > 0) {
        length += (size_t)n;
    }
    struct lull_object *object = n == 0 ? lull_perf_map_parse(text, length) : NULL;
    write_object(to, object, name, (uint64_t)pid);
}

/* A part of one would name what came later wrongly: the reader takes no more than fits. */
static void give_jitdump(int to, const struct source *source)
{
    g_autofree char *block = g_malloc(BLOCK_BYTES);
    const int fd = lull_jitdump_open(source->path, source->inode);
    ssize_t n;
    if (fd < 0 || !give_up_root()) {
        return;
    }
    while ((n = read(fd, block, BLOCK_BYTES)) > 0 && lull_file_write(to, block, (size_t)n) == 0) {
    }
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
        source->give(ends[1], source);
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

bool lull_symbols_take(GString *to, const char *path, uint64_t inode, int64_t mapped_ns,
                       bool wants_frames)
{
    return lull_saved_can_hold(path) &&
           take(to, &(struct source){give_object, path, inode, mapped_ns, wants_frames});
}

bool lull_symbols_take_map(GString *to, int pid, int64_t since_ns)
{
    return pid > 0 && take(to, &(struct source){give_map, NULL, (uint64_t)pid, since_ns, false});
}

bool lull_symbols_take_jitdump(GString *to, const char *path, uint64_t inode)
{
    return take(to, &(struct source){give_jitdump, path, inode, 0, false});
}
