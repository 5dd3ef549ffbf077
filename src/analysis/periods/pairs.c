/* SPDX-License-Identifier: MIT */
/* Statistics of a set of periods. Each instance is added once to each of its ancestors in the set.
 */
#include "analysis/periods/pairs.h"

#include "analysis/spread.h"
#include "base/sums.h"

/* What an ancestor's instance had of one inner definition. */
struct tally {
    uint64_t count;
    int64_t sum_ns;
};

struct maker {
    const struct period_report *report;
    const struct period_set *set;
    bool keeps;
    uint32_t n;        /* definitions */
    uint32_t *columns; /* by ancestor * n + inner: its place among the ancestor's tallies */
    uint32_t *widths;  /* by ancestor: how many inner definitions there are */
    struct tally *tallies;
};

static void add_value(const struct maker *m, struct lull_distribution *values, int64_t value)
{
    if (!m->keeps) {
        lull_spread_add(values, value);
        return;
    }
    values->keep_values = true;
    lull_distribution_add(values, value);
}

/* --min and --max bound the histograms of durations. */
static bool is_wanted(const struct maker *m, int64_t duration_ns)
{
    return !m->keeps || lull_params_want_duration(m->report->params, duration_ns);
}

static void find_columns(struct maker *m)
{
    m->n = lull_periods_count(m->report->periods);
    m->columns = g_new0(uint32_t, (size_t)m->n * m->n + 1);
    m->widths = g_new0(uint32_t, (size_t)m->n + 1);
    for (uint32_t ancestor = 0; ancestor < m->n; ancestor++) {
        for (uint32_t inner = ancestor + 1; inner < m->n; inner++) {
            if (period_is_inside(m->report, inner, ancestor)) {
                m->columns[ancestor * m->n + inner] = m->widths[ancestor]++;
            }
        }
    }
}

static struct tally *tally_of(const struct maker *m, uint32_t instance, uint32_t inner)
{
    const uint32_t ancestor = period_instance(m->report, instance)->period;
    return &m->tallies[m->report->positions[instance] + m->columns[ancestor * m->n + inner]];
}

static void fill_tallies(struct maker *m)
{
    const struct period_report *report = m->report;
    size_t total = 0;
    for (uint32_t i = 0; i < m->set->n; i++) {
        report->positions[m->set->members[i]] = total;
        total += m->widths[period_instance(report, m->set->members[i])->period];
    }
    m->tallies = g_new0(struct tally, total + 1);
    for (uint32_t i = 0; i < m->set->n; i++) {
        const struct lull_period_instance *at = period_instance(report, m->set->members[i]);
        uint32_t above = report->is_whole[m->set->members[i]] ? at->parent : LULL_NO_PERIOD;
        while (above != LULL_NO_PERIOD && report->positions[above] != SIZE_MAX) {
            struct tally *tally = tally_of(m, above, at->period);
            tally->count++;
            lull_add(&tally->sum_ns, period_duration(at));
            above = period_instance(report, above)->parent;
        }
    }
}

static void add_to_pair(const struct maker *m, struct period_pair *pair, bool is_global,
                        const struct tally *tally, int64_t duration_ns)
{
    struct lull_distribution *values = pair->values[is_global];
    add_value(m, &values[PERIOD_COUNT], (int64_t)tally->count);
    if (is_wanted(m, tally->sum_ns)) {
        add_value(m, &values[PERIOD_DURATION], tally->sum_ns);
    }
    if (duration_ns <= 0) {
        return; /* what share of nothing it is cannot be said */
    }
    double percent = (double)tally->sum_ns * 100 / (double)duration_ns;
    add_value(m, &values[PERIOD_RATIO], (int64_t)MIN(percent / PERIOD_RATIO_SCALE, 9e18));
}

static void fill_pair(const struct maker *m, struct period_pair *pair)
{
    for (uint32_t i = 0; i < m->set->n; i++) {
        const uint32_t number = m->set->members[i];
        const struct lull_period_instance *at = period_instance(m->report, number);
        if (at->period != pair->ancestor || !m->report->is_whole[number]) {
            continue;
        }
        const struct tally *tally = tally_of(m, number, pair->inner);
        if (tally->count > 0) {
            add_to_pair(m, pair, false, tally, period_duration(at));
        }
        add_to_pair(m, pair, true, tally, period_duration(at));
    }
}

static void clear_pair(struct period_pair *pair)
{
    for (int is_global = 0; is_global < 2; is_global++) {
        for (int measure = 0; measure < PERIOD_MEASURES; measure++) {
            lull_distribution_clear(&pair->values[is_global][measure]);
        }
    }
}

static void make_pairs(const struct maker *m, struct period_stats *stats)
{
    const struct lull_periods_question *question = m->report->question;
    stats->pairs = g_new0(struct period_pair, (size_t)m->n * m->n + 1);
    for (uint32_t inner = 0; inner < m->n; inner++) {
        for (uint32_t ancestor = 0; ancestor < inner; ancestor++) {
            if (!question->is_selected[inner] || !period_is_inside(m->report, inner, ancestor) ||
                (question->ancestor != LULL_NO_PERIOD && question->ancestor != ancestor)) {
                continue;
            }
            struct period_pair *pair = &stats->pairs[stats->n_pairs];
            *pair = (struct period_pair){.inner = inner, .ancestor = ancestor};
            fill_pair(m, pair);
            if (pair->values[0][PERIOD_COUNT].count > 0) {
                stats->n_pairs++;
            } else {
                clear_pair(pair);
            }
        }
    }
}

void period_stats_make(const struct period_report *report, const struct period_set *set, bool keeps,
                       struct period_stats *stats)
{
    struct maker m = {.report = report, .set = set, .keeps = keeps};
    find_columns(&m);
    fill_tallies(&m);
    *stats = (struct period_stats){.n_periods = m.n};
    stats->durations = g_new0(struct lull_distribution, MAX(m.n, 1));
    for (uint32_t i = 0; i < set->n; i++) {
        const struct lull_period_instance *at = period_instance(report, set->members[i]);
        if (report->question->is_selected[at->period] && is_wanted(&m, period_duration(at))) {
            add_value(&m, &stats->durations[at->period], period_duration(at));
        }
    }
    make_pairs(&m, stats);
    for (uint32_t i = 0; i < set->n; i++) {
        report->positions[set->members[i]] = SIZE_MAX;
    }
    g_free(m.columns);
    g_free(m.widths);
    g_free(m.tallies);
}

void period_stats_clear(struct period_stats *stats)
{
    for (uint32_t i = 0; i < stats->n_periods; i++) {
        lull_distribution_clear(&stats->durations[i]);
    }
    for (uint32_t i = 0; i < stats->n_pairs; i++) {
        clear_pair(&stats->pairs[i]);
    }
    g_free(stats->durations);
    g_free(stats->pairs);
}
