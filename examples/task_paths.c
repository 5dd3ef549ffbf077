/* SPDX-License-Identifier: MIT */
/* Says of each task what its critical path is most about, and of each request which task sent it.
 *
 *   cc task_paths.c $(pkg-config --cflags --libs lull) -o task_paths
 *   ./task_paths TRACE [TASK]
 *
 * TASK is a tid, a name or a container: then it is the path of that task alone. Shows tasks, how to find one,
 * requests, and the shares of a path. */
#include <lull/lull.h>

#include <stdio.h>
#include <stdlib.h>

static void print_path(const struct lull_waits *waits, const struct lull_path *path)
{
    int64_t start_ns, end_ns;
    uint64_t events, packets;
    const struct lull_task *task = lull_waits_task(waits, lull_path_task(path));
    const struct lull_state_share *state = lull_path_state(path, 0);
    const struct lull_task_share *most = lull_path_task_share(path, 0);
    lull_path_range(path, &start_ns, &end_ns);
    lull_path_losses(path, &events, &packets);
    printf("%s/%d: %.3f ms on %u hosts by %u tasks in %u states, most of it %s, with %s%s\n",
           lull_waits_comm(waits, lull_path_task(path), end_ns), task->tid,
           (double)(end_ns - start_ns) / 1e6, lull_path_host_count(path),
           lull_path_task_count(path), lull_path_state_count(path), lull_state_name(state->state),
           most->comm, events + packets > 0 ? " (something was lost meanwhile)" : "");
}

static void print_path_of(const struct lull_waits *waits, uint32_t task)
{
    struct lull_path *path =
        lull_waits_task_path(waits, task, INT64_MIN, INT64_MAX, LULL_PATH_UNBOUNDED, NULL);
    if (path) {
        print_path(waits, path);
    }
    lull_path_free(path);
}

static uint32_t find(const struct lull_waits *waits, const char *whom)
{
    char *end;
    const long long tid = strtoll(whom, &end, 10);
    uint32_t task = *end ? lull_waits_find_comm(waits, -1, whom, NULL, NULL)
                         : lull_waits_find_tid(waits, -1, tid, NULL);
    return task != LULL_NONE ? task : lull_waits_find_container(waits, -1, whom, NULL, NULL);
}

static void print_requests(const struct lull_waits *waits, struct lull_instances *instances)
{
    for (uint32_t i = 0; i < lull_waits_request_count(waits); i++) {
        const struct lull_request *request = lull_waits_request(waits, i);
        const struct lull_instance *instance = lull_instances_at(instances, i);
        printf("request %u to %s port %u by %s: %s%s\n", request->id, request->peer, request->port,
               request->comm, lull_instances_kind(instances, instance->kind),
               lull_instance_has_path(instance) ? "" : ", without path");
    }
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        fprintf(stderr, "usage: %s TRACE [TASK]\n", argv[0]);
        return 2;
    }
    GError *error = NULL;
    struct lull_session *session = lull_session_new();
    struct lull_waits *waits = NULL;
    if (lull_session_add(session, argv[1], &error)) {
        waits = lull_waits_new(session, LULL_WANT_PATHS | LULL_WANT_REQUESTS, &error);
    }
    if (!waits) {
        fprintf(stderr, "%s: %s\n", argv[0], error->message);
        g_error_free(error);
        lull_session_free(session);
        return 1;
    }
    lull_waits_read(waits, NULL, NULL);
    if (argc > 2) {
        const uint32_t task = find(waits, argv[2]);
        if (task != LULL_NONE) {
            print_path_of(waits, task);
        }
    } else {
        for (uint32_t task = 0; task < lull_waits_task_count(waits); task++) {
            print_path_of(waits, task);
        }
        struct lull_instances *instances = lull_waits_instances(waits, NULL, NULL, NULL);
        print_requests(waits, instances);
        lull_instances_free(instances);
    }
    lull_waits_free(waits);
    lull_session_free(session);
    return 0;
}
