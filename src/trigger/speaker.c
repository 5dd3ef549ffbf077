/* SPDX-License-Identifier: MIT */
/* The daemon's side of the process that listens. */
#include "trigger/speaker.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/tree.h"
#include "trigger/peer_socket.h"
#include "trigger/speaker_private.h"

/* As long as it may read rules, and as many reports as are kept meanwhile; others are lost, as when it is too busy. */
#define READ_MS 2000
#define MOST_WAITING 1024

static bool fail(GError **error, const char *what, const char *why)
{
    g_set_error(error, LULL_ERROR, LULL_ERROR_IO, "%s: %s", what, why);
    return false;
}

static void close_socket(int fd)
{
    if (fd >= 0) {
        close(fd);
    }
}

/* ---- the socket of servers ---- */

/* Who could replace the socket could make us change the rights of another file, and hear what servers say. */
static bool is_ours(const char *directory, GError **error)
{
    return lull_tree_path_is_beyond_others(directory) ||
           fail(error, directory,
                "another user could replace the socket there, since it or a directory above it is "
                "theirs; choose one for “hook” such as /run/lull");
}

/* Somebody who listens there is not disturbed; a socket that a killed daemon left is removed. */
static bool is_free(const struct sockaddr_un *address, GError **error)
{
    struct stat st;
    if (lstat(address->sun_path, &st) != 0) {
        return true;
    }
    const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    const bool is_used = !S_ISSOCK(st.st_mode) || fd < 0 ||
                         connect(fd, (const struct sockaddr *)address, sizeof *address) == 0 ||
                         errno != ECONNREFUSED;
    if (fd >= 0) {
        close(fd);
    }
    if (is_used) {
        return fail(error, address->sun_path, "something is there; another daemon may run");
    }
    return unlink(address->sun_path) == 0 || fail(error, address->sun_path, g_strerror(errno));
}

static bool find_group(const struct lull_trigger_config *config, gid_t *gid, GError **error)
{
    const struct group *group = config->hook_group ? getgrnam(config->hook_group) : NULL;
    *gid = group ? group->gr_gid : getegid();
    return group || !config->hook_group ||
           fail(error, config->hook_group, "there is no such group");
}

/* Its descriptor; -1 and an error. */
static int open_hook(const struct lull_trigger_config *config, GError **error)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    gid_t gid;
    g_autofree char *dir = g_path_get_dirname(config->hook);
    if (g_strlcpy(address.sun_path, config->hook, sizeof address.sun_path) >=
        sizeof address.sun_path) {
        fail(error, config->hook, "the path is too long for a socket");
        return -1;
    }
    if (!find_group(config, &gid, error)) {
        return -1;
    }
    if (g_mkdir_with_parents(dir, 0755) != 0) {
        fail(error, dir, g_strerror(errno));
        return -1;
    }
    if (!is_ours(dir, error) || !is_free(&address, error)) {
        return -1;
    }
    const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    const mode_t before = umask(0177);
    const bool is_bound =
        fd >= 0 && bind(fd, (const struct sockaddr *)&address, sizeof address) == 0;
    umask(before);
    const int yes = 1; /* who sends is said with what is sent */
    if (is_bound && setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &yes, sizeof yes) == 0 &&
        (!config->hook_group ||
         (lchown(config->hook, (uid_t)-1, gid) == 0 && chmod(config->hook, 0660) == 0))) {
        return fd;
    }
    fail(error, config->hook, g_strerror(errno));
    if (fd >= 0) {
        close(fd);
    }
    return -1;
}

/* ---- the process ---- */

static bool find_user(const struct lull_trigger_config *config, uid_t *uid, gid_t *gid,
                      GError **error)
{
    const struct passwd *user = geteuid() == 0 ? getpwnam(config->user) : NULL;
    *uid = user ? user->pw_uid : geteuid();
    *gid = user ? user->pw_gid : getegid();
    if (geteuid() != 0 || (user && user->pw_uid != 0)) {
        return true;
    }
    return fail(error, config->user,
                user ? "the process that listens must not be root" : "there is no such user");
}

static bool receive_hello(int fd, GError **error)
{
    struct lull_speaker_hello hello;
    ssize_t n;
    while ((n = recv(fd, &hello, sizeof hello, 0)) < 0 && errno == EINTR) {
    }
    if (n != sizeof hello) {
        return fail(error, "the process that listens", "it has ended");
    }
    hello.why[sizeof hello.why - 1] = '\0';
    if (!hello.why[0]) {
        return true;
    }
    g_set_error_literal(error, LULL_ERROR, LULL_ERROR_IO, hello.why);
    return false;
}

static bool start_process(struct lull_speaker *speaker, const struct lull_trigger_config *config,
                          const struct lull_peer_keys *keys, const struct lull_peer_keys *tokens,
                          struct lull_speaker_sockets *given, GError **error)
{
    int sockets[2];
    uid_t uid;
    gid_t gid;
    if (!find_user(config, &uid, &gid, error)) {
        return false;
    }
    speaker->counts = mmap(NULL, sizeof *speaker->counts, PROT_READ | PROT_WRITE,
                           MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (speaker->counts == MAP_FAILED ||
        socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) != 0) {
        return fail(error, "the process that listens", g_strerror(errno));
    }
    speaker->pid = fork();
    if (speaker->pid == 0) {
        close(sockets[0]);
        given->daemon = sockets[1];
        lull_speaker_serve(given, config, keys, tokens, speaker->counts, uid, gid);
        _exit(0);
    }
    close(sockets[1]);
    speaker->socket = sockets[0];
    return speaker->pid > 0 ? receive_hello(speaker->socket, error)
                            : fail(error, "the process that listens", g_strerror(errno));
}

bool lull_speaker_start(struct lull_speaker *speaker, const struct lull_trigger_config *config,
                        GError **error)
{
    *speaker = (struct lull_speaker){
        .pid = -1, .socket = -1, .counts = MAP_FAILED, .waiting = G_QUEUE_INIT};
    struct lull_peer_keys keys = {.n = 0}, tokens = {.n = 0};
    struct lull_speaker_sockets given = {-1, -1, -1, -1};
    const bool has_token = !config->token || lull_peer_keys_read(config->token, &tokens, error);
    const bool has_peers =
        has_token &&
        (!config->key || (lull_peer_keys_read(config->key, &keys, error) &&
                          (given.peers = lull_peer_socket_open(config, error)) >= 0 &&
                          (given.collectors = lull_peer_socket_listen(config, error)) >= 0));
    const bool has_hook =
        has_peers && (!config->hook || (given.hook = open_hook(config, error)) >= 0);
    const bool done = has_hook && start_process(speaker, config, &keys, &tokens, &given, error);
    close_socket(given.hook);
    close_socket(given.peers);
    close_socket(given.collectors);
    explicit_bzero(&keys, sizeof keys); /* the daemon does not need them */
    explicit_bzero(&tokens, sizeof tokens);
    if (!done && given.hook >= 0) {
        unlink(config->hook);
    }
    return done;
}

void lull_speaker_clear(struct lull_speaker *speaker, const struct lull_trigger_config *config)
{
    if (speaker->socket >= 0) {
        close(speaker->socket);
        speaker->socket = -1;
        if (config->hook) {
            unlink(config->hook);
        }
    }
    struct lull_speaker_report *report;
    while ((report = g_queue_pop_head(&speaker->waiting))) {
        close_socket(report->fd);
        g_free(report);
    }
    if (speaker->pid > 0) {
        while (waitpid(speaker->pid, NULL, 0) < 0 && errno == EINTR) {
        }
        speaker->pid = -1;
    }
    if (speaker->counts != MAP_FAILED) {
        munmap(speaker->counts, sizeof *speaker->counts);
        speaker->counts = MAP_FAILED;
    }
}

bool lull_speaker_check(struct lull_speaker *speaker, GError **error)
{
    if (waitpid(speaker->pid, NULL, WNOHANG) != speaker->pid) {
        return true;
    }
    speaker->pid = -1;
    return fail(error, "the process that listens", "it has ended; start the daemon again");
}

/* ---- messages ---- */

static bool is_slow(const struct lull_speaker_report *report,
                    const struct lull_trigger_config *config)
{
    const struct lull_hook *hook = &report->hook;
    if (!memchr(report->rule, '\0', sizeof report->rule) ||
        !memchr(hook->id, '\0', sizeof hook->id)) {
        return false;
    }
    const uint32_t number = lull_trigger_config_rule(config, report->rule);
    if (number >= config->rules->len) {
        return false;
    }
    const struct lull_trigger_rule *rule = config->rules->pdata[number];
    return !rule->when && hook->delay_ns > rule->slower_ns && hook->end_ns >= hook->delay_ns &&
           report->sender.pid >= 0 && hook->pid >= 0 && hook->tid >= 0 &&
           hook->n_up <= LULL_HOOK_UP;
}

static bool is_set(const char set[static LULL_SET_ID])
{
    return memchr(set, '\0', LULL_SET_ID) && lull_sets_is_name(set);
}

static bool is_question(const struct lull_spread_question *question)
{
    const int64_t now_ns = g_get_monotonic_time() * 1000;
    return is_set(question->set) && memchr(question->rule, '\0', sizeof question->rule) &&
           lull_trigger_is_name(question->rule) && question->hops <= LULL_PEER_HOPS &&
           question->n_connections <= LULL_PEER_CONNECTIONS &&
           question->start_ns <= question->end_ns && question->end_ns <= now_ns &&
           question->start_ns >= now_ns - 2 * LULL_PEER_MOST_AGE_NS;
}

static bool is_outcome(const struct lull_spread_outcome *outcome)
{
    return is_set(outcome->set) && outcome->verdict < LULL_TRIGGER_VERDICTS &&
           (!outcome->made[0] || is_set(outcome->made));
}

/* What a process without rights says is checked as if anybody had said it. */
static bool is_sound(const struct lull_speaker_report *report,
                     const struct lull_trigger_config *config)
{
    switch (report->kind) {
    case LULL_SPEAKER_SLOW:
        return is_slow(report, config);
    case LULL_SPEAKER_ASKED:
        return config->key && is_question(&report->question);
    case LULL_SPEAKER_OUTCOME:
        return config->key && is_outcome(&report->outcome);
    case LULL_SPEAKER_FETCH:
        return config->key && is_set(report->set) && report->fd >= 0;
    default:
        return false;
    }
}

/* The size of the next message, as lull_message_receive(). */
static ssize_t next_message(struct lull_speaker *speaker, struct lull_speaker_report *report)
{
    struct lull_speaker_report *kept = g_queue_pop_head(&speaker->waiting);
    if (!kept) {
        return lull_message_receive(speaker->socket, report, sizeof *report, &report->fd);
    }
    *report = *kept;
    g_free(kept);
    return sizeof *report;
}

bool lull_speaker_take(struct lull_speaker *speaker, const struct lull_trigger_config *config,
                       struct lull_speaker_report *report)
{
    ssize_t n;
    while ((n = next_message(speaker, report)) > 0 || (n < 0 && errno == EINTR)) {
        const bool is_taken = n == sizeof *report && is_sound(report, config);
        if (n > 0 && !(is_taken && report->kind == LULL_SPEAKER_FETCH)) {
            close_socket(report->fd); /* only that one needs it */
            report->fd = -1;
        }
        if (is_taken) {
            return true;
        }
    }
    return false;
}

/* A process that hangs does not hold up the daemon. */
static void give(const struct lull_speaker *speaker, const struct lull_speaker_order *order)
{
    lull_message_send(speaker->socket, order, sizeof *order, -1);
}

void lull_speaker_answer(const struct lull_speaker *speaker,
                         const struct lull_speaker_report *report, const char *text)
{
    struct lull_speaker_order order = {.kind = LULL_SPEAKER_REPLY, .number = report->number};
    if (report->number > 0) {
        g_strlcpy(order.text, text, sizeof order.text);
        give(speaker, &order);
    }
}

void lull_speaker_answer_machine(const struct lull_speaker *speaker, uint32_t number,
                                 enum lull_trigger_verdict verdict, const char *made)
{
    struct lull_speaker_order order = {
        .kind = LULL_SPEAKER_REPLY_MACHINE, .number = number, .verdict = verdict};
    g_strlcpy(order.made, made, sizeof order.made);
    give(speaker, &order);
}

void lull_speaker_ask(const struct lull_speaker *speaker,
                      const struct lull_spread_question *question)
{
    const struct lull_speaker_order order = {.kind = LULL_SPEAKER_ASK, .question = *question};
    give(speaker, &order);
}

static void keep(struct lull_speaker *speaker, const struct lull_speaker_report *report)
{
    if (speaker->waiting.length < MOST_WAITING) {
        g_queue_push_tail(&speaker->waiting, g_memdup2(report, sizeof *report));
    } else {
        close_socket(report->fd);
    }
}

/* Whether it has read what it was offered last. */
static bool has_read(struct lull_speaker *speaker)
{
    const int64_t end_ms = g_get_monotonic_time() / 1000 + READ_MS;
    struct pollfd ready = {.fd = speaker->socket, .events = POLLIN};
    struct lull_speaker_report report;
    for (;;) {
        const int64_t left_ms = end_ms - g_get_monotonic_time() / 1000;
        if (left_ms <= 0 || poll(&ready, 1, (int)left_ms) == 0) {
            return false;
        }
        const ssize_t n = lull_message_receive(speaker->socket, &report, sizeof report, &report.fd);
        if (n == sizeof report && report.kind == LULL_SPEAKER_READ) {
            close_socket(report.fd);
            if (report.number == speaker->offered) {
                return report.is_read;
            }
        } else if (n == sizeof report) {
            keep(speaker, &report);
        } else if (n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN)) {
            return false;
        } else {
            close_socket(report.fd);
        }
    }
}

bool lull_speaker_offer_rules(struct lull_speaker *speaker, int text, GError **error)
{
    const struct lull_speaker_order order = {.kind = LULL_SPEAKER_OFFER,
                                             .number = ++speaker->offered};
    return (lull_message_send(speaker->socket, &order, sizeof order, text) && has_read(speaker)) ||
           fail(error, "the process that listens", "it cannot read the configuration; try again");
}

bool lull_speaker_set_rules(const struct lull_speaker *speaker, GError **error)
{
    const struct lull_speaker_order order = {.kind = LULL_SPEAKER_RULES};
    return lull_message_send(speaker->socket, &order, sizeof order, -1) ||
           fail(error, "the process that listens", "it is too busy for other rules; try again");
}
