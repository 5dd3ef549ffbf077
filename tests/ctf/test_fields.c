/* SPDX-License-Identifier: MIT */
/* Fields of CTF 1.8 from bytes written by hand: what the specification (1.8.3) says they mean. */
#include "ctf/field_dump.h"

#define LE "/* CTF 1.8 */ trace { major = 1; minor = 8; byte_order = le; };\n"
#define BE "/* CTF 1.8 */ trace { major = 1; minor = 8; byte_order = be; };\n"
#define U8 "integer { size = 8; }"
#define EVENT(fields) "event { name = e; fields := struct { " fields " }; };\n"

/* Fixed but not regular. */
static uint64_t some_value(unsigned size, unsigned offset)
{
    uint64_t v = UINT64_C(0x9e3779b97f4a7c15) * (size * 8 + offset + 1);
    return v & (UINT64_MAX >> (64 - size));
}

/* 4.1.2: every size at every bit, in both orders, signed and unsigned. */
static void test_all_integers(void)
{
    for (int be = 0; be < 2; be++) {
        for (unsigned size = 1; size <= 64; size++) {
            g_autoptr(GString) metadata = g_string_new(be ? BE : LE);
            g_autoptr(GString) expected = g_string_new("0 e {");
            struct bit_writer writer = {g_byte_array_new(), 0, be};
            g_string_append(metadata, "event { name = e; fields := struct {");
            for (unsigned offset = 0; offset < 8; offset++) {
                uint64_t v = some_value(size, offset);
                bool is_signed = offset % 2;
                if (offset > 0) {
                    g_string_append_printf(metadata, "integer { size = %u; align = 8; } p%u;",
                                           offset, offset);
                }
                g_string_append_printf(metadata,
                                       "integer { size = %u; align = %u; signed = %d; } v%u;", size,
                                       offset > 0 ? 1 : 8, is_signed, offset);
                while (writer.n % 8 != 0) {
                    put_bit(&writer, 0);
                }
                put_bits(&writer, be, offset, 0);
                put_bits(&writer, be, size, v);
                int64_t extended = (int64_t)v;
                if (is_signed && size < 64 && (v >> (size - 1) & 1)) {
                    extended = (int64_t)(v - (UINT64_C(1) << size));
                }
                if (offset > 0) {
                    g_string_append_printf(expected, ",p%u=0,", offset);
                }
                if (is_signed) {
                    g_string_append_printf(expected, "v%u=%" G_GINT64_FORMAT, offset, extended);
                } else {
                    g_string_append_printf(expected, "v%u=%" G_GUINT64_FORMAT, offset, v);
                }
            }
            g_string_append(metadata, U8 " end; }; };");
            g_string_append(expected, ",end=90};");
            put(writer.bytes, false, 1, 90);
            g_autofree char *text =
                dump_bytes(metadata->str, writer.bytes->data, writer.bytes->len);
            g_assert_cmpstr(text, ==, expected->str);
            g_byte_array_unref(writer.bytes);
        }
    }
}

/* 4.1.7: IEEE 754 in both orders: 1.5, -2 and half of the smallest step. */
static void test_reals(void)
{
    ASSERT_READS(LE EVENT("floating_point { exp_dig = 8; mant_dig = 24; align = 8; } a;"
                          "floating_point { exp_dig = 11; mant_dig = 53; align = 8; byte_order = "
                          "be; } b; floating_point { exp_dig = 5; mant_dig = 11; align = 8; } c;"),
                 "0 e {a=1.5,b=-2,c=0.5};", 0, 0, 0xc0, 0x3f, 0xc0, 0, 0, 0, 0, 0, 0, 0, 0, 0x38);
}

/* 4.2.3, 4.2.4: arrays of characters are texts only if they have an encoding; 4.2.2 nested. */
static void test_arrays(void)
{
    ASSERT_READS(LE EVENT(U8 " raw[2]; integer { size = 8; encoding = UTF8; } text[4];"
                             "integer { size = 8; encoding = none; } none[2];" U8 " empty[0];"
                             "struct { } nothing;" U8 " end;"),
                 "0 e {raw=[1,2],text='ab',none=[97,98],empty=[],nothing={},end=9};", 1, 2, 'a',
                 'b', 0, 'c', 'a', 'b', 9);
    /* An array is aligned as its element even if it is empty. */
    ASSERT_READS(LE EVENT(U8 " a; integer { size = 8; align = 32; } b[0];" U8 " c;"),
                 "0 e {a=1,b=[],c=2};", 1, 0, 0, 0, 2);
    ASSERT_READS(LE EVENT(U8 " n; struct {" U8 " m;" U8 " v[m]; } s[n]; string t;"),
                 "0 e {n=2,s=[{m=1,v=[7]},{m=2,v=[8,9]}],t='x'};", 2, 1, 7, 2, 8, 9, 'x', 0);
}

/* Elements without bits cost nothing, however many there are said to be. */
static void test_huge_empty_arrays(void)
{
    g_autofree char *text =
        dump_bytes(LE "event { name = e; fields := struct { integer { size = 64; } n;"
                      "struct { } s[n]; " U8 " end; }; };",
                   BYTES(0, 0, 0, 0, 0, 1, 0, 0, 5));
    g_assert_nonnull(strstr(text, "(! an array of too many elements without contents"));
    /* A sequence whose bits overflow 64. */
    g_autofree char *other = dump_bytes(
        LE "event { name = e; fields := struct { integer { size = 64; } n;" U8 " s[n]; }; };",
        BYTES(0, 0, 0, 0, 0, 0, 0, 0x80, 5));
    g_assert_true(g_str_has_prefix(other, "! "));
    g_assert_nonnull(strstr(other, "goes past the end of the packet"));
}

/* Arrays of arrays of nothing are as many as the product of their lengths: 4000^6 is too many, and
 * so is 40^3 if it is not one array that is too long. */
static void test_nested_empty_arrays(void)
{
    g_autofree char *text = dump_bytes(
        LE EVENT("struct { } s[4000][4000][4000][4000][4000][4000]; " U8 " end;"), BYTES(5));
    g_assert_nonnull(strstr(text, "(! an array of too many elements without contents"));
    g_autofree char *other =
        dump_bytes(LE EVENT("struct { } s[40][40][40]; " U8 " end;"), BYTES(5));
    g_assert_nonnull(strstr(other, "(! an array of too many elements without contents"));
    ASSERT_READS(LE EVENT("struct { } s[2][2]; " U8 " end;"), "0 e {s=[[{},{}],[{},{}]],end=5};",
                 5);
}

/* Texts without a byte are values nevertheless, however they are counted. */
static void test_empty_texts(void)
{
    ASSERT_READS(LE EVENT(U8 " n; integer { size = 8; encoding = UTF8; } t[n][0]; " U8 " end;"),
                 "0 e {n=3,t=['','',''],end=5};", 3, 5);
}

/* Loops over elements of variable size need memory in headers too. Of the strings in the packet
 * header, all empty, there are (1 + 2 + 1) * 10, n being 1. */
static void test_loops_in_headers(void)
{
    g_autoptr(GString) metadata =
        g_string_new("/* CTF 1.8 */ trace { major = 1; minor = 8; byte_order = le;"
                     "packet.header := struct { " U8 " n;");
    g_autoptr(GByteArray) bytes = g_byte_array_new();
    put(bytes, false, 1, 1);
    for (unsigned i = 0; i < 10; i++) {
        g_string_append_printf(metadata, "string a%u[n]; string b%u[2]; string c%u[1];", i, i, i);
        put(bytes, false, 4, 0);
    }
    g_string_append(metadata, "}; };\nstream { packet.context := struct { " U8
                              " m; string z[m]; }; };\n" EVENT(U8 " v;"));
    put(bytes, false, 1, 2);
    put(bytes, false, 2, 0);
    put(bytes, false, 1, 7);
    g_autofree char *text = dump_bytes(metadata->str, bytes->data, bytes->len);
    g_assert_cmpstr(text, ==, "0 e {v=7};");
}

#define SCOPED                                                                                     \
    "stream { packet.context := struct { " U8 " pn; integer { size = 64; align = 8; } "            \
    "packet_size; };"                                                                              \
    "event.header := struct { " U8 " id; " U8 " hn; };"                                            \
    "event.context := struct { " U8 " cn; enum : " U8 " { one = 1, two = 2 ... 3 } tag; }; };\n"

/* 7.3.2: lengths and tags in other scopes, by dotted names. */
static void test_scopes(void)
{
    ASSERT_READS(LE SCOPED "event { id = 4; name = e; context := struct { " U8
                           " own[stream.event.context.cn]; };"
                           "fields := struct { " U8 " a[stream.packet.context.pn]; " U8
                           " b[stream.event.header.hn]; variant <stream.event.context.tag> { " U8
                           " one; integer { size = 16; align = 8; } two; } v; struct { struct { " U8
                           " k; } deep; " U8 " d[deep.k]; } s; " U8 " again[s.deep.k]; }; };",
                 "0 e ctx{cn=1,tag=3:two,own=[50]} "
                 "{a=[60,61],b=[70,71,72],v=<two=513>,s={deep={k=1},d=[80]},again=[90]};",
                 2, 24 * 8, 0, 0, 0, 0, 0, 0, 0, 4, 3, 1, 3, 50, 60, 61, 70, 71, 72, 1, 2, 1, 80,
                 90);
}

/* 4.1.8: one value may have several labels; ranges of negative values. */
static void test_enumerations(void)
{
    ASSERT_READS(
        LE EVENT("enum : integer { size = 8; signed = true; } { a = -5 ... 5, b = 0, c = 0, "
                 "d = 6 } x; enum : integer { size = 3; } { z, y, w = 7 } p, q; integer { "
                 "size = 2; } r;"),
        "0 e {x=0:a|b|c,p=1:y,q=7:w,r=2};0 e {x=-6,p=2,q=0:z,r=1};", 0, 1 | 7 << 3 | 2 << 6, 0xfa,
        2 | 0 << 3 | 1 << 6);
}

/* Labels that their container cannot hold, as LTTng-UST writes them, mean what they do to babeltrace2
 * 2.0.4 (which aborts on m): their two's complement in 64 bits. */
static void test_foreign_labels(void)
{
    ASSERT_READS(
        LE EVENT(
            "enum : integer { size = 8; } { a = 0, n = -5, l = -1, z, m = -3 ... 1, b = 300 } x;"),
        "0 e {x=0:a|z|m};0 e {x=251};0 e {x=255};0 e {x=1:m};0 e {x=44};", 0, 251, 255, 1, 44);
#define LAST 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff
    ASSERT_READS(
        LE EVENT("enum : integer { size = 64; align = 8; } { n = -5 ... -3, z } x;"),
        "0 e {x=18446744073709551611:n};0 e {x=18446744073709551614:z};0 e {x=18446744073709551615};",
        0xfb, LAST, 0xfe, LAST, 0xff, LAST);
    ASSERT_READS(
        LE EVENT(
            "enum : integer { size = 64; align = 8; signed = true; } { n = 18446744073709551611, z } x;"),
        "0 e {x=-5:n};0 e {x=-4:z};0 e {x=-3};", 0xfb, LAST, 0xfc, LAST, 0xfd, LAST);
#undef LAST
}

/* Headers with an enumeration as id, with only a time, and none at all. */
static void test_headers(void)
{
    ASSERT_READS(LE "stream { event.header := struct { enum : " U8
                    " { first = 1, second = 2 } id; }; };"
                    "event { id = 1; name = one; fields := struct { " U8 " v; }; };"
                    "event { id = 2; name = two; };",
                 "0 one {v=9};0 two;", 1, 9, 2);
    ASSERT_READS(LE "clock { name = c; freq = 1000000000; };"
                    "stream { event.header := struct { integer { size = 8; map = clock.c.value; } "
                    "timestamp; }; };" EVENT(U8 " v;"),
                 "250 e {v=1};260 e {v=2};", 250, 1, 4, 2);
    ASSERT_READS(LE EVENT(U8 " v;"), "0 e {v=1};0 e {v=2};", 1, 2);
}

/* 8: cycles of any frequency, with offsets in seconds and cycles; several clocks. */
static void test_clocks(void)
{
#define CLOCKED(clock)                                                                             \
    LE clock "stream { event.header := struct { integer { size = 32; align = 8; map = "            \
             "clock.c.value; } t; }; };" EVENT(U8 " v;")
    /* 3 Hz: 1 000 000 001 cycles are 333 333 333.666… s; with 5 s and 2 cycles before. */
    ASSERT_READS(CLOCKED("clock { name = c; freq = 3; offset_s = 5; offset = 2; };"),
                 "333333339333333333 e {v=7};", 0x01, 0xca, 0x9a, 0x3b, 7);
    /* 7 GHz: 15 cycles are 2.14 ns. */
    ASSERT_READS(CLOCKED("clock { name = c; freq = 7000000000; };"), "2 e {v=7};", 15, 0, 0, 0, 7);
    ASSERT_READS(CLOCKED("clock { name = other; freq = 1; offset_s = 1000; };"
                         "clock { name = c; freq = 1000; offset_s = -1; };"),
                 "-980000000 e {v=7};", 20, 0, 0, 0, 7);
#undef CLOCKED
}

#define PACKETS                                                                                    \
    LE "clock { name = c; freq = 1000000000; };"                                                   \
       "stream { packet.context := struct { integer { size = 8; map = clock.c.value; } "           \
       "timestamp_begin, timestamp_end; " U8 " content_size, packet_size; };"                      \
       "event.header := struct { integer { size = 8; map = clock.c.value; } timestamp; }; "        \
       "};" EVENT(U8 " v;")

/* Padding; an event before its packet's begin counts as the clock's next round, as 8 says of a
 * value that is less than the one before; one behind the end is read as it is. */
static void test_packets(void)
{
    ASSERT_READS(PACKETS, "10 e {v=1};20 e {v=2};30 e {v=3};", 10, 20, 8 * 8, 10 * 8, 10, 1, 20, 2,
                 99, 99, 30, 40, 6 * 8, 6 * 8, 30, 3);
    ASSERT_READS(PACKETS, "266 e {v=1};", 20, 40, 6 * 8, 6 * 8, 10, 1);
    ASSERT_READS(PACKETS, "90 e {v=1};", 20, 40, 6 * 8, 6 * 8, 90, 1);
}

#define SIZES(members) LE "stream { packet.context := struct { " members " }; };" EVENT(U8 " v;")

/* 5.2: without packet_size a packet has no padding; without both sizes it is the whole file. */
static void test_sizes(void)
{
    ASSERT_READS(SIZES(U8 " content_size;"), "0 e {v=1};0 e {v=2};0 e {v=3};", 24, 1, 2, 16, 3);
    ASSERT_READS(SIZES(U8 " packet_size;"), "0 e {v=1};0 e {v=2};0 e {v=3};", 24, 1, 2, 16, 3);
    ASSERT_READS(SIZES(U8 " other;"), "0 e {v=1};0 e {v=2};", 24, 1, 2);
    /* A packet that says to hold not even its header is left out, the next one is not. */
    g_autofree char *text = dump_bytes(SIZES(U8 " content_size; " U8 " packet_size;"),
                                       BYTES(24, 24, 1, 0, 24, 2, 24, 24, 3));
    g_assert_true(g_str_has_prefix(text, "0 e {v=1};0 e {v=3};! "));
    g_assert_nonnull(strstr(text, "impossible content_size"));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/fields/all-integers", test_all_integers);
    g_test_add_func("/fields/reals", test_reals);
    g_test_add_func("/fields/arrays", test_arrays);
    g_test_add_func("/fields/huge-empty-arrays", test_huge_empty_arrays);
    g_test_add_func("/fields/nested-empty-arrays", test_nested_empty_arrays);
    g_test_add_func("/fields/empty-texts", test_empty_texts);
    g_test_add_func("/fields/loops-in-headers", test_loops_in_headers);
    g_test_add_func("/fields/scopes", test_scopes);
    g_test_add_func("/fields/enumerations", test_enumerations);
    g_test_add_func("/fields/foreign-labels", test_foreign_labels);
    g_test_add_func("/fields/headers", test_headers);
    g_test_add_func("/fields/clocks", test_clocks);
    g_test_add_func("/fields/packets", test_packets);
    g_test_add_func("/fields/sizes", test_sizes);
    return g_test_run();
}
