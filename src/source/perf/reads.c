/* SPDX-License-Identifier: MIT */
/* Counters that were read with samples (PERF_SAMPLE_READ of linux/perf_event.h; `perf record -e
 * '{sched:sched_switch,cycles}:S'`). Each becomes a field of the samples that it comes with, called
 * as LTTng calls such contexts. */
#include "source/perf/perf.h"

#include <stddef.h>
#include <string.h>

/* ---- which counters there are ---- */

static const char *const prefixes[] = {
    [PERF_SCOPE_CPU] = "perf_cpu_",
    [PERF_SCOPE_THREAD] = "perf_thread_",
    [PERF_SCOPE_THREAD_CPU] = "perf_thread_on_cpu_",
};
#define LONGEST_PREFIX sizeof "perf_thread_on_cpu_"

static const struct perf_attr *attr_at(const struct perf_file *file, guint index)
{
    return file->attrs->pdata[index];
}

static bool is_read(const struct perf_attr *attr)
{
    return (attr->sample_type & PERF_HAS_READ) != 0 && attr->period != 0;
}

/* The first attr that is not of the group of `leader`: what has no samples of its own is read with
 * those of the one before. */
static guint group_end(const struct perf_file *file, guint leader)
{
    guint end = leader + 1;
    while ((attr_at(file, leader)->read_format & PERF_READ_GROUP) && end < file->attrs->len &&
           attr_at(file, end)->period == 0) {
        end++;
    }
    return end;
}

static bool is_taken(const struct perf_file *file, const char *name)
{
    for (uint32_t i = 0; i < file->n_counters; i++) {
        if (strcmp(file->counters[i].name, name) == 0) {
            return true;
        }
    }
    return false;
}

/* "page-faults:u" → "perf_cpu_page_faults_u"; the second of a name gets a number. */
static void add_counter(struct perf_file *file, struct perf_attr *attr)
{
    g_autoptr(GString) name = g_string_new(prefixes[PERF_SCOPE_CPU]);
    if (file->n_counters == PERF_MOST_COUNTERS) {
        return;
    }
    if (attr->name && *attr->name != '\0') {
        g_string_append(name, attr->name);
    } else {
        g_string_append_printf(name, "event_%u", attr->index);
    }
    for (char *at = name->str; *at != '\0'; at++) {
        *at = g_ascii_isalnum(*at) ? *at : '_';
    }
    while (name->str[name->len - 1] == '_') {
        g_string_truncate(name, name->len - 1);
    }
    const gsize length = name->len;
    for (unsigned i = 2; is_taken(file, name->str); i++) {
        g_string_truncate(name, length);
        g_string_append_printf(name, "_%u", i);
    }
    struct perf_counter *counter = &file->counters[file->n_counters];
    counter->size = name->len + LONGEST_PREFIX;
    counter->name = g_malloc0(counter->size);
    g_strlcpy(counter->name, name->str, counter->size);
    attr->counter = (uint8_t)file->n_counters++;
}

/* A tracepoint whose every occurrence is a sample need not be counted. */
static bool is_counted(const struct perf_attr *attr)
{
    return attr->type != PERF_TYPE_TRACEPOINT || attr->period != 1;
}

void perf_counters_settle(struct perf_file *file)
{
    uint32_t n = 0;
    for (guint i = 0, end; i < file->attrs->len; i = end) {
        end = group_end(file, i);
        for (guint k = i; is_read(attr_at(file, i)) && k < end; k++) {
            struct perf_attr *attr = file->attrs->pdata[k];
            if (is_counted(attr) && attr->counter == PERF_NO_COUNTER) {
                add_counter(file, attr);
                n++;
            }
        }
        if (is_read(attr_at(file, i)) && attr_at(file, i)->is_inherited && !file->knows_scope) {
            file->scope = PERF_SCOPE_THREAD_CPU;
        }
    }
    if (n > file->n_counters) {
        lull_report_remark(file->report, "%s: it has %u counters; the first %u of them are shown",
                           file->path, n, file->n_counters);
    }
}

bool perf_counters_take_index(struct perf_file *file, const uint8_t *record, uint32_t size)
{
    enum { HEAD = 16, ENTRY = 32, CPU = 16, TID = 24 };
    if (size < HEAD || perf_u64(file, record + 8) > (size - HEAD) / ENTRY) {
        return false;
    }
    const uint64_t n = perf_u64(file, record + 8);
    for (uint64_t i = 0; i < n; i++) {
        const uint8_t *entry = record + HEAD + i * ENTRY;
        const struct perf_attr *attr = perf_attr_by_id(file, perf_u64(file, entry));
        if (attr && is_read(attr)) {
            const bool is_of_thread = perf_u64(file, entry + TID) != UINT64_MAX;
            const bool is_on_cpu = perf_u64(file, entry + CPU) != UINT64_MAX;
            file->scope = !is_of_thread ? PERF_SCOPE_CPU
                          : is_on_cpu   ? PERF_SCOPE_THREAD_CPU
                                        : PERF_SCOPE_THREAD;
            file->knows_scope = true;
            return true;
        }
    }
    return true;
}

void perf_counters_finish(struct perf_file *file)
{
    for (uint32_t i = 0; i < file->n_counters && file->scope != PERF_SCOPE_CPU; i++) {
        struct perf_counter *counter = &file->counters[i];
        g_autofree char *name = g_strconcat(prefixes[file->scope],
                                            counter->name + strlen(prefixes[PERF_SCOPE_CPU]), NULL);
        g_strlcpy(counter->name, name, counter->size);
    }
}

void perf_counters_free(struct perf_file *file)
{
    for (uint32_t i = 0; i < file->n_counters; i++) {
        g_free(file->counters[i].name);
    }
}

/* ---- their fields ---- */

static void add_field(GArray *fields, const char *name, size_t offset)
{
    const struct lull_format_field field = {
        .name = name,
        .kind = LULL_INFO_INT,
        .offset = (uint32_t)(offsetof(struct perf_sample, reading) + offset),
        .size = 8,
        .element_bytes = 8,
        .is_aside = true,
        .is_context = true,
    };
    g_array_append_val(fields, field);
}

void perf_counters_add_fields(const struct perf_file *file, const bool *is_of, GArray *fields)
{
    static const struct {
        uint64_t bit;
        const char *name;
        size_t offset;
    } others[] = {
        {PERF_READ_ENABLED, "time_enabled", offsetof(struct perf_reading, time_enabled)},
        {PERF_READ_RUNNING, "time_running", offsetof(struct perf_reading, time_running)},
        {PERF_READ_LOST, "lost_samples", offsetof(struct perf_reading, lost_samples)},
    };
    uint64_t formats = 0;
    uint32_t counters = 0; /* bits */
    for (guint i = 0; i < file->attrs->len; i++) {
        const guint end = group_end(file, i);
        if (!is_of[i] || !is_read(attr_at(file, i))) {
            continue;
        }
        formats |= attr_at(file, i)->read_format;
        for (guint k = i; k < end; k++) {
            const uint8_t counter = attr_at(file, k)->counter;
            counters |= counter == PERF_NO_COUNTER ? 0 : UINT32_C(1) << counter;
        }
    }
    for (unsigned i = 0; i < G_N_ELEMENTS(others) && counters != 0; i++) {
        if (formats & others[i].bit) {
            add_field(fields, others[i].name, others[i].offset);
        }
    }
    for (uint32_t i = 0; i < file->n_counters; i++) {
        if (counters >> i & 1) {
            add_field(fields, file->counters[i].name,
                      offsetof(struct perf_reading, counters) + i * sizeof(uint64_t));
        }
    }
}

/* ---- what a sample says ---- */

/* Whose value it is: with an id that of the id's event, without one that of the sample's; which the
 * others of a group are is not known then. */
static const struct perf_attr *attr_of(const struct perf_file *file, const struct perf_attr *attr,
                                       const uint8_t *value, uint64_t index)
{
    if (attr->read_format & PERF_READ_ID) {
        return perf_attr_by_id(file, perf_u64(file, value + 8));
    }
    return index == 0 ? attr : NULL;
}

void perf_read_nothing(const struct perf_file *file, struct perf_reading *reading)
{
    reading->time_enabled = reading->time_running = reading->lost_samples = 0;
    memset(reading->counters, 0xff, file->n_counters * sizeof *reading->counters);
}

uint64_t perf_read_take(const struct perf_file *file, const struct perf_attr *attr,
                        const uint8_t *from, uint64_t size, struct perf_reading *reading)
{
    const uint64_t format = attr->read_format;
    const uint64_t each =
        8 * (1u + ((format & PERF_READ_ID) != 0) + ((format & PERF_READ_LOST) != 0));
    const uint64_t n_head = ((format & PERF_READ_GROUP) != 0) +
                            ((format & PERF_READ_ENABLED) != 0) +
                            ((format & PERF_READ_RUNNING) != 0);
    perf_read_nothing(file, reading);
    if (size < 8 * n_head + each) { /* a group has a leader */
        return UINT64_MAX;
    }
    /* A group starts with how many there are; without a group the times follow the value. */
    const bool is_group = (format & PERF_READ_GROUP) != 0;
    const uint64_t n = is_group ? perf_u64(file, from) : 1;
    const uint8_t *times = from + 8, *values = is_group ? from + 8 * n_head : from;
    if (n > (size - 8 * n_head) / each) {
        return UINT64_MAX;
    }
    if (format & PERF_READ_ENABLED) {
        reading->time_enabled = perf_u64(file, times);
        times += 8;
    }
    if (format & PERF_READ_RUNNING) {
        reading->time_running = perf_u64(file, times);
        times += 8;
    }
    if (!is_group) {
        values = times - 8; /* so that what follows a value is where it is in a group */
    }
    for (uint64_t i = 0; i < n; i++) {
        const uint8_t *value = values + i * each;
        const struct perf_attr *owner = attr_of(file, attr, value, i);
        if (owner && owner->counter != PERF_NO_COUNTER) {
            reading->counters[owner->counter] = perf_u64(file, is_group ? value : from);
        }
        if (i == 0 && (format & PERF_READ_LOST)) {
            reading->lost_samples = perf_u64(file, value + each - 8);
        }
    }
    return 8 * n_head + n * each;
}
