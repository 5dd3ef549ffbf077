/* SPDX-License-Identifier: MIT */
/* Streams of events for the tests of periods, and the periods found in them as text. */
#ifndef TESTS_PERIOD_STREAMS_H
#define TESTS_PERIOD_STREAMS_H

#include "lib/ctf_writer.h"
#include "period/period.h"

#define LOST ""

/* One event. */
struct stream_event {
    double ms;
    unsigned cpu;
    const char
        *name; /* NULL ends a stream; LOST: events of the CPU are missing since its last one */
    const char *values; /* as for ctf_event() */
};

/* Writes the events as a trace. The classes a … f have the fields id (64 bits, signed), big (64
 * bits, unsigned), s (text), ratio (double) and state (enumeration: idle 0, busy 1); bare has none;
 * other has id (32 bits, unsigned) and which; sched_switch is LTTng's. */
void write_stream(const char *dir, const struct stream_event *events, unsigned contexts);

/* The stream `per` of the golden vectors of lttng-analyses (spec, section 9, scenario 11). */
extern const struct stream_event stream_requests[];

struct lull_session *open_stream(const char *dir);

/* "path[begin-end]" of each instance in order of opening, times in ms, "!" behind those that are
 * incomplete, then captures in braces. */
char *describe_periods(struct lull_session *session, const struct lull_periods *periods,
                       struct lull_period_tracker *tracker);
/* Follows the periods through the whole stream, which nobody subscribes to. */
char *find_periods(const char *dir, const char *const *definitions, const char *const *captures);

#endif
