/* SPDX-License-Identifier: MIT */
/* A growing buffer of text for output made of many small pieces: the printers of events write each
 * line into one of these and hand it to stdio whole. Nothing is allocated once the longest line has
 * passed. */
#ifndef LULL_VIEW_LINEBUF_H
#define LULL_VIEW_LINEBUF_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

struct lull_linebuf {
    char *data; /* not NUL-terminated; NULL before the first reserve */
    size_t length, capacity;
};

void lull_linebuf_free(struct lull_linebuf *line);
/* Slow part of reserve. */
void lull_linebuf_grow(struct lull_linebuf *line, size_t more);

/* Room for `more` bytes after `length`. */
static inline char *lull_linebuf_reserve(struct lull_linebuf *line, size_t more)
{
    if (G_UNLIKELY(line->capacity - line->length < more)) {
        lull_linebuf_grow(line, more);
    }
    return line->data + line->length;
}

static inline void lull_linebuf_bytes(struct lull_linebuf *line, const char *bytes, size_t length)
{
    if (length) {
        memcpy(lull_linebuf_reserve(line, length), bytes, length);
        line->length += length;
    }
}

static inline void lull_linebuf_char(struct lull_linebuf *line, char c)
{
    *lull_linebuf_reserve(line, 1) = c;
    line->length++;
}

#define lull_linebuf_literal(line, text) lull_linebuf_bytes(line, text, sizeof(text) - 1)

static inline void lull_linebuf_string(struct lull_linebuf *line, const char *text)
{
    lull_linebuf_bytes(line, text, strlen(text));
}

void lull_linebuf_unsigned(struct lull_linebuf *line, uint64_t value);
void lull_linebuf_signed(struct lull_linebuf *line, int64_t value);
/* "0x" and upper-case digits. */
void lull_linebuf_hex(struct lull_linebuf *line, uint64_t value);
/* Two lower-case digits a byte. */
void lull_linebuf_hex_bytes(struct lull_linebuf *line, const char *bytes, size_t length);
/* A leading 0 and octal digits. */
void lull_linebuf_octal(struct lull_linebuf *line, uint64_t value);
/* The fewest digits that read back as the same number; "nan", "inf" and "-inf". */
void lull_linebuf_real(struct lull_linebuf *line, double value);
/* Exactly nine digits. */
void lull_linebuf_nanoseconds(struct lull_linebuf *line, uint32_t value);

/* All `bits` digits after "0b". */
void lull_linebuf_binary(struct lull_linebuf *line, uint64_t value, uint32_t bits);

/* Text as a person may safely see it on a terminal: control characters, quotes, backslashes and
 * what is not UTF-8 are escaped as in C (\n, \", \\, \x1b). Without quotes around it. */
void lull_linebuf_escaped(struct lull_linebuf *line, const char *text, size_t length);
/* Text as a JSON string, with its quotes; bytes that are not UTF-8 become U+FFFD. */
void lull_linebuf_json(struct lull_linebuf *line, const char *text, size_t length);

#endif
