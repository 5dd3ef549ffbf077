/* SPDX-License-Identifier: MIT */
/* Metadata of CTF 2: field locations (CTF2-SPEC-2.0, section 6.4.2), and everything that the
 * specification forbids, each with a message that names the place. */
#include "ctf2_help.h"

#define STRUCT(members) "{'type':'structure','member-classes':[" members "]}"
#define ARRAY(class) "{'type':'static-length-array','length':3,'element-field-class':" class "}"
#define OPTION(range, class) "{'selector-field-ranges':[[" range "]],'field-class':" class "}"
#define VARIANT(selector, options)                                                                 \
    "{'type':'variant','selector-field-location':" selector ",'options':[" options "]}"
#define LOCATION(origin, names) "{'origin':'" origin "','path':[" names "]}"
#define PAYLOAD(names) LOCATION("event-record-payload", names)

/* Examples 87, 88 and parents: what is around the referring field. */
static void test_paths(void)
{
    struct lull_schema *s =
        parse_ok(FIELDS(MEMBER("corn", U("32")) "," MEMBER(
            "nature",
            ARRAY(STRUCT(MEMBER(
                "laser",
                "{'type':'variable-length-unsigned-integer'"
                "}") "," MEMBER("a",
                                DYNAMIC(PATH(
                                    "'laser"
                                    "'"))) "," MEMBER("b",
                                                      DYNAMIC(PATH(
                                                          "null,'corn'"))) "," MEMBER("c",
                                                                                      DYNAMIC(
                                                                                          PATH(
                                                                                              "null,'nature','laser'"))) "," MEMBER("d", DYNAMIC(PAYLOAD("'nature','laser'"))) "," MEMBER("e",
                                                                                                                                                                                          STRUCT(
                                                                                                                                                                                              MEMBER("f", DYNAMIC(PATH("null,null,'corn'"))) "," MEMBER("g", DYNAMIC(PAYLOAD("'nature','e',null,'"
                                                                                                                                                                                                                                                                             "laser'")))))))) "," MEMBER("s",
                                                                                                                                                                                                                                                                                                         STRUCT(MEMBER("n", U("8")))) "," MEMBER("z",
                                                                                                                                                                                                                                                                                                                                                 DYNAMIC(PATH(
                                                                                                                                                                                                                                                                                                                                                     "'s','n'")))));
    const struct lull_fc *p = payload(s), *in = member(p, 1)->array.element;
    expect_path(&member(in, 1)->sequence.length, LULL_SCOPE_EVENT_PAYLOAD, "1 0");
    g_assert_true(member(in, 1)->sequence.length.target == member(in, 0));
    expect_path(&member(in, 2)->sequence.length, LULL_SCOPE_EVENT_PAYLOAD, "0");
    expect_path(&member(in, 3)->sequence.length, LULL_SCOPE_EVENT_PAYLOAD, "1 0");
    expect_path(&member(in, 4)->sequence.length, LULL_SCOPE_EVENT_PAYLOAD, "1 0");
    expect_path(&member(member(in, 5), 0)->sequence.length, LULL_SCOPE_EVENT_PAYLOAD, "0");
    expect_path(&member(member(in, 5), 1)->sequence.length, LULL_SCOPE_EVENT_PAYLOAD, "1 0");
    expect_path(&member(p, 3)->sequence.length, LULL_SCOPE_EVENT_PAYLOAD, "2 0");
    g_assert_null(member(p, 3)->sequence.length.next);
    lull_schema_free(s);
}

/* Examples 89, 90 and 91: options, around the referring field and before it. */
static void test_options(void)
{
    struct lull_schema *s = parse_ok(FIELDS(MEMBER("lawyer", S("16")) "," MEMBER(
        "clinic",
        VARIANT(PATH("'lawyer'"),
                OPTION("0,0", STRING) "," OPTION(
                    "1,4",
                    STRUCT(MEMBER("lemon", U("8")) "," MEMBER(
                        "joystick", DYNAMIC(PAYLOAD("'clinic','lemon'"))))) "," OPTION("5,5",
                                                                                       BOOLEAN))) "," MEMBER("glass",
                                                                                                             VARIANT(PATH("'lawyer'"), OPTION("0,0", U("8")) "," OPTION("1,1", U(
                                                                                                                                                                                   "16")) "," OPTION("-9,-1", "{'type':'variable-length-unsigned-integer'}"))) "," MEMBER("margin", DYNAMIC(PATH("'glass'"))) "," MEMBER("mug", VARIANT(PATH("'lawyer'"), OPTION("0,0", STRUCT(MEMBER("eagle", U("16")) "," MEMBER("road", STRING))) "," OPTION("32,172",
                                                                                                                                                                                                                                                                                                                                                                                                                                                STRUCT(MEMBER("nuance", STRING) "," MEMBER(
                                                                                                                                                                                                                                                                                                                                                                                                                                                    "eagle", U("24")))) "," OPTION("6,6",
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                   STRUCT(MEMBER("other", U(
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                              "24")))) "," OPTION("5,5", STRUCT(MEMBER("eagle",
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                       "{'type':'variable-length-unsigned-integer'}") "," MEMBER("lock",
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                 "{'type':'dynamic-length-blob','length-field-location':" PAYLOAD(
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                     "'mug','eagle'") "}"))))) "," MEMBER("rim",
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                          DYNAMIC(PAYLOAD(
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                              "'mug','eagle'")))));
    const struct lull_fc *p = payload(s);
    const struct lull_fc *lemon = member(p, 1)->variant.options[1].fc;
    expect_path(&member(lemon, 1)->sequence.length, LULL_SCOPE_EVENT_PAYLOAD, "1 1 0");
    g_assert_true(member(lemon, 1)->sequence.length.target == member(lemon, 0));
    const struct lull_fc_ref *ref = &member(p, 3)->sequence.length;
    expect_path(ref, LULL_SCOPE_EVENT_PAYLOAD, "2 0");
    expect_path(ref->next, LULL_SCOPE_EVENT_PAYLOAD, "2 1");
    expect_path(ref->next->next, LULL_SCOPE_EVENT_PAYLOAD, "2 2");
    g_assert_cmpuint(ref->next->target->integer.size, ==, 16);
    g_assert_null(ref->next->next->next);
    const struct lull_fc *lock = member(member(p, 4)->variant.options[3].fc, 1);
    expect_path(&lock->sequence.length, LULL_SCOPE_EVENT_PAYLOAD, "4 3 0");
    g_assert_null(lock->sequence.length.next);
    ref = &member(p, 5)->sequence.length;
    expect_path(ref, LULL_SCOPE_EVENT_PAYLOAD, "4 0 0");
    expect_path(ref->next, LULL_SCOPE_EVENT_PAYLOAD, "4 1 1");
    expect_path(ref->next->next, LULL_SCOPE_EVENT_PAYLOAD, "4 3 0");
    g_assert_null(ref->next->next->next);
    lull_schema_free(s);
}

/* Example 92: all origins, and one alias that means another field at each use. */
static void test_origins(void)
{
    struct lull_schema *s = parse_ok(
        PREAMBLE
        "^{'type':'field-class-alias','name':'own','field-class':" STRUCT(MEMBER("n", U("8")) "," MEMBER(
            "s",
            DYNAMIC(PATH(
                "'n'")))) "}"
                          "^{'type':'trace-class','packet-header-field-class':'own'}"
                          "^{'type':'data-stream-class','packet-context-field-class':'own',"
                          "'event-record-header-field-class':'own','event-record-common-context-"
                          "field-class':'own'}"
                          "^{'type':'event-record-class','specific-context-field-class':'own',"
                          "'payload-field-class':" STRUCT(
                              MEMBER("a", DYNAMIC(LOCATION("packet-header", "'n'"))) "," MEMBER("b", DYNAMIC(LOCATION("packet-context", "'n'"))) "," MEMBER(
                                  "c",
                                  DYNAMIC(LOCATION(
                                      "event-record-header",
                                      "'n'"))) "," MEMBER("d",
                                                          DYNAMIC(LOCATION(
                                                              "event-record-common-context",
                                                              "'n'"))) "," MEMBER("e",
                                                                                  DYNAMIC(LOCATION(
                                                                                      "event-"
                                                                                      "record-"
                                                                                      "specific-"
                                                                                      "context",
                                                                                      "'n'"))) "," MEMBER("f",
                                                                                                          "'own'")) "}");
    const struct lull_fc *p = payload(s);
    for (uint32_t i = 0; i < 5; i++) {
        expect_path(&member(p, i)->sequence.length, (enum lull_scope)i, "0");
    }
    g_assert_true(member(p, 4)->sequence.length.target ==
                  member(s->streams[0].events[0].context, 0));
    expect_path(&member(member(p, 5), 1)->sequence.length, LULL_SCOPE_EVENT_PAYLOAD, "5 0");
    expect_path(&member(s->packet_header, 1)->sequence.length, LULL_SCOPE_PACKET_HEADER, "0");
    lull_schema_free(s);
}

/* Bounds that an integer of the other sign cannot reach are not forbidden; they never hold. */
static void test_unreachable_bounds(void)
{
    struct lull_schema *s = parse_ok(FIELDS(MEMBER(
        "u",
        "{'type':'variable-length-unsigned-integer','"
        "mappings':{'x':[[-3,1],[-9,-4]],"
        "'y':[[18446744073709551615,18446744073709551615]]}"
        "}") "," MEMBER("s",
                        "{'type':'variable-"
                        "length-signed-"
                        "integer','mappings':"
                        "{'x':[[3,"
                        "18446744073709551615"
                        "],["
                        "9223372036854775808,"
                        "9223372036854775809]"
                        "]}}") "," MEMBER("v",
                                          VARIANT(
                                              PATH("'u"
                                                   "'"),
                                              OPTION("-5,-1", STRING) "," OPTION(
                                                  "0,"
                                                  "1",
                                                  U("8")))) "," MEMBER("o",
                                                                       "{'type':'optional','field-"
                                                                       "class':" STRING
                                                                       ",'selector-field-location'"
                                                                       ":" PATH(
                                                                           "'s'") ",'selector-"
                                                                                  "field-ranges':[["
                                                                                  "7,"
                                                                                  "1844674407370955"
                                                                                  "1615]]}")));
    const struct lull_fc *fc = member(payload(s), 0);
    g_assert_cmpuint(fc->integer.enumeration->n_ranges, ==, 2);
    g_assert_cmpstr(lull_fc_enum_label(fc, 0), ==, "x");
    g_assert_cmpstr(lull_fc_enum_label(fc, UINT64_MAX), ==, "y");
    g_assert_null(lull_fc_enum_label(fc, (uint64_t)-3));
    fc = member(payload(s), 1);
    g_assert_cmpuint(fc->integer.enumeration->n_ranges, ==, 1);
    g_assert_cmpstr(lull_fc_enum_label(fc, INT64_MAX), ==, "x");
    g_assert_null(lull_fc_enum_label(fc, (uint64_t)-1));
    fc = member(payload(s), 2);
    g_assert_cmpint(lull_fc_variant_option(fc, 1), ==, 1);
    g_assert_cmpint(lull_fc_variant_option(fc, (uint64_t)-1), ==, -1);
    fc = member(payload(s), 3);
    g_assert_true(lull_fc_optional_is_there(fc, 7) && lull_fc_optional_is_there(fc, INT64_MAX));
    g_assert_false(lull_fc_optional_is_there(fc, (uint64_t)-1) || lull_fc_optional_is_there(fc, 6));
    lull_schema_free(s);
}

static void test_bad_json(void)
{
    static const struct failure failures[] = {
        {"^", "there is nothing"},
        {"^ \n^{}", "fragment 1 at byte 3: bad JSON at byte 3: there is nothing"},
        {"{'type':'preamble','version':2}", "at byte 0: expected a record separator"},
        {"  ^{'type':'preamble','version':2}", "a record separator"},
        {PREAMBLE "^{'type':", "fragment 2 at byte 34|it ends in the middle"},
        {PREAMBLE "^{'type':'data-stream-class'} x", "there is something after its end"},
        {PREAMBLE "^{'type':'data-stream-class',}", "bad JSON"},
        {PREAMBLE "^{'type':'data-stream-class' /*c*/}", "bad JSON"},
        {PREAMBLE "^{'type':'data-stream-class','id':18446744073709551616}",
         "id: the integer does not fit in 64 bits"},
        {PREAMBLE "^{'type':'trace-class','environment':{'a':-9223372036854775809}}",
         "environment.a: the integer does not fit in 64 bits"},
        {PREAMBLE "^{'type':'data-stream-class','name':'\xff'}", "bad JSON"},
        {PREAMBLE "^7", "it ends in the middle"},
        {PREAMBLE "^[1]", "it is an array, not an object"},
        {PREAMBLE "^7 ", "it is an integer, not an object"},
        {PREAMBLE "^null\n", "it is null, not an object"},
    };
    expect_failures(failures, G_N_ELEMENTS(failures), LULL_ERROR_FORMAT);
}

static void test_bad_fragments(void)
{
#define CLOCK(more) PREAMBLE "^{'type':'clock-class','id':'c'" more "}" STREAM
    static const struct failure failures[] = {
        {STREAM, "the first fragment is not a preamble"},
        {PREAMBLE PREAMBLE STREAM, "fragment 2 at byte 34: a preamble that is not the first"},
        {PREAMBLE, "without a data stream class"},
        {"^{'type':'preamble'}", "property 'version' is missing"},
        {"^{'version':2}", "property 'type' is missing"},
        {"^{'type':'preamble','version':'2'}", "version: it is a text, not an integer"},
        {"^{'type':'preamble','version':2.0}", "version: it is a number that is not an integer"},
        {"^{'type':'preamble','version':2,'uuid':[1,2]}", "uuid: a UUID has 16 bytes, not 2"},
        {"^{'type':'preamble','version':2,'uuid':[0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,256]}",
         "uuid[15]: 256 is no byte"},
        {"^{'type':'preamble','version':2,'uuid':[0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,-1]}",
         "uuid[15]: it is negative"},
        {"^{'type':'preamble','version':2,'attributes':3}", "attributes: it is an integer"},
        {"^{'type':'preamble','version':2,'extensions':{'n':7}}", "extensions.n: it is an integer"},
        {PREAMBLE "^{'type':'piano'}", "type: 'piano'"},
        {PREAMBLE "^{'type':'data-stream-class','color':1}", "there is no property 'color' here"},
        {PREAMBLE "^{'type':'data-stream-class','name':1}", "name: it is an integer, not a text"},
        {PREAMBLE "^{'type':'data-stream-class','name':'a\\u0000b'}", "name: the text has a NUL"},
        {PREAMBLE "^{'type':'data-stream-class','id':-1}", "id: it is negative"},
        {PREAMBLE STREAM STREAM, "there is a data stream class 0 already"},
        {PREAMBLE "^{'type':'data-stream-class','extensions':{'my.tracer':{'piano':null}}}",
         "extensions.my.tracer: extension 'piano' is not declared"},
        {PREAMBLE "^{'type':'data-stream-class','default-clock-class-id':'c'}",
         "default-clock-class-id: there is no clock class 'c' before this"},
        {PREAMBLE STREAM "^{'type':'trace-class'}", "after a data stream class"},
        {PREAMBLE "^{'type':'trace-class'}^{'type':'trace-class'}" STREAM,
         "fragment 2 is a trace class already"},
        {PREAMBLE "^{'type':'trace-class','environment':{'a':[]}}",
         "environment.a: it is an array"},
        {PREAMBLE "^{'type':'event-record-class'}", "there is no data stream class 0 before this"},
        {PREAMBLE STREAM "^{'type':'event-record-class','data-stream-class-id':1}",
         "there is no data stream class 1 before this"},
        {PREAMBLE STREAM "^{'type':'event-record-class'}^{'type':'event-record-class'}",
         "data stream class 0 has an event record class 0 already"},
        {PREAMBLE STREAM "^{'type':'event-record-class','payload-field-class':" U("8") "}",
         "payload-field-class: it is not a structure"},
        {CLOCK(""), "property 'frequency' is missing"},
        {CLOCK(",'frequency':0"), "frequency: a clock of 0 Hz"},
        {CLOCK(",'frequency':1,'precision':-1"), "precision: it is negative"},
        {CLOCK(",'frequency':1,'accuracy':'x'"), "accuracy: it is a text"},
        {CLOCK(",'frequency':1,'origin':'unix'"), "origin: 'unix'"},
        {CLOCK(",'frequency':1,'origin':{'name':'n'}"), "origin: property 'uid' is missing"},
        {CLOCK(",'frequency':1,'origin':{'uid':'n'}"), "origin: property 'name' is missing"},
        {CLOCK(",'frequency':5,'offset-from-origin':{'cycles':5}"),
         "offset-from-origin.cycles: 5 cycles are a second or more at 5 Hz"},
        {CLOCK(",'frequency':5,'offset-from-origin':{'cycles':-1}"), "cycles: it is negative"},
        {CLOCK(",'frequency':1") "^{'type':'clock-class','id':'c','frequency':1}",
         "id: there is a clock class 'c' already"},
        {CLOCK(",'frequency':1,'name':'n','uid':'u'") "^{'type':'clock-class','id':'d','name':'n','"
                                                      "uid':'u','frequency':2}",
         "a clock of the same namespace, name and uid has another frequency"},
        {PREAMBLE "^{'type':'clock-class','frequency':1}", "property 'id' is missing"},
        {PREAMBLE "^{'type':'field-class-alias','name':'a','field-class':'a'}",
         "there is no field class alias 'a' before this"},
        {PREAMBLE "^{'type':'field-class-alias','name':'a','field-class':" U(
             "1") "}"
                  "^{'type':'field-class-alias','name':'a','field-class':" U("1") "}",
         "name: there is an alias 'a' already"},
    };
    expect_failures(failures, G_N_ELEMENTS(failures), LULL_ERROR_FORMAT);
    /* Two that differ in what does not make an identity. */
    lull_schema_free(parse_ok(
        CLOCK(",'frequency':1,'name':'n','uid':'u'") "^{'type':'clock-class','id':'d','name':'n','"
                                                     "uid':'u','namespace':'','frequency':2}"
                                                     "^{'type':'clock-class','id':'e','name':'n','"
                                                     "frequency':3}"));
}

static void test_bad_classes(void)
{
#define AT "payload-field-class.member-classes[0].field-class"
#define FIXED(type, rest) "{'type':'fixed-length-" type "'" rest "}"
#define LE ",'byte-order':'little-endian'"
    static const struct failure failures[] = {
        {FIELD("{}"), AT ": property 'type' is missing"},
        {FIELD("{'type':'piano'}"), AT ".type: there is no field class 'piano'"},
        {FIELD("null"), AT ": it is null"},
        {FIELD("'u8'"), AT ": there is no field class alias 'u8' before this"},
        {FIELDS("{'name':'a'}"), "member-classes[0]: property 'field-class' is missing"},
        {FIELDS("{'field-class':" U("8") "}"), "property 'name' is missing"},
        {FIELDS(MEMBER("a", U("8")) "," MEMBER("a", U("8"))),
         "member-classes[1].name: there is a member 'a' already"},
        {FIELD(FIXED("unsigned-integer", LE)), AT ": property 'length' is missing"},
        {FIELD(FIXED("unsigned-integer", ",'length':8")), "property 'byte-order' is missing"},
        {FIELD(U("0")), AT ".length: it is 0 bits"},
        {FIELD(U("-8")), AT ".length: it is negative"},
        {FIELD(FIXED("unsigned-integer", ",'length':8,'byte-order':'middle'")), "'middle'"},
        {FIELD(FIXED("bit-array", ",'length':8,'bit-order':'x'" LE)), "bit-order: 'x'"},
        {FIELD(FIXED("bit-array", ",'length':8,'alignment':3" LE)), "3 is not a power of two"},
        {FIELD(FIXED("bit-array", ",'length':8,'alignment':0" LE)), "0 is not a power of two"},
        {FIELD(FIXED("bit-array", ",'length':8,'roles':[]" LE)), "no property 'roles' here"},
        {FIELD(FIXED("bit-map", ",'length':8" LE)), "property 'flags' is missing"},
        {FIELD(FIXED("bit-map", ",'length':8,'flags':{}" LE)), "a bit map without a flag"},
        {FIELD(FIXED("signed-integer", ",'length':8,'roles':[]" LE)), "has no roles"},
        {FIELD(FIXED("unsigned-integer", ",'length':8,'roles':['x']" LE)),
         AT ".roles[0]: there is no role 'x'"},
        {FIELD(FIXED("unsigned-integer", ",'length':8,'roles':['metadata-stream-uuid']" LE)),
         "a field of this class cannot have it"},
        {FIELD(FIXED("unsigned-integer", ",'length':8,'preferred-display-base':7" LE)),
         "preferred-display-base: 7 is none of"},
        {FIELD(FIXED("unsigned-integer", ",'length':8,'mappings':{'a':[]}" LE)),
         AT ".mappings.a: there is no range"},
        {FIELD(FIXED("unsigned-integer", ",'length':8,'mappings':{'a':[[1]]}" LE)),
         "mappings.a[0]: a range has two bounds, not 1"},
        {FIELD(FIXED("unsigned-integer", ",'length':8,'mappings':{'a':[[2,1]]}" LE)),
         "the lower bound is above the upper one"},
        {FIELD(FIXED("floating-point-number", ",'length':80" LE)),
         "no floating point number of 80"},
        {FIELD("{'type':'null-terminated-string','encoding':'ascii'}"), "encoding: 'ascii'"},
        {FIELD("{'type':'static-length-string'}"), "property 'length' is missing"},
        {FIELD("{'type':'static-length-blob','length':3,'media-type':4}"), "media-type: it is an"},
        {FIELD("{'type':'static-length-blob','length':3,'roles':['metadata-stream-uuid']}"),
         "a UUID has 16 bytes, not 3"},
        {FIELD("{'type':'structure','minimum-alignment':12}"), "12 is not a power of two"},
        {FIELD("{'type':'static-length-array','length':3}"), "'element-field-class' is missing"},
        {FIELD(ARRAY("{'type':'x'}")), AT ".element-field-class.type: there is no field class 'x'"},
        {FIELD(VARIANT(PATH("'a'"), "")), AT ".options: a variant without an option"},
        {FIELDS(MEMBER("a", U("8")) "," MEMBER(
             "v", VARIANT(PATH("'a'"), OPTION("1,5", STRING) "," OPTION("0,0", STRING) "," OPTION(
                                           "5,9", STRING)))),
         "field-class.options: selector-field-ranges of options 0 and 2 intersect"},
        {FIELDS(MEMBER("a", U("8")) "," MEMBER(
             "v",
             VARIANT(PATH("'a'"), "{'selector-field-ranges':[[0,100],[1,1]],'field-class':" STRING
                                  "}," OPTION("50,50", STRING)))),
         "options 0 and 1 intersect"},
        {FIELDS(MEMBER("a", S("8")) "," MEMBER(
             "v", VARIANT(PATH("'a'"), OPTION("-2,-1", STRING) "," OPTION("-1,0", STRING)))),
         "options 0 and 1 intersect"},
        {FIELDS(MEMBER("a", U("8")) "," MEMBER(
             "v",
             VARIANT(PATH("'a'"),
                     "{'name':'n','selector-field-ranges':[[1,1]],'field-class':" STRING "},"
                     "{'name':'n','selector-field-ranges':[[2,2]],'field-class':" STRING "}"))),
         "options[1].name: there is an option 'n' already"},
        {FIELDS(MEMBER("a", U("8")) "," MEMBER("v",
                                               VARIANT(PATH("'a'"), "{'field-class':" STRING "}"))),
         "options[0]: property 'selector-field-ranges' is missing"},
    };
    expect_failures(failures, G_N_ELEMENTS(failures), LULL_ERROR_FORMAT);
}

static void test_bad_locations(void)
{
    static const struct failure failures[] = {
        {FIELD(DYNAMIC("{}")), "length-field-location: property 'path' is missing"},
        {FIELD(DYNAMIC(PATH(""))), "length-field-location.path: the path is empty"},
        {FIELD(DYNAMIC(PATH("'a',null"))), "path[1]: a path does not end with null"},
        {FIELD(DYNAMIC(PATH("3"))), "path[0]: it is an integer, not a text"},
        {FIELD(DYNAMIC(LOCATION("payload", "'a'"))), "origin: 'payload'"},
        {FIELD(DYNAMIC(PATH("'a'"))),
         "fragment 3 at byte 64: payload-field-class.member-classes[0].field-class."
         "length-field-location: 'a': there is no such field"},
        {FIELD(DYNAMIC(PATH("'f'"))), "'f': it is not before"},
        {FIELDS(MEMBER("f", DYNAMIC(PATH("'g'"))) "," MEMBER("g", U("8"))), "is not before"},
        {FIELD(DYNAMIC(PATH("null,'a'"))), "'null.a': no structure surrounds the root's"},
        {FIELD(DYNAMIC(LOCATION("packet-header", "'a'"))), "there is no such field"},
        {PREAMBLE "^{'type':'data-stream-class','packet-context-field-class':" STRUCT(
             MEMBER("f", DYNAMIC(LOCATION("event-record-header", "'a'")))) "}",
         "packet-context-field-class|is not before"},
        {FIELDS(MEMBER("a", STRING) "," MEMBER("f", DYNAMIC(PATH("'a'")))),
         "it is neither an integer nor a boolean"},
        {FIELDS(MEMBER("a", STRUCT("")) "," MEMBER("f", DYNAMIC(PATH("'a'")))),
         "it is neither an integer nor a boolean"},
        {FIELDS(MEMBER("a", U("8")) "," MEMBER("f", DYNAMIC(PATH("'a','b'")))),
         "is not a structure"},
        {FIELDS(MEMBER("a", ARRAY(STRUCT(MEMBER("n", U("8"))))) "," MEMBER(
             "f", DYNAMIC(PATH("'a','n'")))),
         "an array that does not hold"},
        {FIELDS(MEMBER("a", S("8")) "," MEMBER("f", DYNAMIC(PATH("'a'")))),
         "a length is an unsigned integer, not a signed one"},
        {FIELDS(MEMBER("a", BOOLEAN) "," MEMBER("f", DYNAMIC(PATH("'a'")))), "not a boolean"},
        {FIELDS(MEMBER("a", "{'type':'fixed-length-bit-array','length':8,'byte-order':"
                            "'big-endian'}") "," MEMBER("f", DYNAMIC(PATH("'a'")))),
         "a row of bits"},
        {FIELDS(MEMBER("a", BOOLEAN) "," MEMBER("v", VARIANT(PATH("'a'"), OPTION("1,1", STRING)))),
         "selector-field-location: a boolean cannot select"},
        {FIELDS(MEMBER("a", U("8")) "," MEMBER("o", "{'type':'optional','field-class':" STRING
                                                    ",'selector-field-location':" PATH("'a'") "}")),
         "property 'selector-field-ranges' is missing"},
        {FIELDS(MEMBER("a", BOOLEAN) "," MEMBER(
             "o", "{'type':'optional','field-class':" STRING
                  ",'selector-field-location':" PATH("'a'") ",'selector-field-ranges':[[1,1]]}")),
         "its selector is a boolean"},
        {FIELDS(MEMBER("a", U("8")) "," MEMBER(
             "v", VARIANT(PATH("'a'"), OPTION("1,1", U("8")) "," OPTION(
                                           "2,2", S("8")))) "," MEMBER("f", DYNAMIC(PATH("'v'")))),
         "is an unsigned integer in one place, a signed integer in another"},
        {FIELDS(MEMBER("a", U("8")) "," MEMBER(
             "v", VARIANT(PATH("'a'"), OPTION("1,1", U("8")) "," OPTION(
                                           "2,2", STRING))) "," MEMBER("f", DYNAMIC(PATH("'v'")))),
         "it is neither an integer nor a boolean"},
    };
    expect_failures(failures, G_N_ELEMENTS(failures), LULL_ERROR_FORMAT);
}

static void test_bad_roles(void)
{
#define HEADER(members)                                                                            \
    PREAMBLE "^{'type':'trace-class','packet-header-field-class':" STRUCT(members) "}" STREAM
#define MAGIC(bits)                                                                                \
    "{'type':'fixed-length-unsigned-integer','length':" bits ",'byte-order':'big-endian',"         \
    "'roles':['packet-magic-number']}"
    static const struct failure failures[] = {
        {HEADER(MEMBER("m", MAGIC("31"))), "magic number has 32 bits, not 31"},
        {HEADER(MEMBER("a", U("8")) "," MEMBER("m", MAGIC("32"))),
         "member-classes[1].field-class.roles: the packet's magic number is not the first field"},
        {HEADER(MEMBER("s", STRUCT(MEMBER("m", MAGIC("32"))))), "is not the first field"},
        {HEADER(MEMBER("m", "{'type':'variable-length-unsigned-integer',"
                            "'roles':['packet-magic-number']}")),
         "a fixed length of 32 bits"},
        {HEADER(MEMBER("u", "{'type':'static-length-blob','length':16,"
                            "'roles':['metadata-stream-uuid']}")),
         "but the preamble has none"},
        {PREAMBLE "^{'type':'data-stream-class','event-record-header-field-class':" STRUCT(
             MEMBER("t", "{'type':'variable-length-unsigned-integer',"
                         "'roles':['default-clock-timestamp']}")) "}",
         "event-record-header-field-class.member-classes[0].field-class.roles|has no clock"},
    };
    expect_failures(failures, G_N_ELEMENTS(failures), LULL_ERROR_FORMAT);
}

static void test_unsupported(void)
{
    static const struct failure failures[] = {
        {"^{'type':'preamble','version':3,'new':1}", "version: version 3 of CTF"},
        {"^{'type':'preamble','version':2,'extensions':{'my.tracer':{'piano':{'keys':88}}}}",
         "extensions.my.tracer: the metadata needs the extension 'piano'"},
        {FIELD(U("65")), "65 bits: at most 64"},
        {FIELD("{'type':'fixed-length-floating-point-number','length':192,'byte-order':"
               "'little-endian'}"),
         "floating point number of 192 bits"},
        {FIELD("{'type':'structure','minimum-alignment':4294967296}"), "alignment to 4294967296"},
    };
    expect_failures(failures, G_N_ELEMENTS(failures), LULL_ERROR_UNSUPPORTED);
}

/* Aliases that double at each step, deep nesting and long paths end in an error, soon. */
static void test_explosions(void)
{
    GString *text = g_string_new(PREAMBLE "^{'type':'field-class-alias','name':'a0',"
                                          "'field-class':" STRUCT("") "}");
    for (int i = 1; i < 60; i++) {
        g_string_append_printf(text,
                               "^{'type':'field-class-alias','name':'a%d','field-class':" STRUCT(
                                   MEMBER("x", "'a%d'") "," MEMBER("y", "'a%d'")) "}",
                               i, i - 1, i - 1);
    }
    expect_failure(&(struct failure){text->str, "more than 1000000 parts"}, LULL_ERROR_UNSUPPORTED);
    g_string_assign(text,
                    PREAMBLE STREAM "^{'type':'event-record-class','payload-field-class':" STRUCT(
                        MEMBER("n", U("8")) ",{'name':'f','field-class':"));
    g_string_truncate(text, text->len - 2);
    for (int i = 0; i < 65; i++) {
        g_string_append(text, "{'type':'structure','member-classes':[{'name':'s','field-class':");
    }
    g_string_append(text, U("8"));
    for (int i = 0; i < 65; i++) {
        g_string_append(text, "}]}");
    }
    g_string_append(text, "}]}}");
    expect_failure(&(struct failure){text->str, "nested more than 64 deep"},
                   LULL_ERROR_UNSUPPORTED);
    g_string_assign(text, PREAMBLE "^");
    for (int i = 0; i < 100000; i++) {
        g_string_append_c(text, '[');
    }
    expect_failure(&(struct failure){text->str, "bad JSON"}, LULL_ERROR_FORMAT);
    g_string_free(text, TRUE);
}

static const char everything[] =
    "^{'type':'preamble','version':2,'uuid':[0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15]}\n"
    "^{'type':'field-class-alias','name':'u8','field-class':" U(
        "8") "}\n"
             "^{'type':'trace-class','environment':{'a':'b','c':-3}}\n"
             "^{'type':'clock-class','id':'k','frequency':1000,'origin':{'name':'o','uid':'p'},"
             "'offset-from-origin':{'seconds':-1,'cycles':9}}\n"
             "^{'type':'data-stream-class','default-clock-class-id':'k','event-record-header-field-"
             "class':" STRUCT(MEMBER(
                 "t",
                 "{'type':'variable-length-unsigned-integer','roles':"
                 "['default-clock-timestamp']}")) "}\n" EVENT(MEMBER("a",
                                                                     "'u8'") "," MEMBER("d",
                                                                                        DYNAMIC(PAYLOAD(
                                                                                            "'a'"))) "," MEMBER("v",
                                                                                                                VARIANT(
                                                                                                                    PATH(
                                                                                                                        "'a'"),
                                                                                                                    OPTION("0,3", "'u8'") "," OPTION(
                                                                                                                        "4,4",
                                                                                                                        STRING))) "," MEMBER("m",
                                                                                                                                             "{'type':'fixed-length-bit-map','length':3,'byte-order':'big-endian',"
                                                                                                                                             "'flags':{'x':[[1,2]]}}") "," MEMBER("s",
                                                                                                                                                                                  STRUCT(MEMBER(
                                                                                                                                                                                      "o",
                                                                                                                                                                                      "{'type':'optional','field-class':'u8',"
                                                                                                                                                                                      "'selector-field-ranges':[[1,1]],'selector-field-location':" PATH(
                                                                                                                                                                                          "null,'a'") "}"))));

/* Cut anywhere, it is an error unless the cut is between two fragments and a stream was there. */
static void test_truncation(void)
{
    char *text = spell(everything);
    size_t size = strlen(text);
    unsigned n_whole = 0;
    for (size_t end = 1; end <= size; end++) {
        GError *error = NULL;
        uint8_t *exact = g_memdup2(text, end); /* so that reading behind the end is noticed */
        struct lull_schema *s = lull_metadata_parse("m", exact, end, &error);
        const char *last = g_strrstr_len(text, (gssize)end, "\x1e");
        bool is_whole =
            last == text + end - 1 || strncmp(text + end - 2, "}\n", 2) == 0 || text[end] == '\n';
        bool has_stream = g_strstr_len(text, (gssize)end, "data-stream-class") != NULL;
        g_assert_true((s != NULL) == (is_whole && has_stream));
        g_assert_true((!s) == (error != NULL));
        n_whole += s != NULL;
        g_clear_error(&error);
        lull_schema_free(s);
        g_free(exact);
    }
    g_assert_cmpuint(n_whole, ==, 5); /* } and LF of the last two, and a separator between */
    g_free(text);
}

/* Whatever a byte becomes: no crash, and an error or a schema. */
static void test_mutations(void)
{
    static const uint8_t values[] = {0, '"', '[', '{', '}', '0', '9', '-', ',', 0x1e, 0xff, 'a'};
    char *text = spell(everything);
    size_t size = strlen(text);
    for (size_t i = 0; i < size; i++) {
        for (size_t v = 0; v < G_N_ELEMENTS(values); v++) {
            GError *error = NULL;
            char old = text[i];
            text[i] = (char)values[v];
            struct lull_schema *s = lull_metadata_parse("m", (const uint8_t *)text, size, &error);
            g_assert_true((!s) == (error != NULL));
            g_clear_error(&error);
            lull_schema_free(s);
            text[i] = old;
        }
    }
    g_free(text);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/ctf2/location/paths", test_paths);
    g_test_add_func("/ctf2/location/options", test_options);
    g_test_add_func("/ctf2/location/origins", test_origins);
    g_test_add_func("/ctf2/unreachable-bounds", test_unreachable_bounds);
    g_test_add_func("/ctf2/refused/json", test_bad_json);
    g_test_add_func("/ctf2/refused/fragments", test_bad_fragments);
    g_test_add_func("/ctf2/refused/classes", test_bad_classes);
    g_test_add_func("/ctf2/refused/locations", test_bad_locations);
    g_test_add_func("/ctf2/refused/roles", test_bad_roles);
    g_test_add_func("/ctf2/refused/unsupported", test_unsupported);
    g_test_add_func("/ctf2/refused/explosions", test_explosions);
    g_test_add_func("/ctf2/truncation", test_truncation);
    g_test_add_func("/ctf2/mutations", test_mutations);
    return g_test_run();
}
