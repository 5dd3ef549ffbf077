/* SPDX-License-Identifier: MIT */
/* Loads of integers from trace bytes: whole bytes and bit fields, both byte orders. Nothing here
 * checks bounds; a bit-field load may touch up to 9 bytes from the byte it starts in. */
#ifndef LULL_BASE_BITS_H
#define LULL_BASE_BITS_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* Bytes that must be readable after the last byte of a buffer that these functions read from. */
#define LULL_LOAD_SLACK 16

static inline uint16_t lull_load_u16(const uint8_t *p, bool big_endian)
{
    uint16_t v;
    memcpy(&v, p, sizeof v);
    return big_endian == (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__) ? v : __builtin_bswap16(v);
}

static inline uint32_t lull_load_u32(const uint8_t *p, bool big_endian)
{
    uint32_t v;
    memcpy(&v, p, sizeof v);
    return big_endian == (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__) ? v : __builtin_bswap32(v);
}

static inline uint64_t lull_load_u64(const uint8_t *p, bool big_endian)
{
    uint64_t v;
    memcpy(&v, p, sizeof v);
    return big_endian == (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__) ? v : __builtin_bswap64(v);
}

/* The low `size` bits (1..64) set. */
static inline uint64_t lull_low_mask(unsigned size)
{
    return UINT64_MAX >> (64 - size);
}

/* The low `size` bits (1..64) of v, sign-extended. */
static inline uint64_t lull_sign_extend(uint64_t v, unsigned size)
{
    uint64_t sign = UINT64_C(1) << (size - 1);
    return ((v & lull_low_mask(size)) ^ sign) - sign;
}

/* The unsigned integer of `size` bits (1..64) that starts `bit` bits after `base`. Little-endian
 * fields fill bytes from the least significant bit, big-endian ones from the most significant
 * (CTF 1.8.3, 4.1.2). */
static inline uint64_t lull_load_bits(const uint8_t *base, uint64_t bit, unsigned size,
                                      bool big_endian)
{
    const uint8_t *p = base + (bit >> 3);
    unsigned shift = bit & 7;
    uint64_t v = lull_load_u64(p, big_endian);
    if (big_endian) {
        v <<= shift;
        if (shift + size > 64) {
            v |= p[8] >> (8 - shift);
        }
        return v >> (64 - size);
    }
    v >>= shift;
    if (shift + size > 64) {
        v |= (uint64_t)p[8] << (64 - shift);
    }
    return v & lull_low_mask(size);
}

/* The `size` low bits (1..64) of v, the lowest of which becomes the highest. */
static inline uint64_t lull_reverse_bits(uint64_t v, unsigned size)
{
    v = (v >> 1 & UINT64_C(0x5555555555555555)) | (v & UINT64_C(0x5555555555555555)) << 1;
    v = (v >> 2 & UINT64_C(0x3333333333333333)) | (v & UINT64_C(0x3333333333333333)) << 2;
    v = (v >> 4 & UINT64_C(0x0f0f0f0f0f0f0f0f)) | (v & UINT64_C(0x0f0f0f0f0f0f0f0f)) << 4;
    return __builtin_bswap64(v) >> (64 - size);
}

/* The same with the first bit where the last one would be: the bit order of CTF 2 that is not usual
 * for the byte order. */
static inline uint64_t lull_load_bits_reversed(const uint8_t *base, uint64_t bit, unsigned size,
                                               bool big_endian)
{
    return lull_reverse_bits(lull_load_bits(base, bit, size, big_endian), size);
}

/* Reads the LEB128 integer at p, of which `room` bytes may be read. Returns its length in bytes;
 * room + 1 if it goes on after them, 0 if it has more than 64 bits. */
static inline uint64_t lull_load_leb128(const uint8_t *p, uint64_t room, bool is_signed,
                                        uint64_t *value)
{
    uint64_t v = 0;
    unsigned shift = 0;
    for (uint64_t i = 0;; i++, shift += 7) {
        if (i >= 10) {
            return 0;
        }
        if (i >= room) {
            return room + 1;
        }
        uint64_t part = p[i] & 0x7f;
        if (shift == 63) { /* one bit is left; the others must repeat the sign, or be zero */
            bool is_negative = (part & 1) != 0;
            if ((p[i] & 0x80) || (is_signed ? part != (is_negative ? 0x7f : 0) : part > 1)) {
                return 0;
            }
        }
        v |= part << shift;
        if (p[i] & 0x80) {
            continue;
        }
        unsigned bits = shift + 7 > 64 ? 64 : shift + 7;
        *value = is_signed ? lull_sign_extend(v, bits) : v;
        return i + 1;
    }
}

/* IEEE 754 binary16, which C17 has no portable type for. */
static inline double lull_half_value(uint16_t bits)
{
    int exponent = bits >> 10 & 31;
    double mantissa = bits & 0x3ff, sign = bits & 0x8000 ? -1 : 1;
    if (exponent == 31) {
        return mantissa != 0 ? (double)__builtin_nan("") : sign * __builtin_inf();
    }
    if (exponent == 0) {
        return sign * __builtin_ldexp(mantissa, -24);
    }
    return sign * __builtin_ldexp(mantissa + 1024, exponent - 25);
}

/* The IEEE 754 number of 16, 32 or 64 bits. */
static inline double lull_real_value(uint64_t bits, unsigned size)
{
    double value;
    if (size == 16) {
        return lull_half_value((uint16_t)bits);
    }
    if (size == 32) {
        uint32_t low = (uint32_t)bits;
        float single;
        memcpy(&single, &low, sizeof single);
        return (double)single;
    }
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* v rounded up to a multiple of `alignment`, a power of two. */
static inline uint64_t lull_align_up(uint64_t v, uint64_t alignment)
{
    return (v + alignment - 1) & ~(alignment - 1);
}

#endif
