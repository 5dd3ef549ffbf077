/* SPDX-License-Identifier: MIT */
/* How a critical path is shown: text for people, JSON for programs, folded stacks, SVG and a trace
 * for the Perfetto UI. Every function writes to `file`, flushes it and leaves it open. False with
 * LULL_ERROR_IO if something could not be written; a closed pipe is not an error: the reader has
 * seen enough. The output depends on path and style alone, never on the locale, so the same path
 * gives the same bytes. */
#ifndef LULL_VIEW_H
#define LULL_VIEW_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "graph/path.h"

struct lull_path_calls;
struct lull_path_counts;

/* What the reader's device can show and what he wants to see; used by the views of paths and
 * tables. */
struct lull_view_style {
    bool color;      /* ANSI colours */
    bool unicode;    /* the locale's character set is UTF-8; else only ASCII is written */
    int width;       /* columns of the terminal; 0: no terminal, nothing is cut or wrapped */
    bool local_time; /* absolute times in the local time zone, else UTC */
    bool full;       /* text: one row a segment, nothing grouped; all in the summary */
    bool by_tid;     /* text: the summary has a row for each task, not for each program */
    bool is_narrow;  /* pictures are as wide as a telephone; beside others in one page */
    bool stacks;     /* text: the calls by which each wait started */
    const struct lull_path_calls *calls;   /* of the path, to be shown with it; or NULL */
    const struct lull_path_counts *counts; /* likewise */
    uint32_t limit; /* text: how many rows of the path to show, the longest; 0: all */
};

/* Says that what goes into this pipe is shown on the terminal, by a pager. For children of this
 * process it is a pipe like any other. */
void lull_view_set_paged(int pipe);
/* Whether a descriptor leads to a terminal, be it through that pipe. */
bool lull_view_is_terminal(int descriptor);
/* Whether the character set of LC_CTYPE is UTF-8. */
bool lull_view_is_unicode(void);

/* Fills *style for what `file` is: a terminal, a pipe, a file. `color` is the --color option:
 * "always", "never", or "auto" or NULL, which reads the terminal, TERM and NO_COLOR. The character
 * set is that of LC_CTYPE, so the program has called setlocale(LC_CTYPE, ""). All else becomes
 * false and 0. */
void lull_view_style_init(struct lull_view_style *style, FILE *file, const char *color);

/* The answer for a person: a sentence, the summary, what to be wary of, the path as a table in time
 * order. */
bool lull_view_path_text(const struct lull_path *path, FILE *file,
                         const struct lull_view_style *style, GError **error);

/* The JSON contract of `lull critpath --json`, version 1. Texts come back as they were
 * recorded (base/json.h); what is not known (a pid, a CPU, a detail, a bound) is null. */
bool lull_view_path_json(const struct lull_path *path, FILE *file,
                         const struct lull_view_style *style, GError **error);

/* Folded stacks for flame graphs: "host;comm/tid;state cause: detail NANOSECONDS", with the calls before
 * the state if the style has them, a line per distinct stack, sorted by bytes; the numbers sum to the length of the path. */
bool lull_view_path_folded(const struct lull_path *path, FILE *file,
                           const struct lull_view_style *style, GError **error);

/* A picture: a row per task, grouped by host. */
bool lull_view_path_svg(const struct lull_path *path, FILE *file,
                        const struct lull_view_style *style, GError **error);

/* A page of HTML that can be zoomed, from critpath --html: complete in itself, and its policy forbids
 * it to load anything. LULL_ERROR_UNSUPPORTED if Lull was built without it. */
bool lull_view_path_html(const struct lull_path *path, FILE *file,
                         const struct lull_view_style *style, GError **error);

/* Chrome's JSON trace event format, which ui.perfetto.dev and chrome://tracing open. A process is a
 * host, a thread a task, a flow a jump of the path. ts is in microseconds since the start of the
 * path, exact to the nanosecond; otherData.base_ns is that start in nanoseconds since the Unix
 * epoch. */
bool lull_view_path_perfetto(const struct lull_path *path, FILE *file,
                             const struct lull_view_style *style, GError **error);

#endif
