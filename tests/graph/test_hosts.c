/* SPDX-License-Identifier: MIT */
/* Paths and hosts: across one that only hands on a packet, and what was lost on those that a path
 * touches. */
#include "graph/critpath.h"
#include "graph/execgraph.h"
#include "graph/path.h"
#include "graph/portions.h"
#include "lib/ctf_writer.h"
#include "lib/feed.h"
#include "lib/scratch.h"

/* The line of the router's kernel starts anew where its softirq does: what it did at 2 is no part of
 * it. Task 100 of host 0 sends at 20. Host 1 is idle until its softirq receives that at 32 and hands it on
 * at 35. On host 2, 300 waits from 5 for what its softirq receives at 52, is woken at 53 and runs at
 * 60. */
static void test_router(void)
{
    static const struct {
        int tid;
        enum lull_state state;
        enum lull_cause cause;
        int64_t end_ns;
    } expected[] = {
        {100, LULL_STATE_RUNNING, LULL_CAUSE_NONE, 20},
        {-1, LULL_STATE_BLOCKED, LULL_CAUSE_NETWORK, 32}, /* on its way to the router's kernel */
        {-1, LULL_STATE_RUNNING, LULL_CAUSE_NONE, 35},
        {300, LULL_STATE_BLOCKED, LULL_CAUSE_NETWORK, 53},
        {300, LULL_STATE_PREEMPTED, LULL_CAUSE_NONE, 60},
        {300, LULL_STATE_RUNNING, LULL_CAUSE_NONE, 70},
    };
    struct lull_model *model = lull_model_new(NULL, LULL_GROUP_GRAPH);
    struct lull_execgraph *eg = lull_execgraph_new(model, NULL);
    feed_switch(model, 0, 0, 1, 0, 100, 0);
    feed_switch(model, 2, 0, 5, 300, 0, 1);
    feed_softirq(model, 1, 0, 2, 3, true);
    feed_packet(model, 1, 0, 3, false, 77);
    feed_softirq(model, 1, 0, 4, 3, false);
    feed_packet(model, 0, 0, 20, true, 1);
    feed_softirq(model, 1, 0, 30, 3, true);
    feed_packet(model, 1, 0, 32, false, 1);
    feed_packet(model, 1, 0, 35, true, 1);
    feed_softirq(model, 1, 0, 40, 3, false);
    feed_softirq(model, 2, 0, 50, 3, true);
    feed_packet(model, 2, 0, 52, false, 1);
    feed_wake(model, LULL_EVENT_sched_waking, 2, 0, 53, 300, 0);
    feed_softirq(model, 2, 0, 54, 3, false);
    feed_switch(model, 2, 0, 60, 0, 300, 0);
    feed_switch(model, 2, 0, 70, 300, 0, 1);
    feed_switch(model, 0, 0, 80, 100, 0, 1);
    lull_model_finish(model);
    g_autoptr(GArray) hops = lull_critpath_find(
        lull_execgraph_graph(eg), lull_model_find_tid(model, 2, 300), 5, 70, LULL_PATH_BOUNDED);
    g_assert_cmpuint(hops->len, ==, G_N_ELEMENTS(expected));
    for (guint i = 0; i < hops->len; i++) {
        const struct lull_hop *hop = &g_array_index(hops, struct lull_hop, i);
        g_assert_cmpint(lull_model_task(model, hop->line)->tid, ==, expected[i].tid);
        g_assert_cmpint(hop->state, ==, expected[i].state);
        g_assert_cmpint(hop->cause, ==, expected[i].cause);
        g_assert_cmpint(hop->end_ns, ==, expected[i].end_ns);
    }
    lull_execgraph_free(eg);
    lull_model_free(model);
}

/* ---- losses ---- */

static void write_switch(struct ctf_writer *writer, int64_t t, int prev, int next)
{
    ctf_event(writer, 0, t, "sched_switch", "prev_tid=%d next_tid=%d prev_state=0", prev, next);
}

/* Task 7 runs from 10 to 20 and from 30 to 40, and again from 70 on. Events were lost in the second
 * packet, which ends at 40; packets between 40 and 70. */
static void write_host(const char *dir, const char *name, unsigned events, unsigned packets)
{
    g_autofree char *path = g_build_filename(dir, name, NULL);
    struct ctf_writer *writer =
        ctf_writer_new(path, &(struct ctf_options){.hostname = name, .seed = (uint8_t)name[0]});
    write_switch(writer, 10, 0, 7);
    write_switch(writer, 20, 7, 8);
    ctf_writer_end_packet(writer, 0);
    write_switch(writer, 30, 8, 7);
    write_switch(writer, 40, 7, 8);
    ctf_writer_lose(writer, 0, events, packets);
    ctf_writer_end_packet(writer, 0);
    write_switch(writer, 70, 8, 7);
    write_switch(writer, 90, 7, 8);
    write_switch(writer, 95, 8, 7);
    ctf_writer_close(writer);
}

static void test_losses(void)
{
    static const struct {
        int64_t start_ns, end_ns;
        bool is_touched;
    } ranges[] = {{10, 19, false}, {10, 90, true}, {75, 90, false}, {35, 80, true}};
    g_autofree char *dir = scratch_dir();
    write_host(dir, "a", 3, 0);
    write_host(dir, "b", 0, 5);
    struct lull_session *session = lull_session_new();
    g_assert_true(lull_session_add(session, dir, NULL));
    struct lull_model *model = lull_model_new(session, LULL_GROUP_GRAPH);
    struct lull_execgraph *eg = lull_execgraph_new(model, NULL);
    lull_model_run(model, NULL, NULL);
    struct lull_portions *portions = lull_portions_new(eg, session, LULL_PATH_BOUNDED);
    for (uint32_t host = 0; host < 2; host++) {
        const uint32_t task = lull_model_find_tid(model, host, 7);
        for (size_t i = 0; i < G_N_ELEMENTS(ranges); i++) {
            const uint64_t events = ranges[i].is_touched && host == 0 ? 3 : 0;
            const uint64_t packets = ranges[i].is_touched && host == 1 ? 5 : 0;
            struct lull_path *path = lull_execgraph_path(
                eg, session, NULL, task, ranges[i].start_ns, ranges[i].end_ns, LULL_PATH_BOUNDED);
            g_assert_cmpuint(path->lost_events, ==, events);
            g_assert_cmpuint(path->lost_packets, ==, packets);
            lull_path_free(path);
            const struct lull_sample *sample = lull_sample_at(
                portions, lull_portions_add(portions, task, ranges[i].start_ns, ranges[i].end_ns));
            g_assert_cmpuint(sample->lost_events, ==, events);
            g_assert_cmpuint(sample->lost_packets, ==, packets);
        }
    }
    lull_portions_free(portions);
    lull_execgraph_free(eg);
    lull_model_free(model);
    lull_session_free(session);
    scratch_remove(dir);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/graph/hosts/router", test_router);
    g_test_add_func("/graph/hosts/losses", test_losses);
    return g_test_run();
}
