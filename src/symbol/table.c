/* SPDX-License-Identifier: MIT */
/* A table of symbols: sorted, cut where symbols overlap, so that each address lies in one piece. */
#include "symbol/table.h"

#include <string.h>

#include "base/vec.h"
#include "symbol/pieces.h"

/* The largest programs have some hundred thousands; names are numbered by 32 bits. */
#define MOST_SYMBOLS (UINT32_C(1) << 23)
#define MOST_NAME_BYTES (UINT32_C(1) << 30)

struct symbol {
    uint64_t start, end; /* end 0: where the next one starts, and at `limit` */
    uint64_t limit;
    uint32_t name; /* in names */
    uint32_t rank;
};

struct lull_symbol_table {
    LULL_VEC(struct symbol) symbols; /* finished: by start, one of each */
    struct lull_pieces pieces;
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
        lull_pieces_free(&table->pieces);
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

/* Names within a library for functions that it exports (the GNU C library has some thousand) come last. */
static size_t oddness(const char *name)
{
    return g_str_has_prefix(name, "__GI_") ? 100 : strspn(name, "_");
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
    const size_t a_odd = oddness(a_name), b_odd = oddness(b_name);
    if (a_odd != b_odd) {
        return a_odd < b_odd ? -1 : 1;
    }
    const size_t a_length = strlen(a_name), b_length = strlen(b_name);
    return a_length != b_length ? (a_length < b_length ? -1 : 1) : strcmp(a_name, b_name);
}

/* The number of the next symbol that starts before the one that it follows; or n. */
static size_t end_of_run(const struct symbol *items, size_t from, size_t n)
{
    size_t end = from + 1;
    while (end < n && items[end - 1].start <= items[end].start) {
        end++;
    }
    return MIN(end, n);
}

/* Puts items[middle…end] among items[0…middle], both in order of their starts; `room` is for the first. */
static void merge(struct symbol *items, size_t middle, size_t end, struct symbol *room)
{
    size_t from = middle, a = 0;
    while (from > 0 && items[from - 1].start > items[middle].start) {
        from--;
    }
    const size_t n = middle - from;
    memcpy(room, items + from, n * sizeof *items);
    for (size_t b = middle, to = from; a < n; to++) {
        items[to] = b == end || room[a].start <= items[b].start ? room[a++] : items[b++];
    }
}

static void sort_range(struct lull_symbol_table *table, size_t first, size_t n)
{
    if (n > 1) {
        g_qsort_with_data(table->symbols.items + first, (int)n, sizeof *table->symbols.items,
                          compare, table->names.items);
    }
}

/* The list of the kernel's functions is in order of their starts, but for a few places: what is in order is merged,
 * and then only those of one start are sorted. */
static void sort(struct lull_symbol_table *table)
{
    enum { MOST_RUNS = 8 };
    struct symbol *items = table->symbols.items;
    const size_t n = table->symbols.count;
    unsigned n_runs = 0;
    for (size_t at = 0; at < n && n_runs <= MOST_RUNS; at = end_of_run(items, at, n)) {
        n_runs++;
    }
    if (n_runs > MOST_RUNS) {
        sort_range(table, 0, n);
        return;
    }
    g_autofree struct symbol *room = g_new(struct symbol, MAX(n, 1));
    for (size_t middle = end_of_run(items, 0, n); middle < n;) {
        const size_t end = end_of_run(items, middle, n);
        merge(items, middle, end, room);
        middle = end;
    }
    for (size_t first = 0, end; first < n; first = end) {
        for (end = first + 1; end < n && items[end].start == items[first].start;) {
            end++;
        }
        sort_range(table, first, end - first);
    }
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

void lull_symbol_table_finish(struct lull_symbol_table *table)
{
    sort(table);
    keep_best(table);
    const size_t n = table->symbols.count;
    g_autofree struct lull_range *ranges = g_new(struct lull_range, MAX(n, 1));
    for (size_t i = 0; i < n; i++) {
        ranges[i] = (struct lull_range){table->symbols.items[i].start, table->symbols.items[i].end};
    }
    lull_pieces_cut(&table->pieces, ranges, n);
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
    const uint32_t found = lull_pieces_find(&table->pieces, address);
    if (found == LULL_NO_RANGE) {
        return NULL;
    }
    const struct symbol *symbol = &table->symbols.items[found];
    *offset = address - symbol->start;
    return table->names.items + symbol->name;
}
