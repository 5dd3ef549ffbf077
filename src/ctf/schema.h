/* The schema of one CTF trace: what its metadata declares, resolved and immutable. Built by the
 * metadata parsers (metadata.h), compiled to decode plans (plan.h), shared by readers without
 * locks. Everything lives in one arena and is freed with lull_schema_free(). Names are stored as a
 * person expects them: CTF 1.8's one leading underscore of a member or option name is removed (a
 * name may be empty: an unnamed GNU/C bit-field). Labels of enumerations are as the metadata spells
 * them. */
#ifndef LULL_CTF_SCHEMA_H
#define LULL_CTF_SCHEMA_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

enum lull_fc_kind {
    LULL_FC_INT,    /* integer of 1..64 bits; an enumeration is an integer with `enumeration` set */
    LULL_FC_FLOAT,  /* IEEE 754 binary16, 32 or 64 */
    LULL_FC_STRING, /* NUL-terminated bytes */
    LULL_FC_STRUCT,
    LULL_FC_ARRAY,    /* fixed length */
    LULL_FC_SEQUENCE, /* length comes from another field */
    LULL_FC_VARIANT,  /* the option comes from another field, the tag (an enumeration) */
};

enum lull_encoding { LULL_ENCODING_NONE, LULL_ENCODING_UTF8, LULL_ENCODING_ASCII };

/* Where a field stands in an event record; also the scopes a length or tag can be looked up in. */
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

struct lull_fc;

struct lull_member {
    const char *name;
    const struct lull_fc *fc;
};

/* The reference from a sequence or variant to its length or tag: the field reached from the root of
 * `scope` by member indices path[0..depth). It always stands before the referring field and its
 * class is always LULL_FC_INT (an enumeration for a tag, unsigned for a length). If the path
 * crosses an array, sequence or variant on the way, the referring field stands inside the same
 * element or option; a variant takes one index of the path (the option), an array or sequence takes
 * none. */
struct lull_fc_ref {
    enum lull_scope scope;
    uint32_t depth;
    const uint32_t *path;
    const struct lull_fc *target;
};

struct lull_fc {
    enum lull_fc_kind kind;
    /* bits, a power of two, >= 1; a structure's is the largest of its parts' and its own, an
     * array's its element's. A variant's is 1: the option that is selected aligns itself
     * (section 4.2.2). */
    uint32_t alignment;
    union {
        struct {
            uint32_t size; /* bits, 1..64 */
            bool is_signed, is_big_endian;
            uint8_t base; /* preferred display base: 2, 8, 10, 16 */
            enum lull_encoding encoding;
            const struct lull_enumeration *enumeration; /* NULL: plain integer */
            const struct lull_clock *clock;             /* mapped clock or NULL */
        } integer;
        struct {
            uint32_t size; /* bits: 16, 32, 64 */
            bool is_big_endian;
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
        } array;
        struct {
            const struct lull_fc *element;
            struct lull_fc_ref length;
        } sequence;
        struct {
            const struct lull_member *options;
            uint32_t n_options;
            struct lull_fc_ref tag;
            /* For each range of the tag's enumeration the option that has its label, or -1. */
            const int32_t *range_options;
        } variant;
    };
};

/* A clock of the trace. If the metadata declares none there is one anyway, named "", for fields
 * named `timestamp`, which count nanoseconds then (section 8). Time of value v in ns since its
 * origin (for LTTng the Unix epoch): offset_s * 1e9 + (offset_cycles + v) * 1e9 / frequency. */
struct lull_clock {
    const char *name;
    const char *description; /* or NULL */
    bool has_uuid;
    uint8_t uuid[16];   /* LTTng kernel: the boot id */
    uint64_t frequency; /* Hz, > 0 */
    int64_t offset_s;
    uint64_t offset_cycles;
    uint64_t precision; /* cycles */
    bool is_absolute;
};

struct lull_event_decl {
    uint64_t id;
    const char *name;              /* "" if the metadata gives none */
    int64_t loglevel;              /* -1: not given */
    const char *emf_uri;           /* or NULL */
    const struct lull_fc *context; /* LULL_FC_STRUCT or NULL */
    const struct lull_fc *payload; /* LULL_FC_STRUCT or NULL */
};

struct lull_stream_decl {
    uint64_t id;
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
    uint32_t major, minor;
    bool has_uuid;
    uint8_t uuid[16];
    bool is_big_endian;                  /* the trace's native byte order */
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

/* The option (index into fc->variant.options) that the tag value selects, or -1: that of the first
 * range that covers the value and has an option. */
int lull_fc_variant_option(const struct lull_fc *fc, uint64_t tag_value);
/* First label of an enumeration that covers the value, or NULL. `fc` is LULL_FC_INT. */
const char *lull_fc_enum_label(const struct lull_fc *fc, uint64_t value);

#endif
