/* SPDX-License-Identifier: MIT */
/* Grouping of segments into the rows of the text view. */
#include "view/path/rows.h"

#include "view/words.h"

/* A preemption is short, and no row of its own, below this time or below this part of the path. */
#define SHORT_NS 100000
#define SHORT_PART 1000

static bool is_groupable(const struct lull_segment *segment, int64_t short_ns)
{
    return segment->state == LULL_STATE_RUNNING || segment->state == LULL_STATE_INTERRUPTED ||
           (segment->state == LULL_STATE_PREEMPTED &&
            segment->end_ns - segment->start_ns < short_ns);
}

/* True if `b` is a better choice than `a` to represent its row: running before all, then the
 * longest. */
static bool stands_better(const struct lull_segment *b, const struct lull_segment *a)
{
    bool a_runs = a->state == LULL_STATE_RUNNING, b_runs = b->state == LULL_STATE_RUNNING;

    if (a_runs != b_runs) {
        return b_runs;
    }
    return b->end_ns - b->start_ns > a->end_ns - a->start_ns;
}

static void add_to_row(struct lull_path_row *row, const struct lull_path *path, uint32_t index)
{
    const struct lull_segment *segment = &path->segments[index];

    row->count++;
    row->end_ns = segment->end_ns;
    if (segment->state == LULL_STATE_INTERRUPTED) {
        row->interrupts++;
        row->interrupted_ns += segment->end_ns - segment->start_ns;
    } else if (segment->state == LULL_STATE_PREEMPTED) {
        row->preemptions++;
        row->preempted_ns += segment->end_ns - segment->start_ns;
    }
    if (index == row->first || stands_better(segment, &path->segments[row->segment])) {
        row->segment = index;
    }
}

/* A row that was mostly preempted is called so. */
static void name_row(struct lull_path_row *row, const struct lull_path *path)
{
    int64_t longest_ns = 0;

    if (2 * row->preempted_ns <= row->end_ns - row->start_ns) {
        return;
    }
    for (uint32_t i = row->first; i < row->first + row->count; i++) {
        const struct lull_segment *segment = &path->segments[i];
        if (segment->state == LULL_STATE_PREEMPTED &&
            segment->end_ns - segment->start_ns > longest_ns) {
            longest_ns = segment->end_ns - segment->start_ns;
            row->segment = i;
        }
    }
}

/* True if `b` goes on with what `a` says. */
static bool repeats(const struct lull_segment *b, const struct lull_segment *a)
{
    return a->state == b->state && a->cause == b->cause && lull_segment_same_task(a, b) &&
           g_strcmp0(a->detail, b->detail) == 0;
}

static GArray *group(const struct lull_path *path, bool full)
{
    GArray *rows = g_array_new(FALSE, TRUE, sizeof(struct lull_path_row));
    int64_t short_ns = MAX(SHORT_NS, (path->end_ns - path->start_ns) / SHORT_PART);
    bool is_open = false; /* the last row takes more */

    for (uint32_t i = 0; i < path->n_segments; i++) {
        const struct lull_segment *segment = &path->segments[i];
        bool fits = !full && is_groupable(segment, short_ns);
        bool goes_on = i > 0 && !full &&
                       ((fits && is_open && lull_segment_same_task(segment - 1, segment)) ||
                        (!fits && !is_open && repeats(segment, segment - 1)));
        if (!goes_on) {
            struct lull_path_row row = {.first = i, .start_ns = segment->start_ns};
            g_array_append_val(rows, row);
        }
        add_to_row(&g_array_index(rows, struct lull_path_row, rows->len - 1), path, i);
        is_open = fits;
    }
    for (guint i = 0; i < rows->len; i++) {
        name_row(&g_array_index(rows, struct lull_path_row, i), path);
    }
    return rows;
}

/* Depth as of calls: going to a task that the path is inside of comes back to it, going to any
 * other goes deeper. */
static void find_depths(const struct lull_path *path, GArray *rows)
{
    GArray *stack = g_array_new(FALSE, FALSE, sizeof(gint64));
    GHashTable *depths = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);

    for (guint i = 0; i < rows->len; i++) {
        struct lull_path_row *row = &g_array_index(rows, struct lull_path_row, i);
        const struct lull_segment *segment = &path->segments[row->first];
        gint64 key = (gint64)((uint64_t)segment->host << 32 | segment->task);
        guint depth = GPOINTER_TO_UINT(g_hash_table_lookup(depths, &key));
        if (depth) {
            while (stack->len > depth) {
                g_hash_table_remove(depths, &g_array_index(stack, gint64, stack->len - 1));
                g_array_set_size(stack, stack->len - 1);
            }
        } else {
            g_array_append_val(stack, key);
            g_hash_table_insert(depths, g_memdup2(&key, sizeof key), GUINT_TO_POINTER(stack->len));
        }
        row->depth = stack->len - 1;
    }
    g_hash_table_unref(depths);
    g_array_unref(stack);
}

/* Texts of a path are kept once each. */
static bool is_same_step(const struct lull_path *path, const struct lull_path_row *a,
                         const struct lull_path_row *b)
{
    const struct lull_segment *x = &path->segments[a->segment], *y = &path->segments[b->segment];

    return a->depth == b->depth && x->host == y->host && x->program == y->program &&
           x->state == y->state && x->cause == y->cause && x->subject == y->subject;
}

/* How often the `period` rows from `first` on follow each other. */
static guint count_repeats(const struct lull_path *path, const struct lull_path_row *rows,
                           guint count, guint first, guint period)
{
    guint end = first + period;

    while (end < count && is_same_step(path, &rows[end], &rows[end - period])) {
        end++;
    }
    return (end - first) / period;
}

/* Makes one row of `repeats` times `period` rows. */
static struct lull_path_row loop_of(const struct lull_path_row *rows, guint repeats, guint period)
{
    const guint count = repeats * period;
    struct lull_path_row loop = rows[0];
    int64_t longest_ns = 0;

    loop.repeats = repeats;
    loop.period = period;
    loop.end_ns = rows[count - 1].end_ns;
    loop.count = rows[count - 1].first + rows[count - 1].count - rows[0].first;
    for (guint i = 0; i < count; i++) {
        if (i < period) {
            loop.steps[i] = rows[i].segment;
        }
        if (rows[i].end_ns - rows[i].start_ns > longest_ns) {
            longest_ns = rows[i].end_ns - rows[i].start_ns;
            loop.segment = rows[i].segment;
        }
        loop.depth = MIN(loop.depth, rows[i].depth);
    }
    return loop;
}

/* Rows that repeat the same steps at least three times become one. */
static void merge_loops(const struct lull_path *path, GArray *rows)
{
    enum { FEWEST = 3 };
    struct lull_path_row *row = (struct lull_path_row *)(void *)rows->data;
    guint kept = 0;

    for (guint i = 0; i < rows->len;) {
        guint best = 0, repeats = 0;
        for (guint period = 1; period <= LULL_MAX_PERIOD; period++) {
            const guint found = count_repeats(path, row, rows->len, i, period);
            if (found >= FEWEST && found * period > repeats * best) {
                best = period;
                repeats = found;
            }
        }
        row[kept++] = best ? loop_of(&row[i], repeats, best) : row[i];
        i += best ? repeats * best : 1;
    }
    g_array_set_size(rows, kept);
}

static int compare_longest_first(const void *a, const void *b)
{
    const struct lull_path_row *x = *(struct lull_path_row *const *)a;
    const struct lull_path_row *y = *(struct lull_path_row *const *)b;
    int64_t x_ns = x->end_ns - x->start_ns, y_ns = y->end_ns - y->start_ns;

    if (x_ns != y_ns) {
        return x_ns > y_ns ? -1 : 1;
    }
    return x->first < y->first ? -1 : x->first > y->first;
}

static void hide_shortest(GArray *rows, uint32_t limit)
{
    g_autofree struct lull_path_row **order = g_new(struct lull_path_row *, rows->len);

    for (guint i = 0; i < rows->len; i++) {
        order[i] = &g_array_index(rows, struct lull_path_row, i);
    }
    qsort(order, rows->len, sizeof *order, compare_longest_first);
    for (guint i = limit; i < rows->len; i++) {
        order[i]->is_hidden = true;
    }
    /* A line that says "1 shorter step" would be as long as the step. */
    for (guint i = 0; i < rows->len; i++) {
        struct lull_path_row *row = &g_array_index(rows, struct lull_path_row, i);
        if (row->is_hidden && (i == 0 || !row[-1].is_hidden) &&
            (i + 1 == rows->len || !row[1].is_hidden)) {
            row->is_hidden = false;
        }
    }
}

GArray *lull_path_rows_new(const struct lull_path *path, bool full, uint32_t limit)
{
    GArray *rows = group(path, full);

    find_depths(path, rows);
    if (limit && limit < rows->len && !full) {
        merge_loops(path, rows);
    }
    if (limit && limit < rows->len) {
        hide_shortest(rows, limit);
    }
    return rows;
}
