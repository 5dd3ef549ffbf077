/* SPDX-License-Identifier: MIT */
/* Fuzz target: a datagram of another daemon. What is accepted lies in its ranges and is written as the same
 * bytes, and however often it comes, the daemon hears it once. The first byte: bit 0 signs the datagram, as who
 * has the key can, bit 1 sets right what most bytes would be refused for. */
#include <string.h>

#include "trigger/spread.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define NOW_NS INT64_C(1795269013000000000)
#define MAC_BYTES 32
#define SET "20261122-140211-7f3a9c01"
/* Where the parts of a datagram are (docs/DAEMON.md). */
enum { AT_KIND = 5, AT_N = 7, AT_SENT = 8, AT_SET = 24, AT_RULE = 48, AT_AGES = 112 };

static const struct lull_peer_keys keys = {.key = {{{1, 2, 3}}}, .n = 1};
static struct lull_trigger_config *config;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    static const char text[] =
        "[daemon]\nlisten=0.0.0.0:5447\npeers=::/0\nkey=/k\n[rule slow]\nslower=1ms\n";
    GPtrArray *problems = g_ptr_array_new();
    config = lull_trigger_config_parse("x", text, strlen(text), problems);
    g_assert_nonnull(config);
    g_ptr_array_unref(problems);
    return 0;
}

static void mend(uint8_t *bytes, size_t size)
{
    static const uint8_t ages[16] = {[4] = 2, [12] = 1};
    const uint64_t sent = GUINT64_TO_BE(NOW_NS);
    memcpy(bytes, "LULT\1", AT_KIND);
    bytes[AT_KIND] = size == 104 ? LULL_PEER_ANSWER : LULL_PEER_ASK;
    bytes[AT_N] = size >= 160 ? (uint8_t)((size - 160) / 36) : 0;
    memcpy(bytes + AT_SENT, &sent, sizeof sent);
    memcpy(bytes + AT_SET, SET, strlen(SET));
    if (size >= 160) {
        memset(bytes + AT_RULE, 0, LULL_TRIGGER_NAME);
        bytes[AT_RULE] = 'r';
        memcpy(bytes + AT_AGES, ages, sizeof ages);
    }
}

static void sign(uint8_t *bytes, size_t size)
{
    gsize length = MAC_BYTES;
    GHmac *hmac = g_hmac_new(G_CHECKSUM_SHA256, keys.key[0].bytes, sizeof keys.key[0].bytes);
    g_hmac_update(hmac, bytes, (gssize)(size - MAC_BYTES));
    g_hmac_get_digest(hmac, bytes + size - MAC_BYTES, &length);
    g_hmac_unref(hmac);
}

static void check(const struct lull_peer_message *message)
{
    g_assert_true(lull_sets_is_name(message->set));
    if (message->kind == LULL_PEER_ANSWER) {
        g_assert_cmpint(message->verdict, <, LULL_TRIGGER_FAST);
        g_assert_true(!*message->made || lull_sets_is_name(message->made));
        return;
    }
    g_assert_cmpint(message->kind, ==, LULL_PEER_ASK);
    g_assert_true(lull_trigger_is_name(message->rule));
    g_assert_cmpint(message->hops, <=, LULL_PEER_HOPS);
    g_assert_cmpint(message->end_age_ns, >=, 0);
    g_assert_cmpint(message->start_age_ns, >=, message->end_age_ns);
    g_assert_cmpint(message->start_age_ns, <=, LULL_PEER_MOST_AGE_NS);
    g_assert_cmpuint(message->n_connections, <=, LULL_PEER_CONNECTIONS);
}

static void send_nothing(void *user, const struct in6_addr *to, uint16_t port, const uint8_t *bytes,
                         size_t size)
{
    g_assert_cmpuint(size, ==, 104); /* an answer */
}

static void was_asked(void *user, uint32_t number, const struct lull_spread_question *question)
{
    uint32_t *n_asked = user;
    g_assert_cmpuint(number, <, LULL_SPREAD_HEARD);
    ++*n_asked;
}

static void has_outcome(void *user, const struct lull_spread_outcome *outcome)
{
    g_assert_not_reached(); /* nobody was asked */
}

static void hear(const uint8_t *bytes, size_t size, bool is_ask)
{
    uint32_t n_asked = 0;
    struct lull_spread_counts counts = {0};
    const struct lull_spread_actions actions = {send_nothing, was_asked, has_outcome, &n_asked};
    const struct lull_spread_now now = {LULL_PEER_MOST_AGE_NS, NOW_NS};
    const struct in6_addr from = IN6ADDR_LOOPBACK_INIT;
    struct lull_spread *spread = lull_spread_new(config, &keys, &actions, &counts);
    for (int i = 0; i < 3; i++) {
        lull_spread_take(spread, &from, 1, bytes, size, &now);
        lull_spread_answer(spread, 1, LULL_TRIGGER_WRITTEN, SET, &now);
    }
    g_assert_cmpuint(n_asked, ==, is_ask);
    g_assert_cmpuint(counts.damaged + counts.forged + counts.clock, ==, 0);
    lull_spread_free(spread);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t bytes[LULL_PEER_MOST_BYTES], again[LULL_PEER_MOST_BYTES];
    struct lull_peer_message message, same;
    if (size == 0) {
        return 0;
    }
    const size_t n = MIN(size - 1, sizeof bytes);
    memcpy(bytes, data + 1, n);
    if (data[0] & 2 && n >= 104) {
        mend(bytes, n);
    }
    if (data[0] & 1 && n >= MAC_BYTES) {
        sign(bytes, n);
    }
    if (lull_peer_read(bytes, n, &keys, NOW_NS, &message) == LULL_PEER_SOUND) {
        check(&message);
        /* Texts are padded with NULs; what came after their end is not kept. */
        const size_t written = lull_peer_write(&message, &keys, again);
        g_assert_cmpuint(written, ==, n);
        g_assert_cmpint(lull_peer_read(again, written, &keys, NOW_NS, &same), ==, LULL_PEER_SOUND);
        hear(bytes, n, message.kind == LULL_PEER_ASK);
    }
    return 0;
}
