/* SPDX-License-Identifier: MIT */
/* How long I/O calls and block requests took: statistics and histograms. */
#include <string.h>

#include "analysis/histogram.h"
#include "analysis/io/io.h"
#include "analysis/spread.h"

void io_latency_call(struct io_analysis *io, const struct io_call *call)
{
    if (call->category < IO_CATEGORIES &&
        (io->head.params->sections & (LULL_SECTION_STATS | LULL_SECTION_FREQ))) {
        lull_distribution_add(&io->latency[call->category], call->end_ns - call->start_ns);
    }
}

/* ---- statistics ---- */

static const struct lull_result_column call_stats_columns[] = {
    {"System call category", "CATEGORY", "category", LULL_CELL_STRING, NULL, 0},
    {"Call count", "COUNT", "count", LULL_CELL_NUMBER, "calls", 0},
    LULL_SPREAD_COLUMNS("call latency", "System call latency"),
    LULL_SPREAD_PERCENTILES,
    {0},
};

const struct lull_result_class io_call_stats_class = {.name = "syscall-latency-stats",
                                                      .title = "System call latency statistics",
                                                      .columns = call_stats_columns};

static void call_stats_row(const void *user, uint64_t index, struct lull_cell *cells)
{
    const struct io_analysis *io = user;
    const struct lull_distribution *latency = &io->latency[index];
    *cells++ = lull_cell_text(LULL_CELL_STRING, io_category_name(index, false));
    *cells++ = io_count_cell(latency->count);
    cells = lull_spread_cells_or_zeroes(latency, io->head.params->is_lami, cells);
    lull_spread_percentiles(latency, cells);
}

static const struct lull_result_column disk_stats_columns[] = {
    {"Host", "HOST", "host", LULL_CELL_HOST, NULL, LULL_USE_HOST},
    {"Partition", "DISK", "disk", LULL_CELL_DISK, NULL, 0},
    {"Requests", "REQUESTS", "requests", LULL_CELL_STRING, NULL, LULL_USE_OWN},
    {"Access count", "COUNT", "count", LULL_CELL_NUMBER, "accesses", 0},
    LULL_SPREAD_COLUMNS("access latency", "System access latency"),
    LULL_SPREAD_PERCENTILES,
    {"Average time in the queue", "QUEUE AVG", "queue_avg_ns", LULL_CELL_DURATION, NULL,
     LULL_USE_OWN},
    {"Maximum time in the queue", "QUEUE MAX", "queue_max_ns", LULL_CELL_DURATION, NULL,
     LULL_USE_OWN},
    {0},
};

const struct lull_result_class io_disk_stats_class = {.name = "disk-latency-stats",
                                                      .title = "Partition latency statistics",
                                                      .columns = disk_stats_columns};

/* A row of a disk: its requests with data, its flushes, or other commands without data. */
struct disk_row {
    const struct io_disk *disk;
    const char *requests;
    const struct lull_distribution *times;
};

struct disk_stats {
    const struct io_analysis *io;
    LULL_VEC(struct disk_row) rows;
};

static void disk_stats_row(const void *user, uint64_t index, struct lull_cell *cells)
{
    const struct disk_stats *stats = user;
    const struct disk_row *row = &stats->rows.items[index];
    const struct io_disk *disk = row->disk;
    const struct lull_distribution *times = row->times;
    *cells++ = lull_cell_host_of(&stats->io->head, disk->host);
    *cells++ = lull_cell_text(LULL_CELL_DISK, disk->name);
    *cells++ = lull_cell_text(LULL_CELL_STRING, row->requests);
    *cells++ = io_count_cell(times->count);
    cells = lull_spread_cells(times, cells);
    cells = lull_spread_percentiles(times, cells);
    if (times != &disk->device) {
        return; /* what waits with a flush is the data after it */
    }
    if (disk->queue.count == 0) {
        cells[0].class = cells[1].class = LULL_CELL_UNKNOWN;
        return;
    }
    *cells++ = lull_cell_real(LULL_CELL_DURATION, lull_distribution_mean(&disk->queue));
    *cells = lull_cell_integer(LULL_CELL_DURATION, disk->queue.max);
}

void io_latency_emit_stats(struct io_analysis *io, struct lull_sink *sink)
{
    bool is_lami = io->head.params->is_lami;
    sink->table(sink,
                &(struct lull_result_table){.class = &io_call_stats_class,
                                            .n_rows = is_lami ? IO_PEER_CATEGORIES : IO_CATEGORIES,
                                            .row = call_stats_row,
                                            .user = io});
    struct disk_stats stats = {.io = io};
    for (size_t i = 0; i < io->disks.disks.count; i++) {
        const struct io_disk *disk = &io->disks.disks.items[i];
        if (disk->device.count) {
            lull_vec_push(&stats.rows, (struct disk_row){disk, "data", &disk->device});
        }
        if (disk->flush.count && !is_lami) {
            lull_vec_push(&stats.rows, (struct disk_row){disk, "flush", &disk->flush});
        }
        if (disk->command.count && !is_lami) {
            lull_vec_push(&stats.rows, (struct disk_row){disk, "command", &disk->command});
        }
    }
    sink->table(sink, &(struct lull_result_table){.class = &io_disk_stats_class,
                                                  .n_rows = stats.rows.count,
                                                  .row = disk_stats_row,
                                                  .user = &stats});
    lull_vec_free(&stats.rows);
}

/* ---- histograms ---- */

static const struct lull_result_column freq_columns[] = {
    LULL_HISTOGRAM_COLUMNS("Latency", "_ns", LULL_CELL_DURATION, NULL, "Request count", "requests"),
    {0},
};

const struct lull_result_class io_freq_class = {.name = "freq",
                                                .title = "I/O request latency distribution",
                                                .columns = freq_columns,
                                                .kind = LULL_TABLE_HISTOGRAM};

void io_latency_emit_freq(struct io_analysis *io, struct lull_sink *sink)
{
    bool is_lami = io->head.params->is_lami;
    struct lull_histograms list = {0};
    for (int i = 0; i < (is_lami ? IO_PEER_CATEGORIES : IO_CATEGORIES); i++) {
        lull_histograms_add(&list, io_category_name(i, true), &io->latency[i]);
    }
    for (size_t i = 0; i < io->disks.disks.count; i++) {
        const struct io_disk *disk = &io->disks.disks.items[i];
        g_autofree char *data = g_strdup_printf("disk: %s", disk->name);
        g_autofree char *flush = g_strdup_printf("disk: %s (flush)", disk->name);
        g_autofree char *command = g_strdup_printf("disk: %s (command)", disk->name);
        lull_histograms_add(&list, data, &disk->device);
        if (!is_lami) {
            lull_histograms_add(&list, flush, &disk->flush);
            lull_histograms_add(&list, command, &disk->command);
        }
    }
    lull_histograms_emit(&list, io->head.params, &io_freq_class,
                         is_lami ? NULL : "I/O request latency distributions", sink);
    lull_histograms_clear(&list);
}
