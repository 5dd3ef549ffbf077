/* SPDX-License-Identifier: MIT */
/* What compiling and running a print program share. */
#ifndef LULL_VIEW_EVENT_PROGRAM_PRIVATE_H
#define LULL_VIEW_EVENT_PROGRAM_PRIVATE_H

#include "view/event/program.h"

enum lull_print_code {
    LULL_PRINT_PIECE,       /* the text alone; every operation copies its text and aligns first */
    LULL_PRINT_UNSIGNED_LE, /* decimal, starts on a whole byte, nobody's length or tag */
    LULL_PRINT_SIGNED_LE,
    LULL_PRINT_INTEGER, /* decimal, any */
    LULL_PRINT_HEX,
    LULL_PRINT_OTHER, /* by the dialect */
    LULL_PRINT_SKIP,  /* not shown */
    LULL_PRINT_REAL,
    LULL_PRINT_STRING,
    LULL_PRINT_TEXT,
    LULL_PRINT_ARRAY, /* what follows up to its END, as often as the count says; then `target` */
    LULL_PRINT_VARIANT,
    LULL_PRINT_JUMP,
    LULL_PRINT_END,
};

/* Pieces of text are copied this many bytes at a time, whatever their length is. */
#define LULL_PRINT_SLACK 32u
#define LULL_PRINT_SLOTS 64u

struct lull_print_op {
    uint8_t code; /* enum lull_print_code */
    uint8_t size, shift;
    bool is_signed, is_big_endian, is_hidden;
    bool numbers; /* ARRAY: "[0] = " */
    uint32_t align_mask;
    uint32_t text_at, text_length;
    const char *text;
    int32_t slot;
    uint32_t target;
    uint64_t count, bits_mask;
    const struct lull_choice *choices;
    uint32_t n_choices;
    const void *mapping;         /* for find_labels */
    struct lull_visit_int value; /* INTEGER, OTHER: all but the value itself */
};

struct lull_event_program {
    const struct lull_dialect *dialect;
    void (*find_labels)(const void *mapping, struct lull_visit_int *value, const char **labels);
    struct lull_print_op *ops;
    uint32_t n_ops;
    char *pool;
};

#endif
