/* SPDX-License-Identifier: MIT */
/* Expressions of DWARF, as far as they say where a frame or a register is. */
#ifndef LULL_UNWIND_EXPRESSION_H
#define LULL_UNWIND_EXPRESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind/machine.h"

/* The registers of a frame, and the part of the stack that is known. */
struct lull_unwind_memory {
    const struct lull_unwind_machine *machine;
    uint64_t registers[LULL_UNWIND_REGISTERS];
    uint64_t known; /* bits of the registers */
    const uint8_t *stack;
    uint64_t start, size; /* its first address */
};

/* A number of 1, 2, 4 or 8 bytes at an address; false: it is not known. */
bool lull_unwind_load(const struct lull_unwind_memory *memory, uint64_t address, unsigned bytes,
                      uint64_t *value);
/* What an expression comes to, which starts with *value on its stack if it `has_value`; false: it cannot be
 * said. */
bool lull_unwind_evaluate(const struct lull_unwind_memory *memory, const uint8_t *expression,
                          size_t size, bool has_value, uint64_t *value);

#endif
