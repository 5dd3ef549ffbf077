/* SPDX-License-Identifier: MIT */
/* lull collect: brings the snapshots of several machines together. */
#include <stdio.h>

#include <lull/error.h>

#include "cmd/say.h"
#include "cmd/verb.h"
#include "trigger/collect.h"

static void missing(void *user, const char *machine, const char *why)
{
    lull_say("lull: no snapshot of %s: %s\n", machine, why);
}

static bool collect(const struct lull_trigger_config *config, const char *set, const char *output,
                    GError **error)
{
    struct lull_peer_keys keys;
    const struct lull_collect_question question = {
        .config = config, .keys = &keys, .set = set, .output = output, .missing = missing};
    if (!config->key) {
        g_set_error_literal(error, LULL_ERROR, LULL_ERROR_QUESTION,
                            "the configuration names no other machines: it lacks listen, peers and "
                            "key");
        return false;
    }
    return lull_peer_keys_read(config->key, &keys, error) && lull_collect(&question, error);
}

static int run(const struct lull_args *args, GError **error)
{
    const char *path = lull_args_text(args, "config");
    const char *output = lull_args_text(args, "output");
    uint32_t n_words;
    const char *const *words = lull_args_rest(args, &n_words);
    if (n_words != 1 || !lull_sets_is_name(words[0])) {
        g_set_error_literal(error, LULL_ERROR, LULL_ERROR_USAGE,
                            "it takes the name of one snapshot, such as 20261122-140211-7f3a9c01");
        return 2;
    }
    struct lull_trigger_config *config = lull_trigger_config_read(path, NULL, error);
    output = output ? output : words[0];
    const bool done = config && collect(config, words[0], output, error);
    if (done) {
        printf("%s\n", output);
    }
    lull_trigger_config_free(config);
    return done ? 0 : 1;
}

static const struct lull_option options[] = {
    {.name = "output",
     .letter = 'o',
     .kind = LULL_OPTION_FILE,
     .argument = "DIR",
     .help = "the new directory (default: the name of the snapshot, in the current directory)"},
    {.name = "config",
     .kind = LULL_OPTION_FILE,
     .argument = "FILE",
     .help = "the configuration of the daemon (default: " LULL_TRIGGER_CONFIG ")"},
    {.name = NULL},
};

static const char *const common[] = {NULL};

static const struct lull_example examples[] = {
    {"sudo lull collect 20261122-140211-7f3a9c01", "Then: lull critpath 20261122-140211-7f3a9c01"},
    {NULL, NULL},
};

const struct lull_verb lull_verb_collect = {
    .name = "collect",
    .summary = "bring the snapshots that several machines wrote together",
    .usage = "SNAPSHOT",
    .description =
        "A slow request has each machine that it touched write a snapshot of the same name, if "
        "'lull daemon' runs there with the same key. This brings them together in one directory, with "
        "a directory for each machine, named after its address: first that of this machine, then those of "
        "the machines that it asked, and of those that they asked. They come from the daemons, "
        "encrypted with the key (TLS 1.3). The original snapshots stay.\n"
        "\n"
        "Run it on the machine where the request was slow, as the user who can read the key: root. 'lull "
        "critpath DIR' then answers for the slow request, without a further question. A machine whose "
        "snapshot cannot be had is reported, and the others are kept. Then the exit status is 0 all the "
        "same; it is 1 if this machine's own snapshot cannot be had.",
    .output = NULL,
    .options = options,
    .common = common,
    .examples = examples,
    .takes_no_trace = true,
    .has_no_pager = true,
    .run = run,
};
