/* SPDX-License-Identifier: MIT */
/* A perf.data as a source: one trace, of one machine, with a stream for each CPU. */
#include <string.h>

#include "source/perf/source.h"
#include "source/perf/stream.h"

struct perf_source {
    struct lull_format_source base;
    struct perf_file *file;
};

/* ---- operations ---- */

static void source_free(struct lull_source *base)
{
    struct perf_source *source = (struct perf_source *)base;
    struct perf_file *file = source->file;
    lull_format_source_free(&source->base);
    perf_file_free(file);
}

static const struct lull_source_ops source_ops = {
    .free = source_free,
    .subscribe = lull_format_source_subscribe,
    .each_field = lull_format_source_each_field,
    .describe = lull_format_source_describe,
    .formats = lull_format_source_formats,
};

/* ---- description ---- */

static void add_environment(struct perf_source *source, const char *key, const char *value)
{
    if (value && *value != '\0') {
        lull_format_source_add(&source->base, key, value);
    }
}

/* perf's own clock counts from the boot; with `perf record -k` it is one of these. */
static const char *clock_name(const struct perf_file *file)
{
    static const char *const names[] = {
        [0] = "realtime", [1] = "monotonic", [4] = "monotonic_raw", [7] = "boottime", [11] = "tai"};
    const struct perf_attr *first = file->attrs->pdata[0];
    int32_t clock = file->machine.has_clock ? file->machine.clock : first->clock;
    const char *name = clock >= 0 && (size_t)clock < G_N_ELEMENTS(names) ? names[clock] : NULL;
    return name ? name : "perf";
}

static void describe(struct perf_source *source)
{
    const struct perf_file *file = source->file;
    const struct perf_machine *machine = &file->machine;
    struct lull_trace *info = &source->base.source.info;
    if (machine->hostname && *machine->hostname != '\0') {
        source->base.source.hostname = machine->hostname;
    }
    source->base.source.build_ids = g_hash_table_size(file->build_ids) > 0 ? file->build_ids : NULL;
    info->kernel = machine->release;
    char *tracer = g_strconcat("perf ", machine->version, NULL);
    info->tracer = lull_format_source_keep(&source->base, g_strchomp(tracer));
    lull_format_source_set_info(&source->base, file->is_pipe ? "perf.data (pipe)" : "perf.data",
                                clock_name(file), lull_perf_own_time(file, 0));
    info->size_bytes = file->size;
    add_environment(source, "domain", "kernel");
    add_environment(source, "hostname", source->base.source.hostname);
    add_environment(source, "kernel_release", info->kernel);
    add_environment(source, "architecture", machine->architecture);
    add_environment(source, "tracer_name", "perf");
    add_environment(source, "clock", info->clock_name);
}

/* ---- opening ---- */

static void add_streams(struct perf_source *source)
{
    struct lull_trace *info = &source->base.source.info;
    const struct perf_file *file = source->file;
    for (guint i = 0; i < file->cpus->len; i++) {
        struct lull_perf_stream *stream = lull_perf_stream_new(file, file->cpus->pdata[i]);
        info->start_ns = MIN(info->start_ns, stream->base.stream.start_ns);
        info->end_ns = MAX(info->end_ns, stream->base.stream.end_ns);
        g_ptr_array_add(source->base.streams, stream);
    }
}

static void report_losses(const struct perf_file *file)
{
    for (guint i = 0; i < file->losses->len && file->start <= file->end; i++) {
        const struct perf_loss *loss = &g_array_index(file->losses, struct perf_loss, i);
        file->report->lost(file->report->user, loss->cpu->number,
                           lull_perf_own_time(file, MIN(loss->start, file->end)),
                           lull_perf_own_time(file, MIN(loss->end, file->end)), loss->events,
                           loss->events == 0);
    }
}

struct lull_source *lull_perf_source_open(struct lull_location *location,
                                          const struct lull_report *report, GError **error)
{
    g_autofree char *path = g_build_filename(location->path, location->file, NULL);
    struct lull_bytes *bytes = NULL;
    uint64_t size;
    if (lull_location_bytes(location, location->file, &bytes, &size, error) != LULL_OPEN_DONE) {
        return NULL;
    }
    struct perf_file *file = perf_file_open(path, bytes, size, report, error);
    if (!file) {
        return NULL;
    }
    struct perf_source *source = g_new0(struct perf_source, 1);
    lull_format_source_init(&source->base, &source_ops, g_steal_pointer(&path), file->formats,
                            (GDestroyNotify)lull_perf_stream_free);
    source->file = file;
    perf_classes_finish(file, &source->base.source);
    describe(source);
    add_streams(source);
    report_losses(file);
    lull_format_source_finish(&source->base);
    return &source->base.source;
}
