/* SPDX-License-Identifier: MIT */
/* What tasks opened, connected to and executed while a tracer recorded, beside the state of the machine: a tracer that
 * does not dump that state records pointers only. */
#include <poll.h>
#include <stddef.h>
#include <string.h>

#include "record/recorder_private.h"

#define CALLS "sys_exit"

bool lull_recorder_has_calls(const struct lull_recorder *recorder)
{
    const enum lull_purpose purpose = recorder->question.purpose;
    for (uint32_t i = 0; i < lull_purpose_n_events; i++) {
        if (strcmp(lull_purpose_events[i].name, CALLS) == 0) {
            return lull_purpose_events[i].purposes >> purpose & 1;
        }
    }
    return false;
}

bool lull_recorder_start_names(struct lull_recorder *recorder, GError **error)
{
    g_autoptr(GError) why = NULL;
    const struct lull_names_wish wish = {.is_filtered = recorder->request.is_filtered,
                                         .calls = lull_recorder_has_calls(recorder),
                                         .packets = recorder->question.wants_headers};
    if (recorder->names || recorder->recording.names_missing || !recorder->kind->needs_state ||
        (!wish.calls && !wish.packets)) {
        return true;
    }
    recorder->names = lull_names_new(&wish, &why);
    if (!recorder->names) {
        recorder->recording.names_missing = g_strdup(why->message);
        return true;
    }
    for (uint32_t i = 0; i < recorder->request.n_pids; i++) {
        if (!lull_names_follow(recorder->names, recorder->request.pids[i], error)) {
            return false;
        }
    }
    return !recorder->request.is_filtered || recorder->command.pid < 0 ||
           lull_names_follow(recorder->names, recorder->command.pid, error);
}

/* ---- events ---- */

/* Descriptors of one record. More than the reader names. */
struct ready {
    uint32_t n;
    int32_t fds[4];
};

static void put_ready(struct lull_state_trace *trace, const struct lull_names_record *record,
                      int32_t fd, struct ready *ready)
{
    for (uint32_t i = 0; i < ready->n; i++) {
        if (ready->fds[i] == fd) {
            return;
        }
    }
    if (fd >= 0 && ready->n < G_N_ELEMENTS(ready->fds)) {
        ready->fds[ready->n++] = fd;
        lull_state_trace_put_at(trace, (int64_t)record->time_ns, LULL_STATE_CALL_POLL,
                                (union lull_state_value[]){{record->tid}, {fd}});
    }
}

/* Those that became ready; if none did, all. */
static void put_polled(struct lull_state_trace *trace, const struct lull_names_record *record)
{
    struct ready ready = {0};
    struct pollfd polled;
    G_STATIC_ASSERT(sizeof polled == LULL_NAMES_POLLFD);
    for (uint32_t at = 0; at + sizeof polled <= record->length; at += sizeof polled) {
        memcpy(&polled, record->text + at, sizeof polled);
        if (polled.revents || record->a == 0) {
            put_ready(trace, record, polled.fd, &ready);
        }
    }
}

static void put_descriptors(struct lull_state_trace *trace, const struct lull_names_record *record)
{
    struct ready ready = {0};
    int32_t fd;
    for (uint32_t at = 0; at + sizeof fd <= record->length; at += sizeof fd) {
        memcpy(&fd, record->text + at, sizeof fd);
        put_ready(trace, record, fd, &ready);
    }
}

static void put_data(struct lull_state_trace *trace, const struct lull_names_record *record)
{
    int64_t data;
    for (uint32_t at = 0; at + sizeof data <= record->length; at += sizeof data) {
        memcpy(&data, record->text + at, sizeof data);
        lull_state_trace_put_at(trace, (int64_t)record->time_ns, LULL_STATE_CALL_EPOLL,
                                (union lull_state_value[]){{record->tid}, {data}});
    }
}

static void put_selected(struct lull_state_trace *trace, const struct lull_names_record *record)
{
    struct ready ready = {0};
    unsigned long word;
    for (uint32_t at = 0; at + sizeof word <= record->length; at += sizeof word) {
        memcpy(&word, record->text + at, sizeof word);
        for (; word; word &= word - 1) {
            put_ready(trace, record, (int32_t)(at % LULL_NAMES_SET * 8) + __builtin_ctzl(word),
                      &ready);
        }
    }
}

static void put(void *user, const struct lull_names_record *record)
{
    struct lull_state_trace *trace = user;
    const char *text = record->length ? record->text : "";
    switch ((enum lull_names_kind)record->kind) {
    case LULL_NAMES_PATH:
        lull_state_trace_put_at(
            trace, (int64_t)record->time_ns, LULL_STATE_CALL_PATH,
            (union lull_state_value[]){
                {record->tid}, {record->device}, {(int64_t)record->inode}, {.text = text}});
        break;
    case LULL_NAMES_FILE:
        lull_state_trace_put_at(
            trace, (int64_t)record->time_ns, LULL_STATE_MAPPED_FILE,
            (union lull_state_value[]){{record->device}, {(int64_t)record->inode}, {.text = text}});
        break;
    case LULL_NAMES_SOCKET:
        lull_state_trace_put_at(trace, (int64_t)record->time_ns, LULL_STATE_CALL_ADDRESS,
                                (union lull_state_value[]){{record->tid},
                                                           {record->a},
                                                           {record->b},
                                                           {lull_state_half(record->address)},
                                                           {lull_state_half(record->address + 8)},
                                                           {.text = text}});
        break;
    case LULL_NAMES_PAIR:
        lull_state_trace_put_at(
            trace, (int64_t)record->time_ns, LULL_STATE_CALL_PAIR,
            (union lull_state_value[]){{record->tid}, {record->a}, {record->b}});
        break;
    case LULL_NAMES_POLL:
        put_polled(trace, record);
        break;
    case LULL_NAMES_READY:
        put_descriptors(trace, record);
        break;
    case LULL_NAMES_DATA:
        put_data(trace, record);
        break;
    case LULL_NAMES_SELECT:
        put_selected(trace, record);
        break;
    case LULL_NAMES_COMMAND: {
        g_autofree char *line =
            lull_state_command_line(record->text, record->length, record->is_cut);
        lull_state_trace_put_at(trace, (int64_t)record->time_ns, LULL_STATE_COMMAND,
                                (union lull_state_value[]){{record->pid}, {.text = line}});
        break;
    }
    case LULL_NAMES_KINDS:
        break;
    }
}

static void put_packet(struct lull_state_trace *trace, const struct lull_names_packet *packet)
{
    lull_state_trace_put_at(trace, (int64_t)packet->time_ns, LULL_STATE_PACKET,
                            (union lull_state_value[]){{(int64_t)packet->skb},
                                                       {packet->is_sent},
                                                       {packet->version},
                                                       {packet->protocol},
                                                       {lull_state_half(packet->source)},
                                                       {lull_state_half(packet->source + 8)},
                                                       {lull_state_half(packet->destination)},
                                                       {lull_state_half(packet->destination + 8)},
                                                       {packet->ports[0]},
                                                       {packet->ports[1]},
                                                       {packet->seq},
                                                       {packet->ack},
                                                       {packet->flags},
                                                       {packet->window},
                                                       {packet->id},
                                                       {packet->payload}});
}

/* ---- flight recorder ---- */

/* As many bytes are kept, or twice that. */
#define KEPT_BYTES (8u << 20)
#define HEAD offsetof(struct lull_names_record, text)

static void keep_bytes(GByteArray *kept[static 2], const void *bytes, size_t size)
{
    if (!kept[0] || kept[0]->len > KEPT_BYTES) {
        g_clear_pointer(&kept[1], g_byte_array_unref);
        kept[1] = kept[0];
        kept[0] = g_byte_array_new();
    }
    g_byte_array_append(kept[0], bytes, (guint)size);
}

static void keep(void *user, const struct lull_names_record *record)
{
    struct lull_recorder *recorder = user;
    keep_bytes(recorder->kept_names, record, HEAD + record->length);
}

static void keep_packet(void *user, const struct lull_names_packet *packet)
{
    struct lull_recorder *recorder = user;
    keep_bytes(recorder->kept_packets, packet, sizeof *packet);
}

/* Of what was kept, what belongs to a snapshot: all else would make it longer than it is. */
struct span {
    int64_t start_ns, end_ns; /* both are part of it */
};

static bool is_within(struct span span, uint64_t time_ns)
{
    return (int64_t)time_ns >= span.start_ns && (int64_t)time_ns <= span.end_ns;
}

static void put_kept(struct lull_state_trace *trace, const GByteArray *kept, struct span span)
{
    struct lull_names_record record;
    for (guint at = 0; kept && at < kept->len;) {
        memcpy(&record, kept->data + at, HEAD);
        memcpy(record.text, kept->data + at + HEAD, record.length);
        if (is_within(span, record.time_ns)) {
            put(trace, &record);
        }
        at += (guint)(HEAD + record.length);
    }
}

static void choose_packets(GArray *chosen, const GByteArray *kept, struct span span)
{
    struct lull_names_packet packet;
    for (guint at = 0; kept && at + sizeof packet <= kept->len; at += sizeof packet) {
        memcpy(&packet, kept->data + at, sizeof packet);
        if (is_within(span, packet.time_ns)) {
            g_array_append_val(chosen, packet);
        }
    }
}

static gint by_time(gconstpointer a, gconstpointer b)
{
    const struct lull_names_packet *one = a, *other = b;
    return one->time_ns < other->time_ns ? -1 : one->time_ns > other->time_ns;
}

/* Those of two CPUs may have changed places, and each has to come before what the tracer saw of it. */
static void put_kept_packets(struct lull_state_trace *trace, GByteArray *const kept[static 2],
                             struct span span)
{
    g_autoptr(GArray) chosen = g_array_new(FALSE, FALSE, sizeof(struct lull_names_packet));
    choose_packets(chosen, kept[1], span);
    choose_packets(chosen, kept[0], span);
    g_array_sort(chosen, by_time);
    for (guint i = 0; i < chosen->len; i++) {
        put_packet(trace, &g_array_index(chosen, struct lull_names_packet, i));
    }
}

/* ---- recording ---- */

bool lull_recorder_open_names(struct lull_recorder *recorder, GError **error)
{
    if (!recorder->names || !recorder->state) {
        return true;
    }
    const int file = lull_keeper_create(&recorder->keeper, "state/names", error);
    if (file >= 0) {
        recorder->named = lull_state_trace_beside(recorder->state, "names", file);
    }
    return file >= 0;
}

/* Another stream beside the state; NULL and an error if it cannot be made. */
static struct lull_state_trace *beside(const struct lull_recorder *recorder,
                                       const struct lull_state_trace *state, const char *name,
                                       GError **error)
{
    g_autofree char *path = g_strconcat("state/", name, NULL);
    const int file = lull_keeper_create(&recorder->keeper, path, error);
    return file >= 0 ? lull_state_trace_beside(state, name, file) : NULL;
}

bool lull_recorder_write_names(struct lull_recorder *recorder, const struct lull_state_trace *state,
                               GError **error)
{
    if (!recorder->names) {
        return true;
    }
    lull_recorder_take_names(recorder);
    struct lull_state_trace *names = beside(recorder, state, "names", error);
    const int64_t offset_ns = recorder->request.epoch_offset_ns;
    const struct span span = {recorder->recording.result.start_ns - offset_ns,
                              recorder->recording.end_ns - offset_ns};
    if (!names) {
        return false;
    }
    put_kept(names, recorder->kept_names[1], span);
    put_kept(names, recorder->kept_names[0], span);
    recorder->recording.lost_names = lull_names_lost(recorder->names);
    if (!lull_state_trace_close(names, error)) {
        return false;
    }
    struct lull_state_trace *packets =
        recorder->question.wants_headers ? beside(recorder, state, "packets", error) : NULL;
    if (!packets) {
        return !recorder->question.wants_headers;
    }
    put_kept_packets(packets, recorder->kept_packets, span);
    return lull_state_trace_close(packets, error);
}

void lull_recorder_take_names(struct lull_recorder *recorder)
{
    if (recorder->named) {
        lull_names_take(recorder->names, &(struct lull_names_sink){put, NULL, recorder->named});
    } else if (recorder->names && recorder->question.is_snapshot) {
        lull_names_take(recorder->names, &(struct lull_names_sink){keep, keep_packet, recorder});
    }
}

bool lull_recorder_end_names(struct lull_recorder *recorder, GError **error)
{
    if (!recorder->named) {
        return true;
    }
    lull_recorder_take_names(recorder);
    recorder->recording.lost_names = lull_names_lost(recorder->names);
    lull_state_trace_cut(recorder->named);
    return lull_state_trace_close(g_steal_pointer(&recorder->named), error);
}
