/* SPDX-License-Identifier: MIT */
/* Metadata of a live trace: it grows, and what has come so far is parsed anew. Streams keep to what
 * they decode with until their next packet. */
#include "source/live/private.h"

#include "ctf/metadata.h"

struct live_schema *live_schema_new(const char *name, const GByteArray *text, GError **error)
{
    struct lull_schema *schema = lull_metadata_parse(name, text->data, text->len, error);
    if (!schema) {
        return NULL;
    }
    struct lull_ctf_plan *plan = lull_ctf_plan_new(schema, error);
    if (!plan) {
        lull_schema_free(schema);
        return NULL;
    }
    struct live_schema *live = g_new0(struct live_schema, 1);
    g_ref_count_init(&live->references);
    live->schema = schema;
    live->plan = plan;
    return live;
}

struct live_schema *live_schema_ref(struct live_schema *schema)
{
    g_ref_count_inc(&schema->references);
    return schema;
}

void live_schema_unref(struct live_schema *schema)
{
    if (!schema || !g_ref_count_dec(&schema->references)) {
        return;
    }
    lull_ctf_plan_free(schema->plan);
    lull_schema_free(schema->schema);
    g_free(schema);
}
