/* SPDX-License-Identifier: MIT */
/* What the two files of the writer share: rows while they grow, and the file. */
#ifndef LULL_STORE_WRITER_PRIVATE_H
#define LULL_STORE_WRITER_PRIVATE_H

#include "base/arena.h"
#include "base/vec.h"
#include "store/writer.h"

/* Blocks of a row whose places are kept in memory; those of as many before go to a file. */
enum { STORE_BUFFER = 1 << 18, STORE_CHUNK = 64 };

struct writer_row {
    struct store_row about;
    int64_t end_ns;
    LULL_VEC(struct lull_store_interval) open; /* the block that is not in the file yet */
    /* Where its chunks are in the file of chunks. A copy borrows them: the original stays as it is
     * meanwhile. */
    LULL_VEC(uint32_t) chunks;
    size_t n_chunks;                     /* of these that are still its own */
    LULL_VEC(struct store_block) blocks; /* after these */
};

static inline size_t writer_block_count(const struct writer_row *row)
{
    return row->n_chunks * STORE_CHUNK + row->blocks.count;
}

/* The chunk that was read last. */
struct writer_chunk {
    uint32_t number; /* + 1; 0: none */
    struct store_block blocks[STORE_CHUNK];
};

struct store_writer {
    char *path, *draft;
    bool has_draft; /* the file is called `draft` */
    int fd;
    int failure;     /* the first errno */
    uint64_t offset; /* where the next byte goes */
    uint8_t *buffer; /* the bytes before it */
    size_t buffered;
    int chunks_fd; /* what rows have no room for; -1: not made yet. It never has a name */
    uint32_t n_chunks;
    bool is_copy; /* the chunks are those of the original, and no more are made */
    struct writer_chunk chunk;
    LULL_VEC(struct writer_row *) rows;
    GHashTable *texts_by_name;
    struct lull_arena *names;
    LULL_VEC(struct store_text) texts;
    LULL_VEC(char) bytes;
    LULL_VEC(struct store_host) hosts;
    LULL_VEC(struct store_loss) losses;
};

void writer_flush(struct store_writer *writer);
void writer_put(struct store_writer *writer, const void *data, size_t size);
/* Where a block of the row is. */
bool writer_block(struct store_writer *writer, const struct writer_row *row, size_t number,
                  struct store_block *block);
/* Reads a block back. */
bool writer_get(struct store_writer *writer, const struct store_block *block, uint8_t *bytes);
/* The row's last intervals are a block too. */
void writer_close_row(struct store_writer *writer, struct writer_row *row);

#endif
