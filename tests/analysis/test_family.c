/* SPDX-License-Identifier: MIT */
/* Which tasks belong to a recorded command, whose pid is 20: the family tree is written down in each test. */
#include "analysis/family.h"
#include "kernel/feed_calls.h"

static struct lull_model *start(struct lull_family *family)
{
    *family = (struct lull_family){.pid = 20, .root = LULL_NONE};
    struct lull_model *model = lull_model_new(NULL, LULL_GROUP_SCHED);
    feed_switch(model, 0, 0, 10, 0, 10, 0);
    return model;
}

/* The last that had the tid. */
static bool has(struct lull_family *family, const struct lull_model *model, int tid)
{
    uint32_t task = lull_model_task_count(model);
    while (task-- > 0 && lull_model_task(model, task)->tid != tid) {
    }
    g_assert_cmpuint(task, <, lull_model_task_count(model));
    return lull_family_has(family, model, task);
}

static void test_tree(void)
{
    struct lull_family family;
    struct lull_model *model = start(&family);
    feed_fork(model, 0, 20, 10, 20, 20); /* the command, of a shell */
    feed_switch(model, 0, 1, 30, 0, 20, 0);
    feed_fork(model, 1, 40, 20, 21, 20); /* its thread, */
    feed_fork(model, 1, 50, 21, 30, 30); /* which starts a process, */
    feed_fork(model, 1, 60, 30, 31, 31); /* and that another, and ends */
    feed_fork(model, 0, 70, 10, 40, 40); /* the shell's next */
    feed_fork(model, 0, 80, 40, 41, 41);
    for (int i = 0; i < 2; i++) { /* also when asked again */
        g_assert_true(has(&family, model, 31));
        g_assert_true(has(&family, model, 20));
        g_assert_true(has(&family, model, 21));
        g_assert_true(has(&family, model, 30));
        g_assert_false(has(&family, model, 10));
        g_assert_false(has(&family, model, 40));
        g_assert_false(has(&family, model, 41));
    }
    lull_family_free(&family);
    lull_model_free(model);
}

static void test_pid_used_again(void)
{
    struct lull_family family;
    struct lull_model *model = start(&family);
    feed_fork(model, 0, 20, 10, 20, 20);
    g_assert_true(has(&family, model, 20));
    feed_switch(model, 0, 1, 30, 0, 20, 0);
    FEED(sched_process_exit, 0, 1, 40, .have = ALL, .tid = 20);
    FEED(sched_process_free, 0, 0, 50, .have = ALL, .tid = 20);
    feed_fork(model, 0, 60, 10, 20, 20);
    feed_switch(model, 0, 1, 70, 0, 20, 0);
    feed_fork(model, 1, 80, 20, 50, 50);
    g_assert_false(has(&family, model, 50));
    g_assert_false(has(&family, model, 20));
    lull_family_free(&family);
    lull_model_free(model);
}

/* A trace may be wrong. */
static void test_circle(void)
{
    struct lull_family family;
    struct lull_model *model = start(&family);
    feed_fork(model, 0, 20, 30, 31, 31);
    feed_fork(model, 0, 30, 31, 30, 30);
    feed_fork(model, 0, 40, 30, 31, 31);
    g_assert_false(has(&family, model, 31));
    g_assert_false(has(&family, model, 30));
    lull_family_free(&family);
    lull_model_free(model);
}

static void test_none(void)
{
    struct lull_family family;
    struct lull_model *model = start(&family);
    lull_family_find(&family, NULL);
    g_assert_cmpint(family.pid, ==, 0);
    g_assert_false(has(&family, model, 10));
    lull_family_free(&family);
    lull_model_free(model);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/family/tree", test_tree);
    g_test_add_func("/family/pid-used-again", test_pid_used_again);
    g_test_add_func("/family/circle", test_circle);
    g_test_add_func("/family/none", test_none);
    return g_test_run();
}
