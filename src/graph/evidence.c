/* SPDX-License-Identifier: MIT */
/* The evidence for a step of a path, in one line of words: the request, the packet, the
 * interrupt. */
#include "graph/critpath.h"
#include "graph/execgraph_private.h"

#include <inttypes.h>
#include <string.h>

#include "base/digits.h"
#include "base/time.h"

enum { SECTOR_BYTES = 512, LONG_HOLD_NS = 1000000 };

static const char *device_name(const struct lull_execgraph *eg, uint32_t index, char *out,
                               size_t size)
{
    const struct lull_block_request *request = lull_model_request(eg->model, index);
    const char *name = lull_model_device(eg->model, index);
    if (name) {
        return name;
    }
    g_snprintf(out, size, "device %u:%u", request->dev >> 20, request->dev & 0xfffff);
    return out;
}

void lull_evidence_set_other(const struct lull_execgraph *eg, uint32_t task, int64_t time_ns,
                             GStringChunk *strings, struct lull_segment *segment)
{
    if (task != LULL_NONE) {
        segment->other_task = task;
        segment->other_tid = lull_model_task(eg->model, task)->tid;
        segment->other_comm =
            g_string_chunk_insert_const(strings, lull_model_comm(eg->model, task, time_ns));
    }
}

static void set_request(const struct lull_execgraph *eg, uint32_t index, GStringChunk *strings,
                        struct lull_segment *segment)
{
    const struct lull_block_request *request = lull_model_request(eg->model, index);
    char device[40];
    segment->object =
        g_string_chunk_insert_const(strings, device_name(eg, index, device, sizeof device));
    segment->operation = lull_block_operation(request);
    segment->size_bytes = (uint64_t)request->sectors * SECTOR_BYTES;
    if (request->complete_ns != INT64_MIN && request->issue_ns != INT64_MIN) {
        segment->device_ns = request->complete_ns - request->issue_ns;
    }
    if (request->insert_ns != INT64_MIN && request->issue_ns >= request->insert_ns) {
        segment->queue_ns = request->issue_ns - request->insert_ns;
    }
    lull_evidence_set_other(eg, request->submitter, MAX(request->complete_ns, request->issue_ns),
                            strings, segment);
}

/* Who waits for an acknowledgement waits for room: until what left when the window opened was acknowledged. */
static const struct lull_tcp_wait_note *
window_in(const struct lull_execgraph *eg, const struct packet_note *packet, int64_t start_ns)
{
    return packet->is_received && packet->payload == 0 && packet->flow != LULL_NONE &&
                   packet->line != LULL_NONE
               ? lull_tcp_waits_window(eg->tcp_waits, packet->flow,
                                       lull_model_task(eg->model, packet->line)->host, start_ns,
                                       packet->time_ns)
               : NULL;
}

/* What TCP waited for before the packet; a window that had opened before the wait, or what had been
 * sent again before, explains nothing of it. */
static const struct lull_tcp_wait_note *tcp_wait_in(const struct lull_execgraph *eg,
                                                    uint32_t number, int64_t start_ns)
{
    const struct lull_tcp_wait_note *found = lull_tcp_waits_find(eg->tcp_waits, number);
    if (!found && number < eg->packets.count) {
        return window_in(eg, &eg->packets.items[number], start_ns);
    }
    const bool is_before = found && (found->kind == LULL_TCP_ZERO_WINDOW || found->is_before);
    if (!found || (is_before && start_ns >= found->last_ns) ||
        (found->kind == LULL_TCP_SENT_AGAIN && start_ns > found->last_ns)) {
        return NULL;
    }
    return found;
}

/* Of a wait for a packet, or for the timer that sent one; NULL if TCP did not wait. */
static const struct lull_tcp_wait_note *tcp_wait_of(const struct lull_execgraph *eg,
                                                    const struct lull_hop *hop,
                                                    const struct evidence *evidence)
{
    return hop->cause == LULL_CAUSE_NETWORK || hop->cause == LULL_CAUSE_TIMER
               ? tcp_wait_in(eg, evidence->index, hop->start_ns)
               : NULL;
}

static void set_tcp_wait(const struct lull_tcp_wait_note *found, struct lull_segment *segment)
{
    if (found) {
        segment->tcp = (struct lull_tcp_wait){.kind = lull_tcp_wait_kind_name(found->kind),
                                              .first_ns = found->first_ns,
                                              .last_ns = found->last_ns,
                                              .times = found->times,
                                              .is_nagle = found->is_nagle};
    }
}

/* Who raised the softirq in which the wait ended, or NULL. */
static const struct raiser_note *raiser_of(const struct lull_execgraph *eg, uint32_t detail)
{
    const uint32_t found = lull_map_find(&eg->raiser_of, detail);
    return found == LULL_MAP_NONE ? NULL : &eg->raisers.items[found];
}

static void set_cause(const struct lull_execgraph *eg, const struct lull_hop *hop,
                      const struct evidence *evidence, GStringChunk *strings,
                      struct lull_segment *segment)
{
    if (hop->cause == LULL_CAUSE_DISK && evidence->index != LULL_NONE) {
        set_request(eg, evidence->index, strings, segment);
    } else if (hop->cause == LULL_CAUSE_NETWORK && evidence->index < eg->packets.count) {
        lull_evidence_set_packet(eg, evidence->index, strings, segment);
    } else if (evidence->waker != LULL_NONE) {
        lull_evidence_set_other(eg, evidence->waker, hop->end_ns, strings, segment);
    } else if (evidence->is_dirty) {
        segment->object = lull_model_label(eg->model, evidence->label);
        segment->operation = "dirty";
    } else if (evidence->label != LULL_NONE) {
        const struct raiser_note *raiser = raiser_of(eg, hop->detail);
        segment->object = lull_model_label(eg->model, evidence->label);
        const uint32_t holder = lull_evidence_holder(eg, hop->detail);
        lull_evidence_set_other(eg, raiser ? raiser->task : holder, hop->end_ns, strings, segment);
    }
}

/* "too many dirty pages for vda" */
static void append_dirty(const struct lull_execgraph *eg, const struct evidence *evidence,
                         GString *out)
{
    g_string_append(out, "too many dirty pages");
    if (evidence->label != LULL_NONE) {
        g_string_append_printf(out, " for %s", lull_model_label(eg->model, evidence->label));
    }
}

/* How long the task had waited before its request went to the device, or was put into its queue. */
static int64_t held_ns(const struct lull_block_request *request, const struct lull_hop *hop)
{
    const int64_t start_ns = request->insert_ns == INT64_MIN
                                 ? request->issue_ns
                                 : MIN(request->insert_ns, request->issue_ns);
    return MIN(start_ns, hop->end_ns) - hop->start_ns;
}

/* How long of the wait it was in a queue, of the scheduler of the disk. */
static int64_t queued_ns(const struct lull_block_request *request, const struct lull_hop *hop)
{
    if (request->insert_ns == INT64_MIN || request->issue_ns == INT64_MIN) {
        return 0;
    }
    return MIN(request->issue_ns, hop->end_ns) - MAX(request->insert_ns, hop->start_ns);
}

/* A request that is made long after the wait for it has started was held back: by a limit on I/O (of
 * a cgroup), or because requests were all in use. */
static void report_held(const struct lull_block_request *request, const struct lull_hop *hop,
                        GString *out)
{
    char held[LULL_TIME_TEXT_SIZE];
    if (request->issue_ns == INT64_MIN || held_ns(request, hop) < LONG_HOLD_NS) {
        return;
    }
    lull_duration_format(held_ns(request, hop), held);
    g_string_append_printf(out, ", held back %s before (an I/O limit, or a full queue)", held);
}

static void append_request(const struct lull_execgraph *eg, uint32_t index, GString *out)
{
    const struct lull_block_request *request = lull_model_request(eg->model, index);
    char device[40];
    g_string_append(out, device_name(eg, index, device, sizeof device));
    g_string_append_c(out, ' ');
    g_string_append(out, lull_block_operation(request));
    if (request->sectors) {
        g_string_append(out, " of ");
        lull_append_unsigned(out, request->sectors);
        g_string_append(out, " sectors at ");
        lull_append_unsigned(out, request->sector);
    }
}

static void report_request(const struct lull_execgraph *eg, uint32_t index,
                           const struct lull_hop *hop, GString *out)
{
    const struct lull_block_request *request = lull_model_request(eg->model, index);
    char took[LULL_TIME_TEXT_SIZE];
    append_request(eg, index, out);
    if (request->complete_ns == INT64_MIN) {
        g_string_append(out, ", whose end was not recorded");
    } else if (request->issue_ns != INT64_MIN) {
        lull_duration_format(request->complete_ns - request->issue_ns, took);
        g_string_append(out, ", ");
        g_string_append(out, took);
        g_string_append(out, " in the device");
        if (request->insert_ns != INT64_MIN && request->issue_ns > request->insert_ns) {
            lull_duration_format(request->issue_ns - request->insert_ns, took);
            g_string_append(out, " after ");
            g_string_append(out, took);
            g_string_append(out, " in the queue");
        }
    }
    report_held(request, hop, out);
    if (request->submitter != LULL_NONE) {
        g_string_append(out, ", submitted by ");
        lull_evidence_append_task(eg, request->submitter,
                                  MAX(request->complete_ns, request->issue_ns), out);
    }
    if (request->label != LULL_NONE) {
        g_string_append(out, ", ");
        g_string_append(out, lull_model_label(eg->model, request->label));
    }
}

static void append_tcp_wait(const struct lull_tcp_wait_note *found, GString *out)
{
    if (found) {
        g_string_append(out, ", ");
        lull_tcp_wait_append(found, out);
    }
}

static void append_raiser(const struct lull_execgraph *eg, const struct lull_hop *hop, bool has_tid,
                          GString *out)
{
    const struct raiser_note *raiser = raiser_of(eg, hop->detail);
    if (raiser && raiser->task != LULL_NONE) {
        g_string_append(out, ", raised by ");
        lull_evidence_append_kind(out, lull_model_comm(eg->model, raiser->task, hop->end_ns));
        if (has_tid) {
            g_string_append_printf(out, " (%d)", lull_model_task(eg->model, raiser->task)->tid);
        }
    } else if (raiser) {
        g_string_append_printf(out, ", raised by %s", lull_model_label(eg->model, raiser->label));
    }
}

/* hop->cause determines what evidence->index is; a DISK wait's request is known by index even when
 * the completion came in an interrupt of another kind. */
static void report_cause(const struct lull_execgraph *eg, const struct lull_hop *hop,
                         const struct evidence *evidence, GString *out)
{
    if (evidence->is_dirty) {
        append_dirty(eg, evidence, out);
    } else if (hop->cause == LULL_CAUSE_DISK && evidence->index != LULL_NONE) {
        report_request(eg, evidence->index, hop, out);
    } else if (hop->cause == LULL_CAUSE_NETWORK && evidence->index < eg->packets.count) {
        lull_evidence_append_packet(eg, evidence->index, out);
        append_tcp_wait(tcp_wait_of(eg, hop, evidence), out);
    } else if (tcp_wait_of(eg, hop, evidence)) {
        lull_evidence_append_packet(eg, evidence->index, out);
        append_tcp_wait(tcp_wait_of(eg, hop, evidence), out);
    } else if (evidence->waker == LULL_NONE && evidence->label != LULL_NONE) {
        g_string_append(out, lull_model_label(eg->model, evidence->label));
        append_raiser(eg, hop, true, out);
    }
}

/* ---- what a wait was for ---- */

const struct lull_wait_reason *lull_evidence_reason(const struct lull_execgraph *eg,
                                                    uint32_t detail)
{
    if (detail == LULL_NONE || eg->evidence.items[detail].reason == LULL_NONE) {
        return NULL;
    }
    return lull_wait_reasons_at(&eg->reasons, eg->evidence.items[detail].reason);
}

static void set_reason(const struct lull_execgraph *eg, uint32_t detail, GStringChunk *strings,
                       struct lull_reason *out)
{
    const struct lull_wait_reason *reason = lull_evidence_reason(eg, detail);
    *out = (struct lull_reason){.fd = -1};
    if (!reason) {
        return;
    }
    g_autoptr(GString) object = g_string_new(NULL);
    lull_wait_reason_append_object(eg->model, reason, object);
    out->kind = lull_wait_kind_name(lull_wait_reason_kind(eg->model, reason));
    out->call = lull_model_label(eg->model, reason->call);
    out->object = object->len ? g_string_chunk_insert_const(strings, object->str) : NULL;
    out->fd = reason->fd;
    out->address = reason->fault ? 0 : reason->address;
    out->release = lull_model_label(eg->model, reason->release);
    out->timed_out = lull_evidence_timeout(eg, detail) != NULL;
}

/* The reason, with the name of who ended the wait if `waker` is a task. */
static void report_reason(const struct lull_execgraph *eg, uint32_t detail, uint32_t waker,
                          int64_t time_ns, GString *out)
{
    const struct lull_wait_reason none = LULL_WAIT_REASON_NONE;
    const struct lull_wait_reason *reason = lull_evidence_reason(eg, detail);
    g_autoptr(GString) name = g_string_new(NULL);
    if (waker != LULL_NONE) {
        lull_evidence_append_task(eg, waker, time_ns, name);
    }
    lull_wait_reason_append(eg->model, reason ? reason : &none, name->len ? name->str : NULL, out);
    lull_evidence_append_lease(eg, detail, time_ns, out);
    lull_evidence_append_uring(eg, detail, out);
}

/* What a wait had not ended before. */
static void append_open(const struct lull_execgraph *eg, const struct lull_hop *hop,
                        const struct evidence *evidence, GString *out)
{
    if (!evidence->is_open) {
        return;
    }
    g_string_append(out, out->len ? ", " : "");
    const uint32_t host = lull_model_task(eg->model, hop->line)->host;
    size_t i = 0;
    while (i < eg->gaps.count &&
           (eg->gaps.items[i].host != host || eg->gaps.items[i].start_ns != hop->end_ns)) {
        i++;
    }
    if (i < eg->gaps.count) {
        g_string_append(out, "not woken before its recording stopped");
    } else if (host < eg->hosts.count && eg->hosts.items[host].lost_ns > hop->start_ns) {
        g_string_append(out, "not woken as far as is known: events were lost meanwhile");
    } else {
        g_string_append(out, "not woken before the end of the trace");
    }
}

/* Who holds what the task still waits for, as a part of a sentence. */
static void append_holder(const struct lull_execgraph *eg, const struct lull_hop *hop, bool has_tid,
                          GString *out)
{
    const uint32_t holder = lull_stuck_holder(eg, hop->line, hop->detail);
    if (holder != LULL_NONE) {
        const struct lull_open_role *role = lull_stuck_role(eg, hop->detail);
        g_string_append(out, role->before);
        lull_evidence_append_kind(out, lull_model_comm(eg->model, holder, hop->end_ns));
        if (has_tid) {
            g_string_append_printf(out, "/%d", lull_model_task(eg->model, holder)->tid);
        }
        g_string_append(out, role->after);
    }
}

/* What the kernel does for the task that waits, whatever it waits for. */
static void append_meanwhile(const struct lull_execgraph *eg, const struct lull_hop *hop,
                             const char *after, GString *out)
{
    const enum lull_mode mode = lull_modes_meanwhile(eg, hop->line, hop->start_ns, hop->end_ns);
    const char *what = mode == LULL_MODE_DUMP         ? "while its core is dumped"
                       : mode == LULL_MODE_RECLAIM    ? "while memory is freed for it"
                       : mode == LULL_MODE_COMPACTION ? "while memory is moved for it"
                                                      : NULL;
    if (what) {
        g_string_append_printf(out, "%s%s", out->len ? after : "", what);
    }
}

void lull_evidence_wait(const struct lull_execgraph *eg, const struct lull_hop *hop,
                        GStringChunk *strings, struct lull_segment *segment)
{
    set_reason(eg, hop->detail, strings, &segment->reason);
    if (hop->detail == LULL_NONE) {
        return;
    }
    const struct evidence *evidence = &eg->evidence.items[hop->detail];
    const struct timeout_note *timeout = lull_evidence_timeout(eg, hop->detail);
    g_autoptr(GString) out = g_string_new(NULL);
    set_cause(eg, hop, evidence, strings, segment);
    set_tcp_wait(tcp_wait_of(eg, hop, evidence), segment);
    segment->is_open = evidence->is_open;
    const uint32_t holder = lull_stuck_holder(eg, hop->line, hop->detail);
    if (holder != LULL_NONE) {
        segment->cause = LULL_CAUSE_TASK;
        lull_evidence_set_other(eg, holder, hop->end_ns, strings, segment);
    }
    segment->call = segment->reason.call;
    if (timeout) {
        /* The interrupt that nobody recorded was the timer's. */
        if (segment->cause == LULL_CAUSE_IRQ || segment->cause == LULL_CAUSE_UNKNOWN) {
            segment->cause = LULL_CAUSE_TIMER;
        }
        lull_evidence_append_timeout(eg, lull_evidence_reason(eg, hop->detail), timeout, out);
    } else {
        report_cause(eg, hop, evidence, out);
        append_open(eg, hop, evidence, out);
        if (out->len && lull_evidence_reason(eg, hop->detail)) {
            g_string_append(out, "; ");
        }
        report_reason(eg, hop->detail, evidence->waker, hop->end_ns, out);
        append_holder(eg, hop, true, out);
    }
    append_meanwhile(eg, hop, "; ", out);
    segment->detail = out->len ? g_string_chunk_insert_const(strings, out->str) : NULL;
}

/* A wait for the network is explained by who sent the packet; its reason names no waker. */
void lull_evidence_entered(const struct lull_execgraph *eg, uint32_t detail, GStringChunk *strings,
                           struct lull_wait *wait)
{
    set_reason(eg, detail, strings, &wait->reason);
    wait->other_task = LULL_NONE;
    wait->other_tid = -1;
    if (detail == LULL_NONE) {
        return;
    }
    const struct evidence *evidence = &eg->evidence.items[detail];
    struct lull_segment other = {.other_task = LULL_NONE, .other_tid = -1};
    g_autoptr(GString) out = g_string_new(NULL);
    if (evidence->waker != LULL_NONE) {
        lull_evidence_set_other(eg, evidence->waker, wait->end_ns, strings, &other);
    } else if (evidence->is_request && evidence->index != LULL_NONE) {
        g_string_append(out, "for ");
        append_request(eg, evidence->index, out);
        g_string_append(out, lull_evidence_reason(eg, detail) ? "; " : "");
    } else if (evidence->index < eg->packets.count) {
        lull_evidence_set_packet(eg, evidence->index, strings, &other);
        g_string_append(out, "for ");
        lull_evidence_append_packet(eg, evidence->index, out);
        append_tcp_wait(tcp_wait_in(eg, evidence->index, wait->start_ns), out);
        g_string_append(out, lull_evidence_reason(eg, detail) ? "; " : "");
    }
    wait->other_task = other.other_task;
    wait->other_tid = other.other_tid;
    wait->other_comm = other.other_comm;
    report_reason(eg, detail, evidence->waker, wait->end_ns, out);
    const struct timeout_note *tried = lull_evidence_tries(eg, detail);
    if (tried) {
        lull_evidence_append_tries(tried, out);
    }
    wait->detail = out->len ? g_string_chunk_insert_const(strings, out->str) : NULL;
}

uint32_t lull_evidence_chain(const struct lull_execgraph *eg, const struct lull_hop *hop)
{
    return hop->detail < eg->chains.count ? eg->chains.items[hop->detail] : LULL_NONE;
}

/* ---- what is the same each time ---- */

void lull_evidence_append_kind(GString *out, const char *comm)
{
    const char *slash = strchr(comm, '/');
    /* Kernel threads of a CPU or a pool: "ksoftirqd/1", "kworker/u8:3-events". */
    bool is_one_of_many =
        slash && (g_ascii_isdigit(slash[1]) || (slash[1] == 'u' && g_ascii_isdigit(slash[2])));
    g_string_append_len(out, comm, is_one_of_many ? slash - comm : (gssize)strlen(comm));
}

static void append_task_kind(const struct lull_execgraph *eg, uint32_t task, int64_t time_ns,
                             GString *out)
{
    lull_evidence_append_kind(out, lull_model_comm(eg->model, task, time_ns));
}

/* In which call, without what differs each time. */
static void append_reason_kind(const struct lull_execgraph *eg, uint32_t detail, GString *out)
{
    const struct lull_wait_reason *reason = lull_evidence_reason(eg, detail);
    const struct timeout_note *timeout = lull_evidence_timeout(eg, detail);
    if (!reason) {
        return;
    }
    const gsize before = out->len;
    g_string_append(out, out->len ? ", " : "");
    const gsize start = out->len;
    if (reason->call == LULL_NONE || reason->fault || eg->evidence.items[detail].is_open) {
        lull_wait_reason_append(eg->model, reason, NULL, out);
        g_string_truncate(out, out->len == start ? before : out->len);
        return;
    }
    g_string_append(out, timeout ? "timed out in " : "in ");
    g_string_append(out, lull_model_label(eg->model, reason->call));
    const bool is_polled = timeout && lull_evidence_append_polled(eg, reason, timeout, out);
    const char *thing = is_polled ? NULL : lull_wait_reason_thing(eg->model, reason);
    const char *operation = lull_wait_reason_operation(reason);
    if (operation) {
        g_string_append_printf(out, " for %s", operation);
    }
    if (thing) {
        g_string_append(out, " on ");
        g_string_append(out, thing);
    }
    if (reason->lock) {
        g_string_append_c(out, ' ');
        lull_wait_reason_append_lock(reason, out);
    }
    const uint32_t holder = lull_evidence_holder(eg, detail);
    if (holder != LULL_NONE) {
        g_string_append(out, ", lease of ");
        append_task_kind(eg, holder, INT64_MAX, out);
    }
    if (timeout && timeout->later != LULL_NONE) {
        g_string_append(out, ", later woken by ");
        append_task_kind(eg, timeout->later, timeout->end_ns, out);
    } else if (timeout && timeout->sent.file != LULL_NONE) {
        lull_evidence_append_no_answer(eg, timeout, out);
    }
}

static void append_wait_kind(const struct lull_execgraph *eg, const struct lull_hop *hop,
                             const struct evidence *evidence, GString *out)
{
    if (evidence->is_dirty) {
        append_dirty(eg, evidence, out);
    } else if (hop->cause == LULL_CAUSE_DISK && evidence->index != LULL_NONE) {
        char device[40];
        const struct lull_block_request *request = lull_model_request(eg->model, evidence->index);
        g_string_append(out, device_name(eg, evidence->index, device, sizeof device));
        g_string_append_c(out, ' ');
        g_string_append(out, lull_block_operation(request));
        if (request->issue_ns != INT64_MIN &&
            2 * held_ns(request, hop) > hop->end_ns - hop->start_ns &&
            held_ns(request, hop) >= LONG_HOLD_NS) {
            g_string_append(out, " held back before the device");
        } else if (2 * queued_ns(request, hop) > hop->end_ns - hop->start_ns &&
                   queued_ns(request, hop) >= LONG_HOLD_NS) {
            g_string_append(out, " queued before the device");
        }
    } else if (hop->cause == LULL_CAUSE_NETWORK &&
               lull_evidence_append_packet_kind(eg, hop, evidence->index, out)) {
        /* said */
    } else if (evidence->waker != LULL_NONE) {
        g_string_append(out, "woken by ");
        append_task_kind(eg, evidence->waker, hop->end_ns, out);
    } else if (evidence->label != LULL_NONE && !lull_evidence_is_own_timer(eg, hop->detail)) {
        g_string_append(out, lull_model_label(eg->model, evidence->label));
        append_raiser(eg, hop, false, out);
    }
    append_open(eg, hop, evidence, out);
    const struct lull_tcp_wait_note *tcp = tcp_wait_of(eg, hop, evidence);
    if (tcp) {
        g_string_append_printf(out, "%s%s", out->len ? ", " : "", lull_tcp_wait_subject(tcp->kind));
    }
    append_reason_kind(eg, hop->detail, out);
    append_holder(eg, hop, false, out);
    append_meanwhile(eg, hop, ", ", out);
}

uint32_t lull_evidence_subject(const struct lull_execgraph *eg, const struct path_piece *piece,
                               GString *out)
{
    if (piece->state == LULL_STATE_INTERRUPTED && piece->label != LULL_NONE) {
        g_string_append(out, lull_model_label(eg->model, piece->label));
    }
    if (piece->cause == LULL_CAUSE_THROTTLED && piece->label != LULL_NONE) {
        lull_quotas_append(eg, piece->label, out);
    }
    if (piece->state != LULL_STATE_BLOCKED || piece->hop->detail == LULL_NONE) {
        return LULL_NONE;
    }
    const struct evidence *evidence = &eg->evidence.items[piece->hop->detail];
    append_wait_kind(eg, piece->hop, evidence, out);
    return evidence->waker;
}
