/* SPDX-License-Identifier: MIT */
/* The machine that runs decode plans. It trusts the operations, which are ours, and nothing in the
 * bytes: every step is checked against the limit before anything is loaded. */
#include "ctf/plan/plan.h"

#include <string.h>

#include "base/bits.h"
#include "ctf/plan/sums.h"
#include "ctf/schema/text.h"

/* Position after `bits` more bits once aligned, or LULL_PLAN_SHORT. */
static inline uint64_t take(uint64_t pos, uint64_t limit, uint64_t align, uint64_t bits)
{
    pos = lull_align_up(pos, align);
    return pos <= limit && bits <= limit - pos ? pos + bits : LULL_PLAN_SHORT;
}

/* The bytes as they are, or the text that they hold. */
static inline void store_text(const struct lull_op *op, uint8_t *memory, const uint8_t *data,
                              uint64_t length)
{
    if (!op->is_text) {
        lull_store_bytes(memory, op->dst, data, length);
        return;
    }
    if (G_LIKELY(op->encoding < LULL_ENCODING_UTF16BE)) {
        uint64_t end;
        lull_sum_text(data, length, &end);
        lull_store_bytes(memory, op->dst, data, end);
        return;
    }
    struct lull_text text =
        lull_texts_convert(lull_memory_texts(memory), data, length, op->encoding);
    memcpy(memory + op->dst, &text, sizeof text);
}

static void run_bits(const struct lull_op *op, const uint8_t *buf, uint64_t base, uint8_t *memory)
{
    uint64_t v = lull_op_number(op, buf, base + op->bits);
    if (op->code == LULL_OP_CLOCK) {
        v = lull_clock_advance(lull_memory_get(memory, LULL_MEM_CLOCK), v & lull_low_mask(op->size),
                               op->size);
    }
    lull_memory_set(memory, op->dst, v);
}

/* ---- parts of variable size ---- */

static uint64_t run_string(const struct lull_op *op, const uint8_t *buf, uint64_t limit,
                           uint64_t pos, uint8_t *memory)
{
    pos = lull_align_up(pos, op->align);
    if (pos >= limit) {
        return LULL_PLAN_SHORT;
    }
    const uint8_t *start = buf + (pos >> 3);
    const uint64_t room = (limit - pos) >> 3;
    uint64_t length;
    if (G_LIKELY(op->encoding < LULL_ENCODING_UTF16BE)) {
        lull_sum_text(start, room, &length);
    } else {
        length = lull_text_end(start, room, op->encoding);
    }
    if (length >= room) {
        return LULL_PLAN_SHORT;
    }
    if (op->dst != 0) {
        lull_store_bytes(memory, op->dst, start, length);
    }
    return pos + (length + lull_encoding_unit(op->encoding)) * 8;
}

static uint64_t run_varint(const struct lull_op *op, const uint8_t *buf, uint64_t limit,
                           uint64_t pos, uint8_t *memory)
{
    pos = lull_align_up(pos, op->align);
    if (pos >= limit) {
        return LULL_PLAN_SHORT;
    }
    uint64_t room = (limit - pos) >> 3, v;
    uint64_t length = lull_load_leb128(buf + (pos >> 3), room, op->is_signed, &v);
    if (length == 0) {
        return LULL_PLAN_BAD_INTEGER;
    }
    if (length > room) {
        return LULL_PLAN_SHORT;
    }
    lull_memory_set(memory, LULL_MEM_VARINT, v);
    lull_memory_set(memory, LULL_MEM_VARINT_BITS, MIN(length * 7, 64));
    return pos + length * 8;
}

static uint64_t run_sequence(const struct lull_op *op, const uint8_t *buf, uint64_t limit,
                             uint64_t pos, uint8_t *memory, uint64_t *size)
{
    uint64_t n = lull_memory_get(memory, op->slot);
    uint64_t bits = 0;
    if (n > 0 && (__builtin_mul_overflow(n - 1, op->bits, &bits) ||
                  __builtin_add_overflow(bits, op->count, &bits))) {
        return LULL_PLAN_SHORT;
    }
    *size = bits;
    uint64_t end = take(pos, limit, op->align, bits);
    if (op->dst != 0 && end < LULL_PLAN_FAILED) {
        lull_store_bytes(memory, op->dst, buf + ((end - bits) >> 3), bits >> 3);
    }
    return end;
}

static void run_varint_clock(uint8_t *memory)
{
    unsigned bits = (unsigned)lull_memory_get(memory, LULL_MEM_VARINT_BITS);
    uint64_t v = lull_memory_get(memory, LULL_MEM_VARINT);
    lull_memory_set(memory, LULL_MEM_CLOCK,
                    lull_clock_advance(lull_memory_get(memory, LULL_MEM_CLOCK), v, bits));
}

/* Both machines: one that loads, and with a tally one that sums. */
static inline __attribute__((always_inline)) uint64_t machine(const struct lull_op *ops,
                                                              const uint8_t *buf, uint64_t limit,
                                                              uint64_t pos, uint8_t *memory,
                                                              struct lull_tally *tally)
{
    const struct lull_op *op = ops;
    uint64_t base = pos;
    struct lull_tally sums = {0, 0};
#define AT(op) (buf + ((base + (op)->bits) >> 3))
#define NATIVE (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__)
#define STORE(v) lull_memory_set(memory, op->dst, (uint64_t)(v))
    for (;; op++) {
        switch ((enum lull_op_code)op->code) {
        case LULL_OP_END:
            if (tally) {
                tally->fields += sums.fields;
                tally->checksum += sums.checksum;
            }
            return pos;
        case LULL_OP_RUN:
            pos = take(pos, limit, op->align, op->bits);
            if (pos >= LULL_PLAN_FAILED) {
                return pos;
            }
            base = pos - op->bits;
            if (tally) {
                sums.fields += op->count;
            }
            break;
        case LULL_OP_U8:
            STORE(*AT(op));
            break;
        case LULL_OP_S8:
            STORE((int64_t)(int8_t)*AT(op));
            break;
        case LULL_OP_U16:
            STORE(lull_load_u16(AT(op), op->is_big_endian));
            break;
        case LULL_OP_S16:
            STORE((int64_t)(int16_t)lull_load_u16(AT(op), op->is_big_endian));
            break;
        case LULL_OP_U32:
            STORE(lull_load_u32(AT(op), op->is_big_endian));
            break;
        case LULL_OP_S32:
            STORE((int64_t)(int32_t)lull_load_u32(AT(op), op->is_big_endian));
            break;
        case LULL_OP_U64:
            STORE(lull_load_u64(AT(op), op->is_big_endian));
            break;
        case LULL_OP_BITS:
        case LULL_OP_CLOCK:
            run_bits(op, buf, base, memory);
            break;
        case LULL_OP_LOADS:
            lull_loads_run(op->loads, buf + (base >> 3), memory);
            op += op->count;
            break;
        case LULL_OP_ARRAY:
            store_text(op, memory, AT(op), op->count);
            break;
        case LULL_OP_STRING:
            pos = tally ? lull_sum_string(op, buf, limit, pos, memory, &sums)
                        : run_string(op, buf, limit, pos, memory);
            if (pos >= LULL_PLAN_FAILED) {
                return pos;
            }
            break;
        case LULL_OP_SEQUENCE: {
            uint64_t bits;
            pos = run_sequence(op, buf, limit, pos, memory, &bits);
            if (pos >= LULL_PLAN_FAILED) {
                return pos;
            }
            if (tally) {
                lull_sum_sequence(op, buf, pos - bits, lull_memory_get(memory, op->slot), memory,
                                  &sums);
            }
            break;
        }
        case LULL_OP_LOOP: {
            uint64_t n = op->slot != 0 ? lull_memory_get(memory, op->slot) : op->count;
            lull_memory_set(memory, op->counter, n);
            lull_memory_set(memory, op->counter + 8, pos);
            if (tally) {
                lull_memory_set(memory, op->counter + 16, sums.fields);
            }
            if (n == 0) {
                op = ops + op->target;
            }
            break;
        }
        case LULL_OP_NEXT: {
            uint64_t left = lull_memory_get(memory, op->counter) - 1;
            /* A round that took no bits will not take any the next time either. */
            if (left == 0 || pos == lull_memory_get(memory, op->counter + 8)) {
                if (tally) { /* but empty texts are fields as well */
                    sums.fields += left * (sums.fields - lull_memory_get(memory, op->counter + 16));
                }
                break;
            }
            lull_memory_set(memory, op->counter, left);
            lull_memory_set(memory, op->counter + 8, pos);
            if (tally) {
                lull_memory_set(memory, op->counter + 16, sums.fields);
            }
            op = ops + op->target - 1;
            break;
        }
        case LULL_OP_SWITCH: {
            uint64_t tag = lull_memory_get(memory, op->slot);
            const struct lull_switch *choice = op->choice;
            int option = tag < 256 ? choice->small[tag] : lull_fc_variant_option(choice->fc, tag);
            if (option < 0) {
                return LULL_PLAN_BAD_TAG;
            }
            op = ops + choice->targets[option] - 1;
            break;
        }
        case LULL_OP_JUMP:
            op = ops + op->target - 1;
            break;
        case LULL_OP_TEXT: {
            struct lull_text text;
            memcpy(&text, memory + op->slot, sizeof text);
            store_text(op, memory, (const uint8_t *)text.data, text.length);
            break;
        }
        case LULL_OP_VARINT:
            pos = run_varint(op, buf, limit, pos, memory);
            if (pos >= LULL_PLAN_FAILED) {
                return pos;
            }
            if (tally) {
                sums.checksum += lull_memory_get(memory, LULL_MEM_VARINT);
                sums.fields++;
            }
            break;
        case LULL_OP_VARINT_CLOCK:
            run_varint_clock(memory);
            break;
        case LULL_OP_COPY:
            STORE(lull_memory_get(memory, op->slot));
            break;
        case LULL_OP_SET:
            STORE(op->bits);
            break;
        case LULL_OP_CHECK:
            if (lull_memory_get(memory, op->slot) == 0) {
                return LULL_PLAN_NO_REF;
            }
            break;
        case LULL_OP_WHOLE_BYTE:
            if (pos % 8 != 0) {
                return LULL_PLAN_BAD_ORDER;
            }
            break;
        case LULL_OP_OPTIONAL:
            if (!lull_fc_optional_is_there(op->fc, lull_memory_get(memory, op->slot))) {
                op = ops + op->target - 1;
            }
            break;
        case LULL_OP_RESET_TEXTS:
            lull_texts_reset(lull_memory_texts(memory));
            break;
        case LULL_OP_HAVE:
            lull_memory_set(memory, op->dst, lull_memory_get(memory, op->dst) | op->bits);
            break;
        case LULL_OP_SUM_U8:
            sums.checksum += *AT(op);
            break;
        case LULL_OP_SUM_S8:
            sums.checksum += (uint64_t)(int64_t)(int8_t)*AT(op);
            break;
        case LULL_OP_SUM_U16:
            sums.checksum += lull_load_u16(AT(op), NATIVE);
            break;
        case LULL_OP_SUM_S16:
            sums.checksum += (uint64_t)(int64_t)(int16_t)lull_load_u16(AT(op), NATIVE);
            break;
        case LULL_OP_SUM_U32:
            sums.checksum += lull_load_u32(AT(op), NATIVE);
            break;
        case LULL_OP_SUM_S32:
            sums.checksum += (uint64_t)(int64_t)(int32_t)lull_load_u32(AT(op), NATIVE);
            break;
        case LULL_OP_SUM_U64:
            sums.checksum += lull_load_u64(AT(op), NATIVE);
            break;
        case LULL_OP_SUM_BITS:
            sums.checksum += lull_sum_numbers(op, buf, base + op->bits, op->count, op->target);
            break;
        case LULL_OP_SUM_BYTES:
            sums.checksum += lull_sum_bytes(op, AT(op), op->count, memory);
            break;
        case LULL_OP_SUMS:
            sums.checksum += lull_sums_run(op->loads, buf + (base >> 3));
            op += op->count;
            break;
        }
    }
#undef AT
#undef NATIVE
#undef STORE
}

uint64_t lull_plan_run(const struct lull_op *ops, const uint8_t *buf, uint64_t limit, uint64_t pos,
                       uint8_t *memory)
{
    return machine(ops, buf, limit, pos, memory, NULL);
}

uint64_t lull_plan_skip_texts(const struct lull_op *skip, const uint8_t *buf, uint64_t limit,
                              uint64_t pos)
{
    for (const struct lull_op *op = skip; op->code != LULL_OP_END; op++) {
        pos = take(pos, limit, op->align, op->bits);
        if (pos >= LULL_PLAN_FAILED) {
            return pos;
        }
        if (op->code == LULL_OP_STRING) {
            const uint8_t *start = buf + (pos >> 3);
            const uint8_t *end = memchr(start, 0, (limit - pos) >> 3);
            if (!end) {
                return LULL_PLAN_SHORT;
            }
            pos += (uint64_t)(end + 1 - start) * 8;
        }
    }
    return pos;
}

uint64_t lull_plan_sum(const struct lull_op *ops, const uint8_t *buf, uint64_t limit, uint64_t pos,
                       uint8_t *memory, struct lull_tally *tally)
{
    return machine(ops, buf, limit, pos, memory, tally);
}

const char *lull_plan_why(uint64_t code)
{
    switch (code) {
    case LULL_PLAN_BAD_TAG:
        return "a variant's tag selects no option";
    case LULL_PLAN_BAD_INTEGER:
        return "an integer of variable length has more than 64 bits";
    case LULL_PLAN_NO_REF:
        return "the length or tag of a field is missing";
    case LULL_PLAN_BAD_ORDER:
        return "the byte order changes within a byte";
    default:
        return "it goes past the end";
    }
}
