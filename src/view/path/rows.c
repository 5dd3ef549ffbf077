/* SPDX-License-Identifier: MIT */
/* Grouping of segments into the rows of the text view. */
#include "view/path/rows.h"

#include "base/map.h"
#include "view/words.h"

/* A preemption is short, and no row of its own, below this time or below this part of the path. */
#define SHORT_NS 100000
#define SHORT_PART 1000
/* So many rows are shown even if fewer cover the path. */
#define FEWEST 10

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
    const int64_t ns = segment->end_ns - segment->start_ns;
    if (index == row->first || g_strcmp0(segment->comm, path->segments[row->named].comm) == 0) {
        row->named = index == row->first ? index : row->named;
        row->named_ns += ns;
    } else if (ns > row->named_ns) {
        row->named = index;
        row->named_ns = ns - row->named_ns;
    } else {
        row->named_ns -= ns;
    }
}

/* What most of a row that is called running ran. Texts of a path are kept once each. */
static void find_mostly(struct lull_path_row *row, const struct lull_path *path)
{
    struct {
        const char *text;
        int64_t ns;
    } sums[8] = {{NULL, 0}};
    int64_t running_ns = 0;

    for (uint32_t i = row->first; i < row->first + row->count; i++) {
        const struct lull_segment *segment = &path->segments[i];
        if (segment->state != LULL_STATE_RUNNING) {
            continue;
        }
        running_ns += segment->end_ns - segment->start_ns;
        for (guint k = 0; k < G_N_ELEMENTS(sums) && segment->mostly; k++) {
            if (!sums[k].text || sums[k].text == segment->mostly) {
                sums[k].text = segment->mostly;
                sums[k].ns += segment->mostly_ns;
                break;
            }
        }
    }
    for (guint k = 0; k < G_N_ELEMENTS(sums); k++) {
        if (2 * sums[k].ns > running_ns) {
            row->mostly = sums[k].text;
            row->mostly_ns = sums[k].ns;
        }
    }
}

/* A row that was mostly preempted is called so. */
static void name_row(struct lull_path_row *row, const struct lull_path *path)
{
    int64_t longest_ns = 0;

    if (2 * row->preempted_ns <= row->end_ns - row->start_ns) {
        find_mostly(row, path);
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
    GHashTable *depths = g_hash_table_new_full(lull_hash_word, g_int64_equal, g_free, NULL);

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
    enum { FEWEST_REPEATS = 3 };
    struct lull_path_row *row = (struct lull_path_row *)(void *)rows->data;
    guint kept = 0;

    for (guint i = 0; i < rows->len;) {
        guint best = 0, repeats = 0;
        for (guint period = 1; period <= LULL_MAX_PERIOD; period++) {
            const guint found = count_repeats(path, row, rows->len, i, period);
            if (found >= FEWEST_REPEATS && found * period > repeats * best) {
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

struct gap {
    struct lull_path_row *first;
    int64_t ns;
    guint n_rows;
};

static gint longest_gap_first(gconstpointer a, gconstpointer b)
{
    const struct gap *x = a, *y = b;

    if (x->ns != y->ns) {
        return x->ns < y->ns ? 1 : -1;
    }
    return x->first < y->first ? -1 : 1;
}

static int64_t length_of(const struct lull_path_row *row)
{
    return row->end_ns - row->start_ns;
}

/* How many of the rows, longest first, are shown. */
static guint count_shown(struct lull_path_row *const *order, guint count, guint limit,
                         int64_t total_ns)
{
    int64_t covered_ns = 0;

    for (guint i = 0; i < MIN(limit, count); i++) {
        if (i >= FEWEST && covered_ns >= total_ns - total_ns / 100) {
            return i;
        }
        covered_ns += length_of(order[i]);
    }
    if (covered_ns < total_ns - total_ns / 10) {
        while (limit > 0 && length_of(order[limit - 1]) < total_ns / 50) {
            limit--;
        }
    }
    return limit;
}

static void show_gap(const struct gap *gap)
{
    for (guint i = 0; i < gap->n_rows; i++) {
        gap->first[i].is_hidden = false;
    }
}

/* Marks the longest gaps, so that rows and mixes cover 98 % of the path. Those of few rows show
 * them instead, if they are within the limit of rows, of which `spare` are left; with a limit of
 * almost nothing, one line says enough of them. */
static void choose_mixes(GArray *rows, int64_t total_ns, guint limit, guint spare)
{
    enum { FEW = 8 };
    g_autoptr(GArray) gaps = g_array_new(FALSE, FALSE, sizeof(struct gap));
    int64_t left_ns = 0;

    for (guint i = 0; i < rows->len; i++) {
        struct lull_path_row *row = &g_array_index(rows, struct lull_path_row, i);
        if (!row->is_hidden) {
            continue;
        }
        left_ns += length_of(row);
        if (i == 0 || !row[-1].is_hidden) {
            const struct gap gap = {.first = row};
            g_array_append_val(gaps, gap);
        }
        g_array_index(gaps, struct gap, gaps->len - 1).ns += length_of(row);
        g_array_index(gaps, struct gap, gaps->len - 1).n_rows++;
    }
    g_array_sort(gaps, longest_gap_first);
    for (guint i = 0; i < gaps->len && left_ns > total_ns / 50; i++) {
        struct gap *gap = &g_array_index(gaps, struct gap, i);
        if (gap->n_rows <= FEW && gap->n_rows <= spare) {
            show_gap(gap);
            spare -= gap->n_rows;
        } else {
            gap->first->is_mix = gap->n_rows > FEW || limit >= FEWEST;
        }
        left_ns -= gap->ns;
    }
}

static void hide_shortest(GArray *rows, uint32_t limit, int64_t total_ns)
{
    g_autofree struct lull_path_row **order = g_new(struct lull_path_row *, rows->len);

    for (guint i = 0; i < rows->len; i++) {
        order[i] = &g_array_index(rows, struct lull_path_row, i);
    }
    qsort(order, rows->len, sizeof *order, compare_longest_first);
    const guint shown = count_shown(order, rows->len, limit, total_ns);
    for (guint i = shown; i < rows->len; i++) {
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
    choose_mixes(rows, total_ns, limit, limit - shown);
}

/* At level 0 by all; at 1 without the subject; at 2 without the program; at 3 without the host. */
static struct lull_cause_share *sum_level(const struct lull_path *path, uint32_t first,
                                          uint32_t count, int level, uint32_t *n)
{
    struct lull_cause_sums *sums = lull_cause_sums_new();

    for (uint32_t i = first; i < first + count; i++) {
        const struct lull_segment *segment = &path->segments[i];
        const int64_t ns = segment->end_ns - segment->start_ns;
        const char *detail =
            segment->state == LULL_STATE_RUNNING ? segment->mostly : segment->subject;
        const struct lull_cause_share share = {
            .host = level < 3 ? segment->host : LULL_NONE,
            .program = level < 2 && segment->program ? segment->program : "",
            .state = segment->state,
            .cause = segment->cause,
            .detail = level < 1 ? detail : NULL,
            .duration_ns = ns,
            .longest_ns = ns,
            .count = 1,
            .first = i,
        };
        lull_cause_sums_add(sums, &share);
    }
    return lull_cause_sums_take(sums, n);
}

GArray *lull_path_mix(const struct lull_path *path, uint32_t first, uint32_t count)
{
    static const uint32_t most[] = {8, 12, 16, UINT32_MAX}; /* at each level */
    const struct lull_segment *last = &path->segments[first + count - 1];
    const int64_t total_ns = last->end_ns - path->segments[first].start_ns;
    const int64_t enough_ns = total_ns - total_ns / 16;
    GArray *parts = g_array_new(FALSE, FALSE, sizeof(struct lull_cause_share));

    for (int level = 0; level < (int)G_N_ELEMENTS(most); level++) {
        uint32_t n;
        int64_t covered_ns = 0;
        g_autofree struct lull_cause_share *shares = sum_level(path, first, count, level, &n);
        g_array_set_size(parts, 0);
        for (uint32_t i = 0; i < MIN(n, most[level]) && covered_ns < enough_ns; i++) {
            g_array_append_val(parts, shares[i]);
            covered_ns += shares[i].duration_ns;
        }
        if (covered_ns >= enough_ns) {
            break;
        }
    }
    return parts;
}

GArray *lull_path_rows_new(const struct lull_path *path, bool full, uint32_t limit)
{
    GArray *rows = group(path, full);

    find_depths(path, rows);
    if (limit && limit < rows->len && !full) {
        merge_loops(path, rows);
    }
    if (limit && limit < rows->len) {
        hide_shortest(rows, limit, path->end_ns - path->start_ns);
    }
    return rows;
}
