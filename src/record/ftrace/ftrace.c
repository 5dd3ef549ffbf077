/* SPDX-License-Identifier: MIT */
/* Records with ftrace: the kernel's own tracer, which needs nothing but tracefs and the right to
 * write there. Everything happens in an instance of our own. */
#include "base/time.h"
#include "record/ftrace/ftrace.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "record/kernel_functions.h"
#include "record/tasks.h"

/* Of one CPU and of all. */
#define BUFFER_BYTES (UINT64_C(16) << 20)
#define ALL_BUFFERS_BYTES (UINT64_C(512) << 20)
#define LEAST_BUFFER_BYTES (UINT64_C(1) << 20)
/* At what filling of a buffer its reader wakes up. */
#define FILLING_PERCENT "25"

struct ftrace {
    struct lull_tracer base;
    const struct lull_tracer_request *request;
    struct lull_ftrace_instance *instance;
    GPtrArray *events; /* "system:name", NULL at the end */
    struct lull_ftrace_cpu *cpus;
    uint32_t n_cpus;
    int off;      /* tracing_on, for a reader that cannot go on; -1: not open */
    int mask;     /* tracing_cpumask, to freeze; -1: not open */
    GString *all; /* what is in it: the CPUs that are recorded */
};

static bool is_wanted(const struct lull_purpose_event *event, enum lull_purpose purpose)
{
    return (event->purposes & (1u << purpose)) != 0;
}

/* ---- what is missing ---- */

static char *not_mounted(void)
{
    g_autofree char *known = NULL;
    if (g_file_get_contents("/proc/filesystems", &known, NULL, NULL) && !strstr(known, "tracefs")) {
        return g_strdup("this kernel has no tracefs (CONFIG_FTRACE)");
    }
    return g_strdup("tracefs is not mounted; as root: mount -t tracefs nodev /sys/kernel/tracing "
                    "(in a container it has to come from outside)");
}

/* Whether we may do what has to be done, which in a locked-down kernel nobody may. */
static char *not_allowed(void)
{
    char *instances = tracefs_get_tracing_file("instances");
    char *missing = NULL;
    if (instances && faccessat(AT_FDCWD, instances, R_OK | W_OK | X_OK, AT_EACCESS) != 0) {
        const int why = errno;
        missing =
            g_strdup_printf("no permission to write to %s (%s); run it with sudo%s", instances,
                            g_strerror(why), why == EROFS ? ", outside of the container" : "");
    }
    tracefs_put_tracing_file(instances);
    const int fd = missing ? -1 : tracefs_instance_file_open(NULL, "trace_clock", O_RDONLY);
    if (!missing && fd < 0) {
        missing = g_strdup_printf("tracefs cannot be read (%s): the kernel may be locked down",
                                  g_strerror(errno));
    }
    if (fd >= 0) {
        close(fd);
    }
    return missing;
}

#define FUNCTION_TRACER "function_graph"

/* Whether an instance, or NULL: the machine, has the tracer that records calls. */
static bool has_function_tracer(struct tracefs_instance *instance)
{
    char *text = tracefs_instance_file_read(instance, "available_tracers", NULL);
    g_auto(GStrv) names = g_strsplit_set(text ? text : "", " \n", -1);
    free(text);
    return g_strv_contains((const char *const *)names, FUNCTION_TRACER);
}

static char *ftrace_missing(const struct lull_tracer_request *request)
{
    if (!lull_ftrace_is_mounted()) {
        return not_mounted();
    }
    char *missing = not_allowed();
    if (!missing && request->is_filtered && !lull_tasks_are_global()) {
        missing = g_strdup("in a container with its own process ids, Lull cannot tell the kernel "
                           "which tasks you mean; record the whole machine");
    }
    if (!missing && request->kernel_functions && !has_function_tracer(NULL)) {
        missing = g_strdup("this kernel cannot record calls of its functions "
                           "(CONFIG_FUNCTION_GRAPH_TRACER)");
    }
    for (uint32_t i = 0; !missing && i < lull_purpose_n_events; i++) {
        const struct lull_purpose_event *event = &lull_purpose_events[i];
        if (event->is_needed && is_wanted(event, request->purpose) &&
            !tracefs_event_file_exists(NULL, event->system, event->name, "enable")) {
            missing = g_strdup_printf("this kernel has no event %s:%s", event->system, event->name);
        }
    }
    return missing;
}

/* ---- setting up ---- */

/* Is open before it is needed: opening it can take as long as writing tracing_on. */
static void open_mask(struct ftrace *f)
{
    char text[4096];
    f->mask =
        tracefs_instance_file_open(f->instance->tracefs, "tracing_cpumask", O_RDWR | O_CLOEXEC);
    const ssize_t n = f->mask >= 0 ? read(f->mask, text, sizeof text) : 0;
    g_string_append_len(f->all, text, MAX(n, 0));
}

/* The CPUs of which the instance has buffers; those that are on are read while recording. */
static bool find_cpus(struct ftrace *f, GError **error)
{
    const long most = sysconf(_SC_NPROCESSORS_CONF);
    f->cpus = g_new0(struct lull_ftrace_cpu, (size_t)MAX(most, 1));
    f->off = tracefs_instance_file_open(f->instance->tracefs, "tracing_on", O_WRONLY | O_CLOEXEC);
    for (int32_t cpu = 0; cpu < most; cpu++) {
        g_autofree char *dir = g_strdup_printf("per_cpu/cpu%d", cpu);
        g_autofree char *online = g_strdup_printf("/sys/devices/system/cpu/cpu%d/online", cpu);
        g_autofree char *text = NULL;
        if (!tracefs_dir_exists(f->instance->tracefs, dir)) {
            break;
        }
        struct lull_ftrace_cpu *c = &f->cpus[f->n_cpus++];
        *c = (struct lull_ftrace_cpu){
            .cpu = cpu, .raw = -1, .pipe = {-1, -1}, .out = -1, .stop = -1, .off = f->off};
        c->page_bytes = (uint32_t)sysconf(_SC_PAGESIZE);
        /* The file is not there for CPUs that cannot be switched off. */
        c->is_online = !g_file_get_contents(online, &text, NULL, NULL) || text[0] != '0';
        if (!lull_ftrace_cpu_open(c, f->instance, error)) {
            return false;
        }
    }
    if (f->n_cpus == 0) {
        g_set_error_literal(error, LULL_ERROR, LULL_ERROR_IO,
                            "the instance of tracefs has no buffers");
    }
    return f->n_cpus > 0;
}

static bool set_buffers(const struct ftrace *f, GError **error)
{
    uint64_t bytes = f->request->buffer_bytes;
    const uint64_t cpus = (uint64_t)MAX(sysconf(_SC_NPROCESSORS_ONLN), 1);
    if (bytes == 0) {
        bytes = CLAMP(ALL_BUFFERS_BYTES / cpus, LEAST_BUFFER_BYTES, BUFFER_BYTES);
    }
    g_autofree char *kib = g_strdup_printf("%" G_GUINT64_FORMAT, MAX((bytes + 1023) / 1024, 1));
    /* The file is newer than some kernels: they wake readers earlier. */
    return lull_ftrace_instance_write(f->instance, "buffer_size_kb", kib, error) &&
           (!tracefs_file_exists(f->instance->tracefs, "buffer_percent") ||
            lull_ftrace_instance_write(f->instance, "buffer_percent", FILLING_PERCENT, error));
}

/* A full buffer loses its oldest events: the kernel marks in the pages where that happened, which
 * it does not do for new events that it turns away. */
static bool set_options(const struct ftrace *f, GError **error)
{
    return lull_ftrace_instance_write(f->instance, "trace_clock", "mono", error) &&
           lull_ftrace_instance_write(f->instance, "options/overwrite", "1", error) &&
           (!f->request->is_filtered ||
            lull_ftrace_instance_write(f->instance, "options/event-fork", "1", error)) &&
           (!f->request->is_filtered || !f->request->kernel_functions ||
            lull_ftrace_instance_write(f->instance, "options/function-fork", "1", error));
}

static bool switch_on(struct ftrace *f, GError **error)
{
    for (uint32_t i = 0; i < lull_purpose_n_events; i++) {
        const struct lull_purpose_event *event = &lull_purpose_events[i];
        if (!is_wanted(event, f->request->purpose) ||
            !tracefs_event_file_exists(f->instance->tracefs, event->system, event->name,
                                       "enable")) {
            continue;
        }
        g_autofree char *file = g_strdup_printf("events/%s/%s/enable", event->system, event->name);
        if (!lull_ftrace_instance_write(f->instance, file, "1", error)) {
            return false;
        }
        g_ptr_array_add(f->events, g_strdup_printf("%s:%s", event->system, event->name));
    }
    g_ptr_array_add(f->events, NULL);
    f->base.events = (const char *const *)f->events->pdata;
    return true;
}

/* Which functions, and that their calls and returns are recorded. */
static bool trace_functions(struct ftrace *f, GError **error)
{
    struct tracefs_instance *instance = f->instance->tracefs;
    if (!f->request->kernel_functions) {
        return true;
    }
    if (!has_function_tracer(instance)) {
        g_set_error_literal(
            error, LULL_ERROR, LULL_ERROR_UNSUPPORTED,
            "this kernel records calls of its functions only for a single tracer, not in an "
            "instance of tracefs (Linux 6.12 can)");
        return false;
    }
    g_auto(GStrv) patterns = g_strsplit(f->request->kernel_functions, ",", -1);
    for (char **pattern = patterns; *pattern; pattern++) {
        /* Only a word that ends is looked up at once. */
        g_autofree char *line = g_strconcat(*pattern, "\n", NULL);
        errno = 0;
        if (tracefs_instance_file_append(instance, "set_ftrace_filter", line) < 0) {
            g_set_error(error, LULL_ERROR, LULL_ERROR_QUESTION,
                        "no kernel function that can be recorded matches “%s” (%s); "
                        "available_filter_functions in tracefs lists them",
                        *pattern, g_strerror(errno));
            return false;
        }
    }
    f->base.remark = strchr(f->request->kernel_functions, '*')
                         ? "each recorded call of a kernel function costs some 100 to 300 ns"
                         : NULL;
    return lull_ftrace_instance_write(f->instance, "current_tracer", FUNCTION_TRACER, error);
}

static bool add_tid(struct ftrace *f, pid_t tid, GError **error)
{
    char text[16];
    g_snprintf(text, sizeof text, "%d", (int)tid);
    struct tracefs_instance *instance = f->instance->tracefs;
    const bool has_functions = f->request->kernel_functions && tid != 0;
    if (tracefs_instance_file_append(instance, "set_event_pid", text) >= 0 &&
        (!has_functions || tracefs_instance_file_append(instance, "set_ftrace_pid", text) >= 0)) {
        return true;
    }
    g_set_error(error, LULL_ERROR, LULL_ERROR_IO, "cannot restrict the events to task %d: %s",
                (int)tid, g_strerror(errno));
    return false;
}

/* All threads of a process: the kernel follows what they start from now on. A thread that is
 * started meanwhile by one not yet followed is found in the second round. */
static bool ftrace_follow(struct lull_tracer *tracer, pid_t pid, GError **error)
{
    struct ftrace *f = (struct ftrace *)tracer;
    for (unsigned round = 0; round < 2; round++) {
        g_autoptr(GArray) tids = lull_tasks_of(pid, error);
        for (uint32_t i = 0; tids && i < tids->len; i++) {
            if (!add_tid(f, g_array_index(tids, pid_t, i), error)) {
                return false;
            }
        }
        if (!tids) {
            return false;
        }
    }
    return true;
}

/* Events pass if the task on the CPU, or for scheduling the one that it is about, is in a list. The
 * idle tasks, which are 0, belong to it so that interrupts which come while nobody runs are seen.
 */
static bool filter(struct ftrace *f, GError **error)
{
    if (!f->request->is_filtered) {
        return true;
    }
    if (!add_tid(f, 0, error)) {
        return false;
    }
    for (uint32_t i = 0; i < f->request->n_pids; i++) {
        if (!ftrace_follow(&f->base, f->request->pids[i], error)) {
            return false;
        }
    }
    return true;
}

static void ftrace_free(struct lull_tracer *tracer)
{
    struct ftrace *f = (struct ftrace *)tracer;
    if (!f) {
        return;
    }
    for (uint32_t i = 0; i < f->n_cpus; i++) {
        lull_ftrace_cpu_stop(&f->cpus[i]);
        lull_ftrace_cpu_close(&f->cpus[i]);
    }
    if (f->off >= 0) {
        close(f->off);
    }
    if (f->mask >= 0) {
        close(f->mask);
    }
    g_string_free(f->all, TRUE);
    lull_ftrace_instance_free(f->instance);
    g_ptr_array_unref(f->events);
    g_free(f->cpus);
    g_free(f);
}

static struct lull_tracer *ftrace_set_up(const struct lull_tracer_request *request, GError **error)
{
    struct ftrace *f = g_new0(struct ftrace, 1);
    f->base.kind = &lull_tracer_ftrace;
    f->off = f->mask = -1;
    f->all = g_string_new(NULL);
    f->request = request;
    f->events = g_ptr_array_new_with_free_func(g_free);
    f->instance = lull_ftrace_instance_new(error);
    /* The tracer cannot be chosen any more when the buffers of the CPUs are open. */
    if (f->instance && set_options(f, error) && trace_functions(f, error) &&
        set_buffers(f, error) && find_cpus(f, error) && filter(f, error) && switch_on(f, error)) {
        return &f->base;
    }
    ftrace_free(&f->base);
    return NULL;
}

/* ---- recording ---- */

static bool start_files(struct ftrace *f, GError **error)
{
    for (uint32_t i = 0; i < f->n_cpus; i++) {
        if (!lull_ftrace_cpu_start_file(&f->cpus[i], f->request->keeper, error)) {
            return false;
        }
    }
    return true;
}

static bool ftrace_start(struct lull_tracer *tracer, GError **error)
{
    struct ftrace *f = (struct ftrace *)tracer;
    if (f->request->is_snapshot) {
        open_mask(f);
    }
    if (!f->request->is_snapshot && !start_files(f, error)) {
        return false;
    }
    if (!lull_ftrace_instance_write(f->instance, "tracing_on", "1", error)) {
        return false;
    }
    for (uint32_t i = 0; i < f->n_cpus && !f->request->is_snapshot; i++) {
        if (f->cpus[i].is_online && !lull_ftrace_cpu_start(&f->cpus[i], error)) {
            return false;
        }
    }
    return true;
}

static bool ftrace_check(struct lull_tracer *tracer, GError **error)
{
    const struct ftrace *f = (const struct ftrace *)tracer;
    for (uint32_t i = 0; i < f->n_cpus; i++) {
        if (!lull_ftrace_cpu_check(&f->cpus[i], error)) {
            tracer->is_full = lull_tracer_is_full(f->cpus[i].why);
            return false;
        }
    }
    return true;
}

/* A number of a CPU's "stats". */
static uint64_t stat_of(const char *stats, const char *name)
{
    g_autofree char *line = g_strconcat("\n", name, ": ", NULL);
    const char *at = strstr(stats, line);
    return at ? g_ascii_strtoull(at + strlen(line), NULL, 10) : 0;
}

/* Lost are events for which there was no room, and those that were overwritten before they could be
 * moved; but what a flight recorder overwrites, it has not lost. The kernel counts each once. */
static uint64_t lost_of(const struct ftrace *f, const char *stats)
{
    return stat_of(stats, "commit overrun") + stat_of(stats, "dropped events") +
           (f->request->is_snapshot ? 0 : stat_of(stats, "overrun"));
}

/* Takes back what a flight recorder overwrote: whoever reads the file would count it as lost. */
static void hide_overrun(char *stats)
{
    static const char line[] = "\noverrun: ";
    char *at = strstr(stats, line);
    char *next = at ? strchr(at + 1, '\n') : NULL;
    if (next) {
        memmove(at, next, strlen(next) + 1);
    }
}

/* What each CPU reports about its buffer; free with g_strfreev(). */
static char **read_stats(const struct ftrace *f, struct lull_tracer_result *result)
{
    char **all = g_new0(char *, f->n_cpus + 1);
    for (uint32_t i = 0; i < f->n_cpus; i++) {
        g_autofree char *name = g_strdup_printf("per_cpu/cpu%d/stats", f->cpus[i].cpu);
        char *text = tracefs_instance_file_read(f->instance->tracefs, name, NULL);
        all[i] = g_strconcat("\n", text ? text : "", NULL);
        free(text);
        result->events += stat_of(all[i], "read events");
        result->lost_events += lost_of(f, all[i]);
        if (f->request->is_snapshot) {
            hide_overrun(all[i]);
        }
        memmove(all[i], all[i] + 1, strlen(all[i]));
    }
    result->has_events = true;
    return all;
}

/* CPUs that were never there have no place in the file. */
static uint32_t count_used(const struct ftrace *f)
{
    uint32_t n = f->n_cpus;
    while (n > 1 && !f->cpus[n - 1].is_online && f->cpus[n - 1].bytes == 0) {
        n--;
    }
    return n;
}

/* Of what is called. */
static bool save_functions(const struct ftrace *f, GError **error)
{
    g_autofree char *symbols = NULL;
    return !f->request->kernel_functions ||
           !g_file_get_contents("/proc/kallsyms", &symbols, NULL, NULL) ||
           lull_kernel_functions_save(f->request->keeper, symbols, error);
}

/* Moves what the buffers hold to the files and makes trace.dat of them. The first page of a flight
 * recorder says that events before it were lost: they were overwritten, as they should be. */
static bool write_dat(struct ftrace *f, struct lull_tracer_result *result, GError **error)
{
    uint64_t end_ns;
    if (!lull_ftrace_finish_all(f->cpus, f->n_cpus, &end_ns, error)) {
        return false;
    }
    for (uint32_t i = 0; i < f->n_cpus && f->request->is_snapshot; i++) {
        if (!lull_ftrace_cpu_start_there(&f->cpus[i], error)) {
            return false;
        }
    }
    lull_keeper_release(f->request->keeper);
    const uint64_t first_ns = lull_ftrace_first_ns(f->cpus, f->n_cpus);
    result->start_ns = first_ns < INT64_MAX
                           ? lull_time_add((int64_t)first_ns, f->request->epoch_offset_ns)
                           : INT64_MAX;
    g_auto(GStrv) stats = read_stats(f, result);
    if (end_ns) {
        f->base.is_full = true;
        result->has_events = false; /* the kernel counts also those that were given up */
        result->end_ns = (int64_t)end_ns + f->request->epoch_offset_ns;
    }
    const struct lull_ftrace_dat dat = {.instance = f->instance,
                                        .events = f->base.events,
                                        .cpus = f->cpus,
                                        .stats = stats,
                                        .n_cpus = count_used(f),
                                        .epoch_offset_ns = f->request->epoch_offset_ns};
    return lull_ftrace_dat_write(&dat, f->request->keeper, &result->bytes, error) &&
           save_functions(f, error);
}

static void end_files(struct ftrace *f)
{
    for (uint32_t i = 0; i < f->n_cpus; i++) {
        lull_ftrace_cpu_end_file(&f->cpus[i]);
    }
}

/* The buffers start anew, with the time of their next event: else the next snapshot would seem to
 * go back to the last event of this one. */
static bool clear_buffers(const struct ftrace *f, GError **error)
{
    if (tracefs_instance_file_clear(f->instance->tracefs, "trace") == 0) {
        return true;
    }
    g_set_error(error, LULL_ERROR, LULL_ERROR_IO, "cannot clear the ring buffers: %s",
                g_strerror(errno));
    return false;
}

static bool write_mask(const struct ftrace *f, const char *mask, size_t size)
{
    return f->all->len > 0 && write(f->mask, mask, size) == (ssize_t)size;
}

/* To write tracing_on waits for whoever else sets up or removes something of ftrace's, which takes 0.1 s and more. No
 * lock is needed to say that no CPU is recorded. */
static bool ftrace_freeze(struct lull_tracer *tracer, GError **error)
{
    const struct ftrace *f = (const struct ftrace *)tracer;
    return write_mask(f, "0", 1) ||
           lull_ftrace_instance_write(f->instance, "tracing_on", "0", error);
}

static bool ftrace_thaw(struct lull_tracer *tracer, GError **error)
{
    const struct ftrace *f = (const struct ftrace *)tracer;
    if (f->all->len > 0 && !write_mask(f, f->all->str, f->all->len)) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_IO, "cannot record all CPUs again: %s",
                    g_strerror(errno));
        return false;
    }
    return lull_ftrace_instance_write(f->instance, "tracing_on", "1", error);
}

static bool ftrace_snapshot(struct lull_tracer *tracer, struct lull_tracer_result *result,
                            GError **error)
{
    struct ftrace *f = (struct ftrace *)tracer;
    *result = (struct lull_tracer_result){0};
    /* A copy of buffers in motion would have holes. */
    const bool done = lull_ftrace_instance_write(f->instance, "tracing_on", "0", error) &&
                      start_files(f, error) && write_dat(f, result, error) &&
                      clear_buffers(f, error);
    end_files(f);
    const bool goes_on = ftrace_thaw(tracer, done ? error : NULL);
    return done && goes_on;
}

static bool ftrace_stop(struct lull_tracer *tracer, struct lull_tracer_result *result,
                        GError **error)
{
    struct ftrace *f = (struct ftrace *)tracer;
    *result = (struct lull_tracer_result){0};
    if (!lull_ftrace_instance_write(f->instance, "tracing_on", "0", error)) {
        return false;
    }
    const bool done = f->request->is_snapshot || write_dat(f, result, error);
    end_files(f);
    return done;
}

static const char *ftrace_name_of(const struct lull_tracer *tracer)
{
    return ((const struct ftrace *)tracer)->instance->name;
}

const struct lull_tracer_kind lull_tracer_ftrace = {
    .name = "ftrace",
    .files = "trace.dat",
    .can_functions = true,
    .needs_state = true,
    .needs_root = true,
    .missing = ftrace_missing,
    .set_up = ftrace_set_up,
    .follow = ftrace_follow,
    .start = ftrace_start,
    .check = ftrace_check,
    .freeze = ftrace_freeze,
    .thaw = ftrace_thaw,
    .snapshot = ftrace_snapshot,
    .stop = ftrace_stop,
    .free = ftrace_free,
    .clean_up = lull_ftrace_clean_up,
    .name_of = ftrace_name_of,
    .remove = lull_ftrace_remove,
};
