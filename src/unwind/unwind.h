/* SPDX-License-Identifier: MIT */
/* From the registers of a thread and the top of its stack, as they were recorded, to the calls that it was
 * in. What is recorded may be damaged: nothing outside of the recorded stack is read, and an end comes
 * after as many frames as there is room for. */
#ifndef LULL_UNWIND_UNWIND_H
#define LULL_UNWIND_UNWIND_H

#include "unwind/cfi.h"
#include "unwind/expression.h"

/* What lies at an address of the process. */
struct lull_unwind_code {
    struct lull_cfi *cfi; /* of the file that is mapped there; NULL: none is known */
    uint64_t address;     /* as its call frame information has it */
};

/* False: nothing that can be run. */
typedef bool lull_unwind_find(void *user, uint64_t address, struct lull_unwind_code *code);

/* Why there are no more frames. */
enum lull_unwind_end {
    LULL_UNWIND_WHOLE, /* the outermost was reached */
    LULL_UNWIND_SHORT, /* the rest lies beyond the recorded part of the stack */
    LULL_UNWIND_UNKNOWN, /* how the last one calls is not known: its file is not there, or does not say */
    LULL_UNWIND_BROKEN, /* what the rules lead to is no code */
    LULL_UNWIND_FULL,   /* no more were wanted */
};
#define LULL_UNWIND_ENDS 5u

/* Fills `memory` with what perf recorded: `registers` as 64-bit words (ABI, mask, and the value of each
 * register of the mask), and the stack from the stack pointer on, which is borrowed. `architecture`: see
 * lull_unwind_machine_find(). False: there is nothing to unwind. */
bool lull_unwind_start(struct lull_unwind_memory *memory, const char *architecture,
                       const uint8_t *registers, size_t registers_size, const uint8_t *stack,
                       size_t stack_size);

/* Addresses from the innermost frame on, `most` of them at most; all but the first are those to which calls
 * return. Their number to *n, which is 1 at least. `memory` becomes that of the last frame. */
enum lull_unwind_end lull_unwind(struct lull_unwind_memory *memory, lull_unwind_find *find,
                                 void *user, uint64_t *to, uint32_t most, uint32_t *n);

#endif
