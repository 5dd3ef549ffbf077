/* The trace that the fuzz targets of streams and indexes change. */
#include "fuzz/fuzz_trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <lull/session.h>

static char *directory;

static void copy(const char *from, const char *name)
{
    g_autofree char *source = g_build_filename(from, name, NULL);
    g_autofree char *target = g_build_filename(directory, name, NULL);
    g_autofree char *data = NULL;
    gsize size = 0;
    if (g_file_get_contents(source, &data, &size, NULL))
        g_file_set_contents(target, data, (gssize)size, NULL);
}

static void remove_all(void)
{
    static const char *const names[] = {"metadata", "c0_0", "index/c0_0.idx", "index"};
    for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
        g_autofree char *path = g_build_filename(directory, names[i], NULL);
        remove(path);
    }
    remove(directory);
    g_free(directory);
}

void fuzz_trace_init(void)
{
    const char *model = g_getenv("LULL_FUZZ_TRACE");
    if (model == NULL)
        g_error("LULL_FUZZ_TRACE must name the directory of a trace with a stream c0_0");
    directory = g_dir_make_tmp("lull-fuzz-XXXXXX", NULL);
    if (directory == NULL)
        g_error("no temporary directory");
    g_autofree char *index = g_build_filename(directory, "index", NULL);
    mkdir(index, 0700);
    copy(model, "metadata");
    copy(model, "c0_0");
    copy(model, "index/c0_0.idx");
    atexit(remove_all);
}

void fuzz_trace_write(const char *name, const uint8_t *data, size_t size)
{
    g_autofree char *path = g_build_filename(directory, name, NULL);
    FILE *file = fopen(path, "w");
    if (file == NULL || fwrite(data, 1, size, file) != size || fclose(file) != 0)
        g_error("cannot write %s", path);
}

static void ignore_begin(void *user, const char *name, enum lull_visit_kind kind)
{
}

static void ignore_end(void *user, enum lull_visit_kind kind)
{
}

static void ignore_integer(void *user, const char *name, const struct lull_visit_int *value)
{
    if (value->label != NULL)
        *(uint64_t *)user += strlen(value->label);
}

static void ignore_real(void *user, const char *name, double value)
{
}

static void touch_text(void *user, const char *name, struct lull_text value)
{
    for (uint32_t i = 0; i < value.length; i++)
        *(uint64_t *)user += (uint8_t)value.data[i];
}

static void ignore_count(void *user, uint32_t trace, const struct lull_event_class *event_class,
                         uint64_t count)
{
}

struct bound {
    uint64_t have;
    int64_t tid;
    struct lull_text comm, address;
};

static const struct lull_binding bindings[] = {
    {(const char *const[]){"prev_tid", "tid", "context.tid", NULL}, LULL_BIND_INT,
     offsetof(struct bound, tid)},
    {(const char *const[]){"prev_comm", "comm", "name", "filename", NULL}, LULL_BIND_TEXT,
     offsetof(struct bound, comm)},
    {(const char *const[]){"network_header.ipv4.saddr", NULL}, LULL_BIND_RAW,
     offsetof(struct bound, address)},
};

void fuzz_trace_read(void)
{
    static const struct lull_visitor visitor = {ignore_begin, ignore_end, ignore_integer,
                                                ignore_real, touch_text};
    static const char *const all[] = {"*", NULL};
    uint64_t sum = 0;
    struct lull_session *session = lull_session_new();
    if (lull_session_add(session, directory, NULL)) {
        lull_session_subscribe(session, all, bindings, G_N_ELEMENTS(bindings),
                               sizeof(struct bound));
        const struct lull_event *event;
        while ((event = lull_session_read(session)) != NULL) {
            const struct bound *bound = event->fields;
            touch_text(&sum, NULL, bound->comm);
            touch_text(&sum, NULL, bound->address);
            lull_event_visit(event, &visitor, &sum, NULL);
        }
        lull_session_count(session, ignore_count, NULL);
        for (uint32_t i = 0; i < lull_session_problem_count(session); i++)
            sum += strlen(lull_session_problem(session, i));
    }
    lull_session_free(session);
    __asm__ volatile("" : : "r"(sum));
}
