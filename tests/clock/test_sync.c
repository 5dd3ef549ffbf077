/* SPDX-License-Identifier: MIT */
/* Joined clocks against hosts whose clocks are known: made from a true time with offsets of hours
 * and drifts up to 200 ppm, with packets of random latency. The truth must lie within the bounds,
 * and no packet may travel backwards. */
#include "clock/sync.h"
#include "kernel/states.h"

enum { MAX_HOSTS = 12, SYN = 2, ACK = 16 };

#define SECOND INT64_C(1000000000)
#define EPOCH (INT64_C(1795222889) * SECOND)

/* A host's clock: true time + offset + drift, for true times from EPOCH on. */
struct host {
    int64_t offset_ns;
    int64_t drift_ppb;
    int64_t step_at_ns, step_ns; /* set by somebody, at a true time */
};

struct wire {
    uint32_t from, to;
    int64_t least_ns, spread_ns; /* latency */
    int64_t start_ns, end_ns;    /* true time after EPOCH */
    unsigned count;
};

struct world {
    struct host hosts[MAX_HOSTS];
    uint32_t n_hosts;
    GArray *packets;  /* struct lull_net_packet */
    GArray *messages; /* struct message */
    int64_t start_ns[MAX_HOSTS], end_ns[MAX_HOSTS];
    GRand *random;
    uint8_t protocol;
};

struct message {
    uint32_t from, to;
    int64_t sent, received; /* own times */
};

static int64_t own_time(const struct world *world, uint32_t host, int64_t truth)
{
    const struct host *h = &world->hosts[host];
    int64_t t =
        truth + h->offset_ns + (int64_t)((__int128)(truth - EPOCH) * h->drift_ppb / 1000000000);

    return h->step_at_ns && truth - EPOCH >= h->step_at_ns ? t + h->step_ns : t;
}

static int64_t true_time(const struct world *world, uint32_t host, int64_t own)
{
    const struct host *h = &world->hosts[host];
    __int128 since = (__int128)own - h->offset_ns - EPOCH;

    return EPOCH + (int64_t)(since * 1000000000 / (1000000000 + h->drift_ppb));
}

static struct world make_world(uint32_t n_hosts, uint32_t seed)
{
    struct world world = {.n_hosts = n_hosts, .protocol = 6};

    world.random = g_rand_new_with_seed(seed);
    world.packets = g_array_new(FALSE, FALSE, sizeof(struct lull_net_packet));
    world.messages = g_array_new(FALSE, FALSE, sizeof(struct message));
    for (uint32_t i = 0; i < n_hosts; i++) {
        world.hosts[i].offset_ns = g_rand_int_range(world.random, -7200, 7200) * SECOND +
                                   g_rand_int_range(world.random, 0, (gint32)SECOND);
        world.hosts[i].drift_ppb = g_rand_int_range(world.random, -200000, 200001);
    }
    return world;
}

static void free_world(struct world *world)
{
    g_rand_free(world->random);
    g_array_unref(world->packets);
    g_array_unref(world->messages);
}

static void put(struct world *world, const struct wire *wire, unsigned number, bool is_send,
                int64_t truth)
{
    struct lull_net_packet p = {
        .time_ns = own_time(world, is_send ? wire->from : wire->to, truth),
        .host = is_send ? wire->from : wire->to,
        .task = LULL_NONE,
        .is_send = is_send,
        .ip_version = 4,
        .protocol = world->protocol,
        .source = {10, 0, (uint8_t)wire->from, 1},
        .destination = {10, 0, (uint8_t)wire->to, 1},
        .source_port = 5000,
        .destination_port = 5000,
        .seq = UINT32_MAX - 5000 + number * 100,
        .payload = 100,
        .tcp_flags = ACK,
        .ip_id = (uint16_t)(number + 1),
        .flow = wire->from * world->n_hosts + wire->to,
    };

    g_array_append_val(world->packets, p);
}

static void talk(struct world *world, struct wire wire)
{
    int64_t arrived = INT64_MIN;

    for (unsigned i = 0; i < wire.count; i++) {
        int64_t sent = EPOCH + wire.start_ns + (wire.end_ns - wire.start_ns) * i / wire.count;
        double wait = g_rand_double(world->random);
        int64_t received = sent + wire.least_ns + (int64_t)(wait * wait * (double)wire.spread_ns);

        received = MAX(received, arrived + 1); /* in order */
        arrived = received;
        struct message message = {wire.from, wire.to, own_time(world, wire.from, sent),
                                  own_time(world, wire.to, received)};

        put(world, &wire, i, true, sent);
        put(world, &wire, i, false, received);
        g_array_append_val(world->messages, message);
    }
}

static void talk_both(struct world *world, uint32_t a, uint32_t b, int64_t least_ns,
                      int64_t spread_ns, int64_t seconds, unsigned count)
{
    talk(world, (struct wire){a, b, least_ns, spread_ns, 0, seconds * SECOND, count});
    talk(world, (struct wire){b, a, least_ns, spread_ns, 0, seconds * SECOND, count});
}

static int compare_time(gconstpointer a, gconstpointer b)
{
    const struct lull_net_packet *left = a, *right = b;

    return left->time_ns < right->time_ns ? -1 : left->time_ns > right->time_ns;
}

/* Feeds as a session does: all hosts merged by their own clocks. Traces are `seconds` long. */
static struct lull_sync *join(struct world *world, int64_t seconds)
{
    struct lull_sync *sync = lull_sync_new(world->n_hosts);

    g_array_sort(world->packets, compare_time);
    for (guint i = 0; i < world->packets->len; i++) {
        lull_sync_add(sync, &g_array_index(world->packets, struct lull_net_packet, i));
    }
    for (uint32_t i = 0; i < world->n_hosts; i++) {
        world->start_ns[i] = own_time(world, i, EPOCH - SECOND);
        world->end_ns[i] = own_time(world, i, EPOCH + seconds * SECOND);
    }
    lull_sync_finish(sync, world->start_ns, world->end_ns);
    return sync;
}

static int64_t joined(const struct lull_sync *sync, uint32_t host, int64_t t)
{
    return lull_clock_transform_apply(lull_sync_transform(sync, host), t);
}

static void assert_causal(const struct world *world, const struct lull_sync *sync)
{
    for (guint i = 0; i < world->messages->len; i++) {
        const struct message *m = &g_array_index(world->messages, struct message, i);

        g_assert_cmpint(joined(sync, m->from, m->sent), <, joined(sync, m->to, m->received));
    }
}

/* The truth: the reference's clock when the host's shows t. */
static void assert_within_bounds(const struct world *world, const struct lull_sync *sync,
                                 int64_t most_ns)
{
    const struct lull_host_clock *hosts = lull_sync_hosts(sync);
    uint32_t reference = LULL_NONE;

    for (uint32_t i = 0; i < world->n_hosts; i++) {
        if (hosts[i].is_reference) {
            reference = i;
        }
    }
    g_assert_cmpuint(reference, !=, LULL_NONE);
    for (uint32_t i = 0; i < world->n_hosts; i++) {
        int64_t start = world->start_ns[i], end = world->end_ns[i];

        g_assert_true(hosts[i].is_joined);
        g_assert_cmpint(hosts[i].bound_ns, >=, 0);
        g_assert_cmpint(hosts[i].bound_ns, <=, most_ns);
        g_assert_cmpint(hosts[i].offset_ns, ==, joined(sync, i, start) - start);
        for (unsigned k = 0; k <= 10; k++) {
            int64_t t = start + (end - start) / 10 * k;
            int64_t truth = own_time(world, reference, true_time(world, i, t));

            g_assert_cmpint(ABS(joined(sync, i, t) - truth), <=, hosts[i].bound_ns + 2);
        }
    }
}

static void assert_pairs(const struct world *world, const struct lull_sync *sync, uint32_t expected)
{
    uint32_t count;
    const struct lull_sync_pair *pairs = lull_sync_pairs(sync, &count);

    g_assert_cmpuint(count, ==, expected);
    for (uint32_t i = 0; i < count; i++) {
        const struct host *a = &world->hosts[pairs[i].a], *b = &world->hosts[pairs[i].b];
        double drift = (double)(b->drift_ppb - a->drift_ppb) / 1e3;
        double play = 2e6 * (double)pairs[i].bound_ns / (double)(30 * SECOND);

        g_assert_cmpint(pairs[i].quality, ==, LULL_SYNC_ACCURATE);
        g_assert_cmpfloat_with_epsilon(pairs[i].drift_ppm, drift, play + 0.1);
        g_assert_cmpint(pairs[i].bound_ns, >, 0);
        if (i > 0) {
            g_assert_true(pairs[i - 1].a < pairs[i].a ||
                          (pairs[i - 1].a == pairs[i].a && pairs[i - 1].b < pairs[i].b));
        }
    }
}

static void test_two(void)
{
    for (uint32_t seed = 0; seed < 20; seed++) {
        struct world world = make_world(2, seed);

        world.protocol = seed % 4 == 3 ? 17 : 6;
        talk_both(&world, 0, 1, 100000, 2000000, 30, 200);
        struct lull_sync *sync = join(&world, 31);
        uint32_t count;
        const struct lull_sync_pair *pair = lull_sync_pairs(sync, &count);

        assert_pairs(&world, sync, 1);
        assert_within_bounds(&world, sync, 1000000);
        assert_causal(&world, sync);
        g_assert_cmpuint(pair->matched, ==, 400);
        g_assert_cmpuint(pair->matched_ab, ==, 200);
        g_assert_cmpuint(pair->hull_points, <=, 100);
        g_assert_true(lull_sync_hosts(sync)[0].is_reference);
        g_assert_cmpint(lull_sync_transform(sync, 0)->offset_ns, ==, 0);
        g_assert_cmpint(lull_sync_transform(sync, 0)->rate_num, ==, 0);
        /* b - a in the middle of the exchange */
        int64_t a = own_time(&world, 0, EPOCH + 15 * SECOND);
        int64_t truth = own_time(&world, 1, EPOCH + 15 * SECOND) - a;

        g_assert_cmpint(ABS(pair->offset_ns - truth), <=, pair->bound_ns + 1000000);
        lull_sync_free(sync);
        free_world(&world);
    }
}

/* A chain and a ring of up to six; the same input gives the same clocks. */
static void test_many(void)
{
    for (uint32_t seed = 0; seed < 40; seed++) {
        uint32_t n = 3 + seed % 4;
        bool is_ring = seed & 4;
        struct world world = make_world(n, seed);

        for (uint32_t i = 0; i + 1 < n; i++) {
            talk_both(&world, i, i + 1, 20000 + seed * 1000, 3000000, 30, 100);
        }
        if (is_ring) {
            talk_both(&world, n - 1, 0, 50000, 8000000, 30, 100);
        }
        struct lull_sync *sync = join(&world, 31), *again = join(&world, 31);

        assert_pairs(&world, sync, is_ring ? n : n - 1);
        assert_within_bounds(&world, sync, 10000000);
        assert_causal(&world, sync);
        for (uint32_t i = 0; i < n; i++) {
            g_assert_cmpmem(lull_sync_transform(sync, i), sizeof(struct lull_clock_transform),
                            lull_sync_transform(again, i), sizeof(struct lull_clock_transform));
        }
        lull_sync_free(sync);
        lull_sync_free(again);
        free_world(&world);
    }
}

/* a - b and b - c are slow one way, so the middle of what they allow is far from the truth; a - c
 * is fast one way and slow the other: the composed clocks would let its packets travel backwards.
 */
static void test_ring_disagrees(void)
{
    for (uint32_t seed = 0; seed < 20; seed++) {
        struct world world = make_world(seed & 1 ? 4 : 3, seed);
        const int64_t end = 30 * SECOND;

        talk(&world, (struct wire){0, 1, 1900000, 10000, 0, end, 300});
        talk(&world, (struct wire){1, 0, 100000, 10000, 0, end, 300});
        talk(&world, (struct wire){1, 2, 1900000, 10000, 0, end, 300});
        talk(&world, (struct wire){2, 1, 100000, 10000, 0, end, 300});
        talk(&world, (struct wire){0, 2, 5000000, 10000, 0, end, 100});
        talk(&world, (struct wire){2, 0, 10000, 10000, 0, end, 100});
        if (world.n_hosts == 4) {
            talk_both(&world, 1, 3, 500000, 10000, 30, 50);
            talk(&world, (struct wire){3, 0, 10000, 10000, 0, end, 100}); /* one way, binds too */
        }
        struct lull_sync *sync = join(&world, 31);
        uint32_t count;
        const struct lull_sync_pair *pairs = lull_sync_pairs(sync, &count);

        for (uint32_t i = 0; i < count; i++) {
            g_assert_cmpint(pairs[i].quality, !=, LULL_SYNC_FAIL);
        }
        assert_within_bounds(&world, sync, 10000000);
        assert_causal(&world, sync);
        lull_sync_free(sync);
        free_world(&world);
    }
}

/* Everybody talks to everybody over wires of different length in both directions: no tree of pairs
 * satisfies the others, but the truth satisfies all of them, so there are clocks that do. */
static void test_mesh(void)
{
    for (uint32_t seed = 0; seed < 12; seed++) {
        struct world world = make_world(4 + seed % 9, seed);
        uint32_t count;

        for (uint32_t i = 0; i < world.n_hosts; i++) {
            for (uint32_t k = 0; k < world.n_hosts; k++) {
                int64_t least = g_rand_int_range(world.random, 20000, 1000000);

                if (i < k && g_rand_boolean(world.random)) {
                    least += 3000000;
                }
                if (i != k) {
                    talk(&world, (struct wire){i, k, least, 300000, 0, 30 * SECOND, 40});
                }
            }
        }
        struct lull_sync *sync = join(&world, 31);
        const struct lull_sync_pair *pairs = lull_sync_pairs(sync, &count);

        g_assert_cmpuint(count, ==, world.n_hosts * (world.n_hosts - 1) / 2);
        for (uint32_t i = 0; i < count; i++) {
            g_assert_cmpint(pairs[i].quality, ==, LULL_SYNC_ACCURATE);
        }
        assert_within_bounds(&world, sync, 10000000);
        assert_causal(&world, sync);
        lull_sync_free(sync);
        free_world(&world);
    }
}

/* Half a second of exchange in ten minutes of trace: the bound must cover what lies outside. */
static void test_short_exchange(void)
{
    for (uint32_t seed = 0; seed < 10; seed++) {
        struct world world = make_world(2, seed);

        talk(&world, (struct wire){0, 1, 50000, 100000, SECOND, SECOND * 3 / 2, 5});
        talk(&world, (struct wire){1, 0, 50000, 100000, SECOND, SECOND * 3 / 2, 5});
        struct lull_sync *sync = join(&world, 600);

        assert_within_bounds(&world, sync, SECOND);
        assert_causal(&world, sync);
        lull_sync_free(sync);
        free_world(&world);
    }
}

/* Nothing in one direction: no upper bound, so no joining. */
static void test_one_way(void)
{
    struct world world = make_world(2, 1);

    talk(&world, (struct wire){0, 1, 50000, 100000, 0, SECOND, 50});
    struct lull_sync *sync = join(&world, 2);
    uint32_t count;
    const struct lull_sync_pair *pair = lull_sync_pairs(sync, &count);

    g_assert_cmpuint(count, ==, 1);
    g_assert_cmpint(pair->quality, ==, LULL_SYNC_INCOMPLETE);
    g_assert_cmpint(pair->bound_ns, ==, -1);
    g_assert_cmpint(pair->offset_ns, ==, 0);
    g_assert_cmpuint(pair->matched, ==, 50);
    for (uint32_t i = 0; i < 2; i++) {
        g_assert_false(lull_sync_hosts(sync)[i].is_joined);
        g_assert_cmpint(lull_sync_hosts(sync)[i].bound_ns, ==, -1);
        g_assert_cmpint(joined(sync, i, EPOCH), ==, EPOCH);
    }
    lull_sync_free(sync);
    free_world(&world);
}

/* Two groups and a host alone: one clock counts; the smaller group is joined in itself only. */
static void test_disjoint(void)
{
    struct world world = make_world(6, 2);

    talk_both(&world, 0, 1, 50000, 500000, 30, 50);
    talk_both(&world, 2, 3, 50000, 500000, 30, 40);
    talk_both(&world, 3, 4, 50000, 500000, 30, 30);
    struct lull_sync *sync = join(&world, 31);
    const struct lull_host_clock *hosts = lull_sync_hosts(sync);

    for (uint32_t i = 0; i < 6; i++) {
        g_assert_cmpuint(hosts[i].host, ==, i);
        g_assert_cmpint(hosts[i].is_joined, ==, i >= 2 && i <= 4);
        g_assert_cmpint(hosts[i].is_reference, ==, i == 3);
    }
    g_assert_cmpint(hosts[1].bound_ns, ==, -1);
    g_assert_cmpint(joined(sync, 5, EPOCH), ==, EPOCH);
    g_assert_cmpint(joined(sync, 0, EPOCH), ==, EPOCH); /* the clock of its group */
    assert_causal(&world, sync);
    lull_sync_free(sync);
    free_world(&world);
}

/* A clock that is set during the trace. If another way connects the host, the pair is left out. */
static void test_step(void)
{
    struct world world = make_world(2, 3);
    uint32_t count;

    world.hosts[0].drift_ppb = 150000;
    world.hosts[1].drift_ppb = -150000;
    world.hosts[1].step_at_ns = 15 * SECOND;
    world.hosts[1].step_ns = -5 * SECOND;
    talk_both(&world, 0, 1, 50000, 500000, 30, 200);
    struct lull_sync *sync = join(&world, 31);
    const struct lull_sync_pair *pair = lull_sync_pairs(sync, &count);

    g_assert_cmpint(pair->quality, ==, LULL_SYNC_FAIL);
    g_assert_cmpint(pair->bound_ns, ==, -1);
    g_assert_true(lull_sync_hosts(sync)[1].is_joined);
    g_assert_cmpint(lull_sync_hosts(sync)[1].bound_ns, ==, -1);
    /* The last estimate before the step was good: no worse than the longest latency. */
    for (int64_t t = SECOND; t < 15 * SECOND; t += SECOND) {
        int64_t found = joined(sync, 1, own_time(&world, 1, EPOCH + t));

        g_assert_cmpint(ABS(found - own_time(&world, 0, EPOCH + t)), <=, 550000);
    }
    lull_sync_free(sync);
    free_world(&world);
}

/* UDP's 16-bit numbers came round while nobody looked; TCP tells the truth. */
static void test_udp_contradicts(void)
{
    struct world world = make_world(2, 4);
    uint32_t count;

    world.protocol = 17;
    talk(&world, (struct wire){0, 1, -3 * SECOND, 1000, 4 * SECOND, 30 * SECOND, 10});
    g_array_set_size(world.messages, 0);
    world.protocol = 6;
    talk_both(&world, 0, 1, 50000, 500000, 30, 200);
    struct lull_sync *sync = join(&world, 31);

    g_assert_cmpint(lull_sync_pairs(sync, &count)->quality, ==, LULL_SYNC_ACCURATE);
    assert_within_bounds(&world, sync, 10000000);
    assert_causal(&world, sync);
    lull_sync_free(sync);
    free_world(&world);
}

/* Times at the ends of the range are refused or clamped, not overflowed. */
static void test_hostile(void)
{
    const int64_t times[] = {INT64_MIN, -1, 0, 1, INT64_MAX - 1, INT64_MAX};
    struct lull_sync *sync = lull_sync_new(2);
    int64_t start[2] = {INT64_MIN, INT64_MAX}, end[2] = {INT64_MAX, INT64_MIN};

    for (uint32_t seq = 0; seq < 36 * 4; seq++) {
        struct lull_net_packet p = {.ip_version = 4, .protocol = 6, .payload = 1, .seq = seq / 4};

        p.host = (seq + seq / 2) % 3;
        p.is_send = seq & 1;
        p.time_ns = times[p.is_send ? seq / 4 % 6 : seq / 24];
        p.source[0] = seq >> 1 & 1;
        p.destination[0] = !p.source[0];
        p.flow = p.source[0];
        lull_sync_add(sync, &p);
    }
    lull_sync_finish(sync, start, end);
    for (uint32_t i = 0; i < 2; i++) {
        for (unsigned k = 0; k < G_N_ELEMENTS(times); k++) {
            joined(sync, i, times[k]);
        }
    }
    lull_sync_free(sync);
    lull_sync_free(NULL);
}

/* Rounding to the nearest, by hand; monotone; the inverse is the last time that comes out no later.
 */
static void test_transform(void)
{
    const struct lull_clock_transform identity = {0};
    const struct lull_clock_transform quarter = {100, 7, INT64_C(1) << 60};
    const struct lull_clock_transform drifts[] = {
        {EPOCH, 8425560191, INT64_C(15181000000000)},
        {EPOCH, -8425560191, -INT64_C(922337203685477)},
        {EPOCH - 12345, -1, INT64_C(922337203685477580)},
        {EPOCH, 1, -(INT64_C(1) << 61)},
    };

    g_assert_cmpint(lull_clock_transform_apply(&identity, INT64_MAX), ==, INT64_MAX);
    g_assert_cmpint(lull_clock_transform_invert(&identity, INT64_MIN), ==, INT64_MIN);
    g_assert_cmpint(lull_clock_transform_apply(&quarter, 100), ==, 107);
    g_assert_cmpint(lull_clock_transform_apply(&quarter, 101), ==, 108); /* 108.25 */
    g_assert_cmpint(lull_clock_transform_apply(&quarter, 103), ==, 111); /* 110.75 */
    g_assert_cmpint(lull_clock_transform_apply(&quarter, 97), ==, 103);  /* 103.25 */
    g_assert_cmpint(lull_clock_transform_apply(&quarter, INT64_MAX), ==, INT64_MAX);
    for (unsigned i = 0; i < G_N_ELEMENTS(drifts); i++) {
        for (int64_t t = EPOCH - 1000; t < EPOCH + 86400 * SECOND;
             t += t < EPOCH + 1000 ? 1 : 7919 * SECOND + 13) {
            int64_t there = lull_clock_transform_apply(&drifts[i], t);
            int64_t again = lull_clock_transform_invert(&drifts[i], there);

            g_assert_cmpint(there, <=, lull_clock_transform_apply(&drifts[i], t + 1));
            g_assert_cmpint(again, >=, t);
            g_assert_cmpint(again, <=, t + 1);
            g_assert_cmpint(lull_clock_transform_apply(&drifts[i], again), <=, there);
            g_assert_cmpint(lull_clock_transform_apply(&drifts[i], again + 1), >, there);
        }
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/graph/sync/transform", test_transform);
    g_test_add_func("/graph/sync/two", test_two);
    g_test_add_func("/graph/sync/many", test_many);
    g_test_add_func("/graph/sync/ring-disagrees", test_ring_disagrees);
    g_test_add_func("/graph/sync/mesh", test_mesh);
    g_test_add_func("/graph/sync/short-exchange", test_short_exchange);
    g_test_add_func("/graph/sync/one-way", test_one_way);
    g_test_add_func("/graph/sync/disjoint", test_disjoint);
    g_test_add_func("/graph/sync/step", test_step);
    g_test_add_func("/graph/sync/udp-contradicts", test_udp_contradicts);
    g_test_add_func("/graph/sync/hostile", test_hostile);
    return g_test_run();
}
