/* SPDX-License-Identifier: MIT */
/* What of a TSDL text is of one machine alone: its environment, the UUIDs of trace and clock, the
 * clock's offset. The rest is the same on all machines with one kernel and tracer, and is most of
 * the text by far. */
#ifndef LULL_CTF_TSDL_MACHINE_H
#define LULL_CTF_TSDL_MACHINE_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

struct tsdl_machine {
    GArray *spans;   /* struct tsdl_span, ascending: the parts that are the machine's */
    GString *blocks; /* a TSDL text that declares trace, environment and clocks, and no more */
    size_t after;    /* the last of these blocks in the text; what follows is no machine's */
};

struct tsdl_span {
    size_t start, end; /* bytes of the text */
};

/* Finds them without judging the rest. False if the text cannot be divided so: the environment
 * matters to the rest, or its braces do not match. Clear it in any case. */
bool tsdl_machine_find(struct tsdl_machine *machine, const char *text, size_t size);
/* The same much faster if all that follows the machine's blocks is as in another text, in which
 * `like` was found. False, and nothing to clear, if it is not. */
bool tsdl_machine_find_like(struct tsdl_machine *machine, const char *text, size_t size,
                            const struct tsdl_machine *like, const char *like_text,
                            size_t like_size);
void tsdl_machine_clear(struct tsdl_machine *machine);
/* Whether two texts are the same but for what is of the machines. */
bool tsdl_machine_same_rest(const struct tsdl_machine *a, const char *text_a, size_t size_a,
                            const struct tsdl_machine *b, const char *text_b, size_t size_b);
/* Equal for texts with the same rest. */
guint tsdl_machine_hash(const struct tsdl_machine *machine, const char *text, size_t size);

#endif
