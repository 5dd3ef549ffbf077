/* SPDX-License-Identifier: MIT */
/* The machines whose stacks can be unwound. */
#include "unwind/machine.h"

#include <elf.h>
#include <glib.h>
#include <string.h>

#define NONE LULL_UNWIND_NO_REGISTER
#define AARCH64_PC 32

/* perf: AX BX CX DX SI DI BP SP IP FLAGS CS SS DS ES FS GS R8 … R15. */
static const struct lull_unwind_machine x86_64 = {
    .name = "x86-64",
    .elf = EM_X86_64,
    .word_bytes = 8,
    .n_registers = 17,
    .stack_pointer = 7,
    .frame_pointer = 6,
    .return_address = 16,
    .of_perf = {0, 3,  2,  1,  4,  5,  6,  7,    16,   NONE, NONE, NONE, NONE, NONE, NONE, NONE, 8,
                9, 10, 11, 12, 13, 14, 15, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE},
};

static const struct lull_unwind_machine i386 = {
    .name = "i386",
    .elf = EM_386,
    .word_bytes = 4,
    .n_registers = 9,
    .stack_pointer = 4,
    .frame_pointer = 5,
    .return_address = 8,
    .of_perf = {0,    3,    1,    2,    6,    7,    5,    4,    8,    NONE, NONE,
                NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE,
                NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE},
};

/* perf: X0 … X29 LR SP PC. DWARF has no number for PC that code uses; here it is 32. */
static const struct lull_unwind_machine aarch64 = {
    .name = "AArch64",
    .elf = EM_AARCH64,
    .word_bytes = 8,
    .n_registers = 33,
    .stack_pointer = 31,
    .frame_pointer = 29,
    .return_address = AARCH64_PC,
    .of_perf = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16,
                17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32},
};

const struct lull_unwind_machine *lull_unwind_machine_find(const char *architecture, uint64_t abi,
                                                           uint64_t mask)
{
    enum { ABI_32 = 1, ABI_64 = 2 };
    /* A recording through a pipe may not say its architecture; PC is always among the registers. */
    const bool is_arm =
        architecture ? strcmp(architecture, "aarch64") == 0 : (mask >> AARCH64_PC & 1) != 0;
    const bool is_x86 = architecture ? strcmp(architecture, "x86_64") == 0 ||
                                           g_pattern_match_simple("i?86", architecture)
                                     : !is_arm;
    if (is_x86) {
        return abi == ABI_64 ? &x86_64 : abi == ABI_32 ? &i386 : NULL;
    }
    return is_arm && abi == ABI_64 ? &aarch64 : NULL;
}

const struct lull_unwind_machine *lull_unwind_machine_of_elf(uint16_t elf)
{
    static const struct lull_unwind_machine *const all[] = {&x86_64, &i386, &aarch64};
    for (size_t i = 0; i < G_N_ELEMENTS(all); i++) {
        if (all[i]->elf == elf) {
            return all[i];
        }
    }
    return NULL;
}
