/* SPDX-License-Identifier: MIT */
/* Metrics, a family after the other: at most 500 series. */
#include "trigger/counts.h"

#include <inttypes.h>
#include <lull/version.h>
#include <string.h>

#include "base/time.h"
#include "live/histories.h"

/* Copies are tried so often: a change takes microseconds. */
#define TRIES 10000
/* A metric's bucket ends at 4ⁿ us, for n up to this. */
#define MOST_EXPONENT ((LULL_TRACK_BUCKETS - 2) / 2)

static const char *const command_results[LULL_COMMAND_RESULTS] = {
    [LULL_COMMAND_DONE] = "done",
    [LULL_COMMAND_FAILED] = "failed",
    [LULL_COMMAND_KILLED] = "killed",
    [LULL_COMMAND_BUSY] = "busy",
};

static void family(GString *out, const char *name, const char *type, const char *help)
{
    g_string_append_printf(out, "# TYPE %s %s\n", name, type);
    if (g_str_has_suffix(name, "_seconds")) {
        g_string_append_printf(out, "# UNIT %s seconds\n", name);
    }
    g_string_append_printf(out, "# HELP %s %s\n", name, help);
}

static void counter(GString *out, const char *name, const char *label, const char *value,
                    uint64_t count)
{
    g_string_append_printf(out, "%s_total", name);
    if (label) {
        g_string_append_printf(out, "{%s=\"%s\"}", label, value);
    }
    g_string_append_printf(out, " %" PRIu64 "\n", count);
}

/* One family must not be in two places, so lost datagrams come right after what else was lost. */
static void show_machines(GString *out, const struct lull_trigger_counts *counts)
{
    counter(out, "lull_lost", "what", "damaged datagram", counts->datagrams.damaged);
    counter(out, "lull_lost", "what", "forged datagram", counts->datagrams.forged);
    counter(out, "lull_lost", "what", "late datagram", counts->datagrams.clock);
    counter(out, "lull_lost", "what", "limited datagram", counts->datagrams.limited);
    family(out, "lull_repeated_datagrams", "counter",
           "Questions and answers of other machines that had come before.");
    counter(out, "lull_repeated_datagrams", NULL, NULL, counts->datagrams.repeated);
    family(out, "lull_questions", "counter", "Questions of other machines.");
    counter(out, "lull_questions", NULL, NULL, counts->questions);
    family(out, "lull_asked", "counter", "Other machines that were asked, and what they did.");
    for (unsigned i = 0; i < LULL_TRIGGER_VERDICTS; i++) {
        counter(out, "lull_asked", "result", lull_trigger_answers[i], counts->outcomes[i]);
    }
}

/* ---- waits ---- */

/* Before and after what is read as a whole is written. */
static void turn(struct lull_trigger_counts *counts)
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    __atomic_store_n(&counts->version, counts->version + 1, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

void lull_trigger_counts_set_waits(struct lull_trigger_counts *counts,
                                   const struct lull_track_histograms *lengths,
                                   const struct lull_waited_sums *waited)
{
    turn(counts);
    counts->lengths = *lengths;
    counts->waited = *waited;
    counts->has_waits = 1;
    turn(counts);
}

void lull_trigger_counts_add_alarm(struct lull_trigger_counts *counts,
                                   const struct lull_trigger_alarm *alarm)
{
    turn(counts);
    counts->last[counts->n_alarms++ % LULL_TRIGGER_LAST] = *alarm;
    turn(counts);
}

bool lull_trigger_counts_copy(const struct lull_trigger_counts *from,
                              struct lull_trigger_counts *to)
{
    for (uint32_t i = 0; i < TRIES; i++) {
        const uint64_t version = __atomic_load_n(&from->version, __ATOMIC_ACQUIRE);
        for (size_t word = 0; word < sizeof *to / sizeof(uint64_t); word++) {
            ((uint64_t *)to)[word] =
                __atomic_load_n((const uint64_t *)from + word, __ATOMIC_RELAXED);
        }
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        if (version % 2 == 0 && __atomic_load_n(&from->version, __ATOMIC_RELAXED) == version) {
            return true;
        }
    }
    return false;
}

/* The value of a label, which may be any name that a program gives itself. */
static void add_value(GString *out, const char *text)
{
    g_autofree char *valid = g_utf8_make_valid(text, -1);
    for (const char *at = valid; *at; at++) {
        if (*at == '\\' || *at == '"') {
            g_string_append_c(out, '\\');
        }
        g_string_append_c(out, g_ascii_iscntrl(*at) ? '?' : *at);
    }
}

static void add_seconds(GString *out, uint64_t ns)
{
    g_string_append_printf(out, " %" PRIu64 ".%09" PRIu64 "\n", ns / LULL_NS_PER_S,
                           ns % LULL_NS_PER_S);
}

static void add_histogram(GString *out, const char *kind, const char *argument,
                          const struct lull_track_histogram *histogram)
{
    g_autoptr(GString) labels = g_string_new(NULL);
    uint64_t count = 0;
    uint32_t bucket = 0;
    g_string_append_printf(labels, "kind=\"%s\",arg=\"", kind);
    add_value(labels, argument);
    g_string_append_c(labels, '"');
    for (uint32_t n = 0; n <= MOST_EXPONENT; n++) {
        char end[G_ASCII_DTOSTR_BUF_SIZE];
        for (; bucket <= 2 * n; bucket++) {
            count += histogram->n[bucket];
        }
        g_ascii_formatd(end, sizeof end, "%.8g", (double)lull_bucket_start_ns(bucket) / 1e9);
        g_string_append_printf(out, "lull_latency_seconds_bucket{%s,le=\"%s\"} %" PRIu64 "\n",
                               labels->str, end, count);
    }
    count += histogram->n[LULL_TRACK_BUCKETS - 1];
    g_string_append_printf(out, "lull_latency_seconds_bucket{%s,le=\"+Inf\"} %" PRIu64 "\n",
                           labels->str, count);
    g_string_append_printf(out, "lull_latency_seconds_count{%s} %" PRIu64 "\n", labels->str, count);
    g_string_append_printf(out, "lull_latency_seconds_sum{%s}", labels->str);
    add_seconds(out, histogram->ns);
}

/* Of every machine, whatever the rules are. */
static const enum lull_track_measure always[] = {
    LULL_TRACK_WAKEUP, LULL_TRACK_PREEMPT, LULL_TRACK_OFFCPU, LULL_TRACK_FORK,
    LULL_TRACK_BLOCK,  LULL_TRACK_IRQ,     LULL_TRACK_SOFTIRQ};

/* The kind that is about all of it. */
static const char *kind_of(enum lull_track_measure measure)
{
    const struct lull_track_kind *kind = lull_track_kinds;
    while (kind->measure != measure) {
        kind++;
    }
    return kind->name;
}

/* Of a rule about what is no wait of a task, or a system call, of which `always` has no histogram, nor any earlier rule. */
static bool has_own_histogram(const GPtrArray *tracked, guint i)
{
    const struct lull_track_rule *rule = tracked->pdata[i];
    bool has_own = rule->kind->measure >= LULL_TRACK_SYSCALL;
    for (size_t a = 0; a < G_N_ELEMENTS(always); a++) {
        has_own &= rule->kind->measure != always[a] || rule->has_number;
    }
    for (guint k = 0; k < i; k++) {
        const struct lull_track_rule *earlier = tracked->pdata[k];
        has_own &= earlier->kind != rule->kind || strcmp(earlier->argument, rule->argument) != 0;
    }
    return has_own;
}

static void show_lengths(GString *out, const struct lull_trigger_config *config,
                         const struct lull_track_histograms *lengths)
{
    g_autoptr(GPtrArray) tracked = g_ptr_array_new(); /* as the tracker numbers them */
    family(out, "lull_latency_seconds", "histogram",
           "How long waits, requests of disks and interrupts took, and what rules are about.");
    for (size_t i = 0; i < G_N_ELEMENTS(always); i++) {
        add_histogram(out, kind_of(always[i]), "", &lengths->of[always[i]]);
    }
    for (const struct lull_track_kind *kind = lull_track_kinds; kind->name; kind++) {
        if (kind->calls != LULL_TRACK_ANY_CALL) {
            add_histogram(out, kind->name, "", &lengths->called[kind->called]);
        }
    }
    for (guint i = 0; i < config->rules->len; i++) {
        const struct lull_trigger_rule *rule = config->rules->pdata[i];
        if (rule->when) {
            g_ptr_array_add(tracked, rule->when);
        }
    }
    for (guint i = 0; i < tracked->len; i++) {
        const struct lull_track_rule *rule = tracked->pdata[i];
        if (has_own_histogram(tracked, i)) {
            add_histogram(out, rule->kind->name, rule->argument, &lengths->rule[i]);
        }
    }
}

static void show_waited(GString *out, const struct lull_waited_sums *waited)
{
    family(out, "lull_waited_seconds", "counter",
           "Who waited, by name, and what was at the end of what they waited for.");
    for (uint64_t i = 0; i < MIN(waited->n, LULL_WAITED_NAMED); i++) {
        const struct lull_waited_pair *pair = &waited->named[i];
        g_string_append(out, "lull_waited_seconds_total{waiter=\"");
        add_value(out, pair->comm);
        g_string_append_printf(out, "\",end=\"%s\"}",
                               lull_live_end_words[MIN(pair->end, LULL_LIVE_END_UNKNOWN)]);
        add_seconds(out, pair->ns);
    }
    g_string_append(out, "lull_waited_seconds_total{waiter=\"other\",end=\"other\"}");
    add_seconds(out, waited->other_ns);
}

/* By what, and which rules are left out because of that. */
static void show_watching(GString *out, const struct lull_trigger_config *config,
                          const struct lull_trigger_counts *counts)
{
    family(out, "lull_rule_watched", "gauge", "Whether what the rule is about can be seen here.");
    for (guint i = 0; i < config->rules->len; i++) {
        const struct lull_trigger_rule *rule = config->rules->pdata[i];
        g_string_append_printf(out, "lull_rule_watched{rule=\"%s\"} %d\n", rule->name,
                               !(counts->unwatched & UINT64_C(1) << i));
    }
    if (*counts->backend) {
        family(out, "lull_tracker", "info", "How waits are watched.");
        g_string_append_printf(out, "lull_tracker_info{backend=\"%s\"} 1\n", counts->backend);
        family(out, "lull_given_up", "gauge", "What of waits is not known, to cost less.");
        g_string_append_printf(out, "lull_given_up{what=\"chains\"} %d\n",
                               counts->has_no_chains != 0);
        g_string_append_printf(out, "lull_given_up{what=\"system calls\"} %d\n",
                               counts->has_no_calls != 0);
    }
}

void lull_trigger_metrics(GString *out, const struct lull_trigger_config *config,
                          const struct lull_trigger_counts *counts)
{
    family(out, "lull_build", "info", "The version of the program.");
    g_string_append_printf(out, "lull_build_info{version=\"%s\"} 1\n", LULL_VERSION);
    family(out, "lull_alarms", "counter",
           "Waits and requests that took longer than a rule allows.");
    for (guint i = 0; i < config->rules->len; i++) {
        const struct lull_trigger_rule *rule = config->rules->pdata[i];
        counter(out, "lull_alarms", "rule", rule->name, counts->alarms[i]);
    }
    family(out, "lull_snapshots", "counter", "What was done about them.");
    for (unsigned i = 0; i < LULL_TRIGGER_FAST; i++) {
        counter(out, "lull_snapshots", "result", lull_trigger_verdicts[i], counts->results[i]);
    }
    family(out, "lull_removed_snapshots", "counter", "Old snapshots that had to make room.");
    counter(out, "lull_removed_snapshots", NULL, NULL, counts->removed);
    family(out, "lull_hooks", "counter", "Requests that servers reported.");
    counter(out, "lull_hooks", NULL, NULL, counts->hooks);
    family(out, "lull_commands", "counter", "Commands of rules that wrote a snapshot.");
    for (unsigned i = 0; i < LULL_COMMAND_RESULTS; i++) {
        counter(out, "lull_commands", "result", command_results[i], counts->commands[i]);
    }
    family(out, "lull_lost", "counter", "What was not seen, or could not be understood.");
    counter(out, "lull_lost", "what", "alarm", counts->lost_alarms);
    counter(out, "lull_lost", "what", "task", counts->untracked);
    counter(out, "lull_lost", "what", "wait", counts->unnamed);
    counter(out, "lull_lost", "what", "end of a wait", counts->unseen);
    counter(out, "lull_lost", "what", "event", counts->missed);
    counter(out, "lull_lost", "what", "damaged hook", counts->damaged_hooks);
    counter(out, "lull_lost", "what", "dropped hook", counts->dropped_hooks);
    if (config->listen.port > 0) {
        show_machines(out, counts);
    }
    show_watching(out, config, counts);
    if (counts->has_overhead) {
        char text[G_ASCII_DTOSTR_BUF_SIZE];
        family(out, "lull_overhead_ratio", "gauge",
               "Of the tracker: share of the time of all CPUs.");
        g_ascii_formatd(text, sizeof text, "%.6f", (double)counts->overhead_ppm / 1e6);
        g_string_append_printf(out, "lull_overhead_ratio %s\n", text);
    }
    if (counts->history_ns > 0) {
        family(out, "lull_history_seconds", "gauge", "How far back the last snapshot reached.");
        g_string_append(out, "lull_history_seconds");
        add_seconds(out, counts->history_ns);
    }
    if (counts->has_waits) {
        show_lengths(out, config, &counts->lengths);
        show_waited(out, &counts->waited);
    }
    g_string_append(out, "# EOF\n");
}
