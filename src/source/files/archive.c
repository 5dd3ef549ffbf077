/* SPDX-License-Identifier: MIT */
/* Archives that have been unpacked: a table of members, their bytes in a file without a name. */
#include "source/files/archive.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/search.h"
#include "source/files/private.h"

struct lull_archive *lull_archive_new(void)
{
    struct lull_archive *archive = g_new0(struct lull_archive, 1);
    archive->references = 1;
    archive->members = g_array_new(FALSE, FALSE, sizeof(struct lull_archive_member));
    archive->fd = -1;
    return archive;
}

bool lull_archive_is_single(const struct lull_archive *archive)
{
    return archive->is_single;
}

struct lull_archive *lull_archive_ref(struct lull_archive *archive)
{
    archive->references++;
    return archive;
}

void lull_archive_unref(struct lull_archive *archive)
{
    if (--archive->references > 0) {
        return;
    }
    for (uint32_t i = 0; i < archive->members->len; i++) {
        g_free(g_array_index(archive->members, struct lull_archive_member, i).name);
    }
    g_array_unref(archive->members);
    if (archive->fd >= 0) {
        close(archive->fd);
    }
    g_free(archive);
}

uint32_t lull_archive_count(const struct lull_archive *archive)
{
    return archive->members->len;
}

const struct lull_archive_member *lull_archive_member(const struct lull_archive *archive,
                                                      uint32_t index)
{
    return &g_array_index(archive->members, struct lull_archive_member, index);
}

uint32_t lull_archive_first(const struct lull_archive *archive, const char *name)
{
    return LULL_LOWER_BOUND(i, archive->members->len,
                            strcmp(lull_archive_member(archive, i)->name, name) < 0);
}

const struct lull_archive_member *lull_archive_find(const struct lull_archive *archive,
                                                    const char *name)
{
    uint32_t i = lull_archive_first(archive, name);
    if (i == archive->members->len || strcmp(lull_archive_member(archive, i)->name, name) != 0) {
        return NULL;
    }
    return lull_archive_member(archive, i);
}

/* Up to `size` bytes of a member from `offset` on; 0 with *why set if there is none. */
static uint64_t read_member(const struct lull_archive *archive,
                            const struct lull_archive_member *member, uint64_t offset, uint8_t *buf,
                            uint64_t size, const char **why)
{
    ssize_t n;
    if (offset >= member->size) {
        *why = "the file ends here";
        return 0;
    }
    size = MIN(size, member->size - offset);
    do {
        n = pread(archive->fd, buf, size, (off_t)(member->base + offset));
    } while (n < 0 && errno == EINTR);
    if (n <= 0) {
        *why = n < 0 ? g_strerror(errno) : "the unpacked contents end here";
    }
    return n < 0 ? 0 : (uint64_t)n;
}

bool lull_archive_read(const struct lull_archive *archive, const struct lull_archive_member *member,
                       uint8_t *out)
{
    const char *why;
    for (uint64_t done = 0, n; done < member->size; done += n) {
        if ((n = read_member(archive, member, done, out + done, member->size - done, &why)) == 0) {
            return false;
        }
    }
    return true;
}

/* ---- as the bytes of a stream ---- */

struct member_bytes {
    struct lull_bytes base;
    struct lull_archive *archive;
    const struct lull_archive_member *member;
};

static const char *member_open(struct lull_bytes *base)
{
    return NULL;
}

static uint64_t member_read(struct lull_bytes *base, uint64_t offset, uint8_t *buf, uint64_t size,
                            const char **why)
{
    const struct member_bytes *bytes = (const struct member_bytes *)base;
    return read_member(bytes->archive, bytes->member, offset, buf, size, why);
}

static void member_close(struct lull_bytes *base)
{
}

static void member_free(struct lull_bytes *base)
{
    struct member_bytes *bytes = (struct member_bytes *)base;
    lull_archive_unref(bytes->archive);
    g_free(bytes);
}

static struct lull_bytes *member_share(const struct lull_bytes *base)
{
    const struct member_bytes *bytes = (const struct member_bytes *)base;
    return lull_archive_bytes(bytes->archive, bytes->member);
}

struct lull_bytes *lull_archive_bytes(struct lull_archive *archive,
                                      const struct lull_archive_member *member)
{
    static const struct lull_bytes_ops ops = {.open = member_open,
                                              .read = member_read,
                                              .close = member_close,
                                              .free = member_free,
                                              .share = member_share};
    struct member_bytes *bytes = g_new0(struct member_bytes, 1);
    bytes->base.ops = &ops;
    bytes->archive = lull_archive_ref(archive);
    bytes->member = member;
    return &bytes->base;
}
