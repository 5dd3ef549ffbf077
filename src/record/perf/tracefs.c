/* SPDX-License-Identifier: MIT */
/* What the tracer perf reads from tracefs: the numbers of tracepoints and their formats. */
#include <errno.h>
#include <sys/stat.h>

#include "record/perf/perf.h"
#include "record/tracing_data.h"

const char *perfrec_tracefs(GError **error)
{
    static const char *const positions[] = {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"};
    int why = ENOENT;
    for (size_t i = 0; i < G_N_ELEMENTS(positions); i++) {
        /* Not access(2), which does not ask for what capabilities allow. */
        char *events = g_strconcat(positions[i], "/events/header_page", NULL);
        struct stat st;
        bool is_there = stat(events, &st) == 0;
        if (!is_there && errno != ENOENT) {
            why = errno;
        }
        g_free(events);
        if (is_there) {
            return positions[i];
        }
    }
    if (why == ENOENT) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_IO,
                    "tracefs, which lists the kernel's events, is not mounted "
                    "(mount -t tracefs tracefs %s)",
                    positions[0]);
    } else {
        g_set_error(error, LULL_ERROR, LULL_ERROR_IO,
                    "%s, which lists the kernel's events, cannot be opened: %s (run as root, or as "
                    "a member of its group)",
                    positions[0], g_strerror(why));
    }
    return NULL;
}

bool perfrec_tracefs_read(const char *name, GByteArray *to, GError **error)
{
    const char *tracefs = perfrec_tracefs(error);
    return tracefs && lull_tracing_read(to, tracefs, name, error);
}

bool perfrec_tracepoint_id(const char *system, const char *name, uint64_t *id, GError **error)
{
    GByteArray *text = g_byte_array_new();
    char *position = g_strdup_printf("events/%s/%s/id", system, name);
    bool is_good = perfrec_tracefs_read(position, text, error);
    if (is_good) {
        g_byte_array_append(text, (const guint8 *)"", 1);
        *id = g_ascii_strtoull((const char *)text->data, NULL, 10);
    }
    g_free(position);
    g_byte_array_free(text, TRUE);
    return is_good;
}

bool perfrec_tracing_data(GByteArray *to, const struct perfrec_classes *classes, GError **error)
{
    static const char *const none[] = {NULL};
    const char *tracefs = perfrec_tracefs(error);
    g_autoptr(GPtrArray) names = g_ptr_array_new();
    for (uint32_t i = 0; i < classes->n; i++) {
        if (classes->all[i].attr.type == PERF_TYPE_TRACEPOINT) {
            g_ptr_array_add(names, classes->all[i].name);
        }
    }
    g_ptr_array_add(names, NULL);
    const struct lull_tracing_events events = {.version = "0.6",
                                               .tracefs = tracefs,
                                               .buffer = tracefs,
                                               .internal = none,
                                               .events = (const char *const *)names->pdata};
    if (!tracefs || !lull_tracing_put_events(to, &events, error)) {
        return false;
    }
    /* Kernel symbols, formats of trace_printk, names of tasks: none is of use to these events. */
    g_byte_array_append(to, (const uint8_t[16]){0}, 4 + 4 + 8);
    return true;
}
