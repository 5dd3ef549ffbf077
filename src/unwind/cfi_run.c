/* SPDX-License-Identifier: MIT */
/* Runs the programs of call frame information (DWARF 5, section 6.4.2) up to an address. */
#include <string.h>

#include "unwind/private.h"

/* Real programs have some dozen, and remember one state. */
#define MOST_INSTRUCTIONS 65536u
#define MOST_REMEMBERED 8u

enum instruction {
    /* Two high bits; the low six are a number. */
    ADVANCE = 0x40,
    OFFSET = 0x80,
    RESTORE = 0xc0,
    NOP = 0x00,
    SET_LOCATION = 0x01,
    ADVANCE_1 = 0x02,
    ADVANCE_2 = 0x03,
    ADVANCE_4 = 0x04,
    OFFSET_EXTENDED = 0x05,
    RESTORE_EXTENDED = 0x06,
    UNDEFINED = 0x07,
    SAME_VALUE = 0x08,
    REGISTER = 0x09,
    REMEMBER = 0x0a,
    RECALL = 0x0b,
    FRAME = 0x0c,
    FRAME_REGISTER = 0x0d,
    FRAME_OFFSET = 0x0e,
    FRAME_EXPRESSION = 0x0f,
    EXPRESSION = 0x10,
    OFFSET_EXTENDED_SF = 0x11,
    FRAME_SF = 0x12,
    FRAME_OFFSET_SF = 0x13,
    IS_OFFSET = 0x14,
    IS_OFFSET_SF = 0x15,
    IS_EXPRESSION = 0x16,
    AARCH64_SIGNED = 0x2d, /* the return address has a signature, which is cut off anyway */
    GNU_ARGUMENTS_SIZE = 0x2e,
    GNU_OFFSET_NEGATIVE = 0x2f,
};

struct state {
    struct lull_cfi_rule frame;
    struct lull_cfi_rule rules[LULL_UNWIND_REGISTERS];
};

struct run {
    const struct lull_cfi *cfi;
    const struct cfi_common *common;
    struct cfi_cursor c;
    uint64_t location;
    unsigned n_instructions;
    struct state now;
    const struct state *initial; /* NULL while it is made */
    struct state remembered[MOST_REMEMBERED];
    unsigned n_remembered;
};

/* The rule of a register; those that are not followed share one that nobody reads. */
static struct lull_cfi_rule *rule_of(struct run *r, uint64_t number, struct lull_cfi_rule *ignored)
{
    return number < r->cfi->machine->n_registers ? &r->now.rules[number] : ignored;
}

static void set_rule(struct run *r, uint64_t number, uint8_t kind, int64_t offset)
{
    struct lull_cfi_rule ignored;
    *rule_of(r, number, &ignored) =
        (struct lull_cfi_rule){.kind = kind, .of = (uint8_t)number, .offset = offset};
}

static void set_register(struct run *r, uint64_t number, uint64_t from)
{
    struct lull_cfi_rule ignored;
    const bool is_known = from < r->cfi->machine->n_registers;
    *rule_of(r, number, &ignored) =
        (struct lull_cfi_rule){.kind = is_known ? LULL_CFI_REGISTER : LULL_CFI_UNDEFINED,
                               .of = (uint8_t)number,
                               .from = is_known ? (uint8_t)from : 0};
}

static struct lull_cfi_rule take_expression(struct run *r, uint8_t kind)
{
    const uint64_t size = cfi_take_leb(&r->c, false);
    const uint8_t *at = cfi_skip(&r->c, size);
    r->c.is_bad |= size > UINT32_MAX;
    return (struct lull_cfi_rule){.kind = kind, .at = at, .size = (uint32_t)size};
}

static void set_expression(struct run *r, uint8_t kind)
{
    struct lull_cfi_rule ignored, *rule;
    const uint64_t number = cfi_take_leb(&r->c, false);
    rule = rule_of(r, number, &ignored);
    *rule = take_expression(r, kind);
    rule->of = (uint8_t)number;
}

static void restore(struct run *r, uint64_t number)
{
    struct lull_cfi_rule ignored;
    r->c.is_bad |= !r->initial;
    if (number < r->cfi->machine->n_registers && r->initial) {
        *rule_of(r, number, &ignored) = r->initial->rules[number];
    }
}

static int64_t factored(const struct run *r, uint64_t value)
{
    return (int64_t)(value * (uint64_t)r->common->data_factor);
}

static void set_frame(struct run *r, uint64_t number, int64_t offset)
{
    r->c.is_bad |= number >= r->cfi->machine->n_registers;
    r->now.frame =
        (struct lull_cfi_rule){.kind = LULL_CFI_IS, .from = (uint8_t)number, .offset = offset};
}

static void remember(struct run *r)
{
    if (r->n_remembered >= MOST_REMEMBERED) {
        r->c.is_bad = true;
        return;
    }
    r->remembered[r->n_remembered++] = r->now;
}

static void recall(struct run *r)
{
    if (r->n_remembered == 0) {
        r->c.is_bad = true;
        return;
    }
    r->now = r->remembered[--r->n_remembered];
}

/* Instructions about the frame's address. False: it is another. */
static bool run_frame(struct run *r, uint8_t instruction)
{
    struct cfi_cursor *c = &r->c;
    const bool is_register = r->now.frame.kind == LULL_CFI_IS;
    uint64_t number;
    switch (instruction) {
    case FRAME:
        number = cfi_take_leb(c, false);
        set_frame(r, number, (int64_t)cfi_take_leb(c, false));
        return true;
    case FRAME_SF:
        number = cfi_take_leb(c, false);
        set_frame(r, number, factored(r, cfi_take_leb(c, true)));
        return true;
    case FRAME_REGISTER:
        c->is_bad |= !is_register;
        set_frame(r, cfi_take_leb(c, false), r->now.frame.offset);
        return true;
    case FRAME_OFFSET:
        c->is_bad |= !is_register;
        r->now.frame.offset = (int64_t)cfi_take_leb(c, false);
        return true;
    case FRAME_OFFSET_SF:
        c->is_bad |= !is_register;
        r->now.frame.offset = factored(r, cfi_take_leb(c, true));
        return true;
    case FRAME_EXPRESSION:
        r->now.frame = take_expression(r, LULL_CFI_IS_EXPRESSION);
        return true;
    default:
        return false;
    }
}

/* Instructions with a register and an offset. False: it is another. */
static bool run_offset(struct run *r, uint8_t instruction)
{
    static const struct {
        uint8_t instruction, kind;
        bool is_signed, is_negative;
    } kinds[] = {{OFFSET_EXTENDED, LULL_CFI_AT, false, false},
                 {OFFSET_EXTENDED_SF, LULL_CFI_AT, true, false},
                 {GNU_OFFSET_NEGATIVE, LULL_CFI_AT, false, true},
                 {IS_OFFSET, LULL_CFI_IS, false, false},
                 {IS_OFFSET_SF, LULL_CFI_IS, true, false}};
    for (size_t i = 0; i < G_N_ELEMENTS(kinds); i++) {
        if (kinds[i].instruction == instruction) {
            const uint64_t number = cfi_take_leb(&r->c, false);
            const uint64_t offset = cfi_take_leb(&r->c, kinds[i].is_signed);
            set_rule(r, number, kinds[i].kind,
                     factored(r, kinds[i].is_negative ? -offset : offset));
            return true;
        }
    }
    return false;
}

static void run_register(struct run *r, uint8_t instruction)
{
    struct cfi_cursor *c = &r->c;
    uint64_t number;
    switch (instruction) {
    case NOP:
    case AARCH64_SIGNED:
        break;
    case RESTORE_EXTENDED:
        restore(r, cfi_take_leb(c, false));
        break;
    case UNDEFINED:
        set_rule(r, cfi_take_leb(c, false), LULL_CFI_UNDEFINED, 0);
        break;
    case SAME_VALUE:
        set_rule(r, cfi_take_leb(c, false), LULL_CFI_SAME, 0);
        break;
    case REGISTER:
        number = cfi_take_leb(c, false);
        set_register(r, number, cfi_take_leb(c, false));
        break;
    case REMEMBER:
        remember(r);
        break;
    case RECALL:
        recall(r);
        break;
    case EXPRESSION:
        set_expression(r, LULL_CFI_AT_EXPRESSION);
        break;
    case IS_EXPRESSION:
        set_expression(r, LULL_CFI_IS_EXPRESSION);
        break;
    case GNU_ARGUMENTS_SIZE:
        cfi_take_leb(c, false);
        break;
    default:
        c->is_bad = true;
        break;
    }
}

/* How far an instruction advances, in units of the code; false: it is another. */
static bool take_advance(struct run *r, uint8_t instruction, uint64_t *units)
{
    switch (instruction) {
    case ADVANCE_1:
    case ADVANCE_2:
    case ADVANCE_4:
        *units = cfi_take(&r->c, 1u << (instruction - ADVANCE_1));
        return true;
    default:
        *units = instruction & 0x3f;
        return (instruction & 0xc0) == ADVANCE;
    }
}

/* Up to `address`, or the end. */
static bool run_until(struct run *r, const uint8_t *start, const uint8_t *end, uint64_t address,
                      const struct cfi_section *section)
{
    r->c = (struct cfi_cursor){start, end, false};
    while (r->c.at < end && !r->c.is_bad) {
        const uint8_t instruction = (uint8_t)cfi_take(&r->c, 1);
        uint64_t units, location = r->location;
        if (r->n_instructions++ >= MOST_INSTRUCTIONS) {
            return false;
        }
        if (take_advance(r, instruction, &units)) {
            location += units * r->common->code_factor;
        } else if (instruction == SET_LOCATION) {
            const uint64_t here = section->address + (uint64_t)(r->c.at - section->data);
            location = cfi_take_address(&r->c, r->cfi, r->common->encoding, here);
        } else if ((instruction & 0xc0) == OFFSET) {
            set_rule(r, instruction & 0x3f, LULL_CFI_AT, factored(r, cfi_take_leb(&r->c, false)));
        } else if ((instruction & 0xc0) == RESTORE) {
            restore(r, instruction & 0x3f);
        } else if (!run_frame(r, instruction) && !run_offset(r, instruction)) {
            run_register(r, instruction);
        }
        if (location > address) {
            break;
        }
        r->location = location;
    }
    return !r->c.is_bad;
}

static const struct cfi_section *section_of(const struct lull_cfi *cfi, const uint8_t *at)
{
    for (size_t i = 0; i < cfi->sections.count; i++) {
        const struct cfi_section *section = &cfi->sections.items[i];
        if (at >= section->data && at <= section->data + section->size) {
            return section;
        }
    }
    return NULL;
}

/* Registers that have not changed need no rule. */
static void keep_rules(struct lull_cfi *cfi, const struct state *state, struct lull_cfi_row *row)
{
    row->first = (uint32_t)cfi->rules.count;
    for (unsigned i = 0; i < cfi->machine->n_registers; i++) {
        if (state->rules[i].kind != LULL_CFI_SAME) {
            lull_vec_push(&cfi->rules, state->rules[i]);
            row->n_rules++;
        }
    }
}

bool cfi_run(struct lull_cfi *cfi, const struct cfi_function *function, uint64_t address,
             struct lull_cfi_row *row)
{
    const struct cfi_common *common = &cfi->commons.items[function->common];
    const struct cfi_section *section = section_of(cfi, function->program);
    struct run r = {.cfi = cfi, .common = common, .location = function->start};
    struct state initial;
    for (unsigned i = 0; i < LULL_UNWIND_REGISTERS; i++) {
        r.now.rules[i] = (struct lull_cfi_rule){.kind = LULL_CFI_SAME, .of = (uint8_t)i};
    }
    if (!section || !run_until(&r, common->program, common->end, UINT64_MAX, section)) {
        return false;
    }
    initial = r.now;
    r.initial = &initial;
    r.location = function->start;
    if (!run_until(&r, function->program, function->program_end, address, section) ||
        r.now.frame.kind == LULL_CFI_UNDEFINED) {
        return false;
    }
    row->frame = r.now.frame;
    row->return_address = common->return_address;
    row->is_signal = common->is_signal;
    keep_rules(cfi, &r.now, row);
    return true;
}
