/* SPDX-License-Identifier: MIT */
/* What the parts of the machine, machine_*.c, offer each other and the loop that hands them events. */
#ifndef LULL_KERNEL_MACHINE_H
#define LULL_KERNEL_MACHINE_H

#include "kernel/model_private.h"

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
/* The thread on the CPU goes on as the leader of its process, whose task stood still. */
void sched_hand_over(struct lull_model *model, struct machine *machine, int32_t c, int64_t t,
                     uint32_t thread, uint32_t leader);

void sched_switched(struct lull_model *model, struct machine *machine, int32_t c, int64_t t,
                    const struct lull_ev_sched_switch *ev);
void sched_migrated(struct lull_model *model, struct machine *machine, int32_t c, int64_t t,
                    const struct lull_ev_sched_migrate_task *ev);
/* A blocked task will not be woken any more before it runs. True: it was before. */
bool sched_settle(struct task *task);
/* A task that did not run since its state began may have done so where events are missing: what it did then is not known,
 * nor what ended its state before. True if that is so; from the last of them on it `stays` in a state: of what happens
 * at t it is known that it ends that. */
bool sched_cut(struct lull_model *model, const struct machine *machine, uint32_t number, int64_t t,
               enum lull_state stays);
/* From t on nothing was recorded: what tasks and disks did is not known. What CPUs did is lost before. */
void sched_stop(struct lull_model *model, struct machine *machine, int64_t t);
/* What was on the CPU from start_ns on is not known; nothing was lost after since_ns (INT64_MAX:
 * that is the next event of the stream). */
void sched_lost(struct lull_model *model, struct machine *machine, int32_t c, int64_t start_ns,
                int64_t since_ns);
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
/* Moved to another control group. */
void sched_attached(struct lull_model *model, struct machine *machine, int32_t c, int64_t t,
                    const struct lull_ev_cgroup_attach_task *ev);
void sched_dumped(struct lull_model *model, struct machine *machine, int64_t t,
                  const struct lull_ev_statedump_process *ev);
void sched_exited(struct lull_model *model, struct machine *machine, int64_t t, int32_t tid,
                  bool is_free);

/* machine_wake.c */
void sched_wake_event(struct lull_model *model, struct machine *machine, int32_t c, int64_t t,
                      enum lull_event_id id, const void *event);

/* machine_exec.c */
void sched_executed(struct lull_model *model, struct machine *machine, int32_t c, int64_t t,
                    const struct lull_ev_sched_process_exec *ev);
/* A system call that runs another program has ended; whether it did is not known. */
void sched_exec_ended(struct task *task, int64_t t);
/* It has succeeded. path: of the program; "": not reported; NULL: the name is known already. */
void sched_exec_returned(struct lull_model *model, uint32_t task, int64_t t, const char *path);
/* Whether who was on the CPU has become the leader of its process: an event there names that in its place. */
bool sched_taken_over(struct lull_model *model, struct machine *machine, int32_t c, int64_t t,
                      int32_t tid);

/* machine_names.c: what the recorder has read of calls */
void names_path(struct lull_model *model, struct machine *machine,
                const struct lull_ev_call_path *ev);
void names_address(struct lull_model *model, struct machine *machine,
                   const struct lull_ev_call_address *ev);
void names_peer(struct lull_model *model, struct machine *machine,
                const struct lull_ev_statedump_peer *ev);
void names_poll(struct lull_model *model, struct machine *machine,
                const struct lull_ev_call_poll *ev);
/* The state of the machine says what a call asks for, while its task sleeps in it: what becomes ready counts instead, if that is
 * said later. */
void names_polled(struct lull_model *model, struct machine *machine,
                  const struct lull_ev_statedump_poll *ev);
void names_epoll(struct lull_model *model, struct machine *machine,
                 const struct lull_ev_call_epoll *ev);
void names_pair(struct lull_model *model, struct machine *machine,
                const struct lull_ev_call_pair *ev);
void names_command(struct lull_model *model, struct machine *machine,
                   const struct lull_ev_command_line *ev);
void names_file(struct lull_model *model, const struct machine *machine,
                const struct lull_ev_mapped_file *ev);
/* Label of the last path that was seen of a regular file, or LULL_NONE. dev: as the kernel numbers devices. */
uint32_t names_of_inode(const struct lull_model *model, uint32_t host, int64_t dev, uint64_t inode);
void names_free(struct inode_names *names);

/* machine_polled.c */
/* Label of "10.9.0.2:80, a pipe or a timerfd"; things that are called the same once.
 * LULL_NONE: n is 0, or nothing is known of one of them. */
uint32_t polled_alternatives(struct lull_model *model, const uint32_t *files, uint32_t n);
void polled_started(struct call *call, const struct call_class *call_class,
                    const struct lull_ev_poll_entry *ev);
void polled_ended(struct call *call, const struct call_class *call_class,
                  const struct lull_ev_poll_exit *ev);
/* A descriptor that the call has waited for; of one that ends, and for which some became ready, one of these. */
void polled_add(struct call *call, int64_t fd);
/* The same of a file; LULL_NONE: it is not known which. */
void polled_add_file(struct call *call, uint32_t file);
/* The call in which its task has blocked, or that ends then: label of what is known of what it waited for, or LULL_NONE. */
uint32_t polled_label(struct lull_model *model, struct call *call);

/* machine_containers.c */
void containers_named(struct lull_model *model, const struct lull_ev_statedump_container *ev);
void containers_dumped(struct lull_model *model, struct machine *machine,
                       const struct lull_ev_statedump_cgroup *ev);
void containers_dumped_ns(struct lull_model *model, struct machine *machine,
                          const struct lull_ev_statedump_pid_ns *ev);
void containers_dumped_process(struct lull_model *model, struct machine *machine,
                               const struct lull_ev_statedump_process *ev);
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
/* Interrupts leave work to threads, which the kernel wakes after a handler has returned, when a softirq is raised, or after
 * others have run: then nothing but their names says for what. */
enum irq_thread { IRQ_NO_THREAD, IRQ_HANDLERS_THREAD, IRQ_SOFTIRQS_THREAD, IRQ_TIMERS_THREAD };
/* Where an event itself says that it happened. */
enum irq_context { IRQ_NOT_TOLD, IRQ_NONE, IRQ_HARD, IRQ_SOFT };
/* Whether the CPU wakes that task for an interrupt or a softirq though it may be in none. */
enum irq_thread irq_thread_of(const struct lull_model *model, const struct cpu *cpu, int32_t c,
                              const struct task *task, enum irq_context context);
/* From the flags of ftrace and perf. */
enum irq_context irq_context_of(bool is_reported, int64_t flags);
/* A wait ended and nothing is recorded of what ended it, as where a kernel hides what happens while its CPUs
 * idle, or only some tasks are recorded. What the task was about to wait for still shows it if there is only one such
 * thing; else the wake-up stays as it is. */
void irq_guess(const struct lull_model *model, const struct task *task, struct lull_wakeup *wakeup);
/* The cause that a wake-up of the task on this CPU has. */
void irq_classify(const struct lull_model *model, const struct machine *machine, struct cpu *cpu,
                  const struct task *task, enum irq_thread thread, enum irq_context context,
                  struct lull_wakeup *wakeup);
/* Of a wake-up by a disk, on that CPU at t. A loop device is a file: what ended a wait for it is a kernel thread that read or
 * wrote that, if it is still there or has woken ksoftirqd. The wake-up says so then: it is who raised that. */
void irq_name_server(const struct lull_model *model, const struct cpu *cpu, int64_t t,
                     struct lull_wakeup *wakeup);
/* What a handler represents, when something other than a wake-up happens in it. */
enum lull_cause irq_frame_cause(const struct frame *frame);

/* machine_io.c */
void io_packet(struct lull_model *model, struct machine *machine, int32_t c, int64_t t,
               bool is_send, const void *event);
/* The same of inet_sock_local_out and inet_sock_local_in. */
void io_socket_packet(struct lull_model *model, struct machine *machine, int32_t c, int64_t t,
                      bool is_send, const void *event);
void io_merged(struct machine *machine, struct cpu *cpu, const struct lull_ev_block_bio_merge *ev);
void io_merged_in_front(struct lull_model *model, struct machine *machine, struct cpu *cpu,
                        const struct lull_ev_block_bio_frontmerge *ev);
void io_remapped(struct machine *machine, const struct lull_ev_block_bio_remap *ev);
void io_requeued(struct lull_model *model, struct machine *machine,
                 const struct lull_ev_block_rq_requeue *ev);
/* Of a network device's name; never 0 if that was recorded. */
uint32_t io_device_hash(struct lull_text name);
/* Whether no device can have that number, so that its disk has to be found otherwise. */
bool io_is_wrong_device(const struct machine *machine, uint32_t dev);
void io_dumped(struct lull_model *model, struct machine *machine,
               const struct lull_ev_statedump_block_device *ev);
void io_request(struct lull_model *model, struct machine *machine, int32_t c, int64_t t,
                enum lull_event_id id, const void *event);

/* machine_headers.c: of packets, read beside a tracer that records none */
/* They are of a packet that comes next. */
void headers_read(struct machine *machine, int64_t t, const struct lull_ev_packet_headers *ev);
/* Completes the packet, if its headers were read apart. */
void headers_add(struct machine *machine, struct lull_net_packet *packet);
void headers_free(struct headers *headers);

/* machine_lost.c */
struct losses *lost_new(void);
void lost_free(struct losses *losses);
/* Takes in what the session has found lost since the last call. */
void lost_find(struct lull_model *model);
/* Whether events are missing that may have said that a task which did not run between these times did so after all: from
 * *start_ns to *end_ns, both between them. */
bool lost_between(const struct machine *machine, int64_t since_ns, int64_t t, int64_t *start_ns,
                  int64_t *end_ns);
/* Whether any event is missing between these times. */
bool lost_any_between(const struct machine *machine, int64_t since_ns, int64_t t);
/* The same of losses that are not over at t, of which it is not known where in their time events are missing. */
bool lost_may_be_between(const struct lull_model *model, uint32_t host, int64_t since_ns,
                         int64_t t);
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

/* machine_epoll.c */
void epoll_free(struct watches *watches);
/* epoll_ctl() did that (EPOLL_CTL_…) with the two. `data`: what the program calls `file` when it is ready; NULL: not known, or as
 * before. */
void epoll_controlled(struct lull_model *model, uint32_t epoll, uint32_t operation, uint32_t file,
                      const uint64_t *data);
/* It watched that when the recording started. */
void epoll_dumped(struct lull_model *model, struct machine *machine,
                  const struct lull_ev_statedump_epoll *ev);
/* Label of what it watches, in words, or LULL_NONE: not known, or too many. */
uint32_t epoll_label(struct lull_model *model, uint32_t epoll);
/* In the call, something became ready that the program calls so. */
void epoll_ready(const struct lull_model *model, struct call *call, uint64_t data);
/* All that did. */
void epoll_ended(const struct lull_model *model, const struct call_class *call_class,
                 struct call *call, const struct lull_ev_epoll_exit *ev);

/* machine_kills.c */
/* The kernel has freed memory for the task on the CPU, of that limit. */
void kills_reclaimed(struct lull_model *model, const struct cpu *cpu, enum lull_kill_limit limit);
void kills_signal(struct lull_model *model, struct machine *machine, int32_t c, int64_t t,
                  const struct lull_ev_signal_generate *ev);
void kills_victim(struct lull_model *model, struct machine *machine, int32_t c, int64_t t,
                  const struct lull_ev_oom_victim *ev);

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

/* machine_calls.c */
/* What calls look like on a host. */
const struct call_arch *calls_arch(const struct lull_model *model, uint32_t host);
/* What the host's traces call its architecture, as uname(2) does; NULL: they do not say. */
const char *calls_architecture(const struct lull_model *model, uint32_t host);
/* A system call started or ended, as the event says. */
void calls_started(struct lull_model *model, struct machine *machine, int32_t c, int64_t t,
                   enum lull_event_id id, const void *event,
                   const struct lull_event_class *event_class);
void calls_ended(struct lull_model *model, struct machine *machine, int32_t c, int64_t t,
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
/* The call that the thread is in is the leader's now; what it did before is over. */
void calls_taken_over(struct lull_model *model, uint32_t thread, uint32_t leader, int64_t t);
/* Says of a task's call again that it started. */
void calls_go_on(struct lull_model *model, uint32_t task, int32_t c, int64_t t);
/* Reading is over. */
void calls_finish(struct lull_model *model);
void calls_free(struct lull_model *model);
/* A task blocks in a call: notes what that was given by its path, which a result may name. */
void calls_blocks(struct lull_model *model, const struct task *task);
/* The call that the task is in; false if none is known, or nobody wants calls. */
bool calls_note(const struct lull_model *model, const struct task *task,
                struct lull_call_note *note);
/* A task that slept then slept in that call; no effect if another is known of it, or if it does something else by now. */
void calls_dumped(struct lull_model *model, struct machine *machine,
                  const struct lull_ev_statedump_call *ev);
/* machine_restarts.c: the kernel's ERESTART_RESTARTBLOCK; a signal interrupted the task's call, which ended with that; what its
 * restart_syscall() goes on with, in `cuts`, or LULL_NONE: its last call did not end so, as far as is known. */
enum { CALL_RESTART_BLOCK = 516 };
void calls_cut(struct lull_model *model, uint32_t task);
uint32_t calls_cut_of(const struct lull_model *model, uint32_t task);

/* machine_calls_io.c */
/* Number `index` of an array in the byte order of the trace; 0 behind its end. */
uint64_t calls_number_at(struct lull_text array, uint32_t index, uint32_t width,
                         bool is_big_endian);
/* "10.9.0.2:80", "[fe80::1]:80"; what IPv6 carries for IPv4 is shown as that. */
uint32_t calls_label_of_address(struct lull_model *model, int32_t family, const uint8_t ip[16],
                                uint32_t port);
/* What the start of a call reports of its arguments. */
void call_take(struct lull_model *model, const struct call_class *call_class, struct call *call,
               enum lull_event_id id, const void *event);
/* Carries out what a call that ended did to descriptors. `call`: without arguments if its start was
 * not seen. event: NULL if it carries nothing but the return value. False if it did nothing with
 * descriptors. */
bool call_end_io(struct lull_model *model, const struct call_class *call_class,
                 const struct call *call, const struct lull_syscall_fact *fact,
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
/* One descriptor was made of another. */
void files_copied(struct lull_model *model, uint32_t from, uint32_t to);
/* Names an open file, by all its descriptors. */
void files_name(struct lull_model *model, uint32_t file, uint32_t path, enum lull_file_type type);
/* The file of a descriptor in a table that a state dump calls so, or LULL_NONE. */
uint32_t files_dumped_as(const struct lull_model *model, const struct machine *machine,
                         int64_t address, int64_t fd);
void files_close(struct lull_model *model, uint32_t task, int64_t t, int32_t fd);
/* Closes descriptors first … last, or only sets their close-on-exec flag. */
void files_close_range(struct lull_model *model, uint32_t task, int64_t t, int32_t first,
                       int32_t last, bool only_cloexec);
void files_set_cloexec(struct lull_model *model, uint32_t task, int32_t fd, bool is_cloexec);
void files_unshare(struct lull_model *model, uint32_t task, int64_t t);
void files_forked(struct lull_model *model, uint32_t parent, uint32_t child, int64_t t,
                  bool is_shared);
void files_executed(struct lull_model *model, uint32_t task, int64_t t);
void files_taken_over(struct lull_model *model, uint32_t thread, uint32_t leader, int64_t t);
void files_died(struct lull_model *model, uint32_t task, int64_t t);
void files_dump_starts(struct machine *machine, int64_t t);
void files_dumped_process(struct lull_model *model, uint32_t task, uint64_t address);
void files_dumped(struct lull_model *model, struct machine *machine, int64_t t,
                  const struct lull_ev_statedump_file *ev);
void files_free(struct lull_model *model);

/* model_queries.c */

/* A state that still lasts at end_ns; false if there is none, or nothing of it. *note has room for
 * the call. */
bool model_open_state(const struct lull_model *model, uint32_t number, int64_t end_ns,
                      struct lull_state_fact *fact, struct lull_call_note *note);

#endif
