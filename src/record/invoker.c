/* SPDX-License-Identifier: MIT */
/* Who records, and becoming that user. */
#include "record/invoker.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdlib.h>
#include <unistd.h>

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
                    "SUDO_UID says that user %u called sudo, who is not known here", uid);
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

int lull_invoker_become(const struct lull_invoker *invoker)
{
    static const char *const of_sudo[] = {"SUDO_UID", "SUDO_GID", "SUDO_USER", "SUDO_COMMAND"};
    if (!invoker->is_other) {
        return 0;
    }
    if (initgroups(invoker->name, invoker->gid) != 0 || setgid(invoker->gid) != 0 ||
        setuid(invoker->uid) != 0) {
        return errno;
    }
    for (size_t i = 0; i < G_N_ELEMENTS(of_sudo); i++) {
        unsetenv(of_sudo[i]);
    }
    const bool is_set =
        setenv("HOME", invoker->home, 1) == 0 && setenv("USER", invoker->name, 1) == 0 &&
        setenv("LOGNAME", invoker->name, 1) == 0 && setenv("SHELL", invoker->shell, 1) == 0;
    return is_set ? 0 : errno;
}

char *lull_invoker_state_dir(const struct lull_invoker *invoker)
{
    const char *given = g_getenv("XDG_STATE_HOME");
    if (!invoker->is_other && given && g_path_is_absolute(given)) {
        return g_strdup(given);
    }
    const char *home = invoker->is_other ? invoker->home : g_getenv("HOME");
    return home && home[0] ? g_build_filename(home, ".local", "state", NULL) : NULL;
}
