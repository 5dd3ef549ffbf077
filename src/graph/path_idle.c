/* SPDX-License-Identifier: MIT */
/* While tasks of a path waited for their CPU, was another one idle? Then the machine was not full:
 * something kept them to theirs, as their CPU affinity does. */
#include "base/search.h"
#include "base/sums.h"
#include "graph/execgraph_private.h"
#include "graph/path.h"

/* It takes the kernel a moment to bring a task to an idle CPU, and shorter waits are nobody's
 * trouble. */
#define LEAST_NS 500000
/* Nor is less than this part of a path. */
#define LEAST_PART 100

struct span {
    int64_t start_ns, end_ns;
};

static gint by_start(gconstpointer a, gconstpointer b)
{
    const struct span *x = a, *y = b;
    return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

/* Adds when the CPU was idle within the span. True: all the time. */
static bool add_idle(const struct cpu_notes *notes, struct span within, GArray *idle)
{
    const size_t n = notes->switches.count;
    const size_t after = lull_switch_after(notes, within.start_ns);
    for (size_t i = after ? after - 1 : 0; i < n; i++) {
        const struct switch_note *note = &notes->switches.items[i];
        const struct span span = {
            MAX(note->time_ns, within.start_ns),
            i + 1 < n ? MIN(notes->switches.items[i + 1].time_ns, within.end_ns) : within.end_ns};
        if (note->time_ns >= within.end_ns) {
            break;
        }
        if (note->task == LULL_NONE && !note->is_unknown && span.start_ns < span.end_ns) {
            g_array_append_val(idle, span);
            if (span.end_ns - span.start_ns == within.end_ns - within.start_ns) {
                return true;
            }
        }
    }
    return false;
}

bool lull_idle_elsewhere(const struct lull_execgraph *eg, uint32_t host, int32_t cpu,
                         int64_t start_ns, int64_t end_ns, int64_t *idle_ns)
{
    const struct span within = {start_ns, end_ns};
    int64_t until_ns = start_ns;
    if (cpu < 0 || end_ns - start_ns < LEAST_NS || host >= eg->hosts.count) {
        return false;
    }
    g_autoptr(GArray) idle = g_array_new(FALSE, FALSE, sizeof(struct span));
    const struct host_notes *notes = &eg->hosts.items[host];
    for (size_t c = 0; c < notes->cpus.count; c++) {
        if ((int32_t)c != cpu && add_idle(&notes->cpus.items[c], within, idle)) {
            *idle_ns = end_ns - start_ns;
            return true;
        }
    }
    g_array_sort(idle, by_start);
    *idle_ns = 0;
    for (guint i = 0; i < idle->len; i++) {
        const struct span *span = &g_array_index(idle, struct span, i);
        *idle_ns += MAX(span->end_ns - MAX(span->start_ns, until_ns), 0);
        until_ns = MAX(until_ns, span->end_ns);
    }
    return true;
}

static gint longest_first(gconstpointer a, gconstpointer b)
{
    const struct lull_path_idle *x = a, *y = b;
    return x->idle_ns != y->idle_ns ? (x->idle_ns < y->idle_ns ? 1 : -1)
                                    : (x->task > y->task) - (x->task < y->task);
}

/* Those of the tasks to which it matters. */
static void keep_longest(struct lull_path *path, GArray *tasks)
{
    const int64_t least_ns = (path->end_ns - path->start_ns) / LEAST_PART;
    guint n = 0;
    g_array_sort(tasks, longest_first);
    while (n < tasks->len && g_array_index(tasks, struct lull_path_idle, n).idle_ns > 0 &&
           g_array_index(tasks, struct lull_path_idle, n).idle_ns >= least_ns) {
        n++;
    }
    g_array_set_size(tasks, n);
    path->n_idle = n;
    path->idle = n ? g_memdup2(tasks->data, n * sizeof(struct lull_path_idle)) : NULL;
}

void lull_path_list_idle(const struct lull_execgraph *eg, struct lull_path *path)
{
    g_autoptr(GArray) tasks = g_array_new(FALSE, FALSE, sizeof(struct lull_path_idle));
    struct lull_map numbers = {0}; /* task → its number in `tasks` */
    for (uint32_t i = 0; i < path->n_segments; i++) {
        const struct lull_segment *segment = &path->segments[i];
        int64_t idle_ns;
        if (segment->state != LULL_STATE_PREEMPTED || segment->cause == LULL_CAUSE_THROTTLED ||
            !lull_idle_elsewhere(eg, segment->host, segment->cpu, segment->start_ns,
                                 segment->end_ns, &idle_ns)) {
            continue;
        }
        uint32_t number = lull_map_find(&numbers, segment->task);
        if (number == LULL_MAP_NONE) {
            const struct lull_path_idle first = {.host = segment->host,
                                                 .task = segment->task,
                                                 .tid = segment->tid,
                                                 .cpu = segment->cpu};
            number = tasks->len;
            g_array_append_val(tasks, first);
            lull_map_insert(&numbers, segment->task, number);
        }
        struct lull_path_idle *task = &g_array_index(tasks, struct lull_path_idle, number);
        task->comm = segment->comm;
        task->cpu = task->cpu == segment->cpu ? task->cpu : -1;
        lull_add(&task->waited_ns, segment->end_ns - segment->start_ns);
        lull_add(&task->idle_ns, idle_ns);
    }
    lull_map_free(&numbers);
    keep_longest(path, tasks);
}
