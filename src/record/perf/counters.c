/* SPDX-License-Identifier: MIT */
/* Counters that are read where a task stops running: a group on each CPU that the tracepoint of
 * switches leads, so that each of its samples has their values. */
#include "record/counters.h"

#include "record/perf/perf.h"

bool perfrec_counters_add(GArray *all, perfrec_add_class *add,
                          const struct lull_tracer_request *request, char **remark, GError **error)
{
    g_autoptr(GStringChunk) texts = g_string_chunk_new(64);
    g_autoptr(GArray) kinds = lull_counters_choose(request->counters, texts, remark, error);
    const uint32_t leader = all->len - 1;
    if (!kinds) {
        return false;
    }
    for (guint i = 0; i < kinds->len; i++) {
        const struct lull_counter_kind *kind = &g_array_index(kinds, struct lull_counter_kind, i);
        struct perfrec_class *class =
            add(all, g_strdup(kind->name), kind->type, kind->config, request);
        class->attr.sample_period = 0;
        class->leader = leader;
    }
    struct perfrec_class *first = &g_array_index(all, struct perfrec_class, leader);
    first->leader = leader;
    first->attr.disabled = 1;
    first->attr.sample_type |= PERF_SAMPLE_READ;
    first->attr.read_format |= PERF_FORMAT_GROUP | PERF_FORMAT_ID | PERF_FORMAT_TOTAL_TIME_ENABLED |
                               PERF_FORMAT_TOTAL_TIME_RUNNING;
    return true;
}
