/* SPDX-License-Identifier: MIT */
/* The functions of a unit of debug information, and the calls in them that were put in line: which addresses they
 * have. What they are called is read when somebody asks. */
#include <dwarf.h>
#include <stdlib.h>

#include "symbol/lines_private.h"

/* Functions lie in blocks, namespaces and calls in line, not deeper than people write them. */
enum { MOST_DEPTH = 256 };
/* The largest programs have some millions. One list may be that of many entries: what is read of it again counts again. */
#define MOST_RANGES (UINT32_C(1) << 24)
/* To read the functions of units, of one file together: what takes longer was made to. */
#define MOST_US (20 * G_USEC_PER_SEC)
/* Entries after which the clock is read. */
enum { ENTRIES_PER_LOOK = 256 };

/* ---- ranges ---- */

/* The linker leaves functions that it drops at 0. */
static bool is_code(uint64_t start, uint64_t end)
{
    return start > 0 && start < end;
}

bool spans_are_full(const struct spans *spans)
{
    return spans->n_seen > MOST_RANGES;
}

bool spans_put(struct spans *spans, uint64_t start, uint64_t end, uint32_t number)
{
    spans->n_seen++;
    if (!is_code(start, end) || spans_are_full(spans)) {
        return false;
    }
    lull_vec_push(&spans->ranges, (struct lull_range){start, end});
    lull_vec_push(&spans->of, number);
    return true;
}

bool spans_add(struct spans *spans, Dwarf_Die *die, uint32_t number)
{
    Dwarf_Addr base, start, end;
    ptrdiff_t at = 0;
    bool is_any = false;
    while (!spans_are_full(spans) && (at = dwarf_ranges(die, at, &base, &start, &end)) > 0) {
        is_any |= spans_put(spans, start, end, number);
    }
    return is_any;
}

/* By start; of one start those around others first. */
static int compare(const void *left, const void *right, void *user)
{
    const struct spans *spans = user;
    const uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    const struct lull_range *x = &spans->ranges.items[a], *y = &spans->ranges.items[b];
    return x->start != y->start ? (x->start < y->start ? -1 : 1)
           : x->end != y->end   ? (x->end > y->end ? -1 : 1)
                                : (a > b) - (a < b);
}

void spans_finish(struct spans *spans)
{
    const size_t n = spans->ranges.count;
    g_autofree uint32_t *order = g_new(uint32_t, MAX(n, 1));
    struct spans sorted = {0};
    for (uint32_t i = 0; i < n; i++) {
        order[i] = i;
    }
    qsort_r(order, n, sizeof *order, compare, spans);
    lull_vec_reserve(&sorted.ranges, n);
    lull_vec_reserve(&sorted.of, n);
    for (size_t i = 0; i < n; i++) {
        lull_vec_push(&sorted.ranges, spans->ranges.items[order[i]]);
        lull_vec_push(&sorted.of, spans->of.items[order[i]]);
    }
    lull_pieces_cut(&sorted.pieces, sorted.ranges.items, n);
    lull_vec_free(&sorted.ranges);
    spans_clear(spans);
    *spans = sorted;
}

uint32_t spans_find(const struct spans *spans, uint64_t address)
{
    const uint32_t range = lull_pieces_find(&spans->pieces, address);
    return range == LULL_NO_RANGE ? LULL_NO_RANGE : spans->of.items[range];
}

void spans_clear(struct spans *spans)
{
    lull_vec_free(&spans->ranges);
    lull_vec_free(&spans->of);
    lull_pieces_free(&spans->pieces);
}

/* ---- functions ---- */

/* A walk over the entries of a unit, deepest first. */
struct walk {
    Dwarf_Die at[MOST_DEPTH];
    uint32_t scopes[MOST_DEPTH]; /* what each lies in */
    uint32_t depth;
};

/* Adds what is a function with code. Returns what lies in the entry is in; *goes_in: whether to look there. */
static uint32_t add_entry(struct unit *unit, Dwarf_Die *die, uint32_t outer, bool *goes_in)
{
    const int tag = dwarf_tag(die);
    const uint32_t number = (uint32_t)unit->scopes.count;
    *goes_in = tag == DW_TAG_lexical_block || tag == DW_TAG_namespace || tag == DW_TAG_module ||
               tag == DW_TAG_try_block || tag == DW_TAG_catch_block;
    if ((tag != DW_TAG_subprogram && tag != DW_TAG_inlined_subroutine) ||
        !(unit->split ? split_add(&unit->spans, unit->split, die, number)
                      : spans_add(&unit->spans, die, number))) {
        return outer;
    }
    *goes_in = true;
    lull_vec_push(&unit->scopes, (struct scope){.die = dwarf_dieoffset(die),
                                                .outer = outer,
                                                .is_inlined = tag == DW_TAG_inlined_subroutine});
    return number;
}

/* To the first entry within this one if it `goes_in` and has some, else to the next. False: that was the last. */
static bool step(struct walk *walk, bool goes_in, uint32_t scope)
{
    if (goes_in && walk->depth + 1 < MOST_DEPTH &&
        dwarf_child(&walk->at[walk->depth], &walk->at[walk->depth + 1]) == 0) {
        walk->scopes[++walk->depth] = scope;
        return true;
    }
    while (walk->depth > 0) {
        Dwarf_Die *die = &walk->at[walk->depth];
        if (dwarf_siblingof(die, die) == 0) {
            return true;
        }
        walk->depth--;
    }
    return false;
}

Dwarf *unit_dwarf(const struct lull_lines *lines, const struct unit *unit, Dwarf_Off *die)
{
    *die = unit->split ? unit->split->die : unit->die;
    return unit->split ? unit->split->file.dwarf : lines->file.dwarf;
}

void unit_read(struct lull_lines *lines, struct unit *unit)
{
    g_autofree struct walk *walk = g_new0(struct walk, 1);
    const int64_t start_us = g_get_monotonic_time();
    if (unit->is_read || lines->spent_us >= MOST_US) {
        return;
    }
    unit->is_read = true;
    Dwarf_Off die = unit->die;
    bool goes_in = dwarf_offdie(lines->file.dwarf, die, &walk->at[0]) != NULL;
    if (goes_in && unit->is_split) {
        unit->split = split_open(lines, &walk->at[0]);
        Dwarf *dwarf = unit_dwarf(lines, unit, &die);
        goes_in = unit->split && dwarf_offdie(dwarf, die, &walk->at[0]);
    }
    uint32_t scope = LULL_NO_RANGE;
    for (uint64_t n = 0; step(walk, goes_in, scope); n++) {
        scope = add_entry(unit, &walk->at[walk->depth], walk->scopes[walk->depth], &goes_in);
        if (n % ENTRIES_PER_LOOK == 0 &&
            g_get_monotonic_time() - start_us > MOST_US - lines->spent_us) {
            break;
        }
    }
    lines->spent_us += g_get_monotonic_time() - start_us;
    spans_finish(&unit->spans);
}

void unit_clear(struct unit *unit)
{
    lull_vec_free(&unit->scopes);
    spans_clear(&unit->spans);
    split_free(unit->split);
}
