/* SPDX-License-Identifier: MIT */
/* Metadata of CTF 2: what CTF2-SPEC-2.0 says of fragments and field classes, taken from its rules
 * and examples. */
#include "ctf2_help.h"

/* Section 5: the least metadata; the defaults of sections 5.8 and 5.9. */
static void test_least(void)
{
    struct lull_schema *s = parse_ok(PREAMBLE STREAM "^{'type':'event-record-class'}");
    g_assert_false(s->has_uuid);
    g_assert_null(s->packet_header);
    g_assert_cmpuint(s->n_clocks, ==, 0);
    g_assert_cmpuint(s->n_streams, ==, 1);
    g_assert_cmpuint(s->streams[0].id, ==, 0);
    g_assert_null(s->streams[0].clock);
    g_assert_null(s->streams[0].packet_context);
    g_assert_null(s->streams[0].event_header);
    g_assert_cmpuint(s->streams[0].n_events, ==, 1);
    g_assert_cmpuint(s->streams[0].events[0].id, ==, 0);
    g_assert_cmpstr(s->streams[0].events[0].name, ==, "");
    g_assert_cmpint(s->streams[0].events[0].loglevel, ==, -1);
    g_assert_null(s->streams[0].events[0].payload);
    lull_schema_free(s);
    /* RFC 7464: several separators in a row separate nothing. */
    lull_schema_free(parse_ok("^^" PREAMBLE "^" STREAM "^"));
}

/* Examples 69, 72 and 75 to 78; identities; order of ids; a clock's default. */
static void test_fragments(void)
{
    struct lull_schema *s = parse_ok(
        "^{'type':'preamble','version':2,'uuid':[229,62,10,184,80,161,79,10,183,16,181,240,187,"
        "169,196,172],'attributes':{'x':null}}"
        "^{'type':'trace-class','namespace':'n','name':'t','uid':'u',"
        "'environment':{'host':'h','n':-9223372036854775808}}"
        "^{'type':'clock-class','id':'a','namespace':'some-tracer','name':'hot','uid':'wheels.28',"
        "'frequency':18446744073709551615,'precision':100,'accuracy':1500,'description':'d',"
        "'origin':'unix-epoch','offset-from-origin':{'seconds':-18003,'cycles':11928547}}"
        "^{'type':'clock-class','id':'b','frequency':1,'uid':"
        "'7e41f662-27b6-45d5-8d9b-0504daa7b04a','origin':{'name':'o','uid':'60:57'}}"
        "^{'type':'clock-class','id':'c','frequency':1}"
        "^{'type':'data-stream-class','id':18446744073709551615,'default-clock-class-id':'b'}"
        "^{'type':'data-stream-class','id':3,'name':'s','uid':'v'}"
        "^{'type':'event-record-class','data-stream-class-id':3,'id':9,'name':'nine','uid':'e',"
        "'attributes':{'lttng.org,2009':{'log-level':'debug:line','emf-uri':'http://x'}}}"
        "^{'type':'event-record-class','data-stream-class-id':3,'id':4,'name':'four'}");
    static const uint8_t uuid[] = {229, 62, 10,  184, 80,  161, 79,  10,
                                   183, 16, 181, 240, 187, 169, 196, 172};
    g_assert_true(s->has_uuid);
    g_assert_cmpmem(s->uuid, 16, uuid, 16);
    g_assert_cmpstr(s->identity.name_space, ==, "n");
    g_assert_cmpstr(s->identity.name, ==, "t");
    g_assert_cmpstr(s->identity.uid, ==, "u");
    g_assert_cmpstr(lull_schema_env_text(s, "host"), ==, "h");
    g_assert_cmpint(lull_schema_env_number(s, "n", 0), ==, INT64_MIN);
    const struct lull_clock *c = s->clocks;
    g_assert_cmpuint(s->n_clocks, ==, 3);
    g_assert_cmpuint(c[0].frequency, ==, UINT64_MAX);
    g_assert_cmpint(c[0].offset_s, ==, -18003);
    g_assert_cmpuint(c[0].offset_cycles, ==, 11928547);
    g_assert_cmpuint(c[0].precision, ==, 100);
    g_assert_true(c[0].has_accuracy && c[0].is_absolute && !c[0].has_uuid);
    g_assert_cmpuint(c[0].accuracy, ==, 1500);
    g_assert_cmpint(c[0].origin, ==, LULL_ORIGIN_UNIX_EPOCH);
    g_assert_cmpstr(c[0].name, ==, "hot");
    g_assert_cmpstr(c[0].id, ==, "a");
    g_assert_cmpstr(c[0].identity.uid, ==, "wheels.28");
    g_assert_cmpint(c[1].origin, ==, LULL_ORIGIN_NAMED);
    g_assert_cmpstr(c[1].origin_identity.uid, ==, "60:57");
    g_assert_null(c[1].origin_identity.name_space);
    g_assert_true(c[1].has_uuid && c[1].uuid[0] == 0x7e && c[1].uuid[15] == 0x4a);
    g_assert_cmpint(c[2].origin, ==, LULL_ORIGIN_UNKNOWN);
    g_assert_false(c[2].has_accuracy || c[2].is_absolute);
    g_assert_cmpuint(s->n_streams, ==, 2);
    g_assert_cmpuint(s->streams[0].id, ==, 3);
    g_assert_cmpstr(s->streams[0].identity.name, ==, "s");
    g_assert_null(s->streams[0].clock);
    g_assert_cmpuint(s->streams[1].id, ==, UINT64_MAX);
    g_assert_true(s->streams[1].clock == &c[1]);
    g_assert_cmpuint(s->streams[0].n_events, ==, 2);
    g_assert_cmpstr(s->streams[0].events[0].name, ==, "four");
    g_assert_cmpstr(s->streams[0].events[1].uid, ==, "e");
    g_assert_cmpint(s->streams[0].events[1].loglevel, ==, 13);
    g_assert_cmpstr(s->streams[0].events[1].emf_uri, ==, "http://x");
    lull_schema_free(s);
}

/* Sections 5.3.4 to 5.3.10. */
static void test_numbers(void)
{
    struct lull_schema *s = parse_ok(FIELDS(MEMBER(
        "a",
        "{'type':'fixed-length-bit-array','length':48,'byte-order':'big-endian',"
        "'alignment':32}") "," MEMBER("b",
                                      "{'type':'fixed-length-bit-array','length':32,'byte-"
                                      "order':'little-endian',"
                                      "'bit-order':'last-to-first'}") "," MEMBER("c",
                                                                                 "{'type':'"
                                                                                 "fixed-"
                                                                                 "length-"
                                                                                 "bit-map','"
                                                                                 "length':"
                                                                                 "16,'byte-"
                                                                                 "order':'"
                                                                                 "big-"
                                                                                 "endian',"
                                                                                 "'bit-"
                                                                                 "order':'"
                                                                                 "last-to-"
                                                                                 "first','"
                                                                                 "flags':{'"
                                                                                 "shock':[["
                                                                                 "3,3]],'"
                                                                                 "cord':[[4,"
                                                                                 "4],[8,10]]"
                                                                                 "}}") "," MEMBER("d",
                                                                                                  BOOLEAN) "," MEMBER("e", "{'type':'fixed-length-signed-integer','length':32,'byte-order':'big-endian',"
                                                                                                                           "'bit-order':'first-to-last','preferred-display-base':16,'mappings':"
                                                                                                                           "{'banana':[[-27399,-1882],[8,199]],'orange':[[-1,43]]}}") "," MEMBER("f", "{'type':'fixed-length-floating-point-number','length':64,"
                                                                                                                                                                                                      "'byte-order':'big-endian','alignment':32}") "," MEMBER("g", "{'type':'variable-length-unsigned-integer','mappings':"
                                                                                                                                                                                                                                                                   "{'lime':[[18446744073709551615,18446744073709551615]]},'roles':[]}") "," MEMBER("h",
                                                                                                                                                                                                                                                                                                                                                    "{'type':'variable-length-signed-integer','preferred-display-base':8}")));
    const struct lull_fc *p = payload(s), *fc = member(p, 0);
    g_assert_cmpuint(p->alignment, ==, 32); /* the largest of its members' */
    g_assert_cmpint(fc->integer.meaning, ==, LULL_INT_BITS);
    g_assert_cmpuint(fc->integer.size, ==, 48);
    g_assert_cmpuint(fc->alignment, ==, 32);
    g_assert_true(fc->integer.is_big_endian && !fc->integer.is_bit_reversed);
    fc = member(p, 1);
    g_assert_true(!fc->integer.is_big_endian && fc->integer.is_bit_reversed);
    g_assert_cmpuint(fc->alignment, ==, 1);
    fc = member(p, 2);
    g_assert_cmpint(fc->integer.meaning, ==, LULL_INT_FLAGS);
    g_assert_false(fc->integer.is_bit_reversed);
    g_assert_cmpuint(fc->integer.enumeration->n_ranges, ==, 3);
    g_assert_cmpstr(fc->integer.enumeration->ranges[2].label, ==, "cord");
    g_assert_cmpuint(fc->integer.enumeration->ranges[2].upper, ==, 10);
    g_assert_null(lull_fc_enum_label(fc, 3)); /* bit 3, not the value 3 */
    g_assert_cmpint(member(p, 3)->integer.meaning, ==, LULL_INT_BOOLEAN);
    fc = member(p, 4);
    g_assert_true(fc->integer.is_signed && fc->integer.is_bit_reversed);
    g_assert_cmpuint(fc->integer.base, ==, 16);
    g_assert_cmpstr(lull_fc_enum_label(fc, (uint64_t)-1882), ==, "banana");
    g_assert_cmpstr(lull_fc_enum_label(fc, 7), ==, "orange");
    g_assert_null(lull_fc_enum_label(fc, (uint64_t)-2));
    fc = member(p, 5);
    g_assert_cmpint(fc->kind, ==, LULL_FC_FLOAT);
    g_assert_cmpuint(fc->floating.size, ==, 64);
    fc = member(p, 6);
    g_assert_cmpint(fc->kind, ==, LULL_FC_VARINT);
    g_assert_cmpuint(fc->alignment, ==, 8);
    g_assert_cmpuint(fc->integer.base, ==, 10);
    g_assert_cmpstr(lull_fc_enum_label(fc, UINT64_MAX), ==, "lime");
    fc = member(p, 7);
    g_assert_true(fc->kind == LULL_FC_VARINT && fc->integer.is_signed && fc->integer.base == 8);
    lull_schema_free(s);
}

/* Sections 5.3.11 to 5.3.17. */
static void test_texts(void)
{
    struct lull_schema *s = parse_ok(FIELDS(MEMBER("l", U("8")) "," MEMBER("a", STRING) "," MEMBER(
        "b",
        "{'type':'null-"
        "terminated-string'"
        ",'encoding':'utf-"
        "16le'}") "," MEMBER("c",
                             "{'type':'static-length-string','encoding':'utf-32be','length':"
                             "64}") "," MEMBER("d",
                                               "{'type':'dynamic-length-string','"
                                               "encoding':'utf-16be',"
                                               "'length-field-location':{'origin':'event-"
                                               "record-payload','path':['l']"
                                               "}}") "," MEMBER("e",
                                                                "{'type':'static-"
                                                                "length-blob','"
                                                                "length':511267,'"
                                                                "media-"
                                                                "type':'image/"
                                                                "tiff'}") "," MEMBER("f",
                                                                                     "{'type':'"
                                                                                     "dynamic-"
                                                                                     "length-blob',"
                                                                                     "'"
                                                                                     "length-field-"
                                                                                     "location'"
                                                                                     ":" PATH(
                                                                                         "'l'") "}") "," MEMBER("g",
                                                                                                                "{'type':'static-length-string','length':0}")));
    const struct lull_fc *p = payload(s), *fc = member(p, 1);
    g_assert_cmpuint(p->alignment, ==, 8);
    g_assert_cmpint(fc->kind, ==, LULL_FC_STRING);
    g_assert_cmpint(fc->string.encoding, ==, LULL_ENCODING_UTF8);
    g_assert_cmpint(member(p, 2)->string.encoding, ==, LULL_ENCODING_UTF16LE);
    fc = member(p, 3);
    g_assert_true(fc->kind == LULL_FC_ARRAY && fc->array.form == LULL_ARRAY_STRING);
    g_assert_cmpuint(fc->array.length, ==, 64);
    g_assert_cmpint(fc->array.element->integer.encoding, ==, LULL_ENCODING_UTF32BE);
    fc = member(p, 4);
    g_assert_true(fc->kind == LULL_FC_SEQUENCE && fc->sequence.form == LULL_ARRAY_STRING);
    g_assert_cmpint(fc->sequence.element->integer.encoding, ==, LULL_ENCODING_UTF16BE);
    expect_path(&fc->sequence.length, LULL_SCOPE_EVENT_PAYLOAD, "0");
    g_assert_true(fc->sequence.length.target == member(p, 0));
    fc = member(p, 5);
    g_assert_true(fc->kind == LULL_FC_ARRAY && fc->array.form == LULL_ARRAY_BLOB);
    g_assert_cmpstr(fc->array.media_type, ==, "image/tiff");
    g_assert_cmpuint(fc->array.length, ==, 511267);
    fc = member(p, 6);
    g_assert_true(fc->kind == LULL_FC_SEQUENCE && fc->sequence.form == LULL_ARRAY_BLOB);
    g_assert_cmpstr(fc->sequence.media_type, ==, "application/octet-stream");
    lull_schema_free(s);
}

/* Sections 5.3.18 to 5.3.23, 5.5 and 6.4.1: parts, aliases, alignment. */
static void test_compounds(void)
{
    struct lull_schema *s = parse_ok(PREAMBLE "^{'type':'field-class-alias','name':'u8','field-class':" U(
        "8") "}"
             "^{'type':'field-class-alias','name':'uint8','field-class':'u8'}" STREAM EVENT(
                 MEMBER("n", "'uint8'") "," MEMBER("ok", BOOLEAN) "," MEMBER(
                     "flags",
                     "{'type':'static-length-array','length':32,'minimum-alignment':32,"
                     "'element-field-class':'u8'}") "," MEMBER("o",
                                                               "{'type':'optional','"
                                                               "selector-field-location'"
                                                               ":" PATH(
                                                                   "'ok'") ",'field-class':"
                                                                           "{'type':'"
                                                                           "structure','"
                                                                           "minimum-"
                                                                           "alignment':64}"
                                                                           "}") "," MEMBER("r",
                                                                                           "{'"
                                                                                           "typ"
                                                                                           "e':"
                                                                                           "'op"
                                                                                           "tio"
                                                                                           "nal"
                                                                                           "','"
                                                                                           "sel"
                                                                                           "ect"
                                                                                           "or-"
                                                                                           "fie"
                                                                                           "ld-"
                                                                                           "loc"
                                                                                           "ati"
                                                                                           "on'"
                                                                                           ":" PATH(
                                                                                               "'n'") ","
                                                                                                      "'selector-field-ranges':[[1,3],[255,255]],'field-class':" STRING
                                                                                                      "}") "," MEMBER("v",
                                                                                                                      "{'type':'variant','selector-field-location':" PATH(
                                                                                                                          "'n'") ",'options':["
                                                                                                                                 "{'selector-field-ranges':[[5,7],[1,2],[6,9]],'field-class':'u8'},"
                                                                                                                                 "{'name':'juice','selector-field-ranges':[[3,4],[10,10]],'field-class':" STRING
                                                                                                                                 "}]}") "," MEMBER("d",
                                                                                                                                                   "{'type':'dynamic-length-array','minimum-alignment':16,'element-field-class':"
                                                                                                                                                   "{'type':'structure'},'length-field-location':" PATH(
                                                                                                                                                       "'n'") "}")));
    const struct lull_fc *p = payload(s), *fc = member(p, 2);
    /* An optional field has alignment 1, whatever is in it. */
    g_assert_cmpuint(p->alignment, ==, 32);
    g_assert_cmpuint(fc->alignment, ==, 32);
    g_assert_cmpuint(fc->array.element->alignment, ==, 1);
    fc = member(p, 3);
    g_assert_cmpint(fc->kind, ==, LULL_FC_OPTIONAL);
    g_assert_cmpuint(fc->alignment, ==, 1);
    g_assert_cmpuint(fc->optional.content->alignment, ==, 64);
    g_assert_null(fc->optional.ranges);
    g_assert_true(lull_fc_optional_is_there(fc, 2) && !lull_fc_optional_is_there(fc, 0));
    expect_path(&fc->optional.selector, LULL_SCOPE_EVENT_PAYLOAD, "1");
    fc = member(p, 4);
    g_assert_true(lull_fc_optional_is_there(fc, 255) && lull_fc_optional_is_there(fc, 1));
    g_assert_false(lull_fc_optional_is_there(fc, 4) || lull_fc_optional_is_there(fc, 0));
    fc = member(p, 5);
    static const int options[] = {-1, 0, 0, 1, 1, 0, 0, 0, 0, 0, 1, -1};
    for (uint64_t value = 0; value < G_N_ELEMENTS(options); value++) {
        g_assert_cmpint(lull_fc_variant_option(fc, value), ==, options[value]);
    }
    g_assert_cmpstr(fc->variant.options[0].name, ==, "");
    g_assert_cmpstr(fc->variant.options[1].name, ==, "juice");
    fc = member(p, 6);
    g_assert_cmpuint(fc->alignment, ==, 16);
    expect_path(&fc->sequence.length, LULL_SCOPE_EVENT_PAYLOAD, "0");
    lull_schema_free(s);
}

/* A signed selector: bounds below zero. */
static void test_signed_selector(void)
{
    struct lull_schema *s = parse_ok(FIELDS(MEMBER("n", S("16")) "," MEMBER(
        "o", "{'type':'optional','selector-field-location':" PATH(
                 "'n'") ",'selector-field-ranges':[[-12,-12],[-5,0],[15,35]],'field-class':" STRING
                        "}")));
    const struct lull_fc *fc = member(payload(s), 1);
    static const int64_t inside[] = {-12, -5, -1, 0, 15, 35}, outside[] = {-13, -11, -6, 1, 14, 36};
    for (size_t i = 0; i < G_N_ELEMENTS(inside); i++) {
        g_assert_true(lull_fc_optional_is_there(fc, (uint64_t)inside[i]));
    }
    for (size_t i = 0; i < G_N_ELEMENTS(outside); i++) {
        g_assert_false(lull_fc_optional_is_there(fc, (uint64_t)outside[i]));
    }
    lull_schema_free(s);
}

/* Sections 5.6.1 and 5.8.1; roles count where their scope knows them, and nowhere else. */
static void test_roles(void)
{
    struct lull_schema *s = parse_ok(
        "^{'type':'preamble','version':2,'uuid':[0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,255]}"
        "^{'type':'field-class-alias','name':'t','field-class':"
        "{'type':'variable-length-unsigned-integer','roles':['default-clock-timestamp']}}"
        "^{'type':'trace-class','packet-header-field-class':{'type':'structure','member-classes':["
        "{'name':'the magic!','field-class':{'type':'fixed-length-unsigned-integer','length':32,"
        "'byte-order':'little-endian','roles':['packet-magic-number']}},"
        "{'name':'u','field-class':{'type':'static-length-blob','length':16,"
        "'roles':['metadata-stream-uuid']}},"
        "{'name':'c','field-class':{'type':'variable-length-unsigned-integer',"
        "'roles':['data-stream-id','data-stream-class-id']}}]}}"
        "^{'type':'clock-class','id':'k','frequency':5}"
        "^{'type':'data-stream-class','default-clock-class-id':'k','packet-context-field-class':"
        "{'type':'structure','member-classes':[{'name':'b','field-class':'t'},"
        "{'name':'all','field-class':{'type':'fixed-length-unsigned-integer','length':64,"
        "'byte-order':'big-endian','roles':['packet-total-length','packet-content-length',"
        "'packet-end-default-clock-timestamp','discarded-event-record-counter-snapshot',"
        "'packet-sequence-number','event-record-class-id']}},"
        "{'name':'cpu_id','field-class':" U(
            "32") "}]},"
                  "'event-record-header-field-class':{'type':'structure','member-classes':["
                  "{'name':'t','field-class':'t'},{'name':'id','field-class':"
                  "{'type':'fixed-length-unsigned-integer','length':8,'byte-order':'big-endian',"
                  "'roles':['event-record-class-id']}}]}}" EVENT("{'name':'t','field-class':'t'}"));
    const struct lull_stream_decl *stream = &s->streams[0];
    g_assert_cmpuint(member(s->packet_header, 0)->roles, ==, LULL_ROLE_MAGIC);
    g_assert_cmpuint(member(s->packet_header, 1)->roles, ==, LULL_ROLE_METADATA_UUID);
    g_assert_cmpuint(member(s->packet_header, 2)->roles, ==,
                     LULL_ROLE_STREAM_ID | LULL_ROLE_STREAM_CLASS_ID);
    g_assert_cmpuint(member(stream->packet_context, 0)->roles, ==, LULL_ROLE_CLOCK);
    g_assert_true(member(stream->packet_context, 0)->integer.clock == &s->clocks[0]);
    g_assert_cmpuint(member(stream->packet_context, 1)->roles, ==,
                     LULL_ROLE_PACKET_SIZE | LULL_ROLE_CONTENT_SIZE | LULL_ROLE_CLOCK_END |
                         LULL_ROLE_DISCARDED | LULL_ROLE_SEQUENCE_NUMBER);
    g_assert_cmpuint(member(stream->packet_context, 2)->roles, ==, LULL_ROLE_CPU);
    g_assert_cmpuint(member(stream->event_header, 0)->roles, ==, LULL_ROLE_CLOCK);
    g_assert_cmpuint(member(stream->event_header, 1)->roles, ==, LULL_ROLE_EVENT_CLASS_ID);
    g_assert_cmpuint(member(payload(s), 0)->roles, ==, 0);
    g_assert_null(member(payload(s), 0)->integer.clock);
    g_assert_true(stream->clock == &s->clocks[0]);
    lull_schema_free(s);
}

/* In packets as LTTng writes metadata (CTF 1.8.3, section 7.1), cut within a fragment. */
static void test_packets(void)
{
    char *text = spell(PREAMBLE STREAM EVENT(MEMBER("f", U("8"))));
    size_t size = strlen(text), first = 30;
    GByteArray *bytes = g_byte_array_new();
    for (int i = 0; i < 2; i++) {
        size_t n = i ? size - first : first;
        uint32_t words[] = {UINT32_C(0x75d11d57),      1, 2, 3, 4, 0, (uint32_t)(37 + n) * 8,
                            (uint32_t)(37 + n + 3) * 8};
        uint8_t header[37] = {[35] = 2};
        for (size_t w = 0; w < G_N_ELEMENTS(words); w++) {
            uint32_t value = GUINT32_TO_BE(words[w]);
            memcpy(header + (w == 6 ? 24 : w == 7 ? 28 : w * 4), &value, sizeof value);
        }
        g_byte_array_append(bytes, header, sizeof header);
        g_byte_array_append(bytes, (const uint8_t *)text + (i ? first : 0), (guint)n);
        g_byte_array_append(bytes, (const uint8_t *)"\0\0\0", 3);
    }
    GError *error = NULL;
    struct lull_schema *s = lull_metadata_parse("m", bytes->data, bytes->len, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(member(payload(s), 0)->integer.size, ==, 8);
    lull_schema_free(s);
    g_byte_array_unref(bytes);
    g_free(text);
}

/* Metadata of CTF2-SPECRC-7.0 as Trace Compass's examples have it. */
static void test_release_candidate(void)
{
    struct lull_schema *s = parse_ok(
        PREAMBLE
        "^{'type':'trace-class','uuid':[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16]}"
        "^{'type':'clock-class','name':'monotonic','frequency':1000,'uuid':[1],"
        "'offset-from-origin':{'seconds':7}}"
        "^{'type':'data-stream-class','default-clock-class-name':'monotonic'}"
        "^{'type':'event-record-class','user-attributes':{'x':1},'payload-field-class':"
        "{'type':'structure','member-classes':[{'name':'tag','field-class':"
        "{'type':'fixed-length-signed-enumeration','length':8,'byte-order':'big-endian',"
        "'mappings':{'A':[[1,1]]}}},"
        "{'name':'v','field-class':{'type':'variant','selector-field-location':"
        "['event-record-payload','tag'],'options':[{'name':'A','selector-field-ranges':[[1,1]],"
        "'field-class':" STRING "}]}}]}}");
    const struct lull_fc *p = payload(s);
    g_assert_true(s->streams[0].clock == &s->clocks[0]);
    g_assert_cmpint(s->clocks[0].origin, ==, LULL_ORIGIN_UNIX_EPOCH);
    g_assert_cmpint(s->clocks[0].offset_s, ==, 7);
    g_assert_cmpstr(lull_fc_enum_label(member(p, 0), 1), ==, "A");
    g_assert_cmpint(lull_fc_variant_option(member(p, 1), 1), ==, 0);
    lull_schema_free(s);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/ctf2/least", test_least);
    g_test_add_func("/ctf2/fragments", test_fragments);
    g_test_add_func("/ctf2/numbers", test_numbers);
    g_test_add_func("/ctf2/texts", test_texts);
    g_test_add_func("/ctf2/compounds", test_compounds);
    g_test_add_func("/ctf2/signed-selector", test_signed_selector);
    g_test_add_func("/ctf2/roles", test_roles);
    g_test_add_func("/ctf2/packets", test_packets);
    g_test_add_func("/ctf2/release-candidate", test_release_candidate);
    return g_test_run();
}
