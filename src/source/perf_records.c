/* The records of a perf.data: those that tell of the recording are taken in at once, those that
 * tell of the machine wait to be put in order. */
#include "source/perf.h"

#include <string.h>

enum update { UPDATE_NAME = 2 };

static void short_record(struct perf_file *file, uint32_t type, uint64_t offset)
{
    if (type < G_N_ELEMENTS(file->told) && !file->told[type])
        lull_report_problem(file->report,
                            "%s: byte %" G_GUINT64_FORMAT
                            ": a record of kind %u is shorter than it says; such are left out",
                            file->path, offset, type);
    if (type < G_N_ELEMENTS(file->told))
        file->told[type] = true;
    file->n_unreadable++;
}

/* ---- what tells of the recording ---- */

static bool take_attr(struct perf_file *file, const uint8_t *record, uint32_t size)
{
    uint32_t attr_size = size >= 16 ? perf_u32(file, record + 12) : 0;
    if (attr_size > size - 8)
        return false;
    struct perf_attr *attr = perf_attr_add(file, record + 8, attr_size);
    for (uint32_t at = 8 + attr_size; attr != NULL && at + 8 <= size; at += 8)
        perf_attr_own_id(file, attr, perf_u64(file, record + at));
    return attr != NULL;
}

static bool take_update(struct perf_file *file, const uint8_t *record, uint32_t size)
{
    if (size < 24)
        return false;
    uint64_t id = perf_u64(file, record + 16);
    struct perf_attr *attr = g_hash_table_lookup(file->by_id, &id);
    if (perf_u64(file, record + 8) == UPDATE_NAME && attr != NULL) {
        g_free(attr->name);
        attr->name = g_strndup((const char *)record + 24, size - 24);
    }
    return true;
}

static bool take_feature(struct perf_file *file, const uint8_t *record, uint32_t size)
{
    if (size < 16)
        return false;
    perf_feature_take(file, perf_u64(file, record + 8), record + 16, size - 16);
    return true;
}

/* ---- when it is known which events there are ---- */

/* Which meaning of perf's own records tracepoints have too, and tell better. */
static uint32_t meaning_of(const struct lull_format *format)
{
    static const struct {
        const char *system, *name;
        uint32_t kinds;
    } meanings[] = {
        {"sched", "sched_process_fork", 1u << PERF_FORK},
        {"sched", "sched_process_exit", 1u << PERF_EXIT},
        {"task", "task_rename", 1u << PERF_COMM},
    };
    for (unsigned i = 0; i < G_N_ELEMENTS(meanings); i++)
        if (strcmp(format->system, meanings[i].system) == 0 &&
            strcmp(format->event_class.name, meanings[i].name) == 0)
            return meanings[i].kinds;
    return 0;
}

static void tell_apart(struct perf_file *file)
{
    file->is_told_apart = true;
    for (guint i = 0; i < file->attrs->len; i++) {
        struct perf_attr *attr = file->attrs->pdata[i];
        if (attr->type == PERF_TYPE_TRACEPOINT && file->formats != NULL &&
            attr->config < LULL_FORMAT_IDS)
            attr->format = lull_formats_find(file->formats, (uint16_t)attr->config);
        if (attr->format != NULL)
            file->prefer |= meaning_of(attr->format);
        perf_attr_compile(attr);
    }
}

/* ---- what tells of the machine ---- */

static void take_sample(struct perf_file *file, const uint8_t *record, uint32_t size,
                        uint64_t offset)
{
    struct perf_sample sample;
    struct perf_attr *attr = perf_attr_of(file, record, size, true);
    if (attr == NULL) {
        file->n_unknown++;
        return;
    }
    if (!perf_sample_parse(file, attr, record, size, &sample)) {
        short_record(file, PERF_SAMPLE, offset);
        return;
    }
    if (!(attr->sample_type & PERF_HAS_TIME)) {
        attr->n_timeless++;
        return;
    }
    file->start_ns = MIN(file->start_ns, sample.time);
    file->end_ns = MAX(file->end_ns, sample.time);
    perf_order_add(file->order, sample.cpu, sample.time, record, size);
}

static void take_other(struct perf_file *file, uint32_t type, const uint8_t *record, uint32_t size)
{
    struct perf_sample trailer;
    struct perf_attr *attr = perf_attr_of(file, record, size, false);
    if (attr == NULL)
        return;
    perf_trailer_parse(file, attr, record, size, &trailer);
    if (trailer.time == 0) /* perf made it up, from what /proc told when it began */
        trailer.cpu = -1;
    else
        file->start_ns = MIN(file->start_ns, trailer.time);
    if (perf_event_is_noted(file, record, size))
        perf_order_note(file->order, trailer.time, record, size);
    if (type < 32 && (file->prefer >> type & 1) && trailer.time != 0)
        return;
    perf_order_add(file->order, trailer.cpu, trailer.time, record, size);
}

void perf_record_take(struct perf_file *file, const uint8_t *record, uint32_t size, uint64_t offset)
{
    uint32_t type = perf_u32(file, record);
    bool is_whole = true;
    file->n_records++;
    if (type == PERF_HEADER_ATTR)
        is_whole = file->is_told_apart || take_attr(file, record, size);
    else if (type == PERF_EVENT_UPDATE)
        is_whole = file->is_told_apart || take_update(file, record, size);
    else if (type == PERF_HEADER_FEATURE)
        is_whole = take_feature(file, record, size);
    if (!is_whole)
        short_record(file, type, offset);
    if (type == PERF_FINISHED_ROUND)
        perf_order_flush(file->order, file, false);
    if (type >= PERF_KERNEL_RECORDS)
        return;
    if (!file->is_told_apart)
        tell_apart(file);
    if (type == PERF_SAMPLE)
        take_sample(file, record, size, offset);
    else
        take_other(file, type, record, size);
    if (perf_order_is_full(file->order))
        perf_order_flush(file->order, file, true);
}

/* ---- the end ---- */

static void tell_of_attr(struct perf_file *file, const struct perf_attr *attr, guint index)
{
    g_autofree char *number = g_strdup_printf("number %u", index);
    const char *name = attr->name != NULL ? attr->name : number;
    if (attr->n_timeless > 0)
        lull_report_problem(file->report,
                            "%s: %" G_GUINT64_FORMAT " samples of event %s have no time (record "
                            "them with --timestamp); they are left out",
                            file->path, attr->n_timeless, name);
    if (attr->n_damaged > 0)
        lull_report_problem(file->report,
                            "%s: %" G_GUINT64_FORMAT " samples of event %s hold less than its "
                            "format says; they are left out",
                            file->path, attr->n_damaged, name);
}

void perf_records_end(struct perf_file *file)
{
    uint64_t n_late = 0;
    if (!file->is_told_apart)
        tell_apart(file);
    perf_order_flush(file->order, file, true);
    if (file->n_lost_counted > file->n_lost && file->start_ns <= file->end_ns) {
        struct lull_spool_stream *stream = lull_spool_stream_of(file->spool, -1);
        lull_spool_lost(stream, file->start_ns, 0);
        lull_spool_lost(stream, file->end_ns, file->n_lost_counted - file->n_lost);
    }
    for (guint i = 0; i < file->attrs->len; i++)
        tell_of_attr(file, file->attrs->pdata[i], i);
    if (file->n_unknown > 0)
        lull_report_problem(file->report,
                            "%s: %" G_GUINT64_FORMAT " samples are of events that the header does "
                            "not know; they are left out",
                            file->path, file->n_unknown);
    for (uint32_t i = 0; i < lull_spool_count(file->spool); i++)
        n_late += lull_spool_stream_at(file->spool, i)->n_late;
    if (n_late > 0)
        lull_report_problem(file->report,
                            "%s: %" G_GUINT64_FORMAT " records are earlier than what came a round "
                            "before them; they are shown at the time of that",
                            file->path, n_late);
}
