/* SPDX-License-Identifier: MIT */
/* The process that listens, from its first to its last moment. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/time.h"
#include "server/http.h"
#include "trigger/http.h"
#include "trigger/peer_socket.h"
#include "trigger/process.h"
#include "trigger/set_server.h"
#include "trigger/speaker_private.h"

/* As many may wait for an answer; who comes later is refused. */
#define CLIENTS 64
/* An answer that was lost on its way from the daemon does not come any more. */
#define FORGET_NS (60 * LULL_NS_PER_S)
#define MOST_WAIT_NS (60 * LULL_NS_PER_S)

struct client {
    uint32_t number; /* 0: free */
    int64_t since_ns;
    pid_t pid;    /* 0: not known */
    bool is_root; /* takes the place of one that is not, who gets no answer then */
    struct sockaddr_un address;
    socklen_t size;
};

struct listener {
    const struct lull_trigger_config *config;
    struct lull_trigger_config *offered; /* was read, and does not hold yet; or NULL */
    struct lull_trigger_counts *counts;
    int socket, hook;           /* the daemon, servers */
    int peers, collectors;      /* other machines: datagrams and connections */
    struct lull_spread *spread; /* NULL: there are none */
    struct lull_set_server *sets;
    struct client client[CLIENTS];
    uint32_t last_client;
    struct server_http *http;
    struct lull_trigger_http reports; /* over HTTP */
};

/* ---- rights ---- */

static int become(uid_t uid, gid_t gid)
{
    lull_process_ignore_signals();
    const bool is_done =
        (geteuid() != 0 || (setgroups(0, NULL) == 0 && setresgid(gid, gid, gid) == 0 &&
                            setresuid(uid, uid, uid) == 0)) &&
        lull_process_keep_rights(NULL, 0);
    return is_done ? 0 : errno;
}

/* ---- counts ---- */

static void count(uint64_t *word)
{
    __atomic_fetch_add(word, 1, __ATOMIC_RELAXED);
}

/* For threads of the HTTP library's. */
static const struct lull_trigger_config *config_of(const struct listener *listener)
{
    return __atomic_load_n(&listener->config, __ATOMIC_ACQUIRE);
}

/* Called in threads of the HTTP library's. */
static void answer_http(void *user, const struct server_request *request,
                        struct server_answer *answer)
{
    const struct listener *listener = user;
    g_autofree struct lull_trigger_counts *counts = g_new(struct lull_trigger_counts, 1);
    const bool is_report = lull_trigger_http_has(request->path);
    if (!is_report &&
        (strcmp(request->path, "metrics") != 0 || strcmp(request->method, "GET") != 0)) {
        server_refuse(answer, 404, "Not found", "try GET /metrics, or what starts with /v1");
        return;
    }
    if (!lull_trigger_counts_copy(listener->counts, counts)) {
        server_refuse(answer, 503, "Not now", "the daemon changes its counts all the time");
        return;
    }
    if (is_report) {
        lull_trigger_http_answer(&listener->reports, counts, request, answer);
        return;
    }
    answer->type = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    lull_trigger_metrics(answer->body, config_of(listener), counts);
}

/* ---- hooks ---- */

static void send_answer(const struct listener *listener, const struct client *client,
                        const char *text)
{
    (void)!sendto(listener->hook, text, strlen(text), MSG_DONTWAIT | MSG_NOSIGNAL,
                  (const struct sockaddr *)&client->address, client->size);
}

/* Who has no address does not. */
static bool waits(const struct client *client)
{
    return client->size > sizeof(sa_family_t);
}

/* The number of one that waits; 0: it does not, or too many do. */
static uint32_t remember(struct listener *listener, const struct client *client)
{
    struct client *slot = &listener->client[(listener->last_client + 1) % CLIENTS];
    const int64_t now_ns = g_get_monotonic_time() * 1000;
    const bool is_taken = slot->number != 0 && now_ns - slot->since_ns < FORGET_NS &&
                          (slot->is_root || !client->is_root);
    if (!waits(client) || is_taken) {
        return 0;
    }
    *slot = *client;
    slot->since_ns = now_ns;
    slot->number = ++listener->last_client;
    if (slot->number == 0) {
        slot->number = listener->last_client = CLIENTS;
    }
    return slot->number;
}

static void forget(struct listener *listener, uint32_t number)
{
    struct client *client = &listener->client[number % CLIENTS];
    if (number > 0 && client->number == number) {
        client->number = 0;
    }
}

/* Notes the first rule, of that name or any (NULL), that the request is too slow for. False if there is none. */
static bool find_rule(const struct lull_trigger_config *config, const char *name,
                      struct lull_speaker_report *report)
{
    const struct lull_hook *hook = &report->hook;
    for (guint i = 0; i < config->rules->len; i++) {
        const struct lull_trigger_rule *rule = config->rules->pdata[i];
        if (!rule->when && hook->delay_ns > rule->slower_ns &&
            (!name || strcmp(name, rule->name) == 0) &&
            (!rule->id || g_pattern_spec_match_string(rule->id, hook->id))) {
            g_strlcpy(report->rule, rule->name, sizeof report->rule);
            return true;
        }
    }
    return false;
}

static bool pass_on(const struct listener *listener, const struct lull_speaker_report *report)
{
    return lull_message_send(listener->socket, report, sizeof *report, -1);
}

static bool has_rule(const struct lull_trigger_config *config, const char *name)
{
    for (guint i = 0; i < config->rules->len; i++) {
        const struct lull_trigger_rule *rule = config->rules->pdata[i];
        if (!rule->when && strcmp(rule->name, name) == 0) {
            return true;
        }
    }
    return false;
}

/* Called in threads of the HTTP library's. */
static enum lull_http_report report_over_http(void *user, const struct lull_hook *hook,
                                              const char *rule, uint64_t socket)
{
    const struct listener *listener = user;
    const struct lull_trigger_config *config = config_of(listener);
    struct lull_speaker_report report = {
        .kind = LULL_SPEAKER_SLOW, .sender = {.socket = socket, .is_http = true}, .hook = *hook};
    if (rule && !has_rule(config, rule)) {
        return LULL_HTTP_NO_RULE;
    }
    count(&listener->counts->hooks);
    if (!find_rule(config, rule, &report)) {
        return LULL_HTTP_FAST;
    }
    if (!pass_on(listener, &report)) {
        count(&listener->counts->dropped_hooks);
        return LULL_HTTP_BUSY;
    }
    return LULL_HTTP_PASSED_ON;
}

static void take_hook(struct listener *listener, const char *text, size_t size,
                      const struct client *client)
{
    struct lull_speaker_report report = {.kind = LULL_SPEAKER_SLOW, .sender = {.pid = client->pid}};
    if (!lull_hook_parse(text, size, &report.hook)) {
        count(&listener->counts->damaged_hooks);
        send_answer(listener, client, "damaged");
        return;
    }
    count(&listener->counts->hooks);
    if (!find_rule(listener->config, NULL, &report)) {
        send_answer(listener, client, lull_trigger_verdicts[LULL_TRIGGER_FAST]);
        return;
    }
    report.number = remember(listener, client);
    const bool has_room = report.number > 0 || !waits(client);
    if (!has_room || !pass_on(listener, &report)) {
        count(&listener->counts->dropped_hooks);
        send_answer(listener, client, lull_trigger_verdicts[LULL_TRIGGER_LIMITED]);
        forget(listener, report.number);
    }
}

/* What somebody says, and who that is. Its size; -1: there is nothing. */
static ssize_t receive(int socket, char *text, size_t size, struct client *client)
{
    union {
        struct cmsghdr header; /* aligns */
        char bytes[CMSG_SPACE(sizeof(struct ucred))];
    } control;
    struct iovec part = {.iov_base = text, .iov_len = size};
    struct msghdr message = {.msg_name = &client->address,
                             .msg_namelen = sizeof client->address,
                             .msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof control};
    const ssize_t n = recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    const struct cmsghdr *header = n >= 0 ? CMSG_FIRSTHDR(&message) : NULL;
    client->size = message.msg_namelen;
    if (header && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_CREDENTIALS) {
        struct ucred who;
        memcpy(&who, CMSG_DATA(header), sizeof who);
        client->pid = who.pid;
        client->is_root = who.uid == 0;
    }
    return n;
}

static void take_hooks(struct listener *listener)
{
    char text[LULL_HOOK_MOST_BYTES + 1];
    for (unsigned i = 0; i < 256; i++) {
        struct client client = {.number = 0};
        const ssize_t n = receive(listener->hook, text, sizeof text, &client);
        if (n < 0) {
            return;
        }
        take_hook(listener, text, (size_t)n, &client);
    }
}

/* ---- other machines ---- */

static struct lull_spread_now now(void)
{
    return (struct lull_spread_now){.monotonic_ns = g_get_monotonic_time() * 1000,
                                    .epoch_ns = g_get_real_time() * 1000};
}

static void send_datagram(void *user, const struct in6_addr *to, uint16_t port,
                          const uint8_t *bytes, size_t size)
{
    const struct listener *listener = user;
    lull_peer_socket_send(listener->peers, to, port, bytes, size);
}

static void was_asked(void *user, uint32_t number, const struct lull_spread_question *question)
{
    const struct listener *listener = user;
    const struct lull_speaker_report report = {
        .kind = LULL_SPEAKER_ASKED, .number = number, .question = *question};
    if (!pass_on(listener, &report)) {
        count(&listener->counts->datagrams.limited);
    }
}

static void has_outcome(void *user, const struct lull_spread_outcome *outcome)
{
    const struct lull_speaker_report report = {.kind = LULL_SPEAKER_OUTCOME, .outcome = *outcome};
    pass_on(user, &report);
}

static void take_datagrams(struct listener *listener)
{
    uint8_t bytes[LULL_PEER_MOST_BYTES + 1];
    struct in6_addr from;
    uint16_t port;
    int64_t waited_ns;
    for (unsigned i = 0; i < 256; i++) {
        const ssize_t n = lull_peer_socket_receive(listener->peers, &from, &port, bytes,
                                                   sizeof bytes, &waited_ns);
        if (n < 0) {
            return;
        }
        struct lull_spread_now at = now();
        at.monotonic_ns -= waited_ns;
        at.epoch_ns -= waited_ns;
        lull_spread_take(listener->spread, &from, port, bytes, MIN((size_t)n, sizeof bytes), &at);
    }
}

/* Called in threads of the server of sets. */
static void fetch(void *user, const char *set, int out)
{
    const struct listener *listener = user;
    struct lull_speaker_report report = {.kind = LULL_SPEAKER_FETCH};
    g_strlcpy(report.set, set, sizeof report.set);
    lull_message_send(listener->socket, &report, sizeof report, out);
}

/* Nanoseconds until something has to be sent again, or there may be other work. */
static int64_t run_spread(struct listener *listener)
{
    const struct lull_spread_now at = now();
    const int64_t next_ns = listener->spread ? lull_spread_run(listener->spread, &at) : INT64_MAX;
    return CLAMP(next_ns, at.monotonic_ns, at.monotonic_ns + MOST_WAIT_NS) - at.monotonic_ns;
}

/* ---- serving ---- */

static void reply(struct listener *listener, uint32_t number, const char *text)
{
    const struct client *client = &listener->client[number % CLIENTS];
    if (number > 0 && client->number == number) {
        send_answer(listener, client, text);
        forget(listener, number);
    }
}

static void read_rules(struct listener *listener, uint32_t number, int fd)
{
    lull_trigger_config_free(listener->offered);
    listener->offered = lull_trigger_config_receive(fd);
    const struct lull_speaker_report report = {
        .kind = LULL_SPEAKER_READ, .number = number, .is_read = listener->offered != NULL};
    pass_on(listener, &report);
}

/* What was so far stays: scrapers and other machines are answered in threads of their own. */
static void take_rules(struct listener *listener)
{
    if (listener->offered) {
        __atomic_store_n(&listener->config, listener->offered, __ATOMIC_RELEASE);
        listener->offered = NULL;
    }
}

/* False if the daemon has gone. */
static bool take_order(struct listener *listener)
{
    struct lull_speaker_order order;
    int fd;
    const ssize_t n = lull_message_receive(listener->socket, &order, sizeof order, &fd);
    if (n != sizeof order) {
        return n < 0 && (errno == EAGAIN || errno == EINTR);
    }
    const struct lull_spread_now at = now();
    switch (order.kind) {
    case LULL_SPEAKER_REPLY:
        reply(listener, order.number, order.text);
        break;
    case LULL_SPEAKER_REPLY_MACHINE:
        lull_spread_answer(listener->spread, order.number, order.verdict, order.made, &at);
        break;
    case LULL_SPEAKER_OFFER:
        read_rules(listener, order.number, fd);
        break;
    case LULL_SPEAKER_RULES:
        take_rules(listener);
        break;
    case LULL_SPEAKER_ASK:
        if (!lull_spread_ask(listener->spread, &order.question, &at)) {
            struct lull_spread_outcome outcome = {.to = order.question.to,
                                                  .verdict = LULL_TRIGGER_FAST};
            g_strlcpy(outcome.set, order.question.set, sizeof outcome.set);
            has_outcome(listener, &outcome);
        }
        break;
    }
    if (fd >= 0) {
        close(fd);
    }
    return true;
}

static bool say_hello(const struct listener *listener, const char *why)
{
    struct lull_speaker_hello hello = {""};
    g_strlcpy(hello.why, why, sizeof hello.why);
    return send(listener->socket, &hello, sizeof hello, MSG_NOSIGNAL) == sizeof hello && !*why;
}

static void serve(struct listener *listener)
{
    struct pollfd ready[] = {{.fd = listener->socket, .events = POLLIN},
                             {.fd = listener->hook, .events = POLLIN},
                             {.fd = listener->peers, .events = POLLIN},
                             {.fd = listener->collectors, .events = POLLIN}};
    for (;;) {
        const int64_t wait_ns = run_spread(listener);
        const struct timespec wait = {wait_ns / LULL_NS_PER_S, wait_ns % LULL_NS_PER_S};
        if (ppoll(ready, G_N_ELEMENTS(ready), &wait, NULL) < 0) {
            continue;
        }
        if (ready[0].revents && !take_order(listener)) {
            return;
        }
        if (ready[1].revents) {
            take_hooks(listener);
        }
        if (ready[2].revents) {
            take_datagrams(listener);
        }
        if (ready[3].revents) {
            lull_set_server_accept(listener->sets);
        }
    }
}

void lull_speaker_serve(const struct lull_speaker_sockets *sockets,
                        const struct lull_trigger_config *config, const struct lull_peer_keys *keys,
                        const struct lull_peer_keys *tokens, struct lull_trigger_counts *counts,
                        uid_t uid, gid_t gid)
{
    static struct listener listener;
    g_autoptr(GError) error = NULL;
    listener = (struct listener){.config = config,
                                 .counts = counts,
                                 .socket = sockets->daemon,
                                 .hook = sockets->hook,
                                 .peers = sockets->peers,
                                 .collectors = sockets->collectors,
                                 .reports = {*tokens, report_over_http, &listener}};
    lull_process_keep_only(
        (int *[]){&listener.socket, &listener.hook, &listener.peers, &listener.collectors}, 4);
    const struct lull_spread_actions actions = {send_datagram, was_asked, has_outcome, &listener};
    if (listener.peers >= 0) {
        const struct lull_set_question question = {config, keys, listener.collectors, fetch,
                                                   &listener};
        listener.spread = lull_spread_new(config, keys, &actions, &counts->datagrams);
        listener.sets = lull_set_server_new(&question);
    }
    const struct server_settings settings = {
        .port = (uint16_t)config->metrics_port, .answer = answer_http, .user = &listener};
    const int why = become(uid, gid);
    if (why == 0 && config->metrics_port > 0) {
        listener.http = server_http_new(&settings, &error);
    }
    if (say_hello(&listener, why ? g_strerror(why) : error ? error->message : "")) {
        serve(&listener);
    }
    if (listener.http) {
        server_http_free(listener.http);
    }
    lull_spread_free(listener.spread);
}
