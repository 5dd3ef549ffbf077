/* SPDX-License-Identifier: MIT */
/* lull mark: says, for a script, that something begins or ends. It has the probes in its own file, which trackers watch. */
#include <lull/mark.h>
#include <string.h>

#include <lull/error.h>

#include "cmd/verb.h"
#include "live/rule.h"

static bool check(const char *const *words, uint32_t n, GError **error)
{
    const char *why = NULL;
    if (n != 3 || (strcmp(words[0], "begin") != 0 && strcmp(words[0], "end") != 0)) {
        why = "it takes begin or end, a name, and a cookie: lull mark begin checkout 4711";
    } else if (!lull_track_is_mark(words[1])) {
        why = "a name has letters, digits, and - _ . (31 at most)";
    } else if (!*words[2] || strlen(words[2]) > LULL_TRACK_COOKIE) {
        why = "a cookie has 1 to 255 bytes";
    }
    if (why) {
        g_set_error_literal(error, LULL_ERROR, LULL_ERROR_USAGE, why);
    }
    return !why;
}

static int run(const struct lull_args *args, GError **error)
{
    uint32_t n;
    const char *const *words = lull_args_rest(args, &n);
    if (!check(words, n, error)) {
        return 2;
    }
    if (words[0][0] == 'b') {
        lull_mark_begin(words[1], words[2]);
    } else {
        lull_mark_end(words[1], words[2]);
    }
    return 0;
}

static const struct lull_option options[] = {{.name = NULL}};

static const char *const common[] = {NULL};

static const struct lull_example examples[] = {
    {"lull mark begin backup $$; ./backup.sh; lull mark end backup $$",
     "A script is watched by: lull track 'mark(backup) > 10min'"},
    {NULL, NULL},
};

const struct lull_verb lull_verb_mark = {
    .name = "mark",
    .summary = "report that something begins or ends, for 'lull track' and 'lull daemon'",
    .usage = "begin|end NAME COOKIE",
    .description =
        "Says that something of that name begins or ends now. A rule such as 'mark(checkout) > 2s' "
        "of 'lull track' or 'lull daemon' reports what took longer from its begin to its end. The "
        "cookie tells it from others of the same name, on the whole machine: begin and end may come "
        "from different processes. One that begins again before it ends starts anew.\n"
        "\n"
        "If nobody watches, nothing happens. Anybody may do this. Programs do the same without "
        "starting another, with the header lull/mark.h, which needs no library.",
    .output = NULL,
    .options = options,
    .common = common,
    .examples = examples,
    .takes_no_trace = true,
    .has_no_pager = true,
    .run = run,
};
