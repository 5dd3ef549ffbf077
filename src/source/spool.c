/* The spool: packets are filled in memory, one a stream, and appended to one file; a stream knows
 * where its packets went. */
#include "source/spool.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "source/temporary.h"

/* As large as LTTng's own; a reader's window holds one. */
#define PACKET_BYTES (UINT32_C(256) << 10)
/* Magic number; sizes, times, discarded, CPU. */
#define HEADER_BYTES (4u + 5 * 8u + 4u)
#define LONG_ID UINT16_MAX
#define CTF_MAGIC UINT32_C(0xC1FC1FC1)

struct extent {
    uint64_t logical, physical, size; /* within the stream, within the file */
};

struct lull_spool {
    int fd;
    uint64_t size;
    int failure; /* errno, or 0 */
    unsigned references;
    GPtrArray *streams; /* struct lull_spool_stream, in the order of their CPUs */
};

/* The event header is LTTng's large one, which the reader decodes with straight code. */
void lull_spool_declare(GString *text, const char *clock)
{
#define INTEGER(size, is_signed, map)                                                              \
    "integer { size = " #size "; align = 8; signed = " #is_signed "; byte_order = le; " map "} "
#define TIME(size) INTEGER(size, false, "map = clock.%s.value; ")
    g_string_append_printf(
        text,
        "  packet.context := struct {\n    " TIME(64) "timestamp_begin; " TIME(
            64) "timestamp_end;\n"
                "    " INTEGER(64, false, "") "content_size; " INTEGER(
                    64, false,
                    "") "packet_size;\n"
                        "    " INTEGER(64, false, "") "events_discarded; " INTEGER(
                            32, true,
                            "") "cpu_id;\n"
                                "  };\n"
                                "  event.header := struct {\n"
                                "    enum : " INTEGER(
                                    16, false,
                                    "") "{ compact = 0 ... 65534, extended = 65535 } id;\n"
                                        "    variant <id> {\n"
                                        "      struct { " TIME(
                                            32) "timestamp; } compact;\n"
                                                "      struct { " INTEGER(
                                                    32, false,
                                                    "") "id; " TIME(64) "timestamp; } extended;\n"
                                                                        "    } v;\n"
                                                                        "  } align(8);\n",
        clock, clock, clock, clock);
#undef TIME
#undef INTEGER
}

/* ---- writing ---- */

static uint8_t *store(uint8_t *to, uint64_t value, unsigned bytes)
{
    value = GUINT64_TO_LE(value);
    memcpy(to, &value, bytes);
    return to + bytes;
}

void lull_spool_grow(struct lull_spool_stream *stream, size_t size)
{
    stream->capacity = MAX(stream->capacity * 2, stream->used + size);
    stream->buf = g_realloc(stream->buf, stream->capacity);
}

static void fill_header(struct lull_spool_stream *stream)
{
    uint8_t *p = store(stream->buf, CTF_MAGIC, 4);
    p = store(p, stream->begin_time, 8);
    p = store(p, stream->last_time, 8);
    p = store(p, (uint64_t)stream->used * 8, 8);
    p = store(p, (uint64_t)stream->used * 8, 8);
    p = store(p, stream->discarded, 8);
    store(p, (uint32_t)stream->cpu, 4);
}

static void close_packet(struct lull_spool_stream *stream)
{
    struct lull_spool *spool = stream->spool;
    if (!stream->is_open)
        return;
    fill_header(stream);
    if (spool->failure == 0 &&
        !lull_temporary_write(spool->fd, stream->buf, stream->used, spool->size))
        spool->failure = errno != 0 ? errno : ENOSPC;
    struct extent extent = {stream->size, spool->size, stream->used};
    g_array_append_val(stream->extents, extent);
    stream->size += stream->used;
    spool->size += stream->used;
    stream->is_open = false;
}

static void open_packet(struct lull_spool_stream *stream, uint64_t time)
{
    stream->used = 0;
    lull_spool_room(stream, HEADER_BYTES);
    stream->begin_time = stream->last_time = time;
    stream->is_open = true;
}

void lull_spool_event(struct lull_spool_stream *stream, uint32_t id, uint64_t time)
{
    if (time < stream->last_time) {
        stream->n_late++;
        time = stream->last_time;
    }
    if (stream->is_open && stream->used >= PACKET_BYTES - HEADER_BYTES)
        close_packet(stream);
    if (!stream->is_open)
        open_packet(stream, time);
    if (id < LONG_ID && time - stream->last_time <= UINT32_MAX) {
        uint8_t *p = lull_spool_room(stream, 6);
        store(store(p, id, 2), time, 4);
    } else {
        uint8_t *p = lull_spool_room(stream, 14);
        store(store(store(p, LONG_ID, 2), id, 4), time, 8);
    }
    stream->last_time = time;
}

/* A packet without events spans the time of the loss, so that nothing else is blamed for it. */
void lull_spool_lost(struct lull_spool_stream *stream, uint64_t time, uint64_t events)
{
    time = MAX(time, stream->last_time);
    bool is_first = !stream->is_open && stream->size == 0;
    uint64_t begin = is_first ? time : stream->last_time;
    close_packet(stream);
    if (__builtin_add_overflow(stream->discarded, events, &stream->discarded))
        stream->discarded = UINT64_MAX;
    open_packet(stream, begin);
    stream->last_time = time;
    close_packet(stream);
}

bool lull_spool_failed(const struct lull_spool *spool)
{
    return spool->failure != 0;
}

bool lull_spool_finish(struct lull_spool *spool, GError **error)
{
    for (uint32_t i = 0; i < spool->streams->len; i++) {
        struct lull_spool_stream *stream = spool->streams->pdata[i];
        close_packet(stream);
        g_clear_pointer(&stream->buf, g_free);
        stream->used = stream->capacity = 0;
    }
    if (spool->failure != 0)
        g_set_error(error, LULL_ERROR, LULL_ERROR_IO, "its contents do not fit into %s: %s",
                    g_get_tmp_dir(), g_strerror(spool->failure));
    return spool->failure == 0;
}

/* ---- streams ---- */

struct lull_spool_stream *lull_spool_stream_of(struct lull_spool *spool, int32_t cpu)
{
    guint low = 0, high = spool->streams->len;
    while (low < high) {
        guint middle = low + (high - low) / 2;
        struct lull_spool_stream *stream = spool->streams->pdata[middle];
        if (stream->cpu == cpu)
            return stream;
        if (stream->cpu < cpu)
            low = middle + 1;
        else
            high = middle;
    }
    struct lull_spool_stream *stream = g_new0(struct lull_spool_stream, 1);
    stream->spool = spool;
    stream->cpu = cpu;
    stream->extents = g_array_new(FALSE, FALSE, sizeof(struct extent));
    g_ptr_array_insert(spool->streams, (gint)low, stream);
    return stream;
}

uint32_t lull_spool_count(const struct lull_spool *spool)
{
    return spool->streams->len;
}

struct lull_spool_stream *lull_spool_stream_at(const struct lull_spool *spool, uint32_t index)
{
    return spool->streams->pdata[index];
}

static void free_stream(gpointer data)
{
    struct lull_spool_stream *stream = data;
    g_array_unref(stream->extents);
    g_free(stream->buf);
    g_free(stream);
}

struct lull_spool *lull_spool_new(GError **error)
{
    int fd = lull_temporary_open(error);
    if (fd < 0)
        return NULL;
    struct lull_spool *spool = g_new0(struct lull_spool, 1);
    spool->fd = fd;
    spool->references = 1;
    spool->streams = g_ptr_array_new_with_free_func(free_stream);
    return spool;
}

void lull_spool_unref(struct lull_spool *spool)
{
    if (spool == NULL || --spool->references > 0)
        return;
    close(spool->fd);
    g_ptr_array_unref(spool->streams);
    g_free(spool);
}

/* ---- reading ---- */

struct spool_bytes {
    struct lull_bytes base;
    struct lull_spool *spool;
    uint32_t index;
    guint last; /* the extent that was read last */
};

static const char *bytes_open(struct lull_bytes *base)
{
    return NULL;
}

static void bytes_close(struct lull_bytes *base)
{
}

static bool holds(const struct extent *extent, uint64_t offset)
{
    return offset >= extent->logical && offset - extent->logical < extent->size;
}

/* Finds the extent of a byte; false if there is none. */
static bool seek(struct spool_bytes *bytes, const GArray *extents, uint64_t offset)
{
    const struct extent *list = (const struct extent *)extents->data;
    for (guint next = bytes->last; next < extents->len && next < bytes->last + 2; next++)
        if (holds(&list[next], offset)) {
            bytes->last = next;
            return true;
        }
    guint low = 0, high = extents->len;
    while (low < high) {
        guint middle = low + (high - low) / 2;
        if (holds(&list[middle], offset)) {
            bytes->last = middle;
            return true;
        }
        if (list[middle].logical < offset)
            low = middle + 1;
        else
            high = middle;
    }
    return false;
}

static uint64_t bytes_read(struct lull_bytes *base, uint64_t offset, uint8_t *buf, uint64_t size,
                           const char **why)
{
    struct spool_bytes *bytes = (struct spool_bytes *)base;
    const struct lull_spool_stream *stream = lull_spool_stream_at(bytes->spool, bytes->index);
    ssize_t n;
    if (!seek(bytes, stream->extents, offset)) {
        *why = "the stream ends here";
        return 0;
    }
    const struct extent *extent = &g_array_index(stream->extents, struct extent, bytes->last);
    uint64_t within = offset - extent->logical;
    size = MIN(size, extent->size - within);
    do
        n = pread(bytes->spool->fd, buf, size, (off_t)(extent->physical + within));
    while (n < 0 && errno == EINTR);
    if (n <= 0)
        *why = n < 0 ? g_strerror(errno) : "the temporary file ends here";
    return n < 0 ? 0 : (uint64_t)n;
}

static void bytes_free(struct lull_bytes *base)
{
    lull_spool_unref(((struct spool_bytes *)base)->spool);
    g_free(base);
}

static struct lull_bytes *bytes_share(const struct lull_bytes *base)
{
    const struct spool_bytes *bytes = (const struct spool_bytes *)base;
    return lull_spool_bytes(bytes->spool, bytes->index);
}

struct lull_bytes *lull_spool_bytes(struct lull_spool *spool, uint32_t index)
{
    static const struct lull_bytes_ops ops = {.open = bytes_open,
                                              .read = bytes_read,
                                              .close = bytes_close,
                                              .free = bytes_free,
                                              .share = bytes_share};
    struct spool_bytes *bytes = g_new0(struct spool_bytes, 1);
    bytes->base.ops = &ops;
    bytes->spool = spool;
    bytes->index = index;
    spool->references++;
    return &bytes->base;
}
