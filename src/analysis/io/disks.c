/* SPDX-License-Identifier: MIT */
/* Block requests by disk and by the task that put them in. Which disk a request was for may come
 * out only after it completed (lull_model_device()), so requests are kept by number and looked at
 * when the window closes. */
#include <stdlib.h>
#include <string.h>

#include "analysis/io/io.h"
#include "analysis/spread.h"

enum { SECTOR_BYTES = 512 };

void io_disks_block(struct io_analysis *io, const struct lull_block_fact *fact)
{
    const struct lull_question_params *params = io->head.params;
    if (io->has_task_filter) {
        const struct lull_block_request *request =
            lull_model_request(io->head.model, fact->request);
        if (!lull_params_want_task(params, io->head.model, request->submitter, fact->time_ns) ||
            !lull_params_want_cpu(params, request->host, fact->cpu)) {
            return;
        }
    }
    lull_vec_push(&io->disks.completed, (struct io_completed){fact->request, fact->time_ns});
}

static enum io_direction direction_of(const struct lull_block_request *request)
{
    if (request->rwbs & LULL_RWBS_DISCARD) {
        return IO_DISCARDS;
    }
    if (request->rwbs & LULL_RWBS_WRITE) {
        return IO_WRITES;
    }
    return request->rwbs & (LULL_RWBS_READ | LULL_RWBS_READ_AHEAD) ? IO_READS : IO_UNTOLD_DIRECTION;
}

static struct io_disk *add_disk(struct io_analysis *io, uint32_t host, const char *name)
{
    struct io_disks *disks = &io->disks;
    const struct lull_question_params *params = io->head.params;
    const struct lull_distribution empty = {.has_buckets = true,
                                            .keep_values = (params->sections & LULL_SECTION_FREQ) &&
                                                           !params->freq_logarithmic};
    lull_vec_push(&disks->disks, (struct io_disk){.host = host,
                                                  .name = g_strdup(name),
                                                  .device = empty,
                                                  .queue = {.has_buckets = true},
                                                  .flush = empty,
                                                  .command = empty});
    return &disks->disks.items[disks->disks.count - 1];
}

static struct io_disk *disk_of_request(struct io_analysis *io, uint32_t number)
{
    const struct lull_block_request *request = lull_model_request(io->head.model, number);
    uint32_t label = lull_model_device_label(io->head.model, number);
    bool has_name = label != LULL_NONE;
    struct lull_map *numbers = has_name ? &io->disks.by_label : &io->disks.by_dev;
    uint64_t key = (uint64_t)request->host << 32 | (has_name ? label : request->mapped_dev);
    uint32_t index = lull_map_find(numbers, key);
    if (index != LULL_MAP_NONE) {
        return &io->disks.disks.items[index];
    }
    char numeric[32];
    g_snprintf(numeric, sizeof numeric, "(%u,%u)", request->mapped_dev >> 20,
               request->mapped_dev & 0xfffff);
    lull_map_insert(numbers, key, (uint32_t)io->disks.disks.count);
    return add_disk(io, request->host,
                    has_name ? lull_model_label(io->head.model, label) : numeric);
}

static void add_time(struct io_time_sum *sum, int64_t duration_ns)
{
    sum->count++;
    sum->total_ns += (double)duration_ns;
}

/* What --min, --max, --minsize and --maxsize leave out counts in the usage only. */
static void measure(struct io_analysis *io, struct io_disk *disk,
                    const struct lull_block_request *request, int64_t complete_ns)
{
    if (request->issue_ns == INT64_MIN) {
        io->disks.n_unmeasured++;
        return;
    }
    const int64_t device_ns = complete_ns - request->issue_ns;
    const bool has_queue = request->sectors && request->insert_ns != INT64_MIN;
    const int64_t queue_ns = has_queue ? request->issue_ns - request->insert_ns : 0;
    if (request->sectors) {
        add_time(&disk->all_device, device_ns);
    }
    if (has_queue) {
        add_time(&disk->all_queue, queue_ns);
    }
    if (!lull_params_want_duration(io->head.params, device_ns) ||
        !io_wants_bytes(io, (int64_t)request->sectors * SECTOR_BYTES)) {
        return;
    }
    lull_distribution_add(request->sectors               ? &disk->device
                          : lull_block_is_flush(request) ? &disk->flush
                                                         : &disk->command,
                          device_ns);
    if (has_queue) {
        lull_distribution_add(&disk->queue, queue_ns);
    }
}

static void count_submitter(struct io_disks *disks, struct lull_slots *by_task, uint32_t task,
                            enum io_direction direction, uint64_t bytes)
{
    /* Slot 0 is that of requests nobody is known for. */
    uint32_t *slot = lull_slots_at(by_task, task == LULL_NONE ? 0 : task + 1);
    if (*slot == 0) {
        lull_vec_push(&disks->submitters, (struct io_submitter){.task = task});
        *slot = (uint32_t)disks->submitters.count;
    }
    disks->submitters.items[*slot - 1].bytes[direction] += bytes;
}

void io_disks_close(struct io_analysis *io)
{
    struct io_disks *disks = &io->disks;
    struct lull_slots by_task = {0};
    for (size_t i = 0; i < disks->completed.count; i++) {
        const struct io_completed *completed = &disks->completed.items[i];
        const struct lull_block_request *request =
            lull_model_request(io->head.model, completed->request);
        struct io_disk *disk = disk_of_request(io, completed->request);
        enum io_direction direction = direction_of(request);
        disk->requests += request->sectors > 0;
        disk->flushes += lull_block_is_flush(request);
        disk->sectors[direction] += request->sectors;
        if (direction == IO_READS || direction == IO_WRITES) {
            count_submitter(disks, &by_task,
                            lull_params_row(io->head.params, io->head.model, request->submitter),
                            direction, (uint64_t)request->sectors * SECTOR_BYTES);
        }
        measure(io, disk, request, completed->time_ns);
    }
    lull_slots_free(&by_task);
    lull_vec_free(&disks->completed);
}

void io_disks_free(struct io_disks *disks)
{
    for (size_t i = 0; i < disks->disks.count; i++) {
        struct io_disk *disk = &disks->disks.items[i];
        g_free(disk->name);
        lull_distribution_clear(&disk->device);
        lull_distribution_clear(&disk->queue);
        lull_distribution_clear(&disk->flush);
        lull_distribution_clear(&disk->command);
    }
    lull_vec_free(&disks->disks);
    lull_map_free(&disks->by_label);
    lull_map_free(&disks->by_dev);
    lull_vec_free(&disks->submitters);
    lull_vec_free(&disks->completed);
}

/* ---- tables ---- */

struct disk_table {
    struct io_analysis *io;
    int64_t end_ns;
    enum io_direction direction;
    LULL_VEC(struct io_rank) ranks;
};

static const struct lull_result_column per_process_block_columns[] = {
    {"Host", "HOST", "host", LULL_CELL_HOST, NULL, LULL_USE_HOST},
    {"Process", "PROCESS", "process", LULL_CELL_PROCESS, NULL, 0},
    {"Operations size", "SIZE", "bytes", LULL_CELL_SIZE, NULL, LULL_USE_BAR},
    {0},
};

const struct lull_result_class io_per_process_block_class = {
    .name = "per-process-top-block",
    .title = "Per-process top block I/O operations",
    .columns = per_process_block_columns};

static void per_process_block_row(const void *user, uint64_t index, struct lull_cell *cells)
{
    const struct disk_table *table = user;
    const struct io_analysis *io = table->io;
    const struct io_rank *rank = &table->ranks.items[index];
    uint32_t task = io->disks.submitters.items[rank->index].task;
    *cells++ = task == LULL_NONE
                   ? lull_cell_text(LULL_CELL_HOST, NULL)
                   : lull_cell_host_of(&io->head, lull_model_task(io->head.model, task)->host);
    *cells++ = lull_cell_task(io->head.model, task, table->end_ns, true);
    *cells = io_size_cell(rank->value);
}

static const struct lull_result_column sector_columns[] = {
    {"Host", "HOST", "host", LULL_CELL_HOST, NULL, LULL_USE_HOST},
    {"Disk", "DISK", "disk", LULL_CELL_DISK, NULL, 0},
    {"Sector count", "SECTORS", "sectors", LULL_CELL_NUMBER, "sectors", LULL_USE_BAR},
    {"Sectors read", "READ", "read", LULL_CELL_NUMBER, "sectors", LULL_USE_OWN},
    {"Sectors written", "WRITTEN", "written", LULL_CELL_NUMBER, "sectors", LULL_USE_OWN},
    {"Sectors discarded", "DISCARDED", "discarded", LULL_CELL_NUMBER, "sectors", LULL_USE_OWN},
    {0},
};

const struct lull_result_class io_disk_sector_class = {.name = "per-disk-top-sector",
                                                       .title =
                                                           "Per-disk top sector I/O operations",
                                                       .columns = sector_columns};

/* A discard names sectors, but moves none. */
static uint64_t moved_sectors(const struct io_disk *disk)
{
    return disk->sectors[IO_READS] + disk->sectors[IO_WRITES] + disk->sectors[IO_UNTOLD_DIRECTION];
}

static void sector_row(const void *user, uint64_t index, struct lull_cell *cells)
{
    const struct disk_table *table = user;
    const struct io_disk *disk = &table->io->disks.disks.items[table->ranks.items[index].index];
    *cells++ = lull_cell_host_of(&table->io->head, disk->host);
    *cells++ = lull_cell_text(LULL_CELL_DISK, disk->name);
    *cells++ = io_count_cell(moved_sectors(disk));
    *cells++ = io_count_cell(disk->sectors[IO_READS]);
    *cells++ = io_count_cell(disk->sectors[IO_WRITES]);
    *cells = io_count_cell(disk->sectors[IO_DISCARDS]);
}

static const struct lull_result_column request_columns[] = {
    {"Host", "HOST", "host", LULL_CELL_HOST, NULL, LULL_USE_HOST},
    {"Disk", "DISK", "disk", LULL_CELL_DISK, NULL, 0},
    {"Request count", "REQUESTS", "requests", LULL_CELL_NUMBER, "I/O requests", LULL_USE_BAR},
    {"Flush count", "FLUSHES", "flushes", LULL_CELL_NUMBER, "flushes", LULL_USE_OWN},
    {0},
};

const struct lull_result_class io_disk_request_class = {.name = "per-disk-top-request",
                                                        .title = "Per-disk top I/O requests",
                                                        .columns = request_columns};

static void request_row(const void *user, uint64_t index, struct lull_cell *cells)
{
    const struct disk_table *table = user;
    const struct io_disk *disk = &table->io->disks.disks.items[table->ranks.items[index].index];
    *cells++ = lull_cell_host_of(&table->io->head, disk->host);
    *cells++ = lull_cell_text(LULL_CELL_DISK, disk->name);
    *cells++ = io_count_cell(disk->requests);
    *cells = io_count_cell(disk->flushes);
}

static const struct lull_result_column time_columns[] = {
    {"Host", "HOST", "host", LULL_CELL_HOST, NULL, LULL_USE_HOST},
    {"Disk", "DISK", "disk", LULL_CELL_DISK, NULL, 0},
    {"Request time/sector", "TIME", "time_ns", LULL_CELL_DURATION, NULL, LULL_USE_BAR},
    {"Average time in the queue", "QUEUED", "queue_ns", LULL_CELL_DURATION, NULL, LULL_USE_OWN},
    {0},
};

const struct lull_result_class io_disk_time_class = {.name = "per-disk-top-rps",
                                                     .title =
                                                         "Per-disk top I/O request time/sector",
                                                     .columns = time_columns};

static struct lull_cell mean_cell(const struct io_time_sum *sum)
{
    if (sum->count == 0) {
        return lull_cell_integer(LULL_CELL_UNKNOWN, 0);
    }
    return lull_cell_real(LULL_CELL_DURATION, sum->total_ns / (double)sum->count);
}

static void time_row(const void *user, uint64_t index, struct lull_cell *cells)
{
    const struct disk_table *table = user;
    const struct io_disk *disk = &table->io->disks.disks.items[table->ranks.items[index].index];
    *cells++ = lull_cell_host_of(&table->io->head, disk->host);
    *cells++ = lull_cell_text(LULL_CELL_DISK, disk->name);
    *cells++ = mean_cell(&disk->all_device);
    *cells = mean_cell(&disk->all_queue);
}

static void emit_submitters(struct disk_table *table, const char *subtitle, struct lull_sink *sink)
{
    const struct io_disks *disks = &table->io->disks;
    table->ranks.count = 0;
    for (uint32_t i = 0; i < disks->submitters.count; i++) {
        const struct io_submitter *submitter = &disks->submitters.items[i];
        if (submitter->bytes[table->direction] &&
            (submitter->task != LULL_NONE || !table->io->head.params->is_lami)) {
            lull_vec_push(&table->ranks, (struct io_rank){i, submitter->bytes[table->direction]});
        }
    }
    sink->table(sink, &(struct lull_result_table){
                          .class = &io_per_process_block_class,
                          .subtitle = subtitle,
                          .n_rows = io_rank_sort(table->io, table->ranks.items, table->ranks.count),
                          .row = per_process_block_row,
                          .user = table});
}

static uint64_t request_count(const struct io_disk *disk)
{
    return disk->requests;
}

/* From 1 on for all that were measured. */
static uint64_t time_rank(const struct io_disk *disk)
{
    const struct io_time_sum *sum = &disk->all_device;
    return sum->count ? 1 + (uint64_t)(sum->total_ns / (double)sum->count) : 0;
}

/* One table of the disks that have a value. */
static void emit_disks(struct disk_table *table, const struct lull_result_class *class,
                       uint64_t (*value)(const struct io_disk *disk),
                       void (*row)(const void *user, uint64_t row, struct lull_cell *cells),
                       struct lull_sink *sink)
{
    const struct io_disks *disks = &table->io->disks;
    table->ranks.count = 0;
    for (uint32_t i = 0; i < disks->disks.count; i++) {
        const uint64_t of_disk = value(&disks->disks.items[i]);
        const bool only_discards = value == moved_sectors && !table->io->head.params->is_lami &&
                                   disks->disks.items[i].sectors[IO_DISCARDS];
        if (of_disk || only_discards) {
            lull_vec_push(&table->ranks, (struct io_rank){i, of_disk});
        }
    }
    sink->table(sink, &(struct lull_result_table){
                          .class = class,
                          .n_rows = io_rank_sort(table->io, table->ranks.items, table->ranks.count),
                          .row = row,
                          .user = table});
}

void io_disks_emit_usage(struct io_analysis *io, int64_t end_ns, struct lull_sink *sink)
{
    struct disk_table table = {.io = io, .end_ns = end_ns};
    table.direction = IO_READS;
    emit_submitters(&table, "read", sink);
    table.direction = IO_WRITES;
    emit_submitters(&table, "written", sink);
    emit_disks(&table, &io_disk_sector_class, moved_sectors, sector_row, sink);
    emit_disks(&table, &io_disk_request_class, request_count, request_row, sink);
    emit_disks(&table, &io_disk_time_class, time_rank, time_row, sink);
    lull_vec_free(&table.ranks);
}
