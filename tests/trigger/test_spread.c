/* SPDX-License-Identifier: MIT */
/* Datagrams between daemons against bytes that another program made and signed, keys, and questions over a
 * network that loses, repeats and delays what it carries. */
#include <arpa/inet.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <glib/gstdio.h>

#include "base/time.h"
#include "trigger/spread.h"

#define S LULL_NS_PER_S
#define MS INT64_C(1000000)
#define EPOCH_NS INT64_C(1795269013000000000)
#define SET "20261122-140211-7f3a9c01"

static struct in6_addr address_of(const char *text)
{
    struct in6_addr address;
    g_autofree char *mapped = g_strconcat("::ffff:", text, NULL);
    g_assert_cmpint(inet_pton(AF_INET6, mapped, &address), ==, 1);
    return address;
}

/* 00 01 02 …, and the same from `first` on. */
static struct lull_peer_key key_from(uint8_t first)
{
    struct lull_peer_key key;
    for (uint8_t i = 0; i < sizeof key.bytes; i++) {
        key.bytes[i] = (uint8_t)(first + i);
    }
    return key;
}

/* ---- datagrams ---- */

/* Made with Python's struct, ipaddress and hmac, by the table of docs/DAEMON.md. */
static const char ask_hex[] =
    "4c554c540101080118ea13a7d4219200112233445566778832303236313132322d3134303231312d376633613963"
    "3031736c6f772d726571756573747300000000000000000000000000000000000000000000000000000000000000"
    "0000000000000000000000000000000000000000000000002cb41780000000000121eac000000000000000000000"
    "ffff0a09000300000000000000000000ffff0a09000218eb9c41b9811d8a6c6f5449a245d4c3091beb9e1720ce56"
    "cfc984f79bf90654babffd8f";
static const char answer_hex[] =
    "4c554c540102010018ea13a7d4219200112233445566778832303236313132322d3134303231312d376633613963"
    "303132303236313132322d3134303230392d3030303062656566abd53dd210de60ceae65c52500eb544d9f9dd430"
    "d1964d349b3cc827ca1dd06d";

static size_t from_hex(const char *hex, uint8_t *bytes)
{
    const size_t size = strlen(hex) / 2;
    for (size_t i = 0; i < size; i++) {
        bytes[i] =
            (uint8_t)(g_ascii_xdigit_value(hex[2 * i]) << 4 | g_ascii_xdigit_value(hex[2 * i + 1]));
    }
    return size;
}

static void test_ask(void)
{
    const struct lull_peer_keys keys = {.key = {key_from(0)}, .n = 1};
    const struct in6_addr local = address_of("10.9.0.3"), remote = address_of("10.9.0.2");
    uint8_t bytes[LULL_PEER_MOST_BYTES], again[LULL_PEER_MOST_BYTES];
    struct lull_peer_message message;
    const size_t size = from_hex(ask_hex, bytes);
    g_assert_cmpint(lull_peer_read(bytes, size, &keys, EPOCH_NS, &message), ==, LULL_PEER_SOUND);
    g_assert_cmpint(message.kind, ==, LULL_PEER_ASK);
    g_assert_cmpint(message.sent_ns, ==, EPOCH_NS);
    g_assert_cmphex(message.nonce, ==, 0x1122334455667788);
    g_assert_cmpstr(message.set, ==, SET);
    g_assert_cmpstr(message.rule, ==, "slow-requests");
    g_assert_cmpuint(message.hops, ==, 8);
    g_assert_cmpint(message.start_age_ns, ==, 750 * MS);
    g_assert_cmpint(message.end_age_ns, ==, 19 * MS);
    g_assert_cmpuint(message.n_connections, ==, 1);
    g_assert_cmpmem(&message.connection[0].local, sizeof local, &local, sizeof local);
    g_assert_cmpmem(&message.connection[0].remote, sizeof remote, &remote, sizeof remote);
    g_assert_cmpuint(message.connection[0].local_port, ==, 6379);
    g_assert_cmpuint(message.connection[0].remote_port, ==, 40001);
    g_assert_cmpmem(again, lull_peer_write(&message, &keys, again), bytes, size);
}

static void test_answer(void)
{
    const struct lull_peer_keys keys = {.key = {key_from(0)}, .n = 1};
    uint8_t bytes[LULL_PEER_MOST_BYTES], again[LULL_PEER_MOST_BYTES];
    struct lull_peer_message message;
    const size_t size = from_hex(answer_hex, bytes);
    g_assert_cmpint(lull_peer_read(bytes, size, &keys, EPOCH_NS, &message), ==, LULL_PEER_SOUND);
    g_assert_cmpint(message.kind, ==, LULL_PEER_ANSWER);
    g_assert_cmpint(message.verdict, ==, LULL_TRIGGER_COALESCED);
    g_assert_cmpstr(message.made, ==, "20261122-140209-0000beef");
    g_assert_cmpmem(again, lull_peer_write(&message, &keys, again), bytes, size);
}

/* No other bytes are taken: any bit wrong, any length, another key, another time. */
static void test_refused(void)
{
    const struct lull_peer_keys keys = {.key = {key_from(0)}, .n = 1};
    const struct lull_peer_keys others = {.key = {key_from(1)}, .n = 1};
    const struct lull_peer_keys both = {.key = {key_from(1), key_from(0)}, .n = 2};
    static const char *const all[] = {ask_hex, answer_hex};
    uint8_t bytes[LULL_PEER_MOST_BYTES + 1] = {0};
    struct lull_peer_message message;
    for (size_t k = 0; k < G_N_ELEMENTS(all); k++) {
        const size_t size = from_hex(all[k], bytes);
        for (size_t bit = 0; bit < 8 * size; bit++) {
            bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
            g_assert_cmpint(lull_peer_read(bytes, size, &keys, EPOCH_NS, &message), !=,
                            LULL_PEER_SOUND);
            bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
        }
        for (size_t n = 0; n <= sizeof bytes; n++) {
            g_assert_cmpint(lull_peer_read(bytes, n, &keys, EPOCH_NS, &message), ==,
                            n == size ? LULL_PEER_SOUND : LULL_PEER_DAMAGED);
        }
        g_assert_cmpint(lull_peer_read(bytes, size, &others, EPOCH_NS, &message), ==,
                        LULL_PEER_FORGED);
        g_assert_cmpint(lull_peer_read(bytes, size, &both, EPOCH_NS, &message), ==,
                        LULL_PEER_SOUND);
        g_assert_cmpint(lull_peer_read(bytes, size, &keys, EPOCH_NS + 30 * S, &message), ==,
                        LULL_PEER_SOUND);
        g_assert_cmpint(lull_peer_read(bytes, size, &keys, EPOCH_NS + 30 * S + 1, &message), ==,
                        LULL_PEER_CLOCK);
        g_assert_cmpint(lull_peer_read(bytes, size, &keys, EPOCH_NS - 30 * S - 1, &message), ==,
                        LULL_PEER_CLOCK);
    }
}

/* Who has the key cannot say just anything either. */
static void test_out_of_range(void)
{
    const struct lull_peer_keys keys = {.key = {key_from(0)}, .n = 1};
    uint8_t bytes[LULL_PEER_MOST_BYTES];
    struct lull_peer_message good, message;
    const size_t size = from_hex(ask_hex, bytes);
    g_assert_cmpint(lull_peer_read(bytes, size, &keys, EPOCH_NS, &good), ==, LULL_PEER_SOUND);
    for (int i = 0; i < 8; i++) {
        message = good;
        if (i == 0) {
            g_strlcpy(message.set, "../../../etc/cron.d/0000", sizeof message.set);
        } else if (i == 1) {
            g_strlcpy(message.rule, "a\"} 1", sizeof message.rule);
        } else if (i == 2) {
            message.rule[0] = '\0';
        } else if (i == 3) {
            message.hops = LULL_PEER_HOPS + 1;
        } else if (i == 4) {
            message.start_age_ns = message.end_age_ns - 1;
        } else if (i == 5) {
            message.end_age_ns = -1;
        } else if (i == 6) {
            message.start_age_ns = LULL_PEER_MOST_AGE_NS + 1;
        } else {
            message.connection[0].remote_port = 0;
        }
        const size_t n = lull_peer_write(&message, &keys, bytes);
        g_assert_cmpint(lull_peer_read(bytes, n, &keys, EPOCH_NS, &message), ==, LULL_PEER_DAMAGED);
    }
    message = good;
    memset(message.rule, 'r', sizeof message.rule); /* it does not end */
    const size_t n = lull_peer_write(&message, &keys, bytes);
    g_assert_cmpint(lull_peer_read(bytes, n, &keys, EPOCH_NS, &message), ==, LULL_PEER_DAMAGED);
}

/* ---- keys ---- */

static bool reads(const char *path, const char *text, int mode, struct lull_peer_keys *keys)
{
    g_autoptr(GError) error = NULL;
    g_unlink(path);
    g_assert_true(g_file_set_contents(path, text, -1, NULL));
    g_assert_cmpint(g_chmod(path, mode), ==, 0);
    const bool done = lull_peer_keys_read(path, keys, &error);
    g_assert_true(done == !error);
    return done;
}

static void test_keys(void)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *dir = g_dir_make_tmp("lull-key-XXXXXX", NULL);
    g_autofree char *path = g_build_filename(dir, "key", NULL);
    g_autofree char *link = g_build_filename(dir, "link", NULL);
    const struct lull_peer_key first = key_from(0), second = key_from(0xe0);
    struct lull_peer_keys keys;
    static const char one[] = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";
    static const char two[] = "E0e1e2e3e4e5e6e7e8e9eaebecedeeeff0f1f2f3f4f5f6f7f8f9fafbfcfdfeff";
    g_autofree char *both = g_strconcat(one, "\n", two, "\n", NULL);
    g_autofree char *three = g_strconcat(one, "\n", both, NULL);
    g_autofree char *wrong = g_strconcat("x", one + 1, NULL);
    g_assert_true(reads(path, one, 0600, &keys));
    g_assert_cmpuint(keys.n, ==, 1);
    g_assert_true(reads(path, both, 0400, &keys));
    g_assert_cmpuint(keys.n, ==, 2);
    g_assert_cmpmem(keys.key[0].bytes, 32, first.bytes, 32);
    g_assert_cmpmem(keys.key[1].bytes, 32, second.bytes, 32);
    g_assert_false(reads(path, one, 0640, &keys));
    g_assert_false(reads(path, one, 0604, &keys));
    g_assert_false(reads(path, three, 0600, &keys));
    g_assert_false(reads(path, wrong, 0600, &keys));
    g_assert_false(reads(path, one + 1, 0600, &keys));
    g_assert_false(reads(path, "", 0600, &keys));
    g_assert_cmpint(symlink(path, link), ==, 0);
    g_assert_true(reads(path, one, 0600, &keys));
    g_assert_false(lull_peer_keys_read(link, &keys, NULL));
    g_assert_false(lull_peer_keys_read(dir, &keys, NULL));
    g_assert_false(lull_peer_keys_make(path, &error)); /* one is there */
    g_unlink(path);
    g_unlink(link);
    struct lull_peer_keys made[2];
    for (int i = 0; i < 2; i++) {
        struct stat st;
        g_assert_true(lull_peer_keys_make(path, NULL));
        g_assert_true(lull_peer_keys_read(path, &made[i], NULL));
        g_assert_cmpint(stat(path, &st), ==, 0);
        g_assert_cmpint(st.st_mode & 0777, ==, 0600);
        g_unlink(path);
    }
    g_assert_true(memcmp(&made[0].key[0], &made[1].key[0], sizeof made[0].key[0]) != 0);
    g_rmdir(dir);
}

/* ---- a network ---- */

#define NODES 4
#define PORT 5447

struct packet {
    int64_t at_ns;
    int from, to; /* to -1: to somebody who is not there */
    size_t size;
    uint8_t bytes[LULL_PEER_MOST_BYTES];
};

struct network;

struct node {
    struct network *network;
    int number;
    struct in6_addr address;
    struct lull_spread *spread;
    struct lull_spread_counts counts;
    uint32_t n_asked, n_written, n_unanswered;
    int64_t asked_ns; /* for the last time */
};

struct network {
    struct node node[NODES];
    struct lull_trigger_config *config;
    struct lull_peer_keys keys;
    GArray *packets; /* on their way, and kept afterwards */
    guint n_delivered;
    struct lull_spread_now now;
    GRand *random;
    unsigned lost_percent;
    int slowest_us, step_us; /* of datagrams, and of time */
    bool is_chain;           /* who is asked asks the next */
};

static void send_packet(void *user, const struct in6_addr *to, uint16_t port, const uint8_t *bytes,
                        size_t size)
{
    struct node *node = user;
    struct network *network = node->network;
    struct packet packet = {.at_ns =
                                network->now.monotonic_ns +
                                g_rand_int_range(network->random, 1, network->slowest_us) * 1000,
                            .from = node->number,
                            .to = -1,
                            .size = size};
    g_assert_cmpuint(port, ==, PORT);
    memcpy(packet.bytes, bytes, size);
    for (int i = 0; i < NODES; i++) {
        if (memcmp(&network->node[i].address, to, sizeof *to) == 0) {
            packet.to = i;
        }
    }
    if ((unsigned)g_rand_int_range(network->random, 0, 100) >= network->lost_percent) {
        g_array_append_val(network->packets, packet);
    }
}

static bool ask(struct network *network, int from, const char *to);

/* The daemon: it writes a snapshot of whatever it is asked for. */
static void was_asked(void *user, uint32_t number, const struct lull_spread_question *question)
{
    struct node *node = user;
    node->n_asked++;
    node->asked_ns = node->network->now.monotonic_ns;
    g_assert_cmpstr(question->rule, ==, "slow");
    g_assert_cmpint(question->end_ns - question->start_ns, ==, 500 * MS);
    lull_spread_answer(node->spread, number, LULL_TRIGGER_WRITTEN, question->set,
                       &node->network->now);
    if (node->network->is_chain && node->number + 1 < NODES) {
        g_autofree char *next = g_strdup_printf("10.9.0.%d", node->number + 2);
        g_assert_true(ask(node->network, node->number, next));
    }
}

static void has_outcome(void *user, const struct lull_spread_outcome *outcome)
{
    struct node *node = user;
    if (outcome->verdict != LULL_TRIGGER_FAST) {
        g_assert_cmpint(outcome->verdict, ==, LULL_TRIGGER_WRITTEN);
        g_assert_cmpstr(outcome->made, ==, outcome->set);
        node->n_written++;
    } else {
        node->n_unanswered++;
    }
}

static struct network *network_new(unsigned lost_percent)
{
    static const char config[] = "[daemon]\nlisten=0.0.0.0:5447\npeers=10.9.0.0/29, 10.9.0.9\n"
                                 "key=/k\n[rule slow]\nslower=1ms\n";
    struct network *network = g_new0(struct network, 1);
    GPtrArray *problems = g_ptr_array_new_with_free_func(g_free);
    network->config = lull_trigger_config_parse("a", config, strlen(config), problems);
    g_assert_cmpuint(problems->len, ==, 0);
    g_ptr_array_unref(problems);
    network->keys = (struct lull_peer_keys){.key = {key_from(0)}, .n = 1};
    network->packets = g_array_new(FALSE, FALSE, sizeof(struct packet));
    network->random = g_rand_new_with_seed(20261123);
    network->lost_percent = lost_percent;
    network->slowest_us = 500;
    network->step_us = 1000;
    network->now = (struct lull_spread_now){1000 * S, EPOCH_NS};
    for (int i = 0; i < NODES; i++) {
        struct node *node = &network->node[i];
        g_autofree char *address = g_strdup_printf("10.9.0.%d", i + 1);
        const struct lull_spread_actions actions = {send_packet, was_asked, has_outcome, node};
        *node = (struct node){.network = network, .number = i, .address = address_of(address)};
        node->spread = lull_spread_new(network->config, &network->keys, &actions, &node->counts);
    }
    return network;
}

static void network_free(struct network *network)
{
    for (int i = 0; i < NODES; i++) {
        lull_spread_free(network->node[i].spread);
    }
    lull_trigger_config_free(network->config);
    g_array_unref(network->packets);
    g_rand_free(network->random);
    g_free(network);
}

static void deliver(struct network *network, const struct packet *packet)
{
    if (packet->to >= 0) {
        lull_spread_take(network->node[packet->to].spread, &network->node[packet->from].address,
                         PORT, packet->bytes, packet->size, &network->now);
    }
}

/* Everything that happens in that time. */
static void pass_time(struct network *network, int64_t ns)
{
    const int64_t end_ns = network->now.monotonic_ns + ns;
    while (network->now.monotonic_ns < end_ns) {
        network->now.monotonic_ns += network->step_us * INT64_C(1000);
        network->now.epoch_ns += network->step_us * INT64_C(1000);
        for (guint i = network->n_delivered; i < network->packets->len; i++) {
            const struct packet packet = g_array_index(network->packets, struct packet, i);
            if (packet.at_ns <= network->now.monotonic_ns) {
                g_array_index(network->packets, struct packet, i) =
                    g_array_index(network->packets, struct packet, network->n_delivered);
                g_array_index(network->packets, struct packet, network->n_delivered++) = packet;
                deliver(network, &packet);
            }
        }
        for (int i = 0; i < NODES; i++) {
            lull_spread_run(network->node[i].spread, &network->now);
        }
    }
}

static bool ask(struct network *network, int from, const char *to)
{
    struct lull_spread_question question = {.to = address_of(to),
                                            .set = SET,
                                            .rule = "slow",
                                            .start_ns = network->now.monotonic_ns - 600 * MS,
                                            .end_ns = network->now.monotonic_ns - 100 * MS,
                                            .hops = 8};
    return lull_spread_ask(network->node[from].spread, &question, &network->now);
}

/* One in ten datagrams is lost, questions and answers: all are heard once, and answered. */
static void test_loss(void)
{
    struct network *network = network_new(10);
    const uint32_t n = 300;
    network->slowest_us = 3000;
    for (uint32_t i = 0; i < n; i++) {
        g_assert_true(ask(network, 0, "10.9.0.2"));
        g_assert_true(ask(network, 0, "10.9.0.3"));
        pass_time(network, 250 * MS);
    }
    pass_time(network, 4 * S);
    g_assert_cmpuint(network->node[0].n_written + network->node[0].n_unanswered, ==, 2 * n);
    g_assert_cmpuint(network->node[0].n_unanswered, ==, 0);
    g_assert_cmpuint(network->node[1].n_asked, ==, n);
    g_assert_cmpuint(network->node[2].n_asked, ==, n);
    g_assert_cmpuint(network->packets->len, >, 4 * n); /* some were repeated */
    network_free(network);
}

static int compare_times(const void *a, const void *b)
{
    const int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;
    return (left > right) - (left < right);
}

/* A question goes over three hops with one datagram in ten lost. Of each hop it is late by 0, 2, 5, 12, 30 … ms with the
 * probabilities 0.9, 0.09, 0.009, 0.0009, …. More than 5 ms late in all: one hop loses three or more, 3 * 0.001; or one
 * loses two and another one or more, 6 * 0.009 * 0.09; or all three lose one each, 0.09 ^ 3: together 0.0086. More than
 * 50 ms: one hop loses five, 3e-5, or two lose four or more. All machines hear each question once. */
static void test_hops(void)
{
    enum { N = 10000, WAY_NS = 3 * 600000 }; /* 0.5 ms for each datagram, and a step of time */
    struct network *network = network_new(10);
    struct node *node = network->node;
    g_autofree int64_t *took_ns = g_new(int64_t, N);
    uint32_t n_sent = 0;
    network->is_chain = true;
    network->step_us = 100;
    for (uint32_t i = 0; i < N; i++) {
        const int64_t start_ns = network->now.monotonic_ns;
        g_assert_true(ask(network, 0, "10.9.0.2"));
        while (node[0].n_written + node[1].n_written + node[2].n_written < 3 * (i + 1)) {
            pass_time(network, MS / 10);
        }
        took_ns[i] = node[NODES - 1].asked_ns - start_ns;
        for (int k = 1; k < NODES; k++) {
            g_assert_cmpuint(node[k].n_asked, ==, i + 1);
        }
        pass_time(network, MS); /* whatever is still on its way */
        n_sent += network->packets->len;
        g_array_set_size(network->packets, 0);
        network->n_delivered = 0;
        network->now.monotonic_ns += 200 * MS; /* no more than ten questions a second are heard */
        network->now.epoch_ns += 200 * MS;
    }
    qsort(took_ns, N, sizeof *took_ns, compare_times);
    g_test_message(
        "over three hops: median %.1f ms, 99 %% %.1f ms, longest %.1f ms; %.2f datagrams a hop",
        (double)took_ns[N / 2] / MS, (double)took_ns[N * 99 / 100] / MS,
        (double)took_ns[N - 1] / MS, (double)n_sent / N / 3);
    g_assert_cmpint(took_ns[N / 2], <=, WAY_NS);
    g_assert_cmpint(took_ns[N * 99 / 100], <=, 5 * MS + WAY_NS);
    g_assert_cmpint(took_ns[N * 999 / 1000], <=, 50 * MS);
    g_assert_cmpuint(n_sent, >, 2 * 3 * N);
    g_assert_cmpuint(n_sent, <, 3 * 3 * N);
    network_free(network);
}

static void test_dead(void)
{
    struct network *network = network_new(0);
    g_assert_true(ask(network, 0, "10.9.0.6"));
    g_assert_true(ask(network, 0, "10.9.0.2"));
    pass_time(network, 20 * MS);
    g_assert_cmpuint(network->node[0].n_written, ==, 1); /* the others do not wait for it */
    pass_time(network, 2970 * MS);
    g_assert_cmpuint(network->node[0].n_unanswered, ==, 0);
    pass_time(network, 20 * MS);
    g_assert_cmpuint(network->node[0].n_unanswered, ==, 1);
    g_assert_cmpuint(network->packets->len, ==, 8 + 2); /* eight times, and one answered question */
    /* So many may be open. */
    for (uint32_t i = 0; i < LULL_SPREAD_ASKED; i++) {
        g_assert_true(ask(network, 0, "10.9.0.6"));
    }
    g_assert_false(ask(network, 0, "10.9.0.6"));
    network_free(network);
}

/* What was heard once changes nothing when it is sent again, at once or later, to those that it was for or by
 * others. */
static void test_replay(void)
{
    struct network *network = network_new(0);
    struct node *node = network->node;
    g_assert_true(ask(network, 0, "10.9.0.2"));
    pass_time(network, 10 * MS);
    g_assert_cmpuint(network->packets->len, ==, 2);
    const struct packet question = g_array_index(network->packets, struct packet, 0);
    const struct packet answer = g_array_index(network->packets, struct packet, 1);
    g_assert_cmpint(question.to, ==, 1);
    g_assert_cmpint(answer.to, ==, 0);
    /* Seconds later: at most the same answer comes. After half a minute nothing does. */
    for (uint32_t i = 0; i < 40; i++) {
        pass_time(network, S);
        const guint before = network->packets->len;
        deliver(network, &question);
        deliver(network, &answer);
        g_assert_cmpuint(network->packets->len - before, ==, i < 29 ? 1 : 0);
    }
    g_assert_cmpuint(node[1].n_asked, ==, 1);
    g_assert_cmpuint(node[0].n_written, ==, 1);
    g_assert_cmpuint(node[1].counts.clock, ==, 11);
    g_assert_cmpuint(node[1].counts.repeated, ==, 29);
    g_assert_cmpuint(node[0].counts.repeated, ==, 29 + 29); /* and what node 1 answers again */
    /* A question of ours that comes back is not answered: that would look like the other's answer. */
    g_assert_true(ask(network, 0, "10.9.0.6"));
    struct packet back = g_array_index(network->packets, struct packet, network->packets->len - 1);
    g_assert_cmpint(back.from, ==, 0);
    const guint before = network->packets->len;
    back.to = 0;
    back.from = 1;
    deliver(network, &back);
    g_assert_cmpuint(node[0].n_asked, ==, 0);
    g_assert_cmpuint(node[0].counts.forged, ==, 1);
    g_assert_cmpuint(network->packets->len, ==, before);
    network_free(network);
}

/* The datagram of one machine, sent by another: at the first one that comes something happens, and who sent that has the
 * answer, both times. */
static void test_two_hosts(void)
{
    struct network *network = network_new(0);
    struct node *node = network->node;
    g_assert_true(ask(network, 0, "10.9.0.2"));
    struct packet question = g_array_index(network->packets, struct packet, 0);
    deliver(network, &question);
    question.from = 2;
    deliver(network, &question);
    g_assert_cmpuint(node[1].n_asked, ==, 1);
    g_assert_cmpuint(node[1].counts.repeated, ==, 1);
    g_assert_cmpuint(network->packets->len, ==, 3);
    for (guint i = 1; i < 3; i++) {
        g_assert_cmpint(g_array_index(network->packets, struct packet, i).to, ==, 0);
    }
    network_free(network);
}

/* A machine that asks all the time is heard ten times a second, and foreign ones never. */
static void test_flood(void)
{
    struct network *network = network_new(0);
    struct node *node = network->node;
    struct lull_peer_message message = {.kind = LULL_PEER_ASK,
                                        .sent_ns = network->now.epoch_ns,
                                        .set = SET,
                                        .rule = "slow",
                                        .start_age_ns = 500 * MS};
    struct packet packet = {.from = 1, .to = 0};
    const struct in6_addr outside = address_of("10.9.0.8"), single = address_of("10.9.0.9");
    for (message.nonce = 1; message.nonce <= 1000; message.nonce++) {
        packet.size = lull_peer_write(&message, &network->keys, packet.bytes);
        deliver(network, &packet);
    }
    g_assert_cmpuint(node[0].n_asked, ==, 10);
    g_assert_cmpuint(node[0].counts.limited, ==, 990);
    packet.size = lull_peer_write(&message, &network->keys, packet.bytes);
    lull_spread_take(node[0].spread, &outside, PORT, packet.bytes, packet.size, &network->now);
    g_assert_cmpuint(node[0].n_asked, ==, 10);
    g_assert_cmpuint(node[0].counts.damaged, ==, 1);
    lull_spread_take(node[0].spread, &single, PORT, packet.bytes, packet.size, &network->now);
    g_assert_cmpuint(node[0].n_asked, ==, 11);
    /* MACs take time: no more than 10 000 are checked in a second. */
    packet.bytes[60] ^= 1;
    for (unsigned i = 0; i < 20000; i++) {
        deliver(network, &packet);
    }
    g_assert_cmpuint(node[0].counts.forged + 1001, ==, 10000);
    g_assert_cmpuint(node[0].counts.limited, ==, 990 + 11001);
    network_free(network);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/spread/ask", test_ask);
    g_test_add_func("/spread/answer", test_answer);
    g_test_add_func("/spread/refused", test_refused);
    g_test_add_func("/spread/out-of-range", test_out_of_range);
    g_test_add_func("/spread/keys", test_keys);
    g_test_add_func("/spread/loss", test_loss);
    g_test_add_func("/spread/hops", test_hops);
    g_test_add_func("/spread/dead", test_dead);
    g_test_add_func("/spread/replay", test_replay);
    g_test_add_func("/spread/two-hosts", test_two_hosts);
    g_test_add_func("/spread/flood", test_flood);
    return g_test_run();
}
