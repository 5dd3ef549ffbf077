/* SPDX-License-Identifier: MIT */
/* Packages of split debug information (.dwp): sections of many files, one after the other, and an index of which part of
 * each belongs to which unit. libdw reads no packages, so the parts of one unit are put together as the file that they
 * came from. Sources: DWARF 5, 7.3.5; for version 2 of the index GCC's wiki, "DebugFissionDWP". */
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "symbol/lines_private.h"

#define MOST_PACKAGE_BYTES (UINT64_C(1) << 30)
/* That of one unit, once it is put together. */
#define MOST_UNIT_BYTES (UINT64_C(256) << 20)

/* By the number of a section in an index of version 2, and of version 5; NULL: nobody needs it. */
static const char *const sections[2][9] = {
    {NULL, ".debug_info.dwo", NULL, ".debug_abbrev.dwo", NULL, NULL, ".debug_str_offsets.dwo"},
    {NULL, ".debug_info.dwo", NULL, ".debug_abbrev.dwo", NULL, NULL, ".debug_str_offsets.dwo", NULL,
     ".debug_rnglists.dwo"},
};

/* ---- the index ---- */

/* Version, columns (sections), units, slots; then for each slot an id, for each slot the number of a row, a row of
 * the sections' numbers, for each unit where its parts start, for each unit how long they are. */
struct index {
    const uint8_t *bytes;
    uint64_t size;
    uint32_t version, n_columns, n_units, n_slots;
};

enum { HEAD = 16 };

static uint32_t word_at(const struct index *index, uint64_t at)
{
    uint32_t word = 0;
    if (at <= index->size && index->size - at >= sizeof word) {
        memcpy(&word, index->bytes + at, sizeof word);
    }
    return word;
}

static bool open_index(struct index *index, const struct opened *package)
{
    const Elf_Data *data = elf_section(package->file, ".debug_cu_index");
    if (!data) {
        return false;
    }
    *index = (struct index){.bytes = data->d_buf, .size = data->d_size};
    index->version = word_at(index, 0);
    if (G_BYTE_ORDER == G_BIG_ENDIAN && index->version >> 16 == 5) {
        index->version = 5; /* of two bytes */
    }
    index->n_columns = word_at(index, 4);
    index->n_units = word_at(index, 8);
    index->n_slots = word_at(index, 12);
    return (index->version == 2 || index->version == 5) && index->n_columns <= 16 &&
           HEAD + (uint64_t)index->n_slots * 12 +
                   ((uint64_t)index->n_units * 2 + 1) * index->n_columns * 4 <=
               index->size;
}

/* The row of a unit, from 1 on; 0: there is none. */
static uint32_t row_of(const struct index *index, uint64_t id)
{
    const uint32_t mask = index->n_slots - 1; /* a power of two */
    uint32_t slot = (uint32_t)id & mask;
    const uint32_t step = ((uint32_t)(id >> 32) & mask) | 1;
    for (uint32_t n = 0; n < index->n_slots; n++, slot = (slot + step) & mask) {
        uint64_t its;
        if (slot >= index->n_slots) {
            return 0;
        }
        memcpy(&its, index->bytes + HEAD + (uint64_t)slot * 8, sizeof its);
        const uint32_t row =
            word_at(index, HEAD + (uint64_t)index->n_slots * 8 + (uint64_t)slot * 4);
        if (its == id || row == 0) {
            return row <= index->n_units ? row : 0;
        }
    }
    return 0;
}

/* ---- one unit ---- */

/* A part of a section. */
struct part {
    const char *name;
    const uint8_t *bytes;
    uint64_t size;
};

/* False: the package does not have the part that its index names. */
static bool find_part(const struct opened *package, const struct index *index, uint32_t row,
                      uint32_t column, struct part *part)
{
    const uint64_t table = HEAD + (uint64_t)index->n_slots * 12,
                   width = (uint64_t)index->n_columns * 4;
    const uint32_t number = word_at(index, table + (uint64_t)column * 4);
    const uint64_t start = word_at(index, table + row * width + (uint64_t)column * 4);
    const uint64_t size =
        word_at(index, table + (row + (uint64_t)index->n_units) * width + (uint64_t)column * 4);
    part->name = number < G_N_ELEMENTS(sections[0]) ? sections[index->version == 5][number] : NULL;
    const Elf_Data *data = part->name ? elf_section(package->file, part->name) : NULL;
    if (part->name && (!data || start > data->d_size || size > data->d_size - start)) {
        return false;
    }
    part->bytes = data ? (const uint8_t *)data->d_buf + start : NULL;
    part->size = size;
    return true;
}

/* A file of these sections: head, contents, their names, and the list of sections. */
static struct opened put_together(const struct part *parts, size_t n, const Elf64_Ehdr *like,
                                  void **image)
{
    Elf64_Ehdr head = *like;
    GByteArray *all = g_byte_array_new();
    g_autoptr(GByteArray) list = g_byte_array_new();
    g_autoptr(GByteArray) names = g_byte_array_new();
    Elf64_Shdr section = {.sh_type = SHT_NULL};
    static const uint8_t zeros[8];
    g_byte_array_append(list, (const guint8 *)&section, sizeof section);
    g_byte_array_append(names, zeros, 1);
    g_byte_array_append(all, (const guint8 *)&head, sizeof head);
    for (size_t i = 0; i <= n; i++) { /* the last are the names */
        const char *name = i < n ? parts[i].name : ".shstrtab";
        section = (Elf64_Shdr){.sh_name = names->len,
                               .sh_type = i < n ? SHT_PROGBITS : SHT_STRTAB,
                               .sh_offset = all->len,
                               .sh_addralign = 1};
        g_byte_array_append(names, (const guint8 *)name, (guint)strlen(name) + 1);
        section.sh_size = i < n ? parts[i].size : names->len;
        g_byte_array_append(list, (const guint8 *)&section, sizeof section);
        g_byte_array_append(all, i < n ? parts[i].bytes : names->data, (guint)section.sh_size);
    }
    g_byte_array_append(all, zeros, (8 - all->len % 8) % 8);
    head.e_type = ET_REL;
    head.e_phnum = 0;
    head.e_phoff = 0;
    head.e_shoff = all->len;
    head.e_shentsize = sizeof section;
    head.e_shnum = (Elf64_Half)(n + 2);
    head.e_shstrndx = (Elf64_Half)(n + 1);
    memcpy(all->data, &head, sizeof head);
    g_byte_array_append(all, list->data, list->len);
    const size_t size = all->len;
    *image = g_byte_array_free(all, FALSE);
    return (struct opened){.file = elf_memory(*image, size)};
}

/* The package of a program is beside it, or beside its debug symbols. */
static void open_package(struct lull_lines *lines)
{
    const char *const files[] = {lines->of, lines->at};
    const char *why;
    uint64_t size;
    int fd;
    lines->has_looked_for_package = true;
    for (size_t i = 0; !lines->package.file && i < G_N_ELEMENTS(files); i++) {
        g_autofree char *path = files[i] ? g_strconcat(files[i], ".dwp", NULL) : NULL;
        if (!path || lull_file_open(path, &fd, &size, &why) != LULL_OPEN_DONE) {
            continue;
        }
        if (size <= MOST_PACKAGE_BYTES && elf_open(&lines->package, fd)) {
            elf_cntl(lines->package.file, ELF_C_FDREAD);
        }
        close(fd);
    }
}

struct opened package_unit(struct lull_lines *lines, uint64_t id, void **image)
{
    struct part parts[G_N_ELEMENTS(sections[0]) + 1];
    struct index index;
    const struct opened none = {.file = NULL};
    size_t n = 0, n_bytes = 0;
    if (!lines->has_looked_for_package) {
        open_package(lines);
    }
    Elf *file = lines->package.file;
    const Elf64_Ehdr *head = file ? elf64_getehdr(file) : NULL;
    const uint32_t row = head && open_index(&index, &lines->package) ? row_of(&index, id) : 0;
    for (uint32_t column = 0; row > 0 && column < index.n_columns; column++) {
        if (!find_part(&lines->package, &index, row, column, &parts[n]) ||
            n + 2 > G_N_ELEMENTS(parts)) {
            return none;
        }
        n_bytes += parts[n].name ? parts[n].size : 0;
        n += parts[n].name != NULL;
    }
    const Elf_Data *texts = row > 0 ? elf_section(file, ".debug_str.dwo") : NULL;
    if (texts) {
        parts[n++] = (struct part){".debug_str.dwo", texts->d_buf, texts->d_size};
        n_bytes += texts->d_size;
    }
    if (n == 0 || n_bytes > MOST_UNIT_BYTES) {
        return none;
    }
    return put_together(parts, n, head, image);
}
