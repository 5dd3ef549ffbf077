/* The machine that runs decode plans. It trusts the operations, which are ours, and nothing in the
 * bytes: every step is checked against the limit before anything is loaded. */
#include "ctf/plan.h"

#include "base/bits.h"

/* Position behind `bits` more bits after aligning, or LULL_PLAN_SHORT. */
static inline uint64_t take(uint64_t pos, uint64_t limit, uint64_t align, uint64_t bits)
{
    pos = lull_align_up(pos, align);
    return pos <= limit && bits <= limit - pos ? pos + bits : LULL_PLAN_SHORT;
}

static inline void store_text(uint8_t *memory, uint32_t dst, const uint8_t *data, uint64_t length,
                              bool is_text)
{
    if (is_text)
        length = strnlen((const char *)data, length);
    struct lull_text text = {.data = (const char *)data,
                             .length = (uint32_t)MIN(length, (uint64_t)UINT32_MAX)};
    memcpy(memory + dst, &text, sizeof text);
}

static void run_bits(const struct lull_op *op, const uint8_t *buf, uint64_t base, uint8_t *memory)
{
    uint64_t v = lull_load_bits(buf, base + op->bits, op->size, op->is_big_endian);
    if (op->is_signed)
        v = lull_sign_extend(v, op->size);
    if (op->code == LULL_OP_CLOCK)
        v = lull_clock_advance(lull_memory_get(memory, LULL_MEM_CLOCK), v & lull_low_mask(op->size),
                               op->size);
    lull_memory_set(memory, op->dst, v);
}

static void run_real(const struct lull_op *op, const uint8_t *buf, uint64_t base, uint8_t *memory)
{
    uint64_t bits = lull_load_bits(buf, base + op->bits, op->size, op->is_big_endian);
    double value = lull_real_value(bits, op->size);
    memcpy(memory + op->dst, &value, sizeof value);
}

static uint64_t run_string(const struct lull_op *op, const uint8_t *buf, uint64_t limit,
                           uint64_t pos, uint8_t *memory)
{
    pos = lull_align_up(pos, op->align);
    if (pos >= limit)
        return LULL_PLAN_SHORT;
    const uint8_t *begin = buf + (pos >> 3);
    size_t room = (limit - pos) >> 3;
    const uint8_t *nul = memchr(begin, 0, room);
    if (nul == NULL)
        return LULL_PLAN_SHORT;
    if (op->dst != 0)
        store_text(memory, op->dst, begin, (uint64_t)(nul - begin), false);
    return pos + ((uint64_t)(nul - begin) + 1) * 8;
}

static uint64_t run_sequence(const struct lull_op *op, const uint8_t *buf, uint64_t limit,
                             uint64_t pos, uint8_t *memory)
{
    uint64_t n = lull_memory_get(memory, op->slot);
    uint64_t bits = 0;
    if (n > 0 && (__builtin_mul_overflow(n - 1, op->bits, &bits) ||
                  __builtin_add_overflow(bits, op->count, &bits)))
        return LULL_PLAN_SHORT;
    uint64_t end = take(pos, limit, op->align, bits);
    if (op->dst != 0 && end < LULL_PLAN_FAILED)
        store_text(memory, op->dst, buf + ((end - bits) >> 3), bits >> 3, op->is_text);
    return end;
}

uint64_t lull_plan_run(const struct lull_op *ops, const uint8_t *buf, uint64_t limit, uint64_t pos,
                       uint8_t *memory)
{
    const struct lull_op *op = ops;
    uint64_t base = pos;
#define AT(op) (buf + ((base + (op)->bits) >> 3))
#define STORE(v) lull_memory_set(memory, op->dst, (uint64_t)(v))
    for (;; op++) {
        switch ((enum lull_op_code)op->code) {
        case LULL_OP_END:
            return pos;
        case LULL_OP_RUN:
            pos = take(pos, limit, op->align, op->bits);
            if (pos >= LULL_PLAN_FAILED)
                return pos;
            base = pos - op->bits;
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
        case LULL_OP_REAL:
            run_real(op, buf, base, memory);
            break;
        case LULL_OP_ARRAY:
            store_text(memory, op->dst, AT(op), op->count, op->is_text);
            break;
        case LULL_OP_STRING:
            pos = run_string(op, buf, limit, pos, memory);
            if (pos >= LULL_PLAN_FAILED)
                return pos;
            break;
        case LULL_OP_SEQUENCE:
            pos = run_sequence(op, buf, limit, pos, memory);
            if (pos >= LULL_PLAN_FAILED)
                return pos;
            break;
        case LULL_OP_LOOP: {
            uint64_t n = op->slot != 0 ? lull_memory_get(memory, op->slot) : op->count;
            lull_memory_set(memory, op->counter, n);
            lull_memory_set(memory, op->counter + 8, pos);
            if (n == 0)
                op = ops + op->target;
            break;
        }
        case LULL_OP_NEXT: {
            uint64_t left = lull_memory_get(memory, op->counter) - 1;
            /* A round that took no bits will not take any the next time either. */
            if (left == 0 || pos == lull_memory_get(memory, op->counter + 8))
                break;
            lull_memory_set(memory, op->counter, left);
            lull_memory_set(memory, op->counter + 8, pos);
            op = ops + op->target - 1;
            break;
        }
        case LULL_OP_SWITCH: {
            uint64_t tag = lull_memory_get(memory, op->slot);
            const struct lull_switch *choice = op->choice;
            int option = tag < 256 ? choice->small[tag] : lull_fc_variant_option(choice->fc, tag);
            if (option < 0)
                return LULL_PLAN_BAD_TAG;
            op = ops + choice->targets[option] - 1;
            break;
        }
        case LULL_OP_JUMP:
            op = ops + op->target - 1;
            break;
        case LULL_OP_SAME: {
            struct lull_text text;
            memcpy(&text, memory + op->slot, sizeof text);
            store_text(memory, op->dst, (const uint8_t *)text.data, text.length, op->is_text);
            break;
        }
        case LULL_OP_HAVE:
            lull_memory_set(memory, op->dst, lull_memory_get(memory, op->dst) | op->bits);
            break;
        }
    }
#undef AT
#undef STORE
}
