/* SPDX-License-Identifier: MIT */
/* Compares the slow instances of each kind with the typical ones. */
#include "answers/why.h"

#include <string.h>

/* Things about less of the difference are left out. */
#define LEAST_SHARE 0.05
/* Slow ones that take no more than this longer are not slow. */
#define LEAST_DIFFERENCE 0.1

const char *lull_why_verdict_name(enum lull_why_verdict verdict)
{
    static const char *const names[] = {
        [LULL_WHY_EXPLAINED] = "explained",   [LULL_WHY_UNCLEAR] = "unclear",
        [LULL_WHY_ALIKE] = "alike",           [LULL_WHY_NONE_SLOW] = "none-slow",
        [LULL_WHY_NO_TYPICAL] = "no-typical", [LULL_WHY_TOO_FEW] = "too-few",
    };
    return names[verdict];
}

static const struct lull_instance *instance_of(const struct lull_why *why,
                                               const struct lull_timed *timed)
{
    return lull_instances_at(why->instances, timed->position);
}

/* By kind a GArray of struct lull_timed. */
static GPtrArray *sort_by_kind(struct lull_why *why, const GPtrArray *selected)
{
    GPtrArray *kinds = g_ptr_array_new_with_free_func((GDestroyNotify)g_array_unref);
    for (guint i = 0; i < why->instances->kinds->len; i++) {
        g_ptr_array_add(kinds, g_array_new(FALSE, FALSE, sizeof(struct lull_timed)));
    }
    for (guint i = 0; i < selected->len; i++) {
        const struct lull_instance *instance = selected->pdata[i];
        const struct lull_timed timed = {instance->number - 1,
                                         instance->end_ns - instance->start_ns};
        if (lull_instance_has_path(instance)) {
            g_array_append_val((GArray *)kinds->pdata[instance->kind], timed);
        } else {
            why->n_without_path++;
        }
    }
    return kinds;
}

/* The samples of these instances, whose paths are found. Free with g_free(). */
static uint32_t *find_samples(const struct lull_why *why, const GArray *timed)
{
    uint32_t *samples = g_new(uint32_t, MAX(timed->len, 1));
    for (guint i = 0; i < timed->len; i++) {
        samples[i] = lull_instances_sample(
            why->instances, instance_of(why, &g_array_index(timed, struct lull_timed, i)));
    }
    return samples;
}

/* The slow instance whose path is that sample. */
static const struct lull_instance *slow_of(const struct lull_why *why,
                                           const struct lull_why_group *group, uint32_t sample)
{
    for (guint i = 0; i < group->chosen.slow->len; i++) {
        const struct lull_timed *timed = &g_array_index(group->chosen.slow, struct lull_timed, i);
        if (why->instances->samples[timed->position] == sample) {
            return instance_of(why, timed);
        }
    }
    return NULL;
}

static void add_finding(const struct lull_why *why, struct lull_why_group *group,
                        const struct lull_contribution *contribution)
{
    const struct lull_portions *portions = why->instances->portions;
    const struct lull_portion *portion = lull_portions_at(portions, contribution->portion);
    struct lull_finding finding = {
        .host = portion->host,
        .comm = portion->comm,
        .tid = contribution->tid,
        .state = portion->state,
        .cause = portion->cause,
        .detail = portion->detail,
        .other_tid = contribution->other_tid,
        .through = contribution->through,
        .slow_ns = contribution->slow_ns,
        .typical_ns = contribution->typical_ns,
        .difference_ns = contribution->difference_ns,
        .share = contribution->difference_ns / group->comparison->difference_ns,
        .low_ns = contribution->low_ns,
        .high_ns = contribution->high_ns,
        .n_outstanding = contribution->n_outstanding,
        .most = slow_of(why, group, contribution->most),
    };
    if (contribution->lock != LULL_NONE) {
        const struct lull_lock *lock = lull_portions_lock(portions, contribution->lock);
        finding.host = lock->host;
        finding.lock = lock->call;
        finding.waiter = lock->comm;
        finding.holder = lock->holder;
    }
    g_array_append_val(group->findings, finding);
}

static void take_comparison(const struct lull_why *why, struct lull_why_group *group)
{
    const struct lull_comparison *comparison = group->comparison;
    struct lull_why_kind *info = &group->info;
    info->slow_ns = comparison->slow_ns;
    info->typical_ns = comparison->typical_ns;
    info->difference_ns = comparison->difference_ns;
    info->less_ns = comparison->less_ns;
    info->unknown_ns = comparison->unknown_ns;
    info->lost_events = comparison->lost_events;
    info->lost_packets = comparison->lost_packets;
    if (comparison->difference_ns < LEAST_DIFFERENCE * comparison->typical_ns) {
        info->verdict = LULL_WHY_ALIKE;
    } else if (comparison->n_contributions == 0) {
        info->verdict = LULL_WHY_UNCLEAR;
    }
    for (uint32_t i = 0; info->verdict == LULL_WHY_EXPLAINED && i < comparison->n_contributions;
         i++) {
        add_finding(why, group, &comparison->contributions[i]);
    }
    info->n_findings = group->findings->len;
}

static void compare_kind(const struct lull_why *why, struct lull_why_group *group, uint32_t limit)
{
    const GArray *slow = group->chosen.slow, *typical = group->chosen.typical;
    struct lull_why_kind *info = &group->info;
    info->n_slow = slow->len;
    info->n_typical = typical->len;
    if (info->n_instances < LULL_FEWEST_INSTANCES) {
        info->verdict = LULL_WHY_TOO_FEW;
    } else if (slow->len == 0) {
        info->verdict = LULL_WHY_NONE_SLOW;
    } else if (typical->len == 0) {
        info->verdict = LULL_WHY_NO_TYPICAL;
    }
    if (info->verdict != LULL_WHY_EXPLAINED) {
        return;
    }
    g_autofree uint32_t *slow_samples = find_samples(why, slow);
    g_autofree uint32_t *typical_samples = find_samples(why, typical);
    group->comparison = lull_compare(why->instances->portions, slow_samples, slow->len,
                                     typical_samples, typical->len, limit, LEAST_SHARE);
    take_comparison(why, group);
}

/* What is to be gained if the slow ones were typical. */
static double excess_of(const struct lull_why_kind *kind)
{
    return kind->verdict == LULL_WHY_EXPLAINED || kind->verdict == LULL_WHY_UNCLEAR
               ? kind->difference_ns * kind->n_slow
               : 0;
}

static gint most_first(gconstpointer a, gconstpointer b)
{
    const struct lull_why_kind *x = &((const struct lull_why_group *)a)->info;
    const struct lull_why_kind *y = &((const struct lull_why_group *)b)->info;
    const double dx = excess_of(x), dy = excess_of(y);
    if (dx != dy) {
        return dx < dy ? 1 : -1;
    }
    if (x->n_instances != y->n_instances) {
        return x->n_instances < y->n_instances ? 1 : -1;
    }
    return g_strcmp0(x->name, y->name);
}

static void clear_group(gpointer data)
{
    struct lull_why_group *group = data;
    lull_slow_clear(&group->chosen);
    lull_comparison_free(group->comparison);
    g_array_unref(group->findings);
}

struct lull_why *lull_why_compare(struct lull_instances *instances,
                                  const struct lull_selection *selection,
                                  const struct lull_why_rule *rule)
{
    struct lull_why_rule known = LULL_WHY_DEFAULT;
    if (rule) {
        memcpy(&known, rule, MIN(rule->size, sizeof known));
    }
    const struct lull_slow_rule slow = {
        known.slowest, known.slower_than_ns, {known.typical[0], known.typical[1]}, known.n_slowest};
    struct lull_why *why = g_new0(struct lull_why, 1);
    why->instances = instances;
    why->groups = g_array_new(FALSE, FALSE, sizeof(struct lull_why_group));
    g_array_set_clear_func(why->groups, clear_group);
    g_autoptr(GPtrArray) selected = lull_instances_select(instances, selection, -1);
    g_autoptr(GPtrArray) kinds = sort_by_kind(why, selected);
    for (guint i = 0; i < kinds->len; i++) {
        const GArray *timed = kinds->pdata[i];
        if (timed->len == 0) {
            continue;
        }
        struct lull_why_group group = {
            .info = {.name = lull_instances_kind(instances, i), .n_instances = timed->len},
            .chosen = lull_slow_choose(timed, &slow),
            .findings = g_array_new(FALSE, FALSE, sizeof(struct lull_finding)),
        };
        compare_kind(why, &group, known.limit);
        g_array_append_val(why->groups, group);
    }
    g_array_sort(why->groups, most_first);
    return why;
}

void lull_why_free(struct lull_why *why)
{
    if (why) {
        g_array_unref(why->groups);
        g_free(why);
    }
}

/* ---- what came out ---- */

uint32_t lull_why_without_path(const struct lull_why *why)
{
    return why->n_without_path;
}

uint32_t lull_why_kind_count(const struct lull_why *why)
{
    return why->groups->len;
}

static const struct lull_why_group *group_at(const struct lull_why *why, uint32_t kind)
{
    g_return_val_if_fail(kind < why->groups->len, NULL);
    return &g_array_index(why->groups, struct lull_why_group, kind);
}

const struct lull_why_kind *lull_why_kind(const struct lull_why *why, uint32_t kind)
{
    return &group_at(why, kind)->info;
}

/* They are kept quickest first. */
static const struct lull_instance *timed_at(const struct lull_why *why, const GArray *timed,
                                            uint32_t index)
{
    g_return_val_if_fail(index < timed->len, NULL);
    return instance_of(why, &g_array_index(timed, struct lull_timed, timed->len - 1 - index));
}

const struct lull_instance *lull_why_slow(const struct lull_why *why, uint32_t kind, uint32_t index)
{
    return timed_at(why, group_at(why, kind)->chosen.slow, index);
}

const struct lull_instance *lull_why_typical(const struct lull_why *why, uint32_t kind,
                                             uint32_t index)
{
    return timed_at(why, group_at(why, kind)->chosen.typical, index);
}

const struct lull_finding *lull_why_finding(const struct lull_why *why, uint32_t kind,
                                            uint32_t index)
{
    const GArray *findings = group_at(why, kind)->findings;
    g_return_val_if_fail(index < findings->len, NULL);
    return &g_array_index(findings, struct lull_finding, index);
}
