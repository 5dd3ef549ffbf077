/* SPDX-License-Identifier: MIT */
/* System calls from begin to end: whose they are, which begin an end belongs to, and the names that
 * tracers give them. Names of events are LTTng's (lttng-modules before and since 2.6) and ftrace's;
 * what must come out is said in facts.h and follows from the events' order. */
#include "kernel/feed_calls.h"
#include "lib/ctf_writer.h"
#include "kernel/calls.h"
#include "lib/scratch.h"

struct fixture {
    struct lull_model *model;
    GString *seen;
};

static void note(void *user, const struct lull_syscall_fact *fact)
{
    struct fixture *f = user;
    append_call(f->seen, f->model, fact);
}

#define GROUPS                                                                                     \
    (LULL_GROUP_SCHED | LULL_GROUP_STATE | LULL_GROUP_SYSCALL | LULL_GROUP_IO | LULL_GROUP_FUTEX)

static void start(struct fixture *f, struct lull_session *session, unsigned groups)
{
    const struct lull_facts facts = {.syscall = note};
    f->model = lull_model_new(session, groups);
    f->seen = g_string_new(NULL);
    lull_model_subscribe(f->model, &facts, f);
}

static void set_up(struct fixture *f, gconstpointer data)
{
    start(f, NULL, GROUPS);
}

static void tear_down(struct fixture *f, gconstpointer data)
{
    lull_model_free(f->model);
    g_string_free(f->seen, TRUE);
}

static void expect(struct fixture *f, const char *lines)
{
    g_assert_cmpstr(f->seen->str, ==, lines);
    g_string_truncate(f->seen, 0);
}

/* A call belongs to its task: it lasts while others run, and ends on another CPU. */
static void test_across_switches(struct fixture *f, gconstpointer data)
{
    struct lull_model *model = f->model;
    feed_switch(model, 0, 0, 100, 0, 10, 0);
    FEED_ENTER(model, 0, 110, read, ARG(fd), .fd = 3);
    feed_switch(model, 0, 0, 120, 10, 11, 1);
    FEED_ENTER(model, 0, 130, getpid, 0);
    feed_leave(model, 0, 140, NR_getpid, 11);
    feed_switch(model, 0, 1, 150, 0, 10, 0);
    feed_leave(model, 1, 160, NR_read, 5);
    expect(f, "11: getpid 130..140 = 11\n"
              "10: read 110..160 = 5 read fd 3=unknown,?,before moved 5\n");
}

/* Where a signal handler returns from, as ftrace and perf record it: number -1, and what was in the
 * register of results. */
static void test_returning(struct fixture *f, gconstpointer data)
{
    struct lull_model *model = f->model;
    feed_switch(model, 0, 0, 100, 0, 10, 0);
    FEED_ENTER(model, 0, 110, rt_sigreturn, 0);
    feed_leave(model, 0, 113, -1, 7);
    FEED_ENTER(model, 0, 120, getpid, 0);
    feed_leave(model, 0, 130, NR_getpid, 10);
    feed_leave(model, 0, 140, -1, 7); /* its start was lost */
    FEED_ENTER(model, 0, 150, rt_sigreturn, 0);
    lull_model_finish(model);
    expect(f, "10: rt_sigreturn 110..113\n"
              "10: getpid 120..130 = 10\n"
              "10: rt_sigreturn 150..150 open\n");
}

static void test_ends(struct fixture *f, gconstpointer data)
{
    struct lull_model *model = f->model;
    feed_switch(model, 0, 0, 100, 0, 10, 0);
    feed_leave(model, 0, 110, NR_read, 5); /* began before the trace */
    FEED_ENTER(model, 0, 120, read, ARG(fd), .fd = 3);
    feed_leave(model, 0, 130, NR_write, 5); /* read's end and write's begin were lost */
    FEED_ENTER(model, 0, 140, getpid, 0);
    FEED_ENTER(model, 0, 150, getpid, 0); /* an end was lost */
    feed_leave(model, 0, 160, NR_getpid, 10);
    feed_leave(model, 0, 170, NR_clone, 0); /* the child's side of a fork before the trace */
    FEED_ENTER(model, 0, 180, rt_sigreturn, 0);
    FEED_ENTER(model, 0, 190, getpid, 0);
    feed_leave(model, 0, 200, NR_getpid, 10);
    feed_leave(model, 0, 210, 1000, -38);
    FEED_ENTER(model, 0, 220, exit_group, 0);
    feed_switch(model, 0, 0, 230, 10, 11, 32); /* dead */
    FEED_ENTER(model, 0, 240, read, ARG(fd), .fd = 3);
    feed_switch(model, 0, 0, 300, 11, 0, 1);
    expect(f, "10: read ..110 = 5 read moved 5\n"
              "10: read 120..120 open read fd 3\n"
              "10: write ..130 = 5 write moved 5\n"
              "10: getpid 140..140 open\n"
              "10: getpid 150..160 = 10\n"
              "10: rt_sigreturn 180..180 open\n"
              "10: getpid 190..200 = 10\n"
              "10: syscall 1000 ..210 = -38\n"
              "10: exit_group 220..230 open\n");
    lull_model_finish(model);
    expect(f, "11: read 240..300 open read fd 3\n");
}

/* A context tells whose call it is while no switch has. */
static void test_first_task(struct fixture *f, gconstpointer data)
{
    struct lull_model *model = f->model;
    const uint64_t have = ARG(number) | ARG(context_tid);
    FEED(io_entry, 0, 0, 100, .have = have, .number = NR_getpid, .context_tid = 10);
    FEED_ENTER(model, 1, 105, getpid, 0); /* whose, nobody knows */
    feed_switch(model, 0, 0, 110, 10, 0, 1);
    feed_switch(model, 0, 1, 120, 0, 10, 0);
    feed_leave(model, 1, 130, NR_getpid, 10);
    expect(f, "10: getpid 100..130 = 10\n");
}

static void leave_and_return(struct lull_model *model, int64_t t, const char *comm)
{
    FEED(sched_switch, 0, 0, t,
         .have = WITHOUT(sched_switch, context_pid) & WITHOUT(sched_switch, prev_prio) &
                 WITHOUT(sched_switch, next_prio),
         .prev_tid = 10, .next_tid = 0, .prev_state = 1, .prev_comm = feed_text(comm),
         .next_comm = feed_text("swapper/0"));
    FEED(sched_switch, 0, 0, t + 1,
         .have = WITHOUT(sched_switch, context_pid) & WITHOUT(sched_switch, prev_prio) &
                 WITHOUT(sched_switch, next_prio),
         .prev_tid = 0, .next_tid = 10, .prev_comm = feed_text("swapper/0"),
         .next_comm = feed_text(comm));
}

/* Without sched_process_exec a program has its new name from the end of execve(): by the path, or
 * by what is reported of it later. A call that fails changes nothing. */
static void test_exec(struct fixture *f, gconstpointer data)
{
    struct lull_model *model = f->model;
    feed_switch(model, 0, 0, 100, 0, 10, 0);
    FEED_CALL(model, 0, 110, execve, -2, ARG(path), .path = "/usr/local/bin/first");
    FEED_CALL(model, 0, 130, execve, 0, ARG(path), .path = "/bin/a-name-of-more-than-15-bytes");
    FEED_CALL(model, 0, 150, execve, 0, 0);
    leave_and_return(model, 180, "last");
    const uint32_t task = lull_model_find_tid(model, 0, 10);
    g_assert_cmpstr(lull_model_comm(model, task, 139), ==, "t10");
    g_assert_cmpstr(lull_model_comm(model, task, 140), ==, "a-name-of-more-");
    g_assert_cmpstr(lull_model_comm(model, task, 159), ==, "a-name-of-more-");
    g_assert_cmpstr(lull_model_comm(model, task, 160), ==, "last");
    g_assert_cmpint(lull_model_task(model, task)->exec_ns, ==, 140);
    leave_and_return(model, 190, "other"); /* renamed by itself */
    g_assert_cmpstr(lull_model_comm(model, task, 189), ==, "last");
}

/* sched_process_exec has said it all before the call returns. */
static void test_exec_seen(struct fixture *f, gconstpointer data)
{
    struct lull_model *model = f->model;
    feed_switch(model, 0, 0, 100, 0, 10, 0);
    FEED_ENTER(model, 0, 110, execve, ARG(path), .path = "/proc/self/exe");
    feed_exec(model, 0, 115, 10);
    feed_leave(model, 0, 120, NR_execve, 0);
    leave_and_return(model, 180, "other");
    const uint32_t task = lull_model_find_tid(model, 0, 10);
    g_assert_cmpstr(lull_model_comm(model, task, 179), ==, "x");
    g_assert_cmpstr(lull_model_comm(model, task, 180), ==, "other");
    g_assert_cmpint(lull_model_task(model, task)->exec_ns, ==, 115);
}

/* The kernel's number in a context is believed over a switch that was not seen, as are the name and
 * the process; that of a namespace only while nothing is known. */
static void test_contexts(struct fixture *f, gconstpointer data)
{
    struct lull_model *model = f->model;
    const uint64_t have = ARG(number) | ARG(context_tid) | ARG(context_pid) | ARG(context_comm);
    feed_switch(model, 0, 0, 100, 0, 10, 0);
    FEED(io_entry, 0, 0, 110, .have = have, .number = NR_getpid, .context_tid = 20,
         .context_pid = 7, .context_comm = feed_text("other"));
    feed_leave(model, 0, 120, NR_getpid, 7);
    FEED(io_entry, 0, 0, 130, .have = ARG(number) | ARG(context_vtid) | ARG(context_comm),
         .number = NR_getpid, .context_vtid = 3, .context_comm = feed_text("in a box"));
    feed_leave(model, 0, 140, NR_getpid, 7);
    expect(f, "20: getpid 110..120 = 7\n"
              "20: getpid 130..140 = 7\n");
    const uint32_t task = lull_model_find_tid(model, 0, 20);
    g_assert_cmpstr(lull_model_comm(model, task, 110), ==, "other");
    g_assert_cmpstr(lull_model_comm(model, task, 140), ==, "other");
    g_assert_cmpint(lull_model_task(model, task)->pid, ==, 7);
}

static void test_futex(struct fixture *f, gconstpointer data)
{
    struct lull_model *model = f->model;
    feed_switch(model, 0, 0, 100, 0, 10, 0);
    const uint64_t have = UINT64_C(1) << LULL_FIELD_futex_entry_number |
                          UINT64_C(1) << LULL_FIELD_futex_entry_address |
                          UINT64_C(1) << LULL_FIELD_futex_entry_operation |
                          UINT64_C(1) << LULL_FIELD_futex_entry_value;
    /* FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG | FUTEX_CLOCK_REALTIME */
    FEED(futex_entry, 0, 0, 110, .have = have, .number = NR_futex, .address = 0x1000,
         .operation = 9 | 128 | 256, .value = 2);
    feed_leave(model, 0, 120, NR_futex, -110);
    FEED(futex_entry, 0, 0, 130, .have = have, .number = NR_futex, .address = 0x1000,
         .operation = 1, .value = 2147483647);
    feed_leave(model, 0, 140, NR_futex, 1);
    expect(f, "10: futex 110..120 = -110 futex 1000 op 9 private val 2\n"
              "10: futex 130..140 = 1 futex 1000 op 1 val 2147483647\n");
}

static void test_each(struct fixture *f, gconstpointer data)
{
    struct lull_model *model = f->model;
    feed_switch(model, 0, 0, 100, 0, 10, 0);
    FEED_CALL(model, 0, 110, openat, 3, ARG(path), .path = "/a");
    g_string_truncate(f->seen, 0);
    FEED_ENTER(model, 0, 130, read, ARG(fd), .fd = 3);
    feed_switch(model, 0, 0, 140, 10, 11, 1);
    FEED_ENTER(model, 0, 150, getpid, 0);
    lull_model_each_syscall(model, 170, note, f);
    expect(f, "10: read 130..170 open read fd 3=disk,/a,120\n"
              "11: getpid 150..170 open\n");
    feed_leave(model, 0, 180, NR_getpid, 11);
    g_string_truncate(f->seen, 0);
    lull_model_each_syscall(model, 190, note, f);
    expect(f, "10: read 130..190 open read fd 3=disk,/a,120\n");
}

/* ---- names ---- */

#define FIELDS(...) ((const struct ctf_field[]){__VA_ARGS__, CTF_DONE})
#define RETURN FIELDS(CTF_I(64, "ret"))
#define OPEN FIELDS(CTF_STR("filename"), CTF_I(32, "flags"))
#define SIX(bits)                                                                                  \
    {                                                                                              \
        .kind = CTF_ARRAY,                                                                         \
        .name = "args",                                                                            \
        .length = 6,                                                                               \
        .members = FIELDS(CTF_U(bits, "")),                                                        \
    }

static const struct ctf_class classes[] = {
    {"compat_syscall_entry_open", OPEN, NULL},
    {"compat_syscall_exit_open", RETURN, NULL},
    {"syscall_entry_unknown", FIELDS(CTF_I(32, "id"), SIX(64)), NULL},
    {"syscall_exit_unknown", FIELDS(CTF_I(32, "id"), CTF_I(64, "ret"), SIX(64)), NULL},
    {"compat_syscall_entry_unknown", FIELDS(CTF_I(32, "id"), SIX(64)), NULL},
    {"compat_syscall_exit_unknown", FIELDS(CTF_I(32, "id"), CTF_I(64, "ret"), SIX(64)), NULL},
    {"syscall_entry_pipe2", FIELDS(CTF_I(32, "flags")), NULL},
    {"syscall_exit_pipe2",
     FIELDS(CTF_I(64, "ret"),
            {.kind = CTF_ARRAY, .name = "fildes", .length = 2, .members = FIELDS(CTF_I(32, ""))}),
     NULL},
    {"lttng_statedump_file_descriptor",
     FIELDS(CTF_X(64, "file_table_address"), CTF_I(32, "fd"), CTF_U(32, "flags"),
            CTF_U(32, "fmode"), CTF_STR("filename")),
     NULL},
    {NULL, NULL, NULL},
};

static const struct ctf_class old_classes[] = {
    {"sys_open", OPEN, NULL},
    {"sys_getpid", FIELDS(CTF_I(32, "dummy")), NULL},
    {"compat_sys_getpid", FIELDS(CTF_I(32, "dummy")), NULL},
    {"sys_exit", FIELDS(CTF_I(32, "error_code")), NULL},
    {"sys_exit_group", FIELDS(CTF_I(32, "error_code")), NULL},
    {"sys_unknown", FIELDS(CTF_I(32, "id"), SIX(64)), NULL},
    {"exit_syscall", RETURN, NULL},
    {NULL, NULL, NULL},
};

static const struct ctf_class ftrace_classes[] = {
    {"sys_enter_openat", FIELDS(CTF_I(32, "__syscall_nr"), CTF_U(64, "filename")), NULL},
    {"sys_exit_openat", FIELDS(CTF_I(32, "__syscall_nr"), CTF_I(64, "ret")), NULL},
    {"sys_enter", FIELDS(CTF_I(64, "id"), SIX(64)), NULL},
    {"sys_exit", FIELDS(CTF_I(64, "id"), CTF_I(64, "ret")), NULL},
    {NULL, NULL, NULL},
};

struct recording {
    const struct ctf_class *classes;
    bool big_endian;
    unsigned groups; /* 0: GROUPS */
    const char *const (*events)[2];
    const char *expected;
};

/* Records a task, 10, on CPU 0 that does the events, one each 10 ns from 110 on. */
static void test_recording(gconstpointer data)
{
    const struct recording *recording = data;
    g_autofree char *dir = scratch_dir();
    const struct ctf_options options = {.big_endian = recording->big_endian};
    struct ctf_writer *writer = ctf_writer_new(dir, &options);
    for (const struct ctf_class *c = recording->classes; c->name; c++) {
        ctf_writer_class(writer, c);
    }
    ctf_event(writer, 0, 100, "sched_switch", "prev_tid=0 next_tid=10 next_comm=\"a\"");
    for (int i = 0; recording->events[i][0]; i++) {
        ctf_event(writer, 0, 110 + i * 10, recording->events[i][0], "%s", recording->events[i][1]);
    }
    ctf_writer_close(writer);

    GError *error = NULL;
    struct lull_session *session = lull_session_new();
    lull_session_add(session, dir, &error);
    g_assert_no_error(error);
    struct fixture f;
    start(&f, session, recording->groups ? recording->groups : GROUPS);
    lull_model_run(f.model, NULL, NULL);
    expect(&f, recording->expected);
    tear_down(&f, NULL);
    lull_session_free(session);
    scratch_remove(dir);
}

static const char *const lttng_events[][2] = {
    {"syscall_entry_openat", "dfd=-100 filename=\"/a\" flags=524288"},
    {"syscall_exit_openat", "ret=3"},
    {"compat_syscall_entry_open", "filename=\"/b\""},
    {"compat_syscall_exit_open", "ret=4"},
    {"syscall_entry_unknown", "id=436 args=[3 3 0 0 0 0]"}, /* close_range(3, 3, 0) */
    {"syscall_exit_unknown", "id=436 ret=0 args=[3 3 0 0 0 0]"},
    {"syscall_entry_read", "fd=3 count=10"},
    {"syscall_exit_read", "ret=-9"},
    {"compat_syscall_entry_unknown", "id=20 args=[0 0 0 0 0 0]"}, /* getpid on i386 */
    {"compat_syscall_exit_unknown", "id=20 ret=10 args=[0 0 0 0 0 0]"},
    {"syscall_entry_unknown", "id=999 args=[0 0 0 0 0 0]"},
    {"syscall_exit_unknown", "id=999 ret=-38 args=[0 0 0 0 0 0]"},
    {"syscall_entry_pipe2", "flags=0"},
    {"syscall_exit_pipe2", "ret=0 fildes=[3 70000]"},
    {"syscall_entry_futex", "uaddr=4096 op=128 val=1"},
    {"syscall_exit_futex", "ret=0"},
    {NULL, NULL},
};

#define LTTNG_EXPECTED                                                                             \
    "10: openat 110..120 = 3 open fd 3=disk,/a,cloexec,120\n"                                      \
    "10: open 130..140 = 4 open fd 4=disk,/b,140\n"                                                \
    "10: close_range 150..160 = 0 close\n"                                                         \
    "10: read 170..180 = -9 read fd 3 wants 10 moved 0\n"                                          \
    "10: getpid 190..200 = 10\n"                                                                   \
    "10: syscall 999 210..220 = -38\n"                                                             \
    "10: pipe2 230..240 = 0 open fd 3=pipe,pipe,240 to 70000=pipe,pipe,240\n"                      \
    "10: futex 250..260 = 0 futex 1000 op 0 private val 1\n"

static const struct recording lttng = {classes, false, 0, lttng_events, LTTNG_EXPECTED};
static const struct recording big_endian = {classes, true, 0, lttng_events, LTTNG_EXPECTED};

/* Only begin, end and result were asked for. */
static const struct recording times = {classes, false, LULL_GROUP_SCHED | LULL_GROUP_SYSCALL,
                                       lttng_events,
                                       "10: openat 110..120 = 3\n"
                                       "10: open 130..140 = 4\n"
                                       "10: close_range 150..160 = 0\n"
                                       "10: read 170..180 = -9\n"
                                       "10: getpid 190..200 = 10\n"
                                       "10: syscall 999 210..220 = -38\n"
                                       "10: pipe2 230..240 = 0\n"
                                       "10: futex 250..260 = 0\n"};

/* All ends have one name: they belong to whatever the task is in. */
static const char *const old_events[][2] = {
    {"exit_syscall", "ret=5"}, /* of a call that nothing names */
    {"sys_open", "filename=\"/a\" flags=0"},
    {"exit_syscall", "ret=3"},
    {"sys_getpid", ""},
    {"exit_syscall", "ret=10"},
    {"compat_sys_getpid", ""},
    {"exit_syscall", "ret=10"},
    {"sys_unknown", "id=3 args=[3 0 0 0 0 0]"}, /* close(3) */
    {"exit_syscall", "ret=0"},
    {"sys_exit_group", "error_code=0"},
    {"sys_exit", "error_code=0"},
    {NULL, NULL},
};
static const struct recording old = {old_classes, false, 0, old_events,
                                     "10: open 120..130 = 3 open fd 3=disk,/a,130\n"
                                     "10: getpid 140..150 = 10\n"
                                     "10: getpid 160..170 = 10\n"
                                     "10: close 180..190 = 0 close fd 3=disk,/a,130\n"
                                     "10: exit_group 200..200 open\n"
                                     "10: exit 210..210 open\n"};

static const char *const ftrace_events[][2] = {
    {"sys_enter_openat", "filename=140000000"},
    {"sys_exit_openat", "ret=3"},
    {"sys_enter", "id=17 args=[3 0 64 0 0 0]"}, /* pread64(3, buffer, 64, 0) */
    {"sys_exit", "id=17 ret=64"},
    {"sys_enter", "id=202 args=[4096 129 1 0 0 0]"}, /* futex(0x1000, WAKE | PRIVATE, 1) */
    {"sys_exit", "id=202 ret=1"},
    {"sys_enter", "id=40 args=[4 3 0 100 0 0]"}, /* sendfile(out 4, in 3, NULL, 100) */
    {"sys_exit", "id=40 ret=100"},
    {NULL, NULL},
};
static const struct recording ftrace = {
    ftrace_classes, false, 0, ftrace_events,
    "10: openat 110..120 = 3 open fd 3=disk,?,120\n" /* a pointer is no path */
    "10: pread64 130..140 = 64 read fd 3=disk,?,120 wants 64 moved 64\n"
    "10: futex 150..160 = 1 futex 1000 op 1 private val 1\n"
    "10: sendfile 170..180 = 100 copy fd 3=disk,?,120 to 4=unknown,?,before wants 100 moved 100\n"};

/* LTTng on i386: longs of 32 bits, which mmap2 returns unsigned; calls whose times have 32 or 64. */
static const struct ctf_class narrow_classes[] = {
    {"syscall_entry_mmap2", FIELDS(CTF_U(32, "addr"), CTF_I(32, "fd")), NULL},
    {"syscall_exit_mmap2", FIELDS(CTF_U(32, "ret")), NULL},

    {"syscall_entry_futex_time32", FIELDS(CTF_U(32, "uaddr"), CTF_I(32, "op"), CTF_U(32, "val")),
     NULL},
    {"syscall_exit_futex_time32", FIELDS(CTF_I(32, "ret")), NULL},
    {"syscall_entry_recvmmsg_time64", FIELDS(CTF_I(32, "fd")), NULL},
    {"syscall_exit_recvmmsg_time64", FIELDS(CTF_I(32, "ret")), NULL},
    {"syscall_entry_timerfd_settime32", FIELDS(CTF_I(32, "ufd")), NULL},
    {"syscall_exit_timerfd_settime32", FIELDS(CTF_I(32, "ret")), NULL},
    {NULL, NULL, NULL},
};
static const char *const narrow_events[][2] = {
    {"syscall_entry_mmap2", "addr=0 fd=-1"},
    {"syscall_exit_mmap2", "ret=3077570560"},
    {"syscall_entry_mmap2", "addr=0 fd=-1"},
    {"syscall_exit_mmap2", "ret=4294967284"}, /* ENOMEM */
    {"syscall_entry_futex_time32", "uaddr=3221225472 op=128 val=1"},
    {"syscall_exit_futex_time32", "ret=-110"},
    {"syscall_entry_recvmmsg_time64", "fd=7"},
    {"syscall_exit_recvmmsg_time64", "ret=2"},
    {"syscall_entry_timerfd_settime32", "ufd=5"},
    {"syscall_exit_timerfd_settime32", "ret=0"},
    {NULL, NULL},
};
static const struct recording narrow = {
    narrow_classes, false, 0, narrow_events,
    "10: mmap2 110..120 = 3077570560\n"
    "10: mmap2 130..140 = -12\n"
    "10: futex_time32 150..160 = -110 futex c0000000 op 0 private val 1\n"
    "10: recvmmsg_time64 170..180 = 2 read fd 7=socket,?,before\n"
    "10: timerfd_settime32 190..200 = 0 other fd 5=other,?,before\n"};

/* Reported by number and by name: one call, with the arguments of the name, which has a text where
 * the number had a pointer. */
static const char *const twice_events[][2] = {
    {"sys_enter", "id=257 args=[-100 140000000 0 0 0 0]"},
    {"syscall_entry_openat", "dfd=-100 filename=\"/a\" flags=524288"},
    {"sys_exit", "id=257 ret=3"},
    {"syscall_exit_openat", "ret=3"},
    {"sys_enter", "id=0 args=[3 140000000 64 0 0 0]"},
    {"sys_exit", "id=0 ret=64"},
    {NULL, NULL},
};
static const struct recording twice = {ftrace_classes, false, 0, twice_events,
                                       "10: openat 110..130 = 3 open fd 3=disk,/a,cloexec,130\n"
                                       "10: read 150..160 = 64 read fd 3=disk,/a,cloexec,130 "
                                       "wants 64 moved 64\n"};

/* Behind a loss, an end of the same name need not be of the same call. */
static void test_loss(void)
{
    g_autofree char *dir = scratch_dir();
    const struct ctf_options options = {.contexts = CTF_TID};
    struct ctf_writer *writer = ctf_writer_new(dir, &options);
    ctf_writer_current(writer, 0, 10, 10, "a");
    ctf_event(writer, 0, 100, "syscall_entry_read", "fd=3");
    ctf_event(writer, 0, 110, "syscall_exit_read", "ret=1");
    ctf_event(writer, 0, 120, "syscall_entry_read", "fd=3");
    ctf_event(writer, 0, 130, "sched_waking", "tid=11");
    ctf_writer_end_packet(writer, 0);
    ctf_writer_lose(writer, 0, 0, 1);
    ctf_event(writer, 0, 200, "syscall_exit_read", "ret=2");
    ctf_writer_close(writer);

    GError *error = NULL;
    struct lull_session *session = lull_session_new();
    lull_session_add(session, dir, &error);
    g_assert_no_error(error);
    struct fixture f;
    start(&f, session, LULL_GROUP_SCHED | LULL_GROUP_SYSCALL);
    lull_model_run(f.model, NULL, NULL);
    expect(&f, "10: read 100..110 = 1\n"
               "10: read 120..130 open\n"
               "10: read ..200 = 2\n");
    tear_down(&f, NULL);
    lull_session_free(session);
    scratch_remove(dir);
}

/* Numbers mean other calls on another architecture, by the release of its kernel. */
static void test_numbers(void)
{
    g_assert_cmpstr(call_name_of_number(CALL_NUMBERS_X86_64, 0), ==, "read");
    g_assert_cmpstr(call_name_of_number(CALL_NUMBERS_I386, 3), ==, "read");
    g_assert_cmpstr(call_name_of_number(CALL_NUMBERS_GENERIC, 63), ==, "read");
    g_assert_cmpstr(call_name_of_number(CALL_NUMBERS_GENERIC, 56), ==, "openat");
    /* Those of ARM: asm/unistd-eabi.h and asm/unistd.h. */
    g_assert_cmpstr(call_name_of_number(CALL_NUMBERS_ARM, 3), ==, "read");
    g_assert_cmpstr(call_name_of_number(CALL_NUMBERS_ARM, 322), ==, "openat");
    g_assert_cmpstr(call_name_of_number(CALL_NUMBERS_ARM, 119), ==, "sigreturn");
    g_assert_cmpstr(call_name_of_number(CALL_NUMBERS_ARM, 407), ==, "clock_nanosleep_time64");
    g_assert_cmpstr(call_name_of_number(CALL_NUMBERS_ARM, 0xf0005), ==, "set_tls");
    g_assert_null(call_name_of_number(CALL_NUMBERS_ARM, 447)); /* memfd_secret */
    g_assert_null(call_name_of_number(CALL_NUMBERS_ARM, 0xf0000));
    g_assert_null(call_name_of_number(CALL_NUMBERS_ARM, 0xf0007));
    g_assert_null(call_name_of_number(CALL_NUMBERS_X86_64, 0xf0005));
    g_assert_cmpint(call_numbers_of(call_arch_find("armv7l", ""), true), ==, CALL_NUMBERS_ARM);
    g_assert_cmpint(call_numbers_of(call_arch_find("aarch64", ""), true), ==, CALL_NUMBERS);
    g_assert_cmpint(call_arch_find("aarch64", "")->compat, ==, CALL_NUMBERS_ARM);
    /* All architectures number new calls alike since Linux 5.1. */
    for (int numbers = 0; numbers < CALL_NUMBERS; numbers++) {
        g_assert_cmpstr(call_name_of_number(numbers, 470), ==, "listns");
        g_assert_cmpstr(call_name_of_number(numbers, 471), ==, "rseq_slice_yield");
        g_assert_null(call_name_of_number(numbers, 472));
    }
    g_assert_null(call_name_of_number(CALL_NUMBERS_X86_64, -1));
    g_assert_null(call_name_of_number(CALL_NUMBERS, 0));
    g_assert_cmpint(call_arch_find("", "6.1.0-50-amd64")->numbers, ==, CALL_NUMBERS_X86_64);
    g_assert_cmpint(call_arch_find("", "6.1.0-50-arm64")->numbers, ==, CALL_NUMBERS_GENERIC);
    g_assert_cmpint(call_arch_find("", "6.1.0-50-686-pae")->numbers, ==, CALL_NUMBERS_I386);
    g_assert_cmpint(call_arch_find("", "")->numbers, ==, CALL_NUMBERS_X86_64);
    /* What the machine says counts more than what its kernel is called. */
    g_assert_cmpint(call_arch_find("riscv64", "6.18.0-fc")->numbers, ==, CALL_NUMBERS_GENERIC);
    g_assert_cmpint(call_arch_find("aarch64", "6.6.8")->numbers, ==, CALL_NUMBERS_GENERIC);
    g_assert_cmpint(call_arch_find("x86_64", "6.6.8-arm64-like")->numbers, ==, CALL_NUMBERS_X86_64);
    g_assert_cmpint(call_arch_find("sh4", "6.6.8")->numbers, ==, CALL_NUMBERS);
    g_assert_cmpint(call_arch_find("", "6.1.0-sparc64-smp")->o_cloexec, ==, 0x400000);
    /* uapi/asm/fcntl.h and errno.h of each; where there is none, of asm-generic. */
    static const struct {
        const char *machine;
        uint32_t o_cloexec;
        int32_t einprogress;
    } archs[] = {
        {"x86_64", 02000000, 115},     {"i386", 02000000, 115},    {"i686", 02000000, 115},
        {"i586", 02000000, 115},       {"arm64", 02000000, 115},   {"aarch64", 02000000, 115},
        {"armv7l", 02000000, 115},     {"ppc64le", 02000000, 115}, {"powerpc64le", 02000000, 115},
        {"s390x", 02000000, 115},      {"riscv64", 02000000, 115}, {"loongarch64", 02000000, 115},
        {"loong64", 02000000, 115},    {"sh4", 02000000, 115},     {"mips64", 02000000, 150},
        {"loongson-3", 02000000, 150}, {"octeon", 02000000, 150},  {"alpha", 010000000, 36},
        {"parisc64", 010000000, 245},  {"sparc64", 0x400000, 36}};
    for (size_t i = 0; i < G_N_ELEMENTS(archs); i++) {
        g_assert_cmpuint(call_arch_find(archs[i].machine, "")->o_cloexec, ==, archs[i].o_cloexec);
        g_assert_cmpint(call_arch_find(archs[i].machine, "")->einprogress, ==,
                        archs[i].einprogress);
    }
}

/* Names that asm/unistd_32.h and the functions of its table have. */
static void test_name_lengths(void)
{
    static const char *const names[][2] = {
        {"futex_time32", "futex"},
        {"clock_nanosleep_time64", "clock_nanosleep"},
        {"timerfd_settime32", "timerfd_settime"},
        {"clock_gettime64", "clock_gettime"},
        {"time32", "time"},
        {"futex", "futex"},
        {"fcntl64", "fcntl64"},
        {"", ""},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
        g_assert_cmpuint(call_name_length(names[i][0]), ==, strlen(names[i][1]));
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
#define TEST(name, function)                                                                       \
    g_test_add("/kernel/calls/" name, struct fixture, NULL, set_up, function, tear_down)
    TEST("across-switches", test_across_switches);
    TEST("ends", test_ends);
    TEST("returning", test_returning);
    TEST("first-task", test_first_task);
    TEST("exec", test_exec);
    TEST("exec-seen", test_exec_seen);
    TEST("contexts", test_contexts);
    TEST("futex", test_futex);
    TEST("each", test_each);
    g_test_add_data_func("/kernel/calls/lttng", &lttng, test_recording);
    g_test_add_data_func("/kernel/calls/big-endian", &big_endian, test_recording);
    g_test_add_data_func("/kernel/calls/times", &times, test_recording);
    g_test_add_data_func("/kernel/calls/old", &old, test_recording);
    g_test_add_data_func("/kernel/calls/ftrace", &ftrace, test_recording);
    g_test_add_data_func("/kernel/calls/twice", &twice, test_recording);
    g_test_add_data_func("/kernel/calls/narrow", &narrow, test_recording);
    g_test_add_func("/kernel/calls/loss", test_loss);
    g_test_add_func("/kernel/calls/numbers", test_numbers);
    g_test_add_func("/kernel/calls/name-lengths", test_name_lengths);
    return g_test_run();
}
