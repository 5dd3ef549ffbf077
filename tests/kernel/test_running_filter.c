/* SPDX-License-Identifier: MIT */
/* Which events happened while a task ran: told by the contexts, or by sched_switch where there are
 * none. The traces are scripted here, so who ran when is known. */
#include "kernel/running_filter.h"

#include "filter/filter.h"
#include "lib/ctf_writer.h"
#include "lib/scratch.h"

#define T0 INT64_C(1795222800000000000)

static void event(struct ctf_writer *writer, unsigned cpu, int64_t t, const char *name,
                  const char *values)
{
    ctf_event(writer, cpu, T0 + t, name, "%s", values);
}

/* CPU 0: 10 runs until 200, then 11 until 300, then 10 again; CPU 1: 12 all the time, but that is
 * not known before its switch at 250. With a loss, events of CPU 0 are missing from 210 to 220. */
static void write_trace(const char *dir, unsigned contexts, bool has_loss)
{
    const struct ctf_options options = {.contexts = contexts};
    struct ctf_writer *writer = ctf_writer_new(dir, &options);
    ctf_writer_current(writer, 0, 10, 10, "ten");
    ctf_writer_current(writer, 1, 12, 12, "a-name-of-fifte");
    event(writer, 0, 100, "sched_waking", "tid=11 comm=\"eleven\"");
    event(writer, 1, 110, "sched_waking", "tid=99 comm=\"other\"");
    event(writer, 0, 200, "sched_switch",
          "prev_tid=10 prev_comm=\"ten\" next_tid=11 next_comm=\"eleven\"");
    ctf_writer_current(writer, 0, 11, 11, "eleven");
    event(writer, 0, 210, "sched_waking", "tid=10 comm=\"ten\"");
    if (has_loss) {
        ctf_writer_discard(writer, 0, 2, T0 + 220);
        event(writer, 0, 230, "sched_waking", "tid=96 comm=\"other\"");
    }
    event(writer, 1, 250, "sched_switch",
          "prev_tid=12 prev_comm=\"a-name-of-fifte\" next_tid=12 next_comm=\"a-name-of-fifte\"");
    event(writer, 1, 260, "sched_waking", "tid=98 comm=\"other\"");
    if (has_loss) {
        event(writer, 0, 270, "sched_waking", "tid=95 comm=\"other\"");
    }
    event(writer, 0, 300, "sched_switch",
          "prev_tid=11 prev_comm=\"eleven\" next_tid=10 next_comm=\"ten\"");
    ctf_writer_current(writer, 0, 10, 10, "ten");
    event(writer, 0, 400, "sched_waking", "tid=97 comm=\"other\"");
    ctf_writer_close(writer);
}

/* Times after T0 of the events that pass, "200 210 …". */
static char *passing(const char *dir, const char *const *names,
                     const struct lull_running_query *query)
{
    GError *error = NULL;
    struct lull_session *session = lull_session_new();
    lull_session_add(session, dir, &error);
    g_assert_no_error(error);
    lull_filter_attach(lull_filter_parse_named(NULL, names, false, &error), session);
    g_assert_no_error(error);
    struct lull_running_filter *filter = lull_running_filter_new(session, query);
    GString *times = g_string_new(NULL);
    struct lull_event next;
    while (lull_session_next(session, &next) == 1) {
        if (lull_running_filter_passes(filter, &next)) {
            g_string_append_printf(times, "%s%d", times->len ? " " : "", (int)(next.time_ns - T0));
        }
    }
    lull_running_filter_free(filter);
    lull_session_free(session);
    return g_string_free(times, FALSE);
}

static const char *const wakings[] = {"sched_wak*", NULL};

struct subscription {
    int64_t tid, other; /* -1: any; or one of two, if the other is not 0 */
    const char *comm;
    const char *const *names;
    int64_t start, end; /* after T0; 0: no limit */
    bool has_loss;
};

static void check(unsigned contexts, struct subscription subscription, const char *expected)
{
    g_autofree char *dir = scratch_dir();
    write_trace(dir, contexts, subscription.has_loss);
    const int64_t tids[] = {subscription.tid, subscription.other};
    const struct lull_running_query query = {
        .tids = {tids, subscription.tid < 0 ? 0
                       : subscription.other ? 2
                                            : 1},
        .comm = subscription.comm,
        .start_ns = subscription.start ? T0 + subscription.start : INT64_MIN,
        .end_ns = subscription.end ? T0 + subscription.end : INT64_MAX,
    };
    g_autofree char *got = passing(dir, subscription.names, &query);
    g_assert_cmpstr(got, ==, expected);
    scratch_remove(dir);
}

static void test_anyone(void)
{
    check(0, (struct subscription){.tid = -1}, "100 110 200 210 250 260 300 400");
    check(0, (struct subscription){.tid = -1, .names = wakings}, "100 110 210 260 400");
    check(0, (struct subscription){.tid = -1, .start = 200, .end = 300}, "200 210 250 260");
}

/* A switch happens while the task that leaves still runs. */
static void test_contexts(void)
{
    const unsigned both = CTF_TID | CTF_PROCNAME;
    check(both, (struct subscription){.tid = 10}, "100 200 400");
    check(both, (struct subscription){.tid = 11}, "210 300");
    check(both, (struct subscription){.tid = 10, .other = 12}, "100 110 200 250 260 400");
    check(both, (struct subscription){.tid = 12}, "110 250 260");
    check(both, (struct subscription){.tid = -1, .comm = "eleven"}, "210 300");
    check(both, (struct subscription){.tid = -1, .comm = "eleve"}, "");
    check(both, (struct subscription){.tid = -1, .comm = "a-name-of-fifteen-and-more"},
          "110 250 260");
    check(both, (struct subscription){.tid = 10, .comm = "eleven"}, "");
    check(both, (struct subscription){.tid = 10, .names = wakings}, "100 400");
    check(both, (struct subscription){.tid = 10, .start = 150, .end = 400}, "200");
}

/* Without contexts nothing is known of a CPU before its first switch; the begin of the asked time
 * makes no difference to what is known in it. */
static void test_switches(void)
{
    check(0, (struct subscription){.tid = 10}, "200 400");
    check(0, (struct subscription){.tid = 11}, "210 300");
    check(0, (struct subscription){.tid = 10, .other = 12}, "200 250 260 400");
    check(0, (struct subscription){.tid = 12}, "250 260");
    check(0, (struct subscription){.tid = -1, .comm = "eleven"}, "210 300");
    check(0, (struct subscription){.tid = -1, .comm = "a-name-of-fifteen-and-more"}, "250 260");
    check(0, (struct subscription){.tid = 10, .names = wakings}, "400");
    check(0, (struct subscription){.tid = 11, .start = 205, .end = 300}, "210");
    check(0, (struct subscription){.tid = 10, .start = 350}, "400");
}

/* The tid from the context, the name from the switches. */
static void test_one_context(void)
{
    check(CTF_TID, (struct subscription){.tid = 10}, "100 200 400");
    check(CTF_TID, (struct subscription){.tid = -1, .comm = "ten"}, "200 400");
    check(CTF_TID, (struct subscription){.tid = 10, .comm = "ten"}, "200 400");
    check(CTF_PROCNAME, (struct subscription){.tid = -1, .comm = "ten"}, "100 200 400");
    check(CTF_PROCNAME, (struct subscription){.tid = 12}, "250 260");
}

/* Of who was on the CPU before the loss nothing is believed until its next switch, unless contexts say it. */
static void test_losses(void)
{
    check(0, (struct subscription){.tid = 11, .has_loss = true}, "210 300");
    check(0, (struct subscription){.tid = -1, .comm = "eleven", .has_loss = true}, "210 300");
    check(0, (struct subscription){.tid = 12, .has_loss = true}, "250 260");
    check(0, (struct subscription){.tid = 10, .has_loss = true}, "200 400");
    check(0, (struct subscription){.tid = 11, .start = 225, .end = 300, .has_loss = true}, "");
    check(CTF_TID | CTF_PROCNAME, (struct subscription){.tid = 11, .has_loss = true},
          "210 230 270 300");
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/kernel/running-filter/anyone", test_anyone);
    g_test_add_func("/kernel/running-filter/contexts", test_contexts);
    g_test_add_func("/kernel/running-filter/switches", test_switches);
    g_test_add_func("/kernel/running-filter/one-context", test_one_context);
    g_test_add_func("/kernel/running-filter/losses", test_losses);
    return g_test_run();
}
