/* SPDX-License-Identifier: MIT */
/* The answer of lull why in sentences. */
#include "view/why/why.h"

#include <string.h>

#include "base/time.h"
#include "graph/lineage.h"
#include "kernel/kills.h"
#include "view/out.h"
#include "view/words.h"

#define BOLD "\033[1m"
#define YELLOW "\033[33m"
#define RESET "\033[0m"

/* Slow instances that are named, and portions of a contribution. */
enum { MOST_NAMED = 5, MOST_DETAILS = 3, MOST_FUNCTIONS = 5 };

/* Functions about less of the difference are left out. */
#define LITTLE_DIFFERENCE 0.05
/* Less than this of the slow ones' paths is not worth a warning. */
#define LITTLE_UNKNOWN 0.02
/* From so many times on, a difference is no percentage. */
#define SO_MANY_TIMES 10

struct why_view {
    struct lull_out out;
    const struct lull_why_shown *why;
    const struct lull_view_style *style;
};

/* ---- names ---- */

static bool has_hosts(const struct lull_why_shown *why)
{
    return lull_session_host_count(why->paths.session) > 1;
}

static void append_name(GString *out, const struct lull_why_shown *why, const char *comm,
                        int32_t tid, uint32_t host, bool ascii)
{
    if (tid == LULL_SEVERAL_TIDS) {
        lull_clean_append(out, comm, ascii);
    } else {
        lull_task_append(out, comm, tid, ascii);
    }
    if (has_hosts(why)) {
        g_string_append(out, " on ");
        lull_clean_append(out, lull_session_host(why->paths.session, host)->name, ascii);
    }
}

static void append_duration(GString *out, double ns)
{
    char text[LULL_TIME_TEXT_SIZE];
    lull_duration_format((int64_t)(ns < 0 ? ns - 0.5 : ns + 0.5), text);
    g_string_append(out, text);
}

static void append_percent(GString *out, double share)
{
    char text[LULL_DECIMAL_SIZE];
    lull_decimal_format(100 * share, 0, text);
    g_string_append_printf(out, "%s %%", text);
}

static bool is_worth_telling(const struct lull_contribution *contribution, uint32_t i)
{
    return i < contribution->n_details && i < MOST_DETAILS &&
           (i == 0 || contribution->details[i].difference_ns > 0.05 * contribution->difference_ns);
}

static const struct lull_portion *detail_at(const struct lull_why_shown *why,
                                            const struct lull_contribution *contribution,
                                            uint32_t i)
{
    return lull_portions_at(why->paths.portions, contribution->details[i].portion);
}

/* What was going on while the lock was held. */
static void append_meanwhile(GString *out, const struct lull_why_shown *why,
                             const struct lull_contribution *contribution, bool ascii)
{
    for (uint32_t i = 0; is_worth_telling(contribution, i); i++) {
        const struct lull_portion *portion = detail_at(why, contribution, i);
        g_string_append(out, i ? ", " : "; meanwhile ");
        append_name(out, why, portion->comm, contribution->details[i].tid, portion->host, ascii);
        g_string_append(out, " is ");
        lull_portion_append_what(out, portion, ascii);
        if (contribution->details[i].inside) {
            g_string_append(out, ", waited for by ");
            lull_clean_append(out, contribution->details[i].inside, ascii);
        }
        g_string_append(out, " (");
        append_duration(out, contribution->details[i].difference_ns);
        g_string_append(out, ")");
    }
}

/* Several details of one state: "blocked on disk: vda write, in fsync (55 ms), vda flush (5 ms)"
 */
static void append_details(GString *out, const struct lull_why_shown *why,
                           const struct lull_contribution *contribution, bool ascii)
{
    for (uint32_t i = 0; is_worth_telling(contribution, i); i++) {
        const struct lull_portion *portion = detail_at(why, contribution, i);
        g_string_append(out, i ? ", " : ": ");
        lull_clean_append(out, portion->detail ? portion->detail : "not known more closely", ascii);
        g_string_append(out, " (");
        append_duration(out, contribution->details[i].difference_ns);
        g_string_append(out, ")");
    }
}

static void append_portion(GString *out, const struct lull_why_shown *why,
                           const struct lull_contribution *contribution, bool ascii)
{
    const struct lull_portion *portion =
        lull_portions_at(why->paths.portions, contribution->portion);
    append_name(out, why, portion->comm, contribution->tid, portion->host, ascii);
    g_string_append(out, " is ");
    if (is_worth_telling(contribution, 1)) {
        g_string_append(out, lull_look_of(portion->state, portion->cause)->phrase);
        append_details(out, why, contribution, ascii);
        return;
    }
    lull_portion_append_what(out, portion, ascii);
    if (portion->state == LULL_STATE_PREEMPTED && contribution->other_tid > 0) {
        g_string_append_printf(out, "/%d", contribution->other_tid);
    }
}

static void append_lock(GString *out, const struct lull_why_shown *why,
                        const struct lull_contribution *contribution, bool ascii)
{
    const struct lull_lock *lock = lull_portions_lock(why->paths.portions, contribution->lock);
    const bool is_futex = !lock->is_kernel && g_str_has_prefix(lock->call, "futex");
    append_name(out, why, lock->comm, LULL_SEVERAL_TIDS, lock->host, ascii);
    if (lock->is_worker) {
        g_string_append_printf(out, " is waiting in %s for ", lock->call);
        append_name(out, why, lock->holder, contribution->other_tid, lock->host, ascii);
        g_string_append(out, " of the same server");
        append_meanwhile(out, why, contribution, ascii);
        return;
    }
    g_string_append_printf(out, " is waiting in %s for a %slock%s",
                           lock->call ? lock->call : "a page fault",
                           lock->is_kernel ? "kernel " : "", is_futex ? " (or a signal)" : "");
    if (!lock->holder) {
        g_string_append(out, "; who held it is not in the trace");
        return;
    }
    g_string_append(out, " held by ");
    append_name(out, why, lock->holder, contribution->other_tid, lock->host, ascii);
    append_meanwhile(out, why, contribution, ascii);
}

void lull_contribution_append(GString *out, const struct lull_why_shown *why,
                              const struct lull_contribution *contribution, bool ascii)
{
    if (contribution->lock != LULL_NONE) {
        append_lock(out, why, contribution, ascii);
    } else {
        append_portion(out, why, contribution, ascii);
    }
}

/* The task that a contribution is about; its tid is found in any case. */
static uint32_t task_of(const struct lull_why_shown *why,
                        const struct lull_contribution *contribution, int32_t *tid)
{
    const struct lull_portion *portion =
        lull_portions_at(why->paths.portions, contribution->portion);
    const bool is_other = contribution->lock != LULL_NONE ||
                          (portion->state == LULL_STATE_PREEMPTED && contribution->other_tid > 0);
    *tid = is_other ? contribution->other_tid : contribution->tid;
    return *tid > 0 ? lull_model_find_tid(why->paths.model, portion->host, *tid) : LULL_NONE;
}

const char *lull_contribution_command(const struct lull_why_shown *why,
                                      const struct lull_contribution *contribution)
{
    int32_t tid;
    const uint32_t task = task_of(why, contribution, &tid);
    return task == LULL_NONE ? NULL : lull_model_command(why->paths.model, task);
}

char *lull_contribution_lineage(const struct lull_why_shown *why,
                                const struct lull_contribution *contribution, int32_t *tid)
{
    const uint32_t task = task_of(why, contribution, tid);
    return task == LULL_NONE ? NULL : lull_lineage_of(why->paths.model, task);
}

const struct lull_instance *lull_why_instance(const struct lull_why_shown *why,
                                              const struct lull_why_group *kind, uint32_t sample)
{
    for (guint i = 0; i < kind->chosen.slow->len; i++) {
        const uint32_t position = g_array_index(kind->chosen.slow, struct lull_timed, i).position;
        if (why->paths.samples[position] == sample) {
            return &g_array_index(why->paths.instances->list, struct lull_instance, position);
        }
    }
    return NULL;
}

/* ---- one kind ---- */

static void append_range(GString *out, const GArray *timed)
{
    g_autoptr(GString) last = g_string_new(NULL);
    const gsize at = out->len;
    append_duration(out, (double)g_array_index(timed, struct lull_timed, 0).took_ns);
    append_duration(last, (double)g_array_index(timed, struct lull_timed, timed->len - 1).took_ns);
    if (strcmp(out->str + at, last->str) != 0) {
        g_string_append_printf(out, " to %s", last->str);
    }
}

static void append_groups(GString *out, const struct lull_why_group *kind)
{
    g_string_append_printf(out, "%u instances: %u slow (", kind->info.n_instances,
                           kind->chosen.slow->len);
    append_range(out, kind->chosen.slow);
    g_string_append_printf(out, ") against %u typical (", kind->chosen.typical->len);
    append_range(out, kind->chosen.typical);
    g_string_append(out, ")");
}

void lull_why_verdict_append(GString *out, const struct lull_why_group *kind)
{
    switch (kind->info.verdict) {
    case LULL_WHY_TOO_FEW:
        g_string_append_printf(out, "%u instance%s: too few to compare, it takes %d.",
                               kind->info.n_instances, kind->info.n_instances == 1 ? "" : "s",
                               LULL_FEWEST_INSTANCES);
        return;
    case LULL_WHY_NONE_SLOW:
        g_string_append_printf(out, "%u instances: none is as slow as requested.",
                               kind->info.n_instances);
        return;
    case LULL_WHY_NO_TYPICAL:
        g_string_append_printf(
            out, "%u instances: too many of them count as slow, none is left that is typical.",
            kind->info.n_instances);
        return;
    default:
        break;
    }
    const struct lull_comparison *comparison = kind->comparison;
    append_groups(out, kind);
    g_string_append(out, kind->chosen.slow->len == 1 ? ".\nThe slow one takes "
                                                     : ".\nThe slow ones take ");
    append_duration(out, comparison->difference_ns);
    const double ratio = comparison->difference_ns / MAX(comparison->typical_ns, 1);
    if (ratio < SO_MANY_TIMES) {
        g_string_append(out, " (");
        append_percent(out, ratio);
        g_string_append_c(out, ')');
    }
    g_string_append(out, " longer than the typical ones on average");
    if (ratio >= SO_MANY_TIMES) {
        g_string_append_printf(out, ", %.0f times as long", ratio + 1);
    }
    g_string_append(out, kind->info.verdict == LULL_WHY_ALIKE
                             ? ": they are all alike, there is nothing to explain."
                         : kind->info.verdict == LULL_WHY_UNCLEAR
                             ? ", but nothing that is more in them differs clearly from chance."
                             : ", because:");
}

static void append_lineage(GString *out, const struct lull_why_shown *why,
                           const struct lull_contribution *contribution, bool ascii)
{
    int32_t tid;
    g_autofree char *ancestors = lull_contribution_lineage(why, contribution, &tid);
    if (ancestors) {
        g_autofree char *shown = lull_ancestors_text(ancestors, ascii);
        const uint32_t task = task_of(why, contribution, &tid);
        g_string_append(out, "    ");
        lull_task_append(out, lull_model_comm(why->paths.model, task, INT64_MAX), tid, ascii);
        g_string_append_printf(out, " was started by %s.\n", shown);
    }
    const char *command = lull_contribution_command(why, contribution);
    if (command) {
        g_string_append_printf(out, "    Its command was: ");
        lull_command_line_append(out, command, ascii);
        g_string_append_c(out, '\n');
    }
}

void lull_contribution_append_headline(GString *out, const struct lull_why_shown *why,
                                       const struct lull_why_group *kind,
                                       const struct lull_contribution *contribution, bool ascii)
{
    append_duration(out, contribution->difference_ns);
    g_string_append(out, " more (");
    append_percent(out, contribution->difference_ns / kind->comparison->difference_ns);
    g_string_append(out, "): ");
    lull_contribution_append(out, why, contribution, ascii);
    g_string_append_c(out, '.');
}

/* Nothing if both ends of the range look the same: the typical ones do not differ. */
static void append_likely(GString *out, double low_ns, double high_ns)
{
    g_autoptr(GString) low = g_string_new(NULL);
    g_autoptr(GString) high = g_string_new(NULL);
    append_duration(low, low_ns);
    append_duration(high, high_ns);
    if (!g_string_equal(low, high)) {
        g_string_append_printf(out, "; the difference is likely %s to %s", low->str, high->str);
    }
}

bool lull_contribution_idle(const struct lull_why_shown *why,
                            const struct lull_contribution *contribution, int64_t *waited_ns,
                            int64_t *idle_ns)
{
    const struct lull_portion *portion =
        lull_portions_at(why->paths.portions, contribution->portion);
    if (portion->state != LULL_STATE_PREEMPTED || portion->cause == LULL_CAUSE_THROTTLED ||
        contribution->lock != LULL_NONE) {
        return false;
    }
    lull_sample_idle(why->paths.portions, contribution->most, portion, waited_ns, idle_ns);
    return *waited_ns > 0;
}

/* The machine was not full in the one that has most of it. */
static void append_idle(GString *out, const struct lull_why_shown *why,
                        const struct lull_why_group *kind,
                        const struct lull_contribution *contribution, bool ascii)
{
    const struct lull_instance *most = lull_why_instance(why, kind, contribution->most);
    int64_t waited_ns, idle_ns;
    if (!lull_contribution_idle(why, contribution, &waited_ns, &idle_ns) || !most ||
        idle_ns < waited_ns / 2) {
        return;
    }
    g_string_append_printf(out, "    In %s %u another CPU was idle for ",
                           lull_instances_word(why->paths.instances), most->number);
    append_duration(out, (double)idle_ns);
    g_string_append(out, " of the ");
    append_duration(out, (double)waited_ns);
    g_string_append(out, " that ");
    lull_clean_append(out, lull_portions_at(why->paths.portions, contribution->portion)->comm,
                      ascii);
    g_string_append(out, " waited for its own: it may be bound to that (taskset, cpuset).\n");
}

void lull_contribution_append_evidence(GString *out, const struct lull_why_shown *why,
                                       const struct lull_why_group *kind,
                                       const struct lull_contribution *contribution, bool ascii)
{
    const struct lull_instance *most = lull_why_instance(why, kind, contribution->most);
    const guint n_slow = kind->chosen.slow->len;
    g_string_append(out, "    ");
    append_duration(out, contribution->slow_ns);
    g_string_append(out, n_slow == 1 ? " in the slow one, " : " in a slow one, ");
    append_duration(out, contribution->typical_ns);
    g_string_append(out, " in a typical one on average");
    append_likely(out, contribution->low_ns, contribution->high_ns);
    g_string_append(out, ".\n");
    if (n_slow > 1) {
        g_string_append_printf(out, "    %u of the %u slow ones %s more of it than any typical one",
                               contribution->n_outstanding, n_slow,
                               contribution->n_outstanding == 1 ? "has" : "have");
    }
    if (n_slow > 1 && most) {
        g_string_append_printf(out, "; %s %u has most", lull_instances_word(why->paths.instances),
                               most->number);
    }
    if (n_slow > 1) {
        g_string_append(out, ".\n");
    }
    append_idle(out, why, kind, contribution, ascii);
    append_lineage(out, why, contribution, ascii);
    if (contribution->through) {
        g_string_append(out, "    Waited for by ");
        lull_clean_append(out, contribution->through, ascii);
        g_string_append(out, ".\n");
    }
}

static void print_contributions(struct why_view *view, const struct lull_why_group *kind)
{
    const struct lull_comparison *comparison = kind->comparison;
    const char *bold = view->style->color ? BOLD : "", *reset = view->style->color ? RESET : "";
    for (uint32_t i = 0; i < comparison->n_contributions; i++) {
        const struct lull_contribution *contribution = &comparison->contributions[i];
        g_autoptr(GString) text = g_string_new(NULL);
        const bool ascii = !view->style->unicode;
        g_string_append_printf(text, "%2u. %s", i + 1, bold);
        lull_contribution_append_headline(text, view->why, kind, contribution, ascii);
        g_string_append_printf(text, "%s\n", reset);
        lull_contribution_append_evidence(text, view->why, kind, contribution, ascii);
        lull_out_text(&view->out, text->str);
    }
}

static void append_rest(GString *out, const struct lull_comparison *comparison)
{
    double explained_ns = 0;
    for (uint32_t i = 0; i < comparison->n_contributions; i++) {
        explained_ns += comparison->contributions[i].difference_ns;
    }
    const double rest = 1 - explained_ns / comparison->difference_ns;
    g_string_append(out, "Together these explain ");
    append_percent(out, 1 - rest);
    g_string_append(out, " of the difference");
    if (rest > 0.01) {
        g_string_append(out, "; the rest is small, or may be chance");
    }
    if (rest < -0.01) {
        g_string_append(out, "; of other things the slow ones do ");
        append_duration(out, comparison->less_ns);
        g_string_append(out, " less");
    }
    g_string_append(out, ".\n");
}

/* In which functions they spent the difference. */
static void append_functions(GString *out, const struct lull_why_shown *why, uint32_t kind,
                             double whole_ns, bool ascii)
{
    const GArray *functions = why->calls ? lull_why_calls_of(why->calls, kind) : NULL;
    for (guint i = 0; functions && i < MIN(functions->len, MOST_FUNCTIONS); i++) {
        const struct lull_why_function *function =
            &g_array_index(functions, struct lull_why_function, i);
        if (function->difference_ns < LITTLE_DIFFERENCE * whole_ns) {
            return;
        }
        g_string_append(out, i == 0 ? "By function, the slow ones spend most more:\n    " : "    ");
        append_duration(out, function->difference_ns);
        g_string_append(out, " (");
        append_percent(out, function->difference_ns / whole_ns);
        g_string_append(out, function->name ? ") in " : ") ");
        lull_clean_append(out, function->name ? function->name : "in no recorded call", ascii);
        g_string_append_printf(out, ": %s; ",
                               lull_look_of(function->state, function->cause)->phrase);
        append_duration(out, function->slow_ns);
        g_string_append(out, " in a slow one, ");
        append_duration(out, function->typical_ns);
        g_string_append(out, " in a typical one.\n");
    }
}

static bool hides_idle(const struct lull_why_shown *why)
{
    const struct lull_instance_paths *paths = &why->paths;
    bool is_hidden = false;
    for (uint32_t i = 0; i < lull_session_host_count(paths->session); i++) {
        is_hidden |= lull_model_hides_idle(paths->model, i);
    }
    return is_hidden;
}

void lull_why_warnings_append(GString *text, const struct lull_why_shown *why,
                              const struct lull_why_group *kind)
{
    const struct lull_comparison *comparison = kind->comparison;
    if (kind->chosen.slow->len == 1) {
        g_string_append(text, "Only one is slow: what it says holds for that one.\n");
    } else if (kind->chosen.slow->len < 5) {
        g_string_append_printf(text, "Only %u are slow: the likely ranges are rough.\n",
                               kind->chosen.slow->len);
    }
    if (comparison->lost_events || comparison->lost_packets) {
        g_string_append_printf(text,
                               "Meanwhile %" G_GUINT64_FORMAT " events and %" G_GUINT64_FORMAT
                               " packets were lost: the slow ones' paths may be wrong.\n",
                               comparison->lost_events, comparison->lost_packets);
    }
    if (comparison->unknown_ns > LITTLE_UNKNOWN * comparison->slow_ns) {
        append_percent(text, comparison->unknown_ns / comparison->slow_ns);
        g_string_append_printf(text, " of the slow ones' time is unknown: %s.\n",
                               hides_idle(why) ? LULL_HIDDEN_IDLE_CURE
                                               : "the trace does not show what was waited for");
    }
}

static void print_warnings(struct why_view *view, const struct lull_why_group *kind)
{
    const char *yellow = view->style->color ? YELLOW : "", *reset = view->style->color ? RESET : "";
    g_autoptr(GString) text = g_string_new(NULL);
    lull_why_warnings_append(text, view->why, kind);
    if (text->len) {
        lull_out_printf(&view->out, "%s%s%s", yellow, text->str, reset);
    }
}

static void append_kills(GString *out, const struct why_view *view,
                         const struct lull_instance *instance)
{
    enum { MOST_KILLS = 3 };
    const struct lull_model *model = view->why->paths.model;
    uint32_t n;
    const struct lull_kill *kill =
        lull_model_kills(model, instance->start_ns, instance->end_ns, &n);
    for (uint32_t i = 0; i < MIN(n, MOST_KILLS); i++, kill++) {
        const struct lull_task *task = lull_model_task(model, kill->task);
        g_autoptr(GString) how = g_string_new(NULL);
        lull_kill_append(model, kill, how);
        g_string_append(out, "        meanwhile ");
        append_name(out, view->why, lull_model_comm(model, kill->task, kill->time_ns), task->tid,
                    task->host, !view->style->unicode);
        g_string_append_c(out, ' ');
        lull_clean_append(out, how->str, !view->style->unicode);
        g_string_append_c(out, '\n');
    }
}

static void append_slow(GString *out, const struct why_view *view, const struct lull_timed *timed)
{
    const struct lull_instance_paths *paths = &view->why->paths;
    const struct lull_instance *instance =
        &g_array_index(paths->instances->list, struct lull_instance, timed->position);
    const struct lull_task *task = lull_model_task(paths->model, instance->task);
    char start[LULL_TIME_TEXT_SIZE], took[LULL_TIME_TEXT_SIZE];
    lull_time_format_iso(instance->start_ns, view->style->local_time, start);
    lull_duration_format(timed->took_ns, took);
    g_string_append_printf(out, "    %s %u, from %s, took %s, ",
                           lull_instances_word(paths->instances), instance->number, start, took);
    append_name(out, view->why, lull_model_comm(paths->model, instance->task, instance->end_ns),
                task->tid, task->host, !view->style->unicode);
    if (instance->captures) {
        g_string_append(out, ": ");
        lull_clean_append(out, instance->captures, !view->style->unicode);
    }
    g_string_append_c(out, '\n');
    append_kills(out, view, instance);
}

static void print_slow(struct why_view *view, const struct lull_why_group *kind)
{
    const GArray *list = view->why->paths.instances->list, *slow = kind->chosen.slow;
    g_autoptr(GString) text = g_string_new("The slow ones, slowest first:\n");
    for (guint i = slow->len; i-- > 0 && slow->len - i <= MOST_NAMED;) {
        append_slow(text, view, &g_array_index(slow, struct lull_timed, i));
    }
    if (slow->len > MOST_NAMED) {
        g_string_append_printf(text, "    and %u more\n", slow->len - MOST_NAMED);
    }
    const uint32_t slowest = g_array_index(slow, struct lull_timed, slow->len - 1).position;
    g_string_append_printf(text, "Where the slowest spent its time:\n    %s %u\n",
                           view->why->command,
                           g_array_index(list, struct lull_instance, slowest).number);
    lull_out_text(&view->out, text->str);
}

static void print_kind(struct why_view *view, uint32_t number)
{
    const struct lull_why_group *kind =
        &g_array_index(view->why->why->groups, struct lull_why_group, number);
    const char *bold = view->style->color ? BOLD : "", *reset = view->style->color ? RESET : "";
    g_autoptr(GString) text = g_string_new(NULL);
    if (kind->info.name) {
        g_string_append(text, bold);
        lull_clean_append(text, kind->info.name, !view->style->unicode);
        g_string_append_printf(text, "%s: ", reset);
    }
    lull_why_verdict_append(text, kind);
    lull_out_printf(&view->out, "%s\n", text->str);
    if (kind->info.verdict != LULL_WHY_EXPLAINED) {
        return;
    }
    print_contributions(view, kind);
    g_string_truncate(text, 0);
    append_rest(text, kind->comparison);
    append_functions(text, view->why, number, kind->comparison->difference_ns,
                     !view->style->unicode);
    lull_out_text(&view->out, text->str);
    print_warnings(view, kind);
    print_slow(view, kind);
}

static void print_apart(struct why_view *view)
{
    const struct lull_instance_paths *paths = &view->why->paths;
    const char *yellow = view->style->color ? YELLOW : "", *reset = view->style->color ? RESET : "";
    g_autoptr(GString) text = g_string_new(NULL);
    for (uint32_t host = 0; host < lull_session_host_count(paths->session); host++) {
        if (lull_instance_host_is_joined(paths, host)) {
            continue;
        }
        g_string_append(text, text->len ? ", " : "");
        lull_clean_append(text, lull_session_host(paths->session, host)->name,
                          !view->style->unicode);
    }
    if (text->len) {
        lull_out_printf(&view->out,
                        "%sNot joined with the other clocks, so times there may be off and what "
                        "was waited for there is not seen from elsewhere: %s.%s\n",
                        yellow, text->str, reset);
    }
}

bool lull_view_why_text(const struct lull_why_shown *why, FILE *file,
                        const struct lull_view_style *style, GError **error)
{
    struct why_view view = {.why = why, .style = style};
    lull_out_start(&view.out, file);
    lull_out_fold(&view.out, style->width);
    bool is_explained = false;
    for (uint32_t i = 0; i < why->why->groups->len; i++) {
        const bool is_long =
            g_array_index(why->why->groups, struct lull_why_group, i).info.verdict ==
            LULL_WHY_EXPLAINED;
        is_explained |= is_long;
        if (i > 0 && (is_long ||
                      g_array_index(why->why->groups, struct lull_why_group, i - 1).info.verdict ==
                          LULL_WHY_EXPLAINED)) {
            lull_out_text(&view.out, "\n");
        }
        print_kind(&view, i);
    }
    if (why->why->groups->len == 0) {
        g_autofree char *none = lull_instances_none(&why->paths);
        lull_out_text(&view.out, none);
    } else if (!is_explained) {
        lull_out_text(&view.out, lull_instances_ask_instead(why->paths.session));
    }
    if (why->why->n_without_path) {
        lull_out_printf(&view.out,
                        "%u more have no path: they did not end in the recording, or it is not "
                        "known who did them.\n",
                        why->why->n_without_path);
    }
    print_apart(&view);
    return lull_out_end(&view.out, "the answer", error);
}
