/* SPDX-License-Identifier: MIT */
/* A cursor over the events of one CPU of a trace.dat. */
#ifndef LULL_SOURCE_TRACEDAT_STREAM_H
#define LULL_SOURCE_TRACEDAT_STREAM_H

#include "source/format/ring.h"
#include "source/format/source.h"
#include "source/tracedat/tracedat.h"

/* Between two times, own clock; events 0: nobody knows how many. */
struct lull_tracedat_loss {
    int64_t start_ns, end_ns;
    uint64_t events;
};

/* Events of one class. Kept for those that there are: a file may have far more classes than events.
 */
struct lull_tracedat_count {
    uint32_t class_index;
    uint64_t n;
};

struct lull_tracedat_stream {
    struct lull_format_stream base;
    const struct lull_tracedat *file;
    struct lull_tracedat_pages *pages;
    uint32_t number;     /* within the trace */
    uint8_t *reported;   /* bit by page: its damage has been reported */
    bool is_quiet;       /* damage is not reported; */
    bool has_unreported; /* there was some */
    GArray *losses;      /* struct lull_tracedat_loss, from lull_tracedat_survey() on */
    GArray *counts;      /* struct lull_tracedat_count: of all its events; or NULL */
    bool is_at_start;
    bool has_reported_unknown, has_reported_order;
    const struct lull_format *undecoded; /* that was reported last */

    const struct lull_tracedat_shift *shift; /* or NULL */
    bool is_converted;                       /* time stamps are not nanoseconds as they are */
    struct lull_clock_map own;
    int64_t last_ns;
    uint64_t page; /* the next one */
    const uint8_t *data;
    uint32_t pos, end; /* of the next event; of the events in the page */
    uint64_t clock;    /* of the last event */
};

/* The stream, which may be started after lull_tracedat_survey(); without `fields`. `report` is
 * borrowed, as `file` is. */
struct lull_tracedat_stream *lull_tracedat_stream_new(const struct lull_tracedat *file,
                                                      const struct lull_tracedat_buffer *buffer,
                                                      const struct lull_tracedat_cpu *cpu,
                                                      uint32_t number);
void lull_tracedat_stream_free(struct lull_tracedat_stream *stream);

/* ---- tracedat_survey.c ---- */

/* Finds out about a stream; several threads may do that for streams of their own. */
void lull_tracedat_survey(struct lull_tracedat_stream *stream);
/* Reports what was lost of it. */
void lull_tracedat_survey_report(struct lull_tracedat_stream *stream, const char *buffer);
/* Makes stream->counts known, wherever the stream is. */
void lull_tracedat_survey_count(struct lull_tracedat_stream *stream);
/* Calls visit() for each stream, by several threads. */
void lull_tracedat_survey_each(GPtrArray *streams,
                               void (*visit)(struct lull_tracedat_stream *stream));

/* ---- for the survey ---- */

int64_t lull_tracedat_stream_own_time(const struct lull_tracedat_stream *stream, uint64_t clock);
/* Starts the page stream->page and steps to the next. False if it is damaged. */
bool lull_tracedat_stream_start_page(struct lull_tracedat_stream *stream);
/* Goes through a page, so that stream->clock is that of its last event. False if it has none. */
bool lull_tracedat_stream_walk_page(struct lull_tracedat_stream *stream, uint64_t page);
/* Makes `counts` of all events from where it is. */
void lull_tracedat_stream_count_on(struct lull_tracedat_stream *stream);
/* A quiet copy, at the start; of it only `pages` is to be freed. */
void lull_tracedat_stream_make_clone(const struct lull_tracedat_stream *stream,
                                     struct lull_tracedat_stream *clone);

#endif
