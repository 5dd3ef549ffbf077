/* SPDX-License-Identifier: MIT */
/* Which processes of a path the kernel killed meanwhile: who waited for one of them waited for its death. */
#include "graph/execgraph_private.h"
#include "graph/path.h"

static guint hash_process(gconstpointer key)
{
    const struct lull_task *task = key;
    return (guint)task->pid * 31 + task->host;
}

static gboolean same_process(gconstpointer a, gconstpointer b)
{
    const struct lull_task *x = a, *y = b;
    return x->host == y->host && x->pid == y->pid;
}

static struct lull_path_kill tell(const struct lull_model *model, const struct lull_kill *kill,
                                  GStringChunk *strings)
{
    const struct lull_task *task = lull_model_task(model, kill->task);
    g_autoptr(GString) what = g_string_new(NULL);
    lull_kill_append(model, kill, what);
    struct lull_path_kill told = {.host = task->host,
                                  .tid = task->tid,
                                  .comm = g_string_chunk_insert_const(
                                      strings, lull_model_comm(model, kill->task, kill->time_ns)),
                                  .time_ns = kill->time_ns,
                                  .kind = lull_kill_kind_name(kill->kind),
                                  .what = g_string_chunk_insert_const(strings, what->str),
                                  .limit = kill->limit == LULL_KILL_LIMIT_GROUP     ? "cgroup"
                                           : kill->limit == LULL_KILL_LIMIT_MACHINE ? "machine"
                                                                                    : NULL,
                                  .resident_bytes = kill->resident_bytes,
                                  .asker_tid = -1};
    if (kill->asker != LULL_NONE) {
        told.asker_tid = lull_model_task(model, kill->asker)->tid;
        told.asker_comm = g_string_chunk_insert_const(
            strings, lull_model_comm(model, kill->asker, kill->time_ns));
    }
    return told;
}

void lull_path_list_kills(const struct lull_execgraph *eg, struct lull_path *path)
{
    const struct lull_model *model = eg->model;
    uint32_t n;
    const struct lull_kill *kills = lull_model_kills(model, path->start_ns, path->end_ns, &n);
    g_autoptr(GHashTable) processes = g_hash_table_new(hash_process, same_process);
    LULL_VEC(struct lull_path_kill) list = {0};
    for (uint32_t i = 0; n > 0 && i < path->n_by_task; i++) {
        g_hash_table_add(processes, (gpointer)lull_model_task(model, path->by_task[i].task));
    }
    for (uint32_t i = 0; i < n; i++) {
        if (g_hash_table_contains(processes, lull_model_task(model, kills[i].task))) {
            lull_vec_push(&list, tell(model, &kills[i], path->strings));
        }
    }
    path->n_kills = (uint32_t)list.count;
    path->kills = lull_vec_steal(&list);
}
