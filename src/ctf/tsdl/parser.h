/* SPDX-License-Identifier: MIT */
/* Inside of the TSDL parser, shared by its files: types (types.c), attributes of basic types
 * and values (values.c), declarations (declare.c) and blocks (blocks.c). Functions
 * return false or NULL when the source's error is set. */
#ifndef LULL_CTF_TSDL_PARSER_H
#define LULL_CTF_TSDL_PARSER_H

#include "ctf/tsdl/lexer.h"

enum tsdl_byte_order { TSDL_NATIVE, TSDL_LITTLE, TSDL_BIG };

/* One lexical scope per nested body, block and the root. */
#define TSDL_MAX_SCOPES (DRAFT_MAX_DEPTH + 4)

/* An integer that was read: where its attributes are, from '{' to '}'. */
struct tsdl_integer {
    uint32_t pos, length;
    struct draft_class type;
};

/* Of these few different ones are in use at a time. */
#define TSDL_KNOWN_INTEGERS 16

struct tsdl_parser {
    struct draft_tree *tree;
    struct draft_source *source;
    struct tsdl_lexer lexer;
    struct tsdl_token token; /* the current one */
    struct tsdl_token next;  /* the one after it, if has_next */
    bool has_next;
    bool has_byte_order; /* of the trace */

    uint32_t nesting;                  /* of the parser's own recursion */
    uintptr_t scopes[TSDL_MAX_SCOPES]; /* numbers of the open scopes, innermost last */
    uint32_t n_scopes;
    uintptr_t last_scope;
    /* Bodies of structures that are being read, innermost last; for tsdl_ref.anchor. */
    const struct draft_body *bodies[TSDL_MAX_SCOPES];
    uint32_t n_bodies;
    GArray *members;  /* struct draft_part; a stack shared by the open bodies */
    GArray *ranges;   /* struct lull_enum_range of the open enumeration */
    GPtrArray *names; /* struct draft_atom: labels, or the path that is being read */
    GString *text;    /* a name that is being put together */
    struct tsdl_integer integers[TSDL_KNOWN_INTEGERS];
    uint32_t n_integers; /* ever kept; the next takes the place of the oldest */
};

/* parser.c: tokens. */
bool tsdl_advance(struct tsdl_parser *parser);
/* The token after the current one. */
const struct tsdl_token *tsdl_peek(struct tsdl_parser *parser);
/* Fails: "WHAT is expected", and what is there instead. */
bool tsdl_unexpected(struct tsdl_parser *parser, const char *what);
/* Steps over the token if it is there; else fails. */
bool tsdl_expect(struct tsdl_parser *parser, int kind, const char *what);
static inline bool tsdl_at(const struct tsdl_parser *parser, int kind)
{
    return parser->token.kind == kind;
}
static inline bool tsdl_at_word(const struct tsdl_parser *parser, enum tsdl_word word)
{
    return parser->token.kind == TSDL_TOKEN_KEYWORD && parser->token.atom->word == word;
}
/* Counts one level of the parser's recursion; fails beyond DRAFT_MAX_DEPTH. Leave with nesting--. */
bool tsdl_enter(struct tsdl_parser *parser);
bool tsdl_open_scope(struct tsdl_parser *parser);
void tsdl_close_scope(struct tsdl_parser *parser);

/* values.c */
enum tsdl_value_kind { TSDL_VALUE_NUMBER, TSDL_VALUE_TEXT, TSDL_VALUE_PATH };
struct tsdl_value {
    enum tsdl_value_kind kind;
    uint32_t pos;
    bool is_negative; /* then `number` is the magnitude, not 0 */
    uint64_t number;
    const struct draft_atom *text;   /* of a path: its first name */
    const struct draft_atom **names; /* of a path */
    uint32_t n_names;
};
bool tsdl_parse_value(struct tsdl_parser *parser, struct tsdl_value *value);
/* Names joined by dots, keywords too, in the scratch arena. */
bool tsdl_parse_path(struct tsdl_parser *parser, const struct draft_atom ***names, uint32_t *n);
/* The left side of an assignment as one name ("event.header"). */
const struct draft_atom *tsdl_parse_key(struct tsdl_parser *parser);
/* What a value means; they fail with the name of the attribute. */
bool tsdl_value_unsigned(struct tsdl_parser *parser, const struct tsdl_value *value,
                         const char *what, uint64_t *out);
bool tsdl_value_signed(struct tsdl_parser *parser, const struct tsdl_value *value, const char *what,
                       int64_t *out);
bool tsdl_value_bool(struct tsdl_parser *parser, const struct tsdl_value *value, const char *what,
                     bool *out);
/* A text, or a single name. */
const struct draft_atom *tsdl_value_text(struct tsdl_parser *parser, const struct tsdl_value *value,
                                         const char *what);
bool tsdl_value_uuid(struct tsdl_parser *parser, const struct tsdl_value *value, uint8_t uuid[16]);
bool tsdl_value_byte_order(struct tsdl_parser *parser, const struct tsdl_value *value,
                           enum tsdl_byte_order *out);
bool tsdl_value_alignment(struct tsdl_parser *parser, const struct tsdl_value *value,
                          uint32_t *out);
/* Checks that a known attribute comes once; *seen has a bit for each word. */
bool tsdl_once(struct tsdl_parser *parser, uint64_t *seen, const struct draft_atom *key,
               uint32_t pos);
/* `integer`, `floating_point`, `string`: from after the keyword. */
struct draft_class *tsdl_parse_integer(struct tsdl_parser *parser, uint32_t pos);
struct draft_class *tsdl_parse_float(struct tsdl_parser *parser, uint32_t pos);
struct draft_class *tsdl_parse_string(struct tsdl_parser *parser, uint32_t pos);
/* `enum`: from after `enum NAME : TYPE`, `type` is a copy of the container. */
bool tsdl_parse_enumerators(struct tsdl_parser *parser, struct draft_class *type);

/* types.c */
struct tsdl_specifiers {
    bool is_typedef, is_const;
    uint32_t pos;
    const struct draft_atom *words; /* the name it goes by, or NULL */
    struct draft_class *type;       /* NULL: to be looked up by `words` */
    bool declares;                  /* it has a named body, so it need not declare anything else */
};
/* Allocates a type with what is common to all. */
struct draft_class *tsdl_new_type(struct tsdl_parser *parser, enum lull_fc_kind kind, uint32_t pos);
/* A structure, variant or array takes in a part: depth, number of classes, references. */
bool tsdl_add_part(struct tsdl_parser *parser, struct draft_class *type,
                   const struct draft_class *part);
/* A reference by the names of a path. */
const struct draft_ref *tsdl_new_ref(struct tsdl_parser *parser, uint32_t pos,
                                     const struct draft_atom **names, uint32_t n_names);
bool tsdl_parse_specifiers(struct tsdl_parser *parser, struct tsdl_specifiers *specifiers);
/* The type that specifiers (and `pointers`, as text, or NULL) denote. */
struct draft_class *tsdl_specified_type(struct tsdl_parser *parser,
                                        const struct tsdl_specifiers *specifiers,
                                        const char *pointers);
/* Gives a type a name in the innermost scope, where it must be new. */
bool tsdl_define(struct tsdl_parser *parser, const struct draft_atom *name,
                 struct draft_class *type, uint32_t pos);

/* declare.c */
struct tsdl_declarator {
    const struct draft_atom *name; /* or NULL if abstract */
    uint32_t pos;
    struct draft_class *type;
};
/* Pointers, a name (must it have one?), array and sequence dimensions, applied to the specifiers.
 */
bool tsdl_parse_declarator(struct tsdl_parser *parser, const struct tsdl_specifiers *specifiers,
                           bool needs_name, struct tsdl_declarator *declarator);
/* From `typealias` on, without the semicolon. */
bool tsdl_parse_typealias(struct tsdl_parser *parser);
/* The declarators of a typedef, without the semicolon. */
bool tsdl_parse_typedef(struct tsdl_parser *parser, const struct tsdl_specifiers *specifiers);
/* Does the current token start a declaration of types inside a block, rather than an assignment? */
bool tsdl_at_declaration(struct tsdl_parser *parser);
/* A declaration outside of structures and variants, with its semicolon. */
bool tsdl_parse_declaration(struct tsdl_parser *parser);
/* `{ ... }` of a structure or variant; completes the type. */
bool tsdl_parse_body(struct tsdl_parser *parser, struct draft_class *type);

/* blocks.c: trace, env, clock, stream, event, callsite; from the keyword to the semicolon. */
bool tsdl_parse_block(struct tsdl_parser *parser);

/* build.c: the schema of a tree that is read; NULL with the source's error set. */
struct lull_schema *tsdl_build(struct draft_tree *tree);

/* roles.c: the roles (enum lull_role) of a field by its name; members of the scope's root have depth
 * 1. */
uint32_t tsdl_roles(enum lull_scope scope, uint32_t depth, const char *name,
                    const struct lull_fc *fc);
/* The first clock that an integer of a header is mapped to, or NULL. `fc` may be NULL. */
const struct lull_clock *tsdl_first_clock(const struct lull_fc *fc);

#endif
