/* SPDX-License-Identifier: MIT */
/* Finds the functions in sections of call frame information. */
#include "unwind/cfi.h"

#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "unwind/private.h"

/* The largest libraries have some hundred thousand. */
#define MOST_FUNCTIONS (UINT32_C(1) << 22)
#define MOST_COMMONS (UINT32_C(1) << 20)
/* Of an augmentation; compilers use up to five. */
#define MOST_LETTERS 16u
/* Rows are kept for so many addresses; a program that is sampled at more gets slower. */
#define MOST_ROWS (UINT32_C(1) << 20)

/* Encodings of addresses: the low half says the form, the high half what they count from. */
enum encoding {
    FORM_ABSOLUTE = 0,
    FORM_ULEB = 1,
    FORM_U16 = 2,
    FORM_U32 = 3,
    FORM_U64 = 4,
    FORM_SIGNED = 8, /* with the four before */
    FROM_ZERO = 0,
    FROM_HERE = 0x10,
    ENCODING_NONE = 0xff,
};

struct lull_cfi *lull_cfi_new(const struct lull_unwind_machine *machine)
{
    struct lull_cfi *cfi = g_new0(struct lull_cfi, 1);
    cfi->machine = machine;
    return cfi;
}

void lull_cfi_free(struct lull_cfi *cfi)
{
    if (!cfi) {
        return;
    }
    for (size_t i = 0; i < cfi->sections.count; i++) {
        g_free(cfi->sections.items[i].data);
    }
    lull_vec_free(&cfi->sections);
    lull_vec_free(&cfi->commons);
    lull_vec_free(&cfi->functions);
    lull_vec_free(&cfi->rows);
    lull_vec_free(&cfi->rules);
    lull_map_free(&cfi->rows_by_address);
    g_free(cfi);
}

const struct lull_unwind_machine *lull_cfi_machine(const struct lull_cfi *cfi)
{
    return cfi->machine;
}

const uint8_t *lull_cfi_section(const struct lull_cfi *cfi, size_t number, size_t *size,
                                uint64_t *address, bool *is_debug)
{
    if (number >= cfi->sections.count) {
        return NULL;
    }
    const struct cfi_section *section = &cfi->sections.items[number];
    *size = section->size;
    *address = section->address;
    *is_debug = section->is_debug;
    return section->data;
}

static uint64_t word_mask(const struct lull_cfi *cfi)
{
    return cfi->machine->word_bytes == 8 ? UINT64_MAX : UINT32_MAX;
}

uint64_t cfi_take_address(struct cfi_cursor *c, const struct lull_cfi *cfi, uint8_t encoding,
                          uint64_t address)
{
    const uint8_t form = encoding & 0x0f, from = encoding & 0xf0;
    const bool is_signed = (form & FORM_SIGNED) != 0;
    unsigned bytes = 0;
    switch (form & ~FORM_SIGNED) {
    case FORM_ABSOLUTE:
        bytes = cfi->machine->word_bytes;
        break;
    case FORM_U16:
        bytes = 2;
        break;
    case FORM_U32:
        bytes = 4;
        break;
    case FORM_U64:
        bytes = 8;
        break;
    default:
        c->is_bad |= (form & ~FORM_SIGNED) != FORM_ULEB;
        break;
    }
    /* Others count from sections that .eh_frame does not name, or lie in memory. */
    c->is_bad |= from != FROM_ZERO && from != FROM_HERE;
    uint64_t value = bytes == 0  ? cfi_take_leb(c, is_signed)
                     : is_signed ? (uint64_t)cfi_take_signed(c, bytes)
                                 : cfi_take(c, bytes);
    return (from == FROM_HERE ? value + address : value) & word_mask(cfi);
}

/* ---- what functions have in common ---- */

/* What the letters of an augmentation say, after its 'z'. */
static void take_augmentation(struct cfi_cursor *c, const struct lull_cfi *cfi, const char *letters,
                              struct cfi_common *common)
{
    const uint64_t size = cfi_take_leb(c, false);
    struct cfi_cursor data = *c;
    const uint8_t *start = cfi_skip(c, size);
    common->has_data = true;
    data.end = start ? c->at : data.at;
    for (; *letters && !data.is_bad; letters++) {
        if (*letters == 'R') {
            common->encoding = (uint8_t)cfi_take(&data, 1);
        } else if (*letters == 'P') {
            const uint8_t encoding = (uint8_t)cfi_take(&data, 1);
            if (encoding != ENCODING_NONE) { /* it is of no use here, and may count from anything */
                cfi_take_address(&data, cfi, encoding & 0x0f, 0);
            }
        } else if (*letters == 'L') {
            cfi_skip(&data, 1);
        } else if (*letters == 'S') {
            common->is_signal = true;
        } else if (*letters != 'B') { /* what follows is not known; the size tells where it ends */
            break;
        }
    }
    c->is_bad |= data.is_bad;
}

static struct cfi_common read_common(const struct lull_cfi *cfi, struct cfi_cursor c, bool is_debug)
{
    struct cfi_common common = {.encoding = FORM_ABSOLUTE};
    const uint8_t version = (uint8_t)cfi_take(&c, 1);
    const char *letters = (const char *)c.at;
    const uint8_t *end = memchr(c.at, 0, MIN((size_t)(c.end - c.at), MOST_LETTERS));
    if (!end || (version != 1 && version != 3 && !(version == 4 && is_debug))) {
        return common;
    }
    c.at = end + 1;
    if (version == 4) {
        c.is_bad |= cfi_take(&c, 1) != cfi->machine->word_bytes; /* of addresses */
        c.is_bad |= cfi_take(&c, 1) != 0;                        /* of selectors of segments */
    }
    common.code_factor = cfi_take_leb(&c, false);
    common.data_factor = (int64_t)cfi_take_leb(&c, true);
    const uint64_t number = version == 1 ? cfi_take(&c, 1) : cfi_take_leb(&c, false);
    common.return_address = (uint8_t)number;
    if (*letters == 'z') {
        take_augmentation(&c, cfi, letters + 1, &common);
    } else if (*letters != '\0') {
        return common;
    }
    common.program = c.at;
    common.end = c.end;
    common.is_good = !c.is_bad && number < cfi->machine->n_registers;
    return common;
}

/* ---- functions ---- */

/* The entry of a section that a cursor is at; it goes to the next. */
struct entry {
    struct cfi_cursor body; /* after `id` */
    const uint8_t *at, *id_at;
    uint64_t id;
};

static bool next_entry(struct cfi_cursor *c, const struct cfi_section *section, struct entry *entry)
{
    while (c->at < c->end && !c->is_bad) {
        entry->at = c->at;
        uint64_t size = cfi_take(c, 4);
        const bool is_long = size == UINT32_MAX;
        if (is_long) {
            size = cfi_take(c, 8);
        }
        const uint8_t *start = c->at;
        if (size == 0) { /* an end, behind which there may be more */
            continue;
        }
        if (!cfi_skip(c, size)) {
            return false;
        }
        entry->body = (struct cfi_cursor){start, c->at, false};
        entry->id_at = start;
        entry->id = cfi_take(&entry->body, is_long && section->is_debug ? 8 : 4);
        if (section->is_debug && !is_long && entry->id == UINT32_MAX) {
            entry->id = UINT64_MAX;
        }
        if (!entry->body.is_bad) {
            return true;
        }
    }
    return false;
}

static bool is_common(const struct cfi_section *section, const struct entry *entry)
{
    return entry->id == (section->is_debug ? UINT64_MAX : 0);
}

/* What the function has in common with others; LULL_MAP_NONE: nothing that makes sense. */
static uint32_t common_of(struct lull_cfi *cfi, const struct cfi_section *section,
                          const struct entry *entry, struct lull_map *known)
{
    const uint64_t here = (uint64_t)(entry->id_at - section->data);
    const uint64_t at = section->is_debug ? entry->id : here - entry->id;
    if (at >= section->size) {
        return LULL_MAP_NONE;
    }
    uint32_t index = lull_map_find(known, at);
    if (index != LULL_MAP_NONE || cfi->commons.count >= MOST_COMMONS) {
        return index;
    }
    struct cfi_cursor c = {section->data + at, section->data + section->size, false};
    struct entry other;
    struct cfi_common common = {.is_good = false};
    const bool is_empty = section->size - at < 4 || lull_load_u32(section->data + at, false) == 0;
    if (!is_empty && next_entry(&c, section, &other) && is_common(section, &other)) {
        common = read_common(cfi, other.body, section->is_debug);
    }
    index = (uint32_t)cfi->commons.count;
    lull_vec_push(&cfi->commons, common);
    lull_map_insert(known, at, index);
    return index;
}

static void add_function(struct lull_cfi *cfi, const struct cfi_section *section,
                         struct entry *entry, struct lull_map *known)
{
    const uint32_t index = common_of(cfi, section, entry, known);
    const struct cfi_common *common = index == LULL_MAP_NONE ? NULL : &cfi->commons.items[index];
    struct cfi_cursor *c = &entry->body;
    if (!common || !common->is_good || cfi->functions.count >= MOST_FUNCTIONS) {
        return;
    }
    const uint64_t here = section->address + (uint64_t)(c->at - section->data);
    struct cfi_function function = {.common = index, .number = (uint32_t)cfi->functions.count};
    function.start = cfi_take_address(c, cfi, common->encoding, here);
    const uint64_t length = cfi_take_address(c, cfi, common->encoding & 0x07, 0);
    if (common->has_data) {
        cfi_skip(c, cfi_take_leb(c, false));
    }
    if (c->is_bad || length == 0 || length > UINT64_MAX - function.start) {
        return;
    }
    function.end = function.start + length;
    function.program = c->at;
    function.program_end = c->end;
    lull_vec_push(&cfi->functions, function);
}

void lull_cfi_add(struct lull_cfi *cfi, uint8_t *data, size_t size, uint64_t address, bool is_debug)
{
    const struct cfi_section section = {data, size, address, is_debug};
    struct lull_map known = {0};
    struct entry entry;
    if (size == 0) {
        g_free(data);
        return;
    }
    struct cfi_cursor c = {data, data + size, false};
    lull_vec_push(&cfi->sections, section);
    while (next_entry(&c, &section, &entry)) {
        if (!is_common(&section, &entry)) {
            add_function(cfi, &section, &entry, &known);
        }
    }
    lull_map_free(&known);
}

static int by_start(const void *left, const void *right)
{
    const struct cfi_function *a = left, *b = right;
    return a->start != b->start ? (a->start < b->start ? -1 : 1)
                                : (a->number > b->number) - (a->number < b->number);
}

size_t lull_cfi_finish(struct lull_cfi *cfi)
{
    struct cfi_function *all = cfi->functions.items;
    size_t n = 0;
    if (cfi->functions.count > 1) {
        qsort(all, cfi->functions.count, sizeof *all, by_start);
    }
    for (size_t i = 0; i < cfi->functions.count; i++) {
        if (n == 0 || all[n - 1].start != all[i].start) {
            all[n++] = all[i];
        }
    }
    cfi->functions.count = n;
    return n;
}

/* ---- rows ---- */

static const struct cfi_function *function_at(const struct lull_cfi *cfi, uint64_t address)
{
    const size_t behind =
        LULL_LOWER_BOUND(i, cfi->functions.count, cfi->functions.items[i].start <= address);
    const struct cfi_function *function = behind > 0 ? &cfi->functions.items[behind - 1] : NULL;
    return function && address < function->end ? function : NULL;
}

static uint32_t add_row(struct lull_cfi *cfi, uint64_t address)
{
    const struct cfi_function *function = function_at(cfi, address);
    struct lull_cfi_row row = {.frame.kind = LULL_CFI_UNDEFINED};
    if (cfi->rows.count >= MOST_ROWS) {
        cfi->rows.count = cfi->rules.count = 0;
        lull_map_clear(&cfi->rows_by_address);
    }
    if (!function || !cfi_run(cfi, function, address, &row)) {
        row.frame.kind = LULL_CFI_UNDEFINED;
    }
    const uint32_t index = (uint32_t)cfi->rows.count;
    lull_vec_push(&cfi->rows, row);
    lull_map_insert(&cfi->rows_by_address, address, index);
    return index;
}

const struct lull_cfi_row *lull_cfi_find(struct lull_cfi *cfi, uint64_t address)
{
    uint32_t index = lull_map_find(&cfi->rows_by_address, address);
    if (index == LULL_MAP_NONE) {
        index = add_row(cfi, address);
    }
    const struct lull_cfi_row *row = &cfi->rows.items[index];
    return row->frame.kind == LULL_CFI_UNDEFINED ? NULL : row;
}

const struct lull_cfi_rule *lull_cfi_rules(const struct lull_cfi *cfi,
                                           const struct lull_cfi_row *row)
{
    return cfi->rules.items + row->first;
}
