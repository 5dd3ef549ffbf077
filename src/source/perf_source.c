/* perf.data as a source: what perf recorded is brought into the form of a CTF trace once, when it
 * is opened, in a temporary file without a name; the reader of CTF does the rest. So everything
 * that works with CTF works with perf.data: filters, layouts, counting by threads, export. */
#include "source/perf_source.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "source/perf.h"

static void file_clear(struct perf_file *file)
{
    if (file->fd >= 0)
        close(file->fd);
    g_ptr_array_unref(file->attrs);
    g_hash_table_unref(file->by_id);
    lull_formats_free(file->formats);
    perf_machine_clear(&file->machine);
    perf_order_free(file->order);
    perf_names_free(file->names);
    lull_spool_unref(file->spool);
}

static bool file_open(struct perf_file *file, GError **error)
{
    struct stat st;
    file->fd = open(file->path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (file->fd < 0 || fstat(file->fd, &st) != 0) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_IO, "%s: %s", file->path, g_strerror(errno));
        return false;
    }
    file->size = (uint64_t)st.st_size;
    posix_fadvise(file->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
    file->spool = lull_spool_new(error);
    return file->spool != NULL;
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

struct lull_source *lull_perf_source_open(const char *path, const struct lull_report *report,
                                          GError **error)
{
    struct perf_file file = {.path = path, .report = report, .fd = -1, .start_ns = UINT64_MAX};
    struct lull_source *source = NULL;
    file.attrs = g_ptr_array_new_with_free_func(perf_attr_free);
    file.by_id = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
    file.order = perf_order_new();
    file.names = perf_names_new();
    if (file_open(&file, error) && perf_file_read(&file, error)) {
        if (lull_spool_finish(file.spool, error))
            source = make_source(&file, error);
        else
            g_prefix_error(error, "%s: ", path);
    }
    file_clear(&file);
    return source;
}
