/* SPDX-License-Identifier: MIT */
/* Debug information, for what finds units and lines in it, what reads functions, and what opens files of it. */
#ifndef LULL_SYMBOL_LINES_PRIVATE_H
#define LULL_SYMBOL_LINES_PRIVATE_H

#include <elfutils/libdw.h>
#include <glib.h>
#include <stdbool.h>

#include "base/map.h"
#include "base/vec.h"
#include "symbol/elf_private.h"
#include "symbol/lines.h"
#include "symbol/pieces.h"

/* ---- files (lines_file.c) ---- */

/* A file of debug information. */
struct debug_file {
    struct opened elf;
    Dwarf *dwarf;
    const Elf_Data *lines;  /* the section .debug_line; NULL: none */
    GHashTable *programs;   /* offsets of what was read of it */
    uint64_t program_bytes; /* of these together */
    uint64_t bytes;         /* of debug information, unpacked */
};

/* Takes the contents of an open file, if it has debug information, unpacked at most so much. libdw has read them: the
 * file may be closed. */
bool debug_file_take(struct debug_file *file, struct opened *elf, bool is_shared,
                     uint64_t most_bytes);
/* The contents are the caller's again, and the file is cleared. */
void debug_file_give_back(struct debug_file *file, struct opened *elf);
/* Opens the file that several share (made by dwz), if `file`, at `path`, needs one; before anything else is read.
 * False: it is not there. */
bool debug_file_take_shared(struct debug_file *shared, const struct debug_file *file,
                            const char *path, const char *debug_root);
void debug_file_clear(struct debug_file *file);
/* The contents of a section of it; NULL: it has none. */
const Elf_Data *debug_file_section(const struct debug_file *file, const char *name);
const Elf_Data *elf_section(Elf *file, const char *name);
/* Whether the lines of the unit have a size that units have, together with all that were asked for. */
bool debug_file_has_lines(struct debug_file *file, Dwarf_Die *unit);

/* ---- functions of a unit (lines_unit.c) ---- */

/* A function, or a call of one that was put in line. */
struct scope {
    Dwarf_Off die;
    uint32_t outer; /* a smaller number, or LULL_NO_RANGE */
    bool is_inlined;
};

/* Ranges of addresses and the numbers of what has them. */
struct spans {
    LULL_VEC(struct lull_range) ranges;
    LULL_VEC(uint32_t) of; /* of each range */
    struct lull_pieces pieces;
    uint32_t n_seen; /* ranges that were read, also those that cover nothing */
};

/* The part of a unit that is in a file of its own. */
struct split {
    struct debug_file file;
    void *image; /* in which the file is, if it was put together; else NULL */
    Dwarf_Off die;
    const Elf_Data *info;                           /* of the file */
    const Elf_Data *addresses, *ranges;             /* of the linked file; of either */
    uint64_t address_base, range_base, low_address; /* where they start, for this unit */
    unsigned version;                               /* of DWARF */
    uint8_t address_bytes, offset_bytes;
};

struct unit {
    Dwarf_Off die;
    bool is_read, is_split;
    struct split *split; /* once it is read; NULL: there is none, or it is not here */
    LULL_VEC(struct scope) scopes;
    struct spans spans; /* of the scopes */
};

struct lull_lines {
    struct debug_file file, shared;
    LULL_VEC(struct unit) units;
    struct spans spans; /* of the units */
    GStringChunk *texts;
    char *of, *at,
        *folder; /* the linked file, that of its debug information, and where the first is */
    char *root;  /* below which there may be more; NULL: nothing */
    bool has_looked_for_package;
    struct opened package; /* of split units; its file is NULL if there is none */
    uint64_t split_bytes;  /* of all that were taken, unpacked */
    int64_t spent_us;      /* on units */
};

/* Adds what the DIE covers. False: it covers nothing, or there is too much. */
bool spans_add(struct spans *spans, Dwarf_Die *die, uint32_t number);
/* The same of [start, end). */
bool spans_put(struct spans *spans, uint64_t start, uint64_t end, uint32_t number);
bool spans_are_full(const struct spans *spans);
/* After the last, before the first is found. */
void spans_finish(struct spans *spans);
/* The number of the innermost, or LULL_NO_RANGE. */
uint32_t spans_find(const struct spans *spans, uint64_t address);
void spans_clear(struct spans *spans);

/* Reads the functions of a unit, once. */
void unit_read(struct lull_lines *lines, struct unit *unit);
void unit_clear(struct unit *unit);
/* The debug information that has the functions of a unit, and where its entry is in that. */
Dwarf *unit_dwarf(const struct lull_lines *lines, const struct unit *unit, Dwarf_Off *die);

/* ---- units in files of their own (lines_split.c, lines_package.c) ---- */

/* The part of the unit that this one, in the linked file, stands for; NULL: it is not here. */
struct split *split_open(struct lull_lines *lines, Dwarf_Die *skeleton);
void split_free(struct split *split);
/* spans_add() for its entries. */
bool split_add(struct spans *spans, const struct split *split, Dwarf_Die *die, uint32_t number);
/* The unit with this id in the package of the linked file, as a file in *image, which the caller frees after it; its
 * file is NULL if there is none. */
struct opened package_unit(struct lull_lines *lines, uint64_t id, void **image);

#endif
