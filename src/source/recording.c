/* Which files are traces of their own, and who opens them. */
#include "source/recording.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "source/perf_source.h"

#define MAGIC_MOST 16

static const struct lull_recording_kind kinds[] = {
    {"PERFILE2", 8, lull_perf_source_open}, /* little-endian */
    {"2ELIFREP", 8, lull_perf_source_open}, /* big-endian */
};

const struct lull_recording_kind *lull_recording_kind_of(const char *path)
{
    char head[MAGIC_MOST];
    /* Not blocking: a pipe with a trace's name must not hang us. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    ssize_t n = fd >= 0 ? pread(fd, head, sizeof head, 0) : -1;
    if (fd >= 0)
        close(fd);
    for (unsigned i = 0; i < G_N_ELEMENTS(kinds); i++)
        if (n >= (ssize_t)kinds[i].magic_size &&
            memcmp(head, kinds[i].magic, kinds[i].magic_size) == 0)
            return &kinds[i];
    return NULL;
}

bool lull_recording_is_name(const char *name)
{
    return g_str_has_suffix(name, ".data");
}
