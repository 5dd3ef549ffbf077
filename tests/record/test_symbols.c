/* SPDX-License-Identifier: MIT */
/* What a recorder takes from files that hostile processes have mapped: of the file that was mapped,
 * or nothing, and always at once. nm says what functions a file has. */
#include "record/symbols.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

/* No test waits for it: a FIFO that is opened without care waits for ever. */
#define PATIENCE_US (60 * G_USEC_PER_SEC)

struct scene {
    char *directory, *path;
    uint64_t inode;
    int64_t now_ns;
};

static void refuse(const struct scene *scene)
{
    g_autoptr(GString) text = g_string_new("before");
    const int64_t start_us = g_get_monotonic_time();
    g_assert_false(lull_symbols_take(text, scene->path, scene->inode, scene->now_ns, true));
    g_assert_cmpstr(text->str, ==, "before");
    g_assert_cmpint(g_get_monotonic_time() - start_us, <, PATIENCE_US);
}

static char *take(const struct scene *scene)
{
    g_autoptr(GString) text = g_string_new(NULL);
    g_assert_true(lull_symbols_take(text, scene->path, scene->inode, scene->now_ns, true));
    return g_string_free(g_steal_pointer(&text), FALSE);
}

/* A copy of this program. */
static struct scene make_scene(void)
{
    struct scene scene = {.directory = g_dir_make_tmp("lull-symbols-XXXXXX", NULL)};
    g_autofree char *image = NULL;
    gsize size;
    GStatBuf st;
    g_assert_nonnull(scene.directory);
    scene.path = g_build_filename(scene.directory, "program", NULL);
    g_assert_true(g_file_get_contents("/proc/self/exe", &image, &size, NULL));
    g_assert_true(g_file_set_contents(scene.path, image, (gssize)size, NULL));
    g_assert_cmpint(g_stat(scene.path, &st), ==, 0);
    scene.inode = st.st_ino;
    scene.now_ns = st.st_ctim.tv_sec * INT64_C(1000000000) + st.st_ctim.tv_nsec;
    return scene;
}

static void clear_scene(struct scene *scene)
{
    g_unlink(scene->path);
    g_assert_cmpint(g_rmdir(scene->directory), ==, 0);
    g_free(scene->directory);
    g_free(scene->path);
}

static void test_same(void)
{
    struct scene scene = make_scene();
    g_autofree char *text = take(&scene);
    g_autofree char *head = g_strdup_printf(" %" G_GUINT64_FORMAT " %s\n", scene.inode, scene.path);
    g_assert_true(g_str_has_prefix(text, "object "));
    g_assert_nonnull(strstr(text, head));
    g_assert_nonnull(strstr(text, " main\n"));
    clear_scene(&scene);
}

static void test_other(void)
{
    struct scene scene = make_scene(), other = scene;
    other.inode++;
    refuse(&other);
    other = scene;
    other.now_ns--;
    refuse(&other);
    other = scene;
    other.path = strrchr(scene.path, '/') + 1;
    refuse(&other);
    other.path = "/no\nline";
    refuse(&other);
    g_assert_cmpint(truncate(scene.path, 100), ==, 0);
    refuse(&scene); /* since it has changed, however it looks */
    clear_scene(&scene);
}

static uint64_t inode_of(const char *path)
{
    struct stat st;
    g_assert_cmpint(lstat(path, &st), ==, 0);
    return st.st_ino;
}

/* With the right inode, and any time. */
static void refuse_in_place(struct scene *scene)
{
    scene->inode = inode_of(scene->path);
    scene->now_ns = G_MAXINT64;
    refuse(scene);
}

static void test_no_file(void)
{
    struct scene scene = make_scene();
    g_autofree char *aside = g_strconcat(scene.path, "-aside", NULL);
    g_assert_cmpint(g_rename(scene.path, aside), ==, 0);
    refuse(&scene);
    g_assert_cmpint(mkfifo(scene.path, 0600), ==, 0);
    refuse_in_place(&scene);
    g_unlink(scene.path);
    g_assert_cmpint(symlink(aside, scene.path), ==, 0);
    refuse_in_place(&scene);
    scene.inode = inode_of(aside);
    refuse(&scene);
    g_unlink(scene.path);
    g_assert_cmpint(g_mkdir(scene.path, 0700), ==, 0);
    refuse_in_place(&scene);
    g_assert_cmpint(g_rmdir(scene.path), ==, 0);
    g_assert_true(g_file_set_contents(scene.path, "no program", -1, NULL));
    refuse_in_place(&scene);
    /* Far larger than any program, though it has no bytes. */
    g_assert_cmpint(truncate(scene.path, INT64_C(1) << 40) == 0 || errno == EFBIG, ==, 1);
    refuse_in_place(&scene);
    g_unlink(aside);
    clear_scene(&scene);
}

/* What the kernel maps into this process: the same bytes. */
static void test_kernels_code(void)
{
    g_autoptr(GString) text = g_string_new(NULL);
    if (!getauxval(AT_SYSINFO_EHDR)) {
        g_test_skip("this kernel maps no code into programs");
        return;
    }
    g_assert_true(lull_symbols_take(text, "[vdso]", 0, 0, true));
    g_assert_nonnull(strstr(text->str, " 0 [vdso]\nload 0 "));
    const char *frames = strstr(text->str, "\nframes ");
    g_assert_nonnull(frames);
    g_auto(GStrv) words = g_strsplit_set(frames + 1, " \n", 6);
    gsize size;
    g_autofree guchar *section = g_base64_decode(words[4], &size);
    const char *image = (const char *)getauxval(AT_SYSINFO_EHDR);
    g_assert_cmpmem(section, size, image + g_ascii_strtoull(words[2], NULL, 16), size);
    g_assert_cmpuint(size, >, 16);
    g_assert_nonnull(strstr(text->str, "_clock_gettime\n"));
    g_string_truncate(text, 0);
    g_assert_true(lull_symbols_take(text, "[vdso]", 0, 0, false));
    g_assert_nonnull(strstr(text->str, "_clock_gettime\n"));
}

/* ---- perf maps ---- */

static void write_map(const char *path)
{
    FILE *file = fopen(path, "wx");
    g_assert_nonnull(file);
    fputs("1000 10 made while it ran\n", file);
    g_assert_cmpint(fclose(file), ==, 0);
}

static bool is_taken(int64_t since_ns)
{
    g_autoptr(GString) text = g_string_new("before\n");
    const bool is_good = lull_symbols_take_map(text, getpid(), since_ns);
    g_autofree char *wanted =
        g_strdup_printf("before\nobject - %d perf-%d.map\nload 0 ffffffffffffffff 0\n"
                        "1000 10 made while it ran\n",
                        getpid(), getpid());
    g_assert_cmpstr(text->str, ==, is_good ? wanted : "before\n");
    return is_good;
}

/* Of who records, of this process, and a file of one name. */
static void test_map(void)
{
    g_autofree char *path = g_strdup_printf("/tmp/perf-%d.map", getpid());
    g_autofree char *aside = g_strconcat(path, "-aside", NULL);
    struct stat st;
    g_unlink(path);
    g_assert_false(is_taken(0));
    write_map(path);
    g_assert_cmpint(stat(path, &st), ==, 0);
    const int64_t written_ns = st.st_mtim.tv_sec * INT64_C(1000000000) + st.st_mtim.tv_nsec;
    g_assert_true(is_taken(written_ns));
    g_assert_false(is_taken(written_ns + 1));
    g_assert_cmpint(link(path, aside), ==, 0);
    g_assert_false(is_taken(0));
    g_unlink(aside);
    g_assert_true(is_taken(0));
    g_assert_cmpint(g_rename(path, aside), ==, 0);
    g_assert_cmpint(symlink(aside, path), ==, 0);
    g_assert_false(is_taken(0));
    g_unlink(path);
    g_unlink(aside);
    g_assert_cmpint(mkfifo(path, 0600), ==, 0);
    g_assert_false(is_taken(0));
    g_unlink(path);
    write_map(path);
    if (geteuid() == 0) {
        g_assert_cmpint(chown(path, 65534, 65534), ==, 0);
        g_assert_false(is_taken(0));
    }
    g_unlink(path);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/record/symbols/same", test_same);
    g_test_add_func("/record/symbols/other", test_other);
    g_test_add_func("/record/symbols/no-file", test_no_file);
    g_test_add_func("/record/symbols/kernels-code", test_kernels_code);
    g_test_add_func("/record/symbols/map", test_map);
    return g_test_run();
}
