/* Signals as bytes to read: asked for between events and while reading waits, so that a live
 * session is left in order. */
#include "cmd/follow.h"

#include <signal.h>
#include <stdio.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "source/live_url.h"

static void ends(sigset_t *set)
{
    sigemptyset(set);
    sigaddset(set, SIGINT);
    sigaddset(set, SIGTERM);
}

void lull_follow_begin(struct lull_follow *follow, const struct lull_args *args)
{
    uint32_t count;
    const char *const *paths = lull_args_rest(args, &count);
    *follow = (struct lull_follow){.fd = -1};
    for (uint32_t i = 0; i < count; i++) {
        follow->is_live |= lull_live_url_is(paths[i]);
    }
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

bool lull_follow_wait(void *data)
{
    return fflush(stdout) == 0 && !lull_follow_is_stopped(data);
}

struct lull_session *lull_follow_open(struct lull_follow *follow, const struct lull_args *args,
                                      GError **error)
{
    uint32_t count;
    const char *const *paths = lull_args_rest(args, &count);
    if (count == 0) {
        g_set_error_literal(error, LULL_ERROR, LULL_ERROR_USAGE,
                            "no trace given; say which directory holds it");
        return NULL;
    }
    struct lull_session *session = lull_session_new();
    lull_session_on_wait(session, lull_follow_wait, follow);
    for (uint32_t i = 0; i < count; i++) {
        if (!lull_session_add(session, paths[i], error)) {
            lull_session_free(session);
            return NULL;
        }
    }
    return session;
}
