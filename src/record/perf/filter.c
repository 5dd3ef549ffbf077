/* SPDX-License-Identifier: MIT */
/* What a recording of some tasks keeps of what the machine does. Which tasks there are is learned
 * from the kernel's records of forks, so what a followed task starts is followed from its birth. */
#include <string.h>

#include "base/map.h"
#include "record/perf/perf.h"

/* Where records have what is looked at: samples and forks start with these after their header. */
enum {
    SAMPLE_ID = 8,
    SAMPLE_TASK = 16, /* process and task */
    SAMPLE_RAW = 40,  /* after time and CPU: a 32-bit size, then the raw data */
    READ_TIMES = 2,   /* of a group of counters, after their number */
    RAW_PID = 4,      /* of the task that runs: all tracepoints have it there */
    FORK_TASK = 16,   /* task and its parent task */
    OTHER_TASK = 8,   /* of names, mapped files, ends: process and task */
};

/* How samples of a class are chosen, besides by the task that runs. */
struct rule {
    bool is_interrupt;
    bool has_call_chain; /* before the raw data: the number of addresses, and they */
    uint32_t read_words; /* and before that of each of a group of counters; 0: there is none */
    uint32_t target;     /* where the raw data names another task; 0: nowhere */
};

struct perfrec_filter {
    struct lull_map tids;  /* those that are followed */
    struct lull_map rules; /* index in `rules` of all identifiers */
    struct rule *each;     /* of each class */
};

/* Where raw data of a tracepoint has a field of 4 bytes: as its format says it. 0: it has none. */
static bool find_field(const char *name, const char *field, uint32_t *offset, GError **error)
{
    char *position = g_strdup_printf("events/%s/format", name);
    *strchr(position, ':') = '/';
    GByteArray *text = g_byte_array_new();
    bool is_good = perfrec_tracefs_read(position, text, error);
    g_byte_array_append(text, (const guint8 *)"", 1);
    char *declared = g_strdup_printf(" %s;\toffset:", field);
    const char *at = is_good ? strstr((const char *)text->data, declared) : NULL;
    *offset = at ? (uint32_t)g_ascii_strtoull(at + strlen(declared), NULL, 10) : 0;
    if (is_good && *offset % 4 != 0) {
        *offset = 0;
    }
    g_free(declared);
    g_free(position);
    g_byte_array_free(text, TRUE);
    return is_good;
}

static bool make_rule(struct rule *rule, const char *name, GError **error)
{
    static const struct {
        const char *event, *field;
    } targets[] = {
        {"sched:sched_switch", "next_pid"},  {"sched:sched_waking", "pid"},
        {"sched:sched_wakeup", "pid"},       {"sched:sched_wakeup_new", "pid"},
        {"sched:sched_migrate_task", "pid"}, {"sched:sched_pi_setprio", "pid"},
        {"sched:sched_process_free", "pid"}, {"signal:signal_generate", "pid"},
        {"oom:mark_victim", "pid"},
    };
    /* What interrupts do, whatever they interrupt: a wake-up has its cause there. */
    static const char *const interrupts[] = {
        "irq:", "irq_vectors:", "timer:", "block:block_rq_complete", "net:netif_receive_skb"};
    for (size_t i = 0; i < G_N_ELEMENTS(interrupts); i++) {
        rule->is_interrupt |= g_str_has_prefix(name, interrupts[i]);
    }
    for (size_t i = 0; i < G_N_ELEMENTS(targets); i++) {
        if (strcmp(name, targets[i].event) == 0) {
            return find_field(name, targets[i].field, &rule->target, error);
        }
    }
    return true;
}

struct perfrec_filter *perfrec_filter_new(const struct perfrec_classes *classes, GError **error)
{
    struct perfrec_filter *filter = g_new0(struct perfrec_filter, 1);
    filter->each = g_new0(struct rule, classes->n);
    for (uint32_t i = 0; i < classes->n; i++) {
        const struct perfrec_class *class = &classes->all[i];
        for (guint k = 0; k < class->ids->len; k++) {
            lull_map_insert(&filter->rules, g_array_index(class->ids, uint64_t, k), i);
        }
        if (class->attr.sample_type & PERF_SAMPLE_READ) { /* value, identifier, what was lost */
            filter->each[i].read_words = class->attr.read_format & PERFREC_FORMAT_LOST ? 3 : 2;
        }
        filter->each[i].has_call_chain = (class->attr.sample_type & PERF_SAMPLE_CALLCHAIN) != 0;
        if (class->attr.type == PERF_TYPE_TRACEPOINT &&
            !make_rule(&filter->each[i], class->name, error)) {
            perfrec_filter_free(filter);
            return NULL;
        }
    }
    perfrec_filter_follow(filter, 0); /* idle CPUs */
    return filter;
}

void perfrec_filter_free(struct perfrec_filter *filter)
{
    if (!filter) {
        return;
    }
    lull_map_free(&filter->tids);
    lull_map_free(&filter->rules);
    g_free(filter->each);
    g_free(filter);
}

void perfrec_filter_follow(struct perfrec_filter *filter, pid_t tid)
{
    lull_map_insert(&filter->tids, (uint64_t)tid, 1);
}

bool perfrec_filter_follows(const struct perfrec_filter *filter, pid_t tid)
{
    return lull_map_find(&filter->tids, (uint64_t)tid) != LULL_MAP_NONE;
}

/* The lower and the upper half of a word, as they lie in memory. */
static void split(uint64_t word, uint32_t halves[2])
{
    memcpy(halves, &word, sizeof word);
}

/* A task that somebody else has started and that has the number of a followed one is a new task,
 * and the other has ended. */
static void forget(struct perfrec_filter *filter, const struct perfrec_records *records)
{
    struct perf_event_header head;
    for (uint64_t at = records->start; at < records->end; at += head.size) {
        head = perfrec_head(records, at);
        if (head.size == 0) {
            break;
        }
        uint32_t tids[2]; /* child, parent */
        if (head.type == PERF_RECORD_FORK) {
            split(perfrec_word(records, at + FORK_TASK), tids);
            if (!perfrec_filter_follows(filter, (pid_t)tids[1])) {
                lull_map_remove(&filter->tids, tids[0]);
            }
        }
    }
}

/* Whether something was new. */
static bool learn(struct perfrec_filter *filter, const struct perfrec_records *records)
{
    bool is_new = false;
    struct perf_event_header head;
    for (uint64_t at = records->start; at < records->end; at += head.size) {
        head = perfrec_head(records, at);
        if (head.size == 0) {
            break;
        }
        if (head.type != PERF_RECORD_FORK) {
            continue;
        }
        uint32_t tids[2]; /* child, parent */
        split(perfrec_word(records, at + FORK_TASK), tids);
        /* The idle task starts kernel threads at most. */
        if (tids[1] != 0 && perfrec_filter_follows(filter, (pid_t)tids[1]) &&
            !perfrec_filter_follows(filter, (pid_t)tids[0])) {
            perfrec_filter_follow(filter, (pid_t)tids[0]);
            is_new = true;
        }
    }
    return is_new;
}

void perfrec_filter_learn(struct perfrec_filter *filter, const struct perfrec_records *parts,
                          uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        forget(filter, &parts[i]);
    }
    /* A child may have been started on one CPU and have started another on a CPU before it. */
    bool is_new = true;
    while (is_new) {
        is_new = false;
        for (uint32_t i = 0; i < n; i++) {
            is_new |= learn(filter, &parts[i]);
        }
    }
}

/* A task that the raw data of a sample names, after the size of that; 0 if it does not reach. */
static pid_t named(const struct perfrec_records *records, const struct rule *rule, uint64_t sample,
                   uint64_t end, uint32_t offset)
{
    uint32_t halves[2];
    uint64_t raw = sample + SAMPLE_RAW;
    if (rule->read_words > 0) {
        const uint64_t n = raw + 8 <= end ? perfrec_word(records, raw) : UINT64_MAX;
        if (n > (end - raw) / 8) {
            return 0;
        }
        raw += 8 * (1 + READ_TIMES + n * rule->read_words);
    }
    if (rule->has_call_chain) {
        if (raw + 8 > end || perfrec_word(records, raw) > (end - raw) / 8 - 1) {
            return 0;
        }
        raw += 8 + 8 * perfrec_word(records, raw);
    }
    uint64_t at = raw + 4 + offset; /* a multiple of 4 */
    if (at + 4 > end) {
        return 0;
    }
    split(perfrec_word(records, at & ~UINT64_C(7)), halves);
    return (pid_t)halves[at >> 2 & 1];
}

static bool sample_passes(const struct perfrec_filter *filter,
                          const struct perfrec_records *records, uint64_t at, uint64_t end)
{
    uint32_t class = lull_map_find(&filter->rules, perfrec_word(records, at + SAMPLE_ID)), task[2];
    if (class == LULL_MAP_NONE) {
        return true;
    }
    const struct rule *rule = &filter->each[class];
    split(perfrec_word(records, at + SAMPLE_TASK), task);
    pid_t tid = (pid_t)task[1];
    if (tid == -1) { /* it has been reaped, and is about to leave its CPU */
        tid = named(records, rule, at, end, RAW_PID);
    }
    if (rule->is_interrupt || perfrec_filter_follows(filter, tid)) {
        return true;
    }
    pid_t target = rule->target ? named(records, rule, at, end, rule->target) : 0;
    return target != 0 && perfrec_filter_follows(filter, target);
}

static bool passes(const struct perfrec_filter *filter, const struct perfrec_records *records,
                   uint64_t at, const struct perf_event_header *head)
{
    uint32_t task[2];
    switch (head->type) {
    case PERF_RECORD_SAMPLE:
        return sample_passes(filter, records, at, at + head->size);
    case PERF_RECORD_FORK:
    case PERF_RECORD_EXIT:
        split(perfrec_word(records, at + FORK_TASK), task);
        return perfrec_filter_follows(filter, (pid_t)task[0]);
    case PERF_RECORD_COMM:
    case PERF_RECORD_MMAP:
    case PERF_RECORD_MMAP2:
        split(perfrec_word(records, at + OTHER_TASK), task);
        return perfrec_filter_follows(filter, (pid_t)task[1]);
    default:
        return true; /* losses above all */
    }
}

void perfrec_filter_pass(const struct perfrec_filter *filter, const struct perfrec_records *records,
                         GByteArray *to)
{
    struct perf_event_header head;
    for (uint64_t at = records->start; at < records->end; at += head.size) {
        head = perfrec_head(records, at);
        if (head.size == 0) {
            break;
        }
        if (passes(filter, records, at, &head)) {
            g_byte_array_append(to, records->data + at, head.size);
        }
    }
}
