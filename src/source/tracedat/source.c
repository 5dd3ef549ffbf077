/* SPDX-License-Identifier: MIT */
/* A trace.dat as a source: one trace, of one machine, with a stream for each CPU of each instance
 * of the ring buffer. */
#include <inttypes.h>
#include <string.h>

#include "source/tracedat/source.h"
#include "source/tracedat/stream.h"

/* More are not reported. */
#define MAX_GUESTS 256u
#define MAX_TOLD 20u

struct dat_source {
    struct lull_format_source base;
    struct lull_tracedat *file;
};

/* ---- operations ---- */

static void source_free(struct lull_source *base)
{
    struct dat_source *source = (struct dat_source *)base;
    struct lull_tracedat *file = source->file;
    lull_format_source_free(&source->base);
    lull_tracedat_free(file);
}

/* Formats are those of all events that the kernel has, recorded or not. */
static void source_find_used(const struct lull_source *base, bool *used)
{
    const struct dat_source *source = (const struct dat_source *)base;
    lull_tracedat_survey_each(source->base.streams, lull_tracedat_survey_count);
    for (guint i = 0; i < source->base.streams->len; i++) {
        const struct lull_tracedat_stream *stream = source->base.streams->pdata[i];
        for (guint k = 0; k < stream->counts->len; k++) {
            used[g_array_index(stream->counts, struct lull_tracedat_count, k).class_index] = true;
        }
    }
}

static char *source_symbols(const struct lull_source *base, gsize *length)
{
    return lull_tracedat_symbols(((const struct dat_source *)base)->file, length);
}

static const struct lull_source_ops source_ops = {
    .free = source_free,
    .subscribe = lull_format_source_subscribe,
    .each_field = lull_format_source_each_field,
    .describe = lull_format_source_describe,
    .find_used = source_find_used,
    .formats = lull_format_source_formats,
    .symbols = source_symbols,
};

/* ---- description ---- */

static const char *keep(struct dat_source *source, char *text)
{
    return lull_format_source_keep(&source->base, text);
}

static void add_environment(struct dat_source *source, const char *key, const char *value)
{
    lull_format_source_add(&source->base, key, value);
}

/* That of the first instance with pages; else of the top one, "[local] global counter": the one in
 * brackets, or a word on its own. */
static const char *clock_name(struct dat_source *source)
{
    const char *text = source->file->clock ? source->file->clock : "";
    for (guint i = source->file->buffers->len; i-- > 0;) {
        const struct lull_tracedat_buffer *buffer = source->file->buffers->pdata[i];
        for (guint k = 0; *buffer->clock != '\0' && k < buffer->cpus->len; k++) {
            if (g_array_index(buffer->cpus, struct lull_tracedat_cpu, k).size > 0) {
                text = buffer->clock;
            }
        }
    }
    const char *start = strchr(text, '[');
    size_t length = start ? strcspn(start + 1, "]") : strcspn(text, " \n");
    return keep(source, g_strndup(start ? start + 1 : text, length));
}

/* "Linux HOST RELEASE VERSION MACHINE" */
static void describe_system(struct dat_source *source)
{
    const char *uname = source->file->uname ? source->file->uname : "";
    g_auto(GStrv) words = g_strsplit(uname, " ", 4);
    if (g_strv_length(words) < 3 || *words[1] == '\0') {
        return;
    }
    source->base.source.hostname = keep(source, g_strdup(words[1]));
    source->base.source.info.kernel = keep(source, g_strdup(words[2]));
    add_environment(source, "sysname", keep(source, g_strdup(words[0])));
    add_environment(source, "hostname", source->base.source.hostname);
    add_environment(source, "kernel_release", source->base.source.info.kernel);
    if (words[3]) {
        add_environment(source, "architecture", keep(source, g_strdup(strrchr(uname, ' ') + 1)));
    }
}

/* The traces of a host and its guests have one clock if the guests' times have been shifted to the
 * host's; all of them name it by the host's trace. */
static void describe_guests(struct dat_source *source)
{
    const struct lull_tracedat *file = source->file;
    bool is_shifted = file->peer_id != 0 && file->n_shifts > 0;
    if (is_shifted || file->guests->len > 0) {
        source->base.source.joined_clock =
            keep(source,
                 g_strdup_printf("trace-cmd %016" PRIx64, is_shifted ? file->peer_id : file->id));
    }
    if (is_shifted) {
        add_environment(source, "host_trace_id",
                        keep(source, g_strdup_printf("%016" PRIx64, file->peer_id)));
    }
    if (file->id != 0) {
        add_environment(source, "trace_id", keep(source, g_strdup_printf("%016" PRIx64, file->id)));
    }
    for (guint i = 0; i < MIN(file->guests->len, MAX_GUESTS); i++) {
        const struct lull_tracedat_guest *guest = file->guests->pdata[i];
        g_autoptr(GString) tids = g_string_new(NULL);
        for (guint k = 0; k < guest->tids->len; k++) {
            g_string_append_printf(tids, "%s%d", k == 0 ? "" : " ",
                                   g_array_index(guest->tids, int32_t, k));
        }
        add_environment(source, keep(source, g_strdup_printf("guest_%u_name", i)),
                        keep(source, g_strdup(guest->name)));
        add_environment(source, keep(source, g_strdup_printf("guest_%u_trace_id", i)),
                        keep(source, g_strdup_printf("%016" PRIx64, guest->id)));
        add_environment(source, keep(source, g_strdup_printf("guest_%u_vcpu_tids", i)),
                        keep(source, g_strdup(tids->str)));
    }
}

static void describe(struct dat_source *source)
{
    const struct lull_tracedat *file = source->file;
    struct lull_trace *info = &source->base.source.info;
    describe_system(source);
    info->tracer = file->tool
                       ? keep(source, g_strdup_printf("trace-cmd %s", g_strstrip(file->tool)))
                       : "trace-cmd";
    lull_format_source_set_info(&source->base, file->version == 6 ? "trace.dat 6" : "trace.dat 7",
                                clock_name(source), file->offset_ns);
    add_environment(source, "domain", "kernel");
    add_environment(source, "tracer_name", "trace-cmd");
    add_environment(source, "clock", info->clock_name);
    describe_guests(source);
}

/* ---- opening ---- */

static int by_location(gconstpointer a, gconstpointer b)
{
    const struct lull_tracedat_cpu *x = *(const struct lull_tracedat_cpu *const *)a;
    const struct lull_tracedat_cpu *y = *(const struct lull_tracedat_cpu *const *)b;
    return (x->offset > y->offset) - (x->offset < y->offset);
}

/* Pages belong to one CPU. Else a small file could hold any number of events. */
static void leave_out_overlaps(struct dat_source *source)
{
    const struct lull_tracedat *file = source->file;
    g_autoptr(GPtrArray) locations = g_ptr_array_new();
    for (guint i = 0; i < file->buffers->len; i++) {
        const struct lull_tracedat_buffer *buffer = file->buffers->pdata[i];
        for (guint k = 0; k < buffer->cpus->len; k++) {
            struct lull_tracedat_cpu *cpu =
                &g_array_index(buffer->cpus, struct lull_tracedat_cpu, k);
            if (cpu->size > 0 && cpu->offset < file->size) {
                g_ptr_array_add(locations, cpu);
            }
        }
    }
    g_ptr_array_sort(locations, by_location);
    uint64_t end = 0, n = 0;
    for (guint i = 0; i < locations->len; i++) {
        struct lull_tracedat_cpu *cpu = locations->pdata[i];
        cpu->is_left_out = cpu->offset < end;
        if (!cpu->is_left_out) {
            end = cpu->offset + MIN(cpu->size, file->size - cpu->offset);
        } else if (n++ < MAX_TOLD) {
            lull_report_problem(file->report,
                                "%s: byte %" PRIu64 ": the pages of CPU %d overlap those of "
                                "another; they are left out",
                                file->path, cpu->offset, cpu->cpu);
        }
    }
}

static void add_stream(struct dat_source *source, const struct lull_tracedat_buffer *buffer,
                       uint32_t number, const struct lull_tracedat_cpu *cpu)
{
    if (cpu->size == 0 || cpu->is_left_out) {
        return;
    }
    struct lull_tracedat_stream *stream =
        lull_tracedat_stream_new(source->file, buffer, cpu, source->base.streams->len);
    stream->base.stream.class_id = number;
    g_ptr_array_add(source->base.streams, stream);
}

static void survey_streams(struct dat_source *source)
{
    struct lull_trace *info = &source->base.source.info;
    lull_tracedat_survey_each(source->base.streams, lull_tracedat_survey);
    for (guint i = 0; i < source->base.streams->len; i++) {
        struct lull_tracedat_stream *stream = source->base.streams->pdata[i];
        const struct lull_tracedat_buffer *buffer =
            source->file->buffers->pdata[stream->base.stream.class_id];
        lull_tracedat_survey_report(stream, buffer->name);
        info->packet_count += lull_tracedat_pages_count(stream->pages);
        info->size_bytes += stream->base.stream.size_bytes;
        info->start_ns = MIN(info->start_ns, stream->base.stream.start_ns);
        info->end_ns = MAX(info->end_ns, stream->base.stream.end_ns);
    }
}

static void add_streams(struct dat_source *source)
{
    const struct lull_tracedat *file = source->file;
    const struct lull_tracedat_buffer *first = NULL;
    for (guint i = 0; i < file->buffers->len; i++) {
        const struct lull_tracedat_buffer *buffer = file->buffers->pdata[i];
        guint before = source->base.streams->len;
        if (!lull_tracedat_is_readable(buffer)) {
            lull_report_problem(file->report,
                                "%s: buffer '%s' has an impossible page size (%u bytes); it is "
                                "left out",
                                file->path, buffer->name, buffer->page_bytes);
            continue;
        }
        for (guint k = 0; k < buffer->cpus->len; k++) {
            add_stream(source, buffer, i,
                       &g_array_index(buffer->cpus, struct lull_tracedat_cpu, k));
        }
        if (source->base.streams->len == before) {
            continue;
        }
        if (first && strcmp(first->clock, buffer->clock) != 0) {
            lull_report_remark(file->report,
                               "%s: buffer '%s' was recorded with the clock '%s', buffer '%s' "
                               "with '%s': their times cannot be compared",
                               file->path, buffer->name, buffer->clock, first->name, first->clock);
        }
        first = first ? first : buffer;
    }
}

struct lull_source *lull_tracedat_source_open(struct lull_location *location,
                                              const struct lull_report *report, GError **error)
{
    g_autofree char *path = g_build_filename(location->path, location->file, NULL);
    struct lull_bytes *bytes = NULL;
    uint64_t size;
    if (lull_location_bytes(location, location->file, &bytes, &size, error) != LULL_OPEN_DONE) {
        return NULL;
    }
    struct lull_tracedat *file = lull_tracedat_open(path, bytes, size, report, error);
    if (!file) {
        return NULL;
    }
    struct dat_source *source = g_new0(struct dat_source, 1);
    lull_format_source_init(&source->base, &source_ops, g_steal_pointer(&path), file->formats,
                            (GDestroyNotify)lull_tracedat_stream_free);
    source->file = file;
    lull_formats_finish(file->formats, &source->base.source);
    describe(source);
    source->base.source.task_names = file->cmdlines;
    leave_out_overlaps(source);
    add_streams(source);
    survey_streams(source);
    lull_format_source_finish(&source->base);
    return &source->base.source;
}
