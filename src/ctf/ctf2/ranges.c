/* SPDX-License-Identifier: MIT */
/* Integer range sets of CTF 2 metadata (CTF2-SPEC-2.0, section 5.3.2), and names for them. */
#include "ctf/ctf2/fields.h"

#include <string.h>

int ctf2_compare(struct draft_integer a, struct draft_integer b)
{
    if (a.is_negative != b.is_negative) {
        return a.is_negative ? -1 : 1;
    }
    /* Of the same sign two's complement keeps the order. */
    return a.bits < b.bits ? -1 : a.bits > b.bits;
}

static bool parse_range(const struct ctf2_at *at, struct draft_range *range)
{
    size_t length;

    if (!ctf2_is_array(at, &length)) {
        return false;
    }
    if (length != 2) {
        return ctf2_fail(at, LULL_ERROR_FORMAT, "a range has two bounds, not %zu", length);
    }
    struct ctf2_at lower = ctf2_element(at, 0), upper = ctf2_element(at, 1);
    if (!ctf2_integer(&lower, &range->lower) || !ctf2_integer(&upper, &range->upper)) {
        return false;
    }
    return ctf2_compare(range->lower, range->upper) <= 0 ||
           ctf2_fail(at, LULL_ERROR_FORMAT, "the lower bound is above the upper one");
}

bool ctf2_parse_ranges(const struct ctf2_at *at, uint32_t option, GArray *ranges)
{
    size_t length;

    if (!ctf2_is_array(at, &length)) {
        return false;
    }
    if (length == 0) {
        return ctf2_fail(at, LULL_ERROR_FORMAT, "there is no range");
    }
    if (length > DRAFT_MAX_CLASSES || ranges->len > DRAFT_MAX_CLASSES) {
        return ctf2_fail(at, LULL_ERROR_UNSUPPORTED, "more than %u ranges", DRAFT_MAX_CLASSES);
    }
    for (size_t i = 0; i < length; i++) {
        struct ctf2_at element = ctf2_element(at, i);
        struct draft_range range = {.option = option};
        if (!parse_range(&element, &range)) {
            return false;
        }
        g_array_append_val(ranges, range);
    }
    return true;
}

bool ctf2_clip(const struct draft_range *range, bool is_signed, uint64_t *lower, uint64_t *upper)
{
    const struct draft_integer least = {is_signed ? (uint64_t)INT64_MIN : 0, is_signed};
    const struct draft_integer most = {is_signed ? INT64_MAX : UINT64_MAX, false};

    *lower = ctf2_compare(range->lower, least) < 0 ? least.bits : range->lower.bits;
    *upper = ctf2_compare(range->upper, most) > 0 ? most.bits : range->upper.bits;
    return ctf2_compare(range->upper, least) >= 0 && ctf2_compare(range->lower, most) <= 0;
}

/* One name and its ranges, appended to `labels` (struct lull_enum_range). */
static bool parse_label(struct draft_tree *tree, const struct ctf2_at *at, bool is_signed,
                        GArray *ranges, GArray *labels)
{
    const struct draft_atom *name = draft_names_add(&tree->names, at->key, strlen(at->key));

    g_array_set_size(ranges, 0);
    if (labels->len > DRAFT_MAX_CLASSES) {
        return ctf2_fail(at, LULL_ERROR_UNSUPPORTED, "more than %u ranges", DRAFT_MAX_CLASSES);
    }
    if (!ctf2_parse_ranges(at, 0, ranges)) {
        return false;
    }
    for (guint i = 0; i < ranges->len; i++) {
        const struct draft_range *range = &g_array_index(ranges, struct draft_range, i);
        struct lull_enum_range label = {.label = name->text};
        if (ctf2_clip(range, is_signed, &label.lower, &label.upper)) {
            g_array_append_val(labels, label);
        }
    }
    return true;
}

bool ctf2_parse_labels(struct draft_tree *tree, const struct ctf2_at *at, bool is_signed,
                       const struct lull_enumeration **enumeration)
{
    GArray *ranges = g_array_new(FALSE, FALSE, sizeof(struct draft_range));
    GArray *labels = g_array_new(FALSE, FALSE, sizeof(struct lull_enum_range));
    bool ok = ctf2_is_object(at);

    if (ok) {
        json_object_object_foreach(at->value, key, value)
        {
            struct ctf2_at position = {
                .source = at->source, .parent = at, .key = key, .value = value};
            ok = parse_label(tree, &position, is_signed, ranges, labels);
            if (!ok) {
                break;
            }
        }
    }
    if (ok && labels->len > 0) {
        struct lull_enumeration *copy = lull_arena_alloc(tree->arena, sizeof *copy);
        copy->n_ranges = labels->len;
        copy->ranges = lull_arena_copy(tree->arena, labels->data,
                                       labels->len * sizeof(struct lull_enum_range));
        *enumeration = copy;
    }
    g_array_free(ranges, TRUE);
    g_array_free(labels, TRUE);
    return ok;
}
