/* SPDX-License-Identifier: MIT */
/* The comparison. A unit is a lock with all that lies within it, or portions of one task that are
 * the same kind of trouble, or a single portion; each part of a path belongs to one unit. The
 * interval of a difference of means is a bootstrap's (Efron 1979): the samples are drawn again many
 * times, with a generator that always gives the same numbers. */
#include "graph/compare.h"

#include <math.h>
#include <stdlib.h>

enum {
    DRAWS = 1000,
    /* Means of more samples than these are as good as normally distributed. */
    MOST_REDRAWN = 200,
    /* With fewer slow samples the interval alone says too little. */
    FEW = 5,
};

struct unit {
    uint32_t lock; /* LULL_NONE: portions */
    double slow_ns, typical_ns;
};

struct group {
    const uint32_t *samples;
    uint32_t count;
};

struct comparing {
    const struct lull_portions *portions;
    struct group slow, typical;
    struct unit *units; /* by first portion, then locks */
    uint32_t n_units;
    uint32_t *first; /* by portion: the first of those that make one unit with it */
    uint64_t random;
};

/* ---- means ---- */

static uint32_t unit_of(const struct comparing *c, const struct lull_part *part)
{
    return part->lock == LULL_NONE ? c->first[part->portion]
                                   : lull_portions_count(c->portions) + part->lock;
}

static void add_means(struct comparing *c, const struct group *group, bool is_slow)
{
    for (uint32_t i = 0; i < group->count; i++) {
        const struct lull_sample *sample = lull_sample_at(c->portions, group->samples[i]);
        for (uint32_t k = 0; k < sample->n_parts; k++) {
            const struct lull_part *part = lull_part_at(c->portions, sample->first_part + k);
            struct unit *unit = &c->units[unit_of(c, part)];
            const double share = (double)part->duration_ns / group->count;
            if (is_slow) {
                unit->slow_ns += share;
            } else {
                unit->typical_ns += share;
            }
        }
    }
}

static double mean_duration(const struct comparing *c, const struct group *group)
{
    double sum = 0;
    for (uint32_t i = 0; i < group->count; i++) {
        const struct lull_sample *sample = lull_sample_at(c->portions, group->samples[i]);
        sum += (double)(sample->end_ns - sample->start_ns);
    }
    return sum / group->count;
}

/* Who had the CPU, which handler ran, which request the disk served: one kind of trouble each. */
static bool is_collected(const struct lull_portion *portion)
{
    return portion->state == LULL_STATE_PREEMPTED || portion->state == LULL_STATE_INTERRUPTED ||
           (portion->state == LULL_STATE_BLOCKED && portion->cause == LULL_CAUSE_DISK);
}

static guint hash_task_state(gconstpointer key)
{
    const struct lull_portion *p = key;
    return g_direct_hash(p->comm) * 31 + p->host * 8 + (guint)p->state;
}

static gboolean equal_task_states(gconstpointer a, gconstpointer b)
{
    const struct lull_portion *x = a, *y = b;
    return x->host == y->host && x->comm == y->comm && x->state == y->state;
}

static void collect_portions(struct comparing *c)
{
    const uint32_t n = lull_portions_count(c->portions);
    g_autoptr(GHashTable) firsts = g_hash_table_new(hash_task_state, equal_task_states);
    c->first = g_new(uint32_t, MAX(n, 1));
    for (uint32_t i = 0; i < n; i++) {
        const struct lull_portion *portion = lull_portions_at(c->portions, i);
        c->first[i] = i;
        if (!is_collected(portion)) {
            continue;
        }
        gpointer found = g_hash_table_lookup(firsts, portion);
        if (found) {
            c->first[i] = GPOINTER_TO_UINT(found) - 1;
        } else {
            g_hash_table_insert(firsts, (gpointer)portion, GUINT_TO_POINTER(i + 1));
        }
    }
}

static void make_units(struct comparing *c)
{
    const uint32_t n_portions = lull_portions_count(c->portions);
    collect_portions(c);
    c->n_units = n_portions + lull_portions_lock_count(c->portions);
    c->units = g_new0(struct unit, MAX(c->n_units, 1));
    for (uint32_t i = 0; i < c->n_units; i++) {
        c->units[i].lock = i < n_portions ? LULL_NONE : i - n_portions;
    }
    add_means(c, &c->slow, true);
    add_means(c, &c->typical, false);
}

static double difference_of(const struct unit *unit)
{
    return unit->slow_ns - unit->typical_ns;
}

/* Largest difference first. */
static int compare_units(const void *a, const void *b)
{
    const struct unit *x = *(const struct unit *const *)a, *y = *(const struct unit *const *)b;
    const double dx = difference_of(x), dy = difference_of(y);
    if (dx != dy) {
        return dx < dy ? 1 : -1;
    }
    return x < y ? -1 : x > y;
}

/* ---- the interval ---- */

/* Vigna's splitmix64. */
static uint64_t draw(struct comparing *c)
{
    uint64_t z = c->random += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* 0 <= x < 1 */
static double draw_real(struct comparing *c)
{
    return (double)(draw(c) >> 11) * 0x1p-53;
}

/* What each sample of the group has of the unit. */
static double *values_of(const struct comparing *c, const struct group *group, uint32_t unit)
{
    double *values = g_new0(double, group->count);
    for (uint32_t i = 0; i < group->count; i++) {
        const struct lull_sample *sample = lull_sample_at(c->portions, group->samples[i]);
        for (uint32_t k = 0; k < sample->n_parts; k++) {
            const struct lull_part *part = lull_part_at(c->portions, sample->first_part + k);
            if (unit_of(c, part) == unit) {
                values[i] += (double)part->duration_ns;
            }
        }
    }
    return values;
}

static double standard_error(const double *values, uint32_t count, double mean)
{
    double squares = 0;
    for (uint32_t i = 0; i < count; i++) {
        squares += (values[i] - mean) * (values[i] - mean);
    }
    return sqrt(squares / (count - 1) / count);
}

/* A mean as it could have been. */
static double draw_mean(struct comparing *c, const double *values, uint32_t count, double mean,
                        double error)
{
    if (count > MOST_REDRAWN) { /* Box and Muller */
        const double radius = sqrt(-2 * log(1 - draw_real(c)));
        return mean + error * radius * cos(2 * G_PI * draw_real(c));
    }
    double sum = 0;
    for (uint32_t i = 0; i < count; i++) {
        sum += values[draw(c) % count];
    }
    return sum / count;
}

static int compare_reals(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void find_interval(struct comparing *c, const struct unit *unit, const double *slow,
                          const double *typical, struct lull_contribution *contribution)
{
    double differences[DRAWS];
    const uint32_t n_slow = c->slow.count, n_typical = c->typical.count;
    const double slow_error =
        n_slow > MOST_REDRAWN ? standard_error(slow, n_slow, unit->slow_ns) : 0;
    const double typical_error =
        n_typical > MOST_REDRAWN ? standard_error(typical, n_typical, unit->typical_ns) : 0;
    for (uint32_t i = 0; i < DRAWS; i++) {
        differences[i] = draw_mean(c, slow, n_slow, unit->slow_ns, slow_error) -
                         draw_mean(c, typical, n_typical, unit->typical_ns, typical_error);
    }
    qsort(differences, DRAWS, sizeof *differences, compare_reals);
    contribution->low_ns = differences[DRAWS / 40];
    contribution->high_ns = differences[DRAWS - 1 - DRAWS / 40];
}

/* ---- who and how ---- */

static int32_t join_tids(int32_t a, int32_t b, bool is_first)
{
    return is_first || a == b ? b : LULL_SEVERAL_TIDS;
}

/* Whose tids they are, in the slow samples that stand out, or in all if none does. */
static void find_tasks(const struct comparing *c, uint32_t unit, const double *values, double above,
                       struct lull_contribution *contribution)
{
    bool is_first = true;
    int64_t longest_ns = -1;
    for (uint32_t i = 0; i < c->slow.count; i++) {
        const struct lull_sample *sample = lull_sample_at(c->portions, c->slow.samples[i]);
        if (values[i] <= above) {
            continue;
        }
        for (uint32_t k = 0; k < sample->n_parts; k++) {
            const struct lull_part *part = lull_part_at(c->portions, sample->first_part + k);
            if (unit_of(c, part) != unit ||
                (contribution->lock == LULL_NONE && part->portion != contribution->portion)) {
                continue;
            }
            contribution->tid = join_tids(contribution->tid, part->tid, is_first);
            contribution->other_tid = join_tids(contribution->other_tid, part->other_tid, is_first);
            is_first = false;
            if (c->slow.samples[i] == contribution->most && part->duration_ns > longest_ns) {
                longest_ns = part->duration_ns;
                contribution->through = part->through;
            }
        }
    }
}

/* Whose tids the details of a lock are, and who waited for those. */
static void find_detail_tasks(const struct comparing *c, uint32_t unit, const double *values,
                              double above, struct lull_contribution *contribution)
{
    g_autofree struct lull_detail **of =
        g_new0(struct lull_detail *, lull_portions_count(c->portions));
    for (uint32_t i = 0; i < contribution->n_details; i++) {
        of[contribution->details[i].portion] = &contribution->details[i];
    }
    for (uint32_t i = 0; i < c->slow.count; i++) {
        const struct lull_sample *sample = lull_sample_at(c->portions, c->slow.samples[i]);
        for (uint32_t k = 0; values[i] > above && k < sample->n_parts; k++) {
            const struct lull_part *part = lull_part_at(c->portions, sample->first_part + k);
            struct lull_detail *detail = of[part->portion];
            if (unit_of(c, part) != unit || !detail) {
                continue;
            }
            detail->tid = join_tids(detail->tid, part->tid, !detail->is_met);
            detail->is_met = true;
            if (c->slow.samples[i] == contribution->most) {
                detail->inside = part->inside;
            }
        }
    }
}

/* True if one is far above the typical ones: by more than twice their range. */
static bool find_outstanding(const struct comparing *c, uint32_t unit, const double *slow,
                             const double *typical, struct lull_contribution *contribution)
{
    double below = typical[0], above = 0, most = -1;
    for (uint32_t i = 0; i < c->typical.count; i++) {
        above = MAX(above, typical[i]);
        below = MIN(below, typical[i]);
    }
    for (uint32_t i = 0; i < c->slow.count; i++) {
        contribution->n_outstanding += slow[i] > above;
        if (slow[i] > most) {
            most = slow[i];
            contribution->most = c->slow.samples[i];
        }
    }
    const double least = contribution->n_outstanding ? above : 0;
    find_tasks(c, unit, slow, least, contribution);
    if (contribution->lock != LULL_NONE) {
        find_detail_tasks(c, unit, slow, least, contribution);
    }
    return most > above + 2 * (above - below) && c->typical.count >= FEW;
}

static int compare_details(const void *a, const void *b)
{
    const struct lull_detail *x = a, *y = b;
    if (x->difference_ns != y->difference_ns) {
        return x->difference_ns < y->difference_ns ? 1 : -1;
    }
    return x->portion < y->portion ? -1 : x->portion > y->portion;
}

static void add_details(const struct comparing *c, const struct group *group, uint32_t unit,
                        double weight, double *sums)
{
    for (uint32_t i = 0; i < group->count; i++) {
        const struct lull_sample *sample = lull_sample_at(c->portions, group->samples[i]);
        for (uint32_t k = 0; k < sample->n_parts; k++) {
            const struct lull_part *part = lull_part_at(c->portions, sample->first_part + k);
            if (unit_of(c, part) == unit) {
                sums[part->portion] += weight * (double)part->duration_ns / group->count;
            }
        }
    }
}

/* What the unit consists of. Its difference is positive, so that of a portion is. */
static void find_details(const struct comparing *c, uint32_t unit,
                         struct lull_contribution *contribution)
{
    const uint32_t n = lull_portions_count(c->portions);
    g_autofree double *sums = g_new0(double, n);
    add_details(c, &c->slow, unit, 1, sums);
    add_details(c, &c->typical, unit, -1, sums);
    contribution->details = g_new(struct lull_detail, n);
    for (uint32_t i = 0; i < n; i++) {
        if (sums[i] > 0) {
            contribution->details[contribution->n_details++] = (struct lull_detail){
                .portion = i, .difference_ns = sums[i], .tid = LULL_SEVERAL_TIDS};
        }
    }
    qsort(contribution->details, contribution->n_details, sizeof *contribution->details,
          compare_details);
    contribution->portion = contribution->details[0].portion;
}

/* ---- all of it ---- */

/* Whether it can be distinguished from chance: because the interval says so (few slow samples
 * hardly differ from each other by chance, so one of them must have more of it than any typical
 * one), or because one of them has far more of it than any typical one, and so not all need to have
 * it. */
static bool is_certain(const struct comparing *c, const struct lull_contribution *contribution,
                       bool is_far)
{
    return is_far ||
           (contribution->low_ns > 0 && (c->slow.count >= FEW || contribution->n_outstanding > 0));
}

/* False if it cannot be distinguished from chance. */
static bool examine(struct comparing *c, const struct unit *unit,
                    struct lull_contribution *contribution)
{
    const uint32_t number = (uint32_t)(unit - c->units);
    *contribution = (struct lull_contribution){
        .lock = unit->lock,
        .slow_ns = unit->slow_ns,
        .typical_ns = unit->typical_ns,
        .difference_ns = difference_of(unit),
        .tid = LULL_SEVERAL_TIDS,
        .other_tid = LULL_SEVERAL_TIDS,
    };
    g_autofree double *slow = values_of(c, &c->slow, number);
    g_autofree double *typical = values_of(c, &c->typical, number);
    find_details(c, number, contribution);
    find_interval(c, unit, slow, typical, contribution);
    const bool is_far = find_outstanding(c, number, slow, typical, contribution);
    return is_certain(c, contribution, is_far);
}

static void rank(struct comparing *c, struct lull_comparison *result, uint32_t most, double least)
{
    g_autofree struct unit **order = g_new(struct unit *, MAX(c->n_units, 1));
    for (uint32_t i = 0; i < c->n_units; i++) {
        order[i] = &c->units[i];
        result->less_ns += MAX(0, -difference_of(&c->units[i]));
    }
    if (c->n_units > 0) {
        qsort(order, c->n_units, sizeof(struct unit *), compare_units);
    }
    result->contributions = g_new0(struct lull_contribution, MAX(most, 1));
    for (uint32_t i = 0; i < c->n_units && result->n_contributions < most; i++) {
        if (difference_of(order[i]) <= 0 ||
            difference_of(order[i]) < least * result->difference_ns) {
            break;
        }
        struct lull_contribution contribution;
        if (examine(c, order[i], &contribution)) {
            result->contributions[result->n_contributions++] = contribution;
        } else {
            g_free(contribution.details);
        }
    }
}

/* What makes the slow samples' paths doubtful. */
static void find_doubts(const struct comparing *c, struct lull_comparison *result)
{
    for (uint32_t i = 0; i < c->slow.count; i++) {
        const struct lull_sample *sample = lull_sample_at(c->portions, c->slow.samples[i]);
        result->lost_events += sample->lost_events;
        result->lost_packets += sample->lost_packets;
        for (uint32_t k = 0; k < sample->n_parts; k++) {
            const struct lull_part *part = lull_part_at(c->portions, sample->first_part + k);
            const struct lull_portion *portion = lull_portions_at(c->portions, part->portion);
            if (portion->state == LULL_STATE_BLOCKED && portion->cause == LULL_CAUSE_UNKNOWN) {
                result->unknown_ns += (double)part->duration_ns / c->slow.count;
            }
        }
    }
}

struct lull_comparison *lull_compare(const struct lull_portions *portions, const uint32_t *slow,
                                     uint32_t n_slow, const uint32_t *typical, uint32_t n_typical,
                                     uint32_t most, double least)
{
    struct comparing c = {
        .portions = portions, .slow = {slow, n_slow}, .typical = {typical, n_typical}};
    struct lull_comparison *result = g_new0(struct lull_comparison, 1);
    result->n_slow = n_slow;
    result->n_typical = n_typical;
    result->slow_ns = mean_duration(&c, &c.slow);
    result->typical_ns = mean_duration(&c, &c.typical);
    result->difference_ns = result->slow_ns - result->typical_ns;
    make_units(&c);
    rank(&c, result, most, least);
    find_doubts(&c, result);
    g_free(c.units);
    g_free(c.first);
    return result;
}

void lull_comparison_free(struct lull_comparison *comparison)
{
    if (!comparison) {
        return;
    }
    for (uint32_t i = 0; i < comparison->n_contributions; i++) {
        g_free(comparison->contributions[i].details);
    }
    g_free(comparison->contributions);
    g_free(comparison);
}
