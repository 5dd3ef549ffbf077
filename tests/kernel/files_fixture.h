/* SPDX-License-Identifier: MIT */
/* One machine with a task 10, which makes calls; what they do to descriptors, as a line each. */
#ifndef LULL_TEST_KERNEL_FILES_FIXTURE_H
#define LULL_TEST_KERNEL_FILES_FIXTURE_H

#include "kernel/feed_calls.h"

struct fixture {
    struct lull_model *model;
    GString *seen;
};

static inline void note(void *user, const struct lull_syscall_fact *fact)
{
    struct fixture *f = user;
    append_call(f->seen, f->model, fact);
}

static inline void set_up(struct fixture *f, gconstpointer data)
{
    const struct lull_facts facts = {.syscall = note};
    f->model = lull_model_new(NULL, LULL_GROUP_SCHED | LULL_GROUP_STATE | LULL_GROUP_SYSCALL |
                                        LULL_GROUP_IO | LULL_GROUP_FUTEX);
    f->seen = g_string_new(NULL);
    lull_model_subscribe(f->model, &facts, f);
    feed_switch(f->model, 0, 0, 1, 0, 10, 0);
}

static inline void tear_down(struct fixture *f, gconstpointer data)
{
    lull_model_free(f->model);
    g_string_free(f->seen, TRUE);
}

static inline void expect(struct fixture *f, const char *lines)
{
    g_assert_cmpstr(f->seen->str, ==, lines);
    g_string_truncate(f->seen, 0);
}

#define CALL(t, name, ret, given, ...) FEED_CALL(f->model, 0, t, name, ret, given, ##__VA_ARGS__)
#define O_CLOEXEC_X86 02000000

static inline void open_file(struct fixture *f, int64_t t, int fd, const char *path, int flags)
{
    CALL(t, openat, fd, ARG(path) | ARG(flags), .path = path, .flags = flags);
}

static inline void read_file(struct fixture *f, int64_t t, int fd, int64_t ret)
{
    CALL(t, read, ret, ARG(fd) | ARG(bytes), .fd = fd, .bytes = 100);
}

#define TEST(name, function)                                                                       \
    g_test_add("/kernel/files/" name, struct fixture, NULL, set_up, function, tear_down)

#endif
