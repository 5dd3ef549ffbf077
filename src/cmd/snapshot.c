/* SPDX-License-Identifier: MIT */
/* lull snapshot: has a flight recorder write what it keeps. */
#include <stdio.h>

#include <lull/error.h>

#include "cmd/verb.h"
#include "record/control.h"

static int run(const struct lull_args *args, GError **error)
{
    const int64_t pid = lull_args_number(args, "recorder");
    if (pid == 0 || pid > INT32_MAX) {
        g_set_error_literal(error, LULL_ERROR, LULL_ERROR_USAGE,
                            "--recorder takes the process id of a recorder");
        return 2;
    }
    g_autofree char *path =
        lull_control_snapshot(pid < 0 ? 0 : (pid_t)pid, lull_args_text(args, "output"), error);
    if (!path) {
        return 1;
    }
    printf("%s\n", path);
    return 0;
}

static const struct lull_option options[] = {
    {.name = "output",
     .letter = 'o',
     .kind = LULL_OPTION_FILE,
     .argument = "DIR",
     .help = "the new directory for the snapshot (default: lull-COMMAND-DATE-TIME where the "
             "recorder was started)"},
    {.name = "recorder",
     .kind = LULL_OPTION_NUMBER,
     .argument = "PID",
     .help = "the process id of the recorder (default: the one started last)"},
    {.name = NULL},
};

static const char *const common[] = {NULL};

static const struct lull_example examples[] = {
    {"lull snapshot", "Write what the recorder has; then: lull info"},
    {"lull snapshot --output slow-again", "Under a name of your own."},
    {NULL, NULL},
};

const struct lull_verb lull_verb_snapshot = {
    .name = "snapshot",
    .summary = "write what a flight recorder (lull record --snapshot) keeps in memory",
    .usage = "",
    .description =
        "Requests from a running 'lull record --snapshot' that it write what its buffers hold "
        "now, waits until that is done, and prints the directory. The snapshot is a recording "
        "like any other, with the state of tasks and their files at the moment of the snapshot, and "
        "for whom each task then waits that sleeps. "
        "LTTng records that state only when the recorder starts, so its snapshots have it only "
        "as long as the buffers reach back to then. The recorder goes on.\n"
        "\n"
        "Only root and the user who started the recorder, directly or with sudo, may do this. The "
        "snapshot is made with the rights of the user who records, whoever requests it.",
    .output = NULL,
    .options = options,
    .common = common,
    .examples = examples,
    .takes_no_trace = true,
    .no_words = "it takes no traces; --output names the directory for the snapshot",
    .has_no_pager = true,
    .run = run,
};
