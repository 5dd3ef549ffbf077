/* SPDX-License-Identifier: MIT */
/* The LTTng tracer against a daemon that is not there: what it tells the daemon, and that nothing
 * is left there whichever call fails. What the real one does with it is the business of tests/vm.
 */
#include <glib.h>
#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

#include "record/fake_lttng.h"
#include "record/kept.h"
#include "record/lttng/lttng.h"

#define KIND (&lull_tracer_lttng)

/* Of lttng-modules 2.13, the needed ones and two more. */
static const char *const known[] = {
    "sched_switch",       "sched_waking",       "sched_process_fork",
    "sched_process_exec", "sched_process_exit", "irq_softirq_entry",
    "net_if_receive_skb", "some_other_event",   NULL};

struct position {
    char *dir;
    struct kept kept;
    struct lull_tracer_request request;
};

static void start(struct position *position, gconstpointer unused)
{
    position->dir = g_dir_make_tmp("lull-lttng-XXXXXX", NULL);
    g_assert_nonnull(position->dir);
    kept_start(&position->kept);
    kept_make(&position->kept, position->dir, "recording");
    position->request = (struct lull_tracer_request){.keeper = &position->kept.keeper,
                                                     .invoker = &position->kept.invoker,
                                                     .purpose = LULL_PURPOSE_CRITPATH};
    fake_lttng_start(known);
}

static void remove_tree(const char *path)
{
    g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
    const char *name;
    while (dir && (name = g_dir_read_name(dir))) {
        g_autofree char *child = g_build_filename(path, name, NULL);
        remove_tree(child);
    }
    g_remove(path);
}

static void end(struct position *position, gconstpointer unused)
{
    kept_end(&position->kept);
    remove_tree(position->dir);
    g_free(position->dir);
    fake_lttng_end();
}

static void test_records(struct position *position, gconstpointer unused)
{
    static const char *const calls[] = {
        "lttng_create_session_ext local",        "lttng_enable_event lttng_statedump_*",
        "lttng_enable_event sched_switch",       "lttng_enable_event irq_softirq_entry",
        "lttng_enable_event net_if_receive_skb", "lttng_enable_event syscall *"};
    static const enum lttng_event_context_type contexts[] = {
        LTTNG_EVENT_CONTEXT_PID, LTTNG_EVENT_CONTEXT_TID, LTTNG_EVENT_CONTEXT_PROCNAME};
    g_autoptr(GError) error = NULL;
    struct lull_tracer_result result;
    g_assert_null(KIND->missing(&position->request));
    struct lull_tracer *tracer = KIND->set_up(&position->request, &error);
    g_assert_no_error(error);
    g_assert_cmpstr(fake.path, ==, position->kept.keeper.part);
    for (size_t i = 0; i < G_N_ELEMENTS(calls); i++) {
        g_assert_true(fake_lttng_was_called(calls[i]));
    }
    for (size_t i = 0; i < G_N_ELEMENTS(contexts); i++) {
        g_autofree char *call = g_strdup_printf("lttng_add_context %d", (int)contexts[i]);
        g_assert_true(fake_lttng_was_called(call));
    }
    g_assert_false(fake_lttng_was_called("lttng_enable_event irq_softirq_exit")); /* not known */
    g_assert_false(fake_lttng_was_called("lttng_enable_event some_other_event"));
    g_assert_cmpint(fake.overwrite, ==, 0);
    g_assert_cmpuint(g_strv_length((char **)tracer->events), ==, 1 + 7 + 1);
    g_assert_false(fake_lttng_was_called("lttng_start_tracing"));
    g_assert_true(KIND->start(tracer, &error));
    g_assert_true(KIND->check(tracer, &error));
    fake.n_pending = 3;
    g_assert_true(KIND->stop(tracer, &result, &error));
    g_assert_cmpuint(fake.n_pending, ==, 0);
    g_assert_cmpuint(fake.sessions->len, ==, 0);
    g_assert_cmpuint(result.bytes, ==, FAKE_METADATA_BYTES + FAKE_STREAM_BYTES);
    g_assert_cmpuint(result.lost_events, ==, FAKE_LOST_EVENTS);
    g_assert_false(result.has_events);
    KIND->free(tracer);
}

/* Counters of the kernel's own, which each machine has, are read with switches and nothing else; those
 * that it does not have are left out, since LTTng would record nothing. */
static void test_counters(struct position *position, gconstpointer unused)
{
    static const char *const calls[] = {
        "counter perf_cpu_page_faults 1:2 counted", "counter perf_cpu_task_clock 1:1 counted",
        "in_channel sched_switch counted", "in_channel sched_waking channel0",
        "in_channel lttng_statedump_* channel0"};
    g_autoptr(GError) error = NULL;
    position->request.counters = "page-faults,rffffffffffffffff,task-clock";
    struct lull_tracer *tracer = KIND->set_up(&position->request, &error);
    if (!tracer && strstr(error->message, "CAP_PERFMON")) {
        g_test_skip("no counter may be read here");
        return;
    }
    g_assert_no_error(error);
    for (size_t i = 0; i < G_N_ELEMENTS(calls); i++) {
        g_assert_true(fake_lttng_was_called(calls[i]));
    }
    g_assert_false(fake_lttng_was_called("in_channel sched_switch channel0"));
    g_assert_nonnull(tracer->remark);
    g_assert_nonnull(strstr(tracer->remark, "rffffffffffffffff"));
    KIND->free(tracer);
    g_assert_cmpuint(fake.sessions->len, ==, 0);

    position->request.counters = "rffffffffffffffff";
    g_assert_null(KIND->set_up(&position->request, &error));
    g_assert_error(error, LULL_ERROR, LULL_ERROR_QUESTION);
    g_assert_cmpuint(fake.sessions->len, ==, 0);
}

/* One after the other, each call of the daemon fails. */
static void test_failures(struct position *position, gconstpointer unused)
{
    static const char *const functions[] = {
        "lttng_create_session_ext", "lttng_enable_channel",       "lttng_add_context",
        "lttng_enable_event",       "lttng_list_tracepoints",     "lttng_start_tracing",
        "lttng_list_sessions",      "lttng_stop_tracing_no_wait", "lttng_data_pending",
        "lttng_list_channels",      "lttng_destroy_session"};
    for (size_t i = 0; i < G_N_ELEMENTS(functions); i++) {
        g_autoptr(GError) error = NULL;
        struct lull_tracer_result result;
        fake.failing = functions[i];
        struct lull_tracer *tracer = KIND->set_up(&position->request, &error);
        const bool done = tracer && KIND->start(tracer, &error) && KIND->check(tracer, &error) &&
                          KIND->stop(tracer, &result, &error);
        g_assert_false(done);
        g_assert_error(error, LULL_ERROR, LULL_ERROR_IO);
        g_assert_true(g_str_has_suffix(error->message, lttng_strerror(-LTTNG_ERR_FATAL)));
        KIND->free(tracer);
        g_assert_cmpuint(fake.sessions->len, ==, 0);
    }
}

static void test_needed_events(struct position *position, gconstpointer unused)
{
    g_autoptr(GError) error = NULL;
    static const char *const few[] = {"sched_switch", "sched_waking", NULL};
    fake.known = few;
    g_autofree char *missing = KIND->missing(&position->request);
    g_assert_nonnull(strstr(missing, "sched_process_fork"));
    g_assert_null(KIND->set_up(&position->request, &error));
    g_assert_nonnull(strstr(error->message, "sched_process_fork"));
    g_assert_cmpuint(fake.sessions->len, ==, 0);
}

/* Sizes are powers of two, no part is below a page, and all parts hold what was asked for. */
static void test_buffers(struct position *position, gconstpointer unused)
{
    static const struct {
        uint64_t requested, parts, part;
    } cases[] = {
        {UINT64_C(64) << 20, 8, UINT64_C(8) << 20}, /* as asked */
        {UINT64_C(48) << 20, 8, UINT64_C(8) << 20}, /* 6 MiB are no power of two */
        {(UINT64_C(64) << 20) + 1, 8, UINT64_C(16) << 20}, {1, 2, 0}, /* a page */
        {UINT64_C(1) << 40, 8, UINT64_C(1) << 37},
    };
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        position->request.buffer_bytes = cases[i].requested;
        struct lull_tracer *tracer = KIND->set_up(&position->request, NULL);
        g_assert_cmpuint(fake.num_subbuf, ==, cases[i].parts);
        g_assert_cmpuint(fake.subbuf_size, ==, cases[i].part ? cases[i].part : page);
        KIND->free(tracer);
    }
}

static void test_ended_by_others(struct position *position, gconstpointer unused)
{
    g_autoptr(GError) error = NULL;
    struct lull_tracer *tracer = KIND->set_up(&position->request, NULL);
    g_assert_true(KIND->start(tracer, NULL));
    fake.is_stopped_by_others = true;
    g_assert_false(KIND->check(tracer, &error));
    g_assert_nonnull(strstr(error->message, KIND->name_of(tracer)));
    g_clear_error(&error);
    fake.is_stopped_by_others = false;
    g_assert_true(KIND->check(tracer, NULL));
    fake.is_alive = false;
    g_assert_false(KIND->check(tracer, &error));
    fake.is_alive = true;
    KIND->free(tracer);
}

/* These were called one after the other, whatever came between. */
static void check_order(const char *const *order, size_t n)
{
    size_t found = 0;
    for (guint i = 0; i < fake.calls->len && found < n; i++) {
        found += strcmp(fake.calls->pdata[i], order[found]) == 0;
    }
    g_assert_cmpuint(found, ==, n);
}

static void test_snapshot(struct position *position, gconstpointer unused)
{
    g_autoptr(GError) error = NULL;
    struct lull_tracer_result result;
    const char *dir = position->kept.keeper.path;
    g_autofree char *metadata = g_build_filename(dir, "kernel", "metadata", NULL);
    position->request.is_snapshot = true;
    struct lull_tracer *tracer = KIND->set_up(&position->request, &error);
    g_assert_true(fake_lttng_was_called("lttng_create_session_ext snapshot"));
    g_assert_cmpint(fake.overwrite, ==, 1);
    g_assert_true(KIND->start(tracer, &error));
    const char *const order[] = {"lttng_start_tracing", "lttng_stop_tracing_no_wait",
                                 "lttng_snapshot_record", "lttng_start_tracing"};
    g_assert_true(KIND->freeze(tracer, &error));
    g_assert_true(KIND->snapshot(tracer, &result, &error));
    check_order(order, G_N_ELEMENTS(order));
    kept_publish(&position->kept);
    g_assert_true(g_file_test(metadata, G_FILE_TEST_IS_REGULAR));
    g_assert_cmpuint(result.bytes, ==, FAKE_METADATA_BYTES + FAKE_STREAM_BYTES);
    g_autoptr(GDir) entries = g_dir_open(dir, 0, NULL);
    g_assert_cmpstr(g_dir_read_name(entries), ==, "kernel");
    g_assert_null(g_dir_read_name(entries));
    /* What cannot be written, as the directory is complete, does not stay frozen. */
    const char *const thawed[] = {"lttng_stop_tracing_no_wait", "lttng_start_tracing"};
    g_ptr_array_set_size(fake.calls, 0);
    g_assert_true(KIND->freeze(tracer, &error));
    g_assert_false(KIND->snapshot(tracer, &result, &error));
    check_order(thawed, G_N_ELEMENTS(thawed));
    g_clear_error(&error);
    g_assert_true(KIND->stop(tracer, &result, &error));
    g_assert_cmpuint(result.bytes, ==, 0);
    KIND->free(tracer);
    g_assert_cmpuint(fake.sessions->len, ==, 0);
}

/* The daemon makes files with the rights of a session's owner: that is who called sudo. */
static void test_owner(struct position *position, gconstpointer unused)
{
    const struct lull_invoker invoker = {.is_other = true, .uid = 65534, .gid = 65534};
    if (geteuid() != 0) {
        g_test_skip("only root can act as another user");
        return;
    }
    position->request.invoker = &invoker;
    struct lull_tracer *tracer = KIND->set_up(&position->request, NULL);
    g_assert_nonnull(tracer);
    g_assert_cmpuint(fake.owner, ==, 65534);
    g_assert_cmpuint(geteuid(), ==, 0);
    KIND->free(tracer);
}

static void test_clean_up(struct position *position, gconstpointer unused)
{
    g_autofree char *own = lull_lttng_session_name();
    g_auto(GStrv) parts = g_strsplit(own, "-", -1);
    g_autofree char *left = g_strdup_printf("lull-%s-1%s-%s", parts[1], parts[2], parts[3]);
    const char *const names[] = {"other", left, own, "lull-7"};
    for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
        g_ptr_array_add(fake.sessions, g_strdup(names[i]));
    }
    g_assert_cmpuint(KIND->clean_up(), ==, 1);
    g_assert_cmpuint(fake.sessions->len, ==, 3);
    g_assert_cmpuint(KIND->clean_up(), ==, 0);
    KIND->remove("other");
    g_assert_cmpuint(fake.sessions->len, ==, 3);
    KIND->remove(own);
    g_assert_cmpuint(fake.sessions->len, ==, 2);
    fake.is_alive = false;
    g_assert_cmpuint(KIND->clean_up(), ==, 0);
}

static void test_missing(struct position *position, gconstpointer unused)
{
    fake.failing = "lttng_list_tracepoints";
    g_autofree char *no_kernel = KIND->missing(&position->request);
    g_assert_nonnull(no_kernel);
    fake.failing = NULL;
    position->request.is_filtered = true;
    g_autofree char *filtered = KIND->missing(&position->request);
    g_assert_nonnull(strstr(filtered, "follow"));
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*test)(struct position *position, gconstpointer unused);
    } tests[] = {
        {"/record/lttng/records", test_records},
        {"/record/lttng/counters", test_counters},
        {"/record/lttng/failures", test_failures},
        {"/record/lttng/needed-events", test_needed_events},
        {"/record/lttng/buffers", test_buffers},
        {"/record/lttng/ended-by-others", test_ended_by_others},
        {"/record/lttng/snapshot", test_snapshot},
        {"/record/lttng/owner", test_owner},
        {"/record/lttng/clean-up", test_clean_up},
        {"/record/lttng/missing", test_missing},
    };
    g_test_init(&argc, &argv, NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(tests); i++) {
        g_test_add(tests[i].name, struct position, NULL, start, tests[i].test, end);
    }
    return g_test_run();
}
