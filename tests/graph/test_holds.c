/* SPDX-License-Identifier: MIT */
/* Packets in the queue of a device, as net_dev_queue, net_dev_xmit and netif_receive_skb report them: which were held back, and by what,
 * is said here for each. */
#include <glib.h>

#include "graph/holds.h"

enum { MS = 1000000, LO = 7, ETH = 8 };
static const uint64_t buffer = UINT64_C(0xffff888100000000), other = UINT64_C(0xffff888100000100);

static struct lull_net_packet packet_of(int64_t time_ns, uint32_t host, uint64_t skb)
{
    return (struct lull_net_packet){.time_ns = time_ns, .host = host, .skb = skb};
}

static void queued(struct lull_holds *holds, int64_t time_ns, uint32_t host, uint64_t skb,
                   uint32_t number)
{
    const struct lull_net_packet packet = packet_of(time_ns, host, skb);
    lull_holds_queued(holds, &packet, number);
}

/* By a CPU that does so since then. */
static void taken_since(struct lull_holds *holds, int64_t time_ns, int64_t start_ns, int32_t cpu,
                        uint64_t skb)
{
    const struct lull_taken_fact fact = {.time_ns = time_ns, .cpu = cpu, .device = ETH, .skb = skb};
    lull_holds_taken(holds, &fact, start_ns);
}

static void taken(struct lull_holds *holds, int64_t time_ns, uint32_t host, uint64_t skb,
                  uint32_t device)
{
    const struct lull_taken_fact fact = {
        .time_ns = time_ns, .host = host, .device = device, .skb = skb};
    lull_holds_taken(holds, &fact, time_ns - 10);
}

static void arrived(struct lull_holds *holds, int64_t time_ns, uint32_t host, uint64_t skb,
                    uint32_t number)
{
    const struct lull_net_packet packet = packet_of(time_ns, host, skb);
    lull_holds_arrived(holds, &packet, number);
}

/* start_ns < 0: it was not held back. */
static void check(struct lull_holds *holds, uint32_t number, int64_t start_ns, int64_t end_ns,
                  uint32_t device)
{
    const struct lull_hold *hold = lull_holds_find(holds, number);
    g_assert_true(!hold == (start_ns < 0));
    if (hold) {
        g_assert_cmpint(hold->queued_ns, ==, start_ns);
        g_assert_cmpint(hold->taken_ns, ==, end_ns);
        g_assert_cmpuint(hold->device, ==, device);
    }
}

static void test_whole(void)
{
    struct lull_holds holds = {0};
    queued(&holds, 10 * MS, 0, buffer, 0);
    queued(&holds, 10 * MS, 1, buffer, 1); /* of another host, by the same address */
    taken(&holds, 15 * MS, 0, buffer, LO);
    taken(&holds, 10 * MS + MS / 2, 1, buffer, ETH);
    queued(&holds, 20 * MS, 0, buffer, 2); /* the buffer is used again, for others */
    taken(&holds, 20 * MS + 1000, 0, buffer, LO);
    queued(&holds, 30 * MS, 0, buffer, 3); /* dropped */
    queued(&holds, 40 * MS, 0, buffer, 4);
    taken(&holds, 41 * MS, 0, buffer, LO);
    queued(&holds, 50 * MS, 0, 0, 5); /* no address is recorded */
    check(&holds, 0, 10 * MS, 15 * MS, LO);
    check(&holds, 1, -1, 0, 0);
    check(&holds, 2, -1, 0, 0);
    check(&holds, 3, -1, 0, 0);
    check(&holds, 4, 40 * MS, 41 * MS, LO);
    check(&holds, 5, -1, 0, 0);
    check(&holds, UINT32_MAX, -1, 0, 0);
    lull_holds_free(&holds);
}

/* What was queued is cut: the pieces leave in other buffers, and each is received in its own. */
static void test_pieces(void)
{
    struct lull_holds holds = {0};
    queued(&holds, 10 * MS, 0, buffer, 0);
    taken(&holds, 10 * MS + 10, 0, other, LO);
    arrived(&holds, 10 * MS + 20, 0, other, 1);
    lull_holds_matched(&holds, 1, 10 * MS);
    taken(&holds, 14 * MS, 0, other, LO);
    arrived(&holds, 14 * MS + 20, 0, other, 2);
    lull_holds_matched(&holds, 2, 10 * MS);
    taken(&holds, 18 * MS, 1, other, LO); /* on another host */
    arrived(&holds, 18 * MS + 20, 0, other, 3);
    lull_holds_matched(&holds, 3, 10 * MS);
    taken(&holds, 22 * MS, 0, other, LO);
    arrived(&holds, 25 * MS, 0, other,
            4); /* not at once: another packet, of which the device said nothing */
    lull_holds_matched(&holds, 4, 10 * MS);
    taken(&holds, 30 * MS, 0, other, LO);
    arrived(&holds, 30 * MS + 20, 0, other, 5); /* its sender is not known */
    check(&holds, 0, -1, 0, 0);
    check(&holds, 1, -1, 0, 0);
    check(&holds, 2, 10 * MS, 14 * MS, LO);
    check(&holds, 3, -1, 0, 0);
    check(&holds, 4, -1, 0, 0);
    check(&holds, 5, -1, 0, 0);
    lull_holds_free(&holds);
}

/* A bridge puts what comes by one device, in the same buffer, into the queue of the next. */
static void test_passed_on(void)
{
    struct lull_holds holds = {0};
    queued(&holds, 10 * MS, 0, buffer, 0); /* cut there */
    taken(&holds, 14 * MS, 0, other, ETH);
    queued(&holds, 14 * MS + 10, 0, other, 1);
    taken(&holds, 14 * MS + 20, 0, other, LO);
    arrived(&holds, 14 * MS + 30, 0, other, 2);
    lull_holds_matched(&holds, 2, 10 * MS);
    check(&holds, 1, -1, 0, 0);
    check(&holds, 2, 10 * MS, 14 * MS, ETH); /* not what took it last */

    queued(&holds, 20 * MS, 0, buffer, 3); /* cut at once, and held back by the next */
    taken(&holds, 20 * MS + 10, 0, other, ETH);
    queued(&holds, 20 * MS + 20, 0, other, 4);
    taken(&holds, 26 * MS, 0, other, LO);
    arrived(&holds, 26 * MS + 10, 0, other, 5);
    lull_holds_matched(&holds, 5, 20 * MS);
    check(&holds, 4, 20 * MS + 20, 26 * MS, LO);
    check(&holds, 5, -1, 0, 0);
    lull_holds_free(&holds);
}

/* Who puts a packet into the queue gives it to the device, which takes long: nothing else was done, and nothing held back. */
static void test_slow_device(void)
{
    struct lull_holds holds = {0};
    queued(&holds, 10 * MS, 0, buffer, 0);
    taken_since(&holds, 15 * MS, 9 * MS, 0, buffer);
    queued(&holds, 20 * MS, 0, buffer, 1);
    taken_since(&holds, 25 * MS, 20 * MS + 1, 0, buffer);
    queued(&holds, 30 * MS, 0, buffer, 2);
    taken_since(&holds, 35 * MS, 29 * MS, 1, buffer);
    queued(&holds, 40 * MS, 0, buffer, 3);
    taken_since(&holds, 45 * MS, 39 * MS, 0, other); /* a piece */
    arrived(&holds, 45 * MS + 10, 0, other, 4);
    lull_holds_matched(&holds, 4, 40 * MS);
    check(&holds, 0, -1, 0, 0);
    check(&holds, 1, 20 * MS, 25 * MS, ETH);
    check(&holds, 2, 30 * MS, 35 * MS, ETH);
    check(&holds, 4, -1, 0, 0);
    lull_holds_free(&holds);
}

/* What is put into the queue of bond0 is put into that of eth0, and then bond0 has taken it: eth0 has not yet. */
static void test_stacked(void)
{
    enum { BOND = 1, CARD = 2 };
    struct lull_holds holds = {0};
    for (uint32_t device = BOND; device <= CARD; device++) {
        struct lull_net_packet packet = packet_of(10 * MS + device, 0, buffer);
        packet.device = device;
        lull_holds_queued(&holds, &packet, device);
    }
    struct lull_taken_fact fact = {
        .time_ns = 10 * MS + 5, .device = LO, .device_hash = BOND, .skb = buffer};
    lull_holds_taken(&holds, &fact, 9 * MS);
    fact.time_ns = 17 * MS;
    fact.device = ETH;
    fact.device_hash = CARD;
    lull_holds_taken(&holds, &fact, 16 * MS);
    check(&holds, BOND, -1, 0, 0);
    check(&holds, CARD, 10 * MS + CARD, 17 * MS, ETH);
    lull_holds_free(&holds);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/graph/holds/whole", test_whole);
    g_test_add_func("/graph/holds/pieces", test_pieces);
    g_test_add_func("/graph/holds/passed-on", test_passed_on);
    g_test_add_func("/graph/holds/slow-device", test_slow_device);
    g_test_add_func("/graph/holds/stacked", test_stacked);
    return g_test_run();
}
