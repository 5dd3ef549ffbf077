/* SPDX-License-Identifier: MIT */
/* What decides about snapshots: lines of servers, limits in time, configurations; by arithmetic. */
#include <arpa/inet.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/time.h"
#include "trigger/commands.h"
#include "trigger/counts.h"
#include "trigger/hook.h"
#include "trigger/inside.h"

#define S LULL_NS_PER_S

/* ---- lines of servers ---- */

static void test_hooks(void)
{
    static const struct {
        const char *line;
        int64_t end_ns, delay_ns;
        int32_t pid, tid;
        const char *id;
    } cases[] = {
        {"lull1 t=1795269013500000 d=731000", 1795269013500000000, 731000000, 0, 0, ""},
        {"lull1 t=1795269013.5 d=0.731", 1795269013500000000, 731000000, 0, 0, ""},
        {"lull1 d=1.000000001 t=2.0 pid=437 tid=438 id=checkout", 2000000000, 1000000001, 437, 438,
         "checkout"},
        /* nginx and its syslog prefix */
        {"<190>Nov 22 14:02:11 nginx: lull1 t=1795269013.500 d=0.731 pid=9 peer=10.0.0.1:4711 "
         "up=10.9.0.3:80 st=200\n",
         1795269013500000000, 731000000, 9, 0, ""},
        {"lull1 t=1.0 d=0.0 id=a\tb\x1b[31m\xff", 1000000000, 0, 0, 0, "a?b?[31m?"},
        {"lull1 t=1.0 d=0.5 later=word alone =x", 1000000000, 500000000, 0, 0, ""},
        {"lull1  t=1.0  d=0.5", 1000000000, 500000000, 0, 0, ""},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        struct lull_hook hook;
        g_assert_true(lull_hook_parse(cases[i].line, strlen(cases[i].line), &hook));
        g_assert_cmpint(hook.end_ns, ==, cases[i].end_ns);
        g_assert_cmpint(hook.delay_ns, ==, cases[i].delay_ns);
        g_assert_cmpint(hook.pid, ==, cases[i].pid);
        g_assert_cmpint(hook.tid, ==, cases[i].tid);
        g_assert_cmpstr(hook.id, ==, cases[i].id);
    }
}

static void check_end(const struct lull_trigger_endpoint *end, const char *address, uint16_t port)
{
    struct in6_addr expected;
    g_assert_cmpint(inet_pton(AF_INET6, address, &expected), ==, 1);
    g_assert_cmpmem(&end->address, sizeof end->address, &expected, sizeof expected);
    g_assert_cmpuint(end->port, ==, port);
}

static void test_ends(void)
{
    struct lull_hook hook;
    /* As nginx writes several upstreams: tried one after the other, and after an internal redirect. */
    static const char nginx[] =
        "nginx: lull1 t=1.0 d=0.5 peer=10.0.0.1:4711 local=[fd00::2]:443 st=200 "
        "up=10.9.0.3:80, 10.9.0.4:81, unix:/run/x : [fd00::5]:82 10.9.0.9:x";
    g_assert_true(lull_hook_parse(nginx, strlen(nginx), &hook));
    check_end(&hook.peer, "::ffff:10.0.0.1", 4711);
    check_end(&hook.local, "fd00::2", 443);
    g_assert_cmpuint(hook.n_up, ==, 3);
    check_end(&hook.up[0], "::ffff:10.9.0.3", 80);
    check_end(&hook.up[1], "::ffff:10.9.0.4", 81);
    check_end(&hook.up[2], "fd00::5", 82);
    static const char nothing[] = "lull1 t=1.0 d=0.5 up=- peer=10.0.0.1 local=:80 10.9.0.1:5";
    g_assert_true(lull_hook_parse(nothing, strlen(nothing), &hook));
    g_assert_cmpuint(hook.n_up + hook.peer.port + hook.local.port, ==, 0);
    static const char many[] =
        "lull1 t=1.0 d=0.5 up=1.1.1.1:1,1.1.1.1:2,1.1.1.1:3,1.1.1.1:4,1.1.1.1:5,"
        "1.1.1.1:6,1.1.1.1:7,1.1.1.1:8,1.1.1.1:9 1.1.1.1:10";
    g_assert_true(lull_hook_parse(many, strlen(many), &hook));
    g_assert_cmpuint(hook.n_up, ==, LULL_HOOK_UP);
    check_end(&hook.up[7], "::ffff:1.1.1.1", 8);
}

static void test_no_hooks(void)
{
    static const char *const lines[] = {
        "",
        "lull1",
        "lull1 ",
        "lull2 t=1 d=1",
        "lull1 t=1",
        "lull1 d=1",
        "lull1 t=1 t=1 d=1",
        "lull1 t=1 d=1 d=2",
        "lull1 t=-1 d=1",
        "lull1 t=1 d=-1",
        "lull1 t= d=1",
        "lull1 t=1. d=1",
        "lull1 t=.5 d=1",
        "lull1 t=1.0000000001 d=1",
        "lull1 t=1 d=99999999999999999999",
        "lull1 t=9223372036854775807 d=1",
        "lull1 t=9223372036854775807.0 d=1",
        "lull1 t=1x d=1",
        "lull1 t=1 d=1 pid=0",
        "lull1 t=1 d=1 pid=-4",
        "lull1 t=1 d=1 pid=2147483648",
        "lull1 t=1 d=1 tid=",
    };
    struct lull_hook hook;
    for (size_t i = 0; i < G_N_ELEMENTS(lines); i++) {
        g_assert_false(lull_hook_parse(lines[i], strlen(lines[i]), &hook));
    }
    g_autofree char *padded = g_strnfill(LULL_HOOK_MOST_BYTES - 14, 'x');
    g_autofree char *longest = g_strconcat("lull1 t=1 d=1 ", padded, NULL);
    g_assert_true(lull_hook_parse(longest, LULL_HOOK_MOST_BYTES, &hook));
    g_autofree char *too_long = g_strconcat(longest, "x", NULL);
    g_assert_false(lull_hook_parse(too_long, LULL_HOOK_MOST_BYTES + 1, &hook));
    /* An id is cut, and ends. */
    g_autofree char *with_id = g_strconcat("lull1 t=1 d=1 id=", padded, NULL);
    g_assert_true(lull_hook_parse(with_id, 500, &hook));
    g_assert_cmpuint(strlen(hook.id), ==, LULL_HOOK_ID - 1);
}

/* ---- configurations ---- */

static GPtrArray *problems_of(const char *text, struct lull_trigger_config **config)
{
    GPtrArray *problems = g_ptr_array_new_with_free_func(g_free);
    *config = lull_trigger_config_parse("a.conf", text, strlen(text), problems);
    g_assert_true(!*config == (problems->len > 0));
    return problems;
}

static struct lull_trigger_config *config_of(const char *text)
{
    struct lull_trigger_config *config;
    GPtrArray *problems = problems_of(text, &config);
    g_assert_cmpuint(problems->len, ==, 0);
    g_ptr_array_unref(problems);
    return config;
}

static void test_config(void)
{
    struct lull_trigger_config *config = config_of("[rule one]\nslower=500ms\n");
    g_assert_cmpstr(config->snapshots, ==, "/var/lib/lull");
    g_assert_cmpstr(config->hook, ==, "/run/lull/hook");
    g_assert_null(config->hook_group);
    g_assert_cmpuint(config->metrics_port, ==, 0);
    g_assert_cmpint(config->pause_ns, ==, 60 * S);
    g_assert_cmpuint(config->per_hour, ==, 6);
    g_assert_cmpuint(config->per_day, ==, 20);
    g_assert_cmpuint(config->most_bytes, ==, UINT64_C(2) << 30);
    g_assert_cmpfloat_with_epsilon(config->least_free, 0.1, 1e-9);
    lull_trigger_config_free(config);

    config = config_of("# a comment\n[daemon]\nsnapshots = /a/b \nmetrics=127.0.0.1:9542\n"
                       "buffer=8M\npurpose=sched\ntracer=perf\nmax_overhead=0.5%\n"
                       "[limits]\npause=1.5s\nper_hour=1000\nsize=64M\nfree=0%\n"
                       "[rule w.1]\nwhen=block(vda): rw == \"write\" > 100ms\n"
                       "[rule r_2]\nslower=1us\nid=check*\n");
    g_assert_cmpstr(config->snapshots, ==, "/a/b");
    g_assert_cmpuint(config->metrics_port, ==, 9542);
    g_assert_cmpuint(config->buffer_bytes, ==, 8 << 20);
    g_assert_cmpint(config->purpose_id, ==, LULL_PURPOSE_SCHED);
    g_assert_cmpstr(config->tracer, ==, "perf");
    g_assert_cmpfloat_with_epsilon(config->most_overhead, 0.005, 1e-9);
    g_assert_cmpint(config->pause_ns, ==, 3 * S / 2);
    g_assert_cmpuint(config->rules->len, ==, 2);
    const struct lull_trigger_rule *first = config->rules->pdata[0];
    const struct lull_trigger_rule *second = config->rules->pdata[1];
    g_assert_cmpstr(first->name, ==, "w.1");
    g_assert_cmpint(first->when->threshold_ns, ==, S / 10);
    g_assert_null(second->when);
    g_assert_cmpint(second->slower_ns, ==, 1000);
    g_assert_true(g_pattern_spec_match_string(second->id, "checkout"));
    lull_trigger_config_free(config);
}

static void check_peer(const struct lull_trigger_config *config, const char *address, bool is_peer)
{
    struct in6_addr parsed;
    g_assert_cmpint(inet_pton(AF_INET6, address, &parsed), ==, 1);
    g_assert_true(lull_trigger_is_peer(config, &parsed) == is_peer);
}

static void test_peers(void)
{
    struct lull_trigger_config *config =
        config_of("[daemon]\nlisten=10.9.0.1:5447\npeers=10.9.0.0/29,192.168.7.9 fd00:1::/33\n"
                  "key=/etc/lull/key\n[rule a]\nslower=1s\n");
    struct in6_addr address;
    g_assert_cmpint(inet_pton(AF_INET6, "::ffff:10.9.0.1", &address), ==, 1);
    g_assert_cmpmem(&config->listen.address, sizeof address, &address, sizeof address);
    g_assert_cmpuint(config->listen.port, ==, 5447);
    g_assert_cmpstr(config->key, ==, "/etc/lull/key");
    check_peer(config, "::ffff:10.9.0.0", true);
    check_peer(config, "::ffff:10.9.0.7", true);
    check_peer(config, "::ffff:10.9.0.8", false);
    check_peer(config, "::ffff:192.168.7.9", true);
    check_peer(config, "::ffff:192.168.7.8", false);
    check_peer(config, "fd00:1:7fff::1", true);
    check_peer(config, "fd00:1:8000::1", false);
    check_peer(config, "::10.9.0.1", false);
    lull_trigger_config_free(config);
    config = config_of("[daemon]\nlisten=[::]:1\npeers=0.0.0.0/0\nkey=/k\n[rule a]\nslower=1s\n");
    g_assert_true(IN6_IS_ADDR_UNSPECIFIED(&config->listen.address));
    check_peer(config, "::ffff:1.2.3.4", true);
    check_peer(config, "fd00::1", false);
    lull_trigger_config_free(config);
}

/* All that is wrong is said at once, each with its place. */
static void test_problems(void)
{
    static const struct {
        const char *text;
        const char *says[8];
    } cases[] = {
        {"", {"a.conf: the file is empty"}},
        {"rubbish\n", {"a.conf:1: “rubbish” is neither", "[rule NAME]: expected from one to"}},
        {"[daemon]\n", {"[rule NAME]: expected from one to"}},
        {"[daemon]\nsnapshots=here\nbuffer=0\nmetrics=0.0.0.0:80\npurpose=fun\nmax_overhead=7\ncolour=red\n"
         "[rule a]\nslower=1s\n",
         {"[daemon] snapshots: expected a path that starts with /, not “here”",
          "[daemon] buffer: expected a size", "[daemon] metrics: expected 127.0.0.1:PORT",
          "[daemon] purpose: expected critpath, wait, io, sched, vm or all, not “fun”",
          "[daemon] max_overhead: expected a share", "[daemon] colour: there is no such key here"}},
        {"[daemon]\nlisten=10.9.0.1\npeers=10.9.0.0/33\nkey=k\n[rule a]\nslower=1s\n",
         {"[daemon] listen: expected ADDRESS:PORT", "[daemon] peers: expected networks",
          "[daemon] key: expected a path"}},
        {"[daemon]\nlisten=fd00::1:5447\npeers=,\n[rule a]\nslower=1s\n",
         {"[daemon]: listen, peers and key belong together",
          "[daemon] listen: expected ADDRESS:PORT", "[daemon] peers: expected networks"}},
        {"[limits]\npause=60\nper_hour=0\nper_day=1001\n[rule a]\nslower=1s\n",
         {"[limits] pause: expected a time with its unit", "[limits] per_hour: expected a number",
          "[limits] per_day: expected a number"}},
        {"[other]\nx=1\n[rule a]\nslower=1s\n", {"[other]: expected [daemon], [limits] or [rule"}},
        {"[rule a]\n[rule b]\nwhen=offcpu > 1ms\nslower=1s\n[rule c]\nwhen=offcup > 1ms\n"
         "[rule d e]\nslower=soon\n[rule f]\nwhen=offcpu > 1s\nid=x\n",
         {"[rule a]: it takes either when", "[rule b]: it takes either when",
          "[rule c] when: the rule, column 1", "[rule d e]: a rule is named with",
          "[rule d e] slower: expected a time", "[rule f] id: is about requests"}},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        struct lull_trigger_config *config;
        GPtrArray *problems = problems_of(cases[i].text, &config);
        guint n = 0;
        for (; n < G_N_ELEMENTS(cases[i].says) && cases[i].says[n]; n++) {
            g_assert_cmpuint(problems->len, >, n);
            const char *line = problems->pdata[n];
            if (!strstr(line, cases[i].says[n]) || !g_str_has_prefix(line, "a.conf:")) {
                g_test_message("%zu: %s", i, line);
                g_test_fail();
            }
        }
        g_assert_cmpuint(problems->len, ==, n);
        g_ptr_array_unref(problems);
    }
}

/* Each mistake of a whole file is reported in its own line, and says what would be right. */
static void test_lines(void)
{
    static const struct {
        const char *text, *says; /* NULL: nothing is wrong with it */
    } lines[] = {
        {"; written in a hurry", "is neither KEY = VALUE nor [GROUP] nor a # comment"},
        {"colour = red", "colour: it comes before the first group: put [daemon] above it"},
        {"size = 1G", NULL}, /* said once */
        {"[deamon]", "[deamon]: expected [daemon], [limits] or [rule NAME]"},
        {"  # a comment", NULL},
        {"[daemon]", NULL},
        {"snapshot = /a", "[daemon] snapshot: there is no such key here; perhaps “snapshots”"},
        {"snapshots = a", "[daemon] snapshots: expected a path that starts with /, not “a”"},
        {"purpose = critpaht", "[daemon] purpose: expected critpath, wait, io, sched, vm or all"},
        {"tracer = ftrce", "[daemon] tracer: expected ftrace, perf, lttng or auto, not “ftrce”"},
        {"buffer = 0\r", "[daemon] buffer: expected a size from 1 to 1024G"},
        {"hook = /run/hook # the socket", "a comment has a line of its own"},
        {"metrics = 0.0.0.0:9542", "[daemon] metrics: expected 127.0.0.1:PORT"},
        {"pause = 60s", "[daemon] pause: there is no such key here; it belongs in [limits]"},
        {"user", "“user” is neither KEY = VALUE"},
        {"max_overhead = 1", "[daemon] max_overhead: expected a share from 0% to 100%, not “1”"},
        {"[limits", "expected [NAME] and nothing after it, not “[limits”"},
        {"rubbish = 1", NULL}, /* of no known group */
        {"[limits]", NULL},
        {"pause = 60s", NULL},
        {"pause = 10s", "[limits] pause: line 20 has it already: remove one of them"},
        {"size = much", "[limits] size: expected a size from 1 to 1024G, such as 64M, not “much”"},
        {"free[de] = 5%", "[limits] free[de]: there is no such key here"},
        {"\xff\xfe", "not valid UTF-8"},
        {"[rule a b]", "a rule is named with letters, digits, and - _ ."},
        {"slower = 1s", NULL},
        {"[rule c]", NULL},
        {"when = offcup > 1ms",
         "[rule c] when: the rule, column 1: expected a kind of wait, perhaps “offcpu”"},
        {"id = x", "[rule c] id: is about requests that servers report"},
        {"[rule d]", NULL},
        {"slower = soon",
         "[rule d] slower: expected a time with its unit, such as 500ms, not “soon”"},
        {"exec = mail root",
         "[rule d] exec: expected a program's path that starts with /, not “mail”"},
        {"spread = perhaps", "[rule d] spread: expected yes or no, not “perhaps”"},
        {"stack = kernel", "[rule d] stack: is about waits; this rule is about requests"},
        {"[rule d]", "[rule d]: line 30 has it already: each rule needs a name of its own"},
        {"a line of one more than forty characters.",
         "“a line of one more than forty character…” is neither"},
        {"[rule with-a-name-that-is-longer-than-forty-characters]", NULL},
        {"slower = 1s", NULL},
        {"spread = yes", "no other machine can be asked: give [daemon] listen, peers and key"},
        {"user = nobody", "] user: names who runs the command of exec: give exec, too"},
        {"[rule e]", NULL},
        {"when = futex > 1s", NULL},
        {"stack = kernel, wakers",
         "[rule e] stack: there is no stack “wakers”; there are kernel, waker and user"},
        {"spread = no", NULL},
        {"[rule f]", NULL},
        {"when = futex > 1s", NULL},
        {"stack =", "[rule f] stack: expected kernel, waker or user, with commas between"},
        {"[daemon]", NULL},
        {"name = web 1", "[daemon] name: expected a name of letters, digits, and - _ ."},
    };
    g_autoptr(GString) text = g_string_new(NULL);
    struct lull_trigger_config *config;
    for (size_t i = 0; i < G_N_ELEMENTS(lines); i++) {
        g_string_append_printf(text, "%s\n", lines[i].text);
    }
    GPtrArray *problems = problems_of(text->str, &config);
    guint n = 0;
    for (size_t i = 0; i < G_N_ELEMENTS(lines); i++) {
        g_autofree char *place = g_strdup_printf("a.conf:%zu: ", i + 1);
        const char *said = n < problems->len ? problems->pdata[n] : "";
        if (!lines[i].says) {
            g_assert_false(g_str_has_prefix(said, place));
            continue;
        }
        if (!g_str_has_prefix(said, place) || !strstr(said, lines[i].says) || strchr(said, '\n') ||
            !g_utf8_validate(said, -1, NULL)) {
            g_test_message("line %zu: %s", i + 1, said);
            g_test_fail();
        }
        n++;
    }
    g_assert_cmpuint(problems->len, ==, n);
    g_assert_cmpuint(n, >=, 20);
    g_ptr_array_unref(problems);
}

/* ---- limits ---- */

static void test_limits(void)
{
    struct lull_trigger_config *config = config_of("[limits]\npause=60s\nper_hour=3\nper_day=4\n"
                                                   "[rule a]\nslower=1s\n[rule b]\nslower=2s\n");
    struct lull_trigger_limits limits;
    lull_trigger_limits_init(&limits, config);
    /* At 1000 s the first, which takes half a second to write. */
    g_assert_cmpint(lull_trigger_limits_judge(&limits, 0, 1000 * S), ==, LULL_TRIGGER_WRITTEN);
    lull_trigger_limits_count(&limits, 0, 1000 * S, 1000 * S + S / 2, true);
    /* Five seconds after it is there, it shows what happens; of any rule. */
    g_assert_cmpint(lull_trigger_limits_judge(&limits, 0, 1001 * S), ==, LULL_TRIGGER_COALESCED);
    g_assert_cmpint(lull_trigger_limits_judge(&limits, 1, 1005 * S), ==, LULL_TRIGGER_COALESCED);
    /* Then the rule has its pause, the other has none. */
    g_assert_cmpint(lull_trigger_limits_judge(&limits, 0, 1006 * S), ==, LULL_TRIGGER_LIMITED);
    g_assert_cmpint(lull_trigger_limits_judge(&limits, 1, 1006 * S), ==, LULL_TRIGGER_WRITTEN);
    g_assert_cmpint(lull_trigger_limits_judge(&limits, 0, 1060 * S - 1), ==, LULL_TRIGGER_LIMITED);
    g_assert_cmpint(lull_trigger_limits_judge(&limits, 0, 1060 * S), ==, LULL_TRIGGER_WRITTEN);
    lull_trigger_limits_count(&limits, 0, 1060 * S, 1060 * S, true);
    lull_trigger_limits_count(&limits, 1, 1070 * S, 1070 * S, true);
    /* Three in the hour before; the first of them leaves it at 4600 s. */
    g_assert_cmpint(lull_trigger_limits_judge(&limits, 1, 4599 * S), ==, LULL_TRIGGER_LIMITED);
    g_assert_cmpint(lull_trigger_limits_judge(&limits, 1, 4600 * S), ==, LULL_TRIGGER_WRITTEN);
    lull_trigger_limits_count(&limits, 1, 4600 * S, 4600 * S, true);
    /* Four in the day before: nothing until 87400 s. */
    g_assert_cmpint(lull_trigger_limits_judge(&limits, 0, 50000 * S), ==, LULL_TRIGGER_LIMITED);
    g_assert_cmpint(lull_trigger_limits_judge(&limits, 0, 87399 * S), ==, LULL_TRIGGER_LIMITED);
    g_assert_cmpint(lull_trigger_limits_judge(&limits, 0, 87400 * S), ==, LULL_TRIGGER_WRITTEN);
    /* Times of long ago are not kept. */
    lull_trigger_limits_count(&limits, 0, 300000 * S, 300000 * S, true);
    g_assert_cmpuint(limits.written_ns->len, ==, 1);
    /* One that fails shows nothing, so nothing is taken for a part of it. It is not tried again at once, and does not count. */
    lull_trigger_limits_count(&limits, 0, 300100 * S, 300101 * S, false);
    g_assert_cmpint(lull_trigger_limits_judge(&limits, 0, 300102 * S), ==, LULL_TRIGGER_FAILED);
    g_assert_cmpint(lull_trigger_limits_judge(&limits, 1, 300106 * S - 1), ==, LULL_TRIGGER_FAILED);
    g_assert_cmpint(lull_trigger_limits_judge(&limits, 1, 300106 * S), ==, LULL_TRIGGER_WRITTEN);
    g_assert_cmpint(lull_trigger_limits_judge(&limits, 0, 300106 * S), ==, LULL_TRIGGER_LIMITED);
    g_assert_cmpuint(limits.written_ns->len, ==, 1);
    lull_trigger_limits_clear(&limits);
    lull_trigger_config_free(config);
}

/* One command of a rule at a time goes by the rule's name, wherever it stands when the rules are read again. */
static void test_commands(void)
{
    struct lull_trigger_config *before = config_of("[rule one]\nslower=1s\nexec=/bin/sleep 100\n"
                                                   "[rule two]\nslower=1s\nexec=/bin/true\n");
    struct lull_trigger_config *after = config_of("[rule two]\nslower=1s\nexec=/bin/true\n"
                                                  "[rule one]\nslower=1s\nexec=/bin/true\n");
    struct lull_commands commands = {.running = {{.pid = 0}}};
    struct lull_trigger_counts counts = {.commands = {0}};
    struct lull_trigger_written written = {.rule = "one", .pid = 1};
    lull_commands_start(&commands, before, &written, &counts);
    g_assert_cmpint(lull_commands_check(&commands, &counts), >, 0);
    lull_commands_start(&commands, after, &written, &counts); /* it runs still */
    g_assert_cmpuint(counts.commands[LULL_COMMAND_BUSY], ==, 1);
    /* One that the other rules do not have starts nothing, whatever stands in its place. */
    g_strlcpy(written.rule, "three", sizeof written.rule);
    lull_commands_start(&commands, after, &written, &counts);
    written.rule[0] = '\0';
    lull_commands_start(&commands, after, &written, &counts);
    g_strlcpy(written.rule, "two", sizeof written.rule);
    lull_commands_start(&commands, after, &written, &counts);
    g_assert_cmpuint(counts.commands[LULL_COMMAND_BUSY], ==, 1);
    for (unsigned i = 0; i < 1000 && counts.commands[LULL_COMMAND_DONE] == 0; i++) {
        g_usleep(10 * 1000);
        lull_commands_check(&commands, &counts);
    }
    g_assert_cmpuint(counts.commands[LULL_COMMAND_DONE], ==, 1);
    lull_commands_end(&commands);
    for (unsigned i = 0; i < 1000 && lull_commands_check(&commands, &counts) > 0; i++) {
        g_usleep(10 * 1000);
    }
    g_assert_cmpuint(counts.commands[LULL_COMMAND_FAILED], ==, 1);
    g_strlcpy(written.rule, "one", sizeof written.rule);
    lull_commands_start(&commands, after, &written, &counts);
    g_assert_cmpuint(counts.commands[LULL_COMMAND_BUSY], ==, 1);
    for (unsigned i = 0; i < 1000 && lull_commands_check(&commands, &counts) > 0; i++) {
        g_usleep(10 * 1000);
    }
    g_assert_cmpuint(counts.commands[LULL_COMMAND_DONE], ==, 2);
    lull_trigger_config_free(before);
    lull_trigger_config_free(after);
}

/* ---- numbers of a container ---- */

enum { CONTAINER_SECONDS = 60 }; /* then it ends, whatever has happened */

static void *wait_for_end(void *unused)
{
    sleep(CONTAINER_SECONDS);
    return unused;
}

/* Process 1 of a pid namespace: process 2 is its child, and 3 its thread. */
static void contain(int ready)
{
    pthread_t thread;
    const pid_t child = fork();
    if (child == 0) {
        sleep(CONTAINER_SECONDS);
        _exit(0);
    }
    if (child == 2 && getpid() == 1 && pthread_create(&thread, NULL, wait_for_end, NULL) == 0) {
        (void)!write(ready, "", 1);
    }
    sleep(CONTAINER_SECONDS);
    _exit(0);
}

/* The number here of the first task in a list of the kernel's that is not `but`. */
static int64_t other_task(const char *form, int process, int64_t but)
{
    g_autofree char *path = g_strdup_printf(form, process, process);
    g_autofree char *text = NULL;
    if (g_file_get_contents(path, &text, NULL, NULL)) {
        return strtol(text, NULL, 10);
    }
    g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
    const char *name;
    while (dir && (name = g_dir_read_name(dir)) && strtol(name, NULL, 10) == but) {
    }
    return dir && name ? strtol(name, NULL, 10) : -1;
}

static void check_inside(int first)
{
    const int64_t second = other_task("/proc/%d/task/%d/children", first, -1);
    const int64_t thread = other_task("/proc/%d/task", first, first);
    const struct {
        int sender;
        int64_t pid, tid, here, thread_here;
        bool is_found;
    } cases[] = {
        {first, 1, 3, first, thread, true},
        {first, 1, 0, first, 0, true},
        {first, 1, 1, first, first, true},
        {first, 2, 2, second, second, true},
        {(int)second, 1, -1, first, -1, true},
        {first, 2, 3, second, -1, false},
        {first, 4000000, 3, -1, -1, false},
        {first, -1, -1, -1, -1, true},
        {0, 1, 3, -1, -1, false}, /* it may be anybody's */
        {getpid(), 1, 3, 1, 3, true},
        {INT32_MAX, 1, 3, -1, -1, false}, /* it has ended */
    };
    g_assert_cmpint(second, >, 1);
    g_assert_cmpint(thread, >, 1);
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        const struct lull_inside_sender sender = {.pid = cases[i].sender};
        int64_t pid = cases[i].pid, tid = cases[i].tid;
        g_assert_true(lull_inside_translate(&sender, &pid, &tid) == cases[i].is_found);
        g_assert_cmpint(pid, ==, cases[i].here);
        g_assert_cmpint(tid, ==, cases[i].thread_here);
    }
}

static void test_inside(void)
{
    int who[2], ready[2], first = -1;
    char is_ready;
    g_assert_cmpint(pipe(who), ==, 0);
    g_assert_cmpint(pipe(ready), ==, 0);
    const pid_t holder = fork();
    if (holder == 0) {
        const pid_t inner = unshare(CLONE_NEWPID) == 0 ? fork() : -1;
        if (inner == 0) {
            close(who[1]);
            contain(ready[1]);
        }
        (void)!write(who[1], &inner, sizeof inner);
        _exit(0);
    }
    close(who[1]);
    close(ready[1]);
    g_assert_cmpint(read(who[0], &first, sizeof first), ==, sizeof first);
    waitpid(holder, NULL, 0);
    if (first > 0) {
        g_assert_cmpint(read(ready[0], &is_ready, 1), ==, 1);
        check_inside(first);
        kill(first, SIGKILL);
    } else {
        g_test_skip("no pid namespaces here");
    }
    close(who[0]);
    close(ready[0]);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/trigger/hooks", test_hooks);
    g_test_add_func("/trigger/ends", test_ends);
    g_test_add_func("/trigger/no-hooks", test_no_hooks);
    g_test_add_func("/trigger/config", test_config);
    g_test_add_func("/trigger/peers", test_peers);
    g_test_add_func("/trigger/problems", test_problems);
    g_test_add_func("/trigger/lines", test_lines);
    g_test_add_func("/trigger/limits", test_limits);
    g_test_add_func("/trigger/commands", test_commands);
    g_test_add_func("/trigger/inside", test_inside);
    return g_test_run();
}
