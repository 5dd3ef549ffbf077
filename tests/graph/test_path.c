/* SPDX-License-Identifier: MIT */
/* The shares of a path, against sums by hand. */
#include <glib.h>

#include "graph/path.h"

static struct lull_path *new_path(const struct lull_segment *segments, uint32_t count)
{
    struct lull_path *path = g_new0(struct lull_path, 1);
    path->strings = g_string_chunk_new(64);
    path->host_names = (const char *const *)g_new0(const char *, 2);
    path->n_hosts = 2;
    path->segments = g_memdup2(segments, count * sizeof *segments);
    path->n_segments = count;
    return path;
}

static void test_shares(void)
{
    static const struct lull_segment segments[] = {
        {.host = 0,
         .task = 0,
         .tid = 50,
         .comm = "sh",
         .start_ns = 0,
         .end_ns = 10,
         .state = LULL_STATE_RUNNING},
        {.host = 1,
         .task = 0,
         .tid = 50,
         .comm = "other",
         .start_ns = 10,
         .end_ns = 40,
         .state = LULL_STATE_BLOCKED,
         .cause = LULL_CAUSE_DISK},
        {.host = 0,
         .task = 1,
         .tid = 50,
         .comm = "again",
         .start_ns = 40,
         .end_ns = 65,
         .state = LULL_STATE_BLOCKED,
         .cause = LULL_CAUSE_TIMER},
        {.host = 0,
         .task = 0,
         .tid = 50,
         .comm = "ls",
         .start_ns = 65,
         .end_ns = 80,
         .state = LULL_STATE_RUNNING},
        {.host = 0,
         .task = 7,
         .tid = 9,
         .start_ns = 80,
         .end_ns = 105,
         .state = LULL_STATE_PREEMPTED},
    };
    struct lull_path *path = new_path(segments, G_N_ELEMENTS(segments));
    for (int round = 0; round < 2; round++) { /* a second time changes nothing */
        lull_path_summarise(path);
        /* disk 30; running 10 + 15, preempted 25 and timer 25 are equal and go by state */
        static const struct lull_state_share states[] = {
            {LULL_STATE_BLOCKED, LULL_CAUSE_DISK, 30},
            {LULL_STATE_RUNNING, LULL_CAUSE_NONE, 25},
            {LULL_STATE_PREEMPTED, LULL_CAUSE_NONE, 25},
            {LULL_STATE_BLOCKED, LULL_CAUSE_TIMER, 25},
        };
        g_assert_cmpuint(path->n_by_state, ==, G_N_ELEMENTS(states));
        for (uint32_t i = 0; i < path->n_by_state; i++) {
            g_assert_cmpint(path->by_state[i].state, ==, states[i].state);
            g_assert_cmpint(path->by_state[i].cause, ==, states[i].cause);
            g_assert_cmpint(path->by_state[i].duration_ns, ==, states[i].duration_ns);
        }
        /* tid 50 of host 0 is two tasks, one after the other */
        static const struct lull_task_share tasks[] = {
            {1, 0, 50, "other", 30, NULL, "web", NULL},
            {0, 7, 9, NULL, 25, NULL, NULL, NULL},
            {0, 0, 50, "ls", 25, NULL, "web", NULL},
            {0, 1, 50, "again", 25, NULL, "web", NULL},
        };
        g_assert_cmpuint(path->n_by_task, ==, G_N_ELEMENTS(tasks));
        for (uint32_t i = 0; i < path->n_by_task; i++) {
            g_assert_cmpuint(path->by_task[i].host, ==, tasks[i].host);
            g_assert_cmpuint(path->by_task[i].task, ==, tasks[i].task);
            g_assert_cmpint(path->by_task[i].tid, ==, tasks[i].tid);
            g_assert_cmpstr(path->by_task[i].comm, ==, tasks[i].comm);
            g_assert_cmpint(path->by_task[i].duration_ns, ==, tasks[i].duration_ns);
        }
        lull_path_sum_containers(path);
        g_assert_cmpuint(path->n_by_container, ==, 0);
        for (uint32_t i = 0; i < path->n_by_task; i++) {
            path->by_task[i].container = tasks[i].container;
        }
        static const struct lull_container_share containers[] = {
            {0, "web", 50}, {1, "web", 30}, {0, NULL, 25}};
        lull_path_sum_containers(path);
        g_assert_cmpuint(path->n_by_container, ==, G_N_ELEMENTS(containers));
        for (uint32_t i = 0; i < path->n_by_container; i++) {
            g_assert_cmpuint(path->by_container[i].host, ==, containers[i].host);
            g_assert_cmpstr(path->by_container[i].name, ==, containers[i].name);
            g_assert_cmpint(path->by_container[i].duration_ns, ==, containers[i].duration_ns);
        }
        g_assert_cmpuint(path->n_by_host, ==, 2);
        g_assert_cmpuint(path->by_host[0].host, ==, 0);
        g_assert_cmpint(path->by_host[0].duration_ns, ==, 75);
        g_assert_cmpuint(path->by_host[1].host, ==, 1);
        g_assert_cmpint(path->by_host[1].duration_ns, ==, 30);
    }
    lull_path_free(path);
}

/* By program, state, cause and subject, each host by itself. */
static void test_causes(void)
{
    static const char sh[] = "sh", again[] = "vda read"; /* the same texts elsewhere */
    static const struct lull_segment segments[] = {
        {.host = 0, .program = "sh", .end_ns = 10, .state = LULL_STATE_RUNNING},
        {.host = 0,
         .program = "sh",
         .start_ns = 10,
         .end_ns = 40,
         .state = LULL_STATE_BLOCKED,
         .cause = LULL_CAUSE_DISK,
         .subject = "vda read"},
        {.host = 1,
         .program = "sh",
         .start_ns = 40,
         .end_ns = 47,
         .state = LULL_STATE_BLOCKED,
         .cause = LULL_CAUSE_DISK,
         .subject = "vda read"},
        {.host = 0,
         .program = sh,
         .start_ns = 47,
         .end_ns = 52,
         .state = LULL_STATE_BLOCKED,
         .cause = LULL_CAUSE_DISK,
         .subject = again},
        {.host = 0, .program = "sh", .start_ns = 52, .end_ns = 72, .state = LULL_STATE_RUNNING},
    };
    static const struct lull_cause_share expected[] = {
        {.state = LULL_STATE_BLOCKED,
         .cause = LULL_CAUSE_DISK,
         .detail = "vda read",
         .duration_ns = 35,
         .longest_ns = 30,
         .count = 2,
         .first = 1},
        {.state = LULL_STATE_RUNNING, .duration_ns = 30, .longest_ns = 20, .count = 2},
        {.host = 1,
         .state = LULL_STATE_BLOCKED,
         .cause = LULL_CAUSE_DISK,
         .detail = "vda read",
         .duration_ns = 7,
         .longest_ns = 7,
         .count = 1,
         .first = 2},
    };
    struct lull_path *path = new_path(segments, G_N_ELEMENTS(segments));
    lull_path_summarise(path);
    g_assert_cmpuint(lull_path_cause_count(path), ==, G_N_ELEMENTS(expected));
    for (uint32_t i = 0; i < G_N_ELEMENTS(expected); i++) {
        const struct lull_cause_share *share = lull_path_cause(path, i);
        g_assert_cmpuint(share->host, ==, expected[i].host);
        g_assert_cmpint(share->state, ==, expected[i].state);
        g_assert_cmpint(share->cause, ==, expected[i].cause);
        g_assert_cmpstr(share->detail, ==, expected[i].detail);
        g_assert_cmpint(share->duration_ns, ==, expected[i].duration_ns);
        g_assert_cmpint(share->longest_ns, ==, expected[i].longest_ns);
        g_assert_cmpuint(share->count, ==, expected[i].count);
        g_assert_cmpuint(share->first, ==, expected[i].first);
    }
    lull_path_free(path);
}

/* Once for each who waits, and for each call that it waits in; what the waits were on is shown where it
 * was the same each time. */
static void test_waiters(void)
{
    static struct lull_wait waits[] = {
        {.comm = "make", .reason = {.call = "flock", .object = "/a"}},
        {.comm = "make", .reason = {.call = "flock", .object = "/b"}},
        {.comm = "make", .reason = {.call = "wait4"}},
        {.comm = "cron", .reason = {.call = "wait4", .object = "sh"}},
    };
    static const struct lull_segment segments[] = {
        {.program = "sh", .start_ns = 0, .end_ns = 10, .wait = 0},
        {.program = "sh", .start_ns = 10, .end_ns = 30, .wait = 1},
        {.program = "sh", .start_ns = 30, .end_ns = 45, .wait = 2},
        {.program = "sh", .start_ns = 45, .end_ns = 49, .wait = 3},
        {.program = "sh", .start_ns = 49, .end_ns = 57, .wait = 3},
        {.program = "sh", .start_ns = 57, .end_ns = 60, .wait = LULL_NONE},
    };
    static const struct {
        int64_t duration_ns;
        const char *waiter, *call, *object;
    } expected[] = {
        {30, "make", "flock", NULL},
        {15, "make", "wait4", NULL},
        {12, "cron", "wait4", "sh"},
        {3, NULL, NULL, NULL},
    };
    struct lull_path *path = new_path(segments, G_N_ELEMENTS(segments));
    path->waits = g_memdup2(waits, sizeof waits);
    path->n_waits = G_N_ELEMENTS(waits);
    lull_path_summarise(path);
    g_assert_cmpuint(lull_path_cause_count(path), ==, G_N_ELEMENTS(expected));
    for (uint32_t i = 0; i < G_N_ELEMENTS(expected); i++) {
        const struct lull_cause_share *share = lull_path_cause(path, i);
        g_assert_cmpint(share->duration_ns, ==, expected[i].duration_ns);
        g_assert_cmpstr(share->waiter, ==, expected[i].waiter);
        g_assert_cmpstr(share->waiter_call, ==, expected[i].call);
        g_assert_cmpstr(share->waiter_object, ==, expected[i].object);
    }
    lull_path_free(path);
}

#define READ_OF(from_ns, to_ns, program_, file)                                                    \
    {                                                                                              \
        .program = program_, .start_ns = from_ns, .end_ns = to_ns, .state = LULL_STATE_BLOCKED,    \
        .cause = LULL_CAUSE_DISK, .subject = "vda read, in read", .call = "read", .reason = {      \
            .kind = "file",                                                                        \
            .call = "read",                                                                        \
            .object = file                                                                         \
        }                                                                                          \
    }

/* The file that a program waited for longest, and how long that was. */
static void test_files(void)
{
    static const struct lull_segment segments[] = {
        READ_OF(0, 10, "one", "/a"),
        READ_OF(10, 40, "one", "/a"),
        READ_OF(100, 109, "many", "/c"),
        READ_OF(109, 130, "many", "/b"),
        READ_OF(130, 140, "many", "/c"),
        READ_OF(140, 145, "many", NULL),
        READ_OF(200, 204, "equal", "/y"),
        READ_OF(204, 208, "equal", "/x"),
        READ_OF(300, 302, "unknown", NULL),
        /* What is said does not end with the call, and so not with its file either. */
        {.program = "fault",
         .start_ns = 400,
         .end_ns = 401,
         .state = LULL_STATE_BLOCKED,
         .cause = LULL_CAUSE_DISK,
         .subject = "vda read, in a page fault",
         .call = "read",
         .reason = {.kind = "file", .call = "read", .object = "/a"}},
    };
    static const struct {
        const char *program, *file;
        int64_t all_ns, file_ns;
    } expected[] = {{"many", "/b", 45, 21},
                    {"one", "/a", 40, 40},
                    {"equal", "/x", 8, 4},
                    {"unknown", NULL, 2, 0},
                    {"fault", NULL, 1, 0}};
    struct lull_path *path = new_path(segments, G_N_ELEMENTS(segments));
    lull_path_summarise(path);
    g_assert_cmpuint(lull_path_cause_count(path), ==, G_N_ELEMENTS(expected));
    for (uint32_t i = 0; i < G_N_ELEMENTS(expected); i++) {
        const struct lull_cause_share *share = lull_path_cause(path, i);
        g_assert_cmpstr(share->program, ==, expected[i].program);
        g_assert_cmpint(share->duration_ns, ==, expected[i].all_ns);
        g_assert_cmpstr(share->object, ==, expected[i].file);
        g_assert_cmpint(share->object_ns, ==, expected[i].file_ns);
    }
    lull_path_free(path);
}

/* Equal shares go by host, then by tid, whatever came first on the path. */
static void test_equal_shares(void)
{
    static const struct lull_segment segments[] = {
        {.host = 1, .task = 2, .tid = 5, .start_ns = 0, .end_ns = 10},
        {.host = 0, .task = 1, .tid = 8, .start_ns = 10, .end_ns = 20},
        {.host = 0, .task = 3, .tid = 7, .start_ns = 20, .end_ns = 30},
        {.host = 1, .task = 4, .tid = 6, .start_ns = 30, .end_ns = 40},
    };
    static const int32_t order[] = {7, 8, 5, 6};
    struct lull_path *path = new_path(segments, G_N_ELEMENTS(segments));
    lull_path_summarise(path);
    g_assert_cmpuint(path->n_by_task, ==, G_N_ELEMENTS(order));
    for (uint32_t i = 0; i < path->n_by_task; i++) {
        g_assert_cmpint(path->by_task[i].tid, ==, order[i]);
    }
    g_assert_cmpuint(path->by_host[0].host, ==, 0);
    g_assert_cmpuint(path->by_host[1].host, ==, 1);
    lull_path_free(path);
}

static void test_empty(void)
{
    struct lull_path *path = new_path(NULL, 0);
    lull_path_summarise(path);
    g_assert_cmpuint(path->n_by_state + path->n_by_task + path->n_by_host, ==, 0);
    lull_path_free(path);
    lull_path_free(g_new0(struct lull_path, 1));
    lull_path_free(NULL);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/path/shares", test_shares);
    g_test_add_func("/path/equal-shares", test_equal_shares);
    g_test_add_func("/path/causes", test_causes);
    g_test_add_func("/path/waiters", test_waiters);
    g_test_add_func("/path/files", test_files);
    g_test_add_func("/path/empty", test_empty);
    return g_test_run();
}
