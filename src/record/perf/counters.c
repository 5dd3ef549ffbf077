/* SPDX-License-Identifier: MIT */
/* Counters that are read where a task stops running: a group on each CPU that the tracepoint of
 * switches leads, so that each of its samples has their values. */
#include "record/counters.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "record/perf/perf.h"

/* 0, or why the kernel does not open it. */
static int try_open(const struct lull_counter_kind *kind)
{
    struct perf_event_attr attr = {
        .size = sizeof attr, .type = kind->type, .config = kind->config, .disabled = 1};
    const int fd = perfrec_open_event(&attr, -1, 0, -1);
    if (fd < 0) {
        return errno;
    }
    close(fd);
    return 0;
}

/* Of the defaults, the CPU's counters if it has some, else the kernel's. */
static bool is_wanted(const struct lull_counter_kind *kind, bool is_default, bool has_hardware)
{
    return !is_default || (kind->type == PERF_TYPE_HARDWARE) == has_hardware;
}

static const char *reason_of(int why)
{
    return why == ENOENT || why == ENODEV || why == EOPNOTSUPP
               ? "this machine's CPUs do not count that"
           : why == EACCES || why == EPERM ? "root, or the capability CAP_PERFMON, is needed"
                                           : g_strerror(why);
}

/* "cycles, instructions (reason)": those that follow each other with one reason have it once. */
static void refuse(GString *refused, const struct lull_counter_kind *kind, int why)
{
    g_autofree char *reason = g_strdup_printf(" (%s)", reason_of(why));
    if (g_str_has_suffix(refused->str, reason)) {
        g_string_truncate(refused, refused->len - strlen(reason));
    }
    g_string_append_printf(refused, "%s%s%s", refused->len > 0 ? ", " : "", kind->name, reason);
}

bool perfrec_counters_add(GArray *all, perfrec_add_class *add,
                          const struct lull_tracer_request *request, char **remark, GError **error)
{
    g_autoptr(GStringChunk) texts = g_string_chunk_new(64);
    g_autoptr(GString) refused = g_string_new(NULL);
    bool is_default;
    g_autoptr(GArray) kinds = lull_counters_parse(request->counters, texts, &is_default, error);
    const uint32_t leader = all->len - 1;
    if (!kinds) {
        return false;
    }
    const bool has_hardware =
        try_open(&g_array_index(kinds, struct lull_counter_kind, 0)) == 0; /* of the defaults */
    for (guint i = 0; i < kinds->len; i++) {
        const struct lull_counter_kind *kind = &g_array_index(kinds, struct lull_counter_kind, i);
        const int why = try_open(kind);
        if (why != 0) {
            refuse(refused, kind, why);
        } else if (is_wanted(kind, is_default, has_hardware)) {
            struct perfrec_class *class =
                add(all, g_strdup(kind->name), kind->type, kind->config, request);
            class->attr.sample_period = 0;
            class->leader = leader;
        }
    }
    if (all->len == leader + 1) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_QUESTION, "none of the counters can be read: %s",
                    refused->str);
        return false;
    }
    struct perfrec_class *first = &g_array_index(all, struct perfrec_class, leader);
    first->leader = leader;
    first->attr.disabled = 1;
    first->attr.sample_type |= PERF_SAMPLE_READ;
    first->attr.read_format |= PERF_FORMAT_GROUP | PERF_FORMAT_ID | PERF_FORMAT_TOTAL_TIME_ENABLED |
                               PERF_FORMAT_TOTAL_TIME_RUNNING;
    if (refused->len > 0) {
        *remark = g_strdup_printf("counters that are not recorded: %s", refused->str);
    }
    return true;
}
