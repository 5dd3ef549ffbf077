/* SPDX-License-Identifier: MIT */
/* Births and deaths of tasks: whose child a task is, who it is that wakes it for the first time, and
 * when its number may be another's. Their names; and what they waited for if nobody was seen to wake
 * them. */
#include "lib/feed.h"

struct fixture {
    struct lull_model *model;
    GString *wakes; /* "20 by 10 at 100\n"; "20 disk\n" if not by a task */
};

static int tid_of(const struct lull_model *model, uint32_t task)
{
    return task == LULL_NONE ? 0 : lull_model_task(model, task)->tid;
}

static void on_state(void *user, const struct lull_state_fact *fact)
{
    struct fixture *f = user;
    if (fact->wakeup && fact->wakeup->cause != LULL_CAUSE_TASK) {
        g_string_append_printf(f->wakes, "%d %s\n", tid_of(f->model, fact->task),
                               lull_cause_name(fact->wakeup->cause));
    } else if (fact->wakeup) {
        g_string_append_printf(f->wakes, "%d by %d at %d\n", tid_of(f->model, fact->task),
                               tid_of(f->model, fact->wakeup->task), (int)fact->wakeup->time_ns);
    }
}

static void set_up(struct fixture *f, gconstpointer data)
{
    static const struct lull_facts facts = {.state = on_state};
    f->model = lull_model_new(NULL, LULL_GROUP_SCHED | LULL_GROUP_STATE);
    f->wakes = g_string_new(NULL);
    lull_model_subscribe(f->model, &facts, f);
    feed_switch(f->model, 0, 0, 50, 0, 10, 0);
}

static void tear_down(struct fixture *f, gconstpointer data)
{
    lull_model_free(f->model);
    g_string_free(f->wakes, TRUE);
}

static const struct lull_task *task_with(struct fixture *f, int tid)
{
    uint32_t task = lull_model_find_tid(f->model, 0, tid);
    g_assert_cmpuint(task, !=, LULL_NONE);
    return lull_model_task(f->model, task);
}

static void feed_birth(struct fixture *f, int64_t t, uint64_t have, int parent, int child)
{
    struct lull_model *model = f->model;
    FEED(sched_process_fork, 0, 0, t, .have = have, .parent_tid = parent, .parent_pid = parent,
         .child_tid = child, .child_pid = child, .child_comm = feed_text("child"));
}

static void test_child(struct fixture *f, gconstpointer data)
{
    feed_birth(f, 100, ALL, 10, 20);
    feed_switch(f->model, 0, 1, 120, 0, 20, 0);
    g_assert_cmpint(task_with(f, 20)->ppid, ==, 10);
    g_assert_cmpint(task_with(f, 20)->pid, ==, 20);
    g_assert_cmpstr(f->wakes->str, ==, "20 by 10 at 100\n");
}

/* Tracers differ in what they report of a fork. */
static void test_unknown_parent(struct fixture *f, gconstpointer data)
{
    feed_birth(f, 100, WITHOUT(sched_process_fork, parent_tid), 0, 20);
    feed_switch(f->model, 0, 1, 120, 0, 20, 0);
    g_assert_cmpint(task_with(f, 20)->ppid, ==, -1);
    g_assert_cmpint(task_with(f, 20)->pid, ==, 20);
    g_assert_cmpstr(f->wakes->str, ==, "");
}

/* perf reports a fork by itself and by the tracepoint: that is one child. */
static void test_reported_twice(struct fixture *f, gconstpointer data)
{
    feed_birth(f, 100, ALL, 10, 20);
    uint32_t count = lull_model_task_count(f->model);
    feed_birth(f, 101, ALL, 10, 20);
    g_assert_cmpuint(lull_model_task_count(f->model), ==, count);
    feed_switch(f->model, 0, 1, 120, 0, 20, 0);
    g_assert_cmpstr(f->wakes->str, ==, "20 by 10 at 100\n");
}

/* What has a number that is born anew is dead, though its end was not seen. */
static void test_born_again(struct fixture *f, gconstpointer data)
{
    feed_switch(f->model, 0, 1, 60, 0, 20, 0);
    uint32_t first = lull_model_find_tid(f->model, 0, 20);
    feed_birth(f, 100, ALL, 10, 20);
    g_assert_true(lull_model_task(f->model, first)->is_dead);
    feed_switch(f->model, 0, 1, 120, 0, 20, 0);
    g_assert_cmpuint(lull_model_find_tid(f->model, 0, 20), !=, first);
}

/* Freed by the kernel, it is gone; whoever has its number then is another. That it exits is not its
 * end: it still runs. */
static void test_freed(struct fixture *f, gconstpointer data)
{
    struct lull_model *model = f->model;
    uint32_t first = lull_model_find_tid(model, 0, 10);
    FEED(sched_process_exit, 0, 0, 60, .have = ALL, .tid = 10);
    g_assert_cmpint(lull_model_task(model, first)->exit_ns, ==, 60);
    g_assert_false(lull_model_task(model, first)->is_dead);
    FEED(sched_process_free, 0, 1, 70, .have = ALL, .tid = 10);
    g_assert_cmpint(lull_model_task(model, first)->exit_ns, ==, 60);
    g_assert_cmpint(lull_model_task(model, first)->last_ns, ==, 70);
    g_assert_true(lull_model_task(model, first)->is_dead);
    feed_switch(model, 0, 1, 80, 0, 10, 0);
    g_assert_cmpuint(lull_model_find_tid(model, 0, 10), !=, first);
}

/* Nobody is seen to wake 10: not from sleep; nor when it waited uninterruptibly with its request in
 * the disk; nor when the request was done before, so that it waited for something else. */
static void test_unseen_wakings(struct fixture *f, gconstpointer data)
{
    struct lull_model *model = f->model;
    const uint64_t have = WITHOUT(block_rq_issue, context_tid) & WITHOUT(block_rq_issue, rwbs_text);
    feed_switch(model, 0, 0, 60, 10, 0, 1);
    feed_switch(model, 0, 0, 70, 0, 10, 0);
    for (int64_t t = 100; t <= 300; t += 100) {
        FEED(block_rq_issue, 0, 0, t, .have = have, .dev = 8, .sector = t, .sectors = 8, .rwbs = 1);
        if (t == 200) {
            FEED(block_rq_complete, 0, 0, t + 5, .have = have, .dev = 8, .sector = t, .sectors = 8,
                 .rwbs = 1);
        }
        feed_switch(model, 0, 0, t + 10, 10, 0, t == 300 ? 1 : 2);
        feed_switch(model, 0, 0, t + 50, 0, 10, 0);
    }
    g_assert_cmpstr(f->wakes->str, ==, "10 unknown\n10 disk\n10 unknown\n10 unknown\n");
}

/* Names hold from when they were given; before the first, a task had that one. Of several that once had
 * a name, the one that was seen longest is meant. */
static void test_names(struct fixture *f, gconstpointer data)
{
    struct lull_model *model = f->model;
    for (int tid = 20; tid < 23; tid++) {
        feed_switch(model, 0, 1, 100 + tid * 20, 0, tid, 0);
        feed_switch(model, 0, 1, 110 + tid * 20, tid, 0, 1);
        FEED(task_rename, 0, 1, 115 + tid * 20, .have = ALL, .tid = tid,
             .newcomm = feed_text("same"));
    }
    feed_switch(model, 0, 1, 700, 0, 21, 0);
    feed_switch(model, 0, 1, 800, 21, 0, 1);
    const uint32_t task = lull_model_find_tid(model, 0, 20);
    g_assert_cmpstr(lull_model_comm(model, task, 0), ==, "t20");
    g_assert_cmpstr(lull_model_comm(model, task, 514), ==, "t20");
    g_assert_cmpstr(lull_model_comm(model, task, 515), ==, "same");
    g_assert_true(lull_model_had_comm(model, task, "t20"));
    g_assert_true(lull_model_had_comm(model, task, "same"));
    g_assert_false(lull_model_had_comm(model, task, "t21"));
}

static const char *group_of(struct fixture *f, int tid)
{
    return lull_model_container(f->model, lull_model_find_tid(f->model, 0, tid))->path;
}

static void feed_clone(struct fixture *f, int64_t t, uint64_t flags, int parent, int child)
{
    struct lull_model *model = f->model;
    FEED(task_newtask, 0, 0, t, .have = ALL, .tid = child, .flags = (int64_t)flags);
    feed_birth(f, t, ALL, parent, child);
}

/* lttng-modules goes from the namespace of a task outwards (lttng_statedump_process_ns(), task_active_pid_ns() first); before
 * 2.12 the same is in the events about processes. */
static void test_namespaces(struct fixture *f, gconstpointer data)
{
    struct lull_model *model = f->model;
    for (int level = 2; level >= 0; level--) {
        const int64_t number = level ? 0xf0000000 + level : 0xeffffffc;
        FEED(statedump_pid_ns, 0, 0, 60, .have = ALL, .tid = 10, .vtid = level ? level : 10,
             .level = level, .number = number);
        FEED(statedump_process, 0, 0, 60,
             .have = UINT64_C(1) << LULL_FIELD_statedump_process_tid |
                     UINT64_C(1) << LULL_FIELD_statedump_process_vtid |
                     UINT64_C(1) << LULL_FIELD_statedump_process_ns_level |
                     UINT64_C(1) << LULL_FIELD_statedump_process_ns_number,
             .tid = 11, .vtid = level ? level : 11, .ns_level = level, .ns_number = number);
    }
    feed_switch(model, 0, 1, 70, 0, 11, 0);
    for (int tid = 10; tid < 12; tid++) {
        const uint32_t task = lull_model_find_tid(model, 0, tid);
        g_assert_cmpstr(lull_model_container(model, task)->id, ==, "4026531842"); /* 0xf0000002 */
    }
}

/* CLONE_INTO_CGROUP is 1 << 33: where such a child is, and its own children, only a state dump says.
 * SIGCHLD, which old kernels have among the flags, is none of them. */
static void test_groups(struct fixture *f, gconstpointer data)
{
    const uint64_t into_cgroup = UINT64_C(1) << 33;
    struct lull_model *model = f->model;
    FEED(statedump_cgroup, 0, 0, 60, .have = ALL, .tid = 10, .path = feed_text("/one"));
    FEED(statedump_pid_ns, 0, 0, 60, .have = ALL, .tid = 10, .vtid = 10, .number = 0xeffffffc);
    feed_clone(f, 100, 17, 10, 20);
    feed_clone(f, 110, into_cgroup | 0x4000, 10, 21);
    feed_birth(f, 111, ALL, 10, 21); /* perf says so twice */
    feed_birth(f, 120, ALL, 21, 22);
    feed_birth(f, 130, ALL, 20, 23);
    for (int tid = 20; tid <= 23; tid++) { /* each is seen, on a CPU of its own */
        feed_switch(model, 0, tid - 19, 135, 0, tid, 0);
    }
    g_assert_cmpstr(group_of(f, 20), ==, "/one");
    g_assert_cmpstr(group_of(f, 21), ==, "");
    g_assert_cmpstr(group_of(f, 22), ==, "");
    g_assert_cmpstr(group_of(f, 23), ==, "/one");
    const uint32_t placed = lull_model_find_tid(model, 0, 21);
    g_assert_cmpstr(lull_model_container(model, placed)->name, ==, "?");
    g_assert_true(lull_model_is_placed(model, placed));
    g_assert_false(lull_model_is_placed(model, lull_model_find_tid(model, 0, 20)));
    FEED(statedump_cgroup, 0, 0, 140, .have = ALL, .tid = 21, .path = feed_text("/two"));
    feed_birth(f, 150, ALL, 21, 24);
    feed_switch(model, 0, 5, 160, 0, 24, 0);
    g_assert_cmpstr(group_of(f, 21), ==, "/two");
    g_assert_cmpstr(group_of(f, 24), ==, "/two");
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*test)(struct fixture *f, gconstpointer data);
    } tests[] = {
        {"/kernel/tasks/child", test_child},
        {"/kernel/tasks/unknown-parent", test_unknown_parent},
        {"/kernel/tasks/reported-twice", test_reported_twice},
        {"/kernel/tasks/born-again", test_born_again},
        {"/kernel/tasks/freed", test_freed},
        {"/kernel/tasks/unseen-wakings", test_unseen_wakings},
        {"/kernel/tasks/names", test_names},
        {"/kernel/tasks/namespaces", test_namespaces},
        {"/kernel/tasks/groups", test_groups},
    };
    g_test_init(&argc, &argv, NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(tests); i++) {
        g_test_add(tests[i].name, struct fixture, NULL, set_up, tests[i].test, tear_down);
    }
    return g_test_run();
}
