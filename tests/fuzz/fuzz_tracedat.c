/* SPDX-License-Identifier: MIT */
/* Fuzz target: a trace.dat file. What was opened is read, visited, printed by its layout and
 * counted, which must find the same events; times do not go back. */
#include <stdlib.h>
#include <string.h>

#include "source/tracedat/stream.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* libtraceevent forgets some bytes of a format that it refuses. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:libtraceevent";
}

struct memory_bytes {
    struct lull_bytes base;
    const uint8_t *data;
    size_t size;
};

static const char *memory_open(struct lull_bytes *base)
{
    return NULL;
}

static uint64_t memory_read(struct lull_bytes *base, uint64_t offset, uint8_t *buf, uint64_t size,
                            const char **why)
{
    const struct memory_bytes *memory = (struct memory_bytes *)base;
    *why = "the end";
    if (offset >= memory->size) {
        return 0;
    }
    size = MIN(size, memory->size - offset);
    memcpy(buf, memory->data + offset, size);
    return size;
}

static void memory_close(struct lull_bytes *base)
{
}

static void memory_free(struct lull_bytes *base)
{
    g_free(base);
}

static struct lull_bytes *memory_share(const struct lull_bytes *base)
{
    return g_memdup2(base, sizeof(struct memory_bytes));
}

static void on_problem(void *user, const char *text)
{
    if (*text == '\0') {
        abort();
    }
}

static void on_lost(void *user, uint32_t stream, int64_t start_ns, int64_t end_ns, uint64_t events,
                    uint64_t packets)
{
    if (start_ns > end_ns) {
        abort();
    }
}

static void on_start(void *user, const char *name, enum lull_visit_kind kind)
{
}

static void on_end(void *user, enum lull_visit_kind kind)
{
}

static void on_integer(void *user, const char *name, const struct lull_visit_int *value)
{
    ((struct lull_source_tally *)user)->fields++;
    ((struct lull_source_tally *)user)->checksum += value->bits;
}

static void on_text(void *user, const char *name, struct lull_text value)
{
    ((struct lull_source_tally *)user)->fields++;
    if (value.length > 0 && memchr(value.data, 0, value.length)) {
        abort();
    }
}

/* Reads all of a stream; what it found in each way must be the same. */
static void try_stream(struct lull_tracedat_stream *stream, uint64_t *counts)
{
    static const struct lull_visitor visitor = {
        .start = on_start, .end = on_end, .integer = on_integer, .text = on_text};
    static const struct lull_source_window all = {.start_ns = INT64_MIN, .end_ns = INT64_MAX};
    struct lull_source_stream *base = &stream->base.stream;
    struct lull_source_tally visited = {0, 0}, summed = {0, 0};
    uint64_t n_read = 0, n_counted = 0, n = stream->file->formats->all->len;
    int64_t last = INT64_MIN;
    bool is_whole = true;
    stream->base.fields = g_malloc0(64);
    base->ops->start(base, &all);
    while (base->ops->next(base)) {
        if (base->event.time_ns < last) {
            abort();
        }
        last = base->event.time_ns;
        n_read++;
        is_whole = base->ops->visit(base, &visitor, &visited, NULL) && is_whole;
        struct lull_layout *layout = base->ops->layout(base, 0);
        lull_layout_free(layout);
    }
    memset(counts, 0, n * sizeof *counts);
    base->ops->start(base, &all);
    base->ops->count(base, counts);
    for (uint64_t i = 0; i < n; i++) {
        n_counted += counts[i];
    }
    base->ops->start(base, &all);
    base->ops->sum(base, counts, &summed);
    if (n_read != n_counted || (is_whole && visited.fields != summed.fields)) {
        abort();
    }
    struct lull_source_window later = all;
    later.start_ns = last;
    base->ops->start(base, &later);
    while (base->ops->next(base)) {
        if (base->event.time_ns < last) {
            abort();
        }
    }
}

static void try_file(struct lull_tracedat *file)
{
    static const char *const names[] = {"*", NULL};
    static const char *const paths[] = {"number", "common_pid", NULL};
    static const struct lull_binding binding = {paths, LULL_BIND_INT, 8};
    static const struct lull_subscription wanted = {
        .names = names, .bindings = &binding, .n_bindings = 1, .fields_size = 16};
    guint n = file->formats->all->len;
    g_autofree int32_t *of_class = g_new0(int32_t, MAX(n, 1));
    g_autofree const struct lull_fields **extra = g_new0(const struct lull_fields *, MAX(n, 1));
    g_autofree uint64_t *counts = g_new0(uint64_t, MAX(n, 1));
    lull_formats_finish(file->formats, NULL);
    lull_formats_subscribe(file->formats, &wanted, of_class, 16, extra);
    for (guint i = 0; i < file->buffers->len; i++) {
        const struct lull_tracedat_buffer *buffer = file->buffers->pdata[i];
        if (!lull_tracedat_is_readable(buffer)) {
            continue;
        }
        for (guint k = 0; k < MIN(buffer->cpus->len, 8); k++) {
            struct lull_tracedat_stream *stream = lull_tracedat_stream_new(
                file, buffer, &g_array_index(buffer->cpus, struct lull_tracedat_cpu, k), k);
            lull_tracedat_survey(stream);
            lull_tracedat_survey_report(stream, buffer->name);
            lull_tracedat_survey_count(stream);
            try_stream(stream, counts);
            lull_tracedat_stream_free(stream);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct lull_report report = {on_problem, on_lost, NULL, NULL};
    static const struct lull_bytes_ops ops = {.open = memory_open,
                                              .read = memory_read,
                                              .close = memory_close,
                                              .free = memory_free,
                                              .share = memory_share};
    g_autoptr(GError) error = NULL;
    struct memory_bytes *memory = g_new0(struct memory_bytes, 1);
    *memory = (struct memory_bytes){{.ops = &ops}, data, size};
    struct lull_tracedat *file = lull_tracedat_open("input", &memory->base, size, &report, &error);
    if ((!file) != (error != NULL) || (error && *error->message == '\0')) {
        abort();
    }
    if (!file) {
        return 0;
    }
    try_file(file);
    lull_tracedat_free(file);
    return 0;
}
