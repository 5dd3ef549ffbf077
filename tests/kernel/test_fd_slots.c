/* SPDX-License-Identifier: MIT */
/* Tables of descriptors that share pages: what one of them closes stays open in the others. */
#include "kernel/fd_slots.h"

#include <glib.h>

#include "kernel/states.h"

enum { MANY = 1000 };

/* Opens fd as file number fd; every third is to be closed by exec. */
static void open_fd(struct fd_slots *slots, int32_t fd)
{
    *fd_slots_change(slots, fd) =
        (struct fd_slot){.file = (uint32_t)fd, .owner = slots->owner, .is_cloexec = fd % 3 == 0};
}

static struct fd_slots open_many(uint32_t owner)
{
    struct fd_slots slots = {.owner = owner};
    for (int32_t fd = MANY - 1; fd >= 0; fd--) {
        open_fd(&slots, fd);
    }
    return slots;
}

static void expect(const struct fd_slots *slots, bool (*is_open)(int32_t fd))
{
    int64_t next = 0;
    for (int32_t fd = 0; fd <= MANY; fd++) {
        const struct fd_slot *slot = fd_slots_find(slots, fd);
        g_assert_true((slot != NULL) == (fd < MANY && is_open(fd)));
        if (!slot) {
            continue;
        }
        g_assert_cmpuint(slot->file, ==, fd);
        g_assert_cmpint(slot->is_cloexec, ==, fd % 3 == 0);
        /* In order, and none is left out. */
        g_assert_true(fd_slots_next(slots, &next) == slot);
        g_assert_cmpint(next++, ==, fd);
    }
    g_assert_null(fd_slots_next(slots, &next));
}

static bool is_any(int32_t fd)
{
    return true;
}

static bool is_kept(int32_t fd)
{
    return fd % 3 != 0;
}

static bool is_outside(int32_t fd)
{
    return fd < 10 || fd > 500;
}

static void test_exec(void)
{
    struct fd_slots parent = open_many(1), children[3] = {{.owner = 2}, {.owner = 3}, {.owner = 4}};
    expect(&parent, is_any);
    for (int i = 0; i < 3; i++) {
        fd_slots_share(&children[i], &parent);
    }
    for (int i = 0; i < 2; i++) { /* the second takes over what the first has left */
        fd_slots_drop_cloexec(&children[i]);
        expect(&children[i], is_kept);
    }
    expect(&parent, is_any);
    expect(&children[2], is_any);
    fd_slots_drop_cloexec(&parent);
    expect(&parent, is_kept);
    expect(&children[2], is_any);
    fd_slots_clear(&parent);
    for (int i = 0; i < 3; i++) {
        fd_slots_clear(&children[i]);
    }
}

/* One that is alone; and one that has nothing left. */
static void test_exec_alone(void)
{
    struct fd_slots slots = open_many(1), few = {.owner = 2};
    fd_slots_drop_cloexec(&slots);
    expect(&slots, is_kept);
    fd_slots_drop_cloexec(&slots);
    expect(&slots, is_kept);
    open_fd(&few, 0);
    open_fd(&few, 333);
    g_assert_false(fd_slots_is_empty(&few));
    fd_slots_drop_cloexec(&few);
    g_assert_true(fd_slots_is_empty(&few));
    fd_slots_clear(&slots);
    fd_slots_clear(&few);
}

/* What a child inherited goes, what it opened itself stays, and the parent keeps all. */
static void test_range(void)
{
    struct fd_slots parent = open_many(1), child = {.owner = 2};
    fd_slots_share(&child, &parent);
    fd_slots_drop_range(&child, 10, 500);
    expect(&child, is_outside);
    expect(&parent, is_any);
    open_fd(&child, 20);
    fd_slots_drop_range(&child, 10, 500);
    g_assert_cmpuint(fd_slots_find(&child, 20)->file, ==, 20);
    fd_slots_clear(&parent);
    fd_slots_clear(&child);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/kernel/fd-slots/exec", test_exec);
    g_test_add_func("/kernel/fd-slots/exec-alone", test_exec_alone);
    g_test_add_func("/kernel/fd-slots/range", test_range);
    return g_test_run();
}
