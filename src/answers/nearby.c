/* SPDX-License-Identifier: MIT */
/* Which part of the traces is read for a short time: some bytes before it, in which the tasks show
 * what state they are in, some after it, in which what lasts at its end ends; if that is not enough,
 * several times as much, in the end all. */
#include "answers/nearby.h"

#include <lull/recording.h>

#include "answers/waits.h"
#include "kernel/vocabulary.h"

/* How much more is read each time: what was read in vain before is a small part of it. */
#define WIDER 8
/* It is not worth it if as much as this part would be read before the time, and as much after it. */
#define MOST_SHARE 8
/* Traces up to this size are read whole: it takes no time that anyone would notice. */
#define SMALL_BYTES (UINT64_C(32) << 20)

static bool has_throttled(const struct lull_recording_info *recording)
{
    bool has = false;
    for (uint32_t i = 0; i < recording->n_cpu_quotas; i++) {
        has |= recording->cpu_quotas[i].throttled_ns > 0;
    }
    return has;
}

/* What needs events of all the time before: what lies where in memory; connections of which packets
 * have no headers; which control group tasks are in, and the rhythm of its quota. */
static bool needs_all(const struct lull_session *session)
{
    static const enum lull_event_id with_history[] = {LULL_EVENT_mapping, LULL_EVENT_tcp_probe};
    for (uint32_t i = 0; i < lull_session_recording_count(session); i++) {
        if (has_throttled(lull_session_recording(session, i))) {
            return true;
        }
    }
    for (uint32_t host = 0; host < lull_session_host_count(session); host++) {
        for (size_t i = 0; i < G_N_ELEMENTS(with_history); i++) {
            if (lull_session_declares(session, host, lull_vocabulary_names(with_history[i]))) {
                return true;
            }
        }
    }
    return false;
}

void lull_waits_near(struct lull_waits *waits, int64_t start_ns, int64_t end_ns, uint64_t bytes)
{
    struct nearby *near = &waits->nearby;
    *near = (struct nearby){.asked_start_ns = start_ns, .asked_end_ns = end_ns};
    if ((start_ns == INT64_MIN && end_ns == INT64_MAX) || needs_all(waits->session)) {
        return;
    }
    for (uint32_t i = 0; i < lull_session_trace_count(waits->session); i++) {
        near->total_bytes += lull_session_trace(waits->session, i)->size_bytes;
    }
    near->before = bytes ? bytes : near->total_bytes > SMALL_BYTES ? LULL_NEARBY_BYTES : 0;
    near->after = near->before;
}

/* The time that so many bytes take in the mean, of all traces together. */
static int64_t time_of(const struct nearby *near, uint64_t bytes, int64_t first_ns, int64_t last_ns)
{
    return (int64_t)((double)(last_ns - first_ns) * (double)bytes / (double)near->total_bytes);
}

static bool is_worth_it(const struct nearby *near, bool is_limited, uint64_t bytes)
{
    return is_limited && bytes > 0 && bytes < near->total_bytes / MOST_SHARE;
}

static int64_t less(int64_t a, int64_t b)
{
    return a < INT64_MIN + b ? INT64_MIN : a - b;
}

static int64_t more(int64_t a, int64_t b)
{
    return a > INT64_MAX - b ? INT64_MAX : a + b;
}

void lull_waits_start_nearby(struct lull_waits *waits)
{
    struct nearby *near = &waits->nearby;
    int64_t first_ns, last_ns;
    near->start_ns = INT64_MIN;
    near->end_ns = INT64_MAX;
    const bool has_start = is_worth_it(near, near->asked_start_ns != INT64_MIN, near->before);
    const bool has_end = is_worth_it(near, near->asked_end_ns != INT64_MAX, near->after);
    if ((!has_start && !has_end) || !lull_session_range(waits->session, &first_ns, &last_ns)) {
        near->before = near->after = 0;
        return;
    }
    const int64_t origin_ns = lull_session_origin(waits->session); /* reads */
    const int64_t before_ns = time_of(near, near->before, origin_ns, last_ns);
    if (has_start) {
        near->start_ns = less(near->asked_start_ns, before_ns);
    }
    if (has_end) {
        near->end_ns = more(near->asked_end_ns, time_of(near, near->after, origin_ns, last_ns));
    }
    near->start_ns = near->start_ns <= origin_ns ? INT64_MIN : near->start_ns;
    near->end_ns = near->end_ns > last_ns ? INT64_MAX : near->end_ns;
    if (near->start_ns != INT64_MIN) {
        const int64_t dumped_ns = MIN(more(origin_ns, before_ns), near->start_ns);
        lull_model_read_dump(waits->model, INT64_MIN, dumped_ns, near->start_ns);
    }
    lull_session_limit(waits->session, near->start_ns, near->end_ns);
}

bool lull_waits_read_range(const struct lull_waits *waits, int64_t *start_ns, int64_t *end_ns)
{
    *start_ns = waits->nearby.start_ns;
    *end_ns = waits->nearby.end_ns;
    return waits->nearby.before > 0 && (*start_ns != INT64_MIN || *end_ns != INT64_MAX);
}

bool lull_waits_widen(struct lull_waits *waits, const struct lull_path *path)
{
    int64_t start_ns, end_ns;
    const unsigned cut = path ? path->cut : LULL_CUT_BEFORE | LULL_CUT_AFTER;
    const bool is_limited = lull_waits_read_range(waits, &start_ns, &end_ns);
    const bool is_before = is_limited && cut & LULL_CUT_BEFORE && start_ns != INT64_MIN;
    const bool is_after = is_limited && cut & LULL_CUT_AFTER && end_ns != INT64_MAX;
    if (!is_before && !is_after) {
        return false; /* what is cut there, the traces themselves do not have */
    }
    waits->nearby.before *= is_before ? WIDER : 1;
    waits->nearby.after *= is_after ? WIDER : 1;
    lull_waits_reopen(waits);
    return true;
}
