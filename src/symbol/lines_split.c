/* SPDX-License-Identifier: MIT */
/* The part of a unit's debug information that the compiler left in a file of its own (gcc -gsplit-dwarf): its functions,
 * without addresses, which are numbers in a table of the linked file. libdw would look for such files by names that it
 * finds, and follow them anywhere; so this part is opened here, and its addresses are read here, too. Sources: DWARF 5,
 * 2.17.3, 7.3.2 and 7.25; for DWARF 4 GCC's wiki, "DebugFission". */
#include <dwarf.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "symbol/lines_private.h"

/* All that are opened for one file together, unpacked. */
#define MOST_SPLIT_BYTES (UINT64_C(1) << 30)
/* In a list of ranges; the largest functions have some thousand. */
enum { MOST_LISTED = 1 << 16 };

/* ---- numbers ---- */

/* Bytes that are read in order; what lies beyond their end is 0, and remembered. */
struct cursor {
    const uint8_t *at, *end;
    bool is_beyond;
};

static uint64_t read_bytes(struct cursor *c, size_t n)
{
    uint64_t number = 0;
    if (n > sizeof number || (size_t)(c->end - c->at) < n) {
        c->is_beyond = true;
        return 0;
    }
    memcpy(&number, c->at,
           n); /* split units are read on machines of their byte order, see is_native() */
    c->at += n;
    return number;
}

static uint64_t read_uleb(struct cursor *c)
{
    uint64_t number = 0;
    for (unsigned shift = 0; c->at < c->end; shift += 7) {
        const uint8_t byte = *c->at++;
        number |= shift < 64 ? (uint64_t)(byte & 0x7f) << shift : 0;
        if (byte < 0x80) {
            return number;
        }
    }
    c->is_beyond = true;
    return 0;
}

static struct cursor cursor_at(const Elf_Data *data, uint64_t offset)
{
    const uint8_t *bytes = data ? data->d_buf : NULL;
    struct cursor c = {.is_beyond = !bytes || offset > data->d_size};
    if (!c.is_beyond) {
        c.at = bytes + offset;
        c.end = bytes + data->d_size;
    }
    return c;
}

/* The address with this number in the linked file's table. */
static uint64_t address_at(const struct split *split, uint64_t index, struct cursor *from)
{
    const uint64_t most = split->addresses ? split->addresses->d_size : 0;
    struct cursor c = cursor_at(index < most ? split->addresses : NULL,
                                split->address_base + index * split->address_bytes);
    const uint64_t address = read_bytes(&c, split->address_bytes);
    from->is_beyond |= c.is_beyond;
    return address;
}

/* ---- ranges ---- */

/* The bytes from the value of an attribute on. */
static struct cursor value_of(const struct split *split, const Dwarf_Attribute *attribute)
{
    const uint8_t *start = split->info ? split->info->d_buf : NULL;
    const uint8_t *end = start ? start + split->info->d_size : NULL;
    const bool is_inside = start && attribute->valp >= start && attribute->valp < end;
    return is_inside ? (struct cursor){.at = attribute->valp, .end = end}
                     : (struct cursor){.is_beyond = true};
}

/* The value of an attribute that is an address, or the number of one. */
static bool address_of(const struct split *split, const Dwarf_Attribute *attribute,
                       uint64_t *address)
{
    static const struct {
        unsigned form, bytes; /* 0 bytes: a number of any length */
    } forms[] = {{DW_FORM_addrx, 0},  {DW_FORM_GNU_addr_index, 0}, {DW_FORM_addrx1, 1},
                 {DW_FORM_addrx2, 2}, {DW_FORM_addrx3, 3},         {DW_FORM_addrx4, 4}};
    struct cursor c = value_of(split, attribute);
    if (attribute->form == DW_FORM_addr) {
        *address = read_bytes(&c, split->address_bytes);
        return !c.is_beyond;
    }
    for (size_t i = 0; i < G_N_ELEMENTS(forms); i++) {
        if (forms[i].form == attribute->form) {
            const uint64_t index = forms[i].bytes ? read_bytes(&c, forms[i].bytes) : read_uleb(&c);
            *address = address_at(split, index, &c);
            return !c.is_beyond;
        }
    }
    return false;
}

enum operand { NONE, NUMBER, INDEXED, ADDRESS };

static uint64_t read_operand(const struct split *split, struct cursor *c, enum operand kind)
{
    return kind == NUMBER    ? read_uleb(c)
           : kind == INDEXED ? address_at(split, read_uleb(c), c)
           : kind == ADDRESS ? read_bytes(c, split->address_bytes)
                             : 0;
}

/* DWARF 5. */
static bool add_list(struct spans *spans, const struct split *split, struct cursor c,
                     uint32_t number)
{
    static const enum operand operands[][2] = {
        [DW_RLE_base_addressx] = {INDEXED, NONE},   [DW_RLE_startx_endx] = {INDEXED, INDEXED},
        [DW_RLE_startx_length] = {INDEXED, NUMBER}, [DW_RLE_offset_pair] = {NUMBER, NUMBER},
        [DW_RLE_base_address] = {ADDRESS, NONE},    [DW_RLE_start_end] = {ADDRESS, ADDRESS},
        [DW_RLE_start_length] = {ADDRESS, NUMBER},
    };
    uint64_t base = split->low_address;
    bool is_any = false;
    for (unsigned n = 0; n < MOST_LISTED && !spans_are_full(spans); n++) {
        const uint64_t kind = read_bytes(&c, 1);
        if (c.is_beyond || kind == DW_RLE_end_of_list || kind >= G_N_ELEMENTS(operands)) {
            break;
        }
        const uint64_t first = read_operand(split, &c, operands[kind][0]);
        const uint64_t second = read_operand(split, &c, operands[kind][1]);
        if (c.is_beyond) {
            break;
        }
        if (operands[kind][1] == NONE) {
            base = first;
            continue;
        }
        const uint64_t start = kind == DW_RLE_offset_pair ? base + first : first;
        const uint64_t end = kind == DW_RLE_offset_pair    ? base + second
                             : operands[kind][1] == NUMBER ? first + second
                                                           : second;
        is_any |= spans_put(spans, start, end, number);
    }
    return is_any;
}

/* DWARF 4: pairs of addresses, of which the largest first one says what those after it are relative to. */
static bool add_pairs(struct spans *spans, const struct split *split, struct cursor c,
                      uint32_t number)
{
    const uint64_t largest = split->address_bytes == 8 ? UINT64_MAX : UINT32_MAX;
    uint64_t base = split->low_address;
    bool is_any = false;
    for (unsigned n = 0; n < MOST_LISTED && !spans_are_full(spans); n++) {
        const uint64_t first = read_bytes(&c, split->address_bytes);
        const uint64_t second = read_bytes(&c, split->address_bytes);
        if (c.is_beyond || (first == 0 && second == 0)) {
            break;
        }
        if (first == largest) {
            base = second;
        } else {
            is_any |= spans_put(spans, base + first, base + second, number);
        }
    }
    return is_any;
}

/* Where the list of ranges of an attribute is. */
static struct cursor list_of(const struct split *split, Dwarf_Attribute *attribute)
{
    struct cursor c = value_of(split, attribute);
    if (attribute->form != DW_FORM_rnglistx) {
        const uint64_t place = attribute->form == DW_FORM_sec_offset
                                   ? read_bytes(&c, split->offset_bytes)
                                   : read_bytes(&c, attribute->form == DW_FORM_data8 ? 8 : 4);
        return cursor_at(c.is_beyond ? NULL : split->ranges, split->range_base + place);
    }
    /* After the head of the lists is a table of where each is, from its own start on. */
    const uint64_t table = split->offset_bytes == 8 ? 20 : 12;
    const uint64_t index = read_uleb(&c);
    const uint64_t most = split->ranges ? split->ranges->d_size : 0;
    struct cursor entry = cursor_at(!c.is_beyond && index < most ? split->ranges : NULL,
                                    table + index * split->offset_bytes);
    const uint64_t place = read_bytes(&entry, split->offset_bytes);
    return cursor_at(!entry.is_beyond && place < most ? split->ranges : NULL, table + place);
}

bool split_add(struct spans *spans, const struct split *split, Dwarf_Die *die, uint32_t number)
{
    Dwarf_Attribute attribute;
    Dwarf_Word length;
    uint64_t start, end;
    if (dwarf_attr(die, DW_AT_low_pc, &attribute) && address_of(split, &attribute, &start) &&
        dwarf_attr(die, DW_AT_high_pc, &attribute)) {
        if (!address_of(split, &attribute, &end)) {
            end = dwarf_formudata(&attribute, &length) == 0 ? start + length : start;
        }
        return spans_put(spans, start, end, number);
    }
    if (!dwarf_attr(die, DW_AT_ranges, &attribute)) {
        return false;
    }
    const struct cursor list = list_of(split, &attribute);
    return !list.is_beyond && (split->version < 5 ? add_pairs(spans, split, list, number)
                                                  : add_list(spans, split, list, number));
}

/* ---- opening ---- */

/* Whether numbers in it are as this machine has them. */
static bool is_native(Elf *file)
{
    const char *ident = elf_getident(file, NULL);
    return ident && ident[EI_DATA] == (G_BYTE_ORDER == G_LITTLE_ENDIAN ? ELFDATA2LSB : ELFDATA2MSB);
}

/* The unit with this id in the file; false: there is none. */
static bool find_unit(struct split *split, uint64_t id)
{
    Dwarf_CU *unit = NULL;
    Dwarf_Die die;
    uint8_t type;
    while (dwarf_get_units(split->file.dwarf, unit, &unit, NULL, &type, &die, NULL) == 0) {
        uint64_t its;
        if (type == DW_UT_split_compile &&
            dwarf_cu_info(unit, NULL, NULL, NULL, NULL, &its, NULL, NULL) == 0 && its == id) {
            split->die = dwarf_dieoffset(&die);
            return true;
        }
    }
    return false;
}

/* What the unit in the linked file says of its other part. */
static bool read_skeleton(struct lull_lines *lines, struct split *split, Dwarf_Die *skeleton,
                          uint64_t *id)
{
    static const struct {
        unsigned name, other;
        size_t to;
    } bases[] = {{DW_AT_addr_base, DW_AT_GNU_addr_base, offsetof(struct split, address_base)},
                 {DW_AT_GNU_ranges_base, 0, offsetof(struct split, range_base)}};
    Dwarf_Attribute attribute;
    Dwarf_Half version;
    Dwarf_Addr low = 0;
    if (!is_native(lines->file.elf.file) ||
        dwarf_cu_info(skeleton->cu, &version, NULL, NULL, NULL, id, &split->address_bytes,
                      &split->offset_bytes) != 0) {
        return false;
    }
    for (size_t i = 0; i < G_N_ELEMENTS(bases); i++) {
        Dwarf_Word base = 0;
        if (dwarf_attr(skeleton, bases[i].name, &attribute) ||
            (bases[i].other && dwarf_attr(skeleton, bases[i].other, &attribute))) {
            dwarf_formudata(&attribute, &base);
        }
        *(uint64_t *)((char *)split + bases[i].to) = base;
    }
    split->version = version;
    split->low_address = dwarf_lowpc(skeleton, &low) == 0 ? low : 0;
    split->addresses = debug_file_section(&lines->file, ".debug_addr");
    return split->address_base <= (split->addresses ? split->addresses->d_size : 0);
}

/* Takes the contents of a file if it has the unit. */
static bool take(struct split *split, struct lull_lines *lines, struct opened *elf, uint64_t id)
{
    if (!is_native(elf->file) ||
        !debug_file_take(&split->file, elf, true, MOST_SPLIT_BYTES - lines->split_bytes)) {
        return false;
    }
    if (!find_unit(split, id)) {
        debug_file_give_back(&split->file, elf);
        return false;
    }
    lines->split_bytes += split->file.bytes;
    split->info = debug_file_section(&split->file, ".debug_info.dwo");
    split->ranges = split->version < 5 ? debug_file_section(&lines->file, ".debug_ranges")
                                       : debug_file_section(&split->file, ".debug_rnglists.dwo");
    return true;
}

static bool take_file(struct split *split, struct lull_lines *lines, const char *path, uint64_t id)
{
    struct opened elf;
    const char *why;
    int fd;
    if (lull_file_open(path, &fd, NULL, &why) != LULL_OPEN_DONE) {
        return false;
    }
    bool is_taken = false;
    if (elf_open(&elf, fd)) {
        is_taken = take(split, lines, &elf, id);
        elf_shut(&elf);
    }
    if (is_taken) {
        elf_cntl(split->file.elf.file, ELF_C_FDDONE);
    }
    close(fd);
    return is_taken;
}

static const char *text_of(Dwarf_Die *die, unsigned name)
{
    Dwarf_Attribute attribute;
    return dwarf_formstring(dwarf_attr(die, name, &attribute));
}

/* Where the compiler put it, or beside the program, or among the user's copies. */
static bool take_named(struct split *split, struct lull_lines *lines, Dwarf_Die *skeleton,
                       uint64_t id)
{
    const char *name = text_of(skeleton, DW_AT_dwo_name);
    name = name ? name : text_of(skeleton, DW_AT_GNU_dwo_name);
    if (!name || *name == '\0') {
        return false;
    }
    const char *directory = text_of(skeleton, DW_AT_comp_dir);
    g_autofree char *base = g_path_get_basename(name);
    const char *const folders[] = {*name == '/' ? "/" : directory, lines->folder, lines->folder,
                                   lines->root};
    const char *const names[] = {name, name, base, base};
    bool is_taken = false;
    for (size_t i = 0; !is_taken && i < G_N_ELEMENTS(folders); i++) {
        g_autofree char *path =
            folders[i] && *folders[i] == '/' ? g_build_filename(folders[i], names[i], NULL) : NULL;
        is_taken = path && take_file(split, lines, path, id);
    }
    return is_taken;
}

struct split *split_open(struct lull_lines *lines, Dwarf_Die *skeleton)
{
    struct split *split = g_new0(struct split, 1);
    uint64_t id;
    if (read_skeleton(lines, split, skeleton, &id)) {
        if (take_named(split, lines, skeleton, id)) {
            return split;
        }
        struct opened packed = package_unit(lines, id, &split->image);
        if (packed.file) {
            const bool is_taken = take(split, lines, &packed, id);
            elf_shut(&packed);
            if (is_taken) {
                return split;
            }
        }
    }
    split_free(split);
    return NULL;
}

void split_free(struct split *split)
{
    if (split) {
        debug_file_clear(&split->file);
        g_free(split->image);
        g_free(split);
    }
}
