/* SPDX-License-Identifier: MIT */
/* How the bytes of one class of events are laid out, step by step, for those who show every field
 * of every event and cannot afford a call for each: compiled into something of their own, once a
 * class. It says what lull_event_visit() would report; a class that it cannot describe has no
 * layout and must be visited. */
#ifndef LULL_BASE_LAYOUT_H
#define LULL_BASE_LAYOUT_H

#include <lull/event.h>

/* Elements of arrays that take no bits, in one event: more of them are nonsense. Not more for each
 * array, because arrays of arrays multiply. */
#define LULL_MOST_EMPTY_ELEMENTS 1024u

enum lull_step_kind {
    LULL_STEP_SCOPE, /* `name` as for LULL_VISIT_SCOPE */
    LULL_STEP_SCOPE_END,
    LULL_STEP_STRUCT,
    LULL_STEP_STRUCT_END,
    LULL_STEP_ARRAY,      /* the steps up to `target`, as often as the count says */
    LULL_STEP_ARRAY_END,  /* at `target` - 1 */
    LULL_STEP_VARIANT,    /* the value at `slot` selects the step to go on with */
    LULL_STEP_OPTION_END, /* on with `target`, which is after the variant */
    LULL_STEP_INT,
    LULL_STEP_REAL,
    LULL_STEP_STRING, /* ends with a NUL */
    LULL_STEP_TEXT,   /* as many bytes as the count says; the text ends at the first NUL in them */
    LULL_STEP_ALIGN,  /* nothing else */
    LULL_STEP_DONE,
};

/* An option of a variant and one range of tag values that select it; the first that holds the tag
 * counts. */
struct lull_choice {
    uint64_t lower, upper;
    uint32_t target;
};

struct lull_step {
    enum lull_step_kind kind;
    const char *name; /* NULL: none (elements of arrays) */
    uint32_t align;   /* bits, a power of two: the position is rounded up to it before all else */
    uint8_t size;     /* INT, REAL: bits */
    uint8_t base;     /* INT: 2, 8, 10, 16 */
    bool is_signed;   /* INT; VARIANT: of the tag */
    bool is_big_endian;
    bool is_enum;
    bool is_hidden;      /* stepped over: lull_visit_flags requested it */
    const void *mapping; /* for find_labels of the layout */
    int32_t slot;        /* INT: keep the value there, or -1. VARIANT: the tag. ARRAY, TEXT: the
                            count, or -1 */
    uint64_t count;      /* if slot is -1 */
    uint32_t target;
    const struct lull_choice *choices;
    uint32_t n_choices;
};

/* Free with lull_layout_free(); names and mappings live as long as the session. */
struct lull_layout {
    struct lull_step *steps; /* the last is DONE */
    uint32_t n_steps, n_slots;
    GPtrArray *owned;
    /* Fills in the labels of an enumeration's value; room for LULL_VISIT_LABELS. NULL: there are no
     * enumerations. */
    void (*find_labels)(const void *mapping, struct lull_visit_int *value, const char **labels);
};

/* The bytes of one event: bit positions from `data`; alignment counts from there too.
 * LULL_LOAD_SLACK bytes after the end may be read. */
struct lull_event_bytes {
    const uint8_t *data;
    uint64_t start, end;
    uint64_t packet; /* changes from packet to packet of the stream */
};

void lull_layout_free(struct lull_layout *layout);

#endif
