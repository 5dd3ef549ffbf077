/* SPDX-License-Identifier: MIT */
/* What is CTF 2's own when a schema is built: roles, which integers are lengths and selectors, and
 * messages with the path of the part that is being built. */
#include "ctf/ctf2/fields.h"

#include <string.h>

static void append_frame(GString *path, const struct draft_frame *frame)
{
    switch (frame->type->fc.kind) {
    case LULL_FC_STRUCT:
        g_string_append_printf(path, ".member-classes[%u].field-class", frame->current);
        break;
    case LULL_FC_VARIANT:
        g_string_append_printf(path, ".options[%u].field-class", frame->current);
        break;
    case LULL_FC_OPTIONAL:
        g_string_append(path, ".field-class");
        break;
    default:
        g_string_append(path, ".element-field-class");
        break;
    }
}

/* Fails with the path of the part that is being built. */
static bool fail(struct draft_builder *builder, const char *property, enum lull_error code,
                 const char *format, ...) G_GNUC_PRINTF(4, 5);

static bool fail(struct draft_builder *builder, const char *property, enum lull_error code,
                 const char *format, ...)
{
    static const char *const scopes[] = {
        [LULL_SCOPE_PACKET_HEADER] = "packet-header-field-class",
        [LULL_SCOPE_PACKET_CONTEXT] = "packet-context-field-class",
        [LULL_SCOPE_EVENT_HEADER] = "event-record-header-field-class",
        [LULL_SCOPE_STREAM_EVENT_CONTEXT] = "event-record-common-context-field-class",
        [LULL_SCOPE_EVENT_CONTEXT] = "specific-context-field-class",
        [LULL_SCOPE_EVENT_PAYLOAD] = "payload-field-class",
    };
    g_autoptr(GString) path = g_string_new(scopes[builder->scope]);
    va_list arguments;

    for (uint32_t i = 0; i < builder->n_frames && path->len < 400; i++) {
        append_frame(path, &builder->frames[i]);
    }
    if (property) {
        g_string_append_printf(path, ".%s", property);
    }
    va_start(arguments, format);
    g_autofree char *message = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    return ctf2_fail(&(struct ctf2_at){.source = builder->tree->source}, code, "%s: %s", path->str,
                     message);
}

static bool too_many(struct draft_builder *builder, const struct draft_class *type)
{
    (void)type;
    return fail(builder, NULL, LULL_ERROR_UNSUPPORTED,
                "too many fields: more than %u in all events together", DRAFT_MAX_CLASSES);
}

/* Roles that a scope knows (sections 5.6.1 and 5.8.1). */
static uint32_t roles_of_scope(enum lull_scope scope)
{
    switch (scope) {
    case LULL_SCOPE_PACKET_HEADER:
        return LULL_ROLE_MAGIC | LULL_ROLE_METADATA_UUID | LULL_ROLE_STREAM_CLASS_ID |
               LULL_ROLE_STREAM_ID;
    case LULL_SCOPE_PACKET_CONTEXT:
        return LULL_ROLE_CLOCK | LULL_ROLE_CLOCK_END | LULL_ROLE_DISCARDED |
               LULL_ROLE_CONTENT_SIZE | LULL_ROLE_PACKET_SIZE | LULL_ROLE_SEQUENCE_NUMBER;
    case LULL_SCOPE_EVENT_HEADER:
        return LULL_ROLE_CLOCK | LULL_ROLE_EVENT_CLASS_ID;
    default:
        return 0;
    }
}

/* LTTng's number of the CPU is known by name, in CTF 2 too. */
static bool is_cpu(const struct draft_builder *builder, const struct lull_fc *fc)
{
    return builder->scope == LULL_SCOPE_PACKET_CONTEXT && builder->n_frames == 1 &&
           fc->kind == LULL_FC_INT && fc->integer.meaning == LULL_INT_NUMBER &&
           strcmp(draft_current_part(builder)->shown, "cpu_id") == 0;
}

/* A role elsewhere than its scope says nothing. */
static bool finish(struct draft_builder *builder, const struct draft_class *type,
                   struct lull_fc *fc)
{
    fc->roles = type->fc.roles & roles_of_scope(builder->scope);
    if ((fc->roles & LULL_ROLE_MAGIC) &&
        (builder->n_frames != 1 || builder->frames[0].current != 0)) {
        return fail(builder, "roles", LULL_ERROR_FORMAT,
                    "the packet's magic number is not the first field");
    }
    if ((fc->roles & LULL_ROLE_METADATA_UUID) && !builder->tree->has_uuid) {
        return fail(builder, "roles", LULL_ERROR_FORMAT,
                    "the packet has the metadata's UUID, but the preamble has none");
    }
    if (fc->roles & (LULL_ROLE_CLOCK | LULL_ROLE_CLOCK_END)) {
        fc->integer.clock = builder->clock;
        if (!builder->clock) {
            return fail(builder, "roles", LULL_ERROR_FORMAT,
                        "a time, but its data stream class has no clock");
        }
    }
    fc->roles |= is_cpu(builder, fc) ? LULL_ROLE_CPU : 0;
    return true;
}

/* The kinds of integers that are distinguished as selectors. */
enum sort { NO_SORT = -1, BOOLEAN, UNSIGNED, SIGNED };

static enum sort sort_of(const struct lull_fc *fc)
{
    if (fc->kind == LULL_FC_INT && fc->integer.meaning != LULL_INT_NUMBER) {
        return fc->integer.meaning == LULL_INT_BOOLEAN ? BOOLEAN : NO_SORT;
    }
    return fc->integer.is_signed ? SIGNED : UNSIGNED;
}

static bool locate(struct draft_builder *builder, const struct draft_class *type,
                   struct lull_fc_ref *out)
{
    static const char *const reasons[] = {
        [DRAFT_MISSING] = "there is no such field",
        [DRAFT_NOT_BEFORE] = "it is not before the field that refers to it",
        [DRAFT_NOT_INTEGER] = "it is neither an integer nor a boolean",
        [DRAFT_NOT_STRUCTURE] = "the path goes through a field that is not a structure",
        [DRAFT_NOT_INSIDE] = "it is in an array that does not hold the referring field",
        [DRAFT_NO_PARENT] = "no structure surrounds the root's",
    };
    const struct draft_class *target;
    enum draft_outcome outcome = draft_locate(builder, type, out, &target);

    if (outcome == DRAFT_FOUND || outcome == DRAFT_FULL) {
        return outcome == DRAFT_FOUND;
    }
    g_autofree char *path = draft_ref_text(type->ref);
    return fail(builder,
                type->fc.kind == LULL_FC_SEQUENCE ? "length-field-location"
                                                  : "selector-field-location",
                LULL_ERROR_FORMAT, "'%s': %s", path, reasons[outcome]);
}

/* Finds the field and checks that all alternatives are of one sort, which is returned. */
static enum sort locate_sort(struct draft_builder *builder, const struct draft_class *type,
                             struct lull_fc_ref *out)
{
    static const char *const names[] = {"a boolean", "an unsigned integer", "a signed integer"};

    if (!locate(builder, type, out)) {
        return NO_SORT;
    }
    enum sort sort = sort_of(out->target);
    for (const struct lull_fc_ref *ref = out; ref; ref = ref->next) {
        enum sort other = sort_of(ref->target);
        if (other == NO_SORT) {
            fail(builder, NULL, LULL_ERROR_FORMAT,
                 "its length or selector is a row of bits, not a number");
        } else if (other != sort) {
            fail(builder, NULL, LULL_ERROR_FORMAT,
                 "its length or selector is %s in one place, %s in another", names[sort],
                 names[other]);
        } else {
            continue;
        }
        return NO_SORT;
    }
    return sort;
}

static bool refer_length(struct draft_builder *builder, const struct draft_class *type,
                         struct lull_fc *fc)
{
    enum sort sort = locate_sort(builder, type, &fc->sequence.length);

    if (sort == BOOLEAN || sort == SIGNED) {
        return fail(builder, "length-field-location", LULL_ERROR_FORMAT,
                    "a length is an unsigned integer, not %s",
                    sort == BOOLEAN ? "a boolean" : "a signed one");
    }
    return sort == UNSIGNED;
}

static bool refer_optional(struct draft_builder *builder, const struct draft_class *type,
                           struct lull_fc *fc)
{
    enum sort sort = locate_sort(builder, type, &fc->optional.selector);

    if (sort == NO_SORT) {
        return false;
    }
    if ((sort == BOOLEAN) != (!type->ranges)) {
        return fail(builder, NULL, LULL_ERROR_FORMAT,
                    sort == BOOLEAN ? "it has selector-field-ranges, but its selector is a boolean"
                                    : "property 'selector-field-ranges' is missing");
    }
    struct lull_value_range *ranges =
        lull_arena_alloc_n(builder->tree->arena, type->n_ranges, sizeof *ranges);
    for (uint32_t i = 0; i < type->n_ranges; i++) {
        struct lull_value_range *range = &ranges[fc->optional.n_ranges];
        fc->optional.n_ranges +=
            ctf2_clip(&type->ranges[i], sort == SIGNED, &range->lower, &range->upper);
    }
    fc->optional.ranges = type->ranges ? ranges : NULL;
    return true;
}

static bool refer_variant(struct draft_builder *builder, const struct draft_class *type,
                          struct lull_fc *fc)
{
    enum sort sort = locate_sort(builder, type, &fc->variant.tag);

    if (sort == NO_SORT) {
        return false;
    }
    if (sort == BOOLEAN) {
        return fail(builder, "selector-field-location", LULL_ERROR_FORMAT,
                    "a boolean cannot select an option");
    }
    struct lull_option_range *ranges =
        lull_arena_alloc_n(builder->tree->arena, type->n_ranges, sizeof *ranges);
    for (uint32_t i = 0; i < type->n_ranges; i++) {
        struct lull_option_range *range = &ranges[fc->variant.n_ranges];
        range->option = type->ranges[i].option;
        fc->variant.n_ranges +=
            ctf2_clip(&type->ranges[i], sort == SIGNED, &range->lower, &range->upper);
    }
    fc->variant.ranges = ranges;
    return true;
}

static bool refer(struct draft_builder *builder, const struct draft_class *type, struct lull_fc *fc)
{
    switch (type->fc.kind) {
    case LULL_FC_SEQUENCE:
        return refer_length(builder, type, fc);
    case LULL_FC_OPTIONAL:
        return refer_optional(builder, type, fc);
    default:
        return refer_variant(builder, type, fc);
    }
}

struct lull_schema *ctf2_build(struct draft_tree *tree)
{
    static const struct draft_language language = {
        .too_many = too_many, .finish = finish, .refer = refer};

    if (tree->streams->len == 0) {
        ctf2_fail(&(struct ctf2_at){.source = tree->source}, LULL_ERROR_FORMAT,
                  "the metadata ends without a data stream class");
        return NULL;
    }
    draft_tree_sort(tree);
    return draft_build(tree, &language);
}
