/* SPDX-License-Identifier: MIT */
/* What the text view of a path says between its summary and its steps: what is missing or may be wrong, and what the
 * whole path, not one of its steps, has as a reason. */
#include "analysis/quotas.h"
#include "base/time.h"
#include "view/path/text.h"
#include "view/words.h"

#define YELLOW "\033[33m"
#define RESET "\033[0m"

static void append_warning(const struct text_view *view, GString *notes, const char *text)
{
    const char *ink = view->style->color ? YELLOW : "", *reset = view->style->color ? RESET : "";
    g_string_append_printf(notes, "%sWarning:%s %s\n", ink, reset, text);
}

static void warn_of_losses(const struct text_view *view, GString *notes)
{
    const struct lull_path *path = view->path;

    if (!path->lost_events && !path->lost_packets) {
        return;
    }
    GString *text = g_string_new("lost ");
    lull_losses_append(text, path);
    g_string_append(text, " during this time; the path may be wrong there.");
    append_warning(view, notes, text->str);
    g_string_free(text, TRUE);
}

static void warn_of_unknown(const struct text_view *view, GString *notes)
{
    const struct lull_path *path = view->path;
    char duration[LULL_TIME_TEXT_SIZE], percent[LULL_DECIMAL_SIZE];
    int64_t unknown_ns = 0;

    for (uint32_t i = 0; i < path->n_by_state; i++) {
        if (lull_look_index(path->by_state[i].state, path->by_state[i].cause) ==
            LULL_LOOK_COUNT - 1) {
            unknown_ns += path->by_state[i].duration_ns;
        }
    }
    /* A wait that has not ended has a line of its own, which says what it is for if that is known. */
    const struct lull_segment *last =
        path->n_segments ? &path->segments[path->n_segments - 1] : NULL;
    if (path->n_open_waits && lull_look_index(last->state, last->cause) == LULL_LOOK_COUNT - 1) {
        unknown_ns -= last->end_ns - last->start_ns;
    }
    if (unknown_ns == 0) {
        return;
    }
    lull_duration_format(unknown_ns, duration);
    lull_decimal_format(100 * lull_share(unknown_ns, path->end_ns - path->start_ns), 1, percent);
    g_autoptr(GString) text = g_string_new(NULL);
    g_string_printf(text, "%s (%s %%) is unknown: ", duration, percent);
    if (path->unrecorded_ns > 0) {
        lull_duration_format(path->unrecorded_ns, duration);
        g_string_append_printf(text, "for %s nothing was recorded: recording was stopped.",
                               duration);
    } else {
        g_string_append_printf(text, "%s.",
                               path->hides_idle ? LULL_HIDDEN_IDLE_CURE
                                                : "the trace does not show what was waited for");
    }
    append_warning(view, notes, text->str);
}

/* The task was not alive in all of the time that was asked about, or nothing was recorded. */
static void warn_of_clipping(const struct text_view *view, GString *notes)
{
    const struct lull_path *path = view->path;
    char missing[LULL_TIME_TEXT_SIZE];

    if (path->is_start_cut) {
        append_warning(
            view, notes,
            "the recording starts later than the time in question, and so does the path.");
    }
    if (path->is_end_cut) {
        append_warning(
            view, notes,
            "the recording ends earlier than the time in question, and so does the path.");
    }
    if (path->asked_start_ns < path->start_ns) {
        lull_duration_format(path->start_ns - path->asked_start_ns, missing);
        g_autofree char *text = g_strdup_printf(
            "the task was started %s after the start of the time in question; the path starts "
            "there.",
            missing);
        append_warning(view, notes, text);
    }
    if (path->asked_end_ns > path->end_ns) {
        lull_duration_format(path->asked_end_ns - path->end_ns, missing);
        g_autofree char *text = g_strdup_printf(
            "the task ended %s before the end of the time in question; the path ends there.",
            missing);
        append_warning(view, notes, text);
    }
}

/* What the kernel says of quotas, also where the path cannot show when they were used up. */
static void report_quotas(const struct text_view *view, GString *notes)
{
    for (uint32_t i = 0; i < view->path->n_quotas; i++) {
        g_autoptr(GString) text = g_string_new(NULL);
        lull_quota_append(text, view->path->quotas[i]);
        lull_clean_append(notes, text->str, !view->style->unicode);
        g_string_append_c(notes, '\n');
    }
}

/* The machine was not full. Which task may run where is not recorded: it is what the reader has to look at. */
static void report_idle(const struct text_view *view, GString *notes)
{
    enum { LEAST_PART = 20 };
    const struct lull_path *path = view->path;
    const struct lull_path_idle *task = path->idle; /* the one to which it matters most */
    char waited[LULL_TIME_TEXT_SIZE], idle[LULL_TIME_TEXT_SIZE];

    if (path->n_idle == 0 || task->idle_ns < (path->end_ns - path->start_ns) / LEAST_PART ||
        task->idle_ns < task->waited_ns / 2) {
        return;
    }
    lull_duration_format(task->waited_ns, waited);
    lull_duration_format(task->idle_ns, idle);
    lull_task_append(notes, task->comm, task->tid, !view->style->unicode);
    if (view->shows_hosts) {
        g_string_append(notes, " on ");
        lull_clean_append(notes, lull_path_host_name(path, task->host), !view->style->unicode);
    }
    g_string_append_printf(notes, " waited %s for ", waited);
    if (task->cpu >= 0) {
        g_string_append_printf(
            notes,
            "CPU %d, and for %s of that another CPU was idle: it may be bound to CPU %d (taskset, cpuset).\n",
            task->cpu, idle, task->cpu);
    } else {
        g_string_append_printf(
            notes,
            "a CPU, and for %s of that one was idle that it did not get: its CPU affinity may forbid that (taskset, cpuset).\n",
            idle);
    }
}

/* Says of each host on the path how well its clock is joined to the others. */
static void report_clocks(const struct text_view *view, GString *notes)
{
    const struct lull_path *path = view->path;
    GString *joined = g_string_new(NULL), *apart = g_string_new(NULL);

    for (uint32_t i = 0; i < path->n_by_host && path->sync; i++) {
        uint32_t host = path->by_host[i].host;
        const struct lull_host_clock *sync = host < path->n_hosts ? &path->sync[host] : NULL;
        if (!sync || sync->is_reference) {
            continue;
        }
        GString *to = sync->is_joined ? joined : apart;
        g_string_append(to, to->len ? ", " : "");
        lull_clean_append(to, lull_path_host_name(path, host), !view->style->unicode);
        if (sync->is_joined && sync->bound_ns >= 0) {
            char bound[LULL_TIME_TEXT_SIZE];
            lull_duration_format(sync->bound_ns, bound);
            g_string_append_printf(to, " to within %s", bound);
        }
    }
    if (joined->len) {
        g_string_append_printf(notes, "Clocks joined: %s.\n", joined->str);
    }
    if (apart->len) {
        g_string_prepend(apart, "not joined with the other clocks, so times there may be off: ");
        g_string_append_c(apart, '.');
        append_warning(view, notes, apart->str);
    }
    g_string_free(joined, TRUE);
    g_string_free(apart, TRUE);
}

void text_print_notes(struct text_view *view)
{
    GString *notes = g_string_new(NULL);

    if (view->shows_hosts) {
        report_clocks(view, notes);
    }
    warn_of_clipping(view, notes);
    warn_of_losses(view, notes);
    warn_of_unknown(view, notes);
    report_quotas(view, notes);
    report_idle(view, notes);
    if (notes->len) {
        lull_out_printf(&view->out, "\n%s", notes->str);
    }
    g_string_free(notes, TRUE);
}
