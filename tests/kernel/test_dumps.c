/* SPDX-License-Identifier: MIT */
/* What state dumps say of descriptors, of which processes have which table of them, and what events said before.
 * lttng-modules lists each table in one go, under its lock. */
#include "kernel/files_fixture.h"

static void dump_process(struct fixture *f, int64_t t, int tid, int pid, uint64_t table)
{
    struct lull_model *model = f->model;
    FEED(statedump_process, 0, 0, t,
         .have = UINT64_C(1) << LULL_FIELD_statedump_process_tid |
                 UINT64_C(1) << LULL_FIELD_statedump_process_pid |
                 (uint64_t)(table != 0) << LULL_FIELD_statedump_process_table,
         .tid = tid, .pid = pid, .table = (int64_t)table, .name = feed_text("p"));
}

static void dump_file(struct fixture *f, int64_t t, int pid, uint64_t table, int fd,
                      const char *path, int flags)
{
    struct lull_model *model = f->model;
    FEED(statedump_file, 0, 0, t,
         .have = UINT64_C(1) << (table ? (int)LULL_FIELD_statedump_file_table
                                       : (int)LULL_FIELD_statedump_file_pid),
         .pid = pid, .table = (int64_t)table, .fd = fd, .flags = flags, .path = feed_text(path));
}

static void check_dump(struct fixture *f, uint64_t table)
{
    read_file(f, 20, 3, 1); /* in use before the dump tells what it is */
    open_file(f, 40, 5, "/new", 0);
    dump_process(f, 60, 10, 10, table);
    dump_file(f, 61, 10, table, 3, "/etc/passwd", O_CLOEXEC_X86);
    dump_file(f, 62, 10, table, 4, "socket:[123]", 0);
    dump_file(f, 63, 10, table, 5, "/stale", 0);
    dump_file(f, 64, 10, table, 6, "pipe:[9]", 0);
    dump_file(f, 65, 10, table, 7, "anon_inode:[eventfd]", 0);
    dump_process(f, 66, 11, 10, table);
    feed_switch(f->model, 0, 0, 100, 10, 11, 0);
    for (int fd = 3; fd < 9; fd++) {
        read_file(f, 40 + fd * 20, fd, 1);
    }
    expect(f,
           "10: read 20..30 = 1 read fd 3=unknown,?,before wants 100 moved 1\n"
           "10: openat 40..50 = 5 open fd 5=disk,/new,50\n"
           "11: read 100..110 = 1 read fd 3=disk,/etc/passwd,cloexec,before wants 100 moved 1\n"
           "11: read 120..130 = 1 read fd 4=socket,socket:[123],before wants 100 moved 1\n"
           "11: read 140..150 = 1 read fd 5=disk,/new,50 wants 100 moved 1\n"
           "11: read 160..170 = 1 read fd 6=pipe,pipe:[9],before wants 100 moved 1\n"
           "11: read 180..190 = 1 read fd 7=other,anon_inode:[eventfd],before wants 100 moved 1\n"
           "11: read 200..210 = 1 read fd 8=unknown,?,before wants 100 moved 1\n");
}

static void test_dump_by_table(struct fixture *f, gconstpointer data)
{
    check_dump(f, UINT64_C(0xff110000049f9600));
}

static void test_dump_by_pid(struct fixture *f, gconstpointer data)
{
    check_dump(f, 0);
}

static void dump_peer(struct fixture *f, int64_t t, uint64_t table, int fd, int family,
                      uint64_t high, uint64_t low, int port)
{
    struct lull_model *model = f->model;
    FEED(statedump_peer, 0, 0, t, .have = ALL, .table = (int64_t)table, .fd = fd, .family = family,
         .port = port, .high = (int64_t)high, .low = (int64_t)low);
}

/* Peers of sockets name them, also if IPv6 carries IPv4; not what has another name by then, nor what is no socket. */
static void test_peers(struct fixture *f, gconstpointer data)
{
    struct lull_model *model = f->model;
    const uint64_t v4 = UINT64_C(0x0a090002) << 32, mapped = UINT64_C(0xffff0a090003);
    enum { INET = 2, INET6 = 10, PACKET = 17 };
    open_file(f, 20, 8, "/new", 0);
    dump_process(f, 60, 10, 10, 0xa);
    for (int fd = 3; fd < 8; fd++) {
        dump_file(f, 60 + fd, 10, 0xa, fd, fd == 7 ? "pipe:[9]" : "socket:[123]", 0);
    }
    dump_peer(f, 70, 0xa, 3, INET, v4, 0, 5432);
    dump_peer(f, 71, 0xa, 4, INET6, UINT64_C(0xfe80) << 48, 1, 443);
    dump_peer(f, 72, 0xa, 5, INET6, 0, mapped, 40000);
    dump_peer(f, 73, 0xa, 6, PACKET, v4, 0, 80);
    dump_peer(f, 74, 0xa, 7, INET, v4, 0, 80);
    dump_peer(f, 75, 0xa, 8, INET, v4, 0, 80);
    dump_peer(f, 76, 0xa, 99, INET, v4, 0, 80);
    dump_peer(f, 77, 0xb, 3, INET, v4, 0, 81);
    dump_peer(f, 78, 0xa, -1, INET, v4, 0, 81);
    dump_peer(f, 79, 0xa, 3, INET, v4, 0, 70000);
    dump_file(f, 79, 10, 0xa, 9, "socket:[124]", 0);
    FEED(statedump_peer, 0, 0, 79, .have = ALL, .table = 0xa, .fd = 9, .family = 1,
         .path = feed_text("/run/x"));
    feed_switch(f->model, 0, 0, 80, 0, 10, 0);
    for (int fd = 3; fd < 10; fd++) {
        read_file(f, 40 + fd * 20, fd, 1);
    }
    expect(f, "10: openat 20..30 = 8 open fd 8=disk,/new,30\n"
              "10: read 100..110 = 1 read fd 3=net,10.9.0.2:5432,before wants 100 moved 1\n"
              "10: read 120..130 = 1 read fd 4=net,[fe80::1]:443,before wants 100 moved 1\n"
              "10: read 140..150 = 1 read fd 5=net,10.9.0.3:40000,before wants 100 moved 1\n"
              "10: read 160..170 = 1 read fd 6=socket,socket:[123],before wants 100 moved 1\n"
              "10: read 180..190 = 1 read fd 7=pipe,pipe:[9],before wants 100 moved 1\n"
              "10: read 200..210 = 1 read fd 8=disk,/new,30 wants 100 moved 1\n"
              "10: read 220..230 = 1 read fd 9=socket,/run/x,before wants 100 moved 1\n");
}

/* A dump that gives one process two tables, and a fork of a task into itself, leave no table behind
 * that processes to come would share without knowing. */
static void test_dumps_contradict(struct fixture *f, gconstpointer data)
{
    struct lull_model *model = f->model;
    dump_process(f, 10, 10, 10, 0xa);
    dump_process(f, 11, 10, 10, 0xb);
    feed_fork(f->model, 0, 20, 10, 10, 10);
    open_file(f, 40, 5, "/of-10", 0);
    FEED(sched_process_exit, 0, 0, 60, .have = ALL, .tid = 10);
    feed_switch(f->model, 0, 0, 70, 10, 30, 32);
    dump_process(f, 80, 30, 30, 0xa);
    feed_switch(f->model, 0, 0, 90, 30, 40, 0);
    open_file(f, 100, 5, "/of-40", 0);
    feed_switch(f->model, 0, 0, 120, 40, 30, 0);
    read_file(f, 130, 5, 1);
    expect(f, "10: openat 40..50 = 5 open fd 5=disk,/of-10,50\n"
              "40: openat 100..110 = 5 open fd 5=disk,/of-40,110\n"
              "30: read 130..140 = 1 read fd 5=unknown,?,before wants 100 moved 1\n");
}

/* lttng stop, and start again: what was closed and opened in between is in no event, and the state is dumped once more.
 * Paths of the kernel are absolute, and say what was deleted. */
static void test_dumped_again(struct fixture *f, gconstpointer data)
{
    struct lull_model *model = f->model;
    FEED(statedump_start, 0, 0, 10, .have = 0);
    dump_process(f, 11, 10, 10, 0xa);
    dump_file(f, 12, 10, 0xa, 3, "/etc/passwd", 0);
    open_file(f, 20, 5, "data", 0);
    open_file(f, 40, 6, "/tmp/old", 0);
    CALL(60, socket, 7, ARG(family), .family = 2);
    CALL(72, connect, 0, ARG(fd) | ARG(family) | ARG(port), .fd = 7, .family = 2, .port = 80,
         .ip4 = (const uint8_t[]){10, 9, 0, 2});
    FEED(statedump_start, 0, 0, 90, .have = 0);
    dump_process(f, 91, 10, 10, 0xa);
    dump_file(f, 92, 10, 0xa, 3, "/etc/group", 0);
    dump_file(f, 93, 10, 0xa, 5, "/home/me/data (deleted)", 0);
    dump_file(f, 94, 10, 0xa, 6, "socket:[12]", 0);
    dump_file(f, 95, 10, 0xa, 7, "socket:[13]", 0);
    g_string_truncate(f->seen, 0);
    for (int fd = 3; fd < 8; fd++) {
        read_file(f, 40 + fd * 20, fd, 1);
    }
    expect(f, "10: read 100..110 = 1 read fd 3=disk,/etc/group,92 wants 100 moved 1\n"
              "10: read 120..130 = 1 read fd 4=unknown,?,before wants 100 moved 1\n"
              "10: read 140..150 = 1 read fd 5=disk,data,30 wants 100 moved 1\n"
              "10: read 160..170 = 1 read fd 6=socket,socket:[12],94 wants 100 moved 1\n"
              "10: read 180..190 = 1 read fd 7=net,10.9.0.2:80,70 wants 100 moved 1\n");
}

/* Process 10 ends and 30 has its table at the same address, both unseen; 31 shares that of 30, and both have used theirs. */
static void test_address_again(struct fixture *f, gconstpointer data)
{
    struct lull_model *model = f->model;
    FEED(statedump_start, 0, 0, 10, .have = 0);
    dump_process(f, 11, 10, 10, 0xa);
    dump_file(f, 12, 10, 0xa, 3, "/of-10", 0);
    feed_switch(model, 0, 0, 20, 10, 30, 0);
    open_file(f, 30, 4, "/four", 0);
    feed_switch(model, 0, 0, 50, 30, 31, 0);
    open_file(f, 60, 5, "/five", 0);
    FEED(statedump_start, 0, 0, 80, .have = 0);
    dump_process(f, 81, 30, 30, 0xa);
    dump_file(f, 82, 30, 0xa, 3, "/of-30", 0);
    dump_process(f, 83, 31, 31, 0xa);
    g_string_truncate(f->seen, 0);
    read_file(f, 100, 3, 1);
    read_file(f, 120, 4, 1);
    feed_switch(model, 0, 0, 140, 31, 30, 0);
    read_file(f, 150, 5, 1);
    expect(f, "31: read 100..110 = 1 read fd 3=disk,/of-30,before wants 100 moved 1\n"
              "31: read 120..130 = 1 read fd 4=disk,/four,40 wants 100 moved 1\n"
              "30: read 150..160 = 1 read fd 5=disk,/five,70 wants 100 moved 1\n");
}

/* What a child has from its parent, which nobody has named yet: with each the list of files grows. */
static void test_inherited(struct fixture *f, gconstpointer data)
{
    enum { N = 200 };
    for (int fd = 0; fd < N; fd++) {
        read_file(f, 10 + fd * 20, fd, 1);
    }
    feed_fork(f->model, 0, 5000, 10, 20, 20);
    dump_process(f, 5010, 20, 20, 0xb);
    for (int fd = 0; fd < N; fd++) {
        g_autofree char *path = g_strdup_printf("/%d", fd);
        dump_file(f, 5020, 20, 0xb, fd, path, 0);
    }
    feed_switch(f->model, 0, 0, 5030, 10, 20, 0);
    g_string_truncate(f->seen, 0);
    read_file(f, 5040, N - 1, 1);
    expect(f, "20: read 5040..5050 = 1 read fd 199=disk,/199,5000 wants 100 moved 1\n");
}

/* A thread used descriptors before its process was known: they are the process's. */
static void test_late_pid(struct fixture *f, gconstpointer data)
{
    feed_switch(f->model, 0, 0, 100, 10, 11, 0);
    open_file(f, 110, 4, "/a", 0);
    dump_process(f, 130, 11, 10, 0);
    read_file(f, 140, 4, 1);
    feed_switch(f->model, 0, 0, 160, 11, 10, 0);
    read_file(f, 170, 4, 1);
    /* A context tells it as well. */
    feed_switch(f->model, 0, 0, 190, 10, 12, 0);
    CALL(200, read, 1, ARG(fd), .fd = 4, .pid = 10);
    expect(f, "11: openat 110..120 = 4 open fd 4=disk,/a,120\n"
              "11: read 140..150 = 1 read fd 4=disk,/a,120 wants 100 moved 1\n"
              "10: read 170..180 = 1 read fd 4=disk,/a,120 wants 100 moved 1\n"
              "12: read 200..210 = 1 read fd 4=disk,/a,120 moved 1\n");
    g_assert_cmpint(lull_model_task(f->model, lull_model_file(f->model, 0)->owner)->tid, ==, 10);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    TEST("dump-by-table", test_dump_by_table);
    TEST("dump-by-pid", test_dump_by_pid);
    TEST("peers", test_peers);
    TEST("dumps-contradict", test_dumps_contradict);
    TEST("dumped-again", test_dumped_again);
    TEST("address-again", test_address_again);
    TEST("inherited", test_inherited);
    TEST("late-pid", test_late_pid);
    return g_test_run();
}
