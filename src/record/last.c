/* SPDX-License-Identifier: MIT */
/* The file "lull/last" of the state directory: one line, the path of the last recording. */
#include "record/last.h"

#include <string.h>
#include <unistd.h>

#define MOST_BYTES 65536

static char *file_of(const struct lull_invoker *invoker)
{
    g_autofree char *dir = lull_invoker_state_dir(invoker);
    return dir ? g_build_filename(dir, "lull", "last", NULL) : NULL;
}

/* Written with the rights of the user whose directory it is. */
void lull_last_set(const struct lull_invoker *invoker, const char *path)
{
    const uid_t uid = geteuid();
    const gid_t gid = getegid();
    if (invoker->is_other && (setegid(invoker->gid) != 0 || seteuid(invoker->uid) != 0)) {
        (void)!setegid(gid);
        return;
    }
    g_autofree char *file = file_of(invoker);
    g_autofree char *dir = file ? g_path_get_dirname(file) : NULL;
    g_autofree char *line = g_strconcat(path, "\n", NULL);
    if (dir && g_mkdir_with_parents(dir, 0700) == 0) {
        g_file_set_contents(file, line, -1, NULL);
    }
    (void)!seteuid(uid);
    (void)!setegid(gid);
}

char *lull_last_get(void)
{
    struct lull_invoker invoker;
    g_autofree char *text = NULL;
    char *path = NULL;
    gsize size = 0;
    if (lull_invoker_init(&invoker, NULL)) {
        g_autofree char *file = file_of(&invoker);
        if (file && g_file_get_contents(file, &text, &size, NULL) && size < MOST_BYTES &&
            size > 1 && text[size - 1] == '\n') {
            text[size - 1] = '\0';
            g_autofree char *description = g_build_filename(text, "recording.json", NULL);
            path = g_file_test(description, G_FILE_TEST_IS_REGULAR) ? g_strdup(text) : NULL;
        }
    }
    lull_invoker_clear(&invoker);
    return path;
}
