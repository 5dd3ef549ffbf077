/* SPDX-License-Identifier: MIT */
/* Test only: scripts machines. Calls state in true time what happens on each host (who runs, who
 * wakes whom, which packet goes where); scenario_close() writes one trace a host, as LTTng would
 * have recorded it by that host's clock. Times are ns after the scenario's begin; calls need not
 * come in time order, except that packets of one flow are numbered in the order of the calls. */
#ifndef SCENARIO_H
#define SCENARIO_H

#include "lib/ctf_writer.h"

struct scenario;
struct sc_host;
struct sc_task;
struct sc_flow;
struct sc_packet;

struct sc_clock {
    int64_t offset_ns; /* host's clock minus true time at the begin */
    double drift_ppm;
};

/* What happens on one CPU in interrupt context besides the thing itself. */
enum sc_context {
    SC_PLAIN,   /* nothing around it: the context of the running task */
    SC_SOFTIRQ, /* a softirq around it */
    SC_IRQ,     /* a hard interrupt, then the softirq */
};

struct scenario *scenario_new(const char *dir);
/* Writes the traces to DIR/HOST/kernel and frees everything. */
void scenario_close(struct scenario *scenario);

/* `options` is copied; contexts default to pid, tid and procname. Hosts get 10.0.0.1, fd00::1, … */
struct sc_host *sc_host(struct scenario *scenario, const char *name,
                        const struct ctf_options *options, struct sc_clock clock);
/* Its packets are recorded as ftrace and perf do, without their headers. */
void sc_host_without_headers(struct sc_host *host);
/* Its packets are recorded as LTTng's add-on does: TCP's numbers alone. */
void sc_host_with_numbers(struct sc_host *host);
struct sc_task *sc_task(struct sc_host *host, int tid, int pid, const char *comm);
/* Wakers put it on that CPU, not on their own. */
void sc_task_stays(struct sc_task *task, unsigned cpu);
struct sc_host *sc_task_host(const struct sc_task *task);
/* protocol: 6 or 17; server may be the client itself (loopback device). */
struct sc_flow *sc_flow(struct scenario *scenario, struct sc_host *client, unsigned client_port,
                        struct sc_host *server, unsigned server_port, unsigned protocol, bool ipv6);
/* Between two network namespaces of one host: it leaves through a device and comes in by another, with other addresses if
 * they are translated in between. `device` is borrowed. */
void sc_flow_via(struct sc_flow *flow, const char *const device[2], bool is_translated);

/* The task gets the CPU; who had it stays runnable. */
void sc_run(struct sc_task *task, unsigned cpu, int64_t t);
/* The task on the CPU leaves it with this prev_state (1 sleeps, 2 waits for the disk); `then` (or
 * the idle task, if NULL) gets it. */
void sc_block(struct sc_host *host, unsigned cpu, int64_t t, int prev_state, struct sc_task *then);
/* Whatever runs on the CPU wakes the task: sched_waking, and sched_wakeup 1 us later. */
void sc_wake(struct sc_host *host, unsigned cpu, int64_t t, const struct sc_task *task);
void sc_fork(struct sc_host *host, unsigned cpu, int64_t t, const struct sc_task *parent,
             const struct sc_task *child);
/* sched_process_exit at t, the switch away 10 us later. */
void sc_exit(const struct sc_task *task, unsigned cpu, int64_t t, struct sc_task *then);

/* Interrupts over [t, t + length); put what happens inside with calls at times between. `wakes_thread`: the
 * handler leaves the rest to its thread, which is woken after it. */
void sc_irq(struct sc_host *host, unsigned cpu, int64_t t, int64_t length, int irq,
            const char *name, bool wakes_thread);
void sc_softirq(struct sc_host *host, unsigned cpu, int64_t t, int64_t length, unsigned vec);
/* `kind`: local_timer, reschedule, call_function, call_function_single */
void sc_vector(struct sc_host *host, unsigned cpu, int64_t t, int64_t length, const char *kind);
/* A high-resolution timer inside its local_timer vector; wakes the task in the middle. */
void sc_hrtimer(struct sc_host *host, unsigned cpu, int64_t t, const struct sc_task *task);

/* Sends at t. flags: TCP flags, 0 for PSH|ACK or ACK by the length. SC_IRQ is as SC_SOFTIRQ. */
struct sc_packet *sc_send(struct sc_flow *flow, bool from_client, unsigned cpu, int64_t t,
                          unsigned bytes, unsigned flags, enum sc_context context);
/* Sends the same bytes once more, because they were lost. `is_reused`: in the same buffer, which nothing is in any more. */
void sc_resend(struct sc_packet *packet, unsigned cpu, int64_t t, bool is_reused);
/* What was sent last arrives at t; wakes the task (if not NULL) 5 us later. */
void sc_receive(struct sc_packet *packet, unsigned cpu, int64_t t, const struct sc_task *task,
                enum sc_context context);

/* What was sent at first (0), or at that resend. */
void sc_receive_copy(struct sc_packet *packet, unsigned number, unsigned cpu, int64_t t,
                     const struct sc_task *task, enum sc_context context);

/* A packet of which everything is given, as the host sees it: nothing of the connection is kept. */
struct sc_header {
    uint32_t seq, ack;
    unsigned bytes, flags, window; /* of other protocols: bytes */
    unsigned ip_id;
    unsigned
        extension; /* of IPv6: an extension header of that many bytes stands before the transport's */
    uint64_t skb;
};
void sc_packet(struct sc_flow *flow, bool from_client, unsigned cpu, int64_t t, bool is_send,
               const struct sc_header *header, const struct sc_task *wakes,
               enum sc_context context);

/* What the disk is asked and answers. */
void sc_disk_issue(struct sc_host *host, unsigned cpu, int64_t t, const struct sc_task *task,
                   uint64_t sector);
/* In a hard interrupt; wakes the task (if not NULL) 5 us later, inside it. */
void sc_disk_complete(struct sc_host *host, unsigned cpu, int64_t t, uint64_t sector,
                      const struct sc_task *task);

/* The state dump: all tasks made so far (asleep), and the disk. */
void sc_statedump(struct sc_host *host, unsigned cpu, int64_t t);
/* Any event; as ctf_event(). */
void sc_event(struct sc_host *host, unsigned cpu, int64_t t, const char *name, const char *values);
/* Events and packets were lost before the CPU's first event after t. */
void sc_lose(struct sc_host *host, unsigned cpu, int64_t t, unsigned events, unsigned packets);
/* Nothing that happens on the CPU in [t, t + length) is recorded: the events are counted as lost, or were a packet. */
void sc_gap(struct sc_host *host, unsigned cpu, int64_t t, int64_t length, bool is_packet);

/* Builds a scenario from a script (grammar: tests/e2e/README.md); false with a message on a
 * mistake. Lines that begin with "expect" or "leg" are for the reader of the results and left out.
 */
bool scenario_run_script(const char *script, const char *dir, GError **error);

#endif
