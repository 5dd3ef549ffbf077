/* SPDX-License-Identifier: MIT */
/* exec() of a thread that does not lead its process: what the kernel's de_thread() does, and what its events say of it
 * (Linux 6.18: fs/exec.c, and what was recorded of such a program). Process 10 has the threads 11 and 12. */
#include "feed_calls.h"

struct fixture {
    struct lull_model *model;
    GString *log;
};

static int tid_of(const struct lull_model *model, uint32_t task)
{
    return task == LULL_NONE ? 0 : lull_model_task(model, task)->tid;
}

static void on_state(void *user, const struct lull_state_fact *fact)
{
    struct fixture *f = user;
    static const char letters[] = {[LULL_STATE_NONE] = '-',
                                   [LULL_STATE_RUNNING] = 'R',
                                   [LULL_STATE_PREEMPTED] = 'P',
                                   [LULL_STATE_BLOCKED] = 'B'};
    g_string_append_printf(f->log, "%d: %d %c%c", (int)fact->end_ns, tid_of(f->model, fact->task),
                           letters[fact->state], letters[fact->next]);
    if (fact->continues != LULL_NONE) {
        g_string_append_printf(f->log, " as %d", tid_of(f->model, fact->continues));
    }
    g_string_append_c(f->log, '\n');
}

static void on_switched(void *user, const struct lull_switch_fact *fact)
{
    struct fixture *f = user;
    g_string_append_printf(f->log, "%d: c%d %d then %d\n", (int)fact->time_ns, fact->cpu,
                           tid_of(f->model, fact->previous),
                           fact->is_unknown ? -1 : tid_of(f->model, fact->task));
}

static void on_syscall_start(void *user, const struct lull_syscall_fact *fact)
{
    struct fixture *f = user;
    g_string_append_printf(f->log, "%d: %d in %s\n", (int)fact->start_ns,
                           tid_of(f->model, fact->task), lull_model_label(f->model, fact->name));
}

static void on_syscall(void *user, const struct lull_syscall_fact *fact)
{
    struct fixture *f = user;
    g_string_append_printf(f->log, "%d: %d %s since %d%s\n", (int)fact->end_ns,
                           tid_of(f->model, fact->task), lull_model_label(f->model, fact->name),
                           (int)fact->start_ns, fact->is_open ? " open" : "");
    if (fact->is_taken) {
        g_string_insert(f->log, (gssize)f->log->len - 1, ", until ");
        g_autofree char *until =
            g_strdup_printf("%d by %d", (int)fact->taken_ns, tid_of(f->model, fact->thread));
        g_string_insert(f->log, (gssize)f->log->len - 1, until);
    }
    if (fact->io && fact->io->file != LULL_NONE) {
        const struct lull_file *file = lull_model_file(f->model, fact->io->file);
        const char *path = lull_model_label(f->model, file->path);
        g_string_insert(f->log, (gssize)f->log->len - 1, path ? " of " : " of ?");
        g_string_insert(f->log, (gssize)f->log->len - 1, path ? path : "");
    }
}

static void expect(struct fixture *f, const char *text)
{
    g_assert_cmpstr(f->log->str, ==, text);
    g_string_truncate(f->log, 0);
}

static const struct lull_task *task_with(const struct fixture *f, int tid)
{
    const uint32_t task = lull_model_find_tid(f->model, 0, tid);
    g_assert_cmpuint(task, !=, LULL_NONE);
    return lull_model_task(f->model, task);
}

static const char *name_of(const struct fixture *f, int tid, int64_t t)
{
    return lull_model_comm(f->model, lull_model_find_tid(f->model, 0, tid), t);
}

static void feed_thread(struct lull_model *model, int64_t t, int tid)
{
    FEED(sched_process_fork, 0, 0, t, .have = ALL, .parent_tid = 10, .parent_pid = 10,
         .child_tid = tid, .child_pid = 10, .child_comm = feed_text("thread"));
}

static void feed_exit(struct lull_model *model, int32_t cpu, int64_t t, int tid)
{
    FEED(sched_process_exit, 0, cpu, t, .have = ALL, .tid = tid);
    feed_switch(model, 0, cpu, t + 1, tid, 0, 32); /* EXIT_ZOMBIE */
}

/* The threads are there, the leader waits in futex(), 11 runs. */
static void set_up(struct fixture *f, gconstpointer data)
{
    static const struct lull_facts facts = {.state = on_state,
                                            .switched = on_switched,
                                            .syscall_start = on_syscall_start,
                                            .syscall = on_syscall};
    struct lull_model *model = f->model =
        lull_model_new(NULL, LULL_GROUP_GRAPH | LULL_GROUP_SYSCALL | LULL_GROUP_IO);
    f->log = g_string_new(NULL);
    lull_model_subscribe(model, &facts, f);
    feed_switch(model, 0, 0, 10, 0, 10, 0);
    feed_thread(model, 20, 11);
    feed_thread(model, 21, 12);
    FEED_CALL(model, 0, 30, openat, 3, ARG(path) | ARG(flags), .path = "/kept", .flags = 0);
    FEED_ENTER(model, 0, 50, futex, 0);
    feed_switch(model, 0, 0, 60, 10, 11, 1);
    g_string_truncate(f->log, 0);
}

static void tear_down(struct fixture *f, gconstpointer data)
{
    lull_model_free(f->model);
    g_string_free(f->log, TRUE);
}

/* Thread 11 calls execve() and waits until the others are gone. */
static void feed_killing(struct lull_model *model)
{
    FEED_ENTER(model, 0, 100, execve, ARG(path), .path = "/bin/other");
    feed_wake(model, LULL_EVENT_sched_waking, 0, 0, 105, 10, 1);
    feed_switch(model, 0, 0, 110, 11, 0, 2);
    feed_switch(model, 0, 1, 115, 0, 10, 0);
    feed_leave(model, 1, 116, NR_futex, -512);
    FEED(sched_process_exit, 0, 1, 120, .have = ALL, .tid = 10);
    feed_wake(model, LULL_EVENT_sched_waking, 0, 1, 125, 11, 0);
    feed_switch(model, 0, 1, 130, 10, 0, 32);
    feed_switch(model, 0, 0, 140, 0, 11, 0);
}

#define KILLED                                                                                     \
    "100: 11 in execve\n105: 10 BP\n110: 11 RB\n110: c0 11 then 0\n115: 10 PR\n"                   \
    "115: c1 0 then 10\n116: 10 futex since 50\n125: 11 BP\n130: 10 R-\n130: c1 10 then 0\n"       \
    "140: 11 PR\n140: c0 0 then 11\n"
#define TAKEN_OVER(t) t ": 11 R-\n" t ": 10 -R as 11\n" t ": c0 11 then 10\n" t ": 10 in execve\n"
#define REST(t)                                                                                    \
    "160: 10 execve since 100, until " t                                                           \
    " by 11\n165: 10 in read\n170: 10 read since 165 of /kept\n180: 10 R-\n180: c0 10 then 0\n"

static void feed_rest(struct lull_model *model)
{
    feed_leave(model, 0, 160, NR_execve, 0);
    FEED_ENTER(model, 0, 165, read, ARG(fd), .fd = 3);
    feed_leave(model, 0, 170, NR_read, 5);
    feed_exit(model, 0, 179, 10);
}

/* A switch names a task "t10". */
static void check_tasks(const struct fixture *f, int64_t exec_ns)
{
    g_assert_cmpint(task_with(f, 11)->last_ns, ==, exec_ns);
    g_assert_true(task_with(f, 11)->is_dead);
    g_assert_cmpint(task_with(f, 10)->first_ns, ==, 10);
    g_assert_cmpint(task_with(f, 10)->last_ns, ==, 180);
    g_assert_cmpint(task_with(f, 10)->exit_ns, ==, 179);
    g_assert_cmpint(task_with(f, 10)->pid, ==, 10);
    for (uint32_t i = 0, n = 0; i < lull_model_task_count(f->model); i++) {
        n += lull_model_task(f->model, i)->tid == 10;
        g_assert_cmpuint(n, <=, 1);
    }
    g_assert_cmpstr(name_of(f, 11, 200), ==, "t11");
    g_assert_cmpstr(name_of(f, 10, 160), ==, "other");
    g_assert_cmpstr(name_of(f, 10, exec_ns - 1), ==, "t10");
}

/* `old`: the field is there. */
static void feed_executed(struct lull_model *model, int64_t t, int old_tid, bool old)
{
    FEED(sched_process_exec, 0, 0, t, .have = old ? ALL : WITHOUT(sched_process_exec, old_tid),
         .tid = 10, .old_tid = old_tid, .filename = feed_text("/bin/other"));
}

static void test_exec(struct fixture *f, gconstpointer data)
{
    feed_killing(f->model);
    expect(f, KILLED);
    feed_executed(f->model, 150, 11, true);
    feed_rest(f->model);
    expect(f, TAKEN_OVER("150") REST("150"));
    check_tasks(f, 150);
}

static void test_old_not_told(struct fixture *f, gconstpointer data)
{
    feed_killing(f->model);
    feed_executed(f->model, 150, 0, false);
    feed_rest(f->model);
    expect(f, KILLED TAKEN_OVER("150") REST("150"));
    check_tasks(f, 150);
}

/* Any event after the exchange of the numbers tells of it: a context, a switch, the new name. */
static void test_noticed(struct fixture *f, gconstpointer how)
{
    struct lull_model *model = f->model;
    feed_killing(model);
    expect(f, KILLED);
    if (GPOINTER_TO_INT(how) == 0) {
        FEED(softirq_entry, 0, 0, 145, .have = ALL, .vec = 3, .context_tid = 10);
        FEED(softirq_exit, 0, 0, 146, .have = ALL, .vec = 3, .context_tid = 10);
        expect(f, TAKEN_OVER("145"));
    } else if (GPOINTER_TO_INT(how) == 1) {
        FEED(task_rename, 0, 0, 145, .have = WITHOUT(task_rename, context_pid), .tid = 10,
             .newcomm = feed_text("other"));
        expect(f, TAKEN_OVER("145"));
    } else {
        feed_switch(model, 0, 0, 145, 10, 0, 2);
        feed_switch(model, 0, 0, 147, 0, 10, 0);
        expect(f, TAKEN_OVER("145") "145: 10 RB\n145: c0 10 then 0\n"
                                    "147: 10 BR\n147: c0 0 then 10\n");
    }
    feed_executed(model, 150, 11, true);
    feed_rest(model);
    expect(f, REST("145"));
    check_tasks(f, 145);
}

/* Its new name, on no CPU as perf may have it, is not that of another task. */
static void test_named_elsewhere(struct fixture *f, gconstpointer data)
{
    struct lull_model *model = f->model;
    feed_killing(model);
    FEED(task_rename, 0, -1, 145, .have = WITHOUT(task_rename, context_pid), .tid = 10,
         .newcomm = feed_text("other"));
    feed_executed(f->model, 150, 11, true);
    feed_rest(f->model);
    expect(f, KILLED TAKEN_OVER("150") REST("150"));
    g_assert_cmpint(task_with(f, 10)->first_ns, ==, 10);
    g_assert_cmpint(task_with(f, 10)->last_ns, ==, 180);
    g_assert_cmpstr(name_of(f, 10, 150), ==, "other");
}

/* The end of the leader's old task: kernels before 5.8 call it by the number that it had, later ones by the thread's. */
static void test_freed(struct fixture *f, gconstpointer freed)
{
    struct lull_model *model = f->model;
    feed_killing(model);
    feed_executed(model, 150, 11, true);
    FEED(sched_process_free, 0, 1, 155, .have = ALL, .tid = GPOINTER_TO_INT(freed));
    g_assert_false(task_with(f, 10)->is_dead);
    feed_rest(model);
    expect(f, KILLED TAKEN_OVER("150") REST("150"));
    check_tasks(f, 150);
    FEED(sched_process_free, 0, 1, 190, .have = ALL, .tid = 10);
    g_assert_true(task_with(f, 10)->is_dead);
}

/* The thread had descriptors of its own: they are the process's now. */
static void test_own_files(struct fixture *f, gconstpointer data)
{
    enum { FLAG_FILES = 0x400 }; /* CLONE_FILES */
    struct lull_model *model = f->model;
    FEED_CALL(model, 0, 70, unshare, 0, ARG(flags), .flags = FLAG_FILES);
    FEED_CALL(model, 0, 85, openat, 4, ARG(path) | ARG(flags), .path = "/own", .flags = 0);
    g_string_truncate(f->log, 0);
    feed_killing(model);
    feed_executed(model, 150, 11, true);
    feed_leave(model, 0, 155, NR_execve, 0);
    FEED_CALL(model, 0, 160, read, 1, ARG(fd), .fd = 4);
    FEED_CALL(model, 0, 170, read, 1, ARG(fd), .fd = 3);
    expect(f,
           KILLED TAKEN_OVER("150") "155: 10 execve since 100, until 150 by 11\n160: 10 in read\n"
                                    "170: 10 read since 160 of /own\n170: 10 in read\n"
                                    "180: 10 read since 170 of /kept\n");
}

/* Nothing was recorded of how the leader ended. */
static void test_leader_unseen_to_end(struct fixture *f, gconstpointer data)
{
    struct lull_model *model = f->model;
    FEED_ENTER(model, 0, 100, execve, ARG(path), .path = "/bin/other");
    feed_executed(model, 150, 11, true);
    feed_rest(model);
    expect(f, "100: 11 in execve\n60: 10 futex since 50 open\n" TAKEN_OVER("150") REST("150"));
    g_assert_cmpstr(name_of(f, 10, 150), ==, "other");
}

/* Nothing was recorded of the leader, or of the thread. */
static void test_unseen(struct fixture *f, gconstpointer data)
{
    struct lull_model *model = f->model;
    feed_switch(model, 0, 1, 70, 0, 31, 0);
    FEED(sched_process_exec, 0, 1, 80, .have = ALL, .tid = 30, .old_tid = 31,
         .filename = feed_text("/bin/other"));
    feed_switch(model, 0, 1, 90, 30, 0, 1);
    expect(f, "70: 31 -R\n70: c1 0 then 31\n80: 31 R-\n80: 30 -R as 31\n80: c1 31 then 30\n"
              "90: 30 RB\n90: c1 30 then 0\n");
    FEED(sched_process_exec, 0, 2, 80, .have = ALL, .tid = 40, .old_tid = 41,
         .filename = feed_text("/bin/other"));
    feed_switch(model, 0, 2, 90, 40, 0, 1);
    expect(f, "90: 40 -B\n90: c2 40 then 0\n");
    g_assert_cmpstr(name_of(f, 40, 85), ==, "other");
}

/* A thread of the program that a thread executed does so too. */
static void test_in_turn(struct fixture *f, gconstpointer data)
{
    struct lull_model *model = f->model;
    feed_killing(model);
    feed_executed(model, 150, 11, true);
    feed_leave(model, 0, 160, NR_execve, 0);
    feed_thread(model, 162, 13);
    feed_switch(model, 0, 1, 165, 0, 13, 0);
    feed_exit(model, 0, 170, 10);
    expect(f, KILLED TAKEN_OVER("150") "160: 10 execve since 100, until 150 by 11\n165: 13 -R\n"
                                       "165: c1 0 then 13\n171: 10 R-\n171: c0 10 then 0\n");
    FEED(sched_process_exec, 0, 1, 180, .have = ALL, .tid = 10, .old_tid = 13,
         .filename = feed_text("/bin/third"));
    feed_switch(model, 0, 1, 190, 10, 0, 1);
    expect(f, "180: 13 R-\n180: 10 -R as 13\n180: c1 13 then 10\n190: 10 RB\n"
              "190: c1 10 then 0\n");
    g_assert_cmpstr(name_of(f, 10, 165), ==, "other");
    g_assert_cmpstr(name_of(f, 10, 180), ==, "third");
    g_assert_cmpint(task_with(f, 10)->exec_ns, ==, 150);
}

/* A number that is named on the CPU of a thread is not always its process's: 12 is another thread; 10, while it lives, and
 * 11 is in no execve(), came without being seen. */
static void test_not_executed(struct fixture *f, gconstpointer tid)
{
    struct lull_model *model = f->model;
    FEED(softirq_entry, 0, 0, 145, .have = ALL, .vec = 3, .context_tid = GPOINTER_TO_INT(tid));
    g_assert_false(task_with(f, 11)->is_dead);
    g_assert_null(strstr(f->log->str, " as "));
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*test)(struct fixture *f, gconstpointer data);
        int data;
    } tests[] = {
        {"exec", test_exec, 0},
        {"old-not-told", test_old_not_told, 0},
        {"noticed/context", test_noticed, 0},
        {"noticed/name", test_noticed, 1},
        {"noticed/switch", test_noticed, 2},
        {"named-elsewhere", test_named_elsewhere, 0},
        {"freed/old-kernel", test_freed, 10},
        {"freed/new-kernel", test_freed, 11},
        {"own-files", test_own_files, 0},
        {"leader-unseen-to-end", test_leader_unseen_to_end, 0},
        {"unseen", test_unseen, 0},
        {"in-turn", test_in_turn, 0},
        {"not-executed/thread", test_not_executed, 12},
        {"not-executed/leader", test_not_executed, 10},
    };
    g_test_init(&argc, &argv, NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(tests); i++) {
        g_autofree char *path = g_strdup_printf("/kernel/exec/%s", tests[i].name);
        g_test_add(path, struct fixture, GINT_TO_POINTER(tests[i].data), set_up, tests[i].test,
                   tear_down);
    }
    return g_test_run();
}
