/* SPDX-License-Identifier: MIT */
/* The thread that reads ahead, and the ring of blocks between it and who reads the session. Events
 * are copied with their fields and texts: the windows of the streams move on meanwhile. */
#include "source/session/ahead.h"

#include <stdlib.h>
#include <string.h>

#include "base/bits.h"

/* Some hundred events each; all of them fit a second-level cache. A larger event gets a block for
 * itself, while no other is in use. */
#define BLOCK_BYTES ((size_t)64 << 10)
#define BLOCKS 16u
/* To wake a thread costs more than a block: who waits goes on when there are so many to do. */
#define WAKE_BLOCKS (BLOCKS / 2)
#define UNIT LULL_RECORD_UNIT
#define LINE 64u
/* How far before the writing the lines of a block come back from the CPU that read them last. */
#define OWN_AHEAD (32 * LINE)
#define KERNEL_NAME 16u /* bytes of most texts: names of tasks */

/* What was reported; owns its text. */
struct note {
    const struct lull_report *to;
    struct lull_session_note what;
};

struct block {
    uint8_t *data;
    size_t used, capacity;
    uint64_t progress; /* bytes that were read of all streams; 0: not looked at */
};

/* What of the fields of a subscription is copied. */
struct shape {
    size_t size;
    uint64_t texts;       /* a bit for each binding that is one */
    uint32_t offsets[64]; /* of bindings */
};

/* What the streams of a trace report. */
struct listener {
    struct lull_ahead *ahead;
    struct lull_note_keeper keeper;
    const struct lull_report *to;
};

/* Each side writes cache lines of its own. */
struct lull_ahead {
    struct lull_session *session;
    struct shape *shapes;             /* by subscription */
    struct listener *listeners;       /* by trace */
    struct lull_record_place *places; /* by stream */
    GThread *thread;
    struct block blocks[BLOCKS];

    struct {
        struct block *block; /* NULL: nobody wants more */
        GArray *late;        /* struct note: of those for which there was no block any more */
    } reader __attribute__((aligned(LINE)));

    struct {
        const uint8_t *at, *end;
        bool has_block;
        struct lull_event event;
        uint64_t progress;
    } taker __attribute__((aligned(LINE)));

    /* Blocks that were ever written and taken, modulo 2^32; in between they are in use. Atomic, as
     * what follows. */
    unsigned written __attribute__((aligned(LINE)));
    unsigned taken __attribute__((aligned(LINE)));
    int is_done __attribute__((aligned(LINE))), is_stopped;
    int reader_waits; /* 1 + how many blocks may be in use for it to go on; 0: it does not wait */
    int taker_waits;
    GMutex lock; /* to wait with */
    GCond may_write, may_take;
};

static unsigned in_use(const struct lull_ahead *ahead)
{
    return (unsigned)g_atomic_int_get(&ahead->written) - (unsigned)g_atomic_int_get(&ahead->taken);
}

static void wake(struct lull_ahead *ahead, GCond *cond)
{
    g_mutex_lock(&ahead->lock);
    g_cond_signal(cond);
    g_mutex_unlock(&ahead->lock);
}

/* ---- the reader ---- */

/* Waits until at most so many blocks are in use. False: nobody wants more. */
static bool wait_to_write(struct lull_ahead *ahead, unsigned most)
{
    g_mutex_lock(&ahead->lock);
    g_atomic_int_set(&ahead->taker_waits, FALSE); /* it may wait for more than will come */
    g_cond_signal(&ahead->may_take);
    g_atomic_int_set(&ahead->reader_waits, (int)most + 1);
    while (in_use(ahead) > most && !g_atomic_int_get(&ahead->is_stopped)) {
        g_cond_wait(&ahead->may_write, &ahead->lock);
    }
    g_atomic_int_set(&ahead->reader_waits, 0);
    g_mutex_unlock(&ahead->lock);
    return !g_atomic_int_get(&ahead->is_stopped);
}

static uint64_t bytes_read(const struct lull_session *session)
{
    uint64_t done = 0;
    for (uint32_t i = 0; i < session->n_selected; i++) {
        done += session->selected[i]->ops->progress(session->selected[i]);
    }
    return done;
}

/* Asks for a cache line that will be written. Without it each write waits until the other CPU has given the line up,
 * which can take longer than what Lull does with an event. It is a hint; __builtin_prefetch() for x86-64 without
 * further options would ask for the line to read it. */
static inline void own_soon(const uint8_t *line)
{
#ifdef __x86_64__
    __asm__ volatile("prefetchw %0" : : "m"(*line));
#else
    __builtin_prefetch(line, 1);
#endif
}

/* Lets the block go that was written. */
static void publish(struct lull_ahead *ahead)
{
    const unsigned number = ahead->written;
    ahead->blocks[number % BLOCKS].progress = number % BLOCKS == 0 ? bytes_read(ahead->session) : 0;
    g_atomic_int_set(&ahead->written, number + 1);
    if (g_atomic_int_get(&ahead->taker_waits) && in_use(ahead) >= WAKE_BLOCKS) {
        g_mutex_lock(&ahead->lock);
        g_atomic_int_set(&ahead->taker_waits, FALSE);
        g_cond_signal(&ahead->may_take);
        g_mutex_unlock(&ahead->lock);
    }
}

/* A block with room for `bytes`. NULL: nobody wants more. */
static struct block *next_block(struct lull_ahead *ahead, size_t bytes)
{
    const bool is_large = bytes > BLOCK_BYTES;
    const unsigned used = in_use(ahead);
    if ((is_large && used > 0 && !wait_to_write(ahead, 0)) ||
        (!is_large && used == BLOCKS && !wait_to_write(ahead, BLOCKS - WAKE_BLOCKS))) {
        return NULL;
    }
    struct block *block = &ahead->blocks[ahead->written % BLOCKS];
    const size_t capacity = MAX(bytes, BLOCK_BYTES);
    if (block->capacity != capacity) {
        g_free(block->data);
        block->data = g_malloc(capacity + OWN_AHEAD + LULL_LOAD_SLACK);
        block->capacity = capacity;
    }
    block->used = 0;
    for (size_t at = 0; at < OWN_AHEAD; at += LINE) {
        own_soon(block->data + at);
    }
    return g_atomic_int_get(&ahead->is_stopped) ? NULL : block;
}

/* Has a block with room for a record of `bytes`. False: nobody wants it. */
static bool make_room(struct lull_ahead *ahead, size_t bytes)
{
    struct block *block = ahead->reader.block;
    if (!block || bytes > block->capacity - block->used) {
        if (block && block->used > 0) {
            publish(ahead);
        }
        ahead->reader.block = block ? next_block(ahead, bytes) : NULL;
    }
    return ahead->reader.block != NULL;
}

static inline size_t padded(size_t bytes)
{
    return (bytes + UNIT - 1) & ~(size_t)(UNIT - 1);
}

static inline struct lull_text *text_at(const struct shape *shape, uint64_t texts, void *fields)
{
    const uint32_t offset = shape->offsets[__builtin_ctzll(texts)];
    return (struct lull_text *)(void *)((uint8_t *)fields + offset);
}

/* Which texts an event has, a bit for each. */
static inline uint64_t texts_of(const struct shape *shape, const struct lull_event *event)
{
    return *(const uint64_t *)event->fields & shape->texts;
}

/* False if it does not fit. */
static inline bool put_event(struct block *block, const struct shape *shape,
                             const struct lull_event *event)
{
    const uint8_t *end = block->data + block->capacity;
    struct lull_record *record = (struct lull_record *)(void *)(block->data + block->used);
    if (G_UNLIKELY((size_t)(end - (uint8_t *)record) < sizeof *record + shape->size)) {
        return false;
    }
    memcpy(record + 1, event->fields, shape->size);
    uint8_t *data = (uint8_t *)(record + 1) + shape->size;
    for (uint64_t left = texts_of(shape, event); left != 0; left &= left - 1) {
        struct lull_text *text = text_at(shape, left, record + 1);
        const size_t length = text->length;
        if (G_UNLIKELY((size_t)(end - data) < padded(length))) {
            return false;
        }
        if (length == KERNEL_NAME) {
            memcpy(data, text->data, KERNEL_NAME);
        } else if (length > 0) {
            memcpy(data, text->data, length);
        }
        text->data = (const char *)data;
        data += padded(length);
    }
    *record = (struct lull_record){.time_ns = event->time_ns,
                                   .event_class = event->event_class,
                                   .units = (uint32_t)((size_t)(data - (uint8_t *)record) / UNIT),
                                   .stream = event->stream,
                                   .cpu = event->cpu,
                                   .subscription = event->subscription};
    for (const uint8_t *line = (const uint8_t *)record; line < data; line += LINE) {
        own_soon(line + OWN_AHEAD);
    }
    block->used = (size_t)(data - block->data);
    return true;
}

/* Where there is no room left. */
static __attribute__((noinline)) bool
put_in_next(struct lull_ahead *ahead, const struct shape *shape, const struct lull_event *event)
{
    size_t bytes = sizeof(struct lull_record) + shape->size;
    for (uint64_t left = texts_of(shape, event); left != 0; left &= left - 1) {
        bytes += padded(text_at(shape, left, (void *)event->fields)->length);
    }
    return make_room(ahead, bytes) && put_event(ahead->reader.block, shape, event);
}

/* False: nobody wants it. */
static inline bool write_event(struct lull_ahead *ahead, const struct lull_event *event)
{
    const struct shape *shape = &ahead->shapes[event->subscription];
    struct block *block = ahead->reader.block;
    return (G_LIKELY(block) && G_LIKELY(put_event(block, shape, event))) ||
           put_in_next(ahead, shape, event);
}

static void write_note(void *user, const struct lull_session_note *what)
{
    const struct listener *listener = user;
    struct lull_ahead *ahead = listener->ahead;
    const struct note note = {listener->to, *what};
    const size_t bytes = sizeof(struct lull_record) + padded(sizeof note);
    if (!make_room(ahead, bytes)) {
        g_array_append_val(ahead->reader.late, note);
        return;
    }
    struct block *block = ahead->reader.block;
    struct lull_record *record = (struct lull_record *)(void *)(block->data + block->used);
    *record = (struct lull_record){.units = (uint32_t)(bytes / UNIT)};
    memcpy(record + 1, &note, sizeof note);
    block->used += bytes;
}

static gpointer run(gpointer data)
{
    struct lull_ahead *ahead = data;
    struct lull_session *session = ahead->session;
    struct lull_merge *merge = &session->merge;
    ahead->reader.block = next_block(ahead, BLOCK_BYTES);
    /* As lull_session_read() does, where there is neither a filter nor a watch. */
    while (merge->times[merge->winner] != INT64_MAX) {
        struct lull_source_stream *stream = session->merged[merge->winner];
        if (stream->has_event && !write_event(ahead, &stream->event)) {
            break;
        }
        const int64_t time_ns = stream->ops->next(stream) ? stream->event.time_ns : INT64_MAX;
        lull_merge_update(merge, lull_session_turn(session, stream, time_ns));
    }
    if (ahead->reader.block && ahead->reader.block->used > 0) {
        publish(ahead);
    }
    g_atomic_int_set(&ahead->is_done, TRUE);
    wake(ahead, &ahead->may_take);
    return NULL;
}

/* ---- who takes ---- */

static void wait_to_take(struct lull_ahead *ahead)
{
    g_mutex_lock(&ahead->lock);
    g_atomic_int_set(&ahead->taker_waits, TRUE);
    if (in_use(ahead) > 0) {
        g_atomic_int_set(&ahead->taker_waits, FALSE);
    }
    while (g_atomic_int_get(&ahead->taker_waits) && !g_atomic_int_get(&ahead->is_done)) {
        g_cond_wait(&ahead->may_take, &ahead->lock);
    }
    g_atomic_int_set(&ahead->taker_waits, FALSE);
    g_mutex_unlock(&ahead->lock);
}

/* Gives back the block that was read, and goes on with the next. False at the end. */
static bool take_block(struct lull_ahead *ahead)
{
    if (ahead->taker.has_block) {
        g_atomic_int_set(&ahead->taken, ahead->taken + 1);
        const int waits = g_atomic_int_get(&ahead->reader_waits);
        if (waits > 0 && in_use(ahead) < (unsigned)waits) {
            wake(ahead, &ahead->may_write);
        }
    }
    ahead->taker.has_block = false;
    while (in_use(ahead) == 0) {
        /* It is done after it has written all. */
        if (g_atomic_int_get(&ahead->is_done) && in_use(ahead) == 0) {
            return false;
        }
        wait_to_take(ahead);
    }
    const struct block *block = &ahead->blocks[ahead->taken % BLOCKS];
    ahead->taker.has_block = true;
    ahead->taker.at = block->data;
    ahead->taker.end = block->data + block->used;
    ahead->taker.progress = MAX(ahead->taker.progress, block->progress);
    return true;
}

static void pass_on(struct note *note)
{
    lull_session_pass_note(note->to, &note->what);
    g_free(note->what.text);
}

void lull_record_pass_on(const struct lull_record *record)
{
    struct note note;
    memcpy(&note, record + 1, sizeof note);
    pass_on(&note);
}

bool lull_ahead_batch(struct lull_ahead *ahead, struct lull_batch *batch)
{
    if (ahead->taker.at == ahead->taker.end && !take_block(ahead)) {
        return false;
    }
    batch->at = (const struct lull_record *)(const void *)ahead->taker.at;
    batch->end = (const struct lull_record *)(const void *)ahead->taker.end;
    batch->places = ahead->places;
    ahead->taker.at = ahead->taker.end;
    return true;
}

/* The next record; NULL at the end. */
static inline const struct lull_record *take(struct lull_ahead *ahead)
{
    if (G_UNLIKELY(ahead->taker.at == ahead->taker.end) && !take_block(ahead)) {
        return NULL;
    }
    const struct lull_record *record = (const struct lull_record *)(const void *)ahead->taker.at;
    ahead->taker.at += (size_t)record->units * UNIT;
    return record;
}

const struct lull_event *lull_ahead_read(struct lull_ahead *ahead)
{
    const struct lull_record *record;
    while ((record = take(ahead)) && G_UNLIKELY(!record->event_class)) {
        lull_record_pass_on(record);
    }
    if (G_UNLIKELY(!record)) {
        return NULL;
    }
    const struct lull_record_place place = ahead->places[record->stream];
    ahead->taker.event = (struct lull_event){.time_ns = record->time_ns,
                                             .host = place.host,
                                             .trace = place.trace,
                                             .stream = record->stream,
                                             .cpu = record->cpu,
                                             .subscription = record->subscription,
                                             .event_class = record->event_class,
                                             .fields = record + 1};
    return &ahead->taker.event;
}

uint64_t lull_ahead_progress(const struct lull_ahead *ahead)
{
    return ahead->taker.progress;
}

/* ---- life ---- */

bool lull_ahead_is_possible(const struct lull_session *session)
{
    bool may = !session->filter && !session->watch && session->lives->len == 0 &&
               session->n_started == session->n_selected && session->n_selected > 0;
    for (uint32_t i = 0; may && i < session->n_selected; i++) {
        const struct session_trace *trace =
            lull_session_trace_at(session, session->selected[i]->event.trace);
        may = trace->source->ops->reads_apart;
    }
    return may;
}

static struct shape *find_shapes(const struct lull_session *session)
{
    struct shape *shapes = g_new0(struct shape, MAX(session->subscriptions->len, 1));
    for (uint32_t s = 0; s < session->subscriptions->len; s++) {
        const struct lull_subscription *subscription =
            &g_array_index(session->subscriptions, struct lull_subscription, s);
        shapes[s].size = padded(MAX(subscription->fields_size, sizeof(uint64_t)));
        for (uint32_t i = 0; i < subscription->n_bindings; i++) {
            const struct lull_binding *binding = &subscription->bindings[i];
            shapes[s].offsets[i] = binding->offset;
            if (binding->kind == LULL_BIND_TEXT || binding->kind == LULL_BIND_RAW) {
                shapes[s].texts |= UINT64_C(1) << i;
            }
        }
    }
    return shapes;
}

static void listen(struct lull_ahead *ahead)
{
    const struct lull_session *session = ahead->session;
    ahead->listeners = g_new0(struct listener, session->traces->len);
    for (uint32_t t = 0; t < session->traces->len; t++) {
        struct listener *listener = &ahead->listeners[t];
        listener->ahead = ahead;
        listener->to = &lull_session_trace_at(session, t)->report;
        lull_session_keep_notes(&listener->keeper, write_note, listener);
    }
    for (uint32_t i = 0; i < session->n_selected; i++) {
        struct lull_source_stream *stream = session->selected[i];
        stream->ops->set_report(stream, &ahead->listeners[stream->event.trace].keeper.report);
    }
}

static void free_ahead(struct lull_ahead *ahead)
{
    for (uint32_t i = 0; i < ahead->session->n_selected; i++) {
        struct lull_source_stream *stream = ahead->session->selected[i];
        stream->ops->set_report(stream, NULL);
    }
    for (uint32_t i = 0; i < BLOCKS; i++) {
        g_free(ahead->blocks[i].data);
    }
    g_array_unref(ahead->reader.late);
    g_mutex_clear(&ahead->lock);
    g_cond_clear(&ahead->may_write);
    g_cond_clear(&ahead->may_take);
    g_free(ahead->shapes);
    g_free(ahead->listeners);
    g_free(ahead->places);
    free(ahead);
}

struct lull_ahead *lull_ahead_start(struct lull_session *session)
{
    struct lull_ahead *ahead = aligned_alloc(G_ALIGNOF(struct lull_ahead), sizeof *ahead);
    if (!ahead) {
        return NULL;
    }
    memset(ahead, 0, sizeof *ahead);
    ahead->session = session;
    ahead->shapes = find_shapes(session);
    ahead->places = g_new(struct lull_record_place, MAX(session->streams->len, 1));
    for (uint32_t i = 0; i < session->streams->len; i++) {
        const struct lull_source_stream *stream = session->streams->pdata[i];
        ahead->places[i] = (struct lull_record_place){stream->event.host, stream->event.trace};
    }
    ahead->reader.late = g_array_new(FALSE, FALSE, sizeof(struct note));
    g_mutex_init(&ahead->lock);
    g_cond_init(&ahead->may_write);
    g_cond_init(&ahead->may_take);
    listen(ahead);
    ahead->thread = g_thread_try_new("lull-ahead", run, ahead, NULL);
    if (!ahead->thread) {
        free_ahead(ahead);
        return NULL;
    }
    return ahead;
}

bool lull_ahead_stop(struct lull_ahead *ahead)
{
    g_mutex_lock(&ahead->lock);
    g_atomic_int_set(&ahead->is_stopped, TRUE);
    g_cond_signal(&ahead->may_write);
    g_mutex_unlock(&ahead->lock);
    g_thread_join(ahead->thread);
    bool was_over = ahead->reader.block != NULL;
    while (lull_ahead_read(ahead)) {
        was_over = false;
    }
    for (guint i = 0; i < ahead->reader.late->len; i++) {
        pass_on(&g_array_index(ahead->reader.late, struct note, i));
    }
    free_ahead(ahead);
    return was_over;
}
