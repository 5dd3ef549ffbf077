/* SPDX-License-Identifier: MIT */
/* Addresses and what lies there: symbols are added in any order, then looked up by one binary
 * search. Of a symbol within another, the inner one is found; of several at one address, the one
 * that people know. */
#ifndef LULL_SYMBOL_TABLE_H
#define LULL_SYMBOL_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct lull_symbol_table;

struct lull_symbol_table *lull_symbol_table_new(void);
void lull_symbol_table_free(struct lull_symbol_table *table);

/* A symbol of which only the start is known (size 0) ends where the next one starts, and at `limit`
 * at the latest. Of symbols at one address the least `rank` counts, then fewer leading underscores,
 * then the shorter name. False: there are too many. */
bool lull_symbol_table_add(struct lull_symbol_table *table, uint64_t start, uint64_t size,
                           uint64_t limit, unsigned rank, const char *name, size_t length);
/* After the last is added, before the first is looked up. */
void lull_symbol_table_finish(struct lull_symbol_table *table);

/* Once it is finished: one symbol of each address, by address. */
size_t lull_symbol_table_count(const struct lull_symbol_table *table);
const char *lull_symbol_table_get(const struct lull_symbol_table *table, size_t index,
                                  uint64_t *start, uint64_t *size);
/* The symbol in which the address lies, *offset bytes after its start; NULL: in none. */
const char *lull_symbol_table_find(const struct lull_symbol_table *table, uint64_t address,
                                   uint64_t *offset);

#endif
