/* SPDX-License-Identifier: MIT */
/* One output trace: its directory, metadata and data streams. */
#include "ctf/writer/writer.h"

#include <string.h>

#include "ctf/writer/private.h"

static bool init_layouts(struct lull_ctf_writer *writer, GError **error)
{
    const struct lull_schema *schema = writer->plan->schema;
    writer->layouts = g_new0(struct lull_ctf_layout, MAX(schema->n_streams, 1));
    for (uint32_t i = 0; i < schema->n_streams; i++) {
        if (!lull_ctf_layout_init(&writer->layouts[i], schema, &writer->plan->streams[i], error)) {
            return false;
        }
    }
    return true;
}

static bool write_metadata(struct lull_ctf_writer *writer, const struct lull_ctf_writer_env *env,
                           GError **error)
{
    GString *text = lull_ctf_writer_metadata(writer->plan, writer->layouts, &writer->clock, env,
                                             writer->uuid, error);
    if (!text) {
        return false;
    }
    g_autofree char *path = g_build_filename(writer->dir, "metadata", NULL);
    bool is_ok = lull_ctf_append_file(path, text->str, text->len, error);
    g_string_free(text, TRUE);
    return is_ok;
}

struct lull_ctf_writer *lull_ctf_writer_new(const char *dir, const struct lull_ctf_plan *plan,
                                            const struct lull_ctf_writer_clock *clock,
                                            const struct lull_ctf_writer_env *env, GError **error)
{
    struct lull_ctf_writer *writer = g_new0(struct lull_ctf_writer, 1);
    writer->dir = g_strdup(dir);
    writer->plan = plan;
    writer->clock = *clock;
    writer->names = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    writer->streams = g_ptr_array_new_with_free_func(lull_ctf_out_stream_free);
    if (init_layouts(writer, error) && write_metadata(writer, env, error)) {
        return writer;
    }
    lull_ctf_writer_free(writer);
    return NULL;
}

void lull_ctf_writer_free(struct lull_ctf_writer *writer)
{
    if (!writer) {
        return;
    }
    g_ptr_array_unref(writer->streams);
    g_hash_table_unref(writer->names);
    g_free(writer->layouts);
    g_free(writer->dir);
    g_free(writer);
}

/* The file keeps its name, so that streams keep their order. */
char *lull_ctf_writer_file(struct lull_ctf_writer *writer, const char *input)
{
    g_autofree char *base = g_path_get_basename(input);
    char *name = g_strdup(base);
    for (unsigned n = 2; strcmp(name, "metadata") == 0 || strcmp(name, "index") == 0 ||
                         !g_hash_table_add(writer->names, g_strdup(name));
         n++) {
        g_free(name);
        name = g_strdup_printf("%s-%u", base, n);
    }
    char *path = g_build_filename(writer->dir, name, NULL);
    g_free(name);
    return path;
}
