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

/* ---- sums ---- */

/* Adds the words of the text that begins at p and ends at the first NUL or after `room` bytes;
 * *length is its length. Up to 7 bytes behind `room` are loaded. */
static inline uint64_t sum_text(const uint8_t *p, uint64_t room, uint64_t *length)
{
    const uint64_t ones = UINT64_C(0x0101010101010101), tops = ones << 7;
    uint64_t sum = 0;
    for (uint64_t at = 0; at < room; at += 8) {
        uint64_t word = lull_load_u64(p + at, false);
        uint64_t nul = (word - ones) & ~word & tops;
        uint64_t n = nul != 0 ? (uint64_t)__builtin_ctzll(nul) >> 3 : 8;
        if (n >= room - at) {
            n = room - at;
            *length = room;
            return sum + (n == 8 ? word : word & ((UINT64_C(1) << n * 8) - 1)) + room;
        }
        if (nul != 0) {
            *length = at + n;
            return sum + (word & ((UINT64_C(1) << n * 8) - 1)) + at + n;
        }
        sum += word;
    }
    *length = room;
    return sum + room;
}

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

static uint64_t number_at(const struct lull_op *op, const uint8_t *buf, uint64_t bit)
{
    uint64_t v = lull_load_bits(buf, bit, op->size, op->is_big_endian);
    if (op->is_signed)
        return lull_sign_extend(v, op->size);
    if (op->is_real) {
        double real = lull_real_value(v, op->size);
        memcpy(&v, &real, sizeof v);
    }
    return v;
}

static uint64_t sum_numbers(const struct lull_op *op, const uint8_t *buf, uint64_t bit, uint64_t n,
                            uint64_t stride)
{
    uint64_t sum = 0;
    for (uint64_t i = 0; i < n; i++, bit += stride)
        sum += number_at(op, buf, bit);
    return sum;
}

/* What a sequence of `n` elements that begins at `bit` adds. */
static void sum_sequence(const struct lull_op *op, const uint8_t *buf, uint64_t bit, uint64_t n,
                         struct lull_tally *tally)
{
    if (op->is_text) {
        uint64_t length;
        tally->checksum += sum_text(buf + (bit >> 3), n, &length);
        tally->fields++;
    } else {
        tally->checksum += sum_numbers(op, buf, bit, n, op->bits);
        tally->fields += n;
    }
}

static uint64_t sum_string(const struct lull_op *op, const uint8_t *buf, uint64_t limit,
                           uint64_t pos, struct lull_tally *tally)
{
    pos = lull_align_up(pos, op->align);
    if (pos >= limit)
        return LULL_PLAN_SHORT;
    uint64_t room = (limit - pos) >> 3, length;
    uint64_t sum = sum_text(buf + (pos >> 3), room, &length);
    if (length == room)
        return LULL_PLAN_SHORT;
    tally->checksum += sum;
    tally->fields++;
    return pos + (length + 1) * 8;
}

/* ---- parts of variable size ---- */

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
                             uint64_t pos, uint8_t *memory, uint64_t *size)
{
    uint64_t n = lull_memory_get(memory, op->slot);
    uint64_t bits = 0;
    if (n > 0 && (__builtin_mul_overflow(n - 1, op->bits, &bits) ||
                  __builtin_add_overflow(bits, op->count, &bits)))
        return LULL_PLAN_SHORT;
    *size = bits;
    uint64_t end = take(pos, limit, op->align, bits);
    if (op->dst != 0 && end < LULL_PLAN_FAILED)
        store_text(memory, op->dst, buf + ((end - bits) >> 3), bits >> 3, op->is_text);
    return end;
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
            if (tally != NULL) {
                tally->fields += sums.fields;
                tally->checksum += sums.checksum;
            }
            return pos;
        case LULL_OP_RUN:
            pos = take(pos, limit, op->align, op->bits);
            if (pos >= LULL_PLAN_FAILED)
                return pos;
            base = pos - op->bits;
            if (tally != NULL)
                sums.fields += op->count;
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
        case LULL_OP_ARRAY:
            store_text(memory, op->dst, AT(op), op->count, op->is_text);
            break;
        case LULL_OP_STRING:
            pos = tally != NULL ? sum_string(op, buf, limit, pos, &sums)
                                : run_string(op, buf, limit, pos, memory);
            if (pos >= LULL_PLAN_FAILED)
                return pos;
            break;
        case LULL_OP_SEQUENCE: {
            uint64_t bits;
            pos = run_sequence(op, buf, limit, pos, memory, &bits);
            if (pos >= LULL_PLAN_FAILED)
                return pos;
            if (tally != NULL)
                sum_sequence(op, buf, pos - bits, lull_memory_get(memory, op->slot), &sums);
            break;
        }
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
            sums.checksum += sum_numbers(op, buf, base + op->bits, op->count, op->target);
            break;
        case LULL_OP_SUM_TEXT: {
            uint64_t length;
            sums.checksum += sum_text(AT(op), op->count, &length);
            break;
        }
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

uint64_t lull_plan_sum(const struct lull_op *ops, const uint8_t *buf, uint64_t limit, uint64_t pos,
                       uint8_t *memory, struct lull_tally *tally)
{
    return machine(ops, buf, limit, pos, memory, tally);
}
