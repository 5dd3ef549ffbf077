/* SPDX-License-Identifier: MIT */
/* The commands of the LTTng live protocol (viewer protocol 2.4 and later, lttng-viewer-abi.h of
 * lttng-tools): one function each, host byte order inside. Whatever a relay answers is checked. On
 * false, *error is set and the connection is of no more use. */
#ifndef LULL_SOURCE_LIVE_PROTOCOL_H
#define LULL_SOURCE_LIVE_PROTOCOL_H

#include "source/live/wire.h"

struct live_relay {
    struct live_wire wire;
    uint32_t minor; /* of the protocol, agreed */
};

/* A recording as the relay lists it. */
struct live_session_info {
    uint64_t id;
    uint32_t timer_us, clients, streams;
    char *host, *name;
};

/* A stream that the relay announces. */
struct live_stream_info {
    uint64_t id, trace;
    bool is_metadata;
    char *name; /* path and channel, for messages */
};

/* What GET_NEXT_INDEX answers. */
enum live_index_status {
    LIVE_INDEX_OK = 1,
    LIVE_INDEX_RETRY,
    LIVE_INDEX_HUP,
    LIVE_INDEX_ERROR,
    LIVE_INDEX_INACTIVE,
    LIVE_INDEX_EOF,
};

enum live_flags {
    LIVE_NEW_METADATA = 1 << 0,
    LIVE_NEW_STREAM = 1 << 1,
};

struct live_index {
    uint64_t offset;                    /* bytes within the stream */
    uint64_t packet_bits, content_bits; /* checked to fit each other */
    uint64_t start, end;                /* clock values */
    uint64_t discarded;
    uint64_t stream_class;
    enum live_index_status status;
    uint32_t flags;
};

enum live_packet_status {
    LIVE_PACKET_OK = 1,
    LIVE_PACKET_RETRY,
    LIVE_PACKET_ERROR,
    LIVE_PACKET_EOF,
};

enum live_metadata_status {
    LIVE_METADATA_OK = 1,
    LIVE_METADATA_NONE,
    LIVE_METADATA_ERROR,
};

enum live_streams_status {
    LIVE_STREAMS_OK = 1,
    LIVE_STREAMS_NONE,
    LIVE_STREAMS_ERROR,
    LIVE_STREAMS_HUP,
};

/* Connects, agrees on a version. */
bool live_relay_open(struct live_relay *relay, const struct lull_live_url *url, GError **error);
void live_relay_close(struct live_relay *relay);

/* struct live_session_info * with the array's free function. */
GPtrArray *live_relay_sessions(struct live_relay *relay, GError **error);
bool live_relay_create_session(struct live_relay *relay, GError **error);
/* Follows a recording from now on, or from what the relay still has of it; appends to `streams`
 * (struct live_stream_info *). */
bool live_relay_attach(struct live_relay *relay, uint64_t session, bool from_start,
                       GPtrArray *streams, GError **error);
bool live_relay_new_streams(struct live_relay *relay, uint64_t session, GPtrArray *streams,
                            enum live_streams_status *status, GError **error);
bool live_relay_next_index(struct live_relay *relay, uint64_t stream, struct live_index *index,
                           GError **error);
/* Up to `size` bytes of a stream from `offset` on; *got is 0 unless the status is OK. */
bool live_relay_packet(struct live_relay *relay, uint64_t stream, uint64_t offset, uint8_t *buf,
                       uint32_t size, uint32_t *got, enum live_packet_status *status,
                       uint32_t *flags, GError **error);
/* Appends what is new to `text`, which never gets larger than `most` bytes. */
bool live_relay_metadata(struct live_relay *relay, uint64_t stream, GByteArray *text, size_t most,
                         enum live_metadata_status *status, GError **error);
bool live_relay_detach(struct live_relay *relay, uint64_t session, GError **error);

GPtrArray *live_stream_infos_new(void);

#endif
