/* SPDX-License-Identifier: MIT */
/* Signals as bytes to read: polled between events and while reading waits, so that a live
 * session is left in order. */
#include "cmd/follow.h"

#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <lull/error.h>

static void ends(sigset_t *set)
{
    sigemptyset(set);
    sigaddset(set, SIGINT);
    sigaddset(set, SIGTERM);
}

void lull_follow_start(struct lull_follow *follow, const struct lull_args *args)
{
    *follow = (struct lull_follow){.fd = -1, .is_live = lull_args_live(args) != NULL};
    if (follow->is_live) {
        sigset_t set;
        ends(&set);
        sigprocmask(SIG_BLOCK, &set, NULL);
        follow->fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
    }
}

void lull_follow_end(struct lull_follow *follow)
{
    if (follow->is_live) {
        sigset_t set;
        lull_follow_is_stopped(follow); /* one that has come counts as seen */
        close(follow->fd);
        ends(&set);
        sigprocmask(SIG_UNBLOCK, &set, NULL);
    }
    follow->is_live = false;
}

bool lull_follow_is_stopped(struct lull_follow *follow)
{
    struct signalfd_siginfo info;
    if (follow->is_live && !follow->is_stopped) {
        follow->is_stopped = read(follow->fd, &info, sizeof info) > 0;
    }
    return follow->is_stopped;
}

void lull_follow_flush(struct lull_follow *follow, bool (*flush)(void *user), void *user)
{
    follow->flush = flush;
    follow->user = user;
}

static bool on_wait(void *data)
{
    struct lull_follow *follow = data;
    return (!follow->flush || follow->flush(follow->user)) && !lull_follow_is_stopped(follow);
}

/* What cannot be had of something that has not ended. */
static bool check_options(const struct lull_args *args, GError **error)
{
    static const struct {
        const char *option, *why;
    } impossible[] = {
        {"count-fields", "it is never read as a whole"},
        {"intersection", "when its streams end is not known before"},
    };
    for (uint32_t i = 0; i < G_N_ELEMENTS(impossible); i++) {
        if (lull_args_flag(args, impossible[i].option)) {
            g_set_error(error, LULL_ERROR, LULL_ERROR_USAGE, "%s: no --%s of a live session: %s",
                        lull_args_live(args), impossible[i].option, impossible[i].why);
            return false;
        }
    }
    return true;
}

struct lull_session *lull_follow_open(struct lull_follow *follow, const struct lull_args *args,
                                      GError **error)
{
    if (follow->is_live && !check_options(args, error)) {
        return NULL;
    }
    struct lull_session *session = lull_args_new_session(args, error);
    if (!session) {
        return NULL;
    }
    if (follow->is_live) {
        lull_session_on_wait(session, on_wait, follow);
        lull_session_follow_from_start(session, lull_args_flag(args, "from-start"));
    }
    if (!lull_args_add_traces(args, session, error)) {
        g_clear_pointer(&session, lull_session_free);
    }
    return session;
}
