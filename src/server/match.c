/* SPDX-License-Identifier: MIT */
/* Expressions as Trace Compass has them:
 *
 *     ANY     = ALL { "||" ALL }
 *     ALL     = ONE { "&&" ONE }
 *     ONE     = "!" ONE | "(" ANY ")" | TEXT [ "present" | OP TEXT ]
 *     OP      = "==" | "!=" | "<" | ">" | "contains" | "matches"
 *     TEXT    = '"' … '"' or what has no blanks, quotes, parentheses and operators
 *
 * TEXT alone is a regular expression for any value; before an operator it names a key. */
#include "server/match.h"

#include <string.h>

#include "base/time.h"
#include "server/params.h"

enum { EXPRESSIONS_MOST = 16, TEXT_MOST = 256, NODES_MOST = 64, DEPTH_MOST = 16 };
enum { TAG_DIMMED = 1, TAG_BOUND = 2, TAG_EXCLUDED = 4, TAGS_LESS = TAG_DIMMED | TAG_EXCLUDED };

enum kind { ANY, ALL, NOT, WORD, PRESENT, EQUAL, UNEQUAL, LESS, MORE, CONTAINS, MATCHES };

struct node {
    enum kind kind;
    uint32_t left, right; /* of ANY, ALL, NOT */
    char *key, *value;
    GRegex *pattern;
};

struct filter {
    unsigned tag;
    uint32_t n_nodes, root;
    struct node nodes[NODES_MOST];
};

struct server_filters {
    struct filter filters[EXPRESSIONS_MOST];
    uint32_t n;
    bool is_deep;
};

/* GRegex takes UTF-8 on trust unless it is to look at bytes. The empty comment ends what a pattern could set
 * at its start, as "(*UTF)" would. The limit is enough for all that can match, and ends what would take
 * for ever. */
#define PATTERN_START "(*LIMIT_MATCH=20000)(?#)"

GRegex *server_pattern(const char *text)
{
    g_autofree char *limited = g_strconcat(PATTERN_START, text, NULL);
    return g_regex_new(limited, G_REGEX_CASELESS | G_REGEX_RAW, 0, NULL);
}

/* ---- reading ---- */

struct reader {
    const char *at;
    struct filter *filter;
    uint32_t depth;
    GError **error;
};

static bool bad(GError **error, const char *why)
{
    g_set_error(error, LULL_ERROR, LULL_ERROR_USAGE, "a filter expression %s", why);
    return false;
}

static bool take(struct reader *reader, const char *token)
{
    const size_t length = strlen(token);
    while (g_ascii_isspace(*reader->at)) {
        reader->at++;
    }
    if (strncmp(reader->at, token, length) != 0 ||
        (g_ascii_isalpha(*token) && reader->at[length] && !g_ascii_isspace(reader->at[length]))) {
        return false;
    }
    reader->at += length;
    return true;
}

static bool add(struct reader *reader, struct node node, uint32_t *number)
{
    struct filter *filter = reader->filter;
    if (filter->n_nodes == NODES_MOST) {
        g_free(node.key);
        g_free(node.value);
        return bad(reader->error, "has too many conditions");
    }
    filter->nodes[filter->n_nodes] = node;
    *number = filter->n_nodes++;
    return true;
}

/* A text, without its quotes; NULL: there is none. */
static char *take_text(struct reader *reader)
{
    take(reader, "");
    const char *start = reader->at;
    if (*start == '"') {
        const char *end = strchr(start + 1, '"');
        reader->at = end ? end + 1 : start;
        return end ? g_strndup(start + 1, (gsize)(end - start - 1)) : NULL;
    }
    const char *end = start;
    while (*end && !g_ascii_isspace(*end) && !strchr("\"()<>!", *end) &&
           strncmp(end, "&&", 2) != 0 && strncmp(end, "||", 2) != 0 && strncmp(end, "==", 2) != 0) {
        end++;
    }
    reader->at = end;
    return end > start ? g_strndup(start, (gsize)(end - start)) : NULL;
}

static bool compile(struct reader *reader, struct node *node)
{
    node->pattern = server_pattern(node->value);
    return node->pattern || bad(reader->error, "has something that is not a regular expression");
}

static bool take_condition(struct reader *reader, uint32_t *number)
{
    static const struct {
        const char *token;
        enum kind kind;
    } operators[] = {{"==", EQUAL}, {"!=", UNEQUAL},        {"<", LESS},
                     {">", MORE},   {"contains", CONTAINS}, {"matches", MATCHES}};
    struct node node = {.kind = WORD, .value = take_text(reader)};
    if (!node.value) {
        return bad(reader->error, "lacks a text");
    }
    if (take(reader, "present")) {
        node = (struct node){.kind = PRESENT, .key = node.value};
        return add(reader, node, number);
    }
    for (size_t i = 0; i < G_N_ELEMENTS(operators); i++) {
        if (take(reader, operators[i].token)) {
            node = (struct node){
                .kind = operators[i].kind, .key = node.value, .value = take_text(reader)};
            break;
        }
    }
    if (!add(reader, node, number)) {
        return false;
    }
    struct node *added = &reader->filter->nodes[*number];
    if (!added->value) {
        return bad(reader->error, "lacks a text after its operator");
    }
    return (added->kind != WORD && added->kind != MATCHES) || compile(reader, added);
}

static bool take_list(struct reader *reader, enum kind kind, uint32_t *number);

static bool take_one(struct reader *reader, uint32_t *number)
{
    bool is_done;
    if (reader->depth == DEPTH_MOST) {
        return bad(reader->error, "is nested too deep");
    }
    reader->depth++;
    if (take(reader, "!")) {
        struct node node = {.kind = NOT};
        is_done = take_one(reader, &node.left) && add(reader, node, number);
    } else if (take(reader, "(")) {
        is_done = take_list(reader, ANY, number) &&
                  (take(reader, ")") || bad(reader->error, "lacks a closing parenthesis"));
    } else {
        is_done = take_condition(reader, number);
    }
    reader->depth--;
    return is_done;
}

/* One or more, with the operator between them. */
static bool take_list(struct reader *reader, enum kind kind, uint32_t *number)
{
    bool is_done = kind == ANY ? take_list(reader, ALL, number) : take_one(reader, number);
    while (is_done && take(reader, kind == ANY ? "||" : "&&")) {
        struct node node = {.kind = kind, .left = *number};
        is_done =
            (kind == ANY ? take_list(reader, ALL, &node.right) : take_one(reader, &node.right)) &&
            add(reader, node, number);
    }
    return is_done;
}

static bool add_filter(struct server_filters *filters, unsigned tag, struct json_object *given,
                       GError **error)
{
    const char *text =
        json_object_is_type(given, json_type_string) ? json_object_get_string(given) : NULL;
    if (!text || strlen(text) > TEXT_MOST) {
        return bad(error, "is a text of at most 256 bytes");
    }
    if (filters->n == EXPRESSIONS_MOST) {
        return bad(error, "is one of at most 16");
    }
    struct filter *filter = &filters->filters[filters->n++];
    struct reader reader = {.at = text, .filter = filter, .error = error};
    filter->tag = tag;
    if (!take_list(&reader, ANY, &filter->root)) {
        return false;
    }
    take(&reader, "");
    return !*reader.at || bad(error, "goes on after its end");
}

static bool add_filters(struct server_filters *filters, const char *key, struct json_object *given,
                        GError **error)
{
    uint64_t tag;
    if (!g_ascii_string_to_unsigned(key, 10, TAG_DIMMED, TAG_EXCLUDED, &tag, NULL) || tag == 3 ||
        !json_object_is_type(given, json_type_array)) {
        return bad(error, "is in a list with the key 1 (dimmed), 2 (emphasised) or 4 (left out)");
    }
    for (size_t i = 0; i < json_object_array_length(given); i++) {
        if (!add_filter(filters, (unsigned)tag, json_object_array_get_idx(given, i), error)) {
            return false;
        }
    }
    return true;
}

struct server_filters *server_filters_new(struct json_object *params, GError **error)
{
    struct json_object *given, *expressions;
    if (!json_object_object_get_ex(params, "filter_query_parameters", &given) ||
        !json_object_object_get_ex(given, "filter_expressions_map", &expressions) ||
        !json_object_is_type(expressions, json_type_object)) {
        return NULL;
    }
    struct server_filters *filters = g_new0(struct server_filters, 1);
    const char *strategy = server_param_text(given, "strategy");
    filters->is_deep = strategy && g_ascii_strcasecmp(strategy, "DEEP") == 0;
    json_object_object_foreach(expressions, key, list)
    {
        if (!add_filters(filters, key, list, error)) {
            server_filters_free(filters);
            return NULL;
        }
    }
    if (filters->n == 0) {
        g_clear_pointer(&filters, server_filters_free);
    }
    return filters;
}

void server_filters_free(struct server_filters *filters)
{
    for (uint32_t i = 0; filters && i < filters->n; i++) {
        for (uint32_t j = 0; j < filters->filters[i].n_nodes; j++) {
            struct node *node = &filters->filters[i].nodes[j];
            g_free(node->key);
            g_free(node->value);
            g_clear_pointer(&node->pattern, g_regex_unref);
        }
    }
    g_free(filters);
}

bool server_filters_are_deep(const struct server_filters *filters)
{
    return filters && filters->is_deep;
}

/* ---- asking ---- */

/* "12", "10ms" or "1.5 s": a number, or ns. */
static bool number_of(const char *text, double *number)
{
    char *end;
    int64_t ns;
    if (lull_duration_parse(text, &ns, NULL)) {
        *number = (double)ns;
        return true;
    }
    *number = g_ascii_strtod(text, &end);
    return end > text && !*end;
}

static bool holds(const struct node *node, const char *value)
{
    double a, b;
    const bool are_numbers = number_of(value, &a) && number_of(node->value, &b);
    switch (node->kind) {
    case EQUAL:
        return are_numbers ? a == b : g_ascii_strcasecmp(value, node->value) == 0;
    case UNEQUAL:
        return are_numbers ? a != b : g_ascii_strcasecmp(value, node->value) != 0;
    case LESS:
        return are_numbers && a < b;
    case MORE:
        return are_numbers && a > b;
    case CONTAINS:
        return strcasestr(value, node->value) != NULL;
    default:
        return g_regex_match(node->pattern, value, 0, NULL);
    }
}

static bool is_true(const struct filter *filter, uint32_t number, const struct server_fact *facts,
                    uint32_t n)
{
    const struct node *node = &filter->nodes[number];
    switch (node->kind) {
    case ANY:
        return is_true(filter, node->left, facts, n) || is_true(filter, node->right, facts, n);
    case ALL:
        return is_true(filter, node->left, facts, n) && is_true(filter, node->right, facts, n);
    case NOT:
        return !is_true(filter, node->left, facts, n);
    default:
        break;
    }
    for (uint32_t i = 0; i < n; i++) {
        if ((!node->key || g_ascii_strcasecmp(node->key, facts[i].key) == 0) &&
            (node->kind == PRESENT || holds(node, facts[i].value))) {
            return true;
        }
    }
    return false;
}

unsigned server_filters_tags(const struct server_filters *filters, const struct server_fact *facts,
                             uint32_t n)
{
    unsigned tags = 0;
    for (uint32_t i = 0; i < filters->n; i++) {
        const struct filter *filter = &filters->filters[i];
        const bool matches = is_true(filter, filter->root, facts, n);
        tags |= matches == (filter->tag == TAG_BOUND) ? filter->tag : 0;
    }
    return tags;
}

unsigned server_tags_of_both(unsigned a, unsigned b)
{
    return (a & b & TAGS_LESS) | ((a | b) & TAG_BOUND);
}
