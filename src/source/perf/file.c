/* SPDX-License-Identifier: MIT */
/* The parts of a perf.data: its header with the events that were recorded, features of the machine,
 * and where the records are (Linux, tools/perf/Documentation/perf.data-file-format.txt). */
#include "source/perf/perf.h"

#include <string.h>
#include <unistd.h>

/* Sections of the header that are read as a whole: formats of all events are some 5 MiB. */
#define SECTION_MOST (UINT64_C(256) << 20)
#define ENTRY_MOST (UINT64_C(64) << 10)
#define PIPE_HEADER 16u
#define FILE_HEADER 104u
#define SECTION_BYTES 16u
#define N_FEATURES 256u

struct section {
    uint64_t offset, size;
};

bool perf_bytes_read(struct lull_bytes *bytes, uint64_t offset, void *to, uint64_t size)
{
    uint8_t *p = to;
    while (size > 0) {
        const char *why;
        uint64_t n = bytes->ops->read(bytes, offset, p, size, &why);
        if (n == 0) {
            return false;
        }
        p += n;
        offset += n;
        size -= n;
    }
    return true;
}

static bool read_at(const struct perf_file *file, uint64_t offset, void *to, uint64_t size)
{
    return offset <= file->size && size <= file->size - offset &&
           perf_bytes_read(file->bytes, offset, to, size);
}

/* Free with g_free(); NULL if it is not in the file. */
static uint8_t *read_section(const struct perf_file *file, struct section section)
{
    if (section.size > SECTION_MOST || section.size > file->size) {
        return NULL;
    }
    uint8_t *data = g_try_malloc(MAX(section.size, 1));
    if (data && !read_at(file, section.offset, data, section.size)) {
        g_clear_pointer(&data, g_free);
    }
    return data;
}

static struct section section_at(const struct perf_file *file, const uint8_t *p)
{
    return (struct section){perf_u64(file, p), perf_u64(file, p + 8)};
}

/* ---- files that end too early ---- */

#define NOT_WHOLE                                                                                  \
    "%s: byte %" G_GUINT64_FORMAT ": the file ends here, but %s to byte %" G_GUINT64_FORMAT        \
    ": it was cut short; "

static void fail_cut(const struct perf_file *file, const char *what, uint64_t end, GError **error)
{
    g_set_error(error, LULL_ERROR, LULL_ERROR_FORMAT, NOT_WHOLE "copy it again, or record again",
                file->path, file->size, what, end);
}

/* What stands at the end of a file that is not there is said once. */
static void report_cut(struct perf_file *file, const char *what, uint64_t end)
{
    if (!file->is_cut) {
        lull_report_problem(file->report,
                            NOT_WHOLE "Lull reads what is there, but what perf writes last, such "
                                      "as the names and fields of tracepoints, is missing; copy "
                                      "the file again",
                            file->path, file->size, what, end);
    }
    file->is_cut = true;
}

static bool is_beyond(const struct perf_file *file, struct section section)
{
    return section.offset > file->size || section.size > file->size - section.offset;
}

static uint64_t end_of(struct section section)
{
    uint64_t end;
    return __builtin_add_overflow(section.offset, section.size, &end) ? UINT64_MAX : end;
}

/* ---- attrs ---- */

static void take_ids(struct perf_file *file, struct perf_attr *attr, struct section ids)
{
    g_autofree uint8_t *data = read_section(file, ids);
    if (!data) {
        lull_report_problem(file->report,
                            "%s: byte %" G_GUINT64_FORMAT
                            ": the ids of an event lie outside the file",
                            file->path, ids.offset);
        return;
    }
    for (uint64_t i = 0; i + 8 <= ids.size; i += 8) {
        perf_attr_own_id(file, attr, perf_u64(file, data + i));
    }
}

static bool take_attrs(struct perf_file *file, struct section section, uint64_t entry,
                       GError **error)
{
    g_autofree uint8_t *data = read_section(file, section);
    if (!data && is_beyond(file, section)) {
        fail_cut(file, "its list of events goes", end_of(section), error);
        return false;
    }
    if (!data || entry < SECTION_BYTES || entry > ENTRY_MOST || section.size < entry) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_FORMAT,
                    "%s: byte %" G_GUINT64_FORMAT ": its list of events (%" G_GUINT64_FORMAT
                    " bytes, each %" G_GUINT64_FORMAT ") cannot be read",
                    file->path, section.offset, section.size, entry);
        return false;
    }
    for (uint64_t i = 0; section.size - i >= entry; i += entry) {
        uint32_t size = (uint32_t)(entry - SECTION_BYTES);
        struct perf_attr *attr = perf_attr_add(file, data + i, size);
        if (attr) {
            take_ids(file, attr, section_at(file, data + i + size));
        }
    }
    return true;
}

/* ---- features ---- */

static void take_feature(struct perf_file *file, unsigned feature, struct section section)
{
    g_autofree uint8_t *data = read_section(file, section);
    if (data) {
        perf_feature_take(file, feature, data, section.size);
    } else if (is_beyond(file, section)) {
        report_cut(file, "what its header lists goes", end_of(section));
    } else {
        lull_report_problem(
            file->report, "%s: byte %" G_GUINT64_FORMAT ": feature %u of the header cannot be read",
            file->path, section.offset, feature);
    }
}

/* Where each feature is follows the data, by the bits of the header. */
static void take_features(struct perf_file *file, const uint8_t *bits, uint64_t offset)
{
    for (unsigned i = 0; i < N_FEATURES; i++) {
        uint8_t entry[SECTION_BYTES];
        if (!((perf_u64(file, bits + i / 64 * 8) >> (i % 64)) & 1)) {
            continue;
        }
        if (!read_at(file, offset, entry, sizeof entry)) {
            report_cut(file, "the list of what follows its records goes", offset + sizeof entry);
            return;
        }
        take_feature(file, i, section_at(file, entry));
        offset += SECTION_BYTES;
    }
}

/* ---- the file ---- */

/* Finds out which kind of file it is, and where its records are. */
static bool take_header(struct perf_file *file, struct section *data, GError **error)
{
    uint8_t header[FILE_HEADER];
    if (!read_at(file, 0, header, PIPE_HEADER)) {
        fail_cut(file, "its header goes", FILE_HEADER, error);
        return false;
    }
    file->is_big_endian = memcmp(header, "2ELIFREP", 8) == 0; /* a number: "PERFILE2", swapped */
    file->is_pipe = perf_u64(file, header + 8) == PIPE_HEADER;
    *data = (struct section){PIPE_HEADER, file->size - PIPE_HEADER};
    if (file->is_pipe) {
        return true;
    }
    if (file->size < FILE_HEADER) {
        fail_cut(file, "its header goes", FILE_HEADER, error);
        return false;
    }
    if (perf_u64(file, header + 8) < FILE_HEADER || !read_at(file, 0, header, FILE_HEADER)) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_FORMAT,
                    "%s: byte 8: the header has an impossible size", file->path);
        return false;
    }
    *data = section_at(file, header + 40);
    if (!take_attrs(file, section_at(file, header + 24), perf_u64(file, header + 16), error)) {
        return false;
    }
    if (data->size == 0 && data->offset <= file->size) {
        lull_report_problem(file->report,
                            "%s: byte 48: the recording was not finished: perf record still runs, "
                            "or was killed; Lull reads what is there, but what perf writes last, "
                            "such as the names and fields of tracepoints, is missing; end perf "
                            "with SIGINT",
                            file->path);
        file->is_cut = true;
    } else if (is_beyond(file, *data)) {
        report_cut(file, "its records go", end_of(*data));
        data->offset = MIN(data->offset, file->size);
    }
    if (file->is_cut) {
        data->size = file->size - data->offset;
        return true;
    }
    take_features(file, header + 72, data->offset + data->size);
    return true;
}

static bool read_all(struct perf_file *file, GError **error)
{
    struct section data;
    const char *why = file->bytes->ops->open(file->bytes);
    if (why) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_IO, "%s: %s", file->path, why);
        return false;
    }
    bool ok = take_header(file, &data, error) && perf_scan(file, data.offset, data.size, error);
    file->bytes->ops->close(file->bytes);
    if (ok && file->is_split) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_UNSUPPORTED,
                    "%s: a perf.data of 'perf record --threads': not supported, because its events "
                    "are in other files; record without --threads",
                    file->path);
        return false;
    }
    if (ok && file->attrs->len == 0) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_FORMAT,
                    "%s: it does not say which events it holds", file->path);
        return false;
    }
    return ok;
}

struct perf_file *perf_file_open(const char *path, struct lull_bytes *bytes, uint64_t size,
                                 const struct lull_report *report, GError **error)
{
    struct perf_file *file = g_new0(struct perf_file, 1);
    file->path = path;
    file->report = report;
    file->bytes = file->records = bytes;
    file->size = size;
    file->spool = -1;
    file->attrs = g_ptr_array_new_with_free_func(perf_attr_free);
    file->slots = g_ptr_array_new();
    file->cpus = g_ptr_array_new_with_free_func(perf_cpu_free);
    file->losses = g_array_new(FALSE, FALSE, sizeof(struct perf_loss));
    file->build_ids = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    if (read_all(file, error)) {
        return file;
    }
    perf_file_free(file);
    return NULL;
}

void perf_file_free(struct perf_file *file)
{
    if (file->records != file->bytes) {
        file->records->ops->free(file->records);
    }
    file->bytes->ops->free(file->bytes);
    if (file->spool >= 0) {
        close(file->spool);
    }
    g_ptr_array_unref(file->attrs);
    g_ptr_array_unref(file->slots);
    g_ptr_array_unref(file->cpus);
    g_array_unref(file->losses);
    g_hash_table_unref(file->build_ids);
    g_clear_pointer(&file->tracing, g_bytes_unref);
    g_free(file->by_cpu);
    g_free(file->ids.table);
    lull_formats_free(file->formats);
    perf_counters_free(file);
    perf_machine_clear(&file->machine);
    g_free(file);
}
