/* SPDX-License-Identifier: MIT */
/* The execution graph in memory: per line one growing array of points and one of gap-free pieces,
 * and one array of links. Appending costs amortised constant time, looking up a time a binary
 * search. */
#include "graph/graph.h"

#include <stdbool.h>

#include "base/map.h"
#include "base/search.h"
#include "base/vec.h"

struct graph_line {
    LULL_VEC(struct lull_graph_point) points;
    LULL_VEC(struct lull_graph_piece) pieces;
};

struct lull_graph {
    LULL_VEC(struct graph_line) lines;
    LULL_VEC(struct lull_graph_link) links;
    LULL_VEC(int64_t) since;  /* starts of waits that are longer than the edge they end with */
    struct lull_map since_of; /* link → one of these */
    LULL_VEC(struct lull_graph_asked) asked; /* by what links say of it, less 1 */
    LULL_VEC(struct lull_graph_through) through;
    struct lull_map through_of; /* link → one of these */
};

struct lull_graph *lull_graph_new(void)
{
    return g_new0(struct lull_graph, 1);
}

void lull_graph_free(struct lull_graph *graph)
{
    if (!graph) {
        return;
    }
    for (size_t i = 0; i < graph->lines.count; i++) {
        lull_vec_free(&graph->lines.items[i].points);
        lull_vec_free(&graph->lines.items[i].pieces);
    }
    lull_vec_free(&graph->lines);
    lull_vec_free(&graph->links);
    lull_vec_free(&graph->since);
    lull_map_free(&graph->since_of);
    lull_vec_free(&graph->asked);
    lull_vec_free(&graph->through);
    lull_map_free(&graph->through_of);
    g_free(graph);
}

static __attribute__((noinline)) void add_lines(struct lull_graph *graph, uint32_t line)
{
    g_assert(line != LULL_NONE);
    while (graph->lines.count <= line) {
        lull_vec_push(&graph->lines, (struct graph_line){0});
    }
}

static inline struct graph_line *use_line(struct lull_graph *graph, uint32_t line)
{
    if (G_UNLIKELY(graph->lines.count <= line)) {
        add_lines(graph, line);
    }
    return &graph->lines.items[line];
}

uint32_t lull_graph_append(struct lull_graph *graph, uint32_t line, int64_t time_ns,
                           enum lull_state state, enum lull_cause cause, int cpu, uint32_t detail)
{
    struct graph_line *l = use_line(graph, line);
    size_t count = l->points.count;
    if (count > 0 && time_ns <= l->points.items[count - 1].time_ns) {
        return (uint32_t)(count - 1);
    }
    g_assert(count < LULL_NONE); /* indices are 32 bits */
    struct lull_graph_point *point = lull_vec_add(&l->points);
    point->time_ns = time_ns;
    point->link = LULL_NONE;
    point->is_alone = false;
    point->is_long = false;
    if (count > 0 && state != LULL_STATE_NONE) {
        point->state = state;
        point->cause = cause;
        point->cpu = (int16_t)cpu;
        point->detail = detail;
    } else {
        point->state = LULL_STATE_NONE;
        point->cause = LULL_CAUSE_NONE;
        point->cpu = -1;
        point->detail = LULL_NONE;
        lull_vec_push(&l->pieces,
                      (struct lull_graph_piece){.first = (uint32_t)count, .entry = LULL_NONE});
    }
    return (uint32_t)count;
}

uint32_t lull_graph_append_alone(struct lull_graph *graph, uint32_t line, int64_t time_ns,
                                 enum lull_state state, enum lull_cause cause, uint32_t detail)
{
    const size_t before = use_line(graph, line)->points.count;
    const uint32_t index = lull_graph_append(graph, line, time_ns, state, cause, -1, detail);
    if (index == before) {
        graph->lines.items[line].points.items[index].is_alone = true;
    }
    return index;
}

void lull_graph_add(struct lull_graph *graph, uint32_t line, int64_t time_ns)
{
    lull_graph_append(graph, line, time_ns, LULL_STATE_NONE, LULL_CAUSE_NONE, -1, LULL_NONE);
}

/* Index of the point at exactly that time, or LULL_NONE. Links go to recent points as a rule: from
 * the end, in steps that double. */
static uint32_t find_point(const struct graph_line *line, int64_t time_ns)
{
    const struct lull_graph_point *points = line->points.items;
    size_t high = line->points.count, low = high, step = 1;
    if (high > 0 && points[high - 1].time_ns == time_ns) {
        return (uint32_t)(high - 1);
    }
    while (low > 0 && points[low - 1].time_ns >= time_ns) {
        high = low; /* points[high - 1] is not before the time */
        low -= MIN(low, step);
        step *= 2;
    }
    low += LULL_LOWER_BOUND(i, high - low, points[low + i].time_ns < time_ns);
    bool found = low < line->points.count && points[low].time_ns == time_ns;
    return found ? (uint32_t)low : LULL_NONE;
}

static struct lull_graph_piece *find_piece(const struct graph_line *line, uint32_t point)
{
    const struct lull_graph_piece *pieces = line->pieces.items;
    const size_t last = line->pieces.count - 1;
    if (pieces[last].first <= point) {
        return &line->pieces.items[last];
    }
    /* The last one that starts at or before the point; the first one does. */
    return &line->pieces.items[LULL_LOWER_BOUND(i, last, pieces[i].first <= point) - 1];
}

static void add_link(struct lull_graph *graph, const struct lull_graph_link *link, uint32_t to_line,
                     int64_t to_ns)
{
    if (to_line >= graph->lines.count) {
        return;
    }
    struct graph_line *line = &graph->lines.items[to_line];
    uint32_t index = find_point(line, to_ns);
    if (index == LULL_NONE) {
        return;
    }
    struct lull_graph_point *point = &line->points.items[index];
    if (point->link != LULL_NONE) {
        graph->links.items[point->link] = *link;
        return;
    }
    g_assert(graph->links.count < LULL_NONE);
    point->link = (uint32_t)graph->links.count;
    lull_vec_push(&graph->links, *link);
    if (point->state != LULL_STATE_BLOCKED && !link->is_input) {
        struct lull_graph_piece *piece = find_piece(line, index);
        piece->entry = MIN(piece->entry, index);
    }
}

void lull_graph_link(struct lull_graph *graph, uint32_t from_line, int64_t from_ns,
                     uint32_t to_line, int64_t to_ns, enum lull_cause cause, uint32_t detail)
{
    const struct lull_graph_link link = {
        .from_ns = from_ns, .from_line = from_line, .detail = detail, .cause = cause};
    add_link(graph, &link, to_line, to_ns);
}

void lull_graph_link_bounded(struct lull_graph *graph, uint32_t from_line, int64_t from_ns,
                             uint32_t to_line, int64_t to_ns, enum lull_cause cause,
                             uint32_t detail)
{
    const struct lull_graph_link link = {.from_ns = from_ns,
                                         .from_line = from_line,
                                         .detail = detail,
                                         .cause = cause,
                                         .is_bounded = true};
    add_link(graph, &link, to_line, to_ns);
}

void lull_graph_link_same(struct lull_graph *graph, uint32_t from_line, uint32_t to_line,
                          int64_t time_ns)
{
    const struct lull_graph_link link = {.from_ns = time_ns,
                                         .from_line = from_line,
                                         .detail = LULL_NONE,
                                         .cause = LULL_CAUSE_TASK,
                                         .is_same = true};
    add_link(graph, &link, to_line, time_ns);
}

/* Of a line that may not exist. */
static uint32_t find_line_point(const struct lull_graph *graph, uint32_t line, int64_t time_ns)
{
    return line < graph->lines.count ? find_point(&graph->lines.items[line], time_ns) : LULL_NONE;
}

/* The link into the point at that time, or LULL_NONE. */
static uint32_t find_link(const struct lull_graph *graph, uint32_t line, int64_t time_ns)
{
    const uint32_t index = find_line_point(graph, line, time_ns);
    return index != LULL_NONE ? graph->lines.items[line].points.items[index].link : LULL_NONE;
}

void lull_graph_link_idle(struct lull_graph *graph, uint32_t line, int64_t time_ns)
{
    const uint32_t link = find_link(graph, line, time_ns);
    if (link != LULL_NONE) {
        graph->links.items[link].is_idle = true;
    }
}

/* The point at that time, if the edge that ends there starts later than since_ns; or NULL: a wait that is no longer would
 * lead back to where it ends. */
static struct lull_graph_point *find_longer(struct lull_graph *graph, uint32_t line,
                                            int64_t time_ns, int64_t since_ns)
{
    const uint32_t index = find_line_point(graph, line, time_ns);
    struct lull_graph_point *points =
        index != LULL_NONE ? graph->lines.items[line].points.items : NULL;
    return points && index > 0 && since_ns < points[index - 1].time_ns ? &points[index] : NULL;
}

static void keep_since(struct lull_graph *graph, uint64_t key, int64_t since_ns)
{
    lull_map_insert(&graph->since_of, key, (uint32_t)graph->since.count);
    lull_vec_push(&graph->since, since_ns);
}

/* Beside the numbers of links. */
static uint64_t key_of_edge(const struct lull_graph_point *point)
{
    return UINT64_C(1) << 32 | point->detail;
}

void lull_graph_wait_since(struct lull_graph *graph, uint32_t line, int64_t time_ns,
                           int64_t since_ns)
{
    const struct lull_graph_point *point = find_longer(graph, line, time_ns, since_ns);
    if (point && point->link != LULL_NONE) {
        graph->links.items[point->link].is_long = true;
        keep_since(graph, point->link, since_ns);
    }
}

void lull_graph_edge_since(struct lull_graph *graph, uint32_t line, int64_t time_ns,
                           int64_t since_ns)
{
    struct lull_graph_point *point = find_longer(graph, line, time_ns, since_ns);
    if (point && point->link == LULL_NONE && point->detail != LULL_NONE) {
        point->is_long = true;
        keep_since(graph, key_of_edge(point), since_ns);
    }
}

static void keep_asked(struct lull_graph *graph, uint32_t link, struct lull_graph_asked asked)
{
    lull_vec_push(&graph->asked, asked);
    graph->links.items[link].asked = (uint32_t)graph->asked.count;
}

void lull_graph_wait_asked(struct lull_graph *graph, uint32_t line, int64_t time_ns,
                           struct lull_graph_asked asked)
{
    const struct lull_graph_point *point = find_longer(graph, line, time_ns, asked.time_ns);
    if (point && point->link != LULL_NONE) {
        keep_asked(graph, point->link, asked);
    }
}

void lull_graph_link_input(struct lull_graph *graph, uint32_t from_line, int64_t from_ns,
                           uint32_t to_line, int64_t time_ns, struct lull_graph_asked asked,
                           uint32_t detail)
{
    const uint32_t index = find_line_point(graph, to_line, time_ns);
    const struct lull_graph_point *point =
        index == LULL_NONE ? NULL : &graph->lines.items[to_line].points.items[index];
    if (!point || point->link != LULL_NONE || point->state == LULL_STATE_BLOCKED ||
        asked.time_ns >= asked.came_ns || asked.came_ns >= time_ns) {
        return;
    }
    const struct lull_graph_link link = {.from_ns = from_ns,
                                         .from_line = from_line,
                                         .detail = detail,
                                         .cause = LULL_CAUSE_NETWORK,
                                         .is_input = true};
    const uint32_t number = (uint32_t)graph->links.count;
    add_link(graph, &link, to_line, time_ns);
    keep_asked(graph, number, asked);
}

const struct lull_graph_asked *lull_graph_asked_of(const struct lull_graph *graph, uint32_t link)
{
    const uint32_t asked = graph->links.items[link].asked;
    return asked ? &graph->asked.items[asked - 1] : NULL;
}

void lull_graph_link_through(struct lull_graph *graph, uint32_t line, int64_t time_ns,
                             uint32_t via_line, int64_t via_ns)
{
    const uint32_t link = find_link(graph, line, time_ns);
    const uint32_t via = find_link(graph, via_line, via_ns);
    if (link == LULL_NONE || via == LULL_NONE || via >= link ||
        via_ns > graph->links.items[link].from_ns) {
        return;
    }
    graph->links.items[link].is_through = true;
    lull_map_insert(&graph->through_of, link, (uint32_t)graph->through.count);
    lull_vec_push(&graph->through, (struct lull_graph_through){via_ns, via});
}

const struct lull_graph_through *lull_graph_through_of(const struct lull_graph *graph,
                                                       uint32_t link)
{
    return graph->links.items[link].is_through
               ? &graph->through.items[lull_map_find(&graph->through_of, link)]
               : NULL;
}

int64_t lull_graph_wait_start(const struct lull_graph *graph, uint32_t line, uint32_t point)
{
    const struct lull_graph_point *points = graph->lines.items[line].points.items;
    const uint32_t link = points[point].link;
    const bool is_long =
        link != LULL_NONE ? graph->links.items[link].is_long : points[point].is_long;
    if (!is_long) {
        return points[point - 1].time_ns;
    }
    const uint64_t key = link != LULL_NONE ? link : key_of_edge(&points[point]);
    return graph->since.items[lull_map_find(&graph->since_of, key)];
}

uint32_t lull_graph_line_count(const struct lull_graph *graph)
{
    return (uint32_t)graph->lines.count;
}

const struct lull_graph_point *lull_graph_points(const struct lull_graph *graph, uint32_t line,
                                                 uint32_t *count)
{
    if (line >= graph->lines.count) {
        *count = 0;
        return NULL;
    }
    *count = (uint32_t)graph->lines.items[line].points.count;
    return graph->lines.items[line].points.items;
}

const struct lull_graph_link *lull_graph_link_at(const struct lull_graph *graph, uint32_t index)
{
    return &graph->links.items[index];
}

struct lull_graph_piece lull_graph_piece_of(const struct lull_graph *graph, uint32_t line,
                                            uint32_t point)
{
    return *find_piece(&graph->lines.items[line], point);
}
