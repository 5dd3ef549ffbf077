/* SPDX-License-Identifier: MIT */
/* What an export writes of traces that are not CTF: their records, each to a stream of its CPU, and
 * what was lost between them. */
#ifndef LULL_SOURCE_EXPORT_RECORDS_H
#define LULL_SOURCE_EXPORT_RECORDS_H

#include "ctf/writer/writer.h"
#include "source/session/private.h"

struct lull_export_records;

/* For all traces of the session; counts their events to know which classes are to be declared, so
 * nothing may have been read. Free with lull_export_records_free(). */
struct lull_export_records *lull_export_records_new(struct lull_session *session);
void lull_export_records_free(struct lull_export_records *records);

/* The plan of a trace that has formats; borrowed, to be called once for each. NULL and an error if
 * it cannot be exported. */
const struct lull_ctf_plan *lull_export_records_plan(struct lull_export_records *records,
                                                     uint32_t trace, GError **error);
/* When reading has started: the stream's events go to `writer`. */
void lull_export_records_start(struct lull_export_records *records, uint32_t stream,
                               struct lull_ctf_writer *writer);
/* Writes the event that the session handed out last. */
bool lull_export_records_event(struct lull_export_records *records, const struct lull_event *event,
                               GError **error);
/* Ends what was started of the stream, if anything was. */
bool lull_export_records_finish(struct lull_export_records *records, uint32_t stream,
                                GError **error);

#endif
