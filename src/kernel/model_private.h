/* SPDX-License-Identifier: MIT */
/* The inside of the model: hosts, CPUs, tasks, calls, and what model.c offers its parts. machine.h has what the parts
 * offer, model_run.c hands them events. */
#ifndef LULL_KERNEL_MODEL_PRIVATE_H
#define LULL_KERNEL_MODEL_PRIVATE_H

#include <string.h>

#include "base/cpu_slots.h"
#include "base/map.h"
#include "base/slots.h"
#include "base/vec.h"
#include "kernel/fd_slots.h"
#include "kernel/calls.h"
#include "kernel/kills.h"
#include "kernel/model.h"
#include "kernel/vocabulary.h"

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
    int64_t
        unsure_ns; /* end of a loss since the last switch: it may be in an interrupt that started there; INT64_MIN: none */
    int64_t frequency_khz, idle_state; /* -1, INT64_MIN: not reported */
    uint32_t softirqs_for;   /* task that woke the thread of softirqs last; LULL_NONE: none did */
    int64_t softirqs_for_ns; /* and when */
    int64_t raised_ns[LULL_SOFTIRQS]; /* softirqs that wait to run; INT64_MIN: not raised */
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
    int64_t
        thread_irq; /* the interrupt whose handler has just asked that its thread is woken; -1: none */
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
    uint32_t flags, command, port, watched;
    int32_t family, ipc;
    int64_t bytes;
    uint64_t argument, data;
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
    CALL_ARG_WATCHED = 2048,
    CALL_ARG_IPC = 4096,
    CALL_ARG_DATA = 8192,
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
    int32_t number;    /* -1: not reported */
    uint8_t reported;  /* enum call_telling, how its start was */
    bool may_be_32bit; /* what it returns may be an address that looks negative */
    bool has_blocked;  /* its task, in it */
    bool is_asking;    /* `polled` is what it was asked for, by the state of the machine */
    int64_t start_ns;
    struct call_args args;
    int64_t
        taken_ns; /* then the task became what `thread` was, which had started it; INT64_MIN: it has itself */
    uint32_t thread;
    uint32_t file, to_file; /* of args.fd and args.to_fd when it started, or LULL_NONE */
    uint32_t watched;       /* label of what its epoll descriptor watches, or LULL_NONE */
    uint32_t
        given; /* label of the path that it was given, if its task has blocked in it; or LULL_NONE */
    GString *path;
    uint32_t cut; /* in `cuts`: the one that it goes on with; LULL_NONE: it is a call of its own */
    uint32_t next_free;
    struct lull_polled polled; /* n: all that are known */
};

/* The last call of a task that a signal interrupted and that the kernel may restart. */
struct call_cut {
    struct lull_call_note note;
    struct lull_futex futex;
    uint32_t ended; /* label of the call that ended so */
};

/* Events of a CPU, or of all if cpu < 0, are missing in this time. */
struct hole {
    int64_t start_ns, end_ns;
    int32_t cpu;
    uint32_t stream;
};

struct machine {
    uint32_t host;
    const struct call_arch *arch;
    const char *architecture; /* as uname(2) has it; or NULL */
    bool has_headers;         /* packets with their headers were seen */
    bool has_sockets;         /* tcp_probe is recorded */
    bool has_signals;         /* signal_generate was seen */
    bool has_softirqs;        /* the host's traces record when softirqs run */
    bool has_switches;        /* and who runs; else a number of a namespace must do */
    bool is_snapshot;         /* of all tasks, with the state of its end; and nothing else */
    bool is_dumped;           /* the start of a state dump was recorded */
    bool reports_current;     /* its events say who is on the CPU, as the kernel knows it */
    /* From the priorities in events to the kernel's; those of wake-ups may differ. */
    int32_t prio_offset, wakeup_prio_offset;
    /* Start of its recording, at its first event at the latest; INT64_MAX: not known yet. */
    int64_t first_ns;
    int64_t last_ns; /* its last event so far, INT64_MIN: none */
    int64_t end_ns;  /* of its recording; INT64_MAX: not known */
    /* Since when all CPUs are recorded of which anything is; INT64_MAX: there are none. */
    int64_t all_cpus_ns;
    int64_t stopped_ns;          /* when that stopped, to start again later; INT64_MIN: never */
    int64_t redump_ns;           /* start of a state dump that is not the first; INT64_MIN: none */
    uint32_t newest_task;        /* LULL_NONE: none */
    LULL_VEC(struct hole) holes; /* where events are missing, by start */
    int64_t longest_hole_ns;
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
    bool
        is_succeeded; /* it goes on as a thread that has called exec(): the end of what it was may come now */
    bool has_executed; /* another program, by a system call that has not returned yet */
    bool is_idle;
    bool is_uninterruptible; /* it is blocked so that no signal can end it */
    char letter;             /* of struct lull_state_fact */
    bool is_dumped;          /* a state dump that was read by itself names it */
    bool is_partial;  /* it has left a CPU without being seen to: where it is now is not known */
    bool makes_calls; /* one has ended that was seen to start: others would be seen, too */
    bool is_compat;   /* its system calls are of 32 bits, though their events do not say so */
    struct {          /* its last call, until it starts another */
        uint8_t reported; /* enum call_telling, how its end was; 0: there is none */
        uint32_t label;   /* its name, or LULL_NONE */
        int32_t number;   /* -1: not reported */
    } ended;
    int64_t returning_ns; /* when it made a call that does not return to its caller, of which */
    uint32_t returning;   /* this is the name: its end may come without one. INT64_MIN: none */
    uint8_t reclaimed;    /* enum lull_kill_limit: which memory was freed for it last */
    uint32_t call;        /* the system call it is in, LULL_NONE: none */
    uint32_t table;       /* its descriptors, LULL_NONE: not looked for yet */
    uint32_t parent;      /* who forked it */
    uint32_t older;       /* that had the tid it was born with before, or LULL_NONE */
    uint32_t before_it;   /* the task of its host that was made before it, or LULL_NONE */
    int32_t prio;         /* or LULL_NO_PRIO */
    uint32_t cgroup;      /* label of its path, or LULL_NONE */
    uint32_t pid_ns;      /* number of its pid namespace, 0: not known */
    int32_t ns_level;     /* in how many others that is, as far as a state dump said so */
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

/* Where an event happened. CPUs that a stream reports again and again are found at once. */
struct near {
    uint32_t stream; /* LULL_NONE: nothing is known */
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
    LULL_VEC(struct call_cut) cuts;
    struct lull_map cut_of; /* task → one of these */
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
    struct urings *urings; /* NULL: no io_uring was seen */
    LULL_VEC(struct lull_kill) kills;
    GHashTable *alternatives;        /* machine_polled.c: files → label; NULL: none were made */
    struct watches *watches;         /* of epoll descriptors; NULL: none were made */
    struct leases *leases;           /* NULL: no lease was seen */
    struct inode_names *inode_names; /* NULL: none */
    struct lull_stacks *stacks;      /* NULL: not wanted */
    struct counters *counters;       /* likewise */
    struct places *places;           /* likewise */
    bool reads_more;                 /* events have values behind their own: counters or places */
    int32_t *processes;              /* by trace: whose alone it is; -1: of several */
    uint32_t trace;                  /* of the event of a program that is looked at */
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
    struct near near[NEAR];   /* see near_at(); until another CPU or host is seen */
    bool *is_user;            /* by trace: of a program, not of a kernel */
    struct lull_facts wanted; /* a callback is not NULL if some subscriber has it */
    struct subscriber subscribers[LULL_MAX_SUBSCRIBERS];
    uint32_t n_subscribers;
};

#define REPORT(model, callback, fact)                                                              \
    for (uint32_t s_ = 0; s_ < (model)->n_subscribers; s_++)                                       \
        if ((model)->subscribers[s_].facts.callback)                                               \
    (model)->subscribers[s_].facts.callback((model)->subscribers[s_].user, fact)

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
        model->near[i].stream = LULL_NONE;
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

/* NULL: the machine has none of this number. */
static inline struct cpu *model_find_cpu(const struct machine *machine, int32_t cpu)
{
    return cpu >= 0 && lull_slots_get(&machine->cpu_numbers, (uint32_t)cpu)
               ? model_cpu_at(machine, cpu)
               : NULL;
}

/* The switches from its idle task are not traced, as on some kernels. After one alone the trace may have ended. */
static inline bool model_hides_idle(const struct cpu *cpu)
{
    return cpu && cpu->n_idled >= 2 && !cpu->has_left_idle;
}

#endif
