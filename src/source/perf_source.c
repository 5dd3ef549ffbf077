/* A perf.data as a source: one trace, of one machine, with a stream for each CPU. */
#include <string.h>

#include "source/file_kinds.h"
#include "source/perf_stream.h"

struct perf_source {
    struct lull_source base;
    struct perf_file *file;
    GPtrArray *streams; /* struct lull_perf_stream */
    char *tracer;
    const char *environment[16];
};

/* ---- operations ---- */

static void source_free(struct lull_source *base)
{
    struct perf_source *source = (struct perf_source *)base;
    g_ptr_array_unref(source->streams);
    perf_file_free(source->file);
    g_free(source->tracer);
    g_free((char *)base->info.path);
    g_free(source);
}

static void source_subscribe(struct lull_source *base,
                             const struct lull_subscription *subscriptions, const int32_t *of_class,
                             uint32_t max_fields_size, const struct lull_fields *const *extra,
                             uint32_t max_extra_size)
{
    struct perf_source *source = (struct perf_source *)base;
    uint32_t size = max_fields_size + max_extra_size;
    lull_formats_subscribe(source->file->formats, subscriptions, of_class, max_fields_size, extra);
    for (guint i = 0; i < source->streams->len; i++) {
        struct lull_perf_stream *stream = source->streams->pdata[i];
        g_free(stream->fields);
        stream->fields = g_malloc0(MAX(size, 8));
        stream->base.event.fields = stream->fields;
    }
}

static const struct lull_format *format_at(const struct lull_source *base, uint32_t class_index)
{
    return ((const struct perf_source *)base)->file->formats->all->pdata[class_index];
}

static void source_each_field(const struct lull_source *base, uint32_t class_index,
                              void (*visit)(void *user, const struct lull_field_info *field),
                              void *user)
{
    lull_format_each_field(format_at(base, class_index), visit, user);
}

static bool source_describe(const struct lull_source *base, uint32_t class_index, const char *path,
                            struct lull_field_type *type)
{
    return lull_format_describe(format_at(base, class_index), path, type);
}

static const struct lull_formats *source_formats(const struct lull_source *base)
{
    return ((const struct perf_source *)base)->file->formats;
}

static const struct lull_source_ops source_ops = {
    .free = source_free,
    .subscribe = source_subscribe,
    .each_field = source_each_field,
    .describe = source_describe,
    .formats = source_formats,
};

/* ---- description ---- */

static void add_environment(struct perf_source *source, const char *key, const char *value)
{
    unsigned n = 0;
    if (value == NULL || *value == '\0')
        return;
    while (source->environment[n] != NULL)
        n += 2;
    g_assert(n + 3 <= G_N_ELEMENTS(source->environment));
    source->environment[n] = key;
    source->environment[n + 1] = value;
    source->base.environment = source->environment;
}

/* perf's own clock counts from the boot; with `perf record -k` it is one of these. */
static const char *clock_name(const struct perf_file *file)
{
    static const char *const names[] = {
        [0] = "realtime", [1] = "monotonic", [4] = "monotonic_raw", [7] = "boottime", [11] = "tai"};
    const struct perf_attr *first = file->attrs->pdata[0];
    int32_t clock = file->machine.has_clock ? file->machine.clock : first->clock;
    const char *name = clock >= 0 && (size_t)clock < G_N_ELEMENTS(names) ? names[clock] : NULL;
    return name != NULL ? name : "perf";
}

static void describe(struct perf_source *source)
{
    const struct perf_file *file = source->file;
    const struct perf_machine *machine = &file->machine;
    struct lull_trace *info = &source->base.info;
    if (machine->hostname != NULL && *machine->hostname != '\0')
        source->base.hostname = machine->hostname;
    source->tracer = g_strconcat("perf ", machine->version, NULL);
    info->kernel = machine->release != NULL ? machine->release : "";
    info->tracer = g_strchomp(source->tracer);
    info->domain = "kernel";
    info->name = info->process = "";
    info->process_id = -1;
    info->format = file->is_pipe ? "perf.data (pipe)" : "perf.data";
    info->clock_name = clock_name(file);
    info->clock_frequency_hz = 1000000000;
    info->clock_offset_ns = lull_perf_own_time(file, 0);
    info->directory_count = 1;
    info->size_bytes = file->size;
    info->begin_ns = INT64_MAX;
    info->end_ns = INT64_MIN;
    add_environment(source, "domain", "kernel");
    add_environment(source, "hostname", source->base.hostname);
    add_environment(source, "kernel_release", info->kernel);
    add_environment(source, "architecture", machine->architecture);
    add_environment(source, "tracer_name", "perf");
    add_environment(source, "clock", info->clock_name);
}

/* ---- opening ---- */

static void free_stream(gpointer stream)
{
    lull_perf_stream_free(stream);
}

static void add_streams(struct perf_source *source)
{
    struct lull_trace *info = &source->base.info;
    const struct perf_file *file = source->file;
    for (guint i = 0; i < file->cpus->len; i++) {
        struct lull_perf_stream *stream = lull_perf_stream_new(file, file->cpus->pdata[i]);
        info->begin_ns = MIN(info->begin_ns, stream->base.begin_ns);
        info->end_ns = MAX(info->end_ns, stream->base.end_ns);
        g_ptr_array_add(source->streams, stream);
    }
}

static void tell_losses(const struct perf_file *file)
{
    for (guint i = 0; i < file->losses->len && file->start <= file->end; i++) {
        const struct perf_loss *loss = &g_array_index(file->losses, struct perf_loss, i);
        file->report->lost(file->report->user, loss->cpu->number,
                           lull_perf_own_time(file, MIN(loss->begin, file->end)),
                           lull_perf_own_time(file, MIN(loss->end, file->end)), loss->events,
                           loss->events == 0);
    }
}

struct lull_source *lull_perf_source_open(struct lull_place *place,
                                          const struct lull_report *report, GError **error)
{
    g_autofree char *path = g_build_filename(place->path, place->file, NULL);
    struct lull_bytes *bytes = NULL;
    uint64_t size;
    if (lull_place_bytes(place, place->file, &bytes, &size, error) != LULL_PLACE_FILE)
        return NULL;
    struct perf_file *file = perf_file_open(path, bytes, size, report, error);
    if (file == NULL)
        return NULL;
    struct perf_source *source = g_new0(struct perf_source, 1);
    source->base.ops = &source_ops;
    source->base.info.path = g_steal_pointer(&path);
    source->base.info.below = "";
    source->file = file;
    source->streams = g_ptr_array_new_with_free_func(free_stream);
    perf_classes_finish(file, &source->base);
    describe(source);
    add_streams(source);
    tell_losses(file);
    source->base.classes = file->formats->classes;
    source->base.n_classes = file->formats->all->len;
    source->base.streams = (struct lull_source_stream **)source->streams->pdata;
    source->base.n_streams = source->base.info.stream_count = source->streams->len;
    return &source->base;
}
