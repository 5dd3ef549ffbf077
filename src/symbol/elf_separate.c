/* SPDX-License-Identifier: MIT */
/* Where the symbols of a stripped file are: in a file that distributions install apart, by build-id
 * or by the name and checksum in .gnu_debuglink; or packed with xz in .gnu_debugdata. GDB's manual
 * describes all three ("Debugging Information in Separate Files", "MiniDebugInfo"). */
#include <glib.h>
#include <lzma.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "symbol/debuginfod.h"
#include "symbol/elf_private.h"
#include "symbol/table.h"

/* A checksum is over all of a file; larger ones are found by build-id alone. */
#define MOST_CHECKED_BYTES (UINT64_C(1) << 30)
#define BLOCK_BYTES (1u << 16)
/* Unpacked; the symbols alone of the largest programs. */
#define MOST_PACKED_BYTES (UINT64_C(16) << 20)
#define MOST_UNPACKED_BYTES (UINT64_C(64) << 20)
#define MOST_UNPACKER_BYTES (UINT64_C(128) << 20)

/* ---- separate files ---- */

/* By the polynomial of .gnu_debuglink, which is that of xz. */
static bool is_checksum(int fd, uint32_t wanted)
{
    g_autofree uint8_t *block = g_malloc(BLOCK_BYTES);
    uint64_t at = 0;
    uint32_t sum = 0;
    ssize_t n;
    while ((n = pread(fd, block, BLOCK_BYTES, (off_t)at)) > 0 && at < MOST_CHECKED_BYTES) {
        sum = lzma_crc32(block, (size_t)n, sum);
        at += (uint64_t)n;
    }
    return n == 0 && sum == wanted;
}

/* A search for a file of the same build. */
struct search {
    const struct opened *of;
    elf_taker *take;
    void *user;
};

/* Has the file taken if it is of the same build; `checksum` may be NULL. */
static bool try_file(const struct search *search, const char *path, const uint32_t *checksum)
{
    struct opened debug;
    const char *why;
    bool is_taken = false;
    int fd;
    if (lull_file_open(path, &fd, NULL, &why) != LULL_OPEN_DONE) {
        return false;
    }
    if ((!checksum || is_checksum(fd, *checksum)) && elf_open(&debug, fd)) {
        is_taken = g_strcmp0(debug.build_id, search->of->build_id) == 0 &&
                   search->take(search->user, &debug, path);
        elf_shut(&debug);
    }
    close(fd);
    return is_taken;
}

/* The bytes of the section with this name, borrowed from the file; NULL: there is none. */
static const Elf_Data *section_of(Elf *file, const char *wanted, uint64_t most_bytes)
{
    size_t names;
    GElf_Shdr header;
    if (elf_getshdrstrndx(file, &names) != 0) {
        return NULL;
    }
    for (Elf_Scn *section = NULL; (section = elf_nextscn(file, section));) {
        if (gelf_getshdr(section, &header) && header.sh_type == SHT_PROGBITS &&
            header.sh_size <= most_bytes &&
            g_strcmp0(elf_strptr(file, names, header.sh_name), wanted) == 0) {
            const Elf_Data *data = elf_rawdata(section, NULL);
            return data && data->d_buf ? data : NULL;
        }
    }
    return NULL;
}

/* A name, zeros up to a multiple of four bytes, and a checksum in the byte order of the file. */
static bool try_linked(const struct search *search, const char *path, const char *debug_root)
{
    const struct opened *of = search->of;
    const Elf_Data *data = section_of(of->file, ".gnu_debuglink", BLOCK_BYTES);
    const size_t length = data ? strnlen(data->d_buf, data->d_size) : 0;
    const size_t at = (length + 4) & ~(size_t)3;
    GElf_Ehdr header;
    uint32_t sum;
    if (length == 0 || at + sizeof sum > data->d_size || memchr(data->d_buf, '/', length) ||
        !gelf_getehdr(of->file, &header)) {
        return false;
    }
    memcpy(&sum, (const uint8_t *)data->d_buf + at, sizeof sum);
    sum = header.e_ident[EI_DATA] == ELFDATA2MSB ? GUINT32_FROM_BE(sum) : GUINT32_FROM_LE(sum);
    g_autofree char *directory = g_path_get_dirname(path);
    g_autofree char *beside = g_build_filename(directory, data->d_buf, NULL);
    g_autofree char *below = g_build_filename(directory, ".debug", data->d_buf, NULL);
    g_autofree char *far = g_build_filename(debug_root, directory, data->d_buf, NULL);
    return try_file(search, beside, &sum) || try_file(search, below, &sum) ||
           try_file(search, far, &sum);
}

static bool try_build_id(const struct search *search, const char *root)
{
    const char *id = search->of->build_id;
    g_autofree char *path =
        id ? g_strdup_printf("%s/.build-id/%.2s/%s.debug", root, id, id + 2) : NULL;
    return path && try_file(search, path, NULL);
}

bool elf_try_separate(const struct opened *of, const char *path, const struct lull_apart *apart,
                      elf_taker *take, void *user)
{
    const struct search search = {of, take, user};
    return apart && apart->root &&
           (try_build_id(&search, apart->root) || (path && try_linked(&search, path, apart->root)));
}

bool elf_try_servers(const struct opened *of, const struct lull_apart *apart, elf_taker *take,
                     void *user)
{
    const struct search search = {of, take, user};
    g_autofree char *path =
        apart && apart->servers && of->build_id
            ? lull_debuginfod_find(apart->servers, of->build_id, LULL_DEBUGINFOD_DEBUG)
            : NULL;
    return path && try_file(&search, path, NULL);
}

/* ---- packed in the file itself ---- */

/* All of it, to be freed; NULL: it is damaged, or too much. */
static char *unpack(const Elf_Data *packed, size_t *size)
{
    lzma_stream stream = LZMA_STREAM_INIT;
    g_autoptr(GByteArray) all = g_byte_array_new();
    lzma_ret status = lzma_stream_decoder(&stream, MOST_UNPACKER_BYTES, 0);
    stream.next_in = packed->d_buf;
    stream.avail_in = packed->d_size;
    while (status == LZMA_OK && all->len < MOST_UNPACKED_BYTES) {
        const guint before = all->len;
        g_byte_array_set_size(all, before + BLOCK_BYTES);
        stream.next_out = all->data + before;
        stream.avail_out = BLOCK_BYTES;
        status = lzma_code(&stream, LZMA_FINISH);
        g_byte_array_set_size(all, all->len - (guint)stream.avail_out);
    }
    lzma_end(&stream);
    *size = all->len;
    return status == LZMA_STREAM_END ? (char *)g_byte_array_free(g_steal_pointer(&all), FALSE)
                                     : NULL;
}

/* False: there is nothing. */
static bool add_packed(struct lull_symbol_table *table, const struct opened *of)
{
    const Elf_Data *packed = section_of(of->file, ".gnu_debugdata", MOST_PACKED_BYTES);
    size_t size;
    g_autofree char *image = packed ? unpack(packed, &size) : NULL;
    struct opened small = {.file = image ? elf_memory(image, size) : NULL};
    bool is_added = false;
    if (elf_look(&small, NULL)) {
        is_added = (g_strcmp0(small.build_id, of->build_id) == 0 || !small.build_id) &&
                   elf_add_first(table, small.file, SHT_SYMTAB);
        elf_shut(&small);
    }
    return is_added;
}

static bool add_symbols(void *table, struct opened *debug, const char *at)
{
    return elf_add_first(table, debug->file, SHT_SYMTAB);
}

void elf_add_separate(struct lull_symbol_table *table, const struct opened *of, const char *path,
                      const struct lull_apart *apart)
{
    if (!elf_try_separate(of, path, apart, add_symbols, table) && !add_packed(table, of)) {
        elf_try_servers(of, apart, add_symbols, table);
    }
}
