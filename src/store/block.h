/* SPDX-License-Identifier: MIT */
/* A block of intervals as bytes (format.h) and back. */
#ifndef LULL_STORE_BLOCK_H
#define LULL_STORE_BLOCK_H

#include <glib.h>
#include <stddef.h>

#include "store/format.h"
#include "store/store.h"

enum { BLOCK_BYTES_MOST = STORE_BLOCK * (10 + 1 + 5 + 5) };

/* `bytes` has room for BLOCK_BYTES_MOST. Returns how many were used. */
uint32_t store_block_encode(const struct lull_store_interval *intervals, uint32_t count,
                            uint8_t *bytes);
/* Fills `intervals`, the first of which starts at start_ns. Returns how many there are, 1 to 64; 0
 * if the bytes are no block. */
uint32_t store_block_decode(const uint8_t *bytes, uint32_t size, int64_t start_ns,
                            struct lull_store_interval intervals[STORE_BLOCK]);

/* ---- an interval after the other ---- */

struct store_fields {
    uint64_t length, state, label, evidence;
};

/* The seven low bits of the byte that is number `at`, at their place in a number. */
static inline uint64_t store_septet(uint64_t word, unsigned at)
{
    return word >> at & UINT64_C(0x7f) << (7 * at);
}

/* The number of at most four bytes that the word starts with. Returns how many; 0: it is longer. */
static inline unsigned store_take(uint64_t word, uint64_t *value)
{
    *value = store_septet(word, 0);
    if (!(word & 0x80)) {
        return 1;
    }
    *value |= store_septet(word, 1);
    if (!(word & 0x8000)) {
        return 2;
    }
    *value |= store_septet(word, 2);
    if (!(word & 0x800000)) {
        return 3;
    }
    *value |= store_septet(word, 3);
    return word & 0x80000000 ? 0 : 4;
}

/* The next interval, if its numbers are as short as most are, from a single word. Branches, since
 * processors guess most of them and read on; arithmetic that avoids them takes longer. */
static inline bool store_fields_short(const uint8_t **p, const uint8_t *end,
                                      struct store_fields *fields)
{
    uint64_t word;
    if (end - *p < (ptrdiff_t)sizeof word) {
        return false;
    }
    memcpy(&word, *p, sizeof word);
    word = GUINT64_FROM_LE(word);
    unsigned size = store_take(word, &fields->length);
    if (size == 0) {
        return false;
    }
    word >>= 8 * size;
    fields->state = word & 0xff;
    fields->label = store_septet(word >> 8, 0);
    if (!(word & 0x8080f0)) {
        fields->evidence = store_septet(word >> 16, 0);
    } else if (!(word & 0x800080f0)) {
        fields->evidence = store_septet(word >> 16, 0) | store_septet(word >> 16, 1);
        size++;
    } else if (!(word & 0x808000f0)) {
        fields->label |= store_septet(word >> 8, 1);
        fields->evidence = store_septet(word >> 24, 0);
        size++;
    } else {
        return false;
    }
    *p += size + 3;
    return true;
}

/* The next interval, whatever its size. False if the bytes are none. */
bool store_fields_long(const uint8_t **p, const uint8_t *end, struct store_fields *fields);

/* The next interval, which lasts at least 1 ns; `time_ns` goes from its start to its end. False if
 * the bytes are none. What the caller does not look at costs nothing. */
static inline bool store_fields_next(const uint8_t **p, const uint8_t *end, int64_t *time_ns,
                                     struct store_fields *fields)
{
    return (store_fields_short(p, end, fields) || store_fields_long(p, end, fields)) &&
           fields->length && !__builtin_add_overflow(*time_ns, (int64_t)fields->length, time_ns);
}

#endif
