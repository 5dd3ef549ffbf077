/* SPDX-License-Identifier: MIT */
/* Integers to digits, straight into memory: two at a time, without a call. Each returns where the
 * text ends; 24 bytes must be free. */
#ifndef LULL_VIEW_DIGITS_H
#define LULL_VIEW_DIGITS_H

#include <stdint.h>
#include <string.h>

static const char lull_digit_pairs[201] = "00010203040506070809101112131415161718192021222324"
                                          "25262728293031323334353637383940414243444546474849"
                                          "50515253545556575859606162636465666768697071727374"
                                          "75767778798081828384858687888990919293949596979899";

static inline char *lull_put_pair(char *out, uint32_t value)
{
    memcpy(out, lull_digit_pairs + 2 * value, 2);
    return out + 2;
}

/* How many decimal digits a value has; 0 has one. */
static inline uint32_t lull_count_digits(uint64_t value)
{
    static const uint64_t powers[] = {0,
                                      10,
                                      100,
                                      1000,
                                      10000,
                                      100000,
                                      1000000,
                                      10000000,
                                      100000000,
                                      1000000000,
                                      10000000000,
                                      100000000000,
                                      1000000000000,
                                      10000000000000,
                                      100000000000000,
                                      1000000000000000,
                                      10000000000000000,
                                      100000000000000000,
                                      1000000000000000000,
                                      10000000000000000000u};
    /* log10(2) is a little more than 1233 / 4096. */
    const uint32_t bits = 64 - (uint32_t)__builtin_clzll(value | 1);
    const uint32_t guess = bits * 1233 >> 12;
    return guess + (value >= powers[guess]);
}

static inline char *lull_put_unsigned(char *out, uint64_t value)
{
    if (value < 10) {
        *out = (char)('0' + value);
        return out + 1;
    }
    char *end = out + lull_count_digits(value), *at = end;
    while (value >= 100) {
        at -= 2;
        lull_put_pair(at, (uint32_t)(value % 100));
        value /= 100;
    }
    if (value >= 10) {
        lull_put_pair(out, (uint32_t)value);
    } else {
        *out = (char)('0' + value);
    }
    return end;
}

static inline char *lull_put_signed(char *out, int64_t value)
{
    if (value < 0) {
        *out++ = '-';
        return lull_put_unsigned(out, -(uint64_t)value);
    }
    return lull_put_unsigned(out, (uint64_t)value);
}

/* "0x" and upper-case digits. */
static inline char *lull_put_hex(char *out, uint64_t value)
{
    const uint32_t n = (67 - (uint32_t)__builtin_clzll(value | 1)) / 4;
    *out++ = '0';
    *out++ = 'x';
    for (uint32_t i = n; i-- > 0; value >>= 4) {
        out[i] = "0123456789ABCDEF"[value & 15];
    }
    return out + n;
}

/* Exactly nine digits. */
static inline char *lull_put_nanoseconds(char *out, uint32_t value)
{
    const uint32_t high = value / 10000, low = value % 10000;
    *out++ = (char)('0' + high / 10000);
    const uint32_t middle = high % 10000;
    out = lull_put_pair(out, middle / 100);
    out = lull_put_pair(out, middle % 100);
    out = lull_put_pair(out, low / 100);
    return lull_put_pair(out, low % 100);
}

#endif
