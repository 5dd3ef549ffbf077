/* SPDX-License-Identifier: MIT */
/* A session daemon of LTTng that is not there: what of liblttng-ctl would talk to it, talks to
 * this. What it is told is kept, and any call can be made to fail. Its traces are files of known
 * sizes. */
#ifndef FAKE_LTTNG_H
#define FAKE_LTTNG_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

enum { FAKE_METADATA_BYTES = 100, FAKE_STREAM_BYTES = 4000, FAKE_LOST_EVENTS = 17 };

struct fake_lttng {
    bool is_alive;
    bool is_stopped_by_others; /* sessions are not active any more */
    const char *failing;       /* the function that fails, NULL: none */
    unsigned n_pending;        /* how often data are still to be written */
    GPtrArray *sessions;       /* names */
    GPtrArray *calls;          /* "FUNCTION" or "FUNCTION WHAT", in order */
    const char *const *known;  /* tracepoints, NULL at the end */
    char *path;                /* of the last session made */
    unsigned owner;            /* of it: the user who was seen to make it */
    uint64_t subbuf_size, num_subbuf;
    int overwrite;
};

extern struct fake_lttng fake;

/* A daemon that knows these tracepoints and no session. */
void fake_lttng_start(const char *const *known);
void fake_lttng_end(void);
bool fake_lttng_was_called(const char *call);

#endif
