/* SPDX-License-Identifier: MIT */
/* What the files of the live client share. */
#ifndef LULL_SOURCE_LIVE_PRIVATE_H
#define LULL_SOURCE_LIVE_PRIVATE_H

#include "ctf/stream/stream.h"
#include "source/live/live.h"
#include "source/live/protocol.h"

struct live_trace;

/* A recording that we are attached to. */
struct live_attached {
    uint64_t id;
    uint32_t timer_us;
    bool needs_streams; /* the relay may have new ones */
    bool is_closed;
};

/* Two numbers that together name something. */
struct live_key {
    uint64_t outer, inner;
};

guint live_key_hash(gconstpointer key);
gboolean live_key_equal(gconstpointer a, gconstpointer b);
/* A table of keys that it owns. */
GHashTable *live_keys_new(void);

struct lull_live {
    struct live_relay relay;
    struct lull_live_hooks hooks;
    struct lull_report report; /* before a trace has one of its own */
    GError *error;
    bool is_over;      /* stopped, failed, or ended: nothing more is read */
    bool gives_whole;  /* the relay gives new streams from the first packet that it has on */
    bool passed_end;   /* a stream has passed the end of what is wanted */
    GArray *attached;  /* struct live_attached */
    GPtrArray *traces; /* struct live_trace */
    GHashTable *by_id; /* struct live_key to struct live_trace */
    GHashTable *known; /* struct live_key of streams */
    int pause_ms;      /* grows while nothing happens */
};

/* Ends reading; takes `error`, which is dropped if we were stopped. */
void live_fail(struct lull_live *live, GError *error);
/* A pause, since nothing has happened. False: reading has ended. */
bool live_idle(struct lull_live *live);
/* Something has happened. */
static inline void live_awake(struct lull_live *live)
{
    live->pause_ms = 0;
}
/* Fetches streams and metadata that the relay has announced, waits for what reading cannot do
 * without. False: reading has ended. */
bool live_catch_up(struct lull_live *live);
/* The relay has new streams. */
void live_expect_streams(struct lull_live *live);

void G_GNUC_PRINTF(2, 3) live_problem(struct lull_live *live, const char *format, ...);

/* ---- metadata: live_metadata.c ---- */

/* Metadata as of some time, compiled. */
struct live_schema {
    grefcount references;
    struct lull_schema *schema;
    struct lull_ctf_plan *plan;
    bool is_kept; /* for the life of its trace: somebody borrows from it */
};

struct live_schema *live_schema_new(const char *name, const GByteArray *text, GError **error);
struct live_schema *live_schema_ref(struct live_schema *schema);
void live_schema_unref(struct live_schema *schema);

/* ---- one trace: live_trace.c ---- */

/* Where metadata declare an event class; stream UINT32_MAX: they do not. */
struct live_location {
    uint32_t stream, event;
};

struct live_trace {
    struct lull_source base;
    struct lull_live *live;
    const struct lull_report *report; /* NULL: not taken yet */
    uint64_t session, id;

    bool has_metadata, needs_metadata;
    bool is_dropped; /* it cannot be read */
    uint64_t metadata_stream;
    GByteArray *text;
    uint64_t parsed;     /* bytes, of all attempts */
    int64_t deadline_us; /* monotonic; until then metadata may be incomplete; 0: it is not */
    char *why;           /* what is wrong with it so far, or NULL */
    struct live_schema *first, *newest;

    GPtrArray *streams; /* struct live_stream */
    GPtrArray *classes; /* struct lull_event_class */
    GHashTable *by_id;  /* struct live_key (stream class, event id) to struct lull_event_class */
    GArray *locations;  /* struct live_location of each class in the newest metadata */
    GPtrArray *kept;    /* struct live_schema */
    GPtrArray *texts;
    uint32_t fields_size;
};

struct live_trace *live_trace_new(struct lull_live *live, uint64_t session, uint64_t id);
void live_trace_free(gpointer trace);
void live_trace_add_stream(struct live_trace *trace, const struct live_stream_info *info);
/* True if it has data, and waits for metadata to read it. */
bool live_trace_is_waiting(const struct live_trace *trace);
/* No more metadata will come: says what is wrong with what came. */
void live_trace_end(struct live_trace *trace);
/* Fetches metadata if that is needed. False: reading has ended. */
bool live_trace_update(struct live_trace *trace);

/* ---- one stream: live_stream.c ---- */

struct live_stream {
    struct lull_source_stream base;
    struct live_trace *trace;
    struct lull_ctf_stream *cursor; /* NULL before the first packet */
    struct live_schema *schema;     /* of the cursor */
    char *name;
    uint64_t id;
    uint32_t number; /* within the trace */
    struct lull_source_window window;
    bool is_whole; /* its first packet is the first that the relay has */
    bool was_requested;
    bool is_ended;    /* nothing more is read of it */
    bool has_hung_up; /* and the relay has nothing more */
    bool has_index;   /* `index` is of the packet that comes next */
    bool is_open;     /* the cursor is in a packet */
    uint32_t retries;
    struct live_index index;
    struct lull_packet last; /* the packet before */
    bool has_last;
    uint64_t n_packets; /* that were opened */
    /* Bytes that were fetched before the cursor wanted them. */
    uint8_t *chunk;
    uint64_t chunk_offset;
    uint32_t chunk_size;
};

struct live_stream *live_stream_new(struct live_trace *trace, const struct live_stream_info *info,
                                    uint32_t number);
void live_stream_free(gpointer stream);
/* Takes packets that nobody reads from the relay: it ends a recording only when all is taken. */
bool live_stream_drain(struct live_stream *stream);

#endif
