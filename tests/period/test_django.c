/* SPDX-License-Identifier: MIT */
/* The example of the manual on a recording of a real server: requests of Apache, from the exit of
 * the accept4 that returned a descriptor to the close of it, with what is sent on it inside. What
 * must be found was computed from the text that babeltrace2 prints of the trace, by a script
 * that pairs accept4, close and writev by process and descriptor. */
#include <string.h>

#include "period/streams.h"

#define LIST(...) ((const char *const[]){__VA_ARGS__, NULL})

struct found {
    uint32_t complete, all;
    int64_t total_ns, shortest_ns, longest_ns;
};

static void add(struct found *found, const struct lull_period_instance *instance)
{
    const int64_t duration = instance->end_ns - instance->start_ns;
    found->all++;
    if (!instance->is_complete) {
        return;
    }
    found->shortest_ns = found->complete == 0 ? duration : MIN(found->shortest_ns, duration);
    found->longest_ns = MAX(found->longest_ns, duration);
    found->total_ns += duration;
    found->complete++;
}

static void test_requests(void)
{
    const char *traces = g_getenv("LULL_TEST_TRACES");
    g_autofree char *dir = traces ? g_build_filename(traces, "..", "django", "httpd", NULL) : NULL;
    if (!dir || !g_file_test(dir, G_FILE_TEST_IS_DIR)) {
        g_test_skip("the sample traces are not unpacked");
        return;
    }
    GError *error = NULL;
    struct found found[2] = {0};
    struct lull_session *session = lull_session_new();
    lull_session_add_all(session, LIST(dir), 1, &error);
    g_assert_no_error(error);
    struct lull_periods *periods = lull_periods_parse(
        LIST("request : $evt.$name == \"syscall_exit_accept4\" && $evt.$comm == \"apache2\" && "
             "$evt.family == 10 && $evt.ret >= 0 : $evt.$name == \"syscall_entry_close\" && "
             "$evt.fd == $begin.$evt.ret && $evt.$ctx.pid == $begin.$evt.$ctx.pid",
             "send(request) : $evt.$name == \"syscall_entry_writev\" && $evt.fd == "
             "$parent.$begin.$evt.ret && $evt.$ctx.pid == $parent.$begin.$evt.$ctx.pid : "
             "$evt.$name == \"syscall_exit_writev\" && $evt.$tid == $begin.$evt.$tid"),
        LIST("request : port = $evt.sport :"), &error);
    g_assert_no_error(error);
    struct lull_period_tracker *tracker = lull_period_tracker_new(periods, session, NULL, NULL);
    g_assert_null(lull_session_read(session));
    lull_period_tracker_finish(tracker, INT64_MAX);
    for (uint32_t i = 0; i < lull_period_instance_count(tracker); i++) {
        add(&found[lull_period_at(tracker, i)->period], lull_period_at(tracker, i));
    }
    g_assert_cmpuint(found[0].all, ==, 20);
    g_assert_cmpuint(found[0].complete, ==, 20);
    g_assert_cmpint(found[0].total_ns, ==, 7307836067);
    g_assert_cmpint(found[0].shortest_ns, ==, 309773394);
    g_assert_cmpint(found[0].longest_ns, ==, 516291805);
    g_assert_cmpuint(found[1].all, ==, 40);
    g_assert_cmpuint(found[1].complete, ==, 40);
    g_assert_cmpint(found[1].total_ns, ==, 60272172);
    /* The first, accepted by thread 493; and the port of the client. */
    const struct lull_period_instance *first = lull_period_at(tracker, 0);
    g_assert_cmpint(first->start_ns % 1000000000, ==, 305373987);
    g_assert_cmpint(first->end_ns % 1000000000, ==, 630271484);
    g_assert_cmpint(first->start_tid, ==, 493);
    g_assert_cmpstr(first->start_comm, ==, "apache2");
    g_assert_cmpuint(lull_period_value(tracker, 0, false, 0)->bits, ==, 54844);
    lull_period_tracker_free(tracker);
    lull_periods_free(periods);
    lull_session_free(session);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/period/django/requests", test_requests);
    return g_test_run();
}
