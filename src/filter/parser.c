/* From the text of a filter to its tree. A parser by recursive descent; each || and && takes all
 * its terms at once, so that only parentheses and ! nest, and those are counted.
 *
 *   or      = and { "||" and }
 *   and     = not { "&&" not }
 *   not     = "!" not | "(" or ")" | "true" | "false" | "exists" "(" path ")" | test
 *   test    = operand ( relation operand | ("=~" | "!~") string | "in" "(" literal {"," literal}
 * ")" )
 */
#include <string.h>

#include "base/time.h"
#include "filter/ast.h"
#include "filter/lexer.h"

#define MOST_NESTED 100
#define MOST_BYTES 65536

struct parser {
    struct lull_lexer lexer;
    struct lull_token token; /* the next one */
    struct lull_filter *filter;
    unsigned nesting;
    GError **error;
};

/* `at` is a byte of the expression. Always false. */
#define FAIL(p, at, ...) lull_lexer_complain(&(p)->lexer, (at), (p)->error, __VA_ARGS__)

static bool advance(struct parser *p)
{
    return lull_lexer_next(&p->lexer, &p->token, p->error);
}

static bool expect(struct parser *p, enum lull_token_kind kind, const char *what)
{
    if (p->token.kind != kind)
        return FAIL(p, p->token.begin, "here should stand %s", what);
    return advance(p);
}

static bool token_is(const struct parser *p, const char *name)
{
    size_t length = p->token.end - p->token.begin;
    return p->token.kind == LULL_TOKEN_NAME && strlen(name) == length &&
           memcmp(p->lexer.text + p->token.begin, name, length) == 0;
}

static char *token_text(const struct parser *p, const struct lull_token *token)
{
    return lull_arena_strndup(p->filter->arena, p->lexer.text + token->begin,
                              token->end - token->begin);
}

/* ---- operands ---- */

static const struct {
    const char *name;
    enum lull_operand_kind kind;
} keywords[] = {
    {"name", LULL_OPERAND_NAME},
    {"host", LULL_OPERAND_HOST},
    {"cpu", LULL_OPERAND_CPU},
    {"time", LULL_OPERAND_TIME},
};

static bool same_path(const struct lull_field_path *a, const struct lull_field_path *b)
{
    if (a->scope != b->scope || a->n_steps != b->n_steps)
        return false;
    for (uint32_t i = 0; i < a->n_steps; i++)
        if (g_strcmp0(a->steps[i].name, b->steps[i].name) != 0 ||
            a->steps[i].index != b->steps[i].index)
            return false;
    return true;
}

/* The number of the field; each path has one. */
static bool add_field(struct parser *p, size_t at, const struct lull_field_path *path,
                      struct lull_operand *operand)
{
    struct lull_filter *filter = p->filter;
    operand->kind = LULL_OPERAND_FIELD;
    for (uint32_t i = 0; i < filter->n_fields; i++) {
        if (same_path(&filter->fields[i], path)) {
            operand->index = i;
            return true;
        }
    }
    if (filter->n_fields == LULL_FILTER_FIELDS)
        return FAIL(p, at, "a filter mentions at most %d different fields", LULL_FILTER_FIELDS);
    struct lull_field_path *copy = &filter->fields[filter->n_fields];
    *copy = *path;
    copy->steps =
        lull_arena_copy(filter->arena, path->steps, path->n_steps * sizeof path->steps[0]);
    operand->index = filter->n_fields++;
    return true;
}

/* [ number ] */
static bool parse_index(struct parser *p, struct lull_filter_step *step)
{
    if (!advance(p))
        return false;
    if (p->token.kind != LULL_TOKEN_NUMBER || p->token.is_real)
        return FAIL(p, p->token.begin, "between [ and ] stands a number from 0");
    step->name = NULL;
    step->index = p->token.integer;
    return advance(p) && expect(p, LULL_TOKEN_CLOSE_INDEX, "]");
}

/* The steps behind the first name. */
static bool parse_steps(struct parser *p, struct lull_filter_step *steps, uint32_t *n)
{
    while (p->token.kind == LULL_TOKEN_DOT || p->token.kind == LULL_TOKEN_OPEN_INDEX) {
        if (*n == LULL_FILTER_STEPS)
            return FAIL(p, p->token.begin, "the path has more than %d steps", LULL_FILTER_STEPS);
        struct lull_filter_step *step = &steps[(*n)++];
        if (p->token.kind == LULL_TOKEN_OPEN_INDEX) {
            if (!parse_index(p, step))
                return false;
            continue;
        }
        if (!advance(p))
            return false;
        if (p->token.kind != LULL_TOKEN_NAME)
            return FAIL(p, p->token.begin, "behind the point stands the name of a field");
        *step = (struct lull_filter_step){.name = token_text(p, &p->token)};
        if (!advance(p))
            return false;
    }
    return true;
}

/* A keyword or a field. */
static bool parse_name(struct parser *p, struct lull_operand *operand)
{
    const struct lull_token first = p->token;
    const char *name = token_text(p, &first);
    bool has_sign = name[0] == '$';
    if (!advance(p))
        return false;
    bool goes_on = p->token.kind == LULL_TOKEN_DOT || p->token.kind == LULL_TOKEN_OPEN_INDEX;
    for (size_t i = 0; (has_sign || !goes_on) && i < G_N_ELEMENTS(keywords); i++) {
        if (strcmp(name + has_sign, keywords[i].name) == 0) {
            operand->kind = keywords[i].kind;
            p->filter->base.uses_cpu |= keywords[i].kind == LULL_OPERAND_CPU;
            return true;
        }
    }
    if (strcmp(name, "in") == 0 || strcmp(name, "exists") == 0)
        return FAIL(p, first.begin, "%s is a word of the language; write fields.%s", name, name);
    if (has_sign)
        return FAIL(p, first.begin, "there is no %s, only $name, $host, $cpu and $time", name);
    struct lull_filter_step steps[LULL_FILTER_STEPS] = {{.name = name}};
    struct lull_field_path path = {.steps = steps, .n_steps = 1};
    bool begins_with_dot = p->token.kind == LULL_TOKEN_DOT;
    if (!parse_steps(p, steps, &path.n_steps))
        return false;
    if (begins_with_dot && (strcmp(name, "fields") == 0 || strcmp(name, "payload") == 0))
        path.scope = LULL_IN_PAYLOAD;
    else if (begins_with_dot && strcmp(name, "context") == 0)
        path.scope = LULL_IN_CONTEXT;
    if (path.scope != LULL_IN_ANY) {
        path.steps++;
        path.n_steps--;
    }
    return add_field(p, first.begin, &path, operand);
}

/* A number or text; a minus only before a number. */
static bool parse_literal(struct parser *p, struct lull_operand *operand)
{
    const size_t begin = p->token.begin;
    bool is_negative = p->token.kind == LULL_TOKEN_MINUS;
    if (is_negative && !advance(p))
        return false;
    const struct lull_token token = p->token;
    operand->kind = LULL_OPERAND_VALUE;
    if (token.kind == LULL_TOKEN_STRING && !is_negative) {
        operand->value = lull_value_text(token.text, token.length);
    } else if (token.kind != LULL_TOKEN_NUMBER) {
        return FAIL(p, token.begin, "here should stand a number%s",
                    is_negative ? "" : " or a text in quotes");
    } else if (token.is_real) {
        operand->value = (struct lull_value){.kind = LULL_VALUE_REAL,
                                             .real = is_negative ? -token.real : token.real};
    } else {
        operand->value = (struct lull_value){.kind = LULL_VALUE_INT,
                                             .is_signed = is_negative,
                                             .bits = is_negative ? -token.integer : token.integer};
        if (is_negative && token.integer > UINT64_C(1) << 63)
            return FAIL(p, begin, "the number does not fit into 64 bits");
    }
    return advance(p);
}

/* What time is compared with: a text, or a number that may have + in front. */
static bool parse_point(struct parser *p, struct lull_operand *operand)
{
    const struct lull_token first = p->token;
    bool has_plus = first.kind == LULL_TOKEN_PLUS;
    if (has_plus && !advance(p))
        return false;
    bool is_text = p->token.kind == LULL_TOKEN_STRING && !has_plus;
    if (!is_text && p->token.kind != LULL_TOKEN_NUMBER)
        return FAIL(p, p->token.begin,
                    "here should stand a time: +1.5s after the begin of the traces, or in quotes a "
                    "date or time of day");
    const char *written = is_text ? p->token.text : token_text(p, &p->token);
    g_autofree char *joined = g_strconcat(has_plus ? "+" : "", written, NULL);
    const char *text = lull_arena_strndup(p->filter->arena, joined, strlen(joined));
    g_autoptr(GError) why = NULL;
    struct lull_time_point point = {.text = text};
    if (!lull_time_parse(text, 0, p->filter->is_local, &point.time_ns, &why))
        return FAIL(p, first.begin, "%s", why->message);
    g_array_append_val(p->filter->points, point);
    operand->kind = LULL_OPERAND_POINT;
    operand->index = p->filter->points->len - 1;
    return advance(p);
}

static bool parse_operand(struct parser *p, struct lull_operand *operand)
{
    *operand = (struct lull_operand){0};
    if (token_is(p, "true") || token_is(p, "false")) {
        operand->value = lull_value_int(token_is(p, "true"));
        return advance(p);
    }
    return p->token.kind == LULL_TOKEN_NAME ? parse_name(p, operand) : parse_literal(p, operand);
}

/* What stands right of a relation. */
static bool parse_right(struct parser *p, const struct lull_operand *left,
                        struct lull_operand *right)
{
    *right = (struct lull_operand){0};
    if (left->kind == LULL_OPERAND_TIME && p->token.kind != LULL_TOKEN_NAME)
        return parse_point(p, right);
    if (p->token.kind == LULL_TOKEN_PLUS)
        return FAIL(p, p->token.begin, "only a time has a + in front");
    return parse_operand(p, right);
}

/* ---- tests ---- */

enum type { TYPE_ANY, TYPE_NUMBER, TYPE_TEXT, TYPE_TIME };

static enum type type_of(const struct lull_operand *operand)
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
    case LULL_OPERAND_POINT:
        return TYPE_TIME;
    case LULL_OPERAND_FIELD:
        return TYPE_ANY;
    }
    return TYPE_ANY;
}

/* What can never be compared is a slip of the pen. */
static bool check_types(struct parser *p, size_t at, const struct lull_operand *left,
                        const struct lull_operand *right)
{
    static const char *const names[] = {"", "a number", "a text", "a time"};
    enum type a = type_of(left), b = type_of(right);
    if (a == TYPE_ANY || b == TYPE_ANY || a == b)
        return true;
    if (a == TYPE_NUMBER && b == TYPE_TIME)
        return FAIL(p, at, "a time is compared with a time, written on its right: time >= +1s");
    return FAIL(p, at, "%s is compared with %s", names[a], names[b]);
}

static struct lull_node *new_node(struct parser *p, enum lull_node_kind kind)
{
    struct lull_node *node = lull_arena_alloc(p->filter->arena, sizeof *node);
    node->kind = kind;
    return node;
}

static bool parse_match(struct parser *p, struct lull_node *node)
{
    node->kind = LULL_NODE_MATCH;
    node->relation = p->token.kind == LULL_TOKEN_NO_MATCH ? LULL_RELATION_NE : LULL_RELATION_EQ;
    if (type_of(&node->left) != TYPE_ANY && type_of(&node->left) != TYPE_TEXT)
        return FAIL(p, p->token.begin, "a pattern is for texts, not for numbers or times");
    if (!advance(p))
        return false;
    if (p->token.kind != LULL_TOKEN_STRING)
        return FAIL(p, p->token.begin, "here should stand a pattern in quotes");
    size_t at = 0;
    const char *reason = NULL;
    node->glob = lull_glob_new(p->filter->arena, p->token.text, p->token.length,
                               p->token.is_escaped, &at, &reason);
    if (node->glob == NULL)
        return FAIL(p, p->token.begin, "%s", reason);
    return advance(p);
}

static bool parse_in(struct parser *p, struct lull_node *node)
{
    g_autoptr(GArray) list = g_array_new(FALSE, FALSE, sizeof(struct lull_operand));
    node->kind = LULL_NODE_IN;
    if (!advance(p) || !expect(p, LULL_TOKEN_OPEN, "( and a list, as in (1, 2)"))
        return false;
    for (;;) {
        struct lull_operand operand = {0};
        size_t at = p->token.begin;
        bool parsed = node->left.kind == LULL_OPERAND_TIME ? parse_point(p, &operand)
                                                           : parse_literal(p, &operand);
        if (!parsed || !check_types(p, at, &node->left, &operand))
            return false;
        g_array_append_val(list, operand);
        if (p->token.kind != LULL_TOKEN_COMMA)
            break;
        if (!advance(p))
            return false;
    }
    node->list = lull_arena_copy(p->filter->arena, list->data, list->len * sizeof node->left);
    node->n = list->len;
    return expect(p, LULL_TOKEN_CLOSE, ", or )");
}

static bool is_relation(enum lull_token_kind kind)
{
    return kind >= LULL_TOKEN_EQ && kind <= LULL_TOKEN_GE;
}

static bool parse_relation(struct parser *p, struct lull_node *node, size_t begin)
{
    const size_t at = p->token.begin;
    node->kind = LULL_NODE_COMPARE;
    node->relation = (enum lull_relation)(p->token.kind - LULL_TOKEN_EQ);
    if (!advance(p) || !parse_right(p, &node->left, &node->right))
        return false;
    if (node->left.kind == LULL_OPERAND_VALUE && node->right.kind == LULL_OPERAND_VALUE)
        return FAIL(p, begin, "two constants are compared; a field must be on one side");
    if (is_relation(p->token.kind))
        return FAIL(p, p->token.begin, "comparisons are joined with &&, not chained");
    return check_types(p, at, &node->left, &node->right);
}

static bool parse_test(struct parser *p, struct lull_node *node)
{
    const size_t begin = p->token.begin;
    if (p->token.kind == LULL_TOKEN_END)
        return FAIL(p, begin, "here should stand a condition");
    if (!parse_operand(p, &node->left))
        return false;
    bool is_value = node->left.kind == LULL_OPERAND_VALUE;
    if (is_relation(p->token.kind))
        return parse_relation(p, node, begin);
    if (!is_value && (p->token.kind == LULL_TOKEN_MATCH || p->token.kind == LULL_TOKEN_NO_MATCH))
        return parse_match(p, node);
    if (!is_value && token_is(p, "in"))
        return parse_in(p, node);
    return FAIL(p, p->token.begin, "here should stand a comparison (== != < <= > >=%s)",
                is_value ? "" : " =~ !~ in");
}

/* ---- conditions ---- */

static const struct lull_node *parse_or(struct parser *p);

static bool parse_exists(struct parser *p, struct lull_node *node)
{
    node->kind = LULL_NODE_EXISTS;
    if (!expect(p, LULL_TOKEN_OPEN, "( and a field, as in exists(tid)"))
        return false;
    const size_t begin = p->token.begin;
    if (p->token.kind != LULL_TOKEN_NAME || !parse_name(p, &node->left) ||
        node->left.kind != LULL_OPERAND_FIELD)
        return *p->error == NULL && FAIL(p, begin, "exists() asks for a field");
    return expect(p, LULL_TOKEN_CLOSE, ")");
}

static const struct lull_node *parse_not(struct parser *p);

static const struct lull_node *parse_inverted(struct parser *p)
{
    if (!advance(p))
        return NULL;
    if (p->token.kind != LULL_TOKEN_OPEN && p->token.kind != LULL_TOKEN_NOT &&
        !token_is(p, "exists") && !token_is(p, "true") && !token_is(p, "false")) {
        FAIL(p, p->token.begin, "behind ! the condition stands in parentheses: !(a == 1)");
        return NULL;
    }
    struct lull_node *node = new_node(p, LULL_NODE_NOT);
    const struct lull_node *child = parse_not(p);
    node->children =
        (const struct lull_node *const *)lull_arena_copy(p->filter->arena, &child, sizeof child);
    node->n = 1;
    return child != NULL ? node : NULL;
}

static const struct lull_node *parse_plain(struct parser *p)
{
    if (p->token.kind == LULL_TOKEN_OPEN) {
        if (!advance(p))
            return NULL;
        const struct lull_node *inner = parse_or(p);
        return inner != NULL && expect(p, LULL_TOKEN_CLOSE, "&&, || or )") ? inner : NULL;
    }
    if (p->token.kind == LULL_TOKEN_NOT)
        return parse_inverted(p);
    struct lull_node *node = new_node(p, LULL_NODE_CONSTANT);
    if (token_is(p, "true") || token_is(p, "false")) {
        node->constant = token_is(p, "true");
        return advance(p) ? node : NULL;
    }
    if (token_is(p, "exists"))
        return advance(p) && parse_exists(p, node) ? node : NULL;
    return parse_test(p, node) ? node : NULL;
}

static const struct lull_node *parse_not(struct parser *p)
{
    if (p->nesting >= MOST_NESTED) {
        FAIL(p, p->token.begin, "conditions are nested too deep");
        return NULL;
    }
    p->nesting++;
    const struct lull_node *node = parse_plain(p);
    p->nesting--;
    return node;
}

/* One or more terms with the same sign between. */
static const struct lull_node *parse_terms(struct parser *p, enum lull_token_kind sign,
                                           enum lull_node_kind kind,
                                           const struct lull_node *(*term)(struct parser *))
{
    g_autoptr(GPtrArray) terms = g_ptr_array_new();
    for (;;) {
        const struct lull_node *node = term(p);
        if (node == NULL)
            return NULL;
        g_ptr_array_add(terms, (void *)node);
        if (p->token.kind != sign)
            break;
        if (!advance(p))
            return NULL;
    }
    if (terms->len == 1)
        return terms->pdata[0];
    struct lull_node *node = new_node(p, kind);
    node->n = terms->len;
    node->children = (const struct lull_node *const *)lull_arena_copy(
        p->filter->arena, terms->pdata, terms->len * sizeof(void *));
    return node;
}

static const struct lull_node *parse_and(struct parser *p)
{
    return parse_terms(p, LULL_TOKEN_AND, LULL_NODE_AND, parse_not);
}

static const struct lull_node *parse_or(struct parser *p)
{
    return parse_terms(p, LULL_TOKEN_OR, LULL_NODE_OR, parse_and);
}

static bool parse_filter(struct parser *p)
{
    if (p->lexer.length > MOST_BYTES)
        return FAIL(p, MOST_BYTES, "the filter is longer than %d bytes", MOST_BYTES);
    if (!advance(p))
        return false;
    p->filter->root = parse_or(p);
    if (p->filter->root == NULL)
        return false;
    if (p->token.kind != LULL_TOKEN_END)
        return FAIL(p, p->token.begin, "here should stand && or || or the end");
    return true;
}

struct lull_filter *lull_filter_parse(const char *text, bool local, GError **error)
{
    struct lull_filter *filter = g_new0(struct lull_filter, 1);
    GError *why = NULL;
    filter->base.ops = &lull_filter_ops;
    filter->base.begin_ns = INT64_MIN;
    filter->base.end_ns = INT64_MAX;
    filter->arena = lull_arena_new();
    filter->programs = lull_arena_new();
    filter->points = g_array_new(FALSE, FALSE, sizeof(struct lull_time_point));
    filter->is_local = local;
    struct parser parser = {.lexer = {.text = text, .length = strlen(text), .arena = filter->arena},
                            .filter = filter,
                            .error = &why};
    if (parse_filter(&parser))
        return filter;
    g_propagate_error(error, why);
    lull_filter_free(filter);
    return NULL;
}

void lull_filter_free(struct lull_filter *filter)
{
    if (filter == NULL)
        return;
    lull_arena_free(filter->arena);
    lull_arena_free(filter->programs);
    g_array_unref(filter->points);
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
    if (expression != NULL)
        filter = lull_filter_parse(expression, is_local, error);
    if (expression != NULL && filter == NULL)
        return false;
    if (filter != NULL)
        lull_filter_attach(filter, session);
    else
        lull_session_set_filter(session, NULL);
    return true;
}
