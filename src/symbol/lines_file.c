/* SPDX-License-Identifier: MIT */
/* Files of debug information. libdw reads all of their sections when it opens them; what it would open by itself, by
 * names in the file, is found here, with the care that names in files need. */
#include <dwarf.h>
#include <elfutils/libdwelf.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "symbol/lines_private.h"

/* Unpacked, all sections together; the largest browsers have somewhat less. */
#define MOST_DEBUG_BYTES (UINT64_C(1) << 30)
/* The lines of one unit: a hundred thousand lines of C have half a megabyte. */
#define MOST_PROGRAM_BYTES (UINT32_C(4) << 20)
/* In place of a length: one of 64 bits follows. */
#define LONG_FORM UINT32_MAX
/* Build-ids of fewer or more bytes are none. */
enum { LEAST_ID = 3, MOST_ID = 64 };

/* How many bytes a section has once it is unpacked. */
static uint64_t unpacked_size(Elf_Scn *section, const GElf_Shdr *header)
{
    GElf_Chdr packed;
    return !(header->sh_flags & SHF_COMPRESSED) ? header->sh_size
           : gelf_getchdr(section, &packed)     ? packed.ch_size
                                                : UINT64_MAX;
}

/* The next section of debug information after this one (NULL: the first); NULL: there is none. */
static Elf_Scn *next_debug(Elf *file, Elf_Scn *section, GElf_Shdr *header, const char **name)
{
    size_t names;
    if (elf_getshdrstrndx(file, &names) != 0) {
        return NULL;
    }
    while ((section = elf_nextscn(file, section))) {
        *name = gelf_getshdr(section, header) ? elf_strptr(file, names, header->sh_name) : NULL;
        if (*name && header->sh_type != SHT_NOBITS && strstr(*name, "debug")) {
            return section;
        }
    }
    return NULL;
}

/* Code that was linked, or what several files of it share or that it has elsewhere; with at most so much debug
 * information. *bytes: how much it has. */
static bool is_fit(Elf *file, bool is_shared, uint64_t most_bytes, uint64_t *bytes)
{
    GElf_Ehdr head;
    GElf_Shdr header;
    const char *name;
    bool has_info = false;
    *bytes = 0;
    if (!gelf_getehdr(file, &head) ||
        (head.e_type != ET_EXEC && head.e_type != ET_DYN && !is_shared)) {
        return false;
    }
    for (Elf_Scn *section = NULL; (section = next_debug(file, section, &header, &name));) {
        const uint64_t size = unpacked_size(section, &header);
        /* The old way of packing, which says its size only inside. */
        if (g_str_has_prefix(name, ".zdebug") || size > most_bytes - *bytes) {
            return false;
        }
        *bytes += size;
        has_info |=
            g_str_equal(name, ".debug_info") || (is_shared && g_str_equal(name, ".debug_info.dwo"));
    }
    return has_info;
}

/* Of the sections whose sizes were looked at: others may be of any size. */
static void unpack(struct opened *elf)
{
    GElf_Shdr header;
    const char *name;
    for (Elf_Scn *section = NULL; (section = next_debug(elf->file, section, &header, &name));) {
        elf_unpack_zstd(elf, section);
    }
}

const Elf_Data *elf_section(Elf *file, const char *name)
{
    GElf_Shdr header;
    size_t names;
    if (elf_getshdrstrndx(file, &names) != 0) {
        return NULL;
    }
    for (Elf_Scn *section = NULL; (section = elf_nextscn(file, section));) {
        if (gelf_getshdr(section, &header) && header.sh_type != SHT_NOBITS &&
            g_strcmp0(elf_strptr(file, names, header.sh_name), name) == 0) {
            const Elf_Data *data = elf_rawdata(section, NULL);
            return data && data->d_buf ? data : NULL;
        }
    }
    return NULL;
}

const Elf_Data *debug_file_section(const struct debug_file *file, const char *name)
{
    return elf_section(file->elf.file, name);
}

/* Whether texts end within their sections: libdw looks for the end of those of other sections alone. */
static bool have_ends(Elf *file)
{
    static const char *const names[] = {".debug_str", ".debug_line_str", ".debug_str.dwo"};
    for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
        const Elf_Data *data = elf_section(file, names[i]);
        if (data && data->d_size > 0 && ((const char *)data->d_buf)[data->d_size - 1] != '\0') {
            return false;
        }
    }
    return true;
}

bool debug_file_take(struct debug_file *file, struct opened *elf, bool is_shared,
                     uint64_t most_bytes)
{
    *file = (struct debug_file){.dwarf = NULL};
    if (is_fit(elf->file, is_shared, MIN(most_bytes, MOST_DEBUG_BYTES), &file->bytes)) {
        unpack(elf);
        file->dwarf = dwarf_begin_elf(elf->file, DWARF_C_READ, NULL);
    }
    if (!file->dwarf || !have_ends(elf->file)) { /* which are unpacked now */
        dwarf_end(file->dwarf);
        file->dwarf = NULL;
        return false;
    }
    file->elf = *elf;
    *elf = (struct opened){.file = NULL};
    file->lines = elf_section(file->elf.file, ".debug_line");
    file->programs = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
    return true;
}

void debug_file_give_back(struct debug_file *file, struct opened *elf)
{
    *elf = file->elf;
    dwarf_end(file->dwarf);
    g_hash_table_unref(file->programs);
    *file = (struct debug_file){.dwarf = NULL};
}

void debug_file_clear(struct debug_file *file)
{
    if (file->dwarf) {
        struct opened elf;
        debug_file_give_back(file, &elf);
        elf_shut(&elf);
    }
}

/* ---- what several files share ---- */

static bool take_if_it_is(struct debug_file *shared, const char *path, const void *id, ssize_t n)
{
    struct opened elf;
    const char *why;
    const void *its;
    bool is_taken = false;
    int fd;
    if (lull_file_open(path, &fd, NULL, &why) != LULL_OPEN_DONE) {
        return false;
    }
    if (elf_open(&elf, fd)) {
        is_taken = dwelf_elf_gnu_build_id(elf.file, &its) == n && memcmp(its, id, (size_t)n) == 0 &&
                   debug_file_take(shared, &elf, true, UINT64_MAX);
        elf_shut(&elf);
    }
    close(fd);
    return is_taken;
}

bool debug_file_take_shared(struct debug_file *shared, const struct debug_file *file,
                            const char *path, const char *debug_root)
{
    const char *name;
    const void *id;
    const ssize_t n = dwelf_dwarf_gnu_debugaltlink(file->dwarf, &name, &id);
    if (n == 0) {
        return true;
    }
    if (n < LEAST_ID || n > MOST_ID) {
        return false;
    }
    g_autoptr(GString) place = g_string_new(debug_root ? debug_root : "");
    g_string_append(place, "/.build-id/");
    for (ssize_t i = 0; i < n; i++) {
        g_string_append_printf(place, i == 0 ? "%02x/" : "%02x", ((const uint8_t *)id)[i]);
    }
    g_string_append(place, ".debug");
    g_autofree char *directory = g_path_get_dirname(path);
    g_autofree char *named =
        *name == '/' ? g_strdup(name) : g_build_filename(directory, name, NULL);
    g_autofree char *below = g_build_filename(debug_root ? debug_root : "/", name, NULL);
    if (take_if_it_is(shared, place->str, id, n) || take_if_it_is(shared, named, id, n) ||
        take_if_it_is(shared, below, id, n)) {
        dwarf_setalt(file->dwarf, shared->dwarf);
        return true;
    }
    return false;
}

/* ---- lines ---- */

/* The length that a program of lines says it has, with its head; 0: it lies outside. */
static uint64_t program_bytes(const struct debug_file *file, uint64_t offset)
{
    const uint8_t *bytes = file->lines ? file->lines->d_buf : NULL;
    const char *ident = elf_getident(file->elf.file, NULL);
    const bool is_big = ident && ident[EI_DATA] == ELFDATA2MSB;
    const uint64_t left = bytes && offset < file->lines->d_size ? file->lines->d_size - offset : 0;
    uint32_t length;
    uint64_t long_length;
    if (left < sizeof length) {
        return 0;
    }
    memcpy(&length, bytes + offset, sizeof length);
    length = is_big ? GUINT32_FROM_BE(length) : GUINT32_FROM_LE(length);
    if (length != LONG_FORM) {
        return (uint64_t)length + sizeof length;
    }
    if (left < sizeof length + sizeof long_length) {
        return 0;
    }
    memcpy(&long_length, bytes + offset + sizeof length, sizeof long_length);
    long_length = is_big ? GUINT64_FROM_BE(long_length) : GUINT64_FROM_LE(long_length);
    return long_length <= left ? long_length + sizeof length + sizeof long_length : 0;
}

bool debug_file_has_lines(struct debug_file *file, Dwarf_Die *unit)
{
    Dwarf_Attribute attribute;
    Dwarf_Word offset;
    if (!dwarf_attr(unit, DW_AT_stmt_list, &attribute) ||
        dwarf_formudata(&attribute, &offset) != 0) {
        return false;
    }
    const uint64_t bytes = program_bytes(file, offset);
    if (bytes == 0 || bytes > MOST_PROGRAM_BYTES) {
        return false;
    }
    const gint64 key = (gint64)offset;
    if (g_hash_table_contains(file->programs, &key)) {
        return true;
    }
    /* Programs do not share their bytes. */
    if (bytes > file->lines->d_size - file->program_bytes) {
        return false;
    }
    file->program_bytes += bytes;
    g_hash_table_add(file->programs, g_memdup2(&key, sizeof key));
    return true;
}
