/* SPDX-License-Identifier: MIT */
/* One stream of a live trace: requests the next packet from the relay, lets the cursor decode it,
 * reports how far time has come when there is none. */
#include "source/live/private.h"

#include <string.h>

#include "source/ctf/trace.h"

/* What is fetched at once; the cursor's window is of the same size. */
#define CHUNK_BYTES (UINT32_C(256) << 10)
/* How often a packet is requested, with pauses between. */
#define MOST_RETRIES 100u
/* How often the metadata that declares the class of a packet is requested. */
#define CLASS_RETRIES 20u
#define DRAINED_AT_ONCE 1024u

/* ---- bytes ---- */

struct live_bytes {
    struct lull_bytes base;
    struct live_stream *stream;
};

/* Fetches bytes into the chunk. False if there are none; *retry: they need metadata or streams that
 * have been requested. */
static bool fetch(struct live_stream *stream, uint64_t offset, uint64_t size, bool *retry,
                  const char **why)
{
    struct lull_live *live = stream->trace->live;
    enum live_packet_status status;
    uint32_t flags;
    GError *error = NULL;
    uint32_t most = (uint32_t)MIN(size, CHUNK_BYTES);
    *retry = false;
    stream->chunk_offset = offset;
    stream->chunk_size = 0;
    stream->chunk = g_realloc(stream->chunk, most);
    if (live->is_over || !live_relay_packet(&live->relay, stream->id, offset, stream->chunk, most,
                                            &stream->chunk_size, &status, &flags, &error)) {
        live_fail(live, error);
        *why = "the connection to the relay was lost";
        return false;
    }
    if (status == LIVE_PACKET_OK) {
        return true;
    }
    if (flags & LIVE_NEW_METADATA) {
        stream->trace->needs_metadata = true;
    }
    if (flags & LIVE_NEW_STREAM) {
        live_expect_streams(live);
    }
    *retry = status == LIVE_PACKET_RETRY || (status == LIVE_PACKET_ERROR && flags != 0);
    *why = status == LIVE_PACKET_EOF ? "the relay's file ends within the packet"
                                     : "the relay cannot read the packet";
    return false;
}

static const char *bytes_open(struct lull_bytes *base)
{
    return NULL;
}

static void bytes_close(struct lull_bytes *base)
{
}

static void bytes_free(struct lull_bytes *base)
{
    g_free(base);
}

static uint64_t bytes_read(struct lull_bytes *base, uint64_t offset, uint8_t *buf, uint64_t size,
                           const char **why)
{
    struct live_stream *stream = ((struct live_bytes *)base)->stream;
    bool retry;
    if (offset < stream->chunk_offset || offset - stream->chunk_offset >= stream->chunk_size) {
        if (!fetch(stream, offset, size, &retry, why)) {
            /* Why reading ended is reported once. */
            if (stream->trace->live->is_over) {
                g_array_index(stream->cursor->list.packets, struct lull_packet, 0).flags |=
                    LULL_PACKET_REPORTED;
            }
            return 0;
        }
    }
    uint64_t at = offset - stream->chunk_offset;
    uint64_t n = MIN(size, stream->chunk_size - at);
    memcpy(buf, stream->chunk + at, n);
    return n;
}

/* ---- packets ---- */

static void clock_of(const struct live_stream *stream, uint64_t class_id,
                     struct lull_clock_map *map)
{
    const struct live_schema *live = stream->trace->newest;
    const struct lull_stream_plan *plan = &live->plan->streams[0];
    for (uint32_t i = 0; i < live->schema->n_streams; i++) {
        if (live->schema->streams[i].id == class_id) {
            plan = &live->plan->streams[i];
        }
    }
    lull_ctf_clock_map(plan, stream->window.delta_ns, &stream->window.transform, map);
    if (stream->window.in_doubles) {
        lull_clock_map_use_doubles(map);
    }
}

/* Time of a clock value on the joined clock. */
static int64_t joined(const struct live_stream *stream, uint64_t value)
{
    struct lull_clock_map map;
    if (stream->trace->newest->schema->n_streams == 0) {
        return INT64_MIN;
    }
    clock_of(stream, stream->index.stream_class, &map);
    return lull_clock_map_holds(&map, value) ? lull_clock_map_joined(&map, value) : INT64_MIN;
}

static void advance(struct live_stream *stream, int64_t time_ns)
{
    stream->base.event.time_ns = MAX(stream->base.event.time_ns, time_ns);
}

static void end(struct live_stream *stream)
{
    stream->is_ended = true;
    stream->has_index = stream->is_open = false;
    g_clear_pointer(&stream->chunk, g_free);
    stream->chunk_size = 0;
}

static void make_cursor(struct live_stream *stream, struct live_schema *schema,
                        uint32_t class_index)
{
    static const struct lull_bytes_ops ops = {
        .open = bytes_open, .read = bytes_read, .close = bytes_close, .free = bytes_free};
    struct live_bytes *bytes = g_new0(struct live_bytes, 1);
    struct lull_packet_list list = {.packets = g_array_new(FALSE, TRUE, sizeof(struct lull_packet)),
                                    .stream = class_index,
                                    .cpu = -1,
                                    .from_index = true};
    struct lull_clock_map map;
    bytes->base.ops = &ops;
    bytes->stream = stream;
    stream->cursor = lull_ctf_stream_new_from(schema->plan, &bytes->base, stream->name, &list,
                                              stream->number, stream->trace->report);
    clock_of(stream, stream->index.stream_class, &map);
    lull_ctf_stream_start(stream->cursor, &map, stream->window.start_ns, stream->window.end_ns,
                          stream->trace->fields_size);
}

/* Index of the packet's stream class in the newest metadata; their number if there is none. */
static uint32_t class_index(const struct live_stream *stream)
{
    const struct lull_schema *schema = stream->trace->newest->schema;
    uint32_t i = 0;
    while (i < schema->n_streams && schema->streams[i].id != stream->index.stream_class) {
        i++;
    }
    return i;
}

/* Lets the cursor decode by the newest metadata, which declare the class. */
static void prepare_cursor(struct live_stream *stream, uint32_t index)
{
    struct live_schema *newest = stream->trace->newest;
    if (!stream->cursor) {
        make_cursor(stream, newest, index);
    }
    stream->cursor->list.stream = index;
    if (stream->schema != newest) {
        live_schema_unref(stream->schema);
        stream->schema = live_schema_ref(newest);
    }
}

static struct lull_packet packet_of(const struct live_stream *stream)
{
    const struct live_index *index = &stream->index;
    struct lull_packet packet = {
        .offset = index->offset,
        .bits = index->packet_bits,
        .content_bits = index->content_bits,
        .start = index->start,
        .end = index->end,
        .discarded = index->discarded,
        .flags = LULL_PACKET_HAS_BEGIN | LULL_PACKET_HAS_END,
    };
    if (stream->schema->plan->streams[stream->cursor->list.stream].discarded_bits != 0) {
        packet.flags |= LULL_PACKET_HAS_DISCARDED;
    }
    return packet;
}

/* The index does not say the sequence number, the packet's header does. */
static void note_losses(struct live_stream *stream, struct lull_packet *packet)
{
    const struct lull_ctf_stream *cursor = stream->cursor;
    bool is_first = !stream->has_last || !(stream->last.flags & LULL_PACKET_HAS_SEQUENCE);
    if (lull_memory_get(cursor->memory, LULL_MEM_HAVE) & LULL_HAS_SEQUENCE) {
        packet->flags |= LULL_PACKET_HAS_SEQUENCE;
        packet->sequence = lull_memory_get(cursor->memory, LULL_MEM_SEQUENCE);
    }
    struct lull_clock_map map;
    static const struct lull_clock_transform identity;
    lull_ctf_clock_map(cursor->stream, 0, &identity, &map);
    struct lull_packet reported = *packet;
    if (is_first && stream->has_last) { /* nothing is known of the number of the one before */
        reported.flags &= ~(uint32_t)LULL_PACKET_HAS_SEQUENCE;
    }
    if (!stream->has_last && !stream->is_whole) { /* the counter covers what nobody requested */
        reported.flags &= ~(uint32_t)LULL_PACKET_HAS_DISCARDED;
    }
    lull_ctf_packet_losses(stream->trace->report, stream->number, cursor->stream, &map, &reported,
                           stream->has_last ? &stream->last : NULL, NULL);
    stream->last = *packet;
    stream->has_last = true;
}

/* Lets time pass, then fetches what is new. */
static void await_news(struct live_stream *stream)
{
    struct lull_live *live = stream->trace->live;
    stream->retries++;
    if (live_idle(live)) {
        live_catch_up(live);
    }
}

static void leave_packet(struct live_stream *stream, const char *why)
{
    live_problem(stream->trace->live, "%s: byte %" G_GUINT64_FORMAT ": %s; the packet is left out",
                 stream->name, stream->index.offset, why);
    advance(stream, joined(stream, stream->index.end));
    stream->has_index = false;
    stream->retries = 0;
}

/* The metadata do not declare the class of the packet: perhaps they will. */
static void await_class(struct live_stream *stream)
{
    if (stream->retries < CLASS_RETRIES) {
        stream->trace->needs_metadata = true;
        await_news(stream);
        return;
    }
    live_problem(stream->trace->live,
                 "%s: its packets are of class %" G_GUINT64_FORMAT
                 ", which the metadata does not declare; the stream is left out",
                 stream->name, stream->index.stream_class);
    end(stream);
}

/* Starts with the packet of the index. Its first bytes are fetched before anything else is done:
 * the relay may answer that it needs more metadata, which then is there when next we come. */
static void open_packet(struct live_stream *stream)
{
    struct live_trace *trace = stream->trace;
    bool retry;
    const char *why;
    uint64_t bytes = (stream->index.content_bits + 7) / 8;
    if (bytes > 0 && !fetch(stream, stream->index.offset, bytes, &retry, &why)) {
        if (trace->live->is_over) {
            return;
        }
        if (retry && stream->retries < MOST_RETRIES) {
            await_news(stream);
        } else {
            leave_packet(stream, why);
        }
        return;
    }
    uint32_t index = class_index(stream);
    if (index == trace->newest->schema->n_streams) {
        await_class(stream);
        return;
    }
    stream->retries = 0;
    stream->n_packets++;
    prepare_cursor(stream, index);
    struct lull_packet packet = packet_of(stream);
    if (lull_packet_check_times(&packet, &stream->cursor->map)) {
        live_problem(trace->live,
                     "%s: byte %" G_GUINT64_FORMAT ": in the index of a packet " LULL_TIME_OUTSIDE
                     "; its times are not used",
                     stream->name, packet.offset);
    }
    lull_ctf_stream_feed(stream->cursor, stream->schema->plan, &packet, trace->fields_size);
    stream->has_index = false;
    stream->is_open = true;
}

/* ---- the next event ---- */

static bool next_index(struct live_stream *stream)
{
    struct lull_live *live = stream->trace->live;
    struct live_index *index = &stream->index;
    GError *error = NULL;
    if (!live_relay_next_index(&live->relay, stream->id, index, &error)) {
        live_fail(live, error);
        return false;
    }
    stream->has_hung_up = index->status == LIVE_INDEX_HUP || index->status == LIVE_INDEX_EOF ||
                          index->status == LIVE_INDEX_ERROR;
    return true;
}

bool live_stream_drain(struct live_stream *stream)
{
    for (unsigned n = 0; n < DRAINED_AT_ONCE && !stream->has_hung_up; n++) {
        if (!next_index(stream)) {
            return false;
        }
        if (stream->index.status != LIVE_INDEX_OK) {
            break;
        }
    }
    return true;
}

/* Requests the next packet. */
static void ask(struct live_stream *stream)
{
    struct lull_live *live = stream->trace->live;
    struct live_index *index = &stream->index;
    stream->was_requested = true;
    if (!next_index(stream)) {
        return;
    }
    if (index->flags & LIVE_NEW_METADATA) {
        stream->trace->needs_metadata = true;
    }
    if (index->flags & LIVE_NEW_STREAM) {
        live_expect_streams(live);
    }
    int64_t before = stream->base.event.time_ns;
    bool is_quiet = false;
    switch (index->status) {
    case LIVE_INDEX_OK:
        stream->has_index = true;
        break;
    case LIVE_INDEX_INACTIVE:
        advance(stream, joined(stream, index->end));
        is_quiet = stream->base.event.time_ns == before;
        break;
    case LIVE_INDEX_RETRY:
        is_quiet = true;
        break;
    case LIVE_INDEX_ERROR:
        live_problem(live, "%s: the relay reports an error; the stream is left out", stream->name);
        end(stream);
        break;
    case LIVE_INDEX_HUP:
    case LIVE_INDEX_EOF:
        end(stream);
        break;
    }
    if (!live_catch_up(live)) {
        return;
    }
    if (is_quiet) {
        live_idle(live);
    } else {
        live_awake(live);
    }
}

/* The packet is read, or what is left of it lies after the end of what is wanted. */
static void close_packet(struct live_stream *stream)
{
    stream->is_open = false;
    advance(stream, joined(stream, stream->last.end));
}

static bool read_packet(struct live_stream *stream)
{
    struct lull_ctf_stream *cursor = stream->cursor;
    struct lull_event *event = &stream->base.event;
    int64_t bound = event->time_ns;
    bool is_first = cursor->packet < 0;
    if (is_first) { /* a packet outside of the limits is not opened */
        lull_memory_set(cursor->memory, LULL_MEM_HAVE, 0);
    }
    bool is_found = lull_ctf_stream_next(cursor, event);
    if (is_first) {
        struct lull_packet packet = packet_of(stream);
        note_losses(stream, &packet);
    }
    bool is_other = !lull_numbers_have(stream->window.only_cpus, cursor->cpu);
    if (is_found && !is_other) {
        stream->base.has_event = true;
        return true;
    }
    event->time_ns = bound;
    close_packet(stream);
    return false;
}

static bool stream_next(struct lull_source_stream *base)
{
    struct live_stream *stream = (struct live_stream *)base;
    struct lull_live *live = stream->trace->live;
    base->has_event = false;
    if (stream->is_open && read_packet(stream)) {
        return true;
    }
    if (!stream->is_ended && base->event.time_ns >= stream->window.end_ns) {
        live->passed_end = true;
        end(stream);
    }
    if (stream->is_ended || live->is_over || stream->trace->is_dropped) {
        return false;
    }
    if (stream->has_index) {
        open_packet(stream);
    } else {
        ask(stream);
    }
    return !stream->is_ended && !live->is_over;
}

static void stream_start(struct lull_source_stream *base, const struct lull_source_window *window)
{
    struct live_stream *stream = (struct live_stream *)base;
    base->has_event = false;
    if (stream->was_requested) {
        live_problem(stream->trace->live, "%s: a live session can be read only once", stream->name);
        end(stream);
    }
    stream->window = *window;
    base->event.time_ns = INT64_MIN;
    base->bound_ns = stream->is_ended ? INT64_MAX : INT64_MIN;
}

/* The relay ends a recording only when all of its streams are taken: live_stream_drain() does. */
static void stream_leave(struct lull_source_stream *base)
{
    end((struct live_stream *)base);
}

static uint64_t stream_progress(const struct lull_source_stream *base)
{
    return 0;
}

static bool stream_visit(const struct lull_source_stream *base, const struct lull_visitor *visitor,
                         void *user, GError **error)
{
    return lull_ctf_stream_visit(((const struct live_stream *)base)->cursor, visitor, user, error);
}

static bool stream_visit_packet(const struct lull_source_stream *base,
                                const struct lull_visitor *visitor, void *user, GError **error)
{
    const struct lull_ctf_stream *cursor = ((const struct live_stream *)base)->cursor;
    return lull_ctf_stream_visit_packet(cursor, visitor, user, error);
}

static bool stream_cycles(const struct lull_source_stream *base, uint64_t *cycles)
{
    return lull_ctf_cursor_cycles(((const struct live_stream *)base)->cursor, cycles);
}

/* A layout borrows from metadata that may be replaced before the next event: events are visited. */
static struct lull_layout *stream_layout(const struct lull_source_stream *base, uint32_t flags)
{
    return NULL;
}

static void stream_bytes(const struct lull_source_stream *base, struct lull_event_bytes *bytes)
{
    const struct live_stream *stream = (const struct live_stream *)base;
    *bytes = (struct lull_event_bytes){.data = stream->cursor->buf,
                                       .start = stream->cursor->event_body,
                                       .end = stream->cursor->event_end,
                                       .packet = stream->n_packets};
}

/* ---- life ---- */

struct live_stream *live_stream_new(struct live_trace *trace, const struct live_stream_info *info,
                                    uint32_t number)
{
    static const struct lull_source_stream_ops ops = {.start = stream_start,
                                                      .next = stream_next,
                                                      .leave = stream_leave,
                                                      .progress = stream_progress,
                                                      .visit = stream_visit,
                                                      .visit_packet = stream_visit_packet,
                                                      .cycles = stream_cycles,
                                                      .layout = stream_layout,
                                                      .bytes = stream_bytes};
    struct live_stream *stream = g_new0(struct live_stream, 1);
    stream->base.ops = &ops;
    stream->base.cpu = LULL_CPU_LATER;
    stream->base.start_ns = INT64_MAX;
    stream->base.end_ns = INT64_MIN;
    stream->base.event.impl = &stream->base;
    stream->trace = trace;
    stream->is_whole = trace->live->gives_whole;
    stream->id = info->id;
    stream->name = g_strdup(info->name);
    stream->number = number;
    return stream;
}

void live_stream_free(gpointer data)
{
    struct live_stream *stream = data;
    lull_ctf_stream_free(stream->cursor);
    live_schema_unref(stream->schema);
    g_free(stream->chunk);
    g_free(stream->name);
    g_free(stream);
}
