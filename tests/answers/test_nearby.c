/* SPDX-License-Identifier: MIT */
/* Paths of a short time, for which only a part of the trace is read: the same as what the generator
 * made happen, wherever it is read from. */
#include "answers/nearby.h"
#include "answers/waits.h"
#include "graph/path.h"
#include "lib/ctf_writer.h"
#include "lib/scratch.h"

enum { CYCLE_US = 100, CYCLES = 4000, LITTLE = 16384 };
#define US INT64_C(1000)

struct made {
    char *dir;
    struct lull_session *session;
    struct lull_waits *waits;
};

static void write_switch(struct ctf_writer *writer, int64_t t, int prev, int next)
{
    ctf_event(writer, 0, t, "sched_switch", "prev_tid=%d next_tid=%d prev_state=1", prev, next);
}

static void write_waking(struct ctf_writer *writer, int64_t t, int tid)
{
    ctf_event(writer, 0, t, "sched_waking", "tid=%d", tid);
}

/* In each cycle: 100 runs from 0 and wakes 200 at 10; waits from 20 for 200, which runs then, wakes it
 * at 50 and waits from 60 on; runs until 80, and sleeps until 95. 300 waits from 5 us in the first
 * cycle to 15 us in the last one. */
static void write_trace(const char *dir)
{
    struct ctf_writer *writer = ctf_writer_new(dir, &(struct ctf_options){.hostname = "a"});
    ctf_event(writer, 0, 1, "lttng_statedump_process_state",
              "tid=100 pid=90 ppid=1 status=5 name=dumped");
    write_switch(writer, 2 * US, 0, 300);
    write_switch(writer, 5 * US, 300, 0);
    for (int64_t i = 1; i <= CYCLES; i++) {
        const int64_t t = i * CYCLE_US * US;
        write_switch(writer, t, 0, 100);
        write_waking(writer, t + 10 * US, 200);
        if (i == CYCLES) {
            write_waking(writer, t + 15 * US, 300);
        }
        write_switch(writer, t + 20 * US, 100, 200);
        write_waking(writer, t + 50 * US, 100);
        write_switch(writer, t + 60 * US, 200, 100);
        write_switch(writer, t + 80 * US, 100, 0);
        write_waking(writer, t + 95 * US, 100);
    }
    ctf_writer_close(writer);
}

static struct made make(void)
{
    struct made made = {.dir = scratch_dir(), .session = lull_session_new()};
    write_trace(made.dir);
    g_assert_true(lull_session_add(made.session, made.dir, NULL));
    made.waits = lull_waits_new(made.session, LULL_WANT_PATHS, NULL);
    return made;
}

static void unmake(struct made *made)
{
    lull_waits_free(made->waits);
    lull_session_free(made->session);
    scratch_remove(made->dir);
    g_free(made->dir);
}

static struct lull_path *path_of(const struct lull_waits *waits, int tid, int64_t start_ns,
                                 int64_t end_ns)
{
    const uint32_t task = lull_waits_find_tid(waits, -1, tid, NULL);
    return task == LULL_NONE
               ? NULL
               : lull_waits_task_path(waits, task, start_ns, end_ns, LULL_PATH_BOUNDED, NULL);
}

static void check_cycle(const struct lull_path *path, int64_t start_ns)
{
    static const struct {
        int tid;
        enum lull_state state;
        int64_t end_us;
    } expected[] = {
        {100, LULL_STATE_RUNNING, 20},   {200, LULL_STATE_RUNNING, 50},
        {100, LULL_STATE_PREEMPTED, 60}, {100, LULL_STATE_RUNNING, 80},
        {100, LULL_STATE_BLOCKED, 95},   {100, LULL_STATE_PREEMPTED, 100},
    };
    g_assert_cmpuint(lull_path_segment_count(path), ==, G_N_ELEMENTS(expected));
    for (uint32_t i = 0; i < G_N_ELEMENTS(expected); i++) {
        const struct lull_segment *segment = lull_path_segment(path, i);
        g_assert_cmpint(segment->tid, ==, expected[i].tid);
        g_assert_cmpint(segment->state, ==, expected[i].state);
        g_assert_cmpint(segment->end_ns, ==, start_ns + expected[i].end_us * US);
    }
}

/* In the middle a little is enough; near both ends there is nothing to leave out on that side. */
static void test_little_is_enough(void)
{
    static const int64_t cycles[] = {2, CYCLES / 2, CYCLES - 2};
    for (size_t i = 0; i < G_N_ELEMENTS(cycles); i++) {
        struct made made = make();
        const int64_t start_ns = cycles[i] * CYCLE_US * US;
        int64_t first_ns, last_ns;
        lull_waits_near(made.waits, start_ns, start_ns + CYCLE_US * US, LITTLE);
        lull_waits_read(made.waits, NULL, NULL);
        struct lull_path *path = path_of(made.waits, 100, start_ns, start_ns + CYCLE_US * US);
        check_cycle(path, start_ns);
        g_assert_false(lull_waits_widen(made.waits, path));
        g_assert_true(lull_waits_read_range(made.waits, &first_ns, &last_ns));
        g_assert_true(cycles[i] == 2 ? first_ns == INT64_MIN
                                     : first_ns > start_ns - 100 * CYCLE_US * US);
        g_assert_true(cycles[i] == CYCLES - 2 ? last_ns == INT64_MAX
                                              : last_ns < start_ns + 100 * CYCLE_US * US);
        lull_path_free(path);
        unmake(&made);
    }
}

/* What the state dump says of processes is known, though it was long before; what 100 was called by a
 * name that no switch reports too. */
static void test_dump(void)
{
    struct made made = make();
    const int64_t start_ns = CYCLES / 2 * CYCLE_US * US;
    lull_waits_near(made.waits, start_ns, start_ns + CYCLE_US * US, LITTLE);
    lull_waits_read(made.waits, NULL, NULL);
    const uint32_t task = lull_waits_find_tid(made.waits, -1, 100, NULL);
    g_assert_cmpint(lull_waits_task(made.waits, task)->pid, ==, 90);
    g_assert_cmpint(lull_waits_task(made.waits, task)->ppid, ==, 1);
    g_assert_cmpint(lull_waits_task(made.waits, task)->first_ns, >, start_ns / 2);
    unmake(&made);
}

/* Of a task that waits all the time nothing is found nearby, so all is read in the end; and then the
 * path of 100 is the same. */
static void test_widen(void)
{
    struct made made = make();
    const int64_t start_ns = CYCLES / 2 * CYCLE_US * US;
    int64_t first_ns, last_ns;
    uint32_t times = 0;
    struct lull_path *path;
    lull_waits_near(made.waits, start_ns, start_ns + CYCLE_US * US, LITTLE);
    for (;;) {
        lull_waits_read(made.waits, NULL, NULL);
        path = path_of(made.waits, 300, start_ns, start_ns + CYCLE_US * US);
        if (!lull_waits_widen(made.waits, path)) {
            break;
        }
        lull_path_free(path);
        times++;
    }
    g_assert_cmpuint(times, >, 0);
    g_assert_false(lull_waits_read_range(made.waits, &first_ns, &last_ns));
    /* 300 waits for 100, which wakes it in the last cycle. */
    check_cycle(path, start_ns);
    lull_path_free(path);
    path = path_of(made.waits, 100, start_ns, start_ns + CYCLE_US * US);
    check_cycle(path, start_ns);
    lull_path_free(path);
    unmake(&made);
}

/* What a path lacks at an end of the traces themselves is not looked for at the other one. */
static void test_ends(void)
{
    static const struct {
        int64_t start_ns, end_ns;
        unsigned cut;
    } wanted[] = {
        {US, 2 * CYCLE_US * US, LULL_CUT_BEFORE},
        {(CYCLES - 1) * CYCLE_US * US, (CYCLES + 2) * CYCLE_US * US, LULL_CUT_AFTER},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(wanted); i++) {
        struct made made = make();
        int64_t first_ns, last_ns;
        lull_waits_near(made.waits, wanted[i].start_ns, wanted[i].end_ns, LITTLE);
        lull_waits_read(made.waits, NULL, NULL);
        struct lull_path *path = path_of(made.waits, 200, wanted[i].start_ns, wanted[i].end_ns);
        g_assert_cmpuint(path->cut, ==, wanted[i].cut);
        g_assert_false(lull_waits_widen(made.waits, path));
        g_assert_true(lull_waits_read_range(made.waits, &first_ns, &last_ns));
        lull_path_free(path);
        unmake(&made);
    }
}

/* Where little could be left out, and without a time, all is read at once. */
static void test_all(void)
{
    static const struct {
        int64_t start_ns, end_ns;
        uint64_t bytes;
    } wanted[] = {
        {INT64_MIN, INT64_MAX, LITTLE},
        {CYCLES / 2 * CYCLE_US * US, CYCLES / 2 * CYCLE_US * US + 1, 1 << 20},
        {CYCLES / 2 * CYCLE_US * US, CYCLES / 2 * CYCLE_US * US + 1, 0},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(wanted); i++) {
        struct made made = make();
        int64_t first_ns, last_ns;
        lull_waits_near(made.waits, wanted[i].start_ns, wanted[i].end_ns, wanted[i].bytes);
        lull_waits_read(made.waits, NULL, NULL);
        g_assert_false(lull_waits_read_range(made.waits, &first_ns, &last_ns));
        g_assert_false(lull_waits_widen(made.waits, NULL));
        unmake(&made);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/answers/nearby/little-is-enough", test_little_is_enough);
    g_test_add_func("/answers/nearby/dump", test_dump);
    g_test_add_func("/answers/nearby/widen", test_widen);
    g_test_add_func("/answers/nearby/ends", test_ends);
    g_test_add_func("/answers/nearby/all", test_all);
    return g_test_run();
}
