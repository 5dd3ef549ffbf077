/* SPDX-License-Identifier: MIT */
/* Which snapshots have to make room. */
#include <fcntl.h>
#include <sys/stat.h>

#include <glib/gstdio.h>

#include "trigger/sets.h"

/* What is in a snapshot here. */
static const char *const files[] = {"recording.json", "trace.dat"};

/* One of 64 KiB, of which the clock said that it was written at `seconds`; nothing else knows. */
static void write_set(const char *snapshots, const char *name, time_t seconds)
{
    const struct timespec times[] = {{.tv_sec = seconds}, {.tv_sec = seconds}};
    g_autofree char *set = g_build_filename(snapshots, name, NULL);
    g_autofree char *bytes = g_malloc0(32768);
    g_assert_cmpint(g_mkdir(set, 0700), ==, 0);
    for (guint i = 0; i < G_N_ELEMENTS(files); i++) {
        g_autofree char *file = g_build_filename(set, files[i], NULL);
        g_assert_true(g_file_set_contents(file, bytes, 32768, NULL));
        g_assert_cmpint(utimensat(AT_FDCWD, file, times, 0), ==, 0);
    }
}

static void remove_set(const char *snapshots, const char *name)
{
    g_autofree char *set = g_build_filename(snapshots, name, NULL);
    for (guint i = 0; i < G_N_ELEMENTS(files); i++) {
        g_autofree char *file = g_build_filename(set, files[i], NULL);
        g_unlink(file);
    }
    g_rmdir(set);
}

static bool is_there(const char *snapshots, const char *name)
{
    g_autofree char *set = g_build_filename(snapshots, name, NULL);
    return g_file_test(set, G_FILE_TEST_EXISTS);
}

/* Five snapshots, between which the clock was set back twice, by a year and by a second, and then right again: neither
 * their names nor the dates of their files say in which order they were written. Two have room: the last two. */
static void test_oldest(void)
{
    static const struct {
        const char *name;
        time_t seconds;
    } written[] = {
        {"20261122-140211-7f3a9c01", 1795356131}, {"20261122-140311-00000002", 1795356191},
        {"20251122-140411-00000003", 1763820251}, {"20251122-140410-00000004", 1763820250},
        {"20261122-140811-00000005", 1795356491},
    };
    g_autofree char *dir = g_dir_make_tmp("lull-sets-XXXXXX", NULL);
    const struct lull_trigger_config config = {.snapshots = dir, .most_bytes = 160 * 1024};
    uint32_t n_removed;
    for (guint i = 0; i < G_N_ELEMENTS(written); i++) {
        write_set(dir, written[i].name, written[i].seconds);
        g_assert_true(lull_sets_make_room(&config, written[i].name, &n_removed, NULL));
        g_assert_cmpuint(n_removed, ==, i < 2 ? 0 : 1);
        for (guint k = 0; k <= i; k++) {
            g_assert_cmpint(is_there(dir, written[k].name), ==, k + 2 > i);
        }
    }
    for (guint i = 0; i < G_N_ELEMENTS(written); i++) {
        remove_set(dir, written[i].name);
    }
    g_assert_cmpint(g_rmdir(dir), ==, 0);
}

/* What was cut short, and so has no description, goes first, whatever it is called; what is no snapshot stays. */
static void test_broken(void)
{
    static const char *const names[] = {"20261122-140211-00000001", "20991122-140211-00000002",
                                        "notes"};
    g_autofree char *dir = g_dir_make_tmp("lull-sets-XXXXXX", NULL);
    const struct lull_trigger_config config = {.snapshots = dir, .most_bytes = 100 * 1024};
    uint32_t n_removed;
    for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
        write_set(dir, names[i], 1795356131);
    }
    g_autofree char *description = g_build_filename(dir, names[1], files[0], NULL);
    g_unlink(description);
    g_assert_true(lull_sets_make_room(&config, NULL, &n_removed, NULL));
    g_assert_cmpuint(n_removed, ==, 0); /* 64 and 32 KiB */
    const struct lull_trigger_config smaller = {.snapshots = dir, .most_bytes = 80 * 1024};
    g_assert_true(lull_sets_make_room(&smaller, NULL, &n_removed, NULL));
    g_assert_cmpuint(n_removed, ==, 1);
    g_assert_true(is_there(dir, names[0]) && !is_there(dir, names[1]) && is_there(dir, names[2]));
    for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
        remove_set(dir, names[i]);
    }
    g_assert_cmpint(g_rmdir(dir), ==, 0);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/sets/oldest", test_oldest);
    g_test_add_func("/sets/broken", test_broken);
    return g_test_run();
}
