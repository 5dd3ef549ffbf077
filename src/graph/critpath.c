/* SPDX-License-Identifier: MIT */
/* The bounded critical path: from the end of the question backwards, and at each wait over to the
 * line that ended it, but not further back than where that wait started; then on with the line that
 * had waited. What is not known on the way is said to be unknown. */
#include "graph/critpath.h"

#include <stdbool.h>

#include "base/search.h"
#include "base/vec.h"

/* Jumps from line to line in a row without going back in time. A machine does not wake that many
 * tasks in one nanosecond, each by the one before; a graph that claims so gets an unknown wait
 * instead of an endless walk. */
#define MAX_INSTANT_JUMPS 64

/* A wait under explanation: where to go on when the explanation has reached its start; or what the line did before it took
 * what the link had brought: then that is to be explained. */
struct frame {
    uint32_t line, index;
    uint32_t wait;  /* that its line explains itself */
    uint32_t input; /* the link, or LULL_NONE */
    int64_t bound_ns;
};

/* The walk is on `line` at time_ns, within or at the end of the edge that ends at point `index`
 * (which is the number of points if time_ns is after the last one).
 *
 * It ends: each step either lowers time_ns; or takes a frame off, which step() never puts on
 * without a jump, or once at each point that has an input; or jumps at the same time_ns, at most MAX_INSTANT_JUMPS
 * times in a row; a jump leads on through links of which each is an earlier one. A frame is put on only above its bound,
 * so none comes off between jumps at one time. time_ns takes no other values than times of points, sources of links, when
 * what they bring was asked for or came, and the end; so the number of steps is at most proportional to the number of
 * points and links between start and end. */
struct walk {
    const struct lull_graph *graph;
    GArray *hops;  /* latest first */
    GArray *waits; /* or NULL */
    uint32_t wait; /* under explanation; LULL_NONE on the line in question */
    int64_t start_ns, end_ns;

    uint32_t line, index;
    int64_t time_ns;
    int64_t bound_ns; /* start of the wait under explanation; INT64_MIN on the line in question */
    bool is_unbounded;
    bool is_request; /* what the line in question did for others is not in question */
    bool is_same;    /* the line in question is not that of the question any more */
    LULL_VEC(struct frame) frames;

    uint32_t jumped_from[MAX_INSTANT_JUMPS]; /* lines left at the present time_ns */
    uint32_t n_jumped;
};

/* Covers the time back to from_ns with a hop, less what lies outside of the question. */
static void go_back(struct walk *walk, int64_t from_ns, struct lull_hop hop)
{
    hop.line = walk->line;
    hop.same = LULL_NONE;
    hop.wait = walk->wait;
    hop.start_ns = MAX(from_ns, walk->start_ns);
    hop.end_ns = MIN(walk->time_ns, walk->end_ns);
    if (hop.start_ns < hop.end_ns) {
        g_array_append_val(walk->hops, hop);
    }
    walk->time_ns = from_ns;
    walk->n_jumped = 0;
}

static void go_back_unknown(struct walk *walk, int64_t from_ns)
{
    go_back(walk, from_ns,
            (struct lull_hop){.detail = LULL_NONE,
                              .link = LULL_NONE,
                              .state = LULL_STATE_BLOCKED,
                              .cause = LULL_CAUSE_UNKNOWN,
                              .cpu = -1});
}

/* The time a cause took to arrive is time the line still waited. */
static void go_back_in_transit(struct walk *walk, int64_t from_ns, uint32_t link)
{
    const struct lull_graph_link *l = lull_graph_link_at(walk->graph, link);
    go_back(walk, from_ns,
            (struct lull_hop){.detail = l->detail,
                              .link = link,
                              .state = LULL_STATE_BLOCKED,
                              .cause = l->cause == LULL_CAUSE_NONE ? LULL_CAUSE_TASK : l->cause,
                              .cpu = -1});
}

static void go_back_along_edge(struct walk *walk, int64_t from_ns,
                               const struct lull_graph_point *edge)
{
    enum lull_cause cause = edge->cause;
    if (edge->state == LULL_STATE_BLOCKED &&
        (cause == LULL_CAUSE_NONE || cause == LULL_CAUSE_TASK)) {
        cause = LULL_CAUSE_UNKNOWN; /* some task, but the graph does not show which one */
    }
    go_back(walk, from_ns,
            (struct lull_hop){.detail = edge->detail,
                              .link = LULL_NONE,
                              .state = edge->state,
                              .cause = cause,
                              .cpu = edge->cpu});
}

/* Index of the first point of the line at or after the time; the number of points if there is none.
 */
static uint32_t find_index(const struct lull_graph *graph, uint32_t line, int64_t time_ns)
{
    uint32_t n;
    const struct lull_graph_point *points = lull_graph_points(graph, line, &n);
    return LULL_LOWER_BOUND(i, n, points[i].time_ns < time_ns);
}

/* Whether the source of the link is a place where the walk has not just been: the same line at the
 * same time again would lead round in a circle. */
static bool can_jump(const struct walk *walk, const struct lull_graph_link *link)
{
    if (link->from_ns < walk->time_ns) {
        return true;
    }
    if (walk->n_jumped == MAX_INSTANT_JUMPS) {
        return false;
    }
    for (uint32_t i = 0; i < walk->n_jumped; i++) {
        if (walk->jumped_from[i] == link->from_line) {
            return false;
        }
    }
    return true;
}

/* Since when what the link brings has been under way, over however many links. */
static int64_t under_way_since(const struct walk *walk, uint32_t link)
{
    int64_t since_ns = lull_graph_link_at(walk->graph, link)->from_ns;
    const struct lull_graph_through *through;
    while ((through = lull_graph_through_of(walk->graph, link))) {
        link = through->link;
        since_ns = MIN(since_ns, lull_graph_link_at(walk->graph, link)->from_ns);
    }
    return since_ns;
}

/* Back on the line, past all that came to it meanwhile, to when that came which the line has passed on. */
static void go_back_to(struct walk *walk, int64_t time_ns)
{
    uint32_t count;
    const struct lull_graph_point *points = lull_graph_points(walk->graph, walk->line, &count);
    while (walk->time_ns > time_ns) {
        int64_t from_ns = time_ns;
        if (walk->index > 0) {
            from_ns = MAX(from_ns, points[walk->index - 1].time_ns);
        }
        if (walk->index < count && points[walk->index].state != LULL_STATE_NONE) {
            go_back_along_edge(walk, from_ns, &points[walk->index]);
        } else {
            go_back_unknown(walk, from_ns);
        }
        walk->index -= walk->index > 0 && points[walk->index - 1].time_ns == from_ns;
    }
}

static void go_over(struct walk *walk, uint32_t link)
{
    const struct lull_graph_link *l = lull_graph_link_at(walk->graph, link);
    if (l->from_ns < walk->time_ns) {
        go_back_in_transit(walk, l->from_ns, link);
    } else {
        walk->jumped_from[walk->n_jumped++] = walk->line;
    }
    walk->line = l->from_line;
    walk->index = find_index(walk->graph, walk->line, walk->time_ns);
}

/* Goes over to the source of the link, and from there to where that had what it passed on. A source later than now
 * means what its line does now. */
static void jump(struct walk *walk, uint32_t link)
{
    go_over(walk, link);
    const struct lull_graph_through *through;
    while ((through = lull_graph_through_of(walk->graph, link)) &&
           through->time_ns <= walk->time_ns && walk->time_ns > walk->bound_ns) {
        const struct lull_graph_link *via = lull_graph_link_at(walk->graph, through->link);
        go_back_to(walk, MAX(through->time_ns, walk->bound_ns));
        if (walk->time_ns <= walk->bound_ns) {
            return;
        }
        if (via->from_ns <= walk->bound_ns) {
            go_back_in_transit(walk, walk->bound_ns, through->link);
            return;
        }
        if (!can_jump(walk, via)) {
            return;
        }
        link = through->link;
        go_over(walk, link);
    }
}

/* At a point of a waker with a link although it did not wait there (it was forked; a packet came
 * in). The link is followed if it spans the whole rest of the wait under explanation, or if the
 * line is not known back to the start of that wait and this is the last such chance on it. False if
 * the link is of no use. */
static bool follow_entry(struct walk *walk, const struct lull_graph_point *points)
{
    const struct lull_graph_point *point = &points[walk->index];
    const struct lull_graph_link *link = lull_graph_link_at(walk->graph, point->link);
    if (link->is_input) {
        return false;
    }
    if (link->from_ns <= walk->bound_ns) {
        go_back_in_transit(walk, walk->bound_ns, point->link);
        return true;
    }
    struct lull_graph_piece piece = lull_graph_piece_of(walk->graph, walk->line, walk->index);
    if (piece.entry != walk->index || points[piece.first].time_ns <= walk->bound_ns ||
        !can_jump(walk, link)) {
        return false;
    }
    jump(walk, point->link);
    return true;
}

/* At a point where the line became what another was, or where the line in question, having been another, began: goes on
 * where it comes from. */
static bool follow_same(struct walk *walk, const struct lull_graph_point *point)
{
    const struct lull_graph_link *link = lull_graph_link_at(walk->graph, point->link);
    const bool is_main = walk->frames.count == 0;
    const bool is_born = is_main && walk->is_same && point->state == LULL_STATE_NONE;
    if ((!link->is_same && !is_born) || !can_jump(walk, link)) {
        return false;
    }
    if (link->is_same && walk->hops->len) {
        struct lull_hop *after = &g_array_index(walk->hops, struct lull_hop, walk->hops->len - 1);
        after->same = link->from_line;
    }
    walk->is_same |= is_main;
    jump(walk, point->link);
    return true;
}

/* Waits that another line can explain. The other causes say all there is to say, but for devices that
 * a host makes for its guest. */
static bool is_resolvable(const struct walk *walk, const struct lull_graph_point *edge)
{
    return edge->state == LULL_STATE_BLOCKED && edge->link != LULL_NONE &&
           (edge->cause == LULL_CAUSE_NONE || edge->cause == LULL_CAUSE_TASK ||
            edge->cause == LULL_CAUSE_NETWORK || edge->cause == LULL_CAUSE_UNKNOWN ||
            lull_graph_link_at(walk->graph, edge->link)->is_bounded);
}

/* Where what the link brings was asked for, if what its line did since then for others has nothing to do with the question; or NULL. */
static const struct lull_graph_asked *asked_of(const struct walk *walk, uint32_t link)
{
    return walk->is_request || walk->frames.count > 0 ? lull_graph_asked_of(walk->graph, link)
                                                      : NULL;
}

/* Since when the line has waited for what the link brings, as far as the question asks. */
static int64_t wait_start(const struct walk *walk, uint32_t link)
{
    const int64_t start_ns = lull_graph_wait_start(walk->graph, walk->line, walk->index);
    const struct lull_graph_asked *asked = asked_of(walk, link);
    return asked ? MIN(start_ns, asked->time_ns) : start_ns;
}

/* Where to go on when all back to since_ns is explained. */
static struct frame frame_at(const struct walk *walk, const struct lull_graph_asked *asked,
                             int64_t since_ns)
{
    const uint32_t line = asked && asked->time_ns == since_ns ? asked->line : walk->line;
    return (struct frame){.line = line,
                          .index = find_index(walk->graph, line, since_ns),
                          .wait = walk->wait,
                          .input = LULL_NONE,
                          .bound_ns = walk->bound_ns};
}

/* What comes now explains a wait of the line: since start_ns, in which it slept from slept_ns on at the latest. outer_ns: the start of
 * what that wait itself is to explain. */
static void add_wait(struct walk *walk, uint32_t detail, int64_t start_ns, int64_t slept_ns,
                     int64_t outer_ns, bool is_asked)
{
    if (!walk->waits) {
        return;
    }
    const int64_t since_ns = MAX(start_ns, walk->start_ns);
    const bool is_shared = is_asked && slept_ns > since_ns;
    const struct lull_path_wait wait = {
        .within = walk->wait,
        .line = walk->line,
        .detail = detail,
        .start_ns = since_ns,
        .is_whole = since_ns > MAX(outer_ns, walk->start_ns),
        .is_shared = is_shared,
        .is_recent = slept_ns > walk->start_ns,
    };
    g_array_append_val(walk->waits, wait);
    walk->wait = walk->waits->len - 1;
}

/* Leaves the line for the explanation of its wait, to come back when that is done. */
static void enter_wait(struct walk *walk, const struct lull_graph_point *edge, int64_t wait_ns)
{
    const struct lull_graph_asked *asked = asked_of(walk, edge->link);
    lull_vec_push(&walk->frames, frame_at(walk, asked, wait_ns));
    if (!edge->is_alone) { /* interrupts wait for nothing themselves: who waits for them does */
        add_wait(walk, edge->detail, wait_ns,
                 lull_graph_wait_start(walk->graph, walk->line, walk->index), walk->bound_ns,
                 asked != NULL);
    }
}

/* Explains the wait that ends at the present point by the link into that point. False if it leads
 * in a circle. */
static bool resolve(struct walk *walk, const struct lull_graph_point *points)
{
    const struct lull_graph_point *edge = &points[walk->index];
    const struct lull_graph_link *link = lull_graph_link_at(walk->graph, edge->link);
    if (walk->frames.count > 0 && under_way_since(walk, edge->link) <= walk->bound_ns) {
        go_back_in_transit(walk, walk->bound_ns, edge->link);
        return true;
    }
    int64_t wait_ns = MAX(wait_start(walk, edge->link), walk->bound_ns);
    if (walk->is_unbounded && !link->is_bounded) {
        wait_ns = walk->start_ns; /* the waiting line is never come back to */
    } else if (link->is_idle && walk->frames.count > 0) {
        wait_ns = walk->bound_ns; /* nor is one that had nothing to do */
    }
    if (link->from_ns <= wait_ns) {
        go_back_in_transit(walk, wait_ns, edge->link);
        walk->index = find_index(walk->graph, walk->line, wait_ns);
        return true;
    }
    if (!can_jump(walk, link)) {
        return false;
    }
    enter_wait(walk, edge, wait_ns);
    walk->bound_ns = wait_ns;
    jump(walk, edge->link);
    return true;
}

/* At a point where the line took what had come to it while it was busy for others: after that it is the line's own doing,
 * before it who sent it is followed, back to when the line asked for it. */
static bool follow_input(struct walk *walk, const struct lull_graph_point *point)
{
    const struct lull_graph_link *link = lull_graph_link_at(walk->graph, point->link);
    if (!link->is_input || (walk->frames.count == 0 && !walk->is_request)) {
        return false;
    }
    const struct lull_graph_asked *asked = lull_graph_asked_of(walk->graph, point->link);
    const int64_t asked_ns = MAX(asked->time_ns, walk->bound_ns);
    const int64_t came_ns = asked->came_ns;
    if (came_ns <= asked_ns || link->from_ns <= asked_ns || came_ns <= walk->start_ns ||
        came_ns > walk->end_ns) {
        return false;
    }
    lull_vec_push(&walk->frames, frame_at(walk, asked, asked_ns));
    struct frame frame = frame_at(walk, NULL, came_ns);
    frame.input = point->link;
    frame.bound_ns = asked_ns;
    lull_vec_push(&walk->frames, frame);
    walk->bound_ns = came_ns;
    return true;
}

/* The walk is where the input of its line had come. */
static void enter_input(struct walk *walk, uint32_t input)
{
    const struct lull_graph_link *link = lull_graph_link_at(walk->graph, input);
    if (!can_jump(walk, link)) {
        return;
    }
    add_wait(walk, link->detail, walk->bound_ns, walk->time_ns,
             walk->frames.items[walk->frames.count - 1].bound_ns, true);
    jump(walk, input);
}

/* A request ends when its answer comes. If the line took that only later, being busy, its input is a later point: of those that
 * had come by then, the last to come. What comes later is taken later. */
static void find_own_input(struct walk *walk)
{
    enum { MOST_POINTS = 4096 };
    uint32_t count;
    int64_t last_ns = walk->start_ns;
    const struct lull_graph_point *points = lull_graph_points(walk->graph, walk->line, &count);
    const uint32_t end = walk->index + MIN(count - walk->index, MOST_POINTS);
    for (uint32_t i = walk->index; i < end && points[i].state != LULL_STATE_BLOCKED; i++) {
        const uint32_t link = points[i].link;
        if (link == LULL_NONE || !lull_graph_link_at(walk->graph, link)->is_input) {
            continue;
        }
        const int64_t came_ns = lull_graph_asked_of(walk->graph, link)->came_ns;
        if (came_ns > walk->end_ns) {
            return;
        }
        if (came_ns > last_ns) {
            last_ns = came_ns;
            walk->index = i;
            walk->time_ns = points[i].time_ns;
        }
    }
}

/* One move: back over (a part of) an edge, or over to another line. */
static void step(struct walk *walk)
{
    uint32_t count;
    const struct lull_graph_point *points = lull_graph_points(walk->graph, walk->line, &count);
    bool is_main = walk->frames.count == 0;
    int64_t from_ns = walk->bound_ns;
    if (walk->index > 0) {
        from_ns = MAX(from_ns, points[walk->index - 1].time_ns);
    }
    if (walk->index == count) {
        go_back_unknown(walk, from_ns);
        walk->index -= count > 0;
        return;
    }
    const struct lull_graph_point *edge = &points[walk->index];
    if (edge->time_ns == walk->time_ns && edge->link != LULL_NONE &&
        (follow_same(walk, edge) || follow_input(walk, edge))) {
        return;
    }
    if (!is_main && edge->time_ns == walk->time_ns && edge->link != LULL_NONE &&
        edge->state != LULL_STATE_BLOCKED && follow_entry(walk, points)) {
        return;
    }
    if (edge->state == LULL_STATE_NONE) {
        /* What a waker did before a gap has nothing to do with the wait. */
        go_back_unknown(walk, is_main ? from_ns : walk->bound_ns);
    } else if (is_resolvable(walk, edge) && resolve(walk, points)) {
        return;
    } else if (edge->is_long && edge->link == LULL_NONE) {
        from_ns = MAX(walk->bound_ns, lull_graph_wait_start(walk->graph, walk->line, walk->index));
        go_back_along_edge(walk, from_ns, edge);
        walk->index = find_index(walk->graph, walk->line, from_ns);
        return;
    } else {
        go_back_along_edge(walk, edge->is_alone && !is_main ? walk->bound_ns : from_ns, edge);
    }
    walk->index -= walk->index > 0;
}

static void reverse(GArray *hops)
{
    struct lull_hop *data = (struct lull_hop *)(void *)hops->data;
    for (guint low = 0, high = hops->len; low + 1 < high; low++, high--) {
        struct lull_hop hop = data[low];
        data[low] = data[high - 1];
        data[high - 1] = hop;
    }
}

GArray *lull_critpath_find(const struct lull_graph *graph, uint32_t line, int64_t start_ns,
                           int64_t end_ns, enum lull_path_kind kind)
{
    return lull_critpath_find_waits(graph, line, start_ns, end_ns, kind, NULL);
}

GArray *lull_critpath_find_waits(const struct lull_graph *graph, uint32_t line, int64_t start_ns,
                                 int64_t end_ns, enum lull_path_kind kind, GArray *waits)
{
    struct walk walk = {.graph = graph,
                        .hops = g_array_new(FALSE, FALSE, sizeof(struct lull_hop)),
                        .waits = waits,
                        .wait = LULL_NONE,
                        .start_ns = start_ns,
                        .end_ns = end_ns,
                        .line = line,
                        .time_ns = end_ns,
                        .bound_ns = INT64_MIN,
                        .is_unbounded = kind == LULL_PATH_UNBOUNDED,
                        .is_request = kind == LULL_PATH_REQUEST};
    if (start_ns >= end_ns) {
        return walk.hops;
    }
    /* From the end of the edge that the question's end is in: so a wait is explained in the same
     * way whatever part of it is in question. */
    uint32_t count;
    const struct lull_graph_point *points = lull_graph_points(graph, line, &count);
    walk.index = find_index(graph, line, end_ns);
    if (walk.index < count) {
        walk.time_ns = points[walk.index].time_ns;
    }
    if (walk.is_request) {
        find_own_input(&walk);
    }
    while (walk.time_ns > start_ns) {
        if (walk.time_ns > walk.bound_ns) {
            step(&walk);
        } else {
            struct frame frame = lull_vec_pop(&walk.frames);
            walk.line = frame.line;
            walk.index = frame.index;
            walk.wait = frame.wait;
            walk.bound_ns = frame.bound_ns;
            if (frame.input != LULL_NONE) {
                enter_input(&walk, frame.input);
            }
        }
    }
    lull_vec_free(&walk.frames);
    reverse(walk.hops);
    return walk.hops;
}
