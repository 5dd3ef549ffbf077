/* SPDX-License-Identifier: MIT */
/* What may have leaked: objects that nothing else keeps and that retain much, alone or as all of a class. Below
 * such an object the memory gathers where no single object keeps most of it any more. */
#include <stdlib.h>

#include "hprof/private.h"

/* What is below an object gathers in one that retains at least this part of it (as Eclipse Memory Analyzer looks for
 * its accumulation points). */
#define MOST 0.7

static uint32_t *find_largest(const struct lull_hprof *dump)
{
    uint32_t *largest = g_new(uint32_t, (size_t)dump->n_objects + 1);
    for (uint32_t i = 0; i < dump->n_objects; i++) {
        largest[i] = UINT32_MAX;
    }
    for (uint32_t i = 0; i < dump->n_objects; i++) {
        const uint32_t keeper = dump->keepers[i];
        if (keeper < dump->n_objects && (largest[keeper] == UINT32_MAX ||
                                         dump->retained[largest[keeper]] < dump->retained[i])) {
            largest[keeper] = i;
        }
    }
    return largest;
}

static uint32_t gather(const struct lull_hprof *dump, const uint32_t *largest, uint32_t object)
{
    while (largest[object] != UINT32_MAX &&
           (double)dump->retained[largest[object]] >= MOST * (double)dump->retained[object]) {
        object = largest[object];
    }
    return object;
}

/* Of what each class has among the objects that `keeper` keeps, the most. */
static void find_kept(const struct lull_hprof *dump, struct lull_hprof_suspect *suspect)
{
    const size_t n = dump->classes.count;
    g_autofree uint64_t *counts = g_new0(uint64_t, n + 1), *retained = g_new0(uint64_t, n + 1);
    suspect->class = UINT32_MAX;
    for (uint32_t i = 0; i < dump->n_objects; i++) {
        if (dump->keepers[i] == suspect->gathers) {
            const uint32_t class = lull_hprof_object(dump, i).class;
            counts[class]++;
            retained[class] += dump->retained[i];
        }
    }
    for (uint32_t i = 0; i < n; i++) {
        if (counts[i] > 0 &&
            (suspect->class == UINT32_MAX || retained[i] > suspect->kept_retained)) {
            suspect->class = i;
            suspect->n_kept = counts[i];
            suspect->kept_retained = retained[i];
        }
    }
}

static int compare(const void *a, const void *b)
{
    const struct lull_hprof_suspect *x = a, *y = b;
    return x->retained != y->retained ? (x->retained > y->retained ? -1 : 1)
                                      : (x->object > y->object) - (x->object < y->object);
}

/* All of a class that are too small alone. */
static void add_classes(const struct lull_hprof *dump, double least,
                        struct lull_hprof_suspects *suspects)
{
    const size_t n = dump->classes.count;
    g_autofree struct lull_hprof_suspect *sums = g_new0(struct lull_hprof_suspect, n + 1);
    for (uint32_t i = 0; i < dump->n_objects; i++) {
        if (dump->keepers[i] == LULL_HPROF_ROOT && hprof_tag(dump, i) != HPROF_CLASS &&
            (double)dump->retained[i] < least) {
            struct lull_hprof_suspect *sum = &sums[lull_hprof_object(dump, i).class];
            if (sum->count == 0 || dump->retained[sum->object] < dump->retained[i]) {
                sum->object = i;
            }
            sum->count++;
            sum->retained += dump->retained[i];
        }
    }
    for (size_t i = 0; i < n; i++) {
        if (sums[i].count > 1 && (double)sums[i].retained >= least) {
            sums[i].gathers = sums[i].object;
            lull_vec_push(suspects, sums[i]);
        }
    }
}

void lull_hprof_find_suspects(const struct lull_hprof *dump, double share,
                              struct lull_hprof_suspects *suspects)
{
    const double least = MAX(share * (double)dump->reachable_bytes, 1);
    g_autofree uint32_t *largest = find_largest(dump);
    for (uint32_t i = 0; i < dump->n_objects; i++) {
        if (dump->keepers[i] == LULL_HPROF_ROOT && (double)dump->retained[i] >= least) {
            struct lull_hprof_suspect suspect = {.object = i,
                                                 .count = 1,
                                                 .retained = dump->retained[i],
                                                 .gathers = gather(dump, largest, i)};
            lull_vec_push(suspects, suspect);
        }
    }
    add_classes(dump, least, suspects);
    for (size_t i = 0; i < suspects->count; i++) {
        find_kept(dump, &suspects->items[i]);
    }
    if (suspects->count) {
        qsort(suspects->items, suspects->count, sizeof *suspects->items, compare);
    }
}
