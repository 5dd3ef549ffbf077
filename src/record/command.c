/* SPDX-License-Identifier: MIT */
/* Starting the command. */
#include "record/command.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static ssize_t read_some(int fd, void *data, size_t size)
{
    ssize_t n;
    while ((n = read(fd, data, size)) < 0 && errno == EINTR) {
    }
    return n;
}

/* In the child, which is the invoker from the start. exec closes its own ends of the pipes. */
static void become(const char *const *argv, char *const *environment,
                   const struct lull_invoker *invoker, int go, int fate)
{
    int why = lull_invoker_become(invoker);
    char letter;
    for (uint32_t i = 0; why == 0 && environment && environment[i]; i++) {
        why = putenv(environment[i]) == 0 ? 0 : errno;
    }
    if (read_some(go, &letter, 1) != 1) {
        _exit(0); /* the recording did not start */
    }
    signal(SIGPIPE, SIG_DFL);
    if (why == 0) {
        execvp(argv[0], (char *const *)argv);
        why = errno;
    }
    while (write(fate, &why, sizeof why) < 0 && errno == EINTR) {
    }
    _exit(127);
}

bool lull_command_start(struct lull_command *command, const char *const *argv,
                        char *const *environment, const struct lull_invoker *invoker,
                        GError **error)
{
    int go[2] = {-1, -1}, fate[2] = {-1, -1};
    *command = (struct lull_command){.pid = -1, .go = -1, .fate = -1};
    if (pipe2(go, O_CLOEXEC) != 0 || pipe2(fate, O_CLOEXEC) != 0 || (command->pid = fork()) < 0) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_IO, "cannot start “%s”: %s", argv[0],
                    g_strerror(errno));
        return false;
    }
    if (command->pid == 0) {
        close(go[1]);
        close(fate[0]);
        become(argv, environment, invoker, go[0], fate[1]);
    }
    close(go[0]);
    close(fate[1]);
    command->go = go[1];
    command->fate = fate[0];
    return true;
}

static void close_pipes(struct lull_command *command)
{
    if (command->go >= 0) {
        close(command->go);
        close(command->fate);
    }
    command->go = command->fate = -1;
}

bool lull_command_release(struct lull_command *command, const char *name, GError **error)
{
    int why = 0;
    while (write(command->go, "g", 1) < 0 && errno == EINTR) {
    }
    const bool has_failed = read_some(command->fate, &why, sizeof why) == sizeof why;
    close_pipes(command);
    if (!has_failed) {
        return true;
    }
    command->exec_errno = why;
    lull_command_has_ended(command, true);
    g_set_error(error, LULL_ERROR, LULL_ERROR_QUESTION, "cannot run “%s”: %s", name,
                why == ENOENT ? "there is no such command" : g_strerror(why));
    return false;
}

bool lull_command_has_ended(struct lull_command *command, bool waits)
{
    pid_t pid = 0;
    if (command->pid <= 0 || command->has_ended) {
        return command->has_ended;
    }
    while ((pid = waitpid(command->pid, &command->wait_status, waits ? 0 : WNOHANG)) < 0 &&
           errno == EINTR) {
    }
    command->has_ended = pid == command->pid;
    return command->has_ended;
}

void lull_command_end(struct lull_command *command)
{
    if (command->go >= 0) {
        close_pipes(command);
        lull_command_has_ended(command, true);
    }
}
