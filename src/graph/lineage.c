/* SPDX-License-Identifier: MIT */
/* Where a task comes from: the programs that started it, and the command that it was. */
#include "graph/lineage.h"

#include <lull/recording.h>

#include <string.h>

/* Who made the task, as far as the trace shows it. */
static uint32_t parent_of(const struct lull_model *model, uint32_t number)
{
    const struct lull_task *task = lull_model_task(model, number);
    if (task->parent == LULL_NONE && task->ppid > 0) {
        return lull_model_find_tid(model, task->host, task->ppid);
    }
    return task->parent;
}

char *lull_lineage_of(const struct lull_model *model, uint32_t task)
{
    enum { MOST = 16 };
    g_autoptr(GString) text = g_string_new(NULL);
    const struct lull_task *child = lull_model_task(model, task);
    uint32_t number = parent_of(model, task);
    for (int i = 0; i < MOST && number != LULL_NONE; i++) {
        const struct lull_task *parent = lull_model_task(model, number);
        if (parent->pid < 0 || parent->pid != child->pid) {
            const int64_t time_ns = child->birth_ns == INT64_MIN ? INT64_MAX : child->birth_ns;
            g_autofree char *name =
                g_strdup_printf("%s/%d%s", lull_model_comm(model, number, time_ns), parent->tid,
                                text->len ? " → " : "");
            g_string_prepend(text, name);
        }
        child = parent;
        number = parent_of(model, number);
    }
    return text->len ? g_string_free(g_steal_pointer(&text), FALSE) : NULL;
}

bool lull_lineage_are_workers(const struct lull_model *model, uint32_t a, uint32_t b,
                              int64_t time_ns)
{
    const struct lull_task *x = lull_model_task(model, a), *y = lull_model_task(model, b);
    const uint32_t parent = parent_of(model, a);
    if (x->host != y->host || x->pid <= 0 || y->pid <= 0 || x->pid == y->pid ||
        parent == LULL_NONE || parent != parent_of(model, b)) {
        return false;
    }
    const char *name = lull_model_comm(model, parent, time_ns);
    return strcmp(name, lull_model_comm(model, a, time_ns)) == 0 &&
           strcmp(name, lull_model_comm(model, b, time_ns)) == 0;
}

const char *const *lull_lineage_command(const struct lull_model *model,
                                        const struct lull_session *session, uint32_t task)
{
    const struct lull_task *known = lull_model_task(model, task);
    for (uint32_t i = 0; i < lull_session_recording_count(session); i++) {
        const struct lull_recording_info *info = lull_session_recording(session, i);
        if (info->command && info->pid > 0 && info->host == known->host &&
            (info->pid == known->tid || info->pid == known->pid)) {
            return info->command;
        }
    }
    return NULL;
}
