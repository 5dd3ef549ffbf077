/* SPDX-License-Identifier: MIT */
/* Stretches of time with names, in time order and apart from one another, such as the system calls
 * of a task: millions, of which few are looked at. Each takes about seven bytes: how far it lies
 * behind the one before, how long it is, and its name, each in as many bytes as it needs, after one
 * that says how many these are. */
#ifndef LULL_GRAPH_SPANS_H
#define LULL_GRAPH_SPANS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"

struct lull_span {
    int64_t start_ns, end_ns; /* INT64_MAX: it never ends */
    uint32_t name;
};

/* Where reading can start. */
struct lull_span_mark {
    int64_t start_ns; /* of the span */
    size_t offset;
};

/* A zeroed one is empty. */
struct lull_spans {
    LULL_VEC(uint8_t) bytes;
    LULL_VEC(struct lull_span_mark) marks;
    uint32_t n_left; /* spans that come before the next mark */
    bool is_open;    /* the last one never ends, and is not among the bytes */
    int64_t end_ns;  /* of the last one among them */
    struct lull_span open;
};

/* A span that starts before the end of the last one starts there; one that ends before that is
 * empty. What never ended did not last, if something comes after it. */
void lull_spans_add(struct lull_spans *spans, int64_t start_ns, int64_t end_ns, uint32_t name);
void lull_spans_free(struct lull_spans *spans);

struct lull_spans_reader {
    const struct lull_spans *spans;
    size_t at, mark;
    int64_t end_ns;
    bool is_over;
};

/* Reads from some span on that is not after the first which ends after `time_ns`. */
struct lull_spans_reader lull_spans_from(const struct lull_spans *spans, int64_t time_ns);
/* The next one; false after the last. */
bool lull_spans_next(struct lull_spans_reader *reader, struct lull_span *span);

#endif
