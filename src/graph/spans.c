/* SPDX-License-Identifier: MIT */
/* Spans as short numbers, and marks between them from which they can be read. */
#include "graph/spans.h"

#include <string.h>

#include "base/bits.h"
#include "base/search.h"

/* Spans from one mark to the next: so many are read in vain at most. A mark takes the bytes of two
 * spans or three. */
#define BETWEEN_MARKS 24
/* Before the second mark: many tasks have no more. */
#define FIRST_SPANS 4

/* Of a span: its sizes, the distance, the length and the name. A number is written and read as eight
 * bytes, of which the next one overwrites what is not its own. */
#define MOST_BYTES (1 + 8 + 8 + 4)
#define SLACK 8

static inline unsigned bytes_of(uint64_t number)
{
    return ((63 ^ (unsigned)__builtin_clzll(number | 1)) >> 3) + 1;
}

static inline void put(uint8_t *at, uint64_t number)
{
    number = GUINT64_TO_LE(number);
    memcpy(at, &number, sizeof number);
}

static inline uint64_t take(const uint8_t **at, unsigned n)
{
    const uint64_t number = lull_load_u64(*at, false);
    *at += n;
    return number & (UINT64_MAX >> (64 - 8 * n));
}

/* Where it starts and ends is settled, and there is room for it behind the last mark. */
static inline void append(struct lull_spans *spans, int64_t start_ns, int64_t end_ns, uint32_t name)
{
    const uint64_t distance = (uint64_t)start_ns - (uint64_t)spans->end_ns;
    const uint64_t length = (uint64_t)end_ns - (uint64_t)start_ns;
    const unsigned a = bytes_of(distance), b = bytes_of(length), c = bytes_of(name);
    uint8_t *at = spans->bytes.items + spans->bytes.count;
    *at = (uint8_t)((a - 1) | (b - 1) << 3 | (c - 1) << 6);
    put(at + 1, distance);
    put(at + 1 + a, length);
    put(at + 1 + a + b, name);
    spans->bytes.count += 1 + a + b + c;
    spans->end_ns = end_ns;
    spans->n_left--;
}

/* One that never ends, or that needs a mark. */
static __attribute__((noinline)) void add_rare(struct lull_spans *spans, int64_t start_ns,
                                               int64_t end_ns, uint32_t name)
{
    if (spans->marks.count) {
        start_ns = MAX(start_ns, spans->end_ns);
    }
    spans->is_open = end_ns == INT64_MAX;
    if (spans->is_open) {
        spans->open = (struct lull_span){start_ns, end_ns, name};
        return;
    }
    if (spans->n_left == 0) {
        spans->n_left = spans->marks.count ? BETWEEN_MARKS : FIRST_SPANS;
        lull_vec_push(&spans->marks, (struct lull_span_mark){start_ns, spans->bytes.count});
        lull_vec_reserve(&spans->bytes, spans->n_left * MOST_BYTES + SLACK);
        spans->end_ns = start_ns;
    }
    append(spans, start_ns, MAX(end_ns, start_ns), name);
}

void lull_spans_add(struct lull_spans *spans, int64_t start_ns, int64_t end_ns, uint32_t name)
{
    if (G_UNLIKELY(spans->n_left == 0) || G_UNLIKELY(end_ns == INT64_MAX)) {
        add_rare(spans, start_ns, end_ns, name);
        return;
    }
    spans->is_open = false;
    start_ns = MAX(start_ns, spans->end_ns);
    append(spans, start_ns, MAX(end_ns, start_ns), name);
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
    const uint8_t *at = spans->bytes.items + reader->at;
    const uint8_t sizes = *at++;
    span->start_ns = (int64_t)((uint64_t)reader->end_ns + take(&at, (sizes & 7) + 1));
    span->end_ns = (int64_t)((uint64_t)span->start_ns + take(&at, (sizes >> 3 & 7) + 1));
    span->name = (uint32_t)take(&at, (sizes >> 6) + 1);
    reader->at = (size_t)(at - spans->bytes.items);
    reader->end_ns = span->end_ns;
    return true;
}
