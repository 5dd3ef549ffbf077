/* SPDX-License-Identifier: MIT */
/* The first pass over the records of a perf.data. It looks at heads only: which event a record is,
 * of which CPU and time. Records that describe the recording are taken in, those that were
 * compressed are unpacked into a file without a name, for which this is the only pass that unpacks.
 */
#include "source/perf/perf.h"

#include <string.h>
#include <unistd.h>
#include <zstd.h>

#include "source/files/temporary.h"

#define BLOCK_BYTES (UINT32_C(256) << 10)
#define SPOOL_BYTES (UINT32_C(256) << 10)
/* What is compressed may be so many times as large, or so large if that is more. */
#define UNPACKED_RATIO 250u
#define UNPACKED_FREE (UINT64_C(1) << 30)
#define TRACING_MOST (UINT64_C(256) << 20)

enum update { UPDATE_NAME = 2 };

struct scan {
    struct perf_file *file;
    GError **error;
    uint8_t *buf;
    uint64_t start, end;        /* bytes of the file that are in it */
    uint64_t data_offset, stop; /* where the records start and end */
    bool has_failed;            /* *error is set */
    /* Once something compressed was seen, records are read from the spool: those before it lie
     * there at the same bytes as in the file, all others after them. */
    ZSTD_DStream *unpacker;
    GByteArray *unpacked; /* what is not a whole record yet */
    GByteArray *out;      /* what is not in the spool yet */
    uint64_t spooled;     /* bytes that are, with those before the records */
    uint64_t n_unpacked;
    bool is_broken; /* what is compressed cannot be read any more */
};

static void fail(struct scan *s, const char *why)
{
    if (!s->has_failed) {
        g_set_error(s->error, LULL_ERROR, LULL_ERROR_IO, "%s: %s", s->file->path, why);
    }
    s->has_failed = true;
}

/* ---- losses and damage ---- */

static void note_loss(struct perf_file *file, struct perf_cpu *cpu, uint64_t start, uint64_t end,
                      uint64_t events)
{
    struct perf_loss loss = {cpu, MIN(start, end), end, events};
    g_array_append_val(file->losses, loss);
}

static void damaged(struct scan *s, uint64_t offset, const char *why)
{
    if (!s->file->is_cut) {
        lull_report_problem(s->file->report,
                            "%s: byte %" G_GUINT64_FORMAT ": %s; the rest of the file is left out",
                            s->file->path, offset, why);
    }
    /* At the end of the recording, which is not known yet. */
    note_loss(s->file, perf_cpu_get(s->file, -1, false), UINT64_MAX, UINT64_MAX, 0);
}

static void damaged_record(struct perf_file *file, uint32_t type, uint64_t offset)
{
    if (type < G_N_ELEMENTS(file->has_reported_damage) && !file->has_reported_damage[type]) {
        lull_report_problem(file->report,
                            "%s: byte %" G_GUINT64_FORMAT
                            ": a record of kind %u is damaged; such records are left out",
                            file->path, offset, type);
    }
    if (type < G_N_ELEMENTS(file->has_reported_damage)) {
        file->has_reported_damage[type] = true;
    }
}

/* ---- records that describe the recording ---- */

static bool take_attr(struct perf_file *file, const uint8_t *record, uint32_t size)
{
    uint32_t attr_size = size >= 16 ? perf_u32(file, record + 12) : 0;
    if (attr_size > size - 8) {
        return false;
    }
    struct perf_attr *attr = perf_attr_add(file, record + 8, attr_size);
    for (uint32_t at = 8 + attr_size; attr && at + 8 <= size; at += 8) {
        perf_attr_own_id(file, attr, perf_u64(file, record + at));
    }
    return attr != NULL;
}

static bool take_update(struct perf_file *file, const uint8_t *record, uint32_t size)
{
    if (size < 24) {
        return false;
    }
    struct perf_attr *attr = perf_attr_by_id(file, perf_u64(file, record + 16));
    if (perf_u64(file, record + 8) == UPDATE_NAME && attr) {
        g_free(attr->name);
        attr->name = g_strndup((const char *)record + 24, size - 24);
    }
    return true;
}

static bool take_feature(struct perf_file *file, const uint8_t *record, uint32_t size)
{
    if (size < 16) {
        return false;
    }
    perf_feature_take(file, perf_u64(file, record + 8), record + 16, size - 16);
    return true;
}

static void take_tracing(struct scan *s, uint64_t offset, uint64_t size)
{
    if (s->file->tracing || size > TRACING_MOST) {
        return;
    }
    uint8_t *data = g_try_malloc(MAX(size, 1));
    if (!data || !perf_bytes_read(s->file->bytes, offset, data, size)) {
        g_free(data);
    } else {
        s->file->tracing = g_bytes_new_take(data, size);
    }
}

static void take_reported(struct scan *s, uint32_t type, const uint8_t *record, uint32_t size,
                          uint64_t offset)
{
    struct perf_file *file = s->file;
    bool is_whole = true;
    if (type == PERF_HEADER_ATTR) {
        is_whole = file->is_settled || take_attr(file, record, size);
    } else if (type == PERF_EVENT_UPDATE) {
        is_whole = file->is_settled || take_update(file, record, size);
    } else if (type == PERF_HEADER_FEATURE) {
        is_whole = take_feature(file, record, size);
    } else if (type == PERF_HEADER_BUILD_ID) {
        is_whole = perf_build_ids_take(file, record, size);
    } else if (type == PERF_ID_INDEX) {
        is_whole = perf_counters_take_index(file, record, size);
    }
    if (!is_whole) {
        damaged_record(file, type, offset);
    }
}

uint64_t perf_size_behind(const struct perf_file *file, const uint8_t *record, uint32_t size)
{
    uint32_t type = perf_u32(file, record);
    if (type == PERF_TRACING_DATA && size >= 12) {
        return lull_align_up(perf_u32(file, record + 8), 8);
    }
    if (type == PERF_AUXTRACE && size >= 16) {
        return perf_u64(file, record + 8);
    }
    return 0;
}

/* ---- records of the kernel ---- */

static void take_lost(struct perf_file *file, uint32_t type, const uint8_t *record, uint32_t size,
                      uint64_t offset)
{
    uint32_t at = type == PERF_LOST ? 16 : 8;
    struct perf_head head = {.cpu = -1};
    perf_judge_slowly(file, record, size, &head);
    if (size < at + 8 || head.time > PERF_LAST_TIME) {
        damaged_record(file, type, offset);
        return;
    }
    uint64_t n = perf_u64(file, record + at);
    if (type == PERF_LOST_SAMPLES && head.time == 0) {
        file->n_lost_total += n; /* perf read the kernel's counters at the end */
    } else if (n > 0) {
        struct perf_cpu *cpu = perf_cpu_get(file, head.cpu, false);
        uint64_t before = MAX(cpu->last, cpu->lost), time = head.time != 0 ? head.time : before;
        note_loss(file, cpu, before != 0 ? before : time, time, n);
        cpu->lost = MAX(before, time);
        file->n_lost += n;
    }
}

static void not_an_event(struct perf_file *file, enum perf_verdict verdict, const uint8_t *record,
                         uint32_t size, uint64_t offset, const struct perf_head *head)
{
    uint32_t type = perf_u32(file, record);
    if (verdict == PERF_UNKNOWN) {
        file->n_unknown++;
    } else if (verdict == PERF_TIMELESS) {
        ((struct perf_attr *)file->attrs->pdata[head->attr->index])->n_timeless++;
    } else if (verdict == PERF_DAMAGED && type == PERF_SAMPLE) {
        ((struct perf_attr *)file->attrs->pdata[head->attr->index])->n_damaged++;
    } else if (verdict == PERF_DAMAGED) {
        damaged_record(file, type, offset);
    } else if (type == PERF_LOST || type == PERF_LOST_SAMPLES) {
        take_lost(file, type, record, size, offset);
    }
}

/* `offset` is in the file, for messages; `at` where the records will be read again. */
static inline __attribute__((always_inline)) void take_event(struct perf_file *file, bool be,
                                                             const uint8_t *record, uint32_t size,
                                                             uint64_t offset, uint64_t at)
{
    struct perf_head head;
    enum perf_verdict verdict = perf_judge(file, be, record, size, &head);
    if (G_UNLIKELY(verdict != PERF_EVENT)) {
        not_an_event(file, verdict, record, size, offset, &head);
        return;
    }
    if (G_UNLIKELY(head.slot < PERF_OWN_SLOTS)) {
        perf_build_ids_map(file, record, size);
    }
    uint32_t number = (uint32_t)(head.cpu + 1);
    bool is_state = head.time == 0 && lull_load_u32(record, be) != PERF_SAMPLE;
    struct perf_cpu *cpu = !is_state && number < file->n_by_cpu ? file->by_cpu[number] : NULL;
    if (G_UNLIKELY(!cpu)) {
        cpu = perf_cpu_get(file, head.cpu, is_state);
    }
    perf_cpu_add(file, cpu, head.slot, at, size, head.time);
}

/* ---- what was compressed ---- */

static void flush(struct scan *s)
{
    if (!lull_temporary_write(s->file->spool, s->out->data, s->out->len, s->spooled)) {
        fail(s, "its unpacked contents do not fit into the directory for temporary files");
    }
    s->spooled += s->out->len;
    g_byte_array_set_size(s->out, 0);
}

/* Copies the records before `offset` to the same place of the spool. */
static void start_spool(struct scan *s, uint64_t offset)
{
    GError *error = NULL;
    g_autofree uint8_t *block = g_malloc(BLOCK_BYTES);
    s->file->spool = lull_temporary_open(&error);
    if (s->file->spool < 0) {
        fail(s, error->message);
        g_error_free(error);
        return;
    }
    for (uint64_t at = s->data_offset; at < offset && !s->has_failed;) {
        uint64_t n = MIN(BLOCK_BYTES, offset - at);
        if (!perf_bytes_read(s->file->bytes, at, block, n) ||
            !lull_temporary_write(s->file->spool, block, n, at)) {
            fail(s, "its records cannot be copied into the directory for temporary files");
        }
        at += n;
    }
    s->spooled = offset;
}

/* A record of the kernel; with a spool it is put there. */
static void take_kernel_record(struct scan *s, const uint8_t *record, uint32_t size,
                               uint64_t offset)
{
    struct perf_file *file = s->file;
    uint64_t at = offset;
    if (!file->is_settled) {
        perf_classes_settle(file);
    }
    if (file->spool >= 0) {
        at = s->spooled + s->out->len;
        g_byte_array_append(s->out, record, size);
    }
    take_event(file, file->is_big_endian, record, size, offset, at);
    if (s->out->len >= SPOOL_BYTES) {
        flush(s);
    }
}

/* Takes whole records from what was unpacked. */
static void take_unpacked(struct scan *s, uint64_t offset)
{
    struct perf_file *file = s->file;
    GByteArray *bytes = s->unpacked;
    guint at = 0;
    while (bytes->len - at >= 8 && !s->has_failed) {
        uint32_t size = perf_u16(file, bytes->data + at + 6);
        if (size < 8) {
            damaged(s, offset, "a compressed record is smaller than its header");
            s->is_broken = true;
            break;
        }
        if (size > bytes->len - at) {
            break;
        }
        if (perf_u32(file, bytes->data + at) < PERF_KERNEL_RECORDS) {
            take_kernel_record(s, bytes->data + at, size, offset);
        }
        at += size;
    }
    g_byte_array_remove_range(bytes, 0, at);
}

static void unpack(struct scan *s, const uint8_t *data, uint64_t size, uint64_t offset)
{
    uint8_t block[16 << 10];
    ZSTD_inBuffer in = {data, size, 0};
    bool is_full;
    if (s->file->spool < 0) {
        start_spool(s, offset);
    }
    if (s->is_broken || s->has_failed) {
        return;
    }
    if (!s->unpacker) {
        s->unpacker = ZSTD_createDStream();
    }
    do {
        ZSTD_outBuffer out = {block, sizeof block, 0};
        size_t result = ZSTD_decompressStream(s->unpacker, &out, &in);
        s->n_unpacked += out.pos;
        if (ZSTD_isError(result) ||
            s->n_unpacked > MAX(UNPACKED_FREE, s->file->size * UNPACKED_RATIO)) {
            damaged(s, offset,
                    ZSTD_isError(result) ? ZSTD_getErrorName(result)
                                         : "it unpacks to more than a recording can hold");
            s->is_broken = true;
            return;
        }
        g_byte_array_append(s->unpacked, block, (guint)out.pos);
        take_unpacked(s, offset);
        is_full = out.pos == out.size;
    } while ((in.pos < in.size || is_full) && !s->is_broken && !s->has_failed);
}

/* ---- the pass ---- */

/* `size` bytes at `offset`, valid until the next call; NULL if the file ends before. */
static inline const uint8_t *look(struct scan *s, uint64_t offset, uint64_t size)
{
    if (G_LIKELY(offset >= s->start && offset + size <= s->end)) {
        return s->buf + (offset - s->start);
    }
    if (offset > s->stop || size > s->stop - offset) {
        return NULL;
    }
    uint64_t want = MIN(BLOCK_BYTES, s->stop - offset);
    if (!perf_bytes_read(s->file->bytes, offset, s->buf, want)) {
        return NULL;
    }
    s->start = offset;
    s->end = offset + want;
    return s->buf;
}

/* One that is not of the kernel; moves *offset past it. False at the end. */
static bool take_other(struct scan *s, const uint8_t *record, uint32_t size, uint64_t *offset)
{
    struct perf_file *file = s->file;
    uint32_t type = perf_u32(file, record);
    uint64_t behind = perf_size_behind(file, record, size), at = *offset;
    *offset += size;
    if (behind > s->stop - *offset) {
        damaged(s, at, "the data ends inside what follows a record");
        return false;
    }
    if (type == PERF_COMPRESSED) {
        unpack(s, record + 8, size - 8, at);
    } else if (type == PERF_COMPRESSED2 && size >= 16) {
        unpack(s, record + 16, MIN(perf_u64(file, record + 8), size - 16), at);
    } else if (type == PERF_TRACING_DATA && size >= 12) {
        take_tracing(s, *offset, MIN(perf_u32(file, record + 8), behind));
    } else {
        take_reported(s, type, record, size, at);
    }
    *offset += behind;
    return true;
}

static inline __attribute__((always_inline)) void pass(struct scan *s, bool be)
{
    struct perf_file *file = s->file;
    uint64_t offset = s->data_offset;
    while (offset < s->stop && !s->has_failed) {
        const uint8_t *record = look(s, offset, 8);
        uint32_t size = record ? lull_load_u16(record + 6, be) : 0;
        if (G_UNLIKELY(!record || size < 8 || !(record = look(s, offset, size)))) {
            damaged(s, offset,
                    record && size < 8 ? "a record is smaller than its header"
                                       : "the data ends within a record");
            break;
        }
        if (G_UNLIKELY(lull_load_u32(record, be) >= PERF_KERNEL_RECORDS)) {
            if (!take_other(s, record, size, &offset)) {
                break;
            }
            continue;
        }
        if (G_LIKELY(file->is_settled && file->spool < 0)) {
            take_event(file, be, record, size, offset, offset);
        } else {
            take_kernel_record(s, record, size, offset);
        }
        offset += size;
    }
    if (s->unpacked->len > 0 && !s->is_broken) {
        damaged(s, offset, "the compressed data ends inside a record");
    }
}

/* ---- the end ---- */

static void report_of_attr(const struct perf_file *file, const struct perf_attr *attr)
{
    const char *name = attr->format->event_class.name;
    if (attr->n_timeless > 0) {
        lull_report_remark(file->report,
                           "%s: %" G_GUINT64_FORMAT " samples of event %s have no time (record "
                           "them with --timestamp); they are left out",
                           file->path, attr->n_timeless, name);
    }
    if (attr->n_damaged > 0) {
        lull_report_problem(file->report,
                            "%s: %" G_GUINT64_FORMAT " samples of event %s are damaged; they are "
                            "left out",
                            file->path, attr->n_damaged, name);
    }
}

/* The offset to the wall's clock is one for all records: if it does not fit them, it is damaged. */
static void check_clock(struct perf_file *file)
{
    struct perf_machine *machine = &file->machine;
    __int128 offset_ns = (__int128)machine->wall_ns - machine->clock_ns;
    if (!machine->has_clock || file->start > file->end ||
        (lull_time_is_valid(file->start + offset_ns) &&
         lull_time_is_valid(file->end + offset_ns))) {
        return;
    }
    machine->has_clock = false;
    lull_report_problem(file->report,
                        "%s: with the wall clock of its header " LULL_TIME_OUTSIDE
                        "; that clock is not used",
                        file->path);
}

/* What perf counted at the end and no record reported was lost at some time. */
static void end(struct perf_file *file)
{
    for (guint i = 0; i < file->cpus->len; i++) {
        const struct perf_cpu *cpu = file->cpus->pdata[i];
        if (cpu->is_state) {
            continue;
        }
        file->start = MIN(file->start, cpu->first);
        file->end = MAX(file->end, cpu->last);
    }
    check_clock(file);
    if (file->n_lost_total > file->n_lost && file->start <= file->end) {
        note_loss(file, perf_cpu_get(file, -1, false), file->start, file->end,
                  file->n_lost_total - file->n_lost);
    }
    for (guint i = 0; i < file->attrs->len; i++) {
        report_of_attr(file, file->attrs->pdata[i]);
    }
    if (file->n_unknown > 0) {
        lull_report_problem(file->report,
                            "%s: %" G_GUINT64_FORMAT " samples are of events that the header does "
                            "not know; they are left out",
                            file->path, file->n_unknown);
    }
    perf_index_finish(file);
}

bool perf_scan(struct perf_file *file, uint64_t offset, uint64_t size, GError **error)
{
    struct scan s = {.file = file, .error = error, .data_offset = offset, .stop = offset + size};
    s.buf = g_malloc(BLOCK_BYTES + LULL_LOAD_SLACK);
    s.unpacked = g_byte_array_new();
    s.out = g_byte_array_new();
    file->start = UINT64_MAX;
    file->gap = PERF_LEAST_GAP;
    if (file->is_big_endian) {
        pass(&s, true);
    } else {
        pass(&s, false);
    }
    if (file->spool >= 0 && !s.has_failed) {
        flush(&s);
        file->records = lull_temporary_bytes(file->spool);
    }
    if (!file->is_settled) {
        perf_classes_settle(file);
    }
    if (!s.has_failed) {
        end(file);
    }
    ZSTD_freeDStream(s.unpacker);
    g_byte_array_unref(s.unpacked);
    g_byte_array_unref(s.out);
    g_free(s.buf);
    return !s.has_failed;
}
