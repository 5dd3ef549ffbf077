/* SPDX-License-Identifier: MIT */
/* Registers of the machines whose stacks can be unwound, by the numbers that DWARF gives them (System
 * V ABI supplements for x86-64, i386 and AArch64). */
#ifndef LULL_UNWIND_MACHINE_H
#define LULL_UNWIND_MACHINE_H

#include <stdbool.h>
#include <stdint.h>

/* The most registers that a machine has here. */
#define LULL_UNWIND_REGISTERS 33u
#define LULL_UNWIND_NO_REGISTER UINT8_MAX

struct lull_unwind_machine {
    const char *name;      /* as in "i386" */
    uint16_t elf;          /* e_machine */
    uint8_t word_bytes;    /* of a register, and of a slot of the stack */
    uint8_t n_registers;   /* those that are followed: 0 … n - 1 */
    uint8_t stack_pointer; /* their numbers */
    uint8_t frame_pointer;
    uint8_t return_address; /* also of the program counter of the innermost frame */
    /* perf's number of a register (asm/perf_regs.h) → DWARF's; LULL_UNWIND_NO_REGISTER: it is not needed. */
    uint8_t of_perf[LULL_UNWIND_REGISTERS];
};

/* The machine whose registers perf recorded: `architecture` as uname(2) has it, or NULL; perf's ABI (1: 32
 * bits, 2: 64 bits) and its mask of registers. NULL: none that is known here. */
const struct lull_unwind_machine *lull_unwind_machine_find(const char *architecture, uint64_t abi,
                                                           uint64_t mask);
/* By e_machine of ELF; NULL: none that is known here. */
const struct lull_unwind_machine *lull_unwind_machine_of_elf(uint16_t elf);

#endif
