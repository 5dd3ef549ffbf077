/* SPDX-License-Identifier: MIT */
/* Finds the loads and sums that depend on nothing but where their run starts, and puts them close
 * together: integers first, then bytes, then texts. */
#include "ctf/plan/gather.h"

#include "base/bits.h"
#include "ctf/schema/text.h"

#define MOST (UINT16_MAX - LULL_LOADS_TOGETHER)

static bool is_load(const struct lull_op *op)
{
    return op->code < LULL_OP_SUM_U8;
}

/* An integer that 8 bytes hold, from the byte on in which it starts. */
static bool is_integer(const struct lull_op *op)
{
    const bool loads = op->code >= LULL_OP_U8 && op->code <= LULL_OP_BITS;
    const bool sums = op->code >= LULL_OP_SUM_U8 && op->code <= LULL_OP_SUM_BITS && op->count == 1;
    return (loads || sums) && !op->is_bit_reversed && !op->is_boolean && !op->is_real &&
           op->bits % 8 + op->size <= 64;
}

/* Bytes that are loaded as they are, or numbers that are summed. */
static bool is_array(const struct lull_op *op)
{
    const bool sums = op->code == LULL_OP_SUM_BITS && op->count > 1 && op->size == 8 &&
                      op->target == 8 && !op->is_signed && !op->is_bit_reversed &&
                      !op->is_boolean && !op->is_real;
    return (sums || (op->code == LULL_OP_ARRAY && !op->is_text)) && op->bits % 8 == 0;
}

static bool is_text(const struct lull_op *op)
{
    return (op->code == LULL_OP_ARRAY || op->code == LULL_OP_SUM_BYTES) && op->is_text &&
           op->encoding < LULL_ENCODING_UTF16BE && op->bits % 8 == 0;
}

static bool is_big(const struct lull_op *op)
{
    return is_integer(op) && op->is_big_endian;
}

static bool is_little(const struct lull_op *op)
{
    return is_integer(op) && !op->is_big_endian;
}

static bool is_plain(const struct lull_op *op)
{
    return (is_integer(op) || is_array(op) || is_text(op)) && op->count <= UINT16_MAX &&
           op->bits / 8 <= UINT16_MAX && op->dst <= UINT16_MAX;
}

static struct lull_load load_of(const struct lull_op *op)
{
    const uint8_t bit = op->bits % 8;
    return (struct lull_load){
        .offset = (uint16_t)(op->bits / 8),
        .dst = (uint16_t)op->dst,
        .count = (uint16_t)op->count,
        .left = op->is_big_endian ? bit : (uint8_t)(64 - op->size - bit),
        .right = (uint8_t)(64 - op->size),
        .mask = op->is_signed ? UINT64_MAX : lull_low_mask(MAX(op->size, 1)),
    };
}

/* Those of n operations that load, or those that sum, and are of the kind. */
static struct lull_load *add_loads(struct lull_load *load, const struct lull_op *ops, guint n,
                                   bool of_loads, bool (*is_kind)(const struct lull_op *op))
{
    for (guint i = 0; i < n; i++) {
        if (is_load(&ops[i]) == of_loads && is_kind(&ops[i])) {
            *load++ = load_of(&ops[i]);
        }
    }
    return load;
}

static const struct lull_loads *loads_of(const struct lull_op *ops, guint n, bool of_loads)
{
    static const struct lull_load nothing = {.dst = LULL_MEM_NOWHERE, .mask = 0};
    struct lull_loads *loads =
        g_malloc0(sizeof *loads + (n + LULL_LOADS_TOGETHER) * sizeof *loads->items);
    struct lull_load *load = add_loads(loads->items, ops, n, of_loads, is_little), *start;
    while ((load - loads->items) % LULL_LOADS_TOGETHER != 0) {
        *load++ = nothing;
    }
    loads->n_little = (uint16_t)(load - loads->items);
    load = add_loads(start = load, ops, n, of_loads, is_big);
    loads->n_big = (uint16_t)(load - start);
    load = add_loads(start = load, ops, n, of_loads, is_array);
    loads->n_arrays = (uint16_t)(load - start);
    load = add_loads(start = load, ops, n, of_loads, is_text);
    loads->n_texts = (uint16_t)(load - start);
    loads->has_more = loads->n_big || loads->n_arrays;
    return loads;
}

/* Loads and sums do not touch each other's memory: their order does not matter. */
static void gather(struct lull_op *ops, guint n, GPtrArray *owned)
{
    static const enum lull_op_code codes[] = {LULL_OP_SUMS, LULL_OP_LOADS};
    struct lull_op gathered[G_N_ELEMENTS(codes)];
    guint n_gathered = 0, n_of[G_N_ELEMENTS(codes)] = {0, 0};
    for (guint i = 0; i < n; i++) {
        n_of[is_load(&ops[i])]++;
    }
    for (int of_loads = 0; of_loads <= 1; of_loads++) {
        if (n_of[of_loads] > 0) {
            const struct lull_loads *loads = loads_of(ops, n, of_loads);
            g_ptr_array_add(owned, (gpointer)loads);
            gathered[n_gathered++] = (struct lull_op){.code = codes[of_loads], .loads = loads};
        }
    }
    gathered[n_gathered - 1].count = n - n_gathered;
    memcpy(ops, gathered, n_gathered * sizeof *gathered);
}

/* What follows a RUN directly is never jumped to. */
void lull_gather_straight(GArray *ops, GPtrArray *owned)
{
    struct lull_op *all = (struct lull_op *)(void *)ops->data;
    for (guint i = 0; i < ops->len; i++) {
        guint n = 0;
        if (all[i].code != LULL_OP_RUN || !all[i].is_at_byte) {
            continue;
        }
        while (n < MOST && is_plain(&all[i + 1 + n])) {
            n++;
        }
        /* A single one is as fast by itself, but if it is all. */
        if (n > 1 || (n == 1 && all[i + 2].code == LULL_OP_END)) {
            gather(&all[i + 1], n, owned);
        }
    }
}

const struct lull_loads *lull_gathered(const struct lull_op *ops, enum lull_op_code code)
{
    const struct lull_op *first = ops + 1;
    return ops->code == LULL_OP_RUN && first->code == code &&
                   first[first->count + 1].code == LULL_OP_END
               ? first->loads
               : NULL;
}
