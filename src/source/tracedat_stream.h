/* A cursor over the events of one CPU of a trace.dat. */
#ifndef LULL_SOURCE_TRACEDAT_STREAM_H
#define LULL_SOURCE_TRACEDAT_STREAM_H

#include "base/clock.h"
#include "source/tracedat.h"

struct lull_tracedat_stream {
    struct lull_source_stream base;
    const struct lull_tracedat *file;
    const struct lull_report *report;
    struct lull_tracedat_pages *pages;
    uint32_t number; /* within the trace */
    uint8_t *told;   /* bit by page: that it is damaged has been told */
    bool is_opening; /* damage is not told yet */
    GArray *losses;  /* while opening: what pages say was lost before them */
    bool has_told_unknown, has_told_order;

    const struct lull_tracedat_shift *shift; /* or NULL */
    bool is_converted;                       /* time stamps are not nanoseconds as they are */
    struct lull_clock_map map, own;
    int64_t begin_ns, end_ns, last_ns;
    uint64_t page; /* the next one */
    const uint8_t *data;
    uint32_t pos, end; /* of the next event; of the events in the page */
    uint64_t clock;    /* of the last event */
    bool is_done;
    const struct lull_format *format;
    struct lull_format_record record;
    uint8_t *fields;
};

/* The stream, ready to be started; without `fields`. `report` is borrowed, as `file` is. */
struct lull_tracedat_stream *lull_tracedat_stream_new(const struct lull_tracedat *file,
                                                      const struct lull_tracedat_buffer *buffer,
                                                      const struct lull_tracedat_cpu *cpu,
                                                      uint32_t number);
void lull_tracedat_stream_free(struct lull_tracedat_stream *stream);

#endif
