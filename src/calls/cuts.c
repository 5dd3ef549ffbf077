/* SPDX-License-Identifier: MIT */
/* Finds the spans of a task that a stretch of its time touches. */
#include "calls/cuts.h"

#include <stdlib.h>

#include "base/map.h"
#include "base/search.h"
#include "base/vec.h"

/* Of one task: spans from `first` up to `end`. */
struct group {
    size_t first, end;
};

struct lull_calls_cuts {
    const struct lull_calls_span *spans; /* by host, task, start */
    int64_t *ends_ns;                    /* of each: the latest end of its group so far */
    LULL_VEC(struct group) groups;
    struct lull_map by_task; /* host, tid → group */
    const struct lull_calls *calls;
    const struct lull_model *model;
    void (*part)(void *user, uint32_t number, const struct lull_calls_stretch *stretch);
    void *user;
};

static uint64_t key_of(uint32_t host, int32_t tid)
{
    return (uint64_t)host << 32 | (uint32_t)tid;
}

static int compare(const void *a, const void *b)
{
    const struct lull_calls_span *x = a, *y = b;
    const uint64_t x_key = key_of(x->host, x->tid), y_key = key_of(y->host, y->tid);
    if (x_key != y_key) {
        return x_key < y_key ? -1 : 1;
    }
    if (x->start_ns != y->start_ns) {
        return x->start_ns < y->start_ns ? -1 : 1;
    }
    return (x->number > y->number) - (x->number < y->number);
}

static void group_spans(struct lull_calls_cuts *cuts, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct lull_calls_span *span = &cuts->spans[i];
        const uint64_t key = key_of(span->host, span->tid);
        const bool is_first = i == 0 || key_of(span[-1].host, span[-1].tid) != key;
        cuts->ends_ns[i] = is_first ? span->end_ns : MAX(cuts->ends_ns[i - 1], span->end_ns);
        if (is_first) {
            lull_map_insert(&cuts->by_task, key, (uint32_t)cuts->groups.count);
            lull_vec_push(&cuts->groups, (struct group){.first = i});
        }
        cuts->groups.items[cuts->groups.count - 1].end = i + 1;
    }
}

struct lull_calls_cuts *lull_calls_cuts_new(struct lull_calls_span *spans, size_t count,
                                            void (*part)(void *user, uint32_t number,
                                                         const struct lull_calls_stretch *stretch),
                                            void *user)
{
    struct lull_calls_cuts *cuts = g_new0(struct lull_calls_cuts, 1);
    if (count > 0) {
        qsort(spans, count, sizeof *spans, compare);
    }
    cuts->spans = spans;
    cuts->ends_ns = g_new(int64_t, MAX(count, 1));
    cuts->part = part;
    cuts->user = user;
    group_spans(cuts, count);
    return cuts;
}

void lull_calls_cuts_free(struct lull_calls_cuts *cuts)
{
    if (cuts) {
        lull_vec_free(&cuts->groups);
        lull_map_free(&cuts->by_task);
        g_free(cuts->ends_ns);
        g_free(cuts);
    }
}

static void on_spent(void *user, const struct lull_calls_stretch *stretch)
{
    const struct lull_calls_cuts *cuts = user;
    const struct lull_calls_line *line = lull_calls_line(cuts->calls, stretch->line);
    const int32_t tid = lull_model_task(cuts->model, line->task)->tid;
    const uint32_t number = lull_map_find(&cuts->by_task, key_of(line->host, tid));
    if (number == LULL_MAP_NONE) {
        return;
    }
    const struct group *group = &cuts->groups.items[number];
    const int64_t *ends_ns = cuts->ends_ns + group->first;
    const size_t skipped =
        LULL_LOWER_BOUND(i, group->end - group->first, ends_ns[i] <= stretch->start_ns);
    for (size_t i = group->first + skipped;
         i < group->end && cuts->spans[i].start_ns < stretch->end_ns; i++) {
        struct lull_calls_stretch part = *stretch;
        part.start_ns = MAX(stretch->start_ns, cuts->spans[i].start_ns);
        part.end_ns = MIN(stretch->end_ns, cuts->spans[i].end_ns);
        if (part.end_ns > part.start_ns) {
            cuts->part(cuts->user, cuts->spans[i].number, &part);
        }
    }
}

void lull_calls_cuts_watch(struct lull_calls_cuts *cuts, struct lull_calls *calls,
                           const struct lull_model *model)
{
    cuts->calls = calls;
    cuts->model = model;
    lull_calls_watch(calls, on_spent, cuts);
}
