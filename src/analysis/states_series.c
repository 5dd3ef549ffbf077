/* SPDX-License-Identifier: MIT */
/* Declared states over time: how many rows are in a state at each moment, and what a picture shows. */
#include "analysis/states_private.h"

#include <math.h>

/* ---- counts ---- */

struct change {
    int64_t time_ns;
    int change;
};

static int compare_changes(const void *a, const void *b)
{
    const struct change *x = a, *y = b;
    return x->time_ns < y->time_ns ? -1 : x->time_ns > y->time_ns;
}

static void add_step(GArray *steps, int64_t start_ns, int64_t end_ns, double value)
{
    struct lull_states_step *last =
        steps->len ? &g_array_index(steps, struct lull_states_step, steps->len - 1) : NULL;
    const struct lull_states_step step = {start_ns, end_ns, value};
    if (last && last->end_ns == start_ns && last->value == value) {
        last->end_ns = end_ns;
    } else if (start_ns < end_ns) {
        g_array_append_val(steps, step);
    }
}

/* The steps from what was added and taken away; frees `changes`. */
static GArray *steps_of(GArray *changes, int64_t start_ns, int64_t end_ns)
{
    GArray *steps = g_array_new(FALSE, FALSE, sizeof(struct lull_states_step));
    int64_t at_ns = start_ns, n = 0;
    g_array_sort(changes, compare_changes);
    for (guint i = 0; i < changes->len; i++) {
        const struct change *change = &g_array_index(changes, struct change, i);
        add_step(steps, at_ns, change->time_ns, (double)n);
        at_ns = change->time_ns;
        n += change->change;
    }
    add_step(steps, at_ns, end_ns, (double)n);
    g_array_unref(changes);
    return steps;
}

static void free_steps(gpointer steps)
{
    if (steps) {
        g_array_unref(steps);
    }
}

/* How many of the rows that are shown were in the state of each count at each moment of the window: by host,
 * then by count, an array of struct lull_states_step; NULL of hosts without rows. */
static GPtrArray *count(const struct states_report *report, uint32_t group, int64_t end_ns)
{
    const struct lull_states_group *of = &report->question->states->groups[group];
    const uint32_t n = of->n_counts * lull_session_host_count(report->session);
    GPtrArray *all = g_ptr_array_new_with_free_func(free_steps);
    g_ptr_array_set_size(all, (gint)n);
    for (uint32_t i = 0; i < report->n_rows && n; i++) {
        const struct lull_states_row *row = lull_states_row(report->engine, report->rows[i]);
        gpointer *slot = &all->pdata[row->host * of->n_counts];
        for (uint32_t c = 0; row->group == group && c < of->n_counts && !slot[c]; c++) {
            slot[c] = g_array_new(FALSE, FALSE, sizeof(struct change));
        }
    }
    for (size_t i = 0; i < report->log.count && n; i++) {
        const struct states_interval *interval = &report->log.items[i];
        const struct lull_states_row *row = lull_states_row(report->engine, interval->row);
        const struct change both[] = {{interval->start_ns, 1}, {interval->end_ns, -1}};
        for (uint32_t c = 0; row->group == group && c < of->n_counts; c++) {
            if (of->counts[c].state == interval->state && report->is_shown[interval->row]) {
                g_array_append_vals(all->pdata[row->host * of->n_counts + c], both,
                                    G_N_ELEMENTS(both));
            }
        }
    }
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t host = i / of->n_counts;
        if (all->pdata[i]) {
            all->pdata[i] = steps_of(all->pdata[i], MAX(report->start_ns, report->starts_ns[host]),
                                     MIN(end_ns, report->ends_ns[host]));
        }
    }
    return all;
}

static const struct lull_result_column count_columns[] = {
    {"Host", "HOST", "host", LULL_CELL_HOST, NULL, LULL_USE_HOST},
    {"What is counted: rows in a state", "COUNT", "count", LULL_CELL_STRING, NULL, 0},
    {"Time in which they are counted", "TIME", "ns", LULL_CELL_DURATION, NULL, 0},
    {"Fewest at a time", "MIN", "min", LULL_CELL_NUMBER, "rows", 0},
    {"Average over time", "AVG", "avg", LULL_CELL_NUMBER, "rows", 0},
    {"Most at a time", "MAX", "max", LULL_CELL_NUMBER, "rows", 0},
    {0}};
const struct lull_result_class states_count_class = {
    .name = "counts", .title = "Rows in a state", .columns = count_columns, .is_own = true};

struct count_line {
    const char *host, *label;
    int64_t ns;
    double min, sum, max;
};

static void count_row(const void *user, uint64_t at, struct lull_cell *cells)
{
    const GArray *lines = user;
    const struct count_line *line = &g_array_index(lines, struct count_line, at);
    *cells++ = lull_cell_text(LULL_CELL_HOST, line->host);
    *cells++ = lull_cell_text(LULL_CELL_STRING, line->label);
    *cells++ = lull_cell_integer(LULL_CELL_DURATION, line->ns);
    *cells++ = lull_cell_integer(LULL_CELL_NUMBER, (int64_t)line->min);
    *cells++ = lull_cell_real(LULL_CELL_NUMBER, line->sum / (double)line->ns);
    *cells = lull_cell_integer(LULL_CELL_NUMBER, (int64_t)line->max);
}

static void add_line(GArray *lines, const GArray *steps, const char *host, const char *label)
{
    struct count_line line = {host, label, 0, INFINITY, 0, 0};
    for (guint i = 0; i < steps->len; i++) {
        const struct lull_states_step *step = &g_array_index(steps, struct lull_states_step, i);
        const int64_t ns = step->end_ns - step->start_ns;
        line.ns += ns;
        line.min = MIN(line.min, step->value);
        line.max = MAX(line.max, step->value);
        line.sum += step->value * (double)ns;
    }
    if (line.ns > 0) {
        g_array_append_val(lines, line);
    }
}

void states_show_counts(struct states_table *table, uint32_t group, int64_t end_ns,
                        struct lull_sink *sink)
{
    const struct states_report *report = table->report;
    g_autoptr(GPtrArray) all = count(report, group, end_ns);
    g_autoptr(GArray) lines = g_array_new(FALSE, FALSE, sizeof(struct count_line));
    for (guint i = 0; i < all->len; i++) {
        if (all->pdata[i]) {
            const uint32_t host = i / table->group->n_counts;
            add_line(lines, all->pdata[i], lull_session_host(report->session, host)->name,
                     table->group->counts[i % table->group->n_counts].label);
        }
    }
    if (lines->len) {
        sink->table(sink, &(struct lull_result_table){.class = &states_count_class,
                                                      .subtitle = table->group->label,
                                                      .n_rows = lines->len,
                                                      .row = count_row,
                                                      .user = lines});
    }
}

/* ---- pictures ---- */

/* What lanes point into, until the picture was drawn. */
struct lanes {
    struct states_report *report;
    GArray *blocks; /* struct lull_states_block */
    GPtrArray *kept;
};

static void *keep(struct lanes *lanes, void *items)
{
    g_ptr_array_add(lanes->kept, items);
    return items;
}

static void *keep_new(struct lanes *lanes, size_t n, size_t size)
{
    return keep(lanes, g_malloc0_n(MAX(n, 1), size));
}

static struct lull_states_block *add_block(struct lanes *lanes, const struct lull_states_row *row,
                                           uint32_t most)
{
    const struct lull_states_block block = {
        .group = states_group_of(lanes->report, row),
        .host = lull_session_host(lanes->report->session, row->host)->name,
        .lanes = keep_new(lanes, most, sizeof *block.lanes),
    };
    g_array_append_val(lanes->blocks, block);
    return &g_array_index(lanes->blocks, struct lull_states_block, lanes->blocks->len - 1);
}

static int compare_spans(const void *a, const void *b)
{
    const struct states_interval *x = *(const struct states_interval *const *)a;
    const struct states_interval *y = *(const struct states_interval *const *)b;
    if (x->row != y->row) {
        return x->row < y->row ? -1 : 1;
    }
    return x->start_ns < y->start_ns ? -1 : x->start_ns > y->start_ns;
}

static int compare_values(const void *a, const void *b)
{
    const struct states_value *x = a, *y = b;
    if (x->row != y->row) {
        return x->row < y->row ? -1 : 1;
    }
    if (x->number != y->number) {
        return x->number < y->number ? -1 : 1;
    }
    return x->step.start_ns < y->step.start_ns ? -1 : x->step.start_ns > y->step.start_ns;
}

/* By row of the engine: where its spans and values start among all, and how many there are. */
struct place {
    size_t span, n_spans, value;
};

/* Those of one row are beside each other then, in order of time. */
static struct place *sort(struct lanes *lanes, const struct lull_states_span **sorted)
{
    struct states_report *report = lanes->report;
    const size_t n = report->log.count;
    struct place *places = keep_new(lanes, lull_states_row_count(report->engine), sizeof *places);
    struct lull_states_span *spans = keep_new(lanes, n, sizeof *spans);
    g_autofree const struct states_interval **order =
        g_new(const struct states_interval *, MAX(n, 1));
    for (size_t i = 0; i < n; i++) {
        order[i] = &report->log.items[i];
    }
    qsort(order, n, sizeof *order, compare_spans);
    for (size_t i = n; i-- > 0;) {
        spans[i] = (struct lull_states_span){order[i]->start_ns, order[i]->end_ns, order[i]->state};
        places[order[i]->row].span = i;
        places[order[i]->row].n_spans++;
    }
    if (report->values.count) {
        qsort(report->values.items, report->values.count, sizeof *report->values.items,
              compare_values);
    }
    for (size_t i = report->values.count; i-- > 0;) {
        places[report->values.items[i].row].value = i;
    }
    *sorted = spans;
    return places;
}

static struct lull_states_curve keep_curve(struct lanes *lanes, GArray *steps)
{
    const size_t n_steps = steps->len;
    return (struct lull_states_curve){keep(lanes, g_array_free(steps, FALSE)), n_steps};
}

/* The numbers of a row, from `at` on among the sorted values. */
static const struct lull_states_curve *curves_of(struct lanes *lanes, uint32_t row, uint32_t n,
                                                 size_t at)
{
    const struct states_report *report = lanes->report;
    const struct states_value *values = report->values.items;
    struct lull_states_curve *curves = keep_new(lanes, n, sizeof *curves);
    for (uint32_t number = 0; number < n; number++) {
        GArray *steps = g_array_new(FALSE, FALSE, sizeof(struct lull_states_step));
        for (; at < report->values.count && values[at].row == row && values[at].number == number;
             at++) {
            add_step(steps, values[at].step.start_ns, values[at].step.end_ns,
                     values[at].step.value);
        }
        curves[number] = keep_curve(lanes, steps);
    }
    return curves;
}

/* Rows come by group and host. */
static void make_blocks(struct lanes *lanes)
{
    const struct states_report *report = lanes->report;
    const uint32_t most = report->question->most_lanes;
    const struct lull_states_row *last = NULL;
    const struct lull_states_span *spans;
    const struct place *places = sort(lanes, &spans);
    struct lull_states_block *block = NULL;
    for (uint32_t i = 0; i < report->n_rows; i++) {
        const struct lull_states_row *row = lull_states_row(report->engine, report->rows[i]);
        const struct place *place = &places[report->rows[i]];
        if (!last || last->group != row->group || last->host != row->host) {
            block = add_block(lanes, row, MIN(most, report->n_rows - i));
        }
        last = row;
        if (block->n_lanes == most) {
            block->n_left_out++;
            continue;
        }
        GString *title = g_string_new(NULL);
        lull_states_append_title(title, block->group, row);
        block->lanes[block->n_lanes++] = (struct lull_states_lane){
            .title = keep(lanes, g_string_free(title, FALSE)),
            .spans = spans + place->span,
            .n_spans = place->n_spans,
            .numbers = curves_of(lanes, report->rows[i],
                                 block->group->n_names - block->group->n_keys, place->value),
        };
    }
}

static void add_counts(struct lanes *lanes, int64_t end_ns)
{
    const struct states_report *report = lanes->report;
    g_autoptr(GPtrArray) all = NULL; /* of the group */
    uint32_t at = 0, group = UINT32_MAX;
    for (guint b = 0; b < lanes->blocks->len; b++) {
        struct lull_states_block *block =
            &g_array_index(lanes->blocks, struct lull_states_block, b);
        const struct lull_states_row *first = lull_states_row(report->engine, report->rows[at]);
        const uint32_t n = block->group->n_counts;
        struct lull_states_curve *counts = keep_new(lanes, n, sizeof *counts);
        if (first->group != group) {
            g_clear_pointer(&all, g_ptr_array_unref);
            all = count(report, group = first->group, end_ns);
        }
        for (uint32_t i = 0; i < n; i++) {
            counts[i] = keep_curve(lanes, g_array_ref(all->pdata[first->host * n + i]));
        }
        block->counts = counts;
        at += block->n_lanes + block->n_left_out;
    }
}

void states_picture(struct states_report *report, const struct lull_window *window)
{
    struct lanes lanes = {
        .report = report,
        .blocks = g_array_new(FALSE, TRUE, sizeof(struct lull_states_block)),
        .kept = g_ptr_array_new_with_free_func(g_free),
    };
    make_blocks(&lanes);
    add_counts(&lanes, window->end_ns);
    report->question->picture(
        report->question->picture_user,
        &(struct lull_states_picture){
            .start_ns = window->start_ns,
            .end_ns = window->end_ns,
            .blocks = (const struct lull_states_block *)lanes.blocks->data,
            .n_blocks = lanes.blocks->len,
            .has_hosts = report->question->host < 0 && lull_session_host_count(report->session) > 1,
            .is_cut = report->n_not_logged > 0,
            .lost_events = window->lost_events,
            .lost_packets = window->lost_packets,
        });
    g_ptr_array_unref(lanes.kept);
    g_array_unref(lanes.blocks);
}
