/* SPDX-License-Identifier: MIT */
/* The lexer: reads one token at a time. What is common (identifiers, plain strings, small decimal
 * numbers) is taken straight from the text; only escapes go through a scratch buffer. */
#include "ctf/tsdl/lexer.h"

#include <string.h>

static const char *const words[TSDL_WORD_COUNT] = {
    [TSDL_ALIGN] = "align",
    [TSDL_CALLSITE] = "callsite",
    [TSDL_CONST] = "const",
    [TSDL_CHAR] = "char",
    [TSDL_CLOCK] = "clock",
    [TSDL_DOUBLE] = "double",
    [TSDL_ENUM] = "enum",
    [TSDL_ENV] = "env",
    [TSDL_EVENT] = "event",
    [TSDL_FLOATING_POINT] = "floating_point",
    [TSDL_FLOAT] = "float",
    [TSDL_INTEGER] = "integer",
    [TSDL_INT] = "int",
    [TSDL_LONG] = "long",
    [TSDL_SHORT] = "short",
    [TSDL_SIGNED] = "signed",
    [TSDL_STREAM] = "stream",
    [TSDL_STRING] = "string",
    [TSDL_STRUCT] = "struct",
    [TSDL_TRACE] = "trace",
    [TSDL_TYPEALIAS] = "typealias",
    [TSDL_TYPEDEF] = "typedef",
    [TSDL_UNSIGNED] = "unsigned",
    [TSDL_VARIANT] = "variant",
    [TSDL_VOID] = "void",
    [TSDL_BOOL] = "_Bool",
    [TSDL_COMPLEX] = "_Complex",
    [TSDL_IMAGINARY] = "_Imaginary",
    [TSDL_SIZE] = "size",
    [TSDL_BYTE_ORDER] = "byte_order",
    [TSDL_BASE] = "base",
    [TSDL_ENCODING] = "encoding",
    [TSDL_MAP] = "map",
    [TSDL_EXP_DIG] = "exp_dig",
    [TSDL_MANT_DIG] = "mant_dig",
    [TSDL_NAME] = "name",
    [TSDL_UUID] = "uuid",
    [TSDL_DESCRIPTION] = "description",
    [TSDL_FREQ] = "freq",
    [TSDL_PRECISION] = "precision",
    [TSDL_OFFSET] = "offset",
    [TSDL_OFFSET_S] = "offset_s",
    [TSDL_ABSOLUTE] = "absolute",
    [TSDL_MAJOR] = "major",
    [TSDL_MINOR] = "minor",
    [TSDL_ID] = "id",
    [TSDL_STREAM_ID] = "stream_id",
    [TSDL_LOGLEVEL] = "loglevel",
    [TSDL_CONTEXT] = "context",
    [TSDL_FIELDS] = "fields",
    [TSDL_PACKET_HEADER] = "packet.header",
    [TSDL_PACKET_CONTEXT] = "packet.context",
    [TSDL_EVENT_HEADER] = "event.header",
    [TSDL_EVENT_CONTEXT] = "event.context",
    [TSDL_EMF_URI] = "model.emf.uri",
};

void tsdl_add_words(struct draft_names *names)
{
    for (enum tsdl_word word = 1; word < TSDL_WORD_COUNT; word++) {
        const struct draft_atom *atom = draft_names_add(names, words[word], strlen(words[word]));
        ((struct draft_atom *)atom)->word = word;
    }
}

/* Whether nothing follows the word at `pos`: then the fault may be that the text was cut off there.
 */
static bool is_last_word(const struct draft_source *source, size_t pos)
{
    while (pos < source->size && !g_ascii_isspace(source->text[pos])) {
        pos++;
    }
    while (pos < source->size && g_ascii_isspace(source->text[pos])) {
        pos++;
    }
    return pos >= source->size;
}

bool tsdl_fail(struct draft_source *source, enum lull_error code, size_t pos, const char *format,
               ...)
{
    uint32_t line = 1, column = 1;
    va_list arguments;

    if (source->failed) {
        return false;
    }
    for (size_t i = 0; i < pos && i < source->size; i++) {
        column++;
        if (source->text[i] == '\n') {
            line++;
            column = 1;
        }
    }
    g_autofree char *where = g_strdup_printf("line %u, column %u", line, column);
    GString *message = g_string_new(NULL);
    va_start(arguments, format);
    g_string_append_vprintf(message, format, arguments);
    va_end(arguments);
    if (is_last_word(source, pos) && !strstr(message->str, "the text ends at byte")) {
        g_string_append_printf(message, "; the text ends at byte %u", source->size);
    }
    return draft_fail(source, code, where, g_string_free(message, FALSE));
}

static void fail(struct tsdl_lexer *lexer, struct tsdl_token *token, const char *message)
{
    token->kind = TSDL_TOKEN_ERROR;
    tsdl_fail(lexer->source, LULL_ERROR_FORMAT, token->pos, "%s", message);
}

/* The byte `ahead` of the current one, 0 after the end. */
static inline char peek(const struct tsdl_lexer *lexer, uint32_t ahead)
{
    uint64_t pos = (uint64_t)lexer->pos + ahead;
    return pos < lexer->source->size ? lexer->source->text[pos] : '\0';
}

static inline bool is_word_byte(char c)
{
    return g_ascii_isalnum(c) || c == '_';
}

/* Skips white space and comments; false (error set) if a comment does not end. */
static bool skip_blanks(struct tsdl_lexer *lexer)
{
    const struct draft_source *source = lexer->source;

    for (;;) {
        uint32_t pos = lexer->pos;
        while (pos < source->size && g_ascii_isspace(source->text[pos])) {
            pos++;
        }
        lexer->pos = pos;
        if (peek(lexer, 0) != '/') {
            return true;
        }
        const char *start = source->text + lexer->pos;
        size_t left = source->size - lexer->pos;
        if (peek(lexer, 1) == '/') {
            const char *end = memchr(start, '\n', left);
            lexer->pos = end ? (uint32_t)(end + 1 - source->text) : source->size;
        } else if (peek(lexer, 1) == '*') {
            const char *end = left > 3 ? memmem(start + 2, left - 2, "*/", 2) : NULL;
            if (!end) {
                return tsdl_fail(lexer->source, LULL_ERROR_FORMAT, lexer->pos,
                                 "comment without an end: the text ends at byte %u", source->size);
            }
            lexer->pos = (uint32_t)(end + 2 - source->text);
        } else {
            return true;
        }
    }
}

/* Reads up to `most` (at least `least`) hexadecimal digits into *value. */
static bool read_hex(struct tsdl_lexer *lexer, int least, int most, uint32_t *value)
{
    int n = 0;
    for (*value = 0; n < most && g_ascii_isxdigit(peek(lexer, 0)); n++) {
        *value = *value << 4 | (uint32_t)g_ascii_xdigit_value(lexer->source->text[lexer->pos++]);
    }
    return n >= least;
}

/* Reads \uXXXX or \UXXXXXXXX (from the letter on) as UTF-8. */
static bool read_universal(struct tsdl_lexer *lexer, GString *out)
{
    int digits = lexer->source->text[lexer->pos++] == 'u' ? 4 : 8;
    uint32_t code;
    if (!read_hex(lexer, digits, digits, &code) || code == 0 || !g_unichar_validate(code)) {
        return false;
    }
    g_string_append_unichar(out, code);
    return true;
}

/* Reads an escape sequence from after its backslash. A hexadecimal one has up to three digits, as
 * Babeltrace 2 has it. */
static bool read_escape(struct tsdl_lexer *lexer, GString *out)
{
    static const char letters[] = "abfnrtv'\"?\\", values[] = "\a\b\f\n\r\t\v'\"?\\";
    char c = peek(lexer, 0);
    const char *letter = c ? strchr(letters, c) : NULL;
    uint32_t value = 0;

    if (letter) {
        lexer->pos++;
        g_string_append_c(out, values[letter - letters]);
        return true;
    }
    if (c == 'u' || c == 'U') {
        return read_universal(lexer, out);
    }
    if (c == 'x') {
        lexer->pos++;
        if (!read_hex(lexer, 1, 3, &value)) {
            return false;
        }
    } else {
        int n = 0;
        for (; n < 3 && peek(lexer, 0) >= '0' && peek(lexer, 0) <= '7'; n++) {
            value = value << 3 | (uint32_t)(lexer->source->text[lexer->pos++] - '0');
        }
        if (n == 0) {
            return false;
        }
    }
    if (value > 255) {
        return false;
    }
    g_string_append_c(out, (char)value);
    return true;
}

/* Reads from after the opening quote to after the closing one; into the scratch buffer. */
static bool read_quoted(struct tsdl_lexer *lexer, struct tsdl_token *token, char quote)
{
    const struct draft_source *source = lexer->source;

    g_string_truncate(lexer->scratch, 0);
    for (;;) {
        if (lexer->pos >= source->size) {
            token->kind = TSDL_TOKEN_ERROR;
            return tsdl_fail(lexer->source, LULL_ERROR_FORMAT, token->pos,
                             "quote that is not closed: the text ends at byte %u", source->size);
        }
        char c = source->text[lexer->pos++];
        if (c == quote) {
            return true;
        }
        if (c == '\n' || c == '\0') {
            fail(lexer, token, "quote that is not closed: the line ends before it");
            return false;
        }
        if (c != '\\') {
            g_string_append_c(lexer->scratch, c);
        } else if (!read_escape(lexer, lexer->scratch)) {
            token->pos = lexer->pos - 1;
            fail(lexer, token, "bad escape sequence");
            return false;
        }
    }
}

/* Texts are handed on to JSON and terminals, so they have to be UTF-8. */
static const struct draft_atom *add_text(struct tsdl_lexer *lexer, const char *text, size_t length)
{
    if (g_utf8_validate_len(text, length, NULL)) {
        return draft_names_add(lexer->names, text, length);
    }
    char *valid = g_utf8_make_valid(text, (gssize)length);
    const struct draft_atom *atom = draft_names_add(lexer->names, valid, strlen(valid));
    g_free(valid);
    return atom;
}

static void read_text(struct tsdl_lexer *lexer, struct tsdl_token *token)
{
    const struct draft_source *source = lexer->source;
    uint32_t start = lexer->pos, end = start;

    while (end < source->size && source->text[end] != '"' && source->text[end] != '\\' &&
           source->text[end] != '\n' && source->text[end] != '\0') {
        end++;
    }
    token->kind = TSDL_TOKEN_TEXT;
    if (end < source->size && source->text[end] == '"') {
        lexer->pos = end + 1;
        token->atom = add_text(lexer, source->text + start, end - start);
    } else if (read_quoted(lexer, token, '"')) { /* a NUL ends the text, as it does in C */
        token->atom = add_text(lexer, lexer->scratch->str, strlen(lexer->scratch->str));
    }
}

/* Several characters are one number, the first in the highest byte, as compilers have it. */
static void read_character(struct tsdl_lexer *lexer, struct tsdl_token *token)
{
    token->kind = TSDL_TOKEN_NUMBER;
    if (!read_quoted(lexer, token, '\'')) {
        return;
    }
    if (lexer->scratch->len == 0 || lexer->scratch->len > 4) {
        fail(lexer, token, "character constant: it has to have one to four bytes");
        return;
    }
    for (size_t i = 0; i < lexer->scratch->len; i++) {
        token->number = token->number << 8 | (uint8_t)lexer->scratch->str[i];
    }
}

/* Skips u, l and ll in either order and case; false if other letters or digits follow. */
static bool skip_suffix(struct tsdl_lexer *lexer)
{
    bool is_unsigned = false, is_long = false;

    for (;;) {
        char c = peek(lexer, 0);
        if ((c == 'u' || c == 'U') && !is_unsigned) {
            is_unsigned = true;
            lexer->pos++;
        } else if ((c == 'l' || c == 'L') && !is_long) {
            is_long = true;
            lexer->pos += peek(lexer, 1) == c ? 2 : 1;
        } else {
            return !is_word_byte(c);
        }
    }
}

static void read_number(struct tsdl_lexer *lexer, struct tsdl_token *token)
{
    uint32_t base = 10, n_digits = 0;
    bool overflow = false;

    token->kind = TSDL_TOKEN_NUMBER;
    if (peek(lexer, 0) == '0') {
        base = 8;
        if (peek(lexer, 1) == 'x' || peek(lexer, 1) == 'X') {
            base = 16;
            lexer->pos += 2;
        }
    }
    for (;; lexer->pos++, n_digits++) {
        const char c = peek(lexer, 0);
        int digit = c >= '0' && c <= '9' ? c - '0' : g_ascii_xdigit_value(c);
        if (digit < 0 || (uint32_t)digit >= base) {
            break;
        }
        overflow |= __builtin_mul_overflow(token->number, (uint64_t)base, &token->number);
        overflow |= __builtin_add_overflow(token->number, (uint64_t)digit, &token->number);
    }
    if (n_digits == 0 || !skip_suffix(lexer)) {
        fail(lexer, token, "bad number: a digit or suffix does not belong there");
    } else if (overflow) {
        fail(lexer, token, "number too large: it does not fit 64 bits");
    }
}

/* An identifier with universal character names or bytes beyond ASCII. */
static void read_odd_identifier(struct tsdl_lexer *lexer, struct tsdl_token *token)
{
    GString *out = lexer->scratch;

    g_string_truncate(out, 0);
    for (;;) {
        char c = peek(lexer, 0);
        if (is_word_byte(c) || (uint8_t)c >= 0x80) {
            g_string_append_c(out, c);
            lexer->pos++;
        } else if (c == '\\' && (peek(lexer, 1) == 'u' || peek(lexer, 1) == 'U')) {
            lexer->pos++;
            if (!read_universal(lexer, out)) {
                fail(lexer, token, "bad universal character name");
                return;
            }
        } else {
            break;
        }
    }
    if (out->len == 0) {
        fail(lexer, token, "stray backslash");
    } else if (!g_utf8_validate_len(out->str, out->len, NULL)) {
        fail(lexer, token, "bad name: it is not UTF-8");
    } else {
        token->atom = draft_names_add(lexer->names, out->str, out->len);
    }
}

static void read_identifier(struct tsdl_lexer *lexer, struct tsdl_token *token)
{
    const struct draft_source *source = lexer->source;
    uint32_t end = lexer->pos;

    while (end < source->size && is_word_byte(source->text[end])) {
        end++;
    }
    token->kind = TSDL_TOKEN_IDENTIFIER;
    if (end < source->size && (source->text[end] == '\\' || (uint8_t)source->text[end] >= 0x80)) {
        read_odd_identifier(lexer, token);
        return;
    }
    token->atom = draft_names_add(lexer->names, source->text + lexer->pos, end - lexer->pos);
    if (token->atom->word != TSDL_WORD_NONE && token->atom->word <= TSDL_LAST_KEYWORD) {
        token->kind = TSDL_TOKEN_KEYWORD;
    }
    lexer->pos = end;
}

static const bool is_sign[256] = {
    ['['] = true, [']'] = true, ['('] = true, [')'] = true, ['{'] = true, ['}'] = true,
    ['.'] = true, ['*'] = true, ['+'] = true, ['-'] = true, ['<'] = true, ['>'] = true,
    [':'] = true, [';'] = true, ['='] = true, [','] = true,
};

static void read_punctuator(struct tsdl_lexer *lexer, struct tsdl_token *token)
{
    char c = peek(lexer, 0);
    uint32_t length = 1;

    token->kind = c;
    if (c == ':' && peek(lexer, 1) == '=') {
        token->kind = TSDL_TOKEN_ASSIGN_TYPE;
        length = 2;
    } else if (c == '-' && peek(lexer, 1) == '>') {
        token->kind = TSDL_TOKEN_ARROW;
        length = 2;
    } else if (c == '.' && peek(lexer, 1) == '.' && peek(lexer, 2) == '.') {
        token->kind = TSDL_TOKEN_RANGE;
        length = 3;
    } else if (!is_sign[(uint8_t)c]) {
        char *shown = g_ascii_isgraph(c) ? g_strdup_printf("character '%c'", c)
                                         : g_strdup_printf("byte 0x%02x", (uint8_t)c);
        char *message = g_strdup_printf("%s does not belong in a metadata text", shown);
        fail(lexer, token, message);
        g_free(message);
        g_free(shown);
    }
    lexer->pos += length;
}

void tsdl_lexer_next(struct tsdl_lexer *lexer, struct tsdl_token *token)
{
    *token = (struct tsdl_token){.kind = TSDL_TOKEN_ERROR};
    if (!skip_blanks(lexer)) {
        return;
    }
    token->pos = lexer->pos;
    if (lexer->pos >= lexer->source->size) {
        token->kind = TSDL_TOKEN_END;
        return;
    }
    char c = peek(lexer, 0), second = peek(lexer, 1);
    if (c == 'L' && (second == '"' || second == '\'')) {
        lexer->pos++;
        c = second;
    }
    if (c == '"') {
        lexer->pos++;
        read_text(lexer, token);
    } else if (c == '\'') {
        lexer->pos++;
        read_character(lexer, token);
    } else if (g_ascii_isdigit(c)) {
        read_number(lexer, token);
    } else if (is_word_byte(c) || c == '\\' || (uint8_t)c >= 0x80) {
        read_identifier(lexer, token);
    } else {
        read_punctuator(lexer, token);
    }
}
