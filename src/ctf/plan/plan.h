/* SPDX-License-Identifier: MIT */
/* Decode plans: what a schema says about packets and events, compiled to short lists of operations.
 * A run of fixed size is one operation; a wanted field is one load relative to its run; only
 * strings, sequences, variants and loops cost more. Plans are immutable once compiled. */
#ifndef LULL_CTF_PLAN_H
#define LULL_CTF_PLAN_H

#include <lull/error.h>
#include <lull/event.h>

#include "ctf/schema/schema.h"

enum lull_op_code {
    LULL_OP_END,
    LULL_OP_RUN, /* align to `align`, then `bits` bits of fixed layout; base of the next loads */
    LULL_OP_U8,  /* loads: an integer at bit `bits` of the run to memory `dst` */
    LULL_OP_S8,
    LULL_OP_U16,
    LULL_OP_S16,
    LULL_OP_U32,
    LULL_OP_S32,
    LULL_OP_U64,
    LULL_OP_BITS,         /* any `size`, any bit, also booleans, reals, reversed bytes */
    LULL_OP_CLOCK,        /* like BITS, into the clock, which advances (CTF 1.8.3, 8) */
    LULL_OP_ARRAY,        /* `count` bytes at bit `bits` of the run as struct lull_text */
    LULL_OP_LOADS,        /* `loads`; with the next `count` operations, nothing is left to do */
    LULL_OP_STRING,       /* align to a byte, up to and with the NUL; text to `dst` unless 0 */
    LULL_OP_SEQUENCE,     /* align, as many elements as `slot` says: `bits` from one to the next,
                             `count` bits of the last; bytes to `dst` unless 0 */
    LULL_OP_VARINT,       /* align to a byte; a LEB128 integer to LULL_MEM_VARINT */
    LULL_OP_VARINT_CLOCK, /* the integer that VARINT read into the clock */
    LULL_OP_COPY,         /* 8 bytes from `slot` to `dst` */
    LULL_OP_SET,          /* `bits` to `dst` */
    LULL_OP_CHECK,        /* fails unless 8 bytes at `slot` are not zero */
    LULL_OP_WHOLE_BYTE,   /* fails unless a byte begins here: the byte order changes */
    LULL_OP_OPTIONAL,     /* goes to `target` unless `slot` says that field `fc` is there */
    LULL_OP_RESET_TEXTS,  /* converted texts are not needed any more */
    LULL_OP_LOOP,   /* repeats up to `target` as often as `slot` says, or `count` if slot is 0 */
    LULL_OP_NEXT,   /* end of a loop's body; `target` is the first operation of the body */
    LULL_OP_SWITCH, /* to the operations of the option that `slot` selects */
    LULL_OP_JUMP,
    LULL_OP_TEXT, /* what is at `slot`, a struct lull_text, also to `dst` */
    LULL_OP_HAVE, /* ors `bits` into the mask at `dst` */
    /* Only lull_plan_sum() knows these: fields at bit `bits` of the run into the checksum. */
    LULL_OP_SUM_U8,
    LULL_OP_SUM_S8,
    LULL_OP_SUM_U16,
    LULL_OP_SUM_S16,
    LULL_OP_SUM_U32,
    LULL_OP_SUM_S32,
    LULL_OP_SUM_U64,
    LULL_OP_SUM_BITS,  /* `count` integers or reals, `target` bits from one to the next */
    LULL_OP_SUM_BYTES, /* `count` bytes of a text or blob */
    LULL_OP_SUMS,      /* `loads`, into the checksum; otherwise like LOADS */
};

/* The options of a variant: by small tag values at once, by others with a search. */
struct lull_switch {
    const struct lull_fc *fc;
    const uint32_t *targets; /* by option */
    int32_t small[256];      /* option of a tag value, or -1 */
};

/* One operation. Positions are bits; memory offsets (`dst`, `slot`) are bytes. */
struct lull_op {
    uint8_t code;
    uint8_t size; /* bits of an integer */
    bool is_signed;
    bool is_big_endian;
    bool is_text; /* ends at the first NUL */
    bool is_blob;
    bool is_boolean;
    bool is_bit_reversed;
    bool is_at_byte;  /* RUN: it always starts at one */
    uint8_t encoding; /* enum lull_encoding; texts of wide ones are converted to UTF-8 */
    bool is_real;     /* IEEE 754, becomes a double */
    uint32_t align;   /* bits, a power of two; 1: nothing to do */
    uint32_t dst;
    uint32_t slot;    /* of a length or a tag; of a loop's counter for NEXT */
    uint32_t counter; /* LOOP, NEXT: LULL_LOOP_BYTES for what remains, and for what the position and
                         the sum of fields were when this round started */
    uint32_t target;
    uint64_t bits;
    uint64_t count; /* of RUN: fields in it that are summed */
    union {
        const struct lull_switch *choice; /* SWITCH */
        const struct lull_fc *fc;         /* OPTIONAL */
        const struct lull_loads *loads;   /* LOADS, SUMS */
    };
};

/* One of the loads that need no decision: an integer within 64 bits, or an array of bytes. */
struct lull_load {
    uint16_t offset; /* bytes, from the start of the run */
    uint16_t dst;
    uint16_t count; /* of an array: its bytes */
    uint8_t left;   /* of an integer: by how much it is shifted until nothing is above it */
    uint8_t right;  /* 64 less its bits */
    uint64_t mask;  /* of an unsigned one: its bits; all of a signed one */
};

/* All such loads of a run, close together. */
struct lull_loads {
    uint16_t n_little; /* a multiple of LULL_LOADS_TOGETHER: the last ones may go nowhere */
    uint16_t n_big;    /* after them: of the other byte order */
    uint16_t n_arrays; /* after these; to be summed: their bytes are numbers */
    uint16_t n_texts;  /* after these: arrays up to the first NUL */
    bool has_more;     /* n_big or n_arrays is not 0 */
    struct lull_load items[];
};

#define LULL_LOADS_TOGETHER 4

/* A decoder's memory: fixed places, then slots for lengths and tags, then the fields of the
 * subscriber. All places are 8 bytes wide but LULL_MEM_UUID and
 * LULL_MEM_BYTES, which are a struct lull_text. */
enum lull_memory {
    LULL_MEM_CLOCK = 0, /* clock value, cycles */
    LULL_MEM_ID = 8,    /* event id */
    LULL_MEM_HAVE = 16, /* which of the following were there, bit = enum lull_packet_field */
    LULL_MEM_MAGIC = 24,
    LULL_MEM_STREAM_ID = 32,
    LULL_MEM_TIME_BEGIN = 40,
    LULL_MEM_TIME_END = 48,
    LULL_MEM_CONTENT_SIZE = 56,
    LULL_MEM_PACKET_SIZE = 64,
    LULL_MEM_DISCARDED = 72,
    LULL_MEM_SEQUENCE = 80,
    LULL_MEM_CPU = 88,
    LULL_MEM_UUID = 96,
    LULL_MEM_VARINT = 112,
    LULL_MEM_VARINT_BITS = 120, /* how many bits of it were encoded */
    LULL_MEM_TEXTS = 128,       /* struct lull_texts * for converted texts */
    LULL_MEM_BYTES = 136,       /* struct lull_text, on its way */
    LULL_MEM_INSTANCE = 152,
    LULL_MEM_NOWHERE = 160,
    LULL_MEM_SLOTS = 168,
};

enum lull_packet_field {
    LULL_HAS_MAGIC = 1 << 0,
    LULL_HAS_STREAM_ID = 1 << 1,
    LULL_HAS_TIME_BEGIN = 1 << 2,
    LULL_HAS_TIME_END = 1 << 3,
    LULL_HAS_CONTENT_SIZE = 1 << 4,
    LULL_HAS_PACKET_SIZE = 1 << 5,
    LULL_HAS_DISCARDED = 1 << 6,
    LULL_HAS_SEQUENCE = 1 << 7,
    LULL_HAS_CPU = 1 << 8,
    LULL_HAS_UUID = 1 << 9,
    LULL_HAS_INSTANCE = 1 << 10,
};

/* What lull_plan_run() returns instead of a position; all are larger than any position. */
#define LULL_PLAN_SHORT UINT64_MAX             /* passes the limit */
#define LULL_PLAN_BAD_TAG (UINT64_MAX - 1)     /* a variant's tag selects nothing */
#define LULL_PLAN_BAD_INTEGER (UINT64_MAX - 2) /* a LEB128 integer has more than 64 bits */
#define LULL_PLAN_NO_REF (UINT64_MAX - 3)      /* a length or tag was left out itself */
#define LULL_PLAN_BAD_ORDER (UINT64_MAX - 4)   /* the byte order changes within a byte */
#define LULL_PLAN_FAILED (UINT64_C(1) << 62)   /* the least of them */

/* The largest alignment that is accepted. A buffer that starts at a multiple of it after the
 * packet's start therefore has the packet's alignment. */
#define LULL_GRAIN_BITS 32768u

/* Fixed-size sums saturate here: larger than any packet, small enough to add a few. */
#define LULL_BITS_HUGE (UINT64_C(1) << 60)

/* What decoding every field came to. The checksum is the sum, modulo 2^64, of all values: integers
 * sign- or zero-extended, the bits of reals as doubles, texts as lull_text_sum() says. */
struct lull_tally {
    uint64_t fields;
    uint64_t checksum;
};

/* Event headers that straight code decodes. */
enum lull_header_kind {
    LULL_HEADER_GENERAL,
    LULL_HEADER_LARGE_LE, /* 16-bit id, 32-bit time; id 65535: 32-bit id, 64-bit time */
    LULL_HEADER_LARGE_BE,
    LULL_HEADER_COMPACT_LE, /* 5-bit id, 27-bit time; id 31: the same */
    LULL_HEADER_COMPACT_BE,
};

/* Bit positions within such a header. */
struct lull_header_layout {
    uint32_t time, end;                    /* usual form */
    uint32_t long_id, long_time, long_end; /* extended form */
};

/* What stepping over events of one id takes, where the usual form of a straight header and the
 * alignment of events settle it. */
struct lull_stride {
    uint32_t bits;  /* from the start of one event to that of the next, or LULL_STRIDE_… */
    uint32_t index; /* of the class within the trace */
};

/* No event has so few bits. */
#define LULL_STRIDE_NONE 0  /* its plan tells */
#define LULL_STRIDE_TEXTS 1 /* besides parts of fixed size it has texts of bytes */

/* One class of events, ready for decoding. */
struct lull_event_plan {
    uint64_t fixed_bits; /* of contexts and payload if they are a single run, else LULL_BITS_HUGE */
    uint64_t align_mask; /* of that run, alignment - 1 */
    const struct lull_op *ops;      /* wanted fields if subscribed, else the same as skip */
    const struct lull_loads *loads; /* all that `ops` do if the event is a single run; or NULL */
    const struct lull_op *skip;     /* NULL: no such event class */
    const struct lull_op *all;      /* sums every field; NULL before lull_ctf_plan_load_all() */
    const struct lull_loads *sums;  /* all that `all` does if the event is a single run; or NULL */
    uint64_t have;                  /* bindings that every event of the class has */
    uint32_t clear_size;            /* bytes of fields to clear first: some may be left out */
    bool has_wide_text;             /* texts that must be converted */
    bool has_fields;                /* the subscription has bindings, so `have` is wanted */
    bool is_straight;               /* fixed_bits and `loads` are all that `ops` do */
    int32_t subscription;           /* or -1 */
    uint32_t index;                 /* of the class within the trace */
    struct lull_event_class *event_class;
};

/* Memory offsets of lengths and tags by the place of their field; see plan_build.h. */
struct lull_kept_fields;

/* All of one stream class. */
struct lull_stream_plan {
    const struct lull_stream_decl *decl;
    const struct lull_op *packet_context;
    const struct lull_op *event_header;
    uint32_t event_align; /* bits: of an event record */
    enum lull_header_kind header_kind;
    struct lull_header_layout layout;
    bool has_id;      /* the header holds one */
    bool has_time;    /* some field of header or packet holds it */
    bool uses_header; /* a length or tag of events refers to it */
    uint8_t discarded_bits, sequence_bits, start_bits, end_bits; /* widths, 0: not there */
    const struct lull_clock *clock;                              /* or NULL */
    struct lull_event_plan *plans;                               /* by index in decl->events */
    struct lull_event_plan **by_id;                              /* dense, for ids < n_by_id */
    struct lull_stride *strides;                                 /* the same */
    uint32_t *unwanted; /* the same: their bits, but LULL_STRIDE_NONE if subscribed */
    uint32_t n_by_id;
    uint32_t n_short;                    /* ids below come in the usual form of a straight header */
    uint32_t first_class;                /* index of events[0] within the trace */
    struct lull_kept_fields **positions; /* per event: its lengths and tags, or NULL */
    uint32_t *slots_end;                 /* per event: memory offset after its slots */
    uint32_t body_known, body_rem;       /* after the header the position is rem modulo known */
    struct lull_event_plan unknown;      /* in by_id for ids that nothing declares */
};

/* All of one trace. */
struct lull_ctf_plan {
    const struct lull_schema *schema;
    const struct lull_op *packet_header; /* empty if there is none */
    struct lull_stream_plan *streams;    /* as schema->streams */
    struct lull_kept_fields *shared;     /* of packet header, packet context, event header */
    uint32_t shared_end;                 /* memory offset after the shared slots */
    uint32_t fields_offset;              /* in memory; all slots lie before it */
    uint32_t all_end;                    /* the same for the slots of sums; no fields then */
    bool has_all;                        /* lull_ctf_plan_load_all() was called */
    GPtrArray *owned;                    /* everything allocated */
    GPtrArray *owned_wants;              /* what lull_ctf_plan_subscribe() allocated */
    uint64_t budget;                     /* schema nodes that may still be visited */
};

/* Compiles the schema, which must outlive the plan. NULL and LULL_ERROR_UNSUPPORTED if a class is
 * nested too deep, too large or aligned beyond reason. */
struct lull_ctf_plan *lull_ctf_plan_new(const struct lull_schema *schema, GError **error);
void lull_ctf_plan_free(struct lull_ctf_plan *plan);

/* Fields that somebody other than the subscriber wants, laid out after the subscriber's: `offset`
 * counts from lull_ctf_plan.fields_offset. Bits of presence are set for optional ones only. */
struct lull_extra_fields {
    const struct lull_binding *bindings;
    uint32_t n_bindings;
    uint32_t offset, size;
};

/* Compiles event `index` of `stream` for a subscription; `extra` may be NULL. */
void lull_ctf_plan_subscribe(struct lull_ctf_plan *plan, struct lull_stream_plan *stream,
                             uint32_t index, int32_t subscription,
                             const struct lull_binding *bindings, uint32_t n_bindings,
                             uint32_t fields_size, const struct lull_extra_fields *extra);
/* The first field that a binding of `path` would find, of whatever kind, or NULL. *is_optional says
 * whether a variant may leave it out. */
const struct lull_fc *lull_ctf_plan_find_field(const struct lull_stream_plan *stream,
                                               uint32_t index, const char *path, bool *is_optional);
/* Whether a field can be bound as `kind`. */
bool lull_ctf_plan_can_bind(const struct lull_fc *fc, enum lull_bind_kind kind);
void lull_ctf_plan_unsubscribe_all(struct lull_ctf_plan *plan);

/* Compiles all event classes for lull_plan_sum(), once. Not to be called while streams are read. */
void lull_ctf_plan_load_all(struct lull_ctf_plan *plan);

/* The plan of an event id: that of no class, without `skip`, if nothing declares it. */
const struct lull_event_plan *lull_stream_plan_find(const struct lull_stream_plan *stream,
                                                    uint64_t id);

/* Runs operations from bit `pos` of `buf`, whose readable bits end at `limit` (LULL_LOAD_SLACK
 * bytes after it must exist). Alignment counts from buf. Returns the position after them, or
 * LULL_PLAN_… . */
uint64_t lull_plan_run(const struct lull_op *ops, const uint8_t *buf, uint64_t limit, uint64_t pos,
                       uint8_t *memory);

/* The same for `skip` of an event of LULL_STRIDE_TEXTS. */
uint64_t lull_plan_skip_texts(const struct lull_op *skip, const uint8_t *buf, uint64_t limit,
                              uint64_t pos);

/* The same for plans that sum: adds what the event holds to *tally if it fits. */
uint64_t lull_plan_sum(const struct lull_op *ops, const uint8_t *buf, uint64_t limit, uint64_t pos,
                       uint8_t *memory, struct lull_tally *tally);

/* A text's part of a checksum: its length and its bytes as little-endian words of 64 bits. */
uint64_t lull_text_sum(const char *data, uint64_t length);

/* Why a run failed, for a message. */
const char *lull_plan_why(uint64_t code);

/* Where a field is kept if it is a length or tag of another: memory offset, or 0. */
uint32_t lull_kept_fields_slot(const struct lull_kept_fields *positions, enum lull_scope scope,
                               uint32_t depth, const uint32_t *path);

/* Nested no deeper than this, anywhere. */
#define LULL_FC_DEPTH 48

static inline uint64_t lull_memory_get(const uint8_t *memory, uint32_t offset)
{
    uint64_t v;
    __builtin_memcpy(&v, memory + offset, sizeof v);
    return v;
}

static inline void lull_memory_set(uint8_t *memory, uint32_t offset, uint64_t v)
{
    __builtin_memcpy(memory + offset, &v, sizeof v);
}

/* The clock after reading `v`, the low `bits` of its value (CTF 1.8.3, 8: it never goes back). */
static inline uint64_t lull_clock_advance(uint64_t clock, uint64_t v, unsigned bits)
{
    return bits >= 64 ? v : clock + ((v - clock) & ((UINT64_C(1) << bits) - 1));
}

#endif
