/* SPDX-License-Identifier: MIT */
/* Usage over time: a few events go through the model at times chosen so that the bins can be worked
 * out by hand. */
#include "lib/feed.h"
#include "lib/table_sink.h"

struct fixture {
    struct lull_model *model;
    struct lull_question_params params;
    struct lull_analysis *analysis;
    struct table_sink sink;
};

/* The window begins at start_ns, the recording at 0, with an event that says nothing. */
static void start(struct fixture *f, int64_t start_ns)
{
    const struct lull_analysis_class *class = &lull_analysis_timeline;
    struct lull_model *model = lull_model_new(NULL, class->groups);
    f->model = model;
    f->params = (struct lull_question_params){.host = -1};
    f->sink = table_sink_new();
    f->analysis = g_malloc0(class->size);
    *f->analysis = (struct lull_analysis){
        .class = class, .model = model, .params = &f->params, .start_ns = start_ns};
    class->open(f->analysis);
    lull_model_subscribe(model, &class->facts, f->analysis);
    FEED(irq_work_exit, 0, 0, 0, 0);
}

/* The lines that it tells. */
static char **end(struct fixture *f, int64_t end_ns)
{
    const struct lull_window window = {.start_ns = f->analysis->start_ns, .end_ns = end_ns};
    f->analysis->class->close(f->analysis, end_ns);
    f->analysis->class->emit(f->analysis, &window, &f->sink.sink);
    char **lines = g_strsplit(f->sink.text->str, "\n", -1);
    f->analysis->class->free(f->analysis);
    g_free(f->analysis);
    lull_model_free(f->model);
    g_string_free(f->sink.text, TRUE);
    return lines;
}

static void expect(char **lines, uint32_t first, const char *const *expected)
{
    for (uint32_t i = 0; expected[i]; i++) {
        g_assert_cmpstr(lines[first + i], ==, expected[i]);
    }
}

/* 240 bins of 1000 ns end at 240000, so bins up to there are of 1000 ns, and one more is not. */
static void feed_run(struct lull_model *model)
{
    feed_wake(model, LULL_EVENT_sched_waking, 0, 0, 400, 7, 0);
    feed_switch(model, 0, 0, 500, 0, 7, 0);
    feed_switch(model, 0, 0, 2500, 7, 0, 1);
}

static void test_bins(void)
{
    struct fixture f;
    start(&f, 0);
    feed_run(f.model);
    char **lines = end(&f, 5000);
    const char *const expected[] = {"cpu-over-time",   "0 0.500", /* 500 … 1000 */
                                    "1000 1.000",      "2000 0.500", "3000 0.000", "4000 0.000",
                                    "waits-over-time", "0 100.000",  "1000 -",     "2000 -",
                                    "3000 -",          "4000 -",     "",           NULL};
    expect(lines, 0, expected);
    g_strfreev(lines);
}

/* The same run, but the window lasts until bins must be of 2000 ns. */
static void test_widened(void)
{
    struct fixture f;
    start(&f, 0);
    feed_run(f.model);
    feed_switch(f.model, 0, 0, 240000, 0, 8, 0);
    char **lines = end(&f, 241500);
    const char *const first[] = {"cpu-over-time", "0 0.750", "2000 0.250", "4000 0.000", NULL};
    /* 1500 ns of the last bin are within the window, and 8 ran in all of them. */
    const char *const last[] = {"238000 0.000", "240000 1.000", "waits-over-time",
                                "0 100.000",    "2000 -",       NULL};
    expect(lines, 0, first);
    expect(lines, 1 + 119, last);
    g_strfreev(lines);
}

/* 400 ns are less than half a bin: they belong to the last whole one, which is 1400 ns long. */
static void test_folded(void)
{
    struct fixture f;
    start(&f, 0);
    feed_switch(f.model, 0, 0, 1700, 0, 7, 0);
    char **lines = end(&f, 2400);
    const char *const expected[] = {"cpu-over-time", "0 0.000", "1000 0.500", "", NULL};
    expect(lines, 0, expected);
    g_strfreev(lines);
}

/* What ran into the window counts from its begin, and twenty doublings later still: 1000 ns · 2^20
 * is the first width of which 240 are 200 s and more. */
static void test_cut(void)
{
    const int64_t width_ns = INT64_C(1000) << 20;
    struct fixture f;
    start(&f, 1500);
    feed_switch(f.model, 0, 0, 500, 0, 7, 0);
    feed_switch(f.model, 0, 0, 1500 + width_ns / 2, 7, 0, 1);
    feed_switch(f.model, 0, 0, INT64_C(200000001500), 0, 8, 0);
    char **lines = end(&f, INT64_C(200000001500));
    const char *const first[] = {"cpu-over-time", "1500 0.500", "1048577500 0.000", NULL};
    expect(lines, 0, first);
    g_assert_cmpint(g_strv_length(lines), ==, 1 + 191 + 1); /* no wait ended in the window */
    g_strfreev(lines);
}

static void test_transfer(void)
{
    struct fixture f;
    start(&f, 0);
    struct lull_model *model = f.model;
    feed_switch(model, 0, 0, 100, 0, 7, 0);
    FEED(netif_sent, 0, 0, 1500, .have = ALL & WITHOUT(netif_sent, context_tid), .len = 60,
         .device = feed_text("eth0"));
    FEED(netif_received, 0, 0, 1600, .have = ALL & WITHOUT(netif_received, context_tid), .len = 90,
         .device = feed_text("eth0"));
    FEED(netif_received, 0, 0, 1700, .have = ALL & WITHOUT(netif_received, context_tid), .len = 10,
         .device = feed_text("eth0"));
    char **lines = end(&f, 2000);
    /* Bytes of a microsecond, a million times that a second: received, sent. */
    const char *const expected[] = {"network-over-time", "0 0.000 0.000",
                                    "1000 100000000.000 60000000.000", "", NULL};
    expect(lines, 3, expected);
    g_strfreev(lines);
}

/* Requests count where they end; what is neither read nor written moves nothing. A sector is 512
 * bytes. Only host 1 did anything. */
static void test_disk(void)
{
    enum {
        FLUSH = LULL_RWBS_FLUSH,
        READ = LULL_RWBS_READ,
        WRITE = LULL_RWBS_WRITE,
        DISCARD = LULL_RWBS_DISCARD
    };
    static const struct {
        int64_t t;
        int64_t sector, sectors;
        unsigned rwbs;
    } requests[] = {{100, 0, 2, READ},
                    {1200, 10, 1, WRITE},
                    {1300, 20, 3, WRITE},
                    {1400, 30, 9, DISCARD},
                    {1500, 0, 0, FLUSH}};
    struct fixture f;
    start(&f, 0);
    struct lull_model *model = f.model;
    for (size_t i = 0; i < G_N_ELEMENTS(requests); i++) {
        FEED(block_rq_issue, 1, 0, requests[i].t,
             .have = WITHOUT(block_rq_issue, context_tid) & WITHOUT(block_rq_issue, rwbs_text),
             .dev = 8, .sector = requests[i].sector, .sectors = requests[i].sectors,
             .rwbs = requests[i].rwbs);
        FEED(block_rq_complete, 1, 0, requests[i].t + 500,
             .have = WITHOUT(block_rq_issue, context_tid) & WITHOUT(block_rq_issue, rwbs_text),
             .dev = 8, .sector = requests[i].sector, .sectors = requests[i].sectors,
             .rwbs = requests[i].rwbs);
    }
    char **lines = end(&f, 2000);
    /* 1024 and 2048 bytes in a microsecond */
    const char *const expected[] = {"disk-over-time", "0 1024000000.000 0.000",
                                    "1000 0.000 2048000000.000", "", NULL};
    expect(lines, 0, expected);
    g_strfreev(lines);
}

/* 400 ns are less than half a bin: the last bin has 140 bytes in 1400 ns. */
static void test_folded_transfer(void)
{
    struct fixture f;
    start(&f, 0);
    struct lull_model *model = f.model;
    FEED(netif_sent, 0, 0, 1500, .have = ALL & WITHOUT(netif_sent, context_tid), .len = 60,
         .device = feed_text("eth0"));
    FEED(netif_sent, 0, 0, 2300, .have = ALL & WITHOUT(netif_sent, context_tid), .len = 80,
         .device = feed_text("eth0"));
    char **lines = end(&f, 2400);
    const char *const expected[] = {"network-over-time", "0 0.000 0.000",
                                    "1000 0.000 100000000.000", "", NULL};
    expect(lines, 0, expected);
    g_strfreev(lines);
}

/* Each host's rates are known where that host was recorded. */
static void test_hosts(void)
{
    static const struct lull_coverage coverage[] = {{0, 3000}, {0, 900}};
    struct fixture f;
    start(&f, 0);
    f.analysis->coverage = coverage;
    struct lull_model *model = f.model;
    for (uint32_t host = 0; host < 2; host++) {
        FEED(netif_sent, host, 0, 500, .have = ALL & WITHOUT(netif_sent, context_tid), .len = 60,
             .device = feed_text("eth0"));
    }
    char **lines = end(&f, 2000);
    const char *const expected[] = {"network-over-time",
                                    "0 0.000 60000000.000",
                                    "1000 0.000 0.000",
                                    "network-over-time",
                                    "0 0.000 60000000.000",
                                    "1000 ? ?",
                                    "",
                                    NULL};
    expect(lines, 0, expected);
    g_strfreev(lines);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/timeline/bins", test_bins);
    g_test_add_func("/timeline/widened", test_widened);
    g_test_add_func("/timeline/folded", test_folded);
    g_test_add_func("/timeline/cut", test_cut);
    g_test_add_func("/timeline/transfer", test_transfer);
    g_test_add_func("/timeline/disk", test_disk);
    g_test_add_func("/timeline/folded-transfer", test_folded_transfer);
    g_test_add_func("/timeline/hosts", test_hosts);
    return g_test_run();
}
