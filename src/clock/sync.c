/* SPDX-License-Identifier: MIT */
/* Collects what hosts exchanged, pair by pair. The clocks are put together in groups.c. */
#include "clock/sync.h"

#include <math.h>

#include "base/map.h"
#include "clock/groups.h"
#include "clock/match.h"

/* How fast two clocks may run apart: first what crystals and NTP's slewing do, then what badly
 * emulated ones do. */
static const int32_t drift_limits_ppm[] = {1000, 50000};

struct lull_sync {
    uint32_t n_hosts, next_id;
    struct lull_matcher *matcher;
    GHashTable *by_hosts; /* of struct lull_sync_link, by (a << 32 | b) */
    struct lull_sync_link *last;
    struct lull_sync_range *ranges; /* by host */
    GPtrArray *links;               /* in order of (a, b) once finished */
    GArray *pairs;                  /* struct lull_sync_pair */
    GArray *guest_cpus;             /* struct lull_guest_cpu */
    GArray *unmatched;              /* struct lull_sync_unmatched */
    struct lull_host_clock *hosts;
    struct lull_clock_transform *transforms;
    uint32_t *groups; /* by host: a host that represents all that are joined with it */
};

const char *lull_sync_quality_name(enum lull_sync_quality quality)
{
    static const char *const names[] = {"absent", "incomplete", "approximate", "accurate", "fail"};

    return (unsigned)quality < G_N_ELEMENTS(names) ? names[quality] : "unknown";
}

static void link_free(gpointer data)
{
    struct lull_sync_link *link = data;

    lull_corridor_clear(&link->all);
    lull_corridor_clear(&link->tcp);
    lull_hull_free(link->hull);
    g_free(link);
}

struct lull_sync *lull_sync_new(uint32_t n_hosts)
{
    struct lull_sync *sync = g_new0(struct lull_sync, 1);

    sync->n_hosts = n_hosts;
    sync->matcher = lull_matcher_new(false);
    sync->by_hosts = g_hash_table_new_full(lull_hash_word, g_int64_equal, NULL, link_free);
    sync->ranges = g_new(struct lull_sync_range, n_hosts + 1);
    for (uint32_t i = 0; i < n_hosts; i++) {
        sync->ranges[i] = (struct lull_sync_range){INT64_MAX, INT64_MIN};
    }
    sync->links = g_ptr_array_new();
    sync->pairs = g_array_new(FALSE, FALSE, sizeof(struct lull_sync_pair));
    sync->guest_cpus = g_array_new(FALSE, FALSE, sizeof(struct lull_guest_cpu));
    sync->unmatched = g_array_new(FALSE, FALSE, sizeof(struct lull_sync_unmatched));
    sync->hosts = g_new0(struct lull_host_clock, n_hosts + 1);
    sync->transforms = g_new0(struct lull_clock_transform, n_hosts + 1);
    sync->groups = g_new0(uint32_t, n_hosts + 1);
    for (uint32_t i = 0; i < n_hosts; i++) {
        sync->groups[i] = i;
        sync->hosts[i].host = i;
        sync->hosts[i].bound_ns = -1;
    }
    return sync;
}

void lull_sync_free(struct lull_sync *sync)
{
    if (!sync) {
        return;
    }
    lull_matcher_free(sync->matcher);
    g_ptr_array_unref(sync->links);
    g_hash_table_unref(sync->by_hosts);
    g_array_unref(sync->pairs);
    g_array_unref(sync->guest_cpus);
    g_array_unref(sync->unmatched);
    g_free(sync->ranges);
    g_free(sync->hosts);
    g_free(sync->transforms);
    g_free(sync->groups);
    g_free(sync);
}

static struct lull_sync_link *link_of(struct lull_sync *sync, uint32_t a, uint32_t b)
{
    struct lull_sync_link *link = sync->last;
    guint64 key = (guint64)a << 32 | b;

    if (link && link->key == key) {
        return link;
    }
    link = g_hash_table_lookup(sync->by_hosts, &key);
    if (!link) {
        link = g_new0(struct lull_sync_link, 1);
        link->key = key;
        link->pair = (struct lull_sync_pair){.a = a, .b = b, .bound_ns = -1, .guest = LULL_NONE};
        lull_corridor_init(&link->all);
        lull_corridor_init(&link->tcp);
        link->hull = lull_hull_new();
        g_hash_table_insert(sync->by_hosts, &link->key, link);
    }
    sync->last = link;
    return link;
}

static void add_match(struct lull_sync *sync, const struct lull_match *match, bool is_tcp)
{
    uint32_t from = match->send_host, to = match->receive_host;
    bool is_above = from < to; /* from a to b: b had reached receive_ns when a was past send_ns */
    struct lull_hull_point point;

    if (from == to) {
        return;
    }
    struct lull_sync_link *link = link_of(sync, MIN(from, to), MAX(from, to));
    int64_t x = is_above ? match->send_ns : match->receive_ns;
    int64_t y = is_above ? match->receive_ns : match->send_ns;

    if (!lull_corridor_point(&link->all, x, y, &point)) {
        return;
    }
    lull_corridor_add(&link->all, is_above, point);
    lull_hull_add(link->hull, !is_above, point);
    if (is_tcp && lull_corridor_point(&link->tcp, x, y, &point)) {
        lull_corridor_add(&link->tcp, is_above, point);
    }
    link->pair.matched++;
    if (is_above) {
        link->pair.matched_ab++;
    } else {
        link->pair.matched_ba++;
    }
}

void lull_sync_add(struct lull_sync *sync, const struct lull_net_packet *packet)
{
    struct lull_match match;

    if (packet->host >= sync->n_hosts || sync->next_id == LULL_NONE) {
        return;
    }
    struct lull_sync_range *range = &sync->ranges[packet->host];

    range->start_ns = MIN(range->start_ns, packet->time_ns);
    range->end_ns = MAX(range->end_ns, packet->time_ns);
    if (packet->is_loopback && packet->skb) { /* seen on no other host */
        return;
    }
    if (!lull_matcher_feed(sync->matcher, packet, sync->next_id++, &match)) {
        return;
    }
    bool is_tcp = packet->protocol == 6;

    do {
        add_match(sync, &match, is_tcp);
    } while (lull_matcher_more(sync->matcher, &match));
}

void lull_sync_add_message(struct lull_sync *sync, uint32_t from, int64_t sent_ns, uint32_t to,
                           int64_t received_ns)
{
    const struct lull_match message = {
        .send_host = from, .receive_host = to, .send_ns = sent_ns, .receive_ns = received_ns};
    add_match(sync, &message, false);
}

void lull_sync_add_contained(struct lull_sync *sync, uint32_t host, uint32_t guest, uint64_t inside,
                             uint64_t outside)
{
    struct lull_sync_pair *pair = &link_of(sync, MIN(host, guest), MAX(host, guest))->pair;
    pair->guest = guest;
    pair->contained = inside;
    pair->not_contained = outside;
}

void lull_sync_add_guest_cpu(struct lull_sync *sync, const struct lull_guest_cpu *cpu)
{
    g_array_append_val(sync->guest_cpus, *cpu);
}

const struct lull_guest_cpu *lull_sync_guest_cpus(const struct lull_sync *sync, uint32_t *count)
{
    *count = sync->guest_cpus->len;
    return (const void *)sync->guest_cpus->data;
}

void lull_sync_add_unmatched(struct lull_sync *sync, const struct lull_sync_unmatched *unmatched)
{
    g_array_append_val(sync->unmatched, *unmatched);
}

const struct lull_sync_unmatched *lull_sync_unmatched(const struct lull_sync *sync, uint32_t *count)
{
    *count = sync->unmatched->len;
    return (const void *)sync->unmatched->data;
}

static bool solve(struct lull_corridor *corridor)
{
    for (guint i = 0; i < G_N_ELEMENTS(drift_limits_ppm); i++) {
        if (lull_corridor_solve(corridor, drift_limits_ppm[i])) {
            return true;
        }
    }
    return false;
}

/* Whether some line can be turned until a point of each hull stops it, on both sides. */
static bool bounds_drift(const struct lull_corridor *corridor)
{
    const GArray *below = corridor->below, *above = corridor->above;
    const struct lull_hull_point *low = (const void *)below->data;
    const struct lull_hull_point *high = (const void *)above->data;

    return low[0].x < high[above->len - 1].x && high[0].x < low[below->len - 1].x;
}

static int64_t half_line(const struct lull_hull_line *line, int64_t x, int64_t *rate)
{
    /* An estimate from little time may be steep; a clock is not. */
    __int128 drift = (((__int128)line->dy - line->dx) * LULL_LINE_WHOLE) / line->dx;
    __int128 limit = ((__int128)drift_limits_ppm[0] * LULL_LINE_WHOLE) / 1000000;

    *rate = (int64_t)CLAMP(drift, -limit, limit);
    return line->through.y - line->through.x +
           (int64_t)(((__int128)*rate * (x - line->through.x)) >> LULL_LINE_RATE);
}

/* The last estimate of the incremental method before the packets contradicted each other. */
static void use_last_estimate(struct lull_sync_link *link)
{
    const struct lull_hull_estimate *last = lull_hull_estimate(link->hull);
    struct lull_corridor *corridor = &link->all;
    int64_t steep, flat, x = MAX(last->steepest.through.x, last->flattest.through.x);

    if (!last->is_set) {
        return;
    }
    __int128 offset =
        (__int128)half_line(&last->steepest, x, &steep) + half_line(&last->flattest, x, &flat);

    corridor->estimate = (struct lull_line){
        .origin = corridor->origin_x + x,
        .offset = (((__int128)corridor->origin_y - corridor->origin_x) * LULL_LINE_NS) +
                  (offset * (LULL_LINE_NS / 2)),
        .rate = steep / 2 + flat / 2,
    };
    link->has_estimate = true;
}

static void finish_pair(struct lull_sync_link *link)
{
    struct lull_sync_pair *pair = &link->pair;
    struct lull_corridor *corridor = link->corridor = &link->all;

    if (!pair->matched_ab || !pair->matched_ba) {
        pair->quality = pair->matched ? LULL_SYNC_INCOMPLETE : LULL_SYNC_ABSENT;
    } else {
        bool fits = solve(corridor);

        /* Only TCP packets are known beyond doubt from their numbers. */
        if (!fits && link->tcp.below->len && link->tcp.above->len && solve(&link->tcp)) {
            corridor = link->corridor = &link->tcp;
            fits = true;
        }
        link->has_estimate = fits;
        pair->quality = !fits                    ? LULL_SYNC_FAIL
                        : bounds_drift(corridor) ? LULL_SYNC_ACCURATE
                                                 : LULL_SYNC_APPROXIMATE;
        if (!fits) {
            use_last_estimate(link);
        }
    }
    pair->hull_points = corridor->below->len + corridor->above->len;
    if (!link->has_estimate) {
        return;
    }
    int64_t middle =
        corridor->start_x + (int64_t)(((__int128)corridor->end_x - corridor->start_x) / 2);

    pair->offset_ns = lull_line_round(lull_line_offset_at(&corridor->estimate, middle));
    pair->drift_ppm = (double)((long double)corridor->estimate.rate / (1LL << 62) * 1e6L);
    if (pair->quality != LULL_SYNC_FAIL) {
        pair->bound_ns = (int64_t)ceill(fmaxl(lull_corridor_error(corridor, corridor->start_x),
                                              lull_corridor_error(corridor, corridor->end_x)));
    }
}

static int compare_links(gconstpointer a, gconstpointer b)
{
    uint64_t left = (*(struct lull_sync_link *const *)a)->key;
    uint64_t right = (*(struct lull_sync_link *const *)b)->key;

    return left < right ? -1 : left > right;
}

/* Hosts are joined by pairs with bounds, and those of the session's clock also by what had to do.
 */
static bool joins(const struct lull_sync *sync, const struct lull_sync_pair *pair)
{
    return pair->quality == LULL_SYNC_APPROXIMATE || pair->quality == LULL_SYNC_ACCURATE ||
           (sync->hosts[pair->a].is_joined && sync->hosts[pair->b].is_joined);
}

/* While groups are made, each host names one that it is grouped with; who names itself stands for all. */
static uint32_t group_of(uint32_t *groups, uint32_t host)
{
    while (groups[host] != host) {
        host = groups[host] = groups[groups[host]];
    }
    return host;
}

static void group_hosts(struct lull_sync *sync)
{
    for (guint i = 0; i < sync->pairs->len; i++) {
        const struct lull_sync_pair *pair = &g_array_index(sync->pairs, struct lull_sync_pair, i);

        if (joins(sync, pair)) {
            sync->groups[group_of(sync->groups, pair->b)] = group_of(sync->groups, pair->a);
        }
    }
    for (uint32_t h = 0; h < sync->n_hosts; h++) {
        sync->groups[h] = group_of(sync->groups, h);
    }
}

void lull_sync_finish(struct lull_sync *sync, const int64_t *start_ns, const int64_t *end_ns)
{
    GHashTableIter iter;
    gpointer link;

    g_hash_table_iter_init(&iter, sync->by_hosts);
    while (g_hash_table_iter_next(&iter, NULL, &link)) {
        g_ptr_array_add(sync->links, link);
    }
    g_ptr_array_sort(sync->links, compare_links);
    for (guint i = 0; i < sync->links->len; i++) {
        finish_pair(sync->links->pdata[i]);
    }
    for (uint32_t i = 0; i < sync->n_hosts; i++) {
        struct lull_sync_range *range = &sync->ranges[i];

        if (start_ns[i] <= end_ns[i]) {
            range->start_ns = MIN(range->start_ns, start_ns[i]);
            range->end_ns = MAX(range->end_ns, end_ns[i]);
        }
    }
    lull_groups_join(sync->links, sync->n_hosts, sync->ranges, sync->hosts, sync->transforms);
    for (guint i = 0; i < sync->links->len; i++) {
        g_array_append_val(sync->pairs, ((struct lull_sync_link *)sync->links->pdata[i])->pair);
    }
    group_hosts(sync);
}

bool lull_sync_are_joined(const struct lull_sync *sync, uint32_t a, uint32_t b)
{
    return sync->groups[a] == sync->groups[b];
}

const struct lull_sync_pair *lull_sync_pairs(const struct lull_sync *sync, uint32_t *count)
{
    *count = sync->pairs->len;
    return (const struct lull_sync_pair *)(const void *)sync->pairs->data;
}

uint32_t lull_sync_host_count(const struct lull_sync *sync)
{
    return sync->n_hosts;
}

const struct lull_host_clock *lull_sync_hosts(const struct lull_sync *sync)
{
    return sync->hosts;
}

const struct lull_clock_transform *lull_sync_transform(const struct lull_sync *sync, uint32_t host)
{
    return &sync->transforms[host];
}
