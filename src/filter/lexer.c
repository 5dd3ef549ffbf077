/* SPDX-License-Identifier: MIT */
/* Splits a filter or a period definition into words, and says where in it something is wrong. */
#include "filter/lexer.h"

#include <stdarg.h>
#include <string.h>

/* ---- complaints ---- */

/* So much of a long expression is shown on either side of the place. */
#define CONTEXT_CHARS 60

static bool is_continuation(char c)
{
    return ((unsigned char)c & 0xc0) == 0x80;
}

/* Characters in text[begin, end). */
static size_t count_characters(const char *text, size_t start, size_t end)
{
    size_t n = 0;
    for (size_t i = start; i < end; i++) {
        n += !is_continuation(text[i]);
    }
    return n;
}

/* Where the line of the byte starts and ends; its number, as ":12:". */
static char *line_around(const struct lull_lexer *lexer, size_t at, size_t *first, size_t *last)
{
    size_t number = 1;
    *first = 0;
    for (size_t i = 0; i < at; i++) {
        if (lexer->text[i] == '\n') {
            number++;
            *first = i + 1;
        }
    }
    const char *end = memchr(lexer->text + at, '\n', lexer->length - at);
    *last = end ? (size_t)(end - lexer->text) : lexer->length;
    return g_strdup_printf(":%" G_GSIZE_FORMAT ":", number);
}

bool lull_lexer_complain(const struct lull_lexer *lexer, size_t at, GError **error,
                         const char *format, ...)
{
    va_list args;
    va_start(args, format);
    g_autofree char *reason = g_strdup_vprintf(format, args);
    va_end(args);
    at = MIN(at, lexer->length);
    size_t start = at, end = at, first = 0, last = lexer->length;
    g_autofree char *line = lexer->is_states ? line_around(lexer, at, &first, &last) : NULL;
    for (size_t n = 0; start > first && n < CONTEXT_CHARS; n++) {
        do {
            start--;
        } while (start > first && is_continuation(lexer->text[start]));
    }
    for (size_t n = 0; end < last && n < CONTEXT_CHARS; n++) {
        do {
            end++;
        } while (end < last && is_continuation(lexer->text[end]));
    }
    g_autofree char *raw = g_strndup(lexer->text + start, end - start);
    g_autofree char *shown = g_utf8_make_valid(raw, -1);
    for (char *c = shown; *c != '\0'; c++) {
        if (g_ascii_iscntrl(*c)) {
            *c = ' ';
        }
    }
    const char *before = start > first ? "…" : "";
    int indent = (int)count_characters(lexer->text, start, at) + (start > first ? 1 : 0);
    g_set_error(error, LULL_ERROR, LULL_ERROR_USAGE,
                "%s%s%" G_GSIZE_FORMAT ": %s\n  %s%s%s\n  %*s^", lexer->what,
                line ? line : ", column ", count_characters(lexer->text, first, at) + 1, reason,
                before, shown, end < last ? "…" : "", indent, "");
    return false;
}

/* ---- numbers ---- */

struct unit {
    const char *name;
    uint64_t factor;
    bool is_time;
};

static const struct unit units[] = {
    {"ns", 1, true},
    {"us", 1000, true},
    {"ms", 1000000, true},
    {"s", 1000000000, true},
    {"min", UINT64_C(60000000000), true},
    {"h", UINT64_C(3600000000000), true},
    {"B", 1, false},
    {"kB", 1000, false},
    {"KB", 1000, false},
    {"MB", 1000000, false},
    {"GB", 1000000000, false},
    {"TB", UINT64_C(1000000000000), false},
    {"KiB", UINT64_C(1) << 10, false},
    {"MiB", UINT64_C(1) << 20, false},
    {"GiB", UINT64_C(1) << 30, false},
    {"TiB", UINT64_C(1) << 40, false},
};

static const struct unit *find_unit(const char *text, size_t length)
{
    for (size_t i = 0; i < G_N_ELEMENTS(units); i++) {
        if (strlen(units[i].name) == length && memcmp(units[i].name, text, length) == 0) {
            return &units[i];
        }
    }
    return NULL;
}

static bool read_digits(const char *text, size_t length, unsigned base, uint64_t *value,
                        const char **reason)
{
    *value = 0;
    for (size_t i = 0; i < length; i++) {
        int digit = g_ascii_xdigit_value(text[i]);
        if (digit < 0 || (unsigned)digit >= base) {
            *reason = base == 16  ? "expected hexadecimal digits after 0x"
                      : base == 8 ? "expected digits from 0 to 7 after 0o"
                      : base == 2 ? "expected digits 0 and 1 after 0b"
                                  : "the number ends with a unit that is not known (ns us ms s min "
                                    "h, B kB MB GB TB KiB MiB GiB TiB)";
            return false;
        }
        if (__builtin_mul_overflow(*value, (uint64_t)base, value) ||
            __builtin_add_overflow(*value, (uint64_t)digit, value)) {
            *reason = "the number does not fit into 64 bits";
            return false;
        }
    }
    if (length == 0) {
        *reason = "there are no digits in the number";
    }
    return length > 0;
}

static bool read_prefixed(const char *text, size_t length, struct lull_token *token,
                          const char **reason)
{
    unsigned base = text[1] == 'x' || text[1] == 'X' ? 16 : text[1] == 'o' ? 8 : 2;
    token->is_real = false;
    return read_digits(text + 2, length - 2, base, &token->integer, reason);
}

/* whole[.fraction] times the unit's factor, exactly. */
static bool read_measure(const char *text, size_t whole, size_t fraction, uint64_t factor,
                         uint64_t *value, const char **reason)
{
    unsigned __int128 part = 0, scale = 1;
    if (!read_digits(text, whole, 10, value, reason)) {
        return false;
    }
    if (fraction > 18) {
        *reason = "the number has more than 18 digits after the point";
        return false;
    }
    for (size_t i = 0; i < fraction; i++) {
        part = part * 10 + (unsigned)(text[whole + 1 + i] - '0');
        scale *= 10;
    }
    /* 10^18 * 3.6 * 10^12 is below 2^128. */
    if (part * factor % scale != 0) {
        *reason = "the number is not a whole number of nanoseconds or bytes";
        return false;
    }
    if (__builtin_mul_overflow(*value, factor, value) ||
        __builtin_add_overflow(*value, (uint64_t)(part * factor / scale), value)) {
        *reason = "the number does not fit into 64 bits";
        return false;
    }
    return true;
}

static size_t digits_at(const char *text, size_t at, size_t length)
{
    size_t n = 0;
    while (at + n < length && g_ascii_isdigit(text[at + n])) {
        n++;
    }
    return n;
}

bool lull_number_read(const char *text, size_t length, struct lull_token *token,
                      const char **reason)
{
    if (length > 1 && text[0] == '0' && strchr("xXob", text[1])) {
        return read_prefixed(text, length, token, reason);
    }
    size_t whole = digits_at(text, 0, length), fraction = 0, at = whole;
    if (at < length && text[at] == '.') {
        fraction = digits_at(text, at + 1, length);
        at += 1 + fraction;
        if (fraction == 0) {
            *reason = "expected digits after the point of a number";
            return false;
        }
    }
    if (whole > 1 && text[0] == '0' && fraction == 0) {
        *reason = "a number cannot start with 0 (write octal numbers as 0o17)";
        return false;
    }
    const struct unit *unit = find_unit(text + at, length - at);
    token->is_real = false;
    token->is_time = unit && unit->is_time;
    if (unit) {
        return read_measure(text, whole, fraction, unit->factor, &token->integer, reason);
    }
    bool has_exponent = at < length && (text[at] == 'e' || text[at] == 'E');
    if (!has_exponent && fraction == 0) {
        return read_digits(text, length, 10, &token->integer, reason);
    }
    g_autofree char *copy = g_strndup(text, length);
    char *end;
    token->is_real = true;
    token->real = g_ascii_strtod(copy, &end);
    if (*end != '\0') {
        *reason = "the number ends with a unit that is not known (ns us ms s min h, B kB MB GB TB "
                  "KiB MiB GiB TiB)";
        return false;
    }
    return true;
}

/* ---- words ---- */

static bool is_name_start(char c)
{
    return g_ascii_isalpha(c) || c == '_' || c == '$' || (unsigned char)c >= 0x80;
}

static bool is_name_part(char c)
{
    return g_ascii_isalnum(c) || c == '_' || (unsigned char)c >= 0x80;
}

static bool lex_number(struct lull_lexer *lexer, struct lull_token *token, GError **error)
{
    const char *text = lexer->text;
    size_t end = token->start;
    bool has_point = false;
    while (end < lexer->length) {
        char c = text[end];
        bool is_point = c == '.' && !has_point;
        bool is_sign = (c == '+' || c == '-') && (text[end - 1] == 'e' || text[end - 1] == 'E') &&
                       end > token->start && g_ascii_isdigit(text[token->start]) &&
                       !(text[token->start] == '0' && (text[token->start + 1] | 32) == 'x');
        if (!is_point && !is_sign && !is_name_part(c)) {
            break;
        }
        has_point |= is_point;
        end++;
    }
    const char *reason = NULL;
    token->kind = LULL_TOKEN_NUMBER;
    token->end = lexer->pos = end;
    size_t start = token->start;
    if (lexer->is_period) {
        while (start + 1 < end && text[start] == '0' && g_ascii_isdigit(text[start + 1])) {
            start++;
        }
        end -= end > start + 1 && text[end - 1] == '.';
    }
    if (lull_number_read(text + start, end - start, token, &reason)) {
        return true;
    }
    return lull_lexer_complain(lexer, token->start, error, "%s", reason);
}

/* One escape, after the backslash: \n \t \r \xHH, or a punctuation character for itself; in a
 * period \n \t \r \f, or any other character for itself. */
static bool lex_escape(struct lull_lexer *lexer, char *out, GError **error)
{
    size_t at = lexer->pos;
    char c = at < lexer->length ? lexer->text[at] : '\0';
    lexer->pos++;
    if (lexer->is_period && at < lexer->length) {
        *out = c == 'n' ? '\n' : c == 't' ? '\t' : c == 'r' ? '\r' : c == 'f' ? '\f' : c;
    } else if (c == 'x' && at + 2 < lexer->length && g_ascii_isxdigit(lexer->text[at + 1]) &&
               g_ascii_isxdigit(lexer->text[at + 2])) {
        *out = (char)(g_ascii_xdigit_value(lexer->text[at + 1]) * 16 +
                      g_ascii_xdigit_value(lexer->text[at + 2]));
        lexer->pos += 2;
    } else if (c == 'n' || c == 't' || c == 'r') {
        *out = c == 'n' ? '\n' : c == 't' ? '\t' : '\r';
    } else if (g_ascii_ispunct(c) || c == ' ') {
        *out = c;
    } else {
        return lull_lexer_complain(lexer, at - 1, error,
                                   "no such escape: there are \\n \\t \\r \\xHH, and a backslash "
                                   "before a punctuation character");
    }
    return true;
}

static bool lex_string(struct lull_lexer *lexer, struct lull_token *token, GError **error)
{
    char quote = lexer->text[lexer->pos++];
    size_t room = 1;
    for (size_t at = lexer->pos; at < lexer->length && lexer->text[at] != quote; at++, room++) {
        at += lexer->text[at] == '\\';
    }
    token->kind = LULL_TOKEN_STRING;
    token->text = lull_arena_alloc(lexer->arena, room);
    token->is_escaped = lull_arena_alloc(lexer->arena, room);
    token->length = 0;
    while (lexer->pos < lexer->length && lexer->text[lexer->pos] != quote &&
           !(lexer->is_states && lexer->text[lexer->pos] == '\n')) {
        char c = lexer->text[lexer->pos++];
        token->is_escaped[token->length] = c == '\\';
        if (c == '\\' && !lex_escape(lexer, &c, error)) {
            return false;
        }
        token->text[token->length++] = c;
    }
    if (lexer->pos >= lexer->length || lexer->text[lexer->pos] != quote) {
        return lull_lexer_complain(lexer, token->start, error, "the text has no closing quote");
    }
    token->end = ++lexer->pos;
    return true;
}

enum { OF_PERIODS = 1, OF_RULES = 2, OF_STATES = 4, OF_ALL = 8 };

/* Longer ones first. */
static const struct {
    const char text[3];
    uint8_t of; /* the languages that have it */
    enum lull_token_kind kind;
} signs[] = {
    {"==", OF_ALL, LULL_TOKEN_EQ},
    {"!=", OF_ALL, LULL_TOKEN_NE},
    {"<=", OF_ALL, LULL_TOKEN_LE},
    {">=", OF_ALL, LULL_TOKEN_GE},
    {"=~", OF_ALL, LULL_TOKEN_MATCH},
    {"!~", OF_ALL, LULL_TOKEN_NO_MATCH},
    {"&&", OF_ALL, LULL_TOKEN_AND},
    {"||", OF_ALL, LULL_TOKEN_OR},
    {"=*", OF_PERIODS, LULL_TOKEN_GLOB},
    {"+=", OF_STATES, LULL_TOKEN_ADD},
    {"-=", OF_STATES, LULL_TOKEN_SUBTRACT},
    {"<", OF_ALL, LULL_TOKEN_LT},
    {">", OF_ALL, LULL_TOKEN_GT},
    {"!", OF_ALL, LULL_TOKEN_NOT},
    {"(", OF_ALL, LULL_TOKEN_OPEN},
    {")", OF_ALL, LULL_TOKEN_CLOSE},
    {"[", OF_ALL, LULL_TOKEN_OPEN_INDEX},
    {"]", OF_ALL, LULL_TOKEN_CLOSE_INDEX},
    {".", OF_ALL, LULL_TOKEN_DOT},
    {",", OF_ALL, LULL_TOKEN_COMMA},
    {"+", OF_ALL, LULL_TOKEN_PLUS},
    {"-", OF_ALL, LULL_TOKEN_MINUS},
    {":", OF_PERIODS | OF_RULES | OF_STATES, LULL_TOKEN_COLON},
    {"/", OF_PERIODS, LULL_TOKEN_SLASH},
    {"=", OF_PERIODS | OF_STATES, LULL_TOKEN_ASSIGN},
    {"{", OF_STATES, LULL_TOKEN_OPEN_BLOCK},
    {"}", OF_STATES, LULL_TOKEN_CLOSE_BLOCK},
    {"?", OF_STATES, LULL_TOKEN_QUESTION},
};

static bool lex_sign(struct lull_lexer *lexer, struct lull_token *token, GError **error)
{
    const char *at = lexer->text + lexer->pos;
    const uint8_t of = OF_ALL | (lexer->is_period ? OF_PERIODS : 0) |
                       (lexer->is_rule ? OF_RULES : 0) | (lexer->is_states ? OF_STATES : 0);
    for (size_t i = 0; i < G_N_ELEMENTS(signs); i++) {
        size_t length = strlen(signs[i].text);
        if ((signs[i].of & of) && length <= lexer->length - lexer->pos &&
            memcmp(at, signs[i].text, length) == 0) {
            token->kind = signs[i].kind;
            token->end = lexer->pos += length;
            return true;
        }
    }
    const char *hint = *at == '='   ? "a comparison is written =="
                       : *at == '&' ? "“and” is written &&"
                       : *at == '|' ? "“or” is written ||"
                                    : "this character means nothing here";
    return lull_lexer_complain(lexer, lexer->pos, error, "%s", hint);
}

/* The colour at the next byte, or else the end of the comment there. */
static bool is_colour(const struct lull_lexer *lexer)
{
    size_t n = 1;
    while (lexer->pos + n < lexer->length && g_ascii_isalnum(lexer->text[lexer->pos + n])) {
        if (!g_ascii_isxdigit(lexer->text[lexer->pos + n++])) {
            return false;
        }
    }
    return n == 7;
}

static void skip_blanks(struct lull_lexer *lexer)
{
    for (; lexer->pos < lexer->length; lexer->pos++) {
        if (lexer->is_states && lexer->text[lexer->pos] == '#' && !is_colour(lexer)) {
            const char *end = memchr(lexer->text + lexer->pos, '\n', lexer->length - lexer->pos);
            lexer->pos = end ? (size_t)(end - lexer->text) : lexer->length - 1;
        } else if (!g_ascii_isspace(lexer->text[lexer->pos])) {
            return;
        }
    }
}

bool lull_lexer_next(struct lull_lexer *lexer, struct lull_token *token, GError **error)
{
    skip_blanks(lexer);
    *token = (struct lull_token){.start = lexer->pos, .end = lexer->pos};
    if (lexer->pos >= lexer->length) {
        return true;
    }
    char c = lexer->text[lexer->pos];
    if (c == '"' || c == '\'') {
        return lex_string(lexer, token, error);
    }
    if (g_ascii_isdigit(c)) {
        return lex_number(lexer, token, error);
    }
    if (c == '#' && lexer->is_states) {
        token->kind = LULL_TOKEN_COLOUR;
        token->end = lexer->pos += 7;
        return true;
    }
    if (!is_name_start(c)) {
        return lex_sign(lexer, token, error);
    }
    token->kind = LULL_TOKEN_NAME;
    lexer->pos++;
    while (lexer->pos < lexer->length && is_name_part(lexer->text[lexer->pos])) {
        lexer->pos++;
    }
    token->end = lexer->pos;
    return true;
}
