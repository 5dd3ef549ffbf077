/* SPDX-License-Identifier: MIT */
/* Who called a function, and what it called: each nanosecond of the function has one caller and, unless it was
 * spent in the function itself, one callee. */
#include "analysis/calls.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/sums.h"
#include "calls/names.h"

/* The functions, and so the hosts, of a row. */
struct pair {
    struct lull_calls_identity function, of;
};

static unsigned hash_pair(const void *key)
{
    return lull_hash_words(key, sizeof(struct pair));
}

static gboolean is_same_pair(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(struct pair)) == 0;
}

static struct calls_near_row *row_of(struct calls_near *near, const struct lull_calls *calls,
                                     uint32_t function, uint32_t of)
{
    struct pair key = {.of = lull_calls_identify(calls, lull_calls_function(calls, of))};
    if (function == LULL_NONE) {
        key.function.layer = UINT32_MAX;
    } else {
        key.function = lull_calls_identify(calls, lull_calls_function(calls, function));
    }
    if (!near->by_pair) {
        near->by_pair = g_hash_table_new_full(hash_pair, is_same_pair, g_free, NULL);
    }
    uint32_t at = GPOINTER_TO_UINT(g_hash_table_lookup(near->by_pair, &key));
    if (at == 0) {
        lull_vec_push(&near->rows, (struct calls_near_row){.function = function, .of = of});
        at = (uint32_t)near->rows.count;
        g_hash_table_insert(near->by_pair, g_memdup2(&key, sizeof key), GUINT_TO_POINTER(at));
    }
    return &near->rows.items[at - 1];
}

/* What was spent and counted in a node. */
static void add_node(struct calls_near_row *to, const struct calls_report *report, uint32_t node)
{
    const struct lull_calls_times *times = &lull_calls_node(report->reading.calls, node)->times;
    lull_add(&to->times.self_ns, times->self_ns);
    lull_add(&to->times.blocked_ns, times->blocked_ns);
    lull_add(&to->times.off_ns, times->off_ns);
    lull_add_unsigned(&to->counted, calls_counted_of(report, node));
}

static int most_first(const void *a, const void *b)
{
    const struct calls_near_row *x = a, *y = b;
    if (x->weight != y->weight) {
        return x->weight > y->weight ? -1 : 1;
    }
    if (x->times.self_ns != y->times.self_ns) {
        return x->times.self_ns > y->times.self_ns ? -1 : 1;
    }
    if (x->calls != y->calls) {
        return x->calls > y->calls ? -1 : 1;
    }
    return x->function != y->function ? (x->function > y->function) - (x->function < y->function)
                                      : (x->of > y->of) - (x->of < y->of);
}

/* Which functions have such a name, of tasks that are wanted. */
static bool *match(const struct calls_report *report, const char *pattern, bool *is_any)
{
    const struct lull_calls *calls = report->reading.calls;
    const uint32_t n = lull_calls_function_count(calls);
    bool *matches = g_new0(bool, MAX(n, 1));
    g_autoptr(GString) name = g_string_new(NULL);
    for (uint32_t i = 0; i < n; i++) {
        const struct lull_calls_function *function = lull_calls_function(calls, i);
        if (!calls_is_wanted(report, function->line)) {
            continue;
        }
        g_string_truncate(name, 0);
        lull_calls_append_name(name, report->reading.model, report->question->others, function);
        matches[i] = strcmp(pattern, name->str) == 0 || fnmatch(pattern, name->str, 0) == 0;
        *is_any |= matches[i];
    }
    return matches;
}

/* What is known of a node from those above it; nodes come after their parents. */
struct place {
    uint32_t outermost; /* the first call of such a function, or LULL_NONE: there is none */
    uint32_t innermost; /* the last */
    uint32_t branch;    /* what that called; LULL_NONE: nothing */
};

static struct place place_of(const struct place *above, uint32_t node, bool is_match)
{
    if (is_match) {
        const uint32_t outermost = above->outermost == LULL_NONE ? node : above->outermost;
        return (struct place){outermost, node, LULL_NONE};
    }
    struct place place = *above;
    if (place.innermost != LULL_NONE && place.branch == LULL_NONE) {
        place.branch = node;
    }
    return place;
}

static void add_caller(struct calls_near *near, const struct calls_report *report, uint32_t node,
                       const struct place *place, bool is_match)
{
    const struct lull_calls *calls = report->reading.calls;
    const struct lull_calls_node *it = lull_calls_node(calls, node);
    const struct lull_calls_node *outermost = lull_calls_node(calls, place->outermost);
    const uint32_t caller = lull_calls_node(calls, outermost->parent)->function;
    add_node(row_of(near, calls, caller, outermost->function), report, node);
    if (is_match) {
        row_of(near, calls, lull_calls_node(calls, it->parent)->function, it->function)->calls +=
            it->calls;
    }
}

static void add_callee(struct calls_near *near, const struct calls_report *report, uint32_t node,
                       const struct place *place, bool is_called)
{
    const struct lull_calls *calls = report->reading.calls;
    const struct lull_calls_node *it = lull_calls_node(calls, node);
    const uint32_t of = lull_calls_node(calls, place->innermost)->function;
    if (place->branch != LULL_NONE) {
        const uint32_t callee = lull_calls_node(calls, place->branch)->function;
        add_node(row_of(near, calls, callee, of), report, node);
    }
    if (is_called) {
        const uint32_t caller = lull_calls_node(calls, it->parent)->function;
        row_of(near, calls, it->function, caller)->calls += it->calls;
    }
}

static bool find(struct calls_report *report, const char *pattern, bool wants_callers)
{
    const struct lull_calls *calls = report->reading.calls;
    const uint32_t n = lull_calls_node_count(calls);
    struct calls_near *near = wants_callers ? &report->callers : &report->callees;
    bool is_any = false;
    g_autofree bool *matches = match(report, pattern, &is_any);
    g_autofree struct place *places = g_new(struct place, MAX(n, 1));
    for (uint32_t i = 0; i < n; i++) {
        const struct lull_calls_node *node = lull_calls_node(calls, i);
        if (node->function == LULL_NONE) {
            places[i] = (struct place){LULL_NONE, LULL_NONE, LULL_NONE};
            continue;
        }
        const uint32_t above = lull_calls_node(calls, node->parent)->function;
        const bool is_match = matches[node->function];
        places[i] = place_of(&places[node->parent], i, is_match);
        if (places[i].outermost == LULL_NONE) {
            continue;
        }
        if (wants_callers) {
            add_caller(near, report, i, &places[i], is_match);
        } else {
            add_callee(near, report, i, &places[i], above != LULL_NONE && matches[above]);
        }
    }
    for (size_t i = 0; i < near->rows.count; i++) {
        struct calls_near_row *row = &near->rows.items[i];
        row->weight = calls_weigh(report, &row->times, row->counted);
    }
    if (near->rows.count > 0) {
        qsort(near->rows.items, near->rows.count, sizeof *near->rows.items, most_first);
    }
    return is_any;
}

bool calls_find_near(struct calls_report *report)
{
    const char *const patterns[] = {report->question->callers, report->question->callees};
    /* Where there are no calls at all, a note says so. */
    for (size_t i = 0; i < G_N_ELEMENTS(patterns); i++) {
        if (patterns[i] && !find(report, patterns[i], i == 0) && report->lines.count > 0) {
            g_set_error(report->question->error, LULL_ERROR, LULL_ERROR_QUESTION,
                        "no function “%s” was called ('lull calls --limit 0' lists all that were)",
                        patterns[i]);
            return false;
        }
    }
    return true;
}

void calls_clear_near(struct calls_report *report)
{
    struct calls_near *const all[] = {&report->callers, &report->callees};
    for (size_t i = 0; i < G_N_ELEMENTS(all); i++) {
        lull_vec_free(&all[i]->rows);
        g_clear_pointer(&all[i]->by_pair, g_hash_table_unref);
    }
}
