/* SPDX-License-Identifier: MIT */
/* A cursor over the events of one CPU of a perf.data, in order of time. */
#ifndef LULL_SOURCE_PERF_STREAM_H
#define LULL_SOURCE_PERF_STREAM_H

#include "source/format/source.h"
#include "source/perf/perf.h"

struct lull_perf_stream {
    struct lull_format_stream base;
    const struct perf_file *file;
    const struct perf_cpu *cpu;
    /* The bytes of the file that are read. */
    struct lull_bytes *bytes;
    bool is_open;
    uint8_t *window;
    uint64_t window_start, window_end;
    size_t window_capacity;
    /* Where it is: in an extent whose records are in order and before all others, or among records
     * that had to be put in order, of which those up to `limit` are settled. */
    uint32_t extent; /* the next one */
    uint64_t pos, end;
    GByteArray *waiting; /* copies of records */
    GArray *order;       /* struct perf_waiting */
    uint32_t next_waiting;
    uint64_t n_waited, limit;
    /* The event as it lies in the file; what it says is in `base`. */
    const uint8_t *record;
    uint32_t size;
    struct perf_head head;
    struct perf_sample sample;
    GByteArray *swapped; /* its call chain in this machine's byte order */
    /* Its registers, likewise, after their ABI and mask. */
    uint64_t user_regs[2 + 64];
};

struct perf_waiting {
    uint64_t time, number; /* of its copy, which decides where times are equal */
    uint32_t offset, size; /* in the copies */
};

/* The stream, ready to be started; without `fields`. */
struct lull_perf_stream *lull_perf_stream_new(const struct perf_file *file,
                                              const struct perf_cpu *cpu);
void lull_perf_stream_free(struct lull_perf_stream *stream);
/* The time of a record on the trace's own clock. */
int64_t lull_perf_own_time(const struct perf_file *file, uint64_t time);

#endif
