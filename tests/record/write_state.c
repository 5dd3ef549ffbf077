/* SPDX-License-Identifier: MIT */
/* Test only: writes the state of this machine as the trace argv[1], whose clock's zero is argv[2]
 * nanoseconds behind the Unix epoch. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "record/state/state.h"

static int create(const char *dir, const char *name)
{
    g_autofree char *path = g_build_filename(dir, name, NULL);
    return open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
}

int main(int argc, char **argv)
{
    GError *error = NULL;
    if (argc != 3) {
        return 2;
    }
    if (mkdir(argv[1], 0777) != 0) {
        fprintf(stderr, "%s: %s\n", argv[1], g_strerror(errno));
        return 1;
    }
    const struct lull_state_files files = {argv[1], create(argv[1], "metadata"),
                                           create(argv[1], "state")};
    if (lull_state_write(&files, strtoll(argv[2], NULL, 10), &error)) {
        return 0;
    }
    fprintf(stderr, "%s\n", error->message);
    g_error_free(error);
    return 1;
}
