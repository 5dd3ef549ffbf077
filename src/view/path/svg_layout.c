/* SPDX-License-Identifier: MIT */
/* The layout of the picture of a path. */
#include "view/path/svg_layout.h"

#include <string.h>

#include "base/map.h"
#include "base/time.h"
#include "view/out.h"
#include "view/svg.h"

#define WIDTH 1280
#define NARROW_WIDTH 384
#define NARROW_LEFT 14 /* of a margin of 20 */
#define NAME_HEIGHT 15
#define LEGEND_Y 84
#define LEGEND_LINE 20
#define LEGEND_GAP 24
#define MIN_NAME_PX 90
#define MAX_NAME_PX 240
#define TOTAL_PX 78 /* the column with the time of each task */

static int compare_rows(const void *a, const void *b)
{
    const struct lull_svg_row *x = a, *y = b;

    if (x->host_order != y->host_order) {
        return x->host_order < y->host_order ? -1 : 1;
    }
    return x->order < y->order ? -1 : x->order > y->order;
}

/* Index of the value for the key; keys are numbered as they come. */
static uint32_t number_of(GHashTable *numbers, gint64 key)
{
    gpointer value = g_hash_table_lookup(numbers, &key);

    if (!value) {
        value = GUINT_TO_POINTER(g_hash_table_size(numbers) + 1);
        g_hash_table_insert(numbers, g_memdup2(&key, sizeof key), value);
    }
    return GPOINTER_TO_UINT(value) - 1;
}

/* Many changes of the name say no more than some. */
#define MOST_NAMES_BYTES 200

static void add_row(GArray *rows, const struct lull_segment *segment, uint32_t host_order)
{
    struct lull_svg_row row = {.host = segment->host,
                               .task = segment->task,
                               .host_order = host_order,
                               .order = rows->len,
                               .comm = segment->comm,
                               .tid = segment->tid,
                               .before = g_string_new(NULL)};
    g_array_append_val(rows, row);
}

static void add_name(struct lull_svg_row *row, const char *comm)
{
    if (g_strcmp0(row->comm, comm) != 0 && row->before->len < MOST_NAMES_BYTES) {
        lull_clean_append(row->before, row->comm, false);
        g_string_append(row->before, " → ");
        row->comm = comm;
    }
}

/* The names the task had meanwhile, in their order: "timeout → truth/12"; of too many the first and the
 * last. */
static void make_label(struct lull_svg_row *row)
{
    g_autoptr(GString) last = g_string_new(NULL);
    GString *label = g_string_new(row->before->str);
    lull_task_append(last, row->comm, row->tid, false);
    g_string_append(label, last->str);
    if (row->before->len && lull_svg_text_width(label->str, 12) > MAX_NAME_PX) {
        const char *end = strstr(row->before->str, " → ");
        g_string_printf(label, "%.*s → … → %s", (int)(end - row->before->str), row->before->str,
                        last->str);
    }
    lull_svg_fit(label, MAX_NAME_PX, 12);
    row->label = g_string_free(label, FALSE);
    g_string_free(row->before, TRUE);
    row->before = NULL;
}

static void make_rows(struct lull_svg_layout *layout, const struct lull_path *path)
{
    GHashTable *tasks = g_hash_table_new_full(lull_hash_word, g_int64_equal, g_free, NULL);
    GHashTable *hosts = g_hash_table_new_full(lull_hash_word, g_int64_equal, g_free, NULL);
    GArray *rows = g_array_new(FALSE, TRUE, sizeof(struct lull_svg_row));

    layout->row_of_segment = g_new(uint32_t, MAX(path->n_segments, 1));
    for (uint32_t i = 0; i < path->n_segments; i++) {
        const struct lull_segment *segment = &path->segments[i];
        uint32_t row = number_of(tasks, (gint64)((uint64_t)segment->host << 32 | segment->task));
        if (row == rows->len) {
            add_row(rows, segment, number_of(hosts, segment->host));
        }
        add_name(&g_array_index(rows, struct lull_svg_row, row), segment->comm);
        layout->row_of_segment[i] = row;
        g_array_index(rows, struct lull_svg_row, row).total_ns +=
            segment->end_ns - segment->start_ns;
    }
    for (guint i = 0; i < rows->len; i++) {
        make_label(&g_array_index(rows, struct lull_svg_row, i));
    }
    layout->n_rows = rows->len;
    layout->rows = (struct lull_svg_row *)g_array_free(rows, FALSE);
    if (layout->n_rows) {
        qsort(layout->rows, layout->n_rows, sizeof *layout->rows, compare_rows);
    }

    g_autofree uint32_t *positions = g_new(uint32_t, MAX(layout->n_rows, 1));
    for (uint32_t i = 0; i < layout->n_rows; i++) {
        positions[layout->rows[i].order] = i;
    }
    for (uint32_t i = 0; i < path->n_segments; i++) {
        layout->row_of_segment[i] = positions[layout->row_of_segment[i]];
    }
    g_hash_table_unref(tasks);
    g_hash_table_unref(hosts);
}

/* Sets the legend in lines; returns the y of the last one. */
static double make_legend(struct lull_svg_layout *layout, const struct lull_path *path)
{
    double x = LULL_SVG_MARGIN, y = LEGEND_Y;
    int64_t sums_ns[LULL_LOOK_COUNT] = {0};

    for (uint32_t i = 0; i < path->n_segments; i++) {
        sums_ns[lull_look_index(path->segments[i].state, path->segments[i].cause)] +=
            path->segments[i].end_ns - path->segments[i].start_ns;
    }
    for (uint32_t i = 0; i < LULL_LOOK_COUNT; i++) {
        char duration[LULL_TIME_TEXT_SIZE], percent[LULL_DECIMAL_SIZE];
        if (!sums_ns[i]) {
            continue;
        }
        struct lull_svg_legend *item = &layout->legend[layout->n_legend++];
        lull_duration_format(sums_ns[i], duration);
        lull_decimal_format(100 * lull_share(sums_ns[i], path->end_ns - path->start_ns), 1,
                            percent);
        item->look = i;
        item->text = g_strdup_printf("%s %s · %s %%", lull_look_at(i)->phrase, duration, percent);
        double width = 18 + lull_svg_text_width(item->text, 11);
        if (x > LULL_SVG_MARGIN && x + width > layout->width - LULL_SVG_MARGIN) {
            x = LULL_SVG_MARGIN;
            y += LEGEND_LINE;
        }
        item->x = x;
        item->y = y;
        x += width + LEGEND_GAP;
    }
    return y;
}

static double name_width(const struct lull_svg_layout *layout)
{
    double width = MIN_NAME_PX;

    for (uint32_t i = 0; i < layout->n_rows; i++) {
        width = MAX(width, lull_svg_text_width(layout->rows[i].label, 12));
    }
    return MIN(width, MAX_NAME_PX);
}

void lull_svg_layout_init(struct lull_svg_layout *layout, const struct lull_path *path,
                          bool is_narrow)
{
    *layout = is_narrow ? (struct lull_svg_layout){.width = NARROW_WIDTH,
                                                   .left = NARROW_LEFT,
                                                   .name_height = NAME_HEIGHT}
                        : (struct lull_svg_layout){.width = WIDTH};
    make_rows(layout, path);
    double y = make_legend(layout, path) + 42;

    layout->row_height = layout->n_rows <= 30 ? 24 : layout->n_rows <= 60 ? 20 : 18;
    layout->plot_x = LULL_SVG_MARGIN + (is_narrow ? 4 : 8 + name_width(layout) + TOTAL_PX + 12);
    layout->plot_y = y;
    layout->plot_width = layout->width - LULL_SVG_MARGIN - (is_narrow ? 4 : 16) - layout->plot_x;
    layout->ns_per_px = MAX((double)(path->end_ns - path->start_ns), 1) / layout->plot_width;
    for (uint32_t i = 0; i < layout->n_rows; i++) {
        struct lull_svg_row *row = &layout->rows[i];
        row->starts_host = i == 0 || row[-1].host_order != row->host_order;
        if (row->starts_host) {
            y += LULL_SVG_HOST_HEIGHT + (i ? 6 : 4);
        }
        y += layout->name_height;
        row->y = y;
        y += layout->row_height;
    }
    layout->plot_height = y - layout->plot_y;
    layout->height = y + LULL_SVG_MARGIN + 8;
}

void lull_svg_layout_clear(struct lull_svg_layout *layout)
{
    for (uint32_t i = 0; i < layout->n_rows; i++) {
        g_free(layout->rows[i].label);
    }
    for (uint32_t i = 0; i < layout->n_legend; i++) {
        g_free(layout->legend[i].text);
    }
    g_free(layout->rows);
    g_free(layout->row_of_segment);
}
