/* SPDX-License-Identifier: MIT */
/* Groups of hosts; in each a tree of the tightest pairs, whose lines are composed; and a check of
 * all pairs against the result, with one common adjustment of all hosts where a pair that is not in
 * the tree disagrees. */
#include "clock/groups.h"

#include <math.h>

#include "clock/joint.h"

struct node {
    uint32_t group;            /* lowest host of it */
    uint32_t parent;           /* towards the group's reference, or LULL_NONE */
    struct lull_sync_link *up; /* to the parent */
    bool is_joined, is_visited;
    bool is_bounded; /* no FAIL pair on the way up */
    uint64_t matched;
    long double cost;
    struct lull_line tree, line; /* to the group's clock: composed; adjusted */
    struct lull_clock_transform tree_clock, clock;
    long double error[2]; /* of `tree` at start and end of the host's range */
};

struct groups {
    const GPtrArray *links;
    uint32_t n_hosts;
    const struct lull_sync_range *ranges;
    struct node *nodes;
    size_t *
        first; /* per host: where its links start in links_of, and after the last host their number */
    uint32_t *links_of; /* numbers of links */
    uint32_t *bridges;  /* per link: 1 if a FAIL pair is all that connects two groups */
};

static struct lull_sync_link *link_at(const struct groups *groups, guint index)
{
    return groups->links->pdata[index];
}

static bool is_good(const struct lull_sync_link *link)
{
    return link->has_estimate && link->pair.quality != LULL_SYNC_FAIL;
}

/* --- who belongs together --- */

static uint32_t root_of(struct node *nodes, uint32_t host)
{
    while (nodes[host].group != host) {
        host = nodes[host].group = nodes[nodes[host].group].group;
    }
    return host;
}

static bool unite(struct node *nodes, uint32_t a, uint32_t b)
{
    uint32_t low = root_of(nodes, a), high = root_of(nodes, b);

    if (low == high) {
        return false;
    }
    nodes[MAX(low, high)].group = MIN(low, high);
    return true;
}

static void find_groups(struct groups *groups)
{
    for (guint i = 0; i < groups->links->len; i++) {
        const struct lull_sync_link *link = link_at(groups, i);

        groups->nodes[link->pair.a].matched += link->pair.matched;
        groups->nodes[link->pair.b].matched += link->pair.matched;
        if (is_good(link)) {
            unite(groups->nodes, link->pair.a, link->pair.b);
        }
    }
    for (guint i = 0; i < groups->links->len; i++) {
        const struct lull_sync_link *link = link_at(groups, i);

        if (link->has_estimate && !is_good(link)) {
            groups->bridges[i] = unite(groups->nodes, link->pair.a, link->pair.b);
        }
    }
    for (uint32_t i = 0; i < groups->n_hosts; i++) {
        groups->nodes[i].group = root_of(groups->nodes, i);
    }
}

/* --- the tree --- */

/* The largest possible error of a pair while a was traced and the two talked. */
static long double link_cost(const struct groups *groups, const struct lull_sync_link *link)
{
    const struct lull_sync_range *range = &groups->ranges[link->pair.a];
    const struct lull_corridor *corridor = link->corridor;

    if (link->pair.quality == LULL_SYNC_FAIL) {
        return 1e20L;
    }
    return fmaxl(lull_corridor_error(corridor, MIN(range->start_ns, corridor->start_x)),
                 lull_corridor_error(corridor, MAX(range->end_ns, corridor->end_x)));
}

static void visit(struct groups *groups, uint32_t host)
{
    struct node *nodes = groups->nodes;

    nodes[host].is_visited = true;
    for (size_t k = groups->first[host]; k < groups->first[host + 1]; k++) {
        const uint32_t i = groups->links_of[k];
        struct lull_sync_link *link = link_at(groups, i);
        uint32_t other = link->pair.a == host ? link->pair.b : link->pair.a;

        if (nodes[other].is_visited || !(is_good(link) || groups->bridges[i])) {
            continue;
        }
        long double cost = nodes[host].cost + link_cost(groups, link);

        if (cost < nodes[other].cost) {
            nodes[other].cost = cost;
            nodes[other].parent = host;
            nodes[other].up = link;
        }
    }
    if (nodes[host].parent == LULL_NONE) {
        return;
    }
    struct node *parent = &nodes[nodes[host].parent];
    const struct lull_line *estimate = &nodes[host].up->corridor->estimate;
    struct lull_line up = nodes[host].up->pair.a == host ? *estimate : lull_line_inverse(estimate);

    nodes[host].tree = lull_line_then(&up, &parent->tree);
    nodes[host].is_bounded = parent->is_bounded && nodes[host].up->pair.quality != LULL_SYNC_FAIL;
    nodes[host].is_joined =
        parent->is_joined && lull_line_transform(&nodes[host].tree, &nodes[host].tree_clock);
}

/* Dijkstra's algorithm from the reference, by accumulated error. */
static void grow_tree(struct groups *groups, uint32_t reference)
{
    struct node *nodes = groups->nodes;

    nodes[reference].cost = 0;
    nodes[reference].is_joined = nodes[reference].is_bounded = true;
    for (;;) {
        uint32_t next = LULL_NONE;

        for (uint32_t i = 0; i < groups->n_hosts; i++) {
            if (nodes[i].group == nodes[reference].group && !nodes[i].is_visited &&
                isfinite(nodes[i].cost) &&
                (next == LULL_NONE || nodes[i].cost < nodes[next].cost)) {
                next = i;
            }
        }
        if (next == LULL_NONE) {
            return;
        }
        visit(groups, next);
    }
}

/* The largest possible error of the host's composed clock at its own time t: the errors of all
 * pairs on the way up. */
static long double tree_error(const struct groups *groups, uint32_t host, int64_t t)
{
    const struct node *nodes = groups->nodes;
    int64_t joined = lull_clock_transform_apply(&nodes[host].tree_clock, t);
    long double error = 0;

    for (uint32_t i = host; nodes[i].parent != LULL_NONE; i = nodes[i].parent) {
        uint32_t a = nodes[i].up->pair.a;
        int64_t x = a == host ? t : lull_clock_transform_invert(&nodes[a].tree_clock, joined);

        error += lull_corridor_error(nodes[i].up->corridor, x);
    }
    return error;
}

/* --- causality --- */

/* For all messages of the link, how much later they arrive than they leave on the group's clock.
 * Times are straight lines of each other before rounding, so this is an affine function of the
 * message's point (x, y) that falls towards the outside of its hull: its minimum over all messages
 * is at a corner of the hull, and the other messages need no check. Rounding never turns it round:
 * joined times are rounded in the same, monotone way. */
struct message {
    uint32_t sender, receiver;
    int64_t send_ns, receive_ns;
};

static struct message message_at(const struct lull_sync_link *link, guint index)
{
    const struct lull_corridor *corridor = link->corridor;
    bool is_above = index < corridor->above->len;
    struct lull_hull_point point =
        is_above
            ? g_array_index(corridor->above, struct lull_hull_point, index)
            : g_array_index(corridor->below, struct lull_hull_point, index - corridor->above->len);
    int64_t x = corridor->origin_x + point.x, y = corridor->origin_y + point.y;

    if (is_above) {
        return (struct message){link->pair.a, link->pair.b, x, y};
    }
    return (struct message){link->pair.b, link->pair.a, y, x};
}

static guint message_count(const struct lull_sync_link *link)
{
    return link->corridor->above->len + link->corridor->below->len;
}

/* Before rounding, in ns. */
static long double slack_of(const struct groups *groups, const struct message *message)
{
    const struct node *nodes = groups->nodes;
    __int128 slack = lull_line_exact(&nodes[message->receiver].clock, message->receive_ns) -
                     lull_line_exact(&nodes[message->sender].clock, message->send_ns);

    return (long double)slack / LULL_LINE_WHOLE;
}

/* A hair below zero may be a rounding error of a pair without any play; then the rounded times
 * decide. */
static bool is_violated(const struct groups *groups, const struct message *message)
{
    const struct node *nodes = groups->nodes;

    return slack_of(groups, message) < -1e-3L ||
           lull_clock_transform_apply(&nodes[message->receiver].clock, message->receive_ns) <
               lull_clock_transform_apply(&nodes[message->sender].clock, message->send_ns);
}

static bool counts(const struct groups *groups, const struct lull_sync_link *link, uint32_t group)
{
    const struct node *a = &groups->nodes[link->pair.a], *b = &groups->nodes[link->pair.b];

    return a->group == group && b->group == group && a->is_joined && b->is_joined &&
           link->pair.quality != LULL_SYNC_FAIL;
}

static bool is_in_tree(const struct groups *groups, const struct lull_sync_link *link)
{
    return groups->nodes[link->pair.a].up == link || groups->nodes[link->pair.b].up == link;
}

/* The smallest slack in the group. *victim: the link outside the tree that is violated most, or
 * NULL. */
static long double check(const struct groups *groups, uint32_t group,
                         struct lull_sync_link **victim)
{
    long double smallest = INFINITY, worst = INFINITY;

    *victim = NULL;
    for (guint i = 0; i < groups->links->len; i++) {
        struct lull_sync_link *link = link_at(groups, i);
        bool is_candidate = !is_in_tree(groups, link);

        if (!counts(groups, link, group)) {
            continue;
        }
        for (guint k = 0; k < message_count(link); k++) {
            struct message message = message_at(link, k);
            long double slack = slack_of(groups, &message);

            smallest = fminl(smallest, slack);
            if (is_candidate && slack < worst && is_violated(groups, &message)) {
                *victim = link;
                worst = slack;
            }
        }
    }
    return smallest;
}

/* The unknowns of a host are the changes of its joined time at the start and the end of its
 * range. */
static void add_terms(const struct groups *groups, struct lull_joint_row *row, uint32_t host,
                      int64_t t, long double sign, const uint32_t *unknowns)
{
    const struct lull_sync_range *range = &groups->ranges[host];
    long double length = (long double)((__int128)range->end_ns - range->start_ns);
    long double share = length > 0 ? (long double)((__int128)t - range->start_ns) / length : 0;

    if (unknowns[host] == LULL_NONE) {
        return;
    }
    row->unknown[row->n_terms] = unknowns[host];
    row->weight[row->n_terms++] = sign * (1 - share);
    row->unknown[row->n_terms] = unknowns[host] + 1;
    row->weight[row->n_terms++] = sign * share;
}

static GArray *rows_of(const struct groups *groups, uint32_t group, const uint32_t *unknowns)
{
    GArray *rows = g_array_new(FALSE, FALSE, sizeof(struct lull_joint_row));

    for (guint i = 0; i < groups->links->len; i++) {
        const struct lull_sync_link *link = link_at(groups, i);

        if (!counts(groups, link, group)) {
            continue;
        }
        for (guint k = 0; k < message_count(link); k++) {
            struct message message = message_at(link, k);
            struct lull_joint_row row = {.slack = slack_of(groups, &message)};

            add_terms(groups, &row, message.receiver, message.receive_ns, 1, unknowns);
            add_terms(groups, &row, message.sender, message.send_ns, -1, unknowns);
            g_array_append_val(rows, row);
        }
    }
    return rows;
}

static void change(struct groups *groups, uint32_t host, long double at_start, long double at_end)
{
    const struct lull_sync_range *range = &groups->ranges[host];
    struct node *node = &groups->nodes[host];
    long double length = (long double)((__int128)range->end_ns - range->start_ns);
    long double rate = length > 0 ? (at_end - at_start) / length : 0;
    struct lull_line line = node->tree;
    long double offset = at_start + rate * (long double)((__int128)line.origin - range->start_ns);
    struct lull_clock_transform clock;

    if (fabsl(rate) > 0.25L || fabsl(offset) > 1e18L) {
        return;
    }
    line.offset += (__int128)(offset * LULL_LINE_NS);
    line.rate += (int64_t)(rate * LULL_LINE_WHOLE);
    if (lull_line_transform(&line, &clock)) {
        node->line = line;
        node->clock = clock;
    }
}

static void reset(struct groups *groups, uint32_t group)
{
    for (uint32_t i = 0; i < groups->n_hosts; i++) {
        if (groups->nodes[i].group != group) {
            continue;
        }
        groups->nodes[i].line = groups->nodes[i].tree;
        groups->nodes[i].clock = groups->nodes[i].tree_clock;
    }
}

/* Adjusts all hosts of the group at once, each within its bound (where the truth is), so that the
 * smallest slack is as large as it can be. */
static void adjust(struct groups *groups, uint32_t group, uint32_t reference)
{
    uint32_t n = 0, *unknowns = g_new(uint32_t, groups->n_hosts);
    long double *box = g_new0(long double, 2 * (size_t)groups->n_hosts);
    long double *values = g_new0(long double, 2 * (size_t)groups->n_hosts);

    for (uint32_t i = 0; i < groups->n_hosts; i++) {
        const struct node *node = &groups->nodes[i];

        unknowns[i] = LULL_NONE;
        if (node->group != group || i == reference || !node->is_joined) {
            continue;
        }
        unknowns[i] = n;
        box[n++] = node->error[0] + 2;
        box[n++] = node->error[1] + 2;
    }
    GArray *rows = rows_of(groups, group, unknowns);

    if (rows->len) {
        lull_joint_solve((const void *)rows->data, rows->len, box, n, values);
    }
    for (uint32_t i = 0; i < groups->n_hosts; i++) {
        if (unknowns[i] != LULL_NONE) {
            change(groups, i, values[unknowns[i]], values[unknowns[i] + 1]);
        }
    }
    g_array_unref(rows);
    g_free(unknowns);
    g_free(box);
    g_free(values);
}

/* Finds clocks on which no message of the group arrives before it left. If there are none, the pair
 * outside the tree that is farthest off is taken to be wrong, and so on: the tree alone can always
 * be satisfied. */
static void settle(struct groups *groups, uint32_t group, uint32_t reference)
{
    for (;;) {
        struct lull_sync_link *victim;

        reset(groups, group);
        long double before = check(groups, group, &victim);

        /* From 1 ns on, the order of rounded times is strict. */
        if (before >= 1) {
            return;
        }
        adjust(groups, group, reference);
        if (check(groups, group, &victim) < before) {
            reset(groups, group);
            check(groups, group, &victim);
        }
        if (!victim) {
            return;
        }
        victim->pair.quality = LULL_SYNC_FAIL;
        victim->pair.bound_ns = -1;
    }
}

/* --- the result --- */

static int64_t bound_of(const struct groups *groups, uint32_t host)
{
    const struct node *node = &groups->nodes[host];
    const struct lull_sync_range *range = &groups->ranges[host];
    const int64_t ends[2] = {range->start_ns, range->end_ns};
    long double bound = 0;

    if (!node->is_bounded) {
        return -1;
    }
    if (node->parent == LULL_NONE) {
        return 0;
    }
    /* Errors are convex functions of time, so the largest is at an end of the range. */
    for (unsigned i = 0; i < 2; i++) {
        long double moved = (long double)(lull_line_exact(&node->clock, ends[i]) -
                                          lull_line_exact(&node->tree_clock, ends[i])) /
                            LULL_LINE_WHOLE;

        bound = fmaxl(bound, node->error[i] + fabsl(moved));
    }
    bound = ceill(bound) + 1; /* and rounding */
    return bound < 9e18L ? (int64_t)bound : INT64_MAX;
}

static uint32_t reference_of(const struct groups *groups, uint32_t group)
{
    uint32_t reference = group;

    for (uint32_t i = group; i < groups->n_hosts; i++) {
        if (groups->nodes[i].group == group &&
            groups->nodes[i].matched > groups->nodes[reference].matched) {
            reference = i;
        }
    }
    return reference;
}

/* The group of the session's clock, or LULL_NONE if no two hosts are connected. */
static uint32_t largest_group(const struct groups *groups)
{
    uint32_t best = LULL_NONE, best_size = 1, *sizes = g_new0(uint32_t, groups->n_hosts);
    uint64_t best_matched = 0, *matched = g_new0(uint64_t, groups->n_hosts);

    for (uint32_t i = 0; i < groups->n_hosts; i++) {
        sizes[groups->nodes[i].group]++;
        matched[groups->nodes[i].group] += groups->nodes[i].matched;
    }
    for (uint32_t i = 0; i < groups->n_hosts; i++) {
        if (sizes[i] > best_size ||
            (best != LULL_NONE && sizes[i] == best_size && matched[i] > best_matched)) {
            best = i;
            best_size = sizes[i];
            best_matched = matched[i];
        }
    }
    g_free(sizes);
    g_free(matched);
    return best;
}

static void report(const struct groups *groups, uint32_t host, bool is_main,
                   struct lull_host_clock *result)
{
    const struct node *node = &groups->nodes[host];
    int64_t start = groups->ranges[host].start_ns;

    if (!node->is_joined) {
        return;
    }
    result->is_joined = is_main;
    result->is_reference = is_main && node->parent == LULL_NONE;
    result->offset_ns =
        (int64_t)CLAMP((__int128)lull_clock_transform_apply(&node->clock, start) - start,
                       (__int128)INT64_MIN, (__int128)INT64_MAX);
    result->drift_ppm = (double)((long double)node->clock.rate_num / (1LL << 62) * 1e6L);
    result->bound_ns = is_main ? bound_of(groups, host) : -1;
}

static void join_group(struct groups *groups, uint32_t group)
{
    uint32_t reference = reference_of(groups, group);

    grow_tree(groups, reference);
    for (uint32_t i = 0; i < groups->n_hosts; i++) {
        struct node *node = &groups->nodes[i];

        if (node->group != group || !node->is_joined) {
            continue;
        }
        node->error[0] =
            node->is_bounded ? tree_error(groups, i, groups->ranges[i].start_ns) : 1e12L;
        node->error[1] = node->is_bounded ? tree_error(groups, i, groups->ranges[i].end_ns) : 1e12L;
    }
    settle(groups, group, reference);
}

/* Which links each host has, in their order. */
static void list_links(struct groups *groups)
{
    g_autofree size_t *next = g_new(size_t, groups->n_hosts + 1);

    groups->first = g_new0(size_t, (size_t)groups->n_hosts + 1);
    groups->links_of = g_new(uint32_t, 2 * (size_t)groups->links->len + 1);
    for (guint i = 0; i < groups->links->len; i++) {
        groups->first[link_at(groups, i)->pair.a + 1]++;
        groups->first[link_at(groups, i)->pair.b + 1]++;
    }
    for (uint32_t i = 0; i < groups->n_hosts; i++) {
        groups->first[i + 1] += groups->first[i];
        next[i] = groups->first[i];
    }
    for (guint i = 0; i < groups->links->len; i++) {
        groups->links_of[next[link_at(groups, i)->pair.a]++] = i;
        groups->links_of[next[link_at(groups, i)->pair.b]++] = i;
    }
}

void lull_groups_join(const GPtrArray *links, uint32_t n_hosts,
                      const struct lull_sync_range *ranges, struct lull_host_clock *hosts,
                      struct lull_clock_transform *transforms)
{
    struct groups groups = {
        .links = links,
        .n_hosts = n_hosts,
        .ranges = ranges,
        .nodes = g_new0(struct node, n_hosts + 1),
        .bridges = g_new0(uint32_t, links->len + 1),
    };

    for (uint32_t i = 0; i < n_hosts; i++) {
        groups.nodes[i].group = i;
        groups.nodes[i].parent = LULL_NONE;
        groups.nodes[i].cost = INFINITY;
    }
    list_links(&groups);
    find_groups(&groups);
    uint32_t main_group = n_hosts ? largest_group(&groups) : LULL_NONE;
    uint32_t *sizes = g_new0(uint32_t, n_hosts + 1);

    for (uint32_t i = 0; i < n_hosts; i++) {
        sizes[groups.nodes[i].group]++;
    }
    for (uint32_t i = 0; i < n_hosts; i++) {
        if (sizes[i] > 1) {
            join_group(&groups, i);
        }
    }
    for (uint32_t i = 0; i < n_hosts; i++) {
        if (!groups.nodes[i].is_joined) {
            continue;
        }
        transforms[i] = groups.nodes[i].clock;
        report(&groups, i, groups.nodes[i].group == main_group, &hosts[i]);
    }
    g_free(sizes);
    g_free(groups.nodes);
    g_free(groups.bridges);
    g_free(groups.first);
    g_free(groups.links_of);
}
