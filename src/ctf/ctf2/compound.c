/* SPDX-License-Identifier: MIT */
/* Field classes of CTF 2 that have parts (CTF2-SPEC-2.0, sections 5.3.18 to 5.3.23), aliases, and
 * the choice among all classes. */
#include "ctf/ctf2/fields.h"

#include <stdlib.h>
#include <string.h>

bool ctf2_name(struct draft_tree *tree, const struct ctf2_at *at, const struct draft_atom **name)
{
    const char *text;
    size_t length;

    if (!ctf2_text(at, &text, &length)) {
        return false;
    }
    *name = draft_names_add(&tree->names, text, length);
    return true;
}

bool ctf2_get_copy(struct draft_tree *tree, const struct ctf2_at *at, const char *key,
                   const char **copy)
{
    const struct draft_atom *name;
    struct ctf2_at property;

    if (!ctf2_property(at, key, &property)) {
        return true;
    }
    if (!ctf2_name(tree, &property, &name)) {
        return false;
    }
    *copy = name->text;
    return true;
}

/* What a class takes over from a part of it. */
static bool take_part(const struct ctf2_at *at, struct draft_class *type,
                      const struct draft_class *part)
{
    type->has_refs = type->has_refs || part->has_refs;
    type->depth = MAX(type->depth, part->depth + 1);
    if (part->n_classes > DRAFT_MAX_CLASSES - type->n_classes) {
        return ctf2_fail(at, LULL_ERROR_UNSUPPORTED, "one field class has more than %u parts",
                         DRAFT_MAX_CLASSES);
    }
    type->n_classes += part->n_classes;
    return type->depth <= DRAFT_MAX_DEPTH ||
           ctf2_fail(at, LULL_ERROR_UNSUPPORTED, "field classes are nested more than %d deep",
                     DRAFT_MAX_DEPTH);
}

/* The class of a part, which is the property `key` of `at`. */
static bool get_part(struct draft_tree *tree, const struct ctf2_at *at, const char *key,
                     struct draft_class *type, struct draft_part *part)
{
    struct ctf2_at property;

    if (!ctf2_required(at, key, &property)) {
        return false;
    }
    part->type = ctf2_parse_type(tree, &property);
    return part->type && take_part(&property, type, part->type);
}

static bool parse_member(struct draft_tree *tree, const struct ctf2_at *at,
                         struct draft_class *type, size_t index)
{
    static const char *const keys[] = {"name", "field-class", NULL};
    struct draft_part *part = &type->body->parts[index];
    struct ctf2_at name;

    if (!ctf2_check_object(at, keys) || !ctf2_required(at, "name", &name) ||
        !ctf2_name(tree, &name, &part->name)) {
        return false;
    }
    part->shown = part->name->text;
    if (!draft_names_bind(&tree->names, type->body, part->name, GSIZE_TO_POINTER(index + 1))) {
        return ctf2_fail(&name, LULL_ERROR_FORMAT, "there is a member '%.60s' already",
                         part->name->text);
    }
    return get_part(tree, at, "field-class", type, part);
}

/* Room for the parts that the array at `at` describes. */
static bool new_parts(struct draft_tree *tree, const struct ctf2_at *at, struct draft_class *type)
{
    size_t length;

    if (!ctf2_is_array(at, &length)) {
        return false;
    }
    if (length > DRAFT_MAX_CLASSES) {
        return ctf2_fail(at, LULL_ERROR_UNSUPPORTED, "one field class has more than %u parts",
                         DRAFT_MAX_CLASSES);
    }
    type->body->parts = lull_arena_alloc_n(tree->scratch, length, sizeof *type->body->parts);
    type->body->n_parts = (uint32_t)length;
    return true;
}

static bool parse_structure(struct draft_tree *tree, const struct ctf2_at *at,
                            struct draft_class *type)
{
    static const char *const keys[] = {"type", "member-classes", "minimum-alignment", NULL};
    struct ctf2_at members;

    type->fc.kind = LULL_FC_STRUCT;
    type->body = lull_arena_alloc(tree->scratch, sizeof *type->body);
    if (!ctf2_check_object(at, keys) ||
        !ctf2_get_alignment(at, "minimum-alignment", &type->fc.alignment)) {
        return false;
    }
    if (!ctf2_property(at, "member-classes", &members)) {
        return true;
    }
    if (!new_parts(tree, &members, type)) {
        return false;
    }
    for (size_t i = 0; i < type->body->n_parts; i++) {
        struct ctf2_at member = ctf2_element(&members, i);
        if (!parse_member(tree, &member, type, i)) {
            return false;
        }
        type->fc.alignment = MAX(type->fc.alignment, type->body->parts[i].type->fc.alignment);
    }
    return true;
}

static bool parse_array(struct draft_tree *tree, const struct ctf2_at *at, struct draft_class *type)
{
    type->body = draft_body_of(tree, NULL);
    if (!ctf2_get_alignment(at, "minimum-alignment", &type->fc.alignment) ||
        !get_part(tree, at, "element-field-class", type, &type->body->parts[0])) {
        return false;
    }
    type->fc.alignment = MAX(type->fc.alignment, type->body->parts[0].type->fc.alignment);
    return true;
}

static bool parse_static_array(struct draft_tree *tree, const struct ctf2_at *at,
                               struct draft_class *type)
{
    static const char *const keys[] = {"type", "element-field-class", "minimum-alignment", "length",
                                       NULL};
    struct ctf2_at length;

    type->fc.kind = LULL_FC_ARRAY;
    return ctf2_check_object(at, keys) && ctf2_required(at, "length", &length) &&
           ctf2_unsigned(&length, &type->fc.array.length) && parse_array(tree, at, type);
}

static bool parse_dynamic_array(struct draft_tree *tree, const struct ctf2_at *at,
                                struct draft_class *type)
{
    static const char *const keys[] = {"type", "element-field-class", "minimum-alignment",
                                       "length-field-location", NULL};

    type->fc.kind = LULL_FC_SEQUENCE;
    return ctf2_check_object(at, keys) &&
           ctf2_get_location(tree, at, "length-field-location", type) &&
           parse_array(tree, at, type);
}

/* Moves ranges into the tree. */
static void keep_ranges(struct draft_tree *tree, GArray *ranges, struct draft_class *type)
{
    type->n_ranges = ranges->len;
    type->ranges = lull_arena_copy(tree->scratch, ranges->data, ranges->len * sizeof *type->ranges);
}

static bool parse_optional(struct draft_tree *tree, const struct ctf2_at *at,
                           struct draft_class *type)
{
    static const char *const keys[] = {"type", "field-class", "selector-field-location",
                                       "selector-field-ranges", NULL};
    struct ctf2_at position;

    type->fc.kind = LULL_FC_OPTIONAL;
    type->body = draft_body_of(tree, NULL);
    if (!ctf2_check_object(at, keys) ||
        !ctf2_get_location(tree, at, "selector-field-location", type) ||
        !get_part(tree, at, "field-class", type, &type->body->parts[0])) {
        return false;
    }
    if (!ctf2_property(at, "selector-field-ranges", &position)) {
        return true;
    }
    GArray *ranges = g_array_new(FALSE, FALSE, sizeof(struct draft_range));
    bool ok = ctf2_parse_ranges(&position, 0, ranges);
    if (ok) {
        keep_ranges(tree, ranges, type);
    }
    g_array_free(ranges, TRUE);
    return ok && take_part(&position, type, &(struct draft_class){.n_classes = type->n_ranges});
}

static int by_lower(const void *a, const void *b)
{
    const struct draft_range *x = a, *y = b;
    return ctf2_compare(x->lower, y->lower);
}

/* Ranges of different options must have nothing in common; those of the same option may. Goes
 * through them by lower bound and remembers the highest upper bound so far, and the highest one of
 * any other option than that has. Leaves the ranges in that order. */
static bool check_overlap(const struct ctf2_at *at, GArray *ranges)
{
    const struct draft_range *highest = NULL, *other = NULL;

    if (ranges->len > 1) {
        qsort(ranges->data, ranges->len, sizeof(struct draft_range), by_lower);
    }
    for (guint i = 0; i < ranges->len; i++) {
        const struct draft_range *range = &g_array_index(ranges, struct draft_range, i);
        const struct draft_range *rival =
            highest && highest->option != range->option ? highest : other;
        if (rival && ctf2_compare(range->lower, rival->upper) <= 0) {
            return ctf2_fail(at, LULL_ERROR_FORMAT,
                             "selector-field-ranges of options %u and %u intersect",
                             MIN(rival->option, range->option), MAX(rival->option, range->option));
        }
        if (!highest || ctf2_compare(range->upper, highest->upper) > 0) {
            if (highest && highest->option != range->option) {
                other = highest;
            }
            highest = range;
        } else if (highest->option != range->option &&
                   (!other || ctf2_compare(range->upper, other->upper) > 0)) {
            other = range;
        }
    }
    return true;
}

static bool parse_option(struct draft_tree *tree, const struct ctf2_at *at,
                         struct draft_class *type, size_t index, GArray *ranges)
{
    static const char *const keys[] = {"name", "field-class", "selector-field-ranges", NULL};
    struct draft_part *part = &type->body->parts[index];
    struct ctf2_at position;

    part->shown = "";
    if (!ctf2_check_object(at, keys)) {
        return false;
    }
    if (ctf2_property(at, "name", &position)) {
        if (!ctf2_name(tree, &position, &part->name)) {
            return false;
        }
        part->shown = part->name->text;
        if (!draft_names_bind(&tree->names, type->body, part->name, GSIZE_TO_POINTER(index + 1))) {
            return ctf2_fail(&position, LULL_ERROR_FORMAT, "there is an option '%.60s' already",
                             part->name->text);
        }
    }
    return ctf2_required(at, "selector-field-ranges", &position) &&
           ctf2_parse_ranges(&position, (uint32_t)index, ranges) &&
           get_part(tree, at, "field-class", type, part);
}

static bool parse_variant(struct draft_tree *tree, const struct ctf2_at *at,
                          struct draft_class *type)
{
    static const char *const keys[] = {"type", "options", "selector-field-location", NULL};
    struct ctf2_at options;

    type->fc.kind = LULL_FC_VARIANT;
    type->body = lull_arena_alloc(tree->scratch, sizeof *type->body);
    if (!ctf2_check_object(at, keys) ||
        !ctf2_get_location(tree, at, "selector-field-location", type) ||
        !ctf2_required(at, "options", &options) || !new_parts(tree, &options, type)) {
        return false;
    }
    if (type->body->n_parts == 0) {
        return ctf2_fail(&options, LULL_ERROR_FORMAT, "a variant without an option");
    }
    GArray *ranges = g_array_new(FALSE, FALSE, sizeof(struct draft_range));
    bool ok = true;
    for (size_t i = 0; ok && i < type->body->n_parts; i++) {
        struct ctf2_at option = ctf2_element(&options, i);
        ok = parse_option(tree, &option, type, i, ranges);
    }
    ok = ok && check_overlap(&options, ranges);
    if (ok) {
        keep_ranges(tree, ranges, type);
    }
    g_array_free(ranges, TRUE);
    return ok && take_part(at, type, &(struct draft_class){.n_classes = type->n_ranges});
}

static const struct ctf2_kind compounds[] = {
    {"structure", parse_structure},
    {"static-length-array", parse_static_array},
    {"dynamic-length-array", parse_dynamic_array},
    {"optional", parse_optional},
    {"variant", parse_variant},
    {NULL, NULL},
};

static const struct ctf2_kind *find_kind(const struct ctf2_kind *kinds, const char *name)
{
    while (kinds->name && strcmp(kinds->name, name) != 0) {
        kinds++;
    }
    return kinds->name ? kinds : NULL;
}

static struct draft_class *find_alias(struct draft_tree *tree, const struct ctf2_at *at)
{
    const struct draft_atom *name;
    struct draft_class *type = NULL;

    if (!ctf2_name(tree, at, &name)) {
        return NULL;
    }
    type = draft_names_bound(&tree->names, &tree->packet_header, name);
    if (!type) {
        ctf2_fail(at, LULL_ERROR_FORMAT, "there is no field class alias '%.60s' before this",
                  name->text);
    }
    return type;
}

struct draft_class *ctf2_parse_type(struct draft_tree *tree, const struct ctf2_at *at)
{
    struct ctf2_at position;
    const char *name;
    size_t length;

    if (json_object_is_type(at->value, json_type_string)) {
        return find_alias(tree, at);
    }
    if (!ctf2_is_object(at) || !ctf2_required(at, "type", &position) ||
        !ctf2_text(&position, &name, &length)) {
        return NULL;
    }
    const struct ctf2_kind *kind = find_kind(compounds, name);
    if (!kind) {
        kind = find_kind(ctf2_scalars, name);
    }
    if (!kind) {
        ctf2_fail(&position, LULL_ERROR_FORMAT, "there is no field class '%.60s' in CTF2-SPEC-2.0",
                  name);
        return NULL;
    }
    struct draft_class *type = draft_class_new(tree, LULL_FC_INT);
    return kind->parse(tree, at, type) ? type : NULL;
}

bool ctf2_get_scope(struct draft_tree *tree, const struct ctf2_at *at, const char *key,
                    struct draft_class **type)
{
    struct ctf2_at property;

    *type = NULL;
    if (!ctf2_property(at, key, &property)) {
        return true;
    }
    *type = ctf2_parse_type(tree, &property);
    return *type && ((*type)->fc.kind == LULL_FC_STRUCT ||
                     ctf2_fail(&property, LULL_ERROR_FORMAT, "it is not a structure"));
}
