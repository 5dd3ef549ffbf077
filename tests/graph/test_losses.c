/* SPDX-License-Identifier: MIT */
/* A path says what was lost while it lasted on the hosts that it touches, and nothing else. */
#include "graph/execgraph.h"
#include "graph/path.h"
#include "graph/portions.h"
#include "kernel/vocabulary.h"
#include "lib/ctf_writer.h"
#include "lib/scratch.h"

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

static void test_counts(void)
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
    struct lull_portions *portions = lull_portions_new(eg, session);
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
    g_test_add_func("/graph/losses/counts", test_counts);
    return g_test_run();
}
