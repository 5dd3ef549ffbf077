/* SPDX-License-Identifier: MIT */
/* Both ends of the process that starts commands. It ends when the daemon has gone. */
#include "trigger/executor.h"

#include <errno.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <lull/error.h>

#include "base/capability.h"
#include "trigger/message.h"
#include "trigger/process.h"

#define WHO "the process that runs commands"
/* As long as it may read rules. */
#define READ_MS 2000
/* A message without a rule's name has other rules, to be read, if it has this time. */
#define OFFER 1

/* To become the user of a command, and to end it. */
static const uint8_t rights[] = {CAP_SETUID, CAP_SETGID, CAP_KILL};

static bool fail(GError **error, const char *why)
{
    g_set_error(error, LULL_ERROR, LULL_ERROR_IO, WHO ": %s", why);
    return false;
}

/* ---- the process ---- */

struct running {
    int socket;
    const struct lull_trigger_config *config;
    struct lull_trigger_config *own;     /* that, if it was passed on later; else NULL */
    struct lull_trigger_config *offered; /* was read, and does not hold yet; or NULL */
    struct lull_trigger_counts *counts;
    struct lull_commands commands;
};

static void read_rules(struct running *running, int fd)
{
    lull_trigger_config_free(running->offered);
    running->offered = lull_trigger_config_receive(fd);
    const bool is_read = running->offered != NULL;
    lull_message_send(running->socket, &is_read, sizeof is_read, -1);
}

/* Rules that are not known to it have no commands. */
static void take_rules(struct running *running)
{
    if (running->offered) {
        lull_trigger_config_free(running->own);
        running->config = running->own = running->offered;
        running->offered = NULL;
    }
}

/* False if the daemon has gone. Without a rule's name other rules are to be read, or hold from now on. */
static bool take_order(struct running *running)
{
    struct lull_trigger_written written;
    int fd;
    const ssize_t n = lull_message_receive(running->socket, &written, sizeof written, &fd);
    if (n != sizeof written) {
        return n < 0 && (errno == EAGAIN || errno == EINTR);
    }
    if (written.rule[0]) {
        lull_commands_start(&running->commands, running->config, &written, running->counts);
    } else if (written.delay_ns == OFFER) {
        read_rules(running, fd);
    } else {
        take_rules(running);
    }
    if (fd >= 0) {
        close(fd);
    }
    return true;
}

static void serve(struct running *running)
{
    struct pollfd ready = {.fd = running->socket, .events = POLLIN};
    do {
        const int wait_ms = lull_commands_check(&running->commands, running->counts);
        if (poll(&ready, 1, wait_ms) < 0) {
            ready.revents = 0;
        }
    } while (!ready.revents || take_order(running));
}

static void run(int socket, const struct lull_trigger_config *config,
                struct lull_trigger_counts *counts)
{
    struct running running = {.socket = socket, .config = config, .counts = counts};
    prctl(PR_SET_NAME, "lull-commands");
    lull_process_ignore_signals();
    lull_process_keep_only((int *[]){&running.socket}, 1);
    if (lull_process_keep_rights(rights, G_N_ELEMENTS(rights))) {
        serve(&running);
    }
    lull_commands_end(&running.commands);
}

/* ---- the daemon's end ---- */

bool lull_executor_start(struct lull_executor *executor, const struct lull_trigger_config *config,
                         struct lull_trigger_counts *counts, GError **error)
{
    int sockets[2];
    *executor = (struct lull_executor){.pid = -1, .socket = -1};
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) != 0) {
        return fail(error, g_strerror(errno));
    }
    executor->pid = fork();
    if (executor->pid == 0) {
        close(sockets[0]);
        run(sockets[1], config, counts);
        _exit(0);
    }
    const int why = errno;
    close(sockets[1]);
    executor->socket = sockets[0];
    return executor->pid > 0 || fail(error, g_strerror(why));
}

void lull_executor_run(const struct lull_executor *executor,
                       const struct lull_trigger_written *written)
{
    lull_message_send(executor->socket, written, sizeof *written, -1);
}

bool lull_executor_offer_rules(const struct lull_executor *executor, int text, GError **error)
{
    const struct lull_trigger_written offer = {.rule = "", .delay_ns = OFFER};
    struct pollfd ready = {.fd = executor->socket, .events = POLLIN};
    bool is_read = false;
    int fd = -1;
    while (lull_message_receive(executor->socket, &is_read, sizeof is_read, &fd) > 0) {
    } /* an answer that was late */
    is_read =
        lull_message_send(executor->socket, &offer, sizeof offer, text) &&
        poll(&ready, 1, READ_MS) > 0 &&
        lull_message_receive(executor->socket, &is_read, sizeof is_read, &fd) == sizeof is_read &&
        is_read;
    return is_read || fail(error, "it cannot read the configuration; try again");
}

bool lull_executor_set_rules(const struct lull_executor *executor, GError **error)
{
    const struct lull_trigger_written none = {.rule = ""};
    return lull_message_send(executor->socket, &none, sizeof none, -1) ||
           fail(error, "it is too busy for other rules; try again");
}

bool lull_executor_check(struct lull_executor *executor, GError **error)
{
    if (waitpid(executor->pid, NULL, WNOHANG) != executor->pid) {
        return true;
    }
    executor->pid = -1;
    return fail(error, "it has ended; start the daemon again");
}

void lull_executor_clear(struct lull_executor *executor)
{
    if (executor->socket >= 0) {
        close(executor->socket);
        executor->socket = -1;
    }
    if (executor->pid > 0) {
        while (waitpid(executor->pid, NULL, 0) < 0 && errno == EINTR) {
        }
        executor->pid = -1;
    }
}
