/* SPDX-License-Identifier: MIT */
/* A store of what is finished while the rest is being read: a copy of the writer is brought to its
 * end, so that parts are stores like any other. The next part is due when the reading in between
 * took a few times as long as the last one took, so all of them cost a fraction of the whole. */
#include <errno.h>
#include <unistd.h>

#include "store/build.h"
#include "store/build_private.h"
#include "store/writer_private.h"

#define COPY_VEC(to, from)                                                                         \
    do {                                                                                           \
        lull_vec_reserve(to, (from)->count);                                                       \
        (to)->count = (from)->count;                                                               \
        if ((from)->count) {                                                                       \
            memcpy((to)->items, (from)->items, (from)->count * sizeof *(from)->items);             \
        }                                                                                          \
    } while (0)

enum { FIRST_AFTER_US = 150000, NEXT_AFTER_US = 400000, SHARE = 4 };

/* ---- a copy of the writer ---- */

static void copy_bytes(struct store_writer *to, const struct store_writer *from)
{
    const uint64_t flushed = from->offset - from->buffered;
    uint8_t *piece = g_malloc(STORE_BUFFER);
    for (uint64_t at = sizeof(struct store_header); at < flushed && !to->failure;) {
        const ssize_t n =
            pread(from->fd, piece, MIN(flushed - at, (uint64_t)STORE_BUFFER), (off_t)at);
        if (n <= 0) {
            to->failure = n < 0 ? errno : EIO;
        } else {
            writer_put(to, piece, (size_t)n);
            at += (uint64_t)n;
        }
    }
    writer_put(to, from->buffer, from->buffered);
    g_free(piece);
}

static void copy_rows(struct store_writer *to, const struct store_writer *from)
{
    for (size_t i = 0; i < from->rows.count; i++) {
        const struct writer_row *row = from->rows.items[i];
        struct writer_row *copy = g_new(struct writer_row, 1);
        *copy = *row;
        memset(&copy->open, 0, sizeof copy->open);
        memset(&copy->blocks, 0, sizeof copy->blocks);
        COPY_VEC(&copy->open, &row->open);
        COPY_VEC(&copy->blocks, &row->blocks); /* and the chunks are borrowed */
        lull_vec_push(&to->rows, copy);
    }
}

/* Its file never gets a name. Texts and blocks are borrowed; `writer` stays as it is meanwhile. */
static struct store_writer *copy_writer(const struct store_writer *writer)
{
    struct store_writer *copy = store_writer_new(writer->path, NULL);
    GHashTableIter iter;
    void *text, *number;
    if (!copy) {
        return NULL;
    }
    g_clear_pointer(&copy->path, g_free);
    copy->is_copy = true;
    copy->chunks_fd = writer->chunks_fd;
    if (copy->has_draft) {
        unlink(copy->draft);
        copy->has_draft = false;
    }
    g_hash_table_iter_init(&iter, writer->texts_by_name);
    while (g_hash_table_iter_next(&iter, &text, &number)) {
        g_hash_table_insert(copy->texts_by_name, text, number);
    }
    COPY_VEC(&copy->texts, &writer->texts);
    COPY_VEC(&copy->bytes, &writer->bytes);
    COPY_VEC(&copy->hosts, &writer->hosts);
    COPY_VEC(&copy->losses, &writer->losses);
    copy_bytes(copy, writer);
    copy_rows(copy, writer);
    return copy;
}

/* ---- a part ---- */

static int64_t reached(const struct store_writer *writer)
{
    int64_t end_ns = INT64_MIN;
    for (size_t i = 0; i < writer->rows.count; i++) {
        end_ns = MAX(end_ns, writer->rows.items[i]->end_ns);
    }
    return end_ns;
}

static struct lull_store *make_part(const struct store_build *build)
{
    static const uint8_t no_key[32];
    struct store_build part = *build;
    struct lull_store *store = NULL;
    part.end_ns = reached(build->writer);
    if (part.end_ns <= build->start_ns) {
        return NULL;
    }
    part.is_part = true;
    part.texts = (struct lull_slots){0};
    part.writer = copy_writer(build->writer);
    if (part.writer) {
        build_finish(&part);
        if (store_writer_finish(part.writer, no_key, part.start_ns, part.end_ns, NULL)) {
            g_autofree char *path = g_strdup_printf("/proc/self/fd/%d", part.writer->fd);
            store = lull_store_open(path, NULL, NULL);
        }
    }
    store_writer_free(part.writer);
    lull_slots_free(&part.texts);
    return store;
}

void build_show_part(struct store_build *build)
{
    const int64_t start_us = g_get_monotonic_time();
    if (build->part_due_us == 0) {
        build->part_due_us = start_us + FIRST_AFTER_US;
    }
    if (start_us < build->part_due_us) {
        return;
    }
    struct lull_store *part = make_part(build);
    if (part) {
        build->watch->show(build->watch->user, part, build->end_ns);
    }
    const int64_t end_us = g_get_monotonic_time();
    build->part_due_us = end_us + MAX(NEXT_AFTER_US, SHARE * (end_us - start_us));
}
