/* SPDX-License-Identifier: MIT */
/* Groups of hosts; in each a tree of the tightest pairs, whose lines are composed; and a check of
 * all pairs against the result, with one common adjustment of all hosts where a pair that is not in
 * the tree disagrees. */
#include "clock/groups.h"

#include <math.h>

#include "base/lists.h"
#include "clock/joint.h"

struct node {
    uint32_t group;   /* lowest host of it */
    uint32_t unknown; /* number of the first of its two in a joint adjustment, or LULL_NONE */
    uint32_t parent;  /* towards the group's reference, or LULL_NONE */
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
    struct lull_lists links_of; /* each host; twice their numbers, as each has two hosts */
    struct lull_lists hosts_in; /* each group */
    struct lull_lists links_in; /* each group: between two hosts in it */
    uint32_t *bridges;          /* per link: 1 if a FAIL pair is all that connects two groups */
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
    g_autofree uint32_t *keys = g_new(uint32_t, MAX(groups->n_hosts, groups->links->len) + 1);

    for (uint32_t i = 0; i < groups->n_hosts; i++) {
        keys[i] = groups->nodes[i].group = root_of(groups->nodes, i);
    }
    groups->hosts_in = lull_lists_new(keys, groups->n_hosts, groups->n_hosts);
    for (guint i = 0; i < groups->links->len; i++) {
        const struct lull_sync_pair *pair = &link_at(groups, i)->pair;
        const uint32_t group = groups->nodes[pair->a].group;

        keys[i] = group == groups->nodes[pair->b].group ? group : LULL_NONE;
    }
    groups->links_in = lull_lists_new(keys, groups->links->len, groups->n_hosts);
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

/* Nodes that are not visited and have a cost: the nearest first, of equal ones the lower host. */
static int compare_costs(const void *left, const void *right, void *unused)
{
    const struct node *a = left, *b = right;

    return a->cost != b->cost ? (a->cost < b->cost ? -1 : 1) : (a > b) - (a < b);
}

static void visit(struct groups *groups, uint32_t host, GTree *near)
{
    struct node *nodes = groups->nodes;
    const struct lull_list links = lull_lists_of(&groups->links_of, host);

    nodes[host].is_visited = true;
    for (size_t k = 0; k < links.count; k++) {
        const uint32_t i = links.items[k] / 2;
        struct lull_sync_link *link = link_at(groups, i);
        uint32_t other = link->pair.a == host ? link->pair.b : link->pair.a;

        if (nodes[other].is_visited || !(is_good(link) || groups->bridges[i])) {
            continue;
        }
        long double cost = nodes[host].cost + link_cost(groups, link);

        if (cost < nodes[other].cost) {
            g_tree_remove(near, &nodes[other]);
            nodes[other].cost = cost;
            g_tree_insert(near, &nodes[other], &nodes[other]);
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

    GTree *near = g_tree_new_full(compare_costs, NULL, NULL, NULL);
    GTreeNode *first;

    nodes[reference].cost = 0;
    nodes[reference].is_joined = nodes[reference].is_bounded = true;
    g_tree_insert(near, &nodes[reference], &nodes[reference]);
    while ((first = g_tree_node_first(near))) {
        struct node *next = g_tree_node_key(first);

        g_tree_remove(near, next);
        visit(groups, (uint32_t)(next - nodes), near);
    }
    g_tree_unref(near);
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

static bool counts(const struct groups *groups, const struct lull_sync_link *link)
{
    return groups->nodes[link->pair.a].is_joined && groups->nodes[link->pair.b].is_joined &&
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
    const struct lull_list links = lull_lists_of(&groups->links_in, group);
    long double smallest = INFINITY, worst = INFINITY;

    *victim = NULL;
    for (size_t i = 0; i < links.count; i++) {
        struct lull_sync_link *link = link_at(groups, links.items[i]);
        bool is_candidate = !is_in_tree(groups, link);

        if (!counts(groups, link)) {
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
                      int64_t t, long double sign)
{
    const uint32_t unknown = groups->nodes[host].unknown;
    const struct lull_sync_range *range = &groups->ranges[host];
    long double length = (long double)((__int128)range->end_ns - range->start_ns);
    long double share = length > 0 ? (long double)((__int128)t - range->start_ns) / length : 0;

    if (unknown == LULL_NONE) {
        return;
    }
    row->unknown[row->n_terms] = unknown;
    row->weight[row->n_terms++] = sign * (1 - share);
    row->unknown[row->n_terms] = unknown + 1;
    row->weight[row->n_terms++] = sign * share;
}

static GArray *rows_of(const struct groups *groups, uint32_t group)
{
    const struct lull_list links = lull_lists_of(&groups->links_in, group);
    GArray *rows = g_array_new(FALSE, FALSE, sizeof(struct lull_joint_row));

    for (size_t i = 0; i < links.count; i++) {
        const struct lull_sync_link *link = link_at(groups, links.items[i]);

        if (!counts(groups, link)) {
            continue;
        }
        for (guint k = 0; k < message_count(link); k++) {
            struct message message = message_at(link, k);
            struct lull_joint_row row = {.slack = slack_of(groups, &message)};

            add_terms(groups, &row, message.receiver, message.receive_ns, 1);
            add_terms(groups, &row, message.sender, message.send_ns, -1);
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
    const struct lull_list hosts = lull_lists_of(&groups->hosts_in, group);

    for (size_t i = 0; i < hosts.count; i++) {
        struct node *node = &groups->nodes[hosts.items[i]];

        node->line = node->tree;
        node->clock = node->tree_clock;
    }
}

/* Adjusts all hosts of the group at once, each within its bound (where the truth is), so that the
 * smallest slack is as large as it can be. */
static void adjust(struct groups *groups, uint32_t group, uint32_t reference)
{
    const struct lull_list hosts = lull_lists_of(&groups->hosts_in, group);
    uint32_t n = 0;
    long double *box = g_new0(long double, 2 * hosts.count);
    long double *values = g_new0(long double, 2 * hosts.count);

    for (size_t i = 0; i < hosts.count; i++) {
        struct node *node = &groups->nodes[hosts.items[i]];

        node->unknown = LULL_NONE;
        if (hosts.items[i] == reference || !node->is_joined) {
            continue;
        }
        node->unknown = n;
        box[n++] = node->error[0] + 2;
        box[n++] = node->error[1] + 2;
    }
    GArray *rows = rows_of(groups, group);

    if (rows->len) {
        lull_joint_solve((const void *)rows->data, rows->len, box, n, values);
    }
    for (size_t i = 0; i < hosts.count; i++) {
        const uint32_t unknown = groups->nodes[hosts.items[i]].unknown;

        if (unknown != LULL_NONE) {
            change(groups, hosts.items[i], values[unknown], values[unknown + 1]);
        }
    }
    g_array_unref(rows);
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
    const struct lull_list hosts = lull_lists_of(&groups->hosts_in, group);
    uint32_t reference = group;

    for (size_t i = 0; i < hosts.count; i++) {
        if (groups->nodes[hosts.items[i]].matched > groups->nodes[reference].matched) {
            reference = hosts.items[i];
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
    const struct lull_list hosts = lull_lists_of(&groups->hosts_in, group);
    uint32_t reference = reference_of(groups, group);

    grow_tree(groups, reference);
    for (size_t k = 0; k < hosts.count; k++) {
        const uint32_t i = hosts.items[k];
        struct node *node = &groups->nodes[i];

        if (!node->is_joined) {
            continue;
        }
        node->error[0] =
            node->is_bounded ? tree_error(groups, i, groups->ranges[i].start_ns) : 1e12L;
        node->error[1] = node->is_bounded ? tree_error(groups, i, groups->ranges[i].end_ns) : 1e12L;
    }
    settle(groups, group, reference);
}

static void list_links(struct groups *groups)
{
    g_autofree uint32_t *keys = g_new(uint32_t, 2 * (size_t)groups->links->len + 1);

    for (guint i = 0; i < groups->links->len; i++) {
        keys[2 * i] = link_at(groups, i)->pair.a;
        keys[2 * i + 1] = link_at(groups, i)->pair.b;
    }
    groups->links_of = lull_lists_new(keys, 2 * (size_t)groups->links->len, groups->n_hosts);
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

    for (uint32_t i = 0; i < n_hosts; i++) {
        if (lull_lists_of(&groups.hosts_in, i).count > 1) {
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
    g_free(groups.nodes);
    g_free(groups.bridges);
    lull_lists_clear(&groups.links_of);
    lull_lists_clear(&groups.hosts_in);
    lull_lists_clear(&groups.links_in);
}
