/* SPDX-License-Identifier: MIT */
/* Call frame information (DWARF 5, section 6.4; .eh_frame: Linux Standard Base, "Exception Frames"): how
 * the registers of a caller are found, at each address of the code of a program or library. Sections are
 * indexed when they are added; rules are worked out for the addresses that are asked for, and kept. All
 * of it comes from files that may be damaged: what makes no sense has no rules. */
#ifndef LULL_UNWIND_CFI_H
#define LULL_UNWIND_CFI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind/machine.h"

struct lull_cfi;

enum lull_cfi_kind {
    LULL_CFI_UNDEFINED, /* it cannot be found; of the return address: there is no caller */
    LULL_CFI_AT,        /* in memory, `offset` bytes from the frame's address */
    LULL_CFI_IS, /* the frame's address and `offset`; the frame's address itself: a register and it */
    LULL_CFI_REGISTER,      /* in the register `from` */
    LULL_CFI_AT_EXPRESSION, /* in memory where an expression says */
    LULL_CFI_IS_EXPRESSION, /* what the expression says */
    LULL_CFI_SAME,          /* it has not changed */
};

/* Where a register of the caller is. */
struct lull_cfi_rule {
    uint8_t kind; /* enum lull_cfi_kind */
    uint8_t of;   /* the register */
    uint8_t from;
    uint32_t size;     /* of the expression */
    const uint8_t *at; /* borrowed from the section */
    int64_t offset;
};

/* What holds at an address. Of registers without a rule the caller has the same. */
struct lull_cfi_row {
    struct lull_cfi_rule frame; /* the frame's address ("CFA"): IS or IS_EXPRESSION */
    uint32_t first;             /* of its rules, for lull_cfi_rules() */
    uint8_t n_rules;
    uint8_t return_address; /* the register with it */
    bool is_signal;         /* the caller was interrupted: it did not call */
};

struct lull_cfi *lull_cfi_new(const struct lull_unwind_machine *machine);
void lull_cfi_free(struct lull_cfi *cfi);
const struct lull_unwind_machine *lull_cfi_machine(const struct lull_cfi *cfi);

/* Takes a section that is at `address` when the file is mapped as it says; g_free() frees `data`.
 * `is_debug`: it is .debug_frame, else .eh_frame. Where both say something, the first added counts. */
void lull_cfi_add(struct lull_cfi *cfi, uint8_t *data, size_t size, uint64_t address,
                  bool is_debug);
/* The sections that were added, by number; NULL: there are no more. Borrowed. */
const uint8_t *lull_cfi_section(const struct lull_cfi *cfi, size_t number, size_t *size,
                                uint64_t *address, bool *is_debug);
/* After the last is added. The number of functions of which something is known. */
size_t lull_cfi_finish(struct lull_cfi *cfi);

/* What holds at an address; NULL: nothing is known. Borrowed until the next call. */
const struct lull_cfi_row *lull_cfi_find(struct lull_cfi *cfi, uint64_t address);
const struct lull_cfi_rule *lull_cfi_rules(const struct lull_cfi *cfi,
                                           const struct lull_cfi_row *row);

#endif
