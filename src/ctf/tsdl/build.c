/* From types to field classes. What does not depend on the place where a type is used is built once
 * and shared; what refers to other fields is built for each use. */
#include "ctf/tsdl/build.h"

#include <string.h>

static const struct lull_fc *build(struct tsdl_builder *builder, struct tsdl_type *type);

static struct lull_fc *new_fc(struct tsdl_builder *builder, const struct tsdl_type *type)
{
    struct lull_fc *fc = lull_arena_alloc(builder->tree->arena, sizeof *fc);
    fc->kind = type->kind;
    fc->alignment = type->alignment;
    return fc;
}

/* Counts what is about to be built; `n` is more than one for tables beside a field class. */
static bool spend(struct tsdl_builder *builder, const struct tsdl_type *type, uint32_t n)
{
    if (n > TSDL_MAX_CLASSES - builder->n_classes) {
        return tsdl_fail(builder->tree->source, LULL_ERROR_FORMAT, type->pos,
                         "too many fields: more than %u in all events together", TSDL_MAX_CLASSES);
    }
    builder->n_classes += n;
    return true;
}

static bool is_big_endian(const struct tsdl_builder *builder, enum tsdl_byte_order order)
{
    return order == TSDL_NATIVE ? builder->tree->is_big_endian : order == TSDL_BIG;
}

static const struct lull_fc *build_integer(struct tsdl_builder *builder,
                                           const struct tsdl_type *type)
{
    struct lull_fc *fc = new_fc(builder, type);

    if (type->integer.size > 64) {
        tsdl_fail(builder->tree->source, LULL_ERROR_UNSUPPORTED, type->pos,
                  "integer of %" G_GUINT64_FORMAT " bits: at most 64 are understood",
                  type->integer.size);
        return NULL;
    }
    fc->integer.size = (uint32_t)type->integer.size;
    fc->integer.is_signed = type->integer.is_signed;
    fc->integer.is_big_endian = is_big_endian(builder, type->integer.byte_order);
    fc->integer.base = type->integer.base;
    fc->integer.encoding = type->integer.encoding;
    fc->integer.enumeration = type->integer.enumeration;
    if (type->integer.clock) {
        gpointer index =
            tsdl_map_find(&builder->tree->members, &builder->tree->clocks, type->integer.clock);
        if (!index) {
            tsdl_fail(builder->tree->source, LULL_ERROR_FORMAT, type->integer.clock_pos,
                      "clock '%.60s' is not declared", type->integer.clock->text);
            return NULL;
        }
        fc->integer.clock = &builder->clocks[GPOINTER_TO_UINT(index) - 1];
    }
    return fc;
}

static const struct lull_fc *build_float(struct tsdl_builder *builder, const struct tsdl_type *type)
{
    static const uint8_t formats[][2] = {{5, 11}, {8, 24}, {11, 53}};
    struct lull_fc *fc = new_fc(builder, type);

    fc->floating.is_big_endian = is_big_endian(builder, type->floating.byte_order);
    for (size_t i = 0; i < G_N_ELEMENTS(formats); i++) {
        if (type->floating.exp_dig == formats[i][0] && type->floating.mant_dig == formats[i][1]) {
            fc->floating.size = (uint32_t)formats[i][0] + formats[i][1];
            return fc;
        }
    }
    tsdl_fail(builder->tree->source, LULL_ERROR_UNSUPPORTED, type->pos,
              "floating_point with exp_dig %" G_GUINT64_FORMAT " and mant_dig %" G_GUINT64_FORMAT
              ": only 5/11, 8/24 and 11/53 are understood",
              type->floating.exp_dig, type->floating.mant_dig);
    return NULL;
}

/* Without any clock in the metadata, fields named `timestamp` count nanoseconds (section 8), and
 * the packet context's are those of section 5.2. */
static bool has_implied_clock(const struct tsdl_builder *builder, const struct lull_fc *fc,
                              uint32_t roles)
{
    return builder->implied_clock && fc->kind == LULL_FC_INT && !fc->integer.is_signed &&
           !fc->integer.enumeration && (roles & (LULL_ROLE_CLOCK | LULL_ROLE_CLOCK_END));
}

static const struct lull_fc *build_member(struct tsdl_builder *builder,
                                          const struct tsdl_member *member)
{
    const struct lull_fc *fc = build(builder, member->type);

    if (!fc) {
        return fc;
    }
    uint32_t roles =
        tsdl_roles(builder->scope, builder->n_frames, tsdl_bare_name(member->name), fc);
    if (!roles) {
        return fc;
    }
    struct lull_fc *own = lull_arena_copy(builder->tree->arena, fc, sizeof *fc);
    own->roles = roles;
    if (has_implied_clock(builder, fc, roles)) {
        own->integer.clock = builder->implied_clock;
    }
    return own;
}

/* Builds the members of a structure or options of a variant into `members`. */
static bool build_members(struct tsdl_builder *builder, enum lull_fc_kind kind,
                          const struct tsdl_body *body, struct lull_member *members)
{
    struct tsdl_frame *frame = &builder->frames[builder->n_frames++];

    *frame = (struct tsdl_frame){.kind = kind, .body = body, .members = members};
    for (uint32_t i = 0; i < body->n_members; i++) {
        frame->current = i;
        members[i].name = tsdl_bare_name(body->members[i].name);
        members[i].fc = build_member(builder, &body->members[i]);
        if (!members[i].fc) {
            return false;
        }
    }
    builder->n_frames--;
    return true;
}

static const struct lull_fc *build_structure(struct tsdl_builder *builder,
                                             const struct tsdl_type *type)
{
    const struct tsdl_body *body = type->structure.body;
    struct lull_fc *fc = new_fc(builder, type);
    struct lull_member *members =
        lull_arena_alloc_n(builder->tree->arena, body->n_members, sizeof *members);

    fc->structure.members = members;
    fc->structure.n_members = body->n_members;
    return build_members(builder, LULL_FC_STRUCT, body, members) ? fc : NULL;
}

static const struct lull_fc *build_array(struct tsdl_builder *builder, const struct tsdl_type *type)
{
    struct lull_fc *fc = new_fc(builder, type);
    const struct tsdl_type *target;
    const struct lull_fc *element;

    if (type->kind == LULL_FC_SEQUENCE) {
        const struct tsdl_ref *ref = type->array.length_ref;
        if (!tsdl_lookup(builder, ref, "length of a sequence", &fc->sequence.length, &target)) {
            return NULL;
        }
        if (target->integer.is_signed) {
            tsdl_fail(builder->tree->source, LULL_ERROR_FORMAT, ref->pos,
                      "bad length of a sequence '%.60s': the field is signed",
                      ref->names[ref->n_names - 1]->text);
            return NULL;
        }
    }
    builder->frames[builder->n_frames++] = (struct tsdl_frame){.kind = type->kind};
    element = build(builder, type->array.element);
    builder->n_frames--;
    if (type->kind == LULL_FC_SEQUENCE) {
        fc->sequence.element = element;
    } else {
        fc->array.element = element;
        fc->array.length = type->array.length;
    }
    return element ? fc : NULL;
}

static const struct lull_fc *build_variant(struct tsdl_builder *builder,
                                           const struct tsdl_type *type)
{
    const struct tsdl_body *body = type->variant.body;
    const struct tsdl_ref *ref = type->variant.tag;
    struct lull_fc *fc = new_fc(builder, type);
    const struct tsdl_type *tag;

    if (!ref) {
        tsdl_fail(builder->tree->source, LULL_ERROR_FORMAT, type->pos,
                  "variant without a tag: nothing selects its option where it is used");
        return NULL;
    }
    if (!tsdl_lookup(builder, ref, "tag of a variant", &fc->variant.tag, &tag)) {
        return NULL;
    }
    const struct lull_enumeration *labels = tag->integer.enumeration;
    if (!labels) {
        tsdl_fail(builder->tree->source, LULL_ERROR_FORMAT, ref->pos,
                  "bad tag of a variant '%.60s': the field is no enumeration",
                  ref->names[ref->n_names - 1]->text);
        return NULL;
    }
    if (!spend(builder, type, labels->n_ranges)) {
        return NULL;
    }
    struct lull_option_range *ranges =
        lull_arena_alloc_n(builder->tree->arena, labels->n_ranges, sizeof *ranges);
    for (uint32_t i = 0; i < labels->n_ranges; i++) {
        int64_t option = tsdl_tree_member(builder->tree, body, tag->integer.range_names[i], true);
        if (option >= 0) {
            ranges[fc->variant.n_ranges++] = (struct lull_option_range){
                labels->ranges[i].lower, labels->ranges[i].upper, (uint32_t)option};
        }
    }
    struct lull_member *members =
        lull_arena_alloc_n(builder->tree->arena, body->n_members, sizeof *members);
    fc->variant.ranges = ranges;
    fc->variant.options = members;
    fc->variant.n_options = body->n_members;
    return build_members(builder, LULL_FC_VARIANT, body, members) ? fc : NULL;
}

static const struct lull_fc *build(struct tsdl_builder *builder, struct tsdl_type *type)
{
    /* Roles, which names imply, make the parts of headers differ from those of other scopes. */
    bool is_shared =
        !type->has_refs && !(builder->scope <= LULL_SCOPE_EVENT_HEADER && type->depth > 1);
    const struct lull_fc *fc = NULL;

    if (is_shared && type->built) {
        return spend(builder, type, type->n_classes) ? type->built : NULL;
    }
    if (!spend(builder, type, 1)) {
        return NULL;
    }
    switch (type->kind) {
    case LULL_FC_INT:
        fc = build_integer(builder, type);
        break;
    case LULL_FC_FLOAT:
        fc = build_float(builder, type);
        break;
    case LULL_FC_STRING: {
        struct lull_fc *string = new_fc(builder, type);
        string->string.encoding = type->string_encoding;
        fc = string;
        break;
    }
    case LULL_FC_STRUCT:
        fc = build_structure(builder, type);
        break;
    case LULL_FC_ARRAY:
    case LULL_FC_SEQUENCE:
        fc = build_array(builder, type);
        break;
    case LULL_FC_VARIANT:
        fc = build_variant(builder, type);
        break;
    case LULL_FC_VARINT:
    case LULL_FC_OPTIONAL:
        break; /* not in CTF 1.8 */
    }
    if (is_shared) {
        type->built = fc;
    }
    return fc;
}

bool tsdl_build_scope(struct tsdl_builder *builder, enum lull_scope scope,
                      const struct tsdl_type *type)
{
    for (int later = (int)scope; later < LULL_SCOPE_COUNT; later++) {
        builder->roots[later] = (struct tsdl_root){0};
    }
    if (!type) {
        return true;
    }
    builder->scope = scope;
    builder->n_frames = 0;
    const struct lull_fc *fc = build(builder, (struct tsdl_type *)type);
    builder->roots[scope] = (struct tsdl_root){type, fc};
    return fc != NULL;
}
