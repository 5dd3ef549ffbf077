/* SPDX-License-Identifier: MIT */
/* Test only: reads everything of a trace through the public API and touches every byte it is given.
 */
#ifndef WALK_H
#define WALK_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

struct walk {
    uint64_t events;   /* handed out */
    uint64_t counted;  /* by lull_session_count() */
    uint64_t fields;   /* visited */
    uint64_t checksum; /* over times, names and values, in order */
    uint64_t disorder; /* events earlier than the one before */
    uint64_t lost_events, lost_packets;
    uint32_t problems;
    char *all_problems; /* a line each, or NULL */
    char *error;        /* why it could not be opened, or NULL */
    char *visit_error;  /* the first error of lull_event_visit(), or NULL */
    bool endless;       /* more events than there are bits in the trace */
};

/* Walks the trace at `dir`; events above `limit` count as endless. */
void walk_trace(struct walk *walk, const char *dir, uint64_t limit);
void walk_clear(struct walk *walk);

#endif
