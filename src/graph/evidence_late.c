/* SPDX-License-Identifier: MIT */
/* The evidence that is known only when the call of a wait has ended: which request of an io_uring it was for, whose lease of a
 * file, and that it timed out. */
#include <inttypes.h>

#include "base/digits.h"
#include "base/time.h"
#include "graph/execgraph_private.h"

void lull_evidence_append_task(const struct lull_execgraph *eg, uint32_t task, int64_t time_ns,
                               GString *out)
{
    g_string_append(out, lull_model_comm(eg->model, task, time_ns));
    g_string_append_c(out, '/');
    lull_append_signed(out, lull_model_task(eg->model, task)->tid);
}

void lull_evidence_executed(const struct lull_execgraph *eg, const struct path_piece *piece,
                            struct path_texts *texts, struct lull_segment *segment)
{
    GString *text = g_string_assign(texts->text, "in the program that ");
    lull_evidence_append_task(eg, piece->hop->same, piece->start_ns - 1, text);
    g_string_append(text, " executed");
    segment->detail = g_string_chunk_insert_const(texts->strings, text->str);
    lull_evidence_set_other(eg, piece->hop->same, piece->start_ns - 1, texts->strings, segment);
}

uint32_t lull_evidence_holder(const struct lull_execgraph *eg, uint32_t detail)
{
    const uint32_t holder = lull_map_find(&eg->lease_of, detail);
    return holder == LULL_MAP_NONE || holder == UNKNOWN_HOLDER ||
                   eg->evidence.items[detail].waker != LULL_NONE
               ? LULL_NONE
               : holder;
}

void lull_evidence_append_lease(const struct lull_execgraph *eg, uint32_t detail, int64_t time_ns,
                                GString *out)
{
    const uint32_t holder = lull_evidence_holder(eg, detail);
    if (holder != LULL_NONE) {
        g_string_append(out, ", whose lease ");
        lull_evidence_append_task(eg, holder, time_ns, out);
        g_string_append(out, " kept");
    } else if (lull_map_find(&eg->lease_of, detail) == UNKNOWN_HOLDER) {
        g_string_append(out, ", whose lease another process kept");
    }
}

void lull_evidence_append_uring(const struct lull_execgraph *eg, uint32_t detail, GString *out)
{
    const uint32_t found = lull_map_find(&eg->uring_of, detail);
    if (found == LULL_MAP_NONE) {
        return;
    }
    const struct uring_note *note = &eg->urings.items[found];
    const bool has_others = note->n_ended > 1 && note->n_ended != UINT32_MAX;
    if (note->user_data) {
        g_string_append_printf(out, ", user_data 0x%" PRIx64, note->user_data);
    }
    if (has_others) {
        g_string_append_printf(out, "; %u request%s ended with it", note->n_ended - 1,
                               note->n_ended == 2 ? "" : "s");
    }
}

bool lull_evidence_is_own_timer(const struct lull_execgraph *eg, uint32_t detail)
{
    const struct lull_wait_reason *reason = lull_evidence_reason(eg, detail);
    const char *label = lull_model_label(eg->model, eg->evidence.items[detail].label);
    return reason && g_strcmp0(label, "hrtimer") == 0 &&
           (lull_wait_reason_kind(eg->model, reason) == LULL_WAIT_SLEEP ||
            lull_map_find(&eg->timeout_of, detail) != LULL_MAP_NONE);
}

/* ---- time-outs ---- */

const struct timeout_note *lull_evidence_timeout(const struct lull_execgraph *eg, uint32_t detail)
{
    const uint32_t found = lull_map_find(&eg->timeout_of, detail);
    return found == LULL_MAP_NONE ? NULL : &eg->timeouts.items[found];
}

void lull_evidence_append_tries(const struct timeout_note *tried, GString *out)
{
    const uint32_t n_timeouts = tried->n_tries - tried->n_signals;
    if (n_timeouts) {
        g_string_append_printf(out, ", after %" PRIu32 " time-out%s", n_timeouts,
                               n_timeouts == 1 ? "" : "s");
    }
    if (tried->n_signals) {
        g_string_append_printf(out, "%s interrupted by %" PRIu32 " signal%s",
                               n_timeouts ? " and" : ",", tried->n_signals,
                               tried->n_signals == 1 ? "" : "s");
    }
}

const struct timeout_note *lull_evidence_tries(const struct lull_execgraph *eg, uint32_t detail)
{
    const uint32_t found = lull_map_find(&eg->tries_of, detail);
    return found == LULL_MAP_NONE ? NULL : &eg->timeouts.items[found];
}

void lull_evidence_append_no_answer(const struct lull_execgraph *eg,
                                    const struct timeout_note *timeout, GString *out)
{
    g_string_append(out, ": no answer from ");
    lull_wait_reason_append_peer(eg->model, timeout->sent.file, timeout->sent.path, out);
    if (timeout->sent.bytes == ASKED_TO_CONNECT) {
        g_string_append(out, " to the request to connect");
    }
}

bool lull_evidence_append_polled(const struct lull_execgraph *eg,
                                 const struct lull_wait_reason *reason,
                                 const struct timeout_note *timeout, GString *out)
{
    const bool is_polled = timeout->sent.file == LULL_NONE && reason->fd < 0 &&
                           reason->path != LULL_NONE &&
                           lull_wait_reason_kind(eg->model, reason) == LULL_WAIT_READY;
    if (is_polled) {
        g_string_append(out, " of ");
        lull_wait_reason_append_object(eg->model, reason, out);
    }
    return is_polled;
}

void lull_evidence_append_timeout(const struct lull_execgraph *eg,
                                  const struct lull_wait_reason *reason,
                                  const struct timeout_note *timeout, GString *out)
{
    char took[LULL_TIME_TEXT_SIZE];
    g_string_append(out, lull_model_label(eg->model, reason->call));
    lull_evidence_append_polled(eg, reason, timeout, out);
    g_string_append(out, " timed out");
    if (timeout->start_ns == INT64_MIN) {
        return;
    }
    lull_duration_format(timeout->end_ns - timeout->start_ns, took);
    g_string_append_printf(out, " after %s", took);
    if (timeout->later != LULL_NONE) {
        g_string_append(out, ", later woken by ");
        lull_evidence_append_task(eg, timeout->later, timeout->end_ns, out);
    }
    if (reason->operation) {
        g_string_append(out, ": ");
        lull_wait_reason_append_object(eg->model, reason, out);
        g_string_append(out, " had not ended");
        return;
    }
    if (timeout->sent.file == LULL_NONE || timeout->later != LULL_NONE) {
        return;
    }
    lull_duration_format(timeout->start_ns - timeout->sent.time_ns, took);
    lull_evidence_append_no_answer(eg, timeout, out);
    if (timeout->sent.time_ns == timeout->start_ns) {
        return;
    }
    if (timeout->sent.bytes == ASKED_TO_CONNECT) {
        g_string_append_printf(out, " %s before", took);
    } else if (timeout->sent.bytes < 0) {
        g_string_append_printf(out, " to messages sent %s before", took);
    } else {
        g_string_append_printf(out, " to %" G_GINT64_FORMAT " byte%s sent %s before",
                               timeout->sent.bytes, timeout->sent.bytes == 1 ? "" : "s", took);
    }
}
