/* Building field classes of a schema from those of CTF 2 metadata, shared by json_build.c (all
 * kinds) and json_locate.c (which field a length or selector is). */
#ifndef LULL_CTF_CTF2_BUILD_H
#define LULL_CTF_CTF2_BUILD_H

#include "ctf/ctf2/tree.h"

/* One class with parts around the field that is being built, from the scope's root inwards. */
struct ctf2_frame {
    const struct ctf2_type *type;
    const struct lull_member *members; /* of structures and variants: built below `current` */
    uint32_t current;                  /* index of the part that is being built */
};

struct ctf2_root {
    const struct ctf2_type *type;
    const struct lull_fc *fc; /* NULL: the scope is absent, or is being built */
};

struct ctf2_builder {
    struct ctf2_tree *tree;
    const struct lull_clock *clock; /* default clock of the stream, or NULL */
    uint32_t n_classes;             /* built so far; they are limited in total too */
    enum lull_scope scope;
    const char *property; /* of the fragment that holds the scope */
    struct ctf2_root roots[LULL_SCOPE_COUNT];
    struct ctf2_frame frames[CTF2_MAX_DEPTH + 1];
    uint32_t n_frames;
};

/* Builds the fields of one scope, a structure; what they refer to in earlier scopes has to be in
 * `roots` already, and so is the result. `type` may be NULL. */
bool ctf2_build_scope(struct ctf2_builder *builder, enum lull_scope scope,
                      const struct ctf2_type *type);

/* Finds the field that the location of `type` means, which is being built; all alternatives are in
 * `out`. Integers only; which ones is up to the caller. */
bool ctf2_locate(struct ctf2_builder *builder, const struct ctf2_type *type,
                 struct lull_fc_ref *out);

/* Sets the error with the path of the part that is being built. Always returns false. */
bool ctf2_build_fail(struct ctf2_builder *builder, const char *property, enum lull_error code,
                     const char *format, ...) G_GNUC_PRINTF(4, 5);

/* Counts what is about to be built or looked at. */
bool ctf2_spend(struct ctf2_builder *builder, uint32_t n);

#endif
