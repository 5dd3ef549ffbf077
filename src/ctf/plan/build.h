/* SPDX-License-Identifier: MIT */
/* Private to the plan compiler: which fields are wanted (places), and the builder that turns field
 * classes into operations. */
#ifndef LULL_CTF_PLAN_BUILD_H
#define LULL_CTF_PLAN_BUILD_H

#include "ctf/plan/plan.h"

enum lull_want_kind {
    LULL_WANT_SLOT, /* a length or tag: an integer kept for another field */
    LULL_WANT_INT,
    LULL_WANT_TEXT,
    LULL_WANT_RAW,
    LULL_WANT_REAL,
    LULL_WANT_CLOCK, /* advances the clock */
};

/* One field that must be kept, by scope and member indices; a variant's option is an index too,
 * arrays and sequences add none. */
struct lull_want {
    enum lull_scope scope;
    uint32_t depth;
    const uint32_t *path;
    enum lull_want_kind kind;
    uint32_t dst;
    uint32_t have_dst;
    uint64_t have;          /* bit to set at have_dst when read; 0: none */
    struct lull_want *next; /* same place */
};

struct lull_kept_fields *lull_kept_fields_new(void);
void lull_kept_fields_free(struct lull_kept_fields *positions);
/* Adds a copy. */
void lull_kept_fields_add(struct lull_kept_fields *positions, const struct lull_want *want);
/* The wants of a place, or NULL. `places` may be NULL. */
const struct lull_want *lull_kept_fields_find(const struct lull_kept_fields *positions,
                                              enum lull_scope scope, uint32_t depth,
                                              const uint32_t *path);

/* True if the field of `ref` (not of ref->next) is kept at `dst` as a slot. */
bool lull_kept_fields_has(const struct lull_kept_fields *positions, const struct lull_fc_ref *ref,
                          uint32_t dst);
bool lull_kept_fields_is_absent(const struct lull_kept_fields *positions, uint32_t slot);
/* The slots of a scope whose fields may be left out, one by one; 0 after the last. */
uint32_t lull_kept_fields_absent(const struct lull_kept_fields *positions, enum lull_scope scope,
                                 uint32_t index);

/* A slot is the value, and whether it was read (only for fields that may be absent). */
#define LULL_SLOT_BYTES 16
/* Of a loop, see lull_op.counter. */
#define LULL_LOOP_BYTES 24

/* Gives each length, tag and selector that classes refer to a slot. */
struct lull_collector {
    const struct lull_fc *roots[LULL_SCOPE_COUNT];
    struct lull_kept_fields *shared, *own; /* either may be NULL: not collected */
    uint32_t *next_slot;
    uint64_t *budget;
    bool *uses_header;  /* set when something refers to an event header; or NULL */
    bool has_wide_text; /* some text is not of bytes */
};
void lull_collect_refs(struct lull_collector *collector, const struct lull_fc *fc, unsigned depth);

enum lull_byte_order { LULL_BYTE_ORDER_UNKNOWN, LULL_BYTE_ORDER_LITTLE, LULL_BYTE_ORDER_BIG };

struct lull_builder {
    GArray *ops; /* struct lull_op */
    GPtrArray *owned;
    uint64_t *budget; /* schema nodes that may still be visited */
    const struct lull_kept_fields *positions[3];
    uint32_t next_slot; /* memory offset; grows */
    bool sums;          /* every field */

    /* The position is known to be `rem` modulo `known`, a power of two. */
    uint32_t known, rem;
    uint32_t pending_align;
    enum lull_byte_order order; /* of the number before, if it is the same in every event */
    int run, have; /* indices of the open run, and of the HAVE of this straight piece, or -1 */

    enum lull_scope scope;
    uint32_t depth;
    uint32_t path[LULL_FC_DEPTH + 1];
    uint32_t nesting;
    GError *error;
};

void lull_builder_init(struct lull_builder *builder, GPtrArray *owned, uint64_t *budget,
                       uint32_t next_slot);
/* Takes the slots of a scope whose fields may be left out for not read yet. */
void lull_builder_forget(struct lull_builder *builder, const struct lull_kept_fields *positions,
                         enum lull_scope scope);
/* Lets go of the texts that were converted for the event before. */
void lull_builder_reset_texts(struct lull_builder *builder);
/* Appends a scope's structure; NULL adds nothing. */
void lull_builder_add(struct lull_builder *builder, enum lull_scope scope,
                      const struct lull_fc *fc);
/* Ends the plan; the operations belong to `owned`. NULL with an error on failure. */
const struct lull_op *lull_builder_finish(struct lull_builder *builder, GError **error);

/* ---- between the files of the builder ---- */

/* The operation at an index; valid until the next is appended. */
struct lull_op *lull_builder_op(struct lull_builder *builder, int index);
/* Appends an operation. */
struct lull_op *lull_builder_emit(struct lull_builder *builder, enum lull_op_code code);
/* The run that fixed fields belong to now. */
struct lull_op *lull_builder_run(struct lull_builder *builder);

/* What is wanted of the field at the current place: an integer, a real, an array of fixed size, a
 * LEB128 integer that has been read, the bytes of a string or sequence. */
void lull_build_load_integer(struct lull_builder *builder, const struct lull_fc *fc,
                             const struct lull_want *want);
void lull_build_load_real(struct lull_builder *builder, const struct lull_fc *fc,
                          const struct lull_want *want);
void lull_build_load_array(struct lull_builder *builder, const struct lull_fc *fc,
                           const struct lull_want *want);
void lull_build_load_varint(struct lull_builder *builder, const struct lull_fc *fc,
                            const struct lull_want *want);
void lull_build_store_bytes(struct lull_builder *builder, const struct lull_fc *fc,
                            const struct lull_want *want);
/* The presence of the same. */
void lull_build_have_bytes(struct lull_builder *builder, const struct lull_fc *fc,
                           const struct lull_want *want);
bool lull_fc_is_number(const struct lull_fc *fc);
/* How the bytes of a text or blob are to be taken. */
void lull_op_set_form(struct lull_op *op, const struct lull_fc *fc);
/* Sums `count` numbers, `stride` bits from one to the next. */
void lull_build_sum(struct lull_builder *builder, const struct lull_fc *element, uint64_t count,
                    uint64_t stride);
/* Sums a text or blob of fixed size. */
void lull_build_sum_bytes(struct lull_builder *builder, const struct lull_fc *fc);

/* Schema nodes that one trace's plans may visit in all; a real kernel trace needs some 20 000. */
#define LULL_NODE_BUDGET (UINT64_C(1) << 24)

/* The operations for contexts and payload of event `index`, with loads for `wants` (may be NULL),
 * or with sums of every field.
 * *end_slot is where its slots end, and where they end with those of loops afterwards. */
const struct lull_op *lull_plan_build_event(struct lull_ctf_plan *plan,
                                            struct lull_stream_plan *stream, uint32_t index,
                                            const struct lull_kept_fields *wants, bool sums,
                                            GPtrArray *owned, uint64_t *budget, uint32_t *end_slot,
                                            GError **error);

#endif
