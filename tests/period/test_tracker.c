/* SPDX-License-Identifier: MIT */
/* What periods are found: streams of known events, and what the definitions must make of them by
 * the rules of the language. */
#include <stddef.h>
#include <string.h>

#include "filter/filter.h"
#include "lib/scratch.h"
#include "period/streams.h"

#define LIST(...) ((const char *const[]){__VA_ARGS__, NULL})

static void check(const struct stream_event *events, const char *const *definitions,
                  const char *const *captures, const char *expected)
{
    g_autofree char *dir = scratch_dir();
    write_stream(dir, events, 0);
    g_autofree char *got = find_periods(dir, definitions, captures);
    g_assert_cmpstr(got, ==, expected);
    scratch_remove(dir);
}

/* Stream and definitions of the golden vector `per`; begins, ends and captures as lttng-analyses
 * gives them (vectors/per/periodlog.out), with the request that
 * has no end, which it leaves out. */
static void test_requests(void)
{
    check(stream_requests,
          LIST("req : $evt.$name == \"req_begin\" : $evt.$name == \"req_end\" && $evt.id == "
               "$begin.$evt.id",
               "a(req) : $evt.$name == \"a_begin\" && $evt.id == $parent.$begin.$evt.id : "
               "$evt.$name == \"a_end\" && $evt.id == $begin.$evt.id",
               "b(a) : $evt.$name == \"b_begin\" : $evt.$name == \"b_end\""),
          LIST("req : who = $evt.who, $evt.id : st = $evt.st, nope = $evt.nope",
               "a : fd = $evt.fd, pw = $parent.$begin.$evt.who : ret = $evt.ret, bfd = "
               "$begin.$evt.fd"),
          "req[1-6]{who='w0' $evt.id=0|st=0 nope=?} "
          "req/a[2-5]{fd=0 pw='w0'|ret=0 bfd=0} req/a/b[3-4] "
          "req[13-19]{who='w1' $evt.id=1|st=2 nope=?} "
          "req/a[14-17]{fd=1 pw='w1'|ret=1 bfd=1} req/a/b[15-16.1] "
          "req/a[17.5-17.75]{fd=9 pw='w1'|ret=22 bfd=9} "
          "req[25-32]{who='w0' $evt.id=2|st=4 nope=?} "
          "req/a[26-29]{fd=2 pw='w0'|ret=2 bfd=2} req/a/b[27-28.2] "
          "req[37-45]{who='w1' $evt.id=3|st=6 nope=?} req/a[38-41]{fd=0 pw='w1'|ret=3 bfd=0} "
          "req[49-58]{who='w0' $evt.id=4|st=8 nope=?} "
          "req/a[50-53]{fd=1 pw='w0'|ret=4 bfd=1} req/a/b[51-52.4] "
          "req[61-64!]{who='x' $evt.id=77|st=? nope=?} "
          "req/a[62-63]{fd=5 pw='x'|ret=1 bfd=5}");
}

/* The golden vector `nest`: pb is a, cb is b, pe is c; nine instances, of which only those of p
 * whose id is seen again are complete. */
static void test_nest(void)
{
    static const struct stream_event events[] = {
        {0, 0, "bare", ""},  {1, 0, "a", "id=1"}, {2, 0, "b", "id=1"}, {3, 0, "c", "id=1"},
        {4, 0, "a", "id=2"}, {5, 0, "a", "id=3"}, {6, 0, "c", "id=3"}, {7, 0, "b", "id=9"},
        {8, 0, "bare", ""},  {0, 0, NULL, NULL},
    };
    check(events,
          LIST("p : $evt.$name == \"a\" : $evt.$name == \"c\" && $evt.id == $begin.$evt.id",
               "c(p) : $evt.$name == \"b\" || $evt.$name == \"a\" : $evt.$name == \"ce\""),
          NULL,
          "p[1-3] p/c[1-3!] p/c[2-3!] p[4-8!] p/c[4-8!] p[5-6] p/c[5-8!] p/c[5-6!] p/c[7-8!]");
}

static const struct stream_event values[] = {
    {1, 0, "a", "id=-1 big=18446744073709551615 s=\"/\" ratio=2.5 state=1"},
    {2, 1, "b", "id=9007199254740993 big=9007199254740993 s=\"\" ratio=3"},
    {3, 0, "other", "id=3 which=\"x\\\"y\""},
    {4, 0, "bare", ""},
    {5, 1, "a", "id=3 s=\"a/b\" ratio=-0.5"},
    {9, 0, "bare", ""},
    {0, 0, NULL, NULL},
};

/* One condition; the events it is true of open one another: each closes the one before. */
static void test_conditions(void)
{
    static const struct {
        const char *condition, *expected; /* times of the events, by hand */
    } cases[] = {
        {"$evt.id == -1", "1"},
        {"$evt.id == 0x3", "3 5"},
        {"$evt.big == 18446744073709551615", "1"},
        {"$evt.big == 0xffffffffffffffff", "1"},
        {"$evt.id == 9007199254740992", ""}, /* Q-P6: no rounding above 2^53 */
        {"$evt.id == 9007199254740993", "2"},
        {"$evt.id == $evt.big", "2"},
        {"$evt.id == 3.9", ""}, /* Q-P6: no cutting */
        {"$evt.id > 2.5 && $evt.id < 3.5", "3 5"},
        {"3 == $evt.id", "3 5"},  /* literal left */
        {"$evt.s == \"/\"", "1"}, /* Q-P2 */
        {"$evt.s == \"a/b\"", "5"},
        {"$evt.s == \"\"", "2"}, /* Q-P4 */
        {"$evt.s =* \"*/*\"", "1 5"},
        {"$evt.s =* \"[!a]*\"", "1"},
        {"$evt.which == \"x\\\"y\"", "3"},
        {"$evt.id != 3", "1 2"},      /* Q-P5: bare has no id */
        {"!$evt.id == 3", "1 2 4 9"}, /* the comparison is false for bare, so this is true */
        {"$evt.id != \"3\"", ""},     /* a text is never compared with a number */
        {"$evt.s != $evt.which", ""},
        {"$evt.$name == \"a\"", "1 5"},
        {"$evt.$name != \"a\"", "2 3 4 9"},
        {"$evt.$name =* \"[ab]*\" && $evt.$name != \"b\"", "1 4 5 9"},
        {"$evt.$name == $evt.s", ""},
        {"$evt.ratio > 2", "1 2"},
        {"$evt.ratio == 3", "2"},
        {"$evt.ratio > $evt.id", "1"},
        {"$evt.state == \"_busy\"", "1"}, /* the label as the metadata spells it */
        {"$evt.state == 1", "1"},
        {"$evt.cpu_id == 1", "2 5"},
        {"$evt.$pkt_ctx.cpu_id == 1", "2 5"},
        {"$evt.$cpu == 1 || $evt.$name == \"other\"", "2 3 5"},
        {"$evt.$payload.id == 3", "3 5"},
        {"$evt.$ctx.id == 3", ""},
        {"$evt.$timestamp >= 3000000 && $evt.$timestamp < 5000000", "3 4"},
        {"$evt . id\t==\n3", "3 5"},
        {"($evt.id == 3 || $evt.id == -1) && !$evt.$cpu == 1", "1 3"},
    };
    g_autofree char *dir = scratch_dir();
    write_stream(dir, values, 0);
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *definition = g_strconcat(": ", cases[i].condition, NULL);
        g_autofree char *got = find_periods(dir, LIST(definition), NULL);
        g_auto(GStrv) times = g_strsplit(cases[i].expected, " ", -1);
        GString *expected = g_string_new(NULL);
        for (char **time = times; *time; time++) {
            g_string_append_printf(expected, "%s[%s-%s]", time != times ? " " : "", *time,
                                   time[1] ? time[1] : "9!");
        }
        if (strcmp(got, expected->str) != 0) {
            g_error("%s: %s instead of %s", cases[i].condition, got, expected->str);
        }
        g_string_free(expected, TRUE);
    }
    scratch_remove(dir);
}

/* Ancestors beyond the parent, and names of events compared with one another (Q-P3). */
static void test_ancestors(void)
{
    static const struct stream_event events[] = {
        {1, 0, "a", "id=1 s=\"x\""}, {2, 0, "a", "id=2 s=\"y\""}, {3, 0, "b", "id=1"},
        {4, 0, "c", "id=2"},         {5, 0, "d", "s=\"x\""},      {6, 0, "d", "s=\"y\""},
        {7, 0, "e", "id=1"},         {8, 0, "f", "id=0"},         {0, 0, NULL, NULL},
    };
    check(events,
          LIST("p : $evt.$name == \"a\" : $evt.$name == \"f\"",
               "q(p) : $evt.id == $parent.$begin.$evt.id && !$evt.$name == "
               "$parent.$begin.$evt.$name : $evt.$name == \"e\" && $evt.id == "
               "$parent.$begin.$evt.id",
               "r(q) : $evt.s == $parent.$parent.$begin.$evt.s : $evt.$name == $begin.$evt.$name "
               "&& $evt.s != $begin.$evt.s"),
          LIST("r : s = $parent.$parent.$begin.$evt.s, at = $evt.$name :"),
          "p[1-8] p[2-8] p/q[3-7] p/q[4-8!] p/q/r[5-6]{s='x' at='d'|} p/q/r[6-8!]{s='y' at='d'|} "
          "p/q[7-8!]");
}

/* Who runs is known from sched_switch where the trace has no contexts. */
static void test_tasks(void)
{
    static const struct stream_event events[] = {
        {1, 0, "a", ""},
        {2, 0, "sched_switch", "prev_comm=\"foo\" prev_tid=5 next_comm=\"bar\" next_tid=6"},
        {3, 0, "a", ""},
        {3, 1, "a", ""},
        {4, 1, "sched_switch", "prev_comm=\"foo\" prev_tid=5 next_comm=\"idle\" next_tid=0"},
        {5, 1, "b", ""},
        {6, 0, "b", ""},
        {7, 0, "bare", ""},
        {0, 0, NULL, NULL},
    };
    const char *const definitions[] = {
        "p : $evt.$name == \"a\" : $evt.$name == \"b\" && $evt.$tid == $begin.$evt.$tid", NULL};
    const char *const captures[] = {
        "p : tid = $evt.$tid, comm = $evt.$comm, $evt.$host : $evt.$comm", NULL};
    check(events, definitions, captures,
          "p[1-7!]{tid=? comm=? $evt.$host='host'|$evt.$comm=?} "
          "p[3-6]{tid=6 comm='bar' $evt.$host='host'|$evt.$comm='bar'} "
          "p[3-7!]{tid=? comm=? $evt.$host='host'|$evt.$comm=?}");
    g_autofree char *dir = scratch_dir();
    write_stream(dir, events, CTF_TID | CTF_PROCNAME);
    g_autofree char *got = find_periods(dir, definitions, captures);
    g_assert_cmpstr(got, ==,
                    "p[1-6]{tid=71 comm='zero' $evt.$host='host'|$evt.$comm='zero'} "
                    "p[3-6]{tid=71 comm='zero' $evt.$host='host'|$evt.$comm='zero'} "
                    "p[3-5]{tid=81 comm='one' $evt.$host='host'|$evt.$comm='one'}");
    scratch_remove(dir);
}

/* Where events are missing another task may have come onto the CPU; the others go on. */
static void test_tasks_lost(void)
{
    static const struct stream_event events[] = {
        {1, 0, "sched_switch", "prev_comm=\"foo\" prev_tid=5 next_comm=\"bar\" next_tid=6"},
        {2, 1, "sched_switch", "prev_comm=\"foo\" prev_tid=5 next_comm=\"too\" next_tid=7"},
        {3, 0, "a", ""},
        {4, 0, LOST, ""},
        {5, 0, "a", ""},
        {6, 1, "a", ""},
        {7, 0, "sched_switch", "prev_comm=\"new\" prev_tid=8 next_comm=\"bar\" next_tid=6"},
        {8, 0, "a", ""},
        {0, 0, NULL, NULL},
    };
    check(events, LIST("p : $evt.$name == \"a\""), LIST("p : $evt.$tid, $evt.$comm :"),
          "p[3-5]{$evt.$tid=6 $evt.$comm='bar'|} p[5-6]{$evt.$tid=? $evt.$comm=?|} "
          "p[6-8]{$evt.$tid=7 $evt.$comm='too'|} p[8-8!]{$evt.$tid=6 $evt.$comm='bar'|}");
}

/* Values of different types that are equal are one key; a label is equal to its number and text. */
static void test_keys(void)
{
    static const struct stream_event events[] = {
        {1, 0, "a", "id=3 ratio=3 s=\"_busy\" state=1"},
        {2, 0, "a", "id=-1 ratio=-1 big=18446744073709551615 s=\"idle\""},
        {3, 0, "other", "id=3 which=\"_busy\""},
        {9, 0, "bare", ""},
        {0, 0, NULL, NULL},
    };
    static const struct {
        const char *end, *expected;
    } cases[] = {
        {"$evt.id == $begin.$evt.id", "p[1-3] p[2-9!]"},
        {"$begin.$evt.ratio == $evt.id", "p[1-3] p[2-9!]"},
        {"$evt.which == $begin.$evt.state", "p[1-3] p[2-9!]"},
        {"$evt.which == $begin.$evt.s", "p[1-3] p[2-9!]"},
        {"$evt.id != $begin.$evt.id", "p[1-9!] p[2-3]"},
        {"$evt.nope == $begin.$evt.id", "p[1-9!] p[2-9!]"},
        {"$evt.id == $begin.$evt.nope", "p[1-9!] p[2-9!]"},
        {"$evt.id != $begin.$evt.nope", "p[1-9!] p[2-9!]"},
        {"$evt.id == $begin.$evt.id && $evt.which == $begin.$evt.s", "p[1-3] p[2-9!]"},
        {"$evt.id == $begin.$evt.id && $evt.which != $begin.$evt.s", "p[1-9!] p[2-9!]"},
        {"$evt.id == $begin.$evt.id || $evt.which == \"_busy\"", "p[1-3] p[2-3]"},
        {"$evt.$timestamp > $begin.$evt.$timestamp && $evt.$name == \"bare\"", "p[1-9] p[2-9]"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *definition = g_strconcat(
            "p : $evt.$name == \"a\" : !$evt.$name == \"a\" && (", cases[i].end, ")", NULL);
        check(events, LIST(definition), NULL, cases[i].expected);
    }
}

/* With the end omitted each match closes the one before; $begin is then the opening event. */
static void test_chain(void)
{
    static const struct stream_event events[] = {
        {1, 0, "a", "id=1"}, {2, 0, "a", "id=2"}, {3, 0, "a", "id=1"},
        {4, 0, "a", "id=2"}, {9, 0, "bare", ""},  {0, 0, NULL, NULL},
    };
    check(events, LIST("p : $evt.$name == \"a\""), NULL, "p[1-2] p[2-3] p[3-4] p[4-9!]");
    check(events, LIST("p : $evt.id == $begin.$evt.id"), NULL, "p[1-3] p[2-4] p[3-9!] p[4-9!]");
    /* Several without name are kept apart. */
    check(events, LIST(": $evt.id == 1", ": $evt.id == 2"), NULL, "[1-3] [2-4] [3-9!] [4-9!]");
}

struct log {
    struct lull_period_tracker *tracker;
    GString *text;
};

static void on_opened(void *user, uint32_t instance)
{
    const struct log *log = user;
    g_string_append_printf(log->text, "+%u", instance);
}

static void on_closed(void *user, uint32_t instance)
{
    const struct log *log = user;
    bool is_complete = lull_period_at(log->tracker, instance)->is_complete;
    g_string_append_printf(log->text, "-%u%s", instance, is_complete ? "" : "!");
}

/* Closing comes before opening, children before parents. */
static void test_order(void)
{
    static const struct stream_event events[] = {
        {1, 0, "a", "id=1"}, {2, 0, "b", "id=1"}, {3, 0, "c", "id=1"}, {4, 0, "d", "id=1"},
        {5, 0, "a", "id=2"}, {6, 0, "a", "id=3"}, {9, 0, "bare", ""},  {0, 0, NULL, NULL},
    };
    static const struct lull_period_callbacks callbacks = {on_opened, on_closed};
    g_autofree char *dir = scratch_dir();
    write_stream(dir, events, 0);
    struct lull_session *session = open_stream(dir);
    struct lull_periods *periods =
        lull_periods_parse(LIST("p : $evt.$name == \"a\" : $evt.$name == \"a\"",
                                "q(p) : $evt.$name == \"b\" : "
                                "$evt.$name == \"a\"",
                                "r(q) : $evt.$name == \"c\" || $evt.$name == \"d\" : "
                                "$evt.$name == \"d\""),
                           NULL, NULL);
    struct log log = {.text = g_string_new(NULL)};
    log.tracker = lull_period_tracker_new(periods, session, &callbacks, &log);
    g_assert_null(lull_session_read(session));
    lull_period_tracker_finish(log.tracker, 9000000);
    /* a +p0, b +q1, c +r2, d -r2 +r3, a: q1 and p0 end, r3 with them; +p4; a -p4 +p5; the end. */
    g_assert_cmpstr(log.text->str, ==, "+0+1+2-2+3-3!-1-0+4-4+5-5!");
    g_string_free(log.text, TRUE);
    lull_period_tracker_free(log.tracker);
    lull_periods_free(periods);
    lull_session_free(session);
    scratch_remove(dir);
}

static void test_bounds(void)
{
    g_autofree char *dir = scratch_dir();
    write_stream(dir, stream_requests, 0);
    struct lull_session *session = open_stream(dir);
    struct lull_periods *periods = lull_periods_parse(
        LIST("p : $evt.$name == \"a_begin\" : $evt.$name == \"foo\""), NULL, NULL);
    struct lull_period_tracker *tracker = lull_period_tracker_new(periods, session, NULL, NULL);
    lull_period_tracker_bound(tracker, 2, 100);
    lull_period_tracker_limit(tracker, 14 * 1000000, 62 * 1000000);
    g_assert_null(lull_session_read(session));
    /* a_start is at 14, 17.5, 26, 38, 50 within the limits. */
    g_assert_cmpuint(lull_period_instance_count(tracker), ==, 2);
    g_assert_cmpint(lull_period_at(tracker, 0)->start_ns, ==, 14 * 1000000);
    g_assert_cmpuint(lull_period_refused(tracker), ==, 3);
    lull_period_tracker_free(tracker);
    lull_periods_free(periods);
    lull_session_free(session);
    scratch_remove(dir);
}

static void add_count(void *user, uint32_t trace, const struct lull_event_class *event_class,
                      uint64_t count)
{
    *(uint64_t *)user += count;
}

struct wanted {
    uint64_t have;
    int64_t id, fd;
};

/* Reads what a subscriber gets while periods are followed. */
static char *read_wanted(struct lull_session *session)
{
    GString *out = g_string_new(NULL);
    struct lull_event event;
    while (lull_session_next(session, &event) == 1) {
        const struct wanted *wanted = event.fields;
        g_string_append_printf(out, " %s", lull_event_class_name(event.event_class));
        if (wanted->have == 3) {
            g_string_append_printf(out, ":%d:%d", (int)wanted->id, (int)wanted->fd);
        }
    }
    return g_string_free(out, FALSE);
}

/* Periods see what a filter rejects; what others are handed out does not change. */
static void check_watch(const char *filter, const char *expected)
{
    const struct lull_binding bindings[] = {
        {LIST("id"), LULL_BIND_INT, offsetof(struct wanted, id)},
        {LIST("fd"), LULL_BIND_INT, offsetof(struct wanted, fd)},
    };
    g_autofree char *dir = scratch_dir();
    write_stream(dir, stream_requests, 0);
    struct lull_session *session = open_stream(dir);
    if (filter) {
        lull_filter_attach(lull_filter_parse(filter, false, NULL), session);
    }
    lull_session_subscribe(session, LIST("a_begin", "bare"), bindings, 2, sizeof(struct wanted));
    struct lull_periods *periods = lull_periods_parse(
        LIST("p : $evt.fd >= 0 && $evt.$name == \"a_begin\" : $evt.$name == \"a_end\" && "
             "$evt.id == $begin.$evt.id"),
        LIST("p : $evt.fd : $evt.ret"), NULL);
    struct lull_period_tracker *tracker = lull_period_tracker_new(periods, session, NULL, NULL);
    for (int round = 0; round < 2; round++) { /* also behind a count of the events */
        uint64_t counted = 0;
        lull_session_count(session, add_count, &counted);
        g_assert_cmpuint(counted, ==, !filter ? 35 : 3);
    }
    lull_session_rewind(session);
    g_autofree char *got = read_wanted(session);
    g_assert_cmpstr(got, ==, expected);
    g_autofree char *found = describe_periods(session, periods, tracker);
    g_assert_cmpstr(found, ==,
                    "p[2-5]{$evt.fd=0|$evt.ret=0} p[14-17]{$evt.fd=1|$evt.ret=1} "
                    "p[17.5-17.75]{$evt.fd=9|$evt.ret=22} p[26-29]{$evt.fd=2|$evt.ret=2} "
                    "p[38-41]{$evt.fd=0|$evt.ret=3} p[50-53]{$evt.fd=1|$evt.ret=4} "
                    "p[62-63]{$evt.fd=5|$evt.ret=1}");
    lull_period_tracker_free(tracker);
    lull_periods_free(periods);
    lull_session_free(session);
    scratch_remove(dir);
}

static void test_watch(void)
{
    check_watch(NULL, " bare a_begin:0:0 a_begin:1:1 a_begin:1:9 a_begin:2:2 a_begin:3:0 "
                      "a_begin:4:1 a_begin:77:5 bare");
    check_watch("fd == 1 || fd == 5", " a_begin:1:1 a_begin:4:1 a_begin:77:5");
    check_watch("time >= 0 && (fd == 1 || fd == 5)", " a_begin:1:1 a_begin:4:1 a_begin:77:5");
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/period/tracker/requests", test_requests);
    g_test_add_func("/period/tracker/nest", test_nest);
    g_test_add_func("/period/tracker/conditions", test_conditions);
    g_test_add_func("/period/tracker/ancestors", test_ancestors);
    g_test_add_func("/period/tracker/tasks", test_tasks);
    g_test_add_func("/period/tracker/tasks-lost", test_tasks_lost);
    g_test_add_func("/period/tracker/keys", test_keys);
    g_test_add_func("/period/tracker/chain", test_chain);
    g_test_add_func("/period/tracker/order", test_order);
    g_test_add_func("/period/tracker/bounds", test_bounds);
    g_test_add_func("/period/tracker/watch", test_watch);
    return g_test_run();
}
