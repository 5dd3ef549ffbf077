/* SPDX-License-Identifier: MIT */
/* Rows of `lull top` from chains that are written here by hand, and what a slot says of its task. */
#include <string.h>

#include "live/histories.h"
#include "live/rows.h"

static struct lull_live_chain chain_of(uint32_t pid, const char *comm, int32_t call, uint32_t state,
                                       uint64_t ns)
{
    struct lull_live_chain chain = {.key = {.tgid = pid, .call = call, .state = state},
                                    .sum = {.ns = ns, .waits = 2, .longest_ns = ns / 2}};
    g_strlcpy(chain.key.comm, comm, sizeof chain.key.comm);
    return chain;
}

static void link_task(struct lull_live_chain *chain, uint32_t i, uint32_t pid, const char *comm)
{
    chain->key.link[i].kind = LULL_TRACK_HOP_TASK;
    chain->key.link[i].a = pid;
    g_strlcpy(chain->key.link[i].comm, comm, sizeof chain->key.link[i].comm);
}

static void link_disk(struct lull_live_chain *chain, uint32_t i, uint32_t disk, bool writes)
{
    chain->key.link[i].kind = LULL_TRACK_HOP_DISK;
    chain->key.link[i].a = disk;
    chain->key.link[i].b = writes;
}

/* Two workers wait for one server each, which waited for the disk; one for a CPU; one for its own timer. */
static void fill(struct lull_interval *interval)
{
    struct lull_live_chain chains[] = {
        chain_of(11, "worker", 0, LULL_TRACK_STATE_S, 100),
        chain_of(10, "worker", 0, LULL_TRACK_STATE_S, 30),
        chain_of(10, "worker", LULL_TRACK_NO_CALL, 0, 50),
        chain_of(12, "cron", 35, LULL_TRACK_STATE_S, 900),
        chain_of(11, "worker", 0, LULL_TRACK_STATE_S, 7),
    };
    link_task(&chains[0], 0, 20, "server");
    link_disk(&chains[0], 1, 5, false);
    link_task(&chains[1], 0, 21, "server");
    link_disk(&chains[1], 1, 5, false);
    chains[3].key.link[0].kind = LULL_TRACK_HOP_TIMER;
    link_task(&chains[4], 0, 20, "server");
    link_disk(&chains[4], 1, 5, true);
    lull_interval_init(interval);
    g_array_append_vals(interval->chains, chains, G_N_ELEMENTS(chains));
}

static const struct lull_live_row *row_at(const struct lull_live_rows *rows, guint i)
{
    g_assert_cmpuint(i, <, rows->rows->len);
    return &g_array_index(rows->rows, struct lull_live_row, i);
}

static void test_joins(void)
{
    struct lull_interval interval;
    struct lull_live_rows rows;
    fill(&interval);
    lull_live_rows_make(&rows, &interval, NULL, LULL_LIVE_BY_WAITED, false);
    g_assert_cmpuint(rows.rows->len, ==, 4);
    g_assert_cmpstr(row_at(&rows, 0)->key->comm, ==, "cron");
    g_assert_true(row_at(&rows, 0)->is_idle);
    const struct lull_live_row *workers = row_at(&rows, 1);
    g_assert_cmpint(workers->waited_ns, ==, 130);
    g_assert_cmpint(workers->longest_ns, ==, 50);
    g_assert_cmpuint(workers->waits, ==, 4);
    g_assert_cmpuint(workers->n_processes, ==, 2);
    g_assert_cmpuint(workers->n_links, ==, 2);
    g_assert_cmpint(workers->end, ==, LULL_LIVE_END_DISK);
    g_assert_cmpint(row_at(&rows, 2)->end, ==, LULL_LIVE_END_CPU);
    g_assert_cmpint(row_at(&rows, 3)->waited_ns, ==, 7);
    g_assert_cmpint(rows.waited_ns, ==, 1087);
    g_assert_cmpint(rows.by_end_ns[LULL_LIVE_END_DISK], ==, 137);
    g_assert_cmpint(rows.by_end_ns[LULL_LIVE_END_TIMER], ==, 900);
    lull_live_rows_clear(&rows);
    lull_live_rows_make(&rows, &interval, NULL, LULL_LIVE_BY_WAITED, true);
    g_assert_cmpuint(rows.rows->len, ==, 5);
    g_assert_cmpuint(row_at(&rows, 1)->key->tgid, ==, 11);
    lull_live_rows_clear(&rows);
    lull_interval_clear(&interval);
}

/* Of samples: what the function of the kernel says, and which threads of the kernel's have nothing to do. */
static void test_sampled(void)
{
    static const struct {
        const char *function;
        uint32_t state, flags;
        enum lull_live_end end;
        bool is_idle;
    } cases[] = {
        {"hrtimer_nanosleep", LULL_TRACK_STATE_S, 0, LULL_LIVE_END_TIMER, true},
        {"blk_mq_get_tag", LULL_TRACK_STATE_D, 0, LULL_LIVE_END_DISK, false},
        {"jbd2_log_wait_commit", LULL_TRACK_STATE_D, 0, LULL_LIVE_END_DISK, false},
        {"inet_csk_accept", LULL_TRACK_STATE_S, 0, LULL_LIVE_END_NETWORK, false},
        {"futex_do_wait", LULL_TRACK_STATE_S, 0, LULL_LIVE_END_UNKNOWN, false},
        {NULL, LULL_TRACK_STATE_S, 0, LULL_LIVE_END_UNKNOWN, false},
        {"kcompactd", LULL_TRACK_STATE_S, LULL_TRACK_IS_KERNEL, LULL_LIVE_END_UNKNOWN, true},
        {NULL, LULL_TRACK_STATE_IDLE, LULL_TRACK_IS_KERNEL, LULL_LIVE_END_UNKNOWN, true},
        {"blk_mq_get_tag", LULL_TRACK_STATE_D, LULL_TRACK_IS_KERNEL, LULL_LIVE_END_DISK, false},
        {NULL, 0, LULL_TRACK_IS_KERNEL, LULL_LIVE_END_CPU, false},
    };
    struct lull_interval interval;
    struct lull_live_rows rows;
    lull_interval_init(&interval);
    for (uint32_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        struct lull_live_chain chain =
            chain_of(10 + i, "worker", LULL_TRACK_NO_CALL, cases[i].state, 100 - i);
        chain.key.flags = cases[i].flags;
        chain.function = cases[i].function;
        g_array_append_val(interval.chains, chain);
    }
    lull_live_rows_make(&rows, &interval, NULL, LULL_LIVE_BY_WAITED, true);
    g_assert_cmpuint(rows.rows->len, ==, G_N_ELEMENTS(cases));
    for (uint32_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_assert_cmpint(row_at(&rows, i)->end, ==, cases[i].end);
        g_assert_true(row_at(&rows, i)->is_idle == cases[i].is_idle);
        g_assert_cmpstr(row_at(&rows, i)->function, ==, cases[i].function);
    }
    lull_live_rows_clear(&rows);
    lull_interval_clear(&interval);
}

static guint count_rows(const struct lull_interval *interval, const char *text)
{
    struct lull_live_rows rows;
    g_autoptr(GError) error = NULL;
    struct lull_live_filter *filter = lull_live_filter_parse(text, &error);
    g_assert_no_error(error);
    lull_live_rows_make(&rows, interval, filter, LULL_LIVE_BY_NAME, true);
    const guint n = rows.rows->len;
    lull_live_rows_clear(&rows);
    lull_live_filter_free(filter);
    return n;
}

static void test_filters(void)
{
    struct lull_interval interval;
    fill(&interval);
    g_assert_cmpuint(count_rows(&interval, "comm == \"worker\""), ==, 4);
    g_assert_cmpuint(count_rows(&interval, "pid == 11"), ==, 2);
    g_assert_cmpuint(count_rows(&interval, "end == \"disk\" && pid > 10"), ==, 2);
    g_assert_cmpuint(count_rows(&interval, "waker_comm =~ \"serv*\""), ==, 3);
    g_assert_cmpuint(count_rows(&interval, "state == \"R\""), ==, 1);
    g_assert_cmpuint(count_rows(&interval, "end == \"network\""), ==, 0);
    static const char *const wrong[] = {"", "colour == 1", "comm == \"a\" comm", "pid =="};
    for (guint i = 0; i < G_N_ELEMENTS(wrong); i++) {
        g_autoptr(GError) error = NULL;
        g_assert_null(lull_live_filter_parse(wrong[i], &error));
        g_assert_error(error, LULL_ERROR, LULL_ERROR_USAGE);
    }
    lull_interval_clear(&interval);
}

/* Chains that no program of ours can have made. */
static void test_unsound(void)
{
    struct lull_live_chain chain = chain_of(10, "worker", 0, LULL_TRACK_STATE_S, 30);
    link_task(&chain, 0, 20, "server");
    g_assert_true(lull_live_chain_is_sound(&chain));
    struct lull_live_chain wrong = chain;
    memset(wrong.key.comm, 'x', sizeof wrong.key.comm);
    g_assert_false(lull_live_chain_is_sound(&wrong));
    wrong = chain;
    memset(wrong.key.link[0].comm, 'x', sizeof wrong.key.link[0].comm);
    g_assert_false(lull_live_chain_is_sound(&wrong));
    wrong = chain;
    wrong.key.link[3].kind = LULL_TRACK_HOP_KINDS;
    g_assert_false(lull_live_chain_is_sound(&wrong));
    wrong = chain;
    wrong.sum.ns = UINT64_MAX;
    g_assert_false(lull_live_chain_is_sound(&wrong));
    wrong = chain;
    wrong.key.call = -2;
    g_assert_false(lull_live_chain_is_sound(&wrong));
}

static void check_sums(const struct lull_track_slot *slot, uint64_t ran, uint64_t blocked,
                       uint64_t runnable)
{
    const struct lull_track_sums sums = lull_sums_of_slot(slot, 1000);
    g_assert_cmpuint(sums.ran_ns, ==, ran);
    g_assert_cmpuint(sums.blocked_ns, ==, blocked);
    g_assert_cmpuint(sums.runnable_ns, ==, runnable);
}

static void test_slots(void)
{
    struct lull_track_slot slot = {.ran = 700,
                                   .sums = {.ran_ns = 10, .blocked_ns = 20, .runnable_ns = 30}};
    check_sums(&slot, 310, 20, 30); /* it runs */
    slot.flags = LULL_TRACK_IS_LOST;
    check_sums(&slot, 10, 20, 30); /* or does not: nobody knows */
    slot.flags = 0;
    slot.since = 800;
    slot.state = LULL_TRACK_STATE_S;
    check_sums(&slot, 10, 220, 30); /* it sleeps */
    slot.woken = 950;
    check_sums(&slot, 10, 170, 80); /* it was woken */
    slot.woken = 0;
    slot.early_ns = 790;
    check_sums(&slot, 10, 20, 230); /* and that before it had left the CPU */
    slot.flags = LULL_TRACK_WAS_QUEUED;
    check_sums(&slot, 10, 220, 30); /* but was not about to leave then: it sleeps */
    slot.flags = 0;
    slot.early_ns = 600;
    check_sums(&slot, 10, 220, 30); /* that was an earlier time */
    slot.since = 2000;
    slot.woken = 2000; /* it left after the moment that is looked at */
    check_sums(&slot, 10, 20, 30);
}

/* Two pieces, and what is older than all. */
static void test_histories(void)
{
    struct lull_histories *histories = g_new0(struct lull_histories, 1);
    struct lull_track_histogram sum[LULL_TRACK_MEASURES];
    struct lull_interval interval = {.end_ns = 1000 * LULL_HISTORY_PIECE_NS};
    interval.histogram[LULL_TRACK_BLOCK].n[3] = 10;
    lull_histories_add(histories, &interval);
    interval.end_ns += LULL_HISTORY_PIECE_NS - 1; /* the same piece */
    lull_histories_add(histories, &interval);
    interval.end_ns += 6 * LULL_HISTORY_PIECE_NS;
    interval.histogram[LULL_TRACK_BLOCK].n[3] = 1;
    lull_histories_add(histories, &interval);
    lull_histories_sum(histories, LULL_HISTORY_MINUTE, sum);
    g_assert_cmpuint(sum[LULL_TRACK_BLOCK].n[3], ==, 1);
    lull_histories_sum(histories, LULL_HISTORY_PIECES, sum);
    g_assert_cmpuint(sum[LULL_TRACK_BLOCK].n[3], ==, 21);
    g_assert_cmpuint(sum[LULL_TRACK_IRQ].n[3], ==, 0);
    interval.end_ns += 89 * LULL_HISTORY_PIECE_NS;
    lull_histories_add(histories, &interval);
    lull_histories_sum(histories, LULL_HISTORY_PIECES, sum);
    g_assert_cmpuint(sum[LULL_TRACK_BLOCK].n[3], ==, 2);
    g_free(histories);
}

static void test_percentiles(void)
{
    struct lull_track_histogram histogram = {.ns = 0};
    g_assert_cmpint(lull_histogram_percentile_ns(&histogram, 0.5), ==, -1);
    histogram.n[0] = 1; /* below 1 us */
    histogram.n[4] = 2; /* 8 to 16 us */
    histogram.n[25] = 1;
    g_assert_cmpint(lull_histogram_percentile_ns(&histogram, 0), ==, 1000);
    g_assert_cmpint(lull_histogram_percentile_ns(&histogram, 0.25), ==, 1000);
    g_assert_cmpint(lull_histogram_percentile_ns(&histogram, 0.5), ==, 16000);
    g_assert_cmpint(lull_histogram_percentile_ns(&histogram, 0.75), ==, 16000);
    g_assert_cmpint(lull_histogram_percentile_ns(&histogram, 0.99), ==, INT64_MAX);
    g_assert_cmpint(lull_bucket_start_ns(25), ==, INT64_C(16777216000));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/live/rows/sampled", test_sampled);
    g_test_add_func("/live/rows/joins", test_joins);
    g_test_add_func("/live/rows/filters", test_filters);
    g_test_add_func("/live/rows/unsound", test_unsound);
    g_test_add_func("/live/rows/slots", test_slots);
    g_test_add_func("/live/rows/histories", test_histories);
    g_test_add_func("/live/rows/percentiles", test_percentiles);
    return g_test_run();
}
