/* SPDX-License-Identifier: MIT */
/* Answers of a store: intervals in order, exact sums of a range, shares by column. A query costs its
 * columns and a search in the index; where the pyramid is too coarse, a few intervals a column. */
#include "store/block.h"
#include "store/meter.h"
#include "store/pyramid.h"
#include "store/read_private.h"

static const char WRONG_SUM[] = "the sum of a block is wrong", NOT_WHOLE[] = "a block is not whole";

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

static const uint8_t *bytes_of(const struct lull_store *store, uint64_t block)
{
    return store->data + store->header.sections[STORE_BLOCKS].offset + store->index[block].offset;
}

static bool is_damaged(const struct lull_store *store, const uint8_t *bytes, const char *what,
                       GError **error)
{
    return store_damaged(store, (uint64_t)(bytes - store->data), what, error);
}

/* Where a block must end: where the next one of the row starts. */
static int64_t end_of(const struct lull_store *store, const struct store_row *row, uint64_t block)
{
    return block + 1 < row->first_block + row->n_blocks ? store->index[block + 1].start_ns
                                                        : store->header.end_ns;
}

static bool load(struct lull_store_cursor *cursor, uint64_t block, GError **error)
{
    const struct lull_store *store = cursor->store;
    const struct store_block *at = &store->index[block];
    const uint8_t *bytes = bytes_of(store, block);
    cursor->block = block;
    cursor->at = cursor->count = 0;
    if (!is_sound(store, block, bytes)) {
        return is_damaged(store, bytes, WRONG_SUM, error);
    }
    const uint32_t count = store_block_decode(bytes, at->size, at->start_ns, cursor->intervals);
    if (count == 0 ||
        cursor->intervals[count - 1].end_ns != end_of(store, &store->rows[cursor->row], block)) {
        return is_damaged(store, bytes, NOT_WHOLE, error);
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
    uint8_t *shares; /* of all columns */
    uint32_t at, count;
    unsigned shift;
    int64_t start_ns, end_ns;
    int64_t ns[STORE_STATES];
};

/* Columns that overlap the last ns there is end with it. */
static void move_to(struct column *column, uint32_t at, int64_t start_ns)
{
    column->at = at;
    column->start_ns = start_ns;
    if (__builtin_add_overflow(start_ns, INT64_C(1) << column->shift, &column->end_ns)) {
        column->end_ns = INT64_MAX;
    }
}

static void close_column(struct column *column)
{
    pyramid_shares(column->ns, column->shift, column->shares + (size_t)column->at * STORE_STATES);
    memset(column->ns, 0, sizeof column->ns);
    move_to(column, column->at + 1, column->end_ns);
}

/* Columns with nothing but one state, up to end_ns. */
static void fill_columns(struct column *column, int64_t end_ns, unsigned state)
{
    const uint64_t whole = ((uint64_t)end_ns - (uint64_t)column->start_ns) >> column->shift;
    const uint32_t n = (uint32_t)MIN(whole, (uint64_t)(column->count - column->at));
    uint8_t *at = column->shares + (size_t)column->at * STORE_STATES;
    memset(at, 0, (size_t)n * STORE_STATES);
    for (uint32_t i = 0; i < n; i++) {
        at[(size_t)i * STORE_STATES + state] = UINT8_MAX;
    }
    move_to(column, column->at + n,
            (int64_t)((uint64_t)column->start_ns + ((uint64_t)n << column->shift)));
}

/* Adds what lies within the columns of a piece that ends behind the column. */
static void add_long(struct column *column, int64_t start_ns, int64_t end_ns, unsigned state)
{
    while (start_ns < end_ns && column->at < column->count) {
        if (start_ns == column->start_ns && end_ns > column->end_ns) {
            fill_columns(column, end_ns, state);
            start_ns = column->start_ns;
            continue;
        }
        const int64_t piece_ns = MIN(column->end_ns, end_ns);
        column->ns[state] += piece_ns - start_ns;
        start_ns = piece_ns;
        if (piece_ns == column->end_ns) {
            close_column(column);
        }
    }
}

/* Adds the piece that comes next. */
static inline void add_piece(struct column *column, int64_t start_ns, int64_t end_ns,
                             unsigned state)
{
    start_ns = MAX(start_ns, column->start_ns);
    if (end_ns < column->end_ns) {
        column->ns[state] += end_ns > start_ns ? end_ns - start_ns : 0;
    } else {
        add_long(column, start_ns, end_ns, state);
    }
}

/* Adds the intervals of a block, with no look at their labels. */
static bool add_block(const struct lull_store *store, const struct store_row *row, uint64_t block,
                      struct column *column, GError **error)
{
    const uint8_t *bytes = bytes_of(store, block), *p = bytes;
    const uint8_t *end = bytes + store->index[block].size;
    int64_t time_ns = store->index[block].start_ns;
    if (!is_sound(store, block, bytes)) {
        return is_damaged(store, bytes, WRONG_SUM, error);
    }
    while (p < end) {
        struct store_fields fields;
        const int64_t start_ns = time_ns;
        if (!store_fields_next(&p, end, &time_ns, &fields)) {
            return is_damaged(store, bytes, NOT_WHOLE, error);
        }
        add_piece(column, start_ns, time_ns, (unsigned)fields.state);
    }
    return time_ns == end_of(store, row, block) || is_damaged(store, bytes, NOT_WHOLE, error);
}

static bool add_up(const struct lull_store *store, const struct store_row *row, int64_t first,
                   unsigned shift, uint32_t count, uint8_t *shares, GError **error)
{
    struct column column = {.shares = shares, .count = count, .shift = shift};
    move_to(&column, 0, (int64_t)((uint64_t)first << shift));
    add_piece(&column, INT64_MIN, store->header.start_ns, row->before);
    const uint64_t last = row->first_block + row->n_blocks;
    for (uint64_t block = find_block(store, row, column.start_ns);
         block < last && column.at < count; block++) {
        if (!add_block(store, row, block, &column, error)) {
            return false;
        }
    }
    add_piece(&column, store->header.end_ns, INT64_MAX, row->after);
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
        return add_up(store, about, first, shift, count, shares, error);
    }
    fill_outside(about, first, shift, count, shares);
    copy_bins(store, about, first, shift - about->shift, count, shares);
    return true;
}
