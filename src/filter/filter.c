/* SPDX-License-Identifier: MIT */
/* From the text of a filter to its tree: what a filter's tests look like (parser.c joins them).
 *
 *   test    = "true" | "false" | "exists" "(" path ")"
 *           | operand ( relation operand | ("=~" | "!~") string | "in" "(" literal {"," literal}
 * ")" )
 */
#include <string.h>

#include "base/time.h"
#include "filter/parser.h"

static const struct {
    const char *name;
    enum lull_operand_kind kind;
} keywords[] = {
    {"name", LULL_OPERAND_NAME},
    {"host", LULL_OPERAND_HOST},
    {"cpu", LULL_OPERAND_CPU},
    {"time", LULL_OPERAND_TIME},
};

/* A keyword or a field. */
static bool parse_name(struct lull_parser *p, struct lull_operand *operand)
{
    struct lull_filter *filter = p->user;
    const struct lull_token first = p->token;
    const char *name = lull_parser_text(p, &first);
    bool has_sign = name[0] == '$';
    if (!lull_parser_advance(p)) {
        return false;
    }
    bool goes_on = p->token.kind == LULL_TOKEN_DOT || p->token.kind == LULL_TOKEN_OPEN_INDEX;
    for (size_t i = 0; (has_sign || !goes_on) && i < G_N_ELEMENTS(keywords); i++) {
        if (strcmp(name + has_sign, keywords[i].name) == 0) {
            operand->kind = keywords[i].kind;
            filter->base.uses_cpu |= keywords[i].kind == LULL_OPERAND_CPU;
            filter->uses_host |= keywords[i].kind == LULL_OPERAND_HOST;
            return keywords[i].kind != LULL_OPERAND_NAME ||
                   lull_parser_name(p, first.start, operand);
        }
    }
    if (strcmp(name, "in") == 0 || strcmp(name, "exists") == 0) {
        return lull_parser_fail(p, first.start, "%s is a word of the language; write fields.%s",
                                name, name);
    }
    if (has_sign) {
        return lull_parser_fail(p, first.start, "there is no %s, only $name, $host, $cpu and $time",
                                name);
    }
    return lull_parser_path(p, &first, name, operand);
}

/* What time is compared with: a text, or a number that may have + in front. */
static bool parse_point(struct lull_parser *p, struct lull_operand *operand)
{
    const struct lull_token first = p->token;
    bool has_plus = first.kind == LULL_TOKEN_PLUS;
    if (has_plus && !lull_parser_advance(p)) {
        return false;
    }
    bool is_text = p->token.kind == LULL_TOKEN_STRING && !has_plus;
    if (!is_text && p->token.kind != LULL_TOKEN_NUMBER) {
        return lull_parser_fail(p, p->token.start,
                                "expected a time: +1.5s after the first event, or in quotes a "
                                "date or time of day");
    }
    const char *written = is_text ? p->token.text : lull_parser_text(p, &p->token);
    g_autofree char *joined = g_strconcat(has_plus ? "+" : "", written, NULL);
    const char *text = lull_arena_strndup(p->terms->arena, joined, strlen(joined));
    g_autoptr(GError) why = NULL;
    struct lull_time_point point = {.text = text};
    if (!lull_time_parse(text, 0, p->is_local, &point.time_ns, &why)) {
        return lull_parser_fail(p, first.start, "%s", why->message);
    }
    g_array_append_val(p->terms->points, point);
    operand->kind = LULL_OPERAND_POINT;
    operand->index = p->terms->points->len - 1;
    return lull_parser_advance(p);
}

static bool parse_operand(struct lull_parser *p, struct lull_operand *operand)
{
    *operand = (struct lull_operand){0};
    if (lull_parser_sees(p, "true") || lull_parser_sees(p, "false")) {
        operand->value = lull_value_int(lull_parser_sees(p, "true"));
        return lull_parser_advance(p);
    }
    return p->token.kind == LULL_TOKEN_NAME ? p->parse_name(p, operand)
                                            : lull_parser_literal(p, operand);
}

/* In files of states, the time of an event is a number. */
static bool is_time(const struct lull_parser *p, const struct lull_operand *operand)
{
    return operand->kind == LULL_OPERAND_TIME && !p->lexer.is_states;
}

/* The right side of a relation. */
static bool parse_right(struct lull_parser *p, const struct lull_operand *left,
                        struct lull_operand *right)
{
    *right = (struct lull_operand){0};
    if (is_time(p, left) && p->token.kind != LULL_TOKEN_NAME) {
        return parse_point(p, right);
    }
    if (p->token.kind == LULL_TOKEN_PLUS) {
        return lull_parser_fail(p, p->token.start, "only a time has a + in front");
    }
    return parse_operand(p, right);
}

/* ---- tests ---- */

enum type { TYPE_ANY, TYPE_NUMBER, TYPE_TEXT, TYPE_TIME };

static enum type type_of(const struct lull_parser *p, const struct lull_operand *operand)
{
    switch (operand->kind) {
    case LULL_OPERAND_VALUE:
        return operand->value.kind == LULL_VALUE_TEXT ? TYPE_TEXT : TYPE_NUMBER;
    case LULL_OPERAND_NAME:
    case LULL_OPERAND_HOST:
        return TYPE_TEXT;
    case LULL_OPERAND_CPU:
        return TYPE_NUMBER;
    case LULL_OPERAND_TIME:
        return p->lexer.is_states ? TYPE_NUMBER : TYPE_TIME;
    case LULL_OPERAND_POINT:
        return TYPE_TIME;
    case LULL_OPERAND_GIVEN:
        return operand->value.kind == LULL_VALUE_TEXT   ? TYPE_TEXT
               : operand->value.kind == LULL_VALUE_NONE ? TYPE_ANY
                                                        : TYPE_NUMBER;
    case LULL_OPERAND_FIELD:
    case LULL_OPERAND_RUNNING:
        return TYPE_ANY;
    }
    return TYPE_ANY;
}

/* What can never be compared is a slip of the pen. */
static bool check_types(struct lull_parser *p, size_t at, const struct lull_operand *left,
                        const struct lull_operand *right)
{
    static const char *const names[] = {"", "a number", "a text", "a time"};
    enum type a = type_of(p, left), b = type_of(p, right);
    if (a == TYPE_ANY || b == TYPE_ANY || a == b) {
        return true;
    }
    if (a == TYPE_NUMBER && b == TYPE_TIME) {
        return lull_parser_fail(
            p, at, "a time is compared with a time, written on its right: time >= +1s");
    }
    return lull_parser_fail(p, at, "%s is compared with %s", names[a], names[b]);
}

static bool parse_match(struct lull_parser *p, struct lull_node *node)
{
    node->kind = LULL_NODE_MATCH;
    node->relation = p->token.kind == LULL_TOKEN_NO_MATCH ? LULL_RELATION_NE : LULL_RELATION_EQ;
    if (type_of(p, &node->left) != TYPE_ANY && type_of(p, &node->left) != TYPE_TEXT) {
        return lull_parser_fail(p, p->token.start,
                                "a pattern is for texts, not for numbers or times");
    }
    return lull_parser_pattern(p, node);
}

static bool parse_in(struct lull_parser *p, struct lull_node *node)
{
    g_autoptr(GArray) list = g_array_new(FALSE, FALSE, sizeof(struct lull_operand));
    node->kind = LULL_NODE_IN;
    if (!lull_parser_advance(p) ||
        !lull_parser_expect(p, LULL_TOKEN_OPEN, "( and a list, as in (1, 2)")) {
        return false;
    }
    for (;;) {
        struct lull_operand operand = {0};
        size_t at = p->token.start;
        bool parsed =
            is_time(p, &node->left) ? parse_point(p, &operand) : lull_parser_literal(p, &operand);
        if (!parsed || !check_types(p, at, &node->left, &operand)) {
            return false;
        }
        g_array_append_val(list, operand);
        if (p->token.kind != LULL_TOKEN_COMMA) {
            break;
        }
        if (!lull_parser_advance(p)) {
            return false;
        }
    }
    node->list = lull_arena_copy(p->terms->arena, list->data, list->len * sizeof node->left);
    node->n = list->len;
    return lull_parser_expect(p, LULL_TOKEN_CLOSE, ", or )");
}

static bool parse_relation(struct lull_parser *p, struct lull_node *node, size_t start)
{
    const size_t at = p->token.start;
    node->kind = LULL_NODE_COMPARE;
    node->relation = (enum lull_relation)(p->token.kind - LULL_TOKEN_EQ);
    if (!lull_parser_advance(p) || !parse_right(p, &node->left, &node->right)) {
        return false;
    }
    if (node->left.kind == LULL_OPERAND_VALUE && node->right.kind == LULL_OPERAND_VALUE) {
        return lull_parser_fail(p, start,
                                "two constants are compared; a field must be on one side");
    }
    if (lull_parser_is_relation(p) && !(p->stops_at_gt && p->token.kind == LULL_TOKEN_GT)) {
        return lull_parser_fail(p, p->token.start, "comparisons are joined with &&, not chained");
    }
    return check_types(p, at, &node->left, &node->right);
}

static bool parse_comparison(struct lull_parser *p, struct lull_node *node)
{
    const size_t start = p->token.start;
    if (p->token.kind == LULL_TOKEN_END) {
        return lull_parser_fail(p, start, "expected a condition");
    }
    if (!parse_operand(p, &node->left)) {
        return false;
    }
    bool is_value = node->left.kind == LULL_OPERAND_VALUE;
    if (lull_parser_is_relation(p)) {
        return parse_relation(p, node, start);
    }
    if (!is_value && (p->token.kind == LULL_TOKEN_MATCH || p->token.kind == LULL_TOKEN_NO_MATCH)) {
        return parse_match(p, node);
    }
    if (!is_value && lull_parser_sees(p, "in")) {
        return parse_in(p, node);
    }
    return lull_parser_fail(p, p->token.start, "expected a comparison (== != < <= > >=%s)",
                            is_value ? "" : " =~ !~ in");
}

static bool parse_exists(struct lull_parser *p, struct lull_node *node)
{
    node->kind = LULL_NODE_EXISTS;
    if (!lull_parser_expect(p, LULL_TOKEN_OPEN, "( and a field, as in exists(tid)")) {
        return false;
    }
    const size_t start = p->token.start;
    /* In files of states also of what a row has. */
    const bool takes_rows = p->lexer.is_states;
    if (p->token.kind != LULL_TOKEN_NAME || !p->parse_name(p, &node->left) ||
        !(node->left.kind == LULL_OPERAND_FIELD ||
          (takes_rows && node->left.kind == LULL_OPERAND_GIVEN))) {
        return !*p->error && lull_parser_fail(p, start, "exists() takes a field%s",
                                              takes_rows ? ", or what a row has" : "");
    }
    return lull_parser_expect(p, LULL_TOKEN_CLOSE, ")");
}

/* A constant, exists(), or a comparison. */
const struct lull_node *lull_parser_test(struct lull_parser *p)
{
    struct lull_node *node = lull_parser_node(p, LULL_NODE_CONSTANT);
    if (lull_parser_sees(p, "true") || lull_parser_sees(p, "false")) {
        node->constant = lull_parser_sees(p, "true");
        return lull_parser_advance(p) ? node : NULL;
    }
    if (lull_parser_sees(p, "exists")) {
        return lull_parser_advance(p) && parse_exists(p, node) ? node : NULL;
    }
    return parse_comparison(p, node) ? node : NULL;
}

static bool parse_text(struct lull_parser *p)
{
    struct lull_filter *filter = p->user;
    if (p->lexer.length > LULL_PARSER_MOST_BYTES) {
        return lull_parser_fail(p, LULL_PARSER_MOST_BYTES, "the filter is longer than %d bytes",
                                LULL_PARSER_MOST_BYTES);
    }
    if (!lull_parser_advance(p)) {
        return false;
    }
    filter->root = lull_parser_condition(p);
    if (!filter->root) {
        return false;
    }
    if (p->token.kind != LULL_TOKEN_END) {
        return lull_parser_fail(p, p->token.start, "expected && or || or the end");
    }
    return true;
}

/* ---- lists of names ---- */

static const struct lull_node *join(struct lull_parser *p, enum lull_node_kind kind,
                                    const struct lull_node *const *nodes, uint32_t n)
{
    struct lull_node *node = lull_parser_node(p, kind);
    node->n = n;
    node->children =
        (const struct lull_node *const *)lull_arena_copy(p->terms->arena, nodes, n * sizeof *nodes);
    return node;
}

/* As a pattern of which only a star at the end is one. */
static const struct lull_node *named(struct lull_parser *p, const struct lull_operand *name,
                                     const char *pattern)
{
    const size_t length = strlen(pattern);
    g_autofree bool *is_escaped = g_new(bool, length + 1);
    struct lull_node *node = lull_parser_node(p, LULL_NODE_MATCH);
    memset(is_escaped, true, length + 1);
    if (length > 0) {
        is_escaped[length - 1] = pattern[length - 1] != '*';
    }
    size_t at;
    const char *reason;
    node->left = *name;
    node->relation = LULL_RELATION_EQ;
    node->glob = lull_glob_new(p->terms->arena, pattern, length, is_escaped, &at, &reason);
    return node;
}

static bool narrow(struct lull_parser *p, const char *const *names)
{
    struct lull_filter *filter = p->user;
    struct lull_operand name = {0};
    g_autoptr(GPtrArray) nodes = g_ptr_array_new();
    if (!names || g_strv_contains(names, "*")) {
        return true;
    }
    if (!lull_parser_name(p, 0, &name)) {
        return false;
    }
    for (uint32_t i = 0; names[i]; i++) {
        g_ptr_array_add(nodes, (gpointer)named(p, &name, names[i]));
    }
    const struct lull_node *both[] = {
        join(p, LULL_NODE_OR, (const struct lull_node *const *)nodes->pdata, nodes->len),
        filter->root};
    filter->root = join(p, LULL_NODE_AND, both, 2);
    return true;
}

/* ---- all of it ---- */

struct lull_filter *lull_filter_parse_named(const char *text, const char *const *names, bool local,
                                            GError **error)
{
    struct lull_filter *filter = g_new0(struct lull_filter, 1);
    GError *why = NULL;
    filter->base.ops = &lull_filter_ops;
    filter->base.start_ns = INT64_MIN;
    filter->base.end_ns = INT64_MAX;
    filter->terms.arena = lull_arena_new();
    filter->programs = lull_arena_new();
    filter->terms.points = g_array_new(FALSE, FALSE, sizeof(struct lull_time_point));
    filter->is_local = local;
    struct lull_parser parser = {.lexer = {.text = text ? text : "true",
                                           .length = strlen(text ? text : "true"),
                                           .what = "the filter",
                                           .arena = filter->terms.arena},
                                 .terms = &filter->terms,
                                 .parse_test = lull_parser_test,
                                 .parse_name = parse_name,
                                 .has_strict_not = true,
                                 .is_local = local,
                                 .user = filter,
                                 .error = &why};
    if (parse_text(&parser) && narrow(&parser, names)) {
        filter->base.has_times = filter->terms.points->len > 0;
        return filter;
    }
    g_propagate_error(error, why);
    lull_filter_free(filter);
    return NULL;
}

struct lull_filter *lull_filter_parse(const char *text, bool local, GError **error)
{
    return lull_filter_parse_named(text, NULL, local, error);
}

void lull_filter_free(struct lull_filter *filter)
{
    if (!filter) {
        return;
    }
    lull_arena_free(filter->terms.arena);
    lull_arena_free(filter->programs);
    g_array_unref(filter->terms.points);
    g_free(filter);
}

void lull_filter_attach(struct lull_filter *filter, struct lull_session *session)
{
    lull_session_set_filter(session, &filter->base);
}

bool lull_session_filter(struct lull_session *session, const char *expression, bool is_local,
                         GError **error)
{
    struct lull_filter *filter = NULL;
    if (expression) {
        filter = lull_filter_parse(expression, is_local, error);
    }
    if (expression && !filter) {
        return false;
    }
    if (filter) {
        lull_filter_attach(filter, session);
    } else {
        lull_session_set_filter(session, NULL);
    }
    return true;
}
