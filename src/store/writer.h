/* SPDX-License-Identifier: MIT */
/* Writes a store: rows grow at their ends, full blocks go to the file at once, pyramids are made at
 * the end from what was written. Memory is what the last block of each row needs, 2 KiB at most,
 * and where the blocks before it are: 3 KiB at most, for a file keeps the rest meanwhile. Nothing has a name before it is whole. */
#ifndef LULL_STORE_WRITER_H
#define LULL_STORE_WRITER_H

#include <lull/session.h>

#include "store/format.h"
#include "store/store.h"

struct store_writer;

/* The file will be `path`, in a directory that exists. */
struct store_writer *store_writer_new(const char *path, GError **error);
/* Also drops what was not finished. */
void store_writer_free(struct store_writer *writer);

/* Number of a text; the same text gives the same number. */
uint32_t store_writer_text(struct store_writer *writer, const char *text);
/* A text of its own that is empty until it is filled. */
uint32_t store_writer_blank(struct store_writer *writer);
void store_writer_fill(struct store_writer *writer, uint32_t blank, const char *text);
void store_writer_host(struct store_writer *writer, const char *name, int64_t first_ns,
                       int64_t last_ns);
void store_writer_loss(struct store_writer *writer, const struct store_loss *loss);

/* A new row, which has no interval yet; starts at start_ns. Of `about` kind, host, cpu count. */
uint32_t store_writer_row(struct store_writer *writer, const struct store_row *about,
                          int64_t start_ns);
void store_writer_name(struct store_writer *writer, uint32_t row, uint32_t name, int32_t tid,
                       int32_t pid, int32_t ppid);
uint32_t store_writer_row_count(const struct store_writer *writer);
/* Where the row ends, and whether it has intervals. */
int64_t store_writer_end(const struct store_writer *writer, uint32_t row);
bool store_writer_is_empty(const struct store_writer *writer, uint32_t row);
/* The row goes on until end_ns in this state; nothing happens if it ends later already. */
void store_writer_append(struct store_writer *writer, uint32_t row, int64_t end_ns,
                         enum lull_store_state state, uint32_t label, uint32_t evidence);
/* The same, but what is like the interval before is another one. */
void store_writer_append_apart(struct store_writer *writer, uint32_t row, int64_t end_ns,
                               enum lull_store_state state, uint32_t label, uint32_t evidence);
/* Takes back what is after time_ns. */
void store_writer_cut(struct store_writer *writer, uint32_t row, int64_t time_ns);

/* Whether the file cannot be written; store_writer_finish() will say why. */
bool store_writer_failed(const struct store_writer *writer);

/* All rows end at end_ns now. Writes the rest, and puts the file into its place. */
bool store_writer_finish(struct store_writer *writer, const uint8_t key[32], int64_t start_ns,
                         int64_t end_ns, GError **error);

#endif
