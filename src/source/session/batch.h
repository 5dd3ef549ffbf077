/* SPDX-License-Identifier: MIT */
/* Events that were read ahead, a batch at a time: for who takes so many that asking for each of them
 * would cost as much as what is done with it. */
#ifndef LULL_SOURCE_SESSION_BATCH_H
#define LULL_SOURCE_SESSION_BATCH_H

#include <lull/session.h>

/* Bytes of which records consist. */
#define LULL_RECORD_UNIT 8u

/* An event; its fields, with their texts, follow it. */
struct lull_record {
    int64_t time_ns;
    const struct lull_event_class *event_class; /* NULL: what a stream reported follows */
    uint32_t units;                             /* up to the next record */
    uint32_t stream;                            /* of the session */
    int32_t cpu;
    uint32_t subscription;
};

/* Where the events of a stream are from. */
struct lull_record_place {
    uint32_t host, trace;
};

/* Records from `at` up to `end`. */
struct lull_batch {
    const struct lull_record *at, *end;
    const struct lull_record_place *places; /* by stream */
};

static inline const struct lull_record *lull_record_next(const struct lull_record *record)
{
    return (const struct lull_record *)(const void *)((const char *)record +
                                                      (size_t)record->units * LULL_RECORD_UNIT);
}

/* The next events of a session that is read ahead (see lull_session_read_ahead()): borrowed until the
 * next call, and taken as a whole. False if there are none, or if it is not read ahead: then
 * lull_session_read() has those that are left. */
bool lull_session_read_batch(struct lull_session *session, struct lull_batch *batch);
/* Passes on what a stream reported, at its place between the events. Once for each such record. */
void lull_record_pass_on(const struct lull_record *record);

#endif
