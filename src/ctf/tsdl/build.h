/* Building field classes from types, shared by tsdl_build.c (all kinds of types) and tsdl_lookup.c
 * (which field a length or tag is). */
#ifndef LULL_CTF_TSDL_BUILD_H
#define LULL_CTF_TSDL_BUILD_H

#include "ctf/tsdl/tree.h"

/* One compound around the field that is being built, from the scope's root inwards. */
struct tsdl_frame {
    enum lull_fc_kind kind;
    const struct tsdl_body *body; /* of structures and variants */
    struct lull_member *members;  /* of structures: built below `current` */
    uint32_t current;             /* index of the part that is being built */
};

/* A finished or unfinished scope of one event record. */
struct tsdl_root {
    const struct tsdl_type *type;
    const struct lull_fc *fc; /* NULL: the scope is absent, or is being built */
};

struct tsdl_builder {
    struct tsdl_tree *tree;
    const struct lull_clock *clocks;
    const struct lull_clock *implied_clock; /* for fields without one named `timestamp`, or NULL */
    uint32_t n_classes;                     /* built so far; they are limited in total too */
    enum lull_scope scope;
    struct tsdl_root roots[LULL_SCOPE_COUNT];
    struct tsdl_frame frames[TSDL_MAX_DEPTH + 1];
    uint32_t n_frames;
};

/* Builds the fields of one scope, a structure; what they refer to in earlier scopes has to be in
 * `roots` already, and so is the result. `type` may be NULL. */
bool tsdl_build_scope(struct tsdl_builder *builder, enum lull_scope scope,
                      const struct tsdl_type *type);

/* The roles (enum lull_role) of a field by its name; members of the scope's root have depth 1. */
uint32_t tsdl_roles(enum lull_scope scope, uint32_t depth, const char *name,
                    const struct lull_fc *fc);
/* The first clock that an integer of a header is mapped to, or NULL. `fc` may be NULL. */
const struct lull_clock *tsdl_first_clock(const struct lull_fc *fc);

/* Finds the field that `ref` means for the field that is being built; `what` is for messages. */
bool tsdl_lookup(struct tsdl_builder *builder, const struct tsdl_ref *ref, const char *what,
                 struct lull_fc_ref *out, const struct tsdl_type **target);

#endif
