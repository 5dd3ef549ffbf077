/* SPDX-License-Identifier: MIT */
/* A progress bar on stderr, for work that takes more than a second while a terminal watches. */
#ifndef LULL_CMD_PROGRESS_H
#define LULL_CMD_PROGRESS_H

#include <stdio.h>

#include "cmd/verb.h"

struct lull_progress {
    const struct lull_session *session; /* or NULL, for bytes only */
    const char *what;                   /* "reading" */
    int64_t start_us, next_us;
    uint32_t countdown;
    bool is_wanted, is_shown;
    FILE *file; /* where it is drawn */
};

/* `prints_lines`: the verb prints lines to stdout while it works; if that is a terminal there is no
 * bar, it would be between them. */
void lull_progress_start(struct lull_progress *progress, const struct lull_args *args,
                         const struct lull_session *session, const char *what, bool prints_lines);
/* Looks at the clock and draws if it is time. */
void lull_progress_update(struct lull_progress *progress);
/* The same for bytes of a file; `size` is 0 if it is not known. */
void lull_progress_bytes(struct lull_progress *progress, uint64_t done, uint64_t size);
/* Takes the bar away. */
void lull_progress_end(struct lull_progress *progress);

/* To be called for each event: looks at the clock only now and then. */
static inline void lull_progress_tick(struct lull_progress *progress)
{
    if (--progress->countdown == 0) {
        lull_progress_update(progress);
    }
}

#endif
