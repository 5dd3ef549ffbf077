/* SPDX-License-Identifier: MIT */
/* Finds, for each task, the longest time it was blocked: from the sched_switch that took it off a
 * CPU while it was not runnable, to the wake-up that made it runnable again.
 *
 *   cc longest_wait.c $(pkg-config --cflags --libs lull) -o longest_wait
 *   ./longest_wait TRACE...
 *
 * Shows several subscriptions told apart, and fields that have different names in different
 * kernels. It is an example of reading events: `lull critpath` also says what the task waited for.
 */
#include <lull/session.h>

#include <stddef.h>
#include <stdio.h>
#include <string.h>

struct switch_fields {
    uint64_t present;
    int64_t prev_tid;
    int64_t prev_state;
    struct lull_text prev_comm;
};

struct wakeup_fields {
    uint64_t present;
    int64_t tid;
};

struct task {
    uint32_t host;
    int64_t tid;
    char comm[32];
    int64_t blocked_since_ns; /* INT64_MIN: it is not blocked */
    int64_t longest_ns;       /* 0: it never was */
    int64_t longest_start_ns;
};

static guint task_hash(gconstpointer data)
{
    const struct task *task = data;
    return g_int64_hash(&task->tid) ^ task->host;
}

/* A thread id alone names no task when several machines are read. */
static gboolean task_equal(gconstpointer left, gconstpointer right)
{
    const struct task *a = left, *b = right;
    return a->host == b->host && a->tid == b->tid;
}

static gint task_compare(gconstpointer left, gconstpointer right)
{
    const struct task *a = *(struct task *const *)left, *b = *(struct task *const *)right;
    if (a->longest_ns != b->longest_ns) {
        return a->longest_ns < b->longest_ns ? 1 : -1;
    }
    if (a->host != b->host) {
        return a->host < b->host ? -1 : 1;
    }
    return a->tid < b->tid ? -1 : a->tid > b->tid;
}

static struct task *find_task(GHashTable *tasks, uint32_t host, int64_t tid)
{
    struct task key = {.host = host, .tid = tid, .blocked_since_ns = INT64_MIN};
    struct task *task = g_hash_table_lookup(tasks, &key);
    if (!task) {
        task = g_new(struct task, 1);
        *task = key;
        g_hash_table_add(tasks, task);
    }
    return task;
}

static void on_switch(GHashTable *tasks, const struct lull_event *event)
{
    const struct switch_fields *fields = event->fields;
    if (fields->prev_tid == 0) {
        return; /* the idle task waits for nothing */
    }
    struct task *task = find_task(tasks, event->host, fields->prev_tid);
    size_t length = MIN(fields->prev_comm.length, sizeof(task->comm) - 1);
    if (length > 0) {
        memcpy(task->comm, fields->prev_comm.data, length);
    }
    task->comm[length] = '\0';
    /* The low bits say why it gave up the CPU (TASK_INTERRUPTIBLE 1, TASK_UNINTERRUPTIBLE 2, …); 0
     * means that it would have liked to run on. Kernels set 0x100 or above for preemption. */
    bool blocked = (fields->prev_state & 0xff) != 0;
    task->blocked_since_ns = blocked ? event->time_ns : INT64_MIN;
}

static void on_wakeup(GHashTable *tasks, const struct lull_event *event)
{
    const struct wakeup_fields *fields = event->fields;
    struct task *task = find_task(tasks, event->host, fields->tid);
    if (task->blocked_since_ns == INT64_MIN) {
        return;
    }
    int64_t waited_ns = event->time_ns - task->blocked_since_ns;
    if (waited_ns > task->longest_ns) {
        task->longest_ns = waited_ns;
        task->longest_start_ns = task->blocked_since_ns;
    }
    task->blocked_since_ns = INT64_MIN;
}

static void print_tasks(const struct lull_session *session, GHashTable *tasks)
{
    GPtrArray *sorted = g_ptr_array_new();
    GHashTableIter iter;
    gpointer item;
    g_hash_table_iter_init(&iter, tasks);
    while (g_hash_table_iter_next(&iter, &item, NULL)) {
        if (((struct task *)item)->longest_ns > 0) {
            g_ptr_array_add(sorted, item);
        }
    }
    g_ptr_array_sort(sorted, task_compare);
    for (guint i = 0; i < sorted->len; i++) {
        const struct task *task = g_ptr_array_index(sorted, i);
        printf("%12.3f ms  since %" G_GINT64_FORMAT "  tid %" G_GINT64_FORMAT "  %s  %s\n",
               (double)task->longest_ns / 1e6, task->longest_start_ns, task->tid, task->comm,
               lull_session_host(session, task->host)->name);
    }
    g_ptr_array_free(sorted, TRUE);
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        fprintf(stderr, "usage: %s TRACE...\n", argv[0]);
        return 2;
    }
    struct lull_session *session = lull_session_new();
    GError *error = NULL;
    for (int i = 1; i < argc; i++) {
        if (!lull_session_add(session, argv[i], &error)) {
            fprintf(stderr, "%s: %s\n", argv[0], error->message);
            g_error_free(error);
            lull_session_free(session);
            return 1;
        }
    }

    static const char *const switch_names[] = {"sched_switch", NULL};
    static const char *const wakeup_names[] = {"sched_wakeup", "sched_wakeup_new", NULL};
    /* The first name that the trace knows is taken: LTTng says tid, ftrace and perf say pid. */
    static const char *const prev_tid[] = {"prev_tid", "prev_pid", NULL};
    static const char *const prev_state[] = {"prev_state", NULL};
    static const char *const prev_comm[] = {"prev_comm", NULL};
    static const char *const tid[] = {"tid", "pid", NULL};
    static const struct lull_binding switch_bindings[] = {
        {prev_tid, LULL_BIND_INT, offsetof(struct switch_fields, prev_tid)},
        {prev_state, LULL_BIND_INT, offsetof(struct switch_fields, prev_state)},
        {prev_comm, LULL_BIND_TEXT, offsetof(struct switch_fields, prev_comm)},
    };
    static const struct lull_binding wakeup_bindings[] = {
        {tid, LULL_BIND_INT, offsetof(struct wakeup_fields, tid)},
    };
    uint32_t switches = lull_session_subscribe(session, switch_names, switch_bindings, 3,
                                               sizeof(struct switch_fields));
    lull_session_subscribe(session, wakeup_names, wakeup_bindings, 1, sizeof(struct wakeup_fields));

    GHashTable *tasks = g_hash_table_new_full(task_hash, task_equal, NULL, g_free);
    struct lull_event event;
    while (lull_session_next(session, &event) == 1) {
        if (event.subscription == switches) {
            on_switch(tasks, &event);
        } else {
            on_wakeup(tasks, &event);
        }
    }
    print_tasks(session, tasks);

    for (uint32_t i = 0; i < lull_session_problem_count(session); i++) {
        fprintf(stderr, "%s\n", lull_session_problem(session, i));
    }
    g_hash_table_destroy(tasks);
    lull_session_free(session);
    return 0;
}
