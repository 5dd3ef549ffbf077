/* SPDX-License-Identifier: MIT */
/* Which records a recording of some tasks keeps: records made by hand, as linux/perf_event.h lays
 * them out. */
#include <glib.h>
#include <string.h>

#include "record/perf/perf.h"

enum { IRQ_ID = 7, OTHER_ID = 8 };

static struct perfrec_classes make_classes(void)
{
    static const char *const names[] = {"dummy", "irq:irq_handler_entry", "raw_syscalls:sys_enter"};
    struct perfrec_classes classes = {.all = g_new0(struct perfrec_class, 3), .n = 3};
    for (uint32_t i = 0; i < 3; i++) {
        uint64_t id = IRQ_ID - 1 + i;
        classes.all[i].name = g_strdup(names[i]);
        classes.all[i].attr.type = i ? PERF_TYPE_TRACEPOINT : PERF_TYPE_SOFTWARE;
        classes.all[i].ids = g_array_new(FALSE, FALSE, sizeof(uint64_t));
        g_array_append_val(classes.all[i].ids, id);
    }
    return classes;
}

static void put_fork(GByteArray *to, uint32_t parent, uint32_t child)
{
    struct {
        struct perf_event_header header;
        uint32_t pid, parent_pid, tid, parent_tid;
        uint64_t time;
    } record = {{PERF_RECORD_FORK, 0, sizeof record}, child, parent, child, parent, 0};
    g_byte_array_append(to, (const guint8 *)&record, sizeof record);
}

/* With raw data that begins as all tracepoints' does. */
static void put_sample(GByteArray *to, uint64_t id, int32_t tid, int32_t common_pid)
{
    struct {
        struct perf_event_header header;
        uint64_t id;
        int32_t pid, tid;
        uint64_t time;
        uint32_t cpu, reserved, size;
        uint16_t type;
        uint8_t flags, preempt_count;
        int32_t common_pid;
        uint32_t rest;
    } record = {.header = {PERF_RECORD_SAMPLE, 0, sizeof record},
                .id = id,
                .pid = tid,
                .tid = tid,
                .size = 12,
                .common_pid = common_pid};
    g_assert_cmpuint(sizeof record, ==, 56);
    g_byte_array_append(to, (const guint8 *)&record, sizeof record);
}

static struct perfrec_records records_of(const GByteArray *bytes)
{
    return (struct perfrec_records){bytes->data, UINT64_MAX, 0, bytes->len};
}

struct fixture {
    struct perfrec_classes classes;
    struct perfrec_filter *filter;
    GByteArray *cpus[2];
};

static void set_up(struct fixture *f, gconstpointer unused)
{
    f->classes = make_classes();
    f->filter = perfrec_filter_new(&f->classes, NULL);
    g_assert_nonnull(f->filter);
    f->cpus[0] = g_byte_array_new();
    f->cpus[1] = g_byte_array_new();
}

static void tear_down(struct fixture *f, gconstpointer unused)
{
    perfrec_filter_free(f->filter);
    perfrec_classes_clear(&f->classes);
    g_byte_array_free(f->cpus[0], TRUE);
    g_byte_array_free(f->cpus[1], TRUE);
}

static void learn(struct fixture *f)
{
    struct perfrec_records parts[] = {records_of(f->cpus[0]), records_of(f->cpus[1])};
    perfrec_filter_learn(f->filter, parts, 2);
    g_byte_array_set_size(f->cpus[0], 0);
    g_byte_array_set_size(f->cpus[1], 0);
}

/* How many bytes of the first CPU's records pass. */
static guint passed(struct fixture *f)
{
    GByteArray *to = g_byte_array_new();
    struct perfrec_records records = records_of(f->cpus[0]);
    perfrec_filter_pass(f->filter, &records, to);
    guint n = to->len;
    g_byte_array_free(to, TRUE);
    g_byte_array_set_size(f->cpus[0], 0);
    return n;
}

/* 10 starts 11 on the second CPU, 11 starts 12 on the first: the records of 12's birth are read
 * first. */
static void test_family(struct fixture *f, gconstpointer unused)
{
    perfrec_filter_follow(f->filter, 10);
    put_fork(f->cpus[0], 11, 12);
    put_fork(f->cpus[0], 20, 21);
    put_fork(f->cpus[1], 10, 11);
    learn(f);
    g_assert_true(perfrec_filter_follows(f->filter, 11));
    g_assert_true(perfrec_filter_follows(f->filter, 12));
    g_assert_false(perfrec_filter_follows(f->filter, 20));
    g_assert_false(perfrec_filter_follows(f->filter, 21));
}

static void test_number_again(struct fixture *f, gconstpointer unused)
{
    perfrec_filter_follow(f->filter, 10);
    put_fork(f->cpus[0], 10, 11);
    learn(f);
    put_fork(f->cpus[0], 20, 11);
    learn(f);
    g_assert_false(perfrec_filter_follows(f->filter, 11));
    put_fork(f->cpus[0], 20, 11);
    put_fork(f->cpus[1], 10, 11);
    learn(f);
    g_assert_true(perfrec_filter_follows(f->filter, 11));
}

static void test_samples(struct fixture *f, gconstpointer unused)
{
    perfrec_filter_follow(f->filter, 10);
    put_sample(f->cpus[0], OTHER_ID, 10, 10);
    g_assert_cmpuint(passed(f), ==, 56);
    put_sample(f->cpus[0], OTHER_ID, 20, 20);
    g_assert_cmpuint(passed(f), ==, 0);
    put_sample(f->cpus[0], IRQ_ID, 20, 20);
    g_assert_cmpuint(passed(f), ==, 56);
    put_sample(f->cpus[0], OTHER_ID, 0, 0); /* an idle CPU */
    g_assert_cmpuint(passed(f), ==, 56);
    put_sample(f->cpus[0], OTHER_ID, -1,
               10); /* reaped: the kernel does not tell which, the event does */
    put_sample(f->cpus[0], OTHER_ID, -1, 20);
    g_assert_cmpuint(passed(f), ==, 56);
}

/* What is cut ends the walk, and nothing of it passes. */
static void test_cut(struct fixture *f, gconstpointer unused)
{
    perfrec_filter_follow(f->filter, 10);
    put_sample(f->cpus[0], OTHER_ID, 10, 10);
    put_sample(f->cpus[0], OTHER_ID, 10, 10);
    g_byte_array_set_size(f->cpus[0], 2 * 56 - 8);
    g_assert_cmpuint(passed(f), ==, 56);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
#define ADD(name)                                                                                  \
    g_test_add("/record/perf_filter/" #name, struct fixture, NULL, set_up, test_##name, tear_down)
    ADD(family);
    ADD(number_again);
    ADD(samples);
    ADD(cut);
    return g_test_run();
}
