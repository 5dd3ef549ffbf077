/* SPDX-License-Identifier: MIT */
/* The analysis of periods: which instances count, and which tables show them. */
#include "analysis/periods/private.h"

#include "analysis/period_windows.h"
#include "base/map.h"

struct periods {
    struct lull_analysis head;
};

static const char *const tags[] = {"period", "stats", "freq", "top", "log", NULL};

static const struct lull_result_class *const tables[] = {
    &period_log_class,           &period_top_class,           &period_open_class,
    &period_tree_class,          &period_stats_class,         &period_freq_class,
    &period_freq_counts_class,   &period_freq_ratios_class,   &period_pairs_class,
    &period_pairs_top_class,     &period_aggregated_class,    &period_parent_durations_class,
    &period_parent_counts_class, &period_parent_ratios_class, NULL};

const char *period_path(const struct period_report *report, uint32_t period,
                        char unnamed[LULL_PERIOD_UNNAMED])
{
    return report->params->is_lami ? period_definition(report, period)->path
                                   : lull_period_label(report->periods, period, unnamed);
}

const char *period_host(const struct period_report *report, uint32_t host)
{
    return report->session ? lull_session_host(report->session, host)->name : NULL;
}

bool period_is_inside(const struct period_report *report, uint32_t period, uint32_t ancestor)
{
    do {
        period = period_definition(report, period)->parent;
    } while (period != LULL_NO_PERIOD && period != ancestor);
    return period == ancestor;
}

/* The processes of the threads that are asked for, by host and tid. */
static void find_threads(const struct lull_analysis *analysis, struct lull_map *threads)
{
    const struct lull_numbers *pids = &analysis->params->pids;
    for (uint32_t i = 0; pids->count && i < lull_model_task_count(analysis->model); i++) {
        const struct lull_task *task = lull_model_task(analysis->model, i);
        if (lull_numbers_have(*pids, task->pid)) {
            lull_map_insert(threads, (uint64_t)task->host << 32 | (uint32_t)task->tid, i);
        }
    }
}

/* Whether a task that is asked for opened it, on a CPU that is. */
static bool is_wanted(const struct period_report *report, const struct lull_map *threads,
                      const struct lull_period_instance *instance)
{
    const struct lull_question_params *params = report->params;
    const uint64_t key = (uint64_t)instance->host << 32 | (uint32_t)instance->start_tid;
    return lull_numbers_have(params->cpus, instance->start_cpu) &&
           lull_numbers_have(params->tids, instance->start_tid) &&
           (!params->pids.count || lull_map_find(threads, key) != LULL_NONE) &&
           (!params->comms ||
            (instance->start_comm && lull_comm_matches(params->comms, instance->start_comm)));
}

static void count_instances(struct period_report *report, const struct lull_map *threads,
                            uint32_t *all)
{
    for (uint32_t i = 0; i < report->n_instances; i++) {
        const struct lull_period_instance *instance = period_instance(report, i);
        const int64_t duration = period_duration(instance);
        const bool is_one = is_wanted(report, threads, instance);
        report->is_open[i] = is_one && !instance->is_complete;
        report->n_incomplete += report->is_open[i];
        report->is_counted[i] = is_one && instance->is_complete &&
                                duration >= report->question->min_duration_ns &&
                                duration <= report->question->max_duration_ns;
        report->is_whole[i] = report->is_counted[i] && (instance->parent == LULL_NO_PERIOD ||
                                                        report->is_whole[instance->parent]);
        if (report->is_counted[i]) {
            all[report->n_counted++] = i;
        }
    }
}

static void report_notes(const struct period_report *report)
{
    const uint64_t refused = lull_period_refused(report->tracker);
    if (report->n_incomplete > 0) {
        g_autofree char *note =
            g_strdup_printf("%u period%s not seen to end; %s not counted", report->n_incomplete,
                            report->n_incomplete == 1 ? " was" : "s were",
                            report->n_incomplete == 1 ? "it is" : "they are");
        report->sink->note(report->sink, note);
    }
    if (refused > 0) {
        g_autofree char *note = g_strdup_printf(
            "too many periods were open at once: %" G_GUINT64_FORMAT
            " more were not followed; an end condition that is never true opens more and more",
            refused);
        report->sink->note(report->sink, note);
    }
}

static void report_tables(const struct period_report *report)
{
    const struct period_set all = {.members = report->all, .n = report->n_counted};
    const unsigned sections = report->params->sections;
    const struct lull_periods_question *question = report->question;
    bool is_aggregated = question->has_selection && question->ancestor != LULL_NO_PERIOD;
    if (sections & LULL_SECTION_STATS) {
        period_report_tree(report);
        period_report_stats(report, &all);
        period_each_group(report, period_report_stats);
    }
    if (sections & LULL_SECTION_FREQ) {
        period_report_freq(report, &all);
        period_each_group(report, period_report_freq);
    }
    if ((sections & LULL_SECTION_LOG) && (!is_aggregated || question->by_hierarchy)) {
        period_report_log(report);
    }
    if (sections & LULL_SECTION_TOP) {
        period_report_top(report);
    }
    if ((sections & LULL_SECTION_LOG) && is_aggregated && !question->by_hierarchy) {
        if (question->n_groupings == 0) {
            period_report_aggregated(report, &all);
        }
        period_each_group(report, period_report_aggregated);
        if (report->params->is_lami) {
            period_report_pairs(report, false);
        }
    }
    if ((sections & LULL_SECTION_TOP) && is_aggregated && report->params->is_lami) {
        period_report_pairs(report, true);
    }
    if (sections & LULL_SECTION_LOG) {
        period_report_incomplete(report);
    }
}

static void periods_close(struct lull_analysis *analysis, int64_t end_ns)
{
    const struct lull_periods_question *question = analysis->params->periods;
    lull_period_tracker_finish(question->tracker, end_ns);
}

static void periods_emit(struct lull_analysis *analysis, const struct lull_window *window,
                         struct lull_sink *sink)
{
    const struct lull_periods_question *question = analysis->params->periods;
    struct period_report report = {
        .params = analysis->params,
        .question = question,
        .periods = question->periods,
        .tracker = question->tracker,
        .session = analysis->session,
        .sink = sink,
        .n_instances = lull_period_instance_count(question->tracker),
    };
    uint32_t *all = g_new(uint32_t, MAX(report.n_instances, 1));
    report.is_counted = g_new(bool, MAX(report.n_instances, 1));
    report.is_open = g_new(bool, MAX(report.n_instances, 1));
    report.is_whole = g_new(bool, MAX(report.n_instances, 1));
    report.all = all;
    report.positions = g_new(size_t, MAX(report.n_instances, 1));
    memset(report.positions, 0xff, report.n_instances * sizeof(size_t));
    struct lull_map threads = {0};
    find_threads(analysis, &threads);
    count_instances(&report, &threads, all);
    lull_map_free(&threads);
    report_notes(&report);
    report_tables(&report);
    g_free(report.positions);
    g_free(report.is_counted);
    g_free(report.is_open);
    g_free(report.is_whole);
    g_free(all);
}

const struct lull_analysis_class lull_analysis_periods = {
    .name = "periods",
    .title = "Periods analysis",
    .description = "Periods frequency distribution, statistics, top, and log",
    .tags = tags,
    .tables = tables,
    .needs_periods = true,
    .size = sizeof(struct periods),
    .close = periods_close,
    .emit = periods_emit,
};
