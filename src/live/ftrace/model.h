/* SPDX-License-Identifier: MIT */
/* What the machine does, by its events: who waits since when, who woke whom, in which interrupt each CPU is.
 * It decides as the eBPF programs do (bpf/wait.bpf.c), and keeps the same slots. */
#ifndef LULL_LIVE_FTRACE_MODEL_H
#define LULL_LIVE_FTRACE_MODEL_H

#include "live/ftrace/events.h"
#include "live/groups.h"
#include "live/kind.h"

struct lull_ftrace_task {
    struct lull_track_slot slot;
    uint32_t index;    /* of the slot */
    uint32_t uid;      /* when it was asked last */
    char *group;       /* likewise: its control group; NULL: not known */
    uint64_t group_ns; /* when that was */
    char comm[LULL_TRACK_COMM];
    int32_t call;            /* in which it is; LULL_TRACK_NO_CALL: none, or not known */
    uint64_t first_argument; /* of the call */
    bool knows_compat, is_compat;
    struct lull_track_hop early[LULL_TRACK_HOPS]; /* who woke it before it had left the CPU */
    struct lull_track_stack *stack; /* where in the kernel it waits; NULL: never asked for */
    uint64_t stack_ns;              /* since when it waits there */
    uint64_t serves_ns; /* of a thread of an interrupt: when the one came that woke it last */
    uint32_t serves;    /* and 1 + its number; 0: none */
};

#define LULL_FTRACE_ANYBODY UINT32_MAX

/* Vectors of softirqs; of bits. */
enum {
    LULL_FTRACE_TIMER_SOFTIRQ = 1,
    LULL_FTRACE_HRTIMER_SOFTIRQ = 8,
    LULL_FTRACE_TIMER_SOFTIRQS = 1 << LULL_FTRACE_TIMER_SOFTIRQ | 1 << LULL_FTRACE_HRTIMER_SOFTIRQ,
};

/* The interrupt that a handler is for, or its thread, or that raised a softirq. */
struct lull_ftrace_cause {
    uint64_t since;
    uint32_t irq;   /* 1 + its number; 0: none */
    uint32_t depth; /* of the handler's, or the softirq's, frame */
};

/* A CPU: which interrupts it is in, who runs, and since when softirqs are raised. */
struct lull_ftrace_cpu_state {
    uint32_t depth, running; /* running 0: the idle task; LULL_FTRACE_ANYBODY: not known */
    uint32_t left;           /* who ran before; 0: the idle task, or not known */
    uint32_t frame_of;       /* the task that was there when the frames began */
    struct lull_track_hop frame[LULL_TRACK_NESTED];
    uint64_t raised[16]; /* by vector; 0: not */
    struct lull_ftrace_cause
        raised_by[16];   /* by vector: the first interrupt for which it was raised since */
    uint32_t raiser[16]; /* by vector: the task that raised it first; 0: none, an interrupt did */
    struct lull_ftrace_cause handler, softirq;
    struct lull_ftrace_cause
        thread; /* of the handler that was left last, if its thread is woken next; irq 0: it is not */
};

struct lull_ftrace_limit {
    uint64_t threshold_ns, window;
    uint32_t spent;
};

/* Which system calls are seen. */
enum lull_ftrace_calls {
    LULL_FTRACE_NO_CALLS,
    LULL_FTRACE_LISTED_CALLS, /* those that rules name */
    LULL_FTRACE_ALL_CALLS,
};

struct lull_ftrace_model {
    struct lull_tracker_question question;
    struct lull_track_kernel_rule rule[LULL_TRACK_RULES];
    struct lull_ftrace_limit limit[LULL_TRACK_RULES];
    char *group[LULL_TRACK_RULES]; /* that the rule is only about; or NULL */
    struct lull_groups *groups;
    bool uses_groups;  /* a filter does */
    uint32_t measures; /* bits of all rules */
    uint32_t wanted;   /* and of what is counted by length and summed besides */
    enum lull_ftrace_calls calls;
    uint64_t least_rule_ns;
    uint64_t from_ns;       /* the interval's start */
    uint64_t now;           /* until then everything is known, */
    uint64_t lost_until_ns; /* but for what some CPU did before that: events were lost */
    struct lull_tracker_counts counts;
    struct lull_track_histograms histograms;
    GHashTable *tasks; /* tid → struct lull_ftrace_task * */
    GPtrArray *slots;  /* the same by index; NULL: free */
    GArray *free_slots;
    uint64_t n_met;     /* tasks, ever */
    GHashTable *chains; /* struct lull_track_chain * → struct lull_track_chain_sum * */
    GHashTable *ended;  /* pid → struct lull_track_ended * */
    GHashTable *spans;  /* requests that are not over */
    uint32_t n_cpus;
    struct lull_ftrace_cpu_state *cpus;
};

/* An event. */
struct lull_ftrace_event {
    enum lull_ftrace_kind kind;
    uint64_t ns;
    uint32_t cpu;
    const struct lull_ftrace_fields *fields;
};

/* `question` is borrowed as lull_tracker_new() has it. */
struct lull_ftrace_model *lull_ftrace_model_new(const struct lull_tracker_question *question,
                                                uint32_t n_cpus);
void lull_ftrace_model_free(struct lull_ftrace_model *model);
/* Events come in order of time; one that does not is taken as it is. */
void lull_ftrace_model_take(struct lull_ftrace_model *model, const struct lull_ftrace_event *event);
/* Events of a CPU were lost: what each task did meanwhile is not known. */
void lull_ftrace_model_lose(struct lull_ftrace_model *model, uint32_t cpu, uint64_t from_ns,
                            uint64_t until_ns, uint64_t n);
/* Which calls are seen from now on. In which one each task is has to be learnt anew. */
void lull_ftrace_model_set_calls(struct lull_ftrace_model *model, enum lull_ftrace_calls calls);
/* Which calls rules cannot be decided without. */
enum lull_ftrace_calls lull_ftrace_needed_calls(const struct lull_ftrace_model *model);
/* Whether a rule names it. */
bool lull_ftrace_is_listed(const struct lull_ftrace_model *model, int32_t call);
/* Whether it is one of those that are seen. */
bool lull_ftrace_sees(const struct lull_ftrace_model *model, int64_t call);

/* ---- tasks.c ---- */

/* A task that was there before tracking began. */
void lull_ftrace_meet(struct lull_ftrace_model *model, uint32_t pid, uint32_t tid);
/* One that was met is in that state, as ps has it, `now`: if it sleeps it has done so before. */
void lull_ftrace_found(struct lull_ftrace_model *model, uint32_t tid, char letter, uint64_t now);
/* At an event of the time `now`: what was found later is not known yet. */
void lull_ftrace_task_doubt(struct lull_track_slot *slot, uint64_t now);
struct lull_ftrace_task *lull_ftrace_task_find(const struct lull_ftrace_model *model, uint32_t tid);
/* Made if there is room: NULL, and counted, if not. */
struct lull_ftrace_task *lull_ftrace_task_of(struct lull_ftrace_model *model, uint32_t tid);
/* It has ended, or its number is another's: what it did stays in the sums of its process. */
void lull_ftrace_task_end(struct lull_ftrace_model *model, struct lull_ftrace_task *task);
void lull_ftrace_task_name(struct lull_ftrace_task *task, const struct lull_text *comm);
/* It replaced its program: `before` is what its number was. */
void lull_ftrace_task_exec(struct lull_ftrace_model *model, uint32_t tid, uint32_t before,
                           uint64_t now);
void lull_ftrace_task_new(struct lull_ftrace_model *model, uint32_t tid, uint32_t parent,
                          uint64_t clone_flags, const struct lull_text *comm);
/* Frees it: struct lull_ftrace_task. */
void lull_ftrace_task_free(void *task);
/* Asks /proc, if the task is still there; of the control group at most once a second. */
const char *lull_ftrace_task_group(struct lull_ftrace_model *model, struct lull_ftrace_task *task);
uint32_t lull_ftrace_task_uid(struct lull_ftrace_task *task);
bool lull_ftrace_task_is_compat(struct lull_ftrace_task *task);

/* ---- judge.c ---- */

/* A wait, or a call, that is over. */
struct lull_ftrace_wait {
    struct lull_ftrace_task *task;
    uint64_t since, woken, now;
    uint32_t cpu, state;
    bool is_call;
};

void lull_ftrace_judge(struct lull_ftrace_model *model, const struct lull_ftrace_wait *wait);

/* What is no wait of a task, and is over; it happened to, or was started by, a task. */
struct lull_ftrace_happened {
    uint32_t measure, number;
    uint64_t since, until;
    uint32_t tid, tgid, uid, cpu;
    char comm[LULL_TRACK_COMM];
    struct lull_track_hop hop;
};

void lull_ftrace_judge_event(struct lull_ftrace_model *model,
                             const struct lull_ftrace_happened *event);
/* Who was on the CPU. */
void lull_ftrace_happened_to(struct lull_ftrace_model *model, uint32_t tid,
                             struct lull_ftrace_happened *event);
void lull_ftrace_observe(struct lull_ftrace_model *model, struct lull_track_histogram *histogram,
                         uint64_t ns);

/* ---- spans.c ---- */

/* The interrupt in whose handler, or in a softirq that it raised, the CPU is, or in its thread. False: none. */
bool lull_ftrace_cause_now(const struct lull_ftrace_model *model,
                           const struct lull_ftrace_event *event, struct lull_ftrace_cause *cause);
/* Interrupts and requests to disks. */
void lull_ftrace_spans_take(struct lull_ftrace_model *model, const struct lull_ftrace_event *event);
void lull_ftrace_spans_init(struct lull_ftrace_model *model);

static inline uint32_t lull_ftrace_kind_of_softirq(uint32_t vector)
{
    return vector < 32 && LULL_FTRACE_TIMER_SOFTIRQS >> vector & 1 ? LULL_TRACK_HOP_TIMER
                                                                   : LULL_TRACK_HOP_SOFTIRQ;
}

/* ---- threads.c ---- */

/* The handler, which has started at `since`, has left the rest to its thread. */
void lull_ftrace_hand_over(struct lull_ftrace_cpu_state *cpu, uint64_t since, uint32_t irq);
/* What the task that runs does is for that interrupt, as it is its thread. False: it is none. */
bool lull_ftrace_served_irq(const struct lull_ftrace_model *model,
                            const struct lull_ftrace_event *event, struct lull_ftrace_cause *cause);
/* A thread of that interrupt wakes the task: its second thread does the rest. */
void lull_ftrace_serve_along(struct lull_ftrace_task *task, const struct lull_ftrace_cause *cause);

enum lull_ftrace_left {
    LULL_FTRACE_NOT_LEFT,
    LULL_FTRACE_LEFT_BY_INTERRUPT, /* which `hop` says */
    LULL_FTRACE_LEFT_BY_TASK,      /* whose tid `hop` has: it raised the softirq */
};

/* Who wakes the task, if it is one to which an interrupt has left something, and for which interrupt. */
enum lull_ftrace_left lull_ftrace_left_to(struct lull_ftrace_model *model,
                                          const struct lull_ftrace_event *event,
                                          struct lull_ftrace_task *task, struct lull_track_hop *hop,
                                          struct lull_ftrace_cause *cause);

/* ---- sums.c ---- */

/* A wait that is over, in its task's sums and in a chain. */
void lull_ftrace_sum(struct lull_ftrace_model *model, const struct lull_ftrace_wait *wait);
void lull_ftrace_sums_init(struct lull_ftrace_model *model);
void lull_ftrace_sums_of_dead(struct lull_ftrace_model *model, const struct lull_ftrace_task *task);
/* As struct lull_live_kind and struct lull_live_slots have them. */
void lull_ftrace_chains(struct lull_ftrace_model *model, GArray *chains);
void lull_ftrace_ended(struct lull_ftrace_model *model,
                       void (*add)(void *user, uint32_t pid, const struct lull_track_ended *ended),
                       void *user);
void lull_ftrace_histograms(struct lull_ftrace_model *model, struct lull_track_histograms *all);

static inline bool lull_ftrace_is_followed(const struct lull_ftrace_model *model,
                                           const struct lull_track_slot *slot)
{
    return !model->question.command || slot->flags & LULL_TRACK_IS_FOLLOWED;
}

#endif
