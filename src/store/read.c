/* SPDX-License-Identifier: MIT */
/* Opens a store and checks it: all tables here, once; a block when it is read. */
#include "store/read_private.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <lull/path.h>

#include "base/file.h"
#include "store/block.h"
#include "store/pyramid.h"

enum { SUM_PIECE = 16 << 20 /* a multiple of 8 */ };

static const char *const section_names[STORE_SECTIONS] = {
    "blocks", "pyramids", "index", "sums", "rows", "texts", "text bytes", "hosts", "losses"};

bool store_damaged(const struct lull_store *store, uint64_t offset, const char *what,
                   GError **error)
{
    g_set_error(error, LULL_ERROR, LULL_ERROR_FORMAT,
                "“%s” is damaged at byte %" G_GUINT64_FORMAT
                ": %s; 'lull index --rm' removes it, and it is made again when it is needed",
                store->path, offset, what);
    return false;
}

/* ---- header and sections ---- */

static bool check_header(struct lull_store *store, const uint8_t *key, GError **error)
{
    struct store_header *header = &store->header;
    if (store->size < sizeof *header) {
        return store_damaged(store, store->size, "the file ends before its header does", error);
    }
    memcpy(header, store->data, sizeof *header);
    if (memcmp(header->magic, STORE_MAGIC, sizeof header->magic) != 0) {
        return store_damaged(store, 0, "it does not start as a store does", error);
    }
    if (header->version != STORE_VERSION || header->order != STORE_ORDER) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_UNSUPPORTED,
                    "“%s” was made by another version of Lull, or on a machine of another kind",
                    store->path);
        return false;
    }
    if (header->sum != store_sum(header, offsetof(struct store_header, sum))) {
        return store_damaged(store, offsetof(struct store_header, sum),
                             "the sum of its header is wrong", error);
    }
    if (key && memcmp(key, header->key, sizeof header->key) != 0) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_QUESTION,
                    "“%s” was made from traces that have changed since", store->path);
        return false;
    }
    if (header->start_ns > header->end_ns) {
        return store_damaged(store, offsetof(struct store_header, start_ns),
                             "it ends before it starts", error);
    }
    return true;
}

/* A piece at a time, each of which is let go: a large store would fill the memory. */
static uint64_t sum_of(const struct lull_store *store, const struct store_range *range)
{
    uint64_t sum = STORE_SUM_SEED;
    for (uint64_t done = 0; done < range->size; done += SUM_PIECE) {
        const uint64_t n = MIN(range->size - done, (uint64_t)SUM_PIECE);
        sum = store_sum_add(sum, store->data + range->offset + done, n);
        lull_store_trim(store, LULL_STORE_PART_MAPPED_MOST);
    }
    return sum;
}

/* Sections follow each other without anything but zeros between, up to the end of the file. */
static bool check_sections(const struct lull_store *store, GError **error)
{
    uint64_t at = sizeof store->header;
    for (unsigned s = 0; s < STORE_SECTIONS; s++) {
        const struct store_range *range = &store->header.sections[s];
        const uint64_t start = at + (s > 0 ? -at % 8 : 0);
        if (range->offset != start || start > store->size || range->size > store->size - start) {
            return store_damaged(store, at, "a section does not lie where it must", error);
        }
        for (; at < start; at++) {
            if (store->data[at]) {
                return store_damaged(store, at, "there is something between two sections", error);
            }
        }
        at = start + range->size;
        if (s != STORE_BLOCKS && sum_of(store, range) != range->sum) {
            g_autofree char *what =
                g_strdup_printf("the sum of the section “%s” is wrong", section_names[s]);
            return store_damaged(store, start, what, error);
        }
    }
    return at == store->size || store_damaged(store, at, "there is something after its end", error);
}

static bool take(const struct lull_store *store, enum store_section section, size_t item_size,
                 const void **items, uint64_t *count, GError **error)
{
    const struct store_range *range = &store->header.sections[section];
    *items = store->data + range->offset;
    *count = range->size / item_size;
    return (range->size % item_size == 0 && *count < UINT32_MAX) ||
           store_damaged(store, range->offset, "a table has part of a line", error);
}

static bool take_tables(struct lull_store *store, GError **error)
{
    return take(store, STORE_INDEX, sizeof *store->index, (const void **)&store->index,
                &store->n_index, error) &&
           take(store, STORE_SUMS, sizeof *store->sums, (const void **)&store->sums, &store->n_sums,
                error) &&
           take(store, STORE_ROWS, sizeof *store->rows, (const void **)&store->rows, &store->n_rows,
                error) &&
           take(store, STORE_TEXTS, sizeof *store->texts, (const void **)&store->texts,
                &store->n_texts, error) &&
           take(store, STORE_HOSTS, sizeof *store->hosts, (const void **)&store->hosts,
                &store->n_hosts, error) &&
           take(store, STORE_LOSSES, sizeof *store->losses, (const void **)&store->losses,
                &store->n_losses, error);
}

/* ---- what the tables say ---- */

static bool check_texts(const struct lull_store *store, GError **error)
{
    const struct store_range *bytes = &store->header.sections[STORE_BYTES];
    const char *text = (const char *)store->data + bytes->offset;
    for (uint64_t i = 0; i < store->n_texts; i++) {
        const struct store_text *at = &store->texts[i];
        if (at->offset >= bytes->size || at->length >= bytes->size - at->offset ||
            strnlen(text + at->offset, at->length + 1) != at->length) {
            return store_damaged(store, (uint64_t)((const uint8_t *)at - store->data),
                                 "a text does not lie within the texts", error);
        }
    }
    for (uint64_t i = 0; i < store->n_hosts; i++) {
        if (store->hosts[i].name >= store->n_texts) {
            return store_damaged(store, (uint64_t)((const uint8_t *)&store->hosts[i] - store->data),
                                 "a host has no name", error);
        }
    }
    for (uint64_t i = 0; i < store->n_losses; i++) {
        if (store->losses[i].host >= store->n_hosts) {
            return store_damaged(store,
                                 (uint64_t)((const uint8_t *)&store->losses[i] - store->data),
                                 "a loss is on no host", error);
        }
    }
    return true;
}

/* The blocks of a row come in order of time and lie within the blocks. */
static const char *fault_of_index(const struct lull_store *store, const struct store_row *row)
{
    const uint64_t size = store->header.sections[STORE_BLOCKS].size;
    int64_t start_ns = store->header.start_ns;
    for (uint64_t b = 0; b < row->n_blocks; b++) {
        const struct store_block *block = &store->index[row->first_block + b];
        if (block->offset > size || block->size > size - block->offset ||
            block->size > BLOCK_BYTES_MOST) {
            return "a block does not lie within the blocks";
        }
        if (b == 0 ? block->start_ns != start_ns : block->start_ns <= start_ns) {
            return "the blocks of a row are not in order";
        }
        start_ns = block->start_ns;
    }
    return row->n_blocks && start_ns >= store->header.end_ns ? "a block starts after the end"
                                                             : NULL;
}

static const char *fault_of_pyramid(const struct lull_store *store, const struct store_row *row)
{
    uint64_t at = row->pyramid;
    int64_t first;
    if (row->shift + row->levels > PYRAMID_LEVELS_MOST - 1 || row->active_ns >= row->passive_ns) {
        return "a row has a pyramid that cannot be";
    }
    for (unsigned l = 0; l < row->levels; l++) {
        const uint64_t room = store->header.sections[STORE_PYRAMIDS].size;
        const uint64_t bins = pyramid_bins(row, row->shift + l, &first);
        if (at > room || bins > (room - at) / STORE_STATES) {
            return "a pyramid does not lie within the pyramids";
        }
        at += bins * STORE_STATES;
    }
    return NULL;
}

static const char *fault_of_row(const struct lull_store *store, const struct store_row *row,
                                uint64_t first_block, uint64_t first_sum)
{
    const struct store_header *header = &store->header;
    const uint64_t n_sums = (row->n_blocks + STORE_SUM_EVERY - 1) / STORE_SUM_EVERY;
    if (row->kind >= LULL_STORE_KINDS || row->host >= store->n_hosts ||
        row->name >= store->n_texts || row->before >= STORE_STATES || row->after >= STORE_STATES) {
        return "a row is of no kind, host, name or state";
    }
    if (row->first_block != first_block || row->n_blocks > store->n_index - first_block ||
        row->first_sum != first_sum || n_sums > store->n_sums - first_sum) {
        return "a row's blocks do not follow those of the one before";
    }
    if (row->n_intervals > row->n_blocks * STORE_BLOCK ||
        (row->n_blocks == 0) != (header->start_ns == header->end_ns) ||
        row->active_ns < header->start_ns || row->active_ns > row->passive_ns ||
        row->passive_ns > header->end_ns) {
        return "a row has times or counts that cannot be";
    }
    const char *fault = fault_of_index(store, row);
    return fault || !row->levels ? fault : fault_of_pyramid(store, row);
}

static bool check_rows(const struct lull_store *store, GError **error)
{
    uint64_t block = 0, sum = 0;
    for (uint64_t i = 0; i < store->n_rows; i++) {
        const struct store_row *row = &store->rows[i];
        const char *fault = fault_of_row(store, row, block, sum);
        if (fault) {
            return store_damaged(store, (uint64_t)((const uint8_t *)row - store->data), fault,
                                 error);
        }
        block += row->n_blocks;
        sum += (row->n_blocks + STORE_SUM_EVERY - 1) / STORE_SUM_EVERY;
    }
    return (block == store->n_index && sum == store->n_sums) ||
           store_damaged(store, store->header.sections[STORE_INDEX].offset,
                         "there are blocks of no row", error);
}

static bool map(struct lull_store *store, GError **error)
{
    const char *why;
    int fd = -1;
    if (lull_file_open(store->path, &fd, &store->size, &why) != LULL_OPEN_DONE) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_IO, "cannot read “%s”: %s", store->path, why);
        return false;
    }
    void *data = store->size ? mmap(NULL, store->size, PROT_READ, MAP_PRIVATE, fd, 0) : MAP_FAILED;
    close(fd);
    if (data == MAP_FAILED) {
        return store_damaged(store, 0, "it is empty or cannot be mapped", error);
    }
    store->data = data;
    return true;
}

/* How much of files this process has in memory; 0: not known. */
static uint64_t mapped_bytes(void)
{
    g_autofree char *statm = NULL;
    uint64_t pages = 0;
    if (g_file_get_contents("/proc/self/statm", &statm, NULL, NULL) &&
        sscanf(statm, "%*s %*s %" SCNu64, &pages) == 1) {
        return pages * (uint64_t)sysconf(_SC_PAGESIZE);
    }
    return 0;
}

void lull_store_trim(const struct lull_store *store, uint64_t most)
{
    if (store->size > most && mapped_bytes() > most) {
        madvise((void *)store->data, store->size, MADV_DONTNEED); /* comes again when it is read */
    }
}

struct lull_store *lull_store_open(const char *path, const uint8_t *key, GError **error)
{
    struct lull_store *store = g_new0(struct lull_store, 1);
    store->path = g_strdup(path);
    if (!map(store, error) || !check_header(store, key, error) || !check_sections(store, error) ||
        !take_tables(store, error) || !check_texts(store, error) || !check_rows(store, error)) {
        lull_store_free(store);
        return NULL;
    }
    store->sound = g_malloc0(store->n_index / 8 + 1);
    return store;
}

void lull_store_free(struct lull_store *store)
{
    if (store) {
        if (store->data) {
            munmap((void *)store->data, store->size);
        }
        g_free(store->path);
        g_free(store->sound);
        g_free(store);
    }
}

/* ---- what is in the tables ---- */

void lull_store_range(const struct lull_store *store, int64_t *start_ns, int64_t *end_ns)
{
    *start_ns = store->header.start_ns;
    *end_ns = store->header.end_ns;
}

uint32_t lull_store_row_count(const struct lull_store *store)
{
    return (uint32_t)store->n_rows;
}

struct lull_store_row lull_store_row(const struct lull_store *store, uint32_t row)
{
    const struct store_row *at = &store->rows[row];
    return (struct lull_store_row){.kind = (enum lull_store_kind)at->kind,
                                   .host = at->host,
                                   .name = lull_store_text(store, at->name),
                                   .cpu = at->cpu,
                                   .tid = at->tid,
                                   .pid = at->pid,
                                   .ppid = at->ppid,
                                   .active_ns = at->active_ns,
                                   .passive_ns = at->passive_ns,
                                   .n_intervals = at->n_intervals};
}

uint64_t lull_store_interval_count(const struct lull_store *store)
{
    uint64_t count = 0;
    for (uint64_t i = 0; i < store->n_rows; i++) {
        count += store->rows[i].n_intervals;
    }
    return count;
}

uint64_t lull_store_size(const struct lull_store *store)
{
    return store->size;
}

const char *lull_store_text(const struct lull_store *store, uint32_t text)
{
    return text < store->n_texts
               ? (const char *)store->data + store->header.sections[STORE_BYTES].offset +
                     store->texts[text].offset
               : NULL;
}

uint32_t lull_store_host_count(const struct lull_store *store)
{
    return (uint32_t)store->n_hosts;
}

struct lull_store_host lull_store_host(const struct lull_store *store, uint32_t host)
{
    const struct store_host *at = &store->hosts[host];
    return (struct lull_store_host){lull_store_text(store, at->name), at->first_ns, at->last_ns};
}

uint32_t lull_store_loss_count(const struct lull_store *store)
{
    return (uint32_t)store->n_losses;
}

struct lull_store_loss lull_store_loss(const struct lull_store *store, uint32_t loss)
{
    const struct store_loss *at = &store->losses[loss];
    return (struct lull_store_loss){at->start_ns, at->end_ns, at->events,
                                    at->packets,  at->host,   at->cpu};
}
