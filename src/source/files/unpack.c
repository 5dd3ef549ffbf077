/* SPDX-License-Identifier: MIT */
/* Unpacks an archive with libarchive into the spool: in memory at first, in an unlinked file of
 * $TMPDIR beyond 64 MiB. Archives come from anywhere: names, sizes and their number are checked. */
#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "source/files/private.h"
#include "source/files/temporary.h"

#define NAME_MAX_BYTES 4096
#define BLOCK (256 << 10)
/* Links and devices of an archive are not reported one by one. */
#define MOST_PROBLEMS 20

struct unpacking {
    struct lull_archive *archive;
    struct archive *reader;
    const char *path;
    uint64_t limit, used; /* bytes of the spool */
    bool on_disk;
    unsigned n_problems;
    GPtrArray *special; /* names of members that are no files */
    void (*problem)(void *user, const char *text);
    void *user;
    GError **error;
};

static bool fail(struct unpacking *u, enum lull_error code, const char *why)
{
    g_set_error(u->error, LULL_ERROR, (gint)code, "%s: %s", u->path, why);
    return false;
}

static bool write_failed(struct unpacking *u)
{
    g_autofree char *why =
        g_strdup_printf("its contents do not fit into %s: %s",
                        u->on_disk ? g_get_tmp_dir() : "memory", g_strerror(errno));
    return fail(u, LULL_ERROR_IO, why);
}

/* From memory to disk. */
static bool move_to_disk(struct unpacking *u)
{
    int fd = lull_temporary_open(u->error);
    if (fd < 0) {
        return false;
    }
    g_autofree char *block = g_malloc(BLOCK);
    u->on_disk = true;
    for (uint64_t at = 0; at < u->used;) {
        ssize_t n = pread(u->archive->fd, block, MIN(BLOCK, u->used - at), (off_t)at);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            break; /* a hole at the end */
        }
        if (!lull_temporary_write(fd, block, (size_t)n, at)) {
            write_failed(u);
            close(fd);
            return false;
        }
        at += (uint64_t)n;
    }
    if (u->archive->fd >= 0) {
        close(u->archive->fd);
    }
    u->archive->fd = fd;
    return true;
}

/* Checks that the spool may grow to `end`. */
static bool may_grow(struct unpacking *u, uint64_t end)
{
    if (end > u->limit) {
        g_autofree char *why = g_strdup_printf(
            "it unpacks to more than %" G_GUINT64_FORMAT
            " MiB, far more than its size lets expect; unpack it and give the directory, if you "
            "trust it",
            u->limit >> 20);
        return fail(u, LULL_ERROR_UNSUPPORTED, why);
    }
    return u->on_disk || end <= LULL_ARCHIVE_MEMORY_BYTES || move_to_disk(u);
}

/* The contents of the member that was reached, after what is in the spool. */
static bool spool(struct unpacking *u, struct lull_archive_member *member)
{
    const void *data;
    size_t size;
    la_int64_t offset;
    int status;
    member->base = u->used;
    while ((status = archive_read_data_block(u->reader, &data, &size, &offset)) == ARCHIVE_OK) {
        uint64_t end;
        /* Blocks of sparse files leave holes; they are in order and never negative. */
        if (offset < 0 || (uint64_t)offset < member->size ||
            __builtin_add_overflow((uint64_t)offset, size, &end) || end > LULL_ARCHIVE_MAX_BYTES) {
            return fail(u, LULL_ERROR_FORMAT, "the archive is damaged (a block out of order)");
        }
        if (!may_grow(u, member->base + end)) {
            return false;
        }
        if (!lull_temporary_write(u->archive->fd, data, size, member->base + (uint64_t)offset)) {
            return write_failed(u);
        }
        member->size = end;
        u->used = member->base + end;
    }
    if (status == ARCHIVE_EOF) {
        return true;
    }
    const char *text = archive_error_string(u->reader);
    g_autofree char *why = g_strdup_printf("the archive is damaged: %s", text ? text : "unknown");
    return fail(u, LULL_ERROR_FORMAT, why);
}

/* ---- names ---- */

static void leave_out(struct unpacking *u, const char *name, const char *why)
{
    if (++u->n_problems > MOST_PROBLEMS) {
        return;
    }
    g_autofree char *shown = g_strescape(name, NULL);
    g_autofree char *text = g_strdup_printf("%s: member “%s” is left out: %s", u->path, shown, why);
    u->problem(u->user, text);
}

/* A plain relative name, or NULL with *why set; *why stays NULL for hidden files. LTTng hides the
 * chunks that it is about to move. */
static char *plain_name(const char *name, const char **why)
{
    *why = NULL;
    if (strlen(name) > NAME_MAX_BYTES || !g_utf8_validate(name, -1, NULL)) {
        *why = "its name is too long, or not UTF-8";
        return NULL;
    }
    g_autoptr(GString) plain = g_string_new(NULL);
    g_auto(GStrv) parts = g_strsplit(name, "/", -1);
    for (char **part = parts; *part; part++) {
        if ((*part)[0] == '\0' || strcmp(*part, ".") == 0) {
            continue;
        }
        for (const char *p = *part; *p != '\0'; p++) {
            if (g_ascii_iscntrl(*p)) {
                *why = "its name has control characters";
            }
        }
        if (strcmp(*part, "..") == 0) {
            *why = "its name leads out of the archive";
        }
        if (*why || ((*part)[0] == '.' && !g_str_has_prefix(*part, ".tmp_"))) {
            return NULL;
        }
        g_string_append_printf(plain, "%s%s", plain->len > 0 ? "/" : "", *part);
    }
    return plain->len > 0 ? g_string_free(g_steal_pointer(&plain), FALSE) : NULL;
}

/* A hard link: the bytes of a member that came before. False if there is none. */
static bool follow_link(const struct unpacking *u, const char *target,
                        struct lull_archive_member *member, GHashTable *by_name)
{
    const char *why;
    g_autofree char *plain = plain_name(target, &why);
    gpointer number = plain ? g_hash_table_lookup(by_name, plain) : NULL;
    if (!number) {
        return false;
    }
    const struct lull_archive_member *other = &g_array_index(
        u->archive->members, struct lull_archive_member, GPOINTER_TO_UINT(number) - 1);
    member->base = other->base;
    member->size = other->size;
    return true;
}

static bool take_member(struct unpacking *u, struct archive_entry *entry, GHashTable *by_name)
{
    const char *why, *name = archive_entry_pathname_utf8(entry);
    if (!name) { /* not to be had in UTF-8 */
        name = archive_entry_pathname(entry);
    }
    if (!name) {
        name = "";
    }
    const char *target = archive_entry_hardlink_utf8(entry);
    if (!target && archive_entry_filetype(entry) != AE_IFREG) {
        /* Directories are known by what is in them; of the rest see report_special(). */
        if (archive_entry_filetype(entry) != AE_IFDIR) {
            g_ptr_array_add(u->special, g_strdup(name));
        }
        return true;
    }
    char *plain = plain_name(name, &why);
    if (!plain) {
        if (why) {
            leave_out(u, name, why);
        }
        return true;
    }
    GArray *members = u->archive->members;
    if (members->len >= LULL_ARCHIVE_MAX_MEMBERS) {
        g_free(plain);
        return fail(u, LULL_ERROR_UNSUPPORTED, "it has more than 200000 files");
    }
    struct lull_archive_member member = {.name = plain};
    if (g_hash_table_contains(by_name, plain)) {
        leave_out(u, name, "there is a file of this name before it");
        g_free(plain);
        return true;
    }
    if (target && !follow_link(u, target, &member, by_name)) {
        leave_out(u, name, "it is a link to a file that is not in the archive before it");
        g_free(plain);
        return true;
    }
    if (!target && !spool(u, &member)) {
        g_free(plain);
        return false;
    }
    g_array_append_val(members, member);
    g_hash_table_insert(by_name, member.name, GUINT_TO_POINTER(members->len));
    return true;
}

/* ---- all of it ---- */

static bool unrecognized(struct unpacking *u)
{
    const char *text = archive_error_string(u->reader);
    g_autofree char *why =
        g_strdup_printf("not a directory (a CTF trace is a directory with a file 'metadata'), nor "
                        "one packed as .tar, .tar.gz, .tar.xz or .tar.zst: %s",
                        text ? text : "unknown format");
    return fail(u, LULL_ERROR_FORMAT, why);
}

static bool damaged(struct unpacking *u)
{
    const char *text = archive_error_string(u->reader);
    g_autofree char *why = g_strdup_printf("the archive is damaged: %s", text ? text : "unknown");
    return fail(u, LULL_ERROR_FORMAT, why);
}

/* Links, pipes and devices hold nothing. That matters where they replace a file of a trace. */
static void report_special(struct unpacking *u, GHashTable *by_name)
{
    for (guint i = 0; i < u->special->len; i++) {
        const char *why, *name = u->special->pdata[i];
        g_autofree char *plain = plain_name(name, &why);
        g_autofree char *dir = plain ? g_path_get_dirname(plain) : NULL;
        g_autofree char *metadata = !dir || strcmp(dir, ".") == 0
                                        ? g_strdup("metadata")
                                        : g_build_filename(dir, "metadata", NULL);
        if (plain && (strcmp(plain, metadata) == 0 || g_hash_table_contains(by_name, metadata) ||
                      g_str_has_suffix(plain, ".dat") || g_str_has_suffix(plain, ".data"))) {
            leave_out(u, name, "it is a link, pipe or device, not a file");
        }
    }
}

static bool read_members(struct unpacking *u)
{
    g_autoptr(GHashTable) by_name = g_hash_table_new(g_str_hash, g_str_equal);
    struct archive_entry *entry;
    int status;
    bool any = false;
    while ((status = archive_read_next_header(u->reader, &entry)) == ARCHIVE_OK ||
           status == ARCHIVE_WARN) {
        if (!take_member(u, entry, by_name)) {
            return false;
        }
        any = true;
    }
    if (status != ARCHIVE_EOF) {
        return any ? damaged(u) : unrecognized(u);
    }
    report_special(u, by_name);
    /* A hole at the end has no bytes yet. */
    return ftruncate(u->archive->fd, (off_t)u->used) == 0 || write_failed(u);
}

/* What needs an external program to decompress is not run: filters only by what is built in. */
static bool open_reader(struct unpacking *u, int fd)
{
    struct archive *reader = u->reader = archive_read_new();
    if (!reader || archive_read_support_format_tar(reader) != ARCHIVE_OK) {
        return fail(u, LULL_ERROR_IO, "libarchive cannot be used");
    }
    archive_read_support_filter_gzip(reader);
    archive_read_support_filter_bzip2(reader);
    archive_read_support_filter_xz(reader);
    archive_read_support_filter_zstd(reader);
    return archive_read_open_fd(reader, fd, BLOCK) == ARCHIVE_OK || unrecognized(u);
}

static int compare_members(gconstpointer a, gconstpointer b)
{
    return strcmp(((const struct lull_archive_member *)a)->name,
                  ((const struct lull_archive_member *)b)->name);
}

static uint64_t bytes_limit(int fd)
{
    struct stat st;
    uint64_t size = fstat(fd, &st) == 0 && st.st_size > 0 ? (uint64_t)st.st_size : 0;
    if (size > LULL_ARCHIVE_MAX_BYTES / LULL_ARCHIVE_RATIO) {
        return LULL_ARCHIVE_MAX_BYTES;
    }
    return MAX(size * LULL_ARCHIVE_RATIO, LULL_ARCHIVE_FREE_BYTES);
}

struct lull_archive *lull_archive_open(const char *path,
                                       void (*problem)(void *user, const char *text), void *user,
                                       GError **error)
{
    struct unpacking unpacking = {.path = path, .problem = problem, .user = user, .error = error};
    const char *why;
    int fd;
    if (lull_file_open(path, &fd, NULL, &why) != LULL_OPEN_DONE) {
        fail(&unpacking, LULL_ERROR_IO, why);
        return NULL;
    }
    struct lull_archive *archive = unpacking.archive = g_new0(struct lull_archive, 1);
    archive->references = 1;
    archive->members = g_array_new(FALSE, FALSE, sizeof(struct lull_archive_member));
    archive->fd = memfd_create("lull-archive", MFD_CLOEXEC);
    g_autoptr(GPtrArray) special = unpacking.special = g_ptr_array_new_with_free_func(g_free);
    unpacking.limit = bytes_limit(fd);
    bool done = archive->fd >= 0 || move_to_disk(&unpacking);
    done = done && open_reader(&unpacking, fd) && read_members(&unpacking);
    if (unpacking.reader) {
        archive_read_free(unpacking.reader);
    }
    close(fd);
    if (!done) {
        lull_archive_unref(archive);
        return NULL;
    }
    g_array_sort(archive->members, compare_members);
    return archive;
}
