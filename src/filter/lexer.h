/* SPDX-License-Identifier: MIT */
/* Words of the languages of filters and periods, with their places for error messages. */
#ifndef LULL_FILTER_LEXER_H
#define LULL_FILTER_LEXER_H

#include <lull/error.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

enum lull_token_kind {
    LULL_TOKEN_END,
    LULL_TOKEN_NAME,   /* also "$name" */
    LULL_TOKEN_NUMBER, /* integer or real */
    LULL_TOKEN_STRING,
    LULL_TOKEN_EQ,
    LULL_TOKEN_NE,
    LULL_TOKEN_LT,
    LULL_TOKEN_LE,
    LULL_TOKEN_GT,
    LULL_TOKEN_GE,
    LULL_TOKEN_MATCH,
    LULL_TOKEN_NO_MATCH,
    LULL_TOKEN_AND,
    LULL_TOKEN_OR,
    LULL_TOKEN_NOT,
    LULL_TOKEN_OPEN,
    LULL_TOKEN_CLOSE,
    LULL_TOKEN_OPEN_INDEX,
    LULL_TOKEN_CLOSE_INDEX,
    LULL_TOKEN_DOT,
    LULL_TOKEN_COMMA,
    LULL_TOKEN_PLUS,
    LULL_TOKEN_MINUS,
    LULL_TOKEN_COLON,  /* of periods and of rules */
    LULL_TOKEN_ASSIGN, /* of periods and of states */
    /* Of periods only. */
    LULL_TOKEN_SLASH,
    LULL_TOKEN_GLOB,
    /* Of states only. */
    LULL_TOKEN_OPEN_BLOCK,
    LULL_TOKEN_CLOSE_BLOCK,
    LULL_TOKEN_QUESTION,
    LULL_TOKEN_ADD,
    LULL_TOKEN_SUBTRACT,
    LULL_TOKEN_COLOUR, /* #rrggbb */
};

struct lull_token {
    enum lull_token_kind kind;
    size_t start, end; /* bytes of the expression */
    bool is_real;      /* NUMBER */
    bool is_time;      /* NUMBER: it has a unit of time */
    uint64_t integer;
    double real;
    char *text; /* STRING: without quotes and escapes, NUL-terminated */
    size_t length;
    bool *is_escaped; /* STRING: by byte of text, it was after a backslash */
};

struct lull_lexer {
    const char *text;
    size_t length, pos;
    const char *what; /* the text is, for messages: "the filter" */
    /* As lttng-analyses has it: more signs, any character after a backslash, numbers such as 007
     * and 5. */
    bool is_period;
    bool is_rule; /* of lull track */
    /* A file of many lines: # starts a comment, or a colour if six hexadecimal digits follow; texts end
     * with the line; messages name the line. */
    bool is_states;
    struct lull_arena *arena; /* of the strings */
};

/* The next token. False and an error that says what is wrong and where. */
bool lull_lexer_next(struct lull_lexer *lexer, struct lull_token *token, GError **error);
/* Sets an error about the byte `at`: column, reason, the expression and a caret; false. */
bool lull_lexer_complain(const struct lull_lexer *lexer, size_t at, GError **error,
                         const char *format, ...) G_GNUC_PRINTF(4, 5);

/* The value of the number in text[0, length): decimal, 0x, 0o or 0b, with an optional unit of time
 * (then nanoseconds) or size (then bytes). False with a reason. */
bool lull_number_read(const char *text, size_t length, struct lull_token *token,
                      const char **reason);

#endif
