/* SPDX-License-Identifier: MIT */
/* What the parsers of filters and of periods share: looking ahead, literals, paths of fields, and
 * conditions joined by &&, || and !. What a single test looks like is the language's own. */
#ifndef LULL_FILTER_PARSER_H
#define LULL_FILTER_PARSER_H

#include "filter/ast.h"
#include "filter/lexer.h"

/* Longer texts are refused. */
#define LULL_PARSER_MOST_BYTES 65536

struct lull_parser {
    struct lull_lexer lexer;
    struct lull_token token; /* the next one */
    struct lull_terms *terms;
    /* What is joined: a test, or a constant. NULL and an error if there is none. */
    const struct lull_node *(*parse_test)(struct lull_parser *parser);
    /* lull_parser_test(): makes the operand what the next token, a name, means. */
    bool (*parse_name)(struct lull_parser *parser, struct lull_operand *operand);
    /* A test after ! needs parentheses, because !a == 1 is ambiguous. */
    bool has_strict_not;
    /* A > after a comparison is none of the condition: the caller's. */
    bool stops_at_gt;
    bool is_local; /* times without zone */
    unsigned nesting;
    GError **error;
    void *user;
};

/* `at` is a byte of the text. Always false. */
#define lull_parser_fail(p, at, ...) lull_lexer_complain(&(p)->lexer, (at), (p)->error, __VA_ARGS__)

bool lull_parser_advance(struct lull_parser *p);
/* Steps over a token of that kind, or fails: "expected `what`". */
bool lull_parser_expect(struct lull_parser *p, enum lull_token_kind kind, const char *what);
/* The next token is this name. */
bool lull_parser_sees(const struct lull_parser *p, const char *name);
/* Text of a token as it was written; in the arena. */
char *lull_parser_text(const struct lull_parser *p, const struct lull_token *token);
struct lull_node *lull_parser_node(struct lull_parser *p, enum lull_node_kind kind);

/* The steps of a path after the first, which the caller has put there. */
bool lull_parser_steps(struct lull_parser *p, struct lull_filter_step *steps, uint32_t *n);
/* Makes the operand a field; `at` is where it was written. */
bool lull_parser_field(struct lull_parser *p, size_t at, const struct lull_field_path *path,
                       struct lull_operand *operand);
/* What follows `name`, the token `first` that was stepped over, makes it the path of a field, maybe with
 * a scope in front. */
bool lull_parser_path(struct lull_parser *p, const struct lull_token *first, const char *name,
                      struct lull_operand *operand);
/* Makes the operand the event's name; likewise. */
bool lull_parser_name(struct lull_parser *p, size_t at, struct lull_operand *operand);
/* A number or text; a minus only before a number. */
bool lull_parser_literal(struct lull_parser *p, struct lull_operand *operand);
/* After the sign of a pattern, which is the next token: its string. */
bool lull_parser_pattern(struct lull_parser *p, struct lull_node *node);

bool lull_parser_is_relation(const struct lull_parser *p);
/* A test as filters have it (filter.c), for parse_test. */
const struct lull_node *lull_parser_test(struct lull_parser *p);
/* Tests joined by &&, || and !. */
const struct lull_node *lull_parser_condition(struct lull_parser *p);

#endif
