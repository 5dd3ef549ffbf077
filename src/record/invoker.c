/* SPDX-License-Identifier: MIT */
/* Who records, becoming that user, and giving up what root may do. */
#include "record/invoker.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/capability.h"

/* What a recorder that is set up still needs: to see the files of other users' processes and of
 * tracefs (the first two), the kernel's symbols, to read its buffers in time, and to pass signals on
 * to the command. */
static const uint8_t of_recorder[] = {CAP_DAC_READ_SEARCH, CAP_SYS_PTRACE, CAP_SYSLOG, CAP_SYS_NICE,
                                      CAP_KILL};
/* What a user who is not root may have been given in order to record: nothing for the command. */
static const uint8_t to_record[] = {
    CAP_PERFMON,         CAP_BPF,        CAP_IPC_LOCK, CAP_SYS_ADMIN,
    CAP_DAC_READ_SEARCH, CAP_SYS_PTRACE, CAP_SYSLOG,   CAP_SYS_NICE};

/* The number of an environment variable; false if it has none. */
static bool take_id(const char *variable, uint32_t *id)
{
    const char *text = g_getenv(variable);
    guint64 number;
    if (!text || !g_ascii_string_to_unsigned(text, 10, 0, G_MAXINT32, &number, NULL)) {
        return false;
    }
    *id = (uint32_t)number;
    return true;
}

bool lull_invoker_init(struct lull_invoker *invoker, GError **error)
{
    *invoker = (struct lull_invoker){.uid = geteuid(), .gid = getegid()};
    uint32_t uid, gid;
    if (geteuid() != 0 || !take_id("SUDO_UID", &uid) || !take_id("SUDO_GID", &gid) || uid == 0) {
        return true;
    }
    struct passwd *user = getpwuid(uid);
    if (!user) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_QUESTION,
                    "SUDO_UID names user %u, who does not exist here", uid);
        return false;
    }
    invoker->is_other = true;
    invoker->uid = uid;
    invoker->gid = gid;
    invoker->name = g_strdup(user->pw_name);
    invoker->home = g_strdup(user->pw_dir);
    invoker->shell = g_strdup(user->pw_shell);
    return true;
}

void lull_invoker_clear(struct lull_invoker *invoker)
{
    g_clear_pointer(&invoker->name, g_free);
    g_clear_pointer(&invoker->home, g_free);
    g_clear_pointer(&invoker->shell, g_free);
}

/* ---- capabilities ---- */

struct capabilities {
    struct __user_cap_data_struct words[2]; /* each holds 32 capabilities */
};

static bool get_capabilities(struct capabilities *all)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    return syscall(SYS_capget, &header, all->words) == 0;
}

static bool set_capabilities(const struct capabilities *all)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    return syscall(SYS_capset, &header, all->words) == 0;
}

static void mask_of(const uint8_t *capabilities, size_t n, uint32_t mask[static 2])
{
    mask[0] = mask[1] = 0;
    for (size_t i = 0; i < n; i++) {
        mask[capabilities[i] / 32] |= UINT32_C(1) << capabilities[i] % 32;
    }
}

/* Only those of a recorder and these are left, as far as they are there. */
static bool keep(const uint8_t *more, size_t n_more)
{
    struct capabilities all;
    uint32_t mask[2], more_mask[2];
    mask_of(of_recorder, G_N_ELEMENTS(of_recorder), mask);
    mask_of(more, n_more, more_mask);
    if (!get_capabilities(&all)) {
        return false;
    }
    for (unsigned i = 0; i < 2; i++) {
        all.words[i].permitted &= mask[i] | more_mask[i];
        all.words[i].effective = all.words[i].permitted;
        all.words[i].inheritable = 0;
    }
    return set_capabilities(&all);
}

/* These are left to nobody. Kernels before 4.3 have no ambient capabilities. */
static bool drop(const uint8_t *capabilities, size_t n)
{
    struct capabilities all;
    uint32_t mask[2];
    mask_of(capabilities, n, mask);
    for (size_t i = 0; i < n; i++) {
        prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_LOWER, (unsigned long)capabilities[i], 0, 0);
    }
    if (!get_capabilities(&all)) {
        return false;
    }
    for (unsigned i = 0; i < 2; i++) {
        all.words[i].permitted &= ~mask[i];
        all.words[i].effective &= ~mask[i];
        all.words[i].inheritable &= ~mask[i];
    }
    return set_capabilities(&all);
}

/* ---- becoming the invoker ---- */

/* Whether lull_invoker_limit() has made it so. */
static bool has_identity(const struct lull_invoker *invoker)
{
    uid_t real, effective, saved;
    return getresuid(&real, &effective, &saved) == 0 && real == invoker->uid &&
           effective == invoker->uid && saved == invoker->uid;
}

/* Real, effective and saved, so that there is no way back. */
static bool take_identity(const struct lull_invoker *invoker)
{
    return !invoker->is_other || has_identity(invoker) ||
           (initgroups(invoker->name, invoker->gid) == 0 &&
            setresgid(invoker->gid, invoker->gid, invoker->gid) == 0 &&
            setresuid(invoker->uid, invoker->uid, invoker->uid) == 0);
}

static bool take_environment(const struct lull_invoker *invoker)
{
    g_auto(GStrv) names = g_listenv();
    for (uint32_t i = 0; names[i]; i++) {
        if (g_str_has_prefix(names[i], "SUDO_")) {
            unsetenv(names[i]);
        }
    }
    return setenv("HOME", invoker->home, 1) == 0 && setenv("USER", invoker->name, 1) == 0 &&
           setenv("LOGNAME", invoker->name, 1) == 0 && setenv("SHELL", invoker->shell, 1) == 0;
}

int lull_invoker_become(const struct lull_invoker *invoker)
{
    const bool is_done = take_identity(invoker) &&
                         (geteuid() == 0 || drop(to_record, G_N_ELEMENTS(to_record))) &&
                         (!invoker->is_other || take_environment(invoker));
    return is_done ? 0 : errno;
}

bool lull_invoker_limit(const struct lull_invoker *invoker, bool needs_root, const uint8_t *more,
                        size_t n_more, GError **error)
{
    if (geteuid() != 0) {
        return true;
    }
    const bool is_done = (needs_root || !invoker->is_other ||
                          (prctl(PR_SET_KEEPCAPS, 1) == 0 && take_identity(invoker))) &&
                         keep(more, n_more) && prctl(PR_SET_DUMPABLE, 0) == 0;
    if (!is_done) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_IO,
                    "root's rights that recording does not need cannot be given up: %s",
                    g_strerror(errno));
    }
    return is_done;
}

bool lull_invoker_do(const struct lull_invoker *invoker, void (*work)(void *user), void *user)
{
    static const struct capabilities none;
    const pid_t child = fork();
    int status = -1;
    if (child == 0) {
        sigset_t signals;
        sigemptyset(&signals);
        sigprocmask(SIG_SETMASK, &signals, NULL);
        alarm(LULL_INVOKER_SECONDS);
        if (lull_invoker_become(invoker) != 0 || !set_capabilities(&none) ||
            prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) { /* which changing the user has taken back */
            _exit(1);
        }
        work(user);
        _exit(0);
    }
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return status == 0;
}

/* The daemon sees the effective user; its socket's permissions are checked against the other one,
 * by which files are opened. */
bool lull_invoker_speak_as(const struct lull_invoker *invoker)
{
    if (!invoker->is_other) {
        return true;
    }
    if (setegid(invoker->gid) != 0 || seteuid(invoker->uid) != 0) {
        const int why = errno;
        lull_invoker_speak_as_self();
        errno = why;
        return false;
    }
    setfsuid(getuid());
    setfsgid(getgid());
    return true;
}

void lull_invoker_speak_as_self(void)
{
    (void)!seteuid(getuid());
    (void)!setegid(getgid());
}

char *lull_invoker_state_dir(const struct lull_invoker *invoker)
{
    const char *given = g_getenv("XDG_STATE_HOME");
    if (!invoker->is_other && given && g_path_is_absolute(given)) {
        return g_strdup(given);
    }
    const char *home = invoker->is_other ? invoker->home : g_getenv("HOME");
    return home && g_path_is_absolute(home) ? g_build_filename(home, ".local", "state", NULL)
                                            : NULL;
}
