/* Names of a metadata text: every identifier and string is stored once (an atom), so that names are
 * compared as pointers, and a map from (owner, atom) to anything serves all scopes at once. */
#ifndef LULL_CTF_TSDL_NAMES_H
#define LULL_CTF_TSDL_NAMES_H

#include "base/arena.h"

#include <stdbool.h>
#include <stdint.h>

/* Words that the parser knows. Keywords (section C.1.2) come first. */
enum tsdl_word {
    TSDL_WORD_NONE,
    TSDL_ALIGN,
    TSDL_CALLSITE,
    TSDL_CONST,
    TSDL_CHAR,
    TSDL_CLOCK,
    TSDL_DOUBLE,
    TSDL_ENUM,
    TSDL_ENV,
    TSDL_EVENT,
    TSDL_FLOATING_POINT,
    TSDL_FLOAT,
    TSDL_INTEGER,
    TSDL_INT,
    TSDL_LONG,
    TSDL_SHORT,
    TSDL_SIGNED,
    TSDL_STREAM,
    TSDL_STRING,
    TSDL_STRUCT,
    TSDL_TRACE,
    TSDL_TYPEALIAS,
    TSDL_TYPEDEF,
    TSDL_UNSIGNED,
    TSDL_VARIANT,
    TSDL_VOID,
    TSDL_BOOL,
    TSDL_COMPLEX,
    TSDL_IMAGINARY,
    TSDL_LAST_KEYWORD = TSDL_IMAGINARY,
    /* Names of attributes, which are identifiers. */
    TSDL_SIZE,
    TSDL_BYTE_ORDER,
    TSDL_BASE,
    TSDL_ENCODING,
    TSDL_MAP,
    TSDL_EXP_DIG,
    TSDL_MANT_DIG,
    TSDL_NAME,
    TSDL_UUID,
    TSDL_DESCRIPTION,
    TSDL_FREQ,
    TSDL_PRECISION,
    TSDL_OFFSET,
    TSDL_OFFSET_S,
    TSDL_ABSOLUTE,
    TSDL_MAJOR,
    TSDL_MINOR,
    TSDL_ID,
    TSDL_STREAM_ID,
    TSDL_LOGLEVEL,
    TSDL_CONTEXT,
    TSDL_FIELDS,
    TSDL_PACKET_HEADER,
    TSDL_PACKET_CONTEXT,
    TSDL_EVENT_HEADER,
    TSDL_EVENT_CONTEXT,
    TSDL_EMF_URI,
    TSDL_WORD_COUNT
};

struct tsdl_atom {
    uint64_t hash;
    uint32_t length;
    enum tsdl_word word;
    char text[];
};

struct tsdl_atoms {
    struct lull_arena *arena; /* borrowed; holds the texts */
    const struct tsdl_atom **slots;
    uint32_t mask, count;
    uint64_t seed;
};

/* The seed makes it hard to write a text whose names all collide; nothing else depends on it. */
void tsdl_atoms_init(struct tsdl_atoms *atoms, struct lull_arena *arena, uint64_t seed);
void tsdl_atoms_clear(struct tsdl_atoms *atoms);
const struct tsdl_atom *tsdl_atoms_add(struct tsdl_atoms *atoms, const char *text, size_t length);
/* NULL if no such name was ever added. */
const struct tsdl_atom *tsdl_atoms_find(const struct tsdl_atoms *atoms, const char *text,
                                        size_t length);

struct tsdl_map_entry {
    const void *owner;
    const struct tsdl_atom *name;
    void *value;
};

struct tsdl_map {
    struct tsdl_map_entry *slots;
    uint32_t mask, count;
};

void tsdl_map_init(struct tsdl_map *map);
void tsdl_map_clear(struct tsdl_map *map);
/* False, and nothing changes, if the owner has that name already. `value` must not be NULL. */
bool tsdl_map_add(struct tsdl_map *map, const void *owner, const struct tsdl_atom *name,
                  void *value);
/* NULL if absent. */
void *tsdl_map_find(const struct tsdl_map *map, const void *owner, const struct tsdl_atom *name);

#endif
