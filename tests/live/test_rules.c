/* SPDX-License-Identifier: MIT */
/* Rules of lull track: what they mean, what is refused and where; and records as they may come from the
 * kernel, or not. */
#include <string.h>

#include "live/alarm.h"
#include "live/names.h"
#include "lines.h"

#define MS UINT64_C(1000000)

static struct lull_track_rule *parse(const char *text)
{
    GError *error = NULL;
    struct lull_track_rule *rule = lull_track_rule_parse(text, &error);
    g_assert_no_error(error);
    return rule;
}

/* ---- rules ---- */

static void test_rules(void)
{
    static const struct {
        const char *text, *kind;
        int64_t threshold_ns;
        uint32_t states;
        bool is_worst, has_filter;
    } cases[] = {
        {"offcpu > 5ms", "offcpu", 5000000, 0, false, false},
        {"offcpu(D)>1us", "offcpu", 1000, LULL_TRACK_STATE_D, false, false},
        {"offcpu(S|D) worst", "offcpu", 0, LULL_TRACK_STATE_S | LULL_TRACK_STATE_D, true, false},
        {"wakeup: comm =~ \"a > b*\" > 1.5s worst", "wakeup", 1500000000, 0, true, true},
        {"futex: pid > 100 > 7ns", "futex", 7, 0, false, true},
        {"poll: (pid >= 1 && !(tid == 4)) || cpu in (0, 1) > 1h", "poll", 3600000000000, 0, false,
         true},
        {"softirq(NET_RX): pid == 0 > 9us", "softirq", 9000, 0, false, true},
        {"syscall(read, write) > 1ms", "syscall", 1000000, 0, false, false},
        {"offcpu timeout 2s", "offcpu", 2000000000, 0, false, false},
        {"syscall(read): pid == 1 > 3ms timeout 1s worst", "syscall", 3000000, 0, true, true},
        {"raise(TIMER) > 1us", "raise", 1000, 0, false, false},
        {"irq worst", "irq", 0, 0, true, false},
        {"response > 0ns", "response", 0, 0, false, false},
        {"block: rw == \"write\" > 50ms", "block", 50000000, 0, false, true},
        {"serve(80) > 500ms", "serve", 500000000, 0, false, false},
        {"ask(5432): raddr == \"10.9.0.3\" > 1ms", "ask", 1000000, 0, false, true},
        {"ttfb > 1s", "ttfb", 1000000000, 0, false, false},
        {"connect(65535) worst", "connect", 0, 0, true, false},
        {"netrx(lo) > 1ms", "netrx", 1000000, 0, false, false},
        {"response: waker_comm == \"x\" > 1us", "response", 1000, 0, false, true},
        {"queue worst", "queue", 0, 0, true, false},
        {"lock: comm == \"a\" > 0ns", "lock", 0, 0, false, true},
        {"preempt > 0ns", "preempt", 0, 0, false, false},
        {"fault:comm==\"read\">2min", "fault", 120000000000, 0, false, true},
        {"offcpu: disk == \"vda\" && rw != \"read\" > 1ms", "offcpu", 1000000, 0, false, true},
        {"wakeup: raddr == \"10.9.0.3\" && rport == 80 > 1ms", "wakeup", 1000000, 0, false, true},
        {"netrx: iface == \"eth0\" && cgroup == \"/a\" > 1ms", "netrx", 1000000, 0, false, true},
        {"irq: host == \"db\" > 1ms", "irq", 1000000, 0, false, true},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        struct lull_track_rule *rule = parse(cases[i].text);
        g_assert_cmpstr(rule->text, ==, cases[i].text);
        g_assert_cmpstr(rule->kind->name, ==, cases[i].kind);
        g_assert_cmpint(rule->threshold_ns, ==, cases[i].threshold_ns);
        g_assert_cmpuint(rule->states, ==, cases[i].states);
        g_assert_true(rule->is_worst == cases[i].is_worst);
        g_assert_true((rule->filter != NULL) == cases[i].has_filter);
        lull_track_rule_free(rule);
    }
}

static void test_refused(void)
{
    static const struct {
        const char *text, *column, *says;
    } cases[] = {
        {"", "column 1:", "expected a kind of wait"},
        {"offcup > 5ms", "column 1:", "perhaps “offcpu”"},
        {"offcpu", "column 7:", "expected > and a time"},
        {"offcpu 5ms", "column 8:", "expected > and a time"},
        {"offcpu >", "column 9:", "expected a time after >"},
        {"offcpu > 5", "column 10:", "has no unit"},
        {"offcpu > 5MB", "column 10:", "not a duration"},
        {"offcpu > 5ms: comm == \"x\"", "column 13:", "a filter comes before the time"},
        {"offcpu > 5ms > 6ms", "column 14:", "expected the end of the rule"},
        {"offcpu > 5ms worst x", "column 20:", "expected the end of the rule"},
        {"offcpu(X) > 5ms", "column 8:", "expected a state"},
        {"offcpu() > 5ms", "column 8:", "expected a state"},
        {"offcpu(S > 5ms", "column 7:", "has no )"},
        {"irq(x) > 1s", "column 5:", "the number of an interrupt"},
        {"irq(-1) > 1s", "column 5:", "the number of an interrupt"},
        {"irq() > 1s", "column 5:", "the number of an interrupt"},
        {"response(x) > 1s", "column 10:", "the number of an interrupt"},
        {"softirq(NETRX) > 1s", "column 9:", "NET_TX, NET_RX"},
        {"offcpu timeout", "column 15:", "expected a time after timeout"},
        {"offcpu timeout 0s", "column 8:", "over at once"},
        {"offcpu timeout 1s > 1ms", "column 19:", "expected the end"},
        {"block timeout 1s", "column 7:", "block has no time-out"},
        {"serve > 1s", "column 7:", "serve needs a port, as in serve(80)"},
        {"ask() > 1s", "column 5:", "the number of a port, from 1 to 65535"},
        {"serve(0) > 1s", "column 7:", "the number of a port"},
        {"connect(65536) > 1s", "column 9:", "the number of a port"},
        {"serve(80) timeout 1s", "column 11:", "serve has no time-out"},
        {"nettx(no0such) > 1s", "column 7:", "no network interface of that name"},
        {"response timeout 1s", "column 10:", "response has no time-out"},
        {"work(1) > 1s", "column 5:", "work takes nothing in parentheses"},
        {"raise(NETRX) > 1s", "column 7:", "NET_TX, NET_RX"},
        {"syscall(raed) > 1s", "column 9:", "perhaps “read”"},
        {"syscall() > 1s", "column 9:", "expected system calls"},
        {"syscall(read,) > 1s", "column 9:", "no system call “”"},
        {"syscall(read,read,read,read,read,read,read,read,read) > 1s", "column 9:", "at most 8"},
        {"block(../vda) > 1s", "column 7:", "no disk of that name"},
        {"block() > 1s", "column 7:", "no disk of that name"},
        {"offcpu(S", "column 7:", "has no )"},
        {"wakeup(S) > 5ms", "column 7:", "takes nothing in parentheses"},
        {"offcpu: > 5ms", "column 9:", "expected a number or a text"},
        {"offcpu: prio == 1 > 5ms", "column 9:", "there is no “prio” here"},
        {"offcpu: hots == \"a\" > 5ms", "column 9:", "perhaps “host”; there are comm, pid, tid"},
        {"offcpu: iface == \"a\" > 5ms",
         "column 9:", "offcpu has no “iface”; these have: netrx, nettx"},
        {"block: pid == 1 || call == \"read\" > 5ms", "column 20:", "block has no “call”"},
        {"fault: call == \"read\" > 5ms", "column 8:", "fault has no “call”"},
        {"preempt: waker_comm == \"a\" > 5ms", "column 10:", "preempt has no “waker_comm”"},
        {"syscall: waker_comm == \"a\" > 5ms", "column 10:", "these have: offcpu, wakeup, fork"},
        {"serve(80): disk == \"vda\" > 5ms", "column 12:", "serve has no “disk”"},
        {"queue: raddr == \"::1\" > 5ms", "column 8:", "queue has no “raddr”"},
        {"offcpu: pid == \"x\" > 5ms", "column 13:", "a number is compared with a text"},
        {"offcpu: comm == 1 > 5ms", "column 14:", "a text is compared with a number"},
        {"offcpu: pid =~ \"x\" > 5ms", "column 13:", "a pattern is for texts"},
        {"offcpu: exists(pid) > 5ms", "column 16:", "exists() takes a field"},
        {"offcpu: pid == 1 == 2 > 5ms", "column 18:", "not chained"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GError) error = NULL;
        g_assert_null(lull_track_rule_parse(cases[i].text, &error));
        g_assert_error(error, LULL_ERROR, LULL_ERROR_USAGE);
        if (!strstr(error->message, cases[i].column) || !strstr(error->message, cases[i].says)) {
            g_error("%s: %s", cases[i].text, error->message);
        }
    }
    /* The machine has no such line, if it says which it has; no driver ever numbers them so high. */
    if (g_file_test("/proc/irq", G_FILE_TEST_IS_DIR)) {
        g_autoptr(GError) error = NULL;
        g_assert_null(lull_track_rule_parse("response(4294967295) > 1s", &error));
        g_assert_nonnull(strstr(error->message, "column 10: there is no interrupt of that number"));
    }
}

/* What the kernel can check goes there; what it cannot is left to the filter. */
static void test_compiled(void)
{
    struct lull_track_kernel_rule kernel;
    struct lull_track_rule *rule =
        parse("poll: pid == 7 && (tid == 8 && comm == \"a b\") && uid != 0 "
              "&& comm == \"a name of 16 bytes\" && cpu == 3 > 2ms");
    lull_track_rule_compile(rule, &kernel);
    g_assert_cmpuint(kernel.threshold_ns, ==, 2 * MS);
    g_assert_cmpuint(kernel.measure, ==, LULL_TRACK_OFFCPU);
    g_assert_cmpuint(kernel.n_tests, ==, 4);
    g_assert_cmpuint(kernel.test[0].field, ==, LULL_TRACK_TEST_PID);
    g_assert_cmpuint(kernel.test[0].number, ==, 7);
    g_assert_cmpuint(kernel.test[1].field, ==, LULL_TRACK_TEST_TID);
    g_assert_cmpstr(kernel.test[2].comm, ==, "a b");
    g_assert_cmpuint(kernel.test[3].field, ==, LULL_TRACK_TEST_CPU);
    g_assert_cmpuint(kernel.calls, ==, LULL_TRACK_LISTED_CALLS);
#ifdef __x86_64__
    /* poll, select, pselect6, ppoll, epoll_wait, epoll_pwait, epoll_pwait2: asm/unistd_64.h */
    static const int32_t calls[] = {7, 23, 232, 270, 271, 281, 441};
    g_assert_cmpmem(kernel.call, kernel.n_calls * sizeof(int32_t), calls, sizeof calls);
#endif
    lull_track_rule_free(rule);
    rule = parse("softirq(NET_RX): pid == 7 > 2ms"); /* NET_RX is the fourth: linux/interrupt.h */
    lull_track_rule_compile(rule, &kernel);
    g_assert_cmpuint(kernel.n_tests, ==, 0);
    g_assert_true(kernel.has_number);
    g_assert_cmpuint(kernel.number, ==, 3);
    lull_track_rule_free(rule);
    rule = parse("syscall(execve, openat): pid == 7 > 2ms");
    lull_track_rule_compile(rule, &kernel);
    g_assert_cmpuint(kernel.n_tests, ==, 1); /* a call is of a task, which the kernel knows */
    g_assert_false(kernel.has_number);
    g_assert_cmpuint(kernel.calls, ==, LULL_TRACK_LISTED_CALLS);
#ifdef __x86_64__
    static const int32_t listed[] = {59, 257}; /* asm/unistd_64.h */
    g_assert_cmpmem(kernel.call, kernel.n_calls * sizeof(int32_t), listed, sizeof listed);
#endif
    lull_track_rule_free(rule);
    rule = parse("syscall > 2ms");
    lull_track_rule_compile(rule, &kernel);
    g_assert_cmpuint(kernel.calls, ==, LULL_TRACK_ANY_CALL);
    lull_track_rule_free(rule);
    const uint32_t line = line_from(0);
    g_autofree char *of_line = g_strdup_printf("irq(%u) > 2ms", line);
    rule = parse(of_line);
    lull_track_rule_compile(rule, &kernel);
    g_assert_true(kernel.has_number);
    g_assert_cmpuint(kernel.number, ==, line);
    lull_track_rule_free(rule);
    /* The host is that of this machine, or not: then there is a test that no task passes. */
    g_autofree char *here =
        g_strdup_printf("wakeup: host == \"%s\" && pid == 7 > 2ms", g_get_host_name());
    rule = parse(here);
    g_assert_true(lull_track_rule_compile(rule, &kernel));
    g_assert_cmpuint(kernel.n_tests, ==, 1);
    lull_track_rule_free(rule);
    rule = parse("wakeup: host == \"no such host\" > 2ms");
    g_assert_true(lull_track_rule_compile(rule, &kernel));
    g_assert_cmpuint(kernel.n_tests, ==, 1);
    g_assert_cmpuint(kernel.test[0].number, ==, UINT32_MAX);
    lull_track_rule_free(rule);
    rule = parse("wakeup: pid == 7 && cgroup == \"/a b\" && host != \"x\" > 2ms");
    g_assert_true(lull_track_rule_compile(rule, &kernel));
    g_assert_cmpuint(kernel.n_tests, ==, 1);
    g_autofree char *group = lull_track_rule_group(rule);
    g_assert_cmpstr(group, ==, "/a b");
    lull_track_rule_free(rule);
    rule = parse("wakeup: cgroup == \"/a\" || cgroup != \"/b\" > 2ms"); /* any may be meant */
    g_assert_false(lull_track_rule_compile(rule, &kernel));
    g_assert_null(lull_track_rule_group(rule));
    lull_track_rule_free(rule);
    rule = parse("wakeup: cgroup == \"/a\" && cgroup == \"/b\" > 2ms");
    g_assert_false(lull_track_rule_compile(rule, &kernel)); /* one of them is checked */
    lull_track_rule_free(rule);
    rule = parse("wakeup: pid == 7 || tid == 8 > 2ms");
    lull_track_rule_compile(rule, &kernel);
    g_assert_cmpuint(kernel.n_tests, ==, 0);
    lull_track_rule_free(rule);
}

/* ---- records ---- */

/* Waited from 10 ms, woken at 40 ms by b, which c had woken at 35 ms, which a timer had at 20 ms; runs at
 * 41 ms. */
static struct lull_track_record sound_record(void)
{
    struct lull_track_record record = {.since_ns = 10 * MS,
                                       .woken_ns = 40 * MS,
                                       .end_ns = 41 * MS,
                                       .tid = 101,
                                       .tgid = 100,
                                       .uid = 5,
                                       .cpu = 1,
                                       .comm = "a",
                                       .call = LULL_TRACK_NO_CALL,
                                       .state = LULL_TRACK_STATE_S,
                                       .kernel = {.bytes = 16, .frame = {1, 2}},
                                       .user = {.bytes = 8, .frame = {3}}};
    record.hop[0] = (struct lull_track_hop){
        .kind = LULL_TRACK_HOP_TASK, .start_ns = 35 * MS, .a = 200, .b = 201, .comm = "b"};
    record.hop[1] = (struct lull_track_hop){
        .kind = LULL_TRACK_HOP_TASK, .start_ns = 20 * MS, .a = 300, .b = 301, .comm = "c"};
    record.hop[2] = (struct lull_track_hop){.kind = LULL_TRACK_HOP_TIMER, .start_ns = 19 * MS};
    return record;
}

static void check_part(const struct lull_track_alarm *alarm, uint32_t i, uint64_t start_ms,
                       uint64_t end_ms)
{
    g_assert_cmpuint(i, <, alarm->n_parts);
    g_assert_cmpint(alarm->part[i].start_ns, ==, start_ms * MS);
    g_assert_cmpint(alarm->part[i].end_ns, ==, end_ms * MS);
}

static void test_parts(void)
{
    struct lull_track_rule *rule = parse("offcpu > 1ms"), *wakeup = parse("wakeup > 1us");
    const struct lull_track_rule *rules[] = {rule, wakeup};
    struct lull_track_record record = sound_record();
    struct lull_track_alarm alarm;
    g_assert_true(lull_track_alarm_read(&record, sizeof record, rules, 2, &alarm));
    g_assert_cmpint(alarm.start_ns, ==, 10 * MS);
    g_assert_cmpint(alarm.cpu_from_ns, ==, 40 * MS);
    g_assert_cmpuint(alarm.n_parts, ==, 3);
    g_assert_cmpuint(alarm.n_kernel, ==, 2);
    g_assert_cmpuint(alarm.n_waker, ==, 0);
    g_assert_cmpuint(alarm.n_user, ==, 1);
    check_part(&alarm, 0, 35, 40);
    check_part(&alarm, 1, 20, 35);
    check_part(&alarm, 2, 10, 20);
    g_assert_false(alarm.is_cut);

    record.rule = 1; /* measures only from the waking on */
    g_assert_true(lull_track_alarm_read(&record, sizeof record, rules, 2, &alarm));
    g_assert_cmpint(alarm.start_ns, ==, 40 * MS);

    record.hop[1].start_ns = 9 * MS; /* c had been running all the time */
    g_assert_true(lull_track_alarm_read(&record, sizeof record, rules, 2, &alarm));
    g_assert_cmpuint(alarm.n_parts, ==, 2);
    check_part(&alarm, 1, 10, 35);
    g_assert_false(alarm.is_cut);

    record.hop[1].start_ns = 20 * MS;
    record.hop[2].kind = LULL_TRACK_HOP_NONE; /* who woke c is not known */
    g_assert_true(lull_track_alarm_read(&record, sizeof record, rules, 2, &alarm));
    g_assert_cmpuint(alarm.n_parts, ==, 2);
    g_assert_true(alarm.is_cut);

    record.woken_ns = 0; /* nobody was seen to wake it */
    g_assert_true(lull_track_alarm_read(&record, sizeof record, rules, 2, &alarm));
    g_assert_cmpuint(alarm.n_parts, ==, 0);
    g_assert_cmpint(alarm.cpu_from_ns, ==, INT64_MAX);
    lull_track_rule_free(rule);
    lull_track_rule_free(wakeup);
}

/* Whatever the times of the hops: parts go back from the waking, within the wait. */
static void test_any_times(void)
{
    struct lull_track_rule *rule = parse("offcpu > 1ms");
    const struct lull_track_rule *rules[] = {rule};
    GRand *random = g_rand_new_with_seed(7);
    for (uint32_t n = 0; n < 20000; n++) {
        struct lull_track_record record = sound_record();
        struct lull_track_alarm alarm;
        for (uint32_t i = 0; i < LULL_TRACK_HOPS; i++) {
            record.hop[i].kind = g_rand_int_range(random, 0, LULL_TRACK_HOP_KINDS + 1);
            record.hop[i].start_ns = g_rand_boolean(random) ? g_rand_int(random) % (50 * MS)
                                                            : UINT64_MAX - g_rand_int(random);
        }
        if (!lull_track_alarm_read(&record, sizeof record, rules, 1, &alarm)) {
            continue;
        }
        int64_t end_ns = 40 * MS;
        for (uint32_t i = 0; i < alarm.n_parts; i++) {
            g_assert_cmpint(alarm.part[i].end_ns, ==, end_ns);
            g_assert_cmpint(alarm.part[i].start_ns, <=, end_ns);
            end_ns = alarm.part[i].start_ns;
        }
        g_assert_cmpint(end_ns, >=, 10 * MS);
        g_assert_true(alarm.n_parts == 0 || alarm.is_cut == (end_ns > (int64_t)(10 * MS)));
    }
    g_rand_free(random);
    lull_track_rule_free(rule);
}

/* What cannot be is refused. */
static void test_damaged(void)
{
    struct lull_track_rule *rule = parse("offcpu > 1ms");
    const struct lull_track_rule *rules[] = {rule};
    const struct lull_track_record sound = sound_record();
    struct lull_track_record record = sound;
    struct lull_track_alarm alarm;
    g_assert_false(lull_track_alarm_read(&record, sizeof record - 1, rules, 1, &alarm));
    g_assert_false(lull_track_alarm_read(&record, 0, rules, 1, &alarm));
#define REFUSED(change)                                                                            \
    do {                                                                                           \
        record = sound;                                                                            \
        change;                                                                                    \
        g_assert_false(lull_track_alarm_read(&record, sizeof record, rules, 1, &alarm));           \
    } while (0)
    REFUSED(record.rule = 1);
    REFUSED(record.rule = UINT32_MAX);
    REFUSED(record.flags = 1u << 31);
    REFUSED(record.since_ns = 0);
    REFUSED(record.since_ns = 42 * MS);
    REFUSED(record.woken_ns = 9 * MS);
    REFUSED(record.woken_ns = 42 * MS);
    REFUSED(record.end_ns = UINT64_MAX);
    REFUSED(record.tid = 0);
    REFUSED(record.tid = UINT32_MAX);
    REFUSED(record.tgid = UINT32_MAX);
    REFUSED(record.call = -2);
    REFUSED(record.kernel.bytes = 257);
    REFUSED(record.waker.bytes = 257);
    REFUSED(record.user.bytes = INT32_MAX);
    REFUSED(memset(record.comm, 'x', sizeof record.comm));
    REFUSED(record.hop[0].kind = LULL_TRACK_HOP_KINDS);
    REFUSED(memset(record.hop[1].comm, 'x', sizeof record.hop[1].comm));
#undef REFUSED
    record = sound; /* no stack, and what follows the end of a chain does not matter */
    record.kernel.bytes = -14;
    record.hop[3].kind = UINT32_MAX;
    g_assert_true(lull_track_alarm_read(&record, sizeof record, rules, 1, &alarm));
    g_assert_cmpuint(alarm.n_kernel, ==, 0);
    lull_track_rule_free(rule);
}

/* A request of the idle task's time is one; of another kind it is none. */
static void test_objects(void)
{
    struct lull_track_rule *block = parse("block: rw == \"write\" > 1ms"),
                           *irq = parse("irq > 1us");
    const struct lull_track_rule *rules[] = {block, irq};
    struct lull_track_record record = {.since_ns = 1 * MS,
                                       .end_ns = 4 * MS,
                                       .comm = "swapper/0",
                                       .call = LULL_TRACK_NO_CALL,
                                       .hop = {{.kind = LULL_TRACK_HOP_DISK, .b = 1}}};
    struct lull_track_alarm alarm;
    g_assert_true(lull_track_alarm_read(&record, sizeof record, rules, 2, &alarm));
    g_assert_true(alarm.object == &record.hop[0]);
    g_assert_cmpuint(alarm.n_parts, ==, 0);
    g_assert_true(lull_track_alarm_is_wanted(&alarm));
    record.hop[0].b = 0;
    g_assert_false(lull_track_alarm_is_wanted(&alarm));
    record.rule = 1;
    g_assert_false(lull_track_alarm_read(&record, sizeof record, rules, 2, &alarm));
    record.hop[0].kind = LULL_TRACK_HOP_IRQ;
    g_assert_true(lull_track_alarm_read(&record, sizeof record, rules, 2, &alarm));
    lull_track_rule_free(block);
    lull_track_rule_free(irq);
}

/* A response is from the interrupt on, but not longer than the wait. */
static void test_response(void)
{
    struct lull_track_rule *rule = parse("response > 1us");
    const struct lull_track_rule *rules[] = {rule};
    struct lull_track_record record = sound_record();
    struct lull_track_alarm alarm;
    record.hop[0] = (struct lull_track_hop){.kind = LULL_TRACK_HOP_TIMER, .start_ns = 39 * MS};
    record.irq_ns = 39 * MS;
    g_assert_true(lull_track_alarm_read(&record, sizeof record, rules, 1, &alarm));
    g_assert_cmpint(alarm.start_ns, ==, 39 * MS);
    check_part(&alarm, 0, 10, 40);
    record.irq_ns = 9 * MS;
    g_assert_true(lull_track_alarm_read(&record, sizeof record, rules, 1, &alarm));
    g_assert_cmpint(alarm.start_ns, ==, 10 * MS);
    record.irq_ns = UINT64_MAX;
    g_assert_true(lull_track_alarm_read(&record, sizeof record, rules, 1, &alarm));
    g_assert_cmpint(alarm.start_ns, ==, 10 * MS);
    lull_track_rule_free(rule);
}

/* Both ends of a connection, as filters and people see them. */
static void test_connections(void)
{
    static const struct {
        const char *rule, *words;
        uint32_t flags;
        uint8_t address[16];
        bool is_wanted;
    } cases[] = {
        {"serve(80): raddr == \"10.9.0.1\" && lport == 80 && rport == 4000 > 1us",
         "connection from 10.9.0.1:4000 to port 80",
         0,
         {10, 9, 0, 1},
         true},
        {"ask(4000): raddr != \"10.9.0.1\" > 1us",
         "connection to 10.9.0.1:4000",
         LULL_TRACK_CONNECTION_OUT | LULL_TRACK_CONNECTION_IPV6,
         {[10] = 255, 255, 10, 9, 0, 1},
         false},
        {"connect: raddr =~ \"2001:db8:*\" > 1us",
         "connection to [2001:db8::7]:4000 (failed)",
         LULL_TRACK_CONNECTION_OUT | LULL_TRACK_CONNECTION_FAILED | LULL_TRACK_CONNECTION_IPV6,
         {0x20, 0x01, 0x0d, 0xb8, [15] = 7},
         true},
    };
    struct lull_machine_names *names = lull_machine_names_new();
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        struct lull_track_rule *rule = parse(cases[i].rule);
        const struct lull_track_rule *rules[] = {rule};
        struct lull_track_record record = sound_record();
        struct lull_track_alarm alarm;
        g_autoptr(GString) words = g_string_new(NULL);
        record.woken_ns = 0;
        g_assert_false(lull_track_alarm_read(&record, sizeof record, rules, 1, &alarm));
        record.hop[0] = (struct lull_track_hop){
            .kind = LULL_TRACK_HOP_CONNECTION, .a = 4000, .b = 80, .c = cases[i].flags};
        memcpy(record.hop[0].address, cases[i].address, 16);
        g_assert_true(lull_track_alarm_read(&record, sizeof record, rules, 1, &alarm));
        g_assert_true(lull_track_alarm_is_wanted(&alarm) == cases[i].is_wanted);
        lull_machine_describe(names, alarm.object, words);
        g_assert_cmpstr(words->str, ==, cases[i].words);
        lull_track_rule_free(rule);
    }
    lull_machine_names_free(names);
}

/* A call has no state and is for nobody, whatever the wakers of the task's last wait were. */
static void test_calls(void)
{
    struct lull_track_rule *syscall = parse("syscall: comm == \"a\" && call == \"read\" > 1us"),
                           *raise = parse("raise > 1us");
    const struct lull_track_rule *rules[] = {syscall, raise};
    struct lull_track_record record = sound_record();
    struct lull_track_alarm alarm;
    record.woken_ns = 0;
    record.state = 0;
    g_assert_true(lull_track_alarm_read(&record, sizeof record, rules, 2, &alarm));
    g_assert_null(alarm.object);
    g_assert_false(alarm.is_wait);
    g_assert_cmpuint(alarm.n_parts, ==, 0);
    g_assert_false(lull_track_alarm_is_wanted(&alarm));
    record.rule = 1; /* a task is no softirq */
    g_assert_false(lull_track_alarm_read(&record, sizeof record, rules, 2, &alarm));
    record.hop[0].kind = LULL_TRACK_HOP_SOFTIRQ;
    g_assert_true(lull_track_alarm_read(&record, sizeof record, rules, 2, &alarm));
    g_assert_true(alarm.object == &record.hop[0]);
    lull_track_rule_free(syscall);
    lull_track_rule_free(raise);
}

/* What ended a wait, or what happened, has a disk, an end of a connection or an interface. */
static void test_of_object(void)
{
    static const struct {
        const char *rule;
        struct lull_track_hop hop;
        bool holds;
    } cases[] = {
        {"offcpu: rport == 5432 && lport == 40000 && raddr == \"10.9.0.3\" > 1ns",
         {.kind = LULL_TRACK_HOP_PACKET, .a = 5432, .b = 40000, .address = {10, 9, 0, 3}},
         true},
        {"offcpu: rport == 40000 > 1ns",
         {.kind = LULL_TRACK_HOP_PACKET, .a = 5432, .b = 40000, .address = {10, 9, 0, 3}},
         false},
        {"offcpu: rw == \"write\" && disk != \"none\" > 1ns",
         {.kind = LULL_TRACK_HOP_DISK, .a = 4095u << 20 | 7, .b = 1},
         true}, /* a disk that there is not has no name */
        {"offcpu: rw == \"read\" > 1ns", {.kind = LULL_TRACK_HOP_TIMER}, false},
        {"netrx: iface == \"eth0\" > 1ns",
         {.kind = LULL_TRACK_HOP_INTERFACE, .comm = "eth0"},
         true},
        {"nettx: iface =~ \"veth*\" > 1ns",
         {.kind = LULL_TRACK_HOP_INTERFACE, .comm = "eth0"},
         false},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        struct lull_track_rule *rule = parse(cases[i].rule);
        const struct lull_track_rule *rules[] = {rule};
        struct lull_track_record record = sound_record();
        struct lull_track_alarm alarm;
        record.hop[0] = cases[i].hop;
        g_assert_true(lull_track_alarm_read(&record, sizeof record, rules, 1, &alarm));
        if (lull_track_alarm_is_wanted(&alarm) != cases[i].holds) {
            g_error("%s", cases[i].rule);
        }
        lull_track_rule_free(rule);
    }
}

static void test_group(void)
{
    struct lull_track_rule *rule = parse("offcpu: cgroup =~ \"/system.slice/*\" > 1ns");
    const struct lull_track_rule *rules[] = {rule};
    const struct lull_track_record record = sound_record();
    struct lull_track_alarm alarm;
    g_assert_true(lull_track_alarm_read(&record, sizeof record, rules, 1, &alarm));
    g_assert_false(lull_track_alarm_is_wanted(&alarm)); /* not known */
    alarm.group = "/system.slice/db.service";
    g_assert_true(lull_track_alarm_is_wanted(&alarm));
    alarm.group = "/user.slice";
    g_assert_false(lull_track_alarm_is_wanted(&alarm));
    lull_track_rule_free(rule);
}

static void test_wanted(void)
{
    static const struct {
        const char *filter;
        bool holds;
    } cases[] = {
        {"pid == 100 && tid == 101", true},
        {"pid == 101", false},
        {"comm == \"a\" && waker_comm == \"b\"", true},
        {"waker_comm != \"b\"", false},
        {"waker_comm =~ \"?\" && comm !~ \"b*\"", true},
        {"call == \"read\" || call != \"read\"", false}, /* it is in no call */
        {"!(call == \"read\")", true},
        {"uid in (1, 5) && cpu < 2", true},
        {"cpu in (2, 3)", false},
        {"true", true},
        {"false || pid > tid", false},
    };
    const struct lull_track_record record = sound_record();
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *text = g_strdup_printf("offcpu: %s > 1ms", cases[i].filter);
        struct lull_track_rule *rule = parse(text);
        struct lull_track_alarm alarm;
        const struct lull_track_rule *rules[] = {rule};
        g_assert_true(lull_track_alarm_read(&record, sizeof record, rules, 1, &alarm));
        if (lull_track_alarm_is_wanted(&alarm) != cases[i].holds) {
            g_error("%s", cases[i].filter);
        }
        lull_track_rule_free(rule);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/live/rules", test_rules);
    g_test_add_func("/live/refused", test_refused);
    g_test_add_func("/live/compiled", test_compiled);
    g_test_add_func("/live/parts", test_parts);
    g_test_add_func("/live/any_times", test_any_times);
    g_test_add_func("/live/damaged", test_damaged);
    g_test_add_func("/live/objects", test_objects);
    g_test_add_func("/live/response", test_response);
    g_test_add_func("/live/connections", test_connections);
    g_test_add_func("/live/calls", test_calls);
    g_test_add_func("/live/wanted", test_wanted);
    g_test_add_func("/live/of_object", test_of_object);
    g_test_add_func("/live/group", test_group);
    return g_test_run();
}
