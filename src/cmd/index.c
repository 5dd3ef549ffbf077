/* SPDX-License-Identifier: MIT */
/* lull index: makes the store of traces ahead, or removes it. */
#include <errno.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>
#include <unistd.h>

#include <lull/error.h>

#include "cmd/store_args.h"
#include "view/words.h"

static void print(const struct lull_args *args, const struct lull_store_place *place,
                  const struct lull_store *store, bool is_new)
{
    const uint64_t size = lull_store_size(store), intervals = lull_store_interval_count(store);
    const uint32_t rows = lull_store_row_count(store);
    if (!lull_args_flag(args, "json")) {
        g_autoptr(GString) text = g_string_new(NULL);
        lull_bytes_append(text, (double)size);
        printf("%s: %" PRIu32 " rows, %" PRIu64 " intervals, %s%s\n", place->path, rows, intervals,
               text->str, is_new ? "" : ", up to date already");
        return;
    }
    struct json_object *object = json_object_new_object();
    json_object_object_add(object, "version", json_object_new_int(1));
    json_object_object_add(object, "path", json_object_new_string(place->path));
    json_object_object_add(object, "bytes", json_object_new_int64((int64_t)size));
    json_object_object_add(object, "rows", json_object_new_int64(rows));
    json_object_object_add(object, "intervals", json_object_new_int64((int64_t)intervals));
    json_object_object_add(object, "is_new", json_object_new_boolean(is_new));
    printf("%s\n", json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN));
    json_object_put(object);
}

static int make(const struct lull_args *args, const struct lull_states *states,
                const struct lull_store_place *place, GError **error)
{
    int status = 0;
    bool is_new;
    struct lull_store *store = lull_args_store(args, states, place, &is_new, &status, error);
    if (!store) {
        return 1;
    }
    print(args, place, store, is_new);
    lull_store_free(store);
    return status;
}

static int run(const struct lull_args *args, GError **error)
{
    struct lull_store_place place;
    struct lull_states *states;
    if (!lull_args_store_place(args, &states, &place, error)) {
        lull_states_free(states);
        return 1;
    }
    int status = 0;
    if (!lull_args_flag(args, "rm")) {
        status = make(args, states, &place, error);
    } else if (unlink(place.path) != 0 && errno != ENOENT) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_IO, "cannot remove “%s”: %s", place.path,
                    g_strerror(errno));
        status = 1;
    }
    lull_store_place_clear(&place);
    lull_states_free(states);
    return status;
}

static const struct lull_option options[] = {
    {.name = "rm",
     .kind = LULL_OPTION_FLAG,
     .help = "remove the store of these traces instead; the traces stay"},
    LULL_OPTION_STORE_STATES,
    {.name = NULL},
};

static const char *const common[] = {"no-sync", "threads", "json", NULL};

static const struct lull_example examples[] = {
    {"lull index my-trace", "Makes the store, unless it is there already."},
    {"lull index --rm client httpd db", "Removes the store of three machines' traces."},
    {NULL, NULL},
};

const struct lull_verb lull_verb_index = {
    .name = "index",
    .summary = "make the store of intervals that time views read",
    .usage = "[--rm] TRACE…",
    .description =
        "Reads the traces once and writes what every task, CPU and interrupt did at every moment: "
        "running in user space or in a system call, interrupted, waiting for what. For each of "
        "them the store also has the share of each state in bins of time of every size, so that "
        "a picture of any part of the trace is there at once and hides no short state.\n"
        "\n"
        "The store is one file in $XDG_CACHE_HOME/lull/view (~/.cache/lull/view). It belongs to "
        "the traces that are given together, in that order. If it is there, and the traces have "
        "not changed since, nothing is done; a damaged or outdated store is replaced. An incomplete store is never left behind.",
    .output = "One line: the file, its rows and intervals, its size. With --json:\n"
              "\n"
              " {\"version\":1,\"path\",\"bytes\",\"rows\",\"intervals\",\"is_new\"}",
    .options = options,
    .common = common,
    .examples = examples,
    .run = run,
};
