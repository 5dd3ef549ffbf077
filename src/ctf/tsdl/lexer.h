/* Tokens of TSDL (CTF 1.8.3, section C.1), and errors that name a place in the text. */
#ifndef LULL_CTF_TSDL_LEXER_H
#define LULL_CTF_TSDL_LEXER_H

#include "ctf/tsdl/names.h"

#include <glib.h>
#include <lull/error.h>

/* The text that is parsed, and where the first error goes. */
struct tsdl_source {
    const char *name; /* for messages */
    const char *text;
    uint32_t size;
    GError **error;
    bool failed;
};

/* Sets the error "NAME: line L, column C: MESSAGE" for the byte at `pos`, unless there is one
 * already. Always returns false. */
bool tsdl_fail(struct tsdl_source *source, enum lull_error code, uint32_t pos, const char *format,
               ...) G_GNUC_PRINTF(4, 5);

enum tsdl_token_kind {
    TSDL_TOKEN_END,
    TSDL_TOKEN_IDENTIFIER,
    TSDL_TOKEN_KEYWORD,
    TSDL_TOKEN_TEXT,        /* string literal */
    TSDL_TOKEN_NUMBER,      /* integer and character constants */
    TSDL_TOKEN_ASSIGN_TYPE, /* := */
    TSDL_TOKEN_RANGE,       /* ... */
    TSDL_TOKEN_ARROW,       /* -> */
    TSDL_TOKEN_ERROR,
    /* Any other punctuator is its character. */
};

struct tsdl_token {
    int kind;
    uint32_t pos;
    const struct tsdl_atom *atom; /* of identifiers, keywords and texts */
    uint64_t number;
};

struct tsdl_lexer {
    struct tsdl_source *source;
    struct tsdl_atoms *atoms;
    uint32_t pos;
    GString *scratch; /* texts with escapes */
};

/* Reads the next token; TSDL_TOKEN_ERROR with the source's error set if there is none. */
void tsdl_lexer_next(struct tsdl_lexer *lexer, struct tsdl_token *token);

#endif
