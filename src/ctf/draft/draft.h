/* SPDX-License-Identifier: MIT */
/* What the parsers of metadata, CTF 1.8 and CTF 2, make of a text and the builder turns into a
 * schema: field classes whose references to other fields are still names, because what those mean
 * depends on where a class is used. What differs between the languages is in draft_language. */
#ifndef LULL_CTF_DRAFT_H
#define LULL_CTF_DRAFT_H

#include <lull/error.h>

#include "ctf/draft/names.h"
#include "ctf/schema/schema.h"

/* Hostile texts can nest, and name, classes so that they grow exponentially. */
#define DRAFT_MAX_DEPTH 64
#define DRAFT_MAX_CLASSES 1000000u

#define DRAFT_UNKNOWN_BITS UINT64_MAX

/* The text that is parsed, where messages are about, and where the first error goes. */
struct draft_source {
    const char *name; /* of the file */
    const char *text;
    uint32_t size;
    uint32_t fragment; /* CTF 2, as the following: the one that is looked at, counted from 1 */
    size_t offset;     /* of its first byte in the text */
    bool has_huge;     /* there is a number in it beyond 64 bits, which json-c makes the largest */
    GError **error;
    bool failed;
};

/* Sets the error "FILE: WHERE: MESSAGE", unless there is one already. Takes the message. Always
 * returns false. */
bool draft_fail(struct draft_source *source, enum lull_error code, const char *where,
                char *message);

/* A member of a structure, option of a variant, element of an array, content of an optional. */
struct draft_part {
    const struct draft_atom *name; /* NULL: it has none */
    const char *shown;             /* what the schema calls it */
    struct draft_class *type;
};

/* Classes that differ only in alignment or tag share it. The names of the tree have the indices of
 * its named parts plus one, by body. */
struct draft_body {
    struct draft_part *parts;
    uint32_t n_parts;
};

/* Which field a length, selector or tag is. */
struct draft_ref {
    const struct draft_atom **names; /* NULL: up to the parent structure (CTF 2) */
    uint32_t n_names;
    int scope;                    /* enum lull_scope whose root the names start at, or -1 */
    uint32_t pos;                 /* CTF 1.8, as the following */
    const struct draft_atom *env; /* instead of all that: the length is this entry's value */
    /* The structure around the definition of the class whose field the first name is, if there is
     * one (section 4.2.2: "the closest preceding field from the static scope of the type
     * definition"); NULL: it is looked up where the class is used. */
    const struct draft_body *anchor;
};

/* An integer of any sign that fits in 64 bits. */
struct draft_integer {
    uint64_t bits; /* two's complement if negative */
    bool is_negative;
};

/* Values of a selector; `option` is of variants. */
struct draft_range {
    struct draft_integer lower, upper;
    uint32_t option;
};

struct draft_class {
    struct lull_fc fc;       /* all that does not depend on the place; CTF 2: roles, as declared */
    struct draft_body *body; /* NULL: no parts */
    const struct draft_ref *ref; /* NULL: none, or a variant that is not yet tagged */
    struct draft_range *ranges;  /* CTF 2: of the selector, or NULL */
    uint32_t n_ranges;
    uint32_t depth;              /* 1: no parts */
    uint32_t n_classes;          /* it has when everything in it is spelled out */
    bool has_refs;               /* something inside refers to another field */
    const struct lull_fc *built; /* by the builder, if nothing in it depends on the place */
    /* CTF 1.8 only. */
    uint32_t pos;
    bool is_native;      /* the byte order is the trace's, which may be declared later */
    uint64_t fixed_bits; /* size from its own start, or DRAFT_UNKNOWN_BITS */
    union {
        struct {
            const struct draft_atom **labels; /* of the enumeration's ranges */
            const struct draft_atom *clock;   /* or NULL */
            uint32_t clock_pos;
        } integer;
        struct {
            uint64_t exp_dig, mant_dig;
        } floating;
    };
};

/* Where something was declared. */
struct draft_origin {
    uint32_t fragment; /* CTF 2 */
    size_t offset;     /* of the declaration, or of the fragment */
};

struct draft_stream {
    struct draft_origin origin;
    uint64_t id;
    bool has_id;
    struct lull_identity identity;
    int64_t clock; /* index in the tree's clocks, or -1: none, or found by the language */
    struct draft_class *packet_context, *event_header, *event_context;
};

struct draft_event {
    struct draft_origin origin;
    uint64_t id, stream_id;
    bool has_stream_id;
    struct lull_identity identity;
    int64_t loglevel;
    const char *emf_uri;
    struct draft_class *context, *payload;
};

struct draft_tree {
    struct draft_source *source;
    struct lull_arena *scratch; /* the tree */
    struct lull_arena *arena;   /* the schema's: names and enumerations are in it already */
    /* By owner and name: see draft_body. By fields of this tree as owners: environment (env; index
     * plus one), clocks (clocks; the same). The languages add their own. */
    struct draft_names names;

    uint32_t major, minor;
    bool has_uuid, is_big_endian;
    uint8_t uuid[16];
    bool has_trace;
    struct draft_origin trace_origin;
    struct lull_identity identity;
    struct draft_class *packet_header;
    GArray *env;    /* struct lull_env_entry */
    GArray *clocks; /* struct lull_clock */
    bool is_clock_implied;
    GArray *streams; /* struct draft_stream */
    GArray *events;  /* struct draft_event */
};

/* One class with parts around the field that is being built, from the scope's root inwards. */
struct draft_frame {
    const struct draft_class *type;
    const struct lull_member *members; /* built below `current` */
    uint32_t current;                  /* index of the part that is being built */
};

/* A finished or unfinished scope of one event record. */
struct draft_root {
    const struct draft_class *type;
    const struct lull_fc *fc; /* NULL: the scope is absent, or is being built */
};

struct draft_builder {
    const struct draft_language *language;
    struct draft_tree *tree;
    const struct lull_clock *clocks;
    const struct lull_clock *clock; /* default clock of the stream, or NULL */
    uint32_t n_classes;             /* built so far; they are limited in total too */
    enum lull_scope scope;
    struct draft_root roots[LULL_SCOPE_COUNT];
    struct draft_frame frames[DRAFT_MAX_DEPTH + 1];
    uint32_t n_frames;
};

/* Why a reference leads nowhere. */
enum draft_outcome {
    DRAFT_FOUND,
    DRAFT_MISSING,
    DRAFT_NOT_BEFORE,
    DRAFT_NOT_INTEGER,
    DRAFT_NOT_STRUCTURE,
    DRAFT_NOT_INSIDE,
    DRAFT_NO_PARENT,
    DRAFT_FULL, /* the error is set already */
};

/* What the languages do differently. Functions that return bool set the error before false. */
struct draft_language {
    /* Fails: more than DRAFT_MAX_CLASSES fields are built for this class. */
    bool (*too_many)(struct draft_builder *builder, const struct draft_class *type);
    /* Completes what does not have to be shared: roles, clocks, byte order. */
    bool (*finish)(struct draft_builder *builder, const struct draft_class *type,
                   struct lull_fc *fc);
    /* Sets the reference of a sequence, optional or variant, and what values of it select. */
    bool (*refer)(struct draft_builder *builder, const struct draft_class *type,
                  struct lull_fc *fc);
    /* The default clock of a stream whose scopes are built; NULL: it is declared. */
    const struct lull_clock *(*default_clock)(const struct draft_builder *builder);
    /* The names of a path select options of variants as they select members (CTF 1.8). Else they
     * go through the options of a variant, all that lead on if it is finished (CTF 2). */
    bool names_options;
};

/* A tree to be filled from the source; the schema that was built of it, if any, outlives it. */
void draft_tree_init(struct draft_tree *tree, struct draft_source *source);
void draft_tree_clear(struct draft_tree *tree, const struct lull_schema *schema);
struct draft_class *draft_class_new(struct draft_tree *tree, enum lull_fc_kind kind);
/* The body of an array or optional. */
struct draft_body *draft_body_of(struct draft_tree *tree, struct draft_class *part);

/* A name without its one leading underscore. */
const char *draft_bare_name(const struct draft_atom *name);
/* Index of the named part, or -1. Loosely: also if names differ only by one leading underscore. */
int64_t draft_find_part(const struct draft_tree *tree, const struct draft_body *body,
                        const struct draft_atom *name, bool loosely);

/* Puts streams and events in order of their ids, those of one id as they are declared. */
void draft_tree_sort(struct draft_tree *tree);
/* The schema, allocated in the tree's arena, of a sorted tree whose events all have streams; NULL
 * with the source's error set. */
struct lull_schema *draft_build(struct draft_tree *tree, const struct draft_language *language);

/* Counts what is about to be built or looked at for this class. */
bool draft_spend(struct draft_builder *builder, const struct draft_class *type, uint32_t n);
/* Finds the field that the class's reference means where the class is being built, an integer; all
 * alternatives are in `out`. `target` is the first one's class. */
enum draft_outcome draft_locate(struct draft_builder *builder, const struct draft_class *type,
                                struct lull_fc_ref *out, const struct draft_class **target);
/* The names of a reference, for messages. Free with g_free(). */
char *draft_ref_text(const struct draft_ref *ref);
/* The structure's member or variant's option that is being built, or NULL. */
const struct draft_part *draft_current_part(const struct draft_builder *builder);

#endif
