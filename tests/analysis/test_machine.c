/* SPDX-License-Identifier: MIT */
/* Analyses of what a machine did: interrupts, memory, network, frequencies. A few events at small
 * times go through the model; what is expected is worked out by hand. */
#include "lib/feed.h"
#include "lib/table_sink.h"

struct fixture {
    struct lull_model *model;
    struct lull_question_params params;
    const struct lull_analysis_class *class;
    struct lull_analysis *analysis;
    struct table_sink sink;
};

/* The window begins at 0, with an event that says nothing. */
static void start(struct fixture *f, const struct lull_analysis_class *class)
{
    struct lull_model *model = lull_model_new(NULL, class->groups);
    f->class = class;
    f->model = model;
    f->sink = table_sink_new();
    f->analysis = g_malloc0(class->size);
    *f->analysis = (struct lull_analysis){.class = class, .model = f->model, .params = &f->params};
    if (class->open) {
        class->open(f->analysis);
    }
    lull_model_subscribe(f->model, &class->facts, f->analysis);
    FEED(irq_work_exit, 0, 0, 0, 0);
}

static void end(struct fixture *f, int64_t end_ns)
{
    const struct lull_window window = {.end_ns = end_ns};
    f->class->close(f->analysis, end_ns);
    f->class->emit(f->analysis, &window, &f->sink.sink);
}

static void set_up(struct fixture *f, gconstpointer data)
{
    f->params = (struct lull_question_params){.host = -1,
                                              .sections = ~0u,
                                              .min_ns = INT64_MIN,
                                              .max_ns = INT64_MAX,
                                              .min_bytes = INT64_MIN,
                                              .max_bytes = INT64_MAX,
                                              .freq_resolution = 2};
}

static void tear_down(struct fixture *f, gconstpointer data)
{
    f->class->free(f->analysis);
    g_free(f->analysis);
    lull_model_free(f->model);
    g_string_free(f->sink.text, TRUE);
}

static void expect(const struct fixture *f, const char *text)
{
    g_assert_cmpstr(f->sink.text->str, ==, text);
}

static void expect_table(const struct fixture *f, const char *head, const char *rows)
{
    g_autofree char *found = table_sink_get(&f->sink, head);
    g_assert_nonnull(found);
    found[MIN(strlen(found), strlen(rows))] = '\0';
    g_assert_cmpstr(found, ==, rows);
}

/* ---- interrupts ---- */

static void feed_interrupts(struct lull_model *model)
{
    feed_switch(model, 0, 0, 5, 0, 7, 0);
    feed_irq(model, 0, 0, 10, 41, "ahci", true);
    feed_irq(model, 0, 0, 11, 41, "ahci", false);
    feed_irq(model, 0, 0, 20, 41, "usb", true); /* the line is shared */
    feed_irq(model, 0, 0, 23, 41, "usb", false);
    FEED(softirq_raise, 0, 0, 45, .have = ALL, .vec = 3);
    feed_softirq(model, 0, 0, 50, 3, true);
    feed_irq(model, 0, 0, 52, 42, "eth0", true);
    feed_irq(model, 0, 0, 54, 42, "eth0", false);
    feed_softirq(model, 0, 0, 60, 3, false);
    feed_switch(model, 0, 0, 65, 7, 0, 1);
    FEED(local_timer_entry, 0, 0, 70, 0);
    FEED(hrtimer_entry, 0, 0, 71, 0);
    FEED(hrtimer_exit, 0, 0, 72, 0);
    FEED(local_timer_exit, 0, 0, 75, 0);
    feed_softirq(model, 0, 0, 80, 9, true); /* does not end */
}

/* Deviation of 1 and 3: both are 1 off, squares 1 + 1 by n - 1 = 1: root of 2. */
static void test_irq_stats(struct fixture *f, gconstpointer data)
{
    f->params.sections = LULL_SECTION_STATS;
    start(f, &lull_analysis_irq);
    feed_interrupts(f->model);
    end(f, 100);
    expect(f, "hard-stats\nahci, usb 2 1 2.000 3 1.414 1 3 3 3 4 4\n"
              "eth0 1 2 2.000 2 ? 2 2 2 2 2 2\n"
              "soft-stats\nNET_RX 1 10 10.000 10 ? 10 10 10 10 10 8 1 5 5.000 5 ? 5 5 5 5\n"
              "vector-stats\nhrtimer 1 1 1.000 1 ? 1 1 1 1 1 1\n"
              "local timer 1 5 5.000 5 ? 5 5 5 5 5 4\n");
}

/* Numbers of interrupts and of soft interrupts are different numbers. */
static void test_irq_numbers(struct fixture *f, gconstpointer data)
{
    f->params.sections = LULL_SECTION_STATS;
    start(f, &lull_analysis_irq);
    struct lull_model *model = f->model;
    feed_softirq(model, 0, 0, 10, 3, true);
    feed_softirq(model, 0, 0, 14, 3, false);
    feed_irq(model, 0, 0, 20, 3, "serial", true);
    feed_irq(model, 0, 0, 21, 3, "serial", false);
    end(f, 100);
    expect_table(f, "hard-stats", "serial 1 1 1.000 1 ? ");
    expect_table(f, "soft-stats", "NET_RX 1 4 4.000 4 ? ");
}

static void test_irq_log(struct fixture *f, gconstpointer data)
{
    f->params.sections = LULL_SECTION_LOG;
    f->params.min_ns = 2;
    start(f, &lull_analysis_irq);
    feed_interrupts(f->model);
    end(f, 100);
    expect(f, "log\n20..23 3 3 - 0 usb t7/-1/7\n52..54 2 2 - 0 eth0 t7/-1/7\n"
              "50..60 10 8 45 0 NET_RX t7/-1/7\nvector-log\n70..75 5 4 0 local timer -\n");
}

static void test_irq_freq(struct fixture *f, gconstpointer data)
{
    f->params.sections = LULL_SECTION_FREQ;
    f->params.irqs = (struct lull_numbers){(const int64_t[]){41}, 1};
    start(f, &lull_analysis_irq);
    feed_interrupts(f->model);
    end(f, 100);
    expect(f, "freq [ahci, usb (41)]\n1.000 2.000 1\n2.000 3.000 1\n");
}

static void test_irq_choice(struct fixture *f, gconstpointer data)
{
    f->params.sections = LULL_SECTION_STATS;
    f->params.softirqs = (struct lull_numbers){(const int64_t[]){3, 9}, 2};
    f->params.is_lami = true;
    start(f, &lull_analysis_irq);
    feed_interrupts(f->model);
    end(f, 100);
    expect(f, "soft-stats\n"
              "NET_RX_SOFTIRQ 1 10 10.000 10 ? 10 10 10 10 10 8 1 5 5.000 5 ? 5 5 5 5\n");
}

static void test_irq_of_task(struct fixture *f, gconstpointer data)
{
    f->params.sections = LULL_SECTION_STATS;
    f->params.tids = (struct lull_numbers){(const int64_t[]){8}, 1};
    start(f, &lull_analysis_irq);
    feed_interrupts(f->model);
    end(f, 100);
    expect(f, "");
}

/* ---- memory ---- */

#define PAGE(event, t, n)                                                                          \
    FEED(page_##event, 0, 0, t, .have = UINT64_C(1) << LULL_FIELD_page_##event##_order,            \
         .order = (n))

static void feed_pages(struct lull_model *model)
{
    PAGE(alloc, 1, 0); /* it is not known yet who is there */
    feed_switch(model, 0, 0, 5, 0, 7, 0);
    PAGE(alloc, 10, 3);
    PAGE(alloc, 11, 0);
    PAGE(free, 12, 1);
    feed_softirq(model, 0, 0, 13, 3, true);
    PAGE(alloc, 14, 1);
    feed_softirq(model, 0, 0, 15, 3, false);
    feed_switch(model, 0, 0, 20, 7, 8, 1);
    PAGE(free, 21, 3);
    feed_switch(model, 0, 0, 30, 8, 0, 1);
    FEED(page_free, 0, 0, 31, 0); /* without order */
}

static void test_memory(struct fixture *f, gconstpointer data)
{
    f->params.by_order = true;
    start(f, &lull_analysis_memtop);
    feed_pages(f->model);
    end(f, 100);
    expect(f, "note: 1 event does not say how many pages it is about: it counts as one\n"
              "allocd\nt7/-1/7 2 9\ninterrupts/-1/-1 1 2\nunknown/-1/-1 1 1\nt8/-1/8 0 0\n"
              "idle/-1/-1 0 0\n"
              "freed\nt8/-1/8 1 8\nt7/-1/7 1 2\nidle/-1/-1 1 1\nunknown/-1/-1 0 0\n"
              "interrupts/-1/-1 0 0\n"
              "total\n12 11 1\n"
              "by-order\n0 2 2 1 1\n1 1 2 1 2\n3 1 8 1 8\n");
}

static void test_memory_of_task(struct fixture *f, gconstpointer data)
{
    f->params.tids = (struct lull_numbers){(const int64_t[]){7}, 1};
    start(f, &lull_analysis_memtop);
    feed_pages(f->model);
    end(f, 100);
    expect(f, "allocd\nt7/-1/7 2 9\nfreed\nt7/-1/7 1 2\ntotal\n9 2 7\n");
}

/* Pages of each host are its own. */
static void test_memory_of_hosts(struct fixture *f, gconstpointer data)
{
    f->params.by_order = true;
    start(f, &lull_analysis_memtop);
    struct lull_model *model = f->model;
    PAGE(alloc, 10, 0);
    FEED(page_alloc, 1, 0, 20, .have = UINT64_C(1) << LULL_FIELD_page_alloc_order, .order = 1);
    FEED(page_free, 1, 0, 30, .have = UINT64_C(1) << LULL_FIELD_page_free_order, .order = 2);
    end(f, 100);
    expect_table(f, "total", "1 0 1\n2 4 -2\nby-order\n0 1 1 0 0\n1 1 2 0 0\n2 0 0 1 4\n");
}

/* Twice 2^63 pages are more than can be counted: the most that can be shown, of which this prints 32
 * bits, all ones. Within LAMI's windows there is a summary. */
static void test_memory_limit(struct fixture *f, gconstpointer data)
{
    f->params.by_order = f->params.is_lami = f->params.has_windows = true;
    start(f, &lull_analysis_memtop);
    struct lull_model *model = f->model;
    feed_switch(model, 0, 0, 5, 0, 7, 0);
    PAGE(alloc, 10, 63);
    PAGE(alloc, 11, 63);
    PAGE(free, 12, 1);
    end(f, 100);
    expect_table(f, "by-order", "1 0 0 1 2\n63 2 -1 0 0\n");
    expect_table(f, "allocd", "t7/-1/7 2 -1\n");
    expect_table(f, "summary", "0..100 -1 2\n");
}

/* ---- network ---- */

static void feed_segment(struct lull_model *model, int64_t t, bool is_send, uint32_t seq,
                         uint32_t payload)
{
    struct feed_segment segment = {
        .from = 1, .to = 2, .from_port = 4000, .to_port = 80, .seq = seq, .payload = payload};
    if (!is_send) {
        segment.from = 2, segment.to = 1;
        segment.from_port = 80, segment.to_port = 4000;
    }
    feed_tcp(model, 0, 0, t, is_send, &segment);
}

/* Sequence numbers pass 2^32: 10 bytes before it, 20 in all; then the last 15 and 5 new ones; what
 * comes after a gap is new. */
static void test_connections(struct fixture *f, gconstpointer data)
{
    start(f, &lull_analysis_nettop);
    struct lull_model *model = f->model;
    feed_switch(model, 0, 0, 5, 0, 7, 0);
    feed_segment(model, 10, true, UINT32_MAX - 9, 20);
    feed_segment(model, 11, true, UINT32_MAX - 4, 20);
    feed_segment(model, 12, true, 100, 7);
    feed_segment(model, 13, true, 107, 0);
    feed_switch(model, 0, 0, 15, 7, 0, 1);
    feed_softirq(model, 0, 0, 20, 3, true);
    feed_segment(model, 21, false, 1, 1000);
    feed_softirq(model, 0, 0, 22, 3, false);
    FEED(netif_sent, 0, 0, 25, .have = WITHOUT(netif_sent, context_tid), .len = 74,
         .device = feed_text("eth0"));
    FEED(netif_received, 0, 0, 26, .have = WITHOUT(netif_received, context_tid), .len = 1040,
         .device = feed_text("eth0"));
    end(f, 100);
    expect(f, "per-interface\neth0 1 74 2 1040\n" /* the packet above told no length */
              "per-process\nt7/-1/7 1 4 47 15 1 1000\n"
              "per-connection\ntcp 10.0.0.1:4000 10.0.0.2:80 t7/-1/7 4 47 15 1 1000\n");
}

/* Most bytes, of both directions, first; of two with as many, what was seen first. */
static void test_order_of_connections(struct fixture *f, gconstpointer data)
{
    static const struct {
        uint16_t port;
        uint32_t payload;
    } sent[] = {{1001, 20}, {1002, 10}, {1003, 10}, {1004, 30}, {1005, 40}};
    start(f, &lull_analysis_nettop);
    struct lull_model *model = f->model;
    for (size_t i = 0; i < G_N_ELEMENTS(sent); i++) {
        struct feed_segment segment = {.from = 1,
                                       .to = 2,
                                       .from_port = sent[i].port,
                                       .to_port = 80,
                                       .seq = 1,
                                       .payload = sent[i].payload};
        feed_tcp(model, 0, 0, 10 + (int64_t)i, true, &segment);
    }
    feed_tcp(model, 0, 0, 20, false,
             &(struct feed_segment){
                 .from = 2, .to = 1, .from_port = 80, .to_port = 1001, .seq = 1, .payload = 15});
    end(f, 100);
    expect_table(f, "per-connection",
                 "tcp 10.0.0.1:1005 10.0.0.2:80 ? 1 40 0 0 0\n"
                 "tcp 10.0.0.1:1001 10.0.0.2:80 ? 1 20 0 1 15\n"
                 "tcp 10.0.0.1:1004 10.0.0.2:80 ? 1 30 0 0 0\n"
                 "tcp 10.0.0.1:1002 10.0.0.2:80 ? 1 10 0 0 0\n"
                 "tcp 10.0.0.1:1003 10.0.0.2:80 ? 1 10 0 0 0\n");
}

/* Seen first or last, what was sent goes out; an acknowledgement ahead of the bytes before it repeats
 * none of them. The connection is that of the task that has most of the packets: 8, not 7 or 9. */
static void test_owner(struct fixture *f, gconstpointer data)
{
    start(f, &lull_analysis_nettop);
    struct lull_model *model = f->model;
    feed_switch(model, 0, 0, 5, 0, 7, 0);
    feed_segment(model, 10, false, 1, 1000);
    feed_segment(model, 11, true, 120, 0);
    feed_segment(model, 12, true, 100, 20);
    feed_switch(model, 0, 0, 15, 7, 8, 1);
    for (uint32_t i = 0; i < 4; i++) {
        feed_segment(model, 20 + i, true, 120 + i, 1);
    }
    feed_switch(model, 0, 0, 25, 8, 9, 1);
    feed_segment(model, 30, true, 124, 1);
    end(f, 100);
    expect_table(f, "per-connection", "tcp 10.0.0.1:4000 10.0.0.2:80 t8/-1/8 7 25 0 1 1000\n");
}

/* On the loopback device each packet is seen twice. */
static void test_loopback(struct fixture *f, gconstpointer data)
{
    start(f, &lull_analysis_nettop);
    struct lull_model *model = f->model;
    for (int i = 0; i < 2; i++) {
        feed_segment(model, 10 + i, i == 0, 1, 30);
        feed_tcp(model, 0, 0, 10 + i, i == 1,
                 &(struct feed_segment){1, 2, 4000, 80, 1, 0, 0, 30, 0});
    }
    end(f, 100);
    expect(f, "per-interface\neth0 0 0 2 0\n"
              "per-process\n? 1 2 60 30 1 30\n"
              "per-connection\ntcp 10.0.0.1:4000 10.0.0.2:80 ? 2 60 30 1 30\n");
}

/* Task 7 sends 30 bytes twice from one end, task 8 50 from the other: each packet is seen as it leaves,
 * and as it arrives, in an interrupt. */
static void feed_both_ends(struct lull_model *model)
{
    struct feed_segment there = {1, 2, 4000, 80, 1, 0, 0, 30, "lo"};
    const struct feed_segment back = {2, 1, 80, 4000, 1, 0, 0, 50, "lo"};
    feed_switch(model, 0, 0, 5, 0, 7, 0);
    for (int i = 0; i < 2; i++) {
        feed_tcp(model, 0, 0, 10 + i, true, &there);
        feed_softirq(model, 0, 0, 15 + 10 * i, 3, true);
        feed_tcp(model, 0, 0, 16 + 10 * i, false, &there);
        feed_softirq(model, 0, 0, 18 + 10 * i, 3, false);
        there.seq += 30;
    }
    feed_switch(model, 0, 0, 30, 7, 8, 1);
    feed_tcp(model, 0, 0, 40, true, &back);
    feed_softirq(model, 0, 0, 45, 3, true);
    feed_tcp(model, 0, 0, 46, false, &back);
    feed_softirq(model, 0, 0, 48, 3, false);
}

static void test_both_ends(struct fixture *f, gconstpointer data)
{
    start(f, &lull_analysis_nettop);
    feed_both_ends(f->model);
    end(f, 100);
    expect_table(f, "per-process", "t7/-1/7 1 2 60 0 1 50\nt8/-1/8 1 1 50 0 2 60\n");
}

/* The first task's control group is another than the second's, or the same. */
static void test_groups(struct fixture *f, gconstpointer data)
{
    const bool is_same = data != NULL;
    f->params.by = LULL_BY_CGROUP;
    start(f, &lull_analysis_nettop);
    struct lull_model *model = f->model;
    lull_model_group_by(model, LULL_BY_CGROUP);
    for (int tid = 7; tid <= 8; tid++) {
        FEED(statedump_cgroup, 0, 0, 1, .have = ALL, .tid = tid,
             .path = feed_text(tid == 7 || is_same ? "/one" : "/two"));
    }
    feed_both_ends(model);
    end(f, 100);
    expect_table(f, "per-process",
                 is_same
                     ? "/one/-1/-2147483648 1 3 110 0 3 110\n"
                     : "/one/-1/-2147483648 1 2 60 0 1 50\n/two/-1/-2147483648 1 1 50 0 2 60\n");
    expect_table(f, "per-connection",
                 "tcp 10.0.0.1:4000 10.0.0.2:80 /one/-1/-2147483648 2 60 0 1 50\n");
}

/* ---- frequencies ---- */

#define POWER(event, t, c, value)                                                                  \
    FEED(cpu_##event, 0, c, t, .have = ALL, .state = (value), .cpu = (c))

/* CPU 0: unknown to 10, 2 GHz to 40, 1 GHz to 100. Task 7 runs 5..50: 5 unknown, 30 at 2 GHz = 60
 * cycles, 10 at 1 GHz = 10 cycles; task 8 from 50 on: 50 cycles. */
static void test_cycles(struct fixture *f, gconstpointer data)
{
    f->params.sections = 0;
    start(f, &lull_analysis_freq);
    struct lull_model *model = f->model;
    feed_switch(model, 0, 0, 5, 0, 7, 0);
    POWER(frequency, 10, 0, 2000000);
    POWER(frequency, 20, 0, 2000000); /* nothing new */
    POWER(frequency, 40, 0, 1000000);
    feed_switch(model, 0, 0, 50, 7, 8, 0);
    end(f, 100);
    expect(f, "note: the frequency of a CPU is not known before the first event that reports it: "
              "5.26 % of the time of tasks is not in their cycles\n" /* 5 of 95 */
              "per-cpu-frequency\n0 2000000 30 0.300 30 60\n0 1000000 60 0.600 60 60\n"
              "0 ? 10 0.100 5 ?\n"
              "per-cpu-idle\n0 ? 1 100 1.000\n"
              "per-task\nt7/-1/7 45 5 70 1750000\nt8/-1/8 50 0 50 1000000\n"
              "per-task-frequency\nt7/-1/7 2000000 30 60\nt7/-1/7 1000000 10 10\nt7/-1/7 ? 5 ?\n"
              "t8/-1/8 1000000 50 50\n");
}

/* At 1 kHz a cycle takes a million ns: half of one, for task 7, is rounded up, less, for 8, down. */
static void test_rounded_cycles(struct fixture *f, gconstpointer data)
{
    f->params.sections = 0;
    start(f, &lull_analysis_freq);
    struct lull_model *model = f->model;
    POWER(frequency, 10, 0, 1);
    feed_switch(model, 0, 0, 10, 0, 8, 0);
    feed_switch(model, 0, 0, 500009, 8, 7, 0);
    feed_switch(model, 0, 0, 1000009, 7, 0, 0);
    end(f, 2000000);
    expect_table(f, "per-task", "t7/-1/7 500000 0 1 1\nt8/-1/8 499999 0 0 1\n");
}

/* Each CPU has its own frequency: CPU 1 1 GHz from 10 to 40, then 2 GHz; task 8 runs there from 20 on. */
static void test_second_cpu(struct fixture *f, gconstpointer data)
{
    f->params.sections = 0;
    start(f, &lull_analysis_freq);
    struct lull_model *model = f->model;
    POWER(frequency, 0, 0, 500000);
    POWER(frequency, 10, 1, 1000000);
    feed_switch(model, 0, 1, 20, 0, 8, 0);
    POWER(frequency, 40, 1, 2000000);
    feed_switch(model, 0, 1, 50, 8, 9, 0);
    end(f, 100);
    expect_table(f, "per-task", "t9/-1/9 50 0 100 2000000\nt8/-1/8 30 0 40 1333333\n");
    expect_table(f, "per-cpu-frequency",
                 "0 500000 100 1.000 0 0\n1 2000000 60 0.600 60 120\n1 1000000 30 0.300 20 20\n"
                 "1 ? 10 0.100 0 ?\n");
}

/* Without frequencies, whoever ran longest is first; of two who ran as long, who came first. */
static void test_order_of_tasks(struct fixture *f, gconstpointer data)
{
    f->params.sections = 0;
    start(f, &lull_analysis_freq);
    struct lull_model *model = f->model;
    feed_switch(model, 0, 0, 10, 0, 4, 0);
    for (int tid = 4; tid < 9; tid++) { /* 4 runs for 10, 5 and 6 for 20, 7 and 8 for 30 */
        feed_switch(model, 0, 0, (int64_t[]){20, 40, 60, 90, 120}[tid - 4], tid, tid + 1, 0);
    }
    POWER(frequency, 120, 0, 1000000); /* else there is no table */
    end(f, 120);
    expect_table(f, "per-task",
                 "t7/-1/7 30 30 ? ?\nt8/-1/8 30 30 ? ?\nt5/-1/5 20 20 ? ?\nt6/-1/6 20 20 ? ?\n"
                 "t4/-1/4 10 10 ? ?\n");
}

/* Idle in state 2 from 20 to 50 and, once more, from 60 to the end. */
static void test_idle_states(struct fixture *f, gconstpointer data)
{
    f->params.sections = LULL_SECTION_LOG;
    start(f, &lull_analysis_freq);
    struct lull_model *model = f->model;
    POWER(idle, 20, 0, 2);
    POWER(idle, 50, 0, 0xffffffff);
    POWER(idle, 60, 0, 2);
    POWER(frequency, 60, 0, 800000);
    POWER(idle, 70, 0, 2); /* neither is news */
    POWER(frequency, 80, 0, 800000);
    end(f, 100);
    expect(f, "per-cpu-frequency\n0 800000 40 0.400 0 0\n0 ? 60 0.600 0 ?\n"
              "per-cpu-idle\n0 state 2 2 70 0.700\n0 not idle 1 10 0.100\n0 ? 1 20 0.200\n"
              "log\n0..20 0 - ?\n20..50 0 - state 2\n50..60 0 - not idle\n0..60 0 ? -\n"
              "60..100 0 800000 -\n60..100 0 - state 2\n");
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
#define CASE(name, function)                                                                       \
    g_test_add("/analysis/machine/" name, struct fixture, NULL, set_up, function, tear_down)
    CASE("irq-stats", test_irq_stats);
    CASE("irq-numbers", test_irq_numbers);
    CASE("irq-log", test_irq_log);
    CASE("irq-freq", test_irq_freq);
    CASE("irq-choice", test_irq_choice);
    CASE("irq-of-task", test_irq_of_task);
    CASE("memory", test_memory);
    CASE("memory-of-task", test_memory_of_task);
    CASE("memory-of-hosts", test_memory_of_hosts);
    CASE("memory-limit", test_memory_limit);
    CASE("connections", test_connections);
    CASE("owner", test_owner);
    CASE("order-of-connections", test_order_of_connections);
    CASE("loopback", test_loopback);
    CASE("both-ends", test_both_ends);
    CASE("groups", test_groups);
    g_test_add("/analysis/machine/same-group", struct fixture, "same", set_up, test_groups,
               tear_down);
    CASE("cycles", test_cycles);
    CASE("rounded-cycles", test_rounded_cycles);
    CASE("second-cpu", test_second_cpu);
    CASE("order-of-tasks", test_order_of_tasks);
    CASE("idle-states", test_idle_states);
    return g_test_run();
}
