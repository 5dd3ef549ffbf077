/* SPDX-License-Identifier: MIT */
/* The model of all hosts of a session: reads typed events, keeps the state of CPUs, tasks,
 * interrupts, disks, and reports facts. State before the first event is unknown until a state dump,
 * a context or the first event reports it. */
#ifndef LULL_KERNEL_MODEL_H
#define LULL_KERNEL_MODEL_H

#include <lull/session.h>
#include <lull/waits.h>

#include "kernel/containers.h"
#include "kernel/facts.h"
#include "kernel/flow.h"
#include "kernel/stacks.h"

struct lull_model;

/* The session is borrowed and must outlive the model. `groups`: enum lull_event_group. */
struct lull_model *lull_model_new(struct lull_session *session, unsigned groups);
void lull_model_free(struct lull_model *model);

/* At most 8 subscribers, before lull_model_run(). `facts` is copied. */
void lull_model_subscribe(struct lull_model *model, const struct lull_facts *facts, void *user);

/* Says that the recording of a host started at first_ns and ended at last_ns, with events that the
 * model need not have requested; first_ns > last_ns: not known. Before reading. */
void lull_model_set_recorded(struct lull_model *model, uint32_t host, int64_t first_ns,
                             int64_t last_ns);

/* Reads the session from start to end; calls `progress` (may be NULL) every some thousand
 * events. */
void lull_model_run(struct lull_model *model, void (*progress)(void *user), void *user);
/* For `progress`: nothing more is read, and nothing more reported. */
void lull_model_stop(struct lull_model *model);

/* For a model that is to read only what comes after as_of_ns: takes from the state dump, as far as it
 * lies in start_ns <= t < end_ns, what is hardly another by then: processes, names, devices. Before
 * lull_model_run(); limits the session to that time. */
void lull_model_read_dump(struct lull_model *model, int64_t start_ns, int64_t end_ns,
                          int64_t as_of_ns);
/* Before lull_model_run(): takes from the state dump at the start of the recordings which containers
 * tasks are in, so that this is known from start_ns, their first event, on. Takes off the session's
 * limits. */
void lull_model_read_containers(struct lull_model *model, int64_t start_ns);

/* Feeds one typed event; for tests and sources that have no session. `event` is the struct of `id`.
 * System calls are identified by their number (of x86-64). */
void lull_model_feed(struct lull_model *model, unsigned id, const void *event, uint32_t host,
                     int32_t cpu, int64_t time_ns);
/* Says that reading is over: states that still last are reported up to the last event of their
 * host. */
void lull_model_finish(struct lull_model *model);

/* Makes `alarm` be called once, before the first event at or after `time_ns` is understood (with
 * the time of the event), or at the end of reading if there is none (with INT64_MAX). It may set
 * the next one, but not at the end. INT64_MAX: none. So that a consumer can cut what lasts at an
 * exact time. */
void lull_model_set_alarm(struct lull_model *model, int64_t time_ns,
                          void (*alarm)(void *user, int64_t time_ns), void *user);

/* What is so now, while reading (in a callback) or at the end. */

/* The first CPU of a host after this one (-1: the first of all) of which anything was seen so far,
 * or -1. */
int32_t lull_model_next_cpu(const struct lull_model *model, uint32_t host, int32_t after);
/* A host's first event, or where reading started, and the last one that was read; first_ns > last_ns: there is none. */
void lull_model_seen(const struct lull_model *model, uint32_t host, int64_t *first_ns,
                     int64_t *last_ns);
/* Who is on a CPU: LULL_NONE and true: idle; false: not known. *since_ns: until then switch facts
 * have reported what was on the CPU. */
bool lull_model_running(const struct lull_model *model, uint32_t host, int32_t cpu, uint32_t *task,
                        int64_t *since_ns);
/* Calls `visit` for each system call that has started and not ended, with is_open, end_ns = now, or
 * the end of its host's recording. */
void lull_model_each_syscall(const struct lull_model *model, int64_t now_ns,
                             void (*visit)(void *user, const struct lull_syscall_fact *fact),
                             void *user);
/* Calls `visit` for each state of a task that lasts, with next NONE and end_ns = now, or the end of
 * its host's recording. */
void lull_model_each_state(const struct lull_model *model, int64_t now_ns,
                           void (*visit)(void *user, const struct lull_state_fact *fact),
                           void *user);
/* Frequency in kHz and idle state of a CPU; -1 and INT64_MIN if not reported yet. */
void lull_model_power(const struct lull_model *model, uint32_t host, int32_t cpu,
                      int64_t *frequency_khz, int64_t *idle_state);
/* Whether perf recorded that CPUs of a host became idle, and never what they did then: some kernels
 * give it no events of an idle task, so the interrupts that end waits are missing. At the end. */
bool lull_model_hides_idle(const struct lull_model *model, uint32_t host);
/* The last known priority of a task, or LULL_NO_PRIO. */
int32_t lull_model_prio(const struct lull_model *model, uint32_t task);
/* How many counters the traces have, with LULL_GROUP_COUNTERS, and the label of the name of one:
 * "page-faults" of CPUs, "thread-page-faults" of threads. */
uint32_t lull_model_counter_count(const struct lull_model *model);
uint32_t lull_model_counter(const struct lull_model *model, uint32_t counter);
/* Whether the traces say for how long counters counted, as far as others took turns with them. */
bool lull_model_counters_tell_turns(const struct lull_model *model);
const struct lull_file *lull_model_file(const struct lull_model *model, uint32_t file);

/* NULL: there is no session. */
const char *lull_model_host_name(const struct lull_model *model, uint32_t host);
uint32_t lull_model_task_count(const struct lull_model *model);
const struct lull_task *lull_model_task(const struct lull_model *model, uint32_t task);
/* How the process of a task was called last, with its arguments, quoted where a shell needs it; NULL:
 * not recorded. */
const char *lull_model_command(const struct lull_model *model, uint32_t task);
/* Whether the task makes system calls, and they are recorded: one was, from its start to its end. */
bool lull_model_makes_calls(const struct lull_model *model, uint32_t task);
/* Name of the task at that time: the last it was known to have up to then, else the first known;
 * never NULL. */
const char *lull_model_comm(const struct lull_model *model, uint32_t task, int64_t time_ns);
/* Since when the task had the name that it has at a time; INT64_MIN: since it is known. */
int64_t lull_model_comm_since(const struct lull_model *model, uint32_t task, int64_t time_ns);
/* The container that the task is in now; one with the name "?" if that is not known. Valid as long as
 * the model. */
const struct lull_container *lull_model_container(const struct lull_model *model, uint32_t task);
/* Whether it was made in another control group of version 2 than its parent's, or its parent was: no
 * event says in which. */
bool lull_model_is_placed(const struct lull_model *model, uint32_t task);
/* All containers in which tasks were seen, in that order, each with its host. */
uint32_t lull_model_container_count(const struct lull_model *model);
const struct lull_container *lull_model_container_at(const struct lull_model *model, uint32_t index,
                                                     uint32_t *host);
/* Before anything is read: has a pseudo-task for each container (pod, control group), which has the
 * name of that and no tid. */
void lull_model_group_by(struct lull_model *model, enum lull_group_by by);
/* With LULL_BY_VM, before anything is read: the process `pid` and the thread `tid` of a host run the
 * virtual machine of this name. All tasks of a host count for the one of this name. Others are "host". */
void lull_model_add_vm(struct lull_model *model, uint32_t host, int32_t pid, int32_t tid,
                       const char *name);
void lull_model_is_vm(struct lull_model *model, uint32_t host, const char *name);
/* The one of where the task is now; the task itself if tasks are not grouped. */
uint32_t lull_model_row(const struct lull_model *model, uint32_t task);
/* True if the task ever had a name that one of `comms` matches, as lull_comm_matches() says. */
bool lull_model_had_comm(const struct lull_model *model, uint32_t task, const char *comms);
/* For how long of its life it had such names. */
int64_t lull_model_comm_ns(const struct lull_model *model, uint32_t task, const char *comms);
/* Whether a task's name is one of a list with commas between: each is the name itself, of which the
 * kernel keeps 15 bytes, or a pattern of a shell with *, ? and […]. */
bool lull_comm_matches(const char *comms, const char *comm);
/* The pseudo-task that represents interrupt context on a CPU; made on the first request. */
uint32_t lull_model_kernel_task(struct lull_model *model, uint32_t host, int32_t cpu);
/* Whether it is an idle task or interrupt context, kthreadd, or a thread that kthreadd made. */
bool lull_model_is_kernel_thread(const struct lull_model *model, uint32_t task);
/* The task that has this tid at the end, or the last that had it; LULL_NONE if none. */
uint32_t lull_model_find_tid(const struct lull_model *model, uint32_t host, int32_t tid);

/* The text of a label; NULL for LULL_NONE: it is not known. */
const char *lull_model_label(const struct lull_model *model, uint32_t label);
/* The calls of a chain, *n of them, innermost first; none for LULL_NONE. */
const struct lull_frame *lull_model_frames(const struct lull_model *model, uint32_t chain,
                                           uint32_t *n);
/* The build-id of a file in which one of these lies, hexadecimal digits; NULL: not known. */
const char *lull_model_build_id(const struct lull_model *model, uint32_t chain, const char *object);
/* Where the source of the function of one of these calls starts. */
struct lull_source_line lull_model_start(const struct lull_model *model, uint32_t chain,
                                         uint32_t frame);
/* Whether names are to be as compilers write them. */
bool lull_model_wants_raw_names(const struct lull_model *model);
/* The line of the call itself, and whether it is known what lies at an address of a process: with
 * LULL_GROUP_STACKS. */
struct lull_source_line lull_model_line(const struct lull_model *model, uint32_t chain,
                                        uint32_t frame);
bool lull_model_is_mapped(const struct lull_model *model, uint32_t host, int32_t pid,
                          uint64_t address);
/* What became of stacks that were recorded as they lay in memory; all 0: there were none, or
 * no model. */
struct lull_stack_ends lull_model_stack_ends(const struct lull_model *model);
/* What lies at an address of a process (of the kernel, if the address is there), as a chain of one
 * call; LULL_NONE: nothing can. */
uint32_t lull_model_place(struct lull_model *model, uint32_t host, int32_t pid, uint64_t address);
/* What a wait in io_uring_enter() was for: the request whose end ended it, else the oldest of its ring. */
struct lull_uring_wait {
    uint64_t user_data;
    uint32_t file;    /* lull_model_file() that the request uses, or LULL_NONE */
    uint32_t n_ended; /* requests of the ring that ended since the wait started; UINT32_MAX: many */
    uint8_t operation; /* IORING_OP_… + 1; 0: not known */
    bool
        timed_out; /* by a time-out that is a request itself; then the request is another that it was for */
};
/* A task waited from start_ns to end_ns in its io_uring_enter() that started at call_ns, and did not wait there again
 * up to until_ns, which is not after now. */
struct lull_uring_times {
    int64_t call_ns, start_ns, end_ns, until_ns;
};
/* False: nothing of the ring is known. */
bool lull_model_uring_wait(const struct lull_model *model, uint32_t task,
                           const struct lull_uring_times *times, struct lull_uring_wait *out);
/* Whether a task has had to wait since then until a lease of a file was given up, or was taken away by the kernel;
 * *holder: whose, or LULL_NONE if that was not recorded. */
bool lull_model_lease(const struct lull_model *model, uint32_t task, int64_t since_ns,
                      uint32_t *holder);
uint32_t lull_model_request_count(const struct lull_model *model);
const struct lull_block_request *lull_model_request(const struct lull_model *model,
                                                    uint32_t request);
/* That moves no data. */
bool lull_block_is_flush(const struct lull_block_request *request);
/* "read", "write", "discard" or "flush"; "command" if it moves nothing, "request" if its flags were not
 * recorded. */
const char *lull_block_operation(const struct lull_block_request *request);
/* Name of the block device (mapped_dev) of a request ("vda"), or NULL if no state dump reported it.
 * Tracers give requests wrong device numbers on some kernels (LTTng 2.13 on Linux 6.1); then the
 * device is known from bios merged into the request, or by others that completed in the same
 * interrupt. */
const char *lull_model_device(const struct lull_model *model, uint32_t request);
/* The same as a label, or LULL_NONE. */
uint32_t lull_model_device_label(const struct lull_model *model, uint32_t request);
const struct lull_flows *lull_model_flows(const struct lull_model *model);
/* Whether a host that sends on that flow of TCP knows, from its sockets, that nothing comes back any more; where packets are
 * recorded with their headers, those say it. */
bool lull_model_flow_is_over(const struct lull_model *model, uint32_t host, uint32_t flow);
/* Start and end of the events seen; start > end if there were none. */
void lull_model_range(const struct lull_model *model, int64_t *start_ns, int64_t *end_ns);

#endif
