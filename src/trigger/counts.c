/* SPDX-License-Identifier: MIT */
/* Metrics, a family after the other. */
#include "trigger/counts.h"

#include <inttypes.h>
#include <lull/version.h>

static const char *const command_results[LULL_COMMAND_RESULTS] = {
    [LULL_COMMAND_DONE] = "done",
    [LULL_COMMAND_FAILED] = "failed",
    [LULL_COMMAND_KILLED] = "killed",
    [LULL_COMMAND_BUSY] = "busy",
};

static void family(GString *out, const char *name, const char *type, const char *help)
{
    g_string_append_printf(out, "# TYPE %s %s\n# HELP %s %s\n", name, type, name, help);
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
    family(out, "lull_questions", "counter", "Questions of other machines.");
    counter(out, "lull_questions", NULL, NULL, counts->questions);
    family(out, "lull_asked", "counter", "Other machines that were asked, and what they did.");
    for (unsigned i = 0; i < LULL_TRIGGER_VERDICTS; i++) {
        counter(out, "lull_asked", "result", lull_trigger_answers[i], counts->outcomes[i]);
    }
}

void lull_trigger_metrics(GString *out, const struct lull_trigger_config *config,
                          const struct lull_trigger_counts *counts)
{
    family(out, "lull_build", "info", "The version of the program.");
    g_string_append_printf(out, "lull_build_info{version=\"%s\"} 1\n", LULL_VERSION);
    family(out, "lull_alarms", "counter",
           "Waits and requests that were slower than a rule allows.");
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
    counter(out, "lull_lost", "what", "damaged hook", counts->damaged_hooks);
    counter(out, "lull_lost", "what", "dropped hook", counts->dropped_hooks);
    if (config->listen.port > 0) {
        show_machines(out, counts);
    }
    if (counts->has_overhead) {
        char text[G_ASCII_DTOSTR_BUF_SIZE];
        family(out, "lull_overhead_ratio", "gauge",
               "Of the tracker: share of the time of all CPUs.");
        g_ascii_formatd(text, sizeof text, "%.6f", (double)counts->overhead_ppm / 1e6);
        g_string_append_printf(out, "lull_overhead_ratio %s\n", text);
    }
    g_string_append(out, "# EOF\n");
}
