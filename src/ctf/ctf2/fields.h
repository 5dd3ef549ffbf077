/* SPDX-License-Identifier: MIT */
/* Inside of the parser of CTF 2 metadata: field classes (types.c, compound.c), their ranges
 * (ranges.c), the fragments that hold them (fragments.c) and what is built of them (build.c).
 * Functions return false or NULL when the source's error is set. */
#ifndef LULL_CTF_CTF2_FIELDS_H
#define LULL_CTF_CTF2_FIELDS_H

#include "ctf/ctf2/source.h"

/* Names of a field location; classes are nested less deep. */
#define CTF2_MAX_LOCATION 256

/* A text as an atom or, for what is only shown, a copy in the schema's arena. */
bool ctf2_name(struct draft_tree *tree, const struct ctf2_at *at, const struct draft_atom **name);
bool ctf2_get_copy(struct draft_tree *tree, const struct ctf2_at *at, const char *key,
                   const char **copy);

/* The field class at `at`: an object, or a text that names an alias. Aliases are bound to the
 * tree's packet_header. */
struct draft_class *ctf2_parse_type(struct draft_tree *tree, const struct ctf2_at *at);
/* That of a property that may be left out and must be a structure. */
bool ctf2_get_scope(struct draft_tree *tree, const struct ctf2_at *at, const char *key,
                    struct draft_class **type);
/* How a field class is parsed whose property `type` is `name`. */
struct ctf2_kind {
    const char *name;
    bool (*parse)(struct draft_tree *tree, const struct ctf2_at *at, struct draft_class *type);
};
extern const struct ctf2_kind ctf2_scalars[]; /* up to one without a name */
/* The field location that a class needs. */
bool ctf2_get_location(struct draft_tree *tree, const struct ctf2_at *at, const char *key,
                       struct draft_class *type);
/* Pairs of bounds, appended to `ranges` (struct draft_range) with `option`. */
bool ctf2_parse_ranges(const struct ctf2_at *at, uint32_t option, GArray *ranges);
/* Names to ranges: mappings of an integer or flags of a bit map. */
bool ctf2_parse_labels(struct draft_tree *tree, const struct ctf2_at *at, bool is_signed,
                       const struct lull_enumeration **enumeration);
/* The part of a range that an integer of this sign can reach. False if there is none: such a range
 * is not wrong, it just never holds. */
bool ctf2_clip(const struct draft_range *range, bool is_signed, uint64_t *lower, uint64_t *upper);
/* In order, negative ones first. */
int ctf2_compare(struct draft_integer a, struct draft_integer b);

/* Brings a fragment of a release candidate of CTF 2 into the form of the specification. */
void ctf2_modernise(struct json_object *fragment);
bool ctf2_parse_fragment(struct draft_tree *tree, const struct ctf2_at *at);
/* The schema, allocated in the tree's arena. */
struct lull_schema *ctf2_build(struct draft_tree *tree);

#endif
