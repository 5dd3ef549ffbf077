/* SPDX-License-Identifier: MIT */
/* What the building of the execution graph leaves for the output of paths. */
#ifndef LULL_GRAPH_EXECGRAPH_PRIVATE_H
#define LULL_GRAPH_EXECGRAPH_PRIVATE_H

#include "base/map.h"
#include "base/slots.h"
#include "base/vec.h"
#include "graph/execgraph.h"
#include "graph/holds.h"
#include "graph/raises.h"
#include "graph/spans.h"
#include "graph/vcpu_track.h"
#include "clock/match.h"
#include "clock/tcp_waits.h"
#include "kernel/faults.h"
#include "kernel/kills.h"
#include "kernel/wait_reason.h"

/* What is known about a wait or a transit; the `detail` of points and links. */
struct evidence {
    uint32_t label;  /* interrupt; is_dirty: the disk; or LULL_NONE */
    uint32_t reason; /* of a wait; number in execgraph.reasons, or LULL_NONE */
    uint32_t index;  /* block request (cause DISK), packet (cause NETWORK, or cause TIMER: what
                        the timer sent), or LULL_NONE */
    uint32_t waker;  /* task (cause TASK), or LULL_NONE */
    bool is_open;    /* the wait lasted until the end of the trace */
    bool is_request; /* cause DISK, also where a host's doing explains it */
    bool is_dirty;   /* cause DISK, but no request: as struct lull_wait_reason says */
};

/* Who raised the softirq in which a wait ended: a task, or an interrupt, by its label. */
struct raiser_note {
    uint32_t task, label; /* one of them is LULL_NONE */
};

/* Which request of an io_uring a wait was for. */
struct uring_note {
    uint64_t user_data;
    uint32_t n_ended; /* as in struct lull_uring_wait */
};

enum { ASKED_TO_CONNECT = -2 };

/* What a task sent. */
struct sent_note {
    int64_t time_ns;
    int64_t bytes; /* -1: not known; ASKED_TO_CONNECT: none, but whether it wants to talk */
    uint32_t file; /* LULL_NONE: nothing, or it was answered */
    uint32_t path; /* label of what that was called then: a UDP socket sends to many */
};

/* What a task does between its waits for one of several descriptors, which are turns of a loop. */
struct loop_note {
    int64_t ready_ns; /* end of the last, if it is not known yet which was ready; or INT64_MIN */
    int64_t slept_ns; /* end of the last, in any case */
    int64_t sent_ns;  /* when it last sent bytes on a TCP connection, */
    uint32_t sent_on; /* on that flow; LULL_NONE: not in the call that it is in */
    uint32_t turn;    /* the turn now; LULL_NONE: it has used no descriptor in it */
};

/* Who used a descriptor; task: LULL_NONE: nobody. */
struct use_note {
    int64_t time_ns;
    uint32_t task, turn;
};

/* asked.c: in which turn of whom descriptors were used, and what connections they are. */
struct loops {
    LULL_VEC(int64_t) turns;        /* the start of the wait that ended each; INT64_MAX: none has */
    LULL_VEC(struct use_note) uses; /* by file: the last time it brought or took something */
    struct lull_slots kinds;        /* by label of a call: enum lull_wait_kind + 1 */
    struct lull_slots flow_of; /* by file: the flow on which what is written to it goes out + 1 */
    struct lull_slots arrived; /* by flow: the last packet with bytes that was received + 1 */
};

/* The last wait of a task in the call that it is in. */
struct wait_note {
    uint32_t evidence; /* LULL_NONE: it has not waited there */
    int64_t start_ns, end_ns;
    /* A timer ended it, or not; then where the waits of the call start that timers ended, up to it. */
    bool is_by_timer;
    int64_t polled_ns;
    /* Label of its last call, if that failed because it would never have ended; or LULL_NONE. */
    uint32_t refused;
    /* Its last wait that timed out, or that a signal interrupted, and that nothing has ended yet. */
    uint32_t tries;
    /* A signal interrupted that: one of a timer, whose handler may do anything; or another, which was of use if the task does
     * anything then. */
    bool is_ticked, is_cut;
    bool has_come; /* something for the wait in this call, or a signal, as its end will say */
    struct loop_note loop;
    int64_t
        left_ns; /* so long it may still run to be only trying again; negative: it does other things */
};

/* A wait that ended by the time-out of its call, or that a signal interrupted. */
struct timeout_note {
    /* From the start of the call, or of the first that a signal cut short; INT64_MIN: not seen. */
    int64_t start_ns, end_ns;
    struct sent_note sent; /* without an answer until then */
    /* For what, as in struct lull_wait_reason. */
    uint64_t address;
    uint32_t call, file;
    int32_t fd;
    int64_t since_ns; /* start of the first of the tries between which it did nothing else */
    int64_t cut_ns; /* the same of those up to it that signals interrupted; INT64_MAX: it was not */
    uint32_t n_tries;   /* of them, this is the last */
    uint32_t n_signals; /* interrupted so many of the tries */
    uint32_t before;    /* the wait for the same futex before this one, likewise, or LULL_NONE */
    uint32_t later;     /* task that woke it there in the end, or LULL_NONE */
};

/* A wait that had not ended when the trace did. */
struct open_note {
    int64_t start_ns, end_ns;
    uint32_t task, evidence;
    uint32_t refused; /* the call right before, as in struct wait_note */
    uint32_t holder;  /* task that held the lock it was for; LULL_NONE: not known */
    bool is_older;    /* its call started before anybody looked */
    /* It may end otherwise: by any thread of the holder's process, or by its own time-out. */
    bool is_open;
};

#define MOST_PAYLOAD ((UINT32_C(1) << 30) - 1)

struct packet_note {
    int64_t time_ns;
    uint32_t line; /* task or kernel context that sent it */
    uint32_t peer; /* received packet: number of the matched sent one, or LULL_NONE */
    uint32_t flow;
    uint32_t payload : 30; /* MOST_PAYLOAD if it is said to be more */
    uint32_t is_received : 1;
    uint32_t has_numbers : 1; /* of TCP, without addresses: flow is LULL_NONE */
};

struct switch_note {
    int64_t time_ns;
    uint32_t task; /* LULL_NONE: idle, or is_unknown */
    bool is_unknown, previous_is_runnable;
};

struct interrupt_note {
    int64_t start_ns, end_ns;
    uint32_t label;
};

/* What happened on one CPU, in time order. */
struct cpu_notes {
    LULL_VEC(struct switch_note) switches;
    LULL_VEC(struct interrupt_note) interrupts; /* of tasks, not of the idle loop */
};

struct host_notes {
    LULL_VEC(struct cpu_notes) cpus;
    int64_t
        quotas_ns; /* until then no CPU quotas kept tasks off CPUs but those in lull_quotas; INT64_MIN: not known */
    int64_t
        steal_ns; /* so long its hypervisor ran others on its CPUs, in its recordings; 0: never, or not known */
    int64_t lost_ns; /* until when events were lost, at the latest; INT64_MIN: none were */
    int64_t
        missing_ns; /* until when events are missing, lost or not recorded; INT64_MIN: none are */
    bool has_calls; /* of some task */
};

/* What a task needs of memory. */
struct paging_note {
    int64_t reclaim_ns; /* since when memory is freed for it; INT64_MIN: it is not */
    int64_t move_ns;    /* since when memory is moved for it; likewise */
    int64_t dump_ns;    /* since when its core is dumped; INT64_MAX: it is not */
};

/* The last time in which a virtual CPU did not run though it was awake, and its guest's CPU was idle. */
struct idle_note {
    int64_t start_ns, end_ns;
};

/* A process was moved to another control group. */
struct move_note {
    int64_t time_ns;
    int64_t hierarchy;
    uint32_t task, path; /* a task of it; label */
};

/* A timer that starts the period of a CPU quota expired. */
struct timer_note {
    int64_t time_ns;
    uint64_t timer;
    uint32_t host;
};

/* What schedules a task. Other than the fair one, they have limits that no control group sets. */
enum sched_class { CLASS_FAIR, CLASS_REAL_TIME, CLASS_DEADLINE };

/* A task came to a class of the scheduler. */
struct class_note {
    int64_t time_ns;
    uint32_t before; /* the change before, or LULL_NONE */
    enum sched_class class;
};

struct quota_clock {
    uint32_t host;
    uint64_t function; /* of those timers */
};

#define UNKNOWN_HOLDER (LULL_NONE - 1)

struct lull_execgraph {
    struct lull_model *model;
    const struct lull_sync *sync; /* or NULL */
    struct lull_graph *graph;
    struct lull_matcher *matcher;
    struct lull_tcp_waits *tcp_waits;
    LULL_VEC(struct evidence) evidence;
    LULL_VEC(uint32_t) chains; /* of calls, by evidence; what is after the end has none */
    LULL_VEC(struct packet_note) packets;
    struct lull_holds holds;
    struct lull_map passed_on; /* packet that was sent → the received one that it is */
    LULL_VEC(struct host_notes) hosts;
    LULL_VEC(uint32_t) senders; /* by flow: the task that sent on it last, or LULL_NONE */
    struct lull_wait_reasons reasons;
    LULL_VEC(struct wait_note) last_waits; /* by task */
    LULL_VEC(struct sent_note) sent;       /* by task, the last */
    struct loops loops;
    bool has_asked; /* a task has asked for a connection without waiting for it */
    LULL_VEC(struct timeout_note) timeouts;
    struct lull_map timeout_of; /* evidence → one of these */
    struct lull_map tries_of;   /* evidence of a wait that a waker ended → its last try before */
    struct lull_map before_of;  /* evidence of a wait → that of the one before in the same call */
    LULL_VEC(struct uring_note) urings;
    struct lull_map uring_of; /* evidence → one of these */
    struct lull_map
        lease_of; /* evidence → who held the lease that was waited for, or UNKNOWN_HOLDER */
    LULL_VEC(struct open_note) open_waits; /* until the end of the trace */
    struct lull_map open_of;               /* task → one of these */
    LULL_VEC(struct raiser_note) raisers;
    struct lull_map raiser_of;         /* evidence → one of these */
    LULL_VEC(struct lull_spans) calls; /* by task; named by labels */
    LULL_VEC(struct lull_spans)
    reclaims; /* by task: when memory was freed or moved for it; the name is the mode */
    LULL_VEC(struct paging_note) paging; /* by task */
    struct lull_faults faults;
    LULL_VEC(struct move_note) moves;
    struct lull_vcpu_track *vcpus;         /* NULL: no guest's clock is joined with its host's */
    struct lull_raises *raises;            /* NULL: likewise */
    LULL_VEC(struct idle_note) idle_notes; /* by virtual CPU of vcpus */
    LULL_VEC(struct quota_clock) quota_clocks; /* of hosts where a CPU quota kept tasks off CPUs */
    LULL_VEC(struct timer_note) quota_timers;
    struct lull_quotas *quotas; /* NULL: no CPU quota kept a task off the CPU */
    struct lull_map
        kept_off; /* processes of which a task left a CPU that then idled, though it could go on → 1 */
    struct lull_map class_of; /* task that was of another than the fair one → its last change */
    LULL_VEC(struct class_note) classes;
    LULL_VEC(struct lull_lost_fact) gaps; /* when nothing was recorded on a host */
};

/* execgraph.c */
struct host_notes *lull_execgraph_host(struct lull_execgraph *eg, uint32_t host);

/* execgraph_waits.c: the number of the evidence of a wait that ends; packet: which woke the task, or
 * LULL_NONE. */
uint32_t lull_waits_note(struct lull_execgraph *eg, const struct lull_state_fact *fact,
                         uint32_t packet);
/* Between two tries a task may look at the clock; if it runs for long, or wakes others, its time-out
 * was of use. The handler of a signal may wake others: the call that it interrupted waits on. */
void lull_waits_activity(struct lull_execgraph *eg, const struct lull_state_fact *fact);
/* How a call ended says what had ended the last wait in it. */
void lull_waits_syscall(struct lull_execgraph *eg, const struct lull_syscall_fact *fact);

/* asked.c: whether a task waited for one of several descriptors; the call in which it did is over; a task has used one; a packet,
 * or a segment, was sent or received. */
bool lull_asked_is_loop(struct lull_execgraph *eg, const struct lull_wait_reason *reason);
void lull_asked_ready(struct lull_execgraph *eg, const struct lull_syscall_fact *fact,
                      struct loop_note *loop, int64_t start_ns, int64_t end_ns);
void lull_asked_use(struct lull_execgraph *eg, const struct lull_syscall_fact *fact,
                    struct loop_note *loop);
void lull_asked_packet(struct lull_execgraph *eg, const struct lull_packet_fact *fact);
void lull_asked_free(struct loops *loops);

/* stuck.c: the task that held the lock that an open wait of `line` is for; LULL_NONE: none, or not known. */
uint32_t lull_stuck_holder(const struct lull_execgraph *eg, uint32_t line, uint32_t evidence);
/* What whoever holds what such a wait is for has to do with it. */
const struct lull_open_role *lull_stuck_role(const struct lull_execgraph *eg, uint32_t evidence);
/* Lists in a path whose last segment has that evidence, if it is an open wait, that one and those that it depends on. */
void lull_stuck_list(const struct lull_execgraph *eg, struct lull_path *path, uint32_t evidence);

/* path_kills.c: lists in a path that has its sums the processes of it that were killed in its time. */
void lull_path_list_kills(const struct lull_execgraph *eg, struct lull_path *path);
/* path_idle.c: fills path->idle. */
void lull_path_list_idle(const struct lull_execgraph *eg, struct lull_path *path);
/* For how long some CPU of the host but `cpu` was idle in that time, in which a task waited for that one. False: that is
 * too short to say something, or which CPU it waited for is not known (-1). */
bool lull_idle_elsewhere(const struct lull_execgraph *eg, uint32_t host, int32_t cpu,
                         int64_t start_ns, int64_t end_ns, int64_t *idle_ns);
/* preemption.c: the number of the first switch of a CPU after time_ns. */
size_t lull_switch_after(const struct cpu_notes *notes, int64_t time_ns);

/* A part of a hop in which the task was in one state: a task on a CPU does not run while an
 * interrupt handler runs there. */
struct path_piece {
    const struct lull_hop *hop;
    int64_t start_ns, end_ns;
    enum lull_state state;
    uint32_t label; /* INTERRUPTED: of the interrupt; THROTTLED: lull_quotas_at(), or LULL_NONE if
                       only the idle CPU says so; else LULL_NONE */
    enum lull_cause cause;
};

/* execgraph_path.c: the pieces of a hop in time order. None is empty; they cover it. */
typedef void take_path_piece(void *user, const struct path_piece *piece);
void lull_path_each_piece(const struct lull_execgraph *eg, const struct lull_hop *hop,
                          take_path_piece *take, void *user);

/* hypervisor.c: tasks of guests wait for the threads of their virtual CPUs, and for what the host does
 * for them. Without vcpus the first two are all there is to call. */
void lull_hypervisor_start(struct lull_execgraph *eg);
void lull_hypervisor_free(struct lull_execgraph *eg);
void lull_hypervisor_vcpu(struct lull_execgraph *eg, const struct lull_vcpu_fact *fact);
void lull_hypervisor_interrupt(struct lull_execgraph *eg, const struct lull_interrupt_fact *fact);
/* A state of a task is about to get its point, of which `evidence` is the detail: puts points before
 * that, if a part of the time was the host's. */
void lull_hypervisor_state(struct lull_execgraph *eg, const struct lull_state_fact *fact,
                           uint32_t evidence);
/* It has its point: links it with what the host did for it, if that is known. */
void lull_hypervisor_woken(struct lull_execgraph *eg, const struct lull_state_fact *fact);

/* modes.c: what runs while a task does. A call becomes known when it ends. */
void lull_modes_note(struct lull_execgraph *eg, const struct lull_syscall_fact *fact);
void lull_modes_free(struct lull_execgraph *eg);
void lull_modes_paging(struct lull_execgraph *eg, const struct lull_paging_fact *fact);
/* Whether its core is dumped then. */
bool lull_modes_in_dump(const struct lull_execgraph *eg, uint32_t task, int64_t time_ns);
/* What the kernel does for the task in most of that time: RECLAIM, COMPACTION, or DUMP if it starts with that; else UNKNOWN. */
enum lull_mode lull_modes_meanwhile(const struct lull_execgraph *eg, uint32_t task,
                                    int64_t start_ns, int64_t end_ns);
/* How much of the piece that is; it begins at *start_ns. */
int64_t lull_modes_dump_ns(const struct lull_execgraph *eg, const struct path_piece *piece,
                           int64_t *start_ns);
/* What the task runs when it is in no call. */
enum lull_mode lull_modes_outside(const struct lull_execgraph *eg,
                                  const struct lull_session *session, uint32_t task);
/* The stretches of a piece that is RUNNING, in time order; `name`: of the call, a label. None is
 * empty; they cover it. */
typedef void take_mode(void *user, enum lull_mode mode, uint32_t name, int64_t ns);
void lull_modes_each(const struct lull_execgraph *eg, const struct path_piece *piece,
                     enum lull_mode outside, take_mode *take, void *user);

/* quotas.c: the next time after start_ns in which a quota kept the task off that CPU, of which it is
 * known that it was runnable from since_ns to until_ns. False: there is none. */
struct throttling {
    int64_t start_ns, end_ns;
    uint32_t quota;
};
bool lull_quotas_next(const struct lull_execgraph *eg, uint32_t task, int32_t cpu, int64_t since_ns,
                      int64_t until_ns, int64_t start_ns, struct throttling *found);
/* The innermost quota of those that keep tasks off the CPU, to which the task belonged at that time;
 * or LULL_NONE. */
uint32_t lull_quotas_of(const struct lull_execgraph *eg, uint32_t task, int64_t time_ns);
/* Whether one may have kept the task off the CPU at that time; of tasks of real time other limits than those of control
 * groups. */
bool lull_quotas_may(const struct lull_execgraph *eg, uint32_t task, int64_t time_ns);
/* The last switch of a CPU is about to be followed by one at that time. */
void lull_quotas_switched(struct lull_execgraph *eg, const struct cpu_notes *notes,
                          int64_t time_ns);
/* Whether something certainly kept tasks of its process off CPUs. */
bool lull_quotas_is_kept_off(const struct lull_execgraph *eg, uint32_t task);
const struct lull_cpu_quota *lull_quotas_at(const struct lull_execgraph *eg, uint32_t quota);
/* "of /x, 20.0 ms per 100.0 ms" */
void lull_quotas_append(const struct lull_execgraph *eg, uint32_t quota, GString *out);
/* Fills quotas of a path that has its sums. */
void lull_quotas_list(const struct lull_execgraph *eg, struct lull_path *path);
void lull_quotas_free(struct lull_quotas *quotas);

/* Texts that a path keeps. Most are the names of few tasks, again and again: those are found by the
 * address at which the model keeps them. */
struct path_name {
    const char *known;                      /* of the model */
    const char *comm, *program, *preemptor; /* "kworker/0:1", "kworker", "by kworker" */
};
enum { PATH_NAMES = 256 };
struct path_texts {
    GStringChunk *strings;
    GString *text; /* of the one that is made */
    struct path_name names[PATH_NAMES];
};

/* evidence.c: what is known about a hop, put into a segment that has no evidence yet. Texts are
 * kept in `strings`. */
void lull_evidence_wait(const struct lull_execgraph *eg, const struct lull_hop *hop,
                        GStringChunk *strings, struct lull_segment *segment);
/* evidence_packet.c: what packet that is, put into a segment, and as a part of a sentence. */
void lull_evidence_set_packet(const struct lull_execgraph *eg, uint32_t index,
                              GStringChunk *strings, struct lull_segment *segment);
void lull_evidence_append_packet(const struct lull_execgraph *eg, uint32_t index, GString *out);
/* Without what differs each time; false: nothing is known of it. */
bool lull_evidence_append_packet_kind(const struct lull_execgraph *eg, const struct lull_hop *hop,
                                      uint32_t index, GString *out);
/* evidence_late.c: whose lease the kernel waited for, with a timer; LULL_NONE: none, or not known. The next append that as
 * part of a sentence, and which request of an io_uring it was, as its program knows it; nothing if there is none. */
uint32_t lull_evidence_holder(const struct lull_execgraph *eg, uint32_t detail);
void lull_evidence_append_lease(const struct lull_execgraph *eg, uint32_t detail, int64_t time_ns,
                                GString *out);
void lull_evidence_append_uring(const struct lull_execgraph *eg, uint32_t detail, GString *out);
/* The time-out that ended the wait, or NULL. */
const struct timeout_note *lull_evidence_timeout(const struct lull_execgraph *eg, uint32_t detail);
/* The last of the tries that timed out, or that signals interrupted, before that wait for the same; NULL: there was none, or
 * the task did other things in between. */
const struct timeout_note *lull_evidence_tries(const struct lull_execgraph *eg, uint32_t detail);
/* ", after 3 time-outs and interrupted by 1 signal" */
void lull_evidence_append_tries(const struct timeout_note *tried, GString *out);
/* ": no answer from 127.0.0.1:53" */
void lull_evidence_append_no_answer(const struct lull_execgraph *eg,
                                    const struct timeout_note *timeout, GString *out);
/* " of 10.9.0.2:80": what poll() waited for that is not said to have left something without an answer. */
bool lull_evidence_append_polled(const struct lull_execgraph *eg,
                                 const struct lull_wait_reason *reason,
                                 const struct timeout_note *timeout, GString *out);
/* "poll timed out after 700.0 ms: no answer from 127.0.0.1:53 to 18 bytes sent 100.0 us before" */
void lull_evidence_append_timeout(const struct lull_execgraph *eg,
                                  const struct lull_wait_reason *reason,
                                  const struct timeout_note *timeout, GString *out);
/* Whether the call says that it was for its own timer, which then need not be said: not every tracer sees it. */
bool lull_evidence_is_own_timer(const struct lull_execgraph *eg, uint32_t detail);
/* It runs what another thread of its process executed, which it has been since. */
void lull_evidence_executed(const struct lull_execgraph *eg, const struct path_piece *piece,
                            struct path_texts *texts, struct lull_segment *segment);
/* "postgres/589" */
void lull_evidence_append_task(const struct lull_execgraph *eg, uint32_t task, int64_t time_ns,
                               GString *out);
/* Another task that the evidence names, or LULL_NONE. */
void lull_evidence_set_other(const struct lull_execgraph *eg, uint32_t task, int64_t time_ns,
                             GStringChunk *strings, struct lull_segment *segment);
/* The same about a wait that the path goes into. */
void lull_evidence_entered(const struct lull_execgraph *eg, uint32_t detail, GStringChunk *strings,
                           struct lull_wait *wait);
/* Why a task waited, or NULL: it was in no call. */
const struct lull_wait_reason *lull_evidence_reason(const struct lull_execgraph *eg,
                                                    uint32_t detail);
/* execgraph_path.c: what is kept of the name of a task; borrowed until the next call. */
const struct path_name *lull_path_name(struct path_texts *texts, const struct lull_model *model,
                                       uint32_t task, int64_t time_ns);
/* preemption.c: a task has another priority; whether it ever had one that is not of the fair class. */
void lull_preemption_prio(struct lull_execgraph *eg, const struct lull_prio_fact *fact);
bool lull_preemption_is_special(const struct lull_execgraph *eg, uint32_t task);
/* Returns lull_evidence_shares(), or NULL: nobody else, a quota kept the task off the CPU. */
GArray *lull_evidence_preempted(const struct lull_execgraph *eg, const struct path_piece *piece,
                                struct path_texts *texts, struct lull_segment *segment);
/* The calls by which the task of a hop fell asleep, or LULL_NONE. */
uint32_t lull_evidence_chain(const struct lull_execgraph *eg, const struct lull_hop *hop);
/* How long each other task, or idleness (LULL_NONE), had the CPU of a preempted piece, longest
 * first; an empty array if that is not known. Free with g_array_unref(). */
struct cpu_share {
    uint32_t task;
    uint32_t
        guest_task; /* it is a virtual CPU, which ran that task of a guest; or LULL_VCPU_UNKNOWN */
    int64_t ns;
};
GArray *lull_evidence_shares(const struct lull_execgraph *eg, const struct path_piece *piece);
/* In words that are the same each time the same thing happens, appended to `out`: who had the CPU.
 */
void lull_evidence_append_preemptor(const struct lull_execgraph *eg, const struct cpu_share *share,
                                    int64_t time_ns, GString *out);
/* "by kworker", as lull_evidence_append_preemptor() says it, kept. */
const char *lull_evidence_kept_preemptor(const struct lull_execgraph *eg,
                                         const struct cpu_share *share, int64_t time_ns,
                                         struct path_texts *texts);
/* Who that was: the task of the guest, if it is known. */
uint32_t lull_evidence_preemptor(const struct cpu_share *share);
/* What a wait or an interrupt is about: the device, the peer, the waker's name, the system call,
 * the handler; nothing if nothing is known. Returns the waker, or LULL_NONE. */
uint32_t lull_evidence_subject(const struct lull_execgraph *eg, const struct path_piece *piece,
                               GString *out);
/* Appends a task's name without what only distinguishes siblings: "kworker" for "kworker/0:1". */
void lull_evidence_append_kind(GString *out, const char *comm);

#endif
