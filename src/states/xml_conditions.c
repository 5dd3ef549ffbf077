/* SPDX-License-Identifier: MIT */
/* Conditions. Trace Compass compares a number with a number as numbers, everything else as texts, and what an
 * event lacks is the text “null”; filters know no such text, so what it means is written out. */
#include <string.h>

#include "states/xml_private.h"

enum { MOST_DEEP = 40, MOST_LONG = 30000 };

bool xml_may_lack(const struct xml_value *value)
{
    const bool is_field = value->kind == XML_OPERAND && strchr(value->text, '.');
    return is_field || value->kind == XML_QUERY;
}

bool xml_is_text(const struct xml_value *value)
{
    return value->kind == XML_OPERAND && !xml_may_lack(value);
}

void xml_append_exists(GString *out, const struct xml_value *value)
{
    if (xml_may_lack(value)) {
        g_string_append_printf(out, "exists(%s)", value->text);
    } else {
        g_string_append(out, "(true)"); /* name, host, cpu, time */
    }
}

static void append_test(GString *out, const struct xml_value *a, const char *relation,
                        const struct xml_value *b)
{
    xml_append_value(out, a);
    g_string_append_printf(out, " %s ", relation);
    xml_append_value(out, b);
}

/* The same constant as the other kind: 5 for "5", and the other way round; false: there is none. */
static bool other_kind(const struct xml_value *constant, struct xml_value *other)
{
    char *end;
    *other = *constant;
    if (constant->kind == XML_NUMBER) {
        other->kind = XML_TEXT;
        return true;
    }
    const gint64 number = g_ascii_strtoll(constant->text, &end, 10);
    g_autofree char *written = g_strdup_printf("%" G_GINT64_FORMAT, number);
    other->kind = XML_NUMBER;
    return constant->kind == XML_TEXT && strcmp(written, constant->text) == 0;
}

/* Filters know of what kind name, host, cpu and time are, and refuse to compare them with the other one. */
void xml_append_equal(GString *out, const struct xml_value *value, const struct xml_value *constant)
{
    const bool is_any = xml_may_lack(value); /* of either kind */
    const enum xml_value_kind kind = value->kind == XML_OWN ? XML_NUMBER : XML_TEXT;
    struct xml_value other;
    const bool has_other = other_kind(constant, &other);
    g_string_append_c(out, '(');
    if (is_any || constant->kind == kind) {
        append_test(out, value, "==", constant);
    } else if (!has_other || other.kind != kind) {
        g_string_append(out, "false");
    }
    if (has_other && (is_any || other.kind == kind)) {
        g_string_append(out, is_any || constant->kind == kind ? " || " : "");
        append_test(out, value, "==", &other);
    }
    if (constant->kind == XML_TEXT && strcmp(constant->text, "null") == 0) {
        g_string_append(out, " || !");
        xml_append_exists(out, value);
    }
    g_string_append_c(out, ')');
}

/* Both, or neither. */
static void append_same(GString *out, const struct xml_value *a, const struct xml_value *b)
{
    g_string_append_c(out, '(');
    append_test(out, a, "==", b);
    g_string_append(out, " || (!");
    xml_append_exists(out, a);
    g_string_append(out, " && !");
    xml_append_exists(out, b);
    g_string_append(out, "))");
}

static bool is_constant(const struct xml_value *value)
{
    return value->kind == XML_NUMBER || value->kind == XML_TEXT || value->kind == XML_NOTHING;
}

/* What is not there is greater than a number, as “null” is than digits, and as great as what is not there either. */
static bool append_order(struct xml_translation *t, const struct xml_node *node, GString *out,
                         const struct xml_value *a, const char *relation, const struct xml_value *b)
{
    const struct xml_value *great = relation[0] == '>' ? a : b, *small = great == a ? b : a;
    if (is_constant(a) || (is_constant(b) && b->kind != XML_NUMBER)) {
        return xml_fail(t, node, "what is less or greater than a text is not translated");
    }
    if (xml_is_text(a) || xml_is_text(b)) {
        return xml_fail(t, node, "what is less or greater than a name is not translated");
    }
    g_string_append_c(out, '(');
    append_test(out, a, relation, b);
    if (!is_constant(great)) {
        xml_append_exists(g_string_append(out, " || !"), great);
        if (!is_constant(small) && !relation[1]) {
            xml_append_exists(g_string_append(out, " && "), small);
        }
    }
    g_string_append_c(out, ')');
    return true;
}

enum { EQ, NE, GE, GT, LE, LT, OPERATORS };

static const struct {
    const char *name, *relation;
    uint8_t turned;
} operators[OPERATORS] = {[EQ] = {"eq", "==", EQ}, [NE] = {"ne", "!=", NE}, [GE] = {"ge", ">=", LE},
                          [GT] = {"gt", ">", LT},  [LE] = {"le", "<=", GE}, [LT] = {"lt", "<", GT}};

/* Two constants: as numbers if both are, else as texts. */
static bool is_so(const struct xml_value *a, uint32_t sign, const struct xml_value *b)
{
    const char *left = a->kind == XML_NOTHING ? "null" : a->text;
    const char *right = b->kind == XML_NOTHING ? "null" : b->text;
    int order = strcmp(left, right);
    if (a->kind == XML_NUMBER && b->kind == XML_NUMBER) {
        const gint64 x = g_ascii_strtoll(left, NULL, 10), y = g_ascii_strtoll(right, NULL, 10);
        order = (x > y) - (x < y);
    }
    return sign == EQ   ? order == 0
           : sign == NE ? order != 0
           : sign == GE ? order >= 0
           : sign == GT ? order > 0
           : sign == LE ? order <= 0
                        : order < 0;
}

static bool append_comparison(struct xml_translation *t, const struct xml_node *node, GString *out,
                              const struct xml_value *a, uint32_t sign, const struct xml_value *b)
{
    static const struct xml_value null = {XML_TEXT, "null", NULL};
    const bool is_turned = is_constant(a) && !is_constant(b);
    const struct xml_value *left = is_turned ? b : a, *right = is_turned ? a : b;
    if (is_constant(left)) {
        g_string_append(out, is_so(left, sign, right) ? "(true)" : "(false)");
        return true;
    }
    if (sign > NE) {
        const uint32_t one = is_turned ? operators[sign].turned : sign;
        return append_order(t, node, out, left, operators[one].relation, right);
    }
    const bool never = (xml_is_text(left) && right->kind == XML_OWN) ||
                       (xml_is_text(right) && left->kind == XML_OWN);
    g_string_append(out, sign == NE ? "!" : "");
    if (never) {
        g_string_append(out, "(false)"); /* unless a host is called as a CPU is numbered */
    } else if (is_constant(right)) {
        xml_append_equal(out, left, right->kind == XML_NOTHING ? &null : right);
    } else {
        append_same(out, left, right);
    }
    return true;
}

/* A side of a condition: all values that it can be, and when. */
struct side {
    struct xml_value value; /* if it is not mapped */
    GArray *mapped;         /* struct xml_mapped; NULL: it is not */
};

static guint side_count(const struct side *side)
{
    return side->mapped ? side->mapped->len : 1;
}

/* The value, and when it is that; "": always. */
static const struct xml_value *side_at(const struct side *side, guint i, const char **when)
{
    const struct xml_mapped *mapped =
        side->mapped ? &g_array_index(side->mapped, struct xml_mapped, i) : NULL;
    *when = mapped ? mapped->when : "";
    return mapped ? &mapped->to : &side->value;
}

/* (a is this && b is that && they compare so) || … */
static bool append_sides(struct xml_translation *t, const struct xml_node *node, GString *out,
                         const struct side *sides, uint32_t sign)
{
    g_string_append_c(out, '(');
    for (guint i = 0; i < side_count(&sides[0]) * side_count(&sides[1]); i++) {
        const char *whens[2];
        const struct xml_value *a = side_at(&sides[0], i / side_count(&sides[1]), &whens[0]);
        const struct xml_value *b = side_at(&sides[1], i % side_count(&sides[1]), &whens[1]);
        g_string_append(out, i ? " || " : "");
        for (uint32_t side = 0; side < 2; side++) {
            g_string_append_printf(out, "%s%s", whens[side], *whens[side] ? " && " : "");
        }
        if (out->len > MOST_LONG || !append_comparison(t, node, out, a, sign, b)) {
            return out->len > MOST_LONG ? xml_fail(t, node, "it compares too much") : false;
        }
    }
    g_string_append_c(out, ')');
    return true;
}

static bool read_side(struct xml_translation *t, const struct xml_node *node, struct side *side)
{
    if (!xml_read_value(t, node, &side->value)) {
        return false;
    }
    if (!xml_attribute(node, "mappingGroup")) {
        return true;
    }
    side->mapped = xml_read_mapping(t, node, &side->value);
    return side->mapped;
}

static bool read_sides(struct xml_translation *t, const struct xml_node *node, struct side *sides)
{
    uint32_t n = 0;
    const struct xml_node *child = node->first;
    if (child && xml_is(child, "stateAttribute")) {
        if (!xml_read_query(t, node, &sides[n++].value)) {
            return false;
        }
        while (child && xml_is(child, "stateAttribute")) {
            child = child->next;
        }
    }
    for (; child; child = child->next) {
        const bool is_value = xml_is(child, "stateValue") || xml_is(child, "field");
        if (!is_value || n == 2) {
            return xml_fail(t, child,
                            is_value ? "a condition compares two values"
                                     : "conditions are translated that compare two values");
        }
        if (!read_side(t, child, &sides[n++])) {
            return false;
        }
    }
    return n == 2 || xml_fail(t, node, "a condition compares two values");
}

static bool append_single(struct xml_translation *t, const struct xml_node *node, GString *out)
{
    struct side sides[2] = {0};
    const char *given = xml_attribute(node, "operator");
    uint32_t sign = EQ;
    while (given && sign < OPERATORS && strcmp(operators[sign].name, given) != 0) {
        sign++;
    }
    bool is_right = sign < OPERATORS || xml_fail(t, node, "there is no operator “%s”", given);
    is_right = is_right && read_sides(t, node, sides) &&
               (sides[0].mapped || sides[1].mapped
                    ? append_sides(t, node, out, sides, sign)
                    : append_comparison(t, node, out, &sides[0].value, sign, &sides[1].value));
    for (uint32_t i = 0; i < 2; i++) {
        g_clear_pointer(&sides[i].mapped, g_array_unref);
    }
    return is_right;
}

static bool append(struct xml_translation *t, const struct xml_node *node, GString *out,
                   uint32_t depth)
{
    const bool is_not = xml_is(node, "not"), is_and = xml_is(node, "and");
    if (xml_is(node, "condition")) {
        return append_single(t, node, out);
    }
    if (!is_not && !is_and && !xml_is(node, "or")) {
        return xml_fail(t, node, "it is no condition");
    }
    if (!node->first || (is_not && node->first->next) || depth == MOST_DEEP) {
        return xml_fail(t, node,
                        depth == MOST_DEEP ? "conditions are too deep"
                        : is_not           ? "it has one condition"
                                           : "it has no condition");
    }
    g_string_append(out, is_not ? "!(" : "(");
    for (const struct xml_node *child = node->first; child; child = child->next) {
        if (child != node->first) {
            g_string_append(out, is_and ? " && " : " || ");
        }
        if (!append(t, child, out, depth + 1)) {
            return false;
        }
    }
    g_string_append_c(out, ')');
    return true;
}

bool xml_append_condition(struct xml_translation *t, const struct xml_node *node, GString *out)
{
    if (!node->first || node->first->next) {
        return xml_fail(t, node, "it has one condition");
    }
    return append(t, node->first, out, 0);
}
