/* Temporary files that vanish with their descriptor. */
#include "source/temporary.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

int lull_temporary_open(GError **error)
{
    const char *dir = g_get_tmp_dir();
    int fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC | O_EXCL, 0600);
    if (fd < 0) { /* not every file system can do that */
        g_autofree char *name = g_build_filename(dir, "lull-XXXXXX", NULL);
        fd = mkostemp(name, O_CLOEXEC);
        if (fd >= 0)
            unlink(name);
    }
    if (fd < 0)
        g_set_error(error, LULL_ERROR, LULL_ERROR_IO, "%s: no temporary file can be made: %s", dir,
                    g_strerror(errno));
    return fd;
}

bool lull_temporary_write(int fd, const void *data, size_t size, uint64_t offset)
{
    const char *from = data;
    while (size > 0) {
        ssize_t n = pwrite(fd, from, size, (off_t)offset);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        from += n;
        size -= (size_t)n;
        offset += (uint64_t)n;
    }
    return true;
}
