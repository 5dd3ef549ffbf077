/* SPDX-License-Identifier: MIT */
/* A question is repeated until it is answered; one that is heard again gets the same answer again, and
 * nothing else happens. */
#include "trigger/spread.h"

#include <string.h>
#include <sys/random.h>

#include "base/time.h"

#define NS_PER_MS INT64_C(1000000)
/* Unanswered after this; a machine that writes a snapshot answers when it is done. */
#define GIVE_UP_NS (3 * LULL_NS_PER_S)
/* As long as a datagram may be valid, at either end of the skew. */
#define REMEMBER_NS (2 * LULL_PEER_MOST_SKEW_NS + LULL_NS_PER_S)
/* New questions of one machine in a second, and MACs that are checked in one. */
#define MOST_NEW 10
#define MOST_CHECKED 10000
#define SOURCES 64

/* When a question is sent, after the first time. With a tenth of all datagrams lost, one question in a thousand takes longer than
 * 5 ms to be heard, one in ten thousand longer than 12 ms. Most are answered before the second time. */
static const int64_t repeats_ns[] = {0,
                                     2 * NS_PER_MS,
                                     5 * NS_PER_MS,
                                     12 * NS_PER_MS,
                                     30 * NS_PER_MS,
                                     80 * NS_PER_MS,
                                     250 * NS_PER_MS,
                                     800 * NS_PER_MS,
                                     GIVE_UP_NS};

/* A question of ours. */
struct asked {
    bool is_open;
    uint64_t nonce;
    int64_t first_ns;
    uint32_t n_sent;
    struct lull_spread_question question;
};

/* A question of another. */
struct heard {
    uint64_t nonce;
    int64_t at_ns; /* INT64_MIN: none yet */
    bool is_answered;
    struct in6_addr from;
    uint16_t port;
    char set[LULL_SET_ID], made[LULL_SET_ID];
    enum lull_trigger_verdict verdict;
};

/* How often something happened in a second. */
struct rate {
    int64_t since_ns;
    uint32_t n;
};

struct lull_spread {
    const struct lull_trigger_config *config;
    const struct lull_peer_keys *keys;
    struct lull_spread_actions actions;
    struct lull_spread_counts *counts;
    struct asked asked[LULL_SPREAD_ASKED];
    struct heard heard[LULL_SPREAD_HEARD];
    uint32_t last_heard;
    struct rate checked;
    struct {
        struct in6_addr from;
        struct rate rate;
    } source[SOURCES];
};

struct lull_spread *lull_spread_new(const struct lull_trigger_config *config,
                                    const struct lull_peer_keys *keys,
                                    const struct lull_spread_actions *actions,
                                    struct lull_spread_counts *counts)
{
    struct lull_spread *spread = g_new0(struct lull_spread, 1);
    spread->config = config;
    spread->keys = keys;
    spread->actions = *actions;
    spread->counts = counts;
    for (uint32_t i = 0; i < LULL_SPREAD_HEARD; i++) {
        spread->heard[i].at_ns = INT64_MIN;
    }
    return spread;
}

void lull_spread_free(struct lull_spread *spread)
{
    g_free(spread);
}

static void send_message(const struct lull_spread *spread, const struct lull_peer_message *message,
                         const struct in6_addr *to, uint16_t port)
{
    uint8_t bytes[LULL_PEER_MOST_BYTES];
    const size_t size = lull_peer_write(message, spread->keys, bytes);
    spread->actions.send(spread->actions.user, to, port, bytes, size);
}

/* ---- asking ---- */

static void send_question(const struct lull_spread *spread, const struct asked *asked,
                          const struct lull_spread_now *now)
{
    const struct lull_spread_question *question = &asked->question;
    struct lull_peer_message message = {
        .kind = LULL_PEER_ASK,
        .sent_ns = now->epoch_ns,
        .nonce = asked->nonce,
        .hops = question->hops,
        .start_age_ns = CLAMP(now->monotonic_ns - question->start_ns, 0, LULL_PEER_MOST_AGE_NS),
        .end_age_ns = CLAMP(now->monotonic_ns - question->end_ns, 0, LULL_PEER_MOST_AGE_NS),
        .n_connections = question->n_connections};
    g_strlcpy(message.set, question->set, sizeof message.set);
    g_strlcpy(message.rule, question->rule, sizeof message.rule);
    memcpy(message.connection, question->connection,
           question->n_connections * sizeof *question->connection);
    send_message(spread, &message, &question->to, spread->config->listen.port);
}

static void end_question(struct lull_spread *spread, struct asked *asked,
                         const struct lull_peer_message *answer)
{
    struct lull_spread_outcome outcome = {.to = asked->question.to,
                                          .verdict = answer ? answer->verdict : LULL_TRIGGER_FAST};
    g_strlcpy(outcome.set, asked->question.set, sizeof outcome.set);
    if (answer) {
        g_strlcpy(outcome.made, answer->made, sizeof outcome.made);
    }
    asked->is_open = false;
    spread->actions.outcome(spread->actions.user, &outcome);
}

bool lull_spread_ask(struct lull_spread *spread, const struct lull_spread_question *question,
                     const struct lull_spread_now *now)
{
    struct asked *asked = spread->asked;
    while (asked < spread->asked + LULL_SPREAD_ASKED && asked->is_open) {
        asked++;
    }
    if (asked == spread->asked + LULL_SPREAD_ASKED) {
        return false;
    }
    *asked = (struct asked){.is_open = true, .first_ns = now->monotonic_ns, .question = *question};
    asked->question.n_connections = MIN(question->n_connections, LULL_PEER_CONNECTIONS);
    if (getrandom(&asked->nonce, sizeof asked->nonce, GRND_NONBLOCK) != sizeof asked->nonce) {
        asked->is_open = false; /* nothing is sent that could be guessed */
        return false;
    }
    lull_spread_run(spread, now);
    return true;
}

/* When it is sent next, or given up. */
static int64_t due_ns(const struct asked *asked)
{
    return asked->first_ns + repeats_ns[asked->n_sent];
}

int64_t lull_spread_run(struct lull_spread *spread, const struct lull_spread_now *now)
{
    int64_t next_ns = INT64_MAX;
    for (uint32_t i = 0; i < LULL_SPREAD_ASKED; i++) {
        struct asked *asked = &spread->asked[i];
        if (asked->is_open && due_ns(asked) <= now->monotonic_ns) {
            if (asked->n_sent + 1 == G_N_ELEMENTS(repeats_ns)) {
                end_question(spread, asked, NULL);
            } else {
                asked->n_sent++;
                send_question(spread, asked, now);
            }
        }
        next_ns = asked->is_open ? MIN(next_ns, due_ns(asked)) : next_ns;
    }
    return next_ns;
}

static void take_answer(struct lull_spread *spread, const struct lull_peer_message *answer)
{
    for (uint32_t i = 0; i < LULL_SPREAD_ASKED; i++) {
        struct asked *asked = &spread->asked[i];
        if (asked->is_open && asked->nonce == answer->nonce &&
            strcmp(asked->question.set, answer->set) == 0) {
            end_question(spread, asked, answer);
            return;
        }
    }
    spread->counts->repeated++;
}

/* ---- being asked ---- */

/* Whether it may happen once more in this second. */
static bool pass(struct rate *rate, uint32_t most, int64_t now_ns)
{
    if (rate->n == 0 || now_ns - rate->since_ns >= LULL_NS_PER_S) {
        *rate = (struct rate){.since_ns = now_ns};
    }
    return rate->n < most && ++rate->n;
}

/* The one that was heard of last makes room. */
static struct rate *rate_of(struct lull_spread *spread, const struct in6_addr *from)
{
    uint32_t oldest = 0;
    for (uint32_t i = 0; i < SOURCES; i++) {
        if (memcmp(&spread->source[i].from, from, sizeof *from) == 0) {
            return &spread->source[i].rate;
        }
        if (spread->source[i].rate.since_ns < spread->source[oldest].rate.since_ns) {
            oldest = i;
        }
    }
    spread->source[oldest].from = *from;
    spread->source[oldest].rate = (struct rate){.n = 0};
    return &spread->source[oldest].rate;
}

static void send_answer(const struct lull_spread *spread, const struct heard *heard,
                        const struct lull_spread_now *now)
{
    struct lull_peer_message message = {.kind = LULL_PEER_ANSWER,
                                        .sent_ns = now->epoch_ns,
                                        .nonce = heard->nonce,
                                        .verdict = (uint8_t)heard->verdict};
    g_strlcpy(message.set, heard->set, sizeof message.set);
    g_strlcpy(message.made, heard->made, sizeof message.made);
    send_message(spread, &message, &heard->from, heard->port);
}

static struct heard *find_heard(struct lull_spread *spread, uint64_t nonce)
{
    for (uint32_t i = 0; i < LULL_SPREAD_HEARD; i++) {
        struct heard *heard = &spread->heard[i];
        if (heard->at_ns != INT64_MIN && heard->nonce == nonce) {
            return heard;
        }
    }
    return NULL;
}

/* Somebody sends us what we have sent: our answer would look like that of who was asked. */
static bool is_ours(const struct lull_spread *spread, uint64_t nonce)
{
    for (uint32_t i = 0; i < LULL_SPREAD_ASKED; i++) {
        if (spread->asked[i].n_sent > 0 && spread->asked[i].nonce == nonce) {
            return true;
        }
    }
    return false;
}

/* Where a new question is remembered; NULL: it must not be heard, for another that could come again would be
 * forgotten. */
static struct heard *place_of(struct lull_spread *spread, const struct in6_addr *from,
                              int64_t now_ns)
{
    const uint32_t next = (spread->last_heard + 1) % LULL_SPREAD_HEARD;
    struct heard *heard = &spread->heard[next];
    if ((heard->at_ns != INT64_MIN && now_ns - heard->at_ns < REMEMBER_NS) ||
        !pass(rate_of(spread, from), MOST_NEW, now_ns)) {
        return NULL;
    }
    spread->last_heard = next;
    return heard;
}

static void take_question(struct lull_spread *spread, const struct in6_addr *from, uint16_t port,
                          const struct lull_peer_message *message,
                          const struct lull_spread_now *now)
{
    struct heard *heard = find_heard(spread, message->nonce);
    if (is_ours(spread, message->nonce)) {
        spread->counts->forged++;
        return;
    }
    if (heard) {
        spread->counts->repeated++;
        if (heard->is_answered) {
            send_answer(spread, heard, now);
        }
        return;
    }
    heard = place_of(spread, from, now->monotonic_ns);
    if (!heard) {
        spread->counts->limited++;
        return;
    }
    *heard = (struct heard){
        .nonce = message->nonce, .at_ns = now->monotonic_ns, .from = *from, .port = port};
    g_strlcpy(heard->set, message->set, sizeof heard->set);
    struct lull_spread_question question = {
        .to = *from,
        .start_ns = now->monotonic_ns - message->start_age_ns,
        .end_ns = now->monotonic_ns - message->end_age_ns,
        .hops = message->hops,
        .n_connections = message->n_connections,
    };
    g_strlcpy(question.set, message->set, sizeof question.set);
    g_strlcpy(question.rule, message->rule, sizeof question.rule);
    memcpy(question.connection, message->connection,
           message->n_connections * sizeof *message->connection);
    spread->actions.asked(spread->actions.user, spread->last_heard, &question);
}

void lull_spread_answer(struct lull_spread *spread, uint32_t number,
                        enum lull_trigger_verdict verdict, const char *made,
                        const struct lull_spread_now *now)
{
    struct heard *heard = number < LULL_SPREAD_HEARD ? &spread->heard[number] : NULL;
    if (heard && heard->at_ns != INT64_MIN && !heard->is_answered) {
        heard->is_answered = true;
        heard->verdict = verdict;
        g_strlcpy(heard->made, made, sizeof heard->made);
        send_answer(spread, heard, now);
    }
}

/* ---- what comes ---- */

void lull_spread_take(struct lull_spread *spread, const struct in6_addr *from, uint16_t port,
                      const uint8_t *bytes, size_t size, const struct lull_spread_now *now)
{
    struct lull_peer_message message;
    if (!lull_trigger_is_peer(spread->config, from)) {
        spread->counts->damaged++;
        return;
    }
    if (!pass(&spread->checked, MOST_CHECKED, now->monotonic_ns)) {
        spread->counts->limited++;
        return;
    }
    switch (lull_peer_read(bytes, size, spread->keys, now->epoch_ns, &message)) {
    case LULL_PEER_DAMAGED:
        spread->counts->damaged++;
        break;
    case LULL_PEER_FORGED:
        spread->counts->forged++;
        break;
    case LULL_PEER_CLOCK:
        spread->counts->clock++;
        break;
    case LULL_PEER_SOUND:
        if (message.kind == LULL_PEER_ASK) {
            take_question(spread, from, port, &message, now);
        } else {
            take_answer(spread, &message);
        }
        break;
    }
}
