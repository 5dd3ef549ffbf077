/* SPDX-License-Identifier: MIT */
/* Views of a critical path, checked with a path made by hand whose numbers are simple sums, and
 * with hostile names. Expected values come from the contract of issue 2 (JSON), from the formats'
 * readers (json-c, GMarkup) and from arithmetic on the table below. */
#include <errno.h>
#include <json-c/json.h>
#include <locale.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include <lull/error.h>

#include "view/path/rows.h"
#include "view/svg.h"
#include "view/view.h"
#include "view/words.h"

#define BASE INT64_C(1795224979000000001)
#define TOTAL 9000001
#define N_SEGMENTS 17
#define EVIL_COMM "cli;e\"nt<&>"
#define BAD_UTF8_COMM                                                                              \
    "p\xff\x01\xe2\x82\xac" /* a stray byte, a control character, the euro sign                    \
                             */
#define BAD_UTF8_CLEAN "p\xef\xbf\xbd\xef\xbf\xbd\xe2\x82\xac" /* both replaced by U+FFFD */

static const struct {
    uint32_t host, task;
    int32_t tid;
    const char *comm;
    int64_t length_ns;
    enum lull_state state;
    enum lull_cause cause;
    const char *detail;
} steps[N_SEGMENTS] = {
    {0, 1, 10, EVIL_COMM, 1000000, LULL_STATE_RUNNING, LULL_CAUSE_NONE, NULL},
    {0, 1, 10, EVIL_COMM, 50000, LULL_STATE_INTERRUPTED, LULL_CAUSE_NONE, "timer"},
    {0, 1, 10, EVIL_COMM, 450000, LULL_STATE_RUNNING, LULL_CAUSE_NONE, NULL},
    {0, 1, 10, EVIL_COMM, 20000, LULL_STATE_PREEMPTED, LULL_CAUSE_NONE, "by make/99"},
    {0, 1, 10, EVIL_COMM, 480000, LULL_STATE_RUNNING, LULL_CAUSE_NONE, NULL},
    {0, 1, 10, EVIL_COMM, 100000, LULL_STATE_BLOCKED, LULL_CAUSE_TASK, NULL},
    {0, 1, 10, EVIL_COMM, 200000, LULL_STATE_BLOCKED, LULL_CAUSE_TIMER, "hrtimer"},
    {1, 3, 10, BAD_UTF8_COMM, 3999999, LULL_STATE_BLOCKED, LULL_CAUSE_DISK, "sda; re\nad"},
    {1, 3, 10, BAD_UTF8_COMM, 1, LULL_STATE_BLOCKED, LULL_CAUSE_DISK, "sda; re\nad"},
    {1, 3, 10, BAD_UTF8_COMM, 700000, LULL_STATE_BLOCKED, LULL_CAUSE_NETWORK, NULL},
    {1, 3, 10, BAD_UTF8_COMM, 300000, LULL_STATE_BLOCKED, LULL_CAUSE_USER_INPUT, NULL},
    {1, 3, 10, BAD_UTF8_COMM, 10000, LULL_STATE_BLOCKED, LULL_CAUSE_IPI, NULL},
    {1, 3, 10, BAD_UTF8_COMM, 20000, LULL_STATE_BLOCKED, LULL_CAUSE_IRQ, "]]>&"},
    {1, 3, 10, BAD_UTF8_COMM, 5000, LULL_STATE_BLOCKED, LULL_CAUSE_UNKNOWN, NULL},
    {1, 3, 10, BAD_UTF8_COMM, 600000, LULL_STATE_PREEMPTED, LULL_CAUSE_NONE, "by gcc/5"},
    {0, 4, -2, NULL, 65000, LULL_STATE_INTERRUPTED, LULL_CAUSE_NONE, "virtio0"},
    {0, 1, 10, EVIL_COMM, 1000001, LULL_STATE_RUNNING, LULL_CAUSE_NONE, NULL},
};

static const char *const host_names[] = {"we<b>&", "d\x1b[31mb"};

/* Sums of the table above, longest first. */
static struct lull_state_share by_state[] = {
    {LULL_STATE_BLOCKED, LULL_CAUSE_DISK, 4000000},
    {LULL_STATE_RUNNING, LULL_CAUSE_NONE, 2930001},
    {LULL_STATE_BLOCKED, LULL_CAUSE_NETWORK, 700000},
    {LULL_STATE_PREEMPTED, LULL_CAUSE_NONE, 620000},
    {LULL_STATE_BLOCKED, LULL_CAUSE_USER_INPUT, 300000},
    {LULL_STATE_BLOCKED, LULL_CAUSE_TIMER, 200000},
    {LULL_STATE_INTERRUPTED, LULL_CAUSE_NONE, 115000},
    {LULL_STATE_BLOCKED, LULL_CAUSE_TASK, 100000},
    {LULL_STATE_BLOCKED, LULL_CAUSE_IRQ, 20000},
    {LULL_STATE_BLOCKED, LULL_CAUSE_IPI, 10000},
    {LULL_STATE_BLOCKED, LULL_CAUSE_UNKNOWN, 5000},
};
static struct lull_task_share by_task[] = {
    {1, 3, 10, BAD_UTF8_COMM, 5635000, NULL, NULL, NULL},
    {0, 1, 10, EVIL_COMM, 3300001, NULL, NULL, NULL},
    {0, 4, -2, NULL, 65000, NULL, NULL, NULL},
};
static struct lull_container_share by_container[] = {{1, EVIL_COMM, 5635000}, {0, NULL, 3365001}};
static struct lull_host_share by_host[] = {{1, 5635000}, {0, 3365001}};
static struct lull_host_clock syncs[] = {
    {0, true, true, 0, 0.0, 0},
    {1, true, false, INT64_C(-3456789012345), 12.3456789, 153000},
};

static struct lull_segment segments[N_SEGMENTS];
/* Of segments 6 to 14, and within it of 7 and 8. */
static struct lull_wait waits[] = {
    {.within = LULL_NONE,
     .host = 0,
     .task = 1,
     .tid = 10,
     .comm = EVIL_COMM,
     .start_ns = BASE + 2100000,
     .end_ns = BASE + 7934999,
     .reason = {"lock", "flock", "/tmp/\x1b", 4, 0, "flock", false},
     .other_task = 3,
     .other_tid = 10,
     .other_comm = BAD_UTF8_COMM,
     .detail = "in flock of /tmp/\x1b, released by x/10"},
    {.within = 0,
     .host = 1,
     .task = 3,
     .tid = 10,
     .comm = BAD_UTF8_COMM,
     .start_ns = BASE + 2300000,
     .end_ns = BASE + 6300000,
     .reason = {"futex", "futex", "0x10", -1, 16, NULL, true},
     .other_task = LULL_NONE},
};

static struct lull_path make_path(void)
{
    int64_t now = BASE;

    for (uint32_t i = 0; i < N_SEGMENTS; i++) {
        segments[i] = (struct lull_segment){
            .host = steps[i].host,
            .task = steps[i].task,
            .tid = steps[i].tid,
            .pid = i % 2 ? -1 : 10,
            .comm = steps[i].comm,
            .start_ns = now,
            .end_ns = now + steps[i].length_ns,
            .state = steps[i].state,
            .cause = steps[i].cause,
            .cpu = steps[i].state == LULL_STATE_BLOCKED ? -1 : 3,
            .detail = steps[i].detail,
            .other_task = LULL_NONE,
            .program = steps[i].comm ? steps[i].comm : "kernel",
            .wait = i == 7 || i == 8  ? 1
                    : i > 5 && i < 15 ? 0
                                      : LULL_NONE,
        };
        now = segments[i].end_ns;
    }
    g_assert_cmpint(now - BASE, ==, TOTAL);
    return (struct lull_path){
        .host_names = host_names,
        .n_hosts = 2,
        .host = 0,
        .tid = 10,
        .comm = EVIL_COMM,
        .start_ns = BASE,
        .end_ns = now,
        .asked_start_ns = BASE,
        .asked_end_ns = now,
        .segments = segments,
        .n_segments = N_SEGMENTS,
        .waits = waits,
        .n_waits = G_N_ELEMENTS(waits),
        .by_state = by_state,
        .n_by_state = G_N_ELEMENTS(by_state),
        .by_task = by_task,
        .n_by_task = G_N_ELEMENTS(by_task),
        .by_container = by_container,
        .n_by_container = G_N_ELEMENTS(by_container),
        .by_host = by_host,
        .n_by_host = G_N_ELEMENTS(by_host),
        .sync = syncs,
        .lost_events = 7,
        .lost_packets = 1,
    };
}

/* The signature of all views. */
typedef bool view_function(const struct lull_path *, FILE *, const struct lull_view_style *,
                           GError **);

static const struct lull_view_style plain = {.unicode = true};

/* What a view writes, as a string. */
static char *render(view_function *view, const struct lull_path *path,
                    const struct lull_view_style *style)
{
    GError *error = NULL;
    char *text = NULL;
    size_t size;
    FILE *file = open_memstream(&text, &size);

    bool ok = view(path, file, style, &error);
    g_assert_no_error(error);
    g_assert_true(ok);
    fclose(file);
    return text;
}

static void assert_contains(const char *text, const char *part)
{
    if (!strstr(text, part)) {
        g_error("not found: %s\nin:\n%s", part, text);
    }
}

/* No byte that a terminal would obey, besides line ends; valid UTF-8. */
static void assert_harmless(const char *text)
{
    g_assert_true(g_utf8_validate(text, -1, NULL));
    for (const char *c = text; *c; c = g_utf8_next_char(c)) {
        g_assert_true(*c == '\n' || !g_unichar_iscntrl(g_utf8_get_char(c)));
    }
}

/* The keys of an object in order: "a,b,c". */
static void assert_keys(struct json_object *object, const char *keys)
{
    GString *found = g_string_new(NULL);

    json_object_object_foreach(object, key, value)
    {
        (void)value;
        g_string_append_printf(found, "%s%s", found->len ? "," : "", key);
    }
    g_assert_cmpstr(found->str, ==, keys);
    g_string_free(found, TRUE);
}

static struct json_object *get(struct json_object *object, const char *key)
{
    struct json_object *value = NULL;

    if (!json_object_object_get_ex(object, key, &value)) {
        g_error("no key %s", key);
    }
    return value;
}

static int64_t get_int(struct json_object *object, const char *key)
{
    g_assert_true(json_object_is_type(get(object, key), json_type_int));
    return json_object_get_int64(get(object, key));
}

static const char *get_text(struct json_object *object, const char *key)
{
    return get(object, key) ? json_object_get_string(get(object, key)) : NULL;
}

static struct json_object *parse_json(const char *text)
{
    enum json_tokener_error status;
    struct json_object *root = json_tokener_parse_verbose(text, &status);

    g_assert_cmpint(status, ==, json_tokener_success);
    return root;
}

static void check_json_segments(struct json_object *list)
{
    int64_t now = BASE;

    g_assert_cmpuint(json_object_array_length(list), ==, N_SEGMENTS);
    for (uint32_t i = 0; i < N_SEGMENTS; i++) {
        struct json_object *segment = json_object_array_get_idx(list, i);
        assert_keys(segment, "host,tid,pid,comm,begin_ns,end_ns,state,cause,cpu,detail,object,"
                             "operation,by,reason,wait");
        g_assert_cmpint(get_int(segment, "begin_ns"), ==, now);
        now += steps[i].length_ns;
        g_assert_cmpint(get_int(segment, "end_ns"), ==, now);
        g_assert_cmpint(get_int(segment, "tid"), ==, steps[i].tid);
        g_assert_true(!get(segment, "cpu") == (steps[i].state == LULL_STATE_BLOCKED));
        g_assert_true(!get(segment, "pid") == (i % 2 == 1));
        g_assert_true(!get(segment, "cause") == (steps[i].cause == LULL_CAUSE_NONE));
        g_assert_true(!get(segment, "detail") == !steps[i].detail);
    }
    struct json_object *disk = json_object_array_get_idx(list, 7);
    g_assert_cmpstr(get_text(disk, "state"), ==, "blocked");
    g_assert_cmpstr(get_text(disk, "cause"), ==, "disk");
    g_assert_cmpstr(get_text(disk, "comm"), ==, "p\xef\xbf\xbd\x01\xe2\x82\xac");
    g_assert_cmpstr(get_text(disk, "host"), ==, "d\x1b[31mb");
    g_assert_cmpstr(get_text(disk, "detail"), ==, "sda; re\nad");
    g_assert_cmpstr(get_text(json_object_array_get_idx(list, 10), "cause"), ==, "user-input");
    g_assert_cmpstr(get_text(json_object_array_get_idx(list, 0), "comm"), ==, EVIL_COMM);
}

static void check_json_waits(struct json_object *list)
{
    g_assert_cmpuint(json_object_array_length(list), ==, 2);
    struct json_object *first = json_object_array_get_idx(list, 0);
    struct json_object *second = json_object_array_get_idx(list, 1);
    assert_keys(first, "within,host,tid,comm,begin_ns,end_ns,detail,is_shared,by,reason");
    g_assert_null(get(first, "within"));
    g_assert_cmpint(get_int(second, "within"), ==, 0);
    g_assert_cmpint(get_int(first, "end_ns") - get_int(first, "begin_ns"), ==, 5834999);
    assert_keys(get(first, "by"), "tid,comm,call");
    g_assert_cmpstr(get_text(get(first, "by"), "call"), ==, "flock");
    g_assert_null(get(second, "by"));
    assert_keys(get(first, "reason"), "kind,call,object,fd,address,timed_out");
    g_assert_cmpint(get_int(get(first, "reason"), "fd"), ==, 4);
    g_assert_null(get(get(first, "reason"), "address"));
    g_assert_null(get(get(second, "reason"), "fd"));
    g_assert_cmpstr(get_text(get(second, "reason"), "address"), ==, "0x10");
    g_assert_true(json_object_get_boolean(get(get(second, "reason"), "timed_out")));
}

/* Durations of a summary sum to the total and shares to one; keys are as given. */
static void check_json_summary(struct json_object *list, size_t length, const char *keys)
{
    int64_t sum_ns = 0;
    double shares = 0;

    g_assert_cmpuint(json_object_array_length(list), ==, length);
    for (size_t i = 0; i < length; i++) {
        struct json_object *item = json_object_array_get_idx(list, i);
        assert_keys(item, keys);
        sum_ns += get_int(item, "duration_ns");
        g_assert_true(json_object_is_type(get(item, "share"), json_type_double));
        shares += json_object_get_double(get(item, "share"));
    }
    g_assert_cmpint(sum_ns, ==, TOTAL);
    g_assert_cmpfloat_with_epsilon(shares, 1.0, 1e-5);
}

static void test_json(void)
{
    struct lull_path path = make_path();
    g_autofree char *text = render(lull_view_path_json, &path, &plain);
    struct json_object *root = parse_json(text);
    struct json_object *query = get(root, "query"), *summary = get(root, "summary");

    assert_harmless(text);
    assert_keys(
        root,
        "version,query,segments,waits,summary,sync,deadlock,open_waits,kills,idle_elsewhere,cpu_quotas,lost");
    g_assert_cmpint(get_int(root, "version"), ==, 1);
    assert_keys(query,
                "host,tid,comm,begin_ns,end_ns,asked_begin_ns,asked_end_ns,started_by,command,"
                "command_line");
    g_assert_cmpint(get_int(query, "begin_ns"), ==, BASE);
    g_assert_cmpint(get_int(query, "end_ns"), ==, BASE + TOTAL);
    g_assert_cmpstr(get_text(query, "host"), ==, "we<b>&");
    check_json_segments(get(root, "segments"));
    check_json_waits(get(root, "waits"));
    assert_keys(summary, "by_state,by_mode,by_cause,by_task,by_host,by_container");
    check_json_summary(get(summary, "by_state"), G_N_ELEMENTS(by_state),
                       "state,cause,duration_ns,share");
    check_json_summary(get(summary, "by_task"), 3,
                       "host,tid,comm,started_by,container,command_line,duration_ns,share");
    check_json_summary(get(summary, "by_host"), 2, "host,duration_ns,share");
    check_json_summary(get(summary, "by_container"), 2, "host,name,duration_ns,share");
    /* 4000000 / 9000001 = 0.44444439… */
    struct json_object *disk = json_object_array_get_idx(get(summary, "by_state"), 0);
    g_assert_cmpstr(json_object_to_json_string(get(disk, "share")), ==, "0.444444");
    json_object_put(root);
}

static void test_json_sync_and_lost(void)
{
    struct lull_path path = make_path();
    struct lull_host_clock alone[] = {syncs[0], {1, false, false, 99, 1.5, 12}};

    for (int i = 0; i < 2; i++) {
        path.sync = i ? alone : syncs;
        g_autofree char *text = render(lull_view_path_json, &path, &plain);
        struct json_object *root = parse_json(text);
        struct json_object *list = get(root, "sync");
        g_assert_cmpuint(json_object_array_length(list), ==, 2);
        struct json_object *item = json_object_array_get_idx(list, 1);
        assert_keys(item, "host,offset_ns,drift_ppm,bound_ns");
        /* A host whose clock was not joined has no offset, whatever the structure holds. */
        g_assert_cmpint(get_int(item, "offset_ns"), ==, i ? 0 : INT64_C(-3456789012345));
        g_assert_cmpfloat_with_epsilon(json_object_get_double(get(item, "drift_ppm")),
                                       i ? 0 : 12.345679, 1e-9);
        g_assert_true(!get(item, "bound_ns") == (i == 1));
        assert_keys(get(root, "lost"), "events,packets");
        g_assert_cmpint(get_int(get(root, "lost"), "events"), ==, 7);
        g_assert_cmpint(get_int(get(root, "lost"), "packets"), ==, 1);
        json_object_put(root);
    }
}

static void test_folded(void)
{
    struct lull_path path = make_path();
    g_autofree char *text = render(lull_view_path_folded, &path, &plain);
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    guint count = g_strv_length(lines) - 1; /* the last one is empty */
    int64_t sum_ns = 0;

    assert_harmless(text);
    g_assert_cmpstr(lines[count], ==, "");
    for (guint i = 0; i < count; i++) {
        g_auto(GStrv) frames = g_strsplit(lines[i], ";", -1);
        g_assert_cmpuint(g_strv_length(frames), ==, 3);
        g_assert_true(i == 0 || strcmp(lines[i - 1], lines[i]) < 0);
        sum_ns += g_ascii_strtoll(strrchr(lines[i], ' ') + 1, NULL, 10);
    }
    g_assert_cmpint(sum_ns, ==, TOTAL);
    /* 1000000 + 450000 + 480000 + 1000001 */
    assert_contains(text, "we<b>&;cli,e\"nt<&>/10;running 2930001\n");
    assert_contains(text, ";blocked disk: sda, re\xef\xbf\xbd"
                          "ad 4000000\n");
    assert_contains(text, ";blocked user-input 300000\n");
    assert_contains(text, "we<b>&;interrupt/cpu1;interrupted: virtio0 65000\n");
}

static void test_text(void)
{
    struct lull_path path = make_path();
    g_autofree char *text = render(lull_view_path_text, &path, &plain);

    assert_harmless(text);
    assert_contains(text,
                    EVIL_COMM "/10 on we<b>& took 9.000 ms, from 2026-11-21T01:36:19.000000001Z");
    assert_contains(text, "3 tasks on 2 hosts in 17 segments");
    /* 4000000 of 9000001 is 44.4 %, 5635000 is 62.6 %. */
    assert_contains(text, "blocked on disk           4.000 ms  44.4 %\n");
    assert_contains(text, "62.6 %");
    assert_contains(text, "Warning: lost 7 events and 1 packet during");
    assert_contains(text, "5.000 us (0.1 %) is unknown");
    assert_contains(text, "to within 153.0 us");
    /* 1000000 + 50000 + 450000 + 20000 + 480000 make one row of 2 ms at 0. */
    assert_contains(text, "  0.000     2.000  we<b>&");
    assert_contains(text, "running (1 interrupt 50.00 us, 1 preemption 20.00 us)\n");
    assert_contains(text, "blocked on a timer: hrtimer\n");
    /* 600 us are more than short. */
    assert_contains(text, "preempted by gcc/5\n");
    assert_contains(text, "→ " BAD_UTF8_CLEAN "/10");
    assert_contains(text, "← " EVIL_COMM "/10");
    assert_contains(text, "→ interrupt/cpu1");
    g_assert_null(strstr(text, "shorter steps"));
}

/* Lines of the table of the path: those behind its heading. */
static guint path_rows(const char *text)
{
    const char *table = strstr(text, "\nAT (");
    guint rows = 0;

    g_assert_nonnull(table);
    for (const char *c = table + 1; *c; c++) {
        rows += *c == '\n';
    }
    return rows - 1;
}

static void test_text_full(void)
{
    struct lull_path path = make_path();
    struct lull_view_style style = {.unicode = true, .full = true};
    g_autofree char *full = render(lull_view_path_text, &path, &style);
    g_autofree char *grouped = render(lull_view_path_text, &path, &plain);

    /* One more than the steps: the wait that is explained. Of the other nothing is known. */
    g_assert_cmpuint(path_rows(full), ==, N_SEGMENTS + 1);
    g_assert_cmpuint(path_rows(grouped), ==, N_SEGMENTS - 5 + 1);
    assert_contains(full, "  2.100     5.835  we<b>&");
    assert_contains(full, "waits in flock of /tmp/\xef\xbf\xbd, released by x/10\n");
    assert_contains(full, "interrupted: timer\n");
    assert_contains(full, "preempted by make/99\n");
}

static void test_text_limit(void)
{
    struct lull_path path = make_path();
    struct lull_view_style style = {.unicode = true, .limit = 2};
    g_autofree char *text = render(lull_view_path_text, &path, &style);

    /* Kept: 2 ms of running and 4 ms of disk. Left out between them 100000 + 200000, behind them
     * 700000 + 300000 + 10000 + 20000 + 5000 + 600000 + 65000 + 1000001. */
    g_assert_cmpuint(path_rows(text), ==, 4 + 1);
    assert_contains(text, "… 2 shorter steps, 300.0 us in total: blocked on a timer 200.0 us, "
                          "blocked on a task 100.0 us\n");
    /* 1000001 + 700000 + 600000 + 300000 are more than 94 % of it. */
    assert_contains(text,
                    "… 8 shorter steps, 2.700 ms in total: running 1.000 ms, blocked on network "
                    "700.0 us, preempted 600.0 us, blocked on user input 300.0 us\n");
    path.started_by = "cron/1 → sh/2";
    style.unicode = false;
    g_autofree char *ascii = render(lull_view_path_text, &path, &style);
    for (const char *c = ascii; *c; c++) {
        g_assert_true((*c >= ' ' && *c <= '~') || *c == '\n');
    }
    assert_contains(ascii, "... 2 shorter steps");
    assert_contains(ascii, "It was started by cron/1 -> sh/2.\n");
}

/* Twenty times the same two steps of 1 ms and 2 ms, then a sleep of 10 ms. A parent waits for all of it, which is said before the loop;
 * what each of the steps waits for is not. */
static void test_text_loop(void)
{
    enum { TIMES = 20, ALL_STEPS = 2 * TIMES + 1 };
    struct lull_path path = make_path();
    struct lull_segment steps_of_loop[ALL_STEPS];
    struct lull_wait waits_of_loop[1 + ALL_STEPS] = {{.within = LULL_NONE,
                                                      .comm = "make",
                                                      .start_ns = BASE,
                                                      .other_task = LULL_NONE,
                                                      .detail = "in wait4 for its child dd/10"}};
    struct lull_view_style style = {.unicode = true, .limit = 2};
    int64_t now = BASE;

    for (uint32_t i = 0; i < ALL_STEPS; i++) {
        const int64_t took_ns = i == ALL_STEPS - 1 ? 10000000 : i % 2 ? 2000000 : 1000000;
        const bool runs = i % 2 == 0 && i < ALL_STEPS - 1;
        steps_of_loop[i] = (struct lull_segment){
            .tid = 10,
            .comm = "dd",
            .program = "dd",
            .start_ns = now,
            .end_ns = now + took_ns,
            .state = runs ? LULL_STATE_RUNNING : LULL_STATE_BLOCKED,
            .cause = runs    ? LULL_CAUSE_NONE
                     : i % 2 ? LULL_CAUSE_DISK
                             : LULL_CAUSE_TIMER,
            .subject = i % 2 ? "vda read" : NULL,
            .wait = 1 + i,
        };
        waits_of_loop[1 + i] = waits_of_loop[0];
        waits_of_loop[1 + i].within = 0;
        waits_of_loop[1 + i].start_ns = now;
        waits_of_loop[1 + i].detail = "in a step";
        now += took_ns;
        waits_of_loop[1 + i].end_ns = now;
    }
    waits_of_loop[0].end_ns = now;
    path.waits = waits_of_loop;
    path.n_waits = G_N_ELEMENTS(waits_of_loop);
    path.segments = steps_of_loop;
    path.n_segments = ALL_STEPS;
    path.end_ns = path.asked_end_ns = now;
    g_autofree char *text = render(lull_view_path_text, &path, &style);
    g_assert_cmpuint(path_rows(text), ==, 4);
    const char *around = strstr(text, "waits in wait4 for its child dd/10\n");
    g_assert_true(around && around < strstr(text, "loop of 20"));
    const char *step = strstr(text, "waits in a step\n"); /* the sleep is one, the loop has many */
    g_assert_true(step && step > strstr(text, "loop of 20") &&
                  !strstr(step + 1, "waits in a step\n"));
    assert_contains(text, "60.000");
    assert_contains(text, "loop of 20 × running → blocked on disk (vda read)\n");
    style.limit = 0;
    g_autofree char *all = render(lull_view_path_text, &path, &style);
    g_assert_cmpuint(path_rows(all), ==, 1 + 2 * ALL_STEPS);
}

/* A thousand steps of three kinds in an order that never repeats: none is outstanding, so how often
 * each came and how long it took is listed. */
static void test_text_mix(void)
{
    enum { STEPS = 1000, KINDS = 3 };
    static const struct lull_segment kinds[KINDS] = {
        {.state = LULL_STATE_RUNNING, .mostly = "in user mode"},
        {.state = LULL_STATE_BLOCKED, .cause = LULL_CAUSE_DISK, .subject = "vda read"},
        {.state = LULL_STATE_BLOCKED, .cause = LULL_CAUSE_TIMER},
    };
    struct lull_path path = make_path();
    static struct lull_segment mixed[STEPS];
    struct lull_view_style style = {.unicode = true, .limit = 40};
    guint counts[KINDS] = {0};
    guint32 random = 3;
    int64_t now = BASE;

    for (uint32_t i = 0; i < STEPS; i++) {
        random = random * 1664525 + 1013904223;
        const guint kind = (random >> 16) % KINDS;
        mixed[i] = kinds[kind];
        mixed[i].tid = 10;
        mixed[i].comm = mixed[i].program = "dd";
        mixed[i].start_ns = now;
        now += (1 + kind) * 1000000;
        mixed[i].end_ns = now;
        mixed[i].mostly_ns = kind == 0 ? 1000000 : 0;
        mixed[i].wait = LULL_NONE;
        counts[kind]++;
    }
    path.segments = mixed;
    path.n_segments = STEPS;
    path.end_ns = path.asked_end_ns = now;
    g_autofree char *text = render(lull_view_path_text, &path, &style);
    static const char *const words[KINDS] = {"running in user mode", "blocked on disk: vda read",
                                             "blocked on a timer"};
    g_assert_cmpuint(path_rows(text), ==, 1 + KINDS);
    for (guint kind = 0; kind < KINDS; kind++) {
        g_autofree char *line = g_strdup_printf("%u.000  ", counts[kind] * (kind + 1));
        g_autofree char *what = g_strdup_printf("  %u × %s\n", counts[kind], words[kind]);
        assert_contains(text, line);
        assert_contains(text, what);
    }
}

/* How much of a path its brief view shows as steps or as what repeats, not only as shorter steps. */
static int64_t covered_by_view(const struct lull_path *path)
{
    g_autoptr(GArray) rows = lull_path_rows_new(path, false, 40);
    int64_t covered_ns = 0;

    for (guint i = 0; i < rows->len; i++) {
        const struct lull_path_row *row = &g_array_index(rows, struct lull_path_row, i);
        if (!row->is_hidden) {
            covered_ns += row->end_ns - row->start_ns;
        } else if (row->is_mix) {
            guint last = i;
            while (last + 1 < rows->len &&
                   g_array_index(rows, struct lull_path_row, last + 1).is_hidden) {
                last++;
            }
            const struct lull_path_row *end = &g_array_index(rows, struct lull_path_row, last);
            g_autoptr(GArray) parts =
                lull_path_mix(path, row->first, end->first + end->count - row->first);
            for (guint k = 0; k < parts->len; k++) {
                covered_ns += g_array_index(parts, struct lull_cause_share, k).duration_ns;
            }
        }
    }
    return covered_ns;
}

/* A row in which a task executes another program has the name that it had longest, whatever the longest segment. */
static void test_text_executes(void)
{
    enum { STEPS = 9 };
    static const int64_t lengths[STEPS] = {1000, 10, 900, 10, 900, 10, 900, 10, 900};
    static struct lull_segment made[STEPS];
    struct lull_path path = make_path();
    struct lull_view_style style = {.unicode = true, .limit = 40};
    int64_t now = BASE;
    for (guint i = 0; i < STEPS; i++) {
        made[i] =
            (struct lull_segment){.tid = 10,
                                  .comm = i == 0 ? "sh" : "xz",
                                  .program = i == 0 ? "sh" : "xz",
                                  .start_ns = now,
                                  .state = i % 2 ? LULL_STATE_INTERRUPTED : LULL_STATE_RUNNING,
                                  .wait = LULL_NONE};
        now += lengths[i] * 1000;
        made[i].end_ns = now;
    }
    path.segments = made;
    path.n_segments = STEPS;
    path.end_ns = path.asked_end_ns = now;
    g_autofree char *text = render(lull_view_path_text, &path, &style);
    g_assert_cmpuint(path_rows(text), ==, 1);
    assert_contains(text, "  xz/10  running (4 interrupts");
    made[0].end_ns = made[1].start_ns = BASE + 4000000;
    for (guint i = 1; i < STEPS; i++) {
        made[i].start_ns += i > 1 ? 3000000 : 0;
        made[i].end_ns += 3000000;
    }
    path.end_ns = path.asked_end_ns = now + 3000000;
    g_autofree char *longer = render(lull_view_path_text, &path, &style);
    assert_contains(longer, "  sh/10  running (4 interrupts");
}

/* Whatever a path is made of, its brief view covers 90 % of it: many short steps with long ones
 * between them, many hosts, many states, none of which takes most. */
static void test_text_covers(void)
{
    enum { STEPS = 2000, PATHS = 200 };
    static const char *const programs[] = {"cc1", "as", "ld", "make", "sh"};
    static struct lull_segment made[STEPS];
    struct lull_path path = make_path();
    guint32 random = 7;

    for (guint number = 0; number < PATHS; number++) {
        const guint n_hosts = 1 + number % 40, n_states = 1 + number % 11;
        const guint spread = 1 + number % 13, n_steps = 50 + 13 * number % (STEPS - 50);
        int64_t now = BASE;
        for (guint i = 0; i < n_steps; i++) {
            random = random * 1664525 + 1013904223;
            const guint kind = (random >> 8) % n_states;
            made[i] = (struct lull_segment){
                .host = (random >> 12) % n_hosts,
                .task = (random >> 16) % 7,
                .tid = 10,
                .comm = "cc1",
                .program = programs[(random >> 20) % G_N_ELEMENTS(programs)],
                .start_ns = now,
                .state = kind < 3 ? (enum lull_state)(kind + 1) : LULL_STATE_BLOCKED,
                .cause = kind < 3 ? LULL_CAUSE_NONE : (enum lull_cause)(kind - 2),
                .wait = LULL_NONE,
            };
            /* Each of `spread` lengths is twice the last. */
            now += INT64_C(100000) << (random >> 27) % spread;
            made[i].end_ns = now;
        }
        path.segments = made;
        path.n_segments = n_steps;
        path.end_ns = path.asked_end_ns = now;
        g_assert_cmpint(10 * covered_by_view(&path), >=, 9 * (now - BASE));
    }
}

static void test_text_terminal(void)
{
    struct lull_path path = make_path();
    struct lull_view_style style = {.unicode = true, .color = true, .width = 80};

    segments[6].detail =
        "a long explanation that does not fit into the line of a terminal and so goes on "
        "in the lines below, between words";
    g_autofree char *text = render(lull_view_path_text, &path, &style);
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    bool has_color = false;
    for (guint i = 3; lines[i]; i++) { /* the sentence above is not a table */
        glong width = 0;
        for (const char *c = lines[i]; *c; c = g_utf8_next_char(c)) {
            if (*c == '\x1b') {
                has_color = true;
                c = strchr(c, 'm');
                g_assert_nonnull(c);
                continue;
            }
            width++;
        }
        if (!strstr(lines[i], "Warning") && !strstr(lines[i], "Clocks")) {
            g_assert_cmpint(width, <=, 80);
        }
    }
    g_assert_true(has_color);
    assert_contains(text, "█"); /* bars */
    assert_contains(text, "explanation");
    assert_contains(text, "between words");
    segments[6].detail = NULL;
}

struct svg_facts {
    guint boxes, lines_host, lines_task, titles;
    double width, height;
    double class_px[3]; /* dsk, run, all */
    bool in_box;
    GString *text;
};

static const char *attribute(const char **names, const char **values, const char *name)
{
    for (; *names; names++, values++) {
        if (strcmp(*names, name) == 0) {
            return *values;
        }
    }
    return NULL;
}

static double number_attribute(const char **names, const char **values, const char *name)
{
    const char *text = attribute(names, values, name);
    g_assert_nonnull(text);
    return g_ascii_strtod(text, NULL);
}

static void svg_element(GMarkupParseContext *context, const char *element, const char **names,
                        const char **values, gpointer user, GError **error)
{
    struct svg_facts *facts = user;
    const char *class = attribute(names, values, "class");

    if (strcmp(element, "svg") == 0) {
        facts->width = number_attribute(names, values, "width");
        facts->height = number_attribute(names, values, "height");
    }
    facts->titles += strcmp(element, "title") == 0;
    facts->lines_task += strcmp(element, "line") == 0 && g_strcmp0(class, "a") == 0;
    facts->lines_host += strcmp(element, "line") == 0 && g_strcmp0(class, "x") == 0;
    if (strcmp(element, "rect") != 0 || !class || strcmp(class, "p") == 0 ||
        attribute(names, values, "rx")) {
        return;
    }
    double x = number_attribute(names, values, "x"), px = number_attribute(names, values, "width");
    double y = number_attribute(names, values, "y");
    facts->boxes++;
    facts->class_px[0] += strcmp(class, "dsk") == 0 ? px : 0;
    facts->class_px[1] += strcmp(class, "run") == 0 ? px : 0;
    facts->class_px[2] += px;
    g_assert_cmpfloat(x, >=, 0);
    g_assert_cmpfloat(x + px, <=, facts->width);
    g_assert_cmpfloat(y, >=, 0);
    g_assert_cmpfloat(y + number_attribute(names, values, "height"), <=, facts->height);
}

static void svg_text(GMarkupParseContext *context, const char *text, gsize length, gpointer user,
                     GError **error)
{
    struct svg_facts *facts = user;
    g_string_append_len(facts->text, text, (gssize)length);
    g_string_append_c(facts->text, '\n');
}

static struct svg_facts read_svg(const char *svg)
{
    const GMarkupParser parser = {.start_element = svg_element, .text = svg_text};
    struct svg_facts facts = {.text = g_string_new(NULL)};
    GError *error = NULL;
    GMarkupParseContext *context = g_markup_parse_context_new(&parser, 0, &facts, NULL);

    g_markup_parse_context_parse(context, svg, -1, &error);
    g_assert_no_error(error);
    g_markup_parse_context_end_parse(context, &error);
    g_assert_no_error(error);
    g_markup_parse_context_free(context);
    return facts;
}

/* The causes come first. Being preempted is one of them for each program and who waits for it, with who had
 * the CPU most; with --full there is one for each who had it. */
static void test_text_causes(void)
{
    struct lull_cause_share causes[] = {
        {.program = "ld", .state = LULL_STATE_RUNNING, .duration_ns = 3000000, .count = 1},
        {.program = "ld", .detail = "by as", .duration_ns = 2000000, .count = 2},
        {.program = "ld", .detail = "by cc1", .duration_ns = 1500000, .count = 1},
        {.program = "ld", .detail = "by tar", .duration_ns = 1000000, .count = 1},
        {.program = "ld", .detail = "by xz", .duration_ns = 500000, .count = 5},
        {.program = "as", .detail = "by ld", .duration_ns = 450000, .count = 1},
        {.program = "ld", .detail = "by ls", .duration_ns = 400000, .count = 1},
    };
    for (guint i = 1; i < G_N_ELEMENTS(causes); i++) {
        causes[i].state = LULL_STATE_PREEMPTED;
        causes[i].longest_ns = causes[i].duration_ns;
        causes[i].first = i;
    }
    causes[6].waiter = "make";
    causes[6].waiter_call = "wait4";
    causes[6].waiter_object = "child";
    struct lull_path path = make_path();
    path.by_cause = causes;
    path.n_by_cause = G_N_ELEMENTS(causes);
    struct lull_view_style full = {.unicode = true, .full = true};
    g_autofree char *text = render(lull_view_path_text, &path, &plain);
    g_autofree char *all = render(lull_view_path_text, &path, &full);

    /* 2 + 1.5 + 1 + 0.5 ms in 9 pieces are more than 3 ms, and 55.6 % of 9 ms. */
    const char *sum = strstr(text, "ld: preempted by as 2.000 ms, cc1 1.500 ms and 2 others\n");
    g_assert_nonnull(sum);
    g_assert_true(sum < strstr(text, "ld: running\n"));
    g_assert_true(sum < strstr(text, "By state"));
    assert_contains(text, "5.000 ms  55.6 %      9  555.6 us  2.000 ms  ld: preempted by as");
    assert_contains(text, "as: preempted by ld\n");
    assert_contains(text, "ld: preempted by ls, waited for by make in wait4 on child\n");
    assert_contains(all, "ld: preempted by as\n");
    assert_contains(all, "ld: preempted by xz\n");
}

/* A file is named with its call if a program waited for it all the time, or half of that. */
static void test_file_of_cause(void)
{
    static const struct {
        int64_t file_ns;
        const char *text;
    } cases[] = {
        {10000, "dd: blocked on disk: vda read, in read of /a\n"},
        {5000, "dd: blocked on disk: vda read, in read, mostly of /a\n"},
        {4999, "dd: blocked on disk: vda read, in read\n"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        struct lull_cause_share cause = {.program = "dd",
                                         .state = LULL_STATE_BLOCKED,
                                         .cause = LULL_CAUSE_DISK,
                                         .detail = "vda read, in read",
                                         .duration_ns = 10000,
                                         .longest_ns = 10000,
                                         .count = 1,
                                         .object = "/a",
                                         .object_ns = cases[i].file_ns};
        struct lull_path path = make_path();
        path.by_cause = &cause;
        path.n_by_cause = 1;
        g_autofree char *text = render(lull_view_path_text, &path, &plain);
        assert_contains(text, cases[i].text);
    }
}

/* Contrasts with white as tables of WCAG have them: 4.54 and 4.61 of the two greys between which it changes, 4.00, 8.59,
 * 5.14; that with black is 21 by that. */
static void test_ink(void)
{
    static const struct {
        const char *colour, *ink;
    } cases[] = {{"#767676", "d"}, {"#757575", "w"}, {"#ff0000", "d"}, {"#0000ff", "w"},
                 {"#008000", "w"}, {"#ffffff", "d"}, {"#000000", "w"}};
    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_assert_cmpstr(lull_svg_ink(cases[i].colour), ==, cases[i].ink);
    }
}

static void test_svg(void)
{
    struct lull_path path = make_path();
    g_autofree char *svg = render(lull_view_path_svg, &path, &plain);
    struct svg_facts facts = read_svg(svg);

    assert_harmless(svg);
    assert_contains(facts.text->str, "What was " EVIL_COMM "/10 on we<b>& waiting for?");
    assert_contains(facts.text->str, "9.000 ms");
    assert_contains(facts.text->str, "7 events and 1 packet lost");
    assert_contains(facts.text->str, "blocked on disk 4.000 ms · 44.4 %");
    assert_contains(facts.text->str, "blocked on an interrupt: ]]>&");
    assert_contains(facts.text->str, "\n" BAD_UTF8_CLEAN "/10\n"); /* label of a row */
    assert_contains(facts.text->str, "\n1 ms\n");                  /* ticks: 9 of 1 ms */
    assert_contains(facts.text->str, "\n9 ms\n");
    /* we: 1 -> db, db -> interrupt on we, interrupt -> task on the same host. */
    g_assert_cmpuint(facts.lines_host, ==, 2);
    g_assert_cmpuint(facts.lines_task, ==, 1);
    g_assert_cmpuint(facts.titles, ==, facts.boxes + 1);
    /* Areas are true to the shares, but for the least width of a box. */
    g_assert_cmpfloat_with_epsilon(facts.class_px[0] / facts.class_px[2], 4000000.0 / TOTAL, 0.01);
    g_assert_cmpfloat_with_epsilon(facts.class_px[1] / facts.class_px[2], 2930001.0 / TOTAL, 0.01);
    g_string_free(facts.text, TRUE);
}

/* Many short segments: the file is bounded by the picture, and the colours still say what took the
 * time. */
static void test_svg_large(void)
{
    const uint32_t count = 200000;
    struct lull_path path = make_path();
    struct lull_segment *many = g_new0(struct lull_segment, count);
    int64_t now = BASE;

    for (uint32_t i = 0; i < count; i++) {
        many[i] = segments[0];
        many[i].start_ns = now;
        many[i].state = i % 2 ? LULL_STATE_INTERRUPTED : LULL_STATE_RUNNING;
        now += i % 2 ? 10 : 90;
        many[i].end_ns = now;
    }
    path.segments = many;
    path.n_segments = count;
    path.end_ns = now;
    g_autofree char *svg = render(lull_view_path_svg, &path, &plain);
    struct svg_facts facts = read_svg(svg);
    g_assert_cmpuint(strlen(svg), <, 1000000);
    g_assert_cmpfloat(facts.class_px[1], >, 500);
    g_assert_cmpuint(facts.boxes, <=, 2 * 1280);
    g_string_free(facts.text, TRUE);
    g_free(many);
}

/* Nanoseconds of a number in microseconds, from its digits. */
static int64_t exact_ns(struct json_object *number)
{
    const char *text = json_object_to_json_string(number);
    const char *point = strchr(text, '.');

    g_assert_nonnull(point);
    g_assert_cmpuint(strlen(point + 1), ==, 3);
    return g_ascii_strtoll(text, NULL, 10) * 1000 + g_ascii_strtoll(point + 1, NULL, 10);
}

static void test_perfetto(void)
{
    struct lull_path path = make_path();
    g_autofree char *text = render(lull_view_path_perfetto, &path, &plain);
    struct json_object *root = parse_json(text), *events = get(root, "traceEvents");
    int64_t now = 0, started = -1;
    guint slices = 0, starts = 0, ends = 0, threads = 0, n_waits = 0;
    GHashTable *tids = g_hash_table_new(NULL, NULL);

    assert_harmless(text);
    g_assert_cmpint(g_ascii_strtoll(get_text(get(root, "otherData"), "base_ns"), NULL, 10), ==,
                    BASE);
    for (size_t i = 0; i < json_object_array_length(events); i++) {
        struct json_object *event = json_object_array_get_idx(events, i);
        const char *phase = get_text(event, "ph");
        if (strcmp(phase, "M") == 0) {
            bool is_thread = strcmp(get_text(event, "name"), "thread_name") == 0;
            threads += is_thread;
            if (is_thread) { /* two tasks have tid 10, and yet a thread each */
                g_assert_true(g_hash_table_add(tids, GINT_TO_POINTER(get_int(event, "tid"))));
            }
            continue;
        }
        int64_t ts = exact_ns(get(event, "ts"));
        g_assert_true(g_hash_table_contains(tids, GINT_TO_POINTER(get_int(event, "tid"))));
        if (strcmp(phase, "X") == 0 && strcmp(get_text(event, "cat"), "wait") == 0) {
            g_assert_cmpstr(get_text(event, "name"), ==,
                            "waits in flock of /tmp/\xef\xbf\xbd, released by x/10");
            g_assert_cmpint(ts, ==, 2100000);
            g_assert_cmpint(exact_ns(get(event, "dur")), ==, 5834999);
            g_assert_cmpstr(get_text(get(event, "args"), "call"), ==, "flock");
            n_waits++;
        } else if (strcmp(phase, "X") == 0) {
            g_assert_cmpint(ts, ==, now);
            g_assert_cmpint(get_int(event, "pid"), ==, steps[slices].host + 1);
            g_assert_cmpint(exact_ns(get(event, "dur")), ==, steps[slices].length_ns);
            now += steps[slices++].length_ns;
        } else if (strcmp(phase, "s") == 0) {
            starts++;
            started = get_int(event, "id");
        } else if (strcmp(phase, "f") == 0) {
            ends++;
            g_assert_cmpint(get_int(event, "id"), ==, started);
            g_assert_cmpint(ts, ==, segments[slices - 1].start_ns - BASE);
        }
    }
    g_assert_cmpuint(n_waits, ==, 1);
    g_assert_cmpuint(slices, ==, N_SEGMENTS);
    g_assert_cmpint(now, ==, TOTAL);
    g_assert_cmpuint(starts, ==, 3);
    g_assert_cmpuint(ends, ==, 3);
    g_assert_cmpuint(threads, ==, 3);
    g_hash_table_unref(tids);
    json_object_put(root);
}

static view_function *const views[] = {lull_view_path_text, lull_view_path_json,
                                       lull_view_path_folded, lull_view_path_svg,
                                       lull_view_path_perfetto};

/* No segment, no summary: each view still writes what its reader accepts. */
static void test_empty(void)
{
    struct lull_path path = {.comm = NULL, .start_ns = BASE, .end_ns = BASE};

    for (size_t i = 0; i < G_N_ELEMENTS(views); i++) {
        g_autofree char *text = render(views[i], &path, &plain);
        if (views[i] == lull_view_path_json || views[i] == lull_view_path_perfetto) {
            json_object_put(parse_json(text));
        }
        if (views[i] == lull_view_path_svg) {
            g_string_free(read_svg(text).text, TRUE);
        }
        if (views[i] == lull_view_path_folded) {
            g_assert_cmpstr(text, ==, "");
        }
    }
}

/* A full disk is an error that says so; a closed pipe is none. */
static void test_write_errors(void)
{
    struct lull_path path = make_path();

    for (size_t i = 0; i < G_N_ELEMENTS(views); i++) {
        FILE *full = fopen("/dev/full", "w");
        if (full) {
            GError *error = NULL;
            g_assert_false(views[i](&path, full, &plain, &error));
            g_assert_error(error, LULL_ERROR, LULL_ERROR_IO);
            assert_contains(error->message, "cannot write ");
            assert_contains(error->message, g_strerror(ENOSPC));
            g_clear_error(&error);
            fclose(full);
        }
        int ends[2];
        g_assert_cmpint(pipe(ends), ==, 0);
        close(ends[0]);
        FILE *closed = fdopen(ends[1], "w");
        GError *error = NULL;
        g_assert_true(views[i](&path, closed, &plain, &error));
        g_assert_no_error(error);
        fclose(closed);
    }
}

static void test_clean(void)
{
    static const struct {
        const char *text, *unicode, *ascii;
    } cases[] = {
        {"postgres: w 1", "postgres: w 1", "postgres: w 1"},
        {NULL, "?", "?"},
        {"", "", ""},
        {"a\tb\x1b]0;x\x07\x7f",
         "a\xef\xbf\xbd"
         "b\xef\xbf\xbd]0;x\xef\xbf\xbd\xef\xbf\xbd",
         "a?b?]0;x??"},
        {"gr\xc3\xb6\xc3\x9f"
         "e",
         "gr\xc3\xb6\xc3\x9f"
         "e",
         "gr??e"},
        {"\xc3", "\xef\xbf\xbd", "?"},                                   /* cut short */
        {"\xc0\xaf", "\xef\xbf\xbd\xef\xbf\xbd", "??"},                  /* overlong */
        {"\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd", "???"}, /* a surrogate */
        {"\xc2\x9b"
         "1m",
         "\xef\xbf\xbd"
         "1m",
         "?1m"}, /* CSI as one character */
        {"\xe2\x80\xae"
         "x",
         "\xef\xbf\xbdx", "?x"},               /* right-to-left override */
        {"\xef\xbf\xbe", "\xef\xbf\xbd", "?"}, /* U+FFFE is not allowed in XML */
        {"\xf0\x9f\x90\xa2", "\xf0\x9f\x90\xa2", "?"},
        {"“a” … – 2 × → ←", "“a” … – 2 × → ←", "\"a\" ... - 2 x -> <-"},
    };

    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *unicode = lull_clean_text(cases[i].text, false);
        g_autofree char *ascii = lull_clean_text(cases[i].text, true);
        g_assert_cmpstr(unicode, ==, cases[i].unicode);
        g_assert_cmpstr(ascii, ==, cases[i].ascii);
    }
}

int main(int argc, char **argv)
{
    setlocale(LC_ALL, "C.UTF-8");
    signal(SIGPIPE, SIG_IGN);
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/view/clean", test_clean);
    g_test_add_func("/view/json", test_json);
    g_test_add_func("/view/json-sync-and-lost", test_json_sync_and_lost);
    g_test_add_func("/view/folded", test_folded);
    g_test_add_func("/view/file-of-cause", test_file_of_cause);
    g_test_add_func("/view/text", test_text);
    g_test_add_func("/view/text-full", test_text_full);
    g_test_add_func("/view/text-limit", test_text_limit);
    g_test_add_func("/view/text-loop", test_text_loop);
    g_test_add_func("/view/text-mix", test_text_mix);
    g_test_add_func("/view/text-covers", test_text_covers);
    g_test_add_func("/view/text-executes", test_text_executes);
    g_test_add_func("/view/text-causes", test_text_causes);
    g_test_add_func("/view/text-terminal", test_text_terminal);
    g_test_add_func("/view/ink", test_ink);
    g_test_add_func("/view/svg", test_svg);
    g_test_add_func("/view/svg-large", test_svg_large);
    g_test_add_func("/view/perfetto", test_perfetto);
    g_test_add_func("/view/empty", test_empty);
    g_test_add_func("/view/write-errors", test_write_errors);
    return g_test_run();
}
