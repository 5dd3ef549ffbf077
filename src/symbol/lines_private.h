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
};

/* Takes the contents of an open file, if it has debug information. libdw has read them: the file may be closed. */
bool debug_file_take(struct debug_file *file, struct opened *elf, bool is_shared);
/* The contents are the caller's again, and the file is cleared. */
void debug_file_give_back(struct debug_file *file, struct opened *elf);
/* Opens the file that several share (made by dwz), if `file`, at `path`, needs one; before anything else is read.
 * False: it is not there. */
bool debug_file_take_shared(struct debug_file *shared, const struct debug_file *file,
                            const char *path, const char *debug_root);
void debug_file_clear(struct debug_file *file);
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
};

struct unit {
    Dwarf_Off die;
    bool is_read;
    LULL_VEC(struct scope) scopes;
    struct spans spans; /* of the scopes */
};

struct lull_lines {
    struct debug_file file, shared;
    LULL_VEC(struct unit) units;
    struct spans spans; /* of the units */
    GStringChunk *texts;
    int64_t spent_us; /* on units */
};

/* Adds what the DIE covers. False: it covers nothing, or there is too much. */
bool spans_add(struct spans *spans, Dwarf_Die *die, uint32_t number);
/* After the last, before the first is found. */
void spans_finish(struct spans *spans);
/* The number of the innermost, or LULL_NO_RANGE. */
uint32_t spans_find(const struct spans *spans, uint64_t address);
void spans_clear(struct spans *spans);

/* Reads the functions of a unit, once. */
void unit_read(struct lull_lines *lines, struct unit *unit);
void unit_clear(struct unit *unit);

#endif
