/* SPDX-License-Identifier: MIT */
/* The end of writing: pyramids and sums from the blocks of each row, the tables, the header, and the
 * file's name. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "store/block.h"
#include "store/meter.h"
#include "store/pyramid.h"
#include "store/writer_private.h"

typedef void visit_interval(void *user, const struct lull_store_interval *interval);

/* Calls `visit` for every interval of a row; `at_block` (or NULL) before each block. */
static bool each_interval(struct store_writer *writer, const struct writer_row *row,
                          void (*at_block)(void *user, size_t block), visit_interval *visit,
                          void *user)
{
    for (size_t b = 0; b < writer_block_count(row); b++) {
        uint8_t bytes[BLOCK_BYTES_MOST];
        struct lull_store_interval intervals[STORE_BLOCK];
        struct store_block block;
        if (!writer_block(writer, row, b, &block) || !writer_get(writer, &block, bytes)) {
            return false;
        }
        const uint32_t count = store_block_decode(bytes, block.size, block.start_ns, intervals);
        if (at_block) {
            at_block(user, b);
        }
        for (uint32_t i = 0; i < count; i++) {
            visit(user, &intervals[i]);
        }
    }
    return true;
}

/* ---- pyramids and sums ---- */

enum { PIECE = 1 << 16 /* bytes of the finest level */ };

struct summary {
    struct store_writer *writer;
    struct store_range *range; /* of the pyramids */
    struct pyramid *pyramid;   /* NULL: the row has none */
    struct meter meter;        /* what the row is */
    int64_t ns[STORE_STATES];
    unsigned __int128 amount;
    LULL_VEC(struct store_sum) sums;
};

/* What there is of a level goes to the file. */
static void put_level(struct store_writer *writer, struct store_range *range,
                      struct pyramid_level *level)
{
    range->sum = store_sum_add(range->sum, level->shares.items, level->shares.count);
    writer_put(writer, level->shares.items, level->shares.count);
    level->shares.count = 0;
}

static void add_sum(void *user, size_t block)
{
    struct summary *summary = user;
    if (summary->pyramid && summary->pyramid->levels[0].shares.count >= PIECE) {
        put_level(summary->writer, summary->range, &summary->pyramid->levels[0]);
    }
    if (block % STORE_SUM_EVERY == 0) {
        struct store_sum sum = {
            .amount = {(uint64_t)summary->amount, (uint64_t)(summary->amount >> 64)}};
        memcpy(sum.ns, summary->ns, sizeof sum.ns);
        lull_vec_push(&summary->sums, sum);
    }
}

static void add_interval(void *user, const struct lull_store_interval *interval)
{
    struct summary *summary = user;
    summary->ns[interval->state] += interval->end_ns - interval->start_ns;
    summary->amount += meter_amount(summary->meter, interval, interval->end_ns);
    if (summary->pyramid) {
        pyramid_add(summary->pyramid, interval);
    }
}

static bool is_nothing(enum lull_store_state state)
{
    return state == LULL_STORE_UNKNOWN || state == LULL_STORE_NONE || state == LULL_STORE_LOST;
}

/* The part of a row in which it is of interest, and what it is outside. */
static bool find_active(struct store_writer *writer, struct writer_row *row, int64_t start_ns,
                        int64_t end_ns)
{
    struct store_row *about = &row->about;
    struct lull_store_interval first[STORE_BLOCK], last[STORE_BLOCK];
    uint8_t bytes[BLOCK_BYTES_MOST];
    about->active_ns = start_ns;
    about->passive_ns = end_ns;
    about->before = about->after = LULL_STORE_UNKNOWN;
    if (writer_block_count(row) == 0) {
        return true;
    }
    struct store_block block;
    if (!writer_block(writer, row, 0, &block) || !writer_get(writer, &block, bytes)) {
        return false;
    }
    store_block_decode(bytes, block.size, block.start_ns, first);
    if (!writer_block(writer, row, writer_block_count(row) - 1, &block) ||
        !writer_get(writer, &block, bytes)) {
        return false;
    }
    const uint32_t count = store_block_decode(bytes, block.size, block.start_ns, last);
    if (is_nothing(first[0].state)) {
        about->before = (uint8_t)first[0].state;
        about->active_ns = first[0].end_ns;
    }
    if (about->n_intervals > 1 && is_nothing(last[count - 1].state)) {
        about->after = (uint8_t)last[count - 1].state;
        about->passive_ns = last[count - 1].start_ns;
    }
    about->passive_ns = MAX(about->passive_ns, about->active_ns);
    return true;
}

static bool summarize(struct store_writer *writer, struct writer_row *row, int64_t start_ns,
                      int64_t end_ns, struct pyramid *pyramid, struct summary *summary)
{
    struct store_row *about = &row->about;
    if (!find_active(writer, row, start_ns, end_ns)) {
        return false;
    }
    pyramid_plan(about);
    memset(summary->ns, 0, sizeof summary->ns);
    summary->amount = 0;
    summary->meter = meter_of((enum lull_store_kind)about->kind);
    summary->pyramid = about->levels ? pyramid : NULL;
    if (about->levels) {
        pyramid_start(pyramid, about);
        pyramid_add(pyramid, &(struct lull_store_interval){.start_ns = INT64_MIN,
                                                           .end_ns = start_ns,
                                                           .state = about->before});
    }
    if (!each_interval(writer, row, add_sum, add_interval, summary)) {
        return false;
    }
    if (about->levels) {
        pyramid_add(pyramid, &(struct lull_store_interval){
                                 .start_ns = end_ns, .end_ns = INT64_MAX, .state = about->after});
        pyramid_end(pyramid);
    }
    return true;
}

/* ---- sections ---- */

static struct store_range start_section(struct store_writer *writer)
{
    static const uint8_t zeros[8];
    writer_put(writer, zeros, -writer->offset % sizeof zeros);
    return (struct store_range){.offset = writer->offset, .sum = STORE_SUM_SEED};
}

static void end_section(const struct store_writer *writer, struct store_range *range)
{
    range->size = writer->offset - range->offset;
}

static struct store_range put_section(struct store_writer *writer, const void *data, size_t size)
{
    struct store_range range = start_section(writer);
    range.sum = store_sum_add(range.sum, data, size);
    writer_put(writer, data, size);
    end_section(writer, &range);
    return range;
}

static bool put_pyramids(struct store_writer *writer, struct store_header *header,
                         struct summary *summary)
{
    struct pyramid *pyramid = g_new0(struct pyramid, 1);
    struct store_range *range = &header->sections[STORE_PYRAMIDS];
    bool is_done = true;
    summary->writer = writer;
    summary->range = range;
    *range = start_section(writer);
    for (size_t i = 0; is_done && i < writer->rows.count; i++) {
        struct writer_row *row = writer->rows.items[i];
        row->about.first_sum = summary->sums.count;
        row->about.pyramid = writer->offset - range->offset;
        is_done = summarize(writer, row, header->start_ns, header->end_ns, pyramid, summary);
        for (unsigned l = 0; is_done && l < row->about.levels; l++) {
            put_level(writer, range, &pyramid->levels[l]);
        }
    }
    end_section(writer, range);
    pyramid_free(pyramid);
    g_free(pyramid);
    return is_done;
}

/* Where the blocks of all rows are; the memory that held it is free then. */
static struct store_range put_index(struct store_writer *writer)
{
    struct store_range range = start_section(writer);
    uint64_t first_block = 0;
    for (size_t i = 0; i < writer->rows.count; i++) {
        struct writer_row *row = writer->rows.items[i];
        for (size_t b = 0; b < writer_block_count(row); b++) {
            struct store_block block;
            if (!writer_block(writer, row, b, &block)) {
                break; /* which is a failure of the writer */
            }
            range.sum = store_sum_add(range.sum, &block, sizeof block);
            writer_put(writer, &block, sizeof block);
        }
        row->about.first_block = first_block;
        first_block += row->about.n_blocks = writer_block_count(row);
        row->n_chunks = 0;
        lull_vec_free(&row->blocks);
    }
    end_section(writer, &range);
    return range;
}

static void put_tables(struct store_writer *writer, struct store_header *header,
                       const struct summary *summary)
{
    LULL_VEC(struct store_row) rows = {0};
    header->sections[STORE_INDEX] = put_index(writer);
    for (size_t i = 0; i < writer->rows.count; i++) {
        lull_vec_push(&rows, writer->rows.items[i]->about);
    }
#define PUT(section, vec)                                                                          \
    header->sections[section] =                                                                    \
        put_section(writer, (vec)->items, (vec)->count * sizeof *(vec)->items)
    PUT(STORE_SUMS, &summary->sums);
    PUT(STORE_ROWS, &rows);
    PUT(STORE_TEXTS, &writer->texts);
    PUT(STORE_BYTES, &writer->bytes);
    PUT(STORE_HOSTS, &writer->hosts);
    PUT(STORE_LOSSES, &writer->losses);
#undef PUT
    lull_vec_free(&rows);
}

/* ---- the whole ---- */

/* Gives the file its name. */
static bool publish(struct store_writer *writer)
{
    if (!writer->path) {
        return true; /* it is a part, which never has one */
    }
    if (fdatasync(writer->fd) != 0) {
        return false;
    }
    if (!writer->has_draft) {
        g_autofree char *proc = g_strdup_printf("/proc/self/fd/%d", writer->fd);
        if (linkat(AT_FDCWD, proc, AT_FDCWD, writer->draft, AT_SYMLINK_FOLLOW) != 0) {
            return false;
        }
        writer->has_draft = true;
    }
    if (rename(writer->draft, writer->path) != 0) {
        return false;
    }
    writer->has_draft = false;
    return true;
}

bool store_writer_finish(struct store_writer *writer, const uint8_t key[32], int64_t start_ns,
                         int64_t end_ns, GError **error)
{
    struct store_header header = {.magic = STORE_MAGIC,
                                  .version = STORE_VERSION,
                                  .order = STORE_ORDER,
                                  .start_ns = start_ns,
                                  .end_ns = end_ns};
    struct summary summary = {0};
    memcpy(header.key, key, sizeof header.key);
    header.sections[STORE_BLOCKS].offset = sizeof header;
    for (size_t i = 0; i < writer->rows.count; i++) {
        writer_close_row(writer, writer->rows.items[i]);
    }
    end_section(writer, &header.sections[STORE_BLOCKS]);
    if (put_pyramids(writer, &header, &summary)) {
        put_tables(writer, &header, &summary);
    }
    lull_vec_free(&summary.sums);
    header.sum = store_sum(&header, offsetof(struct store_header, sum));
    writer_flush(writer);
    bool is_done = !writer->failure;
    if (is_done && pwrite(writer->fd, &header, sizeof header, 0) != (ssize_t)sizeof header) {
        is_done = false;
    }
    const int reason = writer->failure ? writer->failure : errno;
    if (!is_done || !publish(writer)) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_IO, "cannot write “%s”: %s", writer->path,
                    g_strerror(is_done ? errno : reason));
        return false;
    }
    return true;
}
