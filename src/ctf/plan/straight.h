/* SPDX-License-Identifier: MIT */
/* Loads and sums that need no decision, as straight code for the hot path: most events consist of
 * nothing else, and a branch for each field would be mispredicted more often than not. */
#ifndef LULL_CTF_PLAN_STRAIGHT_H
#define LULL_CTF_PLAN_STRAIGHT_H

#include "base/bits.h"
#include "ctf/plan/plan.h"

/* Adds the words of the text of bytes that starts at p and ends at the first NUL or after `room`
 * bytes; *length is its length. Up to 7 bytes after `room` are loaded. */
static inline uint64_t lull_sum_text(const uint8_t *p, uint64_t room, uint64_t *length)
{
    const uint64_t ones = UINT64_C(0x0101010101010101), tops = ones << 7;
    uint64_t sum = 0, at = 0;
    for (; at < room; at += 8) {
        uint64_t word = lull_load_u64(p + at, false);
        uint64_t nul = (word - ones) & ~word & tops;
        uint64_t n = nul != 0 ? (uint64_t)__builtin_ctzll(nul) >> 3 : 8;
        n = MIN(n, room - at);
        if (n < 8) {
            *length = at + n;
            return sum + (word & ((UINT64_C(1) << n * 8) - 1)) + *length;
        }
        sum += word;
    }
    *length = room;
    return sum + room;
}

static inline void lull_store_bytes(uint8_t *memory, uint32_t dst, const uint8_t *data,
                                    uint64_t length)
{
    struct lull_text text = {.data = (const char *)data,
                             .length = (uint32_t)MIN(length, (uint64_t)UINT32_MAX)};
    memcpy(memory + dst, &text, sizeof text);
}

/* The sum of n bytes. Up to 7 bytes after them are loaded. */
static inline uint64_t lull_sum_u8s(const uint8_t *p, uint64_t n)
{
    const uint64_t halves = UINT64_C(0x00ff00ff00ff00ff), ones = UINT64_C(0x0001000100010001);
    uint64_t sum = 0;
    for (uint64_t at = 0; at < n; at += 8) {
        const uint64_t word =
            lull_load_u64(p + at, false) & lull_low_mask((unsigned)MIN(n - at, 8) * 8);
        sum += ((word & halves) + (word >> 8 & halves)) * ones >> 48;
    }
    return sum;
}

static inline uint64_t lull_load_integer(const struct lull_load *load, const uint8_t *run,
                                         bool is_big_endian)
{
    const uint64_t v = lull_load_u64(run + load->offset, is_big_endian) << load->left;
    return (uint64_t)((int64_t)v >> load->right) & load->mask;
}

/* `run`: where the run starts. LULL_LOAD_SLACK bytes after it must exist. */
static inline void lull_loads_run(const struct lull_loads *loads, const uint8_t *run,
                                  uint8_t *memory)
{
    const struct lull_load *load = loads->items, *end = load + loads->n_little;
    for (; load < end; load += LULL_LOADS_TOGETHER) {
#pragma GCC unroll 8
        for (unsigned i = 0; i < LULL_LOADS_TOGETHER; i++) {
            lull_memory_set(memory, load[i].dst, lull_load_integer(load + i, run, false));
        }
    }
    for (end += loads->n_big; load < end; load++) {
        lull_memory_set(memory, load->dst, lull_load_integer(load, run, true));
    }
    for (end += loads->n_arrays; load < end; load++) {
        lull_store_bytes(memory, load->dst, run + load->offset, load->count);
    }
    for (end += loads->n_texts; load < end; load++) {
        uint64_t length;
        lull_sum_text(run + load->offset, load->count, &length);
        lull_store_bytes(memory, load->dst, run + load->offset, length);
    }
}

/* Those after loads->n_little but the texts. */
uint64_t lull_sums_run_more(const struct lull_loads *loads, const uint8_t *run);

/* The checksum of the same. */
static inline uint64_t lull_sums_run(const struct lull_loads *loads, const uint8_t *run)
{
    const struct lull_load *load = loads->items, *end = load + loads->n_little;
    uint64_t sum = 0;
    for (; load < end; load += LULL_LOADS_TOGETHER) {
#pragma GCC unroll 8
        for (unsigned i = 0; i < LULL_LOADS_TOGETHER; i++) {
            sum += lull_load_integer(load + i, run, false);
        }
    }
    if (G_UNLIKELY(loads->has_more)) {
        sum += lull_sums_run_more(loads, run);
    }
    const struct lull_load *text = end + loads->n_big + loads->n_arrays;
    for (uint16_t i = 0; i < loads->n_texts; i++) {
        uint64_t length;
        sum += lull_sum_text(run + text[i].offset, text[i].count, &length);
    }
    return sum;
}

#endif
