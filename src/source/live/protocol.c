/* SPDX-License-Identifier: MIT */
/* The live protocol. All numbers are big-endian, without padding between them; texts fill fields of
 * fixed size. Nothing is allocated by a length before that many bytes have come or the length has
 * been found to be small. */
#include "source/live/protocol.h"

#include <lull/error.h>
#include <string.h>

#include "base/bits.h"

enum command {
    CONNECT = 1,
    LIST_SESSIONS,
    ATTACH_SESSION,
    GET_NEXT_INDEX,
    GET_PACKET,
    GET_METADATA,
    GET_NEW_STREAMS,
    CREATE_SESSION,
    DETACH_SESSION,
};

#define MAJOR 2
#define MINOR 15 /* from which on texts in the list of sessions have lengths */
#define CLIENT_COMMAND 1
#define SEEK_BEGINNING 1
#define SEEK_LAST 2

#define HOST_SIZE 64
#define NAME_SIZE 255
#define PATH_SIZE 4096
#define STREAM_SIZE (8 + 8 + 4 + PATH_SIZE + NAME_SIZE)

#define MOST_SESSIONS 65536u
#define MOST_STREAMS 65536u
/* No packet is larger; sizes are bits, and must be bytes in 64 bits when added to an offset. */
#define MOST_PACKET_BITS (UINT64_C(1) << 43)

/* ---- bytes ---- */

static uint8_t *put32(uint8_t *p, uint32_t v)
{
    v = GUINT32_TO_BE(v);
    memcpy(p, &v, sizeof v);
    return p + sizeof v;
}

static uint8_t *put64(uint8_t *p, uint64_t v)
{
    v = GUINT64_TO_BE(v);
    memcpy(p, &v, sizeof v);
    return p + sizeof v;
}

static uint32_t get32(const uint8_t *p)
{
    return lull_load_u32(p, true);
}

static uint64_t get64(const uint8_t *p)
{
    return lull_load_u64(p, true);
}

/* A text that may lack its end, fit to be shown. */
static char *get_text(const uint8_t *p, size_t size)
{
    g_autofree char *raw = g_strndup((const char *)p, size);
    char *text = g_utf8_make_valid(raw, -1);
    for (char *c = text; *c != '\0'; c++) {
        if ((unsigned char)*c < 0x20 || *c == 0x7f) {
            *c = '?';
        }
    }
    return text;
}

static bool G_GNUC_PRINTF(3, 4)
    refuse(struct live_relay *relay, GError **error, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    g_autofree char *why = g_strdup_vprintf(format, args);
    va_end(args);
    relay->wire.is_broken = true;
    g_set_error(error, LULL_ERROR, LULL_ERROR_FORMAT, "%s: %s", relay->wire.name, why);
    return false;
}

/* Sends a command with what follows it in one piece, so that no part waits for an acknowledgement
 * of the other. */
static bool request(struct live_relay *relay, enum command command, const uint8_t *payload,
                    size_t size, GError **error)
{
    uint8_t message[64];
    g_assert(size <= sizeof message - 16);
    uint8_t *p = put64(message, size);
    p = put32(p, command);
    p = put32(p, 0);
    if (size > 0) {
        memcpy(p, payload, size);
    }
    return live_wire_send(&relay->wire, message, 16 + size, error);
}

static bool receive(struct live_relay *relay, void *data, size_t size, GError **error)
{
    return live_wire_receive(&relay->wire, data, size, error);
}

/* ---- connection ---- */

bool live_relay_open(struct live_relay *relay, const struct lull_live_url *url, GError **error)
{
    uint8_t message[20], *p = message;
    if (!live_wire_open(&relay->wire, url, error)) {
        return false;
    }
    p = put64(p, 0); /* the relay gives a number */
    p = put32(p, MAJOR);
    p = put32(p, MINOR);
    put32(p, CLIENT_COMMAND);
    if (!request(relay, CONNECT, message, sizeof message, error) ||
        !receive(relay, message, sizeof message, error)) {
        if (!relay->wire.is_stopped) {
            g_prefix_error(error, "no LTTng relay answers here: ");
        }
        return false;
    }
    uint32_t major = get32(message + 8), minor = get32(message + 12);
    if (major != MAJOR || minor < 4) {
        return refuse(relay, error,
                      "the relay speaks version %u.%u of the live protocol; Lull needs 2.4 or a "
                      "later 2.x",
                      major, minor);
    }
    relay->minor = MIN(minor, MINOR);
    return true;
}

void live_relay_close(struct live_relay *relay)
{
    live_wire_close(&relay->wire);
}

/* ---- sessions ---- */

static void session_info_free(gpointer data)
{
    struct live_session_info *info = data;
    g_free(info->host);
    g_free(info->name);
    g_free(info);
}

/* The two texts of a session, in the form of the agreed version. */
static bool receive_names(struct live_relay *relay, struct live_session_info *info, GError **error)
{
    uint8_t buf[12 + HOST_SIZE + NAME_SIZE];
    if (relay->minor < 15) {
        if (!receive(relay, buf, HOST_SIZE + NAME_SIZE, error)) {
            return false;
        }
        info->host = get_text(buf, HOST_SIZE);
        info->name = get_text(buf + HOST_SIZE, NAME_SIZE);
        return true;
    }
    if (!receive(relay, buf, 12, error)) { /* two lengths; the format is in the metadata too */
        return false;
    }
    uint32_t host = get32(buf), name = get32(buf + 4);
    if (host > PATH_SIZE || name > PATH_SIZE) {
        return refuse(relay, error, "the relay sent a session name of %u bytes", MAX(host, name));
    }
    uint8_t text[PATH_SIZE];
    if (!receive(relay, text, host, error)) {
        return false;
    }
    info->host = get_text(text, host);
    if (!receive(relay, text, name, error)) {
        return false;
    }
    info->name = get_text(text, name);
    return true;
}

GPtrArray *live_relay_sessions(struct live_relay *relay, GError **error)
{
    uint8_t buf[20];
    if (!request(relay, LIST_SESSIONS, NULL, 0, error) || !receive(relay, buf, 4, error)) {
        return NULL;
    }
    uint32_t count = get32(buf);
    if (count > MOST_SESSIONS) {
        refuse(relay, error, "the relay claims to have %u sessions", count);
        return NULL;
    }
    g_autoptr(GPtrArray) sessions = g_ptr_array_new_with_free_func(session_info_free);
    for (uint32_t i = 0; i < count; i++) {
        if (!receive(relay, buf, sizeof buf, error)) {
            return NULL;
        }
        struct live_session_info *info = g_new0(struct live_session_info, 1);
        g_ptr_array_add(sessions, info);
        info->id = get64(buf);
        info->timer_us = get32(buf + 8);
        info->clients = get32(buf + 12);
        info->streams = get32(buf + 16);
        if (!receive_names(relay, info, error)) {
            return NULL;
        }
    }
    return g_steal_pointer(&sessions);
}

bool live_relay_create_session(struct live_relay *relay, GError **error)
{
    uint8_t status[4];
    if (!request(relay, CREATE_SESSION, NULL, 0, error) ||
        !receive(relay, status, sizeof status, error)) {
        return false;
    }
    if (get32(status) != 1) {
        return refuse(relay, error, "the relay refuses a viewer (status %u)", get32(status));
    }
    return true;
}

static void stream_info_free(gpointer data)
{
    struct live_stream_info *info = data;
    g_free(info->name);
    g_free(info);
}

GPtrArray *live_stream_infos_new(void)
{
    return g_ptr_array_new_with_free_func(stream_info_free);
}

static bool receive_streams(struct live_relay *relay, uint32_t count, GPtrArray *streams,
                            GError **error)
{
    uint8_t buf[STREAM_SIZE];
    if (count > MOST_STREAMS) {
        return refuse(relay, error, "the relay claims to have %u new streams", count);
    }
    for (uint32_t i = 0; i < count; i++) {
        if (!receive(relay, buf, sizeof buf, error)) {
            return false;
        }
        struct live_stream_info *info = g_new0(struct live_stream_info, 1);
        info->id = get64(buf);
        info->trace = get64(buf + 8);
        info->is_metadata = get32(buf + 16) != 0;
        g_autofree char *path = get_text(buf + 20, PATH_SIZE);
        g_autofree char *channel = get_text(buf + 20 + PATH_SIZE, NAME_SIZE);
        info->name = g_strdup_printf("%s/%s/%s", relay->wire.name, path, channel);
        g_ptr_array_add(streams, info);
    }
    return true;
}

bool live_relay_attach(struct live_relay *relay, uint64_t session, bool from_start,
                       GPtrArray *streams, GError **error)
{
    static const char *const reasons[] = {
        [2] = "another viewer is attached to the session already",
        [3] = "the session is closed or unknown",
        [4] = "the session was not created with --live",
        [5] = "the relay cannot seek",
        [6] = "the relay made no viewer session",
    };
    uint8_t message[20], reply[8], *p = message;
    p = put64(p, session);
    p = put64(p, 0);
    put32(p, from_start ? SEEK_BEGINNING : SEEK_LAST);
    if (!request(relay, ATTACH_SESSION, message, sizeof message, error) ||
        !receive(relay, reply, sizeof reply, error)) {
        return false;
    }
    uint32_t status = get32(reply);
    if (status != 1) {
        return refuse(relay, error, "cannot attach to the session: %s",
                      status < G_N_ELEMENTS(reasons) && reasons[status]
                          ? reasons[status]
                          : "the relay gave a reason that Lull does not know");
    }
    return receive_streams(relay, get32(reply + 4), streams, error);
}

bool live_relay_new_streams(struct live_relay *relay, uint64_t session, GPtrArray *streams,
                            enum live_streams_status *status, GError **error)
{
    uint8_t message[8], reply[8];
    put64(message, session);
    if (!request(relay, GET_NEW_STREAMS, message, sizeof message, error) ||
        !receive(relay, reply, sizeof reply, error)) {
        return false;
    }
    uint32_t code = get32(reply);
    if (code < LIVE_STREAMS_OK || code > LIVE_STREAMS_HUP) {
        return refuse(relay, error, "the relay answers GET_NEW_STREAMS with status %u", code);
    }
    *status = code;
    return code != LIVE_STREAMS_OK || receive_streams(relay, get32(reply + 4), streams, error);
}

bool live_relay_detach(struct live_relay *relay, uint64_t session, GError **error)
{
    uint8_t message[8], status[4];
    put64(message, session);
    return request(relay, DETACH_SESSION, message, sizeof message, error) &&
           receive(relay, status, sizeof status, error);
}

/* ---- data ---- */

bool live_relay_next_index(struct live_relay *relay, uint64_t stream, struct live_index *index,
                           GError **error)
{
    uint8_t message[8], reply[64];
    put64(message, stream);
    if (!request(relay, GET_NEXT_INDEX, message, sizeof message, error) ||
        !receive(relay, reply, sizeof reply, error)) {
        return false;
    }
    index->offset = get64(reply);
    index->packet_bits = get64(reply + 8);
    index->content_bits = get64(reply + 16);
    index->start = get64(reply + 24);
    index->end = get64(reply + 32);
    index->discarded = get64(reply + 40);
    index->stream_class = get64(reply + 48);
    uint32_t status = get32(reply + 56);
    index->flags = get32(reply + 60);
    if (status < LIVE_INDEX_OK || status > LIVE_INDEX_EOF) {
        return refuse(relay, error, "the relay answers GET_NEXT_INDEX with status %u", status);
    }
    index->status = status;
    if (status == LIVE_INDEX_OK &&
        (index->packet_bits == 0 || index->packet_bits % 8 != 0 ||
         index->packet_bits > MOST_PACKET_BITS || index->content_bits > index->packet_bits ||
         index->start > index->end || index->offset > INT64_MAX - index->packet_bits / 8)) {
        return refuse(relay, error,
                      "the relay announced an impossible packet: %" G_GUINT64_FORMAT
                      " bits, content %" G_GUINT64_FORMAT ", at byte %" G_GUINT64_FORMAT
                      ", time %" G_GUINT64_FORMAT " to %" G_GUINT64_FORMAT,
                      index->packet_bits, index->content_bits, index->offset, index->start,
                      index->end);
    }
    return true;
}

bool live_relay_packet(struct live_relay *relay, uint64_t stream, uint64_t offset, uint8_t *buf,
                       uint32_t size, uint32_t *got, enum live_packet_status *status,
                       uint32_t *flags, GError **error)
{
    uint8_t message[20], reply[12], *p = message;
    *got = 0;
    p = put64(p, stream);
    p = put64(p, offset);
    put32(p, size);
    if (!request(relay, GET_PACKET, message, sizeof message, error) ||
        !receive(relay, reply, sizeof reply, error)) {
        return false;
    }
    uint32_t code = get32(reply), length = get32(reply + 4);
    *flags = get32(reply + 8);
    if (code < LIVE_PACKET_OK || code > LIVE_PACKET_EOF) {
        return refuse(relay, error, "the relay answers GET_PACKET with status %u", code);
    }
    *status = code;
    if (code != LIVE_PACKET_OK) {
        return true;
    }
    if (length == 0 || length > size) {
        return refuse(relay, error, "the relay sent %u bytes of a packet, but %u were requested",
                      length, size);
    }
    *got = length;
    return receive(relay, buf, length, error);
}

bool live_relay_metadata(struct live_relay *relay, uint64_t stream, GByteArray *text, size_t most,
                         enum live_metadata_status *status, GError **error)
{
    uint8_t message[8], reply[12], piece[8192];
    put64(message, stream);
    if (!request(relay, GET_METADATA, message, sizeof message, error) ||
        !receive(relay, reply, sizeof reply, error)) {
        return false;
    }
    uint64_t length = get64(reply);
    uint32_t code = get32(reply + 8);
    if (code < LIVE_METADATA_OK || code > LIVE_METADATA_ERROR) {
        return refuse(relay, error, "the relay answers GET_METADATA with status %u", code);
    }
    *status = code;
    if (code != LIVE_METADATA_OK) {
        return true;
    }
    if (length > most - text->len) {
        return refuse(relay, error,
                      "the relay sends %" G_GUINT64_FORMAT
                      " bytes of metadata: Lull reads at most %zu",
                      length, most);
    }
    if (length == 0) {
        *status = LIVE_METADATA_NONE;
    }
    while (length > 0) {
        guint n = (guint)MIN(length, sizeof piece);
        if (!receive(relay, piece, n, error)) {
            return false;
        }
        g_byte_array_append(text, piece, n);
        length -= n;
    }
    return true;
}
