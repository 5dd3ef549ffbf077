/* SPDX-License-Identifier: MIT */
/* Joined clocks where arithmetic by hand gives one answer: the bound of a pair, a ring that leaves
 * no choice, the estimate that was good before a clock was set, who is joined with whom. */
#include "clock/sync.h"

#include <glib.h>

#define SECOND INT64_C(1000000000)
#define EPOCH (INT64_C(1795222889) * SECOND)
#define HOUR (3600 * SECOND)

struct network {
    struct lull_sync *sync;
    uint32_t n_messages;
};

static struct network open_network(uint32_t n_hosts)
{
    return (struct network){.sync = lull_sync_new(n_hosts)};
}

/* One TCP segment, at the sender's and at the receiver's own time. */
static void deliver(struct network *network, uint32_t from, uint32_t to, int64_t sent_ns,
                    int64_t received_ns)
{
    struct lull_net_packet p = {.time_ns = sent_ns,
                                .host = from,
                                .is_send = true,
                                .ip_version = 4,
                                .protocol = 6,
                                .source = {10, 0, (uint8_t)from, 1},
                                .destination = {10, 0, (uint8_t)to, 1},
                                .source_port = 5000,
                                .destination_port = 5000,
                                .seq = 100 * ++network->n_messages,
                                .payload = 100,
                                .tcp_flags = 16,
                                .flow = from * 8 + to};

    lull_sync_add(network->sync, &p);
    p.time_ns = received_ns;
    p.host = to;
    p.is_send = false;
    lull_sync_add(network->sync, &p);
}

/* At the first and at the last moment of a second, a message takes latency_ns. */
static void talk(struct network *network, uint32_t from, uint32_t to, int64_t latency_ns)
{
    deliver(network, from, to, EPOCH, EPOCH + latency_ns);
    deliver(network, from, to, EPOCH + SECOND, EPOCH + SECOND + latency_ns);
}

/* The traces last as long as the packets. */
static void finish(struct network *network)
{
    int64_t start_ns[8], end_ns[8];

    for (unsigned i = 0; i < G_N_ELEMENTS(start_ns); i++) {
        start_ns[i] = INT64_MAX;
        end_ns[i] = INT64_MIN;
    }
    lull_sync_finish(network->sync, start_ns, end_ns);
}

static int64_t joined(const struct network *network, uint32_t host, int64_t t)
{
    return lull_clock_transform_apply(lull_sync_transform(network->sync, host), t);
}

/* 1000 ns each way: equal clocks are the middle of what is possible. The farthest line leaves the
 * packet of one end by 1000 ns at that end, and as it turns by 2000 ns in a second, by 2 fs for each
 * of the 1000 ns that its packet at the other end took: 1000.002 ns, so 1001. A joined time is
 * rounded besides. */
static void test_bound(void)
{
    struct network network = open_network(2);
    uint32_t count;

    talk(&network, 0, 1, 1000);
    talk(&network, 1, 0, 1000);
    finish(&network);
    g_assert_cmpint(lull_sync_pairs(network.sync, &count)->bound_ns, ==, 1001);
    g_assert_cmpint(lull_sync_hosts(network.sync)[0].bound_ns, ==, 0);
    g_assert_cmpint(lull_sync_hosts(network.sync)[1].bound_ns, ==, 1002);
    g_assert_cmpint(joined(&network, 1, EPOCH), ==, EPOCH);
    lull_sync_free(network.sync);
}

/* From 0 to 1, to 2 and back to 0 a message takes three nanoseconds in all, so for each to take one,
 * the clocks must be equal. 0 and 1, and 1 and 2, seem to be 500 ns apart, because the way back is
 * slow: the ring moves the joined clocks by all of that, as far as the bounds allow. */
static void test_ring_without_play(void)
{
    struct network network = open_network(3);
    uint32_t count;

    talk(&network, 0, 1, 1);
    talk(&network, 1, 0, 1001);
    talk(&network, 1, 2, 1);
    talk(&network, 2, 1, 1001);
    talk(&network, 2, 0, 1);
    talk(&network, 0, 2, 5000);
    finish(&network);
    const struct lull_sync_pair *pairs = lull_sync_pairs(network.sync, &count);

    g_assert_cmpuint(count, ==, 3);
    for (uint32_t i = 0; i < count; i++) {
        g_assert_cmpint(pairs[i].quality, ==, LULL_SYNC_ACCURATE);
    }
    for (uint32_t host = 0; host < 3; host++) {
        g_assert_cmpint(joined(&network, host, EPOCH), ==, EPOCH);
        g_assert_cmpint(joined(&network, host, EPOCH + SECOND), ==, EPOCH + SECOND);
    }
    lull_sync_free(network.sync);
}

/* b is an hour ahead until it is set back. Of the lines that fit before, the steepest goes through
 * the messages (0, -128) and (2^20, 640), so it rises by 3 in 4096; the flattest through (0, 256)
 * and (2^21, 768), by 1 in 4096. Between them, at 2^21: (640 + 768 + 768) / 2 = 1088, rising by 1 in
 * 2048. The exchange lasts until 3 * 2^20; in its middle that is 1088 - 2^19 / 2048 = 832. */
static void test_estimate_before_step(void)
{
    enum { UNIT = 1 << 20 };
    static const struct {
        bool is_from_a;
        int64_t a_ns, ahead_ns; /* b's time less a's and the hour */
    } messages[] = {
        {false, 0, -128},  {true, 0, 256},         {false, UNIT / 2, 0},    {true, UNIT / 2, 2000},
        {true, UNIT, 640}, {false, 2 * UNIT, 768}, {true, 3 * UNIT, -5000}, /* b was set back */
    };
    struct network network = open_network(2);
    uint32_t count;

    for (unsigned i = 0; i < G_N_ELEMENTS(messages); i++) {
        int64_t a_ns = EPOCH + messages[i].a_ns, b_ns = a_ns + HOUR + messages[i].ahead_ns;

        if (messages[i].is_from_a) {
            deliver(&network, 0, 1, a_ns, b_ns);
        } else {
            deliver(&network, 1, 0, b_ns, a_ns);
        }
    }
    finish(&network);
    const struct lull_sync_pair *pair = lull_sync_pairs(network.sync, &count);

    g_assert_cmpuint(count, ==, 1);
    g_assert_cmpint(pair->quality, ==, LULL_SYNC_FAIL);
    g_assert_cmpint(pair->bound_ns, ==, -1);
    g_assert_cmpint(pair->offset_ns, ==, HOUR + 832);
    g_assert_cmpfloat_with_epsilon(pair->drift_ppm, 1e6 / 2048, 1e-6);
    lull_sync_free(network.sync);
}

/* Two islands, a host that only hears, and one that nobody hears of. */
static void test_islands(void)
{
    static const uint32_t islands[] = {0, 0, 1, 1, 2, 3};
    struct network network = open_network(G_N_ELEMENTS(islands));

    talk(&network, 0, 1, 50000);
    talk(&network, 1, 0, 50000);
    talk(&network, 2, 3, 50000);
    talk(&network, 3, 2, 50000);
    talk(&network, 1, 4, 50000);
    finish(&network);
    for (uint32_t a = 0; a < G_N_ELEMENTS(islands); a++) {
        for (uint32_t b = 0; b < G_N_ELEMENTS(islands); b++) {
            g_assert_cmpint(lull_sync_are_joined(network.sync, a, b), ==, islands[a] == islands[b]);
        }
    }
    lull_sync_free(network.sync);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/clock/exact/bound", test_bound);
    g_test_add_func("/clock/exact/ring-without-play", test_ring_without_play);
    g_test_add_func("/clock/exact/estimate-before-step", test_estimate_before_step);
    g_test_add_func("/clock/exact/islands", test_islands);
    return g_test_run();
}
