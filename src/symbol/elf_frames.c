/* SPDX-License-Identifier: MIT */
/* Reads call frame information with libelf. */
#include "symbol/elf_frames.h"

#include <glib.h>
#include <link.h>
#include <string.h>
#include <sys/auxv.h>

#include "symbol/elf_private.h"
#include "symbol/table.h"
#include "unwind/cfi.h"

/* The bytes of a section in memory of their own, unpacked; NULL: it is too large, or damaged. */
static uint8_t *copy_section(Elf_Scn *section, const GElf_Shdr *header, size_t *size)
{
    GElf_Chdr packed;
    if (header->sh_flags & SHF_COMPRESSED &&
        (!gelf_getchdr(section, &packed) || packed.ch_size > ELF_MOST_SECTION_BYTES ||
         elf_compress(section, 0, 0) < 0)) {
        return NULL;
    }
    const Elf_Data *data = elf_rawdata(section, NULL);
    if (!data || !data->d_buf || data->d_size == 0 || data->d_size > ELF_MOST_SECTION_BYTES) {
        return NULL;
    }
    *size = data->d_size;
    return g_memdup2(data->d_buf, data->d_size);
}

/* Adds the first section with this name. */
static void add_section(struct lull_cfi *cfi, Elf *file, const char *wanted, bool is_debug)
{
    size_t names, size;
    GElf_Shdr header;
    if (elf_getshdrstrndx(file, &names) != 0) {
        return;
    }
    for (Elf_Scn *section = NULL; (section = elf_nextscn(file, section));) {
        if (gelf_getshdr(section, &header) && header.sh_type != SHT_NOBITS &&
            header.sh_size <= ELF_MOST_SECTION_BYTES &&
            g_strcmp0(elf_strptr(file, names, header.sh_name), wanted) == 0) {
            uint8_t *data = copy_section(section, &header, &size);
            if (data) {
                lull_cfi_add(cfi, data, size, header.sh_addr, is_debug);
            }
            return;
        }
    }
}

static bool add_debug_frame(void *cfi, struct opened *debug, const char *at)
{
    add_section(cfi, debug->file, ".debug_frame", true);
    return true;
}

static struct lull_cfi *read_frames(const struct opened *opened, const char *path,
                                    const struct lull_apart *apart)
{
    GElf_Ehdr header;
    const struct lull_unwind_machine *machine =
        gelf_getehdr(opened->file, &header) && header.e_ident[EI_DATA] == ELFDATA2LSB
            ? lull_unwind_machine_of_elf(header.e_machine)
            : NULL;
    if (!machine || (header.e_ident[EI_CLASS] == ELFCLASS64) != (machine->word_bytes == 8)) {
        return NULL;
    }
    struct lull_cfi *cfi = lull_cfi_new(machine);
    add_section(cfi, opened->file, ".eh_frame", false);
    add_section(cfi, opened->file, ".debug_frame", true);
    elf_try_separate(opened, path, apart, add_debug_frame, cfi);
    if (lull_cfi_finish(cfi) == 0) {
        g_clear_pointer(&cfi, lull_cfi_free);
    }
    return cfi;
}

/* Takes the file; without a path it is in memory, and its symbols are read as well. */
static struct lull_object *read_elf(Elf *file, const char *path, const struct lull_apart *apart)
{
    struct opened opened = {.file = file};
    struct lull_object *object = lull_object_new();
    if (!elf_look(&opened, object)) {
        lull_object_free(object);
        return NULL;
    }
    object->cfi = read_frames(&opened, path, apart);
    if (!path) {
        elf_add_first(object->table, opened.file, SHT_DYNSYM);
    }
    object->build_id = g_steal_pointer(&opened.build_id);
    elf_shut(&opened);
    lull_symbol_table_finish(object->table);
    return object;
}

struct lull_object *lull_elf_read_frames(int fd, const char *path, const struct lull_apart *apart)
{
    elf_version(EV_CURRENT);
    return read_elf(elf_begin(fd, ELF_C_READ, NULL), path, apart);
}

struct lull_object *lull_elf_read_vdso(void)
{
    char *start = (char *)getauxval(AT_SYSINFO_EHDR);
    const ElfW(Ehdr) *header = (const void *)start;
    elf_version(EV_CURRENT);
    if (!start || memcmp(start, ELFMAG, SELFMAG) != 0) {
        return NULL;
    }
    /* The table of sections is the last of it. */
    const size_t size = header->e_shoff + (size_t)header->e_shnum * header->e_shentsize;
    return read_elf(elf_memory(start, size), NULL, NULL);
}
