/* SPDX-License-Identifier: MIT */
/* The evidence that is known only when the call of a wait has ended: which request of an io_uring it was for, whose lease of a
 * file. */
#include <inttypes.h>

#include "base/digits.h"
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
