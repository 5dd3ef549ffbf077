/* How long I/O calls and block requests took: statistics and histograms. */
#include <string.h>

#include "analysis/io.h"
#include "analysis/spread.h"

void io_latency_call(struct io_analysis *io, const struct io_call *call)
{
    if (call->category < IO_CATEGORIES &&
        (io->head.params->sections & (LULL_SECTION_STATS | LULL_SECTION_FREQ)))
        lull_distribution_add(&io->latency[call->category], call->end_ns - call->begin_ns);
}

/* ---- statistics ---- */

static const struct lull_result_column call_stats_columns[] = {
    {"System call category", "CATEGORY", "category", LULL_CELL_STRING, NULL, 0},
    {"Call count", "COUNT", "count", LULL_CELL_NUMBER, "calls", 0},
    {"Minimum call latency", "MIN", "min_ns", LULL_CELL_DURATION, NULL, 0},
    {"Average call latency", "AVG", "avg_ns", LULL_CELL_DURATION, NULL, 0},
    {"Maximum call latency", "MAX", "max_ns", LULL_CELL_DURATION, NULL, 0},
    {"System call latency standard deviation", "STDEV", "stdev_ns", LULL_CELL_DURATION, NULL, 0},
    LULL_SPREAD_PERCENTILES,
    {0},
};

const struct lull_result_class io_call_stats_class = {"syscall-latency-stats",
                                                      "System call latency statistics",
                                                      call_stats_columns, LULL_TABLE_PLAIN, false};

static void call_stats_row(const void *user, uint64_t index, struct lull_cell *cells)
{
    const struct io_analysis *io = user;
    const struct lull_distribution *latency = &io->latency[index];
    *cells++ = lull_cell_text(LULL_CELL_STRING, io_category_name(index, false));
    *cells++ = io_count_cell(latency->count);
    cells = lull_spread_cells(latency, cells);
    lull_spread_percentiles(latency, cells);
}

static const struct lull_result_column disk_stats_columns[] = {
    {"Host", "HOST", "host", LULL_CELL_HOST, NULL, LULL_USE_HOST},
    {"Partition", "DISK", "disk", LULL_CELL_DISK, NULL, 0},
    {"Requests", "REQUESTS", "requests", LULL_CELL_STRING, NULL, LULL_USE_OWN},
    {"Access count", "COUNT", "count", LULL_CELL_NUMBER, "accesses", 0},
    {"Minimum access latency", "MIN", "min_ns", LULL_CELL_DURATION, NULL, 0},
    {"Average access latency", "AVG", "avg_ns", LULL_CELL_DURATION, NULL, 0},
    {"Maximum access latency", "MAX", "max_ns", LULL_CELL_DURATION, NULL, 0},
    {"System access latency standard deviation", "STDEV", "stdev_ns", LULL_CELL_DURATION, NULL, 0},
    LULL_SPREAD_PERCENTILES,
    {"Average time in the queue", "QUEUE AVG", "queue_avg_ns", LULL_CELL_DURATION, NULL,
     LULL_USE_OWN},
    {"Maximum time in the queue", "QUEUE MAX", "queue_max_ns", LULL_CELL_DURATION, NULL,
     LULL_USE_OWN},
    {0},
};

const struct lull_result_class io_disk_stats_class = {"disk-latency-stats",
                                                      "Partition latency statistics",
                                                      disk_stats_columns, LULL_TABLE_PLAIN, false};

/* A row of a disk: its requests with data, or its flushes. */
struct disk_row {
    const struct io_disk *disk;
    bool is_flush;
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
    const struct lull_distribution *times = row->is_flush ? &disk->flush : &disk->device;
    *cells++ = lull_cell_host_of(&stats->io->head, disk->host);
    *cells++ = lull_cell_text(LULL_CELL_DISK, disk->name);
    *cells++ = lull_cell_text(LULL_CELL_STRING, row->is_flush ? "flush" : "data");
    *cells++ = io_count_cell(times->count);
    cells = lull_spread_cells(times, cells);
    cells = lull_spread_percentiles(times, cells);
    if (row->is_flush)
        return; /* what waits with a flush is the data behind it */
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
        if (disk->device.count)
            lull_vec_push(&stats.rows, (struct disk_row){disk, false});
        if (disk->flush.count && !is_lami)
            lull_vec_push(&stats.rows, (struct disk_row){disk, true});
    }
    sink->table(sink, &(struct lull_result_table){.class = &io_disk_stats_class,
                                                  .n_rows = stats.rows.count,
                                                  .row = disk_stats_row,
                                                  .user = &stats});
    lull_vec_free(&stats.rows);
}

/* ---- histograms ---- */

static const struct lull_result_column freq_columns[] = {
    {"Latency (lower bound)", "FROM", "lower_ns", LULL_CELL_DURATION, NULL, 0},
    {"Latency (upper bound)", "TO", "upper_ns", LULL_CELL_DURATION, NULL, 0},
    {"Request count", "COUNT", "count", LULL_CELL_NUMBER, "requests", LULL_USE_BAR},
    {0},
};

const struct lull_result_class io_freq_class = {"freq", "I/O request latency distribution",
                                                freq_columns, LULL_TABLE_HISTOGRAM, false};

static void freq_row(const void *user, uint64_t index, struct lull_cell *cells)
{
    const struct lull_bin *bin = (const struct lull_bin *)user + index;
    *cells++ = lull_cell_real(LULL_CELL_DURATION, bin->lower);
    *cells++ = lull_cell_real(LULL_CELL_DURATION, bin->upper);
    *cells = io_count_cell(bin->count);
}

/* A histogram and what it is of. */
struct titled {
    char *title;
    const struct lull_distribution *times;
};

typedef LULL_VEC(struct titled) titled_list;

/* The bins of one histogram; 0: nothing to show. Values that are all the same have no linear bins;
 * they get one of no width, but not in LAMI, where the peer leaves the table out. */
static uint32_t make_bins(const struct lull_question_params *params,
                          const struct lull_distribution *times, int64_t min, int64_t max,
                          struct lull_bin *bins)
{
    if (params->freq_logarithmic)
        return lull_distribution_logarithmic(times, bins);
    if (lull_distribution_linear(times, min, max, params->freq_resolution, bins))
        return params->freq_resolution;
    if (times->count == 0 || params->is_lami)
        return 0;
    bins[0] = (struct lull_bin){(double)min, (double)max, times->count};
    return 1;
}

static void emit_histograms(const struct io_analysis *io, const titled_list *list,
                            struct lull_sink *sink)
{
    enum { LOGARITHMIC_BINS = 64 };
    const struct lull_question_params *params = io->head.params;
    struct lull_bin *bins = g_new(struct lull_bin, MAX(params->freq_resolution, LOGARITHMIC_BINS));
    int64_t all_min = INT64_MAX, all_max = INT64_MIN;
    for (size_t i = 0; i < list->count; i++) {
        all_min = MIN(all_min, list->items[i].times->min);
        all_max = MAX(all_max, list->items[i].times->max);
    }
    for (size_t i = 0; i < list->count; i++) {
        const struct lull_distribution *times = list->items[i].times;
        uint32_t n = make_bins(params, times, params->freq_uniform ? all_min : times->min,
                               params->freq_uniform ? all_max : times->max, bins);
        sink->table(sink, &(struct lull_result_table){.class = &io_freq_class,
                                                      .subtitle = list->items[i].title,
                                                      .n_rows = n,
                                                      .row = freq_row,
                                                      .user = bins});
    }
    g_free(bins);
}

static void add_titled(titled_list *list, char *title, const struct lull_distribution *times)
{
    if (times->count)
        lull_vec_push(list, (struct titled){title, times});
    else
        g_free(title);
}

void io_latency_emit_freq(struct io_analysis *io, struct lull_sink *sink)
{
    bool is_lami = io->head.params->is_lami;
    titled_list list = {0};
    for (int i = 0; i < (is_lami ? IO_PEER_CATEGORIES : IO_CATEGORIES); i++)
        add_titled(&list, g_strdup(io_category_name(i, true)), &io->latency[i]);
    for (size_t i = 0; i < io->disks.disks.count; i++) {
        const struct io_disk *disk = &io->disks.disks.items[i];
        add_titled(&list, g_strdup_printf("disk: %s", disk->name), &disk->device);
        if (!is_lami)
            add_titled(&list, g_strdup_printf("disk: %s (flush)", disk->name), &disk->flush);
    }
    emit_histograms(io, &list, sink);
    for (size_t i = 0; i < list.count; i++)
        g_free(list.items[i].title);
    lull_vec_free(&list);
}
