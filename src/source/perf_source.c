/* perf.data as a source: what perf recorded is brought into the form of a CTF trace once, when it
 * is opened, in a temporary file without a name; the reader of CTF does the rest. So everything
 * that works with CTF works with perf.data: filters, layouts, counting by threads, export. */
#include "source/file_kinds.h"
#include "source/perf.h"

static void file_clear(struct perf_file *file)
{
    file->bytes->ops->free(file->bytes);
    g_ptr_array_unref(file->attrs);
    g_hash_table_unref(file->by_id);
    lull_formats_free(file->formats);
    perf_machine_clear(&file->machine);
    perf_order_free(file->order);
    perf_names_free(file->names);
    lull_spool_unref(file->spool);
}

static struct lull_source *make_source(struct perf_file *file, GError **error)
{
    g_autofree char *metadata = perf_metadata(file);
    struct lull_source *source =
        lull_ctf_source_of(file->path, metadata, file->spool, file->report, error);
    if (source != NULL) {
        source->info.format = file->is_pipe ? "perf.data (pipe)" : "perf.data";
        source->info.size_bytes = file->size;
    }
    return source;
}

static struct lull_source *convert(struct perf_file *file, GError **error)
{
    file->spool = lull_spool_new(error);
    if (file->spool == NULL || !perf_file_read(file, error))
        return NULL;
    if (!lull_spool_finish(file->spool, error)) {
        g_prefix_error(error, "%s: ", file->path);
        return NULL;
    }
    return make_source(file, error);
}

struct lull_source *lull_perf_source_open(struct lull_place *place,
                                          const struct lull_report *report, GError **error)
{
    g_autofree char *path = g_build_filename(place->path, place->file, NULL);
    struct perf_file file = {.path = path, .report = report, .start_ns = UINT64_MAX};
    struct lull_source *source = NULL;
    if (lull_place_bytes(place, place->file, &file.bytes, &file.size, error) != LULL_PLACE_FILE)
        return NULL;
    file.attrs = g_ptr_array_new_with_free_func(perf_attr_free);
    file.by_id = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
    file.order = perf_order_new();
    file.names = perf_names_new();
    const char *why = file.bytes->ops->open(file.bytes);
    if (why != NULL) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_IO, "%s: %s", path, why);
    } else {
        source = convert(&file, error);
        file.bytes->ops->close(file.bytes);
    }
    file_clear(&file);
    return source;
}
