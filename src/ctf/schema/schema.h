/* SPDX-License-Identifier: MIT */
/* The schema of one CTF trace: what its metadata declares, resolved and immutable. Built by the
 * metadata parsers (metadata.h), compiled to decode plans (plan.h), shared by readers without
 * locks. Everything lives in one arena and is freed with lull_schema_free(). Names are stored as a
 * person expects them: CTF 1.8's one leading underscore of a member or option name is removed (a
 * name may be empty: an unnamed GNU/C bit-field, an unnamed option of CTF 2). Labels of
 * enumerations are as the metadata spells them. */
#ifndef LULL_CTF_SCHEMA_H
#define LULL_CTF_SCHEMA_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

enum lull_fc_kind {
    LULL_FC_INT,    /* integer of 1..64 bits; an enumeration is an integer with `enumeration` set */
    LULL_FC_VARINT, /* LEB128, on a byte; `integer` describes it, its size is 64 */
    LULL_FC_FLOAT,  /* IEEE 754 binary16, 32 or 64 */
    LULL_FC_STRING, /* up to a NUL, which is as wide as the encoding's code units */
    LULL_FC_STRUCT,
    LULL_FC_ARRAY,    /* fixed length; also strings and blobs, see enum lull_array_form */
    LULL_FC_SEQUENCE, /* length comes from another field; the same */
    LULL_FC_OPTIONAL, /* another field says if it is there */
    LULL_FC_VARIANT,  /* the option comes from another field, the tag (an integer) */
};

/* What the bits of a LULL_FC_INT are. All but numbers are unsigned. */
enum lull_int_meaning {
    LULL_INT_NUMBER,
    LULL_INT_BOOLEAN, /* false: all bits are zero */
    LULL_INT_BITS,    /* no value: a row of bits */
    LULL_INT_FLAGS,   /* as BITS; ranges of `enumeration` are indices of bits, 0 the lowest */
};

/* Strings and blobs of known length are arrays and sequences of bytes (8-bit integers, aligned to
 * 8); a string's bytes carry its encoding. A string may end earlier, at the first U+0000. */
enum lull_array_form { LULL_ARRAY_PLAIN, LULL_ARRAY_STRING, LULL_ARRAY_BLOB };

enum lull_encoding {
    LULL_ENCODING_NONE,
    LULL_ENCODING_UTF8,
    LULL_ENCODING_ASCII,
    LULL_ENCODING_UTF16BE,
    LULL_ENCODING_UTF16LE,
    LULL_ENCODING_UTF32BE,
    LULL_ENCODING_UTF32LE,
};

/* What a field means to a reader, whatever its name: the roles of CTF 2. The parser of CTF 1.8 sets
 * them from names. Integers carry them, but METADATA_UUID: an array of 16 bytes. */
enum lull_role {
    LULL_ROLE_MAGIC = 1 << 0,           /* packet header */
    LULL_ROLE_METADATA_UUID = 1 << 1,   /* packet header; must equal the schema's uuid */
    LULL_ROLE_STREAM_CLASS_ID = 1 << 2, /* packet header */
    LULL_ROLE_STREAM_ID = 1 << 3,       /* packet header: of the stream, not of its class */
    LULL_ROLE_PACKET_SIZE = 1 << 4,     /* packet context, bits */
    LULL_ROLE_CONTENT_SIZE = 1 << 5,    /* packet context, bits */
    LULL_ROLE_CLOCK = 1 << 6,           /* packet context: at its start; event header */
    LULL_ROLE_CLOCK_END = 1 << 7,       /* packet context */
    LULL_ROLE_DISCARDED = 1 << 8,       /* packet context: counter of the stream */
    LULL_ROLE_SEQUENCE_NUMBER = 1 << 9, /* packet context */
    LULL_ROLE_EVENT_CLASS_ID = 1 << 10, /* event header */
    LULL_ROLE_CPU = 1 << 11,            /* packet context: LTTng's `cpu_id`, by name in both */
};

/* Where a field is in an event record; also the scopes a length or tag can be looked up in. */
enum lull_scope {
    LULL_SCOPE_PACKET_HEADER,
    LULL_SCOPE_PACKET_CONTEXT,
    LULL_SCOPE_EVENT_HEADER,
    LULL_SCOPE_STREAM_EVENT_CONTEXT, /* common to all events of the stream: stream.event.context */
    LULL_SCOPE_EVENT_CONTEXT,        /* of one event class */
    LULL_SCOPE_EVENT_PAYLOAD,
    LULL_SCOPE_COUNT
};

/* One label of an enumeration covers lower..upper. Bounds are stored as the 64 bits of the value;
 * compare as int64_t if the integer is signed, else as uint64_t. A label may occur several times.
 */
struct lull_enum_range {
    uint64_t lower, upper;
    const char *label;
};

struct lull_enumeration {
    const struct lull_enum_range *ranges;
    uint32_t n_ranges;
};

/* Values of the tag that select an option, as in lull_enum_range. */
struct lull_option_range {
    uint64_t lower, upper;
    uint32_t option;
};

/* Values of an integer selector with which an optional field is there. */
struct lull_value_range {
    uint64_t lower, upper;
};

struct lull_fc;

struct lull_member {
    const char *name;
    const struct lull_fc *fc;
};

/* The reference from a sequence, optional or variant to its length, selector or tag: the field
 * reached from the root of `scope` by member indices path[0..depth). It always precedes the
 * referring field and its class is always LULL_FC_INT or LULL_FC_VARINT (unsigned for a length, for
 * a selector without ranges a boolean). A variant on the path takes one index (the option), an
 * array, sequence or optional takes none. An array or sequence on the path has the referring field
 * inside the same element. In CTF 1.8 the same holds for variants. In CTF 2 a path may go through
 * options and optionals that the referring field is not part of: `next` then gives the field in
 * another option, of the same signedness and meaning; what was decoded last is meant, and it is an
 * error of the data if none was. */
struct lull_fc_ref {
    enum lull_scope scope;
    uint32_t depth;
    const uint32_t *path;
    const struct lull_fc *target;
    const struct lull_fc_ref *next; /* or NULL */
};

struct lull_fc {
    enum lull_fc_kind kind;
    /* bits, a power of two, >= 1; a structure's is the largest of its parts' and its own, an
     * array's its element's. A variant's is 1: the option that is selected aligns itself
     * (section 4.2.2); so is an optional's. */
    uint32_t alignment;
    uint32_t roles; /* enum lull_role */
    union {
        struct {
            uint32_t size; /* bits, 1..64 */
            bool is_signed, is_big_endian;
            /* The field's first bit is where its last one would be: little-endian fields have the
             * least significant bit first, big-endian ones the most significant, if not reversed.
             */
            bool is_bit_reversed;
            uint8_t base; /* preferred display base: 2, 8, 10, 16 */
            enum lull_int_meaning meaning;
            enum lull_encoding encoding;
            const struct lull_enumeration *enumeration; /* NULL: plain integer */
            const struct lull_clock *clock;             /* mapped clock or NULL */
        } integer;
        struct {
            uint32_t size; /* bits: 16, 32, 64 */
            bool is_big_endian, is_bit_reversed;
        } floating;
        struct {
            enum lull_encoding encoding;
        } string;
        struct {
            const struct lull_member *members;
            uint32_t n_members;
        } structure;
        struct {
            const struct lull_fc *element;
            uint64_t length; /* elements */
            enum lull_array_form form;
            const char *media_type; /* of a blob, else NULL */
        } array;
        struct {
            const struct lull_fc *element;
            struct lull_fc_ref length; /* elements */
            enum lull_array_form form;
            const char *media_type; /* of a blob, else NULL */
        } sequence;
        struct {
            const struct lull_fc *content;
            struct lull_fc_ref selector;
            const struct lull_value_range *ranges; /* NULL: the selector is a boolean */
            uint32_t n_ranges;
        } optional;
        struct {
            const struct lull_member *options;
            uint32_t n_options;
            struct lull_fc_ref tag;
            const struct lull_option_range *ranges; /* the first that covers the tag counts */
            uint32_t n_ranges;
        } variant;
    };
};

enum lull_clock_origin {
    LULL_ORIGIN_UNKNOWN, /* clocks of different traces have nothing in common */
    LULL_ORIGIN_UNIX_EPOCH,
    LULL_ORIGIN_NAMED, /* comparable with clocks of the same origin */
};

/* Who a trace or clock is, each part or NULL. Two that have the same of all are the same. */
struct lull_identity {
    const char *name_space, *name, *uid;
};

/* A clock of the trace. If the metadata declares none there is one anyway, named "", for fields
 * named `timestamp`, which count nanoseconds then (section 8). Time of value v in ns since its
 * origin (for LTTng the Unix epoch): offset_s * 1e9 + (offset_cycles + v) * 1e9 / frequency. */
struct lull_clock {
    const char *name;        /* "" if the metadata gives none */
    const char *description; /* or NULL */
    bool has_uuid;
    uint8_t uuid[16];   /* LTTng kernel: the boot id; CTF 2: the UID if that is a UUID */
    uint64_t frequency; /* Hz, > 0 */
    int64_t offset_s;
    uint64_t offset_cycles;
    uint64_t precision; /* cycles */
    bool has_accuracy;
    uint64_t accuracy;             /* cycles */
    bool is_absolute;              /* CTF 1.8: as declared; CTF 2: the origin is the Unix epoch */
    enum lull_clock_origin origin; /* UNIX_EPOCH if absolute */
    struct lull_identity identity; /* CTF 2 only, as the following */
    struct lull_identity origin_identity; /* of a NAMED origin */
    const char *id;                       /* by which the metadata refers to it, or NULL */
};

struct lull_event_decl {
    uint64_t id;
    const char *name;       /* "" if the metadata gives none */
    const char *name_space; /* CTF 2, or NULL, as the following */
    const char *uid;
    int64_t loglevel;              /* -1: not given */
    const char *emf_uri;           /* or NULL */
    const struct lull_fc *context; /* LULL_FC_STRUCT or NULL */
    const struct lull_fc *payload; /* LULL_FC_STRUCT or NULL */
};

struct lull_stream_decl {
    uint64_t id;
    struct lull_identity identity;        /* CTF 2 only */
    const struct lull_clock *clock;       /* default clock, that of LULL_ROLE_CLOCK, or NULL */
    const struct lull_fc *packet_context; /* LULL_FC_STRUCT or NULL, as the following */
    const struct lull_fc *event_header;
    const struct lull_fc *event_context;
    const struct lull_event_decl *events; /* ascending id */
    uint32_t n_events;
};

struct lull_env_entry {
    const char *key;
    const char *text; /* NULL: the value is `number` */
    int64_t number;
};

struct lull_schema {
    uint32_t major, minor;         /* of the format: 1.8, 2.0 */
    struct lull_identity identity; /* of the trace; CTF 2 only */
    bool has_uuid;
    uint8_t uuid[16];   /* of the trace (CTF 1.8) or of the metadata stream (CTF 2) */
    bool is_big_endian; /* the trace's native byte order; CTF 2: not known, false */
    const struct lull_fc *packet_header; /* LULL_FC_STRUCT or NULL */
    const struct lull_clock *clocks;
    uint32_t n_clocks;
    const struct lull_env_entry *env;
    uint32_t n_env;
    const struct lull_stream_decl *streams; /* ascending id */
    uint32_t n_streams;
    void *arena; /* owner of all memory above */
};

void lull_schema_free(struct lull_schema *schema);

/* Text of an environment entry or NULL if absent or a number. */
const char *lull_schema_env_text(const struct lull_schema *schema, const char *key);
/* Number of an environment entry, or `fallback` if absent or text. */
int64_t lull_schema_env_number(const struct lull_schema *schema, const char *key, int64_t fallback);

/* The option (index into fc->variant.options) that the tag value selects, or -1. */
int lull_fc_variant_option(const struct lull_fc *fc, uint64_t tag_value);
/* True if an optional field is there when its selector has this value. */
bool lull_fc_optional_is_there(const struct lull_fc *fc, uint64_t selector_value);
/* First label of an enumeration that covers the value, or NULL; NULL for flags. `fc` is LULL_FC_INT
 * or LULL_FC_VARINT. */
const char *lull_fc_enum_label(const struct lull_fc *fc, uint64_t value);

#endif
