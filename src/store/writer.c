/* SPDX-License-Identifier: MIT */
/* Rows that grow: the open block of each is in memory, full blocks are in the file. */
#include "store/writer_private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include <lull/path.h>

#include "store/block.h"

/* The file has no name, or `name` where the file system knows no files without. */
static int open_unnamed(const char *dir, const char *name, bool *has_name)
{
    int fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    *has_name = false;
    if (fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL)) {
        fd = open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
        *has_name = fd >= 0;
    }
    return fd;
}

static int open_draft(struct store_writer *writer, const char *dir)
{
    writer->draft = g_strdup_printf("%s/.lull-%08x%08x", dir, g_random_int(), g_random_int());
    return open_unnamed(dir, writer->draft, &writer->has_draft);
}

static int open_chunks(const struct store_writer *writer)
{
    bool has_name;
    g_autofree char *dir = g_path_get_dirname(writer->draft);
    g_autofree char *name = g_strconcat(writer->draft, "-index", NULL);
    const int fd = open_unnamed(dir, name, &has_name);
    if (has_name) {
        unlink(name);
    }
    return fd;
}

struct store_writer *store_writer_new(const char *path, GError **error)
{
    struct store_writer *writer = g_new0(struct store_writer, 1);
    writer->chunks_fd = -1;
    g_autofree char *dir = g_path_get_dirname(path);
    writer->path = g_strdup(path);
    writer->fd = open_draft(writer, dir);
    if (writer->fd < 0) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_IO, "cannot write in “%s”: %s", dir,
                    g_strerror(errno));
        store_writer_free(writer);
        return NULL;
    }
    writer->texts_by_name = g_hash_table_new(g_str_hash, g_str_equal);
    writer->names = lull_arena_new();
    writer->buffer = g_malloc(STORE_BUFFER);
    writer->offset = sizeof(struct store_header);
    return writer;
}

void store_writer_free(struct store_writer *writer)
{
    if (!writer) {
        return;
    }
    for (size_t i = 0; i < writer->rows.count; i++) {
        lull_vec_free(&writer->rows.items[i]->open);
        lull_vec_free(&writer->rows.items[i]->blocks);
        if (!writer->is_copy) {
            lull_vec_free(&writer->rows.items[i]->chunks);
        }
        g_free(writer->rows.items[i]);
    }
    if (writer->fd >= 0) {
        close(writer->fd);
    }
    if (writer->chunks_fd >= 0 && !writer->is_copy) {
        close(writer->chunks_fd);
    }
    if (writer->has_draft) {
        unlink(writer->draft);
    }
    if (writer->texts_by_name) {
        g_hash_table_unref(writer->texts_by_name);
        lull_arena_free(writer->names);
    }
    lull_vec_free(&writer->rows);
    lull_vec_free(&writer->texts);
    lull_vec_free(&writer->bytes);
    lull_vec_free(&writer->hosts);
    lull_vec_free(&writer->losses);
    g_free(writer->buffer);
    g_free(writer->draft);
    g_free(writer->path);
    g_free(writer);
}

/* ---- the file ---- */

void writer_flush(struct store_writer *writer)
{
    for (size_t done = 0; done < writer->buffered && !writer->failure;) {
        const ssize_t n = pwrite(writer->fd, writer->buffer + done, writer->buffered - done,
                                 (off_t)(writer->offset - writer->buffered + done));
        if (n < 0 && errno != EINTR) {
            writer->failure = errno;
        }
        done += n > 0 ? (size_t)n : 0;
    }
    writer->buffered = 0;
}

void writer_put(struct store_writer *writer, const void *data, size_t size)
{
    const uint8_t *p = data;
    while (size) {
        const size_t n = MIN(size, STORE_BUFFER - writer->buffered);
        memcpy(writer->buffer + writer->buffered, p, n);
        writer->buffered += n;
        writer->offset += n;
        p += n;
        size -= n;
        if (writer->buffered == STORE_BUFFER) {
            writer_flush(writer);
        }
    }
}

bool writer_get(struct store_writer *writer, const struct store_block *block, uint8_t *bytes)
{
    const uint64_t at = sizeof(struct store_header) + block->offset;
    const uint64_t flushed = writer->offset - writer->buffered;
    if (at >= flushed) {
        memcpy(bytes, writer->buffer + (at - flushed), block->size);
        return true;
    }
    if (at + block->size > flushed) {
        writer_flush(writer);
    }
    const ssize_t n = pread(writer->fd, bytes, block->size, (off_t)at);
    if (n != (ssize_t)block->size && !writer->failure) {
        writer->failure = n < 0 ? errno : EIO;
    }
    return !writer->failure;
}

/* ---- where blocks are ---- */

/* The first blocks of a row go to the file of chunks, so that memory does not grow with the trace. */
static void put_chunk(struct store_writer *writer, struct writer_row *row)
{
    const size_t size = STORE_CHUNK * sizeof *row->blocks.items;
    if (writer->chunks_fd < 0) {
        writer->chunks_fd = open_chunks(writer);
    }
    const ssize_t n = writer->chunks_fd < 0 ? -1
                                            : pwrite(writer->chunks_fd, row->blocks.items, size,
                                                     (off_t)(writer->n_chunks * (uint64_t)size));
    if (n != (ssize_t)size) {
        writer->failure = writer->failure ? writer->failure : n < 0 ? errno : ENOSPC;
        return;
    }
    row->chunks.count = row->n_chunks; /* cuts may have taken some back */
    lull_vec_push(&row->chunks, writer->n_chunks++);
    row->n_chunks++;
    row->blocks.count -= STORE_CHUNK;
    memmove(row->blocks.items, row->blocks.items + STORE_CHUNK,
            row->blocks.count * sizeof *row->blocks.items);
}

static const struct store_block *get_chunk(struct store_writer *writer, uint32_t number)
{
    struct writer_chunk *chunk = &writer->chunk;
    if (chunk->number != number + 1) {
        const ssize_t n = pread(writer->chunks_fd, chunk->blocks, sizeof chunk->blocks,
                                (off_t)(number * (uint64_t)sizeof chunk->blocks));
        chunk->number = number + 1;
        if (n != (ssize_t)sizeof chunk->blocks) {
            writer->failure = writer->failure ? writer->failure : n < 0 ? errno : EIO;
            chunk->number = 0;
            return NULL;
        }
    }
    return chunk->blocks;
}

bool writer_block(struct store_writer *writer, const struct writer_row *row, size_t number,
                  struct store_block *block)
{
    if (number >= row->n_chunks * STORE_CHUNK) {
        *block = row->blocks.items[number - row->n_chunks * STORE_CHUNK];
        return true;
    }
    const struct store_block *chunk = get_chunk(writer, row->chunks.items[number / STORE_CHUNK]);
    if (chunk) {
        *block = chunk[number % STORE_CHUNK];
    }
    return chunk != NULL;
}

/* Takes the last block off, of a row that has one. */
static bool pop_block(struct store_writer *writer, struct writer_row *row,
                      struct store_block *block)
{
    if (row->blocks.count == 0) {
        const struct store_block *chunk = get_chunk(writer, row->chunks.items[row->n_chunks - 1]);
        if (!chunk) {
            return false;
        }
        lull_vec_reserve(&row->blocks, STORE_CHUNK);
        memcpy(row->blocks.items, chunk, sizeof writer->chunk.blocks);
        row->blocks.count = STORE_CHUNK;
        row->n_chunks--;
    }
    *block = lull_vec_pop(&row->blocks);
    return true;
}

bool store_writer_failed(const struct store_writer *writer)
{
    return writer->failure != 0;
}

/* ---- what rows refer to ---- */

uint32_t store_writer_text(struct store_writer *writer, const char *text)
{
    void *found;
    if (g_hash_table_lookup_extended(writer->texts_by_name, text, NULL, &found)) {
        return GPOINTER_TO_UINT(found);
    }
    const size_t length = strlen(text);
    const uint32_t number = (uint32_t)writer->texts.count;
    char *kept = lull_arena_strndup(writer->names, text, length);
    g_hash_table_insert(writer->texts_by_name, kept, GUINT_TO_POINTER(number));
    lull_vec_push(&writer->texts, (struct store_text){(uint32_t)writer->bytes.count, length});
    lull_vec_reserve(&writer->bytes, length + 1);
    memcpy(&writer->bytes.items[writer->bytes.count], kept, length + 1);
    writer->bytes.count += length + 1;
    return number;
}

uint32_t store_writer_blank(struct store_writer *writer)
{
    const uint32_t number = (uint32_t)writer->texts.count;
    lull_vec_push(&writer->texts, (struct store_text){0});
    store_writer_fill(writer, number, "");
    return number;
}

void store_writer_fill(struct store_writer *writer, uint32_t blank, const char *text)
{
    const uint32_t same = store_writer_text(writer, text);
    writer->texts.items[blank] = writer->texts.items[same];
}

void store_writer_host(struct store_writer *writer, const char *name, int64_t first_ns,
                       int64_t last_ns)
{
    const uint32_t text = store_writer_text(writer, name);
    lull_vec_push(&writer->hosts, (struct store_host){text, 0, first_ns, last_ns});
}

void store_writer_loss(struct store_writer *writer, const struct store_loss *loss)
{
    lull_vec_push(&writer->losses, *loss);
}

/* ---- rows ---- */

uint32_t store_writer_row(struct store_writer *writer, const struct store_row *about,
                          int64_t start_ns)
{
    struct writer_row *row = g_new0(struct writer_row, 1);
    row->about = *about;
    row->end_ns = start_ns;
    lull_vec_push(&writer->rows, row);
    return (uint32_t)writer->rows.count - 1;
}

void store_writer_name(struct store_writer *writer, uint32_t row, uint32_t name, int32_t tid,
                       int32_t pid, int32_t ppid)
{
    struct store_row *about = &writer->rows.items[row]->about;
    about->name = name;
    about->tid = tid;
    about->pid = pid;
    about->ppid = ppid;
}

uint32_t store_writer_row_count(const struct store_writer *writer)
{
    return (uint32_t)writer->rows.count;
}

int64_t store_writer_end(const struct store_writer *writer, uint32_t row)
{
    return writer->rows.items[row]->end_ns;
}

bool store_writer_is_empty(const struct store_writer *writer, uint32_t row)
{
    return writer->rows.items[row]->open.count == 0 &&
           writer_block_count(writer->rows.items[row]) == 0;
}

static void close_block(struct store_writer *writer, struct writer_row *row)
{
    uint8_t bytes[BLOCK_BYTES_MOST];
    const uint32_t size = store_block_encode(row->open.items, (uint32_t)row->open.count, bytes);
    lull_vec_push(&row->blocks,
                  (struct store_block){.offset = writer->offset - sizeof(struct store_header),
                                       .start_ns = row->open.items[0].start_ns,
                                       .size = size,
                                       .sum = (uint32_t)store_sum(bytes, size)});
    writer_put(writer, bytes, size);
    row->about.n_intervals += row->open.count;
    row->open.count = 0;
    /* The last ones stay, for they may be cut. */
    if (row->blocks.count == 2 * STORE_CHUNK && !writer->is_copy && !writer->failure) {
        put_chunk(writer, row);
    }
}

void writer_close_row(struct store_writer *writer, struct writer_row *row)
{
    if (row->open.count) {
        close_block(writer, row);
    }
    lull_vec_free(&row->open);
}

static void add_interval(struct store_writer *writer, struct writer_row *row,
                         const struct lull_store_interval *interval)
{
    if (row->open.count == STORE_BLOCK) {
        close_block(writer, row);
    }
    lull_vec_push(&row->open, *interval);
    row->end_ns = interval->end_ns;
}

void store_writer_append(struct store_writer *writer, uint32_t number, int64_t end_ns,
                         enum lull_store_state state, uint32_t label, uint32_t evidence)
{
    struct writer_row *row = writer->rows.items[number];
    if (end_ns <= row->end_ns) {
        return;
    }
    struct lull_store_interval *last =
        row->open.count ? &row->open.items[row->open.count - 1] : NULL;
    if (last && last->state == state && last->label == label && last->evidence == evidence) {
        last->end_ns = row->end_ns = end_ns;
    } else {
        add_interval(writer, row,
                     &(struct lull_store_interval){row->end_ns, end_ns, state, label, evidence});
    }
}

void store_writer_append_apart(struct store_writer *writer, uint32_t number, int64_t end_ns,
                               enum lull_store_state state, uint32_t label, uint32_t evidence)
{
    struct writer_row *row = writer->rows.items[number];
    if (end_ns > row->end_ns) {
        add_interval(writer, row,
                     &(struct lull_store_interval){row->end_ns, end_ns, state, label, evidence});
    }
}

/* The last block is open again. */
static bool open_last(struct store_writer *writer, struct writer_row *row)
{
    uint8_t bytes[BLOCK_BYTES_MOST];
    struct store_block block;
    if (writer_block_count(row) == 0 || !pop_block(writer, row, &block) ||
        !writer_get(writer, &block, bytes)) {
        return false;
    }
    lull_vec_reserve(&row->open, STORE_BLOCK);
    row->open.count = store_block_decode(bytes, block.size, block.start_ns, row->open.items);
    row->about.n_intervals -= row->open.count;
    return row->open.count > 0;
}

void store_writer_cut(struct store_writer *writer, uint32_t number, int64_t time_ns)
{
    struct writer_row *row = writer->rows.items[number];
    if (row->end_ns <= time_ns) {
        return;
    }
    while (row->open.count || open_last(writer, row)) {
        struct lull_store_interval *last = &row->open.items[row->open.count - 1];
        if (last->start_ns < time_ns) {
            last->end_ns = row->end_ns = time_ns;
            return;
        }
        row->end_ns = last->start_ns;
        row->open.count--;
    }
}
