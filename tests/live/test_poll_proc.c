/* SPDX-License-Identifier: MIT */
/* What texts of /proc say: as proc(5) describes them, with names and numbers that a task can choose. */
#include <glib.h>
#include <string.h>
#include <unistd.h>

#include "live/poll_proc.h"

static void test_state(void)
{
    struct lull_proc_state state;
    const char *rest = " S 1 1 1 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 250 0 0";
    const struct {
        const char *comm, *wanted;
    } names[] = {{"sh", "sh"},
                 {") R 1 (", ") R 1 ("},
                 {"a b\nc", "a b\nc"},
                 {"", ""},
                 {"kworker/u8:2-events_unbound", "kworker/u8:2-ev"}};
    for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
        g_autofree char *text = g_strdup_printf("17 (%s)%s", names[i].comm, rest);
        g_assert_true(lull_proc_parse_state(text, &state));
        g_assert_cmpstr(state.comm, ==, names[i].wanted);
        g_assert_cmpint(state.letter, ==, 'S');
        g_assert_false(state.is_kernel);
        g_assert_cmpuint(state.start_ns, ==, 250 * (1000000000u / (uint64_t)sysconf(_SC_CLK_TCK)));
    }
    g_assert_true(lull_proc_parse_state(
        "2 (kthreadd) I 0 0 0 0 -1 2129984 0 0 0 0 0 0 0 0 20 0 1 0 7 0", &state));
    g_assert_true(state.is_kernel);
    g_assert_cmpint(state.letter, ==, 'I');
    g_assert_true(lull_proc_parse_state(
        "28626 (iou-wrk-28625) S 1 1 1 0 -1 4194448 0 0 0 0 0 0 0 0 20 0 1 0 7 0", &state));
    g_assert_true(state.is_kernel); /* 0x400090: PF_IO_WORKER 0x10 is set (sched.h of the kernel) */
    const char *broken[] = {"",
                            "17",
                            "17 (sh",
                            ") (",
                            "17 (sh) S 1 1",
                            "17 (sh) S 1 1 1 0 -1 1 1 2 3 4 5 6 7 8 20 0 1 0 18446744073709551615"};
    for (size_t i = 0; i < G_N_ELEMENTS(broken); i++) {
        g_assert_false(lull_proc_parse_state(broken[i], &state));
    }
}

static void test_times(void)
{
    struct lull_proc_times times;
    g_assert_true(lull_proc_parse_times("1735994 871918 3\n", &times));
    g_assert_cmpuint(times.ran_ns, ==, 1735994);
    g_assert_cmpuint(times.delayed_ns, ==, 871918);
    g_assert_cmpuint(times.slices, ==, 3);
    g_assert_false(lull_proc_parse_times("0 0\n", &times));
    g_assert_false(lull_proc_parse_times("", &times));
}

static void test_wait(void)
{
    const struct {
        const char *call, *function;
        int32_t number;
        const char *name;
    } cases[] = {
        {"230 0x0 0x0 0x7ffd 0x0 0x0 0x0 0x7ffd 0x7fb8\n", "hrtimer_nanosleep", 230,
         "hrtimer_nanosleep"},
        {"running\n", "0", LULL_TRACK_NO_CALL, ""},
        {"-1 0x7ffd 0x7fb8\n", "do_sigtimedwait.isra.0", LULL_TRACK_NO_CALL, "do_sigtimedwait"},
        {"", "", LULL_TRACK_NO_CALL, ""},
        {"-7 0x0", "9bad", LULL_TRACK_NO_CALL, ""},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        struct lull_proc_wait wait;
        lull_proc_parse_wait(cases[i].call, cases[i].function, &wait);
        g_assert_cmpint(wait.call, ==, cases[i].number);
        g_assert_cmpstr(wait.function, ==, cases[i].name);
    }
    g_autofree char *longer = g_strnfill(300, 'f');
    struct lull_proc_wait wait;
    lull_proc_parse_wait("0", longer, &wait);
    g_assert_cmpuint(strlen(wait.function), ==, sizeof wait.function - 1);
}

static void test_pressure(void)
{
#define AVERAGES " avg10=1.39 avg60=0.48 avg300=0.88 total="
    const struct {
        const char *text;
        int64_t some_us, full_us;
    } files[] = {
        {"some" AVERAGES "11072624\nfull" AVERAGES "5975336\n", 11072624, 5975336},
        {"some" AVERAGES "7\n", 7, -1}, /* of CPUs, before Linux 5.13 */
        {"full" AVERAGES "5\n", -1, 5}, /* of interrupts */
        {"full" AVERAGES "5\nsome" AVERAGES "9", 9, 5},
        {"some" AVERAGES "9223372036854775807\n", INT64_MAX, -1},
        {"some" AVERAGES "-2\nfull" AVERAGES "\n", -1, -1},
        {"some avg10=x total=5\n", -1, -1},
        {"\n\n", -1, -1},
        {"", -1, -1},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(files); i++) {
        int64_t some_us, full_us;
        lull_pressure_parse(files[i].text, &some_us, &full_us);
        g_assert_cmpint(some_us, ==, files[i].some_us);
        g_assert_cmpint(full_us, ==, files[i].full_us);
    }
}

static void test_machine(void)
{
    struct lull_proc_machine machine;
    const uint64_t tick = 1000000000u / (uint64_t)sysconf(_SC_CLK_TCK);
    lull_proc_parse_machine(
        "cpu  100 20 3 9999 777 4 5 66 7 8\ncpu0 1 1 1 1\nintr 5 1\nctxt 4711\nbtime 1\n",
        &machine);
    g_assert_cmpuint(machine.busy_ns, ==, 132 * tick);
    g_assert_cmpuint(machine.switches, ==, 4711);
    lull_proc_parse_machine("", &machine);
    g_assert_cmpuint(machine.busy_ns + machine.switches, ==, 0);
}

/* This task itself: it runs, so it is in no call, and the kernel has counted some of it. */
static void test_here(void)
{
    const uint32_t pid = (uint32_t)getpid();
    struct lull_proc_state state;
    struct lull_proc_times times;
    if (!lull_proc_read_times(pid, pid, &times)) {
        g_test_skip("no /proc/PID/schedstat");
        return;
    }
    g_assert_true(lull_proc_read_state(pid, pid, &state));
    g_assert_cmpint(state.letter, ==, 'R');
    g_assert_true(g_str_has_prefix("test_live_poll_proc", state.comm));
    g_assert_cmpuint(times.slices, >, 0);
    g_assert_false(lull_proc_read_times(pid, 0, &times));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/live/poll_proc/state", test_state);
    g_test_add_func("/live/poll_proc/times", test_times);
    g_test_add_func("/live/poll_proc/wait", test_wait);
    g_test_add_func("/live/poll_proc/pressure", test_pressure);
    g_test_add_func("/live/poll_proc/machine", test_machine);
    g_test_add_func("/live/poll_proc/here", test_here);
    return g_test_run();
}
