/* SPDX-License-Identifier: MIT */
/* The analysis of I/O, from facts said by hand. What is expected is counted by hand. */
#include <glib.h>
#include <stdio.h>

#include "facts.h"

#define NONE LULL_NONE

/* Descriptors of all kinds, read and written by two threads of one process and by another one. */
struct scene {
    uint32_t app, thread, other;
    uint32_t disk, again, net, pipe, nothing;
};

static struct scene make_scene(struct facts *facts)
{
    struct scene s = {.app = facts_task(facts, 10, 10),
                      .thread = facts_task(facts, 11, 10),
                      .other = facts_task(facts, 20, 20)};
    s.disk = facts_file(facts, s.app, 3, "/tmp/a", LULL_FILE_DISK);
    s.again = facts_file(facts, s.other, 5, "/tmp/a", LULL_FILE_DISK);
    s.net = facts_file(facts, s.app, 4, "127.0.0.1:80", LULL_FILE_NET);
    s.pipe = facts_file(facts, s.app, 6, "pipe", LULL_FILE_PIPE);
    s.nothing = facts_file(facts, s.app, 7, NULL, LULL_FILE_UNKNOWN);
    return s;
}

static struct lull_io io_of(uint8_t kind, int32_t fd, uint32_t file, int64_t bytes)
{
    return (struct lull_io){.kind = kind,
                            .fd = fd,
                            .to_fd = -1,
                            .file = file,
                            .to_file = NONE,
                            .requested_bytes = -1,
                            .bytes = bytes};
}

static void say_calls(struct facts *facts, const struct scene *s)
{
    facts_io(facts, s->app, "openat", 10, 11, 3, io_of(LULL_IO_OPEN, 3, s->disk, -1));
    facts_io(facts, s->app, "openat", 12, 14, -2, io_of(LULL_IO_OPEN, -1, NONE, -1));
    facts_io(facts, s->app, "read", 20, 30, 100, io_of(LULL_IO_READ, 3, s->disk, 100));
    facts_io(facts, s->app, "read", 31, 33, -11, io_of(LULL_IO_READ, 4, s->net, 0));
    facts_io(facts, s->thread, "recvfrom", 32, 38, 7, io_of(LULL_IO_READ, 4, s->net, 7));
    facts_io(facts, s->thread, "write", 40, 44, 30, io_of(LULL_IO_WRITE, 6, s->pipe, 30));
    facts_io(facts, s->other, "read", 35, 45, 50, io_of(LULL_IO_READ, 5, s->again, 50));
    facts_io(facts, s->app, "read", 46, 47, 5, io_of(LULL_IO_READ, 7, s->nothing, 5));
    facts_io(facts, s->app, "read", 48, 49, 3, io_of(LULL_IO_READ, 9, NONE, 3));
    struct lull_io copy = io_of(LULL_IO_COPY, 3, s->disk, 1000);
    copy.to_fd = 4;
    copy.to_file = s->net;
    facts_io(facts, s->app, "sendfile", 50, 70, 1000, copy);
    facts_io(facts, s->app, "accept4", 50, 90, 8, io_of(LULL_IO_OPEN, 8, NONE, -1));
    facts_io(facts, s->app, "fsync", 91, 96, 0, io_of(LULL_IO_SYNC, 3, s->disk, -1));
    facts_io(facts, s->app, "close", 97, 98, 0, io_of(LULL_IO_CLOSE, 3, s->disk, -1));
    facts_io(facts, s->app, "ioctl", 99, 100, 0, io_of(LULL_IO_OTHER, 4, s->net, -1));
    facts_io(facts, s->app, "read", INT64_MIN, 101, 8, io_of(LULL_IO_READ, 3, s->disk, 8));
    facts_io(facts, s->app, "recvmmsg", 102, 103, 2, io_of(LULL_IO_READ, 4, s->net, -1));
}

/* total disk net socket pipe other unknown */
static void test_usage(void)
{
    struct lull_question_params params = facts_params();
    params.sections = LULL_SECTION_USAGE;
    struct facts facts = facts_start(&lull_analysis_io, params);
    struct scene s = make_scene(&facts);
    facts_open(&facts, 0);
    say_calls(&facts, &s);
    facts_close(&facts, 200);
    facts_expect(&facts, "per-process-top [read]",
                 "t10/10/10 1116 1108 0 0 0 0 8\n"
                 "t20/20/20 50 50 0 0 0 0 0\n"
                 "t11/10/11 7 0 7 0 0 0 0\nper-process-top [written]\n");
    facts_expect(&facts, "per-process-top [written]",
                 "t10/10/10 1000 0 1000 0 0 0 0\n"
                 "t11/10/11 30 0 0 0 30 0 0\nper-file-top [read]\n");
    facts_expect(&facts, "per-file-top [read]",
                 "/tmp/a 1158 disk fd 3 in t10 (10) fd 5 in t20 (20) \n"
                 "127.0.0.1:80 7 net fd 4 in t10 (10) \n"
                 "unknown (t10) 5 ? fd 7 in t10 (10) \n"
                 "? 3 ? \nper-file-top [written]\n");
    facts_expect(&facts, "per-file-top [written]",
                 "127.0.0.1:80 1000 net fd 4 in t10 (10) \n"
                 "pipe (t10) 30 pipe fd 6 in t10 (10) \n");
    facts_expect(&facts, "note: 1 call moved a number of bytes that the trace does not record", "");
    facts_end(&facts);
}

/* LAMI has columns for disk and net only, and a row for each task that did any I/O. */
static void test_usage_lami(void)
{
    struct lull_question_params params = facts_params();
    params.sections = LULL_SECTION_USAGE;
    params.is_lami = true;
    struct facts facts = facts_start(&lull_analysis_io, params);
    struct scene s = make_scene(&facts);
    facts_open(&facts, 0);
    say_calls(&facts, &s);
    facts_close(&facts, 200);
    facts_expect(&facts, "per-process-top [written]",
                 "t10/10/10 1000 0 1000 0 0 0 0\n"
                 "t11/10/11 30 0 0 0 30 0 30\n"
                 "t20/20/20 0 0 0 0 0 0 0\nper-file-top [read]\n");
    facts_end(&facts);
}

/* For any calls on any descriptors: what the processes moved is what went through the files plus
 * what went through unknown descriptors. */
static void test_sums(void)
{
    struct lull_question_params params = facts_params();
    params.sections = LULL_SECTION_USAGE;
    struct facts facts = facts_start(&lull_analysis_io, params);
    uint32_t tasks[20], files[40];
    for (int i = 0; i < 20; i++) {
        tasks[i] = facts_task(&facts, 100 + i, 100 + i / 3 * 3);
    }
    for (int i = 0; i < 40; i++) {
        g_autofree char *path = i % 5 ? g_strdup_printf("/f%d", i % 13) : NULL;
        files[i] = facts_file(&facts, tasks[i % 20], i, path, i % (LULL_FILE_OTHER + 1));
    }
    facts_open(&facts, 0);
    uint64_t expected[2] = {0};
    for (int i = 0; i < 5000; i++) {
        int64_t bytes = g_test_rand_int_range(0, 100000);
        int file = g_test_rand_int_range(0, 44);
        uint8_t kind = (uint8_t[]){LULL_IO_READ, LULL_IO_WRITE, LULL_IO_COPY}[i % 3];
        struct lull_io io = io_of(kind, file, file < 40 ? files[file] : NONE, bytes);
        if (kind == LULL_IO_COPY) {
            io.to_fd = 3;
            io.to_file = files[3];
        }
        expected[0] += kind == LULL_IO_WRITE ? 0 : bytes;
        expected[1] += kind == LULL_IO_READ ? 0 : bytes;
        facts_io(&facts, tasks[g_test_rand_int_range(0, 20)], "call", i, i + 1, bytes, io);
    }
    facts_close(&facts, 6000);
    static const char *const heads[] = {"read", "written"};
    for (int direction = 0; direction < 2; direction++) {
        static const char *const tables[] = {"per-process-top", "per-file-top"};
        for (int table = 0; table < 2; table++) {
            g_autofree char *head = g_strdup_printf("%s [%s]", tables[table], heads[direction]);
            g_autofree char *text = table_sink_get(&facts.sink, head);
            uint64_t sum = 0;
            g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
            for (int i = 0; *lines[i] && !g_str_has_prefix(lines[i], "per-"); i++) {
                const char *at =
                    lines[i]; /* "t1/1/1 SIZE …", "/f3 SIZE …", "unknown (t1) SIZE …" */
                at = strchr(at, ' ');
                if (at[1] == '(') {
                    at = strchr(at + 1, ' ');
                }
                sum += g_ascii_strtoull(at + 1, NULL, 10);
            }
            g_assert_cmpuint(sum, ==, expected[direction]);
        }
    }
    facts_end(&facts);
}

/* count min avg max stdev p50 p90 p99 p99.9. Failed calls took their time too; the read whose begin
 * was not seen did not; accept() waits for a client and is not among Open. */
static void test_stats(void)
{
    struct lull_question_params params = facts_params();
    params.sections = LULL_SECTION_STATS;
    struct facts facts = facts_start(&lull_analysis_io, params);
    struct scene s = make_scene(&facts);
    facts_open(&facts, 0);
    say_calls(&facts, &s);
    facts_close(&facts, 200);
    /* Read: 10 2 6 10 1 1 1, mean 31/7, squares 243, 243 - 961/7 = 740/7, /6 = 17.619, root 4.198
     */
    facts_expect(&facts, "syscall-latency-stats",
                 "Open 2 1 1.500 2 0.707 1 2 2 2\n"
                 "Read 7 1 4.429 10 4.198 2 10 10 10\n"
                 "Write 1 4 4.000 4 ? 4 4 4 4\n"
                 "Sync 1 5 5.000 5 ? 5 5 5 5\n"
                 "Copy 1 20 20.000 20 ? 20 20 20 20\n"
                 "Accept 1 40 40.000 40 ? 40 40 40 40\n");
    facts_expect(&facts,
                 "note: 1 call is not measured, as its start was not seen; what it moved "
                 "counts",
                 "");
    facts_end(&facts);
}

/* Of more calls than are kept at a time: the two longest are 100 and 60, though the second came after
 * the others had been put in order. */
static void test_longest_of_many(void)
{
    struct lull_question_params params = facts_params();
    params.sections = LULL_SECTION_TOP;
    params.limit = 2;
    struct facts facts = facts_start(&lull_analysis_io, params);
    uint32_t task = facts_task(&facts, 10, 10);
    uint32_t file = facts_file(&facts, task, 3, "/a", LULL_FILE_DISK);
    facts_open(&facts, 0);
    for (int i = 0; i < 200; i++) {
        const int64_t ns = i == 0 ? 100 : i == 1 ? 50 : i == 199 ? 60 : 10 + i % 7;
        facts_io(&facts, task, "read", i * 1000, i * 1000 + ns, 1, io_of(LULL_IO_READ, 3, file, 1));
    }
    facts_close(&facts, 300000);
    facts_expect(&facts, "top-syscall [read]",
                 "0..100 0 100 read read 1 - t10/-1/10 10 /a 3 -\n"
                 "199000..199060 0 60 read read 1 - t10/-1/10 10 /a 3 -\n");
    facts_end(&facts);
}

/* time, out of range, duration, call, category, size, error, task, pid, path, fd, copied to */
static void test_log(void)
{
    struct lull_question_params params = facts_params();
    params.sections = LULL_SECTION_LOG | LULL_SECTION_TOP;
    params.limit = 2;
    struct facts facts = facts_start(&lull_analysis_io, params);
    struct scene s = make_scene(&facts);
    uint32_t unknown = facts_task(&facts, 30, -1); /* of which process is not known */
    facts_open(&facts, 32);
    facts_io(&facts, unknown, "sync", 1, 3, 0, io_of(LULL_IO_SYNC, -1, NONE, -1));
    say_calls(&facts, &s);
    facts_close(&facts, 200);
    facts_expect(&facts, "log",
                 "1..3 1 2 sync sync - - t30/-1/30 ? - - -\n"
                 "10..11 1 1 openat open - - t10/-1/10 10 /tmp/a 3 -\n"
                 "12..14 1 2 openat open - ENOENT t10/-1/10 10 - - -\n"
                 "20..30 1 10 read read 100 - t10/-1/10 10 /tmp/a 3 -\n"
                 "31..33 1 2 read read - EAGAIN t10/-1/10 10 127.0.0.1:80 4 -\n"
                 "32..38 0 6 recvfrom read 7 - t11/-1/11 10 127.0.0.1:80 4 -\n"
                 "35..45 0 10 read read 50 - t20/-1/20 20 /tmp/a 5 -\n"
                 "40..44 0 4 write write 30 - t11/-1/11 10 pipe 6 -\n"
                 "46..47 0 1 read read 5 - t10/-1/10 10 ? 7 -\n"
                 "48..49 0 1 read read 3 - t10/-1/10 10 ? 9 -\n"
                 "50..70 0 20 sendfile copy 1000 - t10/-1/10 10 /tmp/a 3 127.0.0.1:80\n"
                 "50..90 0 40 accept4 accept - - t10/-1/10 10 ? 8 -\n"
                 "91..96 0 5 fsync sync - - t10/-1/10 10 /tmp/a 3 -\n"
                 "97..98 0 1 close close - - t10/-1/10 10 /tmp/a 3 -\n"
                 "102..103 0 1 recvmmsg read ? - t10/-1/10 10 127.0.0.1:80 4 -\n");
    /* Equal ones in the order they ended; no more than were asked for. */
    facts_expect(&facts, "top-syscall [read]",
                 "20..30 1 10 read read 100 - t10/-1/10 10 /tmp/a 3 -\n"
                 "35..45 0 10 read read 50 - t20/-1/20 20 /tmp/a 5 -\n"
                 "top-syscall [write]\n");
    facts_end(&facts);
}

/* The longest of many calls, in whatever order they come. */
static void test_top_of_many(void)
{
    struct lull_question_params params = facts_params();
    params.sections = LULL_SECTION_TOP;
    params.limit = 3;
    struct facts facts = facts_start(&lull_analysis_io, params);
    struct scene s = make_scene(&facts);
    facts_open(&facts, 0);
    for (int i = 0; i < 10000; i++) { /* 7919 is prime to 10000: durations 0 … 9999, once each */
        facts_io(&facts, s.app, "read", 20000 + i - (int64_t)i * 7919 % 10000, 20000 + i, 1,
                 io_of(LULL_IO_READ, 3, s.disk, 1));
    }
    facts_close(&facts, 40000);
    g_autofree char *rows = table_sink_get(&facts.sink, "top-syscall [read]");
    g_auto(GStrv) lines = g_strsplit(rows, "\n", -1);
    g_assert_cmpuint(g_strv_length(lines), ==, 4);
    for (int i = 0; i < 3; i++) {
        int duration;
        g_assert_cmpint(sscanf(lines[i], "%*s 0 %d", &duration), ==, 1);
        g_assert_cmpint(duration, ==, 9999 - i);
    }
    facts_end(&facts);
}

/* By task, CPU, duration and size. Sizes that are not known pass, as with the peer. */
static void test_filters(void)
{
    static const int64_t tids[] = {10};
    struct lull_question_params params = facts_params();
    params.tids = (struct lull_numbers){tids, 1};
    params.min_ns = 2;
    params.max_ns = 20;
    params.min_bytes = 100;
    params.max_bytes = 100;
    params.sections = LULL_SECTION_LOG | LULL_SECTION_USAGE;
    struct facts facts = facts_start(&lull_analysis_io, params);
    struct scene s = make_scene(&facts);
    facts_open(&facts, 0);
    say_calls(&facts, &s);
    facts_close(&facts, 200);
    facts_expect(&facts, "log",
                 "12..14 0 2 openat open - ENOENT t10/-1/10 10 - - -\n"
                 "20..30 0 10 read read 100 - t10/-1/10 10 /tmp/a 3 -\n"
                 "31..33 0 2 read read - EAGAIN t10/-1/10 10 127.0.0.1:80 4 -\n"
                 "91..96 0 5 fsync sync - - t10/-1/10 10 /tmp/a 3 -\n");
    facts_expect(&facts, "per-process-top [read]",
                 "t10/10/10 1116 1108 0 0 0 0 8\nper-process-top [written]\n");
    facts_end(&facts);
}

/* Reads of 10 2 6 10 1 1 1: four bins of 2.25 from 1 to 10, or powers of two. */
static void test_histograms(void)
{
    struct lull_question_params params = facts_params();
    params.sections = LULL_SECTION_FREQ;
    struct facts facts = facts_start(&lull_analysis_io, params);
    struct scene s = make_scene(&facts);
    facts_open(&facts, 0);
    say_calls(&facts, &s);
    facts_close(&facts, 200);
    facts_expect(&facts, "freq [read]",
                 "1.000 3.250 4\n3.250 5.500 0\n5.500 7.750 1\n7.750 10.000 2\n");
    facts_expect(&facts, "freq [write]", "4.000 4.000 1\n");
    facts_end(&facts);

    params.freq_logarithmic = true;
    facts = facts_start(&lull_analysis_io, params);
    s = make_scene(&facts);
    facts_open(&facts, 0);
    say_calls(&facts, &s);
    facts_close(&facts, 200);
    facts_expect(&facts, "freq [read]",
                 "1.000 2.000 3\n2.000 4.000 1\n4.000 8.000 1\n8.000 16.000 2\n");
    facts_end(&facts);

    params.freq_logarithmic = false;
    params.freq_uniform = true; /* from 1 to 40 */
    facts = facts_start(&lull_analysis_io, params);
    s = make_scene(&facts);
    facts_open(&facts, 0);
    say_calls(&facts, &s);
    facts_close(&facts, 200);
    facts_expect(&facts, "freq [read]",
                 "1.000 10.750 7\n10.750 20.500 0\n20.500 30.250 0\n30.250 40.000 0\n");
    facts_end(&facts);
}

/* ---- disks ---- */

static uint32_t add_request(struct facts *facts, uint32_t submitter, uint32_t rwbs,
                            uint32_t sectors, const int64_t times[static 3])
{
    lull_vec_push(&facts->model->requests, (struct lull_block_request){.dev = 8 << 20 | 1,
                                                                       .mapped_dev = 8 << 20 | 1,
                                                                       .sectors = sectors,
                                                                       .rwbs = rwbs,
                                                                       .submitter = submitter,
                                                                       .label = NONE,
                                                                       .insert_ns = times[0],
                                                                       .issue_ns = times[1],
                                                                       .complete_ns = times[2]});
    uint32_t number = (uint32_t)facts->model->requests.count - 1;
    for (int step = LULL_BLOCK_INSERT; step <= LULL_BLOCK_COMPLETE; step++) {
        if (times[step] != INT64_MIN) {
            facts->class->facts.block(
                facts->analysis,
                &(struct lull_block_fact){
                    .time_ns = times[step], .request = number, .task = NONE, .step = step});
        }
    }
    return number;
}

static void test_disks(void)
{
    struct lull_question_params params = facts_params();
    params.sections = LULL_SECTION_USAGE | LULL_SECTION_STATS | LULL_SECTION_FREQ;
    struct facts facts = facts_start(&lull_analysis_io, params);
    struct scene s = make_scene(&facts);
    facts_open(&facts, 0);
    add_request(&facts, s.app, LULL_RWBS_READ, 8, (int64_t[]){10, 15, 35});
    uint32_t flushed = add_request(&facts, s.app, LULL_RWBS_WRITE, 16, (int64_t[]){20, 21, 61});
    /* It completes again, after the flush behind it. */
    facts.model->requests.items[flushed].complete_ns = 100;
    add_request(&facts, NONE, LULL_RWBS_READ, 4, (int64_t[]){INT64_MIN, INT64_MIN, 40});
    add_request(&facts, s.other, LULL_RWBS_DISCARD | LULL_RWBS_WRITE, 1000,
                (int64_t[]){INT64_MIN, 50, 60});
    add_request(&facts, s.other, LULL_RWBS_FLUSH, 0, (int64_t[]){70, 71, 171});
    /* A poll for new media: neither data nor a flush. */
    add_request(&facts, s.other, LULL_RWBS_READ, 0, (int64_t[]){72, 73, 80});
    add_request(&facts, s.other, LULL_RWBS_READ, 8, (int64_t[]){80, 90, INT64_MIN});
    facts_close(&facts, 200);
    facts_expect(&facts, "per-process-top-block [read]", "t10/10/10 4096\n? 2048\n");
    facts_expect(&facts, "per-process-top-block [written]",
                 "t10/10/10 8192\nper-disk-top-sector\n");
    /* disk, moved, read, written, discarded */
    facts_expect(&facts, "per-disk-top-sector", "(8,1) 28 12 16 1000\n");
    facts_expect(&facts, "per-disk-top-request", "(8,1) 4 1\n");
    /* device times 20 40 10, queue times 5 1 */
    facts_expect(&facts, "per-disk-top-rps", "(8,1) 23.333 3.000\n");
    facts_expect(&facts, "disk-latency-stats",
                 "(8,1) data 3 10 23.333 40 15.275 20 40 40 40 3.000 5\n"
                 "(8,1) flush 1 100 100.000 100 ? 100 100 100 100 - -\n"
                 "(8,1) command 1 7 7.000 7 ? 7 7 7 7 - -\n");
    facts_expect(&facts, "freq [disk: (8,1)]",
                 "10.000 17.500 1\n17.500 25.000 1\n25.000 32.500 0\n32.500 40.000 1\n");
    facts_expect(&facts,
                 "note: 1 block request is not measured, as its issue was not seen; its "
                 "sectors count",
                 "");
    facts_end(&facts);
}

/* --min chooses what is measured, and leaves the usage alone, of which the slowest disk comes first. */
static void test_disks_filtered(void)
{
    struct lull_question_params params = facts_params();
    params.sections = LULL_SECTION_USAGE | LULL_SECTION_STATS;
    params.min_ns = 30000;
    struct facts facts = facts_start(&lull_analysis_io, params);
    struct scene s = make_scene(&facts);
    facts_open(&facts, 0);
    add_request(&facts, s.app, LULL_RWBS_READ, 8, (int64_t[]){10000, 15000, 35000});
    add_request(&facts, s.app, LULL_RWBS_WRITE, 16, (int64_t[]){20000, 21000, 61000});
    uint32_t slower =
        add_request(&facts, s.app, LULL_RWBS_READ, 1, (int64_t[]){INT64_MIN, 60000, 160000});
    facts.model->requests.items[slower].mapped_dev = 8 << 20 | 2;
    uint32_t fast =
        add_request(&facts, s.app, LULL_RWBS_READ, 1, (int64_t[]){INT64_MIN, 60000, 70000});
    facts.model->requests.items[fast].mapped_dev = 8 << 20 | 3;
    facts_close(&facts, 200000);
    facts_expect(&facts, "per-disk-top-rps",
                 "(8,2) 100000.000 ?\n(8,1) 30000.000 3000.000\n(8,3) 10000.000 ?\n");
    facts_expect(&facts, "disk-latency-stats",
                 "(8,1) data 1 40000 40000.000 40000 ? 40000 40000 40000 40000 1000.000 1000\n"
                 "(8,2) data 1 100000 100000.000 100000 ? 100000 100000 100000 100000 ? ?\n");
    facts_end(&facts);
}

static void test_netifs(void)
{
    struct lull_question_params params = facts_params();
    params.sections = LULL_SECTION_USAGE;
    struct facts facts = facts_start(&lull_analysis_io, params);
    make_scene(&facts);
    facts_open(&facts, 0);
    struct lull_netif_fact fact = {
        .device = facts_label(&facts, "eth0"), .length = 100, .task = NONE};
    facts.class->facts.netif(facts.analysis, &fact);
    fact.is_send = true;
    facts.class->facts.netif(facts.analysis, &fact);
    fact.length = 266;
    facts.class->facts.netif(facts.analysis, &fact);
    fact.device = facts_label(&facts, "lo");
    facts.class->facts.netif(facts.analysis, &fact);
    facts_close(&facts, 200);
    facts_expect(&facts, "per-netif-top [received]", "eth0 100 1\nlo 0 0\n");
    facts_expect(&facts, "per-netif-top [sent]", "eth0 366 2\nlo 266 1\n");
    facts_end(&facts);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/analysis/io/usage", test_usage);
    g_test_add_func("/analysis/io/usage-lami", test_usage_lami);
    g_test_add_func("/analysis/io/sums", test_sums);
    g_test_add_func("/analysis/io/stats", test_stats);
    g_test_add_func("/analysis/io/longest-of-many", test_longest_of_many);
    g_test_add_func("/analysis/io/log", test_log);
    g_test_add_func("/analysis/io/top-of-many", test_top_of_many);
    g_test_add_func("/analysis/io/filters", test_filters);
    g_test_add_func("/analysis/io/histograms", test_histograms);
    g_test_add_func("/analysis/io/disks", test_disks);
    g_test_add_func("/analysis/io/disks-filtered", test_disks_filtered);
    g_test_add_func("/analysis/io/netifs", test_netifs);
    return g_test_run();
}
