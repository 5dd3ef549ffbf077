/* SPDX-License-Identifier: MIT */
/* What fields add to the checksum of everything; see struct lull_tally. */
#include "ctf/plan/sums.h"

uint64_t lull_text_sum(const char *data, uint64_t length)
{
    uint64_t sum = length;
    for (uint64_t at = 0; at < length; at += 8) {
        uint8_t word[8] = {0};
        memcpy(word, data + at, MIN(8, length - at));
        sum += lull_load_u64(word, false);
    }
    return sum;
}

uint64_t lull_sum_numbers(const struct lull_op *op, const uint8_t *buf, uint64_t bit, uint64_t n,
                          uint64_t stride)
{
    uint64_t sum = 0;
    if (op->size == 8 && stride == 8 && bit % 8 == 0 && !op->is_signed && !op->is_boolean &&
        !op->is_bit_reversed) {
        return lull_sum_u8s(buf + (bit >> 3), n);
    }
    for (uint64_t i = 0; i < n; i++, bit += stride) {
        sum += lull_op_number(op, buf, bit);
    }
    return sum;
}

uint64_t lull_sums_run_more(const struct lull_loads *loads, const uint8_t *run)
{
    const struct lull_load *load = loads->items + loads->n_little, *end = load;
    uint64_t sum = 0;
    for (end += loads->n_big; load < end; load++) {
        sum += lull_load_integer(load, run, true);
    }
    for (end += loads->n_arrays; load < end; load++) {
        sum += lull_sum_u8s(run + load->offset, load->count);
    }
    return sum;
}

uint64_t lull_sum_converted(const struct lull_op *op, const uint8_t *data, uint64_t size,
                            uint8_t *memory)
{
    if (op->is_blob) {
        return lull_text_sum((const char *)data, size);
    }
    struct lull_text text = lull_texts_convert(lull_memory_texts(memory), data, size, op->encoding);
    return lull_text_sum(text.data, text.length);
}

void lull_sum_sequence(const struct lull_op *op, const uint8_t *buf, uint64_t bit, uint64_t n,
                       uint8_t *memory, struct lull_tally *tally)
{
    if (op->is_text || op->is_blob) {
        tally->checksum += lull_sum_bytes(op, buf + (bit >> 3), n, memory);
        tally->fields++;
    } else {
        tally->checksum += lull_sum_numbers(op, buf, bit, n, op->bits);
        tally->fields += n;
    }
}

uint64_t lull_sum_string(const struct lull_op *op, const uint8_t *buf, uint64_t limit, uint64_t pos,
                         uint8_t *memory, struct lull_tally *tally)
{
    pos = lull_align_up(pos, op->align);
    if (pos >= limit) {
        return LULL_PLAN_SHORT;
    }
    const uint8_t *start = buf + (pos >> 3);
    uint64_t room = (limit - pos) >> 3, sum, length;
    unsigned unit = lull_encoding_unit(op->encoding);
    if (unit == 1) {
        sum = lull_sum_text(start, room, &length);
        if (length == room) {
            return LULL_PLAN_SHORT;
        }
    } else {
        length = lull_text_end(start, room, op->encoding);
        if (length == UINT64_MAX) {
            return LULL_PLAN_SHORT;
        }
        sum = lull_sum_converted(op, start, length, memory);
    }
    tally->checksum += sum;
    tally->fields++;
    return pos + (length + unit) * 8;
}
