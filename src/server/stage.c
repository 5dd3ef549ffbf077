/* SPDX-License-Identifier: MIT */
/* Changes what is served under a lock that is held for a pointer's time. */
#include "server/stage.h"

#include "server/paths.h"

struct server_stage {
    struct served_about *about;
    GMutex lock;
    struct served *now; /* NULL: nothing yet */
};

struct server_stage *server_stage_new(const char *const *traces, uint32_t count, bool is_joined,
                                      const struct lull_periods *periods,
                                      const struct lull_states *states)
{
    struct server_stage *stage = g_new0(struct server_stage, 1);
    stage->about = served_about_new(traces, count, is_joined, periods, states);
    g_mutex_init(&stage->lock);
    return stage;
}

void server_stage_free(struct server_stage *stage)
{
    if (stage) {
        served_about_free(stage->about);
        served_unuse(stage->now);
        g_mutex_clear(&stage->lock);
        g_free(stage);
    }
}

void server_stage_show(struct server_stage *stage, struct lull_store *store, int64_t until_ns,
                       bool is_whole)
{
    struct served *next = served_new(stage->about, store, until_ns, is_whole);
    g_mutex_lock(&stage->lock);
    struct served *before = stage->now;
    stage->now = next;
    g_mutex_unlock(&stage->lock);
    if (is_whole) {
        server_paths_set_store(stage->about->paths, store);
    }
    served_unuse(before);
}

struct served *server_stage_use(struct server_stage *stage)
{
    g_mutex_lock(&stage->lock);
    struct served *served = stage->now ? served_use(stage->now) : NULL;
    g_mutex_unlock(&stage->lock);
    return served;
}

const struct served_about *server_stage_about(const struct server_stage *stage)
{
    return stage->about;
}
