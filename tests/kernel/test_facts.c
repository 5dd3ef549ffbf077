/* SPDX-License-Identifier: MIT */
/* Facts of the machine: each case is a few events at small times, and what they mean, worked out by
 * hand. A fact is one line of text. */
#include "kernel/model.h"
#include "lib/ctf_writer.h"
#include "lib/feed.h"
#include "lib/scratch.h"

struct fixture {
    struct lull_model *model;
    GString *log;
};

static int tid_of(const struct lull_model *model, uint32_t task)
{
    return task == LULL_NONE ? 0 : lull_model_task(model, task)->tid;
}

static const char *text_of(const struct lull_model *model, uint32_t label)
{
    return label == LULL_NONE ? "-" : lull_model_label(model, label);
}

/* "c1 20: 7 since 10 (unknown 10) then 8 woken 15 by 7\n"; 0 is idle. */
static void on_switched(void *user, const struct lull_switch_fact *fact)
{
    struct fixture *f = user;
    g_string_append_printf(f->log, "c%d %d: %d since %d", fact->cpu, (int)fact->time_ns,
                           tid_of(f->model, fact->previous), (int)fact->since_ns);
    if (fact->unknown_ns) {
        g_string_append_printf(f->log, " (unknown %d)", (int)fact->unknown_ns);
    }
    if (fact->is_unknown) {
        g_string_append(f->log, " then ?");
    } else {
        g_string_append_printf(f->log, " then %d", tid_of(f->model, fact->task));
    }
    if (fact->wakeup_ns != INT64_MIN) {
        g_string_append_printf(f->log, " woken %d by %d%s", (int)fact->wakeup_ns,
                               tid_of(f->model, fact->waker),
                               fact->waker_is_interrupt ? " in an interrupt" : "");
    }
    if (fact->prio != LULL_NO_PRIO) {
        g_string_append_printf(f->log, " prio %d", fact->prio);
    }
    g_string_append_c(f->log, '\n');
}

static void on_migration(void *user, const struct lull_migration_fact *fact)
{
    struct fixture *f = user;
    g_string_append_printf(f->log, "%d: %d from c%d to c%d on c%d\n", (int)fact->time_ns,
                           tid_of(f->model, fact->task), fact->from_cpu, fact->to_cpu, fact->cpu);
}

static void on_prio(void *user, const struct lull_prio_fact *fact)
{
    struct fixture *f = user;
    g_string_append_printf(f->log, "%d: %d has prio %d\n", (int)fact->time_ns,
                           tid_of(f->model, fact->task), fact->prio);
}

static void on_handler(void *user, const struct lull_handler_fact *fact)
{
    struct fixture *f = user;
    static const char *const kinds[] = {"irq", "softirq", "hrtimer", "vector"};
    g_string_append_printf(f->log, "%s %u %s %d..%d nested %d", kinds[fact->kind], fact->number,
                           text_of(f->model, fact->name), (int)fact->start_ns, (int)fact->end_ns,
                           (int)fact->nested_ns);
    if (fact->raise_ns != INT64_MIN) {
        g_string_append_printf(f->log, " raised %d", (int)fact->raise_ns);
    }
    g_string_append_printf(f->log, " in %d\n", tid_of(f->model, fact->task));
}

static void on_page(void *user, const struct lull_page_fact *fact)
{
    struct fixture *f = user;
    g_string_append_printf(f->log, "%s order %d%s by %d%s\n", fact->is_free ? "free" : "alloc",
                           fact->order, fact->has_order ? "" : "?", tid_of(f->model, fact->task),
                           fact->in_interrupt ? " in an interrupt" : "");
}

static void on_netif(void *user, const struct lull_netif_fact *fact)
{
    struct fixture *f = user;
    g_string_append_printf(f->log, "%s %s %u by %d%s\n", text_of(f->model, fact->device),
                           fact->is_send ? "sent" : "received", fact->length,
                           tid_of(f->model, fact->task),
                           fact->in_interrupt ? " in an interrupt" : "");
}

static void on_power(void *user, const struct lull_power_fact *fact)
{
    struct fixture *f = user;
    g_string_append_printf(f->log, "c%d %s %" G_GINT64_FORMAT "\n", fact->cpu,
                           fact->kind == LULL_POWER_IDLE ? "idle" : "kHz", fact->value);
}

static void on_block(void *user, const struct lull_block_fact *fact)
{
    struct fixture *f = user;
    static const char *const steps[] = {"insert", "issue", "complete"};
    const struct lull_block_request *r = lull_model_request(f->model, fact->request);
    const char *device = lull_model_device(f->model, fact->request);
    g_string_append_printf(f->log, "%d: %s request %u on %s, %u left\n", (int)fact->time_ns,
                           steps[fact->step], fact->request, device ? device : "-", r->left);
}

static void on_lost(void *user, const struct lull_lost_fact *fact)
{
    struct fixture *f = user;
    g_string_append_printf(f->log, "lost c%d %d..%d: %d events, %d packets\n", fact->cpu,
                           (int)fact->start_ns, (int)fact->end_ns, (int)fact->events,
                           (int)fact->packets);
}

static void subscribe(struct fixture *f)
{
    static const struct lull_facts facts = {.switched = on_switched,
                                            .migration = on_migration,
                                            .prio = on_prio,
                                            .handler = on_handler,
                                            .page = on_page,
                                            .netif = on_netif,
                                            .power = on_power,
                                            .block = on_block,
                                            .lost = on_lost};
    f->log = g_string_new(NULL);
    lull_model_subscribe(f->model, &facts, f);
}

static void set_up(struct fixture *f, gconstpointer data)
{
    f->model = lull_model_new(NULL, LULL_GROUP_GRAPH);
    subscribe(f);
}

static void tear_down(struct fixture *f, gconstpointer data)
{
    lull_model_free(f->model);
    g_string_free(f->log, TRUE);
}

static void expect(struct fixture *f, const char *text)
{
    g_assert_cmpstr(f->log->str, ==, text);
    g_string_truncate(f->log, 0);
}

static void test_first_switch(struct fixture *f, gconstpointer data)
{
    struct lull_model *model = f->model;
    uint32_t task;
    int64_t since;
    feed_softirq(model, 0, 1, 10, 3, true); /* the host's first event, on another CPU */
    g_assert_false(lull_model_running(model, 0, 0, &task, &since));
    g_assert_cmpint(since, ==, 10);
    feed_switch(model, 0, 0, 30, 7, 8, 0);
    feed_switch(model, 0, 0, 50, 8, 0, 1);
    expect(f, "c0 30: 7 since 10 then 8\nc0 50: 8 since 30 then 0\n");
    g_assert_true(lull_model_running(model, 0, 0, &task, &since));
    g_assert_true(task == LULL_NONE && since == 50);
    g_assert_false(lull_model_running(model, 0, 1, &task, &since));
    g_assert_cmpint(lull_model_next_cpu(model, 0, -1), ==, 0);
    g_assert_cmpint(lull_model_next_cpu(model, 0, 0), ==, 1);
    g_assert_cmpint(lull_model_next_cpu(model, 0, 1), ==, -1);
}

static void test_context_reports(struct fixture *f, gconstpointer data)
{
    struct lull_model *model = f->model;
    feed_wake(model, LULL_EVENT_sched_waking, 0, 0, 10, 9, 0);
    FEED(softirq_entry, 0, 0, 25, .have = ALL, .vec = 3, .context_tid = 7);
    feed_switch(model, 0, 0, 30, 7, 0, 1);
    expect(f, "c0 25: 7 since 10 then 7\nc0 30: 7 since 25 then 0\n");
}

/* Some kernels do not trace the switches of their idle tasks. An idle CPU takes up at once what was
 * woken for it, unless an interrupt still found it idle later: the task came after that. When it did
 * is not known: nothing says how long it waited. */
static void test_idle_hidden(struct fixture *f, gconstpointer data)
{
    struct lull_model *model = f->model;
    feed_switch(model, 0, 1, 10, 7, 0, 1);
    feed_wake(model, LULL_EVENT_sched_waking, 0, 0, 20, 7, 1);
    FEED(softirq_exit, 0, 1, 80, .have = ALL, .vec = 3, .context_tid = 7);
    feed_switch(model, 0, 1, 110, 7, 0, 1);
    feed_wake(model, LULL_EVENT_sched_waking, 0, 0, 120, 7, 1);
    FEED(call_function_single_entry, 0, 1, 160, .have = ALL, .context_tid = 0);
    FEED(call_function_single_exit, 0, 1, 170, .have = ALL, .context_tid = 0);
    FEED(softirq_exit, 0, 1, 180, .have = ALL, .vec = 3, .context_tid = 7);
    feed_switch(model, 0, 1, 200, 7, 0, 1);
    expect(f, "c1 10: 7 since 10 then 0\n"
              "c1 20: 0 since 10 then ?\n"
              "c1 80: 7 since 20 then 7\n"
              "c1 110: 7 since 80 then 0\n"
              "vector 0 call function single 160..170 nested 0 in 0\n"
              "c1 170: 0 since 110 then ?\n"
              "c1 180: 7 since 170 then 7\n"
              "c1 200: 7 since 180 then 0\n");
}

static void test_switches_missing(struct fixture *f, gconstpointer data)
{
    struct lull_model *model = f->model;
    feed_switch(model, 0, 0, 10, 0, 7, 0);
    feed_switch(model, 0, 0, 30, 8, 0, 1); /* 7 should have been there: when 8 came is not known */
    expect(f, "c0 10: 0 since 10 then 7\nc0 30: 8 since 30 (unknown 20) then 0\n");
}

static void test_wakings(struct fixture *f, gconstpointer data)
{
    struct lull_model *model = f->model;
    feed_switch(model, 0, 0, 10, 7, 8, 1);
    feed_wake(model, LULL_EVENT_sched_waking, 0, 0, 15, 7, 0);
    feed_wake(model, LULL_EVENT_sched_wakeup, 0, 0, 16, 7, 0); /* the first one counts */
    feed_switch(model, 0, 0, 20, 8, 7, 0);
    feed_switch(model, 0, 0, 30, 7, 8, 1);
    expect(f, "c0 10: 7 since 10 then 8\nc0 20: 8 since 10 then 7 woken 15 by 8\n"
              "c0 30: 7 since 20 then 8\n"); /* 8 was preempted, not woken */
    feed_irq(model, 0, 0, 32, 4, "disk", true);
    feed_wake(model, LULL_EVENT_sched_waking, 0, 0, 33, 7, 0);
    feed_irq(model, 0, 0, 34, 4, "disk", false);
    g_string_truncate(f->log, 0);
    feed_switch(model, 0, 0, 40, 8, 7, 1);
    expect(f, "c0 40: 8 since 30 then 7 woken 33 by 8 in an interrupt\n");
}

static void test_early_wakings(struct fixture *f, gconstpointer data)
{
    struct lull_model *model = f->model;
    feed_switch(model, 0, 0, 10, 0, 7, 0);
    feed_switch(model, 0, 1, 10, 0, 8, 0);
    feed_wake(model, LULL_EVENT_sched_waking, 0, 1, 15, 7, 0);
    feed_switch(model, 0, 0, 20, 7, 0, 1); /* it was on its way out */
    g_string_truncate(f->log, 0);
    feed_switch(model, 0, 0, 25, 0, 7, 0);
    expect(f, "c0 25: 0 since 20 then 7 woken 20 by 8\n");
    feed_wake(model, LULL_EVENT_sched_waking, 0, 1, 30, 7, 0);
    feed_switch(model, 0, 0, 35, 7, 0, 1);
    feed_wake(model, LULL_EVENT_sched_wakeup, 0, 1, 37, 7, 0); /* this one came when it was out */
    g_string_truncate(f->log, 0);
    feed_switch(model, 0, 0, 40, 0, 7, 0);
    expect(f, "c0 40: 0 since 35 then 7 woken 37 by 8\n");
    feed_wake(model, LULL_EVENT_sched_waking, 0, 1, 41, 7, 0);
    feed_wake(model, LULL_EVENT_sched_wakeup, 0, 1, 42, 7, 0); /* it did not even stop */
    feed_switch(model, 0, 0, 45, 7, 9, 0);
    g_string_truncate(f->log, 0);
    feed_switch(model, 0, 0, 50, 9, 7, 1);
    expect(f, "c0 50: 9 since 45 then 7\n");
}

static void test_priorities(struct fixture *f, gconstpointer data)
{
    struct lull_model *model = f->model;
    FEED(sched_switch, 0, 0, 10, .have = ALL, .prev_tid = 0, .next_tid = 7, .prev_prio = 120,
         .next_prio = 110);
    FEED(sched_pi_setprio, 0, 0, 15, .have = ALL, .tid = 7, .newprio = 98);
    FEED(sched_migrate_task, 0, 0, 20, .have = ALL, .tid = 9, .prio = 120, .orig_cpu = 0,
         .dest_cpu = 1, .comm = feed_text("x"));
    FEED(sched_pi_setprio, 0, 0, 25, .have = ALL, .tid = 7, .newprio = INT64_MAX); /* damage */
    expect(f, "10: 7 has prio 110\nc0 10: 0 since 10 then 7 prio 110\n15: 7 has prio 98\n"
              "20: 9 has prio 120\n20: 9 from c0 to c1 on c0\n");
    g_assert_cmpint(lull_model_prio(model, lull_model_find_tid(model, 0, 7)), ==, 98);
}

/* sched_waking names the CPU of a task; a wake-up that names none changes nothing. The task waits there,
 * wherever it runs then. */
static void on_state(void *user, const struct lull_state_fact *fact)
{
    if (fact->state == LULL_STATE_PREEMPTED) {
        *(int32_t *)user = fact->cpu;
    }
}

static void test_cpu_of_waiting(struct fixture *f, gconstpointer data)
{
    struct lull_model *model = f->model;
    int32_t waited_on = INT32_MIN;
    lull_model_subscribe(model, &(struct lull_facts){.state = on_state}, &waited_on);
    feed_switch(model, 0, 2, 10, 7, 0, 1);
    feed_wake(model, LULL_EVENT_sched_waking, 0, 0, 20, 7, 1);
    feed_wake(model, LULL_EVENT_sched_wakeup, 0, 0, 25, 7, -1);
    feed_switch(model, 0, 2, 30, 0, 7, 0);
    g_assert_cmpint(waited_on, ==, 1);
}

static void add_waiting(void *user, const struct lull_state_fact *fact)
{
    if (fact->state == LULL_STATE_PREEMPTED) {
        g_string_append_printf(user, "%d..%d ", (int)fact->start_ns, (int)fact->end_ns);
    }
}

/* try_to_wake_up() of the kernel wakes who sleeps, or is about to: a task that is woken again has run in between. When, nothing
 * shows where the switches of idle tasks are not traced, as on CPU 1. */
static void test_woken_again(struct fixture *f, gconstpointer data)
{
    struct lull_model *model = f->model;
    g_autoptr(GString) waiting = g_string_new(NULL);
    lull_model_subscribe(model, &(struct lull_facts){.state = add_waiting}, waiting);
    feed_switch(model, 0, 0, 0, 0, 9, 0);
    feed_switch(model, 0, 1, 5, 6, 0, 1);
    feed_switch(model, 0, 1, 10, 7, 0, 1);
    feed_wake(model, LULL_EVENT_sched_waking, 0, 0, 15, 7, 1);
    feed_wake(model, LULL_EVENT_sched_wakeup, 0, 0, 16, 7, 1);
    feed_wake(model, LULL_EVENT_sched_waking, 0, 0, 115, 7, 0);
    g_string_truncate(f->log, 0);
    feed_switch(model, 0, 0, 120, 9, 7, 0);
    g_assert_cmpstr(waiting->str, ==, "115..120 ");
    expect(f, "c0 120: 9 since 0 then 7 woken 115 by 9\n");
}

/* What counts is when a task first became another program. */
static void test_two_execs(struct fixture *f, gconstpointer data)
{
    struct lull_model *model = f->model;
    feed_switch(model, 0, 0, 10, 0, 7, 0);
    for (int64_t t = 20; t <= 30; t += 10) {
        FEED(sched_process_exec, 0, 0, t, .have = ALL, .tid = 7, .old_tid = 7,
             .filename = feed_text("/bin/true"));
    }
    g_assert_cmpint(lull_model_task(model, lull_model_find_tid(model, 0, 7))->exec_ns, ==, 20);
}

static void test_nested_handlers(struct fixture *f, gconstpointer data)
{
    struct lull_model *model = f->model;
    feed_switch(model, 0, 0, 0, 0, 7, 0);
    g_string_truncate(f->log, 0);
    feed_softirq(model, 0, 0, 10, 3, true);
    feed_irq(model, 0, 0, 20, 5, "ahci", true);
    feed_irq(model, 0, 0, 26, 6, "usb", true);
    feed_irq(model, 0, 0, 28, 6, "usb", false);
    feed_irq(model, 0, 0, 30, 5, "ahci", false);
    FEED(local_timer_entry, 0, 0, 40, 0);
    FEED(hrtimer_entry, 0, 0, 41, 0);
    FEED(hrtimer_exit, 0, 0, 43, 0);
    FEED(local_timer_exit, 0, 0, 45, 0);
    feed_softirq(model, 0, 0, 50, 3, false);
    feed_softirq(model, 0, 0, 60, 3, false); /* without a begin */
    expect(f, "irq 6 usb 26..28 nested 0 in 7\nirq 5 ahci 20..30 nested 2 in 7\n"
              "hrtimer 0 hrtimer 41..43 nested 0 in 7\nvector 0 local timer 40..45 nested 2 in 7\n"
              "softirq 3 NET_RX 10..50 nested 15 in 7\n");
}

/* An interrupt whose name is not told keeps the one it had. */
static void test_nameless_irq(struct fixture *f, gconstpointer data)
{
    struct lull_model *model = f->model;
    feed_switch(model, 0, 0, 0, 0, 7, 0);
    g_string_truncate(f->log, 0);
    feed_irq(model, 0, 0, 10, 5, "ahci", true);
    feed_irq(model, 0, 0, 12, 5, "ahci", false);
    feed_irq(model, 0, 0, 20, 5, "", true);
    feed_irq(model, 0, 0, 23, 5, "", false);
    feed_irq(model, 0, 0, 30, 6, "", true);
    feed_irq(model, 0, 0, 31, 6, "", false);
    feed_irq(model, 0, 0, 40, 5, "ahc", true); /* another driver has it */
    feed_irq(model, 0, 0, 41, 5, "ahc", false);
    feed_irq(model, 0, 0, 50, 6, "ahc", true);
    feed_irq(model, 0, 0, 52, 6, "ahc", false);
    expect(f, "irq 5 ahci 10..12 nested 0 in 7\nirq 5 ahci 20..23 nested 0 in 7\n"
              "irq 6 - 30..31 nested 0 in 7\nirq 5 ahc 40..41 nested 0 in 7\n"
              "irq 6 ahc 50..52 nested 0 in 7\n");
}

static void test_raises(struct fixture *f, gconstpointer data)
{
    struct lull_model *model = f->model;
    FEED(softirq_raise, 0, 0, 10, .have = ALL, .vec = 1);
    FEED(softirq_raise, 0, 0, 12, .have = ALL, .vec = 1); /* it is pending already */
    FEED(softirq_raise, 0, 1, 13, .have = ALL, .vec = 1); /* another CPU's */
    feed_softirq(model, 0, 0, 20, 1, true);
    FEED(softirq_raise, 0, 0, 22, .have = ALL, .vec = 1); /* for the next run */
    feed_softirq(model, 0, 0, 25, 1, false);
    feed_softirq(model, 0, 0, 30, 1, true);
    feed_softirq(model, 0, 0, 31, 1, false);
    feed_softirq(model, 0, 0, 40, 1, true);
    feed_softirq(model, 0, 0, 41, 1, false);
    FEED(softirq_raise, 0, 0, 50, .have = ALL, .vec = 77);
    expect(
        f,
        "softirq 1 TIMER 20..25 nested 0 raised 10 in 0\n"
        "softirq 1 TIMER 30..31 nested 0 raised 22 in 0\nsoftirq 1 TIMER 40..41 nested 0 in 0\n");
}

static void test_pages(struct fixture *f, gconstpointer data)
{
    struct lull_model *model = f->model;
    feed_switch(model, 0, 0, 0, 0, 7, 0);
    g_string_truncate(f->log, 0);
    FEED(page_alloc, 0, 0, 10, .have = WITHOUT(page_alloc, context_tid), .order = 3, .page = 4096,
         .pfn = 1);
    FEED(page_alloc, 0, 0, 11, .have = WITHOUT(page_alloc, context_tid), .order = 3); /* failed */
    feed_softirq(model, 0, 0, 12, 3, true);
    FEED(page_free, 0, 0, 13, .have = 0);
    feed_softirq(model, 0, 0, 14, 3, false);
    feed_switch(model, 0, 0, 20, 7, 0, 1);
    FEED(page_free, 0, 0, 21, .have = WITHOUT(page_free, context_tid), .order = 200);
    expect(f,
           "alloc order 3 by 7\nfree order 0? by 7 in an interrupt\n"
           "softirq 3 NET_RX 12..14 nested 0 in 7\nc0 20: 7 since 0 then 0\nfree order 63 by 0\n");
}

static void test_devices(struct fixture *f, gconstpointer data)
{
    struct lull_model *model = f->model;
    FEED(netif_sent, 0, 0, 10, .have = ALL, .len = 100, .device = feed_text("eth0"),
         .context_tid = 7);
    FEED(netif_sent, 0, 0, 11, .have = ALL, .len = 100, .device = feed_text("eth0"),
         .context_tid = 7, .rc = 16); /* the device was busy */
    FEED(netif_received, 0, 0, 12, .have = ALL, .len = 60, .device = feed_text("eth"),
         .context_tid = 7);
    feed_tcp(model, 0, 0, 13, false, &(struct feed_segment){1, 2, 3, 4, 5, 6, 0, 7, "lo"});
    expect(f, "c0 10: 7 since 10 then 7\neth0 sent 100 by 7\neth received 60 by 7\n"
              "lo received 0 by 7\n");
}

static void test_power(struct fixture *f, gconstpointer data)
{
    struct lull_model *model = f->model;
    int64_t frequency, idle;
    lull_model_power(model, 0, 3, &frequency, &idle);
    g_assert_true(frequency == -1 && idle == INT64_MIN);
    FEED(cpu_idle, 0, 0, 10, .have = ALL, .state = 2, .cpu = 0);
    FEED(cpu_idle, 0, 0, 20, .have = ALL, .state = 0xffffffff, .cpu = 0);
    FEED(cpu_frequency, 0, 0, 30, .have = ALL, .state = 2400000, .cpu = 3); /* another CPU's */
    expect(f, "c0 idle 2\nc0 idle -1\nc3 kHz 2400000\n");
    lull_model_power(model, 0, 3, &frequency, &idle);
    g_assert_true(frequency == 2400000 && idle == INT64_MIN);
}

#define DEV(major, minor) ((major) << 20 | (minor))
#define BLOCK(event, t, d, s, n)                                                                   \
    FEED(block_rq_##event, 0, 0, t,                                                                \
         .have = WITHOUT(block_rq_issue, context_tid) & WITHOUT(block_rq_issue, rwbs_text),        \
         .dev = (d), .sector = (s), .sectors = (n), .rwbs = 1)

static void test_block(struct fixture *f, gconstpointer data)
{
    struct lull_model *model = f->model;
    FEED(statedump_block_device, 0, 0, 0, .have = ALL, .dev = DEV(8, 0),
         .diskname = feed_text("sda"));
    BLOCK(insert, 10, DEV(8, 0), 100, 8);
    BLOCK(issue, 20, DEV(8, 0), 100, 8);
    BLOCK(requeue, 21, DEV(8, 0), 100, 8);
    BLOCK(insert, 21, DEV(8, 0), 100, 8);
    BLOCK(issue, 22, DEV(8, 0), 100, 8); /* the same once more */
    BLOCK(complete, 30, DEV(8, 0), 100, 6);
    BLOCK(complete, 40, DEV(8, 0), 106, 2); /* the rest */
    BLOCK(complete, 50, DEV(8, 0), 900, 8); /* of which nothing was seen */
    expect(f, "10: insert request 0 on sda, 8 left\n20: issue request 0 on sda, 8 left\n"
              "21: insert request 0 on sda, 8 left\n22: issue request 0 on sda, 8 left\n"
              "40: complete request 0 on sda, 0 left\n"
              "50: complete request 1 on sda, 0 left\n");
    const struct lull_block_request *first = lull_model_request(model, 0);
    g_assert_true(first->insert_ns == 21 && first->issue_ns == 22 && first->complete_ns == 40);
    g_assert_cmpint(lull_model_request(model, 1)->issue_ns, ==, INT64_MIN);
}

/* A write between two flushes, as a kernel of 2013 recorded it: only the second flush, which the
 * write waits for, is seen to end. Then a disk is asked twice for something that is no data. */
static void test_flush(struct fixture *f, gconstpointer data)
{
    struct lull_model *model = f->model;
    FEED(statedump_block_device, 0, 0, 0, .have = ALL, .dev = DEV(8, 0),
         .diskname = feed_text("sda"));
    BLOCK(insert, 10, DEV(8, 0), 100, 8);
    BLOCK(issue, 11, DEV(8, 0), -1, 0);
    BLOCK(issue, 20, DEV(8, 0), 100, 8);
    BLOCK(complete, 30, DEV(8, 0), 100, 8);
    BLOCK(issue, 31, DEV(8, 0), -1, 0);
    BLOCK(complete, 50, DEV(8, 0), 100, 0);
    BLOCK(issue, 60, DEV(8, 0), -1, 0); /* another kernel: the flush itself ends first */
    BLOCK(complete, 69, DEV(8, 0), -1, 0);
    BLOCK(complete, 70, DEV(8, 0), 0, 0);
    for (int64_t t = 80; t < 100; t += 10) {
        BLOCK(issue, t, 0, 0, 0);
        BLOCK(complete, t + 5, 0, 0, 0);
    }
    expect(f, "10: insert request 0 on sda, 8 left\n11: issue request 1 on sda, 0 left\n"
              "20: issue request 0 on sda, 8 left\n30: complete request 0 on sda, 0 left\n"
              "31: issue request 2 on sda, 0 left\n50: complete request 2 on sda, 0 left\n"
              "60: issue request 3 on sda, 0 left\n69: complete request 3 on sda, 0 left\n"
              "80: issue request 4 on -, 0 left\n85: complete request 4 on -, 0 left\n"
              "90: issue request 5 on -, 0 left\n95: complete request 5 on -, 0 left\n");
    g_assert_cmpint(lull_model_request(model, 0)->complete_ns, ==, 50);
    g_assert_cmpint(lull_model_request(model, 1)->complete_ns, ==, INT64_MIN);
}

static void feed_remap(struct lull_model *model, int64_t t, int64_t dev, int64_t sector,
                       int64_t old_dev, int64_t old_sector)
{
    FEED(block_bio_remap, 0, 0, t, .have = ALL, .dev = dev, .sector = sector, .old_dev = old_dev,
         .old_sector = old_sector);
}

static void test_remap(struct fixture *f, gconstpointer data)
{
    struct lull_model *model = f->model;
    FEED(statedump_block_device, 0, 0, 0, .have = ALL, .dev = DEV(8, 0),
         .diskname = feed_text("sda"));
    FEED(statedump_block_device, 0, 0, 0, .have = ALL, .dev = DEV(253, 0),
         .diskname = feed_text("dm-0"));
    feed_remap(model, 1, DEV(8, 1), 50, DEV(253, 0), 10); /* LVM on a partition on a disk */
    feed_remap(model, 2, DEV(8, 0), 2098, DEV(8, 1), 50);
    feed_remap(model, 3, DEV(8, 0), 2106, DEV(8, 1), 58); /* merged into it: leaves nothing */
    FEED(block_bio_merge, 0, 0, 4, .have = ALL, .dev = DEV(8, 0), .sector = 2106);
    BLOCK(issue, 5, DEV(8, 0), 2098, 16);
    BLOCK(complete, 6, DEV(8, 0), 2098, 16);
    BLOCK(issue, 7, DEV(8, 0), 2106, 8); /* later, another one at that place */
    expect(f, "5: issue request 0 on dm-0, 16 left\n6: complete request 0 on dm-0, 0 left\n"
              "7: issue request 1 on sda, 8 left\n");
    g_assert_cmpint(lull_model_request(model, 0)->mapped_dev, ==, DEV(253, 0));
    g_assert_cmpint(lull_model_request(model, 0)->dev, ==, DEV(8, 0));
}

static void on_alarm(void *user, int64_t time_ns)
{
    struct fixture *f = user;
    g_string_append_printf(f->log, "alarm %" G_GINT64_FORMAT "\n", time_ns);
    if (time_ns == 20) {
        lull_model_set_alarm(f->model, 25, on_alarm, f);
    }
}

static void test_alarm(struct fixture *f, gconstpointer data)
{
    struct lull_model *model = f->model;
    lull_model_set_alarm(model, 15, on_alarm, f);
    feed_switch(model, 0, 0, 10, 0, 7, 0);
    feed_switch(model, 0, 0, 20, 7, 8, 0);
    feed_switch(model, 0, 0, 25, 8, 7, 0);
    lull_model_set_alarm(model, 100, on_alarm, f);
    lull_model_finish(model);
    expect(f, "c0 10: 0 since 10 then 7\nalarm 20\nc0 20: 7 since 10 then 8\nalarm 25\n"
              "c0 25: 8 since 20 then 7\nalarm 9223372036854775807\n");
}

static void write_switch(struct ctf_writer *writer, unsigned cpu, int64_t t, int prev, int next)
{
    ctf_event(writer, cpu, t, "sched_switch",
              "prev_tid=%d next_tid=%d prev_prio=20 next_prio=20 prev_state=1", prev, next);
}

static struct ctf_writer *open_trace(char **dir)
{
    *dir = scratch_dir();
    return ctf_writer_new(*dir, &(struct ctf_options){0});
}

/* Reads the trace and removes it; without_prios: the lines and words about priorities are left out.
 */
static void expect_run(char *dir, bool without_prios, const char *text)
{
    struct fixture f;
    struct lull_session *session = lull_session_new();
    g_assert_true(lull_session_add(session, dir, NULL));
    f.model = lull_model_new(session, LULL_GROUP_SCHED);
    subscribe(&f);
    lull_model_run(f.model, NULL, NULL);
    g_autoptr(GRegex) prios = g_regex_new(".* has prio .*\n| prio [0-9]+", 0, 0, NULL);
    g_autofree char *lines = g_regex_replace(prios, f.log->str, -1, 0, "", 0, NULL);
    g_assert_cmpstr(without_prios ? lines : f.log->str, ==, text);
    tear_down(&f, NULL);
    lull_session_free(session);
    scratch_remove(dir);
    g_free(dir);
}

static void test_discarded(void)
{
    char *dir;
    struct ctf_writer *writer = open_trace(&dir);
    write_switch(writer, 0, 10, 0, 7);
    write_switch(writer, 0, 20, 7, 8);
    ctf_writer_lose(writer, 0, 3, 0);
    ctf_writer_end_packet(writer, 0);
    write_switch(writer, 0, 50, 9, 0);
    write_switch(writer, 0, 60, 0, 9);
    ctf_writer_close(writer);
    expect_run(dir, true,
               "c0 10: 0 since 10 then 7\nc0 20: 7 since 10 then 8\n"
               "lost c0 10..49: 3 events, 0 packets\nc0 20: 8 since 20 then ?\n"
               "c0 50: 9 since 50 (unknown 30) then 0\nc0 60: 0 since 50 then 9\n");
}

/* LTTng closes a packet when the first event comes that is not lost, and with its time. */
static void test_discarded_until_next(void)
{
    char *dir;
    struct ctf_writer *writer = open_trace(&dir);
    write_switch(writer, 0, 10, 0, 7);
    write_switch(writer, 0, 20, 7, 8);
    ctf_writer_discard(writer, 0, 3, 50);
    write_switch(writer, 0, 50, 8, 0);
    write_switch(writer, 0, 60, 0, 9);
    ctf_writer_close(writer);
    expect_run(dir, true,
               "c0 10: 0 since 10 then 7\nc0 20: 7 since 10 then 8\n"
               "lost c0 10..50: 3 events, 0 packets\nc0 20: 8 since 20 then ?\n"
               "c0 50: 8 since 50 (unknown 30) then 0\nc0 60: 0 since 50 then 9\n");
}

static void on_state_of_5(void *user, const struct lull_state_fact *fact)
{
    struct fixture *f = user;
    static const char letters[] = {[LULL_STATE_NONE] = '-',
                                   [LULL_STATE_RUNNING] = 'R',
                                   [LULL_STATE_PREEMPTED] = 'P',
                                   [LULL_STATE_BLOCKED] = 'B'};
    if (tid_of(f->model, fact->task) == 5) {
        g_string_append_printf(f->log, "%c %d..%d by %d\n", letters[fact->state],
                               (int)fact->start_ns, (int)fact->end_ns,
                               fact->wakeup ? tid_of(f->model, fact->wakeup->task) : -1);
    }
}

/* While events of CPU 1 are missing, from 20 to 40, task 5 may have been woken, have run and have blocked again: who
 * wakes it later did not end what it waited for before. `how`: 0 it blocks and is woken, 1 it is preempted and runs,
 * 2 it blocks and runs, 3 it is preempted and woken, which says that it ran. */
static void test_across_loss(gconstpointer how)
{
    static const char *const expected[] = {
        "B 15..20 by -1\n- 20..40 by -1\nB 40..60 by 7\nP 60..70 by -1\n",
        "P 15..20 by -1\n- 20..40 by -1\nP 40..70 by -1\n", "B 15..20 by -1\n- 20..70 by -1\n",
        "P 15..20 by -1\n- 20..40 by -1\nB 40..60 by 7\nP 60..70 by -1\n"};
    static const struct lull_facts facts = {.state = on_state_of_5};
    const int n = GPOINTER_TO_INT(how);
    char *dir;
    struct ctf_writer *writer = open_trace(&dir);
    struct fixture f = {.log = g_string_new(NULL)};
    write_switch(writer, 0, 10, 0, 5);
    ctf_event(writer, 0, 15, "sched_switch", "prev_tid=5 next_tid=7 prev_state=%d", n % 2 ? 0 : 1);
    write_switch(writer, 1, 20, 0, 8);
    ctf_writer_discard(writer, 1, 9, 40);
    write_switch(writer, 1, 40, 8, 0);
    write_switch(writer, 1, 45, 0, 8);
    if (n == 0 || n == 3) {
        ctf_event(writer, 0, 60, "sched_waking", "tid=5");
    }
    write_switch(writer, 0, 70, 7, 5);
    ctf_writer_close(writer);
    struct lull_session *session = lull_session_new();
    g_assert_true(lull_session_add(session, dir, NULL));
    f.model = lull_model_new(session, LULL_GROUP_GRAPH);
    lull_model_subscribe(f.model, &facts, &f);
    lull_model_run(f.model, NULL, NULL);
    const char *from = strstr(f.log->str, n % 2 ? "P" : "B");
    g_assert_nonnull(from);
    g_assert_cmpstr(from, ==, expected[n]);
    tear_down(&f, NULL);
    lull_session_free(session);
    scratch_remove(dir);
    g_free(dir);
}

/* CPU 1 loses events before the first that means anything: who was on it is not known until then.
 */
static void test_lost_first(void)
{
    char *dir;
    struct ctf_writer *writer = open_trace(&dir);
    write_switch(writer, 0, 10, 0, 7);
    ctf_event(writer, 1, 12, "sched_process_wait", "tid=3");
    ctf_event(writer, 1, 40, "sched_process_wait", "tid=3");
    ctf_writer_lose(writer, 1, 3, 0);
    ctf_writer_end_packet(writer, 1);
    write_switch(writer, 0, 45, 7, 8);
    write_switch(writer, 1, 50, 9, 0);
    write_switch(writer, 1, 60, 0, 9);
    ctf_writer_close(writer);
    expect_run(dir, true,
               "c0 10: 0 since 10 then 7\nc0 45: 7 since 10 then 8\n"
               "lost c1 12..49: 3 events, 0 packets\nc1 50: 9 since 50 (unknown 40) then 0\n"
               "c1 60: 0 since 50 then 9\n");
}

static void test_missing_packets(void)
{
    char *dir;
    struct ctf_writer *writer = open_trace(&dir);
    write_switch(writer, 0, 10, 0, 7);
    write_switch(writer, 1, 12, 0, 5);
    write_switch(writer, 0, 20, 7, 8);
    ctf_writer_lose(writer, 0, 0, 2);
    write_switch(writer, 1, 30, 5, 0); /* another CPU has lost nothing */
    ctf_event(writer, 0, 50, "sched_waking", "tid=3");
    write_switch(writer, 0, 65, 9, 0);
    ctf_writer_close(writer);
    expect_run(dir, true,
               "c0 10: 0 since 10 then 7\nc1 12: 0 since 12 (unknown 2) then 5\n"
               "c0 20: 7 since 10 then 8\nlost c0 20..50: 0 events, 2 packets\n"
               "c0 20: 8 since 20 then ?\nc1 30: 5 since 12 then 0\n"
               "c0 65: 9 since 50 (unknown 30) then 0\n");
}

/* LTTng's numbers are the kernel's less 100; those of wake-ups only since 2.7.1. */
static void test_tracer_priorities(void)
{
    static const struct {
        unsigned version[3];
        int prio; /* as a wake-up of this version tells the kernel's 120 */
    } tracers[] = {{{2, 13, 9}, 20}, {{2, 7, 1}, 20},  {{2, 8, 0}, 20}, {{3, 0, 0}, 20},
                   {{2, 7, 0}, 120}, {{2, 6, 9}, 120}, {{1, 9, 9}, 120}};
    for (size_t i = 0; i < G_N_ELEMENTS(tracers); i++) {
        char *dir = scratch_dir();
        struct ctf_options options = {0};
        memcpy(options.tracer, tracers[i].version, sizeof options.tracer);
        struct ctf_writer *writer = ctf_writer_new(dir, &options);
        write_switch(writer, 0, 10, 0, 7);
        ctf_event(writer, 0, 15, "sched_wakeup", "tid=8 prio=%d target_cpu=0", tracers[i].prio);
        ctf_event(writer, 0, 16, "sched_wakeup", "tid=7 prio=%d target_cpu=0", tracers[i].prio);
        ctf_writer_close(writer);
        expect_run(dir, false,
                   "10: 7 has prio 120\nc0 10: 0 since 10 then 7 prio 120\n15: 8 has prio 120\n");
    }
}

/* CPUs have numbers up to 65535; a higher one is damage. What a CPU takes does not depend on its
 * number: an array up to the last one would take gigabytes here. */
static void test_last_cpu(struct fixture *f, gconstpointer data)
{
    struct lull_model *model = f->model;
    feed_switch(model, 0, 65536, 10, 7, 8, 0);
    feed_switch(model, 0, INT32_MAX, 10, 7, 8, 0);
    feed_switch(model, 0, -1, 10, 7, 8, 0);
    g_assert_cmpint(lull_model_next_cpu(model, 0, -1), ==, -1);
    feed_switch(model, 0, 65535, 20, 7, 8, 0);
    feed_switch(model, 0, 2, 30, 5, 6, 0);
    expect(f, "c65535 20: 7 since 10 then 8\nc2 30: 5 since 10 then 6\n");
    g_assert_cmpint(lull_model_next_cpu(model, 0, -1), ==, 2);
    g_assert_cmpint(lull_model_next_cpu(model, 0, 2), ==, 65535);
    g_assert_cmpint(lull_model_next_cpu(model, 0, 65535), ==, -1);
    for (uint32_t host = 1; host < 512; host++) {
        feed_switch(model, host, 65535, 40, 7, 8, 0);
    }
}

/* Events name the task: 7 was last seen on CPU 0 at 15, and is on CPU 1 at 30. When it left CPU 0
 * after 15 is not known; nor, from then on, who is there. */
static void test_moved_unseen(struct fixture *f, gconstpointer data)
{
    struct lull_model *model = f->model;
    feed_switch(model, 0, 0, 10, 0, 7, 0);
    feed_switch(model, 0, 1, 12, 8, 0, 1);
    FEED(sched_waking, 0, 0, 15, .have = WITHOUT(sched_waking, prio), .tid = 9, .target_cpu = 0,
         .context_tid = 7);
    FEED(sched_waking, 0, 1, 30, .have = WITHOUT(sched_waking, prio), .tid = 9, .target_cpu = 0,
         .context_tid = 7);
    expect(f, "c0 10: 0 since 10 then 7\n"
              "c1 12: 8 since 10 then 0\n"
              "c1 12: 0 since 12 then ?\n" /* CPU 1 was last seen at 12: when 7 came is not known */
              "c0 15: 7 since 10 then ?\n"
              "c1 30: 7 since 30 (unknown 18) then 7\n");
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
#define CASE(name, function)                                                                       \
    g_test_add("/kernel/facts/" name, struct fixture, NULL, set_up, function, tear_down)
    CASE("first-switch", test_first_switch);
    CASE("context-reports", test_context_reports);
    CASE("idle-hidden", test_idle_hidden);
    CASE("switches-missing", test_switches_missing);
    CASE("wakings", test_wakings);
    CASE("early-wakings", test_early_wakings);
    CASE("woken-again", test_woken_again);
    CASE("priorities", test_priorities);
    CASE("cpu-of-waiting", test_cpu_of_waiting);
    CASE("two-execs", test_two_execs);
    CASE("nested-handlers", test_nested_handlers);
    CASE("nameless-irq", test_nameless_irq);
    CASE("raises", test_raises);
    CASE("pages", test_pages);
    CASE("devices", test_devices);
    CASE("power", test_power);
    CASE("block", test_block);
    CASE("flush", test_flush);
    CASE("remap", test_remap);
    CASE("alarm", test_alarm);
    CASE("last-cpu", test_last_cpu);
    CASE("moved-unseen", test_moved_unseen);
    g_test_add_func("/kernel/facts/discarded", test_discarded);
    g_test_add_func("/kernel/facts/discarded-until-next", test_discarded_until_next);
    for (int i = 0; i < 4; i++) {
        g_autofree char *name = g_strdup_printf("/kernel/facts/across-loss/%d", i);
        g_test_add_data_func(name, GINT_TO_POINTER(i), test_across_loss);
    }
    g_test_add_func("/kernel/facts/lost-first", test_lost_first);
    g_test_add_func("/kernel/facts/missing-packets", test_missing_packets);
    g_test_add_func("/kernel/facts/tracer-priorities", test_tracer_priorities);
    return g_test_run();
}
