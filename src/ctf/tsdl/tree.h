/* What the TSDL parser makes of a text and the resolver turns into a schema: types whose names are
 * looked up already, but whose native byte order, clocks, and references to other fields are not,
 * because those depend on what is declared later and on where a type is used. */
#ifndef LULL_CTF_TSDL_TREE_H
#define LULL_CTF_TSDL_TREE_H

#include "ctf/schema/schema.h"
#include "ctf/tsdl/lexer.h"

/* Hostile texts can nest, and name, types so that they grow exponentially. */
#define TSDL_MAX_DEPTH 64
#define TSDL_MAX_CLASSES 1000000u

#define TSDL_UNKNOWN_BITS UINT64_MAX

struct tsdl_body;

/* A sequence length or variant tag by name. */
struct tsdl_ref {
    const struct tsdl_atom **names; /* without the prefix of an absolute path */
    uint32_t n_names;
    uint32_t pos;
    int scope; /* enum lull_scope of an absolute path, or -1 */
    /* The structure around the type definition whose field the first name is, if there is one
     * (section 4.2.2: "the closest preceding field from the static scope of the type definition");
     * NULL: it is looked up where the type is used. */
    const struct tsdl_body *anchor;
};

enum tsdl_byte_order { TSDL_NATIVE, TSDL_LITTLE, TSDL_BIG };

struct tsdl_type {
    enum lull_fc_kind kind;
    uint32_t alignment;
    uint32_t pos;
    uint32_t depth;      /* 1: no parts */
    uint32_t n_classes;  /* field classes it has when everything in it is spelled out */
    bool has_refs;       /* something inside refers to another field */
    uint64_t fixed_bits; /* size from its own begin, or TSDL_UNKNOWN_BITS */
    union {
        struct {
            uint64_t size;
            bool is_signed;
            enum tsdl_byte_order byte_order;
            uint8_t base;
            enum lull_encoding encoding;
            const struct lull_enumeration *enumeration;
            const struct tsdl_atom **range_names; /* labels as atoms; of enumerations */
            const struct tsdl_atom *clock;        /* or NULL */
            uint32_t clock_pos;
        } integer;
        struct {
            uint64_t exp_dig, mant_dig;
            enum tsdl_byte_order byte_order;
        } floating;
        enum lull_encoding string_encoding;
        struct {
            const struct tsdl_body *body;
        } structure;
        struct {
            const struct tsdl_body *body;
            const struct tsdl_ref *tag; /* NULL: not yet tagged */
        } variant;
        struct {
            struct tsdl_type *element;
            uint64_t length;
            const struct tsdl_ref *length_ref; /* not NULL: a sequence */
        } array;
    };
    const struct lull_fc *built; /* by the resolver, if nothing in it depends on the place */
};

struct tsdl_member {
    const struct tsdl_atom *name;
    struct tsdl_type *type;
};

/* Members of a structure or options of a variant. Types that differ only in alignment or tag share
 * it. The tree's `members` map gives their indices plus one, by body and name. */
struct tsdl_body {
    struct tsdl_member *members;
    uint32_t n_members;
};

struct tsdl_clock {
    const struct tsdl_atom *name;
    uint32_t pos;
    struct lull_clock clock; /* without name */
    bool offset_is_negative; /* then clock.offset_cycles is its magnitude */
};

struct tsdl_stream {
    uint32_t pos;
    bool has_id;
    uint64_t id;
    struct tsdl_type *packet_context, *event_header, *event_context;
};

struct tsdl_event {
    uint32_t pos;
    bool has_stream_id;
    uint64_t id, stream_id;
    int64_t loglevel;
    const char *name, *emf_uri;
    struct tsdl_type *context, *payload;
};

struct tsdl_tree {
    struct tsdl_source *source;
    struct lull_arena *scratch; /* the tree */
    struct lull_arena *arena;   /* the schema's: names and enumerations are in it already */
    struct tsdl_atoms atoms;
    struct tsdl_map members;

    bool has_trace, has_byte_order;
    uint32_t trace_pos;
    uint32_t major, minor;
    bool has_uuid;
    uint8_t uuid[16];
    bool is_big_endian;
    struct tsdl_type *packet_header;

    GArray *env;     /* struct lull_env_entry */
    GArray *clocks;  /* struct tsdl_clock */
    GArray *streams; /* struct tsdl_stream */
    GArray *events;  /* struct tsdl_event */
};

/* Index of the member, or -1. Loosely: also if the names differ only by one leading underscore. */
int64_t tsdl_tree_member(const struct tsdl_tree *tree, const struct tsdl_body *body,
                         const struct tsdl_atom *name, bool loosely);
/* A name without its one leading underscore. */
const char *tsdl_bare_name(const struct tsdl_atom *name);

/* Fills an initialised tree from its source. False with the source's error set. */
bool tsdl_parse(struct tsdl_tree *tree);
/* The schema, allocated in the tree's arena; NULL with the source's error set. */
struct lull_schema *tsdl_resolve(struct tsdl_tree *tree);

#endif
