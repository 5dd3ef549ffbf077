/* SPDX-License-Identifier: MIT */
/* The stubs by which code calls functions of libraries (the procedure linkage table): no symbol names them, but each
 * jumps to where a relocation says that the linker puts the address of one. Source: System V ABI, AMD64 supplement. */
#include <glib.h>
#include <string.h>

#include "base/map.h"
#include "symbol/elf_private.h"
#include "symbol/table.h"

/* More stubs has no program. */
#define MOST_STUBS (1 << 20)
#define STUB_BYTES 16u

/* Where the linker puts addresses of functions, and whose. */
struct slots {
    struct lull_map by_address; /* → place in `names` */
    GPtrArray *names;           /* borrowed from the file */
};

static Elf_Data *data_of(Elf_Scn *section, const GElf_Shdr *header)
{
    return header->sh_size <= ELF_MOST_SECTION_BYTES ? elf_getdata(section, NULL) : NULL;
}

static void add_slots(struct slots *slots, Elf *file, Elf_Scn *section, const GElf_Shdr *header)
{
    Elf_Scn *symbols = elf_getscn(file, header->sh_link);
    GElf_Shdr of_symbols, of_names;
    GElf_Rela relocation;
    GElf_Sym symbol;
    if (!symbols || !gelf_getshdr(symbols, &of_symbols) ||
        !gelf_getshdr(elf_getscn(file, of_symbols.sh_link), &of_names) ||
        of_names.sh_size > ELF_MOST_SECTION_BYTES) {
        return;
    }
    Elf_Data *data = data_of(section, header), *names = data_of(symbols, &of_symbols);
    for (int i = 0; data && names && gelf_getrela(data, i, &relocation); i++) {
        const unsigned type = GELF_R_TYPE(relocation.r_info);
        const uint64_t number = GELF_R_SYM(relocation.r_info);
        if ((type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT) || number > INT32_MAX ||
            !gelf_getsym(names, (int)number, &symbol)) {
            continue;
        }
        const char *name = elf_strptr(file, of_symbols.sh_link, symbol.st_name);
        if (name && *name && slots->names->len < MOST_STUBS) {
            lull_map_insert(&slots->by_address, relocation.r_offset, slots->names->len);
            g_ptr_array_add(slots->names, (void *)name);
        }
    }
}

/* The address that an indirect jump at `at` reads, after an endbr64 and a bnd, if it has them; 0: there is none. */
static uint64_t target_of(const uint8_t *at, size_t size, uint64_t address)
{
    static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa}, jump[] = {0xff, 0x25};
    size_t skipped = 0;
    int32_t distance;
    if (size >= sizeof endbr64 && memcmp(at, endbr64, sizeof endbr64) == 0) {
        skipped = sizeof endbr64;
    }
    skipped += size > skipped && at[skipped] == 0xf2;
    if (size - skipped < sizeof jump + sizeof distance ||
        memcmp(at + skipped, jump, sizeof jump) != 0) {
        return 0;
    }
    memcpy(&distance, at + skipped + sizeof jump, sizeof distance);
    return address + skipped + sizeof jump + sizeof distance + (uint64_t)(int64_t)distance;
}

static void add_stubs(struct lull_symbol_table *table, const struct slots *slots, Elf_Scn *section,
                      const GElf_Shdr *header)
{
    const Elf_Data *data = data_of(section, header);
    const uint64_t step = header->sh_entsize == STUB_BYTES / 2 ? STUB_BYTES / 2 : STUB_BYTES;
    g_autoptr(GString) name = g_string_new(NULL);
    for (uint64_t at = 0; data && data->d_buf && at + step <= data->d_size; at += step) {
        const uint64_t address = header->sh_addr + at;
        const uint64_t target = target_of((const uint8_t *)data->d_buf + at, step, address);
        const uint32_t number = target ? lull_map_find(&slots->by_address, target) : LULL_MAP_NONE;
        if (number != LULL_MAP_NONE) {
            g_string_printf(name, "%.4096s@plt", (const char *)slots->names->pdata[number]);
            lull_symbol_table_add(table, address, step, address + step, UINT8_MAX, name->str,
                                  name->len);
        }
    }
}

/* Little-endian machines read these files as they are. */
static bool has_such_stubs(Elf *file)
{
    GElf_Ehdr head;
    return G_BYTE_ORDER == G_LITTLE_ENDIAN && gelf_getehdr(file, &head) &&
           head.e_machine == EM_X86_64 && head.e_ident[EI_CLASS] == ELFCLASS64;
}

void elf_add_stubs(struct lull_symbol_table *table, Elf *file)
{
    struct slots slots = {.names = g_ptr_array_new()};
    GElf_Shdr header;
    size_t names = 0;
    const bool is_known = has_such_stubs(file) && elf_getshdrstrndx(file, &names) == 0;
    for (Elf_Scn *section = NULL; is_known && (section = elf_nextscn(file, section));) {
        if (gelf_getshdr(section, &header) && header.sh_type == SHT_RELA) {
            add_slots(&slots, file, section, &header);
        }
    }
    for (Elf_Scn *section = NULL; slots.names->len && (section = elf_nextscn(file, section));) {
        const char *name = gelf_getshdr(section, &header) && header.sh_type == SHT_PROGBITS &&
                                   (header.sh_flags & SHF_EXECINSTR) &&
                                   header.sh_addr < UINT64_MAX - header.sh_size
                               ? elf_strptr(file, names, header.sh_name)
                               : NULL;
        if (name && g_str_has_prefix(name, ".plt")) {
            add_stubs(table, &slots, section, &header);
        }
    }
    lull_map_free(&slots.by_address);
    g_ptr_array_unref(slots.names);
}
