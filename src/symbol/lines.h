/* SPDX-License-Identifier: MIT */
/* Lines of source code, and calls that the compiler put in line, from the debug information (DWARF) of a file. It is
 * read for the addresses that are asked about, as far as these need it. */
#ifndef LULL_SYMBOL_LINES_H
#define LULL_SYMBOL_LINES_H

#include <stdint.h>

struct lull_lines;
struct lull_object;

/* More calls in line are not shown: the outermost are left out. */
#define LULL_MOST_INLINED 64u

/* Texts last as long as the struct lull_lines. */
struct lull_source_line {
    const char *
        file; /* absolute, unless the compiler was given a relative path and no directory; NULL: not known */
    uint32_t line; /* from 1 on; 0: not known */
};

/* "server.c:120", the file without its directories; to be freed with g_free(). NULL: it is not known. */
char *lull_source_line_text(const struct lull_source_line *line);

/* What one address is of. */
struct lull_code {
    struct lull_source_line
        at; /* the address itself; of a function around calls in line: where it calls */
    struct lull_source_line start; /* where the function is declared */
    const char *function;          /* as the compiler names it; NULL: not known */
};

/* The debug information of the file that the object was read from, or of the file apart that has it. NULL: there is
 * none, it is damaged, or Lull is built without libdw. */
struct lull_lines *lull_lines_new(const struct lull_object *object);
void lull_lines_free(struct lull_lines *lines);

/* What is known of an address, as symbols have them: the innermost function first, then those that it was put in
 * line into; the last is the one that has a symbol. Returns their number, at most LULL_MOST_INLINED; 0: nothing. */
uint32_t lull_lines_find(struct lull_lines *lines, uint64_t address,
                         struct lull_code code[LULL_MOST_INLINED]);

#endif
