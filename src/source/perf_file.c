/* The parts of a perf.data: its header, and the records of its data section or pipe (Linux,
 * tools/perf/Documentation/perf.data-file-format.txt). */
#include "source/perf.h"

#include <string.h>
#include <zstd.h>

#define BLOCK_BYTES (UINT32_C(1) << 20)
/* A record's size has 16 bits; with what comes behind its header it may be larger in a pipe. */
#define RECORD_MOST (UINT32_C(64) << 10)
/* Sections of the header that are read as a whole: formats of all events are some 5 MiB. */
#define SECTION_MOST (UINT64_C(256) << 20)
/* What is compressed may be so many times as large, or so large if that is more. */
#define UNPACKED_RATIO 250u
#define UNPACKED_FREE (UINT64_C(1) << 30)
#define PIPE_HEADER 16u
#define FILE_HEADER 104u
#define SECTION_BYTES 16u
#define N_FEATURES 256u

struct section {
    uint64_t offset, size;
};

/* Reads records in order. */
struct walker {
    struct perf_file *file;
    uint8_t *buf;
    uint64_t begin, end; /* bytes of the file that are in it */
    uint64_t stop;       /* behind the last record */
    ZSTD_DStream *unpacker;
    GByteArray *unpacked; /* what is not a whole record yet */
    uint64_t n_unpacked;  /* bytes so far */
    bool is_broken;       /* what is compressed cannot be read any more */
};

bool perf_file_bytes(const struct perf_file *file, uint64_t offset, void *to, uint64_t size)
{
    uint8_t *p = to;
    if (offset > file->size || size > file->size - offset)
        return false;
    while (size > 0) {
        const char *why;
        uint64_t n = file->bytes->ops->read(file->bytes, offset, p, size, &why);
        if (n == 0)
            return false;
        p += n;
        offset += n;
        size -= n;
    }
    return true;
}

static uint8_t *read_section(const struct perf_file *file, struct section section)
{
    if (section.size > SECTION_MOST || section.size > file->size)
        return NULL;
    uint8_t *data = g_try_malloc(MAX(section.size, 1));
    if (data != NULL && !perf_file_bytes(file, section.offset, data, section.size))
        g_clear_pointer(&data, g_free);
    return data;
}

/* ---- header ---- */

static struct section section_at(const struct perf_file *file, const uint8_t *p)
{
    return (struct section){perf_u64(file, p), perf_u64(file, p + 8)};
}

static void take_ids(struct perf_file *file, struct perf_attr *attr, struct section ids)
{
    g_autofree uint8_t *data = read_section(file, ids);
    if (data == NULL) {
        lull_report_problem(file->report,
                            "%s: byte %" G_GUINT64_FORMAT
                            ": the ids of an event lie outside of the file",
                            file->path, ids.offset);
        return;
    }
    for (uint64_t i = 0; i + 8 <= ids.size; i += 8)
        perf_attr_own_id(file, attr, perf_u64(file, data + i));
}

static bool take_attrs(struct perf_file *file, struct section section, uint64_t entry,
                       GError **error)
{
    g_autofree uint8_t *data = read_section(file, section);
    if (data == NULL || entry < SECTION_BYTES || entry > RECORD_MOST || section.size < entry) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_FORMAT,
                    "%s: byte %" G_GUINT64_FORMAT ": its list of events (%" G_GUINT64_FORMAT
                    " bytes, each %" G_GUINT64_FORMAT ") cannot be read",
                    file->path, section.offset, section.size, entry);
        return false;
    }
    for (uint64_t i = 0; section.size - i >= entry; i += entry) {
        uint32_t size = (uint32_t)(entry - SECTION_BYTES);
        struct perf_attr *attr = perf_attr_add(file, data + i, size);
        if (attr != NULL)
            take_ids(file, attr, section_at(file, data + i + size));
    }
    return true;
}

static void take_feature(struct perf_file *file, unsigned feature, struct section section)
{
    g_autofree uint8_t *data = read_section(file, section);
    if (data == NULL)
        lull_report_problem(file->report,
                            "%s: byte %" G_GUINT64_FORMAT
                            ": feature %u of the header lies outside of the file",
                            file->path, section.offset, feature);
    else if (feature == PERF_FEATURE_TRACING_DATA)
        perf_tracing_take(file, data, section.size);
    else
        perf_feature_take(file, feature, data, section.size);
}

/* Behind the data stands where each feature is, by the bits of the header. */
static void take_features(struct perf_file *file, const uint8_t *bits, uint64_t offset)
{
    for (unsigned i = 0; i < N_FEATURES; i++) {
        uint8_t entry[SECTION_BYTES];
        if (!((perf_u64(file, bits + i / 64 * 8) >> (i % 64)) & 1))
            continue;
        if (!perf_file_bytes(file, offset, entry, sizeof entry)) {
            lull_report_problem(file->report,
                                "%s: byte %" G_GUINT64_FORMAT ": the file ends within its list of "
                                "features",
                                file->path, offset);
            return;
        }
        take_feature(file, i, section_at(file, entry));
        offset += SECTION_BYTES;
    }
}

/* Finds out which kind of file it is, and where its records are. */
static bool take_header(struct perf_file *file, struct section *data, GError **error)
{
    uint8_t header[FILE_HEADER];
    if (!perf_file_bytes(file, 0, header, PIPE_HEADER)) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_FORMAT,
                    "%s: byte 0: the file ends within its header", file->path);
        return false;
    }
    file->is_big_endian = memcmp(header, "2ELIFREP", 8) == 0; /* a number, swapped */
    file->is_pipe = perf_u64(file, header + 8) == PIPE_HEADER;
    *data = (struct section){PIPE_HEADER, file->size - PIPE_HEADER};
    if (file->is_pipe)
        return true;
    if (perf_u64(file, header + 8) < FILE_HEADER ||
        !perf_file_bytes(file, 0, header, FILE_HEADER)) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_FORMAT,
                    "%s: byte 8: the header has an impossible size", file->path);
        return false;
    }
    *data = section_at(file, header + 40);
    if (!take_attrs(file, section_at(file, header + 24), perf_u64(file, header + 16), error))
        return false;
    if (data->offset > file->size) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_FORMAT,
                    "%s: byte 40: its records lie outside of the file", file->path);
        return false;
    }
    if (data->size == 0 || data->size > file->size - data->offset) {
        lull_report_problem(file->report,
                            "%s: byte 48: the recording was not finished, or the file was cut; "
                            "what is there is read",
                            file->path);
        data->size = file->size - data->offset;
        return true;
    }
    take_features(file, header + 72, data->offset + data->size);
    return true;
}

/* ---- records ---- */

static void damaged(struct walker *w, uint64_t offset, const char *why)
{
    lull_report_problem(w->file->report,
                        "%s: byte %" G_GUINT64_FORMAT ": %s; the rest of the file is left out",
                        w->file->path, offset, why);
}

/* `size` bytes at `offset`, valid until the next call; NULL if the file ends before. */
static const uint8_t *look(struct walker *w, uint64_t offset, uint64_t size)
{
    if (offset > w->stop || size > w->stop - offset)
        return NULL;
    if (offset < w->begin || offset + size > w->end) {
        uint64_t want = MIN(BLOCK_BYTES, w->stop - offset);
        if (!perf_file_bytes(w->file, offset, w->buf, want))
            return NULL;
        w->begin = offset;
        w->end = offset + want;
    }
    return w->buf + (offset - w->begin);
}

/* Takes whole records from what was unpacked. */
static void take_unpacked(struct walker *w, uint64_t offset)
{
    struct perf_file *file = w->file;
    GByteArray *bytes = w->unpacked;
    guint at = 0;
    while (bytes->len - at >= 8) {
        uint32_t size = perf_u16(file, bytes->data + at + 6);
        if (size < 8) {
            damaged(w, offset, "a compressed record is smaller than its header");
            w->is_broken = true;
            break;
        }
        if (size > bytes->len - at)
            break;
        perf_record_take(file, bytes->data + at, size, offset);
        at += size;
    }
    g_byte_array_remove_range(bytes, 0, at);
}

static void unpack(struct walker *w, const uint8_t *data, uint64_t size, uint64_t offset)
{
    uint8_t block[16 << 10];
    ZSTD_inBuffer in = {data, size, 0};
    bool is_full;
    if (w->is_broken)
        return;
    if (w->unpacker == NULL)
        w->unpacker = ZSTD_createDStream();
    do {
        ZSTD_outBuffer out = {block, sizeof block, 0};
        size_t result = ZSTD_decompressStream(w->unpacker, &out, &in);
        if (ZSTD_isError(result)) {
            damaged(w, offset, ZSTD_getErrorName(result));
            w->is_broken = true;
            return;
        }
        w->n_unpacked += out.pos;
        if (w->n_unpacked > MAX(UNPACKED_FREE, w->file->size * UNPACKED_RATIO)) {
            damaged(w, offset, "it unpacks to more than a recording does");
            w->is_broken = true;
            return;
        }
        g_byte_array_append(w->unpacked, block, (guint)out.pos);
        take_unpacked(w, offset);
        is_full = out.pos == out.size;
    } while ((in.pos < in.size || is_full) && !w->is_broken && !lull_spool_failed(w->file->spool));
}

/* What a record is followed by, which its own size does not count. */
static uint64_t size_behind(const struct perf_file *file, const uint8_t *record, uint32_t size)
{
    uint32_t type = perf_u32(file, record);
    if (type == PERF_TRACING_DATA && size >= 12)
        return lull_align_up(perf_u32(file, record + 8), 8);
    if (type == PERF_AUXTRACE && size >= 16)
        return perf_u64(file, record + 8);
    return 0;
}

static void take_tracing_record(struct walker *w, uint64_t offset, uint64_t size)
{
    g_autofree uint8_t *data = read_section(w->file, (struct section){offset, size});
    if (data != NULL)
        perf_tracing_take(w->file, data, size);
}

/* Takes the record at *offset and steps behind it. False at the end of what can be read. */
static bool take_record(struct walker *w, uint64_t *offset)
{
    struct perf_file *file = w->file;
    const uint8_t *record = look(w, *offset, 8);
    uint32_t size = record != NULL ? perf_u16(file, record + 6) : 0;
    if (record != NULL && size < 8) {
        damaged(w, *offset, "a record is smaller than its header");
        return false;
    }
    if (record == NULL || (record = look(w, *offset, size)) == NULL) {
        damaged(w, *offset, "the data ends within a record");
        return false;
    }
    uint32_t type = perf_u32(file, record);
    uint64_t behind = size_behind(file, record, size), at = *offset;
    *offset += size;
    if (behind > w->stop - *offset) {
        damaged(w, at, "the data ends within what a record is followed by");
        return false;
    }
    if (type == PERF_COMPRESSED) {
        unpack(w, record + 8, size - 8, at);
    } else if (type == PERF_COMPRESSED2 && size >= 16) {
        unpack(w, record + 16, MIN(perf_u64(file, record + 8), size - 16), at);
    } else if (type == PERF_TRACING_DATA && size >= 12) {
        take_tracing_record(w, *offset, MIN(perf_u32(file, record + 8), behind));
    } else {
        perf_record_take(file, record, size, at);
    }
    *offset += behind;
    return !lull_spool_failed(file->spool);
}

bool perf_file_read(struct perf_file *file, GError **error)
{
    struct section data;
    if (!take_header(file, &data, error))
        return false;
    struct walker w = {.file = file, .stop = data.offset + data.size};
    w.buf = g_malloc(BLOCK_BYTES);
    w.unpacked = g_byte_array_new();
    uint64_t offset = data.offset;
    while (offset < w.stop && take_record(&w, &offset))
        ;
    if (w.unpacked->len > 0 && !w.is_broken)
        damaged(&w, offset, "what is compressed ends within a record");
    perf_records_end(file);
    ZSTD_freeDStream(w.unpacker);
    g_byte_array_unref(w.unpacked);
    g_free(w.buf);
    if (file->attrs->len == 0) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_FORMAT,
                    "%s: it does not say which events it holds", file->path);
        return false;
    }
    return true;
}
