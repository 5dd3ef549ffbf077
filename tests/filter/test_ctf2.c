/* SPDX-License-Identifier: MIT */
/* Filters over the fields that only CTF 2 has, from bytes written by hand: integers of variable
 * length, booleans, optional fields, texts that are converted, arrays whose bytes are not values.
 */
#include <stddef.h>
#include <string.h>

#include "filter/filter.h"
#include "lib/scratch.h"

/* Written with ' for ". */
#define RS "\x1e"
#define FIXED(type, bits)                                                                          \
    "{'type':'fixed-length-" type "','length':" bits ",'byte-order':'big-endian'}"
#define U8 FIXED("unsigned-integer", "8")
#define FLAG FIXED("boolean", "8")
#define MEMBER(name, class) "{'name':'" name "','field-class':" class "}"
#define ARRAY(length, class)                                                                       \
    "{'type':'static-length-array','length':" length ",'element-field-class':" class "}"
#define TEXT(type, encoding, more) "{'type':'" type "','encoding':'" encoding "'" more "}"

static const char declaration[] =
    RS "{'type':'preamble','version':2}\n" RS "{'type':'data-stream-class'}\n" RS
       "{'type':'event-record-class','name':'e','payload-field-class':{'type':'structure',"
       "'member-classes':[" //
    MEMBER("id", U8) "," MEMBER("flag", FLAG) "," MEMBER(
        "opt",
        "{'type':'optional','selector-field-location':{'origin':'"
        "event-record-payload',"
        "'path':['flag']},'field-class':" U8
        "}") "," MEMBER("v",
                        "{'type':'variable-length-unsigned-integer'"
                        "}") "," MEMBER("s",
                                        "{'type':'"
                                        "variable-length-"
                                        "signed-integer'"
                                        "}") "," MEMBER("flags",
                                                        ARRAY(
                                                            "2",
                                                            FLAG)) "," MEMBER("words",
                                                                              ARRAY(
                                                                                  "2",
                                                                                  FIXED(
                                                                                      "unsigned-"
                                                                                      "integer",
                                                                                      "16"))) "," MEMBER("wide",
                                                                                                         TEXT(
                                                                                                             "null-terminated-string",
                                                                                                             "utf-16le",
                                                                                                             "")) "," MEMBER("fixed",
                                                                                                                             TEXT(
                                                                                                                                 "static-length-string",
                                                                                                                                 "utf-16be",
                                                                                                                                 ",'length':4")) "," MEMBER("blob",
                                                                                                                                                            "{'type':'static-length-blob','length':2}") "]}}\n";

static const uint8_t events[] = {
    /* id, flag, opt, v = 300, s = -2, flags, words, wide = "é", fixed = "ab", blob */
    1, 1, 7, 0xac, 2, 0x7e, 2, 0, 1, 2, 0, 3, 0xe9, 0, 0, 0, 0, 'a', 0, 'b', 9, 8, //
    /* no opt; v = 2^64 - 1, s = 0, wide = "", fixed = "z" */
    2, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 0, 0, 5, 0, 0, 0xff, 0xff, 0, 0,
    0, 'z', 0, 0, 0, 0, //
};

static void write_trace(const char *dir)
{
    g_autofree char *text = g_strdup(declaration);
    g_autofree char *metadata = g_build_filename(dir, "metadata", NULL);
    g_autofree char *stream = g_build_filename(dir, "stream", NULL);
    g_strdelimit(text, "'", '"');
    g_assert_true(g_file_set_contents(metadata, text, -1, NULL));
    g_assert_true(g_file_set_contents(stream, (const char *)events, sizeof events, NULL));
}

struct fields {
    uint64_t have;
    int64_t id;
};

/* The sum of the ids of the events that pass. */
static int64_t read_ids(struct lull_session *session, const char *expression)
{
    GError *error = NULL;
    int64_t ids = 0;
    struct lull_filter *filter = lull_filter_parse(expression, false, &error);
    g_assert_no_error(error);
    lull_filter_attach(filter, session);
    for (const struct lull_event *event; (event = lull_session_read(session));) {
        ids += ((const struct fields *)event->fields)->id;
    }
    return ids;
}

static void test_fields(void)
{
    static const char *const names[] = {"e", NULL};
    static const char *const paths[] = {"id", NULL};
    static const struct lull_binding id = {paths, LULL_BIND_INT, offsetof(struct fields, id)};
    static const struct {
        const char *expression;
        int64_t ids; /* 1, 2, or 3 for both */
    } cases[] = {
        {"true", 3},
        {"flag == true", 1},
        {"flag == 0", 2},
        {"opt == 7", 1},
        {"exists(opt)", 1},
        {"opt != 7", 0},
        {"!exists(opt)", 2},
        {"v == 300", 1},
        {"v == 18446744073709551615", 2},
        {"s == -2", 1},
        {"s >= 0", 2},
        {"flags[0] == true && flags[1] == false", 1},
        {"flags[1] == 1", 2},
        {"flags[2] == 0", 0},
        {"words[0] == 0x102 && words[1] == 3", 1},
        {"words[1] == 65535", 2},
        {"wide == 'é'", 1},
        {"wide =~ '?'", 1},
        {"wide == ''", 2},
        {"fixed == 'ab'", 1},
        {"fixed =~ 'z'", 2},
        {"fixed in ('ab', 'z')", 3},
        {"fixed[1] == 97", 0}, /* a text's code units are not elements */
        {"blob[0] == 9 && blob[1] == 8", 1},
        {"exists(blob)", 3},
        {"opt == 7 && v == 300 && wide == 'é' && fixed == 'ab' && flags[0] == 1", 1},
    };
    g_autofree char *dir = scratch_dir();
    GError *error = NULL;
    write_trace(dir);
    struct lull_session *session = lull_session_new();
    lull_session_add(session, dir, &error);
    g_assert_no_error(error);
    lull_session_subscribe(session, names, &id, 1, sizeof(struct fields));
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        int64_t ids = read_ids(session, cases[i].expression);
        if (ids != cases[i].ids) {
            g_error("%s: %d", cases[i].expression, (int)ids);
        }
    }
    g_assert_cmpuint(lull_session_problem_count(session), ==, 0);
    lull_session_free(session);
    scratch_remove(dir);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/filter/ctf2", test_fields);
    return g_test_run();
}
