/* SPDX-License-Identifier: MIT */
/* Writes perf.data: tools/perf/Documentation/perf.data-file-format.txt of Linux. The records come
 * first, after a header of zeros: the file is none of perf's until perfrec_file_finish() has
 * written what follows them and then the header. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "record/perf/perf.h"

#define FILE_NAME "perf.data"

struct section {
    uint64_t offset, size;
};

struct head {
    char magic[8];
    uint64_t size;       /* of this */
    uint64_t entry_size; /* of attributes: an attribute and where its identifiers are */
    struct section attributes, records, unused;
    uint64_t features[4]; /* bits */
};

/* Kinds of records that the kernel does not write. */
enum { RECORD_FINISHED_ROUND = 68 };

static bool fail(const struct perfrec_file *file, const char *what, GError **error)
{
    g_set_error(error, LULL_ERROR, LULL_ERROR_IO, "%s: cannot %s: %s", file->path, what,
                g_strerror(errno));
    return false;
}

bool perfrec_file_create(struct perfrec_file *file, const struct lull_keeper *keeper,
                         GError **error)
{
    file->at = 0;
    file->is_full = false;
    file->path = NULL;
    file->fd = lull_keeper_create(keeper, FILE_NAME, error);
    if (file->fd < 0) {
        return false;
    }
    file->path = g_build_filename(keeper->part, FILE_NAME, NULL);
    struct head head = {.size = 0};
    struct iovec part = {&head, sizeof head};
    if (!perfrec_file_append(file, &part, 1, error)) {
        perfrec_file_clear(file);
        return false;
    }
    return true;
}

static bool write_whole(struct perfrec_file *file, const uint8_t *bytes, uint64_t n, uint64_t at,
                        GError **error)
{
    while (n > 0) {
        ssize_t written = pwrite(file->fd, bytes, n, (off_t)at);
        if (written < 0 && errno == EINTR) {
            continue;
        }
        if (written <= 0) {
            file->is_full = written < 0 && lull_tracer_is_full(errno);
            return fail(file, "write", error);
        }
        bytes += written;
        at += (uint64_t)written;
        n -= (uint64_t)written;
    }
    return true;
}

bool perfrec_file_append(struct perfrec_file *file, const struct iovec *parts, uint32_t n,
                         GError **error)
{
    for (uint32_t i = 0; i < n; i++) {
        if (!write_whole(file, parts[i].iov_base, parts[i].iov_len, file->at, error)) {
            return false;
        }
        file->at += parts[i].iov_len;
    }
    return true;
}

bool perfrec_file_cut(struct perfrec_file *file, uint64_t at, GError **error)
{
    if (ftruncate(file->fd, (off_t)at) != 0) {
        return fail(file, "shorten it", error);
    }
    file->at = at;
    return true;
}

bool perfrec_file_append_round(struct perfrec_file *file, GError **error)
{
    struct perf_event_header record = {.type = RECORD_FINISHED_ROUND, .size = sizeof record};
    struct iovec part = {&record, sizeof record};
    return perfrec_file_append(file, &part, 1, error);
}

bool perfrec_file_append_lost(struct perfrec_file *file, uint64_t lost, uint64_t time_ns,
                              GError **error)
{
    /* As sample_type says: process and task, time, CPU, identifier. */
    struct {
        struct perf_event_header header;
        uint64_t lost, task, time_ns, cpu, id;
    } record = {.header = {.type = PERF_RECORD_LOST_SAMPLES, .size = sizeof record},
                .lost = lost,
                .time_ns = time_ns};
    struct iovec part = {&record, sizeof record};
    return perfrec_file_append(file, &part, 1, error);
}

/* Sections of features follow the records: a table, then what it points to. */
static bool append_features(struct perfrec_file *file, const GByteArray *bytes,
                            const GArray *features, struct head *head, GError **error)
{
    GArray *table = g_array_new(FALSE, FALSE, sizeof(struct section));
    uint64_t at = file->at + features->len * sizeof(struct section);
    for (guint i = 0; i < features->len; i++) {
        struct perfrec_feature f = g_array_index(features, struct perfrec_feature, i);
        struct section section = {at + f.start, f.end - f.start};
        g_array_append_val(table, section);
        head->features[f.bit / 64] |= UINT64_C(1) << f.bit % 64;
    }
    struct iovec parts[] = {{table->data, table->len * sizeof(struct section)},
                            {bytes->data, bytes->len}};
    bool is_good = perfrec_file_append(file, parts, 2, error);
    g_array_free(table, TRUE);
    return is_good;
}

/* The identifiers of all classes, then the attributes, which say where those are. */
static bool append_attributes(struct perfrec_file *file, const struct perfrec_classes *classes,
                              struct head *head, GError **error)
{
    GByteArray *entries = g_byte_array_new();
    bool is_good = true;
    for (uint32_t i = 0; is_good && i < classes->n; i++) {
        const struct perfrec_class *class = &classes->all[i];
        struct section ids = {file->at, class->ids->len * sizeof(uint64_t)};
        g_byte_array_append(entries, (const guint8 *)&class->attr, sizeof class->attr);
        g_byte_array_append(entries, (const guint8 *)&ids, sizeof ids);
        struct iovec part = {class->ids->data, ids.size};
        is_good = perfrec_file_append(file, &part, 1, error);
    }
    head->attributes = (struct section){file->at, entries->len};
    struct iovec part = {entries->data, entries->len};
    is_good = is_good && perfrec_file_append(file, &part, 1, error);
    g_byte_array_free(entries, TRUE);
    return is_good;
}

bool perfrec_file_finish(struct perfrec_file *file, const struct perfrec_classes *classes,
                         const struct perfrec_tally *tally, int64_t epoch_offset_ns, GError **error)
{
    struct head head = {
        .magic = {'P', 'E', 'R', 'F', 'I', 'L', 'E', '2'},
        .size = sizeof head,
        .entry_size = sizeof(struct perf_event_attr) + sizeof(struct section),
        .records = {sizeof head, file->at - sizeof head},
    };
    GByteArray *bytes = g_byte_array_new();
    GArray *features = g_array_new(FALSE, FALSE, sizeof(struct perfrec_feature));
    bool is_good = perfrec_features_make(bytes, features, classes, tally, epoch_offset_ns, error) &&
                   append_features(file, bytes, features, &head, error) &&
                   append_attributes(file, classes, &head, error) &&
                   write_whole(file, (const uint8_t *)&head, sizeof head, 0, error);
    g_byte_array_free(bytes, TRUE);
    g_array_free(features, TRUE);
    if (!is_good) {
        return false;
    }
    int fd = file->fd;
    file->fd = -1;
    if (close(fd) < 0) {
        return fail(file, "complete it", error);
    }
    return true;
}

void perfrec_file_clear(struct perfrec_file *file)
{
    if (!file->path) {
        return;
    }
    if (file->fd >= 0) {
        close(file->fd);
    }
    g_free(file->path);
    file->path = NULL;
}
