/* SPDX-License-Identifier: MIT */
/* Snapshots as archives: what is written is read again, and what another machine could send instead changes nothing but
 * the directory that is meant for it. The hostile archives are made here, header by header. */
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <glib.h>
#include <glib/gstdio.h>
#include <lull/error.h>

#include "base/tree.h"
#include "trigger/bundle.h"

#define BLOCK 512

struct stream {
    const uint8_t *bytes;
    size_t size, at;
};

/* A few bytes at a time, as a network may bring them. */
static ssize_t read_some(void *user, uint8_t *bytes, size_t size)
{
    struct stream *stream = user;
    const size_t n = MIN(MIN(size, 700), stream->size - stream->at);
    memcpy(bytes, stream->bytes + stream->at, n);
    stream->at += n;
    return (ssize_t)n;
}

static int open_directory(const char *path)
{
    const int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    g_assert_cmpint(fd, >=, 0);
    return fd;
}

static char *make_directory(void)
{
    char *path = g_dir_make_tmp("lull-bundle-XXXXXX", NULL);
    g_assert_nonnull(path);
    return path;
}

static bool reads(const GByteArray *archive, const char *path, GError **error)
{
    struct stream stream = {archive->data, archive->len, 0};
    const struct lull_bundle_source source = {read_some, &stream};
    const int fd = open_directory(path);
    const bool done = lull_bundle_read(&source, fd, error);
    close(fd);
    return done;
}

/* ---- there and back ---- */

static GByteArray *archive_of(const char *path)
{
    g_autofree char *file = g_strconcat(path, ".tar", NULL);
    g_autofree char *bytes = NULL;
    gsize size;
    const int from = open_directory(path);
    const int to = open(file, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    g_assert_true(lull_bundle_write(from, to));
    close(from);
    close(to);
    g_assert_true(g_file_get_contents(file, &bytes, &size, NULL));
    g_unlink(file);
    GByteArray *archive = g_byte_array_new();
    g_byte_array_append(archive, (const guint8 *)bytes, (guint)size);
    return archive;
}

static void put(const char *dir, const char *name, const char *text, gssize size)
{
    g_autofree char *path = g_build_filename(dir, name, NULL);
    g_assert_true(g_file_set_contents(path, text, size, NULL));
}

static void is_there(const char *dir, const char *name, const char *text, gsize size)
{
    g_autofree char *path = g_build_filename(dir, name, NULL);
    g_autofree char *found = NULL;
    gsize length;
    struct stat st;
    g_assert_true(g_file_get_contents(path, &found, &length, NULL));
    g_assert_cmpmem(found, length, text, size);
    g_assert_cmpint(g_lstat(path, &st), ==, 0);
    g_assert_cmpint(st.st_mode & 07777, ==, 0600);
}

static void test_round_trip(void)
{
    g_autofree char *from = make_directory(), *to = make_directory(), *large = g_malloc(200001);
    g_autofree char *state = g_build_filename(from, "state", NULL);
    g_autofree char *link = g_build_filename(from, "link", NULL);
    g_autofree char *copied = g_build_filename(to, "link", NULL);
    g_autoptr(GError) error = NULL;
    for (size_t i = 0; i < 200001; i++) {
        large[i] = (char)(i * 7 + i / 251);
    }
    g_assert_cmpint(g_mkdir(state, 0700), ==, 0);
    put(from, "recording.json", "{}", 2);
    put(from, "empty", "", 0);
    put(from, "block", large, BLOCK);
    put(state, "large", large, 200001);
    g_assert_cmpint(symlink("/etc/passwd", link), ==, 0);
    GByteArray *archive = archive_of(from);
    g_assert_cmpuint(archive->len % BLOCK, ==, 0);
    g_assert_true(reads(archive, to, &error));
    is_there(to, "recording.json", "{}", 2);
    is_there(to, "empty", "", 0);
    is_there(to, "block", large, BLOCK);
    is_there(to, "state/large", large, 200001);
    g_assert_false(g_file_test(copied, G_FILE_TEST_EXISTS | G_FILE_TEST_IS_SYMLINK));
    /* Without its last byte it is not whole, and nothing is made twice. */
    g_assert_false(reads(archive, to, NULL));
    g_byte_array_set_size(archive, archive->len - 1);
    g_autofree char *again = make_directory();
    g_assert_false(reads(archive, again, &error));
    g_assert_error(error, LULL_ERROR, LULL_ERROR_FORMAT);
    g_byte_array_unref(archive);
    lull_tree_remove(from, 4);
    lull_tree_remove(to, 4);
    lull_tree_remove(again, 4);
}

/* ---- what could be sent instead ---- */

/* POSIX.1-2017, pax: name at 0, mode 100, size 124, sum 148, type 156, link 157, "ustar" 257, prefix 345. */
static void add_header(GByteArray *archive, const char *name, char type, const char *size)
{
    char header[BLOCK] = "";
    unsigned sum = 8 * ' ';
    g_strlcpy(header, name, 101);
    memcpy(header + 100, "0000777", 7);
    memcpy(header + 124, size, strlen(size));
    header[156] = type;
    if (type == '1' || type == '2') {
        memcpy(header + 157, "/etc/passwd", 11);
    }
    memcpy(header + 257, "ustar\00000", 8);
    for (size_t i = 0; i < sizeof header; i++) {
        sum += (uint8_t)header[i];
    }
    g_snprintf(header + 148, 8, "%06o", sum);
    g_byte_array_append(archive, (const guint8 *)header, sizeof header);
}

static void add_end(GByteArray *archive)
{
    static const guint8 none[2 * BLOCK];
    g_byte_array_append(archive, none, sizeof none);
}

static guint count_entries(const char *path)
{
    g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
    guint n = 0;
    while (g_dir_read_name(dir)) {
        n++;
    }
    return n;
}

static void test_hostile(void)
{
    static const struct {
        const char *name;
        char type;
        const char *size;
    } cases[] = {
        {"../outside", '0', "0"},
        {"a/../../outside", '0', "0"},
        {"/tmp/outside", '0', "0"},
        {".", '5', "0"},
        {"..", '5', "0"},
        {"", '0', "0"},
        {"a//b", '0', "0"},
        {"a/", '5', "0"},
        {"a\nb", '0', "0"},
        {"a\x1b[31m", '0', "0"},
        {"no/such/directory", '0', "0"},
        {"link", '2', "0"},
        {"link", '1', "0"},
        {"device", '3', "0"},
        {"fifo", '6', "0"},
        {"long", 'L', "0"},
        {"pax", 'x', "0"},
        {"size", '0', "8"},
        {"size", '0', "-1"},
        {"size", '0', ""},
        {"size", '0', "777777777777"},
        {"size", '0', "10000000001"}, /* a byte more than 1 GiB */
        {"directory", '5', "1"},
        {"1/2/3/4/5/6/7/8/9/10", '5', "0"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *dir = make_directory();
        g_autofree char *inside = g_build_filename(dir, "inside", NULL);
        g_autoptr(GError) error = NULL;
        GByteArray *archive = g_byte_array_new();
        g_assert_cmpint(g_mkdir(inside, 0700), ==, 0);
        add_header(archive, cases[i].name, cases[i].type, cases[i].size);
        add_end(archive);
        g_assert_false(reads(archive, inside, &error));
        g_assert_nonnull(error);
        g_assert_cmpuint(count_entries(dir), ==, 1);
        g_assert_cmpuint(count_entries(inside), <=, 1);
        g_byte_array_unref(archive);
        lull_tree_remove(dir, 4);
    }
}

/* What is there already is neither written over nor followed. */
static void test_links(void)
{
    g_autofree char *dir = make_directory(), *inside = g_build_filename(dir, "inside", NULL);
    g_autofree char *outside = g_build_filename(dir, "outside", NULL);
    g_autofree char *file = g_build_filename(inside, "file", NULL);
    g_autofree char *link = g_build_filename(inside, "link", NULL);
    g_assert_cmpint(g_mkdir(inside, 0700), ==, 0);
    g_assert_cmpint(g_mkdir(outside, 0700), ==, 0);
    g_assert_cmpint(symlink("../outside", link), ==, 0);
    g_assert_cmpint(symlink("../outside/made", file), ==, 0);
    static const char *const names[] = {"file", "link/made", "link"};
    for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
        GByteArray *archive = g_byte_array_new();
        add_header(archive, names[i], '0', "0");
        add_end(archive);
        g_assert_false(reads(archive, inside, NULL));
        g_byte_array_unref(archive);
    }
    g_assert_cmpuint(count_entries(outside), ==, 0);
    lull_tree_remove(dir, 4);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/bundle/round-trip", test_round_trip);
    g_test_add_func("/bundle/hostile", test_hostile);
    g_test_add_func("/bundle/links", test_links);
    return g_test_run();
}
