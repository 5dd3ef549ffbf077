/* SPDX-License-Identifier: MIT */
/* An open store: the mapped file and its tables, which were checked. */
#ifndef LULL_STORE_READ_PRIVATE_H
#define LULL_STORE_READ_PRIVATE_H

#include "store/format.h"
#include "store/store.h"

struct lull_store {
    char *path;
    const uint8_t *data;
    uint64_t size;
    struct store_header header;
    const struct store_block *index;
    const struct store_sum *sums;
    const struct store_row *rows;
    const struct store_text *texts;
    const struct store_host *hosts;
    const struct store_loss *losses;
    uint8_t *sound; /* a bit for each block, set once its sum was found to be right */
    uint64_t n_index, n_sums, n_rows, n_texts, n_hosts, n_losses;
};

/* Sets the error, and returns false. */
bool store_damaged(const struct lull_store *store, uint64_t offset, const char *what,
                   GError **error);

#endif
