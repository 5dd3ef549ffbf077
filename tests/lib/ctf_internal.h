/* SPDX-License-Identifier: MIT */
/* Between the parts of the trace writer: bits, values, metadata text. */
#ifndef CTF_INTERNAL_H
#define CTF_INTERNAL_H

#include "lib/ctf_writer.h"

/* A growing run of bits; `at` is where the next field goes, counted from the packet's begin. */
struct ctf_bits {
    GByteArray *bytes;
    uint64_t at;
    bool big_endian, natural_align;
};

void ctf_bits_align(struct ctf_bits *bits, unsigned alignment);
/* Writes the low `size` bits of value at bits->at. */
void ctf_bits_put(struct ctf_bits *bits, uint64_t value, unsigned size, bool big_endian);

/* A parsed value: text, or a list of values with or without names. */
struct ctf_value {
    char *name;
    char *text;       /* NULL: a list */
    GPtrArray *items; /* of struct ctf_value */
};

struct ctf_value *ctf_value_parse(const char *text);
void ctf_value_free(struct ctf_value *value);
/* The item of that name, or NULL; `value` may be NULL. */
const struct ctf_value *ctf_value_member(const struct ctf_value *value, const char *name);

unsigned ctf_field_align(const struct ctf_field *field, bool natural_align);
unsigned ctf_members_align(const struct ctf_field *members, bool natural_align);
/* Encodes one value or all members of a table by name. */
void ctf_encode(struct ctf_bits *bits, const struct ctf_field *field,
                const struct ctf_value *value);
void ctf_encode_members(struct ctf_bits *bits, const struct ctf_field *members,
                        const struct ctf_value *value);

/* Prints "struct { … }" of a table as TSDL. */
void ctf_print_struct(GString *out, const struct ctf_field *members, unsigned depth,
                      bool natural_align);

#endif
