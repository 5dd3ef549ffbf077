/* SPDX-License-Identifier: MIT */
/* What the tests of CTF 2 metadata share: spelling fragments in C, parsing them, and looking at
 * what comes of it. */
#ifndef LULL_TESTS_CTF_CTF2_HELP_H
#define LULL_TESTS_CTF_CTF2_HELP_H

#include "ctf/metadata.h"

#include <lull/error.h>
#include <string.h>

/* Fragments are written one to a line with ' for " and ^ for the record separator. */
#define PREAMBLE "^{'type':'preamble','version':2}\n"
#define STREAM "^{'type':'data-stream-class'}\n"
#define EVENT(members)                                                                             \
    "^{'type':'event-record-class','payload-field-class':{'type':'structure','member-classes':"    \
    "[" members "]}}\n"
#define MEMBER(name, class) "{'name':'" name "','field-class':" class "}"
#define U(bits)                                                                                    \
    "{'type':'fixed-length-unsigned-integer','length':" bits ",'byte-order':'little-endian'}"
#define S(bits)                                                                                    \
    "{'type':'fixed-length-signed-integer','length':" bits ",'byte-order':'little-endian'}"
#define BOOLEAN "{'type':'fixed-length-boolean','length':8,'byte-order':'little-endian'}"
#define STRING "{'type':'null-terminated-string'}"
/* A payload with these members. */
#define FIELDS(members) PREAMBLE STREAM EVENT(members)
#define FIELD(class) FIELDS(MEMBER("f", class))
#define DYNAMIC(location)                                                                          \
    "{'type':'dynamic-length-array','element-field-class':" STRING                                 \
    ",'length-field-location':" location "}"
#define PATH(names) "{'path':[" names "]}"

static inline char *spell(const char *text)
{
    char *copy = g_strdup(text);
    for (char *c = copy; *c; c++) {
        *c = *c == '\'' ? '"' : *c == '^' ? '\x1e' : *c;
    }
    return copy;
}

static inline struct lull_schema *parse(const char *text, GError **error)
{
    char *spelled = spell(text);
    struct lull_schema *schema =
        lull_metadata_parse("m", (const uint8_t *)spelled, strlen(spelled), error);
    g_free(spelled);
    return schema;
}

static inline struct lull_schema *parse_ok(const char *text)
{
    GError *error = NULL;
    struct lull_schema *schema = parse(text, &error);
    if (error) {
        g_test_message("%s", text);
    }
    g_assert_no_error(error);
    g_assert_nonnull(schema);
    g_assert_cmpuint(schema->major, ==, 2);
    return schema;
}

static inline const struct lull_fc *member(const struct lull_fc *fc, uint32_t index)
{
    g_assert_cmpint(fc->kind, ==, LULL_FC_STRUCT);
    g_assert_cmpuint(index, <, fc->structure.n_members);
    return fc->structure.members[index].fc;
}

static inline const struct lull_fc *payload(const struct lull_schema *schema)
{
    return schema->streams[0].events[0].payload;
}

static inline void expect_path(const struct lull_fc_ref *ref, enum lull_scope scope,
                               const char *path)
{
    GString *text = g_string_new(NULL);
    for (uint32_t i = 0; i < ref->depth; i++) {
        g_string_append_printf(text, "%s%u", i ? " " : "", ref->path[i]);
    }
    g_assert_cmpint(ref->scope, ==, scope);
    g_assert_cmpstr(text->str, ==, path);
    g_string_free(text, TRUE);
}

struct failure {
    const char *text;
    const char *message; /* parts of it, separated by "|" */
};

static inline void expect_failure(const struct failure *failure, enum lull_error code)
{
    GError *error = NULL;
    struct lull_schema *schema = parse(failure->text, &error);
    if (schema) {
        g_error("accepted: %s", failure->text);
    }
    if (!g_error_matches(error, LULL_ERROR, (gint)code)) {
        g_error("%s: '%s'", failure->text, error ? error->message : "no error");
    }
    char **parts = g_strsplit(failure->message, "|", -1);
    for (char **part = parts; *part; part++) {
        if (!strstr(error->message, *part) || !g_str_has_prefix(error->message, "m: fragment ") ||
            !strstr(error->message, " at byte ")) {
            g_error("'%s' is not in '%s'", *part, error->message);
        }
    }
    g_strfreev(parts);
    g_error_free(error);
}

static inline void expect_failures(const struct failure *failures, size_t n, enum lull_error code)
{
    for (size_t i = 0; i < n; i++) {
        expect_failure(&failures[i], code);
    }
}

#endif
