/* SPDX-License-Identifier: MIT */
/* From traces to their store: what is in the cache is taken, else it is made. */
#include "cmd/store_args.h"

#include <lull/error.h>

#include "cmd/join_args.h"

bool lull_args_store_place(const struct lull_args *args, struct lull_states **states,
                           struct lull_store_place *place, GError **error)
{
    *states = NULL;
    uint32_t count;
    const char *const *traces = lull_args_rest(args, &count);
    if (count == 0) {
        g_set_error_literal(
            error, LULL_ERROR, LULL_ERROR_USAGE,
            "no trace given, and no recording of yours was found: name a trace, or record "
            "one (sudo lull record COMMAND)");
        return false;
    }
    return lull_args_states(args, false, states, error) &&
           lull_store_place_find(traces, count, !lull_args_flag(args, "no-sync"), *states, place,
                                 error);
}

struct making {
    const struct lull_store_making *wanted;
    struct lull_progress progress;
};

static bool on_progress(void *user)
{
    struct making *making = user;
    lull_progress_update(&making->progress);
    return !making->wanted->is_stopped || !g_atomic_int_get(making->wanted->is_stopped);
}

/* Who sees it needs no bar. */
static void on_part(void *user, struct lull_store *part, int64_t end_ns)
{
    struct making *making = user;
    lull_progress_end(&making->progress);
    making->wanted->show(making->wanted->user, part, end_ns);
}

bool lull_args_store_make(const struct lull_args *args, const struct lull_store_place *place,
                          const struct lull_store_making *wanted, int *status, GError **error)
{
    struct making making = {.wanted = wanted};
    const struct lull_store_watch watch = {on_progress, wanted->show ? on_part : NULL, &making};
    struct lull_session *session = lull_args_open_traces(args, error);
    if (!session) {
        return false;
    }
    if (lull_session_host_count(session) > 1) {
        lull_args_join(args, session);
    }
    if (wanted->states) {
        lull_args_check_states(wanted->states, session);
    }
    lull_progress_start(&making.progress, args, session, "indexing", false);
    const bool is_done =
        lull_store_place_make(place, error) &&
        lull_store_build(session, wanted->states, place->path, place->key, &watch, error);
    lull_progress_end(&making.progress);
    *status = lull_args_report_problems(session);
    lull_session_free(session);
    return is_done;
}

struct lull_store *lull_args_store(const struct lull_args *args, const struct lull_states *states,
                                   const struct lull_store_place *place, bool *is_new, int *status,
                                   GError **error)
{
    const struct lull_store_making making = {.states = states};
    struct lull_store *store = lull_store_open(place->path, place->key, NULL);
    if (is_new) {
        *is_new = !store;
    }
    if (!store && lull_args_store_make(args, place, &making, status, error)) {
        store = lull_store_open(place->path, place->key, error);
    }
    return store;
}
