/* SPDX-License-Identifier: MIT */
/* The store's file: what is written, also after cuts, is what is read; sums and shares are those of
 * the intervals; a changed byte is refused or changes nothing. */
#include <glib/gstdio.h>

#include <lull/path.h>

#include "base/vec.h"
#include "store/store.h"
#include "store/writer.h"

enum { INTERVALS = 40000, FEWER = 9000, ROWS = 4, START = 1000003, STATES = LULL_STORE_STATES };

struct truth {
    LULL_VEC(struct lull_store_interval) rows[ROWS];
    int64_t end_ns;
    char *dir, *path;
};

static const uint8_t key[32] = "what it was made of";

/* Appends as the writer should: equal neighbours are one. */
static void put(struct truth *truth, struct store_writer *writer, uint32_t row, int64_t end_ns,
                unsigned state, uint32_t label)
{
    __auto_type line = &truth->rows[row];
    const int64_t start_ns = line->count ? line->items[line->count - 1].end_ns : START;
    struct lull_store_interval *last = line->count ? &line->items[line->count - 1] : NULL;
    if (last && last->state == state && last->label == label && last->evidence == row) {
        last->end_ns = end_ns;
    } else {
        lull_vec_push(line, (struct lull_store_interval){start_ns, end_ns, state, label, row});
    }
    store_writer_append(writer, row, end_ns, state, label, row);
}

/* Takes the last part back. */
static void cut(struct truth *truth, struct store_writer *writer, uint32_t row, int64_t time_ns)
{
    __auto_type line = &truth->rows[row];
    while (line->count && line->items[line->count - 1].start_ns >= time_ns) {
        line->count--;
    }
    if (line->count && line->items[line->count - 1].end_ns > time_ns) {
        line->items[line->count - 1].end_ns = time_ns;
    }
    store_writer_cut(writer, row, time_ns);
}

/* Row 0 is dense in one place, 1 even, 2 short, 3 a single interval. */
static struct truth make(uint32_t seed, uint32_t n)
{
    struct truth truth = {.dir = g_dir_make_tmp("lull-store-XXXXXX", NULL)};
    truth.path = g_build_filename(truth.dir, "store", NULL);
    GRand *dice = g_rand_new_with_seed(seed);
    GError *error = NULL;
    struct store_writer *writer = store_writer_new(truth.path, &error);
    g_assert_no_error(error);
    store_writer_host(writer, "host", START, START + 5);
    const uint32_t name = store_writer_text(writer, "name");
    int64_t now_ns[ROWS];
    for (uint32_t row = 0; row < ROWS; row++) {
        const struct store_row about = {.kind = LULL_STORE_TASK, .name = name, .cpu = -1};
        g_assert_cmpuint(store_writer_row(writer, &about, START), ==, row);
        now_ns[row] = START;
    }
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t row = i % 3 == 2 && i < 200 ? 2 : i % 2;
        const uint32_t most = row == 0 && (i < 3000 || i > 6000) ? 2000 : 40;
        const bool is_deep = i % 20000 == 19998; /* back into blocks that are no longer in memory */
        if (is_deep || g_rand_int_range(dice, 0, 100) == 0) {
            const int64_t back_ns = is_deep ? 7000 * 1000 : g_rand_int_range(dice, 0, 1500);
            now_ns[row] = MAX(START + 1, now_ns[row] - back_ns);
            cut(&truth, writer, row, now_ns[row]);
        }
        now_ns[row] += g_rand_int_range(dice, 1, (gint32)most);
        put(&truth, writer, row, now_ns[row], (unsigned)g_rand_int_range(dice, 0, STATES),
            i % 5 ? LULL_NONE : name);
        truth.end_ns = MAX(truth.end_ns, now_ns[row]);
    }
    truth.end_ns += 100;
    for (uint32_t row = 0; row < ROWS; row++) {
        put(&truth, writer, row, truth.end_ns, LULL_STORE_NONE, LULL_NONE);
    }
    g_assert_true(store_writer_finish(writer, key, START, truth.end_ns, &error));
    g_assert_no_error(error);
    store_writer_free(writer);
    g_rand_free(dice);
    return truth;
}

static void clear(struct truth *truth)
{
    for (uint32_t row = 0; row < ROWS; row++) {
        lull_vec_free(&truth->rows[row]);
    }
    g_unlink(truth->path);
    g_assert_cmpint(g_rmdir(truth->dir), ==, 0); /* nothing else was left */
    g_free(truth->path);
    g_free(truth->dir);
}

static bool is_same(const struct lull_store_interval *a, const struct lull_store_interval *b)
{
    return a->start_ns == b->start_ns && a->end_ns == b->end_ns && a->state == b->state &&
           a->label == b->label && a->evidence == b->evidence;
}

/* False with an error; true if all intervals are those of the truth. */
static bool walk(const struct truth *truth, const struct lull_store *store, GError **error)
{
    for (uint32_t row = 0; row < ROWS; row++) {
        struct lull_store_cursor cursor;
        GError *failure = NULL;
        size_t n = 0;
        const struct lull_store_interval *found = NULL;
        if (lull_store_seek(store, row, INT64_MIN, &cursor, &failure)) {
            while ((found = lull_store_next(&cursor, &failure))) {
                g_assert_cmpuint(n, <, truth->rows[row].count);
                g_assert_true(is_same(found, &truth->rows[row].items[n++]));
            }
        }
        if (failure) {
            g_propagate_error(error, failure);
            return false;
        }
        g_assert_cmpuint(n, ==, truth->rows[row].count);
    }
    return true;
}

static struct lull_store *open_store(const struct truth *truth)
{
    GError *error = NULL;
    struct lull_store *store = lull_store_open(truth->path, key, &error);
    g_assert_no_error(error);
    return store;
}

static void test_intervals(void)
{
    struct truth truth = make(1, INTERVALS);
    struct lull_store *store = open_store(&truth);
    GError *error = NULL;
    g_assert_cmpuint(lull_store_row_count(store), ==, ROWS);
    g_assert_cmpstr(lull_store_row(store, 1).name, ==, "name");
    g_assert_cmpuint(truth.rows[1].count, >, 1000);
    g_assert_true(walk(&truth, store, &error));
    lull_store_trim(store, 0); /* what was let go comes again */
    g_assert_true(walk(&truth, store, &error));
    for (uint32_t row = 0; row < ROWS; row++) {
        for (size_t i = 0; i < truth.rows[row].count; i += 7) {
            const struct lull_store_interval *at = &truth.rows[row].items[i];
            const int64_t times[] = {at->start_ns, at->end_ns - 1};
            for (uint32_t t = 0; t < G_N_ELEMENTS(times); t++) {
                struct lull_store_cursor cursor;
                g_assert_true(lull_store_seek(store, row, times[t], &cursor, &error));
                g_assert_true(is_same(lull_store_next(&cursor, &error), at));
            }
        }
    }
    lull_store_free(store);
    clear(&truth);
}

/* By hand: every interval, for every question. */
static void sum_by_hand(const struct truth *truth, uint32_t row, int64_t start_ns, int64_t end_ns,
                        int64_t ns[STATES])
{
    memset(ns, 0, STATES * sizeof *ns);
    for (size_t i = 0; i < truth->rows[row].count; i++) {
        const struct lull_store_interval *at = &truth->rows[row].items[i];
        const int64_t part = MIN(at->end_ns, end_ns) - MAX(at->start_ns, start_ns);
        ns[at->state] += MAX(part, 0);
    }
}

static void test_totals(void)
{
    struct truth truth = make(2, INTERVALS);
    struct lull_store *store = open_store(&truth);
    GRand *dice = g_rand_new_with_seed(3);
    GError *error = NULL;
    for (uint32_t i = 0; i < 400; i++) {
        int64_t found[STATES], expected[STATES];
        const uint32_t row = i % ROWS;
        const int64_t start_ns = g_rand_int_range(dice, START - 50, (gint32)truth.end_ns + 50);
        const int64_t end_ns = g_rand_int_range(dice, (gint32)start_ns, (gint32)truth.end_ns + 99);
        g_assert_true(lull_store_totals(store, row, start_ns, end_ns, found, &error));
        sum_by_hand(&truth, row, start_ns, end_ns, expected);
        g_assert_cmpmem(found, sizeof found, expected, sizeof expected);
    }
    g_rand_free(dice);
    lull_store_free(store);
    clear(&truth);
}

/* What lies outside of the store counts as its edges do, so only columns within are compared. */
static void test_columns(void)
{
    struct truth truth = make(4, INTERVALS);
    struct lull_store *store = open_store(&truth);
    GRand *dice = g_rand_new_with_seed(5);
    uint32_t n_columns = 0;
    GError *error = NULL;
    for (uint32_t i = 0; i < 600; i++) {
        enum { MOST = 40 };
        uint8_t shares[MOST * STATES];
        const uint32_t row = i % ROWS, count = (uint32_t)g_rand_int_range(dice, 1, MOST);
        const unsigned shift = (unsigned)g_rand_int_range(dice, 0, 22);
        const int64_t first = g_rand_int_range(dice, START - 99, (gint32)truth.end_ns) >> shift;
        g_assert_true(lull_store_columns(store, row, first, shift, count, shares, &error));
        for (uint32_t c = 0; c < count; c++) {
            int64_t ns[STATES];
            const int64_t start_ns = (first + c) << shift, end_ns = (first + c + 1) << shift;
            sum_by_hand(&truth, row, start_ns, end_ns, ns);
            for (unsigned s = 0; s < STATES && start_ns >= START && end_ns <= truth.end_ns; s++) {
                const double exact = 255.0 * (double)ns[s] / (double)(end_ns - start_ns);
                n_columns++;
                g_assert_cmpfloat_with_epsilon(shares[c * STATES + s], exact, 1);
                g_assert_cmpint(ns[s] > 0, ==, shares[c * STATES + s] > 0);
            }
        }
    }
    g_assert_cmpuint(n_columns, >, 10000);
    g_assert_false(lull_store_columns(store, 0, INT64_MAX / 4, 10, 1, NULL, &error));
    g_assert_error(error, LULL_ERROR, LULL_ERROR_USAGE);
    g_clear_error(&error);
    g_rand_free(dice);
    lull_store_free(store);
    clear(&truth);
}

/* Without waiting for the disk, as g_file_set_contents() does. */
static bool write_bytes(const char *path, const char *bytes, gsize size)
{
    return g_file_set_contents_full(path, bytes, (gssize)size, G_FILE_SET_CONTENTS_NONE, 0600,
                                    NULL);
}

static void test_damage(void)
{
    struct truth truth = make(6, FEWER);
    char *bytes;
    gsize size;
    uint32_t n_refused = 0;
    g_assert_true(g_file_get_contents(truth.path, &bytes, &size, NULL));
    for (gsize at = 0; at < size; at += at < 400 ? 1 : 61) {
        GError *error = NULL;
        bytes[at] ^= 0x10;
        g_assert_true(write_bytes(truth.path, bytes, size));
        struct lull_store *store = lull_store_open(truth.path, key, &error);
        /* What was taken back lies in the file, and nothing refers to it. */
        const bool is_unseen = store && walk(&truth, store, &error);
        g_assert_true(is_unseen != (error != NULL));
        g_assert_true(error || at > 400);
        g_assert_true(!error || strstr(error->message, truth.path));
        n_refused += error != NULL;
        g_clear_error(&error);
        lull_store_free(store);
        bytes[at] ^= 0x10;
    }
    g_assert_cmpuint(n_refused, >, 700);
    for (gsize cut_at = 0; cut_at < size; cut_at += 997) {
        GError *error = NULL;
        g_assert_true(write_bytes(truth.path, bytes, cut_at));
        g_assert_null(lull_store_open(truth.path, key, &error));
        g_assert_error(error, LULL_ERROR, LULL_ERROR_FORMAT);
        g_clear_error(&error);
    }
    g_free(bytes);
    clear(&truth);
}

static void test_key(void)
{
    struct truth truth = make(7, INTERVALS);
    GError *error = NULL;
    uint8_t other[sizeof key];
    memcpy(other, key, sizeof key);
    other[31]++;
    g_assert_null(lull_store_open(truth.path, other, &error));
    g_assert_error(error, LULL_ERROR, LULL_ERROR_QUESTION);
    g_clear_error(&error);
    struct lull_store *store = lull_store_open(truth.path, NULL, &error);
    g_assert_nonnull(store);
    lull_store_free(store);
    clear(&truth);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/store/intervals", test_intervals);
    g_test_add_func("/store/totals", test_totals);
    g_test_add_func("/store/columns", test_columns);
    g_test_add_func("/store/damage", test_damage);
    g_test_add_func("/store/key", test_key);
    return g_test_run();
}
