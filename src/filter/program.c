/* SPDX-License-Identifier: MIT */
/* A filter as the session sees it: compiled for each class, with the times it implies. */
#include "filter/program.h"

#include "base/time.h"
#include "filter/compile.h"

static void filter_compile(struct lull_event_filter *base, const struct lull_source *source,
                           uint32_t class_index, const char *host, struct lull_class_filter *out)
{
    struct lull_filter *filter = (struct lull_filter *)base;
    struct lull_compiler c;
    lull_compiler_start(&c, &filter->terms, source, class_index, host, -1, filter->programs);
    int32_t entry = lull_compiler_add(&c, filter->root);
    *out = (struct lull_class_filter){.verdict = entry == LULL_ACCEPT   ? LULL_VERDICT_PASS
                                                 : entry == LULL_REJECT ? LULL_VERDICT_REJECT
                                                                        : LULL_VERDICT_TEST};
    if (entry < 0) {
        lull_compiler_free(&c);
        return;
    }
    lull_compiler_position(&c, entry);
    out->program = lull_compiler_end(&c, entry, &out->extra);
}

static bool filter_may_pass(const struct lull_event_filter *base, const struct lull_source *source,
                            uint32_t class_index, const char *host, int32_t cpu)
{
    const struct lull_filter *filter = (const struct lull_filter *)base;
    struct lull_compiler c;
    struct lull_arena *arena = lull_arena_new();
    lull_compiler_start(&c, &filter->terms, source, class_index, host, cpu, arena);
    int32_t entry = lull_compiler_add(&c, filter->root);
    lull_compiler_free(&c);
    lull_arena_free(arena);
    return entry != LULL_REJECT;
}

static void filter_forget(struct lull_event_filter *base)
{
    struct lull_filter *filter = (struct lull_filter *)base;
    lull_arena_free(filter->programs);
    filter->programs = lull_arena_new();
}

static bool filter_is_common(const struct lull_event_filter *base, const struct lull_source *a,
                             const struct lull_source *b)
{
    return !((const struct lull_filter *)base)->uses_host &&
           lull_compiler_arch(a) == lull_compiler_arch(b);
}

static void filter_start(struct lull_event_filter *base, int64_t base_ns)
{
    struct lull_filter *filter = (struct lull_filter *)base;
    for (uint32_t i = 0; i < filter->terms.points->len; i++) {
        struct lull_time_point *point =
            &g_array_index(filter->terms.points, struct lull_time_point, i);
        /* It could be parsed with another base; with this one it may be out of range, and then it
         * is as far away as can be. */
        if (!lull_time_parse(point->text, base_ns, filter->is_local, &point->time_ns, NULL)) {
            point->time_ns = INT64_MAX;
        }
    }
    lull_filter_range(filter, &base->start_ns, &base->end_ns);
}

static void filter_free(struct lull_event_filter *base)
{
    lull_filter_free((struct lull_filter *)base);
}

const struct lull_event_filter_ops lull_filter_ops = {
    .free = filter_free,
    .start = filter_start,
    .compile = filter_compile,
    .forget = filter_forget,
    .is_common = filter_is_common,
    .may_pass = filter_may_pass,
    .test = lull_program_test,
};
