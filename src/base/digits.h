/* SPDX-License-Identifier: MIT */
/* Integers as decimal digits: tables and logs consist of little else, and stdio's format strings
 * cost more than all the rest of a line. */
#ifndef LULL_BASE_DIGITS_H
#define LULL_BASE_DIGITS_H

#include <glib.h>
#include <stdint.h>
#include <string.h>

enum { LULL_DIGITS_SIZE = 20 }; /* of any number */

/* Writes `value` with at least `least` (at most LULL_DIGITS_SIZE) digits; returns where it ends. No
 * NUL is written. */
static inline char *lull_put_unsigned(char *out, uint64_t value, unsigned least)
{
    char digits[LULL_DIGITS_SIZE];
    unsigned at = sizeof digits;
    do {
        digits[--at] = (char)('0' + value % 10);
        value /= 10;
    } while (value || sizeof digits - at < least);
    memcpy(out, digits + at, sizeof digits - at);
    return out + sizeof digits - at;
}

/* The same with a text, whose NUL is not copied either. */
static inline char *lull_put_text(char *out, const char *text)
{
    const size_t length = strlen(text);
    memcpy(out, text, length);
    return out + length;
}

static inline void lull_append_unsigned(GString *text, uint64_t value)
{
    char digits[LULL_DIGITS_SIZE];
    g_string_append_len(text, digits, lull_put_unsigned(digits, value, 1) - digits);
}

static inline void lull_append_signed(GString *text, int64_t value)
{
    if (value < 0) {
        g_string_append_c(text, '-');
    }
    lull_append_unsigned(text, value < 0 ? -(uint64_t)value : (uint64_t)value);
}

#endif
