/* SPDX-License-Identifier: MIT */
/* The calls in which a path was spent, as the views of paths show them. */
#ifndef LULL_VIEW_PATH_CALLS_H
#define LULL_VIEW_PATH_CALLS_H

#include "analysis/path_calls.h"
#include "view/out.h"

/* Appends ";main;read_all;[read]" as frames of a folded stack. */
void path_calls_append_folded(GString *out, const struct lull_path_calls *calls, uint32_t node);
/* Ends the list before and starts another, "by_function", which the caller ends. */
void path_calls_write_shares(struct lull_out *out, const struct lull_path *path,
                             const struct lull_path_calls *calls);
/* Ends the list before, and writes "calls". */
void path_calls_write_parts(struct lull_out *out, const struct lull_path_calls *calls);
/* Semicolons separate frames, and the number follows the last space. */
void path_append_folded_frame(GString *stack, const char *text);

#endif
