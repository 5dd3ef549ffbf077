/* SPDX-License-Identifier: MIT */
/* Evaluates expressions of DWARF (version 5, section 2.5). */
#include "unwind/expression.h"

#include "unwind/private.h"

#define MOST_VALUES 64u
/* They can jump back. */
#define MOST_STEPS 4096u

enum operation {
    OP_ADDRESS = 0x03,
    OP_LOAD = 0x06,
    OP_CONSTANT_1U = 0x08, /* 1s, 2u, 2s, … 8s follow */
    OP_CONSTANT_8S = 0x0f,
    OP_CONSTANT_U = 0x10,
    OP_CONSTANT_S = 0x11,
    OP_DUPLICATE = 0x12,
    OP_DROP = 0x13,
    OP_OVER = 0x14,
    OP_PICK = 0x15,
    OP_SWAP = 0x16,
    OP_ROTATE = 0x17,
    OP_ABSOLUTE = 0x19,
    OP_AND = 0x1a,
    OP_DIVIDE = 0x1b,
    OP_MINUS = 0x1c,
    OP_MODULO = 0x1d,
    OP_TIMES = 0x1e,
    OP_NEGATE = 0x1f,
    OP_NOT = 0x20,
    OP_OR = 0x21,
    OP_PLUS = 0x22,
    OP_PLUS_CONSTANT = 0x23,
    OP_SHIFT_LEFT = 0x24,
    OP_SHIFT_RIGHT = 0x25,
    OP_SHIFT_RIGHT_SIGNED = 0x26,
    OP_XOR = 0x27,
    OP_BRANCH = 0x28,
    OP_EQUAL = 0x29,
    OP_GREATER_OR_EQUAL = 0x2a,
    OP_GREATER = 0x2b,
    OP_LESS_OR_EQUAL = 0x2c,
    OP_LESS = 0x2d,
    OP_NOT_EQUAL = 0x2e,
    OP_JUMP = 0x2f,
    OP_LITERAL = 0x30,  /* 32 of them */
    OP_REGISTER = 0x70, /* its value and a constant; 32 of them */
    OP_REGISTER_X = 0x92,
    OP_LOAD_SIZE = 0x94,
    OP_NOP = 0x96,
};

struct evaluation {
    const struct lull_unwind_memory *memory;
    struct cfi_cursor c;
    const uint8_t *start;
    uint64_t values[MOST_VALUES];
    unsigned n;
};

bool lull_unwind_load(const struct lull_unwind_memory *memory, uint64_t address, unsigned bytes,
                      uint64_t *value)
{
    const uint64_t at = address - memory->start;
    if (address < memory->start || at > memory->size || memory->size - at < bytes) {
        return false;
    }
    struct cfi_cursor c = {memory->stack + at, memory->stack + at + bytes, false};
    *value = cfi_take(&c, bytes);
    return !c.is_bad;
}

static void push(struct evaluation *e, uint64_t value)
{
    if (e->n >= MOST_VALUES) {
        e->c.is_bad = true;
        return;
    }
    e->values[e->n++] = e->memory->machine->word_bytes == 4 ? (uint32_t)value : value;
}

static uint64_t pop(struct evaluation *e)
{
    if (e->n == 0) {
        e->c.is_bad = true;
        return 0;
    }
    return e->values[--e->n];
}

/* The value `depth` below the last. */
static void push_copy(struct evaluation *e, uint64_t depth)
{
    if (depth >= e->n) {
        e->c.is_bad = true;
        return;
    }
    push(e, e->values[e->n - 1 - depth]);
}

static int64_t as_signed(const struct evaluation *e, uint64_t value)
{
    return e->memory->machine->word_bytes == 4 ? (int32_t)(uint32_t)value : (int64_t)value;
}

static void push_register(struct evaluation *e, uint64_t number)
{
    const int64_t offset = (int64_t)cfi_take_leb(&e->c, true);
    if (number >= e->memory->machine->n_registers || !(e->memory->known >> number & 1)) {
        e->c.is_bad = true;
        return;
    }
    push(e, e->memory->registers[number] + (uint64_t)offset);
}

static void push_loaded(struct evaluation *e, unsigned bytes)
{
    uint64_t value = 0;
    const bool is_size = bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8;
    e->c.is_bad |= !is_size || !lull_unwind_load(e->memory, pop(e), bytes, &value);
    push(e, value);
}

static void jump(struct evaluation *e, bool is_taken)
{
    const int64_t by = cfi_take_signed(&e->c, 2);
    if (!is_taken) {
        return;
    }
    if (by < e->start - e->c.at || by > e->c.end - e->c.at) {
        e->c.is_bad = true;
        return;
    }
    e->c.at += by;
}

static uint64_t shifted(uint64_t value, uint64_t by, bool is_left)
{
    return by > 63 ? 0 : is_left ? value << by : value >> by;
}

/* Two values become one. False: the operation is another. */
static bool combine(struct evaluation *e, uint8_t operation)
{
    if (operation < OP_AND || operation > OP_NOT_EQUAL || operation == OP_NEGATE ||
        operation == OP_NOT || operation == OP_PLUS_CONSTANT || operation == OP_BRANCH) {
        return false;
    }
    const uint64_t b = pop(e), a = pop(e);
    const int64_t sa = as_signed(e, a), sb = as_signed(e, b);
    const bool overflows = sb == 0 || (sb == -1 && sa == INT64_MIN);
    const uint64_t results[] = {
        [OP_AND - OP_AND] = a & b,
        [OP_DIVIDE - OP_AND] = overflows ? 0 : (uint64_t)(sa / sb),
        [OP_MINUS - OP_AND] = a - b,
        [OP_MODULO - OP_AND] = b == 0 ? 0 : a % b,
        [OP_TIMES - OP_AND] = a * b,
        [OP_OR - OP_AND] = a | b,
        [OP_PLUS - OP_AND] = a + b,
        [OP_SHIFT_LEFT - OP_AND] = shifted(a, b, true),
        [OP_SHIFT_RIGHT - OP_AND] = shifted(a, b, false),
        [OP_SHIFT_RIGHT_SIGNED - OP_AND] = (uint64_t)(sa >> MIN(b, 63)),
        [OP_XOR - OP_AND] = a ^ b,
        [OP_EQUAL - OP_AND] = a == b,
        [OP_GREATER_OR_EQUAL - OP_AND] = sa >= sb,
        [OP_GREATER - OP_AND] = sa > sb,
        [OP_LESS_OR_EQUAL - OP_AND] = sa <= sb,
        [OP_LESS - OP_AND] = sa < sb,
        [OP_NOT_EQUAL - OP_AND] = a != b,
    };
    e->c.is_bad |= (operation == OP_DIVIDE && overflows) || (operation == OP_MODULO && b == 0);
    push(e, results[operation - OP_AND]);
    return true;
}

/* Operations on the stack of values. False: it is another. */
static bool arrange(struct evaluation *e, uint8_t operation)
{
    uint64_t a, b, c;
    switch (operation) {
    case OP_DUPLICATE:
        push_copy(e, 0);
        return true;
    case OP_DROP:
        pop(e);
        return true;
    case OP_OVER:
        push_copy(e, 1);
        return true;
    case OP_PICK:
        push_copy(e, cfi_take(&e->c, 1));
        return true;
    case OP_SWAP:
        a = pop(e), b = pop(e);
        push(e, a);
        push(e, b);
        return true;
    case OP_ROTATE:
        a = pop(e), b = pop(e), c = pop(e);
        push(e, a);
        push(e, c);
        push(e, b);
        return true;
    case OP_ABSOLUTE:
        a = pop(e);
        push(e, as_signed(e, a) < 0 ? -a : a);
        return true;
    case OP_NEGATE:
        push(e, -pop(e));
        return true;
    case OP_NOT:
        push(e, ~pop(e));
        return true;
    case OP_PLUS_CONSTANT:
        a = pop(e);
        push(e, a + cfi_take_leb(&e->c, false));
        return true;
    default:
        return false;
    }
}

static void push_constant(struct evaluation *e, uint8_t operation)
{
    const unsigned bytes = 1u << ((operation - OP_CONSTANT_1U) / 2);
    push(e, (operation - OP_CONSTANT_1U) % 2 ? (uint64_t)cfi_take_signed(&e->c, bytes)
                                             : cfi_take(&e->c, bytes));
}

static void step(struct evaluation *e)
{
    const uint8_t operation = (uint8_t)cfi_take(&e->c, 1);
    if (combine(e, operation) || arrange(e, operation)) {
        return;
    }
    if (operation >= OP_CONSTANT_1U && operation <= OP_CONSTANT_8S) {
        push_constant(e, operation);
    } else if (operation >= OP_LITERAL && operation < OP_LITERAL + 32) {
        push(e, operation - OP_LITERAL);
    } else if (operation >= OP_REGISTER && operation < OP_REGISTER + 32) {
        push_register(e, operation - OP_REGISTER);
    } else if (operation == OP_REGISTER_X) {
        push_register(e, cfi_take_leb(&e->c, false));
    } else if (operation == OP_CONSTANT_U || operation == OP_CONSTANT_S) {
        push(e, cfi_take_leb(&e->c, operation == OP_CONSTANT_S));
    } else if (operation == OP_ADDRESS) {
        push(e, cfi_take(&e->c, e->memory->machine->word_bytes));
    } else if (operation == OP_LOAD) {
        push_loaded(e, e->memory->machine->word_bytes);
    } else if (operation == OP_LOAD_SIZE) {
        push_loaded(e, (unsigned)cfi_take(&e->c, 1));
    } else if (operation == OP_BRANCH || operation == OP_JUMP) {
        jump(e, operation == OP_JUMP || pop(e) != 0);
    } else {
        e->c.is_bad |= operation != OP_NOP;
    }
}

bool lull_unwind_evaluate(const struct lull_unwind_memory *memory, const uint8_t *expression,
                          size_t size, bool has_value, uint64_t *value)
{
    struct evaluation e = {
        .memory = memory, .c = {expression, expression + size, false}, .start = expression};
    if (has_value) {
        push(&e, *value);
    }
    for (unsigned i = 0; e.c.at < e.c.end && !e.c.is_bad; i++) {
        if (i >= MOST_STEPS) {
            return false;
        }
        step(&e);
    }
    *value = pop(&e);
    return !e.c.is_bad;
}
