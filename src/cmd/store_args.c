/* SPDX-License-Identifier: MIT */
/* From traces to their store: what is in the cache is taken, else it is made. */
#include "cmd/store_args.h"

#include <lull/error.h>

#include "cmd/join_args.h"
#include "store/build.h"

bool lull_args_store_place(const struct lull_args *args, struct lull_store_place *place,
                           GError **error)
{
    uint32_t count;
    const char *const *traces = lull_args_rest(args, &count);
    if (count == 0) {
        g_set_error_literal(error, LULL_ERROR, LULL_ERROR_USAGE,
                            "no trace given; name the directory that holds it");
        return false;
    }
    return lull_store_place_find(traces, count, !lull_args_flag(args, "no-sync"), place, error);
}

static bool build(const struct lull_args *args, const struct lull_store_place *place, int *status,
                  GError **error)
{
    struct lull_progress progress;
    struct lull_session *session = lull_args_open_traces(args, error);
    if (!session) {
        return false;
    }
    if (lull_session_host_count(session) > 1) {
        lull_args_join(args, session);
    }
    lull_progress_start(&progress, args, session, "indexing", false);
    const bool is_done =
        lull_store_place_make(place, error) &&
        lull_store_build(session, place->path, place->key, lull_args_progress, &progress, error);
    lull_progress_end(&progress);
    *status = lull_args_report_problems(session);
    lull_session_free(session);
    return is_done;
}

struct lull_store *lull_args_store(const struct lull_args *args,
                                   const struct lull_store_place *place, bool *is_new, int *status,
                                   GError **error)
{
    struct lull_store *store = lull_store_open(place->path, place->key, NULL);
    if (is_new) {
        *is_new = !store;
    }
    if (!store && build(args, place, status, error)) {
        store = lull_store_open(place->path, place->key, error);
    }
    return store;
}
