/* SPDX-License-Identifier: MIT */
/* Where readers report damage after which they read on, and what is odd but lacks nothing. */
#ifndef LULL_BASE_REPORT_H
#define LULL_BASE_REPORT_H

#include <glib.h>
#include <stdint.h>

struct lull_report {
    /* One line: file, byte, reason. */
    void (*problem)(void *user, const char *text);
    /* Damage or discarded events between two times, ns on the trace's own clock. `stream` counts
     * within the trace. */
    void (*lost)(void *user, uint32_t stream, int64_t start_ns, int64_t end_ns, uint64_t events,
                 uint64_t packets);
    void *user;
    /* What a reader should know though nothing was damaged or lost: one line; NULL: as a problem. */
    void (*remark)(void *user, const char *text);
};

static inline void G_GNUC_PRINTF(2, 3)
    lull_report_problem(const struct lull_report *report, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    g_autofree char *text = g_strdup_vprintf(format, args);
    va_end(args);
    report->problem(report->user, text);
}

static inline void G_GNUC_PRINTF(2, 3)
    lull_report_remark(const struct lull_report *report, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    g_autofree char *text = g_strdup_vprintf(format, args);
    va_end(args);
    (report->remark ? report->remark : report->problem)(report->user, text);
}

#endif
