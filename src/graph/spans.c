/* SPDX-License-Identifier: MIT */
/* Spans as short numbers, and marks between them from which they can be read. */
#include "graph/spans.h"

#include "base/search.h"

/* Spans from one mark to the next: so many are read in vain at most. A mark takes the bytes of two
 * spans or three. */
#define BETWEEN_MARKS 16

/* Ten bytes hold 64 bits. */
#define MOST_BYTES 10

static uint8_t *put(uint8_t *at, uint64_t number)
{
    for (; number >= 0x80; number >>= 7) {
        *at++ = (uint8_t)(number | 0x80);
    }
    *at++ = (uint8_t)number;
    return at;
}

static uint64_t take(const uint8_t *bytes, size_t *at)
{
    uint64_t number = 0;
    for (unsigned shift = 0;; shift += 7) {
        const uint8_t byte = bytes[(*at)++];
        number |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            return number;
        }
    }
}

void lull_spans_add(struct lull_spans *spans, struct lull_span span)
{
    spans->is_open = false;
    if (spans->marks.count) {
        span.start_ns = MAX(span.start_ns, spans->end_ns);
    }
    if (span.end_ns == INT64_MAX) {
        spans->is_open = true;
        spans->open = span;
        return;
    }
    span.end_ns = MAX(span.end_ns, span.start_ns);
    if (spans->marks.count == 0 || spans->n_behind == BETWEEN_MARKS) {
        lull_vec_push(&spans->marks, (struct lull_span_mark){span.start_ns, spans->bytes.count});
        spans->n_behind = 0;
        spans->end_ns = span.start_ns;
    }
    lull_vec_reserve(&spans->bytes, 3 * MOST_BYTES);
    uint8_t *at = spans->bytes.items + spans->bytes.count;
    at = put(at, (uint64_t)span.start_ns - (uint64_t)spans->end_ns);
    at = put(at, (uint64_t)span.end_ns - (uint64_t)span.start_ns);
    at = put(at, span.name);
    spans->bytes.count = (size_t)(at - spans->bytes.items);
    spans->end_ns = span.end_ns;
    spans->n_behind++;
}

void lull_spans_free(struct lull_spans *spans)
{
    lull_vec_free(&spans->bytes);
    lull_vec_free(&spans->marks);
}

struct lull_spans_reader lull_spans_from(const struct lull_spans *spans, int64_t time_ns)
{
    const size_t after =
        LULL_LOWER_BOUND(i, spans->marks.count, spans->marks.items[i].start_ns <= time_ns);
    struct lull_spans_reader reader = {.spans = spans, .mark = after ? after - 1 : 0};
    if (spans->marks.count) {
        reader.at = spans->marks.items[reader.mark].offset;
    }
    return reader;
}

bool lull_spans_next(struct lull_spans_reader *reader, struct lull_span *span)
{
    const struct lull_spans *spans = reader->spans;
    if (reader->at == spans->bytes.count) {
        *span = spans->open;
        const bool is_there = spans->is_open && !reader->is_over;
        reader->is_over = true;
        return is_there;
    }
    if (reader->mark < spans->marks.count &&
        spans->marks.items[reader->mark].offset == reader->at) {
        reader->end_ns = spans->marks.items[reader->mark++].start_ns;
    }
    const uint8_t *bytes = spans->bytes.items;
    span->start_ns = (int64_t)((uint64_t)reader->end_ns + take(bytes, &reader->at));
    span->end_ns = (int64_t)((uint64_t)span->start_ns + take(bytes, &reader->at));
    span->name = (uint32_t)take(bytes, &reader->at);
    reader->end_ns = span->end_ns;
    return true;
}
