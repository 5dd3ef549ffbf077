/* SPDX-License-Identifier: MIT */
/* Archives of snapshots, as tar writes the simplest ones: libarchive reads far more kinds than a
 * stranger should be able to have us read, and is not always there. Names are relative, of a few
 * parts, and as short as Lull's files are; each is looked up part by part, and created anew. */
#include "trigger/bundle.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/tree.h"

#define BLOCK 512
#define NAME_BYTES 100

struct header {
    char name[NAME_BYTES], mode[8], uid[8], gid[8], size[12], time[12], sum[8], type, link[100];
    char magic[6], version[2], owner[32], group[32], device[16], prefix[155], rest[12];
};

G_STATIC_ASSERT(sizeof(struct header) == BLOCK);

static uint32_t sum_of(const struct header *header)
{
    struct header copy = *header;
    const uint8_t *bytes = (const uint8_t *)&copy;
    uint32_t sum = 0;
    memset(copy.sum, ' ', sizeof copy.sum);
    for (size_t i = 0; i < sizeof copy; i++) {
        sum += bytes[i];
    }
    return sum;
}

/* ---- writing ---- */

static bool write_header(int out, const char *name, char type, uint64_t size)
{
    struct header header = {.type = type, .magic = "ustar", .version = {'0', '0'}};
    if (strlen(name) > sizeof header.name) {
        return false;
    }
    memcpy(header.name, name, strlen(name));
    g_snprintf(header.mode, sizeof header.mode, "%07o", type == '5' ? 0700 : 0600);
    g_snprintf(header.uid, sizeof header.uid, "%07o", 0);
    g_snprintf(header.gid, sizeof header.gid, "%07o", 0);
    g_snprintf(header.size, sizeof header.size, "%011" G_GINT64_MODIFIER "o", size);
    g_snprintf(header.time, sizeof header.time, "%011o", 0);
    g_snprintf(header.sum, sizeof header.sum, "%06o", sum_of(&header));
    return lull_file_write(out, &header, sizeof header) == 0;
}

/* As long as the header says, whatever happens to the file meanwhile. */
static bool write_content(int in, int out, uint64_t size)
{
    g_autofree uint8_t *buffer = g_malloc(1 << 16);
    for (uint64_t left = (size + BLOCK - 1) / BLOCK * BLOCK; left > 0;) {
        const size_t room = MIN(left, 1 << 16);
        ssize_t n = size > 0 ? read(in, buffer, MIN(room, size)) : 0;
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            memset(buffer, 0, room);
            n = (ssize_t)room;
        }
        if (lull_file_write(out, buffer, (size_t)n) != 0) {
            return false;
        }
        left -= (uint64_t)n;
        size -= MIN(size, (uint64_t)n);
    }
    return true;
}

static bool write_directory(int directory, const char *prefix, unsigned depth, int out);

static bool write_entry(int directory, const char *prefix, const char *name, unsigned depth,
                        int out)
{
    struct stat st;
    g_autofree char *path = *prefix ? g_build_filename(prefix, name, NULL) : g_strdup(name);
    const int fd = openat(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    bool done = true;
    if (fd < 0 || fstat(fd, &st) != 0) {
        done = errno == ELOOP || errno == ENXIO; /* a link or a socket: not of ours */
    } else if (S_ISREG(st.st_mode)) {
        done = write_header(out, path, '0', (uint64_t)st.st_size) &&
               write_content(fd, out, (uint64_t)st.st_size);
    } else if (S_ISDIR(st.st_mode) && depth > 0) {
        done = write_header(out, path, '5', 0) && write_directory(fd, path, depth - 1, out);
    }
    if (fd >= 0) {
        close(fd);
    }
    return done;
}

static bool write_directory(int directory, const char *prefix, unsigned depth, int out)
{
    const int fd = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    const struct dirent *entry;
    bool done = dir != NULL;
    while (done && (entry = readdir(dir))) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
            done = write_entry(directory, prefix, entry->d_name, depth, out);
        }
    }
    if (dir) {
        closedir(dir);
    }
    return done;
}

bool lull_bundle_write(int directory, int out)
{
    static const uint8_t end[2 * BLOCK];
    return write_directory(directory, "", LULL_BUNDLE_DEPTH, out) &&
           lull_file_write(out, end, sizeof end) == 0;
}

/* ---- reading ---- */

struct reader {
    const struct lull_bundle_source *source;
    int directory;
    uint64_t bytes; /* so far, of all files */
};

static bool fail(GError **error, const char *why)
{
    g_set_error(error, LULL_ERROR, LULL_ERROR_FORMAT, "the archive of the snapshot %s", why);
    return false;
}

static bool fail_to_write(GError **error, const char *name)
{
    const int why = errno;
    g_autofree char *escaped = g_strescape(name, NULL);
    g_set_error(error, LULL_ERROR, LULL_ERROR_IO, "cannot write “%s”: %s", escaped,
                g_strerror(why));
    return false;
}

static bool read_all(const struct reader *reader, void *bytes, size_t size, GError **error)
{
    uint8_t *at = bytes;
    while (size > 0) {
        const ssize_t n = reader->source->read(reader->source->user, at, size);
        if (n <= 0) {
            return fail(error, "ends early: the other machine could not send all of it");
        }
        at += n;
        size -= (size_t)n;
    }
    return true;
}

/* Octal digits up to a NUL or blank. */
static bool read_octal(const char *text, size_t size, uint64_t *number)
{
    size_t i = 0;
    *number = 0;
    for (; i < size && text[i] >= '0' && text[i] <= '7'; i++) {
        *number = *number << 3 | (uint64_t)(text[i] - '0');
    }
    return i > 0 && (i == size || text[i] == '\0' || text[i] == ' ');
}

/* Parts that are no "." or "..", of visible ASCII, and not too many. */
static bool is_name(const char *name)
{
    unsigned parts = 0;
    for (const char *at = name;; at++) {
        const size_t length = strcspn(at, "/");
        if (length == 0 || (length <= 2 && strncmp(at, "..", length) == 0) ||
            ++parts > LULL_BUNDLE_DEPTH + 1) {
            return false;
        }
        for (size_t i = 0; i < length; i++) {
            if (!g_ascii_isgraph(at[i])) {
                return false;
            }
        }
        at += length;
        if (!*at) {
            return true;
        }
    }
}

/* The directory in which the last part of the name is; -1, with errno. Close it. */
static int open_parent(int directory, const char *name, const char **last)
{
    int fd = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const char *slash;
    for (*last = name; fd >= 0 && (slash = strchr(*last, '/')); *last = slash + 1) {
        g_autofree char *part = g_strndup(*last, (gsize)(slash - *last));
        const int next = lull_tree_open(fd, part);
        const int why = errno;
        close(fd);
        errno = why;
        fd = next;
    }
    return fd;
}

static bool copy_content(struct reader *reader, int out, const char *name, uint64_t size,
                         GError **error)
{
    g_autofree uint8_t *buffer = g_malloc(1 << 16);
    for (uint64_t left = (size + BLOCK - 1) / BLOCK * BLOCK; left > 0;) {
        const size_t n = MIN(left, 1 << 16);
        if (!read_all(reader, buffer, n, error)) {
            return false;
        }
        if (lull_file_write(out, buffer, MIN(n, size)) != 0) {
            return fail_to_write(error, name);
        }
        left -= n;
        size -= MIN(size, n);
    }
    return true;
}

static bool make_file(struct reader *reader, const char *name, uint64_t size, GError **error)
{
    const char *last;
    const int parent = open_parent(reader->directory, name, &last);
    const int fd =
        parent >= 0 ? openat(parent, last, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600) : -1;
    bool done = fd >= 0 || fail_to_write(error, name);
    done = done && copy_content(reader, fd, name, size, error);
    if (fd >= 0 && close(fd) != 0 && done) {
        done = fail_to_write(error, name);
    }
    if (parent >= 0) {
        close(parent);
    }
    return done;
}

static bool make_directory(const struct reader *reader, const char *name, GError **error)
{
    const char *last;
    const int parent = open_parent(reader->directory, name, &last);
    const bool done =
        (parent >= 0 && mkdirat(parent, last, 0700) == 0) || fail_to_write(error, name);
    if (parent >= 0) {
        close(parent);
    }
    return done;
}

static bool make_entry(struct reader *reader, const struct header *header, GError **error)
{
    char name[NAME_BYTES + 1];
    uint64_t sum, size;
    memcpy(name, header->name, NAME_BYTES);
    name[NAME_BYTES] = '\0';
    if (memcmp(header->magic, "ustar", 6) != 0 ||
        !read_octal(header->sum, sizeof header->sum, &sum) || sum != sum_of(header) ||
        !read_octal(header->size, sizeof header->size, &size)) {
        return fail(error, "has a damaged header");
    }
    if (!is_name(name) || header->prefix[0] || (header->type != '0' && header->type != '5')) {
        return fail(error, "holds a file that no snapshot has");
    }
    if (header->type == '5') {
        return size == 0 ? make_directory(reader, name, error)
                         : fail(error, "has a damaged header");
    }
    reader->bytes += MIN(size, LULL_BUNDLE_MOST_BYTES + 1);
    return reader->bytes <= LULL_BUNDLE_MOST_BYTES ? make_file(reader, name, size, error)
                                                   : fail(error, "is larger than 1 GiB");
}

bool lull_bundle_read(const struct lull_bundle_source *source, int directory, GError **error)
{
    static const struct header none;
    struct reader reader = {.source = source, .directory = directory};
    struct header header;
    for (unsigned entries = 0; read_all(&reader, &header, sizeof header, error); entries++) {
        if (memcmp(&header, &none, sizeof header) == 0) {
            return read_all(&reader, &header, sizeof header, error);
        }
        if (entries == 1 << 16) {
            return fail(error, "holds too many files");
        }
        if (!make_entry(&reader, &header, error)) {
            return false;
        }
    }
    return false;
}
