/* SPDX-License-Identifier: MIT */
/* The streams of a session, for those who must know what a loss touches and since when a CPU was
 * recorded. */
#ifndef LULL_SOURCE_SESSION_STREAMS_H
#define LULL_SOURCE_SESSION_STREAMS_H

#include <lull/session.h>

#include "base/numbers.h"
#include "base/vec.h"

struct lull_recording_file;

struct lull_stream_info {
    uint32_t trace, host;
    int32_t cpu;      /* that all its events have, or -1 */
    int64_t start_ns; /* of what is read of it, joined clock: of its first packet, or a limit;
                         INT64_MAX: it has no packets */
    int64_t end_ns;   /* of its last packet; INT64_MIN: not known */
    bool may_grow;    /* it may be of a live session, which has more packets later */
};

uint32_t lull_session_stream_count(const struct lull_session *session);
/* Streams are numbered as in lull_event.stream. */
struct lull_stream_info lull_session_stream(const struct lull_session *session, uint32_t stream);

/* Who subscribed does not tell the classes of one trace from the same ones of another: as long as
 * all subscriptions are such, traces that declare the same share what is made of it. */
void lull_session_share_classes(struct lull_session *session, uint32_t subscription);

/* When the last event of a host is, of any class and on the joined clock, without reading more than
 * it takes. False if only reading can tell. *last_ns is INT64_MIN if there is none. */
bool lull_session_last_event(struct lull_session *session, uint32_t host, int64_t *last_ns);

/* What was lost in the order in which it was found, so that a reader sees what is new; index <
 * lull_session_loss_count(). */
struct lull_loss lull_session_found_loss(const struct lull_session *session, uint32_t index);

/* True of a lull_session_problem() by which nothing is damaged or missing. */
bool lull_session_problem_is_remark(const struct lull_session *session, uint32_t index);

/* Where lull_session_loss_count() is kept, to look at between events; lives as long as the session.
 */
const unsigned *lull_session_loss_counter(const struct lull_session *session);

/* The time of each host's first event, on the joined clock and whatever is selected; INT64_MAX:
 * there is none, or a session is live. Reads no further, and rewinds. */
void lull_session_first_events(struct lull_session *session, int64_t *by_host);
/* Likewise of each trace. */
void lull_session_first_events_by_trace(struct lull_session *session, int64_t *by_trace);

/* When a trace's first and last events are, on the joined clock; first_ns > last_ns: not known, or there are none. */
struct lull_trace_events {
    int64_t first_ns, last_ns;
};

/* Finds them for each trace whose number is true in `wanted`, as lull_session_first_events() does; `found` has a place for all. */
void lull_session_trace_events(struct lull_session *session, const bool *wanted,
                               struct lull_trace_events *found);

/* Nothing was recorded on the host from the last event of some sessions to the first of the next, or while one was stopped, on the
 * joined clock. */
struct lull_gap {
    uint32_t host;
    int64_t start_ns, end_ns;
};

struct lull_gaps {
    LULL_VEC(struct lull_gap) all; /* by start; lull_vec_free() */
};

/* Finds the gaps of and between those traces of each host that are true in `counted` (NULL: of all). Rewinds, if there are any; of
 * live sessions it finds none. */
void lull_session_find_gaps(struct lull_session *session, const bool *counted,
                            struct lull_gaps *gaps);

/* lull_session_count(), but traces that declare the same may share the classes that `visit` gets:
 * each of them costs no memory then. */
void lull_session_count_shared(struct lull_session *session,
                               void (*visit)(void *user, uint32_t trace,
                                             const struct lull_event_class *event_class,
                                             uint64_t count),
                               void *user);

/* The numbers of a host's traces, in order. Nothing that is done for each host looks at all traces.
 */
const uint32_t *lull_session_host_traces(const struct lull_session *session, uint32_t host,
                                         uint32_t *n);
/* lull_session_each_class() of the traces of one host; their numbers have no meaning. */
void lull_session_each_host_class(const struct lull_session *session, uint32_t host,
                                  void (*visit)(void *user, uint32_t trace,
                                                const struct lull_event_class *event_class),
                                  void *user);

/* lull_session_declares() of one trace. */
bool lull_session_trace_declares(const struct lull_session *session, uint32_t trace,
                                 const char *const *names);

/* Each class that some trace declares: traces that declare the same ones, and so share them, are
 * visited once, and go on to share them (lull_session_each_class() has to give each trace its own).
 * Their numbers have no meaning. */
void lull_session_each_declared_class(const struct lull_session *session,
                                      void (*visit)(void *user, uint32_t trace,
                                                    const struct lull_event_class *event_class),
                                      void *user);

/* The first recording of a host, and how many there are, one after the other. */
uint32_t lull_session_recordings_of(const struct lull_session *session, uint32_t host, uint32_t *n);

/* Who could end the wait of that thread when the last recording of the host ended; NULL: not known. Borrowed. */
const struct lull_recorded_holder *lull_session_holder(const struct lull_session *session,
                                                       uint32_t host, int32_t tid);

/* What lull_session_recording() was read from; index as there. Borrowed. */
struct lull_recording_file *lull_session_recording_file(const struct lull_session *session,
                                                        uint32_t index);

/* The build-ids that a trace has of the files that were mapped, as struct lull_source has them.
 * Borrowed; NULL: none. */
GHashTable *lull_session_build_ids(const struct lull_session *session, uint32_t trace);

/* The list of the kernel's symbols that the trace holds, as /proc/kallsyms has it; free with g_free(). NULL: it holds
 * none. */
char *lull_session_kernel_symbols(const struct lull_session *session, uint32_t trace,
                                  gsize *length);

/* As lull_session_select(), for streams of several CPUs; none: all. */
void lull_session_select_cpus(struct lull_session *session, int32_t host, struct lull_numbers cpus);

/* Lets another thread read the session ahead, as lull_session_set_threads() allows and if that is
 * worth it: fields of the events that no binding names, and their bytes, cannot be had then. Until
 * lull_session_end_ahead(), which rewinds if not all was read, the session may be read and asked
 * what it has, but not changed without rewinding it. */
void lull_session_read_ahead(struct lull_session *session);
void lull_session_end_ahead(struct lull_session *session);

/* Lets many hosts be read in slices of time, in each of which one comes after the other: events of
 * one host are in order, those of several only nearly. That is faster, as each is in the caches
 * while it is its turn. */
void lull_session_allow_slices(struct lull_session *session, bool may);

/* Hosts with the same, if it is not NULL, declare the same events. */
const void *lull_session_host_kind(const struct lull_session *session, uint32_t host);

/* How a tracer on `host` knew a task by the end of its recording, beside the events; NULL: none
 * did, or by nothing but `no_name`. Lives as long as the session. */
const char *lull_session_task_name(const struct lull_session *session, uint32_t host, int32_t tid,
                                   const char *no_name);

#endif
