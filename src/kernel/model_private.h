/* The inside of the model, shared by its parts: model.c (hosts, tasks, names, reading),
 * machine_sched.c (CPUs and task states), machine_irq.c (interrupt contexts, causes of wake-ups),
 * machine_io.c (packets, block requests), machine_use.c (memory, network devices, power). */
#ifndef LULL_KERNEL_MODEL_PRIVATE_H
#define LULL_KERNEL_MODEL_PRIVATE_H

#include "base/map.h"
#include "base/vec.h"
#include "kernel/model.h"
#include "kernel/vocabulary.h"

/* CPUs beyond this number are taken for damage. */
#define LULL_MAX_CPUS 65536
#define LULL_MAX_FRAMES 16
#define LULL_MAX_SUBSCRIBERS 8

enum frame_kind {
    FRAME_IRQ,
    FRAME_SOFTIRQ,
    FRAME_HRTIMER,
    FRAME_LOCAL_TIMER,
    FRAME_IPI,
    FRAME_WHOLE_IRQ, /* do_IRQ around handlers */
    FRAME_RECEIVE,   /* netif_receive_skb around the handling of one packet */
};

/* "irq 28 virtio2-req.0" and "virtio2-req.0", as labels; LULL_NONE: not told. */
struct irq_label {
    uint32_t label, name;
};

/* An interrupt context that is active on a CPU. */
struct frame {
    int64_t begin_ns;
    int64_t nested_ns; /* of it in handlers that interrupted it and have ended */
    int64_t raise_ns;  /* of a softirq; INT64_MIN: not seen */
    uint32_t number;   /* irq, softirq vector, 0 */
    uint32_t label;
    uint32_t name;                 /* label of the name alone, or LULL_NONE */
    uint32_t first_packet, packet; /* first and last packet received in it */
    uint32_t request;              /* last block request completed in it */
    uint8_t kind;
};

/* A bio that was merged into a request which is not issued yet. */
struct merged_bio {
    uint64_t sector;
    uint32_t dev;
};

/* Softirq vectors of Linux. */
#define LULL_SOFTIRQS 10

struct cpu {
    uint32_t task;    /* who is on the CPU, LULL_NONE: not known */
    int64_t told_ns;  /* until then switch facts say who was on it */
    int64_t since_ns; /* nothing was lost since; INT64_MAX: not before its next event */
    int64_t last_ns;  /* its last event; INT64_MIN: none */
    int64_t frequency_khz, idle_state; /* -1, INT64_MIN: not told */
    int64_t raised_ns[LULL_SOFTIRQS];  /* softirqs that wait to run; INT64_MIN: not raised */
    uint32_t idle;                     /* its idle task, LULL_NONE: not made yet */
    uint32_t kernel;                   /* its kernel context, likewise */
    uint32_t device;                   /* label of the network device used last, or LULL_NONE */
    uint32_t n_frames;
    uint32_t last_packet; /* received since the last switch outside any interrupt */
    uint32_t n_merged;    /* bios merged so far; the last ones are in `merged` */
    struct merged_bio merged[8];
    uint32_t last_request; /* block request completed since the last switch outside any interrupt */
    struct frame frames[LULL_MAX_FRAMES];
};

struct machine {
    uint32_t host;
    bool has_softirqs; /* the host's traces tell when softirqs run */
    /* From the priorities in events to the kernel's; those of wake-ups may differ. */
    int32_t prio_offset, wakeup_prio_offset;
    int64_t first_ns, last_ns; /* events; INT64_MAX and INT64_MIN: none */
    LULL_VEC(struct cpu) cpus;
    struct lull_map by_tid;    /* tid → task */
    struct lull_map requests;  /* hash of dev, sector → open request */
    struct lull_map completed; /* the same, requests that completed last at a place */
    struct lull_map devices;   /* dev → label */
    struct lull_map irqs;      /* irq → label */
    struct lull_map irq_names; /* the latter → label of the handler's name */
    struct lull_map families;  /* label of an interrupt → label of its device, without queue */
    struct lull_map irq_devs;  /* the latter → dev of the requests that complete in it */
};

struct name {
    const char *comm;
    int64_t since_ns;
    uint32_t before; /* the name before, or LULL_NONE */
};

/* The first waking of a task since it stopped running. */
struct waking {
    int64_t time_ns; /* INT64_MIN: none seen */
    uint32_t task;   /* on the CPU, LULL_NONE: idle or not known */
    bool is_interrupt;
    bool is_early; /* it came when the task was about to stop */
};

struct task {
    struct lull_task public;
    int64_t since_ns;
    uint32_t name;
    uint32_t syscall;
    int32_t cpu;
    uint8_t state; /* enum lull_state */
    bool is_new;   /* forked, not yet woken */
    bool is_exiting;
    bool is_idle;
    uint32_t parent; /* who forked it */
    int32_t prio;    /* or LULL_NO_PRIO */
    struct waking waking;
    struct lull_wakeup early; /* waking seen while it still ran; time_ns INT64_MIN: none */
};

struct subscriber {
    struct lull_facts facts;
    void *user;
};

struct lull_model {
    struct lull_session *session;
    enum lull_event_id ids[LULL_EVENT_COUNT];
    LULL_VEC(struct machine) machines;
    LULL_VEC(struct task) tasks;
    LULL_VEC(struct name) names;
    LULL_VEC(const char *) labels;
    LULL_VEC(struct lull_block_request) requests;
    LULL_VEC(uint32_t) syscalls; /* event class number → label, LULL_NONE: not looked up yet */
    GHashTable *label_numbers;   /* text → number + 1 */
    GStringChunk *strings;
    struct lull_flows *flows;
    uint32_t n_packets;
    struct irq_label fixed_labels[24]; /* see machine_irq.c */
    int64_t begin_ns, end_ns;
    int64_t alarm_ns; /* INT64_MAX: none */
    void (*alarm)(void *user, int64_t time_ns);
    void *alarm_user;
    struct lull_facts wanted; /* a callback is not NULL if some subscriber has it */
    struct subscriber subscribers[LULL_MAX_SUBSCRIBERS];
    uint32_t n_subscribers;
};

#define REPORT(model, callback, fact)                                                              \
    for (uint32_t s_ = 0; s_ < (model)->n_subscribers; s_++)                                       \
        if ((model)->subscribers[s_].facts.callback)                                               \
    (model)->subscribers[s_].facts.callback((model)->subscribers[s_].user, fact)

/* model.c */
struct machine *model_machine_add(struct lull_model *model, uint32_t host);
struct cpu *model_cpu_add(struct machine *machine, int32_t cpu);
uint32_t model_task(struct lull_model *model, struct machine *machine, int32_t tid, int32_t cpu);
uint32_t model_task_new(struct lull_model *model, struct machine *machine, int32_t tid);
void model_rename(struct lull_model *model, uint32_t task, struct lull_text comm, int64_t time_ns);
uint32_t model_label(struct lull_model *model, const char *text);
uint32_t model_label_of(struct lull_model *model, struct lull_text text);
uint32_t model_syscall(struct lull_model *model, const struct lull_event_class *event_class);
/* The task on the CPU as facts name it: LULL_NONE if it is idle or not known. */
static inline uint32_t model_on_cpu(const struct lull_model *model, const struct cpu *cpu)
{
    return cpu->task == LULL_NONE || model->tasks.items[cpu->task].is_idle ? LULL_NONE : cpu->task;
}

static inline struct machine *model_machine(struct lull_model *model, uint32_t host)
{
    return G_LIKELY(host < model->machines.count) ? &model->machines.items[host]
                                                  : model_machine_add(model, host);
}

static inline struct cpu *model_cpu(struct machine *machine, int32_t cpu)
{
    return G_LIKELY((size_t)cpu < machine->cpus.count) ? &machine->cpus.items[cpu]
                                                       : model_cpu_add(machine, cpu);
}

/* machine_sched.c; t: time, c: CPU number */
void sched_current(struct lull_model *model, struct machine *machine, int32_t c, int64_t t,
                   int32_t tid);
void sched_switched(struct lull_model *model, struct machine *machine, int32_t c, int64_t t,
                    const struct lull_ev_sched_switch *ev);
void sched_migrated(struct lull_model *model, struct machine *machine, int32_t c, int64_t t,
                    const struct lull_ev_sched_migrate_task *ev);
void sched_forked(struct lull_model *model, struct machine *machine, int64_t t,
                  const struct lull_ev_sched_process_fork *ev);
void sched_executed(struct lull_model *model, struct machine *machine, int32_t c, int64_t t,
                    const struct lull_ev_sched_process_exec *ev);
void sched_dumped(struct lull_model *model, struct machine *machine, int64_t t,
                  const struct lull_ev_statedump_process *ev);
void sched_exited(struct lull_model *model, struct machine *machine, int64_t t, int32_t tid,
                  bool is_free);

void sched_wake_event(struct lull_model *model, struct machine *machine, int32_t c, int64_t t,
                      enum lull_event_id id, const void *event);
/* What an event tells of a task's priority. */
void sched_prio(struct lull_model *model, const struct machine *machine, int64_t t, uint32_t task,
                int64_t told, int32_t offset);

/* machine_irq.c */
void irq_init_labels(struct lull_model *model);
/* True if the event is one of an interrupt context's begin or end, and it was handled. */
bool irq_event(struct lull_model *model, struct machine *machine, int32_t c, int64_t t,
               enum lull_event_id id, const void *event);
/* Forgets contexts that cannot be active any more (their ends were lost). */
void irq_reset(struct cpu *cpu);
void irq_raised(struct cpu *cpu, int64_t t, int64_t vec);
/* True if the CPU is in an interrupt: what happens there is not the task's doing. */
bool irq_is_active(const struct cpu *cpu);
/* The cause that a wake-up on this CPU has. */
void irq_classify(const struct lull_model *model, const struct machine *machine, struct cpu *cpu,
                  struct lull_wakeup *wakeup);
/* What a handler stands for, when something other than a wake-up happens in it. */
enum lull_cause irq_frame_cause(const struct lull_model *model, const struct frame *frame);

/* machine_io.c */
void io_packet(struct lull_model *model, struct machine *machine, int32_t c, int64_t t,
               bool is_send, const void *event);
void io_merged(struct cpu *cpu, const struct lull_ev_block_bio_merge *ev);
void io_request(struct lull_model *model, struct machine *machine, int32_t c, int64_t t,
                enum lull_event_id id, const void *event);

/* machine_use.c: memory, network devices, power */
bool use_event(struct lull_model *model, struct machine *machine, int32_t c, int64_t t,
               enum lull_event_id id, const void *event);
/* A packet of which packet_received tells too. */
void use_received(struct lull_model *model, struct machine *machine, int32_t c, int64_t t,
                  int64_t length, struct lull_text device);

#endif
