/* SPDX-License-Identifier: MIT */
/* The table of the report's parts, and what a trace lacks for one. */
#include "analysis/report.h"

#include <string.h>

#include <lull/recording.h>

#include "analysis/hot_waits.h"
#include "analysis/questions.h"

#define STATS LULL_SECTION_STATS
#define TOP LULL_SECTION_TOP

const struct lull_report_part lull_report_parts[] = {
    {"Findings", &lull_analysis_findings, 0, 0, false},
    {"Waits", &lull_analysis_hot_waits, 0, 0, false},
    {"Over time", &lull_analysis_timeline, 0, 0, true},
    {"CPU", &lull_analysis_cputop, TOP, 0, false},
    {"CPU", &lull_analysis_freq, TOP, 0, false},
    {"Pressure", &lull_analysis_pressure, 0, 0, false},
    {"Scheduling", &lull_analysis_sched, STATS | TOP, LULL_GROUPING_TOTAL | LULL_GROUPING_TID,
     false},
    {"System calls", &lull_analysis_syscallstats, STATS, 0, false},
    {"System calls", &lull_analysis_futex, TOP, 0, false},
    {"Input and output", &lull_analysis_io, LULL_SECTION_USAGE | STATS | TOP, 0, true},
    {"Network", &lull_analysis_nettop, TOP, 0, true},
    {"Interrupts", &lull_analysis_irq, STATS, 0, true},
    {"Memory", &lull_analysis_memtop, TOP, 0, false},
    {NULL, NULL, 0, 0, false},
};

const struct lull_report_part *lull_report_find(const char *analysis)
{
    for (const struct lull_report_part *part = lull_report_parts; part->analysis; part++) {
        if (strcmp(part->analysis->name, analysis) == 0) {
            return part;
        }
    }
    return NULL;
}

static const struct lull_question *question_of(const struct lull_analysis_class *analysis)
{
    for (const struct lull_question *q = lull_questions; analysis->question && q->id; q++) {
        if (strcmp(q->id, analysis->question) == 0) {
            return q;
        }
    }
    return NULL;
}

/* Appends what one host lacks, each name once. False if it lacks nothing, or has enough. */
static bool add_missing(const struct lull_session *session, uint32_t host,
                        const struct lull_question *question, bool is_partial, GPtrArray *names)
{
    bool lacks = false;
    struct lull_declared *declared = lull_declared_new(session, host);
    for (const struct lull_need *need = question->improves; is_partial && lull_need_name(need, 0);
         need++) {
        if (lull_need_is_met(declared, need)) {
            lull_declared_free(declared);
            return false;
        }
    }
    for (const struct lull_need *need = question->needs; lull_need_name(need, 0); need++) {
        const char *name = lull_need_name(need, 0);
        if (lull_need_is_met(declared, need)) {
            continue;
        }
        lacks = true;
        if (!g_ptr_array_find_with_equal_func(names, name, g_str_equal, NULL)) {
            g_ptr_array_add(names, (char *)name);
        }
    }
    lull_declared_free(declared);
    return lacks;
}

char *lull_report_missing(const struct lull_session *session, int32_t only_host,
                          const struct lull_report_part *part)
{
    const struct lull_question *question = question_of(part->analysis);
    if (!question) {
        return NULL;
    }
    g_autoptr(GPtrArray) names = g_ptr_array_new();
    for (uint32_t host = 0; host < lull_session_host_count(session); host++) {
        if (only_host >= 0 && host != (uint32_t)only_host) {
            continue;
        }
        if (!add_missing(session, host, question, part->is_partial, names)) {
            return NULL;
        }
    }
    g_ptr_array_add(names, NULL);
    return g_strjoinv(", ", (char **)names->pdata);
}

/* What names all that is read: the only recording if all traces are its own, the only trace, or NULL. */
static const char *only_path(const struct lull_session *session)
{
    const uint32_t n = session ? lull_session_trace_count(session) : 0;
    const bool has_one = n > 0 && lull_session_recording_count(session) == 1;
    const char *recording = has_one ? lull_session_recording(session, 0)->path : NULL;
    const size_t length = recording ? strlen(recording) : 0;
    for (uint32_t i = 0; recording && i < n; i++) {
        const char *trace = lull_session_trace(session, i)->path;
        if (!g_str_has_prefix(trace, recording) || trace[length] != G_DIR_SEPARATOR) {
            recording = NULL;
        }
    }
    return recording ? recording : n == 1 ? lull_session_trace(session, 0)->path : NULL;
}

/* With the name of the trace or recording if there is one only; else TRACE…, what the user gave. */
char *lull_report_command(const struct lull_session *session, uint32_t host, const char *what)
{
    const char *only = only_path(session);
    const bool has_host = session && host != LULL_NONE && lull_session_host_count(session) > 1;
    const char *path = only ? only : "TRACE…";
    const bool is_plain = !only || !strpbrk(path, " \t\n'\"\\$`&|;<>()*?[]{}~!#");
    g_autofree char *trace = is_plain ? g_strdup(path) : g_shell_quote(path);
    return g_strdup_printf("lull %s%s%s %s", what, has_host ? " --host " : "",
                           has_host ? lull_session_host(session, host)->name : "", trace);
}
