/* SPDX-License-Identifier: MIT */
/* The TSDL parser's frame: tokens with one of look-ahead, scopes, and the loop over the text's
 * declarations. It is a recursive descent over the grammar of CTF 1.8.3, annex C.2. */
#include "ctf/tsdl/tsdl.h"

#include "ctf/tsdl/parser.h"

#include <string.h>

bool tsdl_advance(struct tsdl_parser *parser)
{
    if (parser->has_next) {
        parser->token = parser->next;
        parser->has_next = false;
    } else {
        tsdl_lexer_next(&parser->lexer, &parser->token);
    }
    return parser->token.kind != TSDL_TOKEN_ERROR;
}

const struct tsdl_token *tsdl_peek(struct tsdl_parser *parser)
{
    if (!parser->has_next) {
        tsdl_lexer_next(&parser->lexer, &parser->next);
        parser->has_next = true;
    }
    return &parser->next;
}

bool tsdl_unexpected(struct tsdl_parser *parser, const char *what)
{
    const struct tsdl_token *token = &parser->token;

    switch (token->kind) {
    case TSDL_TOKEN_END:
        return tsdl_fail(parser->source, LULL_ERROR_FORMAT, token->pos,
                         "the text ends at byte %u: %s is expected", token->pos, what);
    case TSDL_TOKEN_IDENTIFIER:
        return tsdl_fail(parser->source, LULL_ERROR_FORMAT, token->pos,
                         "unexpected name '%.60s': %s is expected", token->atom->text, what);
    case TSDL_TOKEN_KEYWORD:
        return tsdl_fail(parser->source, LULL_ERROR_FORMAT, token->pos,
                         "unexpected keyword '%s': %s is expected", token->atom->text, what);
    case TSDL_TOKEN_TEXT:
        return tsdl_fail(parser->source, LULL_ERROR_FORMAT, token->pos,
                         "unexpected text in quotes: %s is expected", what);
    case TSDL_TOKEN_NUMBER:
        return tsdl_fail(parser->source, LULL_ERROR_FORMAT, token->pos,
                         "unexpected number: %s is expected", what);
    default: {
        const char *const longer[] = {
            [TSDL_TOKEN_ASSIGN_TYPE] = ":=", [TSDL_TOKEN_RANGE] = "...", [TSDL_TOKEN_ARROW] = "->"};
        char one[2] = {(char)token->kind, '\0'};
        return tsdl_fail(parser->source, LULL_ERROR_FORMAT, token->pos,
                         "unexpected '%s': %s is expected",
                         token->kind < TSDL_TOKEN_ERROR ? longer[token->kind] : one, what);
    }
    }
}

bool tsdl_expect(struct tsdl_parser *parser, int kind, const char *what)
{
    return tsdl_at(parser, kind) ? tsdl_advance(parser) : tsdl_unexpected(parser, what);
}

bool tsdl_enter(struct tsdl_parser *parser)
{
    if (parser->nesting >= DRAFT_MAX_DEPTH) {
        return tsdl_fail(parser->source, LULL_ERROR_FORMAT, parser->token.pos,
                         "nested too deeply: more than %d levels", DRAFT_MAX_DEPTH);
    }
    parser->nesting++;
    return true;
}

bool tsdl_open_scope(struct tsdl_parser *parser)
{
    if (parser->n_scopes == TSDL_MAX_SCOPES) {
        return tsdl_fail(parser->source, LULL_ERROR_FORMAT, parser->token.pos,
                         "nested too deeply: more than %d scopes", TSDL_MAX_SCOPES);
    }
    parser->scopes[parser->n_scopes++] = ++parser->last_scope;
    return true;
}

void tsdl_close_scope(struct tsdl_parser *parser)
{
    parser->n_scopes--;
}

static bool parse_statement(struct tsdl_parser *parser)
{
    if (tsdl_at(parser, ';')) {
        return tsdl_advance(parser);
    }
    if (tsdl_at(parser, TSDL_TOKEN_KEYWORD)) {
        switch (parser->token.atom->word) {
        case TSDL_TRACE:
        case TSDL_ENV:
        case TSDL_CLOCK:
        case TSDL_STREAM:
        case TSDL_EVENT:
        case TSDL_CALLSITE:
            return tsdl_parse_block(parser);
        default:
            break;
        }
    }
    return tsdl_parse_declaration(parser);
}

static bool parse_text(struct tsdl_parser *parser)
{
    if (!tsdl_open_scope(parser) || !tsdl_advance(parser)) {
        return false;
    }
    while (!tsdl_at(parser, TSDL_TOKEN_END)) {
        if (!parse_statement(parser)) {
            return false;
        }
    }
    if (!parser->tree->has_trace) {
        return tsdl_fail(parser->source, LULL_ERROR_FORMAT, parser->token.pos,
                         "no trace { } declaration up to the end of the text, at byte %u: byte "
                         "order and version are not known",
                         parser->token.pos);
    }
    return true;
}

static bool fill_tree(struct draft_tree *tree)
{
    struct tsdl_parser parser = {
        .tree = tree,
        .source = tree->source,
        .lexer = {.source = tree->source, .names = &tree->names, .scratch = g_string_new(NULL)},
        .members = g_array_new(FALSE, TRUE, sizeof(struct draft_part)),
        .ranges = g_array_new(FALSE, TRUE, sizeof(struct lull_enum_range)),
        .names = g_ptr_array_new(),
        .text = g_string_new(NULL),
    };

    bool ok = parse_text(&parser);

    g_array_free(parser.members, TRUE);
    g_array_free(parser.ranges, TRUE);
    g_ptr_array_free(parser.names, TRUE);
    g_string_free(parser.text, TRUE);
    g_string_free(parser.lexer.scratch, TRUE);
    return ok;
}

struct lull_schema *tsdl_parse(const char *name, const char *text, size_t size, GError **error)
{
    struct draft_source source = {
        .name = name, .text = text, .size = (uint32_t)size, .error = error};
    struct draft_tree tree;

    draft_tree_init(&tree, &source);
    tree.major = 1;
    tree.minor = 8;
    tsdl_add_words(&tree.names);
    struct lull_schema *schema = fill_tree(&tree) ? tsdl_build(&tree) : NULL;
    draft_tree_clear(&tree, schema);
    return schema;
}
