/* SPDX-License-Identifier: MIT */
/* Call chains of programs that keep no frame pointers: they end after a call or two, in the middle of the program. */
#ifndef LULL_ANALYSIS_CUT_STACKS_H
#define LULL_ANALYSIS_CUT_STACKS_H

#include <glib.h>
#include <lull/session.h>
#include <stdint.h>

struct lull_cut_stacks {
    uint64_t n, n_cut; /* waits with calls of a program; those whose chain is cut */
    /* Whose they are, and base names of the files in which they end; of each what has most first. */
    GPtrArray *programs, *files;
};

/* Reads the session's waits before `end_ns`. Names are the recording's alone: no other file is read. Free with
 * lull_cut_stacks_free(). */
struct lull_cut_stacks *lull_cut_stacks_find(struct lull_session *session, int64_t end_ns);
void lull_cut_stacks_free(struct lull_cut_stacks *cut);

#endif
