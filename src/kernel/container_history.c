/* SPDX-License-Identifier: MIT */
/* Has a model read the session, and notes where each thread is whenever it gets a CPU or is moved: in
 * between it does nothing that an event could be of. */
#include "kernel/container_history.h"

#include "base/map.h"
#include "base/search.h"
#include "base/vec.h"
#include "kernel/model.h"
#include "kernel/vocabulary.h"
#include "source/session/aside.h"

/* Somewhere from then on. */
struct stay {
    int64_t since_ns;
    const struct lull_container_place *place; /* NULL: not known where */
};

struct thread {
    LULL_VEC(struct stay) stays; /* in order of time */
};

struct lull_container_history {
    const struct lull_model *model; /* while it reads */
    struct lull_map by_tid;         /* host, tid → threads */
    LULL_VEC(struct thread) threads;
    GHashTable *places; /* struct lull_container of the model → struct lull_container_place */
    GStringChunk *texts;
};

static uint64_t key_of(uint32_t host, int32_t tid)
{
    return (uint64_t)host << 32 | (uint32_t)tid;
}

static const struct lull_container_place *place_of(struct lull_container_history *history,
                                                   uint32_t task)
{
    const struct lull_container *container = lull_model_container(history->model, task);
    struct lull_container_place *place = g_hash_table_lookup(history->places, container);
    if (!*container->runtime) {
        return NULL; /* the one of which nothing is known */
    }
    if (!place) {
        place = g_new(struct lull_container_place, 1);
        place->name = g_string_chunk_insert_const(history->texts, container->name);
        place->path = g_string_chunk_insert_const(history->texts, container->path);
        place->pod = g_string_chunk_insert_const(history->texts, container->pod);
        g_hash_table_insert(history->places, (gpointer)container, place);
    }
    return place;
}

static void note(struct lull_container_history *history, uint32_t task, int64_t time_ns)
{
    const struct lull_task *about = lull_model_task(history->model, task);
    if (about->tid <= 0) {
        return;
    }
    const uint64_t key = key_of(about->host, about->tid);
    const struct lull_container_place *place = place_of(history, task);
    uint32_t number = lull_map_find(&history->by_tid, key);
    if (number == LULL_MAP_NONE && !place) {
        return;
    }
    if (number == LULL_MAP_NONE) {
        number = (uint32_t)history->threads.count;
        lull_map_insert(&history->by_tid, key, number);
        lull_vec_push(&history->threads, (struct thread){0});
    }
    struct thread *thread = &history->threads.items[number];
    const size_t n = thread->stays.count;
    if (n == 0 || thread->stays.items[n - 1].place != place) {
        const int64_t before_ns = n ? thread->stays.items[n - 1].since_ns : INT64_MIN;
        lull_vec_push(&thread->stays, (struct stay){MAX(time_ns, before_ns), place});
    }
}

static void on_switch(void *user, const struct lull_switch_fact *fact)
{
    if (fact->task != LULL_NONE) {
        note(user, fact->task, fact->time_ns);
    }
}

static void on_move(void *user, const struct lull_cgroup_fact *fact)
{
    note(user, fact->task, fact->time_ns);
}

/* Of those that have not got a CPU: at all times. */
static void note_others(struct lull_container_history *history)
{
    for (uint32_t i = 0; i < lull_model_task_count(history->model); i++) {
        const struct lull_task *task = lull_model_task(history->model, i);
        if (lull_map_find(&history->by_tid, key_of(task->host, task->tid)) == LULL_MAP_NONE) {
            note(history, i, INT64_MIN);
        }
    }
}

struct lull_container_history *lull_container_history_read(struct lull_session *session)
{
    static const struct lull_facts facts = {.switched = on_switch, .cgroup = on_move};
    struct lull_session_aside aside;
    int64_t first_ns, last_ns;
    if (!lull_session_put_aside(session, &aside)) {
        return NULL;
    }
    struct lull_container_history *history = g_new0(struct lull_container_history, 1);
    history->places = g_hash_table_new_full(NULL, NULL, NULL, g_free);
    history->texts = g_string_chunk_new(4096);
    struct lull_model *model = lull_model_new(session, LULL_GROUP_SCHED | LULL_GROUP_STATE);
    history->model = model;
    if (lull_session_range(session, &first_ns, &last_ns)) {
        lull_model_read_containers(model, first_ns);
        note_others(history);
        lull_model_subscribe(model, &facts, history);
        lull_model_run(model, NULL, NULL);
        note_others(history);
    }
    lull_session_unsubscribe_all(session);
    lull_model_free(model);
    lull_session_take_up(session, &aside);
    return history;
}

void lull_container_history_free(struct lull_container_history *history)
{
    if (!history) {
        return;
    }
    for (size_t i = 0; i < history->threads.count; i++) {
        lull_vec_free(&history->threads.items[i].stays);
    }
    lull_vec_free(&history->threads);
    lull_map_free(&history->by_tid);
    g_hash_table_unref(history->places);
    g_string_chunk_free(history->texts);
    g_free(history);
}

const struct lull_container_place *
lull_container_history_at(const struct lull_container_history *history, uint32_t host, int64_t tid,
                          int64_t time_ns)
{
    const uint32_t number = tid > 0 && tid <= INT32_MAX
                                ? lull_map_find(&history->by_tid, key_of(host, (int32_t)tid))
                                : LULL_MAP_NONE;
    if (number == LULL_MAP_NONE) {
        return NULL;
    }
    const struct thread *thread = &history->threads.items[number];
    const size_t after =
        LULL_LOWER_BOUND(i, thread->stays.count, thread->stays.items[i].since_ns <= time_ns);
    return after > 0 ? thread->stays.items[after - 1].place : NULL;
}
