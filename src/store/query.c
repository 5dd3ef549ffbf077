/* SPDX-License-Identifier: MIT */
/* Answers of a store: intervals in order, exact sums of a range, shares by column. A query costs its
 * columns and a search in the index; where the pyramid is too coarse, a few intervals a column. */
#include "store/block.h"
#include "store/meter.h"
#include "store/pyramid.h"
#include "store/read_private.h"

/* ---- intervals ---- */

/* Adds up a block once: what was right is not looked at again. Threads may do so at the same time. */
static bool is_sound(const struct lull_store *store, uint64_t block, const uint8_t *bytes)
{
    uint8_t *at = &store->sound[block / 8];
    const uint8_t bit = (uint8_t)(1U << block % 8);
    if (__atomic_load_n(at, __ATOMIC_RELAXED) & bit) {
        return true;
    }
    if ((uint32_t)store_sum(bytes, store->index[block].size) != store->index[block].sum) {
        return false;
    }
    __atomic_fetch_or(at, bit, __ATOMIC_RELAXED);
    return true;
}

/* Decodes a block, which must end where the next one starts. */
static bool load(struct lull_store_cursor *cursor, uint64_t block, GError **error)
{
    const struct lull_store *store = cursor->store;
    const struct store_row *row = &store->rows[cursor->row];
    const struct store_block *at = &store->index[block];
    const uint64_t offset = store->header.sections[STORE_BLOCKS].offset + at->offset;
    const uint8_t *bytes = store->data + offset;
    const int64_t end_ns = block + 1 < row->first_block + row->n_blocks
                               ? store->index[block + 1].start_ns
                               : store->header.end_ns;
    cursor->block = block;
    cursor->at = cursor->count = 0;
    if (!is_sound(store, block, bytes)) {
        return store_damaged(store, offset, "the sum of a block is wrong", error);
    }
    const uint32_t count = store_block_decode(bytes, at->size, at->start_ns, cursor->intervals);
    if (count == 0 || cursor->intervals[count - 1].end_ns != end_ns) {
        return store_damaged(store, offset, "a block is not whole", error);
    }
    cursor->count = count;
    return true;
}

/* The last block of the row that starts at time_ns or before, or the first. */
static uint64_t find_block(const struct lull_store *store, const struct store_row *row,
                           int64_t time_ns)
{
    uint64_t low = row->first_block, high = row->first_block + row->n_blocks;
    while (high - low > 1) {
        const uint64_t middle = low + (high - low) / 2;
        if (store->index[middle].start_ns <= time_ns) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

bool lull_store_seek(const struct lull_store *store, uint32_t row, int64_t time_ns,
                     struct lull_store_cursor *cursor, GError **error)
{
    const struct store_row *about = &store->rows[row];
    cursor->store = store;
    cursor->row = row;
    cursor->at = cursor->count = 0;
    cursor->block = about->first_block;
    if (about->n_blocks == 0) {
        return true;
    }
    if (!load(cursor, find_block(store, about, time_ns), error)) {
        return false;
    }
    while (cursor->at + 1 < cursor->count && cursor->intervals[cursor->at].end_ns <= time_ns) {
        cursor->at++;
    }
    return true;
}

const struct lull_store_interval *lull_store_next(struct lull_store_cursor *cursor, GError **error)
{
    const struct store_row *row = &cursor->store->rows[cursor->row];
    if (cursor->at == cursor->count) {
        if (cursor->count == 0 || cursor->block + 1 >= row->first_block + row->n_blocks ||
            !load(cursor, cursor->block + 1, error)) {
            return NULL;
        }
    }
    return &cursor->intervals[cursor->at++];
}

/* ---- sums ---- */

/* How long in each state from the start of the row to time_ns. */
static bool sum_until(const struct lull_store *store, uint32_t row, int64_t time_ns,
                      int64_t sums[STORE_STATES], GError **error)
{
    const struct store_row *about = &store->rows[row];
    struct lull_store_cursor cursor = {.store = store, .row = row};
    memset(sums, 0, STORE_STATES * sizeof *sums);
    if (about->n_blocks == 0 || time_ns <= store->header.start_ns) {
        return true;
    }
    uint64_t block = find_block(store, about, time_ns) - about->first_block;
    block -= block % STORE_SUM_EVERY;
    memcpy(sums, store->sums[about->first_sum + block / STORE_SUM_EVERY].ns,
           STORE_STATES * sizeof *sums);
    if (!load(&cursor, about->first_block + block, error)) {
        return false;
    }
    GError *failure = NULL;
    const struct lull_store_interval *interval;
    while ((interval = lull_store_next(&cursor, &failure)) && interval->start_ns < time_ns) {
        sums[interval->state] += MIN(interval->end_ns, time_ns) - interval->start_ns;
    }
    if (failure) {
        g_propagate_error(error, failure);
    }
    return !failure;
}

bool lull_store_totals(const struct lull_store *store, uint32_t row, int64_t start_ns,
                       int64_t end_ns, int64_t totals[LULL_STORE_STATES], GError **error)
{
    int64_t before[STORE_STATES];
    if (!sum_until(store, row, MAX(end_ns, start_ns), totals, error) ||
        !sum_until(store, row, start_ns, before, error)) {
        return false;
    }
    for (unsigned s = 0; s < STORE_STATES; s++) {
        totals[s] -= before[s];
    }
    return true;
}

/* ---- amounts ---- */

/* Goes to the last sum before time_ns, if that is not behind the cursor. */
static bool skip_to(struct lull_store_cursor *cursor, int64_t time_ns, unsigned __int128 *amount,
                    GError **error)
{
    const struct lull_store *store = cursor->store;
    const struct store_row *row = &store->rows[cursor->row];
    uint64_t block = find_block(store, row, time_ns) - row->first_block;
    block -= block % STORE_SUM_EVERY;
    if (cursor->count && row->first_block + block <= cursor->block) {
        return true;
    }
    const struct store_sum *sum = &store->sums[row->first_sum + block / STORE_SUM_EVERY];
    *amount = (unsigned __int128)sum->amount[1] << 64 | sum->amount[0];
    return load(cursor, row->first_block + block, error);
}

bool lull_store_amounts(const struct lull_store *store, uint32_t row, const int64_t *times_ns,
                        uint32_t count, unsigned __int128 *amounts, GError **error)
{
    const struct meter meter = meter_of((enum lull_store_kind)store->rows[row].kind);
    struct lull_store_cursor cursor = {.store = store, .row = row};
    unsigned __int128 before = 0; /* the interval that is next */
    GError *failure = NULL;
    for (uint32_t i = 0; i < count; i++) {
        const struct lull_store_interval *interval = NULL;
        if (store->rows[row].n_blocks && times_ns[i] > store->header.start_ns &&
            !skip_to(&cursor, times_ns[i], &before, error)) {
            return false;
        }
        while (times_ns[i] > store->header.start_ns &&
               (interval = lull_store_next(&cursor, &failure)) && interval->end_ns <= times_ns[i]) {
            before += meter_amount(meter, interval, interval->end_ns);
        }
        if (failure) {
            g_propagate_error(error, failure);
            return false;
        }
        amounts[i] = before;
        if (interval) { /* it goes on */
            amounts[i] += meter_amount(meter, interval, times_ns[i]);
            cursor.at--;
        }
    }
    return true;
}

/* ---- shares ---- */

/* Columns that the row is not active in. */
static void fill_outside(const struct store_row *row, int64_t first, unsigned shift, uint32_t count,
                         uint8_t *shares)
{
    memset(shares, 0, (size_t)count * STORE_STATES);
    for (uint32_t i = 0; i < count; i++) {
        const bool is_before = first + i < row->active_ns >> shift;
        shares[(size_t)i * STORE_STATES + (is_before ? row->before : row->after)] = 255;
    }
}

static void copy_bins(const struct lull_store *store, const struct store_row *row, int64_t first,
                      unsigned level, uint32_t count, uint8_t *shares)
{
    const uint8_t *at = store->data + store->header.sections[STORE_PYRAMIDS].offset + row->pyramid;
    int64_t bin;
    for (unsigned l = 0; l < level; l++) {
        at += pyramid_bins(row, row->shift + l, &bin) * STORE_STATES;
    }
    const int64_t end = (int64_t)pyramid_bins(row, row->shift + level, &bin) + bin;
    const int64_t from = CLAMP(first, bin, end), to = CLAMP(first + count, bin, end);
    if (to > from) {
        memcpy(shares + (from - first) * STORE_STATES, at + (from - bin) * STORE_STATES,
               (size_t)(to - from) * STORE_STATES);
    }
}

/* The intervals of one column add up; the next column starts. */
struct column {
    int64_t ns[STORE_STATES];
    uint32_t at;
};

static void close_column(struct column *column, unsigned shift, uint8_t *shares)
{
    pyramid_shares(column->ns, shift, shares + (size_t)column->at * STORE_STATES);
    memset(column->ns, 0, sizeof column->ns);
    column->at++;
}

/* Columns with nothing but one state, from one that starts at start_ns. Where they end. */
static int64_t fill_columns(struct column *column, unsigned shift, uint32_t count, int64_t start_ns,
                            int64_t end_ns, unsigned state, uint8_t *shares)
{
    const uint64_t whole = ((uint64_t)end_ns - (uint64_t)start_ns) >> shift;
    const uint32_t n = (uint32_t)MIN(whole, (uint64_t)(count - column->at));
    uint8_t *at = shares + (size_t)column->at * STORE_STATES;
    memset(at, 0, (size_t)n * STORE_STATES);
    for (uint32_t i = 0; i < n; i++) {
        at[(size_t)i * STORE_STATES + state] = UINT8_MAX;
    }
    column->at += n;
    return start_ns + (int64_t)((uint64_t)n << shift);
}

/* Adds what lies within the columns. */
static void add_piece(struct column *column, int64_t first, unsigned shift, uint32_t count,
                      int64_t start_ns, int64_t end_ns, unsigned state, uint8_t *shares)
{
    const int64_t origin_ns = (int64_t)((uint64_t)first << shift);
    start_ns = MAX(start_ns, origin_ns + (int64_t)((uint64_t)column->at << shift));
    while (start_ns < end_ns && column->at < count) {
        const int64_t column_ns = origin_ns + (int64_t)((uint64_t)column->at << shift);
        if (start_ns == column_ns && (uint64_t)end_ns - (uint64_t)start_ns >= UINT64_C(1)
                                                                                  << shift) {
            start_ns = fill_columns(column, shift, count, start_ns, end_ns, state, shares);
            continue;
        }
        const int64_t edge_ns = origin_ns + (int64_t)(((uint64_t)column->at + 1) << shift);
        const int64_t piece_ns = MIN(edge_ns, end_ns);
        column->ns[state] += piece_ns - start_ns;
        start_ns = piece_ns;
        if (piece_ns == edge_ns) {
            close_column(column, shift, shares);
        }
    }
}

static bool add_up(const struct lull_store *store, uint32_t row, int64_t first, unsigned shift,
                   uint32_t count, uint8_t *shares, GError **error)
{
    const struct store_row *about = &store->rows[row];
    const int64_t start_ns = (int64_t)((uint64_t)first << shift);
    const int64_t end_ns = start_ns + (int64_t)((uint64_t)count << shift);
    struct lull_store_cursor cursor;
    struct column column = {0};
    const struct lull_store_interval *interval;
    GError *failure = NULL;
    add_piece(&column, first, shift, count, INT64_MIN, store->header.start_ns, about->before,
              shares);
    if (!lull_store_seek(store, row, MAX(start_ns, store->header.start_ns), &cursor, error)) {
        return false;
    }
    while (column.at < count && (interval = lull_store_next(&cursor, &failure)) &&
           interval->start_ns < end_ns) {
        add_piece(&column, first, shift, count, interval->start_ns, interval->end_ns,
                  interval->state, shares);
    }
    if (failure) {
        g_propagate_error(error, failure);
        return false;
    }
    add_piece(&column, first, shift, count, store->header.end_ns, INT64_MAX, about->after, shares);
    return true;
}

bool lull_store_columns(const struct lull_store *store, uint32_t row, int64_t first, unsigned shift,
                        uint32_t count, uint8_t *shares, GError **error)
{
    const struct store_row *about = &store->rows[row];
    int64_t last, end_ns;
    if (shift > 61 || __builtin_add_overflow(first, (int64_t)count, &last) ||
        __builtin_mul_overflow(last, INT64_C(1) << shift, &end_ns) ||
        __builtin_mul_overflow(first, INT64_C(1) << shift, &end_ns)) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_USAGE, "columns of 2^%u ns do not reach that far",
                    shift);
        return false;
    }
    if (about->levels == 0 || shift < about->shift || shift >= about->shift + about->levels) {
        return add_up(store, row, first, shift, count, shares, error);
    }
    fill_outside(about, first, shift, count, shares);
    copy_bins(store, about, first, shift - about->shift, count, shares);
    return true;
}
