/* SPDX-License-Identifier: MIT */
/* The process has nothing of the daemon's open: what traces must not outlive it. */
#include "trigger/set_sender.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/tree.h"
#include "trigger/bundle.h"

#define NICE 19

static int keep_only(int fd)
{
    const int first = STDERR_FILENO + 1;
    const int kept = dup2(fd, first);
    syscall(SYS_close_range, (unsigned)first + 1, ~0u, 0u);
    return kept;
}

static void write_set(const struct lull_trigger_config *config, const char *set, int out)
{
    const int fd = keep_only(out);
    const int dir = open(config->snapshots, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const int from = dir >= 0 ? lull_tree_open(dir, set) : -1;
    if (from >= 0) {
        (void)!nice(NICE);
        lull_bundle_write(from, fd);
    }
}

void lull_set_send(struct lull_set_senders *senders, const struct lull_trigger_config *config,
                   const char *set, int out)
{
    const pid_t daemon = getpid();
    pid_t *slot = senders->pid;
    lull_set_senders_check(senders);
    while (slot < senders->pid + LULL_SET_SENDERS && *slot > 0) {
        slot++;
    }
    if (slot < senders->pid + LULL_SET_SENDERS) {
        *slot = fork();
        if (*slot == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            if (getppid() == daemon) {
                write_set(config, set, out);
            }
            _exit(0);
        }
    }
    close(out);
}

void lull_set_senders_check(struct lull_set_senders *senders)
{
    for (unsigned i = 0; i < LULL_SET_SENDERS; i++) {
        if (senders->pid[i] > 0 && waitpid(senders->pid[i], NULL, WNOHANG) == senders->pid[i]) {
            senders->pid[i] = 0;
        }
    }
}

void lull_set_senders_clear(struct lull_set_senders *senders)
{
    for (unsigned i = 0; i < LULL_SET_SENDERS; i++) {
        if (senders->pid[i] > 0) {
            kill(senders->pid[i], SIGKILL);
            while (waitpid(senders->pid[i], NULL, 0) < 0 && errno == EINTR) {
            }
            senders->pid[i] = 0;
        }
    }
}
