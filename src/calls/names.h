/* SPDX-License-Identifier: MIT */
/* How functions on call stacks are called. */
#ifndef LULL_CALLS_NAMES_H
#define LULL_CALLS_NAMES_H

#include "calls/calls.h"

struct lull_symbol_table;

/* What a function is, for sums over tasks: those that are equal in all bytes are the same. */
struct lull_calls_identity {
    uint64_t what; /* place, label, or address */
    uint32_t host, layer;
};

struct lull_calls_identity lull_calls_identify(const struct lull_calls *calls,
                                               const struct lull_calls_function *function);

/* Appends the name of the function: "main", "libm.so.6+0x1c2f0", "0x40472b", "[read]" for a system
 * call, "?" for no address. `others` (or NULL) names addresses of which the trace does not say what lies there. */
void lull_calls_append_name(GString *text, const struct lull_model *model,
                            const struct lull_symbol_table *others,
                            const struct lull_calls_function *function);
/* "native", "python", "recording", "syscall", "kernel", "irq". */
const char *lull_calls_kind(const struct lull_calls_function *function);
/* The file that it is in; NULL: not known, or of no file. */
const char *lull_calls_object(const struct lull_model *model,
                              const struct lull_calls_function *function);

/* The frames of its place, *n of them, of which the last is its own; none: it is not known. */
const struct lull_frame *lull_calls_place(const struct lull_model *model,
                                          const struct lull_calls_function *function, uint32_t *n);
/* Where its source starts. */
struct lull_source_line lull_calls_start(const struct lull_model *model,
                                         const struct lull_calls_function *function);

#endif
