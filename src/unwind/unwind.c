/* SPDX-License-Identifier: MIT */
/* Goes from frame to frame. */
#include "unwind/unwind.h"

#include <elf.h>
#include <glib.h>
#include <string.h>

/* Addresses of programs have no more bits; the others may hold a signature (AArch64's PAC). */
#define ARM_ADDRESS_MASK ((UINT64_C(1) << 48) - 1)

bool lull_unwind_start(struct lull_unwind_memory *memory, const char *architecture,
                       const uint8_t *registers, size_t registers_size, const uint8_t *stack,
                       size_t stack_size)
{
    uint64_t words[2 + 64];
    const size_t n = MIN(registers_size / 8, G_N_ELEMENTS(words));
    memcpy(words, registers, n * 8);
    *memory = (struct lull_unwind_memory){.stack = stack, .size = stack_size};
    memory->machine = n >= 2 ? lull_unwind_machine_find(architecture, words[0], words[1]) : NULL;
    if (!memory->machine) {
        return false;
    }
    size_t next = 2;
    for (unsigned i = 0; i < 64 && next < n; i++) {
        const uint8_t number =
            i < LULL_UNWIND_REGISTERS ? memory->machine->of_perf[i] : LULL_UNWIND_NO_REGISTER;
        if (!(words[1] >> i & 1)) {
            continue;
        }
        if (number != LULL_UNWIND_NO_REGISTER) {
            memory->registers[number] = words[next];
            memory->known |= UINT64_C(1) << number;
        }
        next++;
    }
    memory->start = memory->registers[memory->machine->stack_pointer];
    return memory->known >> memory->machine->stack_pointer & 1 &&
           memory->known >> memory->machine->return_address & 1;
}

static bool load_word(const struct lull_unwind_memory *m, uint64_t address, uint64_t *value)
{
    return lull_unwind_load(m, address, m->machine->word_bytes, value);
}

/* The value that a rule has; false: it cannot be found. */
static bool apply(const struct lull_unwind_memory *m, const struct lull_cfi_rule *rule,
                  uint64_t frame, uint64_t *value)
{
    switch (rule->kind) {
    case LULL_CFI_AT:
        return load_word(m, frame + (uint64_t)rule->offset, value);
    case LULL_CFI_IS:
        *value = frame + (uint64_t)rule->offset;
        return true;
    case LULL_CFI_REGISTER:
        *value = m->registers[rule->from];
        return m->known >> rule->from & 1;
    case LULL_CFI_AT_EXPRESSION:
        *value = frame;
        return lull_unwind_evaluate(m, rule->at, rule->size, true, value) &&
               load_word(m, *value, value);
    case LULL_CFI_IS_EXPRESSION:
        *value = frame;
        return lull_unwind_evaluate(m, rule->at, rule->size, true, value);
    default:
        return false;
    }
}

static bool find_frame(const struct lull_unwind_memory *m, const struct lull_cfi_rule *rule,
                       uint64_t *frame)
{
    if (rule->kind == LULL_CFI_IS_EXPRESSION) {
        return lull_unwind_evaluate(m, rule->at, rule->size, false, frame);
    }
    *frame = m->registers[rule->from] + (uint64_t)rule->offset;
    return m->known >> rule->from & 1;
}

static void set(struct lull_unwind_memory *m, unsigned number, uint64_t value, bool is_known)
{
    const uint64_t bit = UINT64_C(1) << number;
    m->registers[number] = m->machine->word_bytes == 4 ? (uint32_t)value : value;
    m->known = is_known ? m->known | bit : m->known & ~bit;
}

/* Where the stack is searched: what is not there was not recorded, or nonsense. */
static enum lull_unwind_end why_not_loaded(const struct lull_unwind_memory *m, uint64_t address)
{
    return address >= m->start + m->size && address - m->start < UINT64_C(1) << 30
               ? LULL_UNWIND_SHORT
               : LULL_UNWIND_BROKEN;
}

/* By the rules of its file. False: there is no caller, *end says why. */
static bool step_by_rules(struct lull_unwind_memory *m, const struct lull_unwind_code *code,
                          const struct lull_cfi_row *row, enum lull_unwind_end *end)
{
    const struct lull_cfi_rule *rules = lull_cfi_rules(code->cfi, row);
    struct lull_unwind_memory caller = *m;
    uint64_t frame;
    *end = LULL_UNWIND_BROKEN;
    if (!find_frame(m, &row->frame, &frame)) {
        return false;
    }
    set(&caller, m->machine->stack_pointer, frame, true);
    for (unsigned i = 0; i < row->n_rules; i++) {
        uint64_t value = 0;
        const bool is_known = apply(m, &rules[i], frame, &value);
        const bool is_return = rules[i].of == row->return_address;
        if (is_return && rules[i].kind == LULL_CFI_UNDEFINED) {
            *end = LULL_UNWIND_WHOLE;
            return false;
        }
        if (is_return && !is_known) {
            *end = why_not_loaded(m, frame + (uint64_t)rules[i].offset);
            return false;
        }
        set(&caller, rules[i].of, value, is_known);
    }
    if (!(caller.known >> row->return_address & 1)) {
        return false;
    }
    set(&caller, m->machine->return_address, caller.registers[row->return_address], true);
    *m = caller;
    return true;
}

/* Code without rules, such as that which programs make while they run, may keep frame pointers: the
 * caller's, and behind it where to return to. */
static bool step_by_pointer(struct lull_unwind_memory *m, enum lull_unwind_end *end)
{
    const struct lull_unwind_machine *machine = m->machine;
    const uint64_t pointer = m->registers[machine->frame_pointer];
    uint64_t previous, back;
    *end = LULL_UNWIND_UNKNOWN;
    if (!(m->known >> machine->frame_pointer & 1) || pointer % machine->word_bytes != 0 ||
        pointer < m->registers[machine->stack_pointer] || !load_word(m, pointer, &previous) ||
        !load_word(m, pointer + machine->word_bytes, &back)) {
        return false;
    }
    set(m, machine->frame_pointer, previous, true);
    set(m, machine->stack_pointer, pointer + UINT64_C(2) * machine->word_bytes, true);
    set(m, machine->return_address, back, true);
    return true;
}

/* To the caller of the frame of which `code` is. */
static bool step(struct lull_unwind_memory *m, const struct lull_unwind_code *code,
                 const struct lull_cfi_row *row, bool is_first, enum lull_unwind_end *end)
{
    const struct lull_unwind_machine *machine = m->machine;
    const uint64_t stack = m->registers[machine->stack_pointer];
    if (!(row ? step_by_rules(m, code, row, end) : step_by_pointer(m, end))) {
        return false;
    }
    const uint64_t now = m->registers[machine->stack_pointer];
    if (machine->elf == EM_AARCH64) {
        m->registers[machine->return_address] &= ARM_ADDRESS_MASK;
    }
    /* A stack of its own has what handles a signal; else only the innermost function may have none. */
    const bool is_ahead = now > stack || (is_first && now == stack) || (row && row->is_signal);
    *end = m->registers[machine->return_address] == 0 ? LULL_UNWIND_WHOLE
           : row                                      ? LULL_UNWIND_BROKEN
                                                      : LULL_UNWIND_UNKNOWN;
    return *end != LULL_UNWIND_WHOLE && is_ahead;
}

enum lull_unwind_end lull_unwind(struct lull_unwind_memory *m, lull_unwind_find *find, void *user,
                                 uint64_t *to, uint32_t most, uint32_t *n)
{
    const unsigned counter = m->machine->return_address;
    enum lull_unwind_end end;
    struct lull_unwind_code code;
    to[0] = m->registers[counter];
    *n = 1;
    if (!find(user, to[0], &code)) {
        code.cfi = NULL;
    }
    for (;;) {
        const bool is_known = code.cfi && lull_cfi_machine(code.cfi) == m->machine;
        const struct lull_cfi_row *row = is_known ? lull_cfi_find(code.cfi, code.address) : NULL;
        /* A call may be the last of its function: what counts is where it is, not where it returns to. */
        const unsigned back = !row || !row->is_signal;
        if (!step(m, &code, row, *n == 1, &end) ||
            !find(user, m->registers[counter] - back, &code)) {
            return end;
        }
        if (*n >= most) {
            return LULL_UNWIND_FULL;
        }
        to[(*n)++] = m->registers[counter];
    }
}
