/* SPDX-License-Identifier: MIT */
/* One command of a rule at a time, for a minute at most, with an environment of its own and nothing else
 * that the process has. */
#include "trigger/commands.h"

#include <grp.h>
#include <inttypes.h>
#include <pwd.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/time.h"
#include "trigger/process.h"

#define MOST_NS (60 * LULL_NS_PER_S)
#define CHECK_MS 200

/* The user of the rule, with the groups that they have; whoever is not root can only be themselves. */
static bool become(const char *name)
{
    const struct passwd *user = geteuid() == 0 ? getpwnam(name) : NULL;
    return geteuid() != 0 || (user && initgroups(name, user->pw_gid) == 0 &&
                              setresgid(user->pw_gid, user->pw_gid, user->pw_gid) == 0 &&
                              setresuid(user->pw_uid, user->pw_uid, user->pw_uid) == 0);
}

/* Between fork and exec. It ends with the process that started it, of which changing the user takes the wish away. */
static void set_up(void *user)
{
    for (int i = 1; i < NSIG; i++) {
        signal(i, SIG_DFL);
    }
    setsid(); /* what it starts ends with it when its time is over */
    if (!become(user) || !lull_process_keep_rights(NULL, 0) ||
        prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) {
        _exit(126);
    }
}

static char **environment(const struct lull_trigger_config *config,
                          const struct lull_trigger_written *written)
{
    char **env = g_new0(char *, 9);
    env[0] = g_strdup("PATH=/usr/local/bin:/usr/bin:/bin");
    env[1] = g_strconcat("LULL_SNAPSHOT=", config->snapshots, "/", written->set, NULL);
    env[2] = g_strconcat("LULL_ID=", written->set, NULL);
    env[3] = g_strconcat("LULL_RULE=", written->rule, NULL);
    env[4] = g_strdup_printf("LULL_DELAY=%" PRId64 ".%09" PRId64, written->delay_ns / LULL_NS_PER_S,
                             written->delay_ns % LULL_NS_PER_S);
    env[5] = g_strconcat("LULL_COMM=", written->comm, NULL);
    env[6] = written->pid >= 0 ? g_strdup_printf("LULL_PID=%" PRId64, written->pid)
                               : g_strdup("LULL_PID=");
    env[7] = g_strconcat("LULL_HOST=", config->name ? config->name : g_get_host_name(), NULL);
    return env;
}

/* Where the command of the rule has its place; NULL if one of it runs, or too many of rules that are gone. */
static struct lull_command_running *place_of(struct lull_commands *commands, const char *rule)
{
    struct lull_command_running *place = NULL;
    for (uint32_t i = 0; i < LULL_TRIGGER_RULES; i++) {
        struct lull_command_running *running = &commands->running[i];
        if (running->pid > 0 && strcmp(running->rule, rule) == 0) {
            return NULL;
        }
        place = running->pid > 0 ? place : running;
    }
    return place;
}

void lull_commands_start(struct lull_commands *commands, const struct lull_trigger_config *config,
                         const struct lull_trigger_written *written,
                         struct lull_trigger_counts *counts)
{
    const uint32_t number = lull_trigger_config_rule(config, written->rule);
    const struct lull_trigger_rule *rule =
        number < config->rules->len ? config->rules->pdata[number] : NULL;
    if (!rule || !rule->exec) {
        return;
    }
    struct lull_command_running *place = place_of(commands, rule->name);
    if (!place) {
        counts->commands[LULL_COMMAND_BUSY]++;
        return;
    }
    g_auto(GStrv) env = environment(config, written);
    GPid pid;
    if (!g_spawn_async("/", rule->exec, env, G_SPAWN_DO_NOT_REAP_CHILD | G_SPAWN_STDOUT_TO_DEV_NULL,
                       set_up, rule->user ? rule->user : config->user, &pid, NULL)) {
        counts->commands[LULL_COMMAND_FAILED]++;
        return;
    }
    place->pid = pid;
    place->due_ns = g_get_monotonic_time() * 1000 + MOST_NS;
    g_strlcpy(place->rule, rule->name, sizeof place->rule);
}

/* Who does not end though killed, as one that waits for a disk that is gone, holds up nobody else. */
int lull_commands_check(struct lull_commands *commands, struct lull_trigger_counts *counts)
{
    const int64_t now_ns = g_get_monotonic_time() * 1000;
    bool is_any = false;
    for (uint32_t i = 0; i < LULL_TRIGGER_RULES; i++) {
        struct lull_command_running *running = &commands->running[i];
        int status;
        if (running->pid <= 0) {
            continue;
        }
        const bool is_late = now_ns > running->due_ns;
        if (is_late) {
            kill(-running->pid, SIGKILL);
        }
        if (waitpid(running->pid, &status, WNOHANG) != running->pid) {
            is_any = true;
            continue;
        }
        counts->commands[is_late                                         ? LULL_COMMAND_KILLED
                         : WIFEXITED(status) && WEXITSTATUS(status) == 0 ? LULL_COMMAND_DONE
                                                                         : LULL_COMMAND_FAILED]++;
        running->pid = 0;
    }
    return is_any ? CHECK_MS : -1;
}

void lull_commands_end(struct lull_commands *commands)
{
    for (uint32_t i = 0; i < LULL_TRIGGER_RULES; i++) {
        if (commands->running[i].pid > 0) {
            kill(-commands->running[i].pid, SIGKILL);
        }
    }
}
