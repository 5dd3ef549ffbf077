/* SPDX-License-Identifier: MIT */
/* How the stacks of a flame graph are written: for people, for programs that draw them, for other
 * tools. */
#ifndef LULL_VIEW_FLAME_FLAME_H
#define LULL_VIEW_FLAME_FLAME_H

#include <stdio.h>

#include "calls/flame.h"

/* Each writes a flame that is finished; false with LULL_ERROR_IO. */

/* A line for each stack, frames with semicolons between, and what it weighs; of a difference what it
 * weighed in the other, then here. */
bool lull_view_flame_folded(const struct lull_flame *flame, FILE *file, GError **error);
bool lull_view_flame_svg(const struct lull_flame *flame, FILE *file, GError **error);
/* For www.speedscope.app: a profile for each task, of stacks and what they weigh. */
bool lull_view_flame_speedscope(const struct lull_flame *flame, FILE *file, GError **error);
/* profile.proto of pprof. */
bool lull_view_flame_pprof(const struct lull_flame *flame, FILE *file, GError **error);
bool lull_view_flame_json(const struct lull_flame *flame, FILE *file, GError **error);

/* Each call over time, as Chrome's JSON trace format has it, for ui.perfetto.dev. */
bool lull_view_calls_perfetto(const struct lull_calls *calls, const struct lull_model *model,
                              const struct lull_symbol_table *others, const struct lull_call *log,
                              size_t n, FILE *file, GError **error);

/* The same calls over time for www.speedscope.app. */
bool lull_view_calls_speedscope(const struct lull_calls *calls, const struct lull_model *model,
                                const struct lull_symbol_table *others, const struct lull_call *log,
                                size_t n, FILE *file, GError **error);

/* ---- for the writers only ---- */

/* By gzip, in a build with zlib. */
struct lull_out;
void flame_write_packed(struct lull_out *out, const char *data, size_t size);
/* The nodes of the tree, each before its children, those in order: the next one; 0: that was the last.
 * Starts with 0. */
uint32_t flame_next(const struct lull_flame *flame, uint32_t node);
/* The nodes from the outermost frame to this one. */
GArray *flame_path(const struct lull_flame *flame, uint32_t node);

#endif
