/* SPDX-License-Identifier: MIT */
/* Files of one data stream are known by the stream's id in their packets, or, where the tracer
 * wrote none (before LTTng 2.8), by CPU and name. Only what fits together in time is joined; files
 * that overlap stay streams of their own, which loses no event. */
#include "source/files/stitch.h"

#include <string.h>

struct chain_file {
    char *path;
    struct lull_bytes *bytes;
    uint64_t start, end; /* of the joined bytes */
};

/* Several files as one: their bytes one after the other. */
struct chain_bytes {
    struct lull_bytes base;
    struct chain_file *files;
    uint32_t n_files;
    uint32_t current;
    bool is_open;
};

struct lull_piece *lull_piece_new(const char *path, const char *name, struct lull_bytes *bytes)
{
    struct lull_piece *piece = g_new0(struct lull_piece, 1);
    piece->path = g_strdup(path);
    piece->name = g_strdup(name);
    piece->bytes = bytes;
    return piece;
}

void lull_piece_free(struct lull_piece *piece)
{
    if (!piece) {
        return;
    }
    if (piece->bytes) {
        piece->bytes->ops->free(piece->bytes);
    }
    lull_packet_list_clear(&piece->list);
    g_free(piece->path);
    g_free(piece->name);
    g_free(piece);
}

/* ---- the bytes of several files ---- */

static uint32_t chain_find(const struct chain_bytes *chain, uint64_t offset)
{
    uint32_t low = 0, high = chain->n_files;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (chain->files[middle].start <= offset) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

static void chain_close(struct lull_bytes *base)
{
    struct chain_bytes *chain = (struct chain_bytes *)base;
    if (chain->is_open) {
        struct lull_bytes *bytes = chain->files[chain->current].bytes;
        bytes->ops->close(bytes);
    }
    chain->is_open = false;
}

/* Files are opened when their turn comes, so that their number does not matter. */
static const char *chain_open(struct lull_bytes *base)
{
    return NULL;
}

static uint64_t chain_read(struct lull_bytes *base, uint64_t offset, uint8_t *buf, uint64_t size,
                           const char **why)
{
    struct chain_bytes *chain = (struct chain_bytes *)base;
    uint32_t number = chain_find(chain, offset);
    const struct chain_file *file = &chain->files[number];
    if (!chain->is_open || number != chain->current) {
        chain_close(base);
        file->bytes->is_brief = base->is_brief;
        *why = file->bytes->ops->open(file->bytes);
        if (*why) {
            return 0;
        }
        chain->current = number;
        chain->is_open = true;
    }
    if (offset >= file->end) {
        *why = "the file ends here";
        return 0;
    }
    size = MIN(size, file->end - offset);
    return file->bytes->ops->read(file->bytes, offset - file->start, buf, size, why);
}

static const char *chain_where(const struct lull_bytes *base, uint64_t *offset)
{
    const struct chain_bytes *chain = (const struct chain_bytes *)base;
    const struct chain_file *file = &chain->files[chain_find(chain, *offset)];
    *offset -= file->start;
    return file->path;
}

static void chain_free(struct lull_bytes *base)
{
    struct chain_bytes *chain = (struct chain_bytes *)base;
    chain_close(base);
    for (uint32_t i = 0; i < chain->n_files; i++) {
        chain->files[i].bytes->ops->free(chain->files[i].bytes);
        g_free(chain->files[i].path);
    }
    g_free(chain->files);
    g_free(chain);
}

static struct lull_bytes *chain_share(const struct lull_bytes *base)
{
    const struct chain_bytes *chain = (const struct chain_bytes *)base;
    struct chain_bytes *shared = g_memdup2(chain, sizeof *chain);
    shared->is_open = false;
    shared->files = g_memdup2(chain->files, chain->n_files * sizeof *chain->files);
    for (uint32_t i = 0; i < chain->n_files; i++) {
        const struct lull_bytes *bytes = chain->files[i].bytes;
        shared->files[i].path = g_strdup(chain->files[i].path);
        shared->files[i].bytes = bytes->ops->share(bytes);
    }
    return &shared->base;
}

static struct lull_bytes *chain_new(GPtrArray *pieces)
{
    static const struct lull_bytes_ops ops = {.open = chain_open,
                                              .read = chain_read,
                                              .close = chain_close,
                                              .free = chain_free,
                                              .share = chain_share,
                                              .where = chain_where};
    struct chain_bytes *chain = g_new0(struct chain_bytes, 1);
    uint64_t start = 0;
    chain->base.ops = &ops;
    chain->n_files = pieces->len;
    chain->files = g_new0(struct chain_file, pieces->len);
    for (uint32_t i = 0; i < pieces->len; i++) {
        struct lull_piece *piece = pieces->pdata[i];
        chain->files[i] = (struct chain_file){.path = g_steal_pointer(&piece->path),
                                              .bytes = g_steal_pointer(&piece->bytes),
                                              .start = start,
                                              .end = start + piece->list.file_size};
        start = chain->files[i].end;
    }
    return &chain->base;
}

/* ---- which files belong together ---- */

/* The length of `name` without "_" and a number at its end; 0: it does not end so. */
static size_t before_number(const char *name, size_t length)
{
    size_t digits = length;
    while (digits > 0 && g_ascii_isdigit(name[digits - 1])) {
        digits--;
    }
    return digits < length && digits > 1 && name[digits - 1] == '_' ? digits - 1 : 0;
}

/* "c0_0" of "c0_0" and of "c0_0_2": the name without the number in a ring of files. One number
 * alone is the CPU's, or, of other tracers than LTTng, whatever tells streams apart. */
static size_t stem_length(const char *name)
{
    size_t length = strlen(name), stem = before_number(name, length);
    return stem > 0 && before_number(name, stem) > 0 ? stem : length;
}

static char *stream_key(const struct lull_piece *piece)
{
    const struct lull_packet_list *list = &piece->list;
    if (list->instance != UINT64_MAX) {
        return g_strdup_printf("%u:%" G_GUINT64_FORMAT, list->stream, list->instance);
    }
    return g_strdup_printf("%u:%d/%.*s", list->stream, list->cpu, (int)stem_length(piece->name),
                           piece->name);
}

static const struct lull_packet *first_packet(const struct lull_piece *piece)
{
    return &g_array_index(piece->list.packets, struct lull_packet, 0);
}

static int compare_pieces(gconstpointer a, gconstpointer b)
{
    const struct lull_packet *x = first_packet(*(struct lull_piece *const *)a);
    const struct lull_packet *y = first_packet(*(struct lull_piece *const *)b);
    if (x->start != y->start) {
        return x->start < y->start ? -1 : 1;
    }
    return (x->end > y->end) - (x->end < y->end);
}

static int compare_packets(gconstpointer a, gconstpointer b)
{
    const struct lull_packet *x = a, *y = b;
    if (x->start != y->start) {
        return x->start < y->start ? -1 : 1;
    }
    if (x->end != y->end) {
        return x->end < y->end ? -1 : 1;
    }
    return (x->offset > y->offset) - (x->offset < y->offset);
}

static bool can_join(const struct lull_ctf_plan *plan, GPtrArray *pieces)
{
    uint64_t size = 0;
    for (uint32_t i = 0; i < pieces->len; i++) {
        const struct lull_piece *piece = pieces->pdata[i], *first = pieces->pdata[0];
        const struct lull_stream_plan *stream = &plan->streams[piece->list.stream];
        if (!piece->list.in_order || stream->start_bits != 64 || stream->end_bits != 64 ||
            piece->list.cpu != first->list.cpu ||
            __builtin_add_overflow(size, piece->list.file_size, &size) || size > INT64_MAX) {
            return false;
        }
    }
    return true;
}

/* ---- packets that are there twice ---- */

static bool same_bytes(struct lull_bytes *bytes, const struct lull_packet *a,
                       const struct lull_packet *b)
{
    enum { STEP = 4096 };
    uint8_t x[STEP], y[STEP];
    const char *why;
    uint64_t size = (a->content_bits + 7) / 8, n, m;
    for (uint64_t done = 0; done < size; done += n) {
        n = bytes->ops->read(bytes, a->offset + done, x, MIN(STEP, size - done), &why);
        m = n > 0 ? bytes->ops->read(bytes, b->offset + done, y, n, &why) : 0;
        if (m == 0 || memcmp(x, y, m) != 0) {
            return false;
        }
        n = m;
    }
    return true;
}

/* Snapshots that follow each other closely hold the same packets. */
static bool is_copy(struct lull_bytes *bytes, const struct lull_packet *a,
                    const struct lull_packet *b)
{
    return a->start == b->start && a->end == b->end && a->content_bits == b->content_bits &&
           a->bits == b->bits && a->sequence == b->sequence && a->flags == b->flags &&
           same_bytes(bytes, a, b);
}

static void drop_copies(struct lull_bytes *bytes, GArray *packets)
{
    uint32_t n = MIN(packets->len, 1);
    const char *why = packets->len > 0 ? bytes->ops->open(bytes) : "nothing";
    if (why) {
        return;
    }
    for (uint32_t i = 1; i < packets->len; i++) {
        const struct lull_packet *packet = &g_array_index(packets, struct lull_packet, i);
        if (!is_copy(bytes, &g_array_index(packets, struct lull_packet, n - 1), packet)) {
            g_array_index(packets, struct lull_packet, n++) = *packet;
        }
    }
    g_array_set_size(packets, n);
    bytes->ops->close(bytes);
}

/* ---- joining ---- */

/* All packets, their offsets those in the chain; what a file lacks at its end is a gap before the
 * packet of the next. */
static void collect(GPtrArray *pieces, struct lull_packet_list *list)
{
    uint64_t start = 0;
    bool gap = false;
    const struct lull_piece *last = pieces->pdata[pieces->len - 1];
    *list = last->list;
    list->packets = g_array_new(FALSE, FALSE, sizeof(struct lull_packet));
    list->from_index = false;
    for (uint32_t i = 0; i < pieces->len; i++) {
        const struct lull_piece *piece = pieces->pdata[i];
        for (uint32_t k = 0; k < piece->list.packets->len; k++) {
            struct lull_packet packet = g_array_index(piece->list.packets, struct lull_packet, k);
            packet.offset += start;
            packet.flags |= k == 0 && gap ? LULL_PACKET_GAP : 0;
            g_array_append_val(list->packets, packet);
        }
        gap = piece->list.missing > 0 || piece->list.damaged_tail;
        list->from_index |= piece->list.from_index;
        start += piece->list.file_size;
    }
    list->file_size = start;
}

static void pass_on(struct lull_piece *piece, void (*add)(void *, struct lull_stitched *),
                    void *user)
{
    struct lull_stitched stream = {.path = g_steal_pointer(&piece->path),
                                   .bytes = g_steal_pointer(&piece->bytes),
                                   .list = piece->list};
    piece->list.packets = NULL;
    add(user, &stream);
}

/* True if the pieces were joined to one stream and passed on. */
static bool join(const struct lull_ctf_plan *plan, GPtrArray *pieces,
                 void (*add)(void *, struct lull_stitched *), void *user)
{
    struct lull_stitched stream = {0};
    if (pieces->len < 2 || !can_join(plan, pieces)) {
        return false;
    }
    g_autoptr(GPtrArray) sorted = g_ptr_array_copy(pieces, NULL, NULL);
    g_ptr_array_sort(sorted, compare_pieces);
    stream.path = g_strdup(((struct lull_piece *)sorted->pdata[0])->path);
    collect(sorted, &stream.list);
    stream.bytes = chain_new(sorted);
    g_array_sort(stream.list.packets, compare_packets);
    drop_copies(stream.bytes, stream.list.packets);
    lull_packet_list_check_order(&stream.list);
    if (stream.list.in_order) {
        add(user, &stream);
        return true;
    }
    struct chain_bytes *chain = (struct chain_bytes *)stream.bytes;
    for (uint32_t i = 0; i < sorted->len; i++) { /* give back what the chain took */
        struct lull_piece *piece = sorted->pdata[i];
        piece->bytes = chain->files[i].bytes;
        piece->path = g_steal_pointer(&chain->files[i].path);
    }
    chain->n_files = 0;
    stream.bytes->ops->free(stream.bytes);
    lull_packet_list_clear(&stream.list);
    g_free(stream.path);
    return false;
}

static void unref_array(gpointer array)
{
    g_ptr_array_unref(array);
}

void lull_stitch(const struct lull_ctf_plan *plan, GPtrArray *pieces,
                 void (*add)(void *user, struct lull_stitched *stream), void *user)
{
    g_autoptr(GHashTable) by_key = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    g_autoptr(GPtrArray) groups = g_ptr_array_new_with_free_func(unref_array);
    for (uint32_t i = 0; i < pieces->len; i++) {
        char *key = stream_key(pieces->pdata[i]);
        GPtrArray *group = g_hash_table_lookup(by_key, key);
        if (!group) {
            group = g_ptr_array_new();
            g_ptr_array_add(groups, group);
            g_hash_table_insert(by_key, key, group);
        } else {
            g_free(key);
        }
        g_ptr_array_add(group, pieces->pdata[i]);
    }
    for (uint32_t i = 0; i < groups->len; i++) {
        GPtrArray *group = groups->pdata[i];
        if (!join(plan, group, add, user)) {
            for (uint32_t k = 0; k < group->len; k++) {
                pass_on(group->pdata[k], add, user);
            }
        }
    }
}
