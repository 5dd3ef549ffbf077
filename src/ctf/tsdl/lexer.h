/* SPDX-License-Identifier: MIT */
/* Tokens of TSDL (CTF 1.8.3, section C.1), and errors that name a place in the text. */
#ifndef LULL_CTF_TSDL_LEXER_H
#define LULL_CTF_TSDL_LEXER_H

#include "ctf/draft/draft.h"

/* Words that the parser knows. Keywords (section C.1.2) come first. */
enum tsdl_word {
    TSDL_WORD_NONE,
    TSDL_ALIGN,
    TSDL_CALLSITE,
    TSDL_CONST,
    TSDL_CHAR,
    TSDL_CLOCK,
    TSDL_DOUBLE,
    TSDL_ENUM,
    TSDL_ENV,
    TSDL_EVENT,
    TSDL_FLOATING_POINT,
    TSDL_FLOAT,
    TSDL_INTEGER,
    TSDL_INT,
    TSDL_LONG,
    TSDL_SHORT,
    TSDL_SIGNED,
    TSDL_STREAM,
    TSDL_STRING,
    TSDL_STRUCT,
    TSDL_TRACE,
    TSDL_TYPEALIAS,
    TSDL_TYPEDEF,
    TSDL_UNSIGNED,
    TSDL_VARIANT,
    TSDL_VOID,
    TSDL_BOOL,
    TSDL_COMPLEX,
    TSDL_IMAGINARY,
    TSDL_LAST_KEYWORD = TSDL_IMAGINARY,
    /* Names of attributes, which are identifiers. */
    TSDL_SIZE,
    TSDL_BYTE_ORDER,
    TSDL_BASE,
    TSDL_ENCODING,
    TSDL_MAP,
    TSDL_EXP_DIG,
    TSDL_MANT_DIG,
    TSDL_NAME,
    TSDL_UUID,
    TSDL_DESCRIPTION,
    TSDL_FREQ,
    TSDL_PRECISION,
    TSDL_OFFSET,
    TSDL_OFFSET_S,
    TSDL_ABSOLUTE,
    TSDL_MAJOR,
    TSDL_MINOR,
    TSDL_ID,
    TSDL_STREAM_ID,
    TSDL_LOGLEVEL,
    TSDL_CONTEXT,
    TSDL_FIELDS,
    TSDL_PACKET_HEADER,
    TSDL_PACKET_CONTEXT,
    TSDL_EVENT_HEADER,
    TSDL_EVENT_CONTEXT,
    TSDL_EMF_URI,
    TSDL_WORD_COUNT
};

/* Sets the error "NAME: line L, column C: MESSAGE" for the byte at `pos`, unless there is one
 * already. Always returns false. */
bool tsdl_fail(struct draft_source *source, enum lull_error code, size_t pos, const char *format,
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

/* Gives the atoms of the words that the parser knows their `word`. */
void tsdl_add_words(struct draft_names *names);

struct tsdl_token {
    int kind;
    uint32_t pos;
    const struct draft_atom *atom; /* of identifiers, keywords and texts */
    uint64_t number;
};

struct tsdl_lexer {
    struct draft_source *source;
    struct draft_names *names;
    uint32_t pos;
    GString *scratch; /* texts with escapes */
};

/* Reads the next token; TSDL_TOKEN_ERROR with the source's error set if there is none. */
void tsdl_lexer_next(struct tsdl_lexer *lexer, struct tsdl_token *token);

#endif
