/* SPDX-License-Identifier: MIT */
/* The plan compiler's leaves: the operations that load or sum what is at the current position. */
#include "base/bits.h"
#include "ctf/plan/build.h"
#include "ctf/schema/text.h"

/* Makes the presence of a field inside a variant known. */
static void emit_have(struct lull_builder *b, const struct lull_want *want)
{
    if (want->have == 0) {
        return;
    }
    if (b->have < 0 || lull_builder_op(b, b->have)->dst != want->have_dst) {
        struct lull_op *op = lull_builder_emit(b, LULL_OP_HAVE);
        op->dst = want->have_dst;
        b->have = (int)b->ops->len - 1;
    }
    lull_builder_op(b, b->have)->bits |= want->have;
}

static enum lull_op_code load_code(const struct lull_builder *b, const struct lull_fc *fc)
{
    bool s = fc->integer.is_signed;
    if (b->known < 8 || (b->rem & 7) != 0 || fc->integer.is_bit_reversed ||
        fc->integer.meaning == LULL_INT_BOOLEAN) {
        return LULL_OP_BITS;
    }
    switch (fc->integer.size) {
    case 8:
        return s ? LULL_OP_S8 : LULL_OP_U8;
    case 16:
        return s ? LULL_OP_S16 : LULL_OP_U16;
    case 32:
        return s ? LULL_OP_S32 : LULL_OP_U32;
    case 64:
        return LULL_OP_U64;
    default:
        return LULL_OP_BITS;
    }
}

/* Notes that a slot has been filled, if that is to be known. */
static void note_filled(struct lull_builder *b, const struct lull_want *want)
{
    if (want->kind != LULL_WANT_SLOT) {
        return;
    }
    for (size_t i = 0; i < G_N_ELEMENTS(b->positions); i++) {
        if (!lull_kept_fields_is_absent(b->positions[i], want->dst)) {
            continue;
        }
        struct lull_op *op = lull_builder_emit(b, LULL_OP_SET);
        op->dst = want->dst + 8;
        op->bits = 1;
        return;
    }
}

void lull_build_load_integer(struct lull_builder *b, const struct lull_fc *fc,
                             const struct lull_want *want)
{
    if (want->kind == LULL_WANT_TEXT || want->kind == LULL_WANT_RAW) {
        return;
    }
    uint64_t offset = lull_builder_run(b)->bits;
    struct lull_op *op =
        lull_builder_emit(b, want->kind == LULL_WANT_CLOCK ? LULL_OP_CLOCK : load_code(b, fc));
    op->bits = offset;
    op->size = (uint8_t)fc->integer.size;
    op->is_signed = fc->integer.is_signed && want->kind != LULL_WANT_CLOCK;
    op->is_big_endian = fc->integer.is_big_endian;
    op->is_bit_reversed = fc->integer.is_bit_reversed;
    op->is_boolean = fc->integer.meaning == LULL_INT_BOOLEAN;
    op->dst = want->kind == LULL_WANT_CLOCK ? LULL_MEM_CLOCK : want->dst;
    note_filled(b, want);
    emit_have(b, want);
}

void lull_build_load_real(struct lull_builder *b, const struct lull_fc *fc,
                          const struct lull_want *want)
{
    if (want->kind != LULL_WANT_REAL) {
        return;
    }
    uint64_t offset = lull_builder_run(b)->bits;
    struct lull_op *op = lull_builder_emit(b, LULL_OP_BITS);
    op->bits = offset;
    op->size = (uint8_t)fc->floating.size;
    op->is_big_endian = fc->floating.is_big_endian;
    op->is_bit_reversed = fc->floating.is_bit_reversed;
    op->is_real = true;
    op->dst = want->dst;
    emit_have(b, want);
}

/* What has been read by VARINT. */
void lull_build_load_varint(struct lull_builder *b, const struct lull_fc *fc,
                            const struct lull_want *want)
{
    if (want->kind == LULL_WANT_TEXT || want->kind == LULL_WANT_RAW) {
        return;
    }
    if (want->kind == LULL_WANT_CLOCK) {
        lull_builder_emit(b, LULL_OP_VARINT_CLOCK);
    } else {
        struct lull_op *op = lull_builder_emit(b, LULL_OP_COPY);
        op->slot = LULL_MEM_VARINT;
        op->dst = want->dst;
    }
    note_filled(b, want);
    emit_have(b, want);
}

/* Sums the elements of an array, or a single integer or real, that start here. */
void lull_build_sum(struct lull_builder *b, const struct lull_fc *element, uint64_t count,
                    uint64_t stride)
{
    bool is_int = element->kind == LULL_FC_INT;
    uint32_t size = is_int ? element->integer.size : element->floating.size;
    bool be = is_int ? element->integer.is_big_endian : element->floating.is_big_endian;
    bool native = be == (G_BYTE_ORDER == G_BIG_ENDIAN);
    bool reversed = is_int ? element->integer.is_bit_reversed : element->floating.is_bit_reversed;
    struct lull_op *run = lull_builder_run(b);
    uint64_t offset = run->bits;
    run->count += count;
    enum lull_op_code code = LULL_OP_SUM_BITS;
    if (is_int && count == 1 && (native || size == 8)) {
        enum lull_op_code load = load_code(b, element);
        if (load != LULL_OP_BITS) {
            code = (enum lull_op_code)(load - LULL_OP_U8 + LULL_OP_SUM_U8);
        }
    }
    struct lull_op *op = lull_builder_emit(b, code);
    op->bits = offset;
    op->size = (uint8_t)size;
    op->is_signed = is_int && element->integer.is_signed;
    op->is_big_endian = be;
    op->is_real = !is_int;
    op->is_bit_reversed = reversed;
    op->is_boolean = is_int && element->integer.meaning == LULL_INT_BOOLEAN;
    op->count = count;
    op->target = (uint32_t)stride;
}

/* How the bytes of a text or blob are to be taken. */
void lull_op_set_form(struct lull_op *op, const struct lull_fc *fc)
{
    const struct lull_fc *element =
        fc->kind == LULL_FC_ARRAY ? fc->array.element : fc->sequence.element;
    op->is_text = lull_fc_form(fc) == LULL_BYTES_TEXT;
    op->is_blob = lull_fc_form(fc) == LULL_BYTES_BLOB;
    op->encoding = op->is_text ? (uint8_t)element->integer.encoding : LULL_ENCODING_NONE;
}

/* Sums a text or blob of fixed size that starts here. */
void lull_build_sum_bytes(struct lull_builder *b, const struct lull_fc *fc)
{
    struct lull_op *run = lull_builder_run(b);
    uint64_t offset = run->bits;
    run->count++;
    struct lull_op *op = lull_builder_emit(b, LULL_OP_SUM_BYTES);
    op->bits = offset;
    op->count = fc->array.length;
    lull_op_set_form(op, fc);
}

bool lull_fc_is_number(const struct lull_fc *fc)
{
    return fc->kind == LULL_FC_INT || fc->kind == LULL_FC_FLOAT;
}

void lull_build_load_array(struct lull_builder *b, const struct lull_fc *fc,
                           const struct lull_want *want)
{
    if (want->kind != LULL_WANT_TEXT && want->kind != LULL_WANT_RAW) {
        return;
    }
    uint64_t offset = lull_builder_run(b)->bits;
    struct lull_op *op = lull_builder_emit(b, LULL_OP_ARRAY);
    op->bits = offset;
    op->count = fc->array.length * (fc->array.element->integer.size / 8);
    op->is_text = want->kind == LULL_WANT_TEXT;
    op->encoding = op->is_text ? (uint8_t)fc->array.element->integer.encoding : 0;
    op->dst = want->dst;
    emit_have(b, want);
}

/* The encoding of the texts that a string or sequence class makes. */
static enum lull_encoding encoding_of(const struct lull_fc *fc)
{
    return fc->kind == LULL_FC_STRING ? fc->string.encoding
                                      : fc->sequence.element->integer.encoding;
}

/* For strings and sequences: their operation, the last one or one before TEXTs, stores where the
 * bytes are; the TEXTs take them from there. */
void lull_build_store_bytes(struct lull_builder *b, const struct lull_fc *fc,
                            const struct lull_want *want)
{
    if (want->kind != LULL_WANT_TEXT && want->kind != LULL_WANT_RAW) {
        return;
    }
    int reader = (int)b->ops->len - 1;
    while (lull_builder_op(b, reader)->code == LULL_OP_TEXT) {
        reader--;
    }
    bool is_text = want->kind == LULL_WANT_TEXT;
    bool is_whole = fc->kind == LULL_FC_STRING && encoding_of(fc) < LULL_ENCODING_UTF16BE;
    struct lull_op *op = lull_builder_op(b, reader);
    if (op->dst == 0 && (!is_text || is_whole)) {
        op->dst = want->dst;
        return;
    }
    if (op->dst == 0) {
        op->dst = LULL_MEM_BYTES;
    }
    uint32_t from = op->dst;
    struct lull_op *text = lull_builder_emit(b, LULL_OP_TEXT);
    text->slot = from;
    text->dst = want->dst;
    text->is_text = is_text && !is_whole;
    text->encoding = (uint8_t)(text->is_text ? encoding_of(fc) : LULL_ENCODING_NONE);
}

void lull_build_have_bytes(struct lull_builder *b, const struct lull_fc *fc,
                           const struct lull_want *want)
{
    if (want->kind == LULL_WANT_TEXT || want->kind == LULL_WANT_RAW) {
        emit_have(b, want);
    }
}
