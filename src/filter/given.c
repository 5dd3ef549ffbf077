/* SPDX-License-Identifier: MIT */
/* Walks the tree for each set of values: there are few of them. */
#include "filter/given.h"

#include "base/suggest.h"

bool lull_given_parse(struct lull_parser *p, const struct lull_given_name *names,
                      struct lull_operand *operand)
{
    const size_t at = p->token.start;
    g_autoptr(GPtrArray) all = g_ptr_array_new();
    for (uint32_t i = 0; names[i].name; i++) {
        if (lull_parser_sees(p, names[i].name)) {
            operand->kind = LULL_OPERAND_GIVEN;
            operand->index = i;
            operand->value.kind = names[i].kind;
            return lull_parser_advance(p);
        }
        g_ptr_array_add(all, (gpointer)names[i].name);
    }
    g_ptr_array_add(all, NULL);
    g_autofree char *known = g_strjoinv(", ", (char **)all->pdata);
    const char *name = lull_parser_text(p, &p->token);
    const char *meant = lull_suggest(name, (const char *const *)all->pdata);
    return lull_parser_fail(p, at, "there is no “%s” here%s%s%s; there are %s", name,
                            meant ? ", perhaps “" : "", meant ? meant : "", meant ? "”" : "",
                            known);
}

static const struct lull_value *value_of(const struct lull_operand *operand,
                                         const struct lull_value *values)
{
    return operand->kind == LULL_OPERAND_GIVEN ? &values[operand->index] : &operand->value;
}

static bool is_in(const struct lull_node *node, const struct lull_value *left)
{
    for (uint32_t i = 0; i < node->n; i++) {
        if (lull_value_compare(left, LULL_RELATION_EQ, &node->list[i].value)) {
            return true;
        }
    }
    return false;
}

bool lull_given_holds(const struct lull_node *node, const struct lull_value *values)
{
    const struct lull_value *left = value_of(&node->left, values);
    switch (node->kind) {
    case LULL_NODE_CONSTANT:
        return node->constant;
    case LULL_NODE_COMPARE:
        return lull_value_compare(left, node->relation, value_of(&node->right, values));
    case LULL_NODE_MATCH:
        return left->kind == LULL_VALUE_TEXT &&
               lull_glob_matches(node->glob, left->text) == (node->relation == LULL_RELATION_EQ);
    case LULL_NODE_IN:
        return is_in(node, left);
    case LULL_NODE_EXISTS:
        return left->kind != LULL_VALUE_NONE;
    case LULL_NODE_NOT:
        return !lull_given_holds(node->children[0], values);
    case LULL_NODE_AND:
    case LULL_NODE_OR:
        for (uint32_t i = 0; i < node->n; i++) {
            if (lull_given_holds(node->children[i], values) == (node->kind == LULL_NODE_OR)) {
                return node->kind == LULL_NODE_OR;
            }
        }
        return node->kind == LULL_NODE_AND;
    }
    return false;
}
