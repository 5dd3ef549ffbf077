/* SPDX-License-Identifier: MIT */
/* Test only: see scratch.h. */
#include "lib/scratch.h"

#include <glib.h>
#include <glib/gstdio.h>

/* In memory where that can be had: thousands of small traces are written, read and removed. */
char *scratch_dir(void)
{
    if (!g_getenv("TMPDIR")) {
        char *dir = g_strdup("/dev/shm/lull-test-XXXXXX");
        if (g_mkdtemp(dir)) {
            return dir;
        }
        g_free(dir);
    }
    GError *error = NULL;
    char *dir = g_dir_make_tmp("lull-test-XXXXXX", &error);
    if (!dir) {
        g_error("%s", error->message);
    }
    return dir;
}

void scratch_remove(const char *dir)
{
    GDir *entries = g_dir_open(dir, 0, NULL);
    for (const char *name; entries && (name = g_dir_read_name(entries));) {
        g_autofree char *path = g_build_filename(dir, name, NULL);
        if (g_file_test(path, G_FILE_TEST_IS_DIR) && !g_file_test(path, G_FILE_TEST_IS_SYMLINK)) {
            scratch_remove(path);
        } else {
            g_remove(path);
        }
    }
    if (entries) {
        g_dir_close(entries);
    }
    g_rmdir(dir);
}
