/* SPDX-License-Identifier: MIT */
/* lull daemon: keeps a flight recorder ready, and has it write when something is slow. */
#include <stdio.h>

#include <lull/error.h>

#include "cmd/say.h"
#include "cmd/verb.h"
#include "trigger/daemon.h"
#include "trigger/key.h"

static void report(void *user, const char *line)
{
    lull_say("lull: %s\n", line);
}

static bool run_with(const struct lull_trigger_config *config, const char *path, bool is_check,
                     GError **error)
{
    const struct lull_daemon_question question = {.config = config, .path = path, .report = report};
    if (is_check) {
        if (!lull_trigger_config_fits(config, error)) {
            return false;
        }
        printf("the configuration is correct: %u rule%s\n", config->rules->len,
               config->rules->len == 1 ? "" : "s");
        return true;
    }
    return lull_daemon_run(&question, error);
}

static int run(const struct lull_args *args, GError **error)
{
    const char *path = lull_args_text(args, "config");
    const char *new_key = lull_args_text(args, "new-key");
    if (new_key) {
        return lull_peer_keys_make(new_key, error) ? 0 : 1;
    }
    struct lull_trigger_config *config = lull_trigger_config_read(path, NULL, error);
    const bool done = config && run_with(config, path, lull_args_flag(args, "check"), error);
    if (!config && !g_file_test(path, G_FILE_TEST_EXISTS)) {
        g_prefix_error(error, "no configuration (DAEMON.md in the documentation shows how to write "
                              "one; --config names it): ");
    }
    lull_trigger_config_free(config);
    return done ? 0 : 1;
}

static const struct lull_option options[] = {
    {.name = "config",
     .kind = LULL_OPTION_FILE,
     .argument = "FILE",
     .help = "the configuration (default: " LULL_TRIGGER_CONFIG ")"},
    {.name = "check",
     .kind = LULL_OPTION_FLAG,
     .help = "report all that is wrong with the configuration, and end"},
    {.name = "new-key",
     .kind = LULL_OPTION_FILE,
     .argument = "FILE",
     .help =
         "write a new random key for the daemons of several machines to this file ('-': to standard output), and end"},
    {.name = NULL},
};

static const char *const common[] = {NULL};

static const struct lull_example examples[] = {
    {"lull daemon --config web.conf --check", "Is the configuration correct?"},
    {"sudo lull daemon --config web.conf", "Watch until Ctrl-C."},
    {"sudo lull daemon --new-key /etc/lull/key", "A key, to be copied to all machines."},
    {NULL, NULL},
};

const struct lull_verb lull_verb_daemon = {
    .name = "daemon",
    .summary = "write a snapshot whenever something takes longer than your rules allow",
    .usage = "",
    .description =
        "Keeps a flight recorder ready (as 'lull record --snapshot' does) and watches for what is "
        "slow: waits that the kernel shows, by the rules of 'lull track', and requests that a "
        "server or 'lull trigger' reports at a socket. When a rule fires, the recorder writes what "
        "its buffers hold. The snapshot is a directory like any recording, and knows why it was "
        "written: 'lull critpath DIR' shows what the slow task waited for, and 'lull info DIR' "
        "what triggered it.\n"
        "\n"
        "The configuration says what to watch. DAEMON.md in the documentation lists all keys:\n"
        "\n"
        " [daemon]\n"
        " snapshots = /var/lib/lull\n"
        " metrics = 127.0.0.1:9542\n"
        "\n"
        " [rule slow-writes]\n"
        " when = block(vda): rw == \"write\" > 100ms\n"
        "\n"
        " [rule slow-requests]\n"
        " slower = 500ms\n"
        "\n"
        "Further keys of a rule: 'exec' names a command for when it has written a snapshot, 'user' who runs "
        "it (it has no capability), 'stack' which stacks of a wait the snapshot names (kernel, waker, user), and "
        "'spread = no' leaves other machines alone. 'name' in [daemon] is what snapshots call this "
        "machine.\n"
        "\n"
        "Snapshots are limited: one a minute for each rule, six an hour, twenty a day, and 2 GiB "
        "together, after which the oldest is removed; a file called 'pinned' in a snapshot keeps "
        "it. What is slow within five seconds after a snapshot is counted with it.\n"
        "\n"
        "Daemons of several machines work together if the configuration has the keys 'listen', 'peers' and "
        "'key': a slow request freezes the flight recorders of all machines that it touched, and each "
        "writes a snapshot of the same name. The file of the key must be the same on all, and nobody but "
        "root may read it; --new-key makes one. 'lull collect' brings the snapshots together.\n"
        "\n"
        "On SIGHUP it reads the configuration again: rules and limits hold at once. If something is wrong "
        "with the file, nothing is changed, and it says why.\n"
        "\n"
        "The daemon runs as root, and gives up all rights but those that it needs to trace. The "
        "process that reads what servers send has none.",
    .output = NULL,
    .options = options,
    .common = common,
    .examples = examples,
    .takes_no_trace = true,
    .no_words = "it takes no traces; --config names the configuration",
    .has_no_pager = true,
    .run = run,
};
