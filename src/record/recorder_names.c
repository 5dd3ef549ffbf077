/* SPDX-License-Identifier: MIT */
/* What tasks opened, connected to and executed while a tracer recorded, beside the state of the machine: a tracer that
 * does not dump that state records pointers only. */
#include <stddef.h>
#include <string.h>

#include "record/recorder_private.h"

#define CALLS "sys_exit"

static bool has_calls(enum lull_purpose purpose)
{
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
    if (recorder->names || recorder->recording.names_missing || !recorder->kind->needs_state ||
        !has_calls(recorder->question.purpose)) {
        return true;
    }
    recorder->names = lull_names_new(recorder->request.is_filtered, &why);
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

static int64_t half_of(const uint8_t address[static 8])
{
    uint64_t half = 0;
    for (unsigned i = 0; i < 8; i++) {
        half = half << 8 | address[i];
    }
    return (int64_t)half;
}

static void put(void *user, const struct lull_names_record *record)
{
    struct lull_state_trace *trace = user;
    const char *text = record->length ? record->text : "";
    switch ((enum lull_names_kind)record->kind) {
    case LULL_NAMES_PATH:
        lull_state_trace_put_at(trace, (int64_t)record->time_ns, LULL_STATE_CALL_PATH,
                                (union lull_state_value[]){{record->tid}, {.text = text}});
        break;
    case LULL_NAMES_SOCKET:
        lull_state_trace_put_at(trace, (int64_t)record->time_ns, LULL_STATE_CALL_ADDRESS,
                                (union lull_state_value[]){{record->tid},
                                                           {record->a},
                                                           {record->b},
                                                           {half_of(record->address)},
                                                           {half_of(record->address + 8)},
                                                           {.text = text}});
        break;
    case LULL_NAMES_PAIR:
        lull_state_trace_put_at(
            trace, (int64_t)record->time_ns, LULL_STATE_CALL_PAIR,
            (union lull_state_value[]){{record->tid}, {record->a}, {record->b}});
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

/* ---- flight recorder ---- */

/* As many bytes are kept, or twice that. */
#define KEPT_BYTES (8u << 20)
#define HEAD offsetof(struct lull_names_record, text)

static void keep(void *user, const struct lull_names_record *record)
{
    GByteArray **kept = user;
    if (!kept[0] || kept[0]->len > KEPT_BYTES) {
        g_clear_pointer(&kept[1], g_byte_array_unref);
        kept[1] = kept[0];
        kept[0] = g_byte_array_new();
    }
    g_byte_array_append(kept[0], (const guint8 *)record, (guint)(HEAD + record->length));
}

static void put_kept(struct lull_state_trace *trace, const GByteArray *kept, int64_t from_ns)
{
    struct lull_names_record record;
    for (guint at = 0; kept && at < kept->len;) {
        memcpy(&record, kept->data + at, HEAD);
        memcpy(record.text, kept->data + at + HEAD, record.length);
        if ((int64_t)record.time_ns >= from_ns) {
            put(trace, &record);
        }
        at += (guint)(HEAD + record.length);
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

bool lull_recorder_write_names(struct lull_recorder *recorder, const struct lull_state_trace *state,
                               GError **error)
{
    if (!recorder->names) {
        return true;
    }
    lull_recorder_take_names(recorder);
    const int file = lull_keeper_create(&recorder->keeper, "state/names", error);
    if (file < 0) {
        return false;
    }
    struct lull_state_trace *trace = lull_state_trace_beside(state, "names", file);
    /* Older ones would make the recording longer than it is. */
    const int64_t from_ns = recorder->recording.result.start_ns - recorder->request.epoch_offset_ns;
    put_kept(trace, recorder->kept_names[1], from_ns);
    put_kept(trace, recorder->kept_names[0], from_ns);
    recorder->recording.lost_names = lull_names_lost(recorder->names);
    return lull_state_trace_close(trace, error);
}

void lull_recorder_take_names(struct lull_recorder *recorder)
{
    if (recorder->named) {
        lull_names_take(recorder->names, put, recorder->named);
    } else if (recorder->names && recorder->question.is_snapshot) {
        lull_names_take(recorder->names, keep, recorder->kept_names);
    }
}

bool lull_recorder_end_names(struct lull_recorder *recorder, GError **error)
{
    if (!recorder->named) {
        return true;
    }
    lull_recorder_take_names(recorder);
    recorder->recording.lost_names = lull_names_lost(recorder->names);
    g_clear_pointer(&recorder->names, lull_names_free);
    lull_state_trace_cut(recorder->named);
    return lull_state_trace_close(g_steal_pointer(&recorder->named), error);
}
