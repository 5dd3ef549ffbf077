/* SPDX-License-Identifier: MIT */
/* Which events the tracer perf opens: the tracepoints of a purpose, after a leader that measures
 * nothing and reports names of tasks, forks, ends and mapped files. */
#include <string.h>
#include <time.h>

#include "record/perf/perf.h"

/* Identifier, task, time and CPU come with each record; what a tracepoint says is raw data. */
#define EVERYWHERE (PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU)

/* What unwinding needs (asm/perf_regs.h): all but those of segments that x86-64 does not keep. */
#if defined(__x86_64__)
#define USER_REGISTERS UINT64_C(0xff0fff)
#elif defined(__aarch64__)
#define USER_REGISTERS UINT64_C(0x1ffffffff)
#else
#define USER_REGISTERS UINT64_C(0) /* the kernel refuses it, and says so */
#endif

static struct perfrec_class *add(GArray *all, char *name, uint32_t type, uint64_t config,
                                 const struct lull_tracer_request *request)
{
    struct perfrec_class class = {.name = name};
    struct perf_event_attr *attr = &class.attr;
    attr->size = sizeof *attr;
    attr->type = type;
    attr->config = config;
    attr->sample_period = 1;
    attr->sample_type = EVERYWHERE;
    attr->sample_id_all = 1;
    attr->read_format = PERFREC_FORMAT_LOST;
    attr->use_clockid = 1;
    attr->clockid = CLOCK_MONOTONIC;
    attr->write_backward = request->is_snapshot;
    class.ids = g_array_new(FALSE, FALSE, sizeof(uint64_t));
    g_array_append_val(all, class);
    return &g_array_index(all, struct perfrec_class, all->len - 1);
}

/* Measures nothing; reports what tasks do that is no tracepoint. */
static void add_leader(GArray *all, const struct lull_tracer_request *request)
{
    struct perfrec_class *class =
        add(all, g_strdup("dummy"), PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY, request);
    struct perf_event_attr *attr = &class->attr;
    attr->disabled = 1;
    attr->comm = attr->comm_exec = attr->task = 1;
    attr->mmap = attr->mmap2 = 1;
    attr->watermark = 1;
    attr->wakeup_watermark = (uint32_t)MIN(perfrec_buffer_bytes(request) / 4, UINT32_MAX);
}

/* A sample that wakes its reader raises this interrupt, so the kernel refuses to sample its end
 * (arch/x86/include/asm/trace/irq_vectors.h). A start without an end is of no use. */
static bool is_refused(const struct lull_purpose_event *event)
{
    return strcmp(event->system, "irq_vectors") == 0 &&
           (strcmp(event->name, "irq_work_entry") == 0 ||
            strcmp(event->name, "irq_work_exit") == 0);
}

static bool add_tracepoint(GArray *all, const struct lull_purpose_event *event,
                           const struct lull_tracer_request *request, char **remark, GError **error)
{
    GError *why = NULL;
    uint64_t id;
    if (!perfrec_tracepoint_id(event->system, event->name, &id, &why)) {
        /* Others are not in every kernel, nor on every architecture. */
        bool is_absent = !event->is_needed && g_error_matches(why, LULL_ERROR, LULL_ERROR_QUESTION);
        if (is_absent) {
            g_error_free(why);
        } else {
            g_propagate_error(error, why);
        }
        return is_absent;
    }
    struct perfrec_class *class = add(all, g_strdup_printf("%s:%s", event->system, event->name),
                                      PERF_TYPE_TRACEPOINT, id, request);
    class->attr.sample_type |= PERF_SAMPLE_RAW;
    if (strcmp(class->name, "sched:sched_switch") != 0) {
        return true;
    }
    /* Where a task waits: the stack of who stops running is that of the moment. */
    if (request->has_call_chains) {
        class->attr.sample_type |= PERF_SAMPLE_CALLCHAIN;
    }
    if (request->stack_bytes > 0) {
        class->attr.sample_type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
        class->attr.sample_regs_user = USER_REGISTERS;
        class->attr.sample_stack_user = request->stack_bytes;
        class->attr.exclude_callchain_user = 1;
    }
    return !request->counters || perfrec_counters_add(all, add, request, remark, error);
}

bool perfrec_classes_make(struct perfrec_classes *classes,
                          const struct lull_tracer_request *request, GError **error)
{
    GArray *all = g_array_new(FALSE, TRUE, sizeof(struct perfrec_class));
    add_leader(all, request);
    bool is_good = true;
    classes->remark = NULL;
    for (uint32_t i = 0; is_good && i < lull_purpose_n_events; i++) {
        const struct lull_purpose_event *event = &lull_purpose_events[i];
        if (event->purposes & 1u << request->purpose && !is_refused(event)) {
            is_good = add_tracepoint(all, event, request, &classes->remark, error);
        }
    }
    classes->n = all->len;
    classes->all = (struct perfrec_class *)(void *)g_array_free(all, FALSE);
    if (!is_good) {
        perfrec_classes_clear(classes);
    }
    return is_good;
}

void perfrec_classes_clear(struct perfrec_classes *classes)
{
    for (uint32_t i = 0; i < classes->n; i++) {
        g_free(classes->all[i].name);
        g_array_free(classes->all[i].ids, TRUE);
    }
    g_free(classes->all);
    g_free(classes->remark);
    memset(classes, 0, sizeof *classes);
}
