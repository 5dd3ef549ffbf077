/* SPDX-License-Identifier: MIT */
/* Fields of CTF 2 from bytes written by hand: what CTF2-SPEC-2.0 says they mean. */
#include "ctf/field_dump.h"

/* Metadata is written with ' for ". */
#define RS "\x1e"
#define PREAMBLE RS "{'type':'preamble','version':2}\n"
#define STREAM RS "{'type':'data-stream-class'}\n"
#define EVENT(members)                                                                             \
    RS "{'type':'event-record-class','name':'e','payload-field-class':{'type':'structure',"        \
       "'member-classes':[" members "]}}\n"
#define FIELDS(members) PREAMBLE STREAM EVENT(members)
#define MEMBER(name, class) "{'name':'" name "','field-class':" class "}"
#define FIXED(type, bits, more)                                                                    \
    "{'type':'fixed-length-" type "','length':" bits ",'byte-order':'little-endian'" more "}"
#define U8 FIXED("unsigned-integer", "8", "")
#define VU "{'type':'variable-length-unsigned-integer'}"
#define VS "{'type':'variable-length-signed-integer'}"
#define AT(path) "{'origin':'event-record-payload','path':[" path "]}"

static char *spell(const char *text)
{
    char *copy = g_strdup(text);
    for (char *c = copy; *c != '\0'; c++) {
        *c = *c == '\'' ? '"' : *c;
    }
    return copy;
}

#define ASSERT_READS2(metadata, expected, ...)                                                     \
    do {                                                                                           \
        g_autofree char *spelled_ = spell(metadata);                                               \
        ASSERT_READS(spelled_, expected, __VA_ARGS__);                                             \
    } while (0)

/* The only problem is this one. */
#define ASSERT_FAILS(metadata, problem, ...)                                                       \
    do {                                                                                           \
        g_autofree char *spelled_ = spell(metadata);                                               \
        g_autofree char *text_ = dump_bytes(spelled_, BYTES(__VA_ARGS__));                         \
        if (!g_str_has_prefix(text_, "! ") || !strstr(text_, problem))                             \
            g_error("“%s” is not “%s”", text_, problem);                                           \
    } while (0)

/* LEB128: the examples of DWARF 5, 7.6, and the ends of what fits. */
static void test_leb128(void)
{
    ASSERT_READS2(FIELDS(MEMBER("a", VU) "," MEMBER("b", VU) "," MEMBER("c", VS) "," MEMBER(
                      "d", VS) "," MEMBER("e", VU) "," MEMBER("f", VS) "," MEMBER("g", VU)),
                  "0 e {a=127,b=128,c=-128,d=129,e=18446744073709551615,"
                  "f=-9223372036854775808,g=2};",
                  0x7f, 0x80, 0x01, 0x80, 0x7f, 0x81, 0x01, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
                  0xff, 0xff, 0xff, 0x01, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
                  0x7f, 0x82, 0x80, 0);
    /* 65 bits, and eleven bytes. */
    ASSERT_FAILS(FIELDS(MEMBER("a", VU)), "has more than 64 bits", 0xff, 0xff, 0xff, 0xff, 0xff,
                 0xff, 0xff, 0xff, 0xff, 0x02);
    ASSERT_FAILS(FIELDS(MEMBER("a", VS)), "has more than 64 bits", 0x80, 0x80, 0x80, 0x80, 0x80,
                 0x80, 0x80, 0x80, 0x80, 0x01);
    ASSERT_FAILS(FIELDS(MEMBER("a", VU)), "has more than 64 bits", 0x80, 0x80, 0x80, 0x80, 0x80,
                 0x80, 0x80, 0x80, 0x80, 0x80, 0x00);
    ASSERT_FAILS(FIELDS(MEMBER("a", VU)), "goes past the end of the packet", 0x80, 0x80);
    /* On a byte, behind bits. */
    ASSERT_READS2(FIELDS(MEMBER("x", FIXED("unsigned-integer", "3", "")) "," MEMBER("a", VU)),
                  "0 e {x=5,a=9};", 0xfd, 9);
}

#define LTF ",'bit-order':'last-to-first'"
#define FTL ",'bit-order':'first-to-last'"
#define BIG16                                                                                      \
    "{'type':'fixed-length-unsigned-integer','length':16,'byte-order':'big-endian'" FTL "}"

/* Section 6.4.3: the byte order says in which direction a byte's bits are read, the bit order
 * whether the first one is the lowest or the highest of the whole value. */
static void test_bit_order(void)
{
    ASSERT_READS2(
        FIELDS(MEMBER("a", FIXED("unsigned-integer", "8", LTF)) "," MEMBER(
            "b",
            FIXED("unsigned-integer", "3",
                  LTF)) "," MEMBER("c",
                                   FIXED("signed-integer", "5",
                                         LTF)) "," MEMBER("d",
                                                          BIG16) "," MEMBER("e",
                                                                            FIXED(
                                                                                "unsigned-integer",
                                                                                "8", FTL))),
        /* 0xa6 from the lowest bit on is 01100101 = 101. 0xb1 is 100 01101: 4 and 13.
         * 0x01 0x80 from the highest bit on has ones at places 7 and 8: 128 + 256. */
        "0 e {a=101,b=4,c=13,d=384,e=166};", 0xa6, 0xb1, 0x01, 0x80, 0xa6);
}

static void test_meanings(void)
{
    ASSERT_READS2(
        FIELDS(
            MEMBER("t", FIXED("boolean", "8", "")) "," MEMBER("f", FIXED("boolean", "8", "")) "," MEMBER(
                "one",
                FIXED("boolean", "1",
                      "")) "," MEMBER("m",
                                      FIXED("bit-map", "15",
                                            ",'flags':{'r':[[0,0]],'w':[[1,1],[4,6]],'x':[[2,"
                                            "2]]}")) "," MEMBER("s",
                                                                FIXED("signed-integer", "8",
                                                                      ",'mappings':{'low':[[-"
                                                                      "128,-1]],'all':[[-128,"
                                                                      "127]]}")) "," MEMBER("v",
                                                                                            "{'"
                                                                                            "typ"
                                                                                            "e':"
                                                                                            "'va"
                                                                                            "ria"
                                                                                            "ble"
                                                                                            "-le"
                                                                                            "ngt"
                                                                                            "h-"
                                                                                            "uns"
                                                                                            "ign"
                                                                                            "ed-"
                                                                                            "int"
                                                                                            "ege"
                                                                                            "r',"
                                                                                            "'ma"
                                                                                            "ppi"
                                                                                            "ngs"
                                                                                            "':{"
                                                                                            "'bi"
                                                                                            "g':"
                                                                                            "[["
                                                                                            "300"
                                                                                            ",30"
                                                                                            "0]]"
                                                                                            "}"
                                                                                            "}")),
        "0 e {t=true,f=false,one=true,m=33:r|w,s=-2:low|all,v=300:big};", 4, 0,
        0x01 | (33 << 1 & 0xff), 33 >> 7, 0xfe, 0xac, 0x02);
}

#define STRING8(type, encoding, more) "{'type':'" type "','encoding':'" encoding "'" more "}"

/* Texts of all encodings come out as UTF-8: é is U+00E9, 𝄞 is U+1D11E, D834 DD1E in UTF-16. */
static void test_strings(void)
{
    ASSERT_READS2(
        FIELDS(MEMBER("a", STRING8("null-terminated-string", "utf-8", "")) "," MEMBER("b", STRING8("null-terminated-string", "utf-16le", "")) "," MEMBER(
            "c",
            STRING8(
                "null-terminated-string", "utf-32be",
                "")) "," MEMBER("d",
                                STRING8(
                                    "static-length-string", "utf-16be",
                                    ",'length':8")) "," MEMBER("n",
                                                               U8) "," MEMBER("e",
                                                                              STRING8(
                                                                                  "dynamic-length-"
                                                                                  "string",
                                                                                  "utf-32le",
                                                                                  ",'length-field-"
                                                                                  "location':" AT(
                                                                                      "'n'"))) "," MEMBER("f",
                                                                                                          STRING8(
                                                                                                              "dynamic-length-string",
                                                                                                              "utf-8",
                                                                                                              ",'length-field-location':" AT(
                                                                                                                  "'n'")))),
        "0 e {a='é',b='x𝄞',c='é',d='yz',n=4,e='A',f='abc'};", 0xc3, 0xa9, 0, 'x', 0, 0x34, 0xd8,
        0x1e, 0xdd, 0, 0, 0, 0, 0, 0xe9, 0, 0, 0, 0, 0, 'y', 0, 'z', 0, 0, 0, '!', 4, 'A', 0, 0, 0,
        'a', 'b', 'c', 0);
    /* Half a surrogate pair is no character; a string without its end is none either. */
    ASSERT_READS2(FIELDS(MEMBER("a", STRING8("static-length-string", "utf-16le", ",'length':5"))),
                  "0 e {a='\xef\xbf\xbd!'};", 0x34, 0xd8, '!', 0, 7);
    ASSERT_FAILS(FIELDS(MEMBER("a", STRING8("null-terminated-string", "utf-16le", ""))),
                 "goes past the end of the packet", 'a', 0, 0, 1);
}

static void test_blobs(void)
{
    ASSERT_READS2(
        FIELDS(MEMBER(
            "a",
            "{'type':'static-length-blob','length':3,'media-type':'image/"
            "png'}") "," MEMBER("n", VU) "," MEMBER("b", "{'type':'dynamic-length-blob',"
                                                         "'length-field-location':" AT("'n'") "}")),
        "0 e {a=(image/png)00ff10,n=2,b=(application/octet-stream)abcd};", 0, 0xff, 0x10, 2, 0xab,
        0xcd);
    ASSERT_FAILS(FIELDS(MEMBER("n", VU) "," MEMBER("b", "{'type':'dynamic-length-blob',"
                                                        "'length-field-location':" AT("'n'") "}")),
                 "goes past the end of the packet", 0xff, 0xff, 0xff, 0xff, 0x0f, 1);
}

#define OPTIONAL(path, more, class)                                                                \
    "{'type':'optional','selector-field-location':" AT(path) more ",'field-class':" class "}"

static void test_optionals(void)
{
#define BY_BOOLEAN                                                                                 \
    FIELDS(MEMBER("here", FIXED("boolean", "8", "")) "," MEMBER(                                   \
        "x", OPTIONAL("'here'", "", U8)) "," MEMBER("end", U8))
    ASSERT_READS2(BY_BOOLEAN, "0 e {here=true,x=5,end=6};0 e {here=false,end=7};", 1, 5, 6, 0, 7);
#define BY_RANGES                                                                                  \
    FIELDS(MEMBER("k", FIXED("signed-integer", "8", "")) "," MEMBER(                               \
        "x", OPTIONAL("'k'", ",'selector-field-ranges':[[-3,-1],[5,5]]",                           \
                      "{'type':'null-terminated-string'}")))
    ASSERT_READS2(BY_RANGES, "0 e {k=-1,x='a'};0 e {k=0};0 e {k=5,x=''};", 0xff, 'a', 0, 0, 5, 0);
}

#define OPTION(name, ranges, class)                                                                \
    "{'name':'" name "','selector-field-ranges':" ranges ",'field-class':" class "}"
#define VARIANT(path, options)                                                                     \
    "{'type':'variant','selector-field-location':" AT(path) ",'options':[" options "]}"

static void test_variants(void)
{
#define BY_NUMBER                                                                                  \
    FIELDS(MEMBER("k", VU) "," MEMBER(                                                             \
        "v", VARIANT("'k'", OPTION("a", "[[0,3],[9,9]]",                                           \
                                   U8) "," OPTION("b", "[[4,8],[300,18446744073709551615]]",       \
                                                  "{'type':'null-terminated-string'}"))))
    ASSERT_READS2(BY_NUMBER, "0 e {k=9,v=<a=1>};0 e {k=4,v=<b='x'>};0 e {k=300,v=<b=''>};", 9, 1, 4,
                  'x', 0, 0xac, 0x02, 0);
    ASSERT_FAILS(BY_NUMBER, "tag selects no option", 10, 1);
}

/* A length in whichever option was decoded; none if another was. */
static void test_lengths_in_options(void)
{
#define LENGTH_OPTION(name, range, more)                                                           \
    OPTION(name, range, "{'type':'structure','member-classes':[" MEMBER("len", U8) more "]}")
#define WITH_LENGTHS(third)                                                                        \
    FIELDS(MEMBER("k", U8) "," MEMBER(                                                             \
        "v",                                                                                       \
        VARIANT(                                                                                   \
            "'k'",                                                                                 \
            LENGTH_OPTION("a", "[[0,0]]", "") "," LENGTH_OPTION(                                   \
                "b", "[[1,1]]",                                                                    \
                "," MEMBER(                                                                        \
                    "more",                                                                        \
                    U8)))) "," MEMBER("d",                                                         \
                                      "{'type':'dynamic-length-array','element-field-class':" U8   \
                                      ",'length-field-location':" AT("'v','len'") "}"))
    ASSERT_READS2(WITH_LENGTHS(),
                  "0 e {k=0,v=<a={len=1}>,d=[8]};0 e {k=1,v=<b={len=2,more=0}>,d=[8,9]};", 0, 1, 8,
                  1, 2, 0, 8, 9);
#define IN_OPTIONAL                                                                                \
    FIELDS(MEMBER("here", FIXED("boolean", "8", "")) "," MEMBER(                                   \
        "n", OPTIONAL("'here'", "",                                                                \
                      U8)) "," MEMBER("d",                                                         \
                                      "{'type':'dynamic-length-array','element-field-class':" U8   \
                                      ",'length-field-location':" AT("'n'") "}"))
    ASSERT_READS2(IN_OPTIONAL, "0 e {here=true,n=2,d=[3,4]};", 1, 2, 3, 4);
    /* What the event before left behind does not count. */
    g_autofree char *metadata = spell(IN_OPTIONAL);
    g_autofree char *text = dump_bytes(metadata, BYTES(1, 1, 3, 0, 7));
    g_assert_true(g_str_has_prefix(text, "0 e {here=true,n=1,d=[3]};! "));
    g_assert_nonnull(strstr(text, "the length or tag of a field is missing"));
}

static void test_alignment(void)
{
    ASSERT_READS2(
        FIELDS(MEMBER("a", U8) "," MEMBER(
            "b",
            "{'type':'static-length-array','length':2,"
            "'minimum-alignment':32,'element-field-class':" U8
            "}") "," MEMBER("c",
                            "{'type':'structure','minimum-alignment':64,'member-classes':[" MEMBER(
                                "d",
                                U8) "]}") "," MEMBER("n",
                                                     U8) "," MEMBER("s",
                                                                    "{'type':'dynamic-length-array'"
                                                                    ",'minimum-alignment':32,"
                                                                    "'element-field-class':" VU
                                                                    ",'length-field-location':" AT(
                                                                        "'n'") "}")),
        "0 e {a=1,b=[2,3],c={d=4},n=1,s=[5]};", 1, 0, 0, 0, 2, 3, 0, 0, 4, 1, 0, 0, 5);
}

/* Times and ids of variable length: the clock takes as many bits as were written. */
static void test_header(void)
{
    ASSERT_READS2(PREAMBLE RS
                  "{'type':'clock-class','id':'c','name':'c','frequency':1000000000,'origin':'unix-"
                  "epoch'}\n" RS "{'type':'data-stream-class','default-clock-class-id':'c','event-"
                  "record-header-field-class':"
                  "{'type':'structure','member-classes':["
                  "{'name':'i','field-class':{'type':'variable-length-unsigned-integer',"
                  "'roles':['event-record-class-id']}},"
                  "{'name':'t','field-class':{'type':'variable-length-unsigned-integer',"
                  "'roles':['default-clock-timestamp']}}]}}\n" RS
                  "{'type':'event-record-class','id':200,'name':'far'}\n" RS
                  "{'type':'event-record-class','name':'near'}\n",
                  /* 300, then 5 in seven bits: 384 + 5; then 1 in fourteen: 16384 + 1. */
                  "300 far;389 near;16385 near;", 0xc8, 0x01, 0xac, 0x02, 0, 5, 0, 0x81, 0);
}

struct bound_fields {
    uint64_t have;
    int64_t big, here, extra;
    struct lull_text wide, again, blob, sized;
};

static const struct lull_binding bindings[] = {
    {(const char *const[]){"big", NULL}, LULL_BIND_INT, G_STRUCT_OFFSET(struct bound_fields, big)},
    {(const char *const[]){"here", NULL}, LULL_BIND_INT,
     G_STRUCT_OFFSET(struct bound_fields, here)},
    {(const char *const[]){"extra", NULL}, LULL_BIND_INT,
     G_STRUCT_OFFSET(struct bound_fields, extra)},
    {(const char *const[]){"wide", NULL}, LULL_BIND_TEXT,
     G_STRUCT_OFFSET(struct bound_fields, wide)},
    {(const char *const[]){"wide", NULL}, LULL_BIND_TEXT,
     G_STRUCT_OFFSET(struct bound_fields, again)},
    {(const char *const[]){"blob", NULL}, LULL_BIND_RAW,
     G_STRUCT_OFFSET(struct bound_fields, blob)},
    {(const char *const[]){"sized", NULL}, LULL_BIND_TEXT,
     G_STRUCT_OFFSET(struct bound_fields, sized)},
};

/* Bindings: the same values as the visitor's, and which of them were there. */
static void test_bindings(void)
{
    g_autofree char *metadata =
        spell(FIELDS(MEMBER("big", VU) "," MEMBER("here", FIXED("boolean", "8", "")) "," MEMBER(
            "extra",
            OPTIONAL("'here'", "",
                     VS)) "," MEMBER("wide",
                                     STRING8(
                                         "null-terminated-string", "utf-16le",
                                         "")) "," MEMBER("blob",
                                                         "{'type':'static-length-blob','length':"
                                                         "2}") "," MEMBER("sized",
                                                                          STRING8("static-length-"
                                                                                  "string",
                                                                                  "utf-32le",
                                                                                  ",'length':8"))));
    static const uint8_t bytes[] = {0xac, 2, 4, 0x7f, 0xe9, 0, 'x', 0, 0,   0, 1,   2,
                                    'q',  0, 0, 0,    0,    0, 0,   0, 7,   0, 'y', 0,
                                    0,    0, 3, 4,    'r',  0, 0,   0, 's', 0, 0,   0};
    g_autofree char *dir = new_directory();
    write_text(dir, "metadata", metadata);
    write_file(dir, "s", bytes, sizeof bytes);
    g_autoptr(GError) error = NULL;
    struct lull_session *session = lull_session_new();
    lull_session_add(session, dir, &error);
    g_assert_no_error(error);
    lull_session_subscribe(session, (const char *const[]){"e", NULL}, bindings,
                           G_N_ELEMENTS(bindings), sizeof(struct bound_fields));
    static const struct {
        uint64_t have;
        int64_t big, here, extra;
        const char *wide, *blob, *sized;
    } expected[] = {{0x7f, 300, 1, -1, "éx", "\1\2", "q"}, {0x7b, 7, 0, 0, "y", "\3\4", "rs"}};
    for (size_t i = 0; i < G_N_ELEMENTS(expected); i++) {
        struct lull_event event;
        g_assert_cmpint(lull_session_next(session, &event), ==, 1);
        const struct bound_fields *f = event.fields;
        g_assert_cmphex(f->have, ==, expected[i].have);
        g_assert_cmpint(f->big, ==, expected[i].big);
        g_assert_cmpint(f->here, ==, expected[i].here);
        g_assert_cmpint(f->extra, ==, expected[i].extra);
        g_assert_cmpmem(f->wide.data, f->wide.length, expected[i].wide, strlen(expected[i].wide));
        g_assert_cmpmem(f->again.data, f->again.length, expected[i].wide, strlen(expected[i].wide));
        g_assert_cmpmem(f->blob.data, f->blob.length, expected[i].blob, 2);
        g_assert_cmpmem(f->sized.data, f->sized.length, expected[i].sized,
                        strlen(expected[i].sized));
    }
    lull_session_free(session);
    remove_tree(dir);
}

/* Whatever the bytes are: no crash, and visiting and summing agree (dump_trace() checks). */
static void test_random_bytes(void)
{
    static const char *const metadata[] = {
        FIELDS(MEMBER("a", VU) "," MEMBER("b", VS) "," MEMBER("c", FIXED("boolean", "3", ""))),
        FIELDS(MEMBER("a", STRING8("null-terminated-string", "utf-16le", "")) "," MEMBER(
            "n", U8) "," MEMBER("e", STRING8("dynamic-length-string", "utf-32be",
                                             ",'length-field-location':" AT("'n'")))),
        FIELDS(MEMBER("n", VU) "," MEMBER("b", "{'type':'dynamic-length-blob',"
                                               "'length-field-location':" AT("'n'") "}")),
        FIELDS(MEMBER("n", VU) "," MEMBER(
            "s", "{'type':'dynamic-length-array','element-field-class':{'type':'structure',"
                 "'member-classes':[]},'length-field-location':" AT("'n'") "}")),
        BY_BOOLEAN,
        BY_RANGES,
        BY_NUMBER,
        WITH_LENGTHS(),
        IN_OPTIONAL,
    };
    for (uint32_t seed = 0; seed < 400; seed++) {
        g_autoptr(GRand) random = g_rand_new_with_seed(seed);
        uint8_t bytes[200];
        /* Small numbers make events that fit, large ones damage. */
        int32_t end = seed % 4 == 0 ? 256 : seed % 4 == 1 ? 130 : 4;
        for (size_t i = 0; i < sizeof bytes; i++) {
            bytes[i] = (uint8_t)g_rand_int_range(random, 0, end);
        }
        g_autofree char *spelled = spell(metadata[seed % G_N_ELEMENTS(metadata)]);
        g_autofree char *text = dump_bytes(spelled, bytes, 1 + seed % sizeof bytes);
        g_assert_nonnull(text);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/fields2/leb128", test_leb128);
    g_test_add_func("/fields2/bit-order", test_bit_order);
    g_test_add_func("/fields2/meanings", test_meanings);
    g_test_add_func("/fields2/strings", test_strings);
    g_test_add_func("/fields2/blobs", test_blobs);
    g_test_add_func("/fields2/optionals", test_optionals);
    g_test_add_func("/fields2/variants", test_variants);
    g_test_add_func("/fields2/lengths-in-options", test_lengths_in_options);
    g_test_add_func("/fields2/alignment", test_alignment);
    g_test_add_func("/fields2/header", test_header);
    g_test_add_func("/fields2/bindings", test_bindings);
    g_test_add_func("/fields2/random-bytes", test_random_bytes);
    return g_test_run();
}
