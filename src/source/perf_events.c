/* From perf's records to events: the bytes that perf_metadata.c declares. Numbers that are taken
 * apart anyway are written in little-endian order, what is copied stays in that of the file. */
#include "source/perf.h"

#include <string.h>

#define COMM_BYTES 16u
#define MISC_EXEC (1u << 13)
#define MISC_SWITCH_OUT (1u << 13)
#define MISC_SWITCH_PREEMPT (1u << 14)

/* What a tracepoint's arrays may hold in all: they lie in its raw data, without overlap. */
#define MOST_DYNAMIC(raw_size) (2 * (uint64_t)(raw_size))

static void put_u8(struct lull_spool_stream *to, uint8_t value)
{
    lull_spool_put(to, &value, sizeof value);
}

static void put_u32(struct lull_spool_stream *to, uint32_t value)
{
    value = GUINT32_TO_LE(value);
    lull_spool_put(to, &value, sizeof value);
}

static void put_u64(struct lull_spool_stream *to, uint64_t value)
{
    value = GUINT64_TO_LE(value);
    lull_spool_put(to, &value, sizeof value);
}

/* A text up to its first NUL, and a NUL. */
static void put_text(struct lull_spool_stream *to, const uint8_t *text, uint64_t most)
{
    lull_spool_put(to, text, strnlen((const char *)text, most));
    put_u8(to, 0);
}

/* Header and common context of an event. */
static void begin(struct perf_file *file, struct lull_spool_stream *to, uint32_t id, uint64_t time,
                  uint32_t pid, uint32_t tid)
{
    lull_spool_event(to, id, time);
    put_u32(to, pid);
    put_u32(to, tid);
    lull_spool_put(to, perf_names_find(file->names, tid, time), COMM_BYTES);
}

/* ---- samples ---- */

static void put_context(const struct perf_file *file, const struct perf_attr *attr,
                        const struct perf_sample *sample, struct lull_spool_stream *to)
{
    for (const struct perf_shown *field = perf_shown; field->name != NULL; field++) {
        uint64_t value;
        memcpy(&value, (const uint8_t *)sample + field->offset, sizeof value);
        if (perf_is_shown(attr, field))
            put_u64(to, value);
    }
    if (attr->sample_type & PERF_HAS_CALLCHAIN) {
        put_u32(to, (uint32_t)sample->n_callchain);
        lull_spool_put(to, sample->callchain, sample->n_callchain * 8);
    }
}

/* Where the bytes of an array are; false if not in the raw data. */
static bool find_array(const struct perf_file *file, const struct perf_copy *copy,
                       const struct perf_sample *sample, uint32_t *offset, uint32_t *size)
{
    if (copy->code == PERF_COPY_REST) {
        *offset = copy->offset;
        *size = sample->raw_size - copy->offset;
        return true;
    }
    uint32_t word = perf_u32(file, sample->raw + copy->offset);
    *offset = (word & 0xffff) + (copy->is_relative ? copy->offset + 4 : 0);
    *size = word >> 16;
    if (*size == 0)
        *offset = 0;
    return *offset <= sample->raw_size && *size <= sample->raw_size - *offset;
}

/* Whether all of a tracepoint's arrays are there: an event is written whole or not at all. */
static bool is_whole(const struct perf_file *file, const struct perf_attr *attr,
                     const struct perf_sample *sample)
{
    uint64_t total = 0;
    uint32_t offset, size;
    if (sample->raw_size < attr->least_raw)
        return false;
    for (uint32_t i = 0; i < attr->n_copies; i++) {
        const struct perf_copy *copy = &attr->copies[i];
        if (copy->code == PERF_COPY_RUN)
            continue;
        if (!find_array(file, copy, sample, &offset, &size))
            return false;
        total += size;
    }
    return total <= MOST_DYNAMIC(sample->raw_size);
}

static void put_fields(const struct perf_file *file, const struct perf_attr *attr,
                       const struct perf_sample *sample, uint32_t first, uint32_t end,
                       struct lull_spool_stream *to)
{
    for (uint32_t i = first; i < end; i++) {
        const struct perf_copy *copy = &attr->copies[i];
        uint32_t offset, size;
        if (copy->code == PERF_COPY_RUN) {
            lull_spool_put(to, sample->raw + copy->offset, copy->size);
            continue;
        }
        find_array(file, copy, sample, &offset, &size);
        if (copy->code == PERF_COPY_STRING) {
            put_text(to, sample->raw + offset, size);
            continue;
        }
        put_u32(to, size / copy->element_bytes);
        lull_spool_put(to, sample->raw + offset, size / copy->element_bytes * copy->element_bytes);
    }
}

static void emit_sample(struct perf_file *file, struct lull_spool_stream *to, const uint8_t *record,
                        uint32_t size)
{
    struct perf_sample sample;
    struct perf_attr *attr = perf_attr_of(file, record, size, true);
    if (attr == NULL || !perf_sample_parse(file, attr, record, size, &sample))
        return;
    if (!is_whole(file, attr, &sample)) {
        attr->n_damaged++;
        return;
    }
    begin(file, to, PERF_CLASS_ATTRS + attr->index, sample.time, sample.pid, sample.tid);
    put_fields(file, attr, &sample, 0, attr->n_context_copies, to);
    put_context(file, attr, &sample, to);
    put_fields(file, attr, &sample, attr->n_context_copies, attr->n_copies, to);
}

/* ---- other records ---- */

/* One that waits to be written. */
struct other {
    struct perf_file *file;
    struct lull_spool_stream *to;
    uint64_t time;
    const uint8_t *record;
    uint32_t size; /* without the trailer */
    struct perf_sample trailer;
};

static uint32_t at(const struct other *o, uint32_t offset)
{
    return perf_u32(o->file, o->record + offset);
}

static void emit_comm(struct other *o)
{
    uint32_t pid = at(o, 8), tid = at(o, 12);
    if (o->trailer.time == 0) {
        begin(o->file, o->to, PERF_CLASS_TASK, o->time, pid, tid);
        put_u32(o->to, tid);
        put_u32(o->to, pid);
    } else {
        begin(o->file, o->to, PERF_CLASS_COMM, o->time, pid, tid);
        put_u32(o->to, tid);
        put_u8(o->to, (perf_u16(o->file, o->record + 4) & MISC_EXEC) != 0);
    }
    put_text(o->to, o->record + 16, o->size - 16);
}

/* Forks and exits have the same form: pid, ppid, tid, ptid, time. */
static void emit_life(struct other *o)
{
    bool is_fork = perf_u32(o->file, o->record) == PERF_FORK;
    uint32_t pid = at(o, 8), ppid = at(o, 12), tid = at(o, 16), ptid = at(o, 20);
    if (o->trailer.time == 0) /* of a task that was there; its name comes too */
        return;
    begin(o->file, o->to, is_fork ? PERF_CLASS_FORK : PERF_CLASS_EXIT, o->time,
          is_fork ? ppid : pid, is_fork ? ptid : tid);
    if (is_fork) {
        put_u32(o->to, ptid);
        put_u32(o->to, ppid);
        put_u32(o->to, tid);
        put_u32(o->to, pid);
    } else {
        put_u32(o->to, tid);
        put_u32(o->to, pid);
    }
}

static void emit_map(struct other *o)
{
    bool is_second = perf_u32(o->file, o->record) == PERF_MMAP2;
    uint32_t name = is_second ? 72 : 40;
    begin(o->file, o->to, PERF_CLASS_MMAP, o->time, at(o, 8), at(o, 12));
    for (uint32_t i = 16; i < 40; i += 8)
        put_u64(o->to, perf_u64(o->file, o->record + i));
    put_u32(o->to, is_second ? at(o, 64) : 0);
    put_text(o->to, o->record + name, o->size - name);
}

static void emit_switch(struct other *o)
{
    bool is_wide = perf_u32(o->file, o->record) == PERF_SWITCH_CPU_WIDE;
    uint16_t misc = perf_u16(o->file, o->record + 4);
    begin(o->file, o->to, PERF_CLASS_SWITCH, o->time, o->trailer.pid, o->trailer.tid);
    put_u8(o->to, (misc & MISC_SWITCH_OUT) != 0);
    put_u8(o->to, (misc & MISC_SWITCH_PREEMPT) != 0);
    put_u32(o->to, is_wide ? at(o, 8) : UINT32_MAX);
    put_u32(o->to, is_wide ? at(o, 12) : UINT32_MAX);
}

static void emit_lost(struct other *o)
{
    bool is_samples = perf_u32(o->file, o->record) == PERF_LOST_SAMPLES;
    uint64_t n = perf_u64(o->file, o->record + (is_samples ? 8 : 16));
    if (is_samples && o->trailer.time == 0) {
        o->file->n_lost_counted += n; /* perf asked the kernel for its counters in the end */
    } else if (n > 0) {
        o->file->n_lost += n;
        lull_spool_lost(o->to, o->time, n);
    }
}

/* By kind: the bytes that a record has at least, without its trailer. */
static const struct {
    uint32_t least;
    void (*emit)(struct other *o);
} kinds[] = {
    [PERF_MMAP] = {40, emit_map},
    [PERF_MMAP2] = {72, emit_map},
    [PERF_LOST] = {24, emit_lost},
    [PERF_LOST_SAMPLES] = {16, emit_lost},
    [PERF_COMM] = {16, emit_comm},
    [PERF_FORK] = {32, emit_life},
    [PERF_EXIT] = {32, emit_life},
    [PERF_SWITCH] = {8, emit_switch},
    [PERF_SWITCH_CPU_WIDE] = {16, emit_switch},
};

void perf_event_emit(struct perf_file *file, int32_t cpu, uint64_t time, const uint8_t *record,
                     uint32_t size)
{
    struct other o = {.file = file, .time = time, .record = record};
    uint32_t type = perf_u32(file, record);
    o.to = lull_spool_stream_of(file->spool, cpu);
    if (type == PERF_SAMPLE) {
        emit_sample(file, o.to, record, size);
        return;
    }
    const struct perf_attr *attr = perf_attr_of(file, record, size, false);
    if (type >= G_N_ELEMENTS(kinds) || kinds[type].emit == NULL || attr == NULL)
        return;
    o.size = size - perf_trailer_parse(file, attr, record, size, &o.trailer);
    if (o.size < kinds[type].least) {
        file->n_unreadable++;
        return;
    }
    if (o.trailer.time == 0)
        o.time = MAX(o.to->last_time, file->start_ns == UINT64_MAX ? 0 : file->start_ns);
    kinds[type].emit(&o);
}

/* ---- names ---- */

bool perf_event_is_noted(const struct perf_file *file, const uint8_t *record, uint32_t size)
{
    uint32_t type = perf_u32(file, record);
    return (type == PERF_COMM && size > 16) || (type == PERF_FORK && size >= 32);
}

void perf_event_note(struct perf_file *file, const uint8_t *record, uint64_t time, uint64_t settled)
{
    char name[COMM_BYTES + 1] = "";
    if (perf_u32(file, record) == PERF_FORK) {
        if (time != 0)
            perf_names_fork(file->names, perf_u32(file, record + 20), perf_u32(file, record + 16),
                            time, settled);
        return;
    }
    size_t room = perf_u16(file, record + 6) - 16u;
    memcpy(name, record + 16, strnlen((const char *)record + 16, MIN(room, COMM_BYTES)));
    perf_names_set(file->names, perf_u32(file, record + 12), time, name, settled);
}
