/* From the field classes of CTF 2 metadata to those of a schema. What does not depend on the place
 * where a class is used is built once and shared; what has roles or refers to other fields is built
 * for each use. */
#include "ctf/ctf2/build.h"

#include <string.h>

static const struct lull_fc *build(struct ctf2_builder *builder, struct ctf2_type *type);

static void append_frame(GString *path, const struct ctf2_frame *frame)
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

bool ctf2_build_fail(struct ctf2_builder *builder, const char *property, enum lull_error code,
                     const char *format, ...)
{
    GString *path = g_string_new(builder->property);
    va_list arguments;

    for (uint32_t i = 0; i < builder->n_frames && path->len < 400; i++) {
        append_frame(path, &builder->frames[i]);
    }
    if (property) {
        g_string_append_printf(path, ".%s", property);
    }
    va_start(arguments, format);
    char *message = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    ctf2_fail(&(struct ctf2_at){.source = builder->tree->source}, code, "%s: %s", path->str,
              message);
    g_free(message);
    g_string_free(path, TRUE);
    return false;
}

bool ctf2_spend(struct ctf2_builder *builder, uint32_t n)
{
    if (n > CTF2_MAX_CLASSES - builder->n_classes) {
        return ctf2_build_fail(builder, NULL, LULL_ERROR_UNSUPPORTED,
                               "too many fields: more than %u in all events together",
                               CTF2_MAX_CLASSES);
    }
    builder->n_classes += n;
    return true;
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

/* A role elsewhere than its scope says nothing. */
static bool build_roles(struct ctf2_builder *builder, const struct ctf2_type *type,
                        struct lull_fc *fc)
{
    fc->roles = type->fc.roles & roles_of_scope(builder->scope);
    if ((fc->roles & LULL_ROLE_MAGIC) &&
        (builder->n_frames != 1 || builder->frames[0].current != 0)) {
        return ctf2_build_fail(builder, "roles", LULL_ERROR_FORMAT,
                               "the packet's magic number is not the first field");
    }
    if ((fc->roles & LULL_ROLE_METADATA_UUID) && !builder->tree->has_uuid) {
        return ctf2_build_fail(builder, "roles", LULL_ERROR_FORMAT,
                               "the packet has the metadata's UUID, but the preamble has none");
    }
    if (!(fc->roles & (LULL_ROLE_CLOCK | LULL_ROLE_CLOCK_END))) {
        return true;
    }
    fc->integer.clock = builder->clock;
    return builder->clock || ctf2_build_fail(builder, "roles", LULL_ERROR_FORMAT,
                                             "a time, but its data stream class has no clock");
}

/* The kinds of integers that are told apart as selectors: booleans, unsigned and signed ones. */
static int sort_of(const struct lull_fc *fc)
{
    if (fc->kind == LULL_FC_INT && fc->integer.meaning == LULL_INT_BOOLEAN) {
        return 0;
    }
    if (fc->kind == LULL_FC_INT && fc->integer.meaning != LULL_INT_NUMBER) {
        return -1;
    }
    return fc->integer.is_signed ? 2 : 1;
}

/* Finds the field and checks that all alternatives are of one sort. Returns it, or -1. */
static int locate(struct ctf2_builder *builder, const struct ctf2_type *type,
                  struct lull_fc_ref *out)
{
    static const char *const names[] = {"a boolean", "an unsigned integer", "a signed integer"};

    if (!ctf2_locate(builder, type, out)) {
        return -1;
    }
    int sort = sort_of(out->target);
    for (const struct lull_fc_ref *ref = out; ref; ref = ref->next) {
        int other = sort_of(ref->target);
        if (other < 0) {
            ctf2_build_fail(builder, NULL, LULL_ERROR_FORMAT,
                            "its length or selector is a row of bits, not a number");
        } else if (other != sort) {
            ctf2_build_fail(builder, NULL, LULL_ERROR_FORMAT,
                            "its length or selector is sometimes %s, sometimes %s", names[sort],
                            names[other]);
        } else {
            continue;
        }
        return -1;
    }
    return sort;
}

static bool build_part(struct ctf2_builder *builder, const struct ctf2_type *type,
                       const struct lull_fc **part)
{
    builder->frames[builder->n_frames++] = (struct ctf2_frame){.type = type};
    *part = build(builder, type->parts[0].type);
    if (*part) {
        builder->n_frames--;
    }
    return *part != NULL;
}

static bool build_sequence(struct ctf2_builder *builder, const struct ctf2_type *type,
                           struct lull_fc *fc)
{
    int sort = locate(builder, type, &fc->sequence.length);

    if (sort >= 0 && sort != 1) {
        return ctf2_build_fail(builder, "length-field-location", LULL_ERROR_FORMAT,
                               "a length is an unsigned integer, not %s",
                               sort == 0 ? "a boolean" : "a signed one");
    }
    return sort == 1 && (type->n_parts == 0 || build_part(builder, type, &fc->sequence.element));
}

static bool build_optional(struct ctf2_builder *builder, const struct ctf2_type *type,
                           struct lull_fc *fc)
{
    int sort = locate(builder, type, &fc->optional.selector);

    if (sort < 0) {
        return false;
    }
    if ((sort == 0) != (type->ranges == NULL)) {
        return ctf2_build_fail(builder, NULL, LULL_ERROR_FORMAT,
                               sort
                                   ? "property 'selector-field-ranges' is missing"
                                   : "it has selector-field-ranges, but its selector is a boolean");
    }
    struct lull_value_range *ranges =
        lull_arena_alloc_n(builder->tree->arena, type->n_ranges, sizeof *ranges);
    for (uint32_t i = 0; i < type->n_ranges; i++) {
        struct lull_value_range *range = &ranges[fc->optional.n_ranges];
        fc->optional.n_ranges +=
            ctf2_clip(&type->ranges[i], sort == 2, &range->lower, &range->upper);
    }
    fc->optional.ranges = type->ranges ? ranges : NULL;
    return build_part(builder, type, &fc->optional.content);
}

static bool build_members(struct ctf2_builder *builder, const struct ctf2_type *type,
                          struct lull_member *members)
{
    struct ctf2_frame *frame = &builder->frames[builder->n_frames++];

    *frame = (struct ctf2_frame){.type = type, .members = members};
    for (uint32_t i = 0; i < type->n_parts; i++) {
        frame->current = i;
        members[i].name = type->parts[i].name ? type->parts[i].name->text : "";
        members[i].fc = build(builder, type->parts[i].type);
        if (!members[i].fc) {
            return false;
        }
    }
    builder->n_frames--;
    return true;
}

static bool build_structure(struct ctf2_builder *builder, const struct ctf2_type *type,
                            struct lull_fc *fc)
{
    struct lull_member *members =
        lull_arena_alloc_n(builder->tree->arena, type->n_parts, sizeof *members);

    fc->structure.members = members;
    fc->structure.n_members = type->n_parts;
    return build_members(builder, type, members);
}

static bool build_variant(struct ctf2_builder *builder, const struct ctf2_type *type,
                          struct lull_fc *fc)
{
    struct lull_arena *arena = builder->tree->arena;
    int sort = locate(builder, type, &fc->variant.tag);

    if (sort < 0) {
        return false;
    }
    if (sort == 0) {
        return ctf2_build_fail(builder, "selector-field-location", LULL_ERROR_FORMAT,
                               "a boolean cannot select an option");
    }
    struct lull_option_range *ranges = lull_arena_alloc_n(arena, type->n_ranges, sizeof *ranges);
    for (uint32_t i = 0; i < type->n_ranges; i++) {
        struct lull_option_range *range = &ranges[fc->variant.n_ranges];
        range->option = type->ranges[i].option;
        fc->variant.n_ranges +=
            ctf2_clip(&type->ranges[i], sort == 2, &range->lower, &range->upper);
    }
    struct lull_member *options = lull_arena_alloc_n(arena, type->n_parts, sizeof *options);
    fc->variant.ranges = ranges;
    fc->variant.options = options;
    fc->variant.n_options = type->n_parts;
    return build_members(builder, type, options);
}

static bool fill(struct ctf2_builder *builder, const struct ctf2_type *type, struct lull_fc *fc)
{
    switch (fc->kind) {
    case LULL_FC_STRUCT:
        return build_structure(builder, type, fc);
    case LULL_FC_ARRAY:
        return (type->n_parts == 0 || build_part(builder, type, &fc->array.element)) &&
               build_roles(builder, type, fc);
    case LULL_FC_SEQUENCE:
        return build_sequence(builder, type, fc);
    case LULL_FC_OPTIONAL:
        return build_optional(builder, type, fc);
    case LULL_FC_VARIANT:
        return build_variant(builder, type, fc);
    default:
        return build_roles(builder, type, fc);
    }
}

/* LTTng's number of the CPU is known by name, in CTF 2 too. */
static bool is_cpu(const struct ctf2_builder *builder, const struct ctf2_type *type)
{
    if (builder->scope != LULL_SCOPE_PACKET_CONTEXT || builder->n_frames != 1 ||
        type->fc.kind != LULL_FC_INT || type->fc.integer.meaning != LULL_INT_NUMBER) {
        return false;
    }
    const struct ctf2_frame *root = &builder->frames[0];
    return strcmp(root->type->parts[root->current].name->text, "cpu_id") == 0;
}

static const struct lull_fc *build(struct ctf2_builder *builder, struct ctf2_type *type)
{
    bool cpu = is_cpu(builder, type);
    bool is_shared = !type->is_placed && !cpu && builder->n_frames > 0;

    if (is_shared && type->built) {
        return ctf2_spend(builder, type->n_classes) ? type->built : NULL;
    }
    if (!ctf2_spend(builder, 1 + type->n_ranges)) {
        return NULL;
    }
    struct lull_fc *fc = lull_arena_copy(builder->tree->arena, &type->fc, sizeof type->fc);
    if (!fill(builder, type, fc)) {
        return NULL;
    }
    if (cpu) {
        fc->roles |= LULL_ROLE_CPU;
    }
    if (is_shared) {
        type->built = fc;
    }
    return fc;
}

bool ctf2_build_scope(struct ctf2_builder *builder, enum lull_scope scope,
                      const struct ctf2_type *type)
{
    static const char *const properties[] = {
        [LULL_SCOPE_PACKET_HEADER] = "packet-header-field-class",
        [LULL_SCOPE_PACKET_CONTEXT] = "packet-context-field-class",
        [LULL_SCOPE_EVENT_HEADER] = "event-record-header-field-class",
        [LULL_SCOPE_STREAM_EVENT_CONTEXT] = "event-record-common-context-field-class",
        [LULL_SCOPE_EVENT_CONTEXT] = "specific-context-field-class",
        [LULL_SCOPE_EVENT_PAYLOAD] = "payload-field-class",
    };

    for (int later = (int)scope; later < LULL_SCOPE_COUNT; later++) {
        builder->roots[later] = (struct ctf2_root){0};
    }
    if (!type) {
        return true;
    }
    builder->scope = scope;
    builder->property = properties[scope];
    builder->n_frames = 0;
    const struct lull_fc *fc = build(builder, (struct ctf2_type *)type);
    builder->roots[scope] = (struct ctf2_root){type, fc};
    return fc != NULL;
}
