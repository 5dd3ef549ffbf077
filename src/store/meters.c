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
                              is_some ? LULL_STORE_USER : LULL_STORE_NONE, LULL_NONE,
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

/* Of what, in the order of the kinds of rows from LULL_STORE_DISK_READ on. */
enum { COUNTER_READ, COUNTER_WRITTEN, COUNTER_REQUESTS, COUNTERS };

struct disk {
    struct counter counters[COUNTERS];
    uint32_t flight_row;
    LULL_VEC(int64_t) issues; /* when the device got what it has done with, in order */
    size_t issued;            /* of these are before what is being written, */
    uint32_t n;               /* and so many requests are in the device then */
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

static struct disk new_disk(struct store_build *build, uint32_t host, uint32_t name)
{
    struct disk disk = {0};
    for (unsigned i = 0; i < COUNTERS; i++) {
        disk.counters[i] = new_counter(build, LULL_STORE_DISK_READ + i, host, name);
    }
    disk.flight_row = new_counter(build, LULL_STORE_DISK_FLIGHT, host, name).row;
    return disk;
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
        const uint32_t name =
            label != LULL_NONE ? build_text(build, label) : store_writer_text(build->writer, dev);
        index = (uint32_t)disks->disks.count;
        lull_map_insert(numbers, key, index);
        lull_vec_push(&disks->disks, new_disk(build, request->host, name));
    }
    return &disks->disks.items[index];
}

static bool is_measured(const struct lull_block_request *request, int64_t complete_ns)
{
    return request->issue_ns != INT64_MIN && request->issue_ns <= complete_ns;
}

/* The counter of what it moved; -1: of a discard no data are moved. */
static int counter_of(const struct lull_block_request *request)
{
    return request->rwbs & LULL_RWBS_DISCARD                         ? -1
           : request->rwbs & LULL_RWBS_WRITE                         ? COUNTER_WRITTEN
           : request->rwbs & (LULL_RWBS_READ | LULL_RWBS_READ_AHEAD) ? COUNTER_READ
                                                                     : -1;
}

static int compare_times(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* As many requests as there are, up to this time. */
static void write_flight(struct store_build *build, const struct disk *disk, int64_t end_ns)
{
    store_writer_append(build->writer, disk->flight_row, end_ns,
                        disk->n ? LULL_STORE_USER : LULL_STORE_NONE, LULL_NONE,
                        disk->n ? disk->n : LULL_NONE);
}

/* What the device got until then. */
static void write_issues(struct store_build *build, struct disk *disk, int64_t until_ns)
{
    for (; disk->issued < disk->issues.count && disk->issues.items[disk->issued] <= until_ns;
         disk->issued++) {
        write_flight(build, disk, disk->issues.items[disk->issued]);
        disk->n++;
    }
}

static void write_completed(struct store_build *build, struct disk *disk,
                            const struct lull_block_request *request, int64_t time_ns)
{
    const int counter = counter_of(request);
    if (counter >= 0) {
        count(build, &disk->counters[counter], time_ns, request->sectors);
    }
    if (is_measured(request, time_ns)) {
        count(build, &disk->counters[COUNTER_REQUESTS], time_ns, 1);
        write_issues(build, disk, time_ns);
        write_flight(build, disk, time_ns);
        disk->n--;
    }
}

/* Requests come in the order in which they completed: of each disk only the issues have to be sorted,
 * and nothing else of a request is kept twice. */
static void find_disks(struct store_build *build, struct disks *disks)
{
    for (size_t i = 0; i < build->completed.count; i++) {
        const struct build_completed *completed = &build->completed.items[i];
        const struct lull_block_request *request =
            lull_model_request(build->model, completed->request);
        if (request->sectors == 0) {
            continue;
        }
        struct disk *disk = disk_of(build, disks, completed->request);
        if (is_measured(request, completed->time_ns)) {
            lull_vec_push(&disk->issues, request->issue_ns);
        }
    }
    for (size_t i = 0; i < disks->disks.count; i++) {
        struct disk *disk = &disks->disks.items[i];
        if (disk->issues.count) {
            qsort(disk->issues.items, disk->issues.count, sizeof(int64_t), compare_times);
        }
    }
}

static void write_disks(struct store_build *build)
{
    struct disks disks = {0};
    find_disks(build, &disks);
    for (size_t i = 0; i < build->completed.count; i++) {
        const struct build_completed *completed = &build->completed.items[i];
        const struct lull_block_request *request =
            lull_model_request(build->model, completed->request);
        if (request->sectors > 0) {
            write_completed(build, disk_of(build, &disks, completed->request), request,
                            completed->time_ns);
        }
    }
    for (size_t i = 0; i < disks.disks.count; i++) {
        struct disk *disk = &disks.disks.items[i];
        for (unsigned c = 0; c < COUNTERS; c++) {
            write_counter(build, &disk->counters[c], build->end_ns);
        }
        write_flight(build, disk, build->end_ns);
        lull_vec_free(&disk->issues);
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
