/* SPDX-License-Identifier: MIT */
/* The time that a filter implies: of conditions joined by && what they have in common, of those
 * joined by || what encloses them. Everything that is not about time allows all of it. */
#include "filter/ast.h"

struct range {
    int64_t start_ns, end_ns; /* begin <= t < end; begin >= end: never */
};

static const struct range always = {INT64_MIN, INT64_MAX};
static const struct range never = {INT64_MAX, INT64_MIN};

static int64_t after(int64_t t)
{
    return t == INT64_MAX ? t : t + 1;
}

static struct range both(struct range a, struct range b)
{
    return (struct range){MAX(a.start_ns, b.start_ns), MIN(a.end_ns, b.end_ns)};
}

static struct range either(struct range a, struct range b)
{
    if (a.start_ns >= a.end_ns) {
        return b;
    }
    if (b.start_ns >= b.end_ns) {
        return a;
    }
    return (struct range){MIN(a.start_ns, b.start_ns), MAX(a.end_ns, b.end_ns)};
}

static int64_t point(const struct lull_filter *filter, const struct lull_operand *operand)
{
    return g_array_index(filter->terms.points, struct lull_time_point, operand->index).time_ns;
}

static struct range of_compare(const struct lull_filter *filter, const struct lull_node *node,
                               bool is_inverted)
{
    static const enum lull_relation inverse[] = {
        [LULL_RELATION_EQ] = LULL_RELATION_NE, [LULL_RELATION_NE] = LULL_RELATION_EQ,
        [LULL_RELATION_LT] = LULL_RELATION_GE, [LULL_RELATION_LE] = LULL_RELATION_GT,
        [LULL_RELATION_GT] = LULL_RELATION_LE, [LULL_RELATION_GE] = LULL_RELATION_LT,
    };
    if (node->left.kind != LULL_OPERAND_TIME || node->right.kind != LULL_OPERAND_POINT) {
        return always;
    }
    int64_t t = point(filter, &node->right);
    switch (is_inverted ? inverse[node->relation] : node->relation) {
    case LULL_RELATION_EQ:
        return (struct range){t, after(t)};
    case LULL_RELATION_NE:
        return always;
    case LULL_RELATION_LT:
        return (struct range){INT64_MIN, t};
    case LULL_RELATION_LE:
        return (struct range){INT64_MIN, after(t)};
    case LULL_RELATION_GT:
        return (struct range){after(t), INT64_MAX};
    case LULL_RELATION_GE:
        return (struct range){t, INT64_MAX};
    }
    return always;
}

static struct range of_list(const struct lull_filter *filter, const struct lull_node *node)
{
    struct range range = never;
    for (uint32_t i = 0; i < node->n; i++) {
        int64_t t = point(filter, &node->list[i]);
        range = either(range, (struct range){t, after(t)});
    }
    return range;
}

static struct range of_node(const struct lull_filter *filter, const struct lull_node *node,
                            bool is_inverted)
{
    bool joins;
    struct range range;
    switch (node->kind) {
    case LULL_NODE_CONSTANT:
        return node->constant != is_inverted ? always : never;
    case LULL_NODE_COMPARE:
        return of_compare(filter, node, is_inverted);
    case LULL_NODE_IN:
        return node->left.kind == LULL_OPERAND_TIME && !is_inverted ? of_list(filter, node)
                                                                    : always;
    case LULL_NODE_MATCH:
    case LULL_NODE_EXISTS:
        return always;
    case LULL_NODE_NOT:
        return of_node(filter, node->children[0], !is_inverted);
    case LULL_NODE_AND:
    case LULL_NODE_OR:
        joins = (node->kind == LULL_NODE_AND) != is_inverted; /* de Morgan */
        range = joins ? always : never;
        for (uint32_t i = 0; i < node->n; i++) {
            struct range part = of_node(filter, node->children[i], is_inverted);
            range = joins ? both(range, part) : either(range, part);
        }
        return range;
    }
    return always;
}

void lull_filter_range(const struct lull_filter *filter, int64_t *start_ns, int64_t *end_ns)
{
    struct range range = of_node(filter, filter->root, false);
    *start_ns = range.start_ns;
    *end_ns = range.end_ns;
}
