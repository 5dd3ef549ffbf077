/* SPDX-License-Identifier: MIT */
/* Rows as the page draws them: for each column of time the three states that took most of it, and
 * exactly what is many columns wide. */
#include "server/view.h"

#include <inttypes.h>
#include <string.h>

#include "base/json.h"

enum { STATES_SENT = 3, WIDE_COLUMNS = 12 };

struct server_picture {
    const struct served *served;
    unsigned shift;
    int64_t first; /* column */
    uint32_t count;
};

static void append_u32(GString *out, uint32_t value)
{
    const uint32_t little = GUINT32_TO_LE(value);
    g_string_append_len(out, (const char *)&little, sizeof little);
}

static void append_double(GString *out, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    bits = GUINT64_TO_LE(bits);
    g_string_append_len(out, (const char *)&bits, sizeof bits);
}

static bool is_drawn(unsigned state)
{
    return state != LULL_STORE_UNKNOWN && state != LULL_STORE_NONE;
}

/* Keeps the states with the largest shares; of equal ones, the first. */
static void insert(uint8_t share, unsigned state, uint8_t states[STATES_SENT],
                   uint8_t most[STATES_SENT])
{
    unsigned at = is_drawn(state) ? STATES_SENT : 0;
    if (at == 0 || share <= most[STATES_SENT - 1]) {
        return;
    }
    for (; at > 0 && share > most[at - 1]; at--) {
        if (at < STATES_SENT) {
            most[at] = most[at - 1];
            states[at] = states[at - 1];
        }
    }
    most[at] = share;
    states[at] = (uint8_t)state;
}

/* The states with the largest shares, largest first; what is not drawn is left out. `half` is the
 * shares of eight states from `state` on, of which few occur: it goes from one to the next. */
static void pick(uint64_t half, unsigned state, uint8_t states[STATES_SENT],
                 uint8_t most[STATES_SENT])
{
    for (half = GUINT64_FROM_LE(half); half;) {
        const unsigned bit = (unsigned)__builtin_ctzll(half) & ~7U;
        insert((uint8_t)(half >> bit), state + bit / 8, states, most);
        half &= ~(UINT64_C(0xff) << bit);
    }
}

/* Of each column. Many are as the one before them. */
static void pick_all(const uint8_t *shares, uint32_t count, uint8_t *out)
{
    uint8_t states[STATES_SENT] = {0}, most[STATES_SENT] = {0};
    uint64_t last[2] = {0, 0};
    for (uint32_t c = 0; c < count; c++) {
        uint64_t low, high;
        memcpy(&low, shares + (size_t)c * LULL_STORE_STATES, sizeof low);
        memcpy(&high, shares + (size_t)c * LULL_STORE_STATES + sizeof low, sizeof high);
        if (low != last[0] || high != last[1]) {
            memset(states, 0, sizeof states);
            memset(most, 0, sizeof most);
            pick(low, 0, states, most);
            pick(high, 8, states, most);
            last[0] = low;
            last[1] = high;
        }
        for (unsigned i = 0; i < STATES_SENT; i++) {
            out[(size_t)(2 * i) * count + c] = states[i];
            out[(size_t)(2 * i + 1) * count + c] = most[i];
        }
    }
}

/* The only state of a column, or -1. */
static int only_state(const uint8_t *shares)
{
    const uint8_t *found = memchr(shares, UINT8_MAX, LULL_STORE_STATES);
    return found && is_drawn((unsigned)(found - shares)) ? (int)(found - shares) : -1;
}

static void append_wide(const struct served *served, uint32_t index, enum lull_store_kind kind,
                        const struct lull_store_interval *at, GString *out)
{
    const char *label = server_label_of(served, kind, at);
    g_string_append_printf(out, "%s[%u,%u,%" PRId64 ",%" PRId64,
                           out->str[out->len - 1] == '[' ? "" : ",", index, at->state,
                           at->start_ns - served->start_ns, at->end_ns - served->start_ns);
    if (label) {
        g_string_append_c(out, ',');
        lull_json_append(out, label, strlen(label));
    }
    g_string_append_c(out, ']');
}

/* Appends what is in the middle of column `c` if it is wide. Goes on to where to look next: behind it,
 * or no farther than `end`. */
static bool append_if_wide(const struct server_picture *picture, uint32_t index, uint32_t row,
                           uint32_t *c, uint32_t end, GString *out, GError **error)
{
    const struct lull_store *store = picture->served->store;
    const int64_t width_ns = INT64_C(1) << picture->shift;
    const int64_t time_ns = (picture->first + *c) * width_ns + width_ns / 2;
    struct lull_store_cursor cursor;
    GError *failure = NULL;
    const struct lull_store_interval *at = lull_store_seek(store, row, time_ns, &cursor, &failure)
                                               ? lull_store_next(&cursor, &failure)
                                               : NULL;
    if (failure) {
        g_propagate_error(error, failure);
        return false;
    }
    int64_t next = MIN((int64_t)*c + WIDE_COLUMNS / 2, (int64_t)end);
    if (at && at->end_ns > time_ns && is_drawn(at->state) &&
        at->end_ns - at->start_ns >= WIDE_COLUMNS * width_ns) {
        append_wide(picture->served, index, lull_store_row(store, row).kind, at, out);
        next = ((at->end_ns - 1) >> picture->shift) - picture->first + 1;
    }
    *c = (uint32_t)CLAMP(next, (int64_t)*c + 1, (int64_t)picture->count);
    return true;
}

/* A wide one fills columns that are next to each other, but for its first and last one. There it is
 * looked for twice in its width. */
static bool append_wide_ones(const struct server_picture *picture, uint32_t index, uint32_t row,
                             const uint8_t *shares, GString *out, GError **error)
{
    for (uint32_t c = 0; c < picture->count;) {
        const uint8_t *first = shares + (size_t)c * LULL_STORE_STATES;
        uint32_t end = c + 1;
        while (end < picture->count &&
               memcmp(first, shares + (size_t)end * LULL_STORE_STATES, LULL_STORE_STATES) == 0) {
            end++;
        }
        const bool is_long = end - c >= WIDE_COLUMNS - 1 || c == 0 || end == picture->count;
        if (!is_long || only_state(first) < 0) {
            c = end;
        }
        while (c < end) {
            if (!append_if_wide(picture, index, row, &c, end, out, error)) {
                return false;
            }
        }
    }
    return true;
}

/* The widest columns of which `most` are enough. */
static struct server_picture plan(const struct served *served, int64_t start_ns, int64_t end_ns,
                                  uint32_t most)
{
    struct server_picture picture = {.served = served};
    while (picture.shift < 61 &&
           ((uint64_t)(end_ns - 1) - (uint64_t)start_ns) >> picture.shift >= most) {
        picture.shift++;
    }
    picture.first = start_ns >> picture.shift;
    picture.count = (uint32_t)(((end_ns - 1) >> picture.shift) - picture.first + 1);
    return picture;
}

bool server_columns(const struct served *served, int64_t start_ns, int64_t end_ns, uint32_t most,
                    const uint32_t *rows, uint32_t n_rows, GString *out, GError **error)
{
    const struct server_picture picture = plan(served, start_ns, end_ns, most);
    g_autoptr(GString) wide = g_string_new("[");
    const size_t row_size = (size_t)picture.count * 2 * STATES_SENT;
    g_autofree uint8_t *shares = g_malloc((size_t)picture.count * LULL_STORE_STATES);
    append_u32(out, SERVER_COLUMNS_MAGIC);
    append_u32(out, n_rows);
    append_u32(out, picture.count);
    append_u32(out, picture.shift);
    append_double(out, (double)((picture.first << picture.shift) - served->start_ns));
    for (uint32_t i = 0; i < n_rows; i++) {
        if (!lull_store_columns(served->store, rows[i], picture.first, picture.shift, picture.count,
                                shares, error)) {
            return false;
        }
        const size_t at = out->len;
        g_string_set_size(out, at + row_size);
        pick_all(shares, picture.count, (uint8_t *)out->str + at);
        if (!append_wide_ones(&picture, i, rows[i], shares, wide, error)) {
            return false;
        }
    }
    g_string_append_len(out, wide->str, (gssize)wide->len);
    g_string_append_c(out, ']');
    return true;
}
