/* SPDX-License-Identifier: MIT */
/* Rows of what network interfaces and disks moved. Packets go to their rows at once. Which disk a
 * request was for may come out only after it completed (lull_model_device()), so requests are kept
 * by number, and disks have rows when all is read. */
#include <stdlib.h>

#include "store/build_private.h"

/* ---- what counts at its time ---- */

/* A row that counts, and what came last, which is written when the next one comes. */
struct counter {
    uint32_t row;
    int64_t time_ns;
    uint64_t amount;
};

static struct counter new_counter(struct store_build *build, enum lull_store_kind kind,
                                  uint32_t host, uint32_t name)
{
    const struct store_row row = {
        .kind = kind, .host = host, .name = name, .cpu = -1, .tid = -1, .pid = -1, .ppid = -1};
    return (struct counter){store_writer_row(build->writer, &row, build->start_ns), build->start_ns,
                            0};
}

static void write_counter(struct store_build *build, const struct counter *counter, int64_t end_ns)
{
    const bool is_some = counter->amount > 0;
    store_writer_append_apart(build->writer, counter->row, end_ns,
                              is_some ? LULL_STORE_USER : LULL_STORE_NONE,
                              is_some ? (uint32_t)MIN(counter->amount, LULL_NONE - 1) : LULL_NONE);
}

/* Rows have no room at their very end: what comes there counts a nanosecond before. */
static void count(struct store_build *build, struct counter *counter, int64_t time_ns,
                  uint64_t amount)
{
    time_ns = MIN(time_ns, build->end_ns - 1);
    if (time_ns > counter->time_ns) {
        write_counter(build, counter, time_ns);
        counter->time_ns = time_ns;
        counter->amount = 0;
    }
    counter->amount += amount;
}

/* ---- network interfaces ---- */

struct build_netif {
    struct counter passed[2]; /* received, sent */
};

static uint32_t text_or_unknown(struct store_build *build, uint32_t label)
{
    return label == LULL_NONE ? store_writer_text(build->writer, "unknown")
                              : build_text(build, label);
}

void meters_netif(void *user, const struct lull_netif_fact *fact)
{
    struct store_build *build = user;
    const uint64_t key = (uint64_t)fact->host << 32 | fact->device;
    uint32_t index = lull_map_find(&build->netif_numbers, key);
    if (index == LULL_MAP_NONE) {
        const uint32_t name = text_or_unknown(build, fact->device);
        const struct build_netif netif = {
            {new_counter(build, LULL_STORE_NET_RECEIVED, fact->host, name),
             new_counter(build, LULL_STORE_NET_SENT, fact->host, name)}};
        index = (uint32_t)build->netifs.count;
        lull_map_insert(&build->netif_numbers, key, index);
        lull_vec_push(&build->netifs, g_memdup2(&netif, sizeof netif));
    }
    count(build, &build->netifs.items[index]->passed[fact->is_send], fact->time_ns, fact->length);
}

/* ---- disks ---- */

struct disk {
    uint32_t host, name;
    LULL_VEC(struct build_completed) completed;
};

struct disks {
    LULL_VEC(struct disk) disks;
    struct lull_map by_label, by_dev;
};

void meters_block(void *user, const struct lull_block_fact *fact)
{
    struct store_build *build = user;
    if (fact->step == LULL_BLOCK_COMPLETE) {
        lull_vec_push(&build->completed, (struct build_completed){fact->request, fact->time_ns});
    }
}

static struct disk *disk_of(struct store_build *build, struct disks *disks, uint32_t number)
{
    const struct lull_block_request *request = lull_model_request(build->model, number);
    const uint32_t label = lull_model_device_label(build->model, number);
    struct lull_map *numbers = label != LULL_NONE ? &disks->by_label : &disks->by_dev;
    const uint64_t key =
        (uint64_t)request->host << 32 | (label != LULL_NONE ? label : request->mapped_dev);
    uint32_t index = lull_map_find(numbers, key);
    if (index == LULL_MAP_NONE) {
        char dev[32];
        g_snprintf(dev, sizeof dev, "(%u,%u)", request->mapped_dev >> 20,
                   request->mapped_dev & 0xfffff);
        index = (uint32_t)disks->disks.count;
        lull_map_insert(numbers, key, index);
        lull_vec_push(&disks->disks,
                      (struct disk){.host = request->host,
                                    .name = label != LULL_NONE
                                                ? build_text(build, label)
                                                : store_writer_text(build->writer, dev)});
    }
    return &disks->disks.items[index];
}

static bool is_measured(const struct lull_block_request *request, int64_t complete_ns)
{
    return request->issue_ns != INT64_MIN && request->issue_ns <= complete_ns;
}

/* Of a discard no data are moved. */
static int64_t kind_moved(const struct lull_block_request *request)
{
    return request->rwbs & LULL_RWBS_DISCARD                         ? -1
           : request->rwbs & LULL_RWBS_WRITE                         ? LULL_STORE_DISK_WRITTEN
           : request->rwbs & (LULL_RWBS_READ | LULL_RWBS_READ_AHEAD) ? LULL_STORE_DISK_READ
                                                                     : -1;
}

static void write_counters(struct store_build *build, const struct disk *disk)
{
    struct counter counters[LULL_STORE_DISK_REQUESTS + 1];
    for (unsigned kind = LULL_STORE_DISK_READ; kind <= LULL_STORE_DISK_REQUESTS; kind++) {
        counters[kind] = new_counter(build, kind, disk->host, disk->name);
    }
    for (size_t i = 0; i < disk->completed.count; i++) {
        const struct build_completed *completed = &disk->completed.items[i];
        const struct lull_block_request *request =
            lull_model_request(build->model, completed->request);
        const int64_t kind = kind_moved(request);
        if (kind >= 0) {
            count(build, &counters[kind], completed->time_ns, request->sectors);
        }
        if (is_measured(request, completed->time_ns)) {
            count(build, &counters[LULL_STORE_DISK_REQUESTS], completed->time_ns, 1);
        }
    }
    for (unsigned kind = LULL_STORE_DISK_READ; kind <= LULL_STORE_DISK_REQUESTS; kind++) {
        write_counter(build, &counters[kind], build->end_ns);
    }
}

/* A request that the device gets, or has done with. */
struct edge {
    int64_t time_ns;
    int32_t step;
};

static int compare_edges(const void *a, const void *b)
{
    const struct edge *x = a, *y = b;
    return (x->time_ns > y->time_ns) - (x->time_ns < y->time_ns);
}

static void write_flight(struct store_build *build, const struct disk *disk)
{
    LULL_VEC(struct edge) edges = {0};
    const struct counter flight =
        new_counter(build, LULL_STORE_DISK_FLIGHT, disk->host, disk->name);
    uint32_t n = 0;
    for (size_t i = 0; i < disk->completed.count; i++) {
        const struct build_completed *completed = &disk->completed.items[i];
        const struct lull_block_request *request =
            lull_model_request(build->model, completed->request);
        if (is_measured(request, completed->time_ns)) {
            lull_vec_push(&edges, (struct edge){request->issue_ns, 1});
            lull_vec_push(&edges, (struct edge){completed->time_ns, -1});
        }
    }
    if (edges.count) {
        qsort(edges.items, edges.count, sizeof *edges.items, compare_edges);
    }
    for (size_t i = 0; i <= edges.count; i++) {
        const int64_t end_ns = i < edges.count ? edges.items[i].time_ns : build->end_ns;
        store_writer_append(build->writer, flight.row, end_ns,
                            n ? LULL_STORE_USER : LULL_STORE_NONE, LULL_NONE, n ? n : LULL_NONE);
        n += i < edges.count ? (uint32_t)edges.items[i].step : 0;
    }
    lull_vec_free(&edges);
}

static void write_disks(struct store_build *build)
{
    struct disks disks = {0};
    for (size_t i = 0; i < build->completed.count; i++) {
        const struct build_completed *completed = &build->completed.items[i];
        if (lull_model_request(build->model, completed->request)->sectors > 0) {
            lull_vec_push(&disk_of(build, &disks, completed->request)->completed, *completed);
        }
    }
    for (size_t i = 0; i < disks.disks.count; i++) {
        write_counters(build, &disks.disks.items[i]);
        write_flight(build, &disks.disks.items[i]);
        lull_vec_free(&disks.disks.items[i].completed);
    }
    lull_vec_free(&disks.disks);
    lull_map_free(&disks.by_label);
    lull_map_free(&disks.by_dev);
}

/* ---- the end ---- */

void meters_finish(struct store_build *build)
{
    for (size_t i = 0; i < build->netifs.count; i++) {
        for (unsigned d = 0; d < G_N_ELEMENTS(build->netifs.items[i]->passed); d++) {
            write_counter(build, &build->netifs.items[i]->passed[d], build->end_ns);
        }
    }
    if (!build->is_part) { /* which makes no rows */
        write_disks(build);
    }
}

void meters_free(struct store_build *build)
{
    for (size_t i = 0; i < build->netifs.count; i++) {
        g_free(build->netifs.items[i]);
    }
    lull_vec_free(&build->netifs);
    lull_map_free(&build->netif_numbers);
    lull_vec_free(&build->completed);
}
