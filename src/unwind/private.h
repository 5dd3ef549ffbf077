/* SPDX-License-Identifier: MIT */
/* What the files that read call frame information share. */
#ifndef LULL_UNWIND_PRIVATE_H
#define LULL_UNWIND_PRIVATE_H

#include "base/bits.h"
#include "base/map.h"
#include "base/vec.h"
#include "unwind/cfi.h"

/* A position in bytes; all machines here have the low byte first. What is not there is 0. */
struct cfi_cursor {
    const uint8_t *at, *end;
    bool is_bad;
};

static inline const uint8_t *cfi_skip(struct cfi_cursor *c, uint64_t bytes)
{
    const uint8_t *at = c->at;
    if (bytes > (uint64_t)(c->end - at)) {
        c->is_bad = true;
        c->at = c->end;
        return NULL;
    }
    c->at += bytes;
    return at;
}

/* An integer of 1, 2, 4 or 8 bytes. */
static inline uint64_t cfi_take(struct cfi_cursor *c, unsigned bytes)
{
    const uint8_t *p = cfi_skip(c, bytes);
    return !p           ? 0
           : bytes == 1 ? p[0]
           : bytes == 2 ? lull_load_u16(p, false)
           : bytes == 4 ? lull_load_u32(p, false)
                        : lull_load_u64(p, false);
}

static inline int64_t cfi_take_signed(struct cfi_cursor *c, unsigned bytes)
{
    return (int64_t)lull_sign_extend(cfi_take(c, bytes), 8 * bytes);
}

static inline uint64_t cfi_take_leb(struct cfi_cursor *c, bool is_signed)
{
    uint64_t value = 0;
    const uint64_t room = (uint64_t)(c->end - c->at);
    const uint64_t bytes = lull_load_leb128(c->at, room, is_signed, &value);
    if (bytes == 0 || bytes > room) {
        c->is_bad = true;
        c->at = c->end;
        return 0;
    }
    c->at += bytes;
    return value;
}

/* What functions have in common (CIE). */
struct cfi_common {
    uint64_t code_factor;
    int64_t data_factor;
    const uint8_t *program, *end; /* of its initial rules */
    uint8_t return_address;
    uint8_t encoding; /* of addresses */
    bool has_data;    /* of the augmentation, with its size in front */
    bool is_signal;
    bool is_good;
};

/* A function (FDE). */
struct cfi_function {
    uint64_t start, end;
    const uint8_t *program, *program_end;
    uint32_t common, number; /* number: in the order in which they were added */
};

struct cfi_section {
    uint8_t *data;
    size_t size;
    uint64_t address;
    bool is_debug;
};

struct lull_cfi {
    const struct lull_unwind_machine *machine;
    LULL_VEC(struct cfi_section) sections;
    LULL_VEC(struct cfi_common) commons;
    LULL_VEC(struct cfi_function) functions; /* by start once it is finished */
    struct lull_map rows_by_address;         /* → index of the row */
    LULL_VEC(struct lull_cfi_row) rows;      /* without a frame's address: nothing is known */
    LULL_VEC(struct lull_cfi_rule) rules;
};

/* An address in one of the encodings of .eh_frame, which lies at `address` itself. */
uint64_t cfi_take_address(struct cfi_cursor *c, const struct lull_cfi *cfi, uint8_t encoding,
                          uint64_t address);

/* Works out what holds at an address of the function, and appends its rules. False: it makes no sense. */
bool cfi_run(struct lull_cfi *cfi, const struct cfi_function *function, uint64_t address,
             struct lull_cfi_row *row);

#endif
