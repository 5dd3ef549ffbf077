/* SPDX-License-Identifier: MIT */
/* Names of a metadata text: every identifier and string is stored once (an atom), so that names are
 * compared as pointers, and a map from (owner, atom) to anything serves all scopes at once. */
#ifndef LULL_CTF_DRAFT_NAMES_H
#define LULL_CTF_DRAFT_NAMES_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"

struct draft_atom {
    const char *text; /* with a NUL after it */
    uint32_t length;
    uint32_t hash;
    unsigned word; /* what the text means to the language, 0: it is only a name */
};

struct draft_names {
    struct lull_arena *texts;   /* borrowed, as the next; outlives the names */
    struct lull_arena *scratch; /* holds all but the texts */
    GHashTable *atoms, *map;
    uint64_t seed;
};

void draft_names_init(struct draft_names *names, struct lull_arena *texts,
                      struct lull_arena *scratch);
void draft_names_clear(struct draft_names *names);

const struct draft_atom *draft_names_add(struct draft_names *names, const char *text,
                                         size_t length);
/* NULL if no such name was ever added. */
const struct draft_atom *draft_names_find(const struct draft_names *names, const char *text,
                                          size_t length);

/* Gives the owner a value (not NULL) of this name. False, and nothing changes, if it has one. */
bool draft_names_bind(struct draft_names *names, const void *owner, const struct draft_atom *name,
                      void *value);
/* NULL if the owner has none. */
void *draft_names_bound(const struct draft_names *names, const void *owner,
                        const struct draft_atom *name);

#endif
