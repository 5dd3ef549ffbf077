/* SPDX-License-Identifier: MIT */
/* The inside of the model, shared by its parts: model.c (hosts, tasks, names), model_run.c (reading),
 * machine_sched.c (CPUs and task states), machine_tasks.c (births and deaths), machine_containers.c (where they run), machine_irq.c
 * (interrupt contexts, causes of wake-ups), machine_io.c (packets, block requests), machine_use.c
 * (memory, network devices, power), machine_calls.c (system calls), machine_calls_io.c (what they
 * do with descriptors), machine_files.c (tables of descriptors). */
#ifndef LULL_KERNEL_MODEL_PRIVATE_H
#define LULL_KERNEL_MODEL_PRIVATE_H

#include <string.h>

#include "base/map.h"
#include "base/slots.h"
#include "base/vec.h"
#include "kernel/fd_slots.h"
#include "kernel/calls.h"
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

/* "irq 28 virtio2-req.0" and "virtio2-req.0", as labels; LULL_NONE: not reported. */
struct irq_label {
    uint32_t label, name;
    enum lull_cause cause; /* of a hard interrupt: what its handler's name says it is about */
};

/* Who raised a softirq: a task, or what had interrupted the CPU; both LULL_NONE: not known. */
struct raiser {
    uint32_t task, label;
};

/* An interrupt context that is active on a CPU. */
struct frame {
    int64_t start_ns;
    int64_t nested_ns; /* of it in handlers that interrupted it and have ended */
    int64_t raise_ns;  /* of a softirq; INT64_MIN: not seen */
    struct raiser raiser;
    uint32_t number; /* irq, softirq vector, 0 */
    uint32_t label;
    uint32_t name;                 /* label of the name alone, or LULL_NONE */
    uint32_t first_packet, packet; /* first and last packet received in it */
    uint32_t request;              /* last block request completed in it */
    enum lull_cause cause;         /* of a hard interrupt: as in irq_label */
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
    uint32_t task;          /* who is on the CPU, LULL_NONE: not known */
    int64_t reported_ns;    /* until then switch facts say who was on it */
    int64_t since_ns;       /* nothing was lost since; INT64_MAX: not before its next event */
    int64_t last_ns;        /* its last event; INT64_MIN: none */
    int64_t seen_ns;        /* its task was last known to be there, since it came */
    uint32_t switch_stream; /* where its last switch was recorded, or LULL_NONE */
    uint32_t lost_stream;   /* where events were lost last, or LULL_NONE */
    int64_t frequency_khz, idle_state; /* -1, INT64_MIN: not reported */
    int64_t raised_ns[LULL_SOFTIRQS];  /* softirqs that wait to run; INT64_MIN: not raised */
    struct raiser raisers[LULL_SOFTIRQS];
    uint32_t idle;   /* its idle task, LULL_NONE: not made yet */
    uint32_t kernel; /* its kernel context, likewise */
    uint32_t device; /* label of the network device used last, or LULL_NONE */
    struct {
        int64_t time_ns;
        uint32_t number;
    } passed[2];      /* packet that was received last, and sent last; LULL_NONE: none */
    uint32_t n_idled; /* switches to its idle task, and whether there was one from it */
    bool has_left_idle;
    uint32_t n_frames;
    uint32_t last_packet; /* received since the last switch outside any interrupt */
    uint32_t n_merged;    /* bios merged so far; the last ones are in `merged` */
    struct merged_bio merged[8];
    uint32_t last_request; /* block request completed since the last switch outside any interrupt */
    struct frame frames[LULL_MAX_FRAMES];
};

/* The descriptors of a process, or of several that share them. */
struct fd_table {
    struct fd_slots slots;
    uint32_t host, owner; /* owner: see struct lull_file */
    int32_t pid;
    uint32_t users;   /* live tasks that have it; more may not have shown up yet, unless: */
    bool is_orphan;   /* the leader is gone */
    bool is_shared;   /* by processes */
    int64_t since_ns; /* when it was copied from the parent's */
    uint64_t address; /* in the state dump, 0: none */
    uint32_t next_free;
};

/* How an event class reports system calls. */
struct call_class {
    uint32_t name; /* label; LULL_NONE: its events carry a number, or nothing */
    const struct call_kind *kind;
    bool is_known; /* the rest is valid */
    bool is_compat;
    bool is_entry;      /* though its name looks like an exit's */
    bool is_big_endian; /* arrays of numbers */
    uint8_t word_bytes; /* of the arguments' numbers */
    bool is_32bit;      /* it says that the kernel's longs have 32 bits */
};

struct call_name {
    uint32_t label; /* LULL_NONE: not reported */
    const struct call_kind *kind;
};

/* What the start of a call reported of its arguments. */
struct call_args {
    uint32_t have; /* enum call_arg, a bit each */
    bool has_ip;
    int32_t fd, to_fd, new_fd;
    uint32_t flags, command, port;
    int32_t family;
    int64_t bytes;
    uint64_t argument;
    uint8_t ip[16]; /* family 2: the first four */
    int32_t pair[2];
    struct lull_futex futex;
};

/* Of sockets (address families of Linux). */
enum { CALL_FAMILY_UNIX = 1, CALL_FAMILY_INET = 2, CALL_FAMILY_INET6 = 10 };

enum call_arg {
    CALL_ARG_FD = 1,
    CALL_ARG_TO_FD = 2,
    CALL_ARG_NEW_FD = 4,
    CALL_ARG_BYTES = 8,
    CALL_ARG_FLAGS = 16,
    CALL_ARG_COMMAND = 32,
    CALL_ARG_ARGUMENT = 64,
    CALL_ARG_FAMILY = 128,
    CALL_ARG_PATH = 256,
    CALL_ARG_FUTEX = 512,
    CALL_ARG_PAIR = 1024,
};

/* How events identify a call: ftrace and perf may report each call twice. */
enum call_telling {
    CALL_TOLD_NAME = 1,
    CALL_TOLD_NUMBER = 2,
};

/* A system call in progress. The places are used again, and the memory of their paths with them. */
struct call {
    uint32_t task; /* LULL_NONE: the place is free */
    struct call_name name;
    int32_t number;   /* -1: not reported */
    uint8_t reported; /* enum call_telling, how its start was */
    bool is_compat;
    int64_t start_ns;
    struct call_args args;
    uint32_t file; /* of args.fd when it started, or LULL_NONE */
    GString *path;
    uint32_t next_free;
};

struct machine {
    uint32_t host;
    const struct call_arch *arch;
    const char *architecture; /* as uname(2) has it; or NULL */
    bool has_headers;         /* packets with their headers were seen */
    bool has_sockets;         /* tcp_probe is recorded */
    bool has_softirqs;        /* the host's traces record when softirqs run */
    bool reports_current;     /* its events say who is on the CPU, as the kernel knows it */
    /* From the priorities in events to the kernel's; those of wake-ups may differ. */
    int32_t prio_offset, wakeup_prio_offset;
    /* Start of its recording, at its first event at the latest; INT64_MAX: not known yet. */
    int64_t first_ns;
    int64_t last_ns;               /* its last event, INT64_MIN: none */
    LULL_VEC(struct cpu) cpus;     /* seen so far, in that order */
    struct lull_slots cpu_numbers; /* of a CPU → index in `cpus` + 1 */
    struct lull_map by_tid;        /* tid → task */
    struct lull_map newborn;       /* tid → flags of clone(), until the fork is reported */
    struct lull_map requests;      /* hash of dev, sector → open request */
    struct lull_map completed;     /* the same, requests that completed last at a place */
    struct lull_map devices;       /* dev → label */
    struct lull_map remaps;        /* hash of dev, sector of a bio → the device it was made for */
    struct lull_map irqs;          /* irq → index in irq_labels */
    LULL_VEC(struct irq_label) irq_labels; /* of each irq the last */
    struct lull_map families;       /* label of an interrupt → label of its device, without queue */
    struct lull_map irq_devs;       /* the latter → dev of the requests that complete in it */
    struct lull_map tables;         /* pid → table of descriptors */
    struct lull_map containers;     /* label of a control group, pid namespace → container */
    struct lull_map codes;          /* tid, number of its Python code → label of the name */
    struct lull_map rows;           /* label of a container's or pod's name → pseudo-task */
    uint32_t unknown_row;           /* of tasks of which the container is not known */
    struct lull_map vms;            /* process or thread → pseudo-task of its virtual machine */
    struct lull_map addresses;      /* address of a table in the state dump → table */
    struct lull_map ledgers;        /* CPU or thread → its counters */
    struct lull_map rings;          /* address of an io_uring → its number in `urings` */
    struct lull_map uring_requests; /* address of a request of one → the same */
    struct headers *headers;        /* of packets that come next; NULL: none are recorded apart */
};

struct container {
    struct lull_container public;
    uint32_t host;
    uint32_t row;    /* pseudo-task, if tasks are grouped */
    uint32_t before; /* another one of the same id whose name is not known yet; or LULL_NONE */
};

struct name {
    const char *comm;
    int64_t since_ns;
    uint32_t before; /* the name before, or LULL_NONE */
    /* Another one further back, or itself: from any name the way to any before it is short (Myers,
     * "An applicative random-access stack", 1983). */
    uint32_t jump;
    uint32_t depth;  /* how many are before it */
    uint32_t length; /* of comm */
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
    char said[16];      /* the name as a context said it last: those after it are mostly the same */
    int64_t renamed_ns; /* it took a name then that no event has reported yet; INT64_MIN: no */
    uint32_t syscall;
    int32_t cpu;
    uint8_t state, before; /* enum lull_state: now, and until since_ns */
    bool is_new;           /* forked, not yet woken */
    bool is_exiting;
    bool has_executed; /* another program, by a system call that has not returned yet */
    bool is_idle;
    bool is_uninterruptible; /* it is blocked so that no signal can end it */
    char letter;             /* of struct lull_state_fact */
    bool is_dumped;          /* a state dump that was read by itself names it */
    bool is_partial; /* it has left a CPU without being seen to: where it is now is not known */
    bool is_compat;  /* its system calls are of 32 bits, though their events do not say so */
    struct {         /* its last call, until it starts another */
        uint8_t reported; /* enum call_telling, how its end was; 0: there is none */
        uint32_t label;   /* its name, or LULL_NONE */
        int32_t number;   /* -1: not reported */
    } ended;
    int64_t returning_ns; /* when it made a call that does not return to its caller, of which */
    uint32_t returning;   /* this is the name: its end may come without one. INT64_MIN: none */
    uint32_t call;        /* the system call it is in, LULL_NONE: none */
    uint32_t table;       /* its descriptors, LULL_NONE: not looked for yet */
    uint32_t parent;      /* who forked it */
    uint32_t older;       /* that had the tid it was born with before, or LULL_NONE */
    int32_t prio;         /* or LULL_NO_PRIO */
    uint32_t cgroup;      /* label of its path, or LULL_NONE */
    uint32_t pid_ns;      /* number of its pid namespace, 0: not known */
    int32_t vtid;         /* what it is called there, 0: not known */
    bool is_placed;       /* it, or who forked it, was made in a control group that was not told */
    uint32_t command;     /* of a process: how it was called, or LULL_NONE */
    uint32_t container;   /* by the two, or LULL_NONE */
    uint32_t chain;       /* of calls by which it became blocked, or LULL_NONE */
    int64_t sent_ns;      /* first packet it sent in the call it is in; INT64_MIN: none */
    uint32_t sent_number; /* of the same */
    uint32_t request;     /* to a disk, the last it made since it is on the CPU, or LULL_NONE */
    struct waking waking;
    struct lull_wakeup early; /* waking seen while it still ran; time_ns INT64_MIN: none */
};

/* Where an event happened. CPUs of a host that is asked for again and again are found at once. */
struct near {
    uint32_t host; /* LULL_NONE: nothing is known */
    int32_t number;
    struct machine *machine;
    struct cpu *cpu;
};

enum { NEAR = 64 };

struct subscriber {
    struct lull_facts facts;
    void *user;
};

struct lull_model {
    struct lull_session *session;
    bool is_stopped;
    enum lull_event_id ids[LULL_EVENT_COUNT + 1];
    LULL_VEC(struct machine) machines;
    LULL_VEC(struct task) tasks;
    struct lull_map by_tid; /* host, tid → the newest task, dead or not */
    LULL_VEC(struct name) names;
    LULL_VEC(const char *) labels;
    LULL_VEC(struct lull_block_request) requests;
    LULL_VEC(struct call_class) call_classes; /* by number of the event class */
    LULL_VEC(struct call_name) numbered_calls;
    struct lull_map call_numbers; /* architecture, number → index of the latter */
    LULL_VEC(struct call) calls;
    uint32_t free_call;
    LULL_VEC(struct lull_file) files;
    LULL_VEC(struct fd_table) tables;
    uint32_t free_table;
    uint32_t n_tables; /* that ever were */
    LULL_VEC(struct container *) containers;
    GHashTable *container_names; /* id → name, both texts of labels */
    struct lull_map unnamed;     /* label of an id → the last container with it that has no name */
    enum lull_group_by group_by;
    unsigned groups;
    bool follows_files;        /* calls are wanted, and their events record descriptors */
    GHashTable *label_numbers; /* text → number + 1 */
    GStringChunk *strings;
    GString *scratch;
    struct lull_flows *flows;
    struct sockets *sockets;
    struct urings *urings;      /* NULL: no io_uring was seen */
    struct leases *leases;      /* NULL: no lease was seen */
    struct lull_stacks *stacks; /* NULL: not wanted */
    struct counters *counters;  /* likewise */
    struct places *places;      /* likewise */
    bool reads_more;            /* events have values behind their own: counters or places */
    int32_t *processes;         /* by trace: whose alone it is; -1: of several */
    uint32_t trace;             /* of the event of a program that is looked at */
    uint32_t n_packets;
    uint32_t execve, execveat;         /* labels */
    struct irq_label fixed_labels[24]; /* see machine_irq.c */
    int64_t start_ns, end_ns;
    int64_t alarm_ns; /* INT64_MAX: none */
    void (*alarm)(void *user, int64_t time_ns);
    void *alarm_user;
    struct losses *losses;
    int64_t loss_ns;          /* the next loss is reported before the first event after this time */
    uint32_t stream;          /* of the event that is read, or LULL_NONE */
    struct cpu *cpu;          /* where that happened, until another CPU is seen: then NULL */
    struct near near[NEAR];   /* by the low bits of the CPU; until another CPU or host is seen */
    bool *is_user;            /* by trace: of a program, not of a kernel */
    struct lull_facts wanted; /* a callback is not NULL if some subscriber has it */
    struct subscriber subscribers[LULL_MAX_SUBSCRIBERS];
    uint32_t n_subscribers;
};

#define REPORT(model, callback, fact)                                                              \
    for (uint32_t s_ = 0; s_ < (model)->n_subscribers; s_++)                                       \
        if ((model)->subscribers[s_].facts.callback)                                               \
    (model)->subscribers[s_].facts.callback((model)->subscribers[s_].user, fact)

/* machine_functions.c: calls of functions, of the kernel and of programs. */
void functions_of_kernel(struct lull_model *model, struct machine *machine, int32_t c, int64_t t,
                         enum lull_event_id id, const void *event);
void functions_of_user(struct lull_model *model, struct machine *machine, int32_t c, int64_t t,
                       enum lull_event_id id, const void *event);
void functions_forked(struct lull_model *model, uint32_t parent, uint32_t child, int64_t t);
void functions_executed(struct lull_model *model, uint32_t task, int64_t t);
void functions_lost(struct lull_model *model, const struct lull_lost_fact *lost);

/* Values that an event has behind its own. */
struct more_values {
    uint64_t have; /* by field */
    const uint64_t *of;
};

static inline struct more_values more_values(enum lull_event_id id, const void *event)
{
    const struct lull_vocabulary_size size = lull_vocabulary_size(id);
    return (struct more_values){
        .have = size.n_fields < 64 ? *(const uint64_t *)event >> size.n_fields : 0,
        .of = (const uint64_t *)(const void *)((const char *)event + size.bytes)};
}

/* machine_places.c: where programs were at events. */
void places_find(struct lull_model *model);
bool places_more(const struct lull_model *model, struct lull_vocabulary_more *more);
void places_free(struct lull_model *model);
void places_read(struct lull_model *model, const struct machine *machine,
                 const struct lull_event *event, enum lull_event_id id);
/* Something was put into the memory of a process. */
void places_mapped(struct lull_model *model, const struct machine *machine, int32_t pid,
                   uint64_t address, uint64_t length, int64_t t);

/* machine_counters.c */
/* Finds which counters the session has. */
void counters_find(struct lull_model *model);
/* What the session is to be asked for them; false: they are not wanted, or there are none. */
bool counters_more(const struct lull_model *model, struct lull_vocabulary_more *more);
void counters_free(struct lull_model *model);
/* Takes the values that an event has, after all else that it says was taken in. */
void counters_read(struct lull_model *model, struct machine *machine, int32_t c, int64_t t,
                   enum lull_event_id id, const void *event);
/* If model->counters: who was on a CPU is known up to a switch; its outermost interrupt is over. */
void counters_switched(struct lull_model *model, const struct machine *machine,
                       const struct lull_switch_fact *fact);
void counters_interrupted(struct lull_model *model, const struct machine *machine, int32_t c,
                          int64_t t);

/* model.c */
/* Subscribes the session to what the model reads. */
void model_subscribe(struct lull_model *model);
struct machine *model_machine_add(struct lull_model *model, uint32_t host);
struct cpu *model_cpu_add(struct lull_model *model, struct machine *machine, int32_t cpu);
uint32_t model_task(struct lull_model *model, struct machine *machine, int32_t tid, int32_t cpu);
uint32_t model_task_new(struct lull_model *model, struct machine *machine, int32_t tid);
void model_rename(struct lull_model *model, uint32_t task, struct lull_text comm, int64_t time_ns);
/* The same of what is no task's name, as the path of a group: it is not cut. */
void model_rename_whole(struct lull_model *model, uint32_t task, struct lull_text comm,
                        int64_t time_ns);
uint32_t model_label(struct lull_model *model, const char *text);
uint32_t model_label_of(struct lull_model *model, struct lull_text text);
/* The task on the CPU as facts name it: LULL_NONE if it is idle or not known. */
static inline uint32_t model_on_cpu(const struct lull_model *model, const struct cpu *cpu)
{
    return cpu->task == LULL_NONE || model->tasks.items[cpu->task].is_idle ? LULL_NONE : cpu->task;
}

static inline uint64_t model_tid_key(uint32_t host, int32_t tid)
{
    return (uint64_t)host << 32 | (uint32_t)tid;
}

static inline struct machine *model_machine(struct lull_model *model, uint32_t host)
{
    return G_LIKELY(host < model->machines.count) ? &model->machines.items[host]
                                                  : model_machine_add(model, host);
}

static inline struct cpu *model_cpu(struct lull_model *model, struct machine *machine, int32_t cpu)
{
    const uint32_t index = lull_slots_get(&machine->cpu_numbers, (uint32_t)cpu);
    return G_LIKELY(index) ? &machine->cpus.items[index - 1] : model_cpu_add(model, machine, cpu);
}

/* Machines or CPUs have moved. */
static inline void model_forget_near(struct lull_model *model)
{
    for (unsigned i = 0; i < NEAR; i++) {
        model->near[i].host = LULL_NONE;
    }
}

/* An event says that the task has this name; mostly it is known. */
static inline void model_named(struct lull_model *model, uint32_t number, struct lull_text comm,
                               int64_t time_ns)
{
    const struct task *task = &model->tasks.items[number];
    if (G_LIKELY(task->name != LULL_NONE && task->renamed_ns == INT64_MIN)) {
        const struct name *name = &model->names.items[task->name];
        if (G_LIKELY(name->length == comm.length &&
                     memcmp(name->comm, comm.data, comm.length) == 0)) {
            return;
        }
    }
    model_rename(model, number, comm, time_ns);
}

/* One that is there. */
static inline struct cpu *model_cpu_at(const struct machine *machine, int32_t cpu)
{
    return &machine->cpus.items[lull_slots_get(&machine->cpu_numbers, (uint32_t)cpu) - 1];
}

/* machine_sched.c; t: time, c: CPU number */
/* Ends the task's state at t and starts another. */
void sched_change(struct lull_model *model, uint32_t number, int64_t t, enum lull_state next,
                  int32_t cpu, const struct lull_wakeup *wakeup);
/* The task was found in a state that contradicts what was seen: events are missing in between. */
void sched_lose(struct lull_model *model, uint32_t number);
/* The task is dead: its number may be another's. */
void sched_bury(struct lull_model *model, struct machine *machine, uint32_t number);
/* An event says that `tid` is on the CPU, and that was not known. is_sure: it is the kernel's
 * number, which may be believed although another task was known to be there. */
void sched_found(struct lull_model *model, struct machine *machine, int32_t c, int64_t t,
                 int32_t tid, bool is_sure);

void sched_switched(struct lull_model *model, struct machine *machine, int32_t c, int64_t t,
                    const struct lull_ev_sched_switch *ev);
void sched_migrated(struct lull_model *model, struct machine *machine, int32_t c, int64_t t,
                    const struct lull_ev_sched_migrate_task *ev);
void sched_wake_event(struct lull_model *model, struct machine *machine, int32_t c, int64_t t,
                      enum lull_event_id id, const void *event);
/* What an event reports of a task's priority. */
void sched_prio(struct lull_model *model, const struct machine *machine, int64_t t, uint32_t task,
                int64_t reported, int32_t offset);

/* machine_tasks.c */
void sched_born(struct machine *machine, const struct lull_ev_task_newtask *ev);
/* A task is woken for the first time: if only its birth was reported, and no fork, as the kernel does with threads that
 * work for an io_uring, then who is on the CPU made it. */
void sched_born_unseen(struct lull_model *model, struct machine *machine, int32_t c, int64_t t,
                       int32_t tid);
void sched_forked(struct lull_model *model, struct machine *machine, int64_t t,
                  const struct lull_ev_sched_process_fork *ev);
void sched_executed(struct lull_model *model, struct machine *machine, int32_t c, int64_t t,
                    const struct lull_ev_sched_process_exec *ev);
/* Moved to another control group. */
void sched_attached(struct lull_model *model, struct machine *machine, int32_t c, int64_t t,
                    const struct lull_ev_cgroup_attach_task *ev);
/* A system call that runs another program has ended; whether it did is not known. */
void sched_exec_ended(struct task *task, int64_t t);
/* It has succeeded. path: of the program; "": not reported; NULL: the name is known already. */
void sched_exec_returned(struct lull_model *model, uint32_t task, int64_t t, const char *path);
void sched_dumped(struct lull_model *model, struct machine *machine, int64_t t,
                  const struct lull_ev_statedump_process *ev);
void sched_exited(struct lull_model *model, struct machine *machine, int64_t t, int32_t tid,
                  bool is_free);

/* machine_containers.c */
void names_path(struct lull_model *model, struct machine *machine,
                const struct lull_ev_call_path *ev);
void names_address(struct lull_model *model, struct machine *machine,
                   const struct lull_ev_call_address *ev);
void names_pair(struct lull_model *model, struct machine *machine,
                const struct lull_ev_call_pair *ev);
void names_command(struct lull_model *model, struct machine *machine,
                   const struct lull_ev_command_line *ev);
void containers_named(struct lull_model *model, const struct lull_ev_statedump_container *ev);
void containers_dumped(struct lull_model *model, struct machine *machine,
                       const struct lull_ev_statedump_cgroup *ev);
void containers_dumped_ns(struct lull_model *model, struct machine *machine,
                          const struct lull_ev_statedump_pid_ns *ev);
/* Among the flags of clone(), in place of a signal: CLONE_INTO_CGROUP, which is none of the low 32. */
enum { CLONE_SIGNAL = 0xff, CLONE_PLACED = 1 };
/* flags: of clone(), UINT32_MAX: not known. pid_ns: of the child, 0: not reported. */
void containers_forked(struct lull_model *model, struct machine *machine, uint32_t parent,
                       uint32_t child, uint32_t flags, int64_t pid_ns);
void containers_attached(struct lull_model *model, struct machine *machine,
                         const struct lull_cgroup_fact *fact);
void containers_free(struct lull_model *model);

/* machine_stacks.c: what is known of call chains; nothing happens if they are not wanted */
void stacks_locate(struct lull_model *model); /* finds out where names are */
void stacks_mapped(struct lull_model *model, const struct machine *machine,
                   const struct lull_ev_mapping *ev, int64_t t);
void stacks_forked(struct lull_model *model, uint32_t parent, uint32_t child);
void stacks_renamed(struct lull_model *model, const struct machine *machine,
                    const struct lull_ev_task_rename *ev);
/* The chain of the task that leaves the CPU, or LULL_NONE. */
void stacks_sampled(struct lull_model *model, struct machine *machine,
                    const struct lull_ev_sample *ev, const struct lull_event_class *event_class,
                    int64_t t);
uint32_t stacks_left(struct lull_model *model, const struct machine *machine, uint32_t task,
                     const struct lull_ev_sched_switch *ev, int64_t t);

/* machine_irq.c */
void irq_init_labels(struct lull_model *model);
/* True if the event is one of an interrupt context's start or end, and it was handled. */
bool irq_event(struct lull_model *model, struct machine *machine, int32_t c, int64_t t,
               enum lull_event_id id, const void *event);
/* Forgets contexts that cannot be active any more (their ends were lost). */
void irq_reset(struct cpu *cpu);
void irq_raised(const struct lull_model *model, struct cpu *cpu, int64_t t,
                const struct lull_ev_softirq_raise *event);
/* True if the CPU is in an interrupt: what happens there is not the task's doing. */
bool irq_is_active(const struct cpu *cpu);
/* Where an event itself says that it happened. */
enum irq_context { IRQ_NOT_TOLD, IRQ_NONE, IRQ_HARD, IRQ_SOFT };
/* From the flags of ftrace and perf. */
enum irq_context irq_context_of(bool is_reported, int64_t flags);
/* Whether the task is in a call whose end is a timer's, or a signal's. */
bool irq_is_sleep(const struct lull_model *model, const struct task *task);
/* The cause that a wake-up of the task on this CPU has. */
void irq_classify(const struct lull_model *model, const struct machine *machine, struct cpu *cpu,
                  const struct task *task, enum irq_context context, struct lull_wakeup *wakeup);
/* What a handler represents, when something other than a wake-up happens in it. */
enum lull_cause irq_frame_cause(const struct frame *frame);

/* machine_io.c */
void io_packet(struct lull_model *model, struct machine *machine, int32_t c, int64_t t,
               bool is_send, const void *event);
/* The same of inet_sock_local_out and inet_sock_local_in. */
void headers_free(struct headers *headers);
/* They are of a packet that comes next. */
void headers_read(struct machine *machine, int64_t t, const struct lull_ev_packet_headers *ev);
/* Completes the packet, if its headers were read apart. */
void headers_add(struct machine *machine, struct lull_net_packet *packet);
void io_socket_packet(struct lull_model *model, struct machine *machine, int32_t c, int64_t t,
                      bool is_send, const void *event);
void io_merged(struct machine *machine, struct cpu *cpu, const struct lull_ev_block_bio_merge *ev);
void io_remapped(struct machine *machine, const struct lull_ev_block_bio_remap *ev);
void io_requeued(struct lull_model *model, struct machine *machine,
                 const struct lull_ev_block_rq_requeue *ev);
void io_dumped(struct lull_model *model, struct machine *machine,
               const struct lull_ev_statedump_block_device *ev);
void io_request(struct lull_model *model, struct machine *machine, int32_t c, int64_t t,
                enum lull_event_id id, const void *event);

/* What was on the CPU from start_ns on is not known; nothing was lost after since_ns (INT64_MAX:
 * that is the next event of the stream). */
void sched_lost(struct lull_model *model, struct machine *machine, int32_t c, int64_t start_ns,
                int64_t since_ns);

/* machine_lost.c */
struct losses *lost_new(void);
void lost_free(struct losses *losses);
/* Takes in what the session has found lost since the last call. */
void lost_find(struct lull_model *model);
/* Reports the next loss. */
void lost_report(struct lull_model *model);
/* Sets since when the host and a CPU of which nothing was heard yet are recorded. */
void lost_find_recorded(const struct lull_model *model, struct machine *machine, int32_t c);

/* machine_sockets.c: connections, where packets have no headers */
struct sockets *sockets_new(void);
void sockets_free(struct sockets *sockets);
void sockets_packet(struct lull_model *model, const struct lull_net_packet *packet,
                    uint32_t number);
void sockets_event(struct lull_model *model, struct machine *machine, int32_t c, int64_t t,
                   enum lull_event_id id, const void *event);

/* machine_uring.c */
void urings_free(struct urings *urings);
void urings_event(struct lull_model *model, struct machine *machine, int32_t c, int64_t t,
                  enum lull_event_id id, const void *event);

/* machine_leases.c */
void leases_free(struct leases *leases);
void leases_event(struct lull_model *model, struct machine *machine, int32_t c, int64_t t,
                  enum lull_event_id id, const void *event);

/* machine_use.c: memory, network devices, power */
/* A call has started: it may raise an interrupt of a guest. */
void use_call(struct lull_model *model, const struct machine *machine, const struct call *call,
              int32_t c);
void use_event(struct lull_model *model, struct machine *machine, int32_t c, int64_t t,
               enum lull_event_id id, const void *event);
/* A packet that packet_received reports too. */
void use_received(struct lull_model *model, struct machine *machine, int32_t c, int64_t t,
                  int64_t length, struct lull_text device);

/* machine_calls.c */
/* What calls look like on a host. */
const struct call_arch *calls_arch(const struct lull_model *model, uint32_t host);
/* What the host's traces call its architecture, as uname(2) does; NULL: they do not say. */
const char *calls_architecture(const struct lull_model *model, uint32_t host);
/* A system call started or ended, as the event says. */
void calls_event(struct lull_model *model, struct machine *machine, int32_t c, int64_t t,
                 enum lull_event_id id, const void *event,
                 const struct lull_event_class *event_class);
/* The flags with which the task makes another, as its system call gives them, or UINT32_MAX. */
uint32_t calls_clone_flags(const struct lull_model *model, uint32_t parent);
/* A task made another. flags: of clone(), UINT32_MAX: not known. */
void calls_forked(struct lull_model *model, uint32_t parent, uint32_t child, int64_t t,
                  uint32_t flags);
/* Events of the CPU that the task is on were lost from then on: its call may have ended, and others
 * of the same name started. */
void calls_lost(struct lull_model *model, uint32_t task, int64_t start_ns);
/* The task is dead: ends its call and gives its descriptors up. */
void calls_died(struct lull_model *model, struct machine *machine, uint32_t task);
/* Reading is over. */
void calls_finish(struct lull_model *model);
void calls_free(struct lull_model *model);
/* The call that the task is in; false if none is known, or nobody wants calls. */
bool calls_note(const struct lull_model *model, const struct task *task,
                struct lull_call_note *note);

/* machine_calls_io.c */
/* What the start of a call reports of its arguments. */
void call_take(struct lull_model *model, const struct call_class *call_class, struct call *call,
               enum lull_event_id id, const void *event);
/* Carries out what a call that ended did to descriptors. `call`: without arguments if its start was
 * not seen. event: NULL if it carries nothing but the return value. False if it did nothing with
 * descriptors. */
bool call_end_io(struct lull_model *model, const struct call_class *call_class,
                 const struct call *call, int64_t t, const int64_t *ret,
                 const struct lull_ev_io_exit *event, struct lull_io *io);
/* The same of a call that lasts. */
bool call_open_io(const struct lull_model *model, const struct call *call, struct lull_io *io);

/* machine_files.c; owner and table are those of `task` */
/* The table of a task; one is made if need be. */
uint32_t files_table(struct lull_model *model, uint32_t task);
/* The file of a descriptor, or LULL_NONE. */
uint32_t files_find(struct lull_model *model, uint32_t task, int32_t fd);
/* The file of a descriptor that is in use; one of unknown path if it was not seen before. LULL_NONE
 * if fd is negative. */
uint32_t files_use(struct lull_model *model, uint32_t task, int32_t fd);
/* A new descriptor. What had its number before was closed without being seen. */
uint32_t files_open(struct lull_model *model, uint32_t task, int64_t t, int32_t fd, uint32_t path,
                    enum lull_file_type type, bool is_cloexec);
void files_close(struct lull_model *model, uint32_t task, int64_t t, int32_t fd);
/* Closes descriptors first … last, or only sets their close-on-exec flag. */
void files_close_range(struct lull_model *model, uint32_t task, int64_t t, int32_t first,
                       int32_t last, bool only_cloexec);
void files_set_cloexec(struct lull_model *model, uint32_t task, int32_t fd, bool is_cloexec);
void files_unshare(struct lull_model *model, uint32_t task, int64_t t);
void files_forked(struct lull_model *model, uint32_t parent, uint32_t child, int64_t t,
                  bool is_shared);
void files_executed(struct lull_model *model, uint32_t task, int64_t t);
void files_died(struct lull_model *model, uint32_t task, int64_t t);
void files_dumped_process(struct lull_model *model, uint32_t task, uint64_t address);
void files_dumped(struct lull_model *model, struct machine *machine,
                  const struct lull_ev_statedump_file *ev);
void files_free(struct lull_model *model);

/* model_queries.c */

/* A state that still lasts at end_ns; false if there is none, or nothing of it. *note has room for
 * the call. */
bool model_open_state(const struct lull_model *model, uint32_t number, int64_t end_ns,
                      struct lull_state_fact *fact, struct lull_call_note *note);

#endif
