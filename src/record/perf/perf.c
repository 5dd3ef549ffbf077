/* SPDX-License-Identifier: MIT */
/* The tracer perf: tracepoints by perf_event_open(2), written as perf.data. All that it sets up on
 * the machine are descriptors, so the kernel removes it when the recorder ends, however it ends. */
#include "record/perf/perf.h"

#include <errno.h>
#include <unistd.h>

#include "record/tasks.h"

struct perfrec_tracer {
    struct lull_tracer base;
    const struct lull_tracer_request *request;
    struct perfrec_classes classes;
    struct perfrec_open open;
    struct perfrec_cpus cpus;        /* of a flight recorder, which may run for months */
    struct perfrec_filter *filter;   /* NULL: all tasks */
    struct perfrec_objects *objects; /* of recordings with call chains; else NULL */
    struct perfrec_file file;
    struct perfrec_pump *pump;
};

static struct perfrec_tracer *of(struct lull_tracer *tracer)
{
    return (struct perfrec_tracer *)tracer;
}

/* Opens one tracepoint for a moment: the kernel's answer is what counts, whatever
 * capabilities, perf_event_paranoid, lock-down or a container's filter cause it. */
static bool can_open(const struct lull_tracer_request *request, GError **error)
{
    struct perfrec_classes classes;
    if (!perfrec_classes_make(&classes, request, error)) {
        return false;
    }
    struct perfrec_class *last = &classes.all[classes.n - 1];
    int fd = perfrec_open_event(&last->attr, -1, 0, -1);
    if (fd >= 0) {
        close(fd);
    } else {
        perfrec_open_error(errno, last->name, error);
    }
    perfrec_classes_clear(&classes);
    return fd >= 0;
}

static char *perf_missing(const struct lull_tracer_request *request)
{
    GError *error = NULL;
    if (can_open(request, &error)) {
        return NULL;
    }
    char *why = g_strdup(error->message);
    g_error_free(error);
    return why;
}

static void perf_free(struct lull_tracer *tracer)
{
    if (!tracer) {
        return;
    }
    struct perfrec_tracer *perf = of(tracer);
    if (perf->pump) {
        perfrec_pump_stop(perf->pump, NULL, NULL);
    }
    if (perf->open.fds) {
        perfrec_open_clear(&perf->open);
    }
    perfrec_cpus_clear(&perf->cpus);
    perfrec_filter_free(perf->filter);
    perfrec_objects_free(perf->objects);
    perfrec_file_clear(&perf->file);
    perfrec_classes_clear(&perf->classes);
    g_free((gpointer)perf->base.events);
    g_free(perf);
}

/* Borrows the names. */
static const char *const *names_of(const struct perfrec_classes *classes)
{
    GPtrArray *names = g_ptr_array_new();
    for (uint32_t i = 0; i < classes->n; i++) {
        if (classes->all[i].attr.type == PERF_TYPE_TRACEPOINT) {
            g_ptr_array_add(names, classes->all[i].name);
        }
    }
    g_ptr_array_add(names, NULL);
    return (const char *const *)g_ptr_array_free(names, FALSE);
}

/* All threads of the process. */
static bool perf_follow(struct lull_tracer *tracer, pid_t pid, GError **error)
{
    struct perfrec_tracer *perf = of(tracer);
    GArray *tids = lull_tasks_of(pid, error);
    if (!tids) {
        return false;
    }
    for (guint i = 0; i < tids->len; i++) {
        if (perf->pump) {
            perfrec_pump_follow(perf->pump, g_array_index(tids, pid_t, i));
        } else {
            perfrec_filter_follow(perf->filter, g_array_index(tids, pid_t, i));
        }
    }
    g_array_free(tids, TRUE);
    return true;
}

static bool set_up_filter(struct perfrec_tracer *perf, GError **error)
{
    if (!perf->request->is_filtered) {
        return true;
    }
    perf->filter = perfrec_filter_new(&perf->classes, error);
    bool is_good = perf->filter != NULL;
    for (uint32_t i = 0; is_good && i < perf->request->n_pids; i++) {
        is_good = perf_follow(&perf->base, perf->request->pids[i], error);
    }
    return is_good;
}

static struct lull_tracer *perf_set_up(const struct lull_tracer_request *request, GError **error)
{
    struct perfrec_tracer *perf = g_new0(struct perfrec_tracer, 1);
    perf->base.kind = &lull_tracer_perf;
    perf->request = request;
    if (!perfrec_classes_make(&perf->classes, request, error) ||
        !perfrec_open_all(&perf->open, &perf->classes, request, error) ||
        !set_up_filter(perf, error) ||
        (!request->is_snapshot && !perfrec_file_create(&perf->file, request->keeper, error))) {
        perf_free(&perf->base);
        return NULL;
    }
    perf->base.events = names_of(&perf->classes);
    perf->base.remark = perf->classes.remark;
    return &perf->base;
}

static void renew_objects(struct perfrec_tracer *perf)
{
    perfrec_objects_free(perf->objects);
    perf->objects =
        perf->request->has_call_chains ? perfrec_objects_new(perf->request->epoch_offset_ns) : NULL;
}

/* What there is before recording starts. */
static bool append_tasks(const struct perfrec_tracer *perf, struct perfrec_file *file,
                         GError **error)
{
    return perfrec_tasks_append(file, perf->filter, error) &&
           (!perf->request->has_call_chains ||
            perfrec_maps_append(file, perf->objects, perf->filter, perf->request->keeper, error));
}

static bool perf_start(struct lull_tracer *tracer, GError **error)
{
    struct perfrec_tracer *perf = of(tracer);
    if (perf->request->is_snapshot) {
        perfrec_cpus_start(&perf->cpus, &perf->open);
        return perfrec_open_enable(&perf->open, true, error);
    }
    renew_objects(perf);
    perf->pump = perfrec_pump_start(&perf->open, perf->filter, perf->objects, &perf->file, error);
    /* The pump is a task too, and does not touch the file before there are events. */
    return perf->pump && append_tasks(perf, &perf->file, error) &&
           perfrec_open_enable(&perf->open, true, error);
}

static bool perf_check(struct lull_tracer *tracer, GError **error)
{
    struct perfrec_tracer *perf = of(tracer);
    if (!perf->pump) {
        return perfrec_cpus_check(&perf->cpus, &perf->open, error);
    }
    if (perfrec_pump_check(perf->pump, error)) {
        return true;
    }
    tracer->is_full = perf->file.is_full;
    return false;
}

static struct lull_tracer_result result_of(const struct perfrec_tally *tally,
                                           const struct perfrec_file *file)
{
    return (struct lull_tracer_result){.events = tally->samples,
                                       .bytes = file->at,
                                       .lost_events = tally->lost,
                                       .has_events = true};
}

static bool save_objects(const struct perfrec_tracer *perf, GError **error)
{
    return !perf->objects || perfrec_objects_save(perf->objects, perf->request->keeper,
                                                  perf->request->stack_bytes > 0, error);
}

static bool perf_freeze(struct lull_tracer *tracer, GError **error)
{
    return perfrec_freeze(&of(tracer)->open, error);
}

static bool perf_thaw(struct lull_tracer *tracer, GError **error)
{
    perfrec_thaw(&of(tracer)->open);
    return true;
}

static bool perf_snapshot(struct lull_tracer *tracer, struct lull_tracer_result *result,
                          GError **error)
{
    struct perfrec_tracer *perf = of(tracer);
    struct perfrec_file file;
    if (!perfrec_file_create(&file, perf->request->keeper, error)) {
        perfrec_thaw(&perf->open);
        return false;
    }
    renew_objects(perf);
    struct perfrec_tally tally = {.objects = perf->objects};
    bool is_good =
        (!perf->filter || perfrec_tasks_learn(perf->filter, error)) &&
        append_tasks(perf, &file, error) &&
        perfrec_snapshot(&perf->open, perf->filter, &file, &tally, error) &&
        perfrec_file_finish(&file, &perf->classes, &tally, perf->request->epoch_offset_ns, error) &&
        save_objects(perf, error);
    if (is_good) {
        *result = result_of(&tally, &file);
        result->start_ns =
            tally.samples ? (int64_t)tally.first_ns + perf->request->epoch_offset_ns : INT64_MAX;
    }
    perfrec_thaw(&perf->open); /* what failed early has not */
    perfrec_file_clear(&file);
    return is_good;
}

/* Completes the file of what was carried. */
static bool finish(struct perfrec_tracer *perf, struct perfrec_tally *tally, GError **error)
{
    /* With a full disk, what the kernel had no room for afterwards is not part of the recording. */
    uint64_t lost = tally->end_ns ? 0 : perfrec_open_lost(&perf->open);
    if (lost > tally->lost &&
        !perfrec_file_append_lost(&perf->file, lost - tally->lost, tally->last_ns, error)) {
        return false;
    }
    tally->lost = MAX(lost, tally->lost);
    return perfrec_file_finish(&perf->file, &perf->classes, tally, perf->request->epoch_offset_ns,
                               error);
}

static bool perf_stop(struct lull_tracer *tracer, struct lull_tracer_result *result, GError **error)
{
    struct perfrec_tracer *perf = of(tracer);
    struct perfrec_tally tally;
    bool is_stopped = perfrec_open_enable(&perf->open, false, error);
    if (perf->request->is_snapshot) {
        *result = (struct lull_tracer_result){.events = 0};
        return is_stopped;
    }
    bool is_whole = perfrec_pump_stop(perf->pump, &tally, is_stopped ? error : NULL);
    perf->pump = NULL;
    lull_keeper_release(perf->request->keeper);
    if (!is_stopped || !is_whole || !finish(perf, &tally, error)) {
        return false;
    }
    *result = result_of(&tally, &perf->file);
    if (tally.end_ns) {
        tracer->is_full = true;
        result->end_ns = (int64_t)tally.end_ns + perf->request->epoch_offset_ns;
        return true;
    }
    return save_objects(perf, error);
}

const struct lull_tracer_kind lull_tracer_perf = {
    .name = "perf",
    .files = "perf.data",
    .can_call_chains = true,
    .can_count = true,
    .needs_state = true,
    .missing = perf_missing,
    .set_up = perf_set_up,
    .follow = perf_follow,
    .start = perf_start,
    .check = perf_check,
    .freeze = perf_freeze,
    .thaw = perf_thaw,
    .snapshot = perf_snapshot,
    .stop = perf_stop,
    .free = perf_free,
};
