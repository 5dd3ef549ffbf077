/* SPDX-License-Identifier: MIT */
/* The pages of one CPU of a trace.dat: as they are in the file, read some at a time, or packed in
 * chunks of some pages each. */
#include "source/tracedat/tracedat.h"

#include <string.h>

#include "base/bits.h"

#define WINDOW_BYTES (UINT64_C(256) << 10)
/* trace-cmd packs some pages at a time. */
#define MAX_CHUNK (UINT64_C(64) << 20)

struct chunk {
    uint64_t offset, size; /* in the file */
    uint64_t first_page, n_pages;
};

struct lull_tracedat_pages {
    const struct lull_tracedat *file;
    struct lull_bytes *bytes;
    bool is_open, is_packed;
    uint64_t page_bytes, n_pages;
    uint64_t offset, size;
    GArray *chunks;   /* struct chunk, if packed */
    uint64_t current; /* first page of what is in `buf`; n_current of them */
    uint64_t n_current;
    uint8_t *buf, *packed;
    uint64_t capacity, packed_capacity;
};

bool lull_tracedat_is_readable(const struct lull_tracedat_buffer *buffer)
{
    return buffer->page_bytes >= 512 && buffer->page_bytes <= UINT32_C(1) << 26 &&
           (buffer->page_bytes & (buffer->page_bytes - 1)) == 0;
}

static bool open_bytes(struct lull_tracedat_pages *pages, const char **why)
{
    if (!pages->is_open) {
        *why = pages->bytes->ops->open(pages->bytes);
        pages->is_open = !*why;
    }
    return pages->is_open;
}

void lull_tracedat_pages_set_brief(struct lull_tracedat_pages *pages, bool is_brief)
{
    pages->bytes->is_brief = is_brief;
}

void lull_tracedat_pages_close(struct lull_tracedat_pages *pages)
{
    if (pages->is_open) {
        pages->bytes->ops->close(pages->bytes);
    }
    pages->is_open = false;
    g_clear_pointer(&pages->buf, g_free);
    g_clear_pointer(&pages->packed, g_free);
    pages->n_current = 0;
}

/* Finds the chunks; those after a damaged one are lost. */
static void find_chunks(struct lull_tracedat_pages *pages)
{
    const struct lull_tracedat *file = pages->file;
    const char *why = NULL;
    uint64_t pos = pages->offset + 4, end = pages->offset + pages->size;
    uint8_t head[8];
    pages->chunks = g_array_new(FALSE, FALSE, sizeof(struct chunk));
    if (pages->size == 0 || !open_bytes(pages, &why)) {
        return;
    }
    bool ok = pages->size >= 4 && lull_tracedat_read(pages->bytes, pages->offset, head, 4);
    uint32_t n = ok ? lull_load_u32(head, file->is_big_endian) : 0;
    for (uint32_t i = 0; i < n && ok; i++) {
        ok = end - pos >= 8 && lull_tracedat_read(pages->bytes, pos, head, 8);
        struct chunk chunk = {.offset = pos + 8,
                              .size = ok ? lull_load_u32(head, file->is_big_endian) : 0,
                              .first_page = pages->n_pages};
        uint64_t unpacked = ok ? lull_load_u32(head + 4, file->is_big_endian) : 0;
        ok = ok && chunk.size <= end - chunk.offset && unpacked > 0 && unpacked <= MAX_CHUNK &&
             unpacked % pages->page_bytes == 0;
        if (!ok) {
            break;
        }
        chunk.n_pages = unpacked / pages->page_bytes;
        pages->n_pages += chunk.n_pages;
        pages->capacity = MAX(pages->capacity, unpacked);
        pages->packed_capacity = MAX(pages->packed_capacity, chunk.size);
        g_array_append_val(pages->chunks, chunk);
        pos = chunk.offset + chunk.size;
    }
    if (!ok) {
        lull_report_problem(file->report,
                            "%s: byte %" G_GUINT64_FORMAT ": packed pages are damaged; the rest is "
                            "left out",
                            file->path, pos);
    }
    lull_tracedat_pages_close(pages);
}

/* What of the pages lies in the file. */
static void check_location(struct lull_tracedat_pages *pages)
{
    const struct lull_tracedat *file = pages->file;
    uint64_t room = pages->offset < file->size ? file->size - pages->offset : 0;
    if (pages->size <= room) {
        return;
    }
    lull_report_problem(file->report,
                        "%s: byte %" G_GUINT64_FORMAT ": %" G_GUINT64_FORMAT
                        " bytes of pages are missing, the file became shorter while it was being "
                        "read",
                        file->path, file->size, pages->size - room);
    pages->size = room;
}

struct lull_tracedat_pages *lull_tracedat_pages_new(const struct lull_tracedat *file,
                                                    const struct lull_tracedat_buffer *buffer,
                                                    const struct lull_tracedat_cpu *cpu)
{
    struct lull_tracedat_pages *pages = g_new0(struct lull_tracedat_pages, 1);
    pages->file = file;
    pages->bytes = file->bytes->ops->share(file->bytes);
    pages->page_bytes = buffer->page_bytes;
    pages->offset = cpu->offset;
    pages->size = cpu->size;
    pages->is_packed = buffer->is_packed;
    /* trace-cmd does not count the number of chunks, which precedes them. */
    if (pages->is_packed && pages->size > 0 && pages->size <= UINT64_MAX - 4) {
        pages->size += 4;
    }
    check_location(pages);
    if (pages->is_packed) {
        find_chunks(pages);
    } else {
        pages->n_pages = pages->size / pages->page_bytes;
        pages->capacity =
            MIN(MAX(WINDOW_BYTES / pages->page_bytes, 1), pages->n_pages) * pages->page_bytes;
    }
    return pages;
}

struct lull_tracedat_pages *lull_tracedat_pages_share(const struct lull_tracedat_pages *pages)
{
    struct lull_tracedat_pages *clone = g_new(struct lull_tracedat_pages, 1);
    *clone = *pages;
    clone->bytes = pages->bytes->ops->share(pages->bytes);
    clone->is_open = false;
    clone->chunks = pages->chunks ? g_array_ref(pages->chunks) : NULL;
    clone->current = clone->n_current = 0;
    clone->buf = clone->packed = NULL;
    return clone;
}

void lull_tracedat_pages_free(struct lull_tracedat_pages *pages)
{
    lull_tracedat_pages_close(pages);
    pages->bytes->ops->free(pages->bytes);
    if (pages->chunks) {
        g_array_unref(pages->chunks);
    }
    g_free(pages->buf);
    g_free(pages->packed);
    g_free(pages);
}

uint64_t lull_tracedat_pages_count(const struct lull_tracedat_pages *pages)
{
    return pages->n_pages;
}

bool lull_tracedat_pages_are_packed(const struct lull_tracedat_pages *pages)
{
    return pages->is_packed;
}

uint32_t lull_tracedat_pages_bytes(const struct lull_tracedat_pages *pages)
{
    return (uint32_t)pages->page_bytes;
}

static const struct chunk *chunk_of(const struct lull_tracedat_pages *pages, uint64_t index)
{
    guint low = 0, high = pages->chunks->len;
    while (high - low > 1) {
        guint middle = low + (high - low) / 2;
        if (g_array_index(pages->chunks, struct chunk, middle).first_page <= index) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return &g_array_index(pages->chunks, struct chunk, low);
}

uint64_t lull_tracedat_pages_where(const struct lull_tracedat_pages *pages, uint64_t index)
{
    if (pages->is_packed) {
        return chunk_of(pages, index)->offset;
    }
    return pages->offset + index * pages->page_bytes;
}

static bool fill_packed(struct lull_tracedat_pages *pages, uint64_t index, const char **why)
{
    const struct chunk *chunk = chunk_of(pages, index);
    if (!pages->packed) {
        pages->packed = g_try_malloc(MAX(pages->packed_capacity, 1));
    }
    *why = "it is cut";
    if (!pages->packed ||
        !lull_tracedat_read(pages->bytes, chunk->offset, pages->packed, chunk->size)) {
        return false;
    }
    *why = "it cannot be unpacked";
    if (!lull_tracedat_unpack(pages->file->packing, pages->packed, chunk->size, pages->buf,
                              chunk->n_pages * pages->page_bytes)) {
        return false;
    }
    pages->current = chunk->first_page;
    pages->n_current = chunk->n_pages;
    return true;
}

static bool fill_plain(struct lull_tracedat_pages *pages, uint64_t index, const char **why)
{
    uint64_t n = MIN(pages->capacity / pages->page_bytes, pages->n_pages - index);
    *why = "it is cut";
    if (!lull_tracedat_read(pages->bytes, pages->offset + index * pages->page_bytes, pages->buf,
                            n * pages->page_bytes)) {
        return false;
    }
    pages->current = index;
    pages->n_current = n;
    return true;
}

const uint8_t *lull_tracedat_pages_get(struct lull_tracedat_pages *pages, uint64_t index,
                                       const char **why)
{
    if (index - pages->current >= pages->n_current) {
        if (!pages->buf) {
            pages->buf = g_try_malloc0(pages->capacity + LULL_LOAD_SLACK);
        }
        *why = "there is not enough memory";
        pages->n_current = 0;
        if (!pages->buf || !open_bytes(pages, why) ||
            !(pages->is_packed ? fill_packed(pages, index, why) : fill_plain(pages, index, why))) {
            return NULL;
        }
    }
    return pages->buf + (index - pages->current) * pages->page_bytes;
}

bool lull_tracedat_pages_peek(struct lull_tracedat_pages *pages, uint64_t index, uint8_t *out,
                              uint32_t size)
{
    const char *why;
    if (!pages->is_packed) {
        return open_bytes(pages, &why) &&
               lull_tracedat_read(pages->bytes, lull_tracedat_pages_where(pages, index), out, size);
    }
    const uint8_t *page = lull_tracedat_pages_get(pages, index, &why);
    if (page) {
        memcpy(out, page, size);
    }
    return page != NULL;
}
