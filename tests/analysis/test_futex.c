/* SPDX-License-Identifier: MIT */
/* Contended futexes, from calls and waits said by hand. */
#include <glib.h>

#include "facts.h"

enum { WAIT = 0, WAKE = 1, WAIT_BITSET = 9 };
enum { NR_FUTEX = 202 }; /* x86-64 */

static void say_call(struct facts *facts, uint32_t task, int32_t operation, uint64_t address,
                     bool is_private, int64_t start_ns, int64_t end_ns, int64_t ret)
{
    const struct lull_futex futex = {address, operation, is_private, 0};
    facts->class->facts.syscall(facts->analysis,
                                &(struct lull_syscall_fact){.task = task,
                                                            .name = facts_label(facts, "futex"),
                                                            .start_ns = start_ns,
                                                            .end_ns = end_ns,
                                                            .ret = ret,
                                                            .error = call_error(ret, false),
                                                            .has_ret = true,
                                                            .futex = &futex});
}

/* `task` was blocked in a call until a task woke it, or (LULL_NONE) a timer. */
static void say_wait(struct facts *facts, uint32_t task, const char *call, int64_t start_ns,
                     int64_t end_ns, uint32_t waker)
{
    const struct lull_wakeup wakeup = {.time_ns = end_ns,
                                       .task = waker,
                                       .cause =
                                           waker == LULL_NONE ? LULL_CAUSE_TIMER : LULL_CAUSE_TASK};
    facts->class->facts.state(facts->analysis,
                              &(struct lull_state_fact){.task = task,
                                                        .start_ns = start_ns,
                                                        .end_ns = end_ns,
                                                        .state = LULL_STATE_BLOCKED,
                                                        .next = LULL_STATE_PREEMPTED,
                                                        .syscall = facts_label(facts, call),
                                                        .wakeup = &wakeup});
}

/* One lock: 11 waits for 10 twice and once times out; 12 waits for 11, who had been woken in
 * another call before; a wait that finds the value changed is none. */
static void test_one_lock(void)
{
    struct facts facts = facts_start(&lull_analysis_futex, facts_params());
    uint32_t owner = facts_task(&facts, 10, 10), second = facts_task(&facts, 11, 10),
             third = facts_task(&facts, 12, 10);
    facts_open(&facts, 0);
    say_wait(&facts, second, "futex", 110, 150, owner);
    say_call(&facts, owner, WAKE, 0xabc0, true, 149, 151, 1);
    say_call(&facts, second, WAIT, 0xabc0, true, 100, 160, 0);
    say_call(&facts, owner, WAKE, 0xabc0, true, 170, 171, 0);
    say_wait(&facts, second, "futex", 210, 240, owner);
    say_call(&facts, second, WAIT_BITSET, 0xabc0, true, 200, 250, 0);
    say_call(&facts, second, WAIT, 0xabc0, true, 260, 261, -11);
    say_wait(&facts, second, "futex", 301, 390, LULL_NONE);
    say_call(&facts, second, WAIT, 0xabc0, true, 300, 400, -110);
    say_wait(&facts, third, "read", 410, 420, owner); /* no futex call */
    say_wait(&facts, third, "futex", 510, 520, second);
    say_call(&facts, third, WAIT, 0xabc0, true, 500, 530, 0);
    facts_close(&facts, 1000);
    /* waiters wakers waits time avg max p50 p90 p99 p99.9 timeouts interrupted EAGAIN wakes vain
     * waiting so-far; waits took 60 50 100 30 */
    facts_expect(&facts, "futex",
                 "0xabc0 t10/10/-1 2 2 4 240 60.000 100 50 100 100 100 1 0 1 2 1 0 -\nwakers\n");
    facts_end(&facts);
}

static void test_pairs(void)
{
    struct facts facts = facts_start(&lull_analysis_futex, facts_params());
    uint32_t a = facts_task(&facts, 10, 10), b = facts_task(&facts, 11, 10),
             c = facts_task(&facts, 12, 10);
    facts_open(&facts, 0);
    for (int i = 0; i < 3; i++) {
        say_wait(&facts, b, "futex", i * 100 + 5, i * 100 + 40, i == 1 ? c : a);
        say_call(&facts, b, WAIT, 0x10, true, i * 100, i * 100 + 50, 0);
    }
    say_call(&facts, b, WAIT, 0x10, true, 400, 420, 0); /* nobody was seen to wake it */
    facts_close(&facts, 1000);
    facts_expect(&facts, "wakers",
                 "t11/10/11 t10/10/10 0x10 2 100 50.000 50\n"
                 "t11/10/11 t12/10/12 0x10 1 50 50.000 50\n"
                 "t11/10/11 ? 0x10 1 20 20.000 20\n");
    facts_end(&facts);
}

/* Of pairs that took as long, by who waited, then by the futex that was seen first, then by who woke. */
static void test_order_of_pairs(void)
{
    struct facts facts = facts_start(&lull_analysis_futex, facts_params());
    uint32_t a = facts_task(&facts, 10, 10), b = facts_task(&facts, 11, 10),
             c = facts_task(&facts, 12, 10);
    const struct {
        uint32_t waiter, waker;
        uint64_t address;
        int64_t ns;
    } waits[] = {
        {c, a, 0x20, 50}, {b, c, 0x20, 50}, {b, a, 0x20, 50}, {b, a, 0x10, 50}, {a, b, 0x10, 60}};
    facts_open(&facts, 0);
    for (int i = 0; i < (int)G_N_ELEMENTS(waits); i++) {
        say_wait(&facts, waits[i].waiter, "futex", i * 100 + 5, i * 100 + 40, waits[i].waker);
        say_call(&facts, waits[i].waiter, WAIT, waits[i].address, true, i * 100,
                 i * 100 + waits[i].ns, 0);
    }
    facts_close(&facts, 1000);
    facts_expect(&facts, "wakers",
                 "t10/10/10 t11/10/11 0x10 1 60 60.000 60\n"
                 "t11/10/11 t10/10/10 0x20 1 50 50.000 50\n"
                 "t11/10/11 t12/10/12 0x20 1 50 50.000 50\n"
                 "t11/10/11 t10/10/10 0x10 1 50 50.000 50\n"
                 "t12/10/12 t10/10/10 0x20 1 50 50.000 50\n");
    facts_end(&facts);
}

/* The same address in two processes is two private futexes, but one shared one. Only waits make a
 * futex contended. */
static void test_processes(void)
{
    struct facts facts = facts_start(&lull_analysis_futex, facts_params());
    uint32_t a = facts_task(&facts, 10, 10), b = facts_task(&facts, 20, 20);
    facts_open(&facts, 0);
    say_call(&facts, a, WAIT, 0x10, true, 0, 50, 0);
    say_call(&facts, b, WAIT, 0x10, true, 0, 40, 0);
    say_call(&facts, a, WAIT, 0x20, false, 100, 130, 0);
    say_call(&facts, b, WAIT, 0x20, false, 100, 130, 0);
    say_call(&facts, b, WAKE, 0x30, true, 200, 201, 0);
    facts_close(&facts, 1000);
    facts_expect(&facts, "futex",
                 "0x20 - 2 0 2 60 30.000 30 30 30 30 30 0 0 0 0 0 0 -\n"
                 "0x10 t10/10/-1 1 0 1 50 50.000 50 50 50 50 50 0 0 0 0 0 0 -\n"
                 "0x10 t20/20/-1 1 0 1 40 40.000 40 40 40 40 40 0 0 0 0 0 0 -\nwakers\n");
    facts_end(&facts);
}

/* A wait that lasts when the window closes, known from the event of its begin. */
static void test_still_waiting(void)
{
    struct facts facts = facts_start(&lull_analysis_futex, facts_params());
    struct lull_model *model = facts.model;
    uint32_t a = facts_task(&facts, 10, 10);
    facts_open(&facts, 0);
    say_call(&facts, a, WAIT, 0x10, true, 10, 15, 0);
    feed_switch(model, 0, 0, 20, 0, 11, 0);
    const uint64_t have = UINT64_C(1) << LULL_FIELD_futex_entry_number |
                          UINT64_C(1) << LULL_FIELD_futex_entry_address |
                          UINT64_C(1) << LULL_FIELD_futex_entry_operation;
    FEED(futex_entry, 0, 0, 30, .have = have, .number = NR_FUTEX, .address = 0x20,
         .operation = 128 | WAIT); /* 128: private */
    feed_switch(model, 0, 0, 40, 11, 0, 1);
    facts_close(&facts, 100);
    facts_expect(&facts, "waiting", "t11/-1/11 0x20 30 70\n");
    facts_expect(&facts, "futex",
                 "0x20 t11/-1/11 0 0 0 0 - - - - - - 0 0 0 0 0 1 70\n"
                 "0x10 t10/10/-1 1 0 1 5 5.000 5 5 5 5 5 0 0 0 0 0 0 -\nwakers\n");
    facts_end(&facts);
}

/* How long a wait took whose start was not seen is not known: it is counted apart. */
static void test_unseen_begin(void)
{
    struct facts facts = facts_start(&lull_analysis_futex, facts_params());
    uint32_t a = facts_task(&facts, 10, 10);
    facts_open(&facts, 0);
    say_call(&facts, a, WAIT, 0x10, true, INT64_MIN, 20, 0);
    say_call(&facts, a, WAIT, 0x10, true, 30, 70, 0);
    facts_close(&facts, 100);
    g_assert_true(g_str_has_prefix(facts.sink.text->str, "note: 1 wait is not counted"));
    facts_expect(&facts, "futex",
                 "0x10 t10/10/-1 1 0 1 40 40.000 40 40 40 40 40 0 0 0 0 0 0 -\nwakers\n");
    facts_end(&facts);
}

/* Whoever has waited longest is first; of two who began at once, who came first. */
static void test_order_of_waiting(void)
{
    struct facts facts = facts_start(&lull_analysis_futex, facts_params());
    struct lull_model *model = facts.model;
    static const struct {
        int tid, start_ns;
    } waits[] = {{11, 50}, {12, 40}, {13, 40}, {14, 30}, {15, 60}};
    facts_open(&facts, 0);
    for (size_t i = 0; i < G_N_ELEMENTS(waits); i++) {
        feed_switch(model, 0, (int32_t)i, 20, 0, waits[i].tid, 0);
    }
    for (int t = 30; t <= 60; t += 10) {
        for (size_t i = 0; i < G_N_ELEMENTS(waits); i++) {
            if (waits[i].start_ns == t) {
                FEED(futex_entry, 0, (int32_t)i, t,
                     .have = UINT64_C(1) << LULL_FIELD_futex_entry_number |
                             UINT64_C(1) << LULL_FIELD_futex_entry_address |
                             UINT64_C(1) << LULL_FIELD_futex_entry_operation,
                     .number = NR_FUTEX, .address = 0x20, .operation = 128 | WAIT);
            }
        }
    }
    for (size_t i = 0; i < G_N_ELEMENTS(waits); i++) {
        feed_switch(model, 0, (int32_t)i, 70, waits[i].tid, 0, 1);
    }
    facts_close(&facts, 100);
    facts_expect(&facts, "waiting",
                 "t14/-1/14 0x20 30 70\nt12/-1/12 0x20 40 60\nt13/-1/13 0x20 40 60\n"
                 "t11/-1/11 0x20 50 50\nt15/-1/15 0x20 60 40\n");
    facts_end(&facts);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/analysis/futex/one-lock", test_one_lock);
    g_test_add_func("/analysis/futex/pairs", test_pairs);
    g_test_add_func("/analysis/futex/order-of-pairs", test_order_of_pairs);
    g_test_add_func("/analysis/futex/processes", test_processes);
    g_test_add_func("/analysis/futex/still-waiting", test_still_waiting);
    g_test_add_func("/analysis/futex/unseen-begin", test_unseen_begin);
    g_test_add_func("/analysis/futex/order-of-waiting", test_order_of_waiting);
    return g_test_run();
}
