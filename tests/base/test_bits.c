/* SPDX-License-Identifier: MIT */
/* Bit-field loads against a loop that takes one bit after the other. */
#include "base/bits.h"

#include <glib.h>

/* Bit i of the stream, in the order of CTF 1.8.3, 4.1.2. */
static unsigned stream_bit(const uint8_t *bytes, uint64_t i, bool big_endian)
{
    return bytes[i / 8] >> (big_endian ? 7 - i % 8 : i % 8) & 1;
}

static uint64_t slow_load(const uint8_t *bytes, uint64_t bit, unsigned size, bool big_endian)
{
    uint64_t v = 0;
    for (unsigned i = 0; i < size; i++) {
        uint64_t b = stream_bit(bytes, bit + i, big_endian);
        v = big_endian ? v << 1 | b : v | b << i;
    }
    return v;
}

static void test_all_positions(void)
{
    uint8_t bytes[32];
    for (unsigned i = 0; i < sizeof bytes; i++) {
        bytes[i] = (uint8_t)(i * 151 + 89);
    }
    for (unsigned bit = 0; bit < 24; bit++) {
        for (unsigned size = 1; size <= 64; size++) {
            for (int be = 0; be < 2; be++) {
                g_assert_cmphex(lull_load_bits(bytes, bit, size, be), ==,
                                slow_load(bytes, bit, size, be));
            }
        }
    }
}

static void test_bytes(void)
{
    const uint8_t bytes[8] = {0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x88};
    g_assert_cmphex(lull_load_u16(bytes, false), ==, 0x0201);
    g_assert_cmphex(lull_load_u16(bytes, true), ==, 0x0102);
    g_assert_cmphex(lull_load_u32(bytes, false), ==, 0x04030201);
    g_assert_cmphex(lull_load_u32(bytes, true), ==, 0x01020304);
    g_assert_cmphex(lull_load_u64(bytes, false), ==, UINT64_C(0x8807060504030201));
    g_assert_cmphex(lull_load_u64(bytes, true), ==, UINT64_C(0x0102030405060788));
}

static void test_signs(void)
{
    g_assert_cmpint((int64_t)lull_sign_extend(0x7, 3), ==, -1);
    g_assert_cmpint((int64_t)lull_sign_extend(0x3, 3), ==, 3);
    g_assert_cmpint((int64_t)lull_sign_extend(UINT64_MAX, 64), ==, -1);
    g_assert_cmpint((int64_t)lull_sign_extend(1, 1), ==, -1);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/bits/all-places", test_all_positions);
    g_test_add_func("/bits/bytes", test_bytes);
    g_test_add_func("/bits/signs", test_signs);
    return g_test_run();
}
