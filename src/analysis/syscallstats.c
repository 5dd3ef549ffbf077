/* System calls by task and name: how many, how long, what they returned; and the calls that had not
 * returned when the window closed. A call counts where it ends. */
#include <string.h>

#include "analysis/analysis.h"
#include "analysis/spread.h"
#include "base/slots.h"
#include "kernel/errnos.h"
#include "kernel/vocabulary.h"

/* What a call returned, in order of first occurrence. */
struct outcome {
    int64_t code; /* errno; 0: success; NOT_TOLD: the event has no return value */
    uint64_t count;
};

#define NOT_TOLD INT64_MIN

/* The calls of one name by one task. */
struct call_row {
    struct lull_distribution durations;
    LULL_VEC(struct outcome) outcomes;
    uint32_t name;
};

/* The calls of one task. */
struct caller {
    uint32_t task;
    int64_t last_ns; /* end of its last call: the time of the name it is shown with */
    uint64_t count;
    LULL_VEC(uint32_t) rows; /* indices of its rows */
    struct lull_slots by_name;
};

struct open_call {
    uint32_t task, name;
    int64_t begin_ns, end_ns;
};

struct syscallstats {
    struct lull_analysis head;
    bool is_filtered;
    uint64_t n_unmeasured; /* calls whose begin was not seen */
    struct lull_slots callers_by_task;
    struct lull_slots names; /* label → small number of a name, from 1 */
    uint32_t n_names;
    LULL_VEC(struct caller) callers;
    LULL_VEC(struct call_row) rows;
    LULL_VEC(struct open_call) open;
    GString *text; /* of the cell made last */
};

static void syscallstats_open(struct lull_analysis *analysis)
{
    struct syscallstats *stats = (struct syscallstats *)analysis;
    const struct lull_question_params *params = analysis->params;
    stats->is_filtered = params->host >= 0 || params->tids.count || params->comms ||
                         params->cpus.count || params->min_ns != INT64_MIN ||
                         params->max_ns != INT64_MAX;
    stats->text = g_string_new(NULL);
}

static void syscallstats_free(struct lull_analysis *analysis)
{
    struct syscallstats *stats = (struct syscallstats *)analysis;
    for (size_t i = 0; i < stats->callers.count; i++) {
        lull_vec_free(&stats->callers.items[i].rows);
        lull_slots_free(&stats->callers.items[i].by_name);
    }
    for (size_t i = 0; i < stats->rows.count; i++) {
        lull_distribution_clear(&stats->rows.items[i].durations);
        lull_vec_free(&stats->rows.items[i].outcomes);
    }
    lull_vec_free(&stats->callers);
    lull_vec_free(&stats->rows);
    lull_vec_free(&stats->open);
    lull_slots_free(&stats->callers_by_task);
    lull_slots_free(&stats->names);
    g_string_free(stats->text, TRUE);
}

static bool is_wanted(const struct syscallstats *stats, const struct lull_syscall_fact *fact)
{
    const struct lull_question_params *params = stats->head.params;
    const struct lull_model *model = stats->head.model;
    return lull_params_want_task(params, model, fact->task, fact->end_ns) &&
           lull_params_want_cpu(params, lull_model_task(model, fact->task)->host, fact->cpu) &&
           (fact->begin_ns == INT64_MIN ||
            lull_params_want_duration(params, fact->end_ns - fact->begin_ns));
}

static struct caller *caller_of(struct syscallstats *stats, uint32_t task)
{
    uint32_t *slot = lull_slots_at(&stats->callers_by_task, task);
    if (*slot == 0) {
        lull_vec_push(&stats->callers, (struct caller){.task = task});
        *slot = (uint32_t)stats->callers.count;
    }
    return &stats->callers.items[*slot - 1];
}

/* Names are numbered anew, as labels are many and a task's array by name should be short. */
static struct call_row *row_of(struct syscallstats *stats, struct caller *caller, uint32_t name)
{
    uint32_t *number = lull_slots_at(&stats->names, name);
    if (*number == 0)
        *number = ++stats->n_names;
    uint32_t *slot = lull_slots_at(&caller->by_name, *number);
    if (*slot == 0) {
        lull_vec_push(&stats->rows, (struct call_row){.name = name});
        *slot = (uint32_t)stats->rows.count;
        lull_vec_push(&caller->rows, *slot - 1);
    }
    return &stats->rows.items[*slot - 1];
}

/* Negative is an error, but for 32-bit calls: those may return addresses, whose upper half comes
 * out negative. The kernel's errors reach down to -4095 (IS_ERR_VALUE in linux/err.h). */
static int64_t code_of(const struct lull_syscall_fact *fact)
{
    enum { LAST_ERROR = -4095 };
    if (!fact->has_ret)
        return NOT_TOLD;
    if (fact->ret >= 0 || (fact->is_compat && fact->ret < LAST_ERROR))
        return 0;
    return fact->ret == INT64_MIN ? INT64_MAX : -fact->ret;
}

static void count_outcome(struct call_row *row, int64_t code)
{
    for (size_t i = 0; i < row->outcomes.count; i++) {
        if (row->outcomes.items[i].code == code) {
            row->outcomes.items[i].count++;
            return;
        }
    }
    lull_vec_push(&row->outcomes, (struct outcome){code, 1});
}

static void add_open(void *user, const struct lull_syscall_fact *fact)
{
    struct syscallstats *stats = user;
    for (size_t i = 0; i < stats->open.count; i++) {
        if (stats->open.items[i].task == fact->task)
            return; /* a task is in one call at a time */
    }
    lull_vec_push(&stats->open,
                  (struct open_call){fact->task, fact->name, fact->begin_ns, fact->end_ns});
}

static void syscallstats_syscall(void *user, const struct lull_syscall_fact *fact)
{
    struct syscallstats *stats = user;
    if (fact->is_open || (stats->is_filtered && !is_wanted(stats, fact)))
        return;
    if (fact->begin_ns == INT64_MIN) {
        stats->n_unmeasured++;
        return;
    }
    struct caller *caller = caller_of(stats, fact->task);
    caller->count++;
    caller->last_ns = fact->end_ns;
    struct call_row *row = row_of(stats, caller, fact->name);
    lull_spread_add(&row->durations, fact->end_ns - fact->begin_ns);
    count_outcome(row, code_of(fact));
}
