/* SPDX-License-Identifier: MIT */
/* Spans are read as they were written, from any time on: against an array of them. */
#include <glib.h>

#include "graph/spans.h"

enum { MOST = 1000 };

/* What lull_spans_add() makes of a span after the one before. */
static struct lull_span placed(struct lull_span span, int64_t end_ns, bool is_first)
{
    if (!is_first && span.start_ns < end_ns) {
        span.start_ns = end_ns;
    }
    if (span.end_ns < span.start_ns) {
        span.end_ns = span.start_ns;
    }
    return span;
}

/* From `time_ns` on: none that ends later is left out, and those are all that is there. */
static void check_from(const struct lull_spans *spans, const struct lull_span *written, uint32_t n,
                       int64_t time_ns)
{
    struct lull_spans_reader reader = lull_spans_from(spans, time_ns);
    struct lull_span read;
    uint32_t at = 0;
    bool is_any = lull_spans_next(&reader, &read);
    while (is_any && at < n &&
           (written[at].start_ns != read.start_ns || written[at].end_ns != read.end_ns ||
            written[at].name != read.name)) {
        g_assert_cmpint(written[at++].end_ns, <=, time_ns);
    }
    for (; at < n; at++) {
        g_assert_true(is_any);
        g_assert_cmpint(read.start_ns, ==, written[at].start_ns);
        g_assert_cmpint(read.end_ns, ==, written[at].end_ns);
        g_assert_cmpuint(read.name, ==, written[at].name);
        is_any = lull_spans_next(&reader, &read);
    }
    g_assert_false(is_any);
    g_assert_false(lull_spans_next(&reader, &read));
}

static void test_random(void)
{
    for (int round = 0; round < 50; round++) {
        struct lull_spans spans = {0};
        struct lull_span written[MOST];
        const uint32_t n = (uint32_t)g_test_rand_int_range(0, MOST);
        int64_t t = -1000000;
        for (uint32_t i = 0; i < n; i++) {
            const int64_t gap = (int64_t)1 << g_test_rand_int_range(0, 40);
            struct lull_span span = {t - 3 + g_test_rand_int_range(0, 10), t + gap - 1,
                                     (uint32_t)g_test_rand_int() >> g_test_rand_int_range(0, 31)};
            if (i == 0 && round % 2) {
                span.start_ns = INT64_MIN; /* a call that had started before the trace */
            }
            written[i] = placed(span, t, i == 0);
            t = written[i].end_ns;
            lull_spans_add(&spans, span.start_ns, span.end_ns, span.name);
        }
        for (int k = 0; k < 20; k++) {
            const uint32_t of = n ? (uint32_t)g_test_rand_int_range(0, (gint32)n) : 0;
            check_from(&spans, written, n, n ? written[of].end_ns - k % 3 : 0);
        }
        check_from(&spans, written, n, INT64_MIN);
        check_from(&spans, written, n, INT64_MAX);
        lull_spans_free(&spans);
    }
}

/* A span without end lasts unless something comes after it. */
static void test_open(void)
{
    struct lull_spans spans = {0};
    const struct lull_span first = {10, 20, 1}, open = {15, INT64_MAX, 2};
    lull_spans_add(&spans, open.start_ns, open.end_ns, open.name);
    check_from(&spans, &open, 1, 1000);
    lull_spans_add(&spans, first.start_ns, first.end_ns, first.name);
    check_from(&spans, &first, 1, 0);
    lull_spans_add(&spans, open.start_ns, open.end_ns, open.name);
    check_from(&spans, (const struct lull_span[]){first, {20, INT64_MAX, 2}}, 2, 0);
    lull_spans_add(&spans, 30, 31, 3);
    check_from(&spans, (const struct lull_span[]){first, {30, 31, 3}}, 2, 0);
    lull_spans_free(&spans);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/graph/spans/random", test_random);
    g_test_add_func("/graph/spans/open", test_open);
    return g_test_run();
}
