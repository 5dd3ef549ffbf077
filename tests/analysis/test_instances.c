/* SPDX-License-Identifier: MIT */
/* Instances of requests and of periods: when, by which task, of which kind. */
#include "analysis/instances.h"
#include "kernel/vocabulary.h"
#include "lib/ctf_writer.h"
#include "lib/feed.h"
#include "lib/scratch.h"

static struct lull_session *open_trace(const char *dir)
{
    struct lull_session *session = lull_session_new();
    g_assert_true(lull_session_add(session, dir, NULL));
    return session;
}

static struct ctf_writer *write_trace(const char *dir)
{
    return ctf_writer_new(dir, &(struct ctf_options){.hostname = "a", .contexts = CTF_TID});
}

static const struct lull_instance *at(const struct lull_instances *instances, guint index)
{
    return &g_array_index(instances->list, struct lull_instance, index);
}

static const char *kind_at(const struct lull_instances *instances, guint index)
{
    return g_array_index(instances->kinds, struct lull_instance_kind, at(instances, index)->kind)
        .name;
}

/* One request of a client on host a. */
static void test_request(void)
{
    g_autofree char *dir = scratch_dir();
    struct ctf_writer *writer = write_trace(dir);
    ctf_event(writer, 0, 10, "sched_waking", "tid=7");
    ctf_writer_close(writer);
    struct lull_session *session = open_trace(dir);
    struct lull_model *model = lull_model_new(NULL, LULL_GROUP_GRAPH);
    struct lull_requests *requests = lull_requests_new(model);
    feed_switch(model, 0, 0, 5, 0, 7, 0);
    feed_tcp(model, 0, 0, 10, true, &(struct feed_segment){1, 2, 40000, 80, 100, 0, 0, 50, NULL});
    feed_tcp(model, 0, 0, 30, false, &(struct feed_segment){2, 1, 80, 40000, 500, 0, 0, 10, NULL});
    lull_model_finish(model);
    lull_requests_finish(requests);
    struct lull_instances *instances = lull_instances_of_requests(requests, session, model);
    g_assert_cmpuint(instances->list->len, ==, 1);
    g_assert_cmpuint(at(instances, 0)->number, ==, 1);
    g_assert_cmpint(at(instances, 0)->start_ns, ==, 10);
    g_assert_cmpint(at(instances, 0)->end_ns, ==, 30);
    g_assert_true(at(instances, 0)->is_complete);
    g_assert_cmpint(lull_model_task(model, at(instances, 0)->task)->tid, ==, 7);
    g_assert_cmpstr(kind_at(instances, 0), ==, "t7 on a to 10.0.0.2:80");
    lull_instances_free(instances);
    lull_requests_free(requests);
    lull_model_free(model);
    lull_session_free(session);
    scratch_remove(dir);
}

static void write_switch(struct ctf_writer *writer, int64_t t, int prev, int next, int state)
{
    ctf_writer_current(writer, 0, prev, prev, "");
    ctf_event(writer, 0, t, "sched_switch", "prev_tid=%d next_tid=%d prev_state=%d", prev, next,
              state);
    ctf_writer_current(writer, 0, next, next, "");
}

/* Task 7 serves /a from 20 to 30 and dies; another task 7 serves /b from 70 to 80, and /a until after
 * the end; task 8 starts what 9 ends. */
static void write_served(const char *dir)
{
    static const struct ctf_field on_start[] = {CTF_I(32, "id"), CTF_STR("uri"), CTF_DONE};
    static const struct ctf_field on_end[] = {CTF_I(32, "id"), CTF_I(32, "st"), CTF_DONE};
    static const struct ctf_class served[] = {{.name = "req_start", .fields = on_start},
                                              {.name = "req_end", .fields = on_end}};
    struct ctf_writer *writer = write_trace(dir);
    ctf_writer_class(writer, &served[0]);
    ctf_writer_class(writer, &served[1]);
    write_switch(writer, 10, 0, 7, 0);
    ctf_event(writer, 0, 20, "req_start", "id=1 uri=\"/a\"");
    ctf_event(writer, 0, 30, "req_end", "id=1 st=200");
    ctf_event(writer, 0, 40, "sched_process_exit", "tid=7");
    write_switch(writer, 50, 7, 0, 32);
    write_switch(writer, 60, 0, 7, 0);
    ctf_event(writer, 0, 70, "req_start", "id=2 uri=\"/b\"");
    ctf_event(writer, 0, 80, "req_end", "id=2 st=404");
    ctf_event(writer, 0, 85, "req_start", "id=3 uri=\"/a\"");
    write_switch(writer, 90, 7, 8, 1);
    ctf_event(writer, 0, 95, "req_start", "id=4 uri=\"/a\"");
    write_switch(writer, 100, 8, 9, 1);
    ctf_event(writer, 0, 105, "req_end", "id=4 st=200");
    ctf_writer_close(writer);
}

static void expect(const struct lull_instances *instances, const struct lull_model *model,
                   guint index, int64_t end_ns, int tid, const char *kind)
{
    const struct lull_instance *instance = at(instances, index);
    g_assert_cmpuint(instance->number, ==, index + 1);
    g_assert_cmpint(instance->end_ns, ==, end_ns);
    g_assert_cmpint(lull_model_task(model, instance->task)->tid, ==, tid);
    g_assert_cmpstr(kind_at(instances, index), ==, kind);
}

static void test_periods(void)
{
    static const char *const definitions[] = {"req : $evt.$name == \"req_start\" : $evt.$name == "
                                              "\"req_end\" && $evt.id == $begin.$evt.id",
                                              NULL};
    static const char *const captures[] = {"req : uri = $evt.uri : st = $evt.st", NULL};
    static const char *const by_uri[] = {"uri", NULL}, *const by_other[] = {"other", NULL};
    g_autoptr(GError) error = NULL;
    g_autofree char *dir = scratch_dir();
    write_served(dir);
    struct lull_session *session = open_trace(dir);
    struct lull_periods *periods = lull_periods_parse(definitions, captures, &error);
    g_assert_no_error(error);
    struct lull_period_tracker *tracker = lull_period_tracker_new(periods, session, NULL, NULL);
    struct lull_model *model = lull_model_new(session, LULL_GROUP_SCHED | LULL_GROUP_STATE);
    lull_model_run(model, NULL, NULL);
    lull_period_tracker_finish(tracker, 110);
    struct lull_instances *instances =
        lull_instances_of_period(periods, tracker, model, 0, by_uri, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(instances->list->len, ==, 4);
    g_assert_cmpuint(instances->kinds->len, ==, 2);
    expect(instances, model, 0, 30, 7, "uri = /a");
    expect(instances, model, 1, 80, 7, "uri = /b");
    expect(instances, model, 2, 110, 7, "uri = /a");
    expect(instances, model, 3, 105, 9, "uri = /a");
    g_assert_cmpuint(at(instances, 0)->task, !=, at(instances, 1)->task);
    g_assert_cmpuint(at(instances, 1)->task, ==, at(instances, 2)->task);
    g_assert_true(at(instances, 1)->is_complete);
    g_assert_false(at(instances, 2)->is_complete);
    g_assert_cmpstr(at(instances, 1)->json, ==,
                    "{\"begin\": {\"uri\": \"/b\"}, \"end\": {\"st\": 404}}");
    lull_instances_free(instances);
    g_assert_null(lull_instances_of_period(periods, tracker, model, 0, by_other, &error));
    g_assert_error(error, LULL_ERROR, LULL_ERROR_USAGE);
    lull_model_free(model);
    lull_period_tracker_free(tracker);
    lull_periods_free(periods);
    lull_session_free(session);
    scratch_remove(dir);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/analysis/instances/request", test_request);
    g_test_add_func("/analysis/instances/periods", test_periods);
    return g_test_run();
}
