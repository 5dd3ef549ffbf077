/* SPDX-License-Identifier: MIT */
/* Latencies for the page: in cells of time and duration where they are many, one by one where they
 * are few; sums of each name; and the longest. Durations are on a logarithmic scale. */
#include "server/latencies.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <lull/path.h>

#include "analysis/spread.h"
#include "base/json.h"
#include "base/sums.h"
#include "server/params.h"

enum {
    COLUMNS_MOST = 2048,
    LINES_MOST = 256,
    POINTS_SHOWN = 1500,
    NAMES_MOST = 200,
    LIST_MOST = 1000
};

/* Which points are asked for. */
struct wanted {
    int64_t start_ns, end_ns, least_ns, most_ns;
    const char *name; /* NULL: all */
    int64_t row;      /* -1: none in particular */
    uint32_t index;   /* of the name; LULL_NONE: there is no such name */
};

static int64_t number(struct json_object *params, const char *key, int64_t otherwise)
{
    int64_t value;
    return server_param_number(params, key, &value) ? value : otherwise;
}

static bool take_wanted(const struct served *served, struct json_object *params,
                        struct wanted *wanted, GError **error)
{
    const int64_t start_ns = lull_sum(served->start_ns, number(params, "start", 0));
    const int64_t end_ns = lull_sum(served->start_ns, number(params, "end", INT64_MAX));
    *wanted = (struct wanted){
        .start_ns = MAX(start_ns, served->start_ns),
        .end_ns = MIN(end_ns, lull_sum(served->until_ns, 1)),
        .least_ns = number(params, "least", 0),
        .most_ns = number(params, "most", INT64_MAX),
        .name = server_param_text(params, "name"),
        .row = number(params, "row", -1),
    };
    if (wanted->start_ns >= wanted->end_ns) {
        g_set_error_literal(error, LULL_ERROR, LULL_ERROR_USAGE, "the range is empty");
        return false;
    }
    return true;
}

/* The set of the kind that is asked for, as server_latencies_lock(), and the name in it. */
static const struct latency_set *lock(const struct served *served, struct json_object *params,
                                      struct wanted *wanted, GError **error)
{
    const struct latency_set *set =
        server_latencies_lock(served, server_param_text(params, "kind"), error);
    wanted->index = LULL_NONE;
    for (uint32_t i = 0; set && wanted->name && i < set->names->len; i++) {
        if (strcmp(g_ptr_array_index(set->names, i), wanted->name) == 0) {
            wanted->index = i;
        }
    }
    return set;
}

size_t server_latency_first(const struct latency_set *set, int64_t time_ns)
{
    size_t low = 0, high = set->points.count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (set->points.items[middle].start_ns < time_ns) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static bool has_name(const struct wanted *wanted, const struct latency_point *point)
{
    return !wanted->name || wanted->index == point->name;
}

void server_latency_list_kinds(const struct served *served, GString *out)
{
    const struct server_latencies *latencies = served->about->latencies;
    g_string_append(out, "{\"kinds\":[");
    for (uint32_t i = 0; i < server_latency_kinds(latencies); i++) {
        const struct server_latency_kind *kind = server_latency_kind(latencies, i);
        g_string_append_printf(out, "%s[\"%s\",", i ? "," : "", kind->id);
        lull_json_append(out, kind->title, strlen(kind->title));
        g_string_append_printf(out, ",\"%s\"]", kind->needs);
    }
    g_string_append(out, "]}");
}

static void append_point(const struct served *served, const struct latency_set *set,
                         const struct latency_point *point, GString *out)
{
    const char *name = g_ptr_array_index(set->names, point->name);
    g_string_append_printf(out, "%s[%" PRId64 ",%" PRId64 ",%" PRId64 ",",
                           out->str[out->len - 1] == '[' ? "" : ",",
                           point->start_ns - served->start_ns, point->took_ns,
                           point->row == LULL_NONE ? INT64_C(-1) : (int64_t)point->row);
    lull_json_append(out, name, strlen(name));
    g_string_append_c(out, ']');
}

/* ---- the picture ---- */

struct cell {
    uint32_t count, own; /* of all, of the row in particular */
};

struct picture {
    const struct latency_set *set;
    struct wanted wanted;
    size_t first, last; /* points */
    int64_t n_columns, n_lines;
    double low, span; /* of the logarithms of all durations */
    struct cell *cells;
    uint64_t count;
};

static double height_of(int64_t took_ns)
{
    return log2((double)took_ns + 1);
}

static struct cell *cell_of(struct picture *picture, const struct latency_point *point)
{
    const struct wanted *wanted = &picture->wanted;
    const double x = (double)(point->start_ns - wanted->start_ns) /
                     ((double)wanted->end_ns - (double)wanted->start_ns);
    const double y =
        picture->span > 0 ? (height_of(point->took_ns) - picture->low) / picture->span : 0;
    const int64_t column =
        CLAMP((int64_t)(x * (double)picture->n_columns), 0, picture->n_columns - 1);
    const int64_t line = CLAMP((int64_t)(y * (double)picture->n_lines), 0, picture->n_lines - 1);
    return &picture->cells[line * picture->n_columns + column];
}

static void fill_cells(struct picture *picture)
{
    for (size_t i = picture->first; i < picture->last; i++) {
        const struct latency_point *point = &picture->set->points.items[i];
        if (has_name(&picture->wanted, point)) {
            struct cell *cell = cell_of(picture, point);
            cell->count++;
            cell->own += picture->wanted.row == point->row;
            picture->count++;
        }
    }
}

/* The scale is that of all times, so that it stays while one zooms. */
static void find_scale(struct picture *picture, int64_t *low_ns, int64_t *high_ns)
{
    *low_ns = INT64_MAX;
    *high_ns = 0;
    for (size_t i = 0; i < picture->set->points.count; i++) {
        const struct latency_point *point = &picture->set->points.items[i];
        if (has_name(&picture->wanted, point)) {
            *low_ns = MIN(*low_ns, point->took_ns);
            *high_ns = MAX(*high_ns, point->took_ns);
        }
    }
    *low_ns = MIN(*low_ns, *high_ns);
    picture->low = height_of(*low_ns);
    picture->span = height_of(*high_ns) - picture->low;
}

static void append_cells(const struct picture *picture, GString *out)
{
    g_string_append(out, ",\"cells\":[");
    for (int64_t i = 0; i < picture->n_columns * picture->n_lines; i++) {
        const struct cell *cell = &picture->cells[i];
        if (cell->count) {
            g_string_append_printf(out, "%s[%" PRId64 ",%" PRId64 ",%u,%u]",
                                   out->str[out->len - 1] == '[' ? "" : ",", i % picture->n_columns,
                                   i / picture->n_columns, cell->count, cell->own);
        }
    }
    g_string_append_c(out, ']');
}

static void append_density(const struct picture *picture, GString *out)
{
    g_string_append(out, ",\"density\":[");
    for (int64_t line = 0; line < picture->n_lines; line++) {
        uint64_t count = 0;
        for (int64_t column = 0; column < picture->n_columns; column++) {
            count += picture->cells[line * picture->n_columns + column].count;
        }
        g_string_append_printf(out, "%s%" PRIu64, line ? "," : "", count);
    }
    g_string_append_c(out, ']');
}

/* ---- names ---- */

struct named {
    uint32_t name;
    struct lull_distribution times;
    const struct latency_point *longest;
};

static int compare_named(const void *a, const void *b)
{
    const struct named *left = a, *right = b;
    if (left->times.sum != right->times.sum) {
        return left->times.sum > right->times.sum ? -1 : 1;
    }
    return (left->name > right->name) - (left->name < right->name);
}

static void append_number(GString *out, double value)
{
    char text[G_ASCII_DTOSTR_BUF_SIZE];
    g_string_append(out, g_ascii_formatd(text, sizeof text, "%.9g", value));
}

static void append_named(const struct served *served, const struct latency_set *set,
                         const struct named *named, GString *out)
{
    const char *name = g_ptr_array_index(set->names, named->name);
    const struct lull_distribution *times = &named->times;
    g_string_append_printf(out, "%s{\"name\":", out->str[out->len - 1] == '[' ? "" : ",");
    lull_json_append(out, name, strlen(name));
    g_string_append_printf(
        out, ",\"count\":%" PRIu64 ",\"total\":%" PRIu64 ",\"min\":%" PRId64 ",\"max\":%" PRId64,
        times->count, (uint64_t)MIN(times->sum, (unsigned __int128)INT64_MAX), times->min,
        times->max);
    g_string_append(out, ",\"mean\":");
    append_number(out, lull_distribution_mean(times));
    g_string_append(out, ",\"deviation\":");
    append_number(out, lull_distribution_deviation(times));
    for (unsigned i = 0; i < 3; i++) {
        static const struct {
            const char *key;
            double share;
        } quantiles[] = {{"p50", .5}, {"p90", .9}, {"p99", .99}};
        g_string_append_printf(out, ",\"%s\":%" PRId64, quantiles[i].key,
                               lull_distribution_quantile(times, quantiles[i].share));
    }
    g_string_append(out, ",\"longest\":[");
    append_point(served, set, named->longest, out);
    g_string_append(out, "]}");
}

static void append_names(const struct served *served, const struct picture *picture, GString *out)
{
    const struct latency_set *set = picture->set;
    struct named *names = g_new0(struct named, MAX(set->names->len, 1));
    uint32_t n = 0;
    for (uint32_t i = 0; i < set->names->len; i++) {
        names[i].name = i;
    }
    for (size_t i = picture->first; i < picture->last; i++) {
        const struct latency_point *point = &set->points.items[i];
        struct named *named = &names[point->name];
        lull_spread_add(&named->times, point->took_ns);
        if (!named->longest || point->took_ns > named->longest->took_ns) {
            named->longest = point;
        }
    }
    qsort(names, set->names->len, sizeof *names, compare_named);
    g_string_append(out, ",\"names\":[");
    for (uint32_t i = 0; i < set->names->len; i++) {
        if (names[i].longest && n++ < NAMES_MOST) {
            append_named(served, set, &names[i], out);
        }
        lull_distribution_clear(&names[i].times);
    }
    g_string_append_printf(out, "],\"n_names\":%u", n);
    g_free(names);
}

static void append_picture(const struct served *served, struct picture *picture, bool has_names,
                           GString *out)
{
    int64_t low_ns, high_ns;
    picture->first = server_latency_first(picture->set, picture->wanted.start_ns);
    picture->last = server_latency_first(picture->set, picture->wanted.end_ns);
    picture->cells = g_new0(struct cell, picture->n_columns * picture->n_lines);
    find_scale(picture, &low_ns, &high_ns);
    fill_cells(picture);
    g_string_append_printf(out,
                           "{\"low\":%" PRId64 ",\"high\":%" PRId64 ",\"count\":%" PRIu64
                           ",\"all\":%zu,\"left_out\":%" PRIu64,
                           low_ns, high_ns, picture->count, picture->set->points.count,
                           picture->set->n_left_out);
    append_density(picture, out);
    if (picture->count > POINTS_SHOWN) {
        append_cells(picture, out);
    } else {
        g_string_append(out, ",\"points\":[");
        for (size_t i = picture->first; i < picture->last; i++) {
            if (has_name(&picture->wanted, &picture->set->points.items[i])) {
                append_point(served, picture->set, &picture->set->points.items[i], out);
            }
        }
        g_string_append_c(out, ']');
    }
    if (has_names) {
        append_names(served, picture, out);
    }
    g_string_append_c(out, '}');
    g_free(picture->cells);
}

bool server_latency_picture(const struct served *served, struct json_object *params, GString *out,
                            GError **error)
{
    struct picture picture = {.n_columns = number(params, "columns", 1),
                              .n_lines = number(params, "lines", 1)};
    if (!take_wanted(served, params, &picture.wanted, error)) {
        return false;
    }
    if (picture.n_columns < 1 || picture.n_columns > COLUMNS_MOST || picture.n_lines < 1 ||
        picture.n_lines > LINES_MOST) {
        g_set_error_literal(error, LULL_ERROR, LULL_ERROR_USAGE,
                            "a picture has 1 to 2048 columns and 1 to 256 lines");
        return false;
    }
    picture.set = lock(served, params, &picture.wanted, error);
    if (picture.set) {
        append_picture(served, &picture, number(params, "names", 0) != 0, out);
    }
    server_latencies_unlock(served);
    return picture.set != NULL;
}

/* ---- the longest ---- */

static int compare_longest(const void *a, const void *b)
{
    const struct latency_point *left = *(const struct latency_point *const *)a,
                               *right = *(const struct latency_point *const *)b;
    if (left->took_ns != right->took_ns) {
        return left->took_ns > right->took_ns ? -1 : 1;
    }
    return (left > right) - (left < right);
}

typedef LULL_VEC(const struct latency_point *) point_list;

static void cut(point_list *found, size_t most)
{
    if (found->count) {
        qsort(found->items, found->count, sizeof *found->items, compare_longest);
    }
    found->count = MIN(found->count, most);
}

/* How many there are; the longest are in `found`. */
static uint64_t find_longest(const struct latency_set *set, const struct wanted *wanted,
                             size_t most, point_list *found)
{
    const size_t last = server_latency_first(set, wanted->end_ns);
    uint64_t count = 0;
    for (size_t i = server_latency_first(set, wanted->start_ns); i < last; i++) {
        const struct latency_point *point = &set->points.items[i];
        if (has_name(wanted, point) && (wanted->row < 0 || wanted->row == point->row) &&
            point->took_ns >= wanted->least_ns && point->took_ns <= wanted->most_ns) {
            count++;
            lull_vec_push(found, point);
            if (found->count >= 2 * most + 64) {
                cut(found, most);
            }
        }
    }
    cut(found, most);
    return count;
}

bool server_latency_longest(const struct served *served, struct json_object *params, GString *out,
                            GError **error)
{
    struct wanted wanted;
    if (!take_wanted(served, params, &wanted, error)) {
        return false;
    }
    const struct latency_set *set = lock(served, params, &wanted, error);
    if (set) {
        point_list found = {0};
        const size_t most = (size_t)CLAMP(number(params, "most_points", LIST_MOST), 1, LIST_MOST);
        const uint64_t count = find_longest(set, &wanted, most, &found);
        g_string_append_printf(out, "{\"count\":%" PRIu64 ",\"points\":[", count);
        for (size_t i = 0; i < found.count; i++) {
            append_point(served, set, found.items[i], out);
        }
        g_string_append(out, "]}");
        lull_vec_free(&found);
    }
    server_latencies_unlock(served);
    return set != NULL;
}
