/* SPDX-License-Identifier: MIT */
/* The plan compiler's back end: walks field classes and emits operations. What it knows about the
 * position's alignment at compile time is used to merge neighbours into runs; where it knows
 * nothing, runs align themselves when they are executed. */
#include "ctf/plan/build.h"
#include "ctf/plan/gather.h"

#include "base/bits.h"
#include "ctf/schema/text.h"

/* Buffers may start at any multiple of this, see plan.h. */
#define MAX_ALIGN_BITS LULL_GRAIN_BITS

static bool fail(struct lull_builder *b, const char *why)
{
    if (!b->error) {
        b->error = g_error_new(LULL_ERROR, LULL_ERROR_UNSUPPORTED, "%s", why);
    }
    return false;
}

/* Accounts for one node of the schema. */
static bool spend(struct lull_builder *b)
{
    if (b->error) {
        return false;
    }
    if (*b->budget == 0) {
        return fail(b, "the metadata's field classes unfold to too many fields");
    }
    --*b->budget;
    return true;
}

struct lull_op *lull_builder_op(struct lull_builder *b, int index)
{
    return &g_array_index(b->ops, struct lull_op, index);
}

struct lull_op *lull_builder_emit(struct lull_builder *b, enum lull_op_code code)
{
    struct lull_op op = {.code = code, .align = 1};
    g_array_append_val(b->ops, op);
    return lull_builder_op(b, (int)b->ops->len - 1);
}

struct lull_op *lull_builder_run(struct lull_builder *b)
{
    if (b->run < 0) {
        struct lull_op *op = lull_builder_emit(b, LULL_OP_RUN);
        op->align = b->pending_align;
        op->is_at_byte = b->known >= 8 && b->rem % 8 == 0;
        b->pending_align = 1;
        b->run = (int)b->ops->len - 1;
    }
    return lull_builder_op(b, b->run);
}

static void close_run(struct lull_builder *b)
{
    if (b->pending_align > 1) {
        lull_builder_run(b);
    }
    b->run = -1;
}

static void add_bits(struct lull_builder *b, uint64_t bits)
{
    struct lull_op *run = lull_builder_run(b);
    run->bits = MIN(run->bits + MIN(bits, LULL_BITS_HUGE), LULL_BITS_HUGE);
    b->rem = (uint32_t)((b->rem + bits) & (b->known - 1));
}

static void add_alignment(struct lull_builder *b, uint32_t align)
{
    if (align > MAX_ALIGN_BITS || align == 0 || (align & (align - 1)) != 0) {
        fail(b, "a field class has an alignment beyond reason");
        return;
    }
    if (b->known >= align) {
        uint32_t padding = -b->rem & (align - 1);
        if (padding != 0) {
            add_bits(b, padding);
        }
        return;
    }
    b->run = -1;
    b->pending_align = MAX(b->pending_align, align);
    b->known = align;
    b->rem = 0;
}

static enum lull_byte_order order_of(const struct lull_fc *fc)
{
    if (fc->kind != LULL_FC_INT && fc->kind != LULL_FC_FLOAT) {
        return LULL_BYTE_ORDER_UNKNOWN;
    }
    bool be = fc->kind == LULL_FC_INT ? fc->integer.is_big_endian : fc->floating.is_big_endian;
    return be ? LULL_BYTE_ORDER_BIG : LULL_BYTE_ORDER_LITTLE;
}

static bool orders_differ(enum lull_byte_order a, enum lull_byte_order b)
{
    return a != b && a != LULL_BYTE_ORDER_UNKNOWN && b != LULL_BYTE_ORDER_UNKNOWN;
}

/* A number, or several, of this class come next. Within a byte the byte order must not change: no
 * rule says which bits are whose (CTF 1.8.3, section 4.1.5, is silent; CTF 2 forbids it). */
static void note_order(struct lull_builder *b, const struct lull_fc *fc)
{
    enum lull_byte_order order = order_of(fc);
    if (orders_differ(b->order, order) && (b->known < 8 || b->rem % 8 != 0)) {
        close_run(b);
        lull_builder_emit(b, LULL_OP_WHOLE_BYTE);
        b->have = -1;
    }
    b->order = order;
}

/* What is before is one of two. */
static void order_either(struct lull_builder *b, enum lull_byte_order order)
{
    b->order = b->order == order ? order : LULL_BYTE_ORDER_UNKNOWN;
}

/* A variant is aligned by the option that it holds only, and so is an optional field. */
static uint32_t alignment_of(const struct lull_fc *fc)
{
    return fc->kind == LULL_FC_VARIANT || fc->kind == LULL_FC_OPTIONAL ? 1 : fc->alignment;
}

/* Forgets all about the position but what holds for every multiple of `step` more bits. */
static void know_only(struct lull_builder *b, uint64_t step)
{
    uint64_t low = step == 0 ? b->known : step & -step;
    b->known = (uint32_t)MIN((uint64_t)b->known, low);
    b->rem &= b->known - 1;
}

/* The position is one of two. */
static void know_either(struct lull_builder *b, uint32_t known, uint32_t rem)
{
    b->known = MIN(b->known, known);
    while (b->known > 1 && ((b->rem ^ rem) & (b->known - 1)) != 0) {
        b->known /= 2;
    }
    b->rem &= b->known - 1;
}

/* Size of a class when it starts aligned; false if it depends on the data (or on an error). */
static bool fixed_bits(struct lull_builder *b, const struct lull_fc *fc, unsigned depth,
                       uint64_t *bits)
{
    if (!spend(b)) {
        return false;
    }
    if (depth > LULL_FC_DEPTH) {
        return fail(b, "field classes are nested too deep");
    }
    uint64_t size = 0, part;
    switch (fc->kind) {
    case LULL_FC_INT:
        *bits = fc->integer.size;
        return true;
    case LULL_FC_FLOAT:
        *bits = fc->floating.size;
        return true;
    case LULL_FC_STRUCT:
        for (uint32_t i = 0; i < fc->structure.n_members; i++) {
            const struct lull_fc *member = fc->structure.members[i].fc;
            if (member->alignment > fc->alignment || !fixed_bits(b, member, depth + 1, &part)) {
                return false;
            }
            if (i > 0 && lull_align_up(size, member->alignment) % 8 != 0 &&
                orders_differ(order_of(fc->structure.members[i - 1].fc), order_of(member))) {
                return false; /* is to be found out field by field */
            }
            size = MIN(lull_align_up(size, member->alignment) + part, LULL_BITS_HUGE);
        }
        *bits = size;
        return true;
    case LULL_FC_ARRAY: {
        const struct lull_fc *element = fc->array.element;
        if (element->alignment > fc->alignment || !fixed_bits(b, element, depth + 1, &part)) {
            return false;
        }
        uint64_t stride = lull_align_up(part, element->alignment);
        if (fc->array.length > 0 && (__builtin_mul_overflow(fc->array.length - 1, stride, &size) ||
                                     __builtin_add_overflow(size, part, &size))) {
            size = LULL_BITS_HUGE;
        }
        *bits = MIN(size, LULL_BITS_HUGE);
        return true;
    }
    case LULL_FC_VARINT:
    case LULL_FC_STRING:
    case LULL_FC_SEQUENCE:
    case LULL_FC_OPTIONAL:
    case LULL_FC_VARIANT:
        break;
    }
    return false;
}

/* Calls `each` for what is wanted of the field at the current path. */
static void each_want(struct lull_builder *b, const struct lull_fc *fc,
                      void (*each)(struct lull_builder *, const struct lull_fc *,
                                   const struct lull_want *))
{
    for (size_t i = 0; i < G_N_ELEMENTS(b->positions); i++) {
        const struct lull_want *want =
            lull_kept_fields_find(b->positions[i], b->scope, b->depth, b->path);
        for (; want; want = want->next) {
            each(b, fc, want);
        }
    }
}

static bool build(struct lull_builder *b, const struct lull_fc *fc);

/* The slot of a length, tag or selector, which is checked if it may have been left out; 0 with an
 * error if the schema refers to something unknown. */
static uint32_t use_slot(struct lull_builder *b, const struct lull_fc_ref *ref)
{
    for (size_t i = 0; i < G_N_ELEMENTS(b->positions); i++) {
        uint32_t slot = lull_kept_fields_slot(b->positions[i], ref->scope, ref->depth, ref->path);
        if (slot == 0) {
            continue;
        }
        if (lull_kept_fields_is_absent(b->positions[i], slot)) {
            close_run(b);
            lull_builder_emit(b, LULL_OP_CHECK)->slot = slot + 8;
            b->have = -1;
        }
        return slot;
    }
    fail(b, "a length or tag refers to a field that is out of reach");
    return 0;
}

static bool build_loop(struct lull_builder *b, const struct lull_fc *element, uint32_t slot,
                       uint64_t count)
{
    close_run(b);
    uint32_t counter = b->next_slot;
    b->next_slot += LULL_LOOP_BYTES;
    struct lull_op *loop = lull_builder_emit(b, LULL_OP_LOOP);
    int first = (int)b->ops->len - 1;
    loop->slot = slot;
    loop->count = count;
    loop->counter = counter;
    b->known = 1;
    b->rem = 0;
    b->have = -1;
    b->order = LULL_BYTE_ORDER_UNKNOWN;
    if (!build(b, element)) {
        return false;
    }
    b->order = LULL_BYTE_ORDER_UNKNOWN;
    close_run(b);
    struct lull_op *next = lull_builder_emit(b, LULL_OP_NEXT);
    next->counter = counter;
    next->target = (uint32_t)first + 1;
    lull_builder_op(b, first)->target = b->ops->len - 1;
    b->known = 1;
    b->rem = 0;
    b->have = -1;
    return true;
}

static bool build_array(struct lull_builder *b, const struct lull_fc *fc)
{
    const struct lull_fc *element = fc->array.element;
    uint64_t bits;
    add_alignment(b, MAX(fc->alignment, alignment_of(element)));
    if (fc->array.length > 0) {
        note_order(b, element);
    }
    if (b->sums && lull_fc_form(fc) != LULL_BYTES_NONE) {
        lull_build_sum_bytes(b, fc);
    } else if (b->sums && lull_fc_is_number(element)) {
        uint64_t stride;
        if (fc->array.length > 0 && fixed_bits(b, element, b->nesting, &stride)) {
            lull_build_sum(b, element, fc->array.length, lull_align_up(stride, element->alignment));
        }
    } else if (b->sums) {
        return build_loop(b, element, 0, fc->array.length);
    }
    if (fixed_bits(b, fc, b->nesting, &bits)) {
        each_want(b, fc, lull_build_load_array);
        add_bits(b, bits);
        return true;
    }
    return !b->error && build_loop(b, element, 0, fc->array.length);
}

static bool build_sequence(struct lull_builder *b, const struct lull_fc *fc)
{
    const struct lull_fc *element = fc->sequence.element;
    uint32_t slot = use_slot(b, &fc->sequence.length);
    uint64_t bits;
    if (slot == 0) {
        return false;
    }
    add_alignment(b, MAX(fc->alignment, alignment_of(element)));
    if ((b->sums && !lull_fc_is_number(element)) || !fixed_bits(b, element, b->nesting, &bits)) {
        return !b->error && build_loop(b, element, slot, 0);
    }
    uint32_t align = b->run < 0 ? b->pending_align : 1;
    b->pending_align = 1;
    b->run = -1;
    struct lull_op *op = lull_builder_emit(b, LULL_OP_SEQUENCE);
    op->align = align;
    op->slot = slot;
    op->bits = lull_align_up(bits, element->alignment);
    op->count = bits;
    if (b->sums) {
        bool is_int = element->kind == LULL_FC_INT;
        op->size = (uint8_t)(is_int ? element->integer.size : element->floating.size);
        op->is_signed = is_int && element->integer.is_signed;
        op->is_big_endian =
            is_int ? element->integer.is_big_endian : element->floating.is_big_endian;
        op->is_real = !is_int;
        op->is_bit_reversed =
            is_int ? element->integer.is_bit_reversed : element->floating.is_bit_reversed;
        op->is_boolean = is_int && element->integer.meaning == LULL_INT_BOOLEAN;
        lull_op_set_form(op, fc);
    }
    know_only(b, op->bits);
    know_only(b, bits);
    order_either(b, order_of(element));
    each_want(b, fc, lull_build_store_bytes);
    each_want(b, fc, lull_build_have_bytes);
    return true;
}

static bool build_string(struct lull_builder *b, const struct lull_fc *fc)
{
    add_alignment(b, MAX(fc->alignment, 8));
    uint32_t align = b->run < 0 ? b->pending_align : 1;
    b->pending_align = 1;
    b->run = -1;
    struct lull_op *op = lull_builder_emit(b, LULL_OP_STRING);
    op->align = align;
    op->encoding = (uint8_t)fc->string.encoding;
    know_only(b, 8);
    each_want(b, fc, lull_build_store_bytes);
    each_want(b, fc, lull_build_have_bytes);
    return true;
}

static struct lull_switch *new_switch(struct lull_builder *b, const struct lull_fc *fc,
                                      uint32_t **targets)
{
    struct lull_switch *choice = g_new0(struct lull_switch, 1);
    g_ptr_array_add(b->owned, choice);
    *targets = g_new0(uint32_t, MAX(fc->variant.n_options, 1));
    g_ptr_array_add(b->owned, *targets);
    choice->fc = fc;
    choice->targets = *targets;
    /* The searches below cost as much as there are ranges. */
    *b->budget -= MIN(*b->budget, fc->variant.n_ranges);
    for (uint64_t tag = 0; tag < G_N_ELEMENTS(choice->small); tag++) {
        choice->small[tag] = lull_fc_variant_option(fc, tag);
    }
    return choice;
}

static bool build_variant(struct lull_builder *b, const struct lull_fc *fc)
{
    uint32_t slot = use_slot(b, &fc->variant.tag);
    if (slot == 0) {
        return false;
    }
    close_run(b);
    uint32_t *targets;
    struct lull_op *op = lull_builder_emit(b, LULL_OP_SWITCH);
    op->slot = slot;
    op->choice = new_switch(b, fc, &targets);
    uint32_t known = b->known, rem = b->rem;
    uint32_t end_known = 0, end_rem = 0;
    const enum lull_byte_order order = b->order;
    enum lull_byte_order end_order = order;
    g_autoptr(GArray) jumps = g_array_new(FALSE, FALSE, sizeof(uint32_t));
    for (uint32_t i = 0; i < fc->variant.n_options; i++) {
        targets[i] = b->ops->len;
        b->known = known;
        b->rem = rem;
        b->have = -1;
        b->order = order;
        b->path[b->depth++] = i;
        bool built = build(b, fc->variant.options[i].fc);
        b->depth--;
        if (!built) {
            return false;
        }
        close_run(b);
        if (end_known != 0) {
            know_either(b, end_known, end_rem);
            order_either(b, end_order);
        }
        end_known = b->known;
        end_order = b->order;
        end_rem = b->rem;
        lull_builder_emit(b, LULL_OP_JUMP);
        uint32_t jump = b->ops->len - 1;
        g_array_append_val(jumps, jump);
    }
    for (uint32_t i = 0; i < jumps->len; i++) {
        lull_builder_op(b, (int)g_array_index(jumps, uint32_t, i))->target = b->ops->len;
    }
    b->have = -1;
    return true;
}

static bool build_varint(struct lull_builder *b, const struct lull_fc *fc)
{
    add_alignment(b, MAX(fc->alignment, 8));
    uint32_t align = b->run < 0 ? b->pending_align : 1;
    b->pending_align = 1;
    b->run = -1;
    struct lull_op *op = lull_builder_emit(b, LULL_OP_VARINT);
    op->align = align;
    op->is_signed = fc->integer.is_signed;
    know_only(b, 8);
    each_want(b, fc, lull_build_load_varint);
    return true;
}

static bool build_optional(struct lull_builder *b, const struct lull_fc *fc)
{
    uint32_t slot = use_slot(b, &fc->optional.selector);
    if (slot == 0) {
        return false;
    }
    *b->budget -= MIN(*b->budget, fc->optional.n_ranges);
    close_run(b);
    struct lull_op *op = lull_builder_emit(b, LULL_OP_OPTIONAL);
    int at = (int)b->ops->len - 1;
    op->slot = slot;
    op->fc = fc;
    uint32_t known = b->known, rem = b->rem;
    const enum lull_byte_order order = b->order;
    b->have = -1;
    if (!build(b, fc->optional.content)) {
        return false;
    }
    close_run(b);
    know_either(b, known, rem);
    order_either(b, order);
    lull_builder_op(b, at)->target = b->ops->len;
    b->have = -1;
    return true;
}

static bool build_struct(struct lull_builder *b, const struct lull_fc *fc)
{
    add_alignment(b, fc->alignment);
    for (uint32_t i = 0; i < fc->structure.n_members; i++) {
        b->path[b->depth++] = i;
        bool built = build(b, fc->structure.members[i].fc);
        b->depth--;
        if (!built) {
            return false;
        }
    }
    return true;
}

static bool build(struct lull_builder *b, const struct lull_fc *fc)
{
    if (!spend(b)) {
        return false;
    }
    if (b->nesting >= LULL_FC_DEPTH) {
        return fail(b, "field classes are nested too deep");
    }
    bool built = true;
    b->nesting++;
    switch (fc->kind) {
    case LULL_FC_INT:
        add_alignment(b, fc->alignment);
        note_order(b, fc);
        each_want(b, fc, lull_build_load_integer);
        if (b->sums) {
            lull_build_sum(b, fc, 1, 0);
        }
        add_bits(b, fc->integer.size);
        break;
    case LULL_FC_VARINT:
        built = build_varint(b, fc);
        break;
    case LULL_FC_OPTIONAL:
        built = build_optional(b, fc);
        break;
    case LULL_FC_FLOAT:
        add_alignment(b, fc->alignment);
        note_order(b, fc);
        each_want(b, fc, lull_build_load_real);
        if (b->sums) {
            lull_build_sum(b, fc, 1, 0);
        }
        add_bits(b, fc->floating.size);
        break;
    case LULL_FC_STRING:
        built = build_string(b, fc);
        break;
    case LULL_FC_STRUCT:
        built = build_struct(b, fc);
        break;
    case LULL_FC_ARRAY:
        built = build_array(b, fc);
        break;
    case LULL_FC_SEQUENCE:
        built = build_sequence(b, fc);
        break;
    case LULL_FC_VARIANT:
        built = build_variant(b, fc);
        break;
    }
    b->nesting--;
    return built && !b->error;
}

void lull_builder_init(struct lull_builder *b, GPtrArray *owned, uint64_t *budget,
                       uint32_t next_slot)
{
    memset(b, 0, sizeof *b);
    b->ops = g_array_new(FALSE, FALSE, sizeof(struct lull_op));
    b->owned = owned;
    b->budget = budget;
    b->next_slot = next_slot;
    b->known = b->pending_align = 1;
    b->run = b->have = -1;
}

void lull_builder_forget(struct lull_builder *b, const struct lull_kept_fields *positions,
                         enum lull_scope scope)
{
    uint32_t slot;
    for (uint32_t i = 0; (slot = lull_kept_fields_absent(positions, scope, i)) != 0; i++) {
        lull_builder_emit(b, LULL_OP_SET)->dst = slot + 8;
    }
}

void lull_builder_reset_texts(struct lull_builder *b)
{
    lull_builder_emit(b, LULL_OP_RESET_TEXTS);
}

void lull_builder_add(struct lull_builder *b, enum lull_scope scope, const struct lull_fc *fc)
{
    b->scope = scope;
    b->depth = 0;
    if (fc && !b->error) {
        build(b, fc);
    }
}

const struct lull_op *lull_builder_finish(struct lull_builder *b, GError **error)
{
    close_run(b);
    lull_builder_emit(b, LULL_OP_END);
    lull_gather_straight(b->ops, b->owned);
    struct lull_op *ops = (struct lull_op *)(void *)g_array_free(b->ops, FALSE);
    g_ptr_array_add(b->owned, ops);
    b->ops = NULL;
    if (b->error) {
        g_propagate_error(error, g_steal_pointer(&b->error));
        return NULL;
    }
    return ops;
}
