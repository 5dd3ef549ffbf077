/* SPDX-License-Identifier: MIT */
/* Fuzz target: the bytes of a store, whose sums are set right, so that what they say is looked at. A
 * store is refused, or each of its rows can be asked everything. */
#include <sys/mman.h>
#include <unistd.h>

#include <lull/path.h>

#include "store/format.h"
#include "store/store.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The sums of sections and blocks, as far as they lie within. */
static void set_sums(uint8_t *bytes, size_t size)
{
    struct store_header header;
    memcpy(&header, bytes, sizeof header);
    const struct store_range *index = &header.sections[STORE_INDEX];
    for (uint64_t at = 0; index->offset <= size && index->size <= size - index->offset &&
                          at + sizeof(struct store_block) <= index->size;
         at += sizeof(struct store_block)) {
        struct store_block block;
        memcpy(&block, bytes + index->offset + at, sizeof block);
        if (block.offset <= size - sizeof header &&
            block.size <= size - sizeof header - block.offset) {
            block.sum = (uint32_t)store_sum(bytes + sizeof header + block.offset, block.size);
            memcpy(bytes + index->offset + at, &block, sizeof block);
        }
    }
    for (unsigned s = 1; s < STORE_SECTIONS; s++) {
        struct store_range *range = &header.sections[s];
        if (range->offset <= size && range->size <= size - range->offset) {
            range->sum = store_sum(bytes + range->offset, range->size);
        }
    }
    memcpy(header.magic, STORE_MAGIC, sizeof header.magic);
    header.version = STORE_VERSION;
    header.order = STORE_ORDER;
    header.sum = store_sum(&header, offsetof(struct store_header, sum));
    memcpy(bytes, &header, sizeof header);
}

static void ask(const struct lull_store *store, uint32_t row)
{
    enum { COLUMNS = 16 };
    uint8_t shares[COLUMNS * LULL_STORE_STATES];
    int64_t totals[LULL_STORE_STATES], start_ns, end_ns, last_ns;
    const struct lull_store_row about = lull_store_row(store, row);
    g_assert_nonnull(about.name);
    g_assert_cmpuint(about.host, <, lull_store_host_count(store));
    lull_store_range(store, &start_ns, &end_ns);
    last_ns = start_ns;
    struct lull_store_cursor cursor;
    const struct lull_store_interval *interval;
    if (lull_store_seek(store, row, INT64_MIN, &cursor, NULL)) {
        while ((interval = lull_store_next(&cursor, NULL))) {
            g_assert_cmpint(interval->start_ns, ==, last_ns);
            g_assert_cmpint(interval->end_ns, >, last_ns);
            g_assert_cmpint(interval->state, <, LULL_STORE_STATES);
            lull_store_text(store, interval->label);
            last_ns = interval->end_ns;
        }
    }
    lull_store_totals(store, row, start_ns, about.active_ns, totals, NULL);
    const int64_t times_ns[] = {INT64_MIN, start_ns, about.active_ns, end_ns, INT64_MAX};
    unsigned __int128 amounts[G_N_ELEMENTS(times_ns)];
    lull_store_amounts(store, row, times_ns, G_N_ELEMENTS(times_ns), amounts, NULL);
    for (unsigned shift = 0; shift < 63; shift += 3) {
        lull_store_columns(store, row, (about.active_ns >> shift) - 2, shift, COLUMNS, shares,
                           NULL);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < sizeof(struct store_header)) {
        return 0;
    }
    uint8_t *bytes = g_memdup2(data, size);
    set_sums(bytes, size);
    const int fd = memfd_create("store", MFD_CLOEXEC);
    g_assert_cmpint(write(fd, bytes, size), ==, (ssize_t)size);
    g_autofree char *path = g_strdup_printf("/proc/self/fd/%d", fd);
    GError *error = NULL;
    struct lull_store *store = lull_store_open(path, NULL, &error);
    g_assert_true(!store == (error != NULL));
    for (uint32_t row = 0; store && row < MIN(lull_store_row_count(store), 64); row++) {
        ask(store, row);
    }
    lull_store_free(store);
    g_clear_error(&error);
    close(fd);
    g_free(bytes);
    return 0;
}
