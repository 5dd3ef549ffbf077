/* SPDX-License-Identifier: MIT */
/* What the two files of the writer share: rows while they grow, and the file. */
#ifndef LULL_STORE_WRITER_PRIVATE_H
#define LULL_STORE_WRITER_PRIVATE_H

#include "base/arena.h"
#include "base/vec.h"
#include "store/writer.h"

enum { STORE_BUFFER = 1 << 18 };

struct writer_row {
    struct store_row about;
    int64_t end_ns;
    LULL_VEC(struct lull_store_interval) open; /* the block that is not in the file yet */
    /* The first blocks of a copy are those of the original, which stays as it is meanwhile. */
    const struct store_block *borrowed;
    size_t n_borrowed;
    LULL_VEC(struct store_block) blocks; /* after these */
};

static inline size_t writer_block_count(const struct writer_row *row)
{
    return row->n_borrowed + row->blocks.count;
}

static inline const struct store_block *writer_block_at(const struct writer_row *row, size_t block)
{
    return block < row->n_borrowed ? &row->borrowed[block]
                                   : &row->blocks.items[block - row->n_borrowed];
}

struct store_writer {
    char *path, *draft;
    bool has_draft; /* the file is called `draft` */
    int fd;
    int failure;     /* the first errno */
    uint64_t offset; /* where the next byte goes */
    uint8_t *buffer; /* the bytes before it */
    size_t buffered;
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
/* Reads a block back. */
bool writer_get(struct store_writer *writer, const struct store_block *block, uint8_t *bytes);
/* The row's last intervals are a block too. */
void writer_close_row(struct store_writer *writer, struct writer_row *row);

#endif
