/* SPDX-License-Identifier: MIT */
/* Private to the machine that runs plans: what single fields add to a checksum. */
#ifndef LULL_CTF_PLAN_SUMS_H
#define LULL_CTF_PLAN_SUMS_H

#include <string.h>

#include "base/bits.h"
#include "ctf/plan/straight.h"
#include "ctf/schema/text.h"

static inline struct lull_texts *lull_memory_texts(const uint8_t *memory)
{
    struct lull_texts *texts;
    memcpy(&texts, memory + LULL_MEM_TEXTS, sizeof texts);
    return texts;
}

/* The number of `op` at a bit: an integer, 0 or 1 for a boolean, or a real's bits. */
static inline uint64_t lull_op_number(const struct lull_op *op, const uint8_t *buf, uint64_t bit)
{
    uint64_t v = G_UNLIKELY(op->is_bit_reversed)
                     ? lull_load_bits_reversed(buf, bit, op->size, op->is_big_endian)
                     : lull_load_bits(buf, bit, op->size, op->is_big_endian);
    if (op->is_signed) {
        return lull_sign_extend(v, op->size);
    }
    if (op->is_boolean) {
        return v != 0;
    }
    if (op->is_real) {
        double real = lull_real_value(v, op->size);
        memcpy(&v, &real, sizeof v);
    }
    return v;
}

uint64_t lull_sum_numbers(const struct lull_op *op, const uint8_t *buf, uint64_t bit, uint64_t n,
                          uint64_t stride);
/* Of a text or blob. */
uint64_t lull_sum_converted(const struct lull_op *op, const uint8_t *data, uint64_t size,
                            uint8_t *memory);

static inline uint64_t lull_sum_bytes(const struct lull_op *op, const uint8_t *data, uint64_t size,
                                      uint8_t *memory)
{
    uint64_t length;
    if (G_UNLIKELY(op->is_blob || op->encoding >= LULL_ENCODING_UTF16BE)) {
        return lull_sum_converted(op, data, size, memory);
    }
    return lull_sum_text(data, size, &length);
}

/* A sequence of `n` elements that starts at `bit`. */
void lull_sum_sequence(const struct lull_op *op, const uint8_t *buf, uint64_t bit, uint64_t n,
                       uint8_t *memory, struct lull_tally *tally);

/* Reads a string and sums it. Returns the position after it or LULL_PLAN_SHORT. */
uint64_t lull_sum_string(const struct lull_op *op, const uint8_t *buf, uint64_t limit, uint64_t pos,
                         uint8_t *memory, struct lull_tally *tally);

#endif
