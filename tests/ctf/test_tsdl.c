/* SPDX-License-Identifier: MIT */
/* The types of TSDL: each expectation is a sentence or example of CTF 1.8.3, whose section is
 * named.
 */
#include "ctf/tsdl_help.h"

static void test_integers(void)
{
    struct lull_schema *schema = parse_ok(FIELDS(
        "integer { size = 24; } a; integer { size = 5; } b; integer { size = 64; align = 32; } c;"
        "integer { size = 16; byte_order = be; signed = TRUE; base = hex; encoding = UTF8; } d;"
        "integer { size = 0x10; byte_order = network; signed = 1; base = o; encoding = ASCII; } e;"
        "integer { size = 010u; byte_order = le; signed = false; base = 2; encoding = none; } f;"
        "integer { size = 1; base = b; x_unknown.y = 'a'; } g; integer { size = 8; base = p; } "
        "h;"));
    const struct lull_fc *p = payload(schema), *d = at(p, "d"), *e = at(p, "e"), *f = at(p, "f");

    /* 4.1.2: bit-packed if the size is no multiple of 8 bits, else byte-packed. 4.1.5: defaults. */
    g_assert_cmpuint(at(p, "a")->alignment, ==, 8);
    g_assert_cmpuint(at(p, "b")->alignment, ==, 1);
    g_assert_cmpuint(at(p, "c")->alignment, ==, 32);
    g_assert_cmpuint(at(p, "b")->integer.size, ==, 5);
    g_assert_false(at(p, "a")->integer.is_signed);
    g_assert_false(at(p, "a")->integer.is_big_endian);
    g_assert_cmpuint(at(p, "a")->integer.base, ==, 10);
    g_assert_cmpint(at(p, "a")->integer.encoding, ==, LULL_ENCODING_NONE);
    g_assert_null(at(p, "a")->integer.enumeration);
    g_assert_true(d->integer.is_signed && d->integer.is_big_endian);
    g_assert_cmpuint(d->integer.base, ==, 16);
    g_assert_cmpint(d->integer.encoding, ==, LULL_ENCODING_UTF8);
    g_assert_true(e->integer.is_signed && e->integer.is_big_endian);
    g_assert_cmpuint(e->integer.size, ==, 16);
    g_assert_cmpuint(e->integer.base, ==, 8);
    g_assert_cmpint(e->integer.encoding, ==, LULL_ENCODING_ASCII);
    g_assert_cmpuint(f->integer.size, ==, 8);
    g_assert_cmpuint(f->integer.base, ==, 2);
    g_assert_cmpuint(at(p, "g")->integer.base, ==, 2);
    g_assert_cmpuint(at(p, "h")->integer.base, ==, 16);
    g_assert_cmpuint(p->alignment, ==, 32); /* 4.2.1: the largest of its members */
    lull_schema_free(schema);
}

/* Integers of which the attributes are written out again are what they say each time: after the same,
 * after one that starts as they do, and after more different ones than are kept. */
static void test_repeated_integers(void)
{
    enum { DIFFERENT = 50, ROUNDS = 3 };
    g_autoptr(GString) text = g_string_new(NULL);
    for (unsigned i = 0; i < DIFFERENT * ROUNDS; i++) {
        const unsigned bits = 1 + i % DIFFERENT;
        const char *sign = i % 2 ? "true" : "false";
        g_string_append_printf(text,
                               "integer { size = %u; align = 1; signed = %s; } a%u;"
                               "integer { size = %u; align = 1; signed = %s; base = 16; } b%u;"
                               "integer { size = %u; align = 1; signed = %s; } c%u;"
                               "integer { size = 8; /* } */ align = 1; } d%u;",
                               bits, sign, i, bits, sign, i, bits, sign, i, i);
    }
    g_autofree char *whole = g_strconcat(TRACE_LE "event { name = \"e\"; fields := struct { ",
                                         text->str, " }; };", NULL);
    struct lull_schema *s = parse_ok(whole);
    for (unsigned i = 0; i < DIFFERENT * ROUNDS; i++) {
        char name[16];
        for (unsigned k = 0; k < 3; k++) {
            g_snprintf(name, sizeof name, "%c%u", "abc"[k], i);
            const struct lull_fc *fc = at(payload(s), name);
            g_assert_cmpuint(fc->integer.size, ==, 1 + i % DIFFERENT);
            g_assert_cmpint(fc->integer.is_signed, ==, i % 2 == 1);
            g_assert_cmpuint(fc->integer.base, ==, k == 1 ? 16 : 10);
        }
        g_snprintf(name, sizeof name, "d%u", i);
        g_assert_cmpuint(at(payload(s), name)->integer.size, ==, 8);
    }
    lull_schema_free(s);
}

/* 4.1.3: native is the trace's, and it may be declared after the types that use it. */
static void test_native_order(void)
{
    struct lull_schema *schema =
        parse_ok("typealias integer { size = 16; } := u; typealias integer { size = 16; byte_order "
                 "= le; } := l; typealias floating_point { exp_dig = 8; mant_dig = 24; } := float;"
                 "event { fields := struct { u a; l b; float c; }; };"
                 "trace { byte_order = be; };");
    g_assert_true(schema->is_big_endian);
    g_assert_true(at(payload(schema), "a")->integer.is_big_endian);
    g_assert_false(at(payload(schema), "b")->integer.is_big_endian);
    g_assert_true(at(payload(schema), "c")->floating.is_big_endian);
    lull_schema_free(schema);
}

static void test_floats_and_strings(void)
{
    struct lull_schema *schema = parse_ok(
        FIELDS("floating_point { exp_dig = 8; mant_dig = 24; align = 32; byte_order = be; } a;"
               "floating_point { exp_dig = 11; mant_dig = 53; } b;"
               "floating_point { exp_dig = 5; mant_dig = 11; } c;"
               "string d; string { encoding = ASCII; } e;"));
    const struct lull_fc *p = payload(schema);

    g_assert_cmpint(at(p, "a")->kind, ==, LULL_FC_FLOAT);
    g_assert_cmpuint(at(p, "a")->floating.size, ==, 32);
    g_assert_true(at(p, "a")->floating.is_big_endian);
    g_assert_cmpuint(at(p, "a")->alignment, ==, 32);
    g_assert_cmpuint(at(p, "b")->floating.size, ==, 64);
    g_assert_cmpuint(at(p, "b")->alignment, ==, 8); /* 4.1.2: all others are byte-packed */
    g_assert_cmpuint(at(p, "c")->floating.size, ==, 16);
    g_assert_cmpint(at(p, "d")->kind, ==, LULL_FC_STRING);
    g_assert_cmpint(at(p, "d")->string.encoding, ==, LULL_ENCODING_UTF8); /* 4.2.5 */
    g_assert_cmpuint(at(p, "d")->alignment, ==, 8);
    g_assert_cmpint(at(p, "e")->string.encoding, ==, LULL_ENCODING_ASCII);
    lull_schema_free(schema);
}

static void expect_range(const struct lull_fc *fc, uint32_t i, const char *label, int64_t lower,
                         int64_t upper)
{
    const struct lull_enum_range *range = &fc->integer.enumeration->ranges[i];
    g_assert_cmpuint(i, <, fc->integer.enumeration->n_ranges);
    g_assert_cmpstr(range->label, ==, label);
    g_assert_cmpint((int64_t)range->lower, ==, lower);
    g_assert_cmpint((int64_t)range->upper, ==, upper);
}

static void test_enumerations(void)
{
    struct lull_schema *schema = parse_ok(
        FIELDS("enum : u8 { ZERO, ONE, TWO, TEN = 10, ELEVEN, } a;" /* 4.1.8, the example */
               "enum named : int { \"some string\" = -5 ... -2, next, \"_x\" = 'A', string } b;"
               "enum { x = -(3), y = +4 } c; enum named d;"
               "enum : u8 { low = 0 ... 9, both = 5 ... 20, low = 30 } e;"
               "enum : integer { size = 64; } { top = 18446744073709551615 } f;"
               "enum : integer { size = 64; signed = true; } { least = -9223372036854775808 } g;"));
    const struct lull_fc *p = payload(schema), *a = at(p, "a"), *b = at(p, "b"), *e = at(p, "e");

    g_assert_cmpuint(a->integer.enumeration->n_ranges, ==, 5);
    expect_range(a, 2, "TWO", 2, 2);
    expect_range(a, 3, "TEN", 10, 10);
    expect_range(a, 4, "ELEVEN", 11, 11);
    expect_range(b, 0, "some string", -5, -2);
    expect_range(b, 1, "next", -1, -1); /* "takes as value the end_value of the range + 1" */
    expect_range(b, 2, "_x", 65, 65);   /* babeltrace2 prints labels with their underscore */
    expect_range(b, 3, "string", 66, 66);
    g_assert_true(b->integer.is_signed);
    g_assert_cmpstr(lull_fc_enum_label(b, (uint64_t)-3), ==, "some string");
    g_assert_null(lull_fc_enum_label(b, 0));
    expect_range(at(p, "c"), 0, "x", -3, -3); /* without a container it is an int */
    g_assert_cmpuint(at(p, "c")->integer.size, ==, 32);
    expect_range(at(p, "d"), 1, "next", -1, -1);
    g_assert_cmpstr(lull_fc_enum_label(e, 7), ==, "low");
    g_assert_cmpstr(lull_fc_enum_label(e, 20), ==, "both");
    g_assert_cmpstr(lull_fc_enum_label(e, 30), ==, "low");
    g_assert_null(lull_fc_enum_label(e, 21));
    g_assert_cmpstr(lull_fc_enum_label(at(p, "f"), UINT64_MAX), ==, "top");
    g_assert_cmpstr(lull_fc_enum_label(at(p, "g"), (uint64_t)1 << 63), ==, "least");
    lull_schema_free(schema);
}

static void test_structures(void)
{
    struct lull_schema *schema = parse_ok(
        TRACE_LE UINTS
        "struct s { u8 _a; u16 __b, c[3]; };"
        "event { fields := struct { struct s x; struct { } align(64) y; struct { u8 a; } align(4) "
        "z;"
        "struct s align(128) w; struct s { string only; } align(16); struct s inner; }; };");
    const struct lull_fc *p = payload(schema);

    g_assert_cmpstr(at(p, "x")->structure.members[0].name, ==, "a"); /* 4.2.1: one underscore */
    g_assert_cmpstr(at(p, "x")->structure.members[1].name, ==, "_b");
    g_assert_cmpuint(at(p, "x")->structure.n_members, ==, 3);
    g_assert_cmpuint(at(p, "x")->alignment, ==, 16);
    g_assert_cmpuint(at(p, "y")->alignment, ==, 64);
    g_assert_cmpuint(at(p, "y")->structure.n_members, ==, 0);
    g_assert_cmpuint(at(p, "z")->alignment, ==, 8); /* the maximum of both */
    g_assert_cmpuint(at(p, "w")->alignment, ==, 128);
    g_assert_cmpuint(at(p, "inner")->structure.n_members, ==, 1); /* 7.3.1: hiding is allowed */
    g_assert_cmpuint(at(p, "inner")->alignment, ==, 16);
    g_assert_cmpuint(p->alignment, ==, 128);
    lull_schema_free(schema);
}

static void test_names_of_types(void)
{
    struct lull_schema *schema = parse_ok(
        TRACE_LE
        "typealias integer { size = 64; } := unsigned long;"
        "typealias integer { size = 16; } := unsigned short int;"
        "typealias integer { size = 40; } := struct page *;"
        "typealias integer { size = 48; } := const char * const *;"
        "typedef unsigned long a_t, pair_t[2]; unsigned long typedef b_t;"
        "typealias unsigned long [3] := triple_t; typealias a_t := c_t;"
        "event { typedef unsigned short int a_t; typealias integer { size = 3; } := c_t;"
        "fields := struct { unsigned long a; const unsigned long b; unsigned short int c;"
        "struct page *d; const char * const *e; a_t f; b_t g; pair_t h; triple_t i; c_t c_t;"
        "typedef c_t c_t[2]; c_t j, (k), (l[4])[5]; }; };");
    const struct lull_fc *p = payload(schema), *l = at(p, "l");

    g_assert_cmpuint(at(p, "a")->integer.size, ==, 64);
    g_assert_cmpuint(at(p, "b")->integer.size, ==, 64);
    g_assert_cmpuint(at(p, "c")->integer.size, ==, 16);
    g_assert_cmpuint(at(p, "d")->integer.size, ==, 40);
    g_assert_cmpuint(at(p, "e")->integer.size, ==, 48);
    g_assert_cmpuint(at(p, "f")->integer.size, ==, 16); /* the event's, not the root's */
    g_assert_cmpuint(at(p, "g")->integer.size, ==, 64);
    g_assert_cmpuint(at(p, "h")->array.length, ==, 2);
    g_assert_cmpuint(at(p, "i")->array.length, ==, 3);
    g_assert_cmpuint(at(p, "i.[]")->integer.size, ==, 64);
    g_assert_cmpuint(at(p, "c_t")->integer.size, ==, 3);
    g_assert_cmpuint(at(p, "j")->array.length, ==, 2);
    g_assert_cmpuint(at(p, "k")->array.length, ==, 2);
    g_assert_cmpuint(l->array.length, ==, 4);
    g_assert_cmpuint(l->array.element->array.length, ==, 5);
    g_assert_cmpuint(l->array.element->array.element->array.length, ==, 2);
    lull_schema_free(schema);
}

static void test_arrays_and_sequences(void)
{
    struct lull_schema *schema = parse_ok(FIELDS(
        "u32 n; struct { u8 n; } h; u16 a[2][3]; u8 b[n]; string c[h.n][4];"
        "typedef u8 list[n]; list d; struct { u8 n; list e; u8 f[n]; u8 g[event.fields.n]; } in;"));
    const struct lull_fc *p = payload(schema), *a = at(p, "a"), *c = at(p, "c");

    g_assert_cmpint(a->kind, ==, LULL_FC_ARRAY);
    g_assert_cmpuint(a->array.length, ==, 2);
    g_assert_cmpuint(a->array.element->array.length, ==, 3);
    g_assert_cmpuint(a->alignment, ==, 16); /* 4.2.3: their element's */
    g_assert_cmpint(at(p, "b")->kind, ==, LULL_FC_SEQUENCE);
    expect_path(&at(p, "b")->sequence.length, LULL_SCOPE_EVENT_PAYLOAD, "0");
    g_assert_true(at(p, "b")->sequence.length.target == at(p, "n"));
    expect_path(&c->sequence.length, LULL_SCOPE_EVENT_PAYLOAD, "1 0");
    g_assert_true(c->sequence.length.target == at(p, "h.n"));
    g_assert_cmpuint(c->sequence.element->array.length, ==, 4);
    expect_path(&at(p, "d")->sequence.length, LULL_SCOPE_EVENT_PAYLOAD, "0");
    /* 4.2.2: a definition refers to the closest field of its own static scope. */
    expect_path(&at(p, "in.e")->sequence.length, LULL_SCOPE_EVENT_PAYLOAD, "0");
    expect_path(&at(p, "in.f")->sequence.length, LULL_SCOPE_EVENT_PAYLOAD, "6 0");
    expect_path(&at(p, "in.g")->sequence.length, LULL_SCOPE_EVENT_PAYLOAD, "0");
    lull_schema_free(schema);
}

/* A named type that finds its length and tag where it is used, each time elsewhere. */
static void test_use_sites(void)
{
    struct lull_schema *schema = parse_ok(
        TRACE_LE UINTS
        "typedef u8 bytes[len]; variant var { u8 a; bytes b; }; variant tagged <t> { u8 a; };"
        "event { fields := struct { enum : u8 { a, b } t; u8 len; bytes x;"
        "struct { u16 len; bytes y; } in; variant var <t> v; struct { u16 len; variant var <t> w; "
        "} "
        "arr[2]; variant tagged z; enum : u8 { a, b } t2; variant var <t2> list[len]; }; };");
    const struct lull_fc *p = payload(schema);

    expect_path(&at(p, "x")->sequence.length, LULL_SCOPE_EVENT_PAYLOAD, "1");
    expect_path(&at(p, "in.y")->sequence.length, LULL_SCOPE_EVENT_PAYLOAD, "3 0");
    expect_path(&at(p, "v")->variant.tag, LULL_SCOPE_EVENT_PAYLOAD, "0");
    expect_path(&at(p, "v.b")->sequence.length, LULL_SCOPE_EVENT_PAYLOAD, "1");
    expect_path(&at(p, "arr.[].w")->variant.tag, LULL_SCOPE_EVENT_PAYLOAD, "0");
    expect_path(&at(p, "arr.[].w.b")->sequence.length, LULL_SCOPE_EVENT_PAYLOAD, "5 0");
    g_assert_true(at(p, "arr.[].w.b")->sequence.length.target == at(p, "arr.[].len"));
    expect_path(&at(p, "z")->variant.tag, LULL_SCOPE_EVENT_PAYLOAD, "0");
    expect_path(&at(p, "list.[]")->variant.tag, LULL_SCOPE_EVENT_PAYLOAD, "7");
    lull_schema_free(schema);
}

static void test_variants(void)
{
    struct lull_schema *schema = parse_ok(
        FIELDS("enum : u8 { \"_one\" = 1, two = 2 ... 5, none = 6, odd = 7, odd = 9 } tag;"
               "variant <tag> { struct { u32 x; u8 _s[event.fields.v._one.x]; } _one; u32 two;"
               "u8 unused, _odd; } v; u16 end;"));
    const struct lull_fc *p = payload(schema), *v = at(p, "v");

    g_assert_cmpint(v->kind, ==, LULL_FC_VARIANT);
    g_assert_cmpuint(v->variant.n_options, ==, 4);
    g_assert_cmpint(lull_fc_variant_option(v, 1), ==, 0);
    g_assert_cmpint(lull_fc_variant_option(v, 2), ==, 1);
    g_assert_cmpint(lull_fc_variant_option(v, 5), ==, 1);
    g_assert_cmpint(lull_fc_variant_option(v, 6), ==, -1); /* no option has this label */
    g_assert_cmpint(lull_fc_variant_option(v, 9), ==, 3);
    g_assert_cmpint(lull_fc_variant_option(v, 8), ==, -1);
    g_assert_cmpstr(v->variant.options[0].name, ==, "one");
    expect_path(&at(v, "one.s")->sequence.length, LULL_SCOPE_EVENT_PAYLOAD, "1 0 0");
    g_assert_cmpuint(at(v, "two")->alignment, ==, 32);
    g_assert_cmpuint(v->alignment, ==, 1);  /* 4.2.2: it is the selected option's */
    g_assert_cmpuint(p->alignment, ==, 16); /* 4.2.2: "disregarding the alignment of the variant" */
    lull_schema_free(schema);
}

/* 4.2.2: "v uses the enum : uint2_t { a, b, c, d } tag", not the x beside it. */
static void test_variant_of_outer_scope(void)
{
    struct lull_schema *schema = parse_ok(FIELDS(
        "enum : integer { size = 2; } { a, b, c, d } x;"
        "typedef variant <x> { u32 a; u16 b; u8 c; } example_variant;"
        "struct { enum : int { x, y, z } x; example_variant v; variant <x> { u8 y; } w; } a[10];"));
    const struct lull_fc *p = payload(schema);

    expect_path(&at(p, "a.[].v")->variant.tag, LULL_SCOPE_EVENT_PAYLOAD, "0");
    expect_path(&at(p, "a.[].w")->variant.tag, LULL_SCOPE_EVENT_PAYLOAD, "1 0");
    lull_schema_free(schema);
}

/* 7.3.2: dynamic scopes. */
static void test_absolute_references(void)
{
    struct lull_schema *schema = parse_ok(
        "trace { byte_order = le; packet.header := struct { integer { size = 8; } n; }; };" UINTS
        "stream { packet.context := struct { u8 n; u8 a[trace.packet.header.n]; };"
        "event.header := struct { enum : u8 { compact, extended } id; u8 "
        "n[stream.packet.context.n];"
        "struct { u8 deep; } s; };"
        "event.context := struct { u8 n; u8 a[stream.event.header.s.deep]; }; };"
        "event { context := struct { u8 n; u8 a[stream.event.context.n];"
        "variant <id> { struct { } compact; u8 extended; } v; };" /* 6.2, as in the example */
        "fields := struct { u8 a[event.context.n]; u8 b[stream.event.header.s.deep]; u8 n;"
        "u8 c[event.fields.n]; u8 d[n]; u8 e[trace.packet.header.n]; }; };");
    const struct lull_stream_decl *s = &schema->streams[0];
    const struct lull_fc *c = s->events[0].context, *p = payload(schema);

    expect_path(&at(s->packet_context, "a")->sequence.length, LULL_SCOPE_PACKET_HEADER, "0");
    expect_path(&at(s->event_header, "n")->sequence.length, LULL_SCOPE_PACKET_CONTEXT, "0");
    expect_path(&at(s->event_context, "a")->sequence.length, LULL_SCOPE_EVENT_HEADER, "2 0");
    expect_path(&at(c, "a")->sequence.length, LULL_SCOPE_STREAM_EVENT_CONTEXT, "0");
    expect_path(&at(c, "v")->variant.tag, LULL_SCOPE_EVENT_HEADER, "0");
    expect_path(&at(p, "a")->sequence.length, LULL_SCOPE_EVENT_CONTEXT, "0");
    expect_path(&at(p, "b")->sequence.length, LULL_SCOPE_EVENT_HEADER, "2 0");
    expect_path(&at(p, "c")->sequence.length, LULL_SCOPE_EVENT_PAYLOAD, "2");
    expect_path(&at(p, "d")->sequence.length, LULL_SCOPE_EVENT_PAYLOAD, "2");
    expect_path(&at(p, "e")->sequence.length, LULL_SCOPE_PACKET_HEADER, "0");
    g_assert_true(at(p, "e")->sequence.length.target == at(schema->packet_header, "n"));
    lull_schema_free(schema);
}

/* As LTTng writes it: names with underscores, refered to with them or without. */
static void test_underscores(void)
{
    struct lull_schema *schema =
        parse_ok(FIELDS("u32 __n_length; u8 _n[ __n_length ]; u8 _m[_n_length];"
                        "u8 len; struct { u8 _len; u8 a[len]; u8 b[_len]; } s;"));
    const struct lull_fc *p = payload(schema);

    expect_path(&at(p, "n")->sequence.length, LULL_SCOPE_EVENT_PAYLOAD, "0");
    expect_path(&at(p, "m")->sequence.length, LULL_SCOPE_EVENT_PAYLOAD, "0");
    expect_path(&at(p, "s.a")->sequence.length, LULL_SCOPE_EVENT_PAYLOAD, "3");
    expect_path(&at(p, "s.b")->sequence.length, LULL_SCOPE_EVENT_PAYLOAD, "4 0");
    lull_schema_free(schema);
}

/* 4.1.6: the second bit-field does not fit the first unit, so it begins the next one. */
static void test_bit_fields(void)
{
    struct lull_schema *schema = parse_ok(
        FIELDS("struct { u16 a:12; u16 b:5; u16 c:11; u16 d:1, :3; u16 :0; u8 e; } example;"));
    const struct lull_fc *e = at(payload(schema), "example");
    const uint32_t offsets[] = {0, 16, 21, 32, 33, 48, 48}, sizes[] = {12, 5, 11, 1, 3, 0, 8};
    uint32_t offset = 0;

    g_assert_cmpuint(e->alignment, ==, 16);
    g_assert_cmpuint(e->structure.n_members, ==, 7);
    for (uint32_t i = 0; i < 7; i++) {
        const struct lull_fc *fc = e->structure.members[i].fc;
        offset = (offset + fc->alignment - 1) / fc->alignment * fc->alignment;
        g_assert_cmpuint(offset, ==, offsets[i]);
        if (i != 5) {
            g_assert_cmpuint(fc->integer.size, ==, sizes[i]);
        }
        offset += sizes[i];
    }
    g_assert_cmpint(e->structure.members[5].fc->kind, ==, LULL_FC_STRUCT);
    lull_schema_free(schema);
}

static void test_bad_types(void)
{
    static const struct failure failures[] = {
        {FIELDS("integer { size = 0; } a;"), "0 bits are forbidden"},
        {FIELDS("integer { align = 8; } a;"), "no default"},
        {FIELDS("integer { size = 8; size = 8; } a;"), "'size' is given twice"},
        {FIELDS("integer { size = -8; } a;"), "bad value of size"},
        {FIELDS("integer { size = 8; align = 12; } a;"), "power of two"},
        {FIELDS("integer { size = 8; align = 0; } a;"), "power of two"},
        {FIELDS("integer { size = 8; base = 7; } a;"), "bad value of base"},
        {FIELDS("integer { size = 8; signed = maybe; } a;"), "bad value of signed"},
        {FIELDS("integer { size = 8; byte_order = middle; } a;"), "bad value of byte_order"},
        {FIELDS("integer { size = 8; map = clock.c.value; } a;"), "clock 'c' is not declared"},
        {FIELDS("integer { size = 8; map = clock.c; } a;"), "clock.NAME.value"},
        {FIELDS("floating_point { exp_dig = 8; } a;"), "floating_point without a size"},
        {FIELDS("string { encoding = latin; } a;"), "bad value of encoding"},
        {FIELDS("nothing a;"), "type 'nothing' is not declared"},
        {FIELDS("unsigned long a;"), "type 'unsigned long' is not declared"},
        {FIELDS("u8 *a;"), "type 'u8 *' is not declared"},
        {FIELDS("struct s a;"), "type 'struct s' is not declared"},
        {FIELDS("struct s { struct s a; } a;"), "type 'struct s' is not declared"},
        {FIELDS("u8 a; u16 a;"), "field 'a' is declared twice"},
        {FIELDS("u8 event;"), "unexpected keyword 'event'"},
        {FIELDS("u8 a[];"), "the length of an array"},
        {FIELDS("u8 a[-1];"), "it is negative"},
        {FIELDS("u8;"), "a name is expected"},
        {FIELDS("enum : u8 { } a;"), "enumeration without a label"},
        {FIELDS("enum : u8 { a = 5 ... 4 } a;"), "it ends before it starts"},
        {FIELDS("enum : u8 { a = -9223372036854775809 } a;"), "does not fit"},
        {FIELDS("typealias string := str; enum : str { a } a;"), "is not an integer"},
        {FIELDS("enum : integer { size = 64; } { a = 18446744073709551615, b } a;"),
         "does not fit"},
        {FIELDS("enum : int { a = 9223372036854775807, b } a;"), "does not fit"},
        {TRACE_LE "event { fields := struct { enum { a } x; }; };", "type 'int' is not declared"},
        {FIELDS("struct s { u8 a; }; struct s { u8 b; };"), "type 'struct s' is declared twice"},
        {FIELDS("typedef u8 t; typealias u16 := t;"), "type 't' is declared twice"},
        {FIELDS("enum e : u8 { a }; enum e : u8 { b };"), "type 'enum e' is declared twice"},
        {FIELDS("u8 n; u8 a[m];"), "bad length of a sequence 'm': there is no such field"},
        {FIELDS("u8 a[n]; u8 n;"), "'n': it is not before"},
        {FIELDS("u8 a[a];"), "'a': it is not before"},
        {FIELDS("int n; u8 a[n];"), "the field is signed"},
        {FIELDS("string n; u8 a[n];"), "the field is not an integer"},
        {FIELDS("u8 n; u8 a[n.m];"), "is not a structure"},
        {FIELDS("struct { u8 n; } s[2]; u8 a[s.n];"), "does not hold the referring field"},
        {FIELDS("enum : u8 { x } t; variant <t> { struct { u8 n; } x; } v; u8 a[v.x.n];"),
         "does not hold the referring field"},
        {FIELDS("u8 a[stream.n];"), "no scope of fields starts with"},
        {FIELDS("u8 a[stream.event.header];"), "the name of a field is missing"},
        {FIELDS("u8 a[stream.event.header.n];"), "there is no such field"},
        {TRACE_LE UINTS "stream { event.header := struct { u8 a[event.fields.n]; }; };"
                        "event { fields := struct { u8 n; }; };",
         "is not before"},
        {FIELDS("u8 t; variant <t> { u8 a; } v;"), "the field is not an enumeration"},
        {FIELDS("variant { u8 a; } v;"), "variant without a tag"},
        {FIELDS("enum : u8 { a } t; variant v <t> { u8 a; }; variant v <t> x;"), "second tag"},
        {FIELDS("enum : u8 { a } t; struct s { u8 x; }; struct s <t> v;"), "unexpected '<'"},
        {FIELDS("u8 a:9;"), "bad width of a bit-field"},
        {FIELDS("string s; u8 a"), "unexpected '}'"},
        {FIELDS("u8 a; typealias u8 := ;"), "the name of the new type"},
        {FIELDS("u8 a; typealias u8 x := y;"), "on its left-hand side"},
        {FIELDS("u8 a(;"), "unexpected '('"},
        {FIELDS("u8 a[env.n];"), "there is no such entry in the environment"},
        {FIELDS("u8 a[env.n.m];"), "bad reference to the environment"},
    };
    static const struct failure unsupported[] = {
        {FIELDS("integer { size = 65; } a;"), "integer of 65 bits"},
        {FIELDS("floating_point { exp_dig = 15; mant_dig = 113; } a;"), "mant_dig 113"},
        {FIELDS("string s; u8 a:3;"), "after fields of variable size"},
    };
    expect_failures(failures, G_N_ELEMENTS(failures), LULL_ERROR_FORMAT);
    expect_failures(unsupported, G_N_ELEMENTS(unsupported), LULL_ERROR_UNSUPPORTED);
    /* What is never used does no harm. */
    lull_schema_free(parse_ok(TRACE_LE "typealias integer { size = 128; } := __int128;"));
}

static void test_position_of_errors(void)
{
    GError *error = NULL;
    g_assert_null(parse(TRACE_LE "event {\n  fields := struct {\n\tnothing a;\n}; };", &error));
    g_assert_cmpstr(error->message, ==, "m: line 4, column 2: type 'nothing' is not declared");
    g_error_free(error);
}

/* Texts that would grow or nest without end; and long ones that must not take quadratic time. */
static void test_hostile(void)
{
    GString *text = g_string_new(FIELDS("u8 a;") "struct s0 { u8 a; };");
    GError *error = NULL;

    for (int i = 1; i < 60; i++) {
        g_string_append_printf(text, "struct s%d { struct s%d a, b; };", i, i - 1);
    }
    g_assert_null(parse(text->str, &error));
    g_assert_nonnull(strstr(error->message, "type too large"));
    g_clear_error(&error);

    const char *const deep[] = {"struct {", "event { fields := struct { variant <a> {", "a = ((((",
                                "struct { u8 a[2]((((("};
    for (size_t i = 0; i < G_N_ELEMENTS(deep); i++) {
        g_string_assign(text, TRACE_LE UINTS);
        for (int n = 0; n < 100000; n++) {
            g_string_append(text, deep[i]);
        }
        g_assert_null(parse(text->str, &error));
        g_assert_error(error, LULL_ERROR, LULL_ERROR_FORMAT);
        g_clear_error(&error);
    }
    g_string_assign(text, TRACE_LE UINTS "event { a = ");
    for (int n = 0; n < 100000; n++) {
        g_string_append_c(text, '(');
    }
    g_assert_null(parse(text->str, &error));
    g_assert_nonnull(strstr(error->message, "nested too deeply"));
    g_clear_error(&error);

    g_string_assign(text, TRACE_LE UINTS "event { fields := struct { enum : u8 { ");
    for (int i = 0; i < 30000; i++) {
        g_string_append_printf(text, "x%d = 1,", i);
    }
    g_string_append(text, "} tag; variant <tag> { ");
    for (int i = 0; i < 30000; i++) {
        g_string_append_printf(text, "u8 x%d;", i);
    }
    g_string_append(text, "} v; u8 n;");
    for (int i = 0; i < 30000; i++) {
        g_string_append_printf(text, "u8 y%d[n];", i);
    }
    g_string_append(text, "}; };");
    gint64 start = g_get_monotonic_time();
    lull_schema_free(parse_ok(text->str));
    g_assert_cmpint(g_get_monotonic_time() - start, <, 2000000);
    g_string_free(text, TRUE);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/tsdl/integers", test_integers);
    g_test_add_func("/tsdl/repeated-integers", test_repeated_integers);
    g_test_add_func("/tsdl/native-order", test_native_order);
    g_test_add_func("/tsdl/floats-and-strings", test_floats_and_strings);
    g_test_add_func("/tsdl/enumerations", test_enumerations);
    g_test_add_func("/tsdl/structures", test_structures);
    g_test_add_func("/tsdl/names-of-types", test_names_of_types);
    g_test_add_func("/tsdl/arrays-and-sequences", test_arrays_and_sequences);
    g_test_add_func("/tsdl/use-sites", test_use_sites);
    g_test_add_func("/tsdl/variants", test_variants);
    g_test_add_func("/tsdl/variant-of-outer-scope", test_variant_of_outer_scope);
    g_test_add_func("/tsdl/absolute-references", test_absolute_references);
    g_test_add_func("/tsdl/underscores", test_underscores);
    g_test_add_func("/tsdl/bit-fields", test_bit_fields);
    g_test_add_func("/tsdl/bad-types", test_bad_types);
    g_test_add_func("/tsdl/place-of-errors", test_position_of_errors);
    g_test_add_func("/tsdl/hostile", test_hostile);
    return g_test_run();
}
