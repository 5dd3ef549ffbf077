/* SPDX-License-Identifier: MIT */
/* Reads symbols with libelf, which checks sizes against the file; the limits here are against
 * files with holes that claim more than memory holds. */
#include "symbol/elf.h"

#include <gelf.h>
#include <glib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "symbol/elf_private.h"
#include "symbol/table.h"

#define MOST_NOTE_BYTES (UINT64_C(1) << 20)
#define MOST_SEGMENTS 4096u
#define MOST_NAME 65535u
#define MOST_BUILD_ID 64u

static char *hexadecimal(const uint8_t *bytes, size_t n)
{
    GString *text = g_string_sized_new(2 * n);
    for (size_t i = 0; i < n; i++) {
        g_string_append_printf(text, "%02x", bytes[i]);
    }
    return g_string_free(text, FALSE);
}

/* The build-id in a segment of notes, or NULL. */
static char *find_build_id(Elf *file, const GElf_Phdr *segment)
{
    Elf_Data *data = NULL;
    GElf_Nhdr note;
    size_t name, description, next = 0;
    if (segment->p_filesz <= MOST_NOTE_BYTES && segment->p_offset <= INT64_MAX) {
        data = elf_getdata_rawchunk(file, (int64_t)segment->p_offset, segment->p_filesz,
                                    segment->p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR);
    }
    while (data && (next = gelf_getnote(data, next, &note, &name, &description)) > 0) {
        const uint8_t *bytes = data->d_buf;
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof ELF_NOTE_GNU &&
            memcmp(bytes + name, ELF_NOTE_GNU, sizeof ELF_NOTE_GNU) == 0 && note.n_descsz > 0 &&
            note.n_descsz <= MOST_BUILD_ID) {
            return hexadecimal(bytes + description, note.n_descsz);
        }
    }
    return NULL;
}

/* The build-id, and the parts that are mapped if `object` is not NULL. */
static bool read_segments(struct opened *opened, struct lull_object *object)
{
    size_t n;
    GElf_Phdr segment;
    bool is_good = elf_getphdrnum(opened->file, &n) == 0;
    for (size_t i = 0; is_good && i < n && i < MOST_SEGMENTS; i++) {
        is_good = gelf_getphdr(opened->file, (int)i, &segment) != NULL;
        if (is_good && segment.p_type == PT_LOAD && object) {
            const struct lull_load load = {segment.p_offset, segment.p_filesz, segment.p_vaddr};
            lull_object_add_load(object, &load);
        } else if (is_good && segment.p_type == PT_NOTE && !opened->build_id) {
            opened->build_id = find_build_id(opened->file, &segment);
        }
    }
    return is_good;
}

/* Where the section with this number ends, if it holds code; else 0. */
static uint64_t end_of_code(Elf *file, size_t number)
{
    GElf_Shdr header;
    Elf_Scn *section = number < SHN_LORESERVE ? elf_getscn(file, number) : NULL;
    if (!section || !gelf_getshdr(section, &header) || !(header.sh_flags & SHF_EXECINSTR) ||
        header.sh_size > UINT64_MAX - header.sh_addr) {
        return 0;
    }
    return header.sh_addr + header.sh_size;
}

/* Functions before labels; names for all before those of a file. */
static unsigned rank_of(const GElf_Sym *symbol)
{
    const unsigned binding = GELF_ST_BIND(symbol->st_info);
    const unsigned by_binding = binding == STB_WEAK ? 1 : binding == STB_LOCAL ? 2 : 0;
    return by_binding + (GELF_ST_TYPE(symbol->st_info) == STT_NOTYPE ? 4 : 0);
}

static void read_table(struct lull_symbol_table *table, Elf *file, Elf_Scn *section,
                       const GElf_Shdr *header)
{
    Elf_Data *data = header->sh_size <= ELF_MOST_SECTION_BYTES ? elf_getdata(section, NULL) : NULL;
    GElf_Shdr names;
    GElf_Sym symbol;
    if (!data || header->sh_entsize == 0 ||
        !gelf_getshdr(elf_getscn(file, header->sh_link), &names) ||
        names.sh_size > ELF_MOST_SECTION_BYTES) {
        return;
    }
    for (int i = 1; gelf_getsym(data, i, &symbol); i++) {
        const unsigned type = GELF_ST_TYPE(symbol.st_info);
        if (symbol.st_shndx == SHN_UNDEF ||
            (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE)) {
            continue;
        }
        const uint64_t end = end_of_code(file, symbol.st_shndx);
        const char *name =
            end > symbol.st_value ? elf_strptr(file, header->sh_link, symbol.st_name) : NULL;
        /* "$x" and the like mark kinds of code. */
        if (!name || *name == '\0' || *name == '$') {
            continue;
        }
        if (!lull_symbol_table_add(table, symbol.st_value, symbol.st_size, end, rank_of(&symbol),
                                   name, strnlen(name, MOST_NAME))) {
            return;
        }
    }
}

bool elf_add_first(struct lull_symbol_table *table, Elf *file, uint32_t type)
{
    GElf_Shdr header;
    for (Elf_Scn *section = NULL; (section = elf_nextscn(file, section));) {
        if (gelf_getshdr(section, &header) && header.sh_type == type) {
            read_table(table, file, section, &header);
            return true;
        }
    }
    return false;
}

bool elf_open(struct opened *opened, int fd)
{
    *opened = (struct opened){.file = elf_begin(fd, ELF_C_READ, NULL)};
    return elf_look(opened, NULL);
}

bool elf_look(struct opened *opened, struct lull_object *object)
{
    if (opened->file && elf_kind(opened->file) == ELF_K_ELF && read_segments(opened, object)) {
        return true;
    }
    elf_shut(opened);
    return false;
}

void elf_shut(struct opened *opened)
{
    elf_end(opened->file);
    g_free(opened->build_id);
    g_clear_pointer(&opened->unpacked, g_ptr_array_unref);
    *opened = (struct opened){.file = NULL};
}

/* What tells the file from others. */
static bool identify(int fd, struct lull_object_file *file)
{
    struct stat st;
    if (fstat(fd, &st) != 0 || st.st_ctim.tv_sec >= INT64_MAX / 1000000000) {
        return false;
    }
    file->device = st.st_dev;
    file->inode = st.st_ino;
    file->size = (uint64_t)st.st_size;
    file->changed_ns = st.st_ctim.tv_sec * INT64_C(1000000000) + st.st_ctim.tv_nsec;
    return true;
}

int elf_reopen(const struct lull_object_file *file)
{
    struct lull_object_file now;
    const char *why;
    int fd;
    if (!file->path || lull_file_open(file->path, &fd, NULL, &why) != LULL_OPEN_DONE) {
        return -1;
    }
    if (!identify(fd, &now) || now.device != file->device || now.inode != file->inode ||
        now.size != file->size || now.changed_ns != file->changed_ns) {
        close(fd);
        return -1;
    }
    return fd;
}

char *lull_elf_build_id(int fd)
{
    struct opened opened;
    elf_version(EV_CURRENT);
    if (!elf_open(&opened, fd)) {
        return NULL;
    }
    char *id = g_steal_pointer(&opened.build_id);
    elf_shut(&opened);
    return id;
}

struct lull_object *lull_elf_read(int fd, const char *path, const struct lull_apart *apart)
{
    elf_version(EV_CURRENT);
    struct opened opened = {.file = elf_begin(fd, ELF_C_READ, NULL)};
    struct lull_object *object = lull_object_new();
    if (!elf_look(&opened, object)) {
        lull_object_free(object);
        return NULL;
    }
    if (!elf_add_first(object->table, opened.file, SHT_SYMTAB)) {
        elf_add_separate(object->table, &opened, path, apart);
    }
    elf_add_first(object->table, opened.file, SHT_DYNSYM);
    /* A file of which no function is known is no source of names. */
    if (lull_symbol_table_count(object->table) > 0) {
        elf_add_stubs(object->table, opened.file);
    }
    object->build_id = g_steal_pointer(&opened.build_id);
    if (path && identify(fd, &object->file)) {
        object->file.path = g_strdup(path);
        if (apart) {
            object->file.apart = (struct lull_apart){g_strdup(apart->root), apart->servers};
        }
    }
    elf_shut(&opened);
    lull_symbol_table_finish(object->table);
    return object;
}
