/* SPDX-License-Identifier: MIT */
/* What a configuration names that has to be on this machine. */
#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#include <lull/error.h>

#include "trigger/config.h"
#include "trigger/key.h"

static void check_names(const struct lull_trigger_config *config, GPtrArray *problems)
{
    const struct passwd *user = getpwnam(config->user);
    if (!user || user->pw_uid == 0) {
        g_ptr_array_add(problems,
                        g_strdup_printf("[daemon] user: %s “%s”: expected one that is "
                                        "not root, such as nobody",
                                        user ? "the user must not be" : "there is no user",
                                        config->user));
    }
    if (config->hook_group && !getgrnam(config->hook_group)) {
        g_ptr_array_add(problems,
                        g_strdup_printf("[daemon] hook_group: there is no group “%s”: expected "
                                        "that of the server, such as www-data",
                                        config->hook_group));
    }
    if (strlen(config->hook) >= sizeof((struct sockaddr_un *)0)->sun_path) {
        g_ptr_array_add(problems, g_strdup_printf("[daemon] hook: the path is too long for a "
                                                  "socket: expected at most %zu characters",
                                                  sizeof((struct sockaddr_un *)0)->sun_path - 1));
    }
}

static void check_secret(const char *key, const char *path, GPtrArray *problems)
{
    struct lull_peer_keys keys;
    g_autoptr(GError) error = NULL;
    if (path && !lull_peer_keys_read(path, &keys, &error)) {
        g_ptr_array_add(problems,
                        g_strdup_printf("[daemon] %s: %s; 'lull daemon --new-key FILE' writes one",
                                        key, error->message));
    }
    explicit_bzero(&keys, sizeof keys);
}

static void check_commands(const struct lull_trigger_config *config, GPtrArray *problems)
{
    for (guint i = 0; i < config->rules->len; i++) {
        const struct lull_trigger_rule *rule = config->rules->pdata[i];
        if (rule->user && !getpwnam(rule->user)) {
            g_ptr_array_add(problems, g_strdup_printf("[rule %s] user: there is no user “%s”",
                                                      rule->name, rule->user));
        }
        if (rule->exec && access(rule->exec[0], X_OK) != 0) {
            g_ptr_array_add(problems, g_strdup_printf("[rule %s] exec: %s: %s", rule->name,
                                                      rule->exec[0], g_strerror(errno)));
        }
    }
}

bool lull_trigger_config_fits(const struct lull_trigger_config *config, GError **error)
{
    g_autoptr(GPtrArray) problems = g_ptr_array_new_with_free_func(g_free);
    check_names(config, problems);
    check_secret("key", config->key, problems);
    check_secret("token", config->token, problems);
    check_commands(config, problems);
    if (problems->len == 0) {
        return true;
    }
    g_ptr_array_add(problems, NULL);
    g_autofree char *lines = g_strjoinv("\n", (char **)problems->pdata);
    g_set_error_literal(error, LULL_ERROR, LULL_ERROR_QUESTION, lines);
    return false;
}
