/* SPDX-License-Identifier: MIT */
/* The last line of `lull track`, and what it shares with the screens of `lull top`. */
#include "view/live/track_end.h"

#include <inttypes.h>

#include "base/json.h"
#include "view/live/how.h"

static uint64_t sum_of(const uint64_t numbers[LULL_TRACK_RULES])
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < LULL_TRACK_RULES; i++) {
        sum += numbers[i];
    }
    return sum;
}

static uint64_t limited(const struct lull_tracker_counts *counts)
{
    return sum_of(counts->kernel.limited);
}

static uint64_t lost(const struct lull_tracker_counts *counts)
{
    return sum_of(counts->kernel.lost);
}

static uint64_t untracked(const struct lull_tracker_counts *counts)
{
    return counts->kernel.untracked;
}

static uint64_t unseen(const struct lull_tracker_counts *counts)
{
    return counts->kernel.unseen;
}

static uint64_t missed(const struct lull_tracker_counts *counts)
{
    return counts->missed;
}

static uint64_t damaged(const struct lull_tracker_counts *counts)
{
    return counts->damaged;
}

/* What is missing from the alarms, with words for it. */
static const struct loss {
    const char *words, *key;
    uint64_t (*of)(const struct lull_tracker_counts *counts);
} losses[] = {
    {"alarms over 1000 a second", "limited", limited},
    {"alarms without room in the ring buffer", "lost", lost},
    {"waits or requests without room", "untracked", untracked},
    {"waits that the kernel did not show the end of", "unseen", unseen},
    {"events left out by the kernel", "missed", missed},
    {"damaged records", "damaged", damaged},
};

void lull_track_losses_append(GString *out, const struct lull_tracker_counts *counts)
{
    const char *before = "; lost: ";
    for (uint32_t i = 0; i < G_N_ELEMENTS(losses); i++) {
        const uint64_t number = losses[i].of(counts);
        if (number) {
            g_string_append_printf(out, "%s%" PRIu64 " %s", before, number, losses[i].words);
            before = ", ";
        }
    }
    if (before[0] == ';') {
        g_string_append(out, "; lost: nothing");
    }
}

void lull_track_losses_json(struct json_object *object, const struct lull_tracker_counts *counts)
{
    for (uint32_t i = 0; i < G_N_ELEMENTS(losses); i++) {
        lull_json_add_number(object, losses[i].key, (int64_t)losses[i].of(counts));
    }
}

void lull_alarm_end_text(const struct lull_alarm_view *view,
                         const struct lull_tracker_counts *counts, uint64_t n_alarms,
                         uint64_t n_hidden)
{
    g_autoptr(GString) out = g_string_new(NULL);
    const char *of = " of ";
    if (view->has_histograms) {
        of = "";
    } else {
        g_string_append_printf(out, "%" PRIu64 " alarm%s", n_alarms, n_alarms == 1 ? "" : "s");
    }
    if (n_hidden) {
        g_string_append_printf(out, " (%" PRIu64 " of them not shown: --rate)", n_hidden);
    }
    if (counts->kernel.waits || !counts->kernel.events) {
        g_string_append_printf(out, "%s%" PRIu64 " wait%s", of, counts->kernel.waits,
                               counts->kernel.waits == 1 ? "" : "s");
        of = " and ";
    }
    if (counts->kernel.events) {
        g_string_append_printf(out, "%s%" PRIu64 " requests, interrupts and calls", of,
                               counts->kernel.events);
    }
    if (counts->filtered) {
        g_string_append_printf(out, ", %" PRIu64 " filtered", counts->filtered);
    }
    if (counts->kernel.replaced) {
        g_string_append_printf(out, ", %" PRIu64 " marks began again before they ended",
                               counts->kernel.replaced);
    }
    lull_track_losses_append(out, counts);
    if (view->action) {
        g_string_append_printf(out, "; ran %" PRIu64 " command%s (%" PRIu64 " failed)",
                               view->action->n_run, view->action->n_run == 1 ? "" : "s",
                               view->action->n_failed);
        if (view->action->n_left_out) {
            g_string_append_printf(out, ", none for %" PRIu64 " alarms that came while one ran",
                                   view->action->n_left_out);
        }
    }
    if (counts->has_no_chains) {
        g_string_append(out, "; chains given up to cost less (--max-overhead)");
    }
    if (counts->has_no_calls) {
        g_string_append(out, "; system calls given up to cost less (--max-overhead)");
    }
    if (counts->overhead >= 0) {
        g_string_append_printf(out, "; cost %.2f %% of the CPUs", 100 * counts->overhead);
    }
    fprintf(view->file, "%s\n", out->str);
    lull_how_text(view->file, &view->style, &view->how);
}

void lull_alarm_end_json(const struct lull_alarm_view *view,
                         const struct lull_tracker_counts *counts, uint64_t n_alarms)
{
    struct json_object *object = json_object_new_object();
    struct json_object *summary = json_object_new_object();
    lull_json_add_number(object, "lull_track", 1);
    lull_json_add_number(summary, "alarms", (int64_t)n_alarms);
    lull_json_add_number(summary, "waits", (int64_t)counts->kernel.waits);
    lull_json_add_number(summary, "events", (int64_t)counts->kernel.events);
    lull_json_add_number(summary, "unknown_wakers", (int64_t)counts->kernel.unknown_wakers);
    lull_json_add_number(summary, "candidates", (int64_t)sum_of(counts->kernel.candidates));
    lull_json_add_number(summary, "filtered", (int64_t)counts->filtered);
    lull_json_add_number(summary, "not_worst", (int64_t)counts->not_worst);
    lull_json_add_number(summary, "replaced", (int64_t)counts->kernel.replaced);
    lull_track_losses_json(summary, counts);
    if (view->action) {
        lull_json_add_number(summary, "commands", (int64_t)view->action->n_run);
        lull_json_add_number(summary, "commands_failed", (int64_t)view->action->n_failed);
        lull_json_add_number(summary, "commands_left_out", (int64_t)view->action->n_left_out);
    }
    lull_how_json(summary, &view->how, counts);
    json_object_object_add(object, "summary", summary);
    g_autofree char *text = lull_json_format(object, false);
    fprintf(view->file, "%s\n", text);
}
