/* SPDX-License-Identifier: MIT */
/* Interrupts in tracking over ftrace: what they are, whom they wake, and the threads to which they leave work. Who wakes these, and when,
 * is as kernel/irq/handle.c and kernel/softirq.c of Linux have it. */
#include <stdint.h>
#include <sys/socket.h>

#include "lines.h"
#include "story.h"

static void test_interrupts(void)
{
    const uint32_t line = line_from(7), other = line_from(line + 1);
    g_autofree char *handler = g_strdup_printf("irq(%u) > 1ms", line);
    g_autofree char *response_of = g_strdup_printf("response(%u) > 8ms", line);
    g_autofree char *response_of_other = g_strdup_printf("response(%u) > 0ns", other);
    const char *const rules[] = {handler,     "softirq > 1ms",   "raise > 1ms", "response > 1ms",
                                 response_of, response_of_other, NULL};
    struct story story;
    begin(&story, rules, false);
    change(&story, T0, 0, A, "a", 1, B, "b");
    tell(&story, T0 + 1 * MS, 0, LULL_FTRACE_IRQ_ENTRY, B, "irq", line, LULL_FTRACE_IN_HARDIRQ);
    tell(&story, T0 + 1 * MS, 0, LULL_FTRACE_SOFTIRQ_RAISE, B, "vec", 3, LULL_FTRACE_IN_HARDIRQ);
    tell(&story, T0 + 2 * MS, 0, LULL_FTRACE_SOFTIRQ_RAISE, B, "vec", 3, LULL_FTRACE_IN_HARDIRQ);
    tell(&story, T0 + 3 * MS, 0, LULL_FTRACE_IRQ_EXIT, B, "irq", line, LULL_FTRACE_IN_HARDIRQ);
    tell(&story, T0 + 4 * MS, 0, LULL_FTRACE_SOFTIRQ_ENTRY, B, "vec", 3, LULL_FTRACE_IN_SOFTIRQ);
    /* Another line, in the softirq, with a short handler. */
    tell(&story, T0 + 5 * MS, 0, LULL_FTRACE_IRQ_ENTRY, B, "irq", other, LULL_FTRACE_IN_HARDIRQ);
    tell(&story, T0 + 7 * MS, 0, LULL_FTRACE_IRQ_EXIT, B, "irq", other, LULL_FTRACE_IN_HARDIRQ);
    uint8_t record[256];
    const uint32_t size = made_record(record, LULL_FTRACE_TCP_PROBE, B, LULL_FTRACE_IN_SOFTIRQ);
    uint32_t room;
    made_set(record, LULL_FTRACE_TCP_PROBE, "family", AF_INET);
    made_set(record, LULL_FTRACE_TCP_PROBE, "dport", 5432);
    made_set(record, LULL_FTRACE_TCP_PROBE, "sport", 40000);
    memcpy(made_at(record, LULL_FTRACE_TCP_PROBE, "daddr", &room) + 4, "\12\11\0\3", 4);
    take(&story, T0 + 7 * MS, 0, LULL_FTRACE_TCP_PROBE, record, size);
    tell(&story, T0 + 8 * MS, 0, LULL_FTRACE_WAKING, B, "pid", A, LULL_FTRACE_IN_SOFTIRQ);
    tell(&story, T0 + 9 * MS, 0, LULL_FTRACE_SOFTIRQ_EXIT, B, "vec", 3, LULL_FTRACE_IN_SOFTIRQ);
    change(&story, T0 + 10 * MS, 0, B, "b", 0, A, "a");
    const struct {
        uint32_t rule, number;
        uint64_t since_ms, end_ms;
    } wanted[] = {{0, line, 1, 3}, {2, 3, 1, 4}, {1, 3, 4, 9}};
    g_assert_cmpuint(story.records->len, ==, 5);
    for (uint32_t i = 0; i < G_N_ELEMENTS(wanted); i++) {
        const struct lull_track_record *alarm = alarm_at(&story, i);
        g_assert_cmpuint(alarm->rule, ==, wanted[i].rule);
        g_assert_cmpuint(alarm->hop[0].a, ==, wanted[i].number);
        g_assert_cmpuint(alarm->since_ns, ==, T0 + wanted[i].since_ms * MS);
        g_assert_cmpuint(alarm->end_ns, ==, T0 + wanted[i].end_ms * MS);
        g_assert_cmpuint(alarm->tid, ==, B);
    }
    const struct lull_track_record *response = alarm_at(&story, 3);
    g_assert_cmpuint(response->rule, ==, 3);
    g_assert_cmpuint(response->hop[0].kind, ==, LULL_TRACK_HOP_PACKET);
    g_assert_cmpuint(response->hop[0].a, ==, 5432);
    g_assert_cmpuint(response->hop[0].b, ==, 40000);
    /* The line raised the softirq first; the other only interrupted that. */
    g_assert_cmpuint(response->irq_ns, ==, T0 + 1 * MS);
    g_assert_cmpuint(alarm_at(&story, 4)->rule, ==, 4);
    g_assert_cmpuint(alarm_at(&story, 4)->irq_ns, ==, T0 + 1 * MS);
    g_assert_cmpint(memcmp(response->hop[0].address, "\12\11\0\3", 4), ==, 0);
    /* An interrupt that no event names is none of the task that it interrupts. */
    change(&story, T0 + 11 * MS, 0, A, "a", 1, B, "b");
    tell(&story, T0 + 12 * MS, 0, LULL_FTRACE_WAKING, B, "pid", A, LULL_FTRACE_IN_HARDIRQ);
    change(&story, T0 + 14 * MS, 0, B, "b", 0, A, "a");
    g_assert_cmpuint(story.records->len, ==, 6);
    g_assert_cmpuint(alarm_at(&story, 5)->hop[0].kind, ==, LULL_TRACK_HOP_INTERRUPT);
    /* The softirq is raised again, by nobody's handler: who is woken in it was woken by no line. */
    change(&story, T0 + 15 * MS, 0, A, "a", 1, B, "b");
    tell(&story, T0 + 15 * MS, 0, LULL_FTRACE_SOFTIRQ_RAISE, B, "vec", 3, 0);
    tell(&story, T0 + 16 * MS, 0, LULL_FTRACE_SOFTIRQ_ENTRY, B, "vec", 3, LULL_FTRACE_IN_SOFTIRQ);
    tell(&story, T0 + 16 * MS, 0, LULL_FTRACE_WAKING, B, "pid", A, LULL_FTRACE_IN_SOFTIRQ);
    tell(&story, T0 + 16 * MS, 0, LULL_FTRACE_SOFTIRQ_EXIT, B, "vec", 3, LULL_FTRACE_IN_SOFTIRQ);
    change(&story, T0 + 18 * MS, 0, B, "b", 0, A, "a");
    g_assert_cmpuint(story.records->len, ==, 7);
    g_assert_cmpuint(alarm_at(&story, 6)->rule, ==, 3);
    g_assert_cmpuint(alarm_at(&story, 6)->irq_ns, ==, T0 + 16 * MS);
    /* A timer after the handler of the other line, which is over. */
    change(&story, T0 + 19 * MS, 0, A, "a", 1, B, "b");
    tell(&story, T0 + 20 * MS, 0, LULL_FTRACE_IRQ_ENTRY, B, "irq", other, LULL_FTRACE_IN_HARDIRQ);
    tell(&story, T0 + 20 * MS, 0, LULL_FTRACE_IRQ_EXIT, B, "irq", other, LULL_FTRACE_IN_HARDIRQ);
    tell(&story, T0 + 21 * MS, 0, LULL_FTRACE_TIMER_ENTRY, B, NULL, 0, LULL_FTRACE_IN_HARDIRQ);
    tell(&story, T0 + 21 * MS, 0, LULL_FTRACE_WAKING, B, "pid", A, LULL_FTRACE_IN_HARDIRQ);
    tell(&story, T0 + 21 * MS, 0, LULL_FTRACE_TIMER_EXIT, B, NULL, 0, LULL_FTRACE_IN_HARDIRQ);
    change(&story, T0 + 23 * MS, 0, B, "b", 0, A, "a");
    g_assert_cmpuint(story.records->len, ==, 8);
    g_assert_cmpuint(alarm_at(&story, 7)->rule, ==, 3);
    g_assert_cmpuint(alarm_at(&story, 7)->irq_ns, ==, T0 + 21 * MS);
    end(&story);
}

/* ---- threads of interrupts ---- */

enum { HARD = LULL_FTRACE_IN_HARDIRQ, SOFT = LULL_FTRACE_IN_SOFTIRQ, KTHREADD = 2 };
enum { LINE = 28, TIMER = 1, NET_RX = 3, SCHED = 7 };

/* A handler from then on for 1 ms, and what it returned. */
static void handle(struct story *story, uint64_t ns, uint32_t tid, uint32_t irq, uint32_t ret)
{
    uint8_t record[256];
    tell(story, ns, 0, LULL_FTRACE_IRQ_ENTRY, tid, "irq", irq, HARD);
    const uint32_t size = made_record(record, LULL_FTRACE_IRQ_EXIT, tid, HARD);
    made_set(record, LULL_FTRACE_IRQ_EXIT, "irq", irq);
    made_set(record, LULL_FTRACE_IRQ_EXIT, "ret", ret);
    take(story, ns + 1 * MS, 0, LULL_FTRACE_IRQ_EXIT, record, size);
}

/* B, of a program, runs on CPU 0, and A, of that name, has slept since T0. */
static void begin_asleep(struct story *story, const char *const *rules, const char *name,
                         uint32_t parent)
{
    begin(story, rules, false);
    start_task(story, T0 - 1, A, parent, 0, name);
    start_task(story, T0 - 1, B, 1, 0, "b");
    change(story, T0, 0, A, name, 1, B, "b");
}

static void raise_softirq(struct story *story, uint64_t ns, uint32_t tid, uint32_t vector,
                          uint8_t flags)
{
    tell(story, ns, 0, LULL_FTRACE_SOFTIRQ_RAISE, tid, "vec", vector, flags);
}

/* The kernel wakes a handler's thread once the handler has returned IRQ_WAKE_THREAD (2), in the interrupt. */
static void test_handlers_thread(void)
{
    static const char *const rules[] = {"offcpu > 1ms", NULL};
    static const struct {
        const char *name;
        uint32_t parent, ret, flags, kind;
    } cases[] = {
        {"irq/28-eth0", KTHREADD, 2, HARD, LULL_TRACK_HOP_IRQ},
        {"irq/28-eth0", KTHREADD, 3, HARD, LULL_TRACK_HOP_IRQ},
        {"irq/28-eth0", KTHREADD, 1, 0, LULL_TRACK_HOP_TASK}, /* the handler left nothing to do */
        {"irq/28-eth0", KTHREADD, 2, 0,
         LULL_TRACK_HOP_TASK}, /* it ran already: then a task wakes it */
        {"irq/280-eth0", KTHREADD, 2, 0, LULL_TRACK_HOP_TASK}, /* of another line */
        {"irq/28", KTHREADD, 2, 0, LULL_TRACK_HOP_TASK},
        {"irq/28-eth0", 1, 2, HARD,
         LULL_TRACK_HOP_INTERRUPT}, /* a program that is only called so */
    };
    for (uint32_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        struct story story;
        begin_asleep(&story, rules, cases[i].name, cases[i].parent);
        handle(&story, T0 + 3 * MS, B, LINE, cases[i].ret);
        tell(&story, T0 + 4 * MS, 0, LULL_FTRACE_WAKING, B, "pid", A, (uint8_t)cases[i].flags);
        change(&story, T0 + 5 * MS, 0, B, "b", 0, A, cases[i].name);
        const struct lull_track_hop *hop = &alarm_at(&story, 0)->hop[0];
        g_assert_cmpuint(hop->kind, ==, cases[i].kind);
        if (hop->kind == LULL_TRACK_HOP_IRQ) {
            g_assert_cmpuint(hop->a, ==, LINE);
            g_assert_cmpuint(hop->start_ns, ==, T0 + 3 * MS);
        } else if (hop->kind == LULL_TRACK_HOP_TASK) {
            g_assert_cmpuint(hop->b, ==, B);
        }
        end(&story);
    }
}

/* While a softirq is interrupted; and another handler, which wakes nobody, comes in between. */
static void test_handlers_thread_in_softirq(void)
{
    static const char *const rules[] = {"offcpu > 1ms", NULL};
    for (uint32_t is_late = 0; is_late < 2; is_late++) {
        struct story story;
        begin_asleep(&story, rules, "irq/28-eth0", KTHREADD);
        tell(&story, T0 + 1 * MS, 0, LULL_FTRACE_SOFTIRQ_ENTRY, B, "vec", NET_RX, SOFT);
        handle(&story, T0 + 3 * MS, B, LINE, 2);
        if (is_late) {
            handle(&story, T0 + 5 * MS, B, LINE + 1, 1);
        }
        tell(&story, T0 + 7 * MS, 0, LULL_FTRACE_WAKING, B, "pid", A, HARD | SOFT);
        tell(&story, T0 + 8 * MS, 0, LULL_FTRACE_SOFTIRQ_EXIT, B, "vec", NET_RX, SOFT);
        change(&story, T0 + 9 * MS, 0, B, "b", 0, A, "irq/28-eth0");
        g_assert_cmpuint(alarm_at(&story, 0)->hop[0].kind, ==,
                         is_late ? LULL_TRACK_HOP_SOFTIRQ : LULL_TRACK_HOP_IRQ);
        end(&story);
    }
}

struct raise {
    uint32_t vector, in_handler;
};

/* What is left of softirqs, the CPU's thread does; it is woken in the interrupt's exit, after all softirqs that were done there: nothing but what
 * was raised says what for. With PREEMPT_RT no flag says that it is an interrupt. */
static void test_softirqs_thread(void)
{
    static const char *const rules[] = {"offcpu > 1ms", NULL};
    static const struct {
        const char *name;
        uint32_t parent;
        struct raise first, second;
        uint32_t kind, number;
    } cases[] = {
        {"ksoftirqd/0", KTHREADD, {NET_RX, 1}, {0, 0}, LULL_TRACK_HOP_SOFTIRQ, NET_RX},
        {"ksoftirqd/0", KTHREADD, {SCHED, 1}, {NET_RX, 1}, LULL_TRACK_HOP_SOFTIRQ, SCHED},
        {"ksoftirqd/0", KTHREADD, {TIMER, 1}, {SCHED, 1}, LULL_TRACK_HOP_SOFTIRQ, SCHED},
        {"ksoftirqd/0", KTHREADD, {TIMER, 1}, {0, 0}, LULL_TRACK_HOP_TIMER, TIMER},
        {"ktimers/0", KTHREADD, {SCHED, 1}, {TIMER, 1}, LULL_TRACK_HOP_TIMER, TIMER},
        {"ksoftirqd/0", KTHREADD, {NET_RX, 0}, {0, 0}, LULL_TRACK_HOP_TASK, 0},
        {"ksoftirqd/0", KTHREADD, {0, 0}, {0, 0}, LULL_TRACK_HOP_INTERRUPT, 0},
        {"ksoftirqd/1", KTHREADD, {NET_RX, 1}, {0, 0}, LULL_TRACK_HOP_TASK, 0}, /* of another CPU */
        {"ksoftirqd/0", 1, {NET_RX, 1}, {0, 0}, LULL_TRACK_HOP_TASK, 0},        /* a program */
    };
    for (uint32_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        struct story story;
        const struct raise *const raises[] = {&cases[i].first, &cases[i].second};
        begin_asleep(&story, rules, cases[i].name, cases[i].parent);
        tell(&story, T0 + 1 * MS, 0, LULL_FTRACE_IRQ_ENTRY, B, "irq", LINE, HARD);
        for (uint32_t n = 0; n < 2; n++) {
            if (raises[n]->vector && raises[n]->in_handler) {
                raise_softirq(&story, T0 + (2 + n) * MS, B, raises[n]->vector, HARD);
            }
        }
        tell(&story, T0 + 4 * MS, 0, LULL_FTRACE_IRQ_EXIT, B, "irq", LINE, HARD);
        if (cases[i].first.vector && !cases[i].first.in_handler) {
            raise_softirq(&story, T0 + 5 * MS, B, cases[i].first.vector, 0);
        }
        wake(&story, T0 + 6 * MS, 0, B, A);
        change(&story, T0 + 9 * MS, 0, B, "b", 0, A, cases[i].name);
        const struct lull_track_hop *hop = &alarm_at(&story, 0)->hop[0];
        g_assert_cmpuint(hop->kind, ==, cases[i].kind);
        if (hop->kind == LULL_TRACK_HOP_TASK) {
            g_assert_cmpuint(hop->b, ==, B);
        } else {
            g_assert_cmpuint(hop->a, ==, cases[i].number);
        }
        end(&story);
    }
}

/* With PREEMPT_RT it may wait for a lock while it is at work: a task wakes it then. */
static void test_softirqs_thread_at_work(void)
{
    static const char *const rules[] = {"offcpu > 1ms", NULL};
    struct story story;
    begin_asleep(&story, rules, "ksoftirqd/0", KTHREADD);
    wake(&story, T0 + 1 * MS, 0, B, A);
    change(&story, T0 + 1 * MS, 0, B, "b", 0, A, "ksoftirqd/0");
    change(&story, T0 + 2 * MS, 0, A, "ksoftirqd/0", 2, B, "b");
    raise_softirq(&story, T0 + 3 * MS, B, NET_RX, HARD);
    wake(&story, T0 + 4 * MS, 0, B, A);
    change(&story, T0 + 5 * MS, 0, B, "b", 0, A, "ksoftirqd/0");
    g_assert_cmpuint(story.records->len, ==, 1);
    g_assert_cmpuint(alarm_at(&story, 0)->hop[0].kind, ==, LULL_TRACK_HOP_TASK);
    g_assert_cmpuint(alarm_at(&story, 0)->hop[0].b, ==, B);
    end(&story);
}

/* A task raised the softirq, and another one is there when the thread is woken: as with PREEMPT_RT, where it may lose the CPU in between. */
static void test_raiser_is_away(void)
{
    static const char *const rules[] = {"offcpu > 1ms", NULL};
    struct story story;
    begin_asleep(&story, rules, "ksoftirqd/0", KTHREADD);
    start_task(&story, T0, C, 1, 0, "c");
    raise_softirq(&story, T0 + 1 * MS, B, NET_RX, 0);
    change(&story, T0 + 2 * MS, 0, B, "b", 0, C, "c");
    wake(&story, T0 + 3 * MS, 0, C, A);
    change(&story, T0 + 4 * MS, 0, C, "c", 0, A, "ksoftirqd/0");
    g_assert_cmpuint(alarm_at(&story, 0)->hop[0].kind, ==, LULL_TRACK_HOP_TASK);
    g_assert_cmpuint(alarm_at(&story, 0)->hop[0].b, ==, B);
    g_assert_cmpstr(alarm_at(&story, 0)->hop[0].comm, ==, "b");
    end(&story);
}

/* The interrupt wakes its thread, that wakes D, and D wakes C: the first two respond to it. */
static void test_response_by_thread(void)
{
    const uint32_t line = line_from(7), other = line_from(line + 1);
    g_autofree char *thread = g_strdup_printf("irq/%u-eth0", line);
    g_autofree char *of = g_strdup_printf("response(%u) > 0ns", line);
    g_autofree char *of_other = g_strdup_printf("response(%u) > 0ns", other);
    const char *const rules[] = {"response > 0ns", of, of_other, NULL};
    struct story story;
    begin_asleep(&story, rules, thread, KTHREADD);
    start_task(&story, T0, C, 1, 0, "c");
    start_task(&story, T0, D, 1, 0, "d");
    change(&story, T0, 1, C, "c", 1, 0, "swapper/1");
    change(&story, T0, 2, D, "d", 1, 0, "swapper/2");
    g_array_set_size(story.records, 0);
    handle(&story, T0 + 3 * MS, B, line, 2);
    tell(&story, T0 + 4 * MS, 0, LULL_FTRACE_WAKING, B, "pid", A, HARD);
    change(&story, T0 + 5 * MS, 0, B, "b", 0, A, thread);
    g_assert_cmpuint(story.records->len, ==, 2);
    wake(&story, T0 + 6 * MS, 0, A, D);
    change(&story, T0 + 8 * MS, 2, 0, "swapper/2", 0, D, "d");
    g_assert_cmpuint(story.records->len, ==, 4);
    for (uint32_t i = 0; i < 4; i++) {
        const struct lull_track_record *record = alarm_at(&story, i);
        g_assert_cmpuint(record->tid, ==, i < 2 ? A : D);
        g_assert_cmpuint(record->rule, ==, i % 2);
        g_assert_cmpuint(record->irq_ns, ==, T0 + 3 * MS);
        /* The chain is who was at work: the thread from when it was woken. */
        g_assert_cmpuint(record->hop[i / 2].kind, ==, LULL_TRACK_HOP_IRQ);
    }
    g_assert_cmpuint(alarm_at(&story, 2)->hop[0].b, ==, A);
    g_assert_cmpuint(alarm_at(&story, 2)->hop[0].start_ns, ==, T0 + 4 * MS);
    wake(&story, T0 + 9 * MS, 2, D, C);
    change(&story, T0 + 10 * MS, 1, 0, "swapper/1", 0, C, "c");
    g_assert_cmpuint(story.records->len, ==, 4);
    end(&story);
}

/* In its handler the thread waits for a lock: who gives that back is answering no interrupt. What the thread does then is still for it. */
static void test_response_after_lock(void)
{
    const uint32_t line = line_from(7);
    g_autofree char *thread = g_strdup_printf("irq/%u-eth0", line);
    const char *const rules[] = {"response > 0ns", NULL};
    struct story story;
    begin_asleep(&story, rules, thread, KTHREADD);
    start_task(&story, T0, D, 1, 0, "d");
    change(&story, T0, 2, D, "d", 1, 0, "swapper/2");
    handle(&story, T0 + 3 * MS, B, line, 2);
    tell(&story, T0 + 4 * MS, 0, LULL_FTRACE_WAKING, B, "pid", A, HARD);
    change(&story, T0 + 5 * MS, 0, B, "b", 0, A, thread);
    change(&story, T0 + 6 * MS, 0, A, thread, 2, B, "b");
    g_assert_cmpuint(story.records->len, ==, 1);
    wake(&story, T0 + 7 * MS, 0, B, A);
    change(&story, T0 + 8 * MS, 0, B, "b", 0, A, thread);
    g_assert_cmpuint(story.records->len, ==, 1);
    wake(&story, T0 + 9 * MS, 0, A, D);
    change(&story, T0 + 10 * MS, 2, 0, "swapper/2", 0, D, "d");
    g_assert_cmpuint(story.records->len, ==, 2);
    g_assert_cmpuint(alarm_at(&story, 1)->irq_ns, ==, T0 + 3 * MS);
    end(&story);
}

/* The handler's thread raises a softirq, which ksoftirqd does; so does the second thread of a driver that has two, as with PREEMPT_RT. */
static void test_response_by_two(void)
{
    const uint32_t line = line_from(7);
    g_autofree char *thread = g_strdup_printf("irq/%u-eth0", line);
    g_autofree char *second = g_strdup_printf("irq/%u-s-eth0", line);
    const char *const rules[] = {"response > 0ns", NULL};
    for (uint32_t is_softirq = 0; is_softirq < 2; is_softirq++) {
        const char *name = is_softirq ? "ksoftirqd/0" : second;
        struct story story;
        begin_asleep(&story, rules, thread, KTHREADD);
        start_task(&story, T0, C, KTHREADD, 0, name);
        start_task(&story, T0, D, 1, 0, "d");
        change(&story, T0, 1, C, name, 1, 0, "swapper/1");
        change(&story, T0, 2, D, "d", 1, 0, "swapper/2");
        handle(&story, T0 + 3 * MS, B, line, 2);
        tell(&story, T0 + 4 * MS, 0, LULL_FTRACE_WAKING, B, "pid", A, HARD);
        change(&story, T0 + 5 * MS, 0, B, "b", 0, A, thread);
        if (is_softirq) {
            raise_softirq(&story, T0 + 6 * MS, A, NET_RX, 0);
        }
        wake(&story, T0 + 6 * MS, 0, A, C);
        change(&story, T0 + 7 * MS, 0, A, thread, 1, C, name);
        if (is_softirq) {
            tell(&story, T0 + 8 * MS, 0, LULL_FTRACE_SOFTIRQ_ENTRY, C, "vec", NET_RX, SOFT);
        }
        tell(&story, T0 + 9 * MS, 0, LULL_FTRACE_WAKING, C, "pid", D, is_softirq ? SOFT : 0);
        change(&story, T0 + 10 * MS, 2, 0, "swapper/2", 0, D, "d");
        g_assert_cmpuint(story.records->len, ==, 3);
        const uint32_t woken[] = {A, C, D};
        for (uint32_t i = 0; i < 3; i++) {
            g_assert_cmpuint(alarm_at(&story, i)->tid, ==, woken[i]);
            g_assert_cmpuint(alarm_at(&story, i)->irq_ns, ==, T0 + 3 * MS);
        }
        end(&story);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/live/ftrace/interrupts", test_interrupts);
    g_test_add_func("/live/ftrace/handlers-thread", test_handlers_thread);
    g_test_add_func("/live/ftrace/handlers-thread-in-softirq", test_handlers_thread_in_softirq);
    g_test_add_func("/live/ftrace/softirqs-thread", test_softirqs_thread);
    g_test_add_func("/live/ftrace/softirqs-thread-at-work", test_softirqs_thread_at_work);
    g_test_add_func("/live/ftrace/raiser-is-away", test_raiser_is_away);
    g_test_add_func("/live/ftrace/response-by-thread", test_response_by_thread);
    g_test_add_func("/live/ftrace/response-after-lock", test_response_after_lock);
    g_test_add_func("/live/ftrace/response-by-two", test_response_by_two);
    return g_test_run();
}
