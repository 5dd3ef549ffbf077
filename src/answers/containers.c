/* SPDX-License-Identifier: MIT */
/* Lists containers from the state dump at the start of a recording. */
#include "answers/containers.h"

#include "kernel/model.h"
#include "kernel/vocabulary.h"
#include "source/session/streams.h"

static void free_note(gpointer data)
{
    struct lull_container_note *note = data;
    g_free(note->name);
    g_free(note->runtime);
    g_free(note->id);
    g_free(note->pod);
    g_free(note->cgroup);
    g_free(note);
}

static bool is_recorded(const struct lull_session *session)
{
    static const char *const names[] = {"lull_statedump_cgroup", NULL};
    bool is_any = false;
    for (uint32_t host = 0; host < lull_session_host_count(session); host++) {
        is_any |= lull_session_declares(session, host, names);
    }
    return is_any;
}

/* Of each container of the model one note; *numbers: container → its place in the list. */
static void add_notes(const struct lull_model *model, GPtrArray *list, GHashTable *numbers)
{
    for (uint32_t i = 0; i < lull_model_container_count(model); i++) {
        struct lull_container_note *note = g_new0(struct lull_container_note, 1);
        const struct lull_container *container = lull_model_container_at(model, i, &note->host);
        note->name = g_strdup(container->name);
        note->runtime = g_strdup(container->runtime);
        note->id = g_strdup(container->id);
        note->pod = g_strdup(container->pod);
        note->cgroup = g_strdup(container->path);
        g_hash_table_insert(numbers, (gpointer)container, note);
        g_ptr_array_add(list, note);
    }
}

GPtrArray *lull_containers_list(struct lull_session *session)
{
    GPtrArray *list = g_ptr_array_new_with_free_func(free_note);
    int64_t first_ns, last_ns;
    if (!is_recorded(session) || !lull_session_range(session, &first_ns, &last_ns)) {
        return list;
    }
    g_autoptr(GHashTable) numbers = g_hash_table_new(NULL, NULL);
    struct lull_model *model = lull_model_new(session, LULL_GROUP_STATE);
    lull_model_read_containers(model, first_ns);
    add_notes(model, list, numbers);
    for (uint32_t i = 0; i < lull_model_task_count(model); i++) {
        struct lull_container_note *note =
            g_hash_table_lookup(numbers, lull_model_container(model, i));
        if (note) {
            note->tasks++;
        }
    }
    lull_model_free(model);
    lull_session_unsubscribe_all(session);
    return list;
}
