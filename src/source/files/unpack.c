/* SPDX-License-Identifier: MIT */
/* Unpacks an archive, or a compressed file, with libarchive into the spool. Archives come from
 * anywhere: names, sizes and their number are checked. */
#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/late.h"
#include "source/files/private.h"
#include "source/files/spool.h"

#define FUNCTIONS(X)                                                                               \
    X(archive_entry_filetype)                                                                      \
    X(archive_entry_hardlink_utf8)                                                                 \
    X(archive_entry_is_data_encrypted)                                                             \
    X(archive_entry_pathname)                                                                      \
    X(archive_entry_pathname_utf8)                                                                 \
    X(archive_entry_size)                                                                          \
    X(archive_entry_size_is_set)                                                                   \
    X(archive_error_string)                                                                        \
    X(archive_filter_code)                                                                         \
    X(archive_format)                                                                              \
    X(archive_read_data_block)                                                                     \
    X(archive_read_free)                                                                           \
    X(archive_read_new)                                                                            \
    X(archive_read_next_header)                                                                    \
    X(archive_read_open)                                                                           \
    X(archive_read_set_seek_callback)                                                              \
    X(archive_read_support_filter_bzip2)                                                           \
    X(archive_read_support_filter_gzip)                                                            \
    X(archive_read_support_filter_xz)                                                              \
    X(archive_read_support_filter_zstd)                                                            \
    X(archive_read_support_format_raw)                                                             \
    X(archive_read_support_format_tar)                                                             \
    X(archive_read_support_format_zip)                                                             \
    X(archive_set_error)
static LULL_LATE_STRUCT(functions, FUNCTIONS) libarchive;
static struct lull_late late = LULL_LATE(LULL_SONAME_ARCHIVE, libarchive, FUNCTIONS);

#define NAME_MAX_BYTES 4096
#define BLOCK (256 << 10)
/* Links and devices of an archive are not reported one by one. */
#define MOST_PROBLEMS 20

struct unpacking {
    struct lull_archive *archive;
    struct archive *reader;
    const char *path;
    int fd;
    uint64_t size, read; /* bytes of the packed file */
    uint8_t *block;
    struct lull_spool spool;
    unsigned n_problems;
    GPtrArray *special; /* names of members that are no files */
    const struct lull_unpack_watch *watch;
    GError **error;
};

static bool fail(struct unpacking *u, enum lull_error code, const char *why)
{
    g_set_error(u->error, LULL_ERROR, (gint)code, "%s: %s", u->path, why);
    return false;
}

/* The contents of the member that was reached, after what is in the spool. */
static bool spool(struct unpacking *u, struct lull_archive_member *member)
{
    const void *data;
    size_t size;
    la_int64_t offset;
    int status;
    member->base = u->spool.used;
    while ((status = libarchive.archive_read_data_block(u->reader, &data, &size, &offset)) ==
           ARCHIVE_OK) {
        uint64_t end;
        /* Blocks of sparse files leave holes; they are in order and never negative. */
        if (offset < 0 || (uint64_t)offset < member->size ||
            __builtin_add_overflow((uint64_t)offset, size, &end) || end > LULL_ARCHIVE_MAX_BYTES) {
            return fail(u, LULL_ERROR_FORMAT, "the archive is damaged (a block out of order)");
        }
        if (!lull_spool_write(&u->spool, data, size, member->base + (uint64_t)offset, u->error)) {
            return false;
        }
        member->size = end;
    }
    if (status == ARCHIVE_EOF) {
        return true;
    }
    const char *text = libarchive.archive_error_string(u->reader);
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
    u->watch->problem(u->watch->user, text);
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
            *why = "its name points outside the archive";
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

/* "perf.data" of "perf.data.zst". */
static char *single_name(const char *path)
{
    static const char *const suffixes[] = {".gz", ".bz2", ".xz", ".zst"};
    char *name = g_path_get_basename(path);
    for (size_t i = 0; i < G_N_ELEMENTS(suffixes); i++) {
        size_t length = strlen(name), suffix = strlen(suffixes[i]);
        if (length > suffix && strcmp(name + length - suffix, suffixes[i]) == 0) {
            name[length - suffix] = '\0';
            break;
        }
    }
    return name;
}

/* What no format of archives claims, but is compressed: a file of its own. */
static bool take_single(struct unpacking *u)
{
    struct lull_archive_member member = {.name = single_name(u->path)};
    u->archive->is_single = true;
    if (!spool(u, &member)) {
        g_free(member.name);
        return false;
    }
    g_array_append_val(u->archive->members, member);
    return true;
}

/* What says itself that it is too large need not be unpacked to be found so. */
static bool fits(struct unpacking *u, struct archive_entry *entry)
{
    la_int64_t size =
        libarchive.archive_entry_size_is_set(entry) ? libarchive.archive_entry_size(entry) : 0;
    uint64_t end;
    return __builtin_add_overflow(u->spool.used, (uint64_t)MAX(size, 0), &end)
               ? lull_spool_fits(&u->spool, UINT64_MAX, u->error)
               : lull_spool_fits(&u->spool, end, u->error);
}

static bool take_member(struct unpacking *u, struct archive_entry *entry, GHashTable *by_name)
{
    const char *why, *name = libarchive.archive_entry_pathname_utf8(entry);
    if (!name) { /* not to be had in UTF-8 */
        name = libarchive.archive_entry_pathname(entry);
    }
    if (!name) {
        name = "";
    }
    const char *target = libarchive.archive_entry_hardlink_utf8(entry);
    if (!target && libarchive.archive_entry_filetype(entry) != AE_IFREG) {
        /* Directories are known by what is in them; of the rest see report_special(). */
        if (libarchive.archive_entry_filetype(entry) != AE_IFDIR) {
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
    if (libarchive.archive_entry_is_data_encrypted(entry)) {
        leave_out(u, name, "it is encrypted");
        g_free(plain);
        return true;
    }
    GArray *members = u->archive->members;
    if (members->len >= LULL_ARCHIVE_MAX_MEMBERS) {
        g_free(plain);
        return fail(u, LULL_ERROR_UNSUPPORTED, "it has more than 200000 files");
    }
    struct lull_archive_member member = {.name = plain};
    if (g_hash_table_contains(by_name, plain)) {
        leave_out(u, name, "the archive already has a file of this name");
        g_free(plain);
        return true;
    }
    if (target && !follow_link(u, target, &member, by_name)) {
        leave_out(u, name, "it is a link to a file that the archive does not have before it");
        g_free(plain);
        return true;
    }
    if (!target && (!fits(u, entry) || !spool(u, &member))) {
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
    const char *text = libarchive.archive_error_string(u->reader);
    g_autofree char *why = g_strdup_printf(
        "not a directory (a CTF trace is a directory with a file 'metadata'), nor "
        "one packed as .tar, .tar.gz, .tar.xz, .tar.zst or .zip, nor a perf.data or "
        "trace.dat: %s",
        text ? text : "unknown format");
    return fail(u, LULL_ERROR_FORMAT, why);
}

static bool damaged(struct unpacking *u)
{
    const char *text = libarchive.archive_error_string(u->reader);
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
    while ((status = libarchive.archive_read_next_header(u->reader, &entry)) == ARCHIVE_OK ||
           status == ARCHIVE_WARN) {
        const bool is_raw = libarchive.archive_format(u->reader) == ARCHIVE_FORMAT_RAW;
        if (is_raw && libarchive.archive_filter_code(u->reader, 0) == ARCHIVE_FILTER_NONE) {
            return unrecognized(u);
        }
        if (is_raw ? !take_single(u) : !take_member(u, entry, by_name)) {
            return false;
        }
        any = true;
    }
    if (status != ARCHIVE_EOF) {
        return any ? damaged(u) : unrecognized(u);
    }
    report_special(u, by_name);
    return lull_spool_finish(&u->spool, u->error);
}

/* ---- the packed file ---- */

static la_ssize_t on_read(struct archive *reader, void *user, const void **block)
{
    struct unpacking *u = user;
    ssize_t n;
    do {
        n = pread(u->fd, u->block, BLOCK, (off_t)u->read);
    } while (n < 0 && errno == EINTR);
    if (n < 0) {
        libarchive.archive_set_error(reader, errno, "%s", g_strerror(errno));
        return -1;
    }
    *block = u->block;
    u->read += (uint64_t)n;
    lull_unpack_progress(u->watch, u->path, u->read, u->size);
    return n;
}

/* The table of contents of a zip is at its end. */
static la_int64_t on_seek(struct archive *reader, void *user, la_int64_t offset, int whence)
{
    struct unpacking *u = user;
    const uint64_t from = whence == SEEK_SET ? 0 : whence == SEEK_CUR ? u->read : u->size;
    const la_int64_t to = (la_int64_t)from + CLAMP(offset, -(la_int64_t)from, INT64_MAX / 2);
    u->read = MIN((uint64_t)to, u->size);
    return (la_int64_t)u->read;
}

/* What needs an external program to decompress is not run: filters only by what is built in. */
static bool open_reader(struct unpacking *u)
{
    struct archive *reader = u->reader = libarchive.archive_read_new();
    if (!reader || libarchive.archive_read_support_format_tar(reader) != ARCHIVE_OK ||
        libarchive.archive_read_support_format_zip(reader) != ARCHIVE_OK ||
        libarchive.archive_read_support_format_raw(reader) != ARCHIVE_OK ||
        libarchive.archive_read_set_seek_callback(reader, on_seek) != ARCHIVE_OK) {
        return fail(u, LULL_ERROR_IO, "libarchive cannot be used");
    }
    libarchive.archive_read_support_filter_gzip(reader);
    libarchive.archive_read_support_filter_bzip2(reader);
    libarchive.archive_read_support_filter_xz(reader);
    libarchive.archive_read_support_filter_zstd(reader);
    return libarchive.archive_read_open(reader, u, NULL, on_read, NULL) == ARCHIVE_OK ||
           unrecognized(u);
}

static int compare_members(gconstpointer a, gconstpointer b)
{
    return strcmp(((const struct lull_archive_member *)a)->name,
                  ((const struct lull_archive_member *)b)->name);
}

static struct lull_archive *unpack(const char *path, int fd, uint64_t size,
                                   const struct lull_unpack_watch *watch, GError **error)
{
    struct unpacking u = {.path = path, .fd = fd, .size = size, .watch = watch, .error = error};
    if (!lull_late_load(&late, error)) {
        g_prefix_error(error, "%s: ", path);
        return NULL;
    }
    if (!lull_spool_init(&u.spool, path, lull_spool_limit(size), error)) {
        return NULL;
    }
    g_autoptr(GPtrArray) special = u.special = g_ptr_array_new_with_free_func(g_free);
    g_autofree uint8_t *block = u.block = g_malloc(BLOCK);
    struct lull_archive *archive = u.archive = lull_archive_new();
    bool done = open_reader(&u) && read_members(&u);
    archive->fd = u.spool.fd;
    if (u.reader) {
        libarchive.archive_read_free(u.reader);
    }
    if (!done) {
        lull_archive_unref(archive);
        return NULL;
    }
    g_array_sort(archive->members, compare_members);
    return archive;
}

struct lull_archive *lull_archive_open(const char *path, const struct lull_unpack_watch *watch,
                                       GError **error)
{
    const char *why;
    uint64_t size;
    int fd;
    if (lull_file_open(path, &fd, &size, &why) != LULL_OPEN_DONE) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_IO, "%s: %s", path, why);
        return NULL;
    }
    struct lull_archive *archive = unpack(path, fd, size, watch, error);
    close(fd);
    return archive;
}

struct lull_archive *lull_archive_open_inner(const struct lull_archive *outer, const char *path,
                                             const struct lull_unpack_watch *watch, GError **error)
{
    return unpack(path, outer->fd, lull_archive_member(outer, 0)->size, watch, error);
}
