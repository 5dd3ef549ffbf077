/* SPDX-License-Identifier: MIT */
/* Finds the unit of an address, the functions that it is in, and what their sources say. */
#include "symbol/lines.h"

#include <dwarf.h>
#include <string.h>
#include <unistd.h>

#include "symbol/lines_private.h"

/* The largest programs have some ten thousands. */
#define MOST_UNITS (UINT32_C(1) << 20)

/* ---- opening ---- */

/* A search for debug information; what is found is in `file`. */
struct search {
    struct debug_file file, shared;
    const char *debug_root;
    char *at; /* of the file */
};

static bool take(void *user, struct opened *elf, const char *at)
{
    struct search *search = user;
    if (!debug_file_take(&search->file, elf, false, UINT64_MAX)) {
        return false;
    }
    if (!debug_file_take_shared(&search->shared, &search->file, at, search->debug_root)) {
        debug_file_give_back(&search->file, elf);
        return false;
    }
    search->at = g_strdup(at);
    return true;
}

static bool find_file(const struct lull_object *object, struct search *search)
{
    const struct lull_object_file *file = &object->file;
    struct opened opened;
    const int fd = elf_reopen(file);
    bool is_found = false;
    search->debug_root = file->apart.root;
    if (fd < 0) {
        return false;
    }
    elf_version(EV_CURRENT);
    if (elf_open(&opened, fd)) {
        is_found = take(search, &opened, file->path) ||
                   elf_try_separate(&opened, file->path, &file->apart, take, search) ||
                   elf_try_servers(&opened, &file->apart, take, search);
        elf_shut(&opened);
    }
    close(fd);
    return is_found;
}

static bool is_unit(Dwarf_Die *die)
{
    const int tag = dwarf_tag(die);
    return tag == DW_TAG_compile_unit || tag == DW_TAG_skeleton_unit;
}

/* Of a unit whose functions are in a file of their own (gcc -gsplit-dwarf) the lines are here. */
static bool is_split(Dwarf_Die *die)
{
    return dwarf_tag(die) == DW_TAG_skeleton_unit || dwarf_hasattr(die, DW_AT_GNU_dwo_name) ||
           dwarf_hasattr(die, DW_AT_dwo_name);
}

static void find_units(struct lull_lines *lines)
{
    Dwarf_Off at = 0, next;
    size_t head;
    Dwarf_Die die;
    while (lines->units.count < MOST_UNITS &&
           dwarf_next_unit(lines->file.dwarf, at, &next, &head, NULL, NULL, NULL, NULL, NULL,
                           NULL) == 0) {
        if (dwarf_offdie(lines->file.dwarf, at + head, &die) && is_unit(&die) &&
            spans_add(&lines->spans, &die, (uint32_t)lines->units.count)) {
            const struct unit unit = {.die = at + head, .is_split = is_split(&die)};
            lull_vec_push(&lines->units, unit);
        }
        at = next;
    }
    spans_finish(&lines->spans);
}

struct lull_lines *lull_lines_new(const struct lull_object *object)
{
    struct search search = {.debug_root = NULL};
    if (!find_file(object, &search)) {
        return NULL;
    }
    /* Their descriptors are closed by now; what was not read is not needed. */
    elf_cntl(search.file.elf.file, ELF_C_FDDONE);
    if (search.shared.dwarf) {
        elf_cntl(search.shared.elf.file, ELF_C_FDDONE);
    }
    struct lull_lines *lines = g_new0(struct lull_lines, 1);
    lines->file = search.file;
    lines->shared = search.shared;
    lines->of = g_strdup(object->file.path);
    lines->at = search.at;
    lines->folder = g_path_get_dirname(object->file.path);
    lines->root = g_strdup(object->file.apart.root);
    lines->texts = g_string_chunk_new(4096);
    find_units(lines);
    return lines;
}

void lull_lines_free(struct lull_lines *lines)
{
    if (lines) {
        for (size_t i = 0; i < lines->units.count; i++) {
            unit_clear(&lines->units.items[i]);
        }
        lull_vec_free(&lines->units);
        spans_clear(&lines->spans);
        g_string_chunk_free(lines->texts);
        debug_file_clear(&lines->file);
        debug_file_clear(&lines->shared);
        elf_shut(&lines->package);
        g_free(lines->of);
        g_free(lines->at);
        g_free(lines->folder);
        g_free(lines->root);
        g_free(lines);
    }
}

/* ---- sources ---- */

/* Whether a relative path leads out of where it starts. */
static bool leads_out(const char *path)
{
    int depth = 0;
    while (*path && depth >= 0) {
        const size_t n = strcspn(path, "/");
        depth += n == 0 || (n == 1 && *path == '.')     ? 0
                 : n == 2 && memcmp(path, "..", 2) == 0 ? -1
                                                        : 1;
        path += n + (path[n] == '/');
    }
    return depth < 0;
}

/* Below the directory of the unit unless it is absolute, without "." and "..". Both are relative if the compiler was
 * told to leave out where the sources were (gcc -ffile-prefix-map). */
static const char *keep_path(struct lull_lines *lines, Dwarf_Die *unit, const char *path)
{
    Dwarf_Attribute attribute;
    const char *directory =
        *path != '/' ? dwarf_formstring(dwarf_attr(unit, DW_AT_comp_dir, &attribute)) : NULL;
    const size_t n = directory ? strlen(directory) : 0;
    /* In DWARF 5 that directory is the first of those of the files, and part of the path then. */
    const bool is_placed = n == 0 || (strncmp(path, directory, n) == 0 && path[n] == '/');
    g_autofree char *below = is_placed ? NULL : g_build_filename(directory, path, NULL);
    const char *joined = below ? below : path;
    g_autofree char *whole = g_canonicalize_filename(joined, "/");
    return g_string_chunk_insert_const(lines->texts, *joined == '/'      ? whole
                                                     : leads_out(joined) ? joined
                                                                         : whole + 1);
}

/* The debug information that a unit is part of. */
static struct debug_file *file_of(struct lull_lines *lines, Dwarf_CU *unit)
{
    Dwarf *dwarf = dwarf_cu_getdwarf(unit);
    return dwarf == lines->file.dwarf     ? &lines->file
           : dwarf == lines->shared.dwarf ? &lines->shared
                                          : NULL;
}

/* The file with the number that an attribute has, of the unit that has the attribute; if that is split, its part in the
 * linked file has the files. */
static const char *numbered_file(struct lull_lines *lines, const struct unit *of,
                                 Dwarf_Attribute *attribute)
{
    Dwarf_Die unit;
    Dwarf_Files *files;
    Dwarf_Word number;
    size_t n;
    if (!attribute || dwarf_formudata(attribute, &number) != 0 ||
        !(of->split ? dwarf_offdie(lines->file.dwarf, of->die, &unit)
                    : dwarf_cu_die(attribute->cu, &unit, NULL, NULL, NULL, NULL, NULL, NULL))) {
        return NULL;
    }
    struct debug_file *file = file_of(lines, unit.cu);
    if (!file || !debug_file_has_lines(file, &unit) || dwarf_getsrcfiles(&unit, &files, &n) != 0 ||
        number >= n) {
        return NULL;
    }
    const char *path = dwarf_filesrc(files, number, NULL, NULL);
    return path ? keep_path(lines, &unit, path) : NULL;
}

static uint32_t line_number(Dwarf_Attribute *attribute)
{
    Dwarf_Word line;
    return attribute && dwarf_formudata(attribute, &line) == 0 && line <= INT32_MAX ? (uint32_t)line
                                                                                    : 0;
}

/* What the program of lines says of an address. */
static struct lull_source_line line_of(struct lull_lines *lines, Dwarf_Die *unit, uint64_t address)
{
    struct lull_source_line at = {.file = NULL};
    int number;
    Dwarf_Line *line =
        debug_file_has_lines(&lines->file, unit) ? dwarf_getsrc_die(unit, address) : NULL;
    const char *path = line ? dwarf_linesrc(line, NULL, NULL) : NULL;
    if (path && dwarf_lineno(line, &number) == 0) {
        at.file = keep_path(lines, unit, path);
        at.line = number > 0 ? (uint32_t)number : 0;
    }
    return at;
}

/* ---- functions ---- */

static const char *name_of(Dwarf_Die *die)
{
    static const unsigned names[] = {DW_AT_linkage_name, DW_AT_MIPS_linkage_name, DW_AT_name};
    Dwarf_Attribute attribute;
    for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
        const char *name = dwarf_formstring(dwarf_attr_integrate(die, names[i], &attribute));
        if (name && *name) {
            return name;
        }
    }
    return NULL;
}

static void describe(struct lull_lines *lines, const struct unit *unit, Dwarf_Die *die,
                     struct lull_code *code)
{
    Dwarf_Attribute attribute;
    code->function = name_of(die);
    code->start.file =
        numbered_file(lines, unit, dwarf_attr_integrate(die, DW_AT_decl_file, &attribute));
    code->start.line = line_number(dwarf_attr_integrate(die, DW_AT_decl_line, &attribute));
}

static struct lull_source_line call_of(struct lull_lines *lines, const struct unit *unit,
                                       Dwarf_Die *die)
{
    Dwarf_Attribute attribute;
    return (struct lull_source_line){
        .file = numbered_file(lines, unit, dwarf_attr(die, DW_AT_call_file, &attribute)),
        .line = line_number(dwarf_attr(die, DW_AT_call_line, &attribute)),
    };
}

uint32_t lull_lines_find(struct lull_lines *lines, uint64_t address,
                         struct lull_code code[LULL_MOST_INLINED])
{
    const uint32_t number = spans_find(&lines->spans, address);
    Dwarf_Die die;
    uint32_t n = 0;
    if (number == LULL_NO_RANGE ||
        !dwarf_offdie(lines->file.dwarf, lines->units.items[number].die, &die)) {
        return 0;
    }
    struct unit *unit = &lines->units.items[number];
    struct lull_source_line at = line_of(lines, &die, address);
    unit_read(lines, unit);
    Dwarf_Off unused;
    Dwarf *dwarf = unit_dwarf(lines, unit, &unused);
    uint32_t scope = spans_find(&unit->spans, address);
    bool is_inlined = true;
    while (scope != LULL_NO_RANGE && is_inlined && n < LULL_MOST_INLINED &&
           dwarf_offdie(dwarf, unit->scopes.items[scope].die, &die)) {
        is_inlined = unit->scopes.items[scope].is_inlined;
        code[n] = (struct lull_code){.at = at};
        describe(lines, unit, &die, &code[n++]);
        at = call_of(lines, unit, &die);
        scope = unit->scopes.items[scope].outer;
    }
    if (n == 0 && at.file) {
        code[n++] = (struct lull_code){.at = at};
    }
    return n;
}
