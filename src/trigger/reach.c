/* SPDX-License-Identifier: MIT */
/* A machine is asked once, with all connections to it that fit into a datagram. */
#include "trigger/reach.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/tree.h"
#include "trigger/peer_socket.h"

/* The question for the machine; made if it is not there yet. */
static struct lull_spread_question *
question_for(GArray *questions, const struct lull_spread_question *about, const struct in6_addr *to)
{
    for (guint i = 0; i < questions->len; i++) {
        struct lull_spread_question *question =
            &g_array_index(questions, struct lull_spread_question, i);
        if (IN6_ARE_ADDR_EQUAL(&question->to, to)) {
            return question;
        }
    }
    if (questions->len == LULL_SPREAD_ASKED) {
        return NULL;
    }
    struct lull_spread_question question = *about;
    question.to = *to;
    question.hops = about->hops - 1;
    question.n_connections = 0;
    g_array_append_val(questions, question);
    return &g_array_index(questions, struct lull_spread_question, questions->len - 1);
}

static void add(GArray *questions, const struct lull_spread_question *about,
                const struct lull_peer_connection *here)
{
    struct lull_spread_question *question = question_for(questions, about, &here->remote);
    if (question && question->n_connections < LULL_PEER_CONNECTIONS) {
        question->connection[question->n_connections++] =
            (struct lull_peer_connection){.local = here->remote,
                                          .remote = here->local,
                                          .local_port = here->remote_port,
                                          .remote_port = here->local_port};
    }
}

/* Who served a part of the request by what a server says, over connections that are not known. */
static void add_named(GArray *questions, const struct lull_reach *how,
                      const struct lull_spread_question *about, const struct lull_hook *hook)
{
    for (uint32_t i = 0; i < hook->n_up; i++) {
        if (lull_trigger_is_peer(how->config, &hook->up[i].address) &&
            !lull_touched_is_here(&hook->up[i].address)) {
            question_for(questions, about, &hook->up[i].address);
        }
    }
}

struct asking {
    const struct lull_reach *how;
    const struct lull_spread_question *about;
    const struct lull_hook *hook;
    GArray *questions;
    guint n_asked; /* of them */
};

static void ask(void *user, const GArray *found)
{
    struct asking *asking = user;
    const struct lull_reach *how = asking->how;
    for (guint i = 0; i < found->len; i++) {
        const struct lull_peer_connection *connection =
            &g_array_index(found, struct lull_peer_connection, i);
        if (lull_trigger_is_peer(how->config, &connection->remote) &&
            !IN6_ARE_ADDR_EQUAL(&connection->remote, &asking->about->to)) {
            add(asking->questions, asking->about, connection);
        }
    }
    if (asking->hook) {
        add_named(asking->questions, how, asking->about, asking->hook);
    }
    for (; asking->n_asked < asking->questions->len; asking->n_asked++) {
        lull_speaker_ask(
            how->speaker,
            &g_array_index(asking->questions, struct lull_spread_question, asking->n_asked));
    }
}

bool lull_reach_ask(const struct lull_reach *how, const struct lull_spread_question *about,
                    int64_t pid, const struct lull_hook *hook, bool *is_known, GError **error)
{
    g_autoptr(GArray) found = g_array_new(FALSE, FALSE, sizeof(struct lull_peer_connection));
    g_autoptr(GArray) questions = g_array_new(FALSE, FALSE, sizeof(struct lull_spread_question));
    struct asking asking = {how, about, hook, questions, 0};
    const struct lull_touched_question question = {.pid = pid,
                                                   .connection = about->connection,
                                                   .n_connections = about->n_connections,
                                                   .start_ns = about->start_ns,
                                                   .end_ns = about->end_ns,
                                                   .talks = how->talks,
                                                   .early = ask,
                                                   .user = &asking};
    *is_known = true;
    if (about->hops == 0) {
        return true;
    }
    const bool done = lull_touched_find(how->sockets, &question, found, is_known, error);
    ask(&asking, found);
    return done;
}

void lull_reach_note(const struct lull_trigger_config *config,
                     const struct lull_spread_outcome *outcome)
{
    g_autofree char *address = lull_peer_address_text(&outcome->to);
    g_autofree char *line =
        g_strdup_printf("%s %s%s%s\n", address, lull_trigger_answers[outcome->verdict],
                        *outcome->made ? " " : "", outcome->made);
    const int dir = open(config->snapshots, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const int set = dir >= 0 ? lull_tree_open(dir, outcome->set) : -1;
    const int fd = set >= 0 ? openat(set, LULL_REACH_NOTES,
                                     O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600)
                            : -1;
    if (fd >= 0) {
        (void)!write(fd, line, strlen(line));
        close(fd);
    }
    if (set >= 0) {
        close(set);
    }
    if (dir >= 0) {
        close(dir);
    }
}
