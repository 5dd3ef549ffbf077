/* SPDX-License-Identifier: MIT */
/* The critical path on small graphs with known answers, and its properties on random ones.
 *
 * Graphs are written as "LINE: TIME STATE TIME STATE TIME …" and "FROM@TIME>TO@TIME CAUSE", answers
 * as "LINE:BEGIN-ENDstate …" with the states R running, P preempted, I interrupted and, blocked on
 * …, T task, N network, M timer, D disk, K user input, J inter-processor interrupt, Q interrupt, U
 * unknown, B no cause given; | is a gap. A "q" behind a state is a detail, a "*" marks the transit
 * of a link. Instead of a cause, "=" says that the line goes on as what the other was. A "!" behind a state says that it is alone, behind a link that its line had been idle,
 * a "<TIME" that what it brings had come to FROM then. "LINE@TIME<SINCE" says since when the edge that ends there lasts. */
#include <glib.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/critpath.h"

#define DETAIL_Q 7

static const struct {
    char letter;
    enum lull_state state;
    enum lull_cause cause;
} letters[] = {
    {'|', LULL_STATE_NONE, LULL_CAUSE_NONE},       {'R', LULL_STATE_RUNNING, LULL_CAUSE_NONE},
    {'P', LULL_STATE_PREEMPTED, LULL_CAUSE_NONE},  {'I', LULL_STATE_INTERRUPTED, LULL_CAUSE_NONE},
    {'B', LULL_STATE_BLOCKED, LULL_CAUSE_NONE},    {'T', LULL_STATE_BLOCKED, LULL_CAUSE_TASK},
    {'N', LULL_STATE_BLOCKED, LULL_CAUSE_NETWORK}, {'M', LULL_STATE_BLOCKED, LULL_CAUSE_TIMER},
    {'D', LULL_STATE_BLOCKED, LULL_CAUSE_DISK},    {'K', LULL_STATE_BLOCKED, LULL_CAUSE_USER_INPUT},
    {'J', LULL_STATE_BLOCKED, LULL_CAUSE_IPI},     {'Q', LULL_STATE_BLOCKED, LULL_CAUSE_IRQ},
    {'U', LULL_STATE_BLOCKED, LULL_CAUSE_UNKNOWN},
};

static size_t letter_index(char letter)
{
    for (size_t i = 0; i < G_N_ELEMENTS(letters); i++) {
        if (letters[i].letter == letter) {
            return i;
        }
    }
    g_error("no state '%c'", letter);
}

static void parse_link(struct lull_graph *graph, const char *text)
{
    unsigned from_line, to_line;
    long from_ns, to_ns;
    char cause, more;
    long via_ns;
    int n = sscanf(text, "%u@%ld>%u@%ld %c%c%ld", &from_line, &from_ns, &to_line, &to_ns, &cause,
                   &more, &via_ns);
    g_assert_cmpint(n, >=, 5);
    if (cause == '=') {
        g_assert_cmpint(from_ns, ==, to_ns);
        lull_graph_link_same(graph, from_line, to_line, to_ns);
        return;
    }
    if (cause == '^') {
        long asked_ns, came_ns;
        n = sscanf(strchr(text, '^'), "^%ld<%ld", &asked_ns, &came_ns);
        g_assert_cmpint(n, ==, 2);
        lull_graph_link_input(graph, from_line, from_ns, to_line, to_ns,
                              (struct lull_graph_asked){asked_ns, came_ns, to_line}, LULL_NONE);
        return;
    }
    lull_graph_link(graph, from_line, from_ns, to_line, to_ns, letters[letter_index(cause)].cause,
                    LULL_NONE);
    if (n == 6 && more == '!') {
        lull_graph_link_idle(graph, to_line, to_ns);
    } else if (n == 7 && more == '<') {
        lull_graph_link_through(graph, to_line, to_ns, from_line, via_ns);
    } else if (n == 7 && more == '?') {
        lull_graph_wait_asked(graph, to_line, to_ns,
                              (struct lull_graph_asked){via_ns, INT64_MIN, to_line});
    } else if (n == 7 && more == '/') { /* line 4 asked */
        lull_graph_wait_asked(graph, to_line, to_ns,
                              (struct lull_graph_asked){via_ns, INT64_MIN, 4});
    }
}

static void parse_line(struct lull_graph *graph, const char *text)
{
    char *rest;
    uint32_t line = (uint32_t)strtoul(text, &rest, 10);
    g_assert_cmpint(*rest, ==, ':');
    g_auto(GStrv) words = g_strsplit(g_strstrip(rest + 1), " ", -1);
    lull_graph_add(graph, line, strtol(words[0], NULL, 10));
    for (char **word = words + 1; *word; word += 2) {
        size_t i = letter_index(word[0][0]);
        if (word[0][1] == '!') {
            lull_graph_append_alone(graph, line, strtol(word[1], NULL, 10), letters[i].state,
                                    letters[i].cause, LULL_NONE);
            continue;
        }
        lull_graph_append(graph, line, strtol(word[1], NULL, 10), letters[i].state,
                          letters[i].cause, -1, word[0][1] == 'q' ? DETAIL_Q : LULL_NONE);
    }
}

/* Lines first, then links, parted by "; ". */
static struct lull_graph *parse_graph(const char *text)
{
    struct lull_graph *graph = lull_graph_new();
    g_auto(GStrv) parts = g_strsplit(text, "; ", -1);
    for (char **part = parts; *part; part++) {
        if (strchr(*part, '>')) {
            parse_link(graph, *part);
        } else if (strchr(*part, '<')) {
            unsigned line;
            long time_ns, since_ns;
            g_assert_cmpint(sscanf(*part, "%u@%ld<%ld", &line, &time_ns, &since_ns), ==, 3);
            lull_graph_edge_since(graph, line, time_ns, since_ns);
        } else if (**part != '\0') {
            parse_line(graph, *part);
        }
    }
    return graph;
}

static char letter_of(const struct lull_hop *hop)
{
    for (size_t i = 0; i < G_N_ELEMENTS(letters); i++) {
        if (letters[i].state == hop->state && letters[i].cause == hop->cause) {
            return letters[i].letter;
        }
    }
    return '?';
}

static char *path_text(const GArray *hops)
{
    GString *text = g_string_new(NULL);
    for (guint i = 0; i < hops->len; i++) {
        const struct lull_hop *hop = &g_array_index(hops, struct lull_hop, i);
        g_string_append_printf(text, "%s%u:%ld-%ld%c%s%s", i > 0 ? " " : "", hop->line,
                               (long)hop->start_ns, (long)hop->end_ns, letter_of(hop),
                               hop->detail == DETAIL_Q ? "q" : "",
                               hop->link != LULL_NONE ? "*" : "");
    }
    return g_string_free(text, FALSE);
}

struct example {
    const char *name, *graph;
    int64_t start_ns, end_ns;
    const char *path;
};

static void check_example(const struct example *example, enum lull_path_kind kind)
{
    struct lull_graph *graph = parse_graph(example->graph);
    GArray *hops = lull_critpath_find(graph, 0, example->start_ns, example->end_ns, kind);
    g_autofree char *text = path_text(hops);
    g_assert_cmpstr(text, ==, example->path);
    g_array_unref(hops);
    lull_graph_free(graph);
}

static void test_example(gconstpointer data)
{
    check_example(data, LULL_PATH_BOUNDED);
}

static void test_request_example(gconstpointer data)
{
    check_example(data, LULL_PATH_REQUEST);
}

static void test_unbounded_example(gconstpointer data)
{
    check_example(data, LULL_PATH_UNBOUNDED);
}

/* The peer's fixtures (specification of Trace Compass, 7.2) and the graphs of its distributed ones
 * (7.3), its edges written in our states: what it draws as a vertical edge that takes time is a
 * transit, as a gap filler an unknown wait. */
static const struct example peer_examples[] = {
    {"basic", "0: 0 R 1", 0, 1, "0:0-1R"},
    {"wakeup-self", "0: 0 R 1 Rq 2 M 3 R 4; 0@1>0@3 T", 0, 4, "0:0-1R 0:1-2Rq 0:2-3M 0:3-4R"},
    {"wakeup-missing", "0: 0 R 2 Uq 4 R 6", 0, 6, "0:0-2R 0:2-4Uq 0:4-6R"},
    {"wakeup-unknown", "0: 0 R 2 T 4 R 6; 1: 3; 1@3>0@4 N", 0, 6, "0:0-2R 1:2-3U 0:3-4N* 0:4-6R"},
    {"wakeup-new", "0: 0 R 2 Rq 4 T 6 Rq 8; 1: 3 Rq 6; 0@2>1@3 T; 1@6>0@6 T", 0, 8,
     "0:0-2R 0:2-4Rq 1:4-6Rq 0:6-8Rq"},
    {"opened-delay", "0: 0 R 3 T 6 R 9; 1: 0 R 2 R 5; 1@2>0@6 T", 0, 9, "0:0-3R 0:3-6T* 0:6-9R"},
    {"opened", "0: 0 R 3 T 6 R 9; 1: 0 R 6 R 9; 1@6>0@6 T", 0, 9, "0:0-3R 1:3-6R 0:6-9R"},
    {"mutual", "0: 0 R 1 R 2 R 3 T 4 R 5; 1: 0 R 1 T 2 R 3 R 4 R 5; 0@2>1@2 T; 1@4>0@4 T", 0, 5,
     "0:0-1R 0:1-2R 0:2-3R 1:3-4R 0:4-5R"},
    {"embedded",
     "0: 0 R 2 R 4 R 6 T 8 T 10 R 12; 1: 4 R 8; 2: 2 R 10; 0@2>2@2 T; 0@4>1@4 T; 1@8>0@8 T; "
     "2@10>0@10 T",
     0, 12, "0:0-2R 0:2-4R 0:4-6R 1:6-8R 2:8-10R 0:10-12R"},
    {"interleave",
     "0: 0 R 2 R 4 R 6 T 8 T 10 R 12; 1: 2 R 8; 2: 4 R 10; 0@2>1@2 T; 0@4>2@4 T; 1@8>0@8 T; "
     "2@10>0@10 T",
     0, 12, "0:0-2R 0:2-4R 0:4-6R 1:6-8R 2:8-10R 0:10-12R"},
    {"nested",
     "0: 0 R 1 T 6 R 7; 1: 1 R 2 T 5 R 6; 2: 2 R 3 T 4 R 5; 3: 3 R 4; 0@1>1@1 T; 1@2>2@2 T; "
     "2@3>3@3 T; 3@4>2@4 T; 2@5>1@5 T; 1@6>0@6 T",
     0, 7, "0:0-1R 1:1-2R 2:2-3R 3:3-4R 2:4-5R 1:5-6R 0:6-7R"},
    {"net1",
     "0: 0 R 1 T 11 R 12; 1: 3 R 4 R 5; 2: 6 R 7 R 8; 3: 9 R 10 R 11; 1@4>2@7 N; 2@8>3@10 N; "
     "3@11>0@11 T",
     0, 12, "0:0-1R 1:1-3U 1:3-4R 2:4-7N* 2:7-8R 3:8-10N* 3:10-11R 0:11-12R"},
    {"eth-wifi", "0: 10 R 13 R 15 N 70 P 75; 1: 5 N 35 P 40 R 45 R 55; 0@13>1@35 N; 1@45>0@70 N",
     10, 75, "0:10-13R 0:13-15R 1:15-35N* 1:35-40P 1:40-45R 0:45-70N* 0:70-75P"},
    {"client-alone", "0: 7 T 90 P 95; 1: 10 R 13 R 15 N 70 P 75 R 90 R 95; 1@90>0@90 T", 7, 95,
     "1:7-10U 1:10-13R 1:13-15R 1:15-70N 1:70-75P 1:75-90R 0:90-95P"},
};

#define EMBEDDED                                                                                   \
    "0: 0 R 2 R 4 R 6 T 8 T 10 R 12; 1: 4 R 8; 2: 2 R 10; 0@2>2@2 T; 0@4>1@4 T; 1@8>0@8 T; "       \
    "2@10>0@10 T"
/* Line 0 waits from 1 to 9 for line 1; the rest of the graph follows. */
#define WAIT_FOR_1 "0: 0 R 1 T 9 R 10; 1@9>0@9 T; "

/* Line 1, a loop, asks line 2 at 3 and hears of it at 18, and of line 3 at 9. */
#define TWO_REQUESTS(asked)                                                                        \
    "1: 0 R 4 N 9 R 11 N 18 R 20; 2: 0 N 3 M 17 R 18; 3: 0 R 9; 1@3>2@3 N; 3@9>1@9 N; "            \
    "2@18>1@18 N" asked
#define BUSY(input)                                                                                \
    "1: 0 R 4 N 9 R 17 R 20; 2: 0 N 3 M 12 R 13; 3: 0 R 9; 1@3>2@3 N; 3@9>1@9 N; 2@13>1@17 " input
#define WAITS_FOR_LOOP "; 0: 0 R 1 T 20 R 21; 1@20>0@20 T"

static const struct example own_examples[] = {
    {"window", EMBEDDED, 3, 9, "0:3-4R 0:4-6R 1:6-8R 2:8-9R"},
    {"window-in-wait", EMBEDDED, 7, 8, "1:7-8R"},
    {"window-empty", EMBEDDED, 7, 7, ""},
    {"window-backwards", EMBEDDED, 8, 7, ""},
    {"window-wider", "0: 0 R 1", -5, 20, "0:-5-0U 0:0-1R 0:1-20U"},
    {"window-before", "0: 5 R 6", 0, 3, "0:0-3U"},
    {"window-after", "0: 5 R 6", 7, 9, "0:7-9U"},
    {"window-extreme", "0: 5 R 6", 5, INT64_MAX, "0:5-6R 0:6-9223372036854775807U"},
    {"window-everything", "0: 5 R 6", INT64_MIN, 6, "0:-9223372036854775808-5U 0:5-6R"},
    {"no-such-line", "3: 0 R 9", 0, 4, "0:0-4U"},
    {"end-in-wait", "0: 0 R 2 T 20; 1: 0 R 30; 1@20>0@20 T", 0, 7, "0:0-2R 1:2-7R"},
    {"end-in-transit", "0: 0 R 2 T 20; 1: 0 R 30; 1@6>0@20 N", 0, 7, "0:0-2R 1:2-6R 0:6-7N*"},
    {"begin-in-wait", "0: 0 R 2 T 20; 1: 0 R 30; 1@6>0@20 N", 4, 20, "1:4-6R 0:6-20N*"},
    {"wait-never-ends", "0: 0 R 5", 0, 9, "0:0-5R 0:5-9U"},

    {"gap", "0: 0 R 1 | 3 R 4", 0, 4, "0:0-1R 0:1-3U 0:3-4R"},
    {"gap-with-link", "0: 0 R 1 | 3 R 4; 1: 0 R 4; 1@2>0@3 T", 0, 4, "0:0-1R 0:1-3U 0:3-4R"},
    {"first-with-link", "0: 3 R 4; 1: 0 R 4; 1@2>0@3 T", 0, 4, "0:0-3U 0:3-4R"},
    {"no-cause-given", "0: 0 R 1 B 3 R 4", 0, 4, "0:0-1R 0:1-3U 0:3-4R"},
    {"no-cause-given-linked", "0: 0 R 1 B 3 R 4; 1: 0 R 4; 1@3>0@3 T", 0, 4,
     "0:0-1R 1:1-3R 0:3-4R"},
    {"unknown-linked", "0: 0 R 1 U 3 R 4; 1: 0 R 4; 1@3>0@3 T", 0, 4, "0:0-1R 1:1-3R 0:3-4R"},
    {"task-not-linked", "0: 0 R 1 T 3 R 4", 0, 4, "0:0-1R 0:1-3U 0:3-4R"},
    {"network-not-linked", "0: 0 R 1 N 3 R 4", 0, 4, "0:0-1R 0:1-3N 0:3-4R"},
    {"states-kept", "0: 0 R 1 P 2 I 3 D 4 M 5 K 6 J 7 Q 8", 0, 8,
     "0:0-1R 0:1-2P 0:2-3I 0:3-4D 0:4-5M 0:5-6K 0:6-7J 0:7-8Q"},
    {"terminal-causes", /* their links say nothing about the wait */
     "0: 0 D 1 M 2 K 3 J 4 Q 5; 1: 0 R 9; 1@1>0@1 T; 1@2>0@2 T; 1@3>0@3 T; 1@4>0@4 T; 1@5>0@5 T", 0,
     5, "0:0-1D 0:1-2M 0:2-3K 0:3-4J 0:4-5Q"},

/* line 1 interrupts line 0 at 5, which has waited until 9 since 2 */
#define INTERRUPTED "0: 0 R 2 T 5 R 6 Mq 9 R 10; 1: 0 R 9; 1@5>0@5 T; 0@9<2; "
    {"edge-since", INTERRUPTED, 0, 10, "0:0-2R 0:2-9Mq 0:9-10R"},
    {"edge-since-ends-within", INTERRUPTED, 1, 8, "0:1-2R 0:2-8Mq"},
    {"edge-since-starts-within", INTERRUPTED, 4, 10, "0:4-9Mq 0:9-10R"},
    {"edge-since-of-handler", INTERRUPTED, 0, 6, "0:0-2R 1:2-5R 0:5-6R"},
    {"edge-since-of-waker",
     "0: 0 R 4 T 10 R 11; 1: 0 R 2 T 5 R 6 Mq 9 R 10; 2: 0 R 9; 2@5>1@5 T; 1@9<2; 1@10>0@10 T", 0,
     11, "0:0-4R 1:4-9Mq 1:9-10R 0:10-11R"},
    {"edge-since-no-longer", "0: 0 R 2 Mq 9 R 10; 0@9<2", 0, 10, "0:0-2R 0:2-9Mq 0:9-10R"},
    {"edge-since-without-detail", "0: 0 R 2 T 5 R 6 M 9 R 10; 1: 0 R 9; 1@5>0@5 T; 0@9<2", 0, 10,
     "0:0-2R 1:2-5R 0:5-6R 0:6-9M 0:9-10R"},
    {"edge-since-linked", "0: 0 R 2 T 5 R 6 Uq 9 R 10; 1: 0 R 9; 1@5>0@5 T; 1@9>0@9 T; 0@9<2", 0,
     10, "0:0-2R 1:2-5R 0:5-6R 1:6-9R 0:9-10R"},

    /* line 0 makes line 1, waits for it, and ends at 6; at 7 it goes on as what line 1 was */
    {"same", "0: 0 R 2 R 3 T 6 | 7 R 9; 1: 2 P 4 R 7; 0@2>1@2 T; 1@7>0@7 =", 0, 9,
     "0:0-2R 1:2-4P 1:4-7R 0:7-9R"},
    {"same-ends-between", "0: 0 R 2 R 3 T 6 | 7 R 9; 1: 2 P 4 R 7; 0@2>1@2 T; 1@7>0@7 =", 1, 6,
     "0:1-2R 0:2-3R 0:3-6U"},
    {"same-ends-in-gap", "0: 0 R 2 R 3 R 6 | 9 R 11; 1: 2 P 4 R 9; 0@2>1@2 T; 1@9>0@9 =", 5, 8,
     "1:5-8R"},
    {"same-of-unknown-birth", "0: 0 R 6 | 7 R 9; 1: 4 R 7; 1@7>0@7 =", 0, 9,
     "1:0-4U 1:4-7R 0:7-9R"},
    {"same-twice",
     "0: 0 R 4 | 5 R 7 | 8 R 9; 1: 1 R 5; 2: 6 R 8; 0@1>1@1 T; 0@6>2@6 T; "
     "1@5>0@5 =; 2@8>0@8 =",
     0, 9, "0:0-1R 1:1-5R 0:5-6R 2:6-8R 0:8-9R"},
    {"same-waits",
     "0: 0 R 2 R 3 | 9 R 10; 1: 2 R 4 T 8 R 9; 2: 3 R 8; 0@2>1@2 T; 2@8>1@8 T; "
     "1@9>0@9 =",
     0, 10, "0:0-2R 1:2-4R 2:4-8R 1:8-9R 0:9-10R"},
    {"waker-same", "1: 0 R 4 | 6 R 9; 2: 3 R 6; 1@3>2@3 T; 2@6>1@6 =; " WAIT_FOR_1, 0, 10,
     "0:0-1R 1:1-3R 2:3-6R 1:6-9R 0:9-10R"},
    {"waker-same-long", "1: 4 R 9; 2: 0 R 4; 2@4>1@4 =; " WAIT_FOR_1, 0, 10,
     "0:0-1R 2:1-4R 1:4-9R 0:9-10R"},
    {"same-at-once", "0: 0 R 5 R 9; 1: 0 R 5 R 9; 1@5>0@5 =; 0@5>1@5 =", 0, 9, "1:0-5R 0:5-9R"},

    {"waker-terminal", "1: 0 R 3 D 6 R 9; 2: 0 R 9; 2@5>1@6 T; " WAIT_FOR_1, 0, 10,
     "0:0-1R 1:1-3R 1:3-6D 1:6-9R 0:9-10R"},
    {"waker-terminal-old-link", "1: 0 R 3 M 6 R 9; 1@1>1@6 T; " WAIT_FOR_1, 0, 10,
     "0:0-1R 1:1-3R 1:3-6M 1:6-9R 0:9-10R"},
    {"waker-unexplained", "1: 0 R 3 T 5 R 9; " WAIT_FOR_1, 0, 10,
     "0:0-1R 1:1-3R 1:3-5U 1:5-9R 0:9-10R"},
    {"waker-gap", "1: 0 R 3 | 5 R 9; " WAIT_FOR_1, 0, 10, "0:0-1R 1:1-5U 1:5-9R 0:9-10R"},
    {"waker-gap-entry", "1: 0 R 3 | 5 R 9; 2: 0 R 4 R 9; 2@4>1@5 N; " WAIT_FOR_1, 0, 10,
     "0:0-1R 2:1-4R 1:4-5N* 1:5-9R 0:9-10R"},
    {"waker-forked", "1: 3 P 5 R 9; 2: 0 R 3 R 9; 2@3>1@3 T; " WAIT_FOR_1, 0, 10,
     "0:0-1R 2:1-3R 1:3-5P 1:5-9R 0:9-10R"},
    {"waker-entry-drops", "1: 2 R 6 R 9; 2: 0 R 9; 2@5>1@6 N; " WAIT_FOR_1, 0, 10,
     "0:0-1R 2:1-5R 1:5-6N* 1:6-9R 0:9-10R"},
    {"waker-first-entry", "1: 2 R 4 R 6 R 9; 2: 0 R 9; 2@5>1@6 N; 2@3>1@4 N; " WAIT_FOR_1, 0, 10,
     "0:0-1R 2:1-3R 1:3-4N* 1:4-6R 1:6-9R 0:9-10R"},
    {"waker-first-entry-linked-first",
     "1: 2 R 4 R 6 R 9; 2: 0 R 9; 2@3>1@4 N; 2@5>1@6 N; " WAIT_FOR_1, 0, 10,
     "0:0-1R 2:1-3R 1:3-4N* 1:4-6R 1:6-9R 0:9-10R"},
    {"waker-entry-after-wait", "1: 2 R 3 T 4 R 6 R 9; 2: 0 R 9; 2@4>1@4 T; 2@5>1@6 N; " WAIT_FOR_1,
     0, 10, "0:0-1R 2:1-5R 1:5-6N* 1:6-9R 0:9-10R"},
    {"waker-entry-not-needed", "1: 0 R 6 R 9; 2: 0 R 9; 2@5>1@6 N; " WAIT_FOR_1, 0, 10,
     "0:0-1R 1:1-6R 1:6-9R 0:9-10R"},
    {"waker-entry-before-wait", "1: 0 R 6 R 9; 2: 0 R 9; 2@1>1@6 N; " WAIT_FOR_1, 0, 10,
     "0:0-1R 1:1-6N* 1:6-9R 0:9-10R"},
    {"waker-entry-unknown", "1: 3 R 9; 2: 2 R 9; 2@3>1@3 T; " WAIT_FOR_1, 0, 10,
     "0:0-1R 2:1-2U 2:2-3R 1:3-9R 0:9-10R"},
    {"waker-cause-before-wait", "1: 0 R 4 T 6 R 9; 2: 0 R 9; 2@1>1@6 T; " WAIT_FOR_1, 0, 10,
     "0:0-1R 1:1-6T* 1:6-9R 0:9-10R"},
    {"waker-cause-before-its-wait", "1: 0 R 4 T 6 R 9; 2: 0 R 9; 2@3>1@6 T; " WAIT_FOR_1, 0, 10,
     "0:0-1R 1:1-4R 1:4-6T* 1:6-9R 0:9-10R"},
    {"waker-waited-for-unknown", "1: 0 R 3 T 6 R 9; 2: 5 R 6; 2@6>1@6 T; " WAIT_FOR_1, 0, 10,
     "0:0-1R 1:1-3R 2:3-5U 2:5-6R 1:6-9R 0:9-10R"},
    {"waker-has-no-line", WAIT_FOR_1, 0, 10, "0:0-1R 1:1-9U 0:9-10R"},
    {"waker-line-ended", "1: 0 R 4; " WAIT_FOR_1, 0, 10, "0:0-1R 1:1-4R 1:4-9U 0:9-10R"},
    {"waker-line-later", "1: 15 R 20; " WAIT_FOR_1, 0, 10, "0:0-1R 1:1-9U 0:9-10R"},

    {"waker-alone", "1: 2 R 3 M! 6 R 9; 2: 0 R 9; 2@2>1@2 N; " WAIT_FOR_1, 0, 10,
     "0:0-1R 1:1-6M 1:6-9R 0:9-10R"},
    {"alone-asked", "0: 0 R 1 M! 6 R 9", 0, 9, "0:0-1R 0:1-6M 0:6-9R"},
    {"waker-idle", "1: 0 R 4 T 6 R 9; 2: 0 R 2 M 5 R 6; 2@6>1@6 T!; " WAIT_FOR_1, 0, 10,
     "0:0-1R 2:1-2R 2:2-5M 2:5-6R 1:6-9R 0:9-10R"},
    {"waker-idle-late", "1: 0 R 4 T 6 R 9; 2: 0 R 2 M 5 R 7; 2@5>1@6 T!; " WAIT_FOR_1, 0, 10,
     "0:0-1R 2:1-2R 2:2-5M 1:5-6T* 1:6-9R 0:9-10R"},
    {"idle-asked", "0: 0 R 4 T 6 R 9; 1: 0 R 2 M 5 R 6; 1@6>0@6 T!", 0, 9,
     "0:0-4R 1:4-5M 1:5-6R 0:6-9R"},
    {"link-from-within-edge", "0: 0 R 1 T 9 R 10; 1: 0 R 100; 1@7>0@9 T", 0, 10,
     "0:0-1R 1:1-7R 0:7-9T* 0:9-10R"},
    {"link-from-within-wait",
     "0: 0 R 1 T 9 R 10; 1: 0 R 2 T 20 R 21; 2: 0 R 30; 2@20>1@20 T; 1@7>0@9 T", 0, 10,
     "0:0-1R 1:1-2R 2:2-7R 0:7-9T* 0:9-10R"},
    {"link-backwards-in-time", "0: 0 R 1 T 9 R 10; 1: 0 R 100; 1@50>0@9 T", 0, 10,
     "0:0-1R 1:1-9R 0:9-10R"},
    {"link-replaced", "0: 0 R 1 T 9; 1: 0 R 9; 2: 0 R 9; 1@9>0@9 T; 2@8>0@9 N", 0, 9,
     "0:0-1R 2:1-8R 0:8-9N*"},
    {"link-into-nothing", "0: 0 R 1 T 9; 1: 0 R 9; 1@8>0@8 T; 1@9>7@9 T", 0, 9, "0:0-1R 0:1-9U"},
    {"self", "0: 0 R 1 T 9; 0@5>0@9 T", 0, 9, "0:0-1R 0:1-5U 0:5-9T*"},
    {"self-at-once", "0: 0 R 1 T 9; 0@9>0@9 T", 0, 9, "0:0-1R 0:1-9U"},
    {"mutual-at-once", "0: 0 R 1 T 9; 1: 0 R 1 T 9; 0@9>1@9 T; 1@9>0@9 T", 0, 9, "0:0-1R 1:1-9U"},
    {"mutual-within-waits", "0: 0 T 10; 1: 0 T 20; 1@10>0@10 T; 0@8>1@20 T", 0, 10,
     "1:0-8U 1:8-10T*"},
    /* line 1 passes on what lines 2 and 3 have sent, one right after the other */
    {"passed-on",
     "0: 0 R 1 N 8 R 9; 1: 4 R 5 R 6 R 9; 2: 0 R 9; 3: 0 R 9; 2@2>1@4 N; 3@3>1@5 N; 1@6>0@8 N<4", 0,
     9, "0:0-1R 2:1-2R 1:2-4N* 1:4-5R 1:5-6R 0:6-8N* 0:8-9R"},
    {"passed-on-after",
     "0: 0 R 1 N 8 R 9; 1: 4 R 5 R 6 R 9; 2: 0 R 9; 3: 0 R 9; 2@2>1@4 N; 3@3>1@5 N; 1@7>0@8 N<5", 0,
     9, "0:0-1R 3:1-3R 1:3-5N* 1:5-6R 1:6-7R 0:7-8N* 0:8-9R"},
    /* line 1 waits for what line 2 had sent before line 0 started to wait for line 1 */
    {"passed-on-long",
     "0: 0 R 2 T 20 R 21; 1: 0 R 5 N 18 R 20; 2: 0 R 9; 3: 15 R 17; 1@20>0@20 T; 2@1>3@15 N; "
     "3@17>1@18 N<15",
     0, 21, "0:0-2R 1:2-18N* 1:18-20R 0:20-21R"},
    {"passed-on-before-wait", "0: 0 R 5 N 8; 1: 3 R 7; 2: 0 R 9; 2@2>1@3 N; 1@7>0@8 N<3", 0, 8,
     "0:0-5R 1:5-7R 0:7-8N*"},
    {"passed-on-twice",
     "0: 0 R 1 N 9; 1: 2 R 4; 2: 5 R 7; 3: 0 R 9; 3@1>1@2 N; 1@4>2@5 N<2; 2@7>0@9 N<5", 0, 9,
     "0:0-1R 1:1-2N* 1:2-4R 2:4-5N* 2:5-7R 0:7-9N*"},
    {"passed-on-later", /* than it was sent: not so */
     "0: 0 R 1 N 9; 1: 2 R 4 R 8; 3: 0 R 9; 3@1>1@8 N; 1@4>0@9 N<8", 0, 9,
     "0:0-1R 1:1-2U 1:2-4R 0:4-9N*"},
    /* line 1 has two requests under way, with line 2 since 4 and with line 3; the client waits for what line 2 says */
    {"asked-before", TWO_REQUESTS("?4") WAITS_FOR_LOOP, 0, 21,
     "0:0-1R 1:1-4R 2:4-17M 2:17-18R 1:18-20R 0:20-21R"},
    {"asked-not-known", TWO_REQUESTS("") WAITS_FOR_LOOP, 0, 21,
     "0:0-1R 1:1-4R 3:4-9R 1:9-11R 2:11-17M 2:17-18R 1:18-20R 0:20-21R"},
    {"asked-before-it-was-waited-for", "0: 0 R 6 T 20 R 21; 1@20>0@20 T; " TWO_REQUESTS("?4"), 0,
     21, "0:0-6R 2:6-17M 2:17-18R 1:18-20R 0:20-21R"},
    /* line 4 asked, and went on with other things */
    {"asked-by-another", "4: 0 R 2 D 4 R 20; " TWO_REQUESTS("/3") WAITS_FOR_LOOP, 0, 21,
     "0:0-1R 4:1-2R 4:2-3D 2:3-17M 2:17-18R 1:18-20R 0:20-21R"},
    {"asked-in-its-own-wait", TWO_REQUESTS("?12") WAITS_FOR_LOOP, 0, 21,
     "0:0-1R 1:1-4R 3:4-9R 1:9-11R 2:11-17M 2:17-18R 1:18-20R 0:20-21R"},
    {"asked-by-the-line-itself",
     "1: 0 R 9; 2: 0 R 20; 0: 0 R 4 T 9 R 11 T 18 R 20; 1@9>0@9 T; "
     "2@18>0@18 T?4",
     0, 20, "0:0-4R 1:4-9R 0:9-11R 2:11-18R 0:18-20R"},
    /* the answer of line 2 comes at 14, when line 1 is busy with what line 3 has said; it takes it at 17 */
    {"input", BUSY("^4<14") WAITS_FOR_LOOP, 0, 21,
     "0:0-1R 1:1-4R 2:4-12M 2:12-13R 1:13-14N* 1:14-17R 1:17-20R 0:20-21R"},
    {"input-without-question", BUSY("N") WAITS_FOR_LOOP, 0, 21,
     "0:0-1R 1:1-4R 3:4-9R 1:9-17R 1:17-20R 0:20-21R"},
    {"input-before-it-was-waited-for", "0: 0 R 15 T 20 R 21; 1@20>0@20 T; " BUSY("^4<14"), 0, 21,
     "0:0-15R 1:15-17R 1:17-20R 0:20-21R"},
    {"input-asked-before-it-was-waited-for", "0: 0 R 6 T 20 R 21; 1@20>0@20 T; " BUSY("^4<14"), 0,
     21, "0:0-6R 2:6-12M 2:12-13R 1:13-14N* 1:14-17R 1:17-20R 0:20-21R"},
    {"input-of-the-line-itself",
     "1: 0 R 9; 2: 0 R 13; 0: 0 R 4 T 9 R 17 R 20; 1@9>0@9 T; 2@13>0@17 ^4<14", 0, 20,
     "0:0-4R 1:4-9R 0:9-17R 0:17-20R"},
    {"mutual-entries", /* each only known to come from the other */
     "1: 3 R 9; 2: 3 R 9; 1@3>2@3 T; 2@3>1@3 T; " WAIT_FOR_1, 0, 10,
     "0:0-1R 2:1-3U 1:3-9R 0:9-10R"},
};

static void test_points(void)
{
    struct lull_graph *graph = lull_graph_new();
    uint32_t count;
    g_assert_null(lull_graph_points(graph, 0, &count));
    g_assert_cmpuint(count, ==, 0);
    g_assert_cmpuint(lull_graph_append(graph, 2, 10, LULL_STATE_RUNNING, LULL_CAUSE_NONE, 3, 4), ==,
                     0);
    g_assert_cmpuint(lull_graph_line_count(graph), ==, 3);
    /* the edge is lost at the same time, and at an earlier one */
    g_assert_cmpuint(lull_graph_append(graph, 2, 10, LULL_STATE_RUNNING, LULL_CAUSE_NONE, 3, 4), ==,
                     0);
    g_assert_cmpuint(lull_graph_append(graph, 2, 5, LULL_STATE_RUNNING, LULL_CAUSE_NONE, 3, 4), ==,
                     0);
    lull_graph_add(graph, 2, 10);
    g_assert_cmpuint(lull_graph_append(graph, 2, 11, LULL_STATE_BLOCKED, LULL_CAUSE_DISK, 3, 4), ==,
                     1);
    lull_graph_add(graph, 2, 20);
    const struct lull_graph_point *points = lull_graph_points(graph, 2, &count);
    g_assert_cmpuint(count, ==, 3);
    g_assert_cmpint(points[0].state, ==, LULL_STATE_NONE);
    g_assert_cmpint(points[1].time_ns, ==, 11);
    g_assert_cmpint(points[1].cause, ==, LULL_CAUSE_DISK);
    g_assert_cmpint(points[1].cpu, ==, 3);
    g_assert_cmpuint(points[1].detail, ==, 4);
    g_assert_cmpuint(points[1].link, ==, LULL_NONE);
    g_assert_cmpint(points[2].state, ==, LULL_STATE_NONE);
    g_assert_cmpuint(sizeof *points, ==, 24);

    GArray *hops = lull_critpath_find(graph, 2, 10, 11, LULL_PATH_BOUNDED);
    g_assert_cmpuint(hops->len, ==, 1);
    g_assert_cmpint(g_array_index(hops, struct lull_hop, 0).cpu, ==, 3);
    g_assert_cmpuint(g_array_index(hops, struct lull_hop, 0).detail, ==, 4);
    g_array_unref(hops);
    lull_graph_free(graph);
    lull_graph_free(NULL);
}

/* Every point of a long line must be found when it is linked, in whatever order. */
static void test_links_to_old_points(void)
{
    struct lull_graph *graph = lull_graph_new();
    const uint32_t n = 1000;
    for (uint32_t i = 0; i < n; i++) {
        lull_graph_append(graph, 0, 10 * i, LULL_STATE_BLOCKED, LULL_CAUSE_TASK, -1, LULL_NONE);
    }
    for (uint32_t i = 0; i < n; i++) {
        uint32_t point = i * 7 % n; /* 7 and 1000 have no common factor */
        lull_graph_link(graph, point, 0, 0, 10 * point, LULL_CAUSE_TASK, LULL_NONE);
        lull_graph_link(graph, 5, 0, 0, 10 * point + 1, LULL_CAUSE_TASK, LULL_NONE);
        lull_graph_link(graph, 5, 0, 0, 10 * (int64_t)point - 1, LULL_CAUSE_TASK, LULL_NONE);
    }
    uint32_t count;
    const struct lull_graph_point *points = lull_graph_points(graph, 0, &count);
    g_assert_cmpuint(count, ==, n);
    for (uint32_t i = 0; i < n; i++) {
        g_assert_cmpuint(lull_graph_link_at(graph, points[i].link)->from_line, ==, i);
    }
    lull_graph_free(graph);
}

/* Line k waits from k + 1 until 2n - k for line k + 1, which it started: n waits one in the other.
 */
static void test_deep_nesting(void)
{
    const uint32_t n = 200000;
    struct lull_graph *graph = lull_graph_new();
    for (uint32_t k = 0; k < n; k++) {
        lull_graph_add(graph, k, k);
        lull_graph_append(graph, k, k + 1, LULL_STATE_RUNNING, LULL_CAUSE_NONE, -1, LULL_NONE);
        lull_graph_append(graph, k, 2 * n - k, LULL_STATE_BLOCKED, LULL_CAUSE_TASK, -1, LULL_NONE);
        lull_graph_append(graph, k, 2 * n - k + 1, LULL_STATE_RUNNING, LULL_CAUSE_NONE, -1,
                          LULL_NONE);
        lull_graph_link(graph, k + 1, 2 * n - k, k, 2 * n - k, LULL_CAUSE_TASK, LULL_NONE);
    }
    lull_graph_add(graph, n, n);
    lull_graph_append(graph, n, n + 1, LULL_STATE_RUNNING, LULL_CAUSE_NONE, -1, LULL_NONE);
    GArray *hops = lull_critpath_find(graph, 0, 0, 2 * n + 1, LULL_PATH_BOUNDED);
    g_assert_cmpuint(hops->len, ==, 2 * n + 1);
    for (uint32_t i = 0; i < hops->len; i++) {
        const struct lull_hop *hop = &g_array_index(hops, struct lull_hop, i);
        g_assert_cmpint(hop->start_ns, ==, i);
        g_assert_cmpint(hop->end_ns, ==, i + 1);
        g_assert_cmpuint(hop->line, ==, i <= n ? i : 2 * n - i);
        g_assert_cmpint(hop->state, ==, LULL_STATE_RUNNING);
    }
    g_array_unref(hops);
    lull_graph_free(graph);
}

/* A million points on two lines that wake each other in turn; and each long wait asked about
 * through a chain of lines that all wait until the end, which must not cost the length of the chain
 * each time. */
static void test_large(void)
{
    const uint32_t n = 500000, chain = 20000;
    struct lull_graph *graph = lull_graph_new();
    lull_graph_add(graph, 0, 0);
    lull_graph_add(graph, 1, 0);
    for (uint32_t i = 1; i <= n; i++) {
        uint32_t runs = i % 2;
        lull_graph_append(graph, runs, i, LULL_STATE_RUNNING, LULL_CAUSE_NONE, -1, LULL_NONE);
        lull_graph_append(graph, !runs, i, LULL_STATE_BLOCKED, LULL_CAUSE_TASK, -1, LULL_NONE);
        lull_graph_link(graph, runs, i, !runs, i, LULL_CAUSE_TASK, LULL_NONE);
    }
    GArray *hops = lull_critpath_find(graph, 0, 0, n, LULL_PATH_BOUNDED);
    g_assert_cmpuint(hops->len, ==, n);
    for (uint32_t i = 0; i < n; i++) {
        g_assert_cmpuint(g_array_index(hops, struct lull_hop, i).line, ==, (i + 1) % 2);
    }
    g_array_unref(hops);

    for (uint32_t i = 1; i <= n; i++) {
        lull_graph_append(graph, 2, i, LULL_STATE_BLOCKED, LULL_CAUSE_TASK, -1, LULL_NONE);
        lull_graph_link(graph, 3, i, 2, i, LULL_CAUSE_TASK, LULL_NONE);
    }
    for (uint32_t line = 3; line < chain; line++) {
        lull_graph_add(graph, line, 0);
        lull_graph_append(graph, line, n, LULL_STATE_BLOCKED, LULL_CAUSE_TASK, -1, LULL_NONE);
        lull_graph_link(graph, line + 1, n, line, n, LULL_CAUSE_TASK, LULL_NONE);
    }
    hops = lull_critpath_find(graph, 2, 1, n, LULL_PATH_BOUNDED);
    g_assert_cmpuint(hops->len, ==, n - 1);
    g_array_unref(hops);
    lull_graph_free(graph);
}

#define LAST_NS 40

static struct lull_graph *random_graph(GRand *rand)
{
    struct lull_graph *graph = lull_graph_new();
    uint32_t n_lines = (uint32_t)g_rand_int_range(rand, 1, 9);
    for (uint32_t line = 0; line < n_lines; line++) {
        int64_t t = g_rand_int_range(rand, 0, 10);
        int longest = g_rand_int_range(rand, 2, 12);
        lull_graph_add(graph, line, t);
        while ((t += g_rand_int_range(rand, 1, longest)) <= LAST_NS) {
            bool waits = g_rand_boolean(rand);
            size_t i = waits ? letter_index('T') : (size_t)g_rand_int_range(rand, 0, 13);
            lull_graph_append(graph, line, t, letters[i].state, letters[i].cause, (int)line,
                              line << 8 | (uint32_t)t);
        }
    }
    int n_links = g_rand_int_range(rand, 0, 60);
    for (int i = 0; i < n_links; i++) {
        uint32_t from = (uint32_t)g_rand_int_range(rand, 0, (gint32)n_lines + 1), count;
        uint32_t to = (uint32_t)g_rand_int_range(rand, 0, (gint32)n_lines);
        const struct lull_graph_point *points = lull_graph_points(graph, to, &count);
        int64_t t = points[g_rand_int_range(rand, 0, (gint32)count)].time_ns;
        /* at the same time, some time earlier, or impossibly later */
        int64_t delay = g_rand_boolean(rand) ? 0 : g_rand_int_range(rand, -3, 20);
        lull_graph_link(graph, from, t - delay, to, t, LULL_CAUSE_NETWORK, LULL_NONE);
        points = lull_graph_points(graph, from, &count);
        if (count && g_rand_boolean(rand)) {
            const int64_t via_ns = points[g_rand_int_range(rand, 0, (gint32)count)].time_ns;
            lull_graph_link_through(graph, to, t, from, via_ns);
        }
        if (from < n_lines && g_rand_int_range(rand, 0, 3) == 0) {
            lull_graph_link(graph, to, t, from, t - delay, LULL_CAUSE_TASK, LULL_NONE);
        }
    }
    return graph;
}

/* Since when what the link brings may have been under way. */
static int64_t since_of(const struct lull_graph *graph, uint32_t link)
{
    const struct lull_graph_through *through = lull_graph_through_of(graph, link);
    const int64_t from_ns = lull_graph_link_at(graph, link)->from_ns;
    return through ? MIN(from_ns, since_of(graph, through->link)) : from_ns;
}

/* What a hop says must stand in the graph. */
static void check_evidence(const struct lull_graph *graph, const struct lull_hop *hop)
{
    uint32_t count, i = 0;
    const struct lull_graph_point *points = lull_graph_points(graph, hop->line, &count);
    g_assert_cmpint(hop->state, !=, LULL_STATE_NONE);
    if (hop->link != LULL_NONE) {
        while (i < count && points[i].link != hop->link) {
            i++;
        }
        g_assert_cmpuint(i, <, count);
        g_assert_cmpint(hop->end_ns, <=, points[i].time_ns);
        const struct lull_graph_link *link = lull_graph_link_at(graph, hop->link);
        g_assert_cmpint(hop->start_ns, >=, since_of(graph, hop->link));
        g_assert_cmpint(hop->state, ==, LULL_STATE_BLOCKED);
        g_assert_cmpint(hop->cause, ==, link->cause);
    } else if (hop->state != LULL_STATE_BLOCKED || hop->cause != LULL_CAUSE_UNKNOWN) {
        while (i < count && points[i].time_ns < hop->end_ns) {
            i++;
        }
        g_assert_cmpuint(i, <, count);
        g_assert_cmpuint(i, >, 0);
        const bool is_long = points[i].is_long && points[i].link == LULL_NONE;
        g_assert_cmpint(is_long ? lull_graph_wait_start(graph, hop->line, i)
                                : points[i - 1].time_ns,
                        <=, hop->start_ns);
        g_assert_cmpint(points[i].state, ==, hop->state);
        g_assert_cmpint(points[i].cause, ==, hop->cause);
    }
}

static void check_cover(const struct lull_graph *graph, const GArray *hops, int64_t start_ns,
                        int64_t end_ns)
{
    int64_t t = start_ns;
    for (guint i = 0; i < hops->len; i++) {
        const struct lull_hop *hop = &g_array_index(hops, struct lull_hop, i);
        g_assert_cmpint(hop->start_ns, ==, t);
        g_assert_cmpint(hop->end_ns, >, t);
        check_evidence(graph, hop);
        t = hop->end_ns;
    }
    g_assert_cmpint(t, ==, end_ns);
}

/* The hops as far as they lie in a window. */
static GArray *cut(const GArray *hops, int64_t start_ns, int64_t end_ns)
{
    GArray *result = g_array_new(FALSE, FALSE, sizeof(struct lull_hop));
    for (guint i = 0; i < hops->len; i++) {
        struct lull_hop hop = g_array_index(hops, struct lull_hop, i);
        hop.start_ns = MAX(hop.start_ns, start_ns);
        hop.end_ns = MIN(hop.end_ns, end_ns);
        if (hop.start_ns < hop.end_ns) {
            g_array_append_val(result, hop);
        }
    }
    return result;
}

/* Followed all the way: never back to who waited. */
#define CHAIN                                                                                      \
    "0: 0 R 1 R 8 T 9 R 10; 1: 1 R 2 T 6 R 9; 2: 2 R 6; 0@1>1@1 T; 1@2>2@2 T; 2@6>1@6 T; 1@9>0@9 " \
    "T"
static const struct example chain_bounded = {"chain", CHAIN, 0, 10, "0:0-1R 0:1-8R 1:8-9R 0:9-10R"};
static const struct example unbounded_examples[] = {
    {"chain", /* the causes of the end go through lines whose waits were over long before 0 waited
               */
     CHAIN, 0, 10, "0:0-1R 1:1-2R 2:2-6R 1:6-9R 0:9-10R"},
    {"early-packet", "0: 0 R 2 R 5 N 20 R 21; 1: 0 R 30; 1@3>0@20 N", 0, 21,
     "1:0-3R 0:3-20N* 0:20-21R"},
    {"from-the-middle", "0: 0 R 8 T 9 R 10; 1: 0 R 2 T 6 R 9; 2: 0 R 6; 2@6>1@6 T; 1@9>0@9 T", 3,
     10, "2:3-6R 1:6-9R 0:9-10R"},
    {"unexplained", "0: 0 R 2 U 4 R 6", 0, 6, "0:0-2R 0:2-4U 0:4-6R"},
    {"waker-unknown-before", "0: 0 R 4 T 6 R 7; 1: 3 R 6; 1@6>0@6 T", 0, 7, "1:0-3U 1:3-6R 0:6-7R"},
};

/* The line itself waited for one of several things. */
static const struct example request_examples[] = {
    {"asked", "1: 0 R 9; 2: 0 R 20; 0: 0 R 4 T 9 R 11 T 18 R 20; 1@9>0@9 T; 2@18>0@18 T?4", 2, 20,
     "0:2-4R 2:4-18R 0:18-20R"},
    {"asked-before", "1: 0 R 9; 2: 0 R 20; 0: 0 R 4 T 9 R 11 T 18 R 20; 1@9>0@9 T; 2@18>0@18 T?4",
     6, 20, "2:6-18R 0:18-20R"},
    {"input", "1: 0 R 9; 2: 0 R 13; 0: 0 R 4 T 9 R 17 R 20; 1@9>0@9 T; 2@13>0@17 ^4<14", 2, 15,
     "0:2-4R 2:4-13R 0:13-14N* 0:14-15R"},
    {"input-of-another", "1: 0 R 9; 2: 0 R 13; 0: 0 R 4 T 9 R 17 R 20; 1@9>0@9 T; 2@13>0@17 ^4<14",
     2, 13, "0:2-4R 1:4-9R 0:9-13R"},
    {"not-known", "1: 0 R 9; 2: 0 R 20; 0: 0 R 4 T 9 R 11 T 18 R 20; 1@9>0@9 T; 2@18>0@18 T", 2, 20,
     "0:2-4R 1:4-9R 0:9-11R 2:11-18R 0:18-20R"},
};

static void test_random_unbounded(void)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed(20160615);
    for (int round = 0; round < 20000; round++) {
        struct lull_graph *graph = random_graph(rand);
        int64_t start_ns = g_rand_int_range(rand, -5, LAST_NS + 4);
        int64_t end_ns = g_rand_int_range(rand, (gint32)start_ns + 1, LAST_NS + 6);
        GArray *hops = lull_critpath_find(graph, 0, start_ns, end_ns, LULL_PATH_UNBOUNDED);
        check_cover(graph, hops, start_ns, end_ns);
        g_array_unref(hops);
        lull_graph_free(graph);
    }
}

/* In every field; what pads a hop may be anything. */
static void assert_same(const GArray *hops, const GArray *others)
{
    g_assert_cmpuint(hops->len, ==, others->len);
    for (guint i = 0; i < hops->len; i++) {
        const struct lull_hop *hop = &g_array_index(hops, struct lull_hop, i);
        const struct lull_hop *other = &g_array_index(others, struct lull_hop, i);
        g_assert_cmpint(hop->start_ns, ==, other->start_ns);
        g_assert_cmpint(hop->end_ns, ==, other->end_ns);
        g_assert_cmpuint(hop->line, ==, other->line);
        g_assert_cmpuint(hop->detail, ==, other->detail);
        g_assert_cmpuint(hop->link, ==, other->link);
        g_assert_cmpuint(hop->wait, ==, other->wait);
        g_assert_cmpuint(hop->state, ==, other->state);
        g_assert_cmpuint(hop->cause, ==, other->cause);
        g_assert_cmpint(hop->cpu, ==, other->cpu);
    }
}

static void test_random(void)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed(20160614);
    for (int round = 0; round < 20000; round++) {
        struct lull_graph *graph = random_graph(rand);
        GArray *whole = lull_critpath_find(graph, 0, -5, LAST_NS + 5, LULL_PATH_BOUNDED);
        check_cover(graph, whole, -5, LAST_NS + 5);
        GArray *again = lull_critpath_find(graph, 0, -5, LAST_NS + 5, LULL_PATH_BOUNDED);
        assert_same(whole, again);
        g_array_unref(again);
        /* A part of the time must be explained as it is within the whole. */
        int64_t start_ns = g_rand_int_range(rand, -5, LAST_NS + 4);
        int64_t end_ns = g_rand_int_range(rand, (gint32)start_ns + 1, LAST_NS + 6);
        GArray *part = lull_critpath_find(graph, 0, start_ns, end_ns, LULL_PATH_BOUNDED);
        check_cover(graph, part, start_ns, end_ns);
        GArray *expected = cut(whole, start_ns, end_ns);
        g_autofree char *part_text = path_text(part), *expected_text = path_text(expected);
        g_assert_cmpstr(part_text, ==, expected_text);
        g_array_unref(expected);
        g_array_unref(part);
        g_array_unref(whole);
        lull_graph_free(graph);
    }
}

/* Whatever else is said of links, true or not: waits that are longer than their last edge, or no longer; lines that had nothing to do,
 * or were another before. */
static void dress(struct lull_graph *graph, uint32_t line, int64_t t, GRand *rand)
{
    const uint32_t other = (uint32_t)g_rand_int_range(rand, 0, 9);
    switch (g_rand_int_range(rand, 0, 16)) {
    case 0:
    case 1:
    case 2:
        lull_graph_wait_since(graph, line, t, t + g_rand_int_range(rand, -15, 3));
        break;
    case 10:
        lull_graph_edge_since(graph, line, t, t + g_rand_int_range(rand, -15, 3));
        break;
    case 3:
        lull_graph_link_idle(graph, line, t);
        break;
    case 4:
        lull_graph_link_bounded(graph, other, t - g_rand_int_range(rand, -3, 10), line, t,
                                LULL_CAUSE_TASK, LULL_NONE);
        break;
    case 5:
        lull_graph_link_same(graph, other, line, t);
        break;
    case 6:
    case 7:
        lull_graph_wait_asked(graph, line, t,
                              (struct lull_graph_asked){t - g_rand_int_range(rand, -3, 15),
                                                        INT64_MIN,
                                                        g_rand_boolean(rand) ? other : line});
        break;
    case 8:
    case 9:
        lull_graph_link_input(graph, other, t - g_rand_int_range(rand, -3, 10), line, t,
                              (struct lull_graph_asked){t - g_rand_int_range(rand, -3, 15),
                                                        t - g_rand_int_range(rand, -3, 8),
                                                        g_rand_boolean(rand) ? other : line},
                              LULL_NONE);
        break;
    }
}

/* What is explained is another thing in a part of the time, but all of it is. */
static void test_random_dressed(void)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed(20161205);
    for (int round = 0; round < 20000; round++) {
        struct lull_graph *graph = random_graph(rand);
        for (uint32_t line = 0; line < lull_graph_line_count(graph); line++) {
            uint32_t count;
            lull_graph_points(graph, line, &count);
            for (uint32_t i = 0; i < count; i++) {
                dress(graph, line, lull_graph_points(graph, line, &count)[i].time_ns, rand);
            }
        }
        for (int kind = 0; kind <= LULL_PATH_REQUEST; kind++) {
            const int64_t start_ns = g_rand_int_range(rand, -5, LAST_NS);
            GArray *path = lull_critpath_find(graph, 0, start_ns, LAST_NS + 5, kind);
            check_cover(graph, path, start_ns, LAST_NS + 5);
            g_array_unref(path);
        }
        lull_graph_free(graph);
    }
}

static void add_examples(const char *group, const struct example *examples, size_t count,
                         GTestDataFunc test)
{
    for (size_t i = 0; i < count; i++) {
        g_autofree char *path = g_strdup_printf("/critpath/%s/%s", group, examples[i].name);
        g_test_add_data_func(path, &examples[i], test);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/graph/points", test_points);
    g_test_add_func("/graph/links-to-old-points", test_links_to_old_points);
    add_examples("peer", peer_examples, G_N_ELEMENTS(peer_examples), test_example);
    add_examples("own", own_examples, G_N_ELEMENTS(own_examples), test_example);
    add_examples("unbounded", unbounded_examples, G_N_ELEMENTS(unbounded_examples),
                 test_unbounded_example);
    add_examples("request", request_examples, G_N_ELEMENTS(request_examples), test_request_example);
    add_examples("bounded", &chain_bounded, 1, test_example);
    g_test_add_func("/critpath/random-unbounded", test_random_unbounded);
    g_test_add_func("/critpath/random", test_random);
    g_test_add_func("/critpath/random-dressed", test_random_dressed);
    /* The big graphs are last: with MALLOC_PERTURB_, which Meson sets, glibc fills all the free memory
     * that they leave with each realloc() of the small ones. */
    g_test_add_func("/critpath/deep-nesting", test_deep_nesting);
    g_test_add_func("/large/critpath", test_large);
    return g_test_run();
}
