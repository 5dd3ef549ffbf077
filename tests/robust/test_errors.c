/* SPDX-License-Identifier: MIT */
/* What a person is told about a trace that cannot be read, or only in part: one line that names the
 * file, the byte where there is one, and the reason. */
#include "lib/ctf_writer.h"
#include "lib/image.h"
#include "lib/scratch.h"
#include "robust/mutate.h"
#include "robust/walk.h"

#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

#define N_EVENTS 60

static void write_trace(const char *dir, uint8_t seed, bool plain_metadata)
{
    struct ctf_options options = {.seed = seed,
                                  .packet_bytes = 512,
                                  .plain_metadata = plain_metadata,
                                  .omit = (const char *const[]){"net_*", "x86_*", NULL}};
    struct ctf_writer *w = ctf_writer_new(dir, &options);
    for (int i = 0; i < N_EVENTS; i++) {
        ctf_event(w, (unsigned)i % 2, 1000 + i * 1000, "sched_switch", "prev_tid=%d", i);
    }
    ctf_writer_close(w);
}

static struct walk walk_dir(const char *dir)
{
    struct walk walk;
    walk_trace(&walk, dir, 1000000);
    g_test_message("error: %s; problem: %s; %u problems, %u events",
                   walk.error ? walk.error : "none", walk.all_problems ? walk.all_problems : "none",
                   walk.problems, (unsigned)walk.events);
    return walk;
}

/* All of `words` are in it. */
static void expect_words(const char *message, const char *const *words)
{
    g_assert_nonnull(message);
    for (; *words; words++) {
        if (!strstr(message, *words)) {
            g_error("'%s' is missing in: %s", *words, message);
        }
    }
}

#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

static void has_number(const char *message, guint64 wanted)
{
    g_autofree char *text = g_strdup_printf("%" G_GUINT64_FORMAT, wanted);
    expect_words(message, WORDS(text));
}

static void test_missing(void)
{
    g_autofree char *dir = scratch_dir();
    g_autofree char *path = g_build_filename(dir, "not-there", NULL);
    struct walk walk = walk_dir(path);
    expect_words(walk.error, WORDS(path, "No such file"));
    walk_clear(&walk);
    scratch_remove(dir);
}

static void test_empty_directory(void)
{
    g_autofree char *dir = scratch_dir();
    struct walk walk = walk_dir(dir);
    expect_words(walk.error, WORDS(dir, "no trace"));
    walk_clear(&walk);
    scratch_remove(dir);
}

static void test_file_for_directory(void)
{
    g_autofree char *dir = scratch_dir();
    g_autofree char *path = g_build_filename(dir, "c0_0", NULL);
    g_assert_true(g_file_set_contents(path, "x", 1, NULL));
    struct walk walk = walk_dir(path);
    expect_words(walk.error, WORDS(path, "directory"));
    walk_clear(&walk);
    scratch_remove(dir);
}

static void test_no_metadata(void)
{
    g_autofree char *dir = scratch_dir();
    write_trace(dir, 1, true);
    g_autofree char *path = g_build_filename(dir, "metadata", NULL);
    g_remove(path);
    struct walk walk = walk_dir(dir);
    expect_words(walk.error, WORDS(dir, "metadata"));
    walk_clear(&walk);
    scratch_remove(dir);
}

static void test_empty_metadata(void)
{
    g_autofree char *dir = scratch_dir();
    write_trace(dir, 1, true);
    g_autofree char *path = g_build_filename(dir, "metadata", NULL);
    g_assert_true(g_file_set_contents(path, "", 0, NULL));
    struct walk walk = walk_dir(dir);
    expect_words(walk.error, WORDS(path, "empty"));
    walk_clear(&walk);
    scratch_remove(dir);
}

static void test_unreadable(void)
{
    g_autofree char *dir = scratch_dir();
    write_trace(dir, 1, true);
    g_chmod(dir, 0);
    bool is_root = geteuid() == 0; /* who may read everything */
    if (is_root && seteuid(65534) != 0) {
        g_test_skip("cannot become an ordinary user");
    } else {
        struct walk walk = walk_dir(dir);
        g_assert_true(!is_root || seteuid(0) == 0);
        expect_words(walk.error, WORDS(dir, "Permission denied"));
        walk_clear(&walk);
    }
    g_chmod(dir, 0755);
    scratch_remove(dir);
}

static void test_later_ctf(void)
{
    static const char text[] = "\x1e{\"type\":\"preamble\",\"version\":3}\n";
    g_autofree char *dir = scratch_dir();
    write_trace(dir, 1, true);
    g_autofree char *path = g_build_filename(dir, "metadata", NULL);
    g_assert_true(g_file_set_contents(path, text, sizeof text - 1, NULL));
    struct walk walk = walk_dir(dir);
    expect_words(walk.error, WORDS(path, "version 3 of CTF"));
    walk_clear(&walk);
    scratch_remove(dir);
}

static void cut_metadata_at(const struct image *whole, size_t length)
{
    g_autofree char *dir = scratch_dir();
    g_autofree char *path = g_build_filename(dir, "metadata", NULL);
    struct image *image = image_copy(whole);
    struct image_file *file = image_find(image, "metadata");
    g_byte_array_set_size(file->bytes, (guint)length);
    image_write(image, dir);
    struct walk walk;
    walk_trace(&walk, dir, 1000000);
    if (!metadata_ends_whole(image_find(whole, "metadata")->bytes->data, length)) {
        g_test_message("cut at %zu: %s", length, walk.error ? walk.error : "read");
        expect_words(walk.error, WORDS(path));
        has_number(walk.error, length); /* the byte where it ends */
    }
    walk_clear(&walk);
    image_free(image);
    scratch_remove(dir);
}

static void test_metadata_cut(void)
{
    g_autofree char *dir = scratch_dir();
    write_trace(dir, 1, true);
    struct image *image = image_read(dir);
    size_t length = image_find(image, "metadata")->bytes->len;
    /* after line 1: what ends before the first declaration is complete and says nothing */
    for (size_t at = 40; at < length; at += 101) {
        cut_metadata_at(image, at);
    }
    image_free(image);
    scratch_remove(dir);
}

/* Metadata may have 64 MiB. Behind what they say come blanks, which say nothing, up to the limit; one
 * more is refused by the size alone. */
static void check_limit(const char *dir, const char *path, const char *text, gsize limit)
{
    g_autofree char *all = g_malloc(limit + 1);
    memset(all, ' ', limit + 1);
    memcpy(all, text, strlen(text));
    g_assert_true(g_file_set_contents(path, all, (gssize)limit, NULL));
    struct walk walk = walk_dir(dir);
    g_assert_null(walk.error);
    g_assert_cmpuint(walk.events, ==, N_EVENTS);
    walk_clear(&walk);
    g_assert_true(g_file_set_contents(path, all, (gssize)limit + 1, NULL));
    walk = walk_dir(dir);
    expect_words(walk.error, WORDS(path));
    has_number(walk.error, limit + 1);
    has_number(walk.error, limit);
    walk_clear(&walk);
}

static void test_metadata_limit(void)
{
    g_autofree char *dir = scratch_dir();
    g_autofree char *path = g_build_filename(dir, "metadata", NULL), *text = NULL;
    write_trace(dir, 1, true);
    g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
    check_limit(dir, path, text, 64 << 20);
    scratch_remove(dir);
}

/* The packetised form: cut in a packet's header, text or padding. */
static void test_packets_cut(void)
{
    g_autofree char *dir = scratch_dir();
    write_trace(dir, 1, false);
    struct image *image = image_read(dir);
    static const size_t cuts[] = {3, 20, 36, 37, 100, 4000, 4100, 4132, 5000};
    for (unsigned i = 0; i < G_N_ELEMENTS(cuts); i++) {
        g_autofree char *cut = scratch_dir();
        g_autofree char *path = g_build_filename(cut, "metadata", NULL);
        struct image *copy = image_copy(image);
        g_byte_array_set_size(image_find(copy, "metadata")->bytes, (guint)cuts[i]);
        image_write(copy, cut);
        struct walk walk = walk_dir(cut);
        expect_words(walk.error, WORDS(path));
        walk_clear(&walk);
        image_free(copy);
        scratch_remove(cut);
    }
    image_free(image);
    scratch_remove(dir);
}

static void test_foreign_stream(void)
{
    g_autofree char *dir = scratch_dir(), *other = scratch_dir();
    write_trace(dir, 1, true);
    write_trace(other, 2, true);
    g_autofree char *to = g_build_filename(dir, "c0_1", NULL);
    g_autofree char *from = g_build_filename(other, "c0_1", NULL);
    char *data;
    gsize size;
    g_assert_true(g_file_get_contents(from, &data, &size, NULL));
    g_assert_true(g_file_set_contents(to, data, (gssize)size, NULL));
    struct walk walk = walk_dir(dir);
    g_assert_null(walk.error);
    expect_words(walk.all_problems, WORDS(to, "UUID"));
    g_assert_cmpuint(walk.events, ==,
                     N_EVENTS); /* read, as Babeltrace 2 reads them, and reported */
    g_free(data);
    walk_clear(&walk);
    scratch_remove(dir);
    scratch_remove(other);
}

static void test_empty_stream(void)
{
    g_autofree char *dir = scratch_dir();
    write_trace(dir, 1, true);
    g_autofree char *path = g_build_filename(dir, "c0_1", NULL);
    g_assert_true(g_file_set_contents(path, "", 0, NULL));
    struct walk walk = walk_dir(dir);
    g_assert_null(walk.error);
    expect_words(walk.all_problems, WORDS(path));
    g_assert_cmpuint(walk.events, ==, N_EVENTS / 2);
    walk_clear(&walk);
    scratch_remove(dir);
}

/* A stream cut in its third packet keeps the first two, and says where the file ends. */
static void test_cut_stream(gconstpointer with_index)
{
    g_autofree char *dir = scratch_dir(), *cut = scratch_dir();
    write_trace(dir, 1, true);
    struct image *image = image_read(dir);
    struct image_file *file = image_find(image, "c0_0");
    g_assert_cmpuint(file->bytes->len, >=, 3 * 512);
    g_byte_array_set_size(file->bytes, 2 * 512 + 300);
    if (!with_index) {
        g_ptr_array_remove(image->files, image_find(image, "index/c0_0.idx"));
    }
    image_write(image, cut);
    g_autofree char *path = g_build_filename(cut, "c0_0", NULL);
    struct walk walk = walk_dir(cut);
    g_assert_null(walk.error);
    expect_words(walk.all_problems, WORDS(path, "1324"));
    /* 512 bytes hold a header and context of 84 bytes and 7 events of 60 (header 4, payload 56) */
    g_assert_cmpuint(walk.events, >=, N_EVENTS / 2 + 2 * 7);
    g_assert_cmpuint(walk.events, <, N_EVENTS);
    walk_clear(&walk);
    image_free(image);
    scratch_remove(dir);
    scratch_remove(cut);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/errors/missing", test_missing);
    g_test_add_func("/errors/empty-directory", test_empty_directory);
    g_test_add_func("/errors/file-for-directory", test_file_for_directory);
    g_test_add_func("/errors/no-metadata", test_no_metadata);
    g_test_add_func("/errors/empty-metadata", test_empty_metadata);
    g_test_add_func("/errors/unreadable", test_unreadable);
    g_test_add_func("/errors/later-ctf", test_later_ctf);
    g_test_add_func("/errors/metadata-cut", test_metadata_cut);
    g_test_add_func("/robust/errors/metadata-limit", test_metadata_limit);
    g_test_add_func("/errors/metadata-packets-cut", test_packets_cut);
    g_test_add_func("/errors/foreign-stream", test_foreign_stream);
    g_test_add_func("/errors/empty-stream", test_empty_stream);
    g_test_add_data_func("/errors/cut-stream/index", GINT_TO_POINTER(1), test_cut_stream);
    g_test_add_data_func("/errors/cut-stream/no-index", NULL, test_cut_stream);
    return g_test_run();
}
