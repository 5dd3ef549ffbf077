/* SPDX-License-Identifier: MIT */
/* What a row did at a time, and where that came from. */
#include <inttypes.h>
#include <string.h>

#include <lull/path.h>

#include "base/json.h"
#include "server/view.h"

enum { STEPS_MOST = 100000 /* back to a wait */ };

const char *server_label_of(const struct served *served, enum lull_store_kind kind,
                            const struct lull_store_interval *interval)
{
    const bool is_of_task = (kind == LULL_STORE_CPU_THREAD ||
                             (kind == LULL_STORE_VCPU && interval->state == LULL_STORE_USER)) &&
                            interval->evidence < lull_store_row_count(served->store);
    return is_of_task ? lull_store_row(served->store, interval->evidence).name
                      : lull_store_text(served->store, interval->label);
}

static bool take(uint32_t row, int64_t time_ns, struct lull_store_cursor *cursor,
                 struct server_moment *moment, GError **error)
{
    GError *failure = NULL;
    const struct lull_store_interval *at = lull_store_next(cursor, &failure);
    if (at) {
        *moment = (struct server_moment){row, CLAMP(time_ns, at->start_ns, at->end_ns - 1), *at};
    } else if (failure) {
        g_propagate_error(error, failure);
    } else {
        g_set_error_literal(error, LULL_ERROR, LULL_ERROR_QUESTION,
                            "the trace shows nothing more of it");
    }
    return at != NULL;
}

static bool moment_at(const struct served *served, uint32_t row, int64_t time_ns,
                      struct server_moment *moment, GError **error)
{
    struct lull_store_cursor cursor;
    return lull_store_seek(served->store, row, time_ns, &cursor, error) &&
           take(row, time_ns, &cursor, moment, error);
}

bool server_moment(const struct served *served, uint32_t row, int64_t time_ns, int64_t step,
                   struct server_moment *moment, GError **error)
{
    if (!moment_at(served, row, time_ns, moment, error)) {
        return false;
    }
    const int64_t next_ns = step < 0 ? moment->at.start_ns - 1 : moment->at.end_ns;
    return step == 0 || next_ns < served->start_ns || next_ns >= served->end_ns ||
           moment_at(served, row, next_ns, moment, error);
}

/* ---- causes ---- */

static bool is_wait(enum lull_store_state state)
{
    return state >= LULL_STORE_WAIT_CPU && state <= LULL_STORE_WAIT_UNKNOWN;
}

/* What was on the CPU that the task waited for, when the wait ended. */
static bool find_rival(const struct served *served, const struct server_moment *wait,
                       struct server_moment *cause, GError **error)
{
    const struct lull_store_row waiter = lull_store_row(served->store, wait->row);
    for (uint32_t row = 0; row < lull_store_row_count(served->store); row++) {
        const struct lull_store_row about = lull_store_row(served->store, row);
        if (about.kind != LULL_STORE_CPU_THREAD || about.host != waiter.host ||
            (uint32_t)about.cpu != wait->at.evidence) {
            continue;
        }
        struct server_moment on_cpu;
        if (!moment_at(served, row, wait->at.end_ns - 1, &on_cpu, error)) {
            return false;
        }
        if (on_cpu.at.evidence < lull_store_row_count(served->store) &&
            on_cpu.at.evidence != wait->row) {
            return moment_at(served, on_cpu.at.evidence, wait->at.end_ns - 1, cause, error);
        }
    }
    g_set_error_literal(error, LULL_ERROR, LULL_ERROR_QUESTION,
                        "the trace does not show who had the CPU");
    return false;
}

static int64_t length_of(const struct server_moment *moment)
{
    return moment->at.end_ns - moment->at.start_ns;
}

/* Back from where a task runs to the wait before; or, if that took longer, to where it had no CPU
 * since then. */
static bool find_wait(const struct served *served, const struct server_moment *from,
                      struct server_moment *cause, GError **error)
{
    struct server_moment at = *from, preempted = {0};
    for (uint32_t i = 0; i < STEPS_MOST && at.at.start_ns > served->start_ns; i++) {
        if (!moment_at(served, from->row, at.at.start_ns - 1, &at, error)) {
            return false;
        }
        if (at.at.state == LULL_STORE_WAIT_CPU) {
            preempted = length_of(&at) > length_of(&preempted) ? at : preempted;
        } else if (is_wait(at.at.state)) {
            *cause = length_of(&at) >= length_of(&preempted) ? at : preempted;
            return true;
        }
    }
    *cause = preempted;
    if (length_of(&preempted) == 0) {
        g_set_error_literal(error, LULL_ERROR, LULL_ERROR_QUESTION,
                            "it did not wait before that, as far as the trace shows");
    }
    return length_of(&preempted) > 0;
}

bool server_cause(const struct served *served, uint32_t row, int64_t time_ns,
                  struct server_moment *cause, GError **error)
{
    struct server_moment from;
    int64_t ended_ns;
    uint32_t other;
    if (!moment_at(served, row, time_ns, &from, error)) {
        return false;
    }
    const uint32_t n_rows = lull_store_row_count(served->store);
    if (lull_store_row(served->store, row).kind != LULL_STORE_TASK) {
        if (from.at.evidence < n_rows) {
            return moment_at(served, from.at.evidence, time_ns, cause, error);
        }
        g_set_error_literal(error, LULL_ERROR, LULL_ERROR_QUESTION, "no task was there then");
        return false;
    }
    if (from.at.state == LULL_STORE_WAIT_CPU) {
        return find_rival(served, &from, cause, error);
    }
    if (!is_wait(from.at.state)) {
        return find_wait(served, &from, cause, error);
    }
    if (from.at.state == LULL_STORE_WAIT_TASK && from.at.evidence < n_rows) {
        return moment_at(served, from.at.evidence, from.at.end_ns - 1, cause, error);
    }
    return server_flow_cause(served, &from, &other, &ended_ns, error) &&
           moment_at(served, other, ended_ns, cause, error);
}

/* ---- writing ---- */

static void append_text(GString *out, const char *key, const char *text)
{
    g_string_append_printf(out, ",\"%s\":", key);
    lull_json_append(out, text, strlen(text));
}

/* The calls that the call of a row lies within, from the outermost on. */
static void append_callers(const struct served *served, const struct server_moment *moment,
                           GString *out)
{
    const struct served_entry *entries = served->calls.entries.items;
    const uint32_t line = served->calls.by_row[moment->row];
    g_string_append(out, ",\"callers\":[");
    for (int32_t i = line ? entries[line - 1].parent + 1 : 0; line && i + 1 < (int32_t)line; i++) {
        struct server_moment caller;
        if (moment_at(served, entries[i].row, moment->at.start_ns, &caller, NULL)) {
            const char *name = lull_store_text(served->store, caller.at.label);
            g_string_append(out, out->str[out->len - 1] == '[' ? "" : ",");
            lull_json_append(out, name ? name : "?", name ? strlen(name) : 1);
        }
    }
    g_string_append_c(out, ']');
}

void server_moment_append(const struct served *served, const struct server_moment *moment,
                          GString *out)
{
    const struct lull_store_interval *at = &moment->at;
    const enum lull_store_kind kind = lull_store_row(served->store, moment->row).kind;
    const bool is_task = kind == LULL_STORE_TASK;
    const bool has_cpu =
        is_task && at->state >= LULL_STORE_USER && at->state <= LULL_STORE_WAIT_CPU;
    const bool is_row = !has_cpu && (!is_task || at->state == LULL_STORE_WAIT_TASK) &&
                        kind != LULL_STORE_FREQUENCY &&
                        at->evidence < lull_store_row_count(served->store);
    const char *label = lull_store_text(served->store, at->label);
    g_string_append_printf(
        out, "{\"row\":%u,\"time\":%" PRId64 ",\"state\":%u,\"start\":%" PRId64 ",\"end\":%" PRId64,
        moment->row, moment->time_ns - served->start_ns, at->state, at->start_ns - served->start_ns,
        at->end_ns - served->start_ns);
    if (label) {
        append_text(out, "label", label);
    }
    if (has_cpu && at->evidence != LULL_NONE) {
        g_string_append_printf(out, ",\"cpu\":%u", at->evidence);
    } else if (is_row) {
        g_string_append_printf(out, ",\"other\":%u", at->evidence);
    } else if (kind == LULL_STORE_FREQUENCY && at->evidence != LULL_NONE) {
        g_string_append_printf(out, ",\"khz\":%u", at->evidence);
    } else if (is_task && lull_store_text(served->store, at->evidence)) {
        append_text(out, "thing", lull_store_text(served->store, at->evidence));
    }
    if (kind == LULL_STORE_CALL && label) {
        append_callers(served, moment, out);
    }
    g_string_append_c(out, '}');
}
