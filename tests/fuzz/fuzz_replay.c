/* SPDX-License-Identifier: MIT */
/* Gives a fuzz target the files in a directory, in order of their names, so that they can be tried
 * without libFuzzer and with any compiler: replay_NAME DIRECTORY. Prints TAP, a line a file. */
#include <glib.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "robust/watch.h"

/* A loaded machine must not fail a test; what hangs is killed. */
#define MOST_SECONDS 120

int LLVMFuzzerInitialize(int *argc, char ***argv) __attribute__((weak));
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int by_name(gconstpointer a, gconstpointer b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static GPtrArray *list(const char *path)
{
    g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
    GPtrArray *names = g_ptr_array_new_with_free_func(g_free);
    for (const char *name; dir && (name = g_dir_read_name(dir));) {
        g_ptr_array_add(names, g_strdup(name));
    }
    g_ptr_array_sort(names, by_name);
    return names;
}

static bool try_file(const char *directory, const char *name)
{
    g_autofree char *path = g_build_filename(directory, name, NULL);
    g_autofree char *says = g_strdup_printf("# while trying %s\n", path);
    g_autofree char *data = NULL;
    gsize size;
    if (!g_file_get_contents(path, &data, &size, NULL)) {
        return false;
    }
    /* A copy without a byte behind it, so that reading too far is seen. */
    g_autofree uint8_t *copy = g_malloc(MAX(size, 1));
    memcpy(copy, data, size);
    watch_start(says, MOST_SECONDS);
    LLVMFuzzerTestOneInput(copy, size);
    watch_end();
    return true;
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: %s DIRECTORY\n", argv[0]);
        return 2;
    }
    if (LLVMFuzzerInitialize) {
        LLVMFuzzerInitialize(&argc, &argv);
    }
    g_autoptr(GPtrArray) names = list(argv[1]);
    bool good = names->len > 0;
    printf("1..%u\n", names->len);
    for (guint i = 0; i < names->len; i++) {
        bool ok = try_file(argv[1], names->pdata[i]);
        printf("%sok %u - %s\n", ok ? "" : "not ", i + 1, (char *)names->pdata[i]);
        fflush(stdout);
        good = good && ok;
    }
    return good ? 0 : 1;
}
