/* SPDX-License-Identifier: MIT */
/* What the header of a perf.data says about the machine and the events: its features, and the
 * "tracing data", which holds the formats of tracepoints (perf.data-file-format.txt and
 * trace-event-info.c of Linux say how both are laid out). */
#include "source/perf/perf.h"

#include <string.h>

struct reader {
    const struct perf_file *file;
    const uint8_t *at, *end;
    bool is_big_endian;
    bool is_short;
    GHashTable *wanted; /* numbers of the tracepoints that were recorded with their data */
};

static const uint8_t *take(struct reader *r, uint64_t bytes)
{
    const uint8_t *at = r->at;
    if (bytes > (uint64_t)(r->end - r->at)) {
        r->is_short = true;
        r->at = r->end;
        return NULL;
    }
    r->at += bytes;
    return at;
}

static uint64_t take_int(struct reader *r, unsigned bytes)
{
    const uint8_t *p = take(r, bytes);
    if (!p) {
        return 0;
    }
    return bytes == 8 ? lull_load_u64(p, r->is_big_endian) : lull_load_u32(p, r->is_big_endian);
}

/* A text after its length, which counts padding; NULL if it is not there. */
static char *take_text(struct reader *r)
{
    uint64_t size = take_int(r, 4);
    const uint8_t *p = take(r, size);
    return p ? g_strndup((const char *)p, size) : NULL;
}

static void replace(char **text, struct reader *r)
{
    g_free(*text);
    *text = take_text(r);
}

void perf_machine_clear(struct perf_machine *machine)
{
    g_free(machine->hostname);
    g_free(machine->release);
    g_free(machine->version);
    g_free(machine->architecture);
}

/* ---- features ---- */

static void take_clock(struct perf_file *file, struct reader *r)
{
    struct perf_machine *machine = &file->machine;
    uint64_t version = take_int(r, 4);
    machine->clock = (int32_t)take_int(r, 4);
    machine->wall_ns = take_int(r, 8);
    machine->clock_ns = take_int(r, 8);
    machine->has_clock = version == 1 && !r->is_short && machine->wall_ns <= PERF_LAST_TIME &&
                         machine->clock_ns <= PERF_LAST_TIME;
}

/* Names of events, with the ids that identify them. */
static void take_descriptions(struct perf_file *file, struct reader *r)
{
    uint64_t n = take_int(r, 4), attr_size = take_int(r, 4);
    for (uint64_t i = 0; i < n && !r->is_short; i++) {
        take(r, attr_size);
        uint64_t n_ids = take_int(r, 4);
        g_autofree char *name = take_text(r);
        struct perf_attr *attr = i < file->attrs->len ? file->attrs->pdata[i] : NULL;
        for (uint64_t k = 0; k < n_ids && !r->is_short; k++) {
            uint64_t id = take_int(r, 8);
            struct perf_attr *owner = perf_attr_by_id(file, id);
            if (!r->is_short && owner) {
                attr = owner;
            }
        }
        if (attr && !attr->name) {
            attr->name = g_steal_pointer(&name);
        }
    }
}

void perf_feature_take(struct perf_file *file, uint64_t feature, const uint8_t *data, uint64_t size)
{
    struct perf_machine *machine = &file->machine;
    struct reader r = {file, data, data + size, file->is_big_endian, false, NULL};
    switch (feature) {
    case PERF_FEATURE_TRACING_DATA:
        if (!file->tracing) {
            file->tracing = g_bytes_new(data, size);
        }
        return;
    case PERF_FEATURE_DIR_FORMAT:
        file->is_split = true;
        return;
    case PERF_FEATURE_BUILD_ID:
        r.is_short = !perf_build_ids_take(file, data, size);
        break;
    case PERF_FEATURE_HOSTNAME:
        replace(&machine->hostname, &r);
        break;
    case PERF_FEATURE_OSRELEASE:
        replace(&machine->release, &r);
        break;
    case PERF_FEATURE_VERSION:
        replace(&machine->version, &r);
        break;
    case PERF_FEATURE_ARCH:
        replace(&machine->architecture, &r);
        break;
    case PERF_FEATURE_EVENT_DESC:
        take_descriptions(file, &r);
        break;
    case PERF_FEATURE_CLOCK_DATA:
        take_clock(file, &r);
        break;
    default:
        return;
    }
    if (r.is_short) {
        lull_report_problem(file->report,
                            "%s: feature %" G_GUINT64_FORMAT
                            " of the header is shorter than it says; it is left out",
                            file->path, feature);
    }
}

/* ---- tracing data ---- */

static const char *take_string(struct reader *r)
{
    const uint8_t *zero = memchr(r->at, 0, (size_t)(r->end - r->at));
    return zero ? (const char *)take(r, (uint64_t)(zero - r->at) + 1) : NULL;
}

/* Steps over one of the descriptions of the ring buffer's pages. */
static bool skip_page(struct reader *r, const char *name)
{
    const char *found = take_string(r);
    if (!found || strcmp(found, name) != 0) {
        return false;
    }
    take(r, take_int(r, 8));
    return !r->is_short;
}

/* The number in the second line of a format; UINT64_MAX: none. */
static uint64_t number_of(const char *text, uint64_t size)
{
    g_autofree char *start = g_strndup(text, MIN(size, 1024));
    const char *id = strstr(start, "\nID: ");
    return id ? g_ascii_strtoull(id + strlen("\nID: "), NULL, 10) : UINT64_MAX;
}

/* Formats of events that were not recorded are left. */
static void add_format(struct perf_file *file, struct reader *r, const char *system)
{
    g_autoptr(GError) error = NULL;
    uint64_t size = take_int(r, 8);
    const char *text = (const char *)take(r, size);
    if (!text) {
        return;
    }
    uint64_t number = number_of(text, size);
    if (!g_hash_table_contains(r->wanted, &number)) {
        return;
    }
    g_autoptr(GArray) aside = perf_aside_of(file, PERF_TYPE_TRACEPOINT, number);
    if (!lull_formats_add(file->formats, system, text, size,
                          (const struct lull_format_field *)(void *)aside->data, aside->len,
                          &error)) {
        lull_report_problem(file->report, "%s: %s", file->path, error->message);
    } else if (number < LULL_FORMAT_IDS && file->formats->by_id[number] &&
               file->formats->by_id[number]->undecoded) {
        const struct lull_format *format = file->formats->by_id[number];
        lull_report_remark(file->report, "%s: events '%s' are shown without their fields: %s",
                           file->path, format->event_class.name, format->undecoded);
    }
}

static const char *take_systems(struct perf_file *file, struct reader *r)
{
    for (uint64_t n = take_int(r, 4); n > 0 && !r->is_short; n--) { /* the tracer's own */
        take(r, take_int(r, 8));
    }
    for (uint64_t n = take_int(r, 4); n > 0 && !r->is_short; n--) {
        const char *system = take_string(r);
        if (!system) {
            return "its text ends within a name";
        }
        for (uint64_t k = take_int(r, 4); k > 0 && !r->is_short; k--) {
            add_format(file, r, system);
        }
    }
    return r->is_short ? "it is shorter than it says" : NULL;
}

static const char *read_tracing(struct perf_file *file, GHashTable *wanted, const uint8_t *data,
                                uint64_t size)
{
    static const uint8_t magic[10] = "\x17\x08\x44tracing";
    struct reader r = {file, data, data + size, false, false, wanted};
    const uint8_t *p = take(&r, sizeof magic);
    if (!p || memcmp(p, magic, sizeof magic) != 0 || !take_string(&r)) {
        return "it does not start like tracing data";
    }
    const uint8_t *machine = take(&r, 2); /* byte order, and bytes of a long */
    if (!machine) {
        return "it is shorter than it says";
    }
    r.is_big_endian = machine[0] != 0;
    take_int(&r, 4); /* of a page */
    if (!skip_page(&r, "header_page") || !skip_page(&r, "header_event")) {
        return "its description of pages is damaged";
    }
    file->formats = lull_formats_new(file->is_big_endian, machine[1] == 4 ? 4 : 8);
    return take_systems(file, &r);
}

void perf_tracing_read(struct perf_file *file)
{
    gsize size;
    const uint8_t *data = g_bytes_get_data(file->tracing, &size);
    g_autoptr(GHashTable) wanted = g_hash_table_new(g_int64_hash, g_int64_equal);
    for (guint i = 0; i < file->attrs->len; i++) {
        struct perf_attr *attr = file->attrs->pdata[i];
        if (attr->type == PERF_TYPE_TRACEPOINT && (attr->sample_type & PERF_HAS_RAW) != 0) {
            g_hash_table_add(wanted, &attr->config);
        }
    }
    const char *why = "there is nothing";
    if (size > 0) {
        why = read_tracing(file, wanted, data, size);
    }
    if (why) {
        lull_report_problem(file->report, "%s: the formats of its events cannot be read: %s",
                            file->path, why);
    }
}
