/* SPDX-License-Identifier: MIT */
/* What functions are put in order by: time, time on a CPU, or what a counter counted in them. */
#include <string.h>

#include "analysis/calls.h"
#include "analysis/counter_names.h"
#include "base/sums.h"

bool lull_calls_weight_is_counter(const char *weight)
{
    return weight && !g_str_equal(weight, "wall") && !g_str_equal(weight, "cpu");
}

bool calls_find_weight(struct calls_report *report)
{
    const struct lull_calls_question *question = report->question;
    const struct lull_model *model = report->reading.model;
    if (!lull_calls_weight_is_counter(question->weight)) {
        return true;
    }
    report->n_counters = lull_model_counter_count(model);
    return lull_counter_find(model, question->weight, &report->counter, question->error);
}

int64_t calls_weigh(const struct calls_report *report, const struct lull_calls_times *times,
                    uint64_t counted)
{
    if (report->n_counters > 0) {
        return (int64_t)MIN(counted, INT64_MAX);
    }
    return g_strcmp0(report->question->weight, "cpu") == 0
               ? lull_sum(times->self_ns, -times->off_ns)
               : times->self_ns;
}

uint64_t calls_counted_of(const struct calls_report *report, uint32_t node)
{
    return report->n_counters ? lull_calls_counts_of(report->reading.counts, node, report->counter)
                              : 0;
}

/* ---- sums ---- */

/* The tree of paths, to be walked from callers to callees. */
struct walk {
    uint32_t *first, *next; /* child and sibling of each node, or LULL_NONE */
    uint64_t *totals;       /* of a counter: of the node and all below it */
    uint32_t *open;         /* by row: how often the path that is walked has it */
};

/* Nodes come after their parents. */
static void link_nodes(const struct lull_calls *calls, struct walk *walk)
{
    for (uint32_t i = lull_calls_node_count(calls); i-- > 0;) {
        const uint32_t parent = lull_calls_node(calls, i)->parent;
        if (parent != LULL_NONE) {
            walk->next[i] = walk->first[parent];
            walk->first[parent] = i;
        }
    }
}

static void sum_below(const struct calls_report *report, uint32_t counter, struct walk *walk)
{
    const struct lull_calls *calls = report->reading.calls;
    const uint32_t n = lull_calls_node_count(calls);
    for (uint32_t i = 0; i < n; i++) {
        walk->totals[i] = lull_calls_counts_of(report->reading.counts, i, counter);
    }
    for (uint32_t i = n; i-- > 0;) {
        const uint32_t parent = lull_calls_node(calls, i)->parent;
        if (parent != LULL_NONE) {
            lull_add_unsigned(&walk->totals[parent], walk->totals[i]);
        }
    }
}

/* A function that calls itself has what was counted in its outermost call. */
static void enter(struct calls_report *report, const struct walk *walk, uint32_t row, uint32_t node,
                  uint32_t counter)
{
    uint64_t *counted = report->rows.items[row].counted + 2 * (size_t)counter;
    lull_add_unsigned(&counted[0], lull_calls_counts_of(report->reading.counts, node, counter));
    if (walk->open[row]++ == 0) {
        lull_add_unsigned(&counted[1], walk->totals[node]);
    }
}

static uint32_t row_of_node(const struct calls_report *report, const uint32_t *row_of,
                            uint32_t node)
{
    const uint32_t function = lull_calls_node(report->reading.calls, node)->function;
    return function == LULL_NONE ? LULL_NONE : row_of[function];
}

static void walk_line(struct calls_report *report, const uint32_t *row_of, const struct walk *walk,
                      uint32_t root, uint32_t counter)
{
    uint32_t node = walk->first[root];
    while (node != LULL_NONE && node != root) {
        uint32_t row = row_of_node(report, row_of, node);
        if (row != LULL_NONE) {
            enter(report, walk, row, node, counter);
        }
        if (walk->first[node] != LULL_NONE) {
            node = walk->first[node];
            continue;
        }
        for (bool is_up = true; is_up && node != root;) {
            row = row_of_node(report, row_of, node);
            if (row != LULL_NONE) {
                walk->open[row]--;
            }
            is_up = walk->next[node] == LULL_NONE;
            node = is_up ? lull_calls_node(report->reading.calls, node)->parent : walk->next[node];
        }
    }
}

/* What was counted on each host, and of that in calls. */
static void sum_hosts(struct calls_report *report)
{
    size_t n = 0;
    const struct lull_calls_counted *sums = lull_calls_counts_sums(report->reading.counts, &n);
    for (size_t i = 0; i < n; i++) {
        lull_vec_push(&report->counters, (struct calls_counter_row){.sums = sums[i]});
    }
}

static void add_in_calls(struct calls_report *report, const struct walk *walk, uint32_t line,
                         uint32_t counter)
{
    const struct lull_calls_line *it = lull_calls_line(report->reading.calls, line);
    const size_t at = (size_t)it->host * report->n_counters + counter;
    if (at < report->counters.count) {
        lull_add_unsigned(&report->counters.items[at].in_calls,
                          walk->totals[it->root] -
                              lull_calls_counts_of(report->reading.counts, it->root, counter));
    }
}

void calls_sum_counts(struct calls_report *report, const uint32_t *row_of)
{
    const uint32_t n = lull_calls_node_count(report->reading.calls);
    struct walk walk = {.first = g_new(uint32_t, n + 1),
                        .next = g_new(uint32_t, n + 1),
                        .totals = g_new0(uint64_t, n + 1),
                        .open = g_new0(uint32_t, report->rows.count + 1)};
    memset(walk.first, 0xff, n * sizeof *walk.first); /* LULL_NONE */
    memset(walk.next, 0xff, n * sizeof *walk.next);
    link_nodes(report->reading.calls, &walk);
    sum_hosts(report);
    for (size_t i = 0; i < report->rows.count; i++) {
        report->rows.items[i].counted = g_new0(uint64_t, 2 * (size_t)report->n_counters);
    }
    for (uint32_t counter = 0; counter < report->n_counters; counter++) {
        sum_below(report, counter, &walk);
        for (size_t i = 0; i < report->lines.count; i++) {
            const uint32_t line = report->lines.items[i];
            add_in_calls(report, &walk, line, counter);
            walk_line(report, row_of, &walk, lull_calls_line(report->reading.calls, line)->root,
                      counter);
        }
    }
    g_free(walk.first);
    g_free(walk.next);
    g_free(walk.totals);
    g_free(walk.open);
}

/* ---- columns ---- */

static void *keep(struct calls_report *report, void *made)
{
    g_ptr_array_add(report->made, made);
    return made;
}

static struct lull_result_column column_of(struct calls_report *report, uint32_t counter,
                                           bool is_own)
{
    const char *name = lull_counter_name(report->reading.model, counter);
    const bool is_estimate = lull_calls_counts_are_estimates(report->reading.counts, counter) ||
                             lull_calls_counts_have_shared(report->reading.counts, counter);
    return (struct lull_result_column){
        .title = keep(report, g_strdup_printf("%s, %s", name,
                                              is_own ? "while it called nothing else"
                                                     : "with what it called")),
        .heading = is_own ? is_estimate ? "≈OWN" : "OWN"
                          : keep(report, lull_counter_heading(name, is_estimate)),
        .key = keep(report, lull_counter_key(is_own ? "self_" : "total_", name)),
        .class = lull_counter_class(name),
        .use = LULL_USE_OWN | (counter == report->counter ? 0 : LULL_USE_NOT_TEXT),
    };
}

const struct lull_result_column *calls_add_counters(struct calls_report *report,
                                                    const struct lull_result_column *columns,
                                                    uint32_t place, bool is_all)
{
    uint32_t n = 0, n_made = place;
    if (report->n_counters == 0) {
        return columns;
    }
    while (columns[n].title) {
        n++;
    }
    struct lull_result_column *made =
        keep(report, g_new0(struct lull_result_column, n + 2 * (size_t)report->n_counters + 1));
    memcpy(made, columns, place * sizeof *made);
    for (uint32_t i = 0; i < report->n_counters; i++) {
        if (is_all || i == report->counter) {
            made[n_made++] = column_of(report, i, false);
        }
        if (is_all) {
            made[n_made++] = column_of(report, i, true);
        }
    }
    memcpy(made + n_made, columns + place, (n - place) * sizeof *made);
    return made;
}

void calls_clear_weights(struct calls_report *report)
{
    for (size_t i = 0; i < report->rows.count; i++) {
        g_free(report->rows.items[i].counted);
    }
    lull_vec_free(&report->counters);
    g_clear_pointer(&report->made, g_ptr_array_unref);
}
