/* What the parser of CTF 2 metadata makes of its fragments and the resolver turns into a schema:
 * field classes whose lengths and selectors are still field locations, because what those mean
 * depends on where a class is used. Names are atoms, as those of CTF 1.8. */
#ifndef LULL_CTF_CTF2_TREE_H
#define LULL_CTF_CTF2_TREE_H

#include "base/arena.h"
#include "ctf/ctf2/source.h"
#include "ctf/schema/schema.h"
#include "ctf/tsdl/names.h"

/* Hostile texts can nest, and alias, classes so that they grow exponentially. */
#define CTF2_MAX_DEPTH 64
#define CTF2_MAX_CLASSES 1000000u
/* Names of a field location; classes are nested less deep. */
#define CTF2_MAX_LOCATION 256

struct ctf2_type;

struct ctf2_location {
    int scope;                      /* enum lull_scope of the origin, or -1 */
    const struct tsdl_atom **names; /* NULL: up to the parent structure */
    uint32_t n_names;
};

/* A member of a structure, option of a variant, element of an array, content of an optional. */
struct ctf2_part {
    const struct tsdl_atom *name; /* NULL: it has none */
    struct ctf2_type *type;
};

/* Values of a selector; `option` is of variants. */
struct ctf2_range {
    struct ctf2_integer lower, upper;
    uint32_t option;
};

struct ctf2_type {
    struct lull_fc fc; /* all that does not depend on the place; roles as they are declared */
    struct ctf2_part *parts;
    uint32_t n_parts;
    const struct ctf2_location *location; /* of length, selector or tag, or NULL */
    struct ctf2_range *ranges;            /* of the selector, or NULL */
    uint32_t n_ranges;
    bool is_placed;              /* something inside depends on the place: a location or a role */
    uint32_t depth;              /* 1: no parts */
    uint32_t n_classes;          /* it has when everything in it is spelled out */
    const struct lull_fc *built; /* by the resolver, if not is_placed */
};

/* Which fragment something was declared in, for messages of the resolver. */
struct ctf2_origin {
    uint32_t fragment;
    size_t offset;
};

struct ctf2_stream {
    struct ctf2_origin origin;
    uint64_t id;
    struct lull_identity identity;
    int64_t clock; /* index in the tree's clocks, or -1 */
    struct ctf2_type *packet_context, *event_header, *event_context;
};

struct ctf2_event {
    struct ctf2_origin origin;
    uint64_t id, stream_id;
    struct lull_identity identity;
    int64_t loglevel;
    const char *emf_uri;
    struct ctf2_type *context, *payload;
};

struct ctf2_tree {
    struct ctf2_source *source;
    struct lull_arena *scratch; /* the tree */
    struct lull_arena *arena;   /* the schema's: names and enumerations are in it already */
    struct tsdl_atoms atoms;
    /* By owner and name: members of a structure and options of a variant (index plus one). By
     * fields of this tree as owners: aliases (packet_header; the type), clocks by id (clocks; index
     * plus one) and identity (identity; the same), ids of streams and events. */
    struct tsdl_map map;

    bool has_uuid;
    uint8_t uuid[16];
    bool has_trace;
    struct ctf2_origin trace_origin;
    struct lull_identity identity;
    struct ctf2_type *packet_header;
    GArray *env;     /* struct lull_env_entry */
    GArray *clocks;  /* struct lull_clock */
    GArray *streams; /* struct ctf2_stream */
    GArray *events;  /* struct ctf2_event */
};

/* A text as an atom or, for what is only shown, a copy in the schema's arena. */
bool ctf2_name(struct ctf2_tree *tree, const struct ctf2_at *at, const struct tsdl_atom **name);
bool ctf2_get_copy(struct ctf2_tree *tree, const struct ctf2_at *at, const char *key,
                   const char **copy);

/* The field class at `at`: an object, or a text that names an alias. NULL with the error set. */
struct ctf2_type *ctf2_parse_type(struct ctf2_tree *tree, const struct ctf2_at *at);
/* That of a property that may be left out and must be a structure. */
bool ctf2_get_scope(struct ctf2_tree *tree, const struct ctf2_at *at, const char *key,
                    struct ctf2_type **type);
/* How a field class is parsed whose property `type` is `name`. */
struct ctf2_kind {
    const char *name;
    bool (*parse)(struct ctf2_tree *tree, const struct ctf2_at *at, struct ctf2_type *type);
};
extern const struct ctf2_kind ctf2_scalars[]; /* up to one without a name */
/* The field location that a class needs. */
bool ctf2_get_location(struct ctf2_tree *tree, const struct ctf2_at *at, const char *key,
                       struct ctf2_type *type);
/* Pairs of bounds, appended to `ranges` (struct ctf2_range) with `option`. */
bool ctf2_parse_ranges(const struct ctf2_at *at, uint32_t option, GArray *ranges);
/* Names to ranges: mappings of an integer or flags of a bit map. */
bool ctf2_parse_labels(struct ctf2_tree *tree, const struct ctf2_at *at, bool is_signed,
                       const struct lull_enumeration **enumeration);
/* The part of a range that an integer of this sign can reach. False if there is none: such a range
 * is not wrong, it just never holds. */
bool ctf2_clip(const struct ctf2_range *range, bool is_signed, uint64_t *lower, uint64_t *upper);
/* In order, negative ones first. */
int ctf2_compare(struct ctf2_integer a, struct ctf2_integer b);

/* Brings a fragment of a release candidate of CTF 2 into the form of the specification. */
void ctf2_modernise(struct json_object *fragment);
bool ctf2_parse_fragment(struct ctf2_tree *tree, const struct ctf2_at *at);

/* The schema, allocated in the tree's arena; NULL with the source's error set. */
struct lull_schema *ctf2_resolve(struct ctf2_tree *tree);

/* Parses the text of a metadata stream; `name` is used in messages. */
struct lull_schema *ctf2_parse(const char *name, const char *text, size_t size, GError **error);

#endif
