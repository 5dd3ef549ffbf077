/* SPDX-License-Identifier: MIT */
/* Waits at a signalfd. */
#include "record/watch.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define CHECK_MS 200
/* Who has not taken a signal in so many looks is stuck. */
#define LOOK_MS 1000
#define STUCK_LOOKS 3

/* ---- who is stuck ---- */

/* A signal that waits to end the program; 0: none. */
static int find_pending(const struct lull_watch *watch)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGQUIT};
    sigset_t pending;
    sigpending(&pending);
    for (size_t i = 0; i < G_N_ELEMENTS(signals); i++) {
        if (sigismember(&pending, signals[i]) && sigismember(&watch->waited, signals[i])) {
            return signals[i];
        }
    }
    return 0;
}

/* Nobody else would ever take the signal: then it acts as it does where nobody waits for it. */
static void *look(void *user)
{
    const struct lull_watch *watch = user;
    struct pollfd over = {.fd = watch->over[0]};
    int n, looks = 0;
    while ((n = poll(&over, 1, LOOK_MS)) == 0 || (n < 0 && errno == EINTR)) {
        const int number = find_pending(watch);
        looks = number ? looks + (n == 0) : 0;
        if (looks >= STUCK_LOOKS) {
            sigset_t only;
            sigemptyset(&only);
            sigaddset(&only, number);
            pthread_sigmask(SIG_UNBLOCK, &only, NULL);
        }
    }
    return NULL;
}

static void start_looking(struct lull_watch *watch)
{
    watch->looker = NULL;
    if (watch->ends_stuck && !isatty(STDOUT_FILENO) && pipe2(watch->over, O_CLOEXEC) == 0) {
        watch->looker = g_thread_new("signals", look, watch);
    }
}

static void end_looking(struct lull_watch *watch)
{
    if (watch->looker) {
        close(watch->over[1]);
        g_thread_join(watch->looker);
        close(watch->over[0]);
    }
}

/* ---- waiting ---- */

void lull_watch_start(struct lull_watch *watch)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1};
    const size_t n = G_N_ELEMENTS(signals) - (watch->request < 0 ? 1 : 0);
    sigemptyset(&watch->waited);
    for (size_t i = 0; i < n; i++) {
        struct sigaction action;
        /* Who ignores a signal, as nohup does, means it. */
        if (sigaction(signals[i], NULL, &action) == 0 && action.sa_handler == SIG_DFL) {
            sigaddset(&watch->waited, signals[i]);
        }
    }
    sigaddset(&watch->waited, SIGCHLD);
    pthread_sigmask(SIG_BLOCK, &watch->waited, &watch->before);
    watch->signals = signalfd(-1, &watch->waited, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* A Ctrl-C goes to all that run on the terminal. What was sent to us alone is meant for the command
 * too. */
static void pass_on(const struct lull_watch *watch, const struct signalfd_siginfo *info)
{
    if (watch->command > 0 && info->ssi_code != SI_KERNEL) {
        kill(watch->command, (int)info->ssi_signo);
    }
}

/* Whether one of the signals that came ends the recording. */
static bool take_signals(struct lull_watch *watch)
{
    struct signalfd_siginfo info;
    while (read(watch->signals, &info, sizeof info) == sizeof info) {
        if (info.ssi_signo == SIGUSR1) {
            watch->requested(watch->user, true);
        } else if (info.ssi_signo == SIGHUP && watch->reload) {
            watch->reload(watch->user);
        } else if (info.ssi_signo != SIGCHLD) {
            pass_on(watch, &info);
            return true;
        }
    }
    return false;
}

static int time_left_ms(int64_t until_us)
{
    const int64_t left_us = until_us - g_get_monotonic_time();
    return (int)CLAMP((left_us + 999) / 1000, 0, CHECK_MS);
}

int64_t lull_watch_until(int64_t duration_ns)
{
    return duration_ns ? g_get_monotonic_time() + duration_ns / 1000 : INT64_MAX;
}

int64_t lull_watch_due(int64_t last_us, int64_t interval_ns, int64_t end_us)
{
    const int64_t interval_us = interval_ns / 1000;
    if (last_us == INT64_MAX) {
        return last_us;
    }
    const int64_t late_us = MAX(g_get_monotonic_time() - last_us, 0);
    const int64_t due_us = last_us + (late_us / interval_us + 1) * interval_us;
    return end_us - due_us < interval_us / 4 ? INT64_MAX : due_us;
}

bool lull_watch_wait(struct lull_watch *watch, enum lull_recording_end *how, GError **error)
{
    start_looking(watch);
    watch->end_us = lull_watch_until(watch->duration_ns);
    struct pollfd ready[] = {{.fd = watch->signals, .events = POLLIN},
                             {.fd = watch->request, .events = POLLIN},
                             {.fd = watch->wake, .events = POLLIN}};
    for (;;) {
        if (watch->has_ended(watch->user, how, error)) {
            return true;
        }
        int left_ms = time_left_ms(watch->end_us);
        if (left_ms == 0) {
            *how = LULL_RECORDING_ENDED_BY_DURATION;
            return true;
        }
        if (watch->due_us) {
            left_ms = MIN(left_ms, time_left_ms(*watch->due_us));
        }
        const bool is_requested =
            poll(ready, G_N_ELEMENTS(ready), left_ms) > 0 && ready[1].revents != 0;
        if (take_signals(watch)) {
            *how = LULL_RECORDING_ENDED_BY_INTERRUPT;
            return true;
        }
        if (is_requested) {
            watch->requested(watch->user, false);
        }
        if (!watch->check(watch->user, error)) {
            return false;
        }
    }
}

void lull_watch_end(struct lull_watch *watch)
{
    end_looking(watch);
    if (watch->signals >= 0) {
        close(watch->signals);
    }
    pthread_sigmask(SIG_SETMASK, &watch->before, NULL);
}
