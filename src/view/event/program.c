/* SPDX-License-Identifier: MIT */
/* Running print programs: this is where `lull print` spends its time. Text goes straight into the
 * line's buffer; room is made sure of once for each operation. */
#include "view/event/program_private.h"

#include "base/bits.h"
#include "view/digits.h"

struct runner {
    const struct lull_event_program *program;
    struct lull_linebuf *line;
    const uint8_t *data;
    uint64_t pos, end; /* bits */
    unsigned n_empty;  /* elements without bits */
    uint64_t slots[LULL_PRINT_SLOTS];
};

/* Room that an operation without a text needs after its piece: "-9223372036854775808" and what is
 * copied too much. */
#define ROOM 64u

static uint64_t load(const struct lull_print_op *op, const uint8_t *data, uint64_t pos)
{
    uint64_t v = lull_load_bits(data, pos, op->size, op->is_big_endian);
    return op->is_signed ? lull_sign_extend(v, op->size) : v;
}

static uint64_t count_of(const struct runner *r, const struct lull_print_op *op)
{
    return op->slot < 0 ? op->count : r->slots[op->slot];
}

/* ---- values that are made by the dialect ---- */

static void add_other(struct runner *r, const struct lull_print_op *op, uint64_t v)
{
    struct lull_visit_int value = op->value;
    value.bits = v;
    const char *labels[LULL_VISIT_LABELS];
    if (value.is_enum) {
        r->program->find_labels(op->mapping, &value, labels);
    }
    r->program->dialect->integer(r->line, &value);
}

static double half_value(uint64_t bits)
{
    int exponent = (int)(bits >> 10 & 31);
    double mantissa = (double)(bits & 0x3ff), sign = bits & 0x8000 ? -1 : 1;
    if (exponent == 31) {
        return mantissa != 0 ? (double)__builtin_nan("") : sign * __builtin_inf();
    }
    return exponent == 0 ? sign * __builtin_ldexp(mantissa, -24)
                         : sign * __builtin_ldexp(mantissa + 1024, exponent - 25);
}

static void add_real(struct runner *r, const struct lull_print_op *op, uint64_t bits)
{
    double value;
    if (op->size == 64) {
        memcpy(&value, &bits, sizeof value);
    } else if (op->size == 32) {
        const uint32_t low = (uint32_t)bits;
        float single;
        memcpy(&single, &low, sizeof single);
        value = (double)single;
    } else {
        value = half_value(bits);
    }
    r->program->dialect->real(r->line, value);
}

/* ---- texts ---- */

typedef uint8_t bytes16 __attribute__((vector_size(16)));
typedef uint64_t words2 __attribute__((vector_size(16)));

/* How many of the 16 bytes from `text` on need no escape. */
static inline uint32_t plain_bytes(bytes16 v, const char *special)
{
    bytes16 odd = (bytes16)(v < 0x20) | (bytes16)(v >= 0x7f) | (bytes16)(v == (uint8_t)special[0]) |
                  (bytes16)(v == (uint8_t)special[1]);
    if (special[2]) {
        odd |= (bytes16)(v == (uint8_t)special[2]) | (bytes16)(v == (uint8_t)special[3]);
    }
    const words2 words = (words2)odd;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    if (words[0]) {
        return (uint32_t)__builtin_ctzll(words[0]) / 8;
    }
    return words[1] ? 8 + (uint32_t)__builtin_ctzll(words[1]) / 8 : 16;
#else
    if (words[0]) {
        return (uint32_t)__builtin_clzll(words[0]) / 8;
    }
    return words[1] ? 8 + (uint32_t)__builtin_clzll(words[1]) / 8 : 16;
#endif
}

/* Appends `length` bytes at `text`, up to the first NUL. 16 more bytes may be read. */
static void add_text(struct runner *r, const char *text, uint64_t length)
{
    struct lull_linebuf *line = r->line;
    const struct lull_dialect *dialect = r->program->dialect;
    for (uint64_t at = 0; at < length;) {
        bytes16 v;
        memcpy(&v, text + at, sizeof v);
        char *out = lull_linebuf_reserve(line, sizeof v);
        memcpy(out, &v, sizeof v);
        const uint64_t n = MIN(plain_bytes(v, dialect->special), length - at);
        line->length += n;
        at += n;
        if (n < sizeof v && at < length) {
            if (text[at] == '\0') {
                return;
            }
            const uint64_t rest = strnlen(text + at, length - at);
            dialect->text(line, text + at, rest);
            return;
        }
    }
}

/* False if the text passes the end. */
static bool add_string(struct runner *r)
{
    const char *text = (const char *)r->data + r->pos / 8;
    const uint64_t room = (r->end - r->pos) / 8;
    const char *nul = memchr(text, 0, room);
    if (!nul) {
        return false;
    }
    r->pos += ((uint64_t)(nul - text) + 1) * 8;
    add_text(r, text, (uint64_t)(nul - text));
    return true;
}

static bool add_characters(struct runner *r, uint64_t n)
{
    if (n > (r->end - r->pos) / 8) {
        return false;
    }
    add_text(r, (const char *)r->data + r->pos / 8, n);
    r->pos += n * 8;
    return true;
}

/* ---- the loop ---- */

static bool run(struct runner *r, const struct lull_print_op *op);

static bool run_array(struct runner *r, const struct lull_print_op *op)
{
    const struct lull_brackets *brackets = &r->program->dialect->brackets[LULL_BRACKET_ARRAY];
    const uint64_t n = count_of(r, op);
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t start = r->pos;
        if (!op->is_hidden) {
            lull_linebuf_string(r->line, i > 0 ? brackets->next : brackets->first);
        }
        if (op->numbers && !op->is_hidden) {
            lull_linebuf_char(r->line, '[');
            lull_linebuf_unsigned(r->line, i);
            lull_linebuf_literal(r->line, "] = ");
        }
        if (!run(r, op + 1) || (r->pos == start && ++r->n_empty > LULL_MOST_EMPTY_ELEMENTS)) {
            return false;
        }
    }
    return true;
}

/* The operation to go on with, or NULL. */
static const struct lull_print_op *choose(const struct runner *r, const struct lull_print_op *op)
{
    const uint64_t tag = r->slots[op->slot];
    for (uint32_t i = 0; i < op->n_choices; i++) {
        const struct lull_choice *choice = &op->choices[i];
        if (op->is_signed
                ? (int64_t)choice->lower <= (int64_t)tag && (int64_t)tag <= (int64_t)choice->upper
                : choice->lower <= tag && tag <= choice->upper) {
            return &r->program->ops[choice->target];
        }
    }
    return NULL;
}

/* Copies the operation's text. At least ROOM bytes are free after it then. */
static inline char *start_op(struct lull_linebuf *line, const struct lull_print_op *op)
{
    const uint32_t length = op->text_length;
    char *out = lull_linebuf_reserve(line, length + ROOM);
    if (G_LIKELY(length <= LULL_PRINT_SLACK)) {
        memcpy(out, op->text, LULL_PRINT_SLACK);
    } else {
        memcpy(out, op->text, length);
    }
    line->length += length;
    return out + length;
}

static inline void end_op(struct lull_linebuf *line, char *out)
{
    line->length = (size_t)(out - line->data);
}

/* Takes the operation's bits: their position, or UINT64_MAX if they pass the end. */
static inline uint64_t take(struct runner *r, uint32_t size)
{
    const uint64_t pos = r->pos;
    if (G_UNLIKELY(size > r->end - pos)) {
        return UINT64_MAX;
    }
    r->pos = pos + size;
    return pos;
}

static inline uint64_t load_le(const struct runner *r, const struct lull_print_op *op, uint64_t pos)
{
    return lull_load_u64(r->data + pos / 8, false) << op->shift;
}

/* Decimal and hexadecimal integers, which most fields are. False if they pass the end. */
static inline bool add_integer(struct runner *r, const struct lull_print_op *op, char *out)
{
    const uint64_t pos = take(r, op->size);
    if (G_UNLIKELY(pos == UINT64_MAX)) {
        return false;
    }
    if (op->code == LULL_PRINT_UNSIGNED_LE) {
        end_op(r->line, lull_put_unsigned(out, load_le(r, op, pos) >> op->shift));
        return true;
    }
    if (op->code == LULL_PRINT_SIGNED_LE) {
        end_op(r->line, lull_put_signed(out, (int64_t)load_le(r, op, pos) >> op->shift));
        return true;
    }
    const uint64_t v = load(op, r->data, pos);
    if (op->slot >= 0) {
        r->slots[op->slot] = v;
    }
    if (op->code == LULL_PRINT_HEX) {
        end_op(r->line, lull_put_hex(out, v & op->bits_mask));
    } else if (op->code == LULL_PRINT_OTHER) {
        add_other(r, op, v);
    } else if (op->code == LULL_PRINT_INTEGER) {
        end_op(r->line,
               op->is_signed ? lull_put_signed(out, (int64_t)v) : lull_put_unsigned(out, v));
    }
    return true;
}

/* Runs up to the next END. False if a field passes the end of the event. */
static bool run(struct runner *r, const struct lull_print_op *op)
{
    for (;;) {
        char *out = start_op(r->line, op);
        r->pos = (r->pos + op->align_mask) & ~(uint64_t)op->align_mask;
        if (G_UNLIKELY(r->pos > r->end)) {
            return false;
        }
        bool done = true;
        switch (op->code) {
        case LULL_PRINT_PIECE:
            break;
        case LULL_PRINT_UNSIGNED_LE:
        case LULL_PRINT_SIGNED_LE:
        case LULL_PRINT_HEX:
        case LULL_PRINT_INTEGER:
        case LULL_PRINT_OTHER:
        case LULL_PRINT_SKIP:
            done = add_integer(r, op, out);
            break;
        case LULL_PRINT_REAL: {
            const uint64_t pos = take(r, op->size);
            done = pos != UINT64_MAX;
            if (done) {
                add_real(r, op, lull_load_bits(r->data, pos, op->size, op->is_big_endian));
            }
            break;
        }
        case LULL_PRINT_STRING:
            done = add_string(r);
            break;
        case LULL_PRINT_TEXT:
            done = add_characters(r, count_of(r, op));
            break;
        case LULL_PRINT_ARRAY:
            if (!run_array(r, op)) {
                return false;
            }
            op = &r->program->ops[op->target];
            continue;
        case LULL_PRINT_VARIANT:
            op = choose(r, op);
            if (!op) {
                return false;
            }
            continue;
        case LULL_PRINT_JUMP:
            op = &r->program->ops[op->target];
            continue;
        default: /* LULL_PRINT_END */
            return true;
        }
        if (G_UNLIKELY(!done)) {
            return false;
        }
        op++;
    }
}

bool lull_event_program_run(const struct lull_event_program *program,
                            const struct lull_event *event, struct lull_linebuf *line)
{
    struct lull_event_bytes bytes;
    lull_event_bytes(event, &bytes);
    struct runner runner; /* its slots are set before they are used: a length comes first */
    runner.program = program;
    runner.line = line;
    runner.data = bytes.data;
    runner.pos = bytes.start;
    runner.end = bytes.end;
    runner.n_empty = 0;
    const size_t length = line->length;
    if (G_LIKELY(run(&runner, program->ops))) {
        return true;
    }
    line->length = length;
    return false;
}
