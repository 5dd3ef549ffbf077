/* SPDX-License-Identifier: MIT */
/* eBPF programs stay when root's rights are gone, and so do the files of ftrace's instance that are open. */
#include "trigger/watching.h"

#include <string.h>

#include "live/unqueued.h"

static void choose_all(struct lull_watching *watching, const struct lull_trigger_config *config)
{
    watching->when = g_ptr_array_new();
    for (guint i = 0; i < config->rules->len; i++) {
        const struct lull_trigger_rule *rule = config->rules->pdata[i];
        if (rule->when) {
            watching->number[watching->when->len] = i;
            watching->place[watching->when->len] = watching->when->len;
            g_ptr_array_add(watching->when, rule->when);
        }
    }
}

/* That some rule asks for, of those that it can have. */
static uint32_t stacks_of(const struct lull_trigger_config *config, uint32_t possible)
{
    uint32_t stacks = 0;
    for (guint i = 0; i < config->rules->len; i++) {
        const struct lull_trigger_rule *rule = config->rules->pdata[i];
        stacks |= rule->stacks & possible;
    }
    return stacks;
}

static struct lull_tracker *start(const struct lull_watching *watching,
                                  const struct lull_watching_question *asked, const char *backend,
                                  GError **error)
{
    const struct lull_trigger_config *config = asked->config;
    const struct lull_tracker_question question = {
        .backend = backend,
        .rules = (const struct lull_track_rule *const *)watching->when->pdata,
        .n_rules = watching->when->len,
        .most_overhead = config->most_overhead,
        .stacks = stacks_of(config, strcmp(backend, "ftrace") == 0 ? LULL_TRACK_KERNEL_STACK : ~0u),
        .has_metrics = config->metrics_port > 0,
        .marks = (const char *const *)config->marks,
        .alarm = asked->alarm,
        .user = asked->user};
    return lull_tracker_new(&question, error);
}

/* Then a rule is what does not work. */
static bool is_bpf_allowed(void)
{
    const struct lull_tracker_question nothing = {.backend = "bpf", .most_overhead = 1};
    struct lull_tracker *tracker = lull_tracker_new(&nothing, NULL);
    lull_tracker_free(tracker);
    return tracker != NULL;
}

static void report(const struct lull_watching_question *question, const char *format, ...)
    G_GNUC_PRINTF(2, 3);

static void report(const struct lull_watching_question *question, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    g_autofree char *line = g_strdup_vprintf(format, args);
    va_end(args);
    question->report(question->report_user, line);
}

/* Of the rules, those that only eBPF sees. */
static void leave_out(struct lull_watching *watching, const struct lull_watching_question *question)
{
    const char *lacks[LULL_TRACK_MEASURES];
    guint n = 0;
    if (!lull_tracker_lacks("ftrace", lacks, NULL, NULL)) {
        return;
    }
    for (guint i = 0; i < watching->when->len; i++) {
        struct lull_track_rule *when = watching->when->pdata[i];
        const uint32_t number = watching->number[i];
        if (lacks[when->kind->measure]) {
            const struct lull_trigger_rule *rule = question->config->rules->pdata[number];
            watching->unwatched |= UINT64_C(1) << number;
            report(question, "rule %s is not watched: “%s” needs %s", rule->name, when->text,
                   lacks[when->kind->measure]);
        } else {
            watching->when->pdata[n] = when;
            watching->number[n] = number;
            watching->place[n++] = watching->place[i];
        }
    }
    g_ptr_array_set_size(watching->when, (gint)n);
}

static void report_unqueued(const struct lull_watching_question *question)
{
    for (guint i = 0; i < question->config->rules->len; i++) {
        const struct lull_trigger_rule *rule = question->config->rules->pdata[i];
        g_autofree char *unqueued = rule->when ? lull_track_unqueued(rule->when) : NULL;
        if (unqueued) {
            report(question, "rule %s: %s", rule->name, unqueued);
        }
    }
}

/* True also if there are only hooks to go on with. */
static bool fall_back(struct lull_watching *watching, const struct lull_watching_question *question,
                      GError *why, GError **error)
{
    const bool has_rules = watching->when->len > 0;
    leave_out(watching, question);
    watching->tracker =
        !has_rules || watching->when->len > 0 ? start(watching, question, "ftrace", NULL) : NULL;
    if (watching->tracker) {
        report(question, "ftrace watches waits, and cannot see %s; eBPF is not available: %s",
               lull_tracker_how(watching->tracker).unseen, why->message);
    } else if (has_rules) {
        g_propagate_error(error, why);
        return false;
    } else {
        report(question, "the metrics have no waits: %s", why->message);
    }
    g_error_free(why);
    return true;
}

bool lull_watching_start(struct lull_watching *watching,
                         const struct lull_watching_question *question, GError **error)
{
    GError *why = NULL;
    *watching = (struct lull_watching){NULL};
    choose_all(watching, question->config);
    report_unqueued(question);
    if (watching->when->len == 0 && question->config->metrics_port == 0) {
        return true;
    }
    watching->tracker = start(watching, question, "bpf", &why);
    if (watching->tracker) {
        return true;
    }
    if (watching->when->len > 0 && is_bpf_allowed()) {
        g_propagate_error(error, why);
    } else if (fall_back(watching, question, why, error)) {
        return true;
    }
    lull_watching_clear(watching);
    return false;
}

void lull_watching_clear(struct lull_watching *watching)
{
    lull_tracker_free(watching->tracker);
    if (watching->when) {
        g_ptr_array_unref(watching->when);
    }
    *watching = (struct lull_watching){NULL};
}

bool lull_watching_count(const struct lull_watching *watching, struct lull_trigger_counts *counts,
                         GError **error)
{
    struct lull_tracker_counts seen;
    if (!lull_tracker_count(watching->tracker, &seen, error)) {
        return false;
    }
    counts->lost_alarms = seen.damaged;
    for (uint32_t i = 0; i < LULL_TRACK_RULES; i++) {
        counts->lost_alarms += seen.kernel.limited[i] + seen.kernel.lost[i];
    }
    counts->untracked = seen.kernel.untracked;
    counts->unnamed = seen.kernel.unsummed;
    counts->unseen = seen.kernel.unseen;
    counts->missed = seen.missed;
    counts->unwatched = watching->unwatched;
    counts->has_no_calls = seen.has_no_calls;
    counts->has_no_chains = seen.has_no_chains;
    counts->has_overhead = seen.overhead >= 0;
    counts->overhead_ppm = seen.overhead >= 0 ? (uint64_t)(seen.overhead * 1e6) : 0;
    g_strlcpy(counts->backend, lull_tracker_how(watching->tracker).backend, sizeof counts->backend);
    return true;
}

bool lull_watching_histograms(const struct lull_watching *watching,
                              struct lull_track_histograms *lengths, GError **error)
{
    struct lull_track_histograms nothing = {0}, seen;
    if (!lull_tracker_histograms(watching->tracker, &nothing, &seen, error)) {
        return false;
    }
    *lengths = seen;
    memset(lengths->rule, 0, sizeof lengths->rule);
    for (guint i = 0; i < watching->when->len; i++) {
        lengths->rule[watching->place[i]] = seen.rule[i];
    }
    return true;
}
