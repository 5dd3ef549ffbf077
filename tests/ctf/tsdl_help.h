/* SPDX-License-Identifier: MIT */
/* What the tests of metadata share: parsing a text, and finding field classes by dotted names. */
#ifndef LULL_TESTS_CTF_TSDL_HELP_H
#define LULL_TESTS_CTF_TSDL_HELP_H

#include "ctf/metadata.h"

#include <lull/error.h>
#include <string.h>

#define TRACE_LE "trace { major = 1; minor = 8; byte_order = le; };\n"
#define UINTS                                                                                      \
    "typealias integer { size = 8; } := u8; typealias integer { size = 16; align = 16; } := u16;"  \
    "typealias integer { size = 32; align = 32; } := u32;"                                         \
    "typealias integer { size = 32; align = 32; signed = true; } := int;\n"
/* A text whose only event has these fields. */
#define FIELDS(body) TRACE_LE UINTS "event { name = \"e\"; fields := struct { " body " }; };"

static inline struct lull_schema *parse(const char *text, GError **error)
{
    return lull_metadata_parse("m", (const uint8_t *)text, strlen(text), error);
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
    return schema;
}

static inline const struct lull_fc *payload(const struct lull_schema *schema)
{
    return schema->streams[0].events[0].payload;
}

/* The member or option at a path; arrays and sequences are stepped through with "[]". */
static inline const struct lull_fc *at(const struct lull_fc *fc, const char *path)
{
    char **names = g_strsplit(path, ".", -1);
    for (char **name = names; *name; name++) {
        const struct lull_fc *next = NULL;
        if (strcmp(*name, "[]") == 0) {
            g_assert_true(fc->kind == LULL_FC_ARRAY || fc->kind == LULL_FC_SEQUENCE);
            next = fc->kind == LULL_FC_ARRAY ? fc->array.element : fc->sequence.element;
        } else {
            bool is_struct = fc->kind == LULL_FC_STRUCT;
            g_assert_true(is_struct || fc->kind == LULL_FC_VARIANT);
            uint32_t n = is_struct ? fc->structure.n_members : fc->variant.n_options;
            const struct lull_member *m = is_struct ? fc->structure.members : fc->variant.options;
            for (uint32_t i = 0; i < n && !next; i++) {
                next = strcmp(m[i].name, *name) == 0 ? m[i].fc : NULL;
            }
        }
        if (!next) {
            g_error("no %s in %s", *name, path);
        }
        fc = next;
    }
    g_strfreev(names);
    return fc;
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
    const char *text, *message;
};

/* Each text has to be refused with a message that holds the given words, after name and place. */
static inline void expect_failures(const struct failure *failures, size_t n, enum lull_error code)
{
    for (size_t i = 0; i < n; i++) {
        GError *error = NULL;
        struct lull_schema *schema = parse(failures[i].text, &error);
        if (schema) {
            g_error("accepted: %s", failures[i].text);
        }
        g_assert_error(error, LULL_ERROR, (gint)code);
        if (!strstr(error->message, failures[i].message) ||
            !g_str_has_prefix(error->message, "m: line ") || !strstr(error->message, "column")) {
            g_error("'%s' is not in '%s'", failures[i].message, error->message);
        }
        g_error_free(error);
    }
}

#endif
