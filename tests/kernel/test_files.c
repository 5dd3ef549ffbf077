/* SPDX-License-Identifier: MIT */
/* Descriptors of processes: what each call does to them, as the manual pages of the calls say
 * (open(2), dup(2), fcntl(2), close(2), close_range(2), fork(2), clone(2), execve(2), unshare(2),
 * accept(2), connect(2) …). One CPU unless said; expected lines are derived from there by hand. */
#include "kernel/files_fixture.h"

static void test_open(struct fixture *f, gconstpointer data)
{
    open_file(f, 100, 4, "/tmp/a", 0);
    read_file(f, 200, 4, 77);
    read_file(f, 220, 4, -11);
    read_file(f, 240, 3, 5);
    open_file(f, 300, -2, "/none", 0);
    CALL(320, open, 5, ARG(path) | ARG(flags), .path = "/b", .flags = O_CLOEXEC_X86 | 1);
    CALL(340, creat, 6, ARG(path), .path = "/c");
    CALL(360, openat2, 7, ARG(path), .path = "/d");
    CALL(380, memfd_create, 8, ARG(path) | ARG(flags), .path = "mem", .flags = 1);
    expect(f, "10: openat 100..110 = 4 open fd 4=disk,/tmp/a,110\n"
              "10: read 200..210 = 77 read fd 4=disk,/tmp/a,110 wants 100 moved 77\n"
              "10: read 220..230 = -11 read fd 4=disk,/tmp/a,110 wants 100 moved 0\n"
              "10: read 240..250 = 5 read fd 3=unknown,?,before wants 100 moved 5\n"
              "10: openat 300..310 = -2 open\n"
              "10: open 320..330 = 5 open fd 5=disk,/b,cloexec,330\n"
              "10: creat 340..350 = 6 open fd 6=disk,/c,350\n"
              "10: openat2 360..370 = 7 open fd 7=disk,/d,370\n"
              "10: memfd_create 380..390 = 8 open fd 8=other,mem,cloexec,390\n");
}

/* No file can be opened by the path "" (path_resolution(7)): the tracer could not read the memory,
 * and which file it is remains unknown until the state dump tells. */
static void test_unread_path(struct fixture *f, gconstpointer data)
{
    open_file(f, 100, 4, "", 0);
    read_file(f, 200, 4, 77);
    CALL(220, open, 5, ARG(path), .path = "");
    expect(f, "10: openat 100..110 = 4 open fd 4=disk,?,110\n"
              "10: read 200..210 = 77 read fd 4=disk,?,110 wants 100 moved 77\n"
              "10: open 220..230 = 5 open fd 5=disk,?,230\n");
}

/* mq_open(3): "somename" is what the kernel gets of "/somename", which is what /proc shows. The other end of a
 * terminal is made by a command of ioctl (TIOCGPTPEER, ioctl_tty(2)), with flags as open() has them. */
static void test_queue_and_terminal(struct fixture *f, gconstpointer data)
{
    CALL(100, mq_open, 4, ARG(path), .path = "jobs");
    CALL(120, mq_open, 5, 0);
    CALL(140, mq_open, -2, ARG(path), .path = "none");
    open_file(f, 160, 6, "/dev/ptmx", 0);
    g_string_truncate(f->seen, 0);
    CALL(180, ioctl, 7, ARG(fd) | ARG(command) | ARG(argument), .fd = 6, .command = 0x5441,
         .argument = 2);
    CALL(200, ioctl, 8, ARG(fd) | ARG(command) | ARG(argument), .fd = 6, .command = 0x5441,
         .argument = O_CLOEXEC_X86);
    CALL(220, ioctl, -5, ARG(fd) | ARG(command), .fd = 6, .command = 0x5441);
    CALL(240, ioctl, 9, ARG(fd) | ARG(command), .fd = 6, .command = 0x5442);
    g_string_truncate(f->seen, 0);
    for (int fd = 4; fd < 10; fd++) {
        read_file(f, 300 + 20 * fd, fd, 1);
    }
    expect(f, "10: read 380..390 = 1 read fd 4=other,/jobs,cloexec,110 wants 100 moved 1\n"
              "10: read 400..410 = 1 read fd 5=other,?,cloexec,130 wants 100 moved 1\n"
              "10: read 420..430 = 1 read fd 6=disk,/dev/ptmx,170 wants 100 moved 1\n"
              "10: read 440..450 = 1 read fd 7=other,terminal,190 wants 100 moved 1\n"
              "10: read 460..470 = 1 read fd 8=other,terminal,cloexec,210 wants 100 moved 1\n"
              "10: read 480..490 = 1 read fd 9=unknown,?,before wants 100 moved 1\n");
}

/* Calls that make a descriptor without a path. */
static void test_make(struct fixture *f, gconstpointer data)
{
    CALL(100, epoll_create1, 4, ARG(flags), .flags = O_CLOEXEC_X86);
    CALL(120, eventfd2, 5, ARG(flags) | ARG(bytes), .flags = 0, .bytes = 1);
    CALL(140, io_uring_setup, 6, 0);
    CALL(160, bpf, 7, ARG(command), .command = 5); /* BPF_PROG_LOAD */
    CALL(180, bpf, 0, ARG(command), .command = 2); /* BPF_MAP_UPDATE_ELEM */
    CALL(200, signalfd4, 8, ARG(fd) | ARG(flags), .fd = -1, .flags = 0);
    CALL(220, signalfd4, 8, ARG(fd) | ARG(flags), .fd = 8, .flags = O_CLOEXEC_X86);
    expect(f, "10: epoll_create1 100..110 = 4 open fd 4=other,eventpoll,cloexec,110\n"
              "10: eventfd2 120..130 = 5 open fd 5=other,eventfd,130\n"
              "10: io_uring_setup 140..150 = 6 open fd 6=other,io_uring,cloexec,150\n"
              "10: bpf 160..170 = 7 open fd 7=other,bpf,cloexec,170\n"
              "10: bpf 180..190 = 0 other\n"
              "10: signalfd4 200..210 = 8 open fd 8=other,signalfd,210\n"
              "10: signalfd4 220..230 = 8 other fd 8=other,signalfd,210\n");
}

static void test_pairs(struct fixture *f, gconstpointer data)
{
    feed_pair(f->model, 0, 100, NR_pipe2, O_CLOEXEC_X86, 3, 4);
    feed_pair(f->model, 0, 120, NR_socketpair, 0, 5, 6);
    CALL(140, write, 10, ARG(fd) | ARG(bytes), .fd = 4, .bytes = 10);
    /* What the exit does not tell is not known. */
    CALL(160, pipe, 0, 0);
    read_file(f, 180, 7, 1);
    expect(f, "10: pipe2 100..110 = 0 open fd 3=pipe,pipe,cloexec,110 to 4=pipe,pipe,cloexec,110\n"
              "10: socketpair 120..130 = 0 open fd 5=socket,socket,130 to 6=socket,socket,130\n"
              "10: write 140..150 = 10 write fd 4=pipe,pipe,cloexec,110 wants 10 moved 10\n"
              "10: pipe 160..170 = 0 open\n"
              "10: read 180..190 = 1 read fd 7=unknown,?,before wants 100 moved 1\n");
}

static const uint8_t ip4[] = {10, 9, 0, 2}, ip6[16] = {0xfe, 0x80, [15] = 1},
                     mapped[16] = {[10] = 0xff, 0xff, 10, 9, 0, 1};

static void accept_from(struct fixture *f, int64_t t, int fd, int family, const uint8_t *ip,
                        int port)
{
    FEED_ENTER(f->model, 0, t, accept4, ARG(fd) | ARG(flags), .fd = 3, .flags = O_CLOEXEC_X86);
    struct lull_ev_io_exit ev = {
        .have = UINT64_C(1) << LULL_FIELD_io_exit_number | UINT64_C(1) << LULL_FIELD_io_exit_ret |
                UINT64_C(1) << LULL_FIELD_io_exit_family | UINT64_C(1) << LULL_FIELD_io_exit_port,
        .number = NR_accept4,
        .ret = fd,
        .family = family,
        .port = port};
    if (ip && family == 2) {
        ev.ip4 = (struct lull_text){(const char *)ip, 4};
    } else if (ip) {
        ev.ip6 = (struct lull_text){(const char *)ip, 16};
    }
    lull_model_feed(f->model, LULL_EVENT_io_exit, &ev, 0, 0, t + 10);
}

static void test_sockets(struct fixture *f, gconstpointer data)
{
    CALL(100, socket, 5, ARG(family) | ARG(flags), .family = 2, .flags = O_CLOEXEC_X86 | 1);
    CALL(120, connect, -111, ARG(fd) | ARG(family) | ARG(port), .fd = 5, .family = 2, .port = 81,
         .ip4 = ip4); /* ECONNREFUSED: whom it was to have */
    CALL(140, connect, -115, ARG(fd) | ARG(family) | ARG(port), .fd = 5, .family = 2, .port = 80,
         .ip4 = ip4); /* EINPROGRESS */
    CALL(150, connect, -106, ARG(fd) | ARG(family) | ARG(port), .fd = 5, .family = 2, .port = 82,
         .ip4 = ip4); /* EISCONN: it keeps its peer */
    CALL(160, sendto, 300, ARG(fd) | ARG(bytes), .fd = 5, .bytes = 300);
    CALL(180, socket, 6, ARG(family), .family = 1);
    CALL(200, connect, 0, ARG(fd) | ARG(family), .fd = 6, .family = 1);
    CALL(220, connect, 0, ARG(fd) | ARG(family) | ARG(port), .fd = 7, .family = 10, .port = 443,
         .ip6 = ip6);
    CALL(240, recvmmsg, 3, ARG(fd), .fd = 8);
    expect(f,
           "10: socket 100..110 = 5 open fd 5=net,socket,cloexec,110\n"
           "10: connect 120..130 = -111 other fd 5=net,10.9.0.2:81,cloexec,110\n"
           "10: connect 140..150 = -115 connect fd 5=net,10.9.0.2:80,cloexec,110\n"
           "10: connect 150..160 = -106 other fd 5=net,10.9.0.2:80,cloexec,110\n"
           "10: sendto 160..170 = 300 write fd 5=net,10.9.0.2:80,cloexec,110 wants 300 moved 300\n"
           "10: socket 180..190 = 6 open fd 6=socket,socket,190\n"
           "10: connect 200..210 = 0 other fd 6=socket,socket,190\n"
           "10: connect 220..230 = 0 other fd 7=net,[fe80::1]:443,before\n"
           "10: recvmmsg 240..250 = 3 read fd 8=socket,?,before\n");
}

/* Who accepts at a unix socket knows no more of the other end than where it connected. */
static void test_accept_unix(struct fixture *f, gconstpointer data)
{
    CALL(100, socket, 3, ARG(family), .family = 1);
    accept_from(f, 120, 6, 1, NULL, 0);
    CALL(140, bind, 0, ARG(fd) | ARG(family) | ARG(path), .fd = 3, .family = 1, .path = "/run/x");
    accept_from(f, 160, 7, 1, NULL, 0);
    read_file(f, 180, 6, 1);
    read_file(f, 200, 7, 1);
    expect(f, "10: socket 100..110 = 3 open fd 3=socket,socket,110\n"
              "10: accept4 120..130 = 6 open fd 6=socket,socket,cloexec,130\n"
              "10: bind 140..150 = 0 other fd 3=socket,/run/x,110\n"
              "10: accept4 160..170 = 7 open fd 7=socket,/run/x,cloexec,170\n"
              "10: read 180..190 = 1 read fd 6=socket,socket,cloexec,130 wants 100 moved 1\n"
              "10: read 200..210 = 1 read fd 7=socket,/run/x,cloexec,170 wants 100 moved 1\n");
}

/* dup(2) and fork(2): copies refer to the same open file. What connects one of them connects all that are open, whoever
 * uses it, also if it has not been used yet; but what a datagram is sent to is the caller's affair. */
static void test_copied_sockets(struct fixture *f, gconstpointer data)
{
    CALL(100, socket, 5, ARG(family) | ARG(flags), .family = 2, .flags = 2);
    CALL(120, dup, 6, ARG(fd), .fd = 5);
    CALL(140, dup, 7, ARG(fd), .fd = 6);
    CALL(160, close, 0, ARG(fd), .fd = 6);
    feed_fork(f->model, 0, 180, 10, 20, 20);
    feed_fork(f->model, 0, 181, 10, 30, 30);
    feed_switch(f->model, 0, 0, 190, 10, 20, 0);
    read_file(f, 200, 7, 1);
    CALL(220, connect, 0, ARG(fd) | ARG(family) | ARG(port), .fd = 5, .family = 2, .port = 80,
         .ip4 = ip4);
    g_string_truncate(f->seen, 0);
    read_file(f, 240, 7, 1);
    feed_switch(f->model, 0, 0, 260, 20, 10, 0);
    read_file(f, 270, 7, 1);
    CALL(290, sendto, 3, ARG(fd) | ARG(family) | ARG(port), .fd = 7, .family = 2, .port = 53,
         .ip4 = ip4);
    read_file(f, 310, 5, 1);
    feed_switch(f->model, 0, 0, 330, 10, 30, 0);
    read_file(f, 340, 5, 1);
    expect(f, "20: read 240..250 = 1 read fd 7=net,10.9.0.2:80,180 wants 100 moved 1\n"
              "10: read 270..280 = 1 read fd 7=net,10.9.0.2:80,150 wants 100 moved 1\n"
              "10: sendto 290..300 = 3 write fd 7=net,10.9.0.2:53,150 moved 3\n"
              "10: read 310..320 = 1 read fd 5=net,10.9.0.2:80,110 wants 100 moved 1\n"
              "30: read 340..350 = 1 read fd 5=net,10.9.0.2:80,181 wants 100 moved 1\n");
    g_assert_cmpstr(lull_model_label(f->model, lull_model_file(f->model, 1)->path), ==, "socket");
    g_assert_true(lull_model_file(f->model, 0)->is_datagram);
    g_assert_true(lull_model_file(f->model, 2)->is_datagram);
}

/* The family says what a socket is whose making was not seen, but nothing of a file that is known. */
static void test_family(struct fixture *f, gconstpointer data)
{
    open_file(f, 100, 4, "/a", 0);
    CALL(120, connect, -111, ARG(fd) | ARG(family), .fd = 9, .family = 2); /* ECONNREFUSED */
    CALL(140, connect, -111, ARG(fd) | ARG(family), .fd = 8, .family = 1);
    CALL(160, connect, -88, ARG(fd) | ARG(family) | ARG(port), .fd = 4, .family = 2, .port = 80,
         .ip4 = ip4); /* ENOTSOCK */
    expect(f, "10: openat 100..110 = 4 open fd 4=disk,/a,110\n"
              "10: connect 120..130 = -111 other fd 9=net,?,before\n"
              "10: connect 140..150 = -111 other fd 8=socket,?,before\n"
              "10: connect 160..170 = -88 other fd 4=disk,/a,110\n");
}

static void test_accept(struct fixture *f, gconstpointer data)
{
    accept_from(f, 100, 6, 2, ip4, 1234);
    accept_from(f, 120, 7, 10, mapped, 1235);
    accept_from(f, 140, 8, 1, NULL, 0);
    /* The caller did not want the address; the listening socket tells the family. */
    CALL(160, socket, 3, ARG(family), .family = 10);
    accept_from(f, 180, 9, 0, NULL, 0);
    accept_from(f, 200, -11, 0, NULL, 0);
    expect(f, "10: accept4 100..110 = 6 open fd 6=net,10.9.0.2:1234,cloexec,110\n"
              "10: accept4 120..130 = 7 open fd 7=net,10.9.0.1:1235,cloexec,130\n"
              "10: accept4 140..150 = 8 open fd 8=socket,socket,cloexec,150\n"
              "10: socket 160..170 = 3 open fd 3=net,socket,170\n"
              "10: accept4 180..190 = 9 open fd 9=net,socket,cloexec,190\n"
              "10: accept4 200..210 = -11 open\n");
}

static void test_dup(struct fixture *f, gconstpointer data)
{
    open_file(f, 100, 4, "/a", O_CLOEXEC_X86);
    open_file(f, 120, 5, "/b", 0);
    g_string_truncate(f->seen, 0);
    CALL(140, dup, 6, ARG(fd), .fd = 4);                               /* without close-on-exec */
    CALL(160, dup2, 5, ARG(fd) | ARG(new_fd), .fd = 4, .new_fd = 5);   /* /b is closed */
    CALL(180, dup2, 5, ARG(fd) | ARG(new_fd), .fd = 5, .new_fd = 5);   /* nothing happens */
    CALL(200, dup2, -9, ARG(fd) | ARG(new_fd), .fd = 40, .new_fd = 5); /* EBADF: nothing */
    CALL(220, dup3, 7, ARG(fd) | ARG(new_fd) | ARG(flags), .fd = 5, .new_fd = 7,
         .flags = O_CLOEXEC_X86);
    CALL(240, fcntl, 8, ARG(fd) | ARG(command), .fd = 4, .command = 0);    /* F_DUPFD */
    CALL(260, fcntl, 9, ARG(fd) | ARG(command), .fd = 4, .command = 1030); /* …_CLOEXEC */
    CALL(280, fcntl, 0, ARG(fd) | ARG(command) | ARG(argument), .fd = 8, .command = 2,
         .argument = 1);                                                     /* F_SETFD */
    CALL(300, fcntl, 0x8000, ARG(fd) | ARG(command), .fd = 8, .command = 3); /* F_GETFL */
    read_file(f, 320, 5, 1);
    expect(f, "10: dup 140..150 = 6 dup fd 4=disk,/a,cloexec,110 to 6=disk,/a,150\n"
              "10: dup2 160..170 = 5 dup fd 4=disk,/a,cloexec,110 to 5=disk,/a,170\n"
              "10: dup2 180..190 = 5 dup fd 5=disk,/a,170\n"
              "10: dup2 200..210 = -9 dup fd 40\n"
              "10: dup3 220..230 = 7 dup fd 5=disk,/a,170 to 7=disk,/a,cloexec,230\n"
              "10: fcntl 240..250 = 8 dup fd 4=disk,/a,cloexec,110 to 8=disk,/a,250\n"
              "10: fcntl 260..270 = 9 dup fd 4=disk,/a,cloexec,110 to 9=disk,/a,cloexec,270\n"
              "10: fcntl 280..290 = 0 other fd 8=disk,/a,cloexec,250\n"
              "10: fcntl 300..310 = 32768 other fd 8=disk,/a,cloexec,250\n"
              "10: read 320..330 = 1 read fd 5=disk,/a,170 wants 100 moved 1\n");
    /* Number 1 was the second file made. */
    g_assert_cmpint(lull_model_file(f->model, 1)->close_ns, ==, 170);
    g_assert_cmpint(lull_model_file(f->model, 0)->close_ns, ==, INT64_MAX);
}

static void test_close(struct fixture *f, gconstpointer data)
{
    open_file(f, 100, 4, "/a", 0);
    g_string_truncate(f->seen, 0);
    CALL(120, close, 0, ARG(fd), .fd = 4);
    g_assert_cmpint(lull_model_file(f->model, 0)->close_ns, ==, 130);
    CALL(140, close, -9, ARG(fd), .fd = 4);
    open_file(f, 160, 4, "/b", 0);
    open_file(f, 180, 4, "/c", 0); /* the close of /b was not seen */
    g_assert_cmpint(lull_model_file(f->model, 1)->close_ns, ==, 190);
    CALL(200, close, -4, ARG(fd), .fd = 4); /* EINTR: closed all the same on Linux */
    read_file(f, 220, 4, -9);
    CALL(240, close, 0, ARG(fd), .fd = 41);
    expect(f, "10: close 120..130 = 0 close fd 4=disk,/a,110\n"
              "10: close 140..150 = -9 close fd 4\n"
              "10: openat 160..170 = 4 open fd 4=disk,/b,170\n"
              "10: openat 180..190 = 4 open fd 4=disk,/c,190\n"
              "10: close 200..210 = -4 close fd 4=disk,/c,190\n"
              "10: read 220..230 = -9 read fd 4 wants 100 moved 0\n"
              "10: close 240..250 = 0 close fd 41=unknown,?,before\n");
}

static void test_close_range(struct fixture *f, gconstpointer data)
{
    for (int fd = 3; fd < 8; fd++) {
        open_file(f, 100 + fd, fd, "/a", 0);
    }
    CALL(200, close_range, 0, ARG(fd) | ARG(new_fd) | ARG(flags), .fd = 4, .new_fd = 5);
    g_string_truncate(f->seen, 0);
    for (int fd = 3; fd < 8; fd++) {
        read_file(f, 300 + fd * 20, fd, fd == 4 || fd == 5 ? -9 : 1);
    }
    /* CLOSE_RANGE_CLOEXEC to the end, which is ~0U */
    CALL(500, close_range, 0, ARG(fd) | ARG(new_fd) | ARG(flags), .fd = 6, .new_fd = UINT32_MAX,
         .flags = 4);
    read_file(f, 520, 3, 1);
    read_file(f, 540, 7, 1);
    expect(f, "10: read 360..370 = 1 read fd 3=disk,/a,113 wants 100 moved 1\n"
              "10: read 380..390 = -9 read fd 4 wants 100 moved 0\n"
              "10: read 400..410 = -9 read fd 5 wants 100 moved 0\n"
              "10: read 420..430 = 1 read fd 6=disk,/a,116 wants 100 moved 1\n"
              "10: read 440..450 = 1 read fd 7=disk,/a,117 wants 100 moved 1\n"
              "10: close_range 500..510 = 0 close\n"
              "10: read 520..530 = 1 read fd 3=disk,/a,113 wants 100 moved 1\n"
              "10: read 540..550 = 1 read fd 7=disk,/a,cloexec,117 wants 100 moved 1\n");
}

/* The kernel looks descriptors up when calls begin and frees them when close() begins. CPU 0 runs
 * thread 10, CPU 1 thread 11 of the same process. */
static void test_threads_race(struct fixture *f, gconstpointer data)
{
    feed_fork(f->model, 0, 50, 10, 11, 10);
    feed_switch(f->model, 0, 1, 60, 0, 11, 0);
    open_file(f, 100, 4, "/a", 0);
    open_file(f, 120, 5, "/b", 0);
    g_string_truncate(f->seen, 0);
    FEED_ENTER(f->model, 1, 200, read, ARG(fd) | ARG(bytes), .fd = 5, .bytes = 9);
    FEED_ENTER(f->model, 0, 210, close, ARG(fd), .fd = 5);
    feed_leave(f->model, 0, 220, NR_close, 0);
    feed_leave(f->model, 1, 230, NR_read, 9); /* of the file that it began with */
    FEED_ENTER(f->model, 0, 240, close, ARG(fd), .fd = 4);
    FEED_ENTER(f->model, 1, 245, openat, ARG(path), .path = "/c");
    feed_leave(f->model, 1, 250, NR_openat, 4); /* gets the number that close() has freed */
    feed_leave(f->model, 0, 260, NR_close, 0);
    read_file(f, 270, 4, 1);
    expect(f, "10: close 210..220 = 0 close fd 5=disk,/b,130\n"
              "11: read 200..230 = 9 read fd 5=disk,/b,130 wants 9 moved 9\n"
              "11: openat 245..250 = 4 open fd 4=disk,/c,250\n"
              "10: close 240..260 = 0 close fd 4=disk,/a,110\n"
              "10: read 270..280 = 1 read fd 4=disk,/c,250 wants 100 moved 1\n");
    g_assert_cmpint(lull_model_file(f->model, 0)->close_ns, ==, 250);
}

static void test_fork(struct fixture *f, gconstpointer data)
{
    open_file(f, 100, 4, "/a", 0);
    open_file(f, 120, 5, "/b", O_CLOEXEC_X86);
    open_file(f, 130, 6, "/c", O_CLOEXEC_X86);
    FEED_ENTER(f->model, 0, 140, clone, ARG(flags), .flags = 0x1200011); /* fork() of glibc */
    feed_fork(f->model, 0, 150, 10, 20, 20);
    feed_leave(f->model, 0, 160, NR_clone, 20);
    CALL(170, close, 0, ARG(fd), .fd = 4); /* the parent's, not the child's */
    open_file(f, 180, 4, "/parent", 0);
    g_string_truncate(f->seen, 0);
    feed_switch(f->model, 0, 0, 200, 10, 20, 0);
    feed_leave(f->model, 0, 205, NR_clone, 0); /* comes back from a call it did not make */
    read_file(f, 210, 4, 1);
    CALL(230, fcntl, 0, ARG(fd) | ARG(command) | ARG(argument), .fd = 6, .command = 2,
         .argument = 0);
    feed_exec(f->model, 0, 250, 20);
    read_file(f, 260, 4, 1);
    read_file(f, 280, 5, 1); /* closed by exec: it is something else that was not seen */
    read_file(f, 300, 6, 1);
    open_file(f, 320, 5, "/child", 0);
    feed_switch(f->model, 0, 0, 340, 20, 10, 0);
    read_file(f, 350, 4, 1);
    read_file(f, 370, 5, 1);
    read_file(f, 390, 6, 1);
    expect(f, "20: read 210..220 = 1 read fd 4=disk,/a,150 wants 100 moved 1\n"
              "20: fcntl 230..240 = 0 other fd 6=disk,/c,150\n"
              "20: read 260..270 = 1 read fd 4=disk,/a,150 wants 100 moved 1\n"
              "20: read 280..290 = 1 read fd 5=unknown,?,before wants 100 moved 1\n"
              "20: read 300..310 = 1 read fd 6=disk,/c,150 wants 100 moved 1\n"
              "20: openat 320..330 = 5 open fd 5=disk,/child,330\n"
              "10: read 350..360 = 1 read fd 4=disk,/parent,190 wants 100 moved 1\n"
              "10: read 370..380 = 1 read fd 5=disk,/b,cloexec,130 wants 100 moved 1\n"
              "10: read 390..400 = 1 read fd 6=disk,/c,cloexec,140 wants 100 moved 1\n");
}

/* Threads share: by clone's flags, and by the process if the flags are not told. */
static void test_threads(struct fixture *f, gconstpointer data)
{
    open_file(f, 100, 4, "/a", 0);
    FEED_ENTER(f->model, 0, 120, clone3, 0);
    feed_fork(f->model, 0, 130, 10, 11, 10);
    feed_leave(f->model, 0, 140, NR_clone3, 11);
    FEED_ENTER(f->model, 0, 150, clone, ARG(flags), .flags = 0x400); /* CLONE_FILES alone */
    feed_fork(f->model, 0, 155, 10, 12, 12);
    feed_leave(f->model, 0, 160, NR_clone, 12);
    open_file(f, 170, 5, "/b", 0);
    g_string_truncate(f->seen, 0);
    feed_switch(f->model, 0, 0, 200, 10, 11, 0);
    read_file(f, 210, 5, 1);
    feed_switch(f->model, 0, 0, 230, 11, 12, 0);
    read_file(f, 240, 5, 1);
    CALL(260, unshare, 0, ARG(flags), .flags = 0x400);
    open_file(f, 280, 6, "/mine", 0);
    CALL(300, close, 0, ARG(fd), .fd = 4);
    feed_switch(f->model, 0, 0, 320, 12, 11, 0);
    read_file(f, 330, 4, 1);
    read_file(f, 350, 6, -9);
    expect(f, "11: read 210..220 = 1 read fd 5=disk,/b,180 wants 100 moved 1\n"
              "12: read 240..250 = 1 read fd 5=disk,/b,180 wants 100 moved 1\n"
              "12: unshare 260..270 = 0\n"
              "12: openat 280..290 = 6 open fd 6=disk,/mine,290\n"
              "12: close 300..310 = 0 close fd 4=disk,/a,270\n"
              "11: read 330..340 = 1 read fd 4=disk,/a,110 wants 100 moved 1\n"
              "11: read 350..360 = -9 read fd 6 wants 100 moved 0\n");
}

/* That a thread is born while its parent seems to be in another call says nothing of how: it shares. */
static void test_birth_in_call(struct fixture *f, gconstpointer data)
{
    FEED_ENTER(f->model, 0, 100, read, ARG(fd), .fd = 0);
    feed_fork(f->model, 0, 110, 10, 11, 10);
    feed_leave(f->model, 0, 120, NR_read, 0);
    open_file(f, 130, 4, "/a", 0);
    feed_switch(f->model, 0, 0, 150, 10, 11, 0);
    g_string_truncate(f->seen, 0);
    read_file(f, 160, 4, 1);
    expect(f, "11: read 160..170 = 1 read fd 4=disk,/a,140 wants 100 moved 1\n");
}

/* Files are closed when the last thread of their process is dead. */
static void test_death(struct fixture *f, gconstpointer data)
{
    struct lull_model *model = f->model;
    feed_fork(f->model, 0, 50, 10, 11, 10);
    open_file(f, 100, 4, "/a", 0);
    FEED(sched_process_exit, 0, 0, 150, .have = ALL, .tid = 10);
    feed_switch(f->model, 0, 0, 200, 10, 11, 32);
    g_assert_cmpint(lull_model_file(f->model, 0)->close_ns, ==, INT64_MAX);
    read_file(f, 210, 4, 1);
    FEED(sched_process_exit, 0, 0, 250, .have = ALL, .tid = 11);
    feed_switch(f->model, 0, 0, 300, 11, 0, 32);
    g_assert_cmpint(lull_model_file(f->model, 0)->close_ns, ==, 300);
    /* The same pid again is another process. */
    feed_switch(f->model, 0, 0, 310, 0, 10, 0);
    read_file(f, 320, 4, 1);
    expect(f, "10: openat 100..110 = 4 open fd 4=disk,/a,110\n"
              "11: read 210..220 = 1 read fd 4=disk,/a,110 wants 100 moved 1\n"
              "10: read 320..330 = 1 read fd 4=unknown,?,before wants 100 moved 1\n");
}

/* A thread that has its own descriptors: other threads, and those born later, do not see them, and
 * they are closed when it dies, while the process lives. */
static void test_thread_apart(struct fixture *f, gconstpointer data)
{
    feed_fork(f->model, 0, 50, 10, 11, 10);
    open_file(f, 100, 4, "/a", 0);
    feed_switch(f->model, 0, 0, 120, 10, 11, 0);
    CALL(130, unshare, 0, ARG(flags), .flags = 0x400);
    open_file(f, 150, 6, "/mine", 0);
    feed_switch(f->model, 0, 0, 170, 11, 10, 0);
    feed_fork(f->model, 0, 180, 10, 12, 10);
    feed_switch(f->model, 0, 0, 190, 10, 12, 0);
    g_string_truncate(f->seen, 0);
    read_file(f, 200, 6, -9);
    read_file(f, 220, 4, 1);
    expect(f, "12: read 200..210 = -9 read fd 6 wants 100 moved 0\n"
              "12: read 220..230 = 1 read fd 4=disk,/a,110 wants 100 moved 1\n");
    const struct lull_file *mine = lull_model_file(f->model, 1);
    g_assert_cmpstr(lull_model_label(f->model, mine->path), ==, "/mine");
    g_assert_cmpint(mine->close_ns, ==, INT64_MAX);
    feed_switch(f->model, 0, 0, 240, 12, 11, 0);
    struct lull_model *model = f->model;
    FEED(sched_process_exit, 0, 0, 250, .have = ALL, .tid = 11);
    feed_switch(f->model, 0, 0, 260, 11, 10, 32);
    g_assert_cmpint(lull_model_file(f->model, 1)->close_ns, ==, 260);
    read_file(f, 270, 4, 1);
    expect(f, "10: read 270..280 = 1 read fd 4=disk,/a,110 wants 100 moved 1\n");
}

static void test_bytes(struct fixture *f, gconstpointer data)
{
    open_file(f, 100, 4, "/a", 0);
    open_file(f, 120, 5, "/b", 0);
    g_string_truncate(f->seen, 0);
    CALL(140, readv, 50, ARG(fd), .fd = 4); /* how much was asked for is not told */
    CALL(160, writev, 5000, ARG(fd), .fd = 5);
    CALL(180, splice, 64, ARG(fd) | ARG(to_fd) | ARG(bytes), .fd = 4, .to_fd = 5, .bytes = 128);
    CALL(200, sendfile, -11, ARG(fd) | ARG(to_fd) | ARG(bytes), .fd = 4, .to_fd = 5, .bytes = 64);
    CALL(220, copy_file_range, 0, ARG(fd) | ARG(to_fd) | ARG(bytes), .fd = 4, .to_fd = 5,
         .bytes = 64);
    CALL(240, fsync, 0, ARG(fd), .fd = 5);
    CALL(260, sync, 0, 0);
    CALL(280, getpid, 10, 0);
    expect(f,
           "10: readv 140..150 = 50 read fd 4=disk,/a,110 moved 50\n"
           "10: writev 160..170 = 5000 write fd 5=disk,/b,130 moved 5000\n"
           "10: splice 180..190 = 64 copy fd 4=disk,/a,110 to 5=disk,/b,130 wants 128 moved 64\n"
           "10: sendfile 200..210 = -11 copy fd 4=disk,/a,110 to 5=disk,/b,130 wants 64 moved 0\n"
           "10: copy_file_range 220..230 = 0 copy fd 4=disk,/a,110 to 5=disk,/b,130 wants 64 "
           "moved 0\n"
           "10: fsync 240..250 = 0 sync fd 5=disk,/b,130\n"
           "10: sync 260..270 = 0 sync\n"
           "10: getpid 280..290 = 10\n");
}

/* Whoever is on the CPU has N files of test_many() and calls on each. */
static void expect_many(struct fixture *f, int64_t t, int n, int tid, bool closes)
{
    for (int fd = 0; fd < n; fd++, t += 20) {
        g_autofree char *line =
            g_strdup_printf("%d: %s %d..%d = 0 %s fd %d=disk,/%d,", tid, closes ? "close" : "read",
                            (int)t, (int)t + 10, closes ? "close" : "read", fd * 3, fd);
        g_string_truncate(f->seen, 0);
        if (closes) {
            CALL(t, close, 0, ARG(fd), .fd = fd * 3);
        } else {
            read_file(f, t, fd * 3, 0);
        }
        g_assert_true(g_str_has_prefix(f->seen->str, line));
    }
}

/* Many descriptors, in no order; a child has the same. */
static void test_many(struct fixture *f, gconstpointer data)
{
    enum { N = 5000, STEP = 1237 }; /* no common divisor: all numbers come once */
    for (int i = 0; i < N; i++) {
        char path[16];
        int fd = (int)((int64_t)i * STEP % N);
        g_snprintf(path, sizeof path, "/%d", fd);
        open_file(f, 1000 + i * 20, fd * 3, path, 0);
    }
    FEED_ENTER(f->model, 0, 200000, clone, ARG(flags), .flags = 0x1200011);
    feed_fork(f->model, 0, 200010, 10, 20, 20);
    feed_leave(f->model, 0, 200020, NR_clone, 20);
    expect_many(f, 1000000, N, 10, true);
    feed_switch(f->model, 0, 0, 2000000, 10, 20, 0);
    feed_leave(f->model, 0, 2000010, NR_clone, 0);
    expect_many(f, 3000000, N, 20, false);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    TEST("open", test_open);
    TEST("unread-path", test_unread_path);
    TEST("queue-and-terminal", test_queue_and_terminal);
    TEST("make", test_make);
    TEST("pairs", test_pairs);
    TEST("sockets", test_sockets);
    TEST("copied-sockets", test_copied_sockets);
    TEST("family", test_family);
    TEST("accept", test_accept);
    TEST("accept-unix", test_accept_unix);
    TEST("dup", test_dup);
    TEST("close", test_close);
    TEST("close-range", test_close_range);
    TEST("threads-race", test_threads_race);
    TEST("fork", test_fork);
    TEST("threads", test_threads);
    TEST("thread-apart", test_thread_apart);
    TEST("birth-in-call", test_birth_in_call);
    TEST("death", test_death);
    TEST("bytes", test_bytes);
    TEST("many", test_many);
    return g_test_run();
}
