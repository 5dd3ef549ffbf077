/* SPDX-License-Identifier: MIT */
/* What the languages of filters and periods have in common. A parser by recursive descent; each ||
 * and && takes all its terms at once, so that only parentheses and ! nest, and those are counted.
 *
 *   or      = and { "||" and }
 *   and     = not { "&&" not }
 *   not     = "!" not | "(" or ")" | test
 */
#include "filter/parser.h"

#include <string.h>

#include "kernel/call_events.h"

#define MOST_NESTED 100

#define FAIL lull_parser_fail

bool lull_parser_advance(struct lull_parser *p)
{
    return lull_lexer_next(&p->lexer, &p->token, p->error);
}

bool lull_parser_expect(struct lull_parser *p, enum lull_token_kind kind, const char *what)
{
    if (p->token.kind != kind) {
        return FAIL(p, p->token.start, "expected %s", what);
    }
    return lull_parser_advance(p);
}

bool lull_parser_sees(const struct lull_parser *p, const char *name)
{
    size_t length = p->token.end - p->token.start;
    return p->token.kind == LULL_TOKEN_NAME && strlen(name) == length &&
           memcmp(p->lexer.text + p->token.start, name, length) == 0;
}

char *lull_parser_text(const struct lull_parser *p, const struct lull_token *token)
{
    return lull_arena_strndup(p->terms->arena, p->lexer.text + token->start,
                              token->end - token->start);
}

struct lull_node *lull_parser_node(struct lull_parser *p, enum lull_node_kind kind)
{
    struct lull_node *node = lull_arena_alloc(p->terms->arena, sizeof *node);
    node->kind = kind;
    return node;
}

/* ---- fields ---- */

static bool same_path(const struct lull_field_path *a, const struct lull_field_path *b)
{
    if (a->scope != b->scope || a->n_steps != b->n_steps) {
        return false;
    }
    for (uint32_t i = 0; i < a->n_steps; i++) {
        if (g_strcmp0(a->steps[i].name, b->steps[i].name) != 0 ||
            a->steps[i].index != b->steps[i].index) {
            return false;
        }
    }
    return true;
}

bool lull_terms_add(struct lull_terms *terms, const struct lull_field_path *path, uint32_t *index)
{
    for (uint32_t i = 0; i < terms->n_fields; i++) {
        if (same_path(&terms->fields[i], path)) {
            *index = i;
            return true;
        }
    }
    if (terms->n_fields == LULL_FILTER_FIELDS) {
        return false;
    }
    struct lull_field_path *copy = &terms->fields[terms->n_fields];
    *copy = *path;
    copy->steps = lull_arena_copy(terms->arena, path->steps, path->n_steps * sizeof path->steps[0]);
    *index = terms->n_fields++;
    return true;
}

bool lull_parser_field(struct lull_parser *p, size_t at, const struct lull_field_path *path,
                       struct lull_operand *operand)
{
    operand->kind = LULL_OPERAND_FIELD;
    if (lull_terms_add(p->terms, path, &operand->index)) {
        return true;
    }
    return lull_parser_fail(p, at, "%s at most %u different fields",
                            p->lexer.is_period   ? "all periods together mention"
                            : p->lexer.is_states ? "a file of states mentions"
                                                 : "a filter mentions",
                            LULL_FILTER_FIELDS - p->terms->n_reserved);
}

bool lull_parser_name(struct lull_parser *p, size_t at, struct lull_operand *operand)
{
    static const struct lull_filter_step number = {.name = LULL_CALL_NUMBER_FIELD};
    static const struct lull_field_path path = {
        .scope = LULL_IN_PAYLOAD, .steps = &number, .n_steps = 1};
    const bool done = lull_parser_field(p, at, &path, operand);
    operand->kind = LULL_OPERAND_NAME;
    return done;
}

/* [ number ] */
static bool parse_index(struct lull_parser *p, struct lull_filter_step *step)
{
    if (!lull_parser_advance(p)) {
        return false;
    }
    if (p->token.kind != LULL_TOKEN_NUMBER || p->token.is_real) {
        return FAIL(p, p->token.start, "expected a number from 0 between [ and ]");
    }
    step->name = NULL;
    step->index = p->token.integer;
    return lull_parser_advance(p) && lull_parser_expect(p, LULL_TOKEN_CLOSE_INDEX, "]");
}

bool lull_parser_steps(struct lull_parser *p, struct lull_filter_step *steps, uint32_t *n)
{
    while (p->token.kind == LULL_TOKEN_DOT || p->token.kind == LULL_TOKEN_OPEN_INDEX) {
        if (*n == LULL_FILTER_STEPS) {
            return FAIL(p, p->token.start, "the path has more than %d steps", LULL_FILTER_STEPS);
        }
        struct lull_filter_step *step = &steps[(*n)++];
        if (p->token.kind == LULL_TOKEN_OPEN_INDEX) {
            if (!parse_index(p, step)) {
                return false;
            }
            continue;
        }
        if (!lull_parser_advance(p)) {
            return false;
        }
        if (p->token.kind != LULL_TOKEN_NAME) {
            return FAIL(p, p->token.start, "expected the name of a field after the point");
        }
        *step = (struct lull_filter_step){.name = lull_parser_text(p, &p->token)};
        if (!lull_parser_advance(p)) {
            return false;
        }
    }
    return true;
}

bool lull_parser_path(struct lull_parser *p, const struct lull_token *first, const char *name,
                      struct lull_operand *operand)
{
    struct lull_filter_step steps[LULL_FILTER_STEPS] = {{.name = name}};
    struct lull_field_path path = {.steps = steps, .n_steps = 1};
    bool starts_with_dot = p->token.kind == LULL_TOKEN_DOT;
    if (!lull_parser_steps(p, steps, &path.n_steps)) {
        return false;
    }
    if (starts_with_dot && (strcmp(name, "fields") == 0 || strcmp(name, "payload") == 0)) {
        path.scope = LULL_IN_PAYLOAD;
    } else if (starts_with_dot && strcmp(name, "context") == 0) {
        path.scope = LULL_IN_CONTEXT;
    }
    if (path.scope != LULL_IN_ANY) {
        path.steps++;
        path.n_steps--;
    }
    return lull_parser_field(p, first->start, &path, operand);
}

/* ---- values ---- */

bool lull_parser_literal(struct lull_parser *p, struct lull_operand *operand)
{
    const size_t start = p->token.start;
    bool is_negative = p->token.kind == LULL_TOKEN_MINUS;
    if (is_negative && !lull_parser_advance(p)) {
        return false;
    }
    const struct lull_token token = p->token;
    operand->kind = LULL_OPERAND_VALUE;
    if (token.kind == LULL_TOKEN_STRING && !is_negative) {
        operand->value = lull_value_text(token.text, token.length);
    } else if (token.kind != LULL_TOKEN_NUMBER) {
        return FAIL(p, token.start, "expected a number%s",
                    is_negative ? "" : " or a text in quotes");
    } else if (token.is_real) {
        operand->value = (struct lull_value){.kind = LULL_VALUE_REAL,
                                             .real = is_negative ? -token.real : token.real};
    } else {
        operand->value = (struct lull_value){.kind = LULL_VALUE_INT,
                                             .is_signed = is_negative,
                                             .bits = is_negative ? -token.integer : token.integer};
        if (is_negative && token.integer > UINT64_C(1) << 63) {
            return FAIL(p, start, "the number does not fit into 64 bits");
        }
    }
    return lull_parser_advance(p);
}

bool lull_parser_pattern(struct lull_parser *p, struct lull_node *node)
{
    if (!lull_parser_advance(p)) {
        return false;
    }
    if (p->token.kind != LULL_TOKEN_STRING) {
        return FAIL(p, p->token.start, "expected a pattern in quotes");
    }
    size_t at = 0;
    const char *reason = NULL;
    node->glob = lull_glob_new(p->terms->arena, p->token.text, p->token.length, p->token.is_escaped,
                               &at, &reason);
    if (!node->glob) {
        return FAIL(p, p->token.start, "%s", reason);
    }
    return lull_parser_advance(p);
}

/* ---- conditions ---- */

bool lull_parser_is_relation(const struct lull_parser *p)
{
    return p->token.kind >= LULL_TOKEN_EQ && p->token.kind <= LULL_TOKEN_GE;
}

static const struct lull_node *parse_or(struct lull_parser *p);
static const struct lull_node *parse_not(struct lull_parser *p);

static const struct lull_node *parse_inverted(struct lull_parser *p)
{
    if (!lull_parser_advance(p)) {
        return NULL;
    }
    if (p->has_strict_not && p->token.kind != LULL_TOKEN_OPEN && p->token.kind != LULL_TOKEN_NOT &&
        !lull_parser_sees(p, "exists") && !lull_parser_sees(p, "true") &&
        !lull_parser_sees(p, "false")) {
        FAIL(p, p->token.start, "put the condition after ! in parentheses: !(a == 1)");
        return NULL;
    }
    struct lull_node *node = lull_parser_node(p, LULL_NODE_NOT);
    const struct lull_node *child = parse_not(p);
    node->children =
        (const struct lull_node *const *)lull_arena_copy(p->terms->arena, &child, sizeof child);
    node->n = 1;
    return child ? node : NULL;
}

static const struct lull_node *parse_plain(struct lull_parser *p)
{
    if (p->token.kind == LULL_TOKEN_OPEN) {
        if (!lull_parser_advance(p)) {
            return NULL;
        }
        const struct lull_node *inner = parse_or(p);
        return inner && lull_parser_expect(p, LULL_TOKEN_CLOSE, "&&, || or )") ? inner : NULL;
    }
    return p->token.kind == LULL_TOKEN_NOT ? parse_inverted(p) : p->parse_test(p);
}

static const struct lull_node *parse_not(struct lull_parser *p)
{
    if (p->nesting >= MOST_NESTED) {
        FAIL(p, p->token.start, "conditions are nested too deep");
        return NULL;
    }
    p->nesting++;
    const struct lull_node *node = parse_plain(p);
    p->nesting--;
    return node;
}

/* One or more terms with the same sign between. */
static const struct lull_node *parse_terms(struct lull_parser *p, enum lull_token_kind sign,
                                           enum lull_node_kind kind,
                                           const struct lull_node *(*term)(struct lull_parser *))
{
    g_autoptr(GPtrArray) terms = g_ptr_array_new();
    for (;;) {
        const struct lull_node *node = term(p);
        if (!node) {
            return NULL;
        }
        g_ptr_array_add(terms, (void *)node);
        if (p->token.kind != sign) {
            break;
        }
        if (!lull_parser_advance(p)) {
            return NULL;
        }
    }
    if (terms->len == 1) {
        return terms->pdata[0];
    }
    struct lull_node *node = lull_parser_node(p, kind);
    node->n = terms->len;
    node->children = (const struct lull_node *const *)lull_arena_copy(p->terms->arena, terms->pdata,
                                                                      terms->len * sizeof(void *));
    return node;
}

static const struct lull_node *parse_and(struct lull_parser *p)
{
    return parse_terms(p, LULL_TOKEN_AND, LULL_NODE_AND, parse_not);
}

static const struct lull_node *parse_or(struct lull_parser *p)
{
    return parse_terms(p, LULL_TOKEN_OR, LULL_NODE_OR, parse_and);
}

const struct lull_node *lull_parser_condition(struct lull_parser *p)
{
    return parse_or(p);
}
