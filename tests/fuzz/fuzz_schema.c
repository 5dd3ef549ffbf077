/* SPDX-License-Identifier: MIT */
/* A schema of hostile metadata, used in every way that needs no data. */
#include "fuzz/fuzz_schema.h"

#include <string.h>

#include "ctf/plan/fields.h"
#include "ctf/metadata.h"
#include "ctf/writer/writer.h"

static void see_field(void *user, const struct lull_field_info *field)
{
    *(size_t *)user += strlen(field->path);
}

static void list_fields(const struct lull_schema *schema)
{
    size_t seen = 0;
    for (uint32_t i = 0; i < schema->n_streams; i++) {
        for (uint32_t e = 0; e < schema->streams[i].n_events; e++) {
            lull_ctf_each_field(&schema->streams[i], &schema->streams[i].events[e], see_field,
                                &seen);
        }
    }
    __asm__ volatile("" : : "r"(seen));
}

/* What was read must be written so that it can be read. */
static void write_again(const struct lull_ctf_plan *plan)
{
    static const struct lull_ctf_writer_clock clock;
    static const struct lull_ctf_writer_env env[] = {{"tracer_name", "fuzz"}, {NULL, NULL}};
    const struct lull_schema *schema = plan->schema;
    g_autofree struct lull_ctf_layout *layouts =
        g_new0(struct lull_ctf_layout, MAX(schema->n_streams, 1));
    g_autoptr(GError) error = NULL;
    uint8_t uuid[16];
    for (uint32_t i = 0; i < schema->n_streams; i++) {
        if (!lull_ctf_layout_init(&layouts[i], schema, &plan->streams[i], &error)) {
            return;
        }
    }
    GString *text = lull_ctf_writer_metadata(plan, layouts, &clock, env, uuid, &error);
    if (!text) {
        return;
    }
    struct lull_schema *again =
        lull_metadata_parse("again", (const uint8_t *)text->str, text->len, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(again->n_streams, ==, MAX(schema->n_streams, 1)); /* CTF 2 wants one */
    for (uint32_t i = 0; i < schema->n_streams; i++) {
        g_assert_cmpuint(again->streams[i].n_events, ==, schema->streams[i].n_events);
    }
    lull_schema_free(again);
    g_string_free(text, TRUE);
}

static const struct lull_binding bindings[] = {
    {(const char *const[]){"a", "tid", NULL}, LULL_BIND_INT, 8},
    {(const char *const[]){"b", "name", NULL}, LULL_BIND_TEXT, 16},
    {(const char *const[]){"c", "list", "deep", NULL}, LULL_BIND_RAW, 32},
    {(const char *const[]){"ratio", "choice.small", "i", NULL}, LULL_BIND_REAL, 48},
};

static void compile(struct lull_ctf_plan *plan)
{
    for (uint32_t i = 0; i < plan->schema->n_streams; i++) {
        for (uint32_t e = 0; e < plan->schema->streams[i].n_events; e++) {
            lull_ctf_plan_subscribe(plan, &plan->streams[i], e, 0, bindings, G_N_ELEMENTS(bindings),
                                    56, NULL);
        }
    }
    lull_ctf_plan_load_all(plan);
}

static void must_say_why(GError *error)
{
    g_assert_nonnull(error);
    g_assert_cmpuint(strlen(error->message), >, 0);
    g_error_free(error);
}

void fuzz_schema_try(struct lull_schema *schema, GError *error)
{
    if (!schema) {
        must_say_why(error);
        return;
    }
    struct lull_ctf_plan *plan = lull_ctf_plan_new(schema, &error);
    if (plan) {
        list_fields(schema);
        write_again(plan);
        compile(plan);
        lull_ctf_plan_free(plan);
    } else {
        must_say_why(error);
    }
    lull_schema_free(schema);
}
