/* SPDX-License-Identifier: MIT */
/* Fuzz target: a snapshot as another machine sends it. What is made of it lies in the directory that is meant for it, as
 * regular files and directories that only their owner can use, of no more bytes than the archive has. Bit 0 of the first
 * byte sets the sums of headers right. */
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <glib.h>
#include <glib/gstdio.h>

#include "base/tree.h"
#include "trigger/bundle.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define BLOCK 512

struct stream {
    const uint8_t *bytes;
    size_t size, at;
};

static ssize_t read_some(void *user, uint8_t *bytes, size_t size)
{
    struct stream *stream = user;
    const size_t n = MIN(size, stream->size - stream->at);
    memcpy(bytes, stream->bytes + stream->at, n);
    stream->at += n;
    return (ssize_t)n;
}

/* In every block: whether it is a header is not known here. */
static void mend(uint8_t *bytes, size_t size)
{
    for (size_t at = 0; at + BLOCK <= size; at += BLOCK) {
        char text[8] = "";
        unsigned sum = 0;
        memset(bytes + at + 148, ' ', 8);
        for (size_t i = 0; i < BLOCK; i++) {
            sum += bytes[at + i];
        }
        if (sum > 8 * ' ') {
            g_snprintf(text, sizeof text, "%06o", sum);
        }
        memcpy(bytes + at + 148, text, 8);
    }
}

/* The bytes of all files below. */
static uint64_t check(const char *path, unsigned depth)
{
    uint64_t bytes = 0;
    g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
    const char *name;
    g_assert_nonnull(dir);
    g_assert_cmpuint(depth, <=, LULL_BUNDLE_DEPTH + 1);
    while ((name = g_dir_read_name(dir))) {
        g_autofree char *entry = g_build_filename(path, name, NULL);
        struct stat st;
        g_assert_cmpint(g_lstat(entry, &st), ==, 0);
        g_assert_true(S_ISREG(st.st_mode) || S_ISDIR(st.st_mode));
        g_assert_cmpint(st.st_mode & 077, ==, 0);
        bytes += S_ISDIR(st.st_mode) ? check(entry, depth + 1) : (uint64_t)st.st_size;
    }
    return bytes;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2) {
        return 0;
    }
    g_autofree char *dir = g_dir_make_tmp("lull-fuzz-bundle-XXXXXX", NULL);
    g_autofree char *inside = g_build_filename(dir, "inside", NULL);
    g_autofree uint8_t *bytes = g_memdup2(data + 1, size - 1);
    g_autoptr(GError) error = NULL;
    struct stream stream = {bytes, size - 1, 0};
    const struct lull_bundle_source source = {read_some, &stream};
    g_assert_cmpint(g_mkdir(inside, 0700), ==, 0);
    if (data[0] & 1) {
        mend(bytes, size - 1);
    }
    const int fd = open(inside, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const bool done = lull_bundle_read(&source, fd, &error);
    close(fd);
    g_assert_true(done == !error);
    g_assert_cmpuint(check(inside, 0), <=, size);
    lull_tree_remove(inside, LULL_BUNDLE_DEPTH + 2);
    g_assert_cmpint(g_rmdir(dir), ==, 0); /* there is nothing beside it */
    return 0;
}
