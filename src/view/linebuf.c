/* SPDX-License-Identifier: MIT */
/* Numbers and text into a growing buffer, without stdio's format strings: printing events spends
 * its time here. */
#include "view/linebuf.h"

#include "base/digits.h"
#include "base/json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

void lull_linebuf_free(struct lull_linebuf *line)
{
    g_free(line->data);
    *line = (struct lull_linebuf){0};
}

void lull_linebuf_grow(struct lull_linebuf *line, size_t more)
{
    if (more > SIZE_MAX / 4 || line->length > SIZE_MAX / 4) {
        g_error("a line of output of more than %zu bytes", line->length);
    }
    size_t capacity = MAX(line->capacity, 256);
    while (capacity - line->length < more) {
        capacity *= 2;
    }
    line->data = g_realloc(line->data, capacity);
    line->capacity = capacity;
}

void lull_linebuf_unsigned(struct lull_linebuf *line, uint64_t value)
{
    char *out = lull_linebuf_reserve(line, LULL_DIGITS_SIZE);
    line->length += (size_t)(lull_put_unsigned(out, value, 1) - out);
}

void lull_linebuf_signed(struct lull_linebuf *line, int64_t value)
{
    if (value < 0) {
        lull_linebuf_char(line, '-');
        lull_linebuf_unsigned(line, -(uint64_t)value);
    } else {
        lull_linebuf_unsigned(line, (uint64_t)value);
    }
}

void lull_linebuf_hex(struct lull_linebuf *line, uint64_t value)
{
    char digits[16];
    uint32_t at = sizeof digits;
    do {
        digits[--at] = "0123456789ABCDEF"[value & 15];
        value >>= 4;
    } while (value);
    lull_linebuf_literal(line, "0x");
    lull_linebuf_bytes(line, digits + at, sizeof digits - at);
}

void lull_linebuf_hex_bytes(struct lull_linebuf *line, const char *bytes, size_t length)
{
    char *out = lull_linebuf_reserve(line, length * 2);
    for (size_t i = 0; i < length; i++) {
        const uint8_t byte = (uint8_t)bytes[i];
        out[2 * i] = "0123456789abcdef"[byte >> 4];
        out[2 * i + 1] = "0123456789abcdef"[byte & 15];
    }
    line->length += length * 2;
}

void lull_linebuf_octal(struct lull_linebuf *line, uint64_t value)
{
    char digits[23];
    uint32_t at = sizeof digits;
    do {
        digits[--at] = (char)('0' + (value & 7));
        value >>= 3;
    } while (value);
    digits[--at] = '0';
    lull_linebuf_bytes(line, digits + at, sizeof digits - at);
}

void lull_linebuf_binary(struct lull_linebuf *line, uint64_t value, uint32_t bits)
{
    lull_linebuf_literal(line, "0b");
    while (bits > 0) {
        lull_linebuf_char(line, (char)('0' + (value >> --bits & 1)));
    }
}

void lull_linebuf_real(struct lull_linebuf *line, double value)
{
    char text[40];
    if (isnan(value)) {
        lull_linebuf_literal(line, "nan");
        return;
    }
    int length = 0;
    for (int digits = 6; digits <= 17; digits++) {
        length = snprintf(text, sizeof text, "%.*g", digits, value);
        if (isinf(value) || strtod(text, NULL) == value) {
            break;
        }
    }
    lull_linebuf_bytes(line, text, (size_t)length);
}

void lull_linebuf_nanoseconds(struct lull_linebuf *line, uint32_t value)
{
    char *out = lull_linebuf_reserve(line, LULL_DIGITS_SIZE);
    line->length += (size_t)(lull_put_unsigned(out, value, 9) - out);
}

/* Bytes of the well-formed UTF-8 character of more than one byte at `text`, or 0. */
static uint32_t utf8_length(const char *text, size_t length)
{
    gunichar c = g_utf8_get_char_validated(text, (gssize)MIN(length, 6));
    if (c == (gunichar)-1 || c == (gunichar)-2 || c < 0x80) {
        return 0;
    }
    return (uint32_t)g_unichar_to_utf8(c, NULL);
}

/* C1 control characters and the like are as dangerous to a terminal as C0. */
static bool is_shown(const char *text)
{
    gunichar c = g_utf8_get_char(text);
    GUnicodeType type = g_unichar_type(c);
    return type != G_UNICODE_CONTROL && type != G_UNICODE_FORMAT && type != G_UNICODE_SURROGATE &&
           type != G_UNICODE_LINE_SEPARATOR && type != G_UNICODE_PARAGRAPH_SEPARATOR;
}

static void escape_byte(struct lull_linebuf *line, unsigned char byte)
{
    static const char named[] = "\aa\bb\tt\nn\vv\ff\rr\"\"\\\\";
    for (uint32_t i = 0; byte && i + 1 < sizeof named; i += 2) {
        if ((unsigned char)named[i] == byte) {
            lull_linebuf_char(line, '\\');
            lull_linebuf_char(line, named[i + 1]);
            return;
        }
    }
    const char digits[] = "0123456789abcdef";
    const char text[4] = {'\\', 'x', digits[byte >> 4], digits[byte & 15]};
    lull_linebuf_bytes(line, text, sizeof text);
}

static bool is_plain(char c)
{
    return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
}

/* How many bytes from `text` on need no escape. */
static size_t plain_run(const char *text, size_t length)
{
    size_t n = 0;
    while (n < length && is_plain(text[n])) {
        n++;
    }
    return n;
}

void lull_linebuf_escaped(struct lull_linebuf *line, const char *text, size_t length)
{
    for (size_t at = 0; at < length;) {
        size_t run = plain_run(text + at, length - at);
        lull_linebuf_bytes(line, text + at, run);
        at += run;
        if (at == length) {
            return;
        }
        uint32_t n = utf8_length(text + at, length - at);
        if (n && is_shown(text + at)) {
            lull_linebuf_bytes(line, text + at, n);
            at += n;
        } else {
            escape_byte(line, (unsigned char)text[at++]);
        }
    }
}

void lull_linebuf_json(struct lull_linebuf *line, const char *text, size_t length)
{
    char escaped[LULL_JSON_ESCAPE];

    lull_linebuf_char(line, '"');
    for (size_t at = 0; at < length;) {
        size_t run = plain_run(text + at, length - at);
        lull_linebuf_bytes(line, text + at, run);
        at += run;
        if (at < length) {
            uint32_t n;
            at += lull_json_escape(text + at, length - at, escaped, &n);
            lull_linebuf_bytes(line, escaped, n);
        }
    }
    lull_linebuf_char(line, '"');
}
