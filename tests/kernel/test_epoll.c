/* SPDX-License-Identifier: MIT */
/* What a wait in epoll_wait(2) is said to be for, from what epoll_ctl(2) was given before. Calls are fed as numbers; what is expected
 * follows from the manual pages. */
#include "kernel/feed_calls.h"
#include "kernel/wait_reason.h"

enum { NR_epoll_wait = 232, NR_epoll_ctl = 233, NR_timerfd_create = 283, ADD = 1, DELETE = 2 };
enum { EPOLL = 5 };

struct fixture {
    struct lull_model *model;
    GString *said; /* of the last wait */
    int64_t t;
};

static void on_state(void *user, const struct lull_state_fact *fact)
{
    struct fixture *f = user;
    if (fact->state == LULL_STATE_BLOCKED && lull_model_task(f->model, fact->task)->tid == 1) {
        const struct lull_wait_reason reason = lull_wait_reason_of(fact);
        g_string_truncate(f->said, 0);
        lull_wait_reason_append(f->model, &reason, NULL, f->said);
    }
}

static void on_call(void *user, const struct lull_syscall_fact *fact)
{
}

static int64_t raw(struct fixture *f, int number, int64_t a, int64_t b, int64_t c)
{
    const uint64_t args[6] = {(uint64_t)a, (uint64_t)b, (uint64_t)c};
    struct lull_model *model = f->model;
    f->t += 20;
    FEED(raw_entry, 0, 0, f->t,
         .have = UINT64_C(1) << LULL_FIELD_raw_entry_number | UINT64_C(1)
                                                                  << LULL_FIELD_raw_entry_args,
         .number = number, .args = {(const char *)args, sizeof args});
    return f->t;
}

static void call(struct fixture *f, int number, int64_t a, int64_t b, int64_t c, int64_t ret)
{
    const int64_t t = raw(f, number, a, b, c);
    feed_leave(f->model, 0, t + 10, number, ret);
}

static void set_up(struct fixture *f, gconstpointer data)
{
    static const struct lull_facts facts = {.state = on_state, .syscall = on_call};
    *f = (struct fixture){lull_model_new(NULL, LULL_GROUP_SCHED | LULL_GROUP_CALLS),
                          g_string_new(NULL), 100};
    lull_model_subscribe(f->model, &facts, f);
    feed_switch(f->model, 0, 0, 90, 0, 1, 0);
    call(f, NR_epoll_create1, 0, 0, 0, EPOLL);
    call(f, NR_eventfd2, 0, 0, 0, 6);
    call(f, NR_timerfd_create, 0, 0, 0, 7);
}

static void tear_down(struct fixture *f, gconstpointer data)
{
    lull_model_free(f->model);
    g_string_free(f->said, TRUE);
}

static void assert_waits(struct fixture *f, int fd, const char *expected)
{
    const int64_t t = raw(f, NR_epoll_wait, fd, 0, 0);
    feed_switch(f->model, 0, 0, t + 2, 1, 2, 1);
    feed_wake(f->model, LULL_EVENT_sched_waking, 0, 0, t + 4, 1, 0);
    feed_switch(f->model, 0, 0, t + 6, 2, 1, 1);
    feed_leave(f->model, 0, t + 10, NR_epoll_wait, 1);
    g_assert_cmpstr(f->said->str, ==, expected);
}

static void test_watched(struct fixture *f, gconstpointer data)
{
    assert_waits(f, EPOLL, "in epoll_wait");
    call(f, NR_epoll_ctl, EPOLL, ADD, 6, 0);
    assert_waits(f, EPOLL, "in epoll_wait on an eventfd");
    call(f, NR_epoll_ctl, EPOLL, ADD, 7, 0);
    assert_waits(f, EPOLL, "in epoll_wait on an eventfd or a timerfd");
    call(f, NR_epoll_ctl, EPOLL, ADD, 7, -17); /* EEXIST */
    assert_waits(f, EPOLL, "in epoll_wait on an eventfd or a timerfd");
    call(f, NR_epoll_ctl, EPOLL, DELETE, 6, 0);
    assert_waits(f, EPOLL, "in epoll_wait on a timerfd");
    call(f, NR_close, 7, 0, 0, 0);
    assert_waits(f, EPOLL, "in epoll_wait");
}

/* A socket gets its name after it is watched. */
static void test_connected(struct fixture *f, gconstpointer data)
{
    static const uint8_t ip4[] = {10, 9, 0, 2};
    call(f, NR_socket, 2, 1, 0, 8);
    call(f, NR_epoll_ctl, EPOLL, ADD, 8, 0);
    assert_waits(f, EPOLL, "in epoll_wait on a socket");
    f->t += 20;
    FEED_CALL(f->model, 0, f->t, connect, 0, ARG(fd) | ARG(family) | ARG(port), .fd = 8,
              .family = 2, .port = 80, .ip4 = ip4);
    assert_waits(f, EPOLL, "in epoll_wait on 10.9.0.2:80");
}

/* Of four or more it may be any; which of them are left when some are closed is not followed. */
static void test_many(struct fixture *f, gconstpointer data)
{
    for (int fd = 10; fd < 14; fd++) {
        call(f, NR_eventfd2, 0, 0, 0, fd);
        call(f, NR_epoll_ctl, EPOLL, ADD, fd, 0);
    }
    assert_waits(f, EPOLL, "in epoll_wait");
    for (int fd = 10; fd < 13; fd++) {
        call(f, NR_close, fd, 0, 0, 0);
    }
    assert_waits(f, EPOLL, "in epoll_wait");
}

/* What one watches that was made before the recording is not known. */
static void test_unseen(struct fixture *f, gconstpointer data)
{
    call(f, NR_epoll_ctl, 20, ADD, 6, 0);
    assert_waits(f, 20, "in epoll_wait on descriptor 20");
    call(f, NR_dup, 20, 0, 0, 21);
    call(f, NR_epoll_ctl, 21, ADD, 6, 0);
    assert_waits(f, 21, "in epoll_wait on descriptor 21");
}

/* A copy of the descriptor is the same instance. */
static void test_copy(struct fixture *f, gconstpointer data)
{
    call(f, NR_dup, EPOLL, 0, 0, 9);
    call(f, NR_epoll_ctl, 9, ADD, 6, 0);
    assert_waits(f, EPOLL, "in epoll_wait on an eventfd");
    assert_waits(f, 9, "in epoll_wait on an eventfd");
}

/* Of one that was copied very often nothing is said: all copies would have to be looked at in each call. */
static void test_copies(struct fixture *f, gconstpointer data)
{
    call(f, NR_epoll_ctl, EPOLL, ADD, 6, 0);
    for (int fd = 100; fd < 200; fd++) {
        call(f, NR_dup, EPOLL, 0, 0, fd);
    }
    assert_waits(f, EPOLL, "in epoll_wait");
    call(f, NR_epoll_ctl, 199, ADD, 7, 0);
    assert_waits(f, 199, "in epoll_wait");
}

/* Descriptors that cannot be, and an instance that watches itself or what it does not watch. */
static void test_hostile(struct fixture *f, gconstpointer data)
{
    call(f, NR_epoll_ctl, EPOLL, ADD, -1, 0);
    call(f, NR_epoll_ctl, -5, ADD, 6, 0);
    call(f, NR_epoll_ctl, 6, ADD, 6, 0);
    call(f, NR_epoll_ctl, EPOLL, DELETE, 6, 0);
    call(f, NR_epoll_ctl, EPOLL, 77, 6, 0);
    assert_waits(f, EPOLL, "in epoll_wait");
    call(f, NR_epoll_ctl, EPOLL, ADD, EPOLL, 0);
    assert_waits(f, EPOLL, "in epoll_wait");
    call(f, NR_close, EPOLL, 0, 0, 0);
    assert_waits(f, EPOLL, "in epoll_wait on descriptor 5");
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*test)(struct fixture *, gconstpointer);
    } tests[] = {{"/epoll/watched", test_watched}, {"/epoll/connected", test_connected},
                 {"/epoll/many", test_many},       {"/epoll/unseen", test_unseen},
                 {"/epoll/copy", test_copy},       {"/epoll/copies", test_copies},
                 {"/epoll/hostile", test_hostile}};
    g_test_init(&argc, &argv, NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(tests); i++) {
        g_test_add(tests[i].name, struct fixture, NULL, set_up, tests[i].test, tear_down);
    }
    return g_test_run();
}
