/* SPDX-License-Identifier: MIT */
/* A table of symbols: sorted, cut where symbols overlap, so that each address lies in one piece. */
#include "symbol/table.h"

#include <string.h>

#include "base/search.h"
#include "base/vec.h"

/* The largest programs have some hundred thousands; names are numbered by 32 bits. */
#define MOST_SYMBOLS (UINT32_C(1) << 23)
#define MOST_NAME_BYTES (UINT32_C(1) << 30)
#define NO_SYMBOL UINT32_MAX

struct symbol {
    uint64_t start, end; /* end 0: where the next one starts, and at `limit` */
    uint64_t limit;
    uint32_t name; /* in names */
    uint32_t rank;
};

/* From `start` to the start of the next piece. */
struct piece {
    uint64_t start;
    uint32_t symbol; /* or NO_SYMBOL */
};

struct lull_symbol_table {
    LULL_VEC(struct symbol) symbols; /* finished: by start, one of each */
    LULL_VEC(struct piece) pieces;
    LULL_VEC(char) names;
};

struct lull_symbol_table *lull_symbol_table_new(void)
{
    return g_new0(struct lull_symbol_table, 1);
}

void lull_symbol_table_free(struct lull_symbol_table *table)
{
    if (table) {
        lull_vec_free(&table->symbols);
        lull_vec_free(&table->pieces);
        lull_vec_free(&table->names);
        g_free(table);
    }
}

bool lull_symbol_table_add(struct lull_symbol_table *table, uint64_t start, uint64_t size,
                           uint64_t limit, unsigned rank, const char *name, size_t length)
{
    if (table->symbols.count >= MOST_SYMBOLS || length >= MOST_NAME_BYTES - table->names.count) {
        return false;
    }
    lull_vec_push(&table->symbols, (struct symbol){.start = start,
                                                   .end = size > UINT64_MAX - start ? UINT64_MAX
                                                          : size > 0                ? start + size
                                                                                    : 0,
                                                   .limit = limit,
                                                   .name = (uint32_t)table->names.count,
                                                   .rank = rank});
    lull_vec_reserve(&table->names, length + 1);
    memcpy(table->names.items + table->names.count, name, length);
    table->names.count += length;
    lull_vec_push(&table->names, '\0');
    return true;
}

/* By start; of one start the best first. */
static int compare(const void *left, const void *right, void *names)
{
    const struct symbol *a = left, *b = right;
    const char *a_name = (const char *)names + a->name, *b_name = (const char *)names + b->name;
    if (a->start != b->start) {
        return a->start < b->start ? -1 : 1;
    }
    if (a->rank != b->rank) {
        return a->rank < b->rank ? -1 : 1;
    }
    const size_t a_lines = strspn(a_name, "_"), b_lines = strspn(b_name, "_");
    if (a_lines != b_lines) {
        return a_lines < b_lines ? -1 : 1;
    }
    const size_t a_length = strlen(a_name), b_length = strlen(b_name);
    return a_length != b_length ? (a_length < b_length ? -1 : 1) : strcmp(a_name, b_name);
}

/* Keeps the best of each address; it is as long as the best that says how long it is. */
static void keep_best(struct lull_symbol_table *table)
{
    struct symbol *items = table->symbols.items;
    size_t kept = 0;
    for (size_t i = 0; i < table->symbols.count; i++) {
        if (kept == 0 || items[kept - 1].start != items[i].start) {
            items[kept++] = items[i];
        } else if (items[kept - 1].end == 0) {
            items[kept - 1].end = items[i].end;
        }
    }
    table->symbols.count = kept;
    for (size_t i = 0; i < kept; i++) {
        if (items[i].end == 0) {
            const uint64_t next = i + 1 < kept ? items[i + 1].start : UINT64_MAX;
            items[i].end = MAX(MIN(next, items[i].limit), items[i].start);
        }
    }
}

static void add_piece(struct lull_symbol_table *table, uint64_t start, uint32_t symbol)
{
    const size_t n = table->pieces.count;
    if (n > 0 && table->pieces.items[n - 1].start == start) {
        table->pieces.items[n - 1].symbol = symbol;
    } else {
        lull_vec_push(&table->pieces, (struct piece){start, symbol});
    }
}

/* Where a symbol ends, the one around it goes on. */
void lull_symbol_table_finish(struct lull_symbol_table *table)
{
    LULL_VEC(uint32_t) open = {0};
    if (table->symbols.count > 0) {
        g_qsort_with_data(table->symbols.items, (int)table->symbols.count,
                          sizeof *table->symbols.items, compare, table->names.items);
    }
    keep_best(table);
    const struct symbol *symbols = table->symbols.items;
    for (uint32_t i = 0; i <= table->symbols.count; i++) {
        const uint64_t start = i < table->symbols.count ? symbols[i].start : UINT64_MAX;
        while (open.count > 0 && symbols[open.items[open.count - 1]].end <= start) {
            const uint64_t end = symbols[lull_vec_pop(&open)].end;
            while (open.count > 0 && symbols[open.items[open.count - 1]].end <= end) {
                open.count--;
            }
            add_piece(table, end, open.count > 0 ? open.items[open.count - 1] : NO_SYMBOL);
        }
        if (i < table->symbols.count) {
            add_piece(table, start, i);
            lull_vec_push(&open, i);
        }
    }
    lull_vec_free(&open);
}

size_t lull_symbol_table_count(const struct lull_symbol_table *table)
{
    return table->symbols.count;
}

const char *lull_symbol_table_get(const struct lull_symbol_table *table, size_t index,
                                  uint64_t *start, uint64_t *size)
{
    const struct symbol *symbol = &table->symbols.items[index];
    *start = symbol->start;
    *size = symbol->end - symbol->start;
    return table->names.items + symbol->name;
}

const char *lull_symbol_table_find(const struct lull_symbol_table *table, uint64_t address,
                                   uint64_t *offset)
{
    const size_t after =
        LULL_LOWER_BOUND(i, table->pieces.count, table->pieces.items[i].start <= address);
    if (after == 0 || table->pieces.items[after - 1].symbol == NO_SYMBOL) {
        return NULL;
    }
    const struct symbol *symbol = &table->symbols.items[table->pieces.items[after - 1].symbol];
    *offset = address - symbol->start;
    return table->names.items + symbol->name;
}
